/* A grammar's trees to places, from behind to before: each item knows the place behind it.
 *
 *     "ab"*        0: end of the rule    1: either 3, or 0    2: byte b, then 1    3: byte a, then 2
 *
 * Characters become the bytes of UTF-8: a set becomes sequences of ranges of bytes, those of one byte in one place. */
#include "grammars_private.h"

typedef struct {
        Arena *arena;
        Grammar *g;
        bool full;
} Layout;

static int place_add(Layout *l, GrammarPlace place)
{
        Grammar *g = l->g;
        if (g->nplace == MAX_PLACES) {
                l->full = true;
                return END_OF_RULE;
        }
        GROW(l->arena, g->place, g->nplace, g->cap_places);
        g->place[g->nplace] = place;
        return g->nplace++;
}

static int either(Layout *l, int one, int other)
{
        return one < 0     ? other
               : other < 0 ? one
                           : place_add(l, (GrammarPlace){.kind = PLACE_EITHER, .next = one, .other = other});
}

static int bytes_from_to(Layout *l, unsigned low, unsigned high, int next)
{
        GrammarPlace p = {.kind = PLACE_BYTE, .next = next};
        for (unsigned b = low; b <= high; b++)
                p.byte[b / 64] |= UINT64_C(1) << b % 64;
        return place_add(l, p);
}

/* --- UTF-8 ---------------------------------------------------------------------------------------------------------------- */

/* The lowest n groups of 6 bits, from low to high, as bytes that follow a first one. */
static int continuation(Layout *l, uint32_t low, uint32_t high, int n, int next)
{
        if (n == 0)
                return next;
        const uint32_t below = (UINT32_C(1) << 6 * (n - 1)) - 1; /* what the other bytes count up to */
        const uint32_t first = low >> 6 * (n - 1), last = high >> 6 * (n - 1);
        if (first == last || ((low & below) == 0 && (high & below) == below))
                return bytes_from_to(l, 0x80 | first, 0x80 | last,
                                     continuation(l, low & below, high & below, n - 1, next));
        if (low & below)
                return either(l,
                              bytes_from_to(l, 0x80 | first, 0x80 | first,
                                            continuation(l, low & below, below, n - 1, next)),
                              continuation(l, (first + 1) << 6 * (n - 1), high, n, next));
        return either(
                l, continuation(l, low, (last << 6 * (n - 1)) - 1, n, next),
                bytes_from_to(l, 0x80 | last, 0x80 | last, continuation(l, 0, high & below, n - 1, next)));
}

/* Characters of 1 + n bytes, whose first byte begins with the bits of `mark`. */
static int characters(Layout *l, uint32_t low, uint32_t high, int n, unsigned mark, int next)
{
        const uint32_t below = (UINT32_C(1) << 6 * n) - 1, first = low >> 6 * n, last = high >> 6 * n;
        if (first == last || ((low & below) == 0 && (high & below) == below))
                return bytes_from_to(l, mark | first, mark | last,
                                     continuation(l, low & below, high & below, n, next));
        if (low & below)
                return either(l, characters(l, low, low | below, n, mark, next),
                              characters(l, (first + 1) << 6 * n, high, n, mark, next));
        return either(l, characters(l, low, (last << 6 * n) - 1, n, mark, next),
                      characters(l, last << 6 * n, high, n, mark, next));
}

static int set_of_characters(Layout *l, CharSet set, int next)
{
        static const struct {
                uint32_t first, last;
                unsigned mark;
        } length[] = {{0x80, 0x7ff, 0xc0}, {0x800, 0xffff, 0xe0}, {0x10000, LAST_CHARACTER, 0xf0}};
        GrammarPlace ascii = {.kind = PLACE_BYTE, .next = next};
        int all = -1;
        for (int i = 0; i < set.n; i++) {
                const CharRange r = set.range[i];
                for (uint32_t c = r.first; c <= r.last && c < 0x80; c++)
                        ascii.byte[c / 64] |= UINT64_C(1) << c % 64;
                for (int n = 1; n <= 3; n++) {
                        const uint32_t low = r.first > length[n - 1].first ? r.first : length[n - 1].first,
                                       high = r.last < length[n - 1].last ? r.last : length[n - 1].last;
                        if (low <= high)
                                all = either(l, all, characters(l, low, high, n, length[n - 1].mark, next));
                }
        }
        return ascii.byte[0] || ascii.byte[1] ? either(l, place_add(l, ascii), all) : all;
}

/* --- items ------------------------------------------------------------------------------------------------------------------ */

static int item_place(Layout *l, const GrammarItem *item, int next);

/* least times, and then up to most times more, or without a limit */
static int times_place(Layout *l, const GrammarItem *item, int next)
{
        const GrammarItem *kid = item->kid[0];
        int at = next, from = 0;
        if (item->most < 0) {
                const int again = place_add(l, (GrammarPlace){.kind = PLACE_EITHER, .other = next});
                const int begin = item_place(l, kid, again);
                l->g->place[again].next = begin;
                at = item->least ? begin : again;
                from = 1;
        }
        for (int i = item->least; i < item->most; i++)
                at = either(l, item_place(l, kid, at), next);
        for (int i = from; i < item->least; i++)
                at = item_place(l, kid, at);
        return at;
}

/* The place where the item begins, `next` being behind it. */
static int item_place(Layout *l, const GrammarItem *item, int next)
{
        int at = next;
        if (l->full)
                return next;
        switch (item->kind) {
        case ITEM_SET: return set_of_characters(l, item->set, next);
        case ITEM_RULE:
                return place_add(l, (GrammarPlace){.kind = PLACE_RULE, .next = next, .other = item->rule});
        case ITEM_SEQUENCE:
                for (int i = item->nkid; i-- > 0;)
                        at = item_place(l, item->kid[i], at);
                return at;
        case ITEM_EITHER:
                at = item_place(l, item->kid[item->nkid - 1], next);
                for (int i = item->nkid - 1; i-- > 0;)
                        at = either(l, item_place(l, item->kid[i], next), at);
                return at;
        case ITEM_TIMES: return times_place(l, item, next);
        }
        return next;
}

/* Bytes that stand in the same places are one group. */
static void group_bytes(Layout *l)
{
        Grammar *g = l->g;
        int head[256], *of = NEW_ARRAY(l->arena, int, 512);
        g->groups = 1;
        for (int i = 0; i < g->nplace && g->groups < 256; i++) {
                const GrammarPlace *p = &g->place[i];
                if (p->kind != PLACE_BYTE)
                        continue;
                memset(of, 0,
                       512 * sizeof *of); /* by group and whether the byte is taken: the new group, from 1 on */
                int n = 0;
                for (unsigned b = 0; b < 256; b++) {
                        int *to = &of[2 * g->group[b] + place_takes(p, b)];
                        if (!*to)
                                *to = ++n;
                        head[b] = *to - 1;
                }
                for (unsigned b = 0; b < 256; b++)
                        g->group[b] = (uint8_t)head[b];
                g->groups = n;
        }
}

static bool make_places(Arena *a, Diag *diag, Grammar *g)
{
        Layout l = {a, g, false};
        place_add(&l, (GrammarPlace){.kind = PLACE_END});
        for (int i = 0; i < g->nrule; i++)
                g->rule[i].begin = item_place(&l, g->rule[i].body, END_OF_RULE);
        const Span root = g->rule[g->root].span;
        if (l.full)
                diag_error(diag, root, "the grammar is too large: more than %d places", MAX_PLACES);
        group_bytes(&l);
        return diag->count == 0;
}

/* Some byte may come first. */
static bool allows_more(Diag *diag, const Grammar *g)
{
        GrammarStates *s = grammar_states_new(g);
        const bool some = !s || grammar_goes_on(s, grammar_begin(s));
        grammar_states_free(s);
        if (!some)
                diag_error(diag, g->rule[g->root].span, "the grammar allows nothing but the empty text");
        return some;
}

const Grammar *grammar_read(Arena *a, Diag *diag, const Source *source)
{
        Grammar *g = NEW(a, Grammar);
        const bool good = grammar_parse(a, diag, source, g) && grammar_check(a, diag, source, g) &&
                          make_places(a, diag, g);
        return good && allows_more(diag, g) ? g : NULL;
}
