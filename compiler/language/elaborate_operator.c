/* Operators.  Numbers known at compile time are folded in double; dimensions remain affine if possible;
 * other operations make nodes.  An integer divided by an integer is an integer if exact, else a real that
 * remembers its quotient. */
#include "elaborate_private.h"

#include <math.h>

typedef struct {
        AstKind kind;
        Op op;
        bool swapped; /* a > b is b < a */
        bool negated; /* a != b is not (a = b) */
} OperatorRow;

static const OperatorRow operator_row[] = {
        {AST_ADD, OP_ADD, false, false},  {AST_SUB, OP_SUB, false, false},
        {AST_MUL, OP_MUL, false, false},  {AST_DIV, OP_DIV, false, false},
        {AST_POW, OP_POW, false, false},  {AST_FLOORDIV, OP_FLOORDIV, false, false},
        {AST_MOD, OP_MOD, false, false},  {AST_LT, OP_LESS, false, false},
        {AST_GT, OP_LESS, true, false},   {AST_LE, OP_LESSEQ, false, false},
        {AST_GE, OP_LESSEQ, true, false}, {AST_EQ, OP_EQUAL, false, false},
        {AST_NE, OP_EQUAL, false, true},  {AST_AND, OP_AND, false, false},
        {AST_OR, OP_OR, false, false},    {AST_MATMUL, OP_MATMUL, false, false},
};

static const OperatorRow *find_operator(AstKind kind)
{
        for (size_t i = 0; i < sizeof operator_row / sizeof *operator_row; i++)
                if (operator_row[i].kind == kind)
                        return &operator_row[i];
        return NULL;
}

static bool is_comparison(AstKind op)
{
        return op == AST_LT || op == AST_GT || op == AST_LE || op == AST_GE || op == AST_EQ || op == AST_NE;
}

static bool numbers_compare(AstKind op, double a, double b)
{
        switch ((int)op) {
        case AST_LT: return a < b;
        case AST_GT: return a > b;
        case AST_LE: return a <= b;
        case AST_GE: return a >= b;
        case AST_EQ: return a == b;
        default: return a != b;
        }
}

/* ---- numbers ---- */

/* Whether the result is infinite although both numbers are finite and it is not a pole such as 1 / 0. */
static bool overflows(AstKind op, double x, double y)
{
        double result = op == AST_ADD   ? x + y
                        : op == AST_SUB ? x - y
                        : op == AST_MUL ? x * y
                        : op == AST_DIV ? (y != 0 ? x / y : 0)
                        : op == AST_POW ? (x != 0 ? real_pow(x, y) : 0)
                                        : 0;
        return isinf(result) && isfinite(x) && isfinite(y);
}

static Value divide_numbers(Elaborator *e, Value a, Value b, const Ast *at)
{
        Value v = value_number(a.number / b.number, false);
        if (a.kind != V_INT || b.kind != V_INT)
                return v.quotient = a.quotient, v;
        if (b.number != 0 && fmod(a.number, b.number) == 0)
                return value_number(v.number, true);
        Quotient *q = NEW(e->keep, Quotient);
        *q = (Quotient){a.number, b.number, at};
        v.quotient = q;
        return v;
}

/* A result, an integer if its operands are. */
static Value operator_number(Elaborator *e, double x, bool whole, const Ast *at)
{
        if (whole && fabs(x) >= 0x1p53)
                return poisoned(e, at->span, "%.15g is not below 2^53, where whole numbers are exact", x);
        return value_number(x, whole);
}

static Value fold_numbers(Elaborator *e, AstKind op, Value a, Value b, const Ast *at)
{
        bool ints = a.kind == V_INT && b.kind == V_INT;
        double x = a.number, y = b.number, floored = floor(x / y);
        Value v;
        if (overflows(op, x, y))
                return poisoned(e, at->span,
                                "the result of %.9g and %.9g is beyond 1.79769313e+308; `inf` is infinity", x,
                                y);
        switch ((int)op) {
        case AST_ADD: v = operator_number(e, x + y, ints, at); break;
        case AST_SUB: v = operator_number(e, x - y, ints, at); break;
        case AST_MUL: v = operator_number(e, x * y, ints, at); break;
        case AST_DIV: return divide_numbers(e, a, b, at);
        case AST_POW: return operator_number(e, real_pow(x, y), ints && y >= 0, at);
        case AST_FLOORDIV:
        case AST_MOD:
                if (y == 0)
                        return poisoned(e, at->span, "%.15g %s 0", x, op == AST_MOD ? "%" : "//");
                if (ints) {
                        double rest = fmod(x, y);
                        rest += rest != 0 && (rest < 0) != (y < 0) ? y : 0;
                        return value_number(op == AST_MOD ? rest : (x - rest) / y, true);
                }
                return value_number(op == AST_MOD ? x - y * floored : floored, false);
        default: return value_bool(numbers_compare(op, x, y));
        }
        if (v.kind == V_REAL && !ints)
                v.quotient = a.quotient ? a.quotient : b.quotient;
        return v;
}

/* ---- dimensions ---- */

static bool compare_dims(Elaborator *e, AstKind op, Dim a, Dim b, Value *v)
{
        Dim d = dim_sub(a, b);
        if (dim_is_fixed(d))
                return *v = value_bool(numbers_compare(op, (double)d.fixed, 0)), true;
        /* a > b for all sizes, or a < b; each includes equality where that has the same result */
        bool above = dim_at_least(e->g, d, 1), below = dim_at_least(e->g, dim_sub(b, a), 1);
        if (op == AST_GE || op == AST_LT)
                above = above || dim_at_least(e->g, d, 0);
        if (op == AST_LE || op == AST_GT)
                below = below || dim_at_least(e->g, dim_sub(b, a), 0);
        if (above || below)
                return *v = value_bool(numbers_compare(op, above ? 1 : 0, above ? 0 : 1)), true;
        return false;
}

/* a op b as a dimension or a comparison of dimensions.  False: it must be computed. */
static bool fold_dims(Elaborator *e, AstKind op, Value a, Value b, Value *v)
{
        Dim x, y, d;
        if (!as_dim(a, &x) || !as_dim(b, &y))
                return false;
        if (is_comparison(op))
                return compare_dims(e, op, x, y, v);
        switch ((int)op) {
        case AST_ADD: d = dim_add(x, y); break;
        case AST_SUB: d = dim_sub(x, y); break;
        case AST_MUL:
                if (!dim_mul(x, y, &d))
                        return false;
                break;
        case AST_DIV:
        case AST_FLOORDIV:
                if (dim_is(y, 0) || !dim_div(x, y, &d))
                        return false;
                break;
        default: return false;
        }
        return *v = value_dim(e, d), true;
}

/* ---- tensors ---- */

static Node *operator_node(Elaborator *e, Op op, int nin, Node *const *in, Span span)
{
        return build(e->g, e->body, e->diag, op, nin, in, &(Attr){.slot = -1}, span, e->where);
}

/* A vector on the left is a row, on the right a column; the added axis is removed from the result. */
static Value multiply_matrices(Elaborator *e, Node *a, Node *b, Span span)
{
        bool row = a->type.rank == 1, column = b->type.rank == 1;
        if (a->type.rank == 0 || b->type.rank == 0)
                return poisoned(e, span, "@ @ requires vectors or matrices, not %s and %s; to scale, write *",
                                type_text(e->diag->arena, e->g, &a->type),
                                type_text(e->diag->arena, e->g, &b->type));
        if (row)
                a = view_rank(e->g, e->body, a, 2, span, e->where);
        if (column) {
                Type type = {.dtype = b->type.dtype, .rank = 2, .dim = {b->type.dim[0], dim_fixed(1)}};
                b = view_reshape(e->g, e->body, b, &type, span, e->where);
        }
        Node *y = a && b ? operator_node(e, OP_MATMUL, 2, (Node *[]){a, b}, span) : NULL;
        if (y && column)
                y = view_drop(e->g, e->body, y, y->type.rank - 1, span, e->where);
        if (y && row)
                y = view_drop(e->g, e->body, y, y->type.rank - (column ? 1 : 2), span, e->where);
        return value_tensor(y);
}

static Value operate_tensors(Elaborator *e, AstKind op, Value a, Value b, const Ast *at)
{
        const OperatorRow *row = find_operator(op);
        bool infix = at->nkid == 2;
        Node *x = to_tensor(e, a, infix ? at->kid[0]->span : at->span);
        Node *y = to_tensor(e, b, infix ? at->kid[1]->span : at->span);
        if (!x || !y || !row)
                return POISON;
        if (op == AST_MATMUL)
                return multiply_matrices(e, x, y, at->span);
        Node *result =
                operator_node(e, row->op, 2, row->swapped ? (Node *[]){y, x} : (Node *[]){x, y}, at->span);
        if (result && row->negated)
                result = operator_node(e, OP_NOT, 1, &result, at->span);
        return value_tensor(result);
}

static bool value_is_known(Value v)
{
        return v.kind == V_NONE || v.kind == V_BOOL || v.kind == V_TEXT || v.kind == V_BLOCK ||
               v.kind == V_SCHEME || v.kind == V_LIST || is_number(v);
}

Value operate(Elaborator *e, AstKind op, Value a, Value b, const Ast *at)
{
        Value v;
        if (is_poison(a) || is_poison(b))
                return POISON;
        if (is_number(a) && is_number(b) && op != AST_MATMUL && op != AST_AND && op != AST_OR)
                return fold_numbers(e, op, a, b, at);
        if (fold_dims(e, op, a, b, &v))
                return v;
        bool tensors = a.kind == V_TENSOR || b.kind == V_TENSOR || a.kind == V_PATH || b.kind == V_PATH;
        if ((op == AST_EQ || op == AST_NE) && !tensors && (value_is_known(a) || value_is_known(b)) &&
            (a.kind != V_LIST || b.kind != V_LIST || !e->in_test) && (a.kind != V_DIM || !is_number(b)) &&
            (b.kind != V_DIM || !is_number(a)))
                return value_bool(value_same(a, b) == (op == AST_EQ));
        if ((op == AST_EQ || op == AST_NE) && (a.kind == V_NONE || b.kind == V_NONE))
                return value_bool(op == AST_NE);
        return operate_tensors(e, op, a, b, at);
}

Value unary_op(Elaborator *e, Op op, Value a, Span span)
{
        if (is_poison(a))
                return POISON;
        if (is_number(a)) {
                bool is_int = (op == OP_NEG && a.kind == V_INT) || op == OP_FLOOR;
                double x = op_of(op, a.number, 0, 0);
                if (op == OP_EXP && isinf(x) && isfinite(a.number))
                        return poisoned(e, span, "exp(%.9g) is beyond 1.79769313e+308; `inf` is infinity",
                                        a.number);
                return value_number(x, is_int);
        }
        Node *x = to_tensor(e, a, span);
        return x ? value_tensor(operator_node(e, op, 1, &x, span)) : POISON;
}

Value negate(Elaborator *e, Value a, Span span)
{
        if (a.kind == V_DIM)
                return value_dim(e, dim_scale(*a.dim, -1));
        return unary_op(e, OP_NEG, a, span);
}

Value logical_not(Elaborator *e, Value a, Span span)
{
        if (a.kind == V_BOOL)
                return value_bool(a.number == 0);
        if (a.kind == V_TENSOR && a.tensor->type.dtype == BOOL)
                return value_tensor(operator_node(e, OP_NOT, 1, &a.tensor, span));
        return is_poison(a) ? POISON
                            : poisoned(e, span, "`not` requires true or false, not %s", value_text_of(e, a));
}

/* x': swaps the last two axes; below rank 2 it returns x. */
Value transpose_last(Elaborator *e, Value a, Span span)
{
        Node *x = is_poison(a) ? NULL : to_tensor(e, a, span);
        if (!x)
                return POISON;
        int rank = x->type.rank, perm[MAX_RANK];
        if (rank < 2)
                return value_tensor(x);
        for (int i = 0; i < rank; i++)
                perm[i] = i;
        perm[rank - 1] = rank - 2;
        perm[rank - 2] = rank - 1;
        return value_tensor(view_transpose(e->g, e->body, x, perm, span, e->where));
}
