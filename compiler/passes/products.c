/* Recognises products in other notations, and orients them so that attention around them is one kernel.
 *
 *   sum(a * b, axis: k)                      a @ b, where only a has the rows' axis, and only b the columns'
 *   softmax((k @ q')')                       softmax(q @ k'), also with elementwise ops before or after the transposition
 *   (v' @ p')'                               p @ v, where p is a softmax
 *   join(v, w)[.., range of v]               v
 *   (p @ join(v, w))[.., range of v]         p @ v
 *   (p @ pad(v, value: 1))[.., -1]           sum(p)
 *
 * This is equality of real numbers: a sum may have another order.  In floats a @ b adds k by k from the
 * first. */
#include "simplify_private.h"

static Node *product_node(Graph *g, const Node *like, Op op, Node *a, Node *b, const Attr *attr)
{
        Node *in[] = {a, b};
        return build_like(g, like, op, b ? 2 : 1, in, attr);
}

/* --- a sum of products ------------------------------------------------------------------------------------------ */

static bool extends(const Node *x, int rank, int axis)
{
        int at = axis - (rank - x->type.rank);
        return at >= 0 && !dim_is(x->type.dim[at], 1);
}

/* A factor with its axes in the order of a product: without `gone`, and the axes before the last two in their
 * old order. */
static Node *axes_in_order(Graph *g, const Node *like, Node *x, int rank, int gone, int second, int last)
{
        int perm[MAX_RANK], n = 0;
        perm[n++] = gone;
        for (int i = 0; i < rank; i++)
                if (i != gone && i != second && i != last)
                        perm[n++] = i;
        perm[n++] = second;
        perm[n] = last;
        x = view_rank(g, like->body, x, rank, like->span, like->where);
        x = view_transpose(g, like->body, x, perm, like->span, like->where);
        return view_drop(g, like->body, x, 0, like->span, like->where);
}

/* The only axis that x has and y lacks; -1: none, or several. */
static int axis_alone(const Node *x, const Node *y, int rank)
{
        int alone = -1, n = 0;
        for (int i = 0; i < rank; i++)
                if (extends(x, rank, i) && !extends(y, rank, i)) {
                        alone = i;
                        n++;
                }
        return n == 1 ? alone : -1;
}

static Node *product_sum(Graph *g, const Node *n)
{
        const Node *times = n->in[0];
        int rank = times->type.rank, fold = n->attr.axis;
        if (times->op != OP_MUL || n->type.dtype != REAL || rank < 3)
                return NULL;
        Node *a = times->in[0], *b = times->in[1];
        int row = axis_alone(a, b, rank), column = axis_alone(b, a, rank);
        if (a->type.dtype != REAL || b->type.dtype != REAL || row < 0 || column < 0 ||
            !extends(a, rank, fold) || !extends(b, rank, fold))
                return NULL;
        bool swap = column < row;
        int first = swap ? column : row, second = swap ? row : column;
        Node *left = axes_in_order(g, n, swap ? b : a, rank, second, first, fold);
        Node *right = axes_in_order(g, n, swap ? a : b, rank, first, fold, second);
        Node *y = product_node(g, n, OP_MATMUL, left, right, NULL);
        y = view_rank(g, n->body, y, rank, n->span, n->where);
        int perm[MAX_RANK];
        for (int i = 0, batch = 1; i < rank; i++)
                perm[i] = i == fold ? 0 : i == first ? rank - 2 : i == second ? rank - 1 : batch++;
        return view_transpose(g, n->body, y, perm, n->span, n->where);
}

/* --- transposed scores --- */

static Node *turn(Graph *g, Node *n)
{
        int perm[MAX_RANK], rank = n->type.rank;
        for (int i = 0; i < rank; i++)
                perm[i] = i;
        perm[rank - 2] = rank - 1;
        perm[rank - 1] = rank - 2;
        return view_transpose(g, n->body, n, perm, n->span, n->where);
}

/* Whether n is another node with its last two axes exchanged. */
static bool is_turned(const Node *n)
{
        int rank = n->type.rank;
        if (n->op != OP_VIEW || rank < 2 || n->in[0]->type.rank != rank)
                return false;
        for (int i = 0; i < n->attr.view->natom; i++) {
                const Atom *a = &n->attr.view->atom[i];
                int from = a->out < rank - 2 ? a->out : 2 * rank - 3 - a->out;
                bool whole =
                        a->axis == from && a->stride == 1 && dim_equal(a->size, n->in[0]->type.dim[from]);
                if (!whole && !dim_is(a->size, 1))
                        return false;
        }
        for (int i = 0; i < rank; i++) {
                int from = i < rank - 2 ? i : 2 * rank - 3 - i;
                if (!dim_is(n->attr.view->offset[i], 0) ||
                    !dim_equal(n->type.dim[i], n->in[0]->type.dim[from]))
                        return false;
        }
        return true;
}

typedef struct {
        Graph *g;
        int left;   /* number of nodes that may still be visited */
        bool found; /* a product was transposed */
} Turning;

static Node *upright(Turning *t, Node *n);

static Node *product_pointwise(const Turning *t, const Node *n, Node *const *in)
{
        return build(t->g, n->body, NULL, n->op, n->nin, in, &n->attr, n->span, n->where);
}

/* n with its last two axes exchanged; elementwise ops and products are rebuilt. */
static Node *product_turned(Turning *t, Node *n)
{
        Node *in[3];
        if (--t->left < 0)
                return NULL;
        if (n->op == OP_MATMUL) {
                t->found = true;
                return product_node(t->g, n, OP_MATMUL, turn(t->g, n->in[1]), turn(t->g, n->in[0]), NULL);
        }
        if (op_info[n->op].family != POINT || n->op == OP_TOP)
                return is_turned(n) ? n->in[0] : turn(t->g, n);
        for (int i = 0; i < n->nin; i++) {
                Node *x = n->in[i]->type.rank < 2
                                  ? view_broadcast(t->g, n->body, n->in[i], &n->type, n->span, n->where)
                                  : n->in[i];
                in[i] = product_turned(t, x);
                if (!in[i])
                        return NULL;
        }
        return product_pointwise(t, n, in);
}

/* n without the transpositions between it and its products. */
static Node *upright(Turning *t, Node *n)
{
        Node *in[3];
        bool changed = false;
        if (--t->left < 0)
                return NULL;
        if (is_turned(n))
                return product_turned(t, n->in[0]);
        if (op_info[n->op].family != POINT || n->op == OP_TOP)
                return n;
        for (int i = 0; i < n->nin; i++) {
                in[i] = upright(t, n->in[i]);
                if (!in[i])
                        return NULL;
                changed = changed || in[i] != n->in[i];
        }
        return changed ? product_pointwise(t, n, in) : n;
}

static Node *upright_scores(Graph *g, const Node *softmax)
{
        Turning t = {.g = g, .left = 64};
        Node *x = softmax->type.rank >= 2 ? upright(&t, softmax->in[0]) : NULL;
        if (!x || !t.found)
                return NULL;
        Node *in[] = {x, softmax->nin > 1 ? softmax->in[1] : NULL};
        return build(g, softmax->body, NULL, OP_SOFTMAX, softmax->nin, in, &softmax->attr, softmax->span,
                     softmax->where);
}

/* a @ p', where p is a softmax, becomes (p @ a')'. */
static Node *upright_values(Graph *g, const Node *n)
{
        const Node *p = n->in[1];
        if (!is_turned(p) || p->in[0]->op != OP_SOFTMAX)
                return NULL;
        return turn(g, product_node(g, n, OP_MATMUL, p->in[0], turn(g, n->in[0]), NULL));
}

/* --- a part of a product ------------------------------------------------------------------------------------------ */

/* Whether the view is a range of its input's last axis and nothing else. */
static bool is_range(const Node *n, Dim *first, Dim *count)
{
        const View *v = n->attr.view;
        int last = n->type.rank - 1;
        if (last < 0 || n->in[0]->type.rank != n->type.rank || v->natom != n->type.rank)
                return false;
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                bool whole = a->out == last || dim_equal(a->size, n->in[0]->type.dim[a->out]);
                bool straight = dim_is(a->size, 1) || (a->axis == a->out && a->stride == 1);
                if (!whole || !straight || (a->out != last && !dim_is(v->offset[a->out], 0)))
                        return false;
        }
        *first = v->offset[last];
        *count = n->type.dim[last];
        return dim_is_fixed(*first) && dim_is_fixed(*count);
}

/* The range of columns of x, a join or pad along its columns, if it is within one part; else NULL. */
static Node *columns_within(Graph *g, const Node *like, const Node *x, int64_t first, int64_t count)
{
        int64_t at = x->op == OP_PAD ? x->attr.before.fixed : 0;
        for (int i = 0; i < x->nin; i++) {
                Node *part = x->in[i];
                Dim width = part->type.dim[x->type.rank - 1];
                if (!dim_is_fixed(width))
                        return NULL;
                if (first >= at && first + count <= at + width.fixed)
                        return view_slice(g, like->body, part, x->type.rank - 1, dim_fixed(first - at),
                                          dim_fixed(count), like->span, like->where);
                at += width.fixed;
        }
        return NULL;
}

static bool has_parts(const Node *x)
{
        return (x->op == OP_JOIN || x->op == OP_PAD) && x->attr.axis == x->type.rank - 1 &&
               dim_is_fixed(x->attr.before);
}

static Node *product_part(Graph *g, const Node *n)
{
        Dim first, count;
        const Node *product = n->in[0];
        if (!is_range(n, &first, &count))
                return NULL;
        if (has_parts(product))
                return columns_within(g, n, product, first.fixed, count.fixed);
        if (product->op != OP_MATMUL || !has_parts(product->in[1]))
                return NULL;
        const Node *x = product->in[1];
        Node *columns = columns_within(g, n, x, first.fixed, count.fixed);
        if (columns)
                return product_node(g, n, OP_MATMUL, product->in[0], columns, NULL);
        const Attr attr = {.axis = product->in[0]->type.rank - 1, .slot = -1};
        bool sums =
                count.fixed == 1 && x->attr.value == 1 && dim_is_fixed(x->in[0]->type.dim[x->type.rank - 1]);
        return sums ? product_node(g, n, OP_SUM, product->in[0], NULL, &attr) : NULL;
}

Node *rewrite_product(Graph *g, Node *n)
{
        Node *y = NULL;
        switch (n->op) {
        case OP_SUM: y = product_sum(g, n); break;
        case OP_SOFTMAX: y = upright_scores(g, n); break;
        case OP_MATMUL: y = upright_values(g, n); break;
        case OP_VIEW: y = product_part(g, n); break;
        default: break;
        }
        return y && type_equal(&y->type, &n->type) ? y : n;
}
