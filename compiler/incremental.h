/* The state form of a causal graph: what each call computes of the rows it is given, and what it keeps of those before. */
#ifndef INCREMENTAL_H
#define INCREMENTAL_H

#include "graph.h"

/* What stands in the way of a state form. */
typedef struct {
        const Node *node;
        const char *why;
} Stuck;

/* A new graph, in which `time` counts the new rows and graph->past names the rows before; NULL where an op cannot be
 * taken apart so, and *stuck tells which.  g must be causal (causal_prove), and stays as it is. */
Graph *incremental(Graph *g, int time, Stuck *stuck);

#endif
