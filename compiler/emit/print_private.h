/* Shared by the files that print Code: print_c.c statements, print_index.c integers, print_pointer.c
 * pointers, print_call.c the runtime's kernels, print_function.c functions. */
#ifndef PRINT_PRIVATE_H
#define PRINT_PRIVATE_H
#include "plan/plan.h"

/* A function that several kernels share. */
typedef struct {
        const char *name;
        const Kernel *kernel; /* the first of the kernels */
        bool takes_first;     /* the first row is a parameter */
} SharedFunction;

/* print_function.c: kernels as C functions */
void print_kernel(Plan *p, const Kernel *k, Text *out);
void print_shared(Plan *p, const SharedFunction *s, Text *out); /* prints the shared function */
const char *iteration_parameters(Arena *a, const Body *b, bool types);
/* ", const int32_t *active, int64_t count": the active rows, if a kernel computes only these */
const char *row_parameters(const Kernel *k, bool types);

/* A pointer that a function declares. */
typedef struct {
        const char *name, *address; /* address: "m->arena + ARENA_X"; NULL: not in these homes */
        bool stored;
        int first; /* the first pointer with the same address, which declares it */
} NamedPointer;

/* A function being printed, and the names that its text uses: only these are declared. */
typedef struct {
        Plan *plan;
        const Kernel *kernel;
        const Code *code;
        const Function *f;
        Arena *arena;
        bool m, place, row, head, s, apart, active, lo, hi; /* parameters that are used */
        bool lane, rest;                                    /* j, n */
        bool bare;                    /* callbacks need only the instance, which is their context */
        bool one_turn;                /* a loop over lanes has one iteration and is printed without a loop */
        int64_t turn_lanes;           /* one_turn: the value of n; j is 0 */
        int row_alias;                /* the loop whose counter is `row`, + 1 */
        const SharedFunction *shared; /* its pointers are parameters; NULL: the function of a kernel */
        NamedPointer *pointer;        /* [npointer] */
        int *uses;                    /* [vectors] number of statements that use a vector */
        const char **inlined;         /* [vectors] its expression if it is inlined, else NULL */
        bool inlines;                 /* the vector of the current statement is inlined */
        int head_loop;                /* kernel shared by heads: its loop over heads, + 1 */
        int row_loop;                 /* kernel shared by rows: its loop over rows, + 1 */
        const char *first_row;        /* row_loop: the rank's first row */
        const Kernel *all_of;       /* repeat with one exchange for the results of all iterations; or NULL */
        uint32_t loops, iterations; /* that are used: i0 ..; counters of outer repeats, outermost first */
} Printer;

/* print_shared.c: the shared functions, by Kernel.order.step; NULL: the kernel has its own. */
SharedFunction **find_shared(Plan *p);
const char *shared_parameters(const Printer *p);
void print_shared_call(Plan *p, const Kernel *k, const SharedFunction *shared, Text *out);

/* print_index.c */
const char *dim_expression(Arena *a, const Graph *g, Dim d);
const char *call_rows(const Plan *p); /* "m->time" */
const char *size_expression(Printer *p, Dim d);
const char *loop_end(Printer *p, const CodeLoop *loop);
const char *rows_before(Printer *p, Dim rows); /* of earlier sequences, if each has this many */
const char *index_text(Printer *p, const Index *x);

/* print_pointer.c */
const char *pointer_name(Printer *p, Buffer *b);
void name_pointers(Printer *p);
const char *pointer_value(Printer *p, Buffer *b);               /* "m->arena + ARENA_X", "m->input_tokens" */
const char *offset_text(const Plan *p, const Buffer *b);        /* "ARENA_X", or a number of floats */
const char *place_in_c(Printer *p, Buffer *b, const Index *at); /* "x + 64 * i0" */
const char *operand_text(Printer *p, Operand o);                /* the same, or "x" */
const char *storage_text(Arena *a, const Buffer *b);            /* "STORAGE_F16" */
const char *iteration_text(Printer *p, const Region *r);        /* marks a repeat's counter as used */
void print_pointers(Printer *p, Text *out);
void print_pointer(Printer *p, Buffer *b, Text *out); /* a single pointer */

/* print_c.c */
const char *literal_in_c(const Printer *p, bool f64, double value);
const char *element_number(Printer *p, Buffer *b, const Index *at); /* index of an element */
void print_rest(Printer *p, const CodeLoop *lanes, Text *out);
void printer_begin(Printer *p); /* after its function is set */
void print_statements(Printer *p, const StmtList *b, Text *out);

/* print_ranks.c: functions of kernels that ranks share */
void print_sharding(Printer *p, Text *out);
const char *sharing(const Printer *p, bool rows); /* ranks that share by rows; or by outputs or heads */
/* A rank's KV heads are `own` to `behind` - 1; its rows, if shared, `first_row` to `behind_row` - 1. */
void print_own_heads(const Printer *p, int64_t heads, Text *out);
void print_own_rows(Printer *p, Text *out);

/* print_call.c */
void print_call(Printer *p, const Stmt *s, Text *out);
/* print_function.c */
void print_rows(Printer *p, const Stmt *s, Text *out);
const char *loop_size(Printer *p, int loop);
const char *row_count(Printer *p, int begin, int end);
const char *row_count_unbracketed(Printer *p, int begin, int end); /* without outer parentheses */
/* computes the used counters of loops `begin` to end - 1 from one number */
void print_loops_of(Printer *p, int begin, int end, const char *from, Text *out);
/* the same for a list of loops, the last one lowest */
void print_loops_in(Printer *p, const int *loop, int n, const char *number, Text *out);
/* declares the instance and iterations of a callback's context, if used */
void print_behind_context(Printer *p, Text *out);
void print_place(Printer *p, const char *around, Text *out); /* context of callbacks */
#endif
