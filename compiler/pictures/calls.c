/* The kinds of calls of a plan: the kernels of each in order, their division among threads, and their
 * costs. */
#include <inttypes.h>
#include <math.h>

#include "pictures_private.h"

/* --- sizes ------------------------------------------------------------------------------------------------------------ */

/* "source": the inputs that are fed with these groups */
static const char *group_names(Arena *a, const Graph *g, uint64_t groups)
{
        const char *text = "";
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                bool first = groups >> in->group & 1;
                for (int k = 0; k < i; k++)
                        first &= g->input[k].group != in->group;
                if (first)
                        text = arena_printf(a, "%s%s%s", text, *text ? ", " : "",
                                            in->group_name ? in->group_name : input_name(in));
        }
        return text;
}

/* " with frames = 16, time = 256": sizes of a call other than positions */
static const char *sizes_text(Arena *a, const Graph *g, const int64_t *size)
{
        const char *text = "";
        for (int i = 0; i < g->nnamed; i++)
                if (i != g->past && i != g->time)
                        text = arena_printf(
                                a, "%s%s%s = %" PRId64, text, *text ? ", " : " with ",
                                g->named[i].model_name ? g->named[i].model_name : g->named[i].name, size[i]);
        return text;
}

static PlanCall call_new(const Plan *p, uint64_t part, const char *name)
{
        PlanCall c = {.name = name, .part = part};
        for (int i = 0; i < p->graph->nnamed; i++)
                c.size[i] = p->bound[i];
        if (p->graph->past >= 0)
                c.size[p->graph->past] = 0;
        return c;
}

static PlanCall step_call(const Plan *p)
{
        const Graph *g = p->graph;
        PlanCall c = call_new(p, 0, "step");
        c.one_row = true;
        c.size[g->time] = 1;
        c.size[g->past] = g->named[g->time].bound - 1;
        c.about = arena_printf(g->arena, "a step after %" PRId64 " positions%s", c.size[g->past],
                               sizes_text(g->arena, g, c.size));
        return c;
}

static PlanCall prefill_call(const Plan *p)
{
        const Graph *g = p->graph;
        PlanCall c = call_new(p, 0, "prefill");
        c.size[NAMED_FIRST] = c.size[g->time] - 1;
        c.about = arena_printf(g->arena, "a prefill of %" PRId64 " positions, outputs of the last%s",
                               c.size[g->time], sizes_text(g->arena, g, c.size));
        return c;
}

int calls_of(Arena *a, const Plan *p, PlanCall **call)
{
        const Graph *g = p->graph;
        PlanCall *c = NEW_ARRAY(a, PlanCall, g->npart + 2);
        int n = 0;
        for (int i = 0; i < g->npart; i++) {
                if (!g->part[i])
                        continue;
                c[n] = call_new(p, g->part[i], arena_printf(a, "feed %s", group_names(a, g, g->part[i])));
                c[n].about = arena_printf(a, "feeding %s%s", group_names(a, g, g->part[i]),
                                          sizes_text(a, g, c[n].size));
                n++;
        }
        if (g->past < 0) {
                c[n] = call_new(p, 0, "call");
                c[n].about = arena_printf(a, "a call%s", sizes_text(a, g, c[n].size));
                n++;
        } else {
                if (p->bound[g->time] > 1)
                        c[n++] = prefill_call(p);
                c[n++] = step_call(p);
        }
        for (int i = 0; i < n; i++)
                c[i].cost = kernel_costs(a, p, c[i].size);
        *call = c;
        return n;
}

/* --- order ------------------------------------------------------------------------------------------------------------ */

typedef struct {
        Arena *arena;
        const Plan *plan;
        Turn *turn;
        int n, cap, number;
} CallTurns;

static void add_turn(CallTurns *t, Turn turn)
{
        GROW(t->arena, t->turn, t->n, t->cap);
        t->turn[t->n++] = turn;
}

static void calls_add_turns(CallTurns *t, const StepList *list, unsigned waits, const PlanCall *call);

static void calls_add_body(CallTurns *t, const Step *s, unsigned waits, const PlanCall *call)
{
        const Region *r = s->kernel->repeat.region;
        int64_t runs = 0;
        for (int64_t i = 0; i < r->iterations; i++)
                runs += r->body_of[i] == s->body;
        add_turn(t, (Turn){RUNS_BODY, s->kernel, runs, 0, s->body == 0 ? waits : 0});
        if (s->kernel->repeat.active_rows)
                add_turn(t, (Turn){RUNS_KERNEL, s->kernel->repeat.active_rows, 1, ++t->number, 0});
        calls_add_turns(t, &s->inside, 0, call);
        add_turn(t, (Turn){ENDS_BODY, s->kernel, runs, 0, 0});
}

/* Steps of one process.  waits: kinds of calls with a barrier before the list. */
static void calls_add_turns(CallTurns *t, const StepList *list, unsigned waits, const PlanCall *call)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i];
                if (s->op == STEP_BARRIER) {
                        waits |= s->when;
                        continue;
                }
                if ((s->op == STEP_IF && s->when & WHEN_SHARED) ||
                    (s->op == STEP_PART && !call->all_parts && s->groups != call->part))
                        continue;
                if (s->op == STEP_CALL)
                        add_turn(t, (Turn){RUNS_KERNEL, s->kernel, 1, ++t->number, waits});
                if (s->op == STEP_BODY)
                        calls_add_body(t, s, waits, call);
                else
                        calls_add_turns(t, &s->inside, waits, call);
                waits = s->op == STEP_BODY ? waits : 0;
        }
}

double widest_name(const Plan *p)
{
        double widest = 0;
        for (int b = 0; b < p->all.n; b++)
                widest = fmax(widest, svg_width(p->all.kernel[b]->name, SVG_SIZE));
        return widest;
}

unsigned kinds_of_plan(const Plan *p)
{
        unsigned kinds = 0;
        for (int b = 0; b < p->all.n; b++)
                if (p->all.kernel[b]->op != K_REPEAT)
                        kinds |= 1U << kind_of_kernel(p->all.kernel[b]);
        return kinds;
}

int turns_of(Arena *a, const Plan *p, const PlanCall *call, Turn **turn)
{
        CallTurns t = {.arena = a, .plan = p};
        calls_add_turns(&t, p->program, 0, call);
        *turn = t.turn;
        return t.n;
}

/* --- threads ---------------------------------------------------------------------------------------------------------- */

double min_seconds(const KernelCost *cost, const Roof *roof)
{
        return fmax((double)cost->flops / roof->most.flops,
                    (double)(cost->read + cost->written) / roof->most.read);
}

bool waits_before(const Plan *p, const PlanCall *call, const Turn *t, int threads)
{
        const unsigned calls = !call->one_row                            ? WAIT_ROWS
                               : p->heads > 0 && p->heads % threads == 0 ? WAIT_HEADS
                                                                         : WAIT_STEP;
        return threads > 1 && t->waits & calls;
}

bool is_done_by_each(const PlanCall *call, const Kernel *k)
{
        return (k->one_row == ONE_ROW_REPLICATED && call->one_row) || k->op == K_ACTIVE;
}

int64_t call_units(const PlanCall *call, const Kernel *k, int threads)
{
        const KernelCost *c = &call->cost[k->order.step];
        const int64_t all = c->units * c->blocks;
        const bool even = (all + threads - 1) / threads >= (c->units + threads - 1) / threads * c->blocks;
        return c->units % threads == 0 || even ? c->units : all;
}

int64_t units_before(const PlanCall *call, const Kernel *k, int t, int threads)
{
        return call_units(call, k, threads) * t / threads;
}

int64_t units_done(const PlanCall *call, const Kernel *k, int t, int threads)
{
        if (is_done_by_each(call, k))
                return call->cost[k->order.step].units;
        return units_before(call, k, t + 1, threads) - units_before(call, k, t, threads);
}

const char *units_text(Arena *a, const PlanCall *call, const Kernel *k, int threads)
{
        const KernelCost *c = &call->cost[k->order.step];
        const int64_t units = call_units(call, k, threads);
        if (units == 1)
                return "one thread does it";
        return arena_printf(a, "%" PRId64 " %s", units, units > c->units ? "blocks of keys" : c->unit);
}
