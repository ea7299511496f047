/* A trial: emitted C, built by the system's compiler and run against inputs given, in every way that it can be called.
 */
#ifndef TRIAL_H
#define TRIAL_H
#include "engine.h"
#include "plan.h"

/* Code of a target is made by the system's compiler, ahead of time, or by libtcc in this process. */
typedef enum { AHEAD_OF_TIME, JUST_IN_TIME } When;

/* The calls that all must give the same bits; the tail, the whole with the outputs of its last third, is an engine's alone. */
typedef enum {
        TRIAL_WHOLE,
        TRIAL_PIECES,
        TRIAL_STEPS,
        TRIAL_PREFILL_STEP,
        TRIAL_BATCH,
        TRIAL_HALVES,     /* the whole with every second output, and again with the others */
        TRIAL_LATER_HUGE, /* the whole with other inputs in its second half: the first half's rows stay .. */
        TRIAL_LATER_NAN,  /* .. and so with NaN */
        TRIAL_TAIL
} TrialCall;
typedef struct {
        TrialCall call;
        int threads;
} TrialRun;
extern const TrialRun trial_run[];
extern const int trial_runs;
enum { TRIAL_PIECE = 7 }; /* positions a piece */
/* In a batch every slot takes positions at a pace of its own: slot threads - 1
 * the inputs, which is compared, the others the same ones from the last to the first. */
typedef struct {
        const int64_t *size; /* [MAX_NAMED] */
        bool rings;          /* states are rings */
        bool sequential;     /* takes its sequence in pieces too */
        bool finite;         /* that was proved for finite values alone */
        const Tensor *input; /* [ninput] */
        int threads;         /* at most, instead of trial_run's 3; 0: as there */
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
} Trial;
/* Whether a plan and its inputs are run so. */
bool trial_applies(const TrialRun *run, const Plan *p, const Trial *t);
int trial_threads(const Trial *t, const TrialRun *run);
bool is_later_spoilt(TrialCall call);
/* Element k of input i in such a call. */
double trial_input(const Graph *g, const Trial *t, TrialCall call, int i, int64_t k);

/* A folder of its own under TMPDIR; NULL after a message.  trial_remove empties and removes it. */
char *trial_folder(void);
void trial_remove(char *folder);

/* What a target lacks on this machine to be built and run; NULL: nothing. */
const char *trial_lacks(Arena *a, const Target *t);

/* Builds what p emits, in the folder, with these weights, and runs it.  False after a message. */
bool trial(Plan *p, const char *folder, const WeightSource *weights, Trial *result);

/* The same, just in time: made by libtcc in this process.  Targets whose kernels are compiled into lathe and run here. */
bool trial_jit_runs(const Target *t);
bool trial_jit(Plan *p, const WeightSource *weights, Trial *result);
/* The same with packed weights, by either compiler; NULL, or what is wrong. */
const char *trial_engine(Plan *p, const float *weights, JitMode mode, Trial *result);
#endif
