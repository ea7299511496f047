/* For the quantisers (quantise.c, quantise_k.c). */
#ifndef QUANTISE_PRIVATE_H
#define QUANTISE_PRIVATE_H
#include "weights.h"

enum { MAX_K_VALUES = 256 }; /* of a block */

/* A block's floats. */
typedef struct {
        double x[MAX_K_VALUES], weight[MAX_K_VALUES];
} BlockFloats;

/* Floats that share a step and a base: x is approximated by step * code + base. */
typedef struct {
        const double *x, *weight; /* [n] */
        int n;                    /* a multiple of 8 */
        double low, high;         /* range of the integer codes */
        bool uneven;              /* codes are uneven_values[], else all integers in the range */
} Group;

/* Index of an uneven value. */
int uneven_index(int value);

/* The best step and base so far, with the nearest codes. */
typedef struct {
        double step, base;
        double loss; /* sum of weight * (x - value)^2 */
} Fit;

Fit fit_begin(const Group *group, double step, double base);
/* Takes a step and a base if their loss is smaller. */
bool fit_improve(const Group *group, Fit *fit, double step, double base);
bool loss_improved(double found, double best);
void fit_codes(const Group *group, const Fit *fit, int8_t *code);

/* Sums over a group, each times its weight. */
typedef struct {
        double one, q, qq, x, xq; /* q: codes */
} Sums;

Sums fit_sums(const Group *group, double step, double base);
/* Step and base with the least weighted loss for fixed codes; unchanged if the codes do not determine
 * them. */
void least_squares(const Sums *sums, double *step, double *base);

/* The float with the largest magnitude; the first of several. */
double group_largest(const Group *group);
/* The minimum and maximum. */
void group_range(const Group *group, double *least, double *greatest);

/* The nearest integer, ties to even, for |x| up to 2^51. */
static inline double round_even(double x)
{
        return x + 0x1.8p52 - 0x1.8p52;
}

/* The nearest f16 for a step, at most the largest one: only 0 becomes 0. */
double step_f16(double x);
/* The factor of larger magnitude, if it exceeds f16; else 0. */
double factor_beyond(double one, double other);
/* Writes an f16 at a block's address. */
void write_f16(unsigned char *at, double f16);

/* quantise_k.c: blocks of 256 values. */
void quantise_q2_k(const BlockFloats *from, unsigned char *block);
void quantise_q3_k(const BlockFloats *from, unsigned char *block);
void quantise_q4_k(const BlockFloats *from, unsigned char *block);
void quantise_q5_k(const BlockFloats *from, unsigned char *block);
void quantise_q6_k(const BlockFloats *from, unsigned char *block);
void quantise_iq4_xs(const BlockFloats *from, unsigned char *block);
/* The factor of plain rounding to a type of blocks of 256 that exceeds f16; 0: none. */
double division_beyond(CkType type, const BlockFloats *from);
#endif
