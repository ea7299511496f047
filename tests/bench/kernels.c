/*
 * How near the kernels come to the machine: decoding in GB/s beside a measured read ceiling, prefill and
 * attention in GF/s beside a measured peak of fma or dot products, all in one run and on one thread.  Compiled once for each
 * instruction set, like the tests (tests/runtime/run-kernels).  Every figure is the best of several short
 * passes, and every pass of the ceilings is taken between passes of the kernels, so that a neighbour's load
 * hits both.  Time is that of the process, for the same reason.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../runtime/guard.h"
#include "../../runtime/amx_there.h"
#include "../../runtime/team.h"

#include "v16.h"

#include "../../runtime/math.h"
#include "../../runtime/rows.h"
#include "../../runtime/wide.h"
#include "../../runtime/narrow.h"
#include "../../runtime/kept.h"
#include "../../runtime/tile.h"
#include "../../runtime/book_tables.h"
#include "../../runtime/book_values.h"
#include "../../runtime/block_values.h"

#include "n16.h"

#include "../../runtime/books.h"
#include "../../runtime/blocks.h"
#if HAS_AMX
#include "../../runtime/amx.h"
#endif
#include "../../compiler/graph/block_storages.h"
/* clang-format off */
#define TILES_OF_BLOCKS(S, NAME, ...) S(CODE_TILES, NAME)
#define STORAGES(S)                                                                                          \
        S(TILES, F32)                                                                                        \
        S(TILES, F16)                                                                                        \
        S(TILES, BF16)                                                                                       \
        CODE_STORAGES(TILES_OF_BLOCKS, S)                                                                    \
        SCALED_STORAGES(TILES_OF_SCALED, S)
#define TILES_OF_SCALED(S, NAME, ...) S(TILES, NAME)
/* clang-format on */
#include "../runtime/tiles.h"

#include "../../runtime/matmul.h"

#include "../../runtime/attention.h"

#define WEIGHT_BYTES ((int64_t)96 << 20)
#define PASSES 15

/* Seconds of this thread's own time, so that being preempted does not count. */
static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Page-aligned, written, so that every page is there. */
static void *filled(int64_t bytes)
{
        float *p = NULL;
        if (posix_memalign((void **)&p, 4096, (size_t)bytes) != 0)
                abort();
        for (int64_t i = 0; i < bytes / 4; i++)
                p[i] = (float)(i % 61) * 0x1p-9f;
        return p;
}

static float *buffer, *x, *y, *scratch;
static volatile float sink;

/* The sum of four streams, each prefetched 1 KB ahead. */
static float read_streams(const float *p, int64_t n)
{
        v16 sum[4] = {v_set1(0), v_set1(0), v_set1(0), v_set1(0)};
        for (int64_t i = 0; i < n / 4; i += 16) {
                UNROLL
                for (int s = 0; s < 4; s++) {
                        v_prefetch(p + s * (n / 4) + i + 256);
                        sum[s] = v_add(sum[s], v_load(p + s * (n / 4) + i));
                }
        }
        return v_sum(v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3])));
}

#define CHAINS (TILE_ROWS * TILE_PANELS > 10 ? 10 : TILE_ROWS)

/* Independent chains of fma, nothing else; as many as hide the latency and fit the registers. */
static float fma_chains(int64_t n)
{
        v16 sum[10], factor = v_mul(v_iota(1), v_set1(0.03125f));
        UNROLL
        for (int s = 0; s < CHAINS; s++)
                sum[s] = v_iota((float)s);
        for (int64_t i = 0; i < n; i++) {
                UNROLL
                for (int s = 0; s < CHAINS; s++)
                        sum[s] = v_fma(sum[s], factor, factor);
        }
        UNROLL
        for (int s = 1; s < CHAINS; s++)
                sum[0] = v_add(sum[0], sum[s]);
        return v_sum(sum[0]);
}

/* The same of dot products of codes. */
static int32_t dot_chains(int64_t n)
{
        n16 sum[10];
        const c64 low = c_load((const uint8_t *)buffer), high = c_load((const uint8_t *)buffer + 64);
        UNROLL
        for (int s = 0; s < CHAINS; s++)
                sum[s] = n_set1(s);
        for (int64_t i = 0; i < n; i++) {
                UNROLL
                for (int s = 0; s < CHAINS; s++)
                        sum[s] = n_dot_two(sum[s], low, high, (const int8_t *)buffer + 8 * s);
        }
        float all = 0;
        for (int s = 0; s < CHAINS; s++)
                all += v_sum(v_of_n(sum[s]));
        return (int32_t)all;
}

typedef struct {
        float *y;
        int64_t ldy;
} Target;

KERNEL void store(const void *ctx, int64_t row, int panel, const v16 *acc)
{
        const Target *t = ctx;
        v_store(t->y + row * t->ldy + 16 * panel, acc[0]);
}

KERNEL v16 plain(const void *ctx, const float *s, int64_t apart, int head, int64_t row, int64_t col)
{
        (void)ctx, (void)apart, (void)head, (void)row, (void)col;
        return v_load(s);
}

KERNEL void causal(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi)
{
        (void)ctx, (void)head, (void)lo;
        *hi = row + 1 < *hi ? row + 1 : *hi;
}

/* The target's first tile. */
#define FIRST(of, rows, panels) {rows, panels, 512, 192},
#define TILING (&((const Tiling[]){CHOICES(FIRST, )})[0])

/* Decode: products of k = 2048, one after the other through all weights. */
#define DECODE(name, rows, k, storage)                                                                       \
        static double name(void)                                                                             \
        {                                                                                                    \
                int panels = 2048 / 16;                                                                      \
                int64_t bytes = (int64_t)panels * (k)*16 * storage_bytes(storage);                           \
                double t = now();                                                                            \
                for (int64_t at = 0; at + bytes <= WEIGHT_BYTES; at += bytes)                                \
                        matmul(&(Target){y, 2048}, store, x, k, rows, k, (char *)buffer + at, storage, 1,    \
                               TILING, 0, panels, scratch);                                                  \
                return (double)(WEIGHT_BYTES / bytes * bytes) / (now() - t) * 1e-9;                          \
        }
DECODE(decode_f32, 1, 2048, STORAGE_F32)
DECODE(decode_f16, 1, 2048, STORAGE_F16)
DECODE(decode_bf16, 1, 2048, STORAGE_BF16)
DECODE(decode_small, 1, 288, STORAGE_F32)
DECODE(decode_4_rows, 4, 2048, STORAGE_F32)

/* Prefill: rows x n x k, through weights that are cold. */
#define PREFILL(name, rows, n, k, storage)                                                                   \
        static double name(void)                                                                             \
        {                                                                                                    \
                int64_t bytes = (int64_t)(n) * (k)*storage_bytes(storage), count = 0;                        \
                double t = now();                                                                            \
                for (int64_t at = 0; at + bytes <= (int64_t)16 << 20; at += bytes, count++)                  \
                        matmul(&(Target){y, n}, store, x, k, rows, k, (char *)buffer + at, storage, 1,       \
                               TILING, 0, (n) / 16, scratch);                                                \
                return 2.0 * (double)(count * (rows)) * (n) * (k) / (now() - t) * 1e-9;                      \
        }
PREFILL(prefill_132, 132, 3072, 768, STORAGE_F32)
PREFILL(prefill_128, 128, 3072, 768, STORAGE_F32)
PREFILL(prefill_16_bf16, 16, 3072, 768, STORAGE_BF16)
PREFILL(prefill_128_bf16, 128, 3072, 768, STORAGE_BF16)
PREFILL(prefill_512, 512, 2048, 2048, STORAGE_F32)
PREFILL(prefill_small, 128, 144, 288, STORAGE_F32)

/* Both with weights in blocks; x as codes lies at y's end. */
#define BLOCKS_TILING(n_k) (&(const Tiling){CODE_ROWS, TILE_PANELS, n_k, 192})
#define PRODUCTS(rows, n, k, storage, limit)                                                                 \
        int64_t bytes = (int64_t)(n) / 16 * ((k) / step_values(storage)) * bytes_of_block(storage),          \
                count = 0;                                                                                   \
        void *codes = y + (int64_t)2048 * 2048;                                                              \
        codes_of_rows(codes, x, k, NULL, rows, k,                                                            \
                      storage >= STORAGE_Q2_K && storage <= STORAGE_IQ4_XS ? 256 : 32);                      \
        double t = now();                                                                                    \
        for (int64_t at = 0; at + bytes <= (limit); at += bytes, count++)                                    \
                matmul_blocks(&(Target){y, n}, store, codes, NULL, rows, k, (char *)buffer + at, storage, 1, \
                              BLOCKS_TILING(k), 0, (n) / 16, scratch);
#define BLOCKS(name, storage)                                                                                \
        static double decode_##name(void)                                                                    \
        {                                                                                                    \
                PRODUCTS(1, 2048, 2048, storage, WEIGHT_BYTES)                                               \
                return (double)(count * bytes) / (now() - t) * 1e-9;                                         \
        }                                                                                                    \
        static double few_##name(void)                                                                       \
        {                                                                                                    \
                PRODUCTS(4, 2048, 2048, storage, WEIGHT_BYTES)                                               \
                return (double)(count * bytes) / (now() - t) * 1e-9;                                         \
        }                                                                                                    \
        static double prefill_##name(void)                                                                   \
        {                                                                                                    \
                PRODUCTS(128, 2048, 2048, storage, (int64_t)16 << 20)                                        \
                return 2.0 * 128 * 2048 * 2048 * (double)count / (now() - t) * 1e-9;                         \
        }
#define BENCH_BLOCKS(of, NAME, name, ...) BLOCKS(name, STORAGE_##NAME)
CODE_STORAGES(BENCH_BLOCKS, )

/* Blocks of floats: products of x as it is. */
#define FLOAT_PRODUCTS(rows, n, k, storage, limit)                                                           \
        int64_t bytes = (int64_t)(n) / 16 * ((k) / step_values(storage)) * bytes_of_block(storage),          \
                count = 0;                                                                                   \
        double t = now();                                                                                    \
        for (int64_t at = 0; at + bytes <= (limit); at += bytes, count++)                                    \
                matmul(&(Target){y, n}, store, x, k, rows, k, (char *)buffer + at, storage, 1, TILING, 0,    \
                       (n) / 16, scratch);
#define SCALED_BLOCKS(name, storage)                                                                         \
        static double decode_##name(void)                                                                    \
        {                                                                                                    \
                FLOAT_PRODUCTS(1, 2048, 2048, storage, WEIGHT_BYTES)                                         \
                return (double)(count * bytes) / (now() - t) * 1e-9;                                         \
        }                                                                                                    \
        static double few_##name(void)                                                                       \
        {                                                                                                    \
                FLOAT_PRODUCTS(4, 2048, 2048, storage, WEIGHT_BYTES)                                         \
                return (double)(count * bytes) / (now() - t) * 1e-9;                                         \
        }                                                                                                    \
        static double prefill_##name(void)                                                                   \
        {                                                                                                    \
                FLOAT_PRODUCTS(128, 2048, 2048, storage, (int64_t)16 << 20)                                  \
                return 2.0 * 128 * 2048 * 2048 * (double)count / (now() - t) * 1e-9;                         \
        }
#define BENCH_SCALED(of, NAME, name, ...) SCALED_BLOCKS(name, STORAGE_##NAME)
SCALED_STORAGES(BENCH_SCALED, )

/* Attention of `rows` rows at the end of `keys` keys; bytes of keys and values, and flops, a second.  in_rows: keys lie so; where values are
 * narrower than keys they are their first columns. */
#define ATTENTION_OF(name, n_heads, n_kv, n_rows, n_keys, dim, wide, in_rows, work)                          \
        static double name(void)                                                                             \
        {                                                                                                    \
                int64_t cache = (int64_t)(n_keys) * (dim);                                                   \
                Attention a = {.q = x,                                                                       \
                               .q_row = (n_heads) * (dim),                                                   \
                               .q_head = dim,                                                                \
                               .k = buffer,                                                                  \
                               .k_head = cache,                                                              \
                               .k_tile = (in_rows) ? 0 : 16 * (dim),                                         \
                               .k_key = (in_rows) ? (dim) : 0};                                              \
                a.v = buffer + ((wide) < (dim) ? 0 : (n_kv)*cache), a.v_head = cache, a.v_key = dim;         \
                a.out = y, a.out_row = (n_heads) * (wide), a.out_head = wide, a.scale = 0.125f;              \
                a.heads = n_heads, a.kv_heads = n_kv, a.head_dim = dim, a.v_dim = wide;                      \
                a.keys = n_keys, a.first_row = (n_keys) - (n_rows);                                          \
                double t = now();                                                                            \
                attention(&a, plain, causal, n_rows,                                                         \
                          &(AttentionShare){                                                                 \
                                  .end = ATTENTION_UNITS(n_heads, n_kv, n_rows, ATTENTION_ROWS(&a))},        \
                          scratch);                                                                          \
                return (work) / (now() - t) * 1e-9;                                                          \
        }
#define ATTENTION(name, n_heads, n_kv, n_rows, n_keys, dim, work)                                            \
        ATTENTION_OF(name, n_heads, n_kv, n_rows, n_keys, dim, dim, 0, work)                                 \
        ATTENTION_OF(name##_in_rows, n_heads, n_kv, n_rows, n_keys, dim, dim, 1, work)
ATTENTION(attention_decode, 32, 32, 1, 4096, 64, 32 * 2 * 4096.0 * 64 * 4)
ATTENTION(attention_grouped, 32, 8, 1, 4096, 64, 8 * 2 * 4096.0 * 64 * 4)
ATTENTION(attention_prefill, 4, 4, 2048, 2048, 64, 4 * 2048.0 * 2049 / 2 * 64 * 4)
ATTENTION(attention_short, 6, 6, 128, 128, 48, 6 * 128.0 * 129 / 2 * 48 * 4)
ATTENTION_OF(latent_16, 16, 1, 1, 4096, 576, 512, 1, 16 * 4096.0 * (576 + 512) * 2)
ATTENTION_OF(latent_128, 128, 1, 1, 4096, 576, 512, 1, 128 * 4096.0 * (576 + 512) * 2)
ATTENTION_OF(latent_prefill, 16, 1, 64, 1024, 576, 512, 1, 16 * 64 * (1024.0 - 31.5) * (576 + 512) * 2)

static double read_ceiling(void)
{
        double t = now();
        sink = read_streams(buffer, WEIGHT_BYTES / 4);
        return (double)WEIGHT_BYTES / (now() - t) * 1e-9;
}

static double fma_peak(void)
{
        double t = now();
        sink = fma_chains(200000);
        return 2e5 * CHAINS * 32 / (now() - t) * 1e-9;
}

static double dot_peak(void)
{
        double t = now();
        sink = (float)dot_chains(200000);
        return 2e5 * CHAINS * 2 * 2 * 64 / (now() - t) * 1e-9;
}

typedef struct {
        const char *name, *unit;
        double (*pass)(void), (*ceiling)(void);
} Figure;

int main(int argc, char **argv)
{
        static const Figure figures[] = {
                {"decode f32 2048", "GB/s", decode_f32, read_ceiling},
                {"decode f16 2048", "GB/s", decode_f16, read_ceiling},
                {"decode bf16 2048", "GB/s", decode_bf16, read_ceiling},
                {"decode f32 k 288", "GB/s", decode_small, read_ceiling},
                {"decode f32, 4 rows", "GB/s", decode_4_rows, read_ceiling},
                {"prefill f32 132x3072x768", "GF/s", prefill_132, fma_peak},
                {"prefill f32 128x3072x768", "GF/s", prefill_128, fma_peak},
                {"prefill bf16 128x3072x768", "GF/s", prefill_128_bf16, fma_peak},
                {"prefill bf16 16x3072x768", "GF/s", prefill_16_bf16, fma_peak},
                {"prefill f32 512x2048x2048", "GF/s", prefill_512, fma_peak},
                {"prefill f32 128x144x288", "GF/s", prefill_small, fma_peak},
#define OF_BLOCKS(of, NAME, name, ...)                                                                       \
        {"decode " #name, "GB/s", decode_##name, read_ceiling},                                              \
                {"4 rows " #name, "GB/s", few_##name, read_ceiling},                                         \
                {"prefill " #name " 128x2048x2048", "Gop/s", prefill_##name, dot_peak},
#define OF_SCALED(of, NAME, name, ...)                                                                       \
        {"decode " #name, "GB/s", decode_##name, read_ceiling},                                              \
                {"4 rows " #name, "GB/s", few_##name, read_ceiling},                                         \
                {"prefill " #name " 128x2048x2048", "GF/s", prefill_##name, fma_peak},
                CODE_STORAGES(OF_BLOCKS, ) SCALED_STORAGES(OF_SCALED, ){"attention 1 row, 4096 keys", "GB/s",
                                                                        attention_decode, read_ceiling},
                {"attention 4 heads grouped", "GB/s", attention_grouped, read_ceiling},
                {"attention 2048 x 2048 causal", "GF/s", attention_prefill, fma_peak},
                {"attention 128 x 128, dim 48", "GF/s", attention_short, fma_peak},
                {"attention 1 row, keys in rows", "GB/s", attention_decode_in_rows, read_ceiling},
                {"attention grouped, in rows", "GB/s", attention_grouped_in_rows, read_ceiling},
                {"attention causal, in rows", "GF/s", attention_prefill_in_rows, fma_peak},
                {"attention dim 48, in rows", "GF/s", attention_short_in_rows, fma_peak},
                {"attention latent, 16 heads", "GF/s", latent_16, fma_peak},
                {"attention latent, 128 heads", "GF/s", latent_128, fma_peak},
                {"attention latent, 64 rows", "GF/s", latent_prefill, fma_peak},
        };
#if HAS_AMX
        if (!amx_is_there())
                return 3;
#endif
        buffer = filled(WEIGHT_BYTES + 8192);
        x = filled((int64_t)2048 * 2048 * 4);
        y = filled((int64_t)2048 * 3072 * 4);
        scratch = filled(4 * (MATMUL_SCRATCH(192) + MATMUL_WIDE(512) + ATTENTION_SCRATCH(576, 512, 1)));
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
                double best = 0, ceiling = 0;
                if (argc > 1 && !strstr(figures[i].name, argv[1]))
                        continue;
                for (int pass = 0; pass < PASSES; pass++) {
                        double c = figures[i].ceiling(), f = figures[i].pass();
                        ceiling = c > ceiling ? c : ceiling;
                        best = f > best ? f : best;
                }
                printf("%-30s %7.1f of %6.1f %s  %3.0f %%\n", figures[i].name, best, ceiling, figures[i].unit,
                       100 * best / ceiling);
        }
        return 0;
}
