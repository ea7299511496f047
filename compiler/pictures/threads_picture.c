/* The schedule of threads: a row for each thread, a box for its share of each kernel, a line for each
 * barrier.
 *
 *      thread 0   | 1 |    2     | 3  |      4      |
 *      thread 1   | 1 |    2     | 3  |      4   |. |      . waits
 *                 ^              ^                  ^
 * The length of a box is the minimum time of the share, by the ceilings of one thread.  Without a barrier a
 * thread continues with the next kernel.  Each body of a repeat is drawn once. */
#include <inttypes.h>
#include <math.h>

#include "pictures_private.h"

enum { LEFT = 96, WIDE = 900, RIGHT = 40, TOP = 62, LINE = 15, GAP = 40, BAND = 15 };

typedef struct {
        Text *out;
        const Plan *plan;
        const PlanCall *call;
        const Roof *roof;
        const Turn *turn;
        int nturn, threads, depth; /* depth: of nested repeats */
        double row;                /* height of a thread's row */
        double top;                /* upper edge of the rows */
        double *begin;             /* [nturn][threads]: start of a kernel in a thread, in seconds */
        double *end;               /* its end; bodies: the first start and the last end */
        double *wait;              /* [nturn]: time of the barrier before a kernel; < 0: none */
        double all, busy;          /* total seconds; busy seconds of all threads */
        Axis time;
} Schedule;

/* --- times of threads ------------------------------------------------------------------------------------------------- */

static double latest(const double *clock, int n)
{
        double last = clock[0];
        for (int i = 1; i < n; i++)
                last = fmax(last, clock[i]);
        return last;
}

/* [threads] */
static double *turn_times(const Schedule *s, double *times, int turn)
{
        return times + (ptrdiff_t)turn * s->threads;
}

static void run_turn(Schedule *s, int i, double *clock)
{
        const Turn *t = &s->turn[i];
        double *begin = turn_times(s, s->begin, i), *end = turn_times(s, s->end, i);
        s->wait[i] = -1;
        if (waits_before(s->plan, s->call, t, s->threads)) {
                s->wait[i] = latest(clock, s->threads);
                for (int k = 0; k < s->threads; k++)
                        clock[k] = s->wait[i];
        }
        if (t->kind != RUNS_KERNEL) {
                for (int k = 0; k < s->threads; k++)
                        begin[k] = end[k] = latest(clock, s->threads);
                return;
        }
        const KernelCost *cost = &s->call->cost[t->kernel->order.step];
        const bool own = is_done_by_each(s->call, t->kernel);
        const int64_t all = own ? cost->units : call_units(s->call, t->kernel, s->threads);
        for (int k = 0; k < s->threads; k++) {
                const double part = (double)units_done(s->call, t->kernel, k, s->threads) / (double)all;
                begin[k] = clock[k];
                end[k] = clock[k] += part * min_seconds(cost, s->roof);
                s->busy += end[k] - begin[k];
        }
}

static void run_schedule(Schedule *s)
{
        double clock[MAX_THREADS] = {0};
        for (int i = 0; i < s->nturn; i++)
                run_turn(s, i, clock);
        s->all = latest(clock, s->threads);
}

/* --- the picture of a call -------------------------------------------------------------------------------------------- */

static const char *share_text(Arena *a, const Schedule *s, const Kernel *k, int t)
{
        if (is_done_by_each(s->call, k))
                return arena_printf(a, "%s: all, for itself", k->name);
        const int64_t from = units_before(s->call, k, t, s->threads),
                      to = units_before(s->call, k, t + 1, s->threads);
        if (to - from == call_units(s->call, k, s->threads))
                return arena_printf(a, "%s: all", k->name);
        return arena_printf(a, "%s: %" PRId64 " to %" PRId64 " of %s", k->name, from, to,
                            units_text(a, s->call, k, s->threads));
}

static void draw_share(const Schedule *s, int i, int t)
{
        const Turn *turn = &s->turn[i];
        const double x = axis_at(&s->time, turn_times(s, s->begin, i)[t]),
                     wide = axis_at(&s->time, turn_times(s, s->end, i)[t]) - x, y = s->top + t * s->row;
        const char *number = arena_printf(s->out->arena, "%d", turn->number);
        if (units_done(s->call, turn->kernel, t, s->threads) == 0)
                return;
        svg_open(s->out, " data-thread=\"%d\" data-kernel=\"%d\" data-units=\"%" PRId64 "\"", t,
                 turn->kernel->order.step, units_done(s->call, turn->kernel, t, s->threads));
        svg_box(s->out, x, y + 2, wide, s->row - 4, "box", kind_fill[kind_of_kernel(turn->kernel)],
                share_text(s->out->arena, s, turn->kernel, t));
        if (wide > svg_width(number, SVG_SMALL) + 2 && s->row >= SVG_SMALL + 4)
                svg_text(s->out, x + wide / 2, y + s->row / 2 + 3.5, "small middle", number);
        svg_close(s->out);
}

/* Draws a band behind a body, with its name above. */
static void draw_band(const Schedule *s, int i, int depth)
{
        int end = i + 1;
        for (int open = 1; open; end++)
                open += s->turn[end].kind == RUNS_BODY ? 1 : s->turn[end].kind == ENDS_BODY ? -1 : 0;
        const Region *r = s->turn[i].kernel->repeat.region;
        const double x = axis_at(&s->time, *turn_times(s, s->begin, i)),
                     wide = axis_at(&s->time, *turn_times(s, s->begin, end - 1)) - x,
                     y = s->top - 4 - BAND * (s->depth - depth + 1);
        const int64_t runs = s->turn[i].runs;
        const char *text = runs < r->iterations ? arena_printf(s->out->arena, "%s × %" PRId64 " of %" PRId64,
                                                               r->name, runs, r->iterations)
                                                : arena_printf(s->out->arena, "%s × %" PRId64, r->name, runs);
        svg_box(s->out, x, y, wide, s->top + s->threads * s->row - y, "frame",
                depth % 2 ? "#f3f6fa" : "#e8eef6", text);
        svg_text_within(s->out, x + wide / 2, y + 12, wide, "middle bold", text, r->name);
}

static int deepest(const Turn *turn, int n)
{
        int depth = 0, most = 0;
        for (int i = 0; i < n; i++) {
                depth += turn[i].kind == RUNS_BODY;
                most = depth > most ? depth : most;
                depth -= turn[i].kind == ENDS_BODY;
        }
        return most;
}

static void draw_bands(const Schedule *s)
{
        for (int i = 0, depth = 0; i < s->nturn; i++) {
                depth += s->turn[i].kind == RUNS_BODY;
                if (s->turn[i].kind == RUNS_BODY)
                        draw_band(s, i, depth);
                depth -= s->turn[i].kind == ENDS_BODY;
        }
}

static void draw_rows(const Schedule *s)
{
        const double bottom = s->top + s->threads * s->row;
        axis_draw_bottom(s->out, &s->time, bottom, s->threads * s->row,
                         "estimated time, each body of a repeat once");
        for (int t = 0; t < s->threads; t++)
                svg_text(s->out, LEFT - 8, s->top + t * s->row + s->row / 2 + 4,
                         s->row < SVG_SIZE ? "small end" : "text end",
                         arena_printf(s->out->arena, "thread %d", t));
        for (int i = 0; i < s->nturn; i++)
                for (int t = 0; t < s->threads && s->turn[i].kind == RUNS_KERNEL; t++)
                        draw_share(s, i, t);
        for (int i = 0; i < s->nturn; i++)
                if (s->wait[i] >= 0) {
                        const double x = axis_at(&s->time, s->wait[i]);
                        svg_open(s->out, " data-barrier=\"%d\"", s->turn[i].kernel->order.step);
                        svg_line(s->out, x, s->top - 4, x, bottom + 3, "wait");
                        svg_close(s->out);
                }
}

/* Explains the numbers in the boxes. */
static void draw_table(const Schedule *s, double y)
{
        static const char *const head[] = {"",     "kernel", "shared by", "runs",
                                           "FLOP", "bytes",  "time",      "of all"};
        const double names = fmax(widest_name(s->plan) + 46, 300),
                     column[] = {16,          28,          names,       names + 285,
                                 names + 355, names + 430, names + 510, names + 580};
        Arena *a = s->out->arena;
        double total = 0;
        for (int i = 0; i < s->nturn; i++) {
                const KernelCost *cost = &s->call->cost[s->turn[i].kernel->order.step];
                total += s->turn[i].kind == RUNS_KERNEL ? (double)cost->runs * min_seconds(cost, s->roof) : 0;
        }
        for (int c = 0; c < 8; c++)
                svg_text(s->out, LEFT + column[c], y, c == 1 || c == 2 ? "text grey" : "text end grey",
                         head[c]);
        for (int i = 0; i < s->nturn; i++) {
                const Turn *t = &s->turn[i];
                const KernelCost *cost = &s->call->cost[t->kernel->order.step];
                if (t->kind != RUNS_KERNEL)
                        continue;
                const double seconds = min_seconds(cost, s->roof);
                const char *cell[] = {
                        arena_printf(a, "%d", t->number),
                        t->kernel->name,
                        is_done_by_each(s->call, t->kernel) ? "all by each thread"
                                                            : units_text(a, s->call, t->kernel, s->threads),
                        arena_printf(a, "%" PRId64, cost->runs),
                        in_units(a, (double)cost->flops, ""),
                        in_units(a, (double)(cost->read + cost->written), "B"),
                        axis_label(a, seconds, "s"),
                        arena_printf(a, "%.1f %%",
                                     total > 0 ? 100 * seconds * (double)cost->runs / total : 0)};
                y += LINE;
                svg_box(s->out, LEFT - 16, y - 9, 14, 10, "box", kind_fill[kind_of_kernel(t->kernel)], NULL);
                for (int c = 0; c < 8; c++)
                        svg_text(s->out, LEFT + column[c], y, c == 1 || c == 2 ? "text" : "text end",
                                 cell[c]);
        }
}

/* Returns the position of the next one. */
static double draw_call(Schedule *s, double y)
{
        Arena *a = s->out->arena;
        int kernels = 0;
        s->begin = NEW_ARRAY(a, double, (int64_t)s->nturn * s->threads);
        s->end = NEW_ARRAY(a, double, (int64_t)s->nturn * s->threads);
        s->wait = NEW_ARRAY(a, double, s->nturn);
        run_schedule(s);
        s->time = (Axis){
                .low = 0, .high = s->all > 0 ? s->all : 1, .from = LEFT, .to = LEFT + WIDE, .unit = "s"};
        for (int i = 0; i < s->nturn; i++)
                kernels += s->turn[i].kind == RUNS_KERNEL;
        const double waiting = s->all > 0 ? 100 - 100 * s->busy / (s->all * s->threads) : 0;
        svg_text(s->out, LEFT, y, "text bold",
                 arena_printf(a, "%s: threads wait %.0f %% of this time", s->call->about, waiting));
        s->depth = deepest(s->turn, s->nturn);
        s->top = y + 14 + BAND * s->depth;
        svg_open(s->out, " data-call=\"%s\"", s->call->part ? "feed" : s->call->name);
        draw_bands(s);
        draw_rows(s);
        svg_close(s->out);
        draw_table(s, s->top + s->threads * s->row + 62);
        return s->top + s->threads * s->row + 62 + kernels * LINE + GAP;
}

static void threads_key(Text *out, const Plan *p, const Roof *roof, double y)
{
        Arena *a = out->arena;
        svg_legend(out, LEFT, y, kinds_of_plan(p));
        svg_line(out, LEFT + 7, y + 11, LEFT + 7, y + 24, "wait");
        svg_text(out, LEFT + 19, y + 22, "text", "barrier: all threads wait for the last one");
        svg_text(out, LEFT, y + 42, "text grey",
                 arena_printf(a, "Time is FLOPs at %s or bytes at %s, the longer of them (%s).",
                              in_units(a, roof->most.flops, "FLOP/s"), in_units(a, roof->most.read, "B/s"),
                              roof->from));
}

void draw_threads(Text *out, const Plan *p, const Roof *roof, int threads)
{
        Arena *a = out->arena;
        PlanCall *call;
        const int n = calls_of(a, p, &call);
        Text *calls = text_new(a);
        double y = TOP;
        for (int i = 0; i < n; i++) {
                Turn *turn;
                Schedule s = {.out = calls, .plan = p, .call = &call[i], .roof = roof, .threads = threads};
                s.nturn = turns_of(a, p, &call[i], &turn);
                s.turn = turn;
                s.row = threads <= 16 ? 24 : 14;
                y = draw_call(&s, y);
        }
        const char *title = arena_printf(a, "%s: the schedule of %d thread%s", p->c_name, threads,
                                         threads == 1 ? "" : "s");
        svg_begin(out, LEFT + RIGHT + fmax(WIDE, widest_name(p) + 626), y + 56, title);
        svg_text(out, LEFT, 28, "title", title);
        text_add(out, calls->data, calls->n);
        threads_key(out, p, roof, y);
        svg_end(out);
}
