/*
 * Pages: states of several sequences in pages of 256 positions, as many as attention takes at once.
 *
 *      positions of a slot      0 .. 255 | 256 .. 511 | 512 .. 600
 *      page_of [page_blocks]        4    |     0      |     7          position p is in row 256 page_of[p / 256] + p % 256
 *
 * A state has rows for all pages.  Each slot has a list of its pages: `past` positions are in the first (past + 255) / 256 of them.
 * A page number is valid in all states.  Slots with the same prefix may share a page; it is copied before one of them writes to it.
 *
 * Pages are allocated before a call, in two steps, so that a call gets all its pages or none: pages_ask() for each sequence, then
 * pages_take() or pages_unask() for each.
 *
 * Needs window_cache.h.
 */
#include <stdint.h>
#include <string.h>

#define PAGE_POSITIONS 256

typedef struct {
        int32_t *page_of;    /* [slots][page_blocks]; between pages_ask() and pages_take(): -1 - page if it must be copied */
        int32_t *page_users; /* [pages] */
        int32_t *page_spare; /* [pages]: the first pages_left have no users; the last of them is taken next */
        int64_t page_blocks, pages_left;
} PageTable;

/* Number of int32_t in a table. */
#define PAGE_NUMBERS(slots, page_blocks, pages) ((int64_t)(slots) * (page_blocks) + 2 * (int64_t)(pages))

/* Initialises a table in `numbers` with all pages free. */
static inline void pages_begin(PageTable *table, int32_t *numbers, int64_t slots, int64_t page_blocks, int64_t pages)
{
        table->page_of = numbers;
        table->page_users = table->page_of + slots * page_blocks;
        table->page_spare = table->page_users + pages;
        table->page_blocks = page_blocks;
        table->pages_left = pages;
        for (int64_t i = 0; i < pages; i++) {
                table->page_users[i] = 0;
                table->page_spare[i] = (int32_t)(pages - 1 - i);
        }
}

/* The row of a sequence's position in a state. */
static inline int64_t page_row(const int32_t *page_of, int64_t position)
{
        return (int64_t)page_of[position / PAGE_POSITIONS] * PAGE_POSITIONS + position % PAGE_POSITIONS;
}

/* Number of pages for n positions. */
static inline int64_t pages_for(int64_t positions)
{
        return (positions + PAGE_POSITIONS - 1) / PAGE_POSITIONS;
}

/* The last, partly filled page of a slot of `past` positions; NULL: its pages are full. */
static inline int32_t *page_begun(const PageTable *table, int64_t slot, int64_t past)
{
        return past % PAGE_POSITIONS ? &table->page_of[slot * table->page_blocks + past / PAGE_POSITIONS] : NULL;
}

/* Number of pages that a slot of `past` positions needs for n more.  A shared page is marked for copying and loses a user. */
static inline int64_t pages_ask(const PageTable *table, int64_t slot, int64_t past, int64_t n)
{
        int32_t *begun = n > 0 ? page_begun(table, slot, past) : NULL;
        const int copied = begun && table->page_users[*begun] > 1;
        if (copied) {
                table->page_users[*begun]--;
                *begun = -1 - *begun;
        }
        return copied + pages_for(past + n) - pages_for(past);
}

static inline void pages_unask(const PageTable *table, int64_t slot, int64_t past)
{
        int32_t *begun = page_begun(table, slot, past);
        if (begun && *begun < 0) {
                *begun = -1 - *begun;
                table->page_users[*begun]++;
        }
}

static inline int32_t page_next(PageTable *table)
{
        const int32_t taken = table->page_spare[--table->pages_left];
        table->page_users[taken] = 1;
        return taken;
}

/* Copies the first `positions` positions of page `from` to page `to`.  paged: the states with pages, at `pool`. */
static inline void pages_copy(const CachedState *paged, int states, float *pool, int64_t from, int64_t to, int64_t positions)
{
        for (int i = 0; i < states; i++)
                for (int64_t k = 0; k < paged[i].slots; k++) {
                        float *rows = pool + paged[i].offset + k * paged[i].slot;
                        const int64_t size = PAGE_POSITIONS / 16 * paged[i].tile;
                        memcpy(rows + to * size, rows + from * size, sizeof *rows * (size_t)((positions + 15) / 16 * paged[i].tile));
                }
}

/* Allocates the pages that pages_ask() counted.  paged: the states with pages, at `pool`. */
static inline void pages_take(PageTable *table, int64_t slot, int64_t past, int64_t n, const CachedState *paged, int states,
                              float *pool)
{
        int32_t *begun = page_begun(table, slot, past);
        if (begun && *begun < 0) {
                const int64_t shared = -1 - *begun;
                *begun = page_next(table);
                pages_copy(paged, states, pool, shared, *begun, past % PAGE_POSITIONS);
        }
        for (int64_t i = pages_for(past); i < pages_for(past + n); i++)
                table->page_of[slot * table->page_blocks + i] = page_next(table);
}

/* Rewinds a slot of `past` positions to the first n. */
static inline void pages_give(PageTable *table, int64_t slot, int64_t past, int64_t n)
{
        for (int64_t i = pages_for(past); i > pages_for(n); i--) {
                const int32_t given = table->page_of[slot * table->page_blocks + i - 1];
                if (--table->page_users[given] == 0)
                        table->page_spare[table->pages_left++] = given;
        }
}

/* Shares the pages of a slot of `past` positions with slot `copy`, which has none. */
static inline void pages_share(const PageTable *table, int64_t slot, int64_t copy, int64_t past)
{
        for (int64_t i = 0; i < pages_for(past); i++) {
                const int32_t shared = table->page_of[slot * table->page_blocks + i];
                table->page_of[copy * table->page_blocks + i] = shared;
                table->page_users[shared]++;
        }
}
