/* A session's definitions: the main file of a program, to which typed and loaded definitions are added.
 *
 * A definition replaces an earlier one of the same name.  Imported files are modules as elsewhere; they are
 * read again when a file is loaded. */
#include "repl_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool repl_error(const char *format, ...)
{
        va_list args;
        va_start(args, format);
        fprintf(stderr, "lathe: error: ");
        vfprintf(stderr, format, args);
        fprintf(stderr, "\n");
        va_end(args);
        return false;
}

/* --- units ------------------------------------------------------------------------------------------------------ */

Unit *unit_new(void)
{
        Unit *u = calloc(1, sizeof *u);
        if (u)
                u->refs = 1;
        return u;
}

void unit_hold(Unit *u)
{
        u->refs++;
}

void unit_drop(Unit *u)
{
        if (!u || --u->refs > 0)
                return;
        arena_free(&u->arena);
        free(u);
}

/* --- the program ------------------------------------------------------------------------------------------------- */

static void list_items(ReplSession *s)
{
        Ast *tree = ast_new(s->files, AST_FILE, (Span){s->program->main->source, 0, 0}, 0);
        tree->nkid = s->nitem;
        tree->kid = NEW_ARRAY(s->files, Ast *, s->item_capacity);
        tree->capacity = s->item_capacity;
        for (int i = 0; i < s->nitem; i++)
                tree->kid[i] = (Ast *)s->item[i]->def.ast;
        s->program->main->tree = tree;
}

/* Builds the program again, with its imports; keeps the old one if an import fails. */
static bool build_program(ReplSession *s, Diag *diag)
{
        Arena *files = calloc(1, sizeof *files);
        if (!files)
                return diag_error(diag, (Span){0}, "out of memory"), false;
        Program *p = program_empty(files, &s->names, diag);
        for (int i = 0; i < s->nimport; i++)
                program_import(p, s->import[i].from, s->import[i].ast);
        if (diag->count) {
                arena_free(files);
                free(files);
                return false;
        }
        if (s->files)
                arena_free(s->files);
        free(s->files);
        s->files = files;
        s->program = p;
        p->outside = &s->outside;
        p->diag = NULL;
        for (int i = 0; i < s->nitem; i++)
                program_define(p, &s->item[i]->def);
        list_items(s);
        return true;
}

bool session_begin(ReplSession *s)
{
        *s = (ReplSession){.runner = runner_new()};
        options_begin(&s->options);
        s->options.first_iterations = true;
        s->names.arena = &s->words;
        s->outside = (Outside){s, find_variable, variable_names};
        Diag diag = {.arena = &s->words};
        return s->runner && build_program(s, &diag);
}

void session_changed(ReplSession *s)
{
        s->change++;
}

/* --- definitions ------------------------------------------------------------------------------------------------- */

static bool is_item(const Ast *ast)
{
        return ast->kind == AST_BLOCK || ast->kind == AST_SCHEME || ast->kind == AST_MODEL ||
               ast->kind == AST_CHECKPOINT || ast->kind == AST_TEST;
}

static ReplItem *find_item(const ReplSession *s, const Ast *like)
{
        if (like->kind != AST_TEST) {
                Definition *d = file_find(s->program->main, like->name);
                return d && d->file == s->program->main ? (ReplItem *)(void *)d : NULL;
        }
        for (int i = 0; i < s->nitem; i++)
                if (s->item[i]->def.ast->kind == AST_TEST && s->item[i]->def.name == like->name)
                        return s->item[i];
        return NULL;
}

static bool session_add_item(ReplSession *s, ReplItem *item)
{
        if (s->nitem == s->item_capacity) {
                int capacity = s->item_capacity ? 2 * s->item_capacity : 16;
                ReplItem **larger = realloc(s->item, (size_t)capacity * sizeof *larger);
                if (!larger)
                        return false;
                s->item = larger;
                s->item_capacity = capacity;
                list_items(s);
        }
        s->item[s->nitem++] = item;
        Ast *tree = (Ast *)s->program->main->tree;
        tree->kid[tree->nkid++] = (Ast *)item->def.ast;
        return true;
}

static void replace_item(ReplSession *s, ReplItem *item, Unit *u, const Ast *ast)
{
        for (int i = 0; i < s->nitem; i++)
                if (s->item[i] == item)
                        s->program->main->tree->kid[i] = (Ast *)ast;
        unit_drop(item->unit);
        item->unit = u;
        item->def.ast = ast;
        item->def.has_block = false;
}

/* Attaches earlier comment lines to a definition or an import. */
static void take_comment(ReplSession *s, char **comment)
{
        if (!s->comment)
                return;
        free(*comment);
        *comment = s->comment;
        s->comment = NULL;
}

bool session_comment(ReplSession *s, const char *lines, size_t n)
{
        size_t before = s->comment ? strlen(s->comment) : 0;
        char *longer = realloc(s->comment, before + n + 1);
        if (!longer)
                return false;
        memcpy(longer + before, lines, n);
        longer[before + n] = 0;
        s->comment = longer;
        return true;
}

bool session_define(ReplSession *s, Unit *u, const Ast *ast)
{
        ReplItem *item = find_item(s, ast);
        unit_hold(u);
        s->change++;
        if (item) {
                replace_item(s, item, u, ast);
        } else {
                item = calloc(1, sizeof *item);
                if (item)
                        *item = (ReplItem){{.name = ast->name, .ast = ast}, u, NULL};
                if (!item || !session_add_item(s, item)) {
                        free(item);
                        unit_drop(u);
                        return false;
                }
                if (ast->kind != AST_TEST)
                        program_define(s->program, &item->def);
                item->def.file = s->program->main;
        }
        take_comment(s, &item->comment);
        if (ast->kind == AST_MODEL && !s->keeps_model && session_is_complete(s, ast->name))
                session_set_model(s, ast->name);
        return true;
}

/* --- imports ----------------------------------------------------------------------------------------------------- */

static bool same_import(const ReplImport *i, const Ast *ast, const char *from)
{
        if (i->ast->name != ast->name || strcmp(i->from, from) != 0)
                return false;
        return ast->name || strcmp(i->ast->kid[0]->name, ast->kid[0]->name) == 0;
}

static bool session_add_import(ReplSession *s, Unit *u, const Ast *ast, const char *from)
{
        for (int i = 0; i < s->nimport; i++)
                if (same_import(&s->import[i], ast, from))
                        return true;
        if (s->nimport == s->import_capacity) {
                int capacity = s->import_capacity ? 2 * s->import_capacity : 8;
                ReplImport *larger = realloc(s->import, (size_t)capacity * sizeof *larger);
                if (!larger)
                        return false;
                s->import = larger;
                s->import_capacity = capacity;
        }
        char *path = strdup(from);
        if (!path)
                return false;
        unit_hold(u);
        s->import[s->nimport++] = (ReplImport){ast, u, path, NULL};
        take_comment(s, &s->import[s->nimport - 1].comment);
        return true;
}

static void drop_imports(ReplSession *s, int from)
{
        for (int i = from; i < s->nimport; i++) {
                unit_drop(s->import[i].unit);
                free(s->import[i].from);
                free(s->import[i].comment);
        }
        s->nimport = from;
}

bool session_import(ReplSession *s, Unit *u, const Ast *ast, const char *from, Diag *diag)
{
        int before = s->nimport;
        s->change++;
        if (session_add_import(s, u, ast, from) && build_program(s, diag))
                return true;
        drop_imports(s, before);
        if (!diag->count)
                diag_error(diag, ast->span, "out of memory");
        return false;
}

/* --- files ------------------------------------------------------------------------------------------------------- */

/* Loads a file.  The current model is then its last one without a missing hyperparameter, if any. */
static bool take_file(ReplSession *s, Unit *u, const Ast *tree, const char *path, Diag *diag)
{
        int before = s->nimport;
        for (int i = 0; i < tree->nkid; i++)
                if (tree->kid[i]->kind == AST_IMPORT && !session_add_import(s, u, tree->kid[i], path))
                        return drop_imports(s, before), false;
        if (!build_program(s, diag))
                return drop_imports(s, before), false;
        for (int i = 0; i < tree->nkid; i++)
                if (is_item(tree->kid[i]) && !session_define(s, u, tree->kid[i]))
                        return false;
        return true;
}

static bool unit_load_source(ReplSession *s, Unit *u, const Source *source, const char *path)
{
        Diag diag = {.arena = &u->arena};
        Ast *tree = parse_source(&u->arena, &s->names, &diag, source);
        bool good = tree && take_file(s, u, tree, path, &diag);
        diag_print(&diag, stderr);
        diag_clear(&diag);
        return good;
}

static bool unit_load(ReplSession *s, Unit *u, const char *path)
{
        const char *why = NULL;
        const Source *source = read_source(&u->arena, path, &why);
        if (!source)
                fprintf(stderr, "lathe: can't read %s: %s\n", path, why);
        return source && unit_load_source(s, u, source, path);
}

static void drop_source(ReplSession *s)
{
        free(s->source);
        free(s->source_file);
        free(s->source_text);
}

/* Makes it the current model, with its weights and tokenizer. */
static bool load_published(ReplSession *s, Unit *u, const char *path)
{
        int code;
        CommandOptions o = {.file = &path, .nfile = 1, .cache = s->options.cache};
        SourceParts parts = {.weights = true, .tokenizer = true, .kept = true};
        if (!source_open(&u->arena, &o, parts, &code))
                return false;
        const Source *source =
                source_new(&u->arena, o.file[0], o.source.text, (int32_t)strlen(o.source.text));
        char *weights = o.weights ? strdup(o.weights) : NULL,
             *tokenizer = o.tokenizer ? strdup(o.tokenizer) : NULL;
        if (!unit_load_source(s, u, source, o.file[0])) {
                free(weights);
                free(tokenizer);
                return false;
        }
        free((char *)s->options.weights);
        free((char *)s->options.tokenizer);
        s->options.weights = weights;
        s->options.tokenizer = tokenizer;
        session_changed(s);
        drop_source(s);
        s->source = strdup(path);
        s->source_file = strdup(o.file[0]);
        s->source_text = strdup(o.source.text);
        s->source_change = s->source && s->source_file && s->source_text ? s->change : -1;
        return true;
}

static bool load_model(ReplSession *s, const char *path)
{
        Unit *u = unit_new();
        if (!u)
                return fprintf(stderr, "lathe: out of memory\n"), false;
        bool good = is_source(path) ? load_published(s, u, path) : unit_load(s, u, path);
        unit_drop(u);
        return good;
}

bool session_open(ReplSession *s, const char *path)
{
        const bool good = is_model_file(path) ? load_model(s, path) : session_script(s, path);
        if (!good && access(path, R_OK) != 0)
                return false;
        char *copy = strdup(path);
        if (!copy)
                return repl_error("%s", no_memory);
        free(s->loaded);
        s->loaded = copy;
        return good;
}

bool session_reload(ReplSession *s)
{
        if (!s->loaded)
                return repl_error("no file was loaded yet: :load FILE");
        if (!is_model_file(s->loaded) || !s->model)
                return session_open(s, s->loaded);
        s->keeps_model = true;
        const bool good = load_model(s, s->loaded);
        s->keeps_model = false;
        return good && rerun(s);
}

bool is_model_file(const char *path)
{
        size_t n = strlen(path);
        return (n > 6 && !strcmp(path + n - 6, ".model")) || is_source(path);
}

/* --- the current model -------------------------------------------------------------------------------------------- */

const char **session_models(ReplSession *s, Arena *a, int *n)
{
        s->program->work = a;
        return program_models(s->program, NULL, 0, n);
}

bool session_is_complete(ReplSession *s, const char *model)
{
        Arena a = {0};
        int n;
        bool found = false;
        const char **name = session_models(s, &a, &n);
        for (int i = 0; i < n; i++)
                found |= strcmp(name[i], model) == 0;
        arena_free(&a);
        return found;
}

void session_set_model(ReplSession *s, const char *name)
{
        bool same = s->model && name && !strcmp(s->model, name);
        for (int i = 0; !same && i < s->options.noverride; i++) {
                free((char *)s->options.override[i].name);
                free((char *)s->options.override[i].value);
        }
        if (!same) {
                s->options.noverride = 0;
                free((char *)s->options.weights);
                s->options.weights = NULL;
                session_drop_adapters(s);
                free((char *)s->options.quant);
                s->options.quant = NULL;
                s->options.kv = STORAGE_F32;
                variables_free(&s->input);
        }
        char *copy = name ? strdup(name) : NULL;
        free(s->model);
        s->model = copy;
        s->models_taken++;
        s->change++;
}

void session_end(ReplSession *s)
{
        runner_free(s->runner);
        snapshot_free(s->now);
        snapshot_free(s->before);
        free(s->prompt);
        free(s->loaded);
        free(s->draft);
        free(s->draft_weights);
        free(s->grammar);
        free(s->comment);
        session_set_model(s, NULL);
        free((char *)s->options.tokenizer);
        drop_source(s);
        variables_free(&s->variables);
        variables_free(&s->values);
        drop_imports(s, 0);
        free(s->import);
        for (int i = 0; i < s->nitem; i++) {
                unit_drop(s->item[i]->unit);
                free(s->item[i]->comment);
                free(s->item[i]);
        }
        free(s->item);
        if (s->files)
                arena_free(s->files);
        free(s->files);
        arena_free(&s->words);
}
