/*
 * exp, log, sin, cos and sqrt in double, computed with + - * / only: the same bits on every machine, without libm.
 *
 * Intermediate values are RealPairs, sums of two doubles with about 100 bits, so that results are almost always rounded correctly.
 * Small terms of a series are computed in double; the relative error of this is at most 2^-62.
 *
 * Needs real_tables.h.
 */
#include <stdint.h>
#include <string.h>

/* |x| */
static inline double real_magnitude(double x)
{
        return x < 0 ? -x : x;
}

/* The largest integer that is not above x; |x| < 2^62 */
static inline double real_floor(double x)
{
        double whole = (double)(int64_t)x;
        return whole > x ? whole - 1 : whole;
}

static inline double real_of_bits(uint64_t bits)
{
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
}

static inline uint64_t real_bits(double x)
{
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        return bits;
}

/* x 2^exponent; exact if the result is a normal number */
static inline double real_scaled(double x, int exponent)
{
        for (; exponent > 1000; exponent -= 1000)
                x *= 0x1p1000;
        for (; exponent < -1000; exponent += 1000)
                x *= 0x1p-1000;
        return x * real_of_bits((uint64_t)(1023 + exponent) << 52);
}

/* Splits x into a fraction from 1/2 to 1, which is returned, and an exponent; 0 < x < inf */
static inline double real_fraction(double x, int *exponent)
{
        int scaled = x < 0x1p-1022 ? 54 : 0;
        uint64_t bits = real_bits(scaled ? x * 0x1p54 : x);
        *exponent = (int)(bits >> 52) - 1022 - scaled;
        return real_of_bits((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3fe0000000000000));
}

/* a + b, exact; |a| >= |b| or a = 0 */
static inline RealPair pair_sum_ordered(double a, double b)
{
        double sum = a + b;
        return (RealPair){sum, b - (sum - a)};
}

/* a + b, exact */
static inline RealPair pair_sum(double a, double b)
{
        double sum = a + b, of_b = sum - a;
        return (RealPair){sum, (a - (sum - of_b)) + (b - of_b)};
}

/* The upper 26 bits of a. */
static inline double pair_upper_half(double a)
{
        double scaled = a * 0x1.000002p+27;
        return scaled - (scaled - a);
}

/* a b, exact without overflow and underflow */
static inline RealPair pair_product(double a, double b)
{
        double product = a * b, a1 = pair_upper_half(a), a2 = a - a1, b1 = pair_upper_half(b), b2 = b - b1;
        return (RealPair){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

static inline RealPair pair_add(RealPair a, RealPair b)
{
        RealPair sum = pair_sum(a.high, b.high);
        return pair_sum_ordered(sum.high, sum.low + (a.low + b.low));
}

static inline RealPair pair_add_double(RealPair a, double b)
{
        return pair_add(a, (RealPair){b, 0});
}

static inline RealPair pair_negative(RealPair a)
{
        return (RealPair){-a.high, -a.low};
}

static inline RealPair pair_times(RealPair a, RealPair b)
{
        RealPair product = pair_product(a.high, b.high);
        return pair_sum_ordered(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static inline RealPair pair_times_double(RealPair a, double b)
{
        return pair_times(a, (RealPair){b, 0});
}

static inline RealPair pair_times_power(RealPair a, int exponent)
{
        return (RealPair){real_scaled(a.high, exponent), real_scaled(a.low, exponent)};
}

static inline RealPair pair_divided(RealPair a, RealPair b)
{
        double first = a.high / b.high;
        RealPair rest = pair_add(a, pair_times_double(b, -first));
        return pair_sum_ordered(first, rest.high / b.high);
}

/* a 2^exponent, rounded once, also if the result is denormal; a > 0 */
static inline double pair_rounded(RealPair a, int exponent)
{
        double one = real_scaled(1, -1022 - exponent); /* times 2^exponent, the smallest normal number */
        if (a.high >= one)
                return real_scaled(a.high, exponent);
        RealPair sum = pair_sum_ordered(one, a.high); /* has the precision of denormals */
        return real_scaled(sum.high + (sum.low + a.low) - one, exponent);
}

/* 1 / start! - z / (start + 2)! + z^2 / (start + 4)! - ..  for 0 <= z < 0.62 */
static inline RealPair pair_alternating(RealPair z, int start)
{
        double tail = 0;
        for (int n = start + 16; n >= start + 6; n -= 2)
                tail = real_inverse_factorial[n].high - z.high * tail;
        RealPair sum = {tail, 0};
        for (int n = start + 4; n >= start; n -= 2)
                sum = pair_add(real_inverse_factorial[n], pair_negative(pair_times(z, sum)));
        return sum;
}

/* e^x = step (1 + rest) 2^exponent, step = 2^(j / 32), |rest| < 0.011 */
typedef struct {
        RealPair step, rest;
        int exponent;
} RealPower;

/* |x| < 800 */
static inline RealPower pair_power(RealPair x)
{
        double n = real_floor(x.high * 0x1.71547652b82fep+5 + 0.5); /* 32 / ln 2 */
        RealPair r = pair_add(x, pair_times_power(pair_times_double(real_ln2, -n), -5));
        double tail = 0;
        for (int k = 8; k >= 3; k--)
                tail = real_inverse_factorial[k].high + r.high * tail;
        RealPair square = pair_times(r, r);
        RealPair low = pair_add_double(pair_times_power(square, -1), r.high * square.high * tail);
        int step = (int)(n - 32 * real_floor(n / 32));
        return (RealPower){real_power_of_2[step], pair_add(r, low), (int)real_floor(n / 32)};
}

static inline double pair_exp(RealPair x)
{
        if (x.high > 710)
                return (double)(1.0f / 0.0f);
        if (x.high < -746)
                return 0;
        if (real_magnitude(x.high) < 0x1p-60)
                return 1;
        RealPower p = pair_power(x);
        return pair_rounded(pair_add(p.step, pair_times(p.step, p.rest)), p.exponent);
}

/* ln x = e ln 2 + ln a + 2 artanh s, s = (m - a) / (m + a), x = m 2^e, a the nearest of 32nds to m; 0 < x < inf */
static inline RealPair pair_log(double x)
{
        int exponent;
        double m = real_fraction(x, &exponent);
        if (m < 0x1.6a09e667f3bcdp-1) {
                m *= 2;
                exponent--;
        }
        int nearest = (int)real_floor(m * 32 + 0.5);
        double a = nearest / 32.0;
        RealPair s = pair_divided((RealPair){m - a, 0}, pair_sum_ordered(nearest > 32 ? m : a, nearest > 32 ? a : m));
        RealPair square = pair_times(s, s);
        double tail = 0;
        for (int k = 13; k >= 5; k -= 2)
                tail = square.high * (2.0 / k + tail);
        RealPair cubic = pair_times(pair_times(s, square), pair_add_double(real_two_thirds, tail));
        RealPair whole = pair_add(pair_times_double(real_ln2, exponent), real_log_of_32nds[nearest - 23]);
        return pair_add(whole, pair_add(pair_times_power(s, 1), cubic));
}

enum { REAL_WORDS = 9, REAL_MANTISSA_WORDS = 3 };

/* Word i, of 32 bits, of the binary digits of 2 / pi after the point; 0 for i < 0 */
static inline uint32_t pair_word_of_two_over_pi(int i)
{
        return i < 0 ? 0 : real_two_over_pi[i];
}

/* x 2 / pi mod 2^32 in words of 32 bits, least significant first: eight after the point and one before it.  Payne and
 * Hanek's reduction: reads only the words of 2 / pi that affect the result.  x >= 2^-10 */
static inline void pair_turned_words(double x, uint32_t *product)
{
        int exponent;
        double mantissa = real_scaled(real_fraction(x, &exponent), 53);
        int first = (int)real_floor((exponent - 53) / 32.0), shift = exponent - 53 - 32 * first;
        uint64_t m = (uint64_t)mantissa;
        uint32_t word[REAL_MANTISSA_WORDS] = {(uint32_t)(m << shift), (uint32_t)(m << shift >> 32),
                                         shift ? (uint32_t)(m >> (64 - shift)) : 0};
        for (int i = 0; i < REAL_WORDS; i++)
                product[i] = 0;
        for (int j = 0; j < REAL_MANTISSA_WORDS; j++) {
                uint64_t carry = 0;
                for (int i = 0; i + j < REAL_WORDS; i++) {
                        uint64_t sum = (uint64_t)word[j] * pair_word_of_two_over_pi(first + 7 - i) +
                                       product[i + j] + carry;
                        product[i + j] = (uint32_t)sum;
                        carry = sum >> 32;
                }
        }
}

/* x = r + quadrant pi / 2, |r| <= pi / 4; x >= 0.  Returns quadrant mod 4. */
static inline unsigned pair_reduced(double x, RealPair *r)
{
        *r = (RealPair){x, 0};
        if (x < 0x1.921fb54442d18p-1)
                return 0;
        uint32_t product[REAL_WORDS];
        pair_turned_words(x, product);
        uint32_t top = product[REAL_WORDS - 2];
        unsigned is_up = top >= 0x80000000; /* nearer to the next quadrant */
        RealPair fraction = {((double)top - (is_up ? 0x1p32 : 0)) * 0x1p-32, 0};
        for (int i = REAL_WORDS - 3; i >= 0; i--)
                fraction = pair_add_double(fraction, real_scaled(product[i], 32 * (i + 1 - REAL_WORDS)));
        *r = pair_times(fraction, real_half_pi);
        return (product[REAL_WORDS - 1] + is_up) % 4;
}

/* sin (x + quarters pi / 2), x >= 0 */
static inline RealPair pair_turned(double x, unsigned quarters)
{
        RealPair r;
        unsigned quadrant = (pair_reduced(x, &r) + quarters) % 4;
        RealPair square = pair_times(r, r), y;
        if (quadrant % 2 == 0)
                y = pair_add(r, pair_negative(pair_times(pair_times(r, square), pair_alternating(square, 3))));
        else
                y = pair_add((RealPair){1, 0}, pair_negative(pair_times(square, pair_alternating(square, 2))));
        return quadrant < 2 ? y : pair_negative(y);
}

static inline double reals_exp(double x)
{
        return x == x ? pair_exp((RealPair){x, 0}) : x;
}

/* x > 0 */
static inline double reals_log(double x)
{
        return x < (double)(1.0f / 0.0f) ? pair_log(x).high : x;
}

/* |x| < inf */
static inline double reals_sin(double x)
{
        if (real_magnitude(x) < 0x1p-30)
                return x;
        return x < 0 ? -pair_turned(-x, 0).high : pair_turned(x, 0).high;
}

static inline double reals_cos(double x)
{
        return real_magnitude(x) < 0x1p-30 ? 1 : pair_turned(real_magnitude(x), 1).high;
}

/* x >= 0: Newton's method for the fraction, then a correction with pairs */
static inline double reals_sqrt(double x)
{
        int exponent;
        if (!(x > 0 && x < (double)(1.0f / 0.0f)))
                return x;
        double m = real_fraction(x, &exponent), y = 1;
        if (exponent % 2) {
                m *= 2;
                exponent--;
        }
        for (int i = 0; i < 6; i++)
                y = (y + m / y) / 2;
        RealPair square = pair_product(y, y);
        return real_scaled(y + ((m - square.high) - square.low) / (2 * y), exponent / 2);
}
