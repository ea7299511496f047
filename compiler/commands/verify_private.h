/* Shared by the files of `lathe verify`: command_verify.c is the command. */
#ifndef VERIFY_PRIVATE_H
#define VERIFY_PRIVATE_H
#include "commands_private.h"

typedef struct {
        Model m;
        const CommandOptions *o;
        Graph *oracle;
        int64_t size[MAX_NAMED];
        Tensor *input, *exact,
                *expected; /* [ninput]; [noutput] of the oracle, and as --kv rounds its values */
        KeptState kept;    /* of compiled code, as --kv rounds it, which the interpreter follows */
        float **first;     /* [noutput] bits of the first target; NULL before */
        const char *first_target;
        TestRun known[MAX_TARGETS][WAYS]; /* [target][When]: with no pass off; the outputs are ours */
        int ranks;                        /* of an engine; 0: there is one process */
        int64_t chunk;         /* most positions in one go, if not those of the options; 0: these */
        bool whole_only;       /* the code runs once, with all positions in one call */
        bool idle[PASS_COUNT]; /* passes over graphs that change nothing */
        PassId without; /* --each-pass: the pass that is off; PASS_COUNT: none besides those of the options */
        int done, steps;          /* for the bar */
        bool caches;              /* states of the compiled code are window caches */
        double bound, pass_bound; /* of compiled code, and of the interpreter after a pass */
        bool failed;
        json_t *report; /* --json: what is found, in place of text; else NULL */
} Verify;

/* verify_report.c: texts, or v->report */
void report_begin(Verify *v);
/* A check: the largest error, and how large it may be; whether bits agree, and how, or "".  Sets v->failed. */
void report_check(Verify *v, const char *what, double error, double most, bool agrees, const char *bits);
void report_floats(Verify *v, double error); /* the interpreter's own, with each value rounded to float */
bool report_end(Verify *v);                  /* false: memory is short */
bool give_up(Verify *v, const char *what, const char *why); /* prints the message; false */
void verify_tick(Verify *v);                                /* a step of the bar */

/* verify_interpreted.c; each false after a message */
bool interpret_oracle(Verify *v);
bool pass_is_verified(const Verify *v, int n); /* the graph pass n is optional and was not turned off */
bool verify_pass(Verify *v, int n);            /* after the first n + 1 graph passes */
bool verify_graph(Verify *v, int n,
                  int pass); /* after the first n; `pass` is the last of them, or the one left out */
bool pass_graph(Verify *v, int n, Storage kv); /* the graph once more, with the first n passes done */
void report_rounded(Verify *v);                /* after a failure */
CommandOptions pass_options(const Verify *v);  /* the options, with another pass off */
double output_error(const Verify *v, const Tensor *expected, int i,
                    Values found); /* the largest of output i */
void free_tensors(Tensor *t, int n);
/* The outputs of the interpreter on g, all at once; rounded: each of its values to float.  NULL, or what is wrong. */
const char *interpret_whole(const Verify *v, const Graph *g, const WeightSource *w, bool rounded,
                            Tensor *output);
/* The largest error of the interpreter on g, its positions taken `piece` at a time. */
const char *interpret_pieces(const Verify *v, const Graph *g, const WeightSource *w, int64_t piece,
                             const Tensor *expected, double *error);

/* verify_compiled.c; each false after a message */
bool interpret_narrow(Verify *v); /* --kv: what compiled code is compared with */
bool verify_target(Verify *v, const Target *target);
/* --ranks: is there a target whose code runs in this process?  False after a message. */
bool ranks_can_be_tried(const Verify *v, const Target *const *target, int n);
bool verify_ranks(Verify *v, const Target *const *target,
                  int n); /* the bits of several ranks, each an instance in this process */
int other_plans(const Verify *v, const Target *target); /* how many verify_plans() tries */
bool verify_plans(Verify *v, const Target *target);     /* the bits of other plans of the same graph */
bool verify_without(Verify *v, PassId pass, const Target *const *target,
                    int n); /* all of it with a pass off */
bool verify_each_pass(Verify *v, const Target *const *target, int n);
void forget_bits(Verify *v);
void free_outputs(const Verify *v, float **output);
#endif
