/* Fused expressions as statements: each value of a kernel's expression becomes one vector, in the row's
 * part if it is the same for all lanes, else in the lanes' part.  A fold has its own loop in the row's
 * part.
 *
 * A wide integer, beyond the exact range of floats, is a vector of doubles; it is converted for statements
 * that take floats. */
#include "lower_private.h"

#include <assert.h>

/* --- values ------------------------------------------------------------------------------------------------------ */

Stmt *add_stmt(Lower *l, StmtList *to, Stmt s)
{
        GROW(l->arena, to->stmt, to->n, to->cap);
        to->stmt[to->n] = s;
        return &to->stmt[to->n++];
}

int known_vector(const KnownList *list, const Node *n, const Map *m)
{
        for (int i = 0; i < list->n; i++)
                if (list->at[i].node == n && map_same(&list->at[i].map, m))
                        return list->at[i].number;
        return -1;
}

/* Adds a statement that defines the next vector. */
int lower_define(Lower *l, StmtList *to, Stmt s)
{
        s.to = l->numbers++;
        add_stmt(l, to, s);
        return s.to;
}

Stmt stmt_compute(Op op, bool f64, int a, int b)
{
        return (Stmt){.op = STMT_COMPUTE, .compute = op, .f64 = f64, .from = {a, b}, .nfrom = b < 0 ? 1 : 2};
}

/* Converts a value between wide integers and floats if necessary. */
int converted_value(Lower *l, StmtList *to, int number, bool is, bool wanted)
{
        if (is == wanted || number < 0)
                return number;
        return lower_define(l, to, (Stmt){.op = STMT_CONVERT, .f64 = wanted, .from = {number}, .nfrom = 1});
}

bool is_wide_here(const Lower *l, const Node *n)
{
        return is_wide(l->plan->of_node.interval, n);
}

/* Records the vector of n at m. */
int lower_remember(Lower *l, const Node *n, const Map *m, bool lane, int number)
{
        KnownList *list = lane ? &l->lane_known : &l->row_known;
        if (list->n == list->cap) {
                int cap = list->cap ? 2 * list->cap : 4; /* small, since a map is large */
                list->at = arena_grow(l->arena, list->at, list->cap * (int64_t)sizeof *list->at,
                                      cap * (int64_t)sizeof *list->at);
                list->cap = cap;
        }
        list->at[list->n++] = (Known){n, *m, number};
        return number;
}

int lower_value_of(Lower *l, const Node *n, const Map *m, bool lane, Stmt s)
{
        s.f64 = is_wide_here(l, n);
        s.of = n;
        return lower_remember(l, n, m, lane, lower_define(l, lane ? l->lanes : l->row, s));
}

/* The same for a statement whose type is given, whatever n's type is. */
static int value_from(Lower *l, const Node *n, const Map *m, bool lane, bool f64, Stmt s)
{
        if (f64 == is_wide_here(l, n))
                return lower_value_of(l, n, m, lane, s);
        s.f64 = f64;
        int number = lower_define(l, lane ? l->lanes : l->row, s);
        return lower_value_of(l, n, m, lane, (Stmt){.op = STMT_CONVERT, .from = {number}, .nfrom = 1});
}

/* A value that the caller passes; its statement precedes those that may use it. */
static int given_value(Lower *l, const Node *n, const Map *m, int which)
{
        return lower_remember(l, n, m, true,
                              lower_define(l, l->row, (Stmt){.op = STMT_GIVEN, .variant = which, .of = n}));
}

int lower_fail(Lower *l, Node *n)
{
        l->stuck = n;
        return -1;
}

/* The value of one head, if the caller passes those of all heads; the rest of m must be the given map. */
static int given_of_head(Lower *l, Node *n, const Map *m)
{
        const int axis = n->type.rank - 3;
        Map same = *m;
        same.axis[axis] = l->of_heads->axis[axis];
        if (!map_same(&same, l->of_heads))
                return lower_fail(l, n);
        const Index *head = affine_index(l, m->axis[axis].offset, m->axis[axis].coef, false);
        return lower_value_of(l, n, m, true, (Stmt){.op = STMT_GIVEN, .at = head});
}

/* n's value, from 16 elements of b that are `step` apart, or from one for all lanes. */
static int load_elements(Lower *l, const Node *n, const Map *m, Buffer *b, const Index *at, int64_t step)
{
        bool f64 = b->storage == STORAGE_F64;
        names_buffer(l, b);
        if (!map_uses(m, l->lane))
                return value_from(l, n, m, false, f64, (Stmt){.op = STMT_ELEMENT, .buffer = b, .at = at});
        bool whole = l->whole_lanes && !(l->rest_is_ours && (step != 1 || b->home == IN_INPUT));
        return value_from(l, n, m, true, f64,
                          (Stmt){.op = STMT_LOAD,
                                 .buffer = b,
                                 .at = at,
                                 .step = step,
                                 .lanes = whole ? ALL_LANES : REST_LANES});
}

static int lower_load(Lower *l, Node *n, Buffer *b, Address at, const Map *m)
{
        int64_t step;
        if (!lane_step(l, &at, &step))
                return lower_fail(l, n);
        return load_elements(l, n, m, b, address_index(l, &at, true), step);
}

static int literal(Lower *l, Node *n, const Map *m)
{
        const Literal *literal = n->attr.literal;
        if (literal->iterations == 1)
                return lower_value_of(l, n, m, false, (Stmt){.op = STMT_NUMBER, .value = literal->value[0]});
        return lower_value_of(l, n, m, false, (Stmt){.op = STMT_PER_ITERATION});
}

static int lower_index_value(Lower *l, Node *n, const Map *m)
{
        const AxisIndex *x = &m->axis[0];
        Dim offset = dim_add(x->offset, n->attr.dim);
        int64_t step = x->coef[l->lane];
        bool f64 = is_wide_here(l, n);
        const Index *at = affine_index(l, offset, x->coef, step == 1);
        if (!step)
                return lower_value_of(l, n, m, false, (Stmt){.op = STMT_INDEX, .at = at});
        if (step == 1)
                return lower_value_of(l, n, m, true, (Stmt){.op = STMT_COUNT, .at = at});
        int first = lower_define(l, l->lanes, (Stmt){.op = STMT_INDEX, .f64 = f64, .at = at});
        int steps = lower_define(l, l->lanes, (Stmt){.op = STMT_NUMBER, .f64 = f64, .value = (double)step});
        const Index *lane = index_leaf(l->arena, INDEX_LANE, 0);
        int along = lower_define(l, l->lanes, (Stmt){.op = STMT_COUNT, .f64 = f64, .at = lane});
        along = lower_define(l, l->lanes, stmt_compute(OP_MUL, f64, along, steps));
        return lower_value_of(l, n, m, true, stmt_compute(OP_ADD, f64, first, along));
}

/* n's value as floats */
int near_value(Lower *l, Node *n, const Map *m)
{
        int number = lower_value(l, n, m);
        return converted_value(l, map_uses(m, l->lane) ? l->lanes : l->row, number, is_wide_here(l, n),
                               false);
}

/* The map of in[side] of a product for term number `step`. */
static Map factor_map(const Map *m, const Node *n, int side, int64_t step)
{
        const Type *t = &n->in[side]->type;
        Map of = map_broadcast(m, t);
        of.axis[t->rank - 1 - side] = (AxisIndex){.offset = dim_fixed(step)};
        return of;
}

/* A product that mixes heads: a sum over them, ascending from +0. */
static int mixed_heads(Lower *l, Node *n, const Map *m)
{
        const int64_t terms = n->in[0]->type.dim[n->in[0]->type.rank - 1].fixed;
        int sum = lower_define(l, l->row, (Stmt){.op = STMT_NUMBER});
        for (int64_t i = 0; i < terms; i++) {
                int from[2];
                for (int side = 0; side < 2; side++) {
                        Map at = factor_map(m, n, side, i);
                        from[side] = near_value(l, n->in[side], &at);
                        if (from[side] < 0)
                                return -1;
                }
                sum = lower_define(
                        l, l->lanes,
                        (Stmt){.op = STMT_MULTIPLY_ADD, .from = {from[0], from[1], sum}, .nfrom = 3});
        }
        return map_uses(m, l->lane) ? lower_remember(l, n, m, true, sum) : lower_fail(l, n);
}

/* x // y, or x - y * (x // y) */
static int lower_floored(Lower *l, const Node *n, const Map *m, bool lane, int x, int y)
{
        StmtList *to = lane ? l->lanes : l->row;
        int exact = lower_define(l, to, stmt_compute(OP_DIV, false, x, y));
        if (n->op == OP_FLOORDIV)
                return lower_value_of(l, n, m, lane, stmt_compute(OP_FLOOR, false, exact, -1));
        int quotient = lower_define(l, to, stmt_compute(OP_FLOOR, false, exact, -1));
        int product = lower_define(l, to, stmt_compute(OP_MUL, false, y, quotient));
        return lower_value_of(l, n, m, lane, stmt_compute(OP_SUB, false, x, product));
}

static int lower_pointwise(Lower *l, Node *n, const Map *m)
{
        Stmt s = {.op = STMT_COMPUTE, .compute = n->op, .nfrom = n->nin};
        bool f64 = computes_wide(l->plan->of_node.interval, n), lane = map_uses(m, l->lane);
        for (int i = 0; i < n->nin; i++) {
                Map at = map_broadcast(m, &n->in[i]->type);
                StmtList *to = map_uses(&at, l->lane) ? l->lanes : l->row;
                s.from[i] = lower_value(l, n->in[i], &at);
                if (s.from[i] < 0)
                        return -1;
                s.from[i] = converted_value(l, to, s.from[i], is_wide_here(l, n->in[i]), f64);
        }
        if (n->op == OP_REAL_OF || (n->op == OP_FLOOR && f64))
                return lower_remember(l, n, m, lane, s.from[0]);
        if (!f64 && (n->op == OP_FLOORDIV || n->op == OP_MOD))
                return lower_floored(l, n, m, lane, s.from[0], s.from[1]);
        return value_from(l, n, m, lane, f64, s);
}

/* --- gather ------------------------------------------------------------------------------------------------------- */

/* Address of the buffer under t (through views), if each indexed axis is walked by its own loop, from
 * l->domain.n on: an index's step is that loop's coefficient.  False: not evenly. */
static bool table_address(Lower *l, Node *t, int indexed, Map at, Address *from, Buffer **b)
{
        Domain domain = l->domain;
        if (domain.n + indexed > MAX_LOOPS)
                return false;
        for (int i = 0; i < indexed; i++) {
                at.axis[i].coef[domain.n] = 1;
                domain.loop[domain.n++] = (DomainLoop){t->type.dim[i], -1, 1};
        }
        return address_through(l->plan, &domain, &at, t, NULL, from, b, &l->refine) == MAP_OK && !(*b)->dense;
}

/* Whether the tiled axis's index is that of one indexed axis, unchanged. */
static bool is_one_index(const Address *at, int first, int indexed)
{
        int64_t sum = 0;
        for (int i = 0; i < MAX_LOOPS; i++) {
                bool own = i >= first && i < first + indexed;
                if (at->tile_index.coef[i] && !own)
                        return false;
                sum += at->tile_index.coef[i];
        }
        return sum == 1 && dim_is(at->tile_index.offset, 0);
}

/* Whether offsets of selected elements exceed the exact range of floats. */
static bool spans_wide_range(const Lower *l, const Node *t, int indexed, const int64_t *step)
{
        double most = 0;
        for (int i = 0; i < indexed; i++)
                most += (double)dim_bound(l->plan->graph, t->type.dim[i]) * (double)step[i];
        return most > 16777216;
}

/* The offsets of 16 elements, from an index in each lane for each indexed axis. */
static int lane_offsets(Lower *l, const Node *n, bool f64, const int *v, const int64_t *step)
{
        int e = -1;
        for (int i = 0; i < n->nin - 1; i++) {
                bool own = is_wide_here(l, n->in[i + 1]);
                Stmt clamp = {.op = STMT_CLAMP, .f64 = own, .from = {v[i]}, .nfrom = 1};
                clamp.at = index_size(l->arena, dim_sub(n->in[0]->type.dim[i], dim_fixed(1)));
                int kept = converted_value(l, l->lanes, lower_define(l, l->lanes, clamp), own, f64);
                int stride = lower_define(l, l->row,
                                          (Stmt){.op = STMT_NUMBER, .f64 = f64, .value = (double)step[i]});
                int term = lower_define(l, l->lanes, stmt_compute(OP_MUL, f64, kept, stride));
                e = e < 0 ? term : lower_define(l, l->lanes, stmt_compute(OP_ADD, f64, e, term));
        }
        return e;
}

/* The index of a row among those that b stores: for a window, relative to the first. */
static const Index *row_held(const Lower *l, const Buffer *b, int axis, const Index *x)
{
        int cache = cache_of(b);
        if (cache < 0 || axis != whole_buffer((Buffer *)b)->shift_axis)
                return x;
        return index_two(l->arena, INDEX_MAX, x, index_size(l->arena, dim_named(NAMED_BASE + cache)));
}

/* Adds a PLACE to those of the row, unless an earlier loop over lanes has defined the same one. */
static int lower_place(Lower *l, Stmt place)
{
        for (const Stmt *s = l->row->stmt; s < l->row->stmt + l->row->n; s++)
                if (s->op == STMT_PLACE && s->from[0] == place.from[0] && index_same(s->at, place.at))
                        return s->to;
        return lower_define(l, l->row, place);
}

/* Offset in the table of an element, or of a row, that is the same for all lanes. */
static const Index *table_index(Lower *l, const Node *n, const int *v, const Buffer *b, const Address *from)
{
        const Node *t = n->in[0];
        Address rest = *from;
        rest.tiled = false;
        const Index *at = address_index(l, &rest, true);
        const int64_t *step = from->coef + l->domain.n, *tile_step = from->tile_index.coef + l->domain.n;
        for (int i = 0; i < n->nin - 1; i++) {
                Stmt place = {
                        .op = STMT_PLACE, .f64 = is_wide_here(l, n->in[i + 1]), .from = {v[i]}, .nfrom = 1};
                place.at = index_size(l->arena, t->type.dim[i]);
                const Index *x = row_held(l, b, i, index_leaf(l->arena, INDEX_PLACE, lower_place(l, place)));
                at = tile_step[i] ? tiled_index(l->arena, at, x, from->tile)
                                  : index_two(l->arena, INDEX_PLUS, at,
                                              index_two(l->arena, INDEX_TIMES, x,
                                                        index_number(l->arena, step[i])));
        }
        return at;
}

/* t[a, b, .., rest]: the indices of the first axes are values; the rest is affine. */
static int lower_gather(Lower *l, Node *n, const Map *m)
{
        Node *t = n->in[0];
        int indexed = n->nin - 1, rest = t->type.rank - indexed, lead = n->type.rank - rest;
        Map head = *m;
        head.rank = lead;
        int v[MAX_RANK];
        bool in_lanes = false;
        for (int i = 0; i < indexed; i++) {
                Map at = map_broadcast(&head, &n->in[i + 1]->type);
                v[i] = lower_value(l, n->in[i + 1], &at);
                if (v[i] < 0)
                        return -1;
                in_lanes |= map_uses(&at, l->lane);
        }
        Map at = {.rank = t->type.rank};
        for (int i = 0; i < rest; i++)
                at.axis[indexed + i] = m->axis[lead + i];
        Buffer *b;
        Address from;
        if (!table_address(l, t, indexed, at, &from, &b))
                return lower_fail(l, t);
        if (from.paged || (from.tiled && !is_one_index(&from, l->domain.n, indexed)) ||
            (in_lanes && from.tiled))
                return lower_fail(l, t);
        if (!in_lanes)
                return load_elements(l, n, m, b, table_index(l, n, v, b, &from), from.coef[l->lane]);
        const int64_t *step = from.coef + l->domain.n;
        bool f64 = b->storage == STORAGE_F64 || spans_wide_range(l, t, indexed, step);
        int e = lane_offsets(l, n, f64, v, step);
        assert(!is_in_blocks(b->storage)); /* weights in blocks are tiled */
        names_buffer(l, b);
        return value_from(l, n, m, true, b->storage == STORAGE_F64,
                          (Stmt){.op = STMT_GATHER,
                                 .buffer = b,
                                 .at = address_index(l, &from, false),
                                 .from = {e},
                                 .nfrom = 1,
                                 .variant = f64});
}

/* --- all of them --------------------------------------------------------------------------------------------------- */

/* root: the kernel stores n, so it must not read n's buffer */
static int view_value(Lower *l, Node *n, const Map *m, bool root)
{
        Map in;
        Refine refine;
        Address at;
        Buffer *b;
        MapResult r = l->plan->of_node.value[base_of(n)->id]
                              ? address_through(l->plan, &l->domain, m, n, root ? n : NULL, &at, &b, &refine)
                              : MAP_FAIL;
        if (r == MAP_OK)
                return lower_load(l, n, b, at, m);
        r = map_view(&l->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine);
        if (r == MAP_OK)
                return lower_value(l, n->in[0], &in);
        if (r == MAP_REFINE && refine.loop < l->loops && l->domain.n < MAX_LOOPS && l->kernel->op == K_LOOP) {
                l->refine = refine;
                l->refined = true;
                return -1;
        }
        return lower_fail(l, l->plan->of_node.value[base_of(n->in[0])->id] ? n : base_of(n->in[0]));
}

int lower_value(Lower *l, Node *n, const Map *m)
{
        int number = known_vector(&l->row_known, n, m);
        if (number < 0)
                number = known_vector(&l->lane_known, n, m);
        if (number >= 0)
                return number;
        for (int i = 0; i < 2; i++)
                if (n == l->given[i])
                        return l->of_heads ? given_of_head(l, n, m) : given_value(l, n, m, i);
        if (n->op == OP_AMONG && n == l->kernel->attention.chosen) /* attention passes no other keys */
                return lower_value_of(l, n, m, false, (Stmt){.op = STMT_NUMBER, .value = 1});
        Buffer *b = l->plan->of_node.value[n->id];
        if (l->kernel->from_copy)
                b = l->kernel->from_copy;
        if (b && n != l->computing)
                return lower_load(l, n, b, address_of(b, m), m);
        bool root = n == l->computing;
        l->computing = root ? NULL : l->computing;
        switch (n->op) {
        case OP_CONST: return literal(l, n, m);
        case OP_SIZE:
                return lower_value_of(l, n, m, false,
                                      (Stmt){.op = STMT_INDEX, .at = index_size(l->arena, n->attr.dim)});
        case OP_INDEX: return lower_index_value(l, n, m);
        case OP_VIEW: return view_value(l, n, m, root);
        case OP_GATHER: return lower_gather(l, n, m);
        case OP_SUM:
        case OP_MAXOF: return lower_fold(l, n, m);
        case OP_SOFTMAX: return lower_softmax(l, n, m);
        case OP_MATMUL: return mixed_heads(l, n, m);
        default: return op_info[n->op].family == POINT ? lower_pointwise(l, n, m) : lower_fail(l, n);
        }
}

bool lower_store(Lower *l, const Node *n, Buffer *to, const Map *map, int value, StmtList *out)
{
        Address at = address_of(to, map);
        names_buffer(l, to);
        int64_t step;
        bool single = dim_is(l->domain.loop[l->lane].size, 1), f64 = to->storage == STORAGE_F64;
        assert(to->storage != STORAGE_I32);
        if (!lane_step(l, &at, &step))
                return false;
        value = converted_value(l, out, value, is_wide_here(l, n), f64);
        add_stmt(l, out,
                 (Stmt){.op = STMT_STORE,
                        .f64 = f64,
                        .from = {value},
                        .nfrom = 1,
                        .buffer = to,
                        .at = address_index(l, &at, true),
                        .step = single ? 1 : step,
                        .lanes = single           ? ONE_LANE
                                 : l->whole_lanes ? ALL_LANES
                                                  : REST_LANES});
        return true;
}

int lower_constant(Lower *l, const Node *n, double value)
{
        return lower_define(l, l->row, (Stmt){.op = STMT_NUMBER, .f64 = is_wide_here(l, n), .value = value});
}
