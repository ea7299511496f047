/* The causal proof: whether every output, at index i of `time`, is a function of the inputs up to i alone. */
#ifndef CAUSAL_H
#define CAUSAL_H

#include "facts.h"

typedef struct {
        bool causal;
        const Node *culprit; /* where not: the first node that reads what comes later */
        int output;          /* the output that it spoils */
        const char *why;     /* one line in the user's terms, without the place */
        const char *tap_why; /* causal, but `output` is a tap that is not: why */
        const Node *
                rests; /* causal, if values are finite: where what comes later is read if they are not; or NULL */
        const char *why_rests;
} CausalResult;

/* time: a named dimension of g. The text lives in arena. */
CausalResult causal_prove(Arena *arena, const Graph *g, int time);

/* The growing dimension of a model: one that an input and an output have as an axis, the last declared; -1: none. */
int growing_dimension(const Graph *g);
#endif
