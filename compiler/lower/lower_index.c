/* The offset of an element of a kernel's expression in its buffer, as an index of Code. */
#include "lower_private.h"

static const Index *loop_index(const Lower *l, int loop)
{
        const bool lane = loop == l->lane;
        return index_leaf(l->arena, lane ? INDEX_LANE : INDEX_LOOP, lane ? 0 : loop);
}

const Index *affine_index(const Lower *l, Dim offset, const int64_t *coef, bool with_lane)
{
        Index *x = (Index *)index_size(l->arena, offset);
        int n = 0;
        for (int i = 0; i < l->domain.n; i++)
                n += coef[i] && (i != l->lane || with_lane);
        Term *term = NEW_ARRAY(l->arena, Term, n + 1);
        for (int i = 0; i < l->domain.n; i++)
                if (coef[i] && (i != l->lane || with_lane))
                        term[x->nterm++] = (Term){coef[i], loop_index(l, i)};
        x->term = term;
        return x;
}

/* A size that depends on the positions of a call, for all positions of the caller's call. */
static const Index *rows_of_whole(Arena *a, Dim d, int time)
{
        Dim rest = d;
        rest.per[time] = 0;
        const Index *whole = index_leaf(a, INDEX_WHOLE, 0);
        return dim_is(rest, 0) ? whole : index_two(a, INDEX_PLUS, whole, index_size(a, rest));
}

/* The row-major index in a tensor whose strides depend on the call; positions count from the first of the
 * caller's call. */
static const Index *dense_index(const Lower *l, const Address *at, bool with_lane)
{
        const Graph *g = l->plan->graph;
        Arena *a = l->arena;
        const Index *whole = index_leaf(a, INDEX_WHOLE, 0), *done = index_leaf(a, INDEX_DONE, 0), *e = NULL;
        for (int i = 0; i < at->map.rank; i++) {
                const Index *x = affine_index(l, at->map.axis[i].offset, at->map.axis[i].coef, with_lane);
                Dim d = at->type->dim[i];
                bool columns = g->past >= 0 && d.per[g->time] == 1 && d.per[g->past] == 1;
                bool rows = g->past >= 0 && d.per[g->time] == 1 && d.per[g->past] == 0;
                const Index *size = rows ? rows_of_whole(a, d, g->time) : index_size(a, d);
                if (columns) {
                        size = index_two(a, INDEX_MINUS, size, index_size(a, dim_named(g->time)));
                        size = index_two(a, INDEX_MINUS, size, done);
                        size = index_two(a, INDEX_PLUS, size, whole);
                }
                if (rows)
                        x = index_two(a, INDEX_PLUS, x, done);
                e = e ? index_two(a, INDEX_PLUS, index_two(a, INDEX_TIMES, e, size), x) : x;
        }
        return e;
}

bool lane_step(const Lower *l, const Address *at, int64_t *step)
{
        *step = at->coef[l->lane];
        if (!at->dense)
                return !at->tiled || at->tile_index.coef[l->lane] == 0;
        for (int a = 0; a < at->map.rank - 1; a++)
                if (at->map.axis[a].coef[l->lane])
                        return false;
        *step = at->map.axis[at->map.rank - 1].coef[l->lane];
        return true;
}

const Index *tiled_index(Arena *a, const Index *base, const Index *x, int64_t tile)
{
        const Index *lanes = index_number(a, LANES);
        const Index *outer =
                index_two(a, INDEX_TIMES, index_two(a, INDEX_QUOTIENT, x, lanes), index_number(a, tile));
        return index_two(a, INDEX_PLUS, index_two(a, INDEX_PLUS, base, outer),
                         index_two(a, INDEX_REMAINDER, x, lanes));
}

const Index *address_index(const Lower *l, const Address *at, bool with_lane)
{
        if (at->dense)
                return dense_index(l, at, with_lane);
        const Index *flat = affine_index(l, at->offset, at->coef, with_lane);
        if (!at->tiled)
                return flat;
        const Index *x = affine_index(l, at->tile_index.offset, at->tile_index.coef, with_lane);
        if (at->paged)
                x = index_two(l->arena, INDEX_HELD, x, NULL);
        if (!at->apart)
                return tiled_index(l->arena, flat, x, at->tile);
        x = index_two(l->arena, INDEX_TIMES, x, index_number(l->arena, at->apart));
        return index_two(l->arena, INDEX_PLUS, flat, x);
}

/* The buffer whose pointer serves b: the whole, or a part with its own slots or place in a ring. */
Buffer *pointed_buffer(Buffer *b)
{
        while (b->part_of && !b->ring && b->slots == b->part_of->slots && b->region == b->part_of->region)
                b = b->part_of;
        return b;
}

void names_buffer(Lower *l, Buffer *b)
{
        Function *f = l->function;
        b = pointed_buffer(b);
        for (int i = 0; i < f->npointer; i++)
                if (f->pointer[i] == b)
                        return;
        GROW(l->arena, f->pointer, f->npointer, f->cap_pointer);
        f->pointer[f->npointer++] = b;
}
