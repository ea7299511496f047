/* Singular values. */
#ifndef SINGULAR_H
#define SINGULAR_H
#include <stdbool.h>
#include <stdint.h>

/* Of a b', a [d][n] and b [d][m]: the min(d, n, m) largest, descending, into value; the others are 0.  Both are overwritten.
 * False: out of memory. */
bool singular_values_of_product(double *a, int64_t n, double *b, int64_t m, int64_t d, double *value);
#endif
