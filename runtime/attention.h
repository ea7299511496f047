/*
 * Attention without the matrix of scores: out = softmax(score(scale q k')) v, by blocks of 256 keys.
 *
 * The online softmax of Milakov and Gimelshein (2018), on fixed blocks as in FlashAttention (Dao et al.,
 * 2022), with every bit defined.  For one row, over the blocks of 256 absolute key positions:
 *
 *      s_j    = score(fma chain over d ascending, from +0, of (q[d] * scale) k_j[d]);
 *               -inf outside of the row's bounds
 *      live   = the keys with s_j != -inf; a block without any is passed over as if it were not there
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
 * At the end out = o / tree sum of l, and 0 (or NaN: `dead`) where no key lived.  A sink, one more score whose value is 0, comes last, where a key
 * lived: M = max(m, sink), c = exp(m - M), out = o c / fma(tree sum of l, c, exp(sink - M)).  A masked key's value is never read into a
 * sum, so that a NaN there stays there; a live NaN makes the whole row NaN.
 *
 * Or scores are weights as they are (`no_softmax`): p_j = s_j where live, blocks are added, o = o + o_b, and out = o.
 *
 * No bit depends on which rows go together: one row of a cache, chunks, or the whole sequence.  Rows of all
 * heads that share a key head form one list, so that grouped queries load keys and values once.
 *
 * Keys lie in tiles of 16, [head_dim][16], or in rows.  Of tiles the register tile takes keys in lanes and queries as factors; of rows it
 * takes queries in lanes, 16 of the list, and keys as factors, and the scores are turned:
 *
 *      tiles:   q [row][d] ── factors ─┐                      rows:   k [key][d] ── factors ─┐
 *               k [d][16 keys] ────────┴─► s [row][key]               q [d][16 rows] ────────┴─► [key][16 rows] ─► s [row][key]
 *
 * Needs guard.h, team.h, a v16 header, math.h, rows.h, narrow.h, kept.h, matmul.h, and the storages of keys and values: STATES(S) is
 * S(storage) for each.
 */

/* Key positions in a block; a part of the definition. */
#define ATTENTION_BLOCK 256

/* The sink of an absolute row. */
typedef float Sink(const void *ctx, int head, int64_t row);

typedef struct {
        const float *q;        /* row i of head h at q + i * q_row + h * q_head: [head_dim] */
        int64_t q_row, q_head; /* floats */
        const void *k; /* 16 keys of key head g at element g * k_head + tile * k_tile: [head_dim][16] .. */
        int64_t k_head, k_tile,
                k_key; /* .. or, where this is not 0, key j at element g * k_head + j * k_key: [head_dim] */
        const void *v; /* key j of key head g at element g * v_head + j * v_key: [v_dim] */
        int64_t v_head, v_key;
        int k_storage, v_storage;       /* STORAGE_F32, STORAGE_F16 or STORAGE_KEPT(), of keys and values */
        int64_t first_key, first_value; /* that which lies at k, and at v; multiples of 16 */
        const int32_t *key_pages,
                *value_pages; /* or NULL; by block: it lies at k, v as if it were block number so */
        float *out;           /* row i of head h at out + i * out_row + h * out_head: [v_dim] */
        int64_t out_row, out_head;
        int heads, kv_heads, head_dim, v_dim; /* heads is a multiple of kv_heads */
        float scale;                          /* of q, rounded once; 1 leaves q as it is */
        int64_t keys, first_row;              /* keys that there are; the absolute position of row 0 */
        int first_head;                       /* of head 0 the number that score and live are told */
        const void *ctx;                      /* for score, live and sink */
        Sink *sink;                           /* or NULL */
        float dead;                           /* what a row becomes for which no key lives: 0 or NaN */
        int no_softmax;                            /* scores are the weights: no maximum, no sum */
} Attention;

/* The formula between scores and softmax, on 16 keys col to col + 15 of an absolute row, whose scores lie at s; -inf masks.  Those of head h
 * lie at s + h * s_apart where heads are mixed (attention_mixed.h).  Elementwise: lanes outside the bounds may hold anything. */
typedef v16 Score(const void *ctx, const float *s, int64_t s_apart, int head, int64_t row, int64_t col);

/* Bounds of an absolute row: keys outside [*lo, *hi) are masked.  They come in as all keys that there are. */
typedef void Live(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi);

/* Rows of a tile. */
#define ATTENTION_ROWS(k_key) ((k_key) ? 16 : TILE_ROWS)

/* Units of work, which threads share: unit u is tile u mod T of key head u / T, where T is the number of
 * tiles in the list of that key head's rows: row 0 of its first head, of its second, ... , row 1
 * of its first. */
#define ATTENTION_UNITS(heads, kv_heads, rows, k_key)                                                        \
        ((int)((kv_heads) *                                                                                  \
               (((rows) * ((heads) / (kv_heads)) + ATTENTION_ROWS(k_key) - 1) / ATTENTION_ROWS(k_key))))

/* Floats of scratch that attention() needs; each thread its own.  Of keys in rows some wait there as floats, and scores to be turned. */
#define ATTENTION_SCRATCH(head_dim, v_dim, k_key)                                                            \
        (ATTENTION_ROWS(k_key) * ((head_dim) + ATTENTION_BLOCK + 2 * (((v_dim) + 15) / 16 * 16) + 2 * 16) +  \
         ((k_key) ? TILE_ROWS * (head_dim) + (ATTENTION_BLOCK + TILE_ROWS) * 16 : 0))

/* Floats that a block keeps for one head: outputs, sums, maximum and number of live keys. */
#define ATTENTION_PART(v_dim) (((v_dim) + 15) / 16 * 16 + 2 * 16)

/*
 * What one thread computes: some of a list of all units.  Or, of one row over many keys, some of their blocks, unit by unit, where
 * threads share the units unevenly.  The blocks are then merged by attention_join(), for which they are kept.
 */
typedef struct {
        int64_t begin, end;   /* of the list */
        int64_t first, count; /* by blocks: the first, and how many each unit has; else 0 and 1 */
        float *parts; /* by blocks, of all threads: [heads][count][ATTENTION_PART(v_dim)]; else NULL */
} AttentionShare;

KERNEL float *attention_part(const Attention *a, const AttentionShare *s, int64_t head, int64_t at)
{
        return s->parts + (head * s->count + at) * ATTENTION_PART(a->v_dim);
}

/* The blocks that the bounds of some head of row 0 touch: how many from *first on. */
KERNEL int64_t attention_touched(const Attention *a, Live *live, int64_t *first)
{
        const int64_t held = a->first_key > a->first_value ? a->first_key : a->first_value;
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

/* The share of a thread.  parts: room for every block of a->keys of every head, or NULL.  Threads that divide the key heads have units of
 * heads of their own: barriers are left out because of that. */
KERNEL void attention_share(AttentionShare *s, const Attention *a, Live *live, int64_t rows, float *parts,
                            int thread, int threads)
{
        const int64_t units = ATTENTION_UNITS(a->heads, a->kv_heads, rows, a->k_key);
        *s = (AttentionShare){.count = 1};
        if (parts && rows == 1 && units % threads != 0) {
                int64_t first, count = attention_touched(a, live, &first);
                int64_t most = (units * count + threads - 1) / threads;
                if (most < (units + threads - 1) / threads * count)
                        *s = (AttentionShare){.first = first, .count = count, .parts = parts};
        }
        s->begin = share(units * s->count, thread, threads);
        s->end = share(units * s->count, thread + 1, threads);
}

/* One tile of rows of one key head, on its way through the blocks. */
typedef struct {
        int kv, count, width; /* key head; rows; v_dim in whole vectors */
        int64_t first;        /* its first row's number in the key head's list */
        int64_t lo[16], hi[16];
        float m[16];
        int begun[16];        /* whether a block has lived */
        int from[16], to[16]; /* bounds within the block */
        int live[16];         /* live keys in the block */
        float block_m[16];
        float *q;           /* [rows][head_dim], scaled; [head_dim][16] where keys lie in rows */
        float *s;           /* [rows][ATTENTION_BLOCK]: scores, then probabilities, -inf where masked */
        float *o, *block_o; /* [rows][width] */
        float *l, *block_l; /* [rows][16] */
        float *keys;        /* [TILE_ROWS][head_dim]: keys in rows as floats */
        float *turned; /* [ATTENTION_BLOCK + TILE_ROWS][16]: scores, from the first key on that a row wants */
} AttentionTile;

KERNEL int attention_head(const Attention *a, const AttentionTile *t, int i)
{
        int share = a->heads / a->kv_heads;
        return t->kv * share + (int)((t->first + i) % share);
}

/* Counted from the first row of this call. */
KERNEL int64_t attention_row(const Attention *a, const AttentionTile *t, int i)
{
        return (t->first + i) / (a->heads / a->kv_heads);
}

KERNEL void attention_begin(const Attention *a, Live *live, AttentionTile *t)
{
        const int64_t first = a->first_key > a->first_value ? a->first_key : a->first_value;
        for (int i = 0; i < t->count; i++) {
                int head = attention_head(a, t, i);
                int64_t row = attention_row(a, t, i);
                const float *q = a->q + row * a->q_row + head * a->q_head;
                for (int d = 0; d < a->head_dim; d += 16) {
                        int lanes = a->head_dim - d < 16 ? a->head_dim - d : 16;
                        v16 scaled = v_mul(v_load_n(q + d, lanes), v_set1(a->scale));
                        if (a->k_key)
                                v_store_strided(t->q + d * 16 + i, 16, scaled, lanes);
                        else
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

/* How much nearer to the front a block's keys or values lie than their positions say. */
KERNEL int64_t attention_shift(const int32_t *pages, int64_t first_held, int64_t block)
{
        return pages ? block - (int64_t)pages[block / ATTENTION_BLOCK] * ATTENTION_BLOCK : first_held;
}

/* One product of the tile's rows, cut into register tiles; the short ones for decoding.  Keys whose scales stand side by side are taken
 * group by group. */
KERNEL void attention_product(float *acc, int64_t acc_row, const Factors *whole, int64_t steps, int fresh,
                              int count, int panels, int storage)
{
        Factors f = *whole;
        int width = count == 1 ? ONE_PANELS : count <= 4 ? FEW_PANELS : TILE_PANELS;
        const int64_t piece = is_kept_tiled(storage) ? storage / 16 : steps;
        for (int j = 0; j < panels; j += width)
                for (int64_t first = 0; first < steps; first += piece) {
                        const int begins = fresh && first == 0;
                        f = *whole;
                        f.storage = storage;
                        f.x += first * f.x_step;
                        factors_skip(&f, j * f.w_panel + first * f.w_step);
                        f.next += bytes_of(storage, j * f.w_panel) + first * f.next_step;
                        f.panels = panels - j < width ? panels - j : width;
                        if (count == 1)
                                tile_product(acc + 16 * j, acc_row, &f, piece, begins, 1, ONE_PANELS);
                        else if (TILE_ROWS > 4 && count > 4)
                                tile_rows_odd(acc + 16 * j, acc_row, &f, piece, begins, TILE_ROWS,
                                              TILE_PANELS, 1);
                        else
                                tile_product(acc + 16 * j, acc_row, &f, piece, begins, 4, FEW_PANELS);
                }
}

/* Branches for one of STATES. */
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

/* Columns c to c + lanes - 1 of a key, or of its values, in rows. */
KERNEL v16 attention_columns(const void *row, int c, int lanes, int storage)
{
        if (is_kept(storage))
                return v_load_kept_strided(storage, row, c, 1, lanes);
        if (storage == STORAGE_F16)
                return v_load_f16_n((const uint16_t *)row + c, lanes);
        if (storage == STORAGE_BF16)
                return v_load_bf16_n((const uint16_t *)row + c, lanes);
        return v_load_n((const float *)row + c, lanes);
}

/* A key in rows. */
KERNEL const void *attention_key(const Attention *a, const AttentionTile *t, int64_t key, int storage)
{
        const int64_t block = key / ATTENTION_BLOCK * ATTENTION_BLOCK;
        int64_t at =
                t->kv * a->k_head + (key - attention_shift(a->key_pages, a->first_key, block)) * a->k_key;
        return (const char *)a->k + bytes_of(storage, at);
}

/* Keys in rows, `count` from key `key` on, as floats. */
KERNEL void attention_widen(const Attention *a, const AttentionTile *t, int64_t key, int count, int storage)
{
        for (int i = 0; i < count; i++) {
                const void *row = attention_key(a, t, key + i, storage);
                float *to = t->keys + i * a->head_dim;
                int d = 0;
                for (; is_kept(storage) && d + 16 <= a->head_dim; d += 16)
                        v_store(to + d, v_load_kept(storage, row, d));
                for (; d < a->head_dim; d += 16) {
                        int lanes = a->head_dim - d < 16 ? a->head_dim - d : 16;
                        v_store_n(to + d, attention_columns(row, d, lanes, storage), lanes);
                }
        }
}

/* Turns scores of 16 keys by 16 rows, [key][16], of which count rows are wanted: to [row][ATTENTION_BLOCK]. */
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

/* Scores of keys in rows, from <= j < to of the block. */
KERNEL void attention_scores_in_lanes(const Attention *a, const AttentionTile *t, int64_t block, int from,
                                      int to)
{
        const int storage = a->k_storage, begin = from / 16 * 16;
        for (int j = from; j < to; j += TILE_ROWS) {
                const int64_t key = block + j;
                const int count = to - j < TILE_ROWS ? to - j : TILE_ROWS;
                Factors f = {.x_step = 1, .w = t->q, .w_step = 16, .panels = 1, .storage = STORAGE_F32};
                f.x = storage == STORAGE_F32 ? attention_key(a, t, key, STORAGE_F32) : t->keys;
                f.next = (const char *)(f.x + TILE_ROWS * a->k_key);
                f.next_step = (int64_t)sizeof(float) * TILE_ROWS;
                rows_at(&f, NULL, storage == STORAGE_F32 ? a->k_key : a->head_dim, count, TILE_ROWS);
                if (storage == STORAGE_F32)
                        ;
                STATES(OF_KEYS_IN_ROWS)
                tile_product(t->turned + (j - begin) * 16, 16, &f, a->head_dim, 1, TILE_ROWS, 1);
        }
        for (int j = begin; j < to; j += 16)
                attention_turn(t->s + j, t->turned + (j - begin) * 16, t->count);
}

/* Bounds of all rows within the block that begins at `block`; and of the keys that one of them wants. */
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

/* Those, and the scores of these keys. */
SHARED void attention_scores(const Attention *a, AttentionTile *t, int64_t block)
{
        int from, to;
        attention_bounds(t, block, &from, &to);
        const int storage = a->k_storage;
        if (from >= to)
                return;
        if (a->k_key) {
                attention_scores_in_lanes(a, t, block, from, to);
                return;
        }
        from = from / 16 * 16;
        int64_t panel = a->k_tile, at = block + from - attention_shift(a->key_pages, a->first_key, block);
        int width = t->count == 1 ? ONE_PANELS : t->count <= 4 ? FEW_PANELS : TILE_PANELS;
        Factors f = {.x = t->q, .x_step = 1, .w_panel = panel, .w_step = 16, .storage = a->k_storage};
        rows_at(&f, NULL, a->head_dim, TILE_ROWS, TILE_ROWS);
        f.w = (const char *)a->k + bytes_of(a->k_storage, t->kv * a->k_head + at / 16 * a->k_tile);
        f.next = (const char *)f.w + bytes_of(a->k_storage, width * panel);
        f.next_panel = bytes_of(a->k_storage, panel);
        f.next_step = bytes_of(a->k_storage, 16);
        if (0)
                ;
        STATES(OF_KEYS)
}

/* Scores of all rows in place to probabilities; their sums. */
SHARED void attention_probabilities(const Attention *a, AttentionTile *t)
{
        const v16 masked = v_set1(-FLOAT_INF), zero = v_set1(0);
        for (int i = 0; i < t->count && !a->no_softmax; i++) {
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

/* Scores of row i as the formula has them of those `given`; their maximum, and the number of live keys. */
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

/* Values of a key. */
KERNEL const void *attention_value(const Attention *a, const AttentionTile *t, int64_t key, int storage)
{
        const int64_t block = key / ATTENTION_BLOCK * ATTENTION_BLOCK;
        int64_t at =
                t->kv * a->v_head + (key - attention_shift(a->value_pages, a->first_value, block)) * a->v_key;
        return (const char *)a->v + bytes_of(storage, at);
}

/* block_o += p_j v_j over keys from <= j < to of the block, live in each of `count` rows from row i on; whole
 * vectors of v_dim. */
KERNEL void attention_values_of(const Attention *a, const AttentionTile *t, int64_t block, int i, int count,
                                int from, int to)
{
        const int storage = a->v_storage;
        if (from >= to)
                return;
        Factors f = {.w = attention_value(a, t, block + from, a->v_storage),
                     .x_step = 1,
                     .w_panel = 16,
                     .w_step = a->v_key,
                     .storage = a->v_storage};
        rows_at(&f, NULL, ATTENTION_BLOCK, TILE_ROWS, TILE_ROWS);
        f.next = (const char *)f.w + bytes_of(a->v_storage, 16 * a->v_key);
        f.next_panel = bytes_of(a->v_storage, 16);
        f.next_step = bytes_of(a->v_storage, a->v_key);
        for (int end = i + count; i < end; i += TILE_ROWS) {
                const int rows = end - i < TILE_ROWS ? end - i : TILE_ROWS;
                f.x = t->s + i * ATTENTION_BLOCK + from;
                if (0)
                        ;
                STATES(OF_VALUES)
        }
}

/* block_o[i] from column c on: the chain over row i's live keys, one by one. */
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

/* The values of a block of keys weighed by the probabilities.  Keys that live in every row go
 * through the register tile, those before and behind row by row; a row with holes, and columns beyond the
 * whole vectors, key by key. */
SHARED void attention_values(const Attention *a, const AttentionTile *t, int64_t block)
{
        const int storage = a->v_storage;
        int first = 0, end = 0, whole[16] = {0}, most = ATTENTION_ROWS(a->k_key),
            rows = t->count == 1   ? 1
                   : t->count <= 4 ? 4
                                   : most;
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
        for (int piece = 0; piece <= 2 * t->count; piece++) { /* all three in one place: less code */
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
                STATES(OF_LIVE_VALUES)
        }
}

/* Takes the block into row i. */
KERNEL void attention_merge(const Attention *a, AttentionTile *t, int i)
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
        if (a->no_softmax) {
                for (int d = 0; d < t->width; d += 16)
                        v_store(o + d, v_add(v_load(o + d), v_load(block_o + d)));
                return;
        }
        float m = t->m[i] > t->block_m[i] ? t->m[i] : t->block_m[i];
        float lane[16];
        v_store(lane, v_exp(v_where(v_iota(0), v_set1(t->block_m[i] - m), v_set1(t->m[i] - m))));
        v16 c = v_set1(lane[0]), block_c = v_set1(lane[1]);
        t->m[i] = m;
        v_store(l, v_fma(v_load(block_l), block_c, v_mul(v_load(l), c)));
        for (int d = 0; d < t->width; d += 16)
                v_store(o + d, v_fma(v_load(block_o + d), block_c, v_mul(v_load(o + d), c)));
}

/* The sink joins row i: what its outputs are multiplied by; the sum becomes that of all. */
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
        v16 sum = t->begun[i] && !a->no_softmax ? v_set1(v_sum(v_load(t->l + i * 16))) : v_set1(1), by = v_set1(1);
        if (a->sink && t->begun[i])
                by = attention_sink(a, t, i, &sum);
        for (int d = 0; d < a->v_dim; d += 16) {
                v16 o = t->begun[i] ? v_mul(v_load(t->o + i * t->width + d), by) : v_set1(a->dead);
                v_store_n(out + d, v_div(o, sum), a->v_dim - d < 16 ? a->v_dim - d : 16);
        }
}

/* Keeps row i's block for attention_join(). */
KERNEL void attention_keep(const AttentionTile *t, int i, float *kept)
{
        for (int d = 0; d < t->width; d += 16)
                v_store(kept + d, v_load(t->block_o + i * t->width + d));
        kept += t->width;
        v_store(kept, v_load(t->block_l + i * 16));
        kept[16] = t->block_m[i];
        kept[17] = (float)t->live[i];
}

/* Takes the block into all rows, or keeps it. */
SHARED void attention_take(const Attention *a, const AttentionShare *s, AttentionTile *t, int64_t block)
{
        for (int i = 0; i < t->count; i++)
                if (s->parts)
                        attention_keep(t, i,
                                       attention_part(a, s, attention_head(a, t, i),
                                                      block / ATTENTION_BLOCK - s->first));
                else if (t->live[i] > 0)
                        attention_merge(a, t, i);
}

SHARED void attention_finish_rows(const Attention *a, const AttentionTile *t)
{
        for (int i = 0; i < t->count; i++)
                attention_finish(a, t, i);
}

/* Blocks of one tile, from key `begin` on, before key `end`. */
KERNEL void attention_blocks(const Attention *a, Score *score, const AttentionShare *s, AttentionTile *t,
                             int64_t begin, int64_t end)
{
        for (int64_t block = begin; block < end; block += ATTENTION_BLOCK) {
                attention_scores(a, t, block);
                for (int i = 0; i < t->count; i++)
                        if (t->from[i] < t->to[i])
                                attention_formula(a, score, t, i, block, t->s + i * ATTENTION_BLOCK, 0);
                attention_probabilities(a, t);
                attention_values(a, t, block);
                attention_take(a, s, t, block);
        }
}

/* A tile in scratch, all of which is 0. */
KERNEL AttentionTile attention_tile(const Attention *a, float *scratch)
{
        const int width = (a->v_dim + 15) / 16 * 16, most = ATTENTION_ROWS(a->k_key);
        AttentionTile t = {.width = width, .q = scratch};
        t.s = t.q + most * a->head_dim;
        t.o = t.s + most * ATTENTION_BLOCK;
        t.block_o = t.o + most * width;
        t.l = t.block_o + most * width;
        t.block_l = t.l + most * 16;
        t.keys = t.block_l + most * 16;
        t.turned = t.keys + TILE_ROWS * a->head_dim;
        for (int64_t j = 0; j < ATTENTION_SCRATCH(a->head_dim, a->v_dim, a->k_key); j++)
                scratch[j] = 0;
        return t;
}

/*
 * A thread's share of the attention of `rows` rows, positions first_row on, over a->keys keys.
 * Dimensions, score and live are literals.  scratch is [ATTENTION_SCRATCH(head_dim, v_dim, k_key)], one for each
 * thread.  Reads keys in tiles up to the next multiple of 16 (what they hold is of no account), those in rows only within the bounds of
 * some row, and values only of keys that live in some row.
 */
KERNEL void attention(const Attention *a, Score *score, Live *live, int64_t rows, const AttentionShare *s,
                      float *scratch)
{
        const int most = ATTENTION_ROWS(a->k_key);
        int64_t list = rows * (a->heads / a->kv_heads), tiles = (list + most - 1) / most;
        AttentionTile t = attention_tile(a, scratch);
        for (int64_t at = s->begin, next; at < s->end; at = next) {
                const int64_t unit = at / s->count;
                int64_t lo = a->keys, hi = 0;
                next = (unit + 1) * s->count < s->end ? (unit + 1) * s->count : s->end;
                t.kv = (int)(unit / tiles);
                t.first = unit % tiles * most;
                t.count = list - t.first < most ? (int)(list - t.first) : most;
                attention_begin(a, live, &t);
                for (int i = 0; i < t.count; i++) {
                        lo = t.lo[i] < lo ? t.lo[i] : lo;
                        hi = t.hi[i] > hi ? t.hi[i] : hi;
                }
                if (s->parts) {
                        lo = (s->first + at % s->count) * ATTENTION_BLOCK;
                        hi = lo + (next - at) * ATTENTION_BLOCK;
                }
                attention_blocks(a, score, s, &t, lo / ATTENTION_BLOCK * ATTENTION_BLOCK, hi);
                if (!s->parts)
                        attention_finish_rows(a, &t);
        }
}

/* By blocks: when all threads have done their shares, each merges the blocks of some heads, in ascending order.  Nobody goes on before all
 * have read what the others kept. */
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
                for (int64_t at = 0; at < s->count; at++) {
                        t.block_o = attention_part(a, s, head, at);
                        t.block_l = t.block_o + width;
                        t.block_m[0] = t.block_l[16];
                        if (t.block_l[17] > 0)
                                attention_merge(a, &t, 0);
                }
                attention_finish(a, &t, 0);
        }
        team_barrier(team);
}

/* Puts one key, row [head_dim], at its position into k [ceil(capacity / 16)][head_dim][16]. */
KERNEL void store_k16(float *k, int64_t position, const float *row, int head_dim)
{
        float *key = k + position / 16 * 16 * head_dim + position % 16;
        for (int d = 0; d < head_dim; d++)
                key[d * 16] = row[d];
}
