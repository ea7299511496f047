/* Packing: a model's weights in the order in which its kernels read them. */
#ifndef PACK_H
#define PACK_H
#include "plan.h"

/* Fills `all` [plan->weights_size], zeros before.  NULL, or an error message in the arena. */
const char *pack_weights(Plan *p, const WeightSource *from, float *all);

/* The same for buffers of which slots before begin[id of the whole buffer] are packed already, tables always. */
const char *pack_buffers(Plan *p, const WeightSource *from, const int64_t *begin, float *all);
#endif
