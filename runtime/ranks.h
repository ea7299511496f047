/*
 * Ranks: processes, on machines of any kind, that compute one model together.
 *
 * Each has its own instance.  For a product a rank computes its panels of 16 outputs, for attention its KV heads, completely, by
 * the same operations as a single process; then all ranks get the results of the others.  Values are copied and never added, so
 * that the number of ranks changes no bit.  Other kernels are computed by all ranks.
 *
 * Stages of ranks divide the iterations of a repeat, layers: each sends the repeat's carried values on.  If no output is
 * requested of a call, as for all pieces of a prompt but the last, a stage begins the next call while others still work on this
 * one; likewise if outputs are taken later, for batches under way (batch_under_way.h).
 *
 * In a call of many rows ranks may share rows instead, by tiles of 16, each rank with all weights: rows of other ranks are
 * gathered where a kernel reads them, as attention reads keys and values.
 *
 * A contiguous row is gathered in place.  All other data goes through a block, by panels (or heads) and rows, in which a rank's
 * own part is contiguous.
 *
 * Needs rank_link.h and rows.h.
 */

/* Copies a row of a panel from memory to values, or (into) from values to memory. */
typedef void CarryPanel(const void *context, int64_t row, int64_t panel, float *values, int into);

typedef struct {
        CarryPanel *carry;
        int64_t first, panels; /* range within all panels of the kernel */
} CarriedPart;

/* Results of a kernel: in each row `panels` panels of `width` floats. */
typedef struct {
        const CarriedPart *part;
        int parts;
        int64_t panels, width;
        float *(*row)(const void *context, int64_t row); /* address of a row with contiguous panels, or NULL; NULL if none are */
} Carried;

/* First of `total` work items for a thread of this rank; r NULL: there is one rank. */
KERNEL int64_t rank_share(const Ranks *r, int64_t total, int thread, int threads)
{
        const int64_t begin = r ? share(total, r->rank, r->ranks) : 0, end = r ? share(total, r->rank + 1, r->ranks) : total;
        return begin + share(end - begin, thread, threads);
}

/* Copies panels from `begin` to `end`, some rows, to the block, or (into) from the block. */
KERNEL void rank_carry(Ranks *r, const void *context, const Carried *all, int64_t begin, int64_t end, const int32_t *active, int64_t first,
                       int64_t rows, int into)
{
        const CarriedPart *part = all->part;
        float *at = r->block + begin * rows * all->width;
        for (int64_t p = begin; p < end; p++) {
                int i = 0;
                while (i + 1 < all->parts && p >= part[i].first + part[i].panels)
                        i++;
                for (int64_t row = first; row < first + rows; row++, at += all->width)
                        part[i].carry(context, active ? active[row] : row, p - part[i].first, at, into);
        }
}

/* Gathers the panels of all ranks on each rank: of rows 0 to rows - 1, or of rows active [rows]. */
KERNEL void rank_exchange(Ranks *r, const void *context, const Carried *all, const int32_t *active, int64_t rows)
{
        const int64_t own = share(all->panels, r->rank, r->ranks), behind = share(all->panels, r->rank + 1, r->ranks),
                      fit = r->block_floats / (all->panels * all->width), most = fit < 1 ? 1 : fit;
        float *in_place = rows == 1 && all->row ? all->row(context, active ? active[0] : 0) : NULL;
        for (int64_t first = 0; first < rows && !r->error; first += most) {
                const int64_t n = rows - first < most ? rows - first : most;
                for (int i = 0; i <= r->ranks; i++)
                        r->begin[i] = share(all->panels, i, r->ranks) * n * all->width;
                if (!in_place)
                        rank_carry(r, context, all, own, behind, active, first, n, 0);
                r->error = r->gather(r->of, in_place ? in_place : r->block, r->begin);
                if (in_place || r->error)
                        return;
                rank_carry(r, context, all, 0, own, active, first, n, 1);
                rank_carry(r, context, all, behind, all->panels, active, first, n, 1);
        }
}

/* Number of tiles of 16 rows, the unit in which ranks share rows. */
KERNEL int64_t rank_tiles(int64_t rows)
{
        return (rows + 15) / 16;
}

/* The first row of this rank, or (next 1) of the next rank; r NULL: there is one rank. */
KERNEL int64_t rank_row(const Ranks *r, int64_t rows, int next)
{
        const int64_t row = r ? 16 * share(rank_tiles(rows), r->rank + next, r->ranks) : next ? rows : 0;
        return row < rows ? row : rows;
}

/* Gathers the rows of all ranks on each rank.  x has `tile` floats for each 16 rows; whole_tiles: for the last rows too. */
KERNEL void rank_gather_rows(Ranks *r, float *x, int64_t rows, int64_t tile, int whole_tiles)
{
        const int64_t tiles = rank_tiles(rows), all = whole_tiles ? tiles * tile : rows * (tile / 16);
        for (int i = 0; i <= r->ranks; i++) {
                const int64_t begin = share(tiles, i, r->ranks) * tile;
                r->begin[i] = begin < all ? begin : all;
        }
        if (!r->error)
                r->error = r->gather(r->of, x, r->begin);
}

enum { RANK_PIECES = 4 };

/* Splits 64 bits into floats of 16 bits each, which every transport preserves. */
KERNEL void rank_pieces(uint64_t of, float *piece)
{
        for (int i = 0; i < RANK_PIECES; i++)
                piece[i] = (float)(int)(of >> 16 * i & 0xffff);
}

/* Whether all ranks of the stage have the same pieces. */
KERNEL int ranks_have(Ranks *r, const float *piece)
{
        for (int i = 0; i <= r->ranks; i++)
                r->begin[i] = (int64_t)RANK_PIECES * i;
        for (int i = 0; i < RANK_PIECES; i++)
                r->block[RANK_PIECES * r->rank + i] = piece[i];
        if (r->gather(r->of, r->block, r->begin))
                return 0;
        for (int64_t i = 0; i < (int64_t)RANK_PIECES * r->ranks; i++)
                if (r->block[i] != piece[i % RANK_PIECES])
                        return 0;
        return 1;
}

/* Sets r->error if the n carried values of iteration `at` differ between the stage's ranks: then a rank computes wrongly. */
KERNEL void rank_check(Ranks *r, const float *x, int64_t n, const char *repeat, int64_t at)
{
        uint64_t hash = 0xcbf29ce484222325u;
        float piece[RANK_PIECES];
        for (int64_t i = 0; i < n; i++) {
                const union {
                        float value;
                        uint32_t bits;
                } of = {x[i]};
                hash = (hash ^ of.bits) * 0x100000001b3u;
        }
        rank_pieces(hash, piece);
        if (r->error || ranks_have(r, piece))
                return;
        r->error = 1;
        r->differs = repeat;
        r->differs_at = at;
}

/* The first iteration of this stage, or (next 1) of the next stage. */
KERNEL int64_t stage_share(const Ranks *r, int64_t iterations, int next)
{
        return r ? share(iterations, r->stage + next, r->stages) : next ? iterations : 0;
}

/* Receives the n carried values from the previous stage. */
KERNEL void stage_enter(Ranks *r, float *x, int64_t n)
{
        if (r->stage > 0 && !r->error)
                r->error = r->receive(r->of, x, n, r->stage - 1);
}

/* Sends the carried values to the next stage. */
KERNEL void stage_leave(Ranks *r, const float *x, int64_t n)
{
        if (r->stage + 1 < r->stages && !r->error)
                r->error = r->send(r->of, x, n, r->stage + 1);
}

/* Sends the last stage's carried values to all other stages; kept 1: also to itself, until stage_take(). */
KERNEL void stage_give(Ranks *r, const float *x, int64_t n, int kept)
{
        const int last = r->stages - 1;
        for (int s = 0; s < last + kept && r->stage == last && !r->error; s++)
                r->error = r->send(r->of, x, n, s);
}

/* Receives the last stage's carried values. */
KERNEL void stage_take(Ranks *r, float *x, int64_t n, int kept)
{
        if (r->stage < r->stages - 1 + kept && !r->error)
                r->error = r->receive(r->of, x, n, r->stages - 1);
}
