/* Chosen keys: attention whose scores are -inf outside of the k best keys gets a list of these.
 *
 *   before                                    after
 *
 *   c = top(i, k)           [T, S]            l = chosen(i, k)      [T, k]
 *   y = softmax(where(c, q k', -inf)) v       c = among(l, S)
 *                                             y = softmax(where(c, q k', -inf)) v
 *
 * Of blocks of n keys, c = top(i, k) read by col // n, the list has the keys of the chosen blocks:
 *
 *   e = n chosen(i, k)[.., col // n] + col % n      [T, k n]; without those of -1, and from S on
 *   c = among(e, S)
 *
 * Attention then reads the listed keys and values only (runtime/attention_chosen.h), and c is never computed.  Where there are never more
 * than k keys, nothing changes.
 *
 * Before: a graph after all passes but those for taps, in which attention has its own scores (separate_scores.c).  After: the same values. */
#include "rebuild_private.h"
#include "simplify_private.h"

typedef struct {
        Arena scratch;
        bool *chooses; /* by id: a choice whose list attention reads */
        bool any, of_blocks;
        int known; /* number of ids before the pass */
} ChosenKeys;

static void find_choices(ChosenKeys *c, const Graph *g, const Uses *uses, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                Scores s = {0};
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        find_choices(c, g, uses, n->attr.region->body[k]);
                if (n->op != OP_MATMUL || why_no_attention(&c->scratch, g, uses, n, NULL, &s))
                        continue;
                Node *scores = scores_under(s.weights), *top = scores ? find_choice(scores, OP_TOP) : NULL;
                if (top && !why_not_chosen(g, &s, top))
                        c->any = c->chooses[top->id] = true;
                if (top && c->chooses[top->id])
                        c->of_blocks |= top->op != OP_TOP;
        }
}

/* Nodes of the same place as n. */
typedef struct {
        Graph *g;
        Body *b;
        const Node *n;
} ChosenPlace;

/* INDEX: 0 .. size - 1; SIZE: the number. */
static Node *chosen_leaf(const ChosenPlace *p, Op op, Dim size)
{
        const Type type = {.dtype = INT, .rank = op == OP_INDEX, .dim = {size}};
        const Attr attr = {.dim = op == OP_INDEX ? dim_fixed(0) : size, .slot = -1};
        return node_new(p->g, p->b, op, 0, NULL, attr, type, p->n->span, p->n->where);
}

static Node *chosen_point(const ChosenPlace *p, Op op, Node *x, Node *y, Node *z)
{
        Diag diag = {.arena = p->g->arena};
        return build(p->g, p->b, &diag, op, z ? 3 : 2, (Node *[]){x, y, z}, &(Attr){.slot = -1}, p->n->span,
                     p->n->where);
}

/* The keys of the listed blocks in order, [.., k n], -1 at the end; the last block may be incomplete. */
static Node *keys_of_blocks(const ChosenPlace *p, Node *list, int64_t size, Dim keys)
{
        const Span span = p->n->span;
        Instance *where = p->n->where;
        Type type = list->type;
        const int rank = type.rank;
        const Dim all = dim_scale(type.dim[rank - 1], size);
        type.dim[type.rank++] = dim_fixed(1);
        Node *blocks = view_reshape(p->g, p->b, list, &type, span, where);
        type.dim[rank] = dim_fixed(size);
        blocks = view_broadcast(p->g, p->b, blocks, &type, span, where);
        type = list->type;
        type.dim[rank - 1] = all;
        blocks = view_reshape(p->g, p->b, blocks, &type, span, where);
        Node *n = build_number(p->g, p->b, (double)size, INT, span, where),
             *absent = build_number(p->g, p->b, -1, INT, span, where);
        Node *end = chosen_leaf(p, OP_SIZE, keys);
        Node *start = chosen_point(p, OP_MUL, blocks, n, NULL);
        Node *key = chosen_point(p, OP_ADD, start,
                                 chosen_point(p, OP_MOD, chosen_leaf(p, OP_INDEX, all), n, NULL), NULL);
        Node *listed = chosen_point(p, OP_LESS, absent, blocks, NULL);
        Node *exists = chosen_point(p, OP_AND, listed, chosen_point(p, OP_LESS, key, end, NULL), NULL);
        return chosen_point(p, OP_WHERE, exists, key, absent);
}

/* Reads the choice with the axes of `top`, keys last: the view has the keys as axis 0. */
static void read_in_order(Graph *g, Node *view, Node *choice)
{
        const int last = choice->type.rank - 1;
        View *v = NEW(g->arena, View);
        *v = *view->attr.view;
        for (int i = 0; i < v->natom; i++)
                if (v->atom[i].axis >= 0)
                        v->atom[i].axis = v->atom[i].axis == 0 ? last : v->atom[i].axis - 1;
        for (int axis = 0; axis <= last; axis++)
                v->offset[axis == 0 ? last : axis - 1] = view->attr.view->offset[axis];
        view->attr.view = v;
        view->in[0] = choice;
}

/* The choice of blocks of keys as a list, in place of the gather that n views. */
static void read_blocks(Graph *g, Body *b, Node *n)
{
        int64_t size;
        Node *top = choice_of_blocks(n, &size), *list = build_like(g, top, OP_CHOSEN, 1, top->in, &top->attr);
        Type type = top->type;
        const int last = type.rank - 1;
        type.dim[last] = n->type.dim[n->type.rank - 1];
        Node *keys = keys_of_blocks(&(ChosenPlace){g, b, n}, list, size, type.dim[last]);
        const Attr attr = {.dim = type.dim[last], .slot = -1};
        read_in_order(g, n, node_new(g, b, OP_AMONG, 1, &keys, attr, type, n->span, n->where));
}

/* The list comes before the node that is read as a mask. */
static void chosen_append(void *context, Graph *g, Body *b, Node *n)
{
        const ChosenKeys *c = context;
        if (n->id < c->known && c->chooses[n->id] && n->op == OP_TOP) {
                Node *list = build_like(g, n, OP_CHOSEN, 1, n->in, &n->attr);
                n->attr = (Attr){.dim = n->type.dim[n->type.rank - 1], .slot = -1};
                n->in[0] = list;
                n->op = OP_AMONG;
        } else if (n->id < c->known && c->chooses[n->id]) {
                read_blocks(g, b, n);
        }
        body_append(g, b, n);
}

bool chosen_keys(Graph *g)
{
        ChosenKeys c = {.scratch = {.out_of_memory = g->arena->out_of_memory}};
        c.known = g->nnode;
        c.chooses = NEW_ARRAY(&c.scratch, bool, g->nnode);
        find_choices(&c, g, uses_of(&c.scratch, g), g->top);
        if (c.any)
                rebuild_body(g, g->top, chosen_append, &c);
        if (c.of_blocks) /* the gather, and perhaps `top` */
                prune(g);
        arena_free(&c.scratch);
        return c.any;
}
