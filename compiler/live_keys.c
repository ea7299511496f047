/* Bounds of the live keys of attention, read off the mask in its score formula: of `where(condition, s, -inf)` the comparisons
 * that say what keys a row may see.
 *
 *      col <= row and row - col < 8                        lo = row - 7, hi = row + 1
 *      col // 64 >= min(max(row // 64 - 1, 0), 5)          lo = 64 * (..)
 *
 * Integers are followed as affine forms over the kernel's digits, their quotients, and, where the key takes no part, minima and
 * maxima of those. */
#include "live_keys.h"

#include <math.h>
#include <string.h>

/* What masks are written with is short; of what is long, nothing is said.  In nodes looked at, and in bytes of an expression. */
enum { MOST_NODES = 500, LONGEST = 4000 };
static const double largest = 2147483648.0; /* a number in a bound: products of two fit in int64_t */

static bool is_looked_through(Formula *f)
{
        return ++f->looked > MOST_NODES;
}

/* n as offset + sum of coef * digit, if it is that. */
static bool affine(Formula *f, const Node *n, const Map *m, AxisIndex *x)
{
        AxisIndex a, b;
        Map in;
        Refine refine;
        if (is_looked_through(f))
                return false;
        switch (n->op) {
        case OP_CONST: {
                double value = n->attr.literal->value[0];
                if (n->attr.literal->count != 1 || n->attr.literal->trips != 1 || !(fabs(value) < largest) ||
                    value != (double)(int64_t)value)
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
                return map_view(&f->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine) == MAP_OK &&
                       affine(f, n->in[0], &in, x);
        case OP_ADD:
        case OP_SUB: {
                Map at = map_broadcast(m, &n->in[0]->type), bt = map_broadcast(m, &n->in[1]->type);
                if (!affine(f, n->in[0], &at, &a) || !affine(f, n->in[1], &bt, &b))
                        return false;
                int64_t sign = n->op == OP_ADD ? 1 : -1;
                x->offset = dim_add(a.offset, dim_scale(b.offset, sign));
                for (int i = 0; i < MAX_DIGIT; i++)
                        x->coef[i] = a.coef[i] + sign * b.coef[i];
                return true;
        }
        case OP_NEG:
                if (!affine(f, n->in[0], m, &a))
                        return false;
                x->offset = dim_scale(a.offset, -1);
                for (int i = 0; i < MAX_DIGIT; i++)
                        x->coef[i] = -a.coef[i];
                return true;
        default: return false;
        }
}

typedef struct {
        AxisIndex x;
        int64_t by; /* floor(x / by) */
} Quotient;

/* The only axis of whole numbers that are known, or -1. */
static int numbers_axis(const Node *n)
{
        int axis = -1, axes = 0;
        for (int a = 0; a < n->type.rank; a++)
                if (!dim_is(n->type.dim[a], 1)) {
                        axis = a;
                        axes++;
                }
        if (n->op != OP_CONST || n->type.dtype != INT || axes != 1 || n->attr.literal->trips != 1)
                return -1;
        for (int64_t i = 0; i < n->attr.literal->count; i++)
                if (!(fabs(n->attr.literal->value[i]) < largest))
                        return -1;
        return axis;
}

/* Numbers 0, .., 0, 1, .., 1, 2, .. are quotients of their index. */
static bool quotient_of_index(const Node *n, const Map *m, Quotient *q)
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

static bool quotient(Formula *f, const Node *n, const Map *m, Quotient *q)
{
        Map in;
        Refine refine;
        AxisIndex by;
        q->by = 1;
        if (n->op == OP_VIEW &&
            map_view(&f->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine) == MAP_OK)
                return quotient(f, n->in[0], &in, q);
        if (quotient_of_index(n, m, q))
                return true;
        q->by = 1;
        if (n->op != OP_FLOORDIV)
                return affine(f, n, m, &q->x);
        Map at = map_broadcast(m, &n->in[0]->type), bt = map_broadcast(m, &n->in[1]->type);
        if (n->in[1]->op != OP_CONST || !affine(f, n->in[1], &bt, &by) || by.offset.fixed < 1)
                return false;
        q->by = by.offset.fixed;
        return affine(f, n->in[0], &at, &q->x);
}

/* C's division rounds down what is not below 0. */
static bool divides_down(const Quotient *q)
{
        bool down = q->x.offset.fixed >= 0;
        for (int i = 0; i < MAX_NAMED; i++)
                down = down && q->x.offset.per[i] >= 0;
        for (int i = 0; i < MAX_DIGIT; i++)
                down = down && q->x.coef[i] >= 0;
        return down || q->by == 1;
}

/* *a becomes the one of the two that is `op` the other; false, and it stays: the expression would be too long. */
static bool choose_bound(Formula *f, const char **a, const char *b, const char *op)
{
        if (!*a)
                *a = b;
        else if (strlen(*a) + strlen(b) > LONGEST)
                return false;
        else if (strcmp(*a, b) != 0)
                *a = arena_printf(f->arena, "(%s) %s (%s) ? (%s) : (%s)", *a, op, b, *a, b);
        return true;
}

/* "first[i1]", a table of whole numbers that are known */
static const char *table_of_row(Formula *f, const Node *n, const Map *m, int keys, Bounds *bounds)
{
        const AxisIndex *x = &m->axis[numbers_axis(n)];
        if (x->coef[keys] != 0 || bounds->ntable == MAX_ROW_TABLES)
                return NULL;
        const char *name = arena_printf(f->arena, "of_row_%d", n->id);
        bounds->table[bounds->ntable++] = n;
        return arena_printf(f->arena, "%s[%s]", name, index_expression(f, x->offset, x->coef, true));
}

/* n as an expression of the row, where the key takes no part: what tables, quotients, minima and maxima are made of.  NULL:
 * something else. */
static const char *of_row(Formula *f, const Node *n, const Map *m, int keys, Bounds *bounds)
{
        Quotient q;
        Map in;
        Refine refine;
        if (is_looked_through(f))
                return NULL;
        if (quotient(f, n, m, &q)) {
                if (q.x.coef[keys] != 0 || !divides_down(&q))
                        return NULL;
                const char *e = index_expression(f, q.x.offset, q.x.coef, true);
                return q.by > 1 ? arena_printf(f->arena, "(%s) / %lld", e, (long long)q.by) : e;
        }
        if (numbers_axis(n) >= 0)
                return table_of_row(f, n, m, keys, bounds);
        if (n->op == OP_VIEW)
                return map_view(&f->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine) == MAP_OK
                               ? of_row(f, n->in[0], &in, keys, bounds)
                               : NULL;
        if (n->op != OP_ADD && n->op != OP_SUB && n->op != OP_MIN && n->op != OP_MAX)
                return NULL;
        Map at = map_broadcast(m, &n->in[0]->type), bt = map_broadcast(m, &n->in[1]->type);
        const char *a = of_row(f, n->in[0], &at, keys, bounds), *b = of_row(f, n->in[1], &bt, keys, bounds);
        if (!a || !b || strlen(a) + strlen(b) > LONGEST)
                return NULL;
        if (n->op == OP_MIN || n->op == OP_MAX)
                return choose_bound(f, &a, b, n->op == OP_MIN ? "<" : ">") ? arena_printf(f->arena, "(%s)", a)
                                                                           : NULL;
        return arena_printf(f->arena, "(%s) %s (%s)", a, n->op == OP_ADD ? "+" : "-", b);
}

/* Narrows the bounds by floor(key / p) - row >= least, or by row - floor(key / p) >= least: then the key is at least
 * p (row + least), or below p (row - least + 1). */
static bool bound_by_row(Formula *f, const Quotient *key, const char *row, bool from_below, int64_t least,
                         int keys, Bounds *bounds)
{
        if (key->x.coef[keys] != 1 || !row)
                return false;
        int64_t rest[MAX_DIGIT];
        for (int i = 0; i < MAX_DIGIT; i++)
                rest[i] = i == keys ? 0 : -key->x.coef[i];
        Dim offset =
                dim_add(dim_scale(key->x.offset, -1), dim_fixed(key->by * (from_below ? least : 1 - least)));
        const char *e = arena_printf(f->arena, "%lld * (%s) + (%s)", (long long)key->by, row,
                                     index_expression(f, offset, rest, true));
        return from_below ? choose_bound(f, &bounds->low, e, ">") : choose_bound(f, &bounds->high, e, "<");
}

/* Narrows the bounds by `a - b >= least`; false: that is no bound on the keys. */
static bool bound_by(Formula *f, const Node *a, const Node *b, const Map *m, int64_t least, int keys,
                     Bounds *bounds)
{
        if (is_looked_through(f))
                return false;
        if (b->op == OP_MAX || a->op == OP_MIN) {
                const Node *both = b->op == OP_MAX ? b : a;
                bool first = both == b ? bound_by(f, a, b->in[0], m, least, keys, bounds)
                                       : bound_by(f, a->in[0], b, m, least, keys, bounds);
                bool second = both == b ? bound_by(f, a, b->in[1], m, least, keys, bounds)
                                        : bound_by(f, a->in[1], b, m, least, keys, bounds);
                return first && second;
        }
        Quotient x, y;
        Map am = map_broadcast(m, &a->type), bm = map_broadcast(m, &b->type);
        bool xs = quotient(f, a, &am, &x), ys = quotient(f, b, &bm, &y);
        if (!xs || !ys || x.by > 1 || y.by > 1) {
                bool below = xs && x.x.coef[keys] != 0;
                if (!below && !(ys && y.x.coef[keys] != 0))
                        return false;
                const char *row = below ? of_row(f, b, &bm, keys, bounds) : of_row(f, a, &am, keys, bounds);
                return bound_by_row(f, below ? &x : &y, row, below, least, keys, bounds);
        }
        Dim offset = dim_add(dim_sub(x.x.offset, y.x.offset), dim_fixed(-least));
        int64_t coef[MAX_DIGIT];
        for (int i = 0; i < MAX_DIGIT; i++)
                coef[i] = x.x.coef[i] - y.x.coef[i];
        int64_t c = coef[keys];
        coef[keys] = 0;
        if (c == -1) { /* key <= offset + .. */
                const char *e = index_expression(f, dim_add(offset, dim_fixed(1)), coef, true);
                return choose_bound(f, &bounds->high, e, "<");
        }
        if (c == 1) { /* key >= -(offset + ..) */
                for (int i = 0; i < MAX_DIGIT; i++)
                        coef[i] = -coef[i];
                const char *e = index_expression(f, dim_scale(offset, -1), coef, true);
                return choose_bound(f, &bounds->low, e, ">");
        }
        return false;
}

static bool bound_condition(Formula *f, const Node *c, const Map *m, bool want, int keys, Bounds *bounds);

/* Narrows by one of two conditions: to what holds both their bounds, which is not all that they say. */
static bool bound_either(Formula *f, const Node *c, const Map *m, bool want, int keys, Bounds *bounds)
{
        Bounds side[2] = {{0}, {0}};
        for (int i = 0; i < 2; i++) {
                Map at = map_broadcast(m, &c->in[i]->type);
                bound_condition(f, c->in[i], &at, want, keys, &side[i]);
                for (int k = 0; k < side[i].ntable; k++) {
                        if (bounds->ntable == MAX_ROW_TABLES)
                                return false;
                        bounds->table[bounds->ntable++] = side[i].table[k];
                }
        }
        if (side[0].low && side[1].low && choose_bound(f, &side[0].low, side[1].low, "<"))
                choose_bound(f, &bounds->low, side[0].low, ">");
        if (side[0].high && side[1].high && choose_bound(f, &side[0].high, side[1].high, ">"))
                choose_bound(f, &bounds->high, side[0].high, "<");
        return false;
}

/* Narrows by a condition that live keys meet; true: the bounds say all of it. */
static bool bound_condition(Formula *f, const Node *c, const Map *m, bool want, int keys, Bounds *bounds)
{
        Map in = *m, next;
        Refine refine;
        if (is_looked_through(f))
                return false;
        switch (c->op) {
        case OP_NOT: return bound_condition(f, c->in[0], m, !want, keys, bounds);
        case OP_VIEW:
                return map_view(&f->domain, &in, c->attr.view, c->in[0]->type.rank, &next, &refine) ==
                               MAP_OK &&
                       bound_condition(f, c->in[0], &next, want, keys, bounds);
        case OP_AND:
        case OP_OR: {
                if ((c->op == OP_AND) != want)
                        return bound_either(f, c, m, want, keys, bounds);
                Map am = map_broadcast(m, &c->in[0]->type), bm = map_broadcast(m, &c->in[1]->type);
                bool a = bound_condition(f, c->in[0], &am, want, keys, bounds);
                bool b = bound_condition(f, c->in[1], &bm, want, keys, bounds);
                return a && b;
        }
        case OP_LESS: /* a < b: b - a >= 1; not: a - b >= 0 */
                return want ? bound_by(f, c->in[1], c->in[0], m, 1, keys, bounds)
                            : bound_by(f, c->in[0], c->in[1], m, 0, keys, bounds);
        case OP_LESSEQ: /* a <= b: b - a >= 0; not: a - b >= 1 */
                return want ? bound_by(f, c->in[1], c->in[0], m, 0, keys, bounds)
                            : bound_by(f, c->in[0], c->in[1], m, 1, keys, bounds);
        case OP_EQUAL: {
                if (!want || c->in[0]->type.dtype != INT || c->in[1]->type.dtype != INT)
                        return false;
                bool least = bound_by(f, c->in[0], c->in[1], m, 0, keys, bounds);
                bool most = bound_by(f, c->in[1], c->in[0], m, 0, keys, bounds);
                return least && most;
        }
        default: return false;
        }
}

static bool is_minus_infinity(const Node *n)
{
        return n->op == OP_CONST && n->attr.literal->count == 1 && n->attr.literal->trips == 1 &&
               n->attr.literal->value[0] < -1e300;
}

/* Walks down from the softmax's input through what keeps -inf.  A mask that the bounds say whole is left out of the formula:
 * *bare is then what stands under it. */
void live_keys(Formula *f, Node *n, const Map *m, int keys, Bounds *bounds, Node **bare)
{
        if (is_looked_through(f))
                return;
        if (n->op == OP_WHERE) {
                Map c = map_broadcast(m, &n->in[0]->type);
                bool masks_else = is_minus_infinity(n->in[2]), masks_then = is_minus_infinity(n->in[1]);
                if (!masks_else && !masks_then)
                        return;
                bool whole = bound_condition(f, n->in[0], &c, masks_else, keys, bounds);
                Node *rest = n->in[masks_else ? 1 : 2];
                if (!same_dims(&rest->type, &n->type))
                        return;
                if (whole && *bare == n)
                        *bare = rest;
                Map x = map_broadcast(m, &rest->type);
                live_keys(f, rest, &x, keys, bounds, bare);
        } else if (n->op == OP_ADD) {
                Node *top = NULL;
                for (int i = 0; i < 2; i++) {
                        Map at = map_broadcast(m, &n->in[i]->type);
                        live_keys(f, n->in[i], &at, keys, bounds, &top);
                }
        }
}

/* The tables that the bounds read. */
void declare_row_tables(Formula *f, const Bounds *bounds, Text *out)
{
        for (int i = 0; i < bounds->ntable; i++) {
                const Node *n = bounds->table[i];
                const char *name = arena_printf(f->arena, "of_row_%d", n->id);
                bool used = (bounds->low && uses_name(bounds->low, name)) ||
                            (bounds->high && uses_name(bounds->high, name));
                for (int k = 0; k < i; k++)
                        used = used && bounds->table[k] != n;
                if (!used)
                        continue;
                text_printf(out, "static const int32_t %s[] = {", name);
                for (int64_t k = 0; k < n->attr.literal->count; k++)
                        text_printf(out, "%s%lld", k ? ", " : "", (long long)n->attr.literal->value[k]);
                text_printf(out, "};\n");
        }
}
