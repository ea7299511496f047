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

/* Text and tree of an input, or of a loaded file; owned by the definitions and variables made from it. */
typedef struct {
        Arena arena;
        int refs;
} Unit;

typedef struct {
        Definition def; /* first, so that a table's pointer to it is also one to the item */
        Unit *unit;
        char *comment; /* comment lines entered before it, or NULL */
} ReplItem;

typedef struct {
        const Ast *ast;
        Unit *unit;
        char *from;    /* path of the importing file, to which the import is relative */
        char *comment; /* comment lines entered before it, or NULL */
} ReplImport;

/* A variable's value between evaluations, with a reference count. */
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
        Variables values;       /* values of the current model that the line uses */
        char *comment;          /* comment lines not yet followed by a definition, or NULL */
        int scripts;            /* number of nested scripts */
        int64_t evaluation;     /* number of the evaluation; see KeptValue.made_in */
        int64_t change;         /* counts definitions and settings of the model */
        char *model;            /* the current model, or NULL */
        int64_t models_taken;   /* number of times that a current model was set */
        int64_t noted;          /* the value of models_taken for which hash weights were noted */
        CommandOptions options; /* of the current model; its strings are the session's */
        /* the last published model that was loaded, and its text; or NULL */
        char *source, *source_file, *source_text;
        int64_t source_change; /* value of `change` then: if equal, nothing was defined or set since */
        int vocab;             /* of the current model, loaded when tokens are requested */
        char *loaded;          /* the file of the last :load, or NULL */
        bool keeps_model;      /* during a reload: keep the current model */
        bool has_quit, interactive;
        char *prompt;    /* text of the last run, or NULL */
        int64_t steps;   /* last run: number of further tokens */
        Sampler sampler; /* last run: their sampling; members below 0 as in CommandOptions */
        Penalties penalties;
        int drafts;
        char *draft, *draft_weights, *grammar; /* of :run, as of `lathe run`; or NULL */
        Variables input;                       /* :input: inputs of the current model, by name */
        struct Runner *runner;
        struct Snapshot *now, *before; /* the last two runs before and after a change */
        bool reads_variables;          /* set where a variable is read */
} ReplSession;

/* repl_session.c */
/* prints an error; always false */
bool repl_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool session_begin(ReplSession *s);
void session_end(ReplSession *s);
/* A source's text with its lines; NULL after a message.  Freed by unit_drop. */
Unit *unit_new(void);
void unit_hold(Unit *u);
void unit_drop(Unit *u);
/* Definitions and imports; false after an error was added to diag. */
bool session_define(ReplSession *s, Unit *u, const Ast *item);
bool session_import(ReplSession *s, Unit *u, const Ast *import, const char *from, Diag *diag);
bool session_comment(ReplSession *s, const char *lines, size_t n); /* for :save; false: out of memory */
bool session_open(ReplSession *s, const char *path); /* a model file or a script; false after messages */
bool session_reload(ReplSession *s);  /* repeats the last load and run, with the same settings */
bool is_model_file(const char *path); /* by its name; else a script */
bool session_is_complete(ReplSession *s, const char *model); /* whether all its hyperparameters have values */
const char **session_models(ReplSession *s, Arena *a, int *n); /* that the session defines */
/* if it is another model: resets settings and weights */
void session_drop_adapters(ReplSession *s); /* repl_model.c */
void session_set_model(ReplSession *s, const char *name);
void session_changed(ReplSession *s);

/* repl_save.c: false after a message. */
bool session_save(const ReplSession *s, const char *path);

/* repl_read.c: runs the lines of a file like typed input; false if one failed, after messages. */
bool session_script(ReplSession *s, const char *path);

/* repl_evaluate.c: evaluates one statement or expression; false after messages. */
bool evaluate_line(ReplSession *s, Unit *u, const Ast *line);
/* Name of the variable that keeps the value of the last expression: "it". */
extern const char last_result[];
/* Value of an expression; NULL after messages. */
KeptValue *evaluate_text(ReplSession *s, const char *text);
bool find_variable(void *session, Elaborator *e, const char *name, Value *value);
int variable_names(void *session, const char **name, int most);
void variables_free(Variables *v);
/* repl_model_value.c: stores values of the current model that a line uses in s->values; false after a
 * message. */
bool take_model_values(ReplSession *s, const Ast *line);

/* repl_command.c: lines that begin with a colon. */
typedef struct {
        char **word; /* [n], first the command's name without its colon; then NULL */
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

/* repl_complete.c: completions of the word before the cursor, in a ReplSession. */
Completions complete_word(void *session, Arena *a, const char *line, size_t cursor);

/* repl_help.c */
bool show_help(ReplSession *s, const Words *w);
const ReplCommand *command_named(const char *name); /* NULL: unknown */
/* "block silu(x)": signature of a definition or a scheme's member, with this name. */
void print_signature(FILE *f, const Ast *def, const char *name);

/* repl_model.c: commands on the current model that need no compiled code */
typedef bool ModelWork(ReplSession *s, Model *m, const Words *w);
bool with_model(ReplSession *s, ModelWork *work, const Words *w); /* elaborated; false after messages */
bool say_model(ReplSession *s, Model *m, const Words *w);
bool set_hyper(ReplSession *s, const Words *w);
bool choose_weights(ReplSession *s, const Words *w);
bool choose_adapters(ReplSession *s, const Words *w);
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
bool keep_snapshot(ReplSession *s);                   /* of the last run, for :diff */
bool print_difference(ReplSession *s, const Words *w);
/* the current model, elaborated without messages; NULL: it is invalid */
Graph *session_graph(ReplSession *s, Arena *a);
bool hyper_names(ReplSession *s, Arena *a, const char ***name, int *n);
bool tap_names(ReplSession *s, Arena *a, const char ***name, int *n);

/* Kept values, and an evaluation: only for repl_value.c and repl_evaluate.c. */

struct KeptValue {
        int refs;
        ValueKind kind;
        double number; /* V_BOOL V_INT V_REAL */
        char *text;    /* V_TEXT */
        /* V_TENSOR, and a V_LIST that contains a tensor */
        DType dtype;
        int rank;
        int64_t dim[MAX_RANK];
        double *data;
        int n; /* V_LIST */
        KeptValue **item;
        Unit *unit; /* V_BLOCK and the like: source of their statement */
        const Ast *statement;
        const char *name;   /* name of this value's variable in the statement */
        Variables read;     /* variables that the statement used */
        int64_t evaluation; /* number of the evaluation */
        int64_t made_in;
        Value made; /* value in that evaluation */
};

/* repl_input.c: the inputs of the compiled current model; false after a message. */
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
        Vars seen;          /* variables before the statement */
        KeptValue **result; /* receives the value instead of printing it; or NULL */
        Node **want;
        int nwant, want_capacity, next;
        Tensor *value; /* [2 * nrequire + nwant] */
} ReplEvaluation;

/* A value in this evaluation, made once and outside all blocks and repeats. */
Value value_of_kept(ReplSession *s, Elaborator *e, KeptValue *k);
KeptValue *variables_find(const Variables *v, const char *name);
/* a variable, or a value of the model that the line uses */
KeptValue *value_seen(const ReplSession *s, const char *name);
/* takes ownership of the value; false: out of memory */
bool variables_set(Variables *v, const char *name, KeptValue *value);
void kept_drop(KeptValue *k);
bool list_variables(ReplSession *s, const Words *w); /* :vars */
/* False for blocks, schemes and values that contain one. */
bool is_kept_as_value(Value v);
/* Requests the value's tensors; keep then takes them in the same order.  NULL: out of memory. */
void want_all(ReplEvaluation *v, Value value);
KeptValue *keep_value(ReplEvaluation *v, Value value);
KeptValue *keep_statement(ReplEvaluation *v, const char *name); /* a block or scheme, kept as its statement */

/* The current model compiled in memory, and its inputs: a text, or made from hashes. */

/* repl_diff.c */
typedef struct Snapshot Snapshot;
void snapshot_free(Snapshot *t); /* NULL is allowed */

typedef struct Runner Runner;
struct Runner {
        int64_t change;          /* Session.change when it was compiled; -1: not compiled */
        char *tap;               /* value that is a further output; or NULL */
        int tap_output;          /* index of that output */
        int attention;           /* index of the attention whose weights are a further output; or -1 */
        int64_t size[MAX_NAMED]; /* for taps: sizes of the named dimensions */
        bool timed;
        int drafts; /* number of positions that can be taken back, for rejected drafts */
        bool lens;  /* lens of each layer as further outputs, from tap_output on */
        int layers;
        const char *layer;    /* name of the layers in the file */
        bool reads_variables; /* uses variables of the session */
        Model model;
        Plan *plan;
        PackedWeights packed; /* cached weights of a source; else they are in the pool */
        WeightPool *pool;
        uint64_t origin;   /* counts opened checkpoints */
        char *origin_path; /* the weights, and their adapters */
        Engine *engine;
        Tokenizer tokenizer;
        bool has_tokenizer;
        double build_seconds;
};

/* A tapped model is called once, with exactly these sizes. */
typedef struct {
        const char *tap;
        int attention;
        const int64_t *size;
        bool timed, lens;
} RunnerKind;
#define AS_IT_IS ((RunnerKind){.attention = -1})

Runner *runner_new(void); /* NULL: out of memory */
void runner_free(Runner *r);
/* Compiles the current model unless it is up to date; false after a message. */
bool runner_fit(ReplSession *s, RunnerKind kind);

/* Inputs and outputs of a run. */
typedef struct {
        int64_t size[MAX_NAMED];
        int32_t *token; /* [ntoken] if the input is the text of the last run; else from hashes */
        int64_t ntoken;
        void **input;   /* [ninput] */
        float **output; /* [noutput] */
        int64_t *count; /* [noutput] elements */
} Trace;
bool trace_inputs(ReplSession *s, Trace *t); /* false after a message */
/* repl_input.c: the same with other inputs: text [n], each NAME=VALUE, replaces those of :input. */
bool trace_inputs_without(ReplSession *s, const char *const *text, int n, Trace *t);
bool trace_run(ReplSession *s, Trace *t); /* the same */
void trace_free(const ReplSession *s, Trace *t);
/* An output as doubles; fills *dim [MAX_RANK].  NULL: out of memory. */
double *trace_output(const ReplSession *s, const Trace *t, int i, int64_t *dim);

/* The current text as tokens, malloc'd; NULL after a message. */
int32_t *prompt_of(ReplSession *s, int64_t *n);
/* Runs the model with taps; *output: index of the first. */
bool trace_tapped(ReplSession *s, RunnerKind kind, Trace *t, int *output);
bool repl_set_prompt(ReplSession *s, const char *text); /* for the next runs; false after a message */
/* Whether the current model continues a text, maybe after fed inputs. */
bool generates_now(const ReplSession *s);
typedef struct {
        Recorded given;
        void **input; /* [count] inputs, NULL for the tokens; NULL: none */
        int count;
        bool says_more; /* the text is continued, not for an encoder */
} Fed;
bool fed_open(ReplSession *s, Fed *f); /* false after a message; fed_close() is required in any case */
void fed_close(Fed *f);
/* Sampling of the last :run, with the settings of the model for those that were not given. */
SettledSampling session_sampling(const ReplSession *s);
bool wants_generator(const ReplSession *s); /* false after a message: the model does not continue a text */
/* The input of token ids [n], if the model's last loop fills all others; else NULL. */
const Input *input_of_text(const Graph *g);
bool loop_fills(const Graph *g, const Input *in);
/* Prints the result of the model's last loop, unless that runs long: classes, a vector, words for masks. */
bool show_loop(ReplSession *s, const Trace *t);
int time_of(const Graph *g); /* the growing dimension, or -1 */
/* Text of a token id. */
void label_of(const ReplSession *s, int32_t token, char *text, size_t room);

/* Pictures with plain labels, written as PNG, or as SVG, which is recorded as it is drawn. */

typedef struct {
        FILE *file; /* in memory */
        char *text;
        size_t size;
} PictureMarks;

typedef struct {
        int width, height;
        PictureMarks *marks; /* for SVG; NULL: PNG */
        uint8_t *pixel;      /* [height][width][3] red, green, blue */
        int scale;           /* size of a letter's dot in pixels; default 1 */
} Picture;

enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 8 }; /* including the gaps between letters and lines */

/* white, for a file of this name; false: too large, or out of memory */
bool picture_new(Picture *p, int64_t width, int64_t height, const char *path);
void picture_free(Picture *p);
void picture_fill(Picture *p, int x, int y, int width, int height, const uint8_t *colour);
/* ASCII; other bytes are boxes.  upright: the text runs upwards from (x, y). */
void picture_text(Picture *p, int x, int y, const char *text, bool upright);
bool picture_write(const Picture *p, const char *path); /* false after a message */

/* Singular values. */

/* Singular values of a b', a [d][n] and b [d][m]: the min(d, n, m) largest, descending, into value; the
 * others are 0. Overwrites a and b.  False: out of memory. */
bool singular_values_of_product(double *a, int64_t n, double *b, int64_t m, int64_t d, double *value);
/* The principal axes of finite x [n][d]: subtracts the mean from x; axis [k][d], orthonormal, k <= d;
 * share: of the variance along each axis, descending.  An axis with share 0 is undefined.  False: out of
 * memory. */
bool principal_axes(double *x, int64_t n, int64_t d, int k, double *axis, double *share);
#endif
