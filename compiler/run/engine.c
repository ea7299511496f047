/* An engine: the instance that emitted C has in its interface, for code made in this process.
 *
 * The program is a pointer, so between two calls another may take its place: instance, weights, threads and state stay. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "engine_private.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(MAX_THREADS == TEAM_MAX, "buffers have a row for each thread");

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

/* Waits for the compiler if there is no other code to run. */
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

/* A run that is over sooner gains nothing by another build, which takes a second or more of a processor. */
static const double UNTIL_OPTIMISED = 0.1; /* s after the first call */

/* Starts the optimised build when calls have gone on for a while, and uses its code when it is ready. */
void second_tier(Engine *e)
{
        JitCode better;
        if (e->mode != JIT_AUTO || e->optimised)
                return;
        if (e->first_call == 0)
                e->first_call = seconds();
        if (!e->tried && seconds() - e->first_call >= UNTIL_OPTIMISED) {
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

const float *engine_arena(const Engine *e)
{
        return e->instance->arena;
}

double engine_compile_seconds(const Engine *e)
{
        return e->compile_seconds;
}

/* --- life ------------------------------------------------------------------------------------------------------- */

/* Followed by the pool of pages. */
static size_t engine_arena_floats(const Plan *p)
{
        return (size_t)FLOATS(pool_offset(p) + p->bytes.pool);
}

size_t engine_views_size(const Engine *e)
{
        const Plan *p = e->plan;
        const size_t views = p->slots == 1 ? 0 : 2 * (size_t)p->slots;
        return (instance_bytes(p->graph) * (1 + views) + 63) / 64 * 64;
}

static const char *take_memory(Engine *e, const float *weights, int threads)
{
        const Plan *p = e->plan;
        size_t own = engine_views_size(e), arena = engine_arena_floats(p),
               state = slot_floats(p) * (size_t)p->slots;
        size_t scratch =
                (size_t)scratch_size(p) * (size_t)threads + (threads > 1 ? (size_t)parts_size(p) : 0);
        e->memory_size = own + (arena + state + scratch) * sizeof(float);
        void *memory = mmap(NULL, e->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
                return arena_printf(p->graph->arena,
                                    "out of memory: arena, state and scratch of %s take %.1f GB",
                                    p->graph->name, 1e-9 * (double)e->memory_size);
        EngineInstance *i = e->instance = memory;
        i->weights = weights;
        i->arena = (float *)(void *)((char *)memory + own);
        i->state = e->state = i->arena + arena;
        i->scratch = i->state + state;
        i->team = &e->team;
        i->threads = threads;
        i->interpreter = e->code.interpreter;
        i->sequence = sequence_views(e, i);
        i->range = range_views(e, i);
        return NULL;
}

enum { MAX_NOISE = 1 << 26 }; /* bytes: not more, since a context may have gigabytes */

void engine_forget(Engine *e)
{
        const Plan *p = e->plan;
        float *arena = e->instance->arena;
        size_t n = (engine_arena_floats(p) + slot_floats(p) * (size_t)p->slots) * sizeof *arena;
        memset(arena, 0x4b, n < MAX_NOISE ? n : MAX_NOISE); /* 13323083, which stays finite */
}

Engine *engine_new(Plan *p, const float *weights, int threads, JitMode mode, const char **why)
{
        Engine *e = calloc(1, sizeof *e);
        *why = no_memory;
        if (!e)
                return NULL;
        e->plan = p;
        e->mode = mode;
        e->max_threads = threads;
        e->output = calloc((size_t)p->graph->noutput + 1, sizeof *e->output);
        e->kept = calloc((size_t)p->slots, sizeof *e->kept);
        e->held = calloc((size_t)cached_states(p) + (size_t)paged_states(p) + 1, sizeof *e->held);
        const int64_t blocks = p->pages ? page_blocks(p) : 0;
        e->numbers = calloc((size_t)PAGE_NUMBERS(p->slots, blocks, p->pages) + 1, sizeof *e->numbers);
        if (!e->output || !e->kept || !e->held || !e->numbers) {
                free(e->output);
                free(e->kept);
                free(e->held);
                free(e->numbers);
                free(e);
                return NULL;
        }
        for (int i = 0, n = 0; i < p->nbuffer; i++)
                if (p->buffer[i]->cache >= 0 || (p->buffer[i]->paged && !p->buffer[i]->part_of))
                        e->held[n++] = cached_state(p->buffer[i]);
        pages_begin(&e->pages, e->numbers, p->slots, blocks, p->pages);
        double begin = seconds();
        *why = mode == JIT_CC     ? compile_now(e)
               : mode == JIT_CODE ? jit_code(p, &e->code)
                                  : jit_tcc(p, &e->code);
        e->compile_seconds = seconds() - begin;
        if (!*why)
                *why = take_memory(e, weights, threads);
        if (!*why) {
                e->has_team = !team_start(&e->team, threads);
                *why = e->has_team ? ranks_start(e, threads)
                                   : "threads must be 1 to 64, and the system must be able to start them";
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
        ranks_stop(e);
        if (e->has_team)
                team_stop(&e->team);
        if (e->instance)
                munmap(e->instance, e->memory_size);
        free_code(e);
        free(e->output);
        free(e->kept);
        free(e->held);
        free(e->numbers);
        free(e);
}

const char *engine_set_threads(Engine *e, int threads)
{
        if (threads < 1 || threads > e->max_threads)
                return "an engine has at most the threads that it was created with";
        team_stop(&e->team);
        e->has_team = !team_start(&e->team, threads);
        e->instance->threads = threads;
        return e->has_team ? ranks_set_threads(e, threads) : "threads can't be started";
}

const char *engine_sleep(Engine *e)
{
        e->team.asleep = true;
        const char *why = ranks_sleep(e);
        return why ? why : engine_set_threads(e, e->instance->threads);
}

void engine_interrupt(Engine *e, bool stop)
{
        atomic_store(&e->interrupted, stop);
}
