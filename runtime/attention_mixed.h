/*
 * Attention whose heads are mixed before and after the softmax (Shazeer et al. 2020, "Talking-Heads Attention"): for one row,
 *
 *      out_h = sum over j of weigh_h(p_0j, p_1j, ..) v_hj      p_hj = softmax over j of score_h(q_0 k_0j, q_1 k_1j, ..)
 *
 * where score_h and weigh_h take the values of all heads at one row and one key.  A tile of rows of all heads is one unit of work: the scores
 * of a block of 256 keys are mixed at once, and exp(s - the block's maximum) is kept in scratch until the sums of whole rows are known.
 *
 *      q_0 k_0 ─┐          ┌─ exp(s_0 - m_b) ─┐                       ┌─ w_0 ─► w_0 v_0
 *      q_1 k_1 ─┼─ score ──┼─ exp(s_1 - m_b) ─┼─ * exp(m_b - m) / l ──┼─ w_1 ─► w_1 v_1
 *      ..       ┘  a block └─ ..              ┘  once m and l are     └─ ..
 *                                                known: weigh
 *
 * Every bit is defined.  Scores, m_b, l_b and their merging to m and l are those of attention.h; then, l the tree sum of its lanes,
 *
 *      p_j    = exp(s_j - m_b) * (exp(m_b - m) / l) where s_j != -inf; 0 elsewhere (or NaN: `dead`, if all keys of the head's row are masked)
 *      w_j    = weigh(p_j of all heads)
 *      o_b[d] = fma chain of w_j v_j[d], j ascending from +0, over the keys that are visible in at least one head, or over all (`all_weigh`)
 *      out    = o_0 + o_1 + .., over the blocks that have such keys, ascending
 *
 * The bounds of a row are those of all its heads, and each head has keys and values (heads == kv_heads; their addresses may be equal).
 * There is no sink.  Needs attention.h.
 */

/* Floats of scratch of each thread for `blocks` blocks of keys; and of the scratch that all threads share for one row. */
#define MIXED_ROW(heads, blocks) ((heads) * (blocks) * (ATTENTION_BLOCK + 2 * 16))
#define MIXED_SCRATCH(heads, head_dim, v_dim, k_key, blocks)                                                 \
        (ATTENTION_SCRATCH(head_dim, v_dim, k_key) +                                                         \
         ((k_key) ? 16 : TILE_ROWS) * (MIXED_ROW(heads, blocks) + ATTENTION_BLOCK +                               \
                                  (heads) * (ATTENTION_BLOCK + ((v_dim) + 15) / 16 * 16 + 2)))
#define MIXED_PARTS(heads, v_dim, blocks)                                                                    \
        ((heads) * (blocks)*ATTENTION_PART(v_dim) + MIXED_ROW(heads, blocks))

/* A tile of rows of all heads. */
typedef struct {
        AttentionTile t; /* one head at a time; visible keys, bounds and rows are those of all heads */
        int rows;        /* rows of soft_of and kept */
        int64_t first;   /* first block of soft_of and kept */
        float *soft_of; /* [blocks][heads][rows][ATTENTION_BLOCK]: exp(s - the block's maximum), -inf where masked; then p */
        float *kept; /* [blocks][heads][rows][32]: sums, maximum and number of visible keys of a block */
        float *given; /* [heads][ATTENTION_ROWS][ATTENTION_BLOCK]: unmixed scores of a block; its weights */
        float *key_hidden; /* [ATTENTION_ROWS][ATTENTION_BLOCK]: 1 where a key of the block is masked in all heads */
        float *o;      /* [heads][ATTENTION_ROWS][width] */
        float *total;  /* [heads][ATTENTION_ROWS][2]: maximum and sum of whole rows; 0: all keys are masked */
} MixedTile;

KERNEL MixedTile mixed_tile(const Attention *a, const AttentionShare *s, float *scratch)
{
        const int most = ATTENTION_ROWS(a);
        MixedTile x = {.t = attention_tile(a, scratch), .rows = s->parts ? 1 : most};
        x.given = x.t.end;
        x.key_hidden = x.given + a->heads * most * ATTENTION_BLOCK;
        x.o = x.key_hidden + most * ATTENTION_BLOCK;
        x.total = x.o + a->heads * most * x.t.width;
        x.kept = x.total + a->heads * most * 2;
        if (s->parts)
                x.kept = s->parts + a->heads * s->count * ATTENTION_PART(a->v_dim);
        for (int64_t j = 0; j < (int64_t)a->heads * most * ATTENTION_BLOCK; j++)
                x.given[j] = 0;
        return x;
}

/* Sets the tile's scratch for `blocks` blocks of keys from block number `first` on. */
KERNEL void mixed_place(const Attention *a, MixedTile *x, int64_t first, int64_t blocks)
{
        x->first = first;
        x->soft_of = x->kept + blocks * a->heads * x->rows * 32;
}

KERNEL float *mixed_soft(const Attention *a, const MixedTile *x, int64_t block, int head)
{
        return x->soft_of + ((block / ATTENTION_BLOCK - x->first) * a->heads + head) * x->rows * ATTENTION_BLOCK;
}

KERNEL float *mixed_kept(const Attention *a, const MixedTile *x, int64_t block, int head)
{
        return x->kept + ((block / ATTENTION_BLOCK - x->first) * a->heads + head) * x->rows * 32;
}

/* Mixes a block's scores of all heads, and computes each head's exponentials, sums and maximum. */
KERNEL void mixed_soften(const Attention *a, Score *score, Live *live, MixedTile *x, int64_t block)
{
        AttentionTile *t = &x->t;
        const int64_t s_apart = ATTENTION_ROWS(a) * ATTENTION_BLOCK;
        for (t->kv = 0; t->kv < a->heads; t->kv++) {
                t->s = x->given + t->kv * s_apart;
                attention_begin(a, live, t);
                attention_scores(a, t, block);
        }
        for (t->kv = 0; t->kv < a->heads; t->kv++) {
                float *kept = mixed_kept(a, x, block, t->kv);
                t->s = mixed_soft(a, x, block, t->kv);
                for (int i = 0; i < t->count; i++)
                        if (t->from[i] < t->to[i])
                                attention_formula(a, score, t, i, block, x->given + i * ATTENTION_BLOCK,
                                                  s_apart);
                attention_probabilities(t);
                for (int i = 0; i < t->count; i++) {
                        v_store(kept + i * 32, v_load(t->block_l + i * 16));
                        kept[i * 32 + 16] = t->block_m[i];
                        kept[i * 32 + 17] = (float)t->live[i];
                        t->live[i] = 0;
                }
        }
}

/* Maximum and sum of all rows, from those of the blocks. */
SHARED void mixed_total(const Attention *a, MixedTile *x, int64_t blocks)
{
        AttentionTile t = x->t;
        t.width = 0;
        for (int head = 0; head < a->heads; head++)
                for (int i = 0; i < t.count; i++) {
                        float *total = x->total + (head * ATTENTION_ROWS(a) + i) * 2;
                        t.begun[i] = 0;
                        for (int64_t b = 0; b < blocks; b++) {
                                float *kept =
                                        mixed_kept(a, x, (x->first + b) * ATTENTION_BLOCK, head) + i * 32;
                                t.block_l = kept - i * 16;
                                t.block_m[i] = kept[16];
                                if (kept[17] > 0)
                                        attention_merge(&t, i);
                        }
                        total[0] = t.begun[i] ? t.m[i] : 0;
                        total[1] = t.begun[i] ? v_sum(v_load(t.l + i * 16)) : 0;
                }
}

/* Scales row i's exponentials of the block to probabilities, in place; finds the keys that are masked in all heads. */
KERNEL void mixed_probabilities(const Attention *a, const MixedTile *x, int i, int64_t block, int all_weigh)
{
        const v16 masked = v_set1(-FLOAT_INF), one = v_set1(1);
        float *key_hidden = x->key_hidden + i * ATTENTION_BLOCK;
        for (int head = 0; head < a->heads; head++) {
                const float *total = x->total + (head * ATTENTION_ROWS(a) + i) * 2;
                const float *kept = mixed_kept(a, x, block, head) + i * 32;
                float *p = mixed_soft(a, x, block, head) + i * ATTENTION_BLOCK;
                const v16 power = v_exp(v_set1(kept[17] > 0 ? kept[16] - total[0] : 0));
                const v16 by = v_div(power, v_set1(total[1] == 0 ? 1 : total[1]));
                const v16 none = v_set1(total[1] == 0 ? a->dead : 0);
                const v16 may_hide = v_set1(all_weigh || (total[1] == 0 && a->dead != 0) ? 0 : 1);
                for (int j = x->t.from[i] / 16 * 16; j < x->t.to[i]; j += 16) {
                        v16 e = v_load(p + j), is_masked = v_le(e, masked);
                        v_store(p + j, v_where(is_masked, none, v_mul(e, by)));
                        v_store(key_hidden + j, v_mul(v_mul(is_masked, may_hide), head ? v_load(key_hidden + j) : one));
                }
        }
}

/* The weights of one head's row i.  Returns the number of keys with weights. */
KERNEL void mixed_weights(const Attention *a, Score *weight_of, MixedTile *x, int i, int64_t block)
{
        AttentionTile *t = &x->t;
        const v16 masked = v_set1(-FLOAT_INF), zero = v_set1(0), one = v_set1(1);
        const v16 from = v_set1((float)t->from[i]), to = v_set1((float)t->to[i]);
        const int64_t row = a->first_row + attention_row(a, t, i), s_apart = x->rows * ATTENTION_BLOCK;
        const float *p = mixed_soft(a, x, block, 0) + i * ATTENTION_BLOCK;
        float *w = t->s + i * ATTENTION_BLOCK;
        v16 dead = zero;
        int lanes = 0;
        for (int j = t->from[i] / 16 * 16; j < t->to[i]; j += 16, lanes += 16) {
                v16 key = v_iota((float)j), key_hidden = v_load(x->key_hidden + i * ATTENTION_BLOCK + j);
                key_hidden = v_where_lt(key, from, one, v_where_lt(key, to, key_hidden, one));
                v16 y = weight_of(a->ctx, p + j, s_apart, a->first_head + t->kv, row, block + j);
                dead = v_add(dead, key_hidden);
                v_store(w + j, v_where(key_hidden, masked, y));
        }
        t->live[i] = lanes - (int)v_sum(dead);
}

/* Adds a block's weighted values of all heads to those of previous blocks, or stores them separately. */
KERNEL void mixed_values(const Attention *a, const AttentionShare *s, Score *weight_of, MixedTile *x,
                         int64_t block, int all_weigh)
{
        AttentionTile *t = &x->t;
        int begun[16], from, to;
        attention_bounds(t, block, &from, &to);
        for (int i = 0; i < t->count; i++) {
                begun[i] = t->begun[i];
                mixed_probabilities(a, x, i, block, all_weigh);
        }
        for (t->kv = 0; t->kv < a->heads; t->kv++) {
                t->s = x->given + t->kv * ATTENTION_ROWS(a) * ATTENTION_BLOCK;
                t->o = x->o + t->kv * ATTENTION_ROWS(a) * t->width;
                for (int i = 0; i < t->count; i++) {
                        t->begun[i] = begun[i];
                        mixed_weights(a, weight_of, x, i, block);
                }
                attention_values(a, t, block);
                t->no_softmax = 1;
                attention_take(a, s, t, block);
                t->no_softmax = 0;
        }
}

/* A thread's share: some of the tiles; or some of the blocks of one row, whose results go to parts. */
KERNEL void mixed_share(AttentionShare *s, const Attention *a, Live *live, int64_t rows, float *parts,
                        int thread, int threads)
{
        const int64_t tiles = ATTENTION_UNITS(1, 1, rows, ATTENTION_ROWS(a));
        int64_t first = 0, count = rows == 1 && parts && threads > 1 ? attention_touched(a, live, &first) : 0;
        *s = (AttentionShare){.begin = 0};
        if (count > 1)
                *s = (AttentionShare){.first = first, .count = count, .parts = parts};
        s->begin = share(count > 1 ? count : tiles, thread, threads);
        s->end = share(count > 1 ? count : tiles, thread + 1, threads);
}

/* Blocks [begin, end) of the tile's `blocks` blocks. */
KERNEL void mixed_tile_blocks(const Attention *a, Score *score, Score *weight_of, Live *live,
                              const AttentionShare *s, MixedTile *x, int64_t begin, int64_t end,
                              int64_t blocks, int all_weigh, Team *team)
{
        for (int64_t b = begin; b < end; b++)
                mixed_soften(a, score, live, x, (x->first + b) * ATTENTION_BLOCK);
        if (s->parts)
                team_barrier(team);
        x->t.kv = 0;
        attention_begin(a, live, &x->t);
        mixed_total(a, x, blocks);
        for (int64_t b = begin; b < end; b++)
                mixed_values(a, s, weight_of, x, (x->first + b) * ATTENTION_BLOCK, all_weigh);
}

/*
 * The work of one thread.  all_weigh: weight_of() of zeros may differ from 0, so that all keys within the bounds have weights.  scratch is
 * [MIXED_SCRATCH(heads, head_dim, v_dim, k_key, blocks)], one for each thread; the shared parts are [MIXED_PARTS(heads, v_dim, blocks)].
 * Threads meet in barriers before parts are read.
 */
KERNEL void attention_mixed(const Attention *a, Score *score, Score *weight_of, Live *live, int64_t rows,
                            const AttentionShare *s, int all_weigh, float *scratch, Team *team, int thread,
                            int threads)
{
        const int most = ATTENTION_ROWS(a);
        MixedTile x = mixed_tile(a, s, scratch);
        Attention a_sums = *a;
        a_sums.no_softmax = 1;
        for (int64_t tile = s->parts ? 0 : s->begin; tile < (s->parts ? 1 : s->end); tile++) {
                int64_t lo = a->keys, hi = 0, begin = s->begin, end = s->end;
                x.t.first = tile * most;
                x.t.count = rows - x.t.first < most ? (int)(rows - x.t.first) : most;
                x.t.kv = 0;
                attention_begin(a, live, &x.t);
                for (int i = 0; i < x.t.count; i++) {
                        lo = x.t.lo[i] < lo ? x.t.lo[i] : lo;
                        hi = x.t.hi[i] > hi ? x.t.hi[i] : hi;
                }
                const int64_t first = s->parts ? s->first : lo / ATTENTION_BLOCK;
                const int64_t blocks = s->parts  ? s->count
                                       : lo < hi ? (hi + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK - first
                                                 : 0;
                if (!s->parts) {
                        begin = 0;
                        end = blocks;
                }
                mixed_place(a, &x, first, blocks);
                mixed_tile_blocks(a, score, weight_of, live, s, &x, begin, end, blocks, all_weigh, team);
                for (x.t.kv = 0; x.t.kv < a->heads && !s->parts; x.t.kv++) {
                        x.t.o = x.o + x.t.kv * most * x.t.width;
                        attention_finish_rows(&a_sums, &x.t);
                }
        }
        attention_join(&a_sums, s, scratch, team, thread, threads);
}
