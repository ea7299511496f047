/* Inputs made by hash: what verify, goldens and the REPL feed a model that is given nothing else. */
#ifndef INPUTS_H
#define INPUTS_H
#include "graph.h"

enum { HASHED_POSITIONS = 40 }; /* where nobody says how many */

/* Sizes [nnamed] of named dimensions: so many positions, of each further one 7 fewer, or as many as there may be. */
void hashed_sizes(const Graph *g, int64_t positions, int64_t *size);
/* Element i of an input: an id below its bound, a float from -1 to 1, or 0 or 1. */
double hashed_input(const Input *in, uint64_t i);
/* All inputs [ninput]; tensor_free releases each.  false: out of memory. */
bool hashed_inputs(const Graph *g, const int64_t *size, Tensor *input);
#endif
