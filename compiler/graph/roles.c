/* Roles: the purpose of the product with a weight, derived only from the graph.
 *
 *   head      an output is computed from the product, element by element
 *   down      it sums over a nonlinear elementwise function of products with weights: the hidden units of
 *             a feed-forward network
 *   values    the values that a softmax weighs are computed from it
 *   joint     values and also keys or queries are computed from it
 *
 * A weight with several roles has the first of these, except for joint, which is values and scores
 * together.
 *
 * Layers are the iterations of the outermost repeats with a weight of the role, counted through all
 * repeats; a weight outside repeats is a separate layer.
 *
 * Before: a graph as elaborated.  After: role, layer and layers of all weights. */
#include "graph.h"

#include <string.h>

typedef enum { TO_HEAD = 1, TO_DOWN = 2, TO_VALUES = 4, TO_SCORES = 8 } WeightUse;
/* Content of an expression. */
typedef enum { PRODUCT = 1, NOT_LINEAR = 2, OTHER = 4, KNOWN = 8 } Made;

typedef struct {
        unsigned *use; /* by id of the weight */
        bool *seen;    /* by id: in the current walk */
        bool *walked;  /* by id: on a path to scores */
        uint8_t *made; /* by id */
        int nnode;
} Roles;

static Weight *node_weight(const Node *n)
{
        int axis;
        Node *of = n->op == OP_MATMUL ? product_weight(n->in[1], &axis) : NULL;
        return of ? of->attr.weight : NULL;
}

/* Notes the use of the products in n.  through: also through reductions and moves, not only elementwise
 * ops. */
static void note_products(Roles *r, const Node *n, WeightUse use, bool through)
{
        OpFamily family = op_info[n->op].family;
        Weight *w = node_weight(n);
        if (r->seen[n->id])
                return;
        r->seen[n->id] = true;
        if (w)
                r->use[w->id] |= use;
        if (w || (family != POINT && n->op != OP_VIEW && !(through && (family == MOVE || family == REDUCE))))
                return;
        for (int i = 0; i < n->nin; i++)
                note_products(r, n->in[i], use, through);
}

static void roles_note(Roles *r, const Node *n, WeightUse use, bool through)
{
        memset(r->seen, 0, (size_t)r->nnode * sizeof *r->seen);
        note_products(r, n, use, through);
}

/* Notes the scores of a softmax: products of two computed values. */
static void note_scores(Roles *r, const Node *n)
{
        if (r->walked[n->id])
                return;
        r->walked[n->id] = true;
        if (n->op == OP_MATMUL && !node_weight(n))
                for (int i = 0; i < 2; i++)
                        roles_note(r, n->in[i], TO_SCORES, true);
        for (int i = 0; i < n->nin && (n->op == OP_VIEW || op_info[n->op].family == POINT); i++)
                note_scores(r, n->in[i]);
}

static unsigned made_of(Roles *r, const Node *n)
{
        unsigned made = 0, products = 0;
        if (r->made[n->id])
                return r->made[n->id];
        if (node_weight(n)) {
                made = PRODUCT;
        } else if (n->op == OP_VIEW || op_info[n->op].family == POINT) {
                for (int i = 0; i < n->nin; i++) {
                        unsigned in = made_of(r, n->in[i]);
                        made |= in;
                        products += (in & PRODUCT) != 0;
                }
                bool sum = n->op == OP_VIEW || n->op == OP_ADD || n->op == OP_SUB || n->op == OP_NEG ||
                           n->op == OP_REAL_OF;
                bool scaled = (n->op == OP_MUL || n->op == OP_DIV) && products < 2;
                if (products && !sum && !scaled)
                        made |= NOT_LINEAR;
        } else if (n->op != OP_CONST && n->op != OP_WEIGHT && n->op != OP_SIZE && n->op != OP_INDEX) {
                made = OTHER;
        }
        return r->made[n->id] = (uint8_t)(made | KNOWN);
}

static WeightRole role_of(unsigned use)
{
        if (use & TO_HEAD)
                return ROLE_HEAD;
        if (use & TO_DOWN)
                return ROLE_DOWN;
        if (use & TO_VALUES)
                return use & TO_SCORES ? ROLE_JOINT : ROLE_VALUES;
        return ROLE_NONE;
}

/* An earlier weight with the same role and outermost repeat. */
static const Weight *weight_beside(const Graph *g, const Weight *w)
{
        for (int i = 0; i < w->id && w->nregion; i++) {
                const Weight *x = g->weight[i];
                if (x->role == w->role && x->nregion && x->region[0] == w->region[0])
                        return x;
        }
        return NULL;
}

static void number_layers(const Graph *g)
{
        int64_t layers[ROLE_VALUES + 1] = {0};
        for (int i = 0; i < g->nweight; i++) {
                Weight *w = g->weight[i];
                const Weight *known = weight_beside(g, w);
                w->layer = known ? known->layer : layers[w->role];
                layers[w->role] += known ? 0 : w->nregion ? w->region[0]->iterations : 1;
        }
        for (int i = 0; i < g->nweight; i++)
                g->weight[i]->layers = layers[g->weight[i]->role];
}

void find_roles(const Graph *g)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Uses *u = uses_of(&scratch, g);
        Roles r = {.nnode = g->nnode};
        r.use = NEW_ARRAY(&scratch, unsigned, g->nweight);
        r.seen = NEW_ARRAY(&scratch, bool, g->nnode);
        r.walked = NEW_ARRAY(&scratch, bool, g->nnode);
        r.made = NEW_ARRAY(&scratch, uint8_t, g->nnode);
        for (int i = 0; i < g->noutput; i++)
                if (!g->output[i].tap)
                        roles_note(&r, g->output[i].node, TO_HEAD, false);
        for (int i = 0; i < u->n; i++) {
                const Node *n = u->all[i];
                const Weight *w = node_weight(n);
                if (w && (made_of(&r, n->in[0]) & (PRODUCT | NOT_LINEAR | OTHER)) == (PRODUCT | NOT_LINEAR))
                        r.use[w->id] |= TO_DOWN;
                if (n->op == OP_SOFTMAX)
                        note_scores(&r, n->in[0]);
                const Node *left = n->op == OP_MATMUL && !w ? n->in[0] : NULL;
                while (left && left->op == OP_VIEW)
                        left = left->in[0];
                if (left && left->op == OP_SOFTMAX)
                        roles_note(&r, n->in[1], TO_VALUES, true);
        }
        for (int i = 0; i < g->nweight; i++)
                g->weight[i]->role = role_of(r.use[i]);
        number_layers(g);
        arena_free(&scratch);
}
