/* The model at hand as code in memory, and what it makes of its inputs: a text, or what is made by hash. */
#ifndef REPL_RUN_H
#define REPL_RUN_H
#include "repl.h"
#include "weight_pool.h"

/* repl_diff.c */
typedef struct Snapshot Snapshot;
void snapshot_free(Snapshot *t); /* NULL is allowed */

typedef struct Runner Runner;
struct Runner {
        int64_t change; /* Session.change when it was made; -1: there is none */
        char *tap;      /* with this value as a further output; or NULL */
        int tap_output; /* which output that is */
        int attention;  /* with the weights of that attention, counted from 0, as a further output; or -1 */
        int64_t size[MAX_NAMED]; /* where something is tapped: what the named dimensions are */
        bool timed;
        bool reads_variables; /* of the session */
        Model model;
        Plan *plan;
        WeightPool *pool;
        uint64_t origin; /* counted: checkpoints opened */
        char *origin_path;
        Engine *engine;
        Tokenizer tokenizer;
        bool has_tokenizer;
        double build_seconds;
};

/* A tapped model takes all at once, in a call of just these sizes. */
typedef struct {
        const char *tap;
        int attention;
        const int64_t *size;
        bool timed;
} RunnerKind;
#define AS_IT_IS ((RunnerKind){NULL, -1, NULL, false})

Runner *runner_new(void); /* NULL: out of memory */
void runner_free(Runner *r);
/* Compiles the model at hand, if it is not what was compiled last; false after a message. */
bool runner_fit(Session *s, RunnerKind kind);

/* Inputs and outputs of one run of the whole. */
typedef struct {
        int64_t size[MAX_NAMED];
        int32_t *token; /* [ntoken] where the text that was run last is the input; else made by hash */
        int64_t ntoken;
        void **input;   /* [ninput] */
        float **output; /* [noutput] */
        int64_t *count; /* [noutput] elements */
} Trace;
bool trace_inputs(Session *s, Trace *t); /* false after a message */
bool trace_run(Session *s, Trace *t);    /* the same */
void trace_free(const Session *s, Trace *t);
/* An output as doubles; *dim [MAX_RANK] is filled.  NULL: out of memory. */
double *trace_output(const Session *s, const Trace *t, int i, int64_t *dim);

/* The text of the run at hand as tokens, malloc'd; NULL after a message. */
int32_t *prompt_of(Session *s, int64_t *n);
/* Runs the model with a value tapped; *output is the tap's. */
bool trace_tapped(Session *s, const char *tap, int attention, Trace *t, int *output);
bool takes_text(const Graph *g);        /* one input of token ids [n] */
int time_of(const Graph *g);            /* the dimension that grows, or -1 */
bool wants_generator(const Session *s); /* false after a message: the model can't generate */
/* Token ids that the model takes, as many as its input's bound. */
void label_of(const Session *s, int32_t token, char *text, size_t room);
#endif
