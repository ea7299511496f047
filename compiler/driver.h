/* The driver's own: options, the model at hand, the pipeline.  A command is one row of the table in main.c. */
#ifndef DRIVER_H
#define DRIVER_H
#include "checkpoint.h"
#include "engine.h"
#include "generate.h"
#include "plan.h"
#include "tokenizer.h"
#include "weights.h"

/* exit codes */
enum { DONE = 0, WRONG_INPUT = 1, WRONG_USAGE = 2, WRONG_ENVIRONMENT = 3 };

enum {
        MAX_OVERRIDES = 64,
        MAX_FILES = 256,
        MAX_DUMPS = 16,
        MAX_TARGETS = 8,
        MAX_TAPS = 64,
        MAX_SLOTS = 1024
};

typedef struct {
        const char *file[MAX_FILES]; /* what is no option: model files, and words of the command */
        int nfile;
        const char *model; /* -m: which model of the file */
        Override override[MAX_OVERRIDES];
        int noverride;
        const char *weights, *tokenizer, *out;
        const char *prefix; /* --prefix: the model's name in C */
        const char *target[MAX_TARGETS];
        int ntarget;
        const char *tap[MAX_TAPS]; /* --tap: names of values, by commas */
        int ntap;
        const char *dump[MAX_DUMPS], *off[MAX_DUMPS]; /* --dump=PASS, --no-PASS */
        int ndump, noff;
        int64_t chunk;
        int slots; /* sequences that an instance holds */
        const char *storage;
        const char *against; /* verify: a file of values that something else computed */
        double bound;        /* 0: the command's own */
        bool interpreter;    /* verify: leave compiled code out */
        bool each_pass;      /* verify: once more with each pass off */
        /* generation */
        const char *prompt, *prompt_file, *stop[MAX_STOPS];
        int nstop, threads, top_k;
        int64_t steps;
        float temperature, top_p, min_p;
        uint64_t seed;
        JitMode jit;
        bool verbose, hash;
        const char *inputs; /* golden: a file of inputs */
        const char *junit;  /* golden: a report as JUnit XML */
        bool update;
        bool json; /* show: a graph for programs */
        bool with_main, embed, explain, code_only, echo;
        int given[128]; /* how often, by the option's letter */
} Options;

/* A model on its way: everything lives in the arena. */
typedef struct {
        Arena arena;
        Interner names;
        Diag diag;
        Program *program;
        Graph *graph;           /* as elaborated, then as the passes leave it */
        Graph *oracle;          /* as elaborated */
        const Node *not_causal; /* where the proof failed; NULL: causal, or nothing grows */
        const char *why_not;
        const Node *rests; /* causal, if values are finite: where it rests on that; or NULL */
        const char *why_rests;
        bool lacking; /* open_weights() or load_tokenizer() failed by the environment */
} Model;

/* The exit code for what of a model has failed. */
static inline int failure_code(const Model *m)
{
        return m->lacking ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

/* options.c: both false after a message: wrong usage.  `takes` lists the options that the command knows, by letters of its row; a
 * list with 1 behind it takes one value; k: passes of the plan may be named too. */
bool options_read(Options *o, const char *command, const char *takes, int argc, char **argv);
/* Whether all that is given has an effect: of a command, or of a word of it ("golden record"). */
bool options_fit(const Options *o, const char *command, const char *takes);
bool is_off(const Options *o, const char *pass);

/* pipeline.c */
typedef struct {
        const char *name, *about;
        bool orders_sums; /* without it other bits may come out */
        bool of_plan;     /* of the plan, not of the graph */
} PassInfo;
extern const PassInfo pass_table[];
extern const int pass_count;
/* Parses a file, or standard input for -, and what it imports; false after the messages were printed, with *code. */
bool model_open(Model *m, const char *path, int *code);
/* One of its models (NULL: the last that lacks no hyperparameter). */
bool model_elaborate(Model *m, const Options *o, const char *which);
/* Both, for the first file and the model that the options name. */
bool model_load(Model *m, const Options *o, int *code);
/* The graph passes: simplify, stage, causal.  want_steps: an error if the model is not causal. */
bool model_passes(Model *m, const Options *o);
/* Prints where and why a model is not causal, if it is not: below a message that says so. */
void note_not_causal(Model *m);
/* As lathe check: elaborated, mapped onto its weights, and through the graph passes. */
bool model_check(Model *m, const Options *o, const char *which);
/* Kernels, memory and barriers for a target; NULL after a message. */
Plan *model_plan(Model *m, const Options *o, const Target *t);
void model_free(Model *m);
int64_t parameter_count(const Graph *g);
/* Of the file that the options name, or made by the hash; NULL after a message.  The checkpoint stays open for them. */
Weights *open_weights(Model *m, const Options *o, Checkpoint **checkpoint);
/* Says so if the weights are made by the hash and there are any. */
void note_hashed(const Model *m, const Options *o, const char *command);

/* For a model with an input of token ids; false after a message. */
bool load_tokenizer(Model *m, const Options *o, Tokenizer *t);

/* commands; each returns an exit code */
int build_command(const Options *o);
int run_command(const Options *o);
int golden_command(const Options *o);
int check_command(const Options *o);
int test_command(const Options *o);
int weights_command(const Options *o);
int show_command(const Options *o);
int verify_command(const Options *o);
int targets_command(const Options *o);
int repl_command(const Options *o);

/* command_show.c */
int model_parts(const char *const **name); /* what can be shown: how many, and their names */
int show_model(Model *m, const Options *o, const char *part);

/* command_test.c: what does not hold, into diag; value[2 i], value[2 i + 1]: the two sides of requirement i */
void check_requirements(Diag *diag, const Graph *g, const Tensor *value);

/* output.c: files are written aside; those of one output_finish() take their places when all of them are complete */
typedef struct {
        const char *path, *error;
        char *aside;
        FILE *file;
        int entry; /* of ending.h */
} WrittenFile;
bool output_bytes(WrittenFile *o, const char *path, const char *bytes, int64_t n); /* false with o->error */
bool output_weights(WrittenFile *o, const char *path, Plan *p,
                    const WeightSource *from); /* packed into the file itself */
bool output_finish(WrittenFile *o,
                   int n); /* false after a message: one had an error, or can't be put in its place */
/* One file; false after a message. */
bool write_file(const char *path, const char *bytes, int64_t n); /* -: to standard output */
bool write_weights(const char *path, Plan *p, const WeightSource *from);
#endif
