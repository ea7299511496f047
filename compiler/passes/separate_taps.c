/* Taps apart: computes the nodes that taps need a second time, so that taps change nothing else.
 *
 *   before                             after
 *
 *   k, v = state                       k, v = state
 *   q = x Wq                           q' = x Wq             copies, only for taps
 *   s = q k'                           s' = q' k'
 *   p = softmax(s)   <- tap            p' = softmax(s')      <- tap
 *   y = p v                            q, s, p, y            as they were: one attention kernel
 *
 * The users of a node decide which kernel computes it, and a tap would be one more user.  So every node that
 * both an output and a tap need is copied, back to values that are in memory in any case: state, carried
 * values, results of repeats.  A copy is shared by all taps, with one exception: scores and weights of
 * attention, and their keys, are copied once more if a tap shows them.  So a copied attention is one kernel
 * as well, and has the same bits.
 *
 * Before: a graph after all other passes.  After: nodes made for taps use no node that an output needs, apart
 * from those in memory; Graph.stands_for maps copies to originals.  No other graph pass may follow, since it
 * would join copies with originals. */
#include <string.h>

#include "rebuild_private.h"
#include "simplify_private.h"

typedef struct {
        Graph *g;
        Arena scratch;
        Needed needed; /* nodes needed by the outputs, for ids below `limit` */
        int limit;
        bool *inside;   /* by id: scores or weights of attention, or keys that these read */
        Node **copy[2]; /* by id: the copy; [1]: that of scores, weights or keys of attention, for a tap that
                         * shows it */
        Node **same;    /* by id: copies of values in memory that are shown themselves */
} TapsApart;

/* --- nodes inside attention
 * --------------------------------------------------------------------------------------- */

/* Whether the value is in memory, and taps use it directly. */
static bool taps_is_stored(const Node *n)
{
        return n->op == OP_CARRY || n->op == OP_APPEND || n->op == OP_REPEAT || n->op == OP_RESULT ||
               keeps_scan(n);
}

/* Marks the keys of a product of scores, and the views through which it reads them. */
static void mark_keys(TapsApart *p, const Node *n)
{
        for (; n->op == OP_VIEW; n = n->in[0])
                p->inside[n->id] = true;
        p->inside[n->id] |= !taps_is_stored(n);
}

static void mark_scores(TapsApart *p, const Node *n, const Node *weights)
{
        if (!same_dims(&n->type, &weights->type) || p->inside[n->id])
                return;
        bool product = n->op == OP_MATMUL, formula = op_info[n->op].family == POINT;
        p->inside[n->id] = product || formula || n == weights;
        if (product)
                mark_keys(p, n->in[1]);
        for (int i = 0; p->inside[n->id] && !product && i < n->nin; i++)
                mark_scores(p, n->in[i], weights);
}

static void mark_mixed(TapsApart *p, const Scores *s)
{
        for (int i = 0; i < s->n; i++)
                p->inside[s->node[i]->id] = true;
        mark_keys(p, s->core->in[1]);
}

static void find_inside(TapsApart *p, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                Scores s;
                if (n->op == OP_MATMUL && scores_under(n->in[0]))
                        mark_scores(p, n->in[0], n->in[0]);
                if (n->op == OP_MATMUL && !find_mixed_heads(&p->scratch, p->g, n, NULL, &s))
                        mark_mixed(p, &s);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        find_inside(p, n->attr.region->body[k]);
        }
}

/* --- copies ----------------------------------------------------------------------------------------------------------- */

/* n times 1, or `n and true`, where x is n or its copy: a computed copy of a value in memory. */
static Node *taps_same(TapsApart *p, const Node *n, Node *x)
{
        if (p->same[n->id])
                return p->same[n->id];
        Graph *g = p->g;
        Node *in[] = {x, NEW(g->arena, Node)}, *product = p->same[n->id] = NEW(g->arena, Node);
        Literal *literal = NEW(g->arena, Literal);
        *literal = (Literal){1, 1, NEW(g->arena, double)};
        *literal->value = 1;
        *in[1] =
                (Node){.op = OP_CONST, .id = g->nnode++, .body = n->body, .span = n->span, .where = n->where};
        in[1]->attr = (Attr){.literal = literal, .slot = -1};
        in[1]->type = (Type){.dtype = n->type.dtype};
        *product = *n;
        product->op = n->type.dtype == BOOL ? OP_AND : OP_MUL;
        product->id = g->nnode++;
        product->nin = 2;
        product->in = NEW_ARRAY(g->arena, Node *, 2);
        memcpy(product->in, in, sizeof in);
        product->attr = (Attr){.slot = -1};
        return product;
}

/* The node that taps use instead of n.  shown: a tap shows n, or n and its user are inside attention.  That
 * user is then a product of two activations, which cannot read keys in attention's tiles. */
static Node *instead(TapsApart *p, Node *n, bool shown)
{
        if (!p->needed.node[n->id])
                return n;
        if (taps_is_stored(n))
                return shown && (n->op == OP_APPEND || keeps_scan(n)) ? taps_same(p, n, n) : n;
        bool own = shown && (p->inside[n->id] || (n->op == OP_VIEW && base_of(n)->op == OP_APPEND));
        Node **copy = &p->copy[own][n->id];
        if (*copy)
                return *copy;
        Node **in = NEW_ARRAY(p->g->arena, Node *, n->nin);
        for (int i = 0; i < n->nin; i++)
                in[i] = instead(p, n->in[i], own);
        *copy = NEW(p->g->arena, Node);
        **copy = *n;
        (*copy)->id = p->g->nnode++;
        (*copy)->in = in;
        return *copy;
}

/* A shown value must be computed by a separate node. */
static Node *shown(TapsApart *p, Node *n)
{
        Node *own = instead(p, n, true);
        return p->needed.node[n->id] && taps_is_stored(base_of(own)) ? taps_same(p, n, own) : own;
}

/* --- rewiring ----------------------------------------------------------------------------------------------------------- */

static void rewire_region(TapsApart *p, Node *repeat)
{
        const Region *r = repeat->attr.region;
        const bool *needed = p->needed.result[repeat->id];
        for (int k = 0; k < r->nbody; k++) {
                for (int i = 0; i < r->ncarry; i++)
                        if (!needed || !needed[i])
                                r->body[k]->next[i] = instead(p, r->body[k]->next[i], true);
                for (int i = 0; i < r->nstack; i++)
                        if (!needed || !needed[r->ncarry + i])
                                r->body[k]->stack[i] = shown(p, r->body[k]->stack[i]);
        }
        for (int i = 0; i < r->ncarry; i++)
                if (!needed || !needed[i])
                        repeat->in[i] = instead(p, repeat->in[i], true);
}

/* Replaces the inputs of nodes that only taps need with copies. */
static void rewire(TapsApart *p, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                for (int k = 0; k < n->nin && !p->needed.node[n->id] && n->op != OP_REPEAT; k++)
                        n->in[k] = instead(p, n->in[k], true);
                if (n->op != OP_REPEAT)
                        continue;
                rewire_region(p, n);
                for (int k = 0; k < n->attr.region->nbody; k++)
                        rewire(p, n->attr.region->body[k]);
        }
}

/* A copy is placed directly before its original, where all its inputs are available and not yet
 * overwritten. */
static void taps_append(void *context, Graph *g, Body *b, Node *n)
{
        const TapsApart *p = context;
        for (int own = 0; own < 2; own++)
                if (p->copy[own][n->id])
                        body_append(g, b, p->copy[own][n->id]);
        body_append(g, b, n);
        for (int k = 0; p->same[n->id] && k < 2; k++)
                body_append(g, b, k ? p->same[n->id] : p->same[n->id]->in[1]);
}

static void list_copies(TapsApart *p, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                for (int own = 0; own < 2 && n->id < p->limit; own++)
                        if (p->copy[own][n->id])
                                p->g->stands_for[p->copy[own][n->id]->id] = b->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        list_copies(p, n->attr.region->body[k]);
        }
}

static bool has_taps(const Graph *g)
{
        for (int i = 0; i < g->noutput; i++)
                if (g->output[i].tap)
                        return true;
        return false;
}

bool separate_taps(Graph *g)
{
        if (!has_taps(g))
                return false;
        TapsApart p = {.g = g, .limit = g->nnode, .scratch = {.out_of_memory = g->arena->out_of_memory}};
        p.needed = outputs_need(&p.scratch, g);
        p.inside = NEW_ARRAY(&p.scratch, bool, g->nnode);
        p.same = NEW_ARRAY(&p.scratch, Node *, g->nnode);
        for (int own = 0; own < 2; own++)
                p.copy[own] = NEW_ARRAY(&p.scratch, Node *, g->nnode);
        find_inside(&p, g->top);
        rewire(&p, g->top);
        for (int i = 0; i < g->noutput; i++)
                if (g->output[i].tap)
                        g->output[i].node = shown(&p, g->output[i].node);
        rebuild_body(g, g->top, taps_append, &p);
        g->stands_for = NEW_ARRAY(g->arena, Node *, g->nnode);
        list_copies(&p, g->top);
        arena_free(&p.scratch);
        return true;
}
