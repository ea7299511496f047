/* Models: inheritance, hyperparameters and their values from outside.
 *
 * A model and its ancestors are one chain, root first.  The structure (inputs, weights, repeats, outputs) is
 * that of the last model in the chain that states any; from the models above it come hyperparameters and
 * local blocks, from those below values and local blocks that replace.  All share one set of variables; each
 * sees its own file's names.
 *
 * A value from outside (`name value`, `name = value` of a descendant, -D) is evaluated on its first use, so
 * that the order in which settings are written does not matter. */
#include "elaborate_private.h"

#include <string.h>

enum { MAX_CHAIN = 64 };

typedef struct {
        int n, structure; /* index of the model that states the structure */
        const Ast *model[MAX_CHAIN];
        File *file[MAX_CHAIN];
        Scope *scope[MAX_CHAIN];
} ModelChain;

static const Ast *body_of(const Ast *model)
{
        return model->kid[1];
}

bool at_model(const Elaborator *e, const Scope *scope)
{
        return e->model_scope && scope->vars == e->model_scope->vars;
}

/* ---- the chain ---- */

bool is_structural(const Ast *s)
{
        switch ((int)s->kind) {
        case AST_INPUT:
        case AST_OUTPUT:
        case AST_REPEAT:
        case AST_SHARED: return true;
        case AST_DECL: return !is_hyper_type(s->kid[1]);
        case AST_DO:
        case AST_IF:
                for (int i = 0; i < s->nkid; i++)
                        if (s->kid[i] && is_structural(s->kid[i]))
                                return true;
                return false;
        default: return false;
        }
}

static Definition *find_model(Program *p, const File *file, const char *name)
{
        Definition *d = file_find(file, name);
        if (!d || d->ast->kind != AST_MODEL)
                d = library_find(p, name);
        return d && d->ast->kind == AST_MODEL ? d : NULL;
}

static void report_no_model(const File *file, Span span, const char *name, bool is_option, Diag *diag)
{
        const char *names[256], *own = NULL;
        int n = 0;
        for (int64_t i = 0; i < file->table.slots && n < 256; i++) {
                const Definition *d = file->table.slot[i];
                if (!d || d->ast->kind != AST_MODEL)
                        continue;
                names[n++] = d->name;
                if (is_option && d->file == file)
                        own = own ? arena_printf(diag->arena, "%s, %s", own, d->name) : d->name;
        }
        diag_error(diag, span, "unknown model %s", name);
        const char *near = nearest_name(name, names, n);
        if (near)
                diag_hint(diag, "did you mean %s?", near);
        else if (own)
                diag_hint(diag, "the models of this file: %s", own);
}

static bool check_cycle(const ModelChain *c, const Ast *model, Arena *arena, Diag *diag)
{
        for (int i = 0; i < c->n; i++) {
                if (c->model[i] != model)
                        continue;
                const char *text = model->name;
                for (int k = c->n - 1; k >= i; k--)
                        text = arena_printf(arena, "%s : %s", c->model[k]->name, text);
                diag_error(diag, model->name_span, "circular inheritance of models: %s", text);
                return false;
        }
        return true;
}

static bool find_chain(Program *p, const Ast *model, File *file, ModelChain *c, Diag *diag)
{
        *c = (ModelChain){0};
        for (;;) {
                if (!check_cycle(c, model, p->work, diag))
                        return false;
                if (c->n == MAX_CHAIN)
                        return diag_error(diag, model->name_span, "models inherit more than %d deep",
                                          MAX_CHAIN),
                               false;
                c->model[c->n] = model;
                c->file[c->n++] = file;
                const Ast *parent = model->kid[0];
                if (!parent)
                        break;
                Definition *d = find_model(p, file, parent->name);
                if (!d)
                        return report_no_model(file, parent->span, parent->name, false, diag), false;
                model = d->ast;
                file = d->file;
        }
        for (int i = 0; i < c->n / 2; i++) { /* root first */
                const Ast *m = c->model[i];
                File *f = c->file[i];
                c->model[i] = c->model[c->n - 1 - i];
                c->file[i] = c->file[c->n - 1 - i];
                c->model[c->n - 1 - i] = m;
                c->file[c->n - 1 - i] = f;
        }
        for (int i = 0; i < c->n; i++)
                for (int k = 0; k < body_of(c->model[i])->nkid; k++)
                        if (is_structural(body_of(c->model[i])->kid[k]))
                                c->structure = i;
        return true;
}

/* Number of statements of model i that run: all of those of the structure; for the models above, those
 * before theirs. */
static int statements_run(const ModelChain *c, int i)
{
        const Ast *body = body_of(c->model[i]);
        if (i > c->structure)
                return 0;
        for (int k = 0; i < c->structure && k < body->nkid; k++)
                if (is_structural(body->kid[k]))
                        return k;
        return body->nkid;
}

/* ---- values from outside ---- */

static PendingValue *find_pending(Elaborator *e, const char *name)
{
        for (int i = 0; i < e->npending; i++)
                if (e->pending[i].name == name)
                        return &e->pending[i];
        return NULL;
}

static void force(Elaborator *e, PendingValue *p)
{
        if (p->evaluating) {
                poisoned(e, p->span, "the value of %s depends on itself", p->name);
                return;
        }
        Arena *arena = e->arena;
        Instance *where = e->where;
        PathScope *path = e->path;
        p->evaluating = true;
        e->arena = e->g->arena = e->keep;
        e->where = NULL;
        e->path = e->root;
        Value v = eval(e, p->scope, p->value, p->name);
        if (v.kind == V_TENSOR) {
                poisoned(e, p->span,
                         "the value of %s depends on inputs or weights: it belongs to the model's structure",
                         p->name);
                v = POISON;
        }
        scope_set(e, e->model_scope, p->name, v, p->value->span);
        list_hyper(e, p->name, v, p->span);
        e->arena = e->g->arena = arena;
        e->where = where;
        e->path = path;
        p->evaluated = true;
        p->evaluating = false;
}

bool pending_value(Elaborator *e, const char *name, Value *value)
{
        PendingValue *p = find_pending(e, name);
        if (!p)
                return false;
        if (!p->evaluated && e->asks)
                return *value = POISON, true;
        if (!p->evaluated)
                force(e, p);
        Binding *b = vars_find(e->model_scope->vars, name);
        return *value = b ? b->value : POISON, true;
}

bool value_given(Elaborator *e, const char *name, Value *value)
{
        PendingValue *p = find_pending(e, name);
        if (!p || (p->consumed && e->in_structure)) /* in the structure a name may be assigned again */
                return false;
        p->consumed = true;
        return pending_value(e, name, value);
}

static void add_pending(Elaborator *e, int *capacity, const char *name, const Ast *value, Scope *scope,
                        Span span, bool declares)
{
        GROW(e->keep, e->pending, e->npending, *capacity);
        e->pending[e->npending++] = (PendingValue){
                .name = name, .value = value, .scope = scope, .span = span, .declares = declares};
}

static bool override_add(Elaborator *e, int *capacity, const Override *o, Scope *scope)
{
        Program *p = e->program;
        Ast *tree = NULL;
        size_t length = strlen(o->value);
        const char *path = o->said ? o->said : arena_printf(p->work, "-D %s", o->name);
        Source *source = source_new(p->work, path, arena_strdup(p->work, o->value),
                                    (int32_t)(length > 1 << 20 ? 0 : length));
        ParseResult result = parse_lines(p->work, p->names, e->diag, source, &tree);
        if (result != PARSE_COMPLETE || !tree || tree->nkid != 1 || !ast_is_expression(tree->kid[0]->kind)) {
                if (e->diag->count == 0)
                        diag_error(e->diag, (Span){source, 0, (int32_t)length}, "-D %s needs an expression",
                                   o->name);
                return false;
        }
        add_pending(e, capacity, interned(e, o->name), tree->kid[0], scope, tree->kid[0]->span, false);
        return true;
}

/* Values by priority: -D, then the last model of the chain, upwards. */
static void collect_pending(Elaborator *e, const ModelChain *c, const Override *override, int noverride)
{
        int capacity = 0;
        for (int i = noverride - 1; i >= 0; i--)
                override_add(e, &capacity, &override[i], c->scope[c->n - 1]);
        for (int i = c->n - 1; i >= 0; i--) {
                const Ast *body = body_of(c->model[i]);
                bool open = i > 0;
                for (int k = 0; k < body->nkid; k++) {
                        const Ast *s = body->kid[k];
                        open = open && !is_structural(s);
                        if (s->kind == AST_SETTING)
                                add_pending(e, &capacity, s->name, s->kid[0], c->scope[i], s->span, false);
                        else if (s->kind == AST_LET && s->kid[0]->nkid == 1 && open)
                                add_pending(e, &capacity, s->kid[0]->kid[0]->name, s->kid[1], c->scope[i],
                                            s->span, true);
                }
        }
}

/* ---- which hyperparameters there are ---- */

typedef struct {
        const char **name;
        int n, capacity;
} ParameterNames;

static void add_declared(Elaborator *e, const Ast *s, ParameterNames *names)
{
        if (s->kind == AST_IF || s->kind == AST_DO)
                for (int i = 0; i < s->nkid; i++)
                        if (s->kid[i])
                                add_declared(e, s->kid[i], names);
        if ((s->kind != AST_DECL || !is_hyper_type(s->kid[1])) && s->kind != AST_LET)
                return;
        for (int i = 0; i < s->kid[0]->nkid; i++) {
                GROW(e->keep, names->name, names->n, names->capacity);
                names->name[names->n++] = s->kid[0]->kid[i]->name;
        }
}

static bool has_name(const ParameterNames *names, const char *name)
{
        for (int i = 0; i < names->n; i++)
                if (names->name[i] == name)
                        return true;
        return false;
}

static void model_report_unknown(Elaborator *e, const ParameterNames *names, const char *name, Span span,
                                 const char *model)
{
        poisoned(e, span, "%s has no hyperparameter %s", model, name);
        if (!hint_foreign_setting(e, name, names->name, names->n))
                hint_nearest(e, name, names->name, names->n);
}

/* A setting must be a hyperparameter that an ancestor declares; -D may be any. */
static void check_settings(Elaborator *e, const ModelChain *c, int noverride)
{
        ParameterNames names = {0};
        check_model_mistakes(e, c->model, c->file, c->n);
        for (int i = 0; i < c->n; i++) {
                const Ast *body = body_of(c->model[i]);
                for (int k = 0; k < body->nkid; k++) {
                        const Ast *s = body->kid[k];
                        if (s->kind != AST_SETTING || has_name(&names, s->name))
                                continue;
                        if (i == 0)
                                poisoned(e, s->span,
                                         "%s inherits no hyperparameters to set: a hyperparameter is "
                                         "declared by `%s = ..`",
                                         c->model[i]->name, s->name);
                        else
                                model_report_unknown(e, &names, s->name, s->name_span, c->model[i - 1]->name);
                }
                for (int k = 0; k < body->nkid; k++)
                        add_declared(e, body->kid[k], &names);
        }
        for (int i = 0; i < noverride && i < e->npending; i++)
                if (!has_name(&names, e->pending[i].name))
                        model_report_unknown(e, &names, e->pending[i].name, e->pending[i].span,
                                             c->model[c->n - 1]->name);
}

/* Hyperparameters without a value; their names joined, or NULL. */
static const char *missing_names(Program *p, const ModelChain *c, const ParameterNames *given)
{
        const char *text = NULL;
        for (int i = 0; i <= c->structure; i++) {
                const Ast *body = body_of(c->model[i]);
                for (int k = 0; k < statements_run(c, i); k++) {
                        const Ast *s = body->kid[k];
                        if (s->kind != AST_DECL || !is_hyper_type(s->kid[1]) || s->kid[2])
                                continue;
                        for (int j = 0; j < s->kid[0]->nkid; j++) {
                                const char *name = s->kid[0]->kid[j]->name;
                                if (!has_name(given, name))
                                        text = text ? arena_printf(p->work, "%s, %s", text, name) : name;
                        }
                }
        }
        return text;
}

static ParameterNames given_names(Program *p, const ModelChain *c, const Override *override, int noverride)
{
        int most = noverride;
        for (int i = 0; i < c->n; i++)
                most += body_of(c->model[i])->nkid;
        ParameterNames names = {.name = NEW_ARRAY(p->work, const char *, most)};
        for (int i = 0; i < noverride; i++)
                names.name[names.n++] = intern(p->names, override[i].name, -1);
        for (int i = 0; i < c->n; i++) {
                const Ast *body = body_of(c->model[i]);
                for (int k = 0; k < body->nkid; k++) {
                        if (body->kid[k]->kind == AST_SETTING)
                                names.name[names.n++] = body->kid[k]->name;
                        else if (body->kid[k]->kind == AST_LET && body->kid[k]->kid[0]->nkid == 1)
                                names.name[names.n++] = body->kid[k]->kid[0]->kid[0]->name;
                }
        }
        return names;
}

/* ---- settings ---- */

bool setting_of(Elaborator *e, const char *name, Value v, Span span, Setting *s)
{
        *s = (Setting){.name = name, .number = v.number, .span = span};
        if (is_number(v)) {
                s->kind = SETTING_NUMBER;
        } else if (v.kind == V_BOOL) {
                s->kind = SETTING_BOOL;
        } else if (v.kind == V_TEXT) {
                s->number = 0;
                s->kind = SETTING_TEXT;
                s->text = v.text;
        } else if (v.kind == V_LIST) {
                s->number = 0;
                s->kind = SETTING_LIST;
                s->nlist = v.list->n;
                s->list = NEW_ARRAY(e->keep, double, v.list->n);
                for (int i = 0; i < v.list->n; i++) {
                        if (!is_number(v.list->item[i]))
                                return false;
                        s->list[i] = v.list->item[i].number;
                }
        } else {
                return false;
        }
        return true;
}

/* Each name once, with the value of its declaration.  Values computed in the structure are not
 * hyperparameters. */
void list_hyper(Elaborator *e, const char *name, Value v, Span span)
{
        Setting s;
        if (e->in_structure || !setting_of(e, name, v, span, &s))
                return;
        for (int i = 0; i < e->g->nhyper; i++)
                if (e->g->hyper[i].name == name)
                        return;
        GROW(e->keep, e->g->hyper, e->g->nhyper, e->hyper_cap);
        e->g->hyper[e->g->nhyper++] = s;
}

/* ---- a model ---- */

static void make_scopes(Elaborator *e, ModelChain *c)
{
        Vars *vars = NEW(e->keep, Vars);
        for (int i = 0; i < c->n; i++) {
                Scope *scope = c->scope[i] = NEW(e->keep, Scope);
                Scope *file = &c->file[i]->scope;
                *scope = (Scope){.vars = vars, .boundary = true, .outer = file};
                if (i > 0 && c->file[i] != c->file[i - 1]) { /* names of the parent's file */
                        scope->outer = NEW(e->keep, Scope);
                        *scope->outer = *file;
                        scope->outer->outer = c->scope[i - 1]->outer;
                } else if (i > 0) {
                        scope->outer = c->scope[i - 1]->outer;
                }
        }
        e->model_scope = c->scope[c->n - 1];
        for (int i = 0; i < c->n; i++)
                hoist_blocks(e, c->scope[i], body_of(c->model[i]));
}

static void force_all(Elaborator *e)
{
        for (int i = 0; i < e->npending; i++)
                if (!e->pending[i].evaluated && find_pending(e, e->pending[i].name) == &e->pending[i])
                        force(e, &e->pending[i]);
}

static void run_models(Elaborator *e, const ModelChain *c)
{
        bool forced = false;
        for (int i = 0; i <= c->structure; i++) {
                const Ast *body = body_of(c->model[i]);
                int n = statements_run(c, i);
                for (int k = 0; k < n; k++) {
                        if (!forced && is_structural(body->kid[k])) {
                                force_all(e);
                                forced = e->in_structure = true;
                        }
                        run_statement(e, c->scope[i], body->kid[k]);
                }
        }
        if (!forced)
                force_all(e);
        for (int i = c->structure + 1; i < c->n; i++)
                for (int k = 0; k < body_of(c->model[i])->nkid; k++)
                        if (body_of(c->model[i])->kid[k]->kind == AST_REQUIRE)
                                run_statement(e, c->scope[i], body_of(c->model[i])->kid[k]);
}

static bool is_checkpoint(const Ast *s)
{
        return s->kind == AST_CHECKPOINT || s->kind == AST_CHECKPOINT_USE;
}

static bool has_checkpoint(const Ast *model)
{
        for (int k = 0; k < body_of(model)->nkid; k++)
                if (is_checkpoint(body_of(model)->kid[k]))
                        return true;
        return false;
}

static void run_loops(Elaborator *e, const ModelChain *c, int i)
{
        for (int k = 0; k < body_of(c->model[i])->nkid; k++) {
                const Ast *s = body_of(c->model[i])->kid[k];
                if (s->kind == AST_LOOP)
                        add_loop(e, c->scope[i], s, i < c->n - 1);
                if (s->kind == AST_LOOP_NONE)
                        drop_loop(e, s);
        }
}

/* Loops add up along the chain; of checkpoints only the last is used.  Both are inherited, even if a
 * descendant states its own structure. */
static void run_surroundings(Elaborator *e, const ModelChain *c)
{
        int last = -1;
        for (int i = 0; i < c->n; i++) {
                run_loops(e, c, i);
                if (has_checkpoint(c->model[i]))
                        last = i;
        }
        check_stated_loops(e);
        int faults = e->diag->count;
        for (int k = 0; last >= 0 && k < body_of(c->model[last])->nkid; k++)
                if (is_checkpoint(body_of(c->model[last])->kid[k]))
                        run_checkpoint(e, c->scope[last], body_of(c->model[last])->kid[k]);
        if (e->diag->count > faults && last < c->structure)
                diag_hint(e->diag, "%s has the checkpoint of %s; `checkpoint none` in it removes it",
                          e->g->name, c->model[last]->name);
}

/* Whether all hyperparameters of a model of the main file have values.  Also true if its parents are not
 * found, since that is reported later. */
static bool is_complete(Program *p, const Ast *model, const Override *override, int noverride)
{
        ModelChain c;
        if (!find_chain(p, model, p->main, &c, NULL))
                return true;
        ParameterNames given = given_names(p, &c, override, noverride);
        return !missing_names(p, &c, &given);
}

const char **program_models(Program *p, const Override *override, int noverride, int *n)
{
        const Ast *tree = p->main->tree;
        const char **name = NEW_ARRAY(p->work, const char *, tree->nkid);
        *n = 0;
        for (int i = 0; i < tree->nkid; i++)
                if (tree->kid[i]->kind == AST_MODEL && is_complete(p, tree->kid[i], override, noverride))
                        name[(*n)++] = tree->kid[i]->name;
        return name;
}

/* The named model, or the last one of the main file whose hyperparameters all have values. */
static const Ast *pick_model(Program *p, const char *which, File **file, const Override *override,
                             int noverride, Diag *diag)
{
        const Ast *last = NULL, *found = NULL, *tree = p->main->tree;
        *file = p->main;
        if (which) {
                Definition *d = find_model(p, p->main, intern(p->names, which, -1));
                if (!d)
                        return report_no_model(p->main, (Span){p->main->source, 0, 0}, which, true, diag),
                               NULL;
                *file = d->file;
                return d->ast;
        }
        for (int i = 0; i < tree->nkid; i++) {
                if (tree->kid[i]->kind != AST_MODEL)
                        continue;
                last = tree->kid[i];
                if (is_complete(p, last, override, noverride))
                        found = last;
        }
        if (!last)
                diag_error(diag, (Span){p->main->source, 0, 0}, "there is no model in %s", p->main->path);
        return found ? found : last;
}

static bool is_parent(const Ast *tree, const char *name)
{
        for (int i = 0; i < tree->nkid; i++)
                if (tree->kid[i]->kind == AST_MODEL && tree->kid[i]->kid[0] &&
                    tree->kid[i]->kid[0]->name == name)
                        return true;
        return false;
}

void check_open_models(Program *p, const Override *override, int noverride, Diag *diag)
{
        const Ast *tree = p->main->tree;
        for (int i = 0; i < tree->nkid; i++) {
                ModelChain c;
                const Ast *model = tree->kid[i];
                if (model->kind != AST_MODEL || is_complete(p, model, override, noverride) ||
                    !find_chain(p, model, p->main, &c, NULL))
                        continue;
                check_settings(elaborator_new(p, model->name, diag), &c, 0);
                ParameterNames given = given_names(p, &c, override, noverride);
                if (c.n > 1 && !is_parent(tree, model->name))
                        diag_note(diag, model->name_span, "%s was not checked further, it lacks %s",
                                  model->name, missing_names(p, &c, &given));
        }
}

Graph *elaborate_model(Program *p, const char *which, const Override *override, int noverride, Diag *diag)
{
        ModelChain chain;
        File *file;
        const Ast *model = pick_model(p, which, &file, override, noverride, diag);
        if (!model || !find_chain(p, model, file, &chain, diag))
                return NULL;
        Elaborator *e = elaborator_new(p, model->name, diag);
        e->chain = chain.model;
        e->nchain = chain.n;
        e->g->stated = model->name_span;
        make_scopes(e, &chain);
        collect_pending(e, &chain, override, noverride);
        check_settings(e, &chain, noverride);
        ParameterNames given = given_names(p, &chain, override, noverride);
        const char *missing = missing_names(p, &chain, &given);
        if (missing) {
                poisoned(e, model->name_span, "%s has hyperparameters without a value: %s", model->name,
                         missing);
                diag_hint(diag, "set them, as in `model mine : %s { %.*s 8 .. }`, or by -D %.*s=8",
                          model->name, (int)strcspn(missing, ","), missing, (int)strcspn(missing, ","),
                          missing);
        }
        if (diag->count > 0)
                return NULL;
        run_models(e, &chain);
        if (diag->count == 0 && e->g->noutput == 0)
                poisoned(e, model->name_span, "%s has no output", model->name);
        if (diag->count == 0) {
                number_slots(e);
                run_surroundings(e, &chain);
        }
        return elaborator_finish(e);
}
