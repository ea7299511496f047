/* passes: transformations of graphs.
 *
 * Simplification (simplify.c with algebra.c, fold.c, common.c, prune.c), recurrences (recur.c), the causal
 * proof (causal.c on facts*.c and affine*.c), the state form (incremental.c, forms.c), and rewrites before
 * kernels are made (phases.c, accumulate.c, masked_weights.c, separate_scores.c, separate_taps.c, separate_heads.c,
 * separate_operands.c, chosen_keys.c, mixture.c).  A pass returns a new graph or the same one. */
#ifndef PASSES_H
#define PASSES_H
#include "graph/graph.h"

/* passes.def */
typedef enum {
#define PASS(name, ...) PASS_##name,
#include "passes/passes.def"
#undef PASS
        PASS_COUNT,
        GRAPH_PASSES = PASS_storage /* graph passes are the first rows of the table */
} PassId;

/* properties.def */
typedef enum {
#define PROPERTY(name, about) PROPERTY_##name,
#include "passes/properties.def"
#undef PROPERTY
        PROPERTIES
} PropertyId;

/* simplify.c, prune.c */
Graph *simplify(Graph *g);
Graph *recognise(Graph *g); /* simplify, also recognising softmax and products in other notations */
void find_wanted(Graph *g); /* Graph.wanted, for all nodes */

/* mixture.c: splits weights whose slots have several kinds, kind[weight's id][slot], into weights of one
 * kind, in separate bodies.  In place, before all other passes. */
void split_mixtures(Graph *g, const uint8_t *const *kind);

/* Facts of a graph's values, computed at the first use, so that the proof and the state form share them. */
typedef struct GraphFacts GraphFacts;
/* time: a named dimension of g.  g must not change afterwards. */
GraphFacts *graph_facts(Arena *arena, const Graph *g, int time);
/* The same for calls that each end with a block of this many positions: a row may read all of its block. */
GraphFacts *graph_facts_in_blocks(Arena *arena, const Graph *g, int time, int64_t block);

/* recur.c: replaces masked products with scans.  said: a line for each, and for a product that almost
 * matches, the reason why not.  Returns whether it changed g. */
bool recur(Graph *g, int time, Text *said);

/* The causal proof: whether every output, at index i of `time`, is a function of the inputs up to i only. */

typedef struct {
        bool causal;
        const Node *culprit; /* not causal: the first node that reads later inputs */
        int output;          /* the output that depends on it */
        const char *why;     /* one line in the user's terms, without the location */
        const char *tap_why; /* causal, but `output` is a tap that is not: the reason */
        const Node *rests; /* causal only if values are finite: the node that reads later inputs otherwise; or
                        * NULL */
        const char *why_rests;
        int64_t delay; /* not causal: the delay, in positions, with which every output is causal; 0: none */
} CausalResult;

/* The text is allocated in arena. */
CausalResult causal_prove(Arena *arena, GraphFacts *facts);

/* The growing dimension of a model: the last declared one that is an axis of both an input and an output; -1:
 * none. */
int growing_dimension(const Graph *g);

/* Reduce the state that is kept of a sequence: sums of products and differences of softmaxes (absorb_sums.c); products with weights that
 * move to the other side of a contraction, explain: lines that list moved and unmoved ones (absorb_products.c); slices of joins (absorb.c).  Each
 * returns whether it changed g. */
typedef struct {
        const char **line;
        int n, cap;
} AbsorbLines;
bool join_sums(Graph *g);
bool move_products(Graph *g, int time, AbsorbLines *explain);
bool slice_joins(Graph *g, int time);

/* The state form of a causal graph: the computation of each call on its new rows, and the state kept of past
 * rows. */

/* The reason why there is no state form. */
typedef struct {
        const Node *node;
        const char *why;
} Stuck;

/* A new graph, in which `time` counts the new rows and graph->past names the past rows; NULL if an op has no
 * state form, with its node in *stuck.  g, to which the facts belong, must be causal (causal_prove); it is
 * unchanged. */
Graph *incremental(Graph *g, GraphFacts *facts, Stuck *stuck);

/* [g->nnode], by id, for nodes of the top body: the set of groups whose part contains the node; 0: the
 * calls. */
uint64_t *entry_parts(Arena *arena, const Graph *g);

/* keys_values.c: stores the states that only attention reads in this storage, the others in floats. */
void keep_keys_values(Graph *g, Storage storage);

/* The passes below change g, and return whether they did.  passes.def lists their order. */

/* phases.c: splits the top body of a graph with state into one part for each set of groups of inputs that are
 * fed separately, and the calls.  Sets g->fed_separately, g->part, g->npart.  g is unchanged if all inputs
 * are fed together. */
bool phases(Graph *g);

/* lift.c: computes products of an `along` for all positions at once, before it; said: a line for each. */
bool lift(Graph *g, Text *said);

/* fronts.c: reads padded histories in place. */
bool fronts(Graph *g);

/* accumulate.c: turns sums over stacked results into carried values. */
bool accumulate(Graph *g);

/* masked_weights.c: turns weights that a mask makes 0 into scores that it makes -inf. */
bool masked_weights(Graph *g);

/* chosen_keys.c: gives attention the list of the keys that `top` chooses. */
bool chosen_keys(Graph *g);

/* separate_scores.c: gives attention its own copy of scores that have other users. */
bool separate_scores(Graph *g);

/* separate_heads.c: stores states by heads if they are read by heads. */
bool separate_heads(Graph *g);

/* separate_operands.c: gives attention its own views of its operands. */
bool separate_operands(Graph *g);

/* separate_taps.c: copies the nodes that taps need, so that nothing else changes. */
bool separate_taps(Graph *g);
#endif
