/* Measures real_functions.c: against values recorded from mpmath (argv[1]), against IEEE 754 at the ends, and, if
 * built with -DQUAD, against libquadmath at random arguments.  Prints ok or FAIL for each; returns 1 if one failed. */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/real_tables.h"
#include "../../runtime/reals.h"

#ifdef QUAD
#include <quadmath.h>
#endif

static const double BOUND = 0.51; /* units of the last place */
static int failed;

typedef double (*Function)(double);

static const struct {
        const char *name;
        Function run;
} functions[] = {
        {"exp", real_exp},   {"log", real_log}, {"sin", real_sin},   {"cos", real_cos},
        {"tanh", real_tanh}, {"erf", real_erf}, {"atan", real_atan},
};

enum { NFUNCTION = sizeof functions / sizeof functions[0] };

static void report(const char *what, const char *name, int is_right)
{
        printf("%s reals: %s %s\n", is_right ? "ok" : "FAIL", what, name);
        failed |= !is_right;
}

static int same(double a, double b)
{
        return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static double unit(double x)
{
        int exponent;
        frexp(x, &exponent);
        return ldexp(1, (x == 0 || exponent < DBL_MIN_EXP ? DBL_MIN_EXP : exponent) - DBL_MANT_DIG);
}

/* --- recorded values --- */

static double value(const char *name, double x, double y)
{
        if (strcmp(name, "pow") == 0)
                return real_pow(x, y);
        for (int i = 0; i < NFUNCTION; i++)
                if (strcmp(name, functions[i].name) == 0)
                        return functions[i].run(x);
        fprintf(stderr, "there is no function %s\n", name);
        exit(2);
}

/* The largest error of the recorded values of a function; how many there are in *n. */
static double recorded(const char *path, const char *wanted, int *n)
{
        FILE *f = fopen(path, "r");
        if (!f) {
                perror(path);
                exit(2);
        }
        char line[200], name[8];
        double worst = 0;
        for (*n = 0; fgets(line, sizeof line, f);) {
                double x, y = 0, nearest, rest;
                char *at = line + strcspn(line, " ");
                snprintf(name, sizeof name, "%.*s", (int)(at - line), line);
                if (strcmp(name, wanted) != 0)
                        continue;
                x = strtod(at, &at);
                if (strcmp(name, "pow") == 0)
                        y = strtod(at, &at);
                nearest = strtod(at, &at);
                rest = strtod(at, &at);
                double got = value(name, x, y);
                double error = same(got, nearest) ? fabs(rest) : fabs((got - nearest) / unit(nearest) - rest);
                if (!(error <= BOUND)) {
                        printf("%s of %a %a: %a instead of %a\n", name, x, y, got, nearest);
                        error = INFINITY;
                }
                worst = error > worst ? error : worst;
                (*n)++;
        }
        fclose(f);
        return worst;
}

static void check_recorded(const char *path)
{
        for (int i = 0; i <= NFUNCTION; i++) {
                const char *name = i < NFUNCTION ? functions[i].name : "pow";
                int n;
                double worst = recorded(path, name, &n);
                report("recorded values of", name, worst <= BOUND && n > 100);
        }
}

/* --- the ends --- */

typedef struct {
        double x, y, power;
} End;

static const End ends_of_pow[] = {
        {NAN, 0, 1},
        {1, NAN, 1},
        {NAN, 1, NAN},
        {2, NAN, NAN},
        {-1, INFINITY, 1},
        {-1, -INFINITY, 1},
        {0.5, INFINITY, 0},
        {-0.5, -INFINITY, INFINITY},
        {2, INFINITY, INFINITY},
        {-2, -INFINITY, 0},
        {0.0, -3, INFINITY},
        {-0.0, -3, -INFINITY},
        {-0.0, -2, INFINITY},
        {-0.0, 3, -0.0},
        {-0.0, 0.5, 0},
        {-0.0, -INFINITY, INFINITY},
        {INFINITY, -1, 0},
        {INFINITY, 0.5, INFINITY},
        {-INFINITY, 3, -INFINITY},
        {-INFINITY, 2, INFINITY},
        {-INFINITY, -3, -0.0},
        {-INFINITY, 0.5, INFINITY},
        {-8, 1.0 / 3, NAN},
        {-2, 0x1p53, INFINITY},
        {-2, 1023, -0x1p1023},
        {-2, 1025, -INFINITY},
        {-2, -1077, -0.0},
        {0x1.fffffffffffffp-1, 1e308, 0},
        {0x1.fffffffffffffp-1, 1e-308, 1},
        {2, 1e-320, 1},
};

static void check_ends(void)
{
        int right = 1;
        for (size_t i = 0; i < sizeof ends_of_pow / sizeof ends_of_pow[0]; i++) {
                End e = ends_of_pow[i];
                double got = real_pow(e.x, e.y);
                if (!same(got, e.power)) {
                        printf("pow of %a %a: %a instead of %a\n", e.x, e.y, got, e.power);
                        right = 0;
                }
        }
        report("ends of", "pow", right);
        static const double at[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
        static const double wanted[NFUNCTION][5] = {
                {INFINITY, 0, NAN, 1, 1},
                {INFINITY, NAN, NAN, -INFINITY, -INFINITY},
                {NAN, NAN, NAN, 0.0, -0.0},
                {NAN, NAN, NAN, 1, 1},
                {1, -1, NAN, 0.0, -0.0},
                {1, -1, NAN, 0.0, -0.0},
                {0x1.921fb54442d18p+0, -0x1.921fb54442d18p+0, NAN, 0.0, -0.0},
        };
        for (int i = 0; i < NFUNCTION; i++) {
                right = 1;
                for (int k = 0; k < 5; k++) {
                        double got = functions[i].run(at[k]);
                        if (!same(got, wanted[i][k])) {
                                printf("%s of %a: %a instead of %a\n", functions[i].name, at[k], got,
                                       wanted[i][k]);
                                right = 0;
                        }
                }
                report("ends of", functions[i].name, right);
        }
}

/* Powers of whole numbers that are doubles are exact. */
static void check_whole_powers(void)
{
        int right = 1;
        for (int base = 2; base < 2000; base++) {
                double power = base;
                for (int n = 2; (power *= base) <= 0x1p53; n++)
                        right &= real_pow(base, n) == power && real_pow(-base, n) == (n % 2 ? -power : power);
        }
        report("exact powers of", "whole numbers", right);
}

/* --- random arguments --- */

#ifdef QUAD
enum { ARGUMENTS = 100000 };

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state * 0x2545F4914F6CDD1Du;
}

static double between(double low, double high)
{
        return low + (high - low) * ((double)(random_bits() >> 11) * 0x1p-53);
}

/* any double that is a number; of all sizes alike */
static double any(void)
{
        for (;;) {
                uint64_t bits = random_bits();
                double x;
                memcpy(&x, &bits, sizeof x);
                if (isfinite(x))
                        return x;
        }
}

static double error(double got, __float128 exact)
{
        double nearest = (double)exact;
        if (!isfinite(nearest) || !isfinite(got))
                return same(got, nearest) ? 0 : INFINITY;
        return fabs((double)((got - exact) / unit(nearest)));
}

typedef struct {
        const char *name;
        Function run;
        __float128 (*exact)(__float128);
        double low, high; /* any double, or any positive one, if both are 0 */
} Range;

static const Range ranges[] = {
        {"exp", real_exp, expq, -1, 1},        {"exp", real_exp, expq, -745.2, 709.9},
        {"exp", real_exp, expq, -745.2, -708}, {"exp", real_exp, expq, 0, 0},
        {"log", real_log, logq, 0.5, 2},       {"log", real_log, logq, 0.99, 1.01},
        {"log", real_log, logq, 0, 0},         {"sin", real_sin, sinq, -4, 4},
        {"sin", real_sin, sinq, -1e5, 1e5},    {"sin", real_sin, sinq, 0, 0},
        {"cos", real_cos, cosq, -4, 4},        {"cos", real_cos, cosq, -1e5, 1e5},
        {"cos", real_cos, cosq, 0, 0},         {"tanh", real_tanh, tanhq, -1, 1},
        {"tanh", real_tanh, tanhq, -20, 20},   {"tanh", real_tanh, tanhq, -0.01, 0.01},
        {"tanh", real_tanh, tanhq, 0, 0},      {"erf", real_erf, erfq, -1, 1},
        {"erf", real_erf, erfq, -6.1, 6.1},    {"erf", real_erf, erfq, -0.1, 0.1},
        {"erf", real_erf, erfq, 0, 0},         {"atan", real_atan, atanq, -1, 1},
        {"atan", real_atan, atanq, -20, 20},   {"atan", real_atan, atanq, 0.99, 1.01},
        {"atan", real_atan, atanq, 0, 0},
};

static void check_range(const Range *r)
{
        double worst = 0, where = 0;
        for (int i = 0; i < ARGUMENTS; i++) {
                double x = r->low == r->high ? any() : between(r->low, r->high);
                if (r->run == real_log)
                        x = fabs(x);
                double e = error(r->run(x), r->exact(x));
                if (e > worst) {
                        worst = e;
                        where = x;
                }
        }
        char name[80];
        snprintf(name, sizeof name, "%s from %g to %g: %.5f ulp at %a", r->name, r->low, r->high, worst,
                 where);
        report("random", name, worst <= BOUND);
}

static void check_pow(void)
{
        double worst = 0;
        for (int i = 0; i < 3 * ARGUMENTS; i++) {
                double x = i % 3 == 0 ? between(0, 2) : i % 3 == 1 ? fabs(any()) : between(0.999, 1.001);
                double y = i % 3 == 0 ? between(-50, 50) : i % 3 == 1 ? between(-3, 3) : between(-5e5, 5e5);
                double e = error(real_pow(x, y), powq(x, y));
                worst = e > worst ? e : worst;
        }
        char name[40];
        snprintf(name, sizeof name, "pow: %.5f ulp", worst);
        report("random", name, worst <= BOUND);
}

static void check_random(void)
{
        for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
                check_range(&ranges[i]);
        check_pow();
}
#else
static void check_random(void)
{
        printf("skip reals: random arguments: no libquadmath\n");
}
#endif

/* Square roots are those of IEEE 754, over all exponents. */
static void check_roots(void)
{
        uint64_t state = 1;
        int wrong = 0;
        for (int i = 0; i < 4000000; i++) {
                state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
                double x = real_of_bits(UINT64_C(0x0010000000000000) +
                                        (state >> 2) % UINT64_C(0x7fc0000000000000));
                wrong += !same(reals_sqrt(x), sqrt(x));
        }
        for (int n = 1; n < 100000; n++)
                wrong += reals_sqrt((double)n * n) != n;
        report("square roots:", "those of IEEE 754", wrong == 0);
}

int main(int argc, char **argv)
{
        if (argc != 2)
                return 2;
        check_recorded(argv[1]);
        check_ends();
        check_whole_powers();
        check_roots();
        check_random();
        return failed;
}
