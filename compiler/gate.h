/* Gates: factors that a mask makes 0, and what follows from them. */
#ifndef GATE_H
#define GATE_H
#include "graph.h"

/* A factor of some value [.., d], itself [.., 1], that is exactly 0 wherever `top` is false. */
typedef struct {
        Node *factor;
        const Node *top; /* the TOP node behind its mask */
} Gate;

bool find_gate(Node *value, Gate *gate); /* false: there is none */

/* What a trip adds to a value that it carries: v of carry + v, in all rows or some; NULL: it does something else with it. */
Node *added_to_carry(const Body *b, int index);

/* How many of the region's trips add anything at one position: k of `top`, where it chooses among as many; else trips. */
int64_t trips_in_use(const Region *r);

/* accumulate.c: see there.  Changes g. */
Graph *accumulate(Graph *g);
#endif
