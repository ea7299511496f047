/*
 * v16 on NEON (AArch64): four registers of four floats.  Every operation gives the bits of v16_scalar.h,
 * which defines it (any NaN counts as equal to any other).  Maxima and minima are compared and
 * selected, for the instructions of that name treat NaN and zeros differently.
 */

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
        float32x4_t a, b, c, d; /* lanes 0 to 3, 4 to 7, 8 to 11, 12 to 15 */
} v16;

#define V_LONG KERNEL

/* Applies an operation on one register to each quarter of its operands. */
#define V_QUARTERS1(op, x) ((v16){op((x).a), op((x).b), op((x).c), op((x).d)})

#define V_QUARTERS2(op, x, y) ((v16){op((x).a, (y).a), op((x).b, (y).b), op((x).c, (y).c), op((x).d, (y).d)})

#define V_QUARTERS3(op, x, y, z)                                                                             \
        ((v16){op((x).a, (y).a, (z).a), op((x).b, (y).b, (z).b), op((x).c, (y).c, (z).c),                    \
               op((x).d, (y).d, (z).d)})

KERNEL v16 v_load(const float *p)
{
        return (v16){vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}

KERNEL void v_store(float *p, v16 x)
{
        vst1q_f32(p, x.a);
        vst1q_f32(p + 4, x.b);
        vst1q_f32(p + 8, x.c);
        vst1q_f32(p + 12, x.d);
}

/* Lane i is p[i * stride] for i < n, else +0. */
KERNEL v16 v_load_strided(const float *p, ptrdiff_t stride, int n)
{
        float lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = p[i * stride];
        return v_load(lane);
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

/* Four times four neighbours: lane 4 i + j is p[i * step + j]. */
KERNEL v16 v_load_quarters(const float *p, ptrdiff_t step)
{
        return (v16){vld1q_f32(p), vld1q_f32(p + step), vld1q_f32(p + 2 * step), vld1q_f32(p + 3 * step)};
}

KERNEL void v_turn_quarter(float32x4_t *a, float32x4_t *b, float32x4_t *c, float32x4_t *d)
{
        const float32x4x2_t upper = vtrnq_f32(*a, *b), lower = vtrnq_f32(*c, *d);
        *a = vcombine_f32(vget_low_f32(upper.val[0]), vget_low_f32(lower.val[0]));
        *b = vcombine_f32(vget_low_f32(upper.val[1]), vget_low_f32(lower.val[1]));
        *c = vcombine_f32(vget_high_f32(upper.val[0]), vget_high_f32(lower.val[0]));
        *d = vcombine_f32(vget_high_f32(upper.val[1]), vget_high_f32(lower.val[1]));
}

/* Of four vectors each quarter is four rows of four: lane 4 i + j of x[k] and lane 4 i + k of x[j] change places. */
KERNEL void v_turn_quarters(v16 x[4])
{
        v_turn_quarter(&x[0].a, &x[1].a, &x[2].a, &x[3].a);
        v_turn_quarter(&x[0].b, &x[1].b, &x[2].b, &x[3].b);
        v_turn_quarter(&x[0].c, &x[1].c, &x[2].c, &x[3].c);
        v_turn_quarter(&x[0].d, &x[1].d, &x[2].d, &x[3].d);
}

/* The first n lanes (0 <= n <= 16); writes no more than n. */
KERNEL void v_store_n(float *p, v16 x, int n)
{
        v_store_strided(p, 1, x, n);
}

/* Integers as floats: exact up to 2^24, rounded to nearest beyond. */
KERNEL v16 v_load_i32(const int32_t *p)
{
        return (v16){vcvtq_f32_s32(vld1q_s32(p)), vcvtq_f32_s32(vld1q_s32(p + 4)),
                     vcvtq_f32_s32(vld1q_s32(p + 8)), vcvtq_f32_s32(vld1q_s32(p + 12))};
}

KERNEL v16 v_load_i32_n(const int32_t *p, int n)
{
        int32_t lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = p[i];
        return v_load_i32(lane);
}

/* Four half precision numbers, widened exactly. */
KERNEL float32x4_t v_widen_f16(const uint16_t *p)
{
        return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

KERNEL v16 v_load_f16(const uint16_t *p)
{
        return (v16){v_widen_f16(p), v_widen_f16(p + 4), v_widen_f16(p + 8), v_widen_f16(p + 12)};
}

/* Four floats as half precision numbers, rounded to nearest even; any NaN becomes 0x7e00. */
KERNEL uint16x4_t v_narrow_f16(float32x4_t x)
{
        float32x4_t to_nan = vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000));
        return vreinterpret_u16_f16(vcvt_f16_f32(vbslq_f32(vceqq_f32(x, x), x, to_nan)));
}

KERNEL void v_store_f16(uint16_t *p, v16 x)
{
        vst1_u16(p, v_narrow_f16(x.a));
        vst1_u16(p + 4, v_narrow_f16(x.b));
        vst1_u16(p + 8, v_narrow_f16(x.c));
        vst1_u16(p + 12, v_narrow_f16(x.d));
}

/* One in all lanes. */
KERNEL v16 v_set1_f16(uint16_t half)
{
        float32x4_t x = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half)));
        return (v16){x, x, x, x};
}

/* Integers of 8 bits. */
KERNEL v16 v_load_i8(const int8_t *p)
{
        int8x16_t byte = vld1q_s8(p);
        int16x8_t lo = vmovl_s8(vget_low_s8(byte)), hi = vmovl_s8(vget_high_s8(byte));
        return (v16){vcvtq_f32_s32(vmovl_s16(vget_low_s16(lo))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(lo))),
                     vcvtq_f32_s32(vmovl_s16(vget_low_s16(hi))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(hi)))};
}

/* Floats of 8 bits: see narrow.h. */
#define V_EIGHT_BITS

KERNEL v16 v_widen_halves(uint16x8_t lo, uint16x8_t hi)
{
        return (v16){vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(lo))), vcvt_f32_f16(vreinterpret_f16_u16(vget_high_u16(lo))),
                     vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(hi))), vcvt_f32_f16(vreinterpret_f16_u16(vget_high_u16(hi)))};
}

KERNEL uint16x8_t v_half_of_e4m3(int8x8_t code)
{
        const uint16x8_t half = vandq_u16(vshlq_n_u16(vreinterpretq_u16_s16(vmovl_s8(code)), 7), vdupq_n_u16(0xbf80));
        return vorrq_u16(half, vandq_u16(vaddq_u16(half, vdupq_n_u16(128)), vdupq_n_u16(0x4000)));
}

KERNEL v16 v_load_e4m3(const uint8_t *p)
{
        const int8x16_t code = vreinterpretq_s8_u8(vld1q_u8(p));
        return v_widen_halves(v_half_of_e4m3(vget_low_s8(code)), v_half_of_e4m3(vget_high_s8(code)));
}

KERNEL v16 v_load_e5m2(const uint8_t *p)
{
        const uint8x16_t code = vld1q_u8(p);
        return v_widen_halves(vshll_n_u8(vget_low_u8(code), 8), vshll_n_u8(vget_high_u8(code), 8));
}

/* Four bfloat16 numbers, widened exactly: the upper halves of four floats. */
KERNEL float32x4_t v_widen_bf16(const uint16_t *p)
{
        return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}

KERNEL v16 v_load_bf16(const uint16_t *p)
{
        return (v16){v_widen_bf16(p), v_widen_bf16(p + 4), v_widen_bf16(p + 8), v_widen_bf16(p + 12)};
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

/* Asks for the cache line at p; never faults, changes nothing. */
KERNEL void v_prefetch(const void *p)
{
        __builtin_prefetch(p);
}

KERNEL void v_prefetch_near(const void *p)
{
        __builtin_prefetch(p, 0, 2);
}

KERNEL v16 v_set1(float value)
{
        float32x4_t x = vdupq_n_f32(value);
        return (v16){x, x, x, x};
}

KERNEL v16 v_add(v16 a, v16 b)
{
        return V_QUARTERS2(vaddq_f32, a, b);
}

KERNEL v16 v_sub(v16 a, v16 b)
{
        return V_QUARTERS2(vsubq_f32, a, b);
}

KERNEL v16 v_mul(v16 a, v16 b)
{
        return V_QUARTERS2(vmulq_f32, a, b);
}

KERNEL v16 v_div(v16 a, v16 b)
{
        return V_QUARTERS2(vdivq_f32, a, b);
}

/* first, first + 1, ... first + 15 */
KERNEL v16 v_iota(float first)
{
        const float lane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        return v_add(v_set1(first), v_load(lane));
}

/* a * b + c, rounded once */
KERNEL v16 v_fma(v16 a, v16 b, v16 c)
{
        return V_QUARTERS3(vfmaq_f32, c, a, b);
}

/* a > b ? a : b, so b where either is NaN */
KERNEL float32x4_t v_max4(float32x4_t a, float32x4_t b)
{
        return vbslq_f32(vcgtq_f32(a, b), a, b);
}

KERNEL v16 v_max(v16 a, v16 b)
{
        return V_QUARTERS2(v_max4, a, b);
}

/* a < b ? a : b, so b where either is NaN */
KERNEL float32x4_t v_min4(float32x4_t a, float32x4_t b)
{
        return vbslq_f32(vcltq_f32(a, b), a, b);
}

KERNEL v16 v_min(v16 a, v16 b)
{
        return V_QUARTERS2(v_min4, a, b);
}

KERNEL v16 v_neg(v16 x)
{
        return V_QUARTERS1(vnegq_f32, x);
}

KERNEL v16 v_abs(v16 x)
{
        return V_QUARTERS1(vabsq_f32, x);
}

/* The magnitude of x under the sign of s. */
KERNEL float32x4_t v_copysign4(float32x4_t x, float32x4_t s)
{
        return vbslq_f32(vdupq_n_u32(0x80000000u), s, x);
}

KERNEL v16 v_copysign(v16 x, v16 s)
{
        return V_QUARTERS2(v_copysign4, x, s);
}

KERNEL v16 v_sqrt(v16 x)
{
        return V_QUARTERS1(vsqrtq_f32, x);
}

/* To the nearest integer, ties to even; the sign of zero is that of x. */
KERNEL v16 v_rint(v16 x)
{
        return V_QUARTERS1(vrndnq_f32, x);
}

KERNEL v16 v_floor(v16 x)
{
        return V_QUARTERS1(vrndmq_f32, x);
}

/* 1 in the lanes where the mask is all ones, else 0 */
KERNEL float32x4_t v_mask_to_one(uint32x4_t mask)
{
        return vreinterpretq_f32_u32(vandq_u32(mask, vreinterpretq_u32_f32(vdupq_n_f32(1.0f))));
}

KERNEL float32x4_t v_lt4(float32x4_t a, float32x4_t b)
{
        return v_mask_to_one(vcltq_f32(a, b));
}

/* Comparisons give 1 or 0; with a NaN on either side, 0. */
KERNEL v16 v_lt(v16 a, v16 b)
{
        return V_QUARTERS2(v_lt4, a, b);
}

KERNEL float32x4_t v_le4(float32x4_t a, float32x4_t b)
{
        return v_mask_to_one(vcleq_f32(a, b));
}

KERNEL v16 v_le(v16 a, v16 b)
{
        return V_QUARTERS2(v_le4, a, b);
}

KERNEL float32x4_t v_eq4(float32x4_t a, float32x4_t b)
{
        uint32x4_t one_number = vorrq_u32(vceqq_f32(a, a), vceqq_f32(b, b));
        return v_mask_to_one(vornq_u32(vceqq_f32(a, b), one_number));
}

/* 1 where a == b or both are NaN, else 0 */
KERNEL v16 v_eq(v16 a, v16 b)
{
        return V_QUARTERS2(v_eq4, a, b);
}

KERNEL float32x4_t v_and4(float32x4_t a, float32x4_t b)
{
        return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}

/* Logic on lanes that are 0 or 1, bit by bit. */
KERNEL v16 v_and(v16 a, v16 b)
{
        return V_QUARTERS2(v_and4, a, b);
}

KERNEL float32x4_t v_or4(float32x4_t a, float32x4_t b)
{
        return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}

KERNEL v16 v_or(v16 a, v16 b)
{
        return V_QUARTERS2(v_or4, a, b);
}

KERNEL float32x4_t v_not4(float32x4_t a)
{
        uint32x4_t one = vreinterpretq_u32_f32(vdupq_n_f32(1.0f));
        return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), one));
}

KERNEL v16 v_not(v16 a)
{
        return V_QUARTERS1(v_not4, a);
}

KERNEL float32x4_t v_where4(float32x4_t c, float32x4_t a, float32x4_t b)
{
        return vbslq_f32(vceqzq_f32(c), b, a);
}

/* c != 0 ? a : b */
KERNEL v16 v_where(v16 c, v16 a, v16 b)
{
        return V_QUARTERS3(v_where4, c, a, b);
}

/* x < y ? a : b in one step, so b where x or y is NaN */
KERNEL v16 v_where_lt(v16 x, v16 y, v16 a, v16 b)
{
        return (v16){vbslq_f32(vcltq_f32(x.a, y.a), a.a, b.a), vbslq_f32(vcltq_f32(x.b, y.b), a.b, b.b),
                     vbslq_f32(vcltq_f32(x.c, y.c), a.c, b.c), vbslq_f32(vcltq_f32(x.d, y.d), a.d, b.d)};
}

/* Whole numbers, moved to where a float keeps its exponent; 0 for NaN. */
KERNEL int32x4_t v_exponent_field(float32x4_t n)
{
        return vshlq_n_s32(vcvtq_s32_f32(n), 23);
}

KERNEL float32x4_t v_pow2i4(float32x4_t n)
{
        return vreinterpretq_f32_s32(v_exponent_field(vaddq_f32(n, vdupq_n_f32(127.0f))));
}

/* 2^n for whole n, -126 <= n <= 127; +0 for NaN */
KERNEL v16 v_pow2i(v16 n)
{
        return V_QUARTERS1(v_pow2i4, n);
}

KERNEL float32x4_t v_scale24(float32x4_t x, float32x4_t n)
{
        return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(x), v_exponent_field(n)));
}

/* x * 2^n for normal x, whole n and a normal result, by way of the exponent field; x where n is NaN */
KERNEL v16 v_scale2(v16 x, v16 n)
{
        return V_QUARTERS2(v_scale24, x, n);
}

KERNEL float32x4_t v_exponent4(float32x4_t x)
{
        uint32x4_t biased = vshrq_n_u32(vreinterpretq_u32_f32(vabsq_f32(x)), 23);
        return vsubq_f32(vcvtq_f32_u32(biased), vdupq_n_f32(127.0f));
}

/* The exponent field without its bias: floor(log2 |x|) where x is normal, -127 below, 128 for inf and NaN. */
KERNEL v16 v_exponent(v16 x)
{
        return V_QUARTERS1(v_exponent4, x);
}

KERNEL float32x4_t v_mantissa4(float32x4_t x)
{
        return vbslq_f32(vdupq_n_u32(0x007fffffu), x, vdupq_n_f32(1.0f));
}

/* The fraction field under the exponent of 1: |x| / 2^exponent in [1, 2) where x is normal. */
KERNEL v16 v_mantissa(v16 x)
{
        return V_QUARTERS1(v_mantissa4, x);
}

/* The sum of the lanes by the fixed tree: t[i] += t[i + s] for s = 8, 4, 2, 1. */
KERNEL float v_sum(v16 x)
{
        float32x4_t four = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
        float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
        return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

/* The maximum of the lanes by the same tree: t[i] = t[i] > t[i + s] ? t[i] : t[i + s]. */
KERNEL float v_maxof(v16 x)
{
        float32x4_t four = v_max4(v_max4(x.a, x.c), v_max4(x.b, x.d));
        float32x2_t low = vget_low_f32(four), high = vget_high_f32(four);
        float32x2_t two = vbsl_f32(vcgt_f32(low, high), low, high);
        float first = vget_lane_f32(two, 0), second = vget_lane_f32(two, 1);
        return first > second ? first : second;
}
