/* passes: from a graph to a graph.
 *
 * Simplification (simplify.c with algebra.c, fold.c, common.c, prune.c), recurrences (recur.c), the causal proof (causal.c on facts*.c and affine*.c), the
 * state form that follows from it (incremental.c, forms.c), and what is cut out or moved before kernels are made (phases.c,
 * accumulate.c, masked_weights.c, scores_apart.c, taps_apart.c, heads_apart.c, operands_apart.c, mixture.c).  A pass returns a new graph or the same one. */
#ifndef PASSES_H
#define PASSES_H
#include "graph/graph.h"

/* passes.def */
typedef enum {
#define PASS(name, ...) PASS_##name,
#include "passes/passes.def"
#undef PASS
        PASS_COUNT,
        GRAPH_PASSES = PASS_storage /* those over graphs are the first in the table */
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
Graph *recognise(Graph *g); /* simplify, with softmax and products that were written in other ways */
void find_wanted(Graph *g); /* Graph.wanted, for all nodes */

/* mixture.c: weights whose slots are of several kinds, kind[weight's id][slot], become weights of one kind, in bodies of their own.
 * In place, before any pass. */
void split_mixtures(Graph *g, const uint8_t *const *kind);

/* What is known of a graph's values: worked out when it is first asked for, so that the proof and the state form ask once. */
typedef struct GraphFacts GraphFacts;
/* time: a named dimension of g, which must not change any more. */
GraphFacts *graph_facts(Arena *arena, const Graph *g, int time);

/* recur.c: scans in place of masked products.  said: a line for each, and for what is almost one, why not.  Changes g, and returns whether it did. */
bool recur(Graph *g, int time, Text *said);

/* The causal proof: whether every output, at index i of `time`, is a function of the inputs up to i alone. */

typedef struct {
        bool causal;
        const Node *culprit; /* where not: the first node that reads what comes later */
        int output;          /* the output that it spoils */
        const char *why;     /* one line in the user's terms, without the place */
        const char *tap_why; /* causal, but `output` is a tap that is not: why */
        const Node *
                rests; /* causal, if values are finite: where what comes later is read if they are not; or NULL */
        const char *why_rests;
        int64_t delay; /* not causal: every output is, as many positions later; 0: no delay makes it so */
} CausalResult;

/* The text lives in arena. */
CausalResult causal_prove(Arena *arena, GraphFacts *facts);

/* The growing dimension of a model: one that an input and an output have as an axis, the last declared; -1: none. */
int growing_dimension(const Graph *g);

/* Less state of a sequence (cut.c): scores that are sums of products, and differences of softmaxes (cut_sums.c); products of weights that go to
 * the other side, explain: what was moved and what was not (cut_move.c); slices of joins.  Each changes g, and returns whether it did. */
typedef struct {
        const char **line;
        int n, cap;
} CutLines;
bool join_sums(Graph *g);
bool move_products(Graph *g, int time, CutLines *explain);
bool slice_joins(Graph *g, int time);

/* The state form of a causal graph: what each call computes of the rows it is given, and what it keeps of those before. */

/* What stands in the way of a state form. */
typedef struct {
        const Node *node;
        const char *why;
} Stuck;

/* A new graph, in which `time` counts the new rows and graph->past names the rows before; NULL where an op cannot be
 * taken apart so, and *stuck tells which.  g, whose facts they are, must be causal (causal_prove), and stays as it is. */
Graph *incremental(Graph *g, GraphFacts *facts, Stuck *stuck);

/* [g->nnode], by id, for nodes of the top body: the set of groups whose part the node belongs to; 0: the calls. */
uint64_t *entry_parts(Arena *arena, const Graph *g);

/* keys_values.c: states that attention alone reads are kept in this storage, the others in floats. */
void keep_keys_values(Graph *g, Storage storage);

/* The passes below change g, and return whether they did.  passes.def has their order. */

/* phases.c: splits the top body of a graph with state into parts, one for each set of groups of inputs that are fed separately, and the
 * calls; sets g->fed_separately, g->part, g->npart.  Where nothing is fed separately g stays as it is. */
bool phases(Graph *g);

/* fronts.c: histories that are padded in front are read in place. */
bool fronts(Graph *g);

/* accumulate.c: see there. */
bool accumulate(Graph *g);

/* masked_weights.c: weights that a mask makes 0 are scores that it makes -inf. */
bool masked_weights(Graph *g);

/* scores_apart.c: attention whose weights or scores are used elsewhere has its own. */
bool scores_apart(Graph *g);

/* heads_apart.c: states that are read by heads are kept by heads. */
bool heads_apart(Graph *g);

/* operands_apart.c: attention has views of its own of what it reads. */
bool operands_apart(Graph *g);

/* taps_apart.c: nodes that taps need are copied for them, and nothing else changes. */
bool taps_apart(Graph *g);
#endif
