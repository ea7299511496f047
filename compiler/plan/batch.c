/* Batch: decides which kernels of a call with several sequences run once, and which once per sequence.
 *
 * The rows of the sequences are consecutive in the memory of every value (sequence_rows()).  A kernel that
 * runs per sequence is passed a view of the instance: the sequence's state, position and number of new rows,
 * and pointers to its first row.  The kernel counts rows from 0, as in a call with only this sequence.  So
 * the same C function serves both cases.
 *
 *      a kernel that treats all rows alike                      once over all rows: weights are read once
 *      a product whose results go to state or into tiles       once; the view of a row's sequence has addresses
 *      attention, rotations, others that use the row's number  per sequence, over its rows
 *      a kernel of requested rows                              per run of consecutive rows, or per sequence
 *
 * A kernel's Code shows whether it treats rows alike (lower/code_rows.c).  Sequences of a model that is not
 * causal have no state and are computed as a whole.
 *
 * Expects kernels and buffers without offsets.  Sets Kernel.batching, and sizes buffers for the rows of all
 * sequences. */
#include "plan.h"

typedef struct {
        Plan *plan;
        const char *why; /* the reason why batches are impossible */
        bool changed;
} Batch;

enum { LINE = 64 }; /* bytes of a cache line: buffers begin at one */

/* The output of k if its rows are counted from the first requested one.  Only kernels of requested rows can
 * store there. */
static const Output *output_among_others(const Plan *p, const Kernel *k)
{
        for (int i = 0;
             i < k->stores.n + k->product.nsegment && k->rows != ROWS_REQUESTED && p->graph->past >= 0; i++) {
                const Buffer *to =
                        i < k->stores.n ? k->stores.of[i].to : k->product.segment[i - k->stores.n].store.to;
                if (whole_buffer((Buffer *)to)->home == IN_OUTPUT)
                        return &p->graph->output[whole_buffer((Buffer *)to)->index];
        }
        return NULL;
}

/* Sets the batching that the kernel needs; false: it already has it. */
static bool batch_judge(Batch *b, Kernel *k)
{
        Plan *p = b->plan;
        const bool alone = k->rows == ROWS_AT_START || along_around(k->body);
        k->batching = alone ? BATCH_SEQUENCES : k->batching == BATCH_NONE ? BATCH_ROWS : k->batching;
        lower(p, k); /* with the current batching */
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

/* Runs all iterations for all rows: active rows would have to be found per sequence. */
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
                     has_whole_sequences(p); /* the list of active rows is sized for one sequence */
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

/* --- unsupported inputs and outputs ------------------------------------------------------------------------------- */

static bool is_of_rows(const Plan *p, const Type *t)
{
        for (int a = 1; a < t->rank; a++)
                if (!dim_is_fixed(t->dim[a]))
                        return false;
        return t->rank > 0 && dim_is_positions(p->graph, t->dim[0]);
}

/* The reason why a model that is not causal cannot have batches. */
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

/* Sizes a buffer for the rows of all sequences. */
static void spread(const Plan *p, Buffer *b)
{
        int64_t rows = all_rows(p, sequence_rows(p, b));
        if (b->home != IN_ARENA)
                return;
        if (b->layout.tiled >= 0)
                rows = rows / LANES + p->slots;
        b->size = round_up(buffer_size(b, round_up(rows * sequence_row(b), LANES)), LINE);
}

/* For buffers of the calls, not of parts that run when inputs are fed. */
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
