/* Models whose states hold a window, against the same that hold the whole context: prints a hash of all outputs, and what each
 * way of taking positions back gives.  Built with MODEL, the emitted file; its model is `looks_back`, from x [time, WIDTH] to
 * y [time, WIDTH]; LENGTH: of the sequence; SPARE: how many positions it can always take
 * back; BACK: how many it can't; BLOCK, for sums: rows of a block, the last of which can be taken back whole. */
#include MODEL

#include <stdio.h>
#include <stdlib.h>

enum { POSITIONS = LENGTH, WIDTH = 8 };

static float x[POSITIONS * WIDTH], expected[POSITIONS * WIDTH], y[POSITIONS * WIDTH];
static int failed;

static void check(looks_back *m, const char *what, int error, int64_t first, int64_t end)
{
        int64_t at = first * WIDTH;
        while (at < end * WIDTH && !memcmp(&y[at], &expected[at], sizeof *y))
                at++;
        if (!error && at == end * WIDTH)
                return;
        printf("%s: %s, at position %d; row %d differs\n", what, looks_back_error(error),
               (int)looks_back_position(m), (int)(at / WIDTH));
        failed = 1;
}

/* Positions `first` to `end`, `piece` at a time. */
static int take(looks_back *m, int64_t first, int64_t end, int64_t piece)
{
        int error = 0;
        for (int64_t at = first; at < end && !error; at += piece)
                error = looks_back_forward(m, x + at * WIDTH, at + piece < end ? piece : end - at,
                                           y + at * WIDTH);
        return error;
}

static void take_all(looks_back *m, const char *what, int64_t piece)
{
        looks_back_reset(m);
        memset(y, 0, sizeof y);
        check(m, what, take(m, 0, POSITIONS, piece), 0, POSITIONS);
}

/* In pieces of one, two, three ..; then a prompt and steps. */
static void take_unevenly(looks_back *m)
{
        int error = 0;
        looks_back_reset(m);
        memset(y, 0, sizeof y);
        for (int64_t at = 0, piece = 1; at < POSITIONS && !error; at += piece++)
                error = take(m, at, at + piece < POSITIONS ? at + piece : POSITIONS, piece);
        check(m, "growing pieces", error, 0, POSITIONS);
        looks_back_reset(m);
        memset(y, 0, sizeof y);
        error = looks_back_prefill(m, x, POSITIONS - 100);
        error = error ? error : take(m, POSITIONS - 100, POSITIONS, 1);
        check(m, "a prompt, then steps", error, POSITIONS - 100, POSITIONS);
}

/* Goes back by `back` from every position that is a multiple of 50, and on with other rows and again with the same. */
static int take_back(looks_back *m, int64_t back)
{
        int error = 0, refused = 0;
        static float other[POSITIONS * WIDTH];
        looks_back_reset(m);
        memset(y, 0, sizeof y);
        for (int64_t at = 0; at < POSITIONS && !error && !refused; at += 50) {
                int64_t end = at + 50, begin = end > back ? end - back : 0;
                error = take(m, at, end, 50);
                for (int i = 0; i < 2 && !error && !refused; i++) {
                        refused = looks_back_rewind(m, begin);
                        if (refused)
                                break;
                        error = i ? take(m, begin, end, 1) : looks_back_prefill(m, other, end - begin);
                }
                if (refused && looks_back_position(m) != end)
                        error = refused;
                if (refused == LOOKS_BACK_ERROR_REWIND) /* it goes on as if nothing had been asked */
                        error = take(m, end, POSITIONS, 7);
        }
        check(m, "taken back", error, 0, POSITIONS);
        return refused;
}

/* Goes back as far as it can, not to none; the refusals on the way change nothing.  Where it is, or -1. */
static int64_t rewind_furthest(looks_back *m)
{
        const int64_t end = looks_back_position(m);
        for (int64_t n = 1; n < end; n++) {
                int error = looks_back_rewind(m, n);
                if (!error)
                        return n;
                if (error != LOOKS_BACK_ERROR_REWIND || looks_back_position(m) != end)
                        return -1;
        }
        return end;
}

/* From positions all over the sequence, taken in pieces: wherever it agrees to go back to, every row from there on is right. */
static void take_back_furthest(looks_back *m)
{
        int error = 0;
        looks_back_reset(m);
        for (int64_t at = 0; at < POSITIONS && !error;) {
                int64_t end = at + 1 + at % 41 < POSITIONS ? at + 1 + at % 41 : POSITIONS;
                error = take(m, at, end, 1 + at % 5);
                int64_t back = error ? -1 : rewind_furthest(m);
#ifdef BLOCK
                const int64_t begins = (end - 1) / BLOCK * BLOCK;
                if (back != (begins ? begins : 1)) {
                        printf("of %d positions all but %d are taken back\n", (int)end, (int)back);
                        failed = 1;
                }
#endif
                memset(y, 0, sizeof y);
                error = back < 0 ? LOOKS_BACK_ERROR_REWIND : take(m, back, end, end);
                check(m, "taken back as far as it goes", error, back < 0 ? 0 : back, end);
                at = end;
        }
}

int main(int argc, char **argv)
{
        int error = argc != 2;
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        unsigned state = 1;
        for (int i = 0; i < POSITIONS * WIDTH; i++) {
                state = state * 1664525u + 1013904223u;
                x[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
        }
        looks_back *m = looks_back_new(argv[1], 1, &error);
        error = m ? take(m, 0, POSITIONS, 1) : error;
        if (error) {
                printf("%s\n", looks_back_error(error));
                return 1;
        }
        memcpy(expected, y, sizeof y);
        take_all(m, "the whole", POSITIONS);
        looks_back *pair = error ? NULL : looks_back_new(argv[1], 2, &error);
        if (pair)
                take_all(pair, "the whole by 2 threads", POSITIONS);
        looks_back_free(pair);
        take_all(m, "pieces of 7", 7);
        take_all(m, "pieces of 97", 97);
        take_unevenly(m);
        take_back_furthest(m);
        if (take_back(m, SPARE)) {
                printf("%d positions can't be taken back\n", SPARE);
                failed = 1;
        }
        for (int i = 0; i < POSITIONS * WIDTH; i++) {
                uint32_t bits;
                memcpy(&bits, &expected[i], sizeof bits);
                hash = (hash ^ bits) * UINT64_C(0x100000001b3);
        }
        printf("%016llx\n", (unsigned long long)hash);
        printf("%s\n", take_back(m, BACK) == LOOKS_BACK_ERROR_REWIND ? "refused" : "taken back");
        looks_back_free(m);
        return failed;
}
