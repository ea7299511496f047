/* The causal proof against brute force.
 *
 * For each case: later inputs are changed, and left out; a case is causal if no earlier output moves.  The proof must
 * say the same, and name the expected op where it refuses.  Then every fact of every node of the top body is held
 * against the node's values: what it may be, where it must be special, and what it reads. */
#include "brute.h"

#include <stdlib.h>

static bool check_case(const CausalCase *c)
{
        Arena arena = {0};
        Graph *g = build_case(&arena, c);
        double *x = random_input(3);
        CausalResult r = causal_prove(&arena, graph_facts(&arena, g, 0));
        bool truth = brute_causal(g, x);
        bool ok = truth == c->causal && r.causal == c->causal && (c->causal || r.culprit->op == c->culprit);
        printf("%s %s%s%s\n", ok ? "ok" : "FAIL", c->name, r.why ? ": " : "", r.why ? r.why : "");
        if (!ok)
                printf("     wanted %d, brute force %d, proof %d %s\n", c->causal, truth, r.causal,
                       r.culprit ? op_info[r.culprit->op].text : "");
        ok = brute_facts(g, facts_under(graph_facts(&arena, g, 0), FINITE_VALUES), x) && ok;
        free(x);
        arena_free(&arena);
        return ok;
}

int main(void)
{
        int failed = 0;
        for (int i = 0; i < ncausal_case; i++)
                failed += !check_case(&causal_case[i]);
        return failed != 0;
}
