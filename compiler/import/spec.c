/* Prints the result of an item as a model file, in the form that a person would write.
 *
 * Values are converted to expressions of the syntax tree and printed by its printer, so that text and
 * meaning agree.  Numbers and bools share lines, other values have separate lines.  Values that the family
 * implies are omitted if the item says so (imply), and so are arguments that equal their defaults. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "import_private.h"

enum { WIDTH = 110, LONG_LIST = 16 };

/* ---- values to expressions ---- */

static Ast *tree_of(Import *m, ConfigValue v);

static Ast *spec_word(Import *m, AstKind kind, const char *name)
{
        Ast *e = ast_new(m->arena, kind, (Span){0}, 0);
        e->name = name;
        return e;
}

static Ast *spec_number(Import *m, double x)
{
        if (isnan(x))
                config_error(m, m->item->name_span, "NaN can't be printed as a setting");
        if (isinf(x) || x < 0) {
                Ast *e = x < 0 ? ast_new(m->arena, AST_NEG, (Span){0}, 0) : spec_word(m, AST_NAME, "inf");
                if (x < 0)
                        ast_append(m->arena, e, spec_number(m, -x));
                return e;
        }
        Ast *e = spec_word(m, AST_NUMBER, shortest_number(m->arena, x));
        e->number = x;
        e->is_int = strcspn(e->name, ".eE") == strlen(e->name);
        return e;
}

static const Ast *param_default(const Ast *params, const char *name)
{
        for (int i = 0; i < 2; i++)
                for (int k = 0; k < params->kid[i]->nkid; k++)
                        if (params->kid[i]->kid[k]->name == name)
                                return params->kid[i]->kid[k]->kid[1];
        return NULL;
}

/* Whether a name of the library's scope is in the expression, such as another parameter. */
static bool reads_names(const Ast *e)
{
        if (!e || e->kind == AST_NAME)
                return e != NULL;
        for (int i = 0; i < e->nkid; i++)
                if (reads_names(e->kid[i]))
                        return true;
        return false;
}

/* Whether an argument equals its default in the library.  A default that reads other names is none: here they would be those
 * of the item. */
static bool is_default_value(Import *m, const Ast *definition, const char *name, ConfigValue v)
{
        const Ast *own =
                name && definition && (definition->kind == AST_BLOCK || definition->kind == AST_SCHEME)
                        ? param_default(definition->kid[0], name)
                        : NULL;
        if (!own || !ast_is_expression(own->kind) || reads_names(own))
                return false;
        Diag *diag = m->diag;
        m->diag = NULL;
        Locals none = {0};
        ConfigValue value = config_evaluate(m, &none, own);
        bool same = !m->failed && config_same(value, v);
        m->failed = false;
        m->diag = diag;
        return same;
}

static Ast *call_tree(Import *m, const ConfigTerm *call)
{
        const Ast *definition = library_definition(m, call->head);
        Ast *e = ast_new(m->arena, AST_CALL, (Span){0}, 1);
        e->kid[0] = spec_word(m, AST_NAME, call->head);
        for (int i = 0; i < call->n; i++) {
                if (is_default_value(m, definition, call->name[i], call->value[i]))
                        continue;
                Ast *arg = ast_new(m->arena, AST_ARG, (Span){0}, 1);
                arg->name = call->name[i];
                arg->kid[0] = tree_of(m, call->value[i]);
                ast_append(m->arena, e, arg);
        }
        return e->nkid == 1 ? e->kid[0] : e;
}

static Ast *tree_of(Import *m, ConfigValue v)
{
        switch (v.kind) {
        case CONFIG_NONE: return spec_word(m, AST_NONE, NULL);
        case CONFIG_BOOL: return spec_word(m, v.number != 0 ? AST_TRUE : AST_FALSE, NULL);
        case CONFIG_NUMBER: return spec_number(m, v.number);
        case CONFIG_TEXT: return spec_word(m, AST_STRING, v.text);
        case CONFIG_CALL: return call_tree(m, v.call);
        case CONFIG_LIST: {
                Ast *list = ast_new(m->arena, AST_LIST, (Span){0}, 0);
                for (int i = 0; i < v.list->n; i++)
                        ast_append(m->arena, list, tree_of(m, v.list->item[i]));
                return list;
        }
        case CONFIG_OBJECT:
        case CONFIG_BLOCK: break;
        }
        config_error(m, m->item->name_span, "%s can't be printed as a setting", config_kind_name(v));
        return spec_word(m, AST_NONE, NULL);
}

/* ---- do the settings fit? ---- */

static bool kind_fits(ConfigValue v, const char *type)
{
        if (!strcmp(type, "int"))
                return v.kind == CONFIG_NUMBER && isfinite(v.number) && v.number == floor(v.number);
        if (!strcmp(type, "real"))
                return v.kind == CONFIG_NUMBER && !isnan(v.number);
        return strcmp(type, "bool") != 0 || v.kind == CONFIG_BOOL;
}

static void check_setting(Import *m, Definition *family, const StatedSetting *s)
{
        const Ast *declared = family_declares(m, family, s->name, false);
        const Ast *type = declared && declared->kind == AST_DECL ? declared->kid[1] : NULL;
        if (!type || type->kind != AST_NAME || s->given || kind_fits(s->value, type->name))
                return;
        Span where = {0};
        const char *keys = config_keys_said(m, s->ast, &where);
        if (!where.source && m->root->n)
                where = (Span){m->root->field[0].span.source, 0, 1};
        const char *wanted = !strcmp(type->name, "int")    ? "a whole number"
                             : !strcmp(type->name, "real") ? "a number"
                                                           : "true or false";
        config_error(m, where, "%s: expected %s, not %s%s", s->name, wanted, config_kind_name(s->value),
                     keys);
}

bool spec_complete(Import *m)
{
        Definition *family = family_find(m, m->family->name);
        if (!family)
                config_error(m, m->family->span, "unknown family %s: the library does not have it",
                             m->family->name);
        for (int i = 0; i < m->nsetting && !m->failed; i++)
                check_setting(m, family, &m->setting[i]);
        return !m->failed;
}

/* ---- lines ---- */

const char *spec_tree_text(Arena *arena, const Ast *tree)
{
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);
        if (!f)
                arena_fail(arena);
        ast_print(tree, f);
        fclose(f);
        while (n && text[n - 1] == '\n')
                n--;
        const char *kept = arena_strndup(arena, text, (int64_t)n);
        free(text);
        return kept;
}

static bool has_long_list(const Ast *e)
{
        if (e->kind == AST_LIST && e->nkid > LONG_LIST)
                return true;
        for (int i = 0; i < e->nkid; i++)
                if (e->kid[i] && has_long_list(e->kid[i]))
                        return true;
        return false;
}

/* Breaks a line after commas. */
static void add_folded(Text *t, const char *line)
{
        int column = 4;
        bool in_string = false;
        text_printf(t, "    ");
        for (const char *c = line; *c; c++, column++) {
                in_string ^= *c == '"' && (c == line || c[-1] != '\\');
                text_add(t, c, 1);
                size_t next = strcspn(c + 1, ",") + 2;
                if (*c != ',' || in_string || column + (int)next < WIDTH)
                        continue;
                text_printf(t, "\n        ");
                column = 8;
                c += c[1] == ' ';
        }
        text_printf(t, "\n");
}

Ast *spec_let(Import *m, const char *name, Ast *value)
{
        Ast *let = ast_new(m->arena, AST_LET, (Span){0}, 2);
        let->kid[0] = ast_new(m->arena, AST_NAMES, (Span){0}, 0);
        ast_append(m->arena, let->kid[0], spec_word(m, AST_NAME, name));
        let->kid[1] = value;
        return let;
}

static Ast *setting_tree(Import *m, const StatedSetting *s)
{
        Ast *value = s->given ? (Ast *)s->given : tree_of(m, s->value);
        if (s->declares && !s->given)
                return spec_let(m, s->name, value);
        bool checkpoint = !strcmp(s->name, "checkpoint");
        Ast *tree = ast_new(m->arena, checkpoint ? AST_CHECKPOINT_USE : AST_SETTING, (Span){0}, 1);
        tree->name = checkpoint ? NULL : s->name;
        tree->kid[0] = value;
        return tree;
}

/* Numbers and bools share a line. */
static bool is_small(const Ast *tree)
{
        const Ast *value = tree->kind == AST_SETTING ? tree->kid[0] : NULL;
        if (value && value->kind == AST_NEG)
                value = value->kid[0];
        return value && (value->kind == AST_NUMBER || value->kind == AST_TRUE || value->kind == AST_FALSE);
}

static void spec_settings(Import *m, Text *t, Ast *const *tree, int n)
{
        int column = 0;
        for (int i = 0; i < n; i++) {
                if (!is_small(tree[i]))
                        continue;
                const char *text = spec_tree_text(m->arena, tree[i]);
                int width = (int)strlen(text);
                bool fresh = column == 0 || column + width + 2 > WIDTH;
                if (fresh && column)
                        text_printf(t, "\n");
                text_printf(t, fresh ? "    %s" : "  %s", text);
                column = fresh ? 4 + width : column + 2 + width;
        }
        if (column)
                text_printf(t, "\n");
        for (int i = 0; i < n; i++) {
                if (is_small(tree[i]))
                        continue;
                const char *text = spec_tree_text(m->arena, tree[i]);
                if (has_long_list(tree[i]->kid[tree[i]->nkid - 1]))
                        add_folded(t, text);
                else
                        text_printf(t, "    %s\n", text);
        }
}

/* ---- the comment ---- */

/* Prints a comment, with line breaks between words. */
static void spec_comment(Text *t, const char *text)
{
        int column = 1;
        text_printf(t, "#");
        while (*text) {
                int n = (int)strcspn(text, " ");
                if (column > 1 && column + 1 + n > WIDTH) {
                        text_printf(t, "\n#");
                        column = 1;
                }
                text_printf(t, " ");
                for (int i = 0; i < n; i++)
                        text_printf(t, "%c", iscntrl((unsigned char)text[i]) ? '?' : text[i]);
                column += 1 + n;
                text += n + (text[n] == ' ');
        }
        text_printf(t, "\n");
}

static const char *paths_joined(Arena *arena, const Paths *paths)
{
        const char *text = "";
        for (int i = 0; i < paths->n; i++)
                text = arena_printf(arena, "%s%s%s", text, i ? ", " : "", paths->path[i]);
        return text;
}

/* Omitted parts that are in the file. */
static Paths parts_left_out(Import *m)
{
        Paths there = {0};
        for (int i = 0; i < m->omitted.n; i++) {
                const char *key = intern(m->program->names, m->omitted.path[i], -1);
                const ConfigField *f = object_find(m->root, key);
                f = f ? f : object_find(m->inner, key);
                if (f && f->value.kind != CONFIG_NONE && !paths_have(&there, key))
                        paths_add(m->arena, &there, key);
        }
        return there;
}

/* Keys of settings that are not in the file, with their defaults. */
static Paths keys_by_default(Import *m)
{
        Paths keys = {0};
        KeysSaid found = {.n = 0};
        for (int i = 0; i < m->nsetting; i++)
                if (!m->setting[i].given)
                        find_keys(m, m->setting[i].ast, &found);
        for (int i = 0; i < found.n; i++) {
                const ImportEntry *entry = entry_find(m, found.name[i]);
                if (entry->defaulted && entry->counted && entry->value.kind != CONFIG_NONE)
                        paths_add(m->arena, &keys,
                                  arena_printf(m->arena, "%s %s", entry->ast->name,
                                               config_shown(m->arena, entry->value)));
        }
        return keys;
}

static void add_comments(Import *m, Text *t, Definition *family, const char *source, const Paths *forced)
{
        Paths omitted = parts_left_out(m), defaults = keys_by_default(m),
              not_done = generation_not_done(m, family);
        spec_comment(t, arena_printf(m->arena, "From %s by config %s (%s), %s.", source, m->item->name,
                                     m->file->source->path, m->architecture));
        if (omitted.n)
                spec_comment(t, arena_printf(m->arena, "Left out: %s.", paths_joined(m->arena, &omitted)));
        if (defaults.n)
                spec_comment(t, arena_printf(m->arena, "Defaults, since the file lacks them: %s.",
                                             paths_joined(m->arena, &defaults)));
        if (not_done.n)
                spec_comment(t, arena_printf(m->arena, "Requested of generation, but not supported: %s.",
                                             paths_joined(m->arena, &not_done)));
        if (m->conversation_note)
                spec_comment(t, m->conversation_note);
        if (m->context_note)
                spec_comment(t, m->context_note);
        if (forced->n)
                spec_comment(t, arena_printf(m->arena, "Ignored, because of --force: %s.",
                                             paths_joined(m->arena, forced)));
}

/* `import NAME`: the module of a definition; a user's file by its path. */
static void spec_import(Import *m, Text *t, const File *file)
{
        Ast *import = spec_word(m, AST_IMPORT, NULL);
        if (file->library || strncmp(file->source->path, "lib/", 4) == 0)
                import->name = file->name;
        else
                ast_append(m->arena, import, spec_word(m, AST_STRING, file->source->path));
        text_printf(t, "%s\n", spec_tree_text(m->arena, import));
}

/* Imports the module of a checkpoint that the family's module does not import. */
static void import_checkpoint(Import *m, Text *t, const Definition *family)
{
        const char *key = intern(m->program->names, "checkpoint", -1);
        for (int i = 0; i < m->nsetting; i++) {
                const StatedSetting *s = &m->setting[i];
                if (s->name != key || s->value.kind != CONFIG_CALL)
                        continue;
                const char *name = intern(m->program->names, s->value.call->head, -1);
                const Definition *d = file_find(m->file, name);
                if (d && !file_find(family->file, name) && !library_find(m->program, name))
                        spec_import(m, t, d->file);
        }
}

/* Loops of the item; settings with the value none are omitted.  A `loop generate` without settings is printed
 * by generation_print. */
static void spec_loops(Import *m, Definition *family, Text *t)
{
        for (int i = 0; i < m->nloop; i++) {
                const StatedLoop *l = &m->loop[i];
                if (l->is_none) {
                        if (family_has_loop(m, family, l->name))
                                text_printf(t, "    loop %s none\n", l->name);
                        continue;
                }
                if (!strcmp(l->name, "generate") && !l->nsetting)
                        continue;
                text_printf(t, "    loop %s {", l->name);
                for (int k = 0; k < l->nsetting; k++)
                        if (l->setting[k].value.kind != CONFIG_NONE)
                                text_printf(t, "%s%s", k ? "  " : " ",
                                            spec_tree_text(m->arena, setting_tree(m, &l->setting[k])));
                text_printf(t, " }\n");
        }
}

const char *spec_print(Import *m, const char *name, const char *source, const Paths *forced)
{
        Definition *family = family_find(m, m->family->name);
        Text *t = text_new(m->arena);
        sentence_checkpoint(m, family, name);
        Ast **tree = NEW_ARRAY(m->arena, Ast *, m->nsetting);
        int n = 0;
        for (int i = 0; i < m->nsetting; i++)
                if (m->setting[i].given || !paths_have(&m->implied, m->setting[i].name) ||
                    !family_gives(m, family, &m->setting[i]))
                        tree[n++] = setting_tree(m, &m->setting[i]);
        add_comments(m, t, family, source, forced);
        spec_import(m, t, family->file);
        import_checkpoint(m, t, family);
        sentence_print_head(m, name, t);
        text_printf(t, "\nmodel %s : %s {\n", name, m->family->name);
        Ast **named;
        int names = spec_name_calls(m, tree, n, &named);
        spec_settings(m, t, named, names);
        spec_settings(m, t, tree, n);
        sentence_print_block(m, t);
        spec_loops(m, family, t);
        generation_print(m, family, t);
        text_printf(t, "}\n");
        return m->failed ? NULL : t->data;
}
