/*
 * Prints, for every operation on v16 and every function of math.h, a hash of its results over special and
 * random operands.  tests/runtime/run-math builds this for each instruction set (V16 names the header) and
 * compiler, and compares the lines with those of the plain C build: the names of operations whose bits differ
 * stand in the diff.
 */
#include "../../runtime/guard.h"
#include V16
#include "../../runtime/math.h"
#include "../../runtime/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 4000 };

static uint64_t random_state = 88172645463325252u;

static uint32_t random_bits(void)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return (uint32_t)(random_state >> 16);
}

static float from_bits(uint32_t bits)
{
        float x;
        memcpy(&x, &bits, sizeof x);
        return x;
}

/* Zeros, denormals, the ends of the normal range, ties, integers, infinities, NaNs. */
static float special(uint32_t which)
{
        static const uint32_t bits[] = {
                0x00000000, 0x00000001, 0x00000200, 0x007fffff, 0x00800000, 0x00800001, 0x33800000,
                0x3effffff, 0x3f000000, 0x3f000001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000,
                0x40000000, 0x40200000, 0x40400000, 0x42ad0000, 0x42ae0000, 0x42ae0001, 0x42b17217,
                0x42b17218, 0x47c35000, 0x4affffff, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4b800000,
                0x7f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x7fc00001, 0x7fffffff, 0x3f490fdb,
                0x3fc90fdb, 0x40490fdb, 0x3f4ccccd, 0x3f6c0000, 0x407c0000,
        };
        uint32_t count = sizeof bits / sizeof bits[0];
        return from_bits(bits[which / 2 % count] | (which & 1) << 31);
}

/* Any bit pattern, a special value, a number near 1, a modest one or a whole one. */
static float operand(void)
{
        uint32_t kind = random_bits() % 6;
        float unit = (float)(random_bits() >> 8) * 0x1p-23f - 1.0f;
        switch (kind) {
        case 0: return from_bits(random_bits());
        case 1: return special(random_bits());
        case 2: return unit;
        case 3: return unit * 100.0f;
        case 4: return (float)(int)(random_bits() % 41) - 20.0f;
        default: return from_bits((random_bits() & 0x81ffffffu) + 0x3f000000u);
        }
}

static uint64_t hash(uint64_t sum, v16 x)
{
        float lane[16];
        uint32_t bits[16];
        v_store(lane, v_canonical(x));
        memcpy(bits, lane, sizeof bits);
        for (int i = 0; i < 16; i++)
                sum = (sum ^ bits[i]) * 1099511628211u;
        return sum;
}

enum { MAX_OPS = 80 };

typedef struct {
        const char *name[MAX_OPS];
        uint64_t sum[MAX_OPS];
        int count, next; /* next: which op this round is at */
} Report;

/* The work is cut into functions of a few operations: gcc's time grows faster than their length. */
static void record(Report *report, const char *name, v16 x)
{
        int i = report->next++;
        if (i == report->count) {
                report->name[report->count] = name;
                report->sum[report->count++] = 14695981039346656037u;
        }
        report->sum[i] = hash(report->sum[i], x);
}

static void arithmetic(Report *report, v16 a, v16 b, v16 c)
{
        record(report, "add", v_add(a, b));
        record(report, "sub", v_sub(a, b));
        record(report, "mul", v_mul(a, b));
        record(report, "div", v_div(a, b));
        record(report, "fma", v_fma(a, b, c));
        record(report, "fma cancel", v_fma(a, b, v_neg(v_mul(a, b))));
        record(report, "fma tie", v_fma(a, b, v_mul(c, v_set1(0x1p-24f))));
        record(report, "max", v_max(a, b));
        record(report, "min", v_min(a, b));
}

static void unary(Report *report, v16 a, v16 b)
{
        record(report, "neg", v_neg(a));
        record(report, "abs", v_abs(a));
        record(report, "copysign", v_copysign(a, b));
        record(report, "sqrt", v_sqrt(a));
        record(report, "sqrt abs", v_sqrt(v_abs(a)));
        record(report, "rint", v_rint(a));
        record(report, "floor", v_floor(a));
        record(report, "exponent", v_exponent(a));
        record(report, "mantissa", v_mantissa(a));
        record(report, "sum", v_set1(v_sum(a)));
        record(report, "maxof", v_set1(v_maxof(a)));
}

static void turned(Report *report, v16 a, v16 b, v16 c)
{
        v16 x[4] = {a, b, c, v_sub(a, c)};
        float lane[64];
        for (int i = 0; i < 4; i++)
                v_store(lane + 16 * i, x[i]);
        v_turn_quarters(x);
        for (int i = 0; i < 4; i++) {
                record(report, "turn_quarters", x[i]);
                record(report, "load_quarters", v_load_quarters(lane + 4 * i, 16));
                record(report, "load_quarters apart", v_load_quarters(lane + 3 * i, 17));
        }
}

static void logic(Report *report, v16 a, v16 b, v16 c)
{
        v16 lt = v_lt(a, b), le = v_le(b, c), eq = v_eq(a, b);
        record(report, "lt", lt);
        record(report, "le", le);
        record(report, "eq", eq);
        record(report, "eq self", v_eq(a, a));
        record(report, "and", v_and(lt, le));
        record(report, "or", v_or(lt, le));
        record(report, "not", v_not(lt));
}

static void choices(Report *report, v16 a, v16 b, v16 c)
{
        record(report, "where", v_where(a, b, c));
        record(report, "where mask", v_where(v_lt(a, b), b, c));
        record(report, "where_lt", v_where_lt(a, b, c, a));
        v16 n = v_rint(v_max(v_set1(-126.0f), v_min(v_set1(127.0f), a)));
        record(report, "pow2i", v_pow2i(n));
        record(report, "scale2", v_scale2(v_mantissa(b), n));
}

static void functions(Report *report, v16 a, v16 b)
{
        record(report, "exp", v_exp(a));
        record(report, "log", v_log(a));
        record(report, "log abs", v_log(v_abs(a)));
        record(report, "pow", v_pow(a, b));
        record(report, "pow abs", v_pow(v_abs(a), b));
        record(report, "sin", v_sin(a));
        record(report, "cos", v_cos(a));
        record(report, "tanh", v_tanh(a));
        record(report, "erf", v_erf(a));
        record(report, "atan", v_atan(a));
        record(report, "iota", v_iota(v_maxof(b)));
}

static void memory(Report *report, const float *p, int round)
{
        int32_t integer[16];
        uint16_t half[16];
        float out[64] = {0};
        int n = round % 17;
        for (int i = 0; i < 16; i++) {
                integer[i] = (int32_t)random_bits() >> (random_bits() & 31);
                half[i] = (uint16_t)random_bits();
        }
        record(report, "load_i32", v_load_i32(integer));
        record(report, "load_i32_n", v_load_i32_n(integer, n));
        record(report, "load_f16", v_load_f16(half));
        record(report, "load_bf16", v_load_bf16(half));
        record(report, "set1_f16", v_set1_f16(half[0]));
        record(report, "load_i8", v_load_i8((const int8_t *)(const void *)integer + n));
        v_store_f16(half, v_load(p));
        for (int i = 0; i < 16; i++)
                integer[i] = half[i]; /* a NaN too has one pattern */
        record(report, "store_f16", v_load_i32(integer));
        record(report, "load_n", v_load_n(p, n));
        record(report, "load_strided", v_load_strided(p, 2, n));
        record(report, "load_strided back", v_load_strided(p + 45, -3, n));
        v_store_n(out, v_load(p), n);
        record(report, "store_n", v_load(out));
        v_store_strided(out + 1, 3, v_load(p), n);
        for (int i = 0; i < 4; i++)
                record(report, "store_strided", v_load(out + 16 * i));
        v16 index = v_load_i32((const int32_t[16]){3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3});
        record(report, "gather", v_gather(p, index, 3));
        v_prefetch(p);
}

/* Lanes that v_clamp and clamp_index put at different places of an axis. */
static int clamps_that_differ(v16 x, float last)
{
        float given[16], clamped[16];
        int differ = 0;
        v_store(given, x);
        v_store(clamped, v_clamp(x, last));
        for (int i = 0; i < 16; i++)
                differ +=
                        !(clamped[i] >= 0) || (int64_t)clamped[i] != clamp_index(given[i], (int64_t)last + 1);
        return differ;
}

int main(void)
{
        int differ = 0;
        static Report report;
        FloatState caller = float_enter();
        for (int round = 0; round < ROUNDS; round++) {
                float operands[48];
                for (int i = 0; i < 48; i++)
                        operands[i] = operand();
                v16 a = v_load(operands), b = v_load(operands + 16), c = v_load(operands + 32);
                report.next = 0;
                arithmetic(&report, a, b, c);
                turned(&report, a, b, c);
                unary(&report, a, b);
                logic(&report, a, b, c);
                choices(&report, a, b, c);
                functions(&report, a, b);
                memory(&report, operands, round);
                differ += clamps_that_differ(a, 0) + clamps_that_differ(b, 6) + clamps_that_differ(c, 4095);
        }
        for (int i = 0; i < report.count; i++)
                printf("%-18s %016" PRIx64 "\n", report.name[i], report.sum[i]);
        printf("%-18s %d\n", "float_check", float_check());
        printf("%-18s %d\n", "clamps_that_differ", differ);
        float_leave(caller);
        return float_check() || differ;
}
