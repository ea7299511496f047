/* Maps: the access of a kernel to a tensor, as an affine function of its loops.
 *
 * A kernel walks a domain of loops.  Its expression reads other tensors through broadcasts and views; each
 * is one affine map, so every operand has an address: a constant plus a stride per loop.  A view that
 * merges two axes ([h, T, d] -> [T, h*d]) can be walked only by loops that keep the two separate: then the
 * loop over h*d is split in two (a refinement) and the maps are made again.  If no refinement helps (a
 * slice across merged axes), it fails, and the caller gives the operand its own buffer. */
#include "kernels.h"

#include <string.h>

/* The last axis runs in lanes; a loop over a named dimension is outermost, as in buffers. */
Domain domain_of(const Graph *g, const Type *t)
{
        (void)g;
        Domain d = {0};
        for (int named = 1; named >= 0; named--)
                for (int a = 0; a < t->rank - 1; a++)
                        if (!dim_is_fixed(t->dim[a]) == named && !dim_is(t->dim[a], 1))
                                d.loop[d.n++] = (DomainLoop){t->dim[a], a, 1};
        if (t->rank)
                d.loop[d.n++] = (DomainLoop){t->dim[t->rank - 1], t->rank - 1, 1};
        else
                d.loop[d.n++] = (DomainLoop){dim_fixed(1), 0, 1};
        return d;
}

/* Splits loop r.loop of size s into s / r.at and r.at. */
void domain_refine(Domain *d, Refine r)
{
        for (int i = d->n; i > r.loop + 1; i--)
                d->loop[i] = d->loop[i - 1];
        d->n++;
        DomainLoop *outer = &d->loop[r.loop], *inner = outer + 1;
        *inner = (DomainLoop){dim_fixed(r.at), outer->axis, outer->stride};
        outer->stride *= r.at;
        dim_div(outer->size, dim_fixed(r.at), &outer->size);
}

Map map_identity(const Domain *d, const Type *t)
{
        Map m = {.rank = t->rank};
        for (int i = 0; i < d->n; i++)
                if (t->rank && d->loop[i].axis >= 0)
                        m.axis[d->loop[i].axis].coef[i] = d->loop[i].stride;
        return m;
}

Map map_broadcast(const Map *m, const Type *in)
{
        Map r = {.rank = in->rank};
        for (int a = 0; a < in->rank; a++)
                if (!dim_is(in->dim[a], 1))
                        r.axis[a] = m->axis[a + m->rank - in->rank];
        return r;
}

Map map_fold(const Map *m, int axis, int loop)
{
        Map r = *m;
        r.axis[axis] = (AxisIndex){0};
        r.axis[axis].coef[loop] = 1;
        return r;
}

bool map_same(const Map *a, const Map *b)
{
        return a->rank == b->rank && !memcmp(a->axis, b->axis, (size_t)a->rank * sizeof *a->axis);
}

bool map_uses(const Map *m, int loop)
{
        for (int a = 0; a < m->rank; a++)
                if (m->axis[a].coef[loop])
                        return true;
        return false;
}

static void axis_add(AxisIndex *to, const AxisIndex *from, int64_t stride)
{
        to->offset = dim_add(to->offset, dim_scale(from->offset, stride));
        for (int d = 0; d < MAX_LOOPS; d++)
                to->coef[d] += stride * from->coef[d];
}

/* Divides x into outer * size + inner, inner < size. */
static MapResult axis_split(const Domain *d, const AxisIndex *x, int64_t size, AxisIndex *outer,
                            AxisIndex *inner, Refine *refine)
{
        *outer = *inner = (AxisIndex){0};
        int64_t most = x->offset.fixed % size;
        if (x->offset.fixed < 0)
                return MAP_FAIL;
        inner->offset.fixed = most;
        outer->offset.fixed = x->offset.fixed / size;
        for (int i = 0; i < MAX_NAMED; i++) {
                if (x->offset.per[i] % size)
                        return MAP_FAIL;
                outer->offset.per[i] = x->offset.per[i] / size;
        }
        for (int i = 0; i < d->n; i++) {
                int64_t c = x->coef[i];
                Dim n = d->loop[i].size;
                if (c % size == 0) {
                        outer->coef[i] = c / size;
                        continue;
                }
                bool fits = dim_is_fixed(n) && c > 0 && c * (n.fixed - 1) < size;
                if (!fits) {
                        Dim q;
                        if (c <= 0 || size % c || !dim_div(n, dim_fixed(size / c), &q))
                                return MAP_FAIL;
                        *refine = (Refine){i, size / c};
                        return MAP_REFINE;
                }
                inner->coef[i] = c;
                most += c * (n.fixed - 1);
        }
        return most < size ? MAP_OK : MAP_FAIL;
}

MapResult map_view(const Domain *d, const Map *m, const View *v, int in_rank, Map *out, Refine *refine)
{
        *out = (Map){.rank = in_rank};
        for (int a = 0; a < in_rank; a++)
                out->axis[a].offset = v->offset[a];
        for (int o = 0; o < m->rank; o++) {
                AxisIndex rest = m->axis[o];
                int first = 0, last = v->natom - 1;
                while (first < v->natom && v->atom[first].out < o)
                        first++;
                while (last >= 0 && v->atom[last].out > o)
                        last--;
                for (int k = last; k >= first; k--) {
                        const Atom *atom = &v->atom[k];
                        AxisIndex loop = rest;
                        if (k > first) {
                                AxisIndex outer;
                                if (!dim_is_fixed(atom->size))
                                        return MAP_FAIL;
                                MapResult r = axis_split(d, &rest, atom->size.fixed, &outer, &loop, refine);
                                if (r != MAP_OK)
                                        return r;
                                rest = outer;
                        }
                        if (atom->axis >= 0)
                                axis_add(&out->axis[atom->axis], &loop, atom->stride);
                }
        }
        return MAP_OK;
}

static MapResult map_to_buffer(const Plan *p, const Domain *d, const Map *m, Node *n, const Node *unstored,
                               Map *out, Buffer **b, Refine *refine)
{
        *out = *m;
        while (n->op == OP_VIEW && (!p->of_node.value[n->id] || n == unstored)) {
                Map in;
                MapResult r = map_view(d, out, n->attr.view, n->in[0]->type.rank, &in, refine);
                if (r != MAP_OK)
                        return r;
                *out = in;
                n = n->in[0];
        }
        *b = p->of_node.value[n->id];
        return *b ? MAP_OK : MAP_FAIL;
}

Address address_of(const Buffer *b, const Map *m)
{
        Address at = {.offset = dim_fixed(b->layout.offset), .tile = b->layout.tile};
        if (b->dense) {
                at.tiled = at.dense = true;
                at.type = &b->type;
                at.map = *m;
                return at;
        }
        for (int a = 0; a < m->rank; a++) {
                AxisIndex axis = m->axis[a];
                if (a == b->shift_axis)
                        axis.offset = dim_add(axis.offset, b->shift);
                bool paged = b->paged && a == b->shift_axis;
                if (a == b->layout.tiled || paged) {
                        at.tiled = true;
                        at.tile_index = axis;
                        at.paged = paged;
                        at.apart = a == b->layout.tiled ? 0 : b->layout.stride[a];
                        continue;
                }
                at.offset = dim_add(at.offset, dim_scale(axis.offset, b->layout.stride[a]));
                for (int i = 0; i < MAX_LOOPS; i++)
                        at.coef[i] += b->layout.stride[a] * axis.coef[i];
        }
        return at;
}

bool reads_straight(const Buffer *b, const Address *at)
{
        return !at->tiled && b->storage == STORAGE_F32;
}

bool map_operand(const Plan *p, Node *n, Domain *d, Map *m, Node **base)
{
        *d = domain_of(p->graph, &n->type);
        for (;;) {
                Map at = map_identity(d, &n->type), in;
                Node *b = n;
                MapResult r = MAP_OK;
                Refine refine;
                while (r == MAP_OK && b->op == OP_VIEW && !p->of_node.copy[b->id]) {
                        r = map_view(d, &at, b->attr.view, b->in[0]->type.rank, &in, &refine);
                        at = in;
                        b = b->in[0];
                }
                *m = at;
                *base = b;
                if (r == MAP_OK)
                        return true;
                if (r == MAP_FAIL || d->n == MAX_LOOPS)
                        return false;
                domain_refine(d, refine);
        }
}

/* A map after a loop of its domain was split. */
static Map map_cut(const Map *m, Refine r)
{
        Map out = *m;
        for (int a = 0; a < m->rank; a++) {
                int64_t *c = out.axis[a].coef;
                for (int i = MAX_LOOPS - 1; i > r.loop + 1; i--)
                        c[i] = c[i - 1];
                c[r.loop + 1] = m->axis[a].coef[r.loop];
                c[r.loop] = m->axis[a].coef[r.loop] * r.at;
        }
        return out;
}

/* Merges the coefficients of a split loop if it is walked evenly. */
static bool coefs_join(int64_t *c, Refine r)
{
        if (c[r.loop] != c[r.loop + 1] * r.at)
                return false;
        for (int i = r.loop; i + 1 < MAX_LOOPS; i++)
                c[i] = c[i + 1];
        c[MAX_LOOPS - 1] = 0;
        return true;
}

Buffer *whole_buffer(Buffer *b)
{
        while (b && b->part_of)
                b = b->part_of;
        return b;
}

MapResult address_through(const Plan *p, const Domain *d, const Map *m, Node *n, const Node *unstored,
                          Address *at, Buffer **b, Refine *refine)
{
        Domain domain = *d;
        Map from = *m, under;
        Refine cut[MAX_LOOPS];
        int cuts = 0;
        MapResult r;
        while ((r = map_to_buffer(p, &domain, &from, n, unstored, &under, b, &cut[cuts])) == MAP_REFINE) {
                if (domain.n == MAX_LOOPS)
                        return MAP_FAIL;
                domain_refine(&domain, cut[cuts]);
                from = map_cut(&from, cut[cuts++]);
        }
        if (r != MAP_OK)
                return r;
        *at = address_of(*b, &under);
        for (int i = cuts - 1; i >= 0; i--)
                if (at->dense || !coefs_join(at->coef, cut[i]) || !coefs_join(at->tile_index.coef, cut[i])) {
                        *refine = cut[0];
                        return MAP_REFINE;
                }
        return MAP_OK;
}
