/* Products of codes on AVX2.  What they mean stands in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 0

KERNEL __m256i n_add_pairs(__m256i sum, __m256i pairs)
{
        return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        __m256i a = n_four(x), b = n_four(x + 4);
        __m256i lo = _mm256_add_epi16(_mm256_maddubs_epi16(low.lo, a), _mm256_maddubs_epi16(high.lo, b));
        __m256i hi = _mm256_add_epi16(_mm256_maddubs_epi16(low.hi, a), _mm256_maddubs_epi16(high.hi, b));
        return (n16){n_add_pairs(sum.lo, lo), n_add_pairs(sum.hi, hi)};
}

/* The size of the codes by activations with their signs: an activation is never -128. */
KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        __m256i four = n_four(x);
        __m256i lo = _mm256_maddubs_epi16(_mm256_abs_epi8(w.lo), _mm256_sign_epi8(four, w.lo));
        __m256i hi = _mm256_maddubs_epi16(_mm256_abs_epi8(w.hi), _mm256_sign_epi8(four, w.hi));
        return (n16){n_add_pairs(sum.lo, lo), n_add_pairs(sum.hi, hi)};
}
