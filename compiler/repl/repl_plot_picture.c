/* Plots as pictures: a frame with ticks and labels, the expression above it, and a heat map's colour bar beside it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

enum {
        LETTERS = 2, /* dots of letters are so many pixels wide */
        LEFT = 112,
        TOP = 44,
        ABOUT_TOP = 38,
        ABOUT_HIGH = 24,
        RIGHT = 28,
        BAR_RIGHT = 170,
        BOTTOM = 72,
        TICK = 6,
        MOST_TICKS = 32,
        WIDE = 720,
        HIGH = 420,
        HEAT_WIDE = 600,
        HEAT_HIGH = 480,
        LARGEST_CELL = 40,
        MOST_CELLS = 1500,
        SLIM = 120,
        BAR_GAP = 24,
        BAR_WIDE = 22
};

static const uint8_t black[3] = {0x20, 0x20, 0x20}, grey[3] = {0xe4, 0xe4, 0xe4}, blue[3] = {31, 100, 170};

/* Where the axes lie, in pixels, and what they reach over. */
typedef struct {
        Picture p;
        int x, y, width, height;
        double left, right, bottom, top;
} Frame;

/* --- axes ---------------------------------------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, so that about `n` ticks come. */
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
        return LETTERS * LETTER_WIDTH * (int)strlen(text) - LETTERS;
}

static void paint_x_axis(Frame *f, bool whole, bool grid)
{
        const double range = f->right - f->left, step = tick_step(range, 7, whole);
        for (int k = 0; k < MOST_TICKS; k++) {
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

/* Ticks and labels at x: to its left (-1), or to its right (1). */
static void paint_y_axis(Frame *f, int x, int side, bool whole, bool grid)
{
        const double low = f->bottom < f->top ? f->bottom : f->top, high = f->bottom + f->top - low,
                     step = tick_step(high - low, 5, whole);
        for (int k = 0; k < MOST_TICKS; k++) {
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
                             y - LETTERS * LETTER_HEIGHT / 2 + 1, text, false);
        }
}

static void paint_box(Picture *p, int x, int y, int width, int height)
{
        picture_fill(p, x, y, width + 1, 1, black);
        picture_fill(p, x, y + height, width + 1, 1, black);
        picture_fill(p, x, y, 1, height + 1, black);
        picture_fill(p, x + width, y, 1, height + 1, black);
}

static void paint_labels(Frame *f, const char *title, const char *across, const char *up)
{
        const int room = (f->p.width - 16) / (LETTERS * LETTER_WIDTH);
        char text[160];
        snprintf(text, sizeof text, "%.*s", room < 150 ? room : 150, title);
        const int middle = f->x + f->width / 2 - text_width(text) / 2;
        picture_text(&f->p, middle < 8 ? 8 : middle, 14, text, false);
        picture_text(&f->p, f->x + f->width / 2 - text_width(across) / 2,
                     f->p.height - LETTERS * LETTER_HEIGHT - 8, across, false);
        picture_text(&f->p, 10, f->y + f->height / 2 + text_width(up) / 2, up, true);
}

/* A line below the title, in smaller letters if it is long. */
static void paint_about(Frame *f, const char *about)
{
        const bool fits = text_width(about) <= f->p.width - 16;
        f->p.scale = fits ? LETTERS : 1;
        const int width = text_width(about) * f->p.scale / LETTERS, middle = f->x + (f->width - width) / 2;
        picture_text(&f->p, middle + width > f->p.width - 8 ? f->p.width - 8 - width : middle,
                     ABOUT_TOP + (fits ? 0 : LETTER_HEIGHT / 2), about, false);
        f->p.scale = LETTERS;
}

static bool begin_frame(Frame *f, int width, int height, int top, int right)
{
        f->x = LEFT;
        f->y = top;
        f->width = width;
        f->height = height;
        if (!picture_new(&f->p, LEFT + width + right, top + height + BOTTOM))
                return false;
        f->p.scale = LETTERS;
        return true;
}

/* --- a line ----------------------------------------------------------------------------------------------------------------- */

static void paint_stroke(Picture *p, int x0, int y0, int x1, int y1)
{
        const int wide = abs(x1 - x0), high = abs(y1 - y0), steps = wide > high ? wide : high;
        for (int i = 0; i <= steps; i++)
                picture_fill(p, steps ? x0 + (x1 - x0) * i / steps : x0,
                             steps ? y0 + (y1 - y0) * i / steps : y0, 2, 2, blue);
}

static void paint_line(Frame *f, const Plot *p)
{
        const double margin = 0.04 * (p->most - p->least);
        f->bottom = p->least - margin;
        f->top = p->most + margin;
        f->left = 0;
        f->right = p->columns > 1 ? (double)(p->columns - 1) : 1;
        paint_x_axis(f, true, true);
        paint_y_axis(f, f->x, -1, false, true);
        int x0 = -1, y0 = 0;
        for (int64_t i = 0; i < p->columns; i++) {
                if (!isfinite(p->value[i])) {
                        x0 = -1;
                        continue;
                }
                const int x = f->x + (int)lround((double)i / f->right * f->width),
                          y = f->y + (int)lround((f->top - p->value[i]) / (f->top - f->bottom) * f->height);
                paint_stroke(&f->p, x0 < 0 ? x : x0, x0 < 0 ? y : y0, x, y);
                if (p->columns <= 60)
                        picture_fill(&f->p, x - 2, y - 2, 6, 6, blue);
                x0 = x;
                y0 = y;
        }
        paint_labels(f, p->title, "index", "value");
}

/* --- bars ------------------------------------------------------------------------------------------------------------------- */

static void paint_bars(Frame *f, const Plot *p)
{
        f->bottom = 0;
        f->top = p->most * 1.04;
        f->left = p->from;
        f->right = p->to;
        paint_x_axis(f, false, false);
        paint_y_axis(f, f->x, -1, true, true);
        for (int64_t i = 0; i < p->columns; i++) {
                const int from = f->x + (int)(i * f->width / p->columns),
                          to = f->x + (int)((i + 1) * f->width / p->columns),
                          high = (int)lround(p->value[i] / f->top * f->height);
                picture_fill(&f->p, from + 1, f->y + f->height - high, to - from - 1, high, blue);
        }
        paint_labels(f, p->title, "value", "count");
        if (p->about)
                paint_about(f, p->about);
}

/* --- a heat map ---------------------------------------------------------------------------------------------------------------- */

static int cell_size(int64_t room, int64_t n)
{
        return n >= room ? 1 : room / n > LARGEST_CELL ? LARGEST_CELL : (int)(room / n);
}

/* Square cells, unless the map were a thin strip. */
static void choose_cells(const Plot *p, int *wide, int *high)
{
        *wide = cell_size(HEAT_WIDE, p->columns);
        *high = cell_size(HEAT_HIGH, p->rows);
        int square = *wide < *high ? *wide : *high;
        const int64_t few = p->rows < p->columns ? p->rows : p->columns,
                      many = p->rows < p->columns ? p->columns : p->rows;
        while (square * few < SLIM && (square + 1) * many <= HEAT_HIGH)
                square++;
        if (square * few >= SLIM)
                *wide = *high = square;
        while (*high * p->rows < SLIM)
                ++*high;
        while (*wide * p->columns < SLIM)
                ++*wide;
}

/* What the colours mean, beside the map. */
static void paint_colour_bar(const Frame *map, Picture *picture, const Plot *p)
{
        Frame bar = *map;
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
        paint_box(picture, bar.x, bar.y, BAR_WIDE, bar.height);
        paint_y_axis(&bar, bar.x + BAR_WIDE, 1, false, false);
}

/* Ticks stand in the middle of cells. */
static void paint_heat(Frame *f, const Plot *p, int64_t rows, int64_t columns)
{
        const int wide = f->width / (int)p->columns, high = f->height / (int)p->rows;
        for (int64_t i = 0; i < p->rows; i++)
                for (int64_t j = 0; j < p->columns; j++) {
                        uint8_t colour[3];
                        plot_colour(p, p->value[i * p->columns + j], colour);
                        picture_fill(&f->p, f->x + (int)j * wide, f->y + (int)i * high, wide, high, colour);
                }
        f->left = -0.5;
        f->right = (double)columns - 0.5;
        f->top = -0.5;
        f->bottom = (double)rows - 0.5;
        paint_x_axis(f, true, false);
        paint_y_axis(f, f->x, -1, true, false);
        paint_colour_bar(f, &f->p, p);
        paint_labels(f, p->title, "column", "row");
}

bool plot_paint(Plot *p, const char *path)
{
        Frame f = {0};
        const int64_t rows = p->rows, columns = p->columns;
        bool good = p->kind != PLOT_HEAT || plot_pool(p, MOST_CELLS, MOST_CELLS);
        int wide = WIDE, high = HIGH;
        if (good && p->kind == PLOT_HEAT) {
                choose_cells(p, &wide, &high);
                wide *= (int)p->columns;
                high *= (int)p->rows;
        }
        if (!good || !begin_frame(&f, wide, high, p->about ? TOP + ABOUT_HIGH : TOP,
                                  p->kind == PLOT_HEAT ? BAR_RIGHT : RIGHT)) {
                fprintf(stderr, "lathe: error: %s\n", no_memory);
                return false;
        }
        switch (p->kind) {
        case PLOT_LINE: paint_line(&f, p); break;
        case PLOT_BARS: paint_bars(&f, p); break;
        case PLOT_HEAT: paint_heat(&f, p, rows, columns); break;
        }
        paint_box(&f.p, f.x, f.y, f.width, f.height);
        good = picture_write(&f.p, path);
        picture_free(&f.p);
        return good;
}
