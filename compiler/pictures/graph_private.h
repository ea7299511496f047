/* The graph by blocks: blocks and the flows between them (graph_blocks.c), and their positions
 * (graph_layout.c). */
#ifndef GRAPH_PRIVATE_H
#define GRAPH_PRIVATE_H
#include "pictures_private.h"

enum { MAX_NESTED_BLOCKS = 64, MAX_WEIGHTS = 2 /* that a block shows */ };

typedef enum {
        BLOCK_GROUP,  /* contains others: an instance, or the whole */
        BLOCK_REPEAT, /* contains others: a body of a repeat */
        BLOCK_LEAF,   /* an instance */
        BLOCK_OPS,    /* ops outside of drawn instances */
        BLOCK_INPUT,
        BLOCK_OUTPUT,
        BLOCK_STATE /* data kept between calls */
} BlockKind;

typedef struct GraphBlock GraphBlock;
struct GraphBlock {
        BlockKind kind;
        int id;
        GraphBlock *outer;        /* NULL: the whole */
        const char *name, *shape; /* of its value */
        DrawnKind colour;
        const char *ops; /* OPS: their names */
        int nop;
        Op op;        /* OPS: the last one */
        int inputs;   /* number of incoming flows */
        int64_t runs; /* REPEAT: iterations with the body */
        const Weight *weight[MAX_WEIGHTS];
        const char *weight_text[MAX_WEIGHTS]; /* "w [96, 96]" */
        int nweight, more_weights;
        GraphBlock **inside; /* of a group */
        int ninside, cap_inside;
        double x, y, width, height; /* pixels; x and y relative to the group */
};

typedef struct {
        GraphBlock *from, *to; /* not groups */
} GraphFlow;

typedef struct {
        double x, y;
} Point;

/* The path of a flow through one group: from a border or a block to the next, downwards. */
typedef struct {
        Point *point;
        int n;
        bool arrives;             /* at its target block */
        bool back;                /* `arrives` is at the upper end */
        const GraphBlock *within; /* the group */
} FlowPath;

typedef struct {
        Arena *arena;
        GraphBlock *top;
        GraphBlock **block;
        int nblock, cap_block;
        GraphFlow *flow;
        int nflow, cap_flow;
        FlowPath *way; /* after layout, from the corner of the top */
        int nway, cap_way;
} BlockGraph;

BlockGraph *graph_blocks(Arena *a, const Graph *g);
/* graph_alike.c: whether the last blocks, of the body `last`, look like those before them, of the body
 * `one`. */
bool blocks_look_alike(const BlockGraph *g, const GraphBlock *one, const GraphBlock *last);
/* the corresponding block of the body before, for one of the last body */
GraphBlock *counterpart(const BlockGraph *g, const GraphBlock *last, GraphBlock *b);
void drop_last_body(BlockGraph *g, GraphBlock *last);
bool is_group(const GraphBlock *b);
/* graph_picture.c: the lines of a block that is not a group. */
int block_lines(Arena *a, const GraphBlock *b, const char **line); /* [MAX_LINES] */
enum { MAX_LINES = 6 };
bool is_dot_op(const GraphBlock *b);      /* +, - or ×: drawn as a circle */
void size_block(Arena *a, GraphBlock *b); /* width and height of a block that is not a group */
/* graph_layout.c: sizes and positions of all blocks, and paths of all flows. */
void lay_out_blocks(BlockGraph *b);
#endif
