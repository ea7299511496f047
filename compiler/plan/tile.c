/* Tile: chooses the blocking of each product with weights.
 *
 * A register tile has as many rows and panels of 16 outputs as allow every sum to stay in a register;
 * tile_cost.c chooses it.  Products of codes use the tile in the target table, which has room for integer
 * sums.  The loops around it follow Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication" (2008): one block of k of a tile's panels stays in the first cache levels while many rows
 * use it.  A single row reads a few panels side by side instead, and small numbers of rows are computed four
 * at a time; the kernel chooses this itself.
 *
 * Expects kernels.  Sets the tiling of each product, the scratch memory of each kernel, and its division into
 * parts.  Changes no bit of a result: every output adds k in order. */
#include <inttypes.h>

#include "plan_private.h"

#define TILE_ROWS MAX_TILE_ROWS /* of any target */
#include "../../runtime/contraction_call.h"
#include "../../runtime/attention_call.h"

/* Maximum number of rows of a call. */
static int64_t rows_per_call(const Plan *p, const Kernel *k)
{
        int64_t rows = 1;
        bool outermost = p->slots > 1;
        for (int a = 0; a + 1 < k->product.x->type.rank; a++) {
                Dim d = k->product.x->type.dim[a];
                int64_t all = outermost ? all_rows(p, d) : 0, one = bound_of(p, d);
                rows *= all > one ? all : one;
                outermost &= dim_is(d, 1);
        }
        return rows;
}

/* Floats of scratch for the rows as codes, if a part needs them in groups of this size, followed by those for
 * the next group size. */
static int64_t codes_size(const Plan *p, const Kernel *k, int group)
{
        return wants_codes(k, group)
                       ? FLOATS(round_up(rows_per_call(p, k) * CODES_BYTES(k->product.k), INT64_C(4) * LANES))
                       : 0;
}

static void explain_tiling(Plan *p, const Kernel *k, const ProductShape *of, const ProductTiling *t,
                           const char *why)
{
        const int64_t pieces = (k->product.k + t->k_block - 1) / t->k_block;
        plan_explain(p,
                     "%s: %" PRId64 " x %" PRId64 " in %s in tiles of %d rows by %d outputs, k in %" PRId64
                     " piece%s of %d, %d rows at once%s%s",
                     k->name, k->product.k, of->panels * LANES, storage_info[of->storage].text, t->rows,
                     (storage_info[of->storage].codes ? 1 : t->panels) * LANES, pieces,
                     pieces == 1 ? "" : "s", t->k_block, t->rows_at_once, *why ? ": " : "", why);
}

/* The shape of all parts whose weights have this storage; panels 0: none. */
static ProductShape product_shape(const Plan *p, const Kernel *k, Storage s)
{
        ProductShape of = {
                .storage = s, .depth = k->product.k, .rows = rows_per_call(p, k), .slots = p->slots};
        for (int i = 0; i < k->product.nsegment; i++)
                if (k->product.segment[i].w[0]->storage == s)
                        of.panels += k->product.segment[i].nproduct *
                                     (round_up(k->product.segment[i].n, LANES) / LANES);
        return of;
}

static bool same_shape(const ProductShape *a, const ProductShape *b)
{
        return a->storage == b->storage && a->depth == b->depth && a->panels == b->panels &&
               a->rows == b->rows && a->slots == b->slots;
}

const TunedProduct *tuned_find(const Tuned *tuned, const Target *t, const ProductShape *of)
{
        for (int i = 0; tuned && i < tuned->n; i++)
                if (tuned->product[i].target == t && same_shape(&tuned->product[i].of, of))
                        return &tuned->product[i];
        return NULL;
}

static bool is_listed(const ProductShape *shape, int n, const ProductShape *of)
{
        for (int i = 0; i < n; i++)
                if (same_shape(&shape[i], of))
                        return true;
        return false;
}

int product_shapes(const Plan *p, ProductShape **shape)
{
        int n = 0, cap = 0;
        *shape = NULL;
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                for (Storage s = 0; k->op == K_MATMUL && s < WEIGHT_STORAGES; s++) {
                        const ProductShape of = product_shape(p, k, s);
                        if (!of.panels || is_listed(*shape, n, &of))
                                continue;
                        GROW(p->graph->arena, *shape, n, cap);
                        (*shape)[n++] = of;
                }
        }
        return n;
}

static void tile_parts(Plan *p, Kernel *k, Storage s)
{
        const ProductShape of = product_shape(p, k, s);
        const TunedProduct *tuned = tuned_find(p->tuned, p->target, &of);
        const char *why;
        if (!of.panels)
                return;
        ProductTiling tiling = estimated_tiling(p, &of, &why);
        if (tuned) {
                tiling = tuned->tiling;
                why = arena_printf(p->graph->arena, "measured, %s:%d", p->tuned->path, tuned->line);
        }
        for (int i = 0; i < k->product.nsegment; i++)
                if (k->product.segment[i].w[0]->storage == s)
                        k->product.segment[i].tiling = tiling;
        if (!target_is_portable(p->target))
                explain_tiling(p, k, &of, &tiling, why);
}

static int64_t matmul_scratch(Storage s, const ProductTiling *t)
{
        return PRODUCT_SCRATCH(t->rows_at_once) + (storage_is_narrow(s) ? PRODUCT_WIDE(t->k_block) : 0);
}

static void tile_matmul(Plan *p, Kernel *k)
{
        k->scratch.thread = 0;
        for (Storage s = 0; s < WEIGHT_STORAGES; s++)
                tile_parts(p, k, s);
        for (int i = 0; i < k->product.nsegment; i++) {
                const int64_t size =
                        matmul_scratch(k->product.segment[i].w[0]->storage, &k->product.segment[i].tiling);
                k->scratch.thread = size > k->scratch.thread ? size : k->scratch.thread;
        }
        for (int i = 0; i < CODE_GROUPS; i++) {
                k->product.codes[i] = k->scratch.thread;
                k->scratch.thread += codes_size(p, k, code_group[i]);
        }
}

static int64_t blocks_of_keys(const Plan *p, const Kernel *k)
{
        const Type *keys = &k->attention.k->type;
        return (bound_of(p, keys->dim[keys->rank - 1]) + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
}

/* Maximum number of key blocks of all heads whose results threads exchange in a call of one row; 0: each unit
 * is computed by one thread. */
static int64_t blocks_kept(const Plan *p, const Kernel *k)
{
        const Type *q = &k->attention.q->type;
        int64_t heads = 1, blocks = blocks_of_keys(p, k);
        for (int a = 0; a < q->rank - 2; a++)
                heads *= dim_is_fixed(q->dim[a]) ? q->dim[a].fixed : 0;
        return p->graph->past >= 0 && blocks > 1 ? heads * blocks : 0;
}

/* As in runtime/attention_mixed.h.  For each row of a tile and all heads: the powers of all blocks and the
 * results kept of each; the scores of a block, outputs, a maximum and a sum.  For all heads: the mask of
 * keys. */
static void tile_mixed(Plan *p, Kernel *k, int64_t rows, int64_t width)
{
        const Type *t = &k->attention.softmax->type;
        const int64_t heads = t->dim[t->rank - 3].fixed, block = ATTENTION_BLOCK + INT64_C(2) * LANES;
        k->scratch.thread += rows * (heads * (blocks_of_keys(p, k) * block + ATTENTION_BLOCK + width + 2) +
                                     ATTENTION_BLOCK);
        k->scratch.all += blocks_kept(p, k) * block;
        plan_explain(p, "%s: a tile of rows is one thread's, with all heads%s", k->name,
                     k->scratch.all ? "; of one row, threads share blocks of keys" : "");
}

static void tile_attention(Plan *p, Kernel *k)
{
        const Function *f = k->code->function[k->code->n - 1];
        bool in_rows = f->body.stmt[0].call.attention->k_key != 0;
        const int64_t rows = in_rows ? LANES : MAX_TILE_ROWS;
        int64_t head_dim = k->attention.q->type.dim[k->attention.q->type.rank - 1].fixed;
        int64_t v_dim = k->attention.v->type.dim[k->attention.v->type.rank - 1].fixed;
        /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): of constants */
        k->scratch.thread = ATTENTION_SCRATCH(head_dim, v_dim, in_rows);
        /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): of constants */
        k->scratch.all = blocks_kept(p, k) * ATTENTION_PART(v_dim);
        const AttentionCall *call = f->body.stmt[0].call.attention;
        if (call->chosen.buffer) {
                const int64_t queries = min_int64(call->heads / call->kv_heads, CHOSEN_TILES * MAX_TILE_ROWS);
                /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): of constants */
                k->scratch.thread = CHOSEN_SCRATCH(head_dim, v_dim, MAX_TILE_ROWS, queries + MAX_TILE_ROWS);
                k->scratch.all = 0;
        }
        if (k->attention.mixes)
                tile_mixed(p, k, rows, round_up(v_dim, LANES));
        else if (k->scratch.all)
                plan_explain(
                        p, "%s: with one row, threads that share its heads unevenly share blocks of %d keys",
                        k->name, ATTENTION_BLOCK);
}

/* Without a state, that is in scratch too. */
static void tile_scan(Kernel *k)
{
        ScanInputs s = scan_of(k->stores.of[0].node);
        k->scratch.thread = round_up(SCAN_SCRATCH(s.depth, s.width), LANES) +
                            (k->kept ? 0 : SCAN_FLOATS(s.depth, s.width));
}

bool pass_tile(Plan *p, Diag *diag)
{
        (void)diag;
        for (int i = 0; i < p->all.n; i++) {
                Kernel *kernel = p->all.kernel[i];
                if (kernel->op == K_MATMUL)
                        tile_matmul(p, kernel);
                if (kernel->op == K_ATTENTION)
                        tile_attention(p, kernel);
                if (kernel->op == K_SCAN)
                        tile_scan(kernel);
                if (kernel->op == K_ACTIVATION_MATMUL)
                        kernel->scratch.thread = CONTRACT_SCRATCH;
        }
        return true;
}
