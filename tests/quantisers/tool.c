/* The quantisers from the command line, for the tests.
 *   check RECORD    all checks, against what record.py has recorded; prints ok and FAIL lines, nonzero if one failed
 *   blocks          the blocks of every type and distribution, one after another, for record.py
 *   losses          squared errors as parts of those of plain rounding
 *   time            million weights a second of processor time
 * What is quantised is made here and in record.py from the same integers, to the bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weights/weights.h"

enum { N = 16384, LARGE = 256 }; /* floats of a distribution; of the largest block */

static int passed, failed; /* checks */

/* What is wrong is printed; what is right is counted. */
static void verdict(bool good, const char *what, const char *type, const char *of)
{
        if (!good)
                printf("FAIL quantisers: %s: %s%s%s\n", type, what, *of ? ", " : "", of);
        failed += !good;
        passed += good;
}

/* The end of a type's checks, or of others. */
static void conclude(const char *what)
{
        static int failed_before;
        if (failed == failed_before)
                printf("ok quantisers: %s: %d checks\n", what, passed);
        failed_before = failed;
        passed = 0;
}

/* ---- floats ---- */

static uint64_t mix(uint64_t z)
{
        z += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

/* About normal: the sum of twelve numbers of 16 bits, which is exact, from -6 to 6. */
static double normal(uint64_t seed)
{
        int64_t sum = 0;
        for (uint64_t i = 0; i < 3; i++)
                for (uint64_t bits = mix(3 * seed + i); bits; bits >>= 16)
                        sum += (int64_t)(bits & 0xffff);
        return (double)(sum - 6 * 65535) / 65536;
}

static double uniform(uint64_t seed)
{
        return (double)(mix(seed) >> 40) / 16777216 - 0.5;
}

/* Rows: `same` holds of distributions in which plain rounding may be as good as anything. */
static const struct {
        const char *name;
        bool same;
} distributions[] = {{"normal", false}, {"uniform", false}, {"tails", false},   {"outlier", false},
                     {"offset", false}, {"scales", false},  {"gaps", false},    {"small", false},
                     {"large", false},  {"grid", true},     {"constant", true}, {"tiny", true},
                     {"huge", true},    {"zero", true}};
enum { DISTRIBUTIONS = sizeof distributions / sizeof *distributions };

static float float_of(int distribution, uint64_t i)
{
        uint64_t seed = (uint64_t)distribution * N + i;
        double x = normal(seed), block = uniform(i / 256 + 77), group = uniform(i / 32 + 99) + 0.5;
        switch (distribution) {
        case 0: return (float)(x * 0.02);
        case 1: return (float)uniform(seed);
        case 2: return (float)(x * x * x * 0.01);
        case 3: return (float)(i % 256 == 5 ? x * 8 : i % 32 == 9 ? x * 2 : x * 0.25);
        case 4: return (float)(x * 0.01 + 0.05);
        case 5: return (float)(x * group * group);
        case 6: return mix(seed + 5) % 4 ? 0.0F : (float)x;
        case 7: return (float)(x * 0.0001);
        case 8: return (float)(x * 60000);
        case 9: return (float)((double)(mix(seed) % 16) * 0.25 - 2);
        case 10: return (float)block;
        case 11: return (float)(x * 1e-38);
        case 12: return (float)(x * 1e37);
        default: return i % 3 ? 0.0F : -0.0F;
        }
}

/* ---- types ---- */

static const CkType type_of[] = {
#define TYPE_OF(of, NAME, ...) CK_##NAME,
        BLOCK_STORAGES(TYPE_OF, )
#undef TYPE_OF
};
enum { TYPES = sizeof type_of / sizeof *type_of };

/* Types that lathe reads but does not make. */
static bool is_only_read(CkType type)
{
        return type == CK_NVFP4 || type == CK_TQ1_0 || type == CK_TQ2_0 || type == CK_IQ3_XXS ||
               type == CK_IQ3_S || type == CK_IQ2_XXS || type == CK_IQ2_XS || type == CK_IQ2_S ||
               type == CK_IQ1_S || type == CK_IQ1_M || type == CK_INT4_32 || type == CK_INT4_64 ||
               type == CK_INT4_128 || type == CK_E4M3 || type == CK_E5M2;
}

static int64_t bytes_of(CkType type)
{
        return ck_type_bits(type) / 8;
}

static void need(bool good, const char *what)
{
        if (good)
                return;
        printf("FAIL quantisers: %s\n", what);
        exit(2);
}

/* Floats of blocks, as the reader of files has them. */
static void widened(CkType type, const void *blocks, int64_t count, float *value)
{
        ck_type_widen(type, blocks, count / ck_type_values(type), value);
}

/* x [N]; block: its bytes */
static void quantised(CkType type, const float *x, const float *weight, unsigned char *block)
{
        int values = ck_type_values(type);
        for (int i = 0; i < N; i += values, block += bytes_of(type))
                need(quantise_block(type, x + i, weight ? weight + i : NULL, block),
                     "a block is not quantised");
}

/* ---- plain rounding ---- */

static float f16_of(float x)
{
        return f16_to_f32(f32_to_f16(x > 65504 ? 65504 : x < -65504 ? -65504 : x));
}

static float code_of(float x, float step, float low, float high)
{
        float code = step != 0 ? rintf(x / step) : 0;
        return code < low ? low : code > high ? high : code;
}

static float largest_of(const float *x, int n)
{
        float largest = 0;
        for (int i = 0; i < n; i++)
                largest = fabsf(x[i]) > fabsf(largest) ? x[i] : largest;
        return largest;
}

static void range_of(const float *x, int n, float *least, float *greatest)
{
        *least = *greatest = *x;
        for (int i = 1; i < n; i++) {
                *least = fminf(*least, x[i]);
                *greatest = fmaxf(*greatest, x[i]);
        }
}

static void plain_steps(const float *x, float step, float low, float high, float *value)
{
        for (int i = 0; i < 32; i++)
                value[i] = f16_of(step) * code_of(x[i], step, low, high);
}

static void plain_line(const float *x, float high, float *value)
{
        float least, greatest;
        range_of(x, 32, &least, &greatest);
        float step = (greatest - least) / high;
        for (int i = 0; i < 32; i++)
                value[i] = f16_of(step) * code_of(x[i] - least, step, 0, high) + f16_of(least);
}

/* The nearest of the values of iq4_nl, times a step. */
static float near_uneven(float x, float step)
{
        static const float among[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
        float best = step * among[0];
        for (int i = 1; i < 16; i++)
                if (fabsf(x - step * among[i]) < fabsf(x - best))
                        best = step * among[i];
        return best;
}

static void plain_iq4_nl(const float *x, float *value)
{
        float step = f16_of(largest_of(x, 32) / -127);
        for (int i = 0; i < 32; i++)
                value[i] = near_uneven(x[i], step);
}

static void plain_mxfp4(const float *x, float *value)
{
        static const float codes[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
        float largest = fabsf(largest_of(x, 32));
        double step = largest > 0 ? ldexp(1, ilogbf(largest) - 2) : 0;
        step = largest > 0 ? fmax(step, 0x1p-127) : 0;
        for (int i = 0; i < 32; i++) {
                double best = 0;
                for (int c = 0; c < 8; c++)
                        if (fabs(fabsf(x[i]) - step * codes[c]) < fabs(fabsf(x[i]) - best))
                                best = step * codes[c];
                value[i] = (float)copysign(best, x[i]);
        }
}

/* Groups of n with a step and a minimum, integers up to `scales`. */
static void plain_k(const float *x, int n, float scales, float high, float *value)
{
        float step[16], below[16], most = 0, lowest = 0;
        for (int j = 0; j < LARGE / n; j++) {
                float least, greatest;
                range_of(x + n * j, n, &least, &greatest);
                below[j] = fmaxf(-least, 0);
                step[j] = (greatest + below[j]) / high;
                most = fmaxf(most, step[j]);
                lowest = fmaxf(lowest, below[j]);
        }
        float d = f16_of(most / scales), dmin = f16_of(lowest / scales);
        for (int i = 0; i < LARGE; i++) {
                float own = d * code_of(step[i / n], d, 0, scales),
                      minimum = dmin * code_of(below[i / n], dmin, 0, scales);
                value[i] = own * code_of(x[i] + minimum, own, 0, high) - minimum;
        }
}

/* Groups of 16 with a step, an integer from -scales - 1 to scales; codes from low to -low - 1. */
static void plain_signed_k(const float *x, float scales, float low, float *value)
{
        float step[16], most = 0;
        for (int j = 0; j < 16; j++) {
                step[j] = largest_of(x + 16 * j, 16) / low;
                most = fmaxf(most, fabsf(step[j]));
        }
        float d = f16_of(most / scales);
        for (int i = 0; i < LARGE; i++) {
                float own = d * code_of(step[i / 16], d, -scales - 1, scales);
                value[i] = own * code_of(x[i], own, low, -low - 1);
        }
}

static void plain_iq4_xs(const float *x, float *value)
{
        float step[8], most = 0;
        for (int j = 0; j < 8; j++) {
                step[j] = largest_of(x + 32 * j, 32) / -127;
                most = fmaxf(most, fabsf(step[j]));
        }
        float d = f16_of(most / 31);
        for (int i = 0; i < LARGE; i++)
                value[i] = near_uneven(x[i], d * code_of(step[i / 32], d, -32, 31));
}

/* What a block's floats become by plain rounding. */
static void plainly(CkType type, const float *x, float *value)
{
        switch (type) {
        case CK_Q8_0: plain_steps(x, fabsf(largest_of(x, 32)) / 127, -127, 127, value); break;
        case CK_Q4_0: plain_steps(x, largest_of(x, 32) / -8, -8, 7, value); break;
        case CK_Q4_1: plain_line(x, 15, value); break;
        case CK_Q5_0: plain_steps(x, largest_of(x, 32) / -16, -16, 15, value); break;
        case CK_Q5_1: plain_line(x, 31, value); break;
        case CK_MXFP4: plain_mxfp4(x, value); break;
        case CK_IQ4_NL: plain_iq4_nl(x, value); break;
        case CK_Q2_K: plain_k(x, 16, 15, 3, value); break;
        case CK_Q3_K: plain_signed_k(x, 31, -4, value); break;
        case CK_Q4_K: plain_k(x, 32, 63, 15, value); break;
        case CK_Q5_K: plain_k(x, 32, 63, 31, value); break;
        case CK_Q6_K: plain_signed_k(x, 127, -32, value); break;
        default: plain_iq4_xs(x, value);
        }
}

/* ---- checks ---- */

/* Squared errors; weight NULL: all are 1. */
static double loss(const float *x, const float *value, const double *weight, int n)
{
        double sum = 0;
        for (int i = 0; i < n; i++) {
                double error = (double)x[i] - (double)value[i];
                sum += (weight ? weight[i] : 1) * (error * error);
        }
        return sum;
}

typedef struct {
        double ours, plain;
        int worse; /* blocks */
} Compared;

static Compared compare(CkType type, const float *x, const float *value, const double *weight)
{
        Compared all = {0, 0, 0};
        int n = ck_type_values(type);
        for (int i = 0; i < N; i += n) {
                float plain[LARGE];
                plainly(type, x + i, plain);
                const double *of = weight ? weight + i : NULL;
                double ours = loss(x + i, value + i, of, n), theirs = loss(x + i, plain, of, n);
                all.ours += ours;
                all.plain += theirs;
                all.worse += ours > theirs;
        }
        return all;
}

/* A hash that numpy can have too. */
static uint64_t hash_of(const void *from, int64_t n, int size)
{
        uint64_t sum = 0;
        for (int64_t i = 0; i < n; i++) {
                uint32_t bits = 0;
                memcpy(&bits, (const char *)from + i * size, (size_t)size);
                sum += mix((uint64_t)i << 32 | bits);
        }
        return sum;
}

static void make(int distribution, float *x)
{
        for (int i = 0; i < N; i++)
                x[i] = float_of(distribution, (uint64_t)i);
}

static void check_losses(int distribution, CkType type, const float *x, const float *value, double package)
{
        const char *of = distributions[distribution].name, *name = ck_type_name(type);
        Compared all = compare(type, x, value, NULL);
        verdict(!all.worse, "no block of more error than by plain rounding", name, of);
        if (!distributions[distribution].same)
                verdict(all.ours < all.plain, "less error than by plain rounding", name, of);
        if (package >= 0)
                verdict(loss(x, value, NULL, N) / N <= package, "no more error than the package gguf makes",
                        name, of);
}

static void check_given_weights(int distribution, CkType type, const float *x)
{
        static float given[N], value[N];
        static double weight[N];
        static unsigned char block[N * 2];
        for (int i = 0; i < N; i++)
                weight[i] = given[i] = i / 256 % 8 ? (float)(uniform((uint64_t)i) + 0.5) : 0;
        quantised(type, x, given, block);
        widened(type, block, N, value);
        Compared weighted = compare(type, x, value, weight);
        verdict(!weighted.worse && (distributions[distribution].same || weighted.ours < weighted.plain),
                "with weights given, less weighted error than by plain rounding", ck_type_name(type),
                distributions[distribution].name);
}

/* A line of the record: TYPE DISTRIBUTION FLOATS BYTES VALUES ERROR, hashes of the floats, the blocks and what the package has them
 * for, and the squared error a weight of its own quantiser, -1 if it has none. */
static void check_recorded(FILE *record, int distribution, CkType type, const float *x)
{
        static unsigned char block[N * 2];
        static float value[N];
        char name[16], of[16];
        uint64_t floats, bytes, values;
        double package;
        need(fscanf(record, "%15s %15s %lx %lx %lx %lf", name, of, &floats, &bytes, &values, &package) == 6,
             "the record is cut off");
        need(!strcmp(name, ck_type_name(type)) && !strcmp(of, distributions[distribution].name),
             "the record is of something else");
        quantised(type, x, NULL, block);
        widened(type, block, N, value);
        verdict(hash_of(x, N, 4) == floats, "the floats that were recorded", name, of);
        verdict(hash_of(block, N / ck_type_values(type) * bytes_of(type), 1) == bytes,
                "the bytes that were recorded", name, of);
        verdict(hash_of(value, N, 4) == values, "read as the package gguf reads them", name, of);
        check_losses(distribution, type, x, value, package);
}

static void check_zero(CkType type)
{
        float x[LARGE] = {0}, value[LARGE];
        unsigned char block[LARGE * 2];
        need(quantise_block(type, x, NULL, block), "a block of zeros is not quantised");
        widened(type, block, ck_type_values(type), value);
        verdict(!memcmp(value, x, (size_t)ck_type_values(type) * sizeof *x), "zeros stay zeros",
                ck_type_name(type), "");
}

/* Whether the block is refused and left as it is. */
static bool refused(CkType type, const float *x, const float *weight)
{
        unsigned char block[LARGE * 2], before[LARGE * 2];
        memset(block, 0xa5, sizeof block);
        memset(before, 0xa5, sizeof before);
        return !quantise_block(type, x, weight, block) && !memcmp(block, before, sizeof block);
}

static void check_refused(CkType type)
{
        static const float bad[] = {NAN, INFINITY, -INFINITY}, bad_weight[] = {NAN, INFINITY, -1};
        float x[LARGE], weight[LARGE];
        bool good = true, good_weight = true;
        for (int i = 0; i < LARGE; i++)
                x[i] = weight[i] = 1;
        int last = ck_type_values(type) - 1;
        for (int i = 0; i < 3; i++) {
                x[last] = bad[i];
                good &= refused(type, x, NULL) && refused(type, x, weight);
                x[last] = 1;
                weight[last] = bad_weight[i];
                good_weight &= refused(type, x, weight);
                weight[last] = 1;
        }
        verdict(good, "NaN and infinities are refused", ck_type_name(type), "");
        verdict(good_weight, "weights that are none are refused", ck_type_name(type), "");
}

static void check_types(void)
{
        float x[LARGE] = {0};
        bool good = true;
        for (int type = 0; type < CK_TYPE_COUNT; type++) {
                bool has = false;
                for (int i = 0; i < TYPES; i++)
                        has |= type_of[i] == (CkType)type && !is_only_read((CkType)type);
                good &= can_quantise((CkType)type) == has && (has || refused((CkType)type, x, NULL));
        }
        verdict(good, "quantisers of the types that --quant has, and of no other", "all types", "");
}

static void check(const char *path)
{
        static float x[N];
        FILE *record = fopen(path, "r");
        need(record, "no record");
        for (int t = 0; t < TYPES; t++) {
                if (is_only_read(type_of[t]))
                        continue;
                for (int d = 0; d < DISTRIBUTIONS; d++) {
                        make(d, x);
                        check_recorded(record, d, type_of[t], x);
                        check_given_weights(d, type_of[t], x);
                }
                check_zero(type_of[t]);
                check_refused(type_of[t]);
                conclude(ck_type_name(type_of[t]));
        }
        fclose(record);
        check_types();
        conclude("types");
}

/* ---- for people and scripts ---- */

static void each(bool losses)
{
        static float x[N], value[N];
        static unsigned char block[N * 2];
        for (int i = 0; i < TYPES * DISTRIBUTIONS; i++) {
                CkType type = type_of[i / DISTRIBUTIONS];
                if (is_only_read(type))
                        continue;
                int d = i % DISTRIBUTIONS;
                make(d, x);
                quantised(type, x, NULL, block);
                if (!losses) {
                        fwrite(block, 1, (size_t)(N / ck_type_values(type) * bytes_of(type)), stdout);
                        continue;
                }
                widened(type, block, N, value);
                Compared all = compare(type, x, value, NULL);
                printf("%-5s %-8s %.3f\n", ck_type_name(type), distributions[d].name, all.ours / all.plain);
        }
}

static void time_types(void)
{
        static float x[N];
        static unsigned char block[N * 2];
        make(0, x);
        for (int t = 0; t < TYPES; t++) {
                if (is_only_read(type_of[t]))
                        continue;
                clock_t begun = clock();
                int times = 0;
                for (; clock() - begun < CLOCKS_PER_SEC; times++)
                        quantised(type_of[t], x, NULL, block);
                double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
                printf("%-5s %.1f million weights a second\n", ck_type_name(type_of[t]),
                       times * (double)N / seconds / 1e6);
        }
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "";
        if (!strcmp(what, "check") && argc == 3)
                check(argv[2]);
        else if (!strcmp(what, "blocks") || !strcmp(what, "losses"))
                each(*what == 'l');
        else if (!strcmp(what, "time"))
                time_types();
        else
                return 2;
        return failed > 0;
}
