/* Shared by the files of the recur pass: a causal sum or maximum, split into its factors. */
#ifndef RECUR_PRIVATE_H
#define RECUR_PRIVATE_H
#include "facts_private.h"

enum { MAX_FACTORS = 16 };

typedef struct {
        Node *node;
        bool under; /* a divisor; of terms: subtracted; of conditions: negated */
} Factor;
typedef struct {
        Factor at[MAX_FACTORS];
        int n;
} FactorList;

/* base^(steps (row - col) times the factors); base NULL: e. */
typedef struct {
        Node *base;
        int64_t steps;
        FactorList by;
} Decay;

/* The elements of a node are within these. */
typedef struct {
        double low, high;
} RealBounds;

typedef struct {
        Graph *g;
        const Facts *facts; /* of the nodes up to `limit`, for finite values */
        int time, limit;
        Node **replaced;    /* by id */
        RealBounds *bounds; /* by id; low > high: not yet found */
        Text *said;
} Recur;

/* The weights of one contraction, or the operand of one sum or maximum, split into factors. */
typedef struct {
        Recur *r;
        Node *root;
        Body *at;                  /* body for new nodes */
        bool maxima;               /* row and col are terms, not factors */
        FactorList row, col;       /* factors that are constant along columns; along rows */
        FactorList row_if, col_if; /* conditions: if one fails, all is masked */
        Decay decay[4];
        int ndecay;
        /* terms of the operand of exp: with them data decide the decay */
        FactorList row_exponent, col_exponent;
        Node *core;
        bool masked, triangle; /* a mask was found; the triangle was found */
        const char *why;       /* the reason why it does not match */
} RecurMatch;

/* Whether n varies along the axis that is `back` before the last. */
bool varies_along(const Node *n, int back);

/* recur_take.c: false if other factors are found, or no triangle. */
bool take_apart(RecurMatch *m, Node *operand);

/* recur_bounds.c */
RealBounds recur_bounds(const Recur *r, const Node *n);

/* recur_along.c: the sum of v up to each row, weighted by queries and keys if there are any, with the decays of the exponents */
Node *recur_along(RecurMatch *m, Node *v, Node *q, Node *k);

/* recur.c: shared by both forms */
/* whether weights or separately fed inputs alone decide n, apart from the position */
bool is_still(const RecurMatch *m, const Node *n);
bool is_rows(const RecurMatch *m, const Node *n); /* [.., time, n], n fixed */
/* whether the formula may give an infinity or NaN: 0 times it is NaN */
bool may_spoil(const RecurMatch *m, const Node *n, bool under);
Node *recur_node(RecurMatch *m, Op op, Node *a, Node *b);
Node *recur_as_real(RecurMatch *m, Node *n);
Node *recur_number(RecurMatch *m, double value);
Node *recur_turned(RecurMatch *m, Node *x); /* its last two axes exchanged */

Node *recur_refuse(RecurMatch *m, const char *why); /* returns NULL; the first reason is kept */
#endif
