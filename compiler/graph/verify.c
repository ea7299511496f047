/* The graph's invariants, checked after every pass.
 *
 *   nodes      ids unique and below nnode; inputs precede their users, in the same body or an outer one;
 *              the type is the one that build infers
 *   views      atoms in order of their output axis; for all sizes the map stays within its input
 *   constants  one value per element, for one iteration or for each iteration of the region
 *   weights    a slot for every iteration whose bodies contain the node
 *   regions    every iteration has a body; carried values have the same type at the start and end of an
 *              iteration; stacked values have the same type in all bodies
 *   graph      outputs are in the top body
 *
 * A violation is a bug in lathe: the node is printed with its source line, and the program aborts. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
        const Graph *g;
        const char *after;
        bool *seen; /* by id */
} Verifier;

_Noreturn static void broken(const Verifier *v, const Node *n, const char *what)
{
        fflush(stdout);
        fprintf(stderr, "lathe: after %s: %s\n", v->after, what);
        if (n) {
                graph_print_node(stderr, v->g, n);
                if (n->span.source) {
                        int32_t length;
                        int line = span_line(n->span);
                        const char *text = source_line_text(n->span.source, line, &length);
                        fprintf(stderr, "%s:%d: %.*s\n", n->span.source->path, line, (int)length, text);
                }
        }
        abort();
}

static void verify_that(const Verifier *v, const Node *n, bool holds, const char *what)
{
        if (!holds)
                broken(v, n, what);
}

/* The enclosing body, or NULL. */
static const Body *outer_body(const Body *body)
{
        return body->region && body->region->repeat ? body->region->repeat->body : NULL;
}

static bool is_visible(const Verifier *v, const Node *n, const Body *from)
{
        if (!n || n->id < 0 || n->id >= v->g->nnode || !v->seen[n->id])
                return false;
        return is_visible_from(n, from);
}

static void check_type(const Verifier *v, const Node *n)
{
        Type type;
        verify_that(v, n, infer_type((Graph *)v->g, NULL, n, &type), "the inputs do not fit the op");
        verify_that(v, n, type_equal(&type, &n->type),
                    "the type is not the one that follows from the inputs");
        for (int i = 0; i < type.rank; i++) {
                verify_that(v, n, dim_least(v->g, type.dim[i]) >= 0, "a size may be negative");
                verify_that(v, n, !names_position(type.dim[i]), "a size that depends on a position");
        }
        verify_that(v, n, !takes_position(n) || along_around(n->body), "a position outside of an along");
}

static void check_view(const Verifier *v, const Node *n)
{
        const View *view = n->attr.view;
        const Type *in = &n->in[0]->type;
        Dim last[MAX_RANK];
        bool empty = false;
        memcpy(last, view->offset, sizeof last);
        for (int i = 0; i < n->type.rank; i++)
                empty = empty || dim_is(n->type.dim[i], 0);
        for (int i = 0; i < view->natom; i++) {
                const Atom *atom = &view->atom[i];
                int before = i ? view->atom[i - 1].out : -1;
                verify_that(v, n, atom->out == before || atom->out == before + 1, "atoms out of order");
                verify_that(v, n, atom->axis >= -1 && atom->axis < in->rank,
                            "an atom moves an axis that is not there");
                verify_that(v, n, atom->axis >= 0 ? atom->stride > 0 : atom->stride == 0, "an atom's stride");
                if (atom->axis >= 0)
                        last[atom->axis] = dim_add(
                                last[atom->axis], dim_scale(dim_sub(atom->size, dim_fixed(1)), atom->stride));
        }
        for (int axis = 0; axis < in->rank; axis++) {
                Dim room = dim_sub(dim_sub(in->dim[axis], dim_fixed(1)), last[axis]);
                verify_that(v, n, dim_least(v->g, view->offset[axis]) >= 0, "a view begins before its input");
                verify_that(v, n, empty || dim_least(v->g, room) >= 0, "a view ends beyond its input");
        }
}

static void check_literal(const Verifier *v, const Node *n)
{
        const Literal *literal = n->attr.literal;
        static const int64_t none[MAX_NAMED];
        verify_that(v, n, literal && literal->value, "a constant without values");
        verify_that(v, n, type_is_fixed(&n->type), "a constant of unknown size");
        verify_that(v, n, literal->count == type_count(&n->type, none),
                    "a constant's values are not as many as its elements");
        const Region *region = n->body->region;
        verify_that(v, n, literal->iterations == 1 || (region && literal->iterations == region->iterations),
                    "a constant's table does not have one row for each iteration");
}

/* The iterations that contain the node, from region r on, have a slot: in every region, the iteration's body is the
 * node's.  t: number of the iteration, counted over the regions before. */
static void check_reached(const Verifier *v, const Node *n, const Body *const *around, int r, int64_t t)
{
        const Weight *w = n->attr.weight;
        if (r == w->nregion) {
                verify_that(v, n, w->slot_of[t] >= 0, "an iteration without its weight");
                return;
        }
        const Region *region = w->region[r];
        for (int64_t i = 0; i < region->iterations; i++)
                if (region->body[region->body_of[i]] == around[r])
                        check_reached(v, n, around, r + 1, t * region->iterations + i);
}

static void check_slots(const Verifier *v, const Node *n)
{
        const Weight *w = n->attr.weight;
        const Body *around[4];
        int64_t iterations = 1;
        for (int r = 0; r < w->nregion; r++) {
                const Body *body = n->body;
                while (body && body->region != w->region[r])
                        body = outer_body(body);
                verify_that(v, n, body != NULL, "a weight of a region that is not around it");
                around[r] = body;
                iterations *= w->region[r]->iterations;
        }
        int64_t most = -1;
        for (int64_t t = 0; w->slot_of && t < iterations; t++)
                most = w->slot_of[t] > most ? w->slot_of[t] : most;
        verify_that(v, n, most < w->slots, "a slot that the weight does not have");
        if (w->slot_of)
                check_reached(v, n, around, 0, 0);
}

static void check_weight(const Verifier *v, const Node *n)
{
        const Weight *w = n->attr.weight;
        verify_that(v, n, w->id >= 0 && w->id < v->g->nweight && v->g->weight[w->id] == w,
                    "a weight that is not the graph's");
        verify_that(v, n, type_is_fixed(&w->type), "a weight of unknown size");
        verify_that(v, n, w->nregion <= 4 && w->slots >= 1, "a weight's regions and slots");
        verify_that(v, n, n->attr.slot < w->slots, "a slot that the weight does not have");
        if (n->attr.slot < 0)
                check_slots(v, n);
}

static void check_state(const Verifier *v, const Node *n)
{
        const StateVar *s = n->attr.state;
        verify_that(v, n, s->id >= 0 && s->id < v->g->nstate && v->g->state[s->id] == s,
                    "a state that is not the graph's");
        bool value = n->op == OP_KEEP || n->op == OP_KEPT || n->op == OP_SCAN;
        verify_that(v, n, n->attr.axis == s->axis && s->axis < s->type.rank, "a state's axis");
        verify_that(v, n, (s->axis < 0) == value, "a history is appended, a value kept");
        const int32_t *slot_of;
        Arena scratch = {0};
        int64_t slots = iteration_slots(&scratch, n->body, &slot_of);
        arena_free(&scratch);
        verify_that(v, n, n->op == OP_KEPT || s->region == n->body->region, "a state of another region");
        verify_that(v, n, s->slots == slots, "a state without one slot for each of its iterations");
}

static void check_carry(const Verifier *v, const Node *n)
{
        const Region *region = n->body->region;
        verify_that(v, n, region && n->attr.index >= 0 && n->attr.index < region->ncarry,
                    "a carried value that is not there");
        verify_that(v, n, type_equal(&n->type, &region->repeat->in[n->attr.index]->type),
                    "a carried value's type is not that of its first value");
}

static void verify_body(Verifier *v, const Body *body);

static void check_leaving(const Verifier *v, const Node *repeat, const Body *body)
{
        const Region *region = repeat->attr.region;
        for (int i = 0; i < region->ncarry; i++)
                verify_that(v, repeat, is_visible(v, body->next[i], body),
                            "a carried value does not leave the iteration");
        for (int i = 0; i < region->nstack; i++) {
                verify_that(v, repeat, is_visible(v, body->stack[i], body), "a stacked value is not there");
                verify_that(v, repeat, type_equal(&body->stack[i]->type, &region->body[0]->stack[i]->type),
                            "a stacked value's type differs between bodies");
        }
}

/* The state from which an `along` continues a carried value. */
static void check_carried(const Verifier *v, const Node *n, const StateVar *s, const Type *type)
{
        verify_that(v, n, n->attr.region->along && s->id < v->g->nstate && v->g->state[s->id] == s,
                    "a carried state that is not the graph's");
        verify_that(v, n, s->axis < 0 && type_equal(&s->type, type) && s->region == n->body->region,
                    "a carried state of another shape or region");
}

static void check_region(Verifier *v, const Node *n)
{
        const Region *region = n->attr.region;
        verify_that(v, n, region && region->repeat == n, "a repeat and its region do not know each other");
        verify_that(v, n, n->nin == region->ncarry, "a repeat does not start with what it carries");
        verify_that(v, n, region->iterations >= 1 && region->nbody >= 1 && region->nbody <= 256,
                    "a repeat's iterations and bodies");
        verify_that(v, n, region->along >= 0 && region->along <= v->g->nalong, "an along without positions");
        verify_that(v, n, !region->along || (region->iterations == 1 && region->nbody == 1),
                    "an along has one body");
        for (int i = 0; region->kept && i < region->ncarry; i++)
                check_carried(v, n, region->kept[i], &n->in[i]->type);
        for (int64_t t = 0; t < region->iterations; t++)
                verify_that(v, n, region->body_of[t] < region->nbody, "an iteration without a body");
        for (int k = 0; k < region->nbody; k++) {
                verify_that(v, n, region->body[k]->region == region, "a body of another region");
                verify_body(v, region->body[k]);
                check_leaving(v, n, region->body[k]);
        }
}

static void check_leaf(const Verifier *v, const Node *n)
{
        switch (n->op) {
        case OP_INPUT:
                verify_that(v, n, n->attr.index >= 0 && n->attr.index < v->g->ninput,
                            "an input that is not there");
                break;
        case OP_WEIGHT: check_weight(v, n); break;
        case OP_CONST: check_literal(v, n); break;
        case OP_INDEX:
                verify_that(v, n, n->type.rank == 1 && n->type.dtype == INT, "an index is one axis of ints");
                break;
        case OP_VIEW: check_view(v, n); break;
        case OP_READ:
        case OP_APPEND:
        case OP_KEEP:
        case OP_KEPT: check_state(v, n); break;
        case OP_SCAN:
                verify_that(v, n, n->attr.index == SCAN_SUMS || (n->attr.index == SCAN_MAXIMA && n->nin == 1),
                            "a scan of no kind that there is");
                if (n->attr.state)
                        check_state(v, n);
                break;
        case OP_CARRY: check_carry(v, n); break;
        default: break;
        }
}

static void verify_node(Verifier *v, const Node *n, const Body *body)
{
        verify_that(v, NULL, n && n->id >= 0 && n->id < v->g->nnode, "a node without a valid id");
        verify_that(v, n, !v->seen[n->id], "two nodes have one id, or a node stands twice");
        verify_that(v, n, n->body == body, "a node stands in another body than it says");
        for (int i = 0; i < n->nin; i++)
                verify_that(v, n, is_visible(v, n->in[i], body), "an input does not stand before its use");
        if (n->op == OP_RESULT) {
                verify_that(v, n, n->nin == 1 && n->in[0]->op == OP_REPEAT,
                            "a result of something else than a repeat");
                const Region *region = n->in[0]->attr.region;
                verify_that(v, n, n->attr.index >= 0 && n->attr.index < region->ncarry + region->nstack,
                            "a result that the repeat does not have");
        }
        check_leaf(v, n);
        if (n->op == OP_REPEAT)
                check_region(v, n);
        check_type(v, n);
        v->seen[n->id] = true;
}

static void verify_body(Verifier *v, const Body *body)
{
        for (int i = 0; i < body->nnode; i++)
                verify_node(v, body->node[i], body);
}

void verify(const Graph *g, const char *after)
{
        Arena scratch = {0};
        Verifier v = {g, after, NEW_ARRAY(&scratch, bool, g->nnode)};
        verify_body(&v, g->top);
        for (int i = 0; i < g->noutput; i++)
                verify_that(&v, g->output[i].node, is_visible(&v, g->output[i].node, g->top),
                            "an output is not in the top body");
        arena_free(&scratch);
}
