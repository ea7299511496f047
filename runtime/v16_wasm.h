/*
 * v16 on WebAssembly's vectors of 128 bits: four of four floats.  Every operation gives the bits of v16_scalar.h, where its meaning
 * stands (any NaN counts as equal to any other).
 *
 * v_fma has two forms.  With -mrelaxed-simd it is one instruction, which the machine may round once or twice; it does the same
 * throughout a program's run, so float_check() finds out, and init refuses where it is twice.  Without, it works in double.
 */

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

typedef struct {
        v128_t a, b, c, d; /* lanes 0 to 3, 4 to 7, 8 to 11, 12 to 15 */
} v16;

#define V_LONG KERNEL

/* Applies an intrinsic to all quarters of its operand, or of its two. */
#define V_QUARTERS1(op, x) ((v16){op((x).a), op((x).b), op((x).c), op((x).d)})

#define V_QUARTERS(op, x, y) ((v16){op((x).a, (y).a), op((x).b, (y).b), op((x).c, (y).c), op((x).d, (y).d)})

/* A constant that is kept in a register: engines otherwise load it again in each iteration of a loop. */
KERNEL v128_t v_kept(v128_t x)
{
        __asm__("" : "+r"(x));
        return x;
}

KERNEL v16 v_load(const float *p)
{
        return (v16){wasm_v128_load(p), wasm_v128_load(p + 4), wasm_v128_load(p + 8), wasm_v128_load(p + 12)};
}

KERNEL void v_store(float *p, v16 x)
{
        wasm_v128_store(p, x.a);
        wasm_v128_store(p + 4, x.b);
        wasm_v128_store(p + 8, x.c);
        wasm_v128_store(p + 12, x.d);
}

/* Lane i is p[i * stride] for i < n, else +0. */
KERNEL v16 v_load_strided(const float *p, ptrdiff_t stride, int n)
{
        float lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = p[i * stride];
        return v_load(lane);
}

/* Four times four neighbours: lane 4 i + j is p[i * step + j]. */
KERNEL v16 v_load_quarters(const float *p, ptrdiff_t step)
{
        return (v16){wasm_v128_load(p), wasm_v128_load(p + step), wasm_v128_load(p + 2 * step), wasm_v128_load(p + 3 * step)};
}

/* Four rows of four change places with their columns. */
KERNEL void v_turn(v128_t *a, v128_t *b, v128_t *c, v128_t *d)
{
        v128_t ab = wasm_i32x4_shuffle(*a, *b, 0, 4, 1, 5), cd = wasm_i32x4_shuffle(*c, *d, 0, 4, 1, 5);
        v128_t ab2 = wasm_i32x4_shuffle(*a, *b, 2, 6, 3, 7), cd2 = wasm_i32x4_shuffle(*c, *d, 2, 6, 3, 7);
        *a = wasm_i64x2_shuffle(ab, cd, 0, 2);
        *b = wasm_i64x2_shuffle(ab, cd, 1, 3);
        *c = wasm_i64x2_shuffle(ab2, cd2, 0, 2);
        *d = wasm_i64x2_shuffle(ab2, cd2, 1, 3);
}

/* Of four vectors each quarter is four rows of four: lane 4 i + j of x[k] and lane 4 i + k of x[j] change places. */
KERNEL void v_turn_quarters(v16 x[4])
{
        v_turn(&x[0].a, &x[1].a, &x[2].a, &x[3].a);
        v_turn(&x[0].b, &x[1].b, &x[2].b, &x[3].b);
        v_turn(&x[0].c, &x[1].c, &x[2].c, &x[3].c);
        v_turn(&x[0].d, &x[1].d, &x[2].d, &x[3].d);
}

/* p[i * stride] becomes lane i for i < n. */
KERNEL void v_store_strided(float *p, ptrdiff_t stride, v16 x, int n)
{
        float lane[16];
        v_store(lane, x);
        for (int i = 0; i < n; i++)
                p[i * stride] = lane[i];
}

/* The first n floats (0 <= n <= 16), then +0; reads no more than n. */
KERNEL v16 v_load_n(const float *p, int n)
{
        return v_load_strided(p, 1, n);
}

/* The first n lanes (0 <= n <= 16); writes no more than n. */
KERNEL void v_store_n(float *p, v16 x, int n)
{
        v_store_strided(p, 1, x, n);
}

KERNEL v128_t v_load_words(const int32_t *p)
{
        return wasm_f32x4_convert_i32x4(wasm_v128_load(p));
}

/* Integers as floats: exact up to 2^24, rounded to nearest beyond. */
KERNEL v16 v_load_i32(const int32_t *p)
{
        return (v16){v_load_words(p), v_load_words(p + 4), v_load_words(p + 8), v_load_words(p + 12)};
}

KERNEL v16 v_load_i32_n(const int32_t *p, int n)
{
        int32_t lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = p[i];
        return v_load_i32(lane);
}

/* Four half precision numbers in 32 bits each.  Moved to where a float has exponent and fraction, they are 2^112 too small,
 * denormals too; inf and NaN then get the exponent that says so. */
KERNEL v128_t v_widen_f16(v128_t half)
{
        v128_t magnitude = wasm_v128_and(half, wasm_i32x4_const_splat(0x7fff));
        v128_t sign = wasm_i32x4_shl(wasm_v128_and(half, wasm_i32x4_const_splat(0x8000)), 16);
        v128_t special = wasm_v128_and(wasm_i32x4_gt(magnitude, wasm_i32x4_const_splat(0x7bff)),
                                       wasm_i32x4_const_splat(0x7f800000));
        v128_t wide = wasm_f32x4_mul(wasm_i32x4_shl(magnitude, 13), wasm_f32x4_const_splat(0x1p112f));
        return wasm_v128_or(wide, wasm_v128_or(sign, special));
}

/* Eight finite halves: of each float the upper 16 bits, then the lower ones. */
KERNEL void v_widen_finite(v128_t half, v128_t *first, v128_t *last)
{
        const v128_t upper = wasm_v128_and(wasm_i16x8_shr(half, 3), v_kept(wasm_i16x8_const_splat(-0x7001)));
        const v128_t lower = wasm_i16x8_shl(half, 13), by = v_kept(wasm_f32x4_const_splat(0x1p112f));
        *first = wasm_f32x4_mul(wasm_i16x8_shuffle(lower, upper, 0, 8, 1, 9, 2, 10, 3, 11), by);
        *last = wasm_f32x4_mul(wasm_i16x8_shuffle(lower, upper, 4, 12, 5, 13, 6, 14, 7, 15), by);
}

/* Of eight pairs the larger magnitude, twice. */
KERNEL v128_t v_larger_halves(v128_t a, v128_t b)
{
        return wasm_u16x8_max(wasm_i16x8_shl(a, 1), wasm_i16x8_shl(b, 1));
}

/* Whether none of these magnitudes, twice, is that of inf or NaN. */
KERNEL int v_halves_are_finite(v128_t twice)
{
        return !wasm_v128_any_true(wasm_u16x8_ge(twice, v_kept(wasm_i16x8_const_splat(-0x800))));
}

/* As v_load_f16, of finite numbers: some twice as fast, so products look at all that they are about to take. */
#define V_FINITE_F16
KERNEL v16 v_load_finite_f16(const uint16_t *p)
{
        v16 x;
        v_widen_finite(wasm_v128_load(p), &x.a, &x.b);
        v_widen_finite(wasm_v128_load(p + 8), &x.c, &x.d);
        return x;
}

/* Whether [n] are finite, a multiple of 16. */
KERNEL int v_are_finite_f16(const uint16_t *p, int64_t n)
{
        v128_t even = wasm_i32x4_const_splat(0), odd = even; /* of turns: two chains */
        for (; n >= 32; n -= 32, p += 32) {
                even = wasm_u16x8_max(even, v_larger_halves(wasm_v128_load(p), wasm_v128_load(p + 8)));
                odd = wasm_u16x8_max(odd, v_larger_halves(wasm_v128_load(p + 16), wasm_v128_load(p + 24)));
        }
        if (n)
                even = wasm_u16x8_max(even, v_larger_halves(wasm_v128_load(p), wasm_v128_load(p + 8)));
        return v_halves_are_finite(wasm_u16x8_max(even, odd));
}

/* not KERNEL: seldom called, from many places */
__attribute__((noinline, unused)) static v16 v_widen_special(const uint16_t *p)
{
        const v128_t lo = wasm_v128_load(p), hi = wasm_v128_load(p + 8);
        return (v16){v_widen_f16(wasm_u32x4_extend_low_u16x8(lo)), v_widen_f16(wasm_u32x4_extend_high_u16x8(lo)),
                     v_widen_f16(wasm_u32x4_extend_low_u16x8(hi)), v_widen_f16(wasm_u32x4_extend_high_u16x8(hi))};
}

/* Half precision numbers, widened exactly. */
KERNEL v16 v_load_f16(const uint16_t *p)
{
        if (__builtin_expect(!v_are_finite_f16(p, 16), 0))
                return v_widen_special(p);
        return v_load_finite_f16(p);
}

/* Four floats as half precision numbers in 32 bits each.  A normal half is what is left of the bits after rounding; a denormal one ends
 * where 0.5 does, and is added to it. */
KERNEL v128_t v_narrow_f16(v128_t x)
{
        v128_t magnitude = wasm_v128_and(x, wasm_i32x4_const_splat(0x7fffffff));
        v128_t to_nan = wasm_i32x4_gt(magnitude, wasm_i32x4_const_splat(0x7f800000));
        v128_t to_inf = wasm_i32x4_gt(magnitude, wasm_i32x4_const_splat(0x477fffff));
        v128_t to_denormal = wasm_i32x4_lt(magnitude, wasm_i32x4_const_splat(0x38800000));
        v128_t odd = wasm_v128_and(wasm_u32x4_shr(magnitude, 13), wasm_i32x4_const_splat(1));
        v128_t normal = wasm_i32x4_add(magnitude, wasm_i32x4_add(odd, wasm_i32x4_const_splat(0xfff - (112 << 23))));
        v128_t denormal = wasm_i32x4_sub(wasm_f32x4_add(magnitude, wasm_f32x4_const_splat(0.5f)),
                                         wasm_i32x4_const_splat(0x3f000000));
        v128_t half = wasm_v128_bitselect(denormal, wasm_u32x4_shr(normal, 13), to_denormal);
        half = wasm_v128_bitselect(wasm_i32x4_const_splat(0x7c00), half, to_inf);
        half = wasm_v128_or(half, wasm_v128_and(wasm_u32x4_shr(x, 16), wasm_i32x4_const_splat(0x8000)));
        return wasm_v128_bitselect(wasm_i32x4_const_splat(0x7e00), half, to_nan);
}

/* The lanes as half precision numbers, rounded to nearest even; any NaN becomes 0x7e00. */
KERNEL void v_store_f16(uint16_t *p, v16 x)
{
        wasm_v128_store(p, wasm_u16x8_narrow_i32x4(v_narrow_f16(x.a), v_narrow_f16(x.b)));
        wasm_v128_store(p + 8, wasm_u16x8_narrow_i32x4(v_narrow_f16(x.c), v_narrow_f16(x.d)));
}

/* One in all lanes. */
KERNEL v16 v_set1_f16(uint16_t half)
{
        v128_t x = v_widen_f16(wasm_i32x4_splat(half));
        return (v16){x, x, x, x};
}

/* Four integers of 16 bits, the lower or the upper half. */
KERNEL v128_t v_of_low(v128_t word)
{
        return wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(word));
}

KERNEL v128_t v_of_high(v128_t word)
{
        return wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(word));
}

/* Integers of 8 bits. */
KERNEL v16 v_load_i8(const int8_t *p)
{
        v128_t lo = wasm_i16x8_load8x8(p), hi = wasm_i16x8_load8x8(p + 8);
        return (v16){v_of_low(lo), v_of_high(lo), v_of_low(hi), v_of_high(hi)};
}

KERNEL v128_t v_load_upper(const uint16_t *p)
{
        return wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16);
}

/* bfloat16 numbers, widened exactly: the upper halves of floats. */
KERNEL v16 v_load_bf16(const uint16_t *p)
{
        return (v16){v_load_upper(p), v_load_upper(p + 4), v_load_upper(p + 8), v_load_upper(p + 12)};
}

/* Lane i is base[index[i] * stride]; the indices are whole numbers below 2^24. */
KERNEL v16 v_gather(const float *base, v16 index, ptrdiff_t stride)
{
        float lane[16];
        v_store(lane, index);
        for (int i = 0; i < 16; i++)
                lane[i] = base[(ptrdiff_t)lane[i] * stride];
        return v_load(lane);
}

/* There is no instruction that asks for a cache line. */
KERNEL void v_prefetch(const void *p)
{
        (void)p;
}

KERNEL void v_prefetch_near(const void *p)
{
        (void)p;
}

KERNEL v16 v_set1(float value)
{
        v128_t four = wasm_f32x4_splat(value);
        return (v16){four, four, four, four};
}

KERNEL v16 v_add(v16 a, v16 b)
{
        return V_QUARTERS(wasm_f32x4_add, a, b);
}

KERNEL v16 v_sub(v16 a, v16 b)
{
        return V_QUARTERS(wasm_f32x4_sub, a, b);
}

KERNEL v16 v_mul(v16 a, v16 b)
{
        return V_QUARTERS(wasm_f32x4_mul, a, b);
}

KERNEL v16 v_div(v16 a, v16 b)
{
        return V_QUARTERS(wasm_f32x4_div, a, b);
}

/* first, first + 1, ... first + 15 */
KERNEL v16 v_iota(float first)
{
        v16 lane = {wasm_f32x4_const(0, 1, 2, 3), wasm_f32x4_const(4, 5, 6, 7), wasm_f32x4_const(8, 9, 10, 11),
                    wasm_f32x4_const(12, 13, 14, 15)};
        return v_add(v_set1(first), lane);
}

/* a * b + c, rounded once */
#if defined(__wasm_relaxed_simd__)
typedef float VFloats __attribute__((vector_size(16)));
KERNEL v128_t v_relaxed_fma(v128_t a, v128_t b, v128_t c)
{
        return (v128_t)__builtin_wasm_relaxed_madd_f32x4((VFloats)a, (VFloats)b, (VFloats)c);
}
KERNEL v16 v_fma(v16 a, v16 b, v16 c)
{
        return (v16){v_relaxed_fma(a.a, b.a, c.a), v_relaxed_fma(a.b, b.b, c.b), v_relaxed_fma(a.c, b.c, c.c),
                     v_relaxed_fma(a.d, b.d, c.d)};
}
#else
/* Four sums in double. */
typedef struct {
        v128_t lo, hi;
} VDoubles;
KERNEL VDoubles v_doubles(v128_t x)
{
        return (VDoubles){wasm_f64x2_promote_low_f32x4(x), wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle(x, x, 1, 1))};
}
KERNEL v128_t v_floats(VDoubles x)
{
        return wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(x.lo), wasm_f32x4_demote_f64x2_zero(x.hi), 0, 2);
}
/* a * b + c in double: the product is exact, the sum is rounded. */
KERNEL VDoubles v_double_sum(v128_t a, v128_t b, v128_t c)
{
        VDoubles x = v_doubles(a), y = v_doubles(b), z = v_doubles(c);
        return (VDoubles){wasm_f64x2_add(wasm_f64x2_mul(x.lo, y.lo), z.lo), wasm_f64x2_add(wasm_f64x2_mul(x.hi, y.hi), z.hi)};
}
/* Ones where a double that is rounded to float may have been rounded twice: the bits that go are those of a tie, or the
 * magnitude is below 2^-125 but not 0 (moved by an overflow, 0 is the largest integer, and inf and NaN stay large). */
KERNEL v128_t v_in_doubt(VDoubles s)
{
        v128_t lower = wasm_i32x4_shuffle(s.lo, s.hi, 0, 2, 4, 6), upper = wasm_i32x4_shuffle(s.lo, s.hi, 1, 3, 5, 7);
        v128_t tie = wasm_i32x4_eq(wasm_i32x4_shl(lower, 3), v_kept(wasm_i32x4_const_splat(INT32_MIN)));
        v128_t moved = wasm_i32x4_add(wasm_i32x4_add(upper, upper), v_kept(wasm_i32x4_const_splat(INT32_MAX)));
        return wasm_v128_or(tie, wasm_i32x4_lt(moved, v_kept(wasm_i32x4_const_splat(2 * 0x38200000 + INT32_MIN - 1))));
}
/* p + c rounded to odd, so that rounding to float afterwards rounds as if once (see v16_scalar.h): cut towards 0, and the last
 * bit set if something was cut off.  The error is exact; it is NaN for inf, where nothing is cut. */
KERNEL v128_t v_odd_sum(v128_t p, v128_t c)
{
        v128_t s = wasm_f64x2_add(p, c), from_c = wasm_f64x2_sub(s, p);
        v128_t error = wasm_f64x2_add(wasm_f64x2_sub(p, wasm_f64x2_sub(s, from_c)), wasm_f64x2_sub(c, from_c));
        v128_t inexact = wasm_u64x2_shr(wasm_f64x2_lt(wasm_f64x2_const_splat(0), wasm_f64x2_abs(error)), 63);
        v128_t inward = wasm_v128_and(wasm_u64x2_shr(wasm_v128_xor(error, s), 63), inexact);
        return wasm_v128_or(wasm_i64x2_sub(s, inward), inexact);
}
KERNEL v128_t v_fma_odd(v128_t a, v128_t b, v128_t c)
{
        VDoubles x = v_doubles(a), y = v_doubles(b), z = v_doubles(c);
        return v_floats((VDoubles){v_odd_sum(wasm_f64x2_mul(x.lo, y.lo), z.lo), v_odd_sum(wasm_f64x2_mul(x.hi, y.hi), z.hi)});
}
/* not KERNEL: seldom called, from many places */
__attribute__((noinline, unused)) static v16 v_fma_in_doubt(v16 a, v16 b, v16 c)
{
        return (v16){v_fma_odd(a.a, b.a, c.a), v_fma_odd(a.b, b.b, c.b), v_fma_odd(a.c, b.c, c.c),
                     v_fma_odd(a.d, b.d, c.d)};
}
KERNEL v16 v_fma(v16 a, v16 b, v16 c)
{
        VDoubles s0 = v_double_sum(a.a, b.a, c.a), s1 = v_double_sum(a.b, b.b, c.b);
        VDoubles s2 = v_double_sum(a.c, b.c, c.c), s3 = v_double_sum(a.d, b.d, c.d);
        v128_t doubt = wasm_v128_or(wasm_v128_or(v_in_doubt(s0), v_in_doubt(s1)), wasm_v128_or(v_in_doubt(s2), v_in_doubt(s3)));
        if (__builtin_expect(wasm_v128_any_true(doubt), 0))
                return v_fma_in_doubt(a, b, c);
        return (v16){v_floats(s0), v_floats(s1), v_floats(s2), v_floats(s3)};
}
#endif

/* a > b ? a : b, so b where either is NaN; the instruction takes x < y ? y : x */
KERNEL v16 v_max(v16 a, v16 b)
{
        return V_QUARTERS(wasm_f32x4_pmax, b, a);
}

/* a < b ? a : b, so b where either is NaN */
KERNEL v16 v_min(v16 a, v16 b)
{
        return V_QUARTERS(wasm_f32x4_pmin, b, a);
}

KERNEL v16 v_neg(v16 x)
{
        return V_QUARTERS1(wasm_f32x4_neg, x);
}

KERNEL v16 v_abs(v16 x)
{
        return V_QUARTERS1(wasm_f32x4_abs, x);
}

KERNEL v16 v_and(v16 a, v16 b)
{
        return V_QUARTERS(wasm_v128_and, a, b);
}

KERNEL v16 v_or(v16 a, v16 b)
{
        return V_QUARTERS(wasm_v128_or, a, b);
}

KERNEL v16 v_not(v16 a)
{
        v16 one = v_set1(1.0f);
        return V_QUARTERS(wasm_v128_xor, one, a);
}

/* The magnitude of x under the sign of s. */
KERNEL v16 v_copysign(v16 x, v16 s)
{
        return v_or(v_abs(x), v_and(v_set1(-0.0f), s));
}

KERNEL v16 v_sqrt(v16 x)
{
        return V_QUARTERS1(wasm_f32x4_sqrt, x);
}

/* a where the mask has ones, else b */
KERNEL v16 v_select(v16 mask, v16 a, v16 b)
{
        return (v16){wasm_v128_bitselect(a.a, b.a, mask.a), wasm_v128_bitselect(a.b, b.b, mask.b),
                     wasm_v128_bitselect(a.c, b.c, mask.c), wasm_v128_bitselect(a.d, b.d, mask.d)};
}

/* To the nearest integer, ties to even; the sign of zero is that of x. */
KERNEL v16 v_rint(v16 x)
{
        return V_QUARTERS1(wasm_f32x4_nearest, x);
}

KERNEL v16 v_floor(v16 x)
{
        return V_QUARTERS1(wasm_f32x4_floor, x);
}

/* Comparisons give 1 or 0; with a NaN on either side, 0. */
KERNEL v16 v_lt(v16 a, v16 b)
{
        return v_and(V_QUARTERS(wasm_f32x4_lt, a, b), v_set1(1.0f));
}

KERNEL v16 v_le(v16 a, v16 b)
{
        return v_and(V_QUARTERS(wasm_f32x4_le, a, b), v_set1(1.0f));
}

/* 1 where a == b or both are NaN, else 0 */
KERNEL v16 v_eq(v16 a, v16 b)
{
        v16 equal = V_QUARTERS(wasm_f32x4_eq, a, b);
        v16 both_nan = v_and(V_QUARTERS(wasm_f32x4_ne, a, a), V_QUARTERS(wasm_f32x4_ne, b, b));
        return v_and(v_or(equal, both_nan), v_set1(1.0f));
}

/* c != 0 ? a : b */
KERNEL v16 v_where(v16 c, v16 a, v16 b)
{
        v16 zero = v_set1(0.0f);
        return v_select(V_QUARTERS(wasm_f32x4_ne, c, zero), a, b);
}

/* x < y ? a : b in one step, so b where x or y is NaN */
KERNEL v16 v_where_lt(v16 x, v16 y, v16 a, v16 b)
{
        return v_select(V_QUARTERS(wasm_f32x4_lt, x, y), a, b);
}

/* Whole numbers, moved to where a float keeps its exponent.  A NaN becomes 0. */
KERNEL v128_t v_exponent_field(v128_t n)
{
        return wasm_i32x4_shl(wasm_i32x4_trunc_sat_f32x4(n), 23);
}

/* 2^n for whole n, -126 <= n <= 127; +0 for NaN */
KERNEL v16 v_pow2i(v16 n)
{
        v16 biased = v_add(n, v_set1(127.0f));
        return V_QUARTERS1(v_exponent_field, biased);
}

/* x * 2^n for normal x, whole n and a normal result, by way of the exponent field; x where n is NaN */
KERNEL v16 v_scale2(v16 x, v16 n)
{
        v16 shift = V_QUARTERS1(v_exponent_field, n);
        return V_QUARTERS(wasm_i32x4_add, x, shift);
}

/* The exponent field of a magnitude, as a float. */
KERNEL v128_t v_biased_exponent(v128_t magnitude)
{
        return wasm_f32x4_convert_i32x4(wasm_u32x4_shr(magnitude, 23));
}

/* The exponent field without its bias: floor(log2 |x|) where x is normal, -127 below, 128 for inf and NaN. */
KERNEL v16 v_exponent(v16 x)
{
        v16 magnitude = v_abs(x);
        return v_sub(V_QUARTERS1(v_biased_exponent, magnitude), v_set1(127.0f));
}

/* The fraction field under the exponent of 1: |x| / 2^exponent in [1, 2) where x is normal. */
KERNEL v16 v_mantissa(v16 x)
{
        v128_t fraction = wasm_i32x4_const_splat(0x007fffff);
        return v_or(v_and(x, (v16){fraction, fraction, fraction, fraction}), v_set1(1.0f));
}

/* The sum of the lanes by the fixed tree: t[i] += t[i + s] for s = 8, 4, 2, 1. */
KERNEL float v_sum(v16 x)
{
        v128_t four = wasm_f32x4_add(wasm_f32x4_add(x.a, x.c), wasm_f32x4_add(x.b, x.d));
        v128_t two = wasm_f32x4_add(four, wasm_i64x2_shuffle(four, four, 1, 1));
        return wasm_f32x4_extract_lane(two, 0) + wasm_f32x4_extract_lane(two, 1);
}

/* The maximum of the lanes by the same tree: t[i] = t[i] > t[i + s] ? t[i] : t[i + s]. */
KERNEL float v_maxof(v16 x)
{
        v128_t four = wasm_f32x4_pmax(wasm_f32x4_pmax(x.d, x.b), wasm_f32x4_pmax(x.c, x.a));
        v128_t two = wasm_f32x4_pmax(wasm_i64x2_shuffle(four, four, 1, 1), four);
        float a = wasm_f32x4_extract_lane(two, 0), b = wasm_f32x4_extract_lane(two, 1);
        return a > b ? a : b;
}
