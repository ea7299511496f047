/*
 * The kernels compiled into lathe, once for each instruction set, for code that libtcc compiles.
 *
 * libtcc has no vector types.  Code for it passes vectors by address, `v_add(r, a, b)` for r = a + b, and each row of
 * the table below is such a function, which calls the runtime's own: so the arithmetic has the same source as emitted
 * C, and gives the same bits.  Compiler options are in kernel_files_private.h.  Products with weights in blocks are in
 * kernels_blocks.c, because some targets differ only in them.
 */
#include "../compiler/graph/block_storages.h"
#define TILES_OF_SCALED(S, NAME, ...) S(TILES, NAME)
#define STORAGES(S) S(TILES, F32) S(TILES, F16) S(TILES, BF16) SCALED_STORAGES(TILES_OF_SCALED, S)
#include "../compiler/run/kernel_files_private.h"
#include "team.h"
#include "contraction.h"
#include "attention.h"
#include "attention_mixed.h"
#include "attention_chosen.h"
#include "scan_state.h"
#include "scan.h"
#include "generation.h"
#include "sampler.h"
#include "beams.h"
#include "beam_search.h"

#define UNARY_LIST(X)                                                                                        \
        X(v_neg) X(v_exp) X(v_log) X(v_sqrt) X(v_sin) X(v_cos) X(v_tanh) X(v_erf) X(v_atan) X(v_floor) X(v_not)
#define BINARY_LIST(X)                                                                                       \
        X(v_add)                                                                                             \
        X(v_sub)                                                                                             \
        X(v_mul)                                                                                             \
        X(v_div) X(v_pow) X(v_max) X(v_min) X(v_lt) X(v_le) X(v_eq) X(v_and) X(v_or) X(v_soft) X(v_part)
#define FOLD_LIST(X) X(v_sum) X(v_maxof) X(v_first)

#define UNARY(op)                                                                                            \
        static void by_address_##op(float *r, const float *a)                                                \
        {                                                                                                    \
                v_store(r, op(v_load(a)));                                                                   \
        }
#define BINARY(op)                                                                                           \
        static void by_address_##op(float *r, const float *a, const float *b)                                \
        {                                                                                                    \
                v_store(r, op(v_load(a), v_load(b)));                                                        \
        }
#define FOLD(op)                                                                                             \
        static float by_address_##op(const float *a)                                                         \
        {                                                                                                    \
                return op(v_load(a));                                                                        \
        }
UNARY_LIST(UNARY)
BINARY_LIST(BINARY)
FOLD_LIST(FOLD)

static void by_address_v_fma(float *r, const float *a, const float *b, const float *c)
{
        v_store(r, v_fma(v_load(a), v_load(b), v_load(c)));
}
static void by_address_v_where(float *r, const float *c, const float *a, const float *b)
{
        v_store(r, v_where(v_load(c), v_load(a), v_load(b)));
}
static void by_address_v_keep(float *r, const float *x, int n, float rest)
{
        v_store(r, v_keep(v_load(x), n, rest));
}
static void by_address_v_clamp(float *r, const float *x, float last)
{
        v_store(r, v_clamp(v_load(x), last));
}
static void by_address_v_set1(float *r, float x)
{
        v_store(r, v_set1(x));
}
static void by_address_v_iota(float *r, float first)
{
        v_store(r, v_iota(first));
}
static void by_address_v_load(float *r, const float *p)
{
        v_store(r, v_load(p));
}
static void by_address_v_load_n(float *r, const float *p, int n)
{
        v_store(r, v_load_n(p, n));
}
static void by_address_v_load_i32(float *r, const int32_t *p)
{
        v_store(r, v_load_i32(p));
}
static void by_address_v_load_i32_n(float *r, const int32_t *p, int n)
{
        v_store(r, v_load_i32_n(p, n));
}
static void by_address_v_load_strided(float *r, const float *p, int64_t stride, int n)
{
        v_store(r, v_load_strided(p, stride, n));
}
static void by_address_v_load_i32_strided(float *r, const int32_t *p, int64_t stride, int n)
{
        v_store(r, v_load_i32_strided(p, stride, n));
}
static void by_address_v_gather_i32(float *r, const int32_t *base, const float *index, int64_t stride)
{
        v_store(r, v_gather_i32(base, v_load(index), stride));
}
static void by_address_v_gather(float *r, const float *base, const float *index, int64_t stride)
{
        v_store(r, v_gather(base, v_load(index), stride));
}
static void by_address_v_store_n(float *p, const float *x, int n)
{
        v_store_n(p, v_load(x), n);
}
static void by_address_v_store_strided(float *p, int64_t stride, const float *x, int n)
{
        v_store_strided(p, stride, v_load(x), n);
}

#define WIDE_BINARY_LIST(X)                                                                                   \
        X(w_add) X(w_sub) X(w_mul) X(w_max) X(w_min) X(w_floordiv) X(w_mod) X(w_lt) X(w_le) X(w_eq)
#define WIDE_FOLD_LIST(X) X(w_sum) X(w_maxof) X(w_first)
#define WIDE_BINARY(op)                                                                                       \
        static void by_address_##op(double *r, const double *a, const double *b)                             \
        {                                                                                                    \
                w_store(r, op(w_load(a), w_load(b)));                                                        \
        }
#define WIDE_FOLD(op)                                                                                         \
        static double by_address_##op(const double *a)                                                       \
        {                                                                                                    \
                return op(w_load(a));                                                                        \
        }
WIDE_BINARY_LIST(WIDE_BINARY)
WIDE_FOLD_LIST(WIDE_FOLD)

static void by_address_w_of_v(double *r, const float *x)
{
        w_store(r, w_of_v(v_load(x)));
}
static void by_address_v_of_w(float *r, const double *x)
{
        v_store(r, v_of_w(w_load(x)));
}
static void by_address_w_load(double *r, const double *p)
{
        w_store(r, w_load(p));
}
static void by_address_w_load_n(double *r, const double *p, int n)
{
        w_store(r, w_load_n(p, n));
}
static void by_address_w_load_strided(double *r, const double *p, int64_t stride, int n)
{
        w_store(r, w_load_strided(p, stride, n));
}
static void by_address_w_store_n(double *p, const double *x, int n)
{
        w_store_n(p, w_load(x), n);
}
static void by_address_w_store_strided(double *p, int64_t stride, const double *x, int n)
{
        w_store_strided(p, stride, w_load(x), n);
}
static void by_address_w_set1(double *r, double x)
{
        w_store(r, w_set1(x));
}
static void by_address_w_iota(double *r, double first)
{
        w_store(r, w_iota(first));
}
static void by_address_w_neg(double *r, const double *a)
{
        w_store(r, w_neg(w_load(a)));
}
static void by_address_w_where(double *r, const double *c, const double *a, const double *b)
{
        w_store(r, w_where(w_load(c), w_load(a), w_load(b)));
}
static void by_address_w_keep(double *r, const double *x, int n, double rest)
{
        w_store(r, w_keep(w_load(x), n, rest));
}
static void by_address_w_clamp(double *r, const double *x, double last)
{
        w_store(r, w_clamp(w_load(x), last));
}
static void by_address_w_gather(double *r, const double *base, const double *index)
{
        w_store(r, w_gather(base, w_load(index)));
}
static void by_address_v_gather_wide(float *r, const float *base, const double *index)
{
        v_store(r, v_gather_wide(base, w_load(index)));
}
static void by_address_v_gather_i32_wide(float *r, const int32_t *base, const double *index)
{
        v_store(r, v_gather_i32_wide(base, w_load(index)));
}

#define NARROW(type)                                                                                         \
        static void by_address_v_load_##type(float *r, const uint16_t *p)                                    \
        {                                                                                                    \
                v_store(r, v_load_##type(p));                                                                \
        }                                                                                                    \
        static void by_address_v_load_##type##_n(float *r, const uint16_t *p, int n)                         \
        {                                                                                                    \
                v_store(r, v_load_##type##_n(p, n));                                                         \
        }                                                                                                    \
        static void by_address_v_load_##type##_strided(float *r, const uint16_t *p, int64_t stride, int n)   \
        {                                                                                                    \
                v_store(r, v_load_##type##_strided(p, stride, n));                                           \
        }                                                                                                    \
        static void by_address_v_gather_##type(float *r, const uint16_t *base, const float *index,           \
                                               int64_t stride)                                               \
        {                                                                                                    \
                v_store(r, v_gather_##type(base, v_load(index), stride));                                    \
        }                                                                                                    \
        static void by_address_v_gather_##type##_wide(float *r, const uint16_t *base, const double *index)    \
        {                                                                                                    \
                v_store(r, v_gather_##type##_wide(base, w_load(index)));                                      \
        }                                                                                                    \
        static float any_##type##_at(const uint16_t *p, int64_t at)                                          \
        {                                                                                                    \
                return type##_at(p, at);                                                                     \
        }
NARROW(f16)
NARROW(bf16)

static void by_address_v_store_f16(uint16_t *p, const float *x)
{
        v_store_f16(p, v_load(x));
}
static void by_address_v_store_f16_n(uint16_t *p, const float *x, int n)
{
        v_store_f16_n(p, v_load(x), n);
}
static void by_address_v_store_f16_strided(uint16_t *p, int64_t stride, const float *x, int n)
{
        v_store_f16_strided(p, stride, v_load(x), n);
}
static void any_f16_put(uint16_t *p, int64_t at, float x)
{
        f16_put(p, at, x);
}

static void any_matmul_active(const void *ctx, Epilogue *epilogue, const float *x, int64_t ldx,
                             const int32_t *active, int64_t rows, int k, const void *w, int storage, int group,
                             const Tiling *tiling, int panel0, int panel1, float *scratch)
{
        matmul_active(ctx, epilogue, x, ldx, active, rows, k, w, storage, group, tiling, panel0, panel1, scratch);
}

static void any_codes_of_rows(void *to, const float *x, int64_t ldx, const int32_t *active, int64_t rows,
                             int k, int group)
{
        codes_of_rows(to, x, ldx, active, rows, k, group);
}
static void any_keep_codes(int storage, void *array, int64_t at, const float *x, int64_t step)
{
        keep_codes(storage, array, at, x, step);
}
static float any_block_at(int storage, const void *array, int64_t at)
{
        return block_at(storage, array, at);
}
static void by_address_v_load_blocks(float *r, int storage, const void *array, int64_t at, int64_t stride, int n)
{
        v_store(r, v_load_blocks(storage, array, at, stride, n));
}

static void any_matmul(const void *ctx, Epilogue *epilogue, const float *x, int64_t ldx, int64_t rows, int k,
                       const void *w, int storage, int group, const Tiling *tiling, int panel0, int panel1,
                       float *scratch)
{
        any_matmul_active(ctx, epilogue, x, ldx, NULL, rows, k, w, storage, group, tiling, panel0, panel1, scratch);
}

static void any_contract(const Contraction *c, int64_t unit, int64_t rows, float *scratch)
{
        contract(c, unit, rows, scratch);
}

/* Callbacks of code that libtcc compiles: vectors are passed by address, and `ctx` is its own context. */
typedef void AnyScore(const void *ctx, float *to, const float *s, int64_t apart, int head, int64_t row, int64_t col);
typedef struct {
        const void *ctx;
        AnyScore *score, *weigh;
        Live *live;
        Sink *sink;
} AnyAttention;

static v16 any_score(const void *context, const float *s, int64_t apart, int head, int64_t row, int64_t col)
{
        const AnyAttention *any = context;
        float lane[16];
        any->score(any->ctx, lane, s, apart, head, row, col);
        return v_load(lane);
}
static v16 any_weigh(const void *context, const float *s, int64_t apart, int head, int64_t row, int64_t col)
{
        const AnyAttention *any = context;
        float lane[16];
        any->weigh(any->ctx, lane, s, apart, head, row, col);
        return v_load(lane);
}
static void any_live(const void *context, int head, int64_t row, int64_t *lo, int64_t *hi)
{
        const AnyAttention *any = context;
        any->live(any->ctx, head, row, lo, hi);
}
static float any_sink(const void *context, int head, int64_t row)
{
        const AnyAttention *any = context;
        return any->sink(any->ctx, head, row);
}
static void any_attention(const Attention *given, AnyScore *score, Live *live, int64_t rows, const AttentionShare *s,
                          float *scratch)
{
        const AnyAttention any = {given->ctx, score, NULL, live, given->sink};
        Attention a = *given;
        a.ctx = &any;
        a.sink = given->sink ? any_sink : NULL;
        attention(&a, any_score, any_live, rows, s, scratch);
}
static void any_attention_chosen(const Attention *given, AnyScore *score, Live *live, int64_t rows, const AttentionShare *s,
                                 float *scratch)
{
        const AnyAttention any = {given->ctx, score, NULL, live, given->sink};
        Attention a = *given;
        a.ctx = &any;
        a.sink = given->sink ? any_sink : NULL;
        attention_chosen(&a, any_score, any_live, rows, s, scratch);
}
static void any_attention_share(AttentionShare *s, const Attention *a, Live *live, int64_t rows, float *parts,
                                int thread, int threads)
{
        attention_share(s, a, live, rows, parts, thread, threads);
}
static void any_attention_join(const Attention *a, const AttentionShare *s, float *scratch, Team *team,
                               int thread, int threads)
{
        attention_join(a, s, scratch, team, thread, threads);
}
static void any_attention_mixed(const Attention *given, AnyScore *score, AnyScore *weigh, Live *live, int64_t rows,
                                const AttentionShare *s, int all_weigh, float *scratch, Team *team, int thread,
                                int threads)
{
        const AnyAttention any = {given->ctx, score, weigh, live, NULL};
        Attention a = *given;
        a.ctx = &any;
        attention_mixed(&a, any_score, any_weigh, any_live, rows, s, all_weigh, scratch, team, thread, threads);
}
static void any_mixed_share(AttentionShare *s, const Attention *a, Live *live, int64_t rows, float *parts, int thread,
                            int threads)
{
        mixed_share(s, a, live, rows, parts, thread, threads);
}
static void any_scan(const Scan *s, float *state, int unit, int64_t position, int64_t rows, float *scratch)
{
        scan(s, state, unit, position, rows, scratch);
}
static void any_chosen_of(float *list, int64_t list_step, const float *x, int64_t x_step, int64_t n, int64_t k)
{
        chosen_of(list, list_step, x, x_step, n, k);
}
static void any_among_of(float *y, int64_t y_step, const float *list, int64_t list_step, int64_t n, int64_t k)
{
        among_of(y, y_step, list, list_step, n, k);
}
static void any_top_of(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n, int64_t k)
{
        top_of(y, y_step, x, x_step, n, k);
}
static int64_t any_argmax_of(const float *x, int64_t x_step, int64_t n)
{
        return argmax_of(x, x_step, n);
}

static int any_sample(Sampler *s, float *logits, int n)
{
        return sample(s, logits, n);
}

static int any_beams_step(Beams *b, float *logits, BeamRules *rule_out, void *of)
{
        return beams_step(b, logits, rule_out, of);
}

/* clang-format off */
#define UNARY_ROW(op) ROW(op, void, by_address_##op, "(float *r, const float *a)")
#define BINARY_ROW(op) ROW(op, void, by_address_##op, "(float *r, const float *a, const float *b)")
#define FOLD_ROW(op) ROW(op, float, by_address_##op, "(const float *a)")
#define WIDE_BINARY_ROW(op) ROW(op, void, by_address_##op, "(double *r, const double *a, const double *b)")
#define WIDE_FOLD_ROW(op) ROW(op, double, by_address_##op, "(const double *a)")

#define NARROW_ROWS(type) \
        ROW(v_load_##type, void, by_address_v_load_##type, "(float *r, const uint16_t *p)") \
        ROW(v_load_##type##_n, void, by_address_v_load_##type##_n, "(float *r, const uint16_t *p, int n)") \
        ROW(v_load_##type##_strided, void, by_address_v_load_##type##_strided, \
            "(float *r, const uint16_t *p, int64_t stride, int n)") \
        ROW(v_gather_##type, void, by_address_v_gather_##type, \
            "(float *r, const uint16_t *base, const float *index, int64_t stride)") \
        ROW(v_gather_##type##_wide, void, by_address_v_gather_##type##_wide, \
            "(float *r, const uint16_t *base, const double *index)") \
        ROW(type##_at, float, any_##type##_at, "(const uint16_t *p, int64_t at)")

const KernelSymbol JOIN(kernels_, KERNELS_ISA)[] = {
        UNARY_LIST(UNARY_ROW) BINARY_LIST(BINARY_ROW) FOLD_LIST(FOLD_ROW)
        WIDE_BINARY_LIST(WIDE_BINARY_ROW) WIDE_FOLD_LIST(WIDE_FOLD_ROW)
        ROW(w_of_v, void, by_address_w_of_v, "(double *r, const float *x)")
        ROW(v_of_w, void, by_address_v_of_w, "(float *r, const double *x)")
        ROW(w_load, void, by_address_w_load, "(double *r, const double *p)")
        ROW(w_load_n, void, by_address_w_load_n, "(double *r, const double *p, int n)")
        ROW(w_load_strided, void, by_address_w_load_strided,
            "(double *r, const double *p, int64_t stride, int n)")
        ROW(w_store, void, by_address_w_load, "(double *p, const double *x)")
        ROW(w_store_n, void, by_address_w_store_n, "(double *p, const double *x, int n)")
        ROW(w_store_strided, void, by_address_w_store_strided,
            "(double *p, int64_t stride, const double *x, int n)")
        ROW(w_set1, void, by_address_w_set1, "(double *r, double x)")
        ROW(w_iota, void, by_address_w_iota, "(double *r, double first)")
        ROW(w_neg, void, by_address_w_neg, "(double *r, const double *a)")
        ROW(w_where, void, by_address_w_where,
            "(double *r, const double *c, const double *a, const double *b)")
        ROW(w_keep, void, by_address_w_keep, "(double *r, const double *x, int n, double rest)")
        ROW(w_clamp, void, by_address_w_clamp, "(double *r, const double *x, double last)")
        ROW(w_gather, void, by_address_w_gather, "(double *r, const double *base, const double *index)")
        ROW(v_gather_wide, void, by_address_v_gather_wide,
            "(float *r, const float *base, const double *index)")
        ROW(v_gather_i32_wide, void, by_address_v_gather_i32_wide,
            "(float *r, const int32_t *base, const double *index)")
        ROW(v_fma, void, by_address_v_fma, "(float *r, const float *a, const float *b, const float *c)")
        ROW(v_where, void, by_address_v_where, "(float *r, const float *c, const float *a, const float *b)")
        ROW(v_keep, void, by_address_v_keep, "(float *r, const float *x, int n, float rest)")
        ROW(v_clamp, void, by_address_v_clamp, "(float *r, const float *x, float last)")
        ROW(v_set1, void, by_address_v_set1, "(float *r, float x)")
        ROW(v_iota, void, by_address_v_iota, "(float *r, float first)")
        ROW(v_copy, void, by_address_v_load, "(float *r, const float *x)")
        ROW(v_load, void, by_address_v_load, "(float *r, const float *p)")
        ROW(v_load_n, void, by_address_v_load_n, "(float *r, const float *p, int n)")
        ROW(v_load_i32, void, by_address_v_load_i32, "(float *r, const int32_t *p)")
        ROW(v_load_i32_n, void, by_address_v_load_i32_n, "(float *r, const int32_t *p, int n)")
        ROW(v_load_strided, void, by_address_v_load_strided,
            "(float *r, const float *p, int64_t stride, int n)")
        ROW(v_load_i32_strided, void, by_address_v_load_i32_strided,
            "(float *r, const int32_t *p, int64_t stride, int n)")
        ROW(v_gather_i32, void, by_address_v_gather_i32,
            "(float *r, const int32_t *base, const float *index, int64_t stride)")
        ROW(v_gather, void, by_address_v_gather,
            "(float *r, const float *base, const float *index, int64_t stride)")
        NARROW_ROWS(f16) NARROW_ROWS(bf16)
        ROW(v_store_f16, void, by_address_v_store_f16, "(uint16_t *p, const float *x)")
        ROW(v_store_f16_n, void, by_address_v_store_f16_n, "(uint16_t *p, const float *x, int n)")
        ROW(v_store_f16_strided, void, by_address_v_store_f16_strided,
            "(uint16_t *p, int64_t stride, const float *x, int n)")
        ROW(f16_put, void, any_f16_put, "(uint16_t *p, int64_t at, float x)")
        ROW(v_store, void, by_address_v_load, "(float *p, const float *x)")
        ROW(v_store_n, void, by_address_v_store_n, "(float *p, const float *x, int n)")
        ROW(v_store_strided, void, by_address_v_store_strided,
            "(float *p, int64_t stride, const float *x, int n)")
        ROW(matmul, void, any_matmul,
            "(const void *ctx, void (*epilogue)(const void *ctx, int64_t row, int panel, const v16 *acc), const float *x, int64_t ldx, int64_t rows, int k, "
            "const void *w, int storage, int group, const void *tiling, int panel0, int panel1, float *scratch)")
        ROW(matmul_active, void, any_matmul_active,
            "(const void *ctx, void (*epilogue)(const void *ctx, int64_t row, int panel, const v16 *acc), const float *x, int64_t ldx, "
            "const int32_t *active, int64_t rows, int k, const void *w, int storage, int group, const void *tiling, int panel0, int panel1, "
            "float *scratch)")
        ROW(codes_of_rows, void, any_codes_of_rows,
            "(void *to, const float *x, int64_t ldx, const int32_t *active, int64_t rows, int k, int group)")
        ROW(keep_codes, void, any_keep_codes, "(int storage, void *array, int64_t at, const float *x, int64_t step)")
        ROW(block_at, float, any_block_at, "(int storage, const void *array, int64_t at)")
        ROW(v_load_blocks, void, by_address_v_load_blocks,
            "(float *r, int storage, const void *array, int64_t at, int64_t stride, int n)")
        ROW(contract, void, any_contract, "(const void *c, int64_t unit, int64_t rows, float *scratch)")
        ROW(attention, void, any_attention,
            "(const void *a, void (*score)(const void *ctx, float *to, const float *s, int64_t apart, int head, int64_t row, int64_t col), "
            "void (*live)(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi), int64_t rows, const void *s, "
            "float *scratch)")
        ROW(attention_chosen, void, any_attention_chosen,
            "(const void *a, void (*score)(const void *ctx, float *to, const float *s, int64_t apart, int head, int64_t row, int64_t col), "
            "void (*live)(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi), int64_t rows, const void *s, "
            "float *scratch)")
        ROW(attention_share, void, any_attention_share,
            "(void *s, const void *a, void (*live)(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi), int64_t rows, "
            "float *parts, int thread, int threads)")
        ROW(attention_join, void, any_attention_join,
            "(const void *a, const void *s, float *scratch, Team *team, int thread, int threads)")
        ROW(attention_mixed, void, any_attention_mixed,
            "(const void *a, void (*score)(const void *ctx, float *to, const float *s, int64_t apart, int head, int64_t row, int64_t col), "
            "void (*weigh)(const void *ctx, float *to, const float *s, int64_t apart, int head, int64_t row, int64_t col), "
            "void (*live)(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi), int64_t rows, const void *s, "
            "int all_weigh, float *scratch, Team *team, int thread, int threads)")
        ROW(mixed_share, void, any_mixed_share,
            "(void *s, const void *a, void (*live)(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi), int64_t rows, "
            "float *parts, int thread, int threads)")
        ROW(scan, void, any_scan,
            "(const void *s, float *state, int unit, int64_t position, int64_t rows, float *scratch)")
        ROW(top_of, void, any_top_of,
            "(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n, int64_t k)")
        ROW(chosen_of, void, any_chosen_of,
            "(float *list, int64_t list_step, const float *x, int64_t x_step, int64_t n, int64_t k)")
        ROW(among_of, void, any_among_of,
            "(float *y, int64_t y_step, const float *list, int64_t list_step, int64_t n, int64_t k)")
        ROW(argmax_of, int64_t, any_argmax_of, "(const float *x, int64_t x_step, int64_t n)")
        {"sample", NULL, (KernelFunction *)any_sample},
        {"beams_step", NULL, (KernelFunction *)any_beams_step},
        {NULL, NULL, NULL}};
/* clang-format on */
