/* Slots whose states are windows: each has moved on as far as its own sequence, and says of itself what it can't be taken back to.
 * Built with --prefix win --chunk 7 --slots 2.
 *
 *   program WEIGHTS     slot 0 takes 201 positions and slot 1 takes 9, together, then slot 1 catches up: its outputs are those of slot 0
 * Prints what differs; the exit status is 1 then. */
#include <stdio.h>
#include <string.h>

#include "model.h"

enum { LENGTH = 201, WIDTH = 8, SHORT = 9, PIECE = 3 };
static float input[LENGTH][WIDTH], output[LENGTH][WIDTH], again[LENGTH][WIDTH], together[2 * PIECE][WIDTH],
        given[2 * PIECE][WIDTH];

static int fail(const char *what, int64_t at, int64_t code)
{
        printf("%s: at %ld, %ld\n", what, (long)at, (long)code);
        return 1;
}

/* Positions of slot 0 from `at` on, beside those of slot 1 from `other` on, as far as it goes. */
static int batch(win *m, int64_t at, int64_t other)
{
        const int n = other < SHORT ? 2 : 1;
        const win_sequence s[2] = {{0, PIECE, 0}, {1, PIECE, 0}};
        memcpy(together[0], input[at], PIECE * sizeof *input);
        if (n == 2)
                memcpy(together[PIECE], input[other], PIECE * sizeof *input);
        int error = win_batch(m, s, n, together[0], given[0]);
        memcpy(output[at], given[0], PIECE * sizeof *output);
        if (n == 2)
                memcpy(again[other], given[PIECE], PIECE * sizeof *again);
        return error;
}

/* Slot 0 has lost what it read long ago; slot 1 has it all. */
static int taken_back(win *m)
{
        int error = win_select(m, 0);
        if (error || win_rewind(m, SHORT) != WIN_ERROR_REWIND || win_position(m) != LENGTH)
                return fail("slot 0 taken back", SHORT, error);
        if (win_rewind(m, LENGTH - 3) != WIN_OK || win_position(m) != LENGTH - 3)
                return fail("slot 0 taken back a little", LENGTH - 3, 0);
        error = win_forward(m, input[LENGTH - 3], 3, given[0]);
        if (error || memcmp(given[0], output[LENGTH - 3], 3 * sizeof *output) != 0)
                return fail("other outputs of slot 0", LENGTH - 3, error);
        error = win_select(m, 1);
        if (error || win_rewind(m, 3) != WIN_OK || win_position(m) != 3)
                return fail("slot 1 taken back", 3, error);
        return 0;
}

static int run(win *m)
{
        for (int64_t at = 0; at < LENGTH; at += PIECE) {
                int error = batch(m, at, at);
                if (error)
                        return fail(win_error(error), at, error);
        }
        if (taken_back(m))
                return 1;
        int error = win_forward(m, input[3], LENGTH - 3, again[3]);
        if (error || memcmp(again, output, sizeof output) != 0)
                return fail("other outputs of slot 1", 0, error);
        win_reset(m);
        error = win_forward(m, input[0], 2 * PIECE, again[0]);
        return error || memcmp(again, output, 2 * PIECE * sizeof *output) != 0 ? fail("slot 1 anew", 0, error)
                                                                               : 0;
}

int main(int argc, char **argv)
{
        int error = 1;
        win *m = argc == 2 ? win_new(argv[1], 2, &error) : NULL;
        for (int i = 0; i < LENGTH * WIDTH; i++)
                input[i / WIDTH][i % WIDTH] = (float)(i * 37 % 101) / 101 - 0.5f;
        error = error || run(m);
        win_free(m);
        return error;
}
