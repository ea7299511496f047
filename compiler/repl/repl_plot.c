/* :plot: a vector as a line, a matrix as a heat map, the values of a tensor as a histogram. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

enum { USUAL_BINS = 32, TERMINAL_BINS = 64 };

/* --- cells ------------------------------------------------------------------------------------------------------------ */

static double mean_of(const Plot *p, int64_t row, int64_t rows, int64_t column, int64_t columns)
{
        double sum = 0;
        for (int64_t i = row; i < row + rows; i++)
                for (int64_t j = column; j < column + columns; j++)
                        sum += p->value[i * p->columns + j];
        return sum / (double)(rows * columns);
}

bool plot_pool(Plot *p, int64_t max_rows, int64_t max_columns)
{
        int64_t height = (p->rows + max_rows - 1) / max_rows,
                width = (p->columns + max_columns - 1) / max_columns;
        if (height <= 1 && width <= 1)
                return true;
        int64_t rows = (p->rows + height - 1) / height, columns = (p->columns + width - 1) / width;
        double *value = malloc((size_t)(rows * columns) * sizeof *value);
        for (int64_t i = 0; value && i < rows; i++)
                for (int64_t j = 0; j < columns; j++) {
                        int64_t down = p->rows - i * height, across = p->columns - j * width;
                        value[i * columns + j] = mean_of(p, i * height, down < height ? down : height,
                                                         j * width, across < width ? across : width);
                }
        if (!value)
                return false;
        free(p->value);
        p->value = value;
        p->rows = rows;
        p->columns = columns;
        return true;
}

double plot_share(const Plot *p, double value)
{
        return isfinite(value) ? (value - p->least) / (p->most - p->least) : -1;
}

void plot_colour(const Plot *p, double value, uint8_t *rgb)
{
        static const uint8_t dark_to_light[][3] = {
                {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
        static const uint8_t blue_to_red[][3] = {
                {30, 80, 160}, {140, 185, 220}, {247, 247, 247}, {240, 160, 125}, {170, 30, 45}};
        const bool both = p->least < 0 && p->most > 0;
        const uint8_t(*map)[3] = both ? blue_to_red : dark_to_light;
        const double largest = p->most > -p->least ? p->most : -p->least;
        double share = both && isfinite(value) ? (value / largest + 1) / 2 : plot_share(p, value);
        if (share < 0) {
                memset(rgb, 0x80, 3);
                return;
        }
        const double at = 4 * (share > 1 ? 1 : share);
        const int k = at >= 4 ? 3 : (int)at;
        for (int i = 0; i < 3; i++)
                rgb[i] = (uint8_t)(map[k][i] + (at - k) * (map[k + 1][i] - map[k][i]) + 0.5);
}

/* --- from a value to a drawing ------------------------------------------------------------------------------------------ */

/* The range of the finite values.  Returns NULL, or why they can't be drawn. */
static const char *plot_range(Plot *p, int64_t n)
{
        p->least = INFINITY;
        p->most = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
                const double x = p->value[i];
                if (!isfinite(x))
                        continue;
                p->least = x < p->least ? x : p->least;
                p->most = x > p->most ? x : p->most;
        }
        if (p->least > p->most)
                return "there is nothing to draw: no value is finite";
        if (!isfinite(1.04 * (p->most - p->least)))
                return "the range of the values is too large to be drawn";
        if (p->least == p->most) {
                const double around = p->least != 0 ? fabs(p->least) / 2 : 0.5;
                p->least -= around;
                p->most += around;
        }
        return NULL;
}

/* Statistics of the finite values, as a line. */
typedef struct {
        double least, most, mean, deviation;
        int64_t n, left; /* number of finite values, and of others */
} Summary;

static Summary summarise(const double *value, int64_t n)
{
        Summary s = {.least = INFINITY, .most = -INFINITY};
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) {
                if (!isfinite(value[i])) {
                        s.left++;
                        continue;
                }
                s.least = value[i] < s.least ? value[i] : s.least;
                s.most = value[i] > s.most ? value[i] : s.most;
                sum += value[i];
        }
        s.n = n - s.left;
        s.mean = sum / (double)s.n;
        for (int64_t i = 0; i < n; i++)
                squares += isfinite(value[i]) ? (value[i] - s.mean) * (value[i] - s.mean) : 0;
        s.deviation = sqrt(squares / (double)s.n);
        return s;
}

static void write_summary(char *text, size_t room, const Summary *s, const char *deviation)
{
        int n = snprintf(text, room, "%" PRId64 " values from %.4g to %.4g, mean %.4g, %s %.4g", s->n,
                         s->least, s->most, s->mean, deviation, s->deviation);
        if (s->left && n < (int)room)
                snprintf(text + n, room - (size_t)n, "; %" PRId64 " are not finite", s->left);
}

/* Replaces the values by the counts of the bars. */
static bool make_bars(Plot *p, int64_t bins)
{
        const int64_t n = p->rows * p->columns;
        double *count = calloc((size_t)bins, sizeof *count), most = 0;
        if (!count)
                return false;
        for (int64_t i = 0; i < n; i++) {
                const double x = p->value[i];
                const int64_t k = isfinite(x) ? (int64_t)(plot_share(p, x) * (double)bins) : -1;
                if (k >= 0)
                        count[k < bins ? k : bins - 1]++;
        }
        for (int64_t k = 0; k < bins; k++)
                most = count[k] > most ? count[k] : most;
        free(p->value);
        *p = (Plot){PLOT_BARS, p->title, 1, bins, count, p->about, 0, most, p->least, p->most};
        return true;
}

static bool draw_bars(Plot *p, const Drawing *d)
{
        const int64_t n = p->rows * p->columns, root = (int64_t)ceil(sqrt((double)n));
        const Summary s = summarise(p->value, n);
        char text[200];
        if (!d->path && d->bins > TERMINAL_BINS)
                return repl_error("a terminal shows at most 64 bins; a picture, -o FILE.png, shows more");
        write_summary(text, sizeof text, &s, "standard deviation");
        printf("%s\n", text);
        write_summary(text, sizeof text, &s, "sd");
        p->about = text;
        if (!make_bars(p, d->bins ? d->bins : root < USUAL_BINS ? root : USUAL_BINS))
                return repl_error("%s", no_memory);
        return d->path ? plot_paint(p, d->path) : plot_print(p) || repl_error("%s", no_memory);
}

/* Leading axes of one element are ignored. */
static bool plot_take_shape(Plot *p, const KeptValue *k, bool as_bars)
{
        int first = 0;
        while (first < k->rank - 1 && k->dim[first] == 1)
                first++;
        p->rows = 1;
        for (int a = 0; a < k->rank - 1; a++)
                p->rows *= k->dim[a];
        p->columns = k->dim[k->rank - 1];
        if (!as_bars && k->rank - first > 2)
                return repl_error("only vectors and matrices are drawn, and this has %d axes: x[0] takes a "
                                  "part, :hist all values",
                                  k->rank);
        p->kind = p->rows > 1 ? PLOT_HEAT : PLOT_LINE;
        return p->rows * p->columns > 0 || repl_error("there is nothing to draw: the tensor has no elements");
}

static bool draw(Plot *p, const KeptValue *k, bool as_bars, const Drawing *d)
{
        if (!k->data || k->rank < 1)
                return repl_error("only vectors and matrices are drawn, and this is neither");
        if (!plot_take_shape(p, k, as_bars))
                return false;
        const size_t size = (size_t)(p->rows * p->columns) * sizeof *p->value;
        p->value = malloc(size);
        if (!p->value)
                return repl_error("%s", no_memory);
        memcpy(p->value, k->data, size);
        const char *why = plot_range(p, p->rows * p->columns);
        if (why)
                return repl_error("%s", why);
        if (as_bars)
                return draw_bars(p, d);
        return d->path ? plot_paint(p, d->path) : plot_print(p) || repl_error("%s", no_memory);
}

/* --- the command -------------------------------------------------------------------------------------------------------- */

static bool draw_text(ReplSession *s, Drawing *d, bool as_bars)
{
        Plot p = {.title = d->text};
        KeptValue *k = evaluate_text(s, d->text);
        const bool good = k && draw(&p, k, as_bars, d);
        kept_drop(k);
        free(p.value);
        free(d->text);
        return good;
}

/* [hist] EXPR [-o FILE.png] */
bool plot_value(ReplSession *s, const Words *w)
{
        const bool as_bars = !strcmp(w->word[1], "hist") && w->n > 2;
        const char *from = w->rest + (as_bars ? strcspn(w->rest, " \t") : 0);
        Drawing d;
        if (!drawing_read(&d, w, from + strspn(from, " \t")))
                return false;
        if (!as_bars && d.bins) {
                free(d.text);
                return repl_error("--bins is for :hist");
        }
        return draw_text(s, &d, as_bars);
}

/* EXPR [--bins N] [-o FILE.png] */
bool plot_histogram(ReplSession *s, const Words *w)
{
        Drawing d;
        return drawing_read(&d, w, w->rest) && draw_text(s, &d, true);
}
