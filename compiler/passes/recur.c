/* Recurrences: turns causal sums and maxima into scans, so that their state has a constant size.
 *
 *      y = (mask * (q @ k') * r * c) @ v              y = r * recur_scan(q, k, c v, powers of the decay)
 *
 * The mask is a triangle, col <= row, times any decay^(row - col); r depends on the row, c on the column.
 * Then the sum up to a row can be computed from the sum up to the row before, and an instance keeps a matrix
 * for each head in place of all keys and values.  The left operand is matched factor by factor:
 *
 *      where(col <= row, x, 0), real(col <= row)      triangle           by the exact affine forms of the causal facts
 *      decay^(row - col), exp((row - col) log decay)  decay              a number for each head: constant, from 0 to 1, or of weights
 *      q @ k'                                         queries and keys   one product at most; without one, running sums
 *      constant along columns, or along rows         r, c               also as a divisor
 *
 *      a condition of the column, or of the row       where(it, c v, 0)  in addition to the triangle: all is masked where it fails
 *
 * A sum over the columns of such a left operand, such as a normaliser, becomes q . recur_scan(c k), or 1 +
 * row.  A maximum over them,
 *
 *      y = max(where(col <= row, c, -inf) + r)        y = scan of maxima(c) + r
 *
 * has terms of rows and columns in place of factors.
 *
 * Expects a verified graph before the causal pass.  The new scans have no state yet; --explain lists them. */
#include <math.h>
#include <string.h>

#include "recur_private.h"

/* --- the decay as a number per head --- */

/* The elements of n in an iteration of the contraction's repeat; NULL: not constant. */
static const double *literal_of(RecurMatch *m, const Node *n, int64_t iteration)
{
        static const int64_t no_size[MAX_NAMED];
        Arena *a = m->r->g->arena;
        const double *in[256];
        OpFamily family = op_info[n->op].family;
        if (!type_is_fixed(&n->type) ||
            (n->op != OP_CONST && n->op != OP_INDEX && family != MOVE && family != POINT))
                return NULL;
        double *y = NEW_ARRAY(a, double, type_count(&n->type, NULL));
        if (n->op == OP_CONST) {
                if (n->attr.literal->iterations > 1 && n->body->region != m->root->body->region)
                        return NULL;
                for (int64_t i = 0; i < n->attr.literal->count; i++)
                        y[i] = literal_at(n, iteration, i);
                return y;
        }
        for (int i = 0; i < n->nin; i++)
                if (!(in[i] = literal_of(m, n->in[i], iteration)))
                        return NULL;
        evaluate(n, no_size, in, y);
        return y;
}

Node *recur_node(RecurMatch *m, Op op, Node *a, Node *b)
{
        Diag diag = {.arena = m->r->g->arena};
        Node *in[] = {a, b};
        return a ? build(m->r->g, m->at, &diag, op, b ? 2 : 1, in, NULL, m->root->span, m->root->where)
                 : NULL;
}

static Node *recur_where(RecurMatch *m, Node *condition, Node *yes, Node *no)
{
        Diag diag = {.arena = m->r->g->arena};
        Node *in[] = {condition, yes, no};
        return build(m->r->g, m->at, &diag, OP_WHERE, 3, in, NULL, m->root->span, m->root->where);
}

Node *recur_as_real(RecurMatch *m, Node *n)
{
        return n->type.dtype != REAL ? recur_node(m, OP_REAL_OF, n, NULL) : n;
}

Node *recur_number(RecurMatch *m, double value)
{
        return build_number(m->r->g, m->at, value, REAL, m->root->span, m->root->where);
}

/* x times or divided by a factor; for maxima, plus or minus a term */
static Node *with_factor(RecurMatch *m, Node *x, Node *factor, bool under)
{
        Op direct = m->maxima ? OP_ADD : OP_MUL, inverse = m->maxima ? OP_SUB : OP_DIV;
        return recur_node(m, under ? inverse : direct, x, factor);
}

static Node *recur_times(RecurMatch *m, Node *x, const FactorList *by)
{
        for (int i = 0; x && i < by->n; i++)
                x = with_factor(m, x, by->at[i].node, by->at[i].under);
        return x;
}

/* The decays of one step, whose last two axes have one element. */
static Node *recur_one_step(RecurMatch *m)
{
        Graph *g = m->r->g;
        Node *all = NULL;
        for (int i = 0; i < m->ndecay; i++) {
                const Decay *d = &m->decay[i];
                Node *x = recur_times(m, recur_number(m, (double)d->steps), &d->by);
                x = d->base ? recur_node(m, OP_POW, d->base, x) : recur_node(m, OP_EXP, x, NULL);
                all = all ? recur_node(m, OP_MUL, all, x) : x;
        }
        return all->type.rank < 2 ? view_rank(g, m->at, all, 2, m->root->span, m->root->where) : all;
}

/* A constant with `each` numbers for every number of `of`, computed by recur_node(); for each iteration if
 * they differ. */
static Node *recur_table(RecurMatch *m, const Node *of, Type type, int64_t each,
                         double (*number)(double c, int64_t i))
{
        Graph *g = m->r->g;
        const Region *region = m->root->body->region;
        Literal *l = NEW(g->arena, Literal);
        int64_t count = type_count(&of->type, NULL);
        l->iterations = region ? region->iterations : 1;
        l->count = count * each;
        l->value = NEW_ARRAY(g->arena, double, l->iterations * l->count);
        bool same = true;
        for (int64_t t = 0; t < l->iterations; t++) {
                const double *c = literal_of(m, of, t);
                for (int64_t i = 0; i < count; i++) {
                        if (!c || !(c[i] >= 0 && c[i] <= 1))
                                return recur_refuse(m, c ? "its decay is not from 0 to 1"
                                                         : "its decay is no constant");
                        for (int64_t k = 0; k < each; k++)
                                l->value[t * l->count + i * each + k] = number(c[i], k);
                }
                same &= !memcmp(l->value, l->value + t * l->count, (size_t)l->count * sizeof *l->value);
        }
        if (same)
                l->iterations = 1;
        if (l->iterations > 1 && m->at != m->root->body)
                return recur_refuse(m, "its decays are others in each iteration");
        return node_new(g, m->at, OP_CONST, 0, NULL, (Attr){.literal = l, .slot = -1}, type, m->root->span,
                        m->root->where);
}

static double power_of(double c, int64_t i)
{
        return real_pow(c, (double)i);
}

static double itself(double c, int64_t i)
{
        (void)i;
        return c;
}

bool is_still(const RecurMatch *m, const Node *n)
{
        if (n->id < m->r->limit) {
                const Reach *reach = &m->r->facts->of[n->id].reach;
                return !reach->all && reach->n == 0;
        }
        bool still = n->op == OP_CONST || n->op == OP_VIEW || op_info[n->op].family == POINT;
        for (int i = 0; still && i < n->nin; i++)
                still = is_still(m, n->in[i]);
        return still;
}

/* Powers of a decay that is known only at run time: the same for all positions, and never negative. */
static Node *powers_of_still(RecurMatch *m, Node *c)
{
        for (int i = 0; i < m->ndecay; i++) {
                const Decay *d = &m->decay[i];
                bool still = !d->base || is_still(m, d->base);
                for (int k = 0; k < d->by.n; k++)
                        still = still && is_still(m, d->by.at[k].node);
                if (!still)
                        return recur_refuse(
                                m, "data decide its decay: such gates are no recurrence that is derived");
                if (d->base && m->r->facts->of[d->base->id].kinds & ~(unsigned)(ZERO | POSITIVE))
                        return recur_refuse(m, "its decay may be negative");
        }
        Type type = {.dtype = INT, .rank = 1, .dim = {dim_fixed(SCAN_POWERS)}};
        Node *exponent = node_new(m->r->g, m->at, OP_INDEX, 0, NULL, (Attr){.slot = -1}, type, m->root->span,
                                  m->root->where);
        return recur_node(m, OP_POW, c, recur_as_real(m, exponent));
}

static Node *powers_of(RecurMatch *m)
{
        Node *c = recur_one_step(m);
        if (!literal_of(m, c, 0))
                return powers_of_still(m, recur_as_real(m, c));
        Type type = c->type;
        type.dtype = REAL;
        type.dim[type.rank - 1] = dim_fixed(SCAN_POWERS);
        return recur_table(m, c, type, SCAN_POWERS, power_of);
}

/* --- building the scan --- */

/* Exchanges the last axis with the one that is `back` before it. */
static Node *swapped(RecurMatch *m, Node *x, int back)
{
        int perm[MAX_RANK];
        if (x->type.rank <= back)
                x = view_rank(m->r->g, m->at, x, back + 1, m->root->span, m->root->where);
        int last = x->type.rank - 1;
        for (int i = 0; i < last; i++)
                perm[i] = i;
        perm[last] = last - back;
        perm[last - back] = last;
        return view_transpose(m->r->g, m->at, x, perm, m->root->span, m->root->where);
}

Node *recur_turned(RecurMatch *m, Node *x)
{
        return swapped(m, x, 1);
}

/* x where all conditions hold, else the neutral value.  A factor 0 would not mask NaNs. */
static Node *where_all(RecurMatch *m, Node *x, const FactorList *conditions, bool turn)
{
        for (int i = 0; x && i < conditions->n; i++) {
                Node *c = conditions->at[i].node, *no = recur_number(m, m->maxima ? -INFINITY : 0);
                bool negated = conditions->at[i].under;
                x = recur_where(m, turn ? recur_turned(m, c) : c, negated ? no : x, negated ? x : no);
        }
        return x;
}

/* x, or all ones, with the factors or terms of its rows, and their conditions */
static Node *recur_weighed(RecurMatch *m, Node *x)
{
        for (int i = 0; i < m->col.n; i++) {
                Node *c = recur_turned(m, recur_as_real(m, m->col.at[i].node));
                bool under = m->col.at[i].under;
                if (!x && under)
                        x = recur_number(m, m->maxima ? 0 : 1);
                x = x ? with_factor(m, x, c, under) : c;
        }
        if (!x && m->col_if.n)
                x = recur_number(m, m->maxima ? 0 : 1);
        return where_all(m, x, &m->col_if, true);
}

/* Whether n is known position by position, and reads no later position.  The new nodes are made of such
 * operands. */
static bool looks_back(const RecurMatch *m, const Node *n)
{
        const Recur *r = m->r;
        return n->id >= r->limit || !reads_future(r->facts, &r->facts->of[n->id].reach);
}

static bool has_inputs(const RecurMatch *m, const Node *n)
{
        const Reach *reach = n->id < m->r->limit ? &m->r->facts->of[n->id].reach : NULL;
        return !reach || reach->all || reach->n > 0;
}

bool may_spoil(const RecurMatch *m, const Node *n, bool under)
{
        const Fact *f = n && n->id < m->r->limit ? &m->r->facts->of[n->id] : NULL;
        return f && ((f->kinds & ~(unsigned)FINITE) || (under && f->exact_zero && (f->kinds & ZERO)));
}

static bool are_fed(RecurMatch *m, const Node *v)
{
        const Node *all[4 * MAX_FACTORS + 3] = {v, m->core ? m->core->in[0] : NULL,
                                                m->core ? m->core->in[1] : NULL};
        bool back = true, fed = false, spoilt = may_spoil(m, v, false) || may_spoil(m, all[2], false);
        int n = 3;
        for (int i = 0; i < m->col.n; i++) {
                all[n++] = m->col.at[i].node;
                spoilt = spoilt || may_spoil(m, m->col.at[i].node, m->col.at[i].under);
        }
        for (int i = 0; i < m->col_if.n; i++)
                all[n++] = m->col_if.at[i].node;
        for (int i = 0; i < m->row_exponent.n; i++)
                all[n++] = m->row_exponent.at[i].node;
        for (int i = 0; i < m->col_exponent.n; i++)
                all[n++] = m->col_exponent.at[i].node;
        for (int i = 0; i < n; i++) {
                back = back && (!all[i] || looks_back(m, all[i]));
                fed = fed || (all[i] && has_inputs(m, all[i]));
        }
        spoilt = spoilt && reads_future(m->r->facts, &m->r->facts->of[m->root->id].reach);
        if (back && fed && !spoilt)
                return true;
        return recur_refuse(m, !back  ? "its summands depend on later positions"
                               : !fed ? "its summands depend on no input"
                                      : "its summands may be infinite or NaN, which its mask does not hide");
}

bool is_rows(const RecurMatch *m, const Node *n)
{
        return n->type.rank >= 2 && dim_equal(n->type.dim[n->type.rank - 2], dim_named(m->r->time)) &&
               dim_is_fixed(n->type.dim[n->type.rank - 1]);
}

/* Whether heads have one column each: then they are better columns of one head. */
static bool is_thin(const Node *v, const Node *powers)
{
        int head = v->type.rank - 3;
        return head >= 0 && dim_is(v->type.dim[v->type.rank - 1], 1) && !(powers && varies_along(powers, 2));
}

/* The scan of v, weighted by queries and keys if there are any. */
static Node *recur_scan(RecurMatch *m, Node *v, Node *q, Node *k)
{
        Graph *g = m->r->g;
        if (m->row_exponent.n)
                return recur_along(m, v, q, k);
        Diag diag = {.arena = g->arena};
        Node *powers = m->ndecay ? powers_of(m) : NULL;
        bool across = !q && is_thin(v, powers);
        Node *in[4] = {recur_as_real(m, across ? swapped(m, v, 2) : v)};
        int n = 1;
        if (m->ndecay && !powers)
                return NULL;
        if (q) {
                in[n++] = recur_as_real(m, q);
                in[n++] = recur_as_real(m, k);
        }
        if (powers)
                in[n++] = powers;
        Attr attr = {.index = m->maxima ? SCAN_MAXIMA : SCAN_SUMS, .slot = -1};
        Node *y = build(g, m->at, &diag, OP_SCAN, n, in, &attr, m->root->span, m->root->where);
        if (!y)
                return recur_refuse(m, "its operands are no rows of a fixed width for each position");
        return across ? swapped(m, y, 2) : y;
}

/* y with the type of the root */
static Node *finished(RecurMatch *m, Node *y)
{
        Node *n = m->root;
        y = where_all(m, recur_times(m, y, &m->row), &m->row_if, false);
        if (y && n->type.dtype == REAL)
                y = recur_as_real(m, y);
        else if (y && y->type.dtype != n->type.dtype)
                return recur_refuse(m, "floats may not hold its integers");
        if (y && !type_equal(&y->type, &n->type))
                y = view_broadcast(m->r->g, m->at, y, &n->type, n->span, n->where);
        return y ? y : recur_refuse(m, "its factors do not fit");
}

static Node *make_product(RecurMatch *m)
{
        Node *v = m->root->in[1], *q = m->core ? m->core->in[0] : NULL,
             *k = m->core ? recur_turned(m, m->core->in[1]) : NULL;
        if (!are_fed(m, v))
                return NULL;
        if (k)
                k = where_all(m, k, &m->col_if, true);
        return finished(m, recur_scan(m, recur_weighed(m, v), q, k));
}

static Node *make_maxima(RecurMatch *m)
{
        return are_fed(m, NULL) ? finished(m, recur_scan(m, recur_weighed(m, NULL), NULL, NULL)) : NULL;
}

/* 1 + row, the sum of a triangle's row */
static Node *rows_so_far(RecurMatch *m)
{
        Graph *g = m->r->g;
        Dim rows = dim_named(m->r->time);
        Type type = {.dtype = INT, .rank = 1, .dim = {rows}},
             to = {.dtype = INT, .rank = 2, .dim = {rows, dim_fixed(1)}};
        Node *index = node_new(g, m->at, OP_INDEX, 0, NULL, (Attr){.dim = dim_fixed(1), .slot = -1}, type,
                               m->root->span, m->root->where);
        return view_reshape(g, m->at, index, &to, m->root->span, m->root->where);
}

/* c^0 + .. + c^row = (1 - c^n) / (1 - c), n = row + 1: computed in double, as a table. */
static Node *decay_sum(RecurMatch *m)
{
        Graph *g = m->r->g;
        Node *step = recur_one_step(m);
        m->at = g->top;
        Node *c = recur_table(m, step, step->type, 1, itself);
        if (!c)
                return NULL;
        Node *one = recur_number(m, 1), *n = recur_as_real(m, rows_so_far(m));
        Node *rest = recur_node(m, OP_SUB, one, recur_node(m, OP_POW, c, n));
        return recur_where(m, recur_node(m, OP_EQUAL, c, one), n,
                           recur_node(m, OP_DIV, rest, recur_node(m, OP_SUB, one, c)));
}

static Node *make_sum(RecurMatch *m)
{
        Node *q = m->core ? m->core->in[0] : NULL, *k = m->core ? recur_turned(m, m->core->in[1]) : NULL, *y;
        bool weighs = m->col.n || m->col_if.n || m->row_exponent.n;
        if ((q || weighs) && !are_fed(m, NULL))
                return NULL;
        if (q) {
                Attr attr = {.slot = -1};
                Diag diag = {.arena = m->r->g->arena};
                y = recur_scan(m, recur_weighed(m, k), NULL, NULL);
                y = recur_node(m, OP_MUL, y, q);
                attr.axis = y ? y->type.rank - 1 : 0;
                y = y ? build(m->r->g, m->at, &diag, OP_SUM, 1, &y, &attr, m->root->span, m->root->where)
                      : NULL;
        } else if (weighs) {
                y = recur_scan(m, recur_weighed(m, NULL), NULL, NULL);
                if (m->col.n == 0 && m->root->type.dtype == INT) /* a count of at most 2^21 positions */
                        y = recur_node(m, OP_FLOOR, y, NULL);
        } else {
                y = m->ndecay ? decay_sum(m) : rows_so_far(m);
                m->at = m->root->body;
        }
        return y ? finished(m, y) : NULL;
}

/* --- all nodes --- */

/* The scores or weights of a contraction or a maximum over positions, one row per position; NULL: n is not
 * one. */
static Node *left_operand(const Recur *r, const Node *n)
{
        Node *left = n->nin ? n->in[0] : NULL;
        bool sums = n->op == OP_MATMUL
                            ? left->op != OP_SOFTMAX
                            : (n->op == OP_SUM || n->op == OP_MAXOF) && n->attr.axis == left->type.rank - 1;
        Dim time = dim_named(r->time);
        int rank = left ? left->type.rank : 0;
        return sums && rank >= 2 && dim_equal(left->type.dim[rank - 1], time) &&
                               dim_equal(left->type.dim[rank - 2], time)
                       ? left
                       : NULL;
}

static Node *recurrence(Recur *r, Node *n)
{
        Node *left = left_operand(r, n), *y = NULL;
        RecurMatch m = {.r = r, .root = n, .at = n->body, .maxima = n->op == OP_MAXOF};
        if (!left)
                return n;
        if (take_apart(&m, left))
                y = m.maxima ? make_maxima(&m) : n->op == OP_SUM ? make_sum(&m) : make_product(&m);
        const char *name = n->name ? n->name : op_info[n->op].text;
        if (y) {
                y->name = n->name;
                text_printf(r->said, "%s at line %d: a recurrence%s%s\n", name, span_line(n->span),
                            m.core     ? " of queries and keys"
                            : m.maxima ? " of maxima"
                                       : "",
                            m.row_exponent.n ? ", by steps: data decide its decay"
                            : m.ndecay       ? ", with a decay"
                                             : "");
        } else if (m.why && (m.masked || m.ndecay)) {
                text_printf(r->said, "%s at line %d: no recurrence: %s\n", name, span_line(n->span), m.why);
        }
        return y ? y : n;
}

static bool has_candidate(const Recur *r, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        if (has_candidate(r, n->attr.region->body[k]))
                                return true;
                if (left_operand(r, n))
                        return true;
        }
        return false;
}

static Node *recur_current(const Recur *r, Node *n)
{
        return r->replaced[n->id] ? r->replaced[n->id] : n;
}

static void recur_body(Recur *r, Body *b)
{
        Body old = *b;
        b->node = NULL;
        b->nnode = b->cap = 0;
        for (int i = 0; i < old.nnode; i++) {
                Node *n = old.node[i];
                for (int k = 0; k < n->nin; k++)
                        n->in[k] = recur_current(r, n->in[k]);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        recur_body(r, n->attr.region->body[k]);
                Node *y = recurrence(r, n);
                if (y == n)
                        body_append(r->g, b, n);
                else
                        r->replaced[n->id] = y;
        }
        for (int i = 0; b->region && i < b->region->ncarry; i++)
                b->next[i] = recur_current(r, b->next[i]);
        for (int i = 0; b->region && i < b->region->nstack; i++)
                b->stack[i] = recur_current(r, b->stack[i]);
}

bool recur(Graph *g, int time, Text *said)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Recur r = {.g = g, .time = time, .limit = g->nnode, .said = said};
        if (has_candidate(&r, g->top)) {
                r.facts = facts_under(graph_facts(&scratch, g, time), FINITE_VALUES);
                r.replaced = NEW_ARRAY(&scratch, Node *, g->nnode);
                r.bounds = NEW_ARRAY(&scratch, RealBounds, g->nnode);
                for (int i = 0; i < g->nnode; i++)
                        r.bounds[i] = (RealBounds){1, 0};
                recur_body(&r, g->top);
                for (int i = 0; i < g->noutput; i++)
                        g->output[i].node = recur_current(&r, g->output[i].node);
        }
        arena_free(&scratch);
        return g->nnode > r.limit;
}
