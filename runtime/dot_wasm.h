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

/* Of codes below 128: one instruction of relaxed SIMD multiplies them.  What it leaves open, codes with their top bit set, does not come. */
#if defined(__wasm_relaxed_simd__)
typedef int8_t VBytes __attribute__((vector_size(16)));
typedef int32_t VWords __attribute__((vector_size(16)));
KERNEL n16 n_dot_relaxed(n16 sum, c64 w, const int8_t *x)
{
        const v128_t four = wasm_v128_load32_splat(x);
        for (int i = 0; i < 4; i++)
                sum.q[i] = (v128_t)__builtin_wasm_relaxed_dot_i8x16_i7x16_add_s_i32x4((VBytes)four, (VBytes)w.q[i], (VWords)sum.q[i]);
        return sum;
}
KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        return n_dot_relaxed(n_dot_relaxed(sum, low, x), high, x + 4);
}
#else
KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        return n_dot_signed(n_dot_signed(sum, low, x), high, x + 4);
}
#endif
