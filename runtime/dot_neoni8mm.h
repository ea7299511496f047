/* Products of codes on NEON with SMMLA, which takes two rows of activations at once.  They are defined in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 1
#define DOT_LINES 0

/* Single rows: as dot_neondot.h has them. */
KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        const int8x16_t four = n_four(x);
        for (int i = 0; i < 4; i++)
                __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum.q[i]) : "w"(w.q[i]), "w"(four));
        return sum;
}

KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        return n_dot_signed(n_dot_signed(sum, low, x), high, x + 4);
}

/* Two rows' sums: while products are added, two[0].q[i] holds outputs 4 i and 4 i + 1 of both rows, two[1].q[i] the next two outputs
 * them.  Brings them from and to the order of n16. */
KERNEL void n_turn_pair(n16 two[2])
{
        for (int i = 0; i < 4; i++) {
                const int64x2_t a = vreinterpretq_s64_s32(two[0].q[i]),
                                b = vreinterpretq_s64_s32(two[1].q[i]);
                two[0].q[i] = vreinterpretq_s32_s64(vzip1q_s64(a, b));
                two[1].q[i] = vreinterpretq_s32_s64(vzip2q_s64(a, b));
        }
}

/* Eight codes, with a sign, of each of 16 outputs by eight activations of each of two rows. */
KERNEL void n_dot_pair(n16 two[2], c64 low, c64 high, const int8_t *x0, const int8_t *x1)
{
        const int8x16_t x = vcombine_s8(vld1_s8(x0), vld1_s8(x1));
        for (int i = 0; i < 4; i++) {
                const uint32x4_t first = vreinterpretq_u32_u8(low.q[i]),
                                 then = vreinterpretq_u32_u8(high.q[i]);
                const uint32x4_t a = vzip1q_u32(first, then), b = vzip2q_u32(first, then);
                __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(two[0].q[i]) : "w"(x), "w"(a));
                __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(two[1].q[i]) : "w"(x), "w"(b));
        }
}
