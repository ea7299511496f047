/* Builtins: what can't be written in the language itself.  Each is a row of the table at the end;
 * compile-time numbers go through the same names as tensors. */
#include "elaborate_private.h"

#include <math.h>
#include <string.h>

static Value option(const Call *c, const char *name)
{
        for (int i = 0; i < c->named->n; i++)
                if (strcmp(c->named->binding[i].name, name) == 0)
                        return c->named->binding[i].value;
        return NOTHING;
}

static Node *make(Elaborator *e, Op op, int nin, Node *const *in, Attr attr, Span span)
{
        if (op != OP_CONST)
                attr.slot = -1;
        return build(e->g, e->body, e->diag, op, nin, in, &attr, span, e->where);
}

static Node *tensor_argument(const Call *c, int i)
{
        return to_tensor(c->e, c->pos[i], c->pos_span[i]);
}

/* ---- pointwise ---- */

#define POINTWISE(name, op)                                                                                  \
        static Value run_##name(const Call *c)                                                               \
        {                                                                                                    \
                return unary_op(c->e, op, c->pos[0], c->span);                                               \
        }
POINTWISE(exp, OP_EXP)
POINTWISE(log, OP_LOG)
POINTWISE(sqrt, OP_SQRT)
POINTWISE(sin, OP_SIN)
POINTWISE(cos, OP_COS)
POINTWISE(tanh, OP_TANH)
POINTWISE(floor, OP_FLOOR)
POINTWISE(real, OP_REAL_OF)
POINTWISE(erf, OP_ERF)
POINTWISE(atan, OP_ATAN)
#undef POINTWISE

static Value run_abs(const Call *c)
{
        Value v = c->pos[0];
        if (is_number(v))
                return value_number(fabs(v.number), v.kind == V_INT);
        Node *x = tensor_argument(c, 0);
        Node *negated = x ? make(c->e, OP_NEG, 1, &x, (Attr){0}, c->span) : NULL;
        return negated ? value_tensor(make(c->e, OP_MAX, 2, (Node *[]){x, negated}, (Attr){0}, c->span))
                       : POISON;
}

static Value run_where(const Call *c)
{
        if (c->pos[0].kind == V_BOOL)
                return c->pos[c->pos[0].number != 0 ? 1 : 2];
        Node *in[3];
        for (int i = 0; i < 3; i++)
                if (!(in[i] = tensor_argument(c, i)))
                        return POISON;
        return value_tensor(make(c->e, OP_WHERE, 3, in, (Attr){0}, c->span));
}

/* ---- along an axis ---- */

/* Without `axis:` the last axis is folded and kept with size 1; with it, the axis goes. */
static Value reduce(const Call *c, Op op)
{
        Value axis = option(c, "axis");
        Node *x = tensor_argument(c, 0);
        int at;
        if (!x)
                return POISON;
        if (x->type.rank == 0)
                return poisoned(c->e, c->pos_span[0], "%s of a scalar: there is no axis to fold", c->name);
        if (axis.kind == V_NONE)
                at = x->type.rank - 1;
        else if (!want_axis(c->e, axis, x, c->span, &at))
                return POISON;
        Node *y = make(c->e, op, 1, &x, (Attr){.axis = at}, c->span);
        if (y && axis.kind != V_NONE)
                y = view_drop(c->e->g, c->e->body, y, at, c->span, c->e->where);
        return value_tensor(y);
}

static Value run_sum(const Call *c)
{
        return reduce(c, OP_SUM);
}

static Value run_argmax(const Call *c)
{
        return reduce(c, OP_ARGMAX);
}

static Value extreme(const Call *c, Op op)
{
        Value v = c->pos[0];
        if (c->npos == 1 && op == OP_MAX)
                return reduce(c, OP_MAXOF);
        if (c->npos == 1) { /* min x = -max -x */
                Value negated = negate(c->e, v, c->span);
                Call inner = *c;
                inner.pos = &negated;
                return negate(c->e, reduce(&inner, OP_MAXOF), c->span);
        }
        if (option(c, "axis").kind != V_NONE)
                return poisoned(c->e, c->span, "%s of several values folds no axis", c->name);
        for (int i = 1; i < c->npos; i++) {
                Value w = c->pos[i];
                if (is_number(v) && is_number(w)) {
                        bool is_int = v.kind == V_INT && w.kind == V_INT, more = v.number > w.number;
                        v = value_number(more == (op == OP_MAX) ? v.number : w.number, is_int);
                        continue;
                }
                Node *in[2] = {to_tensor(c->e, v, c->pos_span[0]), to_tensor(c->e, w, c->pos_span[i])};
                if (!in[0] || !in[1])
                        return POISON;
                v = value_tensor(make(c->e, op, 2, in, (Attr){0}, c->span));
                if (is_poison(v))
                        return v;
        }
        return v;
}

static Value run_max(const Call *c)
{
        return extreme(c, OP_MAX);
}

static Value run_min(const Call *c)
{
        return extreme(c, OP_MIN);
}

static Value run_softmax(const Call *c)
{
        Value sink = option(c, "sink");
        Node *in[2] = {tensor_argument(c, 0), NULL};
        if (sink.kind != V_NONE && in[0] && !(in[1] = to_tensor(c->e, sink, c->span)))
                return POISON;
        return in[0] ? value_tensor(make(c->e, OP_SOFTMAX, in[1] ? 2 : 1, in, (Attr){0}, c->span)) : POISON;
}

static Value run_top(const Call *c)
{
        int64_t k;
        Node *x = tensor_argument(c, 0);
        if (!x || !want_int(c->e, c->pos[1], c->pos_span[1], "how many are chosen", &k))
                return POISON;
        if (k < 1 || k > 1 << 24)
                return poisoned(c->e, c->pos_span[1], "top chooses at least 1, not %lld", (long long)k);
        return value_tensor(make(c->e, OP_TOP, 1, &x, (Attr){.index = (int)k}, c->span));
}

/* ---- movement ---- */

/* The arguments, or the items of the one list; pieces of size 0 (none) are left out. */
static int gather_parts(const Call *c, Value **part, Span **span)
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
        while (n > AT_ONCE) { /* as many as a node takes, then what that gives */
                int made = 0;
                for (int i = 0; i < n; i += AT_ONCE) {
                        int count = n - i < AT_ONCE ? n - i : AT_ONCE;
                        if (!(in[made++] = make(e, OP_JOIN, count, in + i, (Attr){.axis = axis}, span)))
                                return NULL;
                }
                n = made;
        }
        return n == 1 ? in[0] : make(e, OP_JOIN, n, in, (Attr){.axis = axis}, span);
}

static Value run_join(const Call *c)
{
        Value *part, axis = option(c, "axis");
        Span *span;
        int n, at;
        if (c->npos == 1 &&
            c->pos[0].kind == V_TENSOR) { /* [n, .., d]: the outermost axis's parts beside each other */
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

/* Parts of equal rank, or scalars, along a new axis; those of size 1 are broadcast to the others. */
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

static Value run_stack(const Call *c)
{
        Value *part, axis = option(c, "axis");
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

static Value split_sizes(const Call *c, Node *x, Value sizes)
{
        Elaborator *e = c->e;
        int axis;
        Value at = option(c, "axis");
        if (sizes.kind != V_LIST)
                return is_poison(sizes)
                               ? POISON
                               : poisoned(e, c->span, "sizes: wants a list, not %s", value_text_of(e, sizes));
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

/* What an argument is called in a message: "heads (7)". */
static const char *argument_text(const Call *c, int i, int64_t n)
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
static Value run_split(const Call *c)
{
        Elaborator *e = c->e;
        int64_t n;
        Node *x = tensor_argument(c, 0);
        Value sizes = option(c, "sizes");
        if (!x || is_poison(sizes))
                return POISON;
        if (sizes.kind != V_NONE && c->npos == 1)
                return split_sizes(c, x, sizes);
        if (c->npos != 2 || sizes.kind != V_NONE)
                return poisoned(e, c->span, "split wants the number of parts, or sizes: a list");
        if (!want_int(e, c->pos[1], c->pos_span[1], "the number of parts", &n))
                return POISON;
        Dim part;
        if (x->type.rank == 0)
                return poisoned(e, c->pos_span[0], "a scalar can't be split");
        if (n < 1 || !dim_div(x->type.dim[x->type.rank - 1], dim_fixed(n), &part))
                return poisoned(e, c->span, "split: %s does not divide the last axis of %s",
                                argument_text(c, 1, n), type_text(e->diag->arena, e->g, &x->type));
        if (option(c, "axis").kind != V_NONE)
                return poisoned(e, c->span, "split into equal parts takes the last axis; with sizes: any");
        return value_tensor(view_split(e->g, e->body, x, n, c->span, e->where));
}

static Value run_merge(const Call *c)
{
        Node *x = tensor_argument(c, 0);
        if (!x)
                return POISON;
        if (x->type.rank < 2)
                return poisoned(c->e, c->span, "merge wants [n, .., d], not %s",
                                type_text(c->e->diag->arena, c->e->g, &x->type));
        return value_tensor(view_merge(c->e->g, c->e->body, x, c->span, c->e->where));
}

/* spread(k, n): [g, ..] -> [n, ..]; of a matrix that all share, [..] -> [n, ..] */
static Value run_spread(const Call *c)
{
        Elaborator *e = c->e;
        int64_t n;
        Node *x = tensor_argument(c, 0);
        Dim each;
        if (!x || !want_int(e, c->pos[1], c->pos_span[1], "how many spread makes", &n))
                return POISON;
        if (x->type.rank == 2)
                x = insert_axis(e, x, 0, c->span);
        if (!x)
                return POISON;
        if (n < 1 || x->type.rank == 0 || !dim_div(dim_fixed(n), x->type.dim[0], &each))
                return poisoned(e, c->span, "spread: the outermost axis of %s does not divide %s",
                                type_text(e->diag->arena, e->g, &x->type), argument_text(c, 1, n));
        return value_tensor(view_spread(e->g, e->body, x, n, c->span, e->where));
}

/* The sizes asked for; `..` keeps the axes of x that the sizes on its two sides leave. */
static bool reshape_type(const Call *c, const Node *x, const List *list, Type *type)
{
        Elaborator *e = c->e;
        int ellipsis = -1, kept = 0;
        for (int i = 0; i < list->n; i++)
                if (list->item[i].kind == V_TEXT)
                        ellipsis = i;
        *type = (Type){.dtype = x->type.dtype};
        if (ellipsis == 0) { /* all leading axes but those whose elements the sizes take up */
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
        if (ellipsis > 0) { /* as many trailing axes as stay when the first sizes take up the leading ones */
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

static Value run_reshape(const Call *c)
{
        Elaborator *e = c->e;
        Type type;
        Node *x = tensor_argument(c, 0);
        if (!x)
                return POISON;
        if (c->pos[1].kind != V_LIST)
                return poisoned(e, c->pos_span[1], "reshape wants a list of sizes, not %s",
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

/* transpose(x), transpose(x, [1, 0, 2]), transpose(x, from, to): one axis moved */
static Value run_transpose(const Call *c)
{
        Elaborator *e = c->e;
        Node *x = tensor_argument(c, 0);
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
                        return poisoned(e, c->pos_span[1], "axis %d stands twice in the order", perm[i]);
                taken[perm[i]] = true;
        }
        return value_tensor(view_transpose(e->g, e->body, x, perm, c->span, e->where));
}

static Value run_pad(const Call *c)
{
        Elaborator *e = c->e;
        Node *x = tensor_argument(c, 0);
        Value axis = option(c, "axis"), before = option(c, "before"), after = option(c, "after"),
              value = option(c, "value");
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
        return value_tensor(make(e, OP_PAD, 1, &x, attr, c->span));
}

/* window(x, n; stride, axis): [.., T, ..] -> [.., T', n, ..], element (t, k) of which is x at stride * t + k
 */
static Value run_window(const Call *c)
{
        Elaborator *e = c->e;
        Node *x = tensor_argument(c, 0);
        Value option_axis = option(c, "axis"), option_stride = option(c, "stride");
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
        return value_tensor(make(e, OP_VIEW, 1, &x, (Attr){.view = view}, c->span));
}

/* ---- indices ---- */

static Value index_node(Elaborator *e, Dim size, Span span)
{
        Type type = {.dtype = INT, .rank = 1, .dim = {size}};
        if (!dim_at_least(e->g, size, 1))
                return poisoned(e, span, "there are no %s indices", dim_text(e->diag->arena, e->g, size));
        return value_tensor(
                node_new(e->g, e->body, OP_INDEX, 0, NULL, (Attr){.slot = -1}, type, span, e->where));
}

static Value run_iota(const Call *c)
{
        Dim n;
        return want_dim(c->e, c->pos[0], c->pos_span[0], "the number of indices", &n)
                       ? index_node(c->e, n, c->span)
                       : POISON;
}

static Value run_index(const Call *c)
{
        Node *x = tensor_argument(c, 0);
        int axis;
        if (!x || !want_axis(c->e, c->pos[1], x, c->pos_span[1], &axis))
                return POISON;
        return index_node(c->e, x->type.dim[axis], c->span);
}

/* Indices along an axis counted from the end, with axes of size 1 after it: they broadcast against x. */
static Value trailing_index(const Call *c, int from_end)
{
        Elaborator *e = c->e;
        Node *x = tensor_argument(c, 0);
        if (!x)
                return POISON;
        if (x->type.rank < from_end)
                return poisoned(e, c->span, "%s of %s: it wants at least %d axes", c->name,
                                type_text(e->diag->arena, e->g, &x->type), from_end);
        Dim size = x->type.dim[x->type.rank - from_end];
        Value v = index_node(e, size, c->span);
        if (from_end == 1 || is_poison(v))
                return v;
        Type type = {.dtype = INT, .rank = from_end, .dim = {size, dim_fixed(1), dim_fixed(1)}};
        return value_tensor(view_reshape(e->g, e->body, v.tensor, &type, c->span, e->where));
}

static Value run_col(const Call *c)
{
        return trailing_index(c, 1);
}

static Value run_row(const Call *c)
{
        return trailing_index(c, 2);
}

static Value run_head(const Call *c)
{
        return trailing_index(c, 3);
}

/* ---- lists ---- */

/* at(v, i): v, or item i mod length of a list */
static Value run_at(const Call *c)
{
        int64_t i;
        if (c->pos[0].kind != V_LIST)
                return c->pos[0];
        if (!want_int(c->e, c->pos[1], c->pos_span[1], "a list's index", &i))
                return POISON;
        const List *list = c->pos[0].list;
        if (list->n == 0 || i < 0)
                return poisoned(c->e, c->span, "a list of %d has no item %lld", list->n, (long long)i);
        return list->item[i % list->n];
}

static Value run_len(const Call *c)
{
        if (c->pos[0].kind != V_LIST)
                return poisoned(c->e, c->pos_span[0], "len wants a list, not %s",
                                value_text_of(c->e, c->pos[0]));
        return value_int(c->pos[0].list->n);
}

/* ---- the table ---- */

static const Builtin builtin[] = {
        {"abs", 1, 1, "", run_abs},
        {"argmax", 1, 1, "axis ", run_argmax},
        {"at", 2, 2, "", run_at},
        {"atan", 1, 1, "", run_atan},
        {"col", 1, 1, "", run_col},
        {"cos", 1, 1, "", run_cos},
        {"erf", 1, 1, "", run_erf},
        {"exp", 1, 1, "", run_exp},
        {"floor", 1, 1, "", run_floor},
        {"head", 1, 1, "", run_head},
        {"index", 2, 2, "", run_index},
        {"iota", 1, 1, "", run_iota},
        {"join", 1, -1, "axis ", run_join},
        {"len", 1, 1, "", run_len},
        {"log", 1, 1, "", run_log},
        {"max", 1, -1, "axis ", run_max},
        {"merge", 1, 1, "", run_merge},
        {"min", 1, -1, "axis ", run_min},
        {"pad", 1, 1, "axis before after value ", run_pad},
        {"real", 1, 1, "", run_real},
        {"reshape", 2, 2, "", run_reshape},
        {"row", 1, 1, "", run_row},
        {"sin", 1, 1, "", run_sin},
        {"softmax", 1, 1, "sink ", run_softmax},
        {"split", 1, 2, "sizes axis ", run_split},
        {"spread", 2, 2, "", run_spread},
        {"sqrt", 1, 1, "", run_sqrt},
        {"stack", 1, -1, "axis ", run_stack},
        {"sum", 1, 1, "axis ", run_sum},
        {"tanh", 1, 1, "", run_tanh},
        {"top", 2, 2, "", run_top},
        {"transpose", 1, 3, "", run_transpose},
        {"where", 3, 3, "", run_where},
        {"window", 2, 2, "stride axis ", run_window},
};
enum { NBUILTIN = sizeof builtin / sizeof *builtin };

int builtin_names(const char **name, int max)
{
        int n = 0;
        for (int i = 0; i < NBUILTIN && n < max; i++)
                name[n++] = builtin[i].name;
        return n;
}

bool builtin_find(Elaborator *e, const char *name, Value *value)
{
        int low = 0, high = NBUILTIN;
        while (low < high) {
                int middle = (low + high) / 2, order = strcmp(name, builtin[middle].name);
                if (order == 0) {
                        Block *b = NEW(e->arena, Block);
                        b->builtin = &builtin[middle];
                        b->name = builtin[middle].name;
                        return *value = (Value){.kind = V_BLOCK, .block = b}, true;
                }
                low = order < 0 ? low : middle + 1;
                high = order < 0 ? middle : high;
        }
        if (strcmp(name, "pi") == 0)
                return *value = value_number(3.14159265358979323846, false), true;
        if (strcmp(name, "inf") == 0)
                return *value = value_number(INFINITY, false), true;
        return false;
}

static bool has_option(const Builtin *b, const char *name)
{
        size_t n = strlen(name);
        for (const char *p = b->options; *p; p = strchr(p, ' ') + 1)
                if (strncmp(p, name, n) == 0 && p[n] == ' ')
                        return true;
        return false;
}

Value builtin_call(Elaborator *e, const Builtin *b, int npos, const Value *pos, const Span *pos_span,
                   const Vars *named, Span span)
{
        Call call = {e, npos, pos, pos_span, named, span, b->name};
        for (int i = 0; i < npos; i++)
                if (is_poison(pos[i]))
                        return POISON;
        for (int i = 0; i < named->n; i++) {
                if (is_poison(named->binding[i].value))
                        return POISON;
                if (has_option(b, named->binding[i].name))
                        continue;
                poisoned(e, named->binding[i].span, "%s has no parameter %s", b->name,
                         named->binding[i].name);
                if (*b->options)
                        diag_hint(e->diag, "by name it takes: %s", b->options);
                return POISON;
        }
        if (npos < b->min)
                return poisoned(e, span, "%s wants %d arguments, not %d", b->name, b->min, npos);
        if (b->max >= 0 && npos > b->max)
                return poisoned(e, pos_span[b->max], "%s takes %d argument%s by position, not %d", b->name,
                                b->max, b->max == 1 ? "" : "s", npos);
        return b->run(&call);
}
