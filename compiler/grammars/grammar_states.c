/* Where texts may be under a grammar, as the states of a deterministic machine that is made while texts go through it.
 *
 * After some bytes a text may be at several places, and within rules that others have named: each way is a place and a stack of the
 * places to return to.  A state is the set of all ways, none of which has to return or to choose before it takes a byte:
 *
 *     root ::= "[" root? "]"           after "[[":  { "[" or "]", then back behind root's first name }
 *
 * Stacks share what lies below (a cell is a place and the cell below it), cells and states are the same where they are equal, and a
 * step that was made once is looked up.  Nothing is pushed for a rule that is named last, so that rules which repeat by naming
 * themselves at their end need no stack. */
#include "grammars_private.h"

#include <stdlib.h>

enum {
        MOST_WAYS = 1 << 15,       /* of a state */
        WAYS_SEEN = 4 * MOST_WAYS, /* slots of a hash table */
        MOST_STATES = 1 << 20,
        MUCH_MEMORY = 16 << 20, /* bytes: grammar_forget() begins anew */
        NO_STATE = -1
};

typedef struct {
        int place, stack;
} Way;

typedef struct {
        int place, below; /* where to return to, and the cell below; cell 0: nothing */
} Cell;

typedef struct {
        Way *way;
        int n;
        bool may_end;
        int32_t *to; /* [groups]: the state after a byte of the group; NO_STATE: not known yet */
} State;

/* Numbers of what is equal: open addressing, 0 free. */
typedef struct {
        int32_t *slot;
        int64_t slots, used;
} Numbers;

struct GrammarStates {
        const Grammar *g;
        Arena arena;
        State *state;
        int nstate, cap_states;
        Cell *cell;
        int ncell, cap_cells;
        Numbers states, cells;
        int32_t first; /* GRAMMAR_DEAD: not known yet */
        const char *fault;
        /* the state that is being made */
        Way way[MOST_WAYS], pending[2 * WAYS_SEEN];
        int nway, npending;
        bool may_end;
        Way seen[WAYS_SEEN];
        int nseen, mark[WAYS_SEEN], turn; /* a slot is taken if its mark is `turn` */
};

/* --- what is equal has one number ------------------------------------------------------------------------------------------ */

static uint64_t hash_state(const State *s)
{
        return hash_bytes(HASH_START + s->may_end, s->way, (size_t)s->n * sizeof *s->way);
}

static uint64_t hash_cell(Cell c)
{
        return hash_bytes(HASH_START, &c, sizeof c);
}

static void numbers_put(Numbers *n, uint64_t hash, int32_t number)
{
        int64_t at = (int64_t)(hash & (uint64_t)(n->slots - 1));
        while (n->slot[at])
                at = (at + 1) & (n->slots - 1);
        n->slot[at] = number;
        n->used++;
}

/* Twice the slots, where half of them are taken; then what has numbers is put in again. */
static bool numbers_grow(GrammarStates *s, Numbers *n)
{
        if (2 * n->used < n->slots)
                return false;
        n->slots = n->slots ? 2 * n->slots : 256;
        n->slot = NEW_ARRAY(&s->arena, int32_t, n->slots);
        n->used = 0;
        return true;
}

static int cell_of(GrammarStates *s, Cell c)
{
        if (numbers_grow(s, &s->cells))
                for (int i = 1; i < s->ncell; i++)
                        numbers_put(&s->cells, hash_cell(s->cell[i]), i);
        const uint64_t hash = hash_cell(c);
        for (int64_t at = (int64_t)(hash & (uint64_t)(s->cells.slots - 1));;
             at = (at + 1) & (s->cells.slots - 1)) {
                const int32_t found = s->cells.slot[at];
                if (!found)
                        break;
                if (s->cell[found].place == c.place && s->cell[found].below == c.below)
                        return found;
        }
        GROW(&s->arena, s->cell, s->ncell, s->cap_cells);
        s->cell[s->ncell] = c;
        numbers_put(&s->cells, hash, s->ncell);
        return s->ncell++;
}

static int by_way(const void *a, const void *b)
{
        const Way *x = a, *y = b;
        return x->place != y->place ? (x->place > y->place) - (x->place < y->place)
                                    : (x->stack > y->stack) - (x->stack < y->stack);
}

static int32_t state_add(GrammarStates *s, State made)
{
        GROW(&s->arena, s->state, s->nstate, s->cap_states);
        made.to = NEW_ARRAY(&s->arena, int32_t, s->g->groups);
        for (int i = 0; i < s->g->groups; i++)
                made.to[i] = NO_STATE;
        s->state[s->nstate] = made;
        return s->nstate++;
}

/* The number of the state that was made. */
static int32_t state_of_ways(GrammarStates *s)
{
        State made = {s->way, s->nway, s->may_end, NULL};
        if (!s->nway && !s->may_end)
                return GRAMMAR_DEAD;
        qsort(s->way, (size_t)s->nway, sizeof *s->way, by_way);
        if (numbers_grow(s, &s->states))
                for (int i = 1; i < s->nstate; i++)
                        numbers_put(&s->states, hash_state(&s->state[i]), i);
        const uint64_t hash = hash_state(&made);
        for (int64_t at = (int64_t)(hash & (uint64_t)(s->states.slots - 1));;
             at = (at + 1) & (s->states.slots - 1)) {
                const int32_t found = s->states.slot[at];
                const State *f = &s->state[found];
                if (!found)
                        break;
                if (f->n == made.n && f->may_end == made.may_end &&
                    !memcmp(f->way, made.way, (size_t)made.n * sizeof *made.way))
                        return found;
        }
        if (s->nstate == MOST_STATES) {
                s->fault = "the grammar has too many states";
                return GRAMMAR_DEAD;
        }
        made.way = NEW_ARRAY(&s->arena, Way, made.n + 1);
        memcpy(made.way, s->way, (size_t)made.n * sizeof *made.way);
        numbers_put(&s->states, hash, s->nstate);
        return state_add(s, made);
}

/* --- from ways to ways ------------------------------------------------------------------------------------------------------ */

static void begin_ways(GrammarStates *s)
{
        s->nway = s->npending = s->nseen = 0;
        s->may_end = false;
        s->turn++;
}

/* Was this way come to already?  Else it is now. */
static bool is_seen(GrammarStates *s, Way w)
{
        unsigned at = ((unsigned)w.place * 2654435761u ^ (unsigned)w.stack * 40503u) % WAYS_SEEN;
        for (; s->mark[at] == s->turn; at = (at + 1) % WAYS_SEEN)
                if (s->seen[at].place == w.place && s->seen[at].stack == w.stack)
                        return true;
        s->mark[at] = s->turn;
        s->seen[at] = w;
        s->nseen++;
        return false;
}

static void pend(GrammarStates *s, int place, int stack)
{
        s->pending[s->npending++] = (Way){place, stack};
}

/* Goes on from a place to those that take a byte; true: the text may end. */
static void follow(GrammarStates *s, int place, int stack)
{
        const Grammar *g = s->g;
        pend(s, place, stack);
        while (s->npending) {
                const Way w = s->pending[--s->npending];
                const GrammarPlace *p = &g->place[w.place];
                if (is_seen(s, w))
                        continue;
                if (s->nseen > WAYS_SEEN / 2 || s->nway == MOST_WAYS) {
                        s->fault = "the grammar reads a text in too many ways at once; fewer rules that "
                                   "allow the same would help";
                        s->npending = 0;
                        return;
                }
                switch (p->kind) {
                case PLACE_BYTE: s->way[s->nway++] = w; break;
                case PLACE_EITHER:
                        pend(s, p->next, w.stack);
                        pend(s, p->other, w.stack);
                        break;
                case PLACE_RULE:
                        pend(s, g->rule[p->other].begin,
                             p->next == END_OF_RULE ? w.stack : cell_of(s, (Cell){p->next, w.stack}));
                        break;
                case PLACE_END:
                        if (w.stack)
                                pend(s, s->cell[w.stack].place, s->cell[w.stack].below);
                        else
                                s->may_end = true;
                }
        }
}

int32_t grammar_begin(GrammarStates *s)
{
        if (s->first != GRAMMAR_DEAD)
                return s->first;
        begin_ways(s);
        follow(s, s->g->rule[s->g->root].begin, 0);
        return s->first = state_of_ways(s);
}

int32_t grammar_step(GrammarStates *s, int32_t state, unsigned char byte)
{
        const int group = s->g->group[byte];
        const State *from = &s->state[state];
        if (from->to[group] != NO_STATE)
                return from->to[group];
        begin_ways(s);
        for (int i = 0; i < from->n; i++) {
                const GrammarPlace *p = &s->g->place[from->way[i].place];
                if (place_takes(p, byte))
                        follow(s, p->next, from->way[i].stack);
        }
        const int32_t to = state_of_ways(s);
        return s->state[state].to[group] = to;
}

bool grammar_may_end(const GrammarStates *s, int32_t state)
{
        return s->state[state].may_end;
}

bool grammar_goes_on(const GrammarStates *s, int32_t state)
{
        return s->state[state].n > 0;
}

const char *grammar_fault(const GrammarStates *s)
{
        return s->fault;
}

/* --- life ---------------------------------------------------------------------------------------------------------------------- */

static void begin_anew(GrammarStates *s)
{
        s->arena = (Arena){0};
        s->state = NULL;
        s->cell = NULL;
        s->first = GRAMMAR_DEAD;
        s->nstate = s->cap_states = s->cap_cells = 0;
        s->ncell = 1; /* cell 0 is the empty stack */
        s->states = s->cells = (Numbers){NULL, 0, 0};
        GROW(&s->arena, s->cell, 0, s->cap_cells);
        state_add(s, (State){NULL, 0, false, NULL});
        for (int i = 0; i < s->g->groups; i++)
                s->state[GRAMMAR_DEAD].to[i] = GRAMMAR_DEAD;
}

GrammarStates *grammar_states_new(const Grammar *g)
{
        GrammarStates *s = calloc(1, sizeof *s);
        if (!s)
                return NULL;
        s->g = g;
        begin_anew(s);
        return s;
}

void grammar_states_free(GrammarStates *s)
{
        if (s)
                arena_free(&s->arena);
        free(s);
}

/* The stack of a cell, cells being those of before. */
static int stack_again(GrammarStates *s, const Cell *before, int cell)
{
        int depth = 0, stack = 0;
        for (int c = cell; c; c = before[c].below)
                depth++;
        int *place = NEW_ARRAY(&s->arena, int, depth + 1);
        for (int c = cell, i = 0; c; c = before[c].below)
                place[i++] = before[c].place;
        while (depth)
                stack = cell_of(s, (Cell){place[--depth], stack});
        return stack;
}

int32_t grammar_forget(GrammarStates *s, int32_t state)
{
        if (s->arena.total < MUCH_MEMORY)
                return state;
        Arena before = s->arena;
        const State kept = s->state[state];
        const Cell *cells = s->cell;
        begin_anew(s);
        begin_ways(s);
        for (int i = 0; i < kept.n; i++)
                s->way[s->nway++] = (Way){kept.way[i].place, stack_again(s, cells, kept.way[i].stack)};
        s->may_end = kept.may_end;
        const int32_t again = state_of_ways(s);
        arena_free(&before);
        return again;
}
