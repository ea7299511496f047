/* Blocks of GGUF's ternary types, of NVFP4 and of the types by code book, as floats.
 *
 * All products here are exact in f32, so that their order does not matter.  A number of a code book has the codes of 8 floats
 * (IQ1, IQ2), of two bits, or of 4 (IQ3), of three. */
#include <string.h>

#include "base/base.h"
#include "book_types_private.h"
#include "../../runtime/facts.h"
#include "../../runtime/book_tables.h"

enum { LARGE = 256 };

static float f16_of(const unsigned char *at)
{
        uint16_t half;
        memcpy(&half, at, sizeof half);
        return f16_to_f32(half);
}

static unsigned u16_of(const unsigned char *at)
{
        return at[0] | (unsigned)at[1] << 8;
}

static uint32_t u32_of(const unsigned char *at)
{
        return u16_of(at) | (uint32_t)u16_of(at + 2) << 16;
}

/* Four bits: even i in the low half of a byte. */
static unsigned nibble_of(const unsigned char *at, int i)
{
        return at[i / 2] >> i % 2 * 4 & 15;
}

/* ---- without a code book ---- */

/* A scale without a sign, four bits of exponent and three of fraction: halved, since the numbers are doubled. */
static float nvfp4_scale(unsigned char bits)
{
        unsigned exponent = bits >> 3 & 15, fraction = bits & 7;
        if (bits == 0x7f)
                return 0;
        return exponent ? (float)(8 + fraction) * f32_of_bits((exponent + 127 - 11) << 23)
                        : (float)fraction * 0x1p-10F;
}

void widen_nvfp4(const unsigned char *from, int64_t blocks, float *to)
{
        static const int8_t twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
        for (; blocks--; from += 36, to += 64)
                for (int i = 0; i < 64; i++) {
                        unsigned pair = from[4 + i / 16 * 8 + i % 8];
                        to[i] = nvfp4_scale(from[i / 16]) * (float)twice[i % 16 < 8 ? pair & 15 : pair >> 4];
                }
}

/* A byte is a fraction with five, or four, digits of base 3. */
static int trit_of(unsigned char fraction, int digit)
{
        static const unsigned char power[] = {1, 3, 9, 27, 81};
        unsigned char rest = (unsigned char)(fraction * power[digit]);
        return (rest * 3 >> 8) - 1;
}

void widen_tq1_0(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 54, to += LARGE) {
                float d = f16_of(from + 52);
                for (int i = 0; i < 160; i++)
                        to[i] = d * (float)trit_of(from[i % 32], i / 32);
                for (int i = 0; i < 80; i++)
                        to[160 + i] = d * (float)trit_of(from[32 + i % 16], i / 16);
                for (int i = 0; i < 16; i++)
                        to[240 + i] = d * (float)trit_of(from[48 + i % 4], i / 4);
        }
}

void widen_tq2_0(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 66, to += LARGE) {
                float d = f16_of(from + 64);
                for (int i = 0; i < LARGE; i++)
                        to[i] = d * (float)((from[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1);
        }
}

/* ---- by code book ---- */

static const float levels_of_iq3_xxs[] = {4, 12, 20, 28, 36, 44, 52, 62},
                   levels_of_iq3_s[] = {1, 3, 5, 7, 9, 11, 13, 15}, levels_of_iq2[] = {8, 25, 43},
                   levels_of_iq1[] = {-1, 0, 1};

/* Eight signs of which the last makes their product positive. */
static unsigned whole_signs(unsigned seven)
{
        unsigned odd = seven ^ seven >> 4;
        odd ^= odd >> 2;
        odd ^= odd >> 1;
        return seven | (odd & 1) << 7;
}

/* n floats of n codes.  signs: bit i is 1 if float i is negative */
static void widen_codes(unsigned codes, int bits, int n, const float *levels, unsigned signs, float scale,
                        float *to)
{
        for (int i = 0; i < n; i++) {
                float level = levels[codes >> bits * i & ((1U << bits) - 1)];
                to[i] = scale * (signs >> i & 1 ? -level : level);
        }
}

static void widen_pairs_of_iq3(const uint16_t *book, const float *levels, unsigned first, unsigned second,
                               unsigned signs, float scale, float *to)
{
        widen_codes(book[first], 3, 4, levels, signs, scale, to);
        widen_codes(book[second], 3, 4, levels, signs >> 4, scale, to + 4);
}

void widen_iq3_xxs(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 98, to += LARGE)
                for (int i = 0; i < 32; i++) {
                        uint32_t word = u32_of(from + 66 + i / 4 * 4);
                        float scale = f16_of(from) * (0.5F + (float)(word >> 28)) * 0.5F;
                        widen_pairs_of_iq3(iq3_xxs_book, levels_of_iq3_xxs, from[2 + 2 * i], from[3 + 2 * i],
                                           whole_signs(word >> i % 4 * 7 & 127), scale, to + 8 * i);
                }
}

void widen_iq3_s(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 110, to += LARGE)
                for (int i = 0; i < 32; i++) {
                        float scale = f16_of(from) * (float)(1 + 2 * nibble_of(from + 106, i / 4));
                        unsigned upper = from[66 + i / 4] >> i % 4 * 2;
                        widen_pairs_of_iq3(iq3_s_book, levels_of_iq3_s, from[2 + 2 * i] | (upper & 1) << 8,
                                           from[3 + 2 * i] | (upper >> 1 & 1) << 8, from[74 + i], scale,
                                           to + 8 * i);
                }
}

void widen_iq2_xxs(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 66, to += LARGE)
                for (int i = 0; i < 32; i++) {
                        const unsigned char *own = from + 2 + i / 4 * 8;
                        uint32_t word = u32_of(own + 4);
                        float scale = f16_of(from) * (0.5F + (float)(word >> 28)) * 0.25F;
                        widen_codes(iq2_xxs_book[own[i % 4]], 2, 8, levels_of_iq2,
                                    whole_signs(word >> i % 4 * 7 & 127), scale, to + 8 * i);
                }
}

void widen_iq2_xs(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 74, to += LARGE)
                for (int i = 0; i < 32; i++) {
                        unsigned word = u16_of(from + 2 + 2 * i);
                        float scale = f16_of(from) * (0.5F + (float)nibble_of(from + 66, i / 2)) * 0.25F;
                        widen_codes(iq2_xs_book[word & 511], 2, 8, levels_of_iq2, whole_signs(word >> 9),
                                    scale, to + 8 * i);
                }
}

void widen_iq2_s(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 82, to += LARGE)
                for (int i = 0; i < 32; i++) {
                        unsigned index = from[2 + i] | (from[66 + i / 4] >> i % 4 * 2 & 3U) << 8;
                        float scale = f16_of(from) * (0.5F + (float)nibble_of(from + 74, i / 2)) * 0.25F;
                        widen_codes(iq2_s_book[index], 2, 8, levels_of_iq2, from[34 + i], scale, to + 8 * i);
                }
}

/* Eight floats of iq1, which are moved by an eighth. */
static void widen_iq1(unsigned index, bool down, float scale, float *to)
{
        widen_codes(iq1_book[index], 2, 8, levels_of_iq1, 0, 1, to);
        for (int i = 0; i < 8; i++)
                to[i] = scale * (to[i] + (down ? -0.125F : 0.125F));
}

void widen_iq1_s(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 50, to += LARGE)
                for (int i = 0; i < 32; i++) {
                        unsigned word = u16_of(from + 34 + i / 4 * 2);
                        float scale = f16_of(from) * (float)(2 * (word >> 12 & 7) + 1);
                        widen_iq1(from[2 + i] | (word >> i % 4 * 3 & 7) << 8, word >> 15, scale, to + 8 * i);
                }
}

/* The factor is spread over the highest four bits of four words of scales. */
void widen_iq1_m(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 56, to += LARGE) {
                uint16_t half = 0;
                for (int i = 0; i < 4; i++)
                        half |= (uint16_t)(u16_of(from + 48 + 2 * i) >> 12 << 4 * i);
                for (int i = 0; i < 32; i++) {
                        unsigned bits = nibble_of(from + 32, i), part = (unsigned)i / 2;
                        unsigned code = u16_of(from + 48 + part / 4 * 2) >> part % 4 * 3 & 7;
                        widen_iq1(from[i] | (bits & 7) << 8, bits >> 3,
                                  f16_to_f32(half) * (float)(2 * code + 1), to + 8 * i);
                }
        }
}
