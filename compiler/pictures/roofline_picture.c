/* A roofline (Williams, Waterman and Patterson 2009): what each kernel can reach at most, by its FLOPs a byte.
 *
 *      FLOP/s |          _______________     arithmetic
 *             |        /
 *             |      o   reads
 *             +---------------------------   FLOP/byte
 *      ln1    |   o     #
 *      qkv    |     o          #             a row for each kernel, a mark for each kind of call
 *
 * Both parts have the same axis of FLOPs a byte.  Marks of a row are as large as the kernel's part of the call's time. */
#include <inttypes.h>
#include <math.h>

#include "pictures_private.h"

enum { MARGIN = 24, TOP = 50, WIDE = 560, HIGH = 300, LINE = 17, COLUMN = 84, LEAST_MARK = 3, MOST_MARK = 9 };

typedef struct {
        Text *out;
        const Plan *plan;
        const Roof *roof;
        const PlanCall *call;
        int ncall;
        Axis x, y;
        double top;    /* of the rows */
        double *total; /* [ncall]: seconds */
} Roofline;

static double intensity(const KernelCost *c)
{
        return (double)c->flops / (double)(c->read + c->written > 0 ? c->read + c->written : 1);
}

static double reached(const Roofline *r, double flops_a_byte)
{
        return fmin(r->roof->most.flops, flops_a_byte * r->roof->most.read);
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

static void draw_marks(const Roofline *r, int call, const Kernel *k, double row)
{
        const KernelCost *c = &r->call[call].cost[k->step];
        const double part =
                r->total[call] > 0 ? (double)c->runs * least_seconds(c, r->roof) / r->total[call] : 0;
        Arena *a = r->out->arena;
        const char *fill = kind_fill[kind_of_kernel(k)];
        if (c->flops > 0) {
                const double x = axis_at(&r->x, intensity(c)),
                             size = fmax(LEAST_MARK, MOST_MARK * sqrt(part));
                const char *text = arena_printf(a, "%s, %s: %.3g FLOP/byte, at most %s, %.1f %% of the time",
                                                k->name, r->call[call].name, intensity(c),
                                                in_units(a, reached(r, intensity(c)), "FLOP/s"), 100 * part);
                svg_open(r->out, " data-kernel=\"%d\" data-call=\"%d\"", k->step, call);
                draw_mark(r->out, call, x, axis_at(&r->y, reached(r, intensity(c))), 5, fill, text);
                draw_mark(r->out, call, x, row, size, fill, text);
                svg_close(r->out);
        }
        svg_text(r->out, r->x.from + WIDE + COLUMN * (call + 1), row + 4, "text end",
                 arena_printf(a, "%.1f %%%s", 100 * part, c->flops > 0 ? "" : " *"));
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
                     slope = atan2(axis_at(&r->y, middle * most->read) - y, x - at) * 57.29578;
        text_printf(r->out, "<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" class=\"text middle\">",
                    at, axis_at(&r->y, middle * most->read) - 14, -slope);
        svg_escape(r->out, arena_printf(a, "memory %s", in_units(a, most->read, "B/s")));
        text_put(r->out, "</text>\n");
        svg_text(r->out, x, r->y.from - 6, "small middle grey", arena_printf(a, "ridge %.3g", ridge));
}

/* Whole decades around all kernels and the ridge. */
static void find_range(Roofline *r, const Turn *const *turn, const int *nturn, double left)
{
        double low = r->roof->most.flops / r->roof->most.read, high = low;
        for (int c = 0; c < r->ncall; c++)
                for (int i = 0; i < nturn[c]; i++) {
                        const KernelCost *cost = &r->call[c].cost[turn[c][i].kernel->step];
                        if (turn[c][i].kind != RUNS_KERNEL || !cost->flops)
                                continue;
                        low = fmin(low, intensity(cost));
                        high = fmax(high, intensity(cost));
                        r->total[c] += (double)cost->runs * least_seconds(cost, r->roof);
                }
        const double ten = real_log(10);
        low = real_pow(10, floor(real_log(low) / ten - 0.05));
        high = real_pow(10, ceil(real_log(high) / ten + 0.05));
        r->x = (Axis){low, high, left, left + WIDE, true, ""};
        r->y = (Axis){real_pow(10, floor(real_log(reached(r, low)) / ten)),
                      real_pow(10, ceil(real_log(r->roof->most.flops) / ten + 0.1)),
                      TOP + HIGH,
                      TOP,
                      true,
                      "FLOP/s"};
}

/* --- the picture ------------------------------------------------------------------------------------------------------ */

static void draw_key(const Roofline *r, double y)
{
        static const char white[] = "#ffffff";
        Arena *a = r->out->arena;
        svg_legend(r->out, MARGIN, y, kinds_of_plan(r->plan));
        for (int c = 0; c < r->ncall; c++) {
                draw_mark(r->out, c, MARGIN + 7, y + 17 * (c + 1) - 4, 5, white, r->call[c].about);
                svg_text(r->out, MARGIN + 19, y + 17 * (c + 1), "text", r->call[c].about);
        }
        svg_text(r->out, MARGIN, y + 17 * (r->ncall + 1), "text grey",
                 arena_printf(a,
                              "The roof: one thread, %s.  A kernel's time is the least that the roof allows; "
                              "a mark's area and the",
                              r->roof->from));
        svg_text(r->out, MARGIN, y + 17 * (r->ncall + 2), "text grey",
                 "percentage are its part of the call.  * no arithmetic: elements are moved.");
}

/* A kernel stands in the row of the first call that runs it. */
static int draw_rows(const Roofline *r, const Turn *const *turn, const int *nturn)
{
        bool *drawn = NEW_ARRAY(r->out->arena, bool, r->plan->steps);
        int rows = 0;
        for (int c = 0; c < r->ncall; c++)
                for (int i = 0; i < nturn[c]; i++) {
                        const Kernel *k = turn[c][i].kernel;
                        const double y = r->top + LINE * rows + LINE / 2.0;
                        if (turn[c][i].kind != RUNS_KERNEL || drawn[k->step])
                                continue;
                        svg_line(r->out, r->x.from, y, r->x.from + WIDE, y, "grid");
                        svg_box(r->out, r->x.from - 22, y - 5, 14, 10, "box", kind_fill[kind_of_kernel(k)],
                                NULL);
                        svg_text(r->out, r->x.from - 28, y + 4, "text end", k->name);
                        for (int d = c; d < r->ncall; d++)
                                if (r->call[d].part == r->call[c].part)
                                        draw_marks(r, d, k, y);
                        drawn[k->step] = true;
                        rows++;
                }
        return rows;
}

static int count_rows(const Turn *const *turn, const int *nturn, const PlanCall *call, int ncall)
{
        int rows = 0;
        for (int c = 0; c < ncall; c++)
                for (int i = 0; i < nturn[c]; i++)
                        rows += turn[c][i].kind == RUNS_KERNEL &&
                                (c == 0 || call[c].part != call[c - 1].part);
        return rows;
}

void draw_roofline(Text *out, const Plan *p, const Roof *roof)
{
        Arena *a = out->arena;
        PlanCall *call;
        const double left = MARGIN + fmax(widest_name(p) + 28, 150);
        Roofline r = {.out = out, .plan = p, .roof = roof};
        r.ncall = calls_of(a, p, &call);
        r.call = call;
        r.total = NEW_ARRAY(a, double, r.ncall);
        Turn **turn = NEW_ARRAY(a, Turn *, r.ncall);
        int *nturn = NEW_ARRAY(a, int, r.ncall);
        for (int c = 0; c < r.ncall; c++)
                nturn[c] = turns_of(a, p, &call[c], &turn[c]);
        const Turn *const *turns = (const Turn *const *)turn;
        find_range(&r, turns, nturn, left);
        const int rows = count_rows(turns, nturn, call, r.ncall);
        const char *title = arena_printf(a, "%s: roofline of its kernels", p->c_name);
        r.top = TOP + HIGH + 30;
        const double bottom = r.top + rows * LINE + 6;
        svg_begin(out, left + WIDE + COLUMN * r.ncall + 30, bottom + 70 + 17 * (r.ncall + 3), title);
        svg_text(out, left, 28, "title", title);
        axis_draw_left(out, &r.y, left, WIDE, "FLOP/s");
        axis_draw_bottom(out, &r.x, bottom, bottom - TOP, "FLOP/byte");
        svg_line(out, left, TOP + HIGH, left + WIDE, TOP + HIGH, "axis");
        draw_roof(&r);
        for (int c = 0; c < r.ncall; c++)
                svg_text(out, left + WIDE + COLUMN * (c + 1), r.top - 6, "text end bold", call[c].name);
        draw_rows(&r, turns, nturn);
        draw_key(&r, bottom + 62);
        svg_end(out);
}
