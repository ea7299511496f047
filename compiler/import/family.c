/* A family in the library: its hyperparameters and their defaults. */
#include "import_private.h"

enum { MAX_MODELS = 64 };

Definition *family_find(const Import *m, const char *name)
{
        for (int i = m->nchain - 1; i >= 0; i--) {
                Definition *d = file_find(m->chain_file[i], name);
                if (d && d->ast->kind == AST_MODEL)
                        return d;
        }
        Definition *d = library_find(m->program, name);
        return d && d->ast->kind == AST_MODEL ? d : NULL;
}

static Definition *parent_of(const Import *m, const Definition *d)
{
        const Ast *parent = d->ast->kid[0];
        Definition *p = parent ? file_find(d->file, parent->name) : NULL;
        return p && p->ast->kind == AST_MODEL && p != d ? p
               : parent                                 ? library_find(m->program, parent->name)
                                                        : NULL;
}

static bool names_it(const Ast *names, const char *name)
{
        for (int i = 0; i < names->nkid; i++)
                if (names->kid[i]->name == name)
                        return true;
        return false;
}

const Ast *family_declares(const Import *m, Definition *d, const char *name, bool with_settings)
{
        for (int depth = 0; d && depth < MAX_MODELS; depth++, d = parent_of(m, d)) {
                const Ast *body = d->ast->kid[1];
                for (int i = body->nkid - 1; i >= 0; i--) {
                        const Ast *s = body->kid[i];
                        if (with_settings && s->kind == AST_SETTING && s->name == name)
                                return s;
                        if ((s->kind == AST_DECL || s->kind == AST_LET) && names_it(s->kid[0], name))
                                return s;
                }
        }
        return NULL;
}

bool family_generates(const Import *m, Definition *d)
{
        const StatedLoop *stated = item_loop_named(m, "generate");
        return stated ? !stated->is_none : family_has_loop(m, d, "generate");
}

bool family_has_loop(const Import *m, Definition *d, const char *name)
{
        for (int depth = 0; d && depth < MAX_MODELS; depth++, d = parent_of(m, d)) {
                const Ast *body = d->ast->kid[1];
                for (int i = body->nkid - 1; i >= 0; i--) {
                        AstKind kind = body->kid[i]->kind;
                        if ((kind == AST_LOOP || kind == AST_LOOP_NONE) && !strcmp(body->kid[i]->name, name))
                                return kind == AST_LOOP;
                }
        }
        return false;
}

const char *family_checkpoint(const Import *m, Definition *d)
{
        for (int depth = 0; d && depth < MAX_MODELS; depth++, d = parent_of(m, d)) {
                const Ast *body = d->ast->kid[1];
                for (int i = body->nkid - 1; i >= 0; i--)
                        if (body->kid[i]->kind == AST_CHECKPOINT_USE)
                                return body->kid[i]->kid[0]->name;
        }
        return NULL;
}

static const Ast *own_expression(const Import *m, Definition *family, const char *name)
{
        const Ast *s = family_declares(m, family, name, true);
        return !s ? NULL : s->kind == AST_SETTING ? s->kid[0] : s->kind == AST_LET ? s->kid[1] : s->kid[2];
}

/* Binds the names in an expression that no setting states to the family's values. */
static void add_own(Import *m, Definition *family, const Ast *e, Locals *local, int depth)
{
        if (e->kind == AST_NAME && depth < MAX_CALLS) {
                const Ast *own = NULL;
                bool there = false;
                for (int i = 0; i < local->n; i++)
                        there |= local->name[i] == e->name;
                if (!there)
                        own = own_expression(m, family, e->name);
                if (own) {
                        add_own(m, family, own, local, depth + 1);
                        local_set(m, local, e->name, config_evaluate(m, local, own));
                }
        }
        for (int i = 0; i < e->nkid; i++)
                if (e->kid[i])
                        add_own(m, family, e->kid[i], local, depth);
}

bool family_gives(Import *m, Definition *family, const StatedSetting *s)
{
        const Ast *own = own_expression(m, family, s->name);
        Diag *diag = m->diag;
        Locals local = {0};
        if (!own || m->failed || own->kind == AST_NUMBER) /* only a number has an effect */
                return false;
        m->diag = NULL; /* errors here are not errors of the family */
        for (int i = 0; i < m->nsetting; i++)
                if (m->setting[i].name != s->name && !m->setting[i].given)
                        local_set(m, &local, m->setting[i].name, m->setting[i].value);
        add_own(m, family, own, &local, 0);
        ConfigValue v = config_evaluate(m, &local, own);
        bool same = !m->failed && config_same(v, s->value);
        m->failed = false;
        m->diag = diag;
        return same;
}
