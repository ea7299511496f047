/*
 * v16 on AVX2 with FMA and F16C: two registers of eight floats.  Every operation gives the bits of
 * v16_scalar.h, which defines it (any NaN counts as equal to any other).  Compile with -mavx2 -mfma
 * -mf16c.
 */

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
        __m256 lo, hi; /* lanes 0 to 7, 8 to 15 */
} v16;

#define V_LONG KERNEL

/* Applies an intrinsic to both halves of its two operands. */
#define V_HALVES(op, a, b) ((v16){op((a).lo, (b).lo), op((a).hi, (b).hi)})

/* All ones in lanes first + i < n of eight, else 0. */
KERNEL __m256i v_first_lanes(int n, int first)
{
        __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(n - first), lane);
}

KERNEL v16 v_load(const float *p)
{
        return (v16){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

KERNEL void v_store(float *p, v16 x)
{
        _mm256_storeu_ps(p, x.lo);
        _mm256_storeu_ps(p + 8, x.hi);
}

/* The first n floats (0 <= n <= 16), then +0; reads no more than n. */
KERNEL v16 v_load_n(const float *p, int n)
{
        const float *upper = n > 8 ? p + 8 : p; /* no pointer beyond the array */
        return (v16){_mm256_maskload_ps(p, v_first_lanes(n, 0)),
                     _mm256_maskload_ps(upper, v_first_lanes(n, 8))};
}

/* The first n lanes (0 <= n <= 16); writes no more than n. */
KERNEL void v_store_n(float *p, v16 x, int n)
{
        _mm256_maskstore_ps(p, v_first_lanes(n, 0), x.lo);
        if (n > 8)
                _mm256_maskstore_ps(p + 8, v_first_lanes(n, 8), x.hi);
}

/* Lane i is p[i * stride] for i < n, else +0. */
KERNEL v16 v_load_strided(const float *p, ptrdiff_t stride, int n)
{
        float lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = p[i * stride];
        return v_load(lane);
}

/* Four times four neighbours: lane 4 i + j is p[i * step + j]. */
KERNEL v16 v_load_quarters(const float *p, ptrdiff_t step)
{
        return (v16){_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + step), 1),
                     _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + 2 * step)),
                                          _mm_loadu_ps(p + 3 * step), 1)};
}

KERNEL void v_turn_two_quarters(__m256 *a, __m256 *b, __m256 *c, __m256 *d)
{
        const __m256 upper = _mm256_unpacklo_ps(*a, *b), right = _mm256_unpackhi_ps(*a, *b),
                     lower = _mm256_unpacklo_ps(*c, *d), last = _mm256_unpackhi_ps(*c, *d);
        *a = _mm256_shuffle_ps(upper, lower, 0x44);
        *b = _mm256_shuffle_ps(upper, lower, 0xee);
        *c = _mm256_shuffle_ps(right, last, 0x44);
        *d = _mm256_shuffle_ps(right, last, 0xee);
}

/* Of four vectors each quarter is four rows of four: lane 4 i + j of x[k] and lane 4 i + k of x[j] change places. */
KERNEL void v_turn_quarters(v16 x[4])
{
        v_turn_two_quarters(&x[0].lo, &x[1].lo, &x[2].lo, &x[3].lo);
        v_turn_two_quarters(&x[0].hi, &x[1].hi, &x[2].hi, &x[3].hi);
}

/* p[i * stride] becomes lane i for i < n. */
KERNEL void v_store_strided(float *p, ptrdiff_t stride, v16 x, int n)
{
        float lane[16];
        v_store(lane, x);
        for (int i = 0; i < n; i++)
                p[i * stride] = lane[i];
}

/* Integers as floats: exact up to 2^24, rounded to nearest beyond. */
KERNEL v16 v_load_i32(const int32_t *p)
{
        __m256i lo = _mm256_loadu_si256((const __m256i *)(const void *)p);
        __m256i hi = _mm256_loadu_si256((const __m256i *)(const void *)(p + 8));
        return (v16){_mm256_cvtepi32_ps(lo), _mm256_cvtepi32_ps(hi)};
}

KERNEL v16 v_load_i32_n(const int32_t *p, int n)
{
        const int32_t *upper = n > 8 ? p + 8 : p;
        return (v16){_mm256_cvtepi32_ps(_mm256_maskload_epi32(p, v_first_lanes(n, 0))),
                     _mm256_cvtepi32_ps(_mm256_maskload_epi32(upper, v_first_lanes(n, 8)))};
}

/* Half precision numbers, widened exactly. */
KERNEL v16 v_load_f16(const uint16_t *p)
{
        return (v16){_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)),
                     _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p + 8)))};
}

/* Eight floats as half precision numbers, rounded to nearest even; any NaN becomes 0x7e00. */
KERNEL __m128i v_narrow_f16(__m256 x)
{
        __m256 to_nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
        return _mm256_cvtps_ph(_mm256_blendv_ps(x, to_nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q)),
                               _MM_FROUND_TO_NEAREST_INT);
}

KERNEL void v_store_f16(uint16_t *p, v16 x)
{
        _mm_storeu_si128((__m128i *)(void *)p, v_narrow_f16(x.lo));
        _mm_storeu_si128((__m128i *)(void *)(p + 8), v_narrow_f16(x.hi));
}

/* One in all lanes. */
KERNEL v16 v_set1_f16(uint16_t half)
{
        __m256 x = _mm256_cvtph_ps(_mm_set1_epi16((short)half));
        return (v16){x, x};
}

/* Integers of 8 bits. */
KERNEL v16 v_load_i8(const int8_t *p)
{
        __m128i byte = _mm_loadu_si128((const __m128i *)(const void *)p);
        return (v16){_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(byte)),
                     _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(byte, 8)))};
}

/* Floats of 8 bits: see narrow.h. */
#define V_EIGHT_BITS

KERNEL v16 v_widen_halves(__m256i half)
{
        return (v16){_mm256_cvtph_ps(_mm256_castsi256_si128(half)), _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1))};
}

KERNEL v16 v_load_e4m3(const uint8_t *p)
{
        const __m256i code = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
        const __m256i half = _mm256_and_si256(_mm256_slli_epi16(code, 7), _mm256_set1_epi16((short)0xbf80));
        const __m256i carried = _mm256_add_epi16(half, _mm256_set1_epi16(128));
        return v_widen_halves(_mm256_or_si256(half, _mm256_and_si256(carried, _mm256_set1_epi16(0x4000))));
}

KERNEL v16 v_load_e5m2(const uint8_t *p)
{
        const __m256i code = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
        return v_widen_halves(_mm256_slli_epi16(code, 8));
}

/* Eight bfloat16 numbers: the upper halves of eight floats. */
KERNEL __m256 v_widen_bf16(const uint16_t *p)
{
        __m256i word = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
        return _mm256_castsi256_ps(_mm256_slli_epi32(word, 16));
}

/* bfloat16 numbers, widened exactly. */
KERNEL v16 v_load_bf16(const uint16_t *p)
{
        return (v16){v_widen_bf16(p), v_widen_bf16(p + 8)};
}

/* Lane i is base[index[i] * stride]; the indices are whole numbers below 2^24. */
KERNEL v16 v_gather(const float *base, v16 index, ptrdiff_t stride)
{
        float lane[16];
        v_store(lane, index);
        for (int i = 0; i < 16; i++)
                lane[i] = base[(ptrdiff_t)lane[i] * stride];
        return v_load(lane);
}

/* Asks for the cache line at p; never faults, changes nothing. */
KERNEL void v_prefetch(const void *p)
{
        _mm_prefetch((const char *)p, _MM_HINT_T0);
}

KERNEL void v_prefetch_near(const void *p)
{
        _mm_prefetch((const char *)p, _MM_HINT_T1);
}

KERNEL v16 v_set1(float value)
{
        return (v16){_mm256_set1_ps(value), _mm256_set1_ps(value)};
}

KERNEL v16 v_add(v16 a, v16 b)
{
        return V_HALVES(_mm256_add_ps, a, b);
}

KERNEL v16 v_sub(v16 a, v16 b)
{
        return V_HALVES(_mm256_sub_ps, a, b);
}

KERNEL v16 v_mul(v16 a, v16 b)
{
        return V_HALVES(_mm256_mul_ps, a, b);
}

KERNEL v16 v_div(v16 a, v16 b)
{
        return V_HALVES(_mm256_div_ps, a, b);
}

/* first, first + 1, ... first + 15 */
KERNEL v16 v_iota(float first)
{
        v16 lane = {_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_ps(8, 9, 10, 11, 12, 13, 14, 15)};
        return v_add(v_set1(first), lane);
}

/* a * b + c, rounded once */
KERNEL v16 v_fma(v16 a, v16 b, v16 c)
{
        return (v16){_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}

/* a > b ? a : b, so b where either is NaN, as the instruction does */
KERNEL v16 v_max(v16 a, v16 b)
{
        return V_HALVES(_mm256_max_ps, a, b);
}

/* a < b ? a : b, so b where either is NaN */
KERNEL v16 v_min(v16 a, v16 b)
{
        return V_HALVES(_mm256_min_ps, a, b);
}

KERNEL v16 v_neg(v16 x)
{
        v16 sign = v_set1(-0.0f);
        return V_HALVES(_mm256_xor_ps, sign, x);
}

KERNEL v16 v_abs(v16 x)
{
        v16 sign = v_set1(-0.0f);
        return V_HALVES(_mm256_andnot_ps, sign, x);
}

KERNEL v16 v_and(v16 a, v16 b)
{
        return V_HALVES(_mm256_and_ps, a, b);
}

KERNEL v16 v_or(v16 a, v16 b)
{
        return V_HALVES(_mm256_or_ps, a, b);
}

KERNEL v16 v_not(v16 a)
{
        v16 one = v_set1(1.0f);
        return V_HALVES(_mm256_xor_ps, one, a);
}

/* The magnitude of x under the sign of s. */
KERNEL v16 v_copysign(v16 x, v16 s)
{
        return v_or(v_abs(x), v_and(v_set1(-0.0f), s));
}

KERNEL v16 v_sqrt(v16 x)
{
        return (v16){_mm256_sqrt_ps(x.lo), _mm256_sqrt_ps(x.hi)};
}

/* To the nearest integer, ties to even; the sign of zero is that of x. */
KERNEL v16 v_rint(v16 x)
{
        return (v16){_mm256_round_ps(x.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                     _mm256_round_ps(x.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

KERNEL v16 v_floor(v16 x)
{
        return (v16){_mm256_round_ps(x.lo, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC),
                     _mm256_round_ps(x.hi, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}

/* Comparisons give 1 or 0; with a NaN on either side, 0. */
KERNEL v16 v_lt(v16 a, v16 b)
{
        v16 mask = {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
        return v_and(mask, v_set1(1.0f));
}

KERNEL v16 v_le(v16 a, v16 b)
{
        v16 mask = {_mm256_cmp_ps(a.lo, b.lo, _CMP_LE_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LE_OQ)};
        return v_and(mask, v_set1(1.0f));
}

/* 1 where a == b or both are NaN, else 0 */
KERNEL v16 v_eq(v16 a, v16 b)
{
        v16 equal = {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
        v16 a_nan = {_mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q), _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q)};
        v16 b_nan = {_mm256_cmp_ps(b.lo, b.lo, _CMP_UNORD_Q), _mm256_cmp_ps(b.hi, b.hi, _CMP_UNORD_Q)};
        return v_and(v_or(equal, v_and(a_nan, b_nan)), v_set1(1.0f));
}

/* c != 0 ? a : b */
KERNEL v16 v_where(v16 c, v16 a, v16 b)
{
        __m256 zero = _mm256_setzero_ps();
        return (v16){_mm256_blendv_ps(b.lo, a.lo, _mm256_cmp_ps(c.lo, zero, _CMP_NEQ_UQ)),
                     _mm256_blendv_ps(b.hi, a.hi, _mm256_cmp_ps(c.hi, zero, _CMP_NEQ_UQ))};
}

/* x < y ? a : b in one step, so b where x or y is NaN */
KERNEL v16 v_where_lt(v16 x, v16 y, v16 a, v16 b)
{
        return (v16){_mm256_blendv_ps(b.lo, a.lo, _mm256_cmp_ps(x.lo, y.lo, _CMP_LT_OQ)),
                     _mm256_blendv_ps(b.hi, a.hi, _mm256_cmp_ps(x.hi, y.hi, _CMP_LT_OQ))};
}

/* Whole numbers, moved to where a float keeps its exponent.  A NaN becomes 2^31 and leaves nothing. */
KERNEL __m256i v_exponent_field(__m256 n)
{
        return _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
}

/* 2^n for whole n, -126 <= n <= 127; +0 for NaN */
KERNEL v16 v_pow2i(v16 n)
{
        v16 biased = v_add(n, v_set1(127.0f));
        return (v16){_mm256_castsi256_ps(v_exponent_field(biased.lo)),
                     _mm256_castsi256_ps(v_exponent_field(biased.hi))};
}

/* x * 2^n for normal x, whole n and a normal result, by way of the exponent field; x where n is NaN */
KERNEL v16 v_scale2(v16 x, v16 n)
{
        __m256i lo = _mm256_add_epi32(_mm256_castps_si256(x.lo), v_exponent_field(n.lo));
        __m256i hi = _mm256_add_epi32(_mm256_castps_si256(x.hi), v_exponent_field(n.hi));
        return (v16){_mm256_castsi256_ps(lo), _mm256_castsi256_ps(hi)};
}

/* The exponent field without its bias: floor(log2 |x|) where x is normal, -127 below, 128 for inf and NaN. */
KERNEL v16 v_exponent(v16 x)
{
        v16 magnitude = v_abs(x);
        __m256i lo = _mm256_srli_epi32(_mm256_castps_si256(magnitude.lo), 23);
        __m256i hi = _mm256_srli_epi32(_mm256_castps_si256(magnitude.hi), 23);
        v16 biased = {_mm256_cvtepi32_ps(lo), _mm256_cvtepi32_ps(hi)};
        return v_sub(biased, v_set1(127.0f));
}

/* The fraction field under the exponent of 1: |x| / 2^exponent in [1, 2) where x is normal. */
KERNEL v16 v_mantissa(v16 x)
{
        __m256 fraction = _mm256_castsi256_ps(_mm256_set1_epi32(0x007fffff));
        return v_or(v_and(x, (v16){fraction, fraction}), v_set1(1.0f));
}

/* The sum of the lanes by the fixed tree: t[i] += t[i + s] for s = 8, 4, 2, 1. */
KERNEL float v_sum(v16 x)
{
        __m256 eight = _mm256_add_ps(x.lo, x.hi);
        __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* The maximum of the lanes by the same tree: t[i] = t[i] > t[i + s] ? t[i] : t[i + s]. */
KERNEL float v_maxof(v16 x)
{
        __m256 eight = _mm256_max_ps(x.lo, x.hi);
        __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}
