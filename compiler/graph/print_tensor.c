/* Prints numbers and tensors in the language, so that the output can be used as input. */
#include "graph.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_PRINTED = 400, LONG_AXIS = 8, SHOWN_FIRST = 4, SHOWN_LAST = 3, WIDTH = 100, LONGEST = 48 };

typedef struct {
        FILE *f;
        const Shown *t;
        int64_t stride[MAX_RANK];
        bool abridged;
        const char *format; /* format of a number; NULL: true and false */
        int cell;           /* width of an element in columns */
        int indent, width;
} Print;

static int tensor_number(char *out, const char *format, double x)
{
        if (!format)
                return snprintf(out, LONGEST, "%s", x != 0 ? "true" : "false");
        if (isnan(x))
                return snprintf(out, LONGEST, "nan");
        if (isinf(x))
                return snprintf(out, LONGEST, x < 0 ? "-inf" : "inf");
        return snprintf(out, LONGEST, format, x == 0 ? 0.0 : x);
}

void print_shortest(FILE *f, double x)
{
        char text[LONGEST];
        tensor_number(text, x == floor(x) && fabs(x) < 1e15 ? "%.0f" : "%.10g", x);
        fputs(text, f);
}

/* --- format of numbers -------------------------------------------------------------------------------------------- */

static int64_t shown_count(const Shown *t)
{
        int64_t n = 1;
        for (int i = 0; i < t->rank; i++)
                n *= t->dim[i];
        return n;
}

static const char *format_for(const Shown *t)
{
        bool whole = true;
        double most = 0;
        for (int64_t i = 0; i < shown_count(t); i++) {
                double size = fabs(t->data[i]);
                if (!isfinite(size))
                        continue;
                whole = whole && size == floor(size);
                most = size > most ? size : most;
        }
        if (t->dtype == BOOL)
                return NULL;
        if (whole && most < 1e9)
                return "%.0f";
        return most >= 1e5 || most < 1e-2 ? "%.4e" : "%.4f";
}

/* Whether index i of an axis is omitted; *next is the first one that is not. */
static bool index_is_left_out(const Print *p, int axis, int64_t i, int64_t *next)
{
        int64_t n = p->t->dim[axis];
        *next = n - SHOWN_LAST;
        return p->abridged && n > LONG_AXIS && i == SHOWN_FIRST;
}

static void print_measure(Print *p, int axis, const double *at)
{
        char text[LONGEST];
        for (int64_t i = 0, next; i < p->t->dim[axis]; i++) {
                if (index_is_left_out(p, axis, i, &next))
                        i = next;
                if (axis + 1 < p->t->rank) {
                        print_measure(p, axis + 1, at + i * p->stride[axis]);
                        continue;
                }
                int n = tensor_number(text, p->format, at[i]);
                p->cell = n > p->cell ? n : p->cell;
        }
}

/* --- printing ---------------------------------------------------------------------------------------------------------- */

static void tensor_print_row(const Print *p, const double *at, int64_t n)
{
        int column = p->indent + p->t->rank;
        char text[LONGEST];
        for (int64_t i = 0, next; i < n; i++) {
                bool gap = index_is_left_out(p, p->t->rank - 1, i, &next);
                int length = gap ? 3 : p->cell;
                if (i > 0 && column + length + 2 > p->width) {
                        fprintf(p->f, ",\n%*s", p->indent + p->t->rank, "");
                        column = p->indent + p->t->rank;
                } else if (i > 0) {
                        fputs(", ", p->f);
                        column += 2;
                }
                if (gap) {
                        fputs("...", p->f);
                        i = next - 1;
                } else {
                        tensor_number(text, p->format, at[i]);
                        fprintf(p->f, "%*s", p->cell, text);
                }
                column += length;
        }
}

static void print_axis(const Print *p, int axis, const double *at)
{
        int64_t n = p->t->dim[axis], next;
        fputc('[', p->f);
        if (axis + 1 == p->t->rank)
                tensor_print_row(p, at, n);
        for (int64_t i = 0; axis + 1 < p->t->rank && i < n; i++) {
                if (i > 0)
                        fprintf(p->f, ",\n%*s", p->indent + axis + 1, "");
                if (index_is_left_out(p, axis, i, &next)) {
                        fputs("...", p->f);
                        i = next - 1;
                        continue;
                }
                print_axis(p, axis + 1, at + i * p->stride[axis]);
        }
        fputc(']', p->f);
}

/* Width of output: that of a narrower terminal, else fixed. */
static int line_width(FILE *f)
{
        struct winsize size;
        const int file = terminal_file(f);
        bool narrow = file >= 0 && !ioctl(file, TIOCGWINSZ, &size) && size.ws_col > 20 && size.ws_col < WIDTH;
        return narrow ? size.ws_col : WIDTH;
}

void print_tensor(FILE *f, const Shown *t, int indent)
{
        if (t->rank == 0) {
                if (t->dtype == BOOL)
                        fputs(*t->data != 0 ? "true" : "false", f);
                else
                        print_shortest(f, *t->data);
                fputc('\n', f);
                return;
        }
        Print p = {.f = f, .t = t, .abridged = shown_count(t) > MAX_PRINTED, .format = format_for(t)};
        p.indent = indent;
        p.width = line_width(f);
        int64_t stride = 1;
        for (int a = t->rank - 1; a >= 0; a--) {
                p.stride[a] = stride;
                stride *= t->dim[a];
        }
        print_measure(&p, 0, t->data);
        print_axis(&p, 0, t->data);
        fputs("  # [", f);
        for (int a = 0; a < t->rank; a++)
                fprintf(f, "%s%lld", a ? ", " : "", (long long)t->dim[a]);
        fputs("]\n", f);
}
