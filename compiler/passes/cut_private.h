/* Shared by the passes that reduce the state (cut.c). */
#ifndef CUT_PRIVATE_H
#define CUT_PRIVATE_H
#include "passes.h"

/* A graph whose nodes are replaced by others, body by body, in order. */
typedef struct {
        Graph *g;
        Node **replaced; /* by id, for ids below `limit`: what stands for the node now */
        int limit;
        void *of;                                  /* the rewrite's own */
        Node *(*rewrite)(const void *of, Node *n); /* n on its new inputs: an equal node that is made behind
                                                      all before it, or n */
} Replacing;
void replace_nodes(Replacing *r); /* cut.c */

/* An operand of a product as it lies in memory, seen through views and joins: parts one after another along one of its axes. */
enum { MOST_PARTS = 8 };
typedef struct {
        Node *base; /* the view below shows it as the part */
        View view; /* from the operand's axes, of which the one along which it is cut is as long as this part */
        Dim width;
        bool moves; /* the base is a product of a latent with a weight that can go to the other side */
} CutPart;
typedef struct {
        Arena *arena;
        int rank, wide, along; /* axes of the operand: the one that is cut, and that of positions */
        int n;
        CutPart part[MOST_PARTS];
} CutParts;
/* false: it has more parts than there is room for. */
bool operand_parts(CutParts *p, Arena *arena, Node *operand, int wide, int along);

bool is_attention_score(const Uses *u,
                        const Node *n); /* a way from it leads through elementwise ops to a softmax */
/* x[.., first .. first + count]; of a join its inputs, where it is cut at their ends. */
Node *slice_last(Graph *g, Body *b, Node *x, int64_t first, int64_t count, const Node *like);
Node *join_last(Graph *g, Body *b, Node *const *x, int n, const Node *like);
Node *turn_last(Graph *g, Body *b, Node *x, const Node *like); /* its last two axes */
#endif
