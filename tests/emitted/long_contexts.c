/* A long context position by position, of each sequence alone or of all in batches, against whole calls: the same bits.
 *
 *   program WEIGHTS THREADS      MODEL is the emitted file, SLOTS how many sequences it holds
 */
#include MODEL

#include <stdio.h>

enum { LENGTH = 800, STEPS = 8, OUTPUTS = 23 };
static int32_t tokens[SLOTS][LENGTH];
static float expected[SLOTS][LENGTH][OUTPUTS], given[SLOTS][OUTPUTS];

static int fail(const char *what, int slot, int at)
{
        printf("%s: sequence %d, position %d\n", what, slot, at);
        return 1;
}

static int step(long_context *m, int at)
{
#if SLOTS > 1
        long_context_sequence row[SLOTS];
        int32_t next[SLOTS];
        for (int slot = 0; slot < SLOTS; slot++) {
                row[slot] = (long_context_sequence){.slot = slot, .n = 1};
                next[slot] = tokens[slot][at];
        }
        return long_context_batch(m, row, SLOTS, next, given[0]);
#else
        return long_context_step(m, tokens[0][at], given[0]);
#endif
}

int main(int argc, char **argv)
{
        int error = argc != 3;
        long_context *m = error ? NULL : long_context_new(argv[1], atoi(argv[2]), &error);
        if (!m)
                return fail("no instance", 0, error);
        for (int slot = 0; slot < SLOTS; slot++) {
                for (int i = 0; i < LENGTH; i++)
                        tokens[slot][i] = (i * 7 + i % 5 + slot * i % 3) % OUTPUTS;
#if SLOTS > 1
                error = long_context_select(m, slot);
#endif
                if (error || long_context_forward(m, tokens[slot], LENGTH, expected[slot][0]) ||
                    long_context_rewind(m, LENGTH - STEPS))
                        return fail("error", slot, LENGTH);
        }
        for (int at = LENGTH - STEPS; at < LENGTH; at++) {
                if (step(m, at))
                        return fail("error", 0, at);
                for (int slot = 0; slot < SLOTS; slot++)
                        if (memcmp(given[slot], expected[slot][at], sizeof given[slot]))
                                return fail("other logits", slot, at);
        }
        long_context_free(m);
        return 0;
}
