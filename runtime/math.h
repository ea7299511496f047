/*
 * exp, log, sin, cos, tanh, erf, atan and pow on v16, made of correctly rounded operations only, so that libm never
 * decides a bit and every machine computes the same.
 *
 * The polynomials are minimax fits (Remez's exchange) in float coefficients.  The bounds in ulp are measured
 * against double libm by tests/runtime/math-accuracy.c, which fails above them.  A result that exp would have
 * to return as a denormal is +0: denormal arithmetic is slow, and no model lives on it.  NaN stays NaN.
 *
 * exp is V_LONG: forced inline where multiply-adds are instructions, for softmax is made of it; the others are long, and the compiler
 * may call them.  Comes after guard.h and one of the v16 headers.
 */

#define FLOAT_INF (1.0f / 0.0f)

#define FLOAT_MINUS_INF (-1.0f / 0.0f) /* tcc takes no -FLOAT_INF where a table is filled */

#define FLOAT_NAN (0.0f / 0.0f)

/* x with every NaN made the same one, 0x7fc00000: before bits are hashed or compared. */
KERNEL v16 v_canonical(v16 x)
{
        return v_where(v_le(x, x), x, v_abs(v_set1(FLOAT_NAN)));
}

/* Asks whether this build, on this machine, in its present floating-point state, rounds as the contract says:
 * 0, or the sum of 1 (multiply and add are contracted), 2 (denormals are flushed), 4 (rounding is not to
 * nearest) and 8 (fma rounds twice).  The operands are volatile, so that the machine answers and not the
 * compiler. */
KERNEL int float_check(void)
{
        volatile float one_plus = 1.0f + 0x1p-12f, minus_square = -(1.0f + 0x1p-11f), one = 1.0f;
        volatile float little = 0x1p-100f, huge = 0x1p100f, half_ulp = 0x1p-24f, more = 0x1.8p-24f;
        v16 a = v_set1(one_plus), c = v_set1(minus_square);
        int faults = 0;
        /* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 is a tie, rounded down to even */
        if (v_sum(v_add(v_mul(a, a), c)) != 0.0f || one_plus * one_plus + minus_square != 0.0f)
                faults |= 1;
        volatile float denormal = v_sum(v_mul(v_set1(little), v_set1(0x1p-40f)));
        if (v_sum(v_mul(v_set1(denormal), v_set1(huge))) != 0x1p-32f)
                faults |= 2;
        v16 up = v_add(v_set1(one), v_set1(more)), even = v_add(v_set1(one), v_set1(half_ulp));
        if (v_maxof(even) != 1.0f || v_maxof(up) != 1.0f + 0x1p-23f || one - half_ulp * 0.5f != 1.0f)
                faults |= 4;
        if (v_maxof(v_fma(a, a, c)) != 0x1p-24f)
                faults |= 8;
        return faults;
}

/* e^(x + low) without care for the ends: n = rint(x / ln 2), r = x - n ln 2 + low, e^r 2^n.  The low part is
 * below half an ulp of x or so.  Right for -87 <= x <= 88.72283. */
V_LONG v16 v_exp_core(v16 x, v16 low)
{
        v16 n = v_rint(v_mul(x, v_set1(0x1.715476p+0f)));
        v16 r = v_fma(n, v_set1(-0x1.62e43p-1f), x);
        r = v_add(v_fma(n, v_set1(0x1.05c61p-29f), r), low);
        v16 p = v_set1(0x1.a0d2cep-13f);
        p = v_fma(p, r, v_set1(0x1.6e879cp-10f));
        p = v_fma(p, r, v_set1(0x1.1112100p-7f));
        p = v_fma(p, r, v_set1(0x1.555382p-5f));
        p = v_fma(p, r, v_set1(0x1.555554p-3f));
        p = v_fma(p, r, v_set1(0.5f));
        p = v_fma(p, r, v_set1(1.0f));
        p = v_fma(p, r, v_set1(1.0f));
        return v_scale2(p, n);
}

/* x held within [-87, 89], NaN kept */
KERNEL v16 v_exp_clamp(v16 x)
{
        return v_max(v_set1(-87.0f), v_min(v_set1(89.0f), x));
}

/* y = e^x where that is a normal float, else +0 (x < -87) or inf (x > 88.72283) */
KERNEL v16 v_exp_ends(v16 x, v16 y)
{
        y = v_where_lt(x, v_set1(-87.0f), v_set1(0.0f), y);
        return v_where_lt(v_set1(0x1.62e42ep+6f), x, v_set1(FLOAT_INF), y);
}

/* e^x; +0 below -87, inf above 88.72283.  At most 0.9 ulp. */
V_LONG v16 v_exp(v16 x)
{
        return v_exp_ends(x, v_exp_core(v_exp_clamp(x), v_set1(0.0f)));
}

/* x = m 2^e with m in [sqrt(1/2), sqrt(2)), for positive finite x; gives m and leaves e.  Denormals are
 * scaled up first. */
V_LONG v16 v_split(v16 x, v16 *e)
{
        v16 normal_min = v_set1(0x1p-126f), one = v_set1(1.0f), root2 = v_set1(0x1.6a09e6p+0f);
        v16 scaled = v_where_lt(x, normal_min, v_mul(x, v_set1(0x1p24f)), x);
        v16 m = v_mantissa(scaled);
        v16 exponent = v_add(v_exponent(scaled), v_where_lt(x, normal_min, v_set1(-24.0f), v_set1(0.0f)));
        *e = v_where_lt(root2, m, v_add(exponent, one), exponent);
        return v_where_lt(root2, m, v_mul(m, v_set1(0.5f)), m);
}

/* ln x = e ln 2 + f - f^2/2 + f^3 P(f), f = m - 1; -inf at 0, NaN below.  At most 0.9 ulp. */
static inline v16 v_log(v16 x)
{
        v16 e, f = v_sub(v_split(x, &e), v_set1(1.0f));
        v16 p = v_set1(-0x1.38b514p-4f);
        p = v_fma(p, f, v_set1(0x1.055b40p-3f));
        p = v_fma(p, f, v_set1(-0x1.0d8544p-3f));
        p = v_fma(p, f, v_set1(0x1.22da24p-3f));
        p = v_fma(p, f, v_set1(-0x1.547244p-3f));
        p = v_fma(p, f, v_set1(0x1.99a008p-3f));
        p = v_fma(p, f, v_set1(-0x1.000226p-2f));
        p = v_fma(p, f, v_set1(0x1.555554p-2f));
        p = v_fma(p, f, v_set1(-0.5f));
        v16 tail = v_fma(v_mul(f, f), p, v_mul(e, v_set1(0x1.7f7d1cp-20f)));
        v16 y = v_fma(e, v_set1(0x1.62e4p-1f), v_add(f, tail));
        v16 at_most_zero = v_where(x, v_set1(FLOAT_NAN), v_set1(-FLOAT_INF));
        y = v_where_lt(x, v_set1(FLOAT_INF), y, x);
        return v_where_lt(v_set1(0.0f), x, y, at_most_zero);
}

/* x = r + quadrant pi/2, |r| <= pi/4, quadrant 0 to 3; gives r.  Cody and Waite's reduction with
 * pi/2 in three floats, each step rounded once by fma, is good while n < 2^23; the quotient is corrected
 * once, for its own rounding grows with n.  Arguments beyond 2^23, whose neighbours lie 1 or more apart,
 * count as +-2^23. */
V_LONG v16 v_quadrant(v16 x, v16 *quadrant)
{
        x = v_max(v_set1(-0x1p23f), v_min(v_set1(0x1p23f), x));
        v16 n = v_rint(v_mul(x, v_set1(0x1.45f306p-1f)));
        v16 rest = v_fma(n, v_set1(0x1.777a5cp-25f), v_fma(n, v_set1(-0x1.921fb6p+0f), x));
        n = v_add(n, v_rint(v_mul(rest, v_set1(0x1.45f306p-1f))));
        v16 r = v_fma(n, v_set1(-0x1.921fb6p+0f), x);
        r = v_fma(n, v_set1(0x1.777a5cp-25f), r);
        *quadrant = v_fma(v_floor(v_mul(n, v_set1(0.25f))), v_set1(-4.0f), n);
        return v_fma(n, v_set1(0x1.ee59dap-50f), r);
}

/* sin r for |r| <= pi/4 */
KERNEL v16 v_sin_core(v16 r)
{
        v16 z = v_mul(r, r);
        v16 p = v_set1(-0x1.991c2ap-13f);
        p = v_fma(p, z, v_set1(0x1.1106c6p-7f));
        p = v_fma(p, z, v_set1(-0x1.555544p-3f));
        return v_fma(v_mul(r, z), p, r);
}

/* cos r for |r| <= pi/4 */
KERNEL v16 v_cos_core(v16 r)
{
        v16 z = v_mul(r, r);
        v16 p = v_set1(0x1.99e714p-16f);
        p = v_fma(p, z, v_set1(-0x1.6c0c26p-10f));
        p = v_fma(p, z, v_set1(0x1.55554ap-5f));
        p = v_fma(p, z, v_set1(-0.5f));
        return v_fma(p, z, v_set1(1.0f));
}

/* sin(r + quadrant pi/2); NaN where x, the argument before reduction, is inf or NaN */
KERNEL v16 v_sin_quadrant(v16 r, v16 quadrant, v16 x)
{
        v16 half = v_mul(quadrant, v_set1(0.5f));
        v16 y = v_where_lt(v_floor(half), half, v_cos_core(r), v_sin_core(r));
        y = v_where_lt(quadrant, v_set1(2.0f), y, v_neg(y));
        return v_where_lt(v_abs(x), v_set1(FLOAT_INF), y, v_set1(FLOAT_NAN));
}

/* At most 1.6 ulp for |x| <= 1e5, 2.5 up to 2^23; beyond see v_quadrant.  A zero keeps its sign. */
static inline v16 v_sin(v16 x)
{
        v16 quadrant, r = v_quadrant(x, &quadrant);
        return v_where(x, v_sin_quadrant(r, quadrant, x), x);
}

/* cos x = sin(x + pi/2).  At most 1.6 ulp for |x| <= 1e5, 2.5 up to 2^23. */
static inline v16 v_cos(v16 x)
{
        v16 quadrant, r = v_quadrant(x, &quadrant), three = v_set1(3.0f);
        v16 next = v_where_lt(quadrant, three, v_add(quadrant, v_set1(1.0f)), v_set1(0.0f));
        return v_sin_quadrant(r, next, x);
}

/* x + x^3 P(x^2) where |x| < 0.8, else 1 - 2 / (e^2|x| + 1) under the sign of x.  At most 1.1 ulp. */
static inline v16 v_tanh(v16 x)
{
        v16 one = v_set1(1.0f), t = v_abs(x), z = v_mul(t, t);
        v16 p = v_set1(0x1.a00602p-10f);
        p = v_fma(p, z, v_set1(-0x1.e5e446p-8f));
        p = v_fma(p, z, v_set1(0x1.5d15f2p-6f));
        p = v_fma(p, z, v_set1(-0x1.b92b2cp-5f));
        p = v_fma(p, z, v_set1(0x1.110b58p-3f));
        p = v_fma(p, z, v_set1(-0x1.55553ep-2f));
        v16 near_zero = v_fma(v_mul(t, z), p, t);
        v16 far = v_sub(one, v_div(v_set1(2.0f), v_add(v_exp(v_add(t, t)), one)));
        return v_copysign(v_where_lt(t, v_set1(0.8f), near_zero, far), x);
}

/* x + x P(x^2) where |x| < 0.921875, else 1 - e^Q(|x|) under the sign of x, Q fitted to ln erfc as far
 * as 3.9375, where erf is 1.  At most 1.1 ulp. */
static inline v16 v_erf(v16 x)
{
        v16 one = v_set1(1.0f), t = v_min(v_set1(3.9375f), v_abs(x)), z = v_mul(t, t);
        v16 p = v_set1(0x1.4f562ep-14f);
        p = v_fma(p, z, v_set1(-0x1.a606c2p-11f));
        p = v_fma(p, z, v_set1(0x1.5449e4p-8f));
        p = v_fma(p, z, v_set1(-0x1.b80118p-6f));
        p = v_fma(p, z, v_set1(0x1.ce2d64p-4f));
        p = v_fma(p, z, v_set1(-0x1.812740p-2f));
        p = v_fma(p, z, v_set1(0x1.06eba8p-3f));
        v16 q = v_set1(-0x1.625526p-16f);
        q = v_fma(q, t, v_set1(0x1.c7dc02p-12f));
        q = v_fma(q, t, v_set1(-0x1.117128p-8f));
        q = v_fma(q, t, v_set1(0x1.9b9d10p-6f));
        q = v_fma(q, t, v_set1(-0x1.bb897cp-4f));
        q = v_fma(q, t, v_set1(-0x1.44456ap-1f));
        q = v_fma(q, t, v_set1(-0x1.21280cp+0f));
        q = v_fma(q, t, v_set1(0x1.6f62cap-13f));
        v16 far = v_sub(one, v_exp_core(q, v_set1(0.0f)));
        return v_copysign(v_where_lt(t, v_set1(0.921875f), v_fma(t, p, t), far), x);
}

/* r + r^3 P(r^2), r = |x|; where |x| > 1, r = 1 / |x| and that is taken from pi / 2; under the sign of x.  At most 1.4 ulp. */
static inline v16 v_atan(v16 x)
{
        v16 one = v_set1(1.0f), t = v_abs(x);
        v16 r = v_where_lt(one, t, v_div(one, t), t), z = v_mul(r, r);
        v16 p = v_set1(0x1.29687ep-10f);
        p = v_fma(p, z, v_set1(-0x1.e6a0ecp-8f));
        p = v_fma(p, z, v_set1(0x1.753040p-6f));
        p = v_fma(p, z, v_set1(-0x1.7080bap-5f));
        p = v_fma(p, z, v_set1(0x1.150a00p-4f));
        p = v_fma(p, z, v_set1(-0x1.6953bcp-4f));
        p = v_fma(p, z, v_set1(0x1.c51170p-4f));
        p = v_fma(p, z, v_set1(-0x1.247620p-3f));
        p = v_fma(p, z, v_set1(0x1.99981cp-3f));
        p = v_fma(p, z, v_set1(-0x1.555552p-2f));
        v16 near_zero = v_fma(v_mul(r, z), p, r);
        v16 far = v_sub(v_set1(0x1.921fb6p+0f), v_add(near_zero, v_set1(0x1.777a5cp-25f)));
        return v_copysign(v_where_lt(one, t, far, near_zero), x);
}

/* ln m = 2s + s^3 (2/3 + s^2 Q(s^2)), s = f / (2 + f), f = m - 1, for m in [sqrt(1/2), sqrt(2)); gives the
 * value to float and leaves in low what that is short of.  All terms that matter are such pairs. */
static inline v16 v_log_mantissa(v16 m, v16 *low)
{
        v16 one = v_set1(1.0f), two = v_set1(2.0f), third = v_set1(0x1.555556p-1f);
        v16 f = v_sub(m, one), d = v_add(m, one), d_low = v_sub(m, v_sub(d, one));
        v16 inverse = v_div(one, d), s = v_mul(f, inverse);
        v16 rest = v_fma(v_neg(s), d_low, v_fma(v_neg(s), d, f));
        v16 s_low = v_mul(rest, inverse);
        v16 z = v_mul(s, s), z_low = v_fma(v_add(s, s), s_low, v_fma(s, s, v_neg(z)));
        v16 q = v_fma(v_set1(0x1.9082d2p-3f), z, v_set1(0x1.c63daep-3f));
        q = v_fma(q, z, v_set1(0x1.2493b6p-2f));
        q = v_mul(z, v_fma(q, z, v_set1(0x1.999998p-2f)));
        v16 p = v_add(third, q), p_low = v_add(v_add(v_sub(third, p), q), v_set1(-0x1.555556p-26f));
        v16 w = v_mul(p, z);
        v16 w_low = v_fma(p_low, z, v_fma(p, z_low, v_fma(p, z, v_neg(w))));
        v16 v = v_add(two, w), v_low = v_add(v_add(v_sub(two, v), w), w_low);
        v16 y = v_mul(s, v);
        *low = v_fma(s_low, v, v_fma(s, v_low, v_fma(s, v, v_neg(y))));
        return y;
}

/* ln x for positive finite x as a value and, in low, what that is short of */
KERNEL v16 v_log_pair(v16 x, v16 *low)
{
        v16 e, m_low, m_log = v_log_mantissa(v_split(x, &e), &m_low);
        v16 power = v_mul(e, v_set1(0x1.62e4p-1f)); /* exact: 16 bits by 8 */
        v16 sum = v_add(power, m_log);
        v16 rest = v_add(v_add(v_sub(power, sum), m_log), v_fma(e, v_set1(0x1.7f7d1cp-20f), m_low));
        v16 y = v_add(sum, rest);
        *low = v_add(v_sub(sum, y), rest);
        return y;
}

/* |x|^y by e^(y ln |x|), the product as a pair.  ln 0 = -inf and ln inf = inf give the limits; 1^y = 1. */
static inline v16 v_pow_magnitude(v16 magnitude, v16 y)
{
        v16 inf = v_set1(FLOAT_INF), low, log = v_log_pair(magnitude, &low);
        log = v_where_lt(magnitude, inf, log, magnitude);
        log = v_where(magnitude, log, v_neg(inf));
        v16 product = v_mul(y, log);
        v16 product_low = v_fma(y, low, v_fma(y, log, v_neg(product)));
        product_low = v_where_lt(v_abs(product), v_set1(128.0f), product_low, v_set1(0.0f));
        v16 power = v_exp_ends(product, v_exp_core(v_exp_clamp(product), product_low));
        return v_where(v_eq(magnitude, v_set1(1.0f)), v_set1(1.0f), power);
}

/* x^y as in IEEE 754: negative x has powers at whole y only; x^0 = 1^y = 1 even for NaN; zeros and infinities
 * keep the sign of an odd power.  At most 1.2 ulp; +0 or -0 below e^-87. */
static inline v16 v_pow(v16 x, v16 y)
{
        v16 zero = v_set1(0.0f), one = v_set1(1.0f), half = v_mul(y, v_set1(0.5f));
        v16 whole = v_le(y, v_floor(y));
        v16 odd = v_and(whole, v_not(v_le(half, v_floor(half))));
        v16 power = v_pow_magnitude(v_abs(x), y);
        v16 result = v_where(odd, v_mul(power, v_copysign(one, x)), power);
        v16 negative = v_and(v_lt(x, zero), v_lt(v_set1(-FLOAT_INF), x));
        result = v_where(v_and(negative, v_not(whole)), v_set1(FLOAT_NAN), result);
        result = v_where(v_eq(x, one), one, result);
        return v_where(y, result, one);
}
