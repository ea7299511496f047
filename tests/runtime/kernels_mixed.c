/*
 * runtime/attention_mixed.h against its definition in plain C, to the bit: heads mixed before and behind the softmax, bounds and holes,
 * holes in some heads alone, keys that weigh though they are masked, rows without a live key, chunks and rows against the whole, blocks of
 * one row shared by threads.
 */
#include <pthread.h>

#include "kernels.h"

#include "../../runtime/attention.h"
#include "../../runtime/attention_mixed.h"

enum { MAX_KEYS = 800, MAX_HEADS = 8 };

/* q [rows][heads][head_dim], k [keys][heads][head_dim], v [keys][heads][v_dim], out [rows][heads][v_dim] */
typedef struct {
        int heads, head_dim, v_dim, rows, keys, window, holes, all, all_weigh, in_rows;
        float dead;
        float *q, *k, *v, *packed, *out, *expected;
        float before[MAX_HEADS * MAX_HEADS], behind[MAX_HEADS * MAX_HEADS], bias[MAX_HEADS]; /* [from][to] */
} Case;

static void bounds(const Case *c, int64_t row, int64_t *lo, int64_t *hi)
{
        if (c->all)
                return;
        *hi = row + 1 < *hi ? row + 1 : *hi;
        if (c->window && *hi - c->window > *lo)
                *lo = *hi - c->window;
}

KERNEL void live_keys(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi)
{
        (void)head;
        bounds(ctx, row, lo, hi);
}

/* Is the key masked by the formula: in no head, some, or all of them? */
static int is_hole(const Case *c, int head, int64_t row, int64_t col)
{
        if (!c->holes)
                return 0;
        return (row + col) % 7 == 0 || (col + head) % 5 == 0 || (col >= 256 && col < 512) || row % 9 == 2 ||
               (row % 9 == 3 && head == 1);
}

/* A chain over the heads, ascending from +0, and what is added to it. */
KERNEL v16 mix(const float *by, const float *s, int64_t apart, int heads, int head)
{
        v16 sum = v_set1(0);
        for (int h = 0; h < heads; h++)
                sum = v_fma(v_load(s + h * apart), v_set1(by[h * heads + head]), sum);
        return sum;
}

KERNEL v16 mixed_score(const void *ctx, const float *s, int64_t apart, int head, int64_t row, int64_t col)
{
        const Case *c = ctx;
        float hole[16];
        for (int i = 0; i < 16; i++)
                hole[i] = (float)is_hole(c, head, row, col + i);
        return v_where(v_load(hole), v_set1(-INFINITY), mix(c->before, s, apart, c->heads, head));
}

KERNEL v16 mixed_weight(const void *ctx, const float *s, int64_t apart, int head, int64_t row, int64_t col)
{
        const Case *c = ctx;
        (void)row;
        (void)col;
        v16 y = mix(c->behind, s, apart, c->heads, head);
        return c->all_weigh ? v_add(y, v_set1(c->bias[head])) : y;
}

/* What is known of one head's row. */
typedef struct {
        float s[MAX_KEYS], p[MAX_KEYS], m[MAX_KEYS / ATTENTION_BLOCK + 1];
        int live;
} Row;

/* Powers within blocks, and from their maxima and sums the probabilities of the row. */
static void define_probabilities(const Case *c, Row *r)
{
        float m = 0, l[16] = {0};
        r->live = 0;
        for (int b = 0; b * ATTENTION_BLOCK < c->keys; b++) {
                float block_l[16] = {0};
                int live = 0, end = (b + 1) * ATTENTION_BLOCK < c->keys ? (b + 1) * ATTENTION_BLOCK : c->keys;
                r->m[b] = -INFINITY;
                for (int j = b * ATTENTION_BLOCK; j < end; j++)
                        r->m[b] = r->s[j] > r->m[b] ? r->s[j] : r->m[b];
                for (int j = b * ATTENTION_BLOCK; j < end; j++) {
                        r->p[j] = r->s[j] == -INFINITY ? 0 : exp_of(r->s[j] - r->m[b]);
                        block_l[j % 16] += r->p[j];
                        live += r->s[j] != -INFINITY;
                }
                if (!live)
                        continue;
                float most = r->live && m > r->m[b] ? m : r->m[b];
                float of = r->live ? exp_of(m - most) : 0, block_of = exp_of(r->m[b] - most);
                for (int i = 0; i < 16; i++)
                        l[i] = r->live ? fmaf(block_l[i], block_of, l[i] * of) : block_l[i];
                m = most;
                r->live += live;
        }
        float sum = tree_sum(l);
        for (int j = 0; j < c->keys; j++) {
                float by = r->live ? exp_of(r->m[j / ATTENTION_BLOCK] - m) / sum : 0;
                r->p[j] = r->s[j] != -INFINITY ? r->p[j] * by : r->live ? 0 : c->dead;
        }
}

static void define_scores(const Case *c, int row, Row *r)
{
        int absolute = c->keys - c->rows + row;
        int64_t lo = 0, hi = c->keys;
        bounds(c, absolute, &lo, &hi);
        for (int j = 0; j < c->keys; j++) {
                float s[MAX_HEADS];
                for (int h = 0; h < c->heads; h++) {
                        s[h] = 0;
                        for (int d = 0; d < c->head_dim; d++)
                                s[h] = fmaf(c->q[(row * c->heads + h) * c->head_dim + d],
                                            c->k[((int64_t)j * c->heads + h) * c->head_dim + d], s[h]);
                }
                for (int to = 0; to < c->heads; to++) {
                        float y = 0;
                        for (int h = 0; h < c->heads; h++)
                                y = fmaf(s[h], c->before[h * c->heads + to], y);
                        r[to].s[j] = j < lo || j >= hi || is_hole(c, to, absolute, j) ? -INFINITY : y;
                }
        }
}

/* The weighted values of one head: blocks of keys within the bounds that live in some head, or that weigh all the same. */
static void define_values(const Case *c, int row, const Row *r, int head)
{
        float whole[64] = {0}, *out = c->expected + ((int64_t)row * c->heads + head) * c->v_dim;
        int64_t lo = 0, hi = c->keys;
        int any = 0;
        bounds(c, c->keys - c->rows + row, &lo, &hi);
        for (int begin = 0; begin < hi; begin += ATTENTION_BLOCK) {
                float block[64] = {0};
                int live = 0;
                for (int64_t j = begin > lo ? begin : lo; j < hi && j < begin + ATTENTION_BLOCK; j++) {
                        float w = 0;
                        int lives = c->all_weigh;
                        for (int h = 0; h < c->heads; h++) {
                                w = fmaf(r[h].p[j], c->behind[h * c->heads + head], w);
                                lives |= r[h].s[j] != -INFINITY || (!r[h].live && c->dead != 0);
                        }
                        w = c->all_weigh ? w + c->bias[head] : w;
                        for (int d = 0; lives && d < c->v_dim; d++)
                                block[d] = fmaf(w, c->v[(j * c->heads + head) * c->v_dim + d], block[d]);
                        live += lives;
                }
                for (int d = 0; live && d < c->v_dim; d++)
                        whole[d] = any ? whole[d] + block[d] : block[d];
                any |= live > 0;
        }
        for (int d = 0; d < c->v_dim; d++)
                out[d] = any ? whole[d] : c->dead;
}

/* Keys and values that live in no head of any row are NaN. */
static void fill_case(Case *c)
{
        int64_t tiles = (c->keys + 15) / 16;
        c->q = random_floats((int64_t)c->rows * c->heads * c->head_dim);
        c->k = random_floats((int64_t)c->keys * c->heads * c->head_dim);
        c->v = random_floats((int64_t)c->keys * c->heads * c->v_dim);
        c->packed = zero_floats(tiles * 16 * c->heads * c->head_dim);
        c->out = zero_floats((int64_t)c->rows * c->heads * c->v_dim);
        c->expected = zero_floats((int64_t)c->rows * c->heads * c->v_dim);
        for (int i = 0; i < MAX_HEADS * MAX_HEADS; i++) {
                c->before[i] = random_float();
                c->behind[i] = random_float();
                c->bias[i % MAX_HEADS] = 0.01f * random_float();
        }
        for (int64_t i = 0; i < tiles * 16 * c->heads * c->head_dim; i++)
                c->packed[i] = NAN;
        for (int64_t i = (int64_t)256 * c->heads * c->v_dim;
             c->holes && !c->all_weigh && c->dead == 0 && i < (int64_t)c->keys * c->heads * c->v_dim &&
             i < (int64_t)512 * c->heads * c->v_dim;
             i++)
                c->v[i] = NAN;
        for (int j = 0; j < c->keys; j++)
                for (int g = 0; g < c->heads; g++)
                        store_k16(c->packed + g * tiles * 16 * c->head_dim, j,
                                  c->k + ((int64_t)j * c->heads + g) * c->head_dim, c->head_dim);
        Row *row = calloc(MAX_HEADS, sizeof *row);
        for (int r = 0; row && r < c->rows; r++) {
                define_scores(c, r, row);
                for (int h = 0; h < c->heads; h++)
                        define_probabilities(c, &row[h]);
                for (int h = 0; h < c->heads; h++)
                        define_values(c, r, row, h);
        }
        free(row);
}

/* What a thread of a call is told. */
typedef struct {
        const Attention *a;
        const Case *c;
        int64_t rows;
        float *parts;
        Team *team;
        int thread, threads, *by_blocks;
} Part;

static void *run_part(void *of)
{
        const Part *p = of;
        const int64_t blocks = (p->a->keys + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
        const int64_t n = MIXED_SCRATCH(p->a->heads, p->a->head_dim, p->a->v_dim, p->a->k_key, blocks);
        float *scratch = scratch_floats(n);
        AttentionShare s;
        mixed_share(&s, p->a, live_keys, p->rows, p->parts, p->thread, p->threads);
        attention_mixed(p->a, mixed_score, mixed_weight, live_keys, p->rows, &s, p->c->all_weigh, scratch,
                        p->team, p->thread, p->threads);
        *p->by_blocks |= s.parts && p->thread == 0;
        free_scratch(scratch, n);
        return NULL;
}

static int by_blocks;

/* Rows row to row + count with the keys that are there by then, by so many threads. */
static void call(const Case *c, int row, int count, int threads)
{
        int first_row = c->keys - c->rows + row, keys = c->all ? c->keys : first_row + count;
        int64_t blocks = (keys + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
        float *parts = random_floats(MIXED_PARTS(c->heads, c->v_dim, blocks));
        Attention a = {.q = c->q + (int64_t)row * c->heads * c->head_dim,
                       .q_row = (int64_t)c->heads * c->head_dim,
                       .q_head = c->head_dim,
                       .k = c->in_rows ? c->k : c->packed,
                       .k_storage = STORAGE_F32,
                       .v_storage = STORAGE_F32,
                       .k_head = c->in_rows ? c->head_dim : (int64_t)(c->keys + 15) / 16 * 16 * c->head_dim,
                       .k_tile = c->in_rows ? 0 : 16 * c->head_dim,
                       .k_key = c->in_rows ? (int64_t)c->heads * c->head_dim : 0,
                       .v = c->v,
                       .v_head = c->v_dim,
                       .v_key = (int64_t)c->heads * c->v_dim,
                       .out = c->out + (int64_t)row * c->heads * c->v_dim,
                       .out_row = (int64_t)c->heads * c->v_dim,
                       .out_head = c->v_dim,
                       .heads = c->heads,
                       .kv_heads = c->heads,
                       .head_dim = c->head_dim,
                       .v_dim = c->v_dim,
                       .scale = 1,
                       .keys = keys,
                       .first_row = first_row,
                       .dead = c->dead,
                       .ctx = c};
        Team team = {.threads = threads};
        Part part[4];
        pthread_t id[4];
        for (int i = threads; i-- > 0;) {
                part[i] = (Part){&a, c, count, parts, &team, i, threads, &by_blocks};
                if (i && pthread_create(&id[i], NULL, run_part, &part[i]) != 0)
                        abort();
        }
        run_part(&part[0]);
        for (int i = 1; i < threads; i++)
                pthread_join(id[i], NULL);
        free(parts);
}

/* The whole at once, row by row, and in random chunks. */
static int equals_as_laid(Case c)
{
        int good = 1;
        int64_t n = (int64_t)c.rows * c.heads * c.v_dim;
        fill_case(&c);
        for (int way = 0; way < (c.all ? 1 : 3); way++) {
                for (int64_t i = 0; i < n; i++)
                        c.out[i] = 12345;
                for (int row = 0; row < c.rows;) {
                        int count = way == 0 ? c.rows : way == 1 ? 1 : 1 + random_below(c.rows - row);
                        call(&c, row, count, 1 + random_below(3));
                        row += count;
                }
                int same = same_bits(c.out, c.expected, n);
                if (!same)
                        printf("# heads %d dim %d/%d rows %d keys %d window %d holes %d all %d weigh %d in "
                               "rows %d way %d\n",
                               c.heads, c.head_dim, c.v_dim, c.rows, c.keys, c.window, c.holes, c.all,
                               c.all_weigh, c.in_rows, way);
                good &= same;
        }
        hash_floats(c.out, n);
        free(c.q);
        free(c.k);
        free(c.v);
        free(c.packed);
        free(c.out);
        free(c.expected);
        return good;
}

static int equals_definition(Case c)
{
        int good = equals_as_laid(c);
        c.in_rows = 1;
        return good & equals_as_laid(c);
}

int main(void)
{
        static const int heads[] = {1, 2, 3, 8}, dims[][2] = {{8, 8}, {16, 48}, {7, 19}, {32, 16}},
                         keys[] = {1, 17, 257, 300, 790};
        int bounded = 1, holes = 1, window = 1, all = 1, weigh = 1, dead = 1;
        for (int i = 0; i < 10; i++) {
                Case c = {.heads = heads[i % 4], .head_dim = dims[i / 2 % 4][0], .v_dim = dims[i / 2 % 4][1]};
                c.keys = keys[i % 5];
                c.rows = c.keys < 29 ? c.keys : 1 + random_below(29);
                bounded &= equals_definition(c);
                c.holes = 1;
                holes &= equals_definition(c);
                c.window = 1 + random_below(300);
                window &= equals_definition(c);
                c.dead = NAN;
                dead &= equals_definition(c);
                c.dead = 0;
                c.window = 0;
                c.all = 1;
                all &= equals_definition(c);
                c.all_weigh = 1;
                weigh &= equals_definition(c);
        }
        verdict("mixed attention within bounds is its definition", bounded);
        verdict(".. with keys that are masked in some heads, or in all", holes);
        verdict(".. in a window", window);
        verdict(".. with rows that become NaN where no key lives", dead);
        verdict(".. of all keys", all);
        verdict(".. with keys that weigh though they are masked", weigh);
        verdict("threads shared the blocks of one row", by_blocks);
        verdict("mixed attention writes within its scratch", !overruns);
        printf("# hash %016llx\n", (unsigned long long)hash_state);
        return failures != 0;
}
