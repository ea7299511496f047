/* Constant folding: a node whose inputs are constants becomes a constant, with the interpreter's values.
 *
 * VIEW and INDEX are read through but not folded, since later passes can use the ops but not their values.
 * Inputs that differ between iterations of the node's region give a constant with a row per iteration.
 * Results of more than FOLD_LIMIT elements, all iterations together, are not folded. */
#include "simplify_private.h"

#include <stdlib.h>
#include <string.h>

enum { FOLD_LIMIT = 4096 };

static const int64_t no_size[MAX_NAMED];

/* The number of iterations for which the constant under views has rows; 0: not a constant, or too large. */
static int64_t constant_iterations(const Node *n, const Body *from)
{
        if (!type_is_fixed(&n->type) || type_count(&n->type, no_size) > FOLD_LIMIT)
                return 0;
        if (n->op == OP_CONST)
                return n->attr.literal->iterations == 1 || n->body->region == from->region
                               ? n->attr.literal->iterations
                               : 0;
        if (n->op == OP_INDEX)
                return dim_is_fixed(n->attr.dim) ? 1 : 0;
        return n->op == OP_VIEW && !takes_position(n) ? constant_iterations(n->in[0], from) : 0;
}

/* The values in one iteration, for a node that constant_iterations accepts. */
static const double *constant_values(Arena *scratch, const Node *n, int64_t iteration)
{
        if (n->op == OP_CONST)
                return n->attr.literal->value +
                       (n->attr.literal->iterations > 1 ? iteration * n->attr.literal->count : 0);
        double *value = NEW_ARRAY(scratch, double, type_count(&n->type, no_size));
        const double *in = n->op == OP_VIEW ? constant_values(scratch, n->in[0], iteration) : NULL;
        evaluate(n, no_size, &in, value);
        return value;
}

bool constant_uniform(const Node *n, double *value)
{
        n = base_of(n);
        if (n->op != OP_CONST)
                return false;
        const Literal *literal = n->attr.literal;
        for (int64_t i = 1; i < literal->iterations * literal->count; i++)
                if (memcmp(&literal->value[i], &literal->value[0], sizeof *literal->value) != 0)
                        return false;
        if (literal->count > 0)
                *value = literal->value[0];
        return literal->count > 0;
}

static bool depends_on_inputs_alone(const Node *n)
{
        switch (op_info[n->op].family) {
        case MOVE: return n->op != OP_VIEW;
        case POINT:
        case REDUCE:
        case CONTRACT: return true;
        case LEAF:
        case STATE:
        case CONTROL: return false;
        }
        return false;
}

/* Keeps one row if all rows are equal. */
static void join_equal_iterations(Literal *literal)
{
        size_t row = (size_t)literal->count * sizeof *literal->value;
        for (int64_t iteration = 1; iteration < literal->iterations; iteration++)
                if (memcmp(literal->value, literal->value + iteration * literal->count, row) != 0)
                        return;
        literal->iterations = 1;
}

Node *fold_constants(Graph *g, Node *n)
{
        if (!depends_on_inputs_alone(n) || !type_is_fixed(&n->type))
                return NULL;
        int64_t iterations = 1, count = type_count(&n->type, no_size);
        for (int i = 0; i < n->nin; i++) {
                int64_t rows = constant_iterations(n->in[i], n->body);
                if (rows == 0)
                        return NULL;
                iterations = rows > iterations ? rows : iterations;
        }
        if (count > FOLD_LIMIT / iterations)
                return NULL;
        Arena scratch = {0};
        Literal *literal = NEW(g->arena, Literal);
        literal->iterations = iterations;
        literal->count = count;
        literal->value = NEW_ARRAY(g->arena, double, iterations *count);
        const double **in = NEW_ARRAY(&scratch, const double *, n->nin);
        for (int64_t iteration = 0; iteration < iterations; iteration++) {
                for (int i = 0; i < n->nin; i++)
                        in[i] = constant_values(&scratch, n->in[i], iteration);
                evaluate(n, no_size, in, literal->value + iteration * count);
        }
        arena_free(&scratch);
        join_equal_iterations(literal);
        return node_new(g, n->body, OP_CONST, 0, NULL, (Attr){.literal = literal}, n->type, n->span,
                        n->where);
}
