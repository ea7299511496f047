/* Rebuilds bodies with additional nodes. */
#include <string.h>

#include "rebuild_private.h"

void rebuild_body(Graph *g, Body *body, AppendNode *append, void *context)
{
        const Body old = *body;
        body->node = NULL;
        body->nnode = body->cap = 0;
        for (int i = 0; i < old.nnode; i++) {
                Node *n = old.node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        rebuild_body(g, n->attr.region->body[k], append, context);
                append(context, g, body, n);
        }
}

void extend_copies(Graph *g, int old)
{
        if (!g->stands_for)
                return;
        Node **all = NEW_ARRAY(g->arena, Node *, g->nnode);
        memcpy(all, g->stands_for, (size_t)old * sizeof *all);
        g->stands_for = all;
}
