/*
 * Wide integers: beyond 2^24, where floats are no longer exact.  A f64x16 is sixteen doubles, exact below 2^53, in portable C; the
 * compiler draws a loop over lanes together.  A truth is 0 or 1 here too.
 *
 * Needs guard.h, a v16 header and rows.h.
 */
typedef struct {
        double lane[16];
} f64x16;

KERNEL f64x16 w_of_v(v16 x)
{
        float lane[16];
        f64x16 r;
        v_store(lane, x);
        for (int i = 0; i < 16; i++)
                r.lane[i] = (double)lane[i];
        return r;
}

/* Rounded to nearest where floats are not exact. */
KERNEL v16 v_of_w(f64x16 x)
{
        float lane[16];
        for (int i = 0; i < 16; i++)
                lane[i] = (float)x.lane[i];
        return v_load(lane);
}

KERNEL f64x16 w_load(const double *p)
{
        f64x16 r;
        for (int i = 0; i < 16; i++)
                r.lane[i] = p[i];
        return r;
}

/* Lane i is p[i * stride] for i < n, 0 above. */
KERNEL f64x16 w_load_strided(const double *p, ptrdiff_t stride, int n)
{
        f64x16 r;
        for (int i = 0; i < 16; i++)
                r.lane[i] = i < n ? p[i * stride] : 0.0;
        return r;
}

KERNEL f64x16 w_load_n(const double *p, int n)
{
        return w_load_strided(p, 1, n);
}

KERNEL void w_store_strided(double *p, ptrdiff_t stride, f64x16 x, int n)
{
        for (int i = 0; i < n; i++)
                p[i * stride] = x.lane[i];
}

KERNEL void w_store(double *p, f64x16 x)
{
        w_store_strided(p, 1, x, 16);
}

KERNEL void w_store_n(double *p, f64x16 x, int n)
{
        w_store_strided(p, 1, x, n);
}

KERNEL f64x16 w_set1(double value)
{
        f64x16 r;
        for (int i = 0; i < 16; i++)
                r.lane[i] = value;
        return r;
}

KERNEL f64x16 w_iota(double first)
{
        f64x16 r;
        for (int i = 0; i < 16; i++)
                r.lane[i] = first + i;
        return r;
}

KERNEL f64x16 w_neg(f64x16 a)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = -a.lane[i];
        return a;
}

KERNEL f64x16 w_add(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] + b.lane[i];
        return a;
}

KERNEL f64x16 w_sub(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] - b.lane[i];
        return a;
}

KERNEL f64x16 w_mul(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] * b.lane[i];
        return a;
}

KERNEL f64x16 w_max(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
        return a;
}

KERNEL f64x16 w_min(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i];
        return a;
}

/* The largest whole number that is not above x; x itself where it is whole, infinite or NaN. */
KERNEL double whole_below(double x)
{
        if (!(x > -0x1p52 && x < 0x1p52))
                return x;
        double whole = (double)(int64_t)x;
        return whole > x ? whole - 1 : whole < x ? whole : x;
}

KERNEL f64x16 w_floordiv(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = whole_below(a.lane[i] / b.lane[i]);
        return a;
}

KERNEL f64x16 w_mod(f64x16 a, f64x16 b)
{
        return w_sub(a, w_mul(b, w_floordiv(a, b)));
}

KERNEL f64x16 w_lt(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] < b.lane[i] ? 1.0 : 0.0;
        return a;
}

KERNEL f64x16 w_le(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = a.lane[i] <= b.lane[i] ? 1.0 : 0.0;
        return a;
}

/* NaN equals NaN. */
KERNEL f64x16 w_eq(f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++) {
                double x = a.lane[i], y = b.lane[i];
                a.lane[i] = x == y || (x != x && y != y) ? 1.0 : 0.0;
        }
        return a;
}

KERNEL f64x16 w_where(f64x16 c, f64x16 a, f64x16 b)
{
        for (int i = 0; i < 16; i++)
                a.lane[i] = c.lane[i] != 0 ? a.lane[i] : b.lane[i];
        return a;
}

/* The first n lanes of x, and `rest` in the others. */
KERNEL f64x16 w_keep(f64x16 x, int n, double rest)
{
        for (int i = n; i < 16; i++)
                x.lane[i] = rest;
        return x;
}

KERNEL double w_sum(f64x16 x)
{
        double sum = 0;
        for (int i = 0; i < 16; i++)
                sum += x.lane[i];
        return sum;
}

KERNEL double w_maxof(f64x16 x)
{
        double most = -FLOAT_INF;
        for (int i = 0; i < 16; i++)
                most = most > x.lane[i] ? most : x.lane[i];
        return most;
}

KERNEL double w_first(f64x16 x)
{
        return x.lane[0];
}

/* Indices within an axis, as clamp_index has them. */
KERNEL f64x16 w_clamp(f64x16 x, double last)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] = !(x.lane[i] > 0) ? 0 : x.lane[i] < last ? x.lane[i] : last;
        return x;
}

/* Lane i is base[index[i]]. */
KERNEL f64x16 w_gather(const double *base, f64x16 index)
{
        for (int i = 0; i < 16; i++)
                index.lane[i] = base[(ptrdiff_t)index.lane[i]];
        return index;
}

KERNEL v16 v_gather_wide(const float *base, f64x16 index)
{
        for (int i = 0; i < 16; i++)
                index.lane[i] = (double)base[(ptrdiff_t)index.lane[i]];
        return v_of_w(index);
}

KERNEL v16 v_gather_i32_wide(const int32_t *base, f64x16 index)
{
        for (int i = 0; i < 16; i++)
                index.lane[i] = (double)base[(ptrdiff_t)index.lane[i]];
        return v_of_w(index);
}
