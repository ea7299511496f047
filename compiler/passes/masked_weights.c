/* Masked weights: rewrites attention without a softmax so that its mask can be recognised.
 *
 *   before                                    after
 *
 *   w = where(mask, f(q k'), 0)               s = where(mask, w, -inf)
 *   y = w v                                   y = where(s == -inf, 0, s) v
 *
 * Masked elements are marked by -inf, as in the scores of a softmax.  Then one kernel can skip whole blocks
 * of keys, derives their bounds from the mask, and stores no weights.  f is any expression and may contain
 * the mask, as in sigmoid(where(mask, s, -inf)), which is 0 there.  Weights that are linear in the product
 * are unchanged, since they have better forms.
 *
 * Before: a graph after all other passes, whose products skip masked terms (Attr.index).  After: the same
 * values. */
#include "rebuild_private.h"
#include "simplify_private.h"

#include <math.h>

typedef struct {
        const Scores *scores;
        const Node *where; /* the node whose value is `value` */
        double value;
        double *known; /* by id */
        bool *done;
} Masked;

/* The value of n for a given value of `where`; NaN: it depends on other nodes. */
static double masked_value(const Masked *m, const Node *n)
{
        double uniform, of[3] = {0};
        if (n == m->where)
                return m->value;
        if (!scores_hold(m->scores, n))
                return constant_uniform(n, &uniform) ? uniform : NAN;
        if (n == m->scores->core || n->nin > 3)
                return NAN;
        if (m->done[n->id])
                return m->known[n->id];
        for (int i = 0; i < n->nin; i++)
                of[i] = masked_value(m, n->in[i]);
        m->done[n->id] = true;
        return m->known[n->id] = op_of(n->op, of[0], of[1], of[2]);
}

/* The side of a `where` within the scores that is masked, so that the weights are 0 there: 1 or 2; 0:
 * neither. */
static int masked_side(Arena *scratch, const Graph *g, const Scores *s, const Node *weights, const Node *n)
{
        double value;
        if (n->op != OP_WHERE || scores_hold(s, n->in[0]))
                return 0;
        for (int side = 1; side <= 2; side++) {
                if (!constant_uniform(n->in[side], &value))
                        continue;
                const Masked m = {s, n, value, NEW_ARRAY(scratch, double, g->nnode),
                                  NEW_ARRAY(scratch, bool, g->nnode)};
                if (masked_value(&m, weights) == 0)
                        return side;
        }
        return 0;
}

static bool is_linear(const Scores *s)
{
        for (int i = 0; i < s->n; i++) {
                const Node *n = s->node[i];
                bool linear = n == s->core || n->op == OP_ADD || n->op == OP_SUB || n->op == OP_NEG;
                if (n->op == OP_MUL)
                        linear = !scores_hold(s, n->in[0]) || !scores_hold(s, n->in[1]);
                if (n->op == OP_DIV)
                        linear = !scores_hold(s, n->in[1]);
                if (n->op == OP_WHERE)
                        linear = !scores_hold(s, n->in[0]);
                if (!linear)
                        return false;
        }
        return true;
}

/* The condition for a `where` to take its second operand (*yes; else its third); for a numeric mask, the mask
 * itself. */
static Node *mask_condition(Node *c, bool *yes)
{
        double of, then, other;
        for (;;)
                if (c->op == OP_NOT) {
                        *yes = !*yes;
                        c = c->in[0];
                } else if (c->op == OP_EQUAL && c->in[0]->op == OP_WHERE && constant_uniform(c->in[1], &of) &&
                           constant_uniform(c->in[0]->in[1], &then) &&
                           constant_uniform(c->in[0]->in[2], &other) && (then == of) != (other == of)) {
                        *yes = *yes == (then == of);
                        c = c->in[0]->in[0];
                } else {
                        return c;
                }
}

/* The weights, with -inf where a `where` masks them. */
static Node *mask(Graph *g, const Node *product, Node *scores, Node *where, int side)
{
        bool lives = side == 2;
        Node *c = mask_condition(where->in[0], &lives),
             *minus = build_number(g, product->body, -INFINITY, REAL, product->span, product->where);
        Node *in[] = {c, lives ? scores : minus, lives ? minus : scores};
        return build_like(g, product, OP_WHERE, 3, in, NULL);
}

static void mask_weights(Graph *g, Node *product, const Scores *s, Arena *scratch)
{
        Node *weights = product->in[0], *scores = weights;
        for (int i = 0; i < s->n; i++) {
                int side = masked_side(scratch, g, s, weights, s->node[i]);
                if (side)
                        scores = mask(g, product, scores, s->node[i], side);
        }
        if (scores == weights)
                return;
        Node *minus = build_number(g, product->body, -INFINITY, REAL, product->span, product->where);
        Node *zero = build_number(g, product->body, 0, REAL, product->span, product->where);
        Node *equal = build_like(g, product, OP_EQUAL, 2, (Node *[]){scores, minus}, NULL);
        product->in[0] = build_like(g, product, OP_WHERE, 3, (Node *[]){equal, zero, scores}, NULL);
}

static void masked_append(void *scratch, Graph *g, Body *b, Node *n)
{
        Scores s;
        if (n->op == OP_MATMUL && n->attr.index == ZEROS_LEFT && n->in[0]->body == b &&
            !find_scores(scratch, g, n, n->in[0], NULL, &s) && !is_linear(&s))
                mask_weights(g, n, &s, scratch);
        body_append(g, b, n);
}

bool masked_weights(Graph *g)
{
        const int old = g->nnode;
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        rebuild_body(g, g->top, masked_append, &scratch);
        arena_free(&scratch);
        return g->nnode > old;
}
