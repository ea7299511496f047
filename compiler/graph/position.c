/* The position of an `along`: the sizes that contain it, and its axis in values of the body.
 *
 * x[t] keeps the axis of which it is one element, with size 1.  The axis is followed through the body, so that
 * a result can be joined along it.  A view says where it goes (view.c), other ops here.  It is lost where
 * another operand has more elements there, as in k[t]' @ v[t], or where two axes could be it. */
#include "graph.h"

Dim positions_of(const Graph *g, const Region *r)
{
        return g->along[r->along - 1].count;
}

bool keeps_carried(const Node *n)
{
        return n->op == OP_REPEAT && n->attr.region->kept;
}

const Region *along_around(const Body *b)
{
        const Region *r = b->region;
        while (r && !r->along)
                r = r->repeat ? r->repeat->body->region : NULL;
        return r;
}

bool names_position(Dim d)
{
        for (int i = 0; i < MAX_ALONG; i++)
                if (d.per[NAMED_ALONG + i])
                        return true;
        return false;
}

/* The axis of input i, aligned at the right with a result of this rank. */
static int position_aligned(const Node *n, int i, int rank)
{
        const Node *x = n->in[i];
        return x->position ? x->position + rank - x->type.rank : 0;
}

/* One of two: that which there is; 0: neither, or two that differ. */
static int one_position(const Node *n, int a, int b)
{
        bool first = a > 0 && dim_is(n->type.dim[a - 1], 1), second = b > 0 && dim_is(n->type.dim[b - 1], 1);
        return first && second ? (a == b ? a : 0) : first ? a : second ? b : 0;
}

static int position_of_gather(const Node *n)
{
        int indices = 0, position = 0, rank = n->type.rank - (n->in[0]->type.rank - (n->nin - 1));
        for (int i = 1; i < n->nin; i++) {
                int next = position_aligned(n, i, rank);
                position = indices++ ? one_position(n, position, next) : next;
        }
        int own = n->in[0]->position - (n->nin - 1);
        return one_position(n, position, own > 0 ? rank + own : 0);
}

/* Of a repeat in the body: that of the value that leaves an iteration, or enters the first one. */
static int position_of_repeated(const Node *n)
{
        const Region *r = n->in[0]->attr.region;
        if (r->along || r->nbody == 0)
                return 0;
        if (n->attr.index < r->ncarry) {
                int position = r->body[0]->next[n->attr.index]->position;
                return position ? position : n->in[0]->in[n->attr.index]->position;
        }
        int position = r->body[0]->stack[n->attr.index - r->ncarry]->position;
        return position ? position + 1 : 0;
}

int position_of_result(const Node *n)
{
        int rank = n->type.rank, position = 0;
        bool any = false;
        if (n->op == OP_RESULT)
                return position_of_repeated(n);
        for (int i = 0; i < n->nin; i++)
                any = any || n->in[i]->position;
        if (!any)
                return 0;
        switch (op_info[n->op].family) {
        case POINT:
        case REDUCE:
                for (int i = 0; i < n->nin; i++)
                        position = one_position(n, position, position_aligned(n, i, rank));
                return position;
        case CONTRACT:
                if (n->op != OP_MATMUL)
                        return one_position(n, position_aligned(n, 0, rank), 0);
                for (int i = 0; i < 2; i++) { /* the summed axis is no axis of the result */
                        int own = position_aligned(n, i, rank);
                        bool summed = own == (i == 0 ? rank : rank - 1);
                        position = one_position(n, position, summed ? 0 : own);
                }
                return position;
        case MOVE:
                if (n->op == OP_GATHER)
                        return position_of_gather(n);
                if (n->op != OP_VIEW)
                        for (int i = 0; i < n->nin; i++)
                                position = one_position(n, position, n->in[i]->position);
                return position;
        default: return 0;
        }
}
