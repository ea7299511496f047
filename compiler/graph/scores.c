/* The scores of attention: one product of two tensors, and the elementwise expression between it and the
 * weights.
 *
 *        q     k'
 *         \   /
 *          core ── scale, cap, bias, mask ── weights ── product ── v
 *                └────────── Scores.node ───────┘
 *
 * Weights are a softmax of scores, or the scores themselves with 0 in place of -inf
 * (passes/masked_weights.c).
 *
 * Attention is found only by this shape.  Fusion makes one kernel of it (plan/fuse_attention.c); parts
 * with other users have been copied before (passes/separate_scores.c). */
#include "graph.h"

#include <math.h>

static bool is_value_of(const Node *n, double value)
{
        return n->op == OP_CONST && n->attr.literal->count == 1 && n->attr.literal->iterations == 1 &&
               n->attr.literal->value[0] == value;
}

Node *scores_under(const Node *weights)
{
        if (weights->op == OP_SOFTMAX)
                return weights->in[0];
        if (weights->op != OP_WHERE || !is_value_of(weights->in[1], 0) || weights->in[0]->op != OP_EQUAL ||
            weights->in[0]->in[0] != weights->in[2] || !is_value_of(weights->in[0]->in[1], -INFINITY))
                return NULL;
        return weights->in[2];
}

bool scores_hold(const Scores *s, const Node *n)
{
        for (int i = 0; i < s->n; i++)
                if (s->node[i] == n)
                        return true;
        return false;
}

typedef struct {
        const Type *type;   /* shape of the scores */
        const bool *stored; /* by id: not part of an expression; or NULL */
        uint8_t *known;     /* by id: Answer */
} ScoresSearch;

typedef enum { UNKNOWN, NO, YES } ScoresAnswer;

/* Whether n depends on a product of two tensors with the scores' shape.  The path to it is the expression. */
static bool reaches_core(const ScoresSearch *s, const Node *n)
{
        if (s->known[n->id])
                return s->known[n->id] == YES;
        bool reaches = n->op == OP_MATMUL && same_dims(&n->type, s->type);
        bool elementwise = op_info[n->op].family == POINT && n->op != OP_TOP &&
                           same_dims(&n->type, s->type) && !(s->stored && s->stored[n->id]);
        for (int i = 0; elementwise && !reaches && i < n->nin; i++)
                reaches = reaches_core(s, n->in[i]);
        s->known[n->id] = reaches ? YES : NO;
        return reaches;
}

/* Collects the expression from n down to the core.  Returns NULL, or the reason why it is not attention. */
static const char *scores_collect(const ScoresSearch *search, Scores *s, Node *n)
{
        if (scores_hold(s, n))
                return NULL;
        if (n->op == OP_MATMUL && s->core && s->core != n)
                return "its scores are made of two products";
        s->node[s->n++] = n;
        if (n->op == OP_MATMUL) {
                s->core = n;
                return NULL;
        }
        for (int i = 0; i < n->nin; i++) {
                if (!reaches_core(search, n->in[i]))
                        continue;
                if (n->in[i]->body != n->body)
                        return "its scores come from outside the repeat";
                const char *why = scores_collect(search, s, n->in[i]);
                if (why)
                        return why;
        }
        return NULL;
}

static Dim last_dim(const Node *n)
{
        return n->type.dim[n->type.rank - 1];
}

bool is_read_as_codes(const Node *n)
{
        n = base_of(n);
        return n->op == OP_WEIGHT && is_in_blocks(n->attr.weight->storage);
}

/* Whether n contains a mask: a `where` with a constant, or bools as numbers. */
static bool is_masked(const Node *n, int *left)
{
        bool masked = --*left >= 0 &&
                      ((n->op == OP_REAL_OF && n->in[0]->type.dtype == BOOL) ||
                       (n->op == OP_WHERE && (is_value_of(n->in[1], 0) || is_value_of(n->in[2], 0))));
        for (int i = 0; !masked && (op_info[n->op].family == POINT || n->op == OP_VIEW) && i < n->nin; i++)
                masked = is_masked(n->in[i], left);
        return masked;
}

/* Whether n divides by the sum of a masked row, which gives NaN if the whole row is masked. */
static bool divides_by_masked(const Node *n)
{
        const Node *by = n->op == OP_DIV ? n->in[1] : NULL;
        while (by && by->op == OP_VIEW)
                by = by->in[0];
        return (n->op == OP_SOFTMAX && n->attr.index == DEAD_ROWS_NAN && n->in[0]->op == OP_WHERE) ||
               (by && by->op == OP_SUM && is_masked(by->in[0], &(int){64}));
}

/* Whether values may be NaN by their formula.  Their product with a weight of 0 is NaN too, but attention
 * skips it. */
static bool may_be_nan(const Node *n, bool *seen)
{
        bool may = !seen[n->id] && divides_by_masked(n);
        if (seen[n->id])
                return false;
        seen[n->id] = true;
        for (int i = 0; !may && i < n->nin; i++)
                may = may_be_nan(n->in[i], seen);
        return may;
}

const char *find_scores(Arena *a, const Graph *g, const Node *product, Node *scores, const bool *stored,
                        Scores *s)
{
        Node *weights = product->in[0];
        *s = (Scores){.node = NEW_ARRAY(a, Node *, g->nnode + 1), .weights = weights};
        const ScoresSearch search = {&weights->type, stored, NEW_ARRAY(a, uint8_t, g->nnode)};
        if (weights->type.rank < 2)
                return "it has no rows";
        if (product->in[1]->type.rank > weights->type.rank)
                return "the values have more axes than the scores";
        if (!dim_is_fixed(last_dim(product)))
                return "the width of its values is a size of the call";
        if (!reaches_core(&search, scores))
                return "its scores are no expression of one product";
        const char *why = scores_collect(&search, s, scores);
        if (why)
                return why;
        /* for the test of -inf */
        if (weights->op == OP_WHERE && weights != scores)
                s->node[s->n++] = weights->in[0];
        if (!dim_is_fixed(last_dim(s->core->in[0])))
                return "the width of its queries is a size of the call";
        if (may_be_nan(product->in[1], NEW_ARRAY(a, bool, g->nnode)))
                return "its values may be NaN, which a key that is masked must not hide";
        if (is_read_as_codes(s->core->in[1]) || is_read_as_codes(product->in[1]))
                return "its keys or values are weights in blocks of codes, which products alone read";
        return NULL;
}

const char *find_attention(Arena *a, const Graph *g, const Node *product, const bool *stored, Scores *s)
{
        Node *scores = scores_under(product->in[0]);
        const char *why = scores ? find_scores(a, g, product, scores, stored, s) : NULL;
        if (scores && !why)
                return NULL;
        Scores mixed;
        const char *not_mixed = find_mixed_heads(a, g, product, stored, &mixed);
        if (!scores || mixed.mixes)
                *s = mixed;
        return scores && !mixed.mixes ? why : not_mixed;
}

/* Whether the scores have other users. */
static bool scores_leave(const Uses *uses, const Scores *s, const Node *product)
{
        for (int i = 0; i < s->n; i++) {
                const Node *n = s->node[i];
                if (uses->pinned[n->id])
                        return true;
                for (int k = 0; k < uses->nuser[n->id]; k++) {
                        const Node *user = uses->user[n->id][k];
                        if (!scores_hold(s, user) && user != s->weights &&
                            !(user == product && n == product->in[0]))
                                return true;
                }
        }
        return false;
}

const char *why_no_attention(Arena *a, const Graph *g, const Uses *uses, const Node *product,
                             const bool *stored, Scores *s)
{
        const Node *weights = product->in[0];
        const char *why = find_attention(a, g, product, stored, s);
        if (uses->nuser[weights->id] != 1 || uses->pinned[weights->id])
                return "its weights are used elsewhere";
        return why ? why : scores_leave(uses, s, product) ? "its scores are used elsewhere" : NULL;
}
