/*
 * Causal sums and maxima over all previous positions.  Sums: y_i = sum over j <= i of c^(i - j) (q_i . k_j) v_j, from a state of
 * constant size.  Chunkwise as in Sun et al. (2023), on fixed blocks of 64 absolute positions, with every bit defined.  For row i of
 * the block that begins at b, with r = i - b, and M [depth][width] the sum before the block (scan_state.h):
 *
 *      s_j  = fma chain over d ascending, from +0, of q_i[d] k_j[d],           for j from b to i
 *      p_j  = s_j c^(i - j)
 *      y[e] = fma chain from +0: of (q_i[d] c^r) M[d][e] over d ascending, if b > 0, then of p_j v_j[e] over j ascending
 *
 *      M'[d][e] = fma chain from M[d][e] c^64 (from +0 if b = 0), of (k_j[d] c^(64 - (j - b))) v_j[e] over j ascending
 *
 * The powers c^n are passed as floats; without them there is no decay.  Without q and k a row is computed from the previous row,
 *
 *      y_i[e] = fma(y_{i-1}[e], c, v_i[e]), from +0; or y_{i-1}[e] + v_i[e]
 *
 * and M is y of the row before the block.  Maxima are the same with y_i[e] = max(y_{i-1}[e], v_i[e]), from -inf.  No bit depends on
 * the rows of a call.
 *
 * Needs guard.h, a v16 header, math.h, tile.h, matmul.h and scan_state.h.
 */

/* A unit of work: some columns of a head, block after block. */
typedef struct {
        int depth, width; /* width: in whole vectors, in memory */
        int columns, first; /* number of columns, from column `first` of the head on */
        int64_t at;       /* first position of the block */
        float *sum, *keys, *values;
        float *q, *p, *acc; /* scratch of a tile: [12][depth], [12][SCAN_BLOCK], [12][width] */
        float *down;        /* c^64, c^63, .. c^0, then zeros: [80] */
        float *scaled;      /* keys times powers: [4][depth][16] */
} ScanUnit;

/* Adds the full block to the sum, which becomes that before the next one. */
SHARED void scan_absorb(const Scan *s, const ScanUnit *u, float *next)
{
        const int panels = u->width / 16;
        const float *keys = s->powers ? u->scaled : u->keys;
        for (int j = 0; s->powers && j < SCAN_BLOCK; j += 16)
                for (int d = 0; d < u->depth; d++) {
                        const int at = (j / 16 * u->depth + d) * 16;
                        v_store(u->scaled + at, v_mul(v_load(u->keys + at), v_load(u->down + j)));
                }
        for (int i = 0; i < 12 * u->width; i += 16) /* missing rows of the tile */
                v_store(u->acc + i, v_set1(0));
        for (int d = 0, rows; d < u->depth; d += rows) {
                float *sum = u->sum + d * u->width;
                rows = tile_rows_at_once(u->depth - d);
                for (int i = 0; i < rows * u->width; i += 16)
                        v_store(u->acc + i, s->powers ? v_mul(v_load(sum + i), v_set1(u->down[0])) : v_load(sum + i));
                for (int j = 0; j < SCAN_BLOCK; j += 16)
                        product_of_rows(u->acc, u->width,
                                        &(RowsByPanels){keys + (j / 16 * u->depth + d) * 16, 16, u->values + j * u->width, 16, u->width, 0},
                                        16, u->at == 0 && j == 0, rows, panels);
                for (int i = 0; i < rows * u->width; i += 16)
                        v_store(next + d * u->width + i, v_load(u->acc + i));
        }
}

/* `rows` rows of the tile that begins with row r of the block; row `from` of the call. */
SHARED void scan_tile(const Scan *s, const ScanUnit *u, int r, int rows, int64_t from)
{
        const int panels = u->width / 16, keys = (r + rows - 1) / 16 + 1;
        for (int i = 0; i < rows; i++)
                memcpy(u->q + i * u->depth, s->q + (from + i) * s->q_row, sizeof *u->q * (size_t)u->depth);
        product_of_rows(u->p, SCAN_BLOCK, &(RowsByPanels){u->q, u->depth, u->keys, (int64_t)u->depth * 16, 16, 0}, u->depth, 1, rows, keys);
        for (int i = 0; s->powers && i < rows; i++) {
                for (int j = 0; j <= r + i; j += 16)
                        v_store(u->p + i * SCAN_BLOCK + j,
                                v_mul(v_load(u->p + i * SCAN_BLOCK + j), v_load(u->down + SCAN_BLOCK - r - i + j)));
                for (int d = 0; d < u->depth; d++)
                        u->q[i * u->depth + d] *= s->powers[r + i];
        }
        if (u->at > 0)
                product_of_rows(u->acc, u->width, &(RowsByPanels){u->q, u->depth, u->sum, 16, u->width, 0}, u->depth, 1, rows, panels);
        product_of_rows(u->acc, u->width, &(RowsByPanels){u->p, SCAN_BLOCK, u->values, 16, u->width, 0}, r + 1, u->at == 0, rows, panels);
        for (int i = 1; i < rows; i++)
                product_of_rows(u->acc + i * u->width, u->width,
                                &(RowsByPanels){u->p + i * SCAN_BLOCK + r + 1, 0, u->values + (r + 1) * u->width, 16, u->width, 0}, i, 0, 1, panels);
        for (int i = 0; i < rows; i++)
                for (int e = 0; e < u->columns; e += 16)
                        v_store_n(s->out + (from + i) * s->out_row + u->first + e, v_load(u->acc + i * u->width + e),
                                  u->columns - e < 16 ? u->columns - e : 16);
}

/* Row `from` of the call becomes row r of the block. */
KERNEL void scan_keep(const Scan *s, const ScanUnit *u, int r, int64_t from)
{
        float *key = u->keys + r / 16 * 16 * u->depth + r % 16;
        for (int d = 0; d < u->depth; d++)
                key[d * 16] = s->k[from * s->k_row + d];
        for (int e = 0; e < u->width; e += 16) {
                const int lanes = u->columns - e < 16 ? u->columns - e : 16;
                const v16 v = lanes > 0 ? v_load_n(s->v + from * s->v_row + u->first + e, lanes) : v_set1(0);
                v_store(u->values + r * u->width + e, v);
        }
}

/* Without queries and keys: the initial row, and the row after `sum`. */
KERNEL v16 scan_before(const Scan *s, const ScanUnit *u, int e)
{
        return u->at > 0 ? v_load(u->sum + e) : v_set1(s->maxima ? FLOAT_MINUS_INF : 0);
}

KERNEL v16 scan_next(const Scan *s, v16 sum, v16 v)
{
        if (s->maxima)
                return v_max(sum, v);
        return s->powers ? v_fma(sum, v_set1(s->powers[1]), v) : v_add(sum, v);
}

/* Without queries and keys: rows r to r + rows - 1 of the block, whose values are stored; a full block stores its last row. */
KERNEL void scan_sums(const Scan *s, const ScanUnit *u, int r, int rows, int64_t from)
{
        for (int e = 0; e < u->columns; e += 16) {
                v16 sum = scan_before(s, u, e);
                for (int j = 0; j < r + rows; j++) {
                        sum = scan_next(s, sum, v_load(u->values + j * u->width + e));
                        if (j >= r)
                                v_store_n(s->out + (from + j - r) * s->out_row + u->first + e, sum,
                                          u->columns - e < 16 ? u->columns - e : 16);
                }
        }
}

KERNEL void scan_absorb_sums(const Scan *s, const ScanUnit *u, float *next)
{
        for (int e = 0; e < u->width; e += 16) {
                v16 sum = scan_before(s, u, e);
                for (int j = 0; j < SCAN_BLOCK; j++)
                        sum = scan_next(s, sum, v_load(u->values + j * u->width + e));
                v_store(next + e, sum);
        }
}

/* A block's place in the state of its unit. */
KERNEL float *scan_place(const Scan *s, float *state, int64_t at)
{
        return state + at / SCAN_BLOCK % (1 + s->older) * SCAN_FLOATS(s->q ? s->depth : 0, s->width);
}

/* Sets the addresses of the unit's parts in the block that begins at `at`. */
KERNEL void scan_block(const Scan *s, ScanUnit *u, float *state, int64_t at)
{
        u->at = at;
        u->sum = scan_place(s, state, at) + SCAN_FRONT;
        u->keys = u->sum + (s->q ? u->depth : 1) * u->width;
        u->values = u->keys + SCAN_BLOCK * u->depth;
}

/* The unit, and its parts in scratch. */
KERNEL ScanUnit scan_unit(const Scan *s, int unit, float *scratch)
{
        ScanUnit u = {.depth = s->q ? s->depth : 0, .width = SCAN_WIDTH(s->width), .first = unit * SCAN_COLUMNS};
        const int left = s->width - u.first;
        u.columns = left < SCAN_COLUMNS ? left : SCAN_COLUMNS;
        u.q = scratch;
        u.p = u.q + 12 * u.depth;
        u.acc = u.p + 12 * SCAN_BLOCK;
        u.down = u.acc + 12 * u.width;
        u.scaled = u.down + 80;
        return u;
}

/* The block of the row at `position`, or the one before it, if that is still to be taken into its sum. */
KERNEL int64_t scan_first(const Scan *s, float *state, int64_t position)
{
        const int64_t begins = position / SCAN_BLOCK * SCAN_BLOCK, none = -1;
        const int floats = SCAN_FLOATS(s->q ? s->depth : 0, s->width);
        if (position == 0)
                memset(state, 0, sizeof *state * (size_t)floats * (size_t)(1 + s->older));
        for (int i = 0; i <= s->older; i++) /* after going back: what came later is other rows' */
                if (scan_begins(state + (int64_t)i * floats) > position)
                        memcpy(state + (int64_t)i * floats, &none, sizeof none);
        return scan_begins(scan_place(s, state, begins)) == begins ? begins : begins - SCAN_BLOCK;
}

/*
 * Computes `rows` rows from `position` on of one unit of a head, and updates its state [1 + older][SCAN_FLOATS(depth, width)].  Sizes
 * are literals.  scratch is [SCAN_SCRATCH(depth, width)].
 */
KERNEL void scan(const Scan *s, float *state, int unit, int64_t position, int64_t rows, float *scratch)
{
        ScanUnit u = scan_unit(s, unit, scratch);
        for (int i = 0; s->powers && i < 80; i++)
                u.down[i] = i <= SCAN_BLOCK ? s->powers[SCAN_BLOCK - i] : 0;
        scan_block(s, &u, state, scan_first(s, state, position));
        for (int64_t from = 0, n; from < rows; from += n) {
                if (position + from - u.at == SCAN_BLOCK) {
                        const int64_t at = u.at + SCAN_BLOCK;
                        float *next = scan_place(s, state, at);
                        if (s->q)
                                scan_absorb(s, &u, next + SCAN_FRONT);
                        else
                                scan_absorb_sums(s, &u, next + SCAN_FRONT);
                        memcpy(next, &at, sizeof at);
                        scan_block(s, &u, state, at);
                }
                const int r = (int)(position + from - u.at);
                n = rows - from < SCAN_BLOCK - r ? rows - from : SCAN_BLOCK - r;
                for (int i = 0; i < n; i++)
                        scan_keep(s, &u, r + i, from + i);
                if (!s->q)
                        scan_sums(s, &u, r, (int)n, from);
                for (int i = 0, tile; s->q && i < n; i += tile) {
                        tile = tile_rows_at_once(n - i);
                        scan_tile(s, &u, r + i, tile, from + i);
                }
        }
}
