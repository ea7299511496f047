/*
 * v16 on SSE2, which every x86-64 processor has: four registers of four floats.  Every operation gives the bits of
 * v16_scalar.h, which defines it (any NaN counts as equal to any other).  There is no fused multiply-add: v_fma
 * works in double.
 */

#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
        __m128 a, b, c, d; /* lanes 0 to 3, 4 to 7, 8 to 11, 12 to 15 */
} v16;

#define V_LONG SHARED

/* Applies an intrinsic to all quarters of its operand, or of its two. */
#define V_QUARTERS1(op, x) ((v16){op((x).a), op((x).b), op((x).c), op((x).d)})

#define V_QUARTERS(op, x, y) ((v16){op((x).a, (y).a), op((x).b, (y).b), op((x).c, (y).c), op((x).d, (y).d)})

KERNEL v16 v_load(const float *p)
{
        return (v16){_mm_loadu_ps(p), _mm_loadu_ps(p + 4), _mm_loadu_ps(p + 8), _mm_loadu_ps(p + 12)};
}

KERNEL void v_store(float *p, v16 x)
{
        _mm_storeu_ps(p, x.a);
        _mm_storeu_ps(p + 4, x.b);
        _mm_storeu_ps(p + 8, x.c);
        _mm_storeu_ps(p + 12, x.d);
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
        return (v16){_mm_loadu_ps(p), _mm_loadu_ps(p + step), _mm_loadu_ps(p + 2 * step),
                     _mm_loadu_ps(p + 3 * step)};
}

/* Of four vectors each quarter is four rows of four: lane 4 i + j of x[k] and lane 4 i + k of x[j] change places. */
KERNEL void v_turn_quarters(v16 x[4])
{
        _MM_TRANSPOSE4_PS(x[0].a, x[1].a, x[2].a, x[3].a);
        _MM_TRANSPOSE4_PS(x[0].b, x[1].b, x[2].b, x[3].b);
        _MM_TRANSPOSE4_PS(x[0].c, x[1].c, x[2].c, x[3].c);
        _MM_TRANSPOSE4_PS(x[0].d, x[1].d, x[2].d, x[3].d);
}

/* p[i * stride] becomes lane i for i < n. */
KERNEL void v_store_strided(float *p, ptrdiff_t stride, v16 x, int n)
{
        float lane[16];
        v_store(lane, x);
        for (int i = 0; i < n; i++)
                p[i * stride] = lane[i];
}

/* The first n floats (0 <= n <= 16), then +0; reads no more than n. */
KERNEL v16 v_load_n(const float *p, int n)
{
        return v_load_strided(p, 1, n);
}

/* The first n lanes (0 <= n <= 16); writes no more than n. */
KERNEL void v_store_n(float *p, v16 x, int n)
{
        v_store_strided(p, 1, x, n);
}

/* Four integers, or eight halves of a float. */
KERNEL __m128i v_load_words(const void *p)
{
        return _mm_loadu_si128((const __m128i *)p);
}

/* Integers as floats: exact up to 2^24, rounded to nearest beyond. */
KERNEL v16 v_load_i32(const int32_t *p)
{
        return (v16){_mm_cvtepi32_ps(v_load_words(p)), _mm_cvtepi32_ps(v_load_words(p + 4)),
                     _mm_cvtepi32_ps(v_load_words(p + 8)), _mm_cvtepi32_ps(v_load_words(p + 12))};
}

KERNEL v16 v_load_i32_n(const int32_t *p, int n)
{
        int32_t lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = p[i];
        return v_load_i32(lane);
}

/* Four half precision numbers in 32 bits each.  Moved to where a float has exponent and fraction, they are 2^112 too small,
 * denormals too; inf and NaN then get the exponent that says so. */
KERNEL __m128 v_widen_f16(__m128i half)
{
        __m128i magnitude = _mm_and_si128(half, _mm_set1_epi32(0x7fff));
        __m128i sign = _mm_slli_epi32(_mm_and_si128(half, _mm_set1_epi32(0x8000)), 16);
        __m128i special =
                _mm_and_si128(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff)), _mm_set1_epi32(0x7f800000));
        __m128 wide = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(magnitude, 13)), _mm_set1_ps(0x1p112f));
        return _mm_or_ps(wide, _mm_castsi128_ps(_mm_or_si128(sign, special)));
}

/* Half precision numbers, widened exactly. */
KERNEL v16 v_load_f16(const uint16_t *p)
{
        __m128i zero = _mm_setzero_si128(), lo = v_load_words(p), hi = v_load_words(p + 8);
        return (v16){v_widen_f16(_mm_unpacklo_epi16(lo, zero)), v_widen_f16(_mm_unpackhi_epi16(lo, zero)),
                     v_widen_f16(_mm_unpacklo_epi16(hi, zero)), v_widen_f16(_mm_unpackhi_epi16(hi, zero))};
}

/* Four floats as half precision numbers in 32 bits each, their signs in all upper bits.  A normal half is what is left of the bits
 * after rounding; a denormal one ends where 0.5 does, and is added to it. */
KERNEL __m128i v_narrow_f16(__m128 x)
{
        __m128i bits = _mm_castps_si128(x), magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
        __m128i to_nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000));
        __m128i to_inf = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x477fffff));
        __m128i to_denormal = _mm_cmplt_epi32(magnitude, _mm_set1_epi32(0x38800000));
        __m128i odd = _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(1));
        __m128i to_normal = _mm_add_epi32(magnitude, _mm_add_epi32(odd, _mm_set1_epi32(0xfff - (112 << 23))));
        __m128i denormal =
                _mm_sub_epi32(_mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(magnitude), _mm_set1_ps(0.5f))),
                              _mm_set1_epi32(0x3f000000));
        __m128i sign = _mm_slli_epi32(_mm_srai_epi32(bits, 31), 15), inf = _mm_set1_epi32(0x7c00);
        __m128i half = _mm_or_si128(_mm_and_si128(to_denormal, denormal),
                                    _mm_andnot_si128(to_denormal, _mm_srli_epi32(to_normal, 13)));
        half = _mm_or_si128(sign, _mm_or_si128(_mm_and_si128(to_inf, inf), _mm_andnot_si128(to_inf, half)));
        return _mm_or_si128(_mm_and_si128(to_nan, _mm_set1_epi32(0x7e00)), _mm_andnot_si128(to_nan, half));
}

/* The lanes as half precision numbers, rounded to nearest even; any NaN becomes 0x7e00. */
KERNEL void v_store_f16(uint16_t *p, v16 x)
{
        _mm_storeu_si128((__m128i *)(void *)p, _mm_packs_epi32(v_narrow_f16(x.a), v_narrow_f16(x.b)));
        _mm_storeu_si128((__m128i *)(void *)(p + 8), _mm_packs_epi32(v_narrow_f16(x.c), v_narrow_f16(x.d)));
}

/* One in all lanes. */
KERNEL v16 v_set1_f16(uint16_t half)
{
        __m128 x = v_widen_f16(_mm_set1_epi32(half));
        return (v16){x, x, x, x};
}

/* Four integers of 16 bits, doubled as interleaving has them, as floats. */
KERNEL __m128 v_of_words(__m128i twice)
{
        return _mm_cvtepi32_ps(_mm_srai_epi32(twice, 16));
}

/* Integers of 8 bits. */
KERNEL v16 v_load_i8(const int8_t *p)
{
        __m128i byte = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i lo = _mm_srai_epi16(_mm_unpacklo_epi8(byte, byte), 8),
                hi = _mm_srai_epi16(_mm_unpackhi_epi8(byte, byte), 8);
        return (v16){v_of_words(_mm_unpacklo_epi16(lo, lo)), v_of_words(_mm_unpackhi_epi16(lo, lo)),
                     v_of_words(_mm_unpacklo_epi16(hi, hi)), v_of_words(_mm_unpackhi_epi16(hi, hi))};
}

/* bfloat16 numbers, widened exactly: the upper halves of floats. */
KERNEL v16 v_load_bf16(const uint16_t *p)
{
        __m128i zero = _mm_setzero_si128(), lo = v_load_words(p), hi = v_load_words(p + 8);
        return (v16){_mm_castsi128_ps(_mm_unpacklo_epi16(zero, lo)),
                     _mm_castsi128_ps(_mm_unpackhi_epi16(zero, lo)),
                     _mm_castsi128_ps(_mm_unpacklo_epi16(zero, hi)),
                     _mm_castsi128_ps(_mm_unpackhi_epi16(zero, hi))};
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
        __m128 four = _mm_set1_ps(value);
        return (v16){four, four, four, four};
}

KERNEL v16 v_add(v16 a, v16 b)
{
        return V_QUARTERS(_mm_add_ps, a, b);
}

KERNEL v16 v_sub(v16 a, v16 b)
{
        return V_QUARTERS(_mm_sub_ps, a, b);
}

KERNEL v16 v_mul(v16 a, v16 b)
{
        return V_QUARTERS(_mm_mul_ps, a, b);
}

KERNEL v16 v_div(v16 a, v16 b)
{
        return V_QUARTERS(_mm_div_ps, a, b);
}

/* first, first + 1, ... first + 15 */
KERNEL v16 v_iota(float first)
{
        v16 lane = {_mm_setr_ps(0, 1, 2, 3), _mm_setr_ps(4, 5, 6, 7), _mm_setr_ps(8, 9, 10, 11),
                    _mm_setr_ps(12, 13, 14, 15)};
        return v_add(v_set1(first), lane);
}

/* Four sums in double. */
typedef struct {
        __m128d lo, hi;
} VDoubles;

KERNEL VDoubles v_doubles(__m128 x)
{
        return (VDoubles){_mm_cvtps_pd(x), _mm_cvtps_pd(_mm_movehl_ps(x, x))};
}

KERNEL __m128 v_floats(VDoubles x)
{
        return _mm_movelh_ps(_mm_cvtpd_ps(x.lo), _mm_cvtpd_ps(x.hi));
}

/* a * b + c in double: the product is exact, the sum is rounded. */
KERNEL VDoubles v_double_sum(__m128 a, __m128 b, __m128 c)
{
        VDoubles x = v_doubles(a), y = v_doubles(b), z = v_doubles(c);
        return (VDoubles){_mm_add_pd(_mm_mul_pd(x.lo, y.lo), z.lo), _mm_add_pd(_mm_mul_pd(x.hi, y.hi), z.hi)};
}

/* Ones where a double that is rounded to float may have been rounded twice: the bits that go are those of a tie, or the
 * magnitude is below 2^-125 but not 0 (moved by an overflow, 0 is the largest integer, and inf and NaN stay large). */
KERNEL __m128i v_in_doubt(VDoubles s)
{
        __m128 x = _mm_castpd_ps(s.lo), y = _mm_castpd_ps(s.hi);
        __m128i lower = _mm_castps_si128(_mm_shuffle_ps(x, y, _MM_SHUFFLE(2, 0, 2, 0)));
        __m128i upper = _mm_castps_si128(_mm_shuffle_ps(x, y, _MM_SHUFFLE(3, 1, 3, 1)));
        __m128i tie = _mm_cmpeq_epi32(_mm_slli_epi32(lower, 3), _mm_set1_epi32(INT32_MIN));
        __m128i moved = _mm_add_epi32(_mm_add_epi32(upper, upper), _mm_set1_epi32(INT32_MAX));
        return _mm_or_si128(tie, _mm_cmplt_epi32(moved, _mm_set1_epi32(2 * 0x38200000 + INT32_MIN - 1)));
}

/* p + c rounded to odd, so that rounding to float afterwards rounds as if once (see v16_scalar.h): cut towards 0, and the last
 * bit set if something was cut off.  The error is exact; it is NaN for inf, where nothing is cut. */
KERNEL __m128d v_odd_sum(__m128d p, __m128d c)
{
        __m128d s = _mm_add_pd(p, c), from_c = _mm_sub_pd(s, p);
        __m128d error = _mm_add_pd(_mm_sub_pd(p, _mm_sub_pd(s, from_c)), _mm_sub_pd(c, from_c));
        __m128d size = _mm_andnot_pd(_mm_set1_pd(-0.0), error);
        __m128i inexact = _mm_srli_epi64(_mm_castpd_si128(_mm_cmplt_pd(_mm_setzero_pd(), size)), 63);
        __m128i inward = _mm_and_si128(_mm_srli_epi64(_mm_castpd_si128(_mm_xor_pd(error, s)), 63), inexact);
        return _mm_castsi128_pd(_mm_or_si128(_mm_sub_epi64(_mm_castpd_si128(s), inward), inexact));
}

KERNEL __m128 v_fma_odd(__m128 a, __m128 b, __m128 c)
{
        VDoubles x = v_doubles(a), y = v_doubles(b), z = v_doubles(c);
        return v_floats(
                (VDoubles){v_odd_sum(_mm_mul_pd(x.lo, y.lo), z.lo), v_odd_sum(_mm_mul_pd(x.hi, y.hi), z.hi)});
}

/* not KERNEL: seldom called, from many places */
static inline v16 v_fma_in_doubt(v16 a, v16 b, v16 c)
{
        return (v16){v_fma_odd(a.a, b.a, c.a), v_fma_odd(a.b, b.b, c.b), v_fma_odd(a.c, b.c, c.c),
                     v_fma_odd(a.d, b.d, c.d)};
}

/* a * b + c, rounded once */
KERNEL v16 v_fma(v16 a, v16 b, v16 c)
{
        VDoubles s0 = v_double_sum(a.a, b.a, c.a), s1 = v_double_sum(a.b, b.b, c.b);
        VDoubles s2 = v_double_sum(a.c, b.c, c.c), s3 = v_double_sum(a.d, b.d, c.d);
        __m128i doubt = _mm_or_si128(_mm_or_si128(v_in_doubt(s0), v_in_doubt(s1)),
                                     _mm_or_si128(v_in_doubt(s2), v_in_doubt(s3)));
        if (_mm_movemask_epi8(doubt))
                return v_fma_in_doubt(a, b, c);
        return (v16){v_floats(s0), v_floats(s1), v_floats(s2), v_floats(s3)};
}

/* a > b ? a : b, so b where either is NaN, as the instruction does */
KERNEL v16 v_max(v16 a, v16 b)
{
        return V_QUARTERS(_mm_max_ps, a, b);
}

/* a < b ? a : b, so b where either is NaN */
KERNEL v16 v_min(v16 a, v16 b)
{
        return V_QUARTERS(_mm_min_ps, a, b);
}

KERNEL v16 v_neg(v16 x)
{
        v16 sign = v_set1(-0.0f);
        return V_QUARTERS(_mm_xor_ps, sign, x);
}

KERNEL v16 v_abs(v16 x)
{
        v16 sign = v_set1(-0.0f);
        return V_QUARTERS(_mm_andnot_ps, sign, x);
}

KERNEL v16 v_and(v16 a, v16 b)
{
        return V_QUARTERS(_mm_and_ps, a, b);
}

KERNEL v16 v_or(v16 a, v16 b)
{
        return V_QUARTERS(_mm_or_ps, a, b);
}

KERNEL v16 v_not(v16 a)
{
        v16 one = v_set1(1.0f);
        return V_QUARTERS(_mm_xor_ps, one, a);
}

/* The magnitude of x under the sign of s. */
KERNEL v16 v_copysign(v16 x, v16 s)
{
        return v_or(v_abs(x), v_and(v_set1(-0.0f), s));
}

KERNEL v16 v_sqrt(v16 x)
{
        return V_QUARTERS1(_mm_sqrt_ps, x);
}

/* a where the mask has ones, else b */
KERNEL v16 v_select(v16 mask, v16 a, v16 b)
{
        return v_or(v_and(mask, a), V_QUARTERS(_mm_andnot_ps, mask, b));
}

/* To the nearest integer, ties to even; the sign of zero is that of x.  Adding 2^23 leaves no room for a fraction. */
KERNEL v16 v_rint(v16 x)
{
        v16 limit = v_set1(0x1p23f), magnitude = v_abs(x);
        v16 whole = v_copysign(v_sub(v_add(magnitude, limit), limit), x);
        return v_select(V_QUARTERS(_mm_cmplt_ps, magnitude, limit), whole, x);
}

KERNEL v16 v_floor(v16 x)
{
        v16 nearest = v_rint(x), above = V_QUARTERS(_mm_cmplt_ps, x, nearest);
        return v_sub(nearest, v_and(above, v_set1(1.0f)));
}

/* Comparisons give 1 or 0; with a NaN on either side, 0. */
KERNEL v16 v_lt(v16 a, v16 b)
{
        return v_and(V_QUARTERS(_mm_cmplt_ps, a, b), v_set1(1.0f));
}

KERNEL v16 v_le(v16 a, v16 b)
{
        return v_and(V_QUARTERS(_mm_cmple_ps, a, b), v_set1(1.0f));
}

/* 1 where a == b or both are NaN, else 0 */
KERNEL v16 v_eq(v16 a, v16 b)
{
        v16 equal = V_QUARTERS(_mm_cmpeq_ps, a, b);
        v16 both_nan = v_and(V_QUARTERS(_mm_cmpunord_ps, a, a), V_QUARTERS(_mm_cmpunord_ps, b, b));
        return v_and(v_or(equal, both_nan), v_set1(1.0f));
}

/* c != 0 ? a : b */
KERNEL v16 v_where(v16 c, v16 a, v16 b)
{
        v16 zero = v_set1(0.0f);
        return v_select(V_QUARTERS(_mm_cmpneq_ps, c, zero), a, b);
}

/* x < y ? a : b in one step, so b where x or y is NaN */
KERNEL v16 v_where_lt(v16 x, v16 y, v16 a, v16 b)
{
        return v_select(V_QUARTERS(_mm_cmplt_ps, x, y), a, b);
}

/* Whole numbers, moved to where a float keeps its exponent.  A NaN becomes 2^31 and leaves nothing. */
KERNEL __m128 v_exponent_field(__m128 n)
{
        return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtps_epi32(n), 23));
}

/* 2^n for whole n, -126 <= n <= 127; +0 for NaN */
KERNEL v16 v_pow2i(v16 n)
{
        v16 biased = v_add(n, v_set1(127.0f));
        return V_QUARTERS1(v_exponent_field, biased);
}

/* The sum of two words. */
KERNEL __m128 v_add_words(__m128 x, __m128 y)
{
        return _mm_castsi128_ps(_mm_add_epi32(_mm_castps_si128(x), _mm_castps_si128(y)));
}

/* x * 2^n for normal x, whole n and a normal result, by way of the exponent field; x where n is NaN */
KERNEL v16 v_scale2(v16 x, v16 n)
{
        v16 shift = V_QUARTERS1(v_exponent_field, n);
        return V_QUARTERS(v_add_words, x, shift);
}

/* The exponent field of a magnitude, as a float. */
KERNEL __m128 v_biased_exponent(__m128 magnitude)
{
        return _mm_cvtepi32_ps(_mm_srli_epi32(_mm_castps_si128(magnitude), 23));
}

/* The exponent field without its bias: floor(log2 |x|) where x is normal, -127 below, 128 for inf and NaN. */
KERNEL v16 v_exponent(v16 x)
{
        v16 magnitude = v_abs(x);
        return v_sub(V_QUARTERS1(v_biased_exponent, magnitude), v_set1(127.0f));
}

/* The fraction field under the exponent of 1: |x| / 2^exponent in [1, 2) where x is normal. */
KERNEL v16 v_mantissa(v16 x)
{
        __m128 fraction = _mm_castsi128_ps(_mm_set1_epi32(0x007fffff));
        return v_or(v_and(x, (v16){fraction, fraction, fraction, fraction}), v_set1(1.0f));
}

/* The sum of the lanes by the fixed tree: t[i] += t[i + s] for s = 8, 4, 2, 1. */
KERNEL float v_sum(v16 x)
{
        __m128 four = _mm_add_ps(_mm_add_ps(x.a, x.c), _mm_add_ps(x.b, x.d));
        __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* The maximum of the lanes by the same tree: t[i] = t[i] > t[i + s] ? t[i] : t[i + s]. */
KERNEL float v_maxof(v16 x)
{
        __m128 four = _mm_max_ps(_mm_max_ps(x.a, x.c), _mm_max_ps(x.b, x.d));
        __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}
