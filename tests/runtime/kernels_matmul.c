/*
 * runtime/matmul.h against its definition in plain C, to the bit: storages, odd sizes, epilogues of one and
 * two panels, any split of panels among threads and of rows into calls.
 */
#include "kernels.h"

#define MAX_ROWS 500

/* One product: y [rows][n] = x [rows][k] times w [k][n], w also packed. */
typedef struct {
        int rows, n, k, storage;
        float *x, *w, *y, *expected;
        void *packed;
} Product;

/* Rounds to what the storage can hold, so that packing is exact: 11 bits of fraction for f16, 8 for bf16. */
static float fit(float value, int storage)
{
        if (storage == STORAGE_F32)
                return value;
        float scale = storage == STORAGE_F16 ? 1024.0f : 128.0f;
        return rintf(value * scale) / scale;
}

/* A value that fit() made, in 16 bits. */
static uint16_t half_bits(float value, int storage)
{
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (storage == STORAGE_BF16)
                return (uint16_t)(bits >> 16);
        uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
        return (uint16_t)(magnitude ? sign | ((magnitude - (112u << 23)) >> 13) : sign);
}

/* What a half means, by its definition. */
static float half_value(uint16_t half)
{
        const int exponent = half >> 10 & 31, fraction = half & 1023;
        const float size = exponent == 31 ? fraction ? NAN : INFINITY
                           : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                                          : ldexpf((float)fraction, -24);
        return half >> 15 ? -size : size;
}

static void define(Product *p)
{
        for (int r = 0; r < p->rows; r++)
                for (int j = 0; j < p->n; j++) {
                        float acc = 0;
                        for (int i = 0; i < p->k; i++)
                                acc = fmaf(p->x[r * p->k + i], p->w[i * p->n + j], acc);
                        p->expected[r * p->n + j] = acc;
                }
}

static Product make_product(int rows, int n, int k, int storage)
{
        int panels = (n + 15) / 16;
        Product p = {.rows = rows, .n = n, .k = k, .storage = storage};
        p.x = random_floats((int64_t)rows * k);
        p.w = random_floats((int64_t)k * n);
        p.y = zero_floats((int64_t)rows * n);
        p.expected = zero_floats((int64_t)rows * n);
        p.packed = zero_floats((int64_t)panels * k * 16);
        for (int i = 0; i < k * n; i++)
                p.w[i] = fit(p.w[i], storage);
        for (int j = 0; j < n; j++)
                for (int i = 0; i < k; i++) {
                        size_t at = ((size_t)(j / 16) * (size_t)k + (size_t)i) * 16 + (size_t)j % 16;
                        if (storage == STORAGE_F32)
                                ((float *)p.packed)[at] = p.w[i * n + j];
                        else
                                ((uint16_t *)p.packed)[at] = half_bits(p.w[i * n + j], storage);
                }
        define(&p);
        return p;
}

static void free_product(Product *p)
{
        free(p->x);
        free(p->w);
        free(p->y);
        free(p->expected);
        free(p->packed);
}

/* Where the epilogues store: y [..][n]. */
typedef struct {
        float *y;
        int n;
} Target;

/* y += acc: an epilogue that is called twice for an output, or not at all, is seen. */
KERNEL void add_to(const void *ctx, int64_t row, int panel, const v16 *acc)
{
        const Target *t = ctx;
        int lanes = t->n - 16 * panel < 16 ? t->n - 16 * panel : 16;
        float *y = t->y + row * t->n + 16 * panel;
        v_store_n(y, v_add(v_load_n(y, lanes), acc[0]), lanes);
}

/* Pairs of panels: y [..][n / 2] += first * second. */
KERNEL void add_pair(const void *ctx, int64_t row, int panel, const v16 *acc)
{
        const Target *t = ctx;
        float *y = t->y + row * (t->n / 2) + 8 * panel;
        v_store(y, v_add(v_load(y), v_mul(acc[0], acc[1])));
}

/* The target's tiles, with long pieces of k and many rows at once, and with short ones and few. */
#define TILE(of, rows, panels) {rows, panels, 512, 192}, {rows, panels, 16, 24},
static const Tiling tilings[] = {CHOICES(TILE, )};
enum { TILINGS = sizeof tilings / sizeof *tilings };
static const Tiling *tiling = tilings; /* of the next call */

/* One call with literals, as emitted C has it, but for the tiling. */
#define CALL(epilogue, group, storage)                                                                       \
        matmul(&target, epilogue, x, ldx, rows, k, w, storage, group, tiling, panel0, panel1, scratch)

static void call(Target target, const float *x, int64_t ldx, int64_t rows, int k, const void *w, int storage,
                 int group, int panel0, int panel1)
{
        const int64_t n = MATMUL_SCRATCH(tiling->rows_at_once) + MATMUL_WIDE(tiling->cut);
        float *scratch = scratch_floats(n);
        if (group == 2)
                CALL(add_pair, 2, STORAGE_F32);
        else if (storage == STORAGE_F32)
                CALL(add_to, 1, STORAGE_F32);
        else if (storage == STORAGE_F16)
                CALL(add_to, 1, STORAGE_F16);
        else
                CALL(add_to, 1, STORAGE_BF16);
        free_scratch(scratch, n);
}

static int equals_definition(int rows, int n, int k, int storage)
{
        Product p = make_product(rows, n, k, storage);
        int good = 1;
        for (tiling = tilings + TILINGS - 1;; tiling--) {
                memset(p.y, 0, sizeof *p.y * (size_t)rows * (size_t)n);
                call((Target){p.y, n}, p.x, k, rows, k, p.packed, storage, 1, 0, (n + 15) / 16);
                if (!same_bits(p.y, p.expected, (int64_t)rows * n)) {
                        printf("# rows %d n %d k %d storage %d, tile of %d by %d\n", rows, n, k, storage,
                               tiling->rows, tiling->panels);
                        good = 0;
                }
                if (tiling == tilings)
                        break;
        }
        hash_floats(p.y, (int64_t)rows * n);
        free_product(&p);
        return good;
}

static int equals_definition_in_pairs(int rows, int n, int k)
{
        Product p = make_product(rows, n, k, STORAGE_F32);
        int good = 1;
        for (int i = 0; i < TILINGS; i++) {
                tiling = &tilings[i];
                memset(p.y, 0, sizeof *p.y * (size_t)rows * (size_t)n);
                call((Target){p.y, n}, p.x, k, rows, k, p.packed, STORAGE_F32, 2, 0, n / 16);
                for (int r = 0; r < rows; r++)
                        for (int j = 0; j < n / 2; j++) {
                                const float *e = p.expected + r * n + j / 16 * 32 + j % 16;
                                float expected = e[0] * e[16];
                                good &= same_bits(p.y + r * (n / 2) + j, &expected, 1);
                        }
        }
        free_product(&p);
        return good;
}

/* Panels dealt to threads at random, rows to calls at random: each call reads and writes its own part only.
 */
static int any_split(int rows, int n, int k)
{
        Product p = make_product(rows, n, k, STORAGE_F32);
        int panels = (n + 15) / 16;
        for (int row = 0; row < rows;) {
                int count = 1 + random_below(rows - row);
                for (int panel = 0; panel < panels;) {
                        int end = panel + 1 + random_below(panels - panel);
                        tiling = &tilings[end % TILINGS];
                        call((Target){p.y + (int64_t)row * n, n}, p.x + (int64_t)row * k, k, count, k,
                             p.packed, STORAGE_F32, 1, panel, end);
                        panel = end;
                }
                row += count;
        }
        int good = same_bits(p.y, p.expected, (int64_t)rows * n);
        free_product(&p);
        return good;
}

/* Whether one half, at each `step`-th place among finite ones, is taken as what it is: inf and NaN too, though some targets look for them apart. */
static int takes_half(uint16_t half, int rows, int n, int k, int step)
{
        Product p = make_product(rows, n, k, STORAGE_F16);
        int good = 1;
        for (int place = 0; place < n * k; place += step) {
                const int j = place % n, i = place / n;
                uint16_t *there =
                        (uint16_t *)p.packed + ((size_t)(j / 16) * (size_t)k + (size_t)i) * 16 + j % 16;
                const uint16_t before = *there;
                float *w = p.w + i * n + j;
                const float as_float = *w;
                *there = half;
                *w = half_value(half);
                tiling = &tilings[place % TILINGS];
                memset(p.y, 0, sizeof *p.y * (size_t)rows * (size_t)n);
                call((Target){p.y, n}, p.x, k, rows, k, p.packed, STORAGE_F16, 1, 0, (n + 15) / 16);
                define(&p);
                good &= same_bits(p.y, p.expected, (int64_t)rows * n);
                *there = before;
                *w = as_float;
        }
        free_product(&p);
        return good;
}

static int takes_all_kinds_of_halves(void)
{
        static const uint16_t half[] = {0x7c00, 0xfc00, 0x7c01, 0xfe00, 0xffff,
                                        0x7bff, 0xfbff, 0x0001, 0x83ff, 0x8000};
        int good = 1;
        for (int i = 0; i < (int)(sizeof half / sizeof *half); i++)
                good &= takes_half(half[i], 1, 40, 9, 1) & takes_half(half[i], 6, 16, 66, 1) &
                        takes_half(half[i], 13, 17, 5, 1) &
                        takes_half(half[i], 1, 64, 1200, 1511); /* in several pieces of k */
        return good;
}

int main(void)
{
        static const int sizes[] = {1, 2, 15, 16, 17, 31, 53};
        int good[3] = {1, 1, 1}, split = 1, pairs = 1;
        for (int i = 0; i < 7; i++)
                for (int j = 0; j < 7; j++)
                        for (int storage = 0; storage < 3; storage++)
                                for (int rows = 1; rows <= 29; rows += rows < 14 ? 1 : 5)
                                        good[storage] &= equals_definition(rows, sizes[i], sizes[j], storage);
        for (int storage = 0; storage < 3; storage++)
                for (int rows = 1; rows <= 40; rows++)
                        good[storage] &= equals_definition(rows, 117, 37, storage);
        for (int storage = 0; storage < 3; storage++)
                good[storage] &=
                        equals_definition(27, 40, 1031, storage) & equals_definition(1, 100, 513, storage);
        for (int storage = 0; storage < 3; storage++)
                for (int rows = 5; rows <= 12; rows++) /* one tile, whose weights are made wide in pieces */
                        good[storage] &= equals_definition(rows, 17, 150, storage);
        good[0] &= equals_definition(197, 33, 17, 0) & equals_definition(401, 17, 520, 0);
        for (int rows = 1; rows <= 30; rows++)
                pairs &= equals_definition_in_pairs(rows, 96, 37) & equals_definition_in_pairs(rows, 32, 600);
        for (int i = 0; i < 40; i++)
                split &= any_split(1 + random_below(40), 1 + random_below(200), 1 + random_below(70));
        verdict("matmul f32 is its definition in every tile", good[0]);
        verdict("matmul f16 is its definition in every tile", good[1]);
        verdict("matmul f16 takes inf, NaN, the largest and the least", takes_all_kinds_of_halves());
        verdict("matmul bf16 is its definition in every tile", good[2]);
        verdict("matmul hands over pairs of panels in every tile", pairs);
        verdict("matmul gives the same bits for any split", split);
        verdict("matmul writes within its scratch", !overruns);
        printf("# hash %016llx\n", (unsigned long long)hash_state);
        return failures != 0;
}
