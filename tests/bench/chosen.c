/* Times a step of tests/bench/chosen.model; `lathe build --prefix timed -o timed.c` wrote it.
 *
 *   chosen WEIGHTS THREADS N...     steps after N positions, ascending
 *
 * Prints a line for each N: N, seconds of the choice, and of choice and attention; each the least of several steps. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "seconds.h"
#include "timed.h"

enum { STEPS = 64, CHUNK = 1024, WIDTH = 7168 };

static void check(int error)
{
        if (error) {
                fprintf(stderr, "chosen: %s\n", timed_error(error));
                exit(1);
        }
}

static double least_step(timed *model, float *choice, float *y)
{
        double least = 1e30;
        for (int i = 0; i < STEPS; i++) {
                const double begin = seconds();
                check(timed_step(model, i * 31 % 1000, choice, NULL, y));
                const double took = seconds() - begin;
                least = took < least ? took : least;
        }
        return least;
}

int main(int argc, char **argv)
{
        static int32_t ids[CHUNK];
        static float choice, y[WIDTH];
        int error = 0;
        timed *model = argc > 3 ? timed_new(argv[1], atoi(argv[2]), &error) : NULL;
        if (!model) {
                fprintf(stderr, "chosen: %s\n",
                        argc > 3 ? timed_error(error) : "usage: chosen WEIGHTS THREADS N...");
                return 1;
        }
        for (int i = 3; i < argc; i++) {
                const int n = atoi(argv[i]);
                for (int past; (past = (int)timed_position(model)) < n;) {
                        const int more = n - past < CHUNK ? n - past : CHUNK;
                        for (int k = 0; k < more; k++)
                                ids[k] = (past + k) * 31 % 1000;
                        check(timed_prefill(model, ids, more));
                }
                const double chosen = least_step(model, &choice, NULL), both = least_step(model, &choice, y);
                printf("%d %g %g\n", n, chosen, both);
                fflush(stdout);
        }
        timed_free(model);
        return 0;
}
