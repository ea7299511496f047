/* Positions of an attention's tokens in the input picture: patches, found by tracing each token back to a pixel. */
#include <stdlib.h>
#include <string.h>

#include "repl_attention_private.h"

/* The smallest distance of two pixels along an axis; `all` if they are in one line. */
static int64_t min_distance(const HeatPlace *place, int64_t n, bool down, int64_t all, uint8_t *seen)
{
        int64_t least = all, last = -1;
        memset(seen, 0, (size_t)all);
        for (int64_t i = 0; i < n; i++)
                if (place[i].known)
                        seen[down ? place[i].down : place[i].across] = 1;
        for (int64_t at = 0; at < all; at++) {
                if (!seen[at])
                        continue;
                if (last >= 0 && at - last < least)
                        least = at - last;
                last = at;
        }
        return least;
}

/* Converts the pixels of maps [n / tokens][tokens] to patches of h->patch by h->patch; false: they do not
 * tile the picture, or two tokens of a map have the same patch. */
static bool tile(const Heat *h, HeatPlace *place, int64_t n, int64_t tokens)
{
        const int64_t down = h->height / h->patch, across = h->width / h->patch, all = down * across;
        /* number of the last map with the patch, from 1 */
        int64_t *map_of = calloc((size_t)all + 1, sizeof *map_of), left = all;
        bool good = map_of && h->height % h->patch == 0 && h->width % h->patch == 0;
        for (int64_t i = 0; good && i < n; i++) {
                if (!place[i].known)
                        continue;
                place[i].down /= h->patch;
                place[i].across /= h->patch;
                int64_t *map = &map_of[place[i].down * across + place[i].across];
                good = *map != i / tokens + 1;
                left -= *map == 0;
                *map = i / tokens + 1;
        }
        free(map_of);
        return good && left == 0;
}

typedef bool Origin(const Graph *g, const Stage *stage, const int64_t *size, const AttentionSite *at,
                    int input, const int64_t *index, int64_t *origin);

static HeatPlace *find_pixels(const Heat *h, const HeatSource *from, Origin *origin_of, bool keys)
{
        const int64_t tokens = keys ? h->columns : h->rows, n = h->heads * h->windows * tokens;
        const int rank = from->at->softmax->type.rank;
        HeatPlace *place = calloc((size_t)n + 1, sizeof *place);
        if (!place)
                return NULL;
        for (int64_t i = 0; i < n; i++) {
                int64_t index[MAX_RANK] = {0}, pixel[MAX_RANK] = {0};
                if (rank > 2)
                        index[0] = i / tokens / h->windows;
                if (rank == 4)
                        index[1] = i / tokens % h->windows;
                index[rank - (keys ? 1 : 2)] = i % tokens;
                if (origin_of(from->g, from->stage, from->size, from->at, from->input, index, pixel))
                        place[i] = (HeatPlace){true, pixel[1], pixel[2]};
        }
        return place;
}

bool heat_find_places(Heat *h, const HeatSource *from)
{
        const int64_t queries = h->heads * h->windows * h->rows, keys = h->heads * h->windows * h->columns;
        const int rank = from->at->softmax->type.rank;
        if (rank < 2 || rank > 4)
                return true;
        h->query = find_pixels(h, from, query_origin, false);
        h->key = find_pixels(h, from, key_origin, true);
        uint8_t *seen = malloc((size_t)(h->height > h->width ? h->height : h->width));
        if (!h->query || !h->key || !seen)
                return free(seen), false;
        const int64_t high = min_distance(h->key, keys, true, h->height, seen),
                      wide = min_distance(h->key, keys, false, h->width, seen);
        free(seen);
        h->patch = high < wide ? high : wide;
        h->placed = tile(h, h->key, keys, h->columns) && tile(h, h->query, queries, h->rows);
        return true;
}
