/* Proves that a map gives every element of every slot exactly once.
 *
 * A slot with one piece that runs through all of it is covered: so are nearly all.  Otherwise the elements
 * are marked in a bitmap, in units: the longest runs that no piece splits. */
#include "weight_map_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
        const WeightMap *map;
        Arena *arena; /* for this proof */
        Faults twice, never;
} Proof;

/* One slot and its pieces. */
typedef struct {
        const Weight *weight;
        int64_t slot, count;
        Piece *const *piece;
        int64_t npiece;
} Slot;

/* The digits of a piece as they step through the slot: the innermost ones make up a run, the others are kept.
 */
typedef struct {
        int n;
        int64_t from, run;
        int64_t size[MAX_DIGITS], step[MAX_DIGITS];
} Steps;

static void steps_add(Steps *s, int64_t size, int64_t step)
{
        int at = s->n++;
        for (; at > 0 && s->step[at - 1] > step; at--) {
                s->size[at] = s->size[at - 1];
                s->step[at] = s->step[at - 1];
        }
        s->size[at] = size;
        s->step[at] = step;
}

/* In ascending order of steps, which are at least 0. */
static Steps piece_steps(const Piece *p)
{
        Steps s = {.from = p->to, .run = 1};
        for (int k = 0; k < p->ndigit; k++) {
                const PieceDigit *digit = &p->digit[k];
                if (digit->size > 1)
                        steps_add(&s, digit->size, digit->slot);
        }
        int inside = 0;
        while (inside < s.n && s.step[inside] == s.run)
                s.run *= s.size[inside++];
        s.n -= inside;
        memmove(s.size, s.size + inside, (size_t)s.n * sizeof *s.size);
        memmove(s.step, s.step + inside, (size_t)s.n * sizeof *s.step);
        return s;
}

/* Whether digits give each number below count once: each must step by the product of the smaller ones. */
static bool piece_is_whole(const Piece *p, int64_t count)
{
        Steps s = piece_steps(p);
        return s.n == 0 && s.run == count;
}

/* The greatest common divisor of the piece's run and of all addresses at which runs begin. */
static int64_t run_unit(const Piece *p)
{
        Steps s = piece_steps(p);
        int64_t unit = common_divisor(s.run, s.from);
        for (int k = 0; k < s.n; k++)
                unit = common_divisor(unit, s.step[k]);
        return unit;
}

/* ---- ticking off ---- */

typedef struct {
        uint8_t *given; /* one bit per unit of the slot */
        int64_t unit, units;
        int64_t again, first_again; /* number of units given twice, and the first of them */
        const Piece *by;            /* the second piece for that unit */
} Ticks;

static Ticks ticks_new(Arena *arena, const Slot *slot)
{
        Ticks t = {.unit = slot->count};
        for (int64_t i = 0; i < slot->npiece; i++)
                t.unit = common_divisor(t.unit, run_unit(slot->piece[i]));
        t.units = slot->count / t.unit;
        t.given = arena_alloc(arena, t.units / 8 + 1);
        return t;
}

static bool ticks_is_set(const Ticks *t, int64_t i)
{
        return t->given[i >> 3] >> (i & 7) & 1;
}

/* Marks the units that digits 0 .. k of the piece reach from an address. */
static void tick(Ticks *t, const Piece *p, const Steps *s, int k, int64_t from)
{
        if (k >= 0) {
                for (int64_t i = 0; i < s->size[k]; i++)
                        tick(t, p, s, k - 1, from + i * s->step[k]);
                return;
        }
        for (int64_t i = from / t->unit; i < (from + s->run) / t->unit; i++) {
                if (ticks_is_set(t, i) && t->again++ == 0) {
                        t->first_again = i;
                        t->by = p;
                }
                t->given[i >> 3] |= (uint8_t)(1u << (i & 7));
        }
}

static void tick_piece(Ticks *t, const Piece *p)
{
        Steps s = piece_steps(p);
        tick(t, p, &s, s.n - 1, s.from);
}

/* ---- faults ---- */

static const char *element_text(Arena *a, const Slot *slot, int64_t element)
{
        int64_t shape[MAX_RANK];
        weight_shape(slot->weight, shape);
        for (int i = slot->weight->type.rank - 1; i >= 0; i--) {
                int64_t size = shape[i];
                shape[i] = element % size;
                element /= size;
        }
        return shape_text(a, slot->weight->type.rank, shape);
}

/* The first piece that gives a unit. */
static const Piece *giver_of(Arena *arena, const Slot *slot, int64_t unit)
{
        for (int64_t i = 0; i < slot->npiece; i++) {
                Ticks alone = ticks_new(arena, slot);
                tick_piece(&alone, slot->piece[i]);
                if (ticks_is_set(&alone, unit))
                        return slot->piece[i];
        }
        return NULL;
}

static void report_twice(Proof *proof, const Slot *slot, const Ticks *t)
{
        Arena *a = proof->arena;
        const Published *published = proof->map->published;
        const Piece *first = giver_of(a, slot, t->first_again);
        const char *part = t->again == t->units ? "" : element_text(a, slot, t->first_again * t->unit);
        const char *name = weight_slot_name(a, slot->weight, slot->slot);
        if (first->published == t->by->published)
                fault_add(&proof->twice, published[first->published].span, "%s%s: twice by \"%s\"", name,
                          part, published[first->published].name);
        else
                fault_add(&proof->twice, published[t->by->published].span, "%s%s: by \"%s\" and by \"%s\"",
                          name, part, published[first->published].name, published[t->by->published].name);
}

static void report_never(Proof *proof, const Slot *slot, const Ticks *t)
{
        Arena *a = proof->arena;
        int64_t missing = 0, first = -1, shape[MAX_RANK];
        for (int64_t i = 0; i < t->units; i++)
                if (!ticks_is_set(t, i) && missing++ == 0)
                        first = i;
        if (missing == 0)
                return;
        weight_shape(slot->weight, shape);
        const char *text = arena_printf(a, "%s, %s", weight_slot_name(a, slot->weight, slot->slot),
                                        shape_text(a, slot->weight->type.rank, shape));
        if (slot->npiece == 0)
                fault_add(&proof->never, slot->weight->span, "%s", text);
        else
                fault_add(&proof->never, slot->weight->span, "%s: %lld of its elements, %s first", text,
                          (long long)(missing * t->unit), element_text(a, slot, first * t->unit));
}

static void prove_slot(Proof *proof, const Slot *slot)
{
        if (slot->npiece == 1 && piece_is_whole(slot->piece[0], slot->count))
                return;
        Arena scratch = {.out_of_memory = proof->arena->out_of_memory};
        Ticks t = ticks_new(&scratch, slot);
        for (int64_t i = 0; i < slot->npiece; i++)
                tick_piece(&t, slot->piece[i]);
        if (t.again)
                report_twice(proof, slot, &t);
        report_never(proof, slot, &t);
        arena_free(&scratch);
}

/* ---- all slots ---- */

static bool cover_report(Proof *proof, Diag *diag)
{
        const Faults *twice = &proof->twice, *never = &proof->never;
        const char *model = proof->map->graph->name;
        if (twice->n) {
                diag_error(diag, twice->span, "the checkpoint of %s gives %s twice", model,
                           fault_count(twice, "weight"));
                fault_list(twice, diag);
        }
        if (never->n) {
                diag_error(diag, never->span, "the checkpoint of %s leaves out %s", model,
                           fault_count(never, "weight"));
                fault_list(never, diag);
        }
        return !twice->n && !never->n;
}

bool weight_cover(const WeightMap *map, Diag *diag)
{
        Arena *arena = map->graph->arena;
        Proof proof = {.map = map, .arena = arena, .twice = {.arena = arena}, .never = {.arena = arena}};
        for (int i = 0; i < map->graph->nweight; i++) {
                Slot slot = {.weight = map->graph->weight[i]};
                int64_t shape[MAX_RANK];
                slot.count = weight_shape(slot.weight, shape);
                for (slot.slot = 0; slot.count > 0 && slot.slot < slot.weight->slots; slot.slot++) {
                        slot.npiece = slot_pieces(map, slot.weight, slot.slot, &slot.piece);
                        prove_slot(&proof, &slot);
                }
        }
        return cover_report(&proof, diag);
}
