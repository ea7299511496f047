/*
 * Products with weights in blocks, by the kernels that lathe holds for each instruction set of this processor.
 *
 * Blocks of any bytes, as a checkpoint has them, become panels; then
 *   - each element is what types.c makes of the checkpoint's block, to the bit;
 *   - activations become the codes that the rule gives, computed here in plain C;
 *   - outputs are within a few roundings of sums in double of the same codes;
 *   - all instruction sets, any rows at once and any share of panels give the same bits;
 *   - products of blocks of floats have the bits of products with their values in f32.
 * Prints ok or FAIL for each; nonzero if one failed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/jit_private.h"
#include "weights/weights.h"

/* Outputs whose bits of codes and scales are all 1, and all 0.  Of FP8 only LARGEST and SPECIAL have numbers that are NaN or infinite. */
enum { LARGEST = 2, LEAST = 3, SPECIAL = 5 };
enum { ROWS = 29, OUTPUTS = 70, PANELS = 6, DEPTH = 1024, SCRATCH = 6 * 16 * (192 + 16) };

typedef void CodesOfRows(void *to, const float *x, int64_t ldx, const int32_t *active, int64_t rows, int k,
                         int group);
typedef void Epilogue(const void *ctx, int64_t row, int panel, const float *acc);
typedef void MatmulBlocks(const void *ctx, Epilogue *e, const void *codes, const int32_t *active,
                          int64_t rows, int k, const void *w, int storage, int group,
                          const ProductTiling *tiling, int panel0, int panel1, float *scratch);
typedef float BlockAt(int storage, const void *array, int64_t at);

static const struct {
        Storage storage;
        CkType type;
} kinds[] = {
#define KIND(of, NAME, ...) {STORAGE_##NAME, CK_##NAME},
        BLOCK_STORAGES(KIND, )
#undef KIND
};
enum { FLOATS_PER_PANEL = 16 };

static uint64_t random_state = 1;
static int failed;

static uint32_t random_bits(void)
{
        random_state = random_state * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(random_state >> 33);
}

static void verdict(bool good, const char *what, const char *storage, const char *target)
{
        printf("%s blocks of %s, %s: %s\n", good ? "ok" : "FAIL", storage, target, what);
        failed |= !good;
}

/* One product: blocks [OUTPUTS][DEPTH / values] as a file has them, their values, and panels. */
typedef struct {
        int k, steps, group; /* steps: of a block of the panels; group: activations that share a scale */
        uint8_t *block, *panel;
        float *value; /* [OUTPUTS][k] */
        float x[ROWS * DEPTH];
} Product;

/* Where a block has scales in f16, and how many.  bf16: those of int4 are in bf16, as in all blocks of a panel.  special: floats of 8 bits
 * may be NaN or infinite. */
static void set_scales(Storage s, bool bf16, bool special, uint8_t *block)
{
        const int at = s == STORAGE_Q2_K    ? 80
                       : s == STORAGE_Q3_K  ? 108
                       : s == STORAGE_Q6_K  ? 208
                       : s == STORAGE_TQ1_0 ? 52
                       : s == STORAGE_TQ2_0 ? 64
                                            : 0;
        const int n = s == STORAGE_MXFP4 || s == STORAGE_IQ1_M ? 0 : storage_info[s].halves / 32;
        const bool floats = !storage_info[s].codes, zeros = s >= STORAGE_INT4_32 && s <= STORAGE_INT4_128;
        if (zeros)
                block[2] = (uint8_t)((block[2] & 15) | (bf16 ? 128 : 0));
        for (int i = 0; i < n; i++) {
                const float scale = (float)(int)(random_bits() % 2001 - 1000) / 20000.0f;
                uint16_t half = zeros && bf16 ? f32_to_bf16(scale) : f32_to_f16(scale);
                memcpy(block + at + 2 * i, &half, 2);
        }
        for (int i = 0; floats && !special && i < 128; i++)
                if ((block[4 + i] & 127) == 127 || (s == STORAGE_E5M2 && (block[4 + i] & 124) == 124))
                        block[4 + i] &= 0x3f; /* neither NaN nor infinite */
        if (floats) {
                const float scale = (float)(int)(random_bits() % 2001 - 1000) / 20000.0f;
                memcpy(block, &scale, sizeof scale);
        }
        if (s == STORAGE_MXFP4)
                block[0] = (uint8_t)(120 + random_bits() % 10);
        for (int i = 0; s == STORAGE_IQ1_M && i < 4; i++) {
                const uint16_t half = f32_to_f16((float)(int)(random_bits() % 2001 - 1000) / 20000.0f);
                block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (half >> 4 * i & 15) << 4);
        }
}

static Product *product_new(int kind, int k)
{
        Product *p = calloc(1, sizeof *p);
        const Storage s = kinds[kind].storage;
        p->k = k;
        p->steps = storage_steps(s);
        p->group = storage_info[s].codes ? storage_info[s].codes : p->steps;
        const int values = ck_type_values(kinds[kind].type), depth = k / values,
                  bytes = ck_type_bits(kinds[kind].type) / 8;
        p->block = malloc((size_t)(OUTPUTS * depth * bytes));
        p->value = malloc(sizeof(float) * OUTPUTS * (size_t)k);
        p->panel = calloc(1, (size_t)storage_size(s, (int64_t)PANELS * 16 * k) + 64);
        for (int i = 0; i < OUTPUTS * depth; i++) {
                for (int b = 0; b < bytes; b++)
                        p->block[i * bytes + b] = i / depth == LARGEST ? 0xff
                                                  : i / depth == LEAST ? 0
                                                                       : (uint8_t)random_bits();
                set_scales(s, i / depth / 16 % 2, i / depth == LARGEST || i / depth == SPECIAL,
                           p->block + i * bytes);
        }
        ck_type_widen(kinds[kind].type, p->block, OUTPUTS * depth, p->value);
        for (int panel = 0; panel < PANELS; panel++)
                for (int d = 0; d < depth; d++) {
                        const uint8_t *row[16];
                        for (int i = 0; i < 16; i++)
                                row[i] = 16 * panel + i < OUTPUTS
                                                 ? p->block + ((16 * panel + i) * depth + d) * bytes
                                                 : NULL;
                        panel_block(s, row,
                                    p->panel + storage_size(s, ((int64_t)panel * k + d * values) * 16));
                }
        for (int i = 0; i < ROWS * k; i++)
                p->x[i] = (float)(int)(random_bits() % 20001 - 10000) / 3000.0f * (i % 97 ? 1 : 30);
        for (int i = 0; i < p->group; i++) {
                p->x[3 * k + i] = 0;
                p->x[4 * k + i] = 1e-31f;
        }
        for (int i = 0; i < k; i++) {
                p->x[7 * k + i] = 1; /* its codes are all 127 */
                p->x[8 * k + i] = -1;
        }
        p->x[5 * k + 7] = NAN;
        p->x[6 * k + k - 1] = -INFINITY;
        return p;
}

static void product_free(Product *p)
{
        free(p->block);
        free(p->value);
        free(p->panel);
        free(p);
}

static void check_elements(const Product *p, Storage s, const Target *t)
{
        BlockAt *at = (BlockAt *)kernel_find(t, "block_at");
        bool good = true;
        for (int n = 0; n < OUTPUTS; n++)
                for (int k = 0; k < p->k; k++) {
                        float found = at((int)s, p->panel, ((int64_t)(n / 16) * p->k + k) * 16 + n % 16);
                        good = good && (!memcmp(&found, &p->value[n * p->k + k], sizeof found) ||
                                        (isnan(found) && isnan(p->value[n * p->k + k])));
                }
        verdict(good, "elements are those of the checkpoint", storage_info[s].text, t->name);
}

/* A group by the rule; its scale. */
static float codes_by_rule(const float *x, int n, int *code)
{
        float most = 0;
        bool finite = true;
        for (int i = 0; i < n; i++) {
                finite = finite && isfinite(x[i]);
                most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
        }
        const float times = 127.0f / most;
        for (int i = 0; i < n; i++)
                code[i] = !finite || most < 1e-30f ? 0 : (int)nearbyintf(x[i] * times);
        return !finite ? NAN : most < 1e-30f ? 0 : most / 127.0f;
}

static bool same_float(float a, float b)
{
        return a == b || (isnan(a) && isnan(b));
}

/* The scale of a group of a row of codes, which stands first in what is kept of it: 8 bytes, or 52 of 256. */
static float scale_of(const int8_t *codes, int k, int of, int group)
{
        float scale;
        memcpy(&scale, codes + k + group * (of == 256 ? 52 : 8), sizeof scale);
        return scale;
}

static void check_codes(const Product *p, const int8_t *codes, Storage s, const Target *t)
{
        bool good = true;
        int code[256];
        for (int row = 0; row < ROWS; row++) {
                const int8_t *own = codes + row * CODES_BYTES(p->k);
                for (int g = 0; g < p->k / p->group; g++) {
                        float rule = codes_by_rule(p->x + row * p->k + g * p->group, p->group, code);
                        good = good && same_float(scale_of(own, p->k, p->group, g), rule);
                        for (int i = 0; i < p->group; i++)
                                good = good && own[g * p->group + i] == code[i];
                }
        }
        verdict(good, "activations are the rule's codes", storage_info[s].text, t->name);
}

typedef struct {
        float y[ROWS][PANELS * 16];
} Outputs;

static void put(const void *ctx, int64_t row, int panel, const float *acc)
{
        Outputs *o = (Outputs *)(uintptr_t)ctx;
        memcpy(&o->y[row][16 * panel], acc, 16 * sizeof(float));
}

static void put_pair(const void *ctx, int64_t row, int panel, const float *acc)
{
        Outputs *o = (Outputs *)(uintptr_t)ctx;
        memcpy(&o->y[row][16 * panel], acc, 32 * sizeof(float));
}

/* Sums in double of the same codes, and by how many roundings of its largest terms a float may be off. */
static bool is_close(const Product *p, const int8_t *codes, int row, int n, float found)
{
        const int8_t *own = codes + row * CODES_BYTES(p->k);
        double sum = 0, size = 0;
        for (int k = 0; k < p->k; k++) {
                double term =
                        (double)p->value[n * p->k + k] * own[k] * scale_of(own, p->k, p->group, k / p->group);
                sum += term;
                size += fabs(term);
        }
        return (isnan(sum) && isnan(found)) ||
               fabs(found - sum) <= 4e-7 * size * (1 + floor((double)p->k / p->group / 4));
}

static void check_product(const Product *p, const int8_t *codes, Storage s, const Target *t, Outputs *first,
                          bool begins)
{
        MatmulBlocks *matmul = (MatmulBlocks *)kernel_find(t, "matmul_blocks");
        static float scratch[SCRATCH];
        static Outputs whole, parts;
        bool close = true, same = true;
        const ProductTiling long_pieces = {t->code_rows, t->panels, p->k > 512 ? 512 : p->k, 192},
                            short_pieces = {t->code_rows, t->panels, 256, 20}; /* several blocks of rows */
        matmul(&whole, put, codes, NULL, ROWS, p->k, p->panel, (int)s, 1, &long_pieces, 0, PANELS, scratch);
        for (int row = 0; row < ROWS; row++)
                for (int n = 0; n < OUTPUTS; n++)
                        close = close && is_close(p, codes, row, n, whole.y[row][n]);
        verdict(close, "outputs are near the sums in double", storage_info[s].text, t->name);
        for (int rows = 1; rows <= ROWS; rows += 3)
                for (int cut = 1; cut < PANELS; cut++) {
                        memset(&parts, 0, sizeof parts);
                        matmul(&parts, put, codes, NULL, rows, p->k, p->panel, (int)s, 1, &short_pieces, 0,
                               cut, scratch);
                        matmul(&parts, put, codes, NULL, rows, p->k, p->panel, (int)s, 1, &short_pieces, cut,
                               PANELS, scratch);
                        if (cut % 2 == 0)
                                matmul(&parts, put_pair, codes, NULL, rows, p->k, p->panel, (int)s, 2,
                                       &short_pieces, cut, PANELS, scratch);
                        for (int row = 0; row < rows; row++)
                                for (int n = 0; n < OUTPUTS; n++)
                                        same = same && same_float(parts.y[row][n], whole.y[row][n]);
                }
        verdict(same, "any rows and panels at once", storage_info[s].text, t->name);
        if (begins)
                *first = whole;
        same = true;
        for (int row = 0; row < ROWS; row++)
                for (int n = 0; n < OUTPUTS; n++)
                        same = same && same_float(first->y[row][n], whole.y[row][n]);
        verdict(same, "the bits of plain C", storage_info[s].text, t->name);
}

typedef void FloatProduct(const void *ctx, Epilogue *e, const float *x, int64_t ldx, int64_t rows, int k,
                          const void *w, int storage, int group, const ProductTiling *tiling, int panel0,
                          int panel1, float *scratch);
typedef void ActiveProduct(const void *ctx, Epilogue *e, const float *x, int64_t ldx, const int32_t *active,
                           int64_t rows, int k, const void *w, int storage, int group,
                           const ProductTiling *tiling, int panel0, int panel1, float *scratch);

/* Whether rows [row] of `found` are those of `whole`. */
static bool same_rows(const Outputs *found, const Outputs *whole, const int32_t *row, int rows)
{
        bool same = true;
        for (int i = 0; i < rows; i++)
                for (int n = 0; n < OUTPUTS; n++)
                        same = same &&
                               same_float(found->y[row ? row[i] : i][n], whole->y[row ? row[i] : i][n]);
        return same;
}

static void check_floats(const Product *p, Storage s, const Target *t)
{
        FloatProduct *matmul = (FloatProduct *)kernel_find(t, "matmul");
        ActiveProduct *active = (ActiveProduct *)kernel_find(t, "matmul_active");
        static float scratch[SCRATCH + 4 * FLOATS_PER_PANEL * DEPTH], wide[PANELS * FLOATS_PER_PANEL * DEPTH];
        static Outputs whole, parts;
        static const int32_t chosen[] = {1, 3, 4, 8, 9, 11, 20, 27, 28};
        bool same = true, some = true;
        const ProductTiling tiling = {t->rows, t->panels, p->k > 512 ? 512 : p->k, 192},
                            pieces = {t->rows, t->panels, 128, 192};
        for (int n = 0; n < OUTPUTS; n++)
                for (int k = 0; k < p->k; k++)
                        wide[((n / 16) * p->k + k) * 16 + n % 16] = p->value[n * p->k + k];
        matmul(&whole, put, p->x, p->k, ROWS, p->k, wide, STORAGE_F32, 1, &tiling, 0, PANELS, scratch);
        for (int rows = 1; rows <= ROWS; rows++)
                for (int cut = 1; cut < PANELS; cut++) {
                        const ProductTiling *by = rows % 2 ? &tiling : &pieces;
                        memset(&parts, 0, sizeof parts);
                        matmul(&parts, put, p->x, p->k, rows, p->k, p->panel, (int)s, 1, by, 0, cut, scratch);
                        matmul(&parts, put, p->x, p->k, rows, p->k, p->panel, (int)s, 1, by, cut, PANELS,
                               scratch);
                        same = same && same_rows(&parts, &whole, NULL, rows);
                }
        for (int rows = 1; rows <= 9; rows++) {
                memset(&parts, 0, sizeof parts);
                active(&parts, put, p->x, p->k, chosen, rows, p->k, p->panel, (int)s, 1, &tiling, 0, PANELS,
                       scratch);
                some = some && same_rows(&parts, &whole, chosen, rows);
        }
        verdict(same, "any rows and panels at once have the bits of f32", storage_info[s].text, t->name);
        verdict(some, "rows of a list have the bits of f32", storage_info[s].text, t->name);
}

int main(void)
{
        static Outputs first;
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
                const Storage s = kinds[kind].storage;
                const int values = ck_type_values(kinds[kind].type);
                Product *p =
                        product_new((int)kind, storage_info[s].codes == 32 ? 704 / values * values : DEPTH);
                int8_t *codes = aligned_alloc(64, (size_t)(ROWS * CODES_BYTES(p->k) + 63) / 64 * 64);
                for (int i = 0; i < target_count; i++) {
                        const Target *t = &target_table[i];
                        if (target_is_portable(t) || !target_runs_here(t) || !kernel_find(t, "matmul_blocks"))
                                continue;
                        check_elements(p, s, t);
                        if (!storage_info[s].codes) {
                                check_floats(p, s, t);
                                continue;
                        }
                        ((CodesOfRows *)kernel_find(t, "codes_of_rows"))(codes, p->x, p->k, NULL, ROWS, p->k,
                                                                         storage_info[s].codes);
                        check_codes(p, codes, s, t);
                        check_product(p, codes, s, t, &first, i == 0);
                }
                free(codes);
                product_free(p);
        }
        return failed;
}
