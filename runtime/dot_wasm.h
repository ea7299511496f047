/* Products of codes on WebAssembly.  What they mean stands in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 0
#define DOT_LINES 0

KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        const v128_t four = wasm_i16x8_make(x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]);
        for (int i = 0; i < 4; i++) {
                /* two lanes' sums, each as two halves */
                const v128_t lo = wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(w.q[i]), four);
                const v128_t hi = wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(w.q[i]), four);
                const v128_t both = wasm_i32x4_add(wasm_i32x4_shuffle(lo, hi, 0, 2, 4, 6), wasm_i32x4_shuffle(lo, hi, 1, 3, 5, 7));
                sum.q[i] = wasm_i32x4_add(sum.q[i], both);
        }
        return sum;
}

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        return n_dot_signed(n_dot_signed(sum, low, x), high, x + 4);
}
