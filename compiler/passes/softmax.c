/* Recognises a softmax written as a formula, so that attention around it is one kernel.
 *
 *   exp(x) / sum(exp(x))                              softmax(x); a row whose elements are all masked is 0 / 0: NaN
 *   exp(x) * (1 / sum(exp(x)))                        the same
 *   (exp(x) @ v) / sum(exp(x))                        softmax(x) @ v
 *   exp(x - log(sum(exp(x))))                         softmax(x)
 *   .. with x - max(x) for x                          the same: a number subtracted from a whole row cancels
 *   .. with 2 ^ x or c ^ x, c > 0, for exp(x)         softmax(x log c)
 *   .. with softmax(x) * mask for exp(x)              softmax(where(mask, x, -inf)), if only positions decide the mask
 *   softmax(where(mask, x - max(x), -inf))            softmax(where(mask, x, -inf))
 *   .. with exp(x) * mask, where(mask, exp(x), 0)     softmax(where(mask, x, -inf))
 *   .. with sum(..) + c, or + exp(s)                  softmax(x, sink: log(c), or s)
 *
 * These are equalities of real numbers.  In floats the op is more accurate: exp of its largest element is
 * 1. */
#include "simplify_private.h"

#include <math.h>

/* exp(x) in all its notations: x; its mask (NULL: none); the subtracted maximum, and the softmax whose
 * division is included, or NULL. */
typedef struct {
        Node *x, *mask, *taken_off;
} Exponential;

static int last_axis(const Node *n)
{
        return n->type.rank - 1;
}

static bool constant_is(const Node *n, double value)
{
        double found;
        return constant_uniform(n, &found) && found == value;
}

/* Whether n is the sum or maximum of each row of `of`. */
static bool is_fold(const Node *n, Op op, const Node *of)
{
        return n->op == op && n->in[0] == of && n->attr.axis == last_axis(of);
}

/* The mask as booleans, from booleans or reals. */
static Node *mask_in(Node *n)
{
        Node *x = n->op == OP_REAL_OF ? n->in[0] : n;
        return x->type.dtype == BOOL ? x : NULL;
}

/* Whether only positions and constants decide n. */
static bool is_of_positions(const Node *n, int depth)
{
        bool leaf = n->op == OP_INDEX || n->op == OP_CONST || n->op == OP_SIZE;
        bool inner = depth > 0 && (op_info[n->op].family == POINT || n->op == OP_VIEW);
        for (int i = 0; inner && i < n->nin; i++)
                inner = is_of_positions(n->in[i], depth - 1);
        return leaf || inner;
}

/* Whether the formula of an element may be -inf.  Nodes that are not elementwise count as finite.  left: the
 * number of nodes that may still be visited, since there may be very many paths. */
static bool reaches_infinity(const Node *n, int *left)
{
        bool may = --*left < 0 || n->op == OP_LOG || (n->op == OP_PAD && isinf(n->attr.value));
        for (int64_t i = 0; n->op == OP_CONST && i < n->attr.literal->iterations * n->attr.literal->count;
             i++)
                may = may || isinf(n->attr.literal->value[i]);
        const OpFamily family = op_info[n->op].family;
        for (int i = 0; !may && (family == POINT || family == MOVE || n->op == OP_MAXOF) && i < n->nin; i++)
                may = reaches_infinity(n->in[i], left);
        return may;
}

static bool may_be_minus_infinity(const Node *n)
{
        return reaches_infinity(n, &(int){256});
}

/* A row of -inf minus its maximum is NaN, which neither a mask nor a sink makes 0. */
static bool may_lose_dead_rows(const Exponential *e)
{
        return e->taken_off && e->taken_off->op == OP_MAXOF && may_be_minus_infinity(e->x);
}

/* A softmax with a mask that data decides is unchanged: its weights choose experts. */
static bool masks(const Exponential *e)
{
        bool weights = e->taken_off && e->taken_off->op == OP_SOFTMAX;
        return (!weights || is_of_positions(e->mask, 16)) && !may_lose_dead_rows(e);
}

static bool exponential(Graph *g, Node *n, Exponential *e)
{
        double base;
        if (n->op == OP_POW && constant_uniform(n->in[0], &base) && base > 0 && isfinite(base) && base != 1) {
                Node *in[] = {n->in[1], build_number(g, n->body, real_log(base), REAL, n->span, n->where)};
                *e = (Exponential){build_like(g, n, OP_MUL, 2, in, NULL), NULL, NULL};
                return true;
        }
        if (n->op == OP_EXP) {
                Node *x = n->in[0];
                bool off = x->op == OP_SUB && is_fold(x->in[1], OP_MAXOF, x->in[0]);
                *e = (Exponential){off ? x->in[0] : x, NULL, off ? x->in[1] : NULL};
                return true;
        }
        if (n->op == OP_SOFTMAX) {
                *e = (Exponential){n->in[0], NULL, n};
                return true;
        }
        if (n->op == OP_WHERE && constant_is(n->in[2], 0) && exponential(g, n->in[1], e) && !e->mask) {
                e->mask = n->in[0];
                return masks(e);
        }
        for (int i = 0; n->op == OP_MUL && i < 2; i++) {
                Node *mask = mask_in(n->in[1 - i]);
                if (mask && exponential(g, n->in[i], e) && !e->mask) {
                        e->mask = mask;
                        return masks(e);
                }
        }
        return false;
}

/* The sink whose exponential is n, beside the exponential e of x; NULL: none. */
static Node *sink_of(Graph *g, Node *n, const Exponential *e)
{
        double c;
        if (!e->taken_off && constant_uniform(n, &c) && c > 0 && isfinite(c))
                return build_number(g, n->body, real_log(c), REAL, n->span, n->where);
        if (n->op != OP_EXP || (e->taken_off && e->taken_off->op == OP_SOFTMAX))
                return NULL;
        Node *s = n->in[0];
        if (!e->taken_off)
                return s;
        if (s->op == OP_NEG && s->in[0] == e->taken_off)
                return build_number(g, n->body, 0, REAL, n->span, n->where);
        return s->op == OP_SUB && s->in[1] == e->taken_off ? s->in[0] : NULL;
}

/* For n = sum(exponential), with or without one more term: the exponential, or NULL; *sink: the other term,
 * or NULL. */
static Node *softmax_summed(Graph *g, Node *n, Exponential *e, Node **sink)
{
        *sink = NULL;
        if (n->op == OP_SUM)
                return n->attr.axis == last_axis(n->in[0]) && exponential(g, n->in[0], e) ? n->in[0] : NULL;
        for (int i = 0; n->op == OP_ADD && i < 2; i++) {
                Node *sum = n->in[i];
                if (sum->op != OP_SUM || sum->attr.axis != last_axis(sum->in[0]) ||
                    !exponential(g, sum->in[0], e))
                        continue;
                *sink = sink_of(g, n->in[1 - i], e);
                return *sink ? sum->in[0] : NULL;
        }
        return NULL;
}

/* NULL: the sink is not one for each row. */
static Node *softmax_of(Graph *g, const Node *like, const Exponential *e, Node *sink)
{
        Node *minus = e->mask ? build_number(g, like->body, -INFINITY, REAL, like->span, like->where) : NULL;
        Node *masked[] = {e->mask, e->x, minus};
        Node *x = e->mask ? build_like(g, like, OP_WHERE, 3, masked, NULL) : e->x;
        Node *in[] = {x, sink};
        const Attr attr = {.index = sink && !may_lose_dead_rows(e) ? 0 : DEAD_ROWS_NAN};
        return build_like(g, like, OP_SOFTMAX, sink ? 2 : 1, in, &attr);
}

/* a / b as a softmax, or as the product of a softmax with values. */
static Node *softmax_quotient(Graph *g, const Node *n, Node *a, Node *b)
{
        Exponential e;
        Node *sink, *of = softmax_summed(g, b, &e, &sink);
        if (of && a == of)
                return softmax_of(g, n, &e, sink);
        if (!of || a->op != OP_MATMUL || a->in[0] != of)
                return NULL;
        Node *in[] = {softmax_of(g, n, &e, sink), a->in[1]};
        return in[0] ? build_like(g, n, OP_MATMUL, 2, in, &a->attr) : NULL;
}

/* exp(x - log(sum(exp(x)))) */
static Node *by_logarithm(Graph *g, const Node *n)
{
        const Node *difference = n->in[0];
        if (difference->op != OP_SUB || difference->in[1]->op != OP_LOG)
                return NULL;
        Exponential e;
        Node *sink, *of = softmax_summed(g, difference->in[1]->in[0], &e, &sink);
        bool fits = of && !e.mask && !e.taken_off && e.x == difference->in[0];
        return fits ? softmax_of(g, n, &e, sink) : NULL;
}

/* x, if n is x minus the maximum of each row. */
static Node *less_maximum(const Node *n)
{
        return n->op == OP_SUB && is_fold(n->in[1], OP_MAXOF, n->in[0]) ? n->in[0] : NULL;
}

/* softmax(x - max(x)), with or without a mask on the difference. */
static Node *softmax_shifted(Graph *g, const Node *n)
{
        const Node *x = n->in[0];
        if (n->nin > 1)
                return NULL;
        Node *all = less_maximum(x);
        if (all)
                return build_like(g, n, OP_SOFTMAX, 1, &all, &(Attr){.index = DEAD_ROWS_NAN});
        bool masked = x->op == OP_WHERE && constant_is(x->in[2], -INFINITY);
        all = masked ? less_maximum(x->in[1]) : NULL;
        if (all && may_be_minus_infinity(all))
                return NULL;
        Node *in[] = {all ? x->in[0] : NULL, all, masked ? x->in[2] : NULL};
        Node *where = all ? build_like(g, x, OP_WHERE, 3, in, NULL) : NULL;
        return where ? build_like(g, n, OP_SOFTMAX, 1, &where, &n->attr) : NULL;
}

Node *rewrite_softmax(Graph *g, Node *n)
{
        Node *y = NULL;
        if (n->op == OP_SOFTMAX)
                y = softmax_shifted(g, n);
        if (n->op == OP_EXP)
                y = by_logarithm(g, n);
        if (n->op == OP_DIV)
                y = softmax_quotient(g, n, n->in[0], n->in[1]);
        for (int i = 0; n->op == OP_MUL && !y && i < 2; i++)
                if (n->in[i]->op == OP_DIV && constant_is(n->in[i]->in[0], 1))
                        y = softmax_quotient(g, n, n->in[1 - i], n->in[i]->in[1]);
        return y && type_equal(&y->type, &n->type) ? y : n;
}
