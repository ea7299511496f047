/* Sequences of one instance, of different tokens and lengths, in batches put together at random, against each of them alone.
 *
 *   -DALONE: program WEIGHTS FILE               built for one slot: writes the logits of every sequence
 *            program WEIGHTS FILE THREADS CALLS reads them: each logit that a batch, or a call of a selected slot, gives
 *                                               must be the same to the bit; then what wrong calls answer
 * Prints what differs; the exit status is 1 then. */
enum { SEQUENCES = 5, LENGTH = 80 };
#include "together.h"

#ifndef ALONE
static int random_batch(tale *m)
{
        tale_sequence s[TALE_SLOTS];
        int n = choose_batch(s), error = tale_batch(m, s, n, input, given[0]);
        return error ? fail(tale_error(error), n, 0) : compare_batch(s, n);
}

/* One slot by the functions that are about the selected one; at times it goes back. */
static int random_alone(tale *m)
{
        int slot = (int)below(TALE_SLOTS);
        int error = tale_select(m, slot);
        if (error || tale_position(m) != taken[slot])
                return fail("position of a selected slot", slot, tale_position(m));
        if (taken[slot] == LENGTH || below(4) == 0) {
                taken[slot] = taken[slot] ? below(taken[slot]) : 0;
                return tale_rewind(m, taken[slot]);
        }
        int64_t n = 1 + below(LENGTH - taken[slot]), at = taken[slot];
        if (below(2)) {
                error = tale_forward(m, tokens[slot] + at, n, given[0]);
        } else {
                error = n > 1 ? tale_prefill(m, tokens[slot] + at, n - 1) : 0;
                error = error ? error : tale_step(m, tokens[slot][at + n - 1], given[n - 1]);
                at += n - 1;
        }
        taken[slot] += n;
        if (error)
                return fail(tale_error(error), slot, n);
        return compare(slot, at, given[n - (taken[slot] - at)], taken[slot] - at);
}

static int expect(int error, int wanted, int number)
{
        return error == wanted ? 0 : fail("a wrong call: number, code", number, error);
}

static int wrong_calls(tale *m)
{
        const tale_sequence fine[2] = {{0, 1, 0}, {1, 1, 0}}, twice[2] = {{1, 1, 0}, {1, 1, 0}},
                            below_0 = {-1, 1, 0}, beyond = {TALE_SLOTS, 1, 0}, none = {0, 0, 0},
                            first = {0, 1, 2}, early = {0, 1, -1},
                            rows[2] = {{0, TALE_BATCH_ROWS, 0}, {1, 1, 0}}, full = {2, 1, 0},
                            huge = {0, INT64_MAX, 0};
        int bad = 0;
        for (int slot = 0; slot < 3; slot++) {
                bad |= tale_select(m, slot);
                tale_reset(m);
        }
        for (int64_t n = 0; n < TALE_CONTEXT; n++) /* slot 2 is selected */
                bad |= tale_step(m, 1, NULL);
        bad |= expect(tale_select(m, TALE_SLOTS), TALE_ERROR_SLOT, 1);
        bad |= expect(tale_select(m, -1), TALE_ERROR_SLOT, 2);
        memset(input, 0, sizeof input);
        bad |= expect(tale_batch(m, &below_0, 1, input, given[0]), TALE_ERROR_SLOT, 3);
        bad |= expect(tale_batch(m, &beyond, 1, input, given[0]), TALE_ERROR_SLOT, 4);
        bad |= expect(tale_batch(m, twice, 2, input, given[0]), TALE_ERROR_TWICE, 5);
        bad |= expect(tale_batch(m, &none, 1, input, given[0]), TALE_ERROR_RANGE, 6);
        bad |= expect(tale_batch(m, &first, 1, input, given[0]), TALE_ERROR_RANGE, 7);
        bad |= expect(tale_batch(m, &early, 1, input, given[0]), TALE_ERROR_RANGE, 8);
        bad |= expect(tale_batch(m, fine, -1, input, given[0]), TALE_ERROR_RANGE, 9);
        bad |= expect(tale_batch(m, rows, 2, input, given[0]), TALE_ERROR_ROWS, 10);
        bad |= expect(tale_batch(m, &full, 1, input, given[0]), TALE_ERROR_CONTEXT, 11);
        bad |= expect(tale_batch(m, &huge, 1, input, given[0]), TALE_ERROR_CONTEXT, 12);
        input[1] = TALE_VOCAB;
        bad |= expect(tale_batch(m, fine, 2, input, given[0]), TALE_ERROR_RANGE, 13);
        bad |= expect(tale_batch(m, NULL, 0, NULL, NULL), TALE_OK, 14);
        bad |= expect((int)tale_position(m), TALE_CONTEXT, 15);
        /* nothing has been taken, and without outputs all goes on */
        input[0] = tokens[0][0];
        input[1] = tokens[1][0];
        bad |= expect(tale_batch(m, fine, 2, input, NULL), TALE_OK, 16);
        input[0] = tokens[0][1];
        input[1] = tokens[1][1];
        bad |= expect(tale_batch(m, fine, 2, input, given[0]), TALE_OK, 17);
        return bad || compare(0, 1, given[0], 1) || compare(1, 1, given[1], 1);
}

static int run(tale *m, FILE *f, int calls)
{
        if (fread(expected, sizeof expected, 1, f) != 1)
                return fail("the file is short", 0, 0);
        for (int slot = 0; slot < TALE_SLOTS; slot++)
                of[slot] = slot;
        for (int i = 0; i < calls; i++)
                if (below(4) ? random_batch(m) : random_alone(m))
                        return fail("in call", i, 0);
        return wrong_calls(m);
}
#endif

int main(int argc, char **argv)
{
        int error = 1;
        for (int s = 0; s < SEQUENCES; s++)
                for (int i = 0; i < LENGTH; i++)
                        tokens[s][i] = (int32_t)below(TOKENS);
#ifdef ALONE
        FILE *f = argc == 3 ? fopen(argv[2], "wb") : NULL;
        tale *m = f ? tale_new(argv[1], 1, &error) : NULL;
        error = error || run_alone(m, f);
#else
        FILE *f = argc == 5 ? fopen(argv[2], "rb") : NULL;
        tale *m = f ? tale_new(argv[1], atoi(argv[3]), &error) : NULL;
        error = error || run(m, f, atoi(argv[4]));
#endif
        tale_free(m);
        return f && fclose(f) ? 1 : error;
}
