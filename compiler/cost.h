/* What a model costs, counted exactly from its graph; nothing is run.
 *
 * The counting rule.  A multiply-add is 2 FLOPs.  Counted apart:
 *   product    x @ weights
 *   pair       products of two computed tensors: attention's scores and its weighted sum.  Masked positions count
 *   pointwise  1 for each element that an elementwise op gives or a sum or maximum takes; 5 for each of a softmax
 * What depends on no input (tables, folded weights) is made once and not counted.  Moving elements is free.
 *
 * All in int64_t; what does not fit stays at INT64_MAX. */
#ifndef COST_H
#define COST_H
#include "graph.h"

enum { COST_DEGREE = MAX_RANK + 2 };

/* sum of factor[i] n^i */
typedef struct {
        int64_t factor[COST_DEGREE + 1];
} Polynomial;

typedef struct {
        Polynomial product, pair, pointwise;
} Flops;

/* Of one call, as polynomials in the named dimension `over` (-1: all constant); the others have the sizes given. */
Flops cost_flops(const Graph *g, const int64_t *size, int over);
int64_t polynomial_at(const Polynomial *p, int64_t n);

/* Of the first position: products and pairs where time = 1, past = 0, all else at its bound. */
int64_t cost_per_token(const Graph *g);

/* Values that an instance keeps between calls, at the bound of time, in one state and in all.  held: positions that are held of
 * the state, by its number; 0: all. */
int64_t state_count(const Graph *g, const StateVar *s, int64_t held);
int64_t cache_count(const Graph *g, const int64_t *held);
#endif
