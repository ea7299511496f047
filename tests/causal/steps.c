/* The state form against the whole sequence: every case that is proved, fed in chunks of several sizes. */
#include "brute.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

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
        Stuck stuck;
        Graph *steps = incremental(g, graph_facts(g->arena, g, 0), &stuck);
        if (!steps) {
                printf("FAIL %s: refused at %s: %s\n", c->name, op_info[stuck.node->op].text, stuck.why);
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

/* What is proved and has no state form is refused with the reason: all rows but the last. */
static bool check_refusal(void)
{
        Arena arena = {0};
        Graph *g = build_case(&arena, &causal_case[0]);
        Stuck stuck;
        Dim fewer = dim_sub(dim_named(0), dim_fixed(1));
        Node *x = g->top->node[0];
        g->output[0].node = view_slice(g, g->top, x, 0, dim_fixed(0), fewer, (Span){0}, NULL);
        bool proved = causal_prove(&arena, graph_facts(&arena, g, 0)).causal;
        bool ok = proved && !incremental(g, graph_facts(g->arena, g, 0), &stuck) &&
                  stuck.node == g->output[0].node && strstr(stuck.why, "it has fewer elements than");
        printf("%s no state form: %s\n", ok ? "ok" : "FAIL", stuck.why ? stuck.why : "none");
        arena_free(&arena);
        return ok;
}

int main(void)
{
        int failed = !check_refusal();
        for (int i = 0; i < ncausal_case; i++)
                if (causal_case[i].causal)
                        failed += !check_case(&causal_case[i]);
        return failed != 0;
}
