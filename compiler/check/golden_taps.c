/* The default taps of a golden file. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Default taps: the results by position of each block called in an outermost repeat. */
static bool is_block_output(const Graph *g, const Tap *t)
{
        const char *all = strstr(t->name, "[i].");
        return all && !strpbrk(all + 4, ".[") && t->in_all_iterations && t->type.dtype == REAL &&
               t->type.rank > 1 && (!g->nnamed || !dim_is_fixed(t->type.dim[1]));
}

static int compare_golden_taps(const void *a, const void *b)
{
        const Tap *x = a, *y = b;
        return (x->at > y->at) - (x->at < y->at);
}

bool golden_choose_taps(Golden *g)
{
        Model m;
        int n = 0;
        if (!golden_open(g))
                return false;
        bool good = model_load(&m, &g->o, &g->code);
        Tap *tap = good ? taps_of(&m.arena, m.graph, &n) : NULL;
        if (n)
                qsort(tap, (size_t)n, sizeof *tap, compare_golden_taps);
        for (int i = 0; i < n && g->o.tap.n < MAX_TAPS; i++)
                if (is_block_output(m.graph, &tap[i]))
                        g->o.tap.at[g->o.tap.n++] = arena_strdup(&g->arena, tap[i].name);
        if (good && !g->o.model)
                g->o.model = arena_strdup(&g->arena, m.graph->name);
        model_free(&m);
        return good;
}

/* Whether "layer[0].attn" is a value of the tap layer[i].attn. */
static bool value_is_of_tap(const GoldenValue *v, const char *tap)
{
        const char *all = strstr(tap, "[i]"), *close = strchr(v->name, ']');
        return all && close && !strncmp(v->name, tap, (size_t)(all - tap) + 1) && !strcmp(close + 1, all + 3);
}

/* Whether an earlier tap has the same values, such as `x` after an identity. */
static bool repeats_another(const Golden *g, const char *tap)
{
        bool any = false;
        for (int i = 0; i < g->nvalue; i++) {
                bool before = false;
                if (!value_is_of_tap(&g->value[i], tap))
                        continue;
                for (int k = 0; k < i; k++)
                        before |= g->value[k].hash == g->value[i].hash;
                if (!before)
                        return false;
                any = true;
        }
        return any;
}

/* Drops default taps with repeated values. */
void golden_drop_repeated(Golden *g)
{
        bool drop[MAX_TAPS];
        int ntap = 0, nvalue = 0;
        for (int i = 0; i < g->o.tap.n; i++)
                drop[i] = repeats_another(g, g->o.tap.at[i]);
        for (int i = 0; i < g->nvalue; i++) {
                bool keep = true;
                for (int k = 0; k < g->o.tap.n; k++)
                        keep &= !(drop[k] && value_is_of_tap(&g->value[i], g->o.tap.at[k]));
                if (keep)
                        g->value[nvalue++] = g->value[i];
        }
        g->nvalue = nvalue;
        for (int i = 0; i < g->o.tap.n; i++)
                if (!drop[i])
                        g->o.tap.at[ntap++] = g->o.tap.at[i];
        g->o.tap.n = ntap;
}
