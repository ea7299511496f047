/* Placing values: computes a value directly in the memory of the value that will contain it, where
 * possible. */
#include "plan_private.h"

Buffer *part_buffer(Plan *p, Buffer *whole, const Type *t, const Layout *l, const char *name)
{
        Buffer *b = buffer_new(p, whole->home, t, name);
        b->part_of = whole;
        b->storage = whole->storage;
        b->group = whole->group;
        b->layout = *l;
        b->slot_of = whole->slot_of;
        b->slot_stride = whole->slot_stride;
        b->slots = whole->slots;
        b->region = whole->region;
        b->index = whole->index;
        b->shift = whole->shift;
        b->paged = whole->paged;
        return b;
}

/* The layout of a view's input with which the view's output is laid out as `to`; false: none. */
static bool unview(const Node *view, const Buffer *to, Layout *l, int *shift_axis)
{
        const View *v = view->attr.view;
        const Type *in = &view->in[0]->type;
        *l = (Layout){.rank = in->rank, .tiled = -1, .tile = to->layout.tile, .offset = to->layout.offset};
        *shift_axis = -1;
        bool seen[MAX_RANK] = {false};
        for (int k = v->natom - 1; k >= 0; k--) {
                const Atom *a = &v->atom[k];
                if (dim_is(a->size, 1))
                        continue;
                if (a->axis < 0 || a->stride != 1 || !dim_equal(a->size, in->dim[a->axis]))
                        return false;
                int64_t inner = 1;
                for (int j = k + 1; j < v->natom && v->atom[j].out == a->out; j++) {
                        if (!dim_is_fixed(v->atom[j].size))
                                return false; /* the distance depends on the call */
                        inner *= v->atom[j].size.fixed;
                }
                bool alone = inner == 1 && (k == 0 || v->atom[k - 1].out != a->out);
                if ((a->out == to->layout.tiled || a->out == to->shift_axis) && !alone)
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
                        l->stride[a] = 1; /* any stride will do; kernels expect 1 for the last axis */
        }
        if ((to->layout.tiled >= 0) != (l->tiled >= 0))
                return false;
        return (to->shift_axis >= 0) == (*shift_axis >= 0);
}

void copy_kernel(Fuse *f, Node *n, Buffer *to, Body *body, int at)
{
        Kernel *k = fuse_kernel(f, K_LOOP, n);
        k->name = arena_printf(f->arena, "%s_copy", k->name);
        k->stores.of[0] = (Store){n, to, true};
        k->body = body;
        k->order.at = at;
}

void copy_to_read(Fuse *f, Node *n, Buffer *from)
{
        Buffer *own = f->plan->of_node.value[n->id] = buffer_new(f->plan, IN_ARENA, &n->type, from->name);
        own->storage = storage_of(f->plan, n);
        layout_buffer(f->plan, own, -1);
        copy_kernel(f, n, own, n->body, 4 * f->uses->place[n->id] + 1);
        f->kernel[f->nkernel - 1]->from_copy = from;
}

/* Whether a part that begins at `at` along the axis needs only strides; else the index of the axis is
 * shifted. */
static bool is_strided(const Buffer *to, int axis, Dim at)
{
        bool counted = axis == to->layout.tiled || (to->paged && axis == to->shift_axis);
        return dim_is(at, 0) || (dim_is_fixed(at) && !counted);
}

/* A buffer can shift only one axis: whether a part of n in `to` would shift another one. */
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

/* The part of a join's or pad's buffer for the input that begins at `at` along the axis. */
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

static void place_join_parts(Fuse *f, Node *join, Buffer *to)
{
        Dim at = dim_fixed(0);
        for (int i = 0; i < join->nin; i++) {
                Node *in = join->in[i];
                Buffer *part = part_from(f->plan, to, in, join->attr.axis, at);
                place_value(f, in, part, join->body, 4 * f->uses->place[join->id] + 2);
                at = dim_add(at, in->type.dim[join->attr.axis]);
        }
}

static void place_padded(Fuse *f, Node *pad, Buffer *to)
{
        Kernel *fill = fuse_kernel(f, K_FILL, pad);
        fill->stores.of[0].to = to;
        fill->fill = pad->attr.value;
        fill->order.at = 4 * f->uses->place[pad->id] + 1;
        Buffer *part = part_from(f->plan, to, pad->in[0], pad->attr.axis, pad->attr.before);
        copy_kernel(f, pad->in[0], part, pad->body, 4 * f->uses->place[pad->id] + 2);
}

bool is_made_by_kernel(const Fuse *f, const Node *n)
{
        return (f->owner[n->id] && f->needs_buffer[n->id]) || n->op == OP_JOIN || n->op == OP_PAD;
}

void settle(Fuse *f, Node *n, Buffer *to)
{
        f->plan->of_node.value[n->id] = to;
        if (n->op == OP_JOIN)
                place_join_parts(f, n, to);
        if (n->op == OP_PAD)
                place_padded(f, n, to);
}

/* Whether two outputs have this value: one may be requested without the other. */
static bool is_output_twice(const Graph *g, const Node *n)
{
        int outputs = 0;
        for (int i = 0; i < g->noutput; i++)
                outputs += g->output[i].node == n;
        return outputs > 1;
}

/* Whether the value may be stored only in the output, which is computed only if it is requested. */
static bool is_for_output_alone(const Fuse *f, const Node *n)
{
        return f->uses->nuser[n->id] == 0 && !f->uses->leaves[n->id] && !is_output_twice(f->plan->graph, n);
}

/* Whether the kernel of n may store it in this buffer.  Other readers cannot read rounded numbers or rows in
 * pages instead. */
static bool is_stored_in(const Fuse *f, const Node *n, const Buffer *to)
{
        Storage storage = to->storage;
        bool narrow = storage == STORAGE_F16;
        const Kernel *k = f->owner[n->id];
        if (to->home == IN_OUTPUT && keeps_scan(n)) /* it must run even if it is not requested */
                return false;
        if (storage == STORAGE_F32 && !to->paged)
                return true;
        if (storage == STORAGE_Q8) /* all elements of a group determine its scale */
                return false;
        if ((narrow || to->paged) && (f->uses->nuser[n->id] > 1 || f->uses->pinned[n->id]))
                return false;
        return !k || k->op == K_LOOP || (k->op == K_MATMUL && (narrow || to->paged));
}

/* Rows of an output are counted from the first requested one: whether n's kernel begins there. */
static bool begins_with_wanted(const Fuse *f, const Node *n, const Buffer *to)
{
        return to->home != IN_OUTPUT || to->shift_axis < 0 || walks_time(f->plan, f->owner[n->id], n);
}

void place_value(Fuse *f, Node *n, Buffer *to, Body *body, int at)
{
        Plan *p = f->plan;
        Layout l;
        int shift_axis;
        bool shared = f->uses->nuser[n->id] > 1 || (f->uses->pinned[n->id] && to->home != IN_OUTPUT &&
                                                    n->body == body && f->uses->nuser[n->id]);
        if (n->op == OP_VIEW && to->storage != STORAGE_Q8 && !f->plan->of_node.copy[n->id] && !shared &&
            n->body == body && unview(n, to, &l, &shift_axis) && base_of(n)->body == body &&
            is_made_by_kernel(f, base_of(n)) && !p->of_node.value[base_of(n)->id] &&
            begins_with_wanted(f, n->in[0], to)) {
                Buffer *part = part_buffer(p, to, &n->in[0]->type, &l, to->name);
                part->shift_axis = shift_axis;
                place_value(f, n->in[0], part, body, at);
                return;
        }
        bool as_output_only = to->home != IN_OUTPUT || is_for_output_alone(f, n);
        bool can_tile =
                to->layout.tiled < 0 || (to->layout.tiled != n->type.rank - 1 && !f->force_buffer[n->id]);
        const Kernel *maker = f->owner[n->id];
        bool in_rows = f->force_buffer[n->id] || (writes_rows(maker, n, -1) && maker->op != K_SELECT);
        bool spaced = in_rows && n->type.rank > 0 &&
                      (to->layout.tiled >= 0 || to->layout.stride[n->type.rank - 1] != 1);
        if (!is_made_by_kernel(f, n) || p->of_node.value[n->id] || n->body != body ||
            !is_stored_in(f, n, to) || !as_output_only || !can_tile || spaced || shifts_cross(n, to) ||
            !begins_with_wanted(f, n, to)) {
                copy_kernel(f, n, to, body, at);
                return;
        }
        settle(f, n, to);
}
