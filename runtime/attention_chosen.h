/*
 * Attention that reads chosen keys only: each row has a list of the indices of keys, ascending, and no other key has a weight.
 *
 * The list takes the place of the positions of attention.h: a block is 256 entries of the list, entry e is in lane e mod 16, and everything
 * else is as there.  So every bit is defined, and the work does not depend on the number of keys.  Where the list has all keys from
 * 0 on, the bits are those of attention(), too.
 *
 * Keys and values of a block are copied to scratch once for all heads that share them, keys into tiles as the micro-kernel reads them:
 *
 *      list    3  17  18  90 ..         a block: up to 256 entries
 *      keys    k3 k17 k18 k90 ..        [16 tiles][head_dim][16]          ── all tiles of heads: scores, probabilities
 *      values  v3 v17 v18 v90 ..        [256][v_dim]                      ── and weighted sums
 *
 * A unit of work is a tile of query heads of one key head, in one row; up to CHOSEN_TILES of them share copies.  Keys are in rows.  Needs attention.h.
 */

/* Writes n numbers of a key or value to floats. */
KERNEL void chosen_copy(float *to, const void *row, int n, int storage)
{
        int d = 0;
#if HAS_CODES
        for (; is_kept(storage) && d + 16 <= n; d += 16)
                v_store(to + d, v_load_kept(storage, row, d));
#endif
        for (; d < n; d += 16) {
                const int lanes = n - d < 16 ? n - d : 16;
                v_store(to + d, attention_columns(row, d, lanes, storage));
        }
}

#define COPY_CHOSEN(of) else if (storage == (of)) chosen_copy(to, value ? attention_value(a, t, key, of) : attention_key(a, t, key, of), n, of);

/* Copies one key, or its value, as floats. */
SHARED void chosen_row(float *to, const Attention *a, const AttentionTile *t, int64_t key, int value)
{
        const int n = value ? a->v_dim : a->head_dim;
#if HAS_NARROW_STATES
        const int storage = value ? a->v_storage : a->k_storage;
        if (0)
                ;
        STATES(COPY_CHOSEN)
#else
        chosen_copy(to, value ? attention_value(a, t, key, STORAGE_F32) : attention_key(a, t, key, STORAGE_F32), n,
                    STORAGE_F32);
#endif
}

/* 16 keys in rows, `row` floats apart, to a tile [head_dim][16]. */
KERNEL void chosen_turn(float *to, const float *keys, int64_t row, int head_dim)
{
        for (int d = 0; d < head_dim; d += 4) {
                v16 x[4];
                UNROLL
                for (int i = 0; i < 4; i++)
                        x[i] = v_load_quarters(keys + i * row + d, 4 * row);
                v_turn_quarters(x);
                UNROLL
                for (int i = 0; i < 4; i++)
                        if (d + i < head_dim)
                                v_store(to + (d + i) * 16, x[i]);
        }
}

typedef struct {
        const float *list; /* [count] of the row */
        int64_t count;     /* without the -1 at its end */
        float *rows;       /* [16][head_dim, in whole vectors] */
        float *keys;       /* [16][head_dim][16] */
        float *values;     /* [256][width] */
} ChosenBlock;

/* Copies the entries from <= j < to of the block of the list from `block` on; lanes around them repeat the first and the last. */
SHARED void chosen_gather(const ChosenBlock *c, const Attention *a, const AttentionTile *t, int64_t block, int from, int to)
{
        const int64_t row = (a->head_dim + 15) / 16 * 16;
        for (int j = from / 16 * 16; j < to; j += 16) {
                for (int i = 0; i < 16; i++) {
                        const int entry = j + i < from ? from : j + i < to ? j + i : to - 1;
                        chosen_row(c->rows + i * row, a, t, (int64_t)c->list[block + entry], 0);
                }
                chosen_turn(c->keys + (int64_t)j * a->head_dim, c->rows, row, a->head_dim);
        }
        for (int j = from; j < to; j++)
                chosen_row(c->values + (int64_t)j * t->width, a, t, (int64_t)c->list[block + j], 1);
}

/* The first entry of the list that is at least `key`. */
KERNEL int64_t chosen_entry(const float *list, int64_t count, int64_t key)
{
        int64_t low = 0;
        while (low < count) {
                const int64_t middle = low + (count - low) / 2;
                if ((int64_t)list[middle] < key)
                        low = middle + 1;
                else
                        count = middle;
        }
        return low;
}

/* The formula of scores that depend on the key's index, key by key, in place. */
KERNEL void chosen_formula(const ChosenBlock *c, const Attention *a, Score *score, const AttentionTile *t, int i, int64_t block)
{
        const int head = a->first_head + attention_head(a, t, i);
        const int64_t row = a->first_row + attention_row(a, t, i);
        float *s = t->s + i * ATTENTION_BLOCK, lane[16] = {0};
        for (int j = t->from[i]; j < t->to[i]; j++) {
                const int64_t key = (int64_t)c->list[block + j];
                lane[key % 16] = s[j];
                v_store(lane, score(a->ctx, lane, 0, head, row, key - key % 16));
                s[j] = lane[key % 16];
        }
}

/* Scores that are final. */
KERNEL v16 chosen_score(const void *ctx UNUSED, const float *s, int64_t s_apart UNUSED, int head UNUSED, int64_t row UNUSED,
                        int64_t col UNUSED)
{
        return v_load(s);
}

/* Computes a tile's results of the block of the list from `block` on, and merges them.  g: with the copies as keys and values. */
KERNEL void chosen_block(const ChosenBlock *c, const Attention *g, Score *score, AttentionTile *t, int64_t block)
{
        attention_scores(g, t, 0);
        for (int i = 0; i < t->count; i++) {
                if (t->from[i] >= t->to[i])
                        continue;
                if (g->by_column) {
                        chosen_formula(c, g, score, t, i, block);
                        attention_formula(g, chosen_score, t, i, 0, t->s + i * ATTENTION_BLOCK, 0);
                } else {
                        attention_formula(g, score, t, i, 0, t->s + i * ATTENTION_BLOCK, 0);
                }
        }
        attention_probabilities(t);
        attention_values(g, t, 0);
        attention_merge_rows(t);
}

/* Initialises tile i of a list's heads, whose first one is number `first` of the key head, in row `row`.  Bounds are in entries of the list. */
KERNEL void chosen_begin(const ChosenBlock *c, const Attention *a, const Attention *g, Live *live, AttentionTile *t, int64_t row,
                         int first)
{
        const int share = a->heads / a->kv_heads, rows = TILE_ROWS;
        const int64_t held = attention_held(a);
        for (int j = 0; j < rows * (a->head_dim + t->width + 16); j++)
                t->q[j] = 0;
        t->first = row * share + first;
        t->count = share - first < rows ? share - first : rows;
        attention_begin(g, live, t);
        for (int i = 0; i < t->count; i++) {
                const int64_t lo = t->lo[i] > held ? t->lo[i] : held;
                t->lo[i] = chosen_entry(c->list, c->count, lo);
                t->hi[i] = chosen_entry(c->list, c->count, t->hi[i]);
        }
}

/*
 * A thread's share of `rows` rows.  Dimensions, score and live are literals.  scratch is [CHOSEN_SCRATCH(head_dim, v_dim, ..)] of the thread.
 */
KERNEL void attention_chosen(const Attention *a, Score *score, Live *live, int64_t rows UNUSED, const AttentionShare *s,
                             float *scratch)
{
        const int tiles = CHOSEN_TILES_OF(a->heads, a->kv_heads, TILE_ROWS), width = (a->v_dim + 15) / 16 * 16;
        AttentionTile tile[CHOSEN_TILES] = {{0}};
        ChosenBlock c = {.rows = scratch};
        Attention g = *a;
        c.keys = c.rows + 16 * ((a->head_dim + 15) / 16 * 16);
        c.values = c.keys + ATTENTION_BLOCK * a->head_dim;
        g.k = c.keys;
        g.k_head = g.v_head = g.k_key = 0;
        g.k_tile = INT64_C(16) * a->head_dim;
        g.v = c.values;
        g.v_key = width;
#if HAS_NARROW_STATES
        g.k_storage = g.v_storage = STORAGE_F32;
#endif
#if HAS_MOVED_KEYS
        g.first_key = g.first_value = 0;
        g.key_pages = g.value_pages = NULL;
#endif
        float *common = c.values + ATTENTION_BLOCK * width, *own = common + TILE_ROWS * (ATTENTION_BLOCK + width + 16);
        for (int j = 0; j < TILE_ROWS * (ATTENTION_BLOCK + width + 16); j++)
                common[j] = 0;
        for (int i = 0; i < CHOSEN_TILES; i++) {
                AttentionTile *t = &tile[i];
                t->width = width;
                t->s = common;
                t->block_o = t->s + TILE_ROWS * ATTENTION_BLOCK;
                t->block_l = t->block_o + TILE_ROWS * width;
                t->q = own + (int64_t)i * TILE_ROWS * (a->head_dim + width + 16);
                t->o = t->q + TILE_ROWS * a->head_dim;
                t->l = t->o + TILE_ROWS * width;
#if HAS_PLAIN_WEIGHTS
                t->no_softmax = a->no_softmax;
#endif
        }
        for (int64_t unit = s->begin, next; unit < s->end; unit = next) {
                const int64_t row = unit / tiles / a->kv_heads, first = unit % tiles;
                int64_t lo = a->list_count, hi = 0;
                next = unit - first + tiles;
                next = next < s->end ? next : s->end;
                next = next < unit + CHOSEN_TILES ? next : unit + CHOSEN_TILES;
                const int kv = (int)(unit / tiles % a->kv_heads), count = (int)(next - unit);
                c.list = a->key_list + row * a->list_row + kv * a->list_head;
                c.count = a->list_count;
                while (c.count > 0 && c.list[c.count - 1] < 0)
                        c.count--;
                for (int i = 0; i < count; i++) {
                        AttentionTile *t = &tile[i];
                        t->kv = kv;
                        chosen_begin(&c, a, &g, live, t, row, (int)(first + i) * TILE_ROWS);
                        for (int j = 0; j < t->count; j++) {
                                lo = t->lo[j] < lo ? t->lo[j] : lo;
                                hi = t->hi[j] > hi ? t->hi[j] : hi;
                        }
                }
                for (int64_t block = 0; block < hi; block += ATTENTION_BLOCK) {
                        const int from = lo > block ? (int)(lo - block) : 0,
                                  to = hi - block < ATTENTION_BLOCK ? (int)(hi - block) : ATTENTION_BLOCK;
                        if (from < ATTENTION_BLOCK)
                                chosen_gather(&c, a, &tile[0], block, from, to);
                        for (int i = 0; i < count; i++) {
                                if (from < ATTENTION_BLOCK)
                                        chosen_block(&c, &g, score, &tile[i], block);
                                for (int j = 0; j < tile[i].count; j++) { /* bounds count from the next block on */
                                        tile[i].lo[j] -= ATTENTION_BLOCK;
                                        tile[i].hi[j] -= ATTENTION_BLOCK;
                                }
                        }
                }
                for (int i = 0; i < count; i++)
                        attention_finish_rows(a, &tile[i]);
        }
}
