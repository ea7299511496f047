/* Products of codes on WebAssembly.  They are defined in dot_scalar.h. */

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

/* Relaxed SIMD has an instruction for codes below 128; what it leaves open, codes with their top bit set, does not come.  Engines from before its
 * specification have another one by its number (V8 11.3): the first call asks, and where it is not right codes are multiplied as ever. */
#if defined(__wasm_relaxed_simd__)
typedef int8_t VBytes __attribute__((vector_size(16)));
typedef int32_t VWords __attribute__((vector_size(16)));
KERNEL v128_t v_dot_relaxed(v128_t sum, v128_t codes, v128_t x)
{
        return (v128_t)__builtin_wasm_relaxed_dot_i8x16_i7x16_add_s_i32x4((VBytes)x, (VBytes)codes, (VWords)sum);
}
__attribute__((noinline, unused)) static int dot_is_right(void)
{
        volatile int32_t x = (int32_t)0x817f0380, codes = 0x7f7f0102; /* -127 127 3 -128 by 127 127 1 2 */
        const v128_t found = v_dot_relaxed(wasm_i32x4_splat(1000), wasm_i32x4_splat(codes), wasm_i32x4_splat(x));
        return wasm_i32x4_all_true(wasm_i32x4_eq(found, wasm_i32x4_splat(1000 - 127 * 127 + 127 * 127 + 3 - 128 * 2)));
}
KERNEL int takes_relaxed_dots(void)
{
        static int8_t asked; /* 1: they are right, -1: they are not */
        if (__builtin_expect(!asked, 0))
                asked = dot_is_right() ? 1 : -1;
        return asked > 0;
}
#endif

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
#if defined(__wasm_relaxed_simd__)
        if (__builtin_expect(takes_relaxed_dots(), 1)) {
                const v128_t first = wasm_v128_load32_splat(x), last = wasm_v128_load32_splat(x + 4);
                for (int i = 0; i < 4; i++)
                        sum.q[i] = v_dot_relaxed(v_dot_relaxed(sum.q[i], low.q[i], first), high.q[i], last);
                return sum;
        }
#endif
        return n_dot_signed(n_dot_signed(sum, low, x), high, x + 4);
}
