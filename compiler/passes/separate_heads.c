/* Heads apart: a state that is read by heads is stored by heads, so that a rank's share of it is contiguous
 * (plan/layout.c).
 *
 *   before                                              after
 *
 *   s = append(read, v)          [time + past, h d]     s = append(read, view(v))        [h, time + past, d]
 *   view(s)                      [h, time + past, d]    s
 *
 * Applies if all readers view one of the state's axes as heads and the width of a head.  A state whose first
 * axis counts heads is unchanged.
 *
 * Expects a graph whose passes are done.  Leaves StateVar.per_head, and the same values. */
#include "rebuild_private.h"

typedef struct {
        int axis;             /* axis of the state that counts heads and their elements; -1: not known yet */
        int64_t heads, width; /* heads 0: impossible */
} StateHeads;

/* How a view splits an axis: the first digit that moves along it counts heads. */
static StateHeads split_of(const View *v, const Type *in, int axis)
{
        const StateHeads none = {axis, 0, 0};
        int64_t width = 0, heads = 0;
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                if (a->axis != axis)
                        continue;
                if (!dim_is_fixed(a->size) || (width && a->size.fixed * a->stride > width))
                        return none;
                if (!width) {
                        heads = a->size.fixed;
                        width = a->stride;
                }
        }
        bool inside = dim_is_fixed(v->offset[axis]) && v->offset[axis].fixed < width;
        return inside && dim_is(in->dim[axis], heads * width) ? (StateHeads){axis, heads, width} : none;
}

/* The heads by a view: its first digit, if the other digits count the elements of a head. */
static StateHeads heads_of(const Node *append, const View *v)
{
        int axis = -1, others = 0;
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                if (a->axis < 0)
                        continue;
                others += axis >= 0 && dim_is_fixed(a->size);
                axis = axis < 0 ? a->axis : axis;
        }
        if (axis < 0 || axis == append->attr.axis || !others)
                return (StateHeads){-1, 0, 0};
        return split_of(v, &append->type, axis);
}

/* Whether all readers of `append` are views with the same heads. */
static void agree_on(const Uses *uses, const Node *append, StateHeads *h)
{
        for (int i = 0; i < uses->nuser[append->id]; i++) {
                const Node *user = uses->user[append->id][i];
                const StateHeads own =
                        user->op == OP_VIEW ? heads_of(append, user->attr.view) : (StateHeads){-1, 0, 0};
                bool same = h->axis < 0 || (own.axis == h->axis && own.width == h->width);
                *h = own.heads && same ? own : (StateHeads){0, 0, 0};
        }
}

/* Numbers in 8-bit codes that share a scale must be in one head: otherwise their values would depend on the
 * number of ranks. */
static bool splits_groups(const StateVar *s, const StateHeads *h)
{
        int64_t row = h->width;
        for (int a = h->axis + 1; a < s->type.rank && dim_is_fixed(s->type.dim[a]); a++)
                row *= s->type.dim[a].fixed;
        return s->storage == STORAGE_Q8 && h->axis > s->axis && row % s->group != 0;
}

/* The heads of each state, by all readers of its nodes. */
static StateHeads *find_heads_of_states(Arena *scratch, const Graph *g)
{
        const Uses *uses = uses_of(scratch, g);
        StateHeads *h = NEW_ARRAY(scratch, StateHeads, g->nstate);
        for (int i = 0; i < g->nstate; i++)
                h[i] = (StateHeads){-1, 0, 0};
        for (int i = 0; i < uses->n; i++) {
                const Node *n = uses->all[i];
                if (n->op == OP_APPEND)
                        agree_on(uses, n, &h[n->attr.state->id]);
        }
        for (int i = 0; i < g->nstate; i++)
                if (h[i].heads && splits_groups(g->state[i], &h[i]))
                        h[i] = (StateHeads){0, 0, 0};
        return h;
}

/* --- the rewrite --------------------------------------------------------------------------------------------------- */

static bool has_heads_in_front(const StateHeads *h)
{
        return h->axis == 0 && h->width == 1;
}

static void type_by_heads(Type *t, const StateHeads *h)
{
        for (int a = t->rank++; a > 0; a--)
                t->dim[a] = t->dim[a - 1];
        t->dim[0] = dim_fixed(h->heads);
        t->dim[h->axis + 1] = dim_fixed(h->width);
}

static Node *view_by_heads(Graph *g, Node *append, const StateHeads *h)
{
        Node *x = append->in[1];
        View v = {.natom = x->type.rank + 1};
        v.atom[0] = (Atom){dim_fixed(h->heads), 0, h->axis, h->width};
        for (int a = 0; a < x->type.rank; a++)
                v.atom[a + 1] = (Atom){a == h->axis ? dim_fixed(h->width) : x->type.dim[a], a + 1, a, 1};
        return view_apply(g, append->body, x, &v, x->type.rank + 1, append->span, append->where);
}

/* Turns a view into a view of the state stored by heads. */
static void see_by_heads(Graph *g, Node *view, const StateHeads *h)
{
        View *v = NEW(g->arena, View);
        bool first = true;
        *v = *view->attr.view;
        for (int i = 0; i < v->natom; i++) {
                Atom *a = &v->atom[i];
                const bool counts = a->axis == h->axis && first;
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

/* heads: the StateHeads of each state. */
static void heads_append(void *heads, Graph *g, Body *b, Node *n)
{
        const StateHeads *of = heads,
                         *h = n->op == OP_READ || n->op == OP_APPEND ? &of[n->attr.state->id] : NULL;
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

bool separate_heads(Graph *g)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        StateHeads *h = find_heads_of_states(&scratch, g);
        const int old = g->nnode;
        rebuild_body(g, g->top, heads_append, h);
        extend_copies(g, old);
        for (int i = 0; i < g->nstate; i++) {
                StateVar *s = g->state[i];
                s->per_head = h[i].heads > 0;
                if (!s->per_head || has_heads_in_front(&h[i]))
                        continue;
                type_by_heads(&s->type, &h[i]);
                s->axis++;
        }
        arena_free(&scratch);
        return g->nnode > old;
}
