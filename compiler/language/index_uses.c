/* Uses of the iteration's index in the body of a repeat.
 *
 * An iteration depends on its number only through the name of the index, which is visible only in the body's
 * text.  So the body of an iteration is determined by the values of some expressions in that text: the
 * largest ones that mention the index and no name that the body binds itself, as `at(mask, i)` or `i <
 * dense`.  Two iterations with the same values have the same body; the second need not run.
 *
 * If such an expression computes with tensors or declares weights, all iterations run. */
#include "elaborate_private.h"

#include <string.h>

enum { MAX_USES = 16, MAX_BOUND = 256 };

struct IndexUses {
        const Ast *index; /* its name, after `repeat` or `over` */
        const Ast *use[MAX_USES];
        const char *bound[MAX_BOUND]; /* names that the body assigns */
        int n, nbound;
        bool hopeless; /* the index is used in an unsupported way */
};

static bool binds(AstKind kind)
{
        return kind == AST_BLOCK || kind == AST_SCHEME || kind == AST_MEMBER || kind == AST_PARAM ||
               kind == AST_SHARED || kind == AST_EACH || kind == AST_INPUT || kind == AST_OUTPUT;
}

static void uses_add_bound(IndexUses *u, const char *name)
{
        u->hopeless = u->hopeless || u->nbound == MAX_BOUND;
        if (name && !u->hopeless)
                u->bound[u->nbound++] = name;
}

static void find_bound(IndexUses *u, const Ast *t)
{
        const Ast *first = t->nkid ? t->kid[0] : NULL;
        if (binds(t->kind))
                uses_add_bound(u, t->name);
        if (t->kind == AST_EACH && first)
                uses_add_bound(u, first->name);
        if (t->kind == AST_LET || t->kind == AST_DECL)
                for (int i = 0; i < first->nkid; i++)
                        uses_add_bound(u, first->kid[i]->name);
        for (int i = 0; i < t->nkid; i++)
                if (t->kid[i])
                        find_bound(u, t->kid[i]);
}

static bool uses_binds(const IndexUses *u, const char *name)
{
        for (int i = 0; i < u->nbound; i++)
                if (u->bound[i] == name)
                        return true;
        return false;
}

/* A name that is evaluated: `f(n:)` is f(n: n). */
static bool ast_is_name(const Ast *t)
{
        return t->kind == AST_NAME || (t->kind == AST_ARG && !t->kid[0]);
}

static bool mentions(const IndexUses *u, const Ast *t)
{
        if (ast_is_name(t) && t->name == u->index->name)
                return true;
        for (int i = 0; i < t->nkid; i++)
                if (t->kid[i] && mentions(u, t->kid[i]))
                        return true;
        return false;
}

/* Whether all names of the expression have a value before the iteration runs. */
static bool is_question(const IndexUses *u, const Ast *t)
{
        if (t->kind == AST_OVER || t->kind == AST_ALONG || (ast_is_name(t) && uses_binds(u, t->name)))
                return false;
        for (int i = 0; i < t->nkid; i++)
                if (t->kid[i] && !is_question(u, t->kid[i]))
                        return false;
        return true;
}

static void find_uses(Elaborator *e, IndexUses *u, const Ast *t)
{
        if (u->hopeless || !mentions(u, t))
                return;
        if (t->kind == AST_ARG && !t->kid[0]) {
                Ast *name = NEW(e->arena, Ast);
                *name = (Ast){.kind = AST_NAME, .span = t->span, .name_span = t->span, .name = t->name};
                t = name;
        }
        if (ast_is_expression(t->kind) && is_question(u, t)) {
                u->hopeless = u->n == MAX_USES;
                if (!u->hopeless)
                        u->use[u->n++] = t;
                return;
        }
        u->hopeless = t->nkid == 0;
        for (int i = 0; i < t->nkid; i++)
                if (t->kid[i])
                        find_uses(e, u, t->kid[i]);
}

IndexUses *index_uses_new(Elaborator *e, const Ast *repeat)
{
        IndexUses *u = NEW(e->arena, IndexUses);
        const Ast *each = repeat->kid[0];
        u->index = each->kid[0] ? each->kid[0] : each;
        find_bound(u, repeat->kid[2]);
        find_uses(e, u, repeat->kid[2]);
        return u;
}

static bool can_be_compared(Value v)
{
        return v.kind != V_POISON && v.kind != V_PATH;
}

/* The values for one iteration; NULL: not available.  The context must be as when the iteration runs, and
 * e->body one that may be dropped. */
const Value *index_uses_answers(Elaborator *e, IndexUses *u, Scope *around, int64_t iteration)
{
        Diag *diag = e->diag, quiet = {.arena = e->arena};
        bool was_stopped = e->stopped;
        Value *answer = u->hopeless ? NULL : NEW_ARRAY(e->arena, Value, u->n);
        if (!answer)
                return NULL;
        int first = e->g->nnode;
        int64_t change = changes_mark(e), instances = e->ninstance;
        Scope *scope = scope_new(e, around, false);
        scope_set(e, scope, u->index->name, value_int(iteration), u->index->span);
        e->diag = &quiet;
        e->asks = true;
        bool good = true;
        for (int i = 0; i < u->n && good; i++) {
                answer[i] = eval(e, scope, u->use[i], NULL);
                good = can_be_compared(answer[i]);
        }
        e->diag = diag;
        e->asks = false;
        e->stopped = was_stopped;
        if (e->g->nnode != first || changes_mark(e) != change || e->ninstance != instances) {
                changes_undo(e, change, instances);
                e->g->nnode = first;
                u->hopeless = true;
        }
        return good && !u->hopeless && quiet.count == 0 ? answer : NULL;
}

/* The same recursively; values in memory are equal if they are the same object. */
static bool same_answer(Value a, Value b)
{
        if (a.kind != b.kind || a.quotient != b.quotient)
                return false;
        switch (a.kind) {
        case V_NONE: return true;
        case V_BOOL:
        case V_INT:
        case V_REAL: return memcmp(&a.number, &b.number, sizeof a.number) == 0;
        case V_LIST: return a.list == b.list;
        case V_BLOCK: return a.block == b.block;
        default: return value_same(a, b);
        }
}

bool index_uses_same(const IndexUses *u, const Value *a, const Value *b)
{
        for (int i = 0; a && b && i < u->n; i++)
                if (!same_answer(a[i], b[i]))
                        return false;
        return a && b;
}
