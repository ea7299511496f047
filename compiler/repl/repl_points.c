/* Points with labels, in the terminal and as a picture: a label is placed near its point, where it
 * overlaps no other label and no point, if possible. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

/* --- ranges ----------------------------------------------------------------------------------------------------------- */

typedef struct {
        double least[2], most[2]; /* ranges of x and of y */
} PlotRange;

/* Adds a margin; equal values are in the middle. */
static PlotRange plot_range_of(const Plot *p)
{
        PlotRange r = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
        for (int64_t i = 0; i < 2 * p->rows; i++) {
                r.least[i % 2] = fmin(r.least[i % 2], p->value[i]);
                r.most[i % 2] = fmax(r.most[i % 2], p->value[i]);
        }
        const double widest = fmax(r.most[0] - r.least[0], r.most[1] - r.least[1]);
        for (int a = 0; a < 2; a++) {
                const double margin = fmax(0.08 * (r.most[a] - r.least[a]), 0.02 * widest);
                r.least[a] -= margin;
                r.most[a] += margin;
        }
        return r;
}

/* --- places of labels --------------------------------------------------------------------------------------------------- */

/* Number of boxes that cover each position of a canvas: [height][width]. */
typedef struct {
        int width, height;
        uint16_t *taken;
} Canvas;

static bool canvas_is_free(const Canvas *c, PlotBox b)
{
        for (int j = b.y < 0 ? 0 : b.y; j < b.y + b.height && j < c->height; j++)
                for (int i = b.x < 0 ? 0 : b.x; i < b.x + b.width && i < c->width; i++)
                        if (c->taken[(size_t)j * (size_t)c->width + (size_t)i])
                                return false;
        return true;
}

/* by 1: adds a box; -1: removes it */
static void take_box(Canvas *c, PlotBox b, int by)
{
        for (int j = b.y < 0 ? 0 : b.y; j < b.y + b.height && j < c->height; j++)
                for (int i = b.x < 0 ? 0 : b.x; i < b.x + b.width && i < c->width; i++)
                        c->taken[(size_t)j * (size_t)c->width + (size_t)i] += (uint16_t)by;
}

static PlotBox box_widened(PlotBox b, int by)
{
        return (PlotBox){b.x - by, b.y, b.width + 2 * by, b.height};
}

static bool is_within(const Canvas *c, PlotBox b)
{
        return b.x >= 0 && b.y >= 0 && b.x + b.width <= c->width && b.y + b.height <= c->height;
}

/* Finds a free position for a label of this size at its point, with a gap of `gap`: next to the point
 * first, then above and below, then at a distance of up to `furthest` label heights.  Returns the
 * distance; -1: none is free. */
static int find_place(Canvas *c, PlotBox point, int gap, int furthest, PlotBox *label)
{
        static const struct {
                int across, down; /* -1: left of the point, 0: centred, 1: right of it */
        } side[] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}};
        const int sides = sizeof side / sizeof *side;
        int found = -1;
        take_box(c, point, -1);
        for (int k = 0; found < 0 && k < sides * (furthest + 1); k++) {
                const int across = side[k % sides].across, down = side[k % sides].down,
                          off = k / sides * label->height;
                label->x = across > 0   ? point.x + point.width + gap / 2 + off
                           : across < 0 ? point.x - label->width - gap / 2 - off
                                        : point.x + (point.width - label->width) / 2;
                label->y = down > 0   ? point.y + point.height + off
                           : down < 0 ? point.y - label->height - off
                                      : point.y + (point.height - label->height) / 2;
                if (is_within(c, *label) && canvas_is_free(c, box_widened(*label, gap)))
                        found = k / sides;
        }
        take_box(c, point, 1);
        return found;
}

static int characters_of(const char *text)
{
        int n = 0;
        for (; *text; text++)
                n += ((unsigned char)*text & 0xc0) != 0x80;
        return n;
}

/* --- in the terminal ---------------------------------------------------------------------------------------------------------- */

enum { COLUMNS = 76, LINES = 25 };
typedef struct {
        char text[LINES][COLUMNS][5]; /* one character each; "" is a blank */
} Sheet;

static void write_label(Sheet *s, int x, int y, const char *text)
{
        for (int n; *text; text += n, x++) {
                for (n = 1; ((unsigned char)text[n] & 0xc0) == 0x80 && n < 4; n++)
                        ;
                memcpy(s->text[y][x], text, (size_t)n);
                s->text[y][x][n] = 0;
        }
}

static void print_sheet(const Sheet *s)
{
        for (int y = 0; y < LINES; y++) {
                int n = COLUMNS;
                while (n && !*s->text[y][n - 1])
                        n--;
                printf("│");
                for (int x = 0; x < n; x++)
                        printf("%s", *s->text[y][x] ? s->text[y][x] : " ");
                printf("\n");
        }
        printf("└");
        for (int x = 0; x < COLUMNS; x++)
                printf("─");
        printf("\n");
}

/* Prints the number of omitted labels. */
static void say_left_out(int64_t left, int64_t all, bool in_picture)
{
        if (left)
                printf("%lld of %lld labels do not fit%s\n", (long long)left, (long long)all,
                       in_picture ? "" : "; a picture, -o FILE.png, has more room");
}

/* All points, then labels; returns the number of omitted labels. */
static int64_t write_points(const Points *p, const PlotRange *r, Canvas *c, Sheet *s)
{
        int64_t left = 0;
        for (int labels = 0; labels < 2; labels++)
                for (int64_t i = 0; i < p->plot.rows; i++) {
                        const double *at = p->plot.value + 2 * i, *least = r->least, *most = r->most;
                        const PlotBox point = {
                                (int)((at[0] - least[0]) / (most[0] - least[0]) * (COLUMNS - 1) + 0.5),
                                (int)((most[1] - at[1]) / (most[1] - least[1]) * (LINES - 1) + 0.5), 1, 1};
                        PlotBox label = {.width = characters_of(p->label[i]), .height = 1};
                        if (!labels) {
                                write_label(s, point.x, point.y, "•");
                                take_box(c, point, 1);
                        } else if (find_place(c, point, 1, 0, &label) >= 0) {
                                write_label(s, label.x, label.y, p->label[i]);
                                take_box(c, label, 1);
                        } else
                                left++;
                }
        return left;
}

bool points_print(const Points *p)
{
        const PlotRange r = plot_range_of(&p->plot);
        Canvas c = {COLUMNS, LINES, calloc((size_t)COLUMNS * LINES, sizeof *c.taken)};
        Sheet *s = calloc(1, sizeof *s);
        const bool good = c.taken && s;
        if (good) {
                const int64_t left = write_points(p, &r, &c, s);
                print_sheet(s);
                printf(" %s, from %.3g to %.3g; %s, from %.3g to %.3g\n", p->across, r.least[0], r.most[0],
                       p->up, r.least[1], r.most[1]);
                say_left_out(left, p->plot.rows, false);
        }
        free(c.taken);
        free(s);
        return good;
}

/* --- as a picture ------------------------------------------------------------------------------------------------------------- */

enum {
        WIDE = 760,
        MIN_HIGH = 320,
        MAX_HIGH = 680,
        RADIUS = 4,
        FURTHEST = 5,
        FEW = 150 /* with more points, letters and points are small */
};

static void paint_point(Picture *p, int x, int y, int radius)
{
        for (int dy = -radius; dy <= radius; dy++) {
                const int dx = (int)sqrt((radius + 0.5) * (radius + 0.5) - dy * dy);
                picture_fill(p, x - dx, y + dy, 2 * dx + 1, 1, frame_blue);
        }
}

/* Both axes have the same scale, unless one range is much larger. */
static int height_of(const PlotRange *r)
{
        const double high = WIDE * (r->most[1] - r->least[1]) / (r->most[0] - r->least[0]);
        return high < MIN_HIGH ? MIN_HIGH : high > MAX_HIGH ? MAX_HIGH : (int)high;
}

/* Draws a line from a point to a distant label. */
static void paint_leader(PlotFrame *f, PlotBox point, PlotBox label)
{
        static const uint8_t grey[3] = {0x98, 0x98, 0x98};
        const int x0 = point.x + point.width / 2, y0 = point.y + point.height / 2,
                  x1 = x0 < label.x                 ? label.x - 2
                       : x0 > label.x + label.width ? label.x + label.width
                                                    : x0,
                  y1 = y0 < label.y                  ? label.y - 1
                       : y0 > label.y + label.height ? label.y + label.height - 1
                                                     : y0,
                  wide = abs(x1 - x0), high = abs(y1 - y0), steps = wide > high ? wide : high;
        for (int i = point.width / 2 + 1; i <= steps; i++)
                picture_fill(&f->p, f->x + x0 + (x1 - x0) * i / steps, f->y + y0 + (y1 - y0) * i / steps, 1,
                             1, grey);
}

/* Box of a point in the picture. */
static PlotBox box_of(const PlotFrame *f, const double *at, int radius)
{
        const int x = (int)lround((at[0] - f->left) / (f->right - f->left) * f->width),
                  y = (int)lround((f->top - at[1]) / (f->top - f->bottom) * f->height);
        return (PlotBox){x - radius, y - radius, 2 * radius + 1, 2 * radius + 1};
}

/* All points, then labels; returns the number of omitted labels. */
static int64_t paint_points(const Points *p, PlotFrame *f, Canvas *c)
{
        const int64_t n = p->plot.rows;
        const int radius = n > FEW ? RADIUS - 2 : RADIUS, scale = n > FEW ? 1 : FRAME_LETTERS;
        int64_t left = 0;
        for (int64_t i = 0; i < n; i++) {
                const PlotBox point = box_of(f, p->plot.value + 2 * i, radius);
                paint_point(&f->p, f->x + point.x + radius, f->y + point.y + radius, radius);
                take_box(c, point, 1);
        }
        f->p.scale = scale;
        for (int64_t i = 0; i < n; i++) {
                const PlotBox point = box_of(f, p->plot.value + 2 * i, radius);
                PlotBox label = {.width = scale * LETTER_WIDTH * characters_of(p->label[i]) - scale,
                                 .height = scale * LETTER_HEIGHT};
                const int off = find_place(c, point, 2 * scale, n > FEW ? 0 : FURTHEST, &label);
                if (off < 0) {
                        left++;
                        continue;
                }
                if (off)
                        paint_leader(f, point, label);
                picture_text(&f->p, f->x + label.x, f->y + label.y, p->label[i], false);
                take_box(c, label, 1);
        }
        f->p.scale = FRAME_LETTERS;
        return left;
}

bool points_paint(const Points *p, const char *path)
{
        const PlotRange r = plot_range_of(&p->plot);
        PlotFrame f = {0};
        const int high = height_of(&r);
        Canvas c = {WIDE, high, calloc((size_t)WIDE * (size_t)high, sizeof *c.taken)};
        if (!c.taken || !frame_begin(&f, &p->plot, WIDE, high, path)) {
                free(c.taken);
                return repl_error("%s", no_memory);
        }
        f.left = r.least[0];
        f.right = r.most[0];
        f.bottom = r.least[1];
        f.top = r.most[1];
        frame_x_axis(&f, false, true);
        frame_y_axis(&f, f.x, -1, false, true);
        frame_box(&f.p, f.x, f.y, f.width, f.height);
        const int64_t left = paint_points(p, &f, &c);
        frame_labels(&f, p->plot.title, p->across, p->up);
        const bool good = picture_write(&f.p, path);
        if (good)
                say_left_out(left, p->plot.rows, true);
        picture_free(&f.p);
        free(c.taken);
        return good;
}
