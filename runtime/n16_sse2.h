/* n16 and c64 on SSE2: four registers each.  They are defined in n16_scalar.h. */

#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

/* Sums of several rows do not fit the registers: loops over rows stay loops. */
#define UNROLL_ROWS

typedef struct {
        __m128i q[4];
} n16;

typedef struct {
        __m128i q[4];
} c64;

KERNEL n16 n_set1(int32_t value)
{
        const __m128i x = _mm_set1_epi32(value);
        return (n16){{x, x, x, x}};
}

KERNEL v16 v_of_n(n16 x)
{
        return (v16){_mm_cvtepi32_ps(x.q[0]), _mm_cvtepi32_ps(x.q[1]), _mm_cvtepi32_ps(x.q[2]),
                     _mm_cvtepi32_ps(x.q[3])};
}

KERNEL __m128i n_load(const void *p)
{
        return _mm_loadu_si128((const __m128i *)p);
}

KERNEL c64 c_load(const uint8_t *p)
{
        return (c64){{n_load(p), n_load(p + 16), n_load(p + 32), n_load(p + 48)}};
}

KERNEL c64 c_low(c64 x)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = _mm_and_si128(x.q[i], _mm_set1_epi8(15));
        return x;
}

KERNEL c64 c_high(c64 x)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = _mm_srli_epi16(x.q[i], 4);
        return c_low(x);
}

KERNEL c64 c_look(const uint8_t table[16], c64 x)
{
        uint8_t byte[64];
        memcpy(byte, &x, 64);
        for (int i = 0; i < 64; i++)
                byte[i] = table[byte[i]];
        return c_load(byte);
}

KERNEL c64 c_bits(c64 x, int from, int n, int to)
{
        const __m128i mask = _mm_set1_epi8((char)(((1 << n) - 1) << to));
        for (int i = 0; i < 4; i++) {
                __m128i moved = from < to ? _mm_slli_epi16(x.q[i], to - from) : _mm_srli_epi16(x.q[i], from - to);
                x.q[i] = _mm_and_si128(moved, mask);
        }
        return x;
}

KERNEL c64 c_or(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = _mm_or_si128(a.q[i], b.q[i]);
        return a;
}

KERNEL c64 c_words(const uint8_t *p)
{
        const __m128i x = n_load(p), none = _mm_setzero_si128();
        const __m128i lo = _mm_unpacklo_epi8(x, none), hi = _mm_unpackhi_epi8(x, none);
        return (c64){{_mm_unpacklo_epi16(lo, none), _mm_unpackhi_epi16(lo, none), _mm_unpacklo_epi16(hi, none),
                      _mm_unpackhi_epi16(hi, none)}};
}

KERNEL c64 c_shift(c64 x, int by)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = by < 0 ? _mm_srli_epi32(x.q[i], -by) : _mm_slli_epi32(x.q[i], by);
        return x;
}

KERNEL c64 c_and(c64 x, uint32_t mask)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = _mm_and_si128(x.q[i], _mm_set1_epi32((int32_t)mask));
        return x;
}

KERNEL c64 c_xor(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = _mm_xor_si128(a.q[i], b.q[i]);
        return a;
}

KERNEL c64 c_add(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = _mm_add_epi32(a.q[i], b.q[i]);
        return a;
}

KERNEL c64 c_book(const uint16_t *book, c64 index)
{
        uint32_t word[16];
        memcpy(word, &index, 64);
        for (int i = 0; i < 16; i++)
                word[i] = book[word[i]];
        return c_load((const uint8_t *)word);
}

KERNEL c64 c_pairs(const uint8_t a[16], const uint8_t b[16], int with_sign)
{
        const __m128i none = _mm_setzero_si128();
        c64 r;
        for (int i = 0; i < 4; i++) {
                const __m128i half = i < 2 ? _mm_unpacklo_epi8(n_load(a), n_load(b))
                                           : _mm_unpackhi_epi8(n_load(a), n_load(b));
                const __m128i up = i % 2 ? _mm_unpackhi_epi8(none, half) : _mm_unpacklo_epi8(none, half);
                r.q[i] = with_sign ? _mm_srai_epi16(up, 8) : _mm_srli_epi16(up, 8);
        }
        return r;
}

KERNEL c64 c_scales(const uint8_t scale[16], int with_sign, int most UNUSED)
{
        return c_pairs(scale, scale, with_sign);
}

KERNEL n16 n_add_pairs(n16 sum, c64 pairs, const int16_t x[2])
{
        int32_t two;
        memcpy(&two, x, 4);
        for (int i = 0; i < 4; i++)
                sum.q[i] = _mm_add_epi32(sum.q[i], _mm_madd_epi16(pairs.q[i], _mm_set1_epi32(two)));
        return sum;
}

KERNEL int dot_lines(int most)
{
        (void)most;
        return 8;
}

KERNEL n16 n_scaled(n16 sum, n16 x, c64 scales, int most)
{
        (void)most;
        int32_t s[16], v[16];
        int16_t two[32];
        memcpy(s, &sum, 64);
        memcpy(v, &x, 64);
        memcpy(two, &scales, 64);
        for (int i = 0; i < 16; i++)
                s[i] += v[i] * two[2 * i + 1];
        memcpy(&sum, s, 64);
        return sum;
}

KERNEL n16 n_minus_shifted(n16 x, int bits)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = _mm_sub_epi32(_mm_setzero_si128(), _mm_slli_epi32(x.q[i], bits));
        return x;
}

KERNEL int32_t n_codes(int8_t *to, v16 x)
{
        const __m128i a = _mm_cvtps_epi32(x.a), b = _mm_cvtps_epi32(x.b), c = _mm_cvtps_epi32(x.c),
                      d = _mm_cvtps_epi32(x.d);
        _mm_storeu_si128((__m128i *)(void *)to,
                         _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)));
        __m128i four = _mm_add_epi32(_mm_add_epi32(a, b), _mm_add_epi32(c, d));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
