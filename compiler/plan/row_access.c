/* Offsets of a kernel's rows in the buffers that it reads and stores. */
#include "lower/code.h"
#include "plan_private.h"

/* --- offset of an access ------------------------------------------------------------------------------------------- */

/* step * row + tile * (row / 16) + ones * (row % 16) + low to high; all are at least 0 */
typedef struct {
        int64_t step, tile, ones, low, high;
} AccessForm;

typedef struct {
        const Plan *plan;
        const Function *f;
        const CodeLoop *lanes;
        bool whole_lanes;
        int row; /* loop of the rows */
} RowWalk;

static void add_turns_of(const RowWalk *w, AccessForm *to, const CodeLoop *l, int64_t scale, bool whole)
{
        const int64_t n = bound_of(w->plan, l->size);
        to->high += scale * ((whole ? round_up(n, LANES) : n) - 1);
}

/* Only the row itself. */
static bool index_is_row(const RowWalk *w, const Index *x)
{
        return x->nterm == 1 && x->term[0].coef == 1 && dim_is(x->offset, 0) &&
               x->term[0].of->op == INDEX_LOOP && x->term[0].of->number == w->row;
}

static bool add_element(const RowWalk *w, AccessForm *to, const Index *x, int64_t scale);

static bool add_terms(const RowWalk *w, AccessForm *to, const Index *x, int64_t scale)
{
        if (!dim_is_fixed(x->offset))
                return false;
        to->low += scale * x->offset.fixed;
        to->high += scale * x->offset.fixed;
        for (int i = 0; i < x->nterm; i++)
                add_element(w, to, x->term[i].of, scale * x->term[i].coef);
        return true;
}

/* A quotient or remainder by 16: of the row, or of an index that does not depend on rows. */
static bool add_divided(const RowWalk *w, AccessForm *to, const Index *x, int64_t scale)
{
        const bool quotient = x->op == INDEX_QUOTIENT;
        AccessForm of = {0};
        if (index_is_row(w, x->a)) {
                *(quotient ? &to->tile : &to->ones) += scale;
                return true;
        }
        if (!add_element(w, &of, x->a, 1) || of.step)
                return false;
        to->high += scale * (quotient ? of.high / LANES : LANES - 1);
        return true;
}

static bool add_element(const RowWalk *w, AccessForm *to, const Index *x, int64_t scale)
{
        switch (x->op) {
        case INDEX_SUM: return add_terms(w, to, x, scale);
        case INDEX_LOOP:
                if (x->number != w->row)
                        add_turns_of(w, to, &w->f->loop[x->number], scale, false);
                else
                        to->step += scale;
                return true;
        case INDEX_LANE:
                if (w->lanes)
                        add_turns_of(w, to, w->lanes, scale, w->whole_lanes);
                return w->lanes;
        case INDEX_PLUS: return add_element(w, to, x->a, scale) && add_element(w, to, x->b, scale);
        case INDEX_TIMES: return add_element(w, to, x->a, scale * x->b->offset.fixed);
        case INDEX_QUOTIENT:
        case INDEX_REMAINDER: return add_divided(w, to, x, scale);
        default: return false;
        }
}

bool access_is_by_rows(const Plan *p, const Access *a, int row, SharedRows *to)
{
        const RowWalk w = {p, a->f, a->lanes, a->whole_lanes, row};
        AccessForm l = {.step = a->ldr, .high = a->reach};
        if (!a->at || pointed_buffer(a->buffer) != whole_buffer(a->buffer) || !add_element(&w, &l, a->at, 1))
                return false;
        to->buffer = a->buffer;
        to->whole_tiles = l.tile > 0;
        to->tile = LANES * l.step + l.tile;
        const int64_t apart =
                l.tile > 0 ? to->tile : l.step; /* where the elements before the first row may end */
        if (apart == 0)
                return false;
        to->base = l.low / apart * apart;
        return l.high - to->base + (LANES - 1) * (l.step + l.ones) < to->tile;
}

/* --- accesses of a kernel ------------------------------------------------------------------------------------------ */

static void add_access(Accesses *all, Access a)
{
        GROW(all->arena, all->of, all->n, all->cap);
        all->of[all->n++] = a;
}

/* stores: list the stores, otherwise the loads. */
static void add_accesses(Accesses *all, const Function *f, const StmtList *list, const CodeLoop *lanes,
                         bool stores)
{
        for (int i = 0; i < list->n; i++) {
                const Stmt *s = &list->stmt[i];
                const bool plain = s->op == STMT_LOAD || s->op == STMT_ELEMENT || s->op == STMT_STORE;
                if (s->buffer && (s->op == STMT_STORE) == stores)
                        add_access(all, (Access){f, s->buffer, plain ? s->at : NULL, 0, 0, lanes,
                                                 s->lanes == ALL_LANES});
                if (s->inside)
                        add_accesses(all, f, s->inside, s->op == STMT_LANES ? s->over : lanes, stores);
        }
}

Accesses accesses_of(Arena *arena, const Kernel *k, bool stores)
{
        Accesses all = {.arena = arena};
        const Stmt *s = &own_function(k)->body.stmt[0];
        for (int i = 0; i < k->code->n; i++) {
                const Function *f = k->code->function[i];
                const CodeLoop *lanes =
                        f->role == EPILOGUE || f->role == SCORE ? &f->loop[f->lane_loop] : NULL;
                add_accesses(&all, f, &f->body, lanes, stores);
        }
        if (k->op == K_ATTENTION) {
                const AttentionCall *c = s->call.attention;
                const Operand *o = stores ? &c->out : &c->q;
                add_access(&all, (Access){own_function(k), o->buffer, o->at, stores ? c->out_row : c->q_row,
                                          stores ? (c->heads - 1) * c->out_head + c->v_dim - 1
                                                 : (c->heads - 1) * c->q_head + c->head_dim - 1,
                                          NULL, false});
        }
        if (k->op == K_MATMUL && !stores) {
                const MatmulCall *c = s->call.matmul;
                add_access(&all, (Access){own_function(k), c->x.buffer, c->x.at, c->ldx, k->product.k - 1,
                                          NULL, false});
        }
        return all;
}
