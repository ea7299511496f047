/* Facts of pointwise ops.
 *
 * The kinds of values of an op, and its result for a special value, are found by evaluating it on a few
 * numbers of each kind, so that an op needs no rules apart from its equation: 0 x finite is 0, exp(-inf) is
 * 0, -inf + finite is -inf, 1 - 1 is 0.  sin and cos are not monotone and have their own rule. */
#include "facts_private.h"

#include <math.h>
#include <string.h>

const double special_value[NSPECIAL] = {0, 1, -1, -INFINITY, INFINITY};

enum { MAX_TRIED = 10 };
typedef struct {
        int n;
        double at[MAX_TRIED];
} Tried;

static const struct {
        unsigned kind;
        int n;
        double at[3];
} examples[] = {
        {MINUS_INF, 1, {-INFINITY}},   {NEGATIVE, 3, {-2.5, -1, -0.75}}, {ZERO, 1, {0}},
        {POSITIVE, 3, {0.75, 1, 2.5}}, {PLUS_INF, 1, {INFINITY}},        {NOT_A_NUMBER, 1, {NAN}},
};

static Tried examples_of(unsigned kinds)
{
        Tried t = {.n = 0};
        for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
                for (int k = 0; (kinds & examples[i].kind) && k < examples[i].n; k++)
                        t.at[t.n++] = examples[i].at[k];
        return t;
}

static Tried fact_values(const Fact *a)
{
        return a->constant ? (Tried){.n = 1, .at = {a->value}} : examples_of(a->kinds);
}

static unsigned sign_kind(double x)
{
        if (x != x)
                return NOT_A_NUMBER;
        if (x == 0)
                return ZERO;
        if (isinf(x))
                return x < 0 ? MINUS_INF : PLUS_INF;
        return x < 0 ? NEGATIVE : POSITIVE;
}

static bool gives_bools(Op op)
{
        return op_info[op].result == BOOLS;
}

static bool is_special(double x, Special *v)
{
        for (*v = AT_0; *v < NSPECIAL; (*v)++)
                if (x == special_value[*v])
                        return true;
        return false;
}

/* Whether a non-finite result of finite numbers counts as possible: see facts_private.h. */
static bool is_exception(const Facts *f, Op op, const Fact *a, const Fact *b, double x, double y)
{
        switch ((int)op) {
        case OP_LOG:
        case OP_SQRT: return true;
        case OP_POW: return x < 0 || a->exact_zero || f->values == ANY_VALUES;
        default: return (y == 0 && b->exact_zero) || f->values == ANY_VALUES;
        }
}

/* Adds the kinds that overflow and underflow of reals give. */
static unsigned kinds_beyond(const Facts *f, Op op, DType dtype, unsigned kinds)
{
        bool scales =
                op == OP_EXP || op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_POW;
        if (!scales || dtype != REAL || f->values == FINITE_VALUES)
                return kinds;
        if (kinds & POSITIVE)
                kinds |= ZERO | PLUS_INF;
        if (kinds & NEGATIVE)
                kinds |= ZERO | MINUS_INF;
        return kinds;
}

/* The kinds of op(a, b).  A finite kind represents all its numbers, a constant included; only an exponent is
 * distinguished as even or odd. */
static unsigned kinds_of_op(const Facts *f, Op op, DType dtype, const Fact *a, const Fact *b, bool same)
{
        Tried x = examples_of(a->kinds), y = op == OP_POW ? fact_values(b) : examples_of(b->kinds);
        unsigned kinds = 0;
        if (gives_bools(op))
                return ZERO | POSITIVE;
        for (int i = 0; i < x.n; i++)
                for (int k = 0; k < y.n; k++) {
                        double z = op_of(op, x.at[i], y.at[k], 0);
                        bool finite = isfinite(x.at[i]) && isfinite(y.at[k]);
                        if ((same && i != k) ||
                            (finite && !isfinite(z) && !is_exception(f, op, a, b, x.at[i], y.at[k])))
                                continue;
                        kinds |= sign_kind(z);
                }
        bool waves = op == OP_SIN || op == OP_COS;
        if (waves)
                kinds |= FINITE;
        return kinds_beyond(f, op, dtype, kinds ? kinds : FINITE);
}

static void set_constant(Fact *y, double value)
{
        y->constant = true;
        y->value = value;
        y->kinds = sign_kind(value);
        y->exact_zero = value == 0;
}

/* --- one input --- */

Fact fact_unary(const Facts *f, Op op, const Fact *a)
{
        CaseMaker m = facts_maker(f);
        Fact y = fact_unknown();
        Fact none = fact_constant(f, 0);
        y.reach = a->reach;
        y.kinds = kinds_of_op(f, op, REAL, a, &none, false);
        y.exact_zero = a->exact_zero || op == OP_FLOOR || (a->kinds & (MINUS_INF | PLUS_INF));
        if (a->constant)
                set_constant(&y, op_of(op, a->value, 0, 0));
        for (Special v = AT_0, w; v < NSPECIAL; v++) {
                if (cond_is_true(a->unless[v]) || !is_special(op_of(op, special_value[v], 0, 0), &w))
                        continue;
                y.unless[w] = cond_and(m, y.unless[w], a->unless[v]);
                y.stain[w] |= a->stain[v];
        }
        if (op == OP_NEG)
                y.integer = cases_scale(m, a->integer, -1);
        if (op == OP_FLOOR || op == OP_REAL_OF)
                y.integer = a->integer;
        return y;
}

/* --- two inputs --- */

/* Whether op gives w for v on one side and any value that the other may have; *stain: or NaN. */
static bool absorbs(Op op, double v, const Fact *other, int side, Special *w, bool *stain)
{
        Tried t = fact_values(other);
        bool found = false;
        *w = AT_0;
        *stain = false;
        for (int i = 0; i < t.n; i++) {
                double z = side == 0 ? op_of(op, v, t.at[i], 0) : op_of(op, t.at[i], v, 0);
                Special at;
                if (z != z) {
                        *stain = true;
                        continue;
                }
                if (!is_special(z, &at) || (found && at != *w))
                        return false;
                found = true;
                *w = at;
        }
        return found;
}

bool special_decides(Op op, int side, Special v, double *result)
{
        Fact other = {.kinds = NEGATIVE | POSITIVE};
        Special w;
        bool stain;
        if (!absorbs(op, special_value[v], &other, side, &w, &stain))
                return false;
        *result = special_value[w];
        return true;
}

/* The result of these ops for a NaN may be a number, so they end a fact with a stain. */
static bool may_lose_nan(Op op)
{
        return gives_bools(op) || op == OP_MAX || op == OP_MIN;
}

static bool usable(Op op, const Fact *a, Special v)
{
        return !cond_is_true(a->unless[v]) && (a->stain[v] == 0 || !may_lose_nan(op));
}

static void strengthen(CaseMaker m, Fact *y, Special w, const Cond *unless, unsigned stain)
{
        if (cond_is_true(unless))
                return;
        y->unless[w] = cond_and(m, y->unless[w], unless);
        y->stain[w] |= stain;
}

/* Whether the values that would be NaN outside the condition are beyond a bound along some growing axis, in
 * rows on which other rows must not depend. */
static bool hides_rows(const Facts *f, const Cond *unless, unsigned axes, const Dim *dim)
{
        for (int axis = 0; axis < AXES && unless->n > 0; axis++) {
                bool bounded = (axes >> axis & 1) && is_growing(f, dim[axis]);
                for (int i = 0; bounded && i < unless->n; i++) {
                        Above above = clause_above(f->graph, &unless->clause[i], dim, f->time, axis);
                        bounded = above.by_number || above.axis >= 0;
                }
                if (bounded)
                        return true;
        }
        return false;
}

/* Whether special value v of one side gives a number with each value that the other side's formula allows. */
static bool is_never_nan(const Pair *p, int side, Special v)
{
        Special w;
        bool stain;
        absorbs(p->op, special_value[v], p->formula[1 - side], side, &w, &stain);
        return !stain;
}

static void absorb_side(const Facts *f, const Pair *p, int side, Fact *y, OperandGuard *guard)
{
        const Fact *a = &p->in[side], *b = &p->in[1 - side];
        unsigned axes = p->axes[1 - side];
        for (Special v = AT_0, w; v < NSPECIAL; v++) {
                bool stain;
                double result;
                if (!usable(p->op, a, v) || !absorbs(p->op, special_value[v], b, side, &w, &stain))
                        continue;
                if (stain && f->values == ANY_VALUES && special_decides(p->op, side, v, &result) &&
                    is_never_nan(p, side, v) && hides_rows(f, a->unless[v], axes, p->dim)) {
                        guard->at[side] |= 1u << v;
                        stain = false;
                }
                strengthen(facts_maker(f), y, w, a->unless[v], a->stain[v] | (stain ? axes : 0));
        }
}

/* Both operands special: op(v, u) = w unless either condition holds. */
static void absorb_pairs(CaseMaker m, Op op, const Fact *a, const Fact *b, Fact *y)
{
        for (Special v = AT_0, w; v < NSPECIAL; v++)
                for (Special u = AT_0; u < NSPECIAL; u++)
                        if (usable(op, a, v) && usable(op, b, u) &&
                            is_special(op_of(op, special_value[v], special_value[u], 0), &w))
                                strengthen(m, y, w, cond_or(m, a->unless[v], b->unless[u]),
                                           a->stain[v] | b->stain[u]);
}

static void compare_integers(CaseMaker m, Op op, const Fact *a, const Fact *b, Fact *y)
{
        const Cases *p = a->integer, *q = b->integer;
        if (!p || !q)
                return;
        const Cond *less = cases_at_most(m, p, q, -1), *more = cases_at_most(m, q, p, -1);
        const Cond *less_eq = cases_at_most(m, p, q, 0), *more_eq = cases_at_most(m, q, p, 0);
        if (op == OP_LESS) {
                strengthen(m, y, AT_0, less, 0);
                strengthen(m, y, AT_1, more_eq, 0);
        } else if (op == OP_LESSEQ) {
                strengthen(m, y, AT_0, less_eq, 0);
                strengthen(m, y, AT_1, more, 0);
        } else if (op == OP_EQUAL) {
                strengthen(m, y, AT_0, cond_and(m, less_eq, more_eq), 0);
                strengthen(m, y, AT_1, cond_or(m, less, more), 0);
        }
}

/* floor(a / by) = floor(-a / -by) */
static const Cases *cases_quotient(CaseMaker m, const Cases *a, int64_t by)
{
        if (by == 0)
                return NULL;
        return by > 0 ? cases_floordiv(m, a, by) : cases_floordiv(m, cases_scale(m, a, -1), -by);
}

/* A remainder has the sign of the divisor. */
static const Cases *cases_mod(CaseMaker m, int64_t by)
{
        if (by == 0)
                return NULL;
        return by > 0 ? cases_range(m, 0, by - 1) : cases_range(m, by + 1, 0);
}

static const Cases *integer_cases(CaseMaker m, Op op, const Fact *a, const Fact *b)
{
        const Cases *p = a->integer, *q = b->integer;
        int64_t c;
        if (!p || !q)
                return NULL;
        switch ((int)op) {
        case OP_ADD: return cases_add(m, p, q);
        case OP_SUB: return cases_add(m, p, cases_scale(m, q, -1));
        case OP_MAX: return cases_max(m, p, q);
        case OP_MIN: return cases_scale(m, cases_max(m, cases_scale(m, p, -1), cases_scale(m, q, -1)), -1);
        case OP_MUL:
                if (cases_constant(q, &c))
                        return cases_scale(m, p, c);
                return cases_constant(p, &c) ? cases_scale(m, q, c) : NULL;
        case OP_FLOORDIV: return cases_constant(q, &c) ? cases_quotient(m, p, c) : NULL;
        case OP_MOD: return cases_constant(q, &c) ? cases_mod(m, c) : NULL;
        default: return NULL;
        }
}

Fact fact_binary(const Facts *f, const Pair *p, OperandGuard *guard)
{
        CaseMaker m = facts_maker(f);
        Op op = p->op;
        Fact in[2] = {p->in[0], p->in[1]};
        if (mixes_blocks(&in[0], &in[1]))
                in[0].integer = in[1].integer = NULL;
        const Fact *a = &in[0], *b = &in[1];
        Fact y = fact_unknown();
        *guard = (OperandGuard){0};
        y.reach = a->reach;
        reach_join(f, &y.reach, &b->reach);
        y.kinds = kinds_of_op(f, op, p->dtype, a, b, p->same);
        if (p->opposite && op == OP_MAX)
                y.kinds &= ~(unsigned)(NEGATIVE | MINUS_INF);
        if (p->opposite && op == OP_MIN)
                y.kinds &= ~(unsigned)(POSITIVE | PLUS_INF);
        bool sums = op == OP_ADD || op == OP_SUB;
        y.exact_zero = sums ? a->exact_zero && b->exact_zero : a->exact_zero || b->exact_zero;
        if (a->constant && b->constant)
                set_constant(&y, op_of(op, a->value, b->value, 0));
        absorb_side(f, p, 0, &y, guard);
        absorb_side(f, p, 1, &y, guard);
        absorb_pairs(m, op, a, b, &y);
        compare_integers(m, op, a, b, &y);
        y.in_blocks = is_block_number(f, p);
        y.integer = y.in_blocks ? a->integer : integer_cases(m, op, a, b);
        y.exact_zero |= p->dtype != REAL || op == OP_FLOORDIV || y.integer;
        return y;
}

/* The stain of a; empty if a is not known to be special anywhere. */
static unsigned stain_of(const Fact *a, Special v)
{
        return cond_is_true(a->unless[v]) ? 0 : a->stain[v];
}

Fact fact_where(const Facts *f, const Fact *c, const Fact *a, const Fact *b)
{
        CaseMaker m = facts_maker(f);
        const Cond *if_a = c->unless[AT_0], *if_b = c->unless[AT_1]; /* booleans are never stained */
        Fact y = fact_join(f, a, b);
        reach_join(f, &y.reach, &c->reach);
        for (Special v = AT_0; v < NSPECIAL; v++) {
                y.unless[v] = cond_or(m, cond_and(m, if_a, a->unless[v]), cond_and(m, if_b, b->unless[v]));
                y.stain[v] = cond_is_true(y.unless[v]) ? 0 : stain_of(a, v) | stain_of(b, v);
        }
        y.integer = cases_choose(m, if_a, a->integer, if_b, b->integer);
        return y;
}

Fact fact_join(const Facts *f, const Fact *a, const Fact *b)
{
        CaseMaker m = facts_maker(f);
        Fact y = fact_unknown();
        y.reach = a->reach;
        reach_join(f, &y.reach, &b->reach);
        y.kinds = a->kinds | b->kinds;
        y.exact_zero = a->exact_zero || b->exact_zero;
        y.constant = a->constant && b->constant && a->value == b->value;
        y.value = a->value;
        for (Special v = AT_0; v < NSPECIAL; v++) {
                y.unless[v] = cond_or(m, a->unless[v], b->unless[v]);
                y.stain[v] = cond_is_true(y.unless[v]) ? 0 : a->stain[v] | b->stain[v];
        }
        y.integer = cases_choose(m, cond_true(), a->integer, cond_true(), b->integer);
        return y;
}

/* --- sums and products of many --- */

unsigned kinds_of_sum(const Facts *f, DType dtype, unsigned kinds)
{
        for (;;) {
                Fact a = {.kinds = kinds};
                unsigned more = kinds | kinds_of_op(f, OP_ADD, dtype, &a, &a, false);
                if (more == kinds)
                        return kinds;
                kinds = more;
        }
}

/* Whether a condition is false in at least one column of each row, as on the diagonal of a square. */
static bool is_false_in_rows(const Facts *f, const Cond *c, const Type *t)
{
        const int last = t->rank - 1;
        AxisMap map[AXES];
        for (int i = 0; i < AXES; i++)
                map[i] = axis_map(affine_axis(i));
        for (int row = 0; row < last; row++) {
                map[last] = axis_map(affine_axis(row));
                if (dim_equal(t->dim[row], t->dim[last]) && cond_is_false(cond_map(facts_maker(f), c, map)))
                        return true;
        }
        return false;
}

/* For where(c, p, 0), or a product with a factor: whether each row of the mask has an unmasked column, and p
 * or the factor is positive. */
static bool has_live_columns(const Facts *f, const Node *n)
{
        const Fact *a = &f->of[n->id];
        if (!(a->kinds & ~(unsigned)(ZERO | POSITIVE)) && is_false_in_rows(f, a->unless[AT_1], &n->type))
                return true;
        if (n->op == OP_WHERE) {
                const Fact c = fact_aligned(f, n, 0, n->type.rank - n->in[0]->type.rank, AXES);
                return f->of[n->in[1]->id].kinds == POSITIVE &&
                       !(f->of[n->in[2]->id].kinds & ~(unsigned)(ZERO | POSITIVE)) &&
                       is_false_in_rows(f, c.unless[AT_1], &n->type);
        }
        for (int i = 0; n->op == OP_MUL && i < 2; i++)
                if (f->of[n->in[i]->id].kinds == POSITIVE && fact_positive_rows(f, n->in[1 - i]))
                        return true;
        return false;
}

bool fact_positive_rows(const Facts *f, const Node *n)
{
        const Type *t = &n->type;
        const Node *c = n->nin ? n->in[0] : NULL;
        if (t->rank == 0 || dim_least(f->graph, t->dim[t->rank - 1]) < 1)
                return false;
        if (f->of[n->id].kinds == POSITIVE || has_live_columns(f, n))
                return true;
        if (n->op == OP_SOFTMAX)
                return n->nin == 1 && !(f->of[c->id].kinds & ~(unsigned)FINITE);
        if (n->op != OP_WHERE || c->op != OP_TOP)
                return false;
        const Node *p = n->in[1];
        const Fact *rest = &f->of[n->in[2]->id];
        if (!rest->constant || rest->value != 0)
                return false;
        return c->in[0] == p ? fact_positive_rows(f, p) : f->of[p->id].kinds == POSITIVE;
}
