/*
 * The arguments of contract() (contraction.h): a product of two tensors that are both computed.  The interpreter of Code includes this
 * file, too.
 */

#if !defined(EMITTED)
#include "facts.h"
#endif

/* Rows of a unit, panels of 16 columns and steps of a block. */
#define CONTRACT_ROWS 32
#define CONTRACT_PANELS 4
#define CONTRACT_COLUMNS (16 * CONTRACT_PANELS)
#define CONTRACT_STEPS 128

/* Number of units of work for `rows` rows. */
#define CONTRACT_UNITS(rows) (((rows) + CONTRACT_ROWS - 1) / CONTRACT_ROWS)

/* Floats of scratch that contract() needs; each thread its own.  A tile writes rows that there are not. */
#define CONTRACT_SCRATCH                                                                                     \
        (CONTRACT_COLUMNS * CONTRACT_STEPS + (CONTRACT_ROWS + 12) * (CONTRACT_COLUMNS + CONTRACT_STEPS))

typedef struct {
        float *y;       /* row i at y + i * y_row: [n] */
        const float *a; /* row i, step p at a[i * a_row + p * a_step] */
        const void *b;  /* step p, column j: element b_at + p * b_step + j * b_lane, in `storage` */
        int64_t y_row, a_row, a_step, b_at, b_step, b_lane;
#if HAS_NARROW_STATES
        int storage;
#endif
        int n, k, zeros;
} Contraction;
