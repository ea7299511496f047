/* A model's attentions, found by what they compute: softmaxes that a product weighs values with. */
#ifndef ATTENTION_TAP_H
#define ATTENTION_TAP_H
#include "graph.h"

/* One in the order in which they are run, counted from 0 over the trips of repeats. */
typedef struct {
        Node *softmax;
        Body *body;
        int64_t trip[4]; /* of the repeats around, outermost first */
        int ntrip;
        const char *path; /* what stands before the names of its body: "layer[2]." */
} Attention;
bool attention_find(Graph *g, Arena *a, int which, Attention *found, int *n); /* *n: how many there are */

/* Its weights as the last output; its index, or -1 with *why.  Before passes, as taps. */
int attention_tap_add(Graph *g, int which, const char **why);
#endif
