/*
 * Pages: states of several sequences in pages of 256 positions, as many as attention takes at once.
 *
 *      positions of a slot      0 .. 255 | 256 .. 511 | 512 .. 600
 *      page_of [page_blocks]        4    |     0      |     7          position p lies at 256 page_of[p / 256] + p % 256
 *
 * A state has rows for all pages together, and each slot the numbers of those that hold its positions: of `past` positions the first
 * (past + 255) / 256.  A page is one of all states.  It may have several users, slots that had the same beginning; it is copied
 * before one of them writes to it.
 *
 * Pages are taken before a call, in two steps, so that all that the call needs are there or none is taken: pages_ask() for each
 * sequence, then pages_take() or pages_unask() for each.
 *
 * Needs window_cache.h.
 */
#include <stdint.h>
#include <string.h>

#define PAGE_POSITIONS 256

typedef struct {
        int32_t *page_of;    /* [slots][page_blocks]; between asking and taking -1 - page: it is to be copied */
        int32_t *page_users; /* [pages] */
        int32_t *page_spare; /* [pages]: the first pages_left have no users; the last of them is taken next */
        int64_t page_blocks, pages_left;
} PageTable;

/* int32_t that a table counts with. */
#define PAGE_NUMBERS(slots, page_blocks, pages) ((int64_t)(slots) * (page_blocks) + 2 * (int64_t)(pages))

/* A table in `numbers` of which all pages are left. */
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

/* The row of a state in which a sequence's position lies. */
static inline int64_t page_row(const int32_t *page_of, int64_t position)
{
        return (int64_t)page_of[position / PAGE_POSITIONS] * PAGE_POSITIONS + position % PAGE_POSITIONS;
}

/* Pages that so many positions lie in. */
static inline int64_t pages_for(int64_t positions)
{
        return (positions + PAGE_POSITIONS - 1) / PAGE_POSITIONS;
}

/* The page that a slot of `past` positions writes to before it needs another; NULL: it needs one at once. */
static inline int32_t *page_begun(const PageTable *table, int64_t slot, int64_t past)
{
        return past % PAGE_POSITIONS ? &table->page_of[slot * table->page_blocks + past / PAGE_POSITIONS] : NULL;
}

/* How many pages a slot of `past` positions needs for n more.  One that others use too is marked, and has a user less. */
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

/* The first `positions` positions of page `to` become those of page `from`.  paged: the states that lie in pages, at `pool`. */
static inline void pages_copy(const CachedState *paged, int states, float *pool, int64_t from, int64_t to, int64_t positions)
{
        for (int i = 0; i < states; i++)
                for (int64_t k = 0; k < paged[i].slots; k++) {
                        float *rows = pool + paged[i].offset + k * paged[i].slot;
                        const int64_t size = PAGE_POSITIONS / 16 * paged[i].tile;
                        memcpy(rows + to * size, rows + from * size, sizeof *rows * (size_t)((positions + 15) / 16 * paged[i].tile));
                }
}

/* The pages that were asked for.  paged: the states that lie in pages, at `pool`. */
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

/* A slot of `past` positions goes back to the first n. */
static inline void pages_give(PageTable *table, int64_t slot, int64_t past, int64_t n)
{
        for (int64_t i = pages_for(past); i > pages_for(n); i--) {
                const int32_t given = table->page_of[slot * table->page_blocks + i - 1];
                if (--table->page_users[given] == 0)
                        table->page_spare[table->pages_left++] = given;
        }
}

/* Slot `copy`, which has no pages, gets those of a slot of `past` positions, which both use then. */
static inline void pages_share(const PageTable *table, int64_t slot, int64_t copy, int64_t past)
{
        for (int64_t i = 0; i < pages_for(past); i++) {
                const int32_t shared = table->page_of[slot * table->page_blocks + i];
                table->page_of[copy * table->page_blocks + i] = shared;
                table->page_users[shared]++;
        }
}
