/* Programs: a file, all its imports, and the definition of each name.
 *
 * `import blocks` looks for blocks.model in the importing file's folder, in its lib/ and in ../lib/, then
 * in the library that is part of lathe.  `import "path"` takes a path relative to the importing file.
 * Each file is read once; of the library, the body of an item when the item is found.  Imported names are
 * visible in all files that import it, directly or not; a file's own definitions take precedence. Names not
 * found there are looked up in the library: in its blocks and checkpoints, then in the module of that name. */
#include "elaborate_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct Loading Loading;
struct Loading {
        const Loading *outer;
        const char *name;
};

static uint64_t pointer_hash(const void *p)
{
        return (uint64_t)(uintptr_t)p / 16 * 0x9e3779b97f4a7c15u;
}

static Definition **table_slot(const DefinitionTable *t, const char *name)
{
        int64_t mask = t->slots - 1, i = (int64_t)(pointer_hash(name) >> 20) & mask;
        while (t->slot[i] && t->slot[i]->name != name)
                i = (i + 1) & mask;
        return &t->slot[i];
}

/* The first definition of a name is kept. */
static bool table_add(Arena *arena, DefinitionTable *t, Definition *d)
{
        if (2 * t->used >= t->slots) {
                DefinitionTable larger = {.slots = t->slots ? 2 * t->slots : 64, .used = t->used};
                larger.slot = NEW_ARRAY(arena, Definition *, larger.slots);
                for (int64_t i = 0; i < t->slots; i++)
                        if (t->slot[i])
                                *table_slot(&larger, t->slot[i]->name) = t->slot[i];
                *t = larger;
        }
        Definition **slot = table_slot(t, d->name);
        if (*slot)
                return *slot == d;
        *slot = d;
        t->used++;
        return true;
}

void item_read(Program *p, const Ast *item)
{
        if (!item->unread)
                return;
        parse_rest(p->arena, p->names, item);
        GROW(p->arena, p->item, p->nitem, p->item_cap);
        p->item[p->nitem++] = item;
}

Definition *file_find(const File *file, const char *name)
{
        Definition *d = file->table.slots ? *table_slot(&file->table, name) : NULL;
        if (d)
                item_read(file->program, d->ast);
        return d;
}

const char *interned(Elaborator *e, const char *text)
{
        return intern(e->program->names, text, -1);
}

static const char *directory_of(Arena *arena, const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? arena_strndup(arena, path, slash - path + 1) : "";
}

/* The file's name without directory and suffix. */
static const char *module_name(Program *p, const char *path)
{
        const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
        size_t n = strlen(base);
        if (n > 6 && strcmp(base + n - 6, ".model") == 0)
                n -= 6;
        return intern(p->names, base, (int)n);
}

static File *loaded(const Program *p, const char *path)
{
        for (int i = 0; i < p->nfile; i++)
                if (strcmp(p->file[i]->path, path) == 0)
                        return p->file[i];
        return NULL;
}

static File *program_add_file(Program *p, const Source *source, const char *name)
{
        File *f = NEW(p->arena, File);
        f->path = source->path;
        f->name = name;
        f->source = source;
        f->scope.file = f;
        f->program = p;
        p->file = arena_grow(p->arena, p->file, p->nfile * (int64_t)sizeof(File *),
                             (p->nfile + 1) * (int64_t)sizeof(File *));
        p->file[p->nfile++] = f;
        return f;
}

static void program_add_definitions(Program *p, File *f)
{
        for (int i = 0; i < f->tree->nkid; i++) {
                const Ast *item = f->tree->kid[i];
                if (item->kind != AST_BLOCK && item->kind != AST_SCHEME && item->kind != AST_MODEL &&
                    item->kind != AST_CHECKPOINT)
                        continue;
                Definition *d = NEW(p->arena, Definition);
                *d = (Definition){.name = item->name, .ast = item, .file = f};
                if (!table_add(p->arena, &f->table, d)) {
                        diag_error(p->diag, item->name_span, "%s is defined twice", item->name);
                        diag_note(p->diag, (*table_slot(&f->table, item->name))->ast->name_span,
                                  "first here");
                }
        }
}

static void load_imports(Program *p, File *f, const Loading *chain);

static File *program_load_source(Program *p, const Source *source, const char *name, const Loading *chain)
{
        File *f = program_add_file(p, source, name);
        const bool outline =
                source->library && p->nfile > 1; /* the first file is elaborated, or checked, whole */
        Ast *tree = (outline ? parse_outline : parse_source)(p->arena, p->names, p->diag, source);
        if (!tree)
                tree = ast_new(p->arena, AST_FILE, (Span){source, 0, 0}, 0);
        f->tree = tree;
        f->loading = true;
        program_add_definitions(p, f);
        load_imports(p, f, &(Loading){chain, name});
        f->loading = false;
        return f;
}

static bool source_equal(const Source *a, const Source *b)
{
        return a->length == b->length && memcmp(a->text, b->text, (size_t)a->length) == 0;
}

/* A file that is equal to a module of the library is the library, as in lathe's own models/lib. */
static const Source *read_module(Arena *arena, const char *path, const char *name)
{
        const char *why;
        Source *source = read_source(arena, path, &why);
        const Source *built_in = source ? library_source(arena, name) : NULL;
        if (built_in && source_equal(source, built_in))
                source->library = true;
        return source;
}

/* A file that imports its own name means another file, later in the search path. */
static const Source *find_module(Program *p, const File *from, const char *name)
{
        static const char *const place[] = {"", "lib/", "../lib/"};
        const char *directory = directory_of(p->arena, from->path);
        const Source *self = NULL;
        for (int i = 0; i <= 3; i++) {
                const Source *source;
                if (i < 3) {
                        const char *path = arena_printf(p->arena, "%s%s%s.model", directory, place[i], name);
                        const File *have = loaded(p, path);
                        source = have ? have->source : read_module(p->arena, path, name);
                } else {
                        source = library_source(p->arena, name);
                }
                if (source && !source_equal(source, from->source))
                        return source;
                if (source)
                        self = from->source;
        }
        return self;
}

static void report_cycle(Program *p, Span span, const char *name, const Loading *chain)
{
        const char *text = name;
        for (const Loading *l = chain; l; l = l->outer) {
                text = arena_printf(p->arena, "%s imports %s", l->name, text);
                if (l->name == name)
                        break;
        }
        diag_error(p->diag, span, "circular imports: %s", text);
}

/* The imported file, with its *name.  NULL: not found, with the reason in *why or NULL. */
static const Source *find_import(Program *p, const File *f, const Ast *import, const char **name,
                                 const char **why)
{
        *why = NULL;
        *name = import->name;
        if (*name)
                return find_module(p, f, *name);
        const char *path = import->kid[0]->name;
        if (path[0] != '/')
                path = arena_printf(p->arena, "%s%s", directory_of(p->arena, f->path), path);
        *name = module_name(p, path);
        const File *have = loaded(p, path);
        return have ? have->source : read_source(p->arena, path, why);
}

static void import_one(Program *p, File *f, const Ast *import, const Loading *chain)
{
        const char *name, *why;
        const Source *source = find_import(p, f, import, &name, &why);
        if (!source) {
                diag_error(p->diag, import->span, "can't import %s: %s", name,
                           why ? why : "module not found");
                if (!why)
                        diag_hint(p->diag,
                                  "searched for %s.model beside this file, in its lib/ and ../lib/, and in "
                                  "the library",
                                  name);
                return;
        }
        File *module = loaded(p, source->path);
        if (module && module->loading) {
                report_cycle(p, import->span, module->name, chain);
                return;
        }
        if (!module)
                module = program_load_source(p, source, name, chain);
        for (int64_t i = 0; i < module->table.slots; i++)
                if (module->table.slot[i])
                        table_add(p->arena, &f->table, module->table.slot[i]);
}

static void load_imports(Program *p, File *f, const Loading *chain)
{
        int depth = 0;
        for (const Loading *l = chain; l; l = l->outer)
                depth++;
        for (int i = 0; i < f->tree->nkid; i++) {
                if (f->tree->kid[i]->kind != AST_IMPORT)
                        continue;
                if (depth > MAX_DEPTH) {
                        diag_error(p->diag, f->tree->kid[i]->span, "imports are more than %d deep",
                                   MAX_DEPTH);
                        return;
                }
                import_one(p, f, f->tree->kid[i], chain);
        }
}

/* A module of the library by name, loaded at first use. */
static File *library_file(Program *p, const char *name)
{
        for (int i = 0; i < p->nfile; i++)
                if (p->file[i]->library && p->file[i]->name == name)
                        return p->file[i];
        const Source *source = library_source(p->arena, name);
        if (!source)
                return NULL;
        File *f = loaded(p, source->path);
        if (!f)
                f = program_load_source(p, source, name, NULL);
        f->library = true;
        return f;
}

/* A name that no visible file defines: from the prelude, or from the module of that name. */
Definition *library_find(Program *p, const char *name)
{
        const char *const module[] = {intern(p->names, "blocks", -1), intern(p->names, "checkpoints", -1),
                                      name};
        for (int i = 0; i < 3; i++) {
                File *f = library_file(p, module[i]);
                Definition *d = f ? file_find(f, name) : NULL;
                if (d)
                        return d;
        }
        return NULL;
}

Program *program_load(Arena *arena, Interner *names, Diag *diag, const char *path, const Source *given)
{
        Program *p = NEW(arena, Program);
        *p = (Program){.arena = arena, .work = arena, .names = names, .diag = diag};
        const char *why = NULL;
        const Source *source = given ? given : read_source(arena, path, &why);
        if (!source) {
                diag_error(diag, (Span){0}, "can't read %s: %s", path, why);
                return NULL;
        }
        p->main = program_load_source(p, source, module_name(p, source->path), NULL);
        const Ast *tree = p->main->tree;
        p->test = NEW_ARRAY(arena, const Ast *, tree->nkid);
        for (int i = 0; i < tree->nkid; i++)
                if (tree->kid[i]->kind == AST_TEST)
                        p->test[p->ntest++] = tree->kid[i];
        return p;
}

/* ---- a REPL's program: nothing but what is defined and imported in the end ---- */

Program *program_empty(Arena *arena, Interner *names, Diag *diag)
{
        Program *p = NEW(arena, Program);
        *p = (Program){.arena = arena, .work = arena, .names = names, .diag = diag};
        p->main = program_add_file(p, source_new(arena, "", "", 0), "");
        p->main->tree = ast_new(arena, AST_FILE, (Span){p->main->source, 0, 0}, 0);
        return p;
}

void program_define(Program *p, Definition *d)
{
        d->file = p->main;
        d->has_block = false;
        if (!table_add(p->arena, &p->main->table, d))
                *table_slot(&p->main->table, d->name) = d;
}

/* Handles `import` as if it were in the file `from`. */
void program_import(Program *p, const char *from, const Ast *import)
{
        p->main->path = from;
        import_one(p, p->main, import, NULL);
        p->main->path = "";
}

const char *program_import_path(Program *p, const char *from, const Ast *import)
{
        const char *name, *why;
        p->main->path = from;
        const Source *source = find_import(p, p->main, import, &name, &why);
        p->main->path = "";
        return source ? source->path : NULL;
}

int program_files(const Program *p)
{
        return p->nfile;
}

const Source *program_file(const Program *p, int which)
{
        return p->file[which]->source;
}

int program_ntest(const Program *p)
{
        return p->ntest;
}

const char *program_test_name(const Program *p, int which)
{
        return p->test[which]->name;
}
