/* Costs of a call for a rank: bytes, FLOPs, gathers (shard.c, rows.c). */
#include <string.h>

#include "lower/code.h"
#include "plan_private.h"

typedef struct {
        const Plan *plan;
        const KernelCost *cost;
        const int64_t *size;
        int ranks, stages;
        bool by_rows;
        int64_t iterations; /* iterations of the staged repeat that contains the kernel, or 0 */
        RankCost all;
        bool *seen; /* by buffer: already counted */
} Sharing;

/* Number of pieces that ranks share: heads, or panels of a product. */
static int64_t kernel_pieces(const Kernel *k)
{
        return k->ranks.heads      ? k->ranks.heads
               : k->op == K_MATMUL ? only_statement(own_function(k), STMT_MATMUL)->call.matmul->panels
                                   : kv_heads_of(k);
}

/* The largest share of n if ranks share its pieces; n if there are no pieces. */
static int64_t largest_share(int64_t n, int64_t pieces, int ranks)
{
        const int64_t most = (pieces + ranks - 1) / ranks;
        return pieces ? (int64_t)((double)n / (double)pieces * (double)most) : n;
}

/* Runs of the kernel in the stage with the most iterations. */
static int64_t runs_of(const Sharing *s, const KernelCost *c)
{
        return largest_share(c->runs, s->iterations, s->stages);
}

static int64_t largest_part(const Kernel *k, int64_t n, int ranks)
{
        return k->ranks.sharded ? largest_share(n, kernel_pieces(k), ranks) : n;
}

/* Whether the rows are exchanged once, after the last iteration. */
static bool is_once(const Step *exchange)
{
        return exchange->repeat && !exchange->half;
}

/* Rows of the kernel's result that ranks exchange.  In iterations with active rows: only those. */
static int64_t cost_rows(const Sharing *s, const Step *exchange, const KernelCost *c)
{
        const Kernel *k = exchange->kernel;
        const Function *f = own_function(k);
        const Graph *g = s->plan->graph;
        int64_t size[MAX_NAMED], rows = 1;
        memcpy(size, s->size, sizeof size);
        if (k->rows == ROWS_ACTIVE && g->past >= 0 && !is_once(exchange))
                size[g->time] = c->rows;
        for (int i = 0; k->op == K_MATMUL && i < f->nloop - 1; i++)
                rows *= dim_value(f->loop[i].size, size);
        if (k->op == K_ATTENTION) {
                const int row = only_statement(f, STMT_ATTENTION)->call.attention->row;
                rows = row < 0 ? 1 : dim_value(f->loop[row].size, size);
        }
        return k->rows == ROWS_REQUESTED ? rows - size[NAMED_FIRST] : rows;
}

/* Adds the kernel's weights and the caches that it writes, each buffer once. */
static void add_kept(Sharing *s, const Kernel *k)
{
        RankCost *all = &s->all;
        for (int i = 0; i < k->product.nsegment; i++)
                for (int j = 0; j < k->product.segment[i].nproduct; j++) {
                        const Buffer *w = whole_buffer(k->product.segment[i].w[j]);
                        const int64_t bytes = s->seen[w->id] ? 0 : w->slots * w->slot_stride,
                                      staged = largest_share(bytes, s->iterations, s->stages);
                        const bool whole = s->by_rows && k->ranks.by_rows;
                        all->weights += (whole ? staged : largest_part(k, staged, s->ranks)) - bytes;
                        s->seen[w->id] = true;
                }
        for (int i = 0; i < k->code->nwritten; i++) {
                const Buffer *b = whole_buffer(k->code->written[i]);
                const int64_t all_of = b->home != IN_STATE || s->seen[b->id] ? 0 : b->slots * b->slot_stride,
                              bytes = largest_share(all_of, s->iterations, s->stages);
                all->caches += b->per_head ? largest_part(k, bytes, s->ranks) : bytes;
                s->seen[b->id] = true;
        }
}

static void add_own_part(Sharing *s, const Kernel *k, const KernelCost *c)
{
        const int64_t runs = runs_of(s, c);
        s->all.read += runs * largest_part(k, c->read, s->ranks);
        s->all.flops += runs * largest_part(k, c->flops, s->ranks);
}

static void add_exchange(Sharing *s, const Step *step)
{
        const Kernel *k = step->kernel;
        const KernelCost *c = &s->cost[k->order.step];
        const int64_t runs = runs_of(s, c),
                      exchanges = step->repeat ? runs_of(s, &s->cost[step->repeat->order.step]) : runs;
        s->all.gathers += exchanges;
        s->all.floats += (is_once(step) ? exchanges : runs) * cost_rows(s, step, c) * exchanged_row(k);
}

static void add_gather(Sharing *s, const Step *step)
{
        const SharedRows *r = step->shared;
        const int64_t rows = dim_value(r->rows, s->size),
                      runs = step->kernel->op == K_REPEAT ? 1
                                                          : runs_of(s, &s->cost[step->kernel->order.step]);
        s->all.gathers += runs;
        s->all.floats += runs * (r->whole_tiles ? round_up(rows, LANES) : rows) * (r->tile / LANES);
}

/* Adds a kernel whose rows are shared: each rank reads all of its weights. */
static void add_own_rows(Sharing *s, const Kernel *k, const KernelCost *c)
{
        int64_t weights = 0, tiles = 0;
        for (int i = 0; i < k->product.nsegment; i++)
                for (int j = 0; j < k->product.segment[i].nproduct; j++)
                        weights += buffer_size(k->product.segment[i].w[j],
                                               k->product.k * round_up(k->product.segment[i].n, LANES));
        weights = weights < c->read ? weights : c->read;
        if (k->ranks.row_loop)
                tiles = (dim_value(own_function(k)->loop[k->ranks.row_loop - 1].size, s->size) + LANES - 1) /
                        LANES;
        s->all.read += runs_of(s, c) * (weights + largest_share(c->read - weights, tiles, s->ranks));
        s->all.flops += runs_of(s, c) * largest_share(c->flops, tiles, s->ranks);
}

/* Adds the values that a staged repeat sends on. */
static void cost_add_carried(Sharing *s, const Region *r)
{
        for (int i = 0; i < r->ncarry; i++) {
                const Buffer *b = carried_buffer(s->plan, r, i);
                s->all.carried += type_count(&b->type, s->size);
        }
}

bool calls_share_rows(const Plan *p)
{
        for (int i = 0; i < p->list[0].n; i++)
                if (p->list[0].kernel[i]->ranks.by_rows && !p->list[0].kernel[i]->part)
                        return true;
        return false;
}

bool shares_rows(const Plan *p, const int64_t *size, int ranks)
{
        return calls_share_rows(p) && dim_value(p->sharing.rows, size) > (int64_t)LANES * (ranks - 1);
}

static void cost_add_steps(Sharing *s, const StepList *list);

static void cost_add_step(Sharing *s, const Step *step)
{
        const Kernel *k = step->kernel;
        if (step->op == STEP_CALL || step->op == STEP_ACTIVE) {
                if (s->by_rows && k->ranks.by_rows)
                        add_own_rows(s, k, &s->cost[k->order.step]);
                else
                        add_own_part(s, k, &s->cost[k->order.step]);
                add_kept(s, k);
        }
        if (step->op == STEP_EXCHANGE)
                add_exchange(s, step);
        if (step->op == STEP_GATHER)
                add_gather(s, step);
        if (step->op != STEP_IF || !(step->when & (s->by_rows ? WHEN_BY_OUTPUTS : WHEN_BY_ROWS)))
                cost_add_steps(s, &step->inside);
}

static void cost_add_steps(Sharing *s, const StepList *list)
{
        for (int i = 0; i < list->n; i++) {
                const Step *step = list->step[i];
                const int64_t outer = s->iterations;
                if (step->op == STEP_REPEAT && step->by_stages) {
                        cost_add_carried(s, step->kernel->repeat.region);
                        s->iterations = s->stages > 1 ? step->kernel->repeat.region->iterations : 0;
                }
                if (step->op == STEP_REPEAT && step->half == 2) /* the rows that the first half found */
                        cost_add_steps(s, bodies_of(step));
                else
                        cost_add_step(s, step);
                s->iterations = outer;
        }
}

RankCost rank_cost(Arena *a, const Plan *p, const int64_t *size, int ranks, int stages, bool by_rows)
{
        Sharing s = {.plan = p,
                     .cost = kernel_costs(a, p, size),
                     .size = size,
                     .ranks = ranks,
                     .stages = stages > 1 ? stages : 1,
                     .by_rows = by_rows};
        s.seen = NEW_ARRAY(a, bool, p->nbuffer + 1);
        s.all.weights = p->bytes.weights;
        cost_add_steps(&s, p->program);
        return s.all;
}
