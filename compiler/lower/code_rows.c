/* Whether a function computes each row of a batch separately, and all rows alike.  Then it may run once over
 * the rows of all sequences, independent of their sizes and positions.
 *
 *      y[i] = x[i] * gain            only rows i of x and of y: alike
 *      y[i] = x[i] + place[i]        a table is the same for all sequences: by sequence
 *      y[i] = x[i + 1], y[i] = i     by sequence
 *
 * The first loop counts rows.  Every accessed element of a sequence's memory must be in a buffer with as many
 * rows, at the row's number times the row's size.  Then it is in that row, since all rows are within the
 * buffer.  No other expression may depend on the row or on a size of the call. */
#include "code.h"

typedef struct {
        const Plan *plan;
        const Kernel *kernel;
        const Function *function;
        bool rows_in_lanes; /* the current lanes run over rows */
} CodeRows;

/* An integer as a sum: `row` times the row's number, `first` times the number of the first requested row,
 * and a part that depends on neither: inner loops, and loaded values. */
typedef struct {
        int64_t row, first;
} RowTerm;

static bool row_range(const CodeRows *r, const Index *x, RowTerm *place);

static bool place_of_sum(const CodeRows *r, const Index *x, RowTerm *place)
{
        Dim offset = x->offset;
        *place = (RowTerm){.first = offset.per[NAMED_FIRST]};
        offset.per[NAMED_FIRST] = 0;
        for (int i = 0; i < x->nterm; i++) {
                RowTerm term;
                if (!row_range(r, x->term[i].of, &term))
                        return false;
                place->row += x->term[i].coef * term.row;
                place->first += x->term[i].coef * term.first;
        }
        return dim_is_fixed(offset);
}

/* False: the integer depends on a size of the call, or not linearly on the row. */
static bool row_range(const CodeRows *r, const Index *x, RowTerm *place)
{
        RowTerm a = {0}, b = {0};
        if ((x->a && !row_range(r, x->a, &a)) || (x->b && !row_range(r, x->b, &b)))
                return false;
        *place = (RowTerm){a.row + b.row, a.first + b.first};
        switch (x->op) {
        case INDEX_SUM: return place_of_sum(r, x, place);
        case INDEX_LOOP: place->row = x->number == 0; return true;
        case INDEX_LANE: place->row = r->rows_in_lanes; return true;
        case INDEX_PLACE:
        case INDEX_PLUS: return true;
        case INDEX_TIMES:
        case INDEX_QUOTIENT:
        case INDEX_REMAINDER:
        case INDEX_MIN:
        case INDEX_MAX: return !a.row && !b.row && !a.first && !b.first;
        default: return false;
        }
}

static bool is_independent_of_row(const CodeRows *r, const Index *x)
{
        RowTerm place;
        return !x || (row_range(r, x, &place) && place.row == 0 && place.first == 0);
}

static bool buffer_is_shared(Buffer *b)
{
        Home home = whole_buffer(b)->home;
        return home == IN_WEIGHTS || home == IN_LITERAL;
}

/* Whether the memory of b has a row for each row of the loop, in its own order.  Stacked values have an
 * iteration after the other. */
static bool has_its_rows(const CodeRows *r, Buffer *b, int loop)
{
        const Buffer *whole = whole_buffer(b);
        return whole->home != IN_STATE && !pointed_buffer(b)->part_of && !whole->dense &&
               whole->layout.tiled < 0 &&
               dim_equal(sequence_rows(r->plan, whole), r->function->loop[loop].size);
}

static bool is_own_row(const CodeRows *r, Buffer *b, const Index *at)
{
        RowTerm place;
        if (buffer_is_shared(b))
                return is_independent_of_row(r, at);
        int64_t row = sequence_row(whole_buffer(b));
        /* from the first requested row */
        bool wanted = r->kernel->rows == ROWS_REQUESTED && whole_buffer(b)->home == IN_OUTPUT;
        return has_its_rows(r, b, 0) && row_range(r, at, &place) && place.row == row &&
               place.first == (wanted ? -row : 0);
}

static bool is_operand_alike(const CodeRows *r, Operand o)
{
        return is_own_row(r, o.buffer, o.at);
}

/* The runtime's product counts rows: those of the first loop and the following fixed loops together. */
static bool is_matmul_alike(const CodeRows *r, const MatmulCall *c)
{
        const Function *f = r->function;
        int64_t row = c->ldx;
        RowTerm place;
        for (int i = 1; i < f->nloop - 1; i++)
                row *= dim_is_fixed(f->loop[i].size) ? f->loop[i].size.fixed : 0;
        return c->outer == 0 && f->nloop > 1 && !buffer_is_shared(c->x.buffer) &&
               has_its_rows(r, c->x.buffer, 0) && row > 0 && row == sequence_row(whole_buffer(c->x.buffer)) &&
               row_range(r, c->x.at, &place) && place.row == 0 &&
               place.first == (r->kernel->rows == ROWS_REQUESTED ? row : 0);
}

/* Whether each of the loop's rows, `step` apart, is a row of the operand. */
static bool are_own_rows(const CodeRows *r, Operand o, int64_t step, int loop)
{
        RowTerm place;
        const int64_t row = sequence_row(whole_buffer(o.buffer));
        const bool wanted = r->kernel->rows == ROWS_REQUESTED && whole_buffer(o.buffer)->home == IN_OUTPUT;
        return !buffer_is_shared(o.buffer) && has_its_rows(r, o.buffer, loop) && step == row &&
               row_range(r, o.at, &place) && place.row == 0 &&
               place.first == (r->kernel->rows == ROWS_REQUESTED && !wanted ? row : 0);
}

/* Whether each row of a product of activations is a row of the operand.  Its rows may be those of the
 * first loop. */
static bool has_own_rows(const CodeRows *r, const ActivationCall *c, Operand o, int64_t step)
{
        return c->row != 0 ? is_operand_alike(r, o) : are_own_rows(r, o, step, 0);
}

/* Whether a loop within a row has a fixed size. */
static bool loop_is_fixed(const CodeLoop *loop)
{
        return dim_is_fixed(loop->size) && !loop->together;
}

/* All loops except the first, and that of the rows, must be fixed. */
static bool are_within(const CodeRows *r, const ActivationCall *c)
{
        for (int i = 0; i < c->naround; i++)
                if (c->around[i] > 0 && !dim_is_fixed(r->function->loop[c->around[i]].size))
                        return false;
        return c->row <= 0 || dim_is_fixed(r->function->loop[c->row].size);
}

static bool is_call_alike(const CodeRows *r, const Stmt *s)
{
        const ActivationCall *p = s->call.activation;
        const SelectCall *l = s->call.select;
        switch (s->op) {
        case STMT_MATMUL: return is_matmul_alike(r, s->call.matmul);
        case STMT_ACTIVATION_MATMUL:
                return loop_is_fixed(p->columns) && loop_is_fixed(p->depth) && are_within(r, p) &&
                       has_own_rows(r, p, p->to, p->to_row) && has_own_rows(r, p, p->a, p->a_row) &&
                       is_operand_alike(r, p->b);
        case STMT_TOP:
        case STMT_CHOSEN:
        case STMT_AMONG:
        case STMT_ARGMAX:
                return loop_is_fixed(l->over) && is_operand_alike(r, l->to) && is_operand_alike(r, l->of);
        case STMT_MOVE:
                return is_operand_alike(r, s->call.move->to) && is_operand_alike(r, s->call.move->from);
        default: return !s->call.matmul; /* unknown for other runtime kernels */
        }
}

static bool are_loops_alike(const CodeRows *r, const Stmt *s)
{
        for (int i = s->begin; i < s->end; i++)
                if (i > 0 && !dim_is_fixed(r->function->loop[i].size))
                        return false;
        return !s->over || s->over->together || dim_is_fixed(s->over->size);
}

static bool is_list_alike(const CodeRows *r, const StmtList *b);

static bool is_inside_alike(const CodeRows *r, const Stmt *s)
{
        CodeRows inner = *r;
        if (s->op == STMT_LANES || s->op == STMT_ONE)
                inner.rows_in_lanes = s->over->together;
        return is_list_alike(&inner, s->inside);
}

static bool is_stmt_alike(const CodeRows *r, const Stmt *s)
{
        if (!are_loops_alike(r, s) || !is_call_alike(r, s))
                return false;
        bool alike = s->buffer ? is_own_row(r, s->buffer, s->at) : is_independent_of_row(r, s->at);
        return alike && is_independent_of_row(r, s->high) && (!s->inside || is_inside_alike(r, s));
}

static bool is_list_alike(const CodeRows *r, const StmtList *b)
{
        for (int i = 0; i < b->n; i++)
                if (!is_stmt_alike(r, &b->stmt[i]))
                        return false;
        return true;
}

/* The loops of an epilogue are computed from its arguments. */
static bool are_given_loops_alike(const Function *f)
{
        for (int i = 1; i < f->nloop; i++)
                if (!dim_is_fixed(f->loop[i].size))
                        return false;
        return f->outer == 0 && f->nloop > 1;
}

bool rows_are_alike(const Plan *p, const Kernel *k, const Function *f)
{
        const CodeRows r = {.plan = p, .kernel = k, .function = f};
        if (f->role == SCORE || f->role == LIVE || f->role == SINK || f->nloop < 1)
                return false;
        return (f->role != EPILOGUE || are_given_loops_alike(f)) && is_list_alike(&r, &f->body);
}

/* A loop with this number of rows runs over those of all sequences, if its size is the number of
 * positions: no rows are added for each sequence. */
static bool counts_positions_only(const CodeLoop *loop)
{
        return loop->size.fixed == 0;
}

bool results_are_rows_of_all(const Plan *p, const Kernel *k, const Function *f, const Stmt *call)
{
        const CodeRows r = {.plan = p, .kernel = k, .function = f};
        if (call->op == STMT_ATTENTION) {
                const AttentionCall *a = call->call.attention;
                return a->row >= 0 && counts_positions_only(&f->loop[a->row]) &&
                       are_own_rows(&r, a->out, a->out_row, a->row);
        }
        const MatmulCall *m = call->call.matmul;
        for (int i = 0; i < m->npart; i++)
                if (!counts_positions_only(&f->loop[0]) || !rows_are_alike(p, k, m->part[i].epilogue))
                        return false;
        return true;
}
