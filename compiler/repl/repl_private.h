/* A session of definitions and variables, evaluation, printing, commands.  For repl_*.c only.
 *
 * Memory.  A session has four kinds, so that redefinitions do not accumulate memory: interned words
 * (permanent); imported files; a Unit for each input with definitions, with its text and tree, which is freed
 * with its last definition; and variables, with reference counts.  An evaluation has a separate arena, which
 * is freed after it. */
#ifndef REPL_PRIVATE_H
#define REPL_PRIVATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/check.h"
#include "import/import.h"
#include "repl.h"

/* An input's text and tree, or a loaded file's: held by the definitions and variables that came of it. */
typedef struct {
        Arena arena;
        int refs;
} Unit;

typedef struct {
        Definition def; /* first: a table's pointer to it is the item's */
        Unit *unit;
        char *comment; /* lines that were typed in before it, or NULL */
} ReplItem;

typedef struct {
        const Ast *ast;
        Unit *unit;
        char *from;    /* the path of the file that says so: what is sought beside it */
        char *comment; /* as of a ReplItem */
} ReplImport;

/* A variable's value between evaluations, counted. */
typedef struct KeptValue KeptValue;
typedef struct {
        const char *name;
        KeptValue *value;
} Variable;

typedef struct {
        Variable *at;
        int n, capacity;
} Variables;

typedef struct ReplSession {
        Arena words;
        Interner names;
        Arena *files;
        Program *program;
        Outside outside;
        ReplItem **item;
        int nitem, item_capacity;
        ReplImport *import;
        int nimport, import_capacity;
        Variables variables;
        Variables values;       /* values of the current model that the line mentions */
        char *comment;          /* lines of comments that no definition has followed yet, or NULL */
        int scripts;            /* that load one another, at the moment */
        int64_t evaluation;     /* number of the evaluation; see KeptValue.made_in */
        int64_t change;         /* counted: definitions and settings of the model */
        char *model;            /* the current model, or NULL */
        int64_t models_taken;   /* how often one was made that */
        int64_t noted;          /* of these, the one of which it was said that its weights are made by hash */
        CommandOptions options; /* of the current model; its strings are the session's */
        char *source, *source_file,
                *source_text;  /* the published model that was loaded last, and what it became; or NULL */
        int64_t source_change; /* `change` then: nothing was defined or set since if it is the same */
        int vocab;             /* of the current model, loaded when tokens are requested */
        char *loaded;          /* the file of the last :load, or NULL */
        bool keeps_model;      /* during a reload: keeps the current model */
        bool has_quit, interactive;
        char *prompt;    /* the text that was run last, or NULL */
        int64_t steps;   /* and how many tokens more, */
        Sampler sampler; /* and how they were chosen */
        Penalties penalties;
        int drafts;
        char *draft, *draft_weights, *grammar; /* of :run, as of `lathe run`; or NULL */
        Variables input;                       /* :input: inputs of the current model, by their names */
        struct Runner *runner;
        struct Snapshot *now, *before; /* the last two runs before and after a change */
        bool reads_variables;          /* set where a variable is read */
} ReplSession;

/* repl_session.c */
bool repl_error(const char *format, ...)
        __attribute__((format(printf, 1, 2))); /* prints the error; always false */
bool session_begin(ReplSession *s);
void session_end(ReplSession *s);
/* A source's text, and its lines; NULL after a message.  unit_drop lets go of it. */
Unit *unit_new(void);
void unit_hold(Unit *u);
void unit_drop(Unit *u);
/* Definitions and imports; false after an error was added to diag. */
bool session_define(ReplSession *s, Unit *u, const Ast *item);
bool session_import(ReplSession *s, Unit *u, const Ast *import, const char *from, Diag *diag);
bool session_comment(ReplSession *s, const char *lines, size_t n); /* for :save; false: out of memory */
bool session_open(ReplSession *s, const char *path); /* a model file or a script; false after messages */
bool session_reload(ReplSession *s);                 /* the last load and the last run; keeps settings */
bool is_model_file(const char *path);                /* by its name; else it is a script */
bool session_is_complete(ReplSession *s, const char *model);   /* all its hyperparameters have values */
const char **session_models(ReplSession *s, Arena *a, int *n); /* that are defined here */
void session_set_model(ReplSession *s, const char *name);      /* another one: settings and weights go */
void session_changed(ReplSession *s);

/* repl_save.c: false after a message */
bool session_save(const ReplSession *s, const char *path);

/* repl_read.c: a file of lines as though they were typed in; false if one failed, after messages */
bool session_script(ReplSession *s, const char *path);

/* repl_evaluate.c: one statement or expression; false after messages. */
bool evaluate_line(ReplSession *s, Unit *u, const Ast *line);
/* The variable that the last expression's value is kept as: "it". */
extern const char last_result[];
/* An expression's value, kept; NULL after messages. */
KeptValue *evaluate_text(ReplSession *s, const char *text);
bool find_variable(void *session, Elaborator *e, const char *name, Value *value);
int variable_names(void *session, const char **name, int most);
void variables_free(Variables *v);
/* repl_model_value.c: the values of the current model that a line mentions, in s->values; false after a message. */
bool take_model_values(ReplSession *s, const Ast *line);

/* repl_command.c: lines that begin with a colon */
typedef struct {
        char **word; /* [n], the command's name first, without its colon; then NULL */
        int n;
        const char *rest; /* the line after the name */
} Words;
typedef enum {
        TAKES_NOTHING,
        TAKES_FILE,
        TAKES_PART,
        TAKES_PASS,
        TAKES_HYPER,
        TAKES_MODEL,
        TAKES_COMMAND,
        TAKES_TAP,
        TAKES_EXPRESSION
} Completes;
typedef struct {
        const char *name, *arguments, *about;
        bool (*run)(ReplSession *s, const Words *w); /* false after a message */
        int least, most;                             /* arguments */
        Completes completes;
} ReplCommand;
extern const ReplCommand command_row[];
extern const int command_rows;
bool take_command(ReplSession *s, const char *line);
const ReplCommand *find_command(const char *name); /* NULL after a message */

/* repl_help.c */
bool show_help(ReplSession *s, const Words *w);
const ReplCommand *command_named(const char *name); /* NULL: there is none */
/* "block silu(x)": of a definition or a scheme's member, by this name */
void print_signature(FILE *f, const Ast *def, const char *name);

/* repl_model.c: commands on the current model that need no compiled code */
typedef bool ModelWork(ReplSession *s, Model *m, const Words *w);
bool with_model(ReplSession *s, ModelWork *work, const Words *w); /* elaborated; false after messages */
bool say_model(ReplSession *s, Model *m, const Words *w);
bool set_hyper(ReplSession *s, const Words *w);
bool choose_weights(ReplSession *s, const Words *w);
bool choose_quant(ReplSession *s, const Words *w);
bool choose_kv(ReplSession *s, const Words *w);
bool choose_tokenizer(ReplSession *s, const Words *w);
bool choose_model(ReplSession *s, const Words *w);
bool show_of_model(ReplSession *s, const Words *w);
bool dump_pass(ReplSession *s, const Words *w);
bool show_emitted(ReplSession *s, const Words *w);
bool encode_text(ReplSession *s, const Words *w);
bool decode_tokens(ReplSession *s, const Words *w);

/* repl_run.c, repl_trace.c: commands that run it */
bool give_input(ReplSession *s, const Words *w); /* repl_input.c */
bool eval_model(ReplSession *s, const Words *w);
void runner_interrupt(void); /* from a signal handler */
bool run_model(ReplSession *s, const Words *w);
bool rerun(ReplSession *s);
bool next_tokens(ReplSession *s, const Words *w);
bool take_golden(ReplSession *s, const Words *w); /* repl_golden.c */
bool print_goldens(ReplSession *s, const Words *w);
bool print_tap(ReplSession *s, const Words *w);
bool show_times(ReplSession *s, const Words *w);
bool show_attention(ReplSession *s, const Words *w);
bool show_rank(ReplSession *s, const Words *w);
bool show_lens(ReplSession *s, const Words *w);  /* repl_lens.c */
bool plot_value(ReplSession *s, const Words *w); /* repl_plot.c */
bool plot_histogram(ReplSession *s, const Words *w);
bool show_denoising(ReplSession *s, const Words *w);  /* repl_denoise.c */
bool show_projection(ReplSession *s, const Words *w); /* repl_project.c */
bool keep_snapshot(ReplSession *s);                   /* of the last run: for :diff */
bool print_difference(ReplSession *s, const Words *w);
Graph *session_graph(ReplSession *s,
                     Arena *a); /* the current model, elaborated without messages; NULL: it is invalid */
bool hyper_names(ReplSession *s, Arena *a, const char ***name, int *n);
bool tap_names(ReplSession *s, Arena *a, const char ***name, int *n);

/* The saved part of an evaluation, and the evaluation itself: only for repl_value.c and repl_evaluate.c. */

struct KeptValue {
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
        KeptValue **item;
        Unit *unit; /* V_BLOCK and the like: source of the statement */
        const Ast *statement;
        const char *name;   /* the statement's variable that has this value */
        Variables read;     /* variables that the statement read */
        int64_t evaluation; /* number of the evaluation */
        int64_t made_in;
        Value made; /* in that evaluation */
};

/* repl_input.c: the inputs of the current model, as it was compiled; false after a message. */
bool given_inputs(ReplSession *s, Recorded *r);
bool is_input_given(const ReplSession *s, const Input *in); /* by :input */

/* --- one evaluation ------------------------------------------------------------------------------------------------ */

typedef struct {
        ReplSession *s;
        Unit *unit;
        const Ast *line;
        Arena arena;
        Diag diag;
        Elaborator *e;
        Scope *scope;
        Vars seen;          /* variables as the statement found them */
        KeptValue **result; /* receives the value instead of printing it, or NULL */
        Node **want;
        int nwant, want_capacity, next;
        Tensor *value; /* [2 * nrequire + nwant] */
} ReplEvaluation;

/* A value of this evaluation, made once and outside all blocks and repeats. */
Value value_of_kept(ReplSession *s, Elaborator *e, KeptValue *k);
KeptValue *variables_find(const Variables *v, const char *name);
KeptValue *value_seen(const ReplSession *s,
                      const char *name); /* a variable, or a value of the model that the line mentions */
bool variables_set(Variables *v, const char *name,
                   KeptValue *value); /* takes the value over; false: out of memory */
void kept_drop(KeptValue *k);
/* False for blocks, schemes and values that contain one. */
bool is_kept_as_value(Value v);
/* Marks the value's tensors as wanted; keep then takes them in the same order.  NULL: out of memory. */
void want_all(ReplEvaluation *v, Value value);
KeptValue *keep_value(ReplEvaluation *v, Value value);
KeptValue *keep_statement(ReplEvaluation *v,
                          const char *name); /* a block or scheme, as the statement that it comes from */

/* The current model as code in memory, and its inputs: a text, or generated by hash. */

/* repl_diff.c */
typedef struct Snapshot Snapshot;
void snapshot_free(Snapshot *t); /* NULL is allowed */

typedef struct Runner Runner;
struct Runner {
        int64_t change; /* Session.change when it was made; -1: there is none */
        char *tap;      /* with this value as a further output; or NULL */
        int tap_output; /* which output that is */
        int attention;  /* with the weights of that attention, counted from 0, as a further output; or -1 */
        int64_t size[MAX_NAMED]; /* with taps: sizes of the named dimensions */
        bool timed;
        bool lens; /* with the lens of each layer as further outputs, from tap_output on */
        int layers;
        const char *layer;    /* their names in the file */
        bool reads_variables; /* of the session */
        Model model;
        Plan *plan;
        PackedWeights packed; /* what is kept of a source; else they are in .. */
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
        bool timed, lens;
} RunnerKind;
#define AS_IT_IS ((RunnerKind){.attention = -1})

Runner *runner_new(void); /* NULL: out of memory */
void runner_free(Runner *r);
/* Compiles the current model, unless it was compiled last; false after a message. */
bool runner_fit(ReplSession *s, RunnerKind kind);

/* Inputs and outputs of one run of the whole. */
typedef struct {
        int64_t size[MAX_NAMED];
        int32_t *token; /* [ntoken] where the text that was run last is the input; else made by hash */
        int64_t ntoken;
        void **input;   /* [ninput] */
        float **output; /* [noutput] */
        int64_t *count; /* [noutput] elements */
} Trace;
bool trace_inputs(ReplSession *s, Trace *t); /* false after a message */
/* The same with other inputs, text [n], each NAME=VALUE, in place of those that :input gave; repl_input.c. */
bool trace_inputs_without(ReplSession *s, const char *const *text, int n, Trace *t);
bool trace_run(ReplSession *s, Trace *t); /* the same */
void trace_free(const ReplSession *s, Trace *t);
/* An output as doubles; *dim [MAX_RANK] is filled.  NULL: out of memory. */
double *trace_output(const ReplSession *s, const Trace *t, int i, int64_t *dim);

/* The text of the current run as tokens, malloc'd; NULL after a message. */
int32_t *prompt_of(ReplSession *s, int64_t *n);
/* Runs the model with values tapped; *output is that of the first. */
bool trace_tapped(ReplSession *s, RunnerKind kind, Trace *t, int *output);
bool repl_set_prompt(ReplSession *s, const char *text); /* sets the next runs; false after a message */
/* Does the current model continue a text, after inputs that it is fed first? */
bool generates_now(const ReplSession *s);
typedef struct {
        Recorded given;
        void **input; /* [count]: the inputs, NULL for the tokens; NULL: none */
        int count;
        bool says_more; /* the text is gone on from, and not for an encoder */
} Fed;
bool fed_open(ReplSession *s, Fed *f); /* false after a message; fed_close() in any case */
void fed_close(Fed *f);
bool wants_generator(const ReplSession *s); /* false after a message: it does not go on after a text */
/* The input of token ids [n], if the model's last loop fills all others; else NULL. */
const Input *input_of_text(const Graph *g);
bool loop_fills(const Graph *g, const Input *in);
/* What the model's last loop, if it is none of those that run long, makes of the outputs: classes, a vector, words for masks. */
bool show_loop(ReplSession *s, const Trace *t);
int time_of(const Graph *g); /* the dimension that grows, or -1 */
/* Token ids that the model takes, as many as its input's bound. */
void label_of(const ReplSession *s, int32_t token, char *text, size_t room);

/* Pictures with plain labels, written as PNG. */

typedef struct {
        int width, height;
        uint8_t *pixel; /* [height][width][3] red, green, blue */
        int scale;      /* pixels that a letter's dot is wide: 1 if nothing else is set */
} Picture;

enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 8 }; /* with the gaps between letters and lines */

bool picture_new(Picture *p, int64_t width, int64_t height); /* white; false: too large, or out of memory */
void picture_free(Picture *p);
void picture_fill(Picture *p, int x, int y, int width, int height, const uint8_t *colour);
/* ASCII; other bytes are boxes.  upright: the text runs upwards from (x, y). */
void picture_text(Picture *p, int x, int y, const char *text, bool upright);
bool is_picture_name(const char *path);                 /* it ends in .png */
bool picture_write(const Picture *p, const char *path); /* false after a message */

/* Singular values. */

/* Of a b', a [d][n] and b [d][m]: the min(d, n, m) largest, descending, into value; the others are 0.  Both are overwritten.
 * False: out of memory. */
bool singular_values_of_product(double *a, int64_t n, double *b, int64_t m, int64_t d, double *value);
/* The principal axes of x [n][d], of finite values: the mean is taken off; axis [k][d] of length 1 at right angles, k <= d, and
 * the share of the variance along each, descending.  Of axes with a share of 0 nothing is said but the share.  False: out of memory. */
bool principal_axes(double *x, int64_t n, int64_t d, int k, double *axis, double *share);
#endif
