/* Three passes reduce the state that is kept between calls, before the state form is built:
 *
 *   sums     a sum of products that becomes scores is one product; a difference of softmaxes is taken after the
 *            product with the values (absorb_sums.c)
 *   absorb   products with weights move to the other side of the contraction that reads them, where that costs less
 *            (absorb_products.c)
 *   slices   a value that is an input of a join which is read whole becomes a slice of the join, so that only the
 *            join is kept:
 *
 *          J = join(c, r) axis 1                         J = join(c, r) axis 1
 *          s = q @ J'                                    s = q @ J'
 *          y = softmax(s) @ c                            y = softmax(s) @ J[.., 0..512]
 *
 * The causal pass then chooses which values before these contractions are kept: see forms_kept.c.
 *
 * Before: a verified graph without state.  After: the same answers within rounding; dead nodes remain. */
#include "absorb_private.h"

/* --- a graph with other nodes ------------------------------------------------------------------------------------ */

static void replace_in(Replacing *r, Body *body);

static void replace_in_region(Replacing *r, const Region *region)
{
        for (int k = 0; k < region->nbody; k++) {
                Body *body = region->body[k];
                replace_in(r, body);
                for (int i = 0; i < region->ncarry; i++)
                        body->next[i] = r->replaced[body->next[i]->id];
                for (int i = 0; i < region->nstack; i++)
                        body->stack[i] = r->replaced[body->stack[i]->id];
        }
}

static void replace_in(Replacing *r, Body *body)
{
        Node **node = body->node;
        int nnode = body->nnode;
        body->node = NULL;
        body->nnode = body->cap = 0;
        for (int i = 0; i < nnode; i++) {
                Node *n = node[i];
                for (int k = 0; k < n->nin; k++)
                        n->in[k] = r->replaced[n->in[k]->id];
                if (n->op == OP_REPEAT)
                        replace_in_region(r, n->attr.region);
                Node *now = r->rewrite(r->of, n);
                if (now == n)
                        body_append(r->g, body, n);
                else
                        now->name = n->name;
                r->replaced[n->id] = now;
        }
}

void replace_nodes(Replacing *r)
{
        Graph *g = r->g;
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        r->replaced = NEW_ARRAY(&scratch, Node *, g->nnode);
        replace_in(r, g->top);
        for (int i = 0; i < g->noutput; i++)
                g->output[i].node = r->replaced[g->output[i].node->id];
        arena_free(&scratch);
}

/* --- moves ------------------------------------------------------------------------------------------------------- */

Node *slice_last(Graph *g, Body *b, Node *x, int64_t first, int64_t count, const Node *like)
{
        int last = x->type.rank - 1;
        int64_t at = 0;
        if (x->op == OP_JOIN && x->attr.axis == last)
                for (int i = 0; i < x->nin; i++) {
                        int64_t n = x->in[i]->type.dim[last].fixed;
                        if (first >= at && first + count <= at + n)
                                return slice_last(g, b, x->in[i], first - at, count, like);
                        at += n;
                }
        return view_slice(g, b, x, last, dim_fixed(first), dim_fixed(count), like->span, like->where);
}

Node *join_last(Graph *g, Body *b, Node *const *x, int n, const Node *like)
{
        const Attr attr = {.axis = x[0]->type.rank - 1, .slot = -1};
        return n == 1 ? x[0] : build(g, b, NULL, OP_JOIN, n, x, &attr, like->span, like->where);
}

Node *turn_last(Graph *g, Body *b, Node *x, const Node *like)
{
        int perm[MAX_RANK], rank = x->type.rank;
        for (int i = 0; i < rank; i++)
                perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
        return view_transpose(g, b, x, perm, like->span, like->where);
}

/* left: the number of nodes that may still be visited, since there may be very many paths. */
static bool leads_to_softmax(const Uses *u, const Node *n, int *left)
{
        for (int i = 0; i < u->nuser[n->id] && --*left >= 0; i++) {
                const Node *user = u->user[n->id][i];
                if (user->op == OP_SOFTMAX && user->in[0] == n)
                        return true;
                bool passes =
                        user->op == OP_VIEW || (op_info[user->op].family == POINT && user->op != OP_TOP);
                if (passes && leads_to_softmax(u, user, left))
                        return true;
        }
        return false;
}

bool is_attention_score(const Uses *u, const Node *n)
{
        return leads_to_softmax(u, n, &(int){256});
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

/* The axis of a product's operand that becomes this axis of its result; -1: none, or a repeated one. */
static int operand_axis(const Node *product, int side, int axis)
{
        const Type *t = &product->in[side]->type;
        int rank = product->type.rank, own = axis - (rank - t->rank);
        if (axis == rank - 2 + side)
                return t->rank - 2 + side;
        if (axis >= rank - 2 || own < 0 || !dim_equal(t->dim[own], product->type.dim[axis]))
                return -1;
        return own;
}

/* Whether the operand, seen as `v` in a product of a latent and a weight, has its positions only from the
 * latent and its width only from the weight. */
static bool can_move(const AbsorbParts *p, const Node *n, const View *v)
{
        if (n->op != OP_MATMUL || base_of(n->in[1])->op != OP_WEIGHT || n->in[0]->type.dtype != REAL ||
            !dim_is_fixed(n->in[0]->type.dim[n->in[0]->type.rank - 1]) || v->natom + 2 > MAX_ATOM)
                return false;
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                if (a->axis < 0)
                        continue;
                bool positions = a->axis == n->type.rank - 2;
                if (positions != (a->out == p->along) ||
                    (a->out == p->wide && operand_axis(n, 0, a->axis) >= 0))
                        return false;
        }
        return true;
}

static bool add_parts(AbsorbParts *p, Node *n, View v, Dim width);

/* The only atom that counts through the cut axis, in whole steps along `axis` of the viewed value; or -1. */
static int sole_atom(const AbsorbParts *p, const View *v, int axis)
{
        int found = -1;
        for (int i = 0; i < v->natom; i++) {
                bool is = v->atom[i].axis == axis, wide = v->atom[i].out == p->wide;
                if (is != wide || (is && (found >= 0 || v->atom[i].stride != 1)))
                        return -1;
                found = is ? i : found;
        }
        return found;
}

/* Replaces a view of a join with views of the join's inputs that it shows. */
static bool add_joined(AbsorbParts *p, const Node *join, const View *v, int atom)
{
        int axis = join->attr.axis;
        int64_t first = v->offset[axis].fixed, end = first + v->atom[atom].size.fixed, at = 0;
        for (int i = 0; i < join->nin; i++) {
                int64_t n = join->in[i]->type.dim[axis].fixed, from = first > at ? first - at : 0,
                        to = end < at + n ? end - at : n;
                at += n;
                if (from >= to)
                        continue;
                View part = *v;
                part.offset[axis] = dim_fixed(from);
                part.atom[atom].size = dim_fixed(to - from);
                if (!add_parts(p, join->in[i], part, dim_fixed(to - from)))
                        return false;
        }
        return true;
}

static bool add_parts(AbsorbParts *p, Node *n, View v, Dim width)
{
        View one;
        while (n->op == OP_VIEW && view_compose(p->arena, &v, n->attr.view, &n->type, &one)) {
                v = one;
                n = n->in[0];
        }
        int atom = n->op == OP_JOIN && dim_is_fixed(n->type.dim[n->attr.axis])
                           ? sole_atom(p, &v, n->attr.axis)
                           : -1;
        if (atom >= 0 && dim_is_fixed(v.offset[n->attr.axis]))
                return add_joined(p, n, &v, atom);
        if (p->n == MAX_ABSORB_PARTS)
                return false;
        p->part[p->n++] = (AbsorbPart){n, v, width, can_move(p, n, &v)};
        return true;
}

bool operand_parts(AbsorbParts *p, Arena *arena, Node *operand, int wide, int along)
{
        *p = (AbsorbParts){.arena = arena, .rank = operand->type.rank, .wide = wide, .along = along};
        return add_parts(p, operand, *view_identity(arena, &operand->type), operand->type.dim[wide]);
}

/* --- slices of joins --------------------------------------------------------------------------------------------- */

typedef struct {
        Graph *g;
        int time;
        const int *place; /* by id: the node's index in its body */
        Node **joined;    /* by id: a join that is read whole and has this node as an input, or NULL */
} Slicing;

/* The right operand of a product, if it has positions. */
static Node *read_operand(int time, const Node *n)
{
        if (n->op != OP_MATMUL)
                return NULL;
        const Type *t = &n->in[1]->type;
        return t->dim[t->rank - 1].per[time] || t->dim[t->rank - 2].per[time] ? n->in[1] : NULL;
}

/* The operand, or the value that it views, as a slice of the join that contains it; NULL: no join contains
 * it. */
static Node *as_slice(const Slicing *s, const Node *n, const Node *operand)
{
        bool viewed = operand->op == OP_VIEW && !s->joined[operand->id];
        const Node *x = viewed ? operand->in[0] : operand;
        Node *join = s->joined[x->id];
        if (!join || join->body != n->body || s->place[join->id] > s->place[n->id])
                return NULL;
        int axis = join->attr.axis;
        Dim at = dim_fixed(0);
        for (int i = 0; join->in[i] != x; i++)
                at = dim_add(at, join->in[i]->type.dim[axis]);
        Node *slice = view_slice(s->g, n->body, join, axis, at, x->type.dim[axis], n->span, n->where);
        return viewed ? view_apply(s->g, n->body, slice, operand->attr.view, operand->type.rank,
                                   operand->span, operand->where)
                      : slice;
}

static Node *read_slice(const void *of, Node *n)
{
        const Slicing *s = of;
        const Node *operand = read_operand(s->time, n);
        Node *slice = operand ? as_slice(s, n, operand) : NULL;
        if (slice)
                n->in[1] = slice;
        return n;
}

/* Records the inputs of joins along an axis other than positions. */
static void note_parts(Slicing *s, Node *operand)
{
        Node *join = base_of(operand);
        if (join->op != OP_JOIN || join->type.dim[join->attr.axis].per[s->time])
                return;
        for (int i = 0; i < join->nin; i++)
                if (!s->joined[join->in[i]->id])
                        s->joined[join->in[i]->id] = join;
}

bool slice_joins(Graph *g, int time)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Uses *u = uses_of(&scratch, g);
        const int old = g->nnode;
        Slicing s = {g, time, u->place, NEW_ARRAY(&scratch, Node *, old)};
        bool any = false;
        for (int i = 0; i < u->n; i++) {
                Node *operand = read_operand(time, u->all[i]);
                if (operand)
                        note_parts(&s, operand);
        }
        for (int i = 0; i < old; i++)
                any |= s.joined[i] != NULL;
        Replacing r = {.g = g, .of = &s, .rewrite = read_slice};
        if (any)
                replace_nodes(&r);
        arena_free(&scratch);
        return g->nnode > old;
}
