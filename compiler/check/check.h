/* check: tests of lathe's results.
 *
 * Test runs of emitted C (test_run*.c), which `lathe verify` compares with the interpreter and with other
 * programs' values (verification.c, verify_*.c), golden files (golden_*.c), and the requirements of tests in
 * the language (requirements.c). */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <sys/types.h>

#include "driver/driver.h"

/* The requirements of a test in the language. */

/* What does not hold, into diag; value[2 i], value[2 i + 1]: the two sides of requirement i. */
void check_requirements(Diag *diag, const Graph *g, const Tensor *value);

/* A test run: emitted C, built by the system's compiler and run against inputs given, in every way that it can be called.
 */

/* Code of a target is made by the system's compiler, ahead of time, or by libtcc in this process. */
/* BY_STATEMENT: Code is interpreted. */
typedef enum { AHEAD_OF_TIME, JUST_IN_TIME, BY_STATEMENT, WAYS } When;

/* The calls that all must give the same bits; the tail, the whole with the outputs of its last third, is an engine's alone. */
typedef enum {
        TEST_WHOLE,
        TEST_PIECES,
        TEST_STEPS,
        TEST_PREFILL_STEP,
        TEST_BATCH,
        TEST_HALVES,     /* the whole with every second output, and again with the others */
        TEST_LATER_HUGE, /* the whole with other inputs in its second half: the first half's rows stay .. */
        TEST_LATER_NAN,  /* .. and so with NaN */
        TEST_TAIL
} TestRunCall;
typedef struct {
        TestRunCall call;
        int threads;
} TestRunCase;
extern const TestRunCase test_run_case[];
extern const int test_run_cases;
enum { TEST_PIECE = 7 }; /* positions a piece */
/* What compiled code keeps after a call of all positions. */
typedef struct {
        const Plan *plan;
        float *state; /* malloc'd; NULL: nothing was kept */
} KeptState;
/* In a batch every slot takes positions at a pace of its own: slot threads - 1
 * the inputs, which is compared, the others the same ones from the last to the first.  Whole sequences have sizes of their own. */
typedef struct {
        const int64_t *size; /* [MAX_NAMED] */
        bool caches;         /* states are window caches */
        bool sequential;     /* takes its sequence in pieces too */
        bool finite;         /* that was proved for finite values alone */
        bool whole_only;     /* just in time: all positions in one call, by one thread, and nothing else */
        const Tensor *input; /* [ninput] */
        int threads;         /* at most, instead of test_run_case's 3; 0: as there */
        int64_t steps;       /* ahead of time: so many greedy tokens after the inputs .. */
        float **output;      /* [noutput], malloc'd: what one thread makes of the whole */
        uint64_t program;    /* a hash of the code and the packed weights, if it is wanted */
        uint64_t known;      /* that of a program which need not run again, or 0 */
        bool same;           /* it was that one: nothing ran, and there is no output */
        int run;             /* the first whose bits differ; -1: none */
        int at_output;       /* there: which output, which element, and the two values */
        int64_t at;
        float one, other;
        int32_t *token; /* .. which are these */
        int64_t ntoken;
        KeptState *kept; /* just in time: becomes what is kept after the first run; or NULL */
} TestRun;
/* Whether a plan and its inputs are run so. */
bool test_run_applies(const TestRunCase *run, const Plan *p, const TestRun *t);
int test_run_threads(const TestRun *t, const TestRunCase *run);
/* Of a batch of whole sequences: the size of the i-th one, for all of which there is room; 0: it is left out. */
int64_t test_run_length(const Plan *p, const TestRun *t, int i, int shown);
bool is_later_spoilt(TestRunCall call);
/* Storage k of input i in such a call. */
double test_run_input(const Graph *g, const TestRun *t, TestRunCall call, int i, int64_t k);

/* A folder of its own under TMPDIR; NULL after a message.  test_run_remove empties and removes it. */
char *test_run_folder(void);
void test_run_remove(char *folder);
/* The exit status of a shell command run in the folder, which is also its TMPDIR; its output goes where it says. */
int shell(const char *folder, const char *command);

/* What a target lacks on this machine to be built and run; NULL: nothing. */
const char *test_run_lacks(Arena *a, const Target *t);

/* Builds what p emits, in the folder, with these weights, and runs it.  False after a message. */
bool test_run(Plan *p, const char *folder, Weights *weights, TestRun *result);

/* The same, just in time: made by libtcc in this process.  Targets whose kernels are compiled into lathe and run here. */
bool test_run_jit_runs(const Target *t);
/* The same with packed weights, by either compiler; NULL, or what is wrong. */
const char *test_run_engine(Plan *p, const float *weights, JitMode mode, TestRun *result);

/* The C program that a test run builds with the emitted model. */

const char *test_run_program(Arena *a, const Plan *p, const TestRun *test_run, const char *header);

/* An output of a call as [outer][rows][middle][columns + extra][inner]: rows are the call's positions (0: it has none), columns
 * all so far (0: it has none), behind extra ones that stand before the first. */
typedef struct {
        int64_t outer, rows, middle, columns, extra, inner;
} OutputShape;
OutputShape output_shape(const Graph *g, const Type *t, const int64_t *size);
bool is_later(const OutputShape *s,
              int64_t k); /* of all positions, is element k in a column after its row's position? */
/* Whether it takes its sequence in pieces too: it has state, and every input and output runs over positions or has none. */
bool is_sequential(const Graph *g, const int64_t *size);
bool grows(const Graph *g, const Type *t); /* runs over positions, the outermost axis */

/* What the kinds of `lathe verify` have in common: targets, test runs of a model, errors. */

/* The targets asked for, or all that can be tried here, the native one at least; none without compiled code.  -1 after a message. */
int choose_targets(Arena *a, const CommandOptions *o, const Target **chosen);

/* Whether the options want it so, and the target can be made so here. */
bool is_tried(const CommandOptions *o, const Target *target, When when);
/* "avx2, just in time" */
const char *test_run_text(Arena *a, const Target *target, When when);
/* Plans m, whose passes are done, and tries it on t's inputs: t->output [noutput] is the caller's.  False after a message. */
bool test_run_of_model(Model *m, const CommandOptions *o, const Target *target, When when, TestRun *t);

/* kept_state.c: for KeptSource.value; `from` is a KeptState of a plan without window caches. */
double kept_value(void *from, const StateVar *s, int64_t slot, const int64_t *index, double *scale);

/* A tensor found: doubles or, where these are NULL, floats. */
typedef struct {
        const double *wide;
        const float *narrow;
} Values;
double values_at(Values v, int64_t i);
/* The largest difference from `expected` [n], relative to its largest finite value, and where it is.  hides: NULL, or the shape
 * of an output whose columns after their row's position are left out. */
double largest_error(Values found, const double *expected, int64_t n, const OutputShape *hides, int64_t *at);

/* The named dimensions' sizes behind the model's name: "tale: time = 40", a line. */
void print_named_sizes(const Graph *g, const int64_t *size);
json_t *json_named_sizes(const Graph *g, const int64_t *size); /* the same as an object */

int verify_against(const CommandOptions *o); /* verify_against.c */

/* What narrower storage of weights costs on a text: `lathe verify --text`. */

int verify_accuracy(const CommandOptions *o); /* accuracy.c */

/* predictions.c: what a model with its weights exact, and perhaps one with narrow weights, say of the next tokens of a text. */
typedef struct {
        int64_t vocab, room; /* room: for so many positions */
        int64_t n;           /* positions so far */
        double *share;       /* [vocab]: the exact probabilities at the position at hand */
        double *divergence;  /* [room]: KL(exact || narrow) of each position, in nats */
        double loss[2];      /* exact, narrow: the sum of -log p(next token) */
        int64_t changed;     /* positions where another token is the likeliest */
} Predictions;
bool predictions_new(Predictions *p, int64_t vocab,
                     int64_t room); /* false: out of memory; it is released all the same */
void predictions_free(Predictions *p);
/* A position: logits [vocab], and the token that follows.  narrow NULL: there is one model. */
void predictions_add(Predictions *p, const float *exact, const float *narrow, int32_t next);
double predictions_perplexity(const Predictions *p, bool narrow);
double predictions_divergence(const Predictions *p);      /* the mean */
double predictions_quantile(Predictions *p, double part); /* of the divergence; puts positions in order */

/* verify_table.c: errors of all values that have a name, by layer and op, on a target; the first over the bound is named.
 * That is where to look if an output is over it, and no failure by itself: angles of a thousand radians lose digits in floats too.
 * Makes m's graph anew.  What is found is printed or, if there is a report, becomes its "values".  False after a message. */
bool verify_table(Model *m, const CommandOptions *o, const Target *target, When when, const int64_t *size,
                  const Tensor *input, double bound, json_t *report);

/* Golden files: what a model's outputs are, to the bit, as text that a person reads and a diff shows.
 *
 *   lathe golden 2                         1: the same without keep, kept, likeliest and pieces
 *   model tale.model tale                  a file, relative to this one, and a model in it
 *   set layers 4                           for each hyperparameter that was given
 *   hyper layers 4; heads 6                 all of them, to be read: what a check names if they change
 *   weights tale.safetensors 0x<hash>      of the file's bytes; or: weights by hash
 *   tokenizer tokenizer.bin 0x<hash>
 *   spec 0x<hash>                          of the graph as elaborated
 *   prompt 4E6F7261                        bytes of a text, in hexadecimal; or
 *   inputs FILE.safetensors 0x<hash>       by their names; without either they are made by hash
 *   steps 20                               tokens of greedy text
 *   keep 1024                              so many values of each output, at most
 *   tap layer[i].attn
 *
 *   layer[0].attn [12, 96] 0x<hash> norm 3.2 first 0.1 0.2 0.3 last 0.4 0.5 0.6
 *   logits [12, 512] 0x<hash> norm 3.2 first 0.1 0.2 0.3 last 0.4 0.5 0.6
 *   kept 6 BDCCCCCD3E4CCCCD …              of the output above each sixth value from the first on, its 32 bits in hexadecimal
 *   likeliest 17 4 …                       of logits: the token of each row
 *   text "a girl"
 *   pieces 2 5                             bytes of the line above, token by token
 *
 * Values come in the order in which the model's file has them; floats have 9 digits, which are enough for every bit.  The norm
 * is that of the finite values. */

enum { SHOWN = 3 }; /* values at either end */

typedef struct {
        const char *name, *shape;
        uint64_t hash;
        double norm;
        int shown; /* at either end */
        float first[SHOWN], last[SHOWN];
        int64_t every, nkept; /* of an output each so many-th value; nkept 0: none is kept */
        float *kept;
        int64_t nlikeliest; /* rows; 0: it is not of logits */
        int32_t *likeliest;
        float *behind; /* [nlikeliest]: the recorded likeliest token's logit is so much below the likeliest; NULL: nothing was recorded */
        /* The first number of a file that is spelled in another way than golden_text() would, and its field; NULL: there is none. */
        const char *respelled, *respelled_field;
} GoldenValue;

typedef struct Golden {
        Arena arena;
        int format;       /* 1 or 2, of the file that was read */
        const char *path; /* of the golden file */
        CommandOptions
                o; /* model, hyperparameters, weights, tokenizer, prompt, steps, taps; paths as they are opened */
        uint64_t weights_hash, tokenizer_hash, inputs_hash, calibrate_hash, spec;
        const char *hyper; /* or NULL */
        GoldenValue *value;
        int nvalue, cap_value;
        int64_t keep;     /* so many values of each output are kept, at most; 0: none */
        const char *text; /* greedy, quoted; or NULL */
        int32_t *piece;   /* [npiece]: bytes of it, token by token */
        int npiece, cap_piece;
        int code;                      /* an exit code: of what was wrong last */
        const char *why;               /* the file can't be read: a message */
        bool other_weights;            /* an option gives them, and the record's are not taken */
        const struct Golden *recorded; /* the golden that a run is compared with; or NULL */
} Golden;

/* golden_file.c */
bool golden_read(Golden *g, const char *path); /* false with g->why */
bool golden_write(Golden *g);                  /* false after a message */
const char *golden_text(Golden *g);            /* as it stands in the file */
GoldenValue *golden_value_new(Golden *g);      /* behind the others */

/* golden_run.c: a published model in place of the model file becomes its options; once is enough.  False after a message, with g->code. */
bool golden_open(Golden *g);
/* Fills values, text and hashes of g from its options: on a target, whole; other threads and pieces must give the
 * same bits.  NULL, or what is wrong, with g->code. */
const char *golden_run(Golden *g, const Target *t, When when);
bool golden_hash(const Graph *elaborated, uint64_t *spec); /* false: a temporary file can't be written */

/* golden_taps.c: for a file whose taps nobody named.  Opens the model, names it and takes as taps what each block called in an outermost
 * repeat gives; false after a message, with g->code.  After golden_run() the second leaves out those that say nothing new. */
bool golden_choose_taps(Golden *g);
void golden_drop_repeated(Golden *g);

/* golden_kept.c: what is kept of an output [n], to tell later what has become of it, .. */
enum { GOLDEN_KEPT = 1024 /* values, if nobody says how many */ };
void golden_keep(Golden *g, GoldenValue *v, const float *x, int64_t n);
/* Also how far the recorded tokens are below. */
void golden_keep_likeliest(Golden *g, GoldenValue *v, const float *x, int64_t rows, int64_t columns);
void golden_write_kept(const GoldenValue *v, Text *t); /* as lines of a golden file */
/* .. and what has: the largest change, other tokens, the text before and after. */
void golden_say_changes(Text *to, const Golden *was, const Golden *is);
/* ": 3 units in the last place apart", or in percent where that says more; "" where neither does. */
const char *golden_apart(Arena *a, float was, float is);

/* golden_compare.c */
/* Compares every field of a record with a new run, and reports the first difference of values, of the text and of their origin.  bound 0: to
 * the bit. */
bool golden_compare(Text *to, const Golden *was, const Golden *is, double bound);
/* Lines that go and come, behind - and +; how many. */
int golden_diff(FILE *to, Arena *a, const char *was, const char *is);

/* One golden file on one target: a process of its own. */
typedef struct {
        const char *path;
        const Target *target;
        When when;
        const char *lack; /* missing to try it, which skips the check; NULL: nothing */
        JitMode jit;      /* of those that are just in time */
        pid_t process;    /* 0: not begun, or ended */
        int entry, error; /* of ending.c; why it can't be started */
        FILE *said;
        int code; /* that it exited with */
} GoldenCheck;
/* golden_report.c */
const char *golden_how(const GoldenCheck *c); /* "tcc", "code": just in time; "cc": ahead of time */
/* false after a message */
bool golden_junit(const char *path, const GoldenCheck *check, int n);
bool golden_json(const GoldenCheck *check, int n); /* to standard output */
#endif
