/* Which forms of each node a causal graph wants: backwards from the outputs, which want new rows.
 *
 * A contraction over a growing axis wants its operands whole along it; everything else passes on what is wanted of it.
 * A node that is wanted whole along its only growing axis, that depends on inputs and is no mere move of one other node
 * becomes state: so state is what contractions read, before views and after everything pointwise. */
#include "forms.h"

/* --- axes --- */

static bool is_growing_dim(const Forms *forms, Dim d)
{
        return d.per[forms->time] != 0;
}

unsigned growing_axes(const Forms *forms, const Type *t)
{
        unsigned axes = 0;
        for (int i = 0; i < t->rank; i++)
                if (is_growing_dim(forms, t->dim[i]))
                        axes |= 1u << i;
        return axes;
}

static int count_axes(unsigned axes)
{
        int n = 0;
        for (; axes; axes &= axes - 1)
                n++;
        return n;
}

/* Axes that the sizes of a type make unfit for two forms: multiples of time, or fewer elements than time. */
static bool has_forms(const Forms *forms, const Type *t)
{
        for (int i = 0; i < t->rank; i++)
                if (t->dim[i].per[forms->time] != 0 && t->dim[i].per[forms->time] != 1)
                        return false;
        return true;
}

/* time + something that is never negative: then every row is new once, and may be kept */
static bool can_be_kept(const Forms *forms, const Type *t)
{
        for (int i = 0; i < t->rank; i++) {
                Dim rest = t->dim[i];
                rest.per[forms->time] = 0;
                if (is_growing_dim(forms, t->dim[i]) && dim_least(forms->graph, rest) < 0)
                        return false;
        }
        return true;
}

static int64_t furthest(int64_t a, int64_t b)
{
        if (a < 0 || b < 0)
                return -1;
        return a > b ? a : b;
}

static int64_t further(int64_t back, Dim by)
{
        if (back < 0 || !dim_is_fixed(by))
                return -1;
        return back + by.fixed > 0 ? back + by.fixed : 0;
}

int instance_depth(const Instance *where)
{
        int depth = 0;
        for (; where; where = where->outer)
                depth++;
        return depth;
}

/* --- ways --- */

/* Whether in front of the growing part of a join's axis stands something else. */
static bool has_front(const Forms *forms, const Node *n)
{
        return !is_growing_dim(forms, n->in[0]->type.dim[n->attr.axis]);
}

/* Growing axes along which the op can only be computed whole. */
static unsigned whole_axes(const Forms *forms, const Node *n)
{
        unsigned growing = growing_axes(forms, &n->type), axis = 1u << n->attr.axis;
        unsigned last = n->type.rank ? 1u << (n->type.rank - 1) : 0;
        switch ((int)n->op) {
        case OP_PAD: return dim_is(n->attr.before, 0) ? 0 : growing & axis;
        case OP_JOIN: return has_front(forms, n) ? growing & axis : 0;
        case OP_SOFTMAX:
        case OP_TOP: return growing & last;
        default: return 0;
        }
}

/* What is written once a call and cannot be computed whole. */
static bool is_fed(const Forms *forms, const Node *n)
{
        const Reach *reach = &forms->facts->of[n->id].reach;
        return reach->all || reach->n > 0 || n->op == OP_CARRY || n->op == OP_RESULT;
}

unsigned column_axes(const Forms *forms, const Type *t)
{
        unsigned growing = growing_axes(forms, t);
        return growing & (growing - 1);
}

FormWay form_way(const Forms *forms, const Node *n, unsigned all, unsigned *from)
{
        unsigned growing = growing_axes(forms, &n->type), whole = whole_axes(forms, n);
        if (!has_forms(forms, &n->type))
                return IMPOSSIBLE;
        if (n->op == OP_RESULT && n->attr.index >= n->in[0]->attr.region->ncarry)
                whole = column_axes(forms, &n->type);
        if (whole & ~all) {
                *from = all | whole;
                return BY_SLICE;
        }
        if (n->op == OP_RESULT && all == whole)
                return BY_OP;
        if (all == 0 || n->op == OP_VIEW || n->op == OP_PAD || whole || !is_fed(forms, n))
                return BY_OP;
        bool leaf = n->op == OP_INPUT || n->op == OP_CARRY || n->op == OP_RESULT;
        if (all == growing && count_axes(all) == 1)
                return can_be_kept(forms, &n->type) ? BY_STATE : IMPOSSIBLE;
        return leaf ? IMPOSSIBLE : BY_OP;
}

/* --- what an op wants of its inputs --- */

/* Of the axes of the result, those of input i, aligned at the right, `drop` axes from the right being others'. */
static unsigned aligned_axes(const Forms *forms, const Type *in, int rank, unsigned all, int drop)
{
        unsigned axes = 0;
        int shift = rank - in->rank;
        for (int axis = 0; axis < in->rank - drop; axis++)
                if (is_growing_dim(forms, in->dim[axis]) && (all >> (axis + shift) & 1))
                        axes |= 1u << axis;
        return axes;
}

/* How many rows before the new ones a fold reads, as far as its condition says by the new rows of other axes. */
static int64_t fold_back(const Forms *forms, const Node *n, unsigned all)
{
        Dim dim[AXES];
        int folded, rank = n->type.rank;
        int64_t back = 0;
        const Cond *c = fold_condition(forms->facts, n, dim, &folded);
        if (n->op == OP_MATMUL && (all >> (rank - 1) & 1))
                all |= 1u << rank;
        for (int i = 0; i < c->n; i++) {
                int64_t least = -1;
                for (int axis = 0; axis < AXES; axis++) {
                        Dim offset;
                        if (axis == folded || (all >> axis & 1) || !is_growing_dim(forms, dim[axis]) ||
                            !clause_below(forms->graph, &c->clause[i], dim, forms->time, folded, axis,
                                          &offset))
                                continue;
                        int64_t rows = further(0, dim_scale(offset, -1));
                        if (rows >= 0 && (least < 0 || rows < least))
                                least = rows;
                }
                back = furthest(back, least);
        }
        return back;
}

/* The growing atom of an input axis and how far its other digits reach back; NULL: none, or none alone. */
static const Atom *growing_atom(const Forms *forms, const View *v, int axis, Dim *least)
{
        const Atom *found = NULL;
        *least = v->offset[axis];
        for (int i = 0; i < v->natom; i++) {
                const Atom *atom = &v->atom[i];
                if (atom->axis != axis)
                        continue;
                if (is_growing_dim(forms, atom->size)) {
                        if (found || atom->stride != 1)
                                return NULL;
                        found = atom;
                } else if (atom->stride < 0) {
                        least->fixed += (atom->size.fixed - 1) * atom->stride;
                }
        }
        return found;
}

static unsigned view_input(const Forms *forms, const Node *n, unsigned all, int64_t back, int64_t *in_back)
{
        const View *v = n->attr.view;
        const Type *in = &n->in[0]->type;
        unsigned axes = 0;
        *in_back = 0;
        for (int axis = 0; axis < in->rank; axis++) {
                Dim least;
                if (!is_growing_dim(forms, in->dim[axis]))
                        continue;
                const Atom *atom = growing_atom(forms, v, axis, &least);
                if (!atom || (all >> atom->out & 1)) {
                        axes |= 1u << axis;
                        *in_back = furthest(*in_back, atom ? further(back, dim_scale(least, -1)) : -1);
                }
        }
        return axes;
}

static unsigned join_input(const Forms *forms, const Node *n, int i, unsigned all, int64_t back,
                           int64_t *in_back)
{
        Dim before = dim_fixed(0);
        for (int k = 0; k < i; k++)
                before = dim_add(before, n->in[k]->type.dim[n->attr.axis]);
        bool along = is_growing_dim(forms, n->type.dim[n->attr.axis]);
        *in_back = along ? further(back, before) : back;
        return aligned_axes(forms, &n->in[i]->type, n->type.rank, all, 0);
}

static unsigned gather_input(const Forms *forms, const Node *n, int i, unsigned all, int64_t back,
                             int64_t *in_back)
{
        const Type *table = &n->in[0]->type, *in = &n->in[i]->type;
        int indices = n->nin - 1, index_rank = n->type.rank - (table->rank - indices);
        *in_back = back;
        if (i > 0)
                return aligned_axes(forms, in, index_rank, all, 0);
        unsigned axes = 0;
        for (int axis = 0; axis < table->rank; axis++) {
                if (!is_growing_dim(forms, table->dim[axis]))
                        continue;
                if (axis < indices)
                        *in_back = -1;
                if (axis < indices || (all >> (axis - indices + index_rank) & 1))
                        axes |= 1u << axis;
        }
        return axes;
}

static unsigned matmul_input(const Forms *forms, const Node *n, int i, unsigned all, int64_t back,
                             int64_t *in_back)
{
        const Type *in = &n->in[i]->type;
        int rank = n->type.rank, folded = i == 0 ? in->rank - 1 : in->rank - 2;
        unsigned axes;
        if (i == 0) {
                axes = aligned_axes(forms, in, rank, all, 1);
        } else {
                axes = aligned_axes(forms, in, rank, all, 2);
                if (is_growing_dim(forms, in->dim[in->rank - 1]) && (all >> (rank - 1) & 1))
                        axes |= 1u << (in->rank - 1);
        }
        *in_back = axes ? back : 0;
        if (is_growing_dim(forms, in->dim[folded])) {
                axes |= 1u << folded;
                *in_back = furthest(*in_back, fold_back(forms, n, all));
        }
        return axes;
}

static unsigned fold_input(const Forms *forms, const Node *n, int i, unsigned all, int64_t back,
                           int64_t *in_back)
{
        const Type *in = &n->in[i]->type;
        unsigned axes = aligned_axes(forms, in, n->type.rank, all, 0);
        bool rows = n->op == OP_SOFTMAX || n->op == OP_TOP;
        int folded = rows ? in->rank - 1 : n->attr.axis;
        unsigned fold = is_growing_dim(forms, in->dim[folded]) ? 1u << folded : 0;
        *in_back = axes & ~fold ? back : 0;
        if (fold)
                *in_back = furthest(*in_back, fold_back(forms, n, all));
        return axes | fold;
}

unsigned form_of_input(const Forms *forms, const Node *n, int i, unsigned all, int64_t back, int64_t *in_back)
{
        *in_back = back;
        switch ((int)n->op) {
        case OP_VIEW: return view_input(forms, n, all, back, in_back);
        case OP_PAD:
                if (is_growing_dim(forms, n->type.dim[n->attr.axis]))
                        *in_back = further(back, n->attr.before);
                return aligned_axes(forms, &n->in[0]->type, n->type.rank, all, 0);
        case OP_JOIN: return join_input(forms, n, i, all, back, in_back);
        case OP_GATHER: return gather_input(forms, n, i, all, back, in_back);
        case OP_MATMUL: return matmul_input(forms, n, i, all, back, in_back);
        case OP_SUM:
        case OP_MAXOF:
        case OP_ARGMAX:
        case OP_SOFTMAX:
        case OP_TOP: return fold_input(forms, n, i, all, back, in_back);
        case OP_REPEAT:
        case OP_RESULT: return 0;
        default: return aligned_axes(forms, &n->in[i]->type, n->type.rank, all, 0);
        }
}

/* --- wanting --- */

Form *form_find(const Forms *forms, const Node *n, unsigned all)
{
        Form *form = forms->of[n->id];
        while (form && form->all != all)
                form = form->next;
        return form;
}

static Form *want(Forms *forms, const Node *n, unsigned all, int64_t back)
{
        Form *form = form_find(forms, n, all);
        if (!form) {
                form = NEW(forms->arena, Form);
                *form = (Form){.next = forms->of[n->id], .all = all, .back = back};
                forms->of[n->id] = form;
        }
        form->back = furthest(form->back, back);
        return form;
}

/* Passes the name of a view that is read whole on to what it shows; of several, the one nearest to the top. */
static void pass_name(const Node *n, const Form *form, Form *in)
{
        const char *name = form->name;
        const Instance *where = form->where;
        if (n->name && (!name || instance_depth(n->where) <= instance_depth(where))) {
                name = n->name;
                where = n->where;
        }
        if (name && (!in->name || instance_depth(where) < instance_depth(in->where))) {
                in->name = name;
                in->where = where;
        }
}

static bool can_be_viewed(const Forms *forms, const Node *n)
{
        for (int axis = 0; axis < n->in[0]->type.rank; axis++) {
                Dim least;
                if (!is_growing_dim(forms, n->in[0]->type.dim[axis]))
                        continue;
                const Atom *atom = growing_atom(forms, n->attr.view, axis, &least);
                if (is_growing_dim(forms, n->attr.view->offset[axis]) ||
                    (atom && !dim_equal(atom->size, n->type.dim[atom->out])))
                        return false;
        }
        return true;
}

static bool is_fit(const Forms *forms, const Node *n)
{
        switch ((int)n->op) {
        case OP_VIEW: return can_be_viewed(forms, n);
        case OP_PAD: return !is_growing_dim(forms, n->attr.before) && !is_growing_dim(forms, n->attr.after);
        case OP_INDEX: return !is_growing_dim(forms, n->attr.dim);
        default: return true;
        }
}

static void want_inputs(Forms *forms, const Node *n, const Form *form)
{
        for (int i = 0; i < n->nin; i++) {
                int64_t back;
                unsigned all = form_of_input(forms, n, i, form->all, form->back, &back);
                Form *in = want(forms, n->in[i], all, all ? back : 0);
                if (n->op == OP_VIEW && all)
                        pass_name(n, form, in);
        }
}

static void want_for(Forms *forms, const Node *n, const Form *form)
{
        unsigned from = 0;
        switch (is_fit(forms, n) ? form_way(forms, n, form->all, &from) : IMPOSSIBLE) {
        case BY_OP: want_inputs(forms, n, form); break;
        case BY_STATE: want(forms, n, 0, 0); break;
        case BY_SLICE: want(forms, n, from, form->all ? form->back : 0); break;
        case IMPOSSIBLE: forms->stuck = n; break;
        }
}

static void want_body(Forms *forms, const Body *body);

static void want_repeat(Forms *forms, const Node *n)
{
        const Region *r = n->attr.region;
        for (int k = 0; k < r->nbody; k++) {
                for (int i = 0; i < r->ncarry; i++)
                        want(forms, r->body[k]->next[i], 0, 0);
                for (int i = 0; i < r->nstack; i++) {
                        const Node *each = r->body[k]->stack[i];
                        unsigned columns = column_axes(forms, &each->type);
                        want(forms, each, columns, columns ? -1 : 0);
                }
                want_body(forms, r->body[k]);
        }
}

/* Backwards, so that all who use a node have said what they want. */
static void want_body(Forms *forms, const Body *body)
{
        for (int i = body->nnode - 1; i >= 0; i--) {
                const Node *n = body->node[i];
                if (forms->of[n->id] && n->op == OP_REPEAT)
                        want_repeat(forms, n);
                /* what a form wants of its own node comes before it in the list, and is not yet seen */
                for (const Form *done = NULL, *first; (first = forms->of[n->id]) != done; done = first)
                        for (const Form *form = first; form != done; form = form->next)
                                want_for(forms, n, form);
        }
}

Forms *forms_wanted(Arena *scratch, const Graph *g, int time)
{
        Forms *forms = NEW(scratch, Forms);
        *forms = (Forms){.arena = scratch, .graph = g, .time = time};
        forms->facts = facts_of(scratch, g, time);
        forms->of = NEW_ARRAY(scratch, Form *, g->nnode);
        for (int i = 0; i < g->noutput; i++) {
                unsigned columns = column_axes(forms, &g->output[i].node->type);
                want(forms, g->output[i].node, columns, columns ? -1 : 0);
                if (!can_be_kept(forms, &g->output[i].node->type))
                        forms->stuck = g->output[i].node;
        }
        want_body(forms, g->top);
        return forms;
}
