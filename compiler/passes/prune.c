/* Dead code: nodes that no output, test, checkpoint entry or kept state needs are dropped, and with them
 * unused results of repeats.  The remaining nodes get new ids, without gaps, in order.
 *
 * A carried value is needed if its result is, or if an iteration that is needed reads it: a value that is
 * only used to compute its own next value is not needed. */
#include "simplify_private.h"

#include <string.h>

/* For a repeat: whether each carried, then each stacked value is needed; later its new index. */
typedef struct {
        int ncarry, nstack; /* before pruning */
        bool *live;
        int *index;
} CarriedUse;

typedef struct {
        Graph *g;
        Arena scratch;
        bool *live;           /* by id, as carried */
        CarriedUse **carried; /* of repeats */
        Node **stack;         /* live nodes whose inputs are not marked yet */
        int depth;
} Pruner;

static void mark(Pruner *p, Node *n)
{
        if (!n || p->live[n->id])
                return;
        p->live[n->id] = true;
        p->stack[p->depth++] = n;
}

static CarriedUse *carried_of(Pruner *p, const Node *repeat)
{
        CarriedUse **c = &p->carried[repeat->id];
        if (!*c) {
                const Region *region = repeat->attr.region;
                *c = NEW(&p->scratch, CarriedUse);
                (*c)->ncarry = region->ncarry;
                (*c)->nstack = region->nstack;
                (*c)->live = NEW_ARRAY(&p->scratch, bool, region->ncarry + region->nstack);
                (*c)->index = NEW_ARRAY(&p->scratch, int, region->ncarry + region->nstack);
        }
        return *c;
}

/* Marks value number `index` of a repeat's results. */
static void mark_carried(Pruner *p, Node *repeat, int index)
{
        CarriedUse *c = carried_of(p, repeat);
        const Region *region = repeat->attr.region;
        if (c->live[index])
                return;
        c->live[index] = true;
        for (int k = 0; k < region->nbody; k++)
                mark(p, index < c->ncarry ? region->body[k]->next[index]
                                          : region->body[k]->stack[index - c->ncarry]);
        if (index < c->ncarry)
                mark(p, repeat->in[index]);
}

/* The node that keeps the value of a state. */
static void mark_keep(Pruner *p, const Body *body, const StateVar *state)
{
        for (int i = 0; i < body->nnode; i++) {
                Node *n = body->node[i];
                if (n->op == OP_KEEP && n->attr.state == state)
                        mark(p, n);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        mark_keep(p, n->attr.region->body[k], state);
        }
}

static void mark_inputs(Pruner *p, Node *n)
{
        if (n->op == OP_KEPT)
                mark_keep(p, p->g->top, n->attr.state);
        if (n->body->region)
                mark(p, n->body->region->repeat);
        if (n->op == OP_CARRY)
                mark_carried(p, n->body->region->repeat, n->attr.index);
        if (n->op == OP_RESULT)
                mark_carried(p, n->in[0], n->attr.index);
        for (int i = 0; n->op != OP_REPEAT && i < n->nin; i++)
                mark(p, n->in[i]);
}

/* What an `along` carries on to the next call. */
static void mark_kept(Pruner *p, Node *along)
{
        mark(p, along);
        for (int i = 0; i < along->attr.region->ncarry; i++)
                mark_carried(p, along, i);
}

static void mark_appends(Pruner *p, const Body *body)
{
        for (int i = 0; i < body->nnode; i++) {
                Node *n = body->node[i];
                if (n->op == OP_APPEND || n->op == OP_KEEP || keeps_scan(n))
                        mark(p, n);
                if (keeps_carried(n))
                        mark_kept(p, n);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        mark_appends(p, n->attr.region->body[k]);
        }
}

static void mark_roots(Pruner *p)
{
        const Graph *g = p->g;
        for (int i = 0; i < g->noutput; i++)
                mark(p, g->output[i].node);
        for (int i = 0; i < g->nentry; i++)
                mark(p, g->entry[i].expr);
        mark_appends(p, g->top);
}

/* Removes the unneeded entries of a list; sets the new indices, counted from `first`. */
static int keep_live(Node **list, const bool *live, int *index, int n, int first)
{
        int kept = 0;
        for (int i = 0; i < n; i++) {
                index[i] = first + kept;
                if (live[i])
                        list[kept++] = list[i];
        }
        return kept;
}

static void prune_region(Pruner *p, Node *repeat)
{
        Region *region = repeat->attr.region;
        CarriedUse *c = carried_of(p, repeat);
        for (int i = 0, kept = 0; region->kept && i < c->ncarry; i++)
                if (c->live[i])
                        region->kept[kept++] = region->kept[i];
        region->ncarry = keep_live(repeat->in, c->live, c->index, c->ncarry, 0);
        repeat->nin = region->ncarry;
        for (int k = 0; k < region->nbody; k++) {
                Body *body = region->body[k];
                keep_live(body->next, c->live, c->index, c->ncarry, 0);
                region->nstack = keep_live(body->stack, c->live + c->ncarry, c->index + c->ncarry, c->nstack,
                                           region->ncarry);
        }
}

/* Weights may still refer to the regions of a removed repeat. */
static void leave_regions(const Node *n)
{
        if (n->op != OP_REPEAT)
                return;
        Region *region = n->attr.region;
        region->repeat = NULL;
        for (int k = 0; k < region->nbody; k++)
                for (int i = 0; i < region->body[k]->nnode; i++)
                        leave_regions(region->body[k]->node[i]);
}

static void prune_body(Pruner *p, Body *body)
{
        int kept = 0;
        for (int i = 0; i < body->nnode; i++) {
                Node *n = body->node[i];
                if (!p->live[n->id]) {
                        leave_regions(n);
                        continue;
                }
                body->node[kept++] = n;
                if (n->op == OP_CARRY)
                        n->attr.index = p->carried[body->region->repeat->id]->index[n->attr.index];
                if (n->op == OP_RESULT)
                        n->attr.index = p->carried[n->in[0]->id]->index[n->attr.index];
                if (n->op != OP_REPEAT)
                        continue;
                prune_region(p, n);
                for (int k = 0; k < n->attr.region->nbody; k++)
                        prune_body(p, n->attr.region->body[k]);
        }
        body->nnode = kept;
}

/* A live node is numbered once, then marked as not live. */
static void number_node(Pruner *p, Node *n, int *next)
{
        if (!p->live[n->id])
                return;
        p->live[n->id] = false;
        p->stack[(*next)++] = n;
}

static void number_body(Pruner *p, const Body *body, int *next)
{
        for (int i = 0; i < body->nnode; i++) {
                Node *n = body->node[i];
                number_node(p, n, next);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        number_body(p, n->attr.region->body[k], next);
        }
}

/* Nodes of checkpoint entries may be in separate bodies. */
static void prune_number(Pruner *p, Node *n, int *next)
{
        if (!p->live[n->id])
                return;
        for (int i = 0; i < n->nin; i++)
                prune_number(p, n->in[i], next);
        number_node(p, n, next);
}

static void number_all(Pruner *p)
{
        Graph *g = p->g;
        int next = 0;
        number_body(p, g->top, &next);
        for (int i = 0; i < g->nentry; i++)
                if (g->entry[i].expr)
                        prune_number(p, g->entry[i].expr, &next);
        for (int i = 0; i < next; i++)
                p->stack[i]->id = i;
        g->nnode = next;
}

static void mark_all(Pruner *p)
{
        while (p->depth > 0)
                mark_inputs(p, p->stack[--p->depth]);
}

static Pruner pruner_new(Graph *g)
{
        Pruner p = {.g = g};
        p.live = NEW_ARRAY(&p.scratch, bool, g->nnode);
        p.carried = NEW_ARRAY(&p.scratch, CarriedUse *, g->nnode);
        p.stack = NEW_ARRAY(&p.scratch, Node *, g->nnode);
        return p;
}

Needed outputs_need(Arena *arena, Graph *g)
{
        Pruner p = pruner_new(g);
        Needed needed = {NEW_ARRAY(arena, bool, g->nnode), NEW_ARRAY(arena, bool *, g->nnode)};
        for (int i = 0; i < g->noutput; i++)
                if (!g->output[i].tap)
                        mark(&p, g->output[i].node);
        mark_all(&p);
        memcpy(needed.node, p.live, (size_t)g->nnode * sizeof *needed.node);
        for (int i = 0; i < g->nnode; i++) {
                const CarriedUse *c = p.carried[i];
                int n = c ? c->ncarry + c->nstack : 0;
                needed.result[i] = c ? NEW_ARRAY(arena, bool, n) : NULL;
                if (n)
                        memcpy(needed.result[i], c->live, (size_t)n * sizeof *c->live);
        }
        arena_free(&p.scratch);
        return needed;
}

/* Marks the nodes that the outputs with this bit need; 0: that states need. */
static void prune_want(Graph *g, uint64_t bit)
{
        Pruner p = pruner_new(g);
        for (int i = 0; i < g->noutput; i++)
                if (output_bit(g, i) == bit)
                        mark(&p, g->output[i].node);
        if (!bit)
                mark_appends(&p, g->top);
        mark_all(&p);
        for (int i = 0; i < g->nnode; i++)
                if (p.live[i])
                        g->wanted[i] |= bit ? bit : ~UINT64_C(0);
        arena_free(&p.scratch);
}

void find_wanted(Graph *g)
{
        uint64_t done = 0;
        g->wanted = NEW_ARRAY(g->arena, uint64_t, g->nnode);
        g->nwanted = g->nnode;
        prune_want(g, 0);
        for (int i = 0; i < g->noutput; i++) {
                uint64_t bit = output_bit(g, i);
                if (!(done & bit))
                        prune_want(g, bit);
                done |= bit;
        }
        for (int i = 0; i < g->nnode; i++) /* without the simplify pass there may be unneeded nodes */
                if (!g->wanted[i])
                        g->wanted[i] = WANTED_BY_NOTHING;
}

void prune(Graph *g)
{
        Pruner p = pruner_new(g);
        mark_roots(&p);
        mark_all(&p);
        prune_body(&p, g->top);
        number_all(&p);
        arena_free(&p.scratch);
}
