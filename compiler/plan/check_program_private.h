/* Shared by the checks of programs: check_program.c walks the steps, check_ranks.c tracks the data of
 * ranks. */
#ifndef CHECK_PROGRAM_PRIVATE_H
#define CHECK_PROGRAM_PRIVATE_H
#include "plan_private.h"

/* A kind of call: its rows and threads, and how ranks share it. */
typedef struct {
        int wait; /* WAIT_ROWS, WAIT_STEP or WAIT_HEADS */
        bool ranks, by_rows, stages;
        bool unrequested; /* no row is requested as output */
} KindOfCall;

/* A step since the last barrier, with all buffers of its kernel, or with one buffer. */
typedef struct {
        const Step *step;
        const Buffer *buffer;
        bool stores;
} Touch;
typedef struct {
        Touch *of;
        int n, cap;
} TouchList;

/* A buffer in which each rank has only its own part of this kernel's result. */
typedef struct {
        const Buffer *buffer;
        const Step *step; /* the step that stored it */
        int64_t modulus;  /* heads_modulus() of its heads; 0: parts are outputs or rows */
        SharedRows rows;  /* rows of a rank, if rows.buffer is not NULL */
        bool of_stage;    /* a part is the iterations of a stage */
} SharedPart;
typedef struct {
        SharedPart *of;
        int n, cap;
} SharedList;

typedef struct {
        TouchList pending;
        SharedList shared;
} CheckState;

/* A step that stores a buffer, and its condition or NULL. */
typedef struct {
        const Step *step, *wanted;
} Writer;
typedef struct {
        Writer *of;
        int n, cap;
} WriterList;

/* A value that iterations of stages carry, and the last operation on it, in this order. */
typedef enum { AT_BEGIN, RECEIVED, ITERATED, SENT, GIVEN, TAKEN } StageTurn;
typedef struct {
        const Kernel *repeat;
        const Buffer *value;
        StageTurn turn;
} StagedValue;

typedef struct {
        const Plan *plan;
        Arena *arena; /* for this check only */
        KindOfCall call;
        CheckState state;
        const Step *step;                       /* current step */
        const Step *wanted, *view, *one_thread; /* enclosing steps, or NULL */
        bool *written;                          /* by buffer: stored by an earlier step */
        int *called;                            /* number of calls, by Kernel.order.step */
        WriterList *writer;                     /* by buffer */
        int last;                               /* Kernel.order.step of the last called kernel */
        StagedValue *staged;
        int nstaged, cap_staged;
} Checker;

/* check_program.c */
_Noreturn void program_fault(const Checker *c, const char *format, ...);
const char *kind_of_call_text(const Checker *c); /* "(in calls of one row)" */

/* check_ranks.c */
void begin_ranks(Checker *c);
void end_ranks(Checker *c);
void add_shared(const Checker *c, SharedList *to, SharedPart part);
void check_reads_of_rank(Checker *c, const Kernel *k);
void note_stores_of_rank(Checker *c, const Kernel *k);
void check_transfer(Checker *c, const Step *s); /* for EXCHANGE, GATHER, SEND and RECEIVE */
void note_iterations_of_stage(Checker *c, const Step *repeat);
#endif
