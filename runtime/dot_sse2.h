/* Products of codes on SSE2.  They are defined in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 0
#define DOT_LINES 0

/* Eight codes by eight activations: two lanes' sums, each as two halves. */
KERNEL __m128i n_halves(__m128i codes, __m128i x)
{
        return _mm_madd_epi16(_mm_srai_epi16(codes, 8), x);
}

KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        const __m128i four = _mm_setr_epi16(x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]),
                      none = _mm_setzero_si128();
        for (int i = 0; i < 4; i++) {
                __m128 lo = _mm_castsi128_ps(n_halves(_mm_unpacklo_epi8(none, w.q[i]), four));
                __m128 hi = _mm_castsi128_ps(n_halves(_mm_unpackhi_epi8(none, w.q[i]), four));
                __m128i even = _mm_castps_si128(_mm_shuffle_ps(lo, hi, 0x88));
                __m128i odd = _mm_castps_si128(_mm_shuffle_ps(lo, hi, 0xdd));
                sum.q[i] = _mm_add_epi32(sum.q[i], _mm_add_epi32(even, odd));
        }
        return sum;
}

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        return n_dot_signed(n_dot_signed(sum, low, x), high, x + 4);
}
