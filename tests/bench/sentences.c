/* Times an encoder's sentences in one call against one by one; `lathe build --prefix timed --slots N -o timed.c` wrote it.
 *
 *   sentences WEIGHTS THREADS LEAST MOST     as many sentences as there are slots, of LEAST to MOST tokens
 *
 * Prints the tokens, and the seconds of one by one and of one call: the least of five times each, in turn. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "seconds.h"
#include "timed.h"

enum { TIMES = 5, SLOTS = TIMED_SLOTS, ROWS = TIMED_BATCH_ROWS };
static int32_t tokens[ROWS], types[ROWS], keep[ROWS];
static float hidden[ROWS * TIMED_D_MODEL];

static void check(int error)
{
        if (error) {
                fprintf(stderr, "sentences: %s\n", timed_error(error));
                exit(1);
        }
}

static double one_by_one(timed *model, const timed_sequence *s)
{
        double begin = seconds();
        for (int64_t i = 0, row = 0; i < SLOTS; row += s[i++].n)
                check(timed_forward(model, s[i].n, tokens + row, types + row, keep + row,
                                    hidden + row * TIMED_D_MODEL, NULL, NULL, NULL));
        return seconds() - begin;
}

static double together(timed *model, const timed_sequence *s)
{
        double begin = seconds();
        check(timed_batch(model, s, SLOTS, tokens, types, keep, hidden, NULL, NULL, NULL));
        return seconds() - begin;
}

int main(int argc, char **argv)
{
        int error = 0;
        timed *model = argc == 5 ? timed_new(argv[1], atoi(argv[2]), &error) : NULL;
        if (!model) {
                fprintf(stderr, "sentences: %s\n",
                        argc == 5 ? timed_error(error) : "usage: sentences WEIGHTS THREADS LEAST MOST");
                return 1;
        }
        const int64_t least = atoi(argv[3]), most = atoi(argv[4]);
        timed_sequence s[SLOTS];
        int64_t rows = 0;
        for (int i = 0; i < SLOTS; i++)
                rows += s[i].n = least + (most - least) * (i * 7 % SLOTS) / (SLOTS - 1);
        for (int i = 0; i < ROWS; i++) {
                tokens[i] = i * 31 % 20000;
                keep[i] = 1;
        }
        double alone = 1e9, all = 1e9;
        for (int k = 0; k < TIMES; k++) {
                double a = one_by_one(model, s), b = together(model, s);
                alone = a < alone ? a : alone;
                all = b < all ? b : all;
        }
        printf("%lld %.9f %.9f\n", (long long)rows, alone, all);
        timed_free(model);
        return 0;
}
