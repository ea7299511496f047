/* Taps: values of a model by the names that its file gives them, as further outputs.
 *
 * A name is the path of instances and a variable of the last, with a trip for each repeat on the way:
 *
 *   x                       a variable of the model
 *   layer[1].x              .. of a repeat, as trip 1 leaves it; layer[i].x (or layer.x): of all trips, stacked outermost
 *   layer[1].attn.scores    a variable of the block called as attn
 *   layer[1].attn           what that block returned
 *
 * Parts on the way may be left out where one value alone can be meant: layer[1].scores, scores.
 *
 * A variable that is assigned more than once is what it was last; a variable's name goes before an instance's.  A name that
 * stands for several values, as two calls of one block without weights have, is none.
 *
 * Names are those of the graph as elaborated; passes do not keep them, so taps are added before. */
#ifndef TAPS_H
#define TAPS_H
#include "graph.h"

typedef struct {
        const char *name; /* "layer[i].attn.scores" */
        Type type;        /* of all trips: an axis in front for each repeat */
        int at;           /* a later one is computed later */
        bool in_all_trips; /* false: some trips lack it, or have it in another shape; it is tapped trip by trip */
} Tap;

/* All names but those of inputs, outputs and weights, in the order of the file; *n of them. */
Tap *taps_of(Arena *arena, Graph *g, int *n);

/* Makes the value an output, the last, marked as a tap; its index in g->output, or that of an output of this name that is
 * there already.  -1: *why says why not, with a suggestion if some name is near. */
int tap_add(Graph *g, const char *name, const char **why);
/* The same for a list "layer[0].attn.weights,final". */
bool taps_add(Graph *g, const char *names, const char **why);

/* taps_apart.c: after all graph passes: what taps need is computed apart, and nothing else changes. */
void taps_apart(Graph *g);
#endif
