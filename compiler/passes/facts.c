/* Computes the facts of all nodes, in order: leaves and repeats here, ops in facts_*.c.  facts_private.h
 * defines a node's facts. */
#include "facts_private.h"

#include <assert.h>
#include <string.h>

enum { PATIENT_ROUNDS = 3 };    /* rounds over a repeat before facts that still change are dropped */
enum { EXACT_REALS = 1 << 24 }; /* integers up to it are exact as floats */

CaseMaker facts_maker(const Facts *f)
{
        return (CaseMaker){f->arena, f->graph};
}

bool is_growing(const Facts *f, Dim dim)
{
        return dim.per[f->time] == 1;
}

/* --- reach --- */

const Read *reach_on(const Reach *reach, int axis)
{
        for (int i = 0; i < reach->n; i++)
                if (reach->at[i].axis == axis)
                        return &reach->at[i];
        return NULL;
}

bool reads_future(const Facts *f, const Reach *reach)
{
        for (int i = 0; i < reach->n; i++) {
                Dim high = reach->at[i].high; /* in the body of an `along`, relative to its position */
                for (int k = 0; k < MAX_ALONG && reach->at[i].axis == NO_AXIS; k++)
                        high.per[NAMED_ALONG + k] -= high.per[NAMED_ALONG + k] == 1;
                if (dim_bound(f->graph, high) > 0)
                        return true;
        }
        return reach->all;
}

/* An offset that is at least both, for sign 1, or at most both, for sign -1. */
static Dim dim_outer(const Facts *f, Dim a, Dim b, int sign)
{
        if (dim_bound(f->graph, dim_scale(dim_sub(a, b), sign)) <= 0)
                return b;
        if (dim_bound(f->graph, dim_scale(dim_sub(b, a), sign)) <= 0)
                return a;
        if (sign * b.fixed > sign * a.fixed)
                a.fixed = b.fixed;
        for (int i = 0; i < MAX_NAMED; i++)
                if (sign * b.per[i] > sign * a.per[i])
                        a.per[i] = b.per[i];
        return a;
}

void reach_add(const Facts *f, Reach *into, Read read)
{
        if (into->all)
                return;
        for (int i = 0; i < into->n; i++) {
                Read *r = &into->at[i];
                if (r->axis != read.axis)
                        continue;
                r->high = dim_outer(f, r->high, read.high, 1);
                r->low = dim_outer(f, r->low, read.low, -1);
                r->open |= read.open;
                if (r->open)
                        r->low = r->high;
                return;
        }
        if (into->n == MAX_READS)
                into->all = true;
        else
                into->at[into->n++] = read;
}

void reach_join(const Facts *f, Reach *into, const Reach *other)
{
        into->all |= other->all;
        for (int i = 0; i < other->n; i++)
                reach_add(f, into, other->at[i]);
}

static int other_growing(const Facts *f, const Dim *dim, int rank, int axis)
{
        for (int i = 0; i < rank; i++)
                if (i != axis && is_growing(f, dim[i]))
                        return i;
        return -1;
}

/* Adds the reach of a fold over `axis` by one clause; `read` is the reach of its elements. */
static void facts_clause(const Facts *f, const Clause *c, const Dim *dim, int rank, int axis, Read read,
                         Reach *reach)
{
        Above above = clause_above(f->graph, c, dim, f->time, axis);
        if (above.by_number && dim_bound(f->graph, dim_add(above.number, read.high)) < 0)
                return; /* the only elements are before all inputs */
        int to = above.axis;
        Dim offset = above.offset;
        if (above.by_number && (to < 0 || dim_bound(f->graph, dim_sub(above.number, offset)) < 0)) {
                to = other_growing(f, dim, rank, axis); /* any index is at least 0 */
                offset = above.number;
        }
        if (to < 0 && !above.by_number) {
                reach->all = true;
                return;
        }
        Read more = {.axis = to < 0 ? NO_AXIS : to, .high = dim_add(offset, read.high)};
        Dim below;
        more.open = read.open || !clause_below(f->graph, c, dim, axis, to, &below);
        more.low = more.open ? more.high : dim_add(below, read.low);
        reach_add(f, reach, more);
}

Reach fold_reach(const Facts *f, const Fact *a, const Dim *dim, int rank, int axis, Special v)
{
        Reach reach = {.all = a->reach.all};
        for (int i = 0; i < a->reach.n; i++)
                if (a->reach.at[i].axis != axis)
                        reach_add(f, &reach, a->reach.at[i]);
        if (dim[axis].per[f->time] == 0 || reach.all)
                return reach;
        if (!is_growing(f, dim[axis]) || (a->stain[v] >> axis & 1)) {
                reach.all = true;
                return reach;
        }
        /* whether an element exists depends on the end of the axis if it is not before it */
        Dim end = dim_scale(dim[axis], -1);
        end.per[f->time] = 0;
        const Read *own = reach_on(&a->reach, axis);
        Read read = own ? *own : (Read){axis, false, end, end};
        read.high = dim_outer(f, read.high, end, 1);
        for (int i = 0; i < a->unless[v]->n; i++)
                facts_clause(f, &a->unless[v]->clause[i], dim, rank, axis, read, &reach);
        return reach;
}

/* --- facts --- */

Fact fact_unknown(void)
{
        Fact y = {.kinds = ANYTHING};
        for (Special v = AT_0; v < NSPECIAL; v++)
                y.unless[v] = cond_true();
        return y;
}

static unsigned kind_of_number(double x)
{
        if (x != x)
                return NOT_A_NUMBER;
        if (x == special_value[AT_MINUS_INF])
                return MINUS_INF;
        if (x == special_value[AT_PLUS_INF])
                return PLUS_INF;
        return x == 0 ? ZERO : x < 0 ? NEGATIVE : POSITIVE;
}

static bool fact_is_integer(double x)
{
        return x >= -1e9 && x <= 1e9 && x == (double)(int64_t)x;
}

Fact fact_constant(const Facts *f, double value)
{
        Fact y = fact_unknown();
        y.kinds = kind_of_number(value);
        y.exact_zero = value == 0;
        y.constant = true;
        y.value = value;
        for (Special v = AT_0; v < NSPECIAL; v++)
                if (value == special_value[v])
                        y.unless[v] = cond_false();
        if (fact_is_integer(value))
                y.integer = cases_range(facts_maker(f), (int64_t)value, (int64_t)value);
        return y;
}

Fact fact_rename(const Facts *f, const Fact *a, const AxisMap *map, const int *to)
{
        CaseMaker m = facts_maker(f);
        Fact y = *a;
        y.origin = NULL;
        y.reach = (Reach){.all = a->reach.all};
        for (int i = 0; i < a->reach.n; i++) {
                Read r = a->reach.at[i];
                r.axis = r.axis == NO_AXIS ? NO_AXIS : to[r.axis];
                reach_add(f, &y.reach, r);
        }
        for (Special v = AT_0; v < NSPECIAL; v++) {
                y.unless[v] = cond_map(m, a->unless[v], map);
                y.stain[v] = 0;
                for (int axis = 0; axis < AXES; axis++)
                        if ((a->stain[v] >> axis & 1) && to[axis] >= 0)
                                y.stain[v] |= 1u << to[axis];
        }
        y.integer = cases_map(m, a->integer, map);
        return y;
}

/* The fact of input i of n on the axes of the result.  Axes move up by `shift` (aligned at the right), those
 * from `split` on by one more, for a contracted axis (AXES: none); axes of size 1 are broadcast. */
Fact fact_aligned(const Facts *f, const Node *n, int i, int shift, int split)
{
        const Type *t = &n->in[i]->type;
        AxisMap map[AXES];
        int to[AXES];
        for (int axis = 0; axis < AXES; axis++) {
                to[axis] = axis < t->rank ? axis + shift + (axis >= split) : -1;
                bool broadcast = axis >= t->rank || dim_is(t->dim[axis], 1);
                map[axis] = axis_map(broadcast ? affine_constant(dim_fixed(0)) : affine_axis(to[axis]));
        }
        return fact_rename(f, &f->of[n->in[i]->id], map, to);
}

/* The axes of the result of n along which its input i, aligned, varies. */
unsigned fact_axes(const Type *t, int shift, int split)
{
        unsigned axes = 0;
        for (int axis = 0; axis < t->rank; axis++)
                if (!dim_is(t->dim[axis], 1))
                        axes |= 1u << (axis + shift + (axis >= split));
        return axes;
}

/* --- leaves --- */

static Fact literal_fact(const Facts *f, const Literal *literal)
{
        int64_t n = literal->iterations * literal->count;
        if (n < 1)
                return fact_unknown();
        Fact y = fact_constant(f, literal->value[0]);
        double low = literal->value[0], high = low;
        bool whole = fact_is_integer(low);
        for (int64_t i = 1; i < n; i++) {
                double x = literal->value[i];
                y.kinds |= kind_of_number(x);
                y.constant &= x == y.value;
                whole = whole && fact_is_integer(x);
                low = x < low ? x : low;
                high = x > high ? x : high;
        }
        if (y.constant)
                return y;
        Fact various = fact_unknown();
        various.kinds = y.kinds;
        various.exact_zero = (y.kinds & ZERO) != 0;
        if (whole)
                various.integer = cases_range(facts_maker(f), (int64_t)low, (int64_t)high);
        return various;
}

/* An input of [.., time, ..] has one element per step; inputs of other growing shapes cannot be fed by
 * steps. */
static Fact input_fact(const Facts *f, const Node *n)
{
        Fact y = fact_unknown();
        const Input *input = &f->graph->input[n->attr.index];
        for (int axis = 0; axis < n->type.rank; axis++) {
                Dim d = n->type.dim[axis];
                if (d.per[f->time] == 0)
                        continue;
                if (dim_equal(d, dim_named(f->time)) && y.reach.n == 0)
                        reach_add(f, &y.reach, (Read){.axis = axis});
                else
                        y.reach.all = true;
        }
        y.kinds = n->type.dtype != REAL ? ZERO | POSITIVE : f->values == ANY_VALUES ? ANYTHING : FINITE;
        y.exact_zero = n->type.dtype != REAL;
        if (input->bound > 0)
                y.integer = cases_range(facts_maker(f), 0, input->bound - 1);
        return y;
}

static Fact index_or_size_fact(const Facts *f, const Node *n)
{
        Fact y = fact_unknown();
        if (takes_position(n)) { /* it is not known which one */
                y.kinds = FINITE;
                y.exact_zero = true;
                return y;
        }
        Affine a = n->op == OP_INDEX ? affine_axis(0) : affine_constant(dim_fixed(0));
        a.constant = n->attr.dim;
        y.reach.all = n->attr.dim.per[f->time] != 0;
        int64_t least = dim_least(f->graph, n->attr.dim);
        y.kinds = least > 0 ? POSITIVE : least == 0 ? ZERO | POSITIVE : FINITE;
        y.exact_zero = true;
        y.integer = cases_exact(facts_maker(f), a);
        return y;
}

static Fact weight_fact(void)
{
        Fact y = fact_unknown();
        y.kinds = FINITE;
        return y;
}

/* --- pointwise --- */

/* Whether n has the elements of x in the same order, apart from axes of size 1. */
static bool shows_straight(const Node *n, const Node *x)
{
        if (n->op != OP_VIEW || n->in[0] != x)
                return n == x;
        const View *v = n->attr.view;
        int hidden = 0;
        for (int axis = 0; axis < x->type.rank; axis++) {
                hidden += !dim_is(x->type.dim[axis], 1);
                if (!dim_is(v->offset[axis], 0))
                        return false;
        }
        for (int i = 0; i < v->natom; i++) {
                const Atom *atom = &v->atom[i];
                if (dim_is(atom->size, 1))
                        continue;
                if (atom->axis < 0 || !dim_equal(atom->size, x->type.dim[atom->axis]) ||
                    atom->axis - x->type.rank != atom->out - n->type.rank)
                        return false;
                hidden--;
        }
        return hidden == 0;
}

static bool negates(const Node *n, const Node *x)
{
        return n->op == OP_NEG &&
               (n->in[0] == x || shows_straight(n->in[0], x) || shows_straight(x, n->in[0]));
}

/* A value that maxima and conditions may choose, or its opposite. */
typedef struct {
        const Node *node;
        int sign;
} ChosenValue;
enum { MAX_CHOSEN = 8 };

static int chosen_values(const Facts *f, const Node *n, int sign, ChosenValue *list, int count)
{
        n = base_of(n);
        if (n->op == OP_NEG)
                return chosen_values(f, n->in[0], -sign, list, count);
        if (n->op == OP_ADD && f->of[n->in[1]->id].constant && f->of[n->in[1]->id].value == 0)
                return chosen_values(f, n->in[0], sign, list, count); /* of abs(x) */
        const bool chooses = n->op == OP_MAX || n->op == OP_MIN || n->op == OP_MAXOF || n->op == OP_WHERE;
        for (int i = n->op == OP_WHERE; chooses && i < n->nin && count < MAX_CHOSEN; i++)
                count = chosen_values(f, n->in[i], sign, list, count);
        if (!chooses && count < MAX_CHOSEN)
                list[count++] = (ChosenValue){n, sign};
        return count;
}

/* Whether both sides of a sum may be one value, as in max(x, 1) - 1 and abs(x) - x: then its 0 is exact.  So is
 * that of a logarithm of 1. */
static bool may_cancel(const Facts *f, const Node *n)
{
        ChosenValue a[MAX_CHOSEN], b[MAX_CHOSEN];
        const bool sums = n->op == OP_ADD || n->op == OP_SUB;
        const int na = sums || n->op == OP_LOG ? chosen_values(f, n->in[0], 1, a, 0) : 0,
                  nb = sums ? chosen_values(f, n->in[1], n->op == OP_SUB ? 1 : -1, b, 0) : 1;
        if (na == MAX_CHOSEN || nb == MAX_CHOSEN)
                return true; /* there may be more */
        for (int i = 0; i < na; i++)
                for (int k = 0; k < nb; k++) {
                        const Fact *p = &f->of[a[i].node->id], *q = sums ? &f->of[b[k].node->id] : p;
                        const double other = sums ? b[k].sign * q->value : 1;
                        if ((p->constant && q->constant && a[i].sign * p->value == other) ||
                            (sums && a[i].node == b[k].node && a[i].sign == b[k].sign))
                                return true;
                }
        return false;
}

static Fact pointwise_fact(const Facts *f, const Node *n)
{
        int shift[3];
        Fact in[3];
        for (int i = 0; i < n->nin; i++) {
                shift[i] = n->type.rank - n->in[i]->type.rank;
                in[i] = fact_aligned(f, n, i, shift[i], AXES);
        }
        if (n->nin == 1) {
                Fact y = fact_unary(f, n->op, &in[0]);
                y.exact_zero |= may_cancel(f, n);
                return y;
        }
        if (n->op == OP_WHERE)
                return fact_where(f, &in[0], &in[1], &in[2]);
        Pair p = {.op = n->op, .dtype = n->type.dtype, .in = {in[0], in[1]}};
        p.same = shows_straight(n->in[0], n->in[1]) || shows_straight(n->in[1], n->in[0]);
        p.opposite = negates(n->in[0], n->in[1]) || negates(n->in[1], n->in[0]);
        for (int i = 0; i < 2; i++) {
                p.axes[i] = fact_axes(&n->in[i]->type, shift[i], AXES);
                p.formula[i] = f->formula ? &f->formula->of[n->in[i]->id] : NULL;
        }
        for (int i = 0; i < AXES; i++)
                p.dim[i] = i < n->type.rank ? n->type.dim[i] : dim_fixed(1);
        Fact y = fact_binary(f, &p, &f->guard[n->id]);
        y.exact_zero |= may_cancel(f, n);
        return y;
}

/* --- repeats --- */

static bool reach_equal(const Reach *a, const Reach *b)
{
        if (a->all != b->all || a->n != b->n)
                return false;
        for (int i = 0; i < a->n; i++) {
                const Read *p = &a->at[i], *q = &b->at[i];
                if (p->open != q->open || !dim_equal(p->low, q->low) || !dim_equal(p->high, q->high))
                        return false;
        }
        return true;
}

static bool fact_equal(const Fact *a, const Fact *b)
{
        for (Special v = AT_0; v < NSPECIAL; v++)
                if (!cond_equal(a->unless[v], b->unless[v]) || a->stain[v] != b->stain[v])
                        return false;
        return reach_equal(&a->reach, &b->reach) && a->kinds == b->kinds && a->constant == b->constant &&
               a->exact_zero == b->exact_zero && cases_equal(a->integer, b->integer);
}

/* Drops facts that changed between two rounds, so that the rounds end. */
static void give_up_changes(const Fact *before, Fact *now)
{
        if (!reach_equal(&before->reach, &now->reach)) {
                Reach lower = before->reach;
                for (int i = 0; i < lower.n; i++) {
                        lower.at[i].low = now->reach.at[i].low; /* an earlier time is harmless */
                        lower.at[i].open = now->reach.at[i].open;
                }
                now->reach.all |= !reach_equal(&lower, &now->reach);
                for (int i = 0; i < now->reach.n; i++) {
                        now->reach.at[i].open = true;
                        now->reach.at[i].low = now->reach.at[i].high;
                }
        }
        for (Special v = AT_0; v < NSPECIAL; v++)
                if (!cond_equal(before->unless[v], now->unless[v])) {
                        now->unless[v] = cond_true();
                        now->stain[v] = 0;
                }
        now->integer = NULL;
}

static void body_facts(Facts *f, const Body *body, const Fact *carry);

static Fact either_fact(const Facts *f, const Fact *a, const Fact *b)
{
        Fact y = fact_join(f, a, b);
        y.origin = a->origin ? a->origin : b->origin;
        return y;
}

/* The facts of output `index` of the bodies, carried or stacked, joined over all bodies. */
static Fact leaving_fact(const Facts *f, const Region *r, int index)
{
        Fact y = fact_unknown();
        for (int k = 0; k < r->nbody; k++) {
                const Body *b = r->body[k];
                const Node *n = index < r->ncarry ? b->next[index] : b->stack[index - r->ncarry];
                y = k == 0 ? f->of[n->id] : either_fact(f, &y, &f->of[n->id]);
        }
        return y;
}

/* --- alongs --- */

/* The position is a constant of its body: a piece reads time t + .., by no axis.  Outside, a result's index is
 * the position.  A carried value was computed at an earlier position, and has read all before it. */

static Fact without_conditions(const Fact *a)
{
        Fact y = *a;
        for (Special v = AT_0; v < NSPECIAL; v++)
                if (!cond_is_false(y.unless[v])) {
                        y.unless[v] = cond_true();
                        y.stain[v] = 0;
                }
        y.integer = NULL;
        return y;
}

static Fact carried_fact(const Fact *a)
{
        Fact y = without_conditions(a);
        for (int i = 0; i < y.reach.n; i++)
                if (names_position(y.reach.at[i].high)) {
                        y.reach.at[i].open = true;
                        y.reach.at[i].low = y.reach.at[i].high;
                }
        return y;
}

/* After the last position.  That there is no further one is known only at the end of the sequence. */
static Fact last_fact(const Facts *f, const Fact *a, const Region *r)
{
        Fact y = carried_fact(a);
        const Dim count = positions_of(f->graph, r), last = dim_sub(count, dim_fixed(1));
        const int position = NAMED_ALONG + r->along - 1;
        y.reach.all |= count.per[f->time] != 0;
        for (int i = 0; i < y.reach.n; i++) {
                Read *read = &y.reach.at[i];
                const int64_t per = read->high.per[position];
                read->high.per[position] = read->low.per[position] = 0;
                read->high = dim_add(read->high, dim_scale(last, per));
                read->low = read->open ? read->high : read->low;
        }
        return y;
}

/* Of the values of all positions, joined along axis 0. */
static Fact positions_fact(const Facts *f, const Fact *a, const Region *r)
{
        Fact y = without_conditions(a);
        const Dim count = positions_of(f->graph, r);
        const bool grows = count.per[f->time] != 0;
        const int position = NAMED_ALONG + r->along - 1;
        /* a state goes on from row to row, none of which may change later */
        Reach reach = {.all = y.reach.all || (grows && !dim_equal(count, dim_named(f->time))) ||
                              (grows && r->ncarry > 0 && reads_future(f, &y.reach))};
        for (int i = 0; i < y.reach.n; i++) {
                Read read = y.reach.at[i];
                if (read.axis == NO_AXIS && read.high.per[position] == 1) {
                        read.axis = 0;
                        read.high.per[position] = 0;
                        read.low.per[position] = 0;
                        read.open |= y.reach.at[i].low.per[position] != 1;
                }
                reach_add(f, &reach, read);
        }
        y.reach = reach;
        return y;
}

/* One round over all bodies; false: no carried fact has changed. */
static bool repeat_round(Facts *f, const Region *r, Fact *carry, int round)
{
        bool changed = false;
        for (int k = 0; k < r->nbody; k++)
                body_facts(f, r->body[k], carry);
        for (int i = 0; i < r->ncarry; i++) {
                Fact next = leaving_fact(f, r, i);
                next = r->along ? carried_fact(&next) : next;
                next = either_fact(f, &carry[i], &next);
                if (fact_equal(&next, &carry[i]))
                        continue;
                if (round >= PATIENT_ROUNDS)
                        give_up_changes(&carry[i], &next);
                carry[i] = next;
                changed = true;
        }
        return changed;
}

static void repeat_facts(Facts *f, const Node *n)
{
        const Region *r = n->attr.region;
        int nout = r->ncarry + r->nstack;
        Fact *carry = NEW_ARRAY(f->arena, Fact, r->ncarry);
        for (int i = 0; i < r->ncarry; i++)
                carry[i] = f->of[n->in[i]->id];
        for (int round = 0; repeat_round(f, r, carry, round); round++)
                ;
        Fact *leaving = NEW_ARRAY(f->arena, Fact, nout);
        for (int i = 0; i < nout; i++)
                leaving[i] = leaving_fact(f, r, i);
        f->leaving[n->id] = leaving;
}

/* Stacked values have the iterations as their first axis. */
static Fact result_fact(const Facts *f, const Node *n)
{
        const Region *r = n->in[0]->attr.region;
        Fact leaving = f->leaving[n->in[0]->id][n->attr.index];
        if (n->attr.index < r->ncarry)
                return r->along ? last_fact(f, &leaving, r) : leaving;
        AxisMap map[AXES];
        int to[AXES];
        for (int axis = 0; axis < AXES; axis++) {
                to[axis] = axis + 1 < AXES ? axis + 1 : -1;
                map[axis] = axis_map(to[axis] < 0 ? affine_constant(dim_fixed(0)) : affine_axis(to[axis]));
        }
        Fact y = fact_rename(f, &leaving, map, to);
        y.origin = leaving.origin;
        return r->along ? positions_fact(f, &y, r) : y;
}

/* --- all nodes --- */

static Fact fold_fact(const Facts *f, const Node *n)
{
        const Fact *a = &f->of[n->in[0]->id];
        const Type *t = &n->in[0]->type;
        switch ((int)n->op) {
        case OP_SUM: return fact_of_sum(f, n, a, t, n->attr.axis);
        case OP_MAXOF: return fact_of_maximum(f, a, t, n->attr.axis);
        case OP_ARGMAX: return fact_of_argmax(f, a, t, n->attr.axis);
        default: return fact_of_largest(f, a, t, t->rank - 1);
        }
}

static Fact node_fact(const Facts *f, const Node *n, const Fact *carry)
{
        switch (n->op) {
        case OP_INPUT: return input_fact(f, n);
        case OP_WEIGHT: return weight_fact();
        case OP_CONST: return literal_fact(f, n->attr.literal);
        case OP_SIZE:
        case OP_INDEX: return index_or_size_fact(f, n);
        case OP_VIEW: return fact_view(f, n);
        case OP_PAD: return fact_pad(f, n);
        case OP_JOIN: return fact_joined(f, n);
        case OP_GATHER: return fact_gather(f, n);
        case OP_SUM:
        case OP_MAXOF:
        case OP_ARGMAX:
        case OP_TOP: return fold_fact(f, n);
        case OP_MATMUL: return fact_of_matmul(f, n);
        case OP_SOFTMAX: return fact_of_softmax(f, n);
        case OP_SCAN: return fact_of_scan(f, n);
        case OP_CARRY: return carry[n->attr.index];
        case OP_RESULT: return result_fact(f, n);
        case OP_REPEAT: return fact_unknown();
        default: break;
        }
        assert(op_info[n->op].family == POINT); /* no states yet */
        return pointwise_fact(f, n);
}

/* The first input that reads later times, or the node itself. */
static const Node *fact_origin(const Facts *f, const Node *n, const Fact *y)
{
        if (f->found[n->id] && f->of[n->id].origin)
                return f->of[n->id].origin;
        if (!reads_future(f, &y->reach))
                return NULL;
        for (int i = 0; i < n->nin; i++)
                if (f->of[n->in[i]->id].origin)
                        return f->of[n->in[i]->id].origin;
        return y->origin ? y->origin : n;
}

static void body_facts(Facts *f, const Body *body, const Fact *carry)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                if (n->op == OP_REPEAT)
                        repeat_facts(f, n);
                Fact y = node_fact(f, n, carry);
                if (n->type.dtype == REAL && !cases_within(f->graph, y.integer, &n->type, EXACT_REALS))
                        y.integer = NULL;
                if (f->block)
                        fact_in_blocks(f, n, &y);
                y.origin = fact_origin(f, n, &y);
                f->of[n->id] = y;
                f->found[n->id] = true;
        }
}

static Facts *facts_of(const GraphFacts *all, Assume values, const Facts *formula)
{
        const Graph *g = all->graph;
        Arena *arena = all->arena;
        Facts *f = NEW(arena, Facts);
        *f = (Facts){g, arena, all->time, all->block, values, formula, NULL, NULL, NULL, NULL};
        f->of = NEW_ARRAY(arena, Fact, g->nnode);
        f->found = NEW_ARRAY(arena, bool, g->nnode);
        f->leaving = NEW_ARRAY(arena, Fact *, g->nnode);
        f->guard = NEW_ARRAY(arena, OperandGuard, g->nnode);
        body_facts(f, g->top, NULL);
        return f;
}

GraphFacts *graph_facts(Arena *arena, const Graph *g, int time)
{
        GraphFacts *facts = NEW(arena, GraphFacts);
        *facts = (GraphFacts){.graph = g, .arena = arena, .time = time};
        return facts;
}

GraphFacts *graph_facts_in_blocks(Arena *arena, const Graph *g, int time, int64_t block)
{
        GraphFacts *facts = graph_facts(arena, g, time);
        facts->block = block;
        return facts;
}

const Facts *facts_under(GraphFacts *facts, Assume values)
{
        if (!facts->under[values]) {
                const Facts *formula = values == ANY_VALUES ? facts_under(facts, FINITE_VALUES) : NULL;
                facts->under[values] = facts_of(facts, values, formula);
        }
        return facts->under[values];
}
