/* Shared by the pictures. */
#ifndef PICTURES_PRIVATE_H
#define PICTURES_PRIVATE_H
#include "pictures.h"

/* svg.c: elements of SVG.  Lengths are pixels, y grows downwards; texts are escaped. */
void svg_begin(Text *t, double width, double height, const char *title);
void svg_end(Text *t);
/* <g ..>, with attributes of the caller */
void svg_open(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void svg_close(Text *t);
void svg_escape(Text *t, const char *text);
/* classes: of the style in svg_begin(), as "bar" or "text middle" */
void svg_box(Text *t, double x, double y, double width, double height, const char *classes, const char *fill,
             const char *title);
void svg_line(Text *t, double x0, double y0, double x1, double y1, const char *classes);
void svg_path(Text *t, const char *classes, const char *path);
void svg_text(Text *t, double x, double y, const char *classes, const char *text);
/* rotated, read from below */
void svg_text_up(Text *t, double x, double y, const char *classes, const char *text);
/* A text within a width in pixels: full, smaller, shortened, or omitted. */
void svg_text_within(Text *t, double x, double y, double room, const char *classes, const char *text,
                     const char *shorter);
enum { SVG_SMALL = 9, SVG_SIZE = 11, SVG_TITLE = 15 }; /* sizes of letters in classes small, text and title */
double svg_width(const char *text, int size);          /* of names and numbers, in the fixed-width font */

/* Kinds of drawn objects, with a colour each. */
typedef enum {
        KIND_PRODUCT,
        KIND_ATTENTION,
        KIND_ELEMENTWISE,
        KIND_SCAN,
        KIND_CARRIED,
        KIND_OTHER,
        KINDS
} DrawnKind;
extern const char *const kind_fill[KINDS];
DrawnKind kind_of_kernel(const Kernel *k);
/* The legend of a set of kinds, in a row from x on. */
void svg_legend(Text *t, double x, double y, unsigned kinds);

/* calls.c: the kernels of a call in order; each body of a repeat once, between two marks. */
typedef enum { RUNS_KERNEL, RUNS_BODY, ENDS_BODY } TurnKind;
typedef struct {
        TurnKind kind;
        const Kernel *kernel; /* RUNS_BODY: the repeat */
        int64_t runs;         /* RUNS_BODY: iterations with the body */
        int number;           /* RUNS_KERNEL: its number, from 1 */
        unsigned waits;       /* kinds of calls with a barrier before it; repeat: before its first body */
} Turn;
double widest_name(const Plan *p); /* in pixels */
unsigned kinds_of_plan(const Plan *p);
int turns_of(Arena *a, const Plan *p, const PlanCall *call, Turn **turn);
/* Minimum seconds of a kernel: those of its arithmetic or of its bytes, whichever is longer. */
double min_seconds(const KernelCost *cost, const Roof *roof);
/* Whether there is a barrier before it; for a repeat: before its first body. */
bool waits_before(const Plan *p, const PlanCall *call, const Turn *t, int threads);
/* Whether every thread computes all of it. */
bool is_done_by_each(const PlanCall *call, const Kernel *k);
/* Number of units that threads share: those of its cost, or, for attention of one row with this number of
 * threads, blocks of keys. */
int64_t call_units(const PlanCall *call, const Kernel *k, int threads);
const char *units_text(Arena *a, const PlanCall *call, const Kernel *k, int threads);
/* First unit of thread t, as share() of the runtime; of an own kernel every thread has all units. */
int64_t units_before(const PlanCall *call, const Kernel *k, int t, int threads);
int64_t units_done(const PlanCall *call, const Kernel *k, int t, int threads);

/* axes.c: an axis of numbers over pixels. */
typedef struct {
        double low, high; /* range of numbers */
        double from, to;  /* range of pixels */
        bool log;
        const char *unit; /* unit of the labels: "B" */
} Axis;
double axis_at(const Axis *x, double value);
/* Draws ticks, labels and grid lines over the width (or height) `across`, at the left (or bottom). */
void axis_draw_left(Text *t, const Axis *y, double x, double across, const char *label);
void axis_draw_bottom(Text *t, const Axis *x, double y, double across, const char *label);
const char *axis_label(Arena *a, double value, const char *unit); /* "1.5 k", "20 µ" */
#endif
