/*
 * v16 on AVX-512F: one register.  Every operation gives the bits of v16_scalar.h, which defines it
 * (any NaN counts as equal to any other).  Compile with -mavx512f -mfma.
 */

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef __m512 v16;

#define V_LONG KERNEL

/* Ones for lanes i < n. */
KERNEL __mmask16 v_first_lanes(int n)
{
        return (__mmask16)((1u << n) - 1u);
}

/* The bits of x as integers, and back. */
KERNEL __m512i v_bits(v16 x)
{
        return _mm512_castps_si512(x);
}

KERNEL v16 v_from_bits(__m512i bits)
{
        return _mm512_castsi512_ps(bits);
}

KERNEL v16 v_load(const float *p)
{
        return _mm512_loadu_ps(p);
}

KERNEL void v_store(float *p, v16 x)
{
        _mm512_storeu_ps(p, x);
}

/* The first n floats (0 <= n <= 16), then +0; reads no more than n. */
KERNEL v16 v_load_n(const float *p, int n)
{
        return _mm512_maskz_loadu_ps(v_first_lanes(n), p);
}

/* The first n lanes (0 <= n <= 16); writes no more than n. */
KERNEL void v_store_n(float *p, v16 x, int n)
{
        _mm512_mask_storeu_ps(p, v_first_lanes(n), x);
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
        v16 x = _mm512_castps128_ps512(_mm_loadu_ps(p));
        x = _mm512_insertf32x4(x, _mm_loadu_ps(p + step), 1);
        x = _mm512_insertf32x4(x, _mm_loadu_ps(p + 2 * step), 2);
        return _mm512_insertf32x4(x, _mm_loadu_ps(p + 3 * step), 3);
}

/* Of four vectors each quarter is four rows of four: lane 4 i + j of x[k] and lane 4 i + k of x[j] change places. */
KERNEL void v_turn_quarters(v16 x[4])
{
        const v16 upper = _mm512_unpacklo_ps(x[0], x[1]), right = _mm512_unpackhi_ps(x[0], x[1]),
                  lower = _mm512_unpacklo_ps(x[2], x[3]), last = _mm512_unpackhi_ps(x[2], x[3]);
        x[0] = _mm512_shuffle_ps(upper, lower, 0x44);
        x[1] = _mm512_shuffle_ps(upper, lower, 0xee);
        x[2] = _mm512_shuffle_ps(right, last, 0x44);
        x[3] = _mm512_shuffle_ps(right, last, 0xee);
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
        return _mm512_cvtepi32_ps(_mm512_loadu_si512(p));
}

KERNEL v16 v_load_i32_n(const int32_t *p, int n)
{
        return _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(v_first_lanes(n), p));
}

/* Half precision numbers, widened exactly. */
KERNEL v16 v_load_f16(const uint16_t *p)
{
        return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

/* The lanes as half precision numbers, rounded to nearest even; any NaN becomes 0x7e00. */
KERNEL void v_store_f16(uint16_t *p, v16 x)
{
        __mmask16 to_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        x = _mm512_mask_mov_ps(x, to_nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
        _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

/* One in all lanes. */
KERNEL v16 v_set1_f16(uint16_t half)
{
        return _mm512_cvtph_ps(_mm256_set1_epi16((short)half));
}

/* Integers of 8 bits. */
KERNEL v16 v_load_i8(const int8_t *p)
{
        return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

/* Floats of 8 bits: see narrow.h. */
#define V_EIGHT_BITS

KERNEL v16 v_load_e4m3(const uint8_t *p)
{
        const __m256i code = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
        const __m256i half = _mm256_and_si256(_mm256_slli_epi16(code, 7), _mm256_set1_epi16((short)0xbf80));
        const __m256i carried = _mm256_add_epi16(half, _mm256_set1_epi16(128));
        /* half | (carried & 0x4000) */
        return _mm512_cvtph_ps(_mm256_ternarylogic_epi32(half, carried, _mm256_set1_epi16(0x4000), 0xf8));
}

KERNEL v16 v_load_e5m2(const uint8_t *p)
{
        const __m256i code = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
        return _mm512_cvtph_ps(_mm256_slli_epi16(code, 8));
}

/* bfloat16 numbers, widened exactly: the upper half of a float. */
KERNEL v16 v_load_bf16(const uint16_t *p)
{
        __m512i word = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
        return v_from_bits(_mm512_slli_epi32(word, 16));
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
        return _mm512_set1_ps(value);
}

/* first, first + 1, ... first + 15 */
KERNEL v16 v_iota(float first)
{
        v16 lane = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        return _mm512_add_ps(v_set1(first), lane);
}

KERNEL v16 v_add(v16 a, v16 b)
{
        return _mm512_add_ps(a, b);
}

KERNEL v16 v_sub(v16 a, v16 b)
{
        return _mm512_sub_ps(a, b);
}

KERNEL v16 v_mul(v16 a, v16 b)
{
        return _mm512_mul_ps(a, b);
}

KERNEL v16 v_div(v16 a, v16 b)
{
        return _mm512_div_ps(a, b);
}

/* a * b + c, rounded once */
KERNEL v16 v_fma(v16 a, v16 b, v16 c)
{
        return _mm512_fmadd_ps(a, b, c);
}

/* a > b ? a : b, so b where either is NaN, as the instruction does */
KERNEL v16 v_max(v16 a, v16 b)
{
        return _mm512_max_ps(a, b);
}

/* a < b ? a : b, so b where either is NaN */
KERNEL v16 v_min(v16 a, v16 b)
{
        return _mm512_min_ps(a, b);
}

KERNEL v16 v_neg(v16 x)
{
        return v_from_bits(_mm512_xor_si512(v_bits(x), v_bits(v_set1(-0.0f))));
}

KERNEL v16 v_abs(v16 x)
{
        return v_from_bits(_mm512_andnot_si512(v_bits(v_set1(-0.0f)), v_bits(x)));
}

KERNEL v16 v_and(v16 a, v16 b)
{
        return v_from_bits(_mm512_and_si512(v_bits(a), v_bits(b)));
}

KERNEL v16 v_or(v16 a, v16 b)
{
        return v_from_bits(_mm512_or_si512(v_bits(a), v_bits(b)));
}

KERNEL v16 v_not(v16 a)
{
        return v_from_bits(_mm512_xor_si512(v_bits(a), v_bits(v_set1(1.0f))));
}

/* The magnitude of x under the sign of s. */
KERNEL v16 v_copysign(v16 x, v16 s)
{
        return v_or(v_abs(x), v_and(v_set1(-0.0f), s));
}

KERNEL v16 v_sqrt(v16 x)
{
        return _mm512_sqrt_ps(x);
}

/* To the nearest integer, ties to even; the sign of zero is that of x. */
KERNEL v16 v_rint(v16 x)
{
        return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

KERNEL v16 v_floor(v16 x)
{
        return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

/* Comparisons give 1 or 0; with a NaN on either side, 0. */
KERNEL v16 v_lt(v16 a, v16 b)
{
        return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), v_set1(1.0f));
}

KERNEL v16 v_le(v16 a, v16 b)
{
        return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_LE_OQ), v_set1(1.0f));
}

/* 1 where a == b or both are NaN, else 0 */
KERNEL v16 v_eq(v16 a, v16 b)
{
        __mmask16 equal = _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
        __mmask16 a_nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
        __mmask16 both_nan = _mm512_mask_cmp_ps_mask(a_nan, b, b, _CMP_UNORD_Q);
        return _mm512_maskz_mov_ps(_mm512_kor(equal, both_nan), v_set1(1.0f));
}

/* c != 0 ? a : b */
KERNEL v16 v_where(v16 c, v16 a, v16 b)
{
        return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(c, _mm512_setzero_ps(), _CMP_NEQ_UQ), b, a);
}

/* x < y ? a : b in one step, so b where x or y is NaN */
KERNEL v16 v_where_lt(v16 x, v16 y, v16 a, v16 b)
{
        return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), b, a);
}

/* Whole numbers, moved to where a float keeps its exponent.  A NaN becomes 2^31 and leaves nothing. */
KERNEL __m512i v_exponent_field(v16 n)
{
        return _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23);
}

/* 2^n for whole n, -126 <= n <= 127; +0 for NaN */
KERNEL v16 v_pow2i(v16 n)
{
        return v_from_bits(v_exponent_field(_mm512_add_ps(n, v_set1(127.0f))));
}

/* x * 2^n for normal x, whole n and a normal result, by way of the exponent field; x where n is NaN */
KERNEL v16 v_scale2(v16 x, v16 n)
{
        return v_from_bits(_mm512_add_epi32(v_bits(x), v_exponent_field(n)));
}

/* The exponent field without its bias: floor(log2 |x|) where x is normal, -127 below, 128 for inf and NaN. */
KERNEL v16 v_exponent(v16 x)
{
        v16 biased = _mm512_cvtepi32_ps(_mm512_srli_epi32(v_bits(v_abs(x)), 23));
        return v_sub(biased, v_set1(127.0f));
}

/* The fraction field under the exponent of 1: |x| / 2^exponent in [1, 2) where x is normal. */
KERNEL v16 v_mantissa(v16 x)
{
        v16 fraction = v_from_bits(_mm512_set1_epi32(0x007fffff));
        return v_or(v_and(x, fraction), v_set1(1.0f));
}

/* The upper eight lanes of x (AVX-512F knows this move for doubles only). */
KERNEL __m256 v_upper_half(v16 x)
{
        return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
}

/* The sum of the lanes by the fixed tree: t[i] += t[i + s] for s = 8, 4, 2, 1. */
KERNEL float v_sum(v16 x)
{
        __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), v_upper_half(x));
        __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* The maximum of the lanes by the same tree: t[i] = t[i] > t[i + s] ? t[i] : t[i + s]. */
KERNEL float v_maxof(v16 x)
{
        __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x), v_upper_half(x));
        __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}
