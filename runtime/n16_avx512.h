/* n16 and c64 on AVX-512 BW: a register each.  What they mean stands in n16_scalar.h. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* Loops over rows are unrolled, so that sums are registers. */
#define UNROLL_ROWS UNROLL

typedef __m512i n16;

typedef __m512i c64;

KERNEL n16 n_set1(int32_t value)
{
        return _mm512_set1_epi32(value);
}

KERNEL v16 v_of_n(n16 x)
{
        return _mm512_cvtepi32_ps(x);
}

KERNEL c64 c_load(const uint8_t *p)
{
        return _mm512_loadu_si512(p);
}

KERNEL c64 c_low(c64 x)
{
        return _mm512_and_si512(x, _mm512_set1_epi8(15));
}

KERNEL c64 c_high(c64 x)
{
        return _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15));
}

KERNEL c64 c_look(const uint8_t table[16], c64 x)
{
        return _mm512_shuffle_epi8(
                _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table)), x);
}

/* Counts are literals: those that are not cost an instruction each. */
KERNEL c64 c_two_bits(c64 x, int from)
{
        __m512i moved = from == 0   ? _mm512_slli_epi16(x, 4)
                        : from == 2 ? _mm512_slli_epi16(x, 2)
                        : from == 4 ? x
                                    : _mm512_srli_epi16(x, 2);
        return _mm512_and_si512(moved, _mm512_set1_epi8(48));
}

KERNEL c64 c_bits(const uint8_t *bit)
{
        uint64_t mask;
        memcpy(&mask, bit, 8);
        return _mm512_maskz_set1_epi8(mask, 16);
}

KERNEL c64 c_or(c64 a, c64 b)
{
        return _mm512_or_si512(a, b);
}

/* Four activations in every lane. */
KERNEL __m512i n_four(const int8_t *x)
{
        int32_t four;
        memcpy(&four, x, 4);
        return _mm512_set1_epi32(four);
}

KERNEL n16 n_scaled(n16 sum, n16 x, const uint8_t scale[16])
{
        __m512i s = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)scale));
        return _mm512_add_epi32(sum, _mm512_mullo_epi32(x, s));
}

KERNEL n16 n_scaled_signed(n16 sum, n16 x, const int8_t scale[16])
{
        __m512i s = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)scale));
        return _mm512_add_epi32(sum, _mm512_mullo_epi32(x, s));
}

KERNEL int32_t n_codes(int8_t *to, v16 x)
{
        __m512i n = _mm512_cvtps_epi32(x);
        _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(n));
        return _mm512_reduce_add_epi32(n);
}
