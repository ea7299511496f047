/*
 * Window caches: states that hold less than the whole context, since they are read no further back than a window.
 *
 *      position     0 ........ base ............ past - back ...... past ... past + n ....... base + size
 *      held                     | taken back, perhaps   | read by rows to come | new rows |  free    |
 *
 * Rows are stored in the order of their positions: a row's index is its position minus base.  If a call's new rows do
 * not fit, all rows that are still read move to the front, and base grows by the same number, a multiple of 16, so that
 * tiles of 16 keys stay whole.  A row moves about once in as many positions as are free after a move.  No result
 * depends on base.
 */
#include <stdint.h>
#include <string.h>

typedef struct {
        int64_t back;  /* number of previous positions that a row reads */
        int64_t spare; /* number of further positions kept, for rewinding */
        int64_t size;  /* positions held: at least back + spare + 15 and the new ones of a call */
} WindowCache;

/* A state of a window cache: slots `slot` floats apart, each [size / 16][tile]. */
typedef struct {
        int cache;
        int64_t offset, slots, slot, tile;
} CachedState;

/* Makes room in window cache r, which holds positions from *base on, for n positions after `past`.  held: the states
 * of all window caches. */
static inline void cache_make_room(const WindowCache *cache, int r, int64_t *base, const CachedState *held, int states,
                                  float *state, int64_t past, int64_t n)
{
        if (past + n <= *base + cache->size)
                return;
        const int64_t first = (past - cache->back - cache->spare) / 16 * 16;
        for (int i = 0; i < states; i++)
                for (int64_t slot = 0; held[i].cache == r && slot < held[i].slots; slot++) {
                        float *to = state + held[i].offset + slot * held[i].slot;
                        memmove(to, to + (first - *base) / 16 * held[i].tile,
                                sizeof *to * (size_t)((past - first + 15) / 16 * held[i].tile));
                }
        *base = first;
}

/* Whether a window cache that begins at `base` holds what is read by rows that follow the first n. */
static inline int cache_reaches(const WindowCache *cache, int64_t base, int64_t n)
{
        return base == 0 || n - cache->back >= base;
}
