/* Interleaves blocks of a checkpoint: those of 16 rows become one block for kernels.  Layouts: types.c and
 * runtime/block_values.h. */
#include <string.h>

#include "weight_map_private.h"
#include "panel_blocks_private.h"

void put_factors(const uint8_t *from, int n, int64_t lane, uint8_t *to)
{
        for (int64_t i = 0; i < n; i++)
                memcpy(to + 32 * i + 2 * lane, from + 2 * i, 2);
}

/* Stores code `step` of lane `lane` in lines of low and high halves. */
static void put_nibble(uint8_t *lines, int64_t step, int64_t lane, int code)
{
        lines[step / 8 * 64 + 4 * lane + step % 4] |= (uint8_t)(code << (step & 4));
}

void put_bits(uint8_t *lines, int64_t step, int64_t lane, int n, int bits)
{
        lines[4 * lane + step % 4] |= (uint8_t)(bits << n * (step / 4));
}

/* 32 codes of four bits: the first 16 are in low halves.  bits: a fifth one for each, in four bytes; NULL: none */
static void put_32(const uint8_t *code, const uint8_t *bits, int64_t lane, uint8_t *to)
{
        for (int i = 0; i < 32; i++) {
                put_nibble(to, i, lane, code[i % 16] >> (i < 16 ? 0 : 4) & 15);
                if (bits)
                        put_bits(to + 256, i, lane, 1, bits[i / 8] >> i % 8 & 1);
        }
}

static void put_q8_0(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        for (int i = 0; i < 32; i++)
                to[32 + i / 4 * 64 + 4 * lane + i % 4] = from[2 + i];
}

static void put_q4_0(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        put_32(from + 2, NULL, lane, to + 32);
}

static void put_q4_1(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 2, lane, to);
        put_32(from + 4, NULL, lane, to + 64);
}

static void put_q5_0(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        put_32(from + 6, from + 2, lane, to + 32);
}

static void put_q5_1(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 2, lane, to);
        put_32(from + 8, from + 4, lane, to + 64);
}

/* Half of the scale 2^(e - 127) is a bfloat16, possibly subnormal. */
static void put_mxfp4(const uint8_t *from, int64_t lane, uint8_t *to)
{
        const int e = from[0] - 1;
        const uint16_t half = e > 0 ? (uint16_t)(e << 7) : e == 0 ? 0x40 : 0x20;
        memcpy(to + 2 * lane, &half, 2);
        put_32(from + 1, NULL, lane, to + 32);
}

static void put_iq4_nl(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_q4_0(from, lane, to);
}

/* Two bits of code i of 256: 32 bytes contain four groups of 32. */
static int two_bits_k(const uint8_t *code, int i)
{
        return code[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

static void put_q2_k(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from + 80, 2, lane, to);
        for (int j = 0; j < 16; j++)
                to[64 + 16 * j + lane] = from[j];
        for (int i = 0; i < 256; i++)
                put_bits(to + 320 + (int64_t)(i / 16) * 64, i % 16, lane, 2, two_bits_k(from + 16, i));
}

/* 16 scales of six bits, 32 more than the number, become such with a sign: of parts 4 i to 4 i + 3 lower four bits in line i % 2
 * of halves, and upper two. */
static void put_scales_q3_k(const uint8_t *b, int64_t lane, uint8_t *to)
{
        for (int64_t j = 0; j < 16; j++) {
                const int lower = b[j % 8] >> (j < 8 ? 0 : 4) & 15, upper = b[8 + j % 4] >> j / 4 * 2 & 3;
                const int64_t own = j % 4 * 16 + lane;
                to[j / 4 % 2 * 64 + own] |= (uint8_t)(lower << (j < 8 ? 0 : 4));
                to[128 + own] |= (uint8_t)((upper ^ 2) << j / 4 * 2);
        }
}

static void put_q3_k(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from + 108, 1, lane, to);
        put_scales_q3_k(from + 96, lane, to + 32);
        for (int i = 0; i < 256; i++) {
                uint8_t *codes = to + 224 + (int64_t)(i / 32) * 192;
                put_bits(codes + i % 32 / 16 * 64, i % 16, lane, 2, two_bits_k(from + 32, i));
                put_bits(codes + 128, i % 32, lane, 1, from[i % 32] >> i / 32 & 1);
        }
}

/* Code i of 256 in q4_k and q5_k (four bits): 32 bytes contain two groups of 32. */
static int nibble_k(const uint8_t *code, int i)
{
        return code[i / 64 * 32 + i % 32] >> (i % 64 < 32 ? 0 : 4) & 15;
}

/* Scale and minimum of group j from 12 bytes with six bits each. */
static void put_scales_k(const uint8_t *b, int64_t lane, uint8_t *to)
{
        for (int j = 0; j < 8; j++) {
                to[64 + 16 * j + lane] = (uint8_t)(j < 4 ? b[j] & 63 : (b[j + 4] & 15) | b[j - 4] >> 6 << 4);
                to[192 + 16 * j + lane] = (uint8_t)(j < 4 ? b[j + 4] & 63 : b[j + 4] >> 4 | b[j] >> 6 << 4);
        }
}

static void put_q4_k(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 2, lane, to);
        put_scales_k(from + 4, lane, to);
        for (int i = 0; i < 256; i++)
                put_nibble(to + 320, i, lane, nibble_k(from + 16, i));
}

static void put_q5_k(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 2, lane, to);
        put_scales_k(from + 4, lane, to);
        for (int i = 0; i < 256; i++) {
                uint8_t *codes = to + 320 + (int64_t)(i / 32) * 320;
                put_nibble(codes, i % 32, lane, nibble_k(from + 48, i));
                put_bits(codes + 256, i % 32, lane, 1, from[16 + i % 32] >> i / 32 & 1);
        }
}

static void put_q6_k(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from + 208, 1, lane, to);
        for (int j = 0; j < 16; j++)
                to[32 + 16 * j + lane] = from[192 + j];
        for (int i = 0; i < 256; i++) {
                const int h = i / 128, g = i % 128 / 32, l = i % 32;
                uint8_t *codes = to + 288 + (int64_t)(i / 16) * 192;
                put_nibble(codes, i % 16, lane, from[64 * h + 32 * (g % 2) + l] >> (g < 2 ? 0 : 4) & 15);
                put_bits(codes + 128, i % 16, lane, 2, two_bits_k(from + 128, i));
        }
}

/* Scales have six bits, 32 more than the number: four of them in halves of four bytes, two in the 16 bits before. */
static void put_iq4_xs(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        for (int64_t j = 0; j < 8; j++) {
                const int lower = from[4 + j / 2] >> j % 2 * 4 & 15, upper = from[2 + j / 4] >> j % 4 * 2 & 3;
                to[32 + 16 * j + lane] = (uint8_t)((lower | upper << 4) - 32);
                put_32(from + 8 + 16 * j, NULL, lane, to + 160 + 256 * j);
        }
}

/* Two blocks of 32 from one of 64.  The scale 0x7f is 0, and the bit of the sign has no effect. */
static void put_nvfp4(const uint8_t *from, int64_t lane, uint8_t *to)
{
        for (int64_t i = 0; i < 4; i++)
                to[i / 2 * 288 + i % 2 * 16 + lane] = from[i] == 0x7f ? 0 : from[i] & 0x7f;
        for (int64_t i = 0; i < 64; i++)
                put_nibble(to + i / 32 * 288 + 32, i % 32, lane,
                           from[4 + i / 16 * 8 + i % 8] >> (i % 16 < 8 ? 0 : 4) & 15);
}

static void put_tq1_0(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from + 52, 1, lane, to);
        for (int64_t i = 0; i < 52; i++)
                to[32 + i / 4 * 64 + 4 * lane + i % 4] = from[i];
}

static void put_tq2_0(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_factors(from + 64, 1, lane, to);
        for (int i = 0; i < 256; i++)
                put_bits(to + 32 + (int64_t)(i / 16) * 64, i % 16, lane, 2, two_bits_k(from, i));
}

/* A zero point after the scale, then codes of each 32 values. */
static void put_int4(const uint8_t *from, int values, int64_t lane, uint8_t *to)
{
        put_factors(from, 1, lane, to);
        to[32 + lane] = from[2];
        for (int64_t i = 0; i < values / 32; i++)
                put_32(from + 3 + 16 * i, NULL, lane, to + 48 + 256 * i);
}

static void put_int4_32(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_int4(from, 32, lane, to);
}

static void put_int4_64(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_int4(from, 64, lane, to);
}

static void put_int4_128(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_int4(from, 128, lane, to);
}

/* Floats of 8 bits after their scale, which becomes `times` as large. */
static void put_scaled(const uint8_t *from, float times, int64_t lane, uint8_t *to)
{
        float scale;
        memcpy(&scale, from, sizeof scale);
        scale *= times;
        memcpy(to + 4 * lane, &scale, sizeof scale);
        for (int64_t i = 0; i < 128; i++)
                to[64 + 16 * i + lane] = from[4 + i];
}

static void put_e4m3(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_scaled(from, 256, lane, to);
}

static void put_e5m2(const uint8_t *from, int64_t lane, uint8_t *to)
{
        put_scaled(from, 1, lane, to);
}

void panel_block(Storage s, const uint8_t *const row[16], uint8_t *to)
{
#define PUT(of, NAME, name, ...) [STORAGE_##NAME] = put_##name,
        static void (*const put[WEIGHT_STORAGES])(const uint8_t *from, int64_t lane,
                                                  uint8_t *to) = {BLOCK_STORAGES(PUT, )};
#undef PUT
        memset(to, 0, (size_t)(storage_info[s].bytes * ck_type_values(storage_type(s)) / storage_steps(s)));
        for (int lane = 0; lane < LANES; lane++)
                if (row[lane])
                        put[s](row[lane], lane, to);
}
