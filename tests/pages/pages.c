/* Sequences of one instance whose keys and values lie in pages: random batches, calls of one slot, forks, resets and positions taken
 * back, with fewer pages than all slots can fill, against each sequence alone.
 *
 *   -DALONE: program WEIGHTS FILE                     built for one slot: writes the logits of every sequence
 *            program WEIGHTS FILE THREADS CALLS SEED  reads them: each logit must be the same to the bit; of each refused call nothing
 *                                                     may have been taken
 * Sequences 1 and up begin as sequence 0 does, and go ways of their own from position `parted` on, so that forks may become any of
 * them.  Prints what differs; the exit status is 1 then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { SEQUENCES = 5, LENGTH = 640, VOCAB = TINY_TOKENS_BOUND };
static const int parted[SEQUENCES] = {LENGTH, 0, 100, 256, 530};
static int32_t tokens[SEQUENCES][LENGTH];
static float expected[SEQUENCES][LENGTH][VOCAB];
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
static int run(tiny *m, FILE *f)
{
        for (int s = 0; s < SEQUENCES; s++) {
                tiny_reset(m);
                int error = tiny_forward(m, tokens[s], LENGTH, expected[s][0]);
                if (error)
                        return fail(tiny_error(error), s, 0);
        }
        return fwrite(expected, sizeof expected, 1, f) != 1;
}
#else
static int of[TINY_SLOTS]; /* the sequence that a slot holds .. */
static int64_t taken[TINY_SLOTS]; /* .. and how much of it */
static int32_t input[TINY_BATCH_ROWS];
static float given[LENGTH][VOCAB];
static int64_t refused, copied;

static int compare(int slot, int64_t at, const float *logits, int64_t n)
{
        return n > 0 && memcmp(expected[of[slot]][at], logits, (size_t)n * sizeof expected[0][0])
                       ? fail("other logits: slot, position", slot, at)
                       : 0;
}

static int64_t pages_of(int64_t positions)
{
        return (positions + 255) / 256;
}

/* After a call was refused: there were too few pages, and as many are left as before. */
static int check_refused(tiny *m, int error, int64_t left, int64_t wanted)
{
        refused++;
        if (error != TINY_ERROR_PAGES)
                return fail(tiny_error(error), error, 0);
        if (tiny_pages_left(m) != left || wanted <= left)
                return fail("refused: pages left, wanted", tiny_pages_left(m), wanted);
        /* room is made: one slot begins anew, perhaps with another sequence */
        int slot = (int)below(TINY_SLOTS);
        if (tiny_select(m, slot))
                return 1;
        tiny_reset(m);
        taken[slot] = 0;
        of[slot] = (int)below(SEQUENCES);
        return 0;
}

/* Some of the slots, in any order, each with any number of positions. */
static int random_batch(tiny *m)
{
        tiny_sequence s[TINY_SLOTS];
        int n = 0, start = (int)below(TINY_SLOTS), step = 1 + (int)below(TINY_SLOTS - 1);
        int64_t rows = 0, most = below(3) ? TINY_BATCH_ROWS : 1, left = tiny_pages_left(m), wanted = 0;
        for (int i = 0; i < TINY_SLOTS; i++) {
                int slot = (start + i * step) % TINY_SLOTS; /* TINY_SLOTS is prime */
                int64_t count = LENGTH - taken[slot];
                count = count < most ? count : most;
                count = count < TINY_BATCH_ROWS - rows ? count : TINY_BATCH_ROWS - rows;
                if (count == 0 || below(4) == 0)
                        continue;
                count = below(3) ? 1 + below(count) : count;
                int64_t kind = below(3);
                s[n++] = (tiny_sequence){slot, count, kind == 0 ? 0 : kind == 1 ? count - 1 : below(count + 1)};
                memcpy(input + rows, tokens[of[slot]] + taken[slot], (size_t)count * sizeof *input);
                rows += count;
                wanted += pages_of(taken[slot] + count) - pages_of(taken[slot]);
        }
        int error = tiny_batch(m, s, n, input, given[0]);
        if (error) /* of a shared page all users but one want a copy */
                return check_refused(m, error, left, wanted + n);
        rows = 0;
        for (int i = 0; i < n; i++) {
                if (compare(s[i].slot, taken[s[i].slot] + s[i].first, given[rows], s[i].n - s[i].first))
                        return 1;
                rows += s[i].n - s[i].first;
                taken[s[i].slot] += s[i].n;
        }
        copied += left - tiny_pages_left(m) - wanted;
        return 0;
}

/* One slot by the functions that are about the selected one; at times it goes back. */
static int random_alone(tiny *m)
{
        int slot = (int)below(TINY_SLOTS);
        int64_t left = tiny_pages_left(m), at = taken[slot];
        int error = tiny_select(m, slot);
        if (error || tiny_position(m) != at)
                return fail("position of a selected slot", slot, tiny_position(m));
        if (at == LENGTH || below(4) == 0) {
                taken[slot] = at ? below(at) : 0;
                return tiny_rewind(m, taken[slot]);
        }
        int64_t n = 1 + below(LENGTH - at);
        error = tiny_forward(m, tokens[of[slot]] + at, n, given[0]);
        if (error)
                return check_refused(m, error, left, pages_of(at + n) - pages_of(at) + 1);
        taken[slot] += n;
        return compare(slot, at, given[0], n);
}

/* A slot becomes a fork of another, and goes on as any sequence that has the same beginning. */
static int random_fork(tiny *m)
{
        int slot = (int)below(TINY_SLOTS), copy = (int)below(TINY_SLOTS), q = (int)below(SEQUENCES);
        int64_t common = parted[of[slot]] < parted[q] ? parted[of[slot]] : parted[q], left = tiny_pages_left(m);
        int error = tiny_fork(m, slot, copy);
        if (error || tiny_pages_left(m) < left)
                return fail("a fork: code, pages left", error, tiny_pages_left(m));
        taken[copy] = taken[slot];
        of[copy] = taken[slot] <= common && slot != copy ? q : of[slot];
        return 0;
}

static int expect(int64_t given_back, int64_t wanted, int number)
{
        return given_back == wanted ? 0 : fail("number, what it gave", number, given_back);
}

/* What pages are taken, shared, copied and given back, one after another. */
static int count_pages(tiny *m)
{
        int bad = 0;
        int64_t all = TINY_PAGES;
        for (int slot = 0; slot < TINY_SLOTS; slot++) {
                bad |= tiny_select(m, slot);
                tiny_reset(m);
        }
        bad |= expect(tiny_pages_left(m), all, 1);
        bad |= tiny_select(m, 0) || tiny_prefill(m, tokens[0], 300);
        bad |= expect(tiny_pages_left(m), all - 2, 2);
        bad |= expect(tiny_fork(m, 0, 1), TINY_OK, 3) || expect(tiny_fork(m, 0, 2), TINY_OK, 4);
        bad |= expect(tiny_pages_left(m), all - 2, 5);
        bad |= tiny_step(m, tokens[0][300], NULL); /* a page is copied, the other is shared by three */
        bad |= expect(tiny_pages_left(m), all - 3, 6);
        bad |= tiny_select(m, 1);
        bad |= expect(tiny_position(m), 300, 7);
        bad |= tiny_rewind(m, 256) || expect(tiny_pages_left(m), all - 3, 8); /* slot 2 has it */
        bad |= tiny_step(m, tokens[0][256], NULL) || expect(tiny_pages_left(m), all - 4, 9);
        bad |= tiny_rewind(m, 256) || expect(tiny_pages_left(m), all - 3, 10);
        bad |= tiny_select(m, 2);
        tiny_reset(m);
        bad |= expect(tiny_pages_left(m), all - 2, 11);
        bad |= expect(tiny_fork(m, 2, 0), TINY_OK, 12); /* of nothing */
        bad |= expect(tiny_pages_left(m), all - 1, 13);
        bad |= expect(tiny_fork(m, -1, 0), TINY_ERROR_SLOT, 14) || expect(tiny_fork(m, 0, TINY_SLOTS), TINY_ERROR_SLOT, 15);
        /* two of three that share a page go on in one batch: it is copied for one of them if the third is gone, else for both */
        input[0] = input[1] = tokens[0][1];
        for (int third = 0; third < 2; third++) {
                const tiny_sequence both[2] = {{3, 1, 0}, {4, 1, 0}};
                bad |= tiny_select(m, 3);
                tiny_reset(m);
                bad |= tiny_step(m, tokens[0][0], NULL) || tiny_fork(m, 3, 4) || tiny_fork(m, 3, third ? 0 : 4);
                int64_t left = tiny_pages_left(m);
                bad |= tiny_batch(m, both, 2, input, NULL);
                bad |= expect(tiny_pages_left(m), left - 1 - third, 16 + third);
        }
        for (int slot = 0; slot < TINY_SLOTS; slot++) {
                bad |= tiny_select(m, slot);
                tiny_reset(m);
        }
        return bad || expect(tiny_pages_left(m), all, 18);
}

static int run(tiny *m, FILE *f, int calls)
{
        if (fread(expected, sizeof expected, 1, f) != 1)
                return fail("the file is short", 0, 0);
        for (int slot = 0; slot < TINY_SLOTS; slot++)
                of[slot] = slot % SEQUENCES;
        for (int i = 0; i < calls; i++) {
                int64_t kind = below(8);
                if (kind < 2 ? random_fork(m) : kind < 6 ? random_batch(m) : random_alone(m))
                        return fail("in call", i, 0);
        }
        printf("%ld calls refused, %ld pages copied\n", (long)refused, (long)copied);
        return count_pages(m);
}
#endif

int main(int argc, char **argv)
{
        int error = 1;
        for (int s = 0; s < SEQUENCES; s++)
                for (int i = 0; i < LENGTH; i++)
                        tokens[s][i] = i < parted[s] && s > 0 ? tokens[0][i] : (int32_t)below(VOCAB);
#ifdef ALONE
        FILE *f = argc == 3 ? fopen(argv[2], "wb") : NULL;
        tiny *m = f ? tiny_new(argv[1], 1, &error) : NULL;
        error = error || run(m, f);
#else
        FILE *f = argc == 6 ? fopen(argv[2], "rb") : NULL;
        tiny *m = f ? tiny_new(argv[1], atoi(argv[3]), &error) : NULL;
        seed = argc == 6 ? (uint64_t)atoi(argv[5]) : 1;
        error = error || run(m, f, atoi(argv[4]));
#endif
        tiny_free(m);
        return f && fclose(f) ? 1 : error;
}
