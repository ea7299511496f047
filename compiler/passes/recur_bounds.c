/* Interval arithmetic: bounds of the elements of a node, which prove signs.  log(1 / (1 + exp(-x))) and
 * -exp(a) * softplus(x) are at most 0. */
#include "recur_private.h"

#include <math.h>

enum { FARTHEST = 32 };

static const RealBounds any_number = {-INFINITY, INFINITY};

static RealBounds ordered(double a, double b)
{
        return a < b ? (RealBounds){a, b} : (RealBounds){b, a};
}

/* a b, where 0 times an infinite bound is 0: no element is infinite */
static double bound_times(double a, double b)
{
        return a == 0 || b == 0 ? 0 : a * b;
}

static RealBounds bounds_product(RealBounds a, RealBounds b)
{
        RealBounds x = ordered(bound_times(a.low, b.low), bound_times(a.high, b.high)),
                   y = ordered(bound_times(a.low, b.high), bound_times(a.high, b.low));
        return (RealBounds){fmin(x.low, y.low), fmax(x.high, y.high)};
}

static RealBounds bounds_of_constant(const Node *n)
{
        const Literal *l = n->attr.literal;
        RealBounds b = {INFINITY, -INFINITY};
        for (int64_t i = 0; i < l->count * l->iterations; i++)
                b = (RealBounds){fmin(b.low, l->value[i]), fmax(b.high, l->value[i])};
        return b;
}

static RealBounds bounds_around(RealBounds a, RealBounds b)
{
        return (RealBounds){fmin(a.low, b.low), fmax(a.high, b.high)};
}

static RealBounds bounds_within(const Recur *r, const Node *n, int depth);

static RealBounds bounds_by_op(const Recur *r, const Node *n, int depth)
{
        RealBounds a = any_number, b = any_number;
        OpFamily family = op_info[n->op].family;
        if (family == LEAF)
                return n->op == OP_CONST ? bounds_of_constant(n) : any_number;
        if ((family != POINT && n->op != OP_VIEW) || depth == FARTHEST)
                return any_number;
        if (n->op == OP_WHERE)
                return bounds_around(bounds_within(r, n->in[1], depth + 1),
                                     bounds_within(r, n->in[2], depth + 1));
        a = bounds_within(r, n->in[0], depth + 1);
        if (n->nin > 1)
                b = bounds_within(r, n->in[1], depth + 1);
        switch ((int)n->op) {
        case OP_VIEW:
        case OP_REAL_OF: return a;
        case OP_NEG: return (RealBounds){-a.high, -a.low};
        case OP_EXP: return (RealBounds){real_exp(a.low), real_exp(a.high)};
        case OP_LOG: return (RealBounds){real_log(a.low), real_log(a.high)};
        case OP_SQRT: return (RealBounds){sqrt(a.low), sqrt(a.high)};
        case OP_TANH: return (RealBounds){real_tanh(a.low), real_tanh(a.high)};
        case OP_ADD: return (RealBounds){a.low + b.low, a.high + b.high};
        case OP_SUB: return (RealBounds){a.low - b.high, a.high - b.low};
        case OP_MUL:
                return n->in[0] == n->in[1] && a.low < 0 ? (RealBounds){0, INFINITY} : bounds_product(a, b);
        case OP_DIV:
                return b.low > 0 || b.high < 0 || b.low == 0
                               ? bounds_product(a, ordered(1 / b.low, 1 / b.high))
                               : any_number;
        case OP_MAX: return (RealBounds){fmax(a.low, b.low), fmax(a.high, b.high)};
        case OP_MIN: return (RealBounds){fmin(a.low, b.low), fmin(a.high, b.high)};
        default: return any_number;
        }
}

/* By the op and by the kinds of its facts; computed once for each node. */
static RealBounds bounds_within(const Recur *r, const Node *n, int depth)
{
        const bool known = n->id < r->limit && r->facts->found[n->id];
        if (known && r->bounds[n->id].low <= r->bounds[n->id].high)
                return r->bounds[n->id];
        RealBounds b = bounds_by_op(r, n, depth);
        const unsigned kinds = known ? r->facts->of[n->id].kinds : ANYTHING;
        if (!(kinds & (NEGATIVE | MINUS_INF)))
                b.low = fmax(b.low, 0);
        if (!(kinds & (POSITIVE | PLUS_INF)))
                b.high = fmin(b.high, 0);
        if (!(b.low <= b.high)) /* inf - inf, a logarithm below 0, or no such number */
                b = any_number;
        if (known)
                r->bounds[n->id] = b;
        return b;
}

RealBounds recur_bounds(const Recur *r, const Node *n)
{
        return bounds_within(r, n, 0);
}
