/* What the files of the recur pass share: a causal sum or maximum taken apart. */
#ifndef RECUR_PRIVATE_H
#define RECUR_PRIVATE_H
#include "facts_private.h"

enum { MOST_FACTORS = 16 };

typedef struct {
        Node *node;
        bool under; /* divides; of a term: it is subtracted; of a condition: it must not hold */
} Factor;
typedef struct {
        Factor at[MOST_FACTORS];
        int n;
} FactorList;

/* base^(steps (row - col) times the factors); base NULL: e. */
typedef struct {
        Node *base;
        int64_t steps;
        FactorList by;
} Decay;

typedef struct {
        Graph *g;
        const Facts *facts, *any; /* of the nodes up to `limit`; of any value */
        int time, limit;
        Node **replaced; /* by id */
        Text *said;
} Recur;

/* What one contraction weighs or sums, or of which it takes the largest, taken apart. */
typedef struct {
        Recur *r;
        Node *root;
        Body *at;                  /* where new nodes stand */
        bool maxima;               /* row and col are terms, not factors */
        FactorList row, col;       /* what does not vary along columns; along rows */
        FactorList row_if, col_if; /* conditions: where one fails, all is masked */
        Decay decay[4];
        int ndecay;
        Node *core;
        bool masked, triangle; /* some mask was seen; the triangle is in it */
        const char *why;       /* what stands in the way */
} RecurMatch;

/* Along the last axis but `back`? */
bool varies_along(const Node *n, int back);

/* recur_take.c: false: it is made of something else, or there is no triangle. */
bool take_apart(RecurMatch *m, Node *operand);

Node *recur_refuse(RecurMatch *m, const char *why); /* NULL; the first reason stays */
#endif
