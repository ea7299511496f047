/* Formulas: the nodes of a kernel as statements on v16 values. */
#ifndef FORMULA_H
#define FORMULA_H
#include "plan.h"
#include "text.h"

typedef struct {
        const Node *node;
        Map map;
        int number; /* its variable is t<number> */
} Known;
typedef struct {
        Known *at;
        int n, cap;
} KnownList;

/* Statements go where their values change: `row` once a row, `lanes` once for 16 elements of the lanes' digit. */
typedef struct {
        Plan *plan;
        Kernel *kernel;
        Arena *arena;
        Domain domain;    /* the kernel's loops, then folds' and operands' extra digits */
        int loops;        /* how many of them the kernel itself runs */
        int lane;         /* the digit that now runs in lanes */
        bool listed;      /* digit 0 runs over the rows found, not over all */
        bool whole_lanes; /* its size is a multiple of 16, or lanes beyond may hold anything .. */
        bool rest_is_ours; /* .. that our own memory holds a little behind a buffer: loads from elsewhere take n */
        Text *row, *lanes;
        KnownList row_known, lane_known;
        int numbers;             /* variables given out */
        const Node *computing;   /* the root: computed, not read */
        const Node *given[2];    /* nodes whose values are given .. */
        const char *given_as[2]; /* .. by these expressions */
        Buffer **pointer;        /* buffers that have a local pointer */
        int npointer, cap_pointer;
        Node *stuck;   /* the node that needs a buffer */
        Refine refine; /* or: the cut that the domain needs */
        bool refined;
        int looked; /* live_keys.c: nodes looked at for bounds */
} Formula;

/* The value of n at map: its variable's number, or -1 with stuck or refined set. */
int formula_value(Formula *f, Node *n, const Map *map);
/* t<n> = op(arguments), the statement added to `to`; returns n */
int vector_define(Formula *f, Text *to, const char *op, const char *arguments, const char *comment);
/* C expressions */
const char *number_literal(const Formula *f, bool far, double value);
const char *dim_expression(Arena *a, const Graph *g, Dim d);
const char *index_expression(Formula *f, Dim offset, const int64_t *coef,
                             bool with_lane); /* offset + sum of coef * digit */
const char *address_expression(Formula *f, const Address *at, bool with_lane);
Buffer *pointed_buffer(Buffer *b);
const char *pointer_name(Formula *f, Buffer *b);  /* the local pointer, for loads and stores by b->element */
const char *float_pointer(Formula *f, Buffer *b); /* the same, for what takes floats alone */
const char *digit_name(const Formula *f, int digit);
/* false: lanes do not lie evenly there */
bool formula_store(Formula *f, const Node *n, Buffer *to, const Map *map, int value, Text *out);
int formula_constant(Formula *f, const Node *n, double value); /* as a value of n */

/* emit_kernel.c: pieces that emitted functions are put together from */
Formula formula_new(Plan *p, Kernel *k);
void set_lane(Formula *f, int digit);
void declare_pointers(Formula *f, Text *out); /* to every buffer that was named */
/* the digits from `begin` up to `end` out of one number, those that body uses */
void declare_digits(const Formula *f, int begin, int end, const char *from, const Text *body, Text *out);
const char *pointer_at(Formula *f, Buffer *b, const char *offset);
/* instance, trips, and the number of the loops around a product, for functions called back .. */
void declare_place(Formula *f, const char *around, Text *out);
/* .. of which this writes one; parameters (NULL at the end) that the body does not use are cast to void */
void open_callback(Formula *f, const char *head, const Text *body, const char *const *parameter, Text *out);
bool uses_name(const char *body, const char *name);
void unused(Text *t, const char *body, const char *name); /* a cast to void if body does not use the name */
void unused_trips(Text *t, const Body *b, const char *body);
bool begins_at_first(const Formula *f, int digit); /* its loop leaves out the rows before m->first */
const char *loop_size(const Formula *f, int digit);
const char *row_count(const Formula *f, int begin, int end); /* of those digits together */
void open_function(const Plan *p, const Kernel *k, Text *out,
                   const Text *body);               /* the whole function around a body */
bool asks_for_taps(const Plan *p, const Kernel *k); /* its function calls wants_taps() */
const char *trip_parameters(Arena *a, const Body *b, bool types);
/* ", const int32_t *found, int64_t count": the rows that a trip changes, where a kernel computes just these */
const char *row_parameters(const Kernel *k, bool types);
/* emit_move.c, emit_product.c, emit_attention.c */
Node *emit_move(Plan *p, Kernel *k, Text *out);
Node *emit_matmul(Plan *p, Kernel *k, Text *out);
Node *emit_plain(Plan *p, Kernel *k, Text *out);
Node *emit_attention(Plan *p, Kernel *k, Text *out);
#endif
