/* Finds attention by its shape: softmax(expression(q @ k')) @ v or, without a softmax, a masked expression(q
 * @ k') @ v.
 *
 *        q     k'                     one kernel: for each row the scores of a block of keys, their maximum and sum, and the
 *         \   /                       weighted values, merged block by block (online softmax, Milakov and Gimelshein 2018;
 *          core                       Dao et al., FlashAttention, 2022).  The scores are never stored.
 *            |  any elementwise expression: scale, cap, bias, mask; its other operands are read in place,
 *         softmax ( -- sink)          by head, row and column
 *            |
 *          product --- v
 *
 * Expects operands [.., T, d] with any leading axes.  --explain prints the reason if fusion fails. */
#include "plan_private.h"

#include <inttypes.h>

static const char *match(const Fuse *f, const Node *product, Scores *s)
{
        const char *why = why_no_attention(f->arena, f->plan->graph, f->uses, product, f->too_deep, s);
        return f->split[product->id] ? "no loops of its kernel walk its operands" : why;
}

bool is_part_of_scores(const Fuse *f, const Node *product, const Node *n)
{
        Scores s = {0};
        match(f, product, &s);
        return n == product || n == product->in[0] || scores_hold(&s, n);
}

static int64_t list_length(const Node *among)
{
        return among->in[0]->type.dim[among->type.rank - 1].fixed;
}

static void attention_explain(const Fuse *f, const Kernel *k, const Scores *s)
{
        const int nodes = s->n - 1 - k->attention.plain;
        if (s->mixes)
                plan_explain(f->plan,
                             "%s: one attention kernel that mixes heads, %d nodes around its softmax",
                             k->name, s->n - 2);
        else
                plan_explain(f->plan, "%s: one attention kernel%s, %d node%s in its score expression",
                             k->name, k->attention.plain ? " without a softmax" : "", nodes,
                             nodes == 1 ? "" : "s");
        if (k->attention.chosen)
                plan_explain(f->plan, "%s: reads only the %" PRId64 " keys and values that `top` chooses",
                             k->name, list_length(k->attention.chosen));
        const Node *top = k->attention.score ? find_choice(k->attention.score, OP_TOP) : NULL;
        if (top && !k->attention.chosen)
                plan_explain(f->plan, "%s: `top` is only a mask, all keys are read: %s", k->name,
                             f->plan->off[PASS_chosen] ? "--no-chosen"
                                                       : why_not_chosen(f->plan->graph, s, top));
}

void fuse_attention(Fuse *f, Node *product)
{
        Scores s = {0};
        if (f->owner[product->id]) /* where products are found first */
                return;
        const char *why = match(f, product, &s);
        const Node *weights = s.weights;
        if (!weights)
                return;
        const bool plain = weights->op != OP_SOFTMAX;
        if (why) {
                plan_explain(f->plan, "%s at line %d: not one attention kernel: %s",
                             plain ? "masked weights" : "softmax", span_line(weights->span), why);
                return;
        }
        Kernel *k = fuse_kernel(f, K_ATTENTION, product);
        k->attention.q = s.core->in[0];
        k->attention.k = s.core->in[1];
        k->attention.v = product->in[1];
        k->attention.core = s.core;
        k->attention.softmax = s.weights;
        k->attention.weights = product->in[0];
        k->attention.score = scores_under(weights);
        k->attention.plain = plain;
        k->attention.mixes = s.mixes > 0;
        k->attention.all_weigh = s.all_weigh;
        k->attention.dead_nan = !plain && weights->attr.index == DEAD_ROWS_NAN;
        k->attention.sink = !plain && weights->nin > 1 ? weights->in[1] : NULL;
        k->attention.chosen =
                k->attention.score && !s.mixes ? find_choice(k->attention.score, OP_AMONG) : NULL;
        for (int i = 0; i < s.n; i++)
                f->owner[s.node[i]->id] = k;
        f->owner[weights->id] = f->owner[product->id] = k;
        f->needs_buffer[base_of(k->attention.q)->id] = f->needs_buffer[base_of(k->attention.k)->id] =
                f->needs_buffer[base_of(k->attention.v)->id] = true;
        attention_explain(f, k, &s);
}
