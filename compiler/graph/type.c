/* Dimensions and types: arithmetic on affine sizes, broadcasting, and printing.
 *
 * A size is fixed + sum of per[i] * the size of named dimension i.  Sums and differences of sizes are
 * sizes; a product is one only if a side is fixed, a quotient only if it has no remainder for any size.
 * Two names never unify, so equality is equality of all coefficients. */
#include "graph.h"

#include <string.h>

/* Limit of coefficients, so that a product of two dims and a sum over a view's digits fit in an int64_t. */
static const int64_t DIM_LIMIT = INT64_C(1) << 40;

Dim dim_fixed(int64_t n)
{
        Dim d = {.fixed = n};
        return d;
}

Dim dim_named(int which)
{
        Dim d = {0};
        d.per[which] = 1;
        return d;
}

Dim dim_add(Dim a, Dim b)
{
        a.fixed += b.fixed;
        for (int i = 0; i < MAX_NAMED; i++)
                a.per[i] += b.per[i];
        return a;
}

Dim dim_sub(Dim a, Dim b)
{
        return dim_add(a, dim_scale(b, -1));
}

Dim dim_scale(Dim a, int64_t by)
{
        a.fixed *= by;
        for (int i = 0; i < MAX_NAMED; i++)
                a.per[i] *= by;
        return a;
}

bool dim_equal(Dim a, Dim b)
{
        return a.fixed == b.fixed && memcmp(a.per, b.per, sizeof a.per) == 0;
}

bool dim_is_fixed(Dim a)
{
        return dim_equal(a, dim_fixed(a.fixed));
}

bool dim_is(Dim a, int64_t n)
{
        return dim_equal(a, dim_fixed(n));
}

static bool product_too_large(int64_t a, int64_t by)
{
        int64_t magnitude = a < 0 ? -a : a, factor = by < 0 ? -by : by;
        return factor != 0 && magnitude > DIM_LIMIT / factor;
}

bool dim_mul(Dim a, Dim b, Dim *product)
{
        if (!dim_is_fixed(b)) {
                Dim other = a;
                a = b;
                b = other;
        }
        if (!dim_is_fixed(b) || product_too_large(a.fixed, b.fixed))
                return false;
        for (int i = 0; i < MAX_NAMED; i++)
                if (product_too_large(a.per[i], b.fixed))
                        return false;
        *product = dim_scale(a, b.fixed);
        return true;
}

/* a / by, if `by` divides every coefficient. */
static bool divide_by_number(Dim a, int64_t by, Dim *quotient)
{
        if (by == 0 || a.fixed % by != 0)
                return false;
        quotient->fixed = a.fixed / by;
        for (int i = 0; i < MAX_NAMED; i++) {
                if (a.per[i] % by != 0)
                        return false;
                quotient->per[i] = a.per[i] / by;
        }
        return true;
}

bool dim_div(Dim a, Dim b, Dim *quotient)
{
        if (dim_is_fixed(b))
                return divide_by_number(a, b.fixed, quotient);
        /* if an affine form is a multiple of another, the factor is a number, which any coefficient gives */
        int64_t part = b.fixed, whole = a.fixed;
        for (int i = 0; part == 0 && i < MAX_NAMED; i++) {
                part = b.per[i];
                whole = a.per[i];
        }
        if (whole % part != 0 || product_too_large(part, whole / part) ||
            !dim_equal(dim_scale(b, whole / part), a))
                return false;
        *quotient = dim_fixed(whole / part);
        return true;
}

int64_t dim_value(Dim a, const int64_t *size)
{
        int64_t value = a.fixed;
        for (int i = 0; i < MAX_NAMED; i++)
                if (a.per[i] != 0)
                        value += a.per[i] * size[i];
        return value;
}

/* value + factor * n, saturated. */
static int64_t add_product(int64_t value, int64_t factor, int64_t n)
{
        int64_t product, sum;
        if (__builtin_mul_overflow(factor, n, &product))
                return (factor < 0) != (n < 0) ? INT64_MIN : INT64_MAX;
        if (__builtin_add_overflow(value, product, &sum))
                return product < 0 ? INT64_MIN : INT64_MAX;
        return sum;
}

/* An affine form has its extremes at the corners of the sizes: 1 .. bound for each name, but for `time`
 * and `past` the triangle time >= 1, past >= 0, time + past <= bound of time. */
static int64_t dim_extreme(const Graph *g, Dim a, int sign)
{
        int64_t value = a.fixed;
        for (int i = 0; i < g->nalong; i++) { /* the first position, or the last one */
                int64_t per = a.per[NAMED_ALONG + i];
                if (!per)
                        continue;
                a.per[NAMED_ALONG + i] = 0;
                Dim last = dim_add(a, dim_scale(dim_sub(g->along[i].count, dim_fixed(1)), per));
                int64_t first = dim_extreme(g, a, sign), other = dim_extreme(g, last, sign);
                return (first > other) == (sign > 0) ? first : other;
        }
        for (int i = 0; i < g->nnamed; i++) {
                if (g->time >= 0 && (i == g->time || i == g->past))
                        continue;
                value = add_product(value, a.per[i], (a.per[i] > 0) == (sign > 0) ? g->named[i].bound : 1);
        }
        if (g->time < 0)
                return value;
        int64_t time = a.per[g->time], past = g->past < 0 ? 0 : a.per[g->past],
                bound = g->named[g->time].bound;
        int64_t corner[] = {add_product(value, time, 1), add_product(value, time, bound),
                            add_product(add_product(value, time, 1), past, bound - 1)};
        int64_t extreme = corner[0];
        for (int i = 1; i < 3; i++)
                if (sign > 0 ? corner[i] > extreme : corner[i] < extreme)
                        extreme = corner[i];
        return extreme;
}

int64_t dim_bound(const Graph *g, Dim a)
{
        return dim_extreme(g, a, 1);
}

int64_t dim_least(const Graph *g, Dim a)
{
        return dim_extreme(g, a, -1);
}

bool dim_is_positions(const Graph *g, Dim d)
{
        return g->past >= 0 && dim_equal(d, dim_named(g->time));
}

bool type_has_positions(const Graph *g, const Type *t)
{
        for (int a = 0; a < t->rank; a++)
                if (dim_is_positions(g, t->dim[a]))
                        return true;
        return false;
}

bool type_is_dense(const Type *t)
{
        bool outermost = true;
        for (int a = 0; a < t->rank; a++) {
                if (!outermost && !dim_is_fixed(t->dim[a]))
                        return true;
                outermost &= dim_is(t->dim[a], 1);
        }
        return false;
}

int64_t type_count(const Type *t, const int64_t *size)
{
        int64_t count = 1;
        for (int i = 0; i < t->rank; i++)
                count *= dim_value(t->dim[i], size);
        return count;
}

bool type_is_fixed(const Type *t)
{
        for (int i = 0; i < t->rank; i++)
                if (!dim_is_fixed(t->dim[i]))
                        return false;
        return true;
}

bool type_equal(const Type *a, const Type *b)
{
        return a->dtype == b->dtype && same_dims(a, b);
}

bool same_dims(const Type *a, const Type *b)
{
        if (a->rank != b->rank)
                return false;
        for (int i = 0; i < a->rank; i++)
                if (!dim_equal(a->dim[i], b->dim[i]))
                        return false;
        return true;
}

bool type_broadcast(const Type *a, const Type *b, Type *out)
{
        Type result = {.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
        for (int i = 0; i < result.rank; i++) { /* i counts from the innermost axis */
                Dim da = i < a->rank ? a->dim[a->rank - 1 - i] : dim_fixed(1);
                Dim db = i < b->rank ? b->dim[b->rank - 1 - i] : dim_fixed(1);
                if (!dim_equal(da, db) && !dim_is(da, 1) && !dim_is(db, 1))
                        return false;
                result.dim[result.rank - 1 - i] = dim_is(da, 1) ? db : da;
        }
        *out = result;
        return true;
}

/* Appends a term of a dim: " + 8 time", without the plus sign at the beginning. */
static const char *append_term(Arena *a, const char *text, int64_t factor, const char *name)
{
        const char *sign = factor < 0 ? (*text ? " - " : "-") : (*text ? " + " : "");
        int64_t magnitude = factor < 0 ? -factor : factor;
        if (!name)
                return arena_printf(a, "%s%s%lld", text, sign, (long long)magnitude);
        if (magnitude == 1)
                return arena_printf(a, "%s%s%s", text, sign, name);
        return arena_printf(a, "%s%s%lld %s", text, sign, (long long)magnitude, name);
}

static const char *size_name(const Graph *g, int i)
{
        if (i >= NAMED_ALONG && i < NAMED_ALONG + g->nalong)
                return g->along[i - NAMED_ALONG].name;
        return i < g->nnamed ? g->named[i].name : "?";
}

const char *dim_text(Arena *a, const Graph *g, Dim d)
{
        const char *text = "";
        for (int i = 0; i < MAX_NAMED; i++)
                if (d.per[i] != 0)
                        text = append_term(a, text, d.per[i], size_name(g, i));
        if (d.fixed != 0 || !*text)
                text = append_term(a, text, d.fixed, NULL);
        return text;
}

const char *type_text(Arena *a, const Graph *g, const Type *t)
{
        const char *text = "[";
        for (int i = 0; i < t->rank; i++)
                text = arena_printf(a, "%s%s%s", text, i ? ", " : "", dim_text(a, g, t->dim[i]));
        return arena_printf(a, "%s]", text);
}

const char *shape_text(Arena *a, int rank, const int64_t *shape)
{
        const char *text = "[";
        for (int i = 0; i < rank; i++)
                text = arena_printf(a, "%s%s%lld", text, i ? ", " : "", (long long)shape[i]);
        return arena_printf(a, "%s]", text);
}

const char *element_index_text(Arena *a, int rank, const int64_t *shape, int64_t i)
{
        int64_t index[MAX_RANK];
        for (int k = rank - 1; k >= 0; i /= shape[k], k--)
                index[k] = i % shape[k];
        return shape_text(a, rank, index);
}

const char *dtype_name(DType dtype)
{
        static const char *const name[] = {[REAL] = "real", [INT] = "int", [BOOL] = "bool"};
        return name[dtype];
}
