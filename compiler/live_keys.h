/* Bounds of the live keys of attention, read off its mask. */
#ifndef LIVE_KEYS_H
#define LIVE_KEYS_H
#include "formula.h"

enum { MAX_ROW_TABLES = 16 };
typedef struct {
        const char *low, *high;            /* expressions over the digits of the row, or NULL */
        const Node *table[MAX_ROW_TABLES]; /* known numbers that they may read, by the row */
        int ntable;
} Bounds;

/* Narrows the bounds by what masks in n, a score formula at m with the digit `keys` as its last axis.  A mask that the bounds say
 * whole is left out of the formula: *bare, n at first, is then what stands under it. */
void live_keys(Formula *f, Node *n, const Map *m, int keys, Bounds *bounds, Node **bare);

void declare_row_tables(Formula *f, const Bounds *bounds, Text *out);

#endif
