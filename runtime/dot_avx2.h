/* Products of codes on AVX2.  They are defined in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 0
#define DOT_LINES 4

KERNEL c64 n_ones(void)
{
        return (c64){_mm256_set1_epi16(1), _mm256_set1_epi16(1)};
}

/* Sums of two products each, in 16 bits. */
KERNEL n16 n_words(const c64 *line, int lines, const int8_t *x)
{
        n16 sum = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        UNROLL
        for (int i = 0; i < lines; i++) {
                const __m256i four = n_four(x + 4 * i);
                sum.lo = _mm256_add_epi16(sum.lo, _mm256_maddubs_epi16(line[i].lo, four));
                sum.hi = _mm256_add_epi16(sum.hi, _mm256_maddubs_epi16(line[i].hi, four));
        }
        return sum;
}

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        const c64 line[2] = {low, high};
        return n_add_words(sum, n_words(line, 2, x), n_ones());
}

/* The same of one line of numbers with a sign: their size by activations with their signs.  An activation is never -128. */
KERNEL n16 n_signed_words(c64 w, const int8_t *x)
{
        __m256i four = n_four(x);
        return (n16){_mm256_maddubs_epi16(_mm256_abs_epi8(w.lo), _mm256_sign_epi8(four, w.lo)),
                     _mm256_maddubs_epi16(_mm256_abs_epi8(w.hi), _mm256_sign_epi8(four, w.hi))};
}

KERNEL n16 n_scaled_dots(n16 total, const c64 *line, int lines, int with_sign, int most, const int8_t *x, c64 scales)
{
        const int fit = with_sign || most > 64 ? 1 : lines * most * 254 <= INT16_MAX ? lines : 2;
        UNROLL
        for (int i = 0; i < lines; i += fit)
                total = n_add_words(total, with_sign ? n_signed_words(line[i], x + 4 * i) : n_words(line + i, fit, x + 4 * i), scales);
        return total;
}

KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        return n_add_words(sum, n_signed_words(w, x), n_ones());
}
