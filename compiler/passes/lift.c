/* Lift: products of an `along` that depend on no carried value are computed for all positions at once, before it.
 *
 *      before                                              after
 *      along t : time {                                    wx = x @ w
 *          h = tanh(x[t] @ w + h @ r)                      along t : time { h = tanh(wx[t] + h @ r) }
 *      }
 *
 * The bits stay: a row of a product does not depend on the other rows.  But w is read once, and not at each position.  The product's
 * operands move with it: views, elementwise ops and folds of pieces x[t] and of values that all positions share.  In the body
 * a piece of the product replaces it.  Loop-invariant code motion (stage.c) moves only values that all positions share. */
#include "passes.h"

enum { SHARED = -1 };

typedef struct {
        Graph *g;
        Body *body, *to; /* of the along; the one around it */
        Dim count, at;   /* the number of positions, and the position */
        int limit;
        int *axis; /* [limit]: 1 + the axis of the position, if all positions can be computed at once; SHARED; 0: neither */
        bool *marked;    /* [limit]: to be lifted */
        Node **up;       /* [limit]: for all positions */
        Node **replaced; /* [limit]: the piece in place of a product */
} Lift;

static bool is_outside(const Lift *l, const Node *n)
{
        return n->body != l->body;
}

/* Whether the node is the same for all positions. */
static bool is_shared(const Lift *l, const Node *n)
{
        return is_outside(l, n) || l->axis[n->id] == SHARED;
}

/* Whether a node of the body can be: all its operands are. */
static bool all_shared(const Lift *l, const Node *n)
{
        const OpFamily family = op_info[n->op].family;
        if (family == LEAF)
                return n->op == OP_WEIGHT || n->op == OP_INDEX || n->op == OP_CONST;
        if ((family != POINT && family != REDUCE && n->op != OP_VIEW && n->op != OP_MATMUL) ||
            takes_position(n))
                return false;
        for (int i = 0; i < n->nin; i++)
                if (!is_shared(l, n->in[i]))
                        return false;
        return true;
}

/* 1 + the output's axis of one element: `preferred` if it is one, else the only one; 0: none, or several */
static int axis_of_one(const Node *view, int preferred)
{
        const View *v = view->attr.view;
        int found = 0, n = 0;
        for (int i = 0; i < v->natom; i++) {
                const int out = v->atom[i].out;
                if (!dim_is(v->atom[i].size, 1))
                        continue;
                if (out == preferred)
                        return out + 1;
                found = out + 1;
                n++;
        }
        return n == 1 ? found : 0;
}

/* The input's axis that a view reads at the position, or -1. */
static int axis_at_position(const Lift *l, const Node *n)
{
        int found = -1;
        for (int a = 0; a < n->in[0]->type.rank; a++) {
                if (!names_position(n->attr.view->offset[a]))
                        continue;
                if (found >= 0 || !dim_equal(n->attr.view->offset[a], l->at) ||
                    !dim_equal(n->in[0]->type.dim[a], l->count))
                        return -1;
                found = a;
        }
        return found;
}

/* 1 + the output's axis for the position, of a view of a lifted node; 0: none */
static int axis_through(const Lift *l, const Node *n)
{
        return takes_position(n) ? 0 : axis_of_one(n, l->axis[n->in[0]->id] - 1);
}

/* 1 + the axis of the position in the node, if it can be computed for all positions at once; else 0. */
static int lifted_axis(const Lift *l, const Node *n)
{
        int axis = 0;
        if (n->op == OP_VIEW && is_outside(l, n->in[0])) {
                const int a = axis_at_position(l, n);
                return a >= 0 ? axis_of_one(n, n->in[0]->type.rank == n->type.rank ? a : -1) : 0;
        }
        if (n->op == OP_VIEW)
                return l->axis[n->in[0]->id] > 0 ? axis_through(l, n) : 0;
        const OpFamily family = op_info[n->op].family;
        if ((family != POINT && family != REDUCE && n->op != OP_MATMUL) || n->op == OP_TOP)
                return 0;
        for (int i = 0; i < n->nin; i++) {
                const Node *x = n->in[i];
                if (is_shared(l, x))
                        continue;
                const int own = l->axis[x->id] > 0 ? l->axis[x->id] + n->type.rank - x->type.rank : 0;
                if (!own || (axis && own != axis))
                        return 0;
                axis = own;
        }
        if (!dim_is(n->type.dim[axis - 1], 1) || (family == REDUCE && n->attr.axis == axis - 1))
                return 0;
        /* a product's right operand is the same for all positions */
        return n->op == OP_MATMUL && !is_shared(l, n->in[1]) ? 0 : axis;
}

static void mark_lifted(Lift *l, const Node *n)
{
        if (is_outside(l, n) || l->marked[n->id])
                return;
        l->marked[n->id] = true;
        for (int i = 0; i < n->nin; i++)
                mark_lifted(l, n->in[i]);
}

/* A view whose output axis of the position runs along the input's. */
static Node *lifted_view(Lift *l, const Node *n)
{
        const bool outside = is_outside(l, n->in[0]);
        const int from = outside ? axis_at_position(l, n) : l->axis[n->in[0]->id] - 1,
                  to = l->axis[n->id] - 1;
        View view = *n->attr.view;
        view.offset[from] = dim_fixed(0);
        for (int i = 0; i < view.natom; i++)
                if (view.atom[i].out == to)
                        view.atom[i] = (Atom){.size = l->count, .out = to, .axis = from, .stride = 1};
        return view_apply(l->g, l->to, outside ? n->in[0] : l->up[n->in[0]->id], &view, n->type.rank, n->span,
                          n->where);
}

static Node *lifted_node(Lift *l, const Node *n)
{
        Diag diag = {.arena = l->g->arena};
        Node *in[3];
        if (n->nin == 0)
                return node_new(l->g, l->to, n->op, 0, NULL, n->attr, n->type, n->span, n->where);
        for (int i = 0; i < n->nin; i++)
                if (!(in[i] = is_outside(l, n->in[i]) ? n->in[i] : l->up[n->in[i]->id]))
                        return NULL;
        if (n->op != OP_VIEW)
                return build(l->g, l->to, &diag, n->op, n->nin, in, &n->attr, n->span, n->where);
        if (l->axis[n->id] != SHARED)
                return lifted_view(l, n);
        return view_apply(l->g, l->to, in[0], n->attr.view, n->type.rank, n->span, n->where);
}

/* The products of the body, and what they read. */
static bool find_lifted(Lift *l)
{
        bool any = false;
        for (int i = 0; i < l->body->nnode; i++) {
                const Node *n = l->body->node[i];
                l->axis[n->id] = all_shared(l, n) ? SHARED : lifted_axis(l, n);
                if (n->op == OP_MATMUL && l->axis[n->id] > 0) {
                        mark_lifted(l, n);
                        any = true;
                }
        }
        return any;
}

static Node *lift_current(const Lift *l, Node *n)
{
        return l->replaced[n->id] ? l->replaced[n->id] : n;
}

/* "from_x", the name of the call, or else of the product */
static const char *lifted_name(const Node *n)
{
        return n->where ? n->where->name : n->name ? n->name : op_info[n->op].text;
}

/* `to` is being rebuilt: its nodes up to the along are there. */
static void lift_along(Graph *g, Arena *scratch, Region *r, Body *to, Text *said)
{
        Lift l = {.g = g,
                  .body = r->body[0],
                  .to = to,
                  .count = positions_of(g, r),
                  .at = dim_named(NAMED_ALONG + r->along - 1),
                  .limit = g->nnode};
        l.axis = NEW_ARRAY(scratch, int, l.limit);
        l.marked = NEW_ARRAY(scratch, bool, l.limit);
        l.up = NEW_ARRAY(scratch, Node *, l.limit);
        l.replaced = NEW_ARRAY(scratch, Node *, l.limit);
        if (!find_lifted(&l))
                return;
        Body old = *l.body;
        l.body->node = NULL;
        l.body->nnode = l.body->cap = 0;
        for (int i = 0; i < old.nnode; i++) {
                Node *n = old.node[i];
                if (l.marked[n->id]) {
                        l.up[n->id] = lifted_node(&l, n);
                        if (l.up[n->id] && !l.up[n->id]->name)
                                l.up[n->id]->name = n->name;
                }
                for (int k = 0; k < n->nin; k++)
                        n->in[k] = lift_current(&l, n->in[k]);
                body_append(g, l.body, n);
                if (n->op != OP_MATMUL || l.axis[n->id] <= 0 || !l.up[n->id])
                        continue;
                l.replaced[n->id] = view_slice(g, l.body, l.up[n->id], l.axis[n->id] - 1, l.at, dim_fixed(1),
                                               n->span, n->where);
                text_printf(said, "%s at line %d: computed for all positions, before the along\n",
                            lifted_name(n), span_line(n->where ? n->where->call : n->span));
        }
        for (int i = 0; i < r->ncarry; i++)
                l.body->next[i] = lift_current(&l, l.body->next[i]);
        for (int i = 0; i < r->nstack; i++)
                l.body->stack[i] = lift_current(&l, l.body->stack[i]);
}

static void lift_body(Graph *g, Arena *scratch, Body *b, Text *said)
{
        Body old = *b;
        b->node = NULL;
        b->nnode = b->cap = 0;
        for (int i = 0; i < old.nnode; i++) {
                Node *n = old.node[i];
                Region *r = n->op == OP_REPEAT ? n->attr.region : NULL;
                for (int k = 0; r && k < r->nbody; k++)
                        lift_body(g, scratch, r->body[k], said);
                if (r && r->along)
                        lift_along(g, scratch, r, b, said);
                body_append(g, b, n);
        }
}

bool lift(Graph *g, Text *said)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        const int before = g->nnode;
        lift_body(g, &scratch, g->top, said);
        arena_free(&scratch);
        return g->nnode > before;
}
