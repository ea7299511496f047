/* Folds within expressions: a loop over one axis, whose result is the same in all lanes, or a vector for each element where the result
 * differs by lane; and the softmax, of whose row two folds are needed. */
#include "lower_private.h"

#include <math.h>

typedef struct {
        int lane;
        bool whole_lanes;
        StmtList *lanes;
        KnownList lane_known;
} LaneScope;

static LaneScope open_lanes(Lower *l, Dim size)
{
        LaneScope outer = {l->lane, l->whole_lanes, l->lanes, l->lane_known};
        l->domain.loop[l->domain.n] = (DomainLoop){size, -1, 1};
        l->lane = l->domain.n++;
        l->whole_lanes = dim_is_fixed(size) && size.fixed % LANES == 0;
        l->lanes = NEW(l->arena, StmtList);
        l->lane_known = (KnownList){0};
        return outer;
}

static void close_lanes(Lower *l, LaneScope outer)
{
        l->domain.n--;
        l->lane = outer.lane;
        l->whole_lanes = outer.whole_lanes;
        l->lanes = outer.lanes;
        l->lane_known = outer.lane_known;
}

/* The maximum or the sum of `value` over the lanes' loop. */
static int fold_loop(Lower *l, const Node *n, const Map *m, Dim size, bool maximum, int value,
                     const LaneScope *outer)
{
        bool f64 = is_wide_here(l, n);
        double start = maximum ? -INFINITY : 0;
        Op op = maximum ? OP_MAX : OP_ADD;
        if (!l->whole_lanes)
                value = lower_define(
                        l, l->lanes,
                        (Stmt){.op = STMT_KEEP, .f64 = f64, .from = {value}, .nfrom = 1, .value = start});
        int sum = lower_define(l, l->row, (Stmt){.op = STMT_START, .f64 = f64, .value = start});
        add_stmt(l, l->lanes,
                 (Stmt){.op = STMT_ACCUMULATE,
                        .compute = op,
                        .f64 = f64,
                        .to = sum,
                        .from = {value},
                        .nfrom = 1});
        CodeLoop *over = NEW(l->arena, CodeLoop);
        over->size = size;
        add_stmt(l, l->row,
                 (Stmt){.op = STMT_LANES,
                        .over = over,
                        .lanes = l->whole_lanes ? ALL_LANES : REST_LANES,
                        .inside = l->lanes});
        close_lanes(l, *outer);
        return lower_value_of(l, n, m, false,
                              (Stmt){.op = STMT_ACROSS, .compute = op, .from = {sum}, .nfrom = 1});
}

/* A fold of 1 to 16 elements whose result differs by lane: each element is a vector.  They meet in the same order as the
 * lanes of STMT_ACROSS, so the bits are those of a fold in lanes. */
static int fold_across_lanes(Lower *l, Node *n, const Map *m, int size)
{
        const bool f64 = is_wide_here(l, n);
        const Op op = n->op == OP_MAXOF ? OP_MAX : OP_ADD;
        int value[LANES];
        for (int i = 0; i < size; i++) {
                Map at = *m;
                at.axis[n->attr.axis] = (AxisIndex){.offset = dim_fixed(i)};
                value[i] = lower_value(l, n->in[0], &at);
                if (value[i] < 0)
                        return -1;
                value[i] = converted_value(l, l->lanes, value[i], is_wide_here(l, n->in[0]), f64);
        }
        for (int step = LANES / 2; step; step /= 2)
                for (int i = 0; i < step && i + step < size; i++)
                        value[i] =
                                lower_define(l, l->lanes, stmt_compute(op, f64, value[i], value[i + step]));
        if (op == OP_MAX)
                return value[0];
        /* a fold in lanes begins with +0, so its sum is never -0 */
        return lower_value_of(l, n, m, true, stmt_compute(OP_ADD, f64, value[0], lower_constant(l, n, 0)));
}

int lower_fold(Lower *l, Node *n, const Map *m)
{
        Dim size = n->in[0]->type.dim[n->attr.axis];
        if (map_uses(m, l->lane) && dim_is_fixed(size) && size.fixed >= 1 && size.fixed <= LANES)
                return fold_across_lanes(l, n, m, (int)size.fixed);
        if (map_uses(m, l->lane) || l->domain.n >= MAX_LOOPS)
                return lower_fail(l, n);
        LaneScope outer = open_lanes(l, size);
        Map at = map_fold(m, n->attr.axis, l->lane);
        int value = lower_value(l, n->in[0], &at);
        if (value < 0) {
                close_lanes(l, outer);
                return -1;
        }
        value = converted_value(l, l->lanes, value, is_wide_here(l, n->in[0]), is_wide_here(l, n));
        return fold_loop(l, n, m, size, n->op == OP_MAXOF, value, &outer);
}

/* Keys under which the folds of a softmax are recorded: its node, at a map whose last axis is beyond any
 * tensor. */
enum { MAXIMUM = 1, SUM, ALL_MAXIMUM, ALL_SUM };

static Map fold_key(const Map *row, const Node *n, int which)
{
        Map key = *row;
        key.axis[n->type.rank - 1].offset = dim_fixed(-which);
        return key;
}

static Stmt of_two(StmtOp op, int a, int b)
{
        return (Stmt){.op = op, .from = {a, b}, .nfrom = 2};
}

/* A fold of n's input along its last axis: the maximum, or the sum of exp(x - maximum). */
static int softmax_fold(Lower *l, Node *n, const Map *m, const Map *key, int maximum)
{
        int last = n->type.rank - 1;
        Dim size = n->type.dim[last];
        LaneScope outer = open_lanes(l, size);
        Map at = map_fold(m, last, l->lane);
        int x = near_value(l, n->in[0], &at);
        if (x < 0) {
                close_lanes(l, outer);
                return -1;
        }
        if (maximum < 0)
                return fold_loop(l, n, key, size, true, x, &outer);
        int e = lower_define(l, l->lanes, of_two(STMT_EXP_DIFF, x, maximum));
        return fold_loop(l, n, key, size, false, e, &outer);
}

/* The maximum and, unless given, the sum; a sink takes part in both. */
static int softmax_over_row(Lower *l, Node *n, const Map *m, const Map *row, int which, int maximum)
{
        Map key = fold_key(row, n, which), all_key = fold_key(row, n, which == SUM ? ALL_SUM : ALL_MAXIMUM);
        int found = known_vector(&l->row_known, n, &all_key);
        if (found >= 0)
                return found;
        int value = softmax_fold(l, n, m, &key, maximum);
        if (value >= 0 && n->nin == 2) {
                Map at = map_broadcast(row, &n->in[1]->type);
                int sink = near_value(l, n->in[1], &at);
                if (sink < 0)
                        return -1;
                if (which == SUM)
                        sink = lower_define(l, l->row, of_two(STMT_EXP_DIFF, sink, maximum));
                value = lower_define(l, l->row,
                                     stmt_compute(which == SUM ? OP_ADD : OP_MAX, false, value, sink));
        }
        return value < 0 ? -1 : lower_remember(l, n, &all_key, false, value);
}

/* exp(x - max) / sum; a row without unmasked elements is 0, or NaN as for other quotients */
int lower_softmax(Lower *l, Node *n, const Map *m)
{
        Map row = *m;
        row.axis[n->type.rank - 1] = (AxisIndex){0};
        if (map_uses(&row, l->lane) || l->domain.n >= MAX_LOOPS)
                return lower_fail(l, n);
        int maximum = softmax_over_row(l, n, m, &row, MAXIMUM, -1);
        int sum = maximum < 0 ? -1 : softmax_over_row(l, n, m, &row, SUM, maximum);
        int x = sum < 0 ? -1 : near_value(l, n->in[0], m);
        if (x < 0)
                return -1;
        bool lane = map_uses(m, l->lane), dead_nan = n->attr.index == DEAD_ROWS_NAN;
        int e = lower_define(l, lane ? l->lanes : l->row, of_two(STMT_EXP_DIFF, x, maximum));
        if (dead_nan && n->nin == 2) { /* a dead row is NaN despite its sink: adds -inf - -inf */
                const Map of_row = fold_key(&row, n, MAXIMUM);
                int own = known_vector(&l->row_known, n, &of_row);
                own = lower_define(l, l->row, stmt_compute(OP_SUB, false, own, own));
                sum = lower_define(l, l->row, stmt_compute(OP_ADD, false, sum, own));
        }
        return lower_value_of(l, n, m, lane,
                              dead_nan ? stmt_compute(OP_DIV, false, e, sum) : of_two(STMT_SAFE_DIV, e, sum));
}
