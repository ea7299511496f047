/* The frame of a plot in a picture: box, axes with ticks, title and labels, and the colour bar of a heat
 * map. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

enum {
        LEFT = 112,
        TOP = 44,
        ABOUT_TOP = 38,
        ABOUT_HIGH = 24,
        RIGHT = 28,
        BAR_RIGHT = 170,
        BOTTOM = 72,
        TICK = 6,
        MAX_TICKS = 32,
        BAR_GAP = 24,
        BAR_WIDE = 22
};

static const uint8_t grey[3] = {0xe4, 0xe4, 0xe4};
static const uint8_t black[3] = {0x20, 0x20, 0x20};
const uint8_t frame_blue[3] = {31, 100, 170};

/* --- axes ---------------------------------------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, for about `n` ticks. */
static double tick_step(double range, int n, bool whole)
{
        const double rough = range / n, power = real_pow(10, floor(real_log(rough) / real_log(10) + 1e-9)),
                     part = rough / power;
        const double step = power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
        return whole && step < 1 ? 1 : step;
}

static void tick_label(char *text, size_t room, double value, double step)
{
        snprintf(text, room, "%.5g", fabs(value) < step * 1e-6 ? 0 : value);
}

static int text_width(const char *text)
{
        return FRAME_LETTERS * LETTER_WIDTH * (int)strlen(text) - FRAME_LETTERS;
}

void frame_x_axis(PlotFrame *f, bool whole, bool grid)
{
        const double range = f->right - f->left, step = tick_step(range, 7, whole);
        for (int k = 0; k < MAX_TICKS; k++) {
                const double v = (ceil(f->left / step) + k) * step;
                char text[32];
                if (v > f->right + step * 1e-6)
                        return;
                const int x = f->x + (int)lround((v - f->left) / range * f->width);
                tick_label(text, sizeof text, v, step);
                if (grid)
                        picture_fill(&f->p, x, f->y, 1, f->height, grey);
                picture_fill(&f->p, x, f->y + f->height, 1, TICK, black);
                picture_text(&f->p, x - text_width(text) / 2, f->y + f->height + TICK + 4, text, false);
        }
}

/* Draws ticks and labels at x: to its left (-1), or to its right (1). */
void frame_y_axis(PlotFrame *f, int x, int side, bool whole, bool grid)
{
        const double low = f->bottom < f->top ? f->bottom : f->top, high = f->bottom + f->top - low,
                     step = tick_step(high - low, 5, whole);
        for (int k = 0; k < MAX_TICKS; k++) {
                const double v = (ceil(low / step) + k) * step;
                char text[32];
                if (v > high + step * 1e-6)
                        return;
                const int y = f->y + (int)lround((f->top - v) / (f->top - f->bottom) * f->height);
                tick_label(text, sizeof text, v, step);
                if (grid)
                        picture_fill(&f->p, f->x, y, f->width, 1, grey);
                picture_fill(&f->p, side < 0 ? x - TICK : x, y, TICK, 1, black);
                picture_text(&f->p, side < 0 ? x - TICK - 6 - text_width(text) : x + TICK + 6,
                             y - FRAME_LETTERS * LETTER_HEIGHT / 2 + 1, text, false);
        }
}

void frame_box(Picture *p, int x, int y, int width, int height)
{
        picture_fill(p, x, y, width + 1, 1, black);
        picture_fill(p, x, y + height, width + 1, 1, black);
        picture_fill(p, x, y, 1, height + 1, black);
        picture_fill(p, x + width, y, 1, height + 1, black);
}

void frame_labels(PlotFrame *f, const char *title, const char *across, const char *up)
{
        const int room = (f->p.width - 16) / (FRAME_LETTERS * LETTER_WIDTH);
        char text[160];
        snprintf(text, sizeof text, "%.*s", room < 150 ? room : 150, title);
        const int middle = f->x + f->width / 2 - text_width(text) / 2;
        picture_text(&f->p, middle < 8 ? 8 : middle, 14, text, false);
        picture_text(&f->p, f->x + f->width / 2 - text_width(across) / 2,
                     f->p.height - FRAME_LETTERS * LETTER_HEIGHT - 8, across, false);
        picture_text(&f->p, 10, f->y + f->height / 2 + text_width(up) / 2, up, true);
}

/* Prints a line below the title, in smaller letters if it is long. */
void frame_about(PlotFrame *f, const char *about)
{
        const bool fits = text_width(about) <= f->p.width - 16;
        f->p.scale = fits ? FRAME_LETTERS : 1;
        const int width = text_width(about) * f->p.scale / FRAME_LETTERS,
                  middle = f->x + (f->width - width) / 2;
        picture_text(&f->p, middle + width > f->p.width - 8 ? f->p.width - 8 - width : middle,
                     ABOUT_TOP + (fits ? 0 : LETTER_HEIGHT / 2), about, false);
        f->p.scale = FRAME_LETTERS;
}

bool frame_begin(PlotFrame *f, const Plot *p, int width, int height, const char *path)
{
        const int top = p->about ? TOP + ABOUT_HIGH : TOP, right = p->kind == PLOT_HEAT ? BAR_RIGHT : RIGHT;
        f->x = LEFT;
        f->y = top;
        f->width = width;
        f->height = height;
        if (!picture_new(&f->p, LEFT + width + right, top + height + BOTTOM, path))
                return false;
        f->p.scale = FRAME_LETTERS;
        return true;
}

/* Draws the colour bar, to the right of the map. */
void frame_colour_bar(const PlotFrame *map, Picture *picture, const Plot *p)
{
        PlotFrame bar = *map;
        bar.p = *picture;
        bar.bottom = p->least;
        bar.top = p->most;
        bar.x = map->x + map->width + BAR_GAP;
        for (int y = 0; y < bar.height; y++) {
                uint8_t colour[3];
                plot_colour(p, p->most - (p->most - p->least) * y / (bar.height > 1 ? bar.height - 1 : 1),
                            colour);
                picture_fill(picture, bar.x, bar.y + y, BAR_WIDE, 1, colour);
        }
        frame_box(picture, bar.x, bar.y, BAR_WIDE, bar.height);
        frame_y_axis(&bar, bar.x + BAR_WIDE, 1, false, false);
}
