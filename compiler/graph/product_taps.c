/* Taps of the operands that products multiply with weights.
 *
 * The gate of a body, as of an expert, is a tap too: rows where it is 0 are not multiplied.
 * The left operand of each product is an output, with a leading axis for each enclosing repeat.  Products
 * with the same operand share the output.  A weight whose rows are also looked up, such as tied embeddings,
 * has none, since its errors also have effects outside products.  Nor has a weight that is multiplied with
 * rows of pairs of positions: it stays in floats (contracted.c). */
#include "taps_private.h"

/* The value stacked at the top; NULL: it would have too many axes. */
static Node *stacked_at_top(Graph *g, Node *n)
{
        while (n->body->region) {
                const Region *r = n->body->region;
                Node **value = NEW_ARRAY(g->arena, Node *, r->nbody);
                if (n->type.rank == MAX_RANK)
                        return NULL;
                for (int k = 0; k < r->nbody; k++)
                        value[k] = r->body[k] == n->body ? n : tap_zeros(g, r->body[k], n);
                n = tap_stack(g, r->repeat, value);
        }
        return n;
}

/* -1: the value cannot be a tap. */
static int output_of(Graph *g, Node *left, const ProductTap *tap, int n)
{
        for (int i = 0; i < n; i++)
                if (tap[i].product->in[0] == left)
                        return tap[i].output;
        Node *top = left->op == OP_INPUT || left->op == OP_WEIGHT ? NULL : stacked_at_top(g, left);
        return top ? tap_output(g, arena_printf(g->arena, "product[%d]", n), top) : -1;
}

/* Adds the gate of the product's body, as of an expert; -1: there is none. */
static int gate_output_of(Graph *g, Node *gate, const ProductTap *tap, int n)
{
        for (int i = 0; i < n; i++)
                if (gate && tap[i].gate == gate)
                        return tap[i].gate_output;
        Node *top = gate ? stacked_at_top(g, gate) : NULL;
        return top ? tap_output(g, arena_printf(g->arena, "gate[%d]", n), top) : -1;
}

static bool is_looked_up(const Uses *u, const Weight *w)
{
        for (int i = 0; i < u->n; i++)
                if (u->all[i]->op == OP_GATHER && u->all[i]->in[0]->op == OP_WEIGHT &&
                    u->all[i]->in[0]->attr.weight == w)
                        return true;
        return false;
}

ProductTap *product_taps_add(Graph *g, int *n)
{
        Uses *u = uses_of(g->arena, g);
        ProductTap *tap = NEW_ARRAY(g->arena, ProductTap, u->n);
        Node **gate = NEW_ARRAY(g->arena, Node *, u->n);
        *n = 0;
        for (int i = 0; i < u->n; i++) /* before taps are results of bodies, which have no gate */
                gate[i] = u->all[i]->op == OP_MATMUL ? gate_of_body(u->all[i]->body) : NULL;
        for (int i = 0; i < u->n; i++) {
                Node *product = u->all[i];
                int axis;
                const Node *weight = product->op == OP_MATMUL ? product_weight(product->in[1], &axis) : NULL;
                bool is_wanted =
                        weight && !is_looked_up(u, weight->attr.weight) && !has_rows_in_turns(product->in[0]);
                int output = is_wanted ? output_of(g, product->in[0], tap, *n) : -1;
                if (output < 0)
                        continue;
                int gate_output = gate_output_of(g, gate[i], tap, *n);
                tap[(*n)++] =
                        (ProductTap){weight, product, output, gate_output < 0 ? NULL : gate[i], gate_output};
        }
        return tap;
}
