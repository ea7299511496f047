/* Code: the computation of a kernel as statements.
 *
 * lower() makes it from a kernel; check_code() proves that accesses are within their buffers; batch, plan and
 * sync derive the accessed buffers from it; print_c.c prints it as C, and interpret_code.c interprets it.
 * docs/ir.md is its reference.
 *
 *   Kernel ── lower ──► Code ── check_code ──► batch, plan, sync ──► C, or the interpreter
 *
 * A kernel is one function that every thread runs for its share, and the callbacks of the runtime's kernels.
 * All memory is in the graph's arena.  Offsets of buffers are not part of Code: plan assigns them later. */
#ifndef CODE_H
#define CODE_H
#include "kernels/kernels.h"

/* --- integers ------------------------------------------------------------------------------------------------- */

typedef enum {
        INDEX_SUM,   /* sum of coef * of over the terms, + offset */
        INDEX_LOOP,  /* the value of the function's loop `number` */
        INDEX_LANE,  /* the first of the 16 elements that are computed together */
        INDEX_PLACE, /* the integer x<number> */
        INDEX_WHOLE, /* positions of the caller's whole call, of which this is a part */
        INDEX_DONE,  /* those of them that were taken before this part */
        INDEX_PLUS,  /* a + b, and so on */
        INDEX_MINUS,
        INDEX_TIMES,
        INDEX_QUOTIENT, /* rounded to 0; a is not negative where that matters */
        INDEX_REMAINDER,
        INDEX_LEAST,
        INDEX_MOST,
        INDEX_HELD, /* the row in which position a of the sequence is held, by its pages */
        INDEX_TABLE /* element a of the whole numbers that the constant `table` holds */
} IndexOp;

typedef struct Index Index;
typedef struct {
        int64_t coef;
        const Index *of;
} Term;
struct Index {
        IndexOp op;
        int number; /* LOOP PLACE */
        int nterm;  /* SUM */
        const Term *term;
        Dim offset;
        const Index *a, *b;
        const Node *table; /* TABLE */
};

const Index *index_number(Arena *a, int64_t n);
const Index *index_size(Arena *a, Dim d);
const Index *index_leaf(Arena *a, IndexOp op, int number);
const Index *index_two(Arena *a, IndexOp op, const Index *x, const Index *y);
bool index_same(const Index *x, const Index *y);
bool index_is(const Index *x, int64_t n); /* a fixed number, n */
int index_nodes(const Index *x);          /* how large it is */

/* --- functions ------------------------------------------------------------------------------------------------- */

typedef enum {
#define STMT(name, ...) STMT_##name,
#include "code.def"
#undef STMT
        STMT_END
} StmtOp;
extern const char *const stmt_text[STMT_END];

/* A loop: from 0, or from the first wanted row, up to its size; or over the rows that were active; or over the rows of all sequences,
 * of which each has that many. */
typedef struct {
        Dim size;
        bool from_first, active, together;
} CodeLoop;

enum { ALL_LANES = 16, ONE_LANE = 1, REST_LANES = 0 /* n of them */ };

typedef struct Stmt Stmt;
typedef struct Function Function;
typedef struct {
        Stmt *stmt;
        int n, cap;
} StmtList;

/* Where an operand of a runtime kernel begins. */
typedef struct {
        Buffer *buffer;
        const Index *at;
} Operand;

typedef struct {
        const Segment *segment;
        const Function *epilogue;
        int64_t first,
                panels; /* of all the call's panels, which threads share; each of 16 columns (or twice, with two products) */
        const Index *w_at; /* of a weight by heads: where the panels begin, by the loops around */
} MatmulPart;
typedef struct {
        Operand x; /* rows, `ldx` floats apart */
        int64_t ldx;
        int outer; /* loops before this one run around the calls; the others count the rows */
        MatmulPart *part;
        int npart;
        int64_t panels;
} MatmulCall;

typedef struct {
        Operand to, a, b; /* at the rows' first */
        int64_t to_row, a_row, a_step, b_step, b_lane;
        const CodeLoop *columns, *depth;
        int zeros;                      /* ZEROS_LEFT, ZEROS_RIGHT */
        int row;                        /* loop of the rows, which share b; -1: one */
        int around[MAX_LOOPS], naround; /* the other loops, outermost first */
} ActivationCall;

typedef struct {
        Operand q, k, v, out;
        int64_t q_row, q_head, k_head, k_tile, v_head, v_key, out_row, out_head;
        int64_t k_key; /* of keys in rows, whose k_tile is 0; else 0 */
        int64_t heads, kv_heads, head_dim, v_dim;
        Dim keys, first_key, first_value;    /* whose key and value lie first in the buffers */
        bool first_held;                     /* these are not 0: a window's state */
        bool k_paged, v_paged;               /* they lie in pages */
        int row;                             /* loop of the rows, or -1: one row */
        int around[MAX_LOOPS], naround;      /* loops around, outermost first */
        const Function *score, *live, *sink; /* sink: or NULL */
        const Function *weigh; /* NULL; or heads are mixed: score and weigh take the values of all */
        bool all_weigh;        /* .. and keys that no score lets live have weights too */
} AttentionCall;

typedef struct {
        Operand q, k, v, powers, out; /* buffer NULL: there is none */
        Operand state;                /* likewise: it begins anew in each call, in scratch */
        int64_t q_row, k_row, v_row, out_row;
        int64_t depth, width, heads;
        bool maxima;                    /* in place of sums */
        Dim position;                   /* of the first row */
        int row;                        /* loop of the rows */
        int around[MAX_LOOPS], naround; /* loops of the heads, outermost first */
} ScanCall;

typedef struct {
        Operand to, of;
        int64_t to_step, of_step;
        const CodeLoop *over;
        int count;
} SelectCall;

typedef struct {
        Operand to, from;
} MoveCall;

struct Stmt {
        StmtOp op;
        Op compute; /* COMPUTE ACCUMULATE ACROSS */
        bool far;   /* the vector that it defines or stores holds doubles */
        int to;     /* its number; of PLACE and INTEGER that of x */
        int from[3], nfrom;
        double value;   /* NUMBER KEEP START */
        int variant;    /* GIVEN: which of its values; GATHER: of doubles */
        const Node *of; /* whose value it is: a comment; PER_ITERATION: the constant */
        Buffer *buffer;
        const Index *at; /* BOUNDS: low, or NULL */
        const Index *high;
        int64_t step;
        int lanes;
        int begin, end; /* ROWS */
        const CodeLoop *over;
        StmtList *inside;
        union {
                const MatmulCall *matmul;
                const ActivationCall *activation;
                const AttentionCall *attention;
                const ScanCall *scan;
                const SelectCall *select;
                const MoveCall *move;
        } call;
};

typedef enum { WHOLE_KERNEL, EPILOGUE, SCORE, LIVE, SINK, ACTIVE_ROWS } Role;

struct Function {
        Role role;
        const char *name;
        StmtList body;
        CodeLoop loop[MAX_LOOPS]; /* by number: the kernel's loops */
        int nloop;
        int lane_loop;    /* EPILOGUE, SCORE: the loop that runs in lanes, given by the caller */
        bool whole_lanes; /* its size is a multiple of 16, or lanes beyond may hold anything */
        int outer; /* EPILOGUE: loops before this one come from the calls' turn, those behind from the row */
        int products; /* EPILOGUE: results that it is handed */
        int head[MAX_LOOPS], nhead,
                row;      /* SCORE, LIVE, SINK: loops that the head's number counts, and the row's, or -1 */
        Buffer **pointer; /* the buffers that it names */
        int npointer, cap_pointer;
        int vectors; /* how many vectors and integers it numbers */
};

enum { USES_POSITION = 1, USES_STATE = 2 };

typedef struct Code {
        Function **function; /* those that are called back first; the kernel's own last */
        int n;
        Buffer **read, **written; /* whole buffers */
        int nread, nwritten;
        unsigned uses;         /* what differs between sequences */
        bool alike, own_alike; /* rows_are_alike(): all functions, the kernel's own */
} Code;

/* lower.c: makes Kernel.code anew, as the kernel's marks and buffers now are.  NULL, or the node that must have a buffer of its own
 * before the kernel can be made. */
Node *lower(Plan *p, Kernel *k);
bool pass_lower(Plan *p, Diag *diag); /* every kernel, once its marks are settled; and checks them */
Buffer *
pointed_buffer(Buffer *b); /* whose pointer serves b: the whole, or a part that has slots of its own */
/* code_facts.c: what a function reads, writes and depends on */
const int *
loops_around(const Stmt *s,
             int *n); /* of a call that threads share: its units' loops, outermost first; NULL: none */
void code_facts(const Plan *p, const Kernel *k, Code *code);
bool code_reads(const Code *c, const Buffer *b);
bool code_writes(const Code *c, const Buffer *b);
/* code_rows.c: does the kernel's function treat each row by itself, and all alike, whichever sequence of a batch it belongs to? */
bool rows_are_alike(const Plan *p, const Kernel *k, const Function *f);
/* Of a batch: are the results of f's product or attention rows of a buffer that holds the rows of all sequences, one after another?  If not, they are
 * in the memory of each sequence, as state is. */
bool results_are_rows_of_all(const Plan *p, const Kernel *k, const Function *f, const Stmt *call);
/* Of a batch: is the kernel's function run for one sequence, whose rows it counts from 0? */
bool sees_sequence(const Plan *p, const Kernel *k, const Function *f);
/* code_alike.c: may it have its function in common with others?  And do two that may differ in their buffers only, and in whether their rows
 * are from the first requested one on? */
bool may_be_shared(const Kernel *k);
bool kernels_alike(const Kernel *k, const Kernel *other);
/* The output that the kernel alone fills, asked for by itself; NULL: it fills others too, or none. */
const Output *own_output(const Plan *p, const Kernel *k);
bool may_be_unwanted(const Plan *p, const Kernel *k); /* is there an output that does without it? */
enum { MAX_NEST = 8 };
int iterations_around(const Body *b, const Region **nest); /* the repeats around a body, outermost first */
/* check_code.c: ends the process with what is wrong, as verify() does for graphs */
void check_code(const Plan *p, const Kernel *k);
/* dump_code.c */
void dump_code(FILE *f, const Plan *p);
#endif
