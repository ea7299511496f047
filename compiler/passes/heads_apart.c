/* Heads apart: a state that is read by heads is kept by heads, so that a rank's part of it lies in one piece (plan/layout.c).
 *
 *   before                                              after
 *
 *   s = append(read, v)          [time + past, h d]     s = append(read, view(v))        [h, time + past, d]
 *   view(s)                      [h, time + past, d]    s
 *
 * All that reads it views one of its axes as heads and what each has.  What is kept with an axis of heads in front stays as it is.
 *
 * Expects a graph whose passes are done.  Leaves StateVar.apart, and the same values. */
#include "passes.h"

typedef struct {
        int axis; /* of the state, that counts heads and what each has; -1: nothing is known yet */
        int64_t heads, width; /* heads 0: it can't be */
} Heads;

/* How a view splits an axis: the first digit that moves along it counts heads. */
static Heads split_of(const View *v, const Type *in, int axis)
{
        const Heads none = {axis, 0, 0};
        int64_t width = 0, heads = 0;
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                if (a->axis != axis || dim_is(a->size, 1))
                        continue;
                if (!dim_is_fixed(a->size) || (width && a->size.fixed * a->stride > width))
                        return none;
                if (!width) {
                        heads = a->size.fixed;
                        width = a->stride;
                }
        }
        bool inside = dim_is_fixed(v->offset[axis]) && v->offset[axis].fixed < width;
        return inside && heads > 1 && heads * width == in->dim[axis].fixed ? (Heads){axis, heads, width}
                                                                           : none;
}

/* The first digit of a view counts heads, if others count what each has. */
static Heads heads_of(const Node *append, const View *v)
{
        int axis = -1, others = 0;
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                if (a->axis < 0 || dim_is(a->size, 1))
                        continue;
                others += axis >= 0 && dim_is_fixed(a->size);
                axis = axis < 0 ? a->axis : axis;
        }
        if (axis < 0 || axis == append->attr.axis || !dim_is_fixed(append->type.dim[axis]) || !others)
                return (Heads){-1, 0, 0};
        return split_of(v, &append->type, axis);
}

/* Of all that reads `append`: views that agree. */
static void agree_on(const Uses *uses, const Node *append, Heads *h)
{
        bool read = uses->leaves[append->id] || uses->pinned[append->id] ||
                    uses->nuser[append->in[0]->id] > 1 || append->in[0]->op != OP_READ;
        for (int i = 0; i < uses->nuser[append->id] && !read; i++) {
                const Node *user = uses->user[append->id][i];
                const Heads own = user->op == OP_VIEW ? heads_of(append, user->attr.view) : (Heads){-1, 0, 0};
                bool same = h->axis < 0 || (own.axis == h->axis && own.width == h->width);
                *h = own.heads && same ? own : (Heads){0, 0, 0};
                read = h->heads == 0;
        }
        if (read)
                *h = (Heads){0, 0, 0};
}

/* By state: as what all its nodes are read. */
static Heads *find_heads_of_states(Arena *scratch, const Graph *g)
{
        const Uses *uses = uses_of(scratch, g);
        Heads *h = NEW_ARRAY(scratch, Heads, g->nstate);
        for (int i = 0; i < g->nstate; i++)
                h[i] = (Heads){-1, 0, 0};
        for (int i = 0; i < uses->n; i++) {
                const Node *n = uses->all[i];
                if (n->op == OP_APPEND)
                        agree_on(uses, n, &h[n->attr.state->id]);
        }
        return h;
}

/* --- the rewrite --------------------------------------------------------------------------------------------------- */

static bool has_heads_in_front(const Heads *h)
{
        return h->axis == 0 && h->width == 1;
}

static void type_by_heads(Type *t, const Heads *h)
{
        for (int a = t->rank++; a > 0; a--)
                t->dim[a] = t->dim[a - 1];
        t->dim[0] = dim_fixed(h->heads);
        t->dim[h->axis + 1] = dim_fixed(h->width);
}

static Node *view_by_heads(Graph *g, Node *append, const Heads *h)
{
        Node *x = append->in[1];
        View v = {.natom = x->type.rank + 1};
        v.atom[0] = (Atom){dim_fixed(h->heads), 0, h->axis, h->width};
        for (int a = 0; a < x->type.rank; a++)
                v.atom[a + 1] = (Atom){a == h->axis ? dim_fixed(h->width) : x->type.dim[a], a + 1, a, 1};
        return view_apply(g, append->body, x, &v, x->type.rank + 1, append->span, append->where);
}

/* A view of what is kept by heads now. */
static void see_by_heads(Graph *g, Node *view, const Heads *h)
{
        View *v = NEW(g->arena, View);
        bool first = true;
        *v = *view->attr.view;
        for (int i = 0; i < v->natom; i++) {
                Atom *a = &v->atom[i];
                const bool counts = a->axis == h->axis && first && !dim_is(a->size, 1);
                if (a->axis >= 0)
                        a->axis = counts ? 0 : a->axis + 1;
                if (counts) {
                        a->stride = 1;
                        first = false;
                }
        }
        for (int a = view->in[0]->type.rank - 1; a > 0; a--)
                v->offset[a] = v->offset[a - 1];
        v->offset[0] = dim_fixed(0);
        view->attr.view = v;
}

static void keep_by_heads(Graph *g, Body *b, const Heads *of)
{
        const Body old = *b;
        b->node = NULL;
        b->nnode = b->cap = 0;
        for (int i = 0; i < old.nnode; i++) {
                Node *n = old.node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        keep_by_heads(g, n->attr.region->body[k], of);
                const Heads *h = n->op == OP_READ || n->op == OP_APPEND ? &of[n->attr.state->id] : NULL;
                const bool changes = h && h->heads && !has_heads_in_front(h);
                if (changes && n->op == OP_APPEND)
                        n->in[1] = view_by_heads(g, n, h);
                if (changes) {
                        type_by_heads(&n->type, h);
                        n->attr.axis++;
                }
                if (n->op == OP_VIEW && n->in[0]->op == OP_APPEND) {
                        h = &of[n->in[0]->attr.state->id];
                        if (h->heads && !has_heads_in_front(h))
                                see_by_heads(g, n, h);
                }
                body_append(g, b, n);
        }
}

void heads_apart(Graph *g)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        const Heads *h = find_heads_of_states(&scratch, g);
        keep_by_heads(g, g->top, h);
        for (int i = 0; i < g->nstate; i++) {
                StateVar *s = g->state[i];
                s->apart = h[i].heads > 0;
                if (!s->apart || has_heads_in_front(&h[i]))
                        continue;
                type_by_heads(&s->type, &h[i]);
                s->axis++;
        }
        arena_free(&scratch);
}
