/*
 * Weights by code book, and ternary ones: blocks of 16 outputs by 256 steps (block_values.h) whose codes products do not read as lines.
 *
 * By code book, a number of the book (book_tables.h) has the codes of the next 8 steps (iq1, iq2), or 4 (iq3).  A level v belongs to each
 * code; a further bit chooses another level: -v for iq2 and iq3; for iq1 levels are 8 q + 1 or 8 q - 1.  Value at a step, s odd:
 *
 *      iq3_xxs            (d/4 s) v         v = 4 12 20 28 36 44 52 62       s from 1 to 31 of each 32 steps
 *      iq3_s              (d s) v           v = 1 3 5 7 9 11 13 15           s from 1 to 31 of each 32 steps
 *      iq2_xxs            (d/8 s) v         v = 8 25 43                      s from 1 to 31 of each 32 steps
 *      iq2_xs, iq2_s      (d/8 s) v         v = 8 25 43                      s from 1 to 31 of each 16 steps
 *      iq1_s, iq1_m       (d/8 s) v         v = -7 1 9, or -9 -1 7           s from 1 to 15 of each 32, or 16, steps
 *      tq1_0              d q               q = -1 0 1
 *
 * Layout.  Indices of the book have a lower byte, and further bits; b [n][16] is n bytes for each output.
 *
 *      iq3_xxs      d f16 [16]; of each 32 steps: lower bytes [8][16], signs
 *      iq3_s        d f16 [16]; scales [4][16]; of each 32 steps: lower bytes [8][16], a ninth bit of each in [1][16], signs
 *      iq2_xxs      d f16 [16]; of each 32 steps: lower bytes [4][16], signs
 *      iq2_xs       d f16 [16]; scales [8][16]; of each 32 steps: lower bytes [4][16], signs
 *      iq2_s        d f16 [16]; scales [8][16]; of each 32 steps: lower bytes [4][16], two bits of each in [1][16], signs
 *      iq1_s        d f16 [16]; of each 32 steps: lower bytes [4][16], 16 bits in [2][16]: three of each index, three of the scale, the choice of levels
 *      iq1_m        d f16 [16]; scales [6][16]; of each 32 steps: lower bytes [4][16], 16 bits in [2][16]: three of an index and its choice of levels
 *      tq1_0        d f16 [16]; of each output 52 bytes in 13 lines [16][4], each byte five or four numbers: see trit_line()
 *
 * Scales have (s - 1) / 2 in four bits: part i of n is in the low half of byte i, or in the high half of byte i - n / 2.  Those of iq1_m
 * have three: two bits of part i in byte i % 4, from bit i / 4 * 2 on, and the third in byte 4 + i % 2, bit i / 2.
 *
 * Signs: [16][4], bit j of byte i for step 4 j + i, 1 if the number is negative.  iq3_xxs, iq2_xxs and iq2_xs have signs of 7 of 8 steps,
 * and the product of all 8 is positive.  Bit i of these is 1 if the product of numbers 0 to i is negative, for i < 7; the four that
 * are left over are those of the scale, or for iq2_xs ninth bits of indices.
 *
 * Needs tile.h, narrow.h and book_tables.h.
 */

#include <string.h>

/* --- types --- */

KERNEL int has_book(int storage)
{
        return storage == STORAGE_IQ3_XXS || storage == STORAGE_IQ3_S || storage == STORAGE_IQ2_XXS ||
               storage == STORAGE_IQ2_XS || storage == STORAGE_IQ2_S || storage == STORAGE_IQ1_S ||
               storage == STORAGE_IQ1_M;
}

/* Whether products read lines of whole bytes to which a block is expanded (books.h). */
KERNEL int is_expanded(int storage)
{
        return storage == STORAGE_TQ1_0 || has_book(storage);
}

/* The factor of d. */
KERNEL float book_factor(int storage)
{
        return storage == STORAGE_IQ3_XXS                                                                ? 0.25f
               : storage == STORAGE_IQ2_XXS || storage == STORAGE_IQ2_XS || storage == STORAGE_IQ2_S     ? 0.125f
               : storage == STORAGE_IQ1_S || storage == STORAGE_IQ1_M                                    ? 0.125f
                                                                                                         : 1.0f;
}

/* Bits of a code. */
KERNEL int book_bits(int storage)
{
        return storage == STORAGE_IQ3_XXS || storage == STORAGE_IQ3_S ? 3 : 2;
}

/* Steps of a number of the book. */
KERNEL int book_steps(int storage)
{
        return book_bits(storage) == 3 ? 4 : 8;
}

/* Whether signs are those of 7 of 8 steps. */
KERNEL int has_short_signs(int storage)
{
        return storage == STORAGE_IQ3_XXS || storage == STORAGE_IQ2_XXS || storage == STORAGE_IQ2_XS;
}

/* Bytes before the first 32 steps, and of each 32. */
KERNEL int book_head(int storage)
{
        return storage == STORAGE_IQ3_S                                ? 96
               : storage == STORAGE_IQ2_XS || storage == STORAGE_IQ2_S ? 160
               : storage == STORAGE_IQ1_M                              ? 128
                                                                       : 32;
}

KERNEL int book_bytes(int storage)
{
        return storage == STORAGE_IQ3_XXS                               ? 192
               : storage == STORAGE_IQ3_S                               ? 208
               : storage == STORAGE_IQ2_XXS || storage == STORAGE_IQ2_XS ? 128
               : storage == STORAGE_IQ2_S                               ? 144
                                                                        : 96;
}

/* What the bytes of a line exceed the values by, so that they are not negative: a power of two. */
KERNEL int book_offset(int storage)
{
        return storage == STORAGE_IQ3_S || storage == STORAGE_IQ1_S || storage == STORAGE_IQ1_M ? 16 : 64;
}

/* The values of codes, plus book_offset(): from the 4th, or 8th, on those that the further bit chooses. */
KERNEL const uint8_t *book_levels(int storage UNUSED)
{
#if HAS_IQ3_XXS
        static const uint8_t iq3_xxs[16] = {68, 76, 84, 92, 100, 108, 116, 126, 60, 52, 44, 36, 28, 20, 12, 2};
        if (storage == STORAGE_IQ3_XXS)
                return iq3_xxs;
#endif
#if HAS_IQ3_S
        static const uint8_t iq3_s[16] = {17, 19, 21, 23, 25, 27, 29, 31, 15, 13, 11, 9, 7, 5, 3, 1};
        if (storage == STORAGE_IQ3_S)
                return iq3_s;
#endif
#if HAS_IQ1_S || HAS_IQ1_M
        static const uint8_t iq1[16] = {9, 17, 25, 0, 7, 15, 23};
        if (storage == STORAGE_IQ1_S || storage == STORAGE_IQ1_M)
                return iq1;
#endif
        static const uint8_t iq2[16] = {72, 89, 107, 0, 56, 39, 21};
        return iq2;
}

KERNEL const uint16_t *book_of(int storage)
{
        switch (storage) {
#if HAS_IQ3_XXS
        case STORAGE_IQ3_XXS: return iq3_xxs_book;
#endif
#if HAS_IQ3_S
        case STORAGE_IQ3_S: return iq3_s_book;
#endif
#if HAS_IQ2_XXS
        case STORAGE_IQ2_XXS: return iq2_xxs_book;
#endif
#if HAS_IQ2_XS
        case STORAGE_IQ2_XS: return iq2_xs_book;
#endif
#if HAS_IQ2_S
        case STORAGE_IQ2_S: return iq2_s_book;
#endif
#if HAS_IQ1_S
        case STORAGE_IQ1_S: return iq1_book;
#endif
#if HAS_IQ1_M
        case STORAGE_IQ1_M: return iq1_book;
#endif
        default: return NULL;
        }
}

/* --- one element; p: the bytes of its 32 steps, lane: the output --- */

/* The 16 bits of iq1. */
KERNEL int book_word(const uint8_t *p, int lane)
{
        return p[64 + lane] | p[80 + lane] << 8;
}

/* Bits of an index from the ninth on. */
KERNEL int book_upper(int storage, const uint8_t *p, int i, int lane)
{
        switch (storage) {
        case STORAGE_IQ3_S: return p[128 + lane] >> i & 1;
        case STORAGE_IQ2_XS: return p[64 + 4 * lane + 3] >> (2 * i + 1) & 1;
        case STORAGE_IQ2_S: return p[64 + lane] >> 2 * i & 3;
        case STORAGE_IQ1_S: return book_word(p, lane) >> 3 * i & 7;
        case STORAGE_IQ1_M: return book_word(p, lane) >> 4 * i & 7;
        default: return 0;
        }
}

/* Bit of the signs for a step. */
KERNEL int book_sign_bit(const uint8_t *signs, int step, int lane)
{
        return signs[4 * lane + step % 4] >> step / 4 & 1;
}

/* Whether the other levels are chosen. */
KERNEL int book_other(int storage, const uint8_t *p, int step, int lane)
{
        const uint8_t *signs = p + book_bytes(storage) - 64;
        if (storage == STORAGE_IQ1_S)
                return book_word(p, lane) >> 15;
        if (storage == STORAGE_IQ1_M)
                return book_word(p, lane) >> (step / 8 * 4 + 3) & 1;
        if (!has_short_signs(storage))
                return book_sign_bit(signs, step, lane);
        const int to_here = step % 8 == 7 ? 0 : book_sign_bit(signs, step, lane);
        return step % 8 == 0 ? to_here : to_here ^ book_sign_bit(signs, step - 1, lane);
}

KERNEL int book_number(int storage, const uint8_t *p, int step, int lane)
{
        const int i = step / book_steps(storage), bits = book_bits(storage);
        const int index = p[16 * i + lane] | book_upper(storage, p, i, lane) << 8;
        const int code = book_of(storage)[index] >> bits * (step % book_steps(storage)) & ((1 << bits) - 1);
        return book_levels(storage)[code | book_other(storage, p, step, lane) << bits] - book_offset(storage);
}

/* (s - 1) / 2 of part i of a block. */
KERNEL int book_scale_code(int storage, const uint8_t *block, int i, int lane)
{
        const uint8_t *p = block + book_head(storage) + i * book_bytes(storage), *scales = block + 32;
        const int half = storage == STORAGE_IQ3_S ? 4 : 8;
        switch (storage) {
        case STORAGE_IQ1_S: return book_word(p, lane) >> 12 & 7;
        case STORAGE_IQ1_M:
                return (scales[i % 4 * 16 + lane] >> i / 4 * 2 & 3) | (scales[64 + i % 2 * 16 + lane] >> i / 2 & 1) << 2;
        case STORAGE_IQ3_XXS:
        case STORAGE_IQ2_XXS: {
                const int left = p[book_bytes(storage) - 64 + 4 * lane + 3];
                return (left >> 1 & 1) | (left >> 3 & 1) << 1 | (left >> 5 & 1) << 2 | left >> 7 << 3;
        }
        default: return scales[i % half * 16 + lane] >> i / half * 4 & 15;
        }
}

/* The number of a step of a block that products expand. */
KERNEL int expanded_number(int storage, const uint8_t *p, int step, int lane)
{
#if HAS_TQ1_0
        if (storage == STORAGE_TQ1_0) {
                static const uint8_t power[5] = {1, 3, 9, 27, 81};
                const int in = step < 160 ? step % 32 : step < 240 ? 32 + step % 16 : 48 + step % 4;
                const int which = step < 160 ? step / 32 : step < 240 ? (step - 160) / 16 : (step - 240) / 4;
                const uint8_t fraction = (uint8_t)(p[32 + in / 4 * 64 + 4 * lane + in % 4] * power[which]);
                return (fraction * 3 >> 8) - 1;
        }
#endif
#if HAS_BOOKS
        return book_number(storage, p + book_head(storage) + step / 32 * book_bytes(storage), step % 32, lane);
#else
        return 0;
#endif
}
