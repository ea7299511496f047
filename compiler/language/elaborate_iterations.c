/* Values of a repeat's iterations, named after it: encoder[2].x, outer[i].inner[j].x.
 *
 * The requested variables are found in the trees before the repeat runs.  At the end of an iteration they are
 * looked up in its scope.  Computed values become additional stacked values of the repeat, [iterations, ..],
 * of which an iteration's value is a slice; compile-time values are stored for each iteration.  Unused stacks
 * are removed by prune.c. */
#include "elaborate_private.h"

#include <string.h>

enum { MAX_PARTS = MAX_REGIONS + 1 };

/* One value of a repeat, by its path in the body: "x", or "inner", "x". */
typedef struct {
        const char *const *part;
        int n;
        bool found;      /* some iteration has the value */
        bool is_tensor;  /* a tensor in some iteration, so that numbers become tensors too */
        const char *why; /* reason why it is unavailable, or NULL */
        Span at;         /* source of that reason */
        /* [iterations] POISON: missing in this iteration; a tensor: in the stack; else the value */
        Value *of_iteration;
        int result;  /* index of the stack among the repeat's results, or -1 */
        Node *stack; /* [iterations, ..] in the outer body */
} IterationValue;

struct Iterations {
        const char *name;
        int64_t n;
        const Ast *body;
        Arena *arena; /* of the outer body */
        IterationValue *value;
        int nvalue;
        Span at;
        bool ended, good;
        const Iterations *next; /* the previous one in the same scope */
};

/* ---- requested values ---- */

static void add_asked(Elaborator *e, const char *const *part, int n)
{
        for (int i = 0; i < e->nasked; i++)
                if (e->asked[i].n == n && memcmp(e->asked[i].part, part, (size_t)n * sizeof *part) == 0)
                        return;
        GROW(e->keep, e->asked, e->nasked, e->asked_cap);
        Asked *a = &e->asked[e->nasked++];
        a->n = n;
        a->part = NEW_ARRAY(e->keep, const char *, n);
        memcpy(a->part, part, (size_t)n * sizeof *part);
}

/* The parts of NAME[..].f[..].g, outermost first, with the index after each.  0: another expression. */
static int field_parts(const Ast *field, const char **part, const Ast **index)
{
        int n = 0;
        const Ast *at = field;
        while (n < MAX_PARTS && at->kind == AST_FIELD && at->kid[0]->kind == AST_INDEX) {
                part[MAX_PARTS - 1 - n] = at->name;
                n++;
                index[MAX_PARTS - 1 - n] = at->kid[0];
                at = at->kid[0]->kid[0];
        }
        if (n == 0 || n == MAX_PARTS || at->kind != AST_NAME)
                return 0;
        part[MAX_PARTS - 1 - n] = at->name;
        memmove(part, part + MAX_PARTS - 1 - n, (size_t)(n + 1) * sizeof *part);
        memmove(index, index + MAX_PARTS - 1 - n, (size_t)n * sizeof *index);
        return n + 1;
}

void ask_for_iterations(Elaborator *e, const Ast *tree)
{
        const char *part[MAX_PARTS];
        const Ast *index[MAX_PARTS];
        if (tree->kind == AST_CHECKPOINT) /* its paths are those of weights */
                return;
        int n = tree->kind == AST_FIELD ? field_parts(tree, part, index) : 0;
        if (n > 0)
                add_asked(e, part, n);
        for (int i = 0; i < tree->nkid; i++)
                if (tree->kid[i])
                        ask_for_iterations(e, tree->kid[i]);
}

/* Files are loaded, and items of the library read, when names of the library are used. */
static void ask_in_files(Elaborator *e)
{
        const Program *p = e->program;
        for (; e->nasked_file < p->nfile; e->nasked_file++)
                if (p->file[e->nasked_file]->tree)
                        ask_for_iterations(e, p->file[e->nasked_file]->tree);
        for (; e->nasked_item < p->nitem; e->nasked_item++)
                ask_for_iterations(e, p->item[e->nasked_item]);
}

static bool same_path(const IterationValue *v, const char *const *part, int n)
{
        return v->n == n && memcmp(v->part, part, (size_t)n * sizeof *part) == 0;
}

/* Finds the requested values of repeats of that name, in any context. */
static void find_iteration_values(Elaborator *e, Iterations *t)
{
        for (int i = 0; i < e->nasked; i++)
                for (int k = 0; k + 1 < e->asked[i].n; k++) {
                        const char *const *part = e->asked[i].part + k + 1;
                        int n = e->asked[i].n - k - 1, known = 0;
                        if (e->asked[i].part[k] != t->name)
                                continue;
                        if (!t->value)
                                t->value =
                                        NEW_ARRAY(e->arena, IterationValue, (int64_t)e->nasked * MAX_PARTS);
                        while (known < t->nvalue && !same_path(&t->value[known], part, n))
                                known++;
                        if (known == t->nvalue)
                                t->value[t->nvalue++] =
                                        (IterationValue){.part = part,
                                                         .n = n,
                                                         .of_iteration = NEW_ARRAY(e->arena, Value, t->n),
                                                         .result = -1};
                }
}

Iterations *iterations_begin(Elaborator *e, const Ast *repeat, int64_t n)
{
        Iterations *t = NEW(e->arena, Iterations);
        *t = (Iterations){.name = repeat->kid[0]->name,
                          .n = n,
                          .body = repeat->kid[2],
                          .at = repeat->kid[0]->span,
                          .arena = e->arena};
        ask_in_files(e);
        find_iteration_values(e, t);
        return t;
}

int iterations_asked(const Iterations *t)
{
        return t->nvalue;
}

/* ---- in sight ---- */

void iterations_show(Scope *scope, Iterations *t, bool ended)
{
        t->ended = ended;
        t->next = scope->vars->iterations;
        scope->vars->iterations = t;
}

static const Iterations *find_iterations(const Vars *vars, const char *name)
{
        const Iterations *t = vars->iterations;
        while (t && t->name != name)
                t = t->next;
        return t;
}

/* The repeat of a name that is followed by an index and a field; variables with fields take precedence. */
static const Iterations *iterations_named(Elaborator *e, Scope *scope, const char *name)
{
        Value v;
        const Iterations *t = NULL;
        for (const Scope *s = scope; s && s->vars && !t; s = s->outer)
                t = find_iterations(s->vars, name);
        bool hidden = t && scope_find(e, scope, name, false, &v) &&
                      (v.kind == V_TENSOR || v.kind == V_LIST || v.kind == V_GROUP);
        return hidden ? NULL : t;
}

int iterations_names(const Vars *vars, const char **name, int max)
{
        int n = 0;
        for (const Iterations *t = vars->iterations; t && n < max; t = t->next)
                name[n++] = t->name;
        return n;
}

/* ---- as an iteration ends ---- */

/* A copy that outlives the iteration.  POISON: it contains a tensor or a callable. */
static Value lasting(Arena *a, Value v)
{
        v.quotient = NULL;
        switch (v.kind) {
        case V_NONE:
        case V_BOOL:
        case V_INT:
        case V_REAL:
        case V_DIM: return v;
        case V_TEXT: return value_text(arena_strdup(a, v.text));
        case V_LIST: break;
        default: return POISON;
        }
        List *list = NEW(a, List);
        list->n = v.list->n;
        list->item = NEW_ARRAY(a, Value, v.list->n);
        for (int i = 0; i < list->n; i++) {
                list->item[i] = lasting(a, v.list->item[i]);
                if (is_poison(list->item[i]))
                        return POISON;
        }
        return (Value){.kind = V_LIST, .list = list};
}

static void iteration_refuse(IterationValue *v, const char *why, Span at)
{
        if (v->why)
                return;
        v->why = why;
        v->at = at;
}

/* The values of an inner repeat's iterations as one value: their stack, or a list. */
static Value inner_value(Elaborator *e, const Iterations *t, IterationValue *v, const Iterations *inner)
{
        const IterationValue *found = NULL;
        for (int i = 0; i < inner->nvalue; i++)
                if (same_path(&inner->value[i], v->part + 1, v->n - 1))
                        found = &inner->value[i];
        if (!found || !inner->good || !found->found)
                return POISON;
        v->found = true;
        if (found->why)
                iteration_refuse(v, arena_strdup(t->arena, found->why), found->at);
        for (int64_t i = 0; i < inner->n; i++)
                if (is_poison(found->of_iteration[i]))
                        iteration_refuse(v,
                                         arena_printf(t->arena, "iteration %lld of %s does not assign it",
                                                      (long long)i, inner->name),
                                         inner->at);
        if (inner->n > MAX_UNPACK && !found->stack)
                iteration_refuse(
                        v, arena_printf(t->arena, "%s has more than %d iterations", inner->name, MAX_UNPACK),
                        inner->at);
        if (v->why)
                return POISON;
        return found->stack ? value_tensor(found->stack) : value_list(e, (int)inner->n, found->of_iteration);
}

static Value value_in_iteration(Elaborator *e, const Iterations *t, IterationValue *v, const Scope *scope,
                                Span *at)
{
        const Binding *b = vars_find(scope->vars, v->part[0]);
        *at = b ? b->span : (Span){0};
        if (v->n == 1) {
                v->found = v->found || b;
                return b ? b->value : POISON;
        }
        const Iterations *inner = b ? NULL : find_iterations(scope->vars, v->part[0]);
        return inner && inner->ended ? inner_value(e, t, v, inner) : POISON;
}

/* Records one value of an iteration.  *again: the repeat must start again, with this value a tensor. */
static Node *leave_value(Elaborator *e, const Iterations *t, IterationValue *v, const Scope *scope,
                         int64_t iteration, bool *again)
{
        Span at;
        Value value = value_in_iteration(e, t, v, scope, &at);
        Value kept = value.kind == V_TENSOR ? value : lasting(t->arena, value);
        bool scalar = is_number(kept) || kept.kind == V_BOOL || kept.kind == V_DIM;
        v->of_iteration[iteration] = POISON;
        if (v->why || is_poison(value))
                return NULL;
        if (is_poison(kept) || (v->is_tensor && kept.kind != V_TENSOR && !scalar)) {
                iteration_refuse(v,
                                 arena_printf(t->arena, "in iteration %lld it is %s", (long long)iteration,
                                              value_text_of(e, value)),
                                 at);
                return NULL;
        }
        if (kept.kind == V_TENSOR && !v->is_tensor) {
                v->is_tensor = true;
                for (int64_t i = 0; i < iteration; i++)
                        *again = *again || !is_poison(v->of_iteration[i]);
        }
        Node *n = v->is_tensor ? to_tensor(e, value, at) : NULL;
        v->of_iteration[iteration] = n ? value_tensor(n) : kept;
        return n;
}

Node **iterations_leave(Elaborator *e, Iterations *t, const Scope *scope, int64_t iteration, bool *again)
{
        Node **left = NEW_ARRAY(e->arena, Node *, t->nvalue);
        for (int i = 0; i < t->nvalue; i++)
                left[i] = leave_value(e, t, &t->value[i], scope, iteration, again);
        return left;
}

/* ---- as the repeat ends ---- */

static int64_t first_iteration_of(const Region *region, int body)
{
        int64_t iteration = 0;
        while (iteration < region->iterations && region->body_of[iteration] != body)
                iteration++;
        return iteration;
}

/* The common type of the value in all bodies that have it.  False: none. */
static bool common_type(Elaborator *e, const Iterations *t, IterationValue *v, const Region *region,
                        Node *const *one, const Node **like)
{
        int first = 0;
        while (!one[first])
                first++;
        *like = one[first];
        for (int k = first + 1; k < region->nbody; k++) {
                if (!one[k] || type_equal(&one[k]->type, &(*like)->type))
                        continue;
                iteration_refuse(v,
                                 arena_printf(t->arena, "it is %s in iteration %lld and %s in iteration %lld",
                                              whole_type(e, &(*like)->type),
                                              (long long)first_iteration_of(region, first),
                                              whole_type(e, &one[k]->type),
                                              (long long)first_iteration_of(region, k)),
                                 one[k]->span);
                return false;
        }
        if ((*like)->type.rank == MAX_RANK)
                iteration_refuse(
                        v,
                        arena_printf(
                                t->arena,
                                "it has %d axes, and all iterations' values in a row would have one more",
                                MAX_RANK),
                        (*like)->span);
        else if (!type_is_bounded(e->g, &(*like)->type, region->iterations))
                iteration_refuse(v, "all iterations' values together are too large", (*like)->span);
        return !v->why;
}

/* Rows of zeros for iterations without the value; no expression can select them. */
static Node *zeros(Elaborator *e, Body *b, const Node *like)
{
        Node *zero = build_number(e->g, b, 0, like->type.dtype, like->span, like->where);
        return view_broadcast(e->g, b, zero, &like->type, like->span, like->where);
}

static void stack_value(Elaborator *e, const Iterations *t, IterationValue *v, Region *region,
                        Node *const *one)
{
        const Node *like;
        if (!v->is_tensor || v->why || !common_type(e, t, v, region, one, &like))
                return;
        for (int k = 0; k < region->nbody; k++) {
                Body *b = region->body[k];
                int64_t before = region->nstack * (int64_t)sizeof(Node *);
                b->stack = arena_grow(e->arena, b->stack, before, before + (int64_t)sizeof(Node *));
                b->stack[region->nstack] = one[k] ? one[k] : zeros(e, b, like);
        }
        v->result = region->ncarry + region->nstack++;
}

void iterations_stack(Elaborator *e, Iterations *t, Region *region, const Iteration *kept)
{
        Node **one = NEW_ARRAY(e->arena, Node *, region->nbody);
        for (int i = 0; i < t->nvalue; i++) {
                for (int k = 0; k < region->nbody; k++)
                        one[k] = kept[k].asked[i];
                stack_value(e, t, &t->value[i], region, one);
        }
}

void iterations_end(Elaborator *e, Iterations *t, Node *repeat)
{
        for (int i = 0; i < t->nvalue; i++) {
                IterationValue *v = &t->value[i];
                if (v->result < 0)
                        continue;
                v->stack = build(e->g, e->body, e->diag, OP_RESULT, 1, &repeat,
                                 &(Attr){.index = v->result, .slot = -1}, t->at, e->where);
                if (v->stack)
                        v->stack->name = v->part[v->n - 1];
        }
        t->good = true;
}

/* ---- one value of one iteration ---- */

typedef struct {
        int n; /* number of parts */
        const char *part[MAX_PARTS];
        const Ast *index[MAX_PARTS]; /* [n - 1] fields after the parts */
} PathChain;

/* The iteration in brackets after part i, a repeat of n iterations; -1 after an error. */
static int64_t iteration_at(Elaborator *e, Scope *scope, const PathChain *c, int i, int64_t n)
{
        const Ast *index = c->index[i], *kid = index->kid[index->nkid - 1];
        const char *name = c->part[i];
        int64_t k;
        if (index->nkid != 2 || kid->kind == AST_RANGE) {
                poisoned(e, index->span, "the iterations of %s are named one at a time, as %s[0]", name,
                         name);
                diag_hint(e->diag, "to combine several, write: over i : n { return %s[i].x }", name);
                return -1;
        }
        Value v = eval(e, scope, kid, NULL);
        if (v.kind == V_TENSOR) {
                poisoned(e, kid->span,
                         "an iteration of %s must be known when the model is compiled; %s is not", name,
                         value_text_of(e, v));
                return -1;
        }
        if (!want_int(e, v, kid->span, arena_printf(e->diag->arena, "an iteration of %s", name), &k))
                return -1;
        if (k >= 0 && k < n)
                return k;
        poisoned(e, kid->span, "%s has no iteration %lld", name, (long long)k);
        if (n > 0)
                diag_hint(e->diag, "its iterations are 0 to %lld: the last one is %s[%lld]", (long long)n - 1,
                          name, (long long)n - 1);
        else
                diag_hint(e->diag, "it is repeated 0 times");
        return -1;
}

static const Ast *find_repeat(const Ast *tree, const char *name)
{
        if ((tree->kind == AST_REPEAT || tree->kind == AST_OVER) && tree->kid[0]->name == name)
                return tree;
        const Ast *found = NULL;
        for (int i = 0; i < tree->nkid && !found; i++)
                found = tree->kid[i] ? find_repeat(tree->kid[i], name) : NULL;
        return found;
}

static void names_assigned(const Ast *s, const char **name, int *n, int max)
{
        bool names = s->kind == AST_LET || s->kind == AST_DECL;
        for (int i = 0; names && i < s->kid[0]->nkid && *n < max; i++)
                name[(*n)++] = s->kid[0]->kid[i]->name;
        if (s->kind != AST_DO && s->kind != AST_IF)
                return;
        for (int i = 0; i < s->nkid; i++)
                if (s->kid[i])
                        names_assigned(s->kid[i], name, n, max);
}

static bool is_assigned(const Ast *body, const char *name)
{
        const char *known[256];
        int n = 0;
        names_assigned(body, known, &n, 256);
        for (int i = 0; i < n; i++)
                if (known[i] == name)
                        return true;
        return false;
}

static Value fail_unknown(Elaborator *e, const char *repeat, const Ast *body, const Ast *field)
{
        const char *name[256];
        int n = 0;
        if (find_repeat(body, field->name)) {
                poisoned(e, field->name_span, "%s is a repeat in %s, not a value", field->name, repeat);
                diag_hint(e->diag,
                          "a value of one of its iterations is named %s[0].%s[0].x, where its body assigns x",
                          repeat, field->name);
                return POISON;
        }
        names_assigned(body, name, &n, 256);
        for (int i = 0; i < body->nkid && n < 256; i++)
                if (body->kid[i]->kind == AST_REPEAT)
                        name[n++] = body->kid[i]->kid[0]->name;
        poisoned(e, field->name_span, "the body of %s assigns no %s", repeat, field->name);
        hint_nearest(e, field->name, name, n);
        return POISON;
}

/* Reports that an iteration lacks a value that other iterations have. */
static Value fail_lacking(Elaborator *e, const Iterations *t, const IterationValue *v, const Ast *field,
                          int64_t iteration)
{
        int64_t other = 0;
        while (other < t->n && is_poison(v->of_iteration[other]))
                other++;
        poisoned(e, field->name_span, "iteration %lld of %s assigns no %s", (long long)iteration, t->name,
                 field->name);
        if (other < t->n)
                diag_hint(e->diag, "iteration %lld does", (long long)other);
        return POISON;
}

/* Selects iterations of a stack.  In a repeat they may differ between iterations; slices with different
 * starts would make bodies differ, gathers by constants do not. */
static Value part_of_stack(Elaborator *e, Node *stack, const int64_t *iteration, int n, Span span)
{
        if (stack->body != e->body)
                return tensor_gathered(e, stack, n, iteration, span);
        Value v = value_tensor(stack);
        for (int i = 0; i < n && v.kind == V_TENSOR; i++)
                v = tensor_part(e, v.tensor, iteration[i], span);
        return v;
}

static Value iteration_value(Elaborator *e, Scope *scope, const Iterations *t, const IterationValue *v,
                             const PathChain *c, const Ast *field)
{
        int64_t iteration[MAX_PARTS], n = t->n;
        Value value = POISON;
        if (v->why) {
                const char *path = c->part[0];
                for (int i = 1; i < c->n; i++)
                        path = arena_printf(e->diag->arena, "%s[..].%s", path, c->part[i]);
                poisoned(e, field->name_span, "%s can't be named: %s", path, v->why);
                diag_note(e->diag, v->at, "this one");
                return POISON;
        }
        for (int i = 0; i < v->n; i++) {
                if ((iteration[i] = iteration_at(e, scope, c, i, n)) < 0)
                        return POISON;
                if (i == 0 && is_poison(v->of_iteration[iteration[0]]))
                        return fail_lacking(e, t, v, field, iteration[0]);
                value = i == 0                 ? v->of_iteration[iteration[0]]
                        : value.kind == V_LIST ? value.list->item[iteration[i]]
                                               : value;
                if (v->stack && i + 1 < v->n)
                        n = v->stack->type.dim[i + 1].fixed;
                else if (i + 1 < v->n)
                        n = value.list->n;
        }
        if (v->is_tensor && !v->stack) /* already reported */
                return POISON;
        return v->stack ? part_of_stack(e, v->stack, iteration, v->n, field->span) : value;
}

static Value fail_not_ended(Elaborator *e, const Iterations *t, const Ast *field)
{
        poisoned(e, field->span,
                 "%s[..].%s is not yet computed: the values of a repeat's iterations can be used only after "
                 "it",
                 t->name, field->name);
        diag_hint(e->diag, "to pass a value on to later iterations, assign a variable that is defined before "
                           "the repeat");
        return POISON;
}

bool iterations_value(Elaborator *e, Scope *scope, const Ast *field, Value *value)
{
        PathChain c;
        c.n = e->paths ? 0 : field_parts(field, c.part, c.index);
        const Iterations *t = c.n ? iterations_named(e, scope, c.part[0]) : NULL;
        if (!t)
                return false;
        const IterationValue *v = NULL;
        for (int i = 0; i < t->nvalue && !v; i++)
                if (same_path(&t->value[i], c.part + 1, c.n - 1))
                        v = &t->value[i];
        const Ast *inner = c.n > 2 && !(v && v->found) ? find_repeat(t->body, c.part[c.n - 2]) : NULL;
        /* x[..].dim of a variable x */
        if (c.n > 2 && !(v && v->found) && (!inner || is_assigned(t->body, c.part[c.n - 2])))
                return false;
        if (!t->ended)
                *value = fail_not_ended(e, t, field);
        else if (t->n == 0)
                *value = iteration_at(e, scope, &c, 0, 0) < 0 ? POISON : NOTHING;
        else if (!t->good)
                *value = POISON;
        else if (inner)
                *value = fail_unknown(e, c.part[c.n - 2], inner->kid[2], field);
        else if (!v || !v->found)
                *value = fail_unknown(e, t->name, t->body, field);
        else
                *value = iteration_value(e, scope, t, v, &c, field);
        return true;
}

bool iterations_without_value(Elaborator *e, const Scope *scope, const Ast *name)
{
        const Iterations *t = NULL;
        for (; scope && scope->vars && !t; scope = scope->outer)
                t = find_iterations(scope->vars, name->name);
        if (!t)
                return false;
        poisoned(e, name->span, "%s is a repeat, not a value", t->name);
        diag_hint(e->diag, "a value of one of its iterations is named %s[0].x, where its body assigns x",
                  t->name);
        return true;
}

void note_later_iterations(Elaborator *e, const char *name)
{
        const Ast *repeat = e->program->main->tree ? find_repeat(e->program->main->tree, name) : NULL;
        if (repeat)
                diag_note(e->diag, repeat->kid[0]->span,
                          "this repeat has not ended before; its values are not yet computed there");
}
