/* An engine: the instance that emitted C has in its interface, for code made in this process.
 *
 * The program is a pointer, so between two calls another may take its place: instance, weights, threads and state stay. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "jit_private.h"

#include "../../runtime/guard.h"
#include "../../runtime/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(MAX_THREADS == TEAM_MAX, "buffers have a row for each thread");

/* What a slot keeps from call to call, but for the selected one, whose position is the instance's. */
typedef struct {
        int64_t past, size[MAX_NAMED];
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
        CachedState *held; /* [ring_states] */
        double compile_seconds;
        atomic_bool interrupted;
};

bool jit_is_immediate(JitMode mode)
{
        return mode == JIT_TCC || mode == JIT_CODE;
}

JitMode immediate_mode(JitMode mode)
{
        return mode == JIT_CODE ? JIT_CODE : JIT_TCC;
}

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
                return arena_printf(a, "--jit cc: no C compiler can be started (cc, or what $CC names): %s",
                                    strerror(errno));
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
        return e->optimised ? "cc" : e->code.interpreter ? "code" : "tcc";
}

const float *engine_state(const Engine *e)
{
        return e->state;
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

static size_t slot_floats(const Plan *p)
{
        return (size_t)FLOATS(p->state_size) + LANES;
}

/* Of several sequences: two views for each, and a pointer for each row. */
static size_t views_size(const Engine *e)
{
        const Plan *p = e->plan;
        return p->slots == 1 ? 0
                             : aligned(2 * (size_t)p->slots * (size_t)e->code.instance[0]) +
                                       aligned((size_t)p->chunk * sizeof(void *));
}

static const char *take_memory(Engine *e, const float *weights, int threads)
{
        const Plan *p = e->plan;
        size_t own = aligned((size_t)e->code.instance[0]) + views_size(e),
               arena = (size_t)FLOATS(p->arena_size) + LANES, state = slot_floats(p) * (size_t)p->slots;
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
        i->state = e->state = i->arena + arena;
        i->scratch = i->state + state;
        i->team = &e->team;
        i->threads = threads;
        if (e->code.interpreter)
                memcpy(i + 1, &e->code.interpreter, sizeof e->code.interpreter);
        return NULL;
}

enum { MOST_NOISE = 1 << 26 }; /* bytes: a context of gigabytes is not written for this */

void engine_forget(Engine *e)
{
        const Plan *p = e->plan;
        float *arena = ((const InstanceHead *)e->memory)->arena;
        size_t n =
                ((size_t)FLOATS(p->arena_size) + LANES + slot_floats(p) * (size_t)p->slots) * sizeof *arena;
        memset(arena, 0x4b, n < MOST_NOISE ? n : MOST_NOISE); /* 13323083, which stays finite */
}

Engine *engine_new(Plan *p, const float *weights, int threads, JitMode mode, const char **why)
{
        Engine *e = calloc(1, sizeof *e);
        *why = no_memory;
        if (!e)
                return NULL;
        e->plan = p;
        e->mode = mode;
        e->most_threads = threads;
        e->output = calloc((size_t)p->graph->noutput + 1, sizeof *e->output);
        e->kept = calloc((size_t)p->slots, sizeof *e->kept);
        e->held = calloc((size_t)cached_states(p) + 1, sizeof *e->held);
        if (!e->output || !e->kept || !e->held) {
                free(e->output);
                free(e->kept);
                free(e->held);
                free(e);
                return NULL;
        }
        for (int i = 0, n = 0; i < p->nbuffer; i++)
                if (p->buffer[i]->cache >= 0)
                        e->held[n++] = cached_state(p->buffer[i]);
        double begin = seconds();
        *why = mode == JIT_CC     ? compile_now(e)
               : mode == JIT_CODE ? jit_code(p, &e->code)
                                  : jit_tcc(p, &e->code);
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
        free(e->kept);
        free(e->held);
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
enum {
        AT_FIRST = 1,
        AT_WHOLE,
        AT_DONE,
        AT_PART,
        AT_SLOT,
        AT_SEQUENCES,
        AT_RANGES,
        AT_SEQUENCE,
        AT_RANGE,
        AT_OF,
        AT_BASE,
        AT_NAMED
};

static int64_t *number_at(Engine *e, int which)
{
        int64_t offset = e->code.instance[which];
        return offset < 0 ? NULL : (int64_t *)(void *)(e->instance + offset);
}

/* In the instance or a view of it; members that the model does not have are passed over. */
static void set_int(const Engine *e, char *instance, int which, int value)
{
        if (e->code.instance[which] >= 0)
                memcpy(instance + e->code.instance[which], &value, sizeof value);
}

static void set_in(const Engine *e, char *instance, int which, int64_t value)
{
        if (e->code.instance[which] >= 0)
                memcpy(instance + e->code.instance[which], &value, sizeof value);
}

static void set_number(Engine *e, int which, int64_t value)
{
        set_in(e, e->instance, which, value);
}

/* Inputs that are fed separately are taken by the call that begins a sequence: what depends on them alone is computed then. */
static void choose_part(Engine *e, int64_t past)
{
        set_int(e, e->instance, AT_PART, past == 0 ? 0 : -1);
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
        const Plan *p = e->plan;
        int64_t *base = number_at(e, AT_BASE);
        for (int i = 0; i < p->ncache && n == 0; i++)
                base[i] = 0;
        for (int i = 0; i < p->ncache; i++)
                if (!cache_reaches(&p->cache[i], base[i], n))
                        return arena_printf(p->graph->arena,
                                            "position %lld can't be gone back to: what it reads of the %lld "
                                            "positions before is no longer held",
                                            (long long)n, (long long)p->cache[i].back);
        *position(e) = n;
        return NULL;
}

static void make_room(Engine *e, int64_t past, int64_t n)
{
        const Plan *p = e->plan;
        int64_t *base = number_at(e, AT_BASE);
        float *state = ((const InstanceHead *)e->memory)->state;
        for (int i = 0; i < p->ncache; i++)
                cache_make_room(&p->cache[i], i, &base[i], e->held, cached_states(p), state, past, n);
}

static void run(Engine *e)
{
        FloatState outside = float_enter();
        team_run(&e->team, e->code.program, e->instance);
        float_leave(outside);
}

/* --- several sequences ------------------------------------------------------------------------------------------- */

static void keep_slot(Engine *e)
{
        e->kept[e->slot].past = *position(e);
}

/* The instance, or a view of it, becomes one of the slot; row 0 is at position past - row. */
static void take_slot(const Engine *e, char *instance, int slot, int64_t row)
{
        const Graph *g = e->plan->graph;
        InstanceHead *head = (InstanceHead *)(void *)instance;
        head->state = e->state + (size_t)slot * slot_floats(e->plan);
        set_int(e, instance, AT_SLOT, slot);
        set_in(e, instance, AT_NAMED + g->past, e->kept[slot].past - row);
        for (int i = 0; i < g->nnamed && g->fed_separately; i++)
                if (i != g->time && i != g->past)
                        set_in(e, instance, AT_NAMED + i, e->kept[slot].size[i]);
}

/* A range's outputs lie behind those of the rows wanted before it. */
static void skip_outputs(const Engine *e, char *view, int64_t rows)
{
        const Graph *g = e->plan->graph;
        for (int i = 0; i < g->noutput; i++) {
                char *at = view + e->code.instance[AT_NAMED + g->nnamed + g->ninput + i];
                float *to;
                memcpy(&to, at, sizeof to);
                to = to ? to + rows * row_elements(e->plan, &g->output[i].node->type) : NULL;
                memcpy(at, &to, sizeof to);
        }
}

/* The views for a call of these sequences: see batch.h of the runtime, which does the same for emitted C. */
static void see_sequences(Engine *e, const EngineSequence *s, int sequences)
{
        const Plan *p = e->plan;
        size_t size = (size_t)e->code.instance[0];
        char *sequence = e->instance + aligned(size), *range = sequence + (size_t)p->slots * size;
        const void **of = (const void **)(void *)(sequence + aligned(2 * (size_t)p->slots * size));
        int64_t row = 0, given = 0, end = -1;
        int ranges = 0, at_time = AT_NAMED + p->graph->time;
        for (int i = 0; i < sequences; i++) {
                char *own = sequence + (size_t)i * size, *wanted = range + (size_t)ranges * size;
                int64_t first = row + s[i].first;
                memcpy(own, e->instance, size);
                take_slot(e, own, s[i].slot, row);
                set_in(e, own, AT_FIRST, row);
                set_in(e, own, at_time, row + s[i].n);
                for (int64_t k = 0; k < s[i].n; k++)
                        of[row++] = own;
                if (s[i].first == s[i].n)
                        continue;
                if (!p->tails_apart && end == first) {
                        set_in(e, wanted - size, at_time, row);
                } else {
                        memcpy(wanted, own, size);
                        set_in(e, wanted, AT_FIRST, first);
                        skip_outputs(e, wanted, given);
                        ranges++;
                }
                end = row;
                given += s[i].n - s[i].first;
        }
        set_number(e, at_time, row);
        set_int(e, e->instance, AT_SEQUENCES, sequences);
        set_int(e, e->instance, AT_RANGES, ranges);
        set_pointer(e, AT_SEQUENCE, sequence);
        set_pointer(e, AT_RANGE, range);
        set_pointer(e, AT_OF, of);
}

const char *engine_select(Engine *e, int slot)
{
        if (slot < 0 || slot >= e->plan->slots)
                return "there is no such slot";
        if (e->plan->slots == 1)
                return NULL;
        keep_slot(e);
        take_slot(e, e->instance, e->slot = slot, 0);
        return NULL;
}

static const char *check_sequences(const Engine *e, const EngineSequence *s, int sequences, int64_t *rows)
{
        const Graph *g = e->plan->graph;
        *rows = 0;
        for (int i = 0; i < sequences; i++) {
                if (s[i].slot < 0 || s[i].slot >= e->plan->slots)
                        return "there is no such slot";
                for (int k = 0; k < i; k++)
                        if (s[k].slot == s[i].slot)
                                return "a slot stands twice in a batch";
                int64_t past = e->kept[s[i].slot].past;
                if (s[i].n < 1 || s[i].first < 0 || s[i].first > s[i].n)
                        return "a sequence takes one position or more";
                if (s[i].n > g->named[g->time].bound - past)
                        return "more positions than the model has room for";
                if (g->fed_separately && past == 0)
                        return "a sequence with inputs that are fed separately begins with a call of its own";
                *rows += s[i].n;
        }
        return *rows > e->plan->bound[g->time] ? "more positions in a batch than a call takes" : NULL;
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
                                                    input_name(in), (long long)k, id[k],
                                                    (long long)in->bound - 1);
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

/* A call of the selected slot's sequence alone. */
static void see_alone(Engine *e, const EngineCall *call, int64_t n, int64_t first)
{
        const Graph *g = e->plan->graph;
        if (*position(e) == 0)
                for (int i = 0; i < g->nnamed; i++)
                        e->kept[e->slot].size[i] = call->size[i];
        keep_slot(e);
        see_sequences(e, &(EngineSequence){e->slot, n, first}, 1);
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
                if (e->plan->slots > 1)
                        see_alone(e, call, chunk, unwanted);
                make_room(e, *past, chunk);
                run(e);
                *past += chunk;
                taken += chunk;
                given += chunk - unwanted;
        }
        return NULL;
}

const char *engine_batch(Engine *e, const EngineSequence *s, int sequences, const EngineCall *call)
{
        int64_t n;
        if (e->plan->slots == 1)
                return "this plan is for one sequence a call";
        keep_slot(e);
        const char *wrong = check_sequences(e, s, sequences, &n);
        if (!wrong && n > 0)
                wrong = begin_call(e, call, n);
        if (wrong || n == 0)
                return wrong;
        if (atomic_load(&e->interrupted))
                return "interrupted";
        point(e, call, 0, 0);
        choose_part(e, -1);
        see_sequences(e, s, sequences);
        run(e);
        for (int i = 0; i < sequences; i++)
                e->kept[s[i].slot].past += s[i].n;
        take_slot(e, e->instance, e->slot, 0);
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
