/* Packing: a model's weights in the order in which its kernels read them. */
#ifndef PACK_H
#define PACK_H
#include "plan.h"

/* All of the weight section, plan->weights_size floats (malloc'd); NULL and *error (in the arena) on failure. */
float *pack_weights(Plan *p, const WeightSource *from, const char **error);
#endif
