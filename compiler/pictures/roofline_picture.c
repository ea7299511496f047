/* A roofline (Williams, Waterman and Patterson 2009): the maximum performance of each kernel, by its FLOPs
 * per byte.
 *
 *      FLOP/s |          _______________     arithmetic
 *             |        /
 *             |      o   reads
 *             +---------------------------   FLOP/byte
 *      ln1    |   o     #
 *      qkv    |     o          #             a row for each kernel, a mark for each kind of call
 *
 * Both parts have the same axis of FLOPs per byte.  The size of a mark is the kernel's share of the call's
 * time. */
#include <inttypes.h>
#include <math.h>

#include "pictures_private.h"

enum {
        MARGIN = 24,
        TOP = 50,
        WIDE = 560,
        HIGH = 300,
        LINE = 17,
        COLUMN = 84,
        WIDE_COLUMN = 136,
        MIN_MARK = 3,
        MAX_MARK = 9
};

typedef struct {
        Text *out;
        const Plan *plan;
        const Roof *roof;
        const PlanCall *call;
        int ncall;
        bool measured;
        Turn **turn; /* [ncall][nturn] */
        int *nturn;
        bool **runs; /* [ncall], by Kernel.order.step: whether it runs in this call */
        Axis x, y;
        double top;    /* upper edge of the rows */
        double *total; /* [ncall]: seconds */
} Roofline;

static double intensity(const KernelCost *c)
{
        return (double)c->flops / (double)(c->read + c->written > 0 ? c->read + c->written : 1);
}

/* Maximum FLOPs per second */
static double allowed(const Roofline *r, double flops_a_byte)
{
        return fmin(r->roof->most.flops, flops_a_byte * r->roof->most.read);
}

/* Seconds of all runs of a kernel: measured, or the minimum. */
static double seconds_of(const Roofline *r, int call, int step)
{
        const KernelCost *c = &r->call[call].cost[step];
        return r->measured ? r->call[call].seconds[step] : (double)c->runs * min_seconds(c, r->roof);
}

static double reached(const Roofline *r, int call, int step)
{
        const KernelCost *c = &r->call[call].cost[step];
        const double seconds = seconds_of(r, call, step);
        return r->measured && seconds > 0 ? (double)(c->runs * c->flops) / seconds : allowed(r, intensity(c));
}

/* --- marks: a shape for each kind of call ------------------------------------------------------------------------------ */

static void draw_mark(Text *t, int shape, double x, double y, double size, const char *fill,
                      const char *title)
{
        if (shape == 0)
                text_printf(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y, size);
        else if (shape == 1)
                text_printf(t, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", x - size * 0.89,
                            y - size * 0.89, 1.78 * size, 1.78 * size);
        else
                text_printf(t, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"", x, y - 1.2 * size, 1.2 * size,
                            2.1 * size, -2.4 * size);
        text_printf(t, " class=\"mark\" fill=\"%s\" fill-opacity=\"0.8\"><title>", fill);
        svg_escape(t, title);
        text_printf(t, "</title></%s>\n", shape == 0 ? "circle" : shape == 1 ? "rect" : "path");
}

static double column_width(const Roofline *r)
{
        return r->measured ? WIDE_COLUMN : COLUMN;
}

static void draw_marks(const Roofline *r, int call, const Kernel *k, double row)
{
        const KernelCost *c = &r->call[call].cost[k->order.step];
        const double part = r->total[call] > 0 ? seconds_of(r, call, k->order.step) / r->total[call] : 0,
                     rate = reached(r, call, k->order.step);
        Arena *a = r->out->arena;
        const char *fill = kind_fill[kind_of_kernel(k)];
        if (c->flops > 0) {
                const double x = axis_at(&r->x, intensity(c)), size = fmax(MIN_MARK, MAX_MARK * sqrt(part));
                const char *text = arena_printf(
                        a, "%s, %s: %.3g FLOP/byte, %s%s, %.1f %% of the time", k->name, r->call[call].name,
                        intensity(c), r->measured ? "" : "at most ", in_units(a, rate, "FLOP/s"), 100 * part);
                svg_open(r->out, " data-kernel=\"%d\" data-call=\"%d\"", k->order.step, call);
                draw_mark(r->out, call, x, axis_at(&r->y, rate), 5, fill, text);
                draw_mark(r->out, call, x, row, size, fill, text);
                svg_close(r->out);
        }
        svg_text(r->out, r->x.to + column_width(r) * (call + 1), row + 4, "text end",
                 arena_printf(a, "%.1f %%%s", 100 * part,
                              c->flops <= 0 ? " *"
                              : r->measured ? arena_printf(a, " at %3d %%",
                                                           (int)(100 * rate / allowed(r, intensity(c)) + 0.5))
                                            : ""));
}

/* --- the roof --------------------------------------------------------------------------------------------------------- */

static void draw_roof(const Roofline *r)
{
        const Ceilings *most = &r->roof->most;
        const double ridge = most->flops / most->read;
        Arena *a = r->out->arena;
        Text *path = text_new(a);
        const double x = axis_at(&r->x, ridge), y = axis_at(&r->y, most->flops);
        text_printf(path, "M%.1f %.1fL%.1f %.1fL%.1f %.1f", r->x.from, axis_at(&r->y, r->x.low * most->read),
                    x, y, r->x.to, y);
        svg_path(r->out, "roof", path->data);
        svg_line(r->out, x, y, x, r->y.from, "grid");
        svg_text(r->out, r->x.to - 4, y - 7, "text end",
                 arena_printf(a, "arithmetic %s", in_units(a, most->flops, "FLOP/s")));
        const double middle = sqrt(r->x.low * ridge), at = axis_at(&r->x, middle),
                     slope = real_atan((axis_at(&r->y, middle * most->read) - y) / (x - at)) * 57.29578;
        text_printf(r->out, "<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" class=\"text middle\">",
                    at, axis_at(&r->y, middle * most->read) - 14, -slope);
        svg_escape(r->out, arena_printf(a, "memory %s", in_units(a, most->read, "B/s")));
        text_put(r->out, "</text>\n");
        svg_text(r->out, x, r->y.from - 6, "small middle grey", arena_printf(a, "ridge %.3g", ridge));
}

/* Whole decades around all kernels and the ridge point. */
static void roofline_range(Roofline *r, double left)
{
        const double ridge = r->roof->most.flops / r->roof->most.read, ten = real_log(10);
        double low = ridge, high = ridge, least = r->roof->most.flops, most = least;
        for (int c = 0; c < r->ncall; c++)
                for (int i = 0; i < r->nturn[c]; i++) {
                        const int step = r->turn[c][i].kernel->order.step;
                        const KernelCost *cost = &r->call[c].cost[step];
                        if (r->turn[c][i].kind != RUNS_KERNEL)
                                continue;
                        r->total[c] += seconds_of(r, c, step);
                        if (!cost->flops)
                                continue;
                        low = fmin(low, intensity(cost));
                        high = fmax(high, intensity(cost));
                        least = fmin(least, reached(r, c, step));
                        most = fmax(most, reached(r, c, step));
                }
        low = real_pow(10, floor(real_log(low) / ten - 0.05));
        high = real_pow(10, ceil(real_log(high) / ten + 0.05));
        least = fmin(least, allowed(r, low));
        r->x = (Axis){low, high, left, left + WIDE, true, ""};
        r->y = (Axis){real_pow(10, floor(real_log(least) / ten)),
                      real_pow(10, ceil(real_log(most) / ten + 0.1)),
                      TOP + HIGH,
                      TOP,
                      true,
                      "FLOP/s"};
}

/* --- the picture ------------------------------------------------------------------------------------------------------ */

static void roofline_key(const Roofline *r, double y)
{
        Arena *a = r->out->arena;
        svg_legend(r->out, MARGIN, y, kinds_of_plan(r->plan));
        for (int c = 0; c < r->ncall; c++) {
                draw_mark(r->out, c, MARGIN + 7, y + 17 * (c + 1) - 4, 5, "#ffffff", r->call[c].about);
                svg_text(r->out, MARGIN + 19, y + 17 * (c + 1), "text", r->call[c].about);
        }
        svg_text(r->out, MARGIN, y + 17 * (r->ncall + 1), "text grey",
                 arena_printf(
                         a, "The roof: %s.  %s", r->roof->from,
                         r->measured ? "Kernels are measured: the part of the call's time (and a mark's area)"
                                     : "A kernel's time is the least that the roof allows; a mark's area and "
                                       "the"));
        svg_text(
                r->out, MARGIN, y + 17 * (r->ncall + 2), "text grey",
                r->measured
                        ? "at how much of what the roof allows; more is what a cache gives.  * no arithmetic."
                        : "percentage are its part of the call.  * no arithmetic: elements are moved.");
}

/* A kernel's row is that of the first call that runs it. */
static void draw_row(const Roofline *r, int call, const Kernel *k, double y)
{
        svg_line(r->out, r->x.from, y, r->x.to, y, "grid");
        svg_box(r->out, r->x.from - 22, y - 5, 14, 10, "box", kind_fill[kind_of_kernel(k)], NULL);
        svg_text(r->out, r->x.from - 28, y + 4, "text end", k->name);
        for (int c = call; c < r->ncall; c++)
                if (r->runs[c][k->order.step])
                        draw_marks(r, c, k, y);
}

/* Returns the number of rows; draws: and draws them. */
static int visit_rows(const Roofline *r, bool draws)
{
        bool *known = NEW_ARRAY(r->out->arena, bool, r->plan->steps);
        int rows = 0;
        for (int c = 0; c < r->ncall; c++)
                for (int i = 0; i < r->nturn[c]; i++) {
                        const Kernel *k = r->turn[c][i].kernel;
                        if (r->turn[c][i].kind != RUNS_KERNEL || known[k->order.step])
                                continue;
                        if (draws)
                                draw_row(r, c, k, r->top + LINE * rows + LINE / 2.0);
                        known[k->order.step] = true;
                        rows++;
                }
        return rows;
}

static void find_turns(Roofline *r)
{
        Arena *a = r->out->arena;
        r->turn = NEW_ARRAY(a, Turn *, r->ncall);
        r->nturn = NEW_ARRAY(a, int, r->ncall);
        r->runs = NEW_ARRAY(a, bool *, r->ncall);
        for (int c = 0; c < r->ncall; c++) {
                r->nturn[c] = turns_of(a, r->plan, &r->call[c], &r->turn[c]);
                r->runs[c] = NEW_ARRAY(a, bool, r->plan->steps);
                for (int i = 0; i < r->nturn[c]; i++)
                        r->runs[c][r->turn[c][i].kernel->order.step] |= r->turn[c][i].kind == RUNS_KERNEL;
        }
}

void draw_roofline(Text *out, const Plan *p, const Roof *roof, const PlanCall *call, int ncall)
{
        Arena *a = out->arena;
        const double left = MARGIN + fmax(widest_name(p) + 28, 150);
        Roofline r = {
                .out = out, .plan = p, .roof = roof, .call = call, .ncall = ncall, .measured = ncall > 0};
        for (int c = 0; c < ncall; c++)
                r.measured &= call[c].seconds != NULL;
        r.total = NEW_ARRAY(a, double, ncall);
        find_turns(&r);
        roofline_range(&r, left);
        const char *title = arena_printf(a, "%s: roofline of its kernels", p->c_name);
        r.top = TOP + HIGH + 30;
        const double bottom = r.top + visit_rows(&r, false) * LINE + 6;
        svg_begin(out, r.x.to + column_width(&r) * ncall + 30, bottom + 70 + 17 * (ncall + 3), title);
        svg_text(out, left, 28, "title", title);
        axis_draw_left(out, &r.y, left, WIDE, "FLOP/s");
        axis_draw_bottom(out, &r.x, bottom, bottom - TOP, "FLOP/byte");
        svg_line(out, left, TOP + HIGH, r.x.to, TOP + HIGH, "axis");
        draw_roof(&r);
        for (int c = 0; c < ncall; c++)
                svg_text(out, r.x.to + column_width(&r) * (c + 1), r.top - 6, "text end bold", call[c].name);
        visit_rows(&r, true);
        roofline_key(&r, bottom + 62);
        svg_end(out);
}
