/* Finds mistakes in config items without a file.
 *
 * A key that is read but reaches no setting and no requirement would be silently dropped, and the model would
 * be a different one.  The same holds for a list of which only some elements are read.  Names must be
 * defined, and a family must have the hyperparameters that are set. */
#include "import_private.h"

typedef struct {
        Import m;
        Paths local; /* parameters and variables of the current block */
        const Ast *walked[1024];
        const ImportEntry *reached[1024];
        int nwalked, nreached;
        Paths whole; /* lists that are used or checked as a whole, and all other keys and fields */
        const Ast *element[1024]; /* keys and fields whose elements are read */
        const ImportEntry *looked_into[1024];
        int nelement, nlooked_into;
        Diag *diag;
} Lint;

static void lint_walk(Lint *l, const Ast *e);

static void lint_reach(Lint *l, const ImportEntry *entry)
{
        for (int i = 0; i < l->nreached; i++)
                if (l->reached[i] == entry)
                        return;
        if (l->nreached == 1024)
                return;
        l->reached[l->nreached++] = entry;
        Paths outside = l->local;
        l->local = (Paths){0};
        if (entry->kind == OF_KEY && entry->ast->kid[2])
                lint_walk(l, entry->ast->kid[2]);
        else if (entry->kind != OF_KEY)
                lint_walk(l, entry->ast);
        l->local = outside;
}

static void walk_name(Lint *l, const Ast *e)
{
        if (paths_have(&l->local, e->name))
                return;
        const ImportEntry *entry = entry_find(&l->m, e->name);
        if (entry) {
                if (entry->kind == OF_KEY)
                        paths_add(l->m.arena, &l->whole, e->name);
                lint_reach(l, entry);
                return;
        }
        static const char *const known[] = {"architecture",  "embedder",  "text_limit",
                                            "cross_encoder", "pads_left", "yes_token",
                                            "no_token",      "pi",        "inf"};
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (!strcmp(e->name, known[i]))
                        return;
        if (config_builtin(e->name) || library_has(&l->m, e->name))
                return;
        const char *name[512];
        int n = 0;
        for (; n < l->m.nentry && n < 512; n++)
                name[n] = l->m.entry[n].name;
        const char *near = nearest_name(e->name, name, n);
        diag_error(l->diag, e->span, "unknown name %s", e->name);
        if (near)
                diag_hint(l->diag, "did you mean %s?", near);
}

static void add_params(Lint *l, const Ast *params)
{
        for (int i = 0; i < 2; i++)
                for (int k = 0; k < params->kid[i]->nkid; k++)
                        paths_add(l->m.arena, &l->local, params->kid[i]->kid[k]->name);
}

/* ---- lists that are read at an index ---- */

/* A key, or a field: `rope_scaling.short_factor`; NULL: the expression is neither. */
static const char *lint_path(const Lint *l, const Ast *e)
{
        if (e->kind == AST_NAME)
                return paths_have(&l->local, e->name) || !entry_find(&l->m, e->name) ? NULL : e->name;
        const char *object = e->kind == AST_FIELD ? lint_path(l, e->kid[0]) : NULL;
        return object ? arena_printf(l->m.arena, "%s.%s", object, e->name) : NULL;
}

static bool lint_calls(const Ast *e, const char *builtin)
{
        return e->kind == AST_CALL && e->kid[0]->kind == AST_NAME && !strcmp(e->kid[0]->name, builtin);
}

static void walk_list(Lint *l, const Ast *e, bool element);

/* A list by its name: a key's, or the possible lists of a value. */
static void walk_named_list(Lint *l, const Ast *e, bool element)
{
        const ImportEntry *entry = paths_have(&l->local, e->name) ? NULL : entry_find(&l->m, e->name);
        if (entry && entry->kind == OF_KEY) {
                lint_reach(l, entry);
                if (element && l->nelement < 1024)
                        l->element[l->nelement++] = e;
                return;
        }
        for (int i = 0; i < l->nlooked_into; i++)
                if (l->looked_into[i] == entry)
                        return;
        if (!entry || entry->kind != OF_VALUE || l->nlooked_into == 1024) {
                walk_name(l, e);
                return;
        }
        l->looked_into[l->nlooked_into++] = entry;
        Paths outside = l->local;
        l->local = (Paths){0};
        walk_list(l, entry->ast, element);
        l->local = outside;
}

/* Keys that are not used as a whole: an element is read, or only the length or presence is tested. */
static void walk_list(Lint *l, const Ast *e, bool element)
{
        if (e->kind == AST_NAME) {
                walk_named_list(l, e, element);
        } else if (e->kind == AST_FIELD) {
                if (element && lint_path(l, e) && l->nelement < 1024)
                        l->element[l->nelement++] = e;
                lint_walk(l, e->kid[0]);
        } else if (e->kind == AST_COND || e->kind == AST_INDEX) {
                int lists = e->kind == AST_COND ? 1 : 0;
                for (int i = 0; i < e->nkid; i++)
                        if (lists ? i > 0 : i == 0)
                                walk_list(l, e->kid[i], element);
                        else
                                lint_walk(l, e->kid[i]);
        } else if (lint_calls(e, "given")) {
                for (int i = 1; i < e->nkid; i++)
                        walk_list(l, e->kid[i]->kid[0] ? e->kid[i]->kid[0] : e->kid[i], element);
        } else {
                lint_walk(l, e);
        }
}

static bool compares_with_none(const Ast *e)
{
        return (e->kind == AST_EQ || e->kind == AST_NE) &&
               (e->kid[0]->kind == AST_NONE || e->kid[1]->kind == AST_NONE);
}

/* Expressions that do not use a list as a whole. */
static bool walk_part(Lint *l, const Ast *e)
{
        bool length = lint_calls(e, "len") && e->nkid == 2 && e->kid[1]->kid[0];
        if (e->kind == AST_INDEX) {
                walk_list(l, e->kid[0], true);
                for (int i = 1; i < e->nkid; i++)
                        lint_walk(l, e->kid[i]);
        } else if (length) {
                walk_list(l, e->kid[1]->kid[0], false);
        } else if (compares_with_none(e)) {
                walk_list(l, e->kid[0], false);
                walk_list(l, e->kid[1], false);
        } else {
                return false;
        }
        return true;
}

static void lint_elements(const Lint *l, const char *item)
{
        for (int i = 0; i < l->nelement; i++) {
                const char *path = lint_path(l, l->element[i]);
                if (paths_have(&l->whole, path))
                        continue;
                diag_error(l->diag, l->element[i]->span,
                           "config %s reads an element of %s, and nothing uses or checks the others", item,
                           path);
                diag_hint(l->diag, "each, period, covers and == take a list as a whole");
        }
}

/* Walks the names that an expression, or a block's body, uses. */
static void lint_walk(Lint *l, const Ast *e)
{
        if (e->kind == AST_NAME) {
                walk_name(l, e);
                return;
        }
        if (walk_part(l, e))
                return;
        const char *path = e->kind == AST_FIELD ? lint_path(l, e) : NULL;
        if (path)
                paths_add(l->m.arena, &l->whole, path);
        if (e->kind == AST_BLOCK)
                add_params(l, e->kid[0]);
        if (e->kind == AST_LET) {
                lint_walk(l, e->kid[1]);
                paths_add(l->m.arena, &l->local, e->kid[0]->kid[0]->name);
                return;
        }
        if (e->kind == AST_ARG && !e->kid[0]) {
                walk_name(l, &(Ast){.kind = AST_NAME, .name = e->name, .span = e->span});
                return;
        }
        for (int i = 0; i < e->nkid; i++)
                if (e->kid[i])
                        lint_walk(l, e->kid[i]);
}

/* ---- the statements of an item ---- */

static void check_family_has(Lint *l, Definition *family, const char *name, Span span)
{
        if (!family || family_declares(&l->m, family, name, false))
                return;
        diag_error(l->diag, span, "the family %s has no hyperparameter %s", family->name, name);
}

/* Settings of a loop are checked when a model states them: some have the names of inputs. */
static void walk_loop(Lint *l, const Ast *s)
{
        if ((s->kind == AST_LOOP || s->kind == AST_LOOP_NONE) && loop_number(s->name) < 0)
                diag_error(l->diag, s->name_span, "unknown loop %s", s->name);
        if (s->kind == AST_SETTING || s->kind == AST_IF)
                lint_walk(l, s->kid[0]);
        for (int i = s->kind == AST_IF; s->kind != AST_SETTING && i < s->nkid; i++)
                if (s->kid[i])
                        walk_loop(l, s->kid[i]);
}

static void walk_settings(Lint *l, Definition *family, const Ast *s)
{
        if (s->kind == AST_LOOP || s->kind == AST_LOOP_NONE) {
                walk_loop(l, s);
                return;
        }
        if (s->kind == AST_SETTING)
                check_family_has(l, family, s->name, s->name_span);
        if (s->kind == AST_SETTING || s->kind == AST_CHECKPOINT_USE)
                lint_walk(l, s->kid[0]);
        else if (s->kind == AST_LET)
                lint_walk(l, s->kid[1]);
        for (int i = 0; (s->kind == AST_IF || s->kind == AST_DO) && i < s->nkid; i++)
                if (s->kid[i] && (i > 0 || s->kind == AST_DO))
                        walk_settings(l, family, s->kid[i]);
        if (s->kind == AST_IF)
                lint_walk(l, s->kid[0]);
}

static void walk_statement(Lint *l, const Ast *s)
{
        if (s->kind == AST_REQUIRE)
                lint_walk(l, s->kid[0]);
        if (s->kind == AST_STATED) {
                Definition *family = s->kid[0] ? family_find(&l->m, s->kid[0]->name) : NULL;
                if (s->kid[0] && !family)
                        diag_error(l->diag, s->kid[0]->span,
                                   "unknown family %s: the library does not have it", s->kid[0]->name);
                walk_settings(l, family, s->kid[1]);
        }
        if (s->kind == AST_IF)
                lint_walk(l, s->kid[0]);
        for (int i = 0; (s->kind == AST_IF || s->kind == AST_DO) && i < s->nkid; i++)
                if (s->kid[i] && (i > 0 || s->kind == AST_DO))
                        walk_statement(l, s->kid[i]);
}

/* Includes statements in conditions. */
static void lint_collect(Lint *l, const Ast *s)
{
        if (s->kind == AST_DO)
                import_collect(&l->m, s);
        for (int i = 0; (s->kind == AST_DO || s->kind == AST_IF) && i < s->nkid; i++)
                if (s->kid[i])
                        lint_collect(l, s->kid[i]);
}

static bool was_reached(const Lint *l, const ImportEntry *entry)
{
        for (int i = 0; i < l->nreached; i++)
                if (l->reached[i] == entry)
                        return true;
        return false;
}

static void check_item(Program *p, File *file, const Ast *item, Diag *diag)
{
        Lint *l = NEW(p->work, Lint);
        l->diag = diag;
        l->m = (Import){.arena = p->work, .program = p, .diag = diag};
        if (!import_chain(&l->m, item, file))
                return;
        for (int i = 0; i < l->m.nchain; i++)
                lint_collect(l, l->m.chain[i]->kid[1]);
        for (int i = 0; i < l->m.nchain; i++)
                walk_statement(l, l->m.chain[i]->kid[1]);
        if (item->kid[2]->nkid)
                lint_elements(l, item->name);
        /* an item without architectures is a part of other items, and reads the keys that its children use */
        for (int i = 0; item->kid[2]->nkid && i < l->m.nentry; i++) {
                const ImportEntry *entry = &l->m.entry[i];
                if (entry->kind != OF_KEY || was_reached(l, entry) ||
                    paths_have(&l->m.ignored, entry->ast->name))
                        continue;
                diag_error(diag, entry->ast->span,
                           "config %s reads %s, but no setting and no require uses it", item->name,
                           entry->ast->name);
                diag_hint(diag, "if it does not affect the output, ignore it: ignore %s", entry->ast->name);
        }
}

void configs_check(Program *p, Diag *diag)
{
        for (int i = 0; i < p->main->tree->nkid; i++) {
                const Ast *item = p->main->tree->kid[i];
                File *file = p->main;
                if (item->kind != AST_CONFIG)
                        continue;
                if (config_find(p, item->name, &file) != item) {
                        diag_error(diag, item->name_span, "config %s is defined twice", item->name);
                        continue;
                }
                check_item(p, file, item, diag);
        }
}
