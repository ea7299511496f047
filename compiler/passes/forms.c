/* Finds the forms in which each node of a causal graph is needed: backwards from the outputs, which need new
 * rows.
 *
 * A contraction over a growing axis needs its operands whole along it; other ops need their inputs in the
 * form in which they are needed themselves. A node becomes state if it is needed whole along its only growing
 * axis, depends on inputs and does not just move the elements of one other node.  So state is the operand of
 * a contraction, before views and after pointwise ops.
 *
 * If a node reads `ahead` rows beyond its own index, its last rows change with new input.  Its state lags by
 * that many rows, and each call computes them again: the node is needed with a border of `ahead` rows before
 * its new rows.  So are its inputs, back to the nodes without such lookahead, whose rows are kept. */
#include "forms_private.h"

#include <string.h>

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

/* Rejects axes that exclude two forms: multiples of time, or fewer elements than time. */
static bool has_forms(const Forms *forms, const Type *t)
{
        for (int i = 0; i < t->rank; i++)
                if (t->dim[i].per[forms->time] != 0 && t->dim[i].per[forms->time] != 1)
                        return false;
        return true;
}

/* time + a number that is never negative: then every row is new exactly once, and may be kept */
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

/* Whether a join has another part before the growing part of its axis. */
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

/* Whether n is written once per call and cannot be computed whole. */
static bool is_fed(const Forms *forms, const Node *n)
{
        const Reach *reach = &forms->facts->of[n->id].reach;
        return reach->all || reach->n > 0 || n->op == OP_CARRY || n->op == OP_RESULT;
}

int64_t rows_ahead(const Forms *forms, const Node *n)
{
        const Reach *reach = &forms->facts->of[n->id].reach;
        int64_t ahead = 0, most = forms->graph->named[forms->time].bound;
        for (int i = 0; i < reach->n; i++) {
                int64_t high = dim_bound(forms->graph, reach->at[i].high);
                ahead = high > ahead ? high : ahead;
        }
        return reach->all || ahead > most ? most : ahead;
}

unsigned column_axes(const Forms *forms, const Type *t)
{
        unsigned growing = growing_axes(forms, t);
        return growing & (growing - 1);
}

/* Whether n is a value that enters or leaves an iteration of a repeat. */
static bool is_handed(const Node *n)
{
        return n->op == OP_CARRY || n->op == OP_RESULT;
}

static const Node *repeat_of(const Node *n)
{
        return n->op == OP_CARRY ? n->body->region->repeat : n->in[0];
}

/* Whether it is an `along` over the growing dimension. */
bool runs_over_time(const Forms *forms, const Node *repeat)
{
        const Region *r = repeat->attr.region;
        return r->along && is_growing_dim(forms, positions_of(forms->graph, r));
}

/* The rows of a value that enters or leaves a repeat have the widest border that is needed of them.  An `along`
 * over the growing dimension takes each row once. */
static FormWay handed_way(const Forms *forms, const Node *n, const Form *form, Form *from)
{
        if (form->border > 0 && runs_over_time(forms, repeat_of(n)))
                return IMPOSSIBLE;
        *from = (Form){.all = form->all, .border = border_of(forms, repeat_of(n), n->attr.index)};
        return from->border == form->border ? BY_OP : BY_SLICE;
}

bool begins_at_past(const Forms *forms, const Node *n, const Atom *atom, const Form *form)
{
        return atom->axis >= 0 && is_growing_dim(forms, atom->size) && !(form->all >> atom->out & 1) &&
               !is_growing_dim(forms, n->in[0]->type.dim[atom->axis]);
}

/* Whether a view with a border would begin before the axis that it shows. */
static bool begins_before(const Forms *forms, const Node *n, const Form *form)
{
        bool before = false;
        for (int i = 0; form->border > 0 && n->op == OP_VIEW && i < n->attr.view->natom; i++)
                before |= begins_at_past(forms, n, &n->attr.view->atom[i], form);
        return before;
}

FormWay form_way(const Forms *forms, const Node *n, const Form *form, Form *from)
{
        unsigned growing = growing_axes(forms, &n->type), whole = whole_axes(forms, n), all = form->all;
        bool one = count_axes(growing) == 1, stacked = false;
        if (!has_forms(forms, &n->type))
                return IMPOSSIBLE;
        if (n->op == OP_RESULT && n->attr.index >= n->in[0]->attr.region->ncarry) {
                whole = column_axes(forms, &n->type);
                stacked = true;
        }
        *from = (Form){.all = all | whole, .border = form->border};
        if (whole & ~all)
                return BY_SLICE;
        if (n->op == OP_VIEW && forms->kept_view && forms->kept_view[n->id] && all == growing && one)
                return BY_STATE;
        if (begins_before(forms, n, form)) {
                *from = (Form){.all = growing};
                return BY_SLICE;
        }
        if (n->op == OP_VIEW || n->op == OP_PAD || (whole && !stacked))
                return BY_OP;
        bool fed = is_fed(forms, n), kept = one && can_be_kept(forms, &n->type);
        /* real values that no input decides are in a table, which has no elements before 0 */
        if (form->border > 0 && one && (fed ? kept && rows_ahead(forms, n) == 0 : n->type.dtype == REAL)) {
                *from = (Form){.all = growing};
                return BY_SLICE;
        }
        if (is_handed(n) && all == whole)
                return handed_way(forms, n, form, from);
        if (all == 0 || !fed)
                return form->border > 0 && (n->op == OP_INPUT || n->op == OP_SCAN) ? IMPOSSIBLE : BY_OP;
        if (all == growing && one && !(forms->by_parts && forms->by_parts[n->id]))
                return kept ? BY_STATE : IMPOSSIBLE;
        return n->op == OP_INPUT || is_handed(n) ? IMPOSSIBLE : BY_OP;
}

/* --- the forms of an op's inputs --- */

/* The axes of the result that belong to input i, aligned at the right; `drop` axes at the right belong to
 * others. */
static unsigned aligned_axes(const Forms *forms, const Type *in, int rank, unsigned all, int drop)
{
        unsigned axes = 0;
        int shift = rank - in->rank;
        for (int axis = 0; axis < in->rank - drop; axis++)
                if (is_growing_dim(forms, in->dim[axis]) && (all >> (axis + shift) & 1))
                        axes |= 1u << axis;
        return axes;
}

/* The number of rows before the new ones that a fold reads, if its condition bounds them by the new rows of
 * other axes. */
static int64_t fold_back(const Forms *forms, const Node *n, const Form *form)
{
        Dim dim[AXES];
        int folded, rank = n->type.rank;
        unsigned all = form->all;
        int64_t back = 0;
        const Cond *c = fold_condition(forms->facts, n, dim, &folded);
        if (n->op == OP_MATMUL && (all >> (rank - 1) & 1))
                all |= 1u << rank;
        for (int i = 0; i < c->n; i++) {
                int64_t least = -1;
                for (int axis = 0; axis < AXES; axis++) {
                        Dim offset;
                        if (axis == folded || (all >> axis & 1) || !is_growing_dim(forms, dim[axis]) ||
                            !clause_below(forms->graph, &c->clause[i], dim, folded, axis, &offset))
                                continue;
                        int64_t rows = further(form->border, dim_scale(offset, -1));
                        if (rows >= 0 && (least < 0 || rows < least))
                                least = rows;
                }
                back = furthest(back, least);
        }
        return back;
}

/* The growing atom of an input axis, and how far its other digits reach back; NULL: no atom, or more than
 * one. */
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
                }
        }
        return found;
}

/* Whether the offset is the position of an `along` over the growing dimension: it runs over new rows. */
static bool is_of_new_rows(const Forms *forms, Dim offset)
{
        for (int i = 0; i < forms->graph->nalong; i++)
                if (offset.per[NAMED_ALONG + i] && is_growing_dim(forms, forms->graph->along[i].count))
                        return true;
        return false;
}

static Form view_input(const Forms *forms, const Node *n, const Form *form)
{
        const View *v = n->attr.view;
        const Type *in = &n->in[0]->type;
        Form wanted = {.border = form->border};
        for (int axis = 0; axis < in->rank; axis++) {
                Dim least;
                if (!is_growing_dim(forms, in->dim[axis]) || is_of_new_rows(forms, v->offset[axis]))
                        continue;
                const Atom *atom = growing_atom(forms, v, axis, &least);
                if (!atom || (form->all >> atom->out & 1)) {
                        int64_t back = atom ? further(form->back, dim_scale(least, -1)) : -1;
                        wanted.all |= 1u << axis;
                        wanted.back = furthest(wanted.back, back);
                }
        }
        return wanted;
}

static Form join_input(const Forms *forms, const Node *n, int i, const Form *form)
{
        Dim before = dim_fixed(0);
        for (int k = 0; k < i; k++)
                before = dim_add(before, n->in[k]->type.dim[n->attr.axis]);
        bool along = is_growing_dim(forms, n->type.dim[n->attr.axis]);
        return (Form){.all = aligned_axes(forms, &n->in[i]->type, n->type.rank, form->all, 0),
                      .border = form->border,
                      .back = along ? further(form->back, before) : form->back};
}

int own_index_axis(const Forms *forms, const Node *gather, int axis)
{
        const Node *index = gather->in[axis + 1];
        const Type *table = &gather->in[0]->type;
        const Fact *fact = &forms->facts->of[index->id];
        const Affine *form = fact->in_blocks ? NULL : cases_form(fact->integer);
        int first = gather->type.rank - (table->rank - (gather->nin - 1)) - index->type.rank, own = -1;
        if (!form || !dim_is(form->constant, 0))
                return -1;
        for (int i = 0; i < index->type.rank; i++) {
                if (form->coef[i] == 0)
                        continue;
                if (form->coef[i] != 1 || own >= 0)
                        return -1;
                own = i + first;
        }
        bool same = own >= 0 && is_growing_dim(forms, table->dim[axis]) &&
                    dim_equal(gather->type.dim[own], table->dim[axis]);
        return same ? own : -1;
}

static Form gather_input(const Forms *forms, const Node *n, int i, const Form *form)
{
        const Type *table = &n->in[0]->type, *in = &n->in[i]->type;
        int indices = n->nin - 1, index_rank = n->type.rank - (table->rank - indices);
        Form wanted = {.border = form->border, .back = form->back};
        if (i > 0) {
                wanted.all = aligned_axes(forms, in, index_rank, form->all, 0);
                return wanted;
        }
        for (int axis = 0; axis < table->rank; axis++) {
                if (!is_growing_dim(forms, table->dim[axis]))
                        continue;
                int out = axis < indices ? own_index_axis(forms, n, axis) : axis - indices + index_rank;
                if (out < 0)
                        wanted.back = -1;
                if (out < 0 || (form->all >> out & 1))
                        wanted.all |= 1u << axis;
        }
        return wanted;
}

static Form matmul_input(const Forms *forms, const Node *n, int i, const Form *form)
{
        const Type *in = &n->in[i]->type;
        int rank = n->type.rank, folded = i == 0 ? in->rank - 1 : in->rank - 2;
        unsigned axes, all = form->all;
        if (i == 0) {
                axes = aligned_axes(forms, in, rank, all, 1);
        } else {
                axes = aligned_axes(forms, in, rank, all, 2);
                if (is_growing_dim(forms, in->dim[in->rank - 1]) && (all >> (rank - 1) & 1))
                        axes |= 1u << (in->rank - 1);
        }
        Form wanted = {.all = axes, .border = form->border, .back = axes ? form->back : 0};
        if (is_growing_dim(forms, in->dim[folded])) {
                wanted.all |= 1u << folded;
                wanted.back = furthest(wanted.back, fold_back(forms, n, form));
        }
        return wanted;
}

static Form fold_input(const Forms *forms, const Node *n, int i, const Form *form)
{
        const Type *in = &n->in[i]->type;
        unsigned axes = aligned_axes(forms, in, n->type.rank, form->all, 0);
        bool rows = n->op == OP_SOFTMAX || n->op == OP_TOP;
        int folded = rows ? in->rank - 1 : n->attr.axis;
        bool is_number = in->rank == 0; /* a sink */
        unsigned fold = !is_number && is_growing_dim(forms, in->dim[folded]) ? 1u << folded : 0;
        Form wanted = {.all = axes | fold, .border = form->border, .back = axes & ~fold ? form->back : 0};
        if (fold)
                wanted.back = furthest(wanted.back, fold_back(forms, n, form));
        return wanted;
}

Form form_of_input(const Forms *forms, const Node *n, int i, const Form *form)
{
        Form wanted = {.border = form->border, .back = form->back};
        switch ((int)n->op) {
        case OP_VIEW: return view_input(forms, n, form);
        case OP_JOIN: return join_input(forms, n, i, form);
        case OP_GATHER: return gather_input(forms, n, i, form);
        case OP_MATMUL: return matmul_input(forms, n, i, form);
        case OP_SUM:
        case OP_MAXOF:
        case OP_ARGMAX:
        case OP_SOFTMAX:
        case OP_TOP: return fold_input(forms, n, i, form);
        case OP_REPEAT: return (Form){.border = border_of(forms, n, i)};
        case OP_RESULT: return (Form){0};
        case OP_PAD:
                if (is_growing_dim(forms, n->type.dim[n->attr.axis]))
                        wanted.back = further(form->back, n->attr.before);
                break;
        default: break;
        }
        wanted.all = aligned_axes(forms, &n->in[i]->type, n->type.rank, form->all, 0);
        return wanted;
}

/* --- needed forms --- */

/* A border has no effect unless an axis begins at it. */
static int64_t border_for(const Forms *forms, const Node *n, unsigned all, int64_t border)
{
        return growing_axes(forms, &n->type) & ~all ? border : 0;
}

Form *form_find(const Forms *forms, const Node *n, unsigned all, int64_t border)
{
        Form *form = forms->of[n->id];
        border = border_for(forms, n, all, border);
        while (form && (form->all != all || form->border != border))
                form = form->next;
        return form;
}

int64_t border_of(const Forms *forms, const Node *repeat, int index)
{
        const int64_t *border = forms->border[repeat->id];
        return border ? border[index] : 0;
}

/* Widens the border of a repeat's value. */
static void forms_widen(Forms *forms, const Node *repeat, int index, int64_t border)
{
        const Region *r = repeat->attr.region;
        if (border <= border_of(forms, repeat, index))
                return;
        if (!forms->border[repeat->id])
                forms->border[repeat->id] = NEW_ARRAY(forms->arena, int64_t, r->ncarry + r->nstack);
        forms->border[repeat->id][index] = border;
        forms->widened = forms->more = true;
}

static Form *forms_want(Forms *forms, const Node *n, Form wanted)
{
        Form *form = form_find(forms, n, wanted.all, wanted.border);
        wanted.border = border_for(forms, n, wanted.all, wanted.border);
        wanted.back = wanted.all ? wanted.back : 0;
        if (!form) {
                form = NEW(forms->arena, Form);
                *form = wanted;
                form->next = forms->of[n->id];
                forms->of[n->id] = form;
                forms->more = true;
        }
        forms->more |= form->back != furthest(form->back, wanted.back);
        form->back = furthest(form->back, wanted.back);
        return form;
}

/* Passes the name of a view that is read whole on to the viewed node; among several, the one nearest to the
 * top. */
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
        case OP_REPEAT:
                return !runs_over_time(forms, n) ||
                       dim_equal(positions_of(forms->graph, n->attr.region), dim_named(forms->time));
        case OP_VIEW: return can_be_viewed(forms, n);
        case OP_PAD: return !is_growing_dim(forms, n->attr.before) && !is_growing_dim(forms, n->attr.after);
        case OP_INDEX: return !is_growing_dim(forms, n->attr.dim);
        default: return true;
        }
}

/* The reason why one of a node's forms is impossible. */
static const char *why_impossible(const Forms *forms, const Node *n)
{
        const char *time = forms->graph->named[forms->time].name;
        if (n->op == OP_REPEAT && !is_fit(forms, n))
                return arena_printf(forms->arena, "its positions are not those of %s, but more", time);
        if (!is_fit(forms, n))
                return arena_printf(forms->arena,
                                    n->op == OP_VIEW ? "where it begins or ends depends on the length of %s"
                                                     : "it depends on the length of %s",
                                    time);
        if (!has_forms(forms, &n->type))
                return arena_printf(forms->arena, "it has an axis of a multiple of %s", time);
        if (along_around(n->body))
                return arena_printf(forms->arena,
                                    "each position of the along over %s would have to keep rows of %s",
                                    along_around(n->body)->name, time);
        if (!can_be_kept(forms, &n->type))
                return arena_printf(
                        forms->arena,
                        "it has fewer elements than %s, so that a new position need not bring one", time);
        if (count_axes(growing_axes(forms, &n->type)) < 2)
                return "it reads rows that have not been computed yet";
        return arena_printf(forms->arena, "it has several axes of %s and is read as a whole", time);
}

static void stand(Forms *forms, const Node *n)
{
        forms->stuck = n;
        forms->why_stuck = why_impossible(forms, n);
}

static void want_inputs(Forms *forms, const Node *n, const Form *form)
{
        for (int i = 0; i < n->nin; i++) {
                Form *in = forms_want(forms, n->in[i], form_of_input(forms, n, i, form));
                if (n->op == OP_VIEW && in->all)
                        pass_name(n, form, in);
        }
}

static void want_for(Forms *forms, const Node *n, const Form *form)
{
        Form from;
        FormWay way = is_fit(forms, n) ? form_way(forms, n, form, &from) : IMPOSSIBLE;
        if (is_handed(n) && way == BY_SLICE && from.all == form->all) {
                forms_widen(forms, repeat_of(n), n->attr.index, form->border);
                way = form_way(forms, n, form, &from);
        }
        if ((way == BY_STATE || n->op == OP_SCAN) && along_around(n->body))
                way = IMPOSSIBLE; /* the positions of an `along` have one slot together */
        switch (way) {
        case BY_OP: want_inputs(forms, n, form); break;
        case BY_STATE: forms_want(forms, n, (Form){.border = rows_ahead(forms, n)}); break;
        case BY_SLICE:
                from.back = furthest(form->all ? form->back : 0, form->border);
                forms_want(forms, n, from);
                break;
        case IMPOSSIBLE: stand(forms, n); break;
        }
}

static void want_body(Forms *forms, const Body *body);

/* The form in which a value leaves a repeat or the model. */
static Form form_leaving(const Forms *forms, const Node *n, int64_t border)
{
        unsigned columns = column_axes(forms, &n->type);
        return (Form){.all = columns, .border = border, .back = columns ? -1 : 0};
}

static void want_bodies(Forms *forms, const Node *n)
{
        const Region *r = n->attr.region;
        for (int k = 0; k < r->nbody; k++) {
                for (int i = 0; i < r->ncarry; i++)
                        forms_want(forms, r->body[k]->next[i], (Form){.border = border_of(forms, n, i)});
                for (int i = 0; i < r->nstack; i++) {
                        const Node *each = r->body[k]->stack[i];
                        forms_want(forms, each,
                                   form_leaving(forms, each, border_of(forms, n, r->ncarry + i)));
                }
                want_body(forms, r->body[k]);
        }
}

/* Repeats until carried values are as wide as every iteration needs them.  Their use within the repeat may be
 * limited to new rows. */
static void want_repeat(Forms *forms, const Node *n)
{
        bool before = forms->widened;
        do {
                forms->widened = false;
                want_bodies(forms, n);
                before |= forms->widened;
        } while (forms->widened);
        forms->widened = before;
}

/* Backwards, so that the forms needed by all users of a node are known. */
static void want_body(Forms *forms, const Body *body)
{
        for (int i = body->nnode - 1; i >= 0; i--) {
                const Node *n = body->node[i];
                if (forms->of[n->id] && n->op == OP_REPEAT)
                        want_repeat(forms, n);
                do { /* until a form needs no other form of the same node */
                        forms->more = false;
                        for (const Form *form = forms->of[n->id]; form; form = form->next)
                                want_for(forms, n, form);
                } while (forms->more);
        }
}

static void want_outputs(Forms *forms)
{
        const Graph *g = forms->graph;
        for (int i = 0; i < g->noutput; i++) {
                forms_want(forms, g->output[i].node, form_leaving(forms, g->output[i].node, 0));
                if (!can_be_kept(forms, &g->output[i].node->type))
                        stand(forms, g->output[i].node);
        }
        want_body(forms, g->top);
}

static void want_anew(Forms *forms)
{
        const Graph *g = forms->graph;
        memset(forms->of, 0, (size_t)g->nnode * sizeof *forms->of);
        memset(forms->border, 0, (size_t)g->nnode * sizeof *forms->border);
        want_outputs(forms);
}

Forms *forms_wanted(Arena *scratch, GraphFacts *facts)
{
        const Graph *g = facts->graph;
        Forms *forms = NEW(scratch, Forms);
        *forms = (Forms){.arena = scratch, .graph = g, .time = facts->time};
        forms->facts = facts_under(facts, FINITE_VALUES);
        forms->of = NEW_ARRAY(scratch, Form *, g->nnode);
        forms->border = NEW_ARRAY(scratch, int64_t *, g->nnode);
        want_outputs(forms);
        if (!forms->stuck && choose_views(forms))
                want_anew(forms);
        if (!forms->stuck && choose_parts(forms))
                want_anew(forms);
        return forms;
}
