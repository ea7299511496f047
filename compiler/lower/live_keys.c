/* Bounds of the unmasked keys of each row in attention, derived from the comparisons in the mask of its score
 * expression, `where(condition, s, -inf)`.
 *
 *      col <= row and row - col < 8                        lo = row - 7, hi = row + 1
 *      col // 64 >= min(max(row // 64 - 1, 0), 5)          lo = 64 * (..)
 *
 * Integers are represented as affine forms over the kernel's loops, their quotients and, if they do not
 * depend on the key, minima and maxima of those. */
#include "lower_private.h"

#include <math.h>
#include <string.h>

/* Masks are short: limits of the number of visited nodes, and of the size of an expression. */
enum { MAX_BOUND_NODES = 500, LARGEST = 400 };
static const double largest = 2147483648.0; /* largest number in a bound: products of two fit in int64_t */

static bool is_looked_through(Lower *l)
{
        return ++l->looked > MAX_BOUND_NODES;
}

/* n as offset + sum of coef * loop; false: it is not affine. */
static bool affine(Lower *l, const Node *n, const Map *m, AxisIndex *x)
{
        AxisIndex a, b;
        Map in;
        Refine refine;
        if (is_looked_through(l))
                return false;
        switch (n->op) {
        case OP_CONST: {
                double value = n->attr.literal->value[0];
                if (n->attr.literal->count != 1 || n->attr.literal->iterations != 1 ||
                    !(fabs(value) < largest) || value != (double)(int64_t)value)
                        return false;
                *x = (AxisIndex){.offset = dim_fixed((int64_t)value)};
                return true;
        }
        case OP_SIZE: *x = (AxisIndex){.offset = n->attr.dim}; return true;
        case OP_INDEX:
                *x = m->axis[0];
                x->offset = dim_add(x->offset, n->attr.dim);
                return true;
        case OP_VIEW:
                return map_view(&l->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine) == MAP_OK &&
                       affine(l, n->in[0], &in, x);
        case OP_ADD:
        case OP_SUB: {
                Map at = map_broadcast(m, &n->in[0]->type), bt = map_broadcast(m, &n->in[1]->type);
                if (!affine(l, n->in[0], &at, &a) || !affine(l, n->in[1], &bt, &b))
                        return false;
                int64_t sign = n->op == OP_ADD ? 1 : -1;
                x->offset = dim_add(a.offset, dim_scale(b.offset, sign));
                for (int i = 0; i < MAX_LOOPS; i++)
                        x->coef[i] = a.coef[i] + sign * b.coef[i];
                return true;
        }
        case OP_NEG:
                if (!affine(l, n->in[0], m, &a))
                        return false;
                x->offset = dim_scale(a.offset, -1);
                for (int i = 0; i < MAX_LOOPS; i++)
                        x->coef[i] = -a.coef[i];
                return true;
        default: return false;
        }
}

typedef struct {
        AxisIndex x;
        int64_t by; /* floor(x / by) */
} AxisQuotient;

/* The only axis of known integers, or -1. */
static int numbers_axis(const Node *n)
{
        int axis = -1, axes = 0;
        for (int a = 0; a < n->type.rank; a++)
                if (!dim_is(n->type.dim[a], 1)) {
                        axis = a;
                        axes++;
                }
        if (n->op != OP_CONST || n->type.dtype != INT || axes != 1 || n->attr.literal->iterations != 1)
                return -1;
        for (int64_t i = 0; i < n->attr.literal->count; i++)
                if (!(fabs(n->attr.literal->value[i]) < largest))
                        return -1;
        return axis;
}

/* Integers 0, .., 0, 1, .., 1, 2, .. are quotients of their index. */
static bool quotient_of_index(const Node *n, const Map *m, AxisQuotient *q)
{
        int axis = numbers_axis(n);
        if (axis < 0)
                return false;
        const double *value = n->attr.literal->value;
        int64_t count = n->attr.literal->count;
        q->by = 0;
        while (q->by < count && value[q->by] == 0)
                q->by++;
        for (int64_t i = 0; i < count; i++) {
                int64_t expected = q->by ? i / q->by : -1;
                if (value[i] != (double)expected)
                        return false;
        }
        q->x = m->axis[axis];
        return true;
}

static bool find_quotient(Lower *l, const Node *n, const Map *m, AxisQuotient *q)
{
        Map in;
        Refine refine;
        AxisIndex by;
        q->by = 1;
        if (n->op == OP_VIEW &&
            map_view(&l->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine) == MAP_OK)
                return find_quotient(l, n->in[0], &in, q);
        if (quotient_of_index(n, m, q))
                return true;
        q->by = 1;
        if (n->op != OP_FLOORDIV)
                return affine(l, n, m, &q->x);
        Map at = map_broadcast(m, &n->in[0]->type), bt = map_broadcast(m, &n->in[1]->type);
        if (n->in[1]->op != OP_CONST || !affine(l, n->in[1], &bt, &by) || by.offset.fixed < 1)
                return false;
        q->by = by.offset.fixed;
        return affine(l, n->in[0], &at, &q->x);
}

/* C's division rounds down if the dividend is not negative. */
static bool divides_down(const AxisQuotient *q)
{
        bool down = q->x.offset.fixed >= 0;
        for (int i = 0; i < MAX_NAMED; i++)
                down = down && q->x.offset.per[i] >= 0;
        for (int i = 0; i < MAX_LOOPS; i++)
                down = down && q->x.coef[i] >= 0;
        return down || q->by == 1;
}

/* *a becomes the minimum or maximum of both; false, and unchanged: the expression would be too long. */
static bool choose_bound(const Lower *l, const Index **a, const Index *b, IndexOp op)
{
        if (!*a)
                *a = b;
        else if (index_nodes(*a) + index_nodes(b) > LARGEST)
                return false;
        else if (!index_same(*a, b))
                *a = index_two(l->arena, op, *a, b);
        return true;
}

/* An element of a table of known integers. */
static const Index *table_of_row(const Lower *l, const Node *n, const Map *m, int keys)
{
        const AxisIndex *x = &m->axis[numbers_axis(n)];
        if (x->coef[keys] != 0)
                return NULL;
        Index *r = NEW(l->arena, Index);
        r->op = INDEX_TABLE;
        r->table = n;
        r->a = affine_index(l, x->offset, x->coef, true);
        return r;
}

/* n as an expression of the row, independent of the key: tables, quotients, minima and maxima.  NULL: not
 * of this form. */
static const Index *of_row(Lower *l, const Node *n, const Map *m, int keys)
{
        AxisQuotient q;
        Map in;
        Refine refine;
        if (is_looked_through(l))
                return NULL;
        if (find_quotient(l, n, m, &q)) {
                if (q.x.coef[keys] != 0 || !divides_down(&q))
                        return NULL;
                const Index *e = affine_index(l, q.x.offset, q.x.coef, true);
                return q.by > 1 ? index_two(l->arena, INDEX_QUOTIENT, e, index_number(l->arena, q.by)) : e;
        }
        if (numbers_axis(n) >= 0)
                return table_of_row(l, n, m, keys);
        if (n->op == OP_VIEW)
                return map_view(&l->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine) == MAP_OK
                               ? of_row(l, n->in[0], &in, keys)
                               : NULL;
        if (n->op != OP_ADD && n->op != OP_SUB && n->op != OP_MIN && n->op != OP_MAX)
                return NULL;
        Map at = map_broadcast(m, &n->in[0]->type), bt = map_broadcast(m, &n->in[1]->type);
        const Index *a = of_row(l, n->in[0], &at, keys), *b = of_row(l, n->in[1], &bt, keys);
        if (!a || !b || index_nodes(a) + index_nodes(b) > LARGEST)
                return NULL;
        if (n->op == OP_MIN || n->op == OP_MAX) {
                choose_bound(l, &a, b, n->op == OP_MIN ? INDEX_MIN : INDEX_MAX);
                return a;
        }
        return index_two(l->arena, n->op == OP_ADD ? INDEX_PLUS : INDEX_MINUS, a, b);
}

/* Narrows the bounds by floor(key / p) - row >= least, or by row - floor(key / p) >= least: the key is at
 * least p (row + least), or below p (row - least + 1). */
static bool bound_by_row(const Lower *l, const AxisQuotient *key, const Index *row, bool from_below,
                         int64_t least, int keys, Bounds *bounds)
{
        if (key->x.coef[keys] != 1 || !row)
                return false;
        int64_t rest[MAX_LOOPS];
        for (int i = 0; i < MAX_LOOPS; i++)
                rest[i] = i == keys ? 0 : -key->x.coef[i];
        Dim offset =
                dim_add(dim_scale(key->x.offset, -1), dim_fixed(key->by * (from_below ? least : 1 - least)));
        const Index *e = index_two(l->arena, INDEX_TIMES, index_number(l->arena, key->by), row);
        e = index_two(l->arena, INDEX_PLUS, e, affine_index(l, offset, rest, true));
        return from_below ? choose_bound(l, &bounds->low, e, INDEX_MAX)
                          : choose_bound(l, &bounds->high, e, INDEX_MIN);
}

/* Narrows the bounds by `a - b >= least`; false: that does not bound the keys. */
static bool bound_by(Lower *l, const Node *a, const Node *b, const Map *m, int64_t least, int keys,
                     Bounds *bounds)
{
        if (is_looked_through(l))
                return false;
        if (b->op == OP_MAX || a->op == OP_MIN) {
                const Node *both = b->op == OP_MAX ? b : a;
                bool first = both == b ? bound_by(l, a, b->in[0], m, least, keys, bounds)
                                       : bound_by(l, a->in[0], b, m, least, keys, bounds);
                bool second = both == b ? bound_by(l, a, b->in[1], m, least, keys, bounds)
                                        : bound_by(l, a->in[1], b, m, least, keys, bounds);
                return first && second;
        }
        AxisQuotient x, y;
        Map am = map_broadcast(m, &a->type), bm = map_broadcast(m, &b->type);
        bool xs = find_quotient(l, a, &am, &x), ys = find_quotient(l, b, &bm, &y);
        if (!xs || !ys || x.by > 1 || y.by > 1) {
                bool below = xs && x.x.coef[keys] != 0;
                if (!below && !(ys && y.x.coef[keys] != 0))
                        return false;
                const Index *row = below ? of_row(l, b, &bm, keys) : of_row(l, a, &am, keys);
                return bound_by_row(l, below ? &x : &y, row, below, least, keys, bounds);
        }
        Dim offset = dim_add(dim_sub(x.x.offset, y.x.offset), dim_fixed(-least));
        int64_t coef[MAX_LOOPS];
        for (int i = 0; i < MAX_LOOPS; i++)
                coef[i] = x.x.coef[i] - y.x.coef[i];
        int64_t c = coef[keys];
        coef[keys] = 0;
        if (c == -1) { /* key <= offset + .. */
                const Index *e = affine_index(l, dim_add(offset, dim_fixed(1)), coef, true);
                return choose_bound(l, &bounds->high, e, INDEX_MIN);
        }
        if (c == 1) { /* key >= -(offset + ..) */
                for (int i = 0; i < MAX_LOOPS; i++)
                        coef[i] = -coef[i];
                const Index *e = affine_index(l, dim_scale(offset, -1), coef, true);
                return choose_bound(l, &bounds->low, e, INDEX_MAX);
        }
        return false;
}

static bool bound_condition(Lower *l, const Node *c, const Map *m, bool want, int keys, Bounds *bounds);

/* Narrows to the union of the bounds of two conditions, which is weaker than the conditions. */
static bool bound_either(Lower *l, const Node *c, const Map *m, bool want, int keys, Bounds *bounds)
{
        Bounds side[2] = {{0}, {0}};
        for (int i = 0; i < 2; i++) {
                Map at = map_broadcast(m, &c->in[i]->type);
                bound_condition(l, c->in[i], &at, want, keys, &side[i]);
        }
        if (side[0].low && side[1].low && choose_bound(l, &side[0].low, side[1].low, INDEX_MIN))
                choose_bound(l, &bounds->low, side[0].low, INDEX_MAX);
        if (side[0].high && side[1].high && choose_bound(l, &side[0].high, side[1].high, INDEX_MAX))
                choose_bound(l, &bounds->high, side[0].high, INDEX_MIN);
        return false;
}

/* Narrows by a condition that unmasked keys meet; true: the bounds imply it completely. */
static bool bound_condition(Lower *l, const Node *c, const Map *m, bool want, int keys, Bounds *bounds)
{
        Map in = *m, next;
        Refine refine;
        if (is_looked_through(l))
                return false;
        switch (c->op) {
        case OP_NOT: return bound_condition(l, c->in[0], m, !want, keys, bounds);
        case OP_VIEW:
                return map_view(&l->domain, &in, c->attr.view, c->in[0]->type.rank, &next, &refine) ==
                               MAP_OK &&
                       bound_condition(l, c->in[0], &next, want, keys, bounds);
        case OP_AND:
        case OP_OR: {
                if ((c->op == OP_AND) != want)
                        return bound_either(l, c, m, want, keys, bounds);
                Map am = map_broadcast(m, &c->in[0]->type), bm = map_broadcast(m, &c->in[1]->type);
                bool a = bound_condition(l, c->in[0], &am, want, keys, bounds);
                bool b = bound_condition(l, c->in[1], &bm, want, keys, bounds);
                return a && b;
        }
        case OP_LESS: /* a < b: b - a >= 1; not: a - b >= 0 */
                return want ? bound_by(l, c->in[1], c->in[0], m, 1, keys, bounds)
                            : bound_by(l, c->in[0], c->in[1], m, 0, keys, bounds);
        case OP_LESSEQ: /* a <= b: b - a >= 0; not: a - b >= 1 */
                return want ? bound_by(l, c->in[1], c->in[0], m, 0, keys, bounds)
                            : bound_by(l, c->in[0], c->in[1], m, 1, keys, bounds);
        case OP_EQUAL: {
                if (!want)
                        return false;
                bool least = bound_by(l, c->in[0], c->in[1], m, 0, keys, bounds);
                bool most = bound_by(l, c->in[1], c->in[0], m, 0, keys, bounds);
                return least && most;
        }
        case OP_AMONG: return want && c == l->kernel->attention.chosen;
        default: return false;
        }
}

static bool is_minus_infinity(const Node *n)
{
        return n->op == OP_CONST && n->attr.literal->count == 1 && n->attr.literal->iterations == 1 &&
               n->attr.literal->value[0] < -1e300;
}

/* Walks from the softmax's input through ops that preserve -inf.  A mask that the bounds imply is dropped
 * from the expression: *bare is the unmasked part. */
void live_keys(Lower *l, Node *n, const Map *m, int keys, Bounds *bounds, Node **bare)
{
        if (is_looked_through(l))
                return;
        if (n->op == OP_WHERE) {
                Map c = map_broadcast(m, &n->in[0]->type);
                bool masks_else = is_minus_infinity(n->in[2]), masks_then = is_minus_infinity(n->in[1]);
                if (!masks_else && !masks_then)
                        return;
                bool whole = bound_condition(l, n->in[0], &c, masks_else, keys, bounds);
                Node *rest = n->in[masks_else ? 1 : 2];
                if (!same_dims(&rest->type, &n->type))
                        return;
                if (whole && *bare == n)
                        *bare = rest;
                Map x = map_broadcast(m, &rest->type);
                live_keys(l, rest, &x, keys, bounds, bare);
        } else if (n->op == OP_ADD) {
                Node *top = NULL;
                for (int i = 0; i < 2; i++) {
                        Map at = map_broadcast(m, &n->in[i]->type);
                        live_keys(l, n->in[i], &at, keys, bounds, &top);
                }
        }
}
