/* Scans: causal sums and maxima in which every row is computed from the one before.
 *
 *      with queries and keys      M_i = c M_{i-1} + k_i' v_i,  y_i = q_i M_i       M [depth, width] of each head
 *      without                    y_i = c y_{i-1} + v_i                            the same with q = k = 1
 *      maxima                     y_i = max(y_{i-1}, v_i), from -inf               without q, k and c
 *
 * c, of each head, is element 1 of `powers` [.., 1, 65], which are c^0 to c^64; without powers it is 1.  So
 * past rows are not read again, and the state has a constant size.  The recur pass (passes/recur.c) makes
 * scans of products with masks. */
#include "graph.h"

#include <math.h>
#include <string.h>

#include "../../runtime/scan_state.h"

ScanInputs scan_of(const Node *n)
{
        ScanInputs s = {.v = n->in[0], .maxima = n->attr.index == SCAN_MAXIMA};
        if (n->nin > 2) {
                s.q = n->in[1];
                s.k = n->in[2];
        }
        if (n->nin % 2 == 0)
                s.powers = n->in[n->nin - 1];
        s.width = s.v->type.dim[s.v->type.rank - 1].fixed;
        s.depth = s.q ? s.q->type.dim[s.q->type.rank - 1].fixed : 0;
        s.heads = 1;
        for (int a = 0; a < n->type.rank - 2; a++)
                s.heads *= n->type.dim[a].fixed;
        return s;
}

bool keeps_scan(const Node *n)
{
        return n->op == OP_SCAN && n->attr.state;
}

Type scan_state(const Node *n)
{
        ScanInputs s = scan_of(n);
        return (Type){
                .dtype = REAL,
                .rank = 2,
                .dim = {dim_fixed(s.heads * SCAN_UNITS(s.width)), dim_fixed(SCAN_FLOATS(s.depth, s.width))}};
}

int64_t scan_sum_count(const Node *n)
{
        ScanInputs s = scan_of(n);
        return s.heads * (s.q ? s.depth : 1) * s.width;
}

void scan_start(const Node *n, double *sums)
{
        for (int64_t i = 0; i < scan_sum_count(n); i++)
                sums[i] = n->attr.index == SCAN_MAXIMA ? -INFINITY : 0;
}

/* Offset of a head of n in an operand, whose leading axes are broadcast. */
static int64_t scan_head_at(const Node *n, const Node *x, int64_t head, const int64_t *size)
{
        int64_t at = 0, stride = 1;
        for (int i = 1; i <= 2; i++)
                stride *= dim_value(x->type.dim[x->type.rank - i], size);
        for (int a = n->type.rank - 3; a >= 0; a--) {
                int64_t count = n->type.dim[a].fixed, digit = head % count;
                int own = a - n->type.rank + x->type.rank;
                head /= count;
                if (own < 0 || dim_is(x->type.dim[own], 1))
                        continue;
                at += digit * stride;
                stride *= count;
        }
        return at;
}

/* Computes one row of one head.  sum [depth][width]: of earlier rows, updated to include this one. */
static void next_row(const ScanInputs *s, double decay, const double *q, const double *k, const double *v,
                     double *sum, double *y)
{
        int64_t depth = s->q ? s->depth : 1;
        for (int64_t c = 0; c < s->width; c++)
                y[c] = 0;
        for (int64_t d = 0; d < depth; d++, sum += s->width)
                for (int64_t c = 0; c < s->width; c++) {
                        sum[c] = decay * sum[c] + (k ? k[d] : 1) * v[c];
                        y[c] += (q ? q[d] : 1) * sum[c];
                }
}

static void next_maxima(int64_t width, const double *v, double *most, double *y)
{
        for (int64_t c = 0; c < width; c++)
                y[c] = most[c] = op_of(OP_MAX, most[c], v[c], 0);
}

void evaluate_scan(const Node *n, const int64_t *size, const double *const *in, double *sums, double *y)
{
        ScanInputs s = scan_of(n);
        int64_t rows = dim_value(n->type.dim[n->type.rank - 2], size), depth = s.q ? s.depth : 1;
        for (int64_t head = 0; head < s.heads; head++, sums += depth * s.width) {
                const double *v = in[0] + scan_head_at(n, s.v, head, size), *q = NULL, *k = NULL;
                double decay = s.powers ? in[n->nin - 1][scan_head_at(n, s.powers, head, size) + 1] : 1;
                if (s.q) {
                        q = in[1] + scan_head_at(n, s.q, head, size);
                        k = in[2] + scan_head_at(n, s.k, head, size);
                }
                for (int64_t i = 0; i < rows && !interrupted; i++, y += s.width)
                        if (s.maxima)
                                next_maxima(s.width, v + i * s.width, sums, y);
                        else
                                next_row(&s, decay, q ? q + i * depth : NULL, k ? k + i * depth : NULL,
                                         v + i * s.width, sums, y);
        }
}
