/* An instance whose state is what alongs carry: it can be taken back to its beginning or not at all, and each slot goes on from its own.
 *   usage: carried WEIGHTS       MODEL is the C of tests/random/kept/along_delta.model, with two slots */
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

int main(int argc, char **argv)
{
        int error;
        along_delta *m = argc == 2 ? along_delta_new(argv[1], 1, &error) : NULL;
        if (!m || along_delta_forward(m, tokens, LENGTH, *whole))
                return 2;
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
