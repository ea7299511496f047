/* Operands apart: every attention reads its queries, keys and values through views with no other user.
 *
 *   before                                    after
 *
 *   s = q k                                   q', k', v' = view(q), view(k), view(v)
 *   y = softmax(s) v                          s = q' k'
 *                                             y = softmax(s) v'
 *
 * A view costs nothing where the attention kernel can read through it.  Otherwise the view is copied
 * (plan/fuse.c).  So whether attention is one kernel depends on the graph alone, not on the layout of a
 * plan's buffers. An operand that is a view with one user stays as it is.
 *
 * Before: a graph after all other passes.  After: the same values.  No later pass may join equal nodes. */
#include "rebuild_private.h"

typedef struct {
        Node *of, *view;
        int next; /* next entry with the same `of`, plus 1; 0: none */
} OwnView;

typedef struct {
        Graph *g;
        Arena scratch;
        Uses *uses;
        int known;  /* number of nodes before the pass */
        int *first; /* by id: index of its newest entry in `own`, plus 1; 0: none */
        OwnView *own;
        int n, cap;
} Operands;

static Node *identity_view(Graph *g, Node *n)
{
        Node *view = NEW(g->arena, Node);
        View *v = NEW(g->arena, View);
        *view = (Node){.op = OP_VIEW, .type = n->type, .body = n->body, .nin = 1};
        view->attr = (Attr){.view = v, .slot = -1};
        view->in = NEW_ARRAY(g->arena, Node *, 1);
        view->in[0] = n;
        view->name = n->name;
        view->span = n->span;
        view->where = n->where;
        v->natom = n->type.rank;
        for (int a = 0; a < n->type.rank; a++)
                v->atom[a] = (Atom){n->type.dim[a], a, dim_is(n->type.dim[a], 1) ? -1 : a,
                                    dim_is(n->type.dim[a], 1) ? 0 : 1};
        return view;
}

static Node *copied_view(Graph *g, const Node *n)
{
        Node *view = NEW(g->arena, Node);
        *view = *n;
        view->in = NEW_ARRAY(g->arena, Node *, 1);
        view->in[0] = n->in[0];
        return view;
}

static void operands_take_own(Operands *o, Node **operand)
{
        Node *n = *operand;
        if (n->id >= o->known) /* the product of one attention has the scores of another */
                return;
        if (n->op == OP_VIEW && o->uses->nuser[n->id] == 1 && !o->uses->pinned[n->id])
                return;
        GROW(&o->scratch, o->own, o->n, o->cap);
        *operand = n->op == OP_VIEW ? copied_view(o->g, n) : identity_view(o->g, n);
        (*operand)->id = o->g->nnode++;
        o->own[o->n++] = (OwnView){n, *operand, o->first[n->id]};
        o->first[n->id] = o->n;
}

static void operands_find_sites(Operands *o, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                Scores s;
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        operands_find_sites(o, n->attr.region->body[k]);
                if (n->op != OP_MATMUL || why_no_attention(&o->scratch, o->g, o->uses, n, NULL, &s))
                        continue;
                operands_take_own(o, &s.core->in[0]);
                operands_take_own(o, &s.core->in[1]);
                operands_take_own(o, &n->in[1]);
        }
}

/* A view is placed directly after the node that it views. */
static void operands_append(void *context, Graph *g, Body *b, Node *n)
{
        const Operands *o = context;
        body_append(g, b, n);
        for (int k = o->first[n->id]; k; k = o->own[k - 1].next)
                body_append(g, b, o->own[k - 1].view);
}

bool separate_operands(Graph *g)
{
        const int old = g->nnode;
        Operands o = {.g = g, .scratch = {.out_of_memory = g->arena->out_of_memory}};
        o.uses = uses_of(&o.scratch, g);
        o.known = old;
        o.first = NEW_ARRAY(&o.scratch, int, g->nnode);
        operands_find_sites(&o, g->top);
        if (o.n) {
                rebuild_body(g, g->top, operands_append, &o);
                extend_copies(g, old);
        }
        arena_free(&o.scratch);
        return g->nnode > old;
}
