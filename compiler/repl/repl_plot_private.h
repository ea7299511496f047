/* The drawings of :plot, in the terminal or as a picture. */
#ifndef REPL_PLOT_PRIVATE_H
#define REPL_PLOT_PRIVATE_H
#include "repl_private.h"

typedef enum { PLOT_LINE, PLOT_HEAT, PLOT_BARS, PLOT_POINTS } PlotKind;

typedef struct {
        PlotKind kind;
        const char *title;     /* the expression */
        int64_t rows, columns; /* a line and bars: 1 row; points: 2 columns */
        double *value;         /* [rows][columns]; bars: counts; points: x and y */
        const char *about;     /* line below the title of a picture, or NULL */
        double least, most;    /* range of the finite values, least < most; bars: from 0 */
        double from, to;       /* bars: range of the values */
} Plot;

enum { MAX_BINS = 1000 };

/* repl_drawing.c: the drawing of a command, and its destination. */
typedef struct {
        char *text;       /* the expression, malloc'd */
        const char *path; /* of a picture; NULL: in the terminal */
        int64_t bins;     /* 0: not given */
} Drawing;
/* from: the expression and what follows; false after a message */
bool drawing_read(Drawing *d, const Words *w, const char *from);

/* repl_plot.c: averages neighbouring cells until the limits are met; false: out of memory. */
bool plot_pool(Plot *p, int64_t max_rows, int64_t max_columns);
/* A value's share of the range, 0 to 1; below 0: it is not finite. */
double plot_share(const Plot *p, double value);
/* Red, green and blue: from blue through white to red around 0 if there are both signs, else from dark to
 * light. */
void plot_colour(const Plot *p, double value, uint8_t *rgb);

/* Position of the axes, in pixels, and their ranges. */
typedef struct {
        Picture p;
        int x, y, width, height;
        double left, right, bottom, top;
} PlotFrame;

typedef struct {
        int x, y, width, height;
} PlotBox;

/* repl_frame.c */
enum { FRAME_LETTERS = 2 /* width of a letter's dot in pixels */ };
extern const uint8_t frame_blue[3];
/* Makes a picture with room for box, labels, colour bar and the line below the title; false: too large, or
 * out of memory. */
bool frame_begin(PlotFrame *f, const Plot *p, int width, int height, const char *path);
void frame_x_axis(PlotFrame *f, bool whole, bool grid);
/* ticks and labels at x: to its left (-1), or to its right (1) */
void frame_y_axis(PlotFrame *f, int x, int side, bool whole, bool grid);
void frame_box(Picture *p, int x, int y, int width, int height);
void frame_labels(PlotFrame *f, const char *title, const char *across, const char *up);
/* a line below the title, in smaller letters if it is long */
void frame_about(PlotFrame *f, const char *about);
void frame_colour_bar(const PlotFrame *map, Picture *picture, const Plot *p); /* colour bar next to the map */

/* repl_points.c: points, each with its label. */
enum { POINT_LABEL = 24 /* bytes at most, with a NUL */ };
typedef struct {
        Plot plot;
        char (*label)[POINT_LABEL]; /* [rows] */
        const char *across, *up;    /* titles of the axes */
} Points;
bool points_print(const Points *p);                   /* false: out of memory */
bool points_paint(const Points *p, const char *path); /* false after a message */

/* repl_plot_text.c */
bool plot_print(Plot *p); /* false: out of memory */
/* repl_plot_picture.c */
bool plot_paint(Plot *p, const char *path); /* false after a message */
#endif
