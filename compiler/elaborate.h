/* The elaborator's own types: values, scopes, instances.  Only the files elaborate_*.c, program.c, scope.c,
 * value.c and builtin.c use this; graph.h has the interface.
 *
 * The elaborator runs the syntax tree as a program over compile-time values; a value that depends on inputs
 * or weights is a tensor, and arithmetic on it makes nodes in the current body.  An error gives the value
 * POISON, which every operation passes on quietly, so that one mistake is reported once. */
#ifndef ELABORATE_H
#define ELABORATE_H

#include "graph.h"

enum {
        MAX_DEPTH = 64,       /* instances inside instances */
        MAX_NODES = 1000000,  /* nodes kept in the graph */
        MAX_TOWER = 10000,    /* nodes one on another: passes may recurse */
        MAX_TRIPS = 100000,   /* of nested repeats together */
        MAX_BODIES = 255,     /* distinct bodies of a repeat: Region.body_of is bytes */
        MAX_REGIONS = 4,      /* repeats inside repeats: Weight.region */
        MAX_WORK = 200000000, /* expressions evaluated */
        MAX_UNPACK = 4096     /* values in a list */
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
typedef struct Trips Trips; /* of a repeat: elaborate_trips.c */
typedef struct {
        Binding *binding;
        int n, capacity;
        Trips *trips; /* of repeats, the latest first */
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
        int64_t id;       /* unique: what its children are told apart by */
        int64_t identity; /* as a child; the trips of one repeat have the same */
        Region *region;   /* its name is a repeat's, in this trip */
        int64_t trip;
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

/* The embedded library; NULL: there is no such module. */
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

/* A change to be undone when a trip is elaborated again. */
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
        int64_t trips;
};

/* A value of trips that a tree names: outer[..].inner[..].x */
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
} Pending;

struct Elaborator {
        Program *program;
        Graph *g;
        Diag *diag;
        Arena *keep;  /* the graph's */
        Arena *arena; /* of the trip that is elaborated */
        Body *body;
        Instance *where;
        PathScope *path;
        PathScope *root;
        Active *active;
        int depth;
        int nregion;
        int64_t trips; /* product over the repeats around */
        int64_t work, next_id;
        bool stopped;
        Value returned; /* of the block that is elaborated, once has_returned */
        bool has_returned, may_return, returned_several;
        bool in_test, in_structure;

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
        Asked *asked; /* see elaborate_trips.c */
        int nasked, asked_cap, nasked_file;
        bool missing_weight; /* an entry met a weight that this trip lacks */

        Scope *model_scope;
        const Ast *const *chain; /* [nchain] the model and those that it inherits from, root first */
        int nchain;
        Pending *pending;
        int npending;
        int input_cap, output_cap, require_cap, hyper_cap, loop_cap, entry_cap;
};

/* elaborate.c */
Elaborator *elaborator_new(Program *p, const char *name, Diag *diag);
Graph *elaborator_finish(Elaborator *e);
Value fail(Elaborator *e, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
void hint_nearest(Elaborator *e, const char *name, const char *const *candidate, int n);
bool stopped(Elaborator *e, Span span);
#define GROW(e, array, n, cap)                                                                               \
        ((n) < (cap)                                                                                         \
                 ? (void)0                                                                                   \
                 : (void)((array) = arena_grow((e)->keep, (array), (int64_t)(n) * (int64_t)sizeof *(array),  \
                                               ((cap) = (cap) ? 2 * (cap) : 8) * (int64_t)sizeof *(array))))

/* value.c */
extern const Value NOTHING, POISON;
Value value_bool(bool b);
Value value_number(double x, bool is_int);
Value value_int(int64_t n);
Value value_dim(Elaborator *e, Dim d);
Value value_tensor(Node *n); /* NULL: poison */
Value value_text(const char *text);
Value value_list(Elaborator *e, int n, const Value *item);
bool is_number(Value v); /* V_INT or V_REAL */
bool is_poison(Value v);
const char *value_text_of(Elaborator *e, Value v); /* "a tensor [time, 64]" */
bool value_same(Value a, Value b);
bool as_dim(Value v, Dim *d);
Node *to_tensor(Elaborator *e, Value v, Span span); /* NULL after reporting, or for poison */
bool want_dim(Elaborator *e, Value v, Span span, const char *what, Dim *d);
bool want_int(Elaborator *e, Value v, Span span, const char *what, int64_t *n);
bool want_axis(Elaborator *e, Value v, const Node *x, Span span, int *axis);
Node *name_node(Elaborator *e, Value v, const char *name);
void name_variable(Elaborator *e, Value v, const char *name); /* name_node, and record_name */
void record_name(Elaborator *e, NamedKind kind, const char *name, const Instance *where, Value v);
bool dim_at_least(const Graph *g, Dim d, int64_t least); /* for all sizes of the named dimensions */

/* scope.c */
Scope *scope_new(Elaborator *e, Scope *outer, bool boundary);
void scope_set(Elaborator *e, Scope *scope, const char *name, Value value, Span span);
void vars_set(Arena *arena, Vars *vars, const char *name, Value value, Span span);
Binding *vars_find(const Vars *vars, const char *name);
bool scope_find(Elaborator *e, Scope *scope, const char *name, bool callable, Value *value);
Binding *scope_local(Scope *scope, const char *name); /* up to the block's own scope */
int scope_names(Elaborator *e, Scope *scope, const char ***name);

/* program.c */
Program *program_empty(Arena *arena, Interner *names, Diag *diag);
void program_define(Program *p, Definition *d); /* in the main file, in place of what bears the name */
void program_import(Program *p, const char *from, const Ast *import);
/* The path of the file that it takes there, of a module of the library "lib/NAME.model"; NULL: there is none. */
const char *program_import_path(Program *p, const char *from, const Ast *import);
Definition *file_find(const File *file, const char *name);
Definition *library_find(Program *p, const char *name);
const char *interned(Elaborator *e, const char *text);

/* elaborate_expression.c: `name` is what an instance is called if a call is all of the expression: a
 * variable's name, WHOLE_BLOCK if the expression is all of a block (the block's own name serves), or NULL */
extern const char WHOLE_BLOCK[];
Value eval(Elaborator *e, Scope *scope, const Ast *ast, const char *name);
bool eval_condition(Elaborator *e, Scope *scope, const Ast *ast, bool *truth);

/* elaborate_operator.c */
Value operate(Elaborator *e, AstKind op, Value a, Value b, const Ast *at);
Value negate(Elaborator *e, Value a, Span span);
Value logical_not(Elaborator *e, Value a, Span span);
Value transpose_last(Elaborator *e, Value a, Span span);
Value unary_op(Elaborator *e, Op op, double (*fold)(double), Value a, Span span);

/* elaborate_index.c */
Value index_value(Elaborator *e, Scope *scope, const Ast *ast);
Value field_value(Elaborator *e, Scope *scope, const Ast *ast);
Value tensor_part(Elaborator *e, Node *x, int64_t i, Span span); /* x[i] */
Value tensor_gathered(Elaborator *e, Node *x, int n, const int64_t *i,
                      Span span); /* x[i, j, ..], by constants that may differ from trip to trip */

/* elaborate_call.c */
Value call_value(Elaborator *e, Scope *scope, const Ast *ast, const char *name);
Value call_block(Elaborator *e, Block *f, int npos, const Value *pos, const Span *pos_span, const Vars *named,
                 Span call, const char *name);
/* A scheme whose parameters all have defaults, used as a value, is an instance where it is written. */
Value instantiate_default(Elaborator *e, Value v, const char *name, Span span);
Block *block_value(Elaborator *e, const Ast *def, Scope *scope);
const char *callee_name(const Ast *callee);
bool check_type(Elaborator *e, const Ast *type, Value *v, const char *what, Span span);

/* elaborate_statement.c */
void run_body(Elaborator *e, Scope *scope, const Ast *body); /* DO: statements in order, up to a return */
void run_statement(Elaborator *e, Scope *scope, const Ast *statement);
void hoist_blocks(Elaborator *e, Scope *scope, const Ast *body);

/* elaborate_declare.c: weights, inputs, dimensions, hyperparameters */
bool is_hyper_type(const Ast *type);
void declare(Elaborator *e, Scope *scope, const Ast *decl);
void declare_input(Elaborator *e, Scope *scope, const Ast *input);
void declare_output(Elaborator *e, Scope *scope, const Ast *output);

/* elaborate_weight.c */
PathScope *path_new(Elaborator *e, const char *name, Span span);
Node *weight_node(Elaborator *e, const char *name, const Type *type, double centre,
                  const double *centre_values, Span span);
int64_t changes_mark(const Elaborator *e);
void changes_undo(Elaborator *e, int64_t mark, int64_t instances);
void instance_names_pop(Elaborator *e, int64_t mark);
bool list_instance(Elaborator *e, const PathScope *path);
void number_slots(Elaborator *e);
PathNode *path_tree(Elaborator *e);

/* elaborate_repeat.c */
bool is_varying(const Elaborator *e, Span index);
void run_repeat(Elaborator *e, Scope *scope, const Ast *repeat);
Value eval_over(Elaborator *e, Scope *scope, const Ast *over);
const char *whole_type(Elaborator *e, const Type *t); /* "[3, 8] of reals" */

/* body_match.c */
typedef struct {
        const Body *body;
        int first;          /* the id that the trip's first node got */
        Node *const *asked; /* [nasked] values that are named after the repeat, NULL where there is none */
        int nasked;
} Trip;
enum { MAX_VARYING = 64 };
typedef struct {
        int n;
        Span span[MAX_VARYING]; /* indices that differ from trip to trip */
} Varying;
bool body_match(Trip kept, Trip fresh, int64_t trips, Varying *varying);
void body_merge(Arena *arena, const Region *region, Body *kept, const Body *fresh, int64_t trip);

/* elaborate_trips.c */
void ask_for_trips(Elaborator *e, const Ast *tree); /* of a tree that is in no file */
Trips *trips_begin(Elaborator *e, const Ast *repeat, int64_t n);
int trips_asked(const Trips *t);
void trips_show(Scope *scope, Trips *t, bool ended); /* its name is in sight */
/* The values asked for, as a trip leaves them: for Trip.asked.  *again: see elaborate_repeat.c. */
Node **trips_leave(Elaborator *e, Trips *t, const Scope *scope, int64_t trip, bool *again);
void trips_stack(Elaborator *e, Trips *t, Region *region,
                 const Trip *kept);                    /* before the REPEAT node is made .. */
void trips_end(Elaborator *e, Trips *t, Node *repeat); /* .. and after */
bool trips_value(Elaborator *e, Scope *scope, const Ast *field, Value *value); /* false: it names none */
bool trips_without_value(Elaborator *e, const Scope *scope,
                         const Ast *name);              /* true: reports that it is a repeat's */
void note_later_trips(Elaborator *e, const char *name); /* of a name that stands for nothing */
int trips_names(const Vars *vars, const char **name, int max);

/* elaborate_model.c */
bool at_model(const Elaborator *e, const Scope *scope); /* statements of the model itself */
bool pending_value(Elaborator *e, const char *name,
                   Value *value); /* a value given from outside, on its first use */
bool given_value(Elaborator *e, const char *name,
                 Value *value); /* the same where the parent declares the name */
bool setting_of(Elaborator *e, const char *name, Value v, Span span,
                Setting *setting); /* false: of no printable kind */
void list_hyper(Elaborator *e, const char *name, Value v, Span span);

/* elaborate_checkpoint.c */
void run_checkpoint(Elaborator *e, Scope *scope, const Ast *checkpoint); /* CHECKPOINT or CHECKPOINT_USE */
Value path_field(Elaborator *e, const PathValue *path, const Ast *field);
Value path_index(Elaborator *e, const PathValue *path, Scope *scope, const Ast *index);
Node *path_weight(Elaborator *e, const PathValue *path, Span span);

/* builtin.c */
typedef struct {
        Elaborator *e;
        int npos;
        const Value *pos;
        const Span *pos_span;
        const Vars *named;
        Span span;
        const char *name;
} Call;
struct Builtin {
        const char *name;
        int min, max;        /* positional arguments; max -1: any number */
        const char *options; /* names of the others, each followed by a space */
        Value (*run)(const Call *call);
};
/* elaborate_command.c: `lathe elaborate` */
int elaborate_command(int argc, char **argv);

bool builtin_find(Elaborator *e, const char *name, Value *value);
int builtin_names(const char **name, int max);
Value builtin_call(Elaborator *e, const Builtin *b, int npos, const Value *pos, const Span *pos_span,
                   const Vars *named, Span span);
Value stack_values(Elaborator *e, int n, const Value *item, int axis, Span span);

#endif
