/* Shared by the passes that reduce the state (absorb.c). */
#ifndef ABSORB_PRIVATE_H
#define ABSORB_PRIVATE_H
#include "passes.h"

/* A graph whose nodes are replaced, body by body, in order. */
typedef struct {
        Graph *g;
        Node **replaced;                           /* by id of the nodes before: the replacement */
        void *of;                                  /* data of the rewrite */
        Node *(*rewrite)(const void *of, Node *n); /* n on its new inputs: an equal node that is made behind
                                                      all before it, or n */
} Replacing;
void replace_nodes(Replacing *r); /* absorb.c */

/* The stored values behind a product's operand, seen through views and joins: consecutive parts along one of
 * its axes. */
enum { MAX_ABSORB_PARTS = 8 };
typedef struct {
        Node *base; /* the value that the view below shows */
        View view;  /* from the operand's axes; the split axis is as long as this part */
        Dim width;
        bool moves; /* the base is a product of a latent with a weight that can move to the other side */
} AbsorbPart;
typedef struct {
        Arena *arena;
        int rank, wide, along; /* axes of the operand: the split one, and that of positions */
        int n;
        AbsorbPart part[MAX_ABSORB_PARTS];
} AbsorbParts;
/* false: more parts than MAX_ABSORB_PARTS. */
bool operand_parts(AbsorbParts *p, Arena *arena, Node *operand, int wide, int along);

bool is_attention_score(const Uses *u,
                        const Node *n); /* a way from it leads through elementwise ops to a softmax */
/* x[.., first .. first + count]; for a join, its inputs if the range ends at their ends. */
Node *slice_last(Graph *g, Body *b, Node *x, int64_t first, int64_t count, const Node *like);
Node *join_last(Graph *g, Body *b, Node *const *x, int n, const Node *like);
Node *turn_last(Graph *g, Body *b, Node *x, const Node *like); /* exchanges the last two axes */
#endif
