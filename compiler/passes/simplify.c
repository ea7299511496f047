/* simplify: constants folded, common subexpressions joined, algebra that changes no bit, dead code dropped.
 *
 *     %1 = index 8              %5 = const {1, 0.5, ..}         (heads' slopes, folded)
 *     %2 = add %1 1       =>
 *     %3 = pow 0.5 %2
 *     ...
 *     %8 = view (view x)        %8 = view x
 *
 * Each node in turn is rebuilt on its inputs' replacements, folded (fold.c), rewritten (algebra.c) and looked
 * up among the nodes before it (common.c); rounds follow until nothing changes; then dead nodes are dropped
 * (prune.c).  A value that a repeat carries unchanged through all bodies is read from outside.
 *
 * Before: any graph that verify accepts.  After: the same answers to the bit, from the interpreter and from
 * compiled code; nodes changed in place and numbered anew.  Unread weights stay in graph->weight.
 *
 * recognise: the same, and softmax and products in other notations are recognised (softmax.c, products.c).
 * Answers are the same within rounding. */
#include "simplify_private.h"

enum { MAX_ROUNDS = 8 };

typedef struct {
        Graph *g;
        Node **replaced; /* by id of the nodes before the round: the replacement */
        CommonTable common;
        bool recognises; /* softmax and products in other notations become the ops */
        bool changed;
} Simplifier;

static Node *simplify_current(const Simplifier *s, Node *n)
{
        return n && s->replaced[n->id] ? s->replaced[n->id] : n;
}

/* Whether carried value i passes through every body unchanged. */
static bool is_invariant(const Region *region, int i)
{
        for (int k = 0; k < region->nbody; k++) {
                const Node *next = region->body[k]->next[i];
                bool same = next->op == OP_CARRY && next->body == region->body[k] && next->attr.index == i;
                if (!same && next != region->repeat->in[i])
                        return false;
        }
        return true;
}

static void simplify_body(Simplifier *s, Body *body);

static void simplify_region(Simplifier *s, const Region *region)
{
        for (int k = 0; k < region->nbody; k++) {
                Body *body = region->body[k];
                simplify_body(s, body);
                for (int i = 0; i < region->ncarry; i++)
                        body->next[i] = simplify_current(s, body->next[i]);
                for (int i = 0; i < region->nstack; i++)
                        body->stack[i] = simplify_current(s, body->stack[i]);
        }
}

static Node *from_outside(const Node *n)
{
        const Node *repeat = n->op == OP_CARRY    ? n->body->region->repeat
                             : n->op == OP_RESULT ? n->in[0]
                                                  : NULL;
        if (!repeat || n->attr.index >= repeat->attr.region->ncarry)
                return NULL;
        return is_invariant(repeat->attr.region, n->attr.index) ? repeat->in[n->attr.index] : NULL;
}

/* The replacement of n, which is in a body already. */
static Node *simplify_node(Simplifier *s, Node *n)
{
        for (int i = 0; i < n->nin; i++)
                n->in[i] = simplify_current(s, n->in[i]);
        int before = s->g->nnode;
        if (n->op == OP_REPEAT)
                simplify_region(s, n->attr.region);
        Node *now = from_outside(n);
        if (!now)
                now = fold_constants(s->g, n);
        if (!now)
                now = rewrite(s->g, n);
        if (now == n && s->recognises)
                now = rewrite_softmax(s->g, n);
        if (now == n && s->recognises)
                now = rewrite_product(s->g, n);
        if (now == n) {
                now = find_common(&s->common, n);
                if (now == n)
                        body_append(s->g, n->body, n);
        }
        if (now != n && !now->name)
                now->name = n->name;
        s->changed = s->changed || now != n || s->g->nnode > before;
        return now;
}

static void simplify_body(Simplifier *s, Body *body)
{
        Node **node = body->node;
        int nnode = body->nnode;
        body->node = NULL;
        body->nnode = body->cap = 0;
        for (int i = 0; i < nnode; i++)
                s->replaced[node[i]->id] = simplify_node(s, node[i]);
}

static void replace_roots(Simplifier *s)
{
        Graph *g = s->g;
        for (int i = 0; i < g->noutput; i++)
                g->output[i].node = simplify_current(s, g->output[i].node);
        for (int i = 0; i < g->nentry; i++)
                g->entry[i].expr = simplify_current(s, g->entry[i].expr);
}

static bool simplify_round(Graph *g, bool recognises)
{
        Arena scratch = {0};
        Simplifier s = {.g = g, .common = {.arena = &scratch}, .recognises = recognises};
        s.replaced = NEW_ARRAY(&scratch, Node *, g->nnode);
        simplify_body(&s, g->top);
        replace_roots(&s);
        prune(g);
        arena_free(&scratch);
        return s.changed;
}

static Graph *simplify_rounds(Graph *g, bool recognises)
{
        for (int round = 0; round < MAX_ROUNDS && simplify_round(g, recognises); round++)
                ;
        return g;
}

Graph *simplify(Graph *g)
{
        return simplify_rounds(g, false);
}

Graph *recognise(Graph *g)
{
        return simplify_rounds(g, true);
}
