/* Evaluates the expressions of config items.
 *
 * They are expressions of the language on other values: those of a JSON file, and calls of the library, which
 * are not evaluated but printed.  A missing field of an object is none.  Blocks of items are evaluated; all
 * other blocks and schemes are calls of the library.  The first error is reported, and values that depend on
 * it are none. */
#include <math.h>
#include <stdarg.h>

#include "import_private.h"

enum { MAX_CONFIG_WORK = 10000000 };

ConfigValue config_error(Import *m, Span span, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (!m->failed)
                diag_error(m->diag, span, "%s", arena_vprintf(m->arena, format, args));
        va_end(args);
        m->failed = true;
        return (ConfigValue){0};
}

/* ---- names ---- */

static ConfigValue *local_find(const Locals *local, const char *name)
{
        for (int i = local ? local->n - 1 : -1; i >= 0; i--)
                if (local->name[i] == name)
                        return &local->value[i];
        return NULL;
}

void local_set(Import *m, Locals *local, const char *name, ConfigValue value)
{
        ConfigValue *old = local_find(local, name);
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

static ConfigValue no_name(Import *m, const Ast *e)
{
        const char *name[512];
        int n = 0;
        for (; n < m->nentry && n < 512; n++)
                name[n] = m->entry[n].name;
        const char *near = nearest_name(e->name, name, n);
        return config_error(m, e->span, "unknown name %s%s%s%s", e->name, near ? "; did you mean " : "",
                            near ? near : "", near ? "?" : "");
}

static ConfigValue entry_value(Import *m, ImportEntry *entry, Span span);

/* none: there is no such token */
static ConfigValue token_of_score(bool is_scored, int64_t token)
{
        return is_scored && token >= 0 ? config_number((double)token, true) : (ConfigValue){0};
}

static ConfigValue config_name(Import *m, Locals *local, const Ast *e)
{
        const ConfigValue *here = local_find(local, e->name);
        if (here)
                return *here;
        ImportEntry *entry = entry_find(m, e->name);
        if (entry)
                return entry_value(m, entry, e->span);
        if (!strcmp(e->name, "architecture"))
                return config_text(m->architecture);
        if (!strcmp(e->name, "embedder"))
                return config_bool(m->sentence.is_there);
        if (!strcmp(e->name, "text_limit"))
                return m->sentence.limit ? config_number((double)m->sentence.limit, true) : (ConfigValue){0};
        if (!strcmp(e->name, "pads_left"))
                return config_bool(pads_left(m));
        if (!strcmp(e->name, "cross_encoder"))
                return m->sentence.activation ? config_text(m->sentence.activation) : (ConfigValue){0};
        if (!strcmp(e->name, "yes_token"))
                return token_of_score(m->sentence.is_scored, m->sentence.yes);
        if (!strcmp(e->name, "no_token"))
                return token_of_score(m->sentence.is_scored, m->sentence.no);
        if (!strcmp(e->name, "pi"))
                return config_number(3.14159265358979323846, false);
        if (!strcmp(e->name, "inf"))
                return config_number(INFINITY, false);
        if (!library_has(m, e->name))
                return no_name(m, e);
        ConfigTerm *call = NEW(m->arena, ConfigTerm);
        call->head = e->name;
        return (ConfigValue){.kind = CONFIG_CALL, .call = call};
}

/* ---- keys ---- */

static bool type_fits(ConfigValue v, const char *type)
{
        if (!strcmp(type, "int"))
                return v.kind == CONFIG_NUMBER && isfinite(v.number) && v.number == floor(v.number);
        if (!strcmp(type, "real"))
                return v.kind == CONFIG_NUMBER && !isnan(v.number);
        if (!strcmp(type, "bool"))
                return v.kind == CONFIG_BOOL;
        if (!strcmp(type, "text"))
                return v.kind == CONFIG_TEXT;
        return v.kind == (!strcmp(type, "list") ? CONFIG_LIST : CONFIG_OBJECT);
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

static ConfigField *key_in_file(const Import *m, const char *key)
{
        ConfigField *f = object_find(m->inner, key);
        if (!f && m->root != m->inner)
                f = object_find(m->root, key);
        return f ? f : object_find(m->beside, key);
}

/* Whether a key's value has its type, or the kind of its default: a number, if that is 64.  none always
 * fits. */
static bool key_fits(Import *m, const Ast *key, const ConfigField *f)
{
        const Ast *type = key->kid[1], *otherwise = key->kid[2];
        const char *wanted = type ? type->name : NULL;
        if (f->value.kind == CONFIG_NONE)
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
        config_error(m, f->span, "%s is %s; expected %s", key->name, config_shown(m->arena, f->value),
                     type_said(wanted));
        return false;
}

/* The value, which keeps where it was read. */
static ConfigValue value_as_read(const ConfigField *f)
{
        ConfigValue v = f->value;
        v.from = f;
        return v;
}

static ConfigValue key_value(Import *m, ImportEntry *entry)
{
        const Ast *key = entry->ast;
        ConfigField *f = key_in_file(m, key->name);
        if (f) {
                f->seen = true;
                return key_fits(m, key, f) ? value_as_read(f) : (ConfigValue){0};
        }
        if (key->kid[2]) {
                entry->defaulted = true;
                return config_evaluate(m, NULL, key->kid[2]);
        }
        Span start = {m->root->n ? m->root->field[0].span.source : NULL, 0, 1};
        return config_error(m, start, "%s is missing: config %s has no default for it", key->name,
                            m->item->name);
}

static ConfigValue entry_value(Import *m, ImportEntry *entry, Span span)
{
        if ((entry->evaluated && (entry->counted || m->passed_over)) || m->failed)
                return entry->value;
        if (entry->kind == OF_BLOCK)
                return (ConfigValue){.kind = CONFIG_BLOCK, .block = entry->ast};
        if (entry->evaluating)
                return config_error(m, span, "the value of %s depends on itself", entry->name);
        entry->evaluating = true;
        entry->value = entry->kind == OF_KEY ? key_value(m, entry) : config_evaluate(m, NULL, entry->ast);
        entry->evaluating = false;
        entry->evaluated = true;
        entry->counted = !m->passed_over;
        return entry->value;
}

/* ---- keys in messages ---- */

void find_keys(Import *m, const Ast *e, KeysSaid *keys)
{
        if (!e)
                return;
        ImportEntry *entry = e->kind == AST_NAME ? entry_find(m, e->name) : NULL;
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
                ImportEntry *entry = entry_find(m, keys.name[i]);
                const ConfigField *f = key_in_file(m, entry->ast->name);
                if (f && !where->source && !object_find(m->beside, f->key))
                        *where = f->span;
                text = arena_printf(m->arena, "%s; %s is %s", text, keys.name[i],
                                    config_shown(m->arena, entry_value(m, entry, e->span)));
        }
        return text;
}

/* ---- operators ---- */

bool config_truth(Import *m, Locals *local, const Ast *e)
{
        ConfigValue v = config_evaluate(m, local, e);
        if (v.kind != CONFIG_BOOL && !m->failed) {
                Span where = {0};
                const char *keys = config_keys_said(m, e, &where);
                config_error(m, where.source ? where : e->span, "expected true or false, not %s%s",
                             config_kind_name(v), keys);
        }
        return v.kind == CONFIG_BOOL && v.number != 0;
}

static ConfigValue arithmetic(AstKind op, ConfigValue a, ConfigValue b)
{
        double x = a.number, y = b.number;
        bool both = a.is_int && b.is_int;
        switch ((int)op) {
        case AST_ADD: return config_number(x + y, both);
        case AST_SUB: return config_number(x - y, both);
        case AST_MUL: return config_number(x * y, both);
        case AST_DIV: return config_number(x / y, both && y != 0 && fmod(x, y) == 0);
        case AST_FLOORDIV: return config_number(floor(x / y), both && y != 0);
        case AST_MOD: return config_number(x - y * floor(x / y), both && y != 0);
        case AST_POW: return config_number(real_pow(x, y), both && y >= 0);
        case AST_LT: return config_bool(x < y);
        case AST_GT: return config_bool(x > y);
        case AST_LE: return config_bool(x <= y);
        case AST_GE: return config_bool(x >= y);
        default: return (ConfigValue){0};
        }
}

static ConfigValue config_binary(Import *m, Locals *local, const Ast *e)
{
        ConfigValue a = config_evaluate(m, local, e->kid[0]), b = config_evaluate(m, local, e->kid[1]);
        if (m->failed)
                return (ConfigValue){0};
        if (e->kind == AST_EQ)
                return config_bool(config_same(a, b));
        if (e->kind == AST_NE)
                return config_bool(!config_same(a, b));
        Span where = e->span;
        if (a.kind == CONFIG_NUMBER && b.kind == CONFIG_NUMBER) {
                ConfigValue result = arithmetic(e->kind, a, b);
                if (result.kind != CONFIG_NUMBER || isfinite(result.number))
                        return result;
                return config_error(m, where, "this is not a finite number%s",
                                    config_keys_said(m, e, &(Span){0}));
        }
        Span key = {0};
        const char *keys = config_keys_said(m, e, &key);
        return config_error(m, key.source ? key : where, "'%s' needs two numbers, not %s and %s%s",
                            ast_kind_name(e->kind), config_kind_name(a), config_kind_name(b), keys);
}

static ConfigValue negated(Import *m, Locals *local, const Ast *e)
{
        ConfigValue v = config_evaluate(m, local, e->kid[0]);
        if (v.kind == CONFIG_NUMBER)
                return config_number(-v.number, v.is_int);
        return config_error(m, e->span, "'-' needs a number, not %s", config_kind_name(v));
}

/* The value of a field; none if the object lacks it. */
static ConfigValue seen_field(ConfigObject *object, ConfigField *f)
{
        object->looked_into = true;
        if (!f)
                return (ConfigValue){0};
        f->seen = true;
        return value_as_read(f);
}

/* The field "5", "05", .. of an object. */
static ConfigField *numbered_field(const ConfigObject *object, double number)
{
        for (int i = 0; i < object->n; i++) {
                const char *key = object->field[i].key;
                if (key[0] && strspn(key, "0123456789") == strlen(key) && strtod(key, NULL) == number)
                        return &object->field[i];
        }
        return NULL;
}

static ConfigValue field_of(Import *m, Locals *local, const Ast *e)
{
        ConfigValue v = config_evaluate(m, local, e->kid[0]);
        if (v.kind == CONFIG_NONE)
                return (ConfigValue){0};
        if (v.kind != CONFIG_OBJECT) {
                Span where = {0};
                const char *keys = config_keys_said(m, e, &where);
                return config_error(m, where.source ? where : e->span, "%s has no field %s%s",
                                    config_kind_name(v), e->name, keys);
        }
        return seen_field(v.object, object_find(v.object, e->name));
}

/* An item of a list, or the field of an object whose key is a number. */
static ConfigValue config_index(Import *m, Locals *local, const Ast *e)
{
        ConfigValue v = config_evaluate(m, local, e->kid[0]);
        ConfigValue i = e->nkid == 2 && e->kid[1]->kind != AST_RANGE ? config_evaluate(m, local, e->kid[1])
                                                                     : (ConfigValue){0};
        Span where = {0};
        if (m->failed)
                return (ConfigValue){0};
        if (v.kind == CONFIG_OBJECT && i.kind == CONFIG_NUMBER && i.is_int)
                return seen_field(v.object, numbered_field(v.object, i.number));
        const char *keys =
                v.kind == CONFIG_LIST && i.kind == CONFIG_NUMBER ? "" : config_keys_said(m, e, &where);
        if (v.kind != CONFIG_LIST || i.kind != CONFIG_NUMBER)
                return config_error(m, where.source ? where : e->span,
                                    "expected a list and a whole number, not %s and %s%s",
                                    config_kind_name(v), config_kind_name(i), keys);
        if (i.number == floor(i.number) && i.number >= 0 && i.number < v.list->n)
                return v.list->item[(int)i.number];
        keys = config_keys_said(m, e, &where);
        return config_error(m, where.source ? where : e->span, "a list of %d has no element %g%s", v.list->n,
                            i.number, keys);
}

static ConfigValue list_value(Import *m, Locals *local, const Ast *e)
{
        ConfigList *list = NEW(m->arena, ConfigList);
        *list = (ConfigList){e->nkid, NEW_ARRAY(m->arena, ConfigValue, e->nkid)};
        for (int i = 0; i < e->nkid; i++)
                list->item[i] = config_evaluate(m, local, e->kid[i]);
        return (ConfigValue){.kind = CONFIG_LIST, .list = list};
}

/* ---- calls ---- */

/* The value of a block's first return.  *done: it has returned. */
static ConfigValue config_body(Import *m, Locals *local, const Ast *body, bool *done);

static void config_require(Import *m, Locals *local, const Ast *require)
{
        if (config_truth(m, local, require->kid[0]) || m->failed)
                return;
        const char *text = require->kid[2] ? require->kid[2]->name : "a requirement does not hold";
        const ConfigField *first = NULL;
        for (int i = 0; i < local->n; i++) {
                const ConfigValue v = local->value[i];
                if (v.kind != CONFIG_NUMBER && v.kind != CONFIG_TEXT && v.kind != CONFIG_BOOL)
                        continue;
                first = first ? first : v.from;
                text = arena_printf(m->arena, "%s; %s is %s", text, v.from ? v.from->key : local->name[i],
                                    config_shown(m->arena, v));
        }
        const Span start = {m->root->n ? m->root->field[0].span.source : NULL, 0, 1},
                   where = first && first->span.source ? first->span : start;
        config_error(m, where, "%s", text);
        diag_note(m->diag, require->span, "required here");
}

static ConfigValue run_statement_of(Import *m, Locals *local, const Ast *s, bool *done)
{
        switch ((int)s->kind) {
        case AST_RETURN: *done = true; return config_evaluate(m, local, s->kid[0]);
        case AST_LET:
                local_set(m, local, s->kid[0]->kid[0]->name, config_evaluate(m, local, s->kid[1]));
                return (ConfigValue){0};
        case AST_REQUIRE: config_require(m, local, s); return (ConfigValue){0};
        case AST_IF: {
                const Ast *branch = config_truth(m, local, s->kid[0]) ? s->kid[1] : s->kid[2];
                if (!branch || m->failed)
                        return (ConfigValue){0};
                return branch->kind == AST_IF ? run_statement_of(m, local, branch, done)
                                              : config_body(m, local, branch, done);
        }
        default:
                return config_error(m, s->span,
                                    "blocks of config items consist of if, require, return and name = value");
        }
}

static ConfigValue config_body(Import *m, Locals *local, const Ast *body, bool *done)
{
        ConfigValue value = {0};
        for (int i = 0; i < body->nkid && !*done && !m->failed; i++)
                value = run_statement_of(m, local, body->kid[i], done);
        return value;
}

/* Binds parameters: by name, by position in the first list, or to the default. */
static void bind(Import *m, Locals *local, const Ast *list, bool by_position, int n, const char *const *name,
                 const ConfigValue *value, bool *used, Span span)
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

ConfigValue config_call(Import *m, const Ast *block, int n, const char *const *name, const ConfigValue *value,
                        Span span)
{
        Locals local = {0};
        bool *used = NEW_ARRAY(m->arena, bool, n), done = false;
        if (m->depth >= MAX_CALLS)
                return config_error(m, span, "calls of blocks are nested more than %d deep", MAX_CALLS);
        bind(m, &local, block->kid[0]->kid[0], true, n, name, value, used, span);
        bind(m, &local, block->kid[0]->kid[1], false, n, name, value, used, span);
        for (int i = 0; i < n; i++)
                if (!used[i])
                        config_error(m, span, "%s has no parameter for %s", block->name,
                                     name[i] ? name[i] : "so many values");
        m->depth++;
        ConfigValue result = {0};
        if (!m->failed)
                result = block->kid[2] ? config_evaluate(m, &local, block->kid[2])
                                       : config_body(m, &local, block->kid[1], &done);
        m->depth--;
        if (!block->kid[2] && !done && !m->failed)
                return config_error(m, span, "%s returns nothing here", block->name);
        return result;
}

static ConfigValue config_apply(Import *m, Locals *local, const Ast *e)
{
        int n = e->nkid - 1;
        const char **name = NEW_ARRAY(m->arena, const char *, n);
        ConfigValue *value = NEW_ARRAY(m->arena, ConfigValue, n);
        const Ast *callee = e->kid[0];
        bool is_name =
                callee->kind == AST_NAME && !local_find(local, callee->name) && !entry_find(m, callee->name);
        const ConfigBuiltin *builtin = is_name ? config_builtin(callee->name) : NULL;
        ConfigValue head = {0};
        if (!builtin)
                head = config_evaluate(m, local, callee);
        const bool given = builtin && !strcmp(callee->name, "given");
        bool taken = false;
        for (int i = 0; i < n && !m->failed; i++) {
                const Ast *arg = e->kid[i + 1];
                Ast itself = {.kind = AST_NAME,
                              .name = arg->name,
                              .span = arg->span,
                              .name_span = arg->span,
                              .depth = 1};
                name[i] = arg->name;
                /* also evaluated, so that its fields count as read, and errors are found */
                m->passed_over += taken;
                value[i] = config_evaluate(m, local, arg->kid[0] ? arg->kid[0] : &itself);
                m->passed_over -= taken;
                taken |= given && value[i].kind != CONFIG_NONE;
        }
        if (m->failed)
                return (ConfigValue){0};
        if (builtin)
                return config_builtin_call(m, builtin, n, name, value, e->span);
        if (head.kind == CONFIG_BLOCK)
                return config_call(m, head.block, n, name, value, e->span);
        if (head.kind != CONFIG_CALL || head.call->n)
                return config_error(m, e->span, "%s can't be called", config_kind_name(head));
        for (int i = 0; i < n; i++)
                if (value[i].kind == CONFIG_NONE)
                        return config_error(m, e->kid[i + 1]->span,
                                            "%s needs a value here, but the configuration gives none",
                                            head.call->head);
        ConfigTerm *call = NEW(m->arena, ConfigTerm);
        *call = (ConfigTerm){head.call->head, n, name, value};
        return (ConfigValue){.kind = CONFIG_CALL, .call = call};
}

ConfigValue config_evaluate(Import *m, Locals *local, const Ast *e)
{
        if (m->failed)
                return (ConfigValue){0};
        if (m->work++ > MAX_CONFIG_WORK)
                return config_error(m, e->span, "this takes more than %d steps", MAX_CONFIG_WORK);
        switch ((int)e->kind) {
        case AST_NUMBER: return config_number(e->number, e->is_int);
        case AST_STRING: return config_text(e->name);
        case AST_TRUE: return config_bool(true);
        case AST_FALSE: return config_bool(false);
        case AST_NONE: return (ConfigValue){0};
        case AST_NAME: return config_name(m, local, e);
        case AST_LIST: return list_value(m, local, e);
        case AST_COND:
                return config_evaluate(m, local, config_truth(m, local, e->kid[0]) ? e->kid[1] : e->kid[2]);
        case AST_OR:
                return config_bool(config_truth(m, local, e->kid[0]) || config_truth(m, local, e->kid[1]));
        case AST_AND:
                return config_bool(config_truth(m, local, e->kid[0]) && config_truth(m, local, e->kid[1]));
        case AST_NOT: return config_bool(!config_truth(m, local, e->kid[0]));
        case AST_NEG: return negated(m, local, e);
        case AST_FIELD: return field_of(m, local, e);
        case AST_INDEX: return config_index(m, local, e);
        case AST_CALL: return config_apply(m, local, e);
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
        case AST_POW: return config_binary(m, local, e);
        default: return config_error(m, e->span, "a config item has no '%s'", ast_kind_name(e->kind));
        }
}
