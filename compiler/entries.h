/* Entries: what depends on inputs that are fed apart alone is computed when they are fed. */
#ifndef ENTRIES_H
#define ENTRIES_H
#include "graph.h"

/* Cuts the top body of a graph with state into parts, one for each set of groups of inputs that are fed apart, and the
 * calls; sets g->fed_apart, g->part, g->npart.  Where nothing is fed apart g stays as it is.  Changes g. */
Graph *entries(Graph *g);

/* [g->nnode], by id, for nodes of the top body: the set of groups whose part the node belongs to; 0: the calls. */
uint64_t *parts_of(Arena *arena, const Graph *g);

#endif
