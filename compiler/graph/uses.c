/* The users of each node, and the nodes that leave their body. */
#include "graph.h"

#include <string.h>

static void uses_count(Uses *u, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                u->place[n->id] = i;
                u->all[u->n++] = n;
                for (int k = 0; k < n->nin; k++)
                        u->nuser[n->in[k]->id]++;
                if (n->op != OP_REPEAT)
                        continue;
                Region *r = n->attr.region;
                for (int k = 0; k < r->nbody; k++)
                        uses_count(u, r->body[k]);
        }
        if (!b->region)
                return;
        for (int i = 0; i < b->region->ncarry; i++)
                u->leaves[b->next[i]->id] = true;
        for (int i = 0; i < b->region->nstack; i++)
                u->leaves[b->stack[i]->id] = true;
}

Uses *uses_of(Arena *a, const Graph *g)
{
        Uses *u = NEW(a, Uses);
        u->user = NEW_ARRAY(a, Node **, g->nnode);
        u->nuser = NEW_ARRAY(a, int, g->nnode);
        u->leaves = NEW_ARRAY(a, bool, g->nnode);
        u->pinned = NEW_ARRAY(a, bool, g->nnode);
        u->place = NEW_ARRAY(a, int, g->nnode);
        u->all = NEW_ARRAY(a, Node *, g->nnode);
        uses_count(u, g->top);
        memcpy(u->pinned, u->leaves, (size_t)g->nnode * sizeof *u->pinned);
        for (int i = 0; i < g->noutput; i++)
                u->pinned[g->output[i].node->id] = true;
        for (int i = 0; i < u->n; i++) {
                Node *n = u->all[i];
                u->user[n->id] = NEW_ARRAY(a, Node *, u->nuser[n->id]);
                u->nuser[n->id] = 0;
        }
        for (int i = 0; i < u->n; i++)
                for (int k = 0; k < u->all[i]->nin; k++) {
                        Node *in = u->all[i]->in[k];
                        u->user[in->id][u->nuser[in->id]++] = u->all[i];
                }
        return u;
}
