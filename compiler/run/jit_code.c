/* The program through the interpreter of Code: no compiler, the same bits.
 *
 * A defect of a kernel shows here without C: where this agrees with the graph's interpreter and compiled code does not, printing or
 * a compiler is wrong; where both disagree with it, lowering is. */
#include "interpret_private.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/guard.h"
#include "../../runtime/team.h"

/* --- the program -------------------------------------------------------------------------------------------------------- */

/* A thread's run of the program. */
typedef struct {
        const Interpreter *own;
        int thread;
        int64_t iteration[MAX_NEST];
        Vector *t;
        int64_t *x;
} Run;

static bool any_output(const CodeInstance *m, const Graph *g, bool tap, uint64_t outputs)
{
        for (int i = 0; i < g->noutput; i++)
                if ((g->output[i].tap != NULL) == tap && (tap || (outputs & output_bit(g, i))) &&
                    m->pointer[g->ninput + i])
                        return true;
        return false;
}

static bool is_wanted(const Plan *p, const CodeInstance *m, const Kernel *k)
{
        const Output *own = own_output(p, k);
        const Graph *g = p->graph;
        if (own)
                return m->pointer[g->ninput + (own - g->output)] != NULL;
        return !may_be_unwanted(p, k) || any_output(m, g, false, k->wanted) ||
               ((k->wanted & WANTED_BY_TAPS) && any_output(m, g, true, 0));
}

/* Runs a kernel's own function; of one that finds rows, how many there are. */
static int64_t
run_kernel(const Run *r, const CodeInstance *m, const Kernel *k, const int32_t *active,
           int32_t *finds, /* NOLINT(readability-non-const-parameter): the frame writes there */
           int64_t count)
{
        Frame f = {.own = r->own,
                   .m = m,
                   .kernel = k,
                   .f = k->code->function[k->code->n - 1],
                   .thread = r->thread,
                   .sees = k->by_sequence,
                   .x = r->x,
                   .t = r->t,
                   .active = active,
                   .finds = finds,
                   .count = count};
        memcpy(f.iteration, r->iteration, sizeof f.iteration);
        if (k->op == K_ACTIVE || is_wanted(r->own->plan, m, k))
                run_function(&f);
        return f.count;
}

static void run_body(Run *r, const CodeInstance *m, int body, uint64_t part, int depth, const int32_t *active,
                     int64_t count);

static void run_repeat(Run *r, const CodeInstance *m, const Kernel *k, int depth)
{
        const Plan *p = r->own->plan;
        const Region *region = k->region;
        for (int64_t iteration = 0; iteration < region->iterations; iteration++) {
                int32_t *active =
                        k->active_rows ? malloc((size_t)k->active_rows->most_active * sizeof *active) : NULL;
                int64_t count = 0;
                r->iteration[depth] = iteration;
                if (k->active_rows && !active)
                        abort(); /* other threads wait at the barrier */
                if (k->active_rows)
                        count = run_kernel(r, m, k->active_rows, NULL, active, 0);
                if (!k->active_rows || count) {
                        run_body(r, m, body_number(p, region->body[region->body_of[iteration]]), 0, depth + 1,
                                 active, count);
                }
                free(active);
        }
}

static void run_call(Run *r, const CodeInstance *m, const Kernel *k, const int32_t *active, int64_t count)
{
        bool apart = r->own->plan->slots > 1 && (k->tail || k->by_sequence);
        const CodeInstance *view = k->by_sequence ? m->sequence : m->range;
        int views = k->by_sequence ? m->sequences : m->ranges;
        if (!apart) {
                run_kernel(r, m, k, active, NULL, count);
                return;
        }
        for (int i = 0; i < views; i++)
                run_kernel(r, view_at(view, r->own, i), k, active, NULL, count);
}

static int which_wait(const Plan *p, const CodeInstance *m)
{
        if (p->graph->time < 0 || m->named[p->graph->time] != 1)
                return WAIT_ROWS;
        return p->heads > 1 && p->heads % m->head.threads == 0 ? WAIT_HEADS : WAIT_STEP;
}

static void run_body(Run *r, const CodeInstance *m, int body, uint64_t part, int depth, const int32_t *active,
                     int64_t count)
{
        const KernelList *l = &r->own->plan->list[body];
        for (int i = 0; i < l->n; i++) {
                const Kernel *k = l->kernel[i];
                if (k->part != part)
                        continue;
                if (k->barrier & which_wait(r->own->plan, m))
                        team_barrier(m->head.team);
                if (k->op == K_REPEAT)
                        run_repeat(r, m, k, depth);
                else if (k->op != K_ACTIVE)
                        run_call(r, m, k, k->active_only ? active : NULL, count);
        }
}

static void program(void *instance, int thread)
{
        const CodeInstance *m = instance;
        const Interpreter *own = m->interpreter;
        const Graph *g = own->plan->graph;
        Run r = {.own = own, .thread = thread};
        r.t = aligned_alloc(64, 2 * (size_t)own->vectors * sizeof *r.t);
        r.x = calloc(2 * (size_t)own->vectors, sizeof *r.x);
        if (!r.t || !r.x)
                abort();
        for (int i = 0; i < g->npart; i++)
                if (m->fed_part == 0 || m->fed_part == i + 1) {
                        run_body(&r, m, 0, g->part[i], 0, NULL, 0);
                        team_barrier(m->head.team);
                }
        if (m->fed_part <= 0)
                run_body(&r, m, 0, 0, 0, NULL, 0);
        free(r.t);
        free(r.x);
}

/* --- what is made once ----------------------------------------------------------------------------------------------------- */

static void find_stores(Functions *run, const Target *t, Storage e)
{
        const char *store = storage_info[e].store;
        char name[40];
        if (!*store)
                return;
        run->store[e] = kernel_find(t, store);
        snprintf(name, sizeof name, "%s_n", store);
        run->store_n[e] = kernel_find(t, name);
        snprintf(name, sizeof name, "%s_strided", store);
        run->store_strided[e] = kernel_find(t, name);
}

static void find_functions(Functions *run, const Target *t)
{
        const struct {
                KernelFunction **to;
                const char *name;
        } of_both[] = {{run->set, "set1"}, {run->count, "iota"}, {run->keep, "keep"},  {run->clamp, "clamp"},
                       {run->sum, "sum"},  {run->most, "maxof"}, {run->first, "first"}};
        char name[40];
        for (size_t i = 0; i < sizeof of_both / sizeof *of_both; i++)
                for (int far = 0; far < 2; far++) {
                        snprintf(name, sizeof name, "%c_%s", "vw"[far], of_both[i].name);
                        of_both[i].to[far] = kernel_find(t, name);
                }
        for (int op = 0; op < OP_COUNT; op++)
                for (int far = 0; far < 2; far++) {
                        snprintf(name, sizeof name, "%c_%s", "vw"[far], op_info[op].vector);
                        run->compute[op][far] = *op_info[op].vector ? kernel_find(t, name) : NULL;
                }
        for (int e = 0; e < STORAGE_COUNT; e++) {
                const StorageInfo *info = &storage_info[e];
                if (is_in_blocks(e))
                        continue;
                run->load[e] = kernel_find(t, info->load);
                snprintf(name, sizeof name, "%s_n", info->load);
                run->load_n[e] = kernel_find(t, name);
                snprintf(name, sizeof name, "%s_strided", info->load);
                run->strided[e] = kernel_find(t, name);
                run->gather[e][0] = *info->gather ? kernel_find(t, info->gather) : NULL;
                run->gather[e][1] = kernel_find(t, info->gather_far);
                find_stores(run, t, (Storage)e);
        }
        run->convert[0] = kernel_find(t, "v_of_w");
        run->convert[1] = kernel_find(t, "w_of_v");
        run->soft = kernel_find(t, "v_soft");
        run->part = kernel_find(t, "v_part");
        run->multiply_add = kernel_find(t, "v_fma");
        run->matmul = kernel_find(t, "matmul");
        run->matmul_active = kernel_find(t, "matmul_active");
        run->contract = kernel_find(t, "contract");
        run->codes = kernel_find(t, "codes_of_rows");
        run->keep_codes = kernel_find(t, "keep_codes");
        run->blocks = kernel_find(t, "matmul_blocks");
        run->block_load = kernel_find(t, "v_load_blocks");
        run->block_gather[0] = kernel_find(t, "v_gather_blocks");
        run->block_gather[1] = kernel_find(t, "v_gather_blocks_far");
        run->attention = kernel_find(t, "attention");
        run->attention_share = kernel_find(t, "attention_share");
        run->attention_join = kernel_find(t, "attention_join");
        run->mixed_share = kernel_find(t, "mixed_share");
        run->attention_mixed = kernel_find(t, "attention_mixed");
        run->scan = kernel_find(t, "scan");
        run->top = kernel_find(t, "top_of");
        run->argmax = kernel_find(t, "argmax_of");
}

/* A literal's values as they lie in memory, with room behind for loads of whole vectors. */
static void *literal_values(Arena *a, const Buffer *b)
{
        const Literal *l = b->table->attr.literal;
        int64_t size = storage_elements(b->storage, b->size), n = b->slots * size + LANES;
        float *near = NEW_ARRAY(a, float, n);
        double *far = b->storage == STORAGE_F64 ? NEW_ARRAY(a, double, n) : NULL;
        for (int64_t t = 0; t < l->iterations; t++)
                for (int64_t i = 0; i < size && i < l->count; i++) {
                        near[t * size + i] = (float)l->value[t * l->count + i];
                        if (far)
                                far[t * size + i] = l->value[t * l->count + i];
                }
        return far ? (void *)far : (void *)near;
}

/* See emit.h: the order of what an engine sets. */
static int64_t *layout_of(Arena *a, const Plan *p)
{
        const Graph *g = p->graph;
        const int64_t pointers = g->ninput + g->noutput;
        const int64_t fixed[] = {(int64_t)(sizeof(CodeInstance) + (size_t)pointers * sizeof(void *)),
                                 offsetof(CodeInstance, first),
                                 offsetof(CodeInstance, whole),
                                 offsetof(CodeInstance, done),
                                 offsetof(CodeInstance, fed_part),
                                 offsetof(CodeInstance, slot),
                                 offsetof(CodeInstance, sequences),
                                 offsetof(CodeInstance, ranges),
                                 offsetof(CodeInstance, sequence),
                                 offsetof(CodeInstance, range),
                                 offsetof(CodeInstance, number),
                                 offsetof(CodeInstance, before),
                                 offsetof(CodeInstance, page_of),
                                 offsetof(CodeInstance, base),
                                 -1};
        const int64_t n = sizeof fixed / sizeof *fixed;
        int64_t *layout = NEW_ARRAY(a, int64_t, n + g->nnamed + pointers);
        memcpy(layout, fixed, sizeof fixed);
        for (int i = 0; i < g->nnamed; i++)
                layout[n + i] = (int64_t)(offsetof(CodeInstance, named) + (size_t)i * sizeof(int64_t));
        for (int i = 0; i < pointers; i++)
                layout[n + g->nnamed + i] =
                        (int64_t)(offsetof(CodeInstance, pointer) + (size_t)i * sizeof(void *));
        return layout;
}

const char *jit_code(Plan *p, JitCode *code)
{
        Arena *a = p->graph->arena;
        *code = (JitCode){0};
        if (!has_kernels(p->target))
                return arena_printf(a, "no kernels for %s are compiled into this lathe", p->target->name);
        Interpreter *own = NEW(a, Interpreter);
        own->plan = p;
        own->vectors = 1;
        find_functions(&own->run, p->target);
        own->literal = NEW_ARRAY(a, void *, p->nbuffer);
        for (int i = 0; i < p->nbuffer; i++)
                if (p->buffer[i]->home == IN_LITERAL)
                        own->literal[p->buffer[i]->id] = literal_values(a, p->buffer[i]);
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++)
                        for (int n = 0; n < p->list[i].kernel[k]->code->n; n++) {
                                int vectors = p->list[i].kernel[k]->code->function[n]->vectors;
                                own->vectors = vectors > own->vectors ? vectors : own->vectors;
                        }
        own->layout = layout_of(a, p);
        code->program = program;
        code->instance = own->layout;
        code->interpreter = own;
        return NULL;
}
