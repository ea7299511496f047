/* Sequences of one instance whose keys and values lie in pages: random batches, calls of one slot, forks, resets and positions taken
 * back, with fewer pages than all slots can fill, against each sequence alone.
 *
 *   -DALONE: program WEIGHTS FILE                     built for one slot: writes the logits of every sequence
 *            program WEIGHTS FILE THREADS CALLS SEED  reads them: each logit must be the same to the bit; of each refused call nothing
 *                                                     may have been taken
 * Sequences 1 and up begin as sequence 0 does, and go ways of their own from position `parted` on, so that forks may become any of
 * them.  Prints what differs; the exit status is 1 then. */
enum { SEQUENCES = 5, LENGTH = 640 };
#include "../batch/together.h"

static const int parted[SEQUENCES] = {LENGTH, 0, 100, 256, 530};

#ifndef ALONE
enum { NEAR = 12 };                        /* how far half of the rewinds go */
static int64_t refused, copied, went_back; /* went_back: to a position on the way */

static int64_t pages_of(int64_t positions)
{
        return (positions + 255) / 256;
}

/* After a call was refused: there were too few pages, and as many are left as before. */
static int check_refused(tale *m, int error, int64_t left, int64_t wanted)
{
        refused++;
        if (error != TALE_ERROR_PAGES)
                return fail(tale_error(error), error, 0);
        if (tale_pages_left(m) != left || wanted <= left)
                return fail("refused: pages left, wanted", tale_pages_left(m), wanted);
        /* room is made: one slot begins anew, perhaps with another sequence */
        int slot = (int)below(TALE_SLOTS);
        if (tale_select(m, slot))
                return 1;
        tale_reset(m);
        taken[slot] = 0;
        of[slot] = (int)below(SEQUENCES);
        return 0;
}

static int random_batch(tale *m)
{
        tale_sequence s[TALE_SLOTS];
        const int n = choose_batch(s);
        int64_t left = tale_pages_left(m), wanted = 0;
        for (int i = 0; i < n; i++)
                wanted += pages_of(taken[s[i].slot] + s[i].n) - pages_of(taken[s[i].slot]);
        int error = tale_batch(m, s, n, input, given[0]);
        if (error) /* of a shared page all users but one want a copy */
                return check_refused(m, error, left, wanted + n);
        copied += left - tale_pages_left(m) - wanted;
        return compare_batch(s, n);
}

/* One slot by the functions that are about the selected one; at times it goes back. */
static int random_alone(tale *m)
{
        int slot = (int)below(TALE_SLOTS);
        int64_t left = tale_pages_left(m), at = taken[slot];
        int error = tale_select(m, slot);
        if (error || tale_position(m) != at)
                return fail("position of a selected slot", slot, tale_position(m));
        if (at == LENGTH || below(4) == 0) {
                const int near = at > NEAR && below(2);
                taken[slot] = near ? at - 1 - below(NEAR) : at ? below(at) : 0;
                error = tale_rewind(m, taken[slot]);
                went_back += !error && taken[slot] > 0;
                if (error != TALE_ERROR_REWIND || tale_position(m) != at)
                        return error;
                taken[slot] = 0; /* sums have gone on */
                return tale_rewind(m, 0);
        }
        int64_t n = 1 + below(LENGTH - at);
        error = tale_forward(m, tokens[of[slot]] + at, n, given[0]);
        if (error)
                return check_refused(m, error, left, pages_of(at + n) - pages_of(at) + 1);
        taken[slot] += n;
        return compare(slot, at, given[0], n);
}

/* A slot becomes a fork of another, and goes on as any sequence that has the same beginning. */
static int random_fork(tale *m)
{
        int slot = (int)below(TALE_SLOTS), copy = (int)below(TALE_SLOTS), q = (int)below(SEQUENCES);
        int64_t common = parted[of[slot]] < parted[q] ? parted[of[slot]] : parted[q],
                left = tale_pages_left(m);
        int error = tale_fork(m, slot, copy);
        if (error || tale_pages_left(m) < left)
                return fail("a fork: code, pages left", error, tale_pages_left(m));
        taken[copy] = taken[slot];
        of[copy] = taken[slot] <= common && slot != copy ? q : of[slot];
        return 0;
}

static int expect(int64_t given_back, int64_t wanted, int number)
{
        return given_back == wanted ? 0 : fail("number, what it gave", number, given_back);
}

/* What pages are taken, shared, copied and given back, one after another. */
static int count_pages(tale *m)
{
        int bad = 0;
        int64_t all = TALE_PAGES;
        for (int slot = 0; slot < TALE_SLOTS; slot++) {
                bad |= tale_select(m, slot);
                tale_reset(m);
        }
        bad |= expect(tale_pages_left(m), all, 1);
        bad |= tale_select(m, 0) || tale_prefill(m, tokens[0], 300);
        bad |= expect(tale_pages_left(m), all - 2, 2);
        bad |= expect(tale_fork(m, 0, 1), TALE_OK, 3) || expect(tale_fork(m, 0, 2), TALE_OK, 4);
        bad |= expect(tale_pages_left(m), all - 2, 5);
        bad |= tale_step(m, tokens[0][300], NULL); /* a page is copied, the other is shared by three */
        bad |= expect(tale_pages_left(m), all - 3, 6);
        bad |= tale_select(m, 1);
        bad |= expect(tale_position(m), 300, 7);
#ifdef KEEPS_LAST
        bad |= expect(tale_rewind(m, 256), TALE_ERROR_REWIND, 19);
        return bad || expect(tale_rewind(m, 300 - KEEPS_LAST), TALE_OK, 20) ||
               expect(tale_rewind(m, 299 - KEEPS_LAST), TALE_ERROR_REWIND, 21);
#endif
        bad |= tale_rewind(m, 256) || expect(tale_pages_left(m), all - 3, 8); /* slot 2 has it */
        bad |= tale_step(m, tokens[0][256], NULL) || expect(tale_pages_left(m), all - 4, 9);
        bad |= tale_rewind(m, 256) || expect(tale_pages_left(m), all - 3, 10);
        bad |= tale_select(m, 2);
        tale_reset(m);
        bad |= expect(tale_pages_left(m), all - 2, 11);
        bad |= expect(tale_fork(m, 2, 0), TALE_OK, 12); /* of nothing */
        bad |= expect(tale_pages_left(m), all - 1, 13);
        bad |= expect(tale_fork(m, -1, 0), TALE_ERROR_SLOT, 14) ||
               expect(tale_fork(m, 0, TALE_SLOTS), TALE_ERROR_SLOT, 15);
        /* two of three that share a page go on in one batch: it is copied for one of them if the third is gone, else for both */
        input[0] = input[1] = tokens[0][1];
        for (int third = 0; third < 2; third++) {
                const tale_sequence both[2] = {{3, 1, 0}, {4, 1, 0}};
                bad |= tale_select(m, 3);
                tale_reset(m);
                bad |= tale_step(m, tokens[0][0], NULL) || tale_fork(m, 3, 4) ||
                       tale_fork(m, 3, third ? 0 : 4);
                int64_t left = tale_pages_left(m);
                bad |= tale_batch(m, both, 2, input, NULL);
                bad |= expect(tale_pages_left(m), left - 1 - third, 16 + third);
        }
        for (int slot = 0; slot < TALE_SLOTS; slot++) {
                bad |= tale_select(m, slot);
                tale_reset(m);
        }
        return bad || expect(tale_pages_left(m), all, 18);
}

static int run(tale *m, FILE *f, int calls)
{
        if (fread(expected, sizeof expected, 1, f) != 1)
                return fail("the file is short", 0, 0);
        for (int slot = 0; slot < TALE_SLOTS; slot++)
                of[slot] = slot % SEQUENCES;
        for (int i = 0; i < calls; i++) {
                int64_t kind = below(8);
                if (kind < 2 ? random_fork(m) : kind < 6 ? random_batch(m) : random_alone(m))
                        return fail("in call", i, 0);
        }
        printf("%ld calls refused, %ld pages copied, %ld back\n", (long)refused, (long)copied,
               (long)went_back);
        return count_pages(m);
}
#endif

int main(int argc, char **argv)
{
        int error = 1;
        for (int s = 0; s < SEQUENCES; s++)
                for (int i = 0; i < LENGTH; i++)
                        tokens[s][i] = i < parted[s] && s > 0 ? tokens[0][i] : (int32_t)below(TOKENS);
#ifdef ALONE
        FILE *f = argc == 3 ? fopen(argv[2], "wb") : NULL;
        tale *m = f ? tale_new(argv[1], 1, &error) : NULL;
        error = error || run_alone(m, f);
#else
        FILE *f = argc == 6 ? fopen(argv[2], "rb") : NULL;
        tale *m = f ? tale_new(argv[1], atoi(argv[3]), &error) : NULL;
        seed = argc == 6 ? (uint64_t)atoi(argv[5]) : 1;
        error = error || run(m, f, atoi(argv[4]));
#endif
        tale_free(m);
        return f && fclose(f) ? 1 : error;
}
