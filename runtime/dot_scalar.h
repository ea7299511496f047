/*
 * Sums of products of codes, in plain C: they differ between targets with the same n16 header, which this file needs.
 */

#define DOT_OFFSET 0
#define DOT_PAIRS 0
#define DOT_LINES 0

/* sum + the eight codes of each lane, 0 to 63, four of each line, by the eight activations at x: two products of each line fit 16 bits
 * together. */
KERNEL n16 n_dot_two(n16 sum, c64 low, c64 high, const int8_t *x)
{
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 4; j++)
                        sum.lane[i] += (int32_t)low.byte[4 * i + j] * x[j] +
                                       (int32_t)high.byte[4 * i + j] * x[4 + j];
        return sum;
}

/* sum + the four codes of each lane, -128 to 127, by the four activations at x. Each code is taken for DOT_OFFSET more than it is: what a
 * sum begins with makes up for it. */
KERNEL n16 n_dot_signed(n16 sum, c64 w, const int8_t *x)
{
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 4; j++)
                        sum.lane[i] += (int32_t)(int8_t)w.byte[4 * i + j] * x[j];
        return sum;
}
