/* A causal sum whose decays data decide, as an `along`.
 *
 *      y = (mask * exp(R - C') * (q @ k')) @ v        S = exp(R[t] - R[t - 1]) * S + k[t]' @ (exp(R[t] - C[t]) * v[t])
 *                                                     y[t] = q[t] @ S
 *
 * The exponent is a sum: R is the sum of its terms that vary by row, -C that of its terms that vary by column.  In a difference
 * of running sums R = C.  A stabilised exponent has more terms, such as the gates of the columns and the maximum so far.
 *
 * The product of the decays from s to t is exp(R[t] - R[s]) for any R.  If R grew, it could be infinite although the formula
 * is finite.  So each term of R is proved not to grow; otherwise the formula stays.  The step R[t] - R[t - 1] is
 *
 *      of a running sum of numbers <= 0          the summand: the difference of two large sums would lose its digits
 *      of a running maximum that is subtracted   the difference
 *      of a term without a row                   0
 *      of these times, or divided by, a number of each head whose sign is known: the same, scaled */
#include "recur_private.h"

#include <math.h>
#include <string.h>

/* --- the exponent's terms --- */

/* x[.., t - 1, ..] at position t, x [.., time, n], and -inf before: no position is before the first one. */
static Node *row_before(RecurMatch *m, Node *x)
{
        Graph *g = m->r->g;
        Diag diag = {.arena = g->arena};
        Attr attr = {.axis = x->type.rank - 2, .before = dim_fixed(1), .value = -INFINITY, .slot = -1};
        x = build(g, m->at, &diag, OP_PAD, 1, &x, &attr, m->root->span, m->root->where);
        return view_slice(g, m->at, x, attr.axis, dim_fixed(0), dim_named(m->r->time), m->root->span,
                          m->root->where);
}

/* The summand of `along t : time { g = g + x[t]; return g }`, as stacked over the positions, or NULL. */
static Node *summand_of_along(RecurMatch *m, const Node *result)
{
        const Region *region = result->in[0]->attr.region;
        const int index = result->attr.index - region->ncarry;
        if (index < 0)
                return NULL;
        const Body *body = region->body[0];
        const Node *sum = body->stack[index];
        for (int i = 0; sum->op == OP_ADD && i < 2; i++) {
                const Node *carry = sum->in[i], *piece = sum->in[1 - i];
                if (carry->op != OP_CARRY || carry->body != body || body->next[carry->attr.index] != sum ||
                    piece->op != OP_VIEW || !type_equal(&piece->type, &sum->type))
                        continue;
                /* the piece at the position of an axis, of which a repeat has none: that axis becomes the outermost */
                const Node *x = piece->in[0];
                int axis = -1, natom = 0;
                View view = *piece->attr.view;
                for (int a = 0; a < x->type.rank; a++)
                        if (dim_equal(view.offset[a], dim_named(NAMED_ALONG + region->along - 1)))
                                axis = a;
                if (axis < 0 || x->body != result->body || view.natom == MAX_ATOM)
                        return NULL;
                view.offset[axis] = dim_fixed(0);
                View all = view;
                all.atom[natom++] =
                        (Atom){.size = dim_named(m->r->time), .out = 0, .axis = axis, .stride = 1};
                for (int k = 0; k < view.natom; k++) {
                        all.atom[natom] = view.atom[k];
                        all.atom[natom++].out++;
                }
                all.natom = natom;
                return view_apply(m->r->g, m->at, (Node *)x, &all, piece->type.rank + 1, m->root->span,
                                  m->root->where);
        }
        return NULL;
}

/* The difference of n at a position, its index of `axis`, and at the one before it, if n does not grow; negative: if it does
 * not shrink. */
static Node *term_step(RecurMatch *m, Node *n, int axis, bool negative);

/* A running sum's: its summand, if that is at most 0; negative: at least 0. */
static Node *step_of_sum(RecurMatch *m, Node *summand, bool negative)
{
        RealBounds b = recur_bounds(m->r, summand);
        return (negative ? b.low >= 0 : b.high <= 0) ? summand : NULL;
}

/* Whether n is the same at all positions: neither data nor the position itself decide it. */
static bool is_one_number(const RecurMatch *m, const Node *n)
{
        bool one = is_still(m, n);
        for (int axis = 0; axis < n->type.rank; axis++)
                one = one && !dim_equal(n->type.dim[axis], dim_named(m->r->time));
        return one;
}

static Node *step_of_scaled(RecurMatch *m, Node *n, int axis, bool negative)
{
        for (int i = 0; i < (n->op == OP_MUL ? 2 : 1); i++) {
                Node *by = n->in[1 - i];
                if (!is_one_number(m, by))
                        continue;
                RealBounds b = recur_bounds(m->r, by);
                if (b.low < 0 && b.high > 0)
                        return recur_refuse(m, "the sign of its exponent is not known");
                Node *x = term_step(m, n->in[i], axis - n->type.rank + n->in[i]->type.rank,
                                    negative != (b.low < 0));
                return recur_node(m, n->op, x, by);
        }
        return NULL;
}

/* A view's: it may show one position in all rows. */
static Node *step_of_view(RecurMatch *m, const Node *n, int axis, bool negative)
{
        const View *v = n->attr.view;
        const Atom *atom = v->atom;
        while (atom->out != axis)
                atom++;
        Node *x = atom->axis < 0 ? NULL : term_step(m, n->in[0], atom->axis, negative);
        return x ? view_apply(m->r->g, m->at, x, v, n->type.rank, m->root->span, m->root->where) : NULL;
}

static Node *term_step(RecurMatch *m, Node *n, int axis, bool negative)
{
        Node *x;
        switch ((int)n->op) {
        case OP_VIEW: return step_of_view(m, n, axis, negative);
        case OP_NEG: return recur_node(m, OP_NEG, term_step(m, n->in[0], axis, !negative), NULL);
        case OP_MUL:
        case OP_DIV: return step_of_scaled(m, n, axis, negative);
        case OP_SCAN:
                if (n->attr.index == SCAN_SUMS && n->nin == 1)
                        return step_of_sum(m, n->in[0], negative);
                return n->attr.index == SCAN_MAXIMA && negative ? recur_node(m, OP_SUB, n, row_before(m, n))
                                                                : NULL;
        case OP_RESULT:
                x = axis == 0 ? summand_of_along(m, n) : NULL; /* the axis of its positions */
                return x ? step_of_sum(m, x, negative) : NULL;
        default: return NULL;
        }
}

/* Adds the terms of n, and removes pairs that cancel. */
static bool add_exponents(RecurMatch *m, FactorList *to, Node *n, bool under)
{
        if (n->op == OP_ADD || n->op == OP_SUB)
                return add_exponents(m, to, n->in[0], under) &&
                       add_exponents(m, to, n->in[1], under != (n->op == OP_SUB));
        if (n->op == OP_NEG)
                return add_exponents(m, to, n->in[0], !under);
        for (int i = 0; i < to->n; i++)
                if (to->at[i].node == n && to->at[i].under != under) {
                        to->at[i] = to->at[--to->n];
                        return true;
                }
        if (to->n == MAX_FACTORS)
                return recur_refuse(m, "it is made of too many parts");
        to->at[to->n++] = (Factor){n, under};
        return true;
}

/* Views of one value that are equal up to leading axes of one element */
static bool are_same(RecurMatch *m, Node *a, Node *b)
{
        int rank = a->type.rank > b->type.rank ? a->type.rank : b->type.rank;
        a = view_rank(m->r->g, m->at, a, rank, m->root->span, m->root->where);
        b = view_rank(m->r->g, m->at, b, rank, m->root->span, m->root->where);
        return a == b || (a->op == OP_VIEW && b->op == OP_VIEW && a->in[0] == b->in[0] &&
                          view_equal(a->attr.view, b->attr.view, a->in[0]->type.rank));
}

/* Whether no element is infinite or NaN by the formula.  A maximum of masked columns alone is: the state would be NaN from
 * that position on, where the formula has a NaN in that row alone. */
static bool is_finite(const RecurMatch *m, const Node *n)
{
        bool finite = n->op == OP_VIEW || n->op == OP_SCAN || op_info[n->op].family == POINT;
        if (n->id < m->r->limit)
                return !may_spoil(m, n, false);
        if (n->op == OP_CONST)
                return isfinite(n->attr.literal->value[0]);
        for (int i = 0; finite && i < n->nin; i++)
                finite = is_finite(m, n->in[i]);
        return finite;
}

static Node *with_exponent(RecurMatch *m, Node *sum, Node *x, bool under)
{
        if (sum)
                return recur_node(m, under ? OP_SUB : OP_ADD, sum, x);
        return under ? recur_node(m, OP_NEG, x, NULL) : x;
}

/* The decays exp(R[t] - R[t - 1]), [.., time, 1] */
static Node *decays_of(RecurMatch *m, const FactorList *rows)
{
        Node *sum = NULL;
        for (int i = 0; i < rows->n; i++) {
                const Factor *f = &rows->at[i];
                if (!varies_along(f->node, 1))
                        continue;
                Node *step = term_step(m, f->node, f->node->type.rank - 2, f->under);
                if (!step)
                        return NULL;
                sum = with_exponent(m, sum, step, f->under);
        }
        return sum ? recur_node(m, OP_EXP, sum, NULL)
                   : recur_refuse(m, "nothing of its exponent belongs to the row");
}

/* exp(R[t] - C[t]); *one: it is 1, since R = C */
static Node *weights_of(RecurMatch *m, const FactorList *rows, FactorList *columns, bool *one)
{
        Node *sum = NULL;
        for (int i = 0; i < rows->n; i++) {
                const Factor *f = &rows->at[i];
                int same = 0;
                while (same < columns->n &&
                       (columns->at[same].under == f->under || !are_same(m, columns->at[same].node, f->node)))
                        same++;
                if (same < columns->n)
                        columns->at[same] = columns->at[--columns->n];
                else
                        sum = with_exponent(m, sum, f->node, f->under);
        }
        for (int i = 0; i < columns->n; i++)
                sum = with_exponent(m, sum, columns->at[i].node, columns->at[i].under);
        *one = !sum;
        return sum ? recur_node(m, OP_EXP, sum, NULL) : NULL;
}

/* --- the along --- */

/* The index of the positions in Graph.along, or -1. */
static int along_of_time(RecurMatch *m)
{
        Graph *g = m->r->g;
        const Dim time = dim_named(m->r->time);
        int depth = 1;
        for (const Region *r = m->at->region; r; r = r->repeat->body->region)
                depth++;
        if (along_around(m->at) || depth > MAX_REGIONS)
                return recur_refuse(m, "it is in too many repeats, or in an along"), -1;
        for (int i = 0; i < g->nalong; i++)
                if (dim_equal(g->along[i].count, time))
                        return i;
        if (g->nalong == MAX_ALONG)
                return recur_refuse(m, "the alongs of the model have too many counts"), -1;
        g->along[g->nalong] = (Along){.name = "t", .count = time};
        return g->nalong++;
}

static Node *step_node(RecurMatch *m, Body *body, Op op, Node *a, Node *b)
{
        Diag diag = {.arena = m->r->g->arena};
        Node *in[] = {a, b};
        return a && b ? build(m->r->g, body, &diag, op, 2, in, NULL, m->root->span, m->root->where) : NULL;
}

/* x[.., t, ..] of x [.., time, n] */
static Node *row_at_position(RecurMatch *m, Body *body, int along, Node *x)
{
        return view_slice(m->r->g, body, x, x->type.rank - 2, dim_named(NAMED_ALONG + along), dim_fixed(1),
                          m->root->span, m->root->where);
}

/* The state's type: leading axes of all, a row for each element of a key */
static Type state_type(const Node *decay, const Node *v, const Node *k)
{
        Type lead = decay->type, other = v->type;
        for (int i = 1; i < 3; i++)
                lead.dim[lead.rank - i] = other.dim[other.rank - i] = dim_fixed(1);
        type_broadcast(&lead, &other, &lead);
        if (k) {
                other = k->type;
                other.dim[other.rank - 1] = other.dim[other.rank - 2] = dim_fixed(1);
                type_broadcast(&lead, &other, &lead);
                lead.dim[lead.rank - 2] = k->type.dim[k->type.rank - 1];
        }
        lead.dim[lead.rank - 1] = v->type.dim[v->type.rank - 1];
        return lead;
}

/* [time, .., 1, n], stacked over the positions -> [.., time, n] */
static Node *positions_inside(RecurMatch *m, Node *y)
{
        Graph *g = m->r->g;
        int perm[MAX_RANK], rank = y ? y->type.rank - 1 : 0;
        y = y ? view_drop(g, m->at, y, rank - 1, m->root->span, m->root->where) : NULL;
        if (!y)
                return NULL;
        for (int i = 0; i < rank; i++)
                perm[i] = i < rank - 2 ? i + 1 : i == rank - 2 ? 0 : rank - 1;
        return view_transpose(g, m->at, y, perm, m->root->span, m->root->where);
}

static Node *along_node(RecurMatch *m, Node *decay, Node *v, Node *q, Node *k)
{
        Graph *g = m->r->g;
        Diag diag = {.arena = g->arena};
        const Type type = state_type(decay, v, k);
        const int along = along_of_time(m);
        if (along < 0)
                return NULL;
        Region *region = NEW(g->arena, Region);
        *region = (Region){.name = g->along[along].name,
                           .iterations = 1,
                           .nbody = 1,
                           .ncarry = 1,
                           .nstack = 1,
                           .along = along + 1};
        region->body_of = NEW_ARRAY(g->arena, uint8_t, 1);
        region->body = NEW_ARRAY(g->arena, Body *, 1);
        Body *body = region->body[0] = body_new(g, region);
        Node *start = view_broadcast(g, m->at, recur_number(m, 0), &type, m->root->span, m->root->where);
        Node *state =
                node_new(g, body, OP_CARRY, 0, NULL, (Attr){.slot = -1}, type, m->root->span, m->root->where);
        state->name = m->root->name ? m->root->name : "sum";
        Node *written = row_at_position(m, body, along, v);
        if (k) {
                Body *outside = m->at;
                m->at = body;
                written = step_node(m, body, OP_MATMUL, recur_turned(m, row_at_position(m, body, along, k)),
                                    written);
                m->at = outside;
        }
        state = step_node(m, body, OP_ADD,
                          step_node(m, body, OP_MUL, row_at_position(m, body, along, decay), state), written);
        Node *read = q ? step_node(m, body, OP_MATMUL, row_at_position(m, body, along, q), state) : state;
        if (!read)
                return recur_refuse(m, "its state can't be made");
        body->next = NEW_ARRAY(g->arena, Node *, 1);
        body->stack = NEW_ARRAY(g->arena, Node *, 1);
        body->next[0] = state;
        body->stack[0] = read;
        region->repeat = build(g, m->at, &diag, OP_REPEAT, 1, &start, &(Attr){.region = region, .slot = -1},
                               m->root->span, m->root->where);
        return positions_inside(m, build(g, m->at, &diag, OP_RESULT, 1, &region->repeat,
                                         &(Attr){.index = 1, .slot = -1}, m->root->span, m->root->where));
}

Node *recur_along(RecurMatch *m, Node *v, Node *q, Node *k)
{
        FactorList rows = {.n = 0}, columns = {.n = 0};
        bool one = false;
        if (m->ndecay)
                return recur_refuse(m, "it has decays that data decide, and others");
        for (int i = 0; i < m->row_exponent.n; i++)
                if (!add_exponents(m, &rows, m->row_exponent.at[i].node, m->row_exponent.at[i].under))
                        return NULL;
        for (int i = 0; i < m->col_exponent.n; i++) {
                Node *turned = recur_turned(m, recur_as_real(m, m->col_exponent.at[i].node));
                if (!add_exponents(m, &columns, turned, m->col_exponent.at[i].under))
                        return NULL;
        }
        for (int i = 0; i < rows.n + columns.n; i++)
                if (!is_finite(m, i < rows.n ? rows.at[i].node : columns.at[i - rows.n].node))
                        return recur_refuse(m, "a term of its exponent may be infinite or NaN");
        Node *decay = decays_of(m, &rows), *weight = decay ? weights_of(m, &rows, &columns, &one) : NULL;
        if (!decay)
                return recur_refuse(m, "its exponent is no running sum of what is at most 0, nor a running "
                                       "maximum that is subtracted: it may grow");
        if (!v && one) {
                Type ones = {.dtype = REAL, .rank = 2, .dim = {dim_named(m->r->time), dim_fixed(1)}};
                v = view_broadcast(m->r->g, m->at, recur_number(m, 1), &ones, m->root->span, m->root->where);
        } else if (weight) {
                v = v ? recur_node(m, OP_MUL, weight, v) : weight;
        }
        if (!is_rows(m, v) || (q && !is_rows(m, q)))
                return recur_refuse(m, "its operands are no rows of a fixed width for each position");
        return along_node(m, decay, v, q, k);
}
