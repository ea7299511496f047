/* Products of codes on NEON with SDOT.  They are defined in dot_scalar.h. */

#define DOT_OFFSET 0
#define DOT_PAIRS 0
#define DOT_LINES 0

/* In the assembler's words: clang before 16 has the intrinsic only where the whole file is for such processors. */
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
