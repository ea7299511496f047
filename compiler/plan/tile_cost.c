/* Cost of tiles: chooses a product's tile among the target's, and the size of its blocks.
 *
 * A step of a tile multiplies an element of each of its rows by 16 weights of each of its panels.  Its time
 * is the larger one of:
 *
 *   - multiply-adds, two at a time, or, if they are few, the latency of adding to the same sum again;
 *   - all instructions, four at a time: multiply-adds, loads of weights and of elements of rows, widening of
 *     weights, prefetches; a sum or an address without a register is loaded each time.
 *
 * A partly filled tile takes as long as a full one.  The chosen tile has the least time for the maximum
 * number of rows of a call and, in batches, for one row per sequence.  As in the runtime, tiles of four rows
 * are used if fewer rows are left over with them. */
#include "plan_private.h"

#include <inttypes.h>

enum {
        WIDTH = 4,              /* instructions per cycle; the unit of all times */
        LATENCY = 4 * WIDTH,    /* from a multiply-add to the next on the same sum */
        ADDRESSES = 10,         /* integer registers for addresses of rows and panels */
        LOOP = 3,               /* instructions for counting and branching */
        FIRST_CACHE = 32 << 10, /* bytes that most processors have at least */
        SECOND_CACHE = 512 << 10
};

/* Instructions to widen a loaded vector of weights. */
static int widening(Storage s)
{
        return s == STORAGE_E4M3   ? 8
               : s == STORAGE_E5M2 ? 4
               : s == STORAGE_BF16 ? 2
               : s == STORAGE_F16  ? 1
                                   : 0;
}

static int64_t step_time(const Target *t, Storage s, Tile tile)
{
        const int weights = tile.panels * t->vectors, sums = tile.rows * weights;
        const int64_t spilled = max_int64(sums + weights + 1 - t->registers, 0) +
                                2 * max_int64(tile.rows + tile.panels - ADDRESSES, 0);
        const int64_t all = sums + tile.rows + weights * (1 + widening(s)) + tile.panels + LOOP + spilled;
        return max_int64(max_int64((int64_t)sums * WIDTH / 2, LATENCY), all);
}

static int64_t time_in(const Target *t, Storage s, Tile tile, int64_t rows, int64_t panels)
{
        const int64_t tiles = (rows + tile.rows - 1) / tile.rows, whole = panels / tile.panels;
        const int64_t rest = panels % tile.panels;
        const Tile last = {tile.rows, rest == 1 && tile.panels < 4 ? 1 : tile.panels};
        return tiles * (whole * step_time(t, s, tile) + (rest ? step_time(t, s, last) : 0));
}

/* Whether its narrow weights are converted to f32 once for all tiles, as by takes_wide()
 * (runtime/matmul.h). */
static bool is_widened(Storage s, Tile tile)
{
        return storage_is_narrow(s) && tile.rows > 4;
}

/* Chooses as has_few_rows() does (runtime/matmul.h). */
static int64_t product_time(const Target *t, Storage s, Tile tile, int64_t rows, int64_t panels)
{
        const bool few = rows < tile.rows || 10 * round_up(rows, 4) <= 9 * round_up(rows, tile.rows);
        if (few)
                return time_in(t, s, (Tile){4, t->few_panels}, rows, panels);
        const bool widened = is_widened(s, tile);
        const int64_t once = widened ? panels * t->vectors * (2 + widening(s)) : 0;
        return once + time_in(t, widened ? STORAGE_F32 : s, tile, rows, panels);
}

/* In percent of the time of only the multiply-adds. */
static int64_t relative_time(const Target *t, Storage s, Tile tile, int64_t rows, int64_t panels)
{
        const double least = (double)rows * (double)panels * t->vectors * WIDTH / 2;
        return (int64_t)(100 * (double)product_time(t, s, tile, rows, panels) / least + 0.5);
}

/* Pieces of k are multiples of these steps. */
static int steps_of_piece(Storage s)
{
        return storage_steps(s) > LANES ? storage_steps(s) : LANES;
}

/* The fewest blocks of k for which a block of a tile's rows fits half of the first cache, and a block of its
 * panels a quarter of the second.  All blocks are of equal size, so that no short one is left over. */
static int64_t piece_bytes(Storage s, Tile tile, int64_t depth)
{
        const StorageInfo *of = &storage_info[s];
        const int64_t row = of->codes ? CODES_BYTES(tile.rows) : INT64_C(4) * tile.rows;
        const int64_t numbers = INT64_C(1) * tile.panels * LANES;
        const int64_t panel = is_widened(s, tile) ? 4 * numbers : numbers * of->bytes / of->values;
        const int64_t longest = min_int64(FIRST_CACHE / 2 / row, SECOND_CACHE / 4 / panel);
        const int64_t pieces = (depth + longest - 1) / longest;
        return pieces == 1 ? depth : round_up((depth + pieces - 1) / pieces, steps_of_piece(s));
}

static ProductTiling tiling_of(const ProductShape *of, Tile tile)
{
        const int64_t k_block = piece_bytes(of->storage, tile, of->depth);
        const int64_t fit = SECOND_CACHE * INT64_C(3) / 4 / (4 * k_block);
        return (ProductTiling){
                .rows = tile.rows,
                .panels = tile.panels,
                .k_block = (int)k_block,
                .rows_at_once = (int)min_int64(of->rows, min_int64(max_int64(fit, tile.rows), MAX_AT_ONCE))};
}

static Tile cheapest_tile(const Plan *p, const ProductShape *of, const char **why)
{
        const Target *t = p->target;
        const bool batch = of->slots > 1 && of->slots < of->rows;
        Text *said = text_new(p->graph->arena);
        int64_t least = INT64_MAX;
        Tile best = t->tile[0];
        for (const Tile *tile = t->tile; tile->rows; tile++) {
                int64_t time = relative_time(t, of->storage, *tile, of->rows, of->panels);
                if (batch)
                        time = (time + relative_time(t, of->storage, *tile, of->slots, of->panels) + 1) / 2;
                text_printf(said, "%s%d by %d %" PRId64 ".%02d", said->n ? ", " : "", tile->rows,
                            tile->panels * LANES, time / 100, (int)(time % 100));
                if (time < least)
                        best = *tile;
                least = min_int64(time, least);
        }
        const char *from = batch ? arena_printf(p->graph->arena, "%" PRId64 " and %d", of->rows, of->slots)
                                 : arena_printf(p->graph->arena, "%" PRId64, of->rows);
        *why = arena_printf(p->graph->arena, "relative time for %s rows: %s", from, said->data);
        return best;
}

ProductTiling estimated_tiling(const Plan *p, const ProductShape *of, const char **why)
{
        const Target *t = p->target;
        const bool codes = storage_info[of->storage].codes, portable = target_is_portable(t);
        Tile tile = {codes ? t->code_rows : t->rows, t->panels};
        *why = "";
        if (portable)
                return tiling_of(of, (Tile){MAX_TILE_ROWS, 2}); /* each target has its own tile */
        if (!codes && !p->off[PASS_tile])
                tile = cheapest_tile(p, of, why);
        return tiling_of(of, tile);
}

int candidate_tilings(const Target *t, const ProductShape *of, const ProductTiling *tiling, int which,
                      ProductTiling *other, int most)
{
        const int codes = storage_info[of->storage].codes, step = steps_of_piece(of->storage);
        const int64_t k_block[2] = {round_up((tiling->k_block + 1) / 2, step), of->depth};
        const int64_t rows_at_once[2] = {tiling->rows_at_once / 2,
                                         min_int64(INT64_C(2) * tiling->rows_at_once, of->rows)};
        int n = 0;
        for (const Tile *tile = t->tile; which == 0 && !codes && tile->rows && n < most; tile++)
                if (tile->rows != tiling->rows || tile->panels != tiling->panels)
                        other[n++] = tiling_of(of, *tile);
        for (int i = 0; which == 1 && i < 2 && n < most; i++)
                if (k_block[i] != tiling->k_block && k_block[i] >= 64 && k_block[i] <= of->depth) {
                        other[n] = *tiling;
                        other[n++].k_block = (int)k_block[i];
                }
        for (int i = 0; which == 2 && i < 2 && n < most; i++)
                if (rows_at_once[i] != tiling->rows_at_once && rows_at_once[i] >= tiling->rows &&
                    rows_at_once[i] <= MAX_AT_ONCE) {
                        other[n] = *tiling;
                        other[n++].rows_at_once = (int)rows_at_once[i];
                }
        return n;
}

const char *tiling_fault(Arena *a, const Target *t, const ProductShape *of, const ProductTiling *tiling)
{
        const int codes = storage_info[of->storage].codes, step = steps_of_piece(of->storage);
        const Tile *tile = t->tile, of_codes[] = {{t->code_rows, t->panels}, {0, 0}};
        Text *known = text_new(a);
        for (tile = codes ? of_codes : tile; tile->rows; tile++) {
                if (tile->rows == tiling->rows && tile->panels == tiling->panels)
                        break;
                text_printf(known, "%s%d by %d", known->n ? ", " : "", tile->rows, tile->panels);
        }
        if (!tile->rows)
                return arena_printf(a, "%s has no tile of %d rows by %d panels for %s, but %s", t->name,
                                    tiling->rows, tiling->panels, storage_info[of->storage].text,
                                    known->data);
        if (tiling->k_block > of->depth || (tiling->k_block < of->depth && tiling->k_block % step))
                return arena_printf(
                        a, "pieces of k are all of it, %" PRId64 ", or a smaller multiple of %d, not %d",
                        of->depth, step, tiling->k_block);
        if (tiling->rows_at_once > MAX_AT_ONCE)
                return arena_printf(a, "at most %d rows are taken at once, not %d", MAX_AT_ONCE,
                                    tiling->rows_at_once);
        return NULL;
}
