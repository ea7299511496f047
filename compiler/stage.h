/* Stages: what each node depends on, and so how early it can be computed. */
#ifndef STAGE_H
#define STAGE_H

#include "graph.h"

typedef struct {
        bool weights;     /* on weights */
        uint64_t groups;  /* on inputs: a set of groups (Input.group) */
        bool state;       /* on what earlier calls left */
        unsigned named;   /* on indices along named dimensions, a set; past rows count as time */
        unsigned lengths; /* on the lengths themselves: sizes, and folds over such axes */
        bool trips; /* on the trip of a repeat around it: weights with slots, constants per trip, what is carried */
} Stage;

/* The lengths, a set of named dimensions, that an op's answer depends on: it folds over them, or counts from their ends. */
unsigned stage_lengths(const Graph *g, const Node *n);

/* [g->nnode], by id */
Stage *stage_of(Arena *arena, const Graph *g);

/* Whether n is worth a table made once: real work on constants, indices and weights alone, with at most one axis of a
 * named size, so that rows up to its bound serve for all sizes.  After the causal pass the new rows of such an axis are
 * rows past .. past + time - 1 of the table. */
bool stage_is_table(const Graph *g, const Stage *stage, const Node *n);

/* Moves every node that does not depend on the trip, and whose inputs stand outside, out of its repeat.  Changes g. */
Graph *hoist(Graph *g);

#endif
