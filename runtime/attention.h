/*
 * Attention without the matrix of scores: out = softmax(score(scale q k')) v, by blocks of 256 keys.
 *
 * The online softmax of Milakov and Gimelshein (2018), on fixed blocks as in FlashAttention (Dao et al.,
 * 2022), with every bit defined.  For one row, over the blocks of 256 absolute key positions:
 *
 *      s_j    = score(fma chain over d ascending, from +0, of (q[d] * scale) k_j[d]);
 *               -inf outside of the row's bounds
 *      live   = the keys with s_j != -inf; a block without live keys is skipped
 *      m_b    = the maximum of s: 16 lanes (j mod 16) from -inf, m = max(m, s_j), then the tree of v_maxof
 *      p_j    = exp(s_j - m_b) where live
 *      l_b    = 16 lanes (j mod 16), each the sum of its live p_j, j ascending from +0
 *      o_b[d] = fma chain of p_j v_j[d] over the live keys, j ascending from +0
 *
 * Blocks are merged in ascending order.  The first is copied; then
 *
 *      M = max(m, m_b), c = exp(m - M), c_b = exp(m_b - M)
 *      l = fma(l_b, c_b, l * c), o = fma(o_b, c_b, o * c), m = M
 *
 * At the end out = o / tree sum of l, or `dead` (0 or NaN) for a row without live keys.  A sink, a further score with value 0, is
 * added last, if the row has a live key: M = max(m, sink), c = exp(m - M), out = o c / fma(tree sum of l, c, exp(sink - M)).
 * Values of masked keys are never added, so that a NaN in them has no effect; a NaN in a live one makes the whole row NaN.
 *
 * Without softmax (`no_softmax`) scores are the weights: p_j = s_j where live, blocks are added, o = o + o_b, and out = o.
 *
 * No bit depends on how rows are grouped: one row and a cache, chunks, or the whole sequence.  Rows of all
 * heads that share a key head form one list, so that grouped queries load keys and values once.
 *
 * Keys are stored in tiles of 16, [head_dim][16], or in rows.  With tiles the micro-kernel has keys in lanes and queries as
 * factors.  With rows it has queries in lanes, 16 of the list, and keys as factors, and the scores are transposed:
 *
 *      tiles:   q [row][d] ── factors ─┐                      rows:   k [key][d] ── factors ─┐
 *               k [d][16 keys] ────────┴─► s [row][key]               q [d][16 rows] ────────┴─► [key][16 rows] ─► s [row][key]
 *
 * Needs guard.h, team.h, a v16 header, math.h, rows.h, narrow.h, kept.h, matmul.h, and STATES(S): S(storage) for each storage of
 * keys and values.
 */

#if !defined(EMITTED)
#include "attention_call.h"
#endif

KERNEL float *attention_part(const Attention *a, const AttentionShare *s, int64_t head, int64_t at)
{
        return s->parts + (head * s->count + at) * ATTENTION_PART(a->v_dim);
}

/* The first position whose key and value are both stored. */
#if HAS_MOVED_KEYS
KERNEL int64_t attention_held(const Attention *a)
{
        return a->first_key > a->first_value ? a->first_key : a->first_value;
}
#else
KERNEL int64_t attention_held(const Attention *a UNUSED)
{
        return 0;
}
#endif

/* The blocks that the bounds of all heads of row 0 touch: sets the first, and returns their number. */
KERNEL int64_t attention_touched(const Attention *a, Live *live, int64_t *first)
{
        const int64_t held = attention_held(a);
        int64_t from = a->keys, to = held;
        for (int head = 0; head < a->heads; head++) {
                int64_t lo = held, hi = a->keys;
                live(a->ctx, a->first_head + head, a->first_row, &lo, &hi);
                lo = lo > held ? lo : held;
                hi = hi < a->keys ? hi : a->keys;
                from = lo < from ? lo : from;
                to = hi > to ? hi : to;
        }
        *first = from / ATTENTION_BLOCK;
        return from < to ? (to + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK - *first : 0;
}

/* The share of a thread.  parts: room for the results of every block of every head, or NULL.  If the number of threads divides the
 * number of key heads, each thread has whole heads: kernels by heads omit barriers and rely on that. */
KERNEL void attention_share(AttentionShare *s, const Attention *a, Live *live, int64_t rows, float *parts,
                            int thread, int threads)
{
        const int64_t units = ATTENTION_UNITS(a->heads, a->kv_heads, rows, ATTENTION_ROWS(a));
        *s = (AttentionShare){.begin = share(units, thread, threads), .end = share(units, thread + 1, threads)};
        if (parts && rows == 1 && units % threads != 0) {
                int64_t first, count = attention_touched(a, live, &first);
                int64_t most = (units * count + threads - 1) / threads;
                if (most < (units + threads - 1) / threads * count)
                        *s = (AttentionShare){.begin = share(units * count, thread, threads),
                                              .end = share(units * count, thread + 1, threads),
                                              .first = first,
                                              .count = count,
                                              .parts = parts};
        }
}

/* A tile of rows of one key head, and its state between blocks. */
typedef struct {
        int kv, count, width; /* key head; rows; v_dim rounded up to whole vectors */
        int64_t first;        /* index of its first row in the key head's list */
        int64_t lo[16], hi[16];
        float m[16];
        int begun[16];        /* whether a block had live keys */
        int from[16], to[16]; /* bounds within the block */
        int live[16];         /* live keys in the block */
        float block_m[16];
        float *q;           /* [rows][head_dim], scaled; [head_dim][16] if keys are in rows */
        float *s;           /* [rows][ATTENTION_BLOCK]: scores, then probabilities, -inf where masked */
        float *o, *block_o; /* [rows][width] */
        float *l, *block_l; /* [rows][16] */
        float *end;         /* end of the tile's scratch */
#if HAS_PLAIN_WEIGHTS
        int no_softmax;
#endif
#if HAS_KEY_ROWS
        float *keys;   /* [TILE_ROWS][head_dim]: keys in rows, widened to floats */
        float *turned; /* [ATTENTION_BLOCK + TILE_ROWS][16]: scores before their transposition, from the first needed key on */
#endif
} AttentionTile;

KERNEL int attention_head(const Attention *a, const AttentionTile *t, int i)
{
        int share = a->heads / a->kv_heads;
        return t->kv * share + (int)((t->first + i) % share);
}

/* The index of row i of a tile among the rows of this call. */
KERNEL int64_t attention_row(const Attention *a, const AttentionTile *t, int i)
{
        return (t->first + i) / (a->heads / a->kv_heads);
}

KERNEL void attention_begin(const Attention *a, Live *live, AttentionTile *t)
{
        const int64_t first = attention_held(a);
        for (int i = 0; i < t->count; i++) {
                int head = attention_head(a, t, i);
                int64_t row = attention_row(a, t, i);
                const float *q = a->q + row * a->q_row + head * a->q_head;
                for (int d = 0; d < a->head_dim; d += 16) {
                        int lanes = a->head_dim - d < 16 ? a->head_dim - d : 16;
                        v16 scaled = v_mul(v_load_n(q + d, lanes), v_set1(a->scale));
#if HAS_KEY_ROWS
                        if (a->k_key) {
                                v_store_strided(t->q + d * 16 + i, 16, scaled, lanes);
                                continue;
                        }
#endif
                        v_store_n(t->q + i * a->head_dim + d, scaled, lanes);
                }
                t->lo[i] = first;
                t->hi[i] = a->keys;
                live(a->ctx, a->first_head + head, a->first_row + row, &t->lo[i], &t->hi[i]);
                t->lo[i] = t->lo[i] > first ? t->lo[i] : first;
                t->hi[i] = t->hi[i] < a->keys ? t->hi[i] : a->keys;
                t->begun[i] = 0;
        }
}

/* Difference between a block's positions and the positions at which its keys or values are stored. */
KERNEL int64_t attention_shift(const int32_t *pages, int64_t first_held, int64_t block)
{
        return pages ? block - (int64_t)pages[block / ATTENTION_BLOCK] * ATTENTION_BLOCK : first_held;
}

/* A product of the tile's rows by a few panels; narrower for one or few rows, as in decoding. */
KERNEL void attention_panels(float *acc, int64_t acc_row, const Factors *f, int64_t steps, int fresh, int count)
{
        if (count == 1)
                tile_of_rows(acc, acc_row, f, steps, fresh, 1, ONE_PANELS, 0);
        else if (TILE_ROWS > 4 && count > 4)
                tile_rows_odd(acc, acc_row, f, steps, fresh, TILE_ROWS, TILE_PANELS, 1);
        else
                tile_of_rows(acc, acc_row, f, steps, fresh, 4, FEW_PANELS, 0);
}

/* A product of the tile's rows, split into register tiles.  Keys in a storage with tiled scales are processed group by group. */
KERNEL void attention_product(float *acc, int64_t acc_row, const Factors *whole, int64_t steps, int fresh,
                              int count, int panels, int storage)
{
        const int width = count == 1 ? ONE_PANELS : count <= 4 ? FEW_PANELS : TILE_PANELS;
        for (int j = 0; j < panels; j += width) {
                Factors f = *whole;
                factors_skip(&f, storage, j * f.w_panel);
                f.next += bytes_of(storage, j * f.w_panel);
                f.panels = panels - j < width ? panels - j : width;
#if HAS_STORAGES
                f.storage = storage;
#endif
#if HAS_CODES
                const Factors begin = f;
                const int64_t piece = is_kept_tiled(storage) ? KEPT_GROUP(storage) : steps;
                for (int64_t first = 0; first < steps; first += piece) {
                        f = begin;
                        f.x += first * f.x_step;
                        factors_skip(&f, storage, first * f.w_step);
                        f.next += first * f.next_step;
                        attention_panels(acc + 16 * j, acc_row, &f, piece, fresh && first == 0, count);
                }
#else
                attention_panels(acc + 16 * j, acc_row, &f, steps, fresh, count);
#endif
        }
}

/* A branch for each of STATES. */
#define OF_KEYS(of)                                                                                          \
        else if (storage == (of)) attention_product(t->s + from, ATTENTION_BLOCK, &f, a->head_dim, 1,        \
                                                    t->count, (to - from + 15) / 16, of);

#define OF_KEYS_IN_ROWS(of) else if (storage == (of)) attention_widen(a, t, key, count, of);

#define OF_VALUES(of)                                                                                        \
        else if (storage == (of)) attention_product(t->block_o + i * t->width, t->width, &f, to - from, 0,   \
                                                    rows, a->v_dim / 16, of);

#define OF_LIVE_VALUES(of)                                                                                   \
        else if (storage == (of))                                                                            \
                attention_values_live(a, t, block, i, whole[i] ? a->v_dim / 16 * 16 : 0, of);

/* Columns c to c + lanes - 1 of a key or value in rows. */
KERNEL v16 attention_columns(const void *row, int c, int lanes, int storage UNUSED)
{
#if HAS_CODES
        if (is_kept(storage))
                return v_load_kept_strided(storage, row, c, 1, lanes);
#endif
#if HAS_F16_STATES
        if (storage == STORAGE_F16)
                return v_load_f16_n((const uint16_t *)row + c, lanes);
#endif
#if HAS_BF16_STATES
        if (storage == STORAGE_BF16)
                return v_load_bf16_n((const uint16_t *)row + c, lanes);
#endif
        return v_load_n((const float *)row + c, lanes);
}

/* Address of a key in rows. */
KERNEL const void *attention_key(const Attention *a, const AttentionTile *t, int64_t key, int storage)
{
#if HAS_MOVED_KEYS
        key -= attention_shift(a->key_pages, a->first_key, key / ATTENTION_BLOCK * ATTENTION_BLOCK);
#endif
        return (const char *)a->k + bytes_of(storage, t->kv * a->k_head + key * a->k_key);
}

/* Widens `count` keys in rows, from key `key` on, to floats in t->keys. */
KERNEL void attention_widen(const Attention *a, const AttentionTile *t, int64_t key, int count, int storage)
{
        for (int i = 0; i < count; i++) {
                const void *row = attention_key(a, t, key + i, storage);
                float *to = t->keys + i * a->head_dim;
                int d = 0;
#if HAS_CODES
                for (; is_kept(storage) && d + 16 <= a->head_dim; d += 16)
                        v_store(to + d, v_load_kept(storage, row, d));
#endif
                for (; d < a->head_dim; d += 16) {
                        int lanes = a->head_dim - d < 16 ? a->head_dim - d : 16;
                        v_store_n(to + d, attention_columns(row, d, lanes, storage), lanes);
                }
        }
}

/* Transposes scores of 16 keys by 16 rows, [key][16], of which count rows are needed, to [row][ATTENTION_BLOCK]. */
KERNEL void attention_turn(float *to, const float *turned, int count)
{
        for (int row = 0; row < count; row += 4) {
                v16 x[4];
                UNROLL
                for (int i = 0; i < 4; i++)
                        x[i] = v_load_quarters(turned + i * 16 + row, 4 * 16);
                v_turn_quarters(x);
                UNROLL
                for (int i = 0; i < 4; i++)
                        v_store(to + (row + i) * ATTENTION_BLOCK, x[i]);
        }
}

/* Scores of keys from <= j < to of the block, for keys in rows. */
KERNEL void attention_scores_in_lanes(const Attention *a, const AttentionTile *t, int64_t block, int from,
                                      int to)
{
        const int begin = from / 16 * 16;
        for (int j = from; j < to; j += TILE_ROWS) {
                const int64_t key = block + j;
                const int count = to - j < TILE_ROWS ? to - j : TILE_ROWS;
                Factors f = {.x_step = 1, .w = t->q, .w_step = 16, .panels = 1};
#if HAS_NARROW_STATES
                const int storage = a->k_storage;
                f.x = storage == STORAGE_F32 ? attention_key(a, t, key, STORAGE_F32) : t->keys;
                rows_at(&f, storage == STORAGE_F32 ? a->k_key : a->head_dim, count, TILE_ROWS);
                if (storage == STORAGE_F32)
                        ;
                STATES(OF_KEYS_IN_ROWS)
#else
                f.x = attention_key(a, t, key, STORAGE_F32);
                rows_at(&f, a->k_key, count, TILE_ROWS);
#endif
                f.next = (const char *)(f.x + TILE_ROWS * a->k_key);
                f.next_step = (int64_t)sizeof(float) * TILE_ROWS;
                tile_of_rows(t->turned + (j - begin) * 16, 16, &f, a->head_dim, 1, TILE_ROWS, 1, 0);
        }
        for (int j = begin; j < to; j += 16)
                attention_turn(t->s + j, t->turned + (j - begin) * 16, t->count);
}

/* The same for keys in tiles. */
KERNEL void attention_scores_in_tiles(const Attention *a, const AttentionTile *t, int64_t block, int from,
                                      int to)
{
#if HAS_NARROW_STATES
        const int storage = a->k_storage;
#else
        const int storage = STORAGE_F32;
#endif
        int64_t panel = a->k_tile, at = block + from;
        int width = t->count == 1 ? ONE_PANELS : t->count <= 4 ? FEW_PANELS : TILE_PANELS;
        Factors f = {.x = t->q, .x_step = 1, .w_panel = panel, .w_step = 16};
#if HAS_MOVED_KEYS
        at -= attention_shift(a->key_pages, a->first_key, block);
#endif
        rows_at(&f, a->head_dim, TILE_ROWS, TILE_ROWS);
        f.w = (const char *)a->k + bytes_of(storage, t->kv * a->k_head + at / 16 * panel);
        f.next = (const char *)f.w + bytes_of(storage, width * panel);
        f.next_panel = bytes_of(storage, panel);
        f.next_step = bytes_of(storage, 16);
#if HAS_NARROW_STATES
        if (0)
                ;
        STATES(OF_KEYS)
#else
        attention_product(t->s + from, ATTENTION_BLOCK, &f, a->head_dim, 1, t->count, (to - from + 15) / 16, storage);
#endif
}

/* Sets each row's bounds within the block that begins at `block`, and the bounds of all keys that any row needs. */
KERNEL void attention_bounds(AttentionTile *t, int64_t block, int *first, int *last)
{
        int from = ATTENTION_BLOCK, to = 0;
        for (int i = 0; i < t->count; i++) {
                int64_t lo = t->lo[i] - block, hi = t->hi[i] - block;
                t->from[i] = (int)(lo < 0 ? 0 : lo < ATTENTION_BLOCK ? lo : ATTENTION_BLOCK);
                t->to[i] = (int)(hi < 0 ? 0 : hi < ATTENTION_BLOCK ? hi : ATTENTION_BLOCK);
                t->live[i] = 0;
                if (t->from[i] >= t->to[i])
                        continue;
                from = t->from[i] < from ? t->from[i] : from;
                to = t->to[i] > to ? t->to[i] : to;
        }
        *first = from;
        *last = to;
}

/* Sets the bounds, and computes the scores of the keys within them. */
SHARED void attention_scores(const Attention *a, AttentionTile *t, int64_t block)
{
        int from, to;
        attention_bounds(t, block, &from, &to);
        if (from >= to)
                return;
#if HAS_KEY_ROWS && HAS_KEY_TILES
        if (a->k_key)
                attention_scores_in_lanes(a, t, block, from, to);
        else
                attention_scores_in_tiles(a, t, block, from / 16 * 16, to);
#elif HAS_KEY_ROWS
        attention_scores_in_lanes(a, t, block, from, to);
#else
        attention_scores_in_tiles(a, t, block, from / 16 * 16, to);
#endif
}

/* Turns the scores of all rows into probabilities, in place, and sums them. */
SHARED void attention_probabilities(AttentionTile *t)
{
        const v16 masked = v_set1(-FLOAT_INF), zero = v_set1(0);
#if HAS_PLAIN_WEIGHTS
        if (t->no_softmax)
                return;
#endif
        for (int i = 0; i < t->count; i++) {
                const int begin = t->from[i] / 16 * 16, end = t->live[i] > 0 ? t->to[i] : begin;
                const v16 most = v_set1(t->block_m[i]);
                float *s = t->s + i * ATTENTION_BLOCK;
                v16 sum = zero;
                for (int j = begin; j < end; j += 16) {
                        v16 x = v_load(s + j);
                        v16 p = v_where(v_le(x, masked), masked, v_exp(v_sub(x, most)));
                        sum = v_add(sum, v_max(zero, p));
                        v_store(s + j, p);
                }
                v_store(t->block_l + i * 16, sum);
        }
}

/* Applies the score formula to the scores `given` of row i; sets their maximum and the number of live keys. */
KERNEL void attention_formula(const Attention *a, Score *score, AttentionTile *t, int i, int64_t block,
                              const float *given, int64_t s_apart)
{
        const v16 masked = v_set1(-FLOAT_INF), zero = v_set1(0);
        const v16 from = v_set1((float)t->from[i]), to = v_set1((float)t->to[i]);
        const int head = a->first_head + attention_head(a, t, i), begin = t->from[i] / 16 * 16,
                  end = t->to[i];
        const int64_t row = a->first_row + attention_row(a, t, i);
        const void *ctx = a->ctx;
        float *s = t->s + i * ATTENTION_BLOCK;
        v16 most = masked, dead = zero;
        int lanes = 0;
        for (int j = begin; j < end; j += 16, lanes += 16) {
                v16 key = v_iota((float)j);
                v16 x = score(ctx, given + j, s_apart, head, row, block + j);
                x = v_where_lt(key, from, masked, v_where_lt(key, to, x, masked));
                most = v_max(most, x);
                dead = v_add(dead, v_le(x, masked));
                v_store(s + j, x);
        }
        t->live[i] = lanes - (int)v_sum(dead);
        t->block_m[i] = v_maxof(most);
}

/* Address of a key's value. */
KERNEL const void *attention_value(const Attention *a, const AttentionTile *t, int64_t key, int storage)
{
#if HAS_MOVED_KEYS
        key -= attention_shift(a->value_pages, a->first_value, key / ATTENTION_BLOCK * ATTENTION_BLOCK);
#endif
        return (const char *)a->v + bytes_of(storage, t->kv * a->v_head + key * a->v_key);
}

/* block_o += p_j v_j over keys from <= j < to of the block, which are live in each of `count` rows from row i on; only
 * for whole vectors of v_dim. */
KERNEL void attention_values_of(const Attention *a, const AttentionTile *t, int64_t block, int i, int count,
                                int from, int to)
{
#if HAS_NARROW_STATES
        const int storage = a->v_storage;
#else
        const int storage = STORAGE_F32;
#endif
        if (from >= to)
                return;
        Factors f = {.w = attention_value(a, t, block + from, storage), .x_step = 1, .w_panel = 16, .w_step = a->v_key};
        rows_at(&f, ATTENTION_BLOCK, TILE_ROWS, TILE_ROWS);
        f.next = (const char *)f.w + bytes_of(storage, 16 * a->v_key);
        f.next_panel = bytes_of(storage, 16);
        f.next_step = bytes_of(storage, a->v_key);
        for (int end = i + count; i < end; i += TILE_ROWS) {
                const int rows = end - i < TILE_ROWS ? end - i : TILE_ROWS;
                f.x = t->s + i * ATTENTION_BLOCK + from;
#if HAS_NARROW_STATES
                if (0)
                        ;
                STATES(OF_VALUES)
#else
                attention_product(t->block_o + i * t->width, t->width, &f, to - from, 0, rows, a->v_dim / 16, storage);
#endif
        }
}

/* block_o[i] from column c on: the fma chain over row i's live keys, one by one. */
KERNEL void attention_values_live(const Attention *a, const AttentionTile *t, int64_t block, int i, int c,
                                  int storage)
{
        const float *p = t->s + i * ATTENTION_BLOCK;
        for (; c < a->v_dim; c += 16) {
                int lanes = a->v_dim - c < 16 ? a->v_dim - c : 16;
                v16 sum = v_set1(0);
                for (int j = t->from[i]; j < t->to[i]; j++)
                        if (!(p[j] <= -FLOAT_INF))
                                sum = v_fma(v_set1(p[j]),
                                            attention_columns(attention_value(a, t, block + j, storage), c,
                                                              lanes, storage),
                                            sum);
                v_store(t->block_o + i * t->width + c, sum);
        }
}

/* The sums of a block's values, weighted by the probabilities.  Keys that are live in every row use the
 * micro-kernel for all rows; keys before and after them use it row by row.  Rows with masked keys between live
 * ones, and columns after the last whole vector, are computed key by key. */
SHARED void attention_values(const Attention *a, const AttentionTile *t, int64_t block)
{
        const int rows = t->count > 4 ? ATTENTION_ROWS(a) : t->count > 1 ? 4 : 1;
        int first = 0, end = 0, whole[16] = {0};
        for (int i = 0; i < t->count; i++) {
                whole[i] = t->live[i] > 0 && t->live[i] == t->to[i] - t->from[i];
                if (!whole[i])
                        continue;
                first = t->from[i] > first ? t->from[i] : first;
                end = end == 0 || t->to[i] < end ? t->to[i] : end;
        }
        end = end > first ? end : first;
        for (int j = 0; j < rows * t->width; j += 16)
                v_store(t->block_o + j, v_set1(0));
        for (int piece = 0; piece <= 2 * t->count; piece++) { /* one loop for all three ranges, so that the call is inlined once */
                int before = piece < t->count, common = piece == t->count;
                int i = before ? piece : common ? 0 : piece - t->count - 1;
                int from = before ? t->from[i] : common ? first : end;
                int to = common ? end : before && first < t->to[i] ? first : t->to[i];
                if (common || whole[i])
                        attention_values_of(a, t, block, i, common ? t->count : 1, from, to);
        }
        for (int i = 0; i < t->count; i++) {
                if (t->live[i] == 0)
                        continue;
#if HAS_NARROW_STATES
                const int storage = a->v_storage;
                if (0)
                        ;
                STATES(OF_LIVE_VALUES)
#else
                attention_values_live(a, t, block, i, whole[i] ? a->v_dim / 16 * 16 : 0, STORAGE_F32);
#endif
        }
}

/* Merges the block into row i. */
KERNEL void attention_merge(AttentionTile *t, int i)
{
        float *o = t->o + i * t->width, *l = t->l + i * 16;
        const float *block_o = t->block_o + i * t->width, *block_l = t->block_l + i * 16;
        if (!t->begun[i]) {
                t->begun[i] = 1;
                t->m[i] = t->block_m[i];
                v_store(l, v_load(block_l));
                for (int d = 0; d < t->width; d += 16)
                        v_store(o + d, v_load(block_o + d));
                return;
        }
#if HAS_KEY_BLOCKS
#if HAS_PLAIN_WEIGHTS
        if (t->no_softmax) {
                for (int d = 0; d < t->width; d += 16)
                        v_store(o + d, v_add(v_load(o + d), v_load(block_o + d)));
                return;
        }
#endif
        float m = t->m[i] > t->block_m[i] ? t->m[i] : t->block_m[i];
        float lane[16];
        v_store(lane, v_exp(v_where(v_iota(0), v_set1(t->block_m[i] - m), v_set1(t->m[i] - m))));
        v16 c = v_set1(lane[0]), block_c = v_set1(lane[1]);
        t->m[i] = m;
        v_store(l, v_fma(v_load(block_l), block_c, v_mul(v_load(l), c)));
        for (int d = 0; d < t->width; d += 16)
                v_store(o + d, v_fma(v_load(block_o + d), block_c, v_mul(v_load(o + d), c)));
#endif
}

/* Adds the sink to row i's sum, and returns the factor for its outputs. */
KERNEL v16 attention_sink(const Attention *a, const AttentionTile *t, int i, v16 *sum)
{
        const float sink = a->sink(a->ctx, a->first_head + attention_head(a, t, i),
                                   a->first_row + attention_row(a, t, i));
        const float m = t->m[i] > sink ? t->m[i] : sink;
        float lane[16];
        v_store(lane, v_exp(v_where(v_iota(0), v_set1(sink - m), v_set1(t->m[i] - m))));
        *sum = v_fma(*sum, v_set1(lane[0]), v_set1(lane[1]));
        return v_set1(lane[0]);
}

/* out = o / tree sum of l, or `dead`. */
KERNEL void attention_finish(const Attention *a, const AttentionTile *t, int i)
{
        float *out = a->out + attention_row(a, t, i) * a->out_row + attention_head(a, t, i) * a->out_head;
        v16 sum = t->begun[i] ? v_set1(v_sum(v_load(t->l + i * 16))) : v_set1(1);
#if HAS_PLAIN_WEIGHTS
        sum = a->no_softmax ? v_set1(1) : sum;
#endif
#if HAS_SINK
        const v16 by = a->sink && t->begun[i] ? attention_sink(a, t, i, &sum) : v_set1(1);
#endif
        for (int d = 0; d < a->v_dim; d += 16) {
                v16 o = t->begun[i] ? v_load(t->o + i * t->width + d) : v_set1(a->dead);
#if HAS_SINK
                o = v_mul(o, by);
#endif
                v_store_n(out + d, v_div(o, sum), a->v_dim - d < 16 ? a->v_dim - d : 16);
        }
}

/* Stores row i's results of the block for attention_join(). */
KERNEL void attention_keep(const AttentionTile *t, int i, float *kept)
{
        for (int d = 0; d < t->width; d += 16)
                v_store(kept + d, v_load(t->block_o + i * t->width + d));
        kept += t->width;
        v_store(kept, v_load(t->block_l + i * 16));
        kept[16] = t->block_m[i];
        kept[17] = (float)t->live[i];
}

/* Merges the block into all rows. */
SHARED void attention_merge_rows(AttentionTile *t)
{
        for (int i = 0; i < t->count; i++)
                if (t->live[i] > 0)
                        attention_merge(t, i);
}

/* Merges the block into all rows, or stores it for attention_join(). */
KERNEL void attention_take(const Attention *a, const AttentionShare *s, AttentionTile *t, int64_t block)
{
        if (!s->parts)
                attention_merge_rows(t);
        for (int i = 0; i < t->count && s->parts; i++)
                attention_keep(t, i,
                               attention_part(a, s, attention_head(a, t, i), block / ATTENTION_BLOCK - s->first));
}

SHARED void attention_finish_rows(const Attention *a, const AttentionTile *t)
{
        for (int i = 0; i < t->count; i++)
                attention_finish(a, t, i);
}

/* Initialises a tile in scratch, which is set to 0. */
KERNEL AttentionTile attention_tile(const Attention *a, float *scratch)
{
        const int width = (a->v_dim + 15) / 16 * 16, most = ATTENTION_ROWS(a);
        AttentionTile t = {.width = width, .q = scratch};
#if HAS_PLAIN_WEIGHTS
        t.no_softmax = a->no_softmax;
#endif
        t.s = t.q + most * a->head_dim;
        t.o = t.s + most * ATTENTION_BLOCK;
        t.block_o = t.o + most * width;
        t.l = t.block_o + most * width;
        t.block_l = t.l + most * 16;
        t.end = t.block_l + most * 16;
#if HAS_KEY_ROWS
        t.keys = t.end;
        t.turned = t.keys + TILE_ROWS * a->head_dim;
        t.end = a->k_key ? t.turned + (ATTENTION_BLOCK + TILE_ROWS) * 16 : t.end;
#endif
        for (float *at = scratch; at < t.end; at++)
                *at = 0;
        return t;
}

/* Sets the rows of a unit, and the bounds of all keys that any of them needs; *lo is the beginning of a block. */
KERNEL void attention_unit(const Attention *a, Live *live, int64_t rows, int64_t unit, AttentionTile *t,
                           int64_t *lo, int64_t *hi)
{
        const int most = ATTENTION_ROWS(a);
        const int64_t list = rows * (a->heads / a->kv_heads), tiles = (list + most - 1) / most;
        t->kv = (int)(unit / tiles);
        t->first = unit % tiles * most;
        t->count = list - t->first < most ? (int)(list - t->first) : most;
        attention_begin(a, live, t);
        *lo = a->keys;
        *hi = 0;
        for (int i = 0; i < t->count; i++) {
                *lo = t->lo[i] < *lo ? t->lo[i] : *lo;
                *hi = t->hi[i] > *hi ? t->hi[i] : *hi;
        }
        *lo = *lo / ATTENTION_BLOCK * ATTENTION_BLOCK;
}

/* Computes a tile's results of one block of keys. */
KERNEL void attention_block(const Attention *a, Score *score, AttentionTile *t, int64_t block)
{
        attention_scores(a, t, block);
        for (int i = 0; i < t->count; i++)
                if (t->from[i] < t->to[i])
                        attention_formula(a, score, t, i, block, t->s + i * ATTENTION_BLOCK, 0);
        attention_probabilities(t);
        attention_values(a, t, block);
}

/*
 * A thread's share of the attention of `rows` rows, from position first_row on, over a->keys keys.
 * Dimensions, score and live are literals.  scratch is [ATTENTION_SCRATCH(head_dim, v_dim, k_key)] of the
 * thread.  Reads keys in tiles up to the next multiple of 16 (the contents of the rest have no effect), keys in rows only within
 * the bounds of some row, and values only of keys that are live in some row.
 */
KERNEL void attention(const Attention *a, Score *score, Live *live, int64_t rows, const AttentionShare *s,
                      float *scratch)
{
        AttentionTile t = attention_tile(a, scratch);
        int64_t lo, hi;
#if HAS_PARTS
        const int64_t count = s->parts ? s->count : 1;
        for (int64_t at = s->begin, next; at < s->end; at = next) {
                next = (at / count + 1) * count < s->end ? (at / count + 1) * count : s->end;
                attention_unit(a, live, rows, at / count, &t, &lo, &hi);
                if (s->parts) {
                        lo = (s->first + at % count) * ATTENTION_BLOCK;
                        hi = lo + (next - at) * ATTENTION_BLOCK;
                }
                for (int64_t block = lo; block < hi; block += ATTENTION_BLOCK) {
                        attention_block(a, score, &t, block);
                        attention_take(a, s, &t, block);
                }
                if (!s->parts)
                        attention_finish_rows(a, &t);
        }
#else
        for (int64_t unit = s->begin; unit < s->end; unit++) {
                attention_unit(a, live, rows, unit, &t, &lo, &hi);
                for (int64_t block = lo; block < hi; block += ATTENTION_BLOCK) {
                        attention_block(a, score, &t, block);
                        attention_merge_rows(&t);
                }
                attention_finish_rows(a, &t);
        }
#endif
}

/* With shares by blocks: waits for all threads, then merges the blocks of some heads in ascending order.  A second barrier protects
 * the stored results until all threads have read them. */
SHARED void attention_join(const Attention *a, const AttentionShare *s, float *scratch, Team *team,
                           int thread, int threads)
{
        const int width = (a->v_dim + 15) / 16 * 16, list = a->heads / a->kv_heads;
        const int end = (int)share(a->heads, thread + 1, threads);
        if (!s->parts)
                return;
        team_barrier(team);
        for (int head = (int)share(a->heads, thread, threads); head < end; head++) {
                AttentionTile t = {
                        .kv = head / list, .first = head % list, .count = 1, .width = width, .o = scratch};
                t.l = t.o + width;
#if HAS_PLAIN_WEIGHTS
                t.no_softmax = a->no_softmax;
#endif
                for (int64_t at = 0; at < s->count; at++) {
                        t.block_o = attention_part(a, s, head, at);
                        t.block_l = t.block_o + width;
                        t.block_m[0] = t.block_l[16];
                        if (t.block_l[17] > 0)
                                attention_merge(&t, 0);
                }
                attention_finish(a, &t, 0);
        }
        team_barrier(team);
}

/* Stores a key, row [head_dim], at its position in k [ceil(capacity / 16)][head_dim][16]. */
KERNEL void store_k16(float *k, int64_t position, const float *row, int head_dim)
{
        float *key = k + position / 16 * 16 * head_dim + position % 16;
        for (int d = 0; d < head_dim; d++)
                key[d * 16] = row[d];
}
