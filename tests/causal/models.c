/* Models in the language: what the proof says of each, held against brute force, and the state that it makes.
 *
 *   models FILE…      prints what the file's lines `#> …` should say
 *
 * A model has one input x of [time, 6] and outputs along time. */
#include "brute.h"
#include "passes/passes.h"
#include "language/language.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_refusal(const CausalResult *r)
{
        int line = span_line(r->culprit->span);
        printf("not causal: %s\n", r->why);
        if (line == 0)
                return;
        int32_t length;
        const char *text = source_line_text(r->culprit->span.source, line, &length);
        while (length > 0 && *text == ' ') {
                text++;
                length--;
        }
        printf("  at %.*s\n", (int)length, text);
}

static void print_states(const Graph *g)
{
        printf("causal\n");
        for (int i = 0; i < g->nstate; i++) {
                const StateVar *s = g->state[i];
                printf("state %s %s", s->name, type_text(g->arena, g, &s->type));
                if (s->slots > 1)
                        printf(" x %d", (int)s->slots);
                if (s->window > 0)
                        printf(", %d rows back", (int)s->window);
                printf("\n");
        }
}

static bool mistaken(const char *what)
{
        printf("MISTAKEN: %s\n", what);
        return false;
}

/* Every pass before and after, each against the graph as it was elaborated. */
static bool check_steps(Graph *g, const CausalResult *r, const double *x)
{
        Stuck stuck;
        Graph *early = incremental(g, graph_facts(g->arena, g, growing_dimension(g)), &stuck);
        if (!early)
                return mistaken("proved, but without a state form");
        verify(early, "causal");
        print_states(early);
        if (r->rests)
                printf("if values are finite: %s\n", r->why_rests);
        else if (!brute_any_values(early, x))
                return mistaken("it rests on finite values");
        if (!brute_steps(g, early, x))
                return mistaken("the state form differs from the whole");
        return true;
}

/* What is said of a delay must be so: each output that many positions later, with zeros before, is causal. */
static bool check_delay(Graph *g, int64_t delay, const double *x)
{
        int time = growing_dimension(g);
        printf("causal if it comes %" PRId64 " position%s later\n", delay, delay == 1 ? "" : "s");
        for (int i = 0; i < g->noutput; i++) {
                Node *n = g->output[i].node;
                int axis = 0;
                while (n->type.dim[axis].per[time] == 0)
                        axis++;
                Dim count = n->type.dim[axis];
                Diag diag = {.arena = g->arena};
                Attr attr = {.axis = axis, .before = dim_fixed(delay), .slot = -1};
                Node *late = build(g, g->top, &diag, OP_PAD, 1, &n, &attr, n->span, n->where);
                g->output[i].node = view_slice(g, g->top, late, axis, dim_fixed(0), count, n->span, n->where);
        }
        verify(g, "delay");
        GraphFacts *facts = graph_facts(g->arena, g, time);
        CausalResult r = causal_prove(g->arena, facts);
        Stuck stuck;
        Graph *steps = r.causal ? incremental(g, facts, &stuck) : NULL;
        if (!steps)
                return mistaken("it is not causal behind that delay");
        return brute_steps(g, steps, x) ||
               mistaken("the state form of what comes later differs from the whole");
}

/* *causal: what the proof says. */
static bool check_model(Graph *g, bool *causal)
{
        verify(g, "elaborate");
        double *x = random_input(11);
        CausalResult r = causal_prove(g->arena, graph_facts(g->arena, g, growing_dimension(g)));
        bool ok = true;
        *causal = r.causal;
        if (!r.causal)
                print_refusal(&r);
        if (brute_causal(g, x) != r.causal)
                ok = mistaken("brute force says otherwise");
        if (!brute_facts(g, facts_under(graph_facts(g->arena, g, growing_dimension(g)), FINITE_VALUES), x))
                ok = mistaken("a fact does not hold");
        if (r.causal)
                ok = check_steps(g, &r, x) && ok;
        else if (r.delay > 0)
                ok = check_delay(g, r.delay, x) && ok;
        free(x);
        return ok;
}

/* The same once more after simplify and hoisting: the proof must not depend on the spelling's graph. */
static bool check_simplified(Graph *g, bool causal)
{
        g = hoist(simplify(g));
        verify(g, "stage");
        double *x = random_input(11);
        CausalResult r = causal_prove(g->arena, graph_facts(g->arena, g, growing_dimension(g)));
        Stuck stuck;
        bool ok = r.causal == causal || mistaken("the proof changes with simplify");
        Graph *steps =
                r.causal ? incremental(g, graph_facts(g->arena, g, growing_dimension(g)), &stuck) : NULL;
        if (r.causal && (!steps || !brute_steps(g, simplify(steps), x)))
                ok = mistaken("the state form after simplify differs from the whole");
        free(x);
        return ok;
}

static const char *states_text(const Graph *g)
{
        const char *text = "";
        for (int i = 0; i < g->nstate; i++)
                text = arena_printf(g->arena, "%scut state %s %s\n", text, g->state[i]->name,
                                    type_text(g->arena, g, &g->state[i]->type));
        return text;
}

/* What the absorb pass reports, and the states that follow if they are others; against the graph as it was elaborated. */
static bool check_absorbed(const Graph *g, Graph *to_absorb)
{
        AbsorbLines lines = {0};
        Stuck stuck;
        Graph *before = hoist(simplify(to_absorb));
        Graph *steps = incremental(before, graph_facts(g->arena, before, growing_dimension(before)), &stuck);
        const char *states = steps ? states_text(steps) : "";
        const int time = growing_dimension(before);
        join_sums(before);
        move_products(simplify(before), time, &lines);
        slice_joins(simplify(before), time);
        verify(before, "absorb");
        steps = incremental(before, graph_facts(g->arena, before, growing_dimension(before)), &stuck);
        for (int i = 0; i < lines.n; i++)
                printf("absorb: %s\n", lines.line[i]);
        if (steps && strcmp(states, states_text(steps)) != 0)
                printf("%s", states_text(steps));
        double *x = random_input(11);
        bool ok = steps && brute_steps(g, simplify(steps), x);
        free(x);
        return ok || mistaken("the state form after cut differs from the whole");
}

static Graph *load(Arena *arena, Interner *names, const char *path)
{
        Diag diag = {.arena = arena};
        Program *p = program_load(arena, names, &diag, path, NULL);
        Graph *g = p && diag.count == 0 ? elaborate_model(p, NULL, NULL, 0, &diag) : NULL;
        diag_print(&diag, stdout);
        return g;
}

static bool check_file(const char *path)
{
        Arena arena = {0};
        Interner names = {.arena = &arena};
        Graph *g = load(&arena, &names, path);
        bool causal,
                ok = g && check_model(g, &causal) && check_simplified(load(&arena, &names, path), causal);
        if (ok && causal)
                ok = check_absorbed(g, load(&arena, &names, path));
        arena_free(&arena);
        return ok;
}

int main(int argc, char **argv)
{
        int failed = 0;
        for (int i = 1; i < argc; i++) {
                failed += !check_file(argv[i]);
        }
        return failed != 0;
}
