/* The files of the interpreter: run_program.c runs a program's steps, interpret_ranks.c those between ranks, interpret_code.c
 * functions of Code, interpret_call.c their calls of kernels; jit_code.c makes it. */
#ifndef INTERPRET_PRIVATE_H
#define INTERPRET_PRIVATE_H
#include "jit_private.h"
#include "plan/plan.h"

/* The runtime's functions, by [whether doubles are made] or by element. */
typedef struct {
        KernelFunction *compute[OP_COUNT][2], *set[2], *count[2], *keep[2], *clamp[2], *sum[2], *most[2],
                *first[2], *convert[2];
        KernelFunction *load[STORAGE_COUNT], *load_n[STORAGE_COUNT], *strided[STORAGE_COUNT],
                *gather[STORAGE_COUNT][2], *store[STORAGE_COUNT], *store_n[STORAGE_COUNT],
                *store_strided[STORAGE_COUNT];
        KernelFunction *soft, *part, *multiply_add, *matmul, *matmul_active, *contract, *attention,
                *attention_share, *attention_join, *mixed_share, *attention_mixed, *scan, *top, *argmax,
                *codes, *keep_codes, *blocks, *block_load;
} Functions;

typedef union {
        float v[LANES];
        double w[LANES];
} Vector;

/* Shared by the threads of a program. */
struct Interpreter {
        Plan *plan;
        Functions run;
        void **literal; /* by buffer: the values of IN_LITERAL, in its elements */
        int vectors;    /* most of any function */
};

/* A function being run. */
typedef struct {
        const Interpreter *own;
        const EngineInstance *m;
        const Kernel *kernel;
        const Function *f;
        int thread;
        bool sees;         /* sees_sequence() */
        Ranks *by_outputs; /* that share outputs or heads of the kernel; NULL: this one computes all */
        int own_loop;      /* the loop (+ 1) of which this rank computes a part, rows or heads, or 0: .. */
        int64_t own_first, own_times; /* .. the first one, and how many */
        int64_t iteration[MAX_NEST];
        int64_t loop[MAX_LOOPS], lane, row, *x;
        int rest;
        Vector *t;
        const int32_t *active; /* rows that are active, or where they go */
        int32_t *finds;
        int64_t count;
        const float *given;  /* what the caller hands over .. */
        int64_t apart;       /* .. of heads, so far apart */
        int result;          /* the vector that a score is */
        int64_t *low, *high; /* LIVE: what it sets */
} CodeFrame;

/* Runs a function whose frame is filled in but for its loops. */
void run_function(CodeFrame *f);

/* Integers and memory of a frame: a size, an integer, where element `at` of a buffer and where an operand lie. */
int64_t frame_size(const CodeFrame *f, Dim d);
int64_t frame_integer(const CodeFrame *f, const Index *x);
void *frame_element(const CodeFrame *f, Buffer *b, int64_t at);
void *frame_place(const CodeFrame *f, Operand o);

/* Loops: how often one runs, and those from `begin` to end - 1 together; these out of one number; any loops, the last lowest; lanes that are
 * left. */
int64_t frame_times(const CodeFrame *f, int loop);
int64_t frame_rows(const CodeFrame *f, int begin, int end);
void frame_set_loops(CodeFrame *f, int begin, int end, int64_t number);
void frame_set_loops_in(CodeFrame *f, const int *loop, int n, int64_t number);
void frame_set_rest(CodeFrame *f, const CodeLoop *lanes);
/* The rows of the sequences before this one, each with this number. */
int64_t frame_rows_before(const Plan *p, const EngineInstance *m, Dim rows);

static inline int64_t remaining(int64_t end, int64_t first, int64_t count)
{
        int64_t n = end - first;
        return n < 0 ? 0 : n < count ? n : count;
}

/* run_program.c: one thread's run of Plan.program */
void run_program(void *instance, int thread);
/* What it is at: threads run all steps. */
typedef struct {
        const Interpreter *own;
        int thread, depth; /* repeats around */
        int64_t iteration[MAX_NEST];
        const int32_t *active; /* rows that the iteration changes, [count] */
        int64_t count;
        Vector *t;
        int64_t *x;
} ThreadRun;
/* Runs a kernel's own function, or finds rows; how many there are then. */
int64_t run_kernel(const ThreadRun *r, const EngineInstance *m, const Kernel *k, int32_t *finds);
CodeFrame kernel_frame(const ThreadRun *r, const EngineInstance *m, const Kernel *k);

/* interpret_ranks.c: how this rank shares the frame's kernel; the heads of keys, of so many, that are this rank's (all, where ranks is NULL) */
void frame_share(CodeFrame *f);
typedef struct {
        int64_t first, end;
} OwnHeads;
OwnHeads rank_heads(const Ranks *ranks, int64_t heads);
int64_t rank_begin(const Ranks *ranks, int64_t total, int thread,
                   int threads); /* of a thread's share of this rank's */
/* Where this rank's iterations of a repeat begin, or (next) those of the stage after it. */
int64_t stage_begin(const Ranks *ranks, int64_t iterations, bool next);
/* Whether ranks share rows in a call with this number. */
bool ranks_share_rows(const Ranks *ranks, int64_t rows);
/* EXCHANGE, GATHER, SEND, RECEIVE and COMPARE. */
void run_transfer(const ThreadRun *r, const EngineInstance *m, const Step *s);

/* interpret_call.c */
void frame_set_row(CodeFrame *f, const EngineInstance *m,
                   int64_t row); /* of a product, in a function that is called back */
void run_matmul(CodeFrame *f, const MatmulCall *c);
void run_activations(CodeFrame *f, const ActivationCall *c);
void run_attention(CodeFrame *f, const AttentionCall *c);
void run_scan(CodeFrame *f, const ScanCall *c);
#endif
