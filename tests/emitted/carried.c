/* An instance whose state is what alongs carry: it can be taken back to its beginning or by REWIND positions, and each slot goes on from
 * its own.
 *   usage: carried WEIGHTS       MODEL is the C of tests/random/kept/along_delta.model, with two slots and --rewind REWIND */
#include MODEL

#include <stdio.h>
#include <string.h>

enum { LENGTH = 12, VOCAB_SIZE = 23 };

static const int32_t tokens[LENGTH] = {1, 7, 3, 3, 20, 11, 5, 2, 9, 14, 0, 6};
static float whole[LENGTH][VOCAB_SIZE], row[LENGTH][VOCAB_SIZE];
static int failed;

static void check(const char *name, int holds)
{
        printf("%s carried: %s\n", holds ? "ok" : "FAIL", name);
        failed |= !holds;
}

static int same(int from, int n)
{
        return !memcmp(row[from], whole[from], sizeof *row * (size_t)n);
}

static int forward(along_delta *m, const int32_t *of, int from, int end)
{
        return along_delta_forward(m, of + from, end - from, row[from]);
}

/* From each number of positions that were taken: back to each one that is kept, and on with other tokens and with the same. */
static int goes_back(along_delta *m)
{
        static int32_t other[LENGTH];
        int wrong = 0;
        for (int end = 1; end <= LENGTH; end++)
                for (int n = 0; n <= end; n++) {
                        along_delta_reset(m);
                        memset(row, 0, sizeof row);
                        wrong |= forward(m, tokens, 0, end);
                        const int refused = along_delta_rewind(m, n) != ALONG_DELTA_OK;
                        wrong |= refused != (n > 0 && n < end - REWIND);
                        wrong |= along_delta_position(m) != (refused ? end : n);
                        if (refused || n == LENGTH)
                                continue;
                        wrong |= forward(m, other, n, end) || along_delta_rewind(m, n);
                        memset(row, 0, sizeof row);
                        wrong |= forward(m, tokens, n, LENGTH) || !same(n, LENGTH - n);
                }
        return !wrong;
}

/* A slot that has come less far, beside one that has. */
static int goes_back_in_its_slot(along_delta *m)
{
        int wrong = forward(m, tokens, 0, LENGTH) || along_delta_rewind(m, LENGTH - REWIND) ||
                    along_delta_select(m, 1);
        wrong |= forward(m, tokens, 0, 5) || along_delta_rewind(m, 5 - REWIND) ||
                 forward(m, tokens, 5 - REWIND, LENGTH - REWIND);
        wrong |= along_delta_select(m, 0) ||
                 along_delta_rewind(m, LENGTH - REWIND - 1) != ALONG_DELTA_ERROR_REWIND;
        return !wrong && forward(m, tokens, LENGTH - REWIND, LENGTH) == 0 && same(0, LENGTH);
}

/* What counts is how far the instance had come, until it begins anew. */
static int goes_back_twice(along_delta *m)
{
        const int first = LENGTH - REWIND, half = first + REWIND / 2;
        along_delta_reset(m);
        int wrong = forward(m, tokens, 0, LENGTH) || along_delta_rewind(m, half) ||
                    forward(m, tokens, half, half + REWIND / 2);
        wrong |= along_delta_fork(m, 0, 1);
        for (int slot = 0; slot < 2; slot++)
                wrong |= along_delta_select(m, slot) ||
                         along_delta_rewind(m, first - 1) != ALONG_DELTA_ERROR_REWIND ||
                         along_delta_rewind(m, first) || forward(m, tokens, first, LENGTH) ||
                         !same(first, LENGTH - first);
        wrong |= along_delta_select(m, 0) || along_delta_rewind(m, 0) || forward(m, tokens, 0, 5) ||
                 along_delta_rewind(m, 5 - REWIND) || forward(m, tokens, 5 - REWIND, LENGTH) ||
                 !same(0, LENGTH);
        wrong |= along_delta_rewind(m, LENGTH - REWIND);
        along_delta_reset(m);
        wrong |= forward(m, tokens, 0, 5) || along_delta_rewind(m, 5 - REWIND);
        return !wrong;
}

int main(int argc, char **argv)
{
        int error;
        along_delta *m = argc == 2 ? along_delta_new(argv[1], 1, &error) : NULL;
        if (!m || along_delta_forward(m, tokens, LENGTH, *whole))
                return 2;
        if (REWIND) {
                along_delta_reset(m);
                check("back in a slot of its own", goes_back_in_its_slot(m));
                check("back by as many as are kept", goes_back(m));
                check("back twice, and in a copy", goes_back_twice(m));
                along_delta_reset(m);
                if (along_delta_forward(m, tokens, LENGTH, *row))
                        return 2;
        }
        check("not to a position on the way",
              along_delta_rewind(m, 5) == ALONG_DELTA_ERROR_REWIND && along_delta_position(m) == LENGTH);
        check("to where it is",
              along_delta_rewind(m, LENGTH) == ALONG_DELTA_OK && along_delta_position(m) == LENGTH);
        check("to the beginning", along_delta_rewind(m, 0) == ALONG_DELTA_OK && along_delta_position(m) == 0);
        check("the same again, in two calls",
              !along_delta_forward(m, tokens, 5, *row) &&
                      !along_delta_forward(m, tokens + 5, LENGTH - 5, row[5]) && same(0, LENGTH));
        along_delta_reset(m);
        check("after a reset, position by position", !along_delta_step(m, tokens[0], row[0]) &&
                                                             !along_delta_step(m, tokens[1], row[1]) &&
                                                             same(0, 2));
        check("copied to another slot",
              !along_delta_fork(m, 0, 1) && !along_delta_step(m, tokens[5], row[7]) &&
                      !along_delta_select(m, 1) && !along_delta_forward(m, tokens + 2, LENGTH - 2, row[2]) &&
                      same(2, LENGTH - 2));
        along_delta_free(m);
        return failed;
}
