/* Chosen keys: attention whose scores are -inf outside of the k best keys gets a list of these.
 *
 *   before                                    after
 *
 *   c = top(i, k)           [T, S]            l = chosen(i, k)      [T, k]
 *   y = softmax(where(c, q k', -inf)) v       c = among(l, S)
 *                                             y = softmax(where(c, q k', -inf)) v
 *
 * Attention then reads the listed keys and values only (runtime/attention_chosen.h), and c is never computed.  Where there are never more
 * than k keys, nothing changes.
 *
 * Before: a graph after all passes but those for taps, in which attention has its own scores (separate_scores.c).  After: the same values. */
#include "rebuild_private.h"
#include "simplify_private.h"

typedef struct {
        Arena scratch;
        bool *chooses; /* by id: a TOP node whose list attention reads */
        bool any;
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
        }
}

/* The list comes before the node that is read as a mask. */
static void chosen_append(void *context, Graph *g, Body *b, Node *n)
{
        const ChosenKeys *c = context;
        if (n->op == OP_TOP && c->chooses[n->id]) {
                Node *list = build_like(g, n, OP_CHOSEN, 1, n->in, &n->attr);
                n->op = OP_AMONG;
                n->in[0] = list;
                n->attr.dim = n->type.dim[n->type.rank - 1];
        }
        body_append(g, b, n);
}

bool chosen_keys(Graph *g)
{
        ChosenKeys c = {.scratch = {.out_of_memory = g->arena->out_of_memory}};
        c.chooses = NEW_ARRAY(&c.scratch, bool, g->nnode);
        find_choices(&c, g, uses_of(&c.scratch, g), g->top);
        if (c.any)
                rebuild_body(g, g->top, chosen_append, &c);
        arena_free(&c.scratch);
        return c.any;
}
