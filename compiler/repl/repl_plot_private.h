/* What :plot draws, in the terminal or into a picture. */
#ifndef REPL_PLOT_PRIVATE_H
#define REPL_PLOT_PRIVATE_H
#include "repl_private.h"

typedef enum { PLOT_LINE, PLOT_HEAT, PLOT_BARS } PlotKind;

typedef struct {
        PlotKind kind;
        const char *title;     /* the expression */
        int64_t rows, columns; /* a line and bars: 1 row */
        double *value;         /* [rows][columns]; of bars: how many values each stands for */
        const char *about;     /* a line below the title of a picture; or NULL */
        double least, most;    /* of the finite ones, least < most; of bars from 0 */
        double from, to;       /* of bars: the values that they reach over */
} Plot;

enum { MOST_BINS = 1000 };

/* repl_drawing.c: what a command draws, and where. */
typedef struct {
        char *text;       /* the expression, malloc'd */
        const char *path; /* of a picture; NULL: in the terminal */
        int64_t bins;     /* 0: nothing is said */
} Drawing;
bool drawing_read(Drawing *d, const Words *w,
                  const char *from); /* from: the expression and what follows; false after a message */

/* repl_plot.c: the means of neighbouring cells, so that no more rows and columns are left; false: out of memory */
bool plot_pool(Plot *p, int64_t most_rows, int64_t most_columns);
/* A cell's share of the range, 0 to 1; below 0: it is not finite. */
double plot_share(const Plot *p, double value);
/* Red, green and blue: from blue through white to red about 0 if there are both signs, else from dark to light. */
void plot_colour(const Plot *p, double value, uint8_t *rgb);

/* repl_plot_text.c */
bool plot_print(Plot *p); /* false: out of memory */
/* repl_plot_picture.c */
bool plot_paint(Plot *p, const char *path); /* false after a message */
#endif
