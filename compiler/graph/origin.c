/* The origin of an element: the element of an input to which it corresponds.
 *
 * The search is a path back through the graph.  Moves determine the source element.  For a sum over an
 * axis the path takes the first element, for a product the row of the left operand, for elementwise ops
 * the first operand that depends on the input's group.  So an element of a token's row leads to the token,
 * through residuals, norms, projections and earlier attention, whose rows are those of the queries; and to
 * its original position if tokens are reordered, joined or merged.  An element of a weight, such as a
 * class token, has no origin. */
#include <string.h>

#include "graph.h"

typedef struct {
        const Graph *g;
        const int64_t *size;
        const Stage *stage;
        int input;
        const Node *node;        /* node of the current element */
        int64_t index[MAX_RANK]; /* index of the element */
        int64_t iteration[4];    /* its iterations in the enclosing repeats */
} OriginPath;

static int depth_of(const Body *b)
{
        int depth = 0;
        for (; b->region; b = b->region->repeat->body)
                depth++;
        return depth;
}

static bool depends(const OriginPath *p, const Node *n)
{
        return p->stage[n->id].groups >> p->g->input[p->input].group & 1;
}

/* Goes to an operand, whose axes are aligned at the right and may be broadcast. */
static void go_to_operand(OriginPath *p, const Node *to)
{
        const int more = p->node->type.rank - to->type.rank;
        for (int a = 0; a < to->type.rank; a++)
                p->index[a] = dim_is(to->type.dim[a], 1) ? 0 : p->index[a + more];
        p->node = to;
}

static bool go_into_part(OriginPath *p)
{
        const int axis = p->node->attr.axis;
        for (int i = 0; i < p->node->nin; i++) {
                const int64_t n = dim_value(p->node->in[i]->type.dim[axis], p->size);
                if (p->index[axis] < n)
                        return p->node = p->node->in[i], true;
                p->index[axis] -= n;
        }
        return false;
}

/* Goes to a row of the left operand, or, if that does not depend on the input, to a column of the right
 * one. */
static bool go_into_product(OriginPath *p)
{
        const Node *n = p->node;
        const bool left = depends(p, n->in[0]);
        p->index[n->type.rank - (left ? 1 : 2)] = 0;
        go_to_operand(p, n->in[!left]);
        return true;
}

static bool go_into_view(OriginPath *p)
{
        const Node *n = p->node, *from = n->in[0];
        int64_t index[MAX_RANK] = {0};
        view_index(n->attr.view, p->size, p->index, n->type.rank, from->type.rank, index);
        memcpy(p->index, index, sizeof index);
        p->node = from;
        return true;
}

static bool go_into_pad(OriginPath *p)
{
        const Node *n = p->node, *from = n->in[0];
        int64_t *at = &p->index[n->attr.axis];
        *at -= dim_value(n->attr.before, p->size);
        p->node = from;
        return *at >= 0 && *at < dim_value(from->type.dim[n->attr.axis], p->size);
}

/* From a carried value at the start of an iteration to its value at the end of the previous one, or before
 * the repeat. */
static bool go_before_iteration(OriginPath *p)
{
        const Region *r = p->node->body->region;
        int64_t *iteration = &p->iteration[depth_of(p->node->body) - 1];
        const int which = p->node->attr.index;
        if (*iteration == 0)
                return p->node = r->repeat->in[which], true;
        p->node = r->body[r->body_of[--*iteration]]->next[which];
        return true;
}

/* From a result of a repeat to the value at the end of its last iteration, or to a stacked one. */
static bool go_into_repeat(OriginPath *p)
{
        const Region *r = p->node->in[0]->attr.region;
        const int which = p->node->attr.index, depth = depth_of(p->node->body);
        const bool stacked = which >= r->ncarry;
        if (depth == 4)
                return false;
        p->iteration[depth] = stacked ? p->index[0] : r->iterations - 1;
        if (stacked)
                memmove(p->index, p->index + 1, (MAX_RANK - 1) * sizeof *p->index);
        const Body *b = r->body[r->body_of[p->iteration[depth]]];
        p->node = stacked ? b->stack[which - r->ncarry] : b->next[which];
        return true;
}

static bool go_into_pointwise(OriginPath *p)
{
        for (int i = 0; i < p->node->nin; i++)
                if (depends(p, p->node->in[i]))
                        return go_to_operand(p, p->node->in[i]), true;
        return false;
}

/* One op back.  False: there is no origin. */
static bool go_back(OriginPath *p)
{
        const Node *n = p->node;
        if (!depends(p, n))
                return false;
        switch (op_info[n->op].family) {
        case POINT: return go_into_pointwise(p);
        case REDUCE: p->index[n->attr.axis] = 0; return p->node = n->in[0], true;
        case CONTRACT:
                if (n->op == OP_MATMUL)
                        return go_into_product(p);
                return p->node = n->in[0], true;
        default: break;
        }
        switch (n->op) {
        case OP_VIEW: return go_into_view(p);
        case OP_PAD: return go_into_pad(p);
        case OP_JOIN: return go_into_part(p);
        case OP_CARRY: return go_before_iteration(p);
        case OP_RESULT: return go_into_repeat(p);
        default: return false;
        }
}

static bool reach_input(OriginPath *p, int64_t *origin)
{
        while (p->node->op != OP_INPUT)
                if (!go_back(p))
                        return false;
        memcpy(origin, p->index, sizeof p->index);
        return p->node->attr.index == p->input;
}

static OriginPath origin_path(const Graph *g, const Stage *stage, const int64_t *size,
                              const AttentionSite *at, int input, const int64_t *index)
{
        OriginPath p = {.g = g, .size = size, .stage = stage, .input = input, .node = at->softmax};
        memcpy(p.index, index, sizeof p.index);
        memcpy(p.iteration, at->iteration, sizeof p.iteration);
        return p;
}

bool query_origin(const Graph *g, const Stage *stage, const int64_t *size, const AttentionSite *at, int input,
                  const int64_t *index, int64_t *origin)
{
        OriginPath p = origin_path(g, stage, size, at, input, index);
        return reach_input(&p, origin);
}

bool key_origin(const Graph *g, const Stage *stage, const int64_t *size, const AttentionSite *at, int input,
                const int64_t *index, int64_t *origin)
{
        OriginPath p = origin_path(g, stage, size, at, input, index);
        while (p.node->op != OP_MATMUL || !depends(&p, p.node->in[1]))
                if (!go_back(&p))
                        return false;
        p.index[p.node->type.rank - 2] = 0;
        go_to_operand(&p, p.node->in[1]);
        return reach_input(&p, origin);
}
