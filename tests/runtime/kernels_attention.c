/*
 * runtime/attention.h against its definition in plain C, to the bit: head sizes, grouped heads, masks with
 * bounds and with holes, chunks against the whole, any split among threads, and NaN behind every masked key.
 */
#include "kernels.h"

#include "../../runtime/attention.h"

#define MAX_KEYS 1100

/* One attention with its inputs in plain layouts, and the mask as a table. */
typedef struct {
        int heads, kv_heads, head_dim, v_dim, rows, keys, window, holes, all;
        float scale;
        float *q, *k, *v; /* [rows][heads][head_dim], [keys][kv_heads][head_dim], [keys][kv_heads][v_dim] */
        float *packed;    /* [kv_heads][ceil(keys / 16)][head_dim][16] */
        int narrow;       /* keys and values are in f16: */
        uint16_t *half_k, *half_v; /* packed and v */
        float *mask;               /* [rows][MAX_KEYS]: 1 where masked within the bounds */
        float *out, *expected;     /* [rows][heads][v_dim] */
} Case;

/* A row sees keys up to its own position, in a window if there is one, or all; the last row stands at the
 * last key. */
static void bounds(const Case *c, int64_t row, int64_t *lo, int64_t *hi)
{
        if (c->all) {
                *lo = -5;
                *hi = row + 1000; /* attention() knows where keys end */
                return;
        }
        *hi = row + 1 < *hi ? row + 1 : *hi;
        if (c->window && *hi - c->window > *lo)
                *lo = *hi - c->window;
}

KERNEL void live_keys(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi)
{
        (void)head;
        bounds(ctx, row, lo, hi);
}

/* The scores as they are; or, with holes, a bias that grows with the distance and differs by head. */
KERNEL v16 biased(const void *ctx, v16 s, int head, int64_t row, int64_t col)
{
        const Case *c = ctx;
        v16 distance = v_sub(v_set1((float)row), v_iota((float)col));
        v16 x = v_fma(v_set1(-0.125f * (float)(head + 1)), distance, s);
        int64_t first_row = c->keys - c->rows;
        if (!c->holes)
                return s;
        return v_where(v_load(c->mask + (row - first_row) * MAX_KEYS + col), v_set1(-INFINITY), x);
}

static float exp_of(float x)
{
        float lane[16];
        v_store(lane, v_exp(v_set1(x)));
        return lane[0];
}

static float tree_sum(const float *lane)
{
        float t[16];
        memcpy(t, lane, sizeof t);
        for (int s = 8; s; s /= 2)
                for (int i = 0; i < s; i++)
                        t[i] += t[i + s];
        return t[0];
}

/* What the definition merges: the first `begun` of it, then block by block. */
typedef struct {
        int begun;
        float m, l[16], o[256];
} Sums;

static void merge_blocks(Sums *whole, const Sums *block, int v_dim)
{
        if (!whole->begun) {
                *whole = *block;
                return;
        }
        float m = whole->m > block->m ? whole->m : block->m;
        float c = exp_of(whole->m - m), block_c = exp_of(block->m - m);
        whole->m = m;
        for (int i = 0; i < 16; i++)
                whole->l[i] = fmaf(block->l[i], block_c, whole->l[i] * c);
        for (int d = 0; d < v_dim; d++)
                whole->o[d] = fmaf(block->o[d], block_c, whole->o[d] * c);
}

/* The block of keys [begin, end): scores s, -inf where masked. */
static void sum_block(const Case *c, int kv, const float *s, int begin, int end, Sums *block)
{
        float lane[16];
        for (int i = 0; i < 16; i++)
                lane[i] = -INFINITY;
        memset(block, 0, sizeof *block);
        for (int j = begin; j < end; j++) {
                lane[j % 16] = lane[j % 16] > s[j] ? lane[j % 16] : s[j];
                block->begun |= s[j] != -INFINITY;
        }
        for (int n = 8; n; n /= 2)
                for (int i = 0; i < n; i++)
                        lane[i] = lane[i] > lane[i + n] ? lane[i] : lane[i + n];
        block->m = lane[0];
        for (int j = begin; j < end; j++) {
                if (s[j] == -INFINITY)
                        continue;
                float p = exp_of(s[j] - block->m);
                const float *v = c->v + ((int64_t)j * c->kv_heads + kv) * c->v_dim;
                block->l[j % 16] += p;
                for (int d = 0; d < c->v_dim; d++)
                        block->o[d] = fmaf(p, v[d], block->o[d]);
        }
}

static void define_row(const Case *c, int row, int head)
{
        int kv = head / (c->heads / c->kv_heads), absolute = c->keys - c->rows + row;
        const float *q = c->q + (row * c->heads + head) * c->head_dim;
        float s[MAX_KEYS], *out = c->expected + (row * c->heads + head) * c->v_dim;
        int64_t lo = 0, hi = c->keys;
        Sums whole = {0}, block;
        bounds(c, absolute, &lo, &hi);
        for (int j = 0; j < c->keys; j++) {
                const float *k = c->k + ((int64_t)j * c->kv_heads + kv) * c->head_dim;
                float acc = 0;
                for (int d = 0; d < c->head_dim; d++)
                        acc = fmaf(q[d] * c->scale, k[d], acc);
                if (c->holes)
                        acc = fmaf(-0.125f * (float)(head + 1), (float)(absolute - j), acc);
                int masked = j < lo || j >= hi || (c->holes && c->mask[row * MAX_KEYS + j] != 0);
                s[j] = masked ? -INFINITY : acc;
        }
        for (int begin = 0; begin < c->keys; begin += ATTENTION_BLOCK) {
                int end = begin + ATTENTION_BLOCK < c->keys ? begin + ATTENTION_BLOCK : c->keys;
                sum_block(c, kv, s, begin, end, &block);
                if (block.begun)
                        merge_blocks(&whole, &block, c->v_dim);
        }
        for (int d = 0; d < c->v_dim; d++)
                out[d] = whole.begun ? whole.o[d] / tree_sum(whole.l) : 0;
}

static int64_t packed_floats(const Case *c)
{
        return (int64_t)(c->keys + 15) / 16 * 16 * c->kv_heads * c->head_dim;
}

/* x [n] in f16; those numbers take its place. */
static uint16_t *narrowed(float *x, int64_t n)
{
        uint16_t *half = calloc((size_t)n + 1, sizeof *half);
        for (int64_t i = 0; half && i < n; i++) {
                f16_put(half, i, x[i]);
                x[i] = f16_at(half, i);
        }
        return half;
}

/* Random inputs; keys that no row may see are NaN, in keys, values and padding. */
static void fill_case(Case *c)
{
        int64_t groups = (c->keys + 15) / 16;
        c->q = random_floats((int64_t)c->rows * c->heads * c->head_dim);
        c->k = random_floats((int64_t)c->keys * c->kv_heads * c->head_dim);
        c->v = random_floats((int64_t)c->keys * c->kv_heads * c->v_dim);
        c->packed = zero_floats(c->kv_heads * groups * 16 * c->head_dim);
        c->mask = zero_floats((int64_t)c->rows * MAX_KEYS);
        c->out = zero_floats((int64_t)c->rows * c->heads * c->v_dim);
        c->expected = zero_floats((int64_t)c->rows * c->heads * c->v_dim);
        for (int64_t i = 0; i < c->kv_heads * groups * 16 * c->head_dim; i++)
                c->packed[i] = NAN;
        for (int j = 0; j < c->keys && c->holes; j++) {
                int all = j % 7 == 3 || (j >= 256 && j < 512 && c->keys > 600) || c->holes == 2;
                for (int r = 0; r < c->rows; r++)
                        c->mask[r * MAX_KEYS + j] = all || (r + j) % 5 == 0 || r == 2;
                for (int d = 0; d < c->kv_heads * c->head_dim && all; d++)
                        c->k[j * c->kv_heads * c->head_dim + d] = NAN;
                for (int d = 0; d < c->kv_heads * c->v_dim && all; d++)
                        c->v[j * c->kv_heads * c->v_dim + d] = d % 2 ? NAN : INFINITY;
        }
        if (c->narrow) {
                free(narrowed(c->k, (int64_t)c->keys * c->kv_heads * c->head_dim));
                c->half_v = narrowed(c->v, (int64_t)c->keys * c->kv_heads * c->v_dim);
        }
        for (int j = 0; j < c->keys; j++)
                for (int g = 0; g < c->kv_heads; g++)
                        store_k16(c->packed + g * groups * 16 * c->head_dim, j,
                                  c->k + (j * c->kv_heads + g) * c->head_dim, c->head_dim);
        c->half_k = c->narrow ? narrowed(c->packed, packed_floats(c)) : NULL;
        for (int r = 0; r < c->rows; r++)
                for (int h = 0; h < c->heads; h++)
                        define_row(c, r, h);
}

static void free_case(Case *c)
{
        free(c->q);
        free(c->k);
        free(c->v);
        free(c->packed);
        free(c->half_k);
        free(c->half_v);
        free(c->mask);
        free(c->out);
        free(c->expected);
}

/* Rows row to row + count with the keys that are there by then, units dealt out at random. */
static void call(const Case *c, int row, int count)
{
        int first_row = c->keys - c->rows + row;
        Attention a = {.q = c->q + (int64_t)row * c->heads * c->head_dim,
                       .q_row = (int64_t)c->heads * c->head_dim,
                       .q_head = c->head_dim,
                       .k = c->narrow ? (const void *)c->half_k : c->packed,
                       .k_storage = c->narrow ? STORAGE_F16 : STORAGE_F32,
                       .v_storage = c->narrow ? STORAGE_F16 : STORAGE_F32,
                       .k_head = (int64_t)(c->keys + 15) / 16 * 16 * c->head_dim,
                       .k_tile = 16 * c->head_dim,
                       .v = c->narrow ? (const void *)c->half_v : c->v,
                       .v_head = c->v_dim,
                       .v_key = (int64_t)c->kv_heads * c->v_dim,
                       .out = c->out + (int64_t)row * c->heads * c->v_dim,
                       .out_row = (int64_t)c->heads * c->v_dim,
                       .out_head = c->v_dim,
                       .heads = c->heads,
                       .kv_heads = c->kv_heads,
                       .head_dim = c->head_dim,
                       .v_dim = c->v_dim,
                       .scale = c->scale,
                       .keys = first_row + count,
                       .first_row = first_row,
                       .ctx = c};
        int units = ATTENTION_UNITS(c->heads, c->kv_heads, count);
        for (int unit = 0; unit < units;) {
                int end = unit + 1 + random_below(units - unit);
                float *scratch = random_floats(ATTENTION_SCRATCH(c->head_dim, c->v_dim));
                scratch[0] = NAN;
                attention(&a, biased, live_keys, unit, end, count, scratch);
                free(scratch);
                unit = end;
        }
}

/* The whole at once, row by row, and in random chunks. */
static int equals_definition(Case c)
{
        int good = 1;
        int64_t n = (int64_t)c.rows * c.heads * c.v_dim;
        uint32_t next = random_state + 1;
        fill_case(&c);
        for (int way = 0; way < (c.all ? 1 : 3); way++) {
                for (int64_t i = 0; i < n; i++)
                        c.out[i] = 12345;
                for (int row = 0; row < c.rows;) {
                        int count = way == 0 ? c.rows : way == 1 ? 1 : 1 + random_below(c.rows - row);
                        call(&c, row, count);
                        row += count;
                }
                int same = same_bits(c.out, c.expected, n);
                if (!same)
                        printf("# heads %d/%d dim %d/%d rows %d keys %d window %d holes %d way %d\n", c.heads,
                               c.kv_heads, c.head_dim, c.v_dim, c.rows, c.keys, c.window, c.holes, way);
                good &= same;
        }
        for (int64_t i = 0; i < n && c.holes; i++)
                good &= c.out[i] == c.out[i]; /* no NaN has leaked */
        hash_floats(c.out, n);
        free_case(&c);
        random_state = next; /* for the number of units depends on the target */
        return good;
}

/* A NaN among a row's live keys makes that row NaN and no other. */
static int live_nan_stays_in_its_rows(void)
{
        Case c = {
                .heads = 2, .kv_heads = 2, .head_dim = 16, .v_dim = 32, .rows = 40, .keys = 300, .scale = 1};
        fill_case(&c);
        for (int d = 0; d < c.head_dim; d++)
                c.packed[(280 / 16 * c.head_dim + d) * 16 + 280 % 16] = NAN;
        call(&c, 0, c.rows);
        int good = 1;
        for (int r = 0; r < c.rows; r++)
                for (int d = 0; d < c.v_dim; d++) {
                        float seen = c.out[(r * 2 + 0) * c.v_dim + d],
                              other = c.out[(r * 2 + 1) * c.v_dim + d];
                        good &= (260 + r >= 280) == (seen != seen) && other == other;
                }
        free_case(&c);
        return good;
}

int main(void)
{
        static const int dims[][2] = {{8, 8}, {64, 64}, {80, 80}, {128, 128}, {16, 48}, {7, 19}};
        static const int heads[][2] = {{1, 1}, {6, 6}, {8, 2}, {5, 1}};
        static const int keys[] = {1, 15, 17, 31, 257, 523};
        int bounded = 1, holes = 1, window = 1, narrow = 1;
        for (int d = 0; d < 6; d++)
                for (int h = d % 2; h < 4; h += 2) {
                        Case c = {.heads = heads[h][0],
                                  .kv_heads = heads[h][1],
                                  .head_dim = dims[d][0],
                                  .v_dim = dims[d][1]};
                        c.keys = keys[(d + h) % 6];
                        c.rows = c.keys < 29 ? c.keys : 1 + random_below(29);
                        c.scale = d % 2 ? 0.125f : 1;
                        bounded &= equals_definition(c);
                        c.window = 1 + random_below(300);
                        window &= equals_definition(c);
                        c.holes = 1;
                        holes &= equals_definition(c);
                        c.narrow = 1;
                        narrow &= equals_definition(c);
                }
        Case long_one = {.heads = 4,
                         .kv_heads = 2,
                         .head_dim = 64,
                         .v_dim = 64,
                         .rows = 61,
                         .keys = 1033,
                         .scale = 0.125f};
        bounded &= equals_definition(long_one);
        long_one.all = 1;
        bounded &= equals_definition(long_one);
        long_one.all = 0;
        long_one.window = 100;
        window &= equals_definition(long_one);
        long_one.window = 0;
        long_one.holes = 1;
        holes &= equals_definition(long_one);
        long_one.narrow = 1;
        narrow &= equals_definition(long_one);
        long_one.narrow = 0;
        long_one.holes = 2;
        verdict("attention is its definition within bounds", bounded);
        verdict("attention is its definition in a window", window);
        verdict("attention skips masked keys, NaN and all", holes);
        verdict("attention of keys and values in f16 is its definition", narrow);
        verdict("attention of rows without a live key is 0", equals_definition(long_one));
        verdict("attention keeps a live NaN in its rows", live_nan_stays_in_its_rows());
        printf("# hash %016llx\n", (unsigned long long)hash_state);
        return failures != 0;
}
