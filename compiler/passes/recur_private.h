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

typedef struct {
        Graph *g;
        const Facts *facts, *any; /* facts of the nodes up to `limit`, for finite values; for any values */
        int time, limit;
        Node **replaced; /* by id */
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
        Node *core;
        bool masked, triangle; /* a mask was found; the triangle was found */
        const char *why;       /* the reason why it does not match */
} RecurMatch;

/* Whether n varies along the axis that is `back` before the last. */
bool varies_along(const Node *n, int back);

/* recur_take.c: false if other factors are found, or no triangle. */
bool take_apart(RecurMatch *m, Node *operand);

Node *recur_refuse(RecurMatch *m, const char *why); /* returns NULL; the first reason is kept */
#endif
