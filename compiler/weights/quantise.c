/* Quantisers: convert floats to the blocks of packed types (types.def); types.c converts them back.
 *
 * A quantiser searches for the block with the least loss, sum of weight * (x - value)^2.  The weights are the
 * caller's, or 1.  The loss is never larger than with plain rounding.
 *
 * For a step and a base the best codes are the nearest.  So the search is one for steps:
 *
 *     begin with those of plain rounding;  try steps around the one that reaches the largest value;
 *     while it improves: the step and the base of the least squares for the codes
 *
 * Bytes are the same on every machine: everything is computed in double by + - * and /, with sums in a fixed
 * order. */
#include "quantise_private.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "each operation has to be rounded to its own type");

enum {
        STRIPES = 8,         /* partial sums of a group */
        SMALL = 32,          /* values of a small block */
        LARGEST_F16 = 0x7bff /* 65504 */
};

/* ---- steps, bases and codes ---- */

/* t [STRIPES]: sums pairs until one is left. */
static double total(double *t)
{
        for (int i = 0; i < 4; i++)
                t[i] += t[i + 4];
        return (t[0] + t[2]) + (t[1] + t[3]);
}

int uneven_index(int value)
{
        int i = 0;
        while (uneven_values[i] < value)
                i++;
        return i;
}

/* The nearest uneven value; the lower one of two. */
static double nearest_uneven(double x)
{
        int i = 0;
        while (i < 15 && x > (uneven_values[i] + uneven_values[i + 1]) / 2.0)
                i++;
        return uneven_values[i];
}

/* Codes of STRIPES values. */
static void nearest_codes(const Group *group, const double *restrict x, double inverse, double base,
                          double *restrict q)
{
        double low = group->low, high = group->high;
        if (group->uneven) {
                for (int i = 0; i < STRIPES; i++)
                        q[i] = nearest_uneven((x[i] - base) * inverse);
                return;
        }
        for (int i = 0; i < STRIPES; i++) {
                double t = (x[i] - base) * inverse;
                t = t > low ? t : low;
                t = t < high ? t : high;
                q[i] = round_even(t);
        }
}

static double inverse_of(double step)
{
        return step != 0 ? 1 / step : 0;
}

/* Values are rounded to float, as in types.c, which changes those with a base. */
static double group_loss(const Group *group, double step, double base)
{
        double inverse = inverse_of(step), loss[STRIPES] = {0}, q[STRIPES];
        for (int at = 0; at < group->n; at += STRIPES) {
                const double *restrict x = group->x + at, *restrict weight = group->weight + at;
                nearest_codes(group, x, inverse, base, q);
                for (int i = 0; i < STRIPES; i++) {
                        double error = x[i] - (double)(float)(step * q[i] + base);
                        loss[i] += weight[i] * (error * error);
                }
        }
        return total(loss);
}

/* Whether the loss is smaller by more than rounding. */
bool loss_improved(double found, double best)
{
        return found < best * (1 - 1e-9);
}

Fit fit_begin(const Group *group, double step, double base)
{
        return (Fit){step, base, group_loss(group, step, base)};
}

bool fit_improve(const Group *group, Fit *fit, double step, double base)
{
        double loss = group_loss(group, step, base);
        if (!loss_improved(loss, fit->loss))
                return false;
        *fit = (Fit){step, base, loss};
        return true;
}

void fit_codes(const Group *group, const Fit *fit, int8_t *code)
{
        double q[STRIPES];
        for (int at = 0; at < group->n; at += STRIPES) {
                nearest_codes(group, group->x + at, inverse_of(fit->step), fit->base, q);
                for (int i = 0; i < STRIPES; i++)
                        code[at + i] = (int8_t)q[i];
        }
}

Sums fit_sums(const Group *group, double step, double base)
{
        double inverse = inverse_of(step), q[STRIPES];
        double one[STRIPES] = {0}, q1[STRIPES] = {0}, qq[STRIPES] = {0}, x1[STRIPES] = {0}, xq[STRIPES] = {0};
        for (int at = 0; at < group->n; at += STRIPES) {
                const double *restrict x = group->x + at, *restrict weight = group->weight + at;
                nearest_codes(group, x, inverse, base, q);
                for (int i = 0; i < STRIPES; i++) {
                        double heavy = weight[i] * q[i];
                        one[i] += weight[i];
                        q1[i] += heavy;
                        qq[i] += heavy * q[i];
                        x1[i] += weight[i] * x[i];
                        xq[i] += heavy * x[i];
                }
        }
        return (Sums){total(one), total(q1), total(qq), total(x1), total(xq)};
}

/* Without a base, codes are symmetric around 0, and the caller set the sums `one`, `q` and `x` to 0. */
void least_squares(const Sums *sums, double *step, double *base)
{
        double det = sums->qq * sums->one - sums->q * sums->q;
        if (det > 0) {
                *step = (sums->one * sums->xq - sums->q * sums->x) / det;
                *base = (sums->qq * sums->x - sums->q * sums->xq) / det;
        } else if (sums->qq > 0) {
                *step = sums->xq / sums->qq;
        }
}

double group_largest(const Group *group)
{
        double largest = group->x[0];
        for (int i = 1; i < group->n; i++)
                if (fabs(group->x[i]) > fabs(largest))
                        largest = group->x[i];
        return largest;
}

void group_range(const Group *group, double *least, double *greatest)
{
        *least = *greatest = group->x[0];
        for (int i = 1; i < group->n; i++) {
                *least = group->x[i] < *least ? group->x[i] : *least;
                *greatest = group->x[i] > *greatest ? group->x[i] : *greatest;
        }
}

/* The nearest f16, at most the largest one. */
static double near_f16(double x)
{
        double bounded = x > 65504 ? 65504 : x < -65504 ? -65504 : x;
        return f16_to_f32(f32_to_f16((float)bounded));
}

double step_f16(double x)
{
        static const double least = 0x1p-24;
        double near = near_f16(x);
        return near != 0 ? near : x > 0 ? least : x < 0 ? -least : 0;
}

double factor_beyond(double one, double other)
{
        static const double rounds_up = 65520; /* halfway from 65504 to 2^16 */
        double larger = fabs(one) > fabs(other) ? fabs(one) : fabs(other);
        return larger >= rounds_up ? larger : 0;
}

void write_f16(unsigned char *at, double f16)
{
        uint16_t half = f32_to_f16((float)f16);
        memcpy(at, &half, sizeof half);
}

/* ---- blocks of 32 ---- */

static Group small_group(const BlockFloats *from, double low, double high)
{
        return (Group){from->x, from->weight, SMALL, low, high, false};
}

/* Codes from 0: the lower four bits of the first 16 are lower nibbles, those of the others upper ones. */
static void put_nibbles(const int8_t *code, unsigned char *nibbles)
{
        for (int i = 0; i < 16; i++)
                nibbles[i] = (unsigned char)((code[i] & 15) | (code[i + 16] & 15) << 4);
}

/* The fifth bits of codes. */
static void put_fifth_bits(const int8_t *code, unsigned char *bits)
{
        memset(bits, 0, SMALL / 8);
        for (int i = 0; i < SMALL; i++)
                bits[i / 8] |= (unsigned char)(code[i] >> 4 << i % 8);
}

static void quantise_q8_0(const BlockFloats *from, unsigned char *block)
{
        Group group = small_group(from, -127, 127);
        double largest = fabs(group_largest(&group));
        Fit fit = fit_begin(&group, step_f16(largest / 127), 0);
        for (int reach = 126; reach >= 120; reach--)
                fit_improve(&group, &fit, step_f16(largest / reach), 0);
        /* the next f16 changes the largest value by a tenth of a step, so it is tried too */
        int found = f32_to_f16((float)fit.step);
        for (int half = found - 2; half <= found + 2; half++)
                if (half > 0 && half <= LARGEST_F16)
                        fit_improve(&group, &fit, f16_to_f32((uint16_t)half), 0);
        write_f16(block, fit.step);
        fit_codes(&group, &fit, (int8_t *)block + 2);
}

/* Writes the step of codes around 0.  Tries steps that give the largest value a code of `first` to `last` tenths, of both signs. */
static void quantise_around(const Group *group, int first, int last, int by, unsigned char *block,
                            int8_t *code)
{
        double largest = group_largest(group);
        Fit fit = fit_begin(group, step_f16(largest / group->low), 0);
        fit_improve(group, &fit, 0, 0); /* uneven codes have no 0 */
        for (int tenths = first; tenths <= last; tenths += by) {
                fit_improve(group, &fit, step_f16(largest / (tenths * 0.1)), 0);
                fit_improve(group, &fit, step_f16(largest / (tenths * -0.1)), 0);
        }
        double step = fit.step, none;
        do {
                Sums sums = fit_sums(group, fit.step, 0);
                least_squares(&(Sums){.qq = sums.qq, .xq = sums.xq}, &step, &none);
        } while (fit_improve(group, &fit, step_f16(step), 0));
        write_f16(block, fit.step);
        fit_codes(group, &fit, code);
}

static void quantise_q4_0(const BlockFloats *from, unsigned char *block)
{
        Group group = small_group(from, -8, 7);
        int8_t code[SMALL];
        quantise_around(&group, 60, 86, 2, block, code);
        for (int i = 0; i < SMALL; i++)
                code[i] += 8;
        put_nibbles(code, block + 2);
}

static void quantise_q5_0(const BlockFloats *from, unsigned char *block)
{
        Group group = small_group(from, -16, 15);
        int8_t code[SMALL];
        quantise_around(&group, 140, 166, 2, block, code);
        for (int i = 0; i < SMALL; i++)
                code[i] += 16;
        put_fifth_bits(code, block + 2);
        put_nibbles(code, block + 6);
}

static void quantise_iq4_nl(const BlockFloats *from, unsigned char *block)
{
        Group group = small_group(from, -127, 113);
        group.uneven = true;
        int8_t code[SMALL];
        quantise_around(&group, 930, 1360, 30, block, code);
        for (int i = 0; i < SMALL; i++)
                code[i] = (int8_t)uneven_index(code[i]);
        put_nibbles(code, block + 2);
}

/* Iterates: from the codes of a step and base to the best step and base for them. */
static void improve_line(const Group *group, Fit *fit, double step, double base)
{
        do {
                Sums sums = fit_sums(group, step, base);
                least_squares(&sums, &step, &base);
                step = step_f16(step);
                base = near_f16(base);
        } while (fit_improve(group, fit, step, base));
}

/* Writes the step and the base of codes from 0 to `most`. */
static void quantise_line(const BlockFloats *from, int most, unsigned char *block, int8_t *code)
{
        Group group = small_group(from, 0, most);
        double least, greatest;
        group_range(&group, &least, &greatest);
        Fit fit = fit_begin(&group, step_f16((greatest - least) / most), near_f16(least));
        for (int fourths = 4 * most - 12; fourths <= 4 * most + 6; fourths += 2)
                improve_line(&group, &fit, (greatest - least) / (fourths * 0.25), least);
        improve_line(&group, &fit, fit.step, fit.base);
        write_f16(block, fit.step);
        write_f16(block + 2, fit.base);
        fit_codes(&group, &fit, code);
}

static void quantise_q4_1(const BlockFloats *from, unsigned char *block)
{
        int8_t code[SMALL];
        quantise_line(from, 15, block, code);
        put_nibbles(code, block + 4);
}

static void quantise_q5_1(const BlockFloats *from, unsigned char *block)
{
        int8_t code[SMALL];
        quantise_line(from, 31, block, code);
        put_fifth_bits(code, block + 4);
        put_nibbles(code, block + 8);
}

/* The nearest of 0 1 2 3 4 6 8 12; ties to the even code. */
static double near_twice(double x)
{
        if (x < 4)
                return round_even(x);
        double coarse = x < 8 ? 2 * round_even(x / 2) : 4 * round_even(x / 4);
        return coarse < 12 ? coarse : 12;
}

static double mxfp4_half(int exponent)
{
        return ldexp(1, exponent - 128);
}

static double mxfp4_loss(const BlockFloats *from, int exponent)
{
        double half = mxfp4_half(exponent), loss = 0;
        for (int i = 0; i < SMALL; i++) {
                double x = fabs(from->x[i]), error = x - half * near_twice(x / half);
                loss += from->weight[i] * (error * error);
        }
        return loss;
}

static void quantise_mxfp4(const BlockFloats *from, unsigned char *block)
{
        static const int8_t code_of[] = {0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7};
        Group group = small_group(from, 0, 0);
        double largest = fabs(group_largest(&group));
        int exponent = 0; /* so that the largest value is in 4 to 8 */
        if (largest > 0)
                frexp(largest, &exponent);
        exponent = largest > 0 && exponent + 124 > 0 ? exponent + 124 : 0;
        int plain = exponent;
        double best = mxfp4_loss(from, exponent);
        for (int other = plain > 0 ? plain - 1 : 1; other <= plain + 1; other++) {
                double loss = mxfp4_loss(from, other);
                if (loss_improved(loss, best)) {
                        best = loss;
                        exponent = other;
                }
        }
        int8_t code[SMALL];
        for (int i = 0; i < SMALL; i++) {
                int8_t of = code_of[(int)near_twice(fabs(from->x[i]) / mxfp4_half(exponent))];
                code[i] = of && from->x[i] < 0 ? of + 8 : of;
        }
        block[0] = (unsigned char)exponent;
        put_nibbles(code, block + 1);
}

/* ---- the table ---- */

static void (*const quantisers[])(const BlockFloats *from, unsigned char *block) = {
#define CK_TYPE(name, safetensors, gguf, values, bits, widen, quantise, why) [CK_##name] = (quantise),
#include "types.def"
#undef CK_TYPE
};

/* The factors in plain rounding. */
double quantise_beyond(CkType type, const float *x)
{
        BlockFloats from;
        for (int i = 0; i < ck_type_values(type); i++) {
                from.x[i] = x[i];
                from.weight[i] = 1;
        }
        Group group = small_group(&from, 0, 0);
        double least, greatest;
        group_range(&group, &least, &greatest);
        switch ((int)type) {
        case CK_Q8_0: return factor_beyond(group_largest(&group) / 127, 0);
        case CK_Q4_0: return factor_beyond(group_largest(&group) / 8, 0);
        case CK_Q4_1: return factor_beyond((greatest - least) / 15, least);
        case CK_Q5_0: return factor_beyond(group_largest(&group) / 16, 0);
        case CK_Q5_1: return factor_beyond((greatest - least) / 31, least);
        case CK_IQ4_NL: return factor_beyond(group_largest(&group) / 127, 0);
        case CK_MXFP4: return 0; /* powers of two cover every float */
        default: return division_beyond(type, &from);
        }
}

bool can_quantise(CkType type)
{
        return quantisers[type];
}

bool quantise_block(CkType type, const float *x, const float *weight, void *block)
{
        if (!quantisers[type])
                return false;
        BlockFloats from;
        for (int i = 0; i < ck_type_values(type); i++) {
                from.x[i] = x[i];
                from.weight[i] = weight ? weight[i] : 1;
                if (!isfinite(x[i]) || !(from.weight[i] >= 0 && from.weight[i] < INFINITY))
                        return false;
        }
        quantisers[type](&from, block);
        return true;
}
