/* Shared by the files of the interpreter: values, the current iteration, state. */
#ifndef INTERPRET_PRIVATE_H
#define INTERPRET_PRIVATE_H
#include "graph.h"

/* A value, shared by `refs` owners.  All values are in one list, so that none leaks after an error. */
typedef struct InterpValue InterpValue;
struct InterpValue {
        /* *from points to this value: the list's head, or `after` of the value before */
        InterpValue **from, *after;
        int64_t refs, count;
        double data[];
};

/* The current iteration, and the enclosing ones. */
typedef struct InterpFrame InterpFrame;
struct InterpFrame {
        InterpFrame *outer; /* NULL: the top */
        const Region *region;
        int64_t iteration;
        InterpValue **carry; /* [region->ncarry] values at its start */
};

/* One slot of a state variable: `rows` positions along its axis, out of `stride`. */
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

/* The new content of a slot if the run succeeds. */
typedef struct PendingAppend PendingAppend;
struct PendingAppend {
        PendingAppend *next;
        StateSlot *kept;
        InterpValue *value;
        int64_t rows, stride;
};

typedef struct {
        const Graph *g;
        int64_t size[MAX_NAMED];
        const Tensor *input;
        const WeightSource *weights;
        InterpState *state;
        bool rounded;      /* every value is rounded to float */
        const char *error; /* the first one, in the graph's arena */
        bool *needed;      /* by id, as the following ones */
        InterpValue **value;
        InterpValue ***result; /* of a repeat: carried values, then stacked ones */
        int *first_dead;       /* first value whose last user is this node */
        int *next_dead;
        InterpValue *all; /* list of all values */
        PendingAppend *pending;
        InterpFrame *frame;
} Interp;
/* interpret.c */
void interpret_fail(Interp *it, const char *error);
InterpValue *interpreted_new(Interp *it, int64_t count);
InterpValue *interpreted_share(InterpValue *v);
void interpreted_drop(InterpValue *v);
int64_t interpreted_iteration(const InterpFrame *frame, const Region *region);

/* interpret_state.c: read a state into out (of a reading or a keeping node); record the rows of an append;
 * store all recorded rows. */
void interpret_read_state(Interp *it, const Node *n, double *out);
void interpret_read_kept(Interp *it, const Node *n, InterpValue *out);
void interpret_append(Interp *it, const Node *n, InterpValue *value);
/* Continues a scan from the sums in its state, and records new ones. */
void interpret_scan(Interp *it, const Node *n, const double *const *in, double *y);
/* The value from which carried value `index` of an `along` continues, if it is not the first call: replaces *first. */
void interpret_continue(Interp *it, const Node *along, int index, InterpValue **first);
void interpret_hand_on(Interp *it, const Node *along, int index, InterpValue *last); /* for the next call */
void interpret_settle(Interp *it);
#endif
