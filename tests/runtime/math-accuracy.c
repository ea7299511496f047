/*
 * Measures the functions of math.h against double libm, and the operations on v16 against what they claim:
 * fma against libm's, square root and rounding likewise, half precision against its definition.  Prints the
 * worst error of each function and where it is; returns 1 if one exceeds its bound, which is the one that
 * math.h states.
 *
 * argv[1] is the step in units of the last place from one argument to the next, 1 to try every float; the
 * default is odd, so that low bits vary.
 */
#include "../../runtime/guard.h"
#include V16
#include "../../runtime/math.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static float from_bits(uint32_t bits)
{
        float x;
        memcpy(&x, &bits, sizeof x);
        return x;
}

static uint32_t to_bits(float x)
{
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        return bits;
}

static int same(float a, float b)
{
        return to_bits(a) == to_bits(b) || (isnan(a) && isnan(b));
}

/* The distance of got from the exact result, in units of the last place of the float nearest to that. */
static double ulps(float got, double exact)
{
        float nearest = (float)exact;
        if (!isfinite(got) || !isfinite(nearest))
                return same(got, nearest) ? 0 : INFINITY;
        int exponent = fabs(exact) < 0x1p-126 ? -126 : ilogb(exact);
        return fabs(got - exact) / ldexp(1, exponent - 23);
}

typedef struct {
        const char *name;
        v16 (*run)(v16);
        double (*exact)(double);
        float low, high; /* of one sign: every float between is a step away */
        double bound;    /* ulp */
} Function;

static v16 run_exp(v16 x)
{
        return v_exp(x);
}

static v16 run_log(v16 x)
{
        return v_log(x);
}

static v16 run_sin(v16 x)
{
        return v_sin(x);
}

static v16 run_cos(v16 x)
{
        return v_cos(x);
}

static v16 run_tanh(v16 x)
{
        return v_tanh(x);
}

static v16 run_erf(v16 x)
{
        return v_erf(x);
}

static v16 run_atan(v16 x)
{
        return v_atan(x);
}

static const Function functions[] = {
        {"exp", run_exp, exp, 0.0f, 0x1.62e42ep+6f, 0.9},
        {"exp", run_exp, exp, -0.0f, -87.0f, 0.9},
        {"log", run_log, log, 0x1p-149f, 0x1.fffffep+127f, 0.9},
        {"log", run_log, log, 0.5f, 2.0f, 0.9},
        {"sin", run_sin, sin, 0.0f, 1e5f, 1.6},
        {"sin", run_sin, sin, -1.0f, -1e5f, 1.6},
        {"sin", run_sin, sin, 1e5f, 0x1p23f, 2.5},
        {"cos", run_cos, cos, 0.0f, 1e5f, 1.6},
        {"cos", run_cos, cos, 1e5f, 0x1p23f, 2.5},
        {"tanh", run_tanh, tanh, 0.0f, 100.0f, 1.1},
        {"tanh", run_tanh, tanh, -0.5f, -10.0f, 1.1},
        {"erf", run_erf, erf, 0.0f, 10.0f, 1.1},
        {"erf", run_erf, erf, -0.5f, -4.0f, 1.1},
        {"atan", run_atan, atan, 0.0f, 0x1.fffffep+127f, 1.4},
        {"atan", run_atan, atan, 0.25f, 4.0f, 1.4},
        {"atan", run_atan, atan, -0.25f, -4.0f, 1.4},
};

static void measure(const Function *f, uint32_t step)
{
        double worst = 0;
        float where = 0;
        for (uint64_t bits = to_bits(f->low); bits <= to_bits(f->high); bits += 16 * (uint64_t)step) {
                float x[16], y[16];
                for (uint32_t i = 0; i < 16; i++) {
                        uint64_t lane = bits + i * step;
                        x[i] = lane <= to_bits(f->high) ? from_bits((uint32_t)lane) : f->high;
                }
                v_store(y, f->run(v_load(x)));
                for (int i = 0; i < 16; i++) {
                        double error = ulps(y[i], f->exact(x[i]));
                        if (error > worst) {
                                worst = error;
                                where = x[i];
                        }
                }
        }
        int failed = !(worst <= f->bound);
        failures += failed;
        printf("%s %-4s [%9.5g, %9.5g]: %.3f ulp at %a, bound %g\n", failed ? "BAD" : "   ", f->name,
               (double)f->low, (double)f->high, worst, (double)where, f->bound);
}

static uint64_t random_state = 88172645463325252u;

static uint32_t random_bits(void)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return (uint32_t)(random_state >> 16);
}

static const double POW_BOUND = 1.2; /* ulp */

/* pow over random bases of every size, and powers that keep the result within e^-86.9 and e^88.7 */
static void measure_pow(int count)
{
        double worst = 0;
        float at_x = 0, at_y = 0;
        for (int n = 0; n < count; n++) {
                float x[16], y[16], z[16];
                for (int i = 0; i < 16; i++) {
                        int near_one = n & 1;
                        uint32_t bits = near_one ? 0x3f000000u + (random_bits() & 0xffffffu)
                                                 : random_bits() & 0x7fffffffu;
                        x[i] = isfinite(from_bits(bits)) ? from_bits(bits) : 3.0f;
                        double largest = x[i] == 1.0f || x[i] == 0.0f ? 1.0 : 86.9 / log(x[i]);
                        y[i] = (float)(largest * ((double)random_bits() * 0x1p-31 - 1.0));
                }
                v_store(z, v_pow(v_load(x), v_load(y)));
                for (int i = 0; i < 16; i++) {
                        double error = ulps(z[i], pow(x[i], y[i]));
                        if (error > worst) {
                                worst = error;
                                at_x = x[i];
                                at_y = y[i];
                        }
                }
        }
        int failed = !(worst <= POW_BOUND);
        failures += failed;
        printf("%s pow  random: %.3f ulp at %a, %a, bound %g\n", failed ? "BAD" : "   ", worst, (double)at_x,
               (double)at_y, POW_BOUND);
}

static void expect(const char *what, float x, float y, float got, float wanted)
{
        if (same(got, wanted))
                return;
        failures++;
        printf("BAD %s(%a, %a) is %a, not %a\n", what, (double)x, (double)y, (double)got, (double)wanted);
}

static float first_lane(v16 x)
{
        float lane[16];
        v_store(lane, x);
        return lane[0];
}

/* pow's special cases and whole powers of negative numbers, as C's Annex F has them */
static void check_pow_cases(void)
{
        static const float value[] = {0.0f,  -0.0f, 1.0f,    -1.0f,    2.0f,      -2.0f, 3.0f,
                                      -3.0f, 0.5f,  -0.5f,   1.5f,     -1.5f,     4.0f,  7.0f,
                                      -7.0f, 0.25f, 0x1p24f, INFINITY, -INFINITY, NAN};
        int count = (int)(sizeof value / sizeof value[0]);
        for (int i = 0; i < count; i++)
                for (int j = 0; j < count; j++) {
                        float x = value[i], y = value[j], wanted = (float)pow(x, y);
                        float got = first_lane(v_pow(v_set1(x), v_set1(y)));
                        int exact = isnan(wanted) || isinf(wanted) || wanted == 0.0f || wanted == 1.0f;
                        if (exact)
                                expect("pow", x, y, got, wanted);
                        else if (!(ulps(got, pow(x, y)) <= POW_BOUND))
                                expect("pow", x, y, got, wanted);
                }
}

static void check_ends(void)
{
        static const struct {
                float x, exp, log, sin, cos, tanh, erf, atan;
        } end[] = {
                {0.0f, 1.0f, -INFINITY, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f},
                {-0.0f, 1.0f, -INFINITY, -0.0f, 1.0f, -0.0f, -0.0f, -0.0f},
                {INFINITY, INFINITY, INFINITY, NAN, NAN, 1.0f, 1.0f, 0x1.921fb6p+0f},
                {-INFINITY, 0.0f, NAN, NAN, NAN, -1.0f, -1.0f, -0x1.921fb6p+0f},
                {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
        };
        for (int i = 0; i < 5; i++) {
                v16 x = v_set1(end[i].x);
                expect("exp", end[i].x, 0, first_lane(v_exp(x)), end[i].exp);
                expect("log", end[i].x, 0, first_lane(v_log(x)), end[i].log);
                expect("sin", end[i].x, 0, first_lane(v_sin(x)), end[i].sin);
                expect("cos", end[i].x, 0, first_lane(v_cos(x)), end[i].cos);
                expect("tanh", end[i].x, 0, first_lane(v_tanh(x)), end[i].tanh);
                expect("erf", end[i].x, 0, first_lane(v_erf(x)), end[i].erf);
                expect("atan", end[i].x, 0, first_lane(v_atan(x)), end[i].atan);
        }
        expect("exp", -0x1.5c0002p+6f, 0, first_lane(v_exp(v_set1(-0x1.5c0002p+6f))), 0.0f);
        expect("exp", 0x1.62e430p+6f, 0, first_lane(v_exp(v_set1(0x1.62e430p+6f))), INFINITY);
        expect("log", -1.0f, 0, first_lane(v_log(v_set1(-1.0f))), NAN);
        float far = first_lane(v_sin(v_set1(1e30f)));
        expect("sin", 1e30f, 0, far, first_lane(v_sin(v_set1(0x1p23f))));
}

/* Operands whose products and sums come close to ties, to denormals and to each other. */
static float fma_operand(int kind, int which)
{
        uint32_t r = random_bits();
        float mantissa = (float)(int32_t)r * 0x1p-31f;
        switch (kind) {
        case 0: return from_bits(r);
        case 1: return mantissa;
        case 2: return which < 2 ? (float)(r & 0xfff) * 0x1p-75f : (float)(r & 0xffff) * 0x1p-149f;
        case 3: return which < 2 ? (float)(r & 0x1fff) : -ldexpf(mantissa, (int)(r & 31));
        case 4:
                return which < 2 ? 1.0f + (float)(r & 0xfff) * 0x1p-12f
                                 : ldexpf(mantissa, -24 - (int)(r & 31));
        default:
                return which == 0   ? ldexpf(mantissa, -70)
                       : which == 1 ? ldexpf(mantissa, -60)
                                    : ldexpf(mantissa, -125 - (int)(r & 31));
        }
}

static void check_arithmetic(int count)
{
        for (int n = 0; n < count; n++) {
                float a = fma_operand(n % 6, 0), b = fma_operand(n % 6, 1), c = fma_operand(n % 6, 2);
                expect("fma", a, b, first_lane(v_fma(v_set1(a), v_set1(b), v_set1(c))), fmaf(a, b, c));
                expect("sqrt", a, 0, first_lane(v_sqrt(v_set1(a))), sqrtf(a));
                expect("rint", c, 0, first_lane(v_rint(v_set1(c))), rintf(c));
                expect("floor", c, 0, first_lane(v_floor(v_set1(c))), floorf(c));
                if (failures > 20)
                        return;
        }
        const float square = -(1.0f + 0x1p-11f);
        expect("fma", square, 0, first_lane(v_fma(v_set1(-0.0f), v_set1(0.0f), v_set1(-0.0f))), -0.0f);
        expect("fma", 0, 0, first_lane(v_fma(v_set1(1.0f), v_set1(1.0f), v_set1(-1.0f))), 0.0f);
        expect("fma", 0, 0, first_lane(v_fma(v_set1(0x1p127f), v_set1(2.0f), v_set1(-0x1p127f))), 0x1p127f);
}

/* Every half precision and bfloat16 number. */
static void check_halves(void)
{
        for (uint32_t h = 0; h < 0x10000; h++) {
                uint16_t half[16] = {(uint16_t)h};
                double magnitude = h & 0x7c00 ? ldexp(1024 + (h & 0x3ff), (int)(h >> 10 & 31) - 25)
                                              : ldexp(h & 0x3ff, -24);
                if ((h & 0x7c00) == 0x7c00)
                        magnitude = h & 0x3ff ? NAN : INFINITY;
                float wanted = (float)(h & 0x8000 ? -magnitude : magnitude);
                expect("f16", (float)h, 0, first_lane(v_load_f16(half)), wanted);
                expect("bf16", (float)h, 0, first_lane(v_load_bf16(half)), from_bits(h << 16));
        }
}

/* Floats around every half precision number, and what they are rounded to. */
static void check_narrowing(void)
{
        for (uint32_t h = 0; h < 0x7c00; h++) {
                uint16_t pair[16] = {(uint16_t)h, (uint16_t)(h + 1)}, half[16];
                float lane[16];
                v_store(lane, v_load_f16(pair));
                float next = h + 1 < 0x7c00 ? lane[1] : 0x1p16f, middle = (lane[0] + next) / 2;
                float below = from_bits(to_bits(middle) - 1), above = from_bits(to_bits(middle) + 1);
                v_store_f16(half, v_set1(lane[0]));
                expect("to f16", lane[0], 0, half[0], (float)h);
                v_store_f16(half, v_set1(below));
                expect("to f16", below, 0, half[0], (float)h);
                v_store_f16(half, v_set1(-above));
                expect("to f16", -above, 0, half[0], (float)(0x8001 + h));
                v_store_f16(half, v_set1(middle));
                expect("to f16", middle, 0, half[0], (float)(h + h % 2));
        }
        uint16_t half[16];
        v_store_f16(half, v_set1(INFINITY));
        expect("to f16", INFINITY, 0, half[0], 0x7c00);
        v_store_f16(half, v_set1(-NAN));
        expect("to f16", NAN, 0, half[0], 0x7e00);
}

int main(int argc, char **argv)
{
        uint32_t step = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1013;
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
                measure(&functions[i], step);
        measure_pow(step == 1 ? 10000000 : 100000);
        check_pow_cases();
        check_ends();
        check_arithmetic(step == 1 ? 60000000 : 600000);
        check_halves();
        check_narrowing();
        return failures != 0;
}
