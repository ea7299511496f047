/* `along t : count { … return e }`: iterations over the positions of an axis.
 *
 * The body is elaborated once.  A name that it assigns and that exists before is carried from a position to the
 * next one, and has its last value afterwards.  x[t] is a slice whose offset is the position (Graph.along);
 * a returned value gets the axis back, where Node.position says that its position is, or in front.  Weights
 * of the body are those of every position. */
#include "elaborate_private.h"

typedef struct {
        const char *name;
        Value before;
        Node *start;      /* NULL: known at compile time, and the same after each position */
        const Node *like; /* the tensor that it must start as, in the next attempt; or NULL */
        Span span;
} AlongName;

typedef struct {
        Elaborator *elaborator;
        Scope *scope;
        const Ast *ast;
        Region *region;
        Dim count;
        AlongName *carried;
        int ncarried, capacity;
} AlongRun;

/* ---- carried values ---- */

static void along_add_carried(void *to, const char *name)
{
        AlongRun *r = to;
        Elaborator *e = r->elaborator;
        const Binding *b = scope_local(r->scope, name);
        for (int i = 0; i < r->ncarried; i++)
                if (r->carried[i].name == name)
                        return;
        if (!b || is_poison(b->value))
                return;
        GROW(e->arena, r->carried, r->ncarried, r->capacity);
        r->carried[r->ncarried++] = (AlongName){.name = name,
                                                .before = b->value,
                                                .start = b->value.kind == V_TENSOR ? b->value.tensor : NULL,
                                                .span = b->span};
}

/* A number that the body makes a tensor starts as one: `m = 0` before `m = max(m, x[t])`.  Integers that it
 * makes reals start as reals: `full(0, [4])`. */
static bool along_start_tensor(AlongRun *r, AlongName *c)
{
        Elaborator *e = r->elaborator;
        bool number = is_number(c->before);
        if (c->start) {
                c->start = build(e->g, e->body, e->diag, OP_REAL_OF, 1, &c->start, &(Attr){.slot = -1},
                                 c->span, e->where);
                return c->start != NULL;
        }
        if (number && !check_float(e, c->before.number, c->span))
                return false;
        if (c->before.kind == V_NONE || c->before.kind == V_TEXT || c->before.kind == V_BLOCK) {
                poisoned(e, c->span,
                         "%s is carried by the along and starts as %s, not as a tensor or a number", c->name,
                         value_text_of(e, c->before));
                diag_hint(e->diag, "give what the body alone uses another name");
                return false;
        }
        Node *n =
                number ? build_number(e->g, e->body, c->before.number, c->like->type.dtype, c->span, e->where)
                       : to_tensor(e, c->before, c->span);
        if (n && number && c->like->type.rank > 0)
                n = view_broadcast(e->g, e->body, n, &c->like->type, c->span, e->where);
        c->start = n;
        return n != NULL;
}

static Scope *along_scope(AlongRun *r, Body *body)
{
        Elaborator *e = r->elaborator;
        Scope *scope = scope_new(e, r->scope, false);
        const Ast *each = r->ast->kid[0];
        r->region->ncarry = 0;
        for (int i = 0; i < r->ncarried; i++) {
                const AlongName *c = &r->carried[i];
                Value v = c->before;
                if (c->start) {
                        Attr attr = {.index = r->region->ncarry++, .slot = -1};
                        v = value_tensor(node_new(e->g, body, OP_CARRY, 0, NULL, attr, c->start->type,
                                                  each->span, e->where));
                        v.tensor->name = c->name;
                }
                scope_set(e, scope, c->name, v, each->span);
        }
        scope_set(e, scope, each->name, value_dim(e, dim_named(NAMED_ALONG + r->region->along - 1)),
                  each->span);
        return scope;
}

/* ---- one position ---- */

/* "k": the name by which the body reads a value of all positions */
static const Node *along_named(const Node *n)
{
        while (!n->name && n->op == OP_VIEW)
                n = n->in[0];
        return n;
}

static bool runs_along(const AlongRun *r, const Node *n)
{
        for (int i = 0; i < n->type.rank; i++)
                if (dim_equal(n->type.dim[i], r->count))
                        return true;
        return false;
}

/* What computes with all positions of an axis whose size is no number stands outside. */
static bool along_sees_one(const AlongRun *r, const Body *body)
{
        Elaborator *e = r->elaborator;
        for (int i = 0; i < body->nnode && !dim_is_fixed(r->count); i++) {
                const Node *n = body->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        if (!along_sees_one(r, n->attr.region->body[k]))
                                return false;
                for (int k = n->op == OP_GATHER; k < n->nin && n->op != OP_VIEW; k++) {
                        if (!runs_along(r, n->in[k]))
                                continue;
                        const Node *x = along_named(n->in[k]);
                        const char *name = x->name ? x->name : "this", *t = r->ast->kid[0]->name,
                                   *count = dim_text(e->diag->arena, e->g, r->count);
                        poisoned(e, n->span,
                                 "%s runs along %s; within `along %s : %s` it is seen at one position: "
                                 "%s[%s]",
                                 name, count, t, count, x->name ? name : "x", t);
                        diag_hint(e->diag, "what looks at other positions stands before or after the along");
                        return false;
                }
        }
        return true;
}

/* Records the carried values after a position.  *again: a number has become a tensor. */
static bool along_leave(AlongRun *r, const Scope *scope, Body *body, bool *again)
{
        Elaborator *e = r->elaborator;
        int carry = 0;
        bool good = true;
        body->next = NEW_ARRAY(e->arena, Node *, r->ncarried);
        for (int i = 0; i < r->ncarried; i++) {
                AlongName *c = &r->carried[i];
                const Binding *b = vars_find(scope->vars, c->name);
                if (!c->start && value_same(b->value, c->before))
                        continue;
                Node *next = is_poison(b->value) ? NULL : to_tensor(e, b->value, b->span);
                if (!next)
                        return false;
                bool as_reals = c->start && c->start->type.dtype == INT && next->type.dtype == REAL &&
                                same_dims(&c->start->type, &next->type);
                if (!c->start || as_reals) {
                        c->like = next;
                        *again = true;
                        continue;
                }
                if (!type_equal(&next->type, &c->start->type)) {
                        poisoned(e, b->span, "%s is %s before the along and %s after a position", c->name,
                                 whole_type(e, &c->start->type), whole_type(e, &next->type));
                        diag_note(e->diag, c->span, "%s before it", c->name);
                        if (next->position)
                                diag_hint(e->diag, "x[%s] keeps the axis of its position, with size 1",
                                          r->ast->kid[0]->name);
                        good = false;
                }
                body->next[carry++] = next;
        }
        return good;
}

static bool along_stack(AlongRun *r, Body *body)
{
        Elaborator *e = r->elaborator;
        Value v = e->returned;
        if (!e->has_returned)
                return poisoned(e, r->ast->span, "this along returns nothing: it ends with `return`"), false;
        bool several = e->returned_several && v.kind == V_LIST;
        const Value *item = several ? v.list->item : &v;
        r->region->nstack = several ? v.list->n : 1;
        body->stack = NEW_ARRAY(e->arena, Node *, r->region->nstack);
        for (int i = 0; i < r->region->nstack; i++) {
                body->stack[i] = is_poison(item[i]) ? NULL : to_tensor(e, item[i], r->ast->kid[2]->span);
                if (!body->stack[i])
                        return false;
        }
        return true;
}

/* Elaborates the body.  *again: some carried values must start as tensors, which they now do. */
static Body *along_body(AlongRun *r, bool *again)
{
        Elaborator *e = r->elaborator;
        Body *outer = e->body, *body = body_new(e->g, r->region);
        Value returned = e->returned;
        bool has_returned = e->has_returned, may_return = e->may_return;
        int errors = e->diag->count;
        Scope *scope = along_scope(r, body);
        e->body = body;
        e->has_returned = false;
        e->may_return = e->in_along = true;
        run_statements(e, scope, r->ast->kid[2]);
        bool good = e->diag->count == errors && !e->stopped;
        good = good && along_sees_one(r, body) && along_leave(r, scope, body, again) && along_stack(r, body);
        e->body = outer;
        e->returned = returned;
        e->has_returned = has_returned;
        e->may_return = may_return;
        e->in_along = false;
        return good ? body : NULL;
}

/* Elaborates it again while numbers become tensors.  NULL after an error. */
static Body *along_attempts(AlongRun *r)
{
        Elaborator *e = r->elaborator;
        for (;;) {
                int64_t change = changes_mark(e), instances = e->ninstance;
                int first = e->g->nnode;
                bool again = false;
                Body *body = along_body(r, &again);
                if (!body || !again)
                        return body;
                changes_undo(e, change, instances);
                e->g->nnode = first;
                for (int i = 0; i < r->ncarried; i++) {
                        if (r->carried[i].like && !along_start_tensor(r, &r->carried[i]))
                                return NULL;
                        r->carried[i].like = NULL;
                }
        }
}

/* The same without messages: NULL, and everything is as before, if there are any. */
static Body *along_quietly(AlongRun *r)
{
        Elaborator *e = r->elaborator;
        Diag *diag = e->diag, quiet = {.arena = e->arena};
        const bool was_stopped = e->stopped;
        const int64_t change = changes_mark(e), instances = e->ninstance;
        const int first = e->g->nnode;
        AlongName *before = NEW_ARRAY(e->arena, AlongName, r->ncarried);
        for (int i = 0; i < r->ncarried; i++)
                before[i] = r->carried[i];
        e->diag = &quiet;
        Body *body = along_attempts(r);
        e->diag = diag;
        if (body)
                return body;
        e->stopped = was_stopped;
        changes_undo(e, change, instances);
        e->g->nnode = first;
        for (int i = 0; i < r->ncarried; i++)
                r->carried[i] = before[i];
        return NULL;
}

/* Whether the body carries integers; as_reals: they become reals. */
static bool along_has_integers(AlongRun *r, bool as_reals)
{
        bool any = false;
        for (int i = 0; i < r->ncarried; i++) {
                AlongName *c = &r->carried[i];
                if (!c->start || c->start->type.dtype != INT)
                        continue;
                any = true;
                if (as_reals)
                        along_start_tensor(r, c);
        }
        return any;
}

/* Integers that the body can't carry, as where it makes them reals on the way, are carried as reals. */
static Body *along_run(AlongRun *r)
{
        if (!along_has_integers(r, false))
                return along_attempts(r);
        Body *body = along_quietly(r);
        if (body)
                return body;
        AlongName *before = NEW_ARRAY(r->elaborator->arena, AlongName, r->ncarried);
        for (int i = 0; i < r->ncarried; i++)
                before[i] = r->carried[i];
        along_has_integers(r, true);
        body = along_quietly(r);
        if (body)
                return body;
        for (int i = 0; i < r->ncarried; i++)
                r->carried[i] = before[i];
        return along_attempts(r);
}

/* The index of this count in Graph.along, or -1 after an error. */
static int along_index(Elaborator *e, const Ast *ast, Dim count)
{
        Graph *g = e->g;
        for (int i = 0; i < g->nalong; i++)
                if (dim_equal(g->along[i].count, count))
                        return i;
        if (g->nalong == MAX_ALONG)
                return poisoned(e, ast->kid[1]->span,
                                "the alongs of a model have at most %d different counts", MAX_ALONG),
                       -1;
        g->along[g->nalong] = (Along){.name = ast->kid[0]->name, .count = count};
        return g->nalong++;
}

static AlongRun *along_begin(Elaborator *e, Scope *scope, const Ast *ast)
{
        Dim count;
        if (!want_dim(e, eval(e, scope, ast->kid[1], NULL), ast->kid[1]->span,
                      arena_printf(e->diag->arena, "the number of positions of %s", ast->kid[0]->name),
                      &count))
                return NULL;
        if (dim_is(count, 0))
                return poisoned(e, ast->kid[1]->span, "this along has no positions"), NULL;
        if (e->in_along) {
                poisoned(e, ast->span, "an along within another");
                diag_hint(e->diag, "the two axes may be made one: reshape");
                return NULL;
        }
        if (e->nregion == MAX_REGIONS)
                return poisoned(e, ast->span, "repeats are more than %d deep", MAX_REGIONS), NULL;
        int which = along_index(e, ast, count);
        if (which < 0)
                return NULL;
        AlongRun *r = NEW(e->arena, AlongRun);
        *r = (AlongRun){.elaborator = e, .scope = scope, .ast = ast, .count = count};
        Region *region = r->region = NEW(e->arena, Region);
        region->name = ast->kid[0]->name;
        region->iterations = 1;
        region->body_of = NEW_ARRAY(e->arena, uint8_t, 1);
        region->along = which + 1;
        find_assigned(ast->kid[2], along_add_carried, r);
        return r;
}

/* ---- the whole ---- */

static Node *along_result(AlongRun *r, int index)
{
        Elaborator *e = r->elaborator;
        return build(e->g, e->body, e->diag, OP_RESULT, 1, &r->region->repeat,
                     &(Attr){.index = index, .slot = -1}, r->ast->span, e->where);
}

/* A returned value with the axis of all positions where each has its own. */
static Value along_value(AlongRun *r, int i)
{
        Elaborator *e = r->elaborator;
        Node *y = along_result(r, r->region->ncarry + i);
        int position = r->region->body[0]->stack[i]->position, order[MAX_RANK];
        if (!y || !position)
                return value_tensor(y);
        y = view_drop(e->g, e->body, y, position, r->ast->span, e->where);
        for (int axis = 0; y && axis < y->type.rank; axis++)
                order[axis] = axis == position - 1 ? 0 : axis + (axis < position - 1);
        return value_tensor(y ? view_transpose(e->g, e->body, y, order, r->ast->span, e->where) : NULL);
}

static void along_carry_on(AlongRun *r)
{
        Elaborator *e = r->elaborator;
        int carry = 0;
        for (int i = 0; i < r->ncarried; i++) {
                const AlongName *c = &r->carried[i];
                Value v = c->start ? value_tensor(along_result(r, carry++)) : c->before;
                name_variable(e, v, c->name);
                scope_set(e, r->scope, c->name, v, r->ast->kid[0]->span);
        }
}

Value eval_along(Elaborator *e, Scope *scope, const Ast *ast)
{
        AlongRun *r = along_begin(e, scope, ast);
        if (!r)
                return POISON;
        e->nregion++;
        Body *body = along_run(r);
        e->nregion--;
        if (!body)
                return POISON;
        Region *region = r->region;
        region->nbody = 1;
        region->body = NEW_ARRAY(e->arena, Body *, 1);
        region->body[0] = body;
        Node **start = NEW_ARRAY(e->arena, Node *, region->ncarry);
        for (int i = 0, carry = 0; i < r->ncarried; i++)
                if (r->carried[i].start)
                        start[carry++] = r->carried[i].start;
        region->repeat = build(e->g, e->body, e->diag, OP_REPEAT, region->ncarry, start,
                               &(Attr){.region = region, .slot = -1}, ast->span, e->where);
        if (!region->repeat)
                return POISON;
        Value *item = NEW_ARRAY(e->arena, Value, region->nstack);
        for (int i = 0; i < region->nstack; i++)
                item[i] = along_value(r, i);
        along_carry_on(r);
        return region->nstack == 1 ? item[0] : value_list(e, region->nstack, item);
}
