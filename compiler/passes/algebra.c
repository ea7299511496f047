/* Rewrites of one node that change no bit, in double precision or in f32, for any value of its inputs.
 *
 *   x - 0, x + -0, x 1, x / 1, x^1      x
 *   x + 0                               x, where x is never -0
 *   x / 2^k                             x 2^-k
 *   x^2, x^3, x^(1/2), x^(-1/2), 1/x    x x, (x x) x, sqrt x, 1 / sqrt x: as evaluate.c defines pow
 *   max(x, x), x and x, where(c, x, x)  x; likewise with a constant side of and, or, where
 *   - - x, not not x, real(real x)      x
 *   view(view x), views that change nothing, joins of one, pads by nothing: one op less
 *   f(broadcast x, y)                   f(x, y), where y makes the shape
 *
 * Terms whose result could differ in the sign of a zero or by a NaN (x + 0, 0 x, x - x, 0 - x) are kept.
 * Nothing is reassociated. */
#include "simplify_private.h"

#include <math.h>

Node *build_like(Graph *g, const Node *like, Op op, int nin, Node *const *in, const Attr *attr)
{
        return build(g, like->body, NULL, op, nin, in, attr, like->span, like->where);
}

Node *op_like(Graph *g, const Node *like, Op op, Node *a, Node *b)
{
        Node *in[] = {a, b};
        return build_like(g, like, op, b ? 2 : 1, in, NULL);
}

/* x with the type of n, converted and broadcast; n itself if no op can do that. */
static Node *as_type_of(Graph *g, Node *n, Node *x)
{
        if (x->type.dtype != n->type.dtype) {
                if (n->type.dtype != REAL)
                        return n;
                x = op_like(g, n, OP_REAL_OF, x, NULL);
        }
        return view_broadcast(g, n->body, x, &n->type, n->span, n->where);
}

static Node *literal_like(Graph *g, const Node *like, double value, DType dtype)
{
        return build_number(g, like->body, value, dtype, like->span, like->where);
}

static bool is_uniform(const Node *n, double value)
{
        double found;
        return constant_uniform(n, &found) && found == value && signbit(found) == signbit(value);
}

/* Whether no element can be -0, in double or f32: sums from +0 cannot, products can. */
static bool never_minus_zero(const Node *n, int depth)
{
        if (n->type.dtype == BOOL)
                return true;
        if (depth == 0)
                return false;
        switch (n->op) {
        case OP_SIZE:
        case OP_INDEX:
        case OP_EXP:
        case OP_SUM:
        case OP_ARGMAX:
        case OP_SOFTMAX: return true;
        case OP_INPUT: return n->type.dtype == INT;
        case OP_CONST:
                for (int64_t i = 0; i < n->attr.literal->iterations * n->attr.literal->count; i++)
                        if (n->attr.literal->value[i] == 0 && signbit(n->attr.literal->value[i]))
                                return false;
                return true;
        case OP_ADD: return never_minus_zero(n->in[0], depth - 1) || never_minus_zero(n->in[1], depth - 1);
        case OP_VIEW:
        case OP_GATHER:
        case OP_MAXOF:
        case OP_REAL_OF: return never_minus_zero(n->in[0], depth - 1);
        case OP_WHERE: return never_minus_zero(n->in[1], depth - 1) && never_minus_zero(n->in[2], depth - 1);
        default: return false;
        }
}

static Node *rewrite_add(Graph *g, Node *n)
{
        for (int i = 0; i < 2; i++) {
                Node *x = n->in[1 - i];
                if (is_uniform(n->in[i], -0.0) || (is_uniform(n->in[i], 0) && never_minus_zero(x, 8)))
                        return as_type_of(g, n, x);
        }
        return n;
}

static Node *rewrite_div(Graph *g, Node *n)
{
        double by;
        int power;
        if (!constant_uniform(n->in[1], &by))
                return n;
        if (by == 1)
                return as_type_of(g, n, n->in[0]);
        if (!isfinite(by) || fabs(frexp(by, &power)) != 0.5 || power < -100 || power > 100)
                return n;
        return as_type_of(g, n, op_like(g, n, OP_MUL, n->in[0], literal_like(g, n, 1 / by, REAL)));
}

static Node *rewrite_pow(Graph *g, Node *n)
{
        double by;
        if (!constant_uniform(n->in[1], &by))
                return n;
        if (by == 0)
                return as_type_of(g, n, literal_like(g, n, 1, REAL));
        if (by != 1 && by != 2 && by != 3 && by != -1 && by != 0.5 && by != -0.5)
                return n;
        Node *x = n->in[0];
        if (x->type.dtype != REAL)
                x = op_like(g, n, OP_REAL_OF, x, NULL);
        Node *y = x;
        if (by == 2 || by == 3)
                y = op_like(g, n, OP_MUL, x, x);
        if (by == 3)
                y = op_like(g, n, OP_MUL, y, x);
        if (by == 0.5 || by == -0.5)
                y = op_like(g, n, OP_SQRT, x, NULL);
        if (by < 0)
                y = op_like(g, n, OP_DIV, literal_like(g, n, 1, REAL), y);
        return as_type_of(g, n, y);
}

/* `neutral`: the constant that leaves the other operand unchanged; the other constant decides the result. */
static Node *rewrite_logical(Graph *g, Node *n, double neutral)
{
        double value;
        if (n->in[0] == n->in[1])
                return n->in[0];
        for (int i = 0; i < 2; i++)
                if (constant_uniform(n->in[i], &value))
                        return as_type_of(g, n, n->in[(value != 0) == (neutral != 0) ? 1 - i : i]);
        return n;
}

static Node *rewrite_where(Graph *g, Node *n)
{
        double condition;
        if (n->in[1] == n->in[2])
                return as_type_of(g, n, n->in[1]);
        return constant_uniform(n->in[0], &condition) ? as_type_of(g, n, n->in[condition != 0 ? 1 : 2]) : n;
}

static Node *rewrite_view(Graph *g, Node *n)
{
        Node *x = n->in[0];
        View one;
        bool combines =
                x->op == OP_VIEW && view_compose(g->arena, n->attr.view, x->attr.view, &x->type, &one);
        bool nothing = type_equal(&n->type, &x->type) &&
                       view_equal(n->attr.view, view_identity(g->arena, &x->type), x->type.rank);
        return combines || nothing ? view_apply(g, n->body, x, n->attr.view, n->type.rank, n->span, n->where)
                                   : n;
}

/* A gather with the same index in every iteration is a view. */
static Node *rewrite_gather(Graph *g, Node *n)
{
        Node *x = n->in[0];
        for (int i = 1; x && i < n->nin; i++) {
                double at;
                if (n->in[i]->type.rank > 0 || !constant_uniform(n->in[i], &at))
                        return n;
                x = view_slice(g, n->body, x, 0, dim_fixed((int64_t)at), dim_fixed(1), n->span, n->where);
                x = x ? view_drop(g, n->body, x, 0, n->span, n->where) : NULL; /* NULL: it is clamped */
        }
        return x ? x : n;
}

/* An outer product, as what an `along` adds to a matrix, is made element by element, without a value of its
 * own. */
static Node *rewrite_outer_product(Graph *g, Node *n)
{
        const Type *left = &n->in[0]->type;
        if (!along_around(n->body) || !dim_is(left->dim[left->rank - 1], 1))
                return n;
        return as_type_of(g, n, op_like(g, n, OP_MUL, n->in[0], n->in[1]));
}

static Node *rewrite_op(Graph *g, Node *n)
{
        switch (n->op) {
        case OP_VIEW: return rewrite_view(g, n);
        case OP_GATHER: return rewrite_gather(g, n);
        case OP_JOIN: return n->nin == 1 ? n->in[0] : n;
        case OP_PAD: return dim_is(dim_add(n->attr.before, n->attr.after), 0) ? n->in[0] : n;
        case OP_REAL_OF: return n->in[0]->type.dtype == REAL ? n->in[0] : n;
        case OP_FLOOR: return n->in[0]->type.dtype == INT ? n->in[0] : n;
        case OP_NEG:
        case OP_NOT:
                return n->in[0]->op == n->op && type_equal(&n->in[0]->in[0]->type, &n->type) ? n->in[0]->in[0]
                                                                                             : n;
        case OP_ADD: return rewrite_add(g, n);
        case OP_SUB: return is_uniform(n->in[1], 0) ? as_type_of(g, n, n->in[0]) : n;
        case OP_MUL:
                if (is_uniform(n->in[0], 1))
                        return as_type_of(g, n, n->in[1]);
                return is_uniform(n->in[1], 1) ? as_type_of(g, n, n->in[0]) : n;
        case OP_MATMUL: return rewrite_outer_product(g, n);
        case OP_DIV: return rewrite_div(g, n);
        case OP_POW: return rewrite_pow(g, n);
        case OP_MAX:
        case OP_MIN: return n->in[0] == n->in[1] ? as_type_of(g, n, n->in[0]) : n;
        case OP_MAXOF: return type_equal(&n->in[0]->type, &n->type) ? n->in[0] : n;
        case OP_AND: return rewrite_logical(g, n, 1);
        case OP_OR: return rewrite_logical(g, n, 0);
        case OP_WHERE: return rewrite_where(g, n);
        default: return n;
        }
}

/* --- broadcasts that the op does implicitly --- */

static Dim dim_from_right(const Type *t, int i)
{
        return t->dim[t->rank - 1 - i];
}

/* Whether an input other than `which` has the result's size at this axis, counted from the right. */
static bool others_have(const Node *n, int which, int axis)
{
        for (int k = 0; k < n->nin; k++)
                if (k != which && axis < n->in[k]->type.rank &&
                    dim_equal(dim_from_right(&n->in[k]->type, axis), dim_from_right(&n->type, axis)))
                        return true;
        return false;
}

/* The input of a view without the repetitions and leading axes that broadcasting to the other inputs adds. */
static Node *without_broadcast(Graph *g, const Node *n, int which, int fixed_axes)
{
        Node *x = n->in[which];
        View v = {0};
        int rank = x->type.rank, dropped = 0;
        bool leading = true, changed = false;
        for (int i = 0; i < x->attr.view->natom; i++) {
                Atom atom = x->attr.view->atom[i];
                int axis = rank - 1 - atom.out;
                bool whole = dim_equal(atom.size, x->type.dim[atom.out]) && atom.axis < 0;
                bool free = whole && axis >= fixed_axes && others_have(n, which, axis);
                changed = changed || (free && (leading || !dim_is(atom.size, 1)));
                leading = leading && free;
                dropped += leading;
                if (leading)
                        continue;
                atom.size = free ? dim_fixed(1) : atom.size;
                atom.out -= dropped;
                v.atom[v.natom++] = atom;
        }
        for (int i = 0; i < MAX_RANK; i++)
                v.offset[i] = x->attr.view->offset[i];
        return changed ? view_apply(g, n->body, x->in[0], &v, rank - dropped, x->span, x->where) : x;
}

Node *rewrite(Graph *g, Node *n)
{
        bool square = n->nin == 2 && n->in[0] == n->in[1]; /* remains one: facts know its sign */
        bool point = op_info[n->op].family == POINT && n->nin > 1 && !square;
        for (int i = 0; (point || n->op == OP_MATMUL) && i < n->nin; i++)
                if (n->in[i]->op == OP_VIEW)
                        n->in[i] = without_broadcast(g, n, i, point ? 0 : 2);
        return rewrite_op(g, n);
}
