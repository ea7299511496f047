/* Shared by the parts of the check of programs: check_program.c walks the steps, check_ranks.c tracks the data of ranks. */
#ifndef CHECK_PROGRAM_PRIVATE_H
#define CHECK_PROGRAM_PRIVATE_H
#include "plan_private.h"

/* A kind of call: its rows and threads, and how ranks share it. */
typedef struct {
        int wait; /* WAIT_ROWS, WAIT_STEP or WAIT_HEADS */
        bool ranks, by_rows, stages;
        bool unrequested; /* no row is requested as output */
} KindOfCall;

/* A step since the last barrier: its kernel's buffers, or this one. */
typedef struct {
        const Step *step;
        const Buffer *buffer;
        bool stores;
} Touch;
typedef struct {
        Touch *of;
        int n, cap;
} TouchList;

/* Of a buffer each rank has only a part: the one that it computed of what this kernel stores. */
typedef struct {
        const Buffer *buffer;
        const Step *step; /* that stored it */
        int64_t modulus;  /* its heads, by heads_modulus(); 0: outputs, or rows */
        SharedRows rows;  /* its rows, if rows.buffer is not NULL */
        bool of_stage;    /* of the iterations of its stage */
} SharedPart;
typedef struct {
        SharedPart *of;
        int n, cap;
} SharedList;

typedef struct {
        TouchList pending;
        SharedList shared;
} CheckState;

/* Steps that store a buffer, and the condition that they are in, or NULL. */
typedef struct {
        const Step *step, *wanted;
} Writer;
typedef struct {
        Writer *of;
        int n, cap;
} WriterList;

/* A value that iterations of stages carry: what was done with it, in this order. */
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
        const Step *step;                       /* at which the walk is */
        const Step *wanted, *view, *one_thread; /* around it, or NULL */
        bool *written;                          /* by buffer */
        int *called;                            /* by Kernel.order.step */
        WriterList *writer;                     /* by buffer */
        int last;                               /* Kernel.order.step */
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
void check_transfer(Checker *c, const Step *s); /* EXCHANGE, GATHER, SEND, RECEIVE */
void note_iterations_of_stage(Checker *c, const Step *repeat);
#endif
