/*
 * What a causal sum over all positions before keeps between calls: no row of them, but their sum up to where a block of 64 begins, and
 * the rows since then.
 *
 *      of each unit:  the position `at` where the block begins | sum [depth][columns] before it | keys [4][depth][16], values [64][columns]
 *
 * A unit is 128 columns of the values of one head, or fewer.  Sums without keys have neither depth nor keys.  A block is taken into the
 * sum when the first row after it comes: so positions can be taken back to where the last row's block begins.  With `older` blocks
 * beside it, block b at b % (1 + older), they can be taken back to where the oldest one begins.
 */
#include <stdint.h>
#include <string.h>

#define SCAN_BLOCK 64

#define SCAN_COLUMNS 128

/* Floats in front of the sum: room for `at`. */
#define SCAN_FRONT 16

/* Columns of a unit in whole vectors; units of a head. */
#define SCAN_WIDTH(width) (((width) < SCAN_COLUMNS ? (width) + 15 : SCAN_COLUMNS) / 16 * 16)

#define SCAN_UNITS(width) (((width) + SCAN_COLUMNS - 1) / SCAN_COLUMNS)

/* Floats of a unit; depth 0: without keys. */
#define SCAN_FLOATS(depth, width)                                                                            \
        (SCAN_FRONT + ((depth) > 0 ? (depth) : 1) * SCAN_WIDTH(width) + SCAN_BLOCK * ((depth) + SCAN_WIDTH(width)))

/* Blocks beside the last one, for `rewind` positions that can always be taken back. */
#define SCAN_OLDER(rewind) (((rewind) + SCAN_BLOCK - 2) / SCAN_BLOCK)

/* Where a block begins, after a call. */
static inline int64_t scan_begins(const float *block)
{
        int64_t at;
        memcpy(&at, block, sizeof at);
        return at;
}

/* Whether a state that begins with this unit, of 1 + older blocks, can go back to the first n positions. */
static inline int scan_reaches(const float *unit, int older, int floats, int64_t n)
{
        int held = n == 0;
        for (int i = 0; i <= older; i++) {
                const int64_t at = scan_begins(unit + (int64_t)i * floats);
                held |= at >= 0 && at <= n && n <= at + SCAN_BLOCK;
        }
        return held;
}

/* Rows of one head, all columns. */
typedef struct {
        const float *q, *k; /* row i at q + i * q_row, k + i * k_row: [depth]; or NULL */
        const float *v;     /* row i at v + i * v_row: [width] */
        float *out;         /* the same */
        int64_t q_row, k_row, v_row, out_row;
        const float *powers; /* c^0 to c^64, or NULL */
        int depth, width;
        int maxima; /* in place of sums; without q, k and powers */
        int older;  /* blocks beside the last one */
} Scan;

/* Floats of scratch that scan() needs; each thread its own. */
#define SCAN_SCRATCH(depth, width)                                                                           \
        (12 * ((depth) + SCAN_BLOCK + SCAN_WIDTH(width)) + 80 + SCAN_BLOCK * (depth))
