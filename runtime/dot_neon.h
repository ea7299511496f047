/* Products of codes on NEON.  They are defined in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 0
#define DOT_LINES 0

KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        const int8x16_t four = n_four(x);
        for (int i = 0; i < 4; i++) {
                const int8x16_t codes = vreinterpretq_s8_u8(w.q[i]);
                int32x4_t lo = vpaddlq_s16(vmull_s8(vget_low_s8(codes), vget_low_s8(four)));
                int32x4_t hi = vpaddlq_s16(vmull_high_s8(codes, four));
                sum.q[i] = vaddq_s32(sum.q[i], vpaddq_s32(lo, hi));
        }
        return sum;
}

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        return n_dot_signed(n_dot_signed(sum, low, x), high, x + 4);
}
