/* Builtins: functions that can't be written in the language itself.  Each is a row of the table at the
 * end; the same names work on compile-time numbers and on tensors. */
#include "elaborate_private.h"

#include <math.h>
#include <string.h>

Value call_option(const BuiltinCall *c, const char *name)
{
        for (int i = 0; i < c->named->n; i++)
                if (strcmp(c->named->binding[i].name, name) == 0)
                        return c->named->binding[i].value;
        return NOTHING;
}

Node *make_node(Elaborator *e, Op op, int nin, Node *const *in, Attr attr, Span span)
{
        if (op != OP_CONST)
                attr.slot = -1;
        return build(e->g, e->body, e->diag, op, nin, in, &attr, span, e->where);
}

Node *call_tensor(const BuiltinCall *c, int i)
{
        return to_tensor(c->e, c->pos[i], c->pos_span[i]);
}

/* ---- pointwise ---- */

#define POINTWISE(name, op)                                                                                  \
        static Value run_##name(const BuiltinCall *c)                                                        \
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

static Value run_abs(const BuiltinCall *c)
{
        Value v = c->pos[0];
        if (is_number(v))
                return value_number(fabs(v.number), v.kind == V_INT);
        /* Of two zeros a maximum is the second: max(-x, x) of +0 is +0.  A real x may also be -0, and -0 + 0 is +0. */
        Node *x = call_tensor(c, 0), *zero = to_tensor(c->e, value_number(0, true), c->span);
        Node *negated = x ? make_node(c->e, OP_NEG, 1, &x, (Attr){0}, c->span) : NULL;
        if (!negated || !zero)
                return POISON;
        Node *larger = make_node(c->e, OP_MAX, 2, (Node *[]){negated, x}, (Attr){0}, c->span);
        if (larger && larger->type.dtype == REAL)
                larger = make_node(c->e, OP_ADD, 2, (Node *[]){larger, zero}, (Attr){0}, c->span);
        return larger ? value_tensor(larger) : POISON;
}

static Value run_where(const BuiltinCall *c)
{
        if (c->pos[0].kind == V_BOOL)
                return c->pos[c->pos[0].number != 0 ? 1 : 2];
        Node *in[3];
        for (int i = 0; i < 3; i++)
                if (!(in[i] = call_tensor(c, i)))
                        return POISON;
        return value_tensor(make_node(c->e, OP_WHERE, 3, in, (Attr){0}, c->span));
}

/* ---- along an axis ---- */

/* Without `axis:` the last axis is folded and kept with size 1; with it, the axis is removed. */
static Value builtin_reduce(const BuiltinCall *c, Op op)
{
        Value axis = call_option(c, "axis");
        Node *x = call_tensor(c, 0);
        int at;
        if (!x)
                return POISON;
        if (x->type.rank == 0)
                return poisoned(c->e, c->pos_span[0], "%s of a scalar: there is no axis to fold", c->name);
        if (axis.kind == V_NONE)
                at = x->type.rank - 1;
        else if (!want_axis(c->e, axis, x, c->span, &at))
                return POISON;
        Node *y = make_node(c->e, op, 1, &x, (Attr){.axis = at}, c->span);
        if (y && axis.kind != V_NONE)
                y = view_drop(c->e->g, c->e->body, y, at, c->span, c->e->where);
        return value_tensor(y);
}

static Value run_sum(const BuiltinCall *c)
{
        return builtin_reduce(c, OP_SUM);
}

static Value run_argmax(const BuiltinCall *c)
{
        return builtin_reduce(c, OP_ARGMAX);
}

static Value builtin_extreme(const BuiltinCall *c, Op op)
{
        Value v = c->pos[0];
        if (c->npos == 1 && op == OP_MAX)
                return builtin_reduce(c, OP_MAXOF);
        if (c->npos == 1) { /* min x = -max -x */
                Value negated = negate(c->e, v, c->span);
                BuiltinCall inner = *c;
                inner.pos = &negated;
                return negate(c->e, builtin_reduce(&inner, OP_MAXOF), c->span);
        }
        if (call_option(c, "axis").kind != V_NONE)
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
                v = value_tensor(make_node(c->e, op, 2, in, (Attr){0}, c->span));
                if (is_poison(v))
                        return v;
        }
        return v;
}

static Value run_max(const BuiltinCall *c)
{
        return builtin_extreme(c, OP_MAX);
}

static Value run_min(const BuiltinCall *c)
{
        return builtin_extreme(c, OP_MIN);
}

static Value run_softmax(const BuiltinCall *c)
{
        Value sink = call_option(c, "sink");
        Node *in[2] = {call_tensor(c, 0), NULL};
        if (sink.kind != V_NONE && in[0] && !(in[1] = to_tensor(c->e, sink, c->span)))
                return POISON;
        return in[0] ? value_tensor(make_node(c->e, OP_SOFTMAX, in[1] ? 2 : 1, in, (Attr){0}, c->span))
                     : POISON;
}

static Value run_top(const BuiltinCall *c)
{
        int64_t k;
        Node *x = call_tensor(c, 0);
        if (!x || !want_int(c->e, c->pos[1], c->pos_span[1], "how many are chosen", &k))
                return POISON;
        if (k < 1 || k > 1 << 24)
                return poisoned(c->e, c->pos_span[1], "top chooses at least 1, not %lld", (long long)k);
        return value_tensor(make_node(c->e, OP_TOP, 1, &x, (Attr){.index = (int)k}, c->span));
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

static Value run_iota(const BuiltinCall *c)
{
        Dim n;
        return want_dim(c->e, c->pos[0], c->pos_span[0], "the number of indices", &n)
                       ? index_node(c->e, n, c->span)
                       : POISON;
}

static Value run_index(const BuiltinCall *c)
{
        Node *x = call_tensor(c, 0);
        int axis;
        if (!x || !want_axis(c->e, c->pos[1], x, c->pos_span[1], &axis))
                return POISON;
        return index_node(c->e, x->type.dim[axis], c->span);
}

/* Indices along an axis counted from the end, with trailing axes of size 1, so that they broadcast against
 * x. */
static Value trailing_index(const BuiltinCall *c, int from_end)
{
        Elaborator *e = c->e;
        Node *x = call_tensor(c, 0);
        if (!x)
                return POISON;
        if (x->type.rank < from_end)
                return poisoned(e, c->span, "%s of %s: at least %d axes are required", c->name,
                                type_text(e->diag->arena, e->g, &x->type), from_end);
        Dim size = x->type.dim[x->type.rank - from_end];
        Value v = index_node(e, size, c->span);
        if (from_end == 1 || is_poison(v))
                return v;
        Type type = {.dtype = INT, .rank = from_end, .dim = {size, dim_fixed(1), dim_fixed(1)}};
        return value_tensor(view_reshape(e->g, e->body, v.tensor, &type, c->span, e->where));
}

static Value run_col(const BuiltinCall *c)
{
        return trailing_index(c, 1);
}

static Value run_row(const BuiltinCall *c)
{
        return trailing_index(c, 2);
}

static Value run_head(const BuiltinCall *c)
{
        return trailing_index(c, 3);
}

/* ---- lists ---- */

/* at(v, i): v, or item i mod length if v is a list */
static Value run_at(const BuiltinCall *c)
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

static Value run_len(const BuiltinCall *c)
{
        if (c->pos[0].kind != V_LIST)
                return poisoned(c->e, c->pos_span[0], "len requires a list, not %s",
                                value_text_of(c->e, c->pos[0]));
        return value_int(c->pos[0].list->n);
}

static Value run_range(const BuiltinCall *c)
{
        enum { LONGEST_RANGE = 100000 };
        int64_t n;
        if (!want_int(c->e, c->pos[0], c->pos_span[0], "the length of a list", &n))
                return POISON;
        if (n < 0 || n > LONGEST_RANGE)
                return poisoned(c->e, c->pos_span[0], "a list has 0 to %d items, not %lld", LONGEST_RANGE,
                                (long long)n);
        Value *item = NEW_ARRAY(c->e->arena, Value, n);
        for (int i = 0; i < (int)n; i++)
                item[i] = value_int(i);
        return value_list(c->e, (int)n, item);
}

/* ---- the table ---- */

/* clang-format off */
static const Builtin builtin[] = {
        {"abs", 1, 1, "", run_abs, "x",
         "element by element"},
        {"argmax", 1, 1, "axis ", run_argmax, "x; axis",
         "the index of the largest along an axis, of equals the first; without axis: along the last, which stays with size 1"},
        {"at", 2, 2, "", run_at, "v, i",
         "of a list its item i mod its length; of anything else that itself"},
        {"atan", 1, 1, "", run_atan, "x",
         "element by element"},
        {"col", 1, 1, "", run_col, "x",
         "the indices along the last axis, [n]"},
        {"cos", 1, 1, "", run_cos, "x",
         "element by element"},
        {"erf", 1, 1, "", run_erf, "x",
         "element by element: the error function"},
        {"exp", 1, 1, "", run_exp, "x",
         "element by element"},
        {"floor", 1, 1, "", run_floor, "x",
         "rounded down, element by element: integers"},
        {"full", 2, 2, "", run_full, "x, sizes",
         "x, a number or a tensor, broadcast to a list of sizes"},
        {"head", 1, 1, "", run_head, "x",
         "the indices along the last but two axis, [n, 1, 1]"},
        {"index", 2, 2, "", run_index, "x, axis",
         "the indices of that axis, [n]"},
        {"iota", 1, 1, "", run_iota, "n",
         "[n]: 0, 1, …"},
        {"join", 1, -1, "axis ", run_join, "a, b, …; axis",
         "one after another along an axis (the last); none is left out"},
        {"len", 1, 1, "", run_len, "list",
         "how many items it has"},
        {"log", 1, 1, "", run_log, "x",
         "element by element: the natural logarithm"},
        {"max", 1, -1, "axis ", run_max, "a, b, …; axis",
         "element by element, broadcast; of one tensor along an axis (without axis: the last, which stays with size 1)"},
        {"merge", 1, 1, "", run_merge, "x",
         "[n, .., d] -> [.., n * d]: undoes split"},
        {"min", 1, -1, "axis ", run_min, "a, b, …; axis",
         "element by element, broadcast; of one tensor along an axis (without axis: the last, which stays with size 1)"},
        {"pad", 1, 1, "axis before after value ", run_pad, "x; axis, before, after, value",
         "elements of value (0) around an axis (the last)"},
        {"range", 1, 1, "", run_range, "n",
         "the list 0, 1, … n - 1"},
        {"real", 1, 1, "", run_real, "x",
         "integers as reals"},
        {"reshape", 2, 2, "", run_reshape, "x, sizes",
         ".. in the list keeps the axes that the others leave"},
        {"reverse", 1, 1, "axis ", run_reverse, "x; axis",
         "the elements along an axis (the first) in reverse"},
        {"row", 1, 1, "", run_row, "x",
         "the indices along the last but one axis, [n, 1]"},
        {"sin", 1, 1, "", run_sin, "x",
         "element by element"},
        {"softmax", 1, 1, "sink ", run_softmax, "x; sink",
         "along the last axis: exp(x - max x) / sum; sink: takes part in maximum and sum; a row that is all -inf becomes 0"},
        {"split", 1, 2, "sizes axis ", run_split, "x, n; sizes, axis",
         "[.., n * d] -> [n, .., d]; with sizes: a list of parts of these sizes along an axis (the last)"},
        {"spread", 2, 2, "", run_spread, "x, n",
         "[g, ..] -> [n, ..], each repeated n / g times; a matrix [..] becomes [n, ..]"},
        {"sqrt", 1, 1, "", run_sqrt, "x",
         "element by element"},
        {"stack", 1, -1, "axis ", run_stack, "a, b, …; axis",
         "along a new axis (the first), after broadcasting"},
        {"sum", 1, 1, "axis ", run_sum, "x; axis",
         "along an axis; without axis: along the last, which stays with size 1"},
        {"tanh", 1, 1, "", run_tanh, "x",
         "element by element"},
        {"top", 2, 2, "", run_top, "x, k",
         "truths: whether an element is among the k largest of the last axis; of equals the first"},
        {"transpose", 1, 3, "", run_transpose, "x, …",
         "like x'; transpose(x, order): axes in this order; transpose(x, from, to): one axis moved"},
        {"where", 3, 3, "", run_where, "c, a, b",
         "a where c holds, else b; broadcast"},
        {"window", 2, 2, "stride axis ", run_window, "x, n; stride, axis",
         "[.., T, ..] -> [.., (T - n) / stride + 1, n, ..]: element (t, k) is x at stride t + k; along the first axis unless axis: says another"},
};
/* clang-format on */
enum { NBUILTIN = sizeof builtin / sizeof *builtin };

int builtin_names(const char **name, int max)
{
        int n = 0;
        for (int i = 0; i < NBUILTIN && n < max; i++)
                name[n++] = builtin[i].name;
        return n;
}

static const Builtin *builtin_row(const char *name)
{
        int low = 0, high = NBUILTIN;
        while (low < high) {
                int middle = (low + high) / 2, order = strcmp(name, builtin[middle].name);
                if (order == 0)
                        return &builtin[middle];
                low = order < 0 ? low : middle + 1;
                high = order < 0 ? middle : high;
        }
        return NULL;
}

const char *builtin_takes(const char *name, const char **about)
{
        const Builtin *row = builtin_row(name);
        if (row)
                *about = row->about;
        return row ? row->takes : NULL;
}

bool builtin_find(Elaborator *e, const char *name, Value *value)
{
        const Builtin *row = builtin_row(name);
        if (row) {
                Block *b = NEW(e->arena, Block);
                b->builtin = row;
                b->name = row->name;
                return *value = (Value){.kind = V_BLOCK, .block = b}, true;
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
        BuiltinCall call = {e, npos, pos, pos_span, named, span, b->name};
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
                hint_axis(e, b->name, named->binding[i].name, has_option(b, "axis"));
                if (*b->options)
                        diag_hint(e->diag, "by name it takes: %.*s", (int)strlen(b->options) - 1, b->options);
                return POISON;
        }
        if (npos < b->min)
                return poisoned(e, span, "%s requires %d arguments, not %d", b->name, b->min, npos);
        if (b->max >= 0 && npos > b->max) {
                poisoned(e, pos_span[b->max], "%s takes %d argument%s by position, not %d", b->name, b->max,
                         b->max == 1 ? "" : "s", npos);
                if (b->max == 1)
                        hint_axis(e, b->name, "dim", has_option(b, "axis"));
                return POISON;
        }
        return b->run(&call);
}
