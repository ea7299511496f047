/*
 * v16 on plain C: sixteen floats in an array.  The meaning of every operation; the other v16 headers give the
 * same bits (any NaN counts as equal to any other).
 *
 * Needs nothing from libm.  Where the machine has no fused multiply-add, v_fma rounds correctly in software.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE__) && !defined(__TINYC__)
#include <xmmintrin.h>
#elif defined(__aarch64__) && !defined(__TINYC__)
#include <arm_neon.h>
#endif

typedef struct {
        float lane[16];
} v16;

/* a = a op b, lane by lane.  With the compiler's vector types it is one statement: loops compile more slowly and to worse code. */
#if defined(__GNUC__) && !defined(__TINYC__)
typedef float v_lanes __attribute__((vector_size(64)));
#define V_EACH(a, op, b)                                                                                     \
        do {                                                                                                 \
                v_lanes left_lanes, right_lanes;                                                             \
                memcpy(&left_lanes, &(a), sizeof(v16));                                                      \
                memcpy(&right_lanes, &(b), sizeof(v16));                                                     \
                left_lanes = left_lanes op right_lanes;                                                      \
                memcpy(&(a), &left_lanes, sizeof(v16));                                                      \
        } while (0)
#else
#define V_EACH(a, op, b)                                                                                     \
        for (int i = 0; i < 16; i++)                                                                         \
        (a).lane[i] = (a).lane[i] op(b).lane[i]
#endif

KERNEL uint32_t float_bits(float x)
{
        union {
                float value;
                uint32_t bits;
        } u;
        u.value = x;
        return u.bits;
}

KERNEL float float_from_bits(uint32_t bits)
{
        union {
                uint32_t bits;
                float value;
        } u;
        u.bits = bits;
        return u.value;
}

/* a * b + c, rounded once.  In software: the product of two floats is exact in double; the sum is rounded to
 * odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008), so that the rounding to
 * float that follows cannot round twice.  Most sums are far from a tie between two normal floats and need no
 * correction.
 *
 * V_LONG: attribute of a long function of vectors.  With multiply-adds in software a call is cheap, and inlined copies would take most of the
 * C compiler's time. */
#if (defined(__FMA__) || defined(__aarch64__) || ((defined(__arm__) || defined(__riscv)) && defined(__FP_FAST_FMAF))) && !defined(__TINYC__)
#define V_LONG KERNEL
KERNEL float float_fma(float a, float b, float c)
{
        return __builtin_fmaf(a, b, c);
}
#else
#define V_LONG SHARED
KERNEL float float_fma(float a, float b, float c)
{
        union {
                double value;
                uint64_t bits;
        } sum;
        double product = (double)a * (double)b;
        sum.value = product + (double)c;
        int exponent = (int)(sum.bits >> 52 & 0x7ff);
        int tie = (sum.bits & 0x1fffffff) == 0x10000000;
        int normal = exponent > 1023 - 126;
        if ((normal && !tie) || exponent == 0x7ff)
                return (float)sum.value;
        double from_c = sum.value - product;
        double error = (product - (sum.value - from_c)) + ((double)c - from_c);
        if (error != 0 && !(sum.bits & 1)) {
                int outward = (error > 0) == (sum.value > 0);
                sum.bits = outward ? sum.bits + 1 : sum.bits - 1;
        }
        return (float)sum.value;
}
#endif

/* The square root, correctly rounded.  In software: Heron's iteration in double, then the candidate is
 * compared with the midpoints next to it, whose squares are exact in double. */
#if defined(__SSE__) && !defined(__TINYC__)
KERNEL float float_sqrt(float x)
{
        return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
}
#elif defined(__aarch64__) && !defined(__TINYC__)
KERNEL float float_sqrt(float x)
{
        return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0);
}
#else
KERNEL float float_sqrt(float x)
{
        if (!(x > 0) || x > 0x1.fffffep127f)
                return x < 0 ? (x - x) / (x - x) : x + x; /* NaN; or +-0, inf, NaN as they came */
        double square = x;
        union {
                double value;
                uint64_t bits;
        } root;
        root.value = square;
        root.bits = (root.bits >> 1) + ((uint64_t)1023 << 51); /* halve the exponent: right within 7 % */
        for (int i = 0; i < 4; i++)
                root.value = 0.5 * (root.value + square / root.value);
        union {
                float value;
                uint32_t bits;
        } nearest, above, below;
        nearest.value = (float)root.value;
        above.bits = nearest.bits + 1;
        below.bits = nearest.bits - 1;
        double upper = 0.5 * ((double)nearest.value + (double)above.value);
        double lower = 0.5 * ((double)nearest.value + (double)below.value);
        if (upper * upper < square)
                return above.value;
        return lower * lower > square ? below.value : nearest.value;
}
#endif

/* To the nearest integer, ties to even, the sign kept.  Adding 2^23 leaves no room for a fraction. */
KERNEL float float_rint(float x)
{
        uint32_t sign = float_bits(x) & 0x80000000u;
        float magnitude = float_from_bits(float_bits(x) ^ sign);
        if (!(magnitude < 0x1p23f))
                return x; /* whole already, or inf, or NaN */
        return float_from_bits(float_bits(magnitude + 0x1p23f - 0x1p23f) | sign);
}

/* An IEEE half precision number as a float; exact. */
KERNEL float float_from_f16(uint16_t half)
{
        uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
        uint32_t magnitude = half & 0x7fffu;
        if (magnitude >= 0x7c00u) /* inf, NaN */
                return float_from_bits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
        if (magnitude >= 0x0400u)
                return float_from_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
        return float_from_bits(sign | float_bits((float)magnitude * 0x1p-24f));
}

/* A float as an IEEE half precision number: rounded to nearest even, inf from 65520 on; any NaN is 0x7e00. */
KERNEL uint16_t float_to_f16(float x)
{
        uint32_t bits = float_bits(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
        if (magnitude > 0x7f800000u)
                return 0x7e00u;
        if (magnitude >= 0x47800000u) /* 2^16 */
                return (uint16_t)(sign | 0x7c00u);
        if (magnitude < 0x38800000u) /* 2^-14: a denormal half ends where 0.5 does, and is added to it */
                return (uint16_t)(sign | (float_bits(float_from_bits(magnitude) + 0.5f) - 0x3f000000u));
        uint32_t odd = magnitude >> 13 & 1u;
        return (uint16_t)(sign | (magnitude - ((127u - 15u) << 23) + 0xfffu + odd) >> 13);
}

KERNEL v16 v_load(const float *p)
{
        v16 x = {{0}};
        memcpy(&x, p, sizeof x);
        return x;
}

KERNEL void v_store(float *p, v16 x)
{
        memcpy(p, &x, sizeof x);
}

/* The first n floats (0 <= n <= 16), then +0; reads no more than n. */
KERNEL v16 v_load_n(const float *p, int n)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = i < n ? p[i] : 0.0f;
        return x;
}

/* The first n lanes (0 <= n <= 16); writes no more than n. */
KERNEL void v_store_n(float *p, v16 x, int n)
{
        for (int i = 0; i < n; i++)
                p[i] = x.lane[i];
}

/* Lane i is p[i * stride] for i < n, else +0. */
KERNEL v16 v_load_strided(const float *p, ptrdiff_t stride, int n)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = i < n ? p[i * stride] : 0.0f;
        return x;
}

/* Four times four neighbours: lane 4 i + j is p[i * step + j]. */
KERNEL v16 v_load_quarters(const float *p, ptrdiff_t step)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = p[i / 4 * step + i % 4];
        return x;
}

/* Of four vectors each quarter is four rows of four: lane 4 i + j of x[k] and lane 4 i + k of x[j] change places. */
KERNEL void v_turn_quarters(v16 x[4])
{
        for (int i = 0; i < 16; i++)
                for (int k = 0; k < i % 4; k++) {
                        float lane = x[k].lane[i];
                        x[k].lane[i] = x[i % 4].lane[i / 4 * 4 + k];
                        x[i % 4].lane[i / 4 * 4 + k] = lane;
                }
}

/* p[i * stride] becomes lane i for i < n. */
KERNEL void v_store_strided(float *p, ptrdiff_t stride, v16 x, int n)
{
        for (int i = 0; i < n; i++)
                p[i * stride] = x.lane[i];
}

/* Integers as floats: exact up to 2^24, rounded to nearest beyond. */
KERNEL v16 v_load_i32(const int32_t *p)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = (float)p[i];
        return x;
}

KERNEL v16 v_load_i32_n(const int32_t *p, int n)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = i < n ? (float)p[i] : 0.0f;
        return x;
}

/* Half precision numbers, widened exactly. */
KERNEL v16 v_load_f16(const uint16_t *p)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = float_from_f16(p[i]);
        return x;
}

/* The lanes as half precision numbers, rounded to nearest even; any NaN becomes 0x7e00. */
KERNEL void v_store_f16(uint16_t *p, v16 x)
{
        for (int i = 0; i < 16; i++)
                p[i] = float_to_f16(x.lane[i]);
}

/* One in all lanes. */
KERNEL v16 v_set1_f16(uint16_t half)
{
        const float value = float_from_f16(half);
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = value;
        return x;
}

/* Integers of 8 bits. */
KERNEL v16 v_load_i8(const int8_t *p)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = (float)p[i];
        return x;
}

/* bfloat16 numbers, widened exactly: the upper half of a float. */
KERNEL v16 v_load_bf16(const uint16_t *p)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = float_from_bits((uint32_t)p[i] << 16);
        return x;
}

/* Lane i is base[index[i] * stride]; the indices are whole numbers below 2^24. */
KERNEL v16 v_gather(const float *base, v16 index, ptrdiff_t stride)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = base[(ptrdiff_t)index.lane[i] * stride];
        return x;
}

/* Asks for the cache line at p; never faults, changes nothing. */
KERNEL void v_prefetch(const void *p)
{
        (void)p;
}

/* The same, into the second-level cache only, which allows more outstanding requests. */
KERNEL void v_prefetch_near(const void *p)
{
        (void)p;
}

KERNEL v16 v_set1(float value)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = value;
        return x;
}

/* first, first + 1, ... first + 15 */
KERNEL v16 v_iota(float first)
{
        v16 x = {{0}};
        for (int i = 0; i < 16; i++)
                x.lane[i] = first + (float)i;
        return x;
}

KERNEL v16 v_add(v16 a, v16 b)
{
        V_EACH(a, +, b);
        return a;
}

KERNEL v16 v_sub(v16 a, v16 b)
{
        V_EACH(a, -, b);
        return a;
}

KERNEL v16 v_mul(v16 a, v16 b)
{
        V_EACH(a, *, b);
        return a;
}

KERNEL v16 v_div(v16 a, v16 b)
{
        V_EACH(a, /, b);
        return a;
}

/* a * b + c, rounded once */
KERNEL v16 v_fma(v16 a, v16 b, v16 c)
{
        for (int i = 0; i < 16; i++)
                c.lane[i] = float_fma(a.lane[i], b.lane[i], c.lane[i]);
        return c;
}

/* a > b ? a : b, so b where either is NaN */
KERNEL v16 v_max(v16 a, v16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
        return a;
}

/* a < b ? a : b, so b where either is NaN */
KERNEL v16 v_min(v16 a, v16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i];
        return a;
}

KERNEL v16 v_neg(v16 x)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = float_from_bits(float_bits(x.lane[i]) ^ 0x80000000u);
        return x;
}

KERNEL v16 v_abs(v16 x)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = float_from_bits(float_bits(x.lane[i]) & 0x7fffffffu);
        return x;
}

/* The magnitude of x under the sign of s. */
KERNEL v16 v_copysign(v16 x, v16 s)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = float_from_bits((float_bits(x.lane[i]) & 0x7fffffffu) |
                                            (float_bits(s.lane[i]) & 0x80000000u));
        return x;
}

KERNEL v16 v_sqrt(v16 x)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = float_sqrt(x.lane[i]);
        return x;
}

/* To the nearest integer, ties to even; the sign of zero is that of x. */
KERNEL v16 v_rint(v16 x)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = float_rint(x.lane[i]);
        return x;
}

KERNEL v16 v_floor(v16 x)
{
        for (int i = 0; i < 16; i++) {
                float nearest = float_rint(x.lane[i]);
                x.lane[i] = nearest > x.lane[i] ? nearest - 1.0f : nearest;
        }
        return x;
}

/* Comparisons give 1 or 0; with a NaN on either side, 0. */
KERNEL v16 v_lt(v16 a, v16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] < b.lane[i] ? 1.0f : 0.0f;
        return a;
}

KERNEL v16 v_le(v16 a, v16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] <= b.lane[i] ? 1.0f : 0.0f;
        return a;
}

/* 1 where a == b or both are NaN, else 0 */
KERNEL v16 v_eq(v16 a, v16 b)
{
        for (int i = 0; i < 16; i++) {
                int both_nan = a.lane[i] != a.lane[i] && b.lane[i] != b.lane[i];
                a.lane[i] = a.lane[i] == b.lane[i] || both_nan ? 1.0f : 0.0f;
        }
        return a;
}

/* Logic on lanes that are 0 or 1, bit by bit. */
KERNEL v16 v_and(v16 a, v16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = float_from_bits(float_bits(a.lane[i]) & float_bits(b.lane[i]));
        return a;
}

KERNEL v16 v_or(v16 a, v16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = float_from_bits(float_bits(a.lane[i]) | float_bits(b.lane[i]));
        return a;
}

KERNEL v16 v_not(v16 a)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = float_from_bits(float_bits(a.lane[i]) ^ 0x3f800000u);
        return a;
}

/* c != 0 ? a : b */
KERNEL v16 v_where(v16 c, v16 a, v16 b)
{
        for (int i = 0; i < 16; i++)
                c.lane[i] = c.lane[i] != 0.0f ? a.lane[i] : b.lane[i];
        return c;
}

/* x < y ? a : b in one step, so b where x or y is NaN */
KERNEL v16 v_where_lt(v16 x, v16 y, v16 a, v16 b)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = x.lane[i] < y.lane[i] ? a.lane[i] : b.lane[i];
        return x;
}

/* 2^n for whole n, -126 <= n <= 127; +0 for NaN */
KERNEL v16 v_pow2i(v16 n)
{
        for (int i = 0; i < 16; i++) {
                int exponent = n.lane[i] == n.lane[i] ? (int)n.lane[i] + 127 : 0;
                n.lane[i] = float_from_bits((uint32_t)exponent << 23);
        }
        return n;
}

/* x * 2^n for normal x, whole n and a normal result, by way of the exponent field; x where n is NaN */
KERNEL v16 v_scale2(v16 x, v16 n)
{
        for (int i = 0; i < 16; i++) {
                int shift = n.lane[i] == n.lane[i] ? (int)n.lane[i] : 0;
                x.lane[i] = float_from_bits(float_bits(x.lane[i]) + ((uint32_t)shift << 23));
        }
        return x;
}

/* The exponent field without its bias: floor(log2 |x|) where x is normal, -127 below, 128 for inf and NaN. */
KERNEL v16 v_exponent(v16 x)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = (float)((int)(float_bits(x.lane[i]) >> 23 & 0xff) - 127);
        return x;
}

/* The fraction field under the exponent of 1: |x| / 2^exponent in [1, 2) where x is normal. */
KERNEL v16 v_mantissa(v16 x)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = float_from_bits((float_bits(x.lane[i]) & 0x007fffffu) | 0x3f800000u);
        return x;
}

/* The sum of the lanes by the fixed tree: t[i] += t[i + s] for s = 8, 4, 2, 1. */
KERNEL float v_sum(v16 x)
{
        for (int s = 8; s > 0; s /= 2)
                for (int i = 0; i < s; i++)
                        x.lane[i] = x.lane[i] + x.lane[i + s];
        return x.lane[0];
}

/* The maximum of the lanes by the same tree: t[i] = t[i] > t[i + s] ? t[i] : t[i + s]. */
KERNEL float v_maxof(v16 x)
{
        for (int s = 8; s > 0; s /= 2)
                for (int i = 0; i < s; i++)
                        x.lane[i] = x.lane[i] > x.lane[i + s] ? x.lane[i] : x.lane[i + s];
        return x.lane[0];
}
