/*
 * 16-bit numbers that are not stored 16 in a row: widened exactly when loaded, rounded when stored.
 *
 * Needs a v16 header, rows.h and wide.h.
 */

/* Half precision numbers. */

/* A target that widens finite ones faster has these functions of its own; on others nothing is gained by looking. */
#if !defined(V_FINITE_F16)
KERNEL v16 v_load_finite_f16(const uint16_t *p)
{
        return v_load_f16(p);
}
#endif

#if !defined(V_FINITE_F16)
KERNEL int v_are_finite_f16(const uint16_t *p, int64_t n)
{
        (void)p, (void)n;
        return 0;
}
#endif

/* Lane i is p[i * stride] for i < n, 0 above. */
KERNEL v16 v_load_f16_strided(const uint16_t *p, ptrdiff_t stride, int n)
{
        uint16_t half[16] = {0};
        for (int i = 0; i < n; i++)
                half[i] = p[i * stride];
        return v_load_f16(half);
}

KERNEL v16 v_load_f16_n(const uint16_t *p, int n)
{
        return v_load_f16_strided(p, 1, n);
}

/* Lane i is base[index[i] * stride], as v_gather has it. */
KERNEL v16 v_gather_f16(const uint16_t *base, v16 index, ptrdiff_t stride)
{
        float lane[16];
        uint16_t half[16];
        v_store(lane, index);
        for (int i = 0; i < 16; i++)
                half[i] = base[(ptrdiff_t)lane[i] * stride];
        return v_load_f16(half);
}

KERNEL v16 v_gather_f16_wide(const uint16_t *base, f64x16 index)
{
        uint16_t half[16];
        for (int i = 0; i < 16; i++)
                half[i] = base[(ptrdiff_t)index.lane[i]];
        return v_load_f16(half);
}

KERNEL float f16_at(const uint16_t *p, int64_t at)
{
        return v_first(v_load_f16_n(p + at, 1));
}

/* p[i * stride] becomes lane i for i < n, rounded as v_store_f16 does. */
KERNEL void v_store_f16_strided(uint16_t *p, ptrdiff_t stride, v16 x, int n)
{
        uint16_t half[16];
        v_store_f16(half, x);
        for (int i = 0; i < n; i++)
                p[i * stride] = half[i];
}

KERNEL void v_store_f16_n(uint16_t *p, v16 x, int n)
{
        v_store_f16_strided(p, 1, x, n);
}

KERNEL void f16_put(uint16_t *p, int64_t at, float x)
{
        v_store_f16_n(p + at, v_set1(x), 1);
}

/* bfloat16 numbers. */

/* Lane i is p[i * stride] for i < n, 0 above. */
KERNEL v16 v_load_bf16_strided(const uint16_t *p, ptrdiff_t stride, int n)
{
        uint16_t half[16] = {0};
        for (int i = 0; i < n; i++)
                half[i] = p[i * stride];
        return v_load_bf16(half);
}

KERNEL v16 v_load_bf16_n(const uint16_t *p, int n)
{
        return v_load_bf16_strided(p, 1, n);
}

/* Lane i is base[index[i] * stride], as v_gather has it. */
KERNEL v16 v_gather_bf16(const uint16_t *base, v16 index, ptrdiff_t stride)
{
        float lane[16];
        uint16_t half[16];
        v_store(lane, index);
        for (int i = 0; i < 16; i++)
                half[i] = base[(ptrdiff_t)lane[i] * stride];
        return v_load_bf16(half);
}

KERNEL v16 v_gather_bf16_wide(const uint16_t *base, f64x16 index)
{
        uint16_t half[16];
        for (int i = 0; i < 16; i++)
                half[i] = base[(ptrdiff_t)index.lane[i]];
        return v_load_bf16(half);
}

KERNEL float bf16_at(const uint16_t *p, int64_t at)
{
        return v_first(v_load_bf16_n(p + at, 1));
}

/* Floats of 8 bits: sign, exponent, and 3 or 2 bits of a fraction.  A target with fast shifts of 16 bits has functions of its own. */
#if !defined(V_EIGHT_BITS)
/* Lane i is p[i] / 256: an exponent of 4 bits becomes the lower part of one of 5 bits, which is 8 less.  The largest code of each sign is
 * NaN, which a carry into the highest bit of the exponent makes. */
KERNEL v16 v_load_e4m3(const uint8_t *p)
{
        uint16_t half[16];
        for (int i = 0; i < 16; i++) {
                const unsigned rest = (p[i] & 127u) << 7;
                half[i] = (uint16_t)((p[i] & 128u) << 8 | rest | ((rest + 128) & 0x4000u));
        }
        return v_load_f16(half);
}
#endif

#if !defined(V_EIGHT_BITS)
/* Lane i is p[i], the upper half of a half precision number. */
KERNEL v16 v_load_e5m2(const uint8_t *p)
{
        uint16_t half[16];
        for (int i = 0; i < 16; i++)
                half[i] = (uint16_t)(p[i] << 8);
        return v_load_f16(half);
}
#endif
