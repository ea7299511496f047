/* Attention whose heads are mixed before the softmax, after it, or both (Shazeer et al. 2020, "Talking-Heads
 * Attention"):
 *
 *        q     k'
 *         \   /
 *          core ── scale, W over heads, mask ── softmax ── W over heads ── product ── v
 *          └───────────────────────────── Scores.node ───────────────┘
 *
 * A product with a weight mixes heads if its result still has a number for each row and key.  Views between
 * may permute the axes.  Core, softmax and weights are all [.., heads, rows, keys].  The lowering of the
 * kernel (lower/lower_attention.c) checks that each product runs over heads and nothing else. */
#include "graph.h"

#include <math.h>

enum { MAX_MIXED_HEADS = 64, MAX_MIXED_TERMS = 1024 /* of a weight, of one row and key */ };

typedef enum { UNKNOWN, NO, YES } PathAnswer;

typedef struct {
        const Node *product;
        const bool *stored; /* by id: not part of an expression; or NULL */
        Op target;
        uint8_t *known; /* by id: Answer */
} HeadsPath;

static Dim axis_from_last(const Node *n, int back)
{
        return n->type.dim[n->type.rank - 1 - back];
}

/* Whether n has one element for each head, row and key, in any order. */
static bool is_of_rows_and_keys(const HeadsPath *p, const Node *n)
{
        const Node *weights = p->product->in[0];
        const Dim rows = axis_from_last(weights, 1), keys = axis_from_last(weights, 0);
        if (n->type.rank != weights->type.rank || n->body != p->product->body)
                return false;
        for (int i = 0; i < n->type.rank; i++)
                for (int j = 0; j < n->type.rank; j++)
                        if (i != j && dim_equal(n->type.dim[i], rows) && dim_equal(n->type.dim[j], keys))
                                return true;
        return false;
}

static bool path_reaches(const HeadsPath *p, const Node *n);

static bool is_float_weight(const Node *n)
{
        n = base_of(n);
        return n->op == OP_WEIGHT && !is_read_as_codes(n);
}

/* The operand (0 or 1) of a product that mixes heads through which the path to the target leads; -1: it
 * does not mix heads. */
static int mixed_operand(const HeadsPath *p, const Node *n)
{
        for (int i = 0; n->op == OP_MATMUL && i < 2; i++)
                if (is_float_weight(n->in[1 - i]) && path_reaches(p, n->in[i]))
                        return i;
        return -1;
}

static bool is_target(const HeadsPath *p, const Node *n)
{
        return n->op == p->target && same_dims(&n->type, &p->product->in[0]->type) && mixed_operand(p, n) < 0;
}

static bool passes(const HeadsPath *p, const Node *n)
{
        return (n->op == OP_VIEW || (op_info[n->op].family == POINT && n->op != OP_TOP)) &&
               !(p->stored && p->stored[n->id]);
}

static bool path_reaches(const HeadsPath *p, const Node *n)
{
        if (p->known[n->id])
                return p->known[n->id] == YES;
        bool found = is_of_rows_and_keys(p, n) && (mixed_operand(p, n) >= 0 || is_target(p, n));
        for (int i = 0; i < n->nin && !found && passes(p, n) && is_of_rows_and_keys(p, n); i++)
                found = path_reaches(p, n->in[i]);
        p->known[n->id] = found ? YES : NO;
        return found;
}

/* Collects the expression from n down to the target.  terms: number of terms of each of its values. */
static const char *mixed_collect(const HeadsPath *p, Scores *s, Node *n, int64_t terms, Node **target)
{
        const int mixed = mixed_operand(p, n);
        if (scores_hold(s, n))
                return NULL;
        if (is_target(p, n) && *target)
                return "its heads are mixed of two products";
        s->node[s->n++] = n;
        if (is_target(p, n)) {
                *target = n;
                return NULL;
        }
        if (mixed >= 0) {
                Dim depth = mixed ? axis_from_last(n->in[1], 1) : axis_from_last(n->in[0], 0);
                s->mixes++;
                terms *= dim_is_fixed(depth) && depth.fixed <= MAX_MIXED_HEADS ? depth.fixed
                                                                               : MAX_MIXED_TERMS + 1;
                return terms > MAX_MIXED_TERMS ? "its heads are too many to be mixed in one kernel"
                                               : mixed_collect(p, s, n->in[mixed], terms, target);
        }
        const char *why = NULL;
        for (int i = 0; i < n->nin && !why; i++)
                if (path_reaches(p, n->in[i]))
                        why = mixed_collect(p, s, n->in[i], terms, target);
        return why;
}

typedef struct {
        const Scores *scores;
        double *known; /* by id */
        bool *done;    /* by id: `known` is set */
} AtZero;

static double value_at_zero(const AtZero *z, const Node *n);

static double compute_at_zero(const AtZero *z, const Node *n)
{
        double of[3] = {0};
        if (n->nin > 3)
                return NAN;
        for (int i = 0; i < n->nin; i++)
                of[i] = value_at_zero(z, n->in[i]);
        switch (n->op) {
        case OP_VIEW: return of[0];
        case OP_MATMUL: return of[0] == 0 || of[1] == 0 ? 0 : NAN;
        case OP_MUL: return of[0] == 0 || of[1] == 0 ? 0 : of[0] * of[1];
        case OP_DIV: return of[0] == 0 ? 0 : of[0] / of[1];
        case OP_WHERE: return of[1] == of[2] ? of[1] : NAN;
        default: return op_of(n->op, of[0], of[1], of[2]);
        }
}

/* The value of n where the softmax is 0; NaN: it depends on other values too. */
static double value_at_zero(const AtZero *z, const Node *n)
{
        const Literal *l = n->op == OP_CONST ? n->attr.literal : NULL;
        if (n == z->scores->weights)
                return 0;
        if (!scores_hold(z->scores, n))
                return l && l->count == 1 && l->iterations == 1 ? l->value[0] : NAN;
        if (!z->done[n->id])
                z->known[n->id] = compute_at_zero(z, n);
        z->done[n->id] = true;
        return z->known[n->id];
}

static const char *find_in(Arena *a, const Graph *g, HeadsPath *p, Op target, Scores *s, Node *from,
                           Node **found)
{
        p->target = target;
        p->known = NEW_ARRAY(a, uint8_t, g->nnode);
        return path_reaches(p, from) ? mixed_collect(p, s, from, 1, found) : "its left one is no softmax";
}

const char *find_mixed_heads(Arena *a, const Graph *g, const Node *product, const bool *stored, Scores *s)
{
        HeadsPath path = {.product = product, .stored = stored};
        const Type *type = &product->in[0]->type;
        *s = (Scores){.node = NEW_ARRAY(a, Node *, g->nnode + 2)};
        if (type->rank < 3 || product->in[1]->type.rank != type->rank ||
            !dim_is_fixed(axis_from_last(product, 0)))
                return "it has no heads";
        const char *why = find_in(a, g, &path, OP_SOFTMAX, s, product->in[0], &s->weights);
        if (why)
                return why;
        if (s->weights->nin > 1)
                return "its heads are mixed, and it has a sink";
        why = find_in(a, g, &path, OP_MATMUL, s, s->weights->in[0], &s->core);
        if (why)
                return why;
        if (!dim_is_fixed(axis_from_last(s->core->in[0], 0)) || is_read_as_codes(s->core->in[1]) ||
            is_read_as_codes(product->in[1]))
                return "its keys or values can't be read where they lie";
        const AtZero zero = {s, NEW_ARRAY(a, double, g->nnode), NEW_ARRAY(a, bool, g->nnode)};
        s->all_weigh = value_at_zero(&zero, product->in[0]) != 0;
        return s->mixes ? NULL : "its softmax is changed before it weighs the values, and no heads are mixed";
}
