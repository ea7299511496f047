/* Tokens a second of decoding, by sequences in a batch: program WEIGHTS THREADS ROUNDS.  Rounds of all sizes in turn; medians. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stories15m.h"

enum { SIZES = 3, STEPS = 40, MOST_ROUNDS = 99 };
static const int size[SIZES] = {1, 4, 16};
static float logits[16 * STORIES15M_VOCAB];

static double seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Tokens a second of `sequences` at once, positions 1 to STEPS. */
static double speed(stories15m *m, int sequences)
{
        stories15m_sequence s[16];
        int32_t token[16];
        double begin = 0;
        for (int i = 0; i < sequences; i++) {
                stories15m_select(m, i);
                stories15m_reset(m);
                s[i] = (stories15m_sequence){i, 1, 0};
        }
        for (int step = 0; step <= STEPS; step++) {
                for (int i = 0; i < sequences; i++)
                        token[i] = 1 + (step * 37 + i * 101) % 1000;
                if (stories15m_batch(m, s, sequences, token, logits))
                        exit(1);
                begin = step ? begin : seconds();
        }
        return sequences * STEPS / (seconds() - begin);
}

static int ascending(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
        static double found[SIZES][MOST_ROUNDS];
        int error = 1, rounds = argc == 4 ? atoi(argv[3]) : 0;
        stories15m *m =
                rounds > 0 && rounds <= MOST_ROUNDS ? stories15m_new(argv[1], atoi(argv[2]), &error) : NULL;
        if (!m)
                return 1;
        for (int r = 0; r < rounds; r++)
                for (int k = 0; k < SIZES; k++)
                        found[k][r] = speed(m, size[k]);
        for (int k = 0; k < SIZES; k++)
                qsort(found[k], (size_t)rounds, sizeof found[k][0], ascending);
        for (int k = 0; k < SIZES; k++)
                printf("%2d sequences: %8.0f tokens/s, %.2f times one\n", size[k], found[k][rounds / 2],
                       found[k][rounds / 2] / found[0][rounds / 2]);
        stories15m_free(m);
        return 0;
}
