/* The fields of an engine, for its files. */
#ifndef ENGINE_PRIVATE_H
#define ENGINE_PRIVATE_H
#include "jit_private.h"

#include "../../runtime/guard.h"
#include "../../runtime/team.h"

#include <stdatomic.h>

/* State of a slot between calls; the selected slot's position is the instance's. */
typedef struct {
        int64_t past, size[MAX_NAMED], base[MAX_CACHES], furthest;
} KeptSlot;

typedef struct EngineRank EngineRank;
typedef struct EngineMeetings EngineMeetings;

struct Engine {
        Plan *plan;
        JitMode mode;
        JitCode code;
        bool optimised;    /* code is the system compiler's */
        CcBuild *build;    /* running, or NULL */
        bool tried;        /* it was started, if possible */
        double first_call; /* when it was, or 0 */
        Team team;
        bool has_team;
        int max_threads;
        EngineInstance *instance; /* with all its memory */
        size_t memory_size;
        float **output;    /* [noutput], NULL except for the first rank */
        float *state;      /* [slots][slot_floats] */
        KeptSlot *kept;    /* [slots] */
        int slot;          /* the selected one */
        CachedState *held; /* [cached_states(), or paged_states()] */
        PageTable pages;   /* of Plan.pages */
        int32_t *numbers;  /* memory of `pages` */
        double compile_seconds;
        atomic_bool interrupted;
        EngineRank *rank; /* [Plan.sharing: stages * ranks], stage by stage; NULL: there is one */
        EngineMeetings *meetings;
        Team rank_team; /* a thread for each, the caller's for the first */
        bool has_rank_team;
};

/* engine.c: bytes of an instance, followed by the views of its sequences and of its ranges */
size_t engine_views_size(const Engine *e);

static inline EngineInstance *sequence_views(const Engine *e, const EngineInstance *m)
{
        return view_at(e->plan->graph, m, 1);
}

static inline EngineInstance *range_views(const Engine *e, const EngineInstance *m)
{
        return view_at(e->plan->graph, m, 1 + e->plan->slots);
}

/* engine_ranks.c: several ranks, or stages of them */
int rank_count(const Engine *e);
const char *ranks_start(Engine *e, int threads); /* after take_memory() */
void ranks_stop(Engine *e);
const char *ranks_sleep(Engine *e);
const char *ranks_set_threads(Engine *e, int threads);
const char *run_ranks(Engine *e);
/* distance in bytes from the first rank's memory to this one's, which has the same layout */
ptrdiff_t rank_apart(const Engine *e, int r);

/* Replaces libtcc's code by the system compiler's as soon as it is ready. */
void second_tier(Engine *e);

/* Floats of a slot's state. */
static inline size_t slot_floats(const Plan *p)
{
        return (size_t)FLOATS(p->bytes.state) + LANES;
}
#endif
