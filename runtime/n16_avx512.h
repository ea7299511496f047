/* n16 and c64 on AVX-512 BW: a register each.  They are defined in n16_scalar.h. */

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

KERNEL c64 c_bits(c64 x, int from, int n, int to)
{
        __m512i moved = from < to ? _mm512_slli_epi32(x, (unsigned)(to - from)) : _mm512_srli_epi32(x, (unsigned)(from - to));
        return _mm512_and_si512(moved, _mm512_set1_epi8((char)(((1 << n) - 1) << to)));
}

KERNEL c64 c_or(c64 a, c64 b)
{
        return _mm512_or_si512(a, b);
}

KERNEL c64 c_words(const uint8_t *p)
{
        return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

KERNEL c64 c_shift(c64 x, int by)
{
        return by < 0 ? _mm512_srli_epi32(x, (unsigned)-by) : _mm512_slli_epi32(x, (unsigned)by);
}

KERNEL c64 c_and(c64 x, uint32_t mask)
{
        return _mm512_and_si512(x, _mm512_set1_epi32((int32_t)mask));
}

KERNEL c64 c_xor(c64 a, c64 b)
{
        return _mm512_xor_si512(a, b);
}

KERNEL c64 c_add(c64 a, c64 b)
{
        return _mm512_add_epi32(a, b);
}

KERNEL c64 c_book(const uint16_t *book, c64 index)
{
        return c_and(_mm512_i32gather_epi32(index, book, 2), 0xffff);
}

/* Four activations in every lane. */
KERNEL __m512i n_four(const int8_t *x)
{
        int32_t four;
        memcpy(&four, x, 4);
        return _mm512_set1_epi32(four);
}

KERNEL c64 c_pairs(const uint8_t a[16], const uint8_t b[16], int with_sign)
{
        const __m128i one = _mm_loadu_si128((const __m128i *)(const void *)a),
                      two = _mm_loadu_si128((const __m128i *)(const void *)b);
        const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(one, two)),
                                                     _mm_unpackhi_epi8(one, two), 1);
        return with_sign ? _mm512_cvtepi8_epi16(both) : _mm512_cvtepu8_epi16(both);
}

KERNEL n16 n_minus_shifted(n16 x, int bits)
{
        return _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(x, (unsigned)bits));
}

KERNEL int32_t n_codes(int8_t *to, v16 x)
{
        __m512i n = _mm512_cvtps_epi32(x);
        _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(n));
        return _mm512_reduce_add_epi32(n);
}
