/* n16 and c64 on WebAssembly: four vectors each.  They are defined in n16_scalar.h. */

#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

/* Sums of several rows do not fit the registers: loops over rows stay loops. */
#define UNROLL_ROWS

typedef struct {
        v128_t q[4];
} n16;

typedef struct {
        v128_t q[4];
} c64;

KERNEL n16 n_set1(int32_t value)
{
        const v128_t x = wasm_i32x4_splat(value);
        return (n16){{x, x, x, x}};
}

KERNEL v16 v_of_n(n16 x)
{
        return (v16){wasm_f32x4_convert_i32x4(x.q[0]), wasm_f32x4_convert_i32x4(x.q[1]), wasm_f32x4_convert_i32x4(x.q[2]),
                     wasm_f32x4_convert_i32x4(x.q[3])};
}

KERNEL c64 c_load(const uint8_t *p)
{
        return (c64){{wasm_v128_load(p), wasm_v128_load(p + 16), wasm_v128_load(p + 32), wasm_v128_load(p + 48)}};
}

KERNEL c64 c_low(c64 x)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = wasm_v128_and(x.q[i], wasm_i8x16_const_splat(15));
        return x;
}

KERNEL c64 c_high(c64 x)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = wasm_u8x16_shr(x.q[i], 4);
        return x;
}

KERNEL c64 c_look(const uint8_t table[16], c64 x)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = wasm_i8x16_swizzle(wasm_v128_load(table), x.q[i]);
        return x;
}

KERNEL c64 c_bits(c64 x, int from, int n, int to)
{
        const v128_t mask = wasm_i8x16_splat((int8_t)(((1 << n) - 1) << to));
        for (int i = 0; i < 4; i++) {
                v128_t moved = from < to ? wasm_i8x16_shl(x.q[i], (uint32_t)(to - from)) : wasm_u8x16_shr(x.q[i], (uint32_t)(from - to));
                x.q[i] = wasm_v128_and(moved, mask);
        }
        return x;
}

KERNEL c64 c_or(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = wasm_v128_or(a.q[i], b.q[i]);
        return a;
}

KERNEL c64 c_words(const uint8_t *p)
{
        const v128_t x = wasm_v128_load(p), lo = wasm_u16x8_extend_low_u8x16(x), hi = wasm_u16x8_extend_high_u8x16(x);
        return (c64){{wasm_u32x4_extend_low_u16x8(lo), wasm_u32x4_extend_high_u16x8(lo), wasm_u32x4_extend_low_u16x8(hi),
                      wasm_u32x4_extend_high_u16x8(hi)}};
}

KERNEL c64 c_shift(c64 x, int by)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = by < 0 ? wasm_u32x4_shr(x.q[i], (uint32_t)-by) : wasm_i32x4_shl(x.q[i], (uint32_t)by);
        return x;
}

KERNEL c64 c_and(c64 x, uint32_t mask)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = wasm_v128_and(x.q[i], wasm_i32x4_splat((int32_t)mask));
        return x;
}

KERNEL c64 c_xor(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = wasm_v128_xor(a.q[i], b.q[i]);
        return a;
}

KERNEL c64 c_add(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = wasm_i32x4_add(a.q[i], b.q[i]);
        return a;
}

KERNEL c64 c_book(const uint16_t *book, c64 index)
{
        uint32_t word[16];
        memcpy(word, &index, 64);
        for (int i = 0; i < 16; i++)
                word[i] = book[word[i]];
        return c_load((const uint8_t *)word);
}

KERNEL c64 c_pairs(const uint8_t a[16], const uint8_t b[16], int with_sign)
{
        const v128_t x = wasm_v128_load(a), y = wasm_v128_load(b);
        const v128_t lo = wasm_i8x16_shuffle(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const v128_t hi = wasm_i8x16_shuffle(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        if (with_sign)
                return (c64){{wasm_i16x8_extend_low_i8x16(lo), wasm_i16x8_extend_high_i8x16(lo), wasm_i16x8_extend_low_i8x16(hi),
                              wasm_i16x8_extend_high_i8x16(hi)}};
        return (c64){{wasm_u16x8_extend_low_u8x16(lo), wasm_u16x8_extend_high_u8x16(lo), wasm_u16x8_extend_low_u8x16(hi),
                      wasm_u16x8_extend_high_u8x16(hi)}};
}

KERNEL c64 c_scales(const uint8_t scale[16], int with_sign, int most UNUSED)
{
        return c_pairs(scale, scale, with_sign);
}

KERNEL n16 n_add_pairs(n16 sum, c64 pairs, const int16_t x[2])
{
        int32_t two;
        memcpy(&two, x, 4);
        for (int i = 0; i < 4; i++)
                sum.q[i] = wasm_i32x4_add(sum.q[i], wasm_i32x4_dot_i16x8(pairs.q[i], wasm_i32x4_splat(two)));
        return sum;
}

KERNEL int dot_lines(int most)
{
        (void)most;
        return 8;
}

KERNEL n16 n_scaled(n16 sum, n16 x, c64 scales, int most)
{
        (void)most;
        for (int i = 0; i < 4; i++)
                sum.q[i] = wasm_i32x4_add(sum.q[i], wasm_i32x4_mul(x.q[i], wasm_i32x4_shr(scales.q[i], 16)));
        return sum;
}

KERNEL n16 n_minus_shifted(n16 x, int bits)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = wasm_i32x4_neg(wasm_i32x4_shl(x.q[i], (uint32_t)bits));
        return x;
}

KERNEL int32_t n_codes(int8_t *to, v16 x)
{
        const v16 whole = v_rint(x);
        const v128_t a = wasm_i32x4_trunc_sat_f32x4(whole.a), b = wasm_i32x4_trunc_sat_f32x4(whole.b),
                     c = wasm_i32x4_trunc_sat_f32x4(whole.c), d = wasm_i32x4_trunc_sat_f32x4(whole.d);
        wasm_v128_store(to, wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(a, b), wasm_i16x8_narrow_i32x4(c, d)));
        const v128_t four = wasm_i32x4_add(wasm_i32x4_add(a, b), wasm_i32x4_add(c, d));
        return wasm_i32x4_extract_lane(four, 0) + wasm_i32x4_extract_lane(four, 1) + wasm_i32x4_extract_lane(four, 2) +
               wasm_i32x4_extract_lane(four, 3);
}
