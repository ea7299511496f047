/* Scopes: the visible names, innermost first, out to the file and its imports. */
#include "elaborate_private.h"

Scope *scope_new(Elaborator *e, Scope *outer, bool boundary)
{
        Scope *scope = NEW(e->arena, Scope);
        scope->vars = NEW(e->arena, Vars);
        scope->outer = outer;
        scope->boundary = boundary;
        return scope;
}

/* Names are interned: equal names are one pointer. */
Binding *vars_find(const Vars *vars, const char *name)
{
        for (int i = vars->n - 1; i >= 0; i--)
                if (vars->binding[i].name == name)
                        return &vars->binding[i];
        return NULL;
}

void vars_set(Arena *arena, Vars *vars, const char *name, Value value, Span span)
{
        Binding *found = vars_find(vars, name);
        if (!found) {
                GROW(arena, vars->binding, vars->n, vars->capacity);
                found = &vars->binding[vars->n++];
        }
        *found = (Binding){name, value, span};
}

void scope_set(Elaborator *e, Scope *scope, const char *name, Value value, Span span)
{
        vars_set(at_model(e, scope) ? e->keep : e->arena, scope->vars, name, value, span);
}

static bool is_callable(Value v)
{
        return v.kind == V_BLOCK || v.kind == V_SCHEME || v.kind == V_NONE || v.kind == V_POISON;
}

static Value definition_value(Definition *d)
{
        if (!d->has_block)
                d->block = (Block){.def = d->ast, .name = d->ast->name, .scope = &d->file->scope};
        d->has_block = true;
        return (Value){.kind = V_BLOCK, .block = &d->block};
}

static bool is_value_definition(const Definition *d)
{
        return d && (d->ast->kind == AST_BLOCK || d->ast->kind == AST_SCHEME);
}

static bool outside_find(Elaborator *e, const Scope *scope, const char *name, Value *value)
{
        const Outside *outside = scope->file == e->program->main ? e->program->outside : NULL;
        return outside && outside->find(outside->from, e, name, value);
}

bool scope_find_nearby(Elaborator *e, Scope *scope, const char *name, bool callable, Value *value)
{
        for (; scope; scope = scope->outer) {
                if (!scope->vars) {
                        Definition *d = file_find(scope->file, name);
                        if (is_value_definition(d))
                                return *value = definition_value(d), true;
                        if (outside_find(e, scope, name, value) && (!callable || is_callable(*value)))
                                return true;
                        continue;
                }
                Binding *b = vars_find(scope->vars, name);
                if (b && (!callable || is_callable(b->value)))
                        return *value = b->value, true;
                if (!b && e->model_scope && scope->vars == e->model_scope->vars &&
                    pending_value(e, name, value) && (!callable || is_callable(*value)))
                        return true;
        }
        return builtin_find(e, name, value);
}

/* The value of a name.  callable: skips variables that can't be called, so that `output mean = mean(x)`
 * does not hide the block. */
bool scope_find(Elaborator *e, Scope *scope, const char *name, bool callable, Value *value)
{
        if (scope_find_nearby(e, scope, name, callable, value))
                return true;
        Definition *d = library_find(e->program, name);
        if (!is_value_definition(d))
                return false;
        return *value = definition_value(d), true;
}

/* A variable of the current block, set in it or in one of its repeats. */
Binding *scope_local(Scope *scope, const char *name)
{
        for (; scope && scope->vars; scope = scope->outer) {
                Binding *b = vars_find(scope->vars, name);
                if (b)
                        return b;
                if (scope->boundary)
                        break;
        }
        return NULL;
}

static void scope_name(Elaborator *e, const char ***name, int *n, int *capacity, const char *one)
{
        GROW(e->keep, *name, *n, *capacity);
        (*name)[(*n)++] = one;
}

/* All visible names, for "did you mean". */
int scope_names(Elaborator *e, Scope *scope, const char ***name)
{
        int n = 0, capacity = 0;
        *name = NULL;
        for (; scope; scope = scope->outer) {
                const char *repeat[64];
                int nrepeat = scope->vars ? iterations_names(scope->vars, repeat, 64) : 0;
                for (int i = 0; i < nrepeat; i++)
                        scope_name(e, name, &n, &capacity, repeat[i]);
                for (int i = 0; scope->vars && i < scope->vars->n; i++)
                        scope_name(e, name, &n, &capacity, scope->vars->binding[i].name);
                for (int64_t i = 0; !scope->vars && i < scope->file->table.slots; i++)
                        if (is_value_definition(scope->file->table.slot[i]))
                                scope_name(e, name, &n, &capacity, scope->file->table.slot[i]->name);
        }
        const Outside *outside = e->program->outside;
        const char *seen[256];
        int nseen = outside ? outside->names(outside->from, seen, 256) : 0;
        for (int i = 0; i < nseen; i++)
                scope_name(e, name, &n, &capacity, seen[i]);
        const char *builtin[128];
        int nbuiltin = builtin_names(builtin, 128);
        for (int i = 0; i < nbuiltin; i++)
                scope_name(e, name, &n, &capacity, builtin[i]);
        Definition *d = library_find(e->program, interned(e, "linear"));
        for (int64_t i = 0; d && i < d->file->table.slots; i++)
                if (is_value_definition(d->file->table.slot[i]))
                        scope_name(e, name, &n, &capacity, d->file->table.slot[i]->name);
        return n;
}
