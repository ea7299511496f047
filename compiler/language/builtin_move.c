/* Builtins that move elements: join, split, reshape, transpose, pad, windows. */
#include "elaborate_private.h"

#include <string.h>

/* The arguments, or the items of a single list argument; parts of size 0 (none) are omitted. */
static int gather_parts(const BuiltinCall *c, Value **part, Span **span)
{
        int n = c->npos, kept = 0;
        const Value *item = c->pos;
        bool list = n == 1 && item[0].kind == V_LIST;
        if (list) {
                n = item[0].list->n;
                item = item[0].list->item;
        }
        *part = NEW_ARRAY(c->e->arena, Value, n);
        *span = NEW_ARRAY(c->e->arena, Span, n);
        for (int i = 0; i < n; i++)
                if (item[i].kind != V_NONE) {
                        (*span)[kept] = list ? c->pos_span[0] : c->pos_span[i];
                        (*part)[kept++] = item[i];
                }
        return kept;
}

static Node *join_nodes(Elaborator *e, int n, Node **in, int axis, Span span)
{
        enum { AT_ONCE = 255 };
        while (n > AT_ONCE) { /* the maximum of a node, then its result */
                int made = 0;
                for (int i = 0; i < n; i += AT_ONCE) {
                        int count = n - i < AT_ONCE ? n - i : AT_ONCE;
                        if (!(in[made++] = make_node(e, OP_JOIN, count, in + i, (Attr){.axis = axis}, span)))
                                return NULL;
                }
                n = made;
        }
        return n == 1 ? in[0] : make_node(e, OP_JOIN, n, in, (Attr){.axis = axis}, span);
}

Value run_join(const BuiltinCall *c)
{
        Value *part, axis = call_option(c, "axis");
        Span *span;
        int n, at;
        if (c->npos == 1 &&
            c->pos[0].kind == V_TENSOR) { /* [n, .., d]: concatenates the parts along the outermost axis */
                Node *x = c->pos[0].tensor;
                if (axis.kind == V_NONE && x->type.rank >= 2)
                        return value_tensor(view_merge(c->e->g, c->e->body, x, c->span, c->e->where));
        }
        n = gather_parts(c, &part, &span);
        if (n == 0)
                return poisoned(c->e, c->span, "nothing to join");
        Node **in = NEW_ARRAY(c->e->arena, Node *, n);
        for (int i = 0; i < n; i++)
                if (!(in[i] = to_tensor(c->e, part[i], span[i])))
                        return POISON;
        if (!want_axis(c->e, axis.kind == V_NONE ? value_int(-1) : axis, in[0], c->span, &at))
                return POISON;
        return value_tensor(join_nodes(c->e, n, in, at, c->span));
}

static Node *insert_axis(Elaborator *e, Node *x, int axis, Span span)
{
        Type type = x->type;
        if (type.rank == MAX_RANK)
                return poisoned(e, span, "more than %d axes", MAX_RANK).tensor;
        for (int i = type.rank++; i > axis; i--)
                type.dim[i] = type.dim[i - 1];
        type.dim[axis] = dim_fixed(1);
        return view_reshape(e->g, e->body, x, &type, span, e->where);
}

/* Stacks parts of equal rank, or scalars, along a new axis; axes of size 1 are broadcast. */
Value stack_values(Elaborator *e, int n, const Value *item, int axis, Span span)
{
        Node **in = NEW_ARRAY(e->arena, Node *, n);
        Type type = {0};
        for (int i = 0; i < n; i++) {
                Type before = type;
                if (!(in[i] = to_tensor(e, item[i], span)))
                        return POISON;
                if (i == 0)
                        type = in[0]->type;
                else if (!type_broadcast(&before, &in[i]->type, &type))
                        return poisoned(e, span, "shapes %s and %s can't be stacked",
                                        type_text(e->diag->arena, e->g, &before),
                                        type_text(e->diag->arena, e->g, &in[i]->type));
        }
        if (axis < -type.rank - 1 || axis > type.rank)
                return poisoned(e, span, "a stack of %s has no axis %d",
                                type_text(e->diag->arena, e->g, &type), axis);
        axis += axis < 0 ? type.rank + 1 : 0;
        for (int i = 0; i < n; i++) {
                type.dtype = in[i]->type.dtype;
                if (!type_equal(&in[i]->type, &type))
                        in[i] = view_broadcast(e->g, e->body, in[i], &type, span, e->where);
                in[i] = in[i] ? insert_axis(e, in[i], axis, span) : NULL;
                if (!in[i])
                        return POISON;
        }
        return value_tensor(join_nodes(e, n, in, axis, span));
}

Value run_stack(const BuiltinCall *c)
{
        Value *part, axis = call_option(c, "axis");
        Span *span;
        int64_t at = 0;
        int n = gather_parts(c, &part, &span);
        if (n == 0)
                return poisoned(c->e, c->span, "nothing to stack");
        if (axis.kind != V_NONE && !want_int(c->e, axis, c->span, "an axis", &at))
                return POISON;
        return stack_values(c->e, n, part, (int)(at < -MAX_RANK || at > MAX_RANK ? MAX_RANK + 1 : at),
                            c->span);
}

static Value split_sizes(const BuiltinCall *c, Node *x, Value sizes)
{
        Elaborator *e = c->e;
        int axis;
        Value at = call_option(c, "axis");
        if (sizes.kind != V_LIST)
                return is_poison(sizes) ? POISON
                                        : poisoned(e, c->span, "sizes: must be a list, not %s",
                                                   value_text_of(e, sizes));
        if (!want_axis(e, at.kind == V_NONE ? value_int(-1) : at, x, c->span, &axis))
                return POISON;
        int n = sizes.list->n;
        Dim first = dim_fixed(0), *size = NEW_ARRAY(e->arena, Dim, n);
        Value *part = NEW_ARRAY(e->arena, Value, n);
        for (int i = 0; i < n; i++) {
                if (!want_dim(e, sizes.list->item[i], c->span, "a size", &size[i]))
                        return POISON;
                first = dim_add(first, size[i]);
        }
        if (!dim_equal(first, x->type.dim[axis]))
                return poisoned(e, c->span, "the sizes add up to %s, but axis %d of %s is %s",
                                dim_text(e->diag->arena, e->g, first), axis,
                                type_text(e->diag->arena, e->g, &x->type),
                                dim_text(e->diag->arena, e->g, x->type.dim[axis]));
        first = dim_fixed(0);
        for (int i = 0; i < n; i++) {
                part[i] = dim_is(size[i], 0) ? NOTHING
                                             : value_tensor(view_slice(e->g, e->body, x, axis, first, size[i],
                                                                       c->span, e->where));
                first = dim_add(first, size[i]);
        }
        return value_list(e, n, part);
}

/* An argument in a message: "heads (7)". */
static const char *builtin_name(const BuiltinCall *c, int i, int64_t n)
{
        Span s = c->pos_span[i];
        bool word = s.source && s.end > s.begin;
        for (int k = s.begin; word && k < s.end; k++)
                word = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789",
                              s.source->text[k]) != NULL;
        if (!word || (s.source->text[s.begin] >= '0' && s.source->text[s.begin] <= '9'))
                return arena_printf(c->e->diag->arena, "%lld", (long long)n);
        return arena_printf(c->e->diag->arena, "%.*s (%lld)", s.end - s.begin, s.source->text + s.begin,
                            (long long)n);
}

/* split(x, n): [.., n * d] -> [n, .., d] */
Value run_split(const BuiltinCall *c)
{
        Elaborator *e = c->e;
        int64_t n;
        Node *x = call_tensor(c, 0);
        Value sizes = call_option(c, "sizes");
        if (!x || is_poison(sizes))
                return POISON;
        if (sizes.kind != V_NONE && c->npos == 1)
                return split_sizes(c, x, sizes);
        if (c->npos != 2 || sizes.kind != V_NONE)
                return poisoned(e, c->span, "split requires the number of parts, or sizes: a list");
        if (!want_int(e, c->pos[1], c->pos_span[1], "the number of parts", &n))
                return POISON;
        Dim part;
        if (x->type.rank == 0)
                return poisoned(e, c->pos_span[0], "a scalar can't be split");
        if (n < 1 || !dim_div(x->type.dim[x->type.rank - 1], dim_fixed(n), &part))
                return poisoned(e, c->span, "split: %s does not divide the last axis of %s",
                                builtin_name(c, 1, n), type_text(e->diag->arena, e->g, &x->type));
        if (call_option(c, "axis").kind != V_NONE)
                return poisoned(e, c->span, "split into equal parts takes the last axis; with sizes: any");
        return value_tensor(view_split(e->g, e->body, x, n, c->span, e->where));
}

Value run_merge(const BuiltinCall *c)
{
        Node *x = call_tensor(c, 0);
        if (!x)
                return POISON;
        if (x->type.rank < 2)
                return poisoned(c->e, c->span, "merge requires [n, .., d], not %s",
                                type_text(c->e->diag->arena, c->e->g, &x->type));
        return value_tensor(view_merge(c->e->g, c->e->body, x, c->span, c->e->where));
}

/* spread(k, n): [g, ..] -> [n, ..]; without a leading axis, [..] -> [n, ..] */
Value run_spread(const BuiltinCall *c)
{
        Elaborator *e = c->e;
        int64_t n;
        Node *x = call_tensor(c, 0);
        Dim each;
        if (!x || !want_int(e, c->pos[1], c->pos_span[1], "how many spread makes", &n))
                return POISON;
        if (x->type.rank == 2)
                x = insert_axis(e, x, 0, c->span);
        if (!x)
                return POISON;
        if (n < 1 || x->type.rank == 0 || !dim_div(dim_fixed(n), x->type.dim[0], &each))
                return poisoned(e, c->span, "spread: the outermost axis of %s does not divide %s",
                                type_text(e->diag->arena, e->g, &x->type), builtin_name(c, 1, n));
        return value_tensor(view_spread(e->g, e->body, x, n, c->span, e->where));
}

/* The requested shape; `..` keeps the axes of x that the other sizes leave. */
static bool reshape_type(const BuiltinCall *c, const Node *x, const List *list, Type *type)
{
        Elaborator *e = c->e;
        int ellipsis = -1, kept = 0;
        for (int i = 0; i < list->n; i++)
                if (list->item[i].kind == V_TEXT)
                        ellipsis = i;
        *type = (Type){.dtype = x->type.dtype};
        if (ellipsis == 0) { /* all leading axes except those whose elements the sizes cover */
                Dim want = dim_fixed(1), have = dim_fixed(1), d;
                for (int i = 1; i < list->n; i++)
                        if (!want_dim(e, list->item[i], c->pos_span[1], "a size", &d) ||
                            !dim_mul(want, d, &want))
                                return false;
                kept = x->type.rank;
                while (kept > 0 && !dim_equal(have, want) && dim_mul(have, x->type.dim[kept - 1], &have))
                        kept--;
                if (!dim_equal(have, want))
                        return poisoned(e, c->span, "the sizes after .. don't take up whole axes of %s",
                                        type_text(e->diag->arena, e->g, &x->type)),
                               false;
                for (int i = 0; i < kept; i++)
                        type->dim[type->rank++] = x->type.dim[i];
        }
        int first = 0;
        if (ellipsis > 0) { /* the trailing axes that remain after the first sizes */
                Dim want = dim_fixed(1), have = dim_fixed(1), d;
                for (int i = 0; i < ellipsis; i++)
                        if (!want_dim(e, list->item[i], c->pos_span[1], "a size", &d) ||
                            !dim_mul(want, d, &want))
                                return false;
                while (first < x->type.rank && !dim_equal(have, want) &&
                       dim_mul(have, x->type.dim[first], &have))
                        first++;
                if (!dim_equal(have, want) || ellipsis != list->n - 1)
                        return poisoned(e, c->span, "the sizes before .. don't take up whole axes of %s",
                                        type_text(e->diag->arena, e->g, &x->type)),
                               false;
        }
        for (int i = 0; i < list->n; i++) {
                Dim d;
                if (i == ellipsis)
                        continue;
                if (type->rank == MAX_RANK || !want_dim(e, list->item[i], c->pos_span[1], "a size", &d))
                        return false;
                type->dim[type->rank++] = d;
        }
        for (int i = first; ellipsis > 0 && i < x->type.rank && type->rank < MAX_RANK; i++)
                type->dim[type->rank++] = x->type.dim[i];
        return true;
}

Value run_reshape(const BuiltinCall *c)
{
        Elaborator *e = c->e;
        Type type;
        Node *x = call_tensor(c, 0);
        if (!x)
                return POISON;
        if (c->pos[1].kind != V_LIST)
                return poisoned(e, c->pos_span[1], "reshape requires a list of sizes, not %s",
                                value_text_of(e, c->pos[1]));
        if (c->pos[1].list->n > MAX_RANK)
                return poisoned(e, c->pos_span[1], "more than %d axes", MAX_RANK);
        for (int i = 0; i < c->pos[1].list->n; i++)
                if (is_poison(c->pos[1].list->item[i]))
                        return POISON;
        if (!reshape_type(c, x, c->pos[1].list, &type))
                return POISON;
        Node *y = view_reshape(e->g, e->body, x, &type, c->span, e->where);
        if (!y)
                return poisoned(e, c->span, "%s can't be reshaped to %s",
                                type_text(e->diag->arena, e->g, &x->type),
                                type_text(e->diag->arena, e->g, &type));
        return value_tensor(y);
}

/* full(value, sizes) */
Value run_full(const BuiltinCall *c)
{
        Elaborator *e = c->e;
        Node *value = call_tensor(c, 0);
        if (!value)
                return POISON;
        if (c->pos[1].kind != V_LIST)
                return poisoned(e, c->pos_span[1], "full requires a list of sizes, not %s",
                                value_text_of(e, c->pos[1]));
        const List *sizes = c->pos[1].list;
        if (sizes->n > MAX_RANK)
                return poisoned(e, c->pos_span[1], "more than %d axes", MAX_RANK);
        Type type = {.dtype = value->type.dtype, .rank = sizes->n};
        for (int i = 0; i < sizes->n; i++)
                if (!want_dim(e, sizes->item[i], c->pos_span[1], "a size", &type.dim[i]))
                        return POISON;
                else if (!dim_at_least(e->g, type.dim[i], 1))
                        return poisoned(e, c->pos_span[1], "a size must be at least 1, not %s",
                                        dim_text(e->diag->arena, e->g, type.dim[i]));
        if (!type_is_bounded(e->g, &type, 1))
                return poisoned(e, c->span, "a tensor of shape %s has too many elements: more than 2^42",
                                type_text(e->diag->arena, e->g, &type));
        Node *y = view_broadcast(e->g, e->body, value, &type, c->span, e->where);
        if (!y)
                return poisoned(e, c->pos_span[0], "%s can't be broadcast to %s",
                                type_text(e->diag->arena, e->g, &value->type),
                                type_text(e->diag->arena, e->g, &type));
        return value_tensor(y);
}

/* reverse(x; axis): element i is that at size - 1 - i. */
Value run_reverse(const BuiltinCall *c)
{
        Elaborator *e = c->e;
        Node *x = call_tensor(c, 0);
        int axis = 0, order[MAX_RANK], back[MAX_RANK];
        Value which = call_option(c, "axis");
        if (!x)
                return POISON;
        if (x->type.rank == 0)
                return poisoned(e, c->span, "a scalar has no axis to reverse");
        if (which.kind != V_NONE && !want_axis(e, which, x, c->span, &axis))
                return POISON;
        for (int i = 0; i < x->type.rank; i++)
                order[i] = i == 0 ? axis : i - (i <= axis);
        for (int i = 0; i < x->type.rank; i++)
                back[order[i]] = i;
        const Dim size = x->type.dim[axis];
        Type row = {.dtype = INT, .rank = 1, .dim = {size}};
        Node *pair[] = {
                to_tensor(e, value_dim(e, dim_sub(size, dim_fixed(1))), c->span),
                node_new(e->g, e->body, OP_INDEX, 0, NULL, (Attr){.slot = -1}, row, c->span, e->where)};
        Node *index = pair[0] ? make_node(e, OP_SUB, 2, pair, (Attr){.slot = -1}, c->span) : NULL,
             *front = view_transpose(e->g, e->body, x, order, c->span, e->where);
        Node *y = index && front
                          ? make_node(e, OP_GATHER, 2, (Node *[]){front, index}, (Attr){.slot = -1}, c->span)
                          : NULL;
        return value_tensor(y ? view_transpose(e->g, e->body, y, back, c->span, e->where) : NULL);
}

/* transpose(x), transpose(x, [1, 0, 2]), transpose(x, from, to): moves one axis */
Value run_transpose(const BuiltinCall *c)
{
        Elaborator *e = c->e;
        Node *x = call_tensor(c, 0);
        int perm[MAX_RANK], from, to, rank = x ? x->type.rank : 0;
        bool taken[MAX_RANK] = {false};
        if (!x)
                return POISON;
        if (c->npos == 1)
                return transpose_last(e, c->pos[0], c->span);
        if (c->npos == 3) {
                if (!want_axis(e, c->pos[1], x, c->pos_span[1], &from) ||
                    !want_axis(e, c->pos[2], x, c->pos_span[2], &to))
                        return POISON;
                for (int i = 0, next = 0; i < rank; i++) {
                        next += next == from;
                        perm[i] = i == to ? from : next++;
                }
                return value_tensor(view_transpose(e->g, e->body, x, perm, c->span, e->where));
        }
        const Value list = c->pos[1];
        if (list.kind != V_LIST || list.list->n != rank)
                return poisoned(e, c->pos_span[1], "the order of %s is a list of its %d axes",
                                type_text(e->diag->arena, e->g, &x->type), rank);
        for (int i = 0; i < rank; i++) {
                if (!want_axis(e, list.list->item[i], x, c->pos_span[1], &perm[i]))
                        return POISON;
                if (taken[perm[i]])
                        return poisoned(e, c->pos_span[1], "axis %d occurs twice in the order", perm[i]);
                taken[perm[i]] = true;
        }
        return value_tensor(view_transpose(e->g, e->body, x, perm, c->span, e->where));
}

Value run_pad(const BuiltinCall *c)
{
        Elaborator *e = c->e;
        Node *x = call_tensor(c, 0);
        Value axis = call_option(c, "axis"), before = call_option(c, "before"),
              after = call_option(c, "after"), value = call_option(c, "value");
        Attr attr = {.before = dim_fixed(0), .after = dim_fixed(0)};
        if (!x || !want_axis(e, axis.kind == V_NONE ? value_int(-1) : axis, x, c->span, &attr.axis))
                return POISON;
        if (before.kind != V_NONE && !want_dim(e, before, c->span, "before", &attr.before))
                return POISON;
        if (after.kind != V_NONE && !want_dim(e, after, c->span, "after", &attr.after))
                return POISON;
        if (value.kind != V_NONE && !is_number(value))
                return is_poison(value)
                               ? POISON
                               : poisoned(e, c->span, "value: is a number, not %s", value_text_of(e, value));
        attr.value = value.kind == V_NONE ? 0 : value.number;
        if (!check_float(e, attr.value, c->span))
                return POISON;
        return value_tensor(make_node(e, OP_PAD, 1, &x, attr, c->span));
}

/* window(x, n; stride, axis): [.., T, ..] -> [.., T', n, ..]; element (t, k) is x at stride * t + k */
Value run_window(const BuiltinCall *c)
{
        Elaborator *e = c->e;
        Node *x = call_tensor(c, 0);
        Value option_axis = call_option(c, "axis"), option_stride = call_option(c, "stride");
        int64_t n, stride = 1;
        int axis;
        if (!x || !want_int(e, c->pos[1], c->pos_span[1], "a window's size", &n) ||
            !want_axis(e, option_axis.kind == V_NONE ? value_int(0) : option_axis, x, c->span, &axis) ||
            (option_stride.kind != V_NONE && !want_int(e, option_stride, c->span, "stride", &stride)))
                return POISON;
        Type type = x->type;
        Dim room = dim_sub(type.dim[axis], dim_fixed(n)), steps;
        if (n < 1 || stride < 1 || !dim_at_least(e->g, room, 0))
                return poisoned(e, c->span, "windows of %lld by steps of %lld don't fit into %s",
                                (long long)n, (long long)stride, type_text(e->diag->arena, e->g, &type));
        if (dim_is_fixed(room))
                room.fixed -= room.fixed % stride;
        if (!dim_div(room, dim_fixed(stride), &steps) || type.rank == MAX_RANK)
                return poisoned(e, c->span, "the step %lld does not divide %s", (long long)stride,
                                dim_text(e->diag->arena, e->g, room));
        View *view = NEW(e->arena, View);
        for (int i = 0; i < type.rank; i++) {
                Dim size = i == axis ? dim_add(steps, dim_fixed(1)) : type.dim[i];
                view->atom[view->natom] = (Atom){size, i + (i > axis), i, i == axis ? stride : 1};
                view->natom++;
                if (i == axis)
                        view->atom[view->natom++] = (Atom){dim_fixed(n), i + 1, i, 1};
        }
        for (int i = 0; i < view->natom; i++)
                if (dim_is(view->atom[i].size, 1))
                        view->atom[i].axis = -1, view->atom[i].stride = 0;
        return value_tensor(make_node(e, OP_VIEW, 1, &x, (Attr){.view = view}, c->span));
}
