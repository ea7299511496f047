/* Products of codes on AVX-512 with VNNI.  They are defined in dot_scalar.h. */

/* The instruction takes codes without a sign. */
#define DOT_OFFSET 128
#define DOT_PAIRS 0
#define DOT_LINES 0

KERNEL n16 n_add_pairs(n16 sum, c64 pairs, const int16_t x[2])
{
        return _mm512_dpwssd_epi32(sum, pairs, n_four((const int8_t *)(const void *)x));
}

KERNEL n16 n_dot(n16 sum, c64 w, const int8_t *x)
{
        return _mm512_dpbusd_epi32(sum, w, n_four(x));
}

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        return n_dot(n_dot(sum, low, x), high, x + 4);
}

KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        return n_dot(sum, _mm512_xor_si512(w, _mm512_set1_epi8(-128)), x);
}

/* Sums of four lines of codes of 0 to most fit 16 bits. */
KERNEL int is_short_dot(int most)
{
        return 4 * 4 * 127 * most <= INT16_MAX;
}

KERNEL int dot_lines(int most)
{
        return is_short_dot(most) ? 4 : 8;
}

/* Scales in 32 bits; for short sums the upper half is 0. */
KERNEL c64 c_scales(const uint8_t scale[16], int with_sign, int most)
{
        const __m128i s = _mm_loadu_si128((const __m128i *)(const void *)scale);
        if (with_sign && is_short_dot(most))
                return _mm512_and_si512(_mm512_cvtepi8_epi32(s), _mm512_set1_epi32(0xffff));
        return with_sign ? _mm512_cvtepi8_epi32(s) : _mm512_cvtepu8_epi32(s);
}

/* One instruction multiplies a short sum by a scale and adds. */
KERNEL n16 n_scaled(n16 sum, n16 x, c64 scales, int most)
{
        return is_short_dot(most) ? _mm512_dpwssd_epi32(sum, x, scales)
                                  : _mm512_add_epi32(sum, _mm512_mullo_epi32(x, scales));
}
