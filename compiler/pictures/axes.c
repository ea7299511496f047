/* Axes: round numbers as ticks, linear or by powers of ten. */
#include <math.h>

#include "pictures_private.h"

enum { MAX_TICKS = 40 };

static double log_10(double x)
{
        return real_log(x) / real_log(10);
}

double axis_at(const Axis *x, double value)
{
        const double part = x->log ? (log_10(value) - log_10(x->low)) / (log_10(x->high) - log_10(x->low))
                                   : (value - x->low) / (x->high - x->low);
        return x->from + part * (x->to - x->from);
}

/* At 2 to 9 between powers of ten, if there is room. */
static void draw_minor_ticks(Text *t, const Axis *x, double at, bool upwards)
{
        if (!x->log)
                return;
        const int first = (int)floor(log_10(x->low) + 1e-9), last = (int)ceil(log_10(x->high) - 1e-9);
        for (int e = first; last - first < 9 && e < last; e++)
                for (int k = 2; k <= 9; k++) {
                        const double p = axis_at(x, k * real_pow(10, e));
                        if (upwards)
                                svg_line(t, at - 3, p, at, p, "axis");
                        else
                                svg_line(t, p, at, p, at + 3, "axis");
                }
}

/* 1, 2 or 5 times a power of ten. */
static double round_step(double range, int about)
{
        const double rough = range / about, power = real_pow(10, floor(log_10(rough) + 1e-9)),
                     part = rough / power;
        return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

/* Ticks at round numbers, [MAX_TICKS]; returns their number. */
static int axis_ticks(const Axis *x, int about, double *tick)
{
        const double step = x->log ? 1 : round_step(x->high - x->low, about);
        const double low = x->log ? log_10(x->low) : x->low / step,
                     high = x->log ? log_10(x->high) : x->high / step;
        const int first = (int)ceil(low - 1e-9), last = (int)floor(high + 1e-6);
        int n = 0;
        for (int k = first; k <= last && n < MAX_TICKS; k++)
                tick[n++] = x->log ? real_pow(10, k) : k * step;
        return n;
}

const char *axis_label(Arena *a, double value, const char *unit)
{
        static const char *const prefix[] = {"n", "µ", "m", "", "k", "M", "G", "T", "P", "E"};
        int step = 3;
        for (; fabs(value) >= 999.5 && step < 9; step++)
                value /= 1000;
        for (; value != 0 && fabs(value) < 0.9995 && step > 0 && *unit; step--)
                value *= 1000;
        const char *number = arena_printf(a, "%.3g", value);
        return *prefix[step] || *unit ? arena_printf(a, "%s %s%s", number, prefix[step], unit) : number;
}

void axis_draw_left(Text *t, const Axis *y, double x, double across, const char *label)
{
        double tick[MAX_TICKS];
        const int n = axis_ticks(y, 6, tick);
        double widest = 0;
        for (int i = 0; i < n; i++) {
                const double at = axis_at(y, tick[i]);
                const char *text = axis_label(t->arena, tick[i], y->unit);
                svg_line(t, x, at, x + across, at, "grid");
                svg_line(t, x - 5, at, x, at, "axis");
                svg_text(t, x - 8, at + 4, "text end", text);
                widest = fmax(widest, svg_width(text, SVG_SIZE));
        }
        draw_minor_ticks(t, y, x, true);
        svg_line(t, x, y->from, x, y->to, "axis");
        svg_text_up(t, x - widest - 18, (y->from + y->to) / 2, "text middle", label);
}

void axis_draw_bottom(Text *t, const Axis *x, double y, double across, const char *label)
{
        double tick[MAX_TICKS];
        const int n = axis_ticks(x, 8, tick);
        for (int i = 0; i < n; i++) {
                const double at = axis_at(x, tick[i]);
                svg_line(t, at, y, at, y - across, "grid");
                svg_line(t, at, y, at, y + 5, "axis");
                svg_text(t, at, y + 18, "text middle", axis_label(t->arena, tick[i], x->unit));
        }
        draw_minor_ticks(t, x, y, false);
        svg_line(t, x->from, y, x->to, y, "axis");
        svg_text(t, (x->from + x->to) / 2, y + 36, "text middle", label);
}
