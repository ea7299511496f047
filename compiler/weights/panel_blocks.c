/* Interleaves blocks of a checkpoint: those of 16 rows become one block for kernels.  Layouts: types.c and
 * runtime/blocks.h. */
#include <string.h>

#include "weights.h"

/* Four bits of code i of 32: the first 16 are in low halves. */
static int panel_code(const uint8_t *code, int i)
{
        return code[i % 16] >> (i < 16 ? 0 : 4) & 15;
}

/* Stores code `step` of lane `lane` in lines of low and high halves. */
static void put_nibble(uint8_t *lines, int64_t step, int64_t lane, int code)
{
        lines[step / 8 * 64 + 4 * lane + step % 4] |= (uint8_t)(code << (step & 4));
}

static void put_q8_0(const uint8_t *from, int64_t lane, uint8_t *to)
{
        memcpy(to + 2 * lane, from, 2);
        for (int i = 0; i < 32; i++)
                to[32 + i / 4 * 64 + 4 * lane + i % 4] = from[2 + i];
}

static void put_q4_0(const uint8_t *from, int64_t lane, uint8_t *to)
{
        memcpy(to + 2 * lane, from, 2);
        for (int i = 0; i < 32; i++)
                put_nibble(to + 32, i, lane, panel_code(from + 2, i));
}

static void put_q4_1(const uint8_t *from, int64_t lane, uint8_t *to)
{
        memcpy(to + 2 * lane, from, 2);
        memcpy(to + 32 + 2 * lane, from + 2, 2);
        for (int i = 0; i < 32; i++)
                put_nibble(to + 64, i, lane, panel_code(from + 4, i));
}

/* Half of the scale 2^(e - 127) is a bfloat16, possibly subnormal. */
static void put_mxfp4(const uint8_t *from, int64_t lane, uint8_t *to)
{
        const int e = from[0] - 1;
        const uint16_t half = e > 0 ? (uint16_t)(e << 7) : e == 0 ? 0x40 : 0x20;
        memcpy(to + 2 * lane, &half, 2);
        for (int i = 0; i < 32; i++)
                put_nibble(to + 32, i, lane, panel_code(from + 1, i));
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
        memcpy(to + 2 * lane, from, 2);
        memcpy(to + 32 + 2 * lane, from + 2, 2);
        put_scales_k(from + 4, lane, to);
        for (int i = 0; i < 256; i++)
                put_nibble(to + 320, i, lane, nibble_k(from + 16, i));
}

static void put_q5_k(const uint8_t *from, int64_t lane, uint8_t *to)
{
        memcpy(to + 2 * lane, from, 2);
        memcpy(to + 32 + 2 * lane, from + 2, 2);
        put_scales_k(from + 4, lane, to);
        for (int i = 0; i < 256; i++) {
                const int64_t own = 4 * lane + i % 4;
                uint8_t *part = &to[320 + (int64_t)(i / 32) * 320];
                put_nibble(part, i % 32, lane, nibble_k(from + 48, i));
                if (from[16 + i % 32] >> i / 32 & 1)
                        part[256 + i % 32 / 4 * 8 + own / 8] |= (uint8_t)(1 << own % 8);
        }
}

static void put_q6_k(const uint8_t *from, int64_t lane, uint8_t *to)
{
        memcpy(to + 2 * lane, from + 208, 2);
        for (int j = 0; j < 16; j++)
                to[32 + 16 * j + lane] = from[192 + j];
        for (int i = 0; i < 256; i++) {
                const int h = i / 128, g = i % 128 / 32, l = i % 32;
                uint8_t *part = &to[288 + (int64_t)(i / 16) * 192];
                put_nibble(part, i % 16, lane, from[64 * h + 32 * (g % 2) + l] >> (g < 2 ? 0 : 4) & 15);
                const int two = from[128 + 32 * h + l] >> 2 * g & 3;
                part[128 + 4 * lane + i % 4] |= (uint8_t)(two << i % 16 / 4 * 2);
        }
}

void panel_block(Storage s, const uint8_t *const row[16], uint8_t *to)
{
#define PUT(of, NAME, name, ...) [STORAGE_##NAME] = put_##name,
        static void (*const put[WEIGHT_STORAGES])(const uint8_t *from, int64_t lane,
                                                  uint8_t *to) = {BLOCK_STORAGES(PUT, )};
#undef PUT
        memset(to, 0, (size_t)storage_info[s].bytes);
        for (int lane = 0; lane < LANES; lane++)
                if (row[lane])
                        put[s](row[lane], lane, to);
}
