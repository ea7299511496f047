/* The bits of a model's logits, its taps wanted or not: whole, in pieces and step by step, by one thread and by three.  Prints one
 * line for each way to call it.  Built with MODEL, the model's name in C; TAPS and NO_TAPS, arguments for the taps (", tap(0), tap(1)"
 * and ", NULL, NULL"); LOGITS_WIDE; and COUNT, the positions.
 *   usage: bits WEIGHTS */
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

enum { TAP_FLOATS = 1 << 23, PIECE = 7 };

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define CALL(what) NAMED(MODEL, what)

static int32_t tokens[COUNT];
static float logits[COUNT * LOGITS_WIDE];

/* Room for what tap i gives. */
float *tap(int i)
{
        static float *room[64];
        if (!room[i])
                room[i] = malloc(sizeof(float) * TAP_FLOATS);
        return room[i];
}

static int whole(MODEL *m, int wanted)
{
        return wanted ? CALL(_forward)(m, tokens, COUNT, logits TAPS)
                      : CALL(_forward)(m, tokens, COUNT, logits NO_TAPS);
}

static int pieces(MODEL *m, int wanted)
{
        int error = 0;
        for (int64_t at = 0; at < COUNT && !error; at += PIECE) {
                int64_t n = at + PIECE < COUNT ? PIECE : COUNT - at;
                float *to = logits + at * LOGITS_WIDE;
                error = wanted ? CALL(_forward)(m, tokens + at, n, to TAPS)
                               : CALL(_forward)(m, tokens + at, n, to NO_TAPS);
        }
        return error;
}

static int steps(MODEL *m, int wanted)
{
        int error = 0;
        for (int64_t at = 0; at < COUNT && !error; at++) {
                float *to = logits + at * LOGITS_WIDE;
                error = wanted ? CALL(_step)(m, tokens[at], to TAPS) : CALL(_step)(m, tokens[at], to NO_TAPS);
        }
        return error;
}

static uint64_t hash(void)
{
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        const unsigned char *byte = (const unsigned char *)logits;
        for (size_t i = 0; i < sizeof logits; i++)
                h = (h ^ byte[i]) * UINT64_C(0x100000001b3);
        return h;
}

int main(int argc, char **argv)
{
        int (*const call[])(MODEL *, int) = {whole, pieces, steps};
        for (int i = 0; i < COUNT; i++)
                tokens[i] = (i * i * 7 + 3 * i + 1) % LOGITS_WIDE;
        for (int threads = 1; argc == 2 && threads <= 3; threads += 2)
                for (int way = 0; way < 3; way++)
                        for (int wanted = 0; wanted < 2; wanted++) {
                                int error;
                                MODEL *m = CALL(_new)(argv[1], threads, &error);
                                if (m)
                                        error = call[way](m, wanted);
                                CALL(_free)(m);
                                if (error) {
                                        fprintf(stderr, "%s\n", CALL(_error)(error));
                                        return 1;
                                }
                                printf("%016llx\n", (unsigned long long)hash());
                        }
        return argc != 2;
}
