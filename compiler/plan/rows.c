/* Rows: divides the rows of a call among ranks (runtime/ranks.h).
 *
 * In a call of many rows, for instance of an encoder, a rank computes some rows of every kernel, with all
 * weights, instead of some outputs of all rows.  A kernel that computes each row from the same row reads its
 * own rank's rows.  Attention, by its keys and values, reads the rows of all ranks: the ranks gather these
 * before it, once per layer.
 *
 * Rows are divided in tiles of 16.  The elements of a tile are contiguous in the buffer:
 *
 *      element = base + tile * (row / 16) + rest, 0 <= rest < tile
 *
 * so that they are gathered in place.  A kernel that stores its rows in another layout is computed by every
 * rank. */
#include "lower/code.h"
#include "plan_private.h"

/* --- kernels by rows ------------------------------------------------------------------------------------------------- */

/* The rows that k stores, counted by its loop `row`; false: it stores other values too. */
static bool stores_by_rows(const Plan *p, const Kernel *k, int row, SharedRows *to, int *n, int most)
{
        const Accesses all = accesses_of(p->graph->arena, k, true);
        *n = 0;
        for (int i = 0; i < all.n; i++) {
                SharedRows r = {.rows = own_function(k)->loop[row].size};
                const Buffer *b = whole_buffer(all.of[i].buffer);
                if (b->storage != STORAGE_F32 || b->dense || b->slots > 1 || all.of[i].buffer->slots > 1 ||
                    (b->home != IN_ARENA && b->home != IN_OUTPUT) || *n == most ||
                    !access_is_by_rows(p, &all.of[i], row, &r))
                        return false;
                to[(*n)++] = r;
        }
        for (int i = 0; i < k->code->nwritten; i++) {
                bool seen = false;
                for (int j = 0; j < *n; j++)
                        seen |= whole_buffer(to[j].buffer) == whole_buffer(k->code->written[i]);
                if (!seen)
                        return false;
        }
        return *n > 0;
}

/* The range of loops that may count the rows: those that threads divide. */
static bool kernel_row_range(const Kernel *k, int *begin, int *end)
{
        const Function *f = own_function(k);
        const Stmt *s = f->body.stmt;
        *begin = *end = 0;
        if (k->op == K_LOOP) {
                *begin = s->begin;
                *end = s->end;
        } else if (k->op == K_MATMUL && s->call.matmul->outer == 0) {
                *end = f->nloop - 1 == 1; /* the only loop that counts rows with it */
        } else if (k->op == K_ATTENTION && s->call.attention->naround == 0 && s->call.attention->row >= 0) {
                *begin = s->call.attention->row;
                *end = *begin + 1;
        }
        return *end > *begin;
}

enum { MAX_STORES = 8 };

static void kernel_find_rows(const Plan *p, Kernel *k)
{
        SharedRows stored[MAX_STORES];
        int begin, end, n;
        k->ranks.row_loop = 0;
        if (k->op == K_REPEAT || k->rows != ROWS_ALL || k->batching > BATCH_ROWS ||
            !kernel_row_range(k, &begin, &end))
                return;
        for (int i = begin; i < end && !k->ranks.row_loop; i++)
                if (bound_of(p, own_function(k)->loop[i].size) > LANES &&
                    stores_by_rows(p, k, i, stored, &n, MAX_STORES))
                        k->ranks.row_loop = i + 1;
}

/* --- gathers ----------------------------------------------------------------------------------------------------------- */

/* Divided rows: each rank has only its share of them. */
typedef struct {
        Plan *plan;
        uint64_t part; /* Kernel.part: 0: the calls; else the part that runs when its inputs are fed */
        RowList rows;
} RowsApart;

bool shared_rows_equal(const SharedRows *a, const SharedRows *b)
{
        return whole_buffer(a->buffer) == whole_buffer(b->buffer) && a->base == b->base &&
               a->tile == b->tile && dim_equal(a->rows, b->rows);
}

static void row_list_add(Arena *arena, RowList *to, SharedRows r)
{
        for (int i = 0; i < to->n; i++)
                if (shared_rows_equal(&to->of[i], &r))
                        return;
        GROW(arena, to->of, to->n, to->cap);
        to->of[to->n++] = r;
}

/* Whether k reads only its own rank's rows of those at r. */
bool reads_own_rows(const Plan *p, const Kernel *k, const SharedRows *r)
{
        bool any = false;
        if (!k->ranks.row_loop || !dim_equal(own_function(k)->loop[k->ranks.row_loop - 1].size, r->rows))
                return false;
        const Accesses reads = accesses_of(p->graph->arena, k, false);
        for (int i = 0; i < reads.n; i++) {
                const Access *a = &reads.of[i];
                SharedRows own = {.rows = r->rows};
                if (whole_buffer(a->buffer) != whole_buffer(r->buffer))
                        continue;
                if (!access_is_by_rows(p, a, k->ranks.row_loop - 1, &own) || !shared_rows_equal(&own, r))
                        return false;
                any = true;
        }
        if (k->op != K_ATTENTION)
                return any;
        const AttentionCall *c = own_function(k)->body.stmt[0].call.attention;
        return any && whole_buffer(c->k.buffer) != whole_buffer(r->buffer) &&
               whole_buffer(c->v.buffer) != whole_buffer(r->buffer);
}

static bool rows_overlap(const Plan *p, const SharedRows *a, const SharedRows *b)
{
        const int64_t a_end = a->base + round_up(bound_of(p, a->rows), LANES) * (a->tile / LANES),
                      b_end = b->base + round_up(bound_of(p, b->rows), LANES) * (b->tile / LANES);
        return whole_buffer(a->buffer) == whole_buffer(b->buffer) && a->base < b_end && b->base < a_end;
}

/* The gathers of a kernel, before or after it; NULL: none. */
static StepList *gathers_of(Plan *p, const Kernel *k, bool after)
{
        const StepPosition place = find_kernel_step(p->program, k);
        for (int i = after ? place.at + 1 : 0; i < (after ? place.list->n : place.at); i++) {
                const Step *s = place.list->step[i];
                if (s->op == STEP_IF && s->kernel == k && s->when & WHEN_BY_ROWS)
                        return &s->inside.step[0]->inside;
        }
        return NULL;
}

/* Inserts a gather, unless the kernel has it. */
static void insert_gather(Plan *p, const Kernel *k, bool after, SharedRows r)
{
        const Buffer *b = whole_buffer(r.buffer);
        const Output *output = b->home == IN_OUTPUT ? &p->graph->output[b->index] : NULL;
        StepList *to = gathers_of(p, k, after);
        const bool requested = k->rows == ROWS_REQUESTED && rest_is_requested(p, k);
        const Step condition = {.op = STEP_IF,
                                .kernel = k,
                                .when = WHEN_BY_ROWS | (requested ? WHEN_REQUESTED : 0),
                                .rows = k->ranks.rows};
        to = to ? to : insert_transfer(p, k, after, condition);
        for (int i = 0; i < to->n; i++) {
                const Step *s = to->step[i]->op == STEP_GATHER ? to->step[i] : to->step[i]->inside.step[0];
                if (shared_rows_equal(s->shared, &r))
                        return;
        }
        if (output)
                to = &step_add(p, to, (Step){.op = STEP_IF_WANTED, .kernel = k, .output = output})->inside;
        SharedRows *shared = NEW(p->graph->arena, SharedRows);
        *shared = r;
        step_add(p, to, (Step){.op = STEP_GATHER, .kernel = k, .shared = shared});
}

static bool reads_across(const RowsApart *apart, const Kernel *k, const SharedRows *r)
{
        return code_reads(k->code, whole_buffer(r->buffer)) && !reads_own_rows(apart->plan, k, r);
}

RowList rows_stored(const Plan *p, const Kernel *k)
{
        RowList stored = {.of = NEW_ARRAY(p->graph->arena, SharedRows, MAX_STORES)};
        if (k->ranks.row_loop)
                stores_by_rows(p, k, k->ranks.row_loop - 1, stored.of, &stored.n, MAX_STORES);
        return stored;
}

/* Whether k stores to memory of rows that are divided in another way. */
static bool stores_over(const RowsApart *apart, const Kernel *k, const SharedRows *r)
{
        const RowList stored = rows_stored(apart->plan, k);
        for (int i = 0; i < stored.n; i++)
                if (!shared_rows_equal(&stored.of[i], r) && rows_overlap(apart->plan, &stored.of[i], r))
                        return true;
        return false;
}

/* Use of divided rows by the kernels of a repeat. */
typedef struct {
        bool reads, across, stores, stores_over;
} Touched;

static Touched touched_in(const RowsApart *apart, const Region *region, const SharedRows *r)
{
        Touched t = {.reads = false};
        for (int i = 0; i < apart->plan->all.n; i++) {
                const Kernel *k = apart->plan->all.kernel[i];
                if (!body_is_inside(k->body, region))
                        continue;
                const RowList stored = rows_stored(apart->plan, k);
                for (int j = 0; j < stored.n; j++)
                        t.stores |= shared_rows_equal(&stored.of[j], r);
                t.stores_over |= stores_over(apart, k, r);
                t.reads |= code_reads(k->code, whole_buffer(r->buffer));
                t.across |= reads_across(apart, k, r);
        }
        return t;
}

/* Whether rows are gathered before a kernel: it reads rows of other ranks, or divides them in another way.  Before a repeat: its
 * iterations do, and do not store the same rows, which they then gather themselves.  An iteration that only runs for its active rows may
 * not run at all. */
static bool is_gathered_before(const RowsApart *apart, const Kernel *k, const SharedRows *r)
{
        if (k->op != K_REPEAT)
                return reads_across(apart, k, r) || stores_over(apart, k, r);
        const Touched t = touched_in(apart, k->repeat.region, r);
        return t.stores_over || (t.across && !t.stores) || (k->repeat.active_rows && t.reads);
}

static void gather_before(RowsApart *apart, const Kernel *k)
{
        RowList *rows = &apart->rows;
        for (int i = 0; i < rows->n; i++)
                if (is_gathered_before(apart, k, &rows->of[i])) {
                        insert_gather(apart->plan, k, false, rows->of[i]);
                        rows->of[i--] = rows->of[--rows->n];
                }
}

/* Marks the rows that k stores as divided.  Outputs are gathered for all ranks. */
static void set_apart(RowsApart *apart, Kernel *k)
{
        const RowList stored = rows_stored(apart->plan, k);
        for (int i = 0; i < stored.n; i++) {
                if (whole_buffer(stored.of[i].buffer)->home == IN_OUTPUT)
                        insert_gather(apart->plan, k, true, stored.of[i]);
                else
                        row_list_add(apart->plan->graph->arena, &apart->rows, stored.of[i]);
        }
}

/* --- gathers of a part --------------------------------------------------------------------------------------------------------- */

static void row_list_add_all(Arena *arena, RowList *to, const RowList *of)
{
        for (int i = 0; i < of->n; i++)
                row_list_add(arena, to, of->of[i]);
}

static void gather_in_body(RowsApart *apart, int body);

/* Twice: the state after an iteration of any body is the state before the next one. */
static void gather_in_repeat(RowsApart *apart, const Region *r)
{
        Arena *arena = apart->plan->graph->arena;
        for (int turn = 0; turn < 2; turn++) {
                const RowList begin = apart->rows;
                RowList end = {.n = 0};
                for (int b = 0; b < r->nbody; b++) {
                        apart->rows = (RowList){.n = 0};
                        row_list_add_all(arena, &apart->rows, &begin);
                        gather_in_body(apart, body_number(apart->plan, r->body[b]));
                        row_list_add_all(arena, &end, &apart->rows);
                }
                if (turn == 0)
                        row_list_add_all(arena, &end, &begin);
                apart->rows = end;
        }
}

/* Gathers in a part, which runs separately; repeats contain no other parts. */
static void gather_in_body(RowsApart *apart, int body)
{
        const KernelList *l = &apart->plan->list[body];
        for (int i = 0; i < l->n; i++) {
                Kernel *k = l->kernel[i];
                if (body == 0 && k->part != apart->part)
                        continue;
                gather_before(apart, k);
                set_apart(apart, k);
                if (k->op == K_REPEAT)
                        gather_in_repeat(apart, k->repeat.region);
        }
}

/* --- kernels that share rows ------------------------------------------------------------------------------------------- */

/* Kernels of a part, in the order of execution. */
static void add_kernels(const Plan *p, int body, uint64_t part, KernelList *to)
{
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                if (body == 0 && k->part != part)
                        continue;
                GROW(p->graph->arena, to->kernel, to->n, to->cap);
                to->kernel[to->n++] = k;
                for (int b = 0; k->op == K_REPEAT && b < k->repeat.region->nbody; b++)
                        add_kernels(p, body_number(p, k->repeat.region->body[b]), 0, to);
        }
}

static void leave_whole(Kernel *k)
{
        k->ranks.by_rows = false;
        k->ranks.row_loop = 0;
}

/* Whether `reader` reads the results of k. */
static bool is_read_by(const Kernel *k, const Kernel *reader)
{
        bool any = false;
        for (int i = 0; i < k->code->nwritten; i++)
                any |= code_reads(reader->code, k->code->written[i]);
        return any;
}

/* Whether a kernel of a call whose rows are divided reads the results of k. */
static bool is_read_in_rows(const Plan *p, const Kernel *k)
{
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i]->ranks.by_rows && is_read_by(k, p->all.kernel[i]))
                        return true;
        return false;
}

/* A kernel that is not divided by rows stays divided by outputs, if its readers get its results. */
static void leave_shared(const Plan *p, Kernel *k)
{
        if (!k->ranks.row_loop && k->ranks.sharded)
                k->ranks.by_rows = !is_exchanged(k) && is_read_in_rows(p, k);
}

/* --- data that stays with heads ---------------------------------------------------------------------------------------- */

/* Whether k accesses a cache that is stored by heads; each rank stores its own heads. */
static bool touches_heads_cache(const Kernel *k)
{
        bool any = false;
        for (int i = 0; i < k->code->nread; i++)
                any |= whole_buffer(k->code->read[i])->per_head;
        for (int i = 0; i < k->code->nwritten; i++)
                any |= whole_buffer(k->code->written[i])->per_head;
        return any;
}

/* Whether the results of k are by heads, and are read or also stored by a kernel that stays divided by heads. */
static bool goes_with_heads(const Plan *p, const Kernel *k)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *other = p->all.kernel[i];
                if (!other->ranks.by_rows && other->ranks.sharded &&
                    ((!is_exchanged(k) && is_read_by(k, other)) ||
                     (!is_exchanged(other) && is_read_by(other, k))))
                        return true;
        }
        return false;
}

/* Leaves attention on cached keys and values divided by heads, with the kernels that compute these and the queries; returns whether k was
 * one that was divided by rows. */
static bool leave_with_heads(const Plan *p, Kernel *k)
{
        const bool by_heads = k->ranks.sharded && (k->ranks.heads || k->op == K_ATTENTION);
        if (!by_heads || !k->ranks.by_rows || !(touches_heads_cache(k) || goes_with_heads(p, k)))
                return false;
        leave_whole(k);
        return true;
}

/* The rows of the kernel with most FLOPs, if nine tenths of all FLOPs are shared; or 0. */
static Dim most_rows(const KernelList *l, const KernelCost *cost)
{
        int64_t all = 0, shared = 0, most = 0;
        Dim rows = dim_fixed(0);
        for (int i = 0; i < l->n; i++) {
                const Kernel *k = l->kernel[i];
                const int64_t flops =
                        k->op == K_REPEAT ? 0 : cost[k->order.step].flops * cost[k->order.step].runs;
                all += flops;
                shared += k->ranks.row_loop || !k->ranks.by_rows ? flops : 0;
                if (k->ranks.row_loop && flops > most) {
                        most = flops;
                        rows = own_function(k)->loop[k->ranks.row_loop - 1].size;
                }
        }
        return shared > all / 10 * 9 ? rows : dim_fixed(0);
}

/* The bodies of a repeat run in any order: two of them store the same rows of a buffer, or disjoint ones. */
static bool rows_agree(const Plan *p, const RowList *a, const RowList *b)
{
        for (int i = 0; i < a->n; i++)
                for (int j = 0; j < b->n; j++)
                        if (!shared_rows_equal(&a->of[i], &b->of[j]) && rows_overlap(p, &a->of[i], &b->of[j]))
                                return false;
        return true;
}

static void add_stored(const Plan *p, const Body *body, RowList *to)
{
        const KernelList *l = &p->list[body_number(p, body)];
        for (int i = 0; i < l->n; i++) {
                const Kernel *k = l->kernel[i];
                const RowList stored = rows_stored(p, k);
                for (int j = 0; j < stored.n; j++)
                        row_list_add(p->graph->arena, to, stored.of[j]);
                for (int b = 0; k->op == K_REPEAT && b < k->repeat.region->nbody; b++)
                        add_stored(p, k->repeat.region->body[b], to);
        }
}

static bool bodies_agree(const Plan *p)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                RowList before = {.n = 0};
                for (int b = 0; k->op == K_REPEAT && b < k->repeat.region->nbody; b++) {
                        RowList of = {.n = 0};
                        add_stored(p, k->repeat.region->body[b], &of);
                        if (!rows_agree(p, &before, &of))
                                return false;
                        row_list_add_all(p->graph->arena, &before, &of);
                }
        }
        return true;
}

static void share_rows(Plan *p, uint64_t part, const KernelCost *cost)
{
        RowsApart apart = {.plan = p, .part = part};
        KernelList l = {.n = 0};
        add_kernels(p, 0, part, &l);
        for (int i = 0; i < l.n; i++) {
                l.kernel[i]->ranks.by_rows = true;
                kernel_find_rows(p, l.kernel[i]);
        }
        for (bool changed = true; changed;) {
                changed = false;
                for (int i = 0; i < l.n; i++)
                        changed |= leave_with_heads(p, l.kernel[i]);
        }
        for (int i = 0; i < l.n; i++)
                leave_shared(p, l.kernel[i]);
        const Dim rows = most_rows(&l, cost);
        const bool shared = !dim_equal(rows, dim_fixed(0)) && bodies_agree(p);
        for (int i = 0; i < l.n; i++) {
                l.kernel[i]->ranks.rows = rows;
                if (!shared)
                        leave_whole(l.kernel[i]);
        }
        if (!shared)
                return;
        p->sharing.by_rows = true;
        p->sharing.rows = rows;
        gather_in_body(&apart, 0);
}

/* Kernels by rows have no outputs to exchange, and no values to compare, in calls whose rows ranks share. */
static void narrow_conditions(const StepList *list)
{
        for (int i = 0; i < list->n; i++) {
                Step *s = list->step[i];
                if (s->op == STEP_IF && s->when & (WHEN_RANKS | WHEN_COMPARED) && s->kernel->ranks.by_rows) {
                        s->when = s->when & WHEN_RANKS ? WHEN_BY_OUTPUTS : s->when | WHEN_NOT_BY_ROWS;
                        s->rows = s->kernel->ranks.rows;
                }
                narrow_conditions(&s->inside);
        }
}

bool pass_rows(Plan *p, Diag *diag)
{
        (void)diag;
        int64_t size[MAX_NAMED];
        if (!p->sharing.ranks || p->off[PASS_rows] || (p->slots > 1 && !p->sharing.prompt_rows))
                return true;
        for (int i = 0; i < MAX_NAMED; i++)
                size[i] = i < NAMED_BASE && p->bound[i] > 0 ? p->bound[i] : 0;
        const KernelCost *cost = kernel_costs(p->graph->arena, p, size);
        for (int i = 0; i < p->graph->npart; i++)
                share_rows(p, p->graph->part[i], cost);
        if (p->graph->past < 0 || p->sharing.prompt_rows)
                share_rows(p, 0, cost);
        narrow_conditions(p->program);
        return true;
}
