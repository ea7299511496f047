/* Times how the cost of a causal model grows; `lathe build --prefix timed --slots N -o timed.c` wrote it.
 *
 *   growth WEIGHTS THREADS length N...     a pass of N positions from an empty cache
 *   growth WEIGHTS THREADS context N...    a step of one position behind N, ascending; then the seconds of the pass that led there
 *   growth WEIGHTS THREADS batch N...      a step of N sequences
 *
 * Prints a line for each N: N and seconds, the least of three times. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "seconds.h"
#include "timed.h"

enum { TIMES = 3, STEPS = 8, MOST = 1 << 16 };
static int32_t ids[MOST];

static void check(int error)
{
        if (error) {
                fprintf(stderr, "growth: %s\n", timed_error(error));
                exit(1);
        }
}

static double of_length(timed *model, int n)
{
        double begin = seconds();
        timed_reset(model);
        check(timed_prefill(model, ids, n));
        return seconds() - begin;
}

static double of_context(timed *model, int n, float *logits, double *led)
{
        int past = (int)timed_position(model);
        double begin = seconds();
        if (past < n) {
                check(timed_prefill(model, ids, n - past));
                *led = seconds() - begin;
        }
        begin = seconds();
        for (int i = 0; i < STEPS; i++)
                check(timed_step(model, ids[i], logits));
        return (seconds() - begin) / STEPS;
}

static double of_batch(timed *model, int n, float *logits)
{
        timed_sequence *each = calloc((size_t)n, sizeof *each);
        if (!each)
                exit(1);
        for (int i = 0; i < n; i++) {
                timed_select(model, i);
                timed_reset(model);
                each[i] = (timed_sequence){i, 1, 0};
        }
        check(timed_batch(model, each, n, ids, logits));
        double begin = seconds();
        for (int i = 0; i < STEPS; i++)
                check(timed_batch(model, each, n, ids + i, logits));
        free(each);
        return (seconds() - begin) / STEPS;
}

int main(int argc, char **argv)
{
        int error = 0;
        timed *model = argc > 4 ? timed_new(argv[1], atoi(argv[2]), &error) : NULL;
        if (!model) {
                fprintf(stderr, "growth: %s\n",
                        argc > 4 ? timed_error(error)
                                 : "usage: growth WEIGHTS THREADS length|context|batch N...");
                return 1;
        }
        float *logits = calloc((size_t)TIMED_SLOTS * TIMED_VOCAB, sizeof *logits);
        if (!logits)
                return 1;
        for (int i = 0; i < MOST; i++)
                ids[i] = i * 31 % 200;
        for (int i = 4; i < argc; i++) {
                int n = atoi(argv[i]);
                double least = 1e9, led = 0;
                for (int k = 0; k < TIMES; k++) {
                        double s = argv[3][0] == 'l'   ? of_length(model, n)
                                   : argv[3][0] == 'c' ? of_context(model, n, logits, &led)
                                                       : of_batch(model, n, logits);
                        least = s < least ? s : least;
                }
                printf("%d %.9f", n, least);
                if (argv[3][0] == 'c')
                        printf(" %.9f", led);
                putchar('\n');
                fflush(stdout);
        }
        free(logits);
        timed_free(model);
        return 0;
}
