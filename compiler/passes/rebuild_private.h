/* Shared by passes that add nodes to a graph. */
#ifndef REBUILD_PRIVATE_H
#define REBUILD_PRIVATE_H
#include "passes.h"

/* Empties the body, and calls append() for each of its nodes in order: it appends the node, and others before
 * or after it.  The bodies of a repeat are rebuilt before the repeat. */
typedef void AppendNode(void *context, Graph *g, Body *body, Node *n);
void rebuild_body(Graph *g, Body *body, AppendNode *append, void *context);

/* Extends Graph.stands_for, if there is one, to all nodes: those from id `old` on are new, and no copies. */
void extend_copies(Graph *g, int old);
#endif
