/* The state form against the whole sequence: every case that is proved, fed in chunks of several sizes. */
#include "brute.h"
#include "../../compiler/incremental.h"

#include <stdlib.h>

/* How often an op stands in a graph: the state form must not need one twice. */
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
        double *x = random_input(41);
        bool ok = brute_steps(g, steps, x);
        bool once = count_op(g->top, OP_MATMUL) == count_op(steps->top, OP_MATMUL);
        printf("%s %s%s:", ok ? "ok" : "FAIL", c->name, once ? "" : " (a matmul twice)");
        print_state(steps);
        free(x);
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
