/* The parser alone: `lathe parse FILE…` without the rest of lathe. */
#include "language/language.h"

#include <string.h>

int main(int argc, char **argv)
{
        bool has_word = argc > 1 && strcmp(argv[1], "parse") == 0;
        return parse_command(argc - 1 - has_word, argv + 1 + has_word);
}
