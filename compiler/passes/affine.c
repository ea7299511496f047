/* Affine facts: arithmetic on bounds and on ORs of ANDs of `affine >= 0`.  See affine.h for what they mean.
 *
 * Coefficients stay below LIMIT; an operation that would leave it drops the term or the bound instead, which only
 * weakens what is known. */
#include "affine_private.h"

#include <string.h>

static const int64_t LIMIT = INT64_C(1) << 40, FACTOR_LIMIT = INT64_C(1) << 21;
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

static bool is_small(int64_t a)
{
        return a <= LIMIT && a >= -LIMIT;
}

static bool affine_is_small(const Affine *a)
{
        for (int i = 0; i < AXES; i++)
                if (!is_small(a->coef[i]))
                        return false;
        for (int i = 0; i < MAX_NAMED; i++)
                if (!is_small(a->constant.per[i]))
                        return false;
        return is_small(a->constant.fixed);
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

static bool affine_equal(const Affine *a, const Affine *b)
{
        return dim_equal(a->constant, b->constant) && memcmp(a->coef, b->coef, sizeof a->coef) == 0;
}

static bool is_constant(const Affine *a)
{
        for (int i = 0; i < AXES; i++)
                if (a->coef[i] != 0)
                        return false;
        return true;
}

/* The largest affine form that a becomes when its axes are renamed; false: no bound. */
static bool affine_map(const Affine *a, const AxisMap *map, Affine *out)
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
                int64_t extra = coef > 0 ? map[i].high : map[i].low;
                if (!is_small(extra))
                        return false;
                result.constant.fixed += coef * extra;
                if (!affine_is_small(&result))
                        return false;
        }
        *out = result;
        return true;
}

/* --- clauses --- */

typedef struct {
        int n;
        Affine term[MAX_TERMS];
} Draft;

/* Whether two terms cannot hold together: their sum is a negative constant. */
static bool contradict(const Graph *g, const Affine *a, const Affine *b)
{
        Affine sum;
        return affine_add(a, 1, b, &sum) && is_constant(&sum) && dim_bound(g, sum.constant) < 0;
}

/* Whether a >= 0 wherever: indices are at least 0. */
static bool always_holds(const Graph *g, const Affine *a)
{
        for (int i = 0; i < AXES; i++)
                if (a->coef[i] < 0)
                        return false;
        return dim_least(g, a->constant) >= 0;
}

/* Adds a term to a clause in the making; false: the clause can never hold. */
static bool add_term(const Graph *g, Draft *d, const Affine *a)
{
        if (is_constant(a) && dim_bound(g, a->constant) < 0)
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

static bool add_terms(const Graph *g, Draft *d, const Clause *c)
{
        for (int i = 0; i < c->n; i++)
                if (!add_term(g, d, &c->term[i]))
                        return false;
        return true;
}

static Clause keep_clause(Maker m, const Draft *d)
{
        if (d->n == 0)
                return NO_TERMS;
        Affine *term = NEW_ARRAY(m.arena, Affine, d->n);
        memcpy(term, d->term, (size_t)d->n * sizeof *term);
        return (Clause){d->n, term};
}

static bool clause_equal(const Clause *a, const Clause *b)
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

/* An OR in the making: `full` once it is weakened to true. */
typedef struct {
        int n;
        bool full;
        Clause clause[MAX_CLAUSES];
} Union;

static void add_clause(Union *u, Clause c)
{
        if (c.n == 0 || u->n == MAX_CLAUSES) {
                u->full = true;
                return;
        }
        for (int i = 0; i < u->n; i++)
                if (clause_equal(&u->clause[i], &c))
                        return;
        u->clause[u->n++] = c;
}

/* Whether one of two terms always holds: whole numbers, so that a <= -1 and b <= -1 need a + b <= -2. */
static bool is_either_way(const Graph *g, const Affine *a, const Affine *b)
{
        Affine sum;
        return affine_add(a, 1, b, &sum) && is_constant(&sum) && dim_least(g, sum.constant) >= -1;
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

static const Cond *keep_union(Maker m, const Union *u)
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

const Cond *cond_term(Maker m, Affine a)
{
        Draft d = {.n = 0};
        Union u = {.n = 0};
        if (add_term(m.graph, &d, &a))
                add_clause(&u, keep_clause(m, &d));
        return keep_union(m, &u);
}

const Cond *cond_and(Maker m, const Cond *a, const Cond *b)
{
        if (cond_is_true(a) || cond_is_false(b))
                return b;
        if (cond_is_true(b) || cond_is_false(a))
                return a;
        Union u = {.n = 0};
        for (int i = 0; i < a->n; i++) {
                for (int j = 0; j < b->n; j++) {
                        Draft d = {.n = 0};
                        if (add_terms(m.graph, &d, &a->clause[i]) && add_terms(m.graph, &d, &b->clause[j]))
                                add_clause(&u, keep_clause(m, &d));
                }
        }
        return u.full ? a : keep_union(m, &u); /* too many: either side is a necessary condition */
}

const Cond *cond_or(Maker m, const Cond *a, const Cond *b)
{
        if (cond_is_true(a) || cond_is_false(b))
                return a;
        if (cond_is_true(b) || cond_is_false(a))
                return b;
        Union u = {.n = 0};
        for (int i = 0; i < a->n; i++)
                add_clause(&u, a->clause[i]);
        for (int i = 0; i < b->n; i++)
                add_clause(&u, b->clause[i]);
        return keep_union(m, &u);
}

static bool map_clause(Maker m, const Clause *c, const AxisMap *map, Draft *d)
{
        *d = (Draft){.n = 0};
        for (int i = 0; i < c->n; i++) {
                Affine a;
                if (affine_map(&c->term[i], map, &a) && !add_term(m.graph, d, &a))
                        return false;
        }
        return true;
}

const Cond *cond_map(Maker m, const Cond *c, const AxisMap *map)
{
        if (cond_is_true(c) || cond_is_false(c))
                return c;
        Union u = {.n = 0};
        for (int i = 0; i < c->n; i++) {
                Draft d;
                if (map_clause(m, &c->clause[i], map, &d))
                        add_clause(&u, keep_clause(m, &d));
        }
        return keep_union(m, &u);
}

/* p a + q b, which has no more of `axis`: a bounds it from below, b from above. */
static bool combine_bounds(const Affine *a, const Affine *b, int axis, Affine *out)
{
        Affine zero = affine_constant(dim_fixed(0));
        return affine_add(&zero, -b->coef[axis], a, out) && affine_add(out, a->coef[axis], b, out);
}

static bool fold_clause(Maker m, const Clause *c, int axis, const AxisMap *map, Draft *d)
{
        if (!map_clause(m, c, map, d))
                return false;
        for (int i = 0; i < c->n; i++) {
                for (int j = 0; j < c->n; j++) {
                        Affine a;
                        if (c->term[i].coef[axis] > 0 && c->term[j].coef[axis] < 0 &&
                            combine_bounds(&c->term[i], &c->term[j], axis, &a) && !add_term(m.graph, d, &a))
                                return false;
                }
        }
        return true;
}

const Cond *cond_fold(Maker m, const Cond *c, int axis, AxisMap range)
{
        AxisMap map[AXES];
        for (int i = 0; i < AXES; i++)
                map[i] = i == axis ? range : axis_map(affine_axis(i));
        Union u = {.n = 0};
        for (int i = 0; i < c->n; i++) {
                Draft d;
                if (fold_clause(m, &c->clause[i], axis, map, &d))
                        add_clause(&u, keep_clause(m, &d));
        }
        return keep_union(m, &u);
}

static bool clause_possible(const Graph *g, const Clause *c, const int64_t *low, const int64_t *high)
{
        for (int i = 0; i < c->n; i++) {
                double most = (double)dim_bound(g, c->term[i].constant);
                for (int axis = 0; axis < AXES; axis++) {
                        int64_t coef = c->term[i].coef[axis];
                        if (coef != 0)
                                most += (double)coef * (double)(coef > 0 ? high[axis] : low[axis]);
                }
                if (most < 0)
                        return false;
        }
        return true;
}

bool cond_possible(const Graph *g, const Cond *c, const int64_t *low, const int64_t *high)
{
        for (int i = 0; i < c->n; i++)
                if (clause_possible(g, &c->clause[i], low, high))
                        return true;
        return false;
}

/* --- bounds --- */

static bool bound_equal(const Bound *a, const Bound *b)
{
        return a->den == b->den && affine_equal(&a->affine, &b->affine);
}

static void add_bound(Bound *list, int *n, Bound b)
{
        for (int i = 0; i < *n; i++)
                if (bound_equal(&list[i], &b))
                        return;
        if (*n < MAX_BOUNDS)
                list[(*n)++] = b;
}

/* a + b, by >= 0 */
static bool bound_add(const Bound *a, const Bound *b, Bound *sum)
{
        Affine left, zero = {.constant = {0}};
        if (a->den > FACTOR_LIMIT / b->den || !affine_add(&zero, b->den, &a->affine, &left))
                return false;
        sum->den = a->den * b->den;
        return affine_add(&left, a->den, &b->affine, &sum->affine);
}

/* high - low + slack >= 0, where a value is at least `low` and that value, less slack, at most `high` */
static bool gap(const Bound *high, const Bound *low, int64_t slack, Affine *out)
{
        Affine left, zero = {.constant = {0}};
        if (high->den > FACTOR_LIMIT / low->den || !affine_add(&zero, low->den, &high->affine, &left) ||
            !affine_add(&left, -high->den, &low->affine, &left) || !is_small(slack))
                return false;
        left.constant.fixed += slack * high->den * low->den;
        *out = left;
        return affine_is_small(out);
}

/* --- cases --- */

static Cases *cases_new(Maker m, int n)
{
        Cases *c = NEW(m.arena, Cases);
        c->n = n;
        c->at = NEW_ARRAY(m.arena, Case, n);
        return c;
}

const Cases *cases_exact(Maker m, Affine value)
{
        if (!affine_is_small(&value))
                return NULL;
        Cases *c = cases_new(m, 1);
        c->at[0] = (Case){.nlow = 1, .nhigh = 1, .low = {{value, 1}}, .high = {{value, 1}}};
        return c;
}

const Cases *cases_range(Maker m, int64_t low, int64_t high)
{
        if (!is_small(low) || !is_small(high))
                return NULL;
        Cases *c = cases_new(m, 1);
        c->at[0] = (Case){.nlow = 1, .nhigh = 1};
        c->at[0].low[0] = (Bound){affine_constant(dim_fixed(low)), 1};
        c->at[0].high[0] = (Bound){affine_constant(dim_fixed(high)), 1};
        return c;
}

static bool case_equal(const Case *a, const Case *b)
{
        if (a->nlow != b->nlow || a->nhigh != b->nhigh || !clause_equal(&a->when, &b->when))
                return false;
        for (int i = 0; i < a->nlow; i++)
                if (!bound_equal(&a->low[i], &b->low[i]))
                        return false;
        for (int i = 0; i < a->nhigh; i++)
                if (!bound_equal(&a->high[i], &b->high[i]))
                        return false;
        return true;
}

bool cases_equal(const Cases *a, const Cases *b)
{
        if (!a || !b || a->n != b->n)
                return a == b;
        for (int i = 0; i < a->n; i++)
                if (!case_equal(&a->at[i], &b->at[i]))
                        return false;
        return true;
}

/* A list of cases in the making; `full`: too many, so nothing is known. */
typedef struct {
        int n;
        bool full;
        Case at[MAX_CASES];
} CaseList;

static void add_case(CaseList *list, const Case *c)
{
        for (int i = 0; i < list->n; i++)
                if (case_equal(&list->at[i], c))
                        return;
        if (list->n == MAX_CASES)
                list->full = true;
        else
                list->at[list->n++] = *c;
}

static const Cases *keep_cases(Maker m, const CaseList *list)
{
        if (list->full || list->n == 0)
                return NULL;
        Cases *c = cases_new(m, list->n);
        memcpy(c->at, list->at, (size_t)list->n * sizeof *c->at);
        return c;
}

static void add_sums(const Bound *a, int na, const Bound *b, int nb, Bound *list, int *n)
{
        for (int i = 0; i < na; i++) {
                for (int j = 0; j < nb; j++) {
                        Bound sum;
                        if (bound_add(&a[i], &b[j], &sum))
                                add_bound(list, n, sum);
                }
        }
}

const Cases *cases_add(Maker m, const Cases *a, const Cases *b)
{
        CaseList list = {.n = 0};
        for (int i = 0; a && b && i < a->n; i++) {
                for (int j = 0; j < b->n; j++) {
                        const Case *p = &a->at[i], *q = &b->at[j];
                        Draft d = {.n = 0};
                        if (!add_terms(m.graph, &d, &p->when) || !add_terms(m.graph, &d, &q->when))
                                continue;
                        Case sum = {.when = keep_clause(m, &d)};
                        add_sums(p->low, p->nlow, q->low, q->nlow, sum.low, &sum.nlow);
                        add_sums(p->high, p->nhigh, q->high, q->nhigh, sum.high, &sum.nhigh);
                        add_case(&list, &sum);
                }
        }
        return keep_cases(m, &list);
}

static void scale_bounds(const Bound *from, int n, int64_t by, Bound *to, int *nto)
{
        Affine zero = {.constant = {0}};
        for (int i = 0; i < n; i++) {
                Bound b = {.den = from[i].den};
                if (affine_add(&zero, by, &from[i].affine, &b.affine))
                        add_bound(to, nto, b);
        }
}

const Cases *cases_scale(Maker m, const Cases *a, int64_t by)
{
        CaseList list = {.n = 0};
        for (int i = 0; a && i < a->n; i++) {
                const Case *p = &a->at[i];
                Case c = {.when = p->when};
                scale_bounds(by >= 0 ? p->low : p->high, by >= 0 ? p->nlow : p->nhigh, by, c.low, &c.nlow);
                scale_bounds(by >= 0 ? p->high : p->low, by >= 0 ? p->nhigh : p->nlow, by, c.high, &c.nhigh);
                add_case(&list, &c);
        }
        return keep_cases(m, &list);
}

/* v / by - (by - 1) / by <= floor(v / by) <= v / by, for an integer v */
const Cases *cases_floordiv(Maker m, const Cases *a, int64_t by)
{
        CaseList list = {.n = 0};
        if (by > FACTOR_LIMIT)
                return NULL;
        for (int i = 0; a && i < a->n; i++) {
                const Case *p = &a->at[i];
                Case c = {.when = p->when};
                for (int k = 0; k < p->nhigh; k++)
                        if (p->high[k].den <= FACTOR_LIMIT / by)
                                add_bound(c.high, &c.nhigh, (Bound){p->high[k].affine, p->high[k].den * by});
                for (int k = 0; k < p->nlow; k++) {
                        Bound low = {p->low[k].affine, p->low[k].den * by};
                        if (p->low[k].den > FACTOR_LIMIT / by)
                                continue;
                        low.affine.constant.fixed -= (by - 1) * p->low[k].den;
                        add_bound(c.low, &c.nlow, low);
                }
                add_case(&list, &c);
        }
        return keep_cases(m, &list);
}

/* The clause of both cases, where also p is at least q; false: that cannot be. */
static bool where_larger(Maker m, const Case *p, const Case *q, Draft *d)
{
        *d = (Draft){.n = 0};
        if (!add_terms(m.graph, d, &p->when) || !add_terms(m.graph, d, &q->when))
                return false;
        for (int i = 0; i < p->nhigh; i++) {
                for (int j = 0; j < q->nlow; j++) {
                        Affine room;
                        if (gap(&p->high[i], &q->low[j], 0, &room) && !add_term(m.graph, d, &room))
                                return false;
                }
        }
        return true;
}

/* The case that p, at least q, is the larger one. */
static void add_larger(Maker m, const Case *p, const Case *q, CaseList *list)
{
        Draft d;
        if (!where_larger(m, p, q, &d))
                return;
        Case c = *p;
        c.when = keep_clause(m, &d);
        for (int i = 0; i < q->nlow; i++)
                add_bound(c.low, &c.nlow, q->low[i]);
        add_case(list, &c);
}

const Cases *cases_max(Maker m, const Cases *a, const Cases *b)
{
        CaseList list = {.n = 0};
        for (int i = 0; a && b && i < a->n; i++) {
                for (int j = 0; j < b->n; j++) {
                        add_larger(m, &a->at[i], &b->at[j], &list);
                        add_larger(m, &b->at[j], &a->at[i], &list);
                }
        }
        return keep_cases(m, &list);
}

static void add_where(Maker m, const Cond *where, const Cases *a, CaseList *list)
{
        for (int i = 0; i < where->n; i++) {
                for (int j = 0; j < a->n; j++) {
                        Draft d = {.n = 0};
                        if (!add_terms(m.graph, &d, &where->clause[i]) ||
                            !add_terms(m.graph, &d, &a->at[j].when))
                                continue;
                        Case c = a->at[j];
                        c.when = keep_clause(m, &d);
                        add_case(list, &c);
                }
        }
}

const Cases *cases_choose(Maker m, const Cond *if_a, const Cases *a, const Cond *if_b, const Cases *b)
{
        CaseList list = {.n = 0};
        if ((!a && !cond_is_false(if_a)) || (!b && !cond_is_false(if_b)))
                return NULL;
        if (a)
                add_where(m, if_a, a, &list);
        if (b)
                add_where(m, if_b, b, &list);
        return keep_cases(m, &list);
}

static void map_bounds(const Bound *from, int n, const AxisMap *map, int sign, Bound *to, int *nto)
{
        Affine zero = {.constant = {0}};
        for (int i = 0; i < n; i++) {
                Bound b = {.den = from[i].den};
                if (affine_add(&zero, sign, &from[i].affine, &b.affine) &&
                    affine_map(&b.affine, map, &b.affine) && affine_add(&zero, sign, &b.affine, &b.affine))
                        add_bound(to, nto, b);
        }
}

const Cases *cases_map(Maker m, const Cases *a, const AxisMap *map)
{
        CaseList list = {.n = 0};
        for (int i = 0; a && i < a->n; i++) {
                Draft d;
                if (!map_clause(m, &a->at[i].when, map, &d))
                        continue;
                Case c = {.when = keep_clause(m, &d)};
                map_bounds(a->at[i].low, a->at[i].nlow, map, -1, c.low, &c.nlow);
                map_bounds(a->at[i].high, a->at[i].nhigh, map, 1, c.high, &c.nhigh);
                add_case(&list, &c);
        }
        return keep_cases(m, &list);
}

bool cases_constant(const Cases *a, int64_t *value)
{
        if (!a || a->n != 1 || a->at[0].nlow != 1 || a->at[0].nhigh != 1)
                return false;
        const Bound *low = &a->at[0].low[0];
        if (low->den != 1 || !bound_equal(low, &a->at[0].high[0]) || !is_constant(&low->affine) ||
            !dim_is_fixed(low->affine.constant))
                return false;
        *value = low->affine.constant.fixed;
        return true;
}

/* The most that sign * the form can be on the axes of t. */
static int64_t affine_most(const Graph *g, const Affine *a, const Type *t, int sign)
{
        Dim constant = dim_scale(a->constant, sign);
        for (int i = 0; i < t->rank; i++)
                if (sign * a->coef[i] > 0)
                        constant = dim_add(constant,
                                           dim_scale(dim_sub(t->dim[i], dim_fixed(1)), sign * a->coef[i]));
        return dim_bound(g, constant);
}

static bool bound_within(const Graph *g, const Bound *b, int n, const Type *t, int sign, int64_t most)
{
        for (int i = 0; i < n; i++)
                if (affine_most(g, &b[i].affine, t, sign) <= most * b[i].den)
                        return true;
        return false;
}

bool cases_within(const Graph *g, const Cases *a, const Type *t, int64_t most)
{
        for (int i = 0; a && i < a->n; i++)
                if (!bound_within(g, a->at[i].high, a->at[i].nhigh, t, 1, most) ||
                    !bound_within(g, a->at[i].low, a->at[i].nlow, t, -1, most))
                        return false;
        return true;
}

const Cond *cases_at_most(Maker m, const Cases *a, const Cases *b, int64_t slack)
{
        if (!a || !b)
                return &TRUE_COND;
        Union u = {.n = 0};
        for (int i = 0; i < a->n; i++) {
                for (int j = 0; j < b->n; j++) {
                        const Case *p = &a->at[i], *q = &b->at[j];
                        Draft d = {.n = 0};
                        bool may = add_terms(m.graph, &d, &p->when) && add_terms(m.graph, &d, &q->when);
                        for (int k = 0; may && k < q->nhigh * p->nlow; k++) {
                                Affine room;
                                if (gap(&q->high[k / p->nlow], &p->low[k % p->nlow], slack, &room))
                                        may = add_term(m.graph, &d, &room);
                        }
                        if (may)
                                add_clause(&u, keep_clause(m, &d));
                }
        }
        return keep_union(m, &u);
}
