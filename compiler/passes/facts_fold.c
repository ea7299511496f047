/* Facts of folds and contractions.
 *
 * Only a fold over a growing axis reads other times than its own.  It reads the whole axis, unless its
 * elements are 0 (or -inf, for a maximum or a softmax) outside a condition.  Then each clause of that
 * condition bounds the folded index by the index of another growing axis, and the fold reads up to that
 * bound. */
#include "facts_private.h"

/* The folded index: any number within its axis. */
static AxisMap folded_axis(Dim dim)
{
        AxisMap map = axis_map(affine_constant(dim_fixed(0)));
        map.open = !dim_is_fixed(dim);
        map.high = map.open ? 0 : dim.fixed - 1;
        return map;
}

/* If all elements of a fold are v, so is their sum or maximum. */
static void keep_special(const Facts *f, Fact *y, Special v, const Fact *a, const Type *t, int axis)
{
        y->unless[v] = cond_fold(facts_maker(f), a->unless[v], axis, folded_axis(t->dim[axis]));
        y->stain[v] = a->stain[v] & ~(1u << axis);
}

Fact fact_of_sum(const Facts *f, const Node *n, const Fact *a, const Type *t, int axis)
{
        Fact y = fact_unknown();
        y.reach = fold_reach(f, a, t->dim, t->rank, axis, AT_0);
        y.kinds = kinds_of_sum(f, n->type.dtype, a->kinds);
        y.exact_zero = a->exact_zero;
        if (axis == t->rank - 1 && fact_positive_rows(f, n->in[0])) {
                y.kinds = POSITIVE;
                y.exact_zero = false;
        }
        keep_special(f, &y, AT_0, a, t, axis);
        return y;
}

/* The reach of a maximum, its index, or the k largest: elements that are -inf, and never NaN, do not
 * count. */
static Reach largest_reach(const Facts *f, const Fact *a, const Type *t, int axis)
{
        Fact sure = *a;
        if (a->stain[AT_MINUS_INF])
                sure.unless[AT_MINUS_INF] = cond_true();
        return fold_reach(f, &sure, t->dim, t->rank, axis, AT_MINUS_INF);
}

Fact fact_of_maximum(const Facts *f, const Fact *a, const Type *t, int axis)
{
        Fact y = fact_unknown();
        y.reach = largest_reach(f, a, t, axis);
        y.kinds = a->kinds;
        y.exact_zero = a->exact_zero;
        for (Special v = AT_0; v < NSPECIAL; v++)
                if (a->stain[v] == 0)
                        keep_special(f, &y, v, a, t, axis);
        return y;
}

Fact fact_of_largest(const Facts *f, const Fact *a, const Type *t, int axis)
{
        Fact y = fact_unknown();
        y.reach = largest_reach(f, a, t, axis);
        const Read *own = reach_on(&a->reach, axis);
        if (own)
                reach_add(f, &y.reach, *own);
        y.kinds = ZERO | POSITIVE;
        y.exact_zero = true;
        return y;
}

Fact fact_of_argmax(const Facts *f, const Fact *a, const Type *t, int axis)
{
        Fact y = fact_unknown();
        y.reach = largest_reach(f, a, t, axis);
        y.kinds = ZERO | POSITIVE;
        y.exact_zero = true;
        if (dim_is_fixed(t->dim[axis]))
                y.integer = cases_range(facts_maker(f), 0, max_int64(t->dim[axis].fixed - 1, 0));
        return y;
}

/* A NaN makes its whole row NaN: the stain varies along all axes but the last. */
Fact fact_of_softmax(const Facts *f, const Node *n)
{
        const Type *t = &n->in[0]->type;
        const Fact *a = &f->of[n->in[0]->id];
        int last = t->rank - 1;
        Fact y = fact_unknown();
        unsigned kinds = a->kinds;
        y.reach = fold_reach(f, a, t->dim, t->rank, last, AT_MINUS_INF);
        if (n->nin > 1) {
                Fact sink = fact_aligned(f, n, 1, t->rank - n->in[1]->type.rank, AXES);
                reach_join(f, &y.reach, &sink.reach);
                kinds |= sink.kinds;
        }
        bool dies = n->attr.index == DEAD_ROWS_NAN && (kinds & MINUS_INF);
        bool spoilt = dies || (kinds & (PLUS_INF | NOT_A_NUMBER)) != 0;
        y.kinds = spoilt ? ANYTHING : ZERO | POSITIVE;
        y.exact_zero = true;
        if (!(a->stain[AT_MINUS_INF] >> last & 1)) {
                y.unless[AT_0] = a->unless[AT_MINUS_INF];
                y.stain[AT_0] = spoilt ? (1u << last) - 1 : 0;
        }
        return y;
}

/* [.., i, k] @ [.., k, j] is a product on axes [.., i, k, j], summed over k: axis k is `rank - 1`, j one more. */
static Pair matmul_product(const Facts *f, const Node *n)
{
        Pair p = {.op = OP_MUL, .dtype = REAL};
        const Type *a = &n->in[0]->type, *b = &n->in[1]->type;
        int rank = n->type.rank, k = rank - 1;
        int shift_a = rank - a->rank, shift_b = rank - b->rank;
        p.in[0] = fact_aligned(f, n, 0, shift_a, AXES);
        p.in[1] = fact_aligned(f, n, 1, shift_b, b->rank - 2);
        p.axes[0] = fact_axes(a, shift_a, AXES);
        p.axes[1] = fact_axes(b, shift_b, b->rank - 2);
        for (int i = 0; i < 2; i++)
                p.formula[i] = f->formula ? &f->formula->of[n->in[i]->id] : NULL;
        for (int i = 0; i < AXES; i++)
                p.dim[i] = i < k       ? n->type.dim[i]
                           : i == k    ? a->dim[a->rank - 1]
                           : i == rank ? n->type.dim[k]
                                       : dim_fixed(1);
        return p;
}

Fact fact_of_matmul(const Facts *f, const Node *n)
{
        Pair p = matmul_product(f, n);
        Fact product = fact_binary(f, &p, &f->guard[n->id]), y = fact_unknown();
        const Dim *dim = p.dim;
        int rank = n->type.rank, k = rank - 1;
        AxisMap map[AXES];
        int to[AXES];
        for (int i = 0; i < AXES; i++) {
                to[i] = i < k ? i : i == rank ? k : -1;
                map[i] = axis_map(to[i] < 0 ? affine_constant(dim_fixed(0)) : affine_axis(to[i]));
        }
        y.reach = fold_reach(f, &product, dim, AXES, k, AT_0);
        y.kinds = kinds_of_sum(f, REAL, product.kinds);
        /* of a row that is masked */
        y.exact_zero = p.in[0].exact_zero && (p.in[0].kinds & ZERO) && !fact_positive_rows(f, n->in[0]);
        y.unless[AT_0] = cond_fold(facts_maker(f), product.unless[AT_0], k, folded_axis(dim[k]));
        y.stain[AT_0] = product.stain[AT_0];
        return fact_rename(f, &y, map, to);
}

/* Row i reads the inputs of rows up to i of its operands. */
Fact fact_of_scan(const Facts *f, const Node *n)
{
        Fact y = fact_unknown();
        unsigned kinds = 0;
        for (int i = 0; i < n->nin; i++) {
                Fact in = fact_aligned(f, n, i, n->type.rank - n->in[i]->type.rank, AXES);
                kinds |= in.kinds;
                y.reach.all |= in.reach.all;
                for (int k = 0; k < in.reach.n; k++) {
                        Read read = in.reach.at[k];
                        read.open = true;
                        read.low = read.high;
                        reach_add(f, &y.reach, read);
                }
        }
        y.exact_zero = true;
        if (n->attr.index == SCAN_MAXIMA)
                y.kinds = kinds;
        else
                y.kinds = kinds & ~(unsigned)FINITE ? ANYTHING : kinds_of_sum(f, REAL, FINITE);
        return y;
}

const Cond *fold_condition(const Facts *f, const Node *n, Dim *dim, int *axis)
{
        if (n->op == OP_MATMUL) {
                OperandGuard guard;
                Pair p = matmul_product(f, n);
                memcpy(dim, p.dim, sizeof p.dim);
                *axis = n->type.rank - 1;
                return fact_binary(f, &p, &guard).unless[AT_0];
        }
        const Type *t = &n->in[0]->type;
        for (int i = 0; i < AXES; i++)
                dim[i] = i < t->rank ? t->dim[i] : dim_fixed(1);
        *axis = n->op == OP_SOFTMAX || n->op == OP_TOP ? t->rank - 1 : n->attr.axis;
        return f->of[n->in[0]->id].unless[n->op == OP_SUM ? AT_0 : AT_MINUS_INF];
}

bool fold_is_stained(const Facts *f, const Node *n)
{
        if (n->op == OP_MATMUL) {
                OperandGuard guard;
                Pair p = matmul_product(f, n);
                return fact_binary(f, &p, &guard).stain[AT_0] >> (n->type.rank - 1) & 1;
        }
        Special v = n->op == OP_SUM ? AT_0 : AT_MINUS_INF;
        int axis = n->op == OP_SOFTMAX || n->op == OP_TOP ? n->in[0]->type.rank - 1 : n->attr.axis;
        return f->of[n->in[0]->id].stain[v] >> axis & 1;
}
