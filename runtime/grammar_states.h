/*
 * Positions of texts in a grammar, as the states of a deterministic automaton that is built on demand.
 *
 * A grammar is a list of places.  A place takes a byte, calls a rule, or leads to two other places.  After some bytes a text may
 * be at several places, and within nested rules: each path is a place and a stack of return places.  A state is the set of all
 * paths whose places take a byte next:
 *
 *     root ::= "[" root? "]"           after "[[":  { "[" or "]", then return to the place after root's first call }
 *
 * Stacks share their lower parts (a cell is a place and the cell below it), equal cells and states are stored once, and a step
 * is computed once.  A call at the end of a rule pushes nothing, so that tail-recursive rules need no stack.
 *
 * All data is in memory of a fixed size, in one of two halves.  When a half is full, live data is copied to the other, and the
 * rest is dropped.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GRAMMAR_END = -1, GRAMMAR_RULE = -2, GRAMMAR_EITHER = -3 };

typedef struct {
        int32_t takes; /* index of a byte set; or GRAMMAR_END (of a rule), GRAMMAR_RULE or GRAMMAR_EITHER */
        int32_t next;  /* the place after the byte or the rule; GRAMMAR_EITHER: the first of two places */
        int32_t other; /* GRAMMAR_EITHER: the second place; GRAMMAR_RULE: the first place of the rule */
} GrammarPlace;

typedef struct GrammarTables {
        const GrammarPlace *place; /* [places]; place 0 is the end of every rule */
        const uint64_t (*byte_set)[4]; /* a bit for each byte */
        const uint8_t *group; /* [256]: group of each byte; bytes of one group are in the same sets */
        int32_t places, groups, root; /* root: the place where a text begins */
} GrammarTables;

static inline int grammar_takes(const GrammarTables *t, int32_t place, unsigned byte)
{
        return (int)(t->byte_set[t->place[place].takes][byte / 64] >> byte % 64 & 1);
}

enum {
        GRAMMAR_WAYS = 1 << 15,           /* maximum number of paths of a state */
        GRAMMAR_SEEN = 4 * GRAMMAR_WAYS,  /* slots of a hash table */
        GRAMMAR_DEAD = 0,                 /* the state of texts that the grammar allows no text to begin with */
        GRAMMAR_UNKNOWN = -1,             /* no state yet */
        GRAMMAR_STATE = 2                 /* ints before a state's table of steps */
};

typedef struct {
        int32_t place, stack;
} GrammarWay;

typedef struct {
        const GrammarTables *tables;
        /* A cell is two ints: the return place, and the cell below or 0.  A state: number of ways, whether the text may end, [groups] the state
         * after a byte of each group, [ways] a GrammarWay each.  Offsets in `half` identify cells and states. */
        int32_t *half, *other_half;       /* [words] */
        int64_t words, used;
        int32_t *state_slot, *cell_slot;  /* [slots], a power of two: open addressing, 0 is free */
        int64_t slots, states, cells;     /* capacity of the tables; numbers of states and cells in them */
        int32_t first;                    /* state before the first byte */
        const char *fault;                /* message if a limit made a state dead; or NULL */
        int full;                         /* the last state or cell did not fit */
        /* the state under construction */
        GrammarWay *way, *pending, *seen; /* [GRAMMAR_WAYS], [GRAMMAR_SEEN], [GRAMMAR_SEEN] */
        int32_t *mark, turn;              /* [GRAMMAR_SEEN]: a slot is taken if its mark is `turn` */
        int32_t nway, npending, nseen, may_end;
} GrammarStates;

static inline int64_t grammar_words(const GrammarTables *t)
{
        return (1 << 19) + 16 * (int64_t)t->places;
}

static inline int64_t grammar_slots(const GrammarTables *t)
{
        int64_t slots = 1;
        while (slots < grammar_words(t) / 2)
                slots *= 2;
        return slots;
}

/* Bytes of scratch for grammar_lay(), a multiple of 8. */
static inline size_t grammar_room(const GrammarTables *t)
{
        return (GRAMMAR_WAYS + 2 * GRAMMAR_SEEN) * sizeof(GrammarWay) +
               (size_t)(2 * grammar_words(t) + 2 * grammar_slots(t) + GRAMMAR_SEEN) * sizeof(int32_t);
}

/* Drops all states and switches to the other half. */
static inline void grammar_forget(GrammarStates *s)
{
        int32_t *before = s->half;
        s->half = s->other_half;
        s->other_half = before;
        memset(s->state_slot, 0, (size_t)s->slots * sizeof *s->state_slot);
        memset(s->cell_slot, 0, (size_t)s->slots * sizeof *s->cell_slot);
        s->used = GRAMMAR_STATE + s->tables->groups; /* the dead state: it has no ways, and all steps lead back */
        memset(s->half, 0, (size_t)s->used * sizeof *s->half);
        s->states = s->cells = s->full = 0;
        s->first = GRAMMAR_UNKNOWN;
}

/* Places the automaton in `room`, aligned to 8. */
static inline void grammar_lay(GrammarStates *s, const GrammarTables *t, void *room)
{
        *s = (GrammarStates){.tables = t, .words = grammar_words(t), .slots = grammar_slots(t), .way = (GrammarWay *)room};
        s->pending = s->way + GRAMMAR_WAYS;
        s->seen = s->pending + GRAMMAR_SEEN;
        s->mark = (int32_t *)(void *)(s->seen + GRAMMAR_SEEN);
        s->state_slot = s->mark + GRAMMAR_SEEN;
        s->cell_slot = s->state_slot + s->slots;
        s->half = s->cell_slot + s->slots;
        s->other_half = s->half + s->words;
        memset(s->mark, 0, GRAMMAR_SEEN * sizeof *s->mark);
        grammar_forget(s);
}

/* --- unique cells and states --- */

static inline uint64_t grammar_hash(const int32_t *word, int64_t n)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (int64_t i = 0; i < n; i++)
                hash = (hash ^ (uint32_t)word[i]) * UINT64_C(0x100000001b3);
        return hash ^ hash >> 29;
}

/* Offset of a new cell or state of `words` ints, counted in *taken; 0 with s->full set: it does not fit. */
static inline int32_t grammar_take_room(GrammarStates *s, int64_t words, int64_t *taken)
{
        if (s->full || s->used + words > s->words || 2 * (*taken + 1) > s->slots)
                return (s->full = 1, 0);
        const int32_t at = (int32_t)s->used;
        s->used += words;
        ++*taken;
        return at;
}

static inline int32_t grammar_cell(GrammarStates *s, int32_t place, int32_t below)
{
        const int32_t cell[2] = {place, below};
        int64_t slot = (int64_t)(grammar_hash(cell, 2) & (uint64_t)(s->slots - 1));
        for (; s->cell_slot[slot]; slot = (slot + 1) & (s->slots - 1))
                if (!memcmp(s->half + s->cell_slot[slot], cell, sizeof cell))
                        return s->cell_slot[slot];
        const int32_t made = grammar_take_room(s, 2, &s->cells);
        if (made)
                memcpy(s->half + made, cell, sizeof cell);
        return s->cell_slot[slot] = made;
}

static int grammar_by_way(const void *a, const void *b)
{
        const GrammarWay *x = a, *y = b;
        return x->place != y->place ? (x->place > y->place) - (x->place < y->place) : (x->stack > y->stack) - (x->stack < y->stack);
}

/* The paths of a state. */
static inline const GrammarWay *grammar_ways(const GrammarStates *s, int32_t state)
{
        return (const GrammarWay *)(const void *)(s->half + state + GRAMMAR_STATE + s->tables->groups);
}

/* Stores the state under construction.  Returns it, or GRAMMAR_UNKNOWN if it does not fit. */
static inline int32_t grammar_state(GrammarStates *s)
{
        const int32_t groups = s->tables->groups, n = s->nway;
        if (s->full)
                return GRAMMAR_UNKNOWN;
        if (!n && !s->may_end)
                return GRAMMAR_DEAD;
        qsort(s->way, (size_t)n, sizeof *s->way, grammar_by_way);
        int64_t slot = (int64_t)((grammar_hash((const int32_t *)(const void *)s->way, 2 * (int64_t)n) + (uint64_t)s->may_end) &
                                 (uint64_t)(s->slots - 1));
        for (int32_t found; (found = s->state_slot[slot]); slot = (slot + 1) & (s->slots - 1))
                if (s->half[found] == n && s->half[found + 1] == s->may_end &&
                    !memcmp(grammar_ways(s, found), s->way, (size_t)n * sizeof *s->way))
                        return found;
        const int32_t made = grammar_take_room(s, GRAMMAR_STATE + groups + 2 * (int64_t)n, &s->states);
        if (!made)
                return GRAMMAR_UNKNOWN;
        s->state_slot[slot] = made;
        s->half[made] = n;
        s->half[made + 1] = s->may_end;
        for (int32_t i = 0; i < groups; i++)
                s->half[made + GRAMMAR_STATE + i] = GRAMMAR_UNKNOWN;
        memcpy(s->half + made + GRAMMAR_STATE + groups, s->way, (size_t)n * sizeof *s->way);
        return made;
}

/* --- paths --- */

static inline void grammar_begin_ways(GrammarStates *s)
{
        s->nway = s->npending = s->nseen = s->may_end = s->full = 0;
        s->turn++;
}

/* Whether this path was seen before; marks it as seen. */
static inline int grammar_is_seen(GrammarStates *s, GrammarWay w)
{
        uint32_t at = ((uint32_t)w.place * 2654435761u ^ (uint32_t)w.stack * 40503u) % GRAMMAR_SEEN;
        for (; s->mark[at] == s->turn; at = (at + 1) % GRAMMAR_SEEN)
                if (s->seen[at].place == w.place && s->seen[at].stack == w.stack)
                        return 1;
        s->mark[at] = s->turn;
        s->seen[at] = w;
        s->nseen++;
        return 0;
}

static inline void grammar_pend(GrammarStates *s, int32_t place, int32_t stack)
{
        s->pending[s->npending++] = (GrammarWay){place, stack};
}

/* Follows calls and alternatives from a place to all places that take a byte. */
static inline void grammar_follow(GrammarStates *s, int32_t place, int32_t stack)
{
        grammar_pend(s, place, stack);
        while (s->npending) {
                const GrammarWay w = s->pending[--s->npending];
                const GrammarPlace *p = &s->tables->place[w.place];
                if (grammar_is_seen(s, w))
                        continue;
                if (s->nseen > GRAMMAR_SEEN / 2 - 2 || s->nway == GRAMMAR_WAYS) {
                        s->fault = "the grammar reads a text in too many ways at once; fewer rules that allow the same would help";
                        s->npending = 0;
                        return;
                }
                switch (p->takes) {
                case GRAMMAR_EITHER:
                        grammar_pend(s, p->next, w.stack);
                        grammar_pend(s, p->other, w.stack);
                        break;
                case GRAMMAR_RULE:
                        grammar_pend(s, p->other, s->tables->place[p->next].takes == GRAMMAR_END ? w.stack : grammar_cell(s, p->next, w.stack));
                        break;
                case GRAMMAR_END:
                        if (w.stack)
                                grammar_pend(s, s->half[w.stack], s->half[w.stack + 1]);
                        else
                                s->may_end = 1;
                        break;
                default: s->way[s->nway++] = w;
                }
        }
}

/* The state before the first byte, or GRAMMAR_UNKNOWN if it does not fit. */
static inline int32_t grammar_begin(GrammarStates *s)
{
        if (s->first != GRAMMAR_UNKNOWN)
                return s->first;
        grammar_begin_ways(s);
        grammar_follow(s, s->tables->root, 0);
        return s->first = grammar_state(s);
}

/* The state after a byte, or GRAMMAR_UNKNOWN if it does not fit: then call grammar_keep(). */
static inline int32_t grammar_step(GrammarStates *s, int32_t state, unsigned byte)
{
        const int32_t at = state + GRAMMAR_STATE + s->tables->group[byte], n = s->half[state];
        if (s->half[at] != GRAMMAR_UNKNOWN)
                return s->half[at];
        grammar_begin_ways(s);
        for (int32_t i = 0; i < n; i++) {
                const GrammarWay w = grammar_ways(s, state)[i];
                if (grammar_takes(s->tables, w.place, byte))
                        grammar_follow(s, s->tables->place[w.place].next, w.stack);
        }
        const int32_t to = grammar_state(s);
        return s->half[at] = to;
}

static inline int grammar_may_end(const GrammarStates *s, int32_t state)
{
        return s->half[state + 1];
}

/* Whether the state allows any byte. */
static inline int grammar_goes_on(const GrammarStates *s, int32_t state)
{
        return s->half[state] > 0;
}

/* --- copying live states --- */

/* Copies a stack of the other half to this one.  A copied cell holds the negative of its new offset; the links down to it are reversed
 * on the way there and followed on the way back. */
static inline int32_t grammar_stack_again(GrammarStates *s, int32_t cell)
{
        int32_t *before = s->other_half, above = 0;
        while (cell && before[cell] >= 0) {
                const int32_t below = before[cell + 1];
                before[cell + 1] = above;
                above = cell;
                cell = below;
        }
        int32_t stack = cell ? -before[cell] : 0;
        while (above) {
                const int32_t next = before[above + 1];
                stack = grammar_cell(s, before[above], stack);
                before[above] = -stack;
                above = next;
        }
        return stack;
}

/* Drops all states but these [n], and replaces their offsets by the new ones. */
static inline void grammar_keep(GrammarStates *s, int32_t *state, int64_t n)
{
        grammar_forget(s);
        for (int64_t i = 0; i < n; i++) {
                const int32_t *was = s->other_half + (state[i] > 0 ? state[i] : 0);
                const GrammarWay *way = (const GrammarWay *)(const void *)(was + GRAMMAR_STATE + s->tables->groups);
                grammar_begin_ways(s);
                s->may_end = was[1];
                for (; s->nway < was[0]; s->nway++)
                        s->way[s->nway] = (GrammarWay){way[s->nway].place, grammar_stack_again(s, way[s->nway].stack)};
                state[i] = state[i] < 0 ? state[i] : grammar_state(s);
        }
}
