/* Values of the elaborator: creation, description in messages, and conversion to dimensions, axes and
 * tensors. */
#include "elaborate_private.h"

#include <math.h>
#include <string.h>

const Value NOTHING = {.kind = V_NONE};
const Value POISON = {.kind = V_POISON};

Value value_bool(bool b)
{
        return (Value){.kind = V_BOOL, .number = b};
}

/* An integer that a double can't represent exactly is a real. */
Value value_number(double x, bool is_int)
{
        bool exact = is_int && fabs(x) <= 9007199254740992.0;
        return (Value){.kind = exact ? V_INT : V_REAL, .number = exact ? x + 0.0 : x};
}

Value value_int(int64_t n)
{
        return value_number((double)n, true);
}

Value value_dim(Elaborator *e, Dim d)
{
        if (dim_is_fixed(d))
                return value_int(d.fixed);
        Dim *kept = NEW(e->keep, Dim);
        *kept = d;
        return (Value){.kind = V_DIM, .dim = kept};
}

Value value_tensor(Node *n)
{
        return n ? (Value){.kind = V_TENSOR, .tensor = n} : POISON;
}

Value value_text(const char *text)
{
        return (Value){.kind = V_TEXT, .text = text};
}

Value value_list(Elaborator *e, int n, const Value *item)
{
        List *list = NEW(e->arena, List);
        list->n = n;
        list->item = NEW_ARRAY(e->arena, Value, n);
        if (n > 0)
                memcpy(list->item, item, (size_t)n * sizeof *item);
        return (Value){.kind = V_LIST, .list = list};
}

bool is_number(Value v)
{
        return v.kind == V_INT || v.kind == V_REAL;
}

bool is_poison(Value v)
{
        return v.kind == V_POISON;
}

/* Description of a value for messages. */
const char *value_text_of(Elaborator *e, Value v)
{
        switch (v.kind) {
        case V_POISON: return "nothing";
        case V_NONE: return "none";
        case V_BOOL: return v.number != 0 ? "true" : "false";
        case V_INT:
        case V_REAL: return arena_printf(e->diag->arena, "%.15g", v.number);
        case V_TEXT: return arena_printf(e->diag->arena, "the text \"%s\"", v.text);
        case V_LIST: return arena_printf(e->diag->arena, "a list of %d", v.list->n);
        case V_DIM:
                return arena_printf(e->diag->arena,
                                    names_position(*v.dim) ? "the position %s" : "the dimension %s",
                                    dim_text(e->diag->arena, e->g, *v.dim));
        case V_TENSOR:
                if (v.tensor->type.rank == 0)
                        return "a number that the model computes";
                return arena_printf(e->diag->arena, "a tensor %s",
                                    type_text(e->diag->arena, e->g, &v.tensor->type));
        case V_BLOCK: return arena_printf(e->diag->arena, "the block %s", v.block->name);
        case V_SCHEME: return arena_printf(e->diag->arena, "the scheme %s", v.scheme->name);
        case V_GROUP: return arena_printf(e->diag->arena, "the inputs %s", v.group->name);
        case V_PATH: return arena_printf(e->diag->arena, "the weights under %s", v.path->node->name);
        }
        return "";
}

/* Equality of values known at compile time; values of different kinds differ. */
bool value_same(Value a, Value b)
{
        if ((is_number(a) || a.kind == V_BOOL) && (is_number(b) || b.kind == V_BOOL))
                return a.number == b.number;
        if (a.kind != b.kind)
                return false;
        switch ((int)a.kind) {
        case V_POISON:
        case V_NONE: return true;
        case V_TEXT: return strcmp(a.text, b.text) == 0;
        case V_LIST:
                if (a.list->n != b.list->n)
                        return false;
                for (int i = 0; i < a.list->n; i++)
                        if (!value_same(a.list->item[i], b.list->item[i]))
                                return false;
                return true;
        case V_DIM: return dim_equal(*a.dim, *b.dim);
        case V_TENSOR: return a.tensor == b.tensor;
        case V_BLOCK:
                return a.block == b.block ||
                       (a.block->def == b.block->def && a.block->builtin == b.block->builtin &&
                        a.block->scope == b.block->scope && a.block->bound.n == 0 && b.block->bound.n == 0);
        case V_SCHEME: return a.scheme == b.scheme;
        case V_GROUP: return a.group == b.group;
        case V_PATH: return a.path == b.path;
        }
        return false;
}

/* ---- dimensions and axes ---- */

bool as_dim(Value v, Dim *d)
{
        if (v.kind == V_INT)
                *d = dim_fixed((int64_t)v.number);
        else if (v.kind == V_DIM)
                *d = *v.dim;
        else
                return false;
        return true;
}

/* Whether d >= least for all sizes of the named dimensions, 1 .. bound. */
bool dim_at_least(const Graph *g, Dim d, int64_t least)
{
        return dim_least(g, d) >= least;
}

static const char *spelled(Elaborator *e, const Ast *ast, double value)
{
        switch (ast->kind) {
        case AST_NAME: return arena_printf(e->diag->arena, "%s (%.15g)", ast->name, value);
        case AST_FIELD:
                if (ast->kid[0]->kind == AST_NAME)
                        return arena_printf(e->diag->arena, "%s.%s (%.15g)", ast->kid[0]->name, ast->name,
                                            value);
                return arena_printf(e->diag->arena, "%.15g", value);
        default: return arena_printf(e->diag->arena, "%.15g", value);
        }
}

/* Whether x is an integer up to the rounding of a quotient such as 8 * (64 / 3) * 3. */
static bool value_is_integer(double x)
{
        return fabs(x - nearbyint(x)) <= 1e-9 * fabs(x) && fabs(x) < 9e15;
}

bool want_dim(Elaborator *e, Value v, Span span, const char *what, Dim *d)
{
        *d = dim_fixed(1);
        if (is_poison(v))
                return false;
        if (v.kind == V_REAL && value_is_integer(v.number))
                v = value_number(nearbyint(v.number), true);
        if (v.kind == V_REAL && v.quotient) {
                const Quotient *q = v.quotient;
                poisoned(e, span, "%s does not divide %s", spelled(e, q->division->kid[1], q->right),
                         spelled(e, q->division->kid[0], q->left));
                diag_note(e->diag, q->division->span, "%s must be whole; this is %.6g", what,
                          q->left / q->right);
                return false;
        }
        if (v.kind == V_REAL)
                return poisoned(e, span, "%s must be whole, not %.15g", what, v.number), false;
        if (!as_dim(v, d))
                return poisoned(e, span, "%s must be a whole number, not %s", what, value_text_of(e, v)),
                       false;
        if (names_position(*d)) {
                poisoned(e, span, "%s can't depend on the position %s", what,
                         dim_text(e->diag->arena, e->g, *d));
                return *d = dim_fixed(1), false;
        }
        if (!dim_at_least(e->g, *d, 0)) {
                poisoned(e, span, "%s would be %s", what, dim_text(e->diag->arena, e->g, *d));
                return *d = dim_fixed(1), false;
        }
        return true;
}

bool want_int(Elaborator *e, Value v, Span span, const char *what, int64_t *n)
{
        *n = 0;
        if (is_poison(v))
                return false;
        if (is_number(v) && value_is_integer(v.number))
                return *n = (int64_t)nearbyint(v.number), true;
        if (v.kind == V_REAL && v.quotient) {
                Dim d;
                return want_dim(e, v, span, what, &d);
        }
        if (v.kind == V_DIM)
                return poisoned(e, span, "%s must be known when the model is compiled; %s is not", what,
                                value_text_of(e, v)),
                       false;
        return poisoned(e, span, "%s must be a whole number, not %s", what, value_text_of(e, v)), false;
}

/* An axis by its index (from the end if negative), or by its named dimension. */
bool want_axis(Elaborator *e, Value v, const Node *x, Span span, int *axis)
{
        *axis = 0;
        if (is_poison(v))
                return false;
        if (v.kind == V_DIM) {
                int found = -1, n = 0;
                for (int i = 0; i < x->type.rank; i++)
                        if (dim_equal(x->type.dim[i], *v.dim))
                                found = i, n++;
                if (n == 1)
                        return *axis = found, true;
                poisoned(e, span,
                         n ? "%s is the size of several axes of %s: give the axis by number"
                           : "no axis of %s is %s",
                         n ? dim_text(e->diag->arena, e->g, *v.dim)
                           : type_text(e->diag->arena, e->g, &x->type),
                         n ? type_text(e->diag->arena, e->g, &x->type)
                           : dim_text(e->diag->arena, e->g, *v.dim));
                return false;
        }
        int64_t n;
        if (!want_int(e, v, span, "an axis", &n))
                return false;
        if (n < -x->type.rank || n >= x->type.rank)
                return poisoned(e, span, "%s has no axis %lld", type_text(e->diag->arena, e->g, &x->type),
                                (long long)n),
                       false;
        return *axis = (int)(n < 0 ? n + x->type.rank : n), true;
}

/* ---- tensors ---- */

/* The shape of a nested list of numbers.  False: ragged, or other values. */
static bool list_shape(const List *list, int depth, Type *type)
{
        if (depth >= MAX_RANK || list->n == 0)
                return false;
        if (type->rank == depth)
                type->dim[type->rank++] = dim_fixed(list->n);
        else if (!dim_is(type->dim[depth], list->n))
                return false;
        for (int i = 0; i < list->n; i++) {
                Value v = list->item[i];
                if (v.kind == V_LIST) {
                        if ((i > 0 && type->rank == depth + 1) || !list_shape(v.list, depth + 1, type))
                                return false;
                } else if (type->rank != depth + 1 || !(is_number(v) || v.kind == V_BOOL)) {
                        return false;
                } else if (v.kind == V_REAL) {
                        type->dtype = REAL;
                } else if (v.kind == V_INT && type->dtype == BOOL) {
                        type->dtype = INT;
                }
        }
        return true;
}

static double *list_reals(const List *list, double *out)
{
        for (int i = 0; i < list->n; i++) {
                if (list->item[i].kind == V_LIST)
                        out = list_reals(list->item[i].list, out);
                else
                        *out++ = list->item[i].number;
        }
        return out;
}

bool check_float(Elaborator *e, double x, Span span)
{
        if (!beyond_f32(x))
                return true;
        poisoned(e, span, "%.9g is beyond the largest float of 32 bits, 3.40282347e+38; `inf` is infinity",
                 x);
        return false;
}

static Node *list_tensor(Elaborator *e, const List *list, Span span)
{
        Type type = {.dtype = BOOL};
        for (int i = 0; i < list->n; i++)
                if (list->item[i].kind == V_POISON)
                        return NULL;
        if (!list_shape(list, 0, &type)) {
                bool tensors = list->n > 0;
                for (int i = 0; i < list->n; i++)
                        tensors =
                                tensors && (list->item[i].kind == V_TENSOR || list->item[i].kind == V_LIST ||
                                            list->item[i].kind == V_DIM || is_number(list->item[i]));
                if (tensors)
                        return stack_values(e, list->n, list->item, 0, span).tensor;
                return poisoned(e, span,
                                "this list is not a tensor: its rows must be numbers or tensors of one shape")
                        .tensor;
        }
        Literal *literal = NEW(e->arena, Literal);
        literal->iterations = 1;
        literal->count = type_count(&type, NULL);
        literal->value = NEW_ARRAY(e->arena, double, literal->count);
        list_reals(list, literal->value);
        for (int64_t i = 0; i < literal->count; i++)
                if (!check_float(e, literal->value[i], span))
                        return NULL;
        return node_new(e->g, e->body, OP_CONST, 0, NULL, (Attr){.literal = literal, .slot = -1}, type, span,
                        e->where);
}

Node *to_tensor(Elaborator *e, Value v, Span span)
{
        switch (v.kind) {
        case V_TENSOR: return v.tensor;
        case V_INT:
        case V_REAL:
        case V_BOOL:
                if (!check_float(e, v.number, span))
                        return NULL;
                return build_number(e->g, e->body, v.number,
                                    v.kind == V_INT    ? INT
                                    : v.kind == V_REAL ? REAL
                                                       : BOOL,
                                    span, e->where);
        case V_DIM:
                return node_new(e->g, e->body, OP_SIZE, 0, NULL, (Attr){.dim = *v.dim, .slot = -1},
                                (Type){.dtype = INT}, span, e->where);
        case V_LIST: return list_tensor(e, v.list, span);
        case V_PATH: return path_weight(e, v.path, span);
        case V_POISON: return NULL;
        case V_NONE:
        case V_TEXT:
        case V_BLOCK:
        case V_SCHEME:
        case V_GROUP: break;
        }
        poisoned(e, span, "expected a tensor or a number, found %s", value_text_of(e, v));
        if (v.kind == V_BLOCK && v.block->def && v.block->def->kind != AST_SCHEME)
                diag_hint(e->diag,
                          "a call without positional arguments is the block itself; give %s its arguments",
                          v.block->name);
        return NULL;
}

/* A node has the name of the first variable that holds it. */
Node *name_node(Elaborator *e, Value v, const char *name)
{
        if (v.kind != V_TENSOR)
                return NULL;
        if (!v.tensor->name && v.tensor->body == e->body && name != WHOLE_BLOCK)
                v.tensor->name = name;
        return v.tensor;
}

void name_variable(Elaborator *e, Value v, const char *name)
{
        name_node(e, v, name);
        record_name(e, VARIABLE, name, e->where, v);
}

/* Records the name of a value in the file, in the current body; not for expressions of checkpoint entries. */
void record_name(Elaborator *e, NamedKind kind, const char *name, const Instance *where, Value v)
{
        Body *b = e->body;
        if (v.kind != V_TENSOR || !v.tensor || e->paths)
                return;
        GROW(e->arena, b->named, b->nnamed, b->cap_named);
        b->named[b->nnamed++] = (ValueName){kind, name, where, v.tensor};
}
