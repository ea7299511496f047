/* Products of codes on AVX-512 with VNNI.  What they mean stands in dot_scalar.h. */

/* The instruction takes codes without a sign. */
#define DOT_OFFSET 128
#define DOT_PAIRS 0

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
