/* An engine: the instance that emitted C has in its interface, for code made in this process.
 *
 * The program is a pointer, so between two calls another may take its place: instance, weights, threads and state stay. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "../runtime/guard.h"
#include "../runtime/team.h"
#include "emit.h"
#include "jit.h"

/* The first members of every model's instance (emit.c). */
typedef struct {
        const float *weights;
        float *arena, *state, *scratch;
        Team *team;
        int threads;
} InstanceHead;

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
        float **output; /* [noutput], NULL but for the first */
        double compile_seconds;
        atomic_bool interrupted;
};

/* --- code ------------------------------------------------------------------------------------------------------ */

static void free_code(Engine *e)
{
        if (e->optimised)
                jit_cc_free(&e->code);
        else
                jit_tcc_free(&e->code);
}

/* Waits for the compiler: where nothing else can run. */
static const char *compile_now(Engine *e)
{
        Arena *a = e->plan->graph->arena;
        CcBuild *b = cc_start(e->plan);
        if (!b)
                return "--jit cc: no C compiler can be started (cc, or what $CC names)";
        if (cc_poll(b, true, &e->code) == CC_DONE) {
                cc_free(b);
                e->optimised = true;
                return NULL;
        }
        const char *why = arena_printf(a, "--jit cc: %s", cc_message(b));
        cc_free(b);
        return why;
}

/* Starts the optimised build when there is time for it, and takes it over when it is there. */
static void second_tier(Engine *e)
{
        JitCode better;
        if (e->mode != JIT_AUTO || e->optimised)
                return;
        if (!e->tried) {
                e->tried = true;
                e->build = cc_start(e->plan);
        }
        CcState state = e->build ? cc_poll(e->build, false, &better) : CC_RUNNING;
        if (state == CC_RUNNING)
                return;
        cc_free(e->build);
        e->build = NULL;
        if (state == CC_DONE) {
                free_code(e);
                e->code = better;
                e->optimised = true;
        }
}

const char *engine_tier(const Engine *e)
{
        return e->optimised ? "cc" : "tcc";
}

double engine_compile_seconds(const Engine *e)
{
        return e->compile_seconds;
}

/* --- life ------------------------------------------------------------------------------------------------------- */

static size_t aligned(size_t n)
{
        return (n + 63) / 64 * 64;
}

static const char *take_memory(Engine *e, const float *weights, int threads)
{
        const Plan *p = e->plan;
        size_t own = aligned((size_t)e->code.instance[0]), arena = (size_t)p->arena_size + LANES,
               state = (size_t)p->state_size + LANES;
        e->memory_size = own + (arena + state + (size_t)scratch_size(p) * (size_t)threads) * sizeof(float);
        e->memory = mmap(NULL, e->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (e->memory == MAP_FAILED) {
                e->memory = NULL;
                return arena_printf(p->graph->arena,
                                    "out of memory: arena, state and scratch of %s take %.1f GB",
                                    p->graph->name, 1e-9 * (double)e->memory_size);
        }
        e->instance = e->memory;
        InstanceHead *i = e->memory;
        i->weights = weights;
        i->arena = (float *)(void *)(e->instance + own);
        i->state = i->arena + arena;
        i->scratch = i->state + state;
        i->team = &e->team;
        i->threads = threads;
        return NULL;
}

Engine *engine_new(Plan *p, const float *weights, int threads, JitMode mode, const char **why)
{
        Engine *e = calloc(1, sizeof *e);
        *why = "out of memory";
        if (!e)
                return NULL;
        e->plan = p;
        e->mode = mode;
        e->most_threads = threads;
        e->output = calloc((size_t)p->graph->noutput + 1, sizeof *e->output);
        if (!e->output) {
                free(e);
                return NULL;
        }
        double begin = seconds();
        *why = mode == JIT_CC ? compile_now(e) : jit_tcc(p, &e->code);
        e->compile_seconds = seconds() - begin;
        if (!*why)
                *why = take_memory(e, weights, threads);
        if (!*why) {
                e->has_team = !team_start(&e->team, threads);
                *why = e->has_team ? NULL : "threads must be 1 to 64, and startable";
        }
        if (!*why)
                return e;
        engine_free(e);
        return NULL;
}

void engine_free(Engine *e)
{
        if (!e)
                return;
        cc_free(e->build);
        if (e->has_team)
                team_stop(&e->team);
        if (e->memory)
                munmap(e->memory, e->memory_size);
        free_code(e);
        free(e->output);
        free(e);
}

const char *engine_set_threads(Engine *e, int threads)
{
        if (threads < 1 || threads > e->most_threads)
                return "an engine has no more threads than it was made with";
        team_stop(&e->team);
        e->has_team = !team_start(&e->team, threads);
        ((InstanceHead *)e->memory)->threads = threads;
        return e->has_team ? NULL : "threads can't be started";
}

void engine_interrupt(Engine *e, bool stop)
{
        atomic_store(&e->interrupted, stop);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Members that are set before a call, by the layout that emit_program_alone() gives. */
enum { AT_FIRST = 1, AT_WHOLE, AT_DONE, AT_PART, AT_NAMED };

static int64_t *number_at(Engine *e, int which)
{
        int64_t offset = e->code.instance[which];
        return offset < 0 ? NULL : (int64_t *)(void *)(e->instance + offset);
}

static void set_number(Engine *e, int which, int64_t value)
{
        int64_t *at = number_at(e, which);
        if (at)
                *at = value;
}

/* Inputs that are fed apart are taken by the call that begins a sequence: what depends on them alone is computed then. */
static void choose_part(Engine *e, int64_t past)
{
        int64_t offset = e->code.instance[AT_PART];
        int part = past == 0 ? 0 : -1;
        if (offset >= 0)
                memcpy(e->instance + offset, &part, sizeof part);
}

static void set_pointer(Engine *e, int which, const void *value)
{
        memcpy(e->instance + e->code.instance[which], &value, sizeof value);
}

static int64_t *position(const Engine *e)
{
        return number_at((Engine *)e, AT_NAMED + e->plan->graph->past);
}

int64_t engine_position(const Engine *e)
{
        return e->plan->graph->past < 0 ? 0 : *position(e);
}

const char *engine_rewind(Engine *e, int64_t n)
{
        if (e->plan->graph->past < 0)
                return n ? "this model is not causal: it keeps no positions" : NULL;
        if (n < 0 || n > *position(e))
                return "there are not so many positions to go back to";
        *position(e) = n;
        return NULL;
}

static void run(Engine *e)
{
        FloatState outside = float_enter();
        team_run(&e->team, e->code.program, e->instance);
        float_leave(outside);
}

static const char *set_sizes(Engine *e, const EngineCall *call)
{
        const Graph *g = e->plan->graph;
        for (int i = 0; i < g->nnamed; i++) {
                if (g->past >= 0 && (i == g->time || i == g->past))
                        continue;
                if (call->size[i] < 1 || call->size[i] > g->named[i].bound)
                        return arena_printf(g->arena, "%s is 1 to %lld, not %lld", g->named[i].name,
                                            (long long)g->named[i].bound, (long long)call->size[i]);
                set_number(e, AT_NAMED + i, call->size[i]);
        }
        return NULL;
}

/* n: positions, where there are any. */
static const char *check_inputs(const Engine *e, const EngineCall *call, int64_t n)
{
        const Graph *g = e->plan->graph;
        int64_t size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = g->past >= 0 && i == g->time ? n : g->past >= 0 && i == g->past ? 0 : call->size[i];
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                const int32_t *id = call->input[i];
                int64_t count = in->bound ? type_count(&in->type, size) : 0;
                for (int64_t k = 0; k < count; k++)
                        if (id[k] < 0 || id[k] >= in->bound)
                                return arena_printf(g->arena, "%s[%lld] is %d: it must be 0 to %lld",
                                                    in->name, (long long)k, id[k], (long long)in->bound - 1);
        }
        return NULL;
}

static const char *begin_call(Engine *e, const EngineCall *call, int64_t n)
{
        second_tier(e);
        const char *wrong = set_sizes(e, call);
        return wrong ? wrong : check_inputs(e, call, n);
}

/* Pointers to where the call's positions from `taken` on, and its outputs from `given` on, lie. */
static void point(Engine *e, const EngineCall *call, int64_t taken, int64_t given)
{
        const Plan *p = e->plan;
        const Graph *g = p->graph;
        int at = AT_NAMED + g->nnamed;
        for (int i = 0; i < g->ninput; i++) {
                const Type *t = &g->input[i].type;
                int64_t rows = advances(p, t) ? taken * row_elements(p, t)
                                              : 0; /* ids and floats have 4 bytes each */
                set_pointer(e, at + i, (const char *)call->input[i] + 4 * rows);
        }
        for (int i = 0; i < g->noutput; i++) {
                const Type *t = &g->output[i].node->type;
                float *to = call->output[i];
                set_pointer(e, at + g->ninput + i,
                            to && advances(p, t) ? to + given * row_elements(p, t) : to);
        }
}

/* Columns of taps that no piece of the call computes, since their positions come after all of its rows. */
static void fill_later(const Engine *e, const EngineCall *call, int64_t n, int64_t past)
{
        const Graph *g = e->plan->graph;
        int64_t size[MAX_NAMED];
        for (int i = 0; i < g->nnamed; i++)
                size[i] = i == g->past ? past : i == g->time ? n : call->size[i];
        for (int i = 0; i < g->noutput; i++) {
                const Type *t = &g->output[i].node->type;
                int growing = 0;
                for (int a = 0; a < t->rank; a++)
                        growing += t->dim[a].per[g->time] != 0;
                int64_t count = growing > 1 && call->output[i] ? type_count(t, size) : 0;
                for (int64_t k = 0; k < count; k++)
                        call->output[i][k] = (float)g->output[i].later;
        }
}

const char *engine_advance(Engine *e, const EngineCall *call, int64_t n, int64_t first)
{
        const Graph *g = e->plan->graph;
        if (g->past < 0)
                return "this model is not causal: it takes its input as a whole";
        int64_t *past = position(e), room = g->named[g->time].bound - *past;
        if (n < 0 || n > room)
                return arena_printf(g->arena,
                                    "no room for %lld positions more: the context of %lld holds %lld",
                                    (long long)n, (long long)g->named[g->time].bound, (long long)*past);
        const char *wrong = begin_call(e, call, n);
        if (wrong)
                return wrong;
        set_number(e, AT_WHOLE, n);
        fill_later(e, call, n, *past);
        for (int64_t taken = 0, given = 0; taken < n;) {
                if (atomic_load(&e->interrupted))
                        return "interrupted";
                int64_t chunk = n - taken < e->plan->chunk ? n - taken : e->plan->chunk;
                int64_t unwanted = first - taken < 0 ? 0 : first - taken < chunk ? first - taken : chunk;
                point(e, call, taken, given);
                set_number(e, AT_DONE, taken);
                set_number(e, AT_NAMED + g->time, chunk);
                set_number(e, AT_FIRST, unwanted);
                choose_part(e, *past);
                run(e);
                *past += chunk;
                taken += chunk;
                given += chunk - unwanted;
        }
        return NULL;
}

const char *engine_forward(Engine *e, const EngineCall *call)
{
        if (e->plan->graph->past >= 0)
                return "this model is causal: it advances";
        const char *wrong = begin_call(e, call, 0);
        if (wrong)
                return wrong;
        if (atomic_load(&e->interrupted))
                return "interrupted";
        set_number(e, AT_FIRST, 0);
        point(e, call, 0, 0);
        run(e);
        return NULL;
}

const char *engine_tokens(Engine *e, const int32_t *tokens, int64_t n, int64_t first, float *logits)
{
        const void *input[] = {tokens};
        int64_t size[MAX_NAMED] = {0};
        e->output[0] = logits;
        return engine_advance(e, &(EngineCall){input, e->output, size}, n, logits ? first : n);
}
