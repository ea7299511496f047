/* Facts: what the causal proof knows of each node, for one growing dimension (`time`).
 *
 * An axis grows if its size is time + something.  The element of a node at index i of such an axis is a function of the
 * inputs at times up to i + high (and from i + low on) -- and of whether there are that many: a growing dimension has
 * no known length, and what depends on the length depends on all of it.
 *
 * Also known: of which kinds a value may be; where (a condition on its indices) it may be anything but 0, 1, -inf, +inf;
 * and bounds on integers.  All are sound for every size and every input, under one assumption: that inputs are finite, and
 * that arithmetic on finite numbers gives finite numbers (no overflow), with the exceptions of what has no finite value in
 * any precision: a logarithm or a root of what may be negative, and what divides by an exact zero.
 *
 * Facts of any value do without that assumption: inputs may hold anything, and reals overflow and underflow.  0 x inf is
 * NaN there, and a mask that is a factor would not hide what it masks.  So these facts come with guards: where a special
 * value of one operand decides the result for each value that the other has by its formula, it is to decide it whatever the other
 * is in floats.  A guard never replaces a NaN of the formula: 0 / x has none if x may be an exact 0.
 * incremental.c puts the guards into the graph.
 *
 * Facts of a node in a repeat hold for all iterations: they are computed once a body, over and over until what is carried
 * no longer changes. */
#ifndef FACTS_PRIVATE_H
#define FACTS_PRIVATE_H

#include "affine_private.h"

enum { MAX_READS = 3 };

/* Index i of `axis` reads time i + low .. i + high; of NO_AXIS, every element reads time low .. high.  open: everything
 * before. */
enum { NO_AXIS = -1 };
typedef struct {
        int axis;
        bool open;
        Dim low, high;
} Read;

typedef struct {
        bool all; /* anything may be read */
        int n;
        Read at[MAX_READS];
} Reach;

/* The values that facts are kept on. */
typedef enum { AT_0, AT_1, AT_MINUS_1, AT_MINUS_INF, AT_PLUS_INF, NSPECIAL } Special;
extern const double special_value[NSPECIAL];

/* Kinds of values, a set of them. */
enum { MINUS_INF = 1, NEGATIVE = 2, ZERO = 4, POSITIVE = 8, PLUS_INF = 16, NOT_A_NUMBER = 32 };
enum { FINITE = NEGATIVE | ZERO | POSITIVE, ANYTHING = 63 };

typedef struct {
        Reach reach;
        unsigned kinds;
        bool constant;   /* the same number in every element and iteration: value */
        bool exact_zero; /* a zero among the values is no accident of rounding: masks, integers */
        double value;
        /* The value is special_value[v] unless unless[v] holds -- or it is NaN there, and whether it is varies along
         * the axes in the set stain[v] alone. */
        const Cond *unless[NSPECIAL];
        unsigned stain[NSPECIAL];
        const Cases *integer; /* NULL: no integer, or nothing known */
        const Node *origin;   /* the node from which on the future is read; NULL: it is not */
} Fact;

/* Of an op with two operands: the special values of each, a set, that decide the result. */
typedef struct {
        unsigned at[2];
} OperandGuard;

typedef enum { FINITE_VALUES, ANY_VALUES } Assume;
typedef struct Facts Facts;
struct Facts {
        const Graph *graph;
        Arena *arena;
        int time;
        Assume values;
        const Facts
                *formula;    /* of ANY_VALUES: facts of finite values, or what the formula gives; else NULL */
        Fact *of;            /* [nnode] */
        bool *found;         /* [nnode]: it has a fact, if its repeat was followed before */
        Fact **leaving;      /* [nnode] of a REPEAT: its results */
        OperandGuard *guard; /* [nnode] of ANY_VALUES; under FINITE_VALUES none is needed */
};

struct GraphFacts {
        const Graph *graph;
        Arena *arena;
        int time;
        Facts *under[ANY_VALUES + 1]; /* by what is assumed; NULL: not yet asked for */
};

const Facts *facts_under(GraphFacts *facts, Assume values);

/* Whether an axis of this size grows by one with each step of time. */
bool is_growing(const Facts *f, Dim dim);
const Read *reach_on(const Reach *reach, int axis); /* NULL: nothing is read along it */
bool reads_future(const Facts *f, const Reach *reach);

/* Of a fold or contraction: outside which condition its elements do not count, on axes of sizes dim[AXES]; it folds
 * *axis.  The axes are those of input 0; of a matmul [.., i, k, j], k being axis rank - 1. */
const Cond *fold_condition(const Facts *f, const Node *n, Dim *dim, int *axis);

/* Whether what a fold or contraction is masked by may be NaN along what it folds, which 0 times it does not hide. */
bool fold_is_stained(const Facts *f, const Node *n);

/* --- between the files of the proof --- */

CaseMaker facts_maker(const Facts *f);
Fact fact_unknown(void);
Fact fact_constant(const Facts *f, double value, bool integer);
void reach_join(const Facts *f, Reach *into, const Reach *other);
void reach_add(const Facts *f, Reach *into, Read read);
/* Conditions and bounds with the axes renamed; the reach is renamed by `to`: where axis i goes, -1 if it is gone. */
Fact fact_rename(const Facts *f, const Fact *a, const AxisMap *map, const int *to);
/* What a fold over `axis` of elements reads that do not count where they are at their special value v. */
Reach fold_reach(const Facts *f, const Fact *a, const Dim *dim, int rank, int axis, Special v);

/* One or two facts on the same axes, pointwise. */
Fact fact_unary(const Facts *f, Op op, const Fact *a);
typedef struct {
        Op op;
        DType dtype; /* of the result */
        bool same;   /* both operands are one node */
        Fact in[2];
        const Fact
                *formula[2]; /* of ANY_VALUES: their facts for finite inputs, without overflow; else NULL */
        unsigned axes[2];    /* along which each operand varies */
        Dim dim[AXES];       /* of the result */
} Pair;
Fact fact_binary(const Facts *f, const Pair *p, OperandGuard *guard); /* *guard: what the fact asks for */
/* What op makes of special value v of its operand `side`, whatever finite number the other is; false: that depends on it. */
bool special_decides(Op op, int side, Special v, double *result);
Fact fact_where(const Facts *f, const Fact *c, const Fact *a, const Fact *b);
Fact fact_join(const Facts *f, const Fact *a, const Fact *b); /* either */
unsigned kinds_of_sum(const Facts *f, DType dtype, unsigned kinds);
/* Whether no element of a row of n, along its last axis, is negative and one at least is positive: a softmax of finite
 * scores, and what is left of it, or of positive numbers, where all but the largest are made 0 or a mask that has the diagonal. */
bool fact_positive_rows(const Facts *f, const Node *n);

/* Input i with its axes moved up by `shift`, those from `split` on by one more; the axes along which it varies then. */
Fact fact_aligned(const Facts *f, const Node *n, int i, int shift, int split);
unsigned fact_axes(const Type *t, int shift, int split);

/* facts_fold.c: of folds of a along an axis, and of contractions */
Fact fact_of_sum(const Facts *f, const Node *n, const Fact *a, const Type *t, int axis);
Fact fact_of_maximum(const Facts *f, const Fact *a, const Type *t, int axis);
Fact fact_of_largest(const Facts *f, const Fact *a, const Type *t, int axis);
Fact fact_of_argmax(const Facts *f, const Fact *a, const Type *t, int axis);
Fact fact_of_softmax(const Facts *f, const Node *n);
Fact fact_of_matmul(const Facts *f, const Node *n);
Fact fact_of_scan(const Facts *f, const Node *n);

/* Of the ops that move elements; the facts of their inputs are known. */
Fact fact_view(const Facts *f, const Node *n);
Fact fact_pad(const Facts *f, const Node *n);
Fact fact_joined(const Facts *f, const Node *n);
Fact fact_gather(const Facts *f, const Node *n);
#endif
