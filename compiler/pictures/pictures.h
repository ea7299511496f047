/* pictures: SVG of a model and of the execution of its kernels: the graph by blocks, the arena over time, the
 * schedule of threads, a roofline.
 *
 * Every function appends a whole document to a text.  The size of a picture follows its content; text has at
 * least 9 pixels.  Elements have their meaning in `data-` attributes, for programs and tests, and in a
 * <title>, which browsers show. */
#ifndef PICTURES_H
#define PICTURES_H
#include "plan/plan.h"

/* arena_picture.c: kernels in order from left to right, bytes of the arena upwards. */
void draw_arena(Text *out, const Plan *p);

/* calls.c: the kinds of calls of a plan, and the cost of each kernel: feeding, the largest prefill with
 * its last row requested, and a step after the whole context; for a model that is not causal, the largest
 * call. */
typedef struct {
        const char *name, *about; /* "step", "a step after 255 positions" */
        uint64_t part; /* the kernels of the top body that run, by Kernel.part; all_parts: all of them */
        bool all_parts, one_row; /* one_row: a step */
        int64_t size[MAX_NAMED];
        const KernelCost *cost; /* by Kernel.order.step */
        const double *seconds;  /* by Kernel.order.step: measured time of all its runs; NULL: not measured */
} PlanCall;
int calls_of(Arena *a, const Plan *p, PlanCall **call); /* returns their number */

/* The ceilings of a machine, and their origin: "one thread, as given". */
typedef struct {
        Ceilings most;
        const char *from;
} Roof;

/* threads_picture.c: each thread's share of each kernel, between barriers; a body of a repeat is drawn
 * once. */
void draw_threads(Text *out, const Plan *p, const Roof *roof, int threads);

/* roofline_picture.c: FLOPs per byte of each kernel under the roof, and its measured performance, if all
 * calls were measured. */
void draw_roofline(Text *out, const Plan *p, const Roof *roof, const PlanCall *call, int ncall);

/* costs_text.c: costs of kernels in each call, and their division among threads, as a table. */
void print_costs(FILE *f, const Plan *p);
void print_shares(FILE *f, const Plan *p, int threads);

/* costs_json.c: the same as members of a JSON object. */
void costs_json(const Plan *p, json_t *to);
void shares_json(const Plan *p, int threads, json_t *to);

/* graph_picture.c, graph_dot.c: blocks and the flows between them, as SVG and for Graphviz. */
void draw_graph(Text *out, const Graph *g);
void print_graph_dot(Text *out, const Graph *g);
#endif
