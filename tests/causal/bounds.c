/* Bounds and conditions of integers (passes/affine_*.c) against integers that are computed at random points.
 *
 *   bounds [TREES]
 *
 * Each tree of random ops has its cases and, at each point, its value.  In at least one case the clause holds and the value is
 * between the bounds.  Half of the trees have coefficients and divisors near the limits, so that bounds are dropped: what is kept
 * is within the limits.  Small trees without limits have the exact bounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/affine_private.h"

enum { TREES = 2000, POINTS = 24, LIVE_AXES = 3, LONGEST = 40 };
__extension__ typedef __int128 Wide;

typedef struct {
        int64_t index[AXES], size[MAX_NAMED];
} Point;

/* A value at every point, its cases, and whether each case has only this value: no limit was met on the way. */
typedef struct {
        const Cases *cases;
        Wide value[POINTS];
        bool exact;
} Tree;

typedef struct {
        Arena arena;
        Graph g;
        CaseMaker m;
        uint64_t seed;
        Point at[POINTS];
        bool large;
} Bounds;

static int64_t below(Bounds *b, int64_t n)
{
        b->seed = b->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (int64_t)(b->seed >> 16) % n;
}

static int64_t number(Bounds *b)
{
        static const int64_t most[] = {
                3, 9, 40, 1 << 20, INT64_C(1) << 39, INT64_C(1) << 40, INT64_C(1) << 41};
        const int64_t n = most[below(b, b->large ? 7 : 2)];
        return below(b, 2 * n + 1) - n;
}

static Wide dim_at(Dim d, const Point *p)
{
        Wide x = d.fixed;
        for (int i = 0; i < MAX_NAMED; i++)
                x += (Wide)d.per[i] * p->size[i];
        return x;
}

static Wide affine_at(const Affine *a, const Point *p)
{
        Wide x = dim_at(a->constant, p);
        for (int i = 0; i < AXES; i++)
                x += (Wide)a->coef[i] * p->index[i];
        return x;
}

static bool clause_holds(const Clause *c, const Point *p)
{
        for (int i = 0; i < c->n; i++)
                if (affine_at(&c->term[i], p) < 0)
                        return false;
        return true;
}

static bool cond_holds(const Cond *c, const Point *p)
{
        for (int i = 0; i < c->n; i++)
                if (clause_holds(&c->clause[i], p))
                        return true;
        return false;
}

static bool within(const AffineCase *c, Wide value, const Point *p)
{
        for (int i = 0; i < c->nlow; i++)
                if (affine_at(&c->low[i].affine, p) > value * c->low[i].den)
                        return false;
        for (int i = 0; i < c->nhigh; i++)
                if (affine_at(&c->high[i].affine, p) < value * c->high[i].den)
                        return false;
        return true;
}

static bool bounds_limited(const AffineBound *b, int n)
{
        for (int i = 0; i < n; i++)
                if (!affine_is_small(&b[i].affine) || b[i].den < 1 || b[i].den > FACTOR_LIMIT)
                        return false;
        return n <= MAX_BOUNDS;
}

static bool clause_limited(const Clause *c)
{
        for (int i = 0; i < c->n; i++)
                if (!affine_is_small(&c->term[i]))
                        return false;
        return c->n <= MAX_TERMS;
}

static bool is_limited(const Cases *c)
{
        for (int i = 0; c && i < c->n; i++)
                if (!clause_limited(&c->at[i].when) || !bounds_limited(c->at[i].low, c->at[i].nlow) ||
                    !bounds_limited(c->at[i].high, c->at[i].nhigh))
                        return false;
        return !c || c->n <= MAX_CASES;
}

static bool is_sound(const Bounds *b, const Tree *t)
{
        const Cases *c = t->cases;
        if (!c)
                return !t->exact;
        if (!is_limited(c))
                return false;
        for (int k = 0; k < POINTS; k++) {
                bool found = false;
                for (int i = 0; i < c->n; i++) {
                        if (!clause_holds(&c->at[i].when, &b->at[k]))
                                continue;
                        found |= within(&c->at[i], t->value[k], &b->at[k]);
                        if (t->exact && (within(&c->at[i], t->value[k] + 1, &b->at[k]) ||
                                         within(&c->at[i], t->value[k] - 1, &b->at[k])))
                                return false;
                }
                if (!found)
                        return false;
        }
        return true;
}

static Tree leaf(Bounds *b)
{
        Tree t = {.exact = !b->large};
        if (below(b, 4) == 0) {
                int64_t low = number(b),
                        high = low + below(b, 5) + (b->large ? below(b, 2) * below(b, INT64_C(1) << 41) : 0);
                t.cases = cases_range(b->m, low, high);
                t.exact = t.exact && low == high;
                for (int k = 0; k < POINTS; k++)
                        t.value[k] = low + below(b, high - low + 1);
                return t;
        }
        Affine a = affine_constant(dim_fixed(number(b)));
        for (int i = 0; i < LIVE_AXES; i++)
                a.coef[i] = below(b, 2) ? number(b) : 0;
        a.constant.per[0] = below(b, 3) ? 0 : number(b);
        t.cases = cases_exact(b->m, a);
        for (int k = 0; k < POINTS; k++)
                t.value[k] = affine_at(&a, &b->at[k]);
        return t;
}

static Wide floor_of(Wide x, int64_t by)
{
        return x / by - (x % by < 0);
}

/* Whether all pairs of their cases are kept. */
static bool are_few(const Tree *x, const Tree *y)
{
        return x->exact && y->exact && x->cases->n * y->cases->n < 3;
}

static Tree tree(Bounds *b, int depth)
{
        if (depth == 0 || below(b, 5) == 0)
                return leaf(b);
        Tree x = tree(b, depth - 1), y = tree(b, depth - 1), t = {.exact = false};
        const int64_t by = number(b);
        switch (below(b, 6)) {
        case 0:
                t.cases = cases_add(b->m, x.cases, y.cases);
                t.exact = are_few(&x, &y);
                for (int k = 0; k < POINTS; k++)
                        t.value[k] = x.value[k] + y.value[k];
                return t;
        case 1:
                for (int k = 0; k < POINTS; k++)
                        if (x.value[k] >> 60 != 0 && x.value[k] >> 60 != -1)
                                return x;
                t.cases = cases_scale(b->m, x.cases, by);
                t.exact = x.exact;
                for (int k = 0; k < POINTS; k++)
                        t.value[k] = x.value[k] * by;
                return t;
        case 2:
                if (by < 1)
                        return x;
                t.cases = cases_floordiv(b->m, x.cases, by);
                for (int k = 0; k < POINTS; k++)
                        t.value[k] = floor_of(x.value[k], by);
                return t;
        case 3: {
                const Cond *less = cases_at_most(b->m, x.cases, y.cases, 0),
                           *more = cases_at_most(b->m, y.cases, x.cases, -1);
                t.cases = cases_choose(b->m, less, x.cases, more, y.cases);
                t.exact = are_few(&x, &y);
                for (int k = 0; k < POINTS; k++) /* where(x <= y, x, y) */
                        t.value[k] = x.value[k] <= y.value[k] ? x.value[k] : y.value[k];
                return t;
        }
        default:
                t.cases = cases_max(b->m, x.cases, y.cases);
                t.exact = are_few(&x, &y);
                for (int k = 0; k < POINTS; k++)
                        t.value[k] = x.value[k] > y.value[k] ? x.value[k] : y.value[k];
                return t;
        }
}

/* x <= y + slack holds only where the condition does; where no limit is met, the condition holds only then. */
static bool check_at_most(const Bounds *b, const Tree *x, const Tree *y)
{
        for (int slack = -1; slack < 1; slack++) {
                const Cond *c = cases_at_most(b->m, x->cases, y->cases, slack);
                for (int i = 0; i < c->n; i++)
                        if (!clause_limited(&c->clause[i]))
                                return false;
                for (int k = 0; k < POINTS; k++) {
                        const bool may = x->value[k] <= y->value[k] + slack, says = cond_holds(c, &b->at[k]);
                        if (says != may && (!says || are_few(x, y)))
                                return false;
                }
        }
        return true;
}

/* The axes renamed: each index is another one plus a number in 0 .. high. */
static bool check_map(Bounds *b, const Tree *x)
{
        AxisMap map[AXES];
        Bounds moved = *b;
        Tree t = *x;
        for (int i = 0; i < AXES; i++) {
                map[i] = axis_map(i < LIVE_AXES ? affine_axis((i + 1) % LIVE_AXES) : affine_axis(i));
                map[i].high = i < LIVE_AXES ? below(b, 3) : 0;
                map[i].open = i < LIVE_AXES && below(b, 8) == 0;
                t.exact = t.exact && map[i].high == 0 && !map[i].open;
        }
        for (int k = 0; k < POINTS; k++) /* the points of the result from which those of x come */
                for (int i = 0; i < LIVE_AXES; i++) {
                        const int64_t from = b->at[k].index[i],
                                      most = map[i].open || map[i].high > from ? from : map[i].high;
                        moved.at[k].index[(i + 1) % LIVE_AXES] = from - below(b, most + 1);
                }
        t.cases = cases_map(b->m, x->cases, map);
        t.exact = t.exact && t.cases;
        return !t.cases || is_sound(&moved, &t);
}

static bool check_within(const Bounds *b, const Tree *t)
{
        Type type = {.dtype = INT, .rank = LIVE_AXES};
        for (int i = 0; i < LIVE_AXES; i++)
                type.dim[i] = dim_named(0);
        for (int64_t most = 1; most < INT64_C(1) << 50; most *= 4) {
                if (!t->cases || !cases_within(&b->g, t->cases, &type, most))
                        continue;
                for (int k = 0; k < POINTS; k++)
                        if (t->value[k] > most || t->value[k] < -most)
                                return false;
        }
        return true;
}

static bool check_equal(const Tree *x, const Tree *y)
{
        int64_t c;
        if (!cases_equal(x->cases, x->cases))
                return false;
        if (x->cases && x->cases->n > 1) {
                Cases fewer = *x->cases;
                fewer.n--;
                if (cases_equal(&fewer, x->cases) || cases_equal(x->cases, &fewer))
                        return false;
        }
        bool same = cases_equal(x->cases, y->cases);
        for (int k = 0; k < POINTS && same && x->exact && y->exact; k++)
                same = x->value[k] == y->value[k];
        if (same != cases_equal(x->cases, y->cases))
                return false;
        if (cases_constant(x->cases, &c))
                for (int k = 0; k < POINTS; k++)
                        if (x->value[k] != c)
                                return false;
        return true;
}

/* What a clause says of one index. */
static bool check_clause(Bounds *b, bool *by_axis, bool *by_number)
{
        ClauseDraft d = {.n = 0};
        Dim dim[AXES], offset;
        const int j = (int)below(b, LIVE_AXES), axis = (int)below(b, LIVE_AXES + 1) - 1;
        for (int i = 0; i < AXES; i++)
                dim[i] = i >= LIVE_AXES ? dim_fixed(1) : below(b, 3) ? dim_named(0) : dim_named(1);
        if (below(b, 2))
                dim[below(b, LIVE_AXES)] = dim_fixed(2 + below(b, 4));
        for (int64_t n = 1 + below(b, 3); n > 0; n--) {
                Affine a = affine_constant(dim_fixed(below(b, 21) - 10));
                for (int i = 0; i < LIVE_AXES; i++)
                        a.coef[i] = below(b, 2) ? below(b, 7) - 3 : 0;
                a.constant.per[0] = below(b, 4) ? 0 : below(b, 3) - 1;
                if (!draft_add(&b->g, &d, &a))
                        return true;
        }
        const Clause c = draft_keep(b->m, &d);
        const Above above = clause_above(&b->g, &c, dim, 0, j);
        const bool has_below = axis != j && clause_below(&b->g, &c, dim, j, axis, &offset);
        *by_axis |= above.axis >= 0 && has_below;
        *by_number |= above.by_number;
        if (above.axis >= 0 && !dim_equal(dim[above.axis], dim_named(0)))
                return false;
        for (int k = 0; k < 40 * POINTS; k++) {
                Point p = {.size = {1 + below(b, LONGEST), 1 + below(b, LONGEST)}};
                for (int i = 0; i < LIVE_AXES; i++)
                        p.index[i] = below(b, (int64_t)dim_at(dim[i], &p));
                if (!clause_holds(&c, &p))
                        continue;
                if ((above.by_number && p.index[j] > dim_at(above.number, &p)) ||
                    (above.axis >= 0 && p.index[j] > p.index[above.axis] + dim_at(above.offset, &p)) ||
                    (has_below && p.index[j] < p.index[axis] + dim_at(offset, &p)))
                        return false;
        }
        return true;
}

/* Divisors near the limit, cases that can't be, and clauses of one term. */
static bool check_limits(Bounds *b)
{
        const Cases *x = cases_exact(b->m, affine_axis(0)), *y = cases_exact(b->m, affine_axis(1)),
                    *xs = cases_floordiv(b->m, x, 1 << 20), *ys = cases_floordiv(b->m, y, 1 << 20);
        if (!xs || !is_limited(cases_add(b->m, xs, ys)) || !is_limited(cases_floordiv(b->m, xs, 5)) ||
            !is_limited(cases_floordiv(b->m, x, 1 << 22)))
                return false;
        if (cases_choose(b->m, cond_true(), NULL, cond_true(), x) ||
            cases_choose(b->m, cond_true(), x, cond_true(), NULL) ||
            !cases_equal(cases_choose(b->m, cond_false(), NULL, cond_true(), x), x) ||
            !cases_equal(cases_choose(b->m, cond_true(), x, cond_false(), NULL), x) ||
            cases_max(b->m, x, NULL))
                return false;
        int64_t number;
        if (cases_constant(xs, &number) || cases_constant(x, &number) ||
            cases_constant(cases_range(b->m, 1, 2), &number) ||
            cases_constant(cases_floordiv(b->m, cases_range(b->m, 0, 0), 2), &number) ||
            !cases_constant(cases_range(b->m, 7, 7), &number) || number != 7)
                return false;
        const Dim dim[AXES] = {dim_named(0), dim_named(0), dim_named(0)};
        Affine term = affine_axis(1);
        term.coef[0] = -1;
        term.constant.fixed = 3;
        const Clause c = {1, &term}; /* index 0 <= index 1 + 3, index 1 >= index 0 - 3 */
        const Above above = clause_above(&b->g, &c, dim, 0, 0);
        Dim offset;
        return above.axis == 1 && dim_is(above.offset, 3) && !above.by_number &&
               clause_below(&b->g, &c, dim, 1, 0, &offset) && dim_is(offset, -3) &&
               !clause_below(&b->g, &c, dim, 1, 2, &offset) && !clause_below(&b->g, &c, dim, 1, -1, &offset);
}

int main(int argc, char **argv)
{
        const int trees = argc > 1 ? atoi(argv[1]) : TREES;
        static Bounds b;
        int exact = 0, known = 0;
        bool ok = true, by_axis = false, by_number = false;
        b.g = (Graph){.arena = &b.arena,
                      .nnamed = 2,
                      .named = {{.name = "n", .bound = LONGEST}, {.name = "m", .bound = LONGEST}}};
        b.m = (CaseMaker){&b.arena, &b.g};
        if (!check_limits(&b)) {
                printf("FAIL bounds of integers: near the limits\n");
                ok = false;
        }
        for (int i = 0; i < trees && ok; i++) {
                b.seed = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
                b.large = i % 2;
                for (int k = 0; k < POINTS; k++) {
                        b.at[k].size[0] = b.at[k].size[1] = 1 + below(&b, LONGEST);
                        for (int a = 0; a < LIVE_AXES; a++)
                                b.at[k].index[a] = below(&b, b.at[k].size[0]);
                }
                Tree x = tree(&b, 1 + i % 4), y = tree(&b, i % 3);
                ok = is_sound(&b, &x) && is_sound(&b, &y) && check_at_most(&b, &x, &y) && check_map(&b, &x) &&
                     check_within(&b, &x) && check_equal(&x, &y) && check_clause(&b, &by_axis, &by_number);
                exact += x.exact;
                known += x.cases != NULL;
                if (!ok)
                        printf("FAIL bounds of integers: tree %d\n", i);
                arena_free(&b.arena);
                b.arena = (Arena){0};
        }
        if (ok && by_axis && by_number)
                printf("ok bounds of integers: %d trees, %d with bounds, %d of them exact\n", trees, known,
                       exact);
        return !(ok && by_axis && by_number);
}
