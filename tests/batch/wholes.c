/* Whole sequences of a model that is not causal, of random ids and lengths, in batches put together at random, against each of them alone.
 * Built with --prefix enc.
 *
 *   -DALONE: program WEIGHTS FILE               built without --slots: writes the outputs of every sequence
 *            program WEIGHTS FILE THREADS CALLS reads them: each output of a batch must be the same to the bit, wherever the sequence
 *                                               stands and whatever stands beside it; then what wrong calls answer
 * Prints what differs; the exit status is 1 then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { SEQUENCES = 12, LONGEST = ENC_CONTEXT, WIDTH = ENC_D_MODEL, VOCAB = ENC_VOCAB };

/* What a sequence takes and gives. */
typedef struct {
        int64_t n;
        int32_t tokens[LONGEST], types[LONGEST], keep[LONGEST];
        float hidden[LONGEST][WIDTH], pooled[WIDTH], is_next[2], logits[LONGEST][VOCAB];
} Sequence;
static Sequence sequence[SEQUENCES];
static uint64_t seed = 1;

static int64_t below(int64_t n)
{
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (int64_t)((seed >> 33) % (uint64_t)n);
}

#ifdef ALONE
static void choose_inputs(void)
{
        for (int i = 0; i < SEQUENCES; i++) {
                Sequence *s = &sequence[i];
                s->n = i == 0 ? 1 : i == 1 ? LONGEST : i == 2 ? 17 : 1 + below(LONGEST);
                for (int64_t k = 0; k < s->n; k++) {
                        s->tokens[k] = (int32_t)below(VOCAB);
                        s->types[k] = (int32_t)below(ENC_TOKEN_TYPES_BOUND);
                        s->keep[k] = k == 0 || below(5) > 0;
                }
        }
}

#endif

static int fail(const char *what, int64_t a, int64_t b)
{
        printf("%s: %ld, %ld\n", what, (long)a, (long)b);
        return 1;
}

static int run_alone(enc *m, Sequence *s)
{
        return enc_forward(m, s->n, s->tokens, s->types, s->keep, s->hidden[0], s->pooled, s->is_next,
                           s->logits[0]);
}

#ifndef ALONE
enum { ROWS = ENC_BATCH_ROWS, SLOTS = ENC_SLOTS };
static int32_t tokens[ROWS], types[ROWS], keep[ROWS];
static float hidden[ROWS][WIDTH], pooled[SLOTS][WIDTH], is_next[SLOTS][2], logits[ROWS][VOCAB];

static int differs(const float *one, const float *other, int64_t n)
{
        return memcmp(one, other, (size_t)n * sizeof *one) != 0;
}

/* Any sequences, in any order, as often as they come; any outputs of them. */
static int random_batch(enc *m)
{
        enc_sequence s[SLOTS];
        int which[SLOTS], n = 0;
        int64_t rows = 0;
        for (int i = (int)below(SLOTS); i < SLOTS; i++) {
                which[n] = (int)below(SEQUENCES);
                const Sequence *one = &sequence[which[n]];
                if (one->n > ROWS - rows)
                        continue;
                memcpy(tokens + rows, one->tokens, (size_t)one->n * sizeof *tokens);
                memcpy(types + rows, one->types, (size_t)one->n * sizeof *types);
                memcpy(keep + rows, one->keep, (size_t)one->n * sizeof *keep);
                s[n++].n = one->n;
                rows += one->n;
        }
        const int wanted = (int)below(16);
        memset(hidden, 0xff, sizeof hidden);
        memset(pooled, 0xff, sizeof pooled);
        int error = enc_batch(m, s, n, tokens, types, keep, wanted & 1 ? hidden[0] : NULL,
                              wanted & 2 ? pooled[0] : NULL, wanted & 4 ? is_next[0] : NULL,
                              wanted & 8 ? logits[0] : NULL);
        if (error)
                return fail(enc_error(error), n, rows);
        rows = 0;
        for (int i = 0; i < n; i++) {
                const Sequence *one = &sequence[which[i]];
                if (((wanted & 1) && differs(one->hidden[0], hidden[rows], one->n * WIDTH)) ||
                    ((wanted & 2) && differs(one->pooled, pooled[i], WIDTH)) ||
                    ((wanted & 4) && differs(one->is_next, is_next[i], 2)) ||
                    ((wanted & 8) && differs(one->logits[0], logits[rows], one->n * VOCAB)))
                        return fail("other outputs: sequence, outputs wanted", i, wanted);
                rows += one->n;
        }
        return 0;
}

static int random_alone(enc *m)
{
        static Sequence again;
        const Sequence *one = &sequence[below(SEQUENCES)];
        again = *one;
        memset(again.hidden, 0xff, sizeof again.hidden);
        int error = run_alone(m, &again);
        if (error)
                return fail(enc_error(error), one->n, 0);
        return differs(one->hidden[0], again.hidden[0], one->n * WIDTH) ||
                               differs(one->logits[0], again.logits[0], one->n * VOCAB)
                       ? fail("other outputs of one alone", one->n, 0)
                       : 0;
}

static int expect(int error, int wanted, int number)
{
        return error == wanted ? 0 : fail("a wrong call: number, code", number, error);
}

static int call(enc *m, const enc_sequence *s, int sequences, const int32_t *ids)
{
        return enc_batch(m, s, sequences, ids, types, keep, hidden[0], NULL, NULL, NULL);
}

static int wrong_calls(enc *m)
{
        const enc_sequence two[2] = {{1}, {1}}, none = {0}, below_0 = {-1}, longer = {LONGEST + 1},
                           huge = {INT64_MAX};
        enc_sequence many[SLOTS + 1], full[SLOTS];
        int bad = 0;
        for (int i = 0; i <= SLOTS; i++)
                many[i].n = 1;
        for (int i = 0; i < SLOTS; i++)
                full[i].n = LONGEST;
        memset(tokens, 0, sizeof tokens);
        memset(types, 0, sizeof types);
        bad |= expect(call(m, two, -1, tokens), ENC_ERROR_RANGE, 1);
        bad |= expect(call(m, NULL, 1, tokens), ENC_ERROR_RANGE, 2);
        bad |= expect(call(m, &none, 1, tokens), ENC_ERROR_RANGE, 3);
        bad |= expect(call(m, &below_0, 1, tokens), ENC_ERROR_RANGE, 4);
        bad |= expect(call(m, &longer, 1, tokens), ENC_ERROR_CONTEXT, 5);
        bad |= expect(call(m, &huge, 1, tokens), ENC_ERROR_CONTEXT, 6);
        bad |= expect(call(m, many, SLOTS + 1, tokens), ENC_ERROR_SLOT, 7);
        bad |= expect(call(m, full, SLOTS, tokens), ENC_ERROR_ROWS, 8);
        bad |= expect(call(m, two, 2, NULL), ENC_ERROR_RANGE, 9);
        tokens[1] = VOCAB;
        bad |= expect(call(m, two, 2, tokens), ENC_ERROR_RANGE, 10);
        bad |= expect(call(m, two, 1, tokens), ENC_OK, 11);
        bad |= expect(call(m, NULL, 0, NULL), ENC_OK, 12);
        bad |= expect(enc_batch(m, two, 1, tokens, types, keep, NULL, NULL, NULL, NULL), ENC_OK, 13);
        bad |= expect(enc_forward(m, 0, tokens, types, keep, hidden[0], NULL, NULL, NULL), ENC_ERROR_RANGE,
                      14);
        return bad;
}

static int run(enc *m, FILE *f, int calls)
{
        if (fread(sequence, sizeof sequence, 1, f) != 1)
                return fail("the file is short", 0, 0);
        for (int i = 0; i < calls; i++)
                if (below(8) ? random_batch(m) : random_alone(m))
                        return fail("in call", i, 0);
        return wrong_calls(m) || random_batch(m);
}
#else
static int write_alone(enc *m, FILE *f)
{
        choose_inputs();
        for (int i = 0; i < SEQUENCES; i++)
                if (run_alone(m, &sequence[i]))
                        return fail("alone", i, 0);
        return fwrite(sequence, sizeof sequence, 1, f) != 1;
}
#endif

int main(int argc, char **argv)
{
        int error = 1;
#ifdef ALONE
        FILE *f = argc == 3 ? fopen(argv[2], "wb") : NULL;
        enc *m = f ? enc_new(argv[1], 1, &error) : NULL;
        error = error || write_alone(m, f);
#else
        FILE *f = argc == 5 ? fopen(argv[2], "rb") : NULL;
        enc *m = f ? enc_new(argv[1], atoi(argv[3]), &error) : NULL;
        error = error || run(m, f, atoi(argv[4]));
#endif
        enc_free(m);
        return f && fclose(f) ? 1 : error;
}
