/* Costs of kernels: FLOPs of their nodes, bytes of the buffers that they read and store, and the units of
 * work that threads divide.
 *
 * A kernel's nodes are found from the values that it stores, back to values in buffers.  FLOPs follow the
 * rule of cost_flops(): a value that two kernels compute counts in both.  A buffer counts once, with the
 * elements that are accessed: for a table from which rows are gathered, those rows. */
#include "plan.h"

#include "../../runtime/attention_call.h"
#include "../../runtime/contraction_call.h"

typedef struct {
        const Plan *plan;
        const int64_t *size;
        const Flops *flops; /* by node id */
        const Kernel *kernel;
        bool *seen;       /* by node id */
        int64_t *touched; /* by buffer id: elements */
        KernelCost cost;
} Costing;

/* --- FLOPs and bytes -------------------------------------------------------------------------------------------------- */

/* Adds an access to n elements of the buffer. */
static void touch_elements(Costing *c, Buffer *b, int64_t n)
{
        const Buffer *whole = whole_buffer(b);
        /* the weights of a pair of products have the type of one */
        const int64_t all = whole->home == IN_WEIGHTS ? buffer_elements(whole, whole->size)
                                                      : type_count(&whole->type, c->size);
        const int64_t before = c->touched[whole->id], now = min_int64(before + n, max_int64(all, n));
        c->touched[whole->id] = now;
        c->cost.read += buffer_size(whole, now) - buffer_size(whole, before);
}

static void count_write(Costing *c, const Store *s)
{
        if (s->to)
                c->cost.written += buffer_size(s->to, type_count(&s->node->type, c->size));
}

static bool is_weight_of(const Kernel *k, const Node *product)
{
        for (int i = 0; i < k->product.nsegment; i++)
                for (int j = 0; j < k->product.segment[i].nproduct; j++)
                        if (k->product.segment[i].product[j] == product)
                                return true;
        return false;
}

static void cost_node(Costing *c, Node *n, int64_t looked_at, bool stored);

/* Elements of the keys or values that the rows of a call choose.  Each list of a row has its own keys; heads with one list
 * and one key share them. */
static int64_t chosen_elements(const Costing *c, const Node *in, int64_t all)
{
        const Type *t = &c->kernel->attention.score->type, *list = &c->kernel->attention.chosen->in[0]->type;
        const int64_t keys = dim_value(t->dim[t->rank - 1], c->size),
                      rows = dim_value(t->dim[t->rank - 2], c->size);
        const int64_t read = rows * list->dim[list->rank - 1].fixed;
        const int64_t lists = type_count(list, c->size) / read,
                      kept = type_count(&base_of(in)->type, c->size);
        const Dim *last = &in->type.dim[in->type.rank - 2]; /* [d, keys] or [keys, d] */
        const int64_t width = dim_value(last[0], c->size) * dim_value(last[1], c->size) / keys;
        return keys > read ? min_int64(all / keys, max_int64(kept / keys, lists * width)) * read : all;
}

static void cost_inputs(Costing *c, Node *n, int64_t looked_at)
{
        const int64_t own = type_count(&n->type, c->size);
        const int inputs = is_weight_of(c->kernel, n) ? 1 : n->nin; /* the weights are counted separately */
        for (int i = n->op == OP_APPEND; i < inputs; i++) { /* the past rows of a state are not copied */
                int64_t all = type_count(&n->in[i]->type, c->size);
                bool some = n->op == OP_VIEW || (n->op == OP_GATHER && i == 0);
                if (i == 1 && c->kernel->attention.chosen && n->op == OP_MATMUL)
                        all = chosen_elements(c, n->in[i], all);
                cost_node(c, n->in[i], some ? min_int64(all, min_int64(own, looked_at)) : all, true);
        }
}

/* stored: values in buffers are read; false for the roots, which the kernel computes. */
static void cost_node(Costing *c, Node *n, int64_t looked_at, bool stored)
{
        Buffer *b = stored ? c->plan->of_node.value[n->id] : NULL;
        if (b) {
                touch_elements(c, b, looked_at);
                return;
        }
        if (n->op != OP_VIEW && c->seen[n->id])
                return;
        if (!c->seen[n->id]) {
                const Flops *f = &c->flops[n->id];
                const int64_t products = f->product.factor[0] + f->pair.factor[0];
                c->cost.products += products;
                c->cost.flops += products + f->pointwise.factor[0];
        }
        c->seen[n->id] = true;
        cost_inputs(c, n, looked_at);
}

static void cost_store(Costing *c, const Store *s)
{
        cost_node(c, s->node, type_count(&s->node->type, c->size), s->copy);
        count_write(c, s);
}

static void cost_kernel(Costing *c)
{
        const Kernel *k = c->kernel;
        for (int i = 0; i < k->stores.n && k->op != K_MATMUL; i++)
                cost_store(c, &k->stores.of[i]);
        for (int i = 0; i < k->product.nsegment; i++) {
                const Segment *s = &k->product.segment[i];
                cost_store(c, &s->store);
                for (int j = 0; j < s->nproduct; j++)
                        touch_elements(c, s->w[j], type_count(&s->w[j]->type, c->size));
        }
}

/* --- units ------------------------------------------------------------------------------------------------------------ */

static int64_t loop_count(const Costing *c, const CodeLoop *l)
{
        return dim_value(l->size, c->size);
}

static int64_t loops_count(const Costing *c, const Function *f, int begin, int end)
{
        int64_t times = 1;
        for (int i = begin; i < end; i++)
                times *= loop_count(c, &f->loop[i]);
        return times;
}

static int64_t turns_around(const Costing *c, const Function *f, const int *loop, int n)
{
        int64_t times = 1;
        for (int i = 0; i < n; i++)
                times *= loop_count(c, &f->loop[loop[i]]);
        return times;
}

static void share_in(Costing *c, int64_t units, const char *unit)
{
        c->cost.units = max_int64(units, 1);
        c->cost.unit = unit;
}

/* ATTENTION_UNITS of the runtime; of mixed heads, tiles of rows. */
static void attention_units(Costing *c, const Function *f, const AttentionCall *a)
{
        const int64_t tile = a->k_key && !a->chosen.buffer ? 16 : max_int64(c->plan->target->rows, 1);
        const int64_t rows = a->row < 0 ? 1 : loop_count(c, &f->loop[a->row]);
        const int64_t around = turns_around(c, f, a->around, a->naround);
        const int64_t keys = dim_value(a->keys, c->size);
        if (rows == 1 && c->kernel->scratch.all && !a->naround)
                c->cost.blocks = max_int64((keys + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK, 1);
        if (a->weigh)
                share_in(c, around * ((rows + tile - 1) / tile), "tiles of rows");
        else if (a->chosen.buffer)
                share_in(c, around * CHOSEN_UNITS(a->heads, a->kv_heads, rows, tile),
                         "rows by tiles of heads");
        else
                share_in(c, around * a->kv_heads * ((rows * (a->heads / a->kv_heads) + tile - 1) / tile),
                         rows == 1 ? "heads of keys" : "tiles of rows by heads of keys");
}

/* The units of the statement that divides a kernel's work among threads. */
static void units_of(Costing *c, const Function *f, const Stmt *s)
{
        switch (s->op) {
        case STMT_ROWS: share_in(c, loops_count(c, f, s->begin, s->end), "rows"); break;
        case STMT_MATMUL: {
                const MatmulCall *m = s->call.matmul;
                share_in(c, loops_count(c, f, 0, m->outer) * m->panels, "panels of 16 outputs");
                break;
        }
        case STMT_ACTIVATION_MATMUL: {
                const ActivationCall *a = s->call.activation;
                int64_t rows = a->row < 0 ? 1 : loop_count(c, &f->loop[a->row]);
                share_in(c, turns_around(c, f, a->around, a->naround) * CONTRACT_UNITS(rows),
                         "blocks of 32 rows");
                break;
        }
        case STMT_ATTENTION: attention_units(c, f, s->call.attention); break;
        case STMT_SCAN:
                share_in(c, s->call.scan->heads * SCAN_UNITS(s->call.scan->width), "parts of heads");
                break;
        default: break;
        }
}

static void cost_units(Costing *c)
{
        const Code *code = c->kernel->code;
        const Function *f = code->function[code->n - 1];
        share_in(c, 1, "whole");
        c->cost.blocks = 1;
        for (int i = 0; i < f->body.n; i++)
                units_of(c, f, &f->body.stmt[i]);
}

/* --- all kernels ------------------------------------------------------------------------------------------------------- */

/* The rows from the first requested one on. */
static void wanted_rows(const Graph *g, int64_t *size)
{
        size[g->past] += size[NAMED_FIRST];
        size[g->time] -= size[NAMED_FIRST];
}

/* For a state with a window, at most the positions that it stores. */
static void held_positions(const Plan *p, const Kernel *k, int64_t *size)
{
        int64_t held = 0;
        for (int i = 0; i < k->code->nread; i++) {
                const int cache = cache_of(k->code->read[i]);
                if (cache >= 0)
                        held = max_int64(held, p->windows.cache[cache].size);
        }
        if (held)
                size[p->graph->past] =
                        min_int64(size[p->graph->past], max_int64(held - size[p->graph->time], 0));
}

/* Rows of a call are assumed to be spread evenly over the iterations that change them (experts): some run,
 * each with its share. */
static int64_t spread_rows(const Graph *g, const Region *r, int64_t *size)
{
        const int64_t rows = g->past < 0 ? r->iterations : size[g->time] * iterations_in_use(r);
        const int64_t runs = min_int64(r->iterations, rows);
        if (g->past >= 0)
                size[g->time] = (rows + runs - 1) / runs;
        return runs;
}

static KernelCost cost_one(const Plan *p, const Kernel *k, const int64_t *size)
{
        const Graph *g = p->graph;
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Costing c = {.plan = p, .kernel = k, .size = size, .flops = flops_by_node(&scratch, g, size)};
        c.seen = NEW_ARRAY(&scratch, bool, g->nnode);
        c.touched = NEW_ARRAY(&scratch, int64_t, p->nbuffer);
        cost_kernel(&c);
        cost_units(&c);
        arena_free(&scratch);
        return c.cost;
}

typedef struct {
        const Plan *plan;
        const int64_t *size;
        KernelCost *of;
} AllCosts;

/* active: the sizes for kernels that compute only the active rows of their iteration. */
static void cost_body(const AllCosts *all, int body, int64_t runs, const int64_t *active);

static void cost_repeat(const AllCosts *all, const Kernel *k, int64_t runs)
{
        const Region *r = k->repeat.region;
        int64_t active[MAX_NAMED], in_use = r->iterations;
        all->of[k->order.step].runs = runs;
        memcpy(active, all->size, sizeof active);
        if (k->repeat.active_rows)
                in_use = spread_rows(all->plan->graph, r, active);
        for (int b = 0; b < r->nbody; b++) {
                int64_t taken = 0;
                for (int64_t t = 0; t < r->iterations; t++)
                        taken += r->body_of[t] == b;
                const int64_t positions =
                        r->along ? dim_value(positions_of(all->plan->graph, r), all->size) : 1;
                cost_body(all, body_number(all->plan, r->body[b]),
                          runs * positions * min_int64(taken, in_use), active);
        }
}

static void cost_body(const AllCosts *all, int body, int64_t runs, const int64_t *active)
{
        const KernelList *list = &all->plan->list[body];
        for (int i = 0; i < list->n; i++) {
                const Kernel *k = list->kernel[i];
                int64_t size[MAX_NAMED];
                if (k->op == K_REPEAT) {
                        cost_repeat(all, k, runs);
                        continue;
                }
                memcpy(size, k->rows == ROWS_ACTIVE ? active : all->size, sizeof size);
                if (k->rows == ROWS_REQUESTED)
                        wanted_rows(all->plan->graph, size);
                held_positions(all->plan, k, size);
                all->of[k->order.step] = cost_one(all->plan, k, size);
                all->of[k->order.step].runs =
                        k->rows == ROWS_AT_START && size[all->plan->graph->past] > 0 ? 0 : runs;
                all->of[k->order.step].rows = all->plan->graph->past >= 0 ? size[all->plan->graph->time] : 0;
        }
}

KernelCost *kernel_costs(Arena *a, const Plan *p, const int64_t *size)
{
        const AllCosts all = {p, size, NEW_ARRAY(a, KernelCost, p->steps)};
        cost_body(&all, 0, 1, size);
        return all.of;
}
