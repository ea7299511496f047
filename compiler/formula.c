/* Formulas as C: each value of a kernel's formula becomes one `const v16 t<n> = ..;`, placed in the row's part if it does not
 * change along the lanes, else in the lanes' part.  A fold opens a loop of its own in the row's part.
 *
 * A far integer, which floats may not hold, is a w16, and named the same: what takes floats gets it converted.
 *
 * Where vectors are passed by address (libtcc has none), the same statement reads `v16 t<n>; v_add(t<n>, t0, t1);`. */
#include "formula.h"

#include <assert.h>
#include <string.h>

static const char *v_name[OP_COUNT] = {
        [OP_NEG] = "v_neg",     [OP_EXP] = "v_exp", [OP_LOG] = "v_log",     [OP_SQRT] = "v_sqrt",
        [OP_SIN] = "v_sin",     [OP_COS] = "v_cos", [OP_TANH] = "v_tanh",   [OP_ERF] = "v_erf",
        [OP_FLOOR] = "v_floor", [OP_NOT] = "v_not", [OP_ADD] = "v_add",     [OP_SUB] = "v_sub",
        [OP_MUL] = "v_mul",     [OP_DIV] = "v_div", [OP_POW] = "v_pow",     [OP_MAX] = "v_max",
        [OP_MIN] = "v_min",     [OP_LESS] = "v_lt", [OP_LESSEQ] = "v_le",   [OP_EQUAL] = "v_eq",
        [OP_AND] = "v_and",     [OP_OR] = "v_or",   [OP_WHERE] = "v_where",
};

/* --- expressions ------------------------------------------------------------------------------------------ */

const char *dim_expression(Arena *a, const Graph *g, Dim d)
{
        Text *t = text_new(a);
        if (d.fixed || dim_is_fixed(d))
                text_printf(t, "%lld", (long long)d.fixed);
        for (int i = 0; i < MAX_NAMED; i++) {
                if (!d.per[i])
                        continue;
                const char *name = i == NAMED_FIRST  ? "first"
                                   : i >= NAMED_BASE ? arena_printf(a, "base[%d]", i - NAMED_BASE)
                                                     : g->named[i].name;
                text_printf(t, "%s", d.per[i] < 0 ? (t->n ? " - " : "-") : t->n ? " + " : "");
                if (d.per[i] != 1 && d.per[i] != -1)
                        text_printf(t, "%lld * ", (long long)(d.per[i] < 0 ? -d.per[i] : d.per[i]));
                text_printf(t, "m->%s", name);
        }
        return t->data;
}

const char *digit_name(const Formula *f, int digit)
{
        if (digit == f->lane)
                return "j";
        if (f->kernel->op == K_ATTENTION && digit >= f->loops)
                return "j";
        return arena_printf(f->arena, "i%d", digit);
}

const char *index_expression(Formula *f, Dim offset, const int64_t *coef, bool with_lane)
{
        Text *t = text_new(f->arena);
        for (int i = 0; i < f->domain.n; i++) {
                if (!coef[i] || (i == f->lane && !with_lane))
                        continue;
                const char *digit = digit_name(f, i);
                text_printf(t, "%s", coef[i] < 0 ? (t->n ? " - " : "-") : t->n ? " + " : "");
                if (coef[i] == 1 || coef[i] == -1)
                        text_printf(t, "%s", digit);
                else
                        text_printf(t, "%lld * %s", (long long)(coef[i] < 0 ? -coef[i] : coef[i]), digit);
        }
        if (t->n && dim_is(offset, 0))
                return t->data;
        const char *constant = dim_expression(f->arena, f->plan->graph, offset);
        if (!t->n)
                return constant;
        return arena_printf(f->arena, "%s%s%s", t->data, *constant == '-' ? " - " : " + ",
                            constant + (*constant == '-'));
}

/* "(i0 * m->source + i1) * 6 + j"; positions count from the first of the call, of which m->whole there are. */
static const char *dense_expression(Formula *f, const Address *at, bool with_lane)
{
        const Graph *g = f->plan->graph;
        const char *e = NULL;
        for (int a = 0; a < at->map.rank; a++) {
                const char *i = index_expression(f, at->map.axis[a].offset, at->map.axis[a].coef, with_lane);
                Dim d = at->type->dim[a];
                bool rows = g->past >= 0 && dim_equal(d, dim_named(g->time)),
                     columns = g->past >= 0 && d.per[g->time] == 1 && d.per[g->past] == 1;
                const char *size = rows ? "m->whole" : dim_expression(f->arena, g, d);
                if (columns)
                        size = arena_printf(f->arena, "%s - m->%s - m->done + m->whole", size,
                                            g->named[g->time].name);
                if (rows)
                        i = arena_printf(f->arena, "%s + m->done", i);
                e = e ? arena_printf(f->arena, "(%s) * (%s) + %s", e, size, i) : i;
        }
        return e;
}

/* How far apart lanes lie; false: not evenly. */
static bool lane_step(const Formula *f, const Address *at, int64_t *step)
{
        *step = at->coef[f->lane];
        if (!at->dense)
                return !at->tiled || at->tile_index.coef[f->lane] == 0;
        for (int a = 0; a < at->map.rank - 1; a++)
                if (at->map.axis[a].coef[f->lane])
                        return false;
        *step = at->map.axis[at->map.rank - 1].coef[f->lane];
        return true;
}

const char *address_expression(Formula *f, const Address *at, bool with_lane)
{
        if (at->dense)
                return dense_expression(f, at, with_lane);
        const char *flat = index_expression(f, at->offset, at->coef, with_lane);
        if (!at->tiled)
                return flat;
        const char *i = index_expression(f, at->tile_index.offset, at->tile_index.coef, with_lane);
        return arena_printf(f->arena, "%s + (%s) / 16 * %lld + (%s) %% 16", flat, i, (long long)at->tile, i);
}

static void kernel_touches(const Plan *p, Kernel *k, Buffer *b)
{
        for (int i = 0; i < k->ntouch; i++)
                if (k->touch[i] == b)
                        return;
        Arena *a = p->graph->arena;
        k->touch = arena_grow(a, k->touch, k->ntouch * (int64_t)sizeof *k->touch,
                              (k->ntouch + 1) * (int64_t)sizeof *k->touch);
        k->touch[k->ntouch++] = b;
}

/* The trip of a repeat around the kernel? */
static bool is_trip(const Kernel *k, const char *name)
{
        for (const Region *r = k->body->region; r; r = r->repeat->body->region)
                if (!strcmp(r->name, name))
                        return true;
        return false;
}

/* The buffer whose pointer serves b: the whole that it is a part of, or the part that has slots of its own. */
Buffer *pointed_buffer(Buffer *b)
{
        while (b->part_of && b->slots == b->part_of->slots && b->region == b->part_of->region)
                b = b->part_of;
        return b;
}

const char *pointer_name(Formula *f, Buffer *b)
{
        b = pointed_buffer(b);
        const char *dot = strrchr(b->name, '.');
        const char *name = dot ? dot + 1 : b->name;
        int at = -1;
        bool taken = false;
        for (int i = 0; i < f->npointer; i++) {
                Buffer *other = f->pointer[i];
                const char *o = strrchr(other->name, '.');
                if (other == b)
                        at = i;
                else if (at < 0)
                        taken |= !strcmp(o ? o + 1 : other->name, name);
        }
        if (at < 0) {
                kernel_touches(f->plan, f->kernel, whole_buffer(b));
                f->pointer = arena_grow(f->arena, f->pointer, f->npointer * (int64_t)sizeof *f->pointer,
                                        (f->npointer + 1) * (int64_t)sizeof *f->pointer);
                f->pointer[f->npointer++] = b;
        }
        return taken || is_c_word(name) || !strcmp(name, f->plan->c_name) || is_trip(f->kernel, name)
                       ? arena_printf(f->arena, "%s_%d", name, b->id)
                       : name;
}

const char *float_pointer(Formula *f, Buffer *b)
{
        assert(b->element == ELEMENT_F32);
        return pointer_name(f, b);
}

/* --- values --------------------------------------------------------------------------------------------- */

static int known(const KnownList *l, const Node *n, const Map *m)
{
        for (int i = 0; i < l->n; i++)
                if (l->at[i].node == n && map_same(&l->at[i].map, m))
                        return l->at[i].number;
        return -1;
}

static const char *vector_type(bool far)
{
        return far ? "w16" : "v16";
}

static int define(Formula *f, Text *to, bool far, const char *op, const char *arguments, const char *comment)
{
        int number = f->numbers++;
        if (f->plan->by_address)
                text_printf(to, "%s t%d; %s(t%d, %s);%s\n", vector_type(far), number, op, number, arguments,
                            comment);
        else
                text_printf(to, "const %s t%d = %s(%s);%s\n", vector_type(far), number, op, arguments,
                            comment);
        return number;
}

int vector_define(Formula *f, Text *to, const char *op, const char *arguments, const char *comment)
{
        return define(f, to, false, op, arguments, comment);
}

/* A value as far integers, or as floats, that is the one or the other. */
static int converted(Formula *f, Text *to, int number, bool is, bool wanted)
{
        if (is == wanted || number < 0)
                return number;
        return define(f, to, wanted, wanted ? "w_of_v" : "v_of_w", arena_printf(f->arena, "t%d", number), "");
}

static bool is_far_here(const Formula *f, const Node *n)
{
        return is_far(f->plan->interval, n);
}

/* "v_add", "w_add" */
static const char *op_name(const Formula *f, bool far, const char *name)
{
        return far ? arena_printf(f->arena, "w%s", name + 1) : name;
}

/* t<acc> = op(t<acc>, t<x>) */
static void vector_update(const Formula *f, Text *to, int acc, const char *op, int x)
{
        if (f->plan->by_address)
                text_printf(to, "%s(t%d, t%d, t%d);\n", op, acc, acc, x);
        else
                text_printf(to, "t%d = %s(t%d, t%d);\n", acc, op, acc, x);
}

/* The statement's value is that of variable t<number>. */
static int remember(Formula *f, const Node *n, const Map *m, bool lane, int number)
{
        KnownList *l = lane ? &f->lane_known : &f->row_known;
        if (l->n == l->cap) {
                int cap = l->cap ? 2 * l->cap : 4; /* a map is large */
                l->at = arena_grow(f->arena, l->at, l->cap * (int64_t)sizeof *l->at,
                                   cap * (int64_t)sizeof *l->at);
                l->cap = cap;
        }
        l->at[l->n++] = (Known){n, *m, number};
        return number;
}

static const char *name_comment(const Formula *f, const Node *n)
{
        return n->name ? arena_printf(f->arena, " /* %s */", n->name) : "";
}

static int value_of(Formula *f, const Node *n, const Map *m, bool lane, const char *op, const char *arguments)
{
        int number =
                define(f, lane ? f->lanes : f->row, is_far_here(f, n), op, arguments, name_comment(f, n));
        return remember(f, n, m, lane, number);
}

/* The same where op gives far integers, or floats, whatever n is. */
static int value_from(Formula *f, const Node *n, const Map *m, bool lane, bool far, const char *op,
                      const char *arguments)
{
        if (far == is_far_here(f, n))
                return value_of(f, n, m, lane, op, arguments);
        int number = define(f, lane ? f->lanes : f->row, far, op, arguments, "");
        return value_of(f, n, m, lane, far ? "v_of_w" : "w_of_v", arena_printf(f->arena, "t%d", number));
}

/* What a kernel hands over: t<n> is another name for it, before all else that may use it. */
static int given_value(Formula *f, const Node *n, const Map *m, const char *as)
{
        int number = f->numbers++;
        text_printf(f->row, f->plan->by_address ? "const float *t%d = %s;%s\n" : "const v16 t%d = %s;%s\n",
                    number, as, name_comment(f, n));
        return remember(f, n, m, true, number);
}

static int fail(Formula *f, Node *n)
{
        if (!f->stuck)
                f->stuck = n;
        return -1;
}

/* How elements become lanes. */
static const struct {
        const char *set, *load, *strided, *gather, *gather_far;
} element_load[] = {
        [ELEMENT_F32] = {"v_set1", "v_load", "v_load_strided", "v_gather", "v_gather_far"},
        [ELEMENT_I32] = {"v_set1", "v_load_i32", "v_load_i32_strided", "v_gather_i32", "v_gather_i32_far"},
        [ELEMENT_F64] = {"w_set1", "w_load", "w_load_strided", NULL, "w_gather"},
};

/* n's value, of 16 elements of b that lie `step` apart, or of one for all lanes. */
static int load_elements(Formula *f, const Node *n, const Map *m, Buffer *b, const char *where, int64_t step)
{
        const char *p = pointer_name(f, b), *load = element_load[b->element].load;
        bool far = b->element == ELEMENT_F64;
        if (!map_uses(m, f->lane))
                return value_from(f, n, m, false, far, element_load[b->element].set,
                                  arena_printf(f->arena,
                                               b->element == ELEMENT_I32 ? "(float)%s[%s]" : "%s[%s]", p,
                                               where));
        bool whole = f->whole_lanes && !(f->rest_is_ours && (step != 1 || b->home == IN_INPUT));
        if (step != 1)
                return value_from(f, n, m, true, far, element_load[b->element].strided,
                                  arena_printf(f->arena, "%s + %s, %lld, %s", p, where, (long long)step,
                                               whole ? "16" : "n"));
        if (whole)
                return value_from(f, n, m, true, far, load, arena_printf(f->arena, "%s + %s", p, where));
        return value_from(f, n, m, true, far, arena_printf(f->arena, "%s_n", load),
                          arena_printf(f->arena, "%s + %s, n", p, where));
}

static int load(Formula *f, Node *n, Buffer *b, Address at, const Map *m)
{
        int64_t step;
        if (!lane_step(f, &at, &step) && map_uses(m, f->lane))
                return fail(f, n);
        return load_elements(f, n, m, b, address_expression(f, &at, true), step);
}

const char *number_literal(const Formula *f, bool far, double value)
{
        return far ? arena_printf(f->arena, "%.1f", value) : float_literal(f->arena, (float)value);
}

static int literal(Formula *f, Node *n, const Map *m)
{
        const Literal *l = n->attr.literal;
        bool far = is_far_here(f, n);
        const char *set = op_name(f, far, "v_set1");
        if (l->trips == 1)
                return value_of(f, n, m, false, set, number_literal(f, far, l->value[0]));
        Text *t = text_new(f->arena);
        text_printf(t, "static const %s c%d[%lld] = {", far ? "double" : "float", f->numbers,
                    (long long)l->trips);
        for (int64_t i = 0; i < l->trips; i++)
                text_printf(t, "%s%s", i ? ", " : "", number_literal(f, far, l->value[i]));
        text_printf(f->row, "%s};\n", t->data);
        return value_of(f, n, m, false, set,
                        arena_printf(f->arena, "c%d[%s]", f->numbers, n->body->region->name));
}

static int index_value(Formula *f, Node *n, const Map *m)
{
        const AxisIndex *x = &m->axis[0];
        Dim offset = dim_add(x->offset, n->attr.dim);
        int64_t step = x->coef[f->lane];
        bool far = is_far_here(f, n);
        const char *set = op_name(f, far, "v_set1"), *iota = op_name(f, far, "v_iota");
        const char *i = arena_printf(f->arena, far ? "(double)(%s)" : "(float)(%s)",
                                     index_expression(f, offset, x->coef, step == 1));
        if (!step)
                return value_of(f, n, m, false, set, i);
        if (step == 1)
                return value_of(f, n, m, true, iota, i);
        int first = define(f, f->lanes, far, set, i, "");
        int steps = define(f, f->lanes, far, set, number_literal(f, far, (double)step), "");
        int lane = define(f, f->lanes, far, iota, far ? "(double)j" : "(float)j", "");
        int along = define(f, f->lanes, far, op_name(f, far, "v_mul"),
                           arena_printf(f->arena, "t%d, t%d", lane, steps), "");
        return value_of(f, n, m, true, op_name(f, far, "v_add"),
                        arena_printf(f->arena, "t%d, t%d", first, along));
}

/* n's value as floats */
static int near_value(Formula *f, Node *n, const Map *m)
{
        int number = formula_value(f, n, m);
        return converted(f, map_uses(m, f->lane) ? f->lanes : f->row, number, is_far_here(f, n), false);
}

/* x // y, or x - y * (x // y) */
static int floored(Formula *f, const Node *n, const Map *m, bool lane, int x, int y)
{
        Text *to = lane ? f->lanes : f->row;
        int exact = vector_define(f, to, "v_div", arena_printf(f->arena, "t%d, t%d", x, y), "");
        if (n->op == OP_FLOORDIV)
                return value_of(f, n, m, lane, "v_floor", arena_printf(f->arena, "t%d", exact));
        int quotient = vector_define(f, to, "v_floor", arena_printf(f->arena, "t%d", exact), "");
        int product = vector_define(f, to, "v_mul", arena_printf(f->arena, "t%d, t%d", y, quotient), "");
        return value_of(f, n, m, lane, "v_sub", arena_printf(f->arena, "t%d, t%d", x, product));
}

static const char *argument_list(const Formula *f, const int *in, int n)
{
        return n == 1   ? arena_printf(f->arena, "t%d", in[0])
               : n == 2 ? arena_printf(f->arena, "t%d, t%d", in[0], in[1])
                        : arena_printf(f->arena, "t%d, t%d, t%d", in[0], in[1], in[2]);
}

static int pointwise(Formula *f, Node *n, const Map *m)
{
        int in[3] = {0};
        bool far = computes_far(f->plan->interval, n), lane = map_uses(m, f->lane);
        for (int i = 0; i < n->nin; i++) {
                Map at = map_broadcast(m, &n->in[i]->type);
                Text *to = map_uses(&at, f->lane) ? f->lanes : f->row;
                in[i] = formula_value(f, n->in[i], &at);
                if (in[i] < 0)
                        return -1;
                in[i] = converted(f, to, in[i], is_far_here(f, n->in[i]), far);
        }
        if (n->op == OP_REAL_OF)
                return remember(f, n, m, lane, in[0]);
        if (far && (n->op == OP_FLOORDIV || n->op == OP_MOD))
                return value_from(f, n, m, lane, true, n->op == OP_MOD ? "w_mod" : "w_floordiv",
                                  argument_list(f, in, n->nin));
        if (n->op == OP_FLOORDIV || n->op == OP_MOD)
                return floored(f, n, m, lane, in[0], in[1]);
        return value_from(f, n, m, lane, far, op_name(f, far, v_name[n->op]), argument_list(f, in, n->nin));
}

/* --- folds: a loop over one axis, its result the same in all lanes ------------------------------------------ */

typedef struct {
        int lane;
        bool whole_lanes;
        Text *lanes;
        KnownList lane_known;
} LaneScope;

static LaneScope open_lanes(Formula *f, Dim size)
{
        LaneScope outer = {f->lane, f->whole_lanes, f->lanes, f->lane_known};
        f->domain.digit[f->domain.n] = (Digit){size, -1, 1};
        f->lane = f->domain.n++;
        f->whole_lanes = dim_is_fixed(size) && size.fixed % LANES == 0;
        f->lanes = text_new(f->arena);
        f->lane_known = (KnownList){0};
        return outer;
}

static void close_lanes(Formula *f, LaneScope outer)
{
        f->domain.n--;
        f->lane = outer.lane;
        f->whole_lanes = outer.whole_lanes;
        f->lanes = outer.lanes;
        f->lane_known = outer.lane_known;
}

static int fold_loop(Formula *f, const Node *n, const Map *m, Dim size, bool maximum, int value,
                     const LaneScope *outer)
{
        bool far = is_far_here(f, n);
        const char *start = maximum ? "-FLOAT_INF" : far ? "0.0" : "0.0f";
        const char *s = dim_expression(f->arena, f->plan->graph, size);
        if (!f->whole_lanes)
                value = define(f, f->lanes, far, op_name(f, far, "v_keep"),
                               arena_printf(f->arena, "t%d, n, %s", value, start), "");
        int acc = f->numbers++;
        const char *set = op_name(f, far, "v_set1");
        if (f->plan->by_address)
                text_printf(f->row, "%s t%d; %s(t%d, %s);\n", vector_type(far), acc, set, acc, start);
        else
                text_printf(f->row, "%s t%d = %s(%s);\n", vector_type(far), acc, set, start);
        text_printf(f->row, "for (int64_t j = 0; j < %s; j += 16) {\n", s);
        if (!f->whole_lanes)
                text_printf(f->row, "        const int n = %s - j < 16 ? (int)(%s - j) : 16;\n", s, s);
        vector_update(f, f->lanes, acc, op_name(f, far, maximum ? "v_max" : "v_add"), value);
        text_indent(f->row, f->lanes, 1);
        text_printf(f->row, "}\n");
        close_lanes(f, *outer);
        return value_of(
                f, n, m, false, set,
                arena_printf(f->arena, "%s(t%d)", op_name(f, far, maximum ? "v_maxof" : "v_sum"), acc));
}

static int fold(Formula *f, Node *n, const Map *m)
{
        if (map_uses(m, f->lane) || f->domain.n >= MAX_DIGIT)
                return fail(f, n);
        Dim size = n->in[0]->type.dim[n->attr.axis];
        LaneScope outer = open_lanes(f, size);
        Map at = map_fold(m, n->attr.axis, f->lane);
        int value = formula_value(f, n->in[0], &at);
        if (value < 0) {
                close_lanes(f, outer);
                return -1;
        }
        value = converted(f, map_uses(&at, f->lane) ? f->lanes : f->row, value, is_far_here(f, n->in[0]),
                          is_far_here(f, n));
        return fold_loop(f, n, m, size, n->op == OP_MAXOF, value, &outer);
}

/* What a softmax's folds are known by: its node, at a map whose last axis looks where no tensor has elements. */
enum { MAXIMUM = 1, SUM, ALL_MAXIMUM, ALL_SUM };

static Map fold_key(const Map *row, const Node *n, int which)
{
        Map key = *row;
        key.axis[n->type.rank - 1].offset = dim_fixed(-which);
        return key;
}

/* A fold of n's input along its last axis: the maximum, or the sum of exp(x - maximum). */
static int softmax_fold(Formula *f, Node *n, const Map *m, const Map *key, int maximum)
{
        int last = n->type.rank - 1;
        Dim size = n->type.dim[last];
        LaneScope outer = open_lanes(f, size);
        Map at = map_fold(m, last, f->lane);
        int x = near_value(f, n->in[0], &at);
        if (x < 0) {
                close_lanes(f, outer);
                return -1;
        }
        if (maximum < 0)
                return fold_loop(f, n, key, size, true, x, &outer);
        int e = vector_define(f, f->lanes, "v_soft", arena_printf(f->arena, "t%d, t%d", x, maximum), "");
        return fold_loop(f, n, key, size, false, e, &outer);
}

/* The maximum and, where that is given, the sum; a sink takes part in both. */
static int softmax_over_row(Formula *f, Node *n, const Map *m, const Map *row, int which, int maximum)
{
        Map key = fold_key(row, n, which), all_key = fold_key(row, n, which == SUM ? ALL_SUM : ALL_MAXIMUM);
        int found = known(&f->row_known, n, &all_key);
        if (found >= 0)
                return found;
        int value = softmax_fold(f, n, m, &key, maximum);
        if (value >= 0 && n->nin == 2) {
                Map at = map_broadcast(row, &n->in[1]->type);
                int sink = near_value(f, n->in[1], &at);
                if (sink < 0)
                        return -1;
                if (which == SUM)
                        sink = vector_define(f, f->row, "v_soft",
                                             arena_printf(f->arena, "t%d, t%d", sink, maximum), "");
                value = vector_define(f, f->row, which == SUM ? "v_add" : "v_max",
                                      arena_printf(f->arena, "t%d, t%d", value, sink), "");
        }
        return value < 0 ? -1 : remember(f, n, &all_key, false, value);
}

/* exp(x - max) / sum, 0 where nothing lives */
static int softmax(Formula *f, Node *n, const Map *m)
{
        Map row = *m;
        row.axis[n->type.rank - 1] = (AxisIndex){0};
        if (map_uses(&row, f->lane) || f->domain.n >= MAX_DIGIT)
                return fail(f, n);
        int maximum = softmax_over_row(f, n, m, &row, MAXIMUM, -1);
        int sum = maximum < 0 ? -1 : softmax_over_row(f, n, m, &row, SUM, maximum);
        int x = sum < 0 ? -1 : near_value(f, n->in[0], m);
        if (x < 0)
                return -1;
        bool lane = map_uses(m, f->lane);
        int e = vector_define(f, lane ? f->lanes : f->row, "v_soft",
                              arena_printf(f->arena, "t%d, t%d", x, maximum), "");
        return value_of(f, n, m, lane, "v_part", arena_printf(f->arena, "t%d, t%d", e, sum));
}

/* --- gather ----------------------------------------------------------------------------------------------- */

/* Where the buffer under t (through views) is read, each of the indexed axes walked by a digit of its own, from
 * f->domain.n on: an index's step is that digit's coefficient.  False: not evenly. */
static bool table_address(Formula *f, Node *t, int indexed, Map at, Address *from, Buffer **b)
{
        Domain domain = f->domain;
        if (domain.n + indexed > MAX_DIGIT)
                return false;
        for (int i = 0; i < indexed; i++) {
                at.axis[i].coef[domain.n] = 1;
                domain.digit[domain.n++] = (Digit){t->type.dim[i], -1, 1};
        }
        return address_through(f->plan, &domain, &at, t, NULL, from, b, &f->refine) == MAP_OK && !(*b)->dense;
}

/* Is the tiled axis's index that of one indexed axis, as it is? */
static bool is_one_index(const Address *at, int first, int indexed)
{
        int64_t sum = 0;
        for (int i = 0; i < MAX_DIGIT; i++) {
                bool own = i >= first && i < first + indexed;
                if (at->tile_index.coef[i] && (!own || at->tile_index.coef[i] != 1))
                        return false;
                sum += at->tile_index.coef[i];
        }
        return sum == 1 && dim_is(at->tile_index.offset, 0);
}

/* Are the elements that the indices choose from further apart than floats can say? */
static bool spans_far(const Formula *f, const Node *t, int indexed, const int64_t *step)
{
        double most = 0;
        for (int i = 0; i < indexed; i++)
                most += (double)dim_bound(f->plan->graph, t->type.dim[i]) *
                        (double)(step[i] < 0 ? -step[i] : step[i]);
        return most > 16777216;
}

/* The offsets of 16 elements, from an index in each lane for each indexed axis. */
static int lane_offsets(Formula *f, const Node *n, bool far, const int *v, const int64_t *step)
{
        int e = -1;
        for (int i = 0; i < n->nin - 1; i++) {
                bool own = is_far_here(f, n->in[i + 1]);
                const char *last = dim_expression(f->arena, f->plan->graph,
                                                  dim_sub(n->in[0]->type.dim[i], dim_fixed(1)));
                int kept = define(
                        f, f->lanes, own, op_name(f, own, "v_clamp"),
                        arena_printf(f->arena, own ? "t%d, (double)(%s)" : "t%d, (float)(%s)", v[i], last),
                        "");
                kept = converted(f, f->lanes, kept, own, far);
                int stride = define(f, f->row, far, op_name(f, far, "v_set1"),
                                    number_literal(f, far, (double)step[i]), "");
                int term = define(f, f->lanes, far, op_name(f, far, "v_mul"),
                                  arena_printf(f->arena, "t%d, t%d", kept, stride), "");
                e = e < 0 ? term
                          : define(f, f->lanes, far, op_name(f, far, "v_add"),
                                   arena_printf(f->arena, "t%d, t%d", e, term), "");
        }
        return e;
}

/* t[a, b, .., rest]: the indexed axes' numbers come from values; the rest is affine. */
static int gather(Formula *f, Node *n, const Map *m)
{
        Node *t = n->in[0];
        int indexed = n->nin - 1, rest = t->type.rank - indexed, lead = n->type.rank - rest;
        Map head = *m;
        head.rank = lead;
        int v[MAX_RANK];
        bool in_lanes = false;
        for (int i = 0; i < indexed; i++) {
                Map at = map_broadcast(&head, &n->in[i + 1]->type);
                v[i] = formula_value(f, n->in[i + 1], &at);
                if (v[i] < 0)
                        return -1;
                in_lanes |= map_uses(&at, f->lane);
        }
        Map at = {.rank = t->type.rank};
        for (int i = 0; i < rest; i++)
                at.axis[indexed + i] = m->axis[lead + i];
        Buffer *b;
        Address from;
        if (!table_address(f, t, indexed, at, &from, &b))
                return fail(f, t);
        const int64_t *step = from.coef + f->domain.n, *tile_step = from.tile_index.coef + f->domain.n;
        if ((from.tiled && !is_one_index(&from, f->domain.n, indexed)) ||
            (in_lanes && (from.tiled || from.coef[f->lane])))
                return fail(f, t);
        if (in_lanes) {
                bool far = b->element == ELEMENT_F64 || spans_far(f, t, indexed, step);
                int e = lane_offsets(f, n, far, v, step);
                const char *base = arena_printf(f->arena, "%s + %s", pointer_name(f, b),
                                                address_expression(f, &from, false));
                return value_from(f, n, m, true, b->element == ELEMENT_F64,
                                  far ? element_load[b->element].gather_far : element_load[b->element].gather,
                                  arena_printf(f->arena, far ? "%s, t%d" : "%s, t%d, 1", base, e));
        }
        Text *offset = text_new(f->arena);
        for (int i = 0; i < indexed; i++) {
                const char *at_i = arena_printf(f->arena, "clamp_index(%s(t%d), %s)",
                                                op_name(f, is_far_here(f, n->in[i + 1]), "v_first"), v[i],
                                                dim_expression(f->arena, f->plan->graph, t->type.dim[i]));
                int number = f->numbers++;
                text_printf(f->row, "const int64_t x%d = %s;\n", number, at_i);
                if (tile_step[i])
                        text_printf(offset, " + x%d / 16 * %lld + x%d %% 16", number, (long long)from.tile,
                                    number);
                else
                        text_printf(offset, " + x%d * %lld", number, (long long)step[i]);
        }
        from.tiled = false;
        return load_elements(f, n, m, b,
                             arena_printf(f->arena, "%s%s", address_expression(f, &from, true), offset->data),
                             from.coef[f->lane]);
}

/* root: n is what the kernel stores, so not read from where it will lie */
static int view_value(Formula *f, Node *n, const Map *m, bool root)
{
        Map in;
        Refine refine;
        Address at;
        Buffer *b;
        MapResult r = f->plan->value[base_of(n)->id]
                              ? address_through(f->plan, &f->domain, m, n, root ? n : NULL, &at, &b, &refine)
                              : MAP_FAIL;
        if (r == MAP_OK)
                return load(f, n, b, at, m);
        r = map_view(&f->domain, m, n->attr.view, n->in[0]->type.rank, &in, &refine);
        if (r == MAP_OK)
                return formula_value(f, n->in[0], &in);
        if (r == MAP_REFINE && refine.digit < f->loops && f->domain.n < MAX_DIGIT &&
            f->kernel->op == K_LOOP) {
                f->refine = refine;
                f->refined = true;
                return -1;
        }
        return fail(f, f->plan->value[base_of(n->in[0])->id] ? n : base_of(n->in[0]));
}

int formula_value(Formula *f, Node *n, const Map *m)
{
        int number = known(&f->row_known, n, m);
        if (number < 0)
                number = known(&f->lane_known, n, m);
        if (number >= 0)
                return number;
        for (int i = 0; i < 2; i++)
                if (n == f->given[i])
                        return given_value(f, n, m, f->given_as[i]);
        Buffer *b = f->plan->value[n->id];
        if (f->kernel->from_copy && n == f->kernel->store[0].node)
                b = f->kernel->from_copy;
        if (b && n != f->computing)
                return load(f, n, b, address_of(b, m), m);
        bool root = n == f->computing;
        f->computing = root ? NULL : f->computing;
        if (n->op == OP_CONST)
                return literal(f, n, m);
        if (n->op == OP_SIZE)
                return value_of(f, n, m, false, op_name(f, is_far_here(f, n), "v_set1"),
                                arena_printf(f->arena, is_far_here(f, n) ? "(double)(%s)" : "(float)(%s)",
                                             dim_expression(f->arena, f->plan->graph, n->attr.dim)));
        if (n->op == OP_INDEX)
                return index_value(f, n, m);
        if (n->op == OP_VIEW)
                return view_value(f, n, m, root);
        if (n->op == OP_GATHER)
                return gather(f, n, m);
        if (n->op == OP_SUM || n->op == OP_MAXOF)
                return fold(f, n, m);
        if (n->op == OP_SOFTMAX)
                return softmax(f, n, m);
        if (op_info[n->op].family == POINT && n->op != OP_TOP)
                return pointwise(f, n, m);
        return fail(f, n);
}

bool formula_store(Formula *f, const Node *n, Buffer *to, const Map *map, int value, Text *out)
{
        Address at = address_of(to, map);
        const char *p = pointer_name(f, to);
        const char *where = address_expression(f, &at, true);
        int64_t step;
        bool single = dim_is(f->domain.digit[f->lane].size, 1), far = to->element == ELEMENT_F64;
        assert(to->element != ELEMENT_I32);
        if (!lane_step(f, &at, &step) && !single)
                return false;
        value = converted(f, out, value, is_far_here(f, n), far);
        const char *store = op_name(f, far, "v_store");
        if (single)
                text_printf(out, "%s_n(%s + %s, t%d, 1);\n", store, p, where, value);
        else if (step == 1 && f->whole_lanes)
                text_printf(out, "%s(%s + %s, t%d);\n", store, p, where, value);
        else if (step == 1)
                text_printf(out, "%s_n(%s + %s, t%d, n);\n", store, p, where, value);
        else
                text_printf(out, "%s_strided(%s + %s, %lld, t%d, %s);\n", store, p, where, (long long)step,
                            value, f->whole_lanes ? "16" : "n");
        return true;
}

int formula_constant(Formula *f, const Node *n, double value)
{
        bool far = is_far_here(f, n);
        return define(f, f->row, far, op_name(f, far, "v_set1"), number_literal(f, far, value), "");
}
