/*
 * The micro-kernel of matrix products: a tile of rows by panels of 16 outputs whose sums are all in registers.
 *
 * Needs guard.h, a v16 header, narrow.h and kept.h.
 */

/* Unrolls the next loop completely, so that arrays of vectors with its index become registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && !defined(__TINYC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* Storage of 16 adjacent columns. */
#define STORAGE_F32 0

#define STORAGE_F16 1

#define STORAGE_BF16 2

#define STORAGE_Q8_0 3

#define STORAGE_Q4_0 4

#define STORAGE_Q4_1 5

#define STORAGE_Q5_0 6

#define STORAGE_Q5_1 7

#define STORAGE_MXFP4 8

#define STORAGE_IQ4_NL 9

#define STORAGE_NVFP4 10

#define STORAGE_Q2_K 11

#define STORAGE_Q3_K 12

#define STORAGE_Q4_K 13

#define STORAGE_Q5_K 14

#define STORAGE_Q6_K 15

#define STORAGE_IQ4_XS 16

#define STORAGE_TQ1_0 17

#define STORAGE_TQ2_0 18

#define STORAGE_IQ3_XXS 19

#define STORAGE_IQ3_S 20

#define STORAGE_IQ2_XXS 21

#define STORAGE_IQ2_XS 22

#define STORAGE_IQ2_S 23

#define STORAGE_IQ1_S 24

#define STORAGE_IQ1_M 25

#define STORAGE_INT4_32 26

#define STORAGE_INT4_64 27

#define STORAGE_INT4_128 28

#define STORAGE_E4M3 29

#define STORAGE_E5M2 30

/* Only within a product: f16 that v_are_finite_f16() has checked. */
#define STORAGE_FINITE_F16 (-1)

#define BLOCK_Q8_0 544

#define BLOCK_Q4_0 288

#define BLOCK_Q4_1 320

#define BLOCK_Q5_0 352

#define BLOCK_Q5_1 384

#define BLOCK_MXFP4 288

#define BLOCK_IQ4_NL 288

#define BLOCK_NVFP4 288

#define BLOCK_Q2_K 1344

#define BLOCK_Q3_K 1760

#define BLOCK_Q4_K 2368

#define BLOCK_Q5_K 2880

#define BLOCK_Q6_K 3360

#define BLOCK_IQ4_XS 2208

#define BLOCK_TQ1_0 864

#define BLOCK_TQ2_0 1056

#define BLOCK_IQ3_XXS 1568

#define BLOCK_IQ3_S 1760

#define BLOCK_IQ2_XXS 1056

#define BLOCK_IQ2_XS 1184

#define BLOCK_IQ2_S 1312

#define BLOCK_IQ1_S 800

#define BLOCK_IQ1_M 896

#define BLOCK_INT4_32 304

#define BLOCK_INT4_64 560

#define BLOCK_INT4_128 1072

#define BLOCK_E4M3 2112

#define BLOCK_E5M2 2112

/* Number of indices of k in a step: a block's. */
KERNEL int64_t step_values(int storage)
{
        return storage == STORAGE_INT4_64    ? 64
               : storage >= STORAGE_INT4_128 ? 128
               : storage == STORAGE_INT4_32  ? 32
               : storage >= STORAGE_Q2_K     ? 256
               : storage >= STORAGE_Q8_0     ? 32
                                             : 1;
}

/* Whether blocks are 16 scales and floats of 8 bits, whose products are of floats. */
KERNEL int is_scaled(int storage)
{
        return storage == STORAGE_E4M3 || storage == STORAGE_E5M2;
}

/* Bytes before the floats of a block. */
#define SCALED_HEAD 64

/* Whether blocks have codes of four bits, and each output a zero point. */
KERNEL int has_zeros(int storage)
{
        return storage == STORAGE_INT4_32 || storage == STORAGE_INT4_64 || storage == STORAGE_INT4_128;
}

/* Bytes of a block of 16 columns. */
KERNEL int64_t bytes_of_block(int storage)
{
        switch (storage) {
#if HAS_Q8_0
        case STORAGE_Q8_0: return BLOCK_Q8_0;
#endif
#if HAS_Q4_0
        case STORAGE_Q4_0: return BLOCK_Q4_0;
#endif
#if HAS_Q4_1
        case STORAGE_Q4_1: return BLOCK_Q4_1;
#endif
#if HAS_Q5_0
        case STORAGE_Q5_0: return BLOCK_Q5_0;
#endif
#if HAS_Q5_1
        case STORAGE_Q5_1: return BLOCK_Q5_1;
#endif
#if HAS_MXFP4
        case STORAGE_MXFP4: return BLOCK_MXFP4;
#endif
#if HAS_IQ4_NL
        case STORAGE_IQ4_NL: return BLOCK_IQ4_NL;
#endif
#if HAS_NVFP4
        case STORAGE_NVFP4: return BLOCK_NVFP4;
#endif
#if HAS_Q2_K
        case STORAGE_Q2_K: return BLOCK_Q2_K;
#endif
#if HAS_Q3_K
        case STORAGE_Q3_K: return BLOCK_Q3_K;
#endif
#if HAS_Q4_K
        case STORAGE_Q4_K: return BLOCK_Q4_K;
#endif
#if HAS_Q5_K
        case STORAGE_Q5_K: return BLOCK_Q5_K;
#endif
#if HAS_Q6_K
        case STORAGE_Q6_K: return BLOCK_Q6_K;
#endif
#if HAS_IQ4_XS
        case STORAGE_IQ4_XS: return BLOCK_IQ4_XS;
#endif
#if HAS_TQ1_0
        case STORAGE_TQ1_0: return BLOCK_TQ1_0;
#endif
#if HAS_TQ2_0
        case STORAGE_TQ2_0: return BLOCK_TQ2_0;
#endif
#if HAS_IQ3_XXS
        case STORAGE_IQ3_XXS: return BLOCK_IQ3_XXS;
#endif
#if HAS_IQ3_S
        case STORAGE_IQ3_S: return BLOCK_IQ3_S;
#endif
#if HAS_IQ2_XXS
        case STORAGE_IQ2_XXS: return BLOCK_IQ2_XXS;
#endif
#if HAS_IQ2_XS
        case STORAGE_IQ2_XS: return BLOCK_IQ2_XS;
#endif
#if HAS_IQ2_S
        case STORAGE_IQ2_S: return BLOCK_IQ2_S;
#endif
#if HAS_IQ1_S
        case STORAGE_IQ1_S: return BLOCK_IQ1_S;
#endif
#if HAS_IQ1_M
        case STORAGE_IQ1_M: return BLOCK_IQ1_M;
#endif
#if HAS_INT4_32
        case STORAGE_INT4_32: return BLOCK_INT4_32;
#endif
#if HAS_INT4_64
        case STORAGE_INT4_64: return BLOCK_INT4_64;
#endif
#if HAS_INT4_128
        case STORAGE_INT4_128: return BLOCK_INT4_128;
#endif
#if HAS_SCALED
        case STORAGE_E4M3: return BLOCK_E4M3;
        case STORAGE_E5M2: return BLOCK_E5M2;
#endif
        default: return 0;
        }
}

/* Operands of a tile: x [rows][steps] and w [panels][steps][16]. */
typedef struct {
        const float *x;   /* row i, step p at x[x_at[i] + p * x_step] */
        int64_t x_at[12]; /* offsets of the tile's rows: see rows_at() */
        int64_t x_step;
#if HAS_BLOCKS
        int64_t first; /* the block of step 0, for weights in blocks, whose rows are codes instead of x */
        int k;
        int rows; /* existing rows, for codes; further rows of the tile repeat the last one */
#endif
        const void *w; /* panel j, step p: 16 columns from element or block j * w_panel + p * w_step on */
        int64_t w_panel, w_step;
#if HAS_CODES
        int64_t w_begin; /* first element of panel 0, step 0, for codes with scales */
#endif
        int panels; /* existing panels; further panels of the tile repeat the last one */
#if HAS_STORAGES || HAS_BLOCKS
        int storage; /* of w; default: STORAGE_F32 */
#endif
        const char *next;  /* step p prefetches next_step bytes at next + j * next_panel + p * next_step */
        int64_t next_panel, next_step;
} Factors;

/* Bytes of an element of f32, f16 or bf16. */
#if HAS_F16 || HAS_BF16
KERNEL int storage_bytes(int storage)
{
        return storage == STORAGE_F16 || storage == STORAGE_BF16 ? 2 : 4;
}
#else
KERNEL int storage_bytes(int storage UNUSED)
{
        return 4;
}
#endif

/* Bytes of elements of f32, f16 or bf16, or of whole blocks with scales. */
KERNEL int64_t bytes_of(int storage, int64_t elements)
{
#if HAS_CODES
        if (is_kept(storage))
                return KEPT_SIZE(storage, elements);
#endif
        return elements * storage_bytes(storage);
}

/* Advances w to its element `at`. */
KERNEL void factors_skip(Factors *f, int storage, int64_t at)
{
#if HAS_CODES
        if (is_kept(storage)) {
                f->w_begin += at;
                return;
        }
#endif
        f->w = (const char *)f->w + at * storage_bytes(storage);
}

/* Loads 16 columns of codes with scales.  scale: of the columns, if the storage is tiled. */
KERNEL v16 load_kept_columns(const Factors *f, int64_t at, v16 scale)
{
        at += f->w_begin;
        if (is_kept_tiled(f->storage))
                return v_mul(scale, kept_codes(f->storage, f->w, at));
        return v_load_kept(f->storage, f->w, at);
}

/* Loads 16 columns of f32, f16 or bf16. */
KERNEL v16 load_columns(const Factors *f, int64_t at)
{
#if HAS_F16
        if (f->storage == STORAGE_F16)
                return v_load_f16((const uint16_t *)f->w + at);
        if (f->storage == STORAGE_FINITE_F16)
                return v_load_finite_f16((const uint16_t *)f->w + at);
#endif
#if HAS_BF16
        if (f->storage == STORAGE_BF16)
                return v_load_bf16((const uint16_t *)f->w + at);
#endif
        return v_load((const float *)f->w + at);
}

/* Loads 16 columns of blocks with scales, from byte `at` of the floats of 8 bits on. */
KERNEL v16 load_scaled(int storage, const void *w, int64_t at, v16 scale)
{
        const uint8_t *p = (const uint8_t *)w + at;
        return v_mul(scale, storage == STORAGE_E4M3 ? v_load_e4m3(p) : v_load_e5m2(p));
}

/* Scales of a block, whose floats begin at byte `at` of w. */
KERNEL v16 scales_of_block(const void *w, int64_t at)
{
        return v_load((const float *)(const void *)((const char *)w + at - SCALED_HEAD));
}

/* The row of x for row i of a product. */
KERNEL int64_t row_at(const int32_t *active, int64_t i)
{
        return active ? active[i] : i;
}

/* Sets the offsets of a tile's rows, with stride x_row.  Rows beyond `rows` repeat the last one. */
KERNEL void rows_at(Factors *f, int64_t x_row, int rows, int tile_rows)
{
        UNROLL
        for (int i = 0; i < tile_rows; i++)
                f->x_at[i] = (i < rows ? i : rows - 1) * x_row;
}

/* The same for the rows of a list. */
KERNEL void active_rows_at(Factors *f, const int32_t *active, int64_t x_row, int rows, int tile_rows)
{
        UNROLL
        for (int i = 0; i < tile_rows; i++)
                f->x_at[i] = active[i < rows ? i : rows - 1] * x_row;
}

/* Hides a variable's value from the compiler.  On x86-64 a load can scale an index register by 1, 2, 4 or 8, so that a few
 * registers with odd multiples of a stride address all rows of a tile.  Otherwise the compiler keeps an address for each row, and
 * runs out of registers. */
#if defined(__GNUC__) && !defined(__TINYC__) && defined(__x86_64__)
#define UNKNOWN(variable) __asm__("" : "+r"(variable))
#else
#define UNKNOWN(variable) (void)(variable)
#endif

/* i strides, where odd[n] is 2 n + 1 strides. */
KERNEL int64_t strides_of(const int64_t *odd, int i)
{
        const int times = i % 2 ? 1 : i % 4 ? 2 : i % 8 ? 4 : 8;
        return i == 0 ? 0 : odd[i / times / 2] * times;
}

/*
 * acc[i][j] (= or +=) sum over p < steps of x[i][p] w[j][p], for rows x panels vectors; row i, panel j is at
 * acc + i * acc_row + 16 * j.  `fresh`: sums start from +0, otherwise from acc.  rows, panels and even are literals, and the sums
 * must fit into registers; even: all rows have the stride of the first two.  A repeated panel is stored to the last panel's sums.
 * With codes in a tiled storage, and with blocks, all steps belong to one group of a scale.
 */
KERNEL void tile_of_rows(float *acc, int64_t acc_row, const Factors *f, int64_t steps, int fresh, int rows,
                         int panels, int even)
{
        v16 sum[12][4];
#if HAS_CODES || HAS_SCALED
        v16 scale[4];
#endif
        int64_t w_at[4], acc_at[4], odd[6];
        const char *x = (const char *)f->x, *next = f->next;
        UNROLL
        for (int i = 0; i < 6; i++)
                odd[i] = (2 * i + 1) * 4 * f->x_at[1];
        UNROLL
        for (int j = 0; j < panels; j++) {
                w_at[j] = (j < f->panels ? j : f->panels - 1) * f->w_panel;
                acc_at[j] = (j < f->panels ? j : f->panels - 1) * 16;
#if HAS_CODES
                scale[j] = is_kept_tiled(f->storage)
                                   ? kept_scales(f->storage, f->w, f->w_begin + w_at[j])
                                   : v_set1(0);
#endif
#if HAS_SCALED
                if (is_scaled(f->storage))
                        scale[j] = scales_of_block(f->w, w_at[j]);
#endif
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
                UNROLL
                for (int j = 0; j < panels; j++)
                        sum[i][j] = fresh ? v_set1(0) : v_load(acc + i * acc_row + acc_at[j]);
        }
        for (int64_t p = 0, left = steps; left != 0; p++, left--) {
                v16 w[4];
                UNROLL
                for (int j = 0; j < panels; j++) {
#if HAS_CODES
                        w[j] = is_kept(f->storage)
                                       ? load_kept_columns(f, w_at[j] + p * f->w_step, scale[j])
                                       : load_columns(f, w_at[j] + p * f->w_step);
#else
                        w[j] = load_columns(f, w_at[j] + p * f->w_step);
#endif
#if HAS_SCALED
                        if (is_scaled(f->storage))
                                w[j] = load_scaled(f->storage, f->w, w_at[j] + p * f->w_step, scale[j]);
#endif
                        v_prefetch(next + j * f->next_panel + p * f->next_step);
                }
                UNROLL
                for (int i = 0; i < rows; i++) {
                        const int64_t at = even ? strides_of(odd, i) : 4 * f->x_at[i];
                        v16 factor = v_set1(*(const float *)(const void *)(x + at));
                        UNROLL
                        for (int j = 0; j < panels; j++)
                                sum[i][j] = v_fma(factor, w[j], sum[i][j]);
                }
                x += 4 * f->x_step;
                UNKNOWN(x);
                UNKNOWN(left);
                UNROLL
                for (int i = 0; i < 6; i++)
                        if (even && i < rows / 2)
                                UNKNOWN(odd[i]);
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
                UNROLL
                for (int j = 0; j < panels; j++)
                        v_store(acc + i * acc_row + acc_at[j], sum[i][j]);
        }
}
