/* What the parts of printing Code share: print_c.c statements, print_index.c integers, print_pointer.c pointers, print_call.c the runtime's
 * kernels, print_function.c functions. */
#ifndef PRINT_PRIVATE_H
#define PRINT_PRIVATE_H
#include "plan/plan.h"

/* A function of several kernels. */
typedef struct {
        const char *name;
        const Kernel *kernel; /* the first of them */
        bool takes_first;     /* the first row is a parameter */
} SharedFunction;

/* print_function.c: kernels as C functions */
void print_kernel(Plan *p, const Kernel *k, Text *out);
void print_shared(Plan *p, const SharedFunction *s, Text *out); /* the function */
const char *iteration_parameters(Arena *a, const Body *b, bool types);
/* ", const int32_t *active, int64_t count": the rows that an iteration changes, where a kernel computes just these */
const char *row_parameters(const Kernel *k, bool types);

/* A pointer that a function declares. */
typedef struct {
        const char *name, *address; /* address: "m->arena + ARENA_X"; NULL: elsewhere */
        bool stored;
        int first; /* that has the same address: this declares it */
} NamedPointer;

/* A function being printed, and which of its names the text has used so far: only those are declared. */
typedef struct {
        Plan *plan;
        const Kernel *kernel;
        const Code *code;
        const Function *f;
        Arena *arena;
        bool m, place, row, head, s, apart, active, lo, hi; /* parameters */
        bool lane, rest;                                    /* j, n */
        bool bare;     /* the kernel's callbacks need no more than the instance, which is their context */
        bool one_turn; /* of a loop over lanes whose only turn is printed without a loop: j is 0, .. */
        int64_t turn_lanes; /* .. and n this number */
        int row_alias;      /* the loop whose counter is `row`, + 1 */
        const SharedFunction
                *shared; /* the function printed, with its pointers as parameters; NULL: a kernel's own */
        NamedPointer *pointer; /* [npointer] */
        int *uses;             /* [vectors] how many statements take a vector */
        const char **inlined;  /* [vectors] its expression, if it is printed where it is taken; else NULL */
        bool inlines;          /* the statement's vector is to be */
        int head_loop;         /* of a kernel that ranks share by heads: its loop over them, + 1 */
        int row_loop;          /* of one whose rows they share: its loop over them, + 1; .. */
        const char *first_row; /* .. the rank's first */
        const Kernel *all_of;  /* in one exchange of what all its iterations stored: that repeat; or NULL */
        uint32_t loops, iterations; /* i0 ..; counters of the repeats around it, outermost first */
} Printer;

/* print_shared.c: the functions that several kernels have in common, by Kernel.order.step; NULL: the kernel has its own. */
SharedFunction **find_shared(Plan *p);
const char *shared_parameters(const Printer *p);
void print_shared_call(Plan *p, const Kernel *k, const SharedFunction *shared, Text *out);

/* print_index.c */
const char *dim_expression(Arena *a, const Graph *g, Dim d);
const char *call_rows(const Plan *p); /* "m->time" */
const char *size_expression(Printer *p, Dim d);
const char *loop_end(Printer *p, const CodeLoop *loop);
const char *
rows_before(Printer *p,
            Dim rows); /* those of the sequences before the one at hand, each of which has so many */
const char *index_text(Printer *p, const Index *x);

/* print_pointer.c */
const char *pointer_name(Printer *p, Buffer *b);
void name_pointers(Printer *p);
const char *pointer_value(Printer *p, Buffer *b);               /* "m->arena + ARENA_X", "m->input_tokens" */
const char *offset_text(const Plan *p, const Buffer *b);        /* "ARENA_X", or a number of floats */
const char *place_in_c(Printer *p, Buffer *b, const Index *at); /* "x + 64 * i0" */
const char *operand_text(Printer *p, Operand o);                /* the same, or "x" */
const char *storage_text(Arena *a, const Buffer *b);            /* "STORAGE_F16" */
const char *iteration_text(Printer *p,
                           const Region *r); /* a repeat's counter, which the function then needs */
void print_pointers(Printer *p, Text *out);
void print_pointer(Printer *p, Buffer *b, Text *out); /* one of them */

/* print_c.c */
const char *literal_in_c(const Printer *p, bool far, double value);
const char *element_number(Printer *p, Buffer *b, const Index *at); /* as a number */
void print_rest(Printer *p, const CodeLoop *lanes, Text *out);
void printer_begin(Printer *p); /* once its function is known */
void print_statements(Printer *p, const StmtList *b, Text *out);

/* print_ranks.c: of a kernel that ranks share, whose own function is at hand */
void print_spread(Printer *p, Text *out);
const char *sharing(const Printer *p,
                    bool rows); /* the ranks that share the kernel by rows; or by outputs or heads */
/* a rank's heads of keys: from `own` to `behind` - 1; its rows, if ranks share them: from `first_row` to `behind_row` - 1 */
void print_own_heads(const Printer *p, int64_t heads, Text *out);
void print_own_rows(Printer *p, Text *out);

/* print_call.c */
void print_call(Printer *p, const Stmt *s, Text *out);
/* print_function.c */
void print_rows(Printer *p, const Stmt *s, Text *out);
const char *loop_size(Printer *p, int loop);
const char *row_count(Printer *p, int begin, int end);
const char *row_count_unbracketed(Printer *p, int begin, int end); /* without brackets around the whole */
/* the loops from `begin` to end - 1 out of one number, those that the text used */
void print_loops_of(Printer *p, int begin, int end, const char *from, Text *out);
/* the same of any loops, the last lowest */
void print_loops_in(Printer *p, const int *loop, int n, const char *number, Text *out);
/* what a function called back finds there: the instance and the iterations, as far as it uses them */
void print_behind_context(Printer *p, Text *out);
void print_place(Printer *p, const char *around,
                 Text *out); /* what functions called back find behind their context */
#endif
