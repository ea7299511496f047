/* Shared by the pictures. */
#ifndef PICTURES_PRIVATE_H
#define PICTURES_PRIVATE_H
#include "pictures.h"

/* svg.c: elements of SVG.  Lengths are pixels, y grows downwards; texts are escaped. */
void svg_begin(Text *t, double width, double height, const char *title);
void svg_end(Text *t);
void svg_open(Text *t, const char *format, ...)
        __attribute__((format(printf, 2, 3))); /* <g ..>, what it stands for in attributes of the caller's */
void svg_close(Text *t);
void svg_escape(Text *t, const char *text);
/* classes: of the style in svg_begin(), as "bar" or "text middle" */
void svg_box(Text *t, double x, double y, double width, double height, const char *classes, const char *fill,
             const char *title);
void svg_line(Text *t, double x0, double y0, double x1, double y1, const char *classes);
void svg_path(Text *t, const char *classes, const char *path);
void svg_text(Text *t, double x, double y, const char *classes, const char *text);
void svg_text_up(Text *t, double x, double y, const char *classes, const char *text); /* read from below */
/* In so many pixels: in full, or smaller, or shorter, or not at all. */
void svg_text_within(Text *t, double x, double y, double room, const char *classes, const char *text,
                     const char *shorter);
enum { SVG_SMALL = 9, SVG_SIZE = 11, SVG_TITLE = 15 }; /* of letters: classes small, text and title */
double svg_width(const char *text, int size); /* of names and numbers, in the fixed width that they have */

/* The kinds of what is drawn, a colour each. */
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
/* Those of a set of kinds, in a row from x on. */
void svg_legend(Text *t, double x, double y, unsigned kinds);

/* calls.c: the kernels of a call in the order in which they run, each body of a repeat once, between two marks */
typedef enum { RUNS_KERNEL, RUNS_BODY, ENDS_BODY } TurnKind;
typedef struct {
        TurnKind kind;
        const Kernel *kernel; /* of bodies: the repeat's */
        int64_t runs;         /* of a body: the iterations that take it */
        int number;           /* of a kernel: its place among the kernels, from 1 */
        unsigned waits; /* the kinds of calls with a barrier before it; of a repeat: before its first body */
} Turn;
double widest_name(const Plan *p); /* of its kernels, in pixels */
unsigned kinds_of_plan(const Plan *p);
int turns_of(Arena *a, const Plan *p, const PlanCall *call, Turn **turn);
/* The seconds that a kernel takes at least: its arithmetic's or its bytes', the longer of them. */
double min_seconds(const KernelCost *cost, const Roof *roof);
/* Is there a barrier before it?  Of a repeat: before its first body. */
bool waits_before(const Plan *p, const PlanCall *call, const Turn *t, int threads);
/* Does every thread do all of it, for itself? */
bool is_done_by_each(const PlanCall *call, const Kernel *k);
/* How many units threads share: those of its cost, or of attention of one row blocks of keys; and with what they are. */
int64_t call_units(const PlanCall *call, const Kernel *k, int threads);
const char *units_text(Arena *a, const PlanCall *call, const Kernel *k, int threads);
/* Where the work of thread t begins, in units: as share() of the runtime; an own kernel is all of each thread's. */
int64_t units_before(const PlanCall *call, const Kernel *k, int t, int threads);
int64_t units_done(const PlanCall *call, const Kernel *k, int t, int threads);

/* axes.c: an axis of numbers over pixels */
typedef struct {
        double low, high; /* what it reaches over */
        double from, to;  /* where that lies */
        bool log;
        const char *unit; /* of the labels: "B" */
} Axis;
double axis_at(const Axis *x, double value);
/* Ticks, labels and lines over the width (or height) `across`, at left (or bottom). */
void axis_draw_left(Text *t, const Axis *y, double x, double across, const char *label);
void axis_draw_bottom(Text *t, const Axis *x, double y, double across, const char *label);
const char *axis_label(Arena *a, double value, const char *unit); /* "1.5 k", "20 µ" */
#endif
