/* n16 and c64 on AVX2: two registers each.  They are defined in n16_scalar.h. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* Loops over rows are unrolled, so that sums are registers. */
#define UNROLL_ROWS UNROLL

typedef struct {
        __m256i lo, hi;
} n16;

typedef struct {
        __m256i lo, hi;
} c64;

KERNEL n16 n_set1(int32_t value)
{
        return (n16){_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
}

KERNEL v16 v_of_n(n16 x)
{
        return (v16){_mm256_cvtepi32_ps(x.lo), _mm256_cvtepi32_ps(x.hi)};
}

KERNEL c64 c_load(const uint8_t *p)
{
        const __m256i *from = (const __m256i *)(const void *)p;
        return (c64){_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
}

KERNEL c64 c_low(c64 x)
{
        const __m256i mask = _mm256_set1_epi8(15);
        return (c64){_mm256_and_si256(x.lo, mask), _mm256_and_si256(x.hi, mask)};
}

KERNEL c64 c_high(c64 x)
{
        return c_low((c64){_mm256_srli_epi16(x.lo, 4), _mm256_srli_epi16(x.hi, 4)});
}

KERNEL c64 c_look(const uint8_t table[16], c64 x)
{
        const __m256i t = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
        return (c64){_mm256_shuffle_epi8(t, x.lo), _mm256_shuffle_epi8(t, x.hi)};
}

KERNEL __m256i c_bits_of(__m256i x, int from, int n, int to)
{
        __m256i moved = from < to ? _mm256_slli_epi16(x, to - from) : _mm256_srli_epi16(x, from - to);
        return _mm256_and_si256(moved, _mm256_set1_epi8((char)(((1 << n) - 1) << to)));
}

KERNEL c64 c_bits(c64 x, int from, int n, int to)
{
        return (c64){c_bits_of(x.lo, from, n, to), c_bits_of(x.hi, from, n, to)};
}

KERNEL c64 c_or(c64 a, c64 b)
{
        return (c64){_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}

KERNEL c64 c_words(const uint8_t *p)
{
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        return (c64){_mm256_cvtepu8_epi32(x), _mm256_cvtepu8_epi32(_mm_srli_si128(x, 8))};
}

KERNEL c64 c_shift(c64 x, int by)
{
        return by < 0 ? (c64){_mm256_srli_epi32(x.lo, -by), _mm256_srli_epi32(x.hi, -by)}
                      : (c64){_mm256_slli_epi32(x.lo, by), _mm256_slli_epi32(x.hi, by)};
}

KERNEL c64 c_and(c64 x, uint32_t mask)
{
        const __m256i m = _mm256_set1_epi32((int32_t)mask);
        return (c64){_mm256_and_si256(x.lo, m), _mm256_and_si256(x.hi, m)};
}

KERNEL c64 c_xor(c64 a, c64 b)
{
        return (c64){_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
}

KERNEL c64 c_add(c64 a, c64 b)
{
        return (c64){_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}

KERNEL c64 c_book(const uint16_t *book, c64 index)
{
        const int *from = (const int *)(const void *)book;
        return c_and((c64){_mm256_i32gather_epi32(from, index.lo, 2), _mm256_i32gather_epi32(from, index.hi, 2)},
                     0xffff);
}

/* Four activations in every lane. */
KERNEL __m256i n_four(const int8_t *x)
{
        int32_t four;
        memcpy(&four, x, 4);
        return _mm256_set1_epi32(four);
}

KERNEL c64 c_pairs(const uint8_t a[16], const uint8_t b[16], int with_sign)
{
        const __m128i one = _mm_loadu_si128((const __m128i *)(const void *)a),
                      two = _mm_loadu_si128((const __m128i *)(const void *)b);
        const __m128i lo = _mm_unpacklo_epi8(one, two), hi = _mm_unpackhi_epi8(one, two);
        return with_sign ? (c64){_mm256_cvtepi8_epi16(lo), _mm256_cvtepi8_epi16(hi)}
                         : (c64){_mm256_cvtepu8_epi16(lo), _mm256_cvtepu8_epi16(hi)};
}

/* sum + products of words, two and two of them added up. */
KERNEL n16 n_add_words(n16 sum, n16 words, c64 by)
{
        return (n16){_mm256_add_epi32(sum.lo, _mm256_madd_epi16(words.lo, by.lo)),
                     _mm256_add_epi32(sum.hi, _mm256_madd_epi16(words.hi, by.hi))};
}

KERNEL c64 c_scales(const uint8_t scale[16], int with_sign, int most UNUSED)
{
        return c_pairs(scale, scale, with_sign);
}

KERNEL n16 n_add_pairs(n16 sum, c64 pairs, const int16_t x[2])
{
        int32_t two;
        memcpy(&two, x, 4);
        return n_add_words(sum, n_set1(two), pairs);
}

KERNEL n16 n_minus_shifted(n16 x, int bits)
{
        const __m256i none = _mm256_setzero_si256();
        return (n16){_mm256_sub_epi32(none, _mm256_slli_epi32(x.lo, bits)),
                     _mm256_sub_epi32(none, _mm256_slli_epi32(x.hi, bits))};
}

KERNEL int32_t n_codes(int8_t *to, v16 x)
{
        __m256i lo = _mm256_cvtps_epi32(x.lo), hi = _mm256_cvtps_epi32(x.hi);
        __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(lo, hi), 0xd8);
        __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128((__m128i *)(void *)to, bytes);
        __m256i two = _mm256_add_epi32(lo, hi);
        __m128i four = _mm_add_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
