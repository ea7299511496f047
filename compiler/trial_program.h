/* The C program that a trial builds with the emitted model. */
#ifndef TRIAL_PROGRAM_H
#define TRIAL_PROGRAM_H
#include "text.h"
#include "trial.h"

const char *trial_program(Arena *a, const Plan *p, const Trial *trial, const char *header);

/* An output of a call as [outer][rows][middle][columns + extra][inner]: rows are the call's positions (0: it has none), columns
 * all so far (0: it has none), behind extra ones that stand before the first. */
typedef struct {
        int64_t outer, rows, middle, columns, extra, inner;
} OutputShape;
OutputShape output_shape(const Graph *g, const Type *t, const int64_t *size);
bool is_later(const OutputShape *s,
              int64_t k); /* of all positions, is element k in a column after its row's position? */
/* Whether it takes its sequence in pieces too: it has state, and every input and output runs over positions or has none. */
bool is_sequential(const Graph *g, const int64_t *size);
bool grows(const Graph *g, const Type *t); /* runs over positions, the outermost axis */
#endif
