/* Batches under way among stages: under_way WEIGHTS STAGES RANKS BATCHES STEPS [in turn]
 *
 * Stages of ranks, threads of this process, each with an instance of its own.  BATCHES batches of SLOTS / BATCHES sequences: prompts, then STEPS
 * steps of the likeliest tokens.  All batches are begun, then the outputs of the oldest one are taken and it is begun anew; `in turn`, or with 0
 * stages one instance alone: each in one call.  Prints a hash of all logits, and to standard error how many sequences took a step in a second. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "joined.h"
#include "logits.h"

enum { MOST_STAGES = 4, MOST_RANKS = 2, LONGEST = 9 };

/* --- a transport -------------------------------------------------------------------------------------------------------- */

typedef struct Message Message;
struct Message {
        Message *next;
        float x[];
};

typedef struct {
        Message *first, *last;
} Queue;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sent = PTHREAD_COND_INITIALIZER;
static Queue queue[MOST_RANKS][MOST_STAGES][MOST_STAGES];
static pthread_barrier_t stage_of[MOST_STAGES];

typedef struct {
        int stage, rank;
        pthread_t thread;
        uint64_t hash;
        int error;
        float *shown;
} Peer;

static Peer peer[MOST_STAGES][MOST_RANKS];
static const char *weights;
static int stages, ranks, batches, steps, in_turn;

static int gather(void *of, float *all, const int64_t *begin)
{
        Peer *p = of;
        p->shown = all;
        pthread_barrier_wait(&stage_of[p->stage]);
        for (int r = 0; r < ranks; r++)
                if (r != p->rank)
                        memcpy(all + begin[r], peer[p->stage][r].shown + begin[r],
                               (size_t)(begin[r + 1] - begin[r]) * sizeof *all);
        pthread_barrier_wait(&stage_of[p->stage]);
        return 0;
}

static int put(void *of, const float *x, int64_t n, int stage)
{
        const Peer *p = of;
        Queue *to = &queue[p->rank][p->stage][stage];
        Message *m = malloc(sizeof *m + (size_t)n * sizeof *x);
        if (!m)
                return 1;
        memcpy(m->x, x, (size_t)n * sizeof *x);
        m->next = NULL;
        pthread_mutex_lock(&lock);
        *(to->first ? &to->last->next : &to->first) = m;
        to->last = m;
        pthread_cond_broadcast(&sent);
        pthread_mutex_unlock(&lock);
        return 0;
}

static int take(void *of, float *x, int64_t n, int stage)
{
        const Peer *p = of;
        Queue *from = &queue[p->rank][stage][p->stage];
        pthread_mutex_lock(&lock);
        while (!from->first)
                pthread_cond_wait(&sent, &lock);
        Message *m = from->first;
        from->first = m->next;
        pthread_mutex_unlock(&lock);
        memcpy(x, m->x, (size_t)n * sizeof *x);
        free(m);
        return 0;
}

/* --- batches -------------------------------------------------------------------------------------------------------------- */

typedef struct {
        joined_sequence sequence[SLOTS];
        int sequences;
        int32_t token[SLOTS * LONGEST];
} Batch;

/* Prompts of 1 to 9 tokens, of each of which the last outputs are wanted. */
static Batch prompts(int number)
{
        Batch b = {.sequences = SLOTS / batches};
        int rows = 0;
        for (int i = 0; i < b.sequences; i++) {
                const int slot = number * b.sequences + i, n = 1 + (slot * 5 + 3) % LONGEST;
                b.sequence[i] = (joined_sequence){slot, n, n - 1};
                for (int k = 0; k < n; k++)
                        b.token[rows++] = 3 + (slot * 41 + k * 37) % 500;
        }
        return b;
}

static void choose(Batch *b, const float *logits, uint64_t *hash)
{
        for (int i = 0; i < b->sequences; i++, logits += VOCAB) {
                *hash = hash_of(*hash, logits, VOCAB);
                b->token[i] = likeliest(logits);
                b->sequence[i].n = 1;
                b->sequence[i].first = 0;
        }
}

/* What may not be done while batches are under way, the first of which is b. */
static int is_refused(joined *m, const Batch *b, float *logits)
{
        static const int32_t token[] = {7};
        const int most = stages > 1 ? 2 * stages : 1;
        return joined_step(m, 7, logits) == JOINED_ERROR_UNDER_WAY &&
               joined_batch(m, b->sequence, b->sequences, b->token, logits) == JOINED_ERROR_UNDER_WAY &&
               (batches >= most || joined_begin(m, &(joined_sequence){b->sequence[0].slot, 1, 0}, 1, token) ==
                                           JOINED_ERROR_TWICE) &&
               (batches < most ||
                joined_begin(m, &(joined_sequence){SLOTS - 1, 1, 0}, 1, token) == JOINED_ERROR_UNDER_WAY);
}

static int run_under_way(joined *m, Batch *b, float *logits, uint64_t *hash)
{
        int error = joined_end(m, logits) == JOINED_ERROR_UNDER_WAY ? 0 : 99;
        for (int i = 0; i < batches && !error; i++)
                error = joined_begin(m, b[i].sequence, b[i].sequences, b[i].token);
        if (!error && !is_refused(m, &b[0], logits))
                error = 99;
        for (int step = 0; step <= steps && !error; step++)
                for (int i = 0; i < batches && !error; i++) {
                        error = joined_end(m, logits);
                        choose(&b[i], logits, hash);
                        if (!error && step < steps)
                                error = joined_begin(m, b[i].sequence, b[i].sequences, b[i].token);
                }
        return error;
}

static int run_in_turn(joined *m, Batch *b, float *logits, uint64_t *hash)
{
        int error = 0;
        for (int step = 0; step <= steps; step++)
                for (int i = 0; i < batches && !error; i++) {
                        error = joined_batch(m, b[i].sequence, b[i].sequences, b[i].token, logits);
                        choose(&b[i], logits, hash);
                }
        return error;
}

/* A call of which no output is wanted, in a slot that is used later. */
static int want_nothing(joined *m)
{
        static const int32_t token[] = {3, 1, 4, 1, 5};
        int error = joined_select(m, SLOTS - 1);
        error = error ? error : joined_prefill(m, token, 5);
        joined_reset(m);
        return error ? error : joined_select(m, 0);
}

static void *one_peer(void *of)
{
        Peer *p = of;
        Batch b[SLOTS];
        float *logits = malloc(sizeof(float[SLOTS * VOCAB]));
        joined *m = joined_new(weights, 1, &p->error);
        void *scratch = malloc(joined_join_scratch());
        for (int i = 0; i < batches; i++)
                b[i] = prompts(i);
        if (!p->error && stages)
                p->error = joined_join(m,
                                       &(joined_ranks){.rank = p->rank,
                                                       .ranks = ranks,
                                                       .gather = gather,
                                                       .of = p,
                                                       .stage = p->stage,
                                                       .stages = stages,
                                                       .send = put,
                                                       .receive = take},
                                       scratch);
        if (!p->error)
                p->error = want_nothing(m);
        if (!p->error)
                p->error = (in_turn ? run_in_turn : run_under_way)(m, b, logits, &p->hash);
        joined_free(m);
        free(scratch);
        free(logits);
        return NULL;
}

int main(int argc, char **argv)
{
        if (argc < 6)
                return 2;
        weights = argv[1];
        stages = atoi(argv[2]);
        ranks = atoi(argv[3]);
        batches = atoi(argv[4]);
        steps = atoi(argv[5]);
        in_turn = argc > 6 || !stages;
        const int all = stages ? stages : 1;
        struct timespec begin, end;
        for (int s = 0; s < all; s++)
                pthread_barrier_init(&stage_of[s], NULL, (unsigned)ranks);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int s = 0; s < all; s++)
                for (int r = 0; r < ranks; r++) {
                        peer[s][r].stage = s;
                        peer[s][r].rank = r;
                        pthread_create(&peer[s][r].thread, NULL, one_peer, &peer[s][r]);
                }
        int error = 0, differ = 0;
        for (int s = 0; s < all; s++)
                for (int r = 0; r < ranks; r++) {
                        pthread_join(peer[s][r].thread, NULL);
                        error = error ? error : peer[s][r].error;
                        differ |= peer[s][r].hash != peer[0][0].hash;
                }
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double seconds =
                (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        printf("%s %016llx\n",
               error == 99 ? "not refused"
               : error     ? joined_error(error)
               : differ    ? "the ranks differ"
                           : "all",
               (unsigned long long)peer[0][0].hash);
        fprintf(stderr, "%.0f steps/s\n", SLOTS / batches * batches * (steps + 1) / seconds);
        return error || differ ? 3 : 0;
}
