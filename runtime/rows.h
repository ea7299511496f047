/*
 * What the emitted functions share besides kernels: work for a thread, indices kept in range, rows of few operations.
 *
 * Needs guard.h, a v16 header and math.h.
 */

/* Where thread `thread` of `threads` begins in `total` pieces of work; thread + 1's beginning is its end. */
KERNEL int64_t share(int64_t total, int thread, int threads)
{
        return total * thread / threads;
}

/* Of the pieces up to `end` of several kinds laid end to end, those of the kind that begins at `first` and has `count`. */
KERNEL int part(int64_t end, int64_t first, int64_t count)
{
        int64_t n = end - first;
        return (int)(n < 0 ? 0 : n < count ? n : count);
}

KERNEL float v_first(v16 x)
{
        float lane[16];
        v_store(lane, x);
        return lane[0];
}

/* An index from a value: whole, and within an axis of n. */
KERNEL int64_t clamp_index(double x, int64_t n)
{
        return !(x > 0) ? 0 : x < (double)(n - 1) ? (int64_t)x : n - 1;
}

KERNEL v16 v_clamp(v16 x, float last)
{
        return v_min(v_max(x, v_set1(0.0f)), v_set1(last));
}

/* The first n lanes of x, and `rest` in the others. */
KERNEL v16 v_keep(v16 x, int n, float rest)
{
        return v_where_lt(v_iota(0.0f), v_set1((float)n), x, v_set1(rest));
}

/* Lane i is p[i * stride] for i < n, 0 above. */
KERNEL v16 v_load_i32_strided(const int32_t *p, ptrdiff_t stride, int n)
{
        float lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = (float)p[i * stride];
        return v_load(lane);
}

/* Lane i is base[index[i] * stride], as v_gather has it. */
KERNEL v16 v_gather_i32(const int32_t *base, v16 index, ptrdiff_t stride)
{
        float lane[16];
        v_store(lane, index);
        for (int i = 0; i < 16; i++)
                lane[i] = (float)base[(ptrdiff_t)lane[i] * stride];
        return v_load(lane);
}

/* exp(x - most): 0, never a NaN, where x is -inf. */
KERNEL v16 v_soft(v16 x, v16 most)
{
        v16 e = v_exp(v_sub(x, most));
        return v_where(v_eq(x, v_set1(-FLOAT_INF)), v_set1(0.0f), e);
}

/* x / sum: 0, never a NaN, where the sum is 0. */
KERNEL v16 v_part(v16 x, v16 sum)
{
        return v_where(v_eq(sum, v_set1(0.0f)), v_set1(0.0f), v_div(x, sum));
}

/* An integer that orders floats: NaN is the largest, and 0 equals -0. */
KERNEL uint32_t top_order(float x)
{
        const union {
                float value;
                uint32_t bits;
        } of = {x};
        uint32_t bits = of.bits;
        if ((bits & 0x7fffffffu) > 0x7f800000u)
                return 0xffffffffu;
        if (bits == 0x80000000u)
                bits = 0;
        return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/*
 * The k-th largest order of x [n], where 1 <= k <= n; *left: how many of the elements with this order are among the k largest.  Finds 11, 11
 * and 10 bits of it, from the highest, by the number of elements with each value of these bits.
 */
KERNEL uint32_t top_threshold(const float *x, int64_t x_step, int64_t n, int64_t k, int64_t *left)
{
        uint32_t found = 0, known = 0;
        for (int shift = 21; shift >= 0; shift = shift > 10 ? shift - 11 : shift - 10) {
                const uint32_t mask = shift == 0 ? 0x3ffu : 0x7ffu;
                int64_t count[2048] = {0};
                for (int64_t i = 0; i < n; i++) {
                        const uint32_t order = top_order(x[i * x_step]);
                        if ((order & known) == found)
                                count[order >> shift & mask]++;
                }
                uint32_t at = mask;
                for (; count[at] < k; at--)
                        k -= count[at];
                found |= at << shift;
                known |= mask << shift;
        }
        *left = k;
        return found;
}

/* y[i] = 1 if x[i] is among the k largest of x [n], else 0; of equals the first count, and a NaN is larger than numbers. */
SHARED void top_of(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n, int64_t k)
{
        int64_t left = 0;
        const uint32_t least = k < n ? top_threshold(x, x_step, n, k, &left) : 0;
        for (int64_t i = 0; i < n; i++) {
                const uint32_t order = top_order(x[i * x_step]);
                y[i * y_step] = k >= n || order > least || (order == least && left-- > 0) ? 1.0f : 0.0f;
        }
}

/* The indices of the k largest of x [n], in the same way, ascending; the rest of the list is -1. */
SHARED void chosen_of(float *list, int64_t list_step, const float *x, int64_t x_step, int64_t n, int64_t k)
{
        int64_t left = 0, count = 0;
        const uint32_t least = k < n ? top_threshold(x, x_step, n, k, &left) : 0;
        for (int64_t i = 0; i < n; i++) {
                const uint32_t order = top_order(x[i * x_step]);
                if (k >= n || order > least || (order == least && left-- > 0))
                        list[count++ * list_step] = (float)i;
        }
        for (; count < k; count++)
                list[count * list_step] = -1.0f;
}

/* y[i] = 1 if i is in the list of k indices, else 0, for i < n. */
SHARED void among_of(float *y, int64_t y_step, const float *list, int64_t list_step, int64_t n, int64_t k)
{
        for (int64_t i = 0; i < n; i++)
                y[i * y_step] = 0.0f;
        for (int64_t i = 0; i < k && list[i * list_step] >= 0.0f; i++)
                if ((int64_t)list[i * list_step] < n)
                        y[(int64_t)list[i * list_step] * y_step] = 1.0f;
}

/* The first index of the maximum of x [n]. */
KERNEL int64_t argmax_of(const float *x, int64_t x_step, int64_t n)
{
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
                if (x[i * x_step] > x[best * x_step])
                        best = i;
        return best;
}
