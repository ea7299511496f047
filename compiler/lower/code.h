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
        INDEX_LOOP,  /* counter of the function's loop `number` */
        INDEX_LANE,  /* index of the first of 16 lanes */
        INDEX_PLACE, /* the integer x<number> */
        INDEX_WHOLE, /* number of positions in the caller's whole call, of which this is a part */
        INDEX_DONE,  /* number of its positions before this part */
        INDEX_PLUS,  /* a + b, and so on */
        INDEX_MINUS,
        INDEX_TIMES,
        INDEX_QUOTIENT, /* rounded towards 0; a is not negative if that matters */
        INDEX_REMAINDER,
        INDEX_MIN,
        INDEX_MAX,
        INDEX_HELD, /* row in which position a of the sequence is stored, by its pages */
        INDEX_TABLE /* element a of the integer constant `table` */
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
bool index_is(const Index *x, int64_t n); /* whether x is the number n */
int index_nodes(const Index *x);          /* size as a number of nodes */

/* --- functions ------------------------------------------------------------------------------------------------- */

typedef enum {
#define STMT(name, ...) STMT_##name,
#include "code.def"
#undef STMT
        STMT_END
} StmtOp;
extern const char *const stmt_text[STMT_END];

/* A loop: from 0, or from the first requested row, up to its size; or over active rows; or over the rows
 * of all sequences, each of which has this number. */
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

/* Address of an operand of a runtime kernel. */
typedef struct {
        Buffer *buffer;
        const Index *at;
} Operand;

typedef struct {
        const Segment *segment;
        const Function *epilogue;
        /* range in all panels of the call, which threads share; a panel is 16 columns (32 with two
         * products) */
        int64_t first, panels;
        const Index *w_at; /* weight by heads: offset of the panels, by the outer loops */
} MatmulPart;
typedef struct {
        Operand x; /* rows are `ldx` floats apart */
        int64_t ldx;
        int outer; /* number of loops around the calls; the others count the rows */
        MatmulPart *part;
        int npart;
        int64_t panels;
} MatmulCall;

typedef struct {
        Operand to, a, b; /* at the first row */
        int64_t to_row, a_row, a_step, b_step, b_lane;
        const CodeLoop *columns, *depth;
        int zeros;                      /* ZEROS_LEFT, ZEROS_RIGHT */
        int row;                        /* loop of the rows that share b; -1: one row */
        int around[MAX_LOOPS], naround; /* the other loops, outermost first */
} ActivationCall;

typedef struct {
        Operand q, k, v, out;
        int64_t q_row, q_head, k_head, k_tile, v_head, v_key, out_row, out_head;
        int64_t k_key; /* distance of keys stored in rows, if k_tile is 0; else 0 */
        int64_t heads, kv_heads, head_dim, v_dim;
        /* first_key, first_value: positions of the first key and value in the buffers */
        /* the indices of the keys that have weights, [count]; buffer NULL: all keys, as bounded by `live` */
        Operand chosen;
        int64_t chosen_row, chosen_head, count;
        bool by_column; /* then: the score function depends on the key's index */
        Dim keys, first_key, first_value;
        bool first_held;                     /* they are not 0: the state of a window */
        bool k_paged, v_paged;               /* they are stored in pages */
        int row;                             /* loop of the rows, or -1: one row */
        int around[MAX_LOOPS], naround;      /* outer loops, outermost first */
        const Function *score, *live, *sink; /* sink may be NULL */
        /* NULL, or heads are mixed: then score and weigh take the values of all heads */
        const Function *weigh;
        bool all_weigh; /* masked keys have weights too */
} AttentionCall;

typedef struct {
        Operand q, k, v, powers, out; /* buffer NULL: absent */
        Operand state;                /* the same; absent: each call starts with an empty state, in scratch */
        int64_t q_row, k_row, v_row, out_row;
        int64_t depth, width, heads;
        int64_t older;                  /* blocks of the state beside the last one */
        bool maxima;                    /* instead of sums */
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
        bool f64;   /* the vector that it defines or stores has doubles */
        int to;     /* number of its vector; PLACE and INTEGER: of x */
        int from[3], nfrom;
        double value;   /* NUMBER KEEP START */
        int variant;    /* GIVEN: index of the value; GATHER: doubles */
        const Node *of; /* node of the value, for a comment; PER_ITERATION: the constant */
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
        CodeLoop loop[MAX_LOOPS]; /* by number: loops of the kernel */
        int nloop;
        int lane_loop;    /* EPILOGUE, SCORE: the loop that runs in lanes, whose counter the caller passes */
        bool whole_lanes; /* its size is a multiple of 16, or lanes beyond it may have any value */
        /* EPILOGUE: loops before this one are those around the calls; the later ones are computed from the
         * row */
        int outer;
        int products; /* EPILOGUE: number of results that are passed */
        /* SCORE, LIVE, SINK: loops of the head's number, and the row's, or -1 */
        int head[MAX_LOOPS], nhead, row;
        Buffer **pointer; /* buffers that are accessed */
        int npointer, cap_pointer;
        int vectors; /* number of vectors and integers */
};

enum { USES_POSITION = 1, USES_STATE = 2 };

typedef struct Code {
        Function **function; /* callbacks, then the kernel's own */
        int n;
        Buffer **read, **written; /* whole buffers */
        int nread, nwritten;
        unsigned uses;         /* data that differs between sequences */
        bool alike, own_alike; /* rows_are_alike(): for all functions; for the kernel's own */
} Code;

/* lower.c: makes Kernel.code from the kernel's current marks and buffers.  NULL, or the node that must
 * have a buffer first. */
Node *lower(Plan *p, Kernel *k);
bool pass_lower(Plan *p, Diag *diag); /* makes and checks the Code of every kernel */
/* buffer whose pointer serves b: the whole, or a part with its own slots */
Buffer *pointed_buffer(Buffer *b);
/* code_facts.c: accesses and dependencies of a function. */
/* loops of the units of a call that threads share, outermost first; NULL: none */
const int *loops_around(const Stmt *s, int *n);
void code_facts(const Plan *p, const Kernel *k, Code *code);
bool code_reads(const Code *c, const Buffer *b);
bool code_writes(const Code *c, const Buffer *b);
/* code_rows.c: whether the kernel's function computes each row separately and in the same way, for any
 * sequence of a batch. */
bool rows_are_alike(const Plan *p, const Kernel *k, const Function *f);
/* For a batch: whether the results of f's product or attention are consecutive rows of all sequences in a
 * buffer.  If not, they are in the memory of each sequence, like state. */
bool results_are_rows_of_all(const Plan *p, const Kernel *k, const Function *f, const Stmt *call);
/* For a batch: whether the kernel's function runs for one sequence, and counts its rows from 0. */
bool sees_sequence(const Plan *p, const Kernel *k, const Function *f);
/* code_alike.c: whether the kernel may share its function; whether two kernels differ only in their
 * buffers, and in whether their rows start at the first requested one. */
bool may_be_shared(const Kernel *k);
bool kernels_alike(const Kernel *k, const Kernel *other);
/* The output that only this kernel stores, and no other output; NULL: none. */
const Output *own_output(const Plan *p, const Kernel *k);
bool may_be_unwanted(const Plan *p, const Kernel *k); /* whether an output does not need the kernel */
enum { MAX_NEST = 8 };
int iterations_around(const Body *b, const Region **nest); /* repeats that contain a body, outermost first */
/* check_code.c: aborts with a message if the Code is wrong, as verify() does for graphs. */
void check_code(const Plan *p, const Kernel *k);
/* dump_code.c */
void dump_code(FILE *f, const Plan *p);
#endif
