/* n16 and c64 on NEON: four registers each.  They are defined in n16_scalar.h. */

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

/* Loops over rows are unrolled, so that sums are registers. */
#define UNROLL_ROWS UNROLL

typedef struct {
        int32x4_t q[4];
} n16;

typedef struct {
        uint8x16_t q[4];
} c64;

KERNEL n16 n_set1(int32_t value)
{
        const int32x4_t x = vdupq_n_s32(value);
        return (n16){{x, x, x, x}};
}

KERNEL v16 v_of_n(n16 x)
{
        return (v16){vcvtq_f32_s32(x.q[0]), vcvtq_f32_s32(x.q[1]), vcvtq_f32_s32(x.q[2]),
                     vcvtq_f32_s32(x.q[3])};
}

KERNEL c64 c_load(const uint8_t *p)
{
        return (c64){{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
}

KERNEL c64 c_low(c64 x)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = vandq_u8(x.q[i], vdupq_n_u8(15));
        return x;
}

KERNEL c64 c_high(c64 x)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = vshrq_n_u8(x.q[i], 4);
        return x;
}

KERNEL c64 c_look(const uint8_t table[16], c64 x)
{
        const uint8x16_t t = vld1q_u8(table);
        for (int i = 0; i < 4; i++)
                x.q[i] = vqtbl1q_u8(t, x.q[i]);
        return x;
}

KERNEL c64 c_bits(c64 x, int from, int n, int to)
{
        const uint8x16_t mask = vdupq_n_u8((uint8_t)(((1 << n) - 1) << to));
        for (int i = 0; i < 4; i++)
                x.q[i] = vandq_u8(vshlq_u8(x.q[i], vdupq_n_s8((int8_t)(to - from))), mask);
        return x;
}

KERNEL c64 c_or(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = vorrq_u8(a.q[i], b.q[i]);
        return a;
}

KERNEL c64 c_words(const uint8_t *p)
{
        const uint8x16_t x = vld1q_u8(p);
        const uint16x8_t lo = vmovl_u8(vget_low_u8(x)), hi = vmovl_high_u8(x);
        return (c64){{vreinterpretq_u8_u32(vmovl_u16(vget_low_u16(lo))), vreinterpretq_u8_u32(vmovl_high_u16(lo)),
                      vreinterpretq_u8_u32(vmovl_u16(vget_low_u16(hi))), vreinterpretq_u8_u32(vmovl_high_u16(hi))}};
}

KERNEL c64 c_shift(c64 x, int by)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = vreinterpretq_u8_u32(vshlq_u32(vreinterpretq_u32_u8(x.q[i]), vdupq_n_s32(by)));
        return x;
}

KERNEL c64 c_and(c64 x, uint32_t mask)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = vandq_u8(x.q[i], vreinterpretq_u8_u32(vdupq_n_u32(mask)));
        return x;
}

KERNEL c64 c_xor(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = veorq_u8(a.q[i], b.q[i]);
        return a;
}

KERNEL c64 c_add(c64 a, c64 b)
{
        for (int i = 0; i < 4; i++)
                a.q[i] = vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(a.q[i]), vreinterpretq_u32_u8(b.q[i])));
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

/* Four activations in every lane. */
KERNEL int8x16_t n_four(const int8_t *x)
{
        int32_t four;
        memcpy(&four, x, 4);
        return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

KERNEL c64 c_pairs(const uint8_t a[16], const uint8_t b[16], int with_sign)
{
        const uint8x16_t half[2] = {vzip1q_u8(vld1q_u8(a), vld1q_u8(b)), vzip2q_u8(vld1q_u8(a), vld1q_u8(b))};
        c64 r;
        for (int i = 0; i < 4; i++) {
                const uint8x8_t from = i % 2 ? vget_high_u8(half[i / 2]) : vget_low_u8(half[i / 2]);
                r.q[i] = with_sign ? vreinterpretq_u8_s16(vmovl_s8(vreinterpret_s8_u8(from)))
                                   : vreinterpretq_u8_u16(vmovl_u8(from));
        }
        return r;
}

KERNEL c64 c_scales(const uint8_t scale[16], int with_sign, int most UNUSED)
{
        return c_pairs(scale, scale, with_sign);
}

KERNEL n16 n_add_pairs(n16 sum, c64 pairs, const int16_t x[2])
{
        int32_t two;
        memcpy(&two, x, 4);
        const int16x8_t by = vreinterpretq_s16_s32(vdupq_n_s32(two));
        for (int i = 0; i < 4; i++) {
                const int16x8_t p = vreinterpretq_s16_u8(pairs.q[i]);
                sum.q[i] = vaddq_s32(sum.q[i], vpaddq_s32(vmull_s16(vget_low_s16(p), vget_low_s16(by)),
                                                          vmull_high_s16(p, by)));
        }
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
                sum.q[i] = vmlaq_s32(sum.q[i], x.q[i], vshrq_n_s32(vreinterpretq_s32_u8(scales.q[i]), 16));
        return sum;
}

KERNEL n16 n_minus_shifted(n16 x, int bits)
{
        for (int i = 0; i < 4; i++)
                x.q[i] = vnegq_s32(vshlq_s32(x.q[i], vdupq_n_s32(bits)));
        return x;
}

KERNEL int32_t n_codes(int8_t *to, v16 x)
{
        const int32x4_t a = vcvtnq_s32_f32(x.a), b = vcvtnq_s32_f32(x.b), c = vcvtnq_s32_f32(x.c),
                        d = vcvtnq_s32_f32(x.d);
        int16x8_t lo = vcombine_s16(vmovn_s32(a), vmovn_s32(b)),
                  hi = vcombine_s16(vmovn_s32(c), vmovn_s32(d));
        vst1q_s8(to, vcombine_s8(vmovn_s16(lo), vmovn_s16(hi)));
        return vaddvq_s32(vaddq_s32(vaddq_s32(a, b), vaddq_s32(c, d)));
}
