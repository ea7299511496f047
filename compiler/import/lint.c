/* Mistakes of config items that can be told without a file.
 *
 * A key that is read and reaches no setting and no requirement would be a key that is silently dropped: the model would be another
 * one.  Names have to stand for something, and a family has to have the hyperparameters that it is given. */
#include "import_private.h"

typedef struct {
        Import m;
        Paths local; /* parameters and variables of the block that is walked */
        const Ast *walked[1024];
        const Entry *reached[1024];
        int nwalked, nreached;
        Diag *diag;
} Lint;

static void walk(Lint *l, const Ast *e);

static void reach(Lint *l, const Entry *entry)
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
                walk(l, entry->ast->kid[2]);
        else if (entry->kind != OF_KEY)
                walk(l, entry->ast);
        l->local = outside;
}

static void walk_name(Lint *l, const Ast *e)
{
        if (paths_have(&l->local, e->name))
                return;
        const Entry *entry = entry_find(&l->m, e->name);
        if (entry) {
                reach(l, entry);
                return;
        }
        static const char *const known[] = {"architecture", "pi", "inf"};
        for (int i = 0; i < 3; i++)
                if (!strcmp(e->name, known[i]))
                        return;
        if (config_builtin(e->name) || library_has(&l->m, e->name))
                return;
        const char *name[512];
        int n = 0;
        for (; n < l->m.nentry && n < 512; n++)
                name[n] = l->m.entry[n].name;
        const char *near = nearest_name(e->name, name, n);
        diag_error(l->diag, e->span, "there is no %s", e->name);
        if (near)
                diag_hint(l->diag, "did you mean %s?", near);
}

static void add_params(Lint *l, const Ast *params)
{
        for (int i = 0; i < 2; i++)
                for (int k = 0; k < params->kid[i]->nkid; k++)
                        paths_add(l->m.arena, &l->local, params->kid[i]->kid[k]->name);
}

/* Names that an expression, or a block's body, comes to. */
static void walk(Lint *l, const Ast *e)
{
        if (e->kind == AST_NAME) {
                walk_name(l, e);
                return;
        }
        if (e->kind == AST_BLOCK)
                add_params(l, e->kid[0]);
        if (e->kind == AST_LET) {
                walk(l, e->kid[1]);
                paths_add(l->m.arena, &l->local, e->kid[0]->kid[0]->name);
                return;
        }
        if (e->kind == AST_ARG && !e->kid[0]) {
                walk_name(l, &(Ast){.kind = AST_NAME, .name = e->name, .span = e->span});
                return;
        }
        for (int i = 0; i < e->nkid; i++)
                if (e->kid[i])
                        walk(l, e->kid[i]);
}

/* ---- what an item states ---- */

static void check_family_has(Lint *l, Definition *family, const char *name, Span span)
{
        if (!family || family_declares(&l->m, family, name, false))
                return;
        diag_error(l->diag, span, "the family %s has no hyperparameter %s", family->name, name);
}

/* Its settings are checked where a model states them: some are called as inputs. */
static void walk_loop(Lint *l, const Ast *s)
{
        if (s->kind == AST_LOOP && loop_number(s->name) < 0)
                diag_error(l->diag, s->name_span, "there is no loop %s", s->name);
        if (s->kind == AST_SETTING || s->kind == AST_IF)
                walk(l, s->kid[0]);
        for (int i = s->kind == AST_IF; s->kind != AST_SETTING && i < s->nkid; i++)
                if (s->kid[i])
                        walk_loop(l, s->kid[i]);
}

static void walk_settings(Lint *l, Definition *family, const Ast *s)
{
        if (s->kind == AST_LOOP) {
                walk_loop(l, s);
                return;
        }
        if (s->kind == AST_SETTING)
                check_family_has(l, family, s->name, s->name_span);
        if (s->kind == AST_SETTING || s->kind == AST_CHECKPOINT_USE)
                walk(l, s->kid[0]);
        else if (s->kind == AST_LET)
                walk(l, s->kid[1]);
        for (int i = 0; (s->kind == AST_IF || s->kind == AST_DO) && i < s->nkid; i++)
                if (s->kid[i] && (i > 0 || s->kind == AST_DO))
                        walk_settings(l, family, s->kid[i]);
        if (s->kind == AST_IF)
                walk(l, s->kid[0]);
}

static void walk_statement(Lint *l, const Ast *s)
{
        if (s->kind == AST_REQUIRE)
                walk(l, s->kid[0]);
        if (s->kind == AST_STATED) {
                Definition *family = s->kid[0] ? family_find(&l->m, s->kid[0]->name) : NULL;
                if (s->kid[0] && !family)
                        diag_error(l->diag, s->kid[0]->span, "there is no family %s in the library",
                                   s->kid[0]->name);
                walk_settings(l, family, s->kid[1]);
        }
        if (s->kind == AST_IF)
                walk(l, s->kid[0]);
        for (int i = 0; (s->kind == AST_IF || s->kind == AST_DO) && i < s->nkid; i++)
                if (s->kid[i] && (i > 0 || s->kind == AST_DO))
                        walk_statement(l, s->kid[i]);
}

/* Also what is within conditions. */
static void collect(Lint *l, const Ast *s)
{
        if (s->kind == AST_DO)
                import_collect(&l->m, s);
        for (int i = 0; (s->kind == AST_DO || s->kind == AST_IF) && i < s->nkid; i++)
                if (s->kid[i])
                        collect(l, s->kid[i]);
}

static bool was_reached(const Lint *l, const Entry *entry)
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
                collect(l, l->m.chain[i]->kid[1]);
        for (int i = 0; i < l->m.nchain; i++)
                walk_statement(l, l->m.chain[i]->kid[1]);
        /* what no file names is a part of other items, which read what their children use */
        for (int i = 0; item->kid[2]->nkid && i < l->m.nentry; i++) {
                const Entry *entry = &l->m.entry[i];
                if (entry->kind != OF_KEY || was_reached(l, entry) ||
                    paths_have(&l->m.ignored, entry->ast->name))
                        continue;
                diag_error(diag, entry->ast->span,
                           "config %s reads %s, which reaches no setting and no require", item->name,
                           entry->ast->name);
                diag_hint(diag, "what changes no number of the output is ignored: ignore %s",
                          entry->ast->name);
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
