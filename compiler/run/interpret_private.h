/* What the interpreter of Code is made of: interpret_code.c runs functions, interpret_call.c their calls of
 * kernels, jit_code.c the program. */
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
        int fed_part, slot, number, sequences, ranges;
        int64_t before;
        CodeInstance *sequence, *range;
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
        KernelFunction *soft, *part, *multiply_add, *matmul, *matmul_active, *contract, *attention,
                *attention_share, *attention_join, *mixed_share, *attention_mixed, *scan, *top, *argmax,
                *codes, *keep_codes, *blocks, *block_load, *block_gather[2];
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
        bool sees; /* sees_sequence() */
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
} Frame;

/* Runs a function whose frame is filled in but for its loops. */
void run_function(Frame *f);

/* Integers and memory of a frame: a size, an integer, where element `at` of a buffer and where an operand lie. */
int64_t frame_size(const Frame *f, Dim d);
int64_t frame_integer(const Frame *f, const Index *x);
void *frame_element(const Frame *f, Buffer *b, int64_t at);
void *frame_place(const Frame *f, Operand o);

/* Loops: how often one runs, and those from `begin` to end - 1 together; these out of one number; any loops, the last lowest; lanes that are
 * left. */
int64_t frame_times(const Frame *f, int loop);
int64_t frame_rows(const Frame *f, int begin, int end);
void frame_set_loops(Frame *f, int begin, int end, int64_t number);
void frame_set_loops_in(Frame *f, const int *loop, int n, int64_t number);
void frame_set_rest(Frame *f, const CodeLoop *lanes);
/* The rows of the sequences before this one, each of which has so many. */
int64_t frame_rows_before(const Plan *p, const CodeInstance *m, Dim rows);

static inline int64_t share_of(int64_t total, int thread, int threads)
{
        return total * thread / threads;
}

static inline int64_t part_of(int64_t end, int64_t first, int64_t count)
{
        int64_t n = end - first;
        return n < 0 ? 0 : n < count ? n : count;
}

/* View i of those that stand one after another. */
static inline const CodeInstance *view_at(const CodeInstance *views, const Interpreter *own, int i)
{
        return (const CodeInstance *)(const void *)((const char *)views + i * own->layout[0]);
}

/* interpret_call.c */
void run_matmul(Frame *f, const MatmulCall *c);
void run_activations(Frame *f, const ActivationCall *c);
void run_attention(Frame *f, const AttentionCall *c);
void run_scan(Frame *f, const ScanCall *c);
#endif
