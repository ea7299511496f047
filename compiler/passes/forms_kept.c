/* Chooses the state of a causal graph among the values between a call's new rows and the contractions that
 * read the past.
 *
 *   qkv = x @ W'         [time, 3 d]        read whole only through views k and v: these are kept, 2 d per position, not qkv
 *   k, v = views of it
 *
 *   s = sum of experts   [1, time, d]       a convolution reads its view [time, d]: the view is kept, since it can be a window
 *
 *   J = join(c, r)                          read whole: J is kept, but where its parts are kept anyway, need no state (weights, indices), or
 *                                           repeat a smaller value: then these are, and J is put together in
 *                                           each call
 *
 * Both choices minimise floats per position, views first.  A join that is rebuilt in each call counts as half
 * of its size, for the additional write and read.
 *
 * Before: the forms that are needed if every value but views is kept (forms.c).  After: Forms.kept_view and
 * Forms.by_parts. */
#include "forms_private.h"

static double floats(const Forms *forms, const Node *n)
{
        double count = 1;
        for (int i = 0; i < n->type.rank; i++)
                if (!n->type.dim[i].per[forms->time])
                        count *= (double)dim_bound(forms->graph, n->type.dim[i]);
        return count;
}

/* Whether the node is needed whole along its only growing axis and kept for that. */
static bool is_state(const Forms *forms, const Node *n)
{
        Form from;
        for (const Form *form = forms->of[n->id]; form; form = form->next)
                if (form->all && form_way(forms, n, form, &from) == BY_STATE)
                        return true;
        return false;
}

/* Whether n needs its input i whole. */
static bool wants_whole(const Forms *forms, const Node *n, int i)
{
        Form from;
        for (const Form *form = forms->of[n->id]; form; form = form->next)
                if (form_way(forms, n, form, &from) == BY_OP && form_of_input(forms, n, i, form).all)
                        return true;
        return false;
}

/* A view that shows position i at index i of one axis. */
static bool shows_positions(const Forms *forms, const Node *n)
{
        const View *v = n->attr.view;
        int growing = 0;
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                if (!a->size.per[forms->time])
                        continue;
                if (growing++ || a->axis < 0 || a->stride != 1 || !dim_is(v->offset[a->axis], 0) ||
                    !dim_equal(a->size, n->in[0]->type.dim[a->axis]) ||
                    !dim_equal(a->size, n->type.dim[a->out]))
                        return false;
        }
        return growing == 1;
}

/* The axis of positions in n's type; -1: none. */
static int positions_axis(const Forms *forms, const Node *n)
{
        int axis = n->type.rank - 1;
        while (axis >= 0 && !n->type.dim[axis].per[forms->time])
                axis--;
        return axis;
}

/* Whether a view of n that only pads need whole, as for a convolution, removes the axes of size 1 before the
 * positions.  Of a state with the positions first, a convolution's window is kept (plan/window.c). */
static bool brings_positions_first(const Forms *forms, const Uses *u, const Node *view, const Node *n)
{
        int axis = positions_axis(forms, n);
        for (int i = 0; i < axis; i++)
                if (!dim_is(n->type.dim[i], 1))
                        return false;
        for (int k = 0; k < u->nuser[view->id]; k++) {
                const Node *user = u->user[view->id][k];
                for (int i = 0; i < user->nin; i++)
                        if (user->op != OP_PAD && user->in[i] == view && wants_whole(forms, user, i))
                                return false;
        }
        return axis > 0 && view->type.rank > 1 && positions_axis(forms, view) == 0;
}

/* If only views need a state whole, and together they show less than all of it, the views are kept.  So is the
 * only view if a convolution reads it and it shows all, with the positions first. */
static bool keep_views(Forms *forms, const Uses *u, const Node *n)
{
        double all = 0;
        int views = 0;
        bool only_view = false; /* which a convolution reads */
        if (n->op == OP_CARRY || n->op == OP_RESULT || n->op == OP_INPUT)
                return false;
        for (int k = 0; k < u->nuser[n->id]; k++) {
                const Node *user = u->user[n->id][k];
                bool whole = false;
                for (int i = 0; i < user->nin; i++)
                        whole |= user->in[i] == n && wants_whole(forms, user, i);
                if (!whole)
                        continue;
                if (user->op != OP_VIEW || user->body != n->body || !shows_positions(forms, user))
                        return false;
                all += floats(forms, user);
                only_view = views++ == 0 && brings_positions_first(forms, u, user, n);
        }
        if (!views || (only_view ? all > floats(forms, n) : all >= floats(forms, n)))
                return false;
        for (int k = 0; k < u->nuser[n->id]; k++) {
                const Node *user = u->user[n->id][k];
                forms->kept_view[user->id] |= user->op == OP_VIEW && wants_whole(forms, user, 0);
        }
        return true;
}

/* If its parts are kept at less than half of the join's size, the join is rebuilt in each call. */
static bool keep_parts(Forms *forms, const Uses *u, const Node *join)
{
        (void)u;
        double cost = floats(forms, join) / 2;
        if (join->op != OP_JOIN || join->type.dim[join->attr.axis].per[forms->time])
                return false;
        for (int i = 0; i < join->nin; i++) {
                const Node *base = join->in[i];
                bool known = false;
                while (base->op == OP_VIEW && !forms->kept_view[base->id])
                        base = base->in[0];
                for (int k = 0; k < i; k++)
                        known |= join->in[k] == base;
                const Reach *reach = &forms->facts->of[base->id].reach;
                bool fed = reach->all || reach->n > 0 || base->op == OP_CARRY || base->op == OP_RESULT;
                cost += known || !fed || is_state(forms, base) ? 0 : floats(forms, base);
        }
        return forms->by_parts[join->id] = cost < floats(forms, join);
}

static bool forms_choose(Forms *forms, bool (*keep)(Forms *forms, const Uses *u, const Node *n))
{
        const Uses *u = uses_of(forms->arena, forms->graph);
        bool any = false;
        for (int i = 0; i < u->n; i++)
                if (is_state(forms, u->all[i]))
                        any |= keep(forms, u, u->all[i]);
        return any;
}

bool choose_views(Forms *forms)
{
        forms->kept_view = NEW_ARRAY(forms->arena, bool, forms->graph->nnode);
        return forms_choose(forms, keep_views);
}

bool choose_parts(Forms *forms)
{
        forms->by_parts = NEW_ARRAY(forms->arena, bool, forms->graph->nnode);
        return forms_choose(forms, keep_parts);
}
