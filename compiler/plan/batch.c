/* Batch: which kernels of a call of several sequences run once, and which for each sequence.
 *
 * The rows of the sequences lie one after another in every value's memory (sequence_rows()).  A kernel that runs for each sequence
 * is handed the instance as that one sees it (a view): its own state and position, as many new rows as it takes, and pointers
 * that begin at its rows, which the kernel counts from 0, as in a call of that sequence alone.  So one text serves both; what
 * differs is which view a kernel is given.
 *
 *      a kernel to which all rows are alike                    once over the rows of all: weights are read once
 *      a product whose results go to state or into tiles       once; a finished row's view says where they go
 *      attention, rotations, whatever else knows its row       for each sequence, over its rows
 *      a kernel of wanted rows                                 for each run of them, or for each sequence
 *
 * Whether rows are alike its Code tells (lower/code_rows.c).  Sequences of a model that is not causal have no state and are taken
 * whole.
 *
 * Expects: kernels and buffers, before they are placed.  Leaves: Kernel.batching; memory for the rows of all sequences. */
#include "plan.h"

typedef struct {
        Plan *plan;
        const char *why; /* it can't be */
        bool changed;
} Batch;

enum { LINE = 64 }; /* bytes of a cache line: buffers begin at one */

/* An output's rows are counted from the first requested one, which only kernels of requested rows know. */
static const Output *output_among_others(const Plan *p, const Kernel *k)
{
        for (int i = 0;
             i < k->stores.n + k->product.nsegment && k->rows != ROWS_REQUESTED && p->graph->past >= 0; i++) {
                const Buffer *to =
                        i < k->stores.n ? k->stores.of[i].to : k->product.segment[i - k->stores.n].store.to;
                if (to && whole_buffer((Buffer *)to)->home == IN_OUTPUT)
                        return &p->graph->output[whole_buffer((Buffer *)to)->index];
        }
        return NULL;
}

/* The mark that the kernel needs; false: it has what it needs. */
static bool batch_judge(Batch *b, Kernel *k)
{
        Plan *p = b->plan;
        k->batching = k->batching == BATCH_NONE ? BATCH_ROWS : k->batching;
        lower(p, k); /* as it is marked by now */
        if (k->batching == BATCH_SEQUENCES || k->code->alike)
                return false;
        const Batching before = k->batching;
        k->batching = BATCH_SEQUENCES;
        if (k->op == K_MATMUL && k->rows != ROWS_REQUESTED && k->code->own_alike)
                k->batching = BATCH_ROWS_LOOKED_UP;
        return k->batching != before;
}

static void remove_kernel(KernelList *l, const Kernel *k)
{
        const int before = l->n;
        l->n = 0;
        for (int i = 0; i < before; i++)
                if (l->kernel[i] != k)
                        l->kernel[l->n++] = l->kernel[i];
}

/* All iterations are run, for all rows: the kernel that finds the rows would have to find them for each sequence. */
static void run_all_rows(Plan *p, Kernel *repeat)
{
        KernelList *l = &p->list[body_number(p, repeat->repeat.active_rows->body)];
        for (int i = 0; i < l->n; i++)
                l->kernel[i]->rows = ROWS_ALL;
        remove_kernel(l, repeat->repeat.active_rows);
        remove_kernel(&p->all, repeat->repeat.active_rows);
        repeat->repeat.active_rows = NULL;
}

static void judge_body(Batch *b, int body);

static void judge_repeat(Batch *b, Kernel *repeat)
{
        Plan *p = b->plan;
        const Region *r = repeat->repeat.region;
        for (int i = 0; i < r->nbody; i++)
                judge_body(b, body_number(p, r->body[i]));
        if (!repeat->repeat.active_rows)
                return;
        repeat->repeat.active_rows->batching = BATCH_ROWS;
        lower(p, repeat->repeat.active_rows);
        bool apart = !repeat->repeat.active_rows->code->alike ||
                     has_whole_sequences(p); /* the list of active rows has room for one sequence */
        const KernelList *l = &p->list[body_number(p, r->body[0])];
        for (int i = 0; i < l->n; i++)
                apart |= l->kernel[i]->rows == ROWS_ACTIVE && l->kernel[i]->batching > BATCH_ROWS;
        if (apart) {
                run_all_rows(p, repeat);
                b->changed = true;
        }
}

static void judge_body(Batch *b, int body)
{
        Plan *p = b->plan;
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                if (k->part) /* runs when inputs are fed, for one sequence */
                        continue;
                if (k->op == K_REPEAT) {
                        judge_repeat(b, k);
                } else if (k->op != K_ACTIVE) {
                        b->changed |= batch_judge(b, k);
                        const Output *o = output_among_others(p, k);
                        if (o)
                                b->why = arena_printf(p->graph->arena,
                                                      "the output %s is computed together with values that "
                                                      "every position needs",
                                                      output_name(o));
                }
        }
}

/* --- what a call of several sequences can't take or give ---------------------------------------------------------- */

static bool is_of_rows(const Plan *p, const Type *t)
{
        for (int a = 1; a < t->rank; a++)
                if (!dim_is_fixed(t->dim[a]))
                        return false;
        return t->rank > 0 && dim_is_positions(p->graph, t->dim[0]);
}

/* Of a model that is not causal. */
static const char *why_not_whole(const Plan *p)
{
        const Graph *g = p->graph;
        if (g->fed_separately)
                return arena_printf(
                        g->arena,
                        "%s is not causal, and takes inputs that are fed separately: one sequence a call",
                        g->name);
        if (g->nnamed > 1)
                return arena_printf(
                        g->arena,
                        "%s is not causal, and two of its sizes vary, %s and %s: the sequences of a call "
                        "may differ in one",
                        g->name, g->named[0].name, g->named[1].name);
        return NULL;
}

static const char *why_alone(const Plan *p)
{
        const Graph *g = p->graph;
        if (g->past < 0)
                return why_not_whole(p);
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                bool apart = is_fed_separately(g, in->group);
                if (!apart && !is_of_rows(p, &in->type))
                        return arena_printf(g->arena, "the input %s %s is not a row for each position",
                                            in->name, type_text(g->arena, g, &in->type));
        }
        for (int i = 0; i < g->noutput; i++) {
                const Type *t = &g->output[i].node->type;
                if (!is_of_rows(p, t))
                        return arena_printf(g->arena, "the output %s %s is not a row for each position",
                                            output_name(&g->output[i]), type_text(g->arena, g, t));
        }
        return NULL;
}

/* Memory for the rows of all sequences. */
static void spread(const Plan *p, Buffer *b)
{
        int64_t rows = all_rows(p, sequence_rows(p, b));
        if (b->home != IN_ARENA)
                return;
        if (b->layout.tiled >= 0)
                rows = rows / LANES + p->slots;
        b->size = round_up(buffer_size(b, round_up(rows * sequence_row(b), LANES)), LINE);
}

/* Of what the calls compute, not what is computed when inputs are fed. */
static void spread_all(Plan *p)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *kernel = p->all.kernel[i];
                for (int w = 0; w < kernel->code->nwritten && kernel->batching != BATCH_NONE; w++)
                        spread(p, kernel->code->written[w]);
        }
}

bool pass_batch(Plan *p, Diag *diag)
{
        (void)diag; /* p->alone has the reason */
        if (p->slots == 1)
                return true;
        Batch b = {.plan = p, .why = why_alone(p), .changed = true};
        while (b.changed && !b.why) {
                b.changed = false;
                judge_body(&b, 0);
        }
        p->alone = b.why;
        if (!b.why)
                spread_all(p);
        return !b.why;
}
