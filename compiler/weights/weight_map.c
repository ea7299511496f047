/* From checkpoint entries to pieces: expressions run on addresses.
 *
 * A box of elements of the published tensor goes down the expression, node by node, to the weights.  It is a sequence
 * of digits; each has a step in the published tensor and one along every axis of the node reached.
 *
 *   view        an axis is taken apart into the view's atoms: digits whose step is a multiple of an atom's size
 *               belong to the atoms further out, the others have to stay inside it
 *
 *   join        the box has to lie within one input
 *
 *   + - * /     a number goes into the box's factor and summand
 *   weight      the box is a piece
 *
 * Where a digit crosses from one atom or input into the next it is cut, in two digits if it divides evenly, else in two
 * boxes, and the node is begun anew.  A cut never changes what a box means, so whatever the views are, the pieces are
 * right; in the worst case they are single elements. */
#include "weight_map_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PIECES = 1 << 20 };

typedef struct {
        int64_t size, published;
        int64_t step[MAX_RANK]; /* along the axes of the current node */
} BoxDigit;

typedef struct {
        int ndigit;
        BoxDigit digit[MAX_DIGITS];
        int64_t from;             /* in the published tensor, at digits 0 */
        int64_t offset[MAX_RANK]; /* in the current node, at digits 0 */
        double mul, add;          /* published = value of the current node * mul + add */
} WeightBox;

/* Where a digit must be split: after `at` of its values, or (evenly) into two digits, the inner of size
 * `at`. */
typedef struct {
        int digit;
        int64_t at;
        bool evenly;
} DigitCut;

typedef struct {
        WeightMap *map;
        Arena *arena;
        Diag *diag;
        const CkEntry *entry;
        int published;
        int64_t cap;
        bool failed, last_failed;
} MapWalk;

/* ---- cutting ---- */

/* The maximum of offset + sum of step * digit, over the digits whose step is not a multiple of `modulus` (0: over
 * all).  Steps and offsets are at least 0, as those of views are. */
static int64_t box_extent(const WeightBox *box, int axis, int64_t offset, int64_t modulus)
{
        for (int k = 0; k < box->ndigit; k++) {
                int64_t step = box->digit[k].step[axis];
                if (!modulus || step % modulus != 0)
                        offset += step * (box->digit[k].size - 1);
        }
        return offset;
}

/* The digits reach from `offset` across `boundary`: splits the one with the longest step, at its first
 * value beyond, or before its last value if only the others cross there. */
static DigitCut cut_at(const WeightBox *box, int axis, int64_t modulus, int64_t offset, int64_t boundary)
{
        int longest = -1;
        for (int k = 0; k < box->ndigit; k++) {
                int64_t step = box->digit[k].step[axis];
                if (step == 0 || box->digit[k].size < 2 || (modulus && step % modulus == 0))
                        continue;
                if (longest < 0 || step > box->digit[longest].step[axis])
                        longest = k;
        }
        const BoxDigit *digit = &box->digit[longest];
        int64_t step = digit->step[axis], at = (boundary - offset + step - 1) / step;
        return (DigitCut){longest, at < digit->size ? at : digit->size - 1, false};
}

/* Splits a digit that carries evenly out of an atom of the given size into inner and outer part. */
static bool cut_evenly(const WeightBox *box, int axis, int64_t size, DigitCut *cut)
{
        for (int k = 0; k < box->ndigit; k++) {
                int64_t step = box->digit[k].step[axis], n = box->digit[k].size;
                if (step % size == 0)
                        continue;
                int64_t a = size, b = step;
                while (b) {
                        int64_t rest = a % b;
                        a = b;
                        b = rest;
                }
                int64_t inner = size / a; /* the least common multiple of step and size */
                if (inner >= n)
                        continue;
                *cut = n % inner ? (DigitCut){k, n - n % inner, false}
                                 : (DigitCut){k, box->ndigit < MAX_DIGITS ? inner : n / 2,
                                              box->ndigit < MAX_DIGITS};
                return true;
        }
        return false;
}

/* Splits the box; the part after the split, if it is another box, is stored in *rest. */
static bool make_cut(WeightBox *box, DigitCut cut, WeightBox *rest)
{
        BoxDigit *digit = &box->digit[cut.digit];
        if (cut.evenly) {
                BoxDigit outer = *digit;
                outer.size /= cut.at;
                outer.published *= cut.at;
                for (int a = 0; a < MAX_RANK; a++)
                        outer.step[a] *= cut.at;
                digit->size = cut.at;
                box->digit[box->ndigit++] = outer;
                return false;
        }
        *rest = *box;
        rest->digit[cut.digit].size -= cut.at;
        rest->from += cut.at * digit->published;
        for (int a = 0; a < MAX_RANK; a++)
                rest->offset[a] += cut.at * digit->step[a];
        digit->size = cut.at;
        return true;
}

/* ---- one node ---- */

/* Moves the digits of an axis that count inside an atom, and the offset's part, to the atom; outer ones
 * remain. */
static void fill_atom(const Atom *atom, int axis, bool outermost, WeightBox *at, WeightBox *in)
{
        int64_t size = atom->size.fixed;
        int64_t low = outermost ? at->offset[axis] : at->offset[axis] % size;
        if (atom->axis >= 0)
                in->offset[atom->axis] += atom->stride * low;
        at->offset[axis] = (at->offset[axis] - low) / size;
        for (int k = 0; k < at->ndigit; k++) {
                int64_t *step = &at->digit[k].step[axis];
                bool inside = outermost || *step % size != 0;
                if (inside && atom->axis >= 0)
                        in->digit[k].step[atom->axis] += atom->stride * *step;
                *step = inside ? 0 : *step / size;
        }
}

/* Distributes the box's digits among the view's atoms of one output axis, innermost first. */
static bool enter_axis(const View *v, int axis, WeightBox *at, WeightBox *in, DigitCut *cut)
{
        int first = 0, last = v->natom - 1;
        while (v->atom[first].out < axis)
                first++;
        while (v->atom[last].out > axis)
                last--;
        for (int i = last; i > first; i--) {
                int64_t size = v->atom[i].size.fixed, offset = at->offset[axis] % size;
                if (box_extent(at, axis, offset, size) >= size) {
                        if (!cut_evenly(at, axis, size, cut))
                                *cut = cut_at(at, axis, size, offset, size);
                        return false;
                }
                fill_atom(&v->atom[i], axis, false, at, in);
        }
        fill_atom(&v->atom[first], axis, true, at, in);
        return true;
}

/* The box in the view's input; false: a digit must be split first. */
static bool enter_view(const Node *n, const WeightBox *box, WeightBox *in, DigitCut *cut)
{
        const View *v = n->attr.view;
        WeightBox at = *box;
        *in = *box;
        for (int a = 0; a < MAX_RANK; a++) {
                in->offset[a] = a < n->in[0]->type.rank ? v->offset[a].fixed : 0;
                for (int k = 0; k < in->ndigit; k++)
                        in->digit[k].step[a] = 0;
        }
        for (int axis = 0; axis < n->type.rank; axis++)
                if (!enter_axis(v, axis, &at, in, cut))
                        return false;
        return true;
}

/* The input of the join that contains the box; NULL: a digit must be split first. */
static const Node *enter_join(const Node *n, const WeightBox *box, WeightBox *in, DigitCut *cut)
{
        int axis = n->attr.axis, i = 0;
        int64_t begin = 0;
        while (begin + n->in[i]->type.dim[axis].fixed <= box->offset[axis])
                begin += n->in[i++]->type.dim[axis].fixed;
        int64_t end = begin + n->in[i]->type.dim[axis].fixed;
        *in = *box;
        in->offset[axis] -= begin;
        if (box_extent(box, axis, box->offset[axis], 0) < end)
                return n->in[i];
        *cut = cut_at(box, axis, 0, box->offset[axis], end);
        return NULL;
}

/* Pointwise ops: shapes are aligned at the right, and axes of size 1 are broadcast. */
static void enter_pointwise(const Node *n, const Node *input, WeightBox *box)
{
        int added = n->type.rank - input->type.rank;
        WeightBox at = *box;
        for (int a = 0; a < MAX_RANK; a++) {
                bool kept = a < input->type.rank && !dim_is(input->type.dim[a], 1);
                box->offset[a] = kept ? at.offset[a + added] : 0;
                for (int k = 0; k < box->ndigit; k++)
                        box->digit[k].step[a] = kept ? at.digit[k].step[a + added] : 0;
        }
}

/* Whether it is a constant with the same number in all elements. */
static bool is_literal(const Node *n, double *value)
{
        if (n->op == OP_VIEW || n->op == OP_REAL_OF)
                return is_literal(n->in[0], value);
        if (n->op != OP_CONST || n->attr.literal->iterations != 1 || n->attr.literal->count < 1)
                return false;
        *value = n->attr.literal->value[0];
        for (int64_t i = 1; i < n->attr.literal->count; i++)
                if (n->attr.literal->value[i] != *value)
                        return false;
        return true;
}

/* Applies the node's arithmetic to the box's factor and summand.  Returns the input that is not a
 * constant, or NULL. */
static const Node *apply_number(const Node *n, WeightBox *box)
{
        double number;
        if (n->op == OP_NEG || n->op == OP_REAL_OF) {
                box->mul = n->op == OP_NEG ? -box->mul : box->mul;
                return n->in[0];
        }
        bool right = is_literal(n->in[1], &number);
        if (!right && (n->op == OP_DIV || !is_literal(n->in[0], &number)))
                return NULL;
        switch ((int)n->op) {
        case OP_ADD: box->add += box->mul * number; break;
        case OP_SUB:
                box->add += right ? -box->mul * number : box->mul * number;
                box->mul = right ? box->mul : -box->mul;
                break;
        case OP_MUL: box->mul *= number; break;
        default: box->mul /= number;
        }
        return n->in[right ? 0 : 1];
}

/* ---- a piece ---- */

static int by_published_step(const void *left, const void *right)
{
        const PieceDigit *a = left, *b = right;
        return (a->published < b->published) - (a->published > b->published);
}

/* Removes digits of size 1, and merges consecutive digits that count on. */
static int merge_digits(PieceDigit *digit, int n)
{
        int kept = 0;
        for (int k = 0; k < n; k++) {
                PieceDigit *outer = kept ? &digit[kept - 1] : NULL, inner = digit[k];
                if (inner.size == 1)
                        continue;
                if (outer && outer->published == inner.published * inner.size &&
                    outer->slot == inner.slot * inner.size)
                        *outer = (PieceDigit){outer->size * inner.size, inner.published, inner.slot};
                else
                        digit[kept++] = inner;
        }
        if (kept == 0)
                digit[kept++] = (PieceDigit){1, 1, 1};
        return kept;
}

static void add_piece(MapWalk *w, Piece piece, PieceDigit *digit, int ndigit)
{
        WeightMap *map = w->map;
        qsort(digit, (size_t)ndigit, sizeof *digit, by_published_step);
        piece.ndigit = merge_digits(digit, ndigit);
        piece.digit = NEW_ARRAY(w->arena, PieceDigit, piece.ndigit);
        memcpy(piece.digit, digit, (size_t)piece.ndigit * sizeof *digit);
        GROW(w->arena, map->piece, map->npiece, w->cap);
        Piece *kept = map->piece[map->npiece++] = NEW(w->arena, Piece);
        *kept = piece;
}

static void map_refuse(MapWalk *w, Span span, const char *what)
{
        w->failed = true;
        diag_error(w->diag, span.source ? span : w->entry->span, "the entry \"%s\" can't be inverted: %s",
                   w->entry->name, what);
        diag_hint(w->diag, "an entry consists of weights, views, joins and numbers added or multiplied");
}

static void reach_weight(MapWalk *w, const Node *n, const WeightBox *box)
{
        const Weight *weight = n->attr.weight;
        const int64_t named = w->entry->slot ? w->entry->slot[n->attr.index] : n->attr.slot;
        int64_t slot = weight->nregion == 0 ? 0 : named, step[MAX_RANK], next = 1;
        if (slot < 0) {
                map_refuse(w, n->span,
                           arena_printf(w->arena, "it does not specify the iteration of %s", weight->path));
                return;
        }
        if (box->mul == 0 || !isfinite(box->mul) || !isfinite(box->add)) {
                map_refuse(w, w->entry->span, "it multiplies by 0 or overflows");
                return;
        }
        if (w->map->npiece == MAX_PIECES) {
                map_refuse(w, w->entry->span, "its views scatter the weights into too many pieces");
                return;
        }
        for (int a = weight->type.rank - 1; a >= 0; a--) {
                step[a] = next;
                next *= weight->type.dim[a].fixed;
        }
        PieceDigit digit[MAX_DIGITS];
        Piece piece = {.weight = weight,
                       .slot = slot,
                       .leaf = n->attr.index,
                       .published = w->published,
                       .mul = box->mul,
                       .add = box->add,
                       .from = box->from};
        for (int a = 0; a < weight->type.rank; a++)
                piece.to += step[a] * box->offset[a];
        for (int k = 0; k < box->ndigit; k++) {
                digit[k] = (PieceDigit){box->digit[k].size, box->digit[k].published, 0};
                for (int a = 0; a < weight->type.rank; a++)
                        digit[k].slot += step[a] * box->digit[k].step[a];
        }
        add_piece(w, piece, digit, box->ndigit);
}

/* ---- an expression ---- */

static const Node *enter_arithmetic(MapWalk *w, const Node *n, const WeightBox *box, WeightBox *in)
{
        *in = *box;
        const Node *input = apply_number(n, in);
        const char *op = op_info[n->op].text;
        if (input)
                enter_pointwise(n, input, in);
        else
                map_refuse(w, n->span, arena_printf(w->arena, "'%s' needs a weight and one number here", op));
        return input;
}

/* The box in the next node; NULL: the split must be made first, or w->failed is set. */
static const Node *enter(MapWalk *w, const Node *n, const WeightBox *box, WeightBox *in, DigitCut *cut)
{
        switch ((int)n->op) {
        case OP_VIEW: return enter_view(n, box, in, cut) ? n->in[0] : NULL;
        case OP_JOIN: return enter_join(n, box, in, cut);
        case OP_ADD:
        case OP_SUB:
        case OP_MUL:
        case OP_DIV:
        case OP_NEG:
        case OP_REAL_OF: return enter_arithmetic(w, n, box, in);
        case OP_CONST: map_refuse(w, n->span, "a part of it comes from no weight"); return NULL;
        default:
                map_refuse(w, n->span, arena_printf(w->arena, "it contains '%s'", op_info[n->op].text));
                return NULL;
        }
}

static void go(MapWalk *w, const Node *n, const WeightBox *start)
{
        WeightBox box = *start, in, rest;
        while (!w->failed) {
                DigitCut cut = {0, 0, false};
                if (n->op == OP_WEIGHT) {
                        reach_weight(w, n, &box);
                        return;
                }
                const Node *next = enter(w, n, &box, &in, &cut);
                if (next) {
                        n = next;
                        box = in;
                } else if (!w->failed && make_cut(&box, cut, &rest)) {
                        go(w, n, &box);
                        box = rest;
                }
        }
}

/* ---- the map ---- */

/* A box over a whole tensor: one digit per axis. */
static WeightBox whole_box(const Published *p)
{
        WeightBox box = {.mul = 1, .ndigit = p->rank};
        int64_t step = 1;
        for (int a = p->rank - 1; a >= 0; a--) {
                box.digit[a] = (BoxDigit){.size = p->shape[a], .published = step};
                box.digit[a].step[a] = 1;
                step *= p->shape[a];
        }
        return box;
}

/* The pieces of the last entry, which has the same expression, with the slots of this one. */
static void pieces_again(MapWalk *w, const CkEntry *entry)
{
        WeightMap *map = w->map;
        Published *p = &map->published[map->npublished];
        *p = p[-1];
        p->name = entry->name;
        p->first = map->npiece;
        Piece *piece = NEW_ARRAY(w->arena, Piece, p->npiece);
        for (int64_t i = 0; i < p->npiece; i++) {
                piece[i] = *map->piece[p[-1].first + i];
                piece[i].published = map->npublished;
                piece[i].slot = piece[i].weight->nregion == 0 ? 0 : entry->slot[piece[i].leaf];
                GROW(w->arena, map->piece, map->npiece, w->cap);
                map->piece[map->npiece++] = &piece[i];
        }
        map->npublished++;
}

static void map_entry(MapWalk *w, const CkEntry *entry)
{
        if (w->entry && entry->slot && entry->expr == w->entry->expr && !w->last_failed &&
            w->map->npiece + w->map->published[w->map->npublished - 1].npiece < MAX_PIECES) {
                w->entry = entry;
                pieces_again(w, entry);
                return;
        }
        Published *p = &w->map->published[w->map->npublished];
        *p = (Published){
                .name = entry->name, .span = entry->span, .rank = entry->expr->type.rank, .count = 1};
        for (int a = 0; a < p->rank; a++) {
                p->shape[a] = entry->expr->type.dim[a].fixed;
                p->count *= p->shape[a];
        }
        p->first = w->map->npiece;
        w->entry = entry;
        w->published = w->map->npublished++;
        WeightBox box = whole_box(p);
        if (p->count > 0)
                go(w, entry->expr, &box);
        p->npiece = w->map->npiece - p->first;
}

static int compare_published(const void *left, const void *right)
{
        const CkEntry *a = *(const CkEntry *const *)left, *b = *(const CkEntry *const *)right;
        int order = strcmp(a->name, b->name);
        return order ? order : (a > b) - (a < b);
}

static bool repeats_name(const Graph *g)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        int64_t slots = 64;
        bool twice = false;
        while (slots < 2 * (int64_t)g->nentry)
                slots *= 2;
        const char **name = NEW_ARRAY(&scratch, const char *, slots);
        for (int i = 0; i < g->nentry && !twice; i++) {
                const char *own = g->entry[i].name;
                if (g->entry[i].kind != CK_MAP)
                        continue;
                int64_t at = (int64_t)(hash_bytes(HASH_START, own, strlen(own)) & (uint64_t)(slots - 1));
                while (name[at] && !(twice = !strcmp(name[at], own)))
                        at = (at + 1) & (slots - 1);
                name[at] = own;
        }
        arena_free(&scratch);
        return twice;
}

static bool map_check_names(Arena *arena, const Graph *g, Diag *diag)
{
        if (!repeats_name(g))
                return true;
        const CkEntry **entry = NEW_ARRAY(arena, const CkEntry *, g->nentry);
        int n = 0;
        bool good = true;
        for (int i = 0; i < g->nentry; i++)
                if (g->entry[i].kind == CK_MAP)
                        entry[n++] = &g->entry[i];
        qsort(entry, (size_t)n, sizeof *entry, compare_published);
        for (int i = 1; i < n; i++) {
                if (strcmp(entry[i - 1]->name, entry[i]->name) != 0)
                        continue;
                good = false;
                diag_error(diag, entry[i]->span, "a second entry for \"%s\"", entry[i]->name);
                diag_note(diag, entry[i - 1]->span, "the first");
        }
        return good;
}

/* Without entries: every slot is a tensor with its own name. */
static void map_slots(MapWalk *w)
{
        const Graph *g = w->map->graph;
        for (int i = 0; i < g->nweight; i++) {
                const Weight *weight = g->weight[i];
                for (int64_t slot = 0; slot < weight->slots; slot++) {
                        Published *p = &w->map->published[w->map->npublished];
                        *p = (Published){.name = weight_slot_name(w->arena, weight, slot),
                                         .span = weight->span};
                        p->rank = weight->type.rank;
                        p->count = weight_shape(weight, p->shape);
                        p->first = w->map->npiece;
                        p->npiece = p->count > 0;
                        PieceDigit all = {p->count, 1, 1};
                        if (p->count > 0)
                                add_piece(w,
                                          (Piece){.weight = weight,
                                                  .slot = slot,
                                                  .published = w->map->npublished,
                                                  .mul = 1},
                                          &all, 1);
                        w->map->npublished++;
                }
        }
}

static int by_published(const void *left, const void *right)
{
        const Piece *a = *(Piece *const *)left, *b = *(Piece *const *)right;
        return a->published != b->published ? (a->published < b->published ? -1 : 1)
                                            : (a->to > b->to) - (a->to < b->to);
}

/* Sorts the pieces by counting those of each slot. */
static void index_slots(Arena *arena, WeightMap *map)
{
        const Graph *g = map->graph;
        int64_t slots = 0;
        map->slot_base = NEW_ARRAY(arena, int64_t, g->nweight);
        for (int i = 0; i < g->nweight; i++) {
                map->slot_base[i] = slots;
                slots += g->weight[i]->slots;
        }
        int64_t *first = map->slot_first = NEW_ARRAY(arena, int64_t, slots + 2);
        for (int64_t i = 0; i < map->npiece; i++)
                first[map->slot_base[map->piece[i]->weight->id] + map->piece[i]->slot + 2]++;
        for (int64_t slot = 2; slot < slots + 2; slot++)
                first[slot] += first[slot - 1];
        map->by_slot = NEW_ARRAY(arena, Piece *, map->npiece);
        for (int64_t i = 0; i < map->npiece; i++) /* first[slot + 1] counts up to the start of slot + 1 */
                map->by_slot[first[map->slot_base[map->piece[i]->weight->id] + map->piece[i]->slot + 1]++] =
                        map->piece[i];
        for (int64_t slot = 0; slot < slots; slot++)
                if (first[slot + 1] - first[slot] > 1)
                        qsort(map->by_slot + first[slot], (size_t)(first[slot + 1] - first[slot]),
                              sizeof *map->by_slot, by_published);
}

int64_t slot_pieces(const WeightMap *map, const Weight *w, int64_t slot, Piece *const **first)
{
        if (w->id >= map->graph->nweight || map->graph->weight[w->id] != w || slot < 0 || slot >= w->slots)
                return 0;
        const int64_t *range = &map->slot_first[map->slot_base[w->id] + slot];
        *first = map->by_slot + range[0];
        return range[1] - range[0];
}

static int64_t count_tensors(const Graph *g)
{
        int64_t n = g->nentry;
        for (int i = 0; g->nentry == 0 && i < g->nweight; i++)
                n += g->weight[i]->slots;
        return n;
}

static WeightMap *map_new(Arena *arena, const Graph *g)
{
        WeightMap *map = NEW(arena, WeightMap);
        map->graph = g;
        map->published = NEW_ARRAY(arena, Published, count_tensors(g));
        return map;
}

static bool map_entries(MapWalk *w, CkKind kind)
{
        const Graph *g = w->map->graph;
        bool good = true;
        for (int i = 0; i < g->nentry; i++) {
                w->last_failed = w->failed;
                w->failed = false;
                if (g->entry[i].kind == kind && g->entry[i].expr)
                        map_entry(w, &g->entry[i]);
                good = good && !w->failed;
        }
        return good;
}

static bool same_piece(const Piece *a, const Piece *b)
{
        return a->weight == b->weight && a->slot == b->slot && a->mul == b->mul && a->add == b->add &&
               a->from == b->from && a->to == b->to && a->ndigit == b->ndigit &&
               memcmp(a->digit, b->digit, (size_t)a->ndigit * sizeof *a->digit) == 0;
}

/* Finds the tensor with the same numbers for each that an entry allows to be there once more. */
static bool find_twins(WeightMap *map, Diag *diag)
{
        bool good = true;
        for (int i = 0; i < map->repeated->npublished; i++) {
                Published *p = &map->repeated->published[i];
                for (p->twin = 0; p->twin < map->npublished; p->twin++) {
                        const Published *q = &map->published[p->twin];
                        bool same = p->rank == q->rank && p->npiece == q->npiece &&
                                    memcmp(p->shape, q->shape, (size_t)p->rank * sizeof *p->shape) == 0;
                        for (int64_t k = 0; same && k < p->npiece; k++)
                                same = same_piece(map->repeated->piece[p->first + k],
                                                  map->piece[q->first + k]);
                        if (same)
                                break;
                }
                if (p->twin < map->npublished)
                        continue;
                good = false;
                diag_error(diag, p->span, "no other entry has the numbers of \"%s\"", p->name);
                diag_hint(diag, "an optional tensor repeats one that an entry gives, as a whole");
        }
        return good;
}

WeightMap *weight_map(Arena *arena, const Graph *g, Diag *diag)
{
        MapWalk w = {.map = map_new(arena, g), .arena = arena, .diag = diag};
        MapWalk repeated = {.map = map_new(arena, g), .arena = arena, .diag = diag};
        bool good = map_check_names(arena, g, diag);
        good = map_entries(&w, CK_MAP) && good;
        if (g->nentry == 0)
                map_slots(&w);
        index_slots(arena, w.map);
        w.map->repeated = repeated.map;
        good = good && weight_cover(w.map, diag) && map_entries(&repeated, CK_OPTIONAL);
        return good && find_twins(w.map, diag) ? w.map : NULL;
}
