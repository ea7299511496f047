/* The REPL's own: a session of definitions and variables, evaluation, printing, commands.  For repl_*.c and command_repl.c
 * alone.
 *
 * Memory.  A session holds four kinds, so that redefining costs nothing in the long run: the words seen (interned for good),
 * the imported files, for each input that something came of its text and tree (a Unit, which goes with the last thing that
 * came of it), and variables (counted).  What is made in an evaluation lives in an arena of its own and goes with it. */
#ifndef REPL_H
#define REPL_H
#include <stdbool.h>
#include <stdio.h>

#include "driver.h"
#include "elaborate.h"

/* An input's text and tree, or a loaded file's: held by the definitions and variables that came of it. */
typedef struct {
        Arena arena;
        int refs;
} Unit;

typedef struct {
        Definition def; /* first: a table's pointer to it is the item's */
        Unit *unit;
        char *comment; /* lines that were typed in before it, or NULL */
} Item;

typedef struct {
        const Ast *ast;
        Unit *unit;
        char *from;    /* the path of the file that says so: what is sought beside it */
        char *comment; /* as of an Item */
} Import;

/* A variable's value between evaluations, counted. */
typedef struct Kept Kept;
typedef struct {
        const char *name;
        Kept *value;
} Variable;

typedef struct {
        Variable *at;
        int n, capacity;
} Variables;

typedef struct Session {
        Arena words;
        Interner names;
        Arena *files;
        Program *program;
        Outside outside;
        Item **item;
        int nitem, item_capacity;
        Import *import;
        int nimport, import_capacity;
        Variables variables;
        char *comment;        /* lines of comments that no definition has followed yet, or NULL */
        int scripts;          /* that load one another, at the moment */
        int64_t evaluation;   /* counted: what a Kept was last made in */
        int64_t change;       /* counted: definitions and settings of the model */
        char *model;          /* the model at hand, or NULL */
        int64_t models_taken; /* how often one was made that */
        int64_t noted;        /* of these, the one of which it was said that its weights are made by hash */
        Options options;      /* of the model at hand; its strings are the session's */
        int vocab;            /* of the model at hand, when tokens are asked for */
        bool has_quit, interactive;
        char *prompt;  /* the text that was run last, or NULL */
        int64_t steps; /* and how many tokens more */
        struct Runner *runner;
        struct Snapshot *now, *before; /* of the last two runs that a change lies between */
        bool reads_variables;          /* set where a variable is read */
} Session;

/* repl_session.c */
bool session_begin(Session *s);
void session_end(Session *s);
/* A source's text, and its lines; NULL after a message.  unit_drop lets go of it. */
Unit *unit_new(void);
void unit_hold(Unit *u);
void unit_drop(Unit *u);
/* Definitions and imports; false after what is wrong was added to diag. */
bool session_define(Session *s, Unit *u, const Ast *item);
bool session_import(Session *s, Unit *u, const Ast *import, const char *from, Diag *diag);
bool session_load(Session *s, const char *path);               /* false after messages */
bool session_comment(Session *s, const char *lines, size_t n); /* for :save; false: out of memory */
bool is_model_file(const char *path);                          /* by its name; else it is a script */
bool session_is_complete(Session *s, const char *model);       /* all its hyperparameters have values */
const char **session_models(Session *s, Arena *a, int *n);     /* that are defined here */
void session_set_model(Session *s, const char *name);          /* another one: settings and weights go */
void session_changed(Session *s);

/* repl_save.c: false after a message */
bool session_save(const Session *s, const char *path);

/* command_repl.c: a file of lines as though they were typed in; false if one failed, after messages */
bool session_script(Session *s, const char *path);

/* repl_evaluate.c: one statement or expression; false after messages. */
bool evaluate_line(Session *s, Unit *u, const Ast *line);
bool find_variable(void *session, Elaborator *e, const char *name, Value *value);
int variable_names(void *session, const char **name, int most);
void variables_free(Variables *v);

/* repl_print.c */
typedef struct {
        DType dtype;
        int rank;
        const int64_t *dim; /* [rank] */
        const double *data; /* row-major */
} Shown;
/* In the language, the shape behind `#`; large ones abridged.  indent: columns that precede it on its line. */
void print_tensor(FILE *f, const Shown *t, int indent);
void print_number(FILE *f, double x);
void print_text(FILE *f, const char *text); /* in quotes */
const char *quoted_text(Arena *a, const char *text);

/* repl_command.c: lines that begin with a colon */
typedef struct {
        char **word; /* [n], the command's name first, without its colon */
        int n;
        const char *rest; /* the line behind the name */
} Words;
typedef enum {
        TAKES_NOTHING,
        TAKES_FILE,
        TAKES_PART,
        TAKES_PASS,
        TAKES_HYPER,
        TAKES_MODEL,
        TAKES_COMMAND,
        TAKES_TAP
} Completes;
typedef struct {
        const char *name, *arguments, *about;
        bool (*run)(Session *s, const Words *w); /* false after a message */
        int least, most;                         /* arguments */
        Completes completes;
} ReplCommand;
extern const ReplCommand command_row[];
extern const int command_rows;
bool take_command(Session *s, const char *line);

/* repl_model.c: commands on the model at hand that need no compiled code */
typedef bool ModelWork(Session *s, Model *m, const Words *w);
bool with_model(Session *s, ModelWork *work, const Words *w); /* elaborated; false after messages */
bool say_model(Session *s, Model *m, const Words *w);
bool set_hyper(Session *s, const Words *w);
bool choose_weights(Session *s, const Words *w);
bool choose_tokenizer(Session *s, const Words *w);
bool choose_model(Session *s, const Words *w);
bool show_of_model(Session *s, const Words *w);
bool dump_pass(Session *s, const Words *w);
bool show_emitted(Session *s, const Words *w);
bool encode_text(Session *s, const Words *w);
bool decode_tokens(Session *s, const Words *w);

/* repl_run.c, repl_trace.c: commands that run it */
void runner_interrupt(void); /* from a signal handler */
bool run_model(Session *s, const Words *w);
bool rerun(Session *s);
bool next_tokens(Session *s, const Words *w);
bool print_goldens(Session *s, const Words *w);
bool print_tap(Session *s, const Words *w);
bool show_times(Session *s, const Words *w);
bool show_attention(Session *s, const Words *w);
bool show_rank(Session *s, const Words *w);
bool keep_snapshot(Session *s); /* of what was run: for :diff */
bool print_difference(Session *s, const Words *w);
bool hyper_names(Session *s, Arena *a, const char ***name, int *n);
bool tap_names(Session *s, Arena *a, const char ***name, int *n);
#endif
