/* Milliseconds of processor time for a position after a number of them.  usage: kv WEIGHTS POSITIONS */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

enum { STEPS = 48, VOCABULARY = 512 };

static double milliseconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
        int error = 0, positions = argc > 2 ? atoi(argv[2]) : 0;
        long_context *m = positions > 0 ? long_context_new(argv[1], 1, &error) : NULL;
        int32_t *token = calloc((size_t)positions + STEPS, sizeof *token);
        static float logits[VOCABULARY];
        for (int i = 0; token && i < positions + STEPS; i++)
                token[i] = i * 31 % VOCABULARY;
        if (!m || !token || long_context_prefill(m, token, positions)) {
                fprintf(stderr, "kv: %s\n", m ? "the positions can't be taken" : long_context_error(error));
                return 1;
        }
        double begin = milliseconds();
        for (int i = 0; i < STEPS; i++)
                if (long_context_step(m, token[positions + i], logits))
                        return 1;
        printf("%.3f\n", (milliseconds() - begin) / STEPS);
        long_context_free(m);
        free(token);
        return 0;
}
