/* Hash weights: values for a model that has no checkpoint, from a tensor's name and element index alone.
 * docs/hash-weights.md specifies them, so that any language can make the same. */
#ifndef HASH_WEIGHTS_H
#define HASH_WEIGHTS_H

#include <stdint.h>

uint64_t hash_name(const char *name); /* the tensor's full name, UTF-8 */
double hash_scale(int rank, const int64_t *shape);
/* Element index, counted in row-major order; centre is the declared default, 0 if there is none. */
float hash_weight(uint64_t name_hash, uint64_t index, double scale, double centre);

#endif
