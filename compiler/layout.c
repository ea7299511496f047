/* Layout: a buffer for every value that lies in memory, and how its elements lie there.
 *
 * Rows of `time` stand outermost.  What a join, a state, an output or the next trip of a repeat will hold is computed there
 * at once where it can be ("joins written side by side"); else a copy is added.  Weights that products read are tiled in
 * panels of 16 outputs, keys that attention reads in tiles of 16 positions. */
#include "plan.h"

#include <stdlib.h>

int64_t round_up(int64_t n, int64_t to)
{
        return (n + to - 1) / to * to;
}

/* The largest value of a dimension within one call; past and new rows together never pass the bound of time. */
int64_t bound_of(const Plan *p, Dim d)
{
        const Graph *g = p->graph;
        int64_t n = d.fixed;
        if (g->past >= 0 && d.per[g->past] == 1 && d.per[g->time] == 1) {
                n += g->named[g->time].bound;
                d.per[g->past] = d.per[g->time] = 0;
        }
        for (int i = 0; i < MAX_NAMED; i++)
                n += d.per[i] * p->bound[i];
        return n;
}

static Buffer *buffer_new(Plan *p, Home home, const Type *t, const char *name)
{
        Buffer *b = NEW(p->graph->arena, Buffer);
        b->home = home;
        b->type = *t;
        b->name = name;
        b->id = p->nbuffer;
        b->slots = 1;
        b->shift_axis = b->layout.tiled = b->ring = -1;
        if (p->nbuffer == p->cap_buffer) {
                int64_t old = p->cap_buffer * (int64_t)sizeof(Buffer *);
                p->cap_buffer = p->cap_buffer ? 2 * p->cap_buffer : 64;
                p->buffer = arena_grow(p->graph->arena, p->buffer, old,
                                       p->cap_buffer * (int64_t)sizeof(Buffer *));
        }
        return p->buffer[p->nbuffer++] = b;
}

/* Elements along an axis for which there is room. */
static int64_t extent(const Plan *p, const Buffer *b, int axis)
{
        return b->ring >= 0 && axis == b->shift_axis ? p->ring[b->ring].size : bound_of(p, b->type.dim[axis]);
}

/* The last axis innermost, named dimensions outermost, the rest in order between; `tiled` (or -1) counts in tiles of 16. */
static void lay_out(const Plan *p, Buffer *b, int tiled)
{
        enum { LAST, FIXED, NAMED, KINDS };
        const Type *t = &b->type;
        b->layout = (Layout){.rank = t->rank, .tiled = tiled};
        int64_t stride = tiled >= 0 ? LANES : 1;
        for (int kind = LAST; kind < KINDS; kind++)
                for (int a = t->rank - 1; a >= 0; a--) {
                        int own = a == t->rank - 1 ? LAST : dim_is_fixed(t->dim[a]) ? FIXED : NAMED;
                        if (own != kind || a == tiled)
                                continue;
                        b->layout.stride[a] = stride;
                        stride *= extent(p, b, a);
                }
        b->size = stride;
        if (tiled >= 0) {
                b->layout.tile = stride;
                b->size = stride * (round_up(extent(p, b, tiled), LANES) / LANES);
        }
        b->size = round_up(b->size, LANES);
}

static const char *value_name(const Plan *p, const Node *n)
{
        const char *name = n->name;
        for (const Instance *i = n->where; i; i = i->outer)
                if (i->name)
                        name = name ? arena_printf(p->graph->arena, "%s.%s", i->name, name) : i->name;
        return name ? name : op_info[n->op].text;
}

/* --- weights, tables, inputs --------------------------------------------------------------------------- */

static Buffer *weight_buffer(Plan *p, Weight *w, int tiled)
{
        Buffer *b = buffer_new(p, IN_WEIGHTS, &w->type, w->path);
        lay_out(p, b, tiled);
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
                if (b->weight == w && (b->layout.tiled >= 0) == tiled &&
                    (!tiled || b->layout.tiled == axis) && !b->part_of)
                        return b;
        }
        return NULL;
}

static int outputs_axis(const Node *w)
{
        return w->op == OP_VIEW ? 0 : 1;
}

/* Two products side by side: their panels lie in turn in one record. */
static void pair_weights(Plan *p, Segment *s)
{
        Weight *first = base_of(s->product[0]->in[1])->attr.weight;
        Buffer *pair = weight_buffer(p, first, outputs_axis(s->product[0]->in[1]));
        pair->size = pair->slot_stride = 2 * pair->size;
        pair->layout.tile *= 2;
        pair->weight = NULL; /* its halves are the weights */
        for (int i = 0; i < 2; i++) {
                Weight *w = base_of(s->product[i]->in[1])->attr.weight;
                s->w[i] = weight_buffer(p, w, outputs_axis(s->product[i]->in[1]));
                s->w[i]->part_of = pair;
                s->w[i]->layout.offset = i * s->w[i]->layout.tile;
                s->w[i]->layout.tile *= 2;
                s->w[i]->slot_stride = pair->slot_stride;
                s->w[i]->size = 0;
        }
}

static void lay_product_weights(Plan *p, Kernel *k)
{
        for (int i = 0; i < k->nsegment; i++) {
                Segment *s = &k->segment[i];
                if (s->nproduct == 2) {
                        pair_weights(p, s);
                        continue;
                }
                const Node *w = s->product[0]->in[1];
                int axis = outputs_axis(w);
                s->w[0] = find_weight(p, base_of(s->product[0]->in[1])->attr.weight, true, axis);
                if (!s->w[0])
                        s->w[0] = weight_buffer(p, base_of(s->product[0]->in[1])->attr.weight, axis);
        }
}

static void lay_leaf(Fuse *f, Node *n)
{
        Plan *p = f->plan;
        Node *same = p->graph->stands_for ? p->graph->stands_for[n->id] : NULL;
        if (same && n->op != OP_WEIGHT && f->table[same->id] == f->table[n->id]) {
                if (!p->value[same->id])
                        lay_leaf(f, same);
                p->value[n->id] = p->value[same->id];
        } else if (p->value[n->id]) {
                return;
        } else if (n->op == OP_WEIGHT) {
                Buffer *b = find_weight(p, n->attr.weight, false, -1);
                for (int axis = 0; !b && !f->forced[n->id] && axis < n->type.rank; axis++)
                        b = find_weight(p, n->attr.weight, true, axis);
                p->value[n->id] = b ? b : weight_buffer(p, n->attr.weight, -1);
        } else if (f->table[n->id]) {
                const char *name = value_name(p, n);
                if (!n->name)
                        name = arena_printf(p->graph->arena, "%s.%s", name, op_info[n->op].text);
                Buffer *b = buffer_new(p, IN_WEIGHTS, &n->type, name);
                const Graph *g = p->graph;
                for (int a = 0; a < n->type.rank; a++)
                        if (g->past >= 0 && dim_equal(n->type.dim[a], dim_named(g->time))) {
                                b->shift_axis = a;
                                b->shift = dim_named(g->past);
                                b->type.dim[a] = dim_add(dim_named(g->time), dim_named(g->past));
                        }
                lay_out(p, b, -1);
                b->table = n;
                b->size += LANES;
                b->slot_stride = b->size;
                p->value[n->id] = b;
        } else if (n->op == OP_CONST && n->attr.literal->count > 1) {
                Buffer *b = buffer_new(p, IN_LITERAL, &n->type, n->name ? n->name : "values");
                lay_out(p, b, -1);
                b->table = n;
                b->slots = n->attr.literal->trips;
                b->slot_stride = b->size = round_up(n->attr.literal->count, LANES);
                b->region = n->attr.literal->trips > 1 ? n->body->region : NULL;
                p->value[n->id] = b;
        }
}

/* A weight is used by something other than a product's right side. */
static bool read_by_formula(const Fuse *f, const Node *n)
{
        for (int i = 0; i < f->uses->nuser[n->id]; i++) {
                const Node *user = f->uses->user[n->id][i];
                if (user->op == OP_VIEW ? read_by_formula(f, user)
                                        : user->op != OP_MATMUL || user->in[1] != n)
                        return true;
                if (user->op == OP_MATMUL && f->owner[user->id] && f->owner[user->id]->op != K_MATMUL)
                        return true;
        }
        return f->uses->pinned[n->id];
}

/* --- placing values --------------------------------------------------------------------------------------- */

static Buffer *part_buffer(Plan *p, Buffer *whole, const Type *t, const Layout *l, const char *name)
{
        Buffer *b = buffer_new(p, whole->home, t, name);
        b->part_of = whole;
        b->layout = *l;
        b->slot_of = whole->slot_of;
        b->slot_stride = whole->slot_stride;
        b->slots = whole->slots;
        b->region = whole->region;
        b->index = whole->index;
        b->shift = whole->shift;
        return b;
}

/* The layout of a view's input under which the view's output lies as `to`; false: there is none. */
static bool unview(const Node *view, const Buffer *to, Layout *l, int *shift_axis)
{
        const View *v = view->attr.view;
        const Type *in = &view->in[0]->type;
        *l = (Layout){.rank = in->rank, .tiled = -1, .tile = to->layout.tile, .offset = to->layout.offset};
        *shift_axis = -1;
        bool seen[MAX_RANK] = {false};
        for (int k = v->natom - 1; k >= 0; k--) {
                const Atom *a = &v->atom[k];
                if (dim_is(a->size, 1) && a->axis < 0)
                        continue;
                if (a->axis < 0 || seen[a->axis] || a->stride != 1 || !dim_equal(a->size, in->dim[a->axis]) ||
                    !dim_is(v->offset[a->axis], 0))
                        return false;
                int64_t inner = 1;
                for (int j = k + 1; j < v->natom && v->atom[j].out == a->out; j++)
                        inner *= v->atom[j].size.fixed;
                bool alone = inner == 1 &&
                             (k == 0 || v->atom[k - 1].out != a->out || dim_is(v->atom[k - 1].size, 1));
                if (a->out == to->layout.tiled && !alone)
                        return false;
                if (a->out == to->shift_axis && !alone)
                        return false;
                seen[a->axis] = true;
                if (a->out == to->layout.tiled)
                        l->tiled = a->axis;
                else
                        l->stride[a->axis] = inner * to->layout.stride[a->out];
                if (a->out == to->shift_axis)
                        *shift_axis = a->axis;
        }
        for (int a = 0; a < in->rank; a++) {
                if (!seen[a] && !dim_is(in->dim[a], 1))
                        return false;
                if (!seen[a])
                        l->stride[a] = 1; /* any will do; kernels want 1 of the last axis */
        }
        if ((to->layout.tiled >= 0) != (l->tiled >= 0))
                return false;
        return (to->shift_axis >= 0) == (*shift_axis >= 0);
}

static void copy_kernel(Fuse *f, Node *n, Buffer *to, Body *body, int at)
{
        Kernel *k = fuse_kernel(f, K_LOOP, n);
        k->name = arena_printf(f->arena, "%s_copy", k->name);
        k->store[0] = (Store){n, to, true};
        k->body = body;
        k->at = at;
}

/* n lies in a buffer where a kernel can't read it as it has to: it is copied from there first. */
static void copy_to_read(Fuse *f, Node *n, Buffer *from)
{
        Buffer *own = f->plan->value[n->id] = buffer_new(f->plan, IN_ARENA, &n->type, from->name);
        lay_out(f->plan, own, -1);
        copy_kernel(f, n, own, n->body, 4 * f->uses->place[n->id] + 1);
        f->kernel[f->nkernel - 1]->from_copy = from;
}

static void lay_input(Fuse *f, Node *n)
{
        Plan *p = f->plan;
        const char *name = p->graph->input[n->attr.index].name;
        Buffer *b = buffer_new(p, IN_INPUT, &n->type, name);
        lay_out(p, b, -1);
        b->index = n->attr.index;
        b->dense = type_is_dense(&n->type);
        p->value[n->id] = b;
        if (f->forced[n->id])
                copy_to_read(f, n, b);
}

static void place(Fuse *f, Node *n, Buffer *to, Body *body, int at);

/* Whether what begins at `at` along the axis is a matter of strides alone; else the axis's index itself is shifted. */
static bool is_strided(const Buffer *to, int axis, Dim at)
{
        return dim_is(at, 0) || (dim_is_fixed(at) && axis != to->layout.tiled);
}

/* A buffer shifts one axis: whether a part of n in `to` would shift another one. */
static bool shifts_cross(const Node *n, const Buffer *to)
{
        int axis = n->attr.axis;
        Dim at = n->op == OP_PAD ? n->attr.before : dim_fixed(0);
        if ((n->op != OP_PAD && n->op != OP_JOIN) || to->shift_axis < 0 || to->shift_axis == axis)
                return false;
        for (int i = 0; i < n->nin && is_strided(to, axis, at); i++)
                at = i + 1 < n->nin ? dim_add(at, n->in[i]->type.dim[axis]) : at;
        return !is_strided(to, axis, at);
}

/* The part of a join or a pad for an input of it that begins at `at` along the axis. */
static Buffer *part_from(Plan *p, Buffer *to, const Node *in, int axis, Dim at)
{
        Buffer *part = part_buffer(p, to, &in->type, &to->layout, to->name);
        part->shift_axis = to->shift_axis;
        if (!is_strided(to, axis, at)) {
                part->shift = dim_add(to->shift_axis == axis ? to->shift : dim_fixed(0), at);
                part->shift_axis = axis;
        } else if (!dim_is(at, 0)) {
                part->layout.offset += at.fixed * to->layout.stride[axis];
        }
        return part;
}

static void place_parts(Fuse *f, Node *join, Buffer *to)
{
        Dim at = dim_fixed(0);
        for (int i = 0; i < join->nin; i++) {
                Node *in = join->in[i];
                Buffer *part = part_from(f->plan, to, in, join->attr.axis, at);
                place(f, in, part, join->body, 4 * f->uses->place[join->id] + 2);
                at = dim_add(at, in->type.dim[join->attr.axis]);
        }
}

static void place_padded(Fuse *f, Node *pad, Buffer *to)
{
        Kernel *fill = fuse_kernel(f, K_FILL, pad);
        fill->store[0].to = to;
        fill->fill = pad->attr.value;
        fill->at = 4 * f->uses->place[pad->id] + 1;
        Buffer *part = part_from(f->plan, to, pad->in[0], pad->attr.axis, pad->attr.before);
        copy_kernel(f, pad->in[0], part, pad->body, 4 * f->uses->place[pad->id] + 2);
}

static bool is_computed(const Fuse *f, const Node *n)
{
        return (f->owner[n->id] && f->must[n->id]) || n->op == OP_JOIN || n->op == OP_PAD;
}

/* n's value shall lie in `to`: computed there if it can be, else copied there by a kernel of `body` at place `at`. */
static void place(Fuse *f, Node *n, Buffer *to, Body *body, int at)
{
        Plan *p = f->plan;
        Layout l;
        int shift_axis;
        bool shared = f->uses->nuser[n->id] > 1 || (f->uses->pinned[n->id] && to->home != IN_OUTPUT &&
                                                    n->body == body && f->uses->nuser[n->id]);
        if (n->op == OP_VIEW && !f->plan->copy[n->id] && !shared && n->body == body &&
            unview(n, to, &l, &shift_axis) && base_of(n)->body == body && is_computed(f, base_of(n)) &&
            !p->value[base_of(n)->id]) {
                Buffer *part = part_buffer(p, to, &n->in[0]->type, &l, to->name);
                part->shift_axis = shift_axis;
                place(f, n->in[0], part, body, at);
                return;
        }
        bool as_output_only = to->home != IN_OUTPUT || f->uses->nuser[n->id] == 0;
        bool can_tile = to->layout.tiled < 0 || n->type.rank == 0 ||
                        (to->layout.tiled != n->type.rank - 1 && !f->forced[n->id]);
        bool spaced = f->forced[n->id] && to->layout.tiled < 0 && n->type.rank > 0 &&
                      to->layout.stride[n->type.rank - 1] != 1; /* not stored so by every kernel */
        if (!is_computed(f, n) || p->value[n->id] || n->body != body || !as_output_only || !can_tile ||
            spaced || shifts_cross(n, to)) {
                copy_kernel(f, n, to, body, at);
                return;
        }
        p->value[n->id] = to;
        if (n->op == OP_JOIN)
                place_parts(f, n, to);
        if (n->op == OP_PAD)
                place_padded(f, n, to);
}

/* --- states, repeats, outputs ------------------------------------------------------------------------------- */

/* Which axis of the tensor under attention's keys counts positions; -1: no walk of it is affine. */
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

/* By id: the axis in which a value must be tiled because attention reads keys from it, or -1. */
static int *find_tiled_keys(const Fuse *f)
{
        int *tiled = NEW_ARRAY(f->arena, int, f->plan->graph->nnode);
        for (int i = 0; i < f->plan->graph->nnode; i++)
                tiled[i] = -1;
        for (int i = 0; i < f->nkernel; i++) {
                Node *base;
                if (f->kernel[i]->op != K_ATTENTION)
                        continue;
                int axis = key_axis(f->plan, f->kernel[i]->k, &base);
                bool read_otherwise =
                        f->forced[base->id] && !f->plan->copy[base->id] && op_info[base->op].family != STATE;
                if (axis >= 0 && !read_otherwise)
                        tiled[base->id] = axis;
        }
        return tiled;
}

static void lay_state(Fuse *f, Node *append, int tiled)
{
        Plan *p = f->plan;
        StateVar *s = append->attr.state;
        Buffer *b = buffer_new(p, IN_STATE, &append->type, s->name);
        b->ring = p->ring_of[s->id];
        if (b->ring >= 0) {
                b->shift_axis = append->attr.axis;
                b->shift = dim_scale(dim_named(NAMED_BASE + b->ring), -1);
        }
        lay_out(p, b, tiled);
        b->index = s->id;
        b->slots = s->slots;
        b->slot_of = s->slot_of;
        b->slot_stride = b->size;
        b->region = append->body->region;
        p->value[append->id] = b;
        Buffer *rows = part_buffer(p, b, &append->in[1]->type, &b->layout, s->name);
        rows->shift_axis = append->attr.axis;
        rows->shift = dim_add(b->shift, dim_named(p->graph->past));
        place(f, append->in[1], rows, append->body, 4 * f->uses->place[append->id] + 2);
}

/* What is fed apart: one buffer, which its part fills and others read, each with the trips of its own repeats. */
static void lay_kept(Fuse *f, Node *keep, const int *tiled)
{
        Plan *p = f->plan;
        const StateVar *s = keep->attr.state;
        int axis = -1;
        for (int i = 0; i < f->uses->n; i++)
                if (f->uses->all[i]->op == OP_KEPT && f->uses->all[i]->attr.state == s && axis < 0)
                        axis = tiled[f->uses->all[i]->id];
        Buffer *b = p->value[keep->id] = buffer_new(p, IN_STATE, &s->type, s->name);
        lay_out(p, b, axis);
        b->index = s->id;
        b->slots = s->slots;
        b->slot_of = s->slot_of;
        b->slot_stride = b->size;
        b->region = keep->body->region;
        for (int i = 0; i < f->uses->n; i++) {
                const Node *kept = f->uses->all[i];
                if (kept->op != OP_KEPT || kept->attr.state != s)
                        continue;
                p->value[kept->id] = part_buffer(p, b, &s->type, &b->layout, s->name);
                p->value[kept->id]->region = kept->body->region;
        }
        place(f, keep->in[0], b, keep->body, 4 * f->uses->place[keep->id] + 2);
}

/* Does a kernel of the body still read carried value c when `next` is computed, or at another place than it is written? */
static bool overwrites_early(const Fuse *f, const Body *b, const Node *carry, const Node *next)
{
        const Kernel *writer = f->owner[next->id];
        for (int i = 0; i < f->uses->n; i++) {
                const Node *n = f->uses->all[i];
                if (base_of((Node *)n) != carry || (n != carry && n->op != OP_VIEW))
                        continue;
                for (int k = 0; k < f->uses->nuser[n->id]; k++) {
                        const Node *user = f->uses->user[n->id][k];
                        if (user->op == OP_VIEW)
                                continue;
                        const Kernel *reader = f->owner[user->id];
                        if (!reader || user->body != b)
                                return true;
                        bool aligned = n == carry && op_info[user->op].family == POINT &&
                                       same_dims(&user->type, &next->type);
                        if (reader == writer && !aligned)
                                return true;
                        const Node *root = reader->op == K_MATMUL ? reader->segment[0].store.node
                                                                  : reader->store[0].node;
                        if (reader != writer && f->uses->place[root->id] > f->uses->place[next->id])
                                return true;
                }
        }
        for (int i = 0; i < b->region->ncarry; i++)
                if (base_of(b->next[i]) == carry && b->next[i] != next)
                        return true;
        return false;
}

static Node *carry_node(const Body *b, int index)
{
        for (int i = 0; i < b->nnode; i++)
                if (b->node[i]->op == OP_CARRY && b->node[i]->attr.index == index)
                        return b->node[i];
        return NULL;
}

static void lay_next(Fuse *f, Body *b, int i, Buffer *carried)
{
        Plan *p = f->plan;
        Node *next = b->next[i], *carry = carry_node(b, i);
        int end = 4 * b->nnode + 4;
        if (carry)
                p->value[carry->id] = carried;
        if (next == carry)
                return;
        if (base_of(next)->op == OP_CARRY) { /* carried values change places: through a copy */
                Buffer *aside = buffer_new(p, IN_ARENA, &next->type, carried->name);
                lay_out(p, aside, -1);
                copy_kernel(f, next, aside, b, end);
                Kernel *k = f->kernel[f->nkernel - 1];
                k = fuse_kernel(f, K_LOOP, next);
                k->store[0] = (Store){next, carried, true};
                k->at = end + 1;
                k->from_copy = aside;
                return;
        }
        if (next->body == b && next->op != OP_JOIN && is_computed(f, next) && !p->value[next->id] &&
            (!carry || !overwrites_early(f, b, carry, next)))
                p->value[next->id] = carried;
        else
                copy_kernel(f, next, carried, b, end);
}

/* Is n read when the repeat has begun: behind it, or in its trips?  What has no buffer is read where its users are computed.
 * seen [nnode]: nodes that were asked about, and are not. */
static bool outlives(const Fuse *f, const Node *n, const Node *repeat, bool *seen)
{
        if (f->uses->pinned[n->id])
                return true;
        if (seen[n->id])
                return false;
        seen[n->id] = true;
        for (int i = 0; i < f->uses->nuser[n->id]; i++) {
                const Node *user = f->uses->user[n->id][i];
                if (user == repeat)
                        continue;
                if (user->body != repeat->body || (user->op == OP_VIEW && f->uses->pinned[user->id]))
                        return true; /* what is given out as a view is copied at the end */
                if (f->must[user->id] ? f->uses->place[user->id] > f->uses->place[repeat->id]
                                      : outlives(f, user, repeat, seen))
                        return true;
        }
        return false;
}

/* The same of n or a part that would lie in its place. */
static bool part_outlives(const Fuse *f, Node *n, const Node *repeat, bool *seen)
{
        n = base_of(n);
        if (seen[n->id])
                return false;
        bool parts = n->op == OP_JOIN || n->op == OP_PAD, any = outlives(f, n, repeat, seen);
        for (int i = 0; parts && !any && i < n->nin; i++)
                any = part_outlives(f, n->in[i], repeat, seen);
        return any;
}

/* The value that a repeat begins with comes to lie where the repeat carries it on, unless it is still needed as it is. */
static void lay_first(Fuse *f, Node *first, const Node *repeat, Buffer *carried)
{
        int at = 4 * f->uses->place[repeat->id] + 1;
        Arena scratch = {.out_of_memory = f->arena->out_of_memory};
        bool outlived = part_outlives(f, first, repeat, NEW_ARRAY(&scratch, bool, f->plan->graph->nnode));
        arena_free(&scratch);
        if (outlived)
                copy_kernel(f, first, carried, repeat->body, at);
        else
                place(f, first, carried, repeat->body, at);
}

static void lay_repeat(Fuse *f, Node *repeat)
{
        Plan *p = f->plan;
        Region *r = repeat->attr.region;
        Buffer **value = NEW_ARRAY(f->arena, Buffer *, r->ncarry + r->nstack);
        for (int i = 0; i < r->ncarry; i++) {
                const char *name = repeat->in[i]->name ? repeat->in[i]->name : "carried";
                value[i] = buffer_new(p, IN_ARENA, &repeat->in[i]->type, name);
                lay_out(p, value[i], -1);
                for (int k = 0; k < r->nbody; k++)
                        lay_next(f, r->body[k], i, value[i]);
                lay_first(f, repeat->in[i], repeat, value[i]);
        }
        for (int i = 0; i < r->nstack; i++) {
                Node *first = r->body[0]->stack[i];
                Buffer *all = value[r->ncarry + i] = buffer_new(p, IN_ARENA, &first->type, "stacked");
                lay_out(p, all, -1);
                Layout one = all->layout;
                int64_t stride = all->size;
                all->size *= r->trips;
                for (int k = 0; k < r->nbody; k++) {
                        Buffer *slot = part_buffer(p, all, &first->type, &one, "stacked");
                        slot->region = r;
                        slot->slots = r->trips;
                        slot->slot_stride = stride;
                        place(f, r->body[k]->stack[i], slot, r->body[k], 4 * r->body[k]->nnode + 4);
                }
                all->layout.rank++;
                for (int a = all->layout.rank - 1; a > 0; a--)
                        all->layout.stride[a] = all->layout.stride[a - 1];
                all->layout.stride[0] = stride;
        }
        for (int i = 0; i < f->uses->nuser[repeat->id]; i++) {
                Node *result = f->uses->user[repeat->id][i];
                p->value[result->id] = value[result->attr.index];
                if (result->attr.index < r->ncarry)
                        continue;
                value[result->attr.index]->type = result->type;
                if (f->forced[result->id])
                        copy_to_read(f, result, value[result->attr.index]);
        }
}

static void lay_output(Fuse *f, int i)
{
        Plan *p = f->plan;
        Output *o = &p->graph->output[i];
        Buffer *b = buffer_new(p, IN_OUTPUT, &o->node->type, o->name);
        lay_out(p, b, -1);
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
        place(f, o->node, b, p->graph->top, 4 * p->graph->top->nnode + 4);
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

static void lay_roots(Fuse *f, const int *tiled)
{
        Plan *p = f->plan;
        for (int i = f->uses->n - 1; i >= 0; i--) { /* a join before its parts */
                Node *n = f->uses->all[i];
                if (p->value[n->id] || !is_computed(f, n) || !f->must[n->id])
                        continue;
                Buffer *b = buffer_new(p, IN_ARENA, &n->type, value_name(p, n));
                lay_out(p, b, tiled[n->id]);
                p->value[n->id] = b;
                if (n->op == OP_JOIN)
                        place_parts(f, n, b);
                if (n->op == OP_PAD)
                        place_padded(f, n, b);
        }
}

/* Roots that lie side by side in one join, have one domain and are not read by each other are one kernel: the halves of
 * a rotation. */
static void merge_parts(Fuse *f)
{
        for (int i = 0; i < f->nkernel; i++) {
                Kernel *a = f->kernel[i];
                for (int j = i + 1; j < f->nkernel; j++) {
                        Kernel *b = f->kernel[j];
                        Buffer *to = a->store[0].to;
                        if (a->op != K_LOOP || b->op != K_LOOP || a->body != b->body || a->at || b->at ||
                            b->nstore != 1 || !to || !to->part_of || !b->store[0].to ||
                            whole_buffer(b->store[0].to) != whole_buffer(to) ||
                            f->uses->nuser[a->store[0].node->id] != 1 ||
                            f->uses->nuser[b->store[0].node->id] != 1 ||
                            !same_dims(&a->store[0].node->type, &b->store[0].node->type))
                                continue;
                        Store *both = NEW_ARRAY(f->arena, Store, a->nstore + 1);
                        for (int k = 0; k < a->nstore; k++)
                                both[k] = a->store[k];
                        both[a->nstore] = b->store[0];
                        a->store = both;
                        a->nstore++;
                        for (int k = 0; k < f->uses->n; k++)
                                if (f->owner[f->uses->all[k]->id] == b)
                                        f->owner[f->uses->all[k]->id] = a;
                        for (int k = j; k + 1 < f->nkernel; k++)
                                f->kernel[k] = f->kernel[k + 1];
                        f->nkernel--;
                        a = f->kernel[i];
                        for (int k = 0; k < a->nstore; k++)
                                if (!a->late ||
                                    f->uses->place[both[k].node->id] > f->uses->place[a->late->id])
                                        a->late = both[k].node;
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
        for (int i = 0; i < f->uses->n; i++) {
                Node *n = f->uses->all[i];
                if (n->op == OP_INPUT)
                        lay_input(f, n);
                else if (n->op != OP_WEIGHT || read_by_formula(f, n))
                        lay_leaf(f, n);
        }
        int *tiled = find_tiled_keys(f);
        for (int i = 0; i < f->uses->n; i++)
                if (f->uses->all[i]->op == OP_APPEND)
                        lay_state(f, f->uses->all[i], tiled[f->uses->all[i]->id]);
                else if (f->uses->all[i]->op == OP_KEEP)
                        lay_kept(f, f->uses->all[i], tiled);
        for (int i = 0; i < f->uses->n; i++)
                if (f->uses->all[i]->op == OP_REPEAT)
                        lay_repeat(f, f->uses->all[i]);
        for (int i = 0; i < p->graph->noutput; i++)
                lay_output(f, i);
        lay_roots(f, tiled);
        for (int i = 0; i < f->nkernel; i++) {
                Kernel *k = f->kernel[i];
                for (int s = 0; s < k->nstore; s++)
                        if (!k->store[s].to)
                                k->store[s].to = p->value[k->store[s].node->id];
                for (int s = 0; s < k->nsegment; s++)
                        k->segment[s].store.to = p->value[k->segment[s].store.node->id];
        }
        merge_parts(f);
}
