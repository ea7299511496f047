/* The definition of each op, in double precision: plain loops over row-major arrays.
 *
 * Compiled code is checked against this definition, so it is written for readability, not for speed.
 * Details that the equations in ops.def leave open are defined here:
 *
 *   sums           ascending from +0
 *   max, maxof     a > b ? a : b, so that of a NaN and b, b is taken
 *   softmax        a row in which every score is -inf is 0
 *   matmul         with skipped zeros (attr.index), a term whose left, or right, factor is 0 adds nothing,
 *                  even if the other is infinite or NaN: a masked position, of weight 0, has no effect
 *   scan           row by row, the sum of earlier rows times c first
 *   gather         an index below 0 reads element 0, one beyond the axis the last element
 *   equal          NaN equals NaN
 *   pow            exponents -1, -1/2, 1/2, 1, 2 and 3 are 1 / a, 1 / sqrt a, sqrt a, a, a a and (a a) a */
#include "graph.h"

#include <math.h>
#include <string.h>

enum { MAX_CODES = 256 /* of a group of activations */ };

/* Nested loops over up to three arrays: for each loop its count, and its step in each array. */
enum { MAX_ARRAYS = 3 };
typedef struct {
        int nloop;
        int64_t count[MAX_ATOM];
        int64_t step[MAX_ARRAYS][MAX_ATOM];
        int64_t index[MAX_ATOM];
        int64_t at[MAX_ARRAYS]; /* current offset in each array */
} Loops;

/* Advances all loops except the innermost `inner`.  False: the end is reached. */
static bool advance(Loops *loops, int inner)
{
        for (int i = loops->nloop - 1 - inner; i >= 0; i--) {
                for (int k = 0; k < MAX_ARRAYS; k++)
                        loops->at[k] += loops->step[k][i];
                if (++loops->index[i] < loops->count[i])
                        return true;
                for (int k = 0; k < MAX_ARRAYS; k++)
                        loops->at[k] -= loops->count[i] * loops->step[k][i];
                loops->index[i] = 0;
        }
        return false;
}

static int64_t loops_total(const Loops *loops)
{
        int64_t total = 1;
        for (int i = 0; i < loops->nloop; i++)
                total *= loops->count[i];
        return total;
}

/* stride[i]: elements from one index of axis i to the next. */
static void strides(const Type *t, const int64_t *size, int64_t *stride)
{
        int64_t step = 1;
        for (int i = t->rank - 1; i >= 0; i--) {
                stride[i] = step;
                step *= dim_value(t->dim[i], size);
        }
}

/* Loops over the first `rank` axes of `over`.  Sets the steps of array k for `part`, broadcast with its
 * axes aligned at the right; only its first part_rank axes are used. */
static void broadcast_loops(Loops *loops, int k, const Type *over, int rank, const Type *part, int part_rank,
                            const int64_t *size)
{
        int64_t stride[MAX_RANK];
        strides(part, size, stride);
        loops->nloop = rank;
        for (int i = 0; i < rank; i++) {
                int axis = i - (rank - part_rank);
                loops->count[i] = dim_value(over->dim[i], size);
                loops->step[k][i] = axis < 0 || dim_is(part->dim[axis], 1) ? 0 : stride[axis];
        }
}

/* An array as [outer][n][inner] around one axis. */
typedef struct {
        int64_t outer, n, inner;
} AxisSplit;

static AxisSplit axis_around(const Type *t, int axis, const int64_t *size)
{
        AxisSplit a = {1, dim_value(t->dim[axis], size), 1};
        for (int i = 0; i < t->rank; i++) {
                if (i < axis)
                        a.outer *= dim_value(t->dim[i], size);
                if (i > axis)
                        a.inner *= dim_value(t->dim[i], size);
        }
        return a;
}

/* --- movement --- */

static void evaluate_view(const Node *n, const int64_t *size, const double *x, double *y)
{
        const View *v = n->attr.view;
        int64_t stride[MAX_RANK];
        Loops loops = {.nloop = v->natom};
        strides(&n->in[0]->type, size, stride);
        for (int axis = 0; axis < n->in[0]->type.rank; axis++)
                loops.at[0] += dim_value(v->offset[axis], size) * stride[axis];
        for (int i = 0; i < v->natom; i++) {
                const Atom *atom = &v->atom[i];
                loops.count[i] = dim_value(atom->size, size);
                loops.step[0][i] = atom->axis < 0 ? 0 : atom->stride * stride[atom->axis];
        }
        if (loops_total(&loops) == 0)
                return;
        do
                *y++ = x[loops.at[0]];
        while (advance(&loops, 0));
}

static void evaluate_pad(const Node *n, const int64_t *size, const double *x, double *y)
{
        AxisSplit a = axis_around(&n->in[0]->type, n->attr.axis, size);
        int64_t before = dim_value(n->attr.before, size) * a.inner,
                after = dim_value(n->attr.after, size) * a.inner;
        for (int64_t o = 0; o < a.outer; o++) {
                for (int64_t i = 0; i < before; i++)
                        *y++ = n->attr.value;
                for (int64_t i = 0; i < a.n * a.inner; i++)
                        *y++ = *x++;
                for (int64_t i = 0; i < after; i++)
                        *y++ = n->attr.value;
        }
}

static void evaluate_join(const Node *n, const int64_t *size, const double *const *in, double *y)
{
        int64_t outer = axis_around(&n->type, n->attr.axis, size).outer;
        for (int64_t o = 0; o < outer; o++) {
                for (int k = 0; k < n->nin; k++) {
                        AxisSplit a = axis_around(&n->in[k]->type, n->attr.axis, size);
                        int64_t run = a.n * a.inner;
                        for (int64_t i = 0; i < run; i++)
                                *y++ = in[k][o * run + i];
                }
        }
}

static int64_t clamped_index(double index, int64_t n)
{
        if (!(index > 0))
                return 0;
        return index < (double)(n - 1) ? (int64_t)index : n - 1;
}

/* in[1 ..]: an index for each leading axis of the table in[0], broadcast to one shape. */
static void evaluate_gather(const Node *n, const int64_t *size, const double *const *in, double *y)
{
        const Type *table = &n->in[0]->type;
        int indices = n->nin - 1, rank = n->type.rank - (table->rank - indices);
        int64_t stride[MAX_RANK], rest = 1, positions = 1;
        strides(table, size, stride);
        for (int axis = indices; axis < table->rank; axis++)
                rest *= dim_value(table->dim[axis], size);
        for (int axis = 0; axis < rank; axis++)
                positions *= dim_value(n->type.dim[axis], size);
        for (int64_t p = 0; p < positions; p++) {
                int64_t at = 0;
                for (int k = 0; k < indices; k++) {
                        const Type *t = &n->in[k + 1]->type;
                        int64_t left = p, from = 0, index_stride[MAX_RANK];
                        strides(t, size, index_stride);
                        for (int axis = rank - 1; axis >= 0; axis--) {
                                int64_t count = dim_value(n->type.dim[axis], size);
                                int own = axis - (rank - t->rank);
                                if (own >= 0 && !dim_is(t->dim[own], 1))
                                        from += left % count * index_stride[own];
                                left /= count;
                        }
                        at += clamped_index(in[k + 1][from], dim_value(table->dim[k], size)) * stride[k];
                }
                memcpy(y + p * rest, in[0] + at, (size_t)rest * sizeof *y);
        }
}

/* --- pointwise --- */

static double evaluate_power(double a, double b)
{
        if (b == 2)
                return a * a;
        if (b == 3)
                return a * a * a;
        if (b == 1)
                return a;
        if (b == 0.5)
                return sqrt(a);
        if (b == -0.5)
                return 1 / sqrt(a);
        return b == -1 ? 1 / a : real_pow(a, b);
}

double op_of(Op op, double a, double b, double c)
{
        switch (op) {
        case OP_NEG: return -a;
        case OP_EXP: return real_exp(a);
        case OP_LOG: return real_log(a);
        case OP_SQRT: return sqrt(a);
        case OP_SIN: return real_sin(a);
        case OP_COS: return real_cos(a);
        case OP_TANH: return real_tanh(a);
        case OP_ERF: return real_erf(a);
        case OP_ATAN: return real_atan(a);
        case OP_FLOOR: return floor(a);
        case OP_REAL_OF: return a;
        case OP_NOT: return 1 - a;
        case OP_ADD: return a + b;
        case OP_SUB: return a - b;
        case OP_MUL: return a * b;
        case OP_DIV: return a / b;
        case OP_POW: return evaluate_power(a, b);
        case OP_MAX: return a > b ? a : b;
        case OP_MIN: return a < b ? a : b;
        case OP_FLOORDIV: return floor(a / b);
        case OP_MOD: return a - b * floor(a / b);
        case OP_LESS: return a < b;
        case OP_LESSEQ: return a <= b;
        case OP_EQUAL: return a == b || (isnan(a) && isnan(b));
        case OP_AND: return a != 0 && b != 0;
        case OP_OR: return a != 0 || b != 0;
        case OP_WHERE: return a != 0 ? b : c;
        default: return NAN;
        }
}

static void evaluate_pointwise(const Node *n, const int64_t *size, const double *const *in, double *y)
{
        Loops loops = {0};
        const double *x[MAX_ARRAYS] = {in[0], in[0], in[0]};
        for (int k = 0; k < n->nin; k++) {
                x[k] = in[k];
                broadcast_loops(&loops, k, &n->type, n->type.rank, &n->in[k]->type, n->in[k]->type.rank,
                                size);
        }
        if (loops_total(&loops) == 0)
                return;
        int last = loops.nloop - 1; /* loops over rows, without the last axis */
        int64_t count = last < 0 ? 1 : loops.count[last], step[MAX_ARRAYS];
        for (int k = 0; k < MAX_ARRAYS; k++)
                step[k] = last < 0 ? 0 : loops.step[k][last];
        do {
                const double *a = x[0] + loops.at[0], *b = x[1] + loops.at[1], *c = x[2] + loops.at[2];
                for (int64_t i = 0; i < count; i++)
                        *y++ = op_of(n->op, a[i * step[0]], b[i * step[1]], c[i * step[2]]);
        } while (advance(&loops, 1));
}

/* Whether x[i] comes before x[j] in the order of `top`: a NaN before numbers, of equal ones the lower index. */
static bool top_before(const double *x, int64_t i, int64_t j)
{
        const bool i_nan = isnan(x[i]), j_nan = isnan(x[j]);
        return x[i] > x[j] || (i_nan && !j_nan) || (i < j && (x[i] == x[j] || (i_nan && j_nan)));
}

/* Element i of a row is chosen if fewer than k elements come before it. */
static bool is_in_top(const double *x, int64_t n, int64_t k, int64_t i)
{
        int64_t ahead = 0;
        for (int64_t j = 0; j < n && ahead < k; j++)
                ahead += top_before(x, j, i);
        return ahead < k;
}

static void evaluate_top(const Node *n, const int64_t *size, const double *x, double *y)
{
        AxisSplit a = axis_around(&n->type, n->type.rank - 1, size);
        for (int64_t row = 0; row < a.outer; row++, x += a.n, y += a.n)
                for (int64_t i = 0; i < a.n; i++)
                        y[i] = is_in_top(x, a.n, n->attr.index, i);
}

static void evaluate_chosen(const Node *n, const int64_t *size, const double *x, double *y)
{
        AxisSplit a = axis_around(&n->in[0]->type, n->type.rank - 1, size);
        for (int64_t row = 0; row < a.outer; row++, x += a.n, y += n->attr.index) {
                int64_t count = 0;
                for (int64_t i = 0; i < a.n; i++)
                        if (is_in_top(x, a.n, n->attr.index, i))
                                y[count++] = (double)i;
                while (count < n->attr.index)
                        y[count++] = -1;
        }
}

static void evaluate_among(const Node *n, const int64_t *size, const double *x, double *y)
{
        AxisSplit a = axis_around(&n->type, n->type.rank - 1, size),
                  list = axis_around(&n->in[0]->type, n->type.rank - 1, size);
        for (int64_t row = 0; row < a.outer; row++, x += list.n, y += a.n) {
                memset(y, 0, (size_t)a.n * sizeof *y);
                for (int64_t i = 0; i < list.n; i++)
                        if (x[i] >= 0 && x[i] < (double)a.n)
                                y[(int64_t)x[i]] = 1;
        }
}

/* --- reductions --- */

static double reduce_values(Op op, const double *x, int64_t n, int64_t step)
{
        double sum = 0, most = -INFINITY;
        int64_t where = 0;
        for (int64_t i = 0; i < n; i++) {
                double value = x[i * step];
                sum += value;
                if (value > most)
                        where = i;
                most = most > value ? most : value;
        }
        return op == OP_SUM ? sum : op == OP_MAXOF ? most : (double)where;
}

static void evaluate_reduce(const Node *n, const int64_t *size, const double *x, double *y)
{
        AxisSplit a = axis_around(&n->in[0]->type, n->attr.axis, size);
        for (int64_t o = 0; o < a.outer; o++)
                for (int64_t i = 0; i < a.inner; i++)
                        *y++ = reduce_values(n->op, x + o * a.n * a.inner + i, a.n, a.inner);
}

/* --- contractions --- */

/* y [n] += factor b [n] */
static void add_scaled_row(double factor, const double *restrict b, double *restrict y, int64_t n,
                           bool past_zeros)
{
        if (!past_zeros)
                for (int64_t j = 0; j < n; j++)
                        y[j] += factor * b[j];
        else
                for (int64_t j = 0; j < n; j++)
                        y[j] = b[j] != 0 ? y[j] + factor * b[j] : y[j];
}

/* Rounds a group of activations to 8-bit codes with one scale (runtime/blocks.h). */
static void evaluate_round_group(const double *x, double *y, int n)
{
        double most = 0;
        bool finite = true;
        for (int i = 0; i < n; i++) {
                finite = finite && isfinite(x[i]);
                most = fabs(x[i]) > most ? fabs(x[i]) : most;
        }
        for (int i = 0; i < n; i++)
                y[i] = !finite ? NAN : most < 1e-30 ? 0 : nearbyint(x[i] * (127 / most)) * (most / 127);
}

/* y [m][n] = a [m][k] b [k][n].  group: size of groups in which a is rounded to codes, or 0. */
static void evaluate_product(const double *restrict a, const double *restrict b, double *restrict y,
                             int64_t m, int64_t k, int64_t n, int zeros, int group)
{
        double code[MAX_CODES];
        int64_t step = group ? group : k;
        for (int64_t i = 0; i < m * n; i++)
                y[i] = 0;
        for (int64_t at = 0; step && at < m * k && !interrupted; at += step) {
                const double *some = a + at, *rows = b + at % k * n;
                if (group) {
                        evaluate_round_group(some, code, group);
                        some = code;
                }
                for (int64_t p = 0; p < step; p++)
                        if (some[p] != 0 || !(zeros & ZEROS_LEFT))
                                add_scaled_row(some[p], rows + p * n, y + at / k * n, n, zeros & ZEROS_RIGHT);
        }
}

int rounded_group(const Node *node)
{
        int axis;
        const Node *of = product_weight(node->in[1], &axis);
        const Weight *w = of ? of->attr.weight : NULL;
        return w && w->contracted == axis ? storage_info[w->storage].codes : 0;
}

static void evaluate_matmul(const Node *node, const int64_t *size, const double *const *in, double *y)
{
        const Type *a = &node->in[0]->type, *b = &node->in[1]->type, *t = &node->type;
        int64_t m = dim_value(a->dim[a->rank - 2], size), k = dim_value(a->dim[a->rank - 1], size);
        int64_t n = dim_value(b->dim[b->rank - 1], size);
        Loops loops = {0};
        broadcast_loops(&loops, 0, t, t->rank - 2, a, a->rank - 2, size);
        broadcast_loops(&loops, 1, t, t->rank - 2, b, b->rank - 2, size);
        if (loops_total(&loops) == 0)
                return;
        do {
                evaluate_product(in[0] + loops.at[0], in[1] + loops.at[1], y, m, k, n, node->attr.index,
                                 rounded_group(node));
                y += m * n;
        } while (advance(&loops, 0));
}

static double larger(double a, double b)
{
        return a > b ? a : b;
}

/* sink: NULL, or a further score whose share is dropped.  dead: value of a row in which every score is
 * -inf. */
static void softmax_row(const double *x, const double *sink, double dead, double *y, int64_t n)
{
        double most = sink ? *sink : -INFINITY, sum = 0;
        bool live = sink && *sink != -INFINITY && !isnan(dead);
        for (int64_t i = 0; i < n; i++) {
                most = larger(x[i], most);
                live = live || x[i] != -INFINITY;
        }
        for (int64_t i = 0; i < n; i++) {
                y[i] = live ? real_exp(x[i] - most) : dead;
                sum += y[i];
        }
        if (sink)
                sum += real_exp(*sink - most);
        for (int64_t i = 0; live && i < n; i++)
                y[i] /= sum;
}

static void evaluate_softmax(const Node *n, const int64_t *size, const double *const *in, double *y)
{
        Loops loops = {0};
        int rank = n->type.rank, last = rank - 1;
        int64_t count = dim_value(n->type.dim[last], size);
        broadcast_loops(&loops, 0, &n->type, rank, &n->in[0]->type, rank, size);
        if (n->nin == 2)
                broadcast_loops(&loops, 1, &n->type, rank, &n->in[1]->type, n->in[1]->type.rank, size);
        if (loops_total(&loops) == 0)
                return;
        do {
                softmax_row(in[0] + loops.at[0], n->nin == 2 ? in[1] + loops.at[1] : NULL,
                            n->attr.index == DEAD_ROWS_NAN ? NAN : 0, y, count);
                y += count;
        } while (advance(&loops, 1));
}

/* A scan without an initial state. */
static void evaluate_scan_alone(const Node *n, const int64_t *size, const double *const *in, double *y)
{
        Arena scratch = {0};
        double *sums = NEW_ARRAY(&scratch, double, scan_sum_count(n));
        scan_start(n, sums);
        evaluate_scan(n, size, in, sums, y);
        arena_free(&scratch);
}

/* --- all ops --- */

void evaluate(const Node *n, const int64_t *size, const double *const *in, double *out)
{
        switch (op_info[n->op].family) {
        case LEAF:
                if (n->op == OP_SIZE)
                        *out = (double)dim_value(n->attr.dim, size);
                for (int64_t i = 0; n->op == OP_INDEX && i < dim_value(n->type.dim[0], size); i++)
                        out[i] = (double)(i + dim_value(n->attr.dim, size));
                return;
        case MOVE:
                if (n->op == OP_VIEW)
                        evaluate_view(n, size, in[0], out);
                else if (n->op == OP_PAD)
                        evaluate_pad(n, size, in[0], out);
                else if (n->op == OP_JOIN)
                        evaluate_join(n, size, in, out);
                else
                        evaluate_gather(n, size, in, out);
                return;
        case POINT:
                if (n->op == OP_TOP)
                        evaluate_top(n, size, in[0], out);
                else
                        evaluate_pointwise(n, size, in, out);
                return;
        case REDUCE: evaluate_reduce(n, size, in[0], out); return;
        case CONTRACT:
                if (n->op == OP_MATMUL)
                        evaluate_matmul(n, size, in, out);
                else if (n->op == OP_CHOSEN)
                        evaluate_chosen(n, size, in[0], out);
                else if (n->op == OP_AMONG)
                        evaluate_among(n, size, in[0], out);
                else if (n->op == OP_SCAN)
                        evaluate_scan_alone(n, size, in, out);
                else
                        evaluate_softmax(n, size, in, out);
                return;
        case STATE:
        case CONTROL: return;
        }
}
