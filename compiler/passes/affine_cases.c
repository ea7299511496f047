/* Integers as cases of bounds: arithmetic on them. */
#include "affine_private.h"

#include <string.h>

static bool bound_equal(const AffineBound *a, const AffineBound *b)
{
        return a->den == b->den && affine_equal(&a->affine, &b->affine);
}

static void bounds_add(AffineBound *list, int *n, AffineBound b)
{
        for (int i = 0; i < *n; i++)
                if (bound_equal(&list[i], &b))
                        return;
        if (*n < MAX_BOUNDS)
                list[(*n)++] = b;
}

/* a + b, by >= 0 */
static bool bound_add(const AffineBound *a, const AffineBound *b, AffineBound *sum)
{
        Affine left, zero = {.constant = {0}};
        if (a->den > FACTOR_LIMIT / b->den)
                return false;
        affine_add(&zero, b->den, &a->affine, &left);
        sum->den = a->den * b->den;
        return affine_add(&left, a->den, &b->affine, &sum->affine);
}

/* high - low + slack >= 0, where a value is at least `low` and that value, less slack, at most `high` */
static bool gap(const AffineBound *high, const AffineBound *low, int64_t slack, Affine *out)
{
        Affine left, zero = {.constant = {0}};
        affine_add(&zero, low->den, &high->affine, &left);
        affine_add(&left, -high->den, &low->affine, &left);
        left.constant.fixed += slack * high->den * low->den;
        *out = left;
        return affine_is_small(out);
}

/* --- cases --- */

static Cases *cases_new(CaseMaker m, int n)
{
        Cases *c = NEW(m.arena, Cases);
        c->n = n;
        c->at = NEW_ARRAY(m.arena, AffineCase, n);
        return c;
}

const Cases *cases_exact(CaseMaker m, Affine value)
{
        if (!affine_is_small(&value))
                return NULL;
        Cases *c = cases_new(m, 1);
        c->at[0] = (AffineCase){.nlow = 1, .nhigh = 1, .low = {{value, 1}}, .high = {{value, 1}}};
        return c;
}

const Cases *cases_range(CaseMaker m, int64_t low, int64_t high)
{
        if (!coefficient_is_small(low) || !coefficient_is_small(high))
                return NULL;
        Cases *c = cases_new(m, 1);
        c->at[0] = (AffineCase){.nlow = 1, .nhigh = 1};
        c->at[0].low[0] = (AffineBound){affine_constant(dim_fixed(low)), 1};
        c->at[0].high[0] = (AffineBound){affine_constant(dim_fixed(high)), 1};
        return c;
}

static bool case_equal(const AffineCase *a, const AffineCase *b)
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

/* A draft of a list of cases; `full`: too many, so nothing is known. */
typedef struct {
        int n;
        bool full;
        AffineCase at[MAX_CASES];
} CaseList;

static void add_case(CaseList *list, const AffineCase *c)
{
        for (int i = 0; i < list->n; i++)
                if (case_equal(&list->at[i], c))
                        return;
        if (list->n == MAX_CASES)
                list->full = true;
        else
                list->at[list->n++] = *c;
}

static const Cases *keep_cases(CaseMaker m, const CaseList *list)
{
        if (list->full || list->n == 0)
                return NULL;
        Cases *c = cases_new(m, list->n);
        memcpy(c->at, list->at, (size_t)list->n * sizeof *c->at);
        return c;
}

static void bounds_add_sums(const AffineBound *a, int na, const AffineBound *b, int nb, AffineBound *list,
                            int *n)
{
        for (int i = 0; i < na; i++) {
                for (int j = 0; j < nb; j++) {
                        AffineBound sum;
                        if (bound_add(&a[i], &b[j], &sum))
                                bounds_add(list, n, sum);
                }
        }
}

const Cases *cases_add(CaseMaker m, const Cases *a, const Cases *b)
{
        CaseList list = {.n = 0};
        for (int i = 0; a && b && i < a->n; i++) {
                for (int j = 0; j < b->n; j++) {
                        const AffineCase *p = &a->at[i], *q = &b->at[j];
                        ClauseDraft d = draft_of(&p->when);
                        if (!draft_add_clause(m.graph, &d, &q->when))
                                continue;
                        AffineCase sum = {.when = draft_keep(m, &d)};
                        bounds_add_sums(p->low, p->nlow, q->low, q->nlow, sum.low, &sum.nlow);
                        bounds_add_sums(p->high, p->nhigh, q->high, q->nhigh, sum.high, &sum.nhigh);
                        add_case(&list, &sum);
                }
        }
        return keep_cases(m, &list);
}

static void scale_bounds(const AffineBound *from, int n, int64_t by, AffineBound *to, int *nto)
{
        Affine zero = {.constant = {0}};
        for (int i = 0; i < n; i++) {
                AffineBound b = {.den = from[i].den};
                if (affine_add(&zero, by, &from[i].affine, &b.affine))
                        bounds_add(to, nto, b);
        }
}

const Cases *cases_scale(CaseMaker m, const Cases *a, int64_t by)
{
        CaseList list = {.n = 0};
        for (int i = 0; a && i < a->n; i++) {
                const AffineCase *p = &a->at[i];
                AffineCase c = {.when = p->when};
                scale_bounds(by >= 0 ? p->low : p->high, by >= 0 ? p->nlow : p->nhigh, by, c.low, &c.nlow);
                scale_bounds(by >= 0 ? p->high : p->low, by >= 0 ? p->nhigh : p->nlow, by, c.high, &c.nhigh);
                add_case(&list, &c);
        }
        return keep_cases(m, &list);
}

/* v / by - (by - 1) / by <= floor(v / by) <= v / by, for an integer v */
const Cases *cases_floordiv(CaseMaker m, const Cases *a, int64_t by)
{
        CaseList list = {.n = 0};
        for (int i = 0; a && i < a->n; i++) {
                const AffineCase *p = &a->at[i];
                AffineCase c = {.when = p->when};
                for (int k = 0; k < p->nhigh; k++)
                        if (p->high[k].den <= FACTOR_LIMIT / by)
                                bounds_add(c.high, &c.nhigh,
                                           (AffineBound){p->high[k].affine, p->high[k].den * by});
                for (int k = 0; k < p->nlow; k++) {
                        if (p->low[k].den > FACTOR_LIMIT / by)
                                continue;
                        AffineBound low = {p->low[k].affine, p->low[k].den * by};
                        low.affine.constant.fixed -= (by - 1) * p->low[k].den;
                        bounds_add(c.low, &c.nlow, low);
                }
                add_case(&list, &c);
        }
        return keep_cases(m, &list);
}

/* The clause of both cases, with p >= q; false: impossible. */
static bool where_larger(CaseMaker m, const AffineCase *p, const AffineCase *q, ClauseDraft *d)
{
        *d = draft_of(&p->when);
        if (!draft_add_clause(m.graph, d, &q->when))
                return false;
        for (int i = 0; i < p->nhigh; i++) {
                for (int j = 0; j < q->nlow; j++) {
                        Affine room;
                        if (gap(&p->high[i], &q->low[j], 0, &room) && !draft_add(m.graph, d, &room))
                                return false;
                }
        }
        return true;
}

/* Adds the case in which p is at least q. */
static void add_larger(CaseMaker m, const AffineCase *p, const AffineCase *q, CaseList *list)
{
        ClauseDraft d;
        if (!where_larger(m, p, q, &d))
                return;
        AffineCase c = *p;
        c.when = draft_keep(m, &d);
        for (int i = 0; i < q->nlow; i++)
                bounds_add(c.low, &c.nlow, q->low[i]);
        add_case(list, &c);
}

const Cases *cases_max(CaseMaker m, const Cases *a, const Cases *b)
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

static void add_where(CaseMaker m, const Cond *where, const Cases *a, CaseList *list)
{
        for (int i = 0; i < where->n; i++) {
                for (int j = 0; j < a->n; j++) {
                        ClauseDraft d = draft_of(&where->clause[i]);
                        if (!draft_add_clause(m.graph, &d, &a->at[j].when))
                                continue;
                        AffineCase c = a->at[j];
                        c.when = draft_keep(m, &d);
                        add_case(list, &c);
                }
        }
}

const Cases *cases_choose(CaseMaker m, const Cond *if_a, const Cases *a, const Cond *if_b, const Cases *b)
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

static void map_bounds(const AffineBound *from, int n, const AxisMap *map, int sign, AffineBound *to,
                       int *nto)
{
        Affine zero = {.constant = {0}};
        for (int i = 0; i < n; i++) {
                AffineBound b = {.den = from[i].den};
                if (affine_add(&zero, sign, &from[i].affine, &b.affine) &&
                    affine_map(&b.affine, map, &b.affine) && affine_add(&zero, sign, &b.affine, &b.affine))
                        bounds_add(to, nto, b);
        }
}

const Cases *cases_map(CaseMaker m, const Cases *a, const AxisMap *map)
{
        CaseList list = {.n = 0};
        for (int i = 0; a && i < a->n; i++) {
                ClauseDraft d;
                if (!draft_map(m, &a->at[i].when, map, &d))
                        continue;
                AffineCase c = {.when = draft_keep(m, &d)};
                map_bounds(a->at[i].low, a->at[i].nlow, map, -1, c.low, &c.nlow);
                map_bounds(a->at[i].high, a->at[i].nhigh, map, 1, c.high, &c.nhigh);
                add_case(&list, &c);
        }
        return keep_cases(m, &list);
}

const Affine *cases_form(const Cases *a)
{
        const AffineCase *c = a && a->n == 1 ? &a->at[0] : NULL;
        for (int i = 0; c && i < c->nlow; i++)
                for (int j = 0; c->low[i].den == 1 && j < c->nhigh; j++)
                        if (bound_equal(&c->low[i], &c->high[j]))
                                return &c->low[i].affine;
        return NULL;
}

bool cases_constant(const Cases *a, int64_t *value)
{
        const Affine *form = cases_form(a);
        if (!form || !affine_is_constant(form) || !dim_is_fixed(form->constant))
                return false;
        *value = form->constant.fixed;
        return true;
}

/* The maximum of sign * the form on the axes of t. */
static int64_t affine_most(const Graph *g, const Affine *a, const Type *t, int sign)
{
        Dim constant = dim_scale(a->constant, sign);
        for (int i = 0; i < t->rank; i++)
                if (sign * a->coef[i] > 0)
                        constant = dim_add(constant,
                                           dim_scale(dim_sub(t->dim[i], dim_fixed(1)), sign * a->coef[i]));
        return dim_bound(g, constant);
}

static bool bound_within(const Graph *g, const AffineBound *b, int n, const Type *t, int sign, int64_t most)
{
        for (int i = 0; i < n; i++)
                if (most > INT64_MAX / b[i].den || affine_most(g, &b[i].affine, t, sign) <= most * b[i].den)
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

const Cond *cases_at_most(CaseMaker m, const Cases *a, const Cases *b, int64_t slack)
{
        if (!a || !b)
                return cond_true();
        Union u = {.n = 0};
        for (int i = 0; i < a->n; i++) {
                for (int j = 0; j < b->n; j++) {
                        const AffineCase *p = &a->at[i], *q = &b->at[j];
                        ClauseDraft d = draft_of(&p->when);
                        bool may = draft_add_clause(m.graph, &d, &q->when);
                        for (int k = 0; may && k < q->nhigh * p->nlow; k++) {
                                Affine room;
                                if (gap(&q->high[k / p->nlow], &p->low[k % p->nlow], slack, &room))
                                        may = draft_add(m.graph, &d, &room);
                        }
                        if (may)
                                union_add(&u, draft_keep(m, &d));
                }
        }
        return union_keep(m, &u);
}
