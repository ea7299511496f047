/* Accumulate: a sum over the stacked results of a repeat becomes a carried value.
 *
 *      y = over expert[e] : n { return gate[.., e..e+1] * f(x) }          stack  [n, T, d]
 *      sum(y, axis: 0)                                                    sum
 *   ->
 *      y = 0;  repeat expert[e] : n { y = where(g != 0, y + g * f(x), y) }        [T, d]
 *
 * So the iterations' results are not stored, and the sum is in the order of the iterations.  If the addend
 * has a gate (gate.c), rows whose gate is 0 keep their value: adding 0 changes no bit, and a NaN or infinity
 * in f(x) cannot reach the sum through a factor 0, for any batch of rows.  If all values of a body are
 * carried in this way, the body has an effect only for the rows of the gate; `choose` relies on this.
 *
 * Expects a verified graph.  Stacks with other readers than one sum are unchanged. */
#include "graph/graph.h"

#include <string.h>

/* Moves the nodes from `from` to the end before index `at`. */
static void move_tail(Graph *g, Body *b, int from, int at)
{
        int n = b->nnode - from;
        Node **tail = NEW_ARRAY(g->arena, Node *, n);
        memcpy(tail, b->node + from, (size_t)n * sizeof *tail);
        memmove(b->node + at + n, b->node + at, (size_t)(from - at) * sizeof *tail);
        memcpy(b->node + at, tail, (size_t)n * sizeof *tail);
}

static int node_index(const Body *b, const Node *n)
{
        int i = 0;
        while (b->node[i] != n)
                i++;
        return i;
}

static Node *pointwise_node(Graph *g, Body *b, Op op, int nin, Node *const *in, DType dtype, const Node *like)
{
        Type t = in[nin - 1]->type;
        t.dtype = dtype;
        return node_new(g, b, op, nin, in, (Attr){0}, t, like->span, like->where);
}

static Node *zero(Graph *g, Body *b, const Node *like)
{
        Literal *l = NEW(g->arena, Literal);
        l->iterations = l->count = 1;
        l->value = NEW_ARRAY(g->arena, double, 1);
        return node_new(g, b, OP_CONST, 0, NULL, (Attr){.literal = l}, (Type){.dtype = REAL}, like->span,
                        like->where);
}

/* carry + v, except in rows where the gate of v is 0 */
static Node *sum_with(Graph *g, Body *b, Node *carry, Node *v)
{
        Gate gate;
        Node *sum = pointwise_node(g, b, OP_ADD, 2, (Node *[]){carry, v}, REAL, v);
        sum->name = v->name;
        if (!find_gate(v, &gate))
                return sum;
        Node *none = pointwise_node(g, b, OP_EQUAL, 2, (Node *[]){zero(g, b, v), gate.factor}, BOOL, v);
        Node *some = pointwise_node(g, b, OP_NOT, 1, (Node *[]){none}, BOOL, v);
        return pointwise_node(g, b, OP_WHERE, 3, (Node *[]){some, sum, carry}, REAL, v);
}

/* Adds the gate to sums that are already carried. */
static void gate_carried(Graph *g, const Region *r)
{
        for (int k = 0; k < r->nbody; k++)
                for (int i = 0; i < r->ncarry; i++) {
                        Body *b = r->body[k];
                        Gate gate;
                        Node *v = added_to_carry(b, i);
                        if (!v || b->next[i]->op != OP_ADD || !find_gate(v, &gate) ||
                            !type_equal(&v->type, &b->next[i]->type))
                                continue;
                        Node *carry = b->next[i]->in[b->next[i]->in[0] == v];
                        b->next[i] = sum_with(g, b, carry, v);
                }
}

/* --- uses of a repeat's results --- */

typedef struct {
        Node *sum; /* its only user */
        int users;
} Stack;

static void count_use(Stack *of, const Node *n, Node *user)
{
        of[n->id].users++;
        of[n->id].sum = user;
}

static void count_uses(Stack *of, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                for (int k = 0; k < n->nin; k++)
                        count_use(of, n->in[k], n);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        count_uses(of, n->attr.region->body[k]);
        }
        for (int i = 0; b->region && i < b->region->ncarry + b->region->nstack; i++)
                count_use(of, i < b->region->ncarry ? b->next[i] : b->stack[i - b->region->ncarry], NULL);
}

static Stack *uses_of_all(Arena *a, const Graph *g)
{
        Stack *of = NEW_ARRAY(a, Stack, g->nnode);
        count_uses(of, g->top);
        for (int i = 0; i < g->noutput; i++)
                count_use(of, g->output[i].node, NULL);
        return of;
}

/* --- the rewrite --- */

/* Removes result `index` of the repeat from its bodies' stacks. */
static void drop_stack(Region *r, int stack)
{
        for (int b = 0; b < r->nbody; b++)
                for (int i = stack; i + 1 < r->nstack; i++)
                        r->body[b]->stack[i] = r->body[b]->stack[i + 1];
        r->nstack--;
}

/* Adds one carried value, to which each body adds its stacked value. */
static void carry_sum(Graph *g, Region *r, int stack, const Type *t)
{
        for (int k = 0; k < r->nbody; k++) {
                Body *b = r->body[k];
                Node *v = b->stack[stack];
                int end = b->nnode;
                Node *carry =
                        node_new(g, b, OP_CARRY, 0, NULL, (Attr){.index = r->ncarry}, *t, v->span, v->where);
                carry->name = v->name;
                move_tail(g, b, end, 0);
                Node **next = NEW_ARRAY(g->arena, Node *, r->ncarry + 1);
                if (r->ncarry)
                        memcpy(next, b->next, (size_t)r->ncarry * sizeof *next);
                next[r->ncarry] = sum_with(g, b, carry, v);
                b->next = next;
        }
}

/* The sum's node becomes a view of the new carried value. */
static void replace_sum(Graph *g, Node *result, Node *sum, const Type *t)
{
        Node *repeat = result->in[0];
        Body *b = repeat->body;
        Region *r = repeat->attr.region;
        int stack = result->attr.index - r->ncarry, end = b->nnode;
        Node *start = view_broadcast(g, b, zero(g, b, sum), t, sum->span, sum->where);
        move_tail(g, b, end, node_index(b, repeat));
        carry_sum(g, r, stack, t);
        Node **in = NEW_ARRAY(g->arena, Node *, repeat->nin + 1);
        if (repeat->nin)
                memcpy(in, repeat->in, (size_t)repeat->nin * sizeof *in);
        in[repeat->nin++] = start;
        repeat->in = in;
        drop_stack(r, stack);
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                if (n->op == OP_RESULT && n->in[0] == repeat && n != result)
                        n->attr.index += n->attr.index < r->ncarry           ? 0
                                         : n->attr.index < r->ncarry + stack ? 1
                                                                             : 0;
        }
        result->attr.index = r->ncarry++;
        result->type = *t;
        Node *lifted = view_rank(g, b, result, t->rank + 1, sum->span, sum->where);
        b->nnode--; /* the sum's node is reused */
        sum->op = lifted->op;
        sum->attr = lifted->attr;
}

/* The sum over iterations that is the only reader of the stack `result`, or NULL. */
static Node *accumulated_sum(const Node *result, const Stack *use)
{
        if (result->op != OP_RESULT || result->attr.index < result->in[0]->attr.region->ncarry ||
            result->in[0]->attr.region->along)
                return NULL;
        Node *sum = use[result->id].users == 1 ? use[result->id].sum : NULL;
        bool over_iterations = sum && sum->op == OP_SUM && sum->attr.axis == 0;
        return over_iterations && result->type.dtype == REAL ? sum : NULL;
}

static void accumulate_body(Graph *g, Body *b, const Stack *use)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        accumulate_body(g, n->attr.region->body[k], use);
                if (n->op == OP_REPEAT && !n->attr.region->along)
                        gate_carried(g, n->attr.region);
                Node *sum = accumulated_sum(n, use);
                if (!sum)
                        continue;
                Type t = n->type;
                t.rank--;
                for (int a = 0; a < t.rank; a++)
                        t.dim[a] = t.dim[a + 1];
                replace_sum(g, n, sum, &t);
                i = node_index(b, n);
        }
}

bool accumulate(Graph *g)
{
        const int old = g->nnode;
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        accumulate_body(g, g->top, uses_of_all(&scratch, g));
        arena_free(&scratch);
        return g->nnode > old;
}
