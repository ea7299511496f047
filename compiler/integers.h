/* Integers: between which bounds the values of each node lie, and so what they are exact in.
 *
 *   to 2^24         floats, as all else
 *   below 2^53      doubles: "far" integers
 *   beyond, or a    doubles, where floor() of a real has no bound; all else is reported: the interpreter could not
 *   bound unknown   compute it either
 *
 * The bounds are those of float arithmetic and of exact integers; they do not count NaN, nor a division by zero. */
#ifndef INTEGERS_H
#define INTEGERS_H
#include "graph.h"

typedef struct {
        double low, high;
} Interval;

/* By node id.  A node in a repeat: of all trips. */
Interval *intervals_of(Arena *a, const Graph *g);
bool is_far(const Interval *of, const Node *n);       /* an integer that floats may not hold */
bool computes_far(const Interval *of, const Node *n); /* in doubles, for it or for what stands between */

/* false: a node may hold integers that are not exact; reported. */
bool integers_check(const Graph *g, Diag *diag);
/* Products take reals: far integers are made ones before them. */
void far_operands_as_reals(Graph *g);
#endif
