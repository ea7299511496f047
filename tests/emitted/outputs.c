/*
 * Outputs that are not wanted: every choice of them, in every call, gives the others the bits that they have when all are
 * wanted; and NULL for an input is an error.
 *   usage: outputs WEIGHTS THREADS        -DPLAIN, -DREPEATED, -DCAUSAL: of which model
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLAIN
#include "plain.h"
#define CALLED(name) plain_##name
typedef plain model;
enum { OUTPUTS = 10, ROWS = 1 };
static const int width[OUTPUTS] = {18, 18, 18, 15, 36, 6, 9, 6, 9, 9};
#define FORWARD(x, o)                                                                                        \
        plain_forward(m, x, (o)[0], (o)[1], (o)[2], (o)[3], (o)[4], (o)[5], (o)[6], (o)[7], (o)[8], (o)[9])
#elif defined REPEATED
#include "repeated.h"
#define CALLED(name) repeated_##name
typedef repeated model;
enum { OUTPUTS = 3, ROWS = 1 };
static const int width[OUTPUTS] = {72, 3, 135};
#define FORWARD(x, o) repeated_forward(m, 9, x, (o)[0], (o)[1], (o)[2])
#else
#include "causal.h"
#define CALLED(name) causal_heads_##name
typedef causal_heads model;
enum { OUTPUTS = 6, ROWS = 40 };
static const int width[OUTPUTS] = {23, 16, 16, 16, 1, 16};
#define ALL(o) (o)[0], (o)[1], (o)[2], (o)[3], (o)[4], (o)[5]
#endif

static float expected[OUTPUTS][ROWS * 135], found[OUTPUTS][ROWS * 135], *wanted[OUTPUTS];

/* Bit i: output i is wanted. */
static void want(int outputs)
{
        memset(found, 0xff, sizeof found);
        for (int i = 0; i < OUTPUTS; i++)
                wanted[i] = outputs >> i & 1 ? found[i] : NULL;
}

/* Of the wanted outputs, `rows` rows from the first are those expected from row `at` on. */
static int are_right(int at, int rows)
{
        int good = 1;
        for (int i = 0; i < OUTPUTS; i++)
                good &= !wanted[i] || !memcmp(found[i], expected[i] + at * width[i],
                                              (size_t)(rows * width[i]) * sizeof(float));
        return good;
}

static void say(const char *what, int wrong)
{
        printf("%s: %s\n", what, wrong ? "wrong" : "good");
}

#ifdef FORWARD
static void run(model *m)
{
        static float x[72];
        int wrong = 0;
        for (int i = 0; i < 72; i++)
                x[i] = (float)(i * 7 % 11 - 5);
        want(-1);
        wrong |= FORWARD(x, wanted);
        memcpy(expected, found, sizeof expected);
        for (int outputs = 0; outputs < 1 << OUTPUTS; outputs++) {
                want(outputs);
                wrong |= FORWARD(x, wanted) || !are_right(0, 1);
        }
        say("forward", wrong);
        printf("no input: %s\n", CALLED(error)(FORWARD(NULL, wanted)));
}
#else
static int32_t token[2 * ROWS];

/* Now these outputs are wanted, now the others. */
static int pieces(model *m, int outputs, int piece)
{
        int wrong = 0;
        CALLED(reset)(m);
        for (int at = 0; at < ROWS; at += piece) {
                want(at / piece % 2 ? ~outputs : outputs);
                wrong |= piece == 1 ? CALLED(step)(m, token[at], ALL(wanted))
                                    : CALLED(forward)(m, token + at, piece, ALL(wanted));
                wrong |= !are_right(at, piece);
        }
        return wrong;
}

/* Two slots take the same in turn, of which the second shows the last of its rows alone. */
static int batches(model *m, int outputs)
{
        int wrong = 0;
        for (int slot = 0; slot < 2; slot++) {
                wrong |= CALLED(select)(m, slot);
                CALLED(reset)(m);
        }
        for (int at = 0; at < ROWS; at += 5) {
                const causal_heads_sequence s[2] = {{1, 5, 4}, {0, 5, 5}}, t[2] = {{0, 5, 0}, {1, 5, 5}};
                memcpy(token + ROWS, token + at, 5 * sizeof *token);
                memcpy(token + ROWS + 5, token + at, 5 * sizeof *token);
                want(outputs);
                wrong |= CALLED(batch)(m, at % 2 ? s : t, 2, token + ROWS, ALL(wanted)) ||
                         !are_right(at % 2 ? at + 4 : at, at % 2 ? 1 : 5);
        }
        return wrong;
}

static void run(model *m)
{
        int forward = 0, step = 0, batch = 0;
        for (int i = 0; i < ROWS; i++)
                token[i] = i * 5 % 23;
        want(-1);
        forward = CALLED(forward)(m, token, ROWS, ALL(wanted));
        memcpy(expected, found, sizeof expected);
        for (int outputs = 0; outputs < 1 << OUTPUTS; outputs++) {
                forward |= pieces(m, outputs, ROWS) | pieces(m, outputs, 5);
                step |= pieces(m, outputs, 1);
                batch |= batches(m, outputs);
        }
        say("forward", forward);
        say("step", step);
        say("batch", batch);
        CALLED(reset)(m);
        printf("no input: %s\n", CALLED(error)(CALLED(prefill)(m, NULL, 3)));
        printf("no input and no positions: %s\n", CALLED(error)(CALLED(prefill)(m, NULL, 0)));
        printf("no sequences: %s\n", CALLED(error)(CALLED(batch)(m, NULL, 2, token, ALL(wanted))));
}
#endif

int main(int argc, char **argv)
{
        int error = 1, threads = argc == 3 ? atoi(argv[2]) : 0;
        size_t n = (CALLED(size)(threads) + 63) / 64 * 64;
        model *m = aligned_alloc(64, n);
        if (!m)
                return 1;
        memset(m, 0x4b, n); /* noise: nothing may depend on what stood there */
        error = CALLED(init)(m, argv[1], threads);
        if (!error)
                run(m);
        CALLED(close)(m);
        free(m);
        return error;
}
