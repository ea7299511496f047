/* Matrix products with weights, and their epilogues.
 *
 *   y = x @ w'      -> MATMUL; the expression grows from y through elementwise nodes as long as only one value leaves it:
 *   r = y + b          bias, activation, residual
 *   g = silu(x @ a') * (x @ b')       two products of one x in one expression are computed together (gate and up)
 *   q, k, v of one x                  products of one x become segments of one kernel (merged QKV) */
#include "plan_private.h"

static bool is_product_of(const Fuse *f, const Node *n, const Node *x, const Type *t)
{
        int axis;
        return n->op == OP_MATMUL && n->in[0] == x && same_dims(&n->type, t) && !f->owner[n->id] &&
               !f->bare[n->id] && !f->needs_buffer[n->id] && product_weight(n->in[1], &axis);
}

enum { MAX_VISITED = 64 }; /* maximum number of nodes visited in search of an expression's end */

typedef struct {
        Node **node, *root;
        int n;
        Node *product[2];
        int nproduct;
        bool alone; /* no second product */
} FuseGrowth;

static bool growth_is_within(const FuseGrowth *s, const Node *n)
{
        for (int i = 0; i < s->n; i++)
                if (s->node[i] == n)
                        return true;
        return false;
}

static bool can_join(const Fuse *f, const FuseGrowth *s, const Node *n, const Type *t)
{
        return n->body == s->node[0]->body && op_info[n->op].family == POINT && n->op != OP_TOP &&
               same_dims(&n->type, t) && !f->owner[n->id];
}

/* Whether n is a product of x, or computed from one by elementwise nodes that can be part of the
 * expression. */
static bool reaches_product(const Fuse *f, const FuseGrowth *s, const Node *n, const Type *t, int depth)
{
        if (is_product_of(f, n, s->product[0]->in[0], t))
                return n->body == s->node[0]->body;
        if (!can_join(f, s, n, t) || depth > 8)
                return false;
        for (int i = 0; i < n->nin; i++)
                if (reaches_product(f, s, n->in[i], t, depth + 1))
                        return true;
        return false;
}

/* Adds a second product that n needs, and the nodes between.  False: n needs a third, or there are too many
 * nodes. */
static bool take_products(const Fuse *f, FuseGrowth *s, const Node *n, const Type *t)
{
        for (int i = 0; i < n->nin; i++) {
                Node *in = n->in[i];
                if (growth_is_within(s, in) || !reaches_product(f, s, in, t, 0))
                        continue;
                if (in->op == OP_MATMUL && (s->alone || s->nproduct == 2))
                        return false;
                if (in->op == OP_MATMUL)
                        s->product[s->nproduct++] = in;
                else if (!take_products(f, s, in, t))
                        return false;
                if (s->n > MAX_VISITED)
                        return false;
                s->node[s->n++] = in;
        }
        return true;
}

/* The only node in s with users outside; NULL: there are several. */
static Node *exit_of(const Fuse *f, const FuseGrowth *s)
{
        Node *exit = NULL;
        for (int i = 0; i < s->n; i++) {
                Node *n = s->node[i];
                bool leaves = f->uses->pinned[n->id] || f->uses->nuser[n->id] == 0;
                for (int k = 0; k < f->uses->nuser[n->id]; k++)
                        leaves |= !growth_is_within(s, f->uses->user[n->id][k]);
                if (leaves && exit)
                        return NULL;
                if (leaves)
                        exit = n;
        }
        return exit;
}

/* Adds the first node, in order, that uses a node of s and can be part of the expression; false: none. */
static bool growth_grow(const Fuse *f, FuseGrowth *s, const Type *t)
{
        Node *first = NULL;
        for (int i = 0; i < s->n; i++)
                for (int k = 0; k < f->uses->nuser[s->node[i]->id]; k++) {
                        Node *user = f->uses->user[s->node[i]->id][k];
                        bool sooner = !first || f->uses->place[user->id] < f->uses->place[first->id];
                        if (sooner && !growth_is_within(s, user) && can_join(f, s, user, t))
                                first = user;
                }
        if (!first || s->n > MAX_VISITED || !take_products(f, s, first, t))
                return false;
        s->node[s->n++] = first;
        return true;
}

/* The expression of a product. */
static FuseGrowth grown_from(const Fuse *f, Node *product, bool alone)
{
        FuseGrowth s = {.node = NEW_ARRAY(f->arena, Node *, MAX_VISITED + 4),
                        .n = 1,
                        .product = {product},
                        .nproduct = 1,
                        .alone = alone};
        s.node[0] = s.root = product;
        FuseGrowth done = s;
        while (!f->plan->off[PASS_fuse] && !f->bare[product->id] && !f->needs_buffer[done.root->id] &&
               growth_grow(f, &s, &product->type)) {
                s.root = exit_of(f, &s);
                if (s.root)
                        done = s;
        }
        return done;
}

static const Weight *factor(const FuseGrowth *s, int i)
{
        return base_of(s->product[i]->in[1])->attr.weight;
}

/* Whether another body of the repeat has an unpaired product with one of the two weights, which would then be
 * packed twice.  Nodes that only taps need do not count, since taps change no kernel. */
static bool stands_alone_elsewhere(const Fuse *f, const FuseGrowth *s)
{
        for (int i = 0; i < f->uses->n; i++) {
                Node *n = f->uses->all[i];
                int axis;
                if (n->op != OP_MATMUL || growth_is_within(s, n) || !product_weight(n->in[1], &axis) ||
                    f->plan->graph->wanted[n->id] == WANTED_BY_TAPS)
                        continue;
                const Weight *w = base_of(n->in[1])->attr.weight;
                if (w != factor(s, 0) && w != factor(s, 1))
                        continue;
                const Kernel *k = f->owner[n->id];
                if (k ? k->op == K_MATMUL && k->product.segment[0].nproduct == 1
                      : grown_from(f, n, false).nproduct == 1)
                        return true;
        }
        return false;
}

/* Whether two weights have their slots in the same iterations, so that slots can be packed in pairs.  Weights of which only one is
 * split by types (passes/mixture.c) have not. */
static bool have_same_slots(const Weight *a, const Weight *b)
{
        int64_t iterations = 1;
        bool same = a->nregion == b->nregion && a->slots == b->slots;
        for (int r = 0; r < a->nregion && same; r++) {
                same = a->region[r] == b->region[r];
                iterations *= a->region[r]->iterations;
        }
        for (int64_t i = 0; i < iterations && same && a->nregion; i++)
                same = a->slot_of[i] == b->slot_of[i];
        return same;
}

/* Whether the two products of an expression may run together. */
static bool can_pair(const Fuse *f, const FuseGrowth *s)
{
        const Weight *a = factor(s, 0), *b = factor(s, 1);
        return a->storage == b->storage && have_same_slots(a, b) && !stands_alone_elsewhere(f, s);
}

bool fuse_matmul(Fuse *f, Node *product)
{
        int axis;
        if (!product_weight(product->in[1], &axis))
                return false;
        FuseGrowth s = grown_from(f, product, false);
        if (s.nproduct == 2 && !can_pair(f, &s))
                s = grown_from(f, product, true);
        Kernel *k = fuse_kernel(f, K_MATMUL, s.root);
        Segment *segment = NEW(f->arena, Segment);
        segment->nproduct = s.nproduct;
        segment->n = product->type.dim[product->type.rank - 1].fixed;
        segment->store.node = s.root;
        for (int i = 0; i < s.nproduct; i++)
                segment->product[i] = s.product[i];
        for (int i = 0; i < s.n; i++)
                f->owner[s.node[i]->id] = k;
        k->product.segment = segment;
        k->product.nsegment = 1;
        name_kernel(f, k);
        segment->name = arena_printf(f->arena, "%s_epilogue", k->name);
        k->product.x = product->in[0];
        k->product.k = product->in[1]->type.dim[0].fixed;
        f->needs_buffer[base_of(k->product.x)->id] = true;
        if (s.nproduct == 2)
                plan_explain(f->plan, "%s: two products of one operand share an epilogue and run together",
                             k->name);
        int more = s.n - s.nproduct;
        if (more > 0)
                plan_explain(f->plan, "%s: %d elementwise node%s on the product's registers", k->name, more,
                             more == 1 ? "" : "s");
        return true;
}

/* A product with a weight viewed by heads, whose parts are separate panels: whole panels if heads divide the
 * outputs; parts of one width side by side if they divide the summed axis. */
bool fuse_by_heads(Fuse *f, Node *product)
{
        WeightByHeads w;
        if (f->bare[product->id] || !weight_by_heads(product->in[1], &w))
                return false;
        int64_t unit = w.is_depth ? w.depth : LANES, parts = w.weight->type.dim[w.axis].fixed;
        bool even = w.first % unit == 0 && (!w.is_depth || parts % unit == 0);
        for (int i = 0; i < product->in[1]->type.rank - 2; i++)
                even &= w.step[i] % unit == 0;
        if (!even)
                return false;
        Kernel *k = fuse_kernel(f, K_MATMUL, product);
        Segment *segment = NEW(f->arena, Segment);
        *segment = (Segment){.product = {product}, .nproduct = 1, .n = w.outputs, .store = {.node = product}};
        f->owner[product->id] = k;
        k->product.segment = segment;
        k->product.nsegment = 1;
        name_kernel(f, k);
        segment->name = arena_printf(f->arena, "%s_epilogue", k->name);
        k->product.x = product->in[0];
        k->product.k = w.depth;
        f->needs_buffer[base_of(k->product.x)->id] = true;
        plan_explain(f->plan, "%s: a product with a weight by heads", k->name);
        return true;
}

/* Whether all inputs of k's expression are computed before node `before` in its body. */
static bool ready_before(const Fuse *f, const Kernel *k, const Node *before)
{
        for (int i = 0; i < f->uses->n; i++) {
                Node *n = f->uses->all[i];
                if (f->owner[n->id] != k)
                        continue;
                for (int j = 0; j < n->nin; j++) {
                        Node *in = n->in[j];
                        if (f->owner[in->id] == k || in->op == OP_WEIGHT || base_of(in)->op == OP_WEIGHT ||
                            is_table(f, in) || in->body != before->body || base_of(in)->op == OP_CARRY)
                                continue;
                        if (f->uses->place[in->id] >= f->uses->place[before->id])
                                return false;
                }
        }
        return true;
}

static bool can_merge(const Fuse *f, const Kernel *a, const Kernel *b)
{
        if (f->uses->pinned[a->stores.of[0].node->id] || f->uses->pinned[b->stores.of[0].node->id])
                return false;
        if (a->op != K_MATMUL || b->op != K_MATMUL ||
            a->product.segment[0].product[0]->in[1]->type.rank > 2 ||
            b->product.segment[0].product[0]->in[1]->type.rank > 2 ||
            (a->wanted == WANTED_BY_TAPS) != (b->wanted == WANTED_BY_TAPS))
                return false;
        const Node *first = a->product.segment[0].store.node, *second = b->product.segment[0].store.node;
        return a->product.x == b->product.x && a->body == b->body && a->product.segment[0].nproduct == 1 &&
               b->product.segment[0].nproduct == 1 &&
               f->uses->place[first->id] < f->uses->place[second->id] && ready_before(f, b, first);
}

/* Merges independent products of one operand into one kernel, run at the position of the first.  The second
 * comes after it, so that the first can't read its result. */
void merge_matmuls(Fuse *f)
{
        for (int i = 0; i < f->nkernel; i++) {
                Kernel *a = f->kernel[i];
                for (int j = i + 1; a && j < f->nkernel; j++) {
                        Kernel *b = f->kernel[j];
                        if (!b || !can_merge(f, a, b))
                                continue;
                        Segment *all =
                                NEW_ARRAY(f->arena, Segment, a->product.nsegment + b->product.nsegment);
                        for (int k = 0; k < a->product.nsegment; k++)
                                all[k] = a->product.segment[k];
                        for (int k = 0; k < b->product.nsegment; k++)
                                all[a->product.nsegment + k] = b->product.segment[k];
                        a->wanted |= b->wanted;
                        a->product.segment = all;
                        a->product.nsegment += b->product.nsegment;
                        for (int k = 0; k < f->uses->n; k++)
                                if (f->owner[f->uses->all[k]->id] == b)
                                        f->owner[f->uses->all[k]->id] = a;
                        plan_explain(f->plan, "%s: merged with %s: products of one operand", b->name,
                                     a->name);
                        f->kernel[j] = NULL;
                        name_kernel(f, a);
                }
        }
        int n = 0;
        for (int i = 0; i < f->nkernel; i++)
                if (f->kernel[i])
                        f->kernel[n++] = f->kernel[i];
        f->nkernel = n;
}
