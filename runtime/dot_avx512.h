/* Products of codes on AVX-512 BW.  They are defined in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 0
#define DOT_LINES 8

/* sum + products of words, two and two of them added up. */
KERNEL n16 n_add_words(n16 sum, __m512i words, __m512i by)
{
        return _mm512_add_epi32(sum, _mm512_madd_epi16(words, by));
}

KERNEL n16 n_add_pairs(n16 sum, c64 pairs, const int16_t x[2])
{
        int32_t two;
        memcpy(&two, x, 4);
        return n_add_words(sum, pairs, _mm512_set1_epi32(two));
}

KERNEL c64 c_scales(const uint8_t scale[16], int with_sign, int most UNUSED)
{
        return c_pairs(scale, scale, with_sign);
}

/* Sums of two products each, in 16 bits. */
KERNEL __m512i n_words(const c64 *line, int lines, const int8_t *x)
{
        __m512i sum = _mm512_setzero_si512();
        UNROLL
        for (int i = 0; i < lines; i++)
                sum = _mm512_add_epi16(sum, _mm512_maddubs_epi16(line[i], n_four(x + 4 * i)));
        return sum;
}

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        const c64 line[2] = {low, high};
        return n_add_words(sum, n_words(line, 2, x), _mm512_set1_epi16(1));
}

/* The same of one line of numbers with a sign: their size by activations with their signs.  An activation is never -128. */
KERNEL __m512i n_signed_words(c64 w, const int8_t *x)
{
        __m512i four = n_four(x);
        __m512i turned = _mm512_mask_sub_epi8(four, _mm512_movepi8_mask(w), _mm512_setzero_si512(), four);
        return _mm512_maddubs_epi16(_mm512_abs_epi8(w), turned);
}

KERNEL n16 n_scaled_dots(n16 total, const c64 *line, int lines, int with_sign, int most, const int8_t *x, c64 scales)
{
        const int fit = with_sign || most > 64 ? 1 : lines * most * 254 <= INT16_MAX ? lines : most * 1016 <= INT16_MAX ? 4 : 2;
        UNROLL
        for (int i = 0; i < lines; i += fit)
                total = n_add_words(total, with_sign ? n_signed_words(line[i], x + 4 * i) : n_words(line + i, fit, x + 4 * i), scales);
        return total;
}

KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        return n_add_words(sum, n_signed_words(w, x), _mm512_set1_epi16(1));
}
