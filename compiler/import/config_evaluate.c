/* Expressions of config items.
 *
 * They are those of the language over other values: what a JSON file holds, and calls of the library, which are kept as they are, to be
 * printed.  A field that an object lacks is none; blocks of items are run, all other blocks and schemes are such calls.  The first
 * error is reported, and all that depends on it is none. */
#include <math.h>
#include <stdarg.h>

#include "import_private.h"

enum { MAX_CONFIG_WORK = 10000000 };

Said config_error(Import *m, Span span, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (!m->failed)
                diag_error(m->diag, span, "%s", arena_vprintf(m->arena, format, args));
        va_end(args);
        m->failed = true;
        return (Said){0};
}

/* ---- names ---- */

static Said *local_find(const Locals *local, const char *name)
{
        for (int i = local ? local->n - 1 : -1; i >= 0; i--)
                if (local->name[i] == name)
                        return &local->value[i];
        return NULL;
}

void local_set(Import *m, Locals *local, const char *name, Said value)
{
        Said *old = local_find(local, name);
        if (old) {
                *old = value;
                return;
        }
        GROW(m->arena, local->name, local->n, local->name_cap);
        GROW(m->arena, local->value, local->n, local->value_cap);
        local->name[local->n] = name;
        local->value[local->n++] = value;
}

const Ast *library_definition(const Import *m, const char *name)
{
        for (int i = m->nchain - 1; i >= 0; i--) {
                Definition *d = file_find(m->chain_file[i], name);
                if (d)
                        return d->ast;
        }
        Definition *d = library_find(m->program, name);
        return d ? d->ast : NULL;
}

bool library_has(const Import *m, const char *name)
{
        const char *builtin[256];
        int n = builtin_names(builtin, 256);
        for (int i = 0; i < n; i++)
                if (!strcmp(builtin[i], name))
                        return true;
        return library_definition(m, name) != NULL;
}

static Said no_name(Import *m, const Ast *e)
{
        const char *name[512];
        int n = 0;
        for (; n < m->nentry && n < 512; n++)
                name[n] = m->entry[n].name;
        const char *near = nearest_name(e->name, name, n);
        return config_error(m, e->span, "there is no %s%s%s%s", e->name, near ? "; did you mean " : "",
                            near ? near : "", near ? "?" : "");
}

static Said entry_value(Import *m, Entry *entry, Span span);

static Said name_value(Import *m, Locals *local, const Ast *e)
{
        const Said *here = local_find(local, e->name);
        if (here)
                return *here;
        Entry *entry = entry_find(m, e->name);
        if (entry)
                return entry_value(m, entry, e->span);
        if (!strcmp(e->name, "architecture"))
                return said_text(m->architecture);
        if (!strcmp(e->name, "pi"))
                return said_number(3.14159265358979323846, false);
        if (!strcmp(e->name, "inf"))
                return said_number(INFINITY, false);
        if (!library_has(m, e->name))
                return no_name(m, e);
        SaidCall *call = NEW(m->arena, SaidCall);
        call->head = e->name;
        return (Said){.kind = SAID_CALL, .call = call};
}

/* ---- keys ---- */

static bool type_fits(Said v, const char *type)
{
        if (!strcmp(type, "int"))
                return v.kind == SAID_NUMBER && v.number == floor(v.number);
        if (!strcmp(type, "real"))
                return v.kind == SAID_NUMBER;
        if (!strcmp(type, "bool"))
                return v.kind == SAID_BOOL;
        if (!strcmp(type, "text"))
                return v.kind == SAID_TEXT;
        return v.kind == (!strcmp(type, "list") ? SAID_LIST : SAID_OBJECT);
}

static const char *type_said(const char *type)
{
        static const char *const said[][2] = {{"int", "a whole number"}, {"real", "a number"},
                                              {"bool", "true or false"}, {"text", "a text"},
                                              {"list", "a list"},        {"object", "an object"}};
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
                if (!strcmp(said[i][0], type))
                        return said[i][1];
        return type;
}

static SaidField *key_in_file(const Import *m, const char *key)
{
        SaidField *f = object_find(m->inner, key);
        if (!f && m->root != m->inner)
                f = object_find(m->root, key);
        return f ? f : object_find(m->beside, key);
}

/* A key's value is of its type, or of its default's kind: 64 where a number is the default.  none fits all. */
static bool key_fits(Import *m, const Ast *key, const SaidField *f)
{
        const Ast *type = key->kid[1], *otherwise = key->kid[2];
        const char *wanted = type ? type->name : NULL;
        if (f->value.kind == SAID_NONE)
                return true;
        if (!type && otherwise->kind == AST_NUMBER)
                wanted = "real";
        else if (!type && (otherwise->kind == AST_TRUE || otherwise->kind == AST_FALSE))
                wanted = "bool";
        else if (!type && otherwise->kind == AST_STRING)
                wanted = "text";
        else if (!type && otherwise->kind == AST_LIST)
                wanted = "list";
        if (!wanted || type_fits(f->value, wanted))
                return true;
        config_error(m, f->span, "%s is %s; %s is wanted", key->name, said_shown(m->arena, f->value),
                     type_said(wanted));
        return false;
}

static Said key_value(Import *m, Entry *entry)
{
        const Ast *key = entry->ast;
        SaidField *f = key_in_file(m, key->name);
        if (f) {
                f->seen = true;
                return key_fits(m, key, f) ? f->value : (Said){0};
        }
        if (key->kid[2]) {
                entry->defaulted = true;
                return config_evaluate(m, NULL, key->kid[2]);
        }
        Span start = {m->root->n ? m->root->field[0].span.source : NULL, 0, 1};
        return config_error(m, start, "%s is missing: config %s has no default for it", key->name,
                            m->item->name);
}

static Said entry_value(Import *m, Entry *entry, Span span)
{
        if (entry->evaluated || m->failed)
                return entry->value;
        if (entry->kind == OF_BLOCK)
                return (Said){.kind = SAID_BLOCK, .block = entry->ast};
        if (entry->evaluating)
                return config_error(m, span, "the value of %s depends on itself", entry->name);
        entry->evaluating = true;
        entry->value = entry->kind == OF_KEY ? key_value(m, entry) : config_evaluate(m, NULL, entry->ast);
        entry->evaluating = false;
        entry->evaluated = true;
        return entry->value;
}

/* ---- what a message says of keys ---- */

void find_keys(Import *m, const Ast *e, KeysSaid *keys)
{
        if (!e)
                return;
        Entry *entry = e->kind == AST_NAME ? entry_find(m, e->name) : NULL;
        for (int i = 0; entry && i < keys->nseen; i++)
                if (keys->seen[i] == entry)
                        entry = NULL;
        if (entry && keys->nseen < MAX_KEYS) {
                keys->seen[keys->nseen++] = entry;
                if (entry->kind == OF_KEY)
                        keys->name[keys->n++] = entry->name;
                else
                        find_keys(m, entry->ast, keys);
        }
        for (int i = 0; i < e->nkid; i++)
                find_keys(m, e->kid[i], keys);
}

const char *config_keys_said(Import *m, const Ast *e, Span *where)
{
        KeysSaid keys = {.n = 0};
        const char *text = "";
        find_keys(m, e, &keys);
        for (int i = 1; i < keys.n; i++) /* by name */
                for (int k = i; k > 0 && strcmp(keys.name[k - 1], keys.name[k]) > 0; k--) {
                        const char *name = keys.name[k];
                        keys.name[k] = keys.name[k - 1];
                        keys.name[k - 1] = name;
                }
        for (int i = 0; i < keys.n; i++) {
                Entry *entry = entry_find(m, keys.name[i]);
                const SaidField *f = key_in_file(m, entry->ast->name);
                if (f && !where->source && !object_find(m->beside, f->key))
                        *where = f->span;
                text = arena_printf(m->arena, "%s; %s is %s", text, keys.name[i],
                                    said_shown(m->arena, entry_value(m, entry, e->span)));
        }
        return text;
}

/* ---- operators ---- */

static bool truth(Import *m, Locals *local, const Ast *e)
{
        Said v = config_evaluate(m, local, e);
        if (v.kind != SAID_BOOL && !m->failed) {
                Span where = {0};
                const char *keys = config_keys_said(m, e, &where);
                config_error(m, e->span, "true or false is wanted here, not %s%s", said_kind_name(v), keys);
        }
        return v.kind == SAID_BOOL && v.number != 0;
}

static Said arithmetic(AstKind op, Said a, Said b)
{
        double x = a.number, y = b.number;
        bool both = a.is_int && b.is_int;
        switch ((int)op) {
        case AST_ADD: return said_number(x + y, both);
        case AST_SUB: return said_number(x - y, both);
        case AST_MUL: return said_number(x * y, both);
        case AST_DIV: return said_number(x / y, both && y != 0 && fmod(x, y) == 0);
        case AST_FLOORDIV: return said_number(floor(x / y), both && y != 0);
        case AST_MOD: return said_number(x - y * floor(x / y), both && y != 0);
        case AST_POW: return said_number(real_pow(x, y), both && y >= 0);
        case AST_LT: return said_bool(x < y);
        case AST_GT: return said_bool(x > y);
        case AST_LE: return said_bool(x <= y);
        case AST_GE: return said_bool(x >= y);
        default: return (Said){0};
        }
}

static Said binary(Import *m, Locals *local, const Ast *e)
{
        Said a = config_evaluate(m, local, e->kid[0]), b = config_evaluate(m, local, e->kid[1]);
        if (m->failed)
                return (Said){0};
        if (e->kind == AST_EQ)
                return said_bool(said_same(a, b));
        if (e->kind == AST_NE)
                return said_bool(!said_same(a, b));
        Span where = e->span;
        if (a.kind == SAID_NUMBER && b.kind == SAID_NUMBER) {
                Said result = arithmetic(e->kind, a, b);
                if (result.kind != SAID_NUMBER || isfinite(result.number))
                        return result;
                return config_error(m, where, "this is no finite number%s",
                                    config_keys_said(m, e, &(Span){0}));
        }
        Span key = {0};
        const char *keys = config_keys_said(m, e, &key);
        return config_error(m, key.source ? key : where, "'%s' is between numbers, not %s and %s%s",
                            ast_kind_name(e->kind), said_kind_name(a), said_kind_name(b), keys);
}

static Said negated(Import *m, Locals *local, const Ast *e)
{
        Said v = config_evaluate(m, local, e->kid[0]);
        if (v.kind == SAID_NUMBER)
                return said_number(-v.number, v.is_int);
        return config_error(m, e->span, "'-' wants a number, not %s", said_kind_name(v));
}

static Said field_of(Import *m, Locals *local, const Ast *e)
{
        Said v = config_evaluate(m, local, e->kid[0]);
        if (v.kind == SAID_NONE)
                return (Said){0};
        if (v.kind != SAID_OBJECT) {
                Span where = {0};
                const char *keys = config_keys_said(m, e, &where);
                return config_error(m, where.source ? where : e->span, "%s has no field %s%s",
                                    said_kind_name(v), e->name, keys);
        }
        v.object->looked_into = true;
        SaidField *f = object_find(v.object, e->name);
        if (!f)
                return (Said){0};
        f->seen = true;
        return f->value;
}

static Said index_value_of(Import *m, Locals *local, const Ast *e)
{
        Said v = config_evaluate(m, local, e->kid[0]);
        Said i = e->nkid == 2 && e->kid[1]->kind != AST_RANGE ? config_evaluate(m, local, e->kid[1])
                                                              : (Said){0};
        Span where = {0};
        if (m->failed)
                return (Said){0};
        const char *keys = v.kind == SAID_LIST && i.kind == SAID_NUMBER ? "" : config_keys_said(m, e, &where);
        if (v.kind != SAID_LIST || i.kind != SAID_NUMBER)
                return config_error(m, where.source ? where : e->span,
                                    "a list and a whole number are wanted here, not %s and %s%s",
                                    said_kind_name(v), said_kind_name(i), keys);
        if (i.number >= 0 && i.number < v.list->n)
                return v.list->item[(int)i.number];
        keys = config_keys_said(m, e, &where);
        return config_error(m, where.source ? where : e->span, "a list of %d has no element %g%s", v.list->n,
                            i.number, keys);
}

static Said list_value(Import *m, Locals *local, const Ast *e)
{
        SaidList *list = NEW(m->arena, SaidList);
        *list = (SaidList){e->nkid, NEW_ARRAY(m->arena, Said, e->nkid)};
        for (int i = 0; i < e->nkid; i++)
                list->item[i] = config_evaluate(m, local, e->kid[i]);
        return (Said){.kind = SAID_LIST, .list = list};
}

/* ---- calls ---- */

/* The value of a block: of its first return.  *done: it has returned. */
static Said run_body(Import *m, Locals *local, const Ast *body, bool *done);

static void run_require(Import *m, Locals *local, const Ast *require)
{
        if (truth(m, local, require->kid[0]) || m->failed)
                return;
        const char *text = require->kid[2] ? require->kid[2]->name : "a requirement does not hold";
        for (int i = 0; i < local->n; i++)
                if (local->value[i].kind == SAID_NUMBER || local->value[i].kind == SAID_TEXT ||
                    local->value[i].kind == SAID_BOOL)
                        text = arena_printf(m->arena, "%s; %s is %s", text, local->name[i],
                                            said_shown(m->arena, local->value[i]));
        Span where = {m->root->n ? m->root->field[0].span.source : NULL, 0, 1};
        config_error(m, where, "%s", text);
        diag_note(m->diag, require->span, "required here");
}

static Said run_statement_of(Import *m, Locals *local, const Ast *s, bool *done)
{
        switch ((int)s->kind) {
        case AST_RETURN: *done = true; return config_evaluate(m, local, s->kid[0]);
        case AST_LET:
                local_set(m, local, s->kid[0]->kid[0]->name, config_evaluate(m, local, s->kid[1]));
                return (Said){0};
        case AST_REQUIRE: run_require(m, local, s); return (Said){0};
        case AST_IF: {
                const Ast *branch = truth(m, local, s->kid[0]) ? s->kid[1] : s->kid[2];
                if (!branch || m->failed)
                        return (Said){0};
                return branch->kind == AST_IF ? run_statement_of(m, local, branch, done)
                                              : run_body(m, local, branch, done);
        }
        default:
                return config_error(m, s->span,
                                    "blocks of config items are of if, require, return and name = value");
        }
}

static Said run_body(Import *m, Locals *local, const Ast *body, bool *done)
{
        Said value = {0};
        for (int i = 0; i < body->nkid && !*done && !m->failed; i++)
                value = run_statement_of(m, local, body->kid[i], done);
        return value;
}

/* Gives parameters their values: by name, by position in the first list, or the default. */
static void bind(Import *m, Locals *local, const Ast *list, bool by_position, int n, const char *const *name,
                 const Said *value, bool *used, Span span)
{
        for (int i = 0; i < list->nkid && !m->failed; i++) {
                const Ast *param = list->kid[i];
                int at = -1;
                for (int k = 0; k < n && at < 0; k++)
                        if (!used[k] && name[k] == param->name)
                                at = k;
                for (int k = 0; k < n && at < 0 && by_position; k++)
                        if (!used[k] && !name[k])
                                at = k;
                if (at >= 0)
                        used[at] = true;
                if (at < 0 && !param->kid[1])
                        config_error(m, span, "%s is missing", param->name);
                else
                        local_set(m, local, param->name,
                                  at >= 0 ? value[at] : config_evaluate(m, local, param->kid[1]));
        }
}

Said config_call(Import *m, const Ast *block, int n, const char *const *name, const Said *value, Span span)
{
        Locals local = {0};
        bool *used = NEW_ARRAY(m->arena, bool, n), done = false;
        if (m->depth >= MAX_CALLS)
                return config_error(m, span, "blocks call one another more than %d deep", MAX_CALLS);
        bind(m, &local, block->kid[0]->kid[0], true, n, name, value, used, span);
        bind(m, &local, block->kid[0]->kid[1], false, n, name, value, used, span);
        for (int i = 0; i < n; i++)
                if (!used[i])
                        config_error(m, span, "%s has no parameter for %s", block->name,
                                     name[i] ? name[i] : "so many values");
        m->depth++;
        Said result = {0};
        if (!m->failed)
                result = block->kid[2] ? config_evaluate(m, &local, block->kid[2])
                                       : run_body(m, &local, block->kid[1], &done);
        m->depth--;
        if (!block->kid[2] && !done && !m->failed)
                return config_error(m, span, "%s returns nothing here", block->name);
        return result;
}

static Said called(Import *m, Locals *local, const Ast *e)
{
        int n = e->nkid - 1;
        const char **name = NEW_ARRAY(m->arena, const char *, n);
        Said *value = NEW_ARRAY(m->arena, Said, n);
        const Ast *callee = e->kid[0];
        bool is_name =
                callee->kind == AST_NAME && !local_find(local, callee->name) && !entry_find(m, callee->name);
        const ConfigBuiltin *builtin = is_name ? config_builtin(callee->name) : NULL;
        Said head = {0};
        if (!builtin)
                head = config_evaluate(m, local, callee);
        for (int i = 0; i < n && !m->failed; i++) {
                const Ast *arg = e->kid[i + 1];
                Ast itself = {.kind = AST_NAME,
                              .name = arg->name,
                              .span = arg->span,
                              .name_span = arg->span,
                              .depth = 1};
                name[i] = arg->name;
                value[i] = config_evaluate(m, local, arg->kid[0] ? arg->kid[0] : &itself);
        }
        if (m->failed)
                return (Said){0};
        if (builtin)
                return config_builtin_call(m, builtin, n, name, value, e->span);
        if (head.kind == SAID_BLOCK)
                return config_call(m, head.block, n, name, value, e->span);
        if (head.kind != SAID_CALL || head.call->n)
                return config_error(m, e->span, "%s can't be called", said_kind_name(head));
        SaidCall *call = NEW(m->arena, SaidCall);
        *call = (SaidCall){head.call->head, n, name, value};
        return (Said){.kind = SAID_CALL, .call = call};
}

Said config_evaluate(Import *m, Locals *local, const Ast *e)
{
        if (m->failed)
                return (Said){0};
        if (m->work++ > MAX_CONFIG_WORK)
                return config_error(m, e->span, "this takes more than %d steps", MAX_CONFIG_WORK);
        switch ((int)e->kind) {
        case AST_NUMBER: return said_number(e->number, e->is_int);
        case AST_STRING: return said_text(e->name);
        case AST_TRUE: return said_bool(true);
        case AST_FALSE: return said_bool(false);
        case AST_NONE: return (Said){0};
        case AST_NAME: return name_value(m, local, e);
        case AST_LIST: return list_value(m, local, e);
        case AST_COND: return config_evaluate(m, local, truth(m, local, e->kid[0]) ? e->kid[1] : e->kid[2]);
        case AST_OR: return said_bool(truth(m, local, e->kid[0]) || truth(m, local, e->kid[1]));
        case AST_AND: return said_bool(truth(m, local, e->kid[0]) && truth(m, local, e->kid[1]));
        case AST_NOT: return said_bool(!truth(m, local, e->kid[0]));
        case AST_NEG: return negated(m, local, e);
        case AST_FIELD: return field_of(m, local, e);
        case AST_INDEX: return index_value_of(m, local, e);
        case AST_CALL: return called(m, local, e);
        case AST_EQ:
        case AST_NE:
        case AST_LT:
        case AST_GT:
        case AST_LE:
        case AST_GE:
        case AST_ADD:
        case AST_SUB:
        case AST_MUL:
        case AST_DIV:
        case AST_FLOORDIV:
        case AST_MOD:
        case AST_POW: return binary(m, local, e);
        default: return config_error(m, e->span, "a config item has no '%s'", ast_kind_name(e->kind));
        }
}
