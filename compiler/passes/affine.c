/* Affine facts: arithmetic on bounds and on ORs of ANDs of `affine >= 0`.  See affine_private.h for what they mean.
 *
 * Coefficients stay below LIMIT; an operation that would leave it drops the term or the bound instead, which only
 * weakens what is known. */
#include "affine_private.h"

#include <string.h>

static const int64_t LIMIT = INT64_C(1) << 40;
static const Clause NO_TERMS = {0, NULL};
static const Cond TRUE_COND = {1, &NO_TERMS}, FALSE_COND = {0, NULL};

/* --- affine forms --- */

Affine affine_constant(Dim constant)
{
        Affine a = {.constant = constant};
        return a;
}

Affine affine_axis(int axis)
{
        Affine a = {.constant = {0}};
        a.coef[axis] = 1;
        return a;
}

AxisMap axis_map(Affine to)
{
        return (AxisMap){.to = to};
}

bool coefficient_is_small(int64_t a)
{
        return a <= LIMIT && a >= -LIMIT;
}

bool affine_is_small(const Affine *a)
{
        for (int i = 0; i < AXES; i++)
                if (!coefficient_is_small(a->coef[i]))
                        return false;
        for (int i = 0; i < MAX_NAMED; i++)
                if (!coefficient_is_small(a->constant.per[i]))
                        return false;
        return coefficient_is_small(a->constant.fixed);
}

bool affine_add(const Affine *a, int64_t by, const Affine *b, Affine *sum)
{
        if (by > FACTOR_LIMIT || by < -FACTOR_LIMIT)
                return false;
        Affine result;
        result.constant = dim_add(a->constant, dim_scale(b->constant, by));
        for (int i = 0; i < AXES; i++)
                result.coef[i] = a->coef[i] + by * b->coef[i];
        *sum = result;
        return affine_is_small(&result);
}

bool affine_equal(const Affine *a, const Affine *b)
{
        return dim_equal(a->constant, b->constant) && memcmp(a->coef, b->coef, sizeof a->coef) == 0;
}

bool affine_is_constant(const Affine *a)
{
        for (int i = 0; i < AXES; i++)
                if (a->coef[i] != 0)
                        return false;
        return true;
}

/* The largest affine form that a becomes when its axes are renamed; false: no bound. */
bool affine_map(const Affine *a, const AxisMap *map, Affine *out)
{
        Affine result = affine_constant(a->constant);
        for (int i = 0; i < AXES; i++) {
                int64_t coef = a->coef[i];
                if (coef == 0)
                        continue;
                if (coef > 0 && map[i].open)
                        return false;
                if (!affine_add(&result, coef, &map[i].to, &result))
                        return false;
                int64_t extra = coef > 0 ? map[i].high : 0;
                if (!coefficient_is_small(extra))
                        return false;
                result.constant.fixed += coef * extra;
                if (!affine_is_small(&result))
                        return false;
        }
        *out = result;
        return true;
}

/* --- clauses --- */

/* Whether two terms cannot hold together: their sum is a negative constant. */
static bool contradict(const Graph *g, const Affine *a, const Affine *b)
{
        Affine sum;
        return affine_add(a, 1, b, &sum) && affine_is_constant(&sum) && dim_bound(g, sum.constant) < 0;
}

/* Whether a >= 0 for all indices, which are at least 0. */
static bool always_holds(const Graph *g, const Affine *a)
{
        for (int i = 0; i < AXES; i++)
                if (a->coef[i] < 0)
                        return false;
        return dim_least(g, a->constant) >= 0;
}

/* Adds a term to a draft of a clause; false: the clause can never hold. */
bool draft_add(const Graph *g, ClauseDraft *d, const Affine *a)
{
        if (affine_is_constant(a) && dim_bound(g, a->constant) < 0)
                return false;
        if (always_holds(g, a))
                return true;
        for (int i = 0; i < d->n; i++) {
                if (affine_equal(&d->term[i], a))
                        return true;
                if (contradict(g, &d->term[i], a))
                        return false;
        }
        if (d->n < MAX_TERMS)
                d->term[d->n++] = *a;
        return true;
}

ClauseDraft draft_of(const Clause *c)
{
        ClauseDraft d = {.n = c->n};
        if (c->n > 0)
                memcpy(d.term, c->term, (size_t)c->n * sizeof *d.term);
        return d;
}

bool draft_add_clause(const Graph *g, ClauseDraft *d, const Clause *c)
{
        for (int i = 0; i < c->n; i++)
                if (!draft_add(g, d, &c->term[i]))
                        return false;
        return true;
}

Clause draft_keep(CaseMaker m, const ClauseDraft *d)
{
        if (d->n == 0)
                return NO_TERMS;
        Affine *term = NEW_ARRAY(m.arena, Affine, d->n);
        memcpy(term, d->term, (size_t)d->n * sizeof *term);
        return (Clause){d->n, term};
}

bool clause_equal(const Clause *a, const Clause *b)
{
        if (a->n != b->n)
                return false;
        for (int i = 0; i < a->n; i++)
                if (!affine_equal(&a->term[i], &b->term[i]))
                        return false;
        return true;
}

/* --- conditions --- */

const Cond *cond_true(void)
{
        return &TRUE_COND;
}

const Cond *cond_false(void)
{
        return &FALSE_COND;
}

bool cond_is_true(const Cond *c)
{
        return c->n > 0 && c->clause[0].n == 0;
}

bool cond_is_false(const Cond *c)
{
        return c->n == 0;
}

bool cond_equal(const Cond *a, const Cond *b)
{
        if (a->n != b->n)
                return false;
        for (int i = 0; i < a->n; i++)
                if (!clause_equal(&a->clause[i], &b->clause[i]))
                        return false;
        return true;
}

/* Whether a >= 0 implies b >= 0, as it does if b is a plus a number that is not negative. */
static bool term_implies(const Affine *a, const Affine *b)
{
        Affine more;
        return affine_add(b, -1, a, &more) && affine_is_constant(&more) && dim_is_fixed(more.constant) &&
               more.constant.fixed >= 0;
}

static bool clause_implies(const Clause *a, const Clause *b)
{
        for (int j = 0; j < b->n; j++) {
                bool implied = false;
                for (int i = 0; i < a->n && !implied; i++)
                        implied = term_implies(&a->term[i], &b->term[j]);
                if (!implied)
                        return false;
        }
        return true;
}

/* Keeps the weakest clauses only: col <= row - 2, or col <= row - 1, is the latter. */
void union_add(Union *u, Clause c)
{
        int n = 0;
        for (int i = 0; i < u->n; i++)
                if (clause_implies(&c, &u->clause[i]))
                        return;
        for (int i = 0; i < u->n; i++)
                if (!clause_implies(&u->clause[i], &c))
                        u->clause[n++] = u->clause[i];
        u->n = n;
        if (c.n == 0 || u->n == MAX_CLAUSES)
                u->full = true;
        else
                u->clause[u->n++] = c;
}

/* Whether one of two terms always holds.  Integers: a <= -1 and b <= -1 imply a + b <= -2. */
static bool is_either_way(const Graph *g, const Affine *a, const Affine *b)
{
        Affine sum;
        return affine_add(a, 1, b, &sum) && affine_is_constant(&sum) && dim_least(g, sum.constant) >= -1;
}

static bool says_nothing(const Graph *g, const Union *u)
{
        for (int i = 0; i < u->n; i++)
                for (int j = 0; j < i; j++)
                        if (u->clause[i].n == 1 && u->clause[j].n == 1 &&
                            is_either_way(g, u->clause[i].term, u->clause[j].term))
                                return true;
        return u->full;
}

const Cond *union_keep(CaseMaker m, const Union *u)
{
        if (says_nothing(m.graph, u))
                return &TRUE_COND;
        if (u->n == 0)
                return &FALSE_COND;
        Cond *c = NEW(m.arena, Cond);
        Clause *clause = NEW_ARRAY(m.arena, Clause, u->n);
        memcpy(clause, u->clause, (size_t)u->n * sizeof *clause);
        *c = (Cond){u->n, clause};
        return c;
}

const Cond *cond_term(CaseMaker m, Affine a)
{
        ClauseDraft d = {.n = 0};
        Union u = {.n = 0};
        draft_add(m.graph, &d, &a);
        union_add(&u, draft_keep(m, &d));
        return union_keep(m, &u);
}

const Cond *cond_and(CaseMaker m, const Cond *a, const Cond *b)
{
        if (cond_is_true(a) || cond_is_false(b))
                return b;
        if (cond_is_true(b) || cond_is_false(a))
                return a;
        Union u = {.n = 0};
        for (int i = 0; i < a->n; i++) {
                for (int j = 0; j < b->n; j++) {
                        ClauseDraft d = draft_of(&a->clause[i]);
                        if (draft_add_clause(m.graph, &d, &b->clause[j]))
                                union_add(&u, draft_keep(m, &d));
                }
        }
        return u.full ? a : union_keep(m, &u); /* too many: either side is a necessary condition */
}

const Cond *cond_or(CaseMaker m, const Cond *a, const Cond *b)
{
        if (cond_is_true(a) || cond_is_false(b))
                return a;
        if (cond_is_true(b) || cond_is_false(a))
                return b;
        Union u = {.n = 0};
        for (int i = 0; i < a->n; i++)
                union_add(&u, a->clause[i]);
        for (int i = 0; i < b->n; i++)
                union_add(&u, b->clause[i]);
        return union_keep(m, &u);
}

bool draft_map(CaseMaker m, const Clause *c, const AxisMap *map, ClauseDraft *d)
{
        *d = (ClauseDraft){.n = 0};
        for (int i = 0; i < c->n; i++) {
                Affine a;
                if (affine_map(&c->term[i], map, &a) && !draft_add(m.graph, d, &a))
                        return false;
        }
        return true;
}

const Cond *cond_map(CaseMaker m, const Cond *c, const AxisMap *map)
{
        if (cond_is_true(c) || cond_is_false(c))
                return c;
        Union u = {.n = 0};
        for (int i = 0; i < c->n; i++) {
                ClauseDraft d;
                if (draft_map(m, &c->clause[i], map, &d))
                        union_add(&u, draft_keep(m, &d));
        }
        return union_keep(m, &u);
}

/* p a + q b, without `axis`: a bounds the axis from below, b from above. */
static bool combine_bounds(const Affine *a, const Affine *b, int axis, Affine *out)
{
        Affine zero = affine_constant(dim_fixed(0));
        return affine_add(&zero, -b->coef[axis], a, out) && affine_add(out, a->coef[axis], b, out);
}

static bool affine_clause(CaseMaker m, const Clause *c, int axis, const AxisMap *map, ClauseDraft *d)
{
        if (!draft_map(m, c, map, d))
                return false;
        for (int i = 0; i < c->n; i++) {
                for (int j = 0; j < c->n; j++) {
                        Affine a;
                        if (c->term[i].coef[axis] > 0 && c->term[j].coef[axis] < 0 &&
                            combine_bounds(&c->term[i], &c->term[j], axis, &a) && !draft_add(m.graph, d, &a))
                                return false;
                }
        }
        return true;
}

const Cond *cond_fold(CaseMaker m, const Cond *c, int axis, AxisMap range)
{
        AxisMap map[AXES];
        for (int i = 0; i < AXES; i++)
                map[i] = i == axis ? range : axis_map(affine_axis(i));
        Union u = {.n = 0};
        for (int i = 0; i < c->n; i++) {
                ClauseDraft d;
                if (affine_clause(m, &c->clause[i], axis, map, &d))
                        union_add(&u, draft_keep(m, &d));
        }
        return union_keep(m, &u);
}
