/* Shared by taps.c and product_taps.c. */
#ifndef TAPS_PRIVATE_H
#define TAPS_PRIVATE_H
#include "graph.h"

/* Stacks a value of each body over the iterations: its result in the outer body. */
Node *tap_stack(Graph *g, Node *repeat, Node *const *value);
/* Zeros in place of a value that a body lacks. */
Node *tap_zeros(Graph *g, Body *b, const Node *like);
/* Adds a real of the top body as the last output, a tap.  Returns its index. */
int tap_output(Graph *g, const char *name, Node *n);
#endif
