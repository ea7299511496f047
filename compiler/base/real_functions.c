/* exp, log, sin, cos, tanh, erf, atan and pow in double, computed only by + - * /, by the pairs of
 * runtime/reals.h, which emitted programs have too.  tests/reals measures the functions.
 *
 * Only exact functions of libm are used: floor, fabs, and ldexp where nothing is rounded. */
#include "base.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../runtime/real_tables.h"
#include "../../runtime/reals.h"

#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "these functions require doubles that are rounded after every operation"
#endif
#ifdef __FAST_MATH__
#error "these functions require the order of operations that is written: no -ffast-math"
#endif

double real_exp(double x)
{
        return isnan(x) ? NAN : reals_exp(x);
}

double real_log(double x)
{
        if (isnan(x) || x < 0)
                return NAN;
        if (x == 0)
                return -INFINITY;
        return reals_log(x);
}

/* --- pow --- */

static bool real_is_integer(double x)
{
        return floor(x) == x;
}

/* x^y for 0 < x < inf and finite y */
static double pow_of_positive(double x, double y)
{
        RealPair log = pair_log(x);
        double about = y * log.high;
        if (!(fabs(about) > 0x1p-60 &&
              fabs(about) < 800)) /* also the cases that pair_product does not support */
                return pair_exp((RealPair){about, 0});
        return pair_exp(pair_times_double(log, y));
}

/* |x|^y where one of them is 0 or infinite, and none NaN */
static double pow_of_ends(double x, double y)
{
        if (isinf(y) && fabs(x) == 1)
                return 1;
        bool is_large = isinf(y) ? fabs(x) > 1 : isinf(x);
        return is_large == (y > 0) ? INFINITY : 0;
}

double real_pow(double x, double y)
{
        if (y == 0 || x == 1)
                return 1;
        if (isnan(x) || isnan(y))
                return NAN;
        bool is_end = x == 0 || isinf(x) || isinf(y);
        if (x < 0 && !is_end && !real_is_integer(y))
                return NAN;
        double magnitude = is_end ? pow_of_ends(x, y) : pow_of_positive(fabs(x), y);
        bool is_odd = real_is_integer(y) && !real_is_integer(y / 2);
        return signbit(x) && is_odd ? -magnitude : magnitude;
}

double real_sin(double x)
{
        if (isnan(x) || isinf(x))
                return NAN;
        return reals_sin(x);
}

double real_cos(double x)
{
        if (isnan(x) || isinf(x))
                return NAN;
        return reals_cos(x);
}

/* --- atan --- */

/* Within 1e-12, 0 <= x <= 1.  atan x = 2 atan (x / (1 + sqrt (1 + x^2))), twice; then the series. */
static double near_atan(double x)
{
        for (int i = 0; i < 2; i++)
                x = x / (1 + sqrt(1 + x * x));
        double z = x * x, sum = 0;
        for (int n = 17; n >= 1; n -= 2)
                sum = 1.0 / n - z * sum;
        return 4 * x * sum;
}

/* y is near; atan x = y + atan t, where t = (x cos y - sin y) / (cos y + x sin y), so small that atan t is t.  Above 1, the
 * fraction is reduced by x. */
static double atan_of_positive(double x)
{
        bool is_large = x > 1;
        double y = is_large ? real_half_pi.high - near_atan(1 / x) : near_atan(x);
        RealPair sine = pair_turned(y, 0), cosine = pair_turned(y, 1);
        RealPair of_sine = is_large ? pair_divided((RealPair){1, 0}, (RealPair){x, 0}) : (RealPair){1, 0};
        RealPair of_cosine = {is_large ? 1 : x, 0};
        RealPair above = pair_add(pair_times(cosine, of_cosine), pair_negative(pair_times(sine, of_sine)));
        RealPair below = pair_add(pair_times(cosine, of_sine), pair_times(sine, of_cosine));
        return pair_add_double(pair_divided(above, below), y).high;
}

double real_atan(double x)
{
        if (isnan(x))
                return NAN;
        double magnitude = fabs(x);
        if (magnitude < 0x1p-30)
                return x;
        double y = magnitude < 0x1p60 ? atan_of_positive(magnitude) : real_half_pi.high;
        return x < 0 ? -y : y;
}

/* --- tanh --- */

/* e^x - 1, x < 50 */
static RealPair exp_less_1(double x)
{
        RealPower p = pair_power((RealPair){x, 0});
        RealPair step = pair_times_power(p.step, p.exponent);
        return pair_add(pair_add_double(step, -1), pair_times(step, p.rest));
}

double real_tanh(double x)
{
        if (isnan(x))
                return NAN;
        double magnitude = fabs(x);
        if (magnitude < 0x1p-30)
                return x;
        double y = 1;
        if (magnitude < 20) { /* above that the nearest double is 1 */
                RealPair e = exp_less_1(2 * magnitude);
                y = pair_divided(e, pair_add_double(e, 2)).high;
        }
        return x < 0 ? -y : y;
}

/* --- erf --- */

/* erf(a + t) = erf(a) + the integral of g over t, where g = 2 / sqrt pi e^-x^2.  The series of g about a is that of
 * g' = -2 x g: c[0] = g(a), c[n + 1] = -2 (a c[n] + c[n - 1]) / (n + 1).  a is the nearest of 16ths. */
static double erf_of_positive(double x)
{
        if (x >= 6)
                return 1;
        int nearest = (int)floor(x * 16 + 0.5);
        const RealPair *row = real_erf_and_slope[nearest];
        if (x < 0x1p-40)
                return x > 0 ? pair_rounded(pair_times_double(row[1], ldexp(x, 200)), -200) : 0;
        double a = nearest / 16.0, t = x - a;
        double before = 0, c = row[1].high, power = t, tail = 0;
        for (int n = 1; n <= 14; n++) {
                double next = -2 * (a * c + before) / n;
                before = c;
                c = next;
                power *= t;
                tail += c * power / (n + 1);
        }
        return pair_add(pair_add(row[0], pair_times_double(row[1], t)), (RealPair){tail, 0}).high;
}

double real_erf(double x)
{
        if (isnan(x))
                return NAN;
        return signbit(x) ? -erf_of_positive(-x) : erf_of_positive(x);
}
