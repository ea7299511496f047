/* Cost: FLOPs, parameters and cache, counted from shapes.
 *
 * A size is affine in each named dimension, so the cost of an op is a product of such forms, a polynomial.
 * The costs of a body's nodes are added, and multiplied by the number of iterations with that body.
 *
 * Accepts any graph.  One in its state form has `time` new positions, `past` earlier ones, and a cache. */
#include "graph.h"

/* --- numbers that stay at INT64_MAX --- */

static int64_t times(int64_t a, int64_t b)
{
        int64_t product;
        return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
        int64_t sum;
        return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* --- polynomials --- */

int64_t polynomial_at(const Polynomial *p, int64_t n)
{
        int64_t value = 0;
        for (int i = COST_DEGREE; i >= 0; i--)
                value = plus(times(value, n), p->factor[i]);
        return value;
}

static void polynomial_add(Polynomial *into, const Polynomial *p, int64_t by)
{
        for (int i = 0; i <= COST_DEGREE; i++)
                into->factor[i] = plus(into->factor[i], times(p->factor[i], by));
}

/* p (fixed + per n), where n has the affine form fixed + per n. */
static Polynomial polynomial_times(const Polynomial *p, int64_t fixed, int64_t per)
{
        Polynomial product = {{0}};
        for (int i = 0; i <= COST_DEGREE; i++) {
                int64_t raised = i > 0 ? times(p->factor[i - 1], per) : 0;
                product.factor[i] = plus(times(p->factor[i], fixed), raised);
        }
        return product;
}

/* --- one op --- */

typedef struct {
        const Graph *g;
        const int64_t *size;
        int over;
        const Stage *stage; /* by id */
        const int64_t *
                chosen; /* by id: in attention that reads chosen keys, their number, the size of the last axis; 0: all */
        Flops flops;
} Count;

static Polynomial times_dim(const Count *c, const Polynomial *p, Dim d)
{
        int64_t per = c->over >= 0 ? d.per[c->over] : 0;
        if (c->over >= 0)
                d.per[c->over] = 0;
        return polynomial_times(p, dim_value(d, c->size), per);
}

/* Times the number of keys.  chosen: the most that are read; 0: all.  As a polynomial the number is that of long contexts. */
static Polynomial times_keys(const Count *c, const Polynomial *p, Dim keys, int64_t chosen)
{
        if (chosen && c->over >= 0 && keys.per[c->over])
                return polynomial_times(p, chosen, 0);
        if (chosen && dim_value(keys, c->size) > chosen)
                return polynomial_times(p, chosen, 0);
        return times_dim(c, p, keys);
}

/* chosen: that of the last axis */
static Polynomial cost_elements(const Count *c, const Type *t, int64_t each, int64_t chosen)
{
        Polynomial count = {.factor = {each}};
        for (int i = 0; i < t->rank - 1; i++)
                count = times_dim(c, &count, t->dim[i]);
        return t->rank ? times_keys(c, &count, t->dim[t->rank - 1], chosen) : count;
}

static bool cost_is_computed(const Count *c, const Node *n)
{
        return c->stage[n->id].groups || c->stage[n->id].state;
}

/* For each row: scores of a block of keys, their weighted sum, the sum before the block, and the update of
 * the sum. */
static void count_scan(Count *c, const Node *n, int64_t iterations)
{
        ScanInputs s = scan_of(n);
        Polynomial rows = {.factor = {s.heads}};
        rows = times_dim(c, &rows, n->type.dim[n->type.rank - 2]);
        int64_t each = s.q ? plus(times(4 * s.depth, s.width),
                                  times(INT64_C(2) * (SCAN_POWERS - 1), plus(s.depth, s.width)))
                           : s.width * (s.maxima ? 1 : 2);
        polynomial_add(s.q ? &c->flops.pair : &c->flops.pointwise, &rows, times(each, iterations));
}

static void count_node(Count *c, const Node *n, int64_t iterations)
{
        if (!cost_is_computed(c, n))
                return;
        Flops *f = &c->flops;
        Polynomial cost = {{0}};
        const int64_t chosen = c->chosen[n->id];
        switch (op_info[n->op].family) {
        case POINT: cost = cost_elements(c, &n->type, 1, chosen); break;
        case REDUCE: cost = cost_elements(c, &n->in[0]->type, 1, 0); break;
        case CONTRACT:
                if (n->op == OP_SOFTMAX || n->op == OP_CHOSEN || n->op == OP_AMONG) {
                        const Type *t = n->op == OP_CHOSEN ? &n->in[0]->type : &n->type;
                        cost = cost_elements(c, t, n->op == OP_SOFTMAX ? 5 : 1, chosen);
                        break;
                }
                if (n->op == OP_SCAN) {
                        count_scan(c, n, iterations);
                        return;
                }
                const bool weighs = chosen && c->chosen[n->in[0]->id];
                cost = cost_elements(c, &n->type, 2, weighs ? 0 : chosen);
                cost = times_keys(c, &cost, n->in[0]->type.dim[n->in[0]->type.rank - 1], weighs ? chosen : 0);
                polynomial_add(cost_is_computed(c, n->in[0]) && cost_is_computed(c, n->in[1]) ? &f->pair
                                                                                              : &f->product,
                               &cost, iterations);
                return;
        case LEAF:
        case MOVE:
        case STATE:
        case CONTROL: return;
        }
        polynomial_add(&f->pointwise, &cost, iterations);
}

static void count_body(Count *c, const Body *body, int64_t iterations);

/* The body of an `along`, once for each position. */
static void count_along(Count *c, const Region *r, int64_t iterations)
{
        const Dim count = positions_of(c->g, r);
        const Flops before = c->flops;
        c->flops = (Flops){0};
        count_body(c, r->body[0], iterations);
        Flops all = before;
        Polynomial product = times_dim(c, &c->flops.product, count),
                   pair = times_dim(c, &c->flops.pair, count),
                   pointwise = times_dim(c, &c->flops.pointwise, count);
        polynomial_add(&all.product, &product, 1);
        polynomial_add(&all.pair, &pair, 1);
        polynomial_add(&all.pointwise, &pointwise, 1);
        c->flops = all;
}

static void count_body(Count *c, const Body *body, int64_t iterations)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                count_node(c, n, iterations);
                const Region *r = n->op == OP_REPEAT ? n->attr.region : NULL;
                if (r && r->along)
                        count_along(c, r, iterations);
                for (int k = 0; r && !r->along && k < r->nbody; k++) {
                        int64_t taken = 0;
                        for (int64_t iteration = 0; iteration < r->iterations; iteration++)
                                taken += r->body_of[iteration] == k;
                        if (r->nbody == 1) /* of experts, those that a position chooses */
                                taken = iterations_in_use(r);
                        count_body(c, r->body[k], times(iterations, taken));
                }
        }
}

/* --- chosen keys --- */

typedef struct {
        Arena *arena;
        const Graph *g;
        const Uses *uses;
        int64_t *chosen;
} ChosenCount;

/* A mask that only such attention reads is computed for the chosen keys, too. */
static void count_chosen_masks(const ChosenCount *c, const Body *b)
{
        for (int i = b->nnode - 1; i >= 0; i--) {
                const Node *n = b->node[i];
                int64_t most = c->uses->pinned[n->id] ? 0 : INT64_MAX;
                const bool passes = op_info[n->op].family == POINT || n->op == OP_VIEW || n->op == OP_AMONG;
                for (int k = 0; k < c->uses->nuser[n->id] && passes; k++) {
                        const Node *user = c->uses->user[n->id][k];
                        const bool keys =
                                user->type.rank > 0 && n->type.rank > 0 && user->op != OP_MATMUL &&
                                dim_equal(user->type.dim[user->type.rank - 1], n->type.dim[n->type.rank - 1]);
                        const int64_t its = keys ? c->chosen[user->id] : 0;
                        most = its < most ? its : most;
                }
                if (passes && !c->chosen[n->id] && most < INT64_MAX)
                        c->chosen[n->id] = most;
        }
}

static void count_chosen(const ChosenCount *c, const Body *b)
{
        bool any = false;
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                Scores s = {0};
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        count_chosen(c, n->attr.region->body[k]);
                if (n->op != OP_MATMUL || why_no_attention(c->arena, c->g, c->uses, n, NULL, &s) || s.mixes)
                        continue;
                const Node *mask = find_choice(scores_under(s.weights), OP_AMONG);
                if (!mask)
                        continue;
                const int64_t most = mask->in[0]->type.dim[mask->type.rank - 1].fixed;
                for (int k = 0; k < s.n; k++)
                        c->chosen[s.node[k]->id] = most;
                c->chosen[s.weights->id] = c->chosen[n->id] = most;
                any = true;
        }
        if (any)
                count_chosen_masks(c, b);
}

/* By id: for nodes of attention that reads only chosen keys, the largest number of these; 0: others. */
static int64_t *chosen_by_node(Arena *a, const Graph *g)
{
        bool any = false;
        int64_t *chosen = NEW_ARRAY(a, int64_t, g->nnode);
        const Uses *uses = uses_of(a, g);
        for (int i = 0; i < uses->n && !any; i++)
                any = uses->all[i]->op == OP_AMONG;
        if (any)
                count_chosen(&(ChosenCount){a, g, uses, chosen}, g->top);
        return chosen;
}

/* --- the whole --- */

Flops cost_flops(const Graph *g, const int64_t *size, int over)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Count c = {.g = g, .size = size, .over = over, .stage = stage_of(&scratch, g)};
        c.chosen = chosen_by_node(&scratch, g);
        count_body(&c, g->top, 1);
        arena_free(&scratch);
        return c.flops;
}

static void count_each(Count *c, const Body *body, Flops *of)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                c->flops = (Flops){0};
                count_node(c, n, 1);
                of[n->id] = c->flops;
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        count_each(c, n->attr.region->body[k], of);
        }
}

Flops *flops_by_node(Arena *a, const Graph *g, const int64_t *size)
{
        Flops *of = NEW_ARRAY(a, Flops, g->nnode);
        Count c = {.g = g, .size = size, .over = -1, .stage = stage_of(a, g)};
        c.chosen = chosen_by_node(a, g);
        count_each(&c, g->top, of);
        return of;
}

int64_t cost_per_token(const Graph *g)
{
        int64_t size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = i == g->past ? 0 : i == g->time ? 1 : g->named[i].bound;
        Flops f = cost_flops(g, size, -1);
        return plus(f.product.factor[0], f.pair.factor[0]);
}

int64_t state_count(const Graph *g, const StateVar *s, int64_t held)
{
        int64_t count = s->slots, size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = g->named[i].bound;
        for (int a = 0; a < s->type.rank; a++)
                count = times(count, a == s->axis && held ? held : dim_value(s->type.dim[a], size));
        return count;
}

int64_t cache_count(const Graph *g, const int64_t *held)
{
        int64_t count = 0;
        for (int i = 0; i < g->nstate; i++)
                count = plus(count, state_count(g, g->state[i], held[i]));
        return count;
}
