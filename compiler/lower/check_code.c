/* Checks Code for all sizes that a call may have:
 *
 *      every vector and integer is defined before it is used, and has the required type;
 *      every element that is read or written is within its buffer;
 *      all accessed buffers are in the kernel's lists, from which lifetimes and barriers are computed.
 *
 * Addresses are integers over loops and sizes.  Each is bounded by interval arithmetic at the corners of
 * the sizes: one position or the maximum of a call, no past position or a full context, and so on.
 * Between corners, addresses are affine in the sizes except for quotients and remainders by fixed numbers,
 * which grow with the dividend.
 *
 * A fault is a bug in lathe: the kernel is printed with the statement, and the program aborts, as verify()
 * does for graphs. */
#include "code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
        int64_t low, high;
} IndexRange;

typedef enum { UNDEFINED, FLOATS, DOUBLES, INTEGER } RegisterKind;

typedef struct {
        Arena *arena; /* for this check only */
        const Plan *plan;
        const Kernel *kernel;
        const Code *code;
        const Function *function;
        RegisterKind *kind;      /* by number: kind of the value defined here */
        int64_t size[MAX_NAMED]; /* sizes at the current corner */
        int64_t sequences;       /* number of sequences at this corner; the sizes are their totals */
        bool sees;               /* the function is about one sequence */
        IndexRange loop[MAX_LOOPS], lane;
        bool bound[MAX_LOOPS], has_lane;
        int64_t *place; /* by number: maximum of an integer x; -1: not bounded */
        const Stmt *stmt;
} Check;

static void fault(const Check *c, const char *what)
{
        fprintf(stderr, "lathe: kernel %s, %s, statement %s: %s\n", c->kernel->name, c->function->name,
                stmt_text[c->stmt->op], what);
        for (int i = 0; i < c->plan->graph->nnamed; i++)
                fprintf(stderr, "  %s = %" PRId64 "\n", c->plan->graph->named[i].name, c->size[i]);
        dump_code(stderr, c->plan);
        abort();
}

/* --- integers ------------------------------------------------------------------------------------------------------- */

static int64_t size_at(const Check *c, Dim d)
{
        int64_t n = d.fixed;
        for (int i = 0; i < MAX_NAMED; i++)
                n += d.per[i] * c->size[i];
        return n;
}

/* Total size of all sequences, given that of one. */
static int64_t together_at(const Check *c, Dim one)
{
        return size_at(c, one) + one.fixed * (c->sequences - 1);
}

static int64_t end_at(const Check *c, const CodeLoop *l)
{
        return l->together && !c->sees ? together_at(c, l->size) : size_at(c, l->size);
}

static IndexRange range_hull(int64_t a, int64_t b, int64_t x, int64_t y)
{
        IndexRange r = {a, a};
        const int64_t other[] = {b, x, y};
        for (int i = 0; i < 3; i++) {
                r.low = other[i] < r.low ? other[i] : r.low;
                r.high = other[i] > r.high ? other[i] : r.high;
        }
        return r;
}

static IndexRange index_range(const Check *c, const Index *x);

static IndexRange range_of_sum(const Check *c, const Index *x)
{
        int64_t n = size_at(c, x->offset);
        IndexRange sum = {n, n};
        for (int i = 0; i < x->nterm; i++) {
                IndexRange r = index_range(c, x->term[i].of);
                int64_t k = x->term[i].coef;
                sum.low += k * (k > 0 ? r.low : r.high);
                sum.high += k * (k > 0 ? r.high : r.low);
        }
        return sum;
}

static IndexRange range_of_remainder(IndexRange a, IndexRange b)
{
        return a.low >= 0 && a.high < b.low ? a : (IndexRange){0, b.high - 1};
}

static IndexRange range_of_held(const Check *c, IndexRange a)
{
        if (a.low < 0 || a.high >= page_blocks(c->plan) * PAGE_POSITIONS)
                fault(c, "a position has no page");
        return (IndexRange){0, c->plan->pages * PAGE_POSITIONS - 1};
}

static IndexRange range_of_table(const Index *x)
{
        const Literal *l = x->table->attr.literal;
        IndexRange r = {(int64_t)l->value[0], (int64_t)l->value[0]};
        for (int64_t i = 1; i < l->count; i++) {
                int64_t v = (int64_t)l->value[i];
                r = (IndexRange){v < r.low ? v : r.low, v > r.high ? v : r.high};
        }
        return r;
}

static IndexRange index_range(const Check *c, const Index *x)
{
        IndexRange a = x->a ? index_range(c, x->a) : (IndexRange){0, 0},
                   b = x->b ? index_range(c, x->b) : (IndexRange){0, 0};
        switch (x->op) {
        case INDEX_SUM: return range_of_sum(c, x);
        case INDEX_LOOP:
                if (!c->bound[x->number])
                        fault(c, "a loop's value is used outside of it");
                return c->loop[x->number];
        case INDEX_LANE:
                if (!c->has_lane)
                        fault(c, "a lane is used outside of its loop");
                return c->lane;
        case INDEX_PLACE:
                if (c->kind[x->number] != INTEGER)
                        fault(c, "an integer is used before it is defined");
                return (IndexRange){0, c->place[x->number]};
        case INDEX_WHOLE: return (IndexRange){c->size[c->plan->graph->time], c->size[c->plan->graph->time]};
        case INDEX_DONE: return (IndexRange){0, 0};
        case INDEX_PLUS: return (IndexRange){a.low + b.low, a.high + b.high};
        case INDEX_MINUS: return (IndexRange){a.low - b.high, a.high - b.low};
        case INDEX_TIMES: return range_hull(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
        case INDEX_QUOTIENT: return (IndexRange){a.low / b.high, a.high / b.low};
        case INDEX_REMAINDER: return range_of_remainder(a, b);
        case INDEX_MIN: return (IndexRange){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
        case INDEX_MAX: return (IndexRange){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
        case INDEX_HELD: return range_of_held(c, a);
        case INDEX_TABLE: return range_of_table(x);
        }
        return a;
}

/* --- addresses ------------------------------------------------------------------------------------------------------ */

/* Number of elements from the buffer's pointer to its end. */
static int64_t room_of(const Check *c, Buffer *b)
{
        const Buffer *own = pointed_buffer(b);
        bool batched = c->kernel->batching != BATCH_NONE;
        bool given = own->home == IN_INPUT || own->home == IN_OUTPUT;
        if (given && (!batched || c->sees || c->kernel->rows == ROWS_REQUESTED))
                return type_count(&own->type, c->size);
        if (batched && (given || (own->home == IN_ARENA && !own->part_of))) {
                Dim one = sequence_rows(c->plan, own);
                int64_t rows = c->sees ? size_at(c, one) : together_at(c, one);
                return sequence_row(own) * (own->layout.tiled < 0 ? rows : (rows + LANES - 1) / LANES);
        }
        int64_t bytes = own->size ? own->size : own->slot_stride / (own->ring ? own->ring : 1);
        return buffer_elements(own, bytes);
}

static void check_list(const Check *c, Buffer *b, bool written)
{
        if (written ? !code_writes(c->code, whole_buffer(b)) : !code_reads(c->code, whole_buffer(b)))
                fault(c, written ? "it writes what is not declared" : "it reads what is not declared");
}

/* Checks that elements `at` + reach.low to `at` + reach.high are in the buffer. */
static void check_access(const Check *c, Buffer *b, const Index *at, IndexRange reach, bool written)
{
        check_list(c, b, written);
        IndexRange r = index_range(c, at);
        if (r.low + reach.low < 0 || r.high + reach.high >= room_of(c, b))
                fault(c, arena_printf(c->plan->graph->arena,
                                      "%s: elements %" PRId64 " to %" PRId64 " of %" PRId64, b->name,
                                      r.low + reach.low, r.high + reach.high, room_of(c, b)));
}

/* One element.  With lanes, the index's range includes all of them. */
static const IndexRange itself = {0, 0};

static int64_t most(int64_t n)
{
        return n > 0 ? n - 1 : 0;
}

static int64_t loop_times(const Check *c, int loop)
{
        const CodeLoop *l = &c->function->loop[loop];
        return end_at(c, l) - (l->from_first ? c->size[NAMED_FIRST] : 0);
}

static void check_matmul(const Check *c, const MatmulCall *m)
{
        int64_t rows = 1;
        for (int i = m->outer; i < c->function->nloop - 1; i++)
                rows *= loop_times(c, i);
        IndexRange reach = {0, m->ldx * most(rows) + c->kernel->product.k - 1};
        check_access(c, m->x.buffer, m->x.at, reach, false);
        for (int i = 0; i < m->npart; i++) {
                const Segment *s = m->part[i].segment;
                int64_t elements = m->part[i].panels * s->nproduct * c->kernel->product.k * LANES;
                Buffer *own = pointed_buffer(s->w[0]);
                IndexRange at = index_range(c, m->part[i].w_at);
                check_list(c, s->w[0], false);
                if (at.low < 0 || storage_elements(own->storage, own->slot_stride) < at.high + elements)
                        fault(c, "a product reads beyond its weights");
        }
}

static void check_attention(const Check *c, const AttentionCall *a)
{
        int64_t rows = a->row >= 0 ? loop_times(c, a->row) : 1, keys = size_at(c, a->keys);
        int64_t share = a->kv_heads ? a->heads / a->kv_heads : 1;
        check_access(c, a->q.buffer, a->q.at,
                     (IndexRange){0, a->q_row * most(rows) + a->q_head * most(a->heads) + a->head_dim - 1},
                     false);
        check_access(c, a->out.buffer, a->out.at,
                     (IndexRange){0, a->out_row * most(rows) + a->out_head * most(a->heads) + a->v_dim - 1},
                     true);
        if (a->chosen.buffer)
                check_access(c, a->chosen.buffer, a->chosen.at,
                             (IndexRange){0, a->chosen_row * most(rows) + a->chosen_head * most(a->kv_heads) +
                                                     a->count - 1},
                             false);
        int64_t pool = c->plan->pages * PAGE_POSITIONS;
        int64_t held = a->k_paged ? pool : keys - size_at(c, a->first_key),
                values = a->v_paged ? pool : keys - size_at(c, a->first_value);
        int64_t apart = a->k_key ? most(held) * a->k_key : most((held + LANES - 1) / LANES) * a->k_tile;
        check_access(c, a->k.buffer, a->k.at,
                     (IndexRange){0, a->k_head * most(a->heads / share) + apart +
                                             a->head_dim * (a->k_key ? 1 : LANES) - 1},
                     false);
        check_access(
                c, a->v.buffer, a->v.at,
                (IndexRange){0, a->v_head * most(a->heads / share) + most(values) * a->v_key + a->v_dim - 1},
                false);
}

/* Checks the rows of an operand of a scan. */
static void check_rows(const Check *c, Operand o, int64_t row, int64_t rows, int64_t width, bool written)
{
        if (o.buffer)
                check_access(c, o.buffer, o.at, (IndexRange){0, row * most(rows) + most(width)}, written);
}

static void check_scan(const Check *c, const ScanCall *s)
{
        int64_t rows = loop_times(c, s->row);
        check_rows(c, s->q, s->q_row, rows, s->depth, false);
        check_rows(c, s->k, s->k_row, rows, s->depth, false);
        check_rows(c, s->v, s->v_row, rows, s->width, false);
        check_rows(c, s->powers, 0, 1, SCAN_POWERS, false);
        check_rows(c, s->out, s->out_row, rows, s->width, true);
        check_rows(c, s->state, 0, 1,
                   s->heads * SCAN_UNITS(s->width) * (1 + s->older) * SCAN_FLOATS(s->depth, s->width), true);
        if (s->state.buffer)
                check_list(c, s->state.buffer, false);
}

static void check_activations(const Check *c, const ActivationCall *p)
{
        int64_t n = most(size_at(c, p->columns->size)), k = most(size_at(c, p->depth->size));
        int64_t row = p->row < 0 ? 0 : most(loop_times(c, p->row));
        check_access(c, p->to.buffer, p->to.at, (IndexRange){0, row * p->to_row + n}, true);
        check_access(c, p->a.buffer, p->a.at, (IndexRange){0, row * p->a_row + k * p->a_step}, false);
        check_access(c, p->b.buffer, p->b.at, (IndexRange){0, k * p->b_step + n * p->b_lane}, false);
}

static void check_call(const Check *c, const Stmt *s)
{
        const SelectCall *l = s->call.select;
        switch (s->op) {
        case STMT_MATMUL: check_matmul(c, s->call.matmul); break;
        case STMT_ATTENTION: check_attention(c, s->call.attention); break;
        case STMT_SCAN: check_scan(c, s->call.scan); break;
        case STMT_ACTIVATION_MATMUL: check_activations(c, s->call.activation); break;
        case STMT_TOP:
        case STMT_CHOSEN:
        case STMT_AMONG:
        case STMT_ARGMAX:
        case STMT_CODES: {
                const int64_t n = most(size_at(c, l->over->size)), count = l->count - 1;
                const int64_t to = s->op == STMT_ARGMAX   ? 0
                                   : s->op == STMT_CHOSEN ? count
                                                          : n,
                              of = s->op == STMT_AMONG ? count : n;
                check_access(c, l->to.buffer, l->to.at, (IndexRange){0, to * l->to_step}, true);
                check_access(c, l->of.buffer, l->of.at, (IndexRange){0, of * l->of_step}, false);
                break;
        }
        case STMT_MOVE:
                check_access(c, s->call.move->to.buffer, s->call.move->to.at, itself, true);
                check_access(c, s->call.move->from.buffer, s->call.move->from.at, itself, false);
                break;
        default: break;
        }
}

/* --- statements -------------------------------------------------------------------------------------------------------- */

static void check_from(const Check *c, const Stmt *s)
{
        for (int i = 0; i < s->nfrom; i++) {
                RegisterKind kind = c->kind[s->from[i]];
                bool f64 = s->op == STMT_CONVERT ? !s->f64 : s->op == STMT_GATHER ? s->variant != 0 : s->f64;
                if (kind != FLOATS && kind != DOUBLES)
                        fault(c, "a vector is used before it is defined");
                if ((kind == DOUBLES) != f64 && s->op != STMT_RESULT && s->op != STMT_ACTIVE)
                        fault(c,
                              "a vector of doubles stands where floats are wanted, or the other way round");
        }
}

static void check_stmts(Check *c, const StmtList *b);

/* Definitions in a list are local to it, except sums that are begun outside. */
static void check_inside(Check *c, const StmtList *b)
{
        int n = c->function->vectors;
        RegisterKind *before = NEW_ARRAY(c->arena, RegisterKind, n + 1);
        memcpy(before, c->kind, (size_t)n * sizeof *before);
        check_stmts(c, b);
        memcpy(c->kind, before, (size_t)n * sizeof *before);
}

static IndexRange loop_range(const Check *c, const CodeLoop *l)
{
        return (IndexRange){l->from_first ? c->size[NAMED_FIRST] : 0, most(end_at(c, l))};
}

static void check_loops(Check *c, const Stmt *s)
{
        bool empty = false;
        for (int i = s->begin; i < s->end; i++) {
                c->loop[i] = loop_range(c, &c->function->loop[i]);
                c->bound[i] = true;
                empty |= end_at(c, &c->function->loop[i]) < 1;
        }
        if (!empty)
                check_inside(c, s->inside);
        for (int i = s->begin; i < s->end; i++)
                c->bound[i] = false;
}

static void check_lanes(Check *c, const Stmt *s)
{
        IndexRange lane = c->lane;
        bool had = c->has_lane;
        c->lane = s->op == STMT_ONE ? (IndexRange){0, 0} : loop_range(c, s->over);
        c->has_lane = true;
        if (s->op == STMT_ONE || end_at(c, s->over) > 0)
                check_inside(c, s->inside);
        c->lane = lane;
        c->has_lane = had;
}

static void check_definition(const Check *c, const Stmt *s)
{
        if (s->op == STMT_ACCUMULATE) {
                if (c->kind[s->to] != (s->f64 ? DOUBLES : FLOATS))
                        fault(c, "it adds to what was not begun");
        } else if (s->op <= STMT_ACROSS) {
                c->kind[s->to] = s->f64 ? DOUBLES : FLOATS;
        } else if (s->op == STMT_PLACE || s->op == STMT_INTEGER) {
                c->kind[s->to] = INTEGER;
                int64_t high = index_range(c, s->at).high;
                c->place[s->to] = s->op == STMT_PLACE ? most(high) : high;
        }
}

/* Attention that mixes heads: the caller passes the values of a fixed number of heads. */
static void check_given(const Check *c, const Stmt *s)
{
        const Type *t = s->at ? &c->kernel->attention.softmax->type : NULL;
        const IndexRange at = s->at ? index_range(c, s->at) : (IndexRange){0, 0};
        if (t && (at.low < 0 || at.high >= dim_value(t->dim[t->rank - 3], NULL)))
                fault(c, "a head is taken that there is not");
}

static void check_stmt(Check *c, const Stmt *s)
{
        c->stmt = s;
        check_from(c, s);
        switch (s->op) {
        case STMT_LOAD:
        case STMT_ELEMENT: check_access(c, s->buffer, s->at, itself, false); break;
        case STMT_GATHER: check_list(c, s->buffer, false); break; /* indices are clamped to their axes */
        case STMT_STORE: check_access(c, s->buffer, s->at, itself, true); break;
        case STMT_GIVEN: check_given(c, s); break;
        case STMT_ROWS:
        case STMT_ALL_ROWS: check_loops(c, s); break;
        case STMT_LANES:
        case STMT_ONE: check_lanes(c, s); break;
        default: check_call(c, s); break;
        }
        c->stmt = s;
        check_definition(c, s);
}

static void check_stmts(Check *c, const StmtList *b)
{
        for (int i = 0; i < b->n; i++)
                check_stmt(c, &b->stmt[i]);
}

/* Bounds the loops whose values are arguments of the function. */
static void give_loops(Check *c)
{
        const Function *f = c->function;
        int end = f->role == EPILOGUE ? f->nloop - 1 : 0;
        for (int i = 0; i < end; i++) {
                c->loop[i] = loop_range(c, &f->loop[i]);
                c->bound[i] = true;
        }
        for (int i = 0; i < f->nhead; i++) {
                c->loop[f->head[i]] = loop_range(c, &f->loop[f->head[i]]);
                c->bound[f->head[i]] = true;
        }
        if (f->row >= 0) {
                c->loop[f->row] = loop_range(c, &f->loop[f->row]);
                c->bound[f->row] = true;
        }
        if (f->role == WHOLE_KERNEL && f->body.n == 1 && f->body.stmt[0].op == STMT_MATMUL)
                for (int i = 0; i < f->body.stmt[0].call.matmul->outer; i++) {
                        c->loop[i] = loop_range(c, &f->loop[i]);
                        c->bound[i] = true;
                }
        int naround = 0;
        const int *around =
                f->role == WHOLE_KERNEL && f->body.n == 1 ? loops_around(&f->body.stmt[0], &naround) : NULL;
        for (int i = 0; i < naround; i++) {
                c->loop[around[i]] = loop_range(c, &f->loop[around[i]]);
                c->bound[around[i]] = true;
        }
        c->has_lane = f->role == EPILOGUE || f->role == SCORE;
        if (c->has_lane)
                c->lane = loop_range(c, &f->loop[f->lane_loop]);
}

static void check_function(Check *c, const Function *f)
{
        c->function = f;
        c->sees = sees_sequence(c->plan, c->kernel, f);
        memset(c->bound, 0, sizeof c->bound);
        memset(c->kind, 0, (size_t)f->vectors * sizeof *c->kind);
        give_loops(c);
        check_stmts(c, &f->body);
}

static void check_functions(Check *c, bool sees)
{
        const Region *along = along_around(c->kernel->body);
        for (int i = 0; i < c->code->n; i++) {
                if (sees_sequence(c->plan, c->kernel, c->code->function[i]) != sees)
                        continue;
                check_function(c, c->code->function[i]);
                if (!along)
                        continue;
                int64_t *position = &c->size[NAMED_ALONG + along->along - 1];
                *position = size_at(c, positions_of(c->plan->graph, along)) - 1;
                check_function(c, c->code->function[i]);
                *position = 0;
        }
}

/* --- corners of the sizes --------------------------------------------------------------------------------------------- */

static void check_windows(Check *c)
{
        const Graph *g = c->plan->graph;
        for (int r = 0; r < c->plan->windows.n; r++) {
                int64_t end = c->size[g->past] + c->size[g->time], held = c->plan->windows.cache[r].size;
                c->size[NAMED_BASE + r] = end > held ? (end - held + 15) / 16 * 16 : 0;
        }
}

/* Checks positions of a call, or of one sequence of it: rows first to time - 1, where row r is at position
 * past + r. */
static void check_positions(Check *c)
{
        const Graph *g = c->plan->graph;
        int64_t call = c->plan->bound[g->time], context = g->named[g->time].bound;
        int64_t one = call < context ? call : context;
        const struct {
                int64_t first, time;
        } rows[] = {{0, 1}, {0, one}, {one - 1, one}};
        c->sequences = 1;
        for (int i = 0; i < 3; i++)
                for (int full = 0; full < 2; full++) {
                        c->size[NAMED_FIRST] = rows[i].first;
                        c->size[g->time] = rows[i].time;
                        c->size[g->past] = full ? context - rows[i].time : 0;
                        check_windows(c);
                        check_functions(c, true);
                        check_functions(c, false);
                }
        c->sequences = c->plan->slots;
        c->size[g->past] = 0;
        c->size[g->time] = call;
        for (int last = 0; last < 2 && c->sequences > 1; last++) {
                c->size[NAMED_FIRST] = last ? call - 1 : 0;
                check_functions(c, false);
        }
}

/* Checks the sizes of one sequence, and those of all together. */
static void check_stages(Check *c)
{
        const int size = varying_size(c->plan->graph);
        const int64_t one = size < 0 ? 0 : c->size[size];
        c->sequences = 1;
        check_functions(c, true);
        check_functions(c, false);
        if (c->plan->slots == 1)
                return;
        c->sequences = c->plan->slots;
        if (size >= 0)
                c->size[size] = c->plan->rows;
        check_functions(c, false);
        if (size >= 0)
                c->size[size] = one;
}

/* Checks with each named size at its minimum and its maximum. */
static void check_corners(Check *c, int named)
{
        const Graph *g = c->plan->graph;
        if (named == g->nnamed && g->past >= 0) {
                check_positions(c);
        } else if (named == g->nnamed) {
                check_stages(c);
        } else if (g->past >= 0 && (named == g->time || named == g->past)) {
                check_corners(c, named + 1);
        } else {
                c->size[named] = 1;
                check_corners(c, named + 1);
                c->size[named] = g->named[named].bound;
                if (c->size[named] > 1)
                        check_corners(c, named + 1);
        }
}

void check_code(const Plan *p, const Kernel *k)
{
        int vectors = 1;
        Arena scratch = {.out_of_memory = p->graph->arena->out_of_memory};
        for (int i = 0; i < k->code->n; i++)
                vectors = k->code->function[i]->vectors > vectors ? k->code->function[i]->vectors : vectors;
        Check c = {.arena = &scratch, .plan = p, .kernel = k, .code = k->code};
        c.kind = NEW_ARRAY(&scratch, RegisterKind, vectors);
        c.place = NEW_ARRAY(&scratch, int64_t, vectors);
        check_corners(&c, 0);
        arena_free(&scratch);
}
