/* The parts of the simplify pass. */
#ifndef SIMPLIFY_PRIVATE_H
#define SIMPLIFY_PRIVATE_H
#include "passes.h"

/* fold.c */
bool constant_uniform(const Node *n,
                      double *value);    /* a constant, seen through views, all of whose elements are equal */
Node *fold_constants(Graph *g, Node *n); /* n as a CONST, or NULL */

/* common.c: nodes by what they compute */
typedef struct {
        Arena *arena;
        Node **slot;
        int64_t slots, used; /* slots: a power of two */
} CommonTable;
Node *find_common(CommonTable *t, Node *n); /* an equal node that n's body sees, else n, which is entered */

/* algebra.c */
Node *rewrite(Graph *g,
              Node *n); /* an equal node that costs less, or n, whose inputs may have lost broadcasts */

/* nodes with the body, source position and instance of `like`; b: NULL of an op with one operand */
Node *build_like(Graph *g, const Node *like, Op op, int nin, Node *const *in, const Attr *attr);
Node *op_like(Graph *g, const Node *like, Op op, Node *a, Node *b);

/* softmax.c */
Node *rewrite_softmax(Graph *g, Node *n); /* softmax, where n is one by hand, or n */

/* products.c */
/* the same as a product, or by one that attention can take in; or n */
Node *rewrite_product(Graph *g, Node *n);

/* prune.c */
void prune(Graph *g); /* what no output, test, checkpoint entry or state needs goes; ids are given out anew */
/* What the outputs need that are no taps: by id the nodes, and by id of a repeat its results (NULL: none). */
typedef struct {
        bool *node;
        bool **result;
} Needed;
Needed outputs_need(Arena *arena, Graph *g);
#endif
