/* The graph by blocks: blocks and the flows between them (graph_blocks.c), and their positions
 * (graph_layout.c). */
#ifndef GRAPH_PRIVATE_H
#define GRAPH_PRIVATE_H
#include "pictures_private.h"

enum { MOST_NESTED = 64, MOST_WEIGHTS = 2 /* that a block names */ };

typedef enum {
        BLOCK_GROUP,  /* of others: an instance, or the whole */
        BLOCK_REPEAT, /* of others: a body of a repeat */
        BLOCK_LEAF,   /* an instance */
        BLOCK_OPS,    /* ops that stand in no instance of their own */
        BLOCK_INPUT,
        BLOCK_OUTPUT,
        BLOCK_STATE /* what is kept between calls */
} BlockKind;

typedef struct GraphBlock GraphBlock;
struct GraphBlock {
        BlockKind kind;
        int id;
        GraphBlock *outer;        /* NULL: the whole */
        const char *name, *shape; /* of its value */
        DrawnKind colour;
        const char *ops; /* OPS: what they are .. */
        int nop;
        Op op;        /* .. and the last one */
        int inputs;   /* flows to it */
        int64_t runs; /* REPEAT: iterations that take the body */
        const Weight *weight[MOST_WEIGHTS];
        const char *weight_text[MOST_WEIGHTS]; /* "w [96, 96]" */
        int nweight, more_weights;
        GraphBlock **inside; /* of a group */
        int ninside, cap_inside;
        double x, y, width, height; /* pixels; x and y within the group */
};

typedef struct {
        GraphBlock *from, *to; /* no groups */
} GraphFlow;

typedef struct {
        double x, y;
} Point;

/* A flow's way through one group: from a border or a block to the next, downwards. */
typedef struct {
        Point *point;
        int n;
        bool arrives;             /* at the block that it is for .. */
        bool back;                /* .. which is its upper end */
        const GraphBlock *within; /* the group */
} FlowPath;

typedef struct {
        Arena *arena;
        GraphBlock *top;
        GraphBlock **block;
        int nblock, cap_block;
        GraphFlow *flow;
        int nflow, cap_flow;
        FlowPath *way; /* once they are laid out, from the top's corner on */
        int nway, cap_way;
} BlockGraph;

BlockGraph *graph_blocks(Arena *a, const Graph *g);
/* graph_alike.c: of the last blocks, those of the body `last`, and as many before them, those of the body `one` */
bool blocks_look_alike(const BlockGraph *g, const GraphBlock *one, const GraphBlock *last);
GraphBlock *counterpart(const BlockGraph *g, const GraphBlock *last,
                        GraphBlock *b); /* of what is of the last body: in the one before it */
void drop_last_body(BlockGraph *g, GraphBlock *last);
bool is_group(const GraphBlock *b);
/* graph_picture.c: the lines of a block that is no group */
int block_lines(Arena *a, const GraphBlock *b, const char **line); /* [MOST_LINES] */
enum { MOST_LINES = 6 };
bool is_dot_op(const GraphBlock *b);      /* +, - or ×: drawn as a circle */
void size_block(Arena *a, GraphBlock *b); /* width and height of one that is no group */
/* graph_layout.c: sizes and places of all blocks, and the ways of all flows */
void lay_out_blocks(BlockGraph *b);
#endif
