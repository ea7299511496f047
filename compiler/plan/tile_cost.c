/* Cost of tiles: which of the target's tiles a product takes, and into which pieces it is cut.
 *
 * A step of a tile multiplies an element of each of its rows by 16 weights of each of its panels.  It takes as long as what holds it up
 * most:
 *
 *   - multiply-adds, two at a time, or, if they are few, the time until the same sum can be added to again;
 *   - all instructions, four at a time: multiply-adds, loads of weights and of elements of rows, widening of weights, requests for the
 *     next ones; a sum or an address that has no register is loaded each time.
 *
 * Rows and panels that do not fill a tile are computed all the same.  The tile wins that takes the least time for the most rows of a call
 * and, in batches, for a row of each sequence; so as the runtime takes them: where tiles of four rows leave less over, in these. */
#include "plan_private.h"

#include <inttypes.h>

enum {
        WIDTH = 4,              /* instructions in a cycle; times are counted in them */
        LATENCY = 4 * WIDTH,    /* from a multiply-add to the next on the same sum */
        ADDRESSES = 10,         /* integer registers for those of rows and panels */
        LOOP = 3,               /* instructions that count and jump */
        FIRST_CACHE = 32 << 10, /* bytes that most processors have at least */
        SECOND_CACHE = 512 << 10,
        MOST_AT_ONCE = 384
};

static int64_t larger(int64_t a, int64_t b)
{
        return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

/* Instructions that widen a vector of weights once it is loaded. */
static int widening(Storage s)
{
        return s == STORAGE_BF16 ? 2 : s == STORAGE_F16 ? 1 : 0;
}

static int64_t step_time(const Target *t, Storage s, Tile tile)
{
        const int weights = tile.panels * t->vectors, sums = tile.rows * weights;
        const int64_t spilled = larger(sums + weights + 1 - t->registers, 0) +
                                2 * larger(tile.rows + tile.panels - ADDRESSES, 0);
        const int64_t all = sums + tile.rows + weights * (1 + widening(s)) + tile.panels + LOOP + spilled;
        return larger(larger((int64_t)sums * WIDTH / 2, LATENCY), all);
}

static int64_t time_in(const Target *t, Storage s, Tile tile, int64_t rows, int64_t panels)
{
        const int64_t tiles = (rows + tile.rows - 1) / tile.rows, whole = panels / tile.panels;
        const int64_t rest = panels % tile.panels;
        const Tile last = {tile.rows, rest == 1 && tile.panels < 4 ? 1 : tile.panels};
        return tiles * (whole * step_time(t, s, tile) + (rest ? step_time(t, s, last) : 0));
}

/* With the choice of has_few_rows() (runtime/matmul.h). */
static int64_t product_time(const Target *t, Storage s, Tile tile, int64_t rows, int64_t panels)
{
        const bool few = rows < tile.rows || 10 * round_up(rows, 4) <= 9 * round_up(rows, tile.rows);
        return time_in(t, s, few ? (Tile){4, t->few_panels} : tile, rows, panels);
}

/* In hundredths of the time of the multiply-adds alone. */
static int64_t relative_time(const Target *t, Storage s, Tile tile, int64_t rows, int64_t panels)
{
        const double least = (double)rows * (double)panels * t->vectors * WIDTH / 2;
        return (int64_t)(100 * (double)product_time(t, s, tile, rows, panels) / least + 0.5);
}

/* As few pieces of k as leave those of a tile's rows within half of the first cache, and those of its panels within a quarter of the second;
 * equal ones, so that no short one is left over. */
static int64_t piece(Storage s, Tile tile, int64_t depth)
{
        const StorageInfo *of = &storage_info[s];
        const int64_t row = of->codes ? CODES_BYTES(tile.rows) : INT64_C(4) * tile.rows;
        const int64_t panel = tile.panels * LANES * of->bytes / of->values;
        const int64_t longest = smaller(FIRST_CACHE / 2 / row, SECOND_CACHE / 4 / panel);
        const int64_t pieces = (depth + longest - 1) / longest;
        return pieces == 1 ? depth : round_up((depth + pieces - 1) / pieces, of->codes ? of->codes : LANES);
}

Tiling tiling_of(Storage s, Tile tile, int64_t rows, int64_t depth)
{
        const int64_t cut = piece(s, tile, depth);
        const int64_t fit = SECOND_CACHE * INT64_C(3) / 4 / (4 * cut);
        return (Tiling){.rows = tile.rows,
                        .panels = tile.panels,
                        .cut = (int)cut,
                        .at_once = (int)smaller(rows, smaller(larger(fit, tile.rows), MOST_AT_ONCE))};
}

Tile cheapest_tile(const Plan *p, Storage s, int64_t rows, int64_t panels, const char **why)
{
        const Target *t = p->target;
        const bool batch = p->slots > 1 && p->slots < rows;
        Text *said = text_new(p->graph->arena);
        int64_t least = INT64_MAX;
        Tile best = t->tile[0];
        for (const Tile *tile = t->tile; tile->rows; tile++) {
                int64_t time = relative_time(t, s, *tile, rows, panels);
                if (batch)
                        time = (time + relative_time(t, s, *tile, p->slots, panels) + 1) / 2;
                text_printf(said, "%s%d by %d %s%" PRId64 ".%02d", said->n ? ", " : "", tile->rows,
                            tile->panels * LANES, said->n ? "" : "takes ", time / 100, (int)(time % 100));
                if (time < least)
                        best = *tile;
                least = smaller(time, least);
        }
        const char *from = batch ? arena_printf(p->graph->arena, "%" PRId64 " and %d", rows, p->slots)
                                 : arena_printf(p->graph->arena, "%" PRId64, rows);
        *why = arena_printf(p->graph->arena, "of the time of %s rows' multiply-adds %s", from, said->data);
        return best;
}
