/* Converts a grammar's trees to places, from the end to the beginning: each item is given the place after it.
 *
 *     "ab"*        0: end of the rule    1: either 3, or 0    2: byte b, then 1    3: byte a, then 2
 *
 * Characters become the bytes of UTF-8: a set becomes sequences of ranges of bytes, those of one byte in one
 * place. */
#include <stdlib.h>

#include "grammars_private.h"

typedef struct {
        Arena *arena;
        Grammar *g;
        int32_t set_slot[2 * MAX_SETS]; /* numbers of sets, from 1, by their hash; 0: free */
        int most;                       /* the exceeded limit and its name; or 0 */
        const char *full;
} PlaceLayout;

static void grammar_too_large(PlaceLayout *l, int most, const char *what)
{
        l->most = most;
        l->full = what;
}

static int place_add(PlaceLayout *l, GrammarPlace place)
{
        Grammar *g = l->g;
        if (g->nplace == MAX_PLACES) {
                grammar_too_large(l, MAX_PLACES, "places");
                return END_OF_RULE;
        }
        GROW(l->arena, g->place, g->nplace, g->cap_places);
        g->place[g->nplace] = place;
        return g->nplace++;
}

static int place_either(PlaceLayout *l, int one, int other)
{
        return one < 0 ? other : other < 0 ? one : place_add(l, (GrammarPlace){GRAMMAR_EITHER, one, other});
}

/* Number of a set of bytes. */
static int32_t character_set_number(PlaceLayout *l, const uint64_t set[4])
{
        Grammar *g = l->g;
        const size_t size = 4 * sizeof *set;
        uint64_t at = hash_bytes(HASH_START, set, size) % (UINT64_C(2) * MAX_SETS);
        for (; l->set_slot[at]; at = (at + 1) % (UINT64_C(2) * MAX_SETS))
                if (!memcmp(g->set[l->set_slot[at] - 1], set, size))
                        return l->set_slot[at] - 1;
        if (g->nset == MAX_SETS) {
                grammar_too_large(l, MAX_SETS, "sets of bytes");
                return 0;
        }
        GROW(l->arena, g->set, g->nset, g->cap_sets);
        memcpy(g->set[g->nset], set, size);
        l->set_slot[at] = ++g->nset;
        return g->nset - 1;
}

static int place_of_set(PlaceLayout *l, const uint64_t set[4], int next)
{
        return place_add(l, (GrammarPlace){character_set_number(l, set), next, 0});
}

static int bytes_from_to(PlaceLayout *l, unsigned low, unsigned high, int next)
{
        uint64_t set[4] = {0};
        for (unsigned b = low; b <= high; b++)
                set[b / 64] |= UINT64_C(1) << b % 64;
        return place_of_set(l, set, next);
}

/* --- UTF-8 ---------------------------------------------------------------------------------------------------------------- */

/* The lowest n groups of 6 bits, from low to high, as continuation bytes. */
static int continuation(PlaceLayout *l, uint32_t low, uint32_t high, int n, int next)
{
        if (n == 0)
                return next;
        const uint32_t below = (UINT32_C(1) << 6 * (n - 1)) - 1; /* maximum of the other bytes */
        const uint32_t first = low >> 6 * (n - 1), last = high >> 6 * (n - 1);
        if (first == last || ((low & below) == 0 && (high & below) == below))
                return bytes_from_to(l, 0x80 | first, 0x80 | last,
                                     continuation(l, low & below, high & below, n - 1, next));
        if (low & below)
                return place_either(l,
                                    bytes_from_to(l, 0x80 | first, 0x80 | first,
                                                  continuation(l, low & below, below, n - 1, next)),
                                    continuation(l, (first + 1) << 6 * (n - 1), high, n, next));
        return place_either(
                l, continuation(l, low, (last << 6 * (n - 1)) - 1, n, next),
                bytes_from_to(l, 0x80 | last, 0x80 | last, continuation(l, 0, high & below, n - 1, next)));
}

/* Characters of 1 + n bytes, whose first byte begins with the bits of `mark`. */
static int place_characters(PlaceLayout *l, uint32_t low, uint32_t high, int n, unsigned mark, int next)
{
        const uint32_t below = (UINT32_C(1) << 6 * n) - 1, first = low >> 6 * n, last = high >> 6 * n;
        if (first == last || ((low & below) == 0 && (high & below) == below))
                return bytes_from_to(l, mark | first, mark | last,
                                     continuation(l, low & below, high & below, n, next));
        if (low & below)
                return place_either(l, place_characters(l, low, low | below, n, mark, next),
                                    place_characters(l, (first + 1) << 6 * n, high, n, mark, next));
        return place_either(l, place_characters(l, low, (last << 6 * n) - 1, n, mark, next),
                            place_characters(l, last << 6 * n, high, n, mark, next));
}

static int set_of_characters(PlaceLayout *l, CharSet set, int next)
{
        static const struct {
                uint32_t first, last;
                unsigned mark;
        } length[] = {{0x80, 0x7ff, 0xc0}, {0x800, 0xffff, 0xe0}, {0x10000, LAST_CHARACTER, 0xf0}};
        uint64_t ascii[4] = {0};
        int all = -1;
        for (int i = 0; i < set.n; i++) {
                const CharRange r = set.range[i];
                for (uint32_t c = r.first; c <= r.last && c < 0x80; c++)
                        ascii[c / 64] |= UINT64_C(1) << c % 64;
                for (int n = 1; n <= 3; n++) {
                        const uint32_t low = r.first > length[n - 1].first ? r.first : length[n - 1].first,
                                       high = r.last < length[n - 1].last ? r.last : length[n - 1].last;
                        if (low <= high)
                                all = place_either(
                                        l, all, place_characters(l, low, high, n, length[n - 1].mark, next));
                }
        }
        return ascii[0] || ascii[1] ? place_either(l, place_of_set(l, ascii, next), all) : all;
}

/* --- items ------------------------------------------------------------------------------------------------------------------ */

static int item_place(PlaceLayout *l, const GrammarItem *item, int next);

/* `least` times, then up to `most`, or without a limit */
static int times_place(PlaceLayout *l, const GrammarItem *item, int next)
{
        const GrammarItem *kid = item->kid[0];
        int at = next, from = 0;
        if (item->most < 0) {
                const int again = place_add(l, (GrammarPlace){GRAMMAR_EITHER, 0, next});
                const int begin = item_place(l, kid, again);
                l->g->place[again].next = begin;
                at = item->least ? begin : again;
                from = 1;
        }
        for (int i = item->least; i < item->most; i++)
                at = place_either(l, item_place(l, kid, at), next);
        for (int i = from; i < item->least; i++)
                at = item_place(l, kid, at);
        return at;
}

/* The place where the item begins; `next` follows it. */
static int item_place(PlaceLayout *l, const GrammarItem *item, int next)
{
        int at = next;
        if (l->most)
                return next;
        switch (item->kind) {
        case ITEM_SET: return set_of_characters(l, item->set, next);
        case ITEM_RULE: return place_add(l, (GrammarPlace){GRAMMAR_RULE, next, item->rule});
        case ITEM_SEQUENCE:
                for (int i = item->nkid; i-- > 0;)
                        at = item_place(l, item->kid[i], at);
                return at;
        case ITEM_EITHER:
                at = item_place(l, item->kid[item->nkid - 1], next);
                for (int i = item->nkid - 1; i-- > 0;)
                        at = place_either(l, item_place(l, item->kid[i], next), at);
                return at;
        case ITEM_TIMES: return times_place(l, item, next);
        }
        return next;
}

/* Bytes in the same sets form a group.  Returns the number of groups. */
static int group_bytes(PlaceLayout *l)
{
        Grammar *g = l->g;
        int head[256], *of = NEW_ARRAY(l->arena, int, 512), groups = 1;
        for (int i = 0; i < g->nset && groups < 256; i++) {
                int n = 0;
                memset(of, 0, 512 * sizeof *of); /* [group][in the set]: the new group, from 1 */
                for (unsigned b = 0; b < 256; b++) {
                        int *to = &of[INT64_C(2) * g->group[b] + (g->set[i][b / 64] >> b % 64 & 1)];
                        if (!*to)
                                *to = ++n;
                        head[b] = *to - 1;
                }
                for (unsigned b = 0; b < 256; b++)
                        g->group[b] = (uint8_t)head[b];
                groups = n;
        }
        return groups;
}

/* References to rules become the places where they begin. */
static void resolve_rules(Grammar *g)
{
        for (int i = 0; i < g->nplace; i++)
                if (g->place[i].takes == GRAMMAR_RULE)
                        g->place[i].other = g->rule[g->place[i].other].begin;
}

static bool make_places(Arena *a, Diag *diag, Grammar *g)
{
        PlaceLayout *l = NEW(a, PlaceLayout);
        l->arena = a;
        l->g = g;
        place_add(l, (GrammarPlace){.takes = GRAMMAR_END});
        for (int i = 0; i < g->nrule; i++)
                g->rule[i].begin = item_place(l, g->rule[i].body, END_OF_RULE);
        if (l->most)
                diag_error(diag, g->rule[g->root].span, "the grammar is too large: more than %d %s", l->most,
                           l->full);
        resolve_rules(g);
        g->tables = (GrammarTables){.place = g->place,
                                    .byte_set = (const uint64_t(*)[4])g->set,
                                    .group = g->group,
                                    .places = g->nplace,
                                    .groups = group_bytes(l),
                                    .root = g->rule[g->root].begin};
        return diag->count == 0;
}

/* Whether some byte may come first. */
static bool allows_more(Diag *diag, const Grammar *g)
{
        GrammarStates s;
        void *room = malloc(grammar_room(&g->tables));
        if (!room)
                return true;
        grammar_lay(&s, &g->tables, room);
        const int32_t first = grammar_begin(&s);
        const bool some = first == GRAMMAR_UNKNOWN || s.fault || grammar_goes_on(&s, first);
        free(room);
        if (!some)
                diag_error(diag, g->rule[g->root].span, "the grammar allows nothing but the empty text");
        return some;
}

const GrammarTables *grammar_tables(const Grammar *g)
{
        return &g->tables;
}

const Grammar *grammar_read(Arena *a, Diag *diag, const Source *source)
{
        Grammar *g = NEW(a, Grammar);
        const bool good = grammar_parse(a, diag, source, g) && grammar_check(a, diag, source, g) &&
                          make_places(a, diag, g);
        return good && allows_more(diag, g) ? g : NULL;
}
