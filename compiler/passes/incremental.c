/* The state form of a causal graph: a computation on whole sequences becomes calls, which add new rows to the
 * state of past rows.
 *
 *   before                                 after, with `past` rows kept and `time` new ones
 *
 *   x [time, d]                            x [time, d]
 *   q = x Wq                               q = x Wq                       [time, d]
 *   k = x Wk                               k = x Wk                       [time, d]
 *   scores = q k'      [time, time]        K = append(read keys, k)       [past + time, d]
 *   where(col <= row,                      scores = q K'                  [time, past + time]
 *         scores, -inf)                    where(index <= index + past, scores, -inf)
 *   p = softmax                            p = softmax
 *   y = p v            [time, d]           y = p append(read values, v)   [time, d]
 *
 * Every node is made once for each of its needed forms (forms_private.h).  A row's index starts at `past`
 * where its axis holds new rows; a node with state is computed for its new rows, which are appended to the
 * state that was read.  A pad or a join before the growing part of an axis is applied to all rows, and the
 * new ones are sliced off: so a causal convolution keeps and reads only the rows of its taps
 * (StateVar.window).  The state of a node that reads rows beyond its own index lags by as many rows
 * (StateVar.lookahead), and each call computes its last rows again.
 *
 * Masked values have no effect, even if infinite or NaN: an op that requires a guard (facts_private.h)
 * becomes a selection, e (mask) -> where(mask = 0, 0, e mask), and a product skips the terms whose factor is
 * 0.
 *
 * Before: a graph that causal_prove accepts.  After: a new graph; regions, weights and checkpoint entries are
 * copied, and the old graph is unchanged. */
#include <math.h>
#include <string.h>

#include "forms_private.h"

typedef struct {
        const Graph *old;
        Graph *g;
        Forms *forms;
        const OperandGuard *guard; /* [old nnode] */
        Region **region;           /* [old nnode] of a repeat: its region in the new graph */
        Weight **weight;           /* [nweight] copies */
        Node **copy;               /* [old nnode] of checkpoint entries' nodes */
        int cap_state;
} Rewrite;

/* --- sizes in their forms --- */

static Dim whole_dim(const Graph *g, Dim d)
{
        d.per[g->past] += d.per[g->time];
        return d;
}

static Dim in_form(const Graph *g, Dim d, bool all, int64_t border)
{
        if (all)
                return whole_dim(g, d);
        return d.per[g->time] ? dim_add(d, dim_fixed(border)) : d;
}

static Type type_in_form(const Graph *g, const Type *t, const Form *form)
{
        Type type = *t;
        for (int i = 0; i < t->rank; i++)
                type.dim[i] = in_form(g, t->dim[i], form->all >> i & 1, form->border);
        return type;
}

/* --- state --- */

/* The instance's path, a slash, and the name within it; without a path, only the name. */
static const char *instance_node_path(Arena *a, const Instance *where, const char *name)
{
        for (const char *between = "/"; where; where = where->outer, between = ".")
                name = arena_printf(a, "%s%s%s", where->name, between, name);
        return name;
}

static const char *region_path(Arena *a, const Region *r, const char *name)
{
        for (; r; r = r->repeat->body->region)
                name = arena_printf(a, "%s.%s", r->name, name);
        return name;
}

/* The product from which moves and other ops compute n, if n is in a block that is called beside the
 * product's: rotated or normalised keys are still keys. */
static const Node *product_behind(const Rewrite *m, const Node *n)
{
        const Instance *beside = n->where;
        while (n && n->op != OP_MATMUL) {
                const Node *next = NULL;
                for (int i = n->nin - 1; i >= 0; i--)
                        if (m->forms->facts->of[n->in[i]->id].reach.n > 0)
                                next = n->in[i];
                bool reworked = op_info[n->op].family == POINT || op_info[n->op].family == MOVE;
                n = reworked ? next : NULL;
        }
        for (; n && beside; beside = beside->outer)
                if (n->where == beside || (n->where && n->where->outer == beside->outer))
                        return n;
        return n && n->where == beside ? n : NULL;
}

/* The path of a product, by its weight: attn.k/w. */
static const char *weight_path(Arena *a, const Node *product)
{
        const Node *w = base_of(product->in[1]);
        const char *path = w->op == OP_WEIGHT ? w->attr.weight->path : "", *point = strrchr(path, '.');
        return point ? arena_printf(a, "%.*s/%s", (int)(point - path), path, point + 1) : NULL;
}

/* The path of the product that is kept, of another kept node, or of the view through which it is read if that
 * is nearer to the top. */
static const char *state_path(const Rewrite *m, const Node *n, const Form *form)
{
        Arena *a = m->g->arena;
        bool shown = n->op == OP_VIEW && !n->name; /* kept under the name of the node that it views */
        n = shown ? n->in[0] : n;
        const Node *product = product_behind(m, n);
        const char *path = product && n->op != OP_VIEW ? weight_path(a, product) : NULL, *name = form->name;
        const Instance *where = form->where;
        if (path)
                return path;
        if (!name || (n->name && instance_depth(n->where) <= instance_depth(where))) {
                name = n->name ? n->name : op_info[n->op].text;
                where = n->where;
        }
        return region_path(a, n->body->region, instance_node_path(a, where, name));
}

/* Whether the instance of state i keeps no other state, so that its path is enough: attn.k for attn.k/y. */
static bool is_only_one(const Graph *g, int i)
{
        const char *path = g->state[i]->name, *slash = strchr(path, '/');
        size_t part = slash ? (size_t)(slash - path) : 0;
        for (int k = 0; k < g->nstate; k++) {
                const char *other = g->state[k]->name;
                if (strcmp(path, other) && !strncmp(path, other, part) &&
                    (other[part] == '/' || other[part] == '.'))
                        return false;
        }
        return part > 0;
}

static const char *without_slash(Arena *a, const char *path, bool shorten)
{
        char *name = arena_strdup(a, path), *slash = strchr(name, '/');
        if (slash)
                *slash = shorten ? 0 : '.';
        return name;
}

/* Turns paths into names: the instance's if it keeps one state; unique, for bodies that iterations share. */
static void name_states(const Rewrite *m)
{
        Graph *g = m->g;
        const char **name = NEW_ARRAY(m->forms->arena, const char *, g->nstate);
        for (int i = 0; i < g->nstate; i++)
                name[i] = without_slash(g->arena, g->state[i]->name, is_only_one(g, i));
        for (int i = 0; i < g->nstate; i++) {
                int same = 1;
                for (int k = 0; k < i; k++)
                        same += !strcmp(name[i], name[k]);
                g->state[i]->name = same > 1 ? arena_printf(g->arena, "%s_%d", name[i], same) : name[i];
        }
}

static int lowest_axis(unsigned axes)
{
        int axis = 0;
        while (!(axes >> axis & 1))
                axis++;
        return axis;
}

static StateVar *state_named(Rewrite *m, const Node *n, const char *name, Type type)
{
        Graph *g = m->g;
        StateVar *s = NEW(g->arena, StateVar);
        const Region *r = n->body->region;
        s->id = g->nstate;
        s->name = name;
        s->axis = -1;
        s->type = type;
        s->region = r ? m->region[r->repeat->id] : NULL;
        s->slots = iteration_slots(g->arena, n->body, &s->slot_of);
        GROW(g->arena, g->state, g->nstate, m->cap_state);
        g->state[g->nstate++] = s;
        return s;
}

static StateVar *state_new(Rewrite *m, const Node *n, const Form *form, Type type)
{
        return state_named(m, n, state_path(m, n, form), type);
}

/* The state of n, or of n with its last two axes exchanged.  lookahead: its row i is row i - lookahead of n. */
static StateVar *history_new(Rewrite *m, const Node *n, const Form *form, const Type *type, int axis,
                             int64_t lookahead)
{
        StateVar *s = state_new(m, n, form, *type);
        s->axis = axis;
        s->type.dim[axis] = dim_fixed(dim_bound(m->old, type->dim[axis]) + lookahead);
        s->lookahead = lookahead;
        s->window = form->back < 0 ? 0 : form->back - lookahead > 1 ? form->back - lookahead : 1;
        return s;
}

/* --- nodes --- */

static Node *incremental_node(Rewrite *m, Body *body, const Node *n, Form *form);

static Node *node_like(const Rewrite *m, Body *body, const Node *n, Op op, int nin, Node *const *in,
                       Attr attr, Type type)
{
        Node *made = node_new(m->g, body, op, nin, in, attr, type, n->span, n->where);
        made->name = n->name;
        return made;
}

static Node *incremental_turned(Graph *g, Body *body, const Node *n, Node *x)
{
        int perm[MAX_RANK], rank = n->type.rank;
        for (int i = 0; i < rank; i++)
                perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
        return view_transpose(g, body, x, perm, n->span, n->where);
}

/* The state that was read, then the new rows.  For a node that reads beyond its own index the new rows begin
 * `lookahead` rows before `past`: the last rows of the state are not read but computed again.  A view of keys as
 * columns is kept by rows. */
static Node *make_state(Rewrite *m, Body *body, const Node *n, const Form *form)
{
        Graph *g = m->g;
        int64_t lookahead = rows_ahead(m->forms, n);
        Node *rows = incremental_node(m, body, n, form_find(m->forms, n, 0, lookahead));
        Type type = n->type, all = type_in_form(g, &n->type, form);
        int axis = lowest_axis(form->all), last = type.rank - 1;
        bool turns = n->op == OP_VIEW && axis == last && last > 0;
        if (turns) {
                Dim width = type.dim[last - 1];
                type.dim[last - 1] = type.dim[last];
                all.dim[last - 1] = all.dim[last];
                type.dim[last] = all.dim[last] = width;
                rows = incremental_turned(g, body, n, rows);
                axis--;
        }
        StateVar *s = history_new(m, n, form, &type, axis, lookahead);
        Attr attr = {.axis = axis, .state = s, .slot = -1};
        Dim count = all.dim[axis];
        type.dim[axis] = dim_named(g->past);
        all.dim[axis] = dim_add(count, dim_fixed(lookahead));
        Node *in[] = {node_like(m, body, n, OP_READ, 0, NULL, attr, type), rows};
        Node *x = node_like(m, body, n, OP_APPEND, 2, in, attr, all);
        if (lookahead) {
                x = view_slice(g, body, x, axis, dim_fixed(lookahead), count, n->span, n->where);
                x->name = n->name;
        }
        return turns ? incremental_turned(g, body, n, x) : x;
}

/* The last rows of a form with more whole axes, or a wider border.  Zeros before row 0 of a whole axis. */
static Node *make_slice(Rewrite *m, Body *body, const Node *n, const Form *form)
{
        Graph *g = m->g;
        Diag diag = {.arena = g->arena};
        Form from;
        form_way(m->forms, n, form, &from);
        Node *x = incremental_node(m, body, n, form_find(m->forms, n, from.all, from.border));
        unsigned axes = growing_axes(m->forms, &n->type) & ~form->all;
        for (int axis = 0; axis < n->type.rank; axis++) {
                bool was_whole = from.all >> axis & 1;
                if (!(axes >> axis & 1))
                        continue;
                if (was_whole && form->border > 0) {
                        Attr attr = {.axis = axis, .before = dim_fixed(form->border), .slot = -1};
                        x = build(g, body, &diag, OP_PAD, 1, &x, &attr, n->span, n->where);
                }
                Dim first = was_whole ? dim_named(g->past) : dim_fixed(from.border - form->border);
                Dim count = dim_add(n->type.dim[axis], dim_fixed(form->border));
                x = view_slice(g, body, x, axis, first, count, n->span, n->where);
                x->name = n->name;
        }
        return x;
}

static View *view_in_form(const Rewrite *m, const Node *n, const Form *form)
{
        View *v = NEW(m->g->arena, View);
        *v = *n->attr.view;
        for (int i = 0; i < v->natom; i++) {
                Atom *atom = &v->atom[i];
                if (begins_at_past(m->forms, n, atom, form))
                        v->offset[atom->axis].per[m->g->past] += atom->stride;
                atom->size = in_form(m->g, atom->size, form->all >> atom->out & 1, form->border);
        }
        return v;
}

static Attr attr_in_form(const Rewrite *m, const Node *n, const Form *form)
{
        Attr attr = n->attr;
        switch ((int)n->op) {
        case OP_VIEW: attr.view = view_in_form(m, n, form); break;
        case OP_WEIGHT: attr.weight = m->weight[n->attr.weight->id]; break;
        case OP_SIZE:
                for (int i = 0; i < m->g->nalong; i++) /* it counts from the first row of all calls */
                        attr.dim.per[m->g->past] +=
                                attr.dim.per[NAMED_ALONG + i] * m->g->along[i].count.per[m->g->time];
                attr.dim = whole_dim(m->g, attr.dim);
                break;
        case OP_INDEX:
                if (growing_axes(m->forms, &n->type) && !form->all)
                        attr.dim = dim_add(attr.dim, dim_sub(dim_named(m->g->past), dim_fixed(form->border)));
                break;
        default: break;
        }
        return attr;
}

static void incremental_body(Rewrite *m, const Body *from, Body *to);

/* The value in the form in which it leaves a repeat or the model. */
static Node *node_leaving(const Rewrite *m, const Node *n, int64_t border)
{
        return form_find(m->forms, n, column_axes(m->forms, &n->type), border)->made;
}

/* What an `along` over the growing dimension carries is the state from which the next call goes on. */
static StateVar **carried_states(Rewrite *m, const Node *n)
{
        const Region *r = n->attr.region;
        const Body *b = r->body[0];
        StateVar **kept = NEW_ARRAY(m->g->arena, StateVar *, r->ncarry);
        for (int i = 0; i < r->ncarry; i++) {
                const char *name = "carried";
                for (int k = 0; k < b->nnode; k++)
                        if (b->node[k]->op == OP_CARRY && b->node[k]->attr.index == i && b->node[k]->name)
                                name = b->node[k]->name;
                name = region_path(m->g->arena, n->body->region,
                                   instance_node_path(m->g->arena, n->where, name));
                kept[i] = state_named(m, n, name, n->in[i]->type);
        }
        return kept;
}

static Region *make_region(Rewrite *m, const Node *n)
{
        Graph *g = m->g;
        const Region *old = n->attr.region;
        Region *r = NEW(g->arena, Region);
        *r = *old;
        m->region[n->id] = r;
        if (runs_over_time(m->forms, n) && r->ncarry > 0)
                r->kept = carried_states(m, n);
        r->body = NEW_ARRAY(g->arena, Body *, old->nbody);
        for (int k = 0; k < old->nbody; k++) {
                Body *b = r->body[k] = body_new(g, r);
                incremental_body(m, old->body[k], b);
                b->next = NEW_ARRAY(g->arena, Node *, r->ncarry);
                b->stack = NEW_ARRAY(g->arena, Node *, r->nstack);
                for (int i = 0; i < r->ncarry; i++)
                        b->next[i] = form_find(m->forms, old->body[k]->next[i], 0, border_of(m->forms, n, i))
                                             ->made;
                for (int i = 0; i < r->nstack; i++)
                        b->stack[i] = node_leaving(m, old->body[k]->stack[i],
                                                   border_of(m->forms, n, r->ncarry + i));
        }
        return r;
}

static Node *must_build(Rewrite *m, Body *body, const Node *n, Op op, int nin, Node *const *in)
{
        Diag diag = {.arena = m->g->arena};
        return build(m->g, body, &diag, op, nin, in, NULL, n->span, n->where);
}

static Node *number_like(Rewrite *m, Body *body, const Node *n, const Node *like, double value)
{
        DType dtype = like->type.dtype == BOOL ? INT : like->type.dtype;
        return build_number(m->g, body, value, dtype, n->span, n->where);
}

/* Selects the decisive result where an operand has its decisive value, else y. */
static Node *make_guards(Rewrite *m, Body *body, const Node *n, Node *const *in, Node *y)
{
        for (int side = 0; side < 2; side++)
                for (Special v = AT_0; v < NSPECIAL; v++) {
                        double result;
                        if (!(m->guard[n->id].at[side] >> v & 1))
                                continue;
                        special_decides(n->op, side, v, &result);
                        Node *pair[] = {in[side], number_like(m, body, n, in[side], special_value[v])};
                        Node *three[] = {must_build(m, body, n, OP_EQUAL, 2, pair),
                                         number_like(m, body, n, y, result), y};
                        y = must_build(m, body, n, OP_WHERE, 3, three);
                        y->name = n->name;
                }
        return y;
}

/* The operands whose zeros a product skips: see Attr.index. */
static int zeros_passed_over(const Rewrite *m, const Node *n)
{
        const OperandGuard *guard = &m->guard[n->id];
        return (guard->at[0] ? ZEROS_LEFT : 0) | (guard->at[1] ? ZEROS_RIGHT : 0);
}

/* The index along an axis of a gather's result, in its form, that counts from the first row which the table has. */
static Node *own_index(const Rewrite *m, Body *body, const Node *n, int axis, const Form *form)
{
        const Graph *g = m->g;
        int rank = n->type.rank - (n->in[0]->type.rank - (n->nin - 1));
        Type type = {.dtype = INT, .rank = 1, .dim = {in_form(g, n->type.dim[axis], false, form->border)}},
             to = type;
        for (; to.rank < rank - axis; to.rank++)
                to.dim[to.rank] = dim_fixed(1);
        Attr attr = {.dim = dim_fixed(0), .slot = -1};
        Node *index = node_like(m, body, n, OP_INDEX, 0, NULL, attr, type);
        index->name = NULL;
        return view_reshape(m->g, body, index, &to, n->span, n->where);
}

static Node *make_by_op(Rewrite *m, Body *body, const Node *n, const Form *form)
{
        Node *in[256];
        Attr attr = attr_in_form(m, n, form);
        if (n->op == OP_MATMUL)
                attr.index = zeros_passed_over(m, n);
        for (int i = 0; i < n->nin; i++) {
                Form wanted = form_of_input(m->forms, n, i, form);
                in[i] = form_find(m->forms, n->in[i], wanted.all, wanted.border)->made;
        }
        for (int i = 1; n->op == OP_GATHER && i < n->nin; i++) {
                int own = own_index_axis(m->forms, n, i - 1);
                if (own >= 0 && !(form->all >> own & 1))
                        in[i] = own_index(m, body, n, own, form);
        }
        if (n->op == OP_REPEAT)
                attr.region = make_region(m, n);
        if (n->op == OP_SCAN) { /* its new rows continue from the state after the last ones */
                attr.state = state_new(m, n, form, scan_state(n));
                attr.axis = attr.state->axis;
        }
        Node *made = node_like(m, body, n, n->op, n->nin, in, attr, type_in_form(m->g, &n->type, form));
        if (n->op == OP_REPEAT)
                attr.region->repeat = made;
        return n->op == OP_MATMUL || n->op == OP_SCAN ? made : make_guards(m, body, n, in, made);
}

static Node *incremental_node(Rewrite *m, Body *body, const Node *n, Form *form)
{
        Form from;
        if (form->made)
                return form->made;
        switch (form_way(m->forms, n, form, &from)) {
        case BY_OP: form->made = make_by_op(m, body, n, form); break;
        case BY_STATE: form->made = make_state(m, body, n, form); break;
        case BY_SLICE: form->made = make_slice(m, body, n, form); break;
        case IMPOSSIBLE: break; /* rejected before nodes are made */
        }
        return form->made;
}

static void incremental_body(Rewrite *m, const Body *from, Body *to)
{
        for (int i = 0; i < from->nnode; i++)
                for (Form *form = m->forms->of[from->node[i]->id]; form; form = form->next)
                        incremental_node(m, to, from->node[i], form);
}

/* --- parts of the graph other than nodes --- */

static void copy_weights(Rewrite *m)
{
        Graph *g = m->g;
        g->weight = NEW_ARRAY(g->arena, Weight *, g->nweight);
        m->weight = g->weight;
        for (int i = 0; i < g->nweight; i++) {
                g->weight[i] = NEW(g->arena, Weight);
                *g->weight[i] = *m->old->weight[i];
        }
}

/* The weights' regions, after these are made; an unneeded weight belongs to no repeat. */
static void incremental_weights(const Rewrite *m)
{
        for (int i = 0; i < m->g->nweight; i++) {
                Weight *w = m->g->weight[i];
                for (int r = 0; r < w->nregion; r++) {
                        const Region *old = w->region[r];
                        Region *made = old->repeat ? m->region[old->repeat->id] : NULL;
                        if (!made) {
                                made = NEW(m->g->arena, Region);
                                *made = *old;
                                made->repeat = NULL;
                        }
                        w->region[r] = made;
                }
        }
}

/* The expression of a checkpoint entry, which is in no body. */
static Node *copy_tree(Rewrite *m, const Node *n)
{
        if (!n)
                return NULL;
        if (m->copy[n->id])
                return m->copy[n->id];
        Node *copy = m->copy[n->id] = NEW(m->g->arena, Node);
        *copy = *n;
        copy->id = m->g->nnode++;
        copy->body = m->g->top;
        copy->in = NEW_ARRAY(m->g->arena, Node *, n->nin);
        for (int i = 0; i < n->nin; i++)
                copy->in[i] = copy_tree(m, n->in[i]);
        if (n->op == OP_WEIGHT)
                copy->attr.weight = m->weight[n->attr.weight->id];
        return copy;
}

static void copy_entries(Rewrite *m)
{
        Graph *g = m->g;
        m->copy = NEW_ARRAY(g->arena, Node *, m->old->nnode);
        g->entry = NEW_ARRAY(g->arena, CkEntry, g->nentry);
        for (int i = 0; i < g->nentry; i++) {
                g->entry[i] = m->old->entry[i];
                g->entry[i].expr = copy_tree(m, m->old->entry[i].expr);
        }
}

static Graph *graph_like(const Graph *old, int time)
{
        Graph *g = NEW(old->arena, Graph);
        *g = *old;
        g->nnode = 0;
        g->top = body_new(g, NULL);
        g->time = time;
        g->past = g->nnamed++;
        g->named[g->past] =
                (Named){.name = "past", .bound = old->named[time].bound, .span = old->named[time].span};
        g->state = NULL;
        g->nstate = 0;
        g->output = NEW_ARRAY(g->arena, Output, g->noutput);
        memcpy(g->output, old->output, (size_t)g->noutput * sizeof *g->output);
        return g;
}

/* --- columns after the row's position ------------------------------------------------------------------------------ */

/* The known value of elements whose column index is above their row index; false: unknown. */
static bool is_known_later(const Rewrite *m, const Node *n, int row, int column, double *value)
{
        static const Special candidate[] = {AT_MINUS_INF, AT_0};
        const Fact *fact = &m->forms->facts->of[n->id];
        for (int v = 0; v < 2; v++) {
                const Cond *c = fact->unless[candidate[v]];
                bool known = true;
                for (int i = 0; i < c->n && known; i++) {
                        Above above = clause_above(m->old, &c->clause[i], n->type.dim, m->g->time, column);
                        known = above.axis == row && dim_bound(m->old, above.offset) <= 0;
                }
                *value = special_value[candidate[v]];
                if (known)
                        return true;
        }
        return false;
}

/* The index along an axis of n, from `first` on, followed by axes of size 1. */
static Node *index_along(Graph *g, const Node *n, int axis, Dim first)
{
        Type type = {.dtype = INT, .rank = 1, .dim = {n->type.dim[axis]}}, to = type;
        Attr attr = {.dim = first, .slot = -1};
        Node *index = node_new(g, g->top, OP_INDEX, 0, NULL, attr, type, n->span, n->where);
        for (to.rank = 1; to.rank < n->type.rank - axis; to.rank++)
                to.dim[to.rank] = dim_fixed(1);
        return view_reshape(g, g->top, index, &to, n->span, n->where);
}

/* A call of many positions is split into chunks, and the columns after a row's position must not depend on
 * the split: they are set to zero or -inf if that is their known value, else to NaN. */
static void hide_later(const Rewrite *m, const Node *old, Output *o)
{
        Graph *g = m->g;
        Node *n = o->node;
        Diag diag = {.arena = g->arena};
        int row = lowest_axis(growing_axes(m->forms, &old->type)),
            column = lowest_axis(column_axes(m->forms, &old->type));
        if (is_known_later(m, old, row, column, &o->later))
                return;
        o->later = NAN;
        Dim first = dim_named(g->past);
        int64_t front = old->type.dim[row].fixed, extra = old->type.dim[column].fixed;
        first.fixed = extra - front;
        Node *last[] = {index_along(g, n, row, first),
                        build_number(g, g->top, (double)(extra - 1), INT, n->span, n->where)};
        if (front > 0) /* rows before the first position have the columns before it */
                last[0] = build(g, g->top, &diag, OP_MAX, 2, last, NULL, n->span, n->where);
        Node *side[] = {index_along(g, n, column, dim_fixed(0)), last[0]};
        Node *known = build(g, g->top, &diag, OP_LESSEQ, 2, side, NULL, n->span, n->where);
        Node *in[] = {known, n, build_number(g, g->top, NAN, REAL, n->span, n->where)};
        o->node = build(g, g->top, &diag, OP_WHERE, 3, in, NULL, n->span, n->where);
        o->node->name = n->name;
}

static Graph *make_graph(const Graph *old, GraphFacts *facts, Forms *forms)
{
        Rewrite m = {.old = old,
                     .g = graph_like(old, facts->time),
                     .forms = forms,
                     .guard = facts_under(facts, ANY_VALUES)->guard};
        m.region = NEW_ARRAY(forms->arena, Region *, old->nnode);
        copy_weights(&m);
        incremental_body(&m, old->top, m.g->top);
        incremental_weights(&m);
        name_states(&m);
        copy_entries(&m);
        for (int i = 0; i < old->noutput; i++) {
                m.g->output[i].node = node_leaving(&m, old->output[i].node, 0);
                if (column_axes(forms, &old->output[i].node->type))
                        hide_later(&m, old->output[i].node, &m.g->output[i]);
        }
        return m.g;
}

Graph *incremental(Graph *g, GraphFacts *facts, Stuck *stuck)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        *stuck = (Stuck){NULL, NULL};
        Forms *forms = forms_wanted(&scratch, facts);
        Graph *steps = NULL;
        if (forms->stuck)
                *stuck = (Stuck){forms->stuck, arena_strdup(g->arena, forms->why_stuck)};
        else
                steps = make_graph(g, facts, forms);
        arena_free(&scratch);
        return steps;
}
