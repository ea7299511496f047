/* Batch: which kernels of a call of several sequences run once, and which for each sequence.
 *
 * The rows of the sequences lie one after another, rows first to time - 1 being those of one.  A kernel is handed the instance
 * as one sequence sees it (a view): its own state, and `past` such that row r is at position past + r, as in a call of that
 * sequence alone.  So one text serves both; what differs is which view a kernel is given.
 *
 *      a kernel that looks at neither positions nor state      once over all rows: weights are read once
 *      a product whose results go to state                     once; a finished row's view says where they go
 *      attention, rotations, whatever else looks at them       for each sequence, over its rows
 *      a kernel of wanted rows                                 for each run of them
 *
 * Whether a kernel looks at positions or state its Code tells.
 *
 * A model that is not causal takes whole sequences, which have no state.  Each pointer of a kernel that is handed one begins at its rows,
 * which it counts from 0 (sequence_rows()); the others run once over the rows of all:
 *
 *      a kernel to which all rows are alike                    once
 *      a product whose results lie in tiles, or know their row once; a finished row's sequence says where they go
 *      attention, tables of positions, pooled vectors          for each sequence
 *
 * Expects: kernels and buffers, before they are placed.  Leaves: by_sequence and by_row of kernels, apart of buffers: an
 * arena buffer without rows of its own for each sequence becomes one for each slot.  Of whole sequences: memory for the rows of all. */
#include "plan.h"

typedef struct {
        Plan *plan;
        const char *why; /* it can't be */
        bool changed;
} Batch;

enum { LINE = 64 }; /* bytes of a cache line: buffers begin at one */

/* Can the row of a finished result be told from the number that the product's epilogue is given? */
static bool rows_are_outermost(const Plan *p, const Kernel *k)
{
        Domain d = domain_of(p->graph, &k->segment[0].product[0]->type);
        if (has_whole_sequences(p)) /* the kernel's own function treats rows alike */
                return true;
        for (int i = 1; i < d.n; i++)
                if (!dim_is_fixed(d.loop[i].size))
                        return false;
        bool by_heads = k->segment[0].product[0]->in[1]->type.rank > 2;
        return d.n > 1 && !by_heads && dim_is_positions(p->graph, d.loop[0].size);
}

/* An output's rows are told from the first wanted one, which kernels of wanted rows alone know. */
static const Output *output_among_others(const Plan *p, const Kernel *k)
{
        for (int i = 0; i < k->nstore + k->nsegment && !k->tail && p->graph->past >= 0; i++) {
                const Buffer *to = i < k->nstore ? k->store[i].to : k->segment[i - k->nstore].store.to;
                if (to && whole_buffer((Buffer *)to)->home == IN_OUTPUT)
                        return &p->graph->output[whole_buffer((Buffer *)to)->index];
        }
        return NULL;
}

/* The mark that the kernel needs; false: it has what it needs. */
static bool judge(Batch *b, Kernel *k)
{
        Plan *p = b->plan;
        lower(p, k); /* as it is marked by now */
        if (k->by_sequence || !k->code->uses)
                return false;
        if (k->op == K_MATMUL && !k->tail && !k->code->own_uses && rows_are_outermost(p, k)) {
                bool first = !k->by_row;
                return first && (k->by_row = true);
        }
        k->by_row = false;
        return k->by_sequence = true;
}

/* A kernel that runs by sequence stores into memory that no row tells apart. */
static void set_apart(Batch *b, const Kernel *k)
{
        for (int i = 0; i < k->nstore + k->nsegment && k->by_sequence && !has_whole_sequences(b->plan); i++) {
                Buffer *to =
                        whole_buffer(i < k->nstore ? k->store[i].to : k->segment[i - k->nstore].store.to);
                if (to->home != IN_ARENA || to->apart || type_has_positions(b->plan->graph, &to->type))
                        continue;
                to->apart = b->changed = true;
                to->size *= b->plan->slots;
        }
}

/* Positions along an axis whose loop always begins at 0. */
static bool has_rows_within(const Plan *p, const Kernel *k)
{
        const Type *t = &(k->op == K_MATMUL ? k->segment[0].product[0] : k->store[0].node)->type;
        bool within = false;
        for (int a = 0; a < t->rank && k->op == K_ATTENTION; a++)
                within |= a != t->rank - 2 && dim_is_positions(p->graph, t->dim[a]);
        return within || (t->rank > 0 && dim_is_positions(p->graph, t->dim[t->rank - 1]) &&
                          (k->op == K_MATMUL || k->op == K_ACTIVATION_MATMUL));
}

/* All iterations are run, for all rows: what finds the rows would have to find them for each sequence. */
static void find_none(Plan *p, Kernel *repeat)
{
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++) {
                        KernelList *l = &p->list[i];
                        if (l->kernel[k]->body == repeat->active_rows->body)
                                l->kernel[k]->active_only = false;
                        if (l->kernel[k] == repeat->active_rows) {
                                l->n--;
                                memmove(l->kernel + k, l->kernel + k + 1,
                                        (size_t)(l->n - k) * sizeof *l->kernel);
                                k--;
                        }
                }
        repeat->active_rows = NULL;
}

static void judge_body(Batch *b, int body);

static void judge_repeat(Batch *b, Kernel *repeat)
{
        Plan *p = b->plan;
        const Region *r = repeat->region;
        for (int i = 0; i < r->nbody; i++)
                judge_body(b, body_number(p, r->body[i]));
        if (!repeat->active_rows)
                return;
        lower(p, repeat->active_rows);
        bool apart = repeat->active_rows->code->uses != 0 || has_whole_sequences(p);
        const KernelList *l = &p->list[body_number(p, r->body[0])];
        for (int i = 0; i < l->n; i++)
                apart |= l->kernel[i]->active_only && (l->kernel[i]->by_sequence || l->kernel[i]->by_row);
        if (apart) {
                find_none(p, repeat);
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
                        b->changed |= judge(b, k);
                        set_apart(b, k);
                        p->tails_apart |= k->tail && k->by_sequence;
                        const Output *o = output_among_others(p, k);
                        if (o)
                                b->why = arena_printf(p->graph->arena,
                                                      "the output %s is computed along with what every "
                                                      "position needs",
                                                      output_name(o));
                        if (k->by_sequence && p->graph->past >= 0 && has_rows_within(p, k))
                                b->why = arena_printf(p->graph->arena,
                                                      "%s computes with positions along an inner axis",
                                                      k->name);
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
        for (int i = 0; i < p->nbuffer; i++) {
                const Type *t = &p->buffer[i]->type;
                for (int a = 0; a < t->rank; a++)
                        if (t->dim[a].per[g->time] && !t->dim[a].per[g->past] &&
                            !dim_is_positions(p->graph, t->dim[a]))
                                return arena_printf(g->arena, "%s has rows beside those of positions: %s",
                                                    p->buffer[i]->name, type_text(g->arena, g, t));
        }
        return NULL;
}

/* Memory for the rows of all sequences. */
static void spread(const Plan *p, Buffer *b)
{
        int64_t rows = all_rows(p, sequence_rows(b));
        if (b->home != IN_ARENA || b->part_of)
                return;
        if (b->layout.tiled >= 0)
                rows = rows / LANES + p->slots;
        b->size = round_up(buffer_size(b, round_up(rows * sequence_row(b), LANES)), LINE);
}

bool pass_batch(Plan *p, Diag *diag)
{
        (void)diag; /* p->alone says why not */
        if (p->slots == 1)
                return true;
        Batch b = {.plan = p, .why = why_alone(p), .changed = true};
        while (b.changed && !b.why) {
                b.changed = false;
                judge_body(&b, 0);
        }
        for (int i = 0; i < p->nbuffer && has_whole_sequences(p); i++)
                spread(p, p->buffer[i]);
        p->alone = b.why;
        return !b.why;
}
