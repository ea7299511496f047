/* What is kept of an evaluation, and the evaluation itself: for repl_value.c and repl_evaluate.c alone. */
#ifndef REPL_VALUE_H
#define REPL_VALUE_H
#include "repl.h"

struct Kept {
        int refs;
        ValueKind kind;
        double number; /* V_BOOL V_INT V_REAL */
        char *text;    /* V_TEXT */
        /* V_TENSOR, and a V_LIST that is one in all but kind */
        DType dtype;
        int rank;
        int64_t dim[MAX_RANK];
        double *data;
        int n; /* V_LIST */
        Kept **item;
        Unit *unit; /* V_BLOCK and the like: the statement, .. */
        const Ast *statement;
        const char *name;   /* .. which of its variables this is, .. */
        Variables read;     /* .. and what it read, .. */
        int64_t evaluation; /* .. and when */
        int64_t made_in;
        Value made; /* in that evaluation */
};

/* --- one evaluation ------------------------------------------------------------------------------------------------ */

typedef struct {
        Session *s;
        Unit *unit;
        const Ast *line;
        Arena arena;
        Diag diag;
        Elaborator *e;
        Scope *scope;
        Vars seen; /* variables as the statement found them */
        Node **want;
        int nwant, want_capacity, next;
        Tensor *value; /* [2 * nrequire + nwant] */
} Evaluation;

/* A value of this evaluation, made once and outside all blocks and repeats. */
Value make(Session *s, Elaborator *e, Kept *k);
Kept *variables_find(const Variables *v, const char *name);
bool variables_set(Variables *v, const char *name,
                   Kept *value); /* takes the value over; false: out of memory */
void kept_drop(Kept *k);
/* Blocks, schemes and what holds one are not. */
bool is_kept_as_value(Value v);
/* Marks the value's tensors as wanted; keep then takes them in the same order.  NULL: out of memory. */
void want_all(Evaluation *v, Value value);
Kept *keep(Evaluation *v, Value value);
Kept *keep_statement(Evaluation *v,
                     const char *name); /* a block or scheme, as the statement that it comes from */
#endif
