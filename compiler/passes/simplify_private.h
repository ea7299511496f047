/* Shared by the files of the simplify pass. */
#ifndef SIMPLIFY_PRIVATE_H
#define SIMPLIFY_PRIVATE_H
#include "passes.h"

/* fold.c */
bool constant_uniform(const Node *n,
                      double *value);    /* a constant, seen through views, all of whose elements are equal */
Node *fold_constants(Graph *g, Node *n); /* n as a CONST, or NULL */

/* common.c: a table of nodes by their value */
typedef struct {
        Arena *arena;
        Node **slot;
        int64_t slots, used; /* slots: a power of two */
} CommonTable;
Node *find_common(CommonTable *t, Node *n); /* an equal node that is visible to n's body, else n, which is
                                             * added */

/* algebra.c */
Node *rewrite(Graph *g,
              Node *n); /* an equal node that costs less, or n, whose inputs may have lost broadcasts */

/* nodes with the body, source position and instance of `like`; b: NULL of an op with one operand */
Node *build_like(Graph *g, const Node *like, Op op, int nin, Node *const *in, const Attr *attr);
Node *op_like(Graph *g, const Node *like, Op op, Node *a, Node *b);

/* softmax.c */
Node *rewrite_softmax(Graph *g, Node *n); /* softmax, where n is one by hand, or n */

/* products.c */
/* n as a product, or as one that attention can absorb; or n unchanged */
Node *rewrite_product(Graph *g, Node *n);

/* prune.c */
void prune(Graph *g); /* removes dead nodes; renumbers the others */
/* The nodes that outputs other than taps need, by id; for a repeat, its needed results, by id (NULL:
 * none). */
typedef struct {
        bool *node;
        bool **result;
} Needed;
Needed outputs_need(Arena *arena, Graph *g);
#endif
