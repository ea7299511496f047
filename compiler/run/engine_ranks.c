/* Ranks of an engine: instances in this process that compute one model together, each with memory and threads of its own, as processes on
 * several machines do (runtime/ranks.h).  Results are those of the first. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine_private.h"

struct EngineRank {
        Engine *engine;
        Ranks link;
        Team team; /* threads of ranks other than the first, which has the engine's */
        bool has_team;
        EngineInstance *instance;
        char *weights; /* its part of the weights, between holes; NULL: all ranks share one memory */
        size_t weights_size;
        const float *shown; /* its part in a gather */
        float **output;     /* [noutput]: outputs that the caller does not get */
        size_t *room;       /* [noutput] floats */
};

/* A message that a stage has sent, and another has not received. */
typedef struct RankMessage RankMessage;
struct RankMessage {
        RankMessage *next;
        float x[];
};

/* Messages between ranks of the same number in two stages, in order. */
typedef struct {
        RankMessage *first, *last;
} Queue;

/* Barriers of a stage's ranks; messages between stages. */
struct EngineMeetings {
        pthread_barrier_t *stage;
        int stages;   /* number of created stages */
        Queue *queue; /* [numbers][stages][stages]: from, to */
        pthread_mutex_t lock;
        pthread_cond_t sent;
        bool failed; /* out of memory for a message */
};

static void meet(pthread_barrier_t *b)
{
        (void)pthread_barrier_wait(b);
}

static EngineRank *rank_at(const EngineRank *self, int stage, int number)
{
        return &self->engine->rank[stage * self->link.ranks + number];
}

/* Each rank's part is visible to all. */
static int ranks_gather(void *of, float *all, const int64_t *begin)
{
        EngineRank *self = of;
        pthread_barrier_t *b = &self->engine->meetings->stage[self->link.stage];
        self->shown = all;
        meet(b);
        for (int r = 0; r < self->link.ranks; r++)
                if (r != self->link.rank)
                        memcpy(all + begin[r], rank_at(self, self->link.stage, r)->shown + begin[r],
                               (size_t)(begin[r + 1] - begin[r]) * sizeof *all);
        meet(b);
        return 0;
}

static Queue *queue_between(const EngineRank *self, int from, int to)
{
        const int stages = self->link.stages;
        return &self->engine->meetings->queue[(self->link.rank * stages + from) * stages + to];
}

static int send_to(void *of, const float *x, int64_t n, int stage)
{
        EngineRank *self = of;
        EngineMeetings *m = self->engine->meetings;
        Queue *queue = queue_between(self, self->link.stage, stage);
        RankMessage *sent = malloc(sizeof *sent + (size_t)n * sizeof *x);
        if (sent) {
                memcpy(sent->x, x, (size_t)n * sizeof *x);
                sent->next = NULL;
        }
        pthread_mutex_lock(&m->lock);
        m->failed |= !sent;
        if (sent) {
                *(queue->first ? &queue->last->next : &queue->first) = sent;
                queue->last = sent;
        }
        pthread_cond_broadcast(&m->sent);
        pthread_mutex_unlock(&m->lock);
        return !sent;
}

static int receive(void *of, float *x, int64_t n, int stage)
{
        EngineRank *self = of;
        EngineMeetings *m = self->engine->meetings;
        Queue *queue = queue_between(self, stage, self->link.stage);
        pthread_mutex_lock(&m->lock);
        while (!queue->first && !m->failed)
                pthread_cond_wait(&m->sent, &m->lock);
        RankMessage *sent = queue->first;
        queue->first = sent ? sent->next : NULL;
        pthread_mutex_unlock(&m->lock);
        if (!sent)
                return 1;
        memcpy(x, sent->x, (size_t)n * sizeof *x);
        free(sent);
        return 0;
}

/* Creates n barriers for `each` threads; *made: their number. */
static pthread_barrier_t *barriers(int n, int each, int *made)
{
        pthread_barrier_t *b = malloc((size_t)(n + 1) * sizeof *b);
        while (b && *made < n && !pthread_barrier_init(&b[*made], NULL, (unsigned)each))
                ++*made;
        return b;
}

static void end_barriers(pthread_barrier_t *b, int made)
{
        while (made > 0)
                pthread_barrier_destroy(&b[--made]);
        free(b);
}

static bool make_meetings(Engine *e)
{
        EngineMeetings *m = e->meetings = calloc(1, sizeof *m);
        const int ranks = e->plan->sharing.ranks, stages = e->plan->sharing.stages;
        if (!m)
                return false;
        pthread_mutex_init(&m->lock, NULL);
        pthread_cond_init(&m->sent, NULL);
        m->queue = calloc((size_t)ranks * (size_t)stages * (size_t)stages, sizeof *m->queue);
        m->stage = barriers(stages, ranks, &m->stages);
        return m->queue && m->stage && m->stages == stages;
}

static void end_meetings(const Engine *e)
{
        EngineMeetings *m = e->meetings;
        const int queues = e->plan->sharing.ranks * e->plan->sharing.stages * e->plan->sharing.stages;
        if (!m)
                return;
        end_barriers(m->stage, m->stages);
        for (int i = 0; m->queue && i < queues; i++)
                for (RankMessage *sent = m->queue[i].first, *next; sent; sent = next) {
                        next = sent->next;
                        free(sent);
                }
        free(m->queue);
        pthread_cond_destroy(&m->sent);
        pthread_mutex_destroy(&m->lock);
        free(m);
}

int rank_count(const Engine *e)
{
        return e->rank ? e->plan->sharing.ranks * e->plan->sharing.stages : 1;
}

static const char *rank_start(Engine *e, int r, int threads)
{
        EngineRank *k = &e->rank[r];
        const int64_t widest = widest_exchange(e->plan);
        k->engine = e;
        k->link = (Ranks){.rank = r % e->plan->sharing.ranks,
                          .ranks = e->plan->sharing.ranks,
                          .stage = r / e->plan->sharing.ranks,
                          .stages = e->plan->sharing.stages,
                          .gather = ranks_gather,
                          .send = send_to,
                          .receive = receive,
                          .of = k,
                          .block_floats = widest > RANK_BLOCK ? widest : RANK_BLOCK};
        k->link.block = malloc((size_t)k->link.block_floats * sizeof(float));
        k->output = calloc((size_t)e->plan->graph->noutput + 1, sizeof *k->output);
        k->room = calloc((size_t)e->plan->graph->noutput + 1, sizeof *k->room);
        if (!k->link.block || !k->output || !k->room)
                return no_memory;
        if (r == 0) {
                e->instance->ranks = &k->link;
                return NULL;
        }
        void *memory = mmap(NULL, e->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
                return no_memory;
        k->instance = memory;
        k->has_team = !team_start(&k->team, threads);
        return k->has_team ? NULL : "threads must be 1 to 64, and the system must be able to start them";
}

const char *ranks_start(Engine *e, int threads)
{
        const int ranks = e->plan->sharing.ranks * e->plan->sharing.stages;
        if (ranks < 2)
                return NULL;
        e->rank = calloc((size_t)ranks, sizeof *e->rank);
        const char *why = e->rank && make_meetings(e) ? NULL : no_memory;
        for (int r = 0; r < ranks && !why; r++)
                why = rank_start(e, r, threads);
        if (why)
                return why;
        e->has_rank_team = !team_start(&e->rank_team, ranks);
        return e->has_rank_team ? NULL : "an engine has at most 64 ranks";
}

void ranks_stop(Engine *e)
{
        if (e->has_rank_team)
                team_stop(&e->rank_team);
        for (int r = 0; e->rank && r < rank_count(e); r++) {
                EngineRank *k = &e->rank[r];
                if (k->has_team)
                        team_stop(&k->team);
                if (k->instance)
                        munmap(k->instance, e->memory_size);
                if (k->weights)
                        munmap(k->weights, k->weights_size);
                for (int i = 0; k->output && i < e->plan->graph->noutput; i++)
                        free(k->output[i]);
                free(k->output);
                free(k->room);
                free(k->link.block);
        }
        end_meetings(e);
        free(e->rank);
}

const char *ranks_sleep(Engine *e)
{
        for (int r = 1; e->rank && r < rank_count(e); r++)
                e->rank[r].team.asleep = true;
        if (!e->has_rank_team)
                return NULL;
        team_stop(&e->rank_team);
        e->rank_team.asleep = true;
        e->has_rank_team = !team_start(&e->rank_team, rank_count(e));
        return e->has_rank_team ? NULL : "threads can't be started";
}

const char *ranks_set_threads(Engine *e, int threads)
{
        for (int r = 1; e->rank && r < rank_count(e); r++) {
                EngineRank *k = &e->rank[r];
                team_stop(&k->team);
                k->has_team = !team_start(&k->team, threads);
                if (!k->has_team)
                        return "threads can't be started";
        }
        return NULL;
}

/* Memory for all ranks; pages are allocated only when written. */
static const char *take_share(Engine *e, int r, const char *weights)
{
        EngineRank *k = &e->rank[r];
        const RankPlace place = {k->link.rank, k->link.ranks, k->link.stage, k->link.stages};
        ByteRange *range;
        const int n = rank_ranges(e->plan, place, &range);
        const size_t size = n ? (size_t)range[n - 1].end : 0; /* in a pool, weights are beyond their size */
        void *at = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
        if (at == MAP_FAILED)
                return no_memory;
        k->weights = at;
        k->weights_size = size;
        for (int i = 0; i < n; i++)
                memcpy(k->weights + range[i].begin, weights + range[i].begin,
                       (size_t)(range[i].end - range[i].begin));
        return NULL;
}

const char *engine_share_weights(Engine *e)
{
        EngineInstance *first = e->instance;
        const char *weights = (const char *)first->weights, *why = NULL;
        for (int r = 0; e->rank && r < rank_count(e) && !why; r++)
                why = take_share(e, r, weights);
        if (e->rank && e->rank[0].weights)
                first->weights = (const float *)(const void *)e->rank[0].weights;
        return why;
}

ptrdiff_t rank_apart(const Engine *e, int r)
{
        return r ? (char *)e->rank[r].instance - (char *)e->instance : 0;
}

/* Floats of output i in this call.  An output whose rows are contiguous is passed by parts of the call,
 * starting at that part's rows; another one starts at those of the whole call. */
static int64_t floats_given(const Engine *e, int i)
{
        const Graph *g = e->plan->graph;
        const Type *t = &g->output[i].node->type;
        int64_t size[MAX_NAMED];
        memcpy(size, e->instance->size, sizeof size);
        if (g->past >= 0 && !advances(e->plan, t)) {
                size[g->time] = e->instance->whole;
                size[g->past] -= e->instance->done;
        }
        return (has_whole_sequences(e->plan) ? e->plan->slots : 1) * type_count(t, size) + LANES;
}

/* Allocates memory for each requested output; for a view of the instance, its part. */
static bool give_outputs(const Engine *e, EngineRank *k, EngineInstance *view)
{
        const Graph *g = e->plan->graph;
        for (int i = 0; i < g->noutput; i++) {
                const size_t n = (size_t)floats_given(e, i);
                float *wanted = view->pointer[g->ninput + i], *first = e->instance->pointer[g->ninput + i];
                if (!wanted)
                        continue;
                if (n > k->room[i]) {
                        free(k->output[i]);
                        k->output[i] = malloc(n * sizeof(float));
                        k->room[i] = k->output[i] ? n : 0;
                }
                if (!k->output[i])
                        return false;
                view->pointer[g->ninput + i] = k->output[i] + (wanted - first);
        }
        return true;
}

/* Makes a copy of an instance, or of a view of it, the rank's. */
static void rank_make_own(const Engine *e, EngineRank *k, EngineInstance *i, ptrdiff_t apart)
{
        if (k->weights)
                i->weights = (const float *)(const void *)k->weights;
        i->arena = (float *)(void *)((char *)i->arena + apart);
        i->state = (float *)(void *)((char *)i->state + apart);
        i->scratch = (float *)(void *)((char *)i->scratch + apart);
        i->team = &k->team;
        i->sequence = sequence_views(e, k->instance);
        i->range = range_views(e, k->instance);
        i->ranks = &k->link;
}

/* Does so for n views. */
static bool own_views(Engine *e, int r, EngineInstance *views, int n)
{
        bool good = true;
        for (int i = 0; i < n && good; i++) {
                EngineInstance *view = view_at(e->plan->graph, views, i);
                rank_make_own(e, &e->rank[r], view, rank_apart(e, r));
                good = give_outputs(e, &e->rank[r], view);
        }
        return good;
}

/* Makes an instance like the first, with its views, except for its own parts. */
static bool follow_first(Engine *e, int r)
{
        EngineInstance *own = e->rank[r].instance;
        memcpy(own, e->instance, engine_views_size(e));
        return own_views(e, r, own, 1) && own_views(e, r, sequence_views(e, own), own->sequences) &&
               own_views(e, r, range_views(e, own), own->ranges);
}

static void run_rank(void *of, int r)
{
        Engine *e = of;
        team_run(r ? &e->rank[r].team : &e->team, e->code.program, r ? e->rank[r].instance : e->instance);
}

const char *run_ranks(Engine *e)
{
        for (int r = 1; r < rank_count(e); r++)
                if (!follow_first(e, r))
                        return no_memory;
        team_run(&e->rank_team, run_rank, e);
        return NULL;
}
