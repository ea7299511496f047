/* Shared by the files of lowering: lower_expression.c and lower_fold.c lower a fused expression, lower_index.c offsets of
 * elements, the others one kind of kernel each. */
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

/* A function under construction.  `row`: statements once per row; `lanes`: once per 16 elements of the
 * loop that runs in lanes. */
typedef struct {
        Plan *plan;
        Kernel *kernel;
        Arena *arena;
        Function *function;
        Domain domain;    /* the kernel's loops, then those of folds and operands */
        int loops;        /* number of loops of the kernel */
        int lane;         /* the loop that runs in lanes */
        bool active_only; /* loop 0 runs over active rows */
        bool whole_lanes; /* its size is a multiple of 16, or lanes beyond it may have any value */
        /* and may be read from arena buffers, which have room; other loads take n elements */
        bool rest_is_ours;
        StmtList *row, *lanes;
        KnownList row_known, lane_known;
        int numbers;           /* number of vectors and integers */
        const Node *computing; /* the root, which must be computed, not read */
        const Node *given[2];  /* nodes whose values the caller passes */
        /* given[0] is passed for all heads; its other indices must be those of this map; or NULL */
        const Map *of_heads;
        Node *stuck;   /* the node that needs a buffer */
        Refine refine; /* or the split that the domain needs */
        bool refined;
        int looked; /* live_keys.c: number of visited nodes */
} Lower;

Lower lower_new(Plan *p, Kernel *k, Role role, const char *name);
void set_lane(Lower *l, int loop);
Stmt *add_stmt(Lower *l, StmtList *to, Stmt s);
/* Makes the current loops those of the function; its body is the statements of a row, then those of lanes. */
void close_function(Lower *l);
bool begins_at_first(const Lower *l, int loop);
const CodeLoop *new_loop(const Lower *l, int loop);

/* The value of n at map: number of its vector, or -1 with stuck or refine set. */
int lower_value(Lower *l, Node *n, const Map *map);
int lower_fail(Lower *l, Node *n); /* -1; n is why */
bool is_wide_here(const Lower *l, const Node *n);

/* A statement that defines the next vector, its number; the same for the value of n at m, which is found again. */
int lower_define(Lower *l, StmtList *to, Stmt s);
int lower_value_of(Lower *l, const Node *n, const Map *m, bool lane, Stmt s);
int lower_remember(Lower *l, const Node *n, const Map *m, bool lane, int number);
int known_vector(const KnownList *list, const Node *n, const Map *m); /* or -1 */
Stmt stmt_compute(Op op, bool f64, int a, int b);                     /* b: -1 for one operand */
int converted_value(Lower *l, StmtList *to, int number, bool is, bool wanted);

/* lower_fold.c: of a sum or a maximum, and of a softmax */
int lower_fold(Lower *l, Node *n, const Map *m);
int lower_softmax(Lower *l, Node *n, const Map *m);
int near_value(Lower *l, Node *n, const Map *map);         /* the same, in floats */
int lower_constant(Lower *l, const Node *n, double value); /* a constant of n's type */
/* False: lanes are not evenly spaced in the buffer. */
bool lower_store(Lower *l, const Node *n, Buffer *to, const Map *map, int value, StmtList *out);

/* lower_index.c */
/* offset + sum of coef * loop */
const Index *affine_index(const Lower *l, Dim offset, const int64_t *coef, bool with_lane);
const Index *address_index(const Lower *l, const Address *at, bool with_lane);
/* distance between lanes; false: not even */
bool lane_step(const Lower *l, const Address *at, int64_t *step);
/* base + x / 16 * tile + x % 16 */
const Index *tiled_index(Arena *a, const Index *base, const Index *x, int64_t tile);
void names_buffer(Lower *l, Buffer *b);

/* Bounds of the unmasked keys of attention, derived from its mask. */
typedef struct {
        const Index *low, *high; /* over the loops of the row; NULL: none */
} Bounds;
/* Narrows the bounds by the masks in n, a score expression at m whose last axis is the loop `keys`.  A
 * mask that the bounds imply is dropped: *bare, initially n, is the expression under it. */
void live_keys(Lower *l, Node *n, const Map *m, int keys, Bounds *bounds, Node **bare);

/* lower_*(): NULL, or the node that must have a buffer before Code can be made. */
Node *lower_move(Plan *p, Kernel *k, Code *code);
Node *lower_matmul(Plan *p, Kernel *k, Code *code);
Node *lower_activations(Plan *p, Kernel *k, Code *code);
Node *lower_attention(Plan *p, Kernel *k, Code *code);
Node *lower_scan(Plan *p, Kernel *k, Code *code);
Node *lower_codes(Plan *p, Kernel *k, Code *code);
void add_function(Plan *p, Code *code, Function *f);
#endif
