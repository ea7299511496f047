/* Stages: the dependencies of each node, propagated from inputs to users; and loop-invariant code motion.
 *
 *   before                                    after
 *   repeat layer: 32                          angle = index x theta
 *       angle = index x theta                 c = cos angle
 *       c = cos angle                         repeat layer: 32
 *       y = x c                                   y = x c
 *
 * A node stays in its repeat if it depends on the iteration: a weight with slots, a constant with a row per
 * iteration, a carried value, state, the position of an `along`, or a value computed from these.  Leaves and constants also stay unless a
 * moved node uses them. */
#include "graph.h"

#include <string.h>

/* --- dependencies of nodes --- */

static void stage_join(Stage *into, const Stage *from)
{
        into->weights |= from->weights;
        into->groups |= from->groups;
        into->state |= from->state;
        into->named |= from->named;
        into->lengths |= from->lengths;
        into->iterations |= from->iterations;
}

static unsigned named_in(const Graph *g, Dim d)
{
        unsigned named = 0;
        for (int i = 0; i < MAX_NAMED; i++)
                if (d.per[i] != 0 && (i < NAMED_ALONG || i >= NAMED_ALONG + MAX_ALONG))
                        named |= 1u << (i == g->past ? g->time : i);
        return named;
}

static unsigned named_in_type(const Graph *g, const Type *t)
{
        unsigned named = 0;
        for (int i = 0; i < t->rank; i++)
                named |= named_in(g, t->dim[i]);
        return named;
}

/* Lengths for a view: offsets from an end, and merged axes that contain a length. */
static unsigned view_lengths(const Graph *g, const Node *n)
{
        const View *v = n->attr.view;
        unsigned lengths = 0;
        for (int a = 0; a < n->in[0]->type.rank; a++)
                lengths |= named_in(g, v->offset[a]);
        for (int i = 1; i < v->natom; i++)
                if (v->atom[i].out == v->atom[i - 1].out)
                        lengths |= named_in(g, v->atom[i].size);
        return lengths;
}

unsigned stage_lengths(const Graph *g, const Node *n)
{
        const Type *t = n->nin ? &n->in[0]->type : &n->type;
        unsigned lengths = 0;
        switch ((int)n->op) {
        case OP_AMONG:
        case OP_SIZE: return named_in(g, n->attr.dim);
        case OP_SUM:
        case OP_MAXOF:
        case OP_ARGMAX: return named_in(g, t->dim[n->attr.axis]);
        case OP_SOFTMAX:
        case OP_TOP:
        case OP_CHOSEN:
        case OP_MATMUL: return named_in(g, t->dim[t->rank - 1]);
        case OP_PAD:
        case OP_JOIN: return named_in(g, n->type.dim[n->attr.axis]);
        case OP_VIEW: return view_lengths(g, n);
        case OP_GATHER:
                for (int i = 0; i < n->nin - 1; i++)
                        lengths |= named_in(g, t->dim[i]);
                return lengths;
        default: return 0;
        }
}

bool takes_position(const Node *n)
{
        if (n->op == OP_SIZE)
                return names_position(n->attr.dim);
        for (int a = 0; n->op == OP_VIEW && a < n->in[0]->type.rank; a++)
                if (names_position(n->attr.view->offset[a]))
                        return true;
        return false;
}

/* Dependencies that the op adds to those of its inputs. */
static Stage own_stage(const Graph *g, const Node *n)
{
        Stage s = {.named = named_in_type(g, &n->type), .lengths = stage_lengths(g, n)};
        switch ((int)n->op) {
        case OP_INPUT: s.groups = UINT64_C(1) << (g->input[n->attr.index].group & 63); break;
        case OP_WEIGHT:
                s.weights = true;
                s.iterations = n->attr.slot < 0 && n->attr.weight->nregion > 0;
                break;
        case OP_CONST: s.iterations = n->attr.literal->iterations > 1; break;
        case OP_READ:
        case OP_APPEND:
        case OP_KEEP:
        case OP_KEPT:
                s.state = true;
                s.iterations = n->body->region != NULL;
                break;
        case OP_SCAN:
                s.state = n->attr.state != NULL;
                s.iterations = s.state && n->body->region != NULL;
                break;
        case OP_SIZE:
        case OP_VIEW: s.iterations = takes_position(n); break;
        default: break;
        }
        return s;
}

typedef struct {
        const Graph *g;
        Stage *of;     /* by id */
        Stage **leave; /* [nnode] of a repeat: stages of its results */
        Arena *arena;
} Stages;

static void body_stages(Stages *s, const Body *body, const Stage *carry);

static bool stage_equal(const Stage *a, const Stage *b)
{
        return a->weights == b->weights && a->groups == b->groups && a->state == b->state &&
               a->named == b->named && a->lengths == b->lengths && a->iterations == b->iterations;
}

/* Dependencies of carried values grow until they no longer change. */
static void repeat_stages(Stages *s, const Node *n)
{
        const Region *r = n->attr.region;
        Stage *carry = NEW_ARRAY(s->arena, Stage, r->ncarry + r->nstack);
        for (int i = 0; i < r->ncarry; i++) {
                carry[i] = s->of[n->in[i]->id];
                carry[i].iterations = true;
                carry[i].state |= r->kept != NULL;
        }
        for (bool changed = true; changed;) {
                changed = false;
                for (int k = 0; k < r->nbody; k++)
                        body_stages(s, r->body[k], carry);
                for (int i = 0; i < r->ncarry + r->nstack; i++) {
                        Stage before = carry[i];
                        for (int k = 0; k < r->nbody; k++) {
                                const Body *b = r->body[k];
                                stage_join(
                                        &carry[i],
                                        &s->of[(i < r->ncarry ? b->next[i] : b->stack[i - r->ncarry])->id]);
                        }
                        changed |= !stage_equal(&before, &carry[i]);
                }
        }
        s->leave[n->id] = carry;
}

static void body_stages(Stages *s, const Body *body, const Stage *carry)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                Stage stage = own_stage(s->g, n);
                if (n->op == OP_REPEAT)
                        repeat_stages(s, n);
                if (n->op == OP_CARRY)
                        stage_join(&stage, &carry[n->attr.index]);
                for (int k = 0; k < n->nin && n->op != OP_RESULT; k++)
                        stage_join(&stage, &s->of[n->in[k]->id]);
                if (n->op == OP_RESULT) {
                        Stage left = s->leave[n->in[0]->id][n->attr.index];
                        /* of the enclosing repeats; a safe assumption */
                        left.iterations = n->body->region != NULL;
                        stage_join(&stage, &left);
                }
                s->of[n->id] = stage;
        }
}

Stage *stage_of(Arena *arena, const Graph *g)
{
        Stages s = {.g = g, .arena = arena};
        s.of = NEW_ARRAY(arena, Stage, g->nnode);
        s.leave = NEW_ARRAY(arena, Stage *, g->nnode);
        body_stages(&s, g->top, NULL);
        return s.of;
}

/* --- hoisting --- */

/* Whether the node must stay in its body. */
static bool stage_is_bound(const Node *n)
{
        return n->op == OP_CARRY || n->op == OP_REPEAT || n->op == OP_RESULT || n->op == OP_READ ||
               n->op == OP_APPEND || n->op == OP_KEEP || n->op == OP_KEPT || keeps_scan(n);
}

static bool node_is_in(const Node *n, const Body *body)
{
        return n->body == body;
}

static bool node_is_leaf(const Node *n)
{
        return op_info[n->op].family == LEAF;
}

/* Whether the node, with the leaves that it reads, can be computed before its repeat. */
static bool can_leave(const Stage *stage, const Node *n, const Body *body)
{
        if (stage_is_bound(n) || node_is_leaf(n) || stage[n->id].iterations)
                return false;
        for (int i = 0; i < n->nin; i++)
                if (node_is_in(n->in[i], body) && (!node_is_leaf(n->in[i]) || stage_is_bound(n->in[i])))
                        return false;
        return true;
}

static void move_node(Graph *g, Body *to, Node *n)
{
        n->body = to;
        body_append(g, to, n);
}

/* Moves the nodes that can leave `body` to the end of `to`, and closes the gaps. */
static void hoist_body(Graph *g, const Stage *stage, Body *body, Body *to)
{
        for (int i = 0; i < body->nnode; i++) {
                Node *n = body->node[i];
                if (!can_leave(stage, n, body))
                        continue;
                for (int k = 0; k < n->nin; k++)
                        if (node_is_in(n->in[k], body))
                                move_node(g, to, n->in[k]);
                move_node(g, to, n);
        }
        int kept = 0;
        for (int i = 0; i < body->nnode; i++)
                if (node_is_in(body->node[i], body))
                        body->node[kept++] = body->node[i];
        body->nnode = kept;
}

/* Rebuilds a body's node list with hoisted nodes before each repeat; inner repeats first, so that nodes
 * can leave several. */
static void hoist_repeats(Graph *g, const Stage *stage, Body *body)
{
        Body old = *body;
        body->node = NULL;
        body->nnode = body->cap = 0;
        for (int i = 0; i < old.nnode; i++) {
                Node *n = old.node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++) {
                        hoist_repeats(g, stage, n->attr.region->body[k]);
                        hoist_body(g, stage, n->attr.region->body[k], body);
                }
                body_append(g, body, n);
        }
}

Graph *hoist(Graph *g)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        hoist_repeats(g, stage_of(&scratch, g), g->top);
        arena_free(&scratch);
        return g;
}
