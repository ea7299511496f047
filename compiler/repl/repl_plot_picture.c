/* Plots as pictures: a frame with ticks and labels, the expression above it, and a heat map's colour bar beside it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

enum {
        WIDE = 720,
        HIGH = 420,
        HEAT_WIDE = 600,
        HEAT_HIGH = 480,
        LARGEST_CELL = 40,
        MAX_CELLS = 1500,
        SLIM = 120
};

/* --- a line ----------------------------------------------------------------------------------------------------------------- */

static void paint_stroke(Picture *p, int x0, int y0, int x1, int y1)
{
        const int wide = abs(x1 - x0), high = abs(y1 - y0), steps = wide > high ? wide : high;
        for (int i = 0; i <= steps; i++)
                picture_fill(p, steps ? x0 + (x1 - x0) * i / steps : x0,
                             steps ? y0 + (y1 - y0) * i / steps : y0, 2, 2, frame_blue);
}

static void paint_line(PlotFrame *f, const Plot *p)
{
        const double margin = 0.04 * (p->most - p->least);
        f->bottom = p->least - margin;
        f->top = p->most + margin;
        f->left = 0;
        f->right = p->columns > 1 ? (double)(p->columns - 1) : 1;
        frame_x_axis(f, true, true);
        frame_y_axis(f, f->x, -1, false, true);
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
                        picture_fill(&f->p, x - 2, y - 2, 6, 6, frame_blue);
                x0 = x;
                y0 = y;
        }
        frame_labels(f, p->title, "index", "value");
}

/* --- bars ------------------------------------------------------------------------------------------------------------------- */

static void paint_bars(PlotFrame *f, const Plot *p)
{
        f->bottom = 0;
        f->top = p->most * 1.04;
        f->left = p->from;
        f->right = p->to;
        frame_x_axis(f, false, false);
        frame_y_axis(f, f->x, -1, true, true);
        for (int64_t i = 0; i < p->columns; i++) {
                const int from = f->x + (int)(i * f->width / p->columns),
                          to = f->x + (int)((i + 1) * f->width / p->columns),
                          high = (int)lround(p->value[i] / f->top * f->height);
                picture_fill(&f->p, from + 1, f->y + f->height - high, to - from - 1, high, frame_blue);
        }
        frame_labels(f, p->title, "value", "count");
        if (p->about)
                frame_about(f, p->about);
}

/* --- a heat map ---------------------------------------------------------------------------------------------------------------- */

static int cell_size(int64_t room, int64_t n)
{
        return n >= room ? 1 : room / n > LARGEST_CELL ? LARGEST_CELL : (int)(room / n);
}

/* Square cells, unless the map would be a thin strip. */
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

/* Ticks are in the middle of cells. */
static void paint_heat(PlotFrame *f, const Plot *p, int64_t rows, int64_t columns)
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
        frame_x_axis(f, true, false);
        frame_y_axis(f, f->x, -1, true, false);
        frame_colour_bar(f, &f->p, p);
        frame_labels(f, p->title, "column", "row");
}

bool plot_paint(Plot *p, const char *path)
{
        PlotFrame f = {0};
        const int64_t rows = p->rows, columns = p->columns;
        bool good = p->kind != PLOT_HEAT || plot_pool(p, MAX_CELLS, MAX_CELLS);
        int wide = WIDE, high = HIGH;
        if (good && p->kind == PLOT_HEAT) {
                choose_cells(p, &wide, &high);
                wide *= (int)p->columns;
                high *= (int)p->rows;
        }
        if (!good || !frame_begin(&f, p, wide, high, path))
                return repl_error("%s", no_memory);
        switch (p->kind) {
        case PLOT_LINE: paint_line(&f, p); break;
        case PLOT_BARS: paint_bars(&f, p); break;
        case PLOT_HEAT: paint_heat(&f, p, rows, columns); break;
        case PLOT_POINTS: break; /* repl_points.c */
        }
        frame_box(&f.p, f.x, f.y, f.width, f.height);
        good = picture_write(&f.p, path);
        picture_free(&f.p);
        return good;
}
