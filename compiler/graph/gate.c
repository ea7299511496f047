/* Gates: if a factor is 0, outside its mask, the other factors of the product have no effect.
 *
 *      gate = where(top(p, 2), p, 0)         0 except for two experts in each row
 *      gate[.., e..e+1] * f(x)               0 for the other experts, whatever f(x) is
 *
 * Zeros are tracked from where(mask, a, 0) and softmax(where(mask, a, -inf)) through ops that preserve a
 * 0: products, the dividend of a quotient, a sign, and every view and gather. */
#include "graph.h"

#include <math.h>

/* Maximum number of nodes in the search for a gate. */
enum { LONGEST = 500 };

/* The TOP node outside of which n is false; NULL: none.  *left: remaining number of nodes to search. */
static const Node *mask_of(const Node *n, int *left)
{
        if (--*left < 0)
                return NULL;
        switch ((int)n->op) {
        case OP_TOP: return n;
        case OP_AND: {
                const Node *first = mask_of(n->in[0], left);
                return first ? first : mask_of(n->in[1], left);
        }
        case OP_VIEW:
        case OP_GATHER: return mask_of(n->in[0], left);
        default: return NULL;
        }
}

static bool is_zero(const Node *n)
{
        if (n->op != OP_CONST)
                return false;
        const Literal *l = n->attr.literal;
        for (int64_t i = 0; i < l->iterations * l->count; i++)
                if (l->value[i] != 0)
                        return false;
        return true;
}

static bool is_minus_inf(const Node *n)
{
        return n->op == OP_CONST && n->attr.literal->iterations * n->attr.literal->count == 1 &&
               n->attr.literal->value[0] == -INFINITY;
}

/* The TOP node outside of which n is 0; NULL: none. */
static const Node *zero_off(const Node *n, int *left)
{
        if (--*left < 0)
                return NULL;
        switch ((int)n->op) {
        case OP_WHERE: {
                const Node *top = mask_of(n->in[0], left), *a = zero_off(n->in[1], left);
                bool other = is_zero(n->in[2]) || zero_off(n->in[2], left);
                return !other ? NULL : is_zero(n->in[2]) && top ? top : a;
        }
        case OP_MUL: {
                const Node *a = zero_off(n->in[0], left);
                return a ? a : zero_off(n->in[1], left);
        }
        case OP_REAL_OF: {
                const Node *top = mask_of(n->in[0], left);
                return top ? top : zero_off(n->in[0], left);
        }
        case OP_SOFTMAX: {
                const Node *x = n->in[0];
                return n->attr.index == 0 && x->op == OP_WHERE && is_minus_inf(x->in[2])
                               ? mask_of(x->in[0], left)
                               : NULL;
        }
        case OP_DIV:
        case OP_NEG:
        case OP_VIEW:
        case OP_GATHER: return zero_off(n->in[0], left);
        default: return NULL;
        }
}

/* Whether x has one factor for each row of `rows`. */
static bool is_row_factor(const Node *n, const Type *rows)
{
        const Type *t = &n->type;
        if (t->rank != rows->rank || t->rank < 1 || !dim_is(t->dim[t->rank - 1], 1))
                return false;
        for (int a = 0; a < t->rank - 1; a++)
                if (!dim_equal(t->dim[a], rows->dim[a]))
                        return false;
        return true;
}

static bool find_factor(Node *n, const Type *rows, Gate *gate, int *left)
{
        if (--*left < 0)
                return false;
        gate->top = is_row_factor(n, rows) ? zero_off(n, left) : NULL;
        gate->factor = n;
        if (gate->top)
                return true;
        switch ((int)n->op) {
        case OP_MUL:
                return find_factor(n->in[0], rows, gate, left) || find_factor(n->in[1], rows, gate, left);
        case OP_DIV:
        case OP_NEG: return find_factor(n->in[0], rows, gate, left);
        default: return false;
        }
}

bool find_gate(Node *value, Gate *gate)
{
        int left = LONGEST;
        return find_factor(value, &value->type, gate, &left);
}

Node *added_to_carry(const Body *b, int index)
{
        const Node *next = b->next[index];
        if (next->op == OP_WHERE) /* the form that accumulate makes */
                next = next->in[1];
        for (int i = 0; next->op == OP_ADD && i < 2; i++)
                if (next->in[i]->op == OP_CARRY && next->in[i]->body == b && next->in[i]->attr.index == index)
                        return next->in[1 - i];
        return NULL;
}

Node *gate_of_body(const Body *b)
{
        Gate gate = {.factor = NULL};
        const Region *r = b->region;
        for (int i = 0; r && i < r->ncarry + r->nstack; i++) {
                Node *v = i < r->ncarry ? added_to_carry(b, i) : b->stack[i - r->ncarry];
                if (!v || !find_gate(v, &gate))
                        return NULL;
        }
        return gate.factor;
}

int64_t iterations_in_use(const Region *r)
{
        int64_t most = 0;
        for (int b = 0; b < r->nbody; b++)
                for (int i = 0; i < r->ncarry + r->nstack; i++) {
                        Node *v = i < r->ncarry ? added_to_carry(r->body[b], i)
                                                : r->body[b]->stack[i - r->ncarry];
                        Gate gate;
                        if (!v || !find_gate(v, &gate) ||
                            !dim_is(gate.top->type.dim[gate.top->type.rank - 1], r->iterations))
                                return r->iterations;
                        most = gate.top->attr.index > most ? gate.top->attr.index : most;
                }
        return most > 0 ? most : r->iterations;
}
