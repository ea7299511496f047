/* Factors a contraction's weights, or the operand of a maximum, into terms of row, column, decay and mask: see recur.c. */
#include "recur_private.h"

#include <math.h>

enum { DEEPEST = 32 };

/* --- kinds of nodes --- */

Node *recur_refuse(RecurMatch *m, const char *why)
{
        m->why = m->why ? m->why : why;
        return NULL;
}

/* Whether n varies along the axis that is `back` before the last. */
bool varies_along(const Node *n, int back)
{
        return n->type.rank > back && !dim_is(n->type.dim[n->type.rank - 1 - back], 1);
}

static bool factor_is_constant(const Node *n, double value)
{
        return n->op == OP_CONST && n->attr.literal->count == 1 && n->attr.literal->iterations == 1 &&
               n->attr.literal->value[0] == value;
}

/* An integer that is exactly an affine form of row and column: by[0] col + by[1] row + constant. */
static bool is_affine(const RecurMatch *m, const Node *n, Dim *constant, int64_t by[2])
{
        const Affine *exact = n->id < m->r->limit ? cases_form(m->r->facts->of[n->id].integer) : NULL;
        if (!exact)
                return false;
        by[0] = by[1] = 0;
        for (int a = 0; a < n->type.rank; a++) {
                int back = n->type.rank - 1 - a;
                if (back < 2)
                        by[back] = exact->coef[a];
                else if (exact->coef[a])
                        return false;
        }
        *constant = exact->constant;
        return true;
}

/* Whether a <= b, or a < b, is col <= row. */
static bool is_triangle(const RecurMatch *m, const Node *a, const Node *b, bool strict)
{
        Dim low, high;
        int64_t x[2], y[2];
        if (!is_affine(m, a, &low, x) || !is_affine(m, b, &high, y))
                return false;
        Dim rest = dim_sub(high, low);
        rest.fixed -= strict;
        int64_t step = y[1] - x[1];
        return step > 0 && y[0] - x[0] == -step && dim_is_fixed(rest) && rest.fixed >= 0 && rest.fixed < step;
}

/* --- factors --- */

/* A factor, a term or a condition. */
static bool factor_part(RecurMatch *m, FactorList *to, Node *n, bool under)
{
        if (to->n == MAX_FACTORS)
                return recur_refuse(m, "it is made of too many parts");
        to->at[to->n++] = (Factor){n, under};
        return true;
}

/* The triangle, conditions of only the row or only the column, and conjunctions of these or, negated,
 * disjunctions. */
static bool take_condition(RecurMatch *m, Node *c, bool negated)
{
        if (!varies_along(c, 0) || !varies_along(c, 1))
                return factor_part(m, varies_along(c, 0) ? &m->col_if : &m->row_if, c, negated);
        if (c->op == OP_NOT)
                return take_condition(m, c->in[0], !negated);
        if (c->op == (negated ? OP_OR : OP_AND))
                return take_condition(m, c->in[0], negated) && take_condition(m, c->in[1], negated);
        bool strict = (c->op == OP_LESS) != negated;
        if ((c->op != OP_LESS && c->op != OP_LESSEQ) ||
            !is_triangle(m, c->in[negated], c->in[!negated], strict))
                return recur_refuse(m,
                                    "its mask is not col <= row, with conditions of row or column at most");
        return m->triangle = true;
}

static bool take_mask(RecurMatch *m, Node *condition, bool negated)
{
        m->masked = true;
        return take_condition(m, condition, negated);
}

static bool refuse_masked(RecurMatch *m, const Node *condition, const char *why)
{
        m->masked |= varies_along(condition, 0) && varies_along(condition, 1);
        return recur_refuse(m, why);
}

/* --- terms of a maximum, or of an exponent --- */

static bool take_terms(RecurMatch *m, Node *n, Node *scale, bool under, int depth);

static bool take_masked(RecurMatch *m, Node *n, bool under, int depth)
{
        for (int i = 1; i < 3; i++)
                if (factor_is_constant(n->in[i], under ? INFINITY : -INFINITY))
                        return take_mask(m, n->in[0], i == 1) &&
                               take_terms(m, n->in[3 - i], NULL, under, depth);
        return refuse_masked(m, n->in[0], under ? "what is masked is not inf" : "what is masked is not -inf");
}

static bool no_term(RecurMatch *m, const Node *n)
{
        return recur_refuse(m, arena_printf(m->r->g->arena, "%s of row and column is no term of either",
                                            op_info[n->op].text));
}

/* n = a sum of terms, times or divided by a number of each head, which scales every term */
static bool take_scaled(RecurMatch *m, Node *n, Node *scale, bool under, int depth)
{
        if (may_spoil(m, n, false))
                return recur_refuse(m, "a scaled term may be infinite or NaN");
        for (int i = 0; i < (n->op == OP_MUL ? 2 : 1); i++) {
                Node *by = n->in[1 - i];
                if (varies_along(by, 0) || varies_along(by, 1))
                        continue;
                if (n->op == OP_DIV)
                        by = recur_node(m, OP_DIV, scale ? scale : recur_number(m, 1), by);
                else if (scale)
                        by = recur_node(m, OP_MUL, scale, by);
                return take_terms(m, n->in[i], by, under, depth);
        }
        return no_term(m, n);
}

/* Adds all terms of n, itself a term of the operand, times scale, if there is one; under: n is subtracted. */
static bool take_terms(RecurMatch *m, Node *n, Node *scale, bool under, int depth)
{
        if (!varies_along(n, 0) || !varies_along(n, 1)) {
                if (factor_is_constant(n, 0))
                        return true;
                Node *term = scale ? recur_node(m, OP_MUL, scale, recur_as_real(m, n)) : n;
                return factor_part(m, varies_along(n, 0) ? &m->col : &m->row, term, under);
        }
        if (depth == DEEPEST)
                return recur_refuse(m, "it is nested too deep");
        switch ((int)n->op) {
        case OP_WHERE: return take_masked(m, n, under, depth + 1); /* no scale: it would be infinite */
        case OP_REAL_OF: return take_terms(m, n->in[0], scale, under, depth + 1);
        case OP_NEG: return take_terms(m, n->in[0], scale, !under, depth + 1);
        case OP_MUL:
        case OP_DIV: return take_scaled(m, n, scale, under, depth + 1);
        case OP_ADD:
        case OP_SUB:
                return take_terms(m, n->in[0], scale, under, depth + 1) &&
                       take_terms(m, n->in[1], scale, under != (n->op == OP_SUB), depth + 1);
        default: return no_term(m, n);
        }
}

/* --- decays --- */

/* x = steps (row - col) times factors of the head */
static bool take_exponent(RecurMatch *m, Decay *d, Node *x, int depth)
{
        Dim constant;
        int64_t by[2];
        if (is_affine(m, x, &constant, by) && by[0] == -by[1] && dim_is(constant, 0)) {
                d->steps *= by[1];
                return true;
        }
        if (depth == DEEPEST)
                return recur_refuse(m, "it is nested too deep");
        for (int i = 0; x->op == OP_MUL && i < 2; i++)
                if (!varies_along(x->in[i], 0) && !varies_along(x->in[i], 1))
                        return factor_part(m, &d->by, x->in[i], false) &&
                               take_exponent(m, d, x->in[1 - i], depth + 1);
        if (x->op == OP_DIV && !varies_along(x->in[1], 0) && !varies_along(x->in[1], 1))
                return factor_part(m, &d->by, x->in[1], true) && take_exponent(m, d, x->in[0], depth + 1);
        if (x->op == OP_NEG) {
                d->steps = -d->steps;
                return take_exponent(m, d, x->in[0], depth + 1);
        }
        if (x->op == OP_REAL_OF)
                return take_exponent(m, d, x->in[0], depth + 1);
        return recur_refuse(
                m, "its decay is no power with row - col, times a number of each head, as its exponent");
}

/* exp(x), x a sum of terms of the row and of the column, which decide the decay */
static bool take_exponents(RecurMatch *m, Node *x)
{
        RecurMatch terms = *m;
        terms.row = m->row_exponent;
        terms.col = m->col_exponent;
        if (!take_terms(&terms, x, NULL, false, 0))
                return recur_refuse(m, "its decay is no power of row - col, and the exponent no sum of terms "
                                       "of row and of column");
        m->row_exponent = terms.row;
        m->col_exponent = terms.col;
        m->row_if = terms.row_if;
        m->col_if = terms.col_if;
        m->masked = terms.masked;
        m->triangle = terms.triangle;
        return true;
}

static bool take_decay(RecurMatch *m, Node *base, Node *x)
{
        if (m->ndecay == 4)
                return recur_refuse(m, "it has too many decays");
        if (base && (varies_along(base, 0) || varies_along(base, 1)))
                return recur_refuse(m, "its decay is another one in each row or column: such gates are no "
                                       "recurrence that is derived");
        m->decay[m->ndecay] = (Decay){.base = base, .steps = 1};
        for (int i = 1; !base && x->op == OP_WHERE && i < 3; i++)
                if (factor_is_constant(x->in[i], -INFINITY)) {
                        if (!take_mask(m, x->in[0], i == 1))
                                return false;
                        x = x->in[3 - i];
                }
        RecurMatch power = *m;
        if (take_exponent(&power, &power.decay[power.ndecay++], x, 0)) {
                *m = power;
                return true;
        }
        if (!base && take_exponents(m, x))
                return true;
        m->ndecay++; /* so --explain tells why */
        return recur_refuse(m, power.why);
}

static bool take_core(RecurMatch *m, Node *product)
{
        if (m->core)
                return recur_refuse(m, "it is made of two products");
        m->core = product;
        return true;
}

static bool take(RecurMatch *m, Node *n, bool under, int depth);

static bool take_where(RecurMatch *m, Node *n, int depth)
{
        if (factor_is_constant(n->in[2], 0))
                return take_mask(m, n->in[0], false) && take(m, n->in[1], false, depth);
        if (factor_is_constant(n->in[1], 0))
                return take_mask(m, n->in[0], true) && take(m, n->in[2], false, depth);
        return refuse_masked(m, n->in[0], "what is masked is not 0");
}

/* Adds all factors of n, itself a factor of the operand; under: n is a divisor. */
static bool take(RecurMatch *m, Node *n, bool under, int depth)
{
        if (!varies_along(n, 0))
                return factor_part(m, &m->row, n, under);
        if (!varies_along(n, 1))
                return factor_part(m, &m->col, n, under);
        if (depth == DEEPEST)
                return recur_refuse(m, "it is nested too deep");
        if (n->op == OP_MUL)
                return take(m, n->in[0], under, depth + 1) && take(m, n->in[1], under, depth + 1);
        if (n->op == OP_DIV)
                return take(m, n->in[0], under, depth + 1) && take(m, n->in[1], !under, depth + 1);
        if (under)
                return recur_refuse(m, "it is divided by what varies along rows and columns");
        if (n->type.dtype == BOOL)
                return take_mask(m, n, false);
        switch ((int)n->op) {
        case OP_REAL_OF: return take(m, n->in[0], false, depth + 1);
        case OP_WHERE: return take_where(m, n, depth + 1);
        case OP_POW: return take_decay(m, n->in[0], n->in[1]);
        case OP_EXP: return take_decay(m, NULL, n->in[0]);
        case OP_MATMUL: return take_core(m, n);
        case OP_NEG:
                return factor_part(m, &m->row, build_number(m->r->g, m->at, -1, REAL, n->span, n->where),
                                   false) &&
                       take(m, n->in[0], false, depth + 1);
        default:
                return recur_refuse(m, arena_printf(m->r->g->arena,
                                                    "%s of row and column is no factor of either",
                                                    op_info[n->op].text));
        }
}

bool take_apart(RecurMatch *m, Node *operand)
{
        return (m->maxima ? take_terms(m, operand, NULL, false, 0) : take(m, operand, false, 0)) &&
               m->triangle;
}
