/* Config items: finding them, inheritance, and applying one to a file.
 *
 * An item has its parent's statements, followed by its own.  Names are collected first, so that their order
 * does not matter.  Then requirements and conditions are evaluated in order, and settings at the end. */
#include "import_private.h"

/* ---- finding ---- */

const Ast *config_find(Program *p, const char *name, File **file)
{
        for (int i = 0; i < p->nfile; i++)
                for (int k = 0; k < p->file[i]->tree->nkid; k++) {
                        const Ast *item = p->file[i]->tree->kid[k];
                        if (item->kind != AST_CONFIG || item->name != name)
                                continue;
                        *file = p->file[i];
                        item_read(p, item);
                        return item;
                }
        return NULL;
}

static bool no_parent(Import *m, const Ast *item)
{
        const char *name[512];
        int n = 0;
        for (int i = 0; i < m->program->nfile; i++)
                for (int k = 0; k < m->program->file[i]->tree->nkid && n < 512; k++)
                        if (m->program->file[i]->tree->kid[k]->kind == AST_CONFIG)
                                name[n++] = m->program->file[i]->tree->kid[k]->name;
        config_error(m, item->kid[0]->span, "unknown config %s", item->kid[0]->name);
        const char *near = nearest_name(item->kid[0]->name, name, n);
        if (near)
                diag_hint(m->diag, "did you mean %s?", near);
        return false;
}

bool import_chain(Import *m, const Ast *item, File *file)
{
        item_read(m->program, item);
        m->item = item;
        m->file = file;
        for (m->nchain = 0; item;
             item = item->kid[0] ? config_find(m->program, item->kid[0]->name, &file) : NULL) {
                if (m->nchain == MAX_ITEM_CHAIN)
                        return config_error(
                                       m, m->item->name_span,
                                       "circular inheritance of config items, or more than %d levels of it",
                                       MAX_ITEM_CHAIN),
                               false;
                m->chain[m->nchain] = item;
                m->chain_file[m->nchain++] = file;
        }
        item = m->chain[m->nchain - 1];
        if (item->kid[0])
                return no_parent(m, item);
        for (int i = 0; i < m->nchain / 2; i++) {
                const Ast *a = m->chain[i];
                File *f = m->chain_file[i];
                m->chain[i] = m->chain[m->nchain - 1 - i];
                m->chain_file[i] = m->chain_file[m->nchain - 1 - i];
                m->chain[m->nchain - 1 - i] = a;
                m->chain_file[m->nchain - 1 - i] = f;
        }
        return true;
}

/* ---- names ---- */

ImportEntry *entry_find(const Import *m, const char *name)
{
        for (int i = 0; i < m->nentry; i++)
                if (m->entry[i].name == name)
                        return &m->entry[i];
        return NULL;
}

/* A child's entry replaces its parent's. */
static void entry_set(Import *m, const char *name, EntryKind kind, const Ast *ast)
{
        ImportEntry *entry = entry_find(m, name);
        if (!entry) {
                GROW(m->arena, m->entry, m->nentry, m->entry_cap);
                entry = &m->entry[m->nentry++];
        }
        *entry = (ImportEntry){.name = name, .kind = kind, .ast = ast};
}

bool paths_have(const Paths *paths, const char *path)
{
        for (int i = 0; i < paths->n; i++)
                if (!strcmp(paths->path[i], path))
                        return true;
        return false;
}

void paths_add(Arena *arena, Paths *paths, const char *path)
{
        GROW(arena, paths->path, paths->n, paths->capacity);
        paths->path[paths->n++] = path;
}

static void collect_keys(Import *m, const Ast *keys)
{
        Paths *paths = !strcmp(keys->name, "ignore") ? &m->ignored
                       : !strcmp(keys->name, "omit") ? &m->omitted
                       : !strcmp(keys->name, "part") ? &m->parts
                                                     : &m->implied;
        bool reads = !strcmp(keys->name, "read");
        for (int i = 0; i < keys->nkid; i++) {
                const Ast *key = keys->kid[i];
                if (reads)
                        entry_set(m, key->kid[0] ? key->kid[0]->name : key->name, OF_KEY, key);
                else
                        paths_add(m->arena, paths, key->name);
        }
}

void import_collect(Import *m, const Ast *statements)
{
        for (int i = 0; i < statements->nkid; i++) {
                const Ast *s = statements->kid[i];
                if (s->kind == AST_KEYS)
                        collect_keys(m, s);
                else if (s->kind == AST_BLOCK)
                        entry_set(m, s->name, OF_BLOCK, s);
                else if (s->kind == AST_LET && s->kid[0]->nkid == 1)
                        entry_set(m, s->kid[0]->kid[0]->name, OF_VALUE, s->kid[1]);
                else if (s->kind == AST_LET)
                        config_error(m, s->span, "a config item names one value at a time");
        }
}

/* ---- running ---- */

static void require(Import *m, const Ast *s)
{
        if (config_truth(m, NULL, s->kid[0]) || m->failed)
                return;
        Span where = {0};
        const char *keys = config_keys_said(m, s->kid[0], &where);
        if (!where.source && m->root->n)
                where = (Span){m->root->field[0].span.source, 0, 1};
        config_error(m, where, "%s%s", s->kid[2] ? s->kid[2]->name : "a requirement does not hold", keys);
        diag_note(m->diag, s->span, "required by config %s", m->item->name);
}

static void state(Import *m, const Ast *stated)
{
        GROW(m->arena, m->stated, m->nstated, m->stated_cap);
        m->stated[m->nstated++] = stated;
        if (stated->kid[0])
                m->family = stated->kid[0];
}

static void run_config(Import *m, const Ast *statements)
{
        for (int i = 0; i < statements->nkid && !m->failed; i++) {
                const Ast *s = statements->kid[i];
                if (s->kind == AST_REQUIRE)
                        require(m, s);
                else if (s->kind == AST_STATED)
                        state(m, s);
                while (s && s->kind == AST_IF) {
                        const Ast *branch = config_truth(m, NULL, s->kid[0]) ? s->kid[1] : s->kid[2];
                        if (branch && branch->kind == AST_DO && !m->failed) {
                                import_collect(m, branch);
                                run_config(m, branch);
                        }
                        s = m->failed || !branch || branch->kind == AST_DO ? NULL : branch;
                }
        }
}

/* Target of settings: the model, or a loop. */
typedef struct {
        StatedSetting **setting;
        int *n, *cap;
} Stated;

static StatedSetting *setting_named(Import *m, const Stated *to, const char *name)
{
        for (int i = 0; i < *to->n; i++)
                if ((*to->setting)[i].name == name)
                        return &(*to->setting)[i];
        GROW(m->arena, *to->setting, *to->n, *to->cap);
        (*to->setting)[*to->n] = (StatedSetting){.name = name};
        return &(*to->setting)[(*to->n)++];
}

static Stated settings_of_model(Import *m)
{
        return (Stated){&m->setting, &m->nsetting, &m->setting_cap};
}

const StatedLoop *item_loop_named(const Import *m, const char *name)
{
        for (int i = 0; i < m->nloop; i++)
                if (!strcmp(m->loop[i].name, name))
                        return &m->loop[i];
        return NULL;
}

void item_loop_drop(Import *m, const char *name)
{
        int n = 0;
        for (int i = 0; i < m->nloop; i++)
                if (strcmp(m->loop[i].name, name) != 0)
                        m->loop[n++] = m->loop[i];
        m->nloop = n;
}

static StatedLoop *loop_added(Import *m, const char *name)
{
        StatedLoop *known = (StatedLoop *)item_loop_named(m, name);
        if (known)
                return known;
        GROW(m->arena, m->loop, m->nloop, m->loop_cap);
        m->loop[m->nloop] = (StatedLoop){.name = name};
        return &m->loop[m->nloop++];
}

static Stated settings_of_loop(Import *m, const char *name)
{
        StatedLoop *l = loop_added(m, name);
        return (Stated){&l->setting, &l->nsetting, &l->setting_cap};
}

static void item_set(Import *m, const Stated *to, const char *name, const Ast *value, bool declares)
{
        ConfigValue v = config_evaluate(m, NULL, value);
        StatedSetting *s = setting_named(m, to, name);
        s->value = v;
        s->ast = value;
        s->declares = declares;
}

static void run_settings(Import *m, const Stated *to, const Ast *settings);

static void item_loop(Import *m, const Ast *loop)
{
        const Stated to = settings_of_loop(m, loop->name);
        loop_added(m, loop->name)->is_none = false; /* of a parent */
        run_settings(m, &to, loop);
}

static void run_settings(Import *m, const Stated *to, const Ast *settings)
{
        for (int i = 0; i < settings->nkid && !m->failed; i++) {
                const Ast *s = settings->kid[i];
                if (s->kind == AST_SETTING)
                        item_set(m, to, s->name, s->kid[0], false);
                else if (s->kind == AST_CHECKPOINT_USE)
                        item_set(m, to, intern(m->program->names, "checkpoint", -1), s->kid[0], false);
                else if (s->kind == AST_LET)
                        item_set(m, to, s->kid[0]->kid[0]->name, s->kid[1], true);
                else if (s->kind == AST_LOOP)
                        item_loop(m, s);
                else if (s->kind == AST_LOOP_NONE)
                        loop_added(m, s->name)->is_none = true;
                while (s && s->kind == AST_IF) {
                        const Ast *branch = config_truth(m, NULL, s->kid[0]) ? s->kid[1] : s->kid[2];
                        if (branch && branch->kind == AST_DO && !m->failed)
                                run_settings(m, to, branch);
                        s = m->failed || !branch || branch->kind == AST_DO ? NULL : branch;
                }
        }
}

void import_set(Import *m, const char *loop, const char *name, ConfigValue value)
{
        const Stated to =
                loop ? settings_of_loop(m, intern(m->program->names, loop, -1)) : settings_of_model(m);
        StatedSetting *s = setting_named(m, &to, intern(m->program->names, name, -1));
        *s = (StatedSetting){
                .name = s->name, .value = value, .ast = ast_new(m->arena, AST_NONE, (Span){0}, 0)};
}

/* -D name=value: replaces or adds a value of the file. */
static void override(Import *m, const Override *given)
{
        Ast *tree = NULL;
        const Stated to = settings_of_model(m);
        Source *source = source_new(m->arena, arena_printf(m->arena, "-D %s", given->name),
                                    arena_strdup(m->arena, given->value), (int32_t)strlen(given->value));
        ParseResult result = parse_lines(m->arena, m->program->names, m->diag, source, &tree);
        if (result != PARSE_COMPLETE || !tree || tree->nkid != 1 || !ast_is_expression(tree->kid[0]->kind)) {
                config_error(m, (Span){source, 0, source->length}, "-D %s needs an expression", given->name);
                m->failed = true;
                return;
        }
        setting_named(m, &to, intern(m->program->names, given->name, -1))->given = tree->kid[0];
}

bool import_run(Import *m, const Override *given, int ngiven)
{
        const Stated model = settings_of_model(m);
        for (int i = 0; i < m->nchain; i++)
                import_collect(m, m->chain[i]->kid[1]);
        for (int i = 0; i < m->nchain; i++)
                run_config(m, m->chain[i]->kid[1]);
        for (int i = 0; i < m->nstated && !m->failed; i++)
                run_settings(m, &model, m->stated[i]->kid[1]);
        for (int i = 0; i < ngiven && !m->failed; i++)
                override(m, &given[i]);
        if (!m->failed && !m->family)
                config_error(m, m->item->name_span, "config %s names no family here: model FAMILY { … }",
                             m->item->name);
        return !m->failed;
}
