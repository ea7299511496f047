/* language: converts a model file to a graph.
 *
 * Parsing gives a syntax tree (parse.c, parse_tokens.c, grammar/, syntax_error.c, ast.c), files and their
 * imports a program (program.c, library.c), and elaboration runs that as a program over compile-time values,
 * whose tensors are nodes (elaborate_*.c, value.c, scope.c, builtin*.c).  Elaborating piece by piece is for
 * the REPL. */
#ifndef LANGUAGE_H
#define LANGUAGE_H
#include "graph/graph.h"

/* Loops around a model, and their knobs: the table of loops.def. */
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
typedef enum { LOOP_IN_TOKENS, LOOP_IN_PICTURE, LOOP_IN_LATENT, LOOP_IN_SOUND } LoopInput;
typedef enum {
        LOOP_OUT_LOGITS,
        LOOP_OUT_SCORES,
        LOOP_OUT_VECTORS,
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
        KNOB_NUMBER,
        KNOB_POSITIVE,
        KNOB_SCHEDULER,
        KNOB_TELLS,
        KNOB_BETAS,
        KNOB_STEP_FROM,
        KNOB_SPACING,
        KNOB_VARIANCE
} KnobType;
/* The words that knobs of denoise take, in the order of the numbers that run/run.h gives them. */
#define SCHEDULER_WORDS(X) X(euler) X(heun) X(ddpm) X(ddim) X(dpm_solver)
#define TELLS_WORDS(X) X(noise) X(velocity) X(picture)
#define BETAS_WORDS(X) X(linear) X(scaled_linear) X(cosine)
typedef struct {
        LoopId loop;
        const char *name;
        KnobType type;
        const char *about;
} Knob;
extern const LoopInfo loop_info[LOOPS];
extern const Knob knob_table[KNOBS];
int loop_number(const char *name); /* a LoopId; -1: there is none */

/* The syntax tree: what the parser builds and the elaborator reads.
 *
 * Kids stand at fixed places, NULL where absent. In the table below `a b? c…` reads: kid[0] is a, kid[1] is b
 * or NULL, kid[2] and all later ones are c. `name` says what the node's name holds; it is NULL where the
 * table says nothing. EXPR is any expression kind (NAME to OVER), STMT any statement kind (LET to SETTING).
 */

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
        X(MAP, "map")               /* published name     EXPR */                                            \
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
        X(OVER, "over")             /*                    EACH EXPR (iterations) DO */
/* clang-format on */

typedef enum AstKind {
#define X(kind, printed) AST_##kind,
        AST_KINDS(X)
#undef X
                AST_NKIND
} AstKind;

/* No tree is deeper: a recursive walk is safe. (A longer chain of operators is a syntax error.) */
enum { AST_MAX_DEPTH = 4000 };

typedef struct Ast Ast;
struct Ast {
        AstKind kind;
        Span span;        /* all of it */
        Span name_span;   /* the name alone, where a declaration, argument or field has one; else span */
        const char *name; /* interned, or NULL */
        double number;    /* of a NUMBER */
        bool is_int;      /* a NUMBER written without point and exponent */
        int depth;        /* 1 + the deepest kid's */
        int nkid, capacity;
        Ast **kid;
};

const char *ast_kind_name(AstKind kind);
bool ast_is_expression(AstKind kind);
bool is_name_text(const char *text); /* letters, digits and _ */

/* As an s-expression, broken over lines where it is wide: for tests. */
void ast_dump(const Ast *tree, FILE *stream);
/* Back to source, in one canonical layout: parsing the output gives the same tree, spans aside. */
void ast_print(const Ast *tree, FILE *stream);
/* The same tree, spans aside. Both may be NULL. */
bool ast_equal(const Ast *a, const Ast *b);

/* For the parser. */
Ast *ast_new(Arena *arena, AstKind kind, Span span, int nkid);
void ast_append(Arena *arena, Ast *list, Ast *kid); /* a kid of NULL is dropped */

/* Parsing: a source to its syntax tree. Scanner and grammar are grammar/lathe.l and grammar/lathe.y. */

/* How a REPL's input stands: INCOMPLETE wants another line and reports nothing. */
typedef enum ParseResult { PARSE_COMPLETE, PARSE_INCOMPLETE, PARSE_ERROR } ParseResult;

/* Reads a file whole (16 MB at most), or standard input for "-". NULL if it can't be read; then *why says so ("No such file or
 * directory"). */
Source *read_source(Arena *arena, const char *path, const char **why);

/* The AST_FILE of a source, or NULL after an error was reported. */
Ast *parse_source(Arena *arena, Interner *names, Diag *diag, const Source *source);

/* Given a REPL's input line by line: whether it wants another, since a bracket is open or its last token can't end a
 * statement, and no token is wrong. Start with `LineState state = {0};`. */
typedef struct LineState {
        int open; /* brackets */
        bool wants_operand, wrong;
} LineState;
bool wants_line(LineState *state, const Source *line);

/* The AST_LINES of a REPL's input, complete or not; NULL after an error was reported. */
Ast *parse_input(Arena *arena, Interner *names, Diag *diag, const Source *source);

/* The same for input that may not be whole. *tree is NULL unless the result is PARSE_COMPLETE. */
ParseResult parse_lines(Arena *arena, Interner *names, Diag *diag, const Source *source, Ast **tree);

/* `lathe parse [--print | --lines | --check] FILE…`, for developers: dumps the tree of each file; --print
 * prints it as source, --lines reads REPL input and says how it stands, --check prints and parses again and
 * compares. Returns the exit code. */
int parse_command(int argc, char **argv);

/* program.c, elaborate_model.c: the syntax tree to a graph */
typedef struct {
        const char *name, *value; /* -D name=value; value is an expression in the language */
        const char *said;         /* where it was given, for messages; NULL: -D name */
} Override;
typedef struct Program Program; /* files parsed, with their imports */
Program *program_load(Arena *arena, Interner *names, Diag *diag, const char *path,
                      const Source *given); /* given: text at hand (stdin), or NULL */
/* the model to build: `which`, or the last model of the main file that has no missing hyperparameter, if NULL */
Graph *elaborate_model(Program *p, const char *which, const Override *override, int noverride, Diag *diag);
/* the names of the main file's models that lack no hyperparameter, in order */
const char **program_models(Program *p, const Override *override, int noverride, int *n);
/* Of the others: settings that no ancestor declares, as errors; and, as notes, which models lack a value that are nobody's
 * parents. */
void check_open_models(Program *p, const Override *override, int noverride, Diag *diag);
int program_files(const Program *p); /* the main file, and all that are imported */
const Source *program_file(const Program *p, int which);
int program_ntest(const Program *p);
Graph *elaborate_test(Program *p, int which, Diag *diag);
const char *program_test_name(const Program *p, int which);

/* The elaborator.
 *
 * The elaborator runs the syntax tree as a program over compile-time values; a value that depends on inputs
 * or weights is a tensor, and arithmetic on it makes nodes in the current body.  An error gives the value
 * POISON, which every operation passes on quietly, so that one mistake is reported once. */

enum {
        MAX_DEPTH = 64,          /* instances inside instances */
        MAX_NODES = 1000000,     /* nodes kept in the graph */
        MAX_TOWER = 10000,       /* nodes one on another: passes may recurse */
        MAX_ITERATIONS = 100000, /* of nested repeats together */
        MAX_BODIES = 255,        /* distinct bodies of a repeat: Region.body_of is bytes */
        MAX_REGIONS = 4,         /* repeats inside repeats: Weight.region */
        MAX_WORK = 200000000,    /* expressions evaluated */
        MAX_UNPACK = 4096        /* values in a list */
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

/* An inexact quotient of integers: kept beside the real, for the message when it is used as a dimension. */
typedef struct {
        double left, right;
        const Ast *division;
} Quotient;

/* A weight, or part of its path, as a checkpoint entry addresses it. */
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
                const Dim *dim; /* never fixed: that is a V_INT */
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
        Iterations *iterations; /* of repeats, the latest first */
} Vars;

/* Names in sight.  Assignments go to `vars`; a lookup goes outwards to the file and what it imports. */
struct Scope {
        Vars *vars; /* NULL: a file's */
        Scope *outer;
        File *file;    /* of a file's scope */
        bool boundary; /* a block's or model's own scope: what a repeat carries is not sought further out */
};

typedef struct Builtin Builtin;

/* The path under which weights are known: one for each instance, shared by calls that are the whole of a
 * block. */
typedef struct PathScope PathScope;
struct PathScope {
        PathScope *outer; /* NULL: the model */
        const char *name;
        int64_t id;       /* unique: distinguishes its children */
        int64_t identity; /* as a child; the iterations of one repeat have the same */
        Region *region;   /* its name is a repeat's, in this iteration */
        int64_t iteration;
        bool shared; /* in a shared instance that has been called before: its weights are there */
        Span span;
};

/* A callable: a block, a scheme or its member, or a builtin, with the arguments given so far by name. */
struct Block {
        const Ast *def; /* BLOCK, MEMBER or SCHEME; NULL: a builtin, or `none` if that is NULL too */
        const Builtin *builtin;
        const char *name;
        Scope *scope;        /* where it was written */
        Vars bound;          /* arguments given by name */
        const char *spelled; /* a member: the name of its scheme value */
        const char *scheme;  /* a member: its scheme */
        PathScope *shared;   /* a shared instance's place */
};

struct Scheme {
        const char *name;
        const Ast *def;
        Scope *scope; /* its parameters first, then its own variables */
        int nparam;   /* these are not seen from outside */
        Vars member;
};

/* ---- files ---- */

typedef struct {
        const char *name;
        const Ast *ast; /* BLOCK SCHEME MODEL CHECKPOINT */
        File *file;
        Block block; /* of blocks and schemes, once they are looked up */
        bool has_block;
} Definition;

typedef struct {
        Definition **slot;
        int64_t slots, used;
} DefinitionTable;

struct File {
        const char *path, *name; /* name: as imported, or the file's name */
        const Source *source;
        const Ast *tree;
        File **import;
        int nimport;
        DefinitionTable table; /* its own and all it imports */
        Scope scope;
        bool loading;
        bool library; /* built in */
};

/* Variables that the main file's items and statements see from outside it: a REPL's. */
typedef struct {
        void *from;
        bool (*find)(void *from, Elaborator *e, const char *name, Value *value);
        int (*names)(void *from, const char **name, int most); /* for "did you mean" */
} Outside;

struct Program {
        Arena *arena; /* of the files */
        Arena *work; /* of what is elaborated: the same, but in a REPL, where it goes after each evaluation */
        const Outside *outside; /* or NULL */
        Interner *names;
        Diag *diag;
        File **file;
        int nfile;
        File *main;
        const Ast **test;
        int ntest;
};

/* The embedded library; NULL: unknown module. */
const Source *library_source(Arena *arena, const char *name);

/* ---- the elaborator ---- */

/* A block that is being elaborated, for the check that none calls itself. */
typedef struct Active Active;
struct Active {
        Active *outer;
        const Ast *def;
        const Scope *scope;
        const char *name;
};

/* A change to be undone when an iteration is elaborated again. */
typedef struct {
        Weight *weight; /* NULL: an entry of the instance names */
        int64_t index;
} Change;

/* Names of instances that bear weights, by the id of the scope they stand in. */
typedef struct {
        int64_t parent, identity;
        const char *name;
        Span span;
        int64_t next; /* same bucket; -1 */
} InstanceName;

/* Weights by path: for lookups of checkpoint entries. */
struct PathNode {
        const char *name;
        PathNode *child, *next, *outer;
        Weight *weight;
        bool is_region;
        int64_t iterations;
};

/* A value of iterations that a tree names: outer[..].inner[..].x */
typedef struct {
        const char **part;
        int n;
} Asked;

/* A value given for a hyperparameter from outside the model that declares it. */
typedef struct {
        const char *name;
        const Ast *value;
        Scope *scope;
        Span span;
        bool declares; /* `name = value`, which need not be known to the parent */
        bool evaluating, evaluated, consumed;
} PendingValue;

struct Elaborator {
        Program *program;
        Graph *g;
        Diag *diag;
        Arena *keep;  /* the graph's */
        Arena *arena; /* of the iteration that is elaborated */
        Body *body;
        Instance *where;
        PathScope *path;
        PathScope *root;
        Active *active;
        int depth;
        int nregion;
        int64_t iterations; /* product over the repeats around */
        int64_t work, next_id;
        bool stopped;
        Value returned; /* of the block that is elaborated, once has_returned */
        bool has_returned, may_return, returned_several;
        bool in_test, in_structure;
        bool asks; /* see index_uses.c: unknown values are absent */

        Weight **by_path; /* hash table of weights by their interned path */
        int64_t by_path_slots;
        int weight_cap;
        InstanceName *instance;
        int64_t ninstance, instance_cap, *instance_bucket;
        Change *change;
        int64_t nchange, change_cap;
        PathNode *paths; /* while checkpoint entries are read */
        Span *varying;   /* indices that are written as gathers: see elaborate_repeat.c */
        int nvarying, varying_cap;
        Asked *asked; /* see elaborate_iterations.c */
        int nasked, asked_cap, nasked_file;
        bool missing_weight; /* an entry met a weight that this iteration lacks */

        Scope *model_scope;
        const Ast *const *chain; /* [nchain] the model and those that it inherits from, root first */
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
void program_define(Program *p, Definition *d); /* in the main file, replacing the definition of that name */
void program_import(Program *p, const char *from, const Ast *import);
/* The path of the file that it takes there, of a module of the library "lib/NAME.model"; NULL: there is none. */
const char *program_import_path(Program *p, const char *from, const Ast *import);
Definition *file_find(const File *file, const char *name);
/* What no file in sight defines: from the prelude, or from the library's module of that name; NULL: there is none. */
Definition *library_find(Program *p, const char *name);

/* elaborate_expression.c: `name` is what an instance is called if a call is all of the expression: a
 * variable's name, WHOLE_BLOCK if the expression is all of a block (the block's own name serves), or NULL */
Value eval(Elaborator *e, Scope *scope, const Ast *ast, const char *name);

/* elaborate_index.c */
Value index_value(Elaborator *e, Scope *scope, const Ast *ast);

/* elaborate_statement.c */
void run_statements(Elaborator *e, Scope *scope,
                    const Ast *body); /* DO: statements in order, up to a return */
void run_statement(Elaborator *e, Scope *scope, const Ast *statement);

/* elaborate_weight.c */
void number_slots(Elaborator *e);

/* elaborate_iterations.c */
void ask_for_iterations(Elaborator *e, const Ast *tree); /* of a tree that is in no file */

/* elaborate_command.c: `lathe elaborate` */
int elaborate_command(int argc, char **argv);

/* builtin.c */
int builtin_names(const char **name, int max);
/* Its parameters, "x; axis", and its description; NULL: unknown builtin. */
const char *builtin_takes(const char *name, const char **about);
#endif
