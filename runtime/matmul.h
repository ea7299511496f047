/*
 * Matrix products: y = x w with packed weights and an epilogue, and the general strided contraction.
 *
 * Every output has a lane of its own: acc = +0, then acc = fma(x[k], w[k], acc) for k ascending.  So no cut
 * of rows, panels or k changes a bit: rows come one at a time or two hundred, threads share the panels as
 * they like.
 *
 * One micro-kernel, tile_product(), holds a tile of rows x panels of 16 columns in registers.  Around it the
 * loops of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008) with the weights
 * streamed: a group of panels is cut along k into chunks that stay in cache while all rows of a block pass
 * by, the sums wait in scratch between chunks, and each chunk asks for the next one's cache lines while it
 * computes.  A single row is the same nest with a short chunk: it reads a few panels side by side at the
 * speed of memory.
 *
 * Needs guard.h, a v16 header, and the shape of a tile that fills the target's registers:
 *
 *                                          AVX-512   AVX2   NEON   scalar
 *      TILE_ROWS x TILE_PANELS  many rows   12 x 2   6 x 1  5 x 1   4 x 1
 *      4 x FEW_PANELS           few rows     4 x 4   4 x 1  4 x 1   4 x 1
 */

/* The loop that follows is unrolled whole, so that arrays of vectors indexed by it become registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && !defined(__TINYC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* Rows that pass by one chunk of weights: enough that memory keeps up, few enough to stay in cache. */
#define MATMUL_ROWS 192

/* Bytes of a panel between asking for weights and using them, where few rows leave memory to wait for. */
#define MATMUL_AHEAD 2048

/* Floats of scratch that matmul() needs, for any k; each thread its own. */
#define MATMUL_SCRATCH ((MATMUL_ROWS + TILE_ROWS) * 2 * 16)

/* How 16 neighbouring columns lie in memory. */
#define STORAGE_F32 0

#define STORAGE_F16 1

#define STORAGE_BF16 2

/* `lanes` columns that are lane_step apart, f32 or f16: for activations that were never packed */
#define STORAGE_STRIDED 3

#define STORAGE_STRIDED_F16 4

/* What a tile multiplies: x [rows][steps] by w [panels][steps][16]. */
typedef struct {
        const float *x; /* row i, step p at x[i * x_row + p * x_step], or active[i] in place of i */
        const int32_t *active;
        int64_t x_row, x_step;
        int rows;      /* rows that there are; those of the tile beyond repeat the last */
        const void *w; /* panel j, step p: 16 columns from element j * w_panel + p * w_step on */
        int64_t w_panel, w_step;
        int panels; /* likewise */
        int storage;
        int64_t lane_step; /* of those that are strided */
        int lanes;
        const char *next; /* step p asks for the lines at next + j * next_panel + p * next_step bytes */
        int64_t next_panel, next_step;
} Factors;

KERNEL int storage_bytes(int storage)
{
        return storage == STORAGE_F16 || storage == STORAGE_BF16 ? 2 : 4;
}

KERNEL v16 load_columns(const Factors *f, int64_t at)
{
        if (f->storage == STORAGE_F16)
                return v_load_f16((const uint16_t *)f->w + at);
        if (f->storage == STORAGE_BF16)
                return v_load_bf16((const uint16_t *)f->w + at);
        if (f->storage == STORAGE_STRIDED_F16)
                return v_load_f16_strided((const uint16_t *)f->w + at, (ptrdiff_t)f->lane_step, f->lanes);
        if (f->storage == STORAGE_STRIDED)
                return v_load_strided((const float *)f->w + at, (ptrdiff_t)f->lane_step, f->lanes);
        return v_load((const float *)f->w + at);
}

/* Which row of x is row i. */
KERNEL int64_t row_at(const int32_t *active, int64_t i)
{
        return active ? active[i] : i;
}

/*
 * acc[i][j] (= or +=) sum over p < steps of x[i][p] w[j][p], for rows x panels vectors; row i, panel j stands
 * at acc + i * acc_row + 16 * j.  `fresh` starts from +0, else from acc.  rows and panels are literals that
 * fit the registers; a panel repeated because there are fewer repeats in acc too.
 */
KERNEL void tile_product(float *acc, int64_t acc_row, const Factors *f, int64_t steps, int fresh, int rows,
                         int panels)
{
        v16 sum[12][4];
        int64_t x_at[12], w_at[4], acc_at[4];
        UNROLL
        for (int i = 0; i < rows; i++)
                x_at[i] = row_at(f->active, i < f->rows ? i : f->rows - 1) * f->x_row;
        UNROLL
        for (int j = 0; j < panels; j++) {
                w_at[j] = (j < f->panels ? j : f->panels - 1) * f->w_panel;
                acc_at[j] = (j < f->panels ? j : f->panels - 1) * 16;
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
                UNROLL
                for (int j = 0; j < panels; j++)
                        sum[i][j] = fresh ? v_set1(0) : v_load(acc + i * acc_row + acc_at[j]);
        }
        for (int64_t p = 0; p < steps; p++) {
                v16 w[4];
                UNROLL
                for (int j = 0; j < panels; j++) {
                        w[j] = load_columns(f, w_at[j] + p * f->w_step);
                        v_prefetch(f->next + j * f->next_panel + p * f->next_step);
                }
                UNROLL
                for (int i = 0; i < rows; i++) {
                        v16 x = v_set1(f->x[x_at[i] + p * f->x_step]);
                        UNROLL
                        for (int j = 0; j < panels; j++)
                                sum[i][j] = v_fma(x, w[j], sum[i][j]);
                }
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
                UNROLL
                for (int j = 0; j < panels; j++)
                        v_store(acc + i * acc_row + acc_at[j], sum[i][j]);
        }
}

/* The same, where the last of an odd number of panels is not computed twice. */
KERNEL void tile_product_odd(float *acc, int64_t acc_row, const Factors *f, int64_t steps, int fresh,
                             int rows, int panels)
{
        if (panels == 2 && f->panels == 1)
                tile_product(acc, acc_row, f, steps, fresh, rows, 1);
        else
                tile_product(acc, acc_row, f, steps, fresh, rows, panels);
}

/* Takes the finished outputs of `group` neighbouring panels of one row, acc[0] being those of `panel`; does
 * all that remains (bias, activation, residual) and stores, the last panel's columns only as far as there are
 * any. */
typedef void Epilogue(const void *ctx, int64_t row, int panel, const v16 *acc);

/* What matmul() was asked for, handed down. */
typedef struct {
        const float *x;       /* [..][ldx] */
        const int32_t *active; /* [rows], those to be taken; NULL: the first ones */
        int64_t ldx, rows;
        const void *w; /* [panels][k][16] */
        int storage, group, k, panel1;
        float *scratch; /* [tile][tile's row][panel of the group][16] */
} Matmul;

/* Rows row0 to row1 by the `panels` panels from `panel` on, whose neighbours begin every `width` vectors of
 * scratch: chunk after chunk along k, tile after tile down the rows.  The last tile begins early where rows
 * run out. */
KERNEL void matmul_panels(const Matmul *m, int64_t row0, int64_t row1, int panel, int slot, int width,
                          int chunk, int tile_rows, int panels)
{
        int64_t bytes = storage_bytes(m->storage), panel_size = (int64_t)m->k * 16;
        int64_t tiles = (row1 - row0 + tile_rows - 1) / tile_rows;
        int present = m->panel1 - panel < panels ? m->panel1 - panel : panels;
        const char *w = (const char *)m->w + panel * panel_size * bytes;
        for (int k0 = 0; k0 < m->k; k0 += chunk) {
                int steps = m->k - k0 < chunk ? m->k - k0 : chunk;
                int64_t ahead = k0 + chunk < m->k ? (int64_t)(k0 + chunk) * 16 : panels * panel_size;
                for (int64_t t = 0; t < tiles; t++) {
                        int64_t row = row0 + t * tile_rows, last = m->rows - tile_rows;
                        int64_t start = row < last ? row : last > 0 ? last : 0;
                        int64_t share = (16 * bytes + tiles - 1) / tiles;
                        Factors f = {.x = m->x + (m->active ? 0 : start * m->ldx) + k0,
                                     .active = m->active ? m->active + start : NULL,
                                     .x_row = m->ldx,
                                     .x_step = 1,
                                     .rows = tile_rows > 4 || m->rows >= tile_rows ? tile_rows : (int)m->rows,
                                     .w = w + (int64_t)k0 * 16 * bytes,
                                     .w_panel = panel_size,
                                     .w_step = 16,
                                     .panels = present,
                                     .storage = m->storage,
                                     .next = w + ahead * bytes + t * share * steps,
                                     .next_panel = panel_size * bytes,
                                     .next_step = share};
                        float *acc = m->scratch + (t * tile_rows * width + slot) * 16;
                        tile_product_odd(acc, width * 16, &f, steps, k0 == 0, tile_rows, panels);
                }
        }
}

/* Hands over the sums of rows row0 to row1 of the panels from `panel` on, `width` of them or as many as there
 * are. */
KERNEL void matmul_finish(const Matmul *m, const void *ctx, Epilogue *epilogue, int64_t row0, int64_t row1,
                          int panel, int width, int tile_rows)
{
        int group = m->group;
        int end = m->panel1 - panel < width ? m->panel1 - panel : width;
        for (int64_t row = row0; row < row1; row++) {
                int64_t tile = (row - row0) / tile_rows, start = row0 + tile * tile_rows;
                int64_t last = m->rows - tile_rows > 0 ? m->rows - tile_rows : 0;
                int64_t at = tile * tile_rows + row - (start < last ? start : last);
                for (int j = 0; j < end; j += group) {
                        v16 acc[2];
                        UNROLL
                        for (int g = 0; g < group; g++)
                                acc[g] = v_load(m->scratch + (at * width + j + g) * 16);
                        epilogue(ctx, row_at(m->active, row), panel + j, acc);
                }
        }
}

/* All panels from panel0 on for the rows in even blocks of at most about MATMUL_ROWS. */
KERNEL void matmul_rows(const Matmul *m, const void *ctx, Epilogue *epilogue, int panel0, int chunk,
                        int tile_rows, int panels)
{
        int width = panels > m->group ? panels : m->group;
        int64_t blocks = (m->rows + MATMUL_ROWS - 1) / MATMUL_ROWS;
        int64_t tiles = (m->rows + blocks * tile_rows - 1) / (blocks * tile_rows);
        int64_t block = tiles * tile_rows;
        for (int64_t row0 = 0; row0 < m->rows; row0 += block) {
                int64_t row1 = m->rows - row0 < block ? m->rows : row0 + block;
                for (int panel = panel0; panel < m->panel1; panel += width) {
                        for (int j = 0; j < width && panel + j < m->panel1; j += panels)
                                matmul_panels(m, row0, row1, panel + j, j, width, chunk, tile_rows, panels);
                        matmul_finish(m, ctx, epilogue, row0, row1, panel, width, tile_rows);
                }
        }
}

/* As matmul(), of the rows active[0 .. rows - 1] of x alone; the epilogue is given x's own row numbers.  active NULL: the
 * first ones. */
KERNEL void matmul_active(const void *ctx, Epilogue *epilogue, const float *x, int64_t ldx,
                         const int32_t *active, int64_t rows, int k, const void *w, int storage, int group,
                         int cut, int panel0, int panel1, float *scratch)
{
        Matmul m = {.x = x,
                    .active = active,
                    .ldx = ldx,
                    .rows = rows,
                    .w = w,
                    .storage = storage,
                    .group = group,
                    .k = k,
                    .panel1 = panel1,
                    .scratch = scratch};
        int few = MATMUL_AHEAD / (16 * storage_bytes(storage)); /* chunks asked for one ahead */
        if (rows >= TILE_ROWS)
                matmul_rows(&m, ctx, epilogue, panel0, cut, TILE_ROWS, TILE_PANELS);
        else if (rows > 1)
                matmul_rows(&m, ctx, epilogue, panel0, few, 4, FEW_PANELS);
        else if (rows == 1)
                matmul_rows(&m, ctx, epilogue, panel0, few, 1, 4);
}

/*
 * y = x w, every finished output handed to the epilogue once:
 *
 *      x [rows][ldx], its first k columns; w packed [panels][k][16] in `storage`; panels panel0 to panel1.
 *
 * storage, group (1 or 2), cut, k, ldx and epilogue are literals.  panel0 and panel1 are multiples of group.  With
 * many rows k is taken in pieces of `cut`, that a tile's panels of one piece stay in cache.
 * Threads share a product by panels, each with its own scratch [MATMUL_SCRATCH].  Never reads past x or past
 * its panels, though it may ask for cache lines behind them.  An ldx that is a multiple
 * of 1024 makes rows fall into the same cache sets: pad it by 16.
 */
KERNEL void matmul(const void *ctx, Epilogue *epilogue, const float *x, int64_t ldx, int64_t rows, int k,
                   const void *w, int storage, int group, int cut, int panel0, int panel1, float *scratch)
{
        matmul_active(ctx, epilogue, x, ldx, NULL, rows, k, w, storage, group, cut, panel0, panel1, scratch);
}

/*
 * y[i][j] = sum over p < k of a[i * ai + p * ak] * b[p * bk + j * bj], for rows row0 <= i < row1 and all
 * columns j < n; y [..][y_row]; b in f32 or f16, by `storage`.  For activations that nothing fused; the same chains as
 * matmul().
 */
KERNEL void matmul_activations(float *y, int64_t y_row, const float *a, int64_t ai, int64_t ak, const void *b,
                               int storage, int64_t bk, int64_t bj, int64_t row0, int64_t row1, int n, int k)
{
        float acc[4 * 16];
        for (int64_t i = row0; i < row1; i += 4)
                for (int j = 0; j < n; j += 16) {
                        int rows = row1 - i < 4 ? (int)(row1 - i) : 4, lanes = n - j < 16 ? n - j : 16;
                        Factors f = {.x = a + i * ai, .x_row = ai, .x_step = ak, .rows = rows};
                        f.w = (const char *)b + j * bj * storage_bytes(storage);
                        f.w_step = bk;
                        f.panels = 1;
                        f.lane_step = bj;
                        f.lanes = lanes;
                        f.next = (const char *)f.w;
                        f.storage = bj == 1 && lanes == 16   ? storage
                                    : storage == STORAGE_F16 ? STORAGE_STRIDED_F16
                                                             : STORAGE_STRIDED;
                        tile_product(acc, 16, &f, k, 1, 4, 1);
                        for (int r = 0; r < rows; r++)
                                v_store_n(y + (i + r) * y_row + j, v_load(acc + 16 * r), lanes);
                }
}

/*
 * One row of matmul_activations() that passes over the terms with a = 0 (zeros 1), b = 0 (2), or either (3), whatever the
 * other factor is: a mask makes them 0.
 */
KERNEL void matmul_past_zeros(float *y, const float *a, int64_t ak, const void *b, int storage, int64_t bk,
                              int64_t bj, int n, int k, int zeros)
{
        Factors f = {.w = b, .lane_step = bj};
        f.storage = storage == STORAGE_F16 ? STORAGE_STRIDED_F16 : STORAGE_STRIDED;
        for (int j = 0; j < n; j += 16) {
                v16 sum = v_set1(0);
                f.lanes = n - j < 16 ? n - j : 16;
                for (int p = 0; p < k; p++) {
                        float x = a[p * ak];
                        if ((zeros & 1) && x == 0)
                                continue;
                        v16 w = load_columns(&f, p * bk + j * bj);
                        v16 more = v_fma(v_set1(x), w, sum);
                        sum = zeros & 2 ? v_where(v_eq(w, v_set1(0)), sum, more) : more;
                }
                v_store_n(y + j, sum, f.lanes);
        }
}
