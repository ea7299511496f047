/* Facts of ops that move elements: an element keeps its facts, with other axes and offsets. */
#include "facts_private.h"

#include <string.h>

static const Fact *fact(const Facts *f, const Node *n, int i)
{
        return &f->of[n->in[i]->id];
}

/* Whether a size or an offset contains the growing length. */
static bool is_length(const Facts *f, Dim d)
{
        return d.per[f->time] != 0;
}

/* Maps every axis to itself. */
static void identity_maps(AxisMap *map, int *to)
{
        for (int i = 0; i < AXES; i++) {
                map[i] = axis_map(affine_axis(i));
                to[i] = i;
        }
}

/* --- views --- */

/* Whether only this atom counts through an output axis. */
static bool is_alone(const View *v, const Atom *atom)
{
        for (int i = 0; i < v->natom; i++)
                if (&v->atom[i] != atom && v->atom[i].out == atom->out)
                        return false;
        return true;
}

/* Input axis `axis` as an affine form of output axes; digits of merged axes are only bounded by a range. */
static AxisMap map_of_axis(const Facts *f, const View *v, int axis)
{
        AxisMap map = axis_map(affine_constant(v->offset[axis]));
        for (int i = 0; i < v->natom; i++) {
                const Atom *atom = &v->atom[i];
                if (atom->axis != axis)
                        continue;
                Affine index = affine_axis(atom->out);
                if (is_alone(v, atom) && affine_add(&map.to, atom->stride, &index, &map.to))
                        continue;
                map.high += (dim_bound(f->graph, atom->size) - 1) * atom->stride;
        }
        return map;
}

/* Whether every element shows the same elements of an input axis. */
static bool is_fixed_axis(const View *v, int axis)
{
        for (int i = 0; i < v->natom; i++)
                if (v->atom[i].axis == axis && !dim_is_fixed(v->atom[i].size))
                        return false;
        return true;
}

/* The output axis that counts along a growing input axis in steps of one; NO_AXIS if there is none.  *more: the
 * largest offset by the other digits of that input axis. */
static int growing_out(const Facts *f, const View *v, int axis, int64_t *more)
{
        int out = NO_AXIS;
        *more = 0;
        for (int i = 0; i < v->natom; i++) {
                const Atom *atom = &v->atom[i];
                if (atom->axis != axis)
                        continue;
                if (dim_is_fixed(atom->size)) {
                        *more += (atom->size.fixed - 1) * atom->stride;
                } else if (out < 0 && is_growing(f, atom->size) && atom->stride == 1 && is_alone(v, atom)) {
                        out = atom->out;
                } else {
                        return NO_AXIS;
                }
        }
        return out;
}

static Reach view_reach(const Facts *f, const View *v, const Reach *in)
{
        Reach reach = {.all = in->all};
        for (int i = 0; !reach.all && i < in->n; i++) {
                Read r = in->at[i];
                int64_t more;
                if (r.axis == NO_AXIS) {
                        reach_add(f, &reach, r);
                        continue;
                }
                int out = growing_out(f, v, r.axis, &more);
                Dim offset = v->offset[r.axis];
                if (out == NO_AXIS && !is_fixed_axis(v, r.axis)) {
                        reach.all = true;
                        break;
                }
                r.axis = out;
                r.low = dim_add(r.low, offset);
                r.high = dim_add(dim_add(r.high, offset), dim_fixed(more));
                reach_add(f, &reach, r);
        }
        return reach;
}

/* A stain varies along the output axes that count along the stained input axes. */
static unsigned view_stain(const View *v, unsigned stain)
{
        unsigned result = 0;
        for (int i = 0; i < v->natom; i++)
                if (v->atom[i].axis >= 0 && (stain >> v->atom[i].axis & 1))
                        result |= 1u << v->atom[i].out;
        return result;
}

/* Whether an offset contains the length itself: then the whole sequence decides which element is viewed. */
static bool depends_on_length(const Facts *f, const View *v, const Fact *a, int rank)
{
        for (int axis = 0; axis < rank; axis++)
                if (is_length(f, v->offset[axis]) && !a->constant)
                        return true;
        return false;
}

Fact fact_view(const Facts *f, const Node *n)
{
        const View *v = n->attr.view;
        const Fact *a = fact(f, n, 0);
        AxisMap map[AXES];
        int to[AXES];
        identity_maps(map, to);
        int rank = n->in[0]->type.rank;
        for (int axis = 0; axis < rank; axis++)
                map[axis] = map_of_axis(f, v, axis);
        Fact y = fact_rename(f, a, map, to);
        y.reach = view_reach(f, v, &a->reach);
        if (depends_on_length(f, v, a, rank))
                y.reach.all = true;
        for (Special s = AT_0; s < NSPECIAL; s++)
                y.stain[s] = view_stain(v, a->stain[s]);
        return y;
}

/* --- pads and joins --- */

/* The facts of a, whose first element is now at index `first` of the axis. */
static Fact fact_shifted(const Facts *f, const Fact *a, int axis, Dim first)
{
        AxisMap map[AXES];
        int to[AXES];
        identity_maps(map, to);
        map[axis].to.constant = dim_scale(first, -1);
        Fact y = fact_rename(f, a, map, to);
        for (int i = 0; i < y.reach.n; i++) {
                if (y.reach.at[i].axis != axis)
                        continue;
                y.reach.at[i].low = dim_sub(y.reach.at[i].low, first);
                y.reach.at[i].high = dim_sub(y.reach.at[i].high, first);
        }
        return y;
}

/* index of axis >= first (sign 1), or <= first (sign -1) */
static const Cond *beyond(const Facts *f, int axis, Dim first, int sign)
{
        Affine a = affine_axis(axis), form = affine_constant(dim_scale(first, -sign));
        if (!affine_add(&form, sign, &a, &form))
                return cond_true();
        return cond_term(facts_maker(f), form);
}

/* The join of two facts, each valid where its condition may hold. */
static Fact fact_either(const Facts *f, const Cond *if_a, const Fact *a, const Cond *if_b, const Fact *b)
{
        Fact c = fact_unknown();
        c.reach = (Reach){.n = 0};
        c.unless[AT_0] = if_a;
        c.unless[AT_1] = if_b;
        return fact_where(f, &c, a, b);
}

/* Elements after a growing part exist only once its length is known: they read time up to its end. */
static void read_end(const Facts *f, Reach *reach, int axis, Dim end)
{
        if (!is_length(f, end))
                return;
        Dim rest = end;
        rest.per[f->time] = 0;
        Dim offset = dim_scale(rest, -1);
        if (end.per[f->time] == 1)
                reach_add(f, reach, (Read){axis, false, offset, offset});
        else
                reach->all = true;
}

Fact fact_pad(const Facts *f, const Node *n)
{
        const Attr *attr = &n->attr;
        int axis = attr->axis;
        Dim end = dim_add(attr->before, n->in[0]->type.dim[axis]);
        Fact inner = fact_shifted(f, fact(f, n, 0), axis, attr->before);
        Fact outer = fact_constant(f, attr->value);
        CaseMaker m = facts_maker(f);
        bool front = dim_is(attr->after, 0);
        const Cond *inside = beyond(f, axis, attr->before, 1);
        const Cond *outside = front ? beyond(f, axis, dim_sub(attr->before, dim_fixed(1)), -1) : cond_true();
        if (!is_length(f, end))
                inside = cond_and(m, inside, beyond(f, axis, dim_sub(end, dim_fixed(1)), -1));
        Fact y = fact_either(f, inside, &inner, outside, &outer);
        if (!front)
                read_end(f, &y.reach, axis, end);
        if (is_length(f, attr->before))
                y.reach.all = true;
        return y;
}

/* The parts of a join cover its axis.  So if none of them has a special value, their ranges are no condition. */
static void forget_ranges(const Facts *f, const Node *n, Fact *y)
{
        for (Special v = AT_0; v < NSPECIAL; v++) {
                bool any = false;
                for (int i = 0; i < n->nin; i++)
                        any |= !cond_is_true(fact(f, n, i)->unless[v]);
                if (any)
                        continue;
                y->unless[v] = cond_true();
                y->stain[v] = 0;
        }
}

Fact fact_joined(const Facts *f, const Node *n)
{
        int axis = n->attr.axis;
        CaseMaker m = facts_maker(f);
        Dim first = dim_fixed(0);
        Fact y = fact_unknown();
        for (int i = 0; i < n->nin; i++) {
                Dim end = dim_add(first, n->in[i]->type.dim[axis]);
                Fact part = fact_shifted(f, fact(f, n, i), axis, first);
                if (is_length(f, first) && reach_on(&part.reach, axis))
                        part.reach.all = true;
                const Cond *here = beyond(f, axis, first, 1);
                if (!is_length(f, end))
                        here = cond_and(m, here, beyond(f, axis, dim_sub(end, dim_fixed(1)), -1));
                if (is_length(f, first))
                        here = cond_true();
                y = i == 0 ? fact_either(f, here, &part, cond_false(), &part)
                           : fact_either(f, here, &part, cond_true(), &y);
                if (i + 1 < n->nin)
                        read_end(f, &y.reach, axis, end);
                first = end;
        }
        forget_ranges(f, n, &y);
        return y;
}

/* --- gather --- */

/* The index that a gather reads, clamped at 0, as a condition on the virtual axis `last` of the table's axis:
 * within the bounds of a case, or at 0 if the case is below. */
static const Cond *index_cond(const Facts *f, const Cases *index, int last)
{
        CaseMaker m = facts_maker(f);
        const Cases *j = cases_exact(m, affine_axis(last)), *zero = cases_range(m, 0, 0);
        const Cond *at = cond_and(m, cases_at_most(m, j, index, 0), cases_at_most(m, index, j, 0));
        const Cond *below = cond_and(m, cases_at_most(m, index, zero, -1), cases_at_most(m, j, zero, 0));
        return cond_or(m, at, below);
}

/* The reach of a gather along the growing axis `axis` of its table, at an index that the graph computes. */
static void gather_growing(const Facts *f, const Node *n, int axis, const Read *read, const Cases *index,
                           Reach *reach)
{
        int last = AXES - 1;
        Fact virtual = fact_unknown();
        Dim dim[AXES];
        for (int i = 0; i < AXES; i++)
                dim[i] = i < n->type.rank ? n->type.dim[i] : dim_fixed(1);
        dim[last] = n->in[0]->type.dim[axis];
        virtual.reach = (Reach){.n = 0};
        if (read) {
                virtual.reach.n = 1;
                virtual.reach.at[0] = *read;
                virtual.reach.at[0].axis = last;
        }
        virtual.unless[AT_0] = index_cond(f, index, last);
        Reach more = fold_reach(f, &virtual, dim, AXES, last, AT_0);
        reach_join(f, reach, &more);
}

/* The index tensors broadcast to the first axes of the result; the other axes of the table come after
 * them. */
static Fact index_fact(const Facts *f, const Node *n, int i, int index_rank)
{
        AxisMap map[AXES];
        int to[AXES];
        identity_maps(map, to);
        int shift = index_rank - n->in[i]->type.rank;
        for (int axis = 0; axis < n->in[i]->type.rank; axis++) {
                map[axis] = axis_map(affine_axis(axis + shift));
                to[axis] = axis + shift;
        }
        return fact_rename(f, fact(f, n, i), map, to);
}

Fact fact_gather(const Facts *f, const Node *n)
{
        const Fact *table = fact(f, n, 0);
        const Type *t = &n->in[0]->type;
        int indices = n->nin - 1, index_rank = n->type.rank - (t->rank - indices);
        Fact y = fact_unknown();
        y.reach = (Reach){.all = table->reach.all};
        for (int i = 1; i <= indices; i++) {
                Fact index = index_fact(f, n, i, index_rank);
                reach_join(f, &y.reach, &index.reach);
                if (is_length(f, t->dim[i - 1]) && !table->constant)
                        gather_growing(f, n, i - 1, reach_on(&table->reach, i - 1), index.integer, &y.reach);
        }
        for (int i = 0; i < table->reach.n; i++) {
                Read r = table->reach.at[i];
                if (r.axis >= indices)
                        r.axis += index_rank - indices;
                if (r.axis == NO_AXIS || table->reach.at[i].axis >= indices)
                        reach_add(f, &y.reach, r);
        }
        y.kinds = table->kinds;
        y.exact_zero = table->exact_zero;
        y.constant = table->constant;
        y.value = table->value;
        for (Special v = AT_0; v < NSPECIAL; v++)
                if (cond_is_false(table->unless[v]) && table->stain[v] == 0)
                        y.unless[v] = cond_false();
        if (n->in[0]->op == OP_CONST)
                y.integer = table->integer; /* a range */
        return y;
}
