/* Absorbs the key and value projections of attention into the query and output side.  The cache then keeps
 * the latent, which all heads share, in place of keys and values.
 *
 *   before                                          after
 *
 *   k = view(c @ W)             [h, S, d]           q2 = q @ W by head      [h, T, r]
 *   s = q @ k'                  [h, T, S]           s = q2 @ c'
 *
 *   k = join(view(c @ W), r)                        q2 = join(q[.., 0..d] @ W by head, q[.., d..])
 *   s = q @ k'                                      s = q2 @ join(c, r)'            all heads share it
 *
 *   y = softmax(s) @ view(c @ V)                    y = (softmax(s) @ c) @ V by head
 *
 * A view between the product and attention (heads, slices, transpositions, repeated heads) is applied to the
 * weight: position axes belong to the latent, the others to the weight.  Only the order of sums changes.
 *
 * Cost.  The latent may be wider than a head, so that each row needs more multiply-adds per past position.
 * All uses of one latent in a body are decided together: keys, values, or both are moved if the state shrinks
 * by a larger factor than the work grows; the best quotient wins.  State that other contractions keep in any
 * case counts before and after.  Only for causal graphs, since others have no state.
 *
 * A bias, a norm or a rotation after the product prevents the move.
 *
 * Before: a verified graph without state.  After: the same answers within rounding. */
#include "absorb_private.h"
#include "simplify_private.h"

#include <inttypes.h>

typedef enum { KEYS, VALUES, SIDES } Side;
enum { MAX_KEPT = 64 };

/* A product whose right operand is read by attention. */
typedef struct {
        Node *product;
        Side side;
        AbsorbParts parts;
        bool can_move;
        int group; /* sites of one body that share latents have the same group */
} CutSite;

typedef struct {
        Graph *g;
        Arena *scratch;
        const Uses *uses;
        int time;
        CutSite *site;
        int n, cap, ngroup;
        const CutSite **moves; /* by id of the product: its site, if it moves; else NULL */
} Moving;

static Node *latent_of(const AbsorbPart *p)
{
        return base_of(p->base->in[0]);
}

/* --- views of a part --------------------------------------------------------------------------------------------- */

/* A draft of a view of the base of a part, or of one of the operands of the product that the base is (`side`;
 * -1: the base). */
typedef struct {
        const AbsorbPart *part;
        int side;
        View view;
        int rank;
} PartView;

static int own_axis(const PartView *v, int axis)
{
        const Node *n = v->part->base;
        if (axis < 0 || v->side < 0)
                return axis;
        const Type *t = &n->in[v->side]->type;
        int own = axis - (n->type.rank - t->rank);
        if (axis >= n->type.rank - 2)
                return axis == n->type.rank - 2 + v->side ? t->rank - 2 + v->side : -1;
        return own >= 0 && dim_equal(t->dim[own], n->type.dim[axis]) ? own : -1;
}

/* Whether the operand's axis counts through the viewed value. */
static bool is_used(const PartView *v, int axis)
{
        for (int i = 0; i < v->part->view.natom; i++)
                if (v->part->view.atom[i].out == axis && own_axis(v, v->part->view.atom[i].axis) >= 0)
                        return true;
        return false;
}

static void add_axis(PartView *v, int axis)
{
        const View *from = &v->part->view;
        bool used = is_used(v, axis);
        for (int i = 0; used && i < from->natom; i++) {
                Atom a = from->atom[i];
                if (a.out != axis)
                        continue;
                a.out = v->rank;
                a.axis = own_axis(v, a.axis);
                v->view.atom[v->view.natom++] = a;
        }
        if (!used)
                v->view.atom[v->view.natom++] = (Atom){dim_fixed(1), v->rank, -1, 0};
        v->rank++;
}

/* The leading axes that count through it, and those between them, with size 1 where they do not. */
static PartView leading_axes(const AbsorbParts *p, const AbsorbPart *part, int side)
{
        PartView v = {.part = part, .side = side};
        int first = 0;
        while (first < p->rank - 2 && !is_used(&v, first))
                first++;
        for (int axis = first; axis < p->rank - 2; axis++)
                add_axis(&v, axis);
        return v;
}

static void add_summed(PartView *v)
{
        const Node *x = v->part->base->in[v->side];
        int axis = v->side ? x->type.rank - 2 : x->type.rank - 1;
        v->view.atom[v->view.natom++] = (Atom){x->type.dim[axis], v->rank++, axis, 1};
}

static Node *apply(Graph *g, const Node *like, PartView *v)
{
        Node *base = v->part->base, *x = v->side < 0 ? base : base->in[v->side];
        for (int a = 0; a < base->type.rank; a++)
                if (own_axis(v, a) >= 0)
                        v->view.offset[own_axis(v, a)] = v->part->view.offset[a];
        return view_apply(g, like->body, x, &v->view, v->rank, like->span, like->where);
}

/* The kept value of a part, [.., S, width]; of a part that moves, the latent. */
static Node *kept_of(Graph *g, const Node *like, const AbsorbParts *p, const AbsorbPart *part)
{
        PartView v = leading_axes(p, part, part->moves ? 0 : -1);
        add_axis(&v, p->along);
        if (part->moves)
                add_summed(&v);
        else
                add_axis(&v, p->wide);
        return apply(g, like, &v);
}

/* The weight of a part that moves: for keys [.., width, latent's], for values [.., latent's, width]. */
static Node *part_weight(Graph *g, const Node *like, const AbsorbParts *p, const AbsorbPart *part, Side side)
{
        PartView v = leading_axes(p, part, 1);
        if (side == KEYS)
                add_axis(&v, p->wide);
        add_summed(&v);
        if (side == VALUES)
                add_axis(&v, p->wide);
        return apply(g, like, &v);
}

/* --- the rewrite ------------------------------------------------------------------------------------------------- */

static Node *as_wide_as(Graph *g, const Node *like, Node *x)
{
        return type_equal(&x->type, &like->type)
                       ? x
                       : view_broadcast(g, like->body, x, &like->type, like->span, like->where);
}

/* x with the leading axes of n. */
static Node *with_axes_of(Graph *g, const Node *n, Node *x)
{
        Type t = n->type;
        t.dim[t.rank - 1] = x->type.dim[x->type.rank - 1];
        return type_equal(&x->type, &t) ? x : view_broadcast(g, n->body, x, &t, n->span, n->where);
}

static Node *move_keys(Graph *g, const Node *n, const AbsorbParts *p)
{
        Node *query[MAX_ABSORB_PARTS], *key[MAX_ABSORB_PARTS];
        int64_t at = 0;
        for (int i = 0; i < p->n; i++) {
                const AbsorbPart *part = &p->part[i];
                query[i] = slice_last(g, n->body, n->in[0], at, part->width.fixed, n);
                at += part->width.fixed;
                if (part->moves)
                        query[i] = op_like(g, n, OP_MATMUL, query[i], part_weight(g, n, p, part, KEYS));
                key[i] = kept_of(g, n, p, part);
        }
        for (int i = 0; i < p->n; i++)
                if (p->n > 1 || query[i]->type.rank < n->type.rank)
                        query[i] = with_axes_of(g, n, query[i]);
        Node *keys = turn_last(g, n->body, join_last(g, n->body, key, p->n, n), n);
        return as_wide_as(g, n, op_like(g, n, OP_MATMUL, join_last(g, n->body, query, p->n, n), keys));
}

static Node *move_values(Graph *g, const Node *n, const AbsorbParts *p)
{
        Node *weighed = op_like(g, n, OP_MATMUL, n->in[0], kept_of(g, n, p, p->part));
        return as_wide_as(g, n, op_like(g, n, OP_MATMUL, weighed, part_weight(g, n, p, p->part, VALUES)));
}

static bool read_parts(AbsorbParts *p, Arena *a, const Node *n, Side side)
{
        int rank = n->in[1]->type.rank;
        return operand_parts(p, a, n->in[1], side == KEYS ? rank - 2 : rank - 1,
                             side == KEYS ? rank - 1 : rank - 2);
}

static Node *move_product(const void *of, Node *n)
{
        const Moving *m = of;
        const CutSite *s = n->op == OP_MATMUL ? m->moves[n->id] : NULL;
        AbsorbParts p;
        if (!s)
                return n;
        read_parts(&p, m->scratch, n, s->side);
        for (int i = 0; i < p.n; i++) /* a moved part is now a different product */
                p.part[i].moves = s->parts.part[i].moves;
        return s->side == KEYS ? move_keys(m->g, n, &p) : move_values(m->g, n, &p);
}

/* --- movable products -------------------------------------------------------------------------------------------- */

/* Whether a joined key can be made of the kept values of its parts: they have the same leading axes. */
static bool parts_agree(const AbsorbParts *p)
{
        for (int i = 1; i < p->n; i++)
                for (int axis = 0; axis < p->rank - 2; axis++) {
                        PartView one = {.part = &p->part[0], .side = p->part[0].moves ? 0 : -1},
                                 other = {.part = &p->part[i], .side = p->part[i].moves ? 0 : -1};
                        if (is_used(&one, axis) != is_used(&other, axis))
                                return false;
                }
        return true;
}

static bool site_can_move(const Moving *m, const CutSite *s)
{
        bool any = false;
        for (int i = 0; i < s->parts.n; i++) {
                const AbsorbPart *p = &s->parts.part[i];
                any |= p->moves;
                if (!dim_is_fixed(p->width) ||
                    (p->moves && !p->base->type.dim[p->base->type.rank - 2].per[m->time]))
                        return false;
        }
        return any && (s->side == KEYS ? parts_agree(&s->parts) : s->parts.n == 1);
}

static void add_site(Moving *m, Node *n)
{
        const Type *t = n->op == OP_MATMUL ? &n->in[1]->type : NULL;
        if (!t || base_of(n->in[1])->op == OP_WEIGHT)
                return;
        bool values = base_of(n->in[0])->op == OP_SOFTMAX && t->dim[t->rank - 2].per[m->time],
             keys = !values && t->dim[t->rank - 1].per[m->time] && is_attention_score(m->uses, n);
        if (!values && !keys)
                return;
        CutSite s = {.product = n, .side = values ? VALUES : KEYS, .group = -1};
        s.can_move = read_parts(&s.parts, m->scratch, n, s.side) && site_can_move(m, &s);
        GROW(m->scratch, m->site, m->n, m->cap);
        m->site[m->n++] = s;
}

static bool shares_latent(const CutSite *a, const CutSite *b)
{
        if (a->product->body != b->product->body)
                return false;
        for (int i = 0; i < a->parts.n; i++)
                for (int j = 0; j < b->parts.n; j++)
                        if (a->parts.part[i].moves && b->parts.part[j].moves &&
                            latent_of(&a->parts.part[i]) == latent_of(&b->parts.part[j]))
                                return true;
        return false;
}

static void join_group(Moving *m, int i, int group)
{
        m->site[i].group = group;
        for (int k = 0; k < m->n; k++)
                if (m->site[k].can_move && m->site[k].group < 0 && shares_latent(&m->site[i], &m->site[k]))
                        join_group(m, k, group);
}

/* --- cost -------------------------------------------------------------------------------------------------------- */

/* A kept value, and the parts that view it. */
typedef struct {
        const Node *base[MAX_ABSORB_PARTS];
        int n;
        double floats;
} CutValue;

typedef struct {
        CutValue kept[MAX_KEPT];
        int n;
        double floats, work; /* per position; per row and past position */
} Cost;

static double per_position(const Moving *m, const Node *n)
{
        double floats = 1;
        const int32_t *slot;
        for (int i = 0; i < n->type.rank; i++)
                if (!n->type.dim[i].per[m->time])
                        floats *= (double)dim_bound(m->g, n->type.dim[i]);
        return floats * (double)iteration_slots(m->scratch, n->body, &slot);
}

/* Whether the value is a part of a kept value, and so read as a slice of it. */
static bool is_in_cost(const Cost *c, const CutValue *k)
{
        for (int i = 0; i < c->n; i++) {
                const CutValue *other = &c->kept[i];
                bool same = other->n == k->n;
                for (int j = 0; j < k->n; j++)
                        same &= other->base[j] == k->base[j];
                if (same)
                        return true;
                for (int j = 0; k->n == 1 && j < other->n; j++)
                        if (other->base[j] == k->base[0])
                                return true;
        }
        return false;
}

static void cost_keep(Cost *c, const CutValue *k)
{
        if (is_in_cost(c, k) || c->n == MAX_KEPT)
                return;
        c->kept[c->n++] = *k;
        c->floats += k->floats;
}

/* For a view that shows less than a whole value, the view itself: see forms_kept.c. */
static CutValue kept_whole(const Moving *m, const Node *n)
{
        const Node *shown = base_of((Node *)n);
        n = per_position(m, n) < per_position(m, shown) ? n : shown;
        return (CutValue){.base = {n}, .n = 1, .floats = per_position(m, n)};
}

/* The number of rows in all leading axes, for one row of a head. */
static double lead_count(const Moving *m, const CutSite *s)
{
        double n = 1;
        for (int i = 0; i < s->product->type.rank - 2; i++)
                n *= (double)dim_bound(m->g, s->product->type.dim[i]);
        return n;
}

static void count_moved(const Moving *m, Cost *c, const CutSite *s)
{
        CutValue k = {.n = s->parts.n};
        double wide = 0;
        for (int i = 0; i < s->parts.n; i++) {
                const AbsorbPart *p = &s->parts.part[i];
                const Node *x = p->moves ? p->base->in[0] : p->base;
                k.base[i] = p->moves ? latent_of(p) : p->base;
                wide += p->moves ? (double)x->type.dim[x->type.rank - 1].fixed : (double)p->width.fixed;
        }
        /* parts have the same axes in front: those of the latent */
        const AbsorbPart *moved = s->parts.part;
        while (!moved->moves)
                moved++;
        const Node *latent = moved->base->in[0];
        double in_front = per_position(m, latent) / (double)latent->type.dim[latent->type.rank - 1].fixed;
        k.floats = s->parts.n == 1 ? per_position(m, k.base[0]) : in_front * wide;
        cost_keep(c, &k);
        c->work += lead_count(m, s) * wide;
}

static void count_whole(const Moving *m, Cost *c, const CutSite *s)
{
        const Node *right = s->product->in[1];
        CutValue k = kept_whole(m, s->product->in[1]);
        cost_keep(c, &k);
        c->work +=
                lead_count(m, s) *
                (double)right->type.dim[s->side == KEYS ? right->type.rank - 2 : right->type.rank - 1].fixed;
}

/* Whether a node outside the group reads the value along positions. */
static bool node_is_read_elsewhere(const Moving *m, int group, const Node *n)
{
        for (int i = 0; i < m->uses->n; i++) {
                const Node *x = m->uses->all[i];
                bool reduces = op_info[x->op].family == REDUCE, in_group = false;
                for (int k = 0; k < m->n; k++)
                        in_group |= m->site[k].product == x && m->site[k].group == group;
                for (int side = 0; !in_group && (x->op == OP_MATMUL || reduces) && side < x->nin; side++) {
                        const Type *t = &x->in[side]->type;
                        int axis = reduces ? x->attr.axis : t->rank - 1;
                        bool along = t->dim[axis].per[m->time] || (side && t->dim[axis - 1].per[m->time]);
                        if (along && base_of(x->in[side]) == n)
                                return true;
                }
        }
        return false;
}

/* The cost with the sides in the set moved. */
static void find_cost(const Moving *m, int group, unsigned sides, Cost *c)
{
        *c = (Cost){0};
        for (int i = 0; i < m->n; i++) {
                const CutSite *s = &m->site[i];
                if (s->group != group)
                        continue;
                CutValue whole = kept_whole(m, s->product->in[1]), latent;
                if (node_is_read_elsewhere(m, group, whole.base[0]))
                        cost_keep(c, &whole);
                for (int k = 0; k < s->parts.n; k++)
                        if (s->parts.part[k].moves) {
                                latent = kept_whole(m, latent_of(&s->parts.part[k]));
                                if (node_is_read_elsewhere(m, group, latent.base[0]))
                                        cost_keep(c, &latent);
                        }
        }
        for (Side side = 0; side < SIDES; side++) /* keys first: values may be a slice of their join */
                for (int i = 0; i < m->n; i++) {
                        const CutSite *s = &m->site[i];
                        if (s->group != group || s->side != side)
                                continue;
                        if (sides >> side & 1)
                                count_moved(m, c, s);
                        else
                                count_whole(m, c, s);
                }
}

/* --- decisions --------------------------------------------------------------------------------------------------- */

/* The paths of the group's weights, e.g. "layer.attn.kv.w". */
static const char *group_weights(const Moving *m, int group)
{
        const char *text = NULL;
        for (int i = 0; i < m->n; i++)
                for (int k = 0; m->site[i].group == group && k < m->site[i].parts.n; k++) {
                        const AbsorbPart *p = &m->site[i].parts.part[k];
                        const char *path = p->moves ? base_of(p->base->in[1])->attr.weight->path : NULL;
                        if (path && (!text || !strstr(text, path)))
                                text = text ? arena_printf(m->g->arena, "%s, %s", text, path) : path;
                }
        return text;
}

static void moving_tell(const Moving *m, AbsorbLines *explain, int group, unsigned sides, bool taken,
                        const Cost *before, const Cost *after)
{
        static const char *const what[] = {"", "keys", "values", "keys and values"};
        GROW(m->g->arena, explain->line, explain->n, explain->cap);
        explain->line[explain->n++] =
                arena_printf(m->g->arena,
                             "%s: %s, for %s: %.0f floats per position instead of %.0f, %.0f multiply-adds "
                             "per past position instead of %.0f",
                             group_weights(m, group),
                             taken ? "its input is cached instead of its results"
                                   : "its results are cached, not its input",
                             what[sides], after->floats, before->floats, after->work, before->work);
}

/* The set of sides of a group to move. */
static unsigned moving_decide(const Moving *m, int group, AbsorbLines *explain)
{
        Cost cost[1u << SIDES];
        unsigned can = 0, best = 0, least = 0;
        double most = 1;
        for (int i = 0; i < m->n; i++)
                if (m->site[i].group == group)
                        can |= 1u << m->site[i].side;
        for (unsigned sides = 0; sides < 1u << SIDES; sides++) {
                if (sides & ~can)
                        continue;
                find_cost(m, group, sides, &cost[sides]);
                double gain = cost[0].floats * cost[0].work / (cost[sides].floats * cost[sides].work);
                bool better = gain > most && cost[sides].floats < cost[0].floats;
                best = better ? sides : best;
                most = better ? gain : most;
                least = cost[sides].floats < cost[least].floats ? sides : least;
        }
        unsigned told = best ? best : least;
        if (told)
                moving_tell(m, explain, group, told, best, &cost[0], &cost[told]);
        return best;
}

static bool is_causal(const Graph *g, int time)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        bool causal = causal_prove(&scratch, graph_facts(&scratch, g, time)).causal;
        arena_free(&scratch);
        return causal;
}

bool move_products(Graph *g, int time, AbsorbLines *explain)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Moving m = {.g = g, .scratch = &scratch, .uses = uses_of(&scratch, g), .time = time};
        bool any = false;
        for (int i = 0; i < m.uses->n; i++)
                add_site(&m, m.uses->all[i]);
        m.moves = NEW_ARRAY(&scratch, const CutSite *, g->nnode);
        for (int i = 0; i < m.n; i++)
                if (m.site[i].can_move && m.site[i].group < 0)
                        join_group(&m, i, m.ngroup++);
        bool causal = m.ngroup > 0 && is_causal(g, time);
        for (int group = 0; causal && group < m.ngroup; group++) {
                unsigned sides = moving_decide(&m, group, explain);
                for (int i = 0; i < m.n; i++)
                        if (m.site[i].group == group && (sides >> m.site[i].side & 1)) {
                                m.moves[m.site[i].product->id] = &m.site[i];
                                any = true;
                        }
        }
        Replacing r = {.g = g, .of = &m, .rewrite = move_product};
        if (any)
                replace_nodes(&r);
        arena_free(&scratch);
        return any;
}
