/* Shared by the files of the elaborator; its types are those of language.h. */
#ifndef ELABORATE_PRIVATE_H
#define ELABORATE_PRIVATE_H
#include "language.h"

/* elaborate.c */
void hint_nearest(Elaborator *e, const char *name, const char *const *candidate, int n);
bool stopped(Elaborator *e, Span span);

/* value.c */
Value value_int(int64_t n);
Value value_dim(Elaborator *e, Dim d);
bool is_poison(Value v);
bool value_same(Value a, Value b);
bool as_dim(Value v, Dim *d);
Node *to_tensor(Elaborator *e, Value v, Span span); /* NULL after reporting, or for poison */
/* False, after an error: a finite number that is infinite as a float. */
bool check_float(Elaborator *e, double x, Span span);
bool want_dim(Elaborator *e, Value v, Span span, const char *what, Dim *d);
bool want_int(Elaborator *e, Value v, Span span, const char *what, int64_t *n);
bool want_axis(Elaborator *e, Value v, const Node *x, Span span, int *axis);
Node *name_node(Elaborator *e, Value v, const char *name);
void name_variable(Elaborator *e, Value v, const char *name); /* name_node, and record_name */
void record_name(Elaborator *e, NamedKind kind, const char *name, const Instance *where, Value v);
bool dim_at_least(const Graph *g, Dim d, int64_t least); /* for all sizes of the named dimensions */

/* scope.c */
bool scope_find(Elaborator *e, Scope *scope, const char *name, bool callable, Value *value);
/* The same without the library, whose modules are parsed at the first lookup and contain only blocks. */
bool scope_find_nearby(Elaborator *e, Scope *scope, const char *name, bool callable, Value *value);
Binding *scope_local(Scope *scope, const char *name); /* up to the block's own scope */
int scope_names(Elaborator *e, Scope *scope, const char ***name);

/* program.c */
const char *interned(Elaborator *e, const char *text);
/* elaborate_expression.c: `name` is the name of the instance if the expression is a call: a variable's
 * name, WHOLE_BLOCK if the expression is the whole of a block (the block's name is used), or NULL. */
extern const char WHOLE_BLOCK[];
bool eval_condition(Elaborator *e, Scope *scope, const Ast *ast, bool *truth);

/* elaborate_operator.c */
Value operate(Elaborator *e, AstKind op, Value a, Value b, const Ast *at);
Value negate(Elaborator *e, Value a, Span span);
Value logical_not(Elaborator *e, Value a, Span span);
Value transpose_last(Elaborator *e, Value a, Span span);
Value unary_op(Elaborator *e, Op op, Value a, Span span);

/* elaborate_index.c */
Value field_value(Elaborator *e, Scope *scope, const Ast *ast);
Value tensor_part(Elaborator *e, Node *x, int64_t i, Span span); /* x[i] */
/* x[i, j, ..], with constants that may differ between iterations */
Value tensor_gathered(Elaborator *e, Node *x, int n, const int64_t *i, Span span);

/* elaborate_call.c */
Value call_value(Elaborator *e, Scope *scope, const Ast *ast, const char *name);
/* A scheme whose parameters all have defaults, used as a value, is instantiated there. */
Value instantiate_default(Elaborator *e, Value v, const char *name, Span span);
Block *block_value(Elaborator *e, const Ast *def, Scope *scope);
bool fits_type(Elaborator *e, const Ast *type, Value *v, const char *what, Span span);

/* elaborate_statement.c */
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
/* Repeats the changes `from` to `to` - 1 for `later` iterations further on of the repeat, which is in `depth`
 * others. */
void changes_repeat(Elaborator *e, int64_t from, int64_t to, int depth, int64_t later);
void instance_names_pop(Elaborator *e, int64_t mark);
bool list_instance(Elaborator *e, const PathScope *path);
PathNode *path_tree(Elaborator *e);

/* elaborate_along.c */
Value eval_along(Elaborator *e, Scope *scope, const Ast *along);

/* elaborate_repeat.c */
/* Calls `found` for each name that the statements assign, including those in inner repeats and `along`s. */
void find_assigned(const Ast *statements, void (*found)(void *to, const char *name), void *to);
bool is_varying(const Elaborator *e, Span index);
void elaborate_repeat(Elaborator *e, Scope *scope, const Ast *repeat);
Value eval_over(Elaborator *e, Scope *scope, const Ast *over);
const char *whole_type(Elaborator *e, const Type *t); /* "[3, 8] of reals" */

/* body_match.c */
typedef struct {
        const Body *body;
        int first;          /* id of the iteration's first node */
        Node *const *asked; /* [nasked] values that are named after the repeat, or NULL */
        int nasked;
        const Value *answers; /* index_uses.c; or NULL */
        /* number of the iteration; its changes are `change` to `changes` - 1 */
        int64_t iteration, change, changes;
} Iteration;
enum { MAX_VARYING = 64 };
typedef struct {
        int n;
        Span span[MAX_VARYING]; /* indices that differ between iterations */
} Varying;
bool body_match(Iteration kept, Iteration fresh, int64_t iterations, Varying *varying);
void body_merge(Arena *arena, const Region *region, Body *kept, const Body *fresh, int64_t iteration);
/* The values of a constant in one iteration. */
void literal_set_row(Arena *arena, const Region *region, Literal *table, const Literal *row,
                     int64_t iteration);

/* index_uses.c */
typedef struct IndexUses IndexUses;
IndexUses *index_uses_new(Elaborator *e, const Ast *repeat);
const Value *index_uses_answers(Elaborator *e, IndexUses *u, Scope *around, int64_t iteration);
/* Whether the bodies of two iterations are the same, but for constants of gathers. */
bool index_uses_same(const Elaborator *e, const IndexUses *u, const Value *a, const Value *b);
/* Sets the constants of gathers in the kept body for an iteration with these answers.  False: it must run. */
bool index_uses_move(Arena *arena, const Elaborator *e, const IndexUses *u, const Iteration *kept,
                     const Value *answers, int64_t iteration);

/* elaborate_iterations.c */
Iterations *iterations_begin(Elaborator *e, const Ast *repeat, int64_t n);
int iterations_asked(const Iterations *t);
void iterations_show(Scope *scope, Iterations *t, bool ended); /* makes the repeat's name visible */
/* The requested values at the end of an iteration, for Iteration.asked.  *again: see elaborate_repeat.c. */
Node **iterations_leave(Elaborator *e, Iterations *t, const Scope *scope, int64_t iteration, bool *again);
/* before the REPEAT node is made */
void iterations_stack(Elaborator *e, Iterations *t, Region *region, const Iteration *kept);
void iterations_end(Elaborator *e, Iterations *t, Node *repeat); /* after it is made */
/* false: not a value of a repeat */
bool iterations_value(Elaborator *e, Scope *scope, const Ast *field, Value *value);
/* true: reported that the name is a repeat's */
bool iterations_without_value(Elaborator *e, const Scope *scope, const Ast *name);
void note_later_iterations(Elaborator *e, const char *name); /* of an undefined name */
int iterations_names(const Vars *vars, const char **name, int max);

/* elaborate_model.c */
bool at_model(const Elaborator *e, const Scope *scope); /* statements of the model itself */
/* a value given from outside, at its first use */
bool pending_value(Elaborator *e, const char *name, Value *value);
/* the same if the parent declares the name */
bool value_given(Elaborator *e, const char *name, Value *value);
void list_hyper(Elaborator *e, const char *name, Value v, Span span);
/* false: not possible as a setting */
bool setting_of(Elaborator *e, const char *name, Value v, Span span, Setting *s);

bool is_structural(const Ast *statement);

/* model_mistakes.c */
void check_model_mistakes(Elaborator *e, const Ast *const *model, File *const *file, int n);

/* foreign.c: notes after an error, for words of Python, PyTorch and NumPy, and for hyperparameters of
 * configurations, if `name` [n] has what they are called here; false: none was written */
bool hint_foreign(Elaborator *e, const char *word, bool method);
bool hint_foreign_setting(Elaborator *e, const char *word, const char *const *name, int n);
bool hint_method(Elaborator *e, Scope *scope, const Ast *field);
bool report_package(Elaborator *e, Scope *scope, const Ast *field);
void hint_axis(Elaborator *e, const char *callee, const char *option, bool has_axis);

/* elaborate_loop.c */
void add_loop(Elaborator *e, Scope *scope, const Ast *loop, bool inherited);
void drop_loop(Elaborator *e, const Ast *none);
void check_stated_loops(Elaborator *e); /* after all statements have run */

/* elaborate_checkpoint.c */
void run_checkpoint(Elaborator *e, Scope *scope, const Ast *checkpoint); /* CHECKPOINT or CHECKPOINT_USE */
Value path_field(Elaborator *e, const PathValue *path, const Ast *field);
Value path_index(Elaborator *e, const PathValue *path, Scope *scope, const Ast *index);
Node *path_weight(Elaborator *e, const PathValue *path, Span span);
PathNode *weights_under(const PathNode *p, const char *name);
/* The weight in the path's iterations, and its slot; NULL: they lack it. */
Weight *weight_of_path(const Elaborator *e, const PathValue *path, int64_t *slot);
/* A name with its placeholders replaced: "{prefix}embed" with prefix "encoder." is "encoder.embed".  Those that are no
 * texts and no whole numbers of the model are kept.  right: the right side of an entry, whose indices are kept; or NULL. */
const char *with_texts(Elaborator *e, Scope *scope, const char *name, const Ast *right, Span span);

/* entry_pattern.c */
typedef struct EntryPattern EntryPattern;
/* The result of all iterations that select these weights. */
typedef struct PatternResult {
        Weight **weight; /* NULL: the iteration lacks it */
        Node *expr;      /* attr.index of its WEIGHT nodes is an index of slots; NULL: no entry */
        struct PatternResult *next;
} PatternResult;
bool ast_mentions(const Ast *t, const char *name);
/* An entry whose indices have these names; `iteration` has their current values.  NULL: all iterations must be
 * evaluated. */
EntryPattern *entry_pattern(Elaborator *e, const Ast *right, const char *published, const char *const *index,
                            const int64_t *iteration, int n);
/* Finds the weights of the current iteration.  Returns the result for these weights; NULL: not known. */
const PatternResult *pattern_result(EntryPattern *p);
/* Keeps the result of the current iteration; its nodes have ids from `first` on. */
void pattern_learn(EntryPattern *p, Node *expr, int first);
const int32_t *pattern_slots(const EntryPattern *p);
const char *pattern_name(const EntryPattern *p); /* in the current iteration */

/* builtin.c */
typedef struct {
        Elaborator *e;
        int npos;
        const Value *pos;
        const Span *pos_span;
        const Vars *named;
        Span span;
        const char *name;
} BuiltinCall;
struct Builtin {
        const char *name;
        int min, max;        /* positional arguments; max -1: any number */
        const char *options; /* names of the others, each followed by a space */
        Value (*run)(const BuiltinCall *call);
        const char *takes, *about; /* parameters as in a block, and description: docs/language.md */
};
Value call_option(const BuiltinCall *c, const char *name); /* NOTHING: not given */
Node *call_tensor(const BuiltinCall *c, int i);
Node *make_node(Elaborator *e, Op op, int nin, Node *const *in, Attr attr, Span span);

/* builtin_move.c */
Value run_full(const BuiltinCall *c);
Value run_join(const BuiltinCall *c);
Value run_merge(const BuiltinCall *c);
Value run_pad(const BuiltinCall *c);
Value run_reshape(const BuiltinCall *c);
Value run_reverse(const BuiltinCall *c);
Value run_split(const BuiltinCall *c);
Value run_spread(const BuiltinCall *c);
Value run_stack(const BuiltinCall *c);
Value run_transpose(const BuiltinCall *c);
Value run_window(const BuiltinCall *c);

/* elaborate_command.c: `lathe elaborate` */
bool builtin_find(Elaborator *e, const char *name, Value *value);
Value builtin_call(Elaborator *e, const Builtin *b, int npos, const Value *pos, const Span *pos_span,
                   const Vars *named, Span span);
Value stack_values(Elaborator *e, int n, const Value *item, int axis, Span span);
#endif
