/* The program: kernels in order, and the steps between them.
 *
 *   Plan (kernels, buffers) ── schedule, shard, rows, sync ──► Program ── check_program ──►
 *       C | run_program | text and JSON | pictures | costs
 *
 * A kernel's Code is the computation.  The program adds the order: barriers, iterations, sequences of a
 * batch, requested outputs, and exchanges among ranks.  docs/ir.md is its reference. */
#ifndef PROGRAM_H
#define PROGRAM_H
#include "kernels/kernels.h"

typedef enum {
#define STEP(name, ...) STEP_##name,
#include "program.def"
#undef STEP
        STEP_COUNT
} StepOp;

/* Kinds of calls that need a barrier: several rows; one row; one row with a number of threads that divides
 * Plan.heads.  A later kind implies the earlier ones. */
enum { WAIT_ROWS = 1, WAIT_STEP = 2, WAIT_HEADS = 4, WAIT_ALWAYS = 7 };

/* Conditions of IF and ONE_THREAD.  All bits of a step must hold. */
enum {
        WHEN_RANKS = 1,      /* several ranks compute the call */
        WHEN_BY_OUTPUTS = 2, /* and they share outputs and heads, because Step.rows are too few */
        WHEN_BY_ROWS = 4,    /* and they share Step.rows */
        WHEN_NOT_BY_ROWS = 8,
        WHEN_STAGES = 16,         /* there are several stages of ranks */
        WHEN_COMPARED = 32,       /* the caller asked ranks to compare their values */
        WHEN_REQUESTED = 64,      /* a row of the call is requested as output */
        WHEN_NOT_ENDING = 128,    /* skipped in NAME_end, which computes the outputs of a batch */
        WHEN_NOT_BEGINNING = 256, /* skipped in NAME_begin */
        /* skipped by a single process */
        WHEN_SHARED = WHEN_RANKS | WHEN_BY_OUTPUTS | WHEN_BY_ROWS | WHEN_STAGES | WHEN_COMPARED
};

typedef struct Step Step;
typedef struct StepList {
        Step **step;
        int n, cap;
} StepList;

struct Step {
        StepOp op;
        const Kernel *kernel; /* the step's kernel; NULL: it is for several */
        StepList inside;
        unsigned when; /* BARRIER: WAIT_ bits; IF, ONE_THREAD: WHEN_ bits */
        Dim rows;      /* IF: rows of WHEN_BY_ROWS and WHEN_BY_OUTPUTS */
        int body;      /* BODY: its index in the region */
        /* EXCHANGE and its IF: once for all iterations of this repeat; NULL: in each call */
        const Kernel *repeat;
        int half; /* REPEAT: 1 or 2 if iterations run in two halves; EXCHANGE: 1 after the first; else 0 */
        bool by_stages;           /* REPEAT: a stage of ranks runs its share of the iterations */
        uint64_t groups;          /* PART: groups of inputs */
        uint64_t outputs;         /* IF_WANTED: output_bit() of each output */
        const Output *output;     /* IF_WANTED: only this output, regardless of `outputs` */
        const SharedRows *shared; /* GATHER */
        const Buffer *value;      /* SEND, RECEIVE, COMPARE */
        bool last;                /* SEND, RECEIVE: from the last stage */
};

/* schedule.c: the first step of this kind for a kernel, or NULL. */
const Step *find_step(const StepList *list, StepOp op, const Kernel *k);
/* The BODY steps of a repeat.  Other steps may follow them. */
const StepList *bodies_of(const Step *repeat);
/* The second half of the repeat at index i.  NULL: the repeat has no halves, or is itself the second half. */
const Step *second_half_of(const StepList *list, int i);

/* rank_stages.c: number of elements of a value that iterations carry. */
Dim carried_count(const Buffer *b);

/* check_program.c: aborts with a message that names the step and the buffer, as check_code() does for
 * Code. */
void check_program(const Plan *p);

/* dump_program.c: the program as text, or as members of a JSON object. */
void program_dump(FILE *f, const Plan *p);
void program_json(const Plan *p, json_t *to);
const char *step_line(const Plan *p, const Step *s); /* "call layer_q, kind matmul" */
/* "8 barriers a call, 6 with one row, 5 where threads divide 8 heads": of one process, with repeats
 * unrolled. */
const char *barriers_text(const Plan *p);
#endif
