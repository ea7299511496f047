/* Shared by the files of `lathe verify`: command_verify.c is the command. */
#ifndef VERIFY_PRIVATE_H
#define VERIFY_PRIVATE_H
#include "commands_private.h"

typedef struct {
        Model m;       /* m.arena: memory of the last pass_graph() and of its users */
        Arena lasting; /* memory of the program, the oracle and all results */
        const CommandOptions *o;
        Graph *oracle;
        int64_t size[MAX_NAMED];
        /* [ninput]; [noutput] of the reference, with and without rounding by --kv */
        Tensor *input, *exact, *expected;
        KeptState kept; /* of compiled code with --kv; the interpreter follows it */
        float **first;  /* [noutput] bits of the first target, or NULL */
        const char *first_target;
        TestRun known[MAX_TARGETS][WAYS]; /* [target][When]: with all passes; outputs are owned here */
        int ranks;                        /* number of ranks of an engine; 0: one process */
        int64_t chunk;                    /* maximum of positions per call; 0: that of the options */
        bool whole_only;                  /* the code runs once, with all positions in one call */
        bool idle[PASS_COUNT];            /* graph passes without effect */
        PassId without;           /* --each-pass: the disabled pass; PASS_COUNT: only those of the options */
        int done, steps;          /* for the progress bar */
        bool caches;              /* states of the compiled code are window caches */
        double bound, pass_bound; /* maximum error of compiled code, and of the interpreter after a pass */
        bool failed;
        json_t *report; /* --json: results, instead of text; else NULL */
} Verify;

/* verify_report.c: prints, or adds to v->report. */
void report_begin(Verify *v);
/* Reports a check: the largest error and its maximum; whether bits agree, and how, or "".  Sets v->failed. */
void report_check(Verify *v, const char *what, double error, double most, bool agrees, const char *bits);
/* the interpreter's own error, with each value rounded to float */
void report_floats(Verify *v, double error);
bool report_end(Verify *v);                                 /* false: out of memory */
bool give_up(Verify *v, const char *what, const char *why); /* prints the message; false */
void verify_tick(Verify *v);                                /* advances the progress bar */

/* verify_interpreted.c; each returns false after a message. */
bool interpret_oracle(Verify *v);
bool pass_is_verified(const Verify *v, int n); /* whether graph pass n is optional and enabled */
bool verify_pass(Verify *v, int n);            /* after the first n + 1 graph passes */
/* after the first n; `pass` is the last one, or the disabled one */
bool verify_graph(Verify *v, int n, int pass);
/* Builds the graph again, with the first n passes.  Frees the memory of the one before. */
bool pass_graph(Verify *v, int n, Storage kv);
void report_rounded(Verify *v);               /* after a failure */
CommandOptions pass_options(const Verify *v); /* the options with another pass disabled */
/* the largest error of output i */
double output_error(const Verify *v, const Tensor *expected, int i, Values found);
void free_tensors(Tensor *t, int n);
/* The outputs of the interpreter on g in one call.  rounded: each value is rounded to float.  Returns
 * NULL, or an error message. */
const char *interpret_whole(const Verify *v, const Graph *g, const WeightSource *w, bool rounded,
                            Tensor *output);
/* The largest error of the interpreter on g, run in pieces of `piece` positions. */
const char *interpret_pieces(const Verify *v, const Graph *g, const WeightSource *w, int64_t piece,
                             const Tensor *expected, double *error);

/* verify_compiled.c; each returns false after a message. */
bool interpret_narrow(Verify *v); /* --kv: computes the reference for compiled code */
bool verify_target(Verify *v, const Target *target);
/* --ranks: whether the code of a target runs in this process.  False after a message. */
bool ranks_can_be_tried(const Verify *v, const Target *const *target, int n);
/* compares the bits of several ranks, instances in this process */
bool verify_ranks(Verify *v, const Target *const *target, int n);
int other_plans(const Verify *v, const Target *target); /* number of plans in verify_plans() */
bool verify_plans(Verify *v, const Target *target);     /* compares the bits of other plans of the graph */
/* repeats all tests without a pass */
bool verify_without(Verify *v, PassId pass, const Target *const *target, int n);
bool verify_each_pass(Verify *v, const Target *const *target, int n);
void forget_bits(Verify *v);
void free_outputs(const Verify *v, float **output);
#endif
