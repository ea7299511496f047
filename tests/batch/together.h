/* Several sequences of one instance, built with --prefix tale, against each of them alone: what tests of batches share.
 *
 * Before: SEQUENCES, LENGTH.  With -DALONE the program is built for one slot, and run_alone() writes the logits of every sequence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { TOKENS = TALE_TOKENS_BOUND };
static int32_t tokens[SEQUENCES][LENGTH];
static float expected[SEQUENCES][LENGTH][TOKENS];
static uint64_t seed = 1;

static int64_t below(int64_t n)
{
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (int64_t)((seed >> 33) % (uint64_t)n);
}

static int fail(const char *what, int64_t a, int64_t b)
{
        printf("%s: %ld, %ld\n", what, (long)a, (long)b);
        return 1;
}

#ifdef ALONE
static int run_alone(tale *m, FILE *f)
{
        for (int s = 0; s < SEQUENCES; s++) {
                tale_reset(m);
                int error = tale_forward(m, tokens[s], LENGTH, expected[s][0]);
                if (error)
                        return fail(tale_error(error), s, 0);
        }
        return fwrite(expected, sizeof expected, 1, f) != 1;
}
#else
static int of[TALE_SLOTS];        /* the sequence that a slot holds .. */
static int64_t taken[TALE_SLOTS]; /* .. and how much of it */
static int32_t input[TALE_BATCH_ROWS];
static float given[LENGTH][TOKENS];

static int compare(int slot, int64_t at, const float *logits, int64_t n)
{
        return n > 0 && memcmp(expected[of[slot]][at], logits, (size_t)n * sizeof expected[0][0])
                       ? fail("other logits: slot, position", slot, at)
                       : 0;
}

/* Some of the slots, in any order, each with any number of positions; their tokens in `input`. */
static int choose_batch(tale_sequence *s)
{
        int n = 0, start = (int)below(TALE_SLOTS), step = 1 + (int)below(TALE_SLOTS - 1);
        int64_t rows = 0, most = below(3) ? TALE_BATCH_ROWS : 1;
        for (int i = 0; i < TALE_SLOTS; i++) {
                int slot = (start + i * step) % TALE_SLOTS; /* TALE_SLOTS is prime */
                int64_t count = LENGTH - taken[slot];
                count = count < most ? count : most;
                count = count < TALE_BATCH_ROWS - rows ? count : TALE_BATCH_ROWS - rows;
                if (count == 0 || below(4) == 0)
                        continue;
                count = below(3) ? 1 + below(count) : count;
                int64_t kind = below(3);
                s[n++] = (tale_sequence){slot, count,
                                         kind == 0   ? 0
                                         : kind == 1 ? count - 1
                                                     : below(count + 1)};
                memcpy(input + rows, tokens[of[slot]] + taken[slot], (size_t)count * sizeof *input);
                rows += count;
        }
        return n;
}

/* After a batch: its logits, which count as taken. */
static int compare_batch(const tale_sequence *s, int n)
{
        int64_t rows = 0;
        for (int i = 0; i < n; i++) {
                if (compare(s[i].slot, taken[s[i].slot] + s[i].first, given[rows], s[i].n - s[i].first))
                        return 1;
                rows += s[i].n - s[i].first;
                taken[s[i].slot] += s[i].n;
        }
        return 0;
}
#endif
