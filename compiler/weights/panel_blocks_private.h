/* Parts of panel_blocks.c, and of panel_books.c, which has the types by code book: what one row of a checkpoint's block puts into a block
 * for kernels, at its lane. */
#ifndef PANEL_BLOCKS_PRIVATE_H
#define PANEL_BLOCKS_PRIVATE_H
#include <stdint.h>

/* Copies n 16-bit factors. */
void put_factors(const uint8_t *from, int n, int64_t lane, uint8_t *to);
/* Stores n bits of code `step` in 64 bytes that have such bits of 8 / n lines. */
void put_bits(uint8_t *lines, int64_t step, int64_t lane, int n, int bits);

void put_iq3_xxs(const uint8_t *from, int64_t lane, uint8_t *to);
void put_iq3_s(const uint8_t *from, int64_t lane, uint8_t *to);
void put_iq2_xxs(const uint8_t *from, int64_t lane, uint8_t *to);
void put_iq2_xs(const uint8_t *from, int64_t lane, uint8_t *to);
void put_iq2_s(const uint8_t *from, int64_t lane, uint8_t *to);
void put_iq1_s(const uint8_t *from, int64_t lane, uint8_t *to);
void put_iq1_m(const uint8_t *from, int64_t lane, uint8_t *to);

#endif
