/* What the kinds of `lathe verify` have in common: targets, trials of a model, errors. */
#ifndef VERIFICATION_H
#define VERIFICATION_H
#include "driver.h"
#include "trial.h"
#include "trial_program.h"

/* The targets asked for, or all that can be tried here, the native one at least; none without compiled code.  -1 after a message. */
int choose_targets(Arena *a, const Options *o, const Target **chosen);

/* Whether the options want it so, and the target can be made so here. */
bool is_tried(const Options *o, const Target *target, When when);
/* "avx2, just in time" */
const char *trial_text(Arena *a, const Target *target, When when);
/* Plans m, whose passes are done, and tries it on t's inputs: t->output [noutput] is the caller's.  False after a message. */
bool trial_of_model(Model *m, const Options *o, const Target *target, When when, Trial *t);

/* A tensor found: doubles or, where these are NULL, floats. */
typedef struct {
        const double *wide;
        const float *narrow;
} Values;
double value_at(Values v, int64_t i);
/* The largest difference from `expected` [n], relative to its largest finite value, and where it is.  hides: NULL, or the shape
 * of an output whose columns after their row's position are left out. */
double largest_error(Values found, const double *expected, int64_t n, const OutputShape *hides, int64_t *at);

/* The named dimensions' sizes behind the model's name: "tale: time = 40", a line. */
void print_sizes(const Graph *g, const int64_t *size);

int verify_against(const Options *o); /* verify_against.c */

/* verify_table.c: errors of all values that have a name, by layer and op, on a target; the first over the bound is named.
 * That is where to look if an output is over it, and no failure by itself: angles of a thousand radians lose digits in floats too.
 * Makes m's graph anew.  False after a message. */
bool verify_table(Model *m, const Options *o, const Target *target, When when, const int64_t *size,
                  const Tensor *input, double bound);
#endif
