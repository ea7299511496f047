/* Models for the causal tests: every spelling of a mask that the proof must take, and the near misses that it must not.
 *
 * Each case builds a graph with one input x of [time, 6] and says whether it is causal; `culprit` is the op of the node
 * that must be named if it is not. */
#ifndef CASES_H
#define CASES_H

#include "graph/graph.h"

enum { WIDTH = 6, BOUND = 12, PAST_BOUND = 16 };

typedef struct {
        Graph *g;
        Body *b;
        Diag *diag;
        int nweight;
        Region *region;
} Make;

typedef struct {
        const char *name;
        bool causal;
        Op culprit;
        Node *(*build)(Make *m, Node *x);
} CausalCase;

extern const CausalCase causal_case[];
extern const int ncausal_case;

/* The graph of a case, in an arena; aborts on a shape error. */
Graph *build_case(Arena *arena, const CausalCase *c);

/* Weights: numbers in -1 .. 1 made of the path, slot and index. */
bool test_weight(void *from, const Weight *w, int64_t slot, double *value);
double test_random(uint64_t *state); /* in -1 .. 1 */
#endif
