/*
 * Weights of few bits: blocks of codes with scales.
 *
 * A block is 16 outputs by 32, 64, 128 or 256 steps of k.  Its value at output l, step i:
 *
 *      q8_0               d q               per output
 *      q4_0, q5_0         d (q - 8), d (q - 16)
 *      q4_1, q5_1         d q + m
 *      mxfp4              d v[q]            d a power of two, v = 0 1/2 1 3/2 2 3 4 6 and their negatives
 *      nvfp4              d v[q]            d of each 16 steps, v as in mxfp4
 *      iq4_nl             d v[q]            v = -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
 *      q2_k               (d s) q - dmin m  s and m of each 16 steps
 *      q4_k, q5_k         (d s) q - dmin m  s and m of each 32 steps
 *      q3_k, q6_k         (d s) (q - 4), (d s) (q - 32)    s of each 16 steps
 *      iq4_xs             (d s) v[q]        s of each 32 steps, v as in iq4_nl
 *      tq2_0              d (q - 1)
 *      int4_32, int4_64, int4_128    d (q - z), z from 0 to 15 per output
 *      e4m3, e5m2         d q               q a float of 8 bits
 *
 * Layout of a block in memory, for all 16 outputs.  Codes are in lines of four steps, [16][4].  A line of whole bytes has 64 bytes.
 * Four bits: 64 bytes have two lines, the first in the low halves.  Two bits: 64 bytes have four lines, bits 2 j are of line j.
 * One bit: 64 bytes have eight lines, bit j is of line j.
 *
 *      q8_0         d f16 [16]; bytes
 *      q4_0         d f16 [16]; four bits
 *      q4_1         d f16 [16]; m f16 [16]; four bits
 *      q5_0, q5_1   as q4_0 and q4_1, then the fifth bits
 *      mxfp4        d / 2 bf16 [16]; four bits
 *      nvfp4        d in 8 bits [2][16]: four of the exponent, three of the fraction; four bits
 *      iq4_nl       d f16 [16]; four bits
 *      q2_k         d f16 [16]; dmin f16 [16]; s in the low and m in the high halves of [16][16]; two bits
 *      q3_k         d f16 [16]; s of six bits (block_scales()); of each 32 steps the lower two bits, then the third
 *      q4_k         d f16 [16]; dmin f16 [16]; s [8][16]; m [8][16]; four bits
 *      q5_k         the same; of each 32 steps the lower four bits, then the fifth
 *      q6_k         d f16 [16]; s int8 [16][16]; of each 16 steps the lower four bits, then the upper two
 *      iq4_xs       d f16 [16]; s int8 [8][16]; four bits
 *      tq2_0        d f16 [16]; two bits
 *      int4_32, ..  d f16 or bf16 [16]; z [16], with bit 7 set if d are bf16; four bits
 *      e4m3         256 d f32 [16]; floats of 8 bits in lines of one step, [128][16]
 *      e5m2         the same with d
 *
 * So a block is read from its first byte to its last.  Types that products expand to whole bytes are in book_values.h.
 *
 * Needs tile.h, narrow.h, kept.h and book_values.h.
 */

#include <string.h>

/* Twice the values of mxfp4, and 12. */
static const uint8_t mxfp4_values[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

/* The values of iq4_nl and iq4_xs as bytes: -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113. */
static const uint8_t iq4_values[16] = {129, 152, 173, 191, 207, 221, 234, 246, 1, 13, 25, 38, 53, 69, 89, 113};

/* --- types --- */

/* Whether a block has minima: m or dmin is stored after d. */
KERNEL int has_minima(int storage)
{
        return storage == STORAGE_Q4_1 || storage == STORAGE_Q5_1 || storage == STORAGE_Q2_K ||
               storage == STORAGE_Q4_K || storage == STORAGE_Q5_K;
}

/* Whether products read numbers with a sign instead of codes from 0 on. */
KERNEL int has_sign(int storage)
{
        return storage == STORAGE_Q8_0 || storage == STORAGE_IQ4_NL || storage == STORAGE_IQ4_XS;
}

/* Difference of a code and its number; for blocks of 256 it is 0 or a power of two. */
KERNEL int code_offset(int storage)
{
        return storage == STORAGE_Q4_0    ? 8
               : storage == STORAGE_Q5_0  ? 16
               : storage == STORAGE_MXFP4 ? 12
               : storage == STORAGE_NVFP4 ? 12
               : storage == STORAGE_TQ1_0 ? 1
               : storage == STORAGE_TQ2_0 ? 1
               : storage == STORAGE_Q3_K  ? 4
               : storage == STORAGE_Q6_K  ? 32
               : has_book(storage)        ? book_offset(storage)
                                          : 0;
}

/* Number of steps of a block of 256 that share a scale. */
KERNEL int part_steps(int storage)
{
        return storage == STORAGE_Q2_K || storage == STORAGE_Q3_K || storage == STORAGE_Q6_K    ? 16
               : storage == STORAGE_IQ2_XS || storage == STORAGE_IQ2_S || storage == STORAGE_IQ1_M ? 16
                                                                                                   : 32;
}

/* Number of steps whose codes are together: first the lower bits of all, then the upper ones. */
KERNEL int code_steps(int storage)
{
        return storage == STORAGE_Q2_K || storage == STORAGE_Q6_K ? 16 : 32;
}

/* Bits of a code after the lower ones, and bytes of the lower ones. */
KERNEL int upper_bits(int storage)
{
        return storage == STORAGE_Q6_K                              ? 2
               : storage == STORAGE_Q5_0 || storage == STORAGE_Q5_1 ? 1
               : storage == STORAGE_Q3_K || storage == STORAGE_Q5_K ? 1
                                                                    : 0;
}

KERNEL int lower_bytes(int storage)
{
        const int two_bits = storage == STORAGE_Q2_K || storage == STORAGE_Q3_K || storage == STORAGE_TQ2_0;
        return (is_expanded(storage) ? 16 : two_bits ? 4 : 8) * code_steps(storage);
}

/* Bytes of the codes of these steps. */
KERNEL int code_bytes(int storage)
{
        return lower_bytes(storage) + (upper_bits(storage) ? 64 : 0);
}

/* The first codes of a block. */
KERNEL const uint8_t *block_codes(int storage, const uint8_t *p)
{
        const int scales = step_values(storage) == 32     ? 0
                           : storage == STORAGE_Q3_K   ? 192
                           : storage == STORAGE_IQ4_XS ? 128
                           : storage == STORAGE_TQ2_0  ? 0
                                                       : 256;
        return p + (has_minima(storage) ? 64 : 32) + scales;
}

/* --- one element --- */

KERNEL float block_at_f16(const uint8_t *p, int lane)
{
        uint16_t half;
        memcpy(&half, p + 2 * lane, 2);
        return f16_at(&half, 0);
}

/* d of nvfp4 from its bits; it is halved, for twice the values. */
KERNEL float block_at_e4m3(const uint8_t *p, int lane)
{
        const uint16_t half = (uint16_t)(p[lane] << 7);
        return f16_at(&half, 0) * 128.0f;
}

KERNEL float block_at_bf16(const uint8_t *p, int lane)
{
        uint16_t half;
        memcpy(&half, p + 2 * lane, 2);
        return bf16_at(&half, 0);
}

/* The number of a step, from the first step of `codes`, in a lane. */
KERNEL int block_number(int storage, const uint8_t *codes, int step, int lane)
{
        const int line = step / 4, own = 4 * lane + step % 4;
#if HAS_Q8_0
        if (storage == STORAGE_Q8_0)
                return (int8_t)codes[64 * line + own];
#endif
#if HAS_Q2_K || HAS_Q3_K
        if (storage == STORAGE_Q2_K || storage == STORAGE_Q3_K) {
                const int lower = codes[64 * (line / 4) + own] >> 2 * (line % 4) & 3;
                return storage == STORAGE_Q2_K ? lower : (lower | (codes[128 + own] >> line & 1) << 2) - 4;
        }
#endif
#if HAS_TQ2_0
        if (storage == STORAGE_TQ2_0)
                return (codes[64 * (line / 4) + own] >> 2 * (line % 4) & 3) - 1;
#endif
        const int lower = codes[64 * (line / 2) + own] >> 4 * (line % 2) & 15;
#if HAS_MXFP4 || HAS_NVFP4
        if (storage == STORAGE_MXFP4 || storage == STORAGE_NVFP4)
                return mxfp4_values[lower] - 12;
#endif
#if HAS_IQ4_NL || HAS_IQ4_XS
        if (storage == STORAGE_IQ4_NL || storage == STORAGE_IQ4_XS)
                return (int8_t)iq4_values[lower];
#endif
#if HAS_Q5_0 || HAS_Q5_1 || HAS_Q5_K || HAS_Q6_K
        const int n = upper_bits(storage);
        if (n)
                return (lower | (codes[lower_bytes(storage) + own] >> n * line & ((1 << n) - 1)) << 4) -
                       code_offset(storage);
#endif
        return lower - code_offset(storage);
}

/* The scale of a part of a block of 256, and its minimum. */
KERNEL int scale_at(int storage, const uint8_t *p, int part, int lane)
{
#if HAS_Q2_K
        if (storage == STORAGE_Q2_K)
                return p[64 + 16 * part + lane] & 15;
#endif
#if HAS_Q3_K
        if (storage == STORAGE_Q3_K) {
                const int own = part % 4 * 16 + lane, lower = p[32 + 64 * (part / 4 % 2) + own] >> part / 8 * 4 & 15;
                return ((lower | (p[160 + own] >> part / 4 * 2 & 3) << 4) ^ 32) - 32;
        }
#endif
#if HAS_TQ1_0 || HAS_TQ2_0
        if (storage == STORAGE_TQ1_0 || storage == STORAGE_TQ2_0)
                return 1;
#endif
#if HAS_BOOKS
        if (has_book(storage))
                return 2 * book_scale_code(storage, p, part, lane) + 1;
#endif
        return has_minima(storage) ? p[64 + 16 * part + lane] : (int8_t)p[32 + 16 * part + lane];
}

KERNEL int minimum_at(int storage, const uint8_t *p, int part, int lane)
{
#if HAS_Q2_K
        if (storage == STORAGE_Q2_K)
                return p[64 + 16 * part + lane] >> 4;
#endif
        (void)storage;
        return p[192 + 16 * part + lane];
}

/* Whether the scales of a block with zero points are bf16. */
KERNEL int has_bf16_scales(const uint8_t *p)
{
        return p[32] >> 7;
}

/* One element of a block with zero points. */
KERNEL float zeroed_at(const uint8_t *p, int step, int lane)
{
        const float d = has_bf16_scales(p) ? block_at_bf16(p, lane) : block_at_f16(p, lane);
        const int code = p[48 + 64 * (step / 8) + 4 * lane + step % 4] >> (step & 4) & 15;
        return d * (float)(code - (p[32 + lane] & 15));
}

/* One element of a block of floats of 8 bits. */
KERNEL float scaled_at(int storage, const uint8_t *p, int step, int lane)
{
        uint8_t code[16] = {0};
        float d;
        code[0] = p[SCALED_HEAD + 16 * step + lane];
        memcpy(&d, p + 4 * lane, sizeof d);
        return v_first(load_scaled(storage, code, 0, v_set1(d)));
}

/* One element of a block of 256. */
KERNEL float super_at(int storage, const uint8_t *p, int step, int lane)
{
        const int part = step / part_steps(storage), first = step / code_steps(storage);
#if HAS_BOOKS || HAS_TQ1_0
        if (is_expanded(storage))
                return block_at_f16(p, lane) * book_factor(storage) * (float)scale_at(storage, p, part, lane) *
                       (float)expanded_number(storage, p, step, lane);
#endif
        const uint8_t *codes = block_codes(storage, p) + first * code_bytes(storage);
        const float x = block_at_f16(p, lane) * (float)scale_at(storage, p, part, lane) *
                        (float)block_number(storage, codes, step % code_steps(storage), lane);
        return has_minima(storage) ? x - block_at_f16(p + 32, lane) * (float)minimum_at(storage, p, part, lane) : x;
}

/* Element `at` of an array of blocks, counted as in f32: [step][16 outputs]. */
KERNEL float block_at(int storage, const void *array, int64_t at)
{
#if HAS_CODES
        if (is_kept(storage))
                return kept_at(storage, array, at);
#endif
        const int steps = (int)step_values(storage), step = (int)(at / 16 % steps), lane = (int)(at % 16);
        const uint8_t *p = (const uint8_t *)array + at / (16 * steps) * bytes_of_block(storage);
#if HAS_SCALED
        if (is_scaled(storage))
                return scaled_at(storage, p, step, lane);
#endif
#if HAS_INT4_32 || HAS_INT4_64 || HAS_INT4_128
        if (has_zeros(storage))
                return zeroed_at(p, step, lane);
#endif
#if HAS_BLOCKS_OF_256
        if (steps == 256)
                return super_at(storage, p, step, lane);
#endif
        float d = block_at_f16(p, lane);
#if HAS_MXFP4
        if (storage == STORAGE_MXFP4)
                d = block_at_bf16(p, lane);
#endif
#if HAS_NVFP4
        if (storage == STORAGE_NVFP4)
                d = block_at_e4m3(p + step / 16 * 16, lane);
#endif
        const float x = d * (float)block_number(storage, block_codes(storage, p), step, lane);
        return has_minima(storage) ? x + block_at_f16(p + 32, lane) : x;
}

/* Lane i is element at + i * stride for i < n, 0 above. */
KERNEL v16 v_load_blocks(int storage, const void *array, int64_t at, int64_t stride, int n)
{
        float lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = block_at(storage, array, at + i * stride);
        return v_load(lane);
}
