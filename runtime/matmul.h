/*
 * Matrix products: y = x w with packed weights and an epilogue, and the general strided contraction.
 *
 * Every output has its own lane: acc = +0, then acc = fma(x[k], w[k], acc) for k ascending.  So no split of
 * rows, panels or k changes a bit: not the number of rows in a call, and not the way in which threads share
 * the panels.
 *
 * One micro-kernel, tile_of_rows() or, for quantised weights, tile_blocks(), keeps a tile of rows x panels of
 * 16 columns in registers.  Around it are the loops of Goto and van de Geijn ("Anatomy of high-performance
 * matrix multiplication", 2008) with streamed weights: a group of panels is split along k into chunks that
 * stay in cache for all rows of a block, the sums are in scratch between chunks, and each chunk prefetches
 * the next one.  A single row uses the same loops with short chunks: it reads a few panels in parallel, at
 * memory bandwidth.
 *
 * Weights of products have one of STORAGES, activations one of STATES.  Each tile is a function, ProductTile,
 * that all products share, so that a call inlines only the epilogue.
 *
 * Needs blocks.h, and
 *
 *                                          AVX-512   AVX2   NEON   scalar  WebAssembly
 *      TILES(T, of): T(of, rows, panels) for each tile that a product uses, such as 8 x 3 or 6 x 1, and for
 *      1 x ONE_PANELS           one row      1 x 4   1 x 4  1 x 4   1 x 4   1 x 1
 *      4 x FEW_PANELS           few rows     4 x 4   4 x 1  4 x 1   4 x 1   4 x 1
 *      CODE_TILES(T, of): the same for quantised weights, with
 *      CODE_ROWS                rows             8       4      4       4       4
 *      TILE_NAME(of, rows, panels): the name of a tile's function
 *      STORAGES(S): S(TILES, storage) or S(CODE_TILES, storage) for each storage of weights
 *      STATES(S): S(storage) for each storage of keys, values and other activations
 */

/* Blocking of a product with many rows. */
typedef struct {
        int rows,
                panels; /* size of a tile: one of TILES; for quantised weights CODE_ROWS, and panels at once */
        int cut; /* maximum length of a chunk along k, so that a tile's panels of one chunk stay in cache */
        int rows_at_once; /* rows of a block, approximately: enough to hide memory, few enough to stay in cache */
} Tiling;

/* Prefetch distance in bytes of a panel, for few rows, which are bound by memory. */
#define MATMUL_AHEAD 2048

/* The same for quantised weights. */
#define CODES_AHEAD 8192

/* Floats of scratch that each thread needs for matmul(), for any k and any tile.  A tile has at most 16 rows and 2 panels, or 12
 * rows and 3, and in pairs twice the panels. */
#define MATMUL_SCRATCH(rows_at_once) (((rows_at_once) + 16) * 6 * 16)

/* Floats of scratch after these for weights of 16 bits: a chunk of a tile's panels, widened to f32. */
#define MATMUL_WIDE(cut) ((cut)*4 * 16)

#if HAS_ODD_PANELS
/* Like tile_of_rows(), but computes a single remaining panel only once. */
KERNEL void tile_rows_odd(float *acc, int64_t acc_row, const Factors *f, int64_t steps, int fresh, int rows,
                          int panels, int even)
{
        if ((panels == 2 || panels == 3) && f->panels == 1)
                tile_of_rows(acc, acc_row, f, steps, fresh, rows, 1, even);
        else
                tile_of_rows(acc, acc_row, f, steps, fresh, rows, panels, even);
}
#else
#define tile_rows_odd tile_of_rows
#endif

/* Processes the finished outputs of `group` adjacent panels of one row, from `panel` = acc[0] on: applies the
 * rest of the kernel (bias, activation, residual) and stores the result, of the last panel only existing
 * columns. */
typedef void Epilogue(const void *ctx, int64_t row, int panel, const v16 *acc);

typedef struct Matmul Matmul;

/* A chunk of k for the panels of a tile. */
typedef struct {
        int panel, panels;    /* the first panel; number of existing panels */
        int64_t first, steps; /* along k */
        float *sums;          /* [tile][its row][its panel][16] */
        const char *next;     /* address that consecutive tiles prefetch, `portion` bytes a step */
        int64_t portion;
} Chunk;

/* Computes all tiles of a chunk, in the order of the block's rows. */
typedef void ProductTile(const Matmul *m, const Chunk *c);

/* Arguments of matmul(), and its progress. */
struct Matmul {
        const float *x; /* [..][ldx] */
#if HAS_BLOCKS
        const int8_t *codes; /* [rows]: for weights in blocks, the quantised rows instead of x */
#endif
#if HAS_ACTIVE_ROWS
        const int32_t *active; /* [rows]: indices of the rows of x; NULL: the first ones */
#endif
        int64_t ldx, rows;
        const void *w; /* [panels][depth] steps */
        int storage, k, panel1;
        float *scratch; /* [tiles of a width][tile][its row][its panel][16] */

        ProductTile *tile;
        int tile_rows, tile_panels;
#if HAS_WIDE_WEIGHTS
        float *wide; /* [MATMUL_WIDE]: chunks of weights of 16 bits, widened to f32 once for all tiles; NULL: not widened */
#endif
        int width;            /* panels whose sums are finished together */
        int64_t depth, bytes; /* steps along k; bytes of a panel's weights in a step */
        int64_t chunk;        /* maximum steps of a chunk */
#if HAS_BLOCKS
        int streamed; /* weights are read in the order of memory; the first tile prefetches for all */
#endif

        int64_t block;      /* rows of a block */
        int64_t row0, row1; /* of this block */
        int64_t tiles;      /* of this block */
        int64_t last_tile;  /* last row that may begin a tile: the last tile overlaps the previous one */
};

/* Widens steps of some panels of 16 bits to f32: to [panels][steps][16]. */
KERNEL void widen_panels(float *to, int storage, const char *w, int64_t panel_bytes, int panels,
                         int64_t steps)
{
        for (int j = 0; j < panels; j++) {
                const Factors f = {.w = w + j * panel_bytes, .storage = storage};
                for (int64_t p = 0; p < steps; p++)
                        v_store(to + (j * steps + p) * 16, load_columns(&f, p * 16));
        }
}

/* The same for blocks with scales, of k steps of `panels` panels. */
KERNEL void widen_scaled(float *to, int storage, const char *w, int64_t panel_bytes, int panels,
                         int64_t steps)
{
        for (int j = 0; j < panels; j++)
                for (int64_t p = 0; p < steps; p++) {
                        const char *codes = w + j * panel_bytes + p / 128 * BLOCK_E4M3 + SCALED_HEAD;
                        v_store(to + (j * steps + p) * 16,
                                load_scaled(storage, codes, p % 128 * 16, scales_of_block(codes, 0)));
                }
}

SHARED void matmul_widen(const Matmul *m, const Chunk *c)
{
        const char *w = (const char *)m->w + (c->panel * m->depth + c->first) * m->bytes;
#if HAS_SCALED
        if (m->storage == STORAGE_E4M3)
                widen_scaled(m->wide, STORAGE_E4M3, w, m->depth * m->bytes, c->panels, c->steps * 128);
        if (m->storage == STORAGE_E5M2)
                widen_scaled(m->wide, STORAGE_E5M2, w, m->depth * m->bytes, c->panels, c->steps * 128);
#endif
#if HAS_F16
        if (m->storage == STORAGE_F16)
                widen_panels(m->wide, STORAGE_F16, w, m->depth * m->bytes, c->panels, c->steps);
#endif
#if HAS_BF16
        if (m->storage == STORAGE_BF16)
                widen_panels(m->wide, STORAGE_BF16, w, m->depth * m->bytes, c->panels, c->steps);
#endif
}

/* Whether tiles of `rows` rows read weights of 16 or 8 bits widened to f32. */
KERNEL int takes_wide(int storage, int rows)
{
        return rows > 4 && (storage == STORAGE_F16 || storage == STORAGE_BF16 || is_scaled(storage));
}

/* Steps of k in a step of the product. */
KERNEL int64_t steps_of(const Matmul *m)
{
        return m->k / m->depth;
}

/* The operands of a chunk's tiles, for weights of `storage`. */
KERNEL Factors matmul_factors(const Matmul *m, const Chunk *c, int storage, int rows)
{
        Factors f = {.x_step = 1,
                     .w = (const char *)m->w +
                          (c->panel * (int64_t)m->k + c->first) * 16 * storage_bytes(storage),
                     .w_panel = (int64_t)m->k * 16,
                     .w_step = 16,
                     .panels = c->panels,
                     .next = c->next,
                     .next_panel = m->depth * m->bytes,
                     .next_step = c->portion};
        rows_at(&f, m->ldx, rows > 4 || m->rows >= rows ? rows : (int)m->rows, rows);
#if HAS_STORAGES
        f.storage = storage;
#endif
#if HAS_WIDE_WEIGHTS
        if (rows > 4 && storage == STORAGE_F32 && m->wide) {
                f.w = m->wide;
                f.w_panel = c->steps * 16;
#if HAS_SCALED
                f.w_panel *= steps_of(m);
#endif
        }
#endif
#if HAS_SCALED
        if (is_scaled(storage)) {
                f.w = (const char *)m->w + (c->panel * m->depth + c->first) * m->bytes + SCALED_HEAD;
                f.w_panel = m->depth * m->bytes;
        }
#endif
        return f;
}

#if HAS_SCALED
/* Computes a chunk's tiles of at most four rows with blocks that have scales: block by block. */
KERNEL void matmul_tiles_of_scaled(const Matmul *m, const Chunk *c, Factors f, int rows, int panels)
{
        const int64_t portion = (c->portion + 127) / 128, each = m->bytes;
        const char *w = (const char *)f.w;
        f.next_step = portion;
        for (int64_t t = 0; t < m->tiles; t++) {
                const int64_t begin = m->row0 + t * rows, row = begin < m->last_tile ? begin : m->last_tile;
                float *acc = c->sums + t * rows * panels * 16;
#if HAS_ACTIVE_ROWS
                if (m->active)
                        active_rows_at(&f, m->active + row, m->ldx, m->rows >= rows ? rows : (int)m->rows,
                                       rows);
#endif
                for (int64_t b = 0; b < c->steps; b++) {
#if HAS_ACTIVE_ROWS
                        f.x = m->x + (m->active ? 0 : row * m->ldx) + (c->first + b) * 128;
#else
                        f.x = m->x + row * m->ldx + (c->first + b) * 128;
#endif
                        f.w = w + b * each;
                        f.next = c->next + t * c->portion + b * each;
                        tile_rows_odd(acc, panels * 16, &f, 128, c->first + b == 0, rows, panels, 0);
                }
        }
}
#endif

/* Computes a chunk's tiles with f32, f16 or bf16 weights, or widened ones. */
KERNEL void matmul_tiles_of(const Matmul *m, const Chunk *c, Factors f, int rows, int panels)
{
#if HAS_SCALED
        const int64_t first = c->first * steps_of(m), steps = c->steps * steps_of(m);
        f.next_step = c->portion / steps_of(m) + (steps_of(m) > 1);
#else
        const int64_t first = c->first, steps = c->steps;
#endif
        for (int64_t t = 0; t < m->tiles; t++) {
                const int64_t begin = m->row0 + t * rows, row = begin < m->last_tile ? begin : m->last_tile;
                float *acc = c->sums + t * rows * panels * 16;
#if HAS_ACTIVE_ROWS
                const int there = rows > 4 || m->rows >= rows ? rows : (int)m->rows;
                f.x = m->x + (m->active ? 0 : row * m->ldx) + first;
                if (m->active)
                        active_rows_at(&f, m->active + row, m->ldx, there, rows);
                if (m->active && rows > 4)
                        tile_rows_odd(acc, panels * 16, &f, steps, first == 0, rows, panels, 0);
                else
                        tile_rows_odd(acc, panels * 16, &f, steps, first == 0, rows, panels, rows > 4);
#else
                f.x = m->x + row * m->ldx + first;
                tile_rows_odd(acc, panels * 16, &f, steps, first == 0, rows, panels, rows > 4);
#endif
                f.next += c->portion * c->steps;
#if HAS_SCALED
                f.next_step = c->portion / steps_of(m) + (steps_of(m) > 1);
#elif HAS_BLOCKS
                f.next_step = m->streamed ? 0 : c->portion;
#else
                f.next_step = c->portion;
#endif
        }
}

/* Computes a chunk's tiles with weights in blocks. */
KERNEL void matmul_tiles_of_blocks(const Matmul *m, const Chunk *c, int storage, int rows, int panels)
{
        const int64_t depth = m->k / step_values(storage);
        Factors f = {.first = c->first,
                     .k = m->k,
                     .rows = rows > 4 || m->rows >= rows ? rows : (int)m->rows,
                     .w = (const char *)m->w + (c->panel * depth + c->first) * bytes_of_block(storage),
                     .w_panel = depth,
                     .w_step = 1,
                     .storage = storage,
                     .next = c->next,
                     .next_panel = m->depth * m->bytes,
                     .next_step = c->portion};
        for (int64_t t = 0; t < m->tiles; t++) {
                const int64_t begin = m->row0 + t * rows, row = begin < m->last_tile ? begin : m->last_tile;
                tile_blocks(c->sums + t * rows * panels * 16, panels * 16, &f, m->codes, row, c->steps,
                            c->first == 0, rows, c->panels);
                f.next += c->portion * c->steps;
                f.next_step = m->streamed ? 0 : c->portion;
        }
}

#if HAS_AMX
/* The same with AMX: all tiles by some blocks, then by the next ones. */
KERNEL void matmul_tiles_of_amx(const Matmul *m, const Chunk *c, int storage, int panels)
{
        const int large = step_values(storage) == 256, parts = large ? 1 : (int)step_values(storage) / 32,
                  each = large ? 1 : AMX_BLOCKS / parts;
        AmxPanel a = {.acc_row = panels * 16,
                      .codes = m->codes,
                      .row0 = m->row0,
                      .last_tile = m->last_tile,
                      .tiles = m->tiles,
                      .rows = m->rows < AMX_ROWS ? (int)m->rows : AMX_ROWS,
                      .k = m->k};
        amx_begin(a.rows, large ? 64 : 32);
        for (int j = 0; j < c->panels; j++) {
                a.acc = c->sums + 16 * j;
                for (int64_t p = 0; p < c->steps; p += each) {
                        const int64_t at = j * m->depth + p, n = c->steps - p < each ? c->steps - p : each;
                        const uint8_t *w =
                                (const uint8_t *)m->w + (c->panel * m->depth + c->first + at) * m->bytes;
                        for (int64_t line = 0; line < n * m->bytes; line += 64)
                                v_prefetch_near(c->next + at * m->bytes + line);
                        if (large)
                                amx_panel_of_256(&a, storage, w, c->first + p, c->first + p == 0);
                        else
                                amx_panel_of_32(&a, storage, w, (c->first + p) * parts, (int)n * parts,
                                                c->first + p == 0);
                }
        }
        amx_end();
}
#endif

/* Whether all f16 weights of a chunk are known to be finite. */
KERNEL int chunk_is_finite(const Matmul *m, const Chunk *c, const Factors *f)
{
        const uint16_t *w = (const uint16_t *)f->w;
        int finite = 1;
        for (int j = 0; j < c->panels && finite; j++)
                finite = v_are_finite_f16(w + j * m->depth * 16, c->steps * 16);
        return finite;
}

/* The body of every ProductTile, with literals for storage, rows and panels. */
KERNEL void matmul_tiles(const Matmul *m, const Chunk *c, int storage, int rows, int panels)
{
#if HAS_BLOCKS
#if HAS_AMX
        if (step_values(storage) > 1 && !is_scaled(storage) && rows == AMX_ROWS) {
                matmul_tiles_of_amx(m, c, storage, panels);
                return;
        }
#endif
        if (step_values(storage) > 1 && !is_scaled(storage)) {
                matmul_tiles_of_blocks(m, c, storage, rows, panels);
                return;
        }
#endif
#if HAS_WIDE_WEIGHTS
        if (takes_wide(storage, rows))
                return; /* not reached: the weights are widened */
#endif
        Factors f = matmul_factors(m, c, storage, rows);
#if HAS_SCALED
        if (is_scaled(storage)) {
                matmul_tiles_of_scaled(m, c, f, rows, panels);
                return;
        }
#endif
#if HAS_WIDE_WEIGHTS && HAS_F16
        if (storage == STORAGE_F16 && chunk_is_finite(m, c, &f)) {
                f.storage = STORAGE_FINITE_F16;
                matmul_tiles_of(m, c, f, rows, panels);
                return;
        }
#endif
        matmul_tiles_of(m, c, f, rows, panels);
}

#define DEFINE_TILE(storage, rows, panels)                                                                   \
        SHARED void TILE_NAME(storage, rows, panels)(const Matmul *m, const Chunk *c)                        \
        {                                                                                                    \
                matmul_tiles(m, c, STORAGE_##storage, rows, panels);                                         \
        }
#define DEFINE_TILES(tiles, storage) tiles(DEFINE_TILE, storage)

STORAGES(DEFINE_TILES)

#define CHOOSE_TILE(of, rows, panels)                                                                        \
        if (storage == STORAGE_##of && m->tile_rows == (rows) && m->tile_panels == (panels))                 \
                m->tile = TILE_NAME(of, rows, panels);
#define CHOOSE_TILES(tiles, storage) tiles(CHOOSE_TILE, storage)

/* The sums of the block's rows by a tile's panels from `panel` on, chunk by chunk.  Each chunk prefetches the next one, the last
 * chunk the next panels.  A single tile computes all chunks but the last at once. */
KERNEL void matmul_chunks(const Matmul *m, float *sums, int panel)
{
        Chunk c = {.panel = panel, .sums = sums, .portion = (m->bytes + m->tiles - 1) / m->tiles};
        c.panels = m->panel1 - panel < m->tile_panels ? m->panel1 - panel : m->tile_panels;
        for (; c.first < m->depth; c.first += c.steps) {
                const char *w = (const char *)m->w + (panel * m->depth + c.first) * m->bytes;
                const int64_t left = m->depth - c.first;
                const int64_t ahead = left > m->chunk ? m->chunk : m->tile_panels * m->depth - c.first;
                c.steps = left <= m->chunk ? left : m->tiles == 1 ? left - m->chunk : m->chunk;
                c.next = w + ahead * m->bytes;
#if HAS_BLOCKS
                if (m->streamed) {
                        c.next = w + CODES_AHEAD;
                        c.portion = m->bytes;
                }
#endif
#if HAS_WIDE_WEIGHTS
                if (m->wide) {
                        c.steps = left <= m->chunk ? left : m->chunk;
                        matmul_widen(m, &c);
                }
#endif
                m->tile(m, &c);
        }
}

/* Floats of the sums of a block of rows by a tile's panels. */
KERNEL int64_t matmul_area(const Matmul *m)
{
        return m->tiles * m->tile_rows * m->tile_panels * 16;
}

/* The sums of the block's rows by `width` panels from `panel` on. */
SHARED void matmul_sums(const Matmul *m, int panel)
{
        matmul_chunks(m, m->scratch, panel);
        if (m->width > m->tile_panels && panel + m->tile_panels < m->panel1)
                matmul_chunks(m, m->scratch + matmul_area(m), panel + m->tile_panels);
}

/* Whether tiles of four rows are faster than the product's own tiles: there are fewer rows than in a tile, or the overlap of the
 * last tile would add a tenth of rows. */
KERNEL int has_few_rows(const Matmul *m, int64_t own)
{
#if HAS_AMX
        if (own == AMX_ROWS) /* halves of a block of nvfp4 have scales of their own */
                return m->rows <= 4 || m->storage == STORAGE_NVFP4;
#endif
        return m->rows < own || 10 * ((m->rows + 3) / 4 * 4) <= 9 * ((m->rows + own - 1) / own * own);
}

/* With quantised weights, few rows read whole panels one by one, which on some processors is faster than several panels in
 * parallel, and prefetch further ahead. */
KERNEL void matmul_begin_blocks(Matmul *m, int few, const Tiling *tiling)
{
        const int64_t values = step_values(m->storage);
        m->depth = m->k / values;
        m->bytes = bytes_of_block(m->storage);
        m->tile_panels = few && m->rows > 1 ? 1 : m->tile_panels;
        m->streamed = few;
        m->chunk = few ? m->depth : tiling->cut / values;
}

/* Many rows use the product's own tiles; few rows read some panels in parallel, in short chunks, as they are bound by memory.
 *
 * Rows are split into equal blocks of about rows_at_once.  Up to this number there is a single block, and each weight is read
 * once. */
SHARED void matmul_begin(Matmul *m, int group, const Tiling *tiling)
{
        int own = tiling->rows, storage = m->storage;
#if HAS_BLOCKS
        own = step_values(storage) > 1 && !is_scaled(storage) ? CODE_ROWS : own;
#endif
        const int few = m->rows == 1 || has_few_rows(m, own);
        m->depth = m->k;
        m->bytes = 16 * storage_bytes(storage);
        m->tile_rows = m->rows == 1 ? 1 : few ? 4 : own;
        m->tile_panels = m->rows == 1 ? ONE_PANELS : few ? FEW_PANELS : tiling->panels;
        m->chunk = m->rows > 8 ? tiling->cut : MATMUL_AHEAD / m->bytes;
#if HAS_BLOCKS
        if (step_values(storage) > 1 && !is_scaled(storage))
                matmul_begin_blocks(m, few, tiling);
#endif
#if HAS_SCALED
        if (is_scaled(storage)) {
                m->depth = m->k / 128;
                m->bytes = BLOCK_E4M3;
                m->chunk = m->rows > 8 ? tiling->cut / 128 : 1;
        }
#endif
        m->width = m->tile_panels % group ? m->tile_panels * group : m->tile_panels;
        m->chunk = m->chunk > 0 ? m->chunk : 1;
#if HAS_WIDE_WEIGHTS
        if (takes_wide(storage, m->tile_rows)) {
                m->wide = m->scratch + MATMUL_SCRATCH(tiling->rows_at_once);
                storage = STORAGE_F32;
                m->chunk = m->chunk < tiling->cut ? m->chunk : tiling->cut;
        }
#endif
        m->block = m->tile_rows;
        if (m->rows > m->tile_rows) {
                const int64_t blocks = (m->rows + tiling->rows_at_once - 1) / tiling->rows_at_once;
                m->block *= (m->rows + blocks * m->tile_rows - 1) / (blocks * m->tile_rows);
        }
        m->row1 = 0;
        m->last_tile = m->rows > m->tile_rows ? m->rows - m->tile_rows : 0;
        STORAGES(CHOOSE_TILES)
}

/* Advances to the next block of rows.  Returns 0 if there is none. */
SHARED int matmul_next(Matmul *m)
{
        m->row0 = m->row1;
        m->row1 = m->rows - m->row0 < m->block ? m->rows : m->row0 + m->block;
        m->tiles = m->block == m->tile_rows ? 1 : (m->row1 - m->row0 + m->tile_rows - 1) / m->tile_rows;
        return m->row0 < m->rows;
}

/* Passes the sums of the block's rows, for `width` panels from `panel` on, to the epilogue. */
KERNEL void matmul_finish(const Matmul *m, const void *ctx, Epilogue *epilogue, int group, int panel)
{
        const int panels = m->tile_panels, end = m->panel1 - panel < m->width ? m->panel1 - panel : m->width;
        const int64_t row1 = m->row1, tile = m->row0 + (m->tiles - 1) * m->tile_rows; /* the last tile */
        const int64_t over = tile > m->last_tile ? (tile - m->last_tile) * panels * 16 : 0;
        const int64_t further = matmul_area(m) - panels * 16; /* offset of the second tile's sums */
        const float *sums = m->scratch;
        for (int64_t row = m->row0; row < row1; row++, sums += panels * 16) {
                sums += row == tile ? over : 0;
                for (int j = 0; j < end; j += group) {
                        v16 acc[2];
                        UNROLL
                        for (int g = 0; g < group; g++)
                                acc[g] = v_load(sums + (j + g) * 16 +
                                                (group == 1 || j + g < panels ? 0 : further));
#if HAS_ACTIVE_ROWS
                        epilogue(ctx, row_at(m->active, row), panel + j, acc);
#else
                        epilogue(ctx, row, panel + j, acc);
#endif
                }
        }
}

/* A whole product; inlined for each one. */
KERNEL void matmul_all(Matmul *m, const void *ctx, Epilogue *epilogue, int group, const Tiling *tiling,
                       int panel0)
{
        matmul_begin(m, group, tiling);
        while (matmul_next(m))
                for (int panel = panel0; panel < m->panel1; panel += m->width) {
                        matmul_sums(m, panel);
                        matmul_finish(m, ctx, epilogue, group, panel);
                }
}

/* Like matmul(), for the rows active[0 .. rows - 1] of x only; NULL: the first ones.  The epilogue gets row numbers of
 * x. */
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
                    .k = k,
                    .panel1 = panel1,
                    .scratch = scratch};
        matmul_all(&m, ctx, epilogue, group, tiling, panel0);
}

/* The same for weights in blocks; codes are the results of codes_of_rows() for the active rows. */
KERNEL void matmul_blocks(const void *ctx, Epilogue *epilogue, const void *codes,
                          const int32_t *active UNUSED, int64_t rows, int k, const void *w, int storage,
                          int group, const Tiling *tiling, int panel0, int panel1, float *scratch)
{
        Matmul m = {
                .codes = codes,
#if HAS_ACTIVE_ROWS
                .active = active,
#endif
                .rows = rows,
                .w = w,
                .storage = storage,
                .k = k,
                .panel1 = panel1,
                .scratch = scratch
        };
        matmul_all(&m, ctx, epilogue, group, tiling, panel0);
}

/*
 * y = x w.  Calls the epilogue once for every finished output.
 *
 *      x [rows][ldx], of which the first k columns; w packed [panels][k][16] in `storage`; panels panel0 to panel1.
 *
 * storage, group (1 or 2), tiling, k, ldx and epilogue are literals; panel0 and panel1 are multiples of group.  Threads share a
 * product by panels, each with its own scratch [MATMUL_SCRATCH], plus [MATMUL_WIDE] for weights of 16 bits.  Reads nothing past x
 * or its panels, but may prefetch.  Pad an ldx that is a multiple of 1024 by 16: otherwise rows map to the same cache sets.
 */
KERNEL void matmul(const void *ctx, Epilogue *epilogue, const float *x, int64_t ldx, int64_t rows, int k,
                   const void *w, int storage, int group, const Tiling *tiling, int panel0, int panel1,
                   float *scratch)
{
        Matmul m = {.x = x,
                    .ldx = ldx,
                    .rows = rows,
                    .w = w,
                    .storage = storage,
                    .k = k,
                    .panel1 = panel1,
                    .scratch = scratch};
        matmul_all(&m, ctx, epilogue, group, tiling, panel0);
}

/* Operands of product_of_rows(). */
typedef struct {
        const float *x; /* row i, step p at x[i * x_row + p] */
        int64_t x_row;
        const float *w; /* panel j, step p: 16 columns at w + j * w_panel + p * w_step */
        int64_t w_panel, w_step;
        int ahead; /* prefetch distance in steps; 0: no prefetch */
} RowsByPanels;

/* Number of the remaining rows that product_of_rows() computes at once. */
KERNEL int tile_rows_at_once(int64_t left)
{
        const int most = TILE_ROWS > 4 ? TILE_ROWS : 4;
        return left < most ? (int)left : most;
}

/* acc[i][j] = (fresh) or += the product of one tile of rows, at most tile_rows_at_once(), and any number of panels.  acc has the
 * tile's number of rows: 1, 4 or TILE_ROWS.  For two activations, without an epilogue. */
SHARED void product_of_rows(float *acc, int64_t acc_row, const RowsByPanels *by, int64_t steps, int fresh,
                            int rows, int panels)
{
        const int width = rows == 1 ? ONE_PANELS : rows <= 4 ? FEW_PANELS : TILE_PANELS;
        for (int j = 0; j < panels; j += width) {
                Factors f = {.x = by->x, .x_step = 1, .w = by->w + j * by->w_panel};
                f.w_panel = by->w_panel;
                f.w_step = by->w_step;
                f.panels = panels - j < width ? panels - j : width;
                f.next = (const char *)((const float *)f.w + by->ahead * by->w_step);
                f.next_panel = by->ahead ? 4 * by->w_panel : 0;
                f.next_step = by->ahead ? 4 * by->w_step : 0;
                rows_at(&f, by->x_row, rows, 12);
                if (rows == 1)
                        tile_of_rows(acc + 16 * j, acc_row, &f, steps, fresh, 1, ONE_PANELS, 0);
                else if (TILE_ROWS > 4 && rows > 4)
                        tile_rows_odd(acc + 16 * j, acc_row, &f, steps, fresh, TILE_ROWS, TILE_PANELS, 0);
                else
                        tile_of_rows(acc + 16 * j, acc_row, &f, steps, fresh, 4, FEW_PANELS, 0);
        }
}
