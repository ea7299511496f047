/* language: converts a model file to a graph.
 *
 * Parsing makes a syntax tree (parse.c, parse_tokens.c, grammar/, syntax_error.c, ast.c), and a program
 * from files and their imports (program.c, library.c).  Elaboration runs the program over compile-time
 * values, in which tensors are nodes (elaborate_*.c, value.c, scope.c, builtin*.c).  The REPL elaborates
 * statement by statement. */
#ifndef LANGUAGE_H
#define LANGUAGE_H
#include "graph/graph.h"

/* Loops of a model and their settings: the table of loops.def. */
typedef enum {
#define LOOP(name, ...) LOOP_##name,
#define KNOB(...)
#include "loops.def"
#undef LOOP
        LOOPS
} LoopId;
enum {
#define LOOP(...)
#undef KNOB
#define KNOB(loop, name, ...) KNOB_OF_##loop##_##name,
#include "loops.def"
#undef LOOP
#undef KNOB
        KNOBS
};
typedef enum {
        LOOP_IN_TOKENS,
        LOOP_IN_PICTURE,
        LOOP_IN_LATENT,
        LOOP_IN_SOUND,
        LOOP_IN_TOKENS_OR_PICTURE /* of a row in loops.def: by the input of the model */
} LoopInput;
typedef enum {
        LOOP_OUT_LOGITS,
        LOOP_OUT_SCORES,
        LOOP_OUT_SPANS,
        LOOP_OUT_VECTORS,
        LOOP_OUT_TOKEN_VECTORS,
        LOOP_OUT_LATENT,
        LOOP_OUT_TEXT
} LoopOutput;
typedef struct {
        const char *name;
        LoopInput in;
        LoopOutput out;
        const char *about;
} LoopInfo;
typedef enum {
        KNOB_TOKEN,
        KNOB_TOKENS,
        KNOB_TEXT,
        KNOB_TEXT_SAID,
        KNOB_TEXT_SAID_SYSTEM,
        KNOB_PAIR,
        KNOB_ROLES,
        KNOB_WHITE,
        KNOB_REALS,
        KNOB_POSITIVES,
        KNOB_COUNT,
        KNOB_LENGTH,
        KNOB_PROMPTS,
        KNOB_TRUTH,
        KNOB_RESAMPLING,
        KNOB_POOLING,
        KNOB_SIMILARITY,
        KNOB_NUMBER,
        KNOB_POSITIVE,
        KNOB_RANGE,
        KNOB_WHOLE_RANGE,
        KNOB_SCHEDULER,
        KNOB_TELLS,
        KNOB_BETAS,
        KNOB_STEP_FROM,
        KNOB_SPACING,
        KNOB_VARIANCE,
        KNOB_SUREST,
        KNOB_PACE,
        KNOB_ACTIVATION
} KnobType;
/* Least and most of settings that are options, too (driver/options.def). */
#define RANGE_TEMPERATURE 0, 1e6
#define RANGE_TOP_K 0, 1e9
#define RANGE_PROBABILITY 0, 1
#define RANGE_REPETITION 0.01, 100
#define RANGE_BEAMS 1, 64
#define RANGE_LENGTH_PENALTY -100, 100
/* Words for settings of denoise, in the order of their numbers in run/run.h. */
#define SCHEDULER_WORDS(X) X(euler) X(heun) X(ddpm) X(ddim) X(dpm_solver)
#define TELLS_WORDS(X) X(noise) X(velocity) X(picture)
#define BETAS_WORDS(X) X(linear) X(scaled_linear) X(cosine)
/* Words for settings of unmask, in the order of their numbers in runtime/unmask.h; its usual length. */
#define SUREST_WORDS(X) X(probability) X(margin) X(entropy) X(random) X(first)
#define PACE_WORDS(X) X(even) X(times) X(chance)
enum { UNMASK_USUAL_LENGTH = 128 };
typedef struct {
        LoopId loop;
        const char *name;
        KnobType type;
        const char *about;
        double least, most; /* of RANGE and WHOLE_RANGE */
} Knob;
extern const LoopInfo loop_info[LOOPS];
int loop_number(const char *name); /* a LoopId; -1: unknown */
/* The input of a loop of a model. */
LoopInput loop_input(LoopId id, const LoopParts *parts);
/* elaborate_loop.c: NULL: unknown; of RANGE and WHOLE_RANGE: whether a number is valid, and its description */
const Knob *knob_find(LoopId loop, const char *name);
bool knob_takes(const Knob *k, double x);
const char *knob_expects(Arena *a, const Knob *k);

/* The syntax tree, made by the parser and read by the elaborator.
 *
 * Kids have fixed indices; an absent one is NULL.  In the table below `a b? c…` means: kid[0] is a, kid[1]
 * is b or NULL, kid[2] and all later ones are c.  `name` describes the node's name, which is NULL if the
 * column is empty.  EXPR is any expression kind (NAME to ALONG), STMT any statement kind (LET to SETTING). */

/* clang-format off */
/*      kind            printed as       name               kids */
#define AST_KINDS(X)                                                                                         \
        /* files */                                                                                          \
        X(FILE, "file")             /*                    (IMPORT BLOCK SCHEME MODEL CHECKPOINT CONFIG TEST)… */ \
        X(LINES, "lines")           /* a REPL's input:    (STMT EXPR or what a FILE holds)… */               \
        X(IMPORT, "import")         /* module's name or NULL; STRING? (its path: import "path") */           \
        X(BLOCK, "block")           /* its name           PARAMS DO? EXPR? (a body, or = EXPR) */            \
        X(SCHEME, "scheme")         /* its name           PARAMS MEMBERS */                                  \
        X(MODEL, "model")           /* its name           NAME? (the parent) DO */                           \
        X(CHECKPOINT, "checkpoint") /* its name (NULL in a model)  NAME? (the parent) ENTRIES */             \
        X(CONFIG, "config")         /* its name           NAME? (the parent) DO SOURCES */                   \
        X(TEST, "test")             /* its title          DO */                                              \
        /* their parts */                                                                                    \
        X(PARAMS, "params")         /*                    PARAM_LIST (by position) PARAM_LIST (by name) */   \
        X(PARAM_LIST, "list")       /*                    PARAM… */                                          \
        X(PARAM, "param")           /* its name           type? EXPR? (the default); type: EXPR or TYPE */   \
        X(TYPE, "type")             /* "block" or "scheme" */                                                \
        X(DO, "do")                 /*                    STMT… */                                           \
        X(MEMBERS, "members")       /*                    (MEMBER or STMT)… */                               \
        X(MEMBER, "member")         /* its name           PARAMS DO? EXPR? (as BLOCK) */                     \
        X(ENTRIES, "entries")       /*                    (MAP RULE ENTRY_IF)… */                            \
        X(MAP, "map")               /* published name     EXPR, RULE of an optional tensor */                \
        X(RULE, "rule")             /* "drop", "optional" STRING (published name) */                         \
        X(ENTRY_IF, "entry-if")     /*                    EXPR ENTRIES (ENTRIES or ENTRY_IF)? */             \
        X(SOURCES, "sources")       /* of a config        ARCHITECTURE… */                                   \
        X(ARCHITECTURE, "architecture") /* published name NAME… (the object that has the keys) */            \
        X(KEYS, "keys")             /* read ignore omit imply  KEY… */                                       \
        X(KEY, "key")               /* a.b of an object   NAME? (within the item) NAME? (type) EXPR? (default) */ \
        X(STATED, "stated")         /* of a config        NAME? (the family) DO (SETTING LET CHECKPOINT_USE IF) */ \
        X(NAMES, "names")           /*                    NAME… (at least one) */                            \
        X(EACH, "each")             /* of the slots       NAME? (the index)    layer[i] */                   \
        X(ARG, "arg")               /* or NULL            EXPR?   f(e) | f(n: e) | f(n:), then kid[0] NULL */ \
        X(RANGE, "range")           /*                    EXPR? EXPR?   a..b | a.. | ..b | ..  */            \
        /* statements */                                                                                     \
        X(LET, "let")               /*                    NAMES EXPR */                                      \
        X(DECL, "decl")             /*                    NAMES type EXPR? (default); type: EXPR or TYPE */  \
        X(SHARED, "shared")         /* its name           EXPR */                                            \
        X(RETURN, "return")         /*                    EXPR… (at least one) */                            \
        X(REQUIRE, "require")       /*                    EXPR EXPR? (within) STRING? (the message) */       \
        X(IF, "if")                 /*                    EXPR DO (DO or IF)? */                             \
        X(REPEAT, "repeat")         /*                    EACH EXPR (iterations) DO */                            \
        X(INPUT, "input")           /* a group's, or NULL DECL… (one without a group) */                     \
        X(OUTPUT, "output")         /* its name           EXPR */                                            \
        X(CHECKPOINT_USE, "checkpoint-use") /*            EXPR */                                            \
        X(LOOP, "loop")             /* its name           SETTING… */                                        \
        X(LOOP_NONE, "loop-none")   /* its name */                                                           \
        X(SETTING, "set")           /* its name           EXPR */                                            \
        /* expressions */                                                                                    \
        X(NAME, "name")             /* the name */                                                           \
        X(NUMBER, "number")         /* as written; its value is `number`, whole as written if is_int */      \
        X(STRING, "string")         /* the text, escapes resolved */                                         \
        X(TRUE, "true")                                                                                      \
        X(FALSE, "false")                                                                                    \
        X(NONE, "none")                                                                                      \
        X(LIST, "list")             /*                    (EXPR RANGE)…; a RANGE here has no bounds */       \
        X(COND, "if")               /*                    EXPR (condition) EXPR EXPR */                      \
        X(OR, "or")                 /*                    EXPR EXPR, and so for all binary operators */      \
        X(AND, "and")                                                                                        \
        X(NOT, "not")               /*                    EXPR */                                            \
        X(EQ, "==")                                                                                          \
        X(NE, "!=")                                                                                          \
        X(LT, "<")                                                                                           \
        X(GT, ">")                                                                                           \
        X(LE, "<=")                                                                                          \
        X(GE, ">=")                                                                                          \
        X(ADD, "+")                                                                                          \
        X(SUB, "-")                                                                                          \
        X(MUL, "*")                                                                                          \
        X(DIV, "/")                                                                                          \
        X(FLOORDIV, "//")                                                                                    \
        X(MOD, "%")                                                                                          \
        X(MATMUL, "@")                                                                                       \
        X(POW, "^")                                                                                          \
        X(NEG, "neg")               /*                    EXPR */                                            \
        X(TRANSPOSE, "'")           /*                    EXPR */                                            \
        X(FIELD, ".")               /* after the dot      EXPR (the object) */                               \
        X(CALL, "call")             /*                    EXPR (the callee) ARG… */                          \
        X(INDEX, "index")           /*                    EXPR (the object) (EXPR or RANGE)… */              \
        X(AS, "as")                 /* the instance's     EXPR */                                            \
        X(OVER, "over")             /*                    EACH EXPR (iterations) DO */                       \
        X(ALONG, "along")           /*                    EACH EXPR (positions) DO */
/* clang-format on */

typedef enum AstKind {
#define X(kind, printed) AST_##kind,
        AST_KINDS(X)
#undef X
                AST_NKIND
} AstKind;

/* Maximum depth of a tree: a recursive walk is safe.  (A longer chain of operators is a syntax error.) */
enum { AST_MAX_DEPTH = 4000 };

typedef struct Ast Ast;
struct Ast {
        AstKind kind;
        Span span;        /* of the whole node */
        Span name_span;   /* of the name, if a declaration, argument or field has one; else span */
        const char *name; /* interned, or NULL */
        double number;    /* of a NUMBER */
        bool is_int;      /* a NUMBER written without point and exponent */
        bool unread;      /* an item of parse_outline: its body is empty until parse_rest */
        int depth;        /* 1 + the deepest kid's */
        int nkid, capacity;
        Ast **kid;
};

const char *ast_kind_name(AstKind kind);
bool ast_is_expression(AstKind kind);
bool is_name_text(const char *text); /* letters, digits and _ */

/* Prints an s-expression, broken into lines if it is wide: for tests. */
void ast_dump(const Ast *tree, FILE *stream);
/* Prints source in a canonical layout: parsing the output gives the same tree, except for spans. */
void ast_print(const Ast *tree, FILE *stream);
/* Whether two trees are the same except for spans.  Both may be NULL. */
bool ast_equal(const Ast *a, const Ast *b);

/* For the parser. */
Ast *ast_new(Arena *arena, AstKind kind, Span span, int nkid);
void ast_append(Arena *arena, Ast *list, Ast *kid); /* a kid of NULL is dropped */

/* Parsing: a source to its syntax tree. Scanner and grammar are grammar/lathe.l and grammar/lathe.y. */

/* State of a REPL's input.  INCOMPLETE: another line is needed, and nothing was reported. */
typedef enum ParseResult { PARSE_COMPLETE, PARSE_INCOMPLETE, PARSE_ERROR } ParseResult;

/* Reads a whole file (16 MB at most), or standard input for "-".  NULL: it can't be read, with the reason
 * in *why ("No such file or directory"). */
Source *read_source(Arena *arena, const char *path, const char **why);

/* The AST_FILE of a source, or NULL after an error was reported. */
Ast *parse_source(Arena *arena, Interner *names, Diag *diag, const Source *source);

/* The same for a file of the library, without the bodies of its items: names, parameters, parents and
 * architectures are there.  parse_rest adds the body of one, in place. */
Ast *parse_outline(Arena *arena, Interner *names, Diag *diag, const Source *source);
void parse_rest(Arena *arena, Interner *names, const Ast *item);

/* State of a REPL's input that is passed line by line.  More is needed if a bracket is open or the last
 * token can't end a statement, and no token is wrong.  Start with `LineState state = {0};`. */
typedef struct LineState {
        int open; /* number of open brackets */
        bool wants_operand, wrong;
} LineState;
bool wants_line(LineState *state, const Source *line);

/* The AST_LINES of a REPL's input, even if incomplete; NULL after an error was reported. */
Ast *parse_input(Arena *arena, Interner *names, Diag *diag, const Source *source);

/* The same for input that may be incomplete.  *tree is NULL unless the result is PARSE_COMPLETE. */
ParseResult parse_lines(Arena *arena, Interner *names, Diag *diag, const Source *source, Ast **tree);

/* `lathe parse [--print | --lines | --check | --outline] FILE…`, for developers: dumps the tree of each file.
 * --print prints it as source, --lines reads REPL input and prints its state, --check prints, parses again
 * and compares, --outline compares with the outline and the rest of its items.  Returns the exit code. */
int parse_command(int argc, char **argv);

/* program.c, elaborate_model.c: from the syntax tree to a graph. */
typedef struct {
        const char *name, *value; /* -D name=value; value is an expression in the language */
        const char *said;         /* its origin, for messages; NULL: -D name */
} Override;
typedef struct Program Program; /* parsed files with their imports */
/* given: the main file's text (stdin), or NULL */
Program *program_load(Arena *arena, Interner *names, Diag *diag, const char *path, const Source *given);
/* The model `which`.  NULL: the last model of the main file without a missing hyperparameter. */
Graph *elaborate_model(Program *p, const char *which, const Override *override, int noverride, Diag *diag);
/* Names of the main file's models without a missing hyperparameter, in order. */
const char **program_models(Program *p, const Override *override, int noverride, int *n);
/* Checks the other models: settings that no ancestor declares are errors; models that lack a value and are
 * not parents are noted. */
void check_open_models(Program *p, const Override *override, int noverride, Diag *diag);
int program_files(const Program *p); /* number of files: the main file and all imported ones */
const Source *program_file(const Program *p, int which);
int program_ntest(const Program *p);
Graph *elaborate_test(Program *p, int which, Diag *diag);
const char *program_test_name(const Program *p, int which);

/* The elaborator.
 *
 * It runs the syntax tree as a program over compile-time values.  A value that depends on inputs or
 * weights is a tensor, and arithmetic on it makes nodes in the current body.  An error gives the value
 * POISON, on which every operation returns POISON without a message, so that an error is reported once. */

enum {
        MAX_DEPTH = 64,          /* nested instances */
        MAX_NODES = 1000000,     /* nodes in the graph */
        MAX_TOWER = 10000,       /* longest path of nodes: passes may recurse */
        MAX_ITERATIONS = 100000, /* of nested repeats, as a product */
        MAX_BODIES = 255,        /* distinct bodies of a repeat: Region.body_of has bytes */
        MAX_WORK = 200000000,    /* evaluated expressions */
        MAX_UNPACK = 4096        /* values of a list */
};

typedef struct Elaborator Elaborator;
typedef struct Block Block;
typedef struct Scheme Scheme;
typedef struct Scope Scope;
typedef struct File File;
typedef struct PathNode PathNode;

/* ---- values ---- */

typedef enum {
        V_POISON,
        V_NONE,
        V_BOOL,
        V_INT,
        V_REAL,
        V_TEXT,
        V_LIST,
        V_DIM,
        V_TENSOR,
        V_BLOCK,
        V_SCHEME,
        V_GROUP,
        V_PATH
} ValueKind;

typedef struct Value Value;
typedef struct {
        int n;
        Value *item;
} List;

/* An inexact quotient of integers, kept with the real, for the message if it is used as a dimension. */
typedef struct {
        double left, right;
        const Ast *division;
} Quotient;

/* A weight, or a prefix of its path, in a checkpoint entry. */
typedef struct {
        PathNode *node;
        int nindex;
        int64_t index[MAX_REGIONS];
} PathValue;

typedef struct {
        const char *name;
        int group; /* Input.group */
} GroupValue;

struct Value {
        ValueKind kind;
        union {
                double number; /* V_BOOL V_INT V_REAL; integers are exact below 2^53 */
                const char *text;
                const List *list;
                const Dim *dim; /* not fixed, which would be a V_INT */
                Node *tensor;
                Block *block;
                Scheme *scheme;
                const GroupValue *group;
                const PathValue *path;
        };
        const Quotient *quotient; /* V_REAL; may be NULL */
};

typedef struct {
        const char *name;
        Value value;
        Span span;
} Binding;
typedef struct Iterations Iterations; /* of a repeat: elaborate_iterations.c */
typedef struct {
        Binding *binding;
        int n, capacity;
        Iterations *iterations; /* of repeats, the last one first */
} Vars;

/* Visible names.  Assignments go to `vars`; a lookup continues outwards, to the file and its imports. */
struct Scope {
        Vars *vars; /* NULL: scope of a file */
        Scope *outer;
        File *file;    /* for the scope of a file */
        bool boundary; /* scope of a block or model: a repeat carries no variables from outside it */
};

typedef struct Builtin Builtin;

/* A prefix of weights' paths: one for each instance, shared with calls that are the whole of a block. */
typedef struct PathScope PathScope;
struct PathScope {
        PathScope *outer; /* NULL: the model */
        const char *name;
        int64_t id;       /* unique: distinguishes its children */
        int64_t identity; /* among the children; the same in all iterations of a repeat */
        Region *region;   /* its name is that of a repeat, in this iteration */
        int64_t iteration;
        bool shared;    /* in a shared instance after its first call: its weights exist */
        bool of_shared; /* its scope is a shared block */
        Span span;
};

/* A callable: a block, a scheme or its member, or a builtin, with arguments that are bound by name. */
struct Block {
        const Ast *def; /* BLOCK, MEMBER or SCHEME; NULL: a builtin, or `none` if that is NULL too */
        const Builtin *builtin;
        const char *name;
        Scope *scope;        /* scope of its definition */
        Vars bound;          /* arguments given by name */
        const char *spelled; /* a member: the name of its scheme value as spelled */
        const char *scheme;  /* a member: its scheme */
        PathScope *shared;   /* path of a shared instance */
};

struct Scheme {
        const char *name;
        const Ast *def;
        Scope *scope; /* its parameters first, then its own variables */
        int nparam;   /* number of parameters, which are private */
        Vars member;
};

/* ---- files ---- */

typedef struct {
        const char *name;
        const Ast *ast; /* BLOCK SCHEME MODEL CHECKPOINT */
        File *file;
        Block block; /* of blocks and schemes, after the first lookup */
        bool has_block;
} Definition;

typedef struct {
        Definition **slot;
        int64_t slots, used;
} DefinitionTable;

struct File {
        const char *path, *name; /* name: as imported, or the file's name */
        const Source *source;
        const Ast *tree; /* its items are read when they are found */
        Program *program;
        File **import;
        int nimport;
        DefinitionTable table; /* of its own definitions and all imported ones */
        Scope scope;
        bool loading;
        bool library; /* a file of the library */
};

/* Variables outside of the main file that its items and statements can use: those of a REPL. */
typedef struct {
        void *from;
        bool (*find)(void *from, Elaborator *e, const char *name, Value *value);
        int (*names)(void *from, const char **name, int most); /* for "did you mean" */
} Outside;

struct Program {
        Arena *arena; /* of the files */
        /* for elaborated data; the same, except in a REPL, where it is freed after each evaluation */
        Arena *work;
        const Outside *outside; /* or NULL */
        Interner *names;
        Diag *diag;
        File **file;
        int nfile;
        const Ast **item; /* those read after their file */
        int nitem, item_cap;
        File *main;
        const Ast **test;
        int ntest;
        bool without_checkpoints; /* of models: their entries are not evaluated */
};

/* The embedded library; NULL: unknown module. */
const Source *library_source(Arena *arena, const char *name);

/* ---- the elaborator ---- */

/* A block under elaboration, to detect recursion. */
typedef struct Active Active;
struct Active {
        Active *outer;
        const Ast *def;
        const Scope *scope;
        const char *name;
};

/* A change that is undone if an iteration is elaborated again. */
typedef struct {
        Weight *weight; /* NULL: an instance name was added */
        int64_t index;
} Change;

/* Names of instances with weights, by the id of their scope. */
typedef struct {
        int64_t parent, identity;
        const char *name;
        Span span;
        int64_t next; /* next in the bucket; -1: none */
} InstanceName;

/* Tree of weights by path, for checkpoint entries. */
struct PathNode {
        const char *name;
        PathNode *child, *next, *outer;
        Weight *weight;
        bool is_region;
        int64_t iterations;
};

/* A value of iterations, requested by an expression: outer[..].inner[..].x */
typedef struct {
        const char **part;
        int n;
} Asked;

/* A value for a hyperparameter from outside the model that declares it. */
typedef struct {
        const char *name;
        const Ast *value;
        Scope *scope;
        Span span;
        bool declares; /* `name = value`; the parent may not know the name */
        bool evaluating, evaluated, consumed;
} PendingValue;

struct Elaborator {
        Program *program;
        Graph *g;
        Diag *diag;
        Arena *keep;  /* the graph's */
        Arena *arena; /* memory of the current iteration */
        Body *body;
        Instance *where;
        PathScope *path;
        PathScope *root;
        Active *active;
        int depth;
        int nregion;
        int64_t iterations; /* product over the outer repeats */
        int64_t work, next_id;
        bool stopped;
        Value returned; /* result of the current block, if has_returned */
        bool has_returned, may_return, returned_several;
        bool in_test, in_structure, in_along;
        bool asks; /* for index_uses.c: unknown values are absent */

        Weight **by_path; /* hash table of weights by their interned path */
        int64_t by_path_slots;
        int weight_cap;
        InstanceName *instance;
        int64_t ninstance, instance_cap, *instance_bucket;
        Change *change;
        int64_t nchange, change_cap;
        PathNode *paths; /* while checkpoint entries are read */
        Span *varying;   /* indices to be written as gathers: elaborate_repeat.c */
        int nvarying, varying_cap;
        Asked *asked; /* elaborate_iterations.c */
        int nasked, asked_cap, nasked_file, nasked_item;
        bool missing_weight;          /* an entry names a weight that this iteration lacks */
        struct AbsentWeights *absent; /* checkpoint: names of weights that no iteration has */

        Scope *model_scope;
        const Ast *const *chain; /* [nchain] the model and its ancestors, root first */
        int nchain;
        PendingValue *pending;
        int npending;
        int input_cap, output_cap, require_cap, hyper_cap, loop_cap, entry_cap;
};

/* elaborate.c */
Elaborator *elaborator_new(Program *p, const char *name, Diag *diag);
Graph *elaborator_finish(Elaborator *e);
Value poisoned(Elaborator *e, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* value.c */
extern const Value NOTHING, POISON;
Value value_bool(bool b);
Value value_number(double x, bool is_int);
Value value_tensor(Node *n); /* NULL: poison */
Value value_text(const char *text);
Value value_list(Elaborator *e, int n, const Value *item);
bool is_number(Value v);                           /* V_INT or V_REAL */
const char *value_text_of(Elaborator *e, Value v); /* "a tensor [time, 64]" */

/* scope.c */
Scope *scope_new(Elaborator *e, Scope *outer, bool boundary);
void scope_set(Elaborator *e, Scope *scope, const char *name, Value value, Span span);
void vars_set(Arena *arena, Vars *vars, const char *name, Value value, Span span);
Binding *vars_find(const Vars *vars, const char *name);

/* program.c */
Program *program_empty(Arena *arena, Interner *names, Diag *diag);
void program_define(Program *p, Definition *d); /* in the main file; replaces the definition of that name */
void program_import(Program *p, const char *from, const Ast *import);
/* Path of the imported file, "lib/NAME.model" for a module of the library.  NULL: not found. */
const char *program_import_path(Program *p, const char *from, const Ast *import);
Definition *file_find(const File *file, const char *name);
void item_read(Program *p, const Ast *item); /* the rest of an item that was found by its head */
/* A name that no visible file defines: from the prelude, or from the library's module of that name.  NULL:
 * unknown. */
Definition *library_find(Program *p, const char *name);

/* elaborate_expression.c: `name` is the name of the instance if the expression is a call: a variable's
 * name, WHOLE_BLOCK if the expression is the whole of a block (the block's name is used), or NULL. */
Value eval(Elaborator *e, Scope *scope, const Ast *ast, const char *name);

/* elaborate_index.c */
Value index_value(Elaborator *e, Scope *scope, const Ast *ast);

/* elaborate_statement.c */
/* runs the statements of a DO in order, up to a return */
void run_statements(Elaborator *e, Scope *scope, const Ast *body);
void run_statement(Elaborator *e, Scope *scope, const Ast *statement);

/* elaborate_weight.c */
void number_slots(Elaborator *e);

/* elaborate_iterations.c */
void ask_for_iterations(Elaborator *e, const Ast *tree); /* for a tree that is in no file */

/* elaborate_command.c: `lathe elaborate` */
int elaborate_command(int argc, char **argv);

/* builtin.c */
int builtin_names(const char **name, int max);
/* Parameters, "x; axis", and description; NULL: unknown builtin. */
const char *builtin_takes(const char *name, const char **about);
#endif
