/* The logit lens (nostalgebraist 2020): applies a model's head to the value after each layer.
 *
 *   layers -> RESULT h -> norm, head -> logits       h becomes stacked values h[0], h[1], ..;
 *                                                    for each iteration t:
 *                                                    h[t] -> a copy of norm, head -> lens[t]
 *
 * The layers are the last repeat of the top body on which the first output depends.  The nodes of the top
 * body between its carried values and that output are copied, so the lens of the last iteration equals the
 * output.  Runs before passes, as taps do. */
#include "taps_private.h"

#include <string.h>

typedef struct {
        Graph *g;
        Node *repeat;
        const Node *out;
        bool *between; /* [nnode] a result of the repeat, or computed from one, and needed by the output */
        Node *all[MAX_LENS];
        const char *why;
} Lens;

/* Marks the nodes that the output needs. */
static void lens_mark_needed(const Node *n, bool *needed)
{
        if (needed[n->id])
                return;
        needed[n->id] = true;
        for (int i = 0; i < n->nin; i++)
                lens_mark_needed(n->in[i], needed);
}

static bool is_result(const Lens *l, const Node *n)
{
        return n->op == OP_RESULT && n->in[0] == l->repeat;
}

static bool find_between(Lens *l)
{
        const Body *top = l->g->top;
        bool *needed = NEW_ARRAY(l->g->arena, bool, l->g->nnode);
        lens_mark_needed(l->out, needed);
        for (int i = 0; i < top->nnode; i++)
                if (top->node[i]->op == OP_REPEAT && needed[top->node[i]->id])
                        l->repeat = top->node[i];
        if (!l->repeat)
                return l->why = "there are no layers: the output comes of no repeat", false;
        l->between = NEW_ARRAY(l->g->arena, bool, l->g->nnode);
        for (int i = 0; i < top->nnode; i++) {
                const Node *n = top->node[i];
                l->between[n->id] = is_result(l, n);
                for (int k = 0; k < n->nin; k++)
                        l->between[n->id] |= l->between[n->in[k]->id];
                l->between[n->id] &= needed[n->id];
                if (is_result(l, n) && needed[n->id] && n->attr.index >= l->repeat->attr.region->ncarry)
                        return l->why = "what follows the layers takes values of all of them", false;
        }
        return true;
}

/* Stacks the carried values at the end of each iteration. */
static void stack_carried(Lens *l)
{
        const Region *r = l->repeat->attr.region;
        for (int c = 0; c < r->ncarry; c++) {
                Node **value = NEW_ARRAY(l->g->arena, Node *, r->nbody);
                for (int k = 0; k < r->nbody; k++)
                        value[k] = r->body[k]->next[c];
                l->all[c] = tap_stack(l->g, l->repeat, value);
        }
}

static Node *at_iteration(Graph *g, Node *all, int64_t t)
{
        Node *one = view_slice(g, all->body, all, 0, dim_fixed(t), dim_fixed(1), all->span, all->where);
        return view_drop(g, all->body, one, 0, all->span, all->where);
}

/* The output as if the repeat ended after iteration t. */
static Node *copy_between(const Lens *l, Node *const *node, int n, int64_t t, Node **copy)
{
        Graph *g = l->g;
        for (int i = 0; i < n; i++) {
                const Node *of = node[i];
                if (is_result(l, of)) {
                        copy[of->id] = at_iteration(g, l->all[of->attr.index], t);
                        continue;
                }
                Node **in = NEW_ARRAY(g->arena, Node *, of->nin);
                for (int k = 0; k < of->nin; k++)
                        in[k] = l->between[of->in[k]->id] ? copy[of->in[k]->id] : of->in[k];
                copy[of->id] =
                        node_new(g, g->top, of->op, of->nin, in, of->attr, of->type, of->span, of->where);
        }
        return copy[l->out->id];
}

static Node *last_row_of(Graph *g, Node *n)
{
        return view_slice(g, n->body, n, 0, dim_sub(n->type.dim[0], dim_fixed(1)), dim_fixed(1), n->span,
                          n->where);
}

int lens_add(Graph *g, const char **layers, const char **why)
{
        Lens l = {.g = g, .out = g->output[0].node};
        if (!find_between(&l))
                return *why = l.why, -1;
        const Region *r = l.repeat->attr.region;
        if (r->ncarry > MAX_LENS || r->iterations > MAX_LENS)
                return *why = "more layers, or values between them, than a lens takes", -1;
        *layers = r->name;
        Node **node = NEW_ARRAY(g->arena, Node *, g->top->nnode),
             **copy = NEW_ARRAY(g->arena, Node *, g->nnode);
        int n = 0;
        for (int i = 0; i < g->top->nnode; i++)
                if (l.between[g->top->node[i]->id])
                        node[n++] = g->top->node[i];
        stack_carried(&l);
        for (int64_t t = 0; t < r->iterations; t++) {
                Node *one = last_row_of(g, copy_between(&l, node, n, t, copy));
                tap_output(g, arena_printf(g->arena, "lens_%lld", (long long)t), one);
        }
        return (int)r->iterations;
}
