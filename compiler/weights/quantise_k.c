/* Quantisers of blocks of 256 values (quantise.c defines the error): groups of 32 or 16 have whole scales of a few bits, and perhaps
 * minima, beside two f16 factors of the block.
 *
 *     value = d * scale * code - dmin * minimum
 *
 * The search keeps d and dmin and tries for each group scales around what it has, each with the best minima; then d and dmin become those of
 * the least squares for all codes, scales and minima.  That is repeated while it improves. */
#include "quantise_private.h"

#include <math.h>
#include <string.h>

enum { LARGE = 256, MAX_K_GROUPS = 16 };

/* The division of a block by type. */
typedef struct {
        int groups;
        int low, high; /* codes */
        int low_scale, high_scale;
        int high_minimum; /* 0: no minima */
        bool uneven;      /* as in Group */
} Division;

static const Division division_of[CK_TYPE_COUNT] = {
        [CK_Q2_K] = {16, 0, 3, 0, 15, 15, false},       [CK_Q3_K] = {16, -4, 3, -32, 31, 0, false},
        [CK_Q4_K] = {8, 0, 15, 0, 63, 63, false},       [CK_Q5_K] = {8, 0, 31, 0, 63, 63, false},
        [CK_Q6_K] = {16, -32, 31, -128, 127, 0, false}, [CK_IQ4_XS] = {8, -127, 113, -32, 31, 0, true}};

typedef struct {
        double d, dmin; /* f16 */
        int scale[MAX_K_GROUPS], minimum[MAX_K_GROUPS];
        Fit fit[MAX_K_GROUPS];
        double loss; /* total of all groups */
} SuperBlock;

typedef struct {
        const Division *division;
        Group group[MAX_K_GROUPS];
} GroupParts;

static int whole_within(double x, int low, int high)
{
        return x < low ? low : x > high ? high : (int)round_even(x);
}

/* x / y, or 0 if y is 0. */
static double over(double x, double y)
{
        return y != 0 ? x / y : 0;
}

static void add_up(const GroupParts *parts, SuperBlock *block)
{
        block->loss = 0;
        for (int j = 0; j < parts->division->groups; j++)
                block->loss += block->fit[j].loss;
}

/* The step and the minimum of a group, independently of others. */
static void alone(const Division *division, const Group *group, double *step, double *least)
{
        double greatest;
        if (division->high_minimum) {
                group_range(group, least, &greatest);
                *least = *least < 0 ? *least : 0;
                *step = (greatest - *least) / division->high;
        } else {
                *least = 0;
                *step = group_largest(group) / division->low;
        }
}

/* The groups' steps and minima, and the d and dmin of plain rounding. */
static void plain_factors(const GroupParts *parts, double *step, double *least, double *d, double *dmin)
{
        const Division *division = parts->division;
        double largest = 0, lowest = 0;
        for (int j = 0; j < division->groups; j++) {
                alone(division, &parts->group[j], &step[j], &least[j]);
                largest = fabs(step[j]) > largest ? fabs(step[j]) : largest;
                lowest = least[j] < lowest ? least[j] : lowest;
        }
        *d = largest / division->high_scale;
        *dmin = over(-lowest, division->high_minimum);
}

/* Plain rounding, with d increased by `more`. */
static void parts_begin(const GroupParts *parts, SuperBlock *block, double more)
{
        const Division *division = parts->division;
        double step[MAX_K_GROUPS], least[MAX_K_GROUPS], d, dmin;
        plain_factors(parts, step, least, &d, &dmin);
        block->d = step_f16(d) + more;
        block->dmin = step_f16(dmin);
        for (int j = 0; j < division->groups; j++) {
                block->scale[j] =
                        whole_within(over(step[j], block->d), division->low_scale, division->high_scale);
                block->minimum[j] = whole_within(over(-least[j], block->dmin), 0, division->high_minimum);
                block->fit[j] = fit_begin(&parts->group[j], block->d * block->scale[j],
                                          -block->dmin * block->minimum[j]);
        }
        add_up(parts, block);
}

/* The least-squares minimum for the codes of a step and a base. */
static int best_minimum(const Division *division, const Group *group, double dmin, double step, double base)
{
        if (!division->high_minimum)
                return 0;
        Sums sums = fit_sums(group, step, base);
        return whole_within(over(step * sums.q - sums.x, sums.one * dmin), 0, division->high_minimum);
}

/* Tries scales from `below` to `above` the current one, each with three minima. */
static void improve_group(const GroupParts *parts, SuperBlock *block, int j, int below, int above)
{
        const Division *division = parts->division;
        const Group *group = &parts->group[j];
        int middle = block->scale[j];
        double base = block->fit[j].base;
        for (int scale = middle - below; scale <= middle + above; scale++) {
                if (scale < division->low_scale || scale > division->high_scale)
                        continue;
                double step = block->d * scale;
                int best = best_minimum(division, group, block->dmin, step, base);
                for (int minimum = best - 1; minimum <= best + 1; minimum++)
                        if (minimum >= 0 && minimum <= division->high_minimum &&
                            fit_improve(group, &block->fit[j], step, -block->dmin * minimum)) {
                                block->scale[j] = scale;
                                block->minimum[j] = minimum;
                        }
        }
}

/* d and dmin by least squares; false: they do not change. */
static bool refit(const GroupParts *parts, SuperBlock *block)
{
        Sums all = {0};
        for (int j = 0; j < parts->division->groups; j++) {
                Sums sums = fit_sums(&parts->group[j], block->fit[j].step, block->fit[j].base);
                double scale = block->scale[j], minimum = -block->minimum[j];
                all.one += minimum * minimum * sums.one;
                all.q += minimum * scale * sums.q;
                all.qq += scale * scale * sums.qq;
                all.x += minimum * sums.x;
                all.xq += scale * sums.xq;
        }
        double d = block->d, dmin = block->dmin;
        least_squares(&all, &d, &dmin);
        d = step_f16(d);
        dmin = step_f16(dmin);
        if (d <= 0 || dmin < 0 || (d == block->d && dmin == block->dmin))
                return false;
        block->d = d;
        block->dmin = dmin;
        return true;
}

/* Improves every group, and sums their losses. */
static void improve_groups(const GroupParts *parts, SuperBlock *block, int below, int above)
{
        for (int j = 0; j < parts->division->groups; j++)
                improve_group(parts, block, j, below, above);
        add_up(parts, block);
}

static void improve_block(const GroupParts *parts, SuperBlock *best)
{
        SuperBlock tried = *best;
        improve_groups(parts, &tried, 8, parts->division->high_minimum ? 3 : 8);
        while (loss_improved(tried.loss, best->loss)) {
                *best = tried;
                if (!refit(parts, &tried))
                        return;
                for (int j = 0; j < parts->division->groups; j++)
                        tried.fit[j] = fit_begin(&parts->group[j], tried.d * tried.scale[j],
                                                 -tried.dmin * tried.minimum[j]);
                improve_groups(parts, &tried, 1, 1);
        }
}

/* For small f16 numbers, a d that was rounded down may have no scale for the largest values: the next f16
 * is tried too. */
static void parts_search(const GroupParts *parts, SuperBlock *best)
{
        static const double few = 0x1p-20, apart = 0x1p-24;
        parts_begin(parts, best, 0);
        improve_block(parts, best);
        if (best->d == 0 || best->d >= few)
                return;
        SuperBlock other;
        parts_begin(parts, &other, apart);
        improve_block(parts, &other);
        if (loss_improved(other.loss, best->loss))
                *best = other;
}

static GroupParts division_parts(const Division *division, const BlockFloats *from)
{
        GroupParts parts = {.division = division};
        const int n = LARGE / division->groups;
        for (int64_t j = 0; j < division->groups; j++)
                parts.group[j] = (Group){from->x + n * j, from->weight + n * j, n,
                                         division->low,   division->high,       division->uneven};
        return parts;
}

double division_beyond(CkType type, const BlockFloats *from)
{
        const GroupParts parts = division_parts(&division_of[type], from);
        double step[MAX_K_GROUPS], least[MAX_K_GROUPS], d, dmin;
        plain_factors(&parts, step, least, &d, &dmin);
        return factor_beyond(d, dmin);
}

/* Codes from 0. */
static void quantise(CkType type, const BlockFloats *from, SuperBlock *block, int8_t *code)
{
        const Division *division = &division_of[type];
        const GroupParts parts = division_parts(division, from);
        const int n = LARGE / division->groups;
        parts_search(&parts, block);
        for (int64_t j = 0; j < division->groups; j++)
                fit_codes(&parts.group[j], &block->fit[j], code + n * j);
        for (int i = 0; i < LARGE; i++)
                code[i] = (int8_t)(division->uneven ? uneven_index(code[i]) : code[i] - division->low);
}

/* ---- bytes ---- */

/* d, dmin and the 12 bytes of six-bit scales and minima, as widen_k reads them. */
static void put_head(const SuperBlock *block, unsigned char *head)
{
        write_f16(head, block->d);
        write_f16(head + 2, block->dmin);
        unsigned char *packed = head + 4;
        for (int j = 0; j < 4; j++) {
                int scale = block->scale[j + 4], minimum = block->minimum[j + 4];
                packed[j] = (unsigned char)(block->scale[j] | scale >> 4 << 6);
                packed[j + 4] = (unsigned char)(block->minimum[j] | minimum >> 4 << 6);
                packed[j + 8] = (unsigned char)((scale & 15) | (minimum & 15) << 4);
        }
}

/* Lower four bits: 64 codes to 32 bytes. */
static void put_codes(const int8_t *code, unsigned char *pairs)
{
        for (int64_t i = 0; i < LARGE / 2; i++) {
                const int8_t *of = code + i / 32 * 64 + i % 32;
                pairs[i] = (unsigned char)((of[0] & 15) | (of[32] & 15) << 4);
        }
}

/* Two bits of each code, from bit `from` on: 128 codes to 32 bytes. */
static void put_two_bits(const int8_t *code, int from, unsigned char *bytes)
{
        memset(bytes, 0, LARGE / 4);
        for (int i = 0; i < LARGE; i++)
                bytes[i / 128 * 32 + i % 32] |= (unsigned char)((code[i] >> from & 3) << i % 128 / 32 * 2);
}

/* One bit of each code, bit `from`: those of every 32nd code share a byte. */
static void put_one_bit(const int8_t *code, int from, unsigned char *bytes)
{
        memset(bytes, 0, LARGE / 8);
        for (int i = 0; i < LARGE; i++)
                bytes[i % 32] |= (unsigned char)((code[i] >> from & 1) << i / 32);
}

void quantise_q2_k(const BlockFloats *from, unsigned char *block)
{
        SuperBlock found;
        int8_t code[LARGE];
        quantise(CK_Q2_K, from, &found, code);
        for (int j = 0; j < 16; j++)
                block[j] = (unsigned char)(found.scale[j] | found.minimum[j] << 4);
        put_two_bits(code, 0, block + 16);
        write_f16(block + 80, found.d);
        write_f16(block + 82, found.dmin);
}

/* Scales have six bits, 32 more than the number: four in halves of the first 8 bytes, two in the other 4. */
void quantise_q3_k(const BlockFloats *from, unsigned char *block)
{
        SuperBlock found;
        int8_t code[LARGE];
        quantise(CK_Q3_K, from, &found, code);
        put_one_bit(code, 2, block);
        put_two_bits(code, 0, block + 32);
        unsigned char *scales = block + 96;
        memset(scales, 0, 12);
        for (int j = 0; j < 16; j++) {
                int scale = found.scale[j] + 32;
                scales[j % 8] |= (unsigned char)((scale & 15) << j / 8 * 4);
                scales[8 + j % 4] |= (unsigned char)(scale >> 4 << j / 4 * 2);
        }
        write_f16(block + 108, found.d);
}

void quantise_q4_k(const BlockFloats *from, unsigned char *block)
{
        SuperBlock found;
        int8_t code[LARGE];
        quantise(CK_Q4_K, from, &found, code);
        put_head(&found, block);
        put_codes(code, block + 16);
}

void quantise_q5_k(const BlockFloats *from, unsigned char *block)
{
        SuperBlock found;
        int8_t code[LARGE];
        quantise(CK_Q5_K, from, &found, code);
        put_head(&found, block);
        put_one_bit(code, 4, block + 16);
        put_codes(code, block + 48);
}

void quantise_q6_k(const BlockFloats *from, unsigned char *block)
{
        SuperBlock found;
        int8_t code[LARGE];
        quantise(CK_Q6_K, from, &found, code);
        memset(block, 0, 128);
        for (int i = 0; i < LARGE; i++)
                block[i / 128 * 64 + i % 64] |= (unsigned char)((code[i] & 15) << i % 128 / 64 * 4);
        put_two_bits(code, 4, block + 128);
        for (int j = 0; j < 16; j++)
                block[192 + j] = (unsigned char)found.scale[j];
        write_f16(block + 208, found.d);
}

/* Scales have six bits, as in q3_k: two in the 16 bits after d, four in halves of the next four bytes. */
void quantise_iq4_xs(const BlockFloats *from, unsigned char *block)
{
        SuperBlock found;
        int8_t code[LARGE];
        quantise(CK_IQ4_XS, from, &found, code);
        write_f16(block, found.d);
        memset(block + 2, 0, 6);
        for (int j = 0; j < 8; j++) {
                int scale = found.scale[j] + 32;
                block[2 + j / 4] |= (unsigned char)(scale >> 4 << j % 4 * 2);
                block[4 + j / 2] |= (unsigned char)((scale & 15) << j % 2 * 4);
        }
        for (int64_t i = 0; i < LARGE / 2; i++)
                block[8 + i] =
                        (unsigned char)(code[i / 16 * 32 + i % 16] | code[i / 16 * 32 + 16 + i % 16] << 4);
}
