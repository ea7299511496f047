/* The files of the interpreter: run_program.c runs a program's steps, interpret_ranks.c those between ranks, interpret_code.c
 * functions of Code, interpret_call.c their calls of kernels; jit_code.c makes it. */
#ifndef INTERPRET_PRIVATE_H
#define INTERPRET_PRIVATE_H
#include "jit_private.h"
#include "plan/plan.h"

/* Functions of the runtime, by [doubles] or by element type. */
typedef struct {
        KernelFunction *compute[OP_COUNT][2], *set[2], *count[2], *keep[2], *clamp[2], *sum[2], *most[2],
                *first[2], *convert[2];
        KernelFunction *load[STORAGE_COUNT], *load_n[STORAGE_COUNT], *strided[STORAGE_COUNT],
                *gather[STORAGE_COUNT][2], *store[STORAGE_COUNT], *store_n[STORAGE_COUNT],
                *store_strided[STORAGE_COUNT];
        KernelFunction *soft, *part, *multiply_add, *matmul, *matmul_active, *contract, *attention,
                *attention_share, *attention_join, *mixed_share, *attention_mixed, *scan, *top, *chosen,
                *among, *attention_chosen, *argmax, *codes, *keep_codes, *blocks, *block_load;
} Functions;

typedef union {
        float v[LANES];
        double w[LANES];
} Vector;

/* Shared by the threads of a program. */
struct Interpreter {
        Plan *plan;
        Functions run;
        void **literal; /* by buffer: values of IN_LITERAL, in its element type */
        int vectors;    /* maximum of any function */
};

/* A function being run. */
typedef struct {
        const Interpreter *own;
        const EngineInstance *m;
        const Kernel *kernel;
        const Function *f;
        int thread;
        bool sees;         /* sees_sequence() */
        Ranks *by_outputs; /* that share the kernel's outputs or heads; NULL: this rank computes all */
        int own_loop;      /* the loop (+ 1) over rows or heads of which this rank computes a part, or 0 */
        int64_t own_first, own_times; /* first and number of own_loop's iterations */
        int64_t iteration[MAX_NEST];
        int64_t loop[MAX_LOOPS], lane, row, *x;
        int rest;
        Vector *t;
        const int32_t *active; /* active rows, or where they are stored */
        int32_t *finds;
        int64_t count;
        const float *given;  /* values passed by the caller */
        int64_t apart;       /* distance of heads in `given` */
        int result;          /* number of the vector with the score */
        int64_t *low, *high; /* LIVE: results */
} CodeFrame;

/* Runs a function whose frame is complete except for its loops. */
void run_function(CodeFrame *f);

/* Integers and memory of a frame: a size, an integer, addresses of element `at` of a buffer and of an
 * operand. */
int64_t frame_size(const CodeFrame *f, Dim d);
int64_t frame_integer(const CodeFrame *f, const Index *x);
void *frame_element(const CodeFrame *f, Buffer *b, int64_t at);
void *frame_place(const CodeFrame *f, Operand o);

/* Loops: iterations of one loop, and of `begin` to end - 1 together; counters from one number; for a list
 * of loops, the last one lowest; remaining lanes. */
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
/* State of a run: all threads run all steps. */
typedef struct {
        const Interpreter *own;
        int thread, depth; /* depth: number of outer repeats */
        int64_t iteration[MAX_NEST];
        const int32_t *active; /* active rows of the iteration, [count] */
        int64_t count;
        Vector *t;
        int64_t *x;
} ThreadRun;
/* Runs a kernel's own function, or finds active rows; returns their number. */
int64_t run_kernel(const ThreadRun *r, const EngineInstance *m, const Kernel *k, int32_t *finds);
CodeFrame kernel_frame(const ThreadRun *r, const EngineInstance *m, const Kernel *k);

/* interpret_ranks.c: this rank's share of the frame's kernel; its KV heads of `heads` (all, if ranks is
 * NULL) */
void frame_share(CodeFrame *f);
typedef struct {
        int64_t first, end;
} OwnHeads;
OwnHeads rank_heads(const Ranks *ranks, int64_t heads);
/* of a thread in this rank's share */
int64_t rank_begin(const Ranks *ranks, int64_t total, int thread, int threads);
/* First iteration of this rank's stage in a repeat, or (next) of the following stage. */
int64_t stage_begin(const Ranks *ranks, int64_t iterations, bool next);
/* Whether ranks share rows in a call with this number. */
bool ranks_share_rows(const Ranks *ranks, int64_t rows);
/* EXCHANGE, GATHER, SEND, RECEIVE and COMPARE. */
void run_transfer(const ThreadRun *r, const EngineInstance *m, const Step *s);

/* interpret_call.c */
void frame_set_row(CodeFrame *f, const EngineInstance *m, int64_t row); /* row of a product, in a callback */
void run_matmul(CodeFrame *f, const MatmulCall *c);
void run_activations(CodeFrame *f, const ActivationCall *c);
void run_attention(CodeFrame *f, const AttentionCall *c);
void run_scan(CodeFrame *f, const ScanCall *c);
#endif
