/* :plot: a vector as a line, a matrix as a heat map, the values of a tensor as a histogram. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

enum { MOST_BINS = 32 };

static bool wrong(const char *why)
{
        fprintf(stderr, "lathe: error: %s\n", why);
        return false;
}

/* --- cells ------------------------------------------------------------------------------------------------------------ */

static double mean_of(const Plot *p, int64_t row, int64_t rows, int64_t column, int64_t columns)
{
        double sum = 0;
        for (int64_t i = row; i < row + rows; i++)
                for (int64_t j = column; j < column + columns; j++)
                        sum += p->value[i * p->columns + j];
        return sum / (double)(rows * columns);
}

bool plot_pool(Plot *p, int64_t most_rows, int64_t most_columns)
{
        int64_t height = (p->rows + most_rows - 1) / most_rows,
                width = (p->columns + most_columns - 1) / most_columns;
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

/* --- from a value to what is drawn -------------------------------------------------------------------------------------- */

/* The range of the finite values; NULL, or why they can't be drawn. */
static const char *find_range(Plot *p, int64_t n)
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
                return "the values lie too far apart to be drawn";
        if (p->least == p->most) {
                const double around = p->least != 0 ? fabs(p->least) / 2 : 0.5;
                p->least -= around;
                p->most += around;
        }
        return NULL;
}

/* In place of the values how many of them each bar has. */
static bool make_bars(Plot *p)
{
        const int64_t n = p->rows * p->columns;
        int64_t bins = (int64_t)ceil(sqrt((double)n)), left = 0;
        bins = bins > MOST_BINS ? MOST_BINS : bins;
        double *count = calloc((size_t)bins, sizeof *count), most = 0, sum = 0, squares = 0;
        if (!count)
                return false;
        for (int64_t i = 0; i < n; i++) {
                const double x = p->value[i];
                if (!isfinite(x)) {
                        left++;
                        continue;
                }
                const int64_t k = (int64_t)(plot_share(p, x) * (double)bins);
                count[k < bins ? k : bins - 1]++;
                sum += x;
        }
        const double mean = sum / (double)(n - left);
        for (int64_t i = 0; i < n; i++)
                squares += isfinite(p->value[i]) ? (p->value[i] - mean) * (p->value[i] - mean) : 0;
        for (int64_t k = 0; k < bins; k++)
                most = count[k] > most ? count[k] : most;
        printf("%" PRId64 " values, mean %.4g, standard deviation %.4g", n - left, mean,
               sqrt(squares / (double)(n - left)));
        if (left)
                printf("; %" PRId64 " are not finite", left);
        printf("\n");
        free(p->value);
        *p = (Plot){PLOT_BARS, p->title, 1, bins, count, 0, most, p->least, p->most};
        return true;
}

/* Axes of one element in front do not count. */
static bool take_shape(Plot *p, const Kept *k, bool as_bars)
{
        int first = 0;
        while (first < k->rank - 1 && k->dim[first] == 1)
                first++;
        p->rows = 1;
        for (int a = 0; a < k->rank - 1; a++)
                p->rows *= k->dim[a];
        p->columns = k->dim[k->rank - 1];
        if (!as_bars && k->rank - first > 2) {
                fprintf(stderr,
                        "lathe: error: a vector or a matrix is drawn, and this has %d axes: x[0] takes a "
                        "part, "
                        ":plot hist all values\n",
                        k->rank);
                return false;
        }
        p->kind = p->rows > 1 ? PLOT_HEAT : PLOT_LINE;
        return p->rows * p->columns > 0 || wrong("there is nothing to draw: the tensor has no elements");
}

static bool draw(Plot *p, const Kept *k, bool as_bars, const char *path)
{
        if (!k->data || k->rank < 1)
                return wrong("a vector or a matrix is drawn, and this is none");
        if (!take_shape(p, k, as_bars))
                return false;
        const size_t size = (size_t)(p->rows * p->columns) * sizeof *p->value;
        p->value = malloc(size);
        if (!p->value)
                return wrong(no_memory);
        memcpy(p->value, k->data, size);
        const char *why = find_range(p, p->rows * p->columns);
        if (why)
                return wrong(why);
        if (as_bars && !make_bars(p))
                return wrong(no_memory);
        return path ? plot_paint(p, path) : plot_print(p) || wrong(no_memory);
}

/* --- the command -------------------------------------------------------------------------------------------------------- */

/* Where the last word of a line begins, with its quote. */
static size_t last_word(const char *line, size_t n)
{
        if (n && line[n - 1] == '"') {
                for (n--; n && line[n - 1] != '"'; n--)
                        ;
                return n ? n - 1 : 0;
        }
        while (n && line[n - 1] != ' ' && line[n - 1] != '\t')
                n--;
        return n;
}

/* [hist] EXPR [FILE.png] */
bool plot_value(Session *s, const Words *w)
{
        const bool as_bars = !strcmp(w->word[1], "hist") && w->n > 2;
        const char *from = w->rest + (as_bars ? strcspn(w->rest, " \t") : 0), *last = w->word[w->n - 1],
                   *path = is_picture_name(last) ? last : NULL;
        from += strspn(from, " \t");
        size_t n = strlen(from);
        while (n && (from[n - 1] == ' ' || from[n - 1] == '\t'))
                n--;
        n = path ? last_word(from, n) : n;
        while (n && (from[n - 1] == ' ' || from[n - 1] == '\t'))
                n--;
        if (!n)
                return wrong("what is to be drawn? :plot EXPR FILE.png");
        char *text = strndup(from, n);
        if (!text)
                return wrong(no_memory);
        Plot p = {.title = text};
        Kept *k = evaluate_text(s, text);
        const bool good = k && draw(&p, k, as_bars, path);
        kept_drop(k);
        free(p.value);
        free(text);
        return good;
}
