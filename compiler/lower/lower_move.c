/* Views without fixed strides: the offset of each element is computed separately.
 *
 *      [16, a] -> [16 * a]        x0 = i0 % a;  x1 = i0 / a;  y[i0] = x[x0 + 5 * x1]
 *
 * For merged axes whose sizes are known only in a call: slow, but correct for every view. */
#include "lower_private.h"

#include <assert.h>

static const Index *index_named(Lower *l, const Index *value)
{
        int x = l->numbers++;
        add_stmt(l, l->row, (Stmt){.op = STMT_INTEGER, .to = x, .at = value});
        return index_leaf(l->arena, INDEX_PLACE, x);
}

static const Index *index_divided(Lower *l, const Index *a, IndexOp op, const Index *by)
{
        return index_named(l, index_two(l->arena, op, a, by));
}

/* sum + factor * index; NULL is 0 */
static const Index *index_sum(const Lower *l, const Index *sum, int64_t factor, const Index *index)
{
        if (!index)
                return sum;
        const Index *term =
                factor == 1 ? index : index_two(l->arena, INDEX_TIMES, index_number(l->arena, factor), index);
        return sum ? index_two(l->arena, INDEX_PLUS, sum, term) : term;
}

static const Index *sum_with_size(const Lower *l, const Index *sum, Dim d)
{
        return dim_is(d, 0) ? sum : index_sum(l, sum, 1, index_size(l->arena, d));
}

/* Whether an atom of the same output axis outside of atom k moves an axis of the input. */
static bool moves_outside(const View *v, int k)
{
        const int out = v->atom[k].out;
        for (k--; k >= 0 && v->atom[k].out == out; k--)
                if (v->atom[k].axis >= 0)
                        return true;
        return false;
}

/* Indices of the view's input, by axis, from those of its output; NULL means 0. */
static void index_through(Lower *l, const View *v, int rank_in, const Index *const *out, const Index **in)
{
        for (int a = 0; a < rank_in; a++)
                in[a] = sum_with_size(l, NULL, v->offset[a]);
        for (int k = v->natom - 1; k >= 0;) {
                int o = v->atom[k].out;
                const Index *rest = out[o];
                for (; k >= 0 && v->atom[k].out == o; k--) {
                        const Atom *atom = &v->atom[k];
                        bool last = k == 0 || v->atom[k - 1].out != o;
                        const Index *size = index_size(l->arena, atom->size);
                        if (atom->axis >= 0)
                                in[atom->axis] = index_sum(
                                        l, in[atom->axis], atom->stride,
                                        last ? rest : index_divided(l, rest, INDEX_REMAINDER, size));
                        if (moves_outside(v, k))
                                rest = index_divided(l, rest, INDEX_QUOTIENT, size);
                }
        }
        for (int a = 0; a < rank_in; a++)
                if (in[a])
                        in[a] = index_named(l, in[a]);
}

/* Address of an element in a buffer. */
static const Index *place_in(Lower *l, const Buffer *b, const Index *const *index)
{
        const Index *sum = b->layout.offset ? index_number(l->arena, b->layout.offset) : NULL;
        const Index *lanes = index_number(l->arena, LANES);
        for (int a = 0; a < b->layout.rank; a++) {
                const Index *i = a == b->shift_axis ? sum_with_size(l, index[a], b->shift) : index[a];
                if (i != index[a])
                        i = index_named(l, i);
                if (a != b->layout.tiled) {
                        sum = index_sum(l, sum, b->layout.stride[a], i);
                } else if (i) {
                        sum = index_sum(l, sum, b->layout.tile, index_divided(l, i, INDEX_QUOTIENT, lanes));
                        sum = index_sum(l, sum, 1, index_divided(l, i, INDEX_REMAINDER, lanes));
                }
        }
        return sum ? sum : index_number(l->arena, 0);
}

Node *lower_move(Plan *p, Kernel *k, Code *code)
{
        Node *n = k->stores.of[0].node;
        Lower l = lower_new(p, k, WHOLE_KERNEL, k->name);
        l.domain = domain_of(p->graph, &n->type);
        l.loops = l.domain.n;
        l.lane = -1;
        const Index *to[MAX_RANK] = {0}, *from[MAX_RANK];
        for (int d = 0; d < l.loops; d++)
                if (!dim_is(l.domain.loop[d].size, 1))
                        to[l.domain.loop[d].axis] = index_leaf(l.arena, INDEX_LOOP, d);
        Node *x = n->in[0];
        index_through(&l, n->attr.view, x->type.rank, to, from);
        Buffer *b = p->of_node.value[x->id], *own = k->stores.of[0].to;
        if (!b || b->dense)
                return x;
        assert(!b->paged && !own->paged); /* only one size, that of positions */
        names_buffer(&l, b);
        names_buffer(&l, own);
        MoveCall *call = NEW(l.arena, MoveCall);
        call->from = (Operand){b, place_in(&l, b, from)};
        call->to = (Operand){own, place_in(&l, own, to)};
        add_stmt(&l, l.row, (Stmt){.op = STMT_MOVE, .call.move = call});
        StmtList *inside = l.row;
        l.row = NEW(l.arena, StmtList);
        add_stmt(&l, l.row, (Stmt){.op = STMT_ROWS, .end = l.loops, .inside = inside});
        close_function(&l);
        add_function(p, code, l.function);
        return NULL;
}
