/* The interpreter of graphs: evaluates every node in order, in double precision.
 *
 * Nothing is rearranged, fused or rounded, since compiled code is checked against it.  A body's nodes are
 * evaluated once for each iteration that uses it; a value is kept until its last use.  Only the requested
 * nodes and their inputs are computed and, if state is passed, the values that appends store.
 *
 * Before: a graph that verify accepts.  After: the values of the requested nodes in separate memory.  The
 * state contains the rows that appends stored; after an error it is unchanged. */
#include "interpret_private.h"

#include <stdlib.h>
#include <string.h>

/* --- memory --- */

void interpret_fail(Interp *it, const char *error)
{
        if (!it->error)
                it->error = error;
}

InterpValue *interpreted_new(Interp *it, int64_t count)
{
        InterpValue *v = NULL;
        if (count >= 0 && (uint64_t)count < (SIZE_MAX - sizeof *v) / sizeof(double) / 2)
                v = malloc(sizeof *v + (size_t)count * sizeof(double));
        if (!v) {
                interpret_fail(it, no_memory);
                return NULL;
        }
        v->refs = 1;
        v->count = count;
        v->from = &it->all;
        v->after = it->all;
        if (v->after)
                v->after->from = &v->after;
        it->all = v;
        return v;
}

InterpValue *interpreted_share(InterpValue *v)
{
        v->refs++;
        return v;
}

void interpreted_drop(InterpValue *v)
{
        if (!v || --v->refs > 0)
                return;
        *v->from = v->after;
        if (v->after)
                v->after->from = v->from;
        free(v);
}

static void drop_node(Interp *it, const Node *n)
{
        interpreted_drop(it->value[n->id]);
        it->value[n->id] = NULL;
        if (!it->result[n->id])
                return;
        for (int i = 0; i < n->attr.region->ncarry + n->attr.region->nstack; i++)
                interpreted_drop(it->result[n->id][i]);
        free(it->result[n->id]);
        it->result[n->id] = NULL;
}

/* --- needed nodes, and their lifetimes --- */

static bool body_keeps_state(const Body *body);

static bool keeps_state(const Node *n)
{
        if (n->op == OP_APPEND || n->op == OP_KEEP || keeps_scan(n) || keeps_carried(n))
                return true;
        for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                if (body_keeps_state(n->attr.region->body[k]))
                        return true;
        return false;
}

static bool body_keeps_state(const Body *body)
{
        for (int i = 0; i < body->nnode; i++)
                if (keeps_state(body->node[i]))
                        return true;
        return false;
}

/* Backwards, since inputs precede their users. */
static void interp_mark_needed(Interp *it, const Body *body)
{
        for (int i = body->nnode - 1; i >= 0; i--) {
                const Node *n = body->node[i];
                if (it->state && keeps_state(n))
                        it->needed[n->id] = true;
                if (!it->needed[n->id])
                        continue;
                const Region *region = n->op == OP_REPEAT ? n->attr.region : NULL;
                for (int k = 0; region && k < region->nbody; k++) {
                        for (int j = 0; j < region->ncarry; j++)
                                it->needed[region->body[k]->next[j]->id] = true;
                        for (int j = 0; j < region->nstack; j++)
                                it->needed[region->body[k]->stack[j]->id] = true;
                        interp_mark_needed(it, region->body[k]);
                }
                for (int j = 0; j < n->nin; j++)
                        it->needed[n->in[j]->id] = true;
        }
}

/* The user of a node within its own body: the user itself, or the repeat that contains it. */
static const Node *user_in_body(const Node *used, const Body *from, const Node *user)
{
        while (from && from != used->body) {
                user = from->region ? from->region->repeat : NULL;
                from = user ? user->body : NULL;
        }
        return user;
}

/* last_user[id]: NULL if the value is needed until the end of its body. */
static void find_last_uses(const Interp *it, const Body *body, const Node **last_user)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                if (!it->needed[n->id])
                        continue;
                const Region *region = n->op == OP_REPEAT ? n->attr.region : NULL;
                for (int k = 0; region && k < region->nbody; k++) {
                        const Body *inner = region->body[k];
                        find_last_uses(it, inner, last_user);
                        for (int j = 0; j < region->ncarry; j++)
                                last_user[inner->next[j]->id] = user_in_body(inner->next[j], inner, NULL);
                        for (int j = 0; j < region->nstack; j++)
                                last_user[inner->stack[j]->id] = user_in_body(inner->stack[j], inner, NULL);
                }
                for (int j = 0; j < n->nin; j++)
                        last_user[n->in[j]->id] = user_in_body(n->in[j], body, n);
        }
}

static void list_dead(Interp *it, const Body *body, const Node *const *last_user)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        list_dead(it, n->attr.region->body[k], last_user);
                const Node *user = last_user[n->id];
                if (!user)
                        continue;
                it->next_dead[n->id] = it->first_dead[user->id];
                it->first_dead[user->id] = i;
        }
}

/* --- leaves --- */

/* Number of the iteration, counted over the regions of the frame down to `region`, outermost slowest. */
int64_t interpreted_iteration(const InterpFrame *frame, const Region *region)
{
        while (frame && frame->region != region)
                frame = frame->outer;
        if (!frame || !region)
                return 0;
        const int64_t outer = interpreted_iteration(frame->outer, region->repeat->body->region);
        if (region->along) /* no slot for each position */
                return outer;
        return outer * region->iterations + frame->iteration;
}

static int64_t weight_slot(const Interp *it, const Node *n)
{
        const Weight *w = n->attr.weight;
        if (n->attr.slot >= 0)
                return n->attr.slot;
        int64_t iteration = 0;
        for (int r = 0; r < w->nregion; r++) {
                const InterpFrame *frame = it->frame;
                while (frame && frame->region != w->region[r])
                        frame = frame->outer;
                iteration = iteration * w->region[r]->iterations + (frame ? frame->iteration : 0);
        }
        return w->slot_of ? w->slot_of[iteration] : iteration;
}

static void load_weight(Interp *it, const Node *n, double *out)
{
        int64_t slot = weight_slot(it, n);
        const Weight *w = n->attr.weight;
        const WeightSource *source = it->weights;
        if (slot < 0 || !source || !source->weight(source->from, w, slot, out)) {
                const char *why = source && source->why ? source->why(source->from) : NULL;
                interpret_fail(it, why ? why : no_memory_or_file);
        }
}

static void load_literal(const Interp *it, const Node *n, double *out)
{
        const Literal *literal = n->attr.literal;
        int64_t iteration = it->frame ? it->frame->iteration : 0;
        for (int64_t i = 0; i < literal->count; i++)
                out[i] = literal_at(n, iteration, i);
}

static bool interp_check_input(Interp *it, const Input *input, const Tensor *t)
{
        bool fits = t->rank == input->type.rank;
        for (int i = 0; fits && i < t->rank; i++)
                fits = t->dim[i] == dim_value(input->type.dim[i], it->size);
        if (!fits) {
                interpret_fail(it, arena_printf(it->g->arena, "input %s should have shape %s", input->name,
                                                type_text(it->g->arena, it->g, &input->type)));
                return false;
        }
        int64_t count = type_count(&input->type, it->size);
        for (int64_t i = 0; input->bound > 0 && i < count; i++) {
                if (t->data[i] >= 0 && t->data[i] < (double)input->bound &&
                    t->data[i] == (double)(int64_t)t->data[i])
                        continue;
                interpret_fail(it, arena_printf(it->g->arena,
                                                "input %s: %g at %lld is not a whole number from 0 to %lld",
                                                input->name, t->data[i], (long long)i,
                                                (long long)input->bound - 1));
                return false;
        }
        return true;
}

/* --- bodies and repeats --- */

static void interpret_body(Interp *it, const Body *body);

/* in: values of the inputs.  An append joins its inputs as JOIN does. */
static InterpValue *run_op(Interp *it, const Node *n)
{
        InterpValue *out = interpreted_new(it, type_count(&n->type, it->size));
        if (!out)
                return NULL;
        const double *in[256];
        for (int i = 0; i < n->nin; i++)
                in[i] = it->value[n->in[i]->id]->data;
        switch (n->op) {
        case OP_INPUT:
                if (interp_check_input(it, &it->g->input[n->attr.index], &it->input[n->attr.index]) &&
                    out->count)
                        memcpy(out->data, it->input[n->attr.index].data,
                               (size_t)out->count * sizeof *out->data);
                break;
        case OP_WEIGHT: load_weight(it, n, out->data); break;
        case OP_CONST: load_literal(it, n, out->data); break;
        case OP_READ: interpret_read_state(it, n, out->data); break;
        case OP_KEPT: interpret_read_kept(it, n, out); break;
        case OP_KEEP:
                if (out->count)
                        memcpy(out->data, in[0], (size_t)out->count * sizeof *out->data);
                interpret_append(it, n, out);
                break;
        case OP_APPEND: {
                Node join = *n;
                join.op = OP_JOIN;
                evaluate(&join, it->size, in, out->data);
                interpret_append(it, n, out);
                break;
        }
        case OP_SCAN:
                if (n->attr.state) {
                        interpret_scan(it, n, in, out->data);
                        break;
                } /* fall through */
        default: evaluate(n, it->size, in, out->data); break;
        }
        for (int64_t i = 0; it->rounded && n->type.dtype == REAL && i < out->count; i++)
                out->data[i] = (float)out->data[i];
        if (interrupted)
                interpret_fail(it, "interrupted");
        return out;
}

/* Runs one iteration, or position.  carry[]: carried values, replaced by those at its end. */
static void interp_iteration(Interp *it, const Region *region, int64_t iteration, InterpValue **carry,
                             InterpValue **stack)
{
        const Body *body = region->body[region->along ? 0 : region->body_of[iteration]];
        InterpFrame frame = {it->frame, region, region->along ? 0 : iteration, carry};
        if (region->along)
                it->size[NAMED_ALONG + region->along - 1] = iteration;
        it->frame = &frame;
        interpret_body(it, body);
        it->frame = frame.outer;
        for (int i = 0; !it->error && i < region->nstack; i++) {
                const InterpValue *each = it->value[body->stack[i]->id];
                if (each->count)
                        memcpy(stack[i]->data + iteration * each->count, each->data,
                               (size_t)each->count * sizeof(double));
        }
        for (int i = 0; !it->error && i < region->ncarry; i++)
                interpreted_share(it->value[body->next[i]->id]); /* before any of the values is released */
        for (int i = 0; !it->error && i < region->ncarry; i++) {
                interpreted_drop(carry[i]);
                carry[i] = it->value[body->next[i]->id];
        }
        for (int i = 0; i < body->nnode; i++)
                drop_node(it, body->node[i]);
}

static void interp_repeat(Interp *it, const Node *n)
{
        const Region *region = n->attr.region;
        const int64_t runs =
                region->along ? dim_value(positions_of(it->g, region), it->size) : region->iterations;
        InterpValue **result = calloc((size_t)(region->ncarry + region->nstack) + 1, sizeof *result);
        if (!result) {
                interpret_fail(it, no_memory);
                return;
        }
        it->result[n->id] = result;
        for (int i = 0; i < region->ncarry; i++)
                result[i] = interpreted_share(it->value[n->in[i]->id]);
        for (int i = 0; region->kept && i < region->ncarry; i++)
                interpret_continue(it, n, i, &result[i]);
        for (int i = 0; i < region->nstack; i++) {
                int64_t count = type_count(&region->body[0]->stack[i]->type, it->size);
                result[region->ncarry + i] = interpreted_new(it, runs * count);
        }
        for (int64_t iteration = 0; !it->error && iteration < runs; iteration++)
                interp_iteration(it, region, iteration, result, result + region->ncarry);
        for (int i = 0; !it->error && region->kept && i < region->ncarry; i++)
                interpret_hand_on(it, n, i, result[i]);
}

static void run_node(Interp *it, const Node *n)
{
        if (n->op == OP_REPEAT)
                interp_repeat(it, n);
        else if (n->op == OP_CARRY)
                it->value[n->id] = interpreted_share(it->frame->carry[n->attr.index]);
        else if (n->op == OP_RESULT)
                it->value[n->id] = interpreted_share(it->result[n->in[0]->id][n->attr.index]);
        else
                it->value[n->id] = run_op(it, n);
}

static void interpret_body(Interp *it, const Body *body)
{
        for (int i = 0; i < body->nnode && !it->error; i++) {
                const Node *n = body->node[i];
                if (!it->needed[n->id])
                        continue;
                run_node(it, n);
                for (int dead = it->first_dead[n->id]; dead >= 0; dead = it->next_dead[body->node[dead]->id])
                        drop_node(it, body->node[dead]);
        }
}

/* --- the whole --- */

/* Allocates the tables by id.  False: out of memory. */
static bool interp_prepare(Interp *it, Node *const *want, int nwant)
{
        size_t n = (size_t)it->g->nnode + 1;
        const Node **last_user = calloc(n, sizeof *last_user);
        it->needed = calloc(n, sizeof *it->needed);
        it->value = calloc(n, sizeof *it->value);
        it->result = calloc(n, sizeof *it->result);
        it->first_dead = malloc(n * sizeof *it->first_dead);
        it->next_dead = malloc(n * sizeof *it->next_dead);
        bool complete = last_user && it->needed && it->value && it->result && it->first_dead && it->next_dead;
        if (complete) {
                memset(it->first_dead, -1, n * sizeof *it->first_dead);
                for (int i = 0; i < nwant; i++)
                        it->needed[want[i]->id] = true;
                interp_mark_needed(it, it->g->top);
                find_last_uses(it, it->g->top, last_user);
                for (int i = 0; i < nwant; i++)
                        last_user[want[i]->id] = NULL;
                list_dead(it, it->g->top, last_user);
        }
        free(last_user);
        return complete;
}

static void copy_out(Interp *it, const Node *n, Tensor *t)
{
        const InterpValue *v = it->value[n->id];
        t->data = malloc((size_t)v->count * sizeof *t->data + 1);
        if (!t->data) {
                interpret_fail(it, no_memory);
                return;
        }
        memcpy(t->data, v->data, (size_t)v->count * sizeof *t->data);
        t->rank = n->type.rank;
        for (int i = 0; i < t->rank; i++)
                t->dim[i] = dim_value(n->type.dim[i], it->size);
}

static void interp_release(Interp *it)
{
        for (InterpValue *v = it->all, *after; v; v = after) {
                after = v->after;
                free(v);
        }
        for (int i = 0; it->result && i < it->g->nnode; i++)
                free(it->result[i]);
        free(it->needed);
        free(it->value);
        free(it->result);
        free(it->first_dead);
        free(it->next_dead);
}

static void interp_check_sizes(Interp *it)
{
        const Graph *g = it->g;
        for (int i = 0; i < g->nnamed; i++) {
                int64_t least = g->time >= 0 && i == g->past ? 0 : 1;
                if (it->size[i] < least || it->size[i] > g->named[i].bound)
                        interpret_fail(it, arena_printf(g->arena, "size %s is %lld: it may be %lld to %lld",
                                                        g->named[i].name, (long long)it->size[i],
                                                        (long long)least, (long long)g->named[i].bound));
        }
}

static const char *run_nodes(Interp *it, Node *const *want, int nwant, Tensor *output)
{
        memset(output, 0, (size_t)nwant * sizeof *output);
        interp_check_sizes(it);
        if (!it->error && !interp_prepare(it, want, nwant))
                interpret_fail(it, no_memory);
        if (!it->error)
                interpret_body(it, it->g->top);
        for (int i = 0; i < nwant && !it->error; i++)
                copy_out(it, want[i], &output[i]);
        interpret_settle(it);
        interp_release(it);
        for (int i = 0; it->error && i < nwant; i++)
                tensor_free(&output[i]);
        return it->error;
}

const char *interpret_nodes(const Graph *g, const int64_t *size, const Tensor *input,
                            const WeightSource *weights, InterpState *state, Node *const *want, int nwant,
                            Tensor *output)
{
        Interp it = {.g = g, .input = input, .weights = weights, .state = state};
        memcpy(it.size, size, (size_t)g->nnamed * sizeof *size);
        return run_nodes(&it, want, nwant, output);
}

static Node **outputs_of(const Graph *g)
{
        Node **want = NEW_ARRAY(g->arena, Node *, g->noutput);
        for (int i = 0; i < g->noutput; i++)
                want[i] = g->output[i].node;
        return want;
}

const char *interpret(const Graph *g, const int64_t *size, const Tensor *input, const WeightSource *weights,
                      InterpState *state, Tensor *output)
{
        return interpret_nodes(g, size, input, weights, state, outputs_of(g), g->noutput, output);
}

const char *interpret_rounded(const Graph *g, const int64_t *size, const Tensor *input,
                              const WeightSource *weights, InterpState *state, Tensor *output)
{
        Interp it = {.g = g, .input = input, .weights = weights, .state = state, .rounded = true};
        memcpy(it.size, size, (size_t)g->nnamed * sizeof *size);
        return run_nodes(&it, outputs_of(g), g->noutput, output);
}

void tensor_free(Tensor *t)
{
        free(t->data);
        *t = (Tensor){0};
}
