/* Stages and hoisting: what leaves a repeat, what stays, that the meaning does not change, and what is a table. */
#include "brute.h"
#include "passes/passes.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

static int count_in_repeats(const Body *b, Op op)
{
        int n = 0;
        for (int i = 0; i < b->nnode; i++) {
                n += b->region && b->node[i]->op == op;
                for (int k = 0; b->node[i]->op == OP_REPEAT && k < b->node[i]->attr.region->nbody; k++)
                        n += count_in_repeats(b->node[i]->attr.region->body[k], op);
        }
        return n;
}

static Tensor outcome(const Graph *g)
{
        double x[LENGTH * WIDTH];
        uint64_t seed = 41;
        for (int i = 0; i < LENGTH * WIDTH; i++)
                x[i] = test_random(&seed);
        Tensor in = {.rank = 2, .dim = {LENGTH, WIDTH}, .data = x}, out = {0};
        if (interpret(g, (int64_t[MAX_NAMED]){LENGTH}, &in, &test_weights, NULL, &out))
                abort();
        return out;
}

static bool verdict(const char *name, bool ok)
{
        printf("%s %s\n", ok ? "ok" : "FAIL", name);
        return ok;
}

static const CausalCase *case_named(const char *name)
{
        for (int i = 0; i < ncausal_case; i++)
                if (!strcmp(causal_case[i].name, name))
                        return &causal_case[i];
        abort();
}

/* All cases mean the same after hoisting, to the bit. */
static bool test_meaning(void)
{
        bool ok = true;
        for (int i = 0; i < ncausal_case; i++) {
                Arena arena = {0};
                Graph *g = build_case(&arena, &causal_case[i]);
                Tensor before = outcome(g);
                hoist(g);
                verify(g, causal_case[i].name);
                Tensor after = outcome(g);
                ok = ok && !memcmp(before.data, after.data, LENGTH * WIDTH * sizeof *before.data);
                tensor_free(&before);
                tensor_free(&after);
                arena_free(&arena);
        }
        return verdict("hoisting keeps the meaning", ok);
}

static bool test_repeat(void)
{
        Arena arena = {0};
        Graph *g = build_case(&arena, case_named("repeat"));
        int compares = count_in_repeats(g->top, OP_LESSEQ), products = count_in_repeats(g->top, OP_MATMUL);
        hoist(g);
        bool ok = compares == 1 && count_in_repeats(g->top, OP_LESSEQ) == 0;
        ok = ok && products > 0 && count_in_repeats(g->top, OP_MATMUL) == products;
        arena_free(&arena);
        return verdict("the mask leaves the repeat, what is carried stays", ok);
}

/* How many tables of values of op the plan has. */
static int count_tables(Arena *arena, Graph *g, Op op)
{
        const bool off[PASS_COUNT] = {false};
        find_wanted(g);
        Diag diag = {.arena = arena};
        Plan *p = plan_new(arena, g, "it", target_find("scalar"), LENGTH, 1, 0, 0, off);
        int n = pass_fuse(p, &diag) ? 0 : -1;
        for (int i = 0; i < p->nbuffer; i++)
                n += p->buffer[i]->table && p->buffer[i]->table->op == op;
        return n;
}

static bool test_tables(void)
{
        Arena arena = {0};
        Stuck stuck;
        Graph *g = build_case(&arena, case_named("rotary")),
              *steps = incremental(g, graph_facts(g->arena, g, 0), &stuck);
        bool ok = count_tables(&arena, g, OP_COS) == 2 && count_tables(&arena, steps, OP_COS) == 2;
        ok = ok && count_tables(&arena, g, OP_LESSEQ) == 0 && count_tables(&arena, g, OP_MATMUL) == 0;
        Graph *mean = build_case(&arena, case_named("counts time"));
        ok = ok && count_tables(&arena, mean, OP_SUM) == 0 && count_tables(&arena, mean, OP_ADD) == 1;
        arena_free(&arena);
        return verdict("angles are tables, masks and lengths are not", ok);
}

static bool test_dependence(void)
{
        Arena arena = {0};
        Graph *g = build_case(&arena, case_named("repeat"));
        Stage *stage = stage_of(&arena, g);
        Stage out = stage[g->output[0].node->id];
        bool ok = out.weights && out.groups == 1 && !out.state && out.named == 1 && !out.iterations;
        arena_free(&arena);
        return verdict("an output depends on weights, inputs and rows", ok);
}

int main(void)
{
        bool ok = test_meaning();
        ok = test_repeat() && ok;
        ok = test_tables() && ok;
        ok = test_dependence() && ok;
        return !ok;
}
