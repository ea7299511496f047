/* Recurrences: causal sums that need no row of the past again become scans.
 *
 *      y = (mask * (q @ k') * r * c) @ v              y = r * scan(q, k, c v, powers of the decay)
 *
 * The mask is a triangle, col <= row, times any decay^(row - col); r is of the row, c of the column.  Then the sum up to a row follows from
 * that up to the row before, and an instance keeps a matrix for each head in place of all keys and values.  Found by what the left
 * operand is made of, factor by factor:
 *
 *      where(col <= row, x, 0), real(col <= row)      triangle           by the exact affine forms of the causal facts
 *      decay^(row - col), exp((row - col) log decay)  decay              a number for each head: constant, from 0 to 1, or of weights
 *      q @ k'                                         queries and keys   one product at most; without one, running sums
 *      what does not vary along columns, or rows      r, c               also below a line of division
 *
 * A sum over the columns of such a left operand, as a normaliser is, becomes q . scan(c k), or 1 + row.
 *
 * Expects: verified graph before the causal pass.  Leaves: scans, which have no past yet, and what they are said to be (--explain). */
#include <math.h>
#include <string.h>

#include "facts_private.h"

enum { MOST_FACTORS = 16, DEEPEST = 32 };

typedef struct {
        Node *node;
        bool under; /* divides */
} Factor;
typedef struct {
        Factor at[MOST_FACTORS];
        int n;
} Factors;

/* base^(steps (row - col) times the factors); base NULL: e. */
typedef struct {
        Node *base;
        int64_t steps;
        Factors by;
} Decay;

typedef struct {
        Graph *g;
        const Facts *facts, *any; /* of the nodes up to `limit`; of any value */
        int time, limit;
        Node **replaced; /* by id */
        Text *said;
        bool found;
} Recur;

/* The left operand of one contraction, taken apart. */
typedef struct {
        Recur *r;
        Node *root;
        Body *at; /* where new nodes stand */
        Factors row, col;
        Decay decay[4];
        int ndecay;
        Node *core;
        bool masked, triangle; /* some mask was seen; it is the triangle */
        const char *why;       /* what stands in the way */
} Match;

/* --- what a node is --- */

static Node *refuse(Match *m, const char *why)
{
        m->why = m->why ? m->why : why;
        return NULL;
}

/* Along the last axis but `back`? */
static bool varies(const Node *n, int back)
{
        return n->type.rank > back && !dim_is(n->type.dim[n->type.rank - 1 - back], 1);
}

static bool is_constant(const Node *n, double value)
{
        return n->op == OP_CONST && n->attr.literal->count == 1 && n->attr.literal->iterations == 1 &&
               n->attr.literal->value[0] == value;
}

/* What a view shows that does no more than to add axes in front. */
static Node *straight(Node *n)
{
        while (n->op == OP_VIEW) {
                const View *v = n->attr.view;
                const Type *in = &n->in[0]->type;
                for (int a = 0; a < in->rank; a++)
                        if (!dim_is(v->offset[a], 0))
                                return n;
                for (int i = 0; i < v->natom; i++) {
                        const Atom *atom = &v->atom[i];
                        bool front = atom->axis < 0 && atom->out < n->type.rank - in->rank;
                        bool same = atom->axis >= 0 && atom->stride == 1 &&
                                    atom->axis - in->rank == atom->out - n->type.rank &&
                                    dim_equal(atom->size, in->dim[atom->axis]);
                        if (!front && !same && !dim_is(atom->size, 1))
                                return n;
                }
                n = n->in[0];
        }
        return n;
}

/* An integer that is some affine form of row and column, exactly: row[0] col + row[1] row + constant. */
static bool is_affine(const Match *m, const Node *n, Dim *constant, int64_t by[2])
{
        const Cases *c = n->id < m->r->limit ? m->r->facts->of[n->id].integer : NULL;
        const Case *one = c && c->n == 1 && c->at[0].when.n == 0 ? &c->at[0] : NULL;
        const Affine *exact = NULL;
        for (int i = 0; one && i < one->nlow; i++)
                for (int j = 0; j < one->nhigh; j++)
                        if (one->low[i].den == 1 && one->high[j].den == 1 &&
                            affine_equal(&one->low[i].affine, &one->high[j].affine))
                                exact = &one->low[i].affine;
        if (!exact)
                return false;
        by[0] = by[1] = 0;
        for (int a = 0; a < AXES; a++) {
                int back = n->type.rank - 1 - a;
                if (exact->coef[a] && (back < 0 || back > 1))
                        return false;
                if (exact->coef[a])
                        by[back] = exact->coef[a];
        }
        *constant = exact->constant;
        return true;
}

/* a <= b, or a < b: is that col <= row? */
static bool is_triangle(const Match *m, const Node *a, const Node *b, bool strict)
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

static bool holds_triangle(const Match *m, Node *c, bool negated)
{
        c = straight(c);
        switch ((int)c->op) {
        case OP_NOT: return holds_triangle(m, c->in[0], !negated);
        case OP_LESS:
        case OP_LESSEQ: {
                bool strict = (c->op == OP_LESS) != negated;
                return is_triangle(m, c->in[negated], c->in[!negated], strict);
        }
        case OP_AND:
                return !negated && holds_triangle(m, c->in[0], false) && holds_triangle(m, c->in[1], false);
        case OP_OR: return negated && holds_triangle(m, c->in[0], true) && holds_triangle(m, c->in[1], true);
        default: return false;
        }
}

/* --- taking apart --- */

static bool add_factor(Match *m, Factors *to, Node *n, bool under)
{
        if (is_constant(n, 1))
                return true;
        if (to->n == MOST_FACTORS)
                return refuse(m, "it has too many factors");
        to->at[to->n++] = (Factor){n, under};
        return true;
}

static bool take_mask(Match *m, Node *condition, bool negated)
{
        m->masked = true;
        if (!holds_triangle(m, condition, negated))
                return refuse(m, "its mask is not col <= row alone");
        return m->triangle = true;
}

/* x = steps (row - col) times factors of the head */
static bool take_exponent(Match *m, Decay *d, Node *x, int depth)
{
        Dim constant;
        int64_t by[2];
        x = straight(x);
        if (is_affine(m, x, &constant, by) && by[1] && by[0] == -by[1] && dim_is(constant, 0)) {
                d->steps *= by[1];
                return true;
        }
        for (int i = 0; depth < DEEPEST && x->op == OP_MUL && i < 2; i++)
                if (!varies(x->in[i], 0) && !varies(x->in[i], 1))
                        return add_factor(m, &d->by, x->in[i], false) &&
                               take_exponent(m, d, x->in[1 - i], depth + 1);
        if (depth < DEEPEST && x->op == OP_DIV && !varies(x->in[1], 0) && !varies(x->in[1], 1))
                return add_factor(m, &d->by, x->in[1], true) && take_exponent(m, d, x->in[0], depth + 1);
        if (depth < DEEPEST && x->op == OP_NEG) {
                d->steps = -d->steps;
                return take_exponent(m, d, x->in[0], depth + 1);
        }
        if (depth < DEEPEST && x->op == OP_REAL_OF)
                return take_exponent(m, d, x->in[0], depth + 1);
        return refuse(m,
                      "its decay is no power with row - col, times a number of each head, as its exponent");
}

static bool take_decay(Match *m, Node *base, Node *x)
{
        Decay *d = &m->decay[m->ndecay];
        x = straight(x);
        if (m->ndecay == 4)
                return refuse(m, "it has too many decays");
        if (base && (varies(base, 0) || varies(base, 1)))
                return refuse(m, "its decay is another one in each row or column: such gates are no "
                                 "recurrence that is derived");
        *d = (Decay){.base = base, .steps = 1};
        for (int i = 1; !base && x->op == OP_WHERE && i < 3; i++)
                if (is_constant(x->in[i], -INFINITY)) {
                        if (!take_mask(m, x->in[0], i == 1))
                                return false;
                        x = x->in[3 - i];
                }
        m->ndecay++;
        return take_exponent(m, d, x, 0);
}

static bool take_core(Match *m, Node *product)
{
        if (m->core)
                return refuse(m, "it is made of two products");
        m->core = product;
        return true;
}

static bool take(Match *m, Node *n, bool under, int depth);

static bool take_where(Match *m, Node *n, int depth)
{
        if (is_constant(n->in[2], 0))
                return take_mask(m, n->in[0], false) && take(m, n->in[1], false, depth);
        if (is_constant(n->in[1], 0))
                return take_mask(m, n->in[0], true) && take(m, n->in[2], false, depth);
        m->masked |= varies(n->in[0], 0) && varies(n->in[0], 1);
        return refuse(m, "what is masked is not 0");
}

/* Every factor of n, which is one itself; under: it divides. */
static bool take(Match *m, Node *n, bool under, int depth)
{
        if (!varies(n, 0))
                return add_factor(m, &m->row, n, under);
        if (!varies(n, 1))
                return add_factor(m, &m->col, n, under);
        n = straight(n);
        if (depth == DEEPEST)
                return refuse(m, "it is nested too deep");
        if (n->op == OP_MUL)
                return take(m, n->in[0], under, depth + 1) && take(m, n->in[1], under, depth + 1);
        if (n->op == OP_DIV)
                return take(m, n->in[0], under, depth + 1) && take(m, n->in[1], !under, depth + 1);
        if (under)
                return refuse(m, "it is divided by what varies along rows and columns");
        if (n->type.dtype == BOOL)
                return take_mask(m, n, false);
        switch ((int)n->op) {
        case OP_REAL_OF: return take(m, n->in[0], false, depth + 1);
        case OP_WHERE: return take_where(m, n, depth + 1);
        case OP_POW: return take_decay(m, n->in[0], n->in[1]);
        case OP_EXP: return take_decay(m, NULL, n->in[0]);
        case OP_MATMUL: return take_core(m, n);
        case OP_NEG:
                return add_factor(m, &m->row, build_number(m->r->g, m->at, -1, REAL, n->span, n->where),
                                  false) &&
                       take(m, n->in[0], false, depth + 1);
        default:
                return refuse(m, arena_printf(m->r->g->arena, "%s of row and column is no factor of either",
                                              op_info[n->op].text));
        }
}

/* --- the decay as a number for each head --- */

/* The elements of n in an iteration of the contraction's repeat; NULL: data decides them. */
static const double *number_of(Match *m, const Node *n, int64_t iteration)
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
                if (!(in[i] = number_of(m, n->in[i], iteration)))
                        return NULL;
        evaluate(n, no_size, in, y);
        return y;
}

static Node *make(Match *m, Op op, Node *a, Node *b)
{
        Diag diag = {.arena = m->r->g->arena};
        Node *in[] = {a, b};
        return a ? build(m->r->g, m->at, &diag, op, b ? 2 : 1, in, NULL, m->root->span, m->root->where)
                 : NULL;
}

static Node *as_real(Match *m, Node *n)
{
        return n && n->type.dtype != REAL ? make(m, OP_REAL_OF, n, NULL) : n;
}

/* x times and divided by the factors */
static Node *times(Match *m, Node *x, const Factors *by)
{
        for (int i = 0; x && i < by->n; i++)
                x = make(m, by->at[i].under ? OP_DIV : OP_MUL, x, by->at[i].node);
        return x;
}

/* All decays of one step together, of which the last two axes have one element. */
static Node *one_step(Match *m)
{
        Graph *g = m->r->g;
        Node *all = NULL;
        for (int i = 0; i < m->ndecay; i++) {
                const Decay *d = &m->decay[i];
                Node *x = build_number(g, m->at, (double)d->steps, REAL, m->root->span, m->root->where);
                x = times(m, x, &d->by);
                x = d->base ? make(m, OP_POW, d->base, x) : make(m, OP_EXP, x, NULL);
                all = all && x ? make(m, OP_MUL, all, x) : x;
                if (!x)
                        return refuse(m, "its decays do not fit");
        }
        return all && all->type.rank < 2 ? view_rank(g, m->at, all, 2, m->root->span, m->root->where) : all;
}

/* A constant of `each` numbers made of every number of `of` by make(), for each iteration if they differ. */
static Node *table_of(Match *m, const Node *of, Type type, int64_t each,
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
                const double *c = number_of(m, of, t);
                for (int64_t i = 0; i < count; i++) {
                        if (!c || !(c[i] >= 0 && c[i] <= 1))
                                return refuse(m, c ? "its decay is not from 0 to 1"
                                                   : "its decay is no constant");
                        for (int64_t k = 0; k < each; k++)
                                l->value[t * l->count + i * each + k] = number(c[i], k);
                }
                same &= !memcmp(l->value, l->value + t * l->count, (size_t)l->count * sizeof *l->value);
        }
        if (same)
                l->iterations = 1;
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

/* The same for all positions of a sequence: weights decide it, or what is fed once. */
static bool is_still(const Match *m, const Node *n)
{
        const Reach *reach = n->id < m->r->limit ? &m->r->facts->of[n->id].reach : NULL;
        return reach && !reach->all && reach->n == 0;
}

/* Powers of what is known only when it is run: still, and never negative. */
static Node *powers_of_still(Match *m, Node *c)
{
        for (int i = 0; i < m->ndecay; i++) {
                const Decay *d = &m->decay[i];
                bool still = !d->base || is_still(m, d->base);
                for (int k = 0; k < d->by.n; k++)
                        still = still && is_still(m, d->by.at[k].node);
                if (!still)
                        return refuse(m,
                                      "data decide its decay: such gates are no recurrence that is derived");
                if (d->base && m->r->facts->of[d->base->id].kinds & ~(unsigned)(ZERO | POSITIVE))
                        return refuse(m, "its decay may be negative");
        }
        Type type = {.dtype = INT, .rank = 1, .dim = {dim_fixed(SCAN_POWERS)}};
        Node *exponent = node_new(m->r->g, m->at, OP_INDEX, 0, NULL, (Attr){.slot = -1}, type, m->root->span,
                                  m->root->where);
        return make(m, OP_POW, c, as_real(m, exponent));
}

static Node *powers_of(Match *m)
{
        Node *c = one_step(m);
        if (!c)
                return NULL;
        if (!number_of(m, c, 0))
                return powers_of_still(m, as_real(m, c));
        Type type = c->type;
        type.dtype = REAL;
        type.dim[type.rank - 1] = dim_fixed(SCAN_POWERS);
        return table_of(m, c, type, SCAN_POWERS, power_of);
}

/* --- putting together --- */

static Node *turned(Match *m, Node *x)
{
        int perm[MAX_RANK];
        if (x && x->type.rank < 2)
                x = view_rank(m->r->g, m->at, x, 2, m->root->span, m->root->where);
        if (!x)
                return NULL;
        for (int i = 0; i < x->type.rank; i++)
                perm[i] = i;
        perm[x->type.rank - 1] = x->type.rank - 2;
        perm[x->type.rank - 2] = x->type.rank - 1;
        return view_transpose(m->r->g, m->at, x, perm, m->root->span, m->root->where);
}

/* x, or all ones, with the factors of its rows */
static Node *weighed(Match *m, Node *x)
{
        for (int i = 0; i < m->col.n; i++) {
                Node *c = turned(m, as_real(m, m->col.at[i].node));
                if (!x && m->col.at[i].under)
                        x = build_number(m->r->g, m->at, 1, REAL, m->root->span, m->root->where);
                x = x ? make(m, m->col.at[i].under ? OP_DIV : OP_MUL, x, c) : c;
        }
        return x;
}

/* Is it there position by position, no position ahead of its own?  What is new here is made of such.  Where a value may be NaN, as what is
 * divided by a sum, a mask in a product hides it by a guard alone: facts of any value tell. */
static bool looks_back(const Match *m, const Node *n)
{
        const Recur *r = m->r;
        return n->id >= r->limit || !reads_future(r->facts, &r->facts->of[n->id].reach) ||
               !reads_future(r->any, &r->any->of[n->id].reach);
}

static bool has_inputs(const Match *m, const Node *n)
{
        const Reach *reach = n->id < m->r->limit ? &m->r->facts->of[n->id].reach : NULL;
        return !reach || reach->all || reach->n > 0;
}

static bool are_fed(Match *m, const Node *v)
{
        const Node *all[MOST_FACTORS + 3] = {v, m->core ? m->core->in[0] : NULL,
                                             m->core ? m->core->in[1] : NULL};
        bool back = true, fed = false;
        for (int i = 0; i < m->col.n; i++)
                all[3 + i] = m->col.at[i].node;
        for (int i = 0; i < m->col.n + 3; i++) {
                back = back && (!all[i] || looks_back(m, all[i]));
                fed = fed || (all[i] && has_inputs(m, all[i]));
        }
        return (back && fed) || refuse(m, back ? "no input decides what it sums"
                                               : "what it sums looks ahead of its own position");
}

static bool is_rows(const Match *m, const Node *n)
{
        return n->type.rank >= 2 && dim_equal(n->type.dim[n->type.rank - 2], dim_named(m->r->time)) &&
               dim_is_fixed(n->type.dim[n->type.rank - 1]);
}

/* The scan of v, weighed by queries and keys if there are any. */
static Node *scan(Match *m, Node *v, Node *q, Node *k)
{
        Graph *g = m->r->g;
        Diag diag = {.arena = g->arena};
        Node *in[4] = {v}, *powers = m->ndecay ? powers_of(m) : NULL;
        int n = 1;
        if ((m->ndecay && !powers) || !v || !is_rows(m, v) || (q && (!k || !is_rows(m, q) || !is_rows(m, k))))
                return refuse(m, "its operands are no rows of a fixed width for each position");
        if (q) {
                in[n++] = q;
                in[n++] = k;
        }
        if (powers)
                in[n++] = powers;
        Node *y = build(g, m->at, &diag, OP_SCAN, n, in, &(Attr){.slot = -1}, m->root->span, m->root->where);
        return y ? y : refuse(m, "its leading axes do not fit");
}

/* y with the type of the root */
static Node *finished(Match *m, Node *y)
{
        Node *n = m->root;
        y = times(m, y, &m->row);
        if (y && y->type.dtype != n->type.dtype)
                y = n->type.dtype == REAL ? as_real(m, y) : NULL;
        if (y && !type_equal(&y->type, &n->type))
                y = view_broadcast(m->r->g, m->at, y, &n->type, n->span, n->where);
        return y ? y : refuse(m, "its factors do not fit");
}

static Node *make_product(Match *m)
{
        Node *v = m->root->in[1], *q = m->core ? m->core->in[0] : NULL,
             *k = m->core ? turned(m, m->core->in[1]) : NULL;
        if (!are_fed(m, v))
                return NULL;
        return finished(m, scan(m, weighed(m, v), q, k));
}

/* 1 + row, the sum of a triangle's row */
static Node *rows_so_far(Match *m)
{
        Graph *g = m->r->g;
        Dim rows = dim_named(m->r->time);
        Type type = {.dtype = INT, .rank = 1, .dim = {rows}},
             to = {.dtype = INT, .rank = 2, .dim = {rows, dim_fixed(1)}};
        Node *index = node_new(g, m->at, OP_INDEX, 0, NULL, (Attr){.dim = dim_fixed(1), .slot = -1}, type,
                               m->root->span, m->root->where);
        return view_reshape(g, m->at, index, &to, m->root->span, m->root->where);
}

/* c^0 + .. + c^row = (1 - c^n) / (1 - c), n = row + 1, which is worked out in double, as a table. */
static Node *decay_sum(Match *m)
{
        Graph *g = m->r->g;
        Node *step = one_step(m);
        Type type = step ? step->type : (Type){0};
        m->at = g->top;
        Node *c = step ? table_of(m, step, type, 1, itself) : NULL;
        if (!c || c->attr.literal->iterations > 1)
                return refuse(m, "its decays are others in each iteration");
        Node *one = build_number(g, g->top, 1, REAL, m->root->span, m->root->where),
             *n = as_real(m, rows_so_far(m));
        Node *rest = make(m, OP_SUB, one, make(m, OP_POW, c, n));
        Node *in[] = {make(m, OP_EQUAL, c, one), n, make(m, OP_DIV, rest, make(m, OP_SUB, one, c))};
        Diag diag = {.arena = g->arena};
        return build(g, g->top, &diag, OP_WHERE, 3, in, NULL, m->root->span, m->root->where);
}

static Node *make_sum(Match *m)
{
        Node *q = m->core ? m->core->in[0] : NULL, *k = m->core ? turned(m, m->core->in[1]) : NULL, *y;
        if ((q || m->col.n) && !are_fed(m, NULL))
                return NULL;
        if (q) {
                Attr attr = {.slot = -1};
                Diag diag = {.arena = m->r->g->arena};
                y = scan(m, weighed(m, k), NULL, NULL);
                y = make(m, OP_MUL, y, q);
                attr.axis = y ? y->type.rank - 1 : 0;
                y = y ? build(m->r->g, m->at, &diag, OP_SUM, 1, &y, &attr, m->root->span, m->root->where)
                      : NULL;
        } else if (m->col.n) {
                y = scan(m, weighed(m, NULL), NULL, NULL);
        } else {
                y = m->ndecay ? decay_sum(m) : rows_so_far(m);
                m->at = m->root->body;
        }
        return y ? finished(m, y) : NULL;
}

/* --- all nodes --- */

/* The scores, or weights, of a contraction over positions, a row for each; NULL: n is none. */
static Node *left_operand(const Recur *r, const Node *n)
{
        Node *left = n->nin ? n->in[0] : NULL;
        bool sums = n->op == OP_MATMUL ? n->attr.index == 0 && left->op != OP_SOFTMAX
                                       : n->op == OP_SUM && n->attr.axis == left->type.rank - 1;
        Dim time = dim_named(r->time);
        int rank = left ? left->type.rank : 0;
        return sums && rank >= 2 && n->type.rank >= 2 && dim_equal(left->type.dim[rank - 1], time) &&
                               dim_equal(left->type.dim[rank - 2], time)
                       ? left
                       : NULL;
}

static Node *recurrence(Recur *r, Node *n)
{
        Node *left = left_operand(r, n), *y = NULL;
        Match m = {.r = r, .root = n, .at = n->body};
        if (!left)
                return n;
        if (take(&m, left, false, 0) && m.triangle)
                y = n->op == OP_SUM ? make_sum(&m) : make_product(&m);
        const char *name = n->name ? n->name : op_info[n->op].text;
        if (y) {
                r->found = true;
                y->name = y->name ? y->name : n->name;
                text_printf(r->said, "%s at line %d: a recurrence%s%s\n", name, span_line(n->span),
                            m.core ? " of queries and keys" : "", m.ndecay ? ", with a decay" : "");
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

static Node *current(const Recur *r, Node *n)
{
        return n->id < r->limit && r->replaced[n->id] ? r->replaced[n->id] : n;
}

static void recur_body(Recur *r, Body *b)
{
        Body old = *b;
        b->node = NULL;
        b->nnode = b->cap = 0;
        for (int i = 0; i < old.nnode; i++) {
                Node *n = old.node[i];
                for (int k = 0; k < n->nin; k++)
                        n->in[k] = current(r, n->in[k]);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        recur_body(r, n->attr.region->body[k]);
                Node *y = recurrence(r, n);
                if (y == n)
                        body_append(r->g, b, n);
                else
                        r->replaced[n->id] = y;
        }
        for (int i = 0; b->region && i < b->region->ncarry; i++)
                b->next[i] = current(r, b->next[i]);
        for (int i = 0; b->region && i < b->region->nstack; i++)
                b->stack[i] = current(r, b->stack[i]);
}

bool recur(Graph *g, int time, Text *said)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Recur r = {.g = g, .time = time, .limit = g->nnode, .said = said};
        if (has_candidate(&r, g->top)) {
                GraphFacts *facts = graph_facts(&scratch, g, time);
                r.facts = facts_under(facts, FINITE_VALUES);
                r.any = facts_under(facts, ANY_VALUES);
                r.replaced = NEW_ARRAY(&scratch, Node *, g->nnode);
                recur_body(&r, g->top);
                for (int i = 0; i < g->noutput; i++)
                        g->output[i].node = current(&r, g->output[i].node);
        }
        arena_free(&scratch);
        return r.found;
}
