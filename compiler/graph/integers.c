/* Bounds of values, by interval arithmetic in the order of the nodes.
 *
 * Bounds of carried values, and of state, begin empty and grow until they no longer change.  Integers that
 * grow in every iteration are followed through all iterations; such reals have no bound.
 *
 * Bounds of integers are exact below 2^53.  Those of reals are widened by more than the rounding error of
 * an operation. */
#include "graph.h"

#include <math.h>
#include <string.h>

static const double float_most = 16777216, double_most = 9007199254740992.0; /* 2^24, 2^53 */
static const double too_much = 1e300;  /* a bound after MAX_INTEGER_STEPS */
enum { MAX_INTEGER_STEPS = 20000000 }; /* maximum number of visited nodes */

typedef struct {
        const Graph *graph;
        Interval *now;      /* by id: in the current iteration */
        Interval *of;       /* by id: in all iterations */
        Interval **leaving; /* by id of a repeat: carried values, then stacked ones */
        Interval *state;    /* by id of the state variable */
        int64_t steps;
        int rounds;
        bool grown; /* a state has changed */
} IntervalScan;

static const Interval nothing = {INFINITY, -INFINITY}, anything = {-INFINITY, INFINITY};

static bool is_nothing(Interval x)
{
        return x.low > x.high;
}

static Interval interval(double low, double high)
{
        return (Interval){low, high};
}

static Interval interval_hull(Interval a, Interval b)
{
        return interval(fmin(a.low, b.low), fmax(a.high, b.high));
}

static bool interval_equal(Interval a, Interval b)
{
        return a.low == b.low && a.high == b.high;
}

static double magnitude(Interval x)
{
        return fmax(fabs(x.low), fabs(x.high));
}

/* Widens a real's bounds by more than the rounding error of an operation or function.  A value that may
 * overflow has no bound. */
static Interval interval_widened(Interval x, double terms)
{
        double by = magnitude(x) * terms * 0x1p-20 + 1e-30;
        return magnitude(x) < 1e30 ? interval(x.low - by, x.high + by) : anything;
}

static double bound_product(double a, double b)
{
        return a == 0 || b == 0 ? 0 : a * b;
}

static Interval corners(double a, double b, double c, double d)
{
        return interval(fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d)));
}

static Interval multiplied(Interval a, Interval b)
{
        return corners(bound_product(a.low, b.low), bound_product(a.low, b.high),
                       bound_product(a.high, b.low), bound_product(a.high, b.high));
}

/* Quotient by an interval without 0. */
static Interval interval_divided(Interval a, Interval b)
{
        return corners(bound_product(a.low, 1 / b.low), bound_product(a.low, 1 / b.high),
                       bound_product(a.high, 1 / b.low), bound_product(a.high, 1 / b.high));
}

static Interval interval_floored(Interval x)
{
        return interval(floor(x.low), floor(x.high));
}

/* a // b of integers, b not 0.  The quotient may be an integer, and 1 / b inexact. */
static Interval floor_quotient(Interval a, Interval b)
{
        Interval q = nothing;
        if (b.high >= 1)
                q = interval_hull(q, interval_divided(a, interval(fmax(b.low, 1), b.high)));
        if (b.low <= -1)
                q = interval_hull(q, interval_divided(a, interval(b.low, fmin(b.high, -1))));
        if (is_nothing(q))
                return interval(0, 0);
        return interval(floor(q.low - fabs(q.low) * 0x1p-50), floor(q.high + fabs(q.high) * 0x1p-50));
}

static Interval remainder_of(Interval a, Interval b)
{
        if (a.low >= 0 && b.low > 0 && a.high < b.low)
                return a;
        Interval r = {b.low < 0 ? b.low + 1 : 0, b.high > 0 ? b.high - 1 : 0};
        if (b.low > 0 && a.low >= 0)
                r.high = fmin(r.high, a.high);
        return r;
}

/* Magnitude of intermediate values: b floor(a / b) is a minus the remainder. */
static double mod_most(Interval a, Interval b)
{
        return a.low >= 0 && b.low >= 0 ? fmax(a.high, b.high) : magnitude(a) + magnitude(b);
}

static Interval interval_summed(const IntervalScan *s, const Node *n, Interval x)
{
        Dim axis = n->in[0]->type.dim[n->attr.axis];
        double least = (double)dim_least(s->graph, axis), most = (double)dim_bound(s->graph, axis);
        Interval sum = {bound_product(x.low, x.low < 0 ? most : least),
                        bound_product(x.high, x.high > 0 ? most : least)};
        return n->type.dtype == REAL ? interval_widened(sum, most) : sum;
}

/* Bounds for any number of rows. */
static Interval scanned(const IntervalScan *s, const Node *n, Interval x)
{
        Dim rows = n->type.dim[n->type.rank - 2];
        if (n->attr.index == SCAN_MAXIMA)
                return x;
        if (n->nin > 1)
                return anything;
        double most =
                (double)dim_bound(s->graph, n->attr.state ? dim_add(rows, dim_named(s->graph->past)) : rows);
        return interval_widened((Interval){bound_product(x.low, x.low < 0 ? most : 1),
                                           bound_product(x.high, x.high > 0 ? most : 1)},
                                most);
}

static Interval of_function(Op op, Interval x)
{
        switch ((int)op) {
        case OP_EXP: return interval(real_exp(x.low), real_exp(x.high));
        case OP_LOG:
                return x.high > 0 ? interval(x.low > 0 ? real_log(x.low) : -INFINITY, real_log(x.high))
                                  : anything;
        case OP_SQRT: return interval(0, x.high > 0 ? sqrt(x.high) : 0);
        case OP_SIN:
        case OP_COS:
        case OP_TANH:
        case OP_ERF: return interval(-1, 1);
        default: return anything;
        }
}

static Interval integers_pointwise(const Node *n, Interval a, Interval b, Interval c)
{
        bool whole = n->type.dtype == INT;
        switch (n->op) {
        case OP_NEG: return interval(-a.high, -a.low);
        case OP_FLOOR: return interval_floored(a);
        case OP_REAL_OF: return a;
        case OP_ADD: return interval(a.low + b.low, a.high + b.high);
        case OP_SUB: return interval(a.low - b.high, a.high - b.low);
        case OP_MUL: return multiplied(a, b);
        case OP_DIV: return b.low > 0 || b.high < 0 ? interval_divided(a, b) : anything;
        case OP_MAX: return interval(fmax(a.low, b.low), fmax(a.high, b.high));
        case OP_MIN: return interval(fmin(a.low, b.low), fmin(a.high, b.high));
        case OP_FLOORDIV: return whole ? floor_quotient(a, b) : anything;
        case OP_MOD: return whole ? remainder_of(a, b) : anything;
        case OP_WHERE: return interval_hull(b, c);
        default: return of_function(n->op, a);
        }
}

static Interval of_constant(const Literal *l)
{
        Interval all = nothing;
        for (int64_t i = 0; i < l->iterations * l->count; i++)
                all = isnan(l->value[i]) ? anything : interval_hull(all, interval(l->value[i], l->value[i]));
        return l->count ? all : interval(0, 0);
}

static Interval of_index(const IntervalScan *s, const Node *n)
{
        Dim end = dim_add(n->attr.dim, n->type.dim[0]);
        return interval((double)dim_least(s->graph, n->attr.dim), (double)dim_bound(s->graph, end) - 1);
}

static void interval_keep(IntervalScan *s, const Node *n, Interval x)
{
        Interval *state = &s->state[n->attr.state->id], all = interval_hull(*state, x);
        if (interval_equal(all, *state))
                return;
        s->grown = true;
        *state = s->rounds > s->graph->nstate + 2 ? interval(-too_much, too_much) : all;
}

static void scan_repeat(IntervalScan *s, const Node *repeat);

/* Bounds of any op except a repeat. */
static Interval of_node(IntervalScan *s, const Node *n)
{
        Interval in[3] = {nothing, nothing, nothing}, all = nothing;
        for (int i = 0; i < n->nin; i++) {
                Interval x = s->now[n->in[i]->id];
                if (is_nothing(x) && n->op != OP_APPEND && n->op != OP_REPEAT)
                        return nothing;
                all = interval_hull(all, x);
                if (i < 3)
                        in[i] = x;
        }
        switch (n->op) {
        case OP_INPUT: return interval(0, (double)s->graph->input[n->attr.index].bound - 1);
        case OP_CONST: return of_constant(n->attr.literal);
        case OP_SIZE:
                return interval((double)dim_least(s->graph, n->attr.dim),
                                (double)dim_bound(s->graph, n->attr.dim));
        case OP_INDEX: return of_index(s, n);
        case OP_VIEW:
        case OP_GATHER:
        case OP_MAXOF: return in[0];
        case OP_PAD: return interval_hull(in[0], interval(n->attr.value, n->attr.value));
        case OP_JOIN: return all;
        case OP_ARGMAX: return interval(0, (double)dim_bound(s->graph, n->in[0]->type.dim[n->attr.axis]) - 1);
        case OP_SUM: return interval_summed(s, n, in[0]);
        case OP_CHOSEN:
                return interval(-1, (double)dim_bound(s->graph, n->in[0]->type.dim[n->type.rank - 1]) - 1);
        case OP_AMONG:
        case OP_SOFTMAX: return interval(0, 1);
        case OP_SCAN: return scanned(s, n, in[0]);
        case OP_READ:
        case OP_KEPT: return s->state[n->attr.state->id];
        case OP_APPEND:
        case OP_KEEP: return interval_keep(s, n, all), all;
        case OP_CARRY: return s->now[n->id];
        case OP_REPEAT: return scan_repeat(s, n), anything;
        case OP_RESULT: return s->leaving[n->in[0]->id][n->attr.index];
        default:
                return op_info[n->op].family == POINT ? integers_pointwise(n, in[0], in[1], in[2]) : anything;
        }
}

static bool has_no_bound(const Node *n)
{
        return n->type.dtype == REAL && (n->op == OP_INPUT || n->op == OP_WEIGHT || n->op == OP_MATMUL ||
                                         op_info[n->op].family == STATE);
}

/* Integers whose bounds are beyond doubles, where those of its inputs are not. */
static bool overflows_bounds(const IntervalScan *s, const Node *n, Interval x)
{
        bool overflows = n->type.dtype == INT && op_info[n->op].family == POINT && isinf(magnitude(x));
        for (int i = 0; i < n->nin; i++)
                overflows = overflows && !isinf(magnitude(s->now[n->in[i]->id]));
        return overflows && !is_nothing(x);
}

static void scan_node(IntervalScan *s, const Node *n)
{
        Interval x = has_no_bound(n) ? anything : of_node(s, n);
        if (overflows_bounds(s, n, x))
                x = interval(-too_much, too_much);
        bool computed = op_info[n->op].family == POINT || op_info[n->op].family == CONTRACT;
        if (n->type.dtype == BOOL && !is_nothing(x))
                x = interval(0, 1);
        if (n->type.dtype == REAL && computed && !is_nothing(x))
                x = interval_widened(x, 4);
        s->now[n->id] = x;
        s->of[n->id] = interval_hull(s->of[n->id], x);
        s->steps++;
}

static void scan_body(IntervalScan *s, const Body *b, const Interval *carried)
{
        for (int i = 0; i < b->nnode; i++) {
                if (b->node[i]->op == OP_CARRY)
                        s->now[b->node[i]->id] = carried[b->node[i]->attr.index];
                scan_node(s, b->node[i]);
        }
}

/* Widens the carried bounds by the values at the end of an iteration. */
static bool carry_on(const IntervalScan *s, const Region *r, const Body *b, Interval *carried)
{
        bool grown = false;
        for (int i = 0; i < r->ncarry; i++) {
                Interval all = interval_hull(carried[i], s->now[b->next[i]->id]);
                if (interval_equal(all, carried[i]))
                        continue;
                grown = true;
                carried[i] = b->next[i]->type.dtype == REAL ? anything
                             : s->steps > MAX_INTEGER_STEPS ? interval(-too_much, too_much)
                                                            : all;
        }
        for (int i = r->ncarry; i < r->ncarry + r->nstack; i++)
                carried[i] = interval_hull(carried[i], s->now[b->stack[i - r->ncarry]->id]);
        return grown;
}

/* Visits a body again if carried bounds have grown since.  The positions of all calls together are at most as
 * many as one may have. */
static void scan_repeat(IntervalScan *s, const Node *repeat)
{
        const Region *r = repeat->attr.region;
        const int64_t runs = r->along ? dim_bound(s->graph, positions_of(s->graph, r)) : r->iterations;
        Interval *carried = s->leaving[repeat->id];
        int seen[UINT8_MAX + 1] = {0}, grown = 1;
        for (int i = 0; i < r->ncarry + r->nstack; i++)
                carried[i] = i < r->ncarry ? s->now[repeat->in[i]->id] : nothing;
        for (int64_t iteration = 0; iteration < runs; iteration++) {
                int b = r->along ? 0 : r->body_of[iteration];
                if (seen[b] == grown && r->along)
                        break; /* its only body, and nothing has changed */
                if (seen[b] == grown)
                        continue;
                seen[b] = grown;
                scan_body(s, r->body[b], carried);
                grown += carry_on(s, r, r->body[b], carried);
        }
}

static void integers_prepare(IntervalScan *s, Arena *a, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                if (n->op != OP_REPEAT)
                        continue;
                const Region *r = n->attr.region;
                s->leaving[n->id] = NEW_ARRAY(a, Interval, r->ncarry + r->nstack);
                for (int k = 0; k < r->nbody; k++)
                        integers_prepare(s, a, r->body[k]);
        }
}

Interval *intervals_of(Arena *a, const Graph *g)
{
        IntervalScan s = {.graph = g};
        s.now = NEW_ARRAY(a, Interval, g->nnode);
        s.of = NEW_ARRAY(a, Interval, g->nnode);
        s.leaving = NEW_ARRAY(a, Interval *, g->nnode);
        s.state = NEW_ARRAY(a, Interval, g->nstate);
        for (int i = 0; i < g->nnode; i++)
                s.now[i] = s.of[i] = nothing;
        for (int i = 0; i < g->nstate; i++)
                s.state[i] = nothing;
        integers_prepare(&s, a, g->top);
        do {
                s.grown = false;
                s.rounds++;
                scan_body(&s, g->top, NULL);
        } while (s.grown);
        return s.of;
}

/* --- exactness of integers ---------------------------------------------------------------------------------------- */

bool is_wide(const Interval *of, const Node *n)
{
        return n->type.dtype == INT && !is_nothing(of[n->id]) && magnitude(of[n->id]) > float_most;
}

bool computes_wide(const Interval *of, const Node *n)
{
        bool wide = is_wide(of, n);
        for (int i = 0; i < n->nin; i++) {
                if (n->in[i]->type.dtype == REAL)
                        return false;
                wide = wide || is_wide(of, n->in[i]);
        }
        if (n->op == OP_MOD && n->type.dtype == INT)
                wide = wide || mod_most(of[n->in[0]->id], of[n->in[1]->id]) > float_most;
        return wide && n->type.dtype != REAL;
}

/* The largest integer that the node computes, if a bound is known; else 0. */
static double max_computed(const Interval *of, const Node *n)
{
        double most = is_nothing(of[n->id]) ? 0 : magnitude(of[n->id]);
        if (n->type.dtype != INT)
                return 0;
        if (n->op == OP_MOD)
                most = fmax(most, mod_most(of[n->in[0]->id], of[n->in[1]->id]));
        return isinf(most) ? 0 : most;
}

static void integers_refuse(const Node *n, Diag *diag, double most, const char *but)
{
        diag_error(diag, n->span, "%s: integers of up to %.4g, but %s", op_info[n->op].text, most, but);
        diag_note(diag, n->span, "take a remainder (%%) before, or reals: real(..)");
        note_instances(diag, n->where);
}

/* Whether the node exceeds 2^53 and none of its operands does. */
static bool goes_beyond(const Interval *of, const Node *n)
{
        OpFamily family = op_info[n->op].family;
        if (max_computed(of, n) < double_most || family == STATE || family == CONTROL)
                return false;
        for (int i = 0; i < n->nin; i++)
                if (n->in[i]->op != OP_CARRY && max_computed(of, n->in[i]) >= double_most)
                        return false;
        return true;
}

static bool integers_node(const Interval *of, const Node *n, Diag *diag)
{
        bool beyond = goes_beyond(of, n);
        bool compares = (n->op == OP_TOP || n->op == OP_CHOSEN || n->op == OP_ARGMAX) &&
                        is_wide(of, n->in[0]) && max_computed(of, n->in[0]) > 0;
        if (beyond)
                integers_refuse(n, diag, max_computed(of, n), "integers are exact only below 2^53");
        else if (compares)
                integers_refuse(n, diag, max_computed(of, n->in[0]),
                                "it compares floats, which are exact only up to 2^24");
        return !beyond && !compares;
}

static bool integers_body(const Interval *of, const Body *b, Diag *diag)
{
        bool good = true;
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                good = integers_node(of, n, diag) && good;
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        good = integers_body(of, n->attr.region->body[k], diag) && good;
        }
        return good;
}

bool integers_check(const Graph *g, Diag *diag)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        const Interval *of = intervals_of(&scratch, g);
        bool good = integers_body(of, g->top, diag);
        for (int i = 0; i < g->noutput && good; i++) {
                const Output *o = &g->output[i];
                if (o->tap || !is_wide(of, o->node) || max_computed(of, o->node) == 0)
                        continue;
                diag_error(diag, o->span,
                           "output %s: integers of up to %.4g, but outputs are floats, exact only up to 2^24",
                           o->name, max_computed(of, o->node));
                diag_note(diag, o->span, "take a remainder (%%) before, or reals: real(..)");
                good = false;
        }
        arena_free(&scratch);
        return good;
}

static void as_reals(Graph *g, const Interval *of, Body *b)
{
        int n = b->nnode;
        if (n == 0) /* an output may be an input, so that nothing is computed */
                return;
        Node **node = NEW_ARRAY(g->arena, Node *, n);
        memcpy(node, b->node, (size_t)n * sizeof *node);
        b->nnode = 0;
        for (int i = 0; i < n; i++) {
                Node *user = node[i];
                bool reads_floats = user->op == OP_MATMUL || user->op == OP_TOP || user->op == OP_ARGMAX;
                for (int k = 0; k < user->nin && reads_floats; k++)
                        if (is_wide(of, user->in[k]))
                                user->in[k] = build(g, b, NULL, OP_REAL_OF, 1, &user->in[k], NULL, user->span,
                                                    user->where);
                body_append(g, b, user);
                for (int k = 0; user->op == OP_REPEAT && k < user->attr.region->nbody; k++)
                        as_reals(g, of, user->attr.region->body[k]);
        }
}

bool wide_operands_as_reals(Graph *g)
{
        const int old = g->nnode;
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        as_reals(g, intervals_of(&scratch, g), g->top);
        arena_free(&scratch);
        return g->nnode > old;
}
