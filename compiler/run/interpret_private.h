/* What the interpreter of Code is made of: interpret_code.c runs functions, jit_code.c the program. */
#ifndef INTERPRET_PRIVATE_H
#define INTERPRET_PRIVATE_H
#include "jit_private.h"
#include "lower/code.h"

/* An instance as the interpreter lays it out; its pointers stand behind it. */
typedef struct CodeInstance CodeInstance;
struct CodeInstance {
        InstanceHead head;
        const struct Interpreter *interpreter;
        int64_t first, whole, done;
        int fed_part, slot, sequences, ranges;
        CodeInstance *sequence, *range;
        const CodeInstance **of;
        const int32_t *page_of;
        int64_t base[MAX_CACHES];
        int64_t named[MAX_NAMED];
        void *pointer[]; /* [ninput + noutput] */
};

/* The runtime's functions, by [whether doubles are made] or by element. */
typedef struct {
        KernelFunction *compute[OP_COUNT][2], *set[2], *count[2], *keep[2], *clamp[2], *sum[2], *most[2],
                *first[2], *convert[2];
        KernelFunction *load[STORAGE_COUNT], *load_n[STORAGE_COUNT], *strided[STORAGE_COUNT],
                *gather[STORAGE_COUNT][2], *store[STORAGE_COUNT], *store_n[STORAGE_COUNT],
                *store_strided[STORAGE_COUNT];
        KernelFunction *soft, *part, *matmul, *matmul_active, *activations, *past_zeros, *attention,
                *attention_share, *attention_join, *top, *argmax, *codes, *keep_codes, *blocks, *block_load,
                *block_gather[2];
} Functions;

typedef union {
        float v[LANES];
        double w[LANES];
} Vector;

/* What the threads of a program share. */
typedef struct Interpreter {
        Plan *plan;
        Functions run;
        void **literal; /* by buffer: the values of IN_LITERAL, in its elements */
        int vectors;    /* most of any function */
        int64_t *layout;
} Interpreter;

/* A function being run. */
typedef struct {
        const Interpreter *own;
        const CodeInstance *m;
        const Kernel *kernel;
        const Function *f;
        int thread;
        int64_t iteration[MAX_NEST];
        int64_t loop[MAX_LOOPS], lane, row, *x;
        int rest;
        Vector *t;
        const int32_t *active; /* rows that are active, or where they go */
        int32_t *finds;
        int64_t count;
        const float *given;  /* what the caller hands over */
        int result;          /* the vector that a score is */
        int64_t *low, *high; /* LIVE: what it sets */
} Frame;

/* Runs a function whose frame is filled in but for its loops. */
void run_function(Frame *f);
#endif
