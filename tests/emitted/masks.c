/* Which tiles of 16 keys attention looks at under a mask: those from the first live key of a row to its last and no others.
 * Built with MODEL, the emitted file, in which every call of the score formula counts; ALIVE(i, j), whether key j is live
 * in row i; CAUSAL, if the model takes its rows in pieces; FIXED, if it has so many and no others.  What comes out is compared with the definition in double. */
static long scored;
#include MODEL

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 300, WIDTH = 8 };

static float q[ROWS * WIDTH], k[ROWS * WIDTH], v[ROWS * WIDTH], y[ROWS * WIDTH];

/* The largest difference in one row; adds the row's tiles to *tiles. */
static double check_row(int i, long *tiles)
{
        double weight[ROWS], total = 0, worst = 0;
        int first = ROWS, last = -1;
        for (int j = 0; j < ROWS; j++) {
                double s = 0;
                for (int d = 0; d < WIDTH; d++)
                        s += (double)q[i * WIDTH + d] * (double)k[j * WIDTH + d];
                weight[j] = ALIVE(i, j) ? exp(0.5 * s) : 0;
                total += weight[j];
                if (ALIVE(i, j)) {
                        first = j < first ? j : first;
                        last = j;
                }
        }
        *tiles += last / 16 - first / 16 + 1;
        for (int d = 0; d < WIDTH; d++) {
                double sum = 0;
                for (int j = 0; j < ROWS; j++)
                        sum += weight[j] * (double)v[j * WIDTH + d];
                double off = fabs(sum / total - (double)y[i * WIDTH + d]);
                worst = off > worst ? off : worst;
        }
        return worst;
}

int main(int argc, char **argv)
{
        unsigned state = 1;
        float *input[] = {q, k, v};
        for (int t = 0; t < 3; t++)
                for (int i = 0; i < ROWS * WIDTH; i++) {
                        state = state * 1664525u + 1013904223u;
                        input[t][i] = (float)(state >> 8) / 8388608.0f - 1.0f;
                }
        int error = 0;
        masked_attention *m = masked_attention_new(argc > 1 ? argv[1] : NULL, 1, &error);
#if CAUSAL /* in pieces */
        for (int at = 0; m && !error && at < ROWS; at += 70) {
                int n = at + 70 < ROWS ? 70 : ROWS - at;
                error = masked_attention_forward(m, q + at * WIDTH, k + at * WIDTH, v + at * WIDTH, n,
                                                 y + at * WIDTH);
        }
#elif FIXED
        error = m ? masked_attention_forward(m, q, k, v, y) : error;
#else
        error = m ? masked_attention_forward(m, ROWS, q, k, v, y) : error;
#endif
        if (!m || error) {
                printf("error %d\n", error);
                return 1;
        }
        long tiles = 0;
        double worst = 0;
        for (int i = 0; i < ROWS; i++) {
                double off = check_row(i, &tiles);
                worst = off > worst ? off : worst;
        }
        masked_attention_free(m);
        if (scored != tiles)
                printf("%ld tiles instead of %ld\n", scored, tiles);
        if (!(worst < 1e-5))
                printf("%g off\n", worst);
        return scored != tiles || !(worst < 1e-5);
}
