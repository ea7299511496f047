/* Shared by the files of the interpreter: values, the current iteration, state. */
#ifndef INTERPRET_PRIVATE_H
#define INTERPRET_PRIVATE_H
#include "graph.h"

/* A value, shared by `refs` owners; on the list of all so that nothing leaks after an error. */
typedef struct InterpValue InterpValue;
struct InterpValue {
        InterpValue **from, *after; /* *from is this value: the list's head, or `after` of the one before */
        int64_t refs, count;
        double data[];
};

/* The iteration that is being evaluated, and those around it. */
typedef struct InterpFrame InterpFrame;
struct InterpFrame {
        InterpFrame *outer; /* NULL: the top */
        const Region *region;
        int64_t iteration;
        InterpValue **carry; /* [region->ncarry] as they enter the iteration */
};

/* What a state variable holds in one slot: `rows` positions along its axis, the first of `stride`. */
typedef struct {
        int64_t rows, stride, count;
        double *data;
} StateSlot;

struct InterpState {
        int nstate;
        int64_t *slots;            /* [nstate] */
        StateSlot **kept;          /* [nstate][slots] */
        const KeptSource *follows; /* or NULL */
};

/* What an append will leave in a slot if the run ends well. */
typedef struct PendingAppend PendingAppend;
struct PendingAppend {
        PendingAppend *next;
        StateSlot *kept;
        InterpValue *value;
        int64_t rows, stride;
};

typedef struct {
        const Graph *g;
        const int64_t *size;
        const Tensor *input;
        const WeightSource *weights;
        InterpState *state;
        bool rounded;      /* every value to float */
        const char *error; /* the first one, in the graph's arena */
        bool *needed;      /* by id, as all below */
        InterpValue **value;
        InterpValue ***result; /* of a repeat: carried values, then stacked ones */
        int *first_dead;       /* the values last used by this node, as a list: */
        int *next_dead;
        InterpValue *all; /* a list */
        PendingAppend *pending;
        InterpFrame *frame;
} Interp;
/* interpret.c */
void interpret_fail(Interp *it, const char *error);
InterpValue *interpreted_new(Interp *it, int64_t count);
InterpValue *interpreted_share(InterpValue *v);
void interpreted_drop(InterpValue *v);
int64_t interpreted_iteration(const InterpFrame *frame, const Region *region);

/* interpret_state.c: what a state holds into out, of a node that reads it and of one that keeps; what an append will leave there; and
 * now leaves. */
void interpret_read_state(Interp *it, const Node *n, double *out);
void interpret_read_kept(Interp *it, const Node *n, InterpValue *out);
void interpret_append(Interp *it, const Node *n, InterpValue *value);
/* A scan goes on from the sums that its state holds, and leaves new ones. */
void interpret_scan(Interp *it, const Node *n, const double *const *in, double *y);
void interpret_settle(Interp *it);
#endif
