/* Facts: properties of each node that the causal proof uses, for one growing dimension (`time`).
 *
 * An axis grows if its size is time + something.  The element of a node at index i of such an axis is a
 * function of the inputs at times up to i + high (and from i + low on), and of whether that many exist.  The
 * length of a growing dimension is not known; a value that depends on the length depends on the whole
 * sequence.
 *
 * Other facts: the kinds of values that are possible; a condition on the indices outside which the value is
 * 0, 1, -1, -inf or +inf; bounds of integers.  All are sound for every size and every input, under one
 * assumption: that inputs are finite, and that arithmetic on finite numbers gives finite numbers (no
 * overflow), with two exceptions, which have no finite value in any precision: a logarithm or root of a value
 * that may be negative, and a division by an exact zero.
 *
 * Facts for ANY_VALUES do without that assumption: inputs may be infinite or NaN, and reals overflow and
 * underflow.  Then 0 x inf is NaN, and a factor 0 would not mask.  So these facts come with guards: where a
 * special value of one operand decides the result for each value that the other's formula allows, the guard
 * makes it decide for all floats.  A guard never replaces a NaN of the formula: 0 / x has no guard if x may
 * be an exact 0. incremental.c puts the guards into the graph.
 *
 * Facts of a node in a repeat hold for all iterations: the bodies are evaluated repeatedly until the facts of
 * carried values no longer change. */
#ifndef FACTS_PRIVATE_H
#define FACTS_PRIVATE_H

#include "affine_private.h"

enum { MAX_READS = 3 };

/* Index i of `axis` reads times i + low .. i + high; for NO_AXIS, every element reads times low .. high.
 * open: also all earlier times. */
enum { NO_AXIS = -1 };
typedef struct {
        int axis;
        bool open;
        Dim low, high;
} Read;

typedef struct {
        bool all; /* everything may be read */
        int n;
        Read at[MAX_READS];
} Reach;

/* Special values, for which facts are stored. */
typedef enum { AT_0, AT_1, AT_MINUS_1, AT_MINUS_INF, AT_PLUS_INF, NSPECIAL } Special;
extern const double special_value[NSPECIAL];

/* Kinds of values, as a set. */
enum { MINUS_INF = 1, NEGATIVE = 2, ZERO = 4, POSITIVE = 8, PLUS_INF = 16, NOT_A_NUMBER = 32 };
enum { FINITE = NEGATIVE | ZERO | POSITIVE, ANYTHING = 63 };

typedef struct {
        Reach reach;
        unsigned kinds;
        bool constant; /* the same number in every element and iteration: value */
        /* a zero among the values is exact, not a result of rounding: masks, integers, differences of one value
         * from itself */
        bool exact_zero;
        double value;
        /* The value is special_value[v] unless unless[v] holds.  It may also be NaN there; where it is NaN
         * varies only along the axes in the set stain[v]. */
        const Cond *unless[NSPECIAL];
        unsigned stain[NSPECIAL];
        const Cases *integer; /* NULL: not an integer, or unknown */
        bool in_blocks;       /* integers that depend on positions count their blocks */
        const Node *origin;   /* the node that first reads later times; NULL: none */
} Fact;

/* For an op with two operands: the sets of special values of each that decide the result. */
typedef struct {
        unsigned at[2];
} OperandGuard;

typedef enum { FINITE_VALUES, ANY_VALUES } Assume;
typedef struct Facts Facts;
struct Facts {
        const Graph *graph;
        Arena *arena;
        int time;
        int64_t block; /* GraphFacts.block */
        Assume values;
        const Facts *formula; /* for ANY_VALUES: facts of finite values, or the value by the formula;
                              * else NULL */
        Fact *of;             /* [nnode] */
        bool *found;          /* [nnode]: whether its fact is computed; false in a repeat that was not
                              * visited */
        Fact **leaving;       /* [nnode] of a REPEAT: its results */
        OperandGuard *guard;  /* [nnode] for ANY_VALUES; FINITE_VALUES needs none */
};

struct GraphFacts {
        const Graph *graph;
        Arena *arena;
        int time;
        int64_t block; /* 0: facts are about positions; else about blocks of this many positions, see facts_blocks.c */
        Facts *under[ANY_VALUES + 1]; /* by assumption; NULL: not yet computed */
};

const Facts *facts_under(GraphFacts *facts, Assume values);

/* Whether an axis of this size grows by one with each step of time. */
bool is_growing(const Facts *f, Dim dim);
const Read *reach_on(const Reach *reach, int axis); /* NULL: it reads nothing along the axis */
bool reads_future(const Facts *f, const Reach *reach);

/* For a fold or contraction: the condition outside which its elements do not count, on axes of sizes
 * dim[AXES].  *axis is the folded axis.  The axes are those of input 0; for a matmul [.., i, k, j], with k as
 * axis rank - 1. */
const Cond *fold_condition(const Facts *f, const Node *n, Dim *dim, int *axis);

/* Whether the mask of a fold or contraction may be NaN along the folded axis, which a factor 0 does not
 * hide. */
bool fold_is_stained(const Facts *f, const Node *n);

/* --- internal to the proof --- */

CaseMaker facts_maker(const Facts *f);
Fact fact_unknown(void);
Fact fact_constant(const Facts *f, double value);
void reach_join(const Facts *f, Reach *into, const Reach *other);
void reach_add(const Facts *f, Reach *into, Read read);
/* Conditions and bounds with the axes renamed.  `to` maps the axes of the reach; -1: the axis is dropped. */
Fact fact_rename(const Facts *f, const Fact *a, const AxisMap *map, const int *to);
/* The reach of a fold over `axis` whose elements do not count where they have their special value v. */
Reach fold_reach(const Facts *f, const Fact *a, const Dim *dim, int rank, int axis, Special v);

/* Pointwise ops: one fact, or two on the same axes. */
Fact fact_unary(const Facts *f, Op op, const Fact *a);
typedef struct {
        Op op;
        DType dtype;   /* of the result */
        bool same;     /* both operands are one node */
        bool opposite; /* one operand is the other one negated, as in abs(x), max(x, -x) */
        Fact in[2];
        const Fact
                *formula[2]; /* for ANY_VALUES: their facts for finite inputs without overflow; else NULL */
        unsigned axes[2];    /* the axes along which each operand varies */
        Dim dim[AXES];       /* of the result */
} Pair;
/* facts_blocks.c: facts about blocks of positions. */
bool is_block_number(const Facts *f, const Pair *p); /* whether the op divides a position by their length */
bool mixes_blocks(const Fact *a, const Fact *b);
void fact_in_blocks(const Facts *f, const Node *n, Fact *y);
Fact fact_binary(const Facts *f, const Pair *p, OperandGuard *guard); /* *guard: the guard that the fact
                                                                       * requires */
/* The result of op where operand `side` has special value v, if it is the same for all finite numbers of the
 * other operand; else false. */
bool special_decides(Op op, int side, Special v, double *result);
Fact fact_where(const Facts *f, const Fact *c, const Fact *a, const Fact *b);
Fact fact_join(const Facts *f, const Fact *a, const Fact *b); /* the fact of a value that is a or b */
unsigned kinds_of_sum(const Facts *f, DType dtype, unsigned kinds);
/* Whether each row of n, along its last axis, has no negative element and at least one positive element.
 * That holds for a softmax of finite scores, and for positive numbers of which all but the largest, or those
 * outside a mask with the diagonal, are set to 0. */
bool fact_positive_rows(const Facts *f, const Node *n);

/* Input i with its axes moved up by `shift`, those from `split` on by one more; and the axes along which it
 * then varies. */
Fact fact_aligned(const Facts *f, const Node *n, int i, int shift, int split);
unsigned fact_axes(const Type *t, int shift, int split);

/* facts_fold.c: folds of a along an axis, and contractions */
Fact fact_of_sum(const Facts *f, const Node *n, const Fact *a, const Type *t, int axis);
Fact fact_of_maximum(const Facts *f, const Fact *a, const Type *t, int axis);
Fact fact_of_largest(const Facts *f, const Fact *a, const Type *t, int axis);
Fact fact_of_argmax(const Facts *f, const Fact *a, const Type *t, int axis);
Fact fact_of_softmax(const Facts *f, const Node *n);
Fact fact_of_matmul(const Facts *f, const Node *n);
Fact fact_of_scan(const Facts *f, const Node *n);

/* Ops that move elements; the facts of their inputs are known. */
Fact fact_view(const Facts *f, const Node *n);
Fact fact_pad(const Facts *f, const Node *n);
Fact fact_joined(const Facts *f, const Node *n);
Fact fact_gather(const Facts *f, const Node *n);
#endif
