/* Tile: how each product with weights is blocked.
 *
 * The register tile is a row of the target table: as many rows by panels of 16 outputs as keep every sum in a register; of codes, with
 * their integer sums beside.
 * Around it (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008) the weights stream: of
 * a tile's panels one piece of k at a time stays in the first cache levels while up to 192 rows pass by.  Here k is cut
 * into equal pieces of at most 512, so that no short one is left over.  A single row reads a few panels side by side
 * instead; the kernel does that by itself.
 *
 * Expects kernels; leaves k_cut and the scratch of each.  Changes no bit: every output adds k in order. */
#include <inttypes.h>

#include "plan_private.h"

enum { LONGEST_PIECE = 512, ROWS_AT_ONCE = 192, KEYS_AT_ONCE = 256 };

/* Floats of scratch for the rows as codes, if a part wants them in groups of so many; behind it those of the next. */
static int64_t codes_size(const Plan *p, const Kernel *k, int group)
{
        int64_t rows = 1;
        for (int a = 0; a + 1 < k->x->type.rank; a++)
                rows *= bound_of(p, k->x->type.dim[a]);
        return wants_codes(k, group) ? FLOATS(round_up(rows * CODES_BYTES(k->k_size), 4 * LANES)) : 0;
}

static void tile_matmul(Plan *p, Kernel *k)
{
        int64_t pieces = !p->off[PASS_tile] ? (k->k_size + LONGEST_PIECE - 1) / LONGEST_PIECE : 1;
        k->k_cut = pieces == 1 ? k->k_size : round_up((k->k_size + pieces - 1) / pieces, LANES);
        k->scratch = INT64_C(2) * LANES * (ROWS_AT_ONCE + TILE_MOST);
        for (int i = 0; i < CODE_GROUPS; i++) {
                k->codes[i] = k->scratch;
                k->scratch += codes_size(p, k, code_group[i]);
        }
        int64_t n = 0;
        for (int i = 0; i < k->nsegment; i++)
                n += k->segment[i].n * k->segment[i].nproduct;
        const Target *t = p->target;
        const bool codes = wants_codes(k, 32) || wants_codes(k, 256);
        if (t->rows)
                plan_explain(p,
                             "%s: %" PRId64 " x %" PRId64 " in tiles of %d rows by %d outputs, k in %" PRId64
                             " piece%s of %" PRId64,
                             k->name, k->k_size, n, codes ? t->code_rows : t->rows,
                             (codes ? 1 : t->panels) * LANES, pieces, pieces == 1 ? "" : "s", k->k_cut);
}

/* As runtime/attention.h has it: for each row of a tile q, scores, two outputs in whole vectors, two vectors of sums. */
static void tile_attention(Kernel *k)
{
        int64_t head_dim = k->q->type.dim[k->q->type.rank - 1].fixed;
        int64_t v_dim = k->v->type.dim[k->v->type.rank - 1].fixed;
        k->scratch = TILE_MOST * (head_dim + KEYS_AT_ONCE + 2 * round_up(v_dim, LANES) + INT64_C(2) * LANES);
}

bool pass_tile(Plan *p, Diag *diag)
{
        (void)diag;
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++) {
                        Kernel *kernel = p->list[i].kernel[k];
                        if (kernel->op == K_MATMUL)
                                tile_matmul(p, kernel);
                        if (kernel->op == K_ATTENTION)
                                tile_attention(kernel);
                }
        return true;
}
