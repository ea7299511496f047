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

/* Reports requirements that fail to diag; value[2 i], value[2 i + 1]: the two sides of requirement i. */
void check_requirements(Diag *diag, const Graph *g, const Tensor *value);

/* A test run: emitted C, built by the system's compiler and run on given inputs, in every way that it can
 * be called. */

/* How code of a target is made: by the system's compiler, ahead of time, or by libtcc in this process;
 * BY_STATEMENT: Code is interpreted. */
typedef enum { AHEAD_OF_TIME, JUST_IN_TIME, BY_STATEMENT, WAYS } When;

/* Calls that must give the same bits.  The tail, a whole call with the outputs of its last third, is only
 * for engines. */
typedef enum {
        TEST_WHOLE,
        TEST_PIECES,
        TEST_STEPS,
        TEST_PREFILL_STEP,
        TEST_BATCH,
        TEST_HALVES,     /* whole calls with every second output, then with the others */
        TEST_LATER_HUGE, /* other inputs in the second half: rows of the first half must not change */
        TEST_LATER_NAN,  /* the same with NaN */
        TEST_TAIL
} TestRunCall;
typedef struct {
        TestRunCall call;
        int threads;
} TestRunCase;
extern const TestRunCase test_run_case[];
extern const int test_run_cases;
enum { TEST_PIECE = 7 }; /* positions per piece */
/* State of compiled code after a call of all positions. */
typedef struct {
        const Plan *plan;
        float *state; /* malloc'd; NULL: no state */
} KeptState;
/* In a batch every slot takes positions at its own pace: slot threads - 1 has the inputs, which are
 * compared, the others the same ones in reverse order.  Whole sequences have different sizes. */
typedef struct {
        const int64_t *size; /* [MAX_NAMED] */
        bool caches;         /* states are window caches */
        bool sequential;     /* can run its sequence in pieces too */
        bool finite;         /* the proof is only for finite values */
        bool whole_only;     /* just in time: only one call of all positions, by one thread */
        const Tensor *input; /* [ninput] */
        int threads;         /* maximum, instead of test_run_case's 3; 0: 3 */
        int64_t steps;       /* ahead of time: number of greedy tokens after the inputs */
        float **output;      /* [noutput], malloc'd: results of one thread for the whole */
        uint64_t program;    /* a hash of code and packed weights, if requested */
        uint64_t known;      /* hash of a program that need not run again, or 0 */
        bool same;           /* it was the known program: nothing ran, and there is no output */
        int run;             /* the first run whose bits differ; -1: none */
        int at_output;       /* its output, element and the two values */
        int64_t at;
        float one, other;
        int32_t *token; /* the greedy tokens */
        int64_t ntoken;
        KeptState *kept; /* just in time: receives the state after the first run; or NULL */
} TestRun;
/* Whether a run applies to a plan and its inputs. */
bool test_run_applies(const TestRunCase *run, const Plan *p, const TestRun *t);
int test_run_threads(const TestRun *t, const TestRunCase *run);
/* Batch of whole sequences: size of sequence i, limited by the total; 0: none. */
int64_t test_run_length(const Plan *p, const TestRun *t, int i, int shown);
bool is_later_spoilt(TestRunCall call);
/* Element k of input i in this call. */
double test_run_input(const Graph *g, const TestRun *t, TestRunCall call, int i, int64_t k);

/* A new folder in TMPDIR; NULL after a message.  test_run_remove empties and removes it. */
char *test_run_folder(void);
void test_run_remove(char *folder);
/* The exit status of a shell command run in the folder, which is also its TMPDIR; output is redirected by
 * the command. */
int shell(const char *folder, const char *command);

/* The reason why a target can't be built and run on this machine; NULL: it can. */
const char *test_run_lacks(Arena *a, const Target *t);

/* Builds p's C in the folder, with these weights, and runs it.  False after a message. */
bool test_run(Plan *p, const char *folder, Weights *weights, TestRun *result);

/* Whether a target can be tested just in time: its kernels are compiled into lathe and run here. */
bool test_run_jit_runs(const Target *t);
/* The same in this process with packed weights, by either compiler.  Returns NULL, or an error message. */
const char *test_run_engine(Plan *p, const float *weights, JitMode mode, TestRun *result);

/* The C program that a test run builds with the emitted model. */

const char *test_run_program(Arena *a, const Plan *p, const TestRun *test_run, const char *header);

/* An output of a call as [outer][front + rows][middle][extra + columns][inner]: rows are the call's positions
 * (0: none), after those of `front` positions before, which the call gives again; columns all past and new ones
 * (0: none), after `extra` others. */
typedef struct {
        int64_t outer, front, rows, middle, columns, extra, inner;
} OutputShape;
OutputShape output_shape(const Graph *g, const Type *t, const int64_t *size);
/* whether element k of all positions is in a column after its row's position, or after no position if it is in
 * a row in front */
bool is_later(const OutputShape *s, int64_t k);
/* whether a size is the number of positions, or more by a fixed number */
bool counts_positions(const Graph *g, Dim d);
/* Whether its sequence can run in pieces: it has state, and every input and output runs over positions or
 * has none. */
bool is_sequential(const Graph *g, const int64_t *size);
bool grows(const Graph *g, const Type *t); /* runs over positions, the outermost axis */

/* Shared by the kinds of `lathe verify`: targets, test runs of a model, errors. */

/* The requested targets, or all that can run here, at least the native one; none without compiled code.
 * -1 after a message. */
int choose_targets(Arena *a, const CommandOptions *o, const Target **chosen);

/* Whether the options allow it, and the target can be made in this way here. */
bool is_tried(const CommandOptions *o, const Target *target, When when);
/* "avx2, just in time" */
const char *test_run_text(Arena *a, const Target *target, When when);
/* Plans m, after its passes, and runs it on t's inputs; the caller owns t->output [noutput].  False after
 * a message. */
bool test_run_of_model(Model *m, const CommandOptions *o, const Target *target, When when, TestRun *t);

/* kept_state.c: a KeptSource.value; `from` is a KeptState of a plan without window caches. */
double kept_value(void *from, const StateVar *s, int64_t slot, const int64_t *index, double *scale);

/* A computed tensor: doubles or, if these are NULL, floats. */
typedef struct {
        const double *wide;
        const float *narrow;
} Values;
double values_at(Values v, int64_t i);
/* The largest difference from `expected` [n], relative to its largest finite value, and its index.  hides:
 * NULL, or the shape of an output whose columns after their row's position are ignored. */
double largest_error(Values found, const double *expected, int64_t n, const OutputShape *hides, int64_t *at);

/* Prints the model's name and the sizes of named dimensions: "tale: time = 40". */
void print_named_sizes(const Graph *g, const int64_t *size);
json_t *json_named_sizes(const Graph *g, const int64_t *size); /* the same as an object */

int verify_against(const CommandOptions *o); /* verify_against.c */

/* Loss by narrower storage of weights, measured on a text: `lathe verify --text`. */

int verify_accuracy(const CommandOptions *o); /* accuracy.c */

/* predictions.c: statistics of the predictions of a text's next tokens by a model with exact weights, and
 * maybe one with narrow weights. */
typedef struct {
        int64_t vocab, room; /* room: maximum of positions */
        int64_t n;           /* positions so far */
        double *share;       /* [vocab]: exact probabilities at the current position */
        double *divergence;  /* [room]: KL(exact || narrow) of each position, in nats */
        double loss[2];      /* exact, narrow: the sum of -log p(next token) */
        int64_t changed;     /* positions with another most likely token */
} Predictions;
/* false: out of memory; must be freed in any case */
bool predictions_new(Predictions *p, int64_t vocab, int64_t room);
void predictions_free(Predictions *p);
/* Adds a position: logits [vocab], and the next token.  narrow NULL: only one model. */
void predictions_add(Predictions *p, const float *exact, const float *narrow, int32_t next);
double predictions_perplexity(const Predictions *p, bool narrow);
double predictions_divergence(const Predictions *p);      /* the mean */
double predictions_quantile(Predictions *p, double part); /* of the divergence; sorts the positions */

/* verify_table.c: errors of all named values, by layer and op, on a target; names the first one over the
 * bound.  It shows where to look if an output is over the bound, and is not a failure: angles of a
 * thousand radians lose digits in floats too. Makes m's graph again.  Prints the table, or adds it to the
 * report as "values".  False after a message. */
bool verify_table(Model *m, const CommandOptions *o, const Target *target, When when, const int64_t *size,
                  const Tensor *input, double bound, json_t *report);

/* Golden files: exact outputs of a model, as text for readers and diffs.
 *
 *   lathe golden 2                         1: the same without keep, kept, likeliest and pieces
 *   model tale.model tale                  a file, relative to this one, and a model in it
 *   set layers 4                           for each hyperparameter that was given
 *   hyper layers 4; heads 6                 all of them; a check names those that change
 *   weights tale.safetensors 0x<hash>      of the file's bytes; or: weights by hash
 *   tokenizer tokenizer.bin 0x<hash>
 *   spec 0x<hash>                          of the elaborated graph
 *   prompt 4E6F7261                        bytes of a text, in hexadecimal; or
 *   inputs FILE.safetensors 0x<hash>       by their names; without either, inputs are made from hashes
 *   steps 20                               tokens of greedy text
 *   keep 1024                              maximum of kept values per output
 *   tap layer[i].attn
 *
 *   layer[0].attn [12, 96] 0x<hash> norm 3.2 first 0.1 0.2 0.3 last 0.4 0.5 0.6
 *   logits [12, 512] 0x<hash> norm 3.2 first 0.1 0.2 0.3 last 0.4 0.5 0.6
 *   kept 6 BDCCCCCD3E4CCCCD …              each sixth value of the output above, its 32 bits in hexadecimal
 *   likeliest 17 4 …                       of logits: the token of each row
 *   text "a girl"
 *   pieces 2 5                             bytes of the line above, token by token
 *
 * Values are in the order of the model's file; floats have 9 digits, which determine every bit.  The norm is
 * that of the finite values. */

enum { SHOWN = 3 }; /* values at either end */

typedef struct {
        const char *name, *shape;
        uint64_t hash;
        double norm;
        int shown; /* values at either end */
        float first[SHOWN], last[SHOWN];
        int64_t every, nkept; /* of each output every n-th value is kept; nkept 0: none */
        float *kept;
        int64_t nlikeliest; /* rows; 0: not logits */
        int32_t *likeliest;
        /* [nlikeliest]: distance of the recorded most likely token's logit from the largest; NULL: nothing
         * was recorded */
        float *behind;
        /* First number of a file that golden_text() would spell differently, and its field; NULL: none. */
        const char *respelled, *respelled_field;
} GoldenValue;

typedef struct Golden {
        Arena arena;
        int format;       /* 1 or 2, of the file */
        const char *path; /* of the golden file */
        /* model, hyperparameters, weights, tokenizer, prompt, steps, taps; paths as used by open */
        CommandOptions o;
        uint64_t weights_hash, tokenizer_hash, inputs_hash, calibrate_hash, spec;
        const char *hyper; /* or NULL */
        GoldenValue *value;
        int nvalue, cap_value;
        int64_t keep;     /* maximum of kept values per output; 0: none */
        const char *text; /* greedy text, quoted; or NULL */
        int32_t *piece;   /* [npiece]: its bytes, by token */
        int npiece, cap_piece;
        int code;                      /* exit code of the last error */
        const char *why;               /* error message if the file can't be read */
        bool other_weights;            /* weights are given by an option instead of the record */
        const struct Golden *recorded; /* the golden that a run is compared with; or NULL */
} Golden;

/* golden_file.c */
bool golden_read(Golden *g, const char *path); /* false with g->why */
bool golden_write(Golden *g);                  /* false after a message */
const char *golden_text(Golden *g);            /* text of the file */
GoldenValue *golden_value_new(Golden *g);      /* appended */

/* golden_run.c: converts a published model to options, unless done before.  False after a message, with
 * g->code. */
bool golden_open(Golden *g);
/* Computes values, text and hashes of g from its options, on a target, in one call; other threads and
 * pieces must give the same bits.  Returns NULL, or an error message, with g->code. */
const char *golden_run(Golden *g, const Target *t, When when);
bool golden_hash(const Graph *elaborated, uint64_t *spec); /* false: a temporary file can't be written */

/* golden_taps.c: default taps.  Opens the model, and taps the result of each block called in an outermost
 * repeat; false after a message, with g->code.  After golden_run() the second drops taps with repeated
 * values. */
bool golden_choose_taps(Golden *g);
void golden_drop_repeated(Golden *g);

/* golden_kept.c: values of an output [n] that are kept to report later changes. */
enum { GOLDEN_KEPT = 1024 /* default number of values */ };
void golden_keep(Golden *g, GoldenValue *v, const float *x, int64_t n);
/* Also keeps the distances of the recorded tokens. */
void golden_keep_likeliest(Golden *g, GoldenValue *v, const float *x, int64_t rows, int64_t columns);
void golden_write_kept(const GoldenValue *v, Text *t); /* as lines of a golden file */
/* Reports the changes: the largest one, other tokens, the text before and after. */
void golden_say_changes(Text *to, const Golden *was, const Golden *is);
/* ": 3 units in the last place apart", or in percent if that is clearer, or "". */
const char *golden_apart(Arena *a, float was, float is);

/* golden_compare.c */
/* Compares every field of a record with a new run, and reports the first difference of values, of the text
 * and of their origin.  bound 0: exactly. */
bool golden_compare(Text *to, const Golden *was, const Golden *is, double bound);
/* Prints removed and added lines, after - and +; returns their number. */
int golden_diff(FILE *to, Arena *a, const char *was, const char *is);

/* The check of one golden file on one target, in a separate process. */
typedef struct {
        const char *path;
        const Target *target;
        When when;
        const char *lack; /* why it is skipped, or NULL */
        JitMode jit;      /* for just in time */
        pid_t process;    /* 0: not started, or ended */
        int entry, error; /* of ending.c; why it can't be started */
        FILE *said;
        int code; /* its exit code */
} GoldenCheck;
/* golden_report.c */
const char *golden_how(const GoldenCheck *c); /* "tcc", "code": just in time; "cc": ahead of time */
/* false after a message */
bool golden_junit(const char *path, const GoldenCheck *check, int n);
bool golden_json(const GoldenCheck *check, int n); /* to standard output */
#endif
