/* Building nodes: for every op the rule for its dtype and shape, and the error messages for invalid
 * inputs.
 *
 * infer_type works on a draft, a node that is in no body yet, so that the verifier can use it for finished
 * nodes.  A message gives the op, both shapes and the expected ones; notes give the chain of blocks. */
#include "graph.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of elements of a tensor, for any named sizes. */
static const int64_t MAX_ELEMENTS = INT64_C(1) << 42;

typedef struct {
        Graph *g;
        Diag *diag;
        const Node *draft;
} BuildContext;

void note_instances(Diag *diag, const Instance *where)
{
        for (; where; where = where->outer)
                diag_note(diag, where->call, "in %s, called here as %s", where->block, where->name);
}

static bool is_users(Span span)
{
        return span.source && !span.source->library;
}

/* The innermost call from the user's file; NULL: there is none. */
static const Instance *users_call(const Instance *where)
{
        while (where && !is_users(where->call))
                where = where->outer;
        return where;
}

/* The user's line that made the last of the operands that has one. */
static Span users_operand(int nin, Node *const *in)
{
        for (int i = nin - 1; i >= 0; i--) {
                const Instance *call = users_call(in[i]->where);
                if (is_users(in[i]->span))
                        return in[i]->span;
                if (call)
                        return call->call;
        }
        return (Span){0};
}

void report_fault(Diag *diag, const Graph *g, Span span, const Instance *where, int nin, Node *const *in,
                  const char *text)
{
        const Instance *call = users_call(where);
        Span line = span;
        if (!is_users(span))
                line = call ? call->call : users_operand(nin, in);
        if (!is_users(line) && span.source)
                line = g->stated;
        if (!is_users(line) || is_users(span)) {
                diag_error(diag, span, "%s", text);
                note_instances(diag, where);
                return;
        }
        diag_error_from(diag, line, span, "%s", text);
        for (const Instance *in_block = where;; in_block = in_block->outer) {
                diag_note(diag, span, "in %s", in_block ? in_block->block : "the structure that it inherits");
                if (!in_block || in_block == call)
                        break;
                span = in_block->call;
        }
        note_instances(diag, call ? call->outer : NULL);
}

__attribute__((format(printf, 2, 3))) static bool build_fail(const BuildContext *c, const char *format, ...)
{
        if (!c->diag)
                return false;
        va_list args;
        va_start(args, format);
        const char *text = arena_vprintf(c->g->arena, format, args);
        va_end(args);
        text = arena_printf(c->g->arena, "%s: %s", op_info[c->draft->op].text, text);
        report_fault(c->diag, c->g, c->draft->span, c->draft->where, c->draft->nin, c->draft->in, text);
        return false;
}

static const Type *input_type(const BuildContext *c, int i)
{
        return &c->draft->in[i]->type;
}

static const char *shape(const BuildContext *c, const Type *t)
{
        return type_text(c->g->arena, c->g, t);
}

static const char *size_text(const BuildContext *c, Dim d)
{
        return dim_text(c->g->arena, c->g, d);
}

static const char *dtype_text(DType dtype)
{
        switch (dtype) {
        case REAL: return "reals";
        case INT: return "ints";
        case BOOL: return "bools";
        }
        return "?";
}

static DType join_dtypes(DType a, DType b)
{
        return a == REAL || b == REAL ? REAL : INT;
}

/* The joined type; two bools remain a bool. */
static DType choose_dtypes(DType a, DType b)
{
        return a == b ? a : join_dtypes(a, b);
}

static bool check_axis(const BuildContext *c, const Type *t)
{
        int axis = c->draft->attr.axis;
        if (axis >= 0 && axis < t->rank)
                return true;
        return build_fail(c, "there is no axis %d in shape %s", axis, shape(c, t));
}

static bool check_dtype(const BuildContext *c, int i, DType want)
{
        DType found = input_type(c, i)->dtype;
        return found == want || build_fail(c, "input %d should hold %s, but holds %s", i + 1,
                                           dtype_text(want), dtype_text(found));
}

/* --- pointwise --- */

/* Reports the first pair of sizes, from the right, that prevents broadcasting. */
static bool fail_broadcast(const BuildContext *c, const Type *a, const Type *b)
{
        for (int i = 1; i <= a->rank && i <= b->rank; i++) {
                Dim da = a->dim[a->rank - i], db = b->dim[b->rank - i];
                if (dim_equal(da, db) || dim_is(da, 1) || dim_is(db, 1))
                        continue;
                return build_fail(
                        c,
                        "shapes %s and %s do not fit: counted from the right, sizes must be equal or 1, "
                        "but %s meets %s",
                        shape(c, a), shape(c, b), size_text(c, da), size_text(c, db));
        }
        return false;
}

static bool infer_pointwise(const BuildContext *c, Type *type)
{
        const Node *n = c->draft;
        *type = *input_type(c, 0);
        DType dtype = n->nin > 1 ? type->dtype : join_dtypes(type->dtype, INT);
        for (int i = 1; i < n->nin; i++) {
                dtype = join_dtypes(dtype, input_type(c, i)->dtype);
                Type left = *type;
                if (!type_broadcast(&left, input_type(c, i), type))
                        return fail_broadcast(c, &left, input_type(c, i));
        }
        switch (op_info[n->op].result) {
        case SAME: type->dtype = input_type(c, 0)->dtype; break;
        case JOINED: type->dtype = dtype; break;
        case REALS: type->dtype = REAL; break;
        case INTS: type->dtype = INT; break;
        case BOOLS: type->dtype = BOOL; break;
        case OWN:
                type->dtype = choose_dtypes(input_type(c, 1)->dtype, input_type(c, 2)->dtype);
                break; /* where */
        }
        return true;
}

static bool infer_logical(const BuildContext *c, Type *type)
{
        for (int i = 0; i < c->draft->nin; i++)
                if (!check_dtype(c, i, BOOL))
                        return false;
        return infer_pointwise(c, type);
}

static bool infer_where(const BuildContext *c, Type *type)
{
        return check_dtype(c, 0, BOOL) && infer_pointwise(c, type);
}

static bool infer_top(const BuildContext *c, Type *type)
{
        *type = *input_type(c, 0);
        type->dtype = BOOL;
        int k = c->draft->attr.index;
        if (type->rank == 0)
                return build_fail(c, "needs an axis to choose from, found a scalar");
        Dim size = type->dim[type->rank - 1];
        if (k < 1 || k > dim_bound(c->g, size))
                return build_fail(c, "%d of the %s elements of the last axis of %s cannot be chosen", k,
                                  size_text(c, size), shape(c, type));
        return true;
}

static bool infer_chosen(const BuildContext *c, Type *type)
{
        if (!infer_top(c, type))
                return false;
        type->dtype = INT;
        type->dim[type->rank - 1] = dim_fixed(c->draft->attr.index);
        return true;
}

static bool infer_among(const BuildContext *c, Type *type)
{
        *type = *input_type(c, 0);
        type->dtype = BOOL;
        if (type->rank == 0 || input_type(c, 0)->dtype != INT)
                return build_fail(c, "needs lists of indices");
        type->dim[type->rank - 1] = c->draft->attr.dim;
        return true;
}

/* --- movement --- */

static bool infer_view(const BuildContext *c, Type *type)
{
        return view_type(c->draft->attr.view, input_type(c, 0), type) ||
               build_fail(c, "the sizes of the result are not affine");
}

static bool infer_pad(const BuildContext *c, Type *type)
{
        const Attr *attr = &c->draft->attr;
        *type = *input_type(c, 0);
        if (!check_axis(c, type))
                return false;
        if (type->dtype != REAL && attr->value != (double)(int64_t)attr->value)
                return build_fail(c, "%s cannot be padded with %g", dtype_text(type->dtype), attr->value);
        if (dim_least(c->g, attr->before) < 0 || dim_least(c->g, attr->after) < 0)
                return build_fail(c, "%s cannot be padded by %s and %s elements", shape(c, type),
                                  size_text(c, attr->before), size_text(c, attr->after));
        Dim *dim = &type->dim[attr->axis];
        *dim = dim_add(*dim, dim_add(attr->before, attr->after));
        return true;
}

/* Adds in 1 .. nin-1 to *type along attr.axis; all other sizes must be equal. */
static bool infer_join(const BuildContext *c, Type *type)
{
        const Node *n = c->draft;
        *type = *input_type(c, 0);
        if (!check_axis(c, type))
                return false;
        for (int i = 1; i < n->nin; i++) {
                const Type *t = input_type(c, i);
                bool fits = t->rank == type->rank;
                for (int axis = 0; fits && axis < t->rank; axis++)
                        fits = axis == n->attr.axis || dim_equal(t->dim[axis], type->dim[axis]);
                if (!fits)
                        return build_fail(c,
                                          "shapes %s and %s do not fit: they may differ along axis %d alone",
                                          shape(c, input_type(c, 0)), shape(c, t), n->attr.axis);
                type->dim[n->attr.axis] = dim_add(type->dim[n->attr.axis], t->dim[n->attr.axis]);
                type->dtype = choose_dtypes(type->dtype, t->dtype);
        }
        return true;
}

static bool infer_gather(const BuildContext *c, Type *type)
{
        const Type *table = input_type(c, 0);
        int indices = c->draft->nin - 1;
        if (indices > table->rank)
                return build_fail(c, "%d indices for the %d axes of %s", indices, table->rank,
                                  shape(c, table));
        Type index = *input_type(c, 1);
        for (int i = 1; i <= indices; i++) {
                Type before = index;
                if (!check_dtype(c, i, INT))
                        return false;
                if (!type_broadcast(&before, input_type(c, i), &index))
                        return fail_broadcast(c, &before, input_type(c, i));
        }
        if (index.rank + table->rank - indices > MAX_RANK)
                return build_fail(c, "%s indexed by %s has more than %d axes", shape(c, table),
                                  shape(c, &index), MAX_RANK);
        *type = index;
        type->dtype = table->dtype;
        for (int axis = indices; axis < table->rank; axis++)
                type->dim[type->rank++] = table->dim[axis];
        return true;
}

/* --- reductions and contractions --- */

static bool infer_reduce(const BuildContext *c, Type *type)
{
        *type = *input_type(c, 0);
        if (!check_axis(c, type))
                return false;
        type->dim[c->draft->attr.axis] = dim_fixed(1);
        if (c->draft->op == OP_ARGMAX)
                type->dtype = INT;
        if (c->draft->op == OP_SUM)
                type->dtype = join_dtypes(type->dtype, INT);
        return true;
}

static bool fail_matmul(const BuildContext *c, const Type *a, const Type *b)
{
        Dim inner = a->dim[a->rank - 1], rows = b->dim[b->rank - 2];
        build_fail(c,
                   "%s @ %s: the last axis of the left (%s) must be as long as the last but one of the right "
                   "(%s)",
                   shape(c, a), shape(c, b), size_text(c, inner), size_text(c, rows));
        if (dim_equal(inner, b->dim[b->rank - 1]))
                diag_hint(c->diag, "the right side transposed (') would fit");
        return false;
}

static bool infer_matmul(const BuildContext *c, Type *type)
{
        const Type *a = input_type(c, 0), *b = input_type(c, 1);
        if (a->rank < 2 || b->rank < 2)
                return build_fail(c, "%s @ %s: both sides need two axes or more", shape(c, a), shape(c, b));
        if (!dim_equal(a->dim[a->rank - 1], b->dim[b->rank - 2]))
                return fail_matmul(c, a, b);
        Type left = *a, right = *b;
        left.rank -= 2;
        right.rank -= 2;
        if (!type_broadcast(&left, &right, type))
                return build_fail(c, "%s @ %s: the leading axes do not fit: sizes must be equal or 1",
                                  shape(c, a), shape(c, b));
        type->dtype = REAL;
        type->dim[type->rank++] = a->dim[a->rank - 2];
        type->dim[type->rank++] = b->dim[b->rank - 1];
        return true;
}

static bool infer_softmax(const BuildContext *c, Type *type)
{
        *type = *input_type(c, 0);
        type->dtype = REAL;
        if (type->rank == 0)
                return build_fail(c, "needs an axis, found a scalar");
        if (c->draft->nin == 1)
                return true;
        Type row = *type, joined;
        row.dim[row.rank - 1] = dim_fixed(1);
        joined = row;
        if (!type_broadcast(&row, input_type(c, 1), &joined) || joined.rank != row.rank)
                return build_fail(
                        c,
                        "a sink of shape %s does not fit scores of shape %s: expected one for each row, %s",
                        shape(c, input_type(c, 1)), shape(c, type), shape(c, &row));
        joined.dtype = row.dtype;
        return type_equal(&joined, &row) ||
               build_fail(c,
                          "a sink of shape %s does not fit scores of shape %s: expected one for each row, %s",
                          shape(c, input_type(c, 1)), shape(c, type), shape(c, &row));
}

static bool infer_scan(const BuildContext *c, Type *type)
{
        Type lead = {.dtype = REAL}, rows = *input_type(c, 0);
        int nin = c->draft->nin;
        bool fits = rows.rank >= 2 && dim_is_fixed(rows.dim[rows.rank - 1]);
        for (int i = 0; i < nin && fits; i++) {
                Type t = *input_type(c, i), joined;
                Dim last = t.rank >= 2 ? t.dim[t.rank - 1] : dim_fixed(0),
                    row = t.rank >= 2 ? t.dim[t.rank - 2] : last;
                bool powers = i == nin - 1 && nin % 2 == 0;
                fits = t.dtype == REAL && t.rank >= 2 &&
                       dim_equal(row, powers ? dim_fixed(1) : rows.dim[rows.rank - 2]) &&
                       (!powers || dim_is(last, SCAN_POWERS)) &&
                       (powers || i < 1 ||
                        (dim_is_fixed(last) &&
                         dim_equal(last, input_type(c, 1)->dim[input_type(c, 1)->rank - 1])));
                t.rank = t.rank >= 2 ? t.rank - 2 : 0;
                t.dtype = REAL;
                fits = fits && type_broadcast(&lead, &t, &joined);
                lead = fits ? joined : lead;
        }
        for (int a = 0; a < lead.rank; a++)
                fits = fits && dim_is_fixed(lead.dim[a]);
        if (!fits || lead.rank + 2 > MAX_RANK)
                return build_fail(c, "values %s do not fit what they are weighed by",
                                  shape(c, input_type(c, 0)));
        *type = lead;
        type->dtype = REAL;
        type->dim[type->rank++] = rows.dim[rows.rank - 2];
        type->dim[type->rank++] = rows.dim[rows.rank - 1];
        return true;
}

/* --- state --- */

static bool infer_read(const BuildContext *c, Type *type)
{
        const StateVar *state = c->draft->attr.state;
        *type = state->type;
        if (c->g->past < 0)
                return build_fail(c, "state %s is read before there is a past", state->name);
        type->dim[state->axis] = dim_named(c->g->past);
        return true;
}

/* --- repeats --- */

static bool infer_repeat(const BuildContext *c, Type *type)
{
        const Node *n = c->draft;
        const Region *region = n->attr.region;
        *type = (Type){.dtype = REAL};
        if (n->nin != region->ncarry)
                return build_fail(c, "%s carries %d values but starts with %d", region->name, region->ncarry,
                                  n->nin);
        for (int i = 0; i < n->nin; i++) {
                for (int k = 0; k < region->nbody; k++) {
                        const Node *next = region->body[k]->next[i];
                        const char *name = n->in[i]->name ? n->in[i]->name : "a value";
                        if (next->type.dtype != input_type(c, i)->dtype)
                                return build_fail(c, "%s enters an iteration of %s as %s and leaves it as %s",
                                                  name, region->name, dtype_text(input_type(c, i)->dtype),
                                                  dtype_text(next->type.dtype));
                        if (!type_equal(&next->type, input_type(c, i)))
                                return build_fail(
                                        c, "%s enters an iteration of %s with shape %s and leaves it with %s",
                                        name, region->name, shape(c, input_type(c, i)),
                                        shape(c, &next->type));
                }
        }
        return true;
}

static bool infer_result(const BuildContext *c, Type *type)
{
        const Node *repeat = c->draft->in[0];
        const Region *region = repeat->attr.region;
        int index = c->draft->attr.index;
        if (index < region->ncarry) {
                *type = repeat->in[index]->type;
                return true;
        }
        const Type *each = &region->body[0]->stack[index - region->ncarry]->type;
        if (each->rank == MAX_RANK)
                return build_fail(c, "values of shape %s cannot be stacked: at most %d axes", shape(c, each),
                                  MAX_RANK);
        *type = (Type){.dtype = each->dtype,
                       .rank = each->rank + 1,
                       .dim = {region->along ? positions_of(c->g, region) : dim_fixed(region->iterations)}};
        memcpy(type->dim + 1, each->dim, (size_t)each->rank * sizeof *each->dim);
        return true;
}

/* --- all ops --- */

static bool infer_op(const BuildContext *c, Type *type)
{
        const Node *n = c->draft;
        switch (n->op) {
        case OP_INPUT: *type = c->g->input[n->attr.index].type; return true;
        case OP_WEIGHT: *type = n->attr.weight->type; return true;
        case OP_SIZE: *type = (Type){.dtype = INT}; return true;
        case OP_CONST:
        case OP_INDEX:
        case OP_CARRY: *type = n->type; return true;
        case OP_VIEW: return infer_view(c, type);
        case OP_PAD: return infer_pad(c, type);
        case OP_JOIN:
        case OP_APPEND: return infer_join(c, type);
        case OP_GATHER: return infer_gather(c, type);
        case OP_NOT:
        case OP_AND:
        case OP_OR: return infer_logical(c, type);
        case OP_WHERE: return infer_where(c, type);
        case OP_SUM:
        case OP_MAXOF:
        case OP_ARGMAX: return infer_reduce(c, type);
        case OP_TOP: return infer_top(c, type);
        case OP_CHOSEN: return infer_chosen(c, type);
        case OP_AMONG: return infer_among(c, type);
        case OP_MATMUL: return infer_matmul(c, type);
        case OP_SOFTMAX: return infer_softmax(c, type);
        case OP_SCAN: return infer_scan(c, type);
        case OP_READ: return infer_read(c, type);
        case OP_KEEP: return *type = c->draft->in[0]->type, true;
        case OP_KEPT: return *type = c->draft->attr.state->type, true;
        case OP_REPEAT: return infer_repeat(c, type);
        case OP_RESULT: return infer_result(c, type);
        default: return op_info[c->draft->op].family == POINT && infer_pointwise(c, type);
        }
}

bool type_is_bounded(const Graph *g, const Type *type, int64_t times)
{
        int64_t count = times;
        for (int i = 0; i < type->rank; i++) {
                int64_t size = dim_bound(g, type->dim[i]);
                if (size > 0 && count > MAX_ELEMENTS / size)
                        return false;
                count *= size > 0 ? size : 1;
        }
        return true;
}

static bool check_count(const BuildContext *c, const Type *type)
{
        return type_is_bounded(c->g, type, 1) ||
               build_fail(c, "a tensor of shape %s has too many elements: more than 2^42", shape(c, type));
}

bool infer_type(Graph *g, Diag *diag, const Node *draft, Type *type)
{
        const OpInfo *info = &op_info[draft->op];
        BuildContext c = {g, diag, draft};
        if (draft->nin < info->min_in || draft->nin > info->max_in)
                return build_fail(&c, "takes %d to %d inputs, got %d", info->min_in, info->max_in,
                                  draft->nin);
        return infer_op(&c, type) && check_count(&c, type);
}

Node *build(Graph *g, Body *b, Diag *diag, Op op, int nin, Node *const *in, const Attr *attr, Span span,
            Instance *where)
{
        Node draft = {.op = op, .nin = nin, .in = (Node **)in, .span = span, .where = where, .body = b};
        if (op == OP_CONST || op == OP_INDEX || op == OP_CARRY) {
                fprintf(stderr, "lathe: %s has no type of its own to infer\n", op_info[op].text);
                abort();
        }
        if (attr)
                draft.attr = *attr;
        Type type;
        if (!infer_type(g, diag, &draft, &type))
                return NULL;
        return node_new(g, b, op, nin, in, draft.attr, type, span, where);
}

Node *build_number(Graph *g, Body *b, double value, DType dtype, Span span, Instance *where)
{
        Literal *literal = NEW(g->arena, Literal);
        literal->iterations = literal->count = 1;
        literal->value = NEW_ARRAY(g->arena, double, 1);
        literal->value[0] = value;
        return node_new(g, b, OP_CONST, 0, NULL, (Attr){.literal = literal}, (Type){.dtype = dtype}, span,
                        where);
}
