/* What an engine holds, for the files that are one. */
#ifndef ENGINE_PRIVATE_H
#define ENGINE_PRIVATE_H
#include "jit_private.h"

#include "../../runtime/guard.h"
#include "../../runtime/team.h"

#include <stdatomic.h>

/* What a slot keeps from call to call, but for the selected one, whose position is the instance's. */
typedef struct {
        int64_t past, size[MAX_NAMED], base[MAX_CACHES];
} Kept;

struct Engine {
        Plan *plan;
        JitMode mode;
        JitCode code;
        bool optimised; /* code is the system compiler's */
        CcBuild *build; /* under way, or NULL */
        bool tried;     /* it was started, if it could be */
        Team team;
        bool has_team;
        int most_threads;
        void *memory;
        size_t memory_size;
        char *instance;
        float **output;    /* [noutput], NULL but for the first */
        float *state;      /* [slots][slot_floats] */
        Kept *kept;        /* [slots] */
        int slot;          /* the selected one */
        CachedState *held; /* [cached_states(), or paged_states()] */
        PageTable pages;   /* of Plan.pages .. */
        int32_t *numbers;  /* .. in this memory */
        double compile_seconds;
        atomic_bool interrupted;
};

/* The system compiler's code takes the place of libtcc's as soon as it is there. */
void second_tier(Engine *e);

static inline size_t aligned(size_t n)
{
        return (n + 63) / 64 * 64;
}

/* Of a slot's state. */
static inline size_t slot_floats(const Plan *p)
{
        return (size_t)FLOATS(p->state_size) + LANES;
}
#endif
