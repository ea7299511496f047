/* Plots in the terminal: lines of dots (Braille patterns of Unicode, 2 by 4 dots per character), bars of
 * eighths of a block, heat maps of shades, or of colours if the terminal has them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl_plot_private.h"

enum {
        WIDE = 64,
        HIGH = 12,
        LABEL_COLUMNS = 10,
        DOTS_WIDE = 2 * WIDE,
        DOTS_HIGH = 4 * HIGH,
        MAX_CELLS = 64,
        DOUBLE_CELLS = 32
};

/* --- the frame ---------------------------------------------------------------------------------------------------------- */

static void print_edge(const Plot *p, int row)
{
        char label[32] = "";
        const double zero = p->most / (p->most - p->least) * (HIGH - 1);
        if (row == 0)
                snprintf(label, sizeof label, "%.4g", p->most);
        else if (row == HIGH - 1)
                snprintf(label, sizeof label, "%.4g", p->least);
        else if (p->least < 0 && p->most > 0 && (int)(zero + 0.5) == row)
                snprintf(label, sizeof label, "0");
        printf("%*s %s", LABEL_COLUMNS, label, *label ? "┤" : "│");
}

static void print_foot(const char *left, const char *right, int width)
{
        printf("%*s └", LABEL_COLUMNS, "");
        for (int i = 0; i < width; i++)
                printf("─");
        printf("\n%*s%s%*s\n", LABEL_COLUMNS + 2, "", left, width - (int)strlen(left), right);
}

/* --- a line ------------------------------------------------------------------------------------------------------------- */

typedef struct {
        uint8_t cell[HIGH][WIDE]; /* dots, as the low byte of U+2800 encodes them */
} Dots;

static void set_dot(Dots *d, int x, int y)
{
        static const uint8_t bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
        d->cell[y / 4][x / 2] |= bit[y % 4][x % 2];
}

static void draw_stroke(Dots *d, int x0, int y0, int x1, int y1)
{
        const int wide = abs(x1 - x0), high = abs(y1 - y0), steps = wide > high ? wide : high;
        for (int i = 0; i <= steps; i++)
                set_dot(d, steps ? x0 + (x1 - x0) * i / steps : x0, steps ? y0 + (y1 - y0) * i / steps : y0);
}

static void draw_line(const Plot *p, Dots *d)
{
        int x0 = -1, y0 = 0;
        for (int64_t i = 0; i < p->columns; i++) {
                if (!isfinite(p->value[i])) {
                        x0 = -1;
                        continue;
                }
                const int x = p->columns > 1 ? (int)(i * (DOTS_WIDE - 1) / (p->columns - 1)) : 0,
                          y = (int)((1 - plot_share(p, p->value[i])) * (DOTS_HIGH - 1) + 0.5);
                draw_stroke(d, x0 < 0 ? x : x0, x0 < 0 ? y : y0, x, y);
                x0 = x;
                y0 = y;
        }
}

static void plot_print_line(const Plot *p)
{
        Dots d = {0};
        char last[32];
        draw_line(p, &d);
        for (int row = 0; row < HIGH; row++) {
                int n = WIDE;
                while (n && !d.cell[row][n - 1])
                        n--;
                print_edge(p, row);
                for (int i = 0; i < n; i++)
                        printf("\xe2%c%c", 0xa0 | d.cell[row][i] >> 6, 0x80 | (d.cell[row][i] & 0x3f));
                printf("\n");
        }
        snprintf(last, sizeof last, "%" PRId64, p->columns - 1);
        print_foot("0", last, WIDE);
}

/* --- bars --------------------------------------------------------------------------------------------------------------- */

static void print_bars(const Plot *p)
{
        static const char *const eighth[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        const int width = WIDE / (int)p->columns;
        char left[32], right[32];
        for (int row = 0; row < HIGH; row++) {
                print_edge(p, row);
                for (int64_t i = 0; i < p->columns; i++) {
                        int height = (int)(plot_share(p, p->value[i]) * HIGH * 8 + 0.5);
                        height = p->value[i] > 0 && height < 1 ? 1 : height;
                        height -= (HIGH - 1 - row) * 8;
                        for (int k = 0; k < width; k++)
                                printf("%s", eighth[height < 0 ? 0 : height > 8 ? 8 : height]);
                }
                printf("\n");
        }
        snprintf(left, sizeof left, "%.4g", p->from);
        snprintf(right, sizeof right, "%.4g", p->to);
        print_foot(left, right, width * (int)p->columns);
}

/* --- a heat map ------------------------------------------------------------------------------------------------------------ */

static bool has_colours(void)
{
        const char *none = getenv("NO_COLOR");
        return isatty(STDOUT_FILENO) && !(none && *none);
}

static void print_cell(const Plot *p, double value, int width, bool coloured)
{
        static const char *const shade[] = {" ", "░", "▒", "▓", "█"};
        const double share = plot_share(p, value);
        const char *cell = share < 0 ? "?" : coloured ? " " : shade[(int)(share * 4 + 0.5)];
        uint8_t c[3];
        plot_colour(p, value, c);
        if (coloured) { /* the 256 colours: a cube of 6 by 6 by 6 */
                char sequence[24];
                snprintf(sequence, sizeof sequence, "\033[48;5;%dm",
                         16 + 36 * ((c[0] * 5 + 127) / 255) + 6 * ((c[1] * 5 + 127) / 255) +
                                 (c[2] * 5 + 127) / 255);
                terminal_control(stdout, sequence);
        }
        for (int k = 0; k < width; k++)
                printf("%s", cell);
        if (coloured)
                terminal_control(stdout, "\033[0m");
}

static bool print_heat(Plot *p)
{
        const int64_t rows = p->rows, columns = p->columns;
        const bool coloured = has_colours();
        if (!plot_pool(p, MAX_CELLS, MAX_CELLS))
                return false;
        const int width = p->columns <= DOUBLE_CELLS ? 2 : 1;
        const int64_t each = (rows + p->rows - 1) / p->rows;
        for (int64_t i = 0; i < p->rows; i++) {
                printf("%*" PRId64 " │", LABEL_COLUMNS, i * each);
                for (int64_t j = 0; j < p->columns; j++)
                        print_cell(p, p->value[i * p->columns + j], width, coloured);
                printf("│\n");
        }
        char last[32];
        snprintf(last, sizeof last, "%" PRId64, columns - 1);
        print_foot("0", p->columns * width > 1 ? last : "", (int)p->columns * width);
        printf("%*s%.4g ", LABEL_COLUMNS + 2, "", p->least);
        for (int k = 0; k <= 4; k++)
                print_cell(p, p->least + (p->most - p->least) * k / 4, 2, coloured);
        printf(" %.4g\n", p->most);
        if (p->rows < rows || p->columns < columns)
                printf("a cell is the mean of %" PRId64 " by %" PRId64 " of [%" PRId64 ", %" PRId64
                       "]; a picture shows more\n",
                       each, (columns + p->columns - 1) / p->columns, rows, columns);
        return true;
}

bool plot_print(Plot *p)
{
        switch (p->kind) {
        case PLOT_LINE: plot_print_line(p); break;
        case PLOT_BARS: print_bars(p); break;
        case PLOT_HEAT: return print_heat(p);
        case PLOT_POINTS: break; /* repl_points.c */
        }
        return true;
}
