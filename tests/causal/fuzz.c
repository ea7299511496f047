/* Random graphs: every fact that is found must hold, what is proved causal must be, and its state form must agree.
 *
 * Graphs grow by random ops on random earlier nodes, masks and shifts among them; an op that does not fit is left out.
 * Numbers are kept small, since the facts rest on finite arithmetic giving finite numbers. */
#include "brute.h"
#include "passes/passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 400, NODES = 26, MAX_POOL = 400 };
static const Span NOWHERE = {0};

typedef struct {
        Graph *g;
        Diag diag;
        uint64_t seed;
        Node *pool[MAX_POOL];
        int n;
} Fuzz;

static int pick(Fuzz *f, int n)
{
        f->seed = f->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (int)((f->seed >> 33) % (uint64_t)n);
}

static bool is_small(const Node *n)
{
        int64_t size = 1;
        for (int i = 0; i < n->type.rank; i++)
                size *= n->type.dim[i].fixed + n->type.dim[i].per[0] * LENGTH;
        return n->type.rank <= 4 && size <= 1500;
}

static Node *add(Fuzz *f, Node *n)
{
        if (n && is_small(n) && f->n < MAX_POOL)
                f->pool[f->n++] = n;
        return n;
}

static Node *make(Fuzz *f, Op op, int nin, Node *a, Node *b, Node *c, Attr attr)
{
        return build(f->g, f->g->top, &f->diag, op, nin, (Node *[]){a, b, c}, &attr, NOWHERE, NULL);
}

static Node *any(Fuzz *f)
{
        int late = f->n > 12 && pick(f, 2) ? f->n - 12 : 0;
        return f->pool[late + pick(f, f->n - late)];
}

static Node *any_of(Fuzz *f, DType dtype)
{
        Node *n = any(f);
        for (int tries = 0; n->type.dtype != dtype && tries < 40; tries++)
                n = any(f);
        return n;
}

static Node *number(Fuzz *f, double value, DType dtype)
{
        return build_number(f->g, f->g->top, value, dtype, NOWHERE, NULL);
}

/* Numbers within -1 .. 1, so that exp and products stay small. */
static Node *tame(Fuzz *f, Node *a)
{
        return make(f, OP_TANH, 1, a, NULL, NULL, (Attr){0});
}

static Node *positive(Fuzz *f, Node *a)
{
        Node *t = tame(f, a);
        return make(f, OP_ADD, 2, make(f, OP_MUL, 2, t, t, NULL, (Attr){0}), number(f, 0.5, REAL), NULL,
                    (Attr){0});
}

static Node *random_point(Fuzz *f)
{
        static const Op binary[] = {OP_ADD, OP_SUB, OP_MUL, OP_MAX, OP_MIN, OP_LESS, OP_LESSEQ, OP_EQUAL};
        static const Op logic[] = {OP_AND, OP_OR};
        static const Op unary[] = {OP_NEG, OP_SIN, OP_COS, OP_TANH, OP_ERF, OP_ATAN, OP_FLOOR, OP_REAL_OF};
        Node *a = any(f), *b = any(f);
        switch (pick(f, 10)) {
        case 0:
        case 1:
        case 2: return make(f, binary[pick(f, 8)], 2, a, b, NULL, (Attr){0});
        case 3: return make(f, logic[pick(f, 2)], 2, any_of(f, BOOL), any_of(f, BOOL), NULL, (Attr){0});
        case 4: return make(f, OP_NOT, 1, any_of(f, BOOL), NULL, NULL, (Attr){0});
        case 5: return make(f, unary[pick(f, 7)], 1, a, NULL, NULL, (Attr){0});
        case 6: return make(f, OP_DIV, 2, a, positive(f, b), NULL, (Attr){0});
        case 7: return make(f, pick(f, 2) ? OP_LOG : OP_SQRT, 1, positive(f, b), NULL, NULL, (Attr){0});
        case 8:
                return make(f, OP_EXP, 1, make(f, OP_MIN, 2, a, number(f, 2, REAL), NULL, (Attr){0}), NULL,
                            NULL, (Attr){0});
        default: return make(f, OP_WHERE, 3, any_of(f, BOOL), a, b, (Attr){0});
        }
}

static Node *random_integer(Fuzz *f)
{
        static const Op op[] = {OP_ADD, OP_SUB, OP_MAX, OP_MIN, OP_FLOORDIV, OP_MOD, OP_MUL};
        int k = pick(f, 7);
        Node *b = k > 3 || pick(f, 2) ? number(f, k > 3 ? 2 + pick(f, 3) : pick(f, 5) - 2, INT)
                                      : any_of(f, INT);
        return make(f, op[k], 2, any_of(f, INT), b, NULL, (Attr){0});
}

static Node *random_move(Fuzz *f)
{
        Graph *g = f->g;
        Node *a = any(f);
        int rank = a->type.rank, axis = rank ? pick(f, rank) : 0, perm[MAX_RANK];
        for (int i = 0; i < rank; i++)
                perm[i] = rank - 1 - i;
        if (rank == 0)
                return NULL;
        Dim size = a->type.dim[axis];
        Attr attr = {.axis = axis, .before = dim_fixed(pick(f, 3)), .after = dim_fixed(pick(f, 4) ? 0 : 1)};
        attr.value = (double[]){0, 1, -2, -INFINITY}[a->type.dtype == REAL ? pick(f, 4) : 0];
        switch (pick(f, 8)) {
        case 0: return view_transpose(g, g->top, a, perm, NOWHERE, NULL);
        case 1:
                return view_slice(g, g->top, a, axis, dim_fixed(pick(f, 3)),
                                  dim_sub(size, dim_fixed(pick(f, 3))), NOWHERE, NULL);
        case 2: return view_rank(g, g->top, a, rank + 1, NOWHERE, NULL);
        case 3: return view_drop(g, g->top, a, axis, NOWHERE, NULL);
        case 4: return view_split(g, g->top, a, 2, NOWHERE, NULL);
        case 5: return view_merge(g, g->top, a, NOWHERE, NULL);
        case 6: return make(f, OP_PAD, 1, a, NULL, NULL, attr);
        default: return make(f, OP_JOIN, 2, a, any(f), NULL, (Attr){.axis = axis});
        }
}

static Node *random_fold(Fuzz *f)
{
        static const Op op[] = {OP_SUM, OP_MAXOF, OP_ARGMAX, OP_SOFTMAX, OP_TOP, OP_SOFTMAX};
        Node *a = any(f);
        int k = pick(f, 8);
        if (k > 5)
                return make(f, OP_MATMUL, 2, a, any(f), NULL, (Attr){0});
        int axis = a->type.rank ? pick(f, a->type.rank) : 0;
        return make(f, op[k], 1, a, NULL, NULL, (Attr){.axis = axis, .index = 1});
}

/* [time, time] index tensors and a comparison of them */
static Node *random_mask(Fuzz *f)
{
        Graph *g = f->g;
        Node *col = node_new(g, g->top, OP_INDEX, 0, NULL, (Attr){0}, (Type){INT, 1, {dim_named(0)}}, NOWHERE,
                             NULL);
        Node *row = view_transpose(g, g->top, view_rank(g, g->top, col, 2, NOWHERE, NULL), (int[]){1, 0},
                                   NOWHERE, NULL);
        row = add(f, row);
        add(f, col);
        Node *far = make(f, OP_ADD, 2, row, number(f, pick(f, 3) - 2 + !pick(f, 4), INT), NULL, (Attr){0});
        Node *c = make(f, pick(f, 2) ? OP_LESSEQ : OP_LESS, 2, col, far, NULL, (Attr){0});
        add(f, c);
        Node *dead = number(f, pick(f, 2) ? 0 : -INFINITY, REAL);
        return make(f, OP_WHERE, 3, c, any_of(f, REAL), dead, (Attr){0});
}

static Node *random_gather(Fuzz *f)
{
        Node *table = any(f);
        bool may_be_empty = table->type.rank > 0 && table->type.dim[0].fixed < 0;
        return may_be_empty ? NULL : make(f, OP_GATHER, 2, table, any_of(f, INT), NULL, (Attr){0});
}

/* t[row(t), i], with rows as rows or as columns of the result; or t[row(t)]. */
static Node *own_row_gather(Fuzz *f)
{
        Graph *g = f->g;
        Node *table = any(f);
        for (int tries = 0; table->type.rank < 2 && tries < 40; tries++)
                table = any(f);
        const Dim *dim = table->type.dim;
        if (table->type.rank < 2 || dim[0].fixed < 0 || dim[1].fixed < 0 || dim_is(dim[0], 0) ||
            dim_is(dim[1], 0))
                return NULL;
        Type type = {.dtype = INT, .rank = 1, .dim = {table->type.dim[0]}};
        Node *row = node_new(g, g->top, OP_INDEX, 0, NULL, (Attr){0}, type, NOWHERE, NULL);
        if (pick(f, 3))
                row = view_transpose(g, g->top, view_rank(g, g->top, row, 2, NOWHERE, NULL), (int[]){1, 0},
                                     NOWHERE, NULL);
        return pick(f, 5) ? make(f, OP_GATHER, 3, table, row, any_of(f, INT), (Attr){0})
                          : make(f, OP_GATHER, 2, table, row, NULL, (Attr){0});
}

static Node *attention_like(Fuzz *f, Node *x)
{
        Graph *g = f->g;
        Node *s = make(f, OP_MATMUL, 2, x, view_transpose(g, g->top, x, (int[]){1, 0}, NOWHERE, NULL), NULL,
                       (Attr){0});
        f->pool[f->n++] = s;
        return random_mask(f);
}

static Node *random_node(Fuzz *f)
{
        switch (pick(f, 12)) {
        case 0:
        case 1:
        case 2:
        case 3: return random_point(f);
        case 4:
        case 5: return random_integer(f);
        case 6:
        case 7: return random_move(f);
        case 8:
        case 9: return random_fold(f);
        case 10: return random_mask(f);
        default:
                switch (pick(f, 4)) {
                case 0: return random_gather(f);
                case 1: return own_row_gather(f);
                default: return attention_like(f, f->pool[0]);
                }
        }
}

static Graph *random_graph(Arena *arena, Fuzz *f, uint64_t seed)
{
        Graph *g = graph_new(arena, arena_printf(arena, "random graph %d", (int)seed));
        *f = (Fuzz){.g = g, .diag = {.arena = arena}, .seed = seed * 7919 + 17};
        g->nnamed = g->ninput = g->noutput = g->ngroup = 1;
        g->named[0] = (Named){.name = "time", .bound = 16};
        g->input = NEW(arena, Input);
        g->input[0] = (Input){.name = "x", .type = {REAL, 2, {dim_named(0), dim_fixed(WIDTH)}}};
        Node *x = make(f, OP_INPUT, 0, NULL, NULL, NULL, (Attr){.index = 0});
        add(f, x);
        random_mask(f);
        for (int i = 0; i < NODES; i++)
                add(f, random_node(f));
        g->output = NEW_ARRAY(arena, Output, MOST_OUTPUTS);
        return g;
}

/* Whether a number is so large or so small that products of it may leave the finite. */
static bool is_extreme(double x)
{
        return isfinite(x) && x != 0 && (fabs(x) > 1e30 || fabs(x) < 1e-30);
}

static bool has_extremes(const Graph *g, const double *x)
{
        bool extreme = false;
        for (int i = 0; i < g->top->nnode; i++) {
                Node *n = g->top->node[i];
                Tensor in = {.rank = 2, .dim = {LENGTH, WIDTH}, .data = (double *)x}, t;
                if (interpret_nodes(g, (int64_t[MAX_NAMED]){LENGTH}, &in, &test_weights, NULL, &n, 1, &t))
                        abort();
                int64_t count = 1;
                for (int axis = 0; axis < t.rank; axis++)
                        count *= t.dim[axis];
                for (int64_t k = 0; k < count; k++)
                        extreme = extreme || is_extreme(t.data[k]);
                tensor_free(&t);
        }
        return extreme;
}

/* Nodes that were proved and have a state form each, as outputs of one call. */
static bool check_together(Arena *arena, const Fuzz *f, Node *const *node, int n, const double *x)
{
        Stuck stuck;
        f->g->noutput = n;
        for (int i = 0; i < n; i++)
                f->g->output[i] = (Output){.name = arena_printf(arena, "y%d", i), .node = node[i]};
        CausalResult r = causal_prove(arena, graph_facts(arena, f->g, 0));
        Graph *steps = r.causal ? incremental(f->g, graph_facts(arena, f->g, 0), &stuck) : NULL;
        bool ok = steps != NULL;
        if (ok) {
                verify(steps, f->g->name);
                ok = (r.rests || brute_any_values(steps, x)) && brute_steps(f->g, steps, x);
        }
        if (!ok)
                printf("FAIL %s: %d outputs at once, the first of them node %d\n", f->g->name, n,
                       node[0]->id);
        f->g->noutput = 1;
        return ok;
}

/* Each node as the only output: what is proved must agree in steps.  Then the latest of these together. */
static bool check_outputs(Arena *arena, const Fuzz *f, const double *x, int *proved, int *stepped, int *any)
{
        Node *latest[MOST_OUTPUTS];
        int nlatest = 0;
        for (int i = 0; i < f->n; i++) {
                Stuck stuck;
                Node *n = f->pool[i];
                f->g->output[0] = (Output){.name = "y", .node = n};
                CausalResult r = causal_prove(arena, graph_facts(arena, f->g, 0));
                if (!r.causal || n->type.rank == 0 || n->type.dim[0].per[0] == 0)
                        continue;
                ++*proved;
                Graph *steps = incremental(f->g, graph_facts(f->g->arena, f->g, 0), &stuck);
                if (!steps)
                        continue;
                ++*stepped;
                verify(steps, f->g->name);
                *any += !r.rests;
                if ((r.rests || brute_any_values(steps, x)) && brute_causal(f->g, x) &&
                    brute_steps(f->g, steps, x)) {
                        latest[nlatest++ % MOST_OUTPUTS] = n;
                        continue;
                }
                printf("FAIL %s: node %d\n", f->g->name, n->id);
                return false;
        }
        return nlatest < 2 ||
               check_together(arena, f, latest, nlatest < MOST_OUTPUTS ? nlatest : MOST_OUTPUTS, x);
}

int main(int argc, char **argv)
{
        int graphs = argc > 1 ? atoi(argv[1]) : GRAPHS, proved = 0, stepped = 0, any = 0, used = 0;
        bool ok = true;
        double *x = random_input(5);
        for (int i = argc > 2 ? atoi(argv[2]) : 0; ok && i < graphs; i++) {
                Arena arena = {0};
                static Fuzz f;
                Graph *g = random_graph(&arena, &f, (uint64_t)i);
                g->output[0] = (Output){.name = "y", .node = f.pool[0]};
                if (!has_extremes(g, x)) {
                        used++;
                        ok = brute_facts(g, facts_under(graph_facts(&arena, g, 0), FINITE_VALUES), x) &&
                             check_outputs(&arena, &f, x, &proved, &stepped, &any);
                }
                arena_free(&arena);
        }
        printf("%s random graphs: %d; of their nodes %d proved, %d of these in steps, %d for any values\n",
               ok ? "ok" : "FAIL", used, proved, stepped, any);
        free(x);
        return !ok;
}
