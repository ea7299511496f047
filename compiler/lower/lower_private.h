/* Shared by the files of lowering: lower_expression.c has the values of a fused expression, lower_index.c the
 * offsets of elements, the others one kind of kernel each. */
#ifndef LOWER_PRIVATE_H
#define LOWER_PRIVATE_H
#include "code.h"

typedef struct {
        const Node *node;
        Map map;
        int number; /* its vector is t<number> */
} Known;
typedef struct {
        Known *at;
        int n, cap;
} KnownList;

/* A function in the making.  Statements go where their values change: `row` once a row, `lanes` once for 16 elements of the loop
 * that runs in lanes. */
typedef struct {
        Plan *plan;
        Kernel *kernel;
        Arena *arena;
        Function *function;
        Domain domain;    /* the kernel's loops, then extra ones of folds and operands */
        int loops;        /* how many of them the kernel itself runs */
        int lane;         /* the loop that now runs in lanes */
        bool active_only; /* loop 0 runs over the rows found, not over all */
        bool whole_lanes; /* its size is a multiple of 16, or lanes beyond may hold anything .. */
        bool rest_is_ours; /* .. that our own memory holds a little behind a buffer: loads from elsewhere take n */
        StmtList *row, *lanes;
        KnownList row_known, lane_known;
        int numbers;           /* vectors and integers that have been numbered */
        const Node *computing; /* the root: computed, not read */
        const Node *given[2];  /* nodes whose values the caller hands over */
        const Map *of_heads;   /* NULL; or given[0] is handed over for all heads, and otherwise at this map */
        Node *stuck;           /* the node that needs a buffer */
        Refine refine;         /* or: the cut that the domain needs */
        bool refined;
        int looked; /* live_keys.c: nodes looked at for bounds */
} Lower;

Lower lower_new(Plan *p, Kernel *k, Role role, const char *name);
void set_lane(Lower *l, int loop);
Stmt *add_stmt(Lower *l, StmtList *to, Stmt s);
/* the loops as they now are become the function's; its body is the statements of a row, then those of lanes */
void close_function(Lower *l);
bool begins_at_first(const Lower *l, int loop);
const CodeLoop *new_loop(const Lower *l, int loop);

/* The value of n at map: its vector's number, or -1 with stuck or refined set. */
int lower_value(Lower *l, Node *n, const Map *map);
int near_value(Lower *l, Node *n, const Map *map);         /* the same, in floats */
int lower_constant(Lower *l, const Node *n, double value); /* as a value of n */
/* false: lanes do not lie evenly there */
bool lower_store(Lower *l, const Node *n, Buffer *to, const Map *map, int value, StmtList *out);

/* lower_index.c */
const Index *affine_index(const Lower *l, Dim offset, const int64_t *coef,
                          bool with_lane); /* offset + sum of coef * loop */
const Index *address_index(const Lower *l, const Address *at, bool with_lane);
bool lane_step(const Lower *l, const Address *at,
               int64_t *step); /* how far apart lanes lie; false: not evenly */
const Index *tiled_index(Arena *a, const Index *base, const Index *x,
                         int64_t tile); /* base + x / 16 * tile + x % 16 */
void names_buffer(Lower *l, Buffer *b);

/* Bounds of the live keys of attention, read off its mask. */
typedef struct {
        const Index *low, *high; /* over the loops of the row, or NULL */
} Bounds;
/* Narrows the bounds by what masks in n, a score expression at m with the loop `keys` as its last axis.  A mask that the bounds say
 * whole is left out of the expression: *bare, n at first, is then what stands under it. */
void live_keys(Lower *l, Node *n, const Map *m, int keys, Bounds *bounds, Node **bare);

/* lower_*(): NULL, or the node that needs a buffer of its own before Code can be made. */
Node *lower_move(Plan *p, Kernel *k, Code *code);
Node *lower_matmul(Plan *p, Kernel *k, Code *code);
Node *lower_activations(Plan *p, Kernel *k, Code *code);
Node *lower_attention(Plan *p, Kernel *k, Code *code);
Node *lower_scan(Plan *p, Kernel *k, Code *code);
Node *lower_codes(Plan *p, Kernel *k, Code *code);
void add_function(Plan *p, Code *code, Function *f);
#endif
