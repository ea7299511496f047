/* What 64 slots take of memory that are short, each after it was long once: prints the bytes that an instance asks for, and those that
 * are resident at the end.   usage: program WEIGHTS */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model.h"

enum { LONG = 1800, SHORT = 20 };

static long resident(void)
{
        long all = 0, held = 0;
        FILE *f = fopen("/proc/self/statm", "r");
        if (!f || fscanf(f, "%ld %ld", &all, &held) != 2)
                held = -1;
        if (f)
                fclose(f);
        return held * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
        static int32_t tokens[LONG];
        int error = 1;
        tale *m = argc == 2 ? tale_new(argv[1], 1, &error) : NULL;
        long before = resident();
        for (int slot = 0; slot < TALE_SLOTS && !error; slot++) {
                error = tale_select(m, slot);
                error = error ? error : tale_prefill(m, tokens, LONG);
                tale_reset(m);
                error = error ? error : tale_prefill(m, tokens, SHORT);
        }
        printf("%zu %ld\n", tale_size(1), resident() - before);
        if (error)
                fprintf(stderr, "%s\n", tale_error(error));
        tale_free(m);
        return error;
}
