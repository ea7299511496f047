/*
 * Matrix products: y = x w with packed weights and an epilogue, and the general strided contraction.
 *
 * Every output has a lane of its own: acc = +0, then acc = fma(x[k], w[k], acc) for k ascending.  So no cut
 * of rows, panels or k changes a bit: rows come one at a time or two hundred, threads share the panels as
 * they like.
 *
 * One micro-kernel, tile_product() or, with weights of few bits, tile_blocks(), holds a tile of rows x panels of 16 columns in registers.  Around it the
 * loops of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008) with the weights
 * streamed: a group of panels is cut along k into chunks that stay in cache while all rows of a block pass
 * by, the sums wait in scratch between chunks, and each chunk asks for the next one's cache lines while it
 * computes.  A single row is the same nest with a short chunk: it reads a few panels side by side at the
 * speed of memory.
 *
 * Needs blocks.h, and shapes of tiles that fill the target's registers:
 *
 *                                          AVX-512   AVX2   NEON   scalar
 *      TILES(T): T(rows, panels) for each tile that a product asks for, as 8 x 3 or 6 x 1
 *      4 x FEW_PANELS           few rows     4 x 4   4 x 1  4 x 1   4 x 1
 *      CODE_ROWS                of codes         8       4      4       4
 */

/* How a product with many rows is blocked. */
typedef struct {
        int rows,
                panels; /* of a tile: one of TILES; of codes CODE_ROWS, and the panels that pass by together */
        int cut;        /* k is taken in pieces of so many, that a tile's panels of one piece stay in cache */
        int rows_at_once; /* about as many rows pass by one piece: enough that memory keeps up, few enough to stay in cache */
} Tiling;

/* Bytes of a panel between asking for weights and using them, where few rows leave memory to wait for: of numbers, and of codes. */
#define MATMUL_AHEAD 2048
#define CODES_AHEAD 8192

/* Floats of scratch that matmul() needs for any k and any tile: of 12 rows at most, and of 3 panels, which in pairs are 6; each thread
 * its own. */
#define MATMUL_SCRATCH(rows_at_once) (((rows_at_once) + 12) * 6 * 16)

/* With weights of 16 bits, behind these: a piece of as many panels as a tile may have, in f32. */
#define MATMUL_WIDE(cut) ((cut)*4 * 16)

/* The same, where a panel that is left alone is not computed twice. */
KERNEL void tile_product_odd(float *acc, int64_t acc_row, const Factors *f, int64_t steps, int fresh,
                             int rows, int panels)
{
        if ((panels == 2 || panels == 3) && f->panels == 1)
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
        const float *x;        /* [..][ldx] */
        const int8_t *codes;   /* or, for blocks: [rows] */
        const int32_t *active; /* [rows], those to be taken; NULL: the first ones */
        int64_t ldx, rows;
        const void *w; /* [panels][k][16], or [panels][k / a block's steps] */
        int storage, group, k, panel1;
        const Tiling *tiling;
        float *scratch; /* [tile][tile's row][panel of the group][16] */
        float *wide;    /* [MATMUL_WIDE], of weights of 16 bits */
        int streamed;   /* weights are read in the order in which they lie */
} Matmul;

/* Steps of some panels of 16 bits in f32: to [panels][steps][16]. */
KERNEL void widen_panels(float *to, int storage, const char *w, int64_t panel_bytes, int panels,
                         int64_t steps)
{
        for (int j = 0; j < panels; j++) {
                const Factors f = {.w = w + j * panel_bytes, .storage = storage};
                for (int64_t p = 0; p < steps; p++)
                        v_store(to + (j * steps + p) * 16, load_columns(&f, p * 16, v_set1(0)));
        }
}

/* Rows row0 to row1 by the `panels` panels from `panel` on, whose neighbours begin every `width` vectors of
 * scratch: chunk after chunk along k, tile after tile down the rows.  The last tile begins early where rows
 * run out.  `widen`: weights of 16 bits become f32 once for all tiles. */
KERNEL void matmul_panels(const Matmul *m, int64_t row0, int64_t row1, int panel, int slot, int width,
                          int64_t chunk, int tile_rows, int panels, int widen)
{
        int64_t bytes = step_bytes(m->storage), values = step_values(m->storage), depth = m->k / values;
        int64_t tiles = (row1 - row0 + tile_rows - 1) / tile_rows;
        int present = m->panel1 - panel < panels ? m->panel1 - panel : panels;
        const char *w = (const char *)m->w + panel * depth * bytes;
        for (int64_t first = 0; first < depth; first += chunk) {
                int64_t steps = depth - first < chunk ? depth - first : chunk;
                int64_t ahead = m->streamed
                                        ? CODES_AHEAD
                                        : (first + chunk < depth ? chunk : panels * depth - first) * bytes;
                if (widen)
                        widen_panels(m->wide, m->storage, w + first * bytes, depth * bytes, present, steps);
                for (int64_t t = 0; t < tiles; t++) {
                        int64_t row = row0 + t * tile_rows, last = m->rows - tile_rows;
                        int64_t start = row < last ? row : last > 0 ? last : 0;
                        int64_t share = !m->streamed ? (bytes + tiles - 1) / tiles : t == 0 ? bytes : 0;
                        Factors f = {.x_row = m->ldx,
                                     .x_step = 1,
                                     .first = first,
                                     .k = m->k,
                                     .rows = tile_rows > 4 || m->rows >= tile_rows ? tile_rows : (int)m->rows,
                                     .w = w + first * bytes,
                                     .w_panel = values > 1 ? depth : depth * 16,
                                     .w_step = values > 1 ? 1 : 16,
                                     .panels = present,
                                     .storage = widen ? STORAGE_F32 : m->storage,
                                     .next = w + first * bytes + ahead + t * share * steps,
                                     .next_panel = depth * bytes,
                                     .next_step = share};
                        if (widen) {
                                f.w = m->wide;
                                f.w_panel = steps * 16;
                        }
                        if (values > 1) {
                                f.codes = m->codes + start * CODES_BYTES(m->k);
                        } else {
                                f.x = m->x + (m->active ? 0 : start * m->ldx) + first;
                                f.active = m->active ? m->active + start : NULL;
                        }
                        float *acc = m->scratch + (t * tile_rows * width + slot) * 16;
                        if (values > 1)
                                tile_blocks(acc, width * 16, &f, steps, first == 0, tile_rows, present);
                        else
                                tile_product_odd(acc, width * 16, &f, steps, first == 0, tile_rows, panels);
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

/* All panels from panel0 on for the rows in even blocks of about Tiling.rows_at_once.  With as many rows or fewer that is a single block: each
 * weight is read once. */
KERNEL void matmul_rows(const Matmul *m, const void *ctx, Epilogue *epilogue, int panel0, int64_t chunk,
                        int tile_rows, int panels, int widen)
{
        int width = panels % m->group ? panels * m->group : panels;
        int64_t blocks = (m->rows + m->tiling->rows_at_once - 1) / m->tiling->rows_at_once;
        int64_t tiles = (m->rows + blocks * tile_rows - 1) / (blocks * tile_rows);
        int64_t block = tiles * tile_rows;
        for (int64_t row0 = 0; row0 < m->rows; row0 += block) {
                int64_t row1 = m->rows - row0 < block ? m->rows : row0 + block;
                for (int panel = panel0; panel < m->panel1; panel += width) {
                        for (int j = 0; j < width && panel + j < m->panel1; j += panels)
                                matmul_panels(m, row0, row1, panel + j, j, width, chunk, tile_rows, panels,
                                              widen);
                        matmul_finish(m, ctx, epilogue, row0, row1, panel, width, tile_rows);
                }
        }
}

/* Whether tiles of four rows serve better than the product's own: there is none of those, or the last one would overlap so far that a tenth
 * more rows are computed. */
KERNEL int has_few_rows(const Matmul *m)
{
        const int64_t own = m->tiling->rows;
        return m->rows < own || 10 * ((m->rows + 3) / 4 * 4) <= 9 * ((m->rows + own - 1) / own * own);
}

/* A branch of matmul_all() for one of TILES. */
#define OF_TILE(tile_rows, tile_panels)                                                                      \
        else if (m->rows > 1 && t->rows == (tile_rows) && t->panels == (tile_panels)) matmul_rows(           \
                m, ctx, epilogue, panel0, t->cut, tile_rows, tile_panels, storage_bytes(m->storage) == 2);

/* With many rows in the product's tiles; with few, or one, a few panels side by side.  Few rows leave memory to wait for: chunks of weights
 * are short then, and asked for one ahead. */
KERNEL void matmul_all(const Matmul *m, const void *ctx, Epilogue *epilogue, int panel0)
{
        const Tiling *t = m->tiling;
        const int64_t ahead = MATMUL_AHEAD / step_bytes(m->storage);
        if (m->rows == 1)
                matmul_rows(m, ctx, epilogue, panel0, ahead, 1, 4, 0);
        else if (m->rows > 1 && has_few_rows(m))
                matmul_rows(m, ctx, epilogue, panel0, m->rows > 8 ? t->cut : ahead, 4, FEW_PANELS, 0);
        TILES(OF_TILE)
}

/* The same of codes.  With few rows panels are read one after the other from end to end, and asked for further ahead: several panels side
 * by side kept some processors from reading ahead by themselves. */
KERNEL void matmul_codes(Matmul *m, const void *ctx, Epilogue *epilogue, int panel0)
{
        const Tiling *t = m->tiling;
        const int64_t values = step_values(m->storage), chunk = t->cut / values, depth = m->k / values;
        m->streamed = has_few_rows(m);
        if (!m->streamed)
                matmul_rows(m, ctx, epilogue, panel0, chunk > 0 ? chunk : 1, CODE_ROWS, t->panels, 0);
        else if (m->rows > 1)
                matmul_rows(m, ctx, epilogue, panel0, depth, 4, 1, 0);
        else if (m->rows == 1)
                matmul_rows(m, ctx, epilogue, panel0, depth, 1, 1, 0);
}

/* As matmul(), of the rows active[0 .. rows - 1] of x alone; the epilogue is given x's own row numbers.  active NULL: the
 * first ones. */
KERNEL void matmul_active(const void *ctx, Epilogue *epilogue, const float *x, int64_t ldx,
                          const int32_t *active, int64_t rows, int k, const void *w, int storage, int group,
                          const Tiling *tiling, int panel0, int panel1, float *scratch)
{
        Matmul m = {.x = x,
                    .active = active,
                    .ldx = ldx,
                    .rows = rows,
                    .w = w,
                    .storage = storage,
                    .group = group,
                    .tiling = tiling,
                    .k = k,
                    .panel1 = panel1,
                    .scratch = scratch,
                    .wide = scratch + MATMUL_SCRATCH(tiling->rows_at_once)};
        matmul_all(&m, ctx, epilogue, panel0);
}

/* The same with weights in blocks and rows as codes_of_rows() gave them, which are the active ones alone. */
KERNEL void matmul_blocks(const void *ctx, Epilogue *epilogue, const void *codes, const int32_t *active,
                          int64_t rows, int k, const void *w, int storage, int group, const Tiling *tiling,
                          int panel0, int panel1, float *scratch)
{
        Matmul m = {.codes = codes,
                    .active = active,
                    .rows = rows,
                    .w = w,
                    .storage = storage,
                    .group = group,
                    .tiling = tiling,
                    .k = k,
                    .panel1 = panel1,
                    .scratch = scratch};
        matmul_codes(&m, ctx, epilogue, panel0);
}

/*
 * y = x w, every finished output handed to the epilogue once:
 *
 *      x [rows][ldx], its first k columns; w packed [panels][k][16] in `storage`; panels panel0 to panel1.
 *
 * storage, group (1 or 2), tiling, k, ldx and epilogue are literals.  panel0 and panel1 are multiples of group.
 * Threads share a product by panels, each with its own scratch [MATMUL_SCRATCH], with weights of 16 bits [MATMUL_WIDE] more.  Never reads past x or past
 * its panels, though it may ask for cache lines behind them.  An ldx that is a multiple
 * of 1024 makes rows fall into the same cache sets: pad it by 16.
 */
KERNEL void matmul(const void *ctx, Epilogue *epilogue, const float *x, int64_t ldx, int64_t rows, int k,
                   const void *w, int storage, int group, const Tiling *tiling, int panel0, int panel1,
                   float *scratch)
{
        matmul_active(ctx, epilogue, x, ldx, NULL, rows, k, w, storage, group, tiling, panel0, panel1,
                      scratch);
}

/* The same where neighbours do not lie side by side. */
KERNEL int strided(int storage)
{
        return is_kept(storage) ? storage : storage == STORAGE_F16 ? STORAGE_STRIDED_F16 : STORAGE_STRIDED;
}

/*
 * y[i][j] = sum over p < k of a[i * ai + p * ak] * b[p * bk + j * bj], for rows row0 <= i < row1 and all
 * columns j < n; y [..][y_row]; b in f32, f16 or codes with scales, by `storage`, from its element b_at on.  For activations that nothing
 * fused; the same chains as matmul().
 */
KERNEL void matmul_activations(float *y, int64_t y_row, const float *a, int64_t ai, int64_t ak, const void *b,
                               int64_t b_at, int storage, int64_t bk, int64_t bj, int64_t row0, int64_t row1,
                               int n, int k)
{
        float acc[4 * 16];
        for (int64_t i = row0; i < row1; i += 4)
                for (int j = 0; j < n; j += 16) {
                        int rows = row1 - i < 4 ? (int)(row1 - i) : 4, lanes = n - j < 16 ? n - j : 16;
                        Factors f = {.x = a + i * ai, .x_row = ai, .x_step = ak, .rows = rows};
                        f.w = b;
                        f.storage = storage;
                        factors_skip(&f, b_at + j * bj);
                        f.w_step = bk;
                        f.panels = 1;
                        f.lane_step = bj;
                        f.lanes = lanes;
                        f.next = (const char *)f.w;
                        if (bj != 1 || lanes != 16)
                                f.storage = strided(storage);
                        tile_product(acc, 16, &f, k, 1, 4, 1);
                        for (int r = 0; r < rows; r++)
                                v_store_n(y + (i + r) * y_row + j, v_load(acc + 16 * r), lanes);
                }
}

/*
 * One row of matmul_activations() that passes over the terms with a = 0 (zeros 1), b = 0 (2), or either (3), whatever the
 * other factor is: a mask makes them 0.
 */
KERNEL void matmul_past_zeros(float *y, const float *a, int64_t ak, const void *b, int64_t b_at, int storage,
                              int64_t bk, int64_t bj, int n, int k, int zeros)
{
        Factors f = {.w = b, .lane_step = bj, .storage = storage};
        factors_skip(&f, b_at);
        f.storage = strided(storage);
        for (int j = 0; j < n; j += 16) {
                v16 sum = v_set1(0);
                f.lanes = n - j < 16 ? n - j : 16;
                for (int p = 0; p < k; p++) {
                        float x = a[p * ak];
                        if ((zeros & 1) && x == 0)
                                continue;
                        v16 w = load_columns(&f, p * bk + j * bj, v_set1(0));
                        v16 more = v_fma(v_set1(x), w, sum);
                        sum = zeros & 2 ? v_where(v_eq(w, v_set1(0)), sum, more) : more;
                }
                v_store_n(y + j, sum, f.lanes);
        }
}
