/* n16 and c64 on SSE2: four registers each.  What they mean stands in n16_scalar.h. */

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

KERNEL c64 c_two_bits(c64 x, int from)
{
        for (int i = 0; i < 4; i++) {
                __m128i up = from < 4 ? _mm_slli_epi16(x.q[i], 4 - from) : _mm_srli_epi16(x.q[i], from - 4);
                x.q[i] = _mm_and_si128(up, _mm_set1_epi8(48));
        }
        return x;
}

KERNEL c64 c_bits(const uint8_t *bit)
{
        uint8_t byte[64];
        for (int i = 0; i < 64; i++)
                byte[i] = (uint8_t)((bit[i / 8] >> i % 8 & 1) << 4);
        return c_load(byte);
}

KERNEL c64 c_or(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = _mm_or_si128(a.q[i], b.q[i]);
        return a;
}

KERNEL n16 n_add_products(n16 sum, n16 x, const int32_t scale[16])
{
        int32_t s[16], v[16];
        memcpy(s, &sum, 64);
        memcpy(v, &x, 64);
        for (int i = 0; i < 16; i++)
                s[i] += v[i] * scale[i];
        memcpy(&sum, s, 64);
        return sum;
}

KERNEL n16 n_scaled(n16 sum, n16 x, const uint8_t scale[16])
{
        int32_t wide[16];
        for (int i = 0; i < 16; i++)
                wide[i] = scale[i];
        return n_add_products(sum, x, wide);
}

KERNEL n16 n_scaled_signed(n16 sum, n16 x, const int8_t scale[16])
{
        int32_t wide[16];
        for (int i = 0; i < 16; i++)
                wide[i] = scale[i];
        return n_add_products(sum, x, wide);
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
