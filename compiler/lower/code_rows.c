/* Whether a function treats each row of a batch of whole sequences by itself, and all rows alike: then it may run once over the rows of
 * all of them, whose sizes and places it never sees.
 *
 *      y[i] = x[i] * gain            rows i of x and of y, nothing else of i: alike
 *      y[i] = x[i] + place[i]        a table knows no sequences: by sequence
 *      y[i] = x[i + 1], y[i] = i     by sequence
 *
 * The first loop counts rows.  Every element of a sequence's memory that is touched must lie in the same row of a buffer that has as
 * many rows; all else may not know the row, nor a size of the call. */
#include "code.h"

typedef struct {
        const Function *function;
        bool rows_in_lanes; /* the lanes at hand run over the rows */
        int64_t lanes;      /* else over so many elements; 0: nobody says how many */
} Rows;

/* An integer: `row` times the row's number, and low to high more; anywhere: more by what a value says. */
typedef struct {
        int64_t row, low, high;
        bool anywhere;
} Reach;

static bool reach_of(const Rows *r, const Index *x, Reach *reach);

static bool reach_of_loop(const Rows *r, int loop, Reach *reach)
{
        Dim size = r->function->loop[loop].size;
        *reach = loop == 0 ? (Reach){.row = 1} : (Reach){.high = size.fixed - 1};
        return loop == 0 || dim_is_fixed(size);
}

static bool reach_of_sum(const Rows *r, const Index *x, Reach *reach)
{
        *reach = (Reach){.low = x->offset.fixed, .high = x->offset.fixed};
        for (int i = 0; i < x->nterm; i++) {
                int64_t k = x->term[i].coef;
                Reach term;
                if (!reach_of(r, x->term[i].of, &term))
                        return false;
                reach->row += k * term.row;
                reach->anywhere |= term.anywhere;
                reach->low += k * (k > 0 ? term.low : term.high);
                reach->high += k * (k > 0 ? term.high : term.low);
        }
        return dim_is_fixed(x->offset);
}

/* Sums; and quotients and the like, of what knows no row. */
static bool reach_of(const Rows *r, const Index *x, Reach *reach)
{
        Reach a = {0}, b = {0};
        if ((x->a && !reach_of(r, x->a, &a)) || (x->b && !reach_of(r, x->b, &b)))
                return false;
        bool anywhere = a.anywhere || b.anywhere;
        bool fixed = !a.row && !b.row && !b.anywhere && b.low == b.high && b.low > 0 && a.low >= 0;
        switch (x->op) {
        case INDEX_SUM: return reach_of_sum(r, x, reach);
        case INDEX_LOOP: return reach_of_loop(r, x->number, reach);
        case INDEX_LANE:
                *reach = r->rows_in_lanes ? (Reach){.row = 1} : (Reach){.high = r->lanes - 1};
                return r->rows_in_lanes || r->lanes > 0;
        case INDEX_PLACE: *reach = (Reach){.anywhere = true}; return true;
        case INDEX_PLUS:
                *reach = (Reach){a.row + b.row, a.low + b.low, a.high + b.high, anywhere};
                return true;
        case INDEX_TIMES: *reach = (Reach){0, a.low * b.low, a.high * b.low, anywhere}; return fixed;
        case INDEX_QUOTIENT: *reach = (Reach){0, a.low / b.low, a.high / b.low, anywhere}; return fixed;
        case INDEX_REMAINDER: *reach = (Reach){0, 0, b.low - 1, false}; return fixed;
        default: return false;
        }
}

/* An integer that is no place in a sequence's memory. */
static bool knows_no_row(const Rows *r, const Index *x)
{
        Reach reach;
        return !x || (reach_of(r, x, &reach) && reach.row == 0);
}

/* Has the memory of b a row for each of the first loop's, in an order of its own?  What iterations stack has one behind the other. */
static bool has_its_rows(const Rows *r, Buffer *b)
{
        const Buffer *whole = whole_buffer(b);
        return !pointed_buffer(b)->part_of && !whole->dense && whole->layout.tiled < 0 &&
               dim_equal(sequence_rows(whole), r->function->loop[0].size);
}

static bool is_shared(Buffer *b)
{
        Home home = whole_buffer(b)->home;
        return home == IN_WEIGHTS || home == IN_LITERAL;
}

/* Elements of b from `at` on, up to `further` behind it. */
static bool is_own_row(const Rows *r, Buffer *b, const Index *at, int64_t further)
{
        Reach reach;
        if (!reach_of(r, at, &reach))
                return false;
        if (is_shared(b))
                return reach.row == 0;
        int64_t row = sequence_row(whole_buffer(b));
        return has_its_rows(r, b) && !reach.anywhere && reach.row == row && reach.low >= 0 && further >= 0 &&
               reach.high + further < row;
}

static bool is_operand_alike(const Rows *r, Operand o, int64_t further)
{
        return is_own_row(r, o.buffer, o.at, further);
}

/* Times a loop of fixed size is run; 0: it is of another. */
static int64_t times(const CodeLoop *loop)
{
        return dim_is_fixed(loop->size) && !loop->together ? loop->size.fixed : 0;
}

/* The runtime's product counts rows: those of the first loop and the fixed ones behind it together. */
static bool is_matmul_alike(const Rows *r, const MatmulCall *c)
{
        const Function *f = r->function;
        int64_t row = c->ldx;
        Reach reach;
        for (int i = 1; i < f->nloop - 1; i++)
                row *= times(&f->loop[i]);
        return c->outer == 0 && f->nloop > 1 && !is_shared(c->x.buffer) && has_its_rows(r, c->x.buffer) &&
               row > 0 && row == sequence_row(whole_buffer(c->x.buffer)) && reach_of(r, c->x.at, &reach) &&
               !reach.anywhere && reach.row == 0 && reach.low >= 0 && reach.high < row;
}

static bool is_call_alike(const Rows *r, const Stmt *s)
{
        const ActivationCall *p = s->call.activation;
        const SelectCall *l = s->call.select;
        int64_t n, k;
        switch (s->op) {
        case STMT_MATMUL: return is_matmul_alike(r, s->call.matmul);
        case STMT_ACTIVATION_MATMUL:
                n = times(p->columns);
                k = times(p->depth);
                return n && k && is_operand_alike(r, p->to, n - 1) &&
                       is_operand_alike(r, p->a, (k - 1) * p->a_step) &&
                       is_operand_alike(r, p->b, (k - 1) * p->b_step + (n - 1) * p->b_lane);
        case STMT_TOP:
        case STMT_ARGMAX:
                n = times(l->over);
                return n && is_operand_alike(r, l->to, s->op == STMT_TOP ? (n - 1) * l->to_step : 0) &&
                       is_operand_alike(r, l->of, (n - 1) * l->of_step);
        case STMT_MOVE:
                return is_operand_alike(r, s->call.move->to, 0) && is_operand_alike(r, s->call.move->from, 0);
        case STMT_ATTENTION:
        case STMT_CODES: return false;
        default: return true;
        }
}

static bool is_list_alike(const Rows *r, const StmtList *b);

static bool are_loops_alike(const Rows *r, const Stmt *s)
{
        for (int i = s->begin; i < s->end; i++)
                if (i > 0 && !dim_is_fixed(r->function->loop[i].size))
                        return false;
        return !s->over || s->over->together || dim_is_fixed(s->over->size);
}

static bool is_inside_alike(const Rows *r, const Stmt *s)
{
        Rows inner = *r;
        if (s->op == STMT_LANES || s->op == STMT_ONE) {
                inner.rows_in_lanes = s->over->together;
                inner.lanes = times(s->over);
        }
        return is_list_alike(&inner, s->inside);
}

static bool is_stmt_alike(const Rows *r, const Stmt *s)
{
        if (!are_loops_alike(r, s) || !is_call_alike(r, s))
                return false;
        bool alike = s->buffer ? is_own_row(r, s->buffer, s->at, 0) : knows_no_row(r, s->at);
        if (s->op == STMT_GATHER && !is_shared(s->buffer)) /* anywhere in what the buffer holds */
                return false;
        return alike && knows_no_row(r, s->high) && (!s->inside || is_inside_alike(r, s));
}

static bool is_list_alike(const Rows *r, const StmtList *b)
{
        for (int i = 0; i < b->n; i++)
                if (!is_stmt_alike(r, &b->stmt[i]))
                        return false;
        return true;
}

bool rows_are_alike(const Function *f)
{
        const Dim columns = f->loop[f->lane_loop < 0 ? 0 : f->lane_loop].size;
        Rows r = {.function = f};
        if (f->role == SCORE || f->role == LIVE || f->role == SINK || f->nloop < 1)
                return false;
        if (f->role == EPILOGUE) {
                r.lanes = f->lane_loop > 0 && dim_is_fixed(columns) ? columns.fixed : 0;
                for (int i = 1; i < f->nloop - 1; i++)
                        if (!dim_is_fixed(f->loop[i].size))
                                return false;
                if (f->outer || f->nloop < 2)
                        return false;
        }
        return is_list_alike(&r, &f->body);
}
