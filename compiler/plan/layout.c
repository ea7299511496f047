/* Layout: gives every value in memory a buffer and the strides of its elements.
 *
 * Rows of `time` are the outermost axis.  A value that becomes part of a join, a state, an output or the next
 * iteration of a repeat is computed in place there if possible ("joins written side by side"); else a copy is
 * added.  Weights that products read are tiled in panels of 16 outputs, keys that attention reads in tiles of
 * 16 positions. */
#include <inttypes.h>

#include "plan_private.h"

#include <stdlib.h>

enum { LINE = 64 }; /* bytes of a cache line: buffers begin at one */

Buffer *buffer_new(Plan *p, Home home, const Type *t, const char *name)
{
        Buffer *b = NEW(p->graph->arena, Buffer);
        b->home = home;
        b->type = *t;
        b->name = name;
        b->id = p->nbuffer;
        b->slots = 1;
        b->shift_axis = b->layout.tiled = b->cache = -1;
        GROW(p->graph->arena, p->buffer, p->nbuffer, p->cap_buffer);
        return p->buffer[p->nbuffer++] = b;
}

Storage storage_of(const Plan *p, const Node *n)
{
        return is_wide(p->of_node.interval, n) ? STORAGE_F64 : STORAGE_F32;
}

/* Number of elements along an axis for which the buffer has room. */
static int64_t layout_extent(const Plan *p, const Buffer *b, int axis)
{
        if (axis == b->shift_axis && b->paged)
                return p->pages * PAGE_POSITIONS;
        return b->cache >= 0 && axis == b->shift_axis ? p->windows.cache[b->cache].size
                                                      : bound_of(p, b->type.dim[axis]);
}

/* Whether each index of axis 0 is stored separately: its bytes are whole cache lines, and its elements whole
 * groups that share a scale. */
static void lay_apart(Buffer *b)
{
        const int64_t block = b->storage == STORAGE_Q8 ? b->group * (b->layout.tiled >= 0 ? LANES : 1)
                                                       : INT64_C(2) * LANES; /* of halves */
        b->size = round_up(b->size, block);
        while (buffer_size(b, b->size) % LINE)
                b->size += block;
        b->layout.stride[0] = b->size;
        b->size *= b->type.dim[0].fixed;
}

void layout_buffer(const Plan *p, Buffer *b, int tiled)
{
        enum { LAST, FIXED, NAMED, KINDS };
        const Type *t = &b->type;
        b->layout = (Layout){.rank = t->rank, .tiled = tiled};
        int64_t stride = tiled >= 0 ? LANES : 1;
        for (int kind = LAST; kind < KINDS; kind++)
                for (int a = t->rank - 1; a >= b->per_head; a--) {
                        int own = a == t->rank - 1 ? LAST : dim_is_fixed(t->dim[a]) ? FIXED : NAMED;
                        if (own != kind || a == tiled)
                                continue;
                        b->layout.stride[a] = stride;
                        stride *= layout_extent(p, b, a);
                }
        b->size = stride;
        if (tiled >= 0) {
                b->layout.tile = stride;
                b->size = stride * (round_up(layout_extent(p, b, tiled), LANES) / LANES);
        }
        if (b->per_head)
                lay_apart(b);
        b->size = round_up(buffer_size(b, round_up(b->size, LANES)), LINE);
}

static const char *value_name(const Plan *p, const Node *n)
{
        const char *name = n->name;
        for (const Instance *i = n->where; i; i = i->outer)
                name = name ? arena_printf(p->graph->arena, "%s.%s", i->name, name) : i->name;
        return name ? name : op_info[n->op].text;
}

/* --- keys -------------------------------------------------------------------------------------------------- */

/* The axis that counts positions in the tensor under attention's keys; -1: no affine index. */
static int key_axis(const Plan *p, Node *keys, Node **base)
{
        Domain d;
        Map m;
        if (!map_operand(p, keys, &d, &m, base))
                return -1;
        int j = d.n - 1;
        for (int a = 0; a < m.rank; a++)
                if (m.axis[a].coef[j] == 1 && dim_is(m.axis[a].offset, 0))
                        return a;
        return -1;
}

/* Whether both are in the same memory. */
static bool lie_together(const Node *a, const Node *b)
{
        return a == b || (a->op == OP_KEPT && b->op == OP_KEPT && a->attr.state == b->attr.state) ||
               (a->op == OP_WEIGHT && b->op == OP_WEIGHT && a->attr.weight == b->attr.weight);
}

/* Whether the keys under `base` are also the values of some attention.  Then they are stored in rows. */
static bool is_values(const Fuse *f, const Node *base)
{
        for (int i = 0; i < f->nkernel; i++) {
                const Node *v = f->kernel[i]->attention.v;
                while (v && v->op == OP_VIEW && !f->plan->of_node.copy[v->id])
                        v = v->in[0];
                if (f->kernel[i]->op == K_ATTENTION && lie_together(v, base))
                        return true;
        }
        return false;
}

/* Whether some attention reads single ones of these keys.  Then they are stored in rows. */
static bool is_chosen_from(const Fuse *f, const Node *base)
{
        for (int i = 0; i < f->nkernel; i++) {
                Node *keys = NULL;
                if (f->kernel[i]->op == K_ATTENTION && f->kernel[i]->attention.chosen &&
                    key_axis(f->plan, f->kernel[i]->attention.k, &keys) >= 0 && lie_together(keys, base))
                        return true;
        }
        return false;
}

/* Whether k must store n in rows, not in tiles along the axis.  A product with a weight computes its columns
 * in lanes, and stores the columns of a row contiguously. */
bool writes_rows(const Kernel *k, const Node *n, int axis)
{
        return k && (k->op == K_ACTIVATION_MATMUL || k->op == K_ATTENTION || k->op == K_SCAN ||
                     k->op == K_SELECT || (k->op == K_MATMUL && axis == n->type.rank - 1));
}

/* By id: the axis in which a value is tiled because only attention reads it, as keys; -1: it is stored in
 * rows. */
static int *find_tiled_keys(const Fuse *f)
{
        int *tiled = NEW_ARRAY(f->arena, int, f->plan->graph->nnode);
        for (int i = 0; i < f->plan->graph->nnode; i++)
                tiled[i] = -1;
        for (int i = 0; i < f->nkernel; i++) {
                Node *base;
                if (f->kernel[i]->op != K_ATTENTION)
                        continue;
                int axis = key_axis(f->plan, f->kernel[i]->attention.k, &base);
                if (axis >= 0 && is_for_attention(f, base, true) && !is_values(f, base) &&
                    !is_chosen_from(f, base) && !writes_rows(f->owner[base->id], base, axis))
                        tiled[base->id] = axis;
        }
        return tiled;
}

/* --- weights, tables, inputs --------------------------------------------------------------------------- */

static Buffer *weight_buffer(Plan *p, Weight *w, Storage storage, int tiled)
{
        Buffer *b = buffer_new(p, IN_WEIGHTS, &w->type, w->path);
        b->storage = storage;
        layout_buffer(p, b, tiled);
        b->weight = w;
        b->slots = w->slots;
        b->slot_stride = b->size;
        b->slot_of = w->slots == 1 && !w->nregion ? NULL : w->slot_of;
        b->region = w->nregion ? w->region[w->nregion - 1] : NULL;
        return b;
}

static Buffer *find_weight(const Plan *p, const Weight *w, bool tiled, int axis)
{
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                if (b->weight == w && b->type.rank == w->type.rank && (b->layout.tiled >= 0) == tiled &&
                    (!tiled || b->layout.tiled == axis) && !b->part_of)
                        return b;
        }
        return NULL;
}

static int outputs_axis(const Node *w)
{
        return w->op == OP_VIEW ? 0 : 1;
}

static Weight *factor_of(const Segment *s, int i)
{
        return base_of(s->product[i]->in[1])->attr.weight;
}

/* Another body of the repeat may have the same two products. */
static bool find_pair(const Plan *p, Segment *s)
{
        for (int i = 0; i + 1 < p->nbuffer; i++) {
                Buffer *const *half = p->buffer + i;
                if (!half[0]->part_of || half[0]->part_of != half[1]->part_of)
                        continue;
                bool same = true;
                for (int k = 0; k < 2; k++)
                        same &= half[k]->weight == factor_of(s, k) &&
                                half[k]->layout.tiled == outputs_axis(s->product[k]->in[1]);
                if (!same)
                        continue;
                s->w[0] = half[0];
                s->w[1] = half[1];
                return true;
        }
        return false;
}

/* Two products computed together: their panels alternate in one record. */
static void pair_weights(Plan *p, Segment *s)
{
        if (find_pair(p, s))
                return;
        Storage storage = factor_of(s, 0)->storage;
        Buffer *pair = weight_buffer(p, factor_of(s, 0), storage, outputs_axis(s->product[0]->in[1]));
        pair->size = pair->slot_stride = 2 * pair->size;
        pair->layout.tile *= 2;
        pair->weight = NULL; /* its halves are the weights */
        for (int i = 0; i < 2; i++) {
                s->w[i] = weight_buffer(p, factor_of(s, i), storage, outputs_axis(s->product[i]->in[1]));
                s->w[i]->part_of = pair;
                s->w[i]->layout.offset = i * s->w[i]->layout.tile;
                s->w[i]->layout.tile *= 2;
                s->w[i]->slot_stride = pair->slot_stride;
                s->w[i]->size = 0;
        }
}

/* Explains where a weight can't have the blocks that --quant asks for. */
void explain_storage(Plan *p)
{
        for (int i = 0; i < p->graph->nweight; i++) {
                const Weight *w = p->graph->weight[i];
                const StorageInfo *asked = &storage_info[w->asked];
                if (w->asked == w->storage)
                        continue;
                if (w->contracted < 0)
                        plan_explain(
                                p, "%s: %s in place of %s: products do not sum over exactly one of its axes",
                                w->path, storage_info[w->storage].text, asked->text);
                else
                        plan_explain(p, "%s: %s in place of %s, whose blocks of %d do not divide %" PRId64,
                                     w->path, storage_info[w->storage].text, asked->text,
                                     storage_steps(w->asked), w->type.dim[w->contracted].fixed);
        }
}

/* A weight split along the summed axis, [parts, depth, outputs] or [outputs, parts, depth]: the panels of a
 * part are consecutive. */
static Buffer *parts_of_depth(Plan *p, const WeightByHeads *h)
{
        Weight *w = h->weight->attr.weight;
        int parts = h->axis, outputs = h->axis == 0 ? 2 : 0;
        Type t = {.dtype = REAL, .rank = 3};
        t.dim[parts] = dim_fixed(w->type.dim[h->axis].fixed / h->depth);
        t.dim[parts + 1] = dim_fixed(h->depth);
        t.dim[outputs] = dim_fixed(h->outputs);
        for (int i = 0; i < p->nbuffer; i++)
                if (p->buffer[i]->weight == w && type_equal(&p->buffer[i]->type, &t))
                        return p->buffer[i];
        Buffer *b = weight_buffer(p, w, is_in_blocks(w->storage) ? STORAGE_F32 : w->storage, -1);
        b->type = t;
        b->layout = (Layout){.rank = 3, .tiled = outputs, .tile = h->depth * LANES};
        b->layout.stride[parts + 1] = LANES;
        b->layout.stride[parts] = round_up(h->outputs, LANES) * h->depth;
        b->size = b->slot_stride =
                round_up(buffer_size(b, t.dim[parts].fixed * b->layout.stride[parts]), LINE);
        return b;
}

static Buffer *weight_of_heads(Plan *p, const WeightByHeads *h)
{
        Weight *w = h->weight->attr.weight;
        Buffer *b = h->is_depth ? parts_of_depth(p, h) : find_weight(p, w, true, h->axis);
        return b && !is_in_blocks(b->storage)
                       ? b
                       : weight_buffer(p, w, is_in_blocks(w->storage) ? STORAGE_F32 : w->storage, h->axis);
}

static void lay_product_weights(Plan *p, Kernel *k)
{
        for (int i = 0; i < k->product.nsegment; i++) {
                Segment *s = &k->product.segment[i];
                WeightByHeads heads;
                if (weight_by_heads(s->product[0]->in[1], &heads)) {
                        s->w[0] = weight_of_heads(p, &heads);
                        continue;
                }
                if (s->nproduct == 2) {
                        pair_weights(p, s);
                        continue;
                }
                int axis = outputs_axis(s->product[0]->in[1]);
                s->w[0] = find_weight(p, factor_of(s, 0), true, axis);
                if (!s->w[0])
                        s->w[0] = weight_buffer(p, factor_of(s, 0), factor_of(s, 0)->storage, axis);
        }
}

static bool operand_is_weight(Node *operand, const Weight *w)
{
        const Node *base = operand ? base_of(operand) : NULL;
        return base && base->op == OP_WEIGHT && base->attr.weight == w;
}

/* Whether a runtime kernel reads the weight other than as a product's right operand: then it must be
 * floats. */
static bool weight_is_operand(const Fuse *f, const Weight *w)
{
        for (int i = 0; i < f->nkernel; i++) {
                const Kernel *k = f->kernel[i];
                if (operand_is_weight(k->product.x, w) || operand_is_weight(k->product.y, w) ||
                    operand_is_weight(k->attention.q, w) ||
                    (k->op == K_SELECT && operand_is_weight(k->stores.of[0].node->in[0], w)))
                        return true;
        }
        return false;
}

/* A weight that no product has packed.  Its blocks have the layout that products need. */
static Buffer *layout_weight(const Fuse *f, const Node *n)
{
        Weight *w = n->attr.weight;
        bool wide = weight_is_operand(f, w) || (is_in_blocks(w->storage) && f->force_buffer[n->id]);
        Storage storage = wide ? STORAGE_F32 : w->storage;
        return weight_buffer(f->plan, w, storage, is_in_blocks(storage) ? 1 - w->contracted : -1);
}

/* Whether a weight is the keys or the values of attention. */
static bool is_attended(const Fuse *f, const Weight *w)
{
        for (int i = 0; i < f->nkernel; i++)
                if (operand_is_weight(f->kernel[i]->attention.k, w) ||
                    operand_is_weight(f->kernel[i]->attention.v, w))
                        return true;
        return false;
}

/* A weight in the tiles of keys, which are the panels of a product's weights, or in rows. */
static Buffer *attended_weight(const Fuse *f, Weight *w, int tiled)
{
        Buffer *b = find_weight(f->plan, w, tiled >= 0, tiled);
        return b ? b : weight_buffer(f->plan, w, w->storage, tiled);
}

static void lay_leaf(Fuse *f, Node *n, const int *tiled)
{
        Plan *p = f->plan;
        Node *same = p->graph->stands_for ? p->graph->stands_for[n->id] : NULL;
        if (same && n->op != OP_WEIGHT && f->table[same->id] == f->table[n->id]) {
                lay_leaf(f, same, tiled);
                p->of_node.value[n->id] = p->of_node.value[same->id];
        } else if (p->of_node.value[n->id]) {
                return;
        } else if (n->op == OP_WEIGHT && is_attended(f, n->attr.weight)) {
                p->of_node.value[n->id] = attended_weight(f, n->attr.weight, tiled[n->id]);
        } else if (n->op == OP_WEIGHT) {
                Buffer *b = find_weight(p, n->attr.weight, false, -1);
                for (int axis = 0; !b && !f->force_buffer[n->id] && axis < n->type.rank; axis++)
                        b = find_weight(p, n->attr.weight, true, axis);
                p->of_node.value[n->id] = b ? b : layout_weight(f, n);
        } else if (f->table[n->id]) {
                const char *name = value_name(p, n);
                if (!n->name)
                        name = arena_printf(p->graph->arena, "%s.%s", name, op_info[n->op].text);
                Buffer *b = buffer_new(p, IN_WEIGHTS, &n->type, name);
                const Graph *g = p->graph;
                for (int a = 0; a < n->type.rank; a++)
                        if (g->past >= 0 && n->type.dim[a].per[g->time] && !n->type.dim[a].per[g->past]) {
                                b->shift_axis = a;
                                b->shift = dim_named(g->past);
                                b->type.dim[a] = dim_add(n->type.dim[a], dim_named(g->past));
                        }
                layout_buffer(p, b, -1);
                b->table = n;
                b->size += storage_size(b->storage, LANES);
                b->slot_stride = b->size;
                p->of_node.value[n->id] = b;
        } else if (n->op == OP_CONST && n->attr.literal->count > 1) {
                Buffer *b = buffer_new(p, IN_LITERAL, &n->type, n->name ? n->name : "values");
                b->storage = storage_of(p, n);
                layout_buffer(p, b, -1);
                b->table = n;
                b->slots = n->attr.literal->iterations;
                b->slot_stride = b->size = storage_size(b->storage, round_up(n->attr.literal->count, LANES));
                b->region = n->attr.literal->iterations > 1 ? n->body->region : NULL;
                p->of_node.value[n->id] = b;
        }
}

/* Whether a weight is used other than as a product's right operand. */
static bool read_by_expression(const Fuse *f, const Node *n)
{
        for (int i = 0; i < f->uses->nuser[n->id]; i++) {
                const Node *user = f->uses->user[n->id][i];
                if (user->op == OP_VIEW ? read_by_expression(f, user)
                                        : user->op != OP_MATMUL || user->in[1] != n)
                        return true;
                if (user->op == OP_MATMUL && f->owner[user->id]->op != K_MATMUL)
                        return true;
        }
        return f->uses->pinned[n->id];
}

static void lay_input(Fuse *f, Node *n)
{
        Plan *p = f->plan;
        const char *name = p->graph->input[n->attr.index].name;
        Buffer *b = buffer_new(p, IN_INPUT, &n->type, name);
        b->storage = n->type.dtype == REAL ? STORAGE_F32 : STORAGE_I32;
        layout_buffer(p, b, -1);
        b->index = n->attr.index;
        b->dense = type_is_dense(&n->type);
        p->of_node.value[n->id] = b;
        if (f->force_buffer[n->id])
                copy_to_read(f, n, b);
}

/* --- outputs --------------------------------------------------------------------------------------- */

static void lay_output(Fuse *f, int i)
{
        Plan *p = f->plan;
        Output *o = &p->graph->output[i];
        Buffer *b = buffer_new(p, IN_OUTPUT, &o->node->type, o->name);
        layout_buffer(p, b, -1);
        b->index = i;
        b->dense = type_is_dense(&o->node->type);
        if (b->dense) {
                copy_kernel(f, o->node, b, p->graph->top, 4 * p->graph->top->nnode + 4);
                return;
        }
        for (int a = 0; p->graph->past >= 0 && a < o->node->type.rank; a++)
                if (dim_equal(o->node->type.dim[a], dim_named(p->graph->time))) {
                        b->shift_axis = a;
                        b->shift = dim_scale(dim_named(NAMED_FIRST), -1);
                }
        place_value(f, o->node, b, p->graph->top, 4 * p->graph->top->nnode + 4);
}

/* --- main function ------------------------------------------------------------------------------------------------ */

static bool is_result_of_attention(const Fuse *f, const Node *n)
{
        return f->owner[n->id] && f->owner[n->id]->op == K_ATTENTION && n->type.rank == 3 &&
               type_is_fixed(&n->type);
}

/* Results of attention [heads, rows, n]: the heads of a row are adjacent, as the next product reads them. */
static void lay_heads_in_rows(Buffer *b)
{
        b->layout.stride[0] = b->type.dim[2].fixed;
        b->layout.stride[1] = b->type.dim[0].fixed * b->layout.stride[0];
}

static void lay_roots(Fuse *f, const int *tiled)
{
        Plan *p = f->plan;
        for (int i = f->uses->n - 1; i >= 0; i--) { /* a join before its parts */
                Node *n = f->uses->all[i];
                if (p->of_node.value[n->id] || !is_made_by_kernel(f, n))
                        continue;
                Buffer *b = buffer_new(p, IN_ARENA, &n->type, value_name(p, n));
                b->storage = storage_of(p, n);
                layout_buffer(p, b, tiled[n->id]);
                if (is_result_of_attention(f, n))
                        lay_heads_in_rows(b);
                settle(f, n, b);
        }
}

/* The outermost join that contains n and through which all readers read n, with views and other joins
 * between; so all of them come after it.  NULL: none. */
static const Node *join_around(const Fuse *f, const Node *n)
{
        const Node *join = NULL;
        while (f->uses->nuser[n->id] == 1) {
                n = f->uses->user[n->id][0];
                if (n->op != OP_JOIN && n->op != OP_VIEW)
                        break;
                join = n->op == OP_JOIN ? n : join;
        }
        return join;
}

static bool can_merge_parts(const Fuse *f, const Kernel *a, const Kernel *b)
{
        Buffer *to = a->stores.of[0].to;
        if (a->op != K_LOOP || b->op != K_LOOP || a->body != b->body || a->order.at || b->order.at ||
            a->wanted != b->wanted || !to->part_of || whole_buffer(b->stores.of[0].to) != whole_buffer(to))
                return false;
        const Node *one = a->stores.of[0].node, *other = b->stores.of[0].node, *join = join_around(f, one);
        /* a view that no loop walks is moved by a kernel of its own */
        return join && join == join_around(f, other) && same_dims(&one->type, &other->type) &&
               one->op != OP_VIEW && other->op != OP_VIEW;
}

/* Roots that are adjacent in one join, have one domain and do not read each other become one kernel, such as
 * the halves of a rotation. */
static void merge_parts(Fuse *f)
{
        for (int i = 0; i < f->nkernel; i++) {
                Kernel *a = f->kernel[i];
                for (int j = i + 1; j < f->nkernel; j++) {
                        Kernel *b = f->kernel[j];
                        if (!can_merge_parts(f, a, b))
                                continue;
                        Store *both = NEW_ARRAY(f->arena, Store, a->stores.n + 1);
                        for (int k = 0; k < a->stores.n; k++)
                                both[k] = a->stores.of[k];
                        both[a->stores.n] = b->stores.of[0];
                        a->stores.of = both;
                        a->stores.n++;
                        for (int k = 0; k < f->uses->n; k++)
                                if (f->owner[f->uses->all[k]->id] == b)
                                        f->owner[f->uses->all[k]->id] = a;
                        for (int k = j; k + 1 < f->nkernel; k++)
                                f->kernel[k] = f->kernel[k + 1];
                        f->nkernel--;
                        a = f->kernel[i];
                        j--;
                }
        }
}

void layout(Fuse *f)
{
        Plan *p = f->plan;
        for (int i = 0; i < f->nkernel; i++)
                if (f->kernel[i]->op == K_MATMUL)
                        lay_product_weights(p, f->kernel[i]);
        int *tiled = find_tiled_keys(f);
        for (int i = 0; i < f->uses->n; i++) {
                Node *n = f->uses->all[i];
                if (n->op == OP_INPUT)
                        lay_input(f, n);
                else if (n->op != OP_WEIGHT || read_by_expression(f, n))
                        lay_leaf(f, n, tiled);
        }
        for (int i = 0; i < f->uses->n; i++)
                if (f->uses->all[i]->op == OP_APPEND)
                        lay_state(f, f->uses->all[i], tiled[f->uses->all[i]->id]);
                else if (f->uses->all[i]->op == OP_KEEP)
                        lay_kept(f, f->uses->all[i], tiled);
        for (int i = 0; i < f->nkernel; i++)
                lay_scan(f, f->kernel[i]);
        for (int i = 0; i < f->uses->n; i++)
                if (f->uses->all[i]->op == OP_REPEAT)
                        lay_repeat(f, f->uses->all[i]);
        for (int i = 0; i < p->graph->noutput; i++)
                lay_output(f, i);
        lay_roots(f, tiled);
        for (int i = 0; i < f->nkernel; i++) {
                Kernel *k = f->kernel[i];
                for (int s = 0; s < k->stores.n; s++)
                        if (!k->stores.of[s].to)
                                k->stores.of[s].to = p->of_node.value[k->stores.of[s].node->id];
                for (int s = 0; s < k->product.nsegment; s++)
                        k->product.segment[s].store.to =
                                p->of_node.value[k->product.segment[s].store.node->id];
        }
        merge_parts(f);
}
