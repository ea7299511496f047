/* The causal proof: from the facts of each output, and the words for where it fails.
 *
 * An output is causal if index i of its one growing axis reads inputs at times up to i, and the output's length is the
 * only thing that more input changes.  The facts (facts.h) do the work; here they are judged. */
#include "causal.h"

static const char *node_text(Arena *a, const Node *n)
{
        if (n->name)
                return arena_printf(a, "%s (%s)", n->name, op_info[n->op].text);
        return op_info[n->op].text;
}

/* The furthest time that a node reads, relative to its own index. */
static const char *reach_text(Arena *a, const Graph *g, const Reach *reach, const char *name)
{
        if (reach->all)
                return arena_printf(a, "reads all of %s", name);
        for (int i = 0; i < reach->n; i++)
                if (dim_bound(g, reach->at[i].high) > 0)
                        return arena_printf(a, "reads %s up to its own index + %s", name,
                                            dim_text(a, g, reach->at[i].high));
        return arena_printf(a, "reads %s", name);
}

/* Whether the places where a is -inf are special in y too. */
static bool keeps_mask(const Fact *a, const Fact *y)
{
        for (Special v = AT_0; v < NSPECIAL; v++)
                if (cond_equal(a->unless[AT_MINUS_INF], y->unless[v]))
                        return true;
        return !cond_is_true(y->unless[AT_MINUS_INF]);
}

/* The node on the way from a fold back to a mask that undoes it. */
static const Node *mask_breaker(const Facts *f, const Node *fold)
{
        const Node *n = fold->nin ? fold->in[0] : NULL;
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

static const char *explain(Arena *a, const Facts *f, const Node *n)
{
        const Graph *g = f->graph;
        const char *name = g->named[f->time].name;
        if (n->op == OP_SIZE || n->op == OP_INDEX)
                return arena_printf(a, "the length of %s is known only at its end", name);
        const char *text =
                arena_printf(a, "%s %s", node_text(a, n), reach_text(a, g, &f->of[n->id].reach, name));
        bool folds = op_info[n->op].family == REDUCE || op_info[n->op].family == CONTRACT;
        const Node *breaker = folds ? mask_breaker(f, n) : NULL;
        if (breaker)
                return arena_printf(a, "%s: %s undoes the mask", text, node_text(a, breaker));
        return text;
}

static CausalResult refuse(const Node *culprit, int output, const char *why)
{
        return (CausalResult){.culprit = culprit, .output = output, .why = why};
}

static CausalResult judge(Arena *a, const Facts *f, int output)
{
        const Node *n = f->graph->output[output].node;
        const Fact *y = &f->of[n->id];
        const char *name = f->graph->named[f->time].name;
        int growing = 0;
        for (int axis = 0; axis < n->type.rank; axis++) {
                growing += is_growing(f, n->type.dim[axis]);
                if (n->type.dim[axis].per[f->time] != 0 && !is_growing(f, n->type.dim[axis]))
                        return refuse(n, output, arena_printf(a, "axis %d is a multiple of %s", axis, name));
        }
        if (reads_future(f, &y->reach)) {
                const Node *culprit = y->origin ? y->origin : n;
                return refuse(culprit, output, explain(a, f, culprit));
        }
        if (growing > 1)
                return refuse(n, output,
                              arena_printf(a, "an output with two axes of %s has no rows to give one by one",
                                           name));
        return (CausalResult){.causal = true};
}

/* A tap has rows of its own: the first of its growing axes. */
static void judge_tap(Arena *a, const Facts *f, int output, CausalResult *result)
{
        const Node *n = f->graph->output[output].node;
        const Fact *y = &f->of[n->id];
        const char *name = f->graph->named[f->time].name;
        int growing = 0, odd = 0;
        for (int axis = 0; axis < n->type.rank; axis++) {
                growing += is_growing(f, n->type.dim[axis]);
                odd += n->type.dim[axis].per[f->time] != 0 && !is_growing(f, n->type.dim[axis]);
        }
        result->output = output;
        if (reads_future(f, &y->reach))
                result->tap_why = explain(a, f, y->origin ? y->origin : n);
        else if (odd)
                result->tap_why = arena_printf(a, "it has an axis of a multiple of %s", name);
        else if (growing > 2)
                result->tap_why = arena_printf(a, "it has more than two axes of %s", name);
}

CausalResult causal_prove(Arena *arena, const Graph *g, int time)
{
        const Facts *f = facts_of(arena, g, time);
        CausalResult result = {.causal = true};
        for (int i = 0; result.causal && i < g->noutput; i++)
                if (!g->output[i].tap)
                        result = judge(arena, f, i);
        for (int i = 0; result.causal && !result.tap_why && i < g->noutput; i++)
                if (g->output[i].tap)
                        judge_tap(arena, f, i, &result);
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
