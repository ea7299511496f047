/*
 * runtime/attention.h against its definition in plain C, to the bit: head sizes, grouped heads, masks with
 * bounds and with holes, chunks against the whole, any split among threads, and NaN behind every masked key.
 */
#include "kernels.h"

#include "../../runtime/attention.h"

#define MAX_KEYS 1100

/* One attention with its inputs in plain layouts, and the mask as a table. */
typedef struct {
        int heads, kv_heads, head_dim, v_dim, rows, keys, window, holes, all, sinks;
        int plain;   /* scores are weights */
        int in_rows; /* keys lie in rows, or 2: and their first columns are the values */
        float scale;
        float *q, *k, *v; /* [rows][heads][head_dim], [keys][kv_heads][head_dim], [keys][kv_heads][v_dim] */
        float *packed;    /* [kv_heads][ceil(keys / 16)][head_dim][16] */
        int narrow;       /* keys and values are in f16, or 2: in codes with scales: */
        void *narrow_k, *narrow_v; /* packed, or k, and v */
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
KERNEL v16 biased(const void *ctx, const float *scores, int64_t apart, int head, int64_t row, int64_t col)
{
        const Case *c = ctx;
        const v16 s = v_load(scores);
        (void)apart;
        v16 distance = v_sub(v_set1((float)row), v_iota((float)col));
        v16 x = v_fma(v_set1(-0.125f * (float)(head + 1)), distance, s);
        int64_t first_row = c->keys - c->rows;
        if (!c->holes)
                return s;
        return v_where(v_load(c->mask + (row - first_row) * MAX_KEYS + col), v_set1(-INFINITY), x);
}

/* Of some rows -inf, of some far above all scores. */
KERNEL float sink_of(const void *ctx, int head, int64_t row)
{
        const Case *c = ctx;
        if ((head + row) % 5 == 0)
                return -INFINITY;
        return (float)(row % 7 - 3) * 0.37f + (float)head * 0.11f +
               ((row + c->sinks) % 11 == 0 ? 300.0f : 0.0f);
}

/* What the definition merges: the first `begun` of it, then block by block. */
typedef struct {
        int begun;
        float m, l[16], o[256];
} Sums;

static void merge_blocks(const Case *of, Sums *whole, const Sums *block)
{
        const int v_dim = of->v_dim;
        if (!whole->begun) {
                *whole = *block;
                return;
        }
        for (int d = 0; d < v_dim && of->plain; d++)
                whole->o[d] = whole->o[d] + block->o[d];
        if (of->plain)
                return;
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
                float p = c->plain ? s[j] : exp_of(s[j] - block->m);
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
                        merge_blocks(c, &whole, &block);
        }
        float sum = c->plain ? 1 : tree_sum(whole.l), by = 1;
        if (c->sinks && whole.begun) {
                float sink = sink_of(c, head, absolute), m = whole.m > sink ? whole.m : sink;
                by = exp_of(whole.m - m);
                sum = fmaf(sum, by, exp_of(sink - m));
        }
        for (int d = 0; d < c->v_dim; d++)
                out[d] = whole.begun ? whole.o[d] * by / sum : 0;
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

/* Numbers that share a scale. */
static int group_of(int width)
{
        return width % 32 == 0 ? 32 : width % 16 == 0 ? 16 : width;
}

/* What a group becomes, by the definition: in place. */
static void define_group(float *x, int n)
{
        float most = 0;
        int low = 0, high = 0x7c00, finite = 1;
        for (int i = 0; i < n; i++) {
                most = fmaxf(most, fabsf(x[i]));
                finite &= isfinite(x[i]) != 0;
        }
        while (low < high) { /* the least half precision number from most / 127 on */
                uint16_t middle = (uint16_t)((low + high) / 2);
                if (f16_at(&middle, 0) < most / 127.0f)
                        low = middle + 1;
                else
                        high = middle;
        }
        uint16_t half = (uint16_t)low;
        float scale = finite && low < 0x7c00 ? f16_at(&half, 0) : NAN;
        for (int i = 0; i < n; i++)
                x[i] = scale == 0 ? 0 : scale * nearbyintf(x[i] / scale) + 0.0f;
}

static int storage_of(int width, int lanes)
{
        return STORAGE_KEPT(group_of(width), lanes);
}

/* Rows x [keys][heads][width] as codes, which take their place: as values lie, or (tiled) as keys do. */
static void *kept(float *x, int keys, int heads, int width, int tiled)
{
        int64_t room = (int64_t)(keys + 15) / 16 * 16, group = group_of(width);
        int storage = storage_of(width, tiled ? 16 : 1);
        unsigned char *codes = malloc((size_t)KEPT_SIZE(storage, room * heads * width));
        if (!codes)
                abort();
        memset(codes, 0xff, (size_t)KEPT_SIZE(storage, room * heads * width)); /* a scale of it is NaN */
        for (int64_t j = 0; j < keys; j++)
                for (int64_t h = 0; h < heads; h++)
                        for (int64_t d = 0; d < width; d += group) {
                                float *row = x + (j * heads + h) * width + d;
                                int64_t at = tiled ? (h * room + j / 16 * 16) * width + d * 16 + j % 16
                                                   : (j * heads + h) * width + d;
                                keep_codes(storage, codes, at, row, 1);
                                define_group(row, (int)group);
                        }
        return codes;
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
        if (c->narrow == 2) {
                c->narrow_k = kept(c->k, c->keys, c->kv_heads, c->head_dim, !c->in_rows);
                c->narrow_v = kept(c->v, c->keys, c->kv_heads, c->v_dim, 0);
        } else if (c->narrow) {
                c->narrow_k = narrowed(c->k, (int64_t)c->keys * c->kv_heads * c->head_dim);
                c->narrow_v = narrowed(c->v, (int64_t)c->keys * c->kv_heads * c->v_dim);
        }
        for (int64_t i = 0; c->in_rows == 2 && i < (int64_t)c->keys * c->kv_heads; i++)
                memcpy(c->v + i * c->v_dim, c->k + i * c->head_dim, (size_t)c->v_dim * sizeof(float));
        for (int j = 0; j < c->keys; j++)
                for (int g = 0; g < c->kv_heads; g++)
                        store_k16(c->packed + g * groups * 16 * c->head_dim, j,
                                  c->k + (j * c->kv_heads + g) * c->head_dim, c->head_dim);
        if (c->narrow == 1 && !c->in_rows) {
                free(c->narrow_k);
                c->narrow_k = narrowed(c->packed, packed_floats(c));
        }
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
        free(c->narrow_k);
        free(c->narrow_v);
        free(c->mask);
        free(c->out);
        free(c->expected);
}

static int by_blocks; /* rows whose blocks threads shared */

/* One row by so many threads, the last one first; false: each unit is one thread's. */
static int call_by_blocks(const Attention *a, int threads)
{
        const int64_t blocks = (a->keys + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
        float *parts = random_floats(blocks * a->heads * ATTENTION_PART(a->v_dim));
        const int64_t n = ATTENTION_SCRATCH(a->head_dim, a->v_dim, a->k_key);
        float *scratch = scratch_floats(n);
        Team alone = {.threads = 1};
        AttentionShare s = {0};
        for (int thread = threads; thread-- > 0;) {
                attention_share(&s, a, live_keys, 1, parts, thread, threads);
                if (s.parts)
                        attention(a, biased, live_keys, 1, &s, scratch);
        }
        for (int thread = 0; thread < threads; thread++)
                attention_join(a, &s, scratch, &alone, thread, threads);
        free(parts);
        free_scratch(scratch, n);
        by_blocks += s.parts != NULL;
        return s.parts != NULL;
}

/* Rows row to row + count with the keys that are there by then, units dealt out at random. */
static void call(const Case *c, int row, int count)
{
        int first_row = c->keys - c->rows + row;
        Attention a = {.q = c->q + (int64_t)row * c->heads * c->head_dim,
                       .q_row = (int64_t)c->heads * c->head_dim,
                       .q_head = c->head_dim,
                       .k = c->narrow    ? c->narrow_k
                            : c->in_rows ? c->k
                                         : c->packed,
                       .k_storage = c->narrow == 2 ? storage_of(c->head_dim, c->in_rows ? 1 : 16)
                                    : c->narrow    ? STORAGE_F16
                                                   : STORAGE_F32,
                       .v_storage = c->narrow == 2 ? storage_of(c->v_dim, 1)
                                    : c->narrow    ? STORAGE_F16
                                                   : STORAGE_F32,
                       .k_head = (int64_t)(c->keys + 15) / 16 * 16 * c->head_dim,
                       .k_tile = 16 * c->head_dim,
                       .v = c->narrow ? c->narrow_v : c->v,
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
                       .ctx = c,
                       .sink = c->sinks ? sink_of : NULL,
                       .no_softmax = c->plain};
        if (c->in_rows) {
                a.k_tile = 0;
                a.k_head = c->head_dim;
                a.k_key = (int64_t)c->kv_heads * c->head_dim;
        }
        if (c->in_rows == 2) {
                a.v = a.k;
                a.v_storage = a.k_storage;
                a.v_head = a.k_head;
                a.v_key = a.k_key;
        }
        if (count == 1 && call_by_blocks(&a, 2 + random_below(4)))
                return;
        int units = ATTENTION_UNITS(c->heads, c->kv_heads, count, c->in_rows ? 16 : TILE_ROWS);
        for (int unit = 0; unit < units;) {
                int end = unit + 1 + random_below(units - unit);
                const int64_t n = ATTENTION_SCRATCH(c->head_dim, c->v_dim, c->in_rows);
                float *scratch = scratch_floats(n);
                attention(&a, biased, live_keys, count, &(AttentionShare){.begin = unit, .end = end},
                          scratch);
                free_scratch(scratch, n);
                unit = end;
        }
}

/* The whole at once, row by row, and in random chunks. */
static int equals_as_laid(Case c)
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
                        printf("# heads %d/%d dim %d/%d rows %d keys %d window %d holes %d sinks %d in rows "
                               "%d plain %d "
                               "narrow %d way %d\n",
                               c.heads, c.kv_heads, c.head_dim, c.v_dim, c.rows, c.keys, c.window, c.holes,
                               c.sinks, c.in_rows, c.plain, c.narrow, way);
                good &= same;
        }
        for (int64_t i = 0; i < n && c.holes; i++)
                good &= c.out[i] == c.out[i]; /* no NaN has leaked */
        hash_floats(c.out, n);
        free_case(&c);
        random_state = next; /* for the number of units depends on the target */
        return good;
}

/* Of keys in tiles, in rows, and, where that can be, in rows that are the values too: whole groups of codes. */
static int equals_definition(Case c)
{
        int good = equals_as_laid(c);
        c.in_rows = 1;
        good &= equals_as_laid(c);
        c.in_rows = 2;
        return c.v_dim > c.head_dim || (c.narrow == 2 && c.v_dim % group_of(c.head_dim) != 0)
                       ? good
                       : good & equals_as_laid(c);
}

/* A NaN among a row's live keys makes that row NaN and no other; narrow: so does an infinity among codes. */
static int live_nan_stays_in_its_rows(int narrow)
{
        Case c = {
                .heads = 2, .kv_heads = 2, .head_dim = 16, .v_dim = 32, .rows = 40, .keys = 300, .scale = 1};
        c.narrow = narrow;
        fill_case(&c);
        float row[16] = {INFINITY};
        if (narrow)
                keep_codes(storage_of(16, 16), c.narrow_k, 280 / 16 * 16 * 16 + 280 % 16, row, 1);
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

/* Groups of all sizes of numbers: values as defined, wherever the group lies. */
static int codes_are_defined(void)
{
        static const float size[] = {1,      0,     1e-45f,   3e-8f, 6e-6f, 0.01f, 300, 127 * 65504.0f,
                                     8.4e6f, 3e38f, INFINITY, NAN};
        static const int groups[] = {32, 16, 7, 1, 24};
        int good = 1;
        for (int round = 0; round < 12 * 5 * 40; round++) {
                int group = groups[round % 5], storage = STORAGE_KEPT(group, round % 2 ? 16 : 1);
                int lanes = round % 2 ? 16 : 1, row = round / 2 % lanes;
                unsigned char codes[3 * 16 * 34];
                float *x = random_floats(group), seen[32];
                for (int i = 0; i < group; i++)
                        x[i] *= round % 3 ? 1 : (float)random_below(128) / 127.0f;
                x[round % group] = size[round / 5 % 12] * (round % 7 ? 1 : -1);
                for (int i = 0; i < group && size[round / 5 % 12] < 1; i++)
                        x[i] *= i == round % group ? 1 : size[round / 5 % 12];
                keep_codes(storage, codes, (int64_t)2 * group * lanes + row, x, 1);
                define_group(x, group);
                for (int i = 0; i < group; i++)
                        seen[i] = kept_at(storage, codes, (int64_t)(2 * group + i) * lanes + row);
                good &= same_bits(seen, x, group);
                hash_floats(seen, group);
                free(x);
        }
        return good;
}

/* Whether attention is its definition: within bounds, with holes, in a window, of keys and values in f16 and in codes, with a sink. */
static struct {
        int bounded, holes, window, narrow, codes, sinks, plain;
} equal = {1, 1, 1, 1, 1, 1, 1};

static void compare_shapes(void)
{
        static const int dims[][2] = {{8, 8}, {64, 64}, {80, 80}, {128, 128}, {16, 48}, {7, 19}, {96, 64}};
        static const int heads[][2] = {{1, 1}, {6, 6}, {8, 2}, {5, 1}, {17, 1}};
        static const int keys[] = {1, 15, 17, 31, 257, 523};
        for (int d = 0; d < 7; d++)
                for (int h = d % 2; h < 5; h += 2) {
                        Case c = {.heads = heads[h][0],
                                  .kv_heads = heads[h][1],
                                  .head_dim = dims[d][0],
                                  .v_dim = dims[d][1]};
                        c.keys = keys[(d + h) % 6];
                        c.rows = c.keys < 29 ? c.keys : 1 + random_below(29);
                        c.scale = d % 2 ? 0.125f : 1;
                        equal.bounded &= equals_definition(c);
                        c.window = 1 + random_below(300);
                        equal.window &= equals_definition(c);
                        c.holes = 1;
                        equal.holes &= equals_definition(c);
                        c.narrow = 1;
                        equal.narrow &= equals_definition(c);
                        c.narrow = 2;
                        equal.codes &= equals_definition(c);
                        c.holes = 0;
                        equal.codes &= equals_definition(c);
                        c.narrow = 0;
                        c.sinks = 1 + d;
                        equal.sinks &= equals_definition(c);
                        c.holes = 1;
                        equal.sinks &= equals_definition(c);
                        c.sinks = 0;
                        c.plain = 1;
                        equal.plain &= equals_definition(c);
                        c.narrow = 2;
                        c.holes = 0;
                        equal.plain &= equals_definition(c);
                }
}

/* Beyond a block; back comes the case whose rows have no live key. */
static Case compare_long(void)
{
        Case long_one = {.heads = 4,
                         .kv_heads = 2,
                         .head_dim = 64,
                         .v_dim = 64,
                         .rows = 61,
                         .keys = 1033,
                         .scale = 0.125f};
        equal.bounded &= equals_definition(long_one);
        long_one.all = 1;
        equal.bounded &= equals_definition(long_one);
        long_one.all = 0;
        long_one.window = 100;
        equal.window &= equals_definition(long_one);
        long_one.window = 0;
        long_one.holes = 1;
        equal.holes &= equals_definition(long_one);
        long_one.narrow = 1;
        equal.narrow &= equals_definition(long_one);
        long_one.narrow = 2;
        equal.codes &= equals_definition(long_one);
        long_one.narrow = 0;
        long_one.sinks = 2;
        equal.sinks &= equals_definition(long_one);
        long_one.sinks = 0;
        long_one.plain = 1;
        equal.plain &= equals_definition(long_one);
        long_one.plain = 0;
        long_one.holes = 2;
        return long_one;
}

int main(void)
{
        compare_shapes();
        const Case long_one = compare_long();
        verdict("attention is its definition within bounds", equal.bounded);
        verdict("attention is its definition in a window", equal.window);
        verdict("attention skips masked keys, NaN and all", equal.holes);
        verdict("attention of keys and values in f16 is its definition", equal.narrow);
        verdict("attention of keys and values in codes is its definition", equal.codes);
        verdict("attention with a sink is its definition", equal.sinks);
        verdict("attention without a softmax is its definition", equal.plain);
        verdict("codes of keys and values are their definition", codes_are_defined());
        verdict("an infinity among codes makes its rows NaN alone", live_nan_stays_in_its_rows(2));
        verdict("attention of rows without a live key is 0", equals_definition(long_one));
        verdict("attention keeps a live NaN in its rows", live_nan_stays_in_its_rows(0));
        verdict("blocks of keys are shared", by_blocks > 100);
        verdict("attention writes within its scratch", !overruns);
        printf("# hash %016llx\n", (unsigned long long)hash_state);
        return failures != 0;
}
