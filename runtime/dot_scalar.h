/*
 * Sums of products of codes, in plain C: what sets apart targets that share an n16 header, which it needs.
 */

#define DOT_OFFSET 0

/* sum + the four codes of each lane, 0 to 127, by the four activations at x. */
KERNEL n16 n_dot(n16 sum, c64 w, const int8_t *x)
{
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 4; j++)
                        sum.lane[i] += (int32_t)w.byte[4 * i + j] * x[j];
        return sum;
}

/* The same for codes from -128 to 127, each taken for DOT_OFFSET more than it is: what a sum begins with makes up for it. */
KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 4; j++)
                        sum.lane[i] += (int32_t)(int8_t)w.byte[4 * i + j] * x[j];
        return sum;
}
