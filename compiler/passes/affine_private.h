/* Affine facts: bounds of integers, and conditions of booleans, that are computed from axis indices.
 *
 * An Affine is a constant (a Dim: it may hold named sizes) plus a multiple of each axis index of the tensor
 * that it describes.  A Cond is an OR of ANDs of `affine >= 0`.  Conds are always *necessary* conditions:
 * they hold whenever the fact that they describe holds, and weakening one (dropping a term, or all) is always
 * allowed.  A Cond that would exceed the limits below is weakened.
 *
 * A Cases describes an integer tensor: its value lies, in at least one of the cases, between the bounds of
 * that case while the case's clause holds.  NULL: nothing is known.
 *
 * All are immutable and allocated in an arena. */
#ifndef AFFINE_PRIVATE_H
#define AFFINE_PRIVATE_H

#include "passes.h"

enum { AXES = MAX_RANK + 1, MAX_TERMS = 12, MAX_CLAUSES = 12, MAX_BOUNDS = 3, MAX_CASES = 6 };

typedef struct {
        Dim constant;
        int64_t coef[AXES];
} Affine;

typedef struct {
        int n;
        const Affine *term; /* all are >= 0 */
} Clause;

typedef struct {
        int n;
        const Clause *clause; /* at least one holds; none: false; one without terms: true */
} Cond;

/* affine / den, den > 0 */
typedef struct {
        Affine affine;
        int64_t den;
} AffineBound;

typedef struct {
        Clause when;
        int nlow, nhigh;
        AffineBound low[MAX_BOUNDS], high[MAX_BOUNDS]; /* the value is at least each low, at most each high */
} AffineCase;

typedef struct {
        int n;
        AffineCase *at;
} Cases;

/* The image of an axis index when axes are renamed: `to` plus an integer in 0 .. high, or any integer >= 0
 * if open. */
typedef struct {
        Affine to;
        int64_t high;
        bool open;
} AxisMap;

/* the arena and graph of new conds and cases */
typedef struct {
        Arena *arena;
        const Graph *graph;
} CaseMaker;

Affine affine_constant(Dim constant);
Affine affine_axis(int axis);
AxisMap axis_map(Affine to);
/* a + by * b; false: a coefficient is beyond the exact range */
bool affine_add(const Affine *a, int64_t by, const Affine *b, Affine *sum);

const Cond *cond_true(void);
const Cond *cond_false(void);
bool cond_is_true(const Cond *c);
bool cond_is_false(const Cond *c);
bool cond_equal(const Cond *a, const Cond *b);
const Cond *cond_term(CaseMaker m, Affine a); /* a >= 0 */
const Cond *cond_and(CaseMaker m, const Cond *a, const Cond *b);
const Cond *cond_or(CaseMaker m, const Cond *a, const Cond *b);
const Cond *cond_map(CaseMaker m, const Cond *c, const AxisMap *map);
/* The condition on the other axes under which c holds for some index of `axis` within `range`: pairs of
 * bounds on the axis are combined (Fourier-Motzkin). */
const Cond *cond_fold(CaseMaker m, const Cond *c, int axis, AxisMap range);

const Cases *cases_exact(CaseMaker m, Affine value);
const Cases *cases_range(CaseMaker m, int64_t low, int64_t high);
bool cases_equal(const Cases *a, const Cases *b);
const Cases *cases_add(CaseMaker m, const Cases *a, const Cases *b);
const Cases *cases_scale(CaseMaker m, const Cases *a, int64_t by);
const Cases *cases_floordiv(CaseMaker m, const Cases *a, int64_t by); /* by > 0 */
const Cases *cases_max(CaseMaker m, const Cases *a, const Cases *b);
/* a where `if_a` may hold, b where `if_b` may */
const Cases *cases_choose(CaseMaker m, const Cond *if_a, const Cases *a, const Cond *if_b, const Cases *b);
const Cases *cases_map(CaseMaker m, const Cases *a, const AxisMap *map);
const Affine *cases_form(const Cases *a); /* the one affine form that it equals, or NULL */
bool cases_constant(const Cases *a, int64_t *value);
/* Whether all elements of a tensor of this type are within -most .. most. */
bool cases_within(const Graph *g, const Cases *a, const Type *t, int64_t most);
/* a <= b + slack */
const Cond *cases_at_most(CaseMaker m, const Cases *a, const Cases *b, int64_t slack);

/* --- affine.c, internal --- */

enum { FACTOR_LIMIT = 1 << 21 };
/* A draft of an AND. */
typedef struct {
        int n;
        Affine term[MAX_TERMS];
} ClauseDraft;

/* A draft of an OR; `full`: weakened to true. */
typedef struct {
        int n;
        bool full;
        Clause clause[MAX_CLAUSES];
} Union;

/* Whether the coefficient is within the exact range. */
bool coefficient_is_small(int64_t a);
bool affine_is_small(const Affine *a);
bool affine_equal(const Affine *a, const Affine *b);
bool affine_is_constant(const Affine *a);
bool affine_map(const Affine *a, const AxisMap *map, Affine *out);
bool clause_equal(const Clause *a, const Clause *b);
bool draft_add(const Graph *g, ClauseDraft *d, const Affine *a);
ClauseDraft draft_of(const Clause *c); /* its terms do not contradict each other */
bool draft_add_clause(const Graph *g, ClauseDraft *d, const Clause *c);
bool draft_map(CaseMaker m, const Clause *c, const AxisMap *map, ClauseDraft *d);
Clause draft_keep(CaseMaker m, const ClauseDraft *d);
void union_add(Union *u, Clause c);
const Cond *union_keep(CaseMaker m, const Union *u);

/* Reads a clause as bounds on the index j of axis `j`, by another axis of growing size.  `time` is the
 * growing named dimension; dim[] are the sizes of the axes. */
typedef struct {
        bool by_number;
        Dim number; /* j <= number */
        int axis;   /* -1: no bound by an index */
        Dim offset; /* j <= index of axis + offset */
} Above;
Above clause_above(const Graph *g, const Clause *c, const Dim *dim, int time, int j);
/* j >= index of axis + *offset; axis -1: none */
bool clause_below(const Graph *g, const Clause *c, const Dim *dim, int j, int axis, Dim *offset);
#endif
