/* Calls: a block's arguments, its instance, and its results.
 *
 * Every call is an instance with a name: the one given by `as`, else the variable if the call is the whole
 * right side, else the callee as spelled.  A call that is the whole result of a block is that block's
 * instance under another callee, and adds no name. */
#include "elaborate_private.h"

#include <string.h>

typedef struct {
        int npos;
        Value *pos;
        Span *span; /* [npos] */
        Vars named;
} Arguments;

/* Positional parameters, then those passed only by name. */
typedef struct {
        const Ast *positional, *named;
        int npos, n;
} Parameters;

static Parameters parameters_of(const Ast *def)
{
        const Ast *positional = def->kid[0]->kid[0], *named = def->kid[0]->kid[1];
        return (Parameters){positional, named, positional->nkid, positional->nkid + named->nkid};
}

static const Ast *block_parameter(const Parameters *p, int i)
{
        return i < p->npos ? p->positional->kid[i] : p->named->kid[i - p->npos];
}

Block *block_value(Elaborator *e, const Ast *def, Scope *scope)
{
        Block *b = NEW(e->arena, Block);
        b->def = def;
        b->name = def->name;
        b->scope = scope;
        return b;
}

/* The callee as spelled: `position` in `position.heads(q)`. */
static const char *callee_name(const Ast *callee)
{
        for (;;) {
                if (callee->kind == AST_NAME)
                        return callee->name;
                if (callee->kind != AST_FIELD && callee->kind != AST_CALL && callee->kind != AST_INDEX &&
                    callee->kind != AST_AS)
                        return "block";
                if (callee->kind == AST_AS)
                        return callee->name;
                callee = callee->kid[0];
        }
}

/* ---- arguments ---- */

static Value argument_value(Elaborator *e, Scope *scope, const Ast *arg)
{
        if (arg->kid[0])
                return eval(e, scope, arg->kid[0], NULL);
        Ast name = {.kind = AST_NAME, .span = arg->span, .name_span = arg->span, .name = arg->name};
        return eval(e, scope, &name, NULL);
}

static bool read_arguments(Elaborator *e, Scope *scope, const Ast *call, Arguments *args)
{
        int n = call->nkid - 1;
        args->pos = NEW_ARRAY(e->arena, Value, n);
        args->span = NEW_ARRAY(e->arena, Span, n);
        for (int i = 1; i <= n; i++) {
                const Ast *arg = call->kid[i];
                Value v = argument_value(e, scope, arg);
                if (!arg->name) {
                        args->span[args->npos] = arg->span;
                        args->pos[args->npos++] = v;
                        continue;
                }
                if (vars_find(&args->named, arg->name)) {
                        poisoned(e, arg->span, "%s is given twice", arg->name);
                        return false;
                }
                vars_set(e->arena, &args->named, arg->name, v, arg->span);
        }
        return true;
}

static Value find_callee(Elaborator *e, Scope *scope, const Ast *callee)
{
        Value v;
        if (callee->kind != AST_NAME)
                return eval(e, scope, callee, NULL);
        if (scope_find(e, scope, callee->name, true, &v))
                return v;
        if (scope_find(e, scope, callee->name, false, &v))
                return poisoned(e, callee->span, "%s is %s, which can't be called", callee->name,
                                value_text_of(e, v));
        const char **names;
        poisoned(e, callee->span, "unknown block %s", callee->name);
        if (hint_foreign(e, callee->name, false))
                return POISON;
        int n = scope_names(e, scope, &names);
        hint_nearest(e, callee->name, names, n);
        return POISON;
}

static Value call_block(Elaborator *e, Block *f, int npos, const Value *pos, const Span *pos_span,
                        const Vars *named, Span call, const char *name);

Value call_value(Elaborator *e, Scope *scope, const Ast *ast, const char *name)
{
        const Ast *callee = ast->kid[0];
        Arguments args = {0};
        Value f = find_callee(e, scope, callee);
        if (!read_arguments(e, scope, ast, &args) || is_poison(f))
                return POISON;
        if (f.kind == V_NONE)
                return args.npos > 0 ? args.pos[0] : NOTHING;
        if (f.kind != V_BLOCK)
                return poisoned(e, callee->span, "%s can't be called", value_text_of(e, f));
        Block *block = NEW(e->arena, Block);
        *block = *f.block;
        block->name = callee_name(callee);
        return call_block(e, block, args.npos, args.pos, args.span, &args.named, ast->span, name);
}

/* ---- binding ---- */

static bool has_parameter(const Parameters *p, const char *name)
{
        for (int i = 0; i < p->n; i++)
                if (block_parameter(p, i)->name == name)
                        return true;
        return false;
}

static void block_report_unknown(Elaborator *e, const Parameters *p, const Block *f, const Binding *b)
{
        const char *names[256];
        int n = 0;
        for (int i = 0; i < p->n && n < 256; i++)
                names[n++] = block_parameter(p, i)->name;
        poisoned(e, b->span, "%s has no parameter %s", f->name, b->name);
        hint_nearest(e, b->name, names, n);
        hint_axis(e, f->name, b->name, has_parameter(p, interned(e, "axis")));
        diag_note(e->diag, f->def->name_span, "%s is defined here", f->def->name);
}

static bool check_arguments(Elaborator *e, const Block *f, const Parameters *p, const Arguments *args,
                            Span call)
{
        bool good = true;
        if (args->npos > p->npos) {
                good = false;
                poisoned(e, args->span[p->npos], "%s takes %d argument%s by position, not %d", f->name,
                         p->npos, p->npos == 1 ? "" : "s", args->npos);
                if (p->npos == 1 && has_parameter(p, interned(e, "axis")))
                        hint_axis(e, f->name, "dim", true);
                if (p->n > p->npos)
                        diag_note(e->diag, f->def->name_span, "parameters after `;` are passed by name");
        }
        for (int i = 0; i < args->named.n; i++)
                if (!has_parameter(p, args->named.binding[i].name)) {
                        block_report_unknown(e, p, f, &args->named.binding[i]);
                        good = false;
                }
        const char *missing = NULL;
        for (int i = 0; i < p->n; i++) {
                const Ast *param = block_parameter(p, i);
                const Binding *b = vars_find(&args->named, param->name);
                if (b && i < args->npos) {
                        poisoned(e, b->span, "%s is given by position already", param->name);
                        good = false;
                }
                if (b || i < args->npos || param->kid[1])
                        continue;
                missing =
                        missing ? arena_printf(e->diag->arena, "%s, %s", missing, param->name) : param->name;
        }
        if (missing) {
                poisoned(e, call, "%s needs %s", f->name, missing);
                diag_note(e->diag, f->def->name_span, "%s is defined here", f->def->name);
        }
        return good && !missing;
}

static bool type_matches(const char *type, Value *v)
{
        if (strcmp(type, "int") == 0) {
                if (v->kind == V_REAL && v->number == (double)(int64_t)v->number)
                        *v = value_int((int64_t)v->number);
                return v->kind == V_INT || v->kind == V_DIM;
        }
        if (strcmp(type, "real") == 0)
                return is_number(*v);
        if (strcmp(type, "bool") == 0)
                return v->kind == V_BOOL;
        if (strcmp(type, "text") == 0)
                return v->kind == V_TEXT;
        if (strcmp(type, "list") == 0)
                return v->kind == V_LIST;
        if (strcmp(type, "tensor") == 0)
                return v->kind == V_TENSOR;
        if (strcmp(type, "block") == 0)
                return v->kind == V_NONE ||
                       (v->kind == V_BLOCK && !(v->block->def && v->block->def->kind == AST_SCHEME));
        return v->kind == V_NONE || v->kind == V_SCHEME;
}

/* A hyperparameter may be a list of values of its type, one for each layer. */
bool fits_type(Elaborator *e, const Ast *type, Value *v, const char *what, Span span)
{
        static const char *const known[] = {"int",  "real",   "bool",  "text",
                                            "list", "tensor", "block", "scheme"};
        bool is_known = false;
        for (int i = 0; type->name && i < 8; i++)
                is_known = is_known || strcmp(type->name, known[i]) == 0;
        if ((type->kind != AST_NAME && type->kind != AST_TYPE) || !is_known) {
                poisoned(e, type->span,
                         "unknown type of a parameter; expected int, real, bool, text, list, tensor, block "
                         "or scheme");
                return false;
        }
        if (is_poison(*v) || type_matches(type->name, v))
                return true;
        if (v->kind == V_LIST && v->list->n > 0) {
                bool all = true;
                for (int i = 0; i < v->list->n; i++)
                        all = all && type_matches(type->name, &v->list->item[i]);
                if (all)
                        return true;
        }
        bool vowel = strchr("aeiou", type->name[0]) != NULL;
        poisoned(e, span, "%s should be %s %s, not %s", what, vowel ? "an" : "a", type->name,
                 value_text_of(e, *v));
        return false;
}

/* Binds parameters from left to right: a default may use earlier ones. */
static bool block_bind(Elaborator *e, const Parameters *p, const Arguments *args, Scope *scope)
{
        bool good = true;
        for (int i = 0; i < p->n; i++) {
                const Ast *param = block_parameter(p, i);
                const Binding *b = vars_find(&args->named, param->name);
                Span span = i < args->npos ? args->span[i] : b ? b->span : param->span;
                Value v = i < args->npos ? args->pos[i]
                          : b            ? b->value
                                         : eval(e, scope, param->kid[1], param->name);
                if (param->kid[0] && !fits_type(e, param->kid[0], &v, param->name, span)) {
                        v = POISON;
                        good = false;
                }
                scope_set(e, scope, param->name, v, param->span);
        }
        return good;
}

/* ---- instances ---- */

static bool check_recursion(Elaborator *e, const Block *f, Span call)
{
        for (const Active *a = e->active; a; a = a->outer) {
                if (a->def != f->def || a->scope != f->scope)
                        continue;
                const char *text = f->def->name;
                for (const Active *b = e->active;; b = b->outer) {
                        text = arena_printf(e->diag->arena, "%s calls %s", b->name, text);
                        if (b == a)
                                break;
                }
                diag_error(e->diag, call, "circular calls of blocks: %s", text);
                return false;
        }
        if (e->depth < MAX_DEPTH)
                return true;
        poisoned(e, call, "instances are more than %d deep", MAX_DEPTH);
        return false;
}

/* A block's body; the values of `return a, b` are a list. */
static Value elaborate_block(Elaborator *e, const Block *f, Scope *scope)
{
        bool has_returned = e->has_returned, may_return = e->may_return;
        Value outer = e->returned, v;
        if (f->def->kid[2])
                return eval(e, scope, f->def->kid[2], WHOLE_BLOCK);
        e->has_returned = false;
        e->may_return = true;
        int errors = e->diag->count;
        run_statements(e, scope, f->def->kid[1]);
        v = e->has_returned ? e->returned : POISON;
        if (!e->has_returned && e->diag->count == errors && !e->stopped)
                poisoned(e, f->def->name_span, "%s returns nothing", f->def->name);
        e->has_returned = has_returned;
        e->may_return = may_return;
        e->returned = outer;
        return v;
}

static Value run_scheme(Elaborator *e, const Block *f, Scope *scope)
{
        const Ast *members = f->def->kid[1];
        Scheme *s = NEW(e->arena, Scheme);
        *s = (Scheme){.name = f->name, .def = f->def, .scope = scope, .nparam = scope->vars->n};
        hoist_blocks(e, scope, members);
        for (int i = 0; i < members->nkid; i++) {
                const Ast *member = members->kid[i];
                if (member->kind != AST_MEMBER)
                        continue;
                Value v = {.kind = V_BLOCK, .block = block_value(e, member, scope)};
                v.block->scheme = f->def->name;
                vars_set(e->arena, &s->member, member->name, v, member->span);
                if (!vars_find(scope->vars, member->name))
                        scope_set(e, scope, member->name, v, member->span);
        }
        for (int i = 0; i < members->nkid; i++)
                if (members->kid[i]->kind != AST_MEMBER)
                        run_statement(e, scope, members->kid[i]);
        return (Value){.kind = V_SCHEME, .scheme = s};
}

typedef struct {
        Instance *where;
        PathScope *path;
        Active *active;
        int depth;
} Surroundings;

/* Enters an instance of f called `name`, runs it, and leaves it. */
static Value run_instance(Elaborator *e, const Block *f, const Parameters *p, const Arguments *args,
                          Span call, const char *name)
{
        if (!check_recursion(e, f, call))
                return POISON;
        Surroundings outer = {e->where, e->path, e->active, e->depth};
        Instance *instance = NEW(e->arena, Instance);
        *instance = (Instance){.outer = e->where,
                               .name = name && name != WHOLE_BLOCK ? name : f->name,
                               .block = f->def->name,
                               .scheme = f->scheme,
                               .call = call,
                               .is_whole = name == WHOLE_BLOCK};
        Active active = {e->active, f->def, f->scope, f->def->name};
        e->where = instance;
        e->active = &active;
        e->depth++;
        if (f->shared)
                e->path = f->shared;
        else if (name != WHOLE_BLOCK)
                e->path = path_new(e, instance->name, call);
        Scope *scope = scope_new(e, f->scope, true);
        Value v = POISON;
        if (block_bind(e, p, args, scope))
                v = f->def->kind == AST_SCHEME ? run_scheme(e, f, scope) : elaborate_block(e, f, scope);
        e->where = outer.where;
        e->path = outer.path;
        e->active = outer.active;
        e->depth = outer.depth;
        if (!instance->is_whole)
                record_name(e, INSTANCE, instance->name, e->where, v);
        return v;
}

static Vars merge_named(Elaborator *e, const Vars *bound, const Vars *named)
{
        Vars all = {0};
        for (int i = 0; i < bound->n; i++)
                vars_set(e->arena, &all, bound->binding[i].name, bound->binding[i].value,
                         bound->binding[i].span);
        for (int i = 0; i < named->n; i++)
                vars_set(e->arena, &all, named->binding[i].name, named->binding[i].value,
                         named->binding[i].span);
        return all;
}

static Value partial(Elaborator *e, const Block *f, const Parameters *p, const Arguments *args)
{
        for (int i = 0; i < args->named.n; i++)
                if (!has_parameter(p, args->named.binding[i].name)) {
                        block_report_unknown(e, p, f, &args->named.binding[i]);
                        return POISON;
                }
        Block *b = NEW(e->arena, Block);
        *b = *f;
        b->bound = args->named;
        b->name = f->def->name;
        return (Value){.kind = V_BLOCK, .block = b};
}

static Value call_block(Elaborator *e, Block *f, int npos, const Value *pos, const Span *pos_span,
                        const Vars *named, Span call, const char *name)
{
        Arguments args = {npos, (Value *)pos, (Span *)pos_span, merge_named(e, &f->bound, named)};
        if (f->builtin) {
                if (npos > 0 || f->builtin->min == 0)
                        return builtin_call(e, f->builtin, npos, pos, pos_span, &args.named, call);
                Block *b = NEW(e->arena, Block);
                *b = *f;
                b->bound = args.named;
                return (Value){.kind = V_BLOCK, .block = b};
        }
        Parameters p = parameters_of(f->def);
        const Ast *first = p.npos > 0 ? p.positional->kid[0] : NULL;
        if (f->def->kind != AST_SCHEME && npos == 0 && first && !first->kid[1] &&
            !vars_find(&args.named, first->name))
                return partial(e, f, &p, &args);
        for (int i = 0; i < npos; i++)
                if (is_poison(pos[i]))
                        return POISON;
        for (int i = 0; i < args.named.n; i++)
                if (is_poison(args.named.binding[i].value))
                        return POISON;
        if (!check_arguments(e, f, &p, &args, call))
                return POISON;
        Value v = run_instance(e, f, &p, &args, call, name);
        if (f->shared)
                f->shared->shared = true;
        return v;
}

Value instantiate_default(Elaborator *e, Value v, const char *name, Span span)
{
        if (v.kind != V_BLOCK || !v.block->def || v.block->def->kind != AST_SCHEME)
                return v;
        Parameters p = parameters_of(v.block->def);
        for (int i = 0; i < p.n; i++)
                if (!block_parameter(&p, i)->kid[1])
                        return v;
        return call_block(e, v.block, 0, NULL, NULL, &(Vars){0}, span, name);
}
