/* One of several processes that compute a model together: process SHARED RANK RANKS WEIGHTS [STEPS]
 *
 * SHARED is a file of zeros that all map (shared_memory.h).  A prompt of 70 tokens in one call, then 20
 * of the likeliest; prints a hash of all logits, and to standard error how many floats of
 * the instance it wrote, and how many gathers of how many floats that took.  STEPS: this process ends after so many, without a word to the others.
 *
 * With SLOTS batches follow, and STEPS counts those. */
#include <stdio.h>
#include <stdlib.h>

#include "joined.h"
#include "logits.h"
#include "shared_memory.h"

#ifndef CHECK
#define CHECK 0 /* 1: ranks compare what layers leave */
#endif

enum { PROMPT = 70, MADE = 20, BATCHES = 6 };

/* No two words alike: what is copied from elsewhere is another word. */
static uint32_t unwritten(size_t i)
{
        return UINT32_C(0x3f000000) + (uint32_t)i;
}

static void fill(uint32_t *memory, size_t words)
{
        for (size_t i = 0; i < words; i++)
                memory[i] = unwritten(i);
}

static size_t written(const uint32_t *memory, size_t words)
{
        size_t n = 0;
        for (size_t i = 0; i < words; i++)
                n += memory[i] != unwritten(i);
        return n;
}

/* What is made of a prompt: steps, likeliest tokens. */
static int make(joined *m, int steps, float *logits, uint64_t *hash)
{
        int32_t tokens[PROMPT];
        for (int i = 0; i < PROMPT; i++)
                tokens[i] = 3 + i * 37 % 500;
        int error = joined_forward(m, tokens, PROMPT, logits);
        if (!error)
                *hash = hash_of(*hash, logits, PROMPT * VOCAB);
        int32_t token = likeliest(logits + (PROMPT - 1) * VOCAB);
        for (int i = 0; i < steps && !error; i++) {
                error = joined_step(m, token, logits);
                *hash = error ? *hash : hash_of(*hash, logits, VOCAB);
                token = likeliest(logits);
        }
        return error;
}

#ifdef SLOTS
/* Sequences together: of 1, 9 and 17 positions, then each of one more. */
static int make_batches(joined *m, int batches, float *logits, uint64_t *hash)
{
        joined_sequence s[SLOTS];
        int32_t tokens[PROMPT];
        int error = 0;
        for (int i = 0; i < PROMPT; i++)
                tokens[i] = 5 + i * 53 % 490;
        for (int round = 0; round < batches && !error; round++) {
                int64_t rows = 0;
                for (int i = 0; i < SLOTS; i++) {
                        s[i] = (joined_sequence){(i + round) % SLOTS, round ? 1 : 1 + 8 * i % 21, 0};
                        rows += s[i].n;
                }
                if (round ==
                    2) /* the last one goes on as the first does: with pages they share some, and then one is copied */
                        error = joined_fork(m, 0, SLOTS - 1);
                error = error ? error : joined_batch(m, s, SLOTS, tokens + round, logits);
                *hash = error ? *hash : hash_of(*hash, logits, rows * VOCAB);
        }
        return error;
}
#endif

int main(int argc, char **argv)
{
        if (argc < 5)
                return 2;
#ifdef SLOTS
        const int steps = MADE, batches = argc > 5 ? atoi(argv[5]) : BATCHES;
#else
        const int steps = argc > 5 ? atoi(argv[5]) : MADE;
#endif
        Peers peers = {.shared = shared_memory(argv[1]), .rank = atoi(argv[2]), .ranks = atoi(argv[3])};
        const size_t bytes = joined_size(2);
        joined *m = aligned_alloc(64, (bytes + 63) / 64 * 64);
        int error = m ? (fill((uint32_t *)m, bytes / 4), joined_init(m, argv[4], 2)) : 1;
        void *scratch = malloc(joined_join_scratch());
        static float logits[PROMPT * VOCAB];
        uint64_t hash = 0;
        if (error || peers.shared == SHARED_FAILED)
                return printf("%s\n", joined_error(error)), 3;
        if (peers.ranks > 1)
                error = joined_join(m,
                                    &(joined_ranks){.rank = peers.rank,
                                                    .ranks = peers.ranks,
                                                    .gather = gather,
                                                    .of = &peers,
                                                    .check = CHECK},
                                    scratch);
        peers.gathers = peers.floats = 0;
        if (!error)
                error = make(m, steps, logits, &hash);
#ifdef SLOTS
        if (!error)
                error = make_batches(m, batches, logits, &hash);
#endif
        if (!error && argc == 5)
                printf("%016llx\n", (unsigned long long)hash);
        else if (error)
                printf("%s\n", joined_error(error));
        int64_t layer = 0;
        const char *differs = joined_differs(m, &layer);
        if (differs)
                printf("behind %s[%lld]\n", differs, (long long)layer);
        fprintf(stderr, "%zu %ld %ld\n", written((const uint32_t *)m, bytes / 4), peers.gathers,
                peers.floats);
        joined_close(m);
        free(m);
        free(scratch);
        return error ? 3 : 0;
}
