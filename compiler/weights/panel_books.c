/* Rows of blocks by code book, as panel_blocks.c interleaves them.  Layouts: book_types.c and runtime/book_values.h. */
#include "panel_blocks_private.h"

/* n bytes of 32 steps, or scales, one for each output after another. */
static void put_bytes(const uint8_t *from, int n, int64_t lane, uint8_t *to)
{
        for (int64_t i = 0; i < n; i++)
                to[16 * i + lane] = from[i];
}

/* Scales of four bits, two in a byte: those of the first half of the parts become the low halves. */
static void put_scales_of_4(const uint8_t *from, int parts, int64_t lane, uint8_t *to)
{
        for (int64_t i = 0; i < parts; i++)
                to[i % (parts / 2) * 16 + lane] |=
                        (uint8_t)((from[i / 2] >> i % 2 * 4 & 15) << i / (parts / 2) * 4);
}

static void put_signs(const uint8_t *from, int64_t lane, uint8_t *to)
{
        for (int i = 0; i < 32; i++)
                put_bits(to, i, lane, 1, from[i / 8] >> i % 8 & 1);
}

/* Signs of 7 of 8 steps, as products of them and those before, and a bit that is left over. */
static void put_short_signs(int of, int signs, int left, int64_t lane, uint8_t *to)
{
        for (int i = 0, product = 0; i < 8; i++) {
                product ^= signs >> i & 1;
                put_bits(to, 8 * of + i, lane, 1, i < 7 ? product : left);
        }
}

static uint32_t signs_word(const uint8_t *at)
{
        return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* 28 bits of signs, and a scale of four. */
static void put_signs_and_scale(const uint8_t *from, int64_t lane, uint8_t *to)
{
        const uint32_t word = signs_word(from);
        for (int i = 0; i < 4; i++)
                put_short_signs(i, (int)(word >> 7 * i & 127), (int)(word >> (28 + i) & 1), lane, to);
}

void put_iq3_xxs(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        for (int64_t i = 0; i < 8; i++) {
                put_bytes(from + 2 + 8 * i, 8, lane, to + 32 + 192 * i);
                put_signs_and_scale(from + 66 + 4 * i, lane, to + 160 + 192 * i);
        }
}

void put_iq3_s(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        put_scales_of_4(from + 106, 8, lane, to + 32);
        for (int64_t i = 0; i < 8; i++) {
                uint8_t *own = to + 96 + 208 * i;
                put_bytes(from + 2 + 8 * i, 8, lane, own);
                put_bytes(from + 66 + i, 1, lane, own + 128);
                put_signs(from + 74 + 4 * i, lane, own + 144);
        }
}

void put_iq2_xxs(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        for (int64_t i = 0; i < 8; i++) {
                put_bytes(from + 2 + 8 * i, 4, lane, to + 32 + 128 * i);
                put_signs_and_scale(from + 6 + 8 * i, lane, to + 96 + 128 * i);
        }
}

void put_iq2_xs(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        put_scales_of_4(from + 66, 16, lane, to + 32);
        for (int i = 0; i < 32; i++) {
                uint8_t *own = to + 160 + (int64_t)(i / 4) * 128;
                own[16 * (i % 4) + lane] = from[2 + 2 * i];
                put_short_signs(i % 4, from[3 + 2 * i] >> 1, from[3 + 2 * i] & 1, lane, own + 64);
        }
}

void put_iq2_s(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        put_scales_of_4(from + 74, 16, lane, to + 32);
        for (int64_t i = 0; i < 8; i++) {
                uint8_t *own = to + 160 + 144 * i;
                put_bytes(from + 2 + 4 * i, 4, lane, own);
                put_bytes(from + 66 + i, 1, lane, own + 64);
                put_signs(from + 34 + 4 * i, lane, own + 80);
        }
}

void put_iq1_s(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        for (int64_t i = 0; i < 8; i++) {
                put_bytes(from + 2 + 4 * i, 4, lane, to + 32 + 96 * i);
                put_bytes(from + 34 + 2 * i, 2, lane, to + 96 + 96 * i);
        }
}

/* Words of scales have four of three bits, and four bits of the factor. */
void put_iq1_m(const uint8_t *from, int64_t lane, uint8_t *to)
{
        uint8_t factor[2] = {(uint8_t)(from[49] >> 4 | (from[51] & 0xf0)),
                             (uint8_t)(from[53] >> 4 | (from[55] & 0xf0))};
        put_factors(factor, 1, lane, to);
        for (int64_t i = 0; i < 16; i++) {
                const int word = from[48 + i / 4 * 2] | from[49 + i / 4 * 2] << 8,
                          scale = word >> i % 4 * 3 & 7;
                to[32 + i % 4 * 16 + lane] |= (uint8_t)((scale & 3) << i / 4 * 2);
                to[96 + i % 2 * 16 + lane] |= (uint8_t)(scale >> 2 << i / 2);
        }
        for (int64_t i = 0; i < 8; i++) {
                put_bytes(from + 4 * i, 4, lane, to + 128 + 96 * i);
                put_bytes(from + 32 + 2 * i, 2, lane, to + 192 + 96 * i);
        }
}
