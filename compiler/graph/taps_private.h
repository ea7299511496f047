/* Shared by taps.c and product_taps.c. */
#ifndef TAPS_PRIVATE_H
#define TAPS_PRIVATE_H
#include "graph.h"

/* A value of each body, made a further stacked one: its result in the body around. */
Node *tap_stack(Graph *g, Node *repeat, Node *const *value);
/* What stands for a value in a body that lacks it. */
Node *tap_zeros(Graph *g, Body *b, const Node *like);
/* A real of the top as the last output, marked as a tap; its index. */
int tap_output(Graph *g, const char *name, Node *n);
#endif
