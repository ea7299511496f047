/* Finds bodies of a repeat that look alike, for instance of layers that differ only in masks or tables.  They
 * are drawn once.
 *
 * The blocks of a body have consecutive numbers, beginning with the body itself.  Two bodies look alike if
 * their blocks have the same texts and the same flows connect them. */
#include "graph_private.h"

/* States that differ in their slots have different names. */
static bool says_same(const GraphBlock *a, const GraphBlock *b)
{
        bool same = a->kind == b->kind && a->colour == b->colour && a->nop == b->nop &&
                    a->nweight == b->nweight && a->more_weights == b->more_weights &&
                    text_equal(a->ops, b->ops) && text_equal(a->shape, b->shape);
        same &= a->kind == BLOCK_STATE || text_equal(a->name, b->name);
        for (int i = 0; same && i < a->nweight; i++)
                same = text_equal(a->weight_text[i], b->weight_text[i]);
        return same;
}

static bool block_is_in(const GraphBlock *b, int first, int n)
{
        return b->id >= first && b->id < first + n;
}

static bool has_flow(const BlockGraph *g, int from, int to)
{
        for (int i = 0; i < g->nflow; i++)
                if (g->flow[i].from->id == from && g->flow[i].to->id == to)
                        return true;
        return false;
}

/* Flows within n blocks from `first` on; *all: each has a counterpart `apart` blocks later. */
static int flows_within(const BlockGraph *g, int first, int n, int apart, bool *all)
{
        int count = 0;
        for (int i = 0; i < g->nflow; i++) {
                const GraphFlow *f = &g->flow[i];
                if (!block_is_in(f->from, first, n) || !block_is_in(f->to, first, n))
                        continue;
                *all = *all && has_flow(g, f->from->id + apart, f->to->id + apart);
                count++;
        }
        return count;
}

bool blocks_look_alike(const BlockGraph *g, const GraphBlock *one, const GraphBlock *last)
{
        const int apart = last->id - one->id, n = g->nblock - last->id;
        bool same = apart == n;
        for (int i = 1; same && i < n; i++) {
                const GraphBlock *a = g->block[one->id + i], *b = g->block[last->id + i];
                same = says_same(a, b) && b->outer->id - a->outer->id == apart;
        }
        return same &&
               flows_within(g, one->id, n, apart, &same) == flows_within(g, last->id, n, -apart, &same) &&
               same;
}

GraphBlock *counterpart(const BlockGraph *g, const GraphBlock *last, GraphBlock *b)
{
        return b && b->id >= last->id ? g->block[b->id - (g->nblock - last->id)] : b;
}

/* Flows between the two bodies become flows from iteration to iteration. */
void drop_last_body(BlockGraph *g, GraphBlock *last)
{
        const int n = g->nblock - last->id, first = last->id - n;
        int left = 0;
        for (int i = 0; i < g->nflow; i++) {
                GraphFlow f = g->flow[i];
                const bool goes = f.from->id >= last->id || f.to->id >= last->id;
                const bool between = block_is_in(f.from, first, n) && f.to->id >= last->id;
                f = (GraphFlow){counterpart(g, last, f.from), counterpart(g, last, f.to)};
                bool known = between;
                for (int k = 0; k < left && goes; k++)
                        known |= g->flow[k].from == f.from && g->flow[k].to == f.to;
                if (!known)
                        g->flow[left++] = f;
        }
        g->nflow = left;
        g->nblock = last->id;
        last->outer->ninside--;
}
