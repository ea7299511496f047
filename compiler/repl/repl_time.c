/* :time: the time of a run by kernel, and each kernel's share of the machine's ceiling.
 *
 * The ceilings are measured (driver/ceilings.c).  A kernel's share is the time that its arithmetic or its bytes would take at the
 * ceiling, the longer of them, over the time that it took. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pictures/pictures.h"
#include "repl_private.h"

enum { STEPS = 16 };

/* --- work of a kernel -------------------------------------------------------------------------------------------------- */

typedef struct {
        const Kernel *kernel;
        double flops, bytes; /* of one run */
        ProfileRow took;
} TimeRow;

static int list_kernels(const Plan *p, TimeRow *row, int most)
{
        int n = 0;
        for (int b = 0; b < p->all.n; b++)
                if (p->all.kernel[b]->op != K_REPEAT && p->all.kernel[b]->op != K_ACTIVE && n < most)
                        row[n++].kernel = p->all.kernel[b];
        return n;
}

/* --- the table ----------------------------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
        double x = ((const TimeRow *)a)->took.seconds, y = ((const TimeRow *)b)->took.seconds;
        return (x < y) - (x > y);
}

static void print_time_rows(TimeRow *row, int n, int runs, double reads, double products)
{
        double total = 0;
        for (int i = 0; i < n; i++)
                total += row[i].took.seconds;
        qsort(row, (size_t)n, sizeof *row, by_time);
        printf("%-32s %6s %10s %6s %9s %8s %8s\n", "kernel", "calls", "us", "time", "GFLOP/s", "GB/s",
               "ceiling");
        for (int i = 0; i < n; i++) {
                const TimeRow *r = &row[i];
                if (!r->took.calls)
                        continue;
                double calls = (double)r->took.calls, t = r->took.seconds > 0 ? r->took.seconds : 1e-9;
                double most = r->flops / products > r->bytes / reads ? r->flops / products : r->bytes / reads;
                printf("%-32s %6" PRId64 " %10.1f %5.1f%% %9.2f %8.2f %7.0f%%\n", r->kernel->name,
                       r->took.calls / runs, 1e6 * t / runs, total > 0 ? 100 * t / total : 0,
                       1e-9 * r->flops * calls / t, 1e-9 * r->bytes * calls / t, 100 * most * calls / t);
        }
        printf("%-32s %6s %10.1f\n", "all", "", 1e6 * total / runs);
}

/* Measurements, for the table and a picture; in the plan's arena. */
typedef struct {
        Ceilings ceiling;
        PlanCall call[2];
        int ncall;
} Times;

/* runs: number of runs in the profile, each with these sizes. */
static bool print_profile(ReplSession *s, const ProfileRow *profile, int steps, const PlanCall *call,
                          int runs, Times *times)
{
        const Plan *p = s->runner->plan;
        Arena *a = p->graph->arena;
        TimeRow *row = calloc((size_t)steps, sizeof *row);
        if (!row)
                return repl_error("%s", no_memory);
        int n = list_kernels(p, row, steps);
        PlanCall *timed = &times->call[times->ncall++];
        double *seconds = NEW_ARRAY(a, double, steps);
        const KernelCost *cost = kernel_costs(a, p, call->size);
        *timed = *call;
        timed->cost = cost;
        timed->seconds = seconds;
        printf("%s\n", call->about);
        for (int i = 0; i < n; i++) {
                const int step = row[i].kernel->order.step;
                row[i].flops = (double)cost[step].flops;
                row[i].bytes = (double)(cost[step].read + cost[step].written);
                row[i].took = profile[step];
                seconds[step] = profile[step].seconds / runs;
        }
        print_time_rows(row, n, runs, times->ceiling.read, times->ceiling.flops);
        free(row);
        return true;
}

/* --- the runs ------------------------------------------------------------------------------------------------------------- */

/* To the first n positions.  What keeps its last state alone takes them again. */
static const char *time_back_to(const Runner *r, const EngineCall *call, int64_t n)
{
        const char *error = engine_rewind(r->engine, n);
        if (!error || engine_rewind(r->engine, 0))
                return error;
        return engine_advance(r->engine, call, n, n);
}

/* Runs once to warm up, then again. */
static bool time_whole(ReplSession *s, Trace *t, ProfileRow *profile, int steps)
{
        if (!trace_run(s, t) || engine_rewind(s->runner->engine, 0))
                return false;
        memset(profile, 0, (size_t)steps * sizeof *profile);
        profile_into(profile, steps);
        bool good = trace_run(s, t);
        profile_into(NULL, 0);
        return good;
}

/* Runs single positions after the whole: repeats its last inputs. */
static bool time_steps(ReplSession *s, const Trace *t, ProfileRow *profile, int steps, int64_t *size,
                       int *runs)
{
        Runner *r = s->runner;
        const Graph *g = r->model.graph;
        int64_t n = t->size[g->time];
        memset(profile, 0, (size_t)steps * sizeof *profile);
        memcpy(size, t->size, sizeof t->size);
        size[g->time] = 1;
        size[g->past] = n;
        EngineCall call = {(const void *const *)t->input, t->output, t->size};
        const char *error = time_back_to(r, &call, n - 1);
        for (*runs = 0; !error && *runs < STEPS; ++*runs) {
                error = time_back_to(r, &call, n - 1);
                profile_into(*runs ? profile : NULL, steps);
                error = error ? error : engine_advance(r->engine, &call, 1, 0);
        }
        profile_into(NULL, 0);
        *runs -= 1;
        size[g->past] = n - 1;
        return !error || repl_error("%s", error);
}

static bool time_all(ReplSession *s, Trace *t, ProfileRow *profile, int steps, Times *times)
{
        const Graph *g = s->runner->model.graph;
        Arena *a = g->arena;
        PlanCall whole = {.name = g->past >= 0 ? "prefill" : "call", .all_parts = true},
                 step = {.name = "step", .one_row = true};
        int runs;
        if (!ceilings_measure(&times->ceiling, s->options.threads))
                return repl_error("the ceilings can't be measured");
        printf("%s, %d thread%s; ceilings: read %.1f GB/s, product %.1f GFLOP/s\n",
               s->runner->plan->target->name, s->options.threads, s->options.threads == 1 ? "" : "s",
               1e-9 * times->ceiling.read, 1e-9 * times->ceiling.flops);
        if (!time_whole(s, t, profile, steps))
                return false;
        memcpy(whole.size, t->size, sizeof whole.size);
        whole.about =
                g->past < 0 ? "a call" : arena_printf(a, "prefill, %" PRId64 " positions", t->size[g->time]);
        if (!print_profile(s, profile, steps, &whole, 1, times))
                return false;
        if (g->past < 0)
                return true;
        if (!time_steps(s, t, profile, steps, step.size, &runs))
                return false;
        step.about = arena_printf(a, "a step after %" PRId64 " positions", step.size[g->past]);
        return print_profile(s, profile, steps, &step, runs, times);
}

static bool draw_times(const ReplSession *s, const Times *times, const char *path)
{
        const Plan *p = s->runner->plan;
        Arena *a = p->graph->arena;
        Text *picture = text_new(a);
        const int threads = s->options.threads;
        const Roof roof = {times->ceiling, arena_printf(a, "%d thread%s, measured on this machine", threads,
                                                        threads == 1 ? "" : "s")};
        draw_roofline(picture, p, &roof, times->call, times->ncall);
        return drawing_write(path, picture->data, picture->n);
}

/* [FILE.svg|.pdf|.png] */
bool show_times(ReplSession *s, const Words *w)
{
        Trace t;
        Times times = {.ncall = 0};
        const char *path = w->n > 1 ? w->word[1] : NULL;
        if (path && !is_drawing_name(path))
                return repl_error("expected a file that ends in .svg, .pdf or .png, not %s", path);
        if (!runner_fit(s, (RunnerKind){.attention = -1, .timed = true}))
                return false;
        const int steps = s->runner->plan->steps;
        ProfileRow *profile = calloc((size_t)steps, sizeof *profile);
        bool good = trace_inputs(s, &t) && (profile || repl_error("%s", no_memory)) &&
                    time_all(s, &t, profile, steps, &times);
        good = good && (!path || draw_times(s, &times, path));
        trace_free(s, &t);
        free(profile);
        return good;
}
