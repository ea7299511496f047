/* Rewrites attention whose scores are a sum of products, or whose weights are a sum of softmaxes, so that it
 * becomes one kernel, or one for each softmax.
 *
 *   before                                               after
 *
 *   s = a (q1 @ k1') + b (q2 @ k2')                      s = join(a q1, b q2) @ join(k1, k2)'
 *
 *   y = (softmax(s1) - l * softmax(s2)) @ v              y = softmax(s1) @ v - l * (softmax(s2) @ v)
 *
 * a and b are constants, from sums, differences, signs and scales.  l is the same for all keys of a row.
 * Both rewrites are equalities of real numbers; floats are added in another order.  They apply if the sum
 * leads to a softmax, or one product weighs values with it, and if only taps read its terms elsewhere.
 *
 * Before: any verified graph.  After: the same answers within rounding. */
#include "absorb_private.h"
#include "simplify_private.h"

enum { MAX_ABSORB_TERMS = 8 };

/* A product or a softmax with a factor: a number and, for softmaxes, another node or NULL. */
typedef struct {
        Node *node, *factor;
        double by;
} CutTerm;

typedef struct {
        CutTerm term[MAX_ABSORB_TERMS];
        int n;
} Terms;

typedef struct {
        Graph *g;
        const Uses *uses;
        Needed needed;
        int limit;    /* known ids are below it */
        bool *within; /* by id: part of a larger sum */
} Summing;

/* The number of readers of a value, except those that only taps need; 0 for a node that this pass made. */
static int reads(const Summing *s, const Node *n)
{
        const Uses *u = s->uses;
        const Region *r = n->body->region;
        int found = 0;
        if (n->id >= s->limit)
                return 0;
        for (int i = 0; i < u->nuser[n->id]; i++)
                found += s->needed.node[u->user[n->id][i]->id];
        for (int i = 0; i < s->g->noutput; i++)
                found += s->g->output[i].node == n && !s->g->output[i].tap;
        const bool *result = r ? s->needed.result[r->repeat->id] : NULL;
        for (int i = 0; result && i < r->ncarry + r->nstack; i++)
                found += result[i] && (i < r->ncarry ? n->body->next[i] : n->body->stack[i - r->ncarry]) == n;
        return found;
}

/* Whether n is the same for all elements of the last axis. */
static bool is_same_along_last(const Node *n)
{
        const Type *t = &n->type;
        return t->rank == 0 || dim_is(t->dim[t->rank - 1], 1);
}

/* A product of two computed tensors. */
static bool is_score(const Node *n)
{
        return n->op == OP_MATMUL && n->in[0]->type.dtype == REAL && n->in[1]->type.dtype == REAL &&
               base_of(n->in[1])->op != OP_WEIGHT &&
               dim_is_fixed(n->in[0]->type.dim[n->in[0]->type.rank - 1]);
}

static bool add_term(Terms *to, Node *n, Node *factor, double by)
{
        if (to->n == MAX_ABSORB_TERMS)
                return false;
        to->term[to->n++] = (CutTerm){n, factor, by};
        return true;
}

/* Splits n times `by` into terms: scores or, with `softmaxes`, weights.  False: n is no such sum. */
static bool find_terms(const Summing *s, Terms *to, Node *n, const Node *root, bool softmaxes, double by)
{
        double c;
        if (!type_equal(&n->type, &root->type) || (n != root && reads(s, n) != 1))
                return false;
        if (softmaxes ? n->op == OP_SOFTMAX : is_score(n))
                return add_term(to, n, NULL, by);
        switch ((int)n->op) {
        case OP_ADD:
        case OP_SUB:
                return n->in[0] != n->in[1] && find_terms(s, to, n->in[0], root, softmaxes, by) &&
                       find_terms(s, to, n->in[1], root, softmaxes, n->op == OP_SUB ? -by : by);
        case OP_NEG: return find_terms(s, to, n->in[0], root, softmaxes, -by);
        case OP_DIV:
                return constant_uniform(n->in[1], &c) && c != 0 &&
                       find_terms(s, to, n->in[0], root, softmaxes, by / c);
        case OP_MUL:
                for (int i = 0; i < 2; i++) {
                        if (constant_uniform(n->in[i], &c))
                                return find_terms(s, to, n->in[1 - i], root, softmaxes, by * c);
                        Node *other = n->in[1 - i];
                        if (softmaxes && other->op == OP_SOFTMAX && type_equal(&other->type, &n->type) &&
                            reads(s, other) == 1 && is_same_along_last(n->in[i]))
                                return add_term(to, other, n->in[i], by);
                }
                return false;
        default: return false;
        }
}

/* --- rewrites ---------------------------------------------------------------------------------------------------- */

static Node *scaled_by(Graph *g, const Node *like, Node *x, double by)
{
        if (by == 1)
                return x;
        return by == -1 ? op_like(g, like, OP_NEG, x, NULL)
                        : op_like(g, like, OP_MUL, x,
                                  build_number(g, like->body, by, REAL, like->span, like->where));
}

/* x with its leading axes broadcast to `front`. */
static Node *broadcast_front(Graph *g, const Node *like, Node *x, const Type *front)
{
        Type t = *front;
        for (int i = 1; i <= 2; i++)
                t.dim[t.rank - i] = x->type.dim[x->type.rank - i];
        return type_equal(&x->type, &t) ? x : view_broadcast(g, like->body, x, &t, like->span, like->where);
}

/* The type with the common leading axes of all keys. */
static Type common_front(const Terms *terms)
{
        Type front = {.dtype = REAL, .rank = 2};
        front.dim[0] = front.dim[1] = dim_fixed(1);
        for (int i = 0; i < terms->n; i++) {
                Type t = terms->term[i].node->in[1]->type;
                t.dim[t.rank - 1] = t.dim[t.rank - 2] = dim_fixed(1);
                type_broadcast(&front, &t, &front);
        }
        return front;
}

static Node *one_product(Graph *g, const Node *n, const Terms *terms)
{
        Node *query[MAX_ABSORB_TERMS], *key[MAX_ABSORB_TERMS];
        Type front = common_front(terms);
        for (int i = 0; i < terms->n; i++) {
                const CutTerm *t = &terms->term[i];
                query[i] = broadcast_front(g, n, scaled_by(g, n, t->node->in[0], t->by), &n->type);
                key[i] = broadcast_front(g, n, turn_last(g, n->body, t->node->in[1], n), &front);
        }
        Node *keys = turn_last(g, n->body, join_last(g, n->body, key, terms->n, n), n);
        return op_like(g, n, OP_MATMUL, join_last(g, n->body, query, terms->n, n), keys);
}

static Node *terms_sum(Graph *g, const Node *n, const Terms *terms)
{
        Node *sum = NULL;
        for (int i = 0; i < terms->n; i++) {
                const CutTerm *t = &terms->term[i];
                bool less = i > 0 && t->by < 0;
                Node *y = op_like(g, n, OP_MATMUL, t->node, n->in[1]);
                y = scaled_by(g, n, y, less ? -t->by : t->by);
                y = t->factor ? op_like(g, n, OP_MUL, t->factor, y) : y;
                sum = sum ? op_like(g, n, less ? OP_SUB : OP_ADD, sum, y) : y;
        }
        return sum;
}

static Node *join_sum(const void *of, Node *n)
{
        const Summing *s = of;
        Terms terms = {0};
        Node *y = n;
        if ((n->op == OP_ADD || n->op == OP_SUB) && !s->within[n->id] && is_attention_score(s->uses, n) &&
            find_terms(s, &terms, n, n, false, 1))
                y = one_product(s->g, n, &terms);
        if (n->op == OP_MATMUL && n->in[0]->op != OP_SOFTMAX && base_of(n->in[1])->op != OP_WEIGHT &&
            reads(s, n->in[0]) == 1 && find_terms(s, &terms, n->in[0], n->in[0], true, 1))
                y = terms_sum(s->g, n, &terms);
        return y;
}

/* Marks sums within this sum, which are not rewritten separately. */
static void mark_within(Summing *s, const Node *n)
{
        for (int i = 0; i < n->nin; i++) {
                Node *x = n->in[i];
                bool sums = x->op == OP_ADD || x->op == OP_SUB || x->op == OP_NEG || x->op == OP_MUL ||
                            x->op == OP_DIV;
                if (!sums)
                        continue;
                s->within[x->id] = true;
                mark_within(s, x);
        }
}

bool join_sums(Graph *g)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Summing s = {
                .g = g, .uses = uses_of(&scratch, g), .needed = outputs_need(&scratch, g), .limit = g->nnode};
        s.within = NEW_ARRAY(&scratch, bool, g->nnode);
        for (int i = s.uses->n - 1; i >= 0; i--) {
                Node *n = s.uses->all[i];
                Terms terms = {0};
                if ((n->op == OP_ADD || n->op == OP_SUB) && find_terms(&s, &terms, n, n, false, 1))
                        mark_within(&s, n);
        }
        Replacing r = {.g = g, .of = &s, .rewrite = join_sum};
        replace_nodes(&r);
        arena_free(&scratch);
        return g->nnode > s.limit;
}
