/* Text to token ids and back, by runtime/tokenizer.h on tables made beforehand: for each line of standard
 * input, a text in hexadecimal, prints the ids, a bar, and what they decode to in hexadecimal. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tables.h"

#include "../../runtime/tokenizer.h"

enum { LONGEST_TEXT = 1 << 19 };

static void encode(const char *text, int32_t n)
{
        int32_t *tokens = malloc(TOKENIZER_TOKENS(n) * sizeof *tokens);
        int32_t *scratch = malloc(TOKENIZER_SCRATCH(n) * sizeof *scratch);
        char out[TOKENIZER_LONGEST];
        if (!tokens || !scratch)
                abort();
        int32_t count = tokenizer_encode(text, n, tokens, scratch);
        for (int32_t i = 0; i < count; i++)
                printf("%d ", (int)tokens[i]);
        printf("| ");
        for (int32_t i = 1; i < count; i++) {
                int length = tokenizer_decode(tokens[i - 1], tokens[i], out);
                for (int j = 0; j < length; j++)
                        printf("%02x", (unsigned)(unsigned char)out[j]);
        }
        printf("\n");
        free(tokens);
        free(scratch);
}

int main(void)
{
        static char line[2 * LONGEST_TEXT + 2];
        while (fgets(line, sizeof line, stdin)) {
                int32_t n = 0;
                char *text = malloc(LONGEST_TEXT); /* exactly sized below, so that a sanitizer sees its end */
                if (!text)
                        abort();
                for (const char *hex = line; hex[0] > ' '; hex += 2) {
                        char digits[3] = {hex[0], hex[1], 0};
                        text[n++] = (char)strtoul(digits, NULL, 16);
                }
                text = realloc(text, (size_t)(n ? n : 1));
                if (!text)
                        abort();
                encode(text, n);
                free(text);
        }
        return 0;
}
