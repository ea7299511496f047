/* The causal proof, by the facts of each output, and its error messages.
 *
 * An output is causal if index i of its one growing axis reads inputs at times up to i, and the output's
 * length is the only thing that more input changes.  facts_private.h defines the facts. */
#include "facts_private.h"

#include <math.h>

static const char *node_text(Arena *a, const Node *n)
{
        if (n->name)
                return arena_printf(a, "%s (%s)", n->name, op_info[n->op].text);
        return op_info[n->op].text;
}

/* The latest time that a node reads, relative to its own index. */
static const char *reach_text(Arena *a, const Graph *g, const Reach *reach, const char *name)
{
        if (reach->all)
                return arena_printf(a, "reads all of %s", name);
        for (int i = 0; i < reach->n; i++)
                if (dim_bound(g, reach->at[i].high) > 0)
                        return arena_printf(a, "reads %s up to %s%s", name,
                                            reach->at[i].axis == NO_AXIS ? "index " : "its own index + ",
                                            dim_text(a, g, reach->at[i].high));
        return arena_printf(a, "reads %s", name);
}

/* Whether the elements where a is -inf have a special value in y that masks.  -1, of tanh, masks nothing in
 * most later ops. */
static bool keeps_mask(const Fact *a, const Fact *y)
{
        for (Special v = AT_0; v < NSPECIAL; v++)
                if (v != AT_MINUS_1 && cond_equal(a->unless[AT_MINUS_INF], y->unless[v]))
                        return true;
        return !cond_is_true(y->unless[AT_MINUS_INF]);
}

/* The node between a mask and a fold that makes the mask ineffective. */
static const Node *mask_breaker(const Facts *f, const Node *fold)
{
        const Node *n = fold->in[0];
        for (int steps = 0; n && n->nin && steps < 64; steps++) {
                const Fact *y = &f->of[n->id];
                const Node *next = NULL;
                for (int i = 0; i < n->nin; i++) {
                        const Fact *x = &f->of[n->in[i]->id];
                        bool masked = !cond_is_true(x->unless[AT_MINUS_INF]) && !x->constant;
                        if (masked && !keeps_mask(x, y))
                                return n;
                        if (!next && x->reach.n > 0)
                                next = n->in[i];
                }
                n = next;
        }
        return NULL;
}

static bool may_be_infinite(const Facts *f, const Node *n)
{
        const Fact *y = &f->of[n->id];
        return (y->kinds & (PLUS_INF | NOT_A_NUMBER)) ||
               ((y->kinds & MINUS_INF) && cond_is_true(y->unless[AT_MINUS_INF]));
}

/* The first ancestor of n that may be infinite or NaN. */
static const Node *infinite_source(const Facts *f, const Node *n)
{
        for (int i = 0; i < n->nin; i++)
                if (may_be_infinite(f, n->in[i]))
                        return infinite_source(f, n->in[i]);
        return n;
}

/* Whether masked elements may be NaN, which varies along an axis, counted from the last, 1. */
static bool is_stained(const Facts *f, const Node *n, int axis)
{
        for (Special v = AT_0; v < NSPECIAL && axis <= n->type.rank; v++)
                if (f->of[n->id].stain[v] >> (n->type.rank - axis) & 1)
                        return true;
        return false;
}

/* The node that makes the masked elements of a fold NaN: a product itself, or the first pointwise node that
 * does. */
static const Node *stain_source(const Facts *f, const Node *fold)
{
        bool reduces = op_info[fold->op].family == REDUCE;
        int axis = reduces ? fold->type.rank - fold->attr.axis : 1;
        const Node *n = is_stained(f, fold->in[0], axis) ? fold->in[0] : fold;
        for (int i = 0; n != fold && op_info[n->op].family == POINT && i < n->nin; i++)
                if (is_stained(f, n->in[i], axis)) {
                        n = n->in[i];
                        i = -1;
                }
        return n;
}

/* A `where` between a value and 0 or -inf, among the ancestors of a fold; *is_known: its condition bounds
 * positions, but lets later ones through. */
static const Node *open_mask(const Facts *f, const Node *fold, bool *is_known)
{
        const Node *n = fold->in[0];
        for (int steps = 0; op_info[n->op].family == POINT && steps < 64; steps++) {
                for (int i = 1; n->op == OP_WHERE && i < 3; i++) {
                        const Fact *y = &f->of[n->in[i]->id];
                        if (!y->constant || (y->value != 0 && y->value != special_value[AT_MINUS_INF]))
                                continue;
                        *is_known = !cond_is_true(f->of[n->id].unless[y->value == 0 ? AT_0 : AT_MINUS_INF]);
                        return n;
                }
                n = n->in[0]->op == OP_CONST && n->nin > 1 ? n->in[1] : n->in[0];
        }
        return NULL;
}

/* A large negative number, such as -1e9, that a mask chooses in place of -inf, or adds as a product. */
static const Fact *finite_mask(const Facts *f, const Node *n, int depth)
{
        enum { LARGE = -1000 };
        if (op_info[n->op].family != POINT || depth == 0)
                return NULL;
        for (int i = 0; i < n->nin; i++) {
                const Fact *y = &f->of[n->in[i]->id];
                bool chosen = (n->op == OP_WHERE && i > 0) || n->op == OP_MUL;
                if (chosen && y->constant && y->value <= LARGE && isfinite(y->value))
                        return y;
                const Fact *inner = finite_mask(f, n->in[i], depth - 1);
                if (inner)
                        return inner;
        }
        return NULL;
}

static const char *why_fold_reads(Arena *a, const Facts *f, const Node *n)
{
        enum { MAX_OPS = 8 };
        bool is_known = false;
        const Node *breaker = mask_breaker(f, n), *stain = stain_source(f, n),
                   *mask = open_mask(f, n, &is_known);
        const Fact *finite = finite_mask(f, n->in[0], MAX_OPS);
        if (breaker)
                return arena_printf(a, ": %s undoes the mask", node_text(a, breaker));
        if (fold_is_stained(f, n) && f->values == ANY_VALUES)
                return arena_printf(a, ": %s may be NaN where it is masked", node_text(a, stain));
        if (fold_is_stained(f, n))
                return arena_printf(a, ": %s may be infinite or NaN, which the mask does not hide",
                                    node_text(a, infinite_source(f, stain)));
        if (finite)
                return arena_printf(a, ": a finite number such as %g hides no score, -inf does",
                                    finite->value);
        if (mask)
                return arena_printf(a,
                                    is_known ? ": the condition of %s lets rows read later positions"
                                             : ": the condition of %s bounds no position",
                                    node_text(a, mask));
        return "";
}

static const char *causal_explain(Arena *a, const Facts *f, const Node *n)
{
        const Graph *g = f->graph;
        const char *name = g->named[f->time].name;
        if (n->op == OP_SIZE || n->op == OP_INDEX)
                return arena_printf(a, "%s: the length of %s is known only at its end", node_text(a, n),
                                    name);
        if (n->op == OP_RESULT && n->in[0]->attr.region->along &&
            n->attr.index < n->in[0]->attr.region->ncarry)
                return arena_printf(a, "%s after the along is that of the last position of %s",
                                    n->name ? n->name : "a value", name);
        if (n->op == OP_RESULT && n->in[0]->attr.region->along &&
            !dim_equal(positions_of(g, n->in[0]->attr.region), dim_named(f->time)))
                return arena_printf(a, "the positions of this along are %s, not those of %s",
                                    dim_text(a, g, positions_of(g, n->in[0]->attr.region)), name);
        if (n->op == OP_INPUT)
                return arena_printf(
                        a, "%s, an input of %s, does not bring one element of an axis with each step of %s",
                        node_text(a, n), type_text(a, g, &n->type), name);
        const char *text =
                arena_printf(a, "%s %s", node_text(a, n), reach_text(a, g, &f->of[n->id].reach, name));
        bool folds = op_info[n->op].family == REDUCE || op_info[n->op].family == CONTRACT;
        return folds ? arena_printf(a, "%s%s", text, why_fold_reads(a, f, n)) : text;
}

static int count_growing(const Facts *f, const Type *t)
{
        int growing = 0;
        for (int axis = 0; axis < t->rank; axis++)
                growing += is_growing(f, t->dim[axis]);
        return growing;
}

static CausalResult causal_refuse(const Node *culprit, int output, const char *why)
{
        return (CausalResult){.culprit = culprit, .output = output, .why = why};
}

static CausalResult causal_judge(Arena *a, const Facts *f, int output)
{
        const Node *n = f->graph->output[output].node;
        const Fact *y = &f->of[n->id];
        const char *name = f->graph->named[f->time].name;
        for (int axis = 0; axis < n->type.rank; axis++) {
                if (n->type.dim[axis].per[f->time] != 0 && !is_growing(f, n->type.dim[axis]))
                        return causal_refuse(n, output,
                                             arena_printf(a, "axis %d of output %s is a multiple of %s", axis,
                                                          f->graph->output[output].name, name));
        }
        if (reads_future(f, &y->reach))
                return causal_refuse(y->origin, output, causal_explain(a, f, y->origin));
        if (count_growing(f, &n->type) > 1)
                return causal_refuse(
                        n, output,
                        arena_printf(a, "output %s has two axes of %s, and no rows to give one by one",
                                     f->graph->output[output].name, name));
        return (CausalResult){.causal = true};
}

/* A tap has its own rows: the first of its growing axes. */
static void judge_tap(Arena *a, const Facts *f, int output, CausalResult *result)
{
        const Node *n = f->graph->output[output].node;
        const Fact *y = &f->of[n->id];
        const char *name = f->graph->named[f->time].name;
        int odd = 0;
        for (int axis = 0; axis < n->type.rank; axis++)
                odd += n->type.dim[axis].per[f->time] != 0 && !is_growing(f, n->type.dim[axis]);
        result->output = output;
        if (reads_future(f, &y->reach))
                result->tap_why = causal_explain(a, f, y->origin);
        else if (odd)
                result->tap_why = arena_printf(a, "it has an axis of a multiple of %s", name);
        else if (count_growing(f, &n->type) > 2)
                result->tap_why = arena_printf(a, "it has more than two axes of %s", name);
}

/* Whether the proof holds for all values, infinities and NaN included. */
static void judge_any(Arena *arena, GraphFacts *facts, CausalResult *result)
{
        const Facts *f = facts_under(facts, ANY_VALUES);
        const Graph *g = f->graph;
        for (int i = 0; !result->rests && i < g->noutput; i++) {
                if (g->output[i].tap)
                        continue;
                CausalResult any = causal_judge(arena, f, i);
                if (any.causal)
                        continue;
                result->rests = any.culprit;
                result->why_rests = any.why;
        }
}

/* The smallest delay, in positions, with which no output reads later inputs.  0: unknown, or as long as the
 * whole sequence, or all outputs read one position. */
static int64_t delay_of(const Facts *f)
{
        const Graph *g = f->graph;
        int64_t delay = 0;
        for (int i = 0; i < g->noutput; i++) {
                const Reach *reach = &f->of[g->output[i].node->id].reach;
                if (g->output[i].tap)
                        continue;
                if (reach->all || count_growing(f, &g->output[i].node->type) != 1)
                        return 0;
                for (int k = 0; k < reach->n; k++) {
                        int64_t ahead = dim_bound(g, reach->at[k].high);
                        if (ahead > 0 && reach->at[k].axis == NO_AXIS)
                                return 0;
                        delay = ahead > delay ? ahead : delay;
                }
        }
        return delay < g->named[f->time].bound ? delay : 0;
}

CausalResult causal_prove(Arena *arena, GraphFacts *facts)
{
        const Facts *f = facts_under(facts, FINITE_VALUES);
        const Graph *g = f->graph;
        CausalResult result = {.causal = true};
        for (int i = 0; result.causal && i < g->noutput; i++)
                if (!g->output[i].tap)
                        result = causal_judge(arena, f, i);
        for (int i = 0; result.causal && !result.tap_why && i < g->noutput; i++)
                if (g->output[i].tap)
                        judge_tap(arena, f, i, &result);
        if (result.causal)
                judge_any(arena, facts, &result);
        else
                result.delay = delay_of(f);
        return result;
}

static bool has_axis(const Type *t, int which)
{
        for (int axis = 0; axis < t->rank; axis++)
                if (t->dim[axis].per[which] != 0)
                        return true;
        return false;
}

int growing_dimension(const Graph *g)
{
        int grows = -1;
        for (int which = 0; which < g->nnamed; which++) {
                bool in = false, out = false;
                for (int i = 0; i < g->ninput; i++)
                        in = in || has_axis(&g->input[i].type, which);
                for (int i = 0; i < g->noutput; i++)
                        out = out || (!g->output[i].tap && has_axis(&g->output[i].node->type, which));
                if (in && out)
                        grows = which;
        }
        return grows;
}
