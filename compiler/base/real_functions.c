/* exp, log, sin, cos, tanh, erf, atan and pow in double, made of + - * / alone.
 *
 * A value inside is a Pair, the sum of two doubles, good for about 100 bits, so that a result is rounded as good as
 * once.  Terms of a series that are small beside the first are computed in double; the largest error of this is 2^-62
 * of the result.  tests/reals measures the functions.
 *
 * Of libm only what is exact is used: floor, fabs, frexp, and ldexp where nothing is rounded. */
#include "base.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "these functions want doubles that are rounded after every operation"
#endif
#ifdef __FAST_MATH__
#error "these functions want the order of operations that is written: no -ffast-math"
#endif

typedef struct {
        double high, low; /* high is the double nearest to the sum */
} Pair;

#include "real_tables_private.h"

/* --- pairs --- */

/* a + b, exact; |a| >= |b| or a = 0 */
static Pair sum_of_ordered(double a, double b)
{
        double sum = a + b;
        return (Pair){sum, b - (sum - a)};
}

/* a + b, exact */
static Pair sum_of(double a, double b)
{
        double sum = a + b, of_b = sum - a;
        return (Pair){sum, (a - (sum - of_b)) + (b - of_b)};
}

/* The upper 26 bits of a. */
static double upper_half(double a)
{
        double scaled = a * 0x1.000002p+27;
        return scaled - (scaled - a);
}

/* a b, exact while nothing overflows or underflows */
static Pair product_of(double a, double b)
{
        double product = a * b, a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1;
        return (Pair){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

static Pair add(Pair a, Pair b)
{
        Pair sum = sum_of(a.high, b.high);
        return sum_of_ordered(sum.high, sum.low + (a.low + b.low));
}

static Pair add_double(Pair a, double b)
{
        return add(a, (Pair){b, 0});
}

static Pair negative(Pair a)
{
        return (Pair){-a.high, -a.low};
}

static Pair times(Pair a, Pair b)
{
        Pair product = product_of(a.high, b.high);
        return sum_of_ordered(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static Pair times_double(Pair a, double b)
{
        return times(a, (Pair){b, 0});
}

static Pair times_power_of_2(Pair a, int exponent)
{
        return (Pair){ldexp(a.high, exponent), ldexp(a.low, exponent)};
}

static Pair divided(Pair a, Pair b)
{
        double first = a.high / b.high;
        Pair rest = add(a, times_double(b, -first));
        return sum_of_ordered(first, rest.high / b.high);
}

/* a 2^exponent, rounded once, also where that is a denormal; a > 0 */
static double rounded(Pair a, int exponent)
{
        double one = ldexp(1, -1022 - exponent); /* what will be the least normal number */
        if (a.high >= one)
                return ldexp(a.high, exponent);
        Pair sum = sum_of_ordered(one, a.high); /* its last place will be that of denormals */
        return ldexp(sum.high + (sum.low + a.low) - one, exponent);
}

/* 1 / start! - z / (start + 2)! + z^2 / (start + 4)! - ..  for 0 <= z < 0.62 */
static Pair alternating(Pair z, int start)
{
        double tail = 0;
        for (int n = start + 16; n >= start + 6; n -= 2)
                tail = inverse_factorial[n].high - z.high * tail;
        Pair sum = {tail, 0};
        for (int n = start + 4; n >= start; n -= 2)
                sum = add(inverse_factorial[n], negative(times(z, sum)));
        return sum;
}

/* --- exp --- */

/* e^x = step (1 + rest) 2^exponent, step = 2^(j / 32), |rest| < 0.011 */
typedef struct {
        Pair step, rest;
        int exponent;
} Power;

/* |x| < 800 */
static Power power_of_e(Pair x)
{
        double n = floor(x.high * 0x1.71547652b82fep+5 + 0.5); /* 32 / ln 2 */
        Pair r = add(x, times_power_of_2(times_double(ln2, -n), -5));
        double tail = 0;
        for (int k = 8; k >= 3; k--)
                tail = inverse_factorial[k].high + r.high * tail;
        Pair square = times(r, r);
        Pair low = add_double(times_power_of_2(square, -1), r.high * square.high * tail);
        int step = (int)(n - 32 * floor(n / 32));
        return (Power){power_of_2[step], add(r, low), (int)floor(n / 32)};
}

static double exp_of_pair(Pair x)
{
        if (x.high > 710)
                return INFINITY;
        if (x.high < -746)
                return 0;
        if (fabs(x.high) < 0x1p-60)
                return 1;
        Power p = power_of_e(x);
        return rounded(add(p.step, times(p.step, p.rest)), p.exponent);
}

double real_exp(double x)
{
        return isnan(x) ? NAN : exp_of_pair((Pair){x, 0});
}

/* --- log --- */

/* ln x = e ln 2 + ln a + 2 artanh s, s = (m - a) / (m + a), x = m 2^e, a the nearest of 32nds to m; 0 < x < inf */
static Pair log_of(double x)
{
        int exponent;
        double m = frexp(x, &exponent);
        if (m < 0x1.6a09e667f3bcdp-1) {
                m *= 2;
                exponent--;
        }
        int nearest = (int)floor(m * 32 + 0.5);
        double a = nearest / 32.0;
        Pair s = divided((Pair){m - a, 0}, sum_of_ordered(nearest > 32 ? m : a, nearest > 32 ? a : m));
        Pair square = times(s, s);
        double tail = 0;
        for (int k = 13; k >= 5; k -= 2)
                tail = square.high * (2.0 / k + tail);
        Pair cubic = times(times(s, square), add_double(two_thirds, tail));
        Pair whole = add(times_double(ln2, exponent), log_of_32nds[nearest - 23]);
        return add(whole, add(times_power_of_2(s, 1), cubic));
}

double real_log(double x)
{
        if (isnan(x) || x < 0)
                return NAN;
        if (x == 0)
                return -INFINITY;
        return x == INFINITY ? x : log_of(x).high;
}

/* --- pow --- */

static bool is_whole(double x)
{
        return floor(x) == x;
}

/* x^y for 0 < x < inf and finite y */
static double pow_of_positive(double x, double y)
{
        Pair log = log_of(x);
        double about = y * log.high;
        if (!(fabs(about) > 0x1p-60 && fabs(about) < 800)) /* what product_of can't take, too */
                return exp_of_pair((Pair){about, 0});
        return exp_of_pair(times_double(log, y));
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
        if (x < 0 && !is_end && !is_whole(y))
                return NAN;
        double magnitude = is_end ? pow_of_ends(x, y) : pow_of_positive(fabs(x), y);
        bool is_odd = is_whole(y) && !is_whole(y / 2);
        return signbit(x) && is_odd ? -magnitude : magnitude;
}

/* --- sin, cos --- */

enum { WORDS = 9, MANTISSA_WORDS = 3 };

/* word i of 2 / pi behind the point, 32 bits each; before it are zeros */
static uint32_t word_of_two_over_pi(int i)
{
        return i < 0 ? 0 : two_over_pi[i];
}

/* x 2 / pi mod 2^32 as whole numbers, the least first: eight words behind the point and one before it.  Payne and
 * Hanek's reduction: of 2 / pi only those words are read that matter.  x is positive and at least 2^-10. */
static void turned_by_two_over_pi(double x, uint32_t *product)
{
        int exponent;
        double mantissa = ldexp(frexp(x, &exponent), 53);
        int first = (int)floor((exponent - 53) / 32.0), shift = exponent - 53 - 32 * first;
        uint64_t m = (uint64_t)mantissa;
        uint32_t word[MANTISSA_WORDS] = {(uint32_t)(m << shift), (uint32_t)(m << shift >> 32),
                                         shift ? (uint32_t)(m >> (64 - shift)) : 0};
        for (int i = 0; i < WORDS; i++)
                product[i] = 0;
        for (int j = 0; j < MANTISSA_WORDS; j++) {
                uint64_t carry = 0;
                for (int i = 0; i + j < WORDS; i++) {
                        uint64_t sum = (uint64_t)word[j] * word_of_two_over_pi(first + 7 - i) +
                                       product[i + j] + carry;
                        product[i + j] = (uint32_t)sum;
                        carry = sum >> 32;
                }
        }
}

/* x = r + quadrant pi / 2, |r| <= pi / 4; x >= 0.  Gives quadrant mod 4. */
static unsigned reduced(double x, Pair *r)
{
        *r = (Pair){x, 0};
        if (x < 0x1.921fb54442d18p-1)
                return 0;
        uint32_t product[WORDS];
        turned_by_two_over_pi(x, product);
        uint32_t top = product[WORDS - 2];
        bool is_up = top >= 0x80000000; /* nearer to the next quadrant */
        Pair fraction = {((double)top - (is_up ? 0x1p32 : 0)) * 0x1p-32, 0};
        for (int i = WORDS - 3; i >= 0; i--)
                fraction = add_double(fraction, ldexp(product[i], 32 * (i + 1 - WORDS)));
        *r = times(fraction, half_pi);
        return (product[WORDS - 1] + is_up) % 4;
}

/* sin (x + quarters pi / 2), x >= 0 */
static Pair turned_pair(double x, unsigned quarters)
{
        Pair r;
        unsigned quadrant = (reduced(x, &r) + quarters) % 4;
        Pair square = times(r, r), y;
        if (quadrant % 2 == 0)
                y = add(r, negative(times(times(r, square), alternating(square, 3))));
        else
                y = add((Pair){1, 0}, negative(times(square, alternating(square, 2))));
        return quadrant < 2 ? y : negative(y);
}

static double turned(double x, unsigned quarters)
{
        return turned_pair(x, quarters).high;
}

double real_sin(double x)
{
        if (isnan(x) || isinf(x))
                return NAN;
        if (fabs(x) < 0x1p-30)
                return x;
        return x < 0 ? -turned(-x, 0) : turned(x, 0);
}

double real_cos(double x)
{
        if (isnan(x) || isinf(x))
                return NAN;
        return fabs(x) < 0x1p-30 ? 1 : turned(fabs(x), 1);
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
        double y = is_large ? half_pi.high - near_atan(1 / x) : near_atan(x);
        Pair sine = turned_pair(y, 0), cosine = turned_pair(y, 1);
        Pair of_sine = is_large ? divided((Pair){1, 0}, (Pair){x, 0}) : (Pair){1, 0};
        Pair of_cosine = {is_large ? 1 : x, 0};
        Pair above = add(times(cosine, of_cosine), negative(times(sine, of_sine)));
        Pair below = add(times(cosine, of_sine), times(sine, of_cosine));
        return add_double(divided(above, below), y).high;
}

double real_atan(double x)
{
        if (isnan(x))
                return NAN;
        double magnitude = fabs(x);
        if (magnitude < 0x1p-30)
                return x;
        double y = magnitude < 0x1p60 ? atan_of_positive(magnitude) : half_pi.high;
        return x < 0 ? -y : y;
}

/* --- tanh --- */

/* e^x - 1, x < 50 */
static Pair exp_less_1(double x)
{
        Power p = power_of_e((Pair){x, 0});
        Pair step = times_power_of_2(p.step, p.exponent);
        return add(add_double(step, -1), times(step, p.rest));
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
                Pair e = exp_less_1(2 * magnitude);
                y = divided(e, add_double(e, 2)).high;
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
        const Pair *row = erf_and_slope[nearest];
        if (x < 0x1p-40)
                return x > 0 ? rounded(times_double(row[1], ldexp(x, 200)), -200) : 0;
        double a = nearest / 16.0, t = x - a;
        double before = 0, c = row[1].high, power = t, tail = 0;
        for (int n = 1; n <= 14; n++) {
                double next = -2 * (a * c + before) / n;
                before = c;
                c = next;
                power *= t;
                tail += c * power / (n + 1);
        }
        return add(add(row[0], times_double(row[1], t)), (Pair){tail, 0}).high;
}

double real_erf(double x)
{
        if (isnan(x))
                return NAN;
        return signbit(x) ? -erf_of_positive(-x) : erf_of_positive(x);
}
