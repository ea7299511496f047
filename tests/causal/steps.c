/* The state form against the whole sequence: every case that is proved, fed in chunks of several sizes. */
#include "cases.h"
#include "../../compiler/causal.h"
#include "../../compiler/incremental.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 11 };

static const WeightSource weights = {NULL, test_weight};

static bool close_to(double a, double b)
{
        return fabs(a - b) <= 1e-12 * (1 + fabs(a)) || (a != a && b != b);
}

/* One call: rows from .. from + n - 1 of x; compared with the whole sequence's output. */
static bool step(const Graph *g, InterpState *state, const double *x, int64_t from, int64_t n, const Tensor *whole)
{
        int64_t size[MAX_NAMED] = {n, from};
        Tensor in = {.rank = 2, .dim = {n, WIDTH}, .data = (double *)x + from * WIDTH}, out;
        const char *error = interpret(g, size, &in, &weights, state, &out);
        if (error) {
                printf("     %s: %s\n", g->name, error);
                return false;
        }
        bool ok = out.dim[0] == n;
        for (int64_t i = 0; ok && i < n * WIDTH; i++)
                ok = close_to(whole->data[from * WIDTH + i], out.data[i]);
        tensor_free(&out);
        return ok;
}

static bool run_chunks(const Graph *g, const double *x, const int *chunk, const Tensor *whole)
{
        InterpState *state = interp_state_new(g);
        bool ok = true;
        int64_t from = 0;
        for (int i = 0; ok && from < LENGTH; i++) {
                int64_t n = chunk[i] < LENGTH - from ? chunk[i] : LENGTH - from;
                ok = step(g, state, x, from, n, whole);
                if (!ok)
                        printf("     %s: rows from %d on, %d of them\n", g->name, (int)from, (int)n);
                from += n;
        }
        interp_state_free(state);
        return ok;
}

/* Whether any kept history of a matmul's or a fold's result would have to be computed again. */
static int count_op(const Body *b, Op op)
{
        int n = 0;
        for (int i = 0; i < b->nnode; i++) {
                n += b->node[i]->op == op;
                for (int k = 0; b->node[i]->op == OP_REPEAT && k < b->node[i]->attr.region->nbody; k++)
                        n += count_op(b->node[i]->attr.region->body[k], op);
        }
        return n;
}

static void print_state(const Graph *g)
{
        for (int i = 0; i < g->nstate; i++)
                printf(" %s:%d", g->state[i]->name, (int)g->state[i]->window);
        printf("\n");
}

static bool check_case(const CausalCase *c)
{
        static const int chunks[][LENGTH] = {
                {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {LENGTH}, {3, 3, 3, 3}, {5, 1, 2, 9}, {2, 7, 1, 1},
        };
        Arena arena = {0};
        Graph *g = build_case(&arena, c);
        Node *why_not;
        Graph *steps = incremental(g, 0, &why_not);
        if (!steps) {
                printf("FAIL %s: refused at %s\n", c->name, op_info[why_not->op].text);
                arena_free(&arena);
                return false;
        }
        verify(steps, c->name);
        verify(g, c->name);
        double x[LENGTH * WIDTH];
        uint64_t seed = 41;
        for (int i = 0; i < LENGTH * WIDTH; i++)
                x[i] = test_random(&seed);
        Tensor in = {.rank = 2, .dim = {LENGTH, WIDTH}, .data = x}, whole;
        const char *error = interpret(g, (int64_t[MAX_NAMED]){LENGTH}, &in, &weights, NULL, &whole);
        bool ok = !error;
        for (size_t i = 0; ok && i < sizeof chunks / sizeof *chunks; i++)
                ok = run_chunks(steps, x, chunks[i], &whole);
        bool once = count_op(g->top, OP_MATMUL) == count_op(steps->top, OP_MATMUL);
        printf("%s %s%s:", ok ? "ok" : "FAIL", c->name, once ? "" : " (a matmul twice)");
        print_state(steps);
        if (!error)
                tensor_free(&whole);
        arena_free(&arena);
        return ok;
}

int main(void)
{
        int failed = 0;
        for (int i = 0; i < ncausal_case; i++)
                if (causal_case[i].causal)
                        failed += !check_case(&causal_case[i]);
        return failed != 0;
}
