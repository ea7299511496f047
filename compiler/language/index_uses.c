/* Uses of the iteration's index in the body of a repeat.
 *
 * An iteration depends on its number only through the name of the index, which is visible only in the body's
 * text.  So the body of an iteration is determined by the values of some expressions in that text: the
 * largest ones that mention the index and no name that the body binds itself, as `at(mask, i)` or `i <
 * dense`.  Two iterations with the same values have the same body; the second need not run.
 *
 * If such an expression computes with tensors or declares weights, all iterations run.  Ranges such as
 * `gate[.., e..e + 1]` may differ, if they are gathers by a constant (is_varying): then the constant gets a row for
 * the iteration. */
#include "elaborate_private.h"

#include <string.h>

enum { MAX_USES = 16, MAX_BOUND = 256 };

struct IndexUses {
        const Ast *index;                           /* its name, after `repeat` or `over` */
        const Ast *use[MAX_USES], *range[MAX_USES]; /* range: of which two uses are the bounds; or NULL */
        const char *bound[MAX_BOUND];               /* names that the body assigns */
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

static void uses_add(IndexUses *u, const Ast *use, const Ast *range)
{
        u->hopeless = u->n == MAX_USES;
        if (u->hopeless)
                return;
        u->range[u->n] = range;
        u->use[u->n++] = use;
}

/* Whether both bounds depend on the index, and have a value before the iteration runs. */
static bool is_moving_range(const IndexUses *u, const Ast *t)
{
        bool moves = t->kind == AST_RANGE;
        for (int i = 0; i < 2 && moves; i++)
                moves = t->kid[i] && mentions(u, t->kid[i]) && is_question(u, t->kid[i]);
        return moves;
}

static bool has_moving_range(const IndexUses *u, const Ast *t)
{
        bool found = is_moving_range(u, t);
        for (int i = 0; i < t->nkid && !found; i++)
                found = t->kid[i] && has_moving_range(u, t->kid[i]);
        return found;
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
        if (is_moving_range(u, t)) {
                uses_add(u, t->kid[0], t);
                uses_add(u, t->kid[1], t);
                return;
        }
        if (ast_is_expression(t->kind) && is_question(u, t) && !has_moving_range(u, t)) {
                uses_add(u, t, NULL);
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

static bool bounds_move(const Value *a, const Value *b)
{
        for (int i = 0; i < 2; i++)
                if (a[i].kind != V_INT || b[i].kind != V_INT || a[i].number < 0 || b[i].number < 0)
                        return false;
        return a[1].number - a[0].number == b[1].number - b[0].number;
}

bool index_uses_same(const Elaborator *e, const IndexUses *u, const Value *a, const Value *b)
{
        for (int i = 0; a && b && i < u->n; i++)
                if (u->range[i] && is_varying(e, u->range[i]->span)) {
                        if (!bounds_move(&a[i], &b[i]))
                                return false;
                        i++;
                } else if (!same_answer(a[i], b[i])) {
                        return false;
                }
        return a && b;
}

/* Whether `at` is the constant of a gather in the body that takes the rows from `first` on, and has those from `next` on. */
static bool gathers_rows(const Body *body, const Node *at, int64_t kept, double first, double next)
{
        const Literal *l = at->attr.literal;
        bool found = false;
        for (int64_t i = 0; i < l->count; i++)
                if (l->value[(l->iterations > 1 ? kept * l->count : 0) + i] != first + (double)i)
                        return false;
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                for (int k = 0; k < n->nin; k++) {
                        if (n->in[k] != at)
                                continue;
                        if (n->op != OP_GATHER || k != 1 || n->nin != 2 ||
                            !dim_is_fixed(n->in[0]->type.dim[0]) ||
                            next + (double)l->count > (double)n->in[0]->type.dim[0].fixed)
                                return false;
                        found = true;
                }
        }
        return found;
}

static void move_rows(Arena *arena, const Region *region, Literal *table, double first, int64_t iteration)
{
        Literal row = {1, table->count, NEW_ARRAY(arena, double, table->count)};
        for (int64_t i = 0; i < row.count; i++)
                row.value[i] = first + (double)i;
        literal_set_row(arena, region, table, &row, iteration);
}

bool index_uses_move(Arena *arena, const Elaborator *e, const IndexUses *u, const Iteration *kept,
                     const Value *answers, int64_t iteration)
{
        const Body *body = kept->body;
        for (int pass = 0; pass < 2; pass++) /* checks all, then sets the rows */
                for (int k = 0; k < u->n; k++) {
                        if (!u->range[k] || !is_varying(e, u->range[k]->span))
                                continue;
                        const Value *from = &kept->answers[k], *to = &answers[k++];
                        bool found = false;
                        for (int i = 0; i < body->nnode; i++) {
                                Node *at = body->node[i];
                                const Span *span = &u->range[k]->span;
                                if (at->op != OP_CONST || at->span.source != span->source ||
                                    at->span.begin != span->begin || at->span.end != span->end)
                                        continue;
                                found = true;
                                if (!pass &&
                                    !gathers_rows(body, at, kept->iteration, from->number, to->number))
                                        return false;
                                if (pass)
                                        move_rows(arena, body->region, at->attr.literal, to->number,
                                                  iteration);
                        }
                        if (!found)
                                return false;
                }
        return true;
}
