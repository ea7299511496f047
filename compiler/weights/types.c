/* The types of tensors (types.def), and the conversion of their blocks to floats.
 *
 * In packed types d, m and dmin are f16 factors, and the codes of the first half of 32 values are the lower
 * nibbles of 16 bytes, those of the second half the upper ones.  Every product and sum is rounded to f32
 * separately, in the order of GGUF's own tools, so that the floats have the same bits. */
#include <math.h>
#include <string.h>

#include "book_types_private.h"
#include "scaled_private.h"

enum { SMALL = 32, LARGE = 256 }; /* number of values in a block: maximum, and the two usual ones */

static uint16_t u16_at(const unsigned char *at)
{
        uint16_t half;
        memcpy(&half, at, sizeof half);
        return half;
}

static float read_f16(const unsigned char *at)
{
        return f16_to_f32(u16_at(at));
}

static int low(unsigned char byte)
{
        return byte & 15;
}

static int high(unsigned char byte)
{
        return byte >> 4;
}

/* Code i of 32 in 16 bytes. */
static int code_at(const unsigned char *codes, int i)
{
        return i < 16 ? low(codes[i]) : high(codes[i - 16]);
}

/* ---- floats ---- */

static void widen_f32(const unsigned char *from, int64_t blocks, float *to)
{
        memcpy(to, from, (size_t)blocks * sizeof *to);
}

static void widen_f16(const unsigned char *from, int64_t blocks, float *to)
{
        for (int64_t i = 0; i < blocks; i++)
                to[i] = read_f16(from + 2 * i);
}

static void widen_bf16(const unsigned char *from, int64_t blocks, float *to)
{
        for (int64_t i = 0; i < blocks; i++)
                to[i] = bf16_to_f32(u16_at(from + 2 * i));
}

/* Rounded to nearest even: the only type that is wider than float. */
static void widen_f64(const unsigned char *from, int64_t blocks, float *to)
{
        static const double beyond = 0x1.ffffffp+127; /* halfway from the largest float to its successor */
        for (int64_t i = 0; i < blocks; i++) {
                double x;
                memcpy(&x, from + 8 * i, sizeof x);
                to[i] = fabs(x) >= beyond ? (float)copysign(INFINITY, x) : (float)x;
        }
}

static void widen_i64(const unsigned char *from, int64_t blocks, float *to)
{
        for (int64_t i = 0; i < blocks; i++) {
                int64_t x;
                memcpy(&x, from + 8 * i, sizeof x);
                to[i] = (float)x;
        }
}

static void widen_f8_e5m2(const unsigned char *from, int64_t blocks, float *to)
{
        for (int64_t i = 0; i < blocks; i++)
                to[i] = code_value(VALUE_E5M2, 8, from[i]);
}

static void widen_f8_e4m3(const unsigned char *from, int64_t blocks, float *to)
{
        for (int64_t i = 0; i < blocks; i++)
                to[i] = code_value(VALUE_E4M3, 8, from[i]);
}

/* 2^(e - 127); 255 is NaN */
static void widen_f8_e8m0(const unsigned char *from, int64_t blocks, float *to)
{
        for (int64_t i = 0; i < blocks; i++)
                to[i] = f32_of_bits(from[i] == 255 ? 0x7fc00000u
                                    : from[i]      ? (uint32_t)from[i] << 23
                                                   : 0x00400000u);
}

/* ---- blocks of 32 ---- */

static void widen_q4_0(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 18, to += SMALL)
                for (int i = 0; i < SMALL; i++)
                        to[i] = read_f16(from) * (float)(code_at(from + 2, i) - 8);
}

static void widen_q4_1(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 20, to += SMALL) {
                float d = read_f16(from), m = read_f16(from + 2);
                for (int i = 0; i < SMALL; i++)
                        to[i] = d * (float)code_at(from + 4, i) + m;
        }
}

/* Code i: the nibble, with bit i of four bytes above it. */
static int code_of_5(const unsigned char *bits, const unsigned char *codes, int i)
{
        return code_at(codes, i) | (bits[i / 8] >> i % 8 & 1) << 4;
}

static void widen_q5_0(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 22, to += SMALL)
                for (int i = 0; i < SMALL; i++)
                        to[i] = read_f16(from) * (float)(code_of_5(from + 2, from + 6, i) - 16);
}

static void widen_q5_1(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 24, to += SMALL) {
                float d = read_f16(from), m = read_f16(from + 2);
                for (int i = 0; i < SMALL; i++)
                        to[i] = d * (float)code_of_5(from + 4, from + 8, i) + m;
        }
}

static void widen_q8_0(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 34, to += SMALL)
                for (int i = 0; i < SMALL; i++)
                        to[i] = read_f16(from) * (float)(int8_t)from[2 + i];
}

const int8_t uneven_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static void widen_iq4_nl(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 18, to += SMALL)
                for (int i = 0; i < SMALL; i++)
                        to[i] = read_f16(from) * (float)uneven_values[code_at(from + 2, i)];
}

/* A 4-bit float, times two, times a power of two. */
static void widen_mxfp4(const unsigned char *from, int64_t blocks, float *to)
{
        static const int8_t twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
        for (; blocks--; from += 17, to += SMALL) {
                uint32_t e = from[0];
                float half = f32_of_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23); /* 2^(e - 128) */
                for (int i = 0; i < SMALL; i++)
                        to[i] = half * (float)twice[code_at(from + 1, i)];
        }
}

/* ---- blocks of 256, whose parts have scales of a few bits ---- */

/* Code i of 256 of two bits in 64 bytes: 128 values share 32 bytes. */
static int code_of_2(const unsigned char *codes, int i)
{
        return codes[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

static void widen_q2_k(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 84, to += LARGE) {
                float d = read_f16(from + 80), dmin = read_f16(from + 82);
                for (int i = 0; i < LARGE; i++) {
                        float scale = d * (float)low(from[i / 16]), least = dmin * (float)high(from[i / 16]);
                        to[i] = scale * (float)code_of_2(from + 16, i) - least;
                }
        }
}

/* Scale j of 16: four bits from the first 8 of 12 bytes, two from the others. */
static int scale_of_q3_k(const unsigned char *scales, int j)
{
        int lower = j < 8 ? low(scales[j]) : high(scales[j - 8]);
        return (lower | (scales[8 + j % 4] >> j / 4 * 2 & 3) << 4) - 32;
}

static void widen_q3_k(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 110, to += LARGE) {
                float d = read_f16(from + 108);
                for (int i = 0; i < LARGE; i++) {
                        float scale = d * (float)scale_of_q3_k(from + 96, i / 16);
                        int code = code_of_2(from + 32, i) - (from[i % 32] >> i / 32 & 1 ? 0 : 4);
                        to[i] = scale * (float)code;
                }
        }
}

/* Scale and minimum j of 8, six bits each, in 12 bytes. */
static void scales_of_q4_k(const unsigned char *packed, int j, int *scale, int *least)
{
        if (j < 4) {
                *scale = packed[j] & 63;
                *least = packed[j + 4] & 63;
                return;
        }
        *scale = low(packed[j + 4]) | packed[j - 4] >> 6 << 4;
        *least = high(packed[j + 4]) | packed[j] >> 6 << 4;
}

/* bits: a fifth bit for each code, in 32 bytes; NULL: none */
static void widen_k(const unsigned char *head, const unsigned char *bits, const unsigned char *codes,
                    float *to)
{
        float d = read_f16(head), dmin = read_f16(head + 2);
        for (int j = 0; j < LARGE / 32; j++) {
                int scale, least;
                scales_of_q4_k(head + 4, j, &scale, &least);
                float factor = d * (float)scale, subtracted = dmin * (float)least;
                for (int i = 0; i < 32; i++) {
                        unsigned char pair = codes[j / 2 * 32 + i];
                        int code = j % 2 ? high(pair) : low(pair);
                        code |= bits ? (bits[i] >> j & 1) << 4 : 0;
                        to[32 * j + i] = factor * (float)code - subtracted;
                }
        }
}

static void widen_q4_k(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 144, to += LARGE)
                widen_k(from, NULL, from + 16, to);
}

static void widen_q5_k(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 176, to += LARGE)
                widen_k(from, from + 16, from + 48, to);
}

static void widen_q6_k(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 210, to += LARGE) {
                float d = read_f16(from + 208);
                for (int i = 0; i < LARGE; i++) {
                        unsigned char pair = from[i / 128 * 64 + i % 64];
                        int code = i % 128 < 64 ? low(pair) : high(pair);
                        code |= code_of_2(from + 128, i) << 4;
                        to[i] = d * (float)(int8_t)from[192 + i / 16] * (float)(code - 32);
                }
        }
}

static void widen_iq4_xs(const unsigned char *from, int64_t blocks, float *to)
{
        for (; blocks--; from += 136, to += LARGE) {
                float d = read_f16(from);
                uint16_t upper = u16_at(from + 2);
                const unsigned char *codes = from + 8;
                for (int j = 0; j < LARGE / 32; j++, codes += 16) {
                        int lower = j % 2 ? high(from[4 + j / 2]) : low(from[4 + j / 2]);
                        float scale = d * (float)((lower | (upper >> 2 * j & 3) << 4) - 32);
                        for (int i = 0; i < 32; i++)
                                to[32 * j + i] = scale * (float)uneven_values[code_at(codes, i)];
                }
        }
}

/* ---- codes of four bits with zero points ---- */

/* A scale, f16 or bf16; its zero point, with bit 7 set for bf16; codes of each 32 values in 16 bytes. */
static void widen_int4(const unsigned char *from, int64_t blocks, int values, float *to)
{
        for (; blocks--; from += 3 + values / 2, to += values) {
                const float d = from[2] & 128 ? bf16_to_f32(u16_at(from)) : read_f16(from);
                for (int i = 0; i < values; i++)
                        to[i] = d * (float)(code_at(from + 3 + i / 32 * 16, i % 32) - (from[2] & 15));
        }
}

static void widen_int4_32(const unsigned char *from, int64_t blocks, float *to)
{
        widen_int4(from, blocks, 32, to);
}

static void widen_int4_64(const unsigned char *from, int64_t blocks, float *to)
{
        widen_int4(from, blocks, 64, to);
}

static void widen_int4_128(const unsigned char *from, int64_t blocks, float *to)
{
        widen_int4(from, blocks, 128, to);
}

/* ---- numbers of codes ---- */

static float value_of_e4m3(unsigned code)
{
        const uint32_t sign = (uint32_t)(code & 0x80u) << 24, rest = code & 0x7fu;
        if (rest == 0x7f)
                return f32_of_bits(sign | 0x7fc00000u);
        if (rest < 8) /* subnormal: a multiple of 2^-9 */
                return f32_of_bits(sign | f32_bits((float)rest * 0x1p-9f));
        return f32_of_bits(sign | ((rest >> 3) + 120) << 23 | (rest & 7u) << 20);
}

float code_value(CodeValue value, int bits, unsigned code)
{
        static const float e2m1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
        switch (value) {
        case VALUE_E4M3: return value_of_e4m3(code);
        case VALUE_E5M2: return f16_to_f32((uint16_t)(code << 8));
        case VALUE_E2M1: return code & 8u ? -e2m1[code & 7u] : e2m1[code];
        case VALUE_SIGNED: return (float)(int8_t)code;
        case VALUE_CENTRED: return (float)((int)code - (1 << (bits - 1)));
        case VALUE_NEXT: return (float)((code + 1) & ((1u << bits) - 1));
        case VALUE_TERNARY: return (float)((int)code - 1);
        case VALUE_PLAIN:
        case VALUE_UNUSED: break;
        }
        return (float)code;
}

/* ---- floats of 8 bits with a scale in f32 ---- */

static void widen_scaled_floats(const unsigned char *from, int64_t blocks, CodeValue value, float *to)
{
        enum { SCALED_VALUES = 128 };
        for (; blocks--; from += 4 + SCALED_VALUES, to += SCALED_VALUES) {
                float scale;
                memcpy(&scale, from, sizeof scale);
                for (int i = 0; i < SCALED_VALUES; i++)
                        to[i] = code_value(value, 8, from[4 + i]) * scale;
        }
}

static void widen_e4m3(const unsigned char *from, int64_t blocks, float *to)
{
        widen_scaled_floats(from, blocks, VALUE_E4M3, to);
}

static void widen_e5m2(const unsigned char *from, int64_t blocks, float *to)
{
        widen_scaled_floats(from, blocks, VALUE_E5M2, to);
}

/* ---- the table ---- */

static const struct {
        const char *name;
        bool safetensors;
        int gguf, values, bits;
        void (*widen)(const unsigned char *from, int64_t blocks, float *to);
        const char *why;
} types[] = {
#define CK_TYPE(name, safetensors, gguf, values, bits, widen, quantise, why)                                 \
        [CK_##name] = {#name, safetensors, gguf, values, bits, widen, why},
#include "types.def"
#undef CK_TYPE
};

const char *ck_type_name(CkType type)
{
        return types[type].name;
}

int ck_type_bits(CkType type)
{
        return types[type].bits;
}

int ck_type_values(CkType type)
{
        return types[type].values;
}

void ck_type_widen(CkType type, const void *from, int64_t blocks, float *to)
{
        types[type].widen(from, blocks, to);
}

bool ck_type_readable(CkType type)
{
        return types[type].widen;
}

const char *ck_type_why(CkType type)
{
        return types[type].why;
}

bool ck_type_of_safetensors(const char *name, CkType *type)
{
        for (int i = 0; i < CK_TYPE_COUNT; i++)
                if (types[i].safetensors && !strcmp(name, types[i].name)) {
                        *type = (CkType)i;
                        return true;
                }
        return false;
}

bool ck_type_of_gguf(uint32_t number, CkType *type)
{
        for (int i = 0; i < CK_TYPE_COUNT; i++)
                if (types[i].gguf >= 0 && (uint32_t)types[i].gguf == number) {
                        *type = (CkType)i;
                        return true;
                }
        return false;
}
