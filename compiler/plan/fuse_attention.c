/* Attention, found by its shape alone: softmax(expression(q @ k')) @ v.
 *
 *        q     k'                     one kernel: for each row the scores of a block of keys, their maximum and sum, and the
 *         \   /                       weighted values, merged block by block (online softmax, Milakov and Gimelshein 2018;
 *          core                       Dao et al., FlashAttention, 2022).  The scores are never stored.
 *            |  any elementwise expression: scale, cap, bias, mask; its other operands are read where they lie,
 *         softmax ( -- sink)          by head, row and column
 *            |
 *          product --- v
 *
 * Expects operands [.., T, d] with any axes in front.  What stops a fusion is explained. */
#include "plan_private.h"

typedef struct {
        Node **node;
        int n;
        Node *core;
} ScoreExpression;

static bool within(const ScoreExpression *s, const Node *n)
{
        for (int i = 0; i < s->n; i++)
                if (s->node[i] == n)
                        return true;
        return false;
}

typedef enum { UNKNOWN, NO, YES } Answer;

/* Does n depend on a product of two computed tensors of the scores' shape?  Then the path to it is the expression.  known [nnode]:
 * answers so far. */
static bool reaches_core(const Fuse *f, const Node *n, const Type *scores, uint8_t *known)
{
        if (known[n->id])
                return known[n->id] == YES;
        bool is_core = n->op == OP_MATMUL && same_dims(&n->type, scores), reaches = is_core;
        bool elementwise = op_info[n->op].family == POINT && n->op != OP_TOP && same_dims(&n->type, scores) &&
                           !f->forced[n->id];
        for (int i = 0; elementwise && !reaches && i < n->nin; i++)
                reaches = reaches_core(f, n->in[i], scores, known);
        known[n->id] = reaches ? YES : NO;
        return reaches;
}

/* Collects the expression from n down to the core.  NULL, or why not. */
static const char *collect(const Fuse *f, ScoreExpression *s, Node *n, const Type *scores, uint8_t *known)
{
        if (within(s, n))
                return NULL;
        if (n->op == OP_MATMUL && same_dims(&n->type, scores)) {
                if (s->core && s->core != n)
                        return "its scores are made of two products";
                s->core = n;
                s->node[s->n++] = n;
                return NULL;
        }
        s->node[s->n++] = n;
        for (int i = 0; i < n->nin; i++) {
                if (!reaches_core(f, n->in[i], scores, known))
                        continue;
                if (n->in[i]->body != n->body)
                        return "its scores come from outside the repeat";
                const char *why = collect(f, s, n->in[i], scores, known);
                if (why)
                        return why;
        }
        return NULL;
}

static bool leaves(const Fuse *f, const ScoreExpression *s, const Node *softmax)
{
        for (int i = 0; i < s->n; i++) {
                const Node *n = s->node[i];
                if (f->uses->pinned[n->id] || f->owner[n->id])
                        return true;
                for (int k = 0; k < f->uses->nuser[n->id]; k++)
                        if (!within(s, f->uses->user[n->id][k]) && f->uses->user[n->id][k] != softmax)
                                return true;
        }
        return false;
}

/* Weights of few bits: products take their codes as they are. */
static bool lies_in_codes(Node *n)
{
        const Node *base = base_of(n);
        return base->op == OP_WEIGHT && is_in_blocks(base->attr.weight->storage);
}

static const char *match(const Fuse *f, Node *product, ScoreExpression *s)
{
        Node *softmax = product->in[0];
        if (f->apart[product->id])
                return "its operands can't be read where they lie";
        if (softmax->type.rank < 2)
                return "it has no rows";
        if (product->in[1]->type.rank > softmax->type.rank)
                return "the values have more axes than the scores";
        if (!dim_is_fixed(product->type.dim[product->type.rank - 1]))
                return "the width of its values is a size of the call";
        if (f->uses->nuser[softmax->id] != 1 || f->uses->pinned[softmax->id])
                return "its weights are used elsewhere";
        uint8_t *known = NEW_ARRAY(f->arena, uint8_t, f->plan->graph->nnode);
        if (!reaches_core(f, softmax->in[0], &softmax->type, known))
                return "its scores are no expression of one product";
        const char *why = collect(f, s, softmax->in[0], &softmax->type, known);
        if (why)
                return why;
        if (!dim_is_fixed(s->core->in[0]->type.dim[s->core->in[0]->type.rank - 1]))
                return "the width of its queries is a size of the call";
        if (leaves(f, s, softmax))
                return "its scores are used elsewhere";
        if (lies_in_codes(s->core->in[1]) || lies_in_codes(product->in[1]))
                return "its keys or values are weights in blocks of codes, which products alone read";
        return NULL;
}

void fuse_attention(Fuse *f, Node *product)
{
        Node *softmax = product->in[0];
        if (softmax->op != OP_SOFTMAX || f->owner[product->id])
                return;
        ScoreExpression s = {.node = NEW_ARRAY(f->arena, Node *, f->uses->n + 1)};
        const char *why = match(f, product, &s);
        if (why) {
                plan_explain(f->plan, "softmax at line %d: not one attention kernel: %s",
                             span_line(softmax->span), why);
                return;
        }
        Kernel *k = fuse_kernel(f, K_ATTENTION, product);
        k->q = s.core->in[0];
        k->k = s.core->in[1];
        k->v = product->in[1];
        k->core = s.core;
        k->score = softmax->in[0];
        k->dead_nan = softmax->attr.index == DEAD_ROWS_NAN;
        k->sink = softmax->nin > 1 ? softmax->in[1] : NULL;
        for (int i = 0; i < s.n; i++)
                f->owner[s.node[i]->id] = k;
        f->owner[softmax->id] = f->owner[product->id] = k;
        f->must[base_of(k->q)->id] = f->must[base_of(k->k)->id] = f->must[base_of(k->v)->id] = true;
        plan_explain(f->plan, "%s: one attention kernel, %d node%s in its score expression", k->name, s.n - 1,
                     s.n == 2 ? "" : "s");
}
