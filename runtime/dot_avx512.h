/* Products of codes on AVX-512 BW.  What they mean stands in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 0

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        __m512i pairs = _mm512_add_epi16(_mm512_maddubs_epi16(low, n_four(x)),
                                         _mm512_maddubs_epi16(high, n_four(x + 4)));
        return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}

/* The size of the codes by activations with their signs: an activation is never -128. */
KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        __m512i four = n_four(x);
        __m512i turned = _mm512_mask_sub_epi8(four, _mm512_movepi8_mask(w), _mm512_setzero_si512(), four);
        __m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(w), turned);
        return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
