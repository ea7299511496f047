/* Window caches: decides which states store a window of positions instead of the whole context.
 *
 * The causal pass has found how far back the rows of a state are read (StateVar.window).  There are two kinds
 * of readers that allow a window cache: attention, for which the state has keys or values and which can begin
 * at any position that is a multiple of 16; and reads of single rows from past - window on, as by a
 * convolution.  Then the state has room for the window, the rows of a call, and as many again, so that
 * positions can be taken back and rows are not moved in each call (runtime/window_cache.h).  States with the
 * same window form one window cache, with a common first position.
 *
 *   [context, width] rows 0 to context      ->      [size, width] rows base to base + size,      size = about window + 2 chunks
 *
 * Each sequence of a batch has its own first positions.  With pages (runtime/pages.h), states store the rows
 * for which they have pages.
 *
 * Expects kernels before layout.  Sets Plan.windows, for layout. */
#include <stdlib.h>

#include "plan_private.h"

/* Whether only taps read n. */
static bool is_read_by_taps_only(const Fuse *f, const Node *n)
{
        bool only = true;
        for (int i = 0; i < f->uses->nuser[n->id]; i++)
                only &= is_tapped(f->plan->graph, f->uses->user[n->id][i]);
        return only;
}

bool is_for_attention(const Fuse *f, const Node *n, bool but_for_taps)
{
        if (f->uses->pinned[n->id])
                return false;
        but_for_taps &= !is_read_by_taps_only(f, n); /* otherwise the layout would be undefined */
        for (int i = 0; i < f->uses->nuser[n->id]; i++) {
                const Node *user = f->uses->user[n->id][i];
                const Kernel *k = f->owner[user->id];
                if (but_for_taps && is_tapped(f->plan->graph, user))
                        continue;
                if (user->op == OP_VIEW && !f->plan->of_node.copy[user->id]) {
                        if (!is_for_attention(f, user, but_for_taps))
                                return false;
                        continue;
                }
                bool keys = k && k->op == K_ATTENTION && user == k->attention.core,
                     values = k && k->op == K_ATTENTION && user == k->stores.of[0].node;
                if ((!keys && !values) || user->in[1] != n || user->in[0] == n)
                        return false;
        }
        return true;
}

/* Whether n reads rows by their positions from past - back on, or zeros where there are none
 * (passes/fronts.c). */
static bool is_read_near(const Plan *p, const Node *n, int64_t window)
{
        if (n->op != OP_GATHER || n->nin != 2 || n->in[1]->op != OP_MAX)
                return false;
        const Node *const *of = (const Node *const *)n->in[1]->in;
        const Node *index = of[0]->op == OP_INDEX ? of[0] : of[1],
                   *none = of[0]->op == OP_INDEX ? of[1] : of[0];
        if (index->op != OP_INDEX || none->op != OP_CONST || none->attr.literal->count != 1 ||
            none->attr.literal->iterations != 1 || none->attr.literal->value[0] != 0)
                return false;
        Dim from = dim_sub(index->attr.dim, dim_named(p->graph->past));
        return dim_is_fixed(from) && -from.fixed <= window;
}

static bool is_read_near_alone(const Fuse *f, const Node *append)
{
        const Uses *uses = f->uses;
        if (uses->pinned[append->id] || uses->nuser[append->in[0]->id] > 1 || append->attr.axis != 0)
                return false;
        for (int i = 0; i < uses->nuser[append->id]; i++)
                if (!is_read_near(f->plan, uses->user[append->id][i], append->attr.state->window))
                        return false;
        return uses->nuser[append->id] > 0;
}

static WindowCache cache_for(const Plan *p, int64_t back)
{
        int64_t chunk = p->bound[p->graph->time], spare = p->rewind > chunk ? p->rewind : chunk;
        return (WindowCache){
                .back = back, .spare = spare, .size = round_up(back + chunk + spare + LANES - 1, LANES)};
}

bool is_all_positions(const Plan *p, const Node *append)
{
        Dim all = dim_add(dim_named(p->graph->past), dim_named(p->graph->time));
        int axis = append->attr.axis;
        return dim_equal(append->type.dim[axis], all) && axis < append->type.rank - 1;
}

/* Whether a window cache is possible for a state, and saves memory. */
static bool window_suits(const Fuse *f, const Node *append)
{
        const Plan *p = f->plan;
        const Graph *g = p->graph;
        const StateVar *s = append->attr.state;
        return s->window > 0 && is_all_positions(p, append) &&
               cache_for(p, s->window).size < g->named[g->time].bound &&
               (is_for_attention(f, append, false) || is_read_near_alone(f, append));
}

static int compare_ends(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
        return (x > y) - (x < y);
}

/* Makes a window cache for each window.  If there are too many windows, the smallest join the next larger. */
static void make_caches(Plan *p, int64_t *window, int n)
{
        int distinct = 0;
        qsort(window, (size_t)n, sizeof *window, compare_ends);
        for (int i = 0; i < n; i++)
                if (i + 1 == n || window[i] != window[i + 1])
                        window[distinct++] = window[i];
        int left_out = distinct > MAX_CACHES ? distinct - MAX_CACHES : 0;
        p->windows.n = distinct - left_out;
        for (int i = 0; i < p->windows.n; i++)
                p->windows.cache[i] = cache_for(p, window[left_out + i]);
}

void window_caches(Fuse *f)
{
        Plan *p = f->plan;
        int64_t *window = NEW_ARRAY(f->arena, int64_t, p->graph->nstate);
        int n = 0;
        p->windows.of_state = NEW_ARRAY(p->graph->arena, int, p->graph->nstate);
        for (int i = 0; i < p->graph->nstate; i++)
                p->windows.of_state[i] = -1;
        for (int i = 0; !p->off[PASS_window] && !p->pages && i < f->uses->n; i++) {
                const Node *append = f->uses->all[i];
                if (append->op != OP_APPEND || !window_suits(f, append))
                        continue;
                window[n++] = append->attr.state->window;
                p->windows.of_state[append->attr.state->id] = 0;
        }
        make_caches(p, window, n);
        for (int i = 0; i < p->graph->nstate; i++)
                while (p->windows.of_state[i] >= 0 &&
                       p->windows.cache[p->windows.of_state[i]].back < p->graph->state[i]->window)
                        p->windows.of_state[i]++;
}
