/* Fuse: groups nodes into kernels.
 *
 * Attention and products with weights are found first, then the other nodes are grouped.  An elementwise
 * node, a fold or a softmax joins the expression of the only kernel that uses it.  A value gets a buffer if
 * several kernels use it, if it is the operand of a product, or if it leaves the body.  Within a kernel
 * values are recomputed rather than stored: a norm reads its row twice and stores once.
 *
 *      x ── x*x ── sum ─┐                 LOOP over rows:  sum of squares in one pass over the row,
 *      x ────────── div ┴── mul gain      then x / sqrt(..) * gain in another; one buffer written
 *
 * Expects a verified graph with loop-invariant nodes hoisted.  Returns a plan with kernels in order and
 * buffers laid out.  If an expression cannot read an operand by an affine index, the operand gets a buffer
 * and the grouping is repeated. */
#include "plan_private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void plan_explain(Plan *p, const char *format, ...)
{
        GROW(p->graph->arena, p->explained.line, p->explained.n, p->explained.cap);
        va_list args;
        va_start(args, format);
        p->explained.line[p->explained.n++] = arena_vprintf(p->graph->arena, format, args);
        va_end(args);
}

Kernel *fuse_kernel(Fuse *f, KernelOp op, Node *root)
{
        Kernel *k = NEW(f->arena, Kernel);
        k->op = op;
        k->body = root->body;
        k->span = root->span;
        k->where = root->where;
        k->wanted = f->plan->graph->wanted[root->id];
        k->stores.of = NEW_ARRAY(f->arena, Store, 1);
        k->stores.of[0].node = root;
        k->stores.n = 1;
        name_kernel(f, k);
        f->needs_buffer[root->id] = true;
        GROW(f->arena, f->kernel, f->nkernel, f->cap_kernel);
        return f->kernel[f->nkernel++] = k;
}

static bool is_const_scalar(const Node *n)
{
        return n->op == OP_CONST && n->attr.literal->count == 1;
}

static int named_axes(const Type *t)
{
        int n = 0;
        for (int i = 0; i < t->rank; i++)
                n += !dim_is_fixed(t->dim[i]);
        return n;
}

/* Tables: values that depend on neither inputs nor lengths, with at most one growing axis.  Tables of reals
 * are precomputed in double; integers and comparisons are exact and cheap to recompute. */
enum { PURE = 1, WORK = 2, NEW_ROWS = 4, ALL_ROWS = 8, TABLE = 16 };

static unsigned precomputable(const Fuse *f, const unsigned *fact, const Node *n)
{
        const Graph *g = f->plan->graph;
        if (n->body != g->top || named_axes(&n->type) > 1)
                return 0;
        if (n->op == OP_CONST)
                return n->attr.literal->iterations == 1 ? PURE | (n->attr.literal->count > 1 ? WORK : 0) : 0;
        if (n->op == OP_INDEX) {
                if (dim_is_fixed(n->type.dim[0]))
                        return dim_is_fixed(n->attr.dim) ? PURE : 0;
                bool shifted = g->past >= 0 && n->attr.dim.per[g->past] == 1;
                return PURE | (shifted ? NEW_ROWS : ALL_ROWS);
        }
        OpFamily family = op_info[n->op].family;
        if (n->nin == 0 || family == STATE || family == CONTROL || n->op == OP_MATMUL || stage_lengths(g, n))
                return 0;
        unsigned all = PURE;
        for (int i = 0; i < n->nin; i++) {
                if (!(fact[n->in[i]->id] & PURE))
                        return 0;
                all |= fact[n->in[i]->id];
        }
        if ((all & NEW_ROWS) && (all & ALL_ROWS))
                return 0;
        bool scalar = type_is_fixed(&n->type) && type_count(&n->type, NULL) == 1;
        if (n->type.dtype == REAL && family != MOVE && !scalar)
                all |= WORK;
        return all & ~(unsigned)TABLE;
}

static bool *find_tables(Fuse *f)
{
        const Uses *u = f->uses;
        unsigned *fact = NEW_ARRAY(f->arena, unsigned, f->plan->graph->nnode);
        bool *table = NEW_ARRAY(f->arena, bool, f->plan->graph->nnode);
        for (int i = 0; i < u->n; i++)
                fact[u->all[i]->id] = precomputable(f, fact, u->all[i]);
        for (int i = 0; i < u->n; i++) {
                Node *n = u->all[i];
                if (!(fact[n->id] & PURE) || !(fact[n->id] & WORK) || is_wide(f->plan->of_node.interval, n))
                        continue;
                for (int k = 0; k < u->nuser[n->id]; k++)
                        table[n->id] |= !(fact[u->user[n->id][k]->id] & PURE);
                table[n->id] |= u->pinned[n->id];
        }
        for (int i = u->n - 1; i >= 0; i--) {
                Node *n = u->all[i];
                f->is_dead[n->id] = (fact[n->id] & PURE) && !u->pinned[n->id];
                for (int k = 0; k < u->nuser[n->id]; k++)
                        f->is_dead[n->id] &=
                                table[u->user[n->id][k]->id] || f->is_dead[u->user[n->id][k]->id];
        }
        return table;
}

bool is_table(const Fuse *f, const Node *n)
{
        return f->table[n->id];
}

/* Marks operands that must be in memory for their readers. */
static void mark_operands(Fuse *f)
{
        for (int i = 0; i < f->uses->n; i++) {
                Node *n = f->uses->all[i];
                if (f->uses->pinned[n->id])
                        f->needs_buffer[n->id] = true;
                switch (n->op) {
                case OP_AMONG: f->needs_buffer[base_of(n->in[0])->id] = true; break;
                case OP_TOP:
                case OP_CHOSEN:
                case OP_ARGMAX:
                case OP_PAD:
                case OP_JOIN:
                        f->needs_buffer[n->id] = true;
                        for (int k = 0; k < n->nin; k++)
                                f->needs_buffer[base_of(n->in[k])->id] = true;
                        break;
                case OP_REPEAT:
                        for (int k = 0; k < n->nin; k++)
                                f->needs_buffer[n->in[k]->id] = true;
                        break;
                case OP_APPEND: f->needs_buffer[n->in[1]->id] = true; break;
                case OP_KEEP: f->needs_buffer[n->in[0]->id] = true; break;
                case OP_GATHER: f->needs_buffer[base_of(n->in[0])->id] = true; break;
                default: break;
                }
        }
}

static void find_scans(Fuse *f)
{
        for (int i = 0; i < f->uses->n; i++) {
                Node *n = f->uses->all[i];
                if (n->op != OP_SCAN)
                        continue;
                f->owner[n->id] = fuse_kernel(f, K_SCAN, n);
                for (int k = 0; k < n->nin; k++)
                        f->needs_buffer[base_of(n->in[k])->id] = true;
        }
}

static void find_products(Fuse *f)
{
        for (int i = 0; i < f->uses->n; i++)
                if (f->uses->all[i]->op == OP_MATMUL && !f->plan->off[PASS_fuse])
                        fuse_attention(f, f->uses->all[i]);
        for (int i = 0; i < f->uses->n; i++) {
                Node *n = f->uses->all[i];
                if (n->op != OP_MATMUL || f->owner[n->id] || fuse_matmul(f, n) || fuse_by_heads(f, n))
                        continue;
                Kernel *k = fuse_kernel(f, K_ACTIVATION_MATMUL, n);
                k->product.x = n->in[0];
                k->product.y = n->in[1];
                f->owner[n->id] = k;
                f->needs_buffer[base_of(k->product.x)->id] = f->needs_buffer[base_of(k->product.y)->id] =
                        true;
                if (!f->plan->off[PASS_fuse] && n->in[0]->op != OP_SOFTMAX)
                        plan_explain(
                                f->plan,
                                "%s: a product of two computed tensors, not attention: its left one is no "
                                "softmax",
                                k->name);
        }
        if (!f->plan->off[PASS_fuse])
                merge_matmuls(f);
}

/* Whether n is cheap to recompute and never worth a buffer; its inputs are decided. */
static bool is_trivial(const Fuse *f, const Node *n)
{
        if (f->table[n->id] || f->needs_buffer[n->id])
                return false;
        if (n->op == OP_INDEX || n->op == OP_SIZE || is_const_scalar(n))
                return true;
        if (op_info[n->op].family != POINT && n->op != OP_VIEW)
                return false;
        if (n->type.dtype == REAL && n->op != OP_VIEW && n->op != OP_REAL_OF && n->op != OP_MUL &&
            n->op != OP_ADD && n->op != OP_SUB && n->op != OP_NEG)
                return false;
        for (int i = 0; i < n->nin; i++)
                if (!f->trivial[n->in[i]->id])
                        return false;
        return true;
}

static void find_trivial(Fuse *f)
{
        for (int i = 0; i < f->uses->n; i++) {
                const Node *n = f->uses->all[i];
                f->trivial[n->id] = is_trivial(f, n);
        }
}

/* In deep chains of nodes one node in a fixed number gets a buffer, since fused expressions are walked by
 * recursion. */
static void cut_towers(Fuse *f)
{
        enum { HIGHEST = 200 };
        int *height = NEW_ARRAY(f->arena, int, f->plan->graph->nnode);
        for (int i = 0; i < f->uses->n; i++) {
                const Node *n = f->uses->all[i];
                for (int k = 0; k < n->nin; k++)
                        if (height[n->in[k]->id] >= height[n->id])
                                height[n->id] = height[n->in[k]->id] + 1;
                bool stored = op_info[n->op].family == STATE || op_info[n->op].family == CONTROL ||
                              n->op == OP_MATMUL;
                f->too_deep[n->id] = f->force_buffer[n->id] = !stored && height[n->id] >= HIGHEST;
                f->plan->of_node.copy[n->id] = f->force_buffer[n->id] && n->op == OP_VIEW;
                if (stored || f->force_buffer[n->id])
                        height[n->id] = 0;
        }
}

/* The only kernel that uses n (through views); NULL: none or several, or one in the body of a repeat around which n is
 * computed: once, not in every iteration.  *viewed: through a view or a broadcast */
static Kernel *sole_user(const Fuse *f, const Node *n, Kernel *found, bool *several, bool *viewed)
{
        for (int i = 0; i < f->uses->nuser[n->id]; i++) {
                Node *user = f->uses->user[n->id][i];
                if (f->table[user->id] || f->is_dead[user->id])
                        continue;
                if (user->body != n->body) {
                        *several = true;
                        continue;
                }
                if (user->op == OP_VIEW && !f->needs_buffer[user->id]) {
                        *viewed = true;
                        found = sole_user(f, user, found, several, viewed);
                        continue;
                }
                Kernel *k = f->owner[user->id];
                if (!k || (found && k != found))
                        *several = true;
                else
                        found = k;
        }
        return found;
}

/* Whether n can be computed inside k's expression. */
static bool can_inline(const Fuse *f, const Node *n, const Kernel *k, bool viewed)
{
        const Type *domain = &k->stores.of[0].node->type;
        if (f->needs_buffer[n->id])
                return false;
        if (k->op == K_ACTIVATION_MATMUL || k->op == K_SELECT || k->op == K_SCAN)
                return false;
        bool is_fold = op_info[n->op].family == REDUCE || n->op == OP_SOFTMAX;
        if (is_fold) {
                if (k->op != K_LOOP || viewed || n->type.rank != domain->rank)
                        return false;
                for (int i = 0; i < n->type.rank - 1; i++)
                        if (!dim_equal(n->type.dim[i], domain->dim[i]))
                                return false;
                return n->op == OP_SOFTMAX
                               ? dim_equal(n->type.dim[n->type.rank - 1], domain->dim[n->type.rank - 1])
                               : n->attr.axis == n->type.rank - 1;
        }
        return op_info[n->op].family == POINT || n->op == OP_GATHER;
}

/* Whether only attention that has the keys as a list reads this mask. */
static bool is_list_only(const Fuse *f, const Node *n, const Node *among)
{
        if (f->needs_buffer[n->id])
                return false;
        for (int i = 0; i < f->uses->nuser[n->id]; i++) {
                const Node *user = f->uses->user[n->id][i];
                const Kernel *k = f->owner[user->id];
                const bool reads = k && k->attention.chosen == among;
                if (!reads && (user->op != OP_VIEW || user->body != n->body || !is_list_only(f, user, among)))
                        return false;
        }
        return true;
}

static bool needs_kernel(const Fuse *f, const Node *n)
{
        if (f->owner[n->id] || f->table[n->id] || f->is_dead[n->id])
                return false;
        switch (op_info[n->op].family) {
        case POINT:
        case REDUCE: return true;
        case CONTRACT:
                return n->op == OP_SOFTMAX || n->op == OP_CHOSEN ||
                       (n->op == OP_AMONG && !is_list_only(f, n, n));
        case MOVE:
                return n->op == OP_GATHER ||
                       (n->op == OP_VIEW && f->needs_buffer[n->id] && f->plan->of_node.copy[n->id]);
        case LEAF:
                return f->needs_buffer[n->id] &&
                       (n->op == OP_INDEX || n->op == OP_SIZE || is_const_scalar(n));
        case STATE:
        case CONTROL: return false;
        }
        return false;
}

static void fuse_groups(Fuse *f)
{
        find_trivial(f);
        for (int i = f->uses->n - 1; i >= 0; i--) {
                Node *n = f->uses->all[i];
                if (!needs_kernel(f, n))
                        continue;
                if (f->trivial[n->id])
                        continue;
                bool several = false, viewed = false;
                Kernel *k = sole_user(f, n, NULL, &several, &viewed);
                if (k && !several && !f->plan->off[PASS_fuse] && can_inline(f, n, k, viewed)) {
                        f->owner[n->id] = k;
                        continue;
                }
                if (!k && !several && !f->needs_buffer[n->id])
                        continue; /* nobody uses it */
                bool select =
                        n->op == OP_TOP || n->op == OP_CHOSEN || n->op == OP_AMONG || n->op == OP_ARGMAX;
                f->owner[n->id] = fuse_kernel(f, select ? K_SELECT : K_LOOP, n);
                f->needs_buffer[n->id] = true;
        }
}

/* Kernels of a body are ordered by their roots. */
static int by_place(const void *a, const void *b)
{
        const Kernel *x = *(Kernel *const *)a, *y = *(Kernel *const *)b;
        return x->order.at != y->order.at ? (x->order.at < y->order.at ? -1 : 1) : 0;
}

static void add_bodies(Plan *p, Body *b)
{
        p->body = arena_grow(p->graph->arena, p->body, p->nbody * (int64_t)sizeof *p->body,
                             (p->nbody + 1) * (int64_t)sizeof *p->body);
        p->body[p->nbody++] = b;
        for (int i = 0; i < b->nnode; i++)
                if (b->node[i]->op == OP_REPEAT)
                        for (int k = 0; k < b->node[i]->attr.region->nbody; k++)
                                add_bodies(p, b->node[i]->attr.region->body[k]);
}

static void add_repeats(Fuse *f)
{
        for (int i = 0; i < f->uses->n; i++) {
                Node *n = f->uses->all[i];
                if (n->op != OP_REPEAT)
                        continue;
                Kernel *k = fuse_kernel(f, K_REPEAT, n);
                f->needs_buffer[n->id] = false; /* its results have buffers, the node has none */
                k->repeat.region = n->attr.region;
                k->name = n->attr.region->name;
                f->owner[n->id] = k;
        }
}

static void put_in_order(Fuse *f)
{
        Plan *p = f->plan;
        const uint64_t *part = entry_parts(f->arena, p->graph);
        for (int i = 0; i < f->nkernel; i++)
                if (f->kernel[i]->order.at == 0) {
                        const Kernel *k = f->kernel[i];
                        int place = f->uses->place[k->stores.of[0].node->id];
                        for (int s = 1; s < k->stores.n; s++) /* parts of a join */
                                if (f->uses->place[k->stores.of[s].node->id] > place)
                                        place = f->uses->place[k->stores.of[s].node->id];
                        f->kernel[i]->order.at = 4 * place + 2;
                }
        p->list = NEW_ARRAY(p->graph->arena, KernelList, p->nbody);
        p->all = (KernelList){.kernel = NEW_ARRAY(p->graph->arena, Kernel *, f->nkernel)};
        for (int i = 0; i < p->nbody; i++) {
                KernelList *l = &p->list[i];
                l->kernel = NEW_ARRAY(p->graph->arena, Kernel *, f->nkernel);
                for (int k = 0; k < f->nkernel; k++)
                        if (f->kernel[k]->body == p->body[i])
                                l->kernel[l->n++] = f->kernel[k];
                qsort(l->kernel, (size_t)l->n, sizeof *l->kernel, by_place);
                memcpy(p->all.kernel + p->all.n, l->kernel, (size_t)l->n * sizeof *l->kernel);
                p->all.n += l->n;
                for (int k = 0; k < l->n && i == 0; k++)
                        l->kernel[k]->part = part[l->kernel[k]->stores.of[0].node->id];
        }
}

/* One attempt.  NULL on success, else a node whose operand needs a buffer. */
static Node *fuse_try(Fuse *f)
{
        Plan *p = f->plan;
        memset(f->owner, 0, (size_t)p->graph->nnode * sizeof *f->owner);
        memcpy(f->needs_buffer, f->force_buffer, (size_t)p->graph->nnode * sizeof *f->needs_buffer);
        f->nkernel = 0;
        p->explained.n = f->explained;
        p->nbuffer = 0;
        p->of_node.value = NEW_ARRAY(p->graph->arena, Buffer *, p->graph->nnode);
        mark_operands(f);
        find_products(f);
        find_scans(f);
        fuse_groups(f);
        add_repeats(f);
        window_caches(f);
        layout(f);
        if (!p->off[PASS_conditional])
                conditional_iterations(f);
        put_in_order(f);
        for (int i = 0; i < p->all.n; i++) {
                f->stuck = p->all.kernel[i];
                Node *stuck = lower(p, f->stuck);
                if (stuck)
                        return stuck;
        }
        return NULL;
}

/* Whether the outermost loop of a kernel of this kind is over the new positions of the value that it stores.
 * A single loop, over positions in lanes, belongs to K_LOOP; heads of a product, and loops around the rows of
 * attention, are not loops over rows. */
bool walks_time(const Plan *p, const Kernel *k, const Node *stored)
{
        const Domain d = domain_of(p->graph, &stored->type);
        const bool loop = !k || k->op == K_LOOP;
        if (!loop && k->op == K_MATMUL && k->product.segment[0].product[0]->in[1]->type.rank > 2)
                return false;
        if (!loop && k->op == K_ATTENTION && d.loop[0].axis != stored->type.rank - 2)
                return false;
        return d.n >= (loop ? 1 : 2) && dim_equal(d.loop[0].size, dim_named(p->graph->time));
}

static bool all_walk_time(const Plan *p, const Kernel *k)
{
        for (int i = k->op == K_MATMUL ? k->stores.n : 0; i < k->stores.n + k->product.nsegment; i++)
                if (!walks_time(p, k,
                                i < k->stores.n ? k->stores.of[i].node
                                                : k->product.segment[i - k->stores.n].store.node))
                        return false;
        return !k->kept; /* a state for the next call needs all rows */
}

static bool only_requested_touch(const Plan *p, const Kernel *writer, const Buffer *b)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                if (k != writer && k->rows != ROWS_REQUESTED &&
                    (code_reads(k->code, b) || code_writes(k->code, b)))
                        return false;
        }
        return true;
}

/* Kernels that only requested outputs need compute only the requested rows, such as the head of a language
 * model in prefill. */
static void mark_requested(Plan *p)
{
        for (int i = p->list[0].n - 1; i >= 0 && p->graph->past >= 0; i--) {
                Kernel *k = p->list[0].kernel[i];
                if (k->rows == ROWS_AT_START)
                        continue;
                bool requested = all_walk_time(p, k);
                for (int s = 0; s < k->stores.n + k->product.nsegment && requested; s++) {
                        if (k->op == K_MATMUL && s < k->stores.n)
                                continue;
                        const Buffer *to =
                                whole_buffer(s < k->stores.n ? k->stores.of[s].to
                                                             : k->product.segment[s - k->stores.n].store.to);
                        requested = to->home == IN_OUTPUT ||
                                    (to->home == IN_ARENA && only_requested_touch(p, k, to));
                }
                k->rows = requested ? ROWS_REQUESTED : ROWS_ALL;
        }
}

/* Prepares the next attempt after a failure at a node: the node gets a buffer, or its kernel is split.
 * Attention gets copies of all operands that its kernel can't read before it is split into several kernels.
 * With copies nothing depends on the layout of other buffers, so that a graph has the same attention kernels,
 * and bits, in all plans.  False: nothing is left to try. */
static bool relieve(Fuse *f, Node *stuck)
{
        const Kernel *k = f->stuck;
        const Node *root = k->op == K_MATMUL ? k->product.segment[0].product[0] : k->stores.of[0].node;
        bool *next = k->op == K_ATTENTION ? f->split : k->op == K_MATMUL ? f->bare : f->plan->of_node.single;
        const bool within = k->op == K_ATTENTION && is_part_of_scores(f, root, stuck);
        if (!within && !f->force_buffer[stuck->id]) {
                f->force_buffer[stuck->id] = true;
                f->plan->of_node.copy[stuck->id] = stuck->op == OP_VIEW;
                return true;
        }
        if (next[root->id])
                return false;
        return next[root->id] = true;
}

/* Sets the maximum number of rows of a call: a chunk, at least one row per slot and at most all positions of
 * all slots; for a model that is not causal, at least a whole sequence. */
static void bound_calls(Plan *p, int64_t chunk)
{
        const Graph *g = p->graph;
        const int size = varying_size(g);
        for (int i = 0; i < g->nnamed; i++)
                p->bound[i] = g->named[i].bound;
        for (int i = 0; i < g->nalong; i++)
                p->bound[NAMED_ALONG + i] = dim_bound(g, g->along[i].count) - 1;
        chunk -= g->block ? chunk % g->block : 0; /* pieces of a call end with a block */
        p->chunk = chunk > p->slots ? chunk : p->slots;
        if (size < 0)
                return;
        int64_t whole = g->named[size].bound, least = g->past < 0 ? whole : 0, all = p->slots * whole;
        p->rows = p->chunk > least ? p->chunk : least;
        p->rows = p->rows < all ? p->rows : all;
        if (g->past < 0)
                return;
        int64_t max_pages = p->slots * page_blocks(p);
        p->pages = p->pages < max_pages ? p->pages : max_pages;
        p->bound[g->time] = p->rows;
}

Plan *plan_new(Arena *a, Graph *g, const char *c_name, const Target *target, int64_t chunk, int slots,
               int64_t rewind, int64_t pages, const bool *off)
{
        Plan *p = NEW(a, Plan);
        p->graph = g;
        p->c_name = c_name;
        p->target = target;
        p->slots = slots > 1 ? slots : 1;
        p->rewind = rewind;
        p->pages = slots > 1 ? pages : 0;
        p->off = off;
        bound_calls(p, chunk);
        name_for_c(g, c_name, slots > 1);
        add_bodies(p, g->top);
        return p;
}

static Fuse fuse_new(Plan *p)
{
        const Graph *g = p->graph;
        Arena *a = g->arena;
        Fuse f = {.arena = a, .plan = p, .uses = uses_of(a, g), .explained = p->explained.n};
        f.owner = NEW_ARRAY(a, Kernel *, g->nnode);
        f.needs_buffer = NEW_ARRAY(a, bool, g->nnode);
        f.force_buffer = NEW_ARRAY(a, bool, g->nnode);
        f.too_deep = NEW_ARRAY(a, bool, g->nnode);
        p->of_node.copy = NEW_ARRAY(a, bool, g->nnode);
        p->of_node.single = NEW_ARRAY(a, bool, g->nnode);
        f.split = NEW_ARRAY(a, bool, g->nnode);
        f.bare = NEW_ARRAY(a, bool, g->nnode);
        f.is_dead = NEW_ARRAY(a, bool, g->nnode);
        f.trivial = NEW_ARRAY(a, bool, g->nnode);
        f.called = NEW_ARRAY(a, const char *, g->nnode);
        p->of_node.interval = intervals_of(a, g);
        f.table = find_tables(&f);
        cut_towers(&f);
        return f;
}

bool pass_fuse(Plan *p, Diag *diag)
{
        Fuse f = fuse_new(p);
        for (Node *unreadable; (unreadable = fuse_try(&f));)
                if (!relieve(&f, unreadable)) {
                        diag_error(diag, unreadable->span, "no code can be made for this %s %s",
                                   op_info[unreadable->op].text,
                                   type_text(p->graph->arena, p->graph, &unreadable->type));
                        note_instances(diag, unreadable->where);
                        return false;
                }
        mark_requested(p);
        explain_storage(p);
        return true;
}
