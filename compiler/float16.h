/* f16 (IEEE 754 binary16) and bf16 (the upper half of an f32) to f32, exactly, and back, rounded to nearest
 * even.
 *
 * NaN stays NaN: its sign and upper payload bits are kept, the quiet bit is set on narrowing. Integer
 * operations alone, so that flush-to-zero modes and the host's rounding mode change nothing. */
#ifndef FLOAT16_H
#define FLOAT16_H

#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float x)
{
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        return bits;
}

static inline float f32_of_bits(uint32_t bits)
{
        float x;
        memcpy(&x, &bits, sizeof x);
        return x;
}

static inline float bf16_to_f32(uint16_t half)
{
        return f32_of_bits((uint32_t)half << 16);
}

static inline uint16_t f32_to_bf16(float x)
{
        uint32_t bits = f32_bits(x);
        if ((bits & 0x7fffffffu) > 0x7f800000u)
                return (uint16_t)(bits >> 16 | 0x40u);
        return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float f16_to_f32(uint16_t half)
{
        uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
        uint32_t exponent = half >> 10 & 31u;
        uint32_t mantissa = half & 0x3ffu;
        if (exponent == 31)
                return f32_of_bits(sign | 0x7f800000u | mantissa << 13);
        if (exponent)
                return f32_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
        if (!mantissa)
                return f32_of_bits(sign);
        /* Subnormal, mantissa * 2^-24: shift the leading bit up to where f32 has its implicit one. */
        uint32_t shift = 0;
        while (!(mantissa & 0x400u)) {
                mantissa <<= 1;
                shift++;
        }
        return f32_of_bits(sign | (113 - shift) << 23 | (mantissa & 0x3ffu) << 13);
}

static inline uint16_t f32_to_f16(float x)
{
        uint32_t bits = f32_bits(x);
        uint32_t sign = bits >> 16 & 0x8000u;
        uint32_t magnitude = bits & 0x7fffffffu;
        if (magnitude > 0x7f800000u)
                return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
        if (magnitude >= 0x477ff000u) /* 65520, halfway to 2^16, and above */
                return (uint16_t)(sign | 0x7c00u);
        if (magnitude < 0x33000000u) /* below 2^-25, half the least subnormal */
                return (uint16_t)sign;
        uint32_t exponent = magnitude >> 23;
        uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
        uint32_t drop = exponent < 113 ? 126 - exponent : 13; /* bits below the result's last */
        /* A normal number's implicit one is added into the exponent field, hence 113 - 1. */
        uint32_t half = (exponent < 113 ? 0 : (exponent - 113) << 10) + (significand >> drop);
        uint32_t rest = significand & ((1u << drop) - 1);
        uint32_t tie = 1u << (drop - 1);
        if (rest > tie || (rest == tie && (half & 1u)))
                half++;
        return (uint16_t)(sign | half);
}

#endif
