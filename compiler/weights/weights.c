/* Reads weights, slot by slot.
 *
 * A slot's pieces are read in blocks of the published tensor, in the order of the file, and passed on in
 * runs.  At most one block is held, of the slot and of the file. */
#include "weight_map_private.h"
#include "checkpoint_private.h"

#include <math.h>
#include <stdlib.h>

enum { LET_GO = 1 << 21 }; /* elements of a file whose pages are released at once */

bool weights_check(const Graph *g, Diag *diag)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        bool good = weight_map(&scratch, g, diag) != NULL;
        arena_free(&scratch);
        return good;
}

/* ---- storage ---- */

/* Type of each storage in a checkpoint. */
#define TYPE_OF_BLOCKS(of, NAME, ...) [STORAGE_##NAME] = CK_##NAME,
static const CkType file_type[WEIGHT_STORAGES] = {[STORAGE_F32] = CK_F32,
                                                  [STORAGE_F16] = CK_F16,
                                                  [STORAGE_BF16] = CK_BF16,
                                                  BLOCK_STORAGES(TYPE_OF_BLOCKS, )};

CkType storage_type(Storage s)
{
        return file_type[s];
}

bool storage_can_be_made(Storage s)
{
        return s < WEIGHT_STORAGES && (!is_in_blocks(s) || can_quantise(file_type[s]));
}

/* The type that holds the numbers of another exactly, of those that weights are stored in. */
static CkType exact_type(CkType type)
{
        return type == CK_F8_E4M3 || type == CK_F8_E5M2 || type == CK_F8_E8M0 ? CK_BF16 : type;
}

/* The type in which a piece is copied; F32 if its numbers are computed from those of the file, or are
 * split.  packed: codes with scales remain so. */
static Storage storage_of_piece(const Weights *weights, const Piece *p, bool packed)
{
        const CkTensor *t = weights->tensor[p->published];
        const CkType type = packed ? checkpoint_block_type(t) : t->dtype;
        if (p->mul != 1 || p->add != 0 || type == CK_TYPE_COUNT)
                return STORAGE_F32;
        for (Storage s = 0; s < WEIGHT_STORAGES; s++)
                if (file_type[s] == exact_type(type))
                        return !is_in_blocks(s) || piece_keeps_blocks(p, ck_type_values(file_type[s]),
                                                                      checkpoint_block_step(t))
                                       ? s
                                       : STORAGE_F32;
        return STORAGE_F32;
}

/* Vectors are floats: they are small, and kernels read them as floats. */
static bool may_be_narrow(const Weight *w)
{
        return w->type.rank > 1 && w->id < STORAGES_IN_FILE;
}

/* Whether blocks divide the axis that products sum over. */
static bool divides(const Weight *w, Storage s)
{
        return !is_in_blocks(s) ||
               (w->contracted >= 0 && w->type.dim[w->contracted].fixed % ck_type_values(file_type[s]) == 0);
}

bool weight_may_be(const Weight *w, Storage storage)
{
        return storage == STORAGE_F32 || (may_be_narrow(w) && divides(w, storage));
}

/* The type of all pieces of a slot; F32: they have several. */
static Storage exact_storage(const Weights *weights, const Weight *w, int64_t slot, bool packed)
{
        Storage found = STORAGE_COUNT;
        Piece *const *piece;
        int64_t n = weights->map && may_be_narrow(w) ? slot_pieces(weights->map, w, slot, &piece) : 0;
        for (int64_t i = 0; i < n; i++) {
                Storage own = storage_of_piece(weights, piece[i], packed);
                if (found != STORAGE_COUNT && found != own)
                        return STORAGE_F32;
                found = own;
        }
        return found != STORAGE_COUNT && divides(w, found) ? found : STORAGE_F32;
}

Storage weight_exact(const Weights *weights, const Weight *w, int64_t slot)
{
        const Storage packed = exact_storage(weights, w, slot, true);
        return packed != STORAGE_F32 ? packed : exact_storage(weights, w, slot, false);
}

Storage weight_rounded(const Weight *w, Storage exact, Storage asked)
{
        if (!may_be_narrow(w))
                return exact;
        return divides(w, asked) ? asked : divides(w, STORAGE_Q8_0) ? STORAGE_Q8_0 : exact;
}

void weight_round(Weight *w, Storage storage)
{
        if (!may_be_narrow(w))
                return;
        w->storage = weight_rounded(w, w->storage, storage);
        w->asked = storage;
}

float storage_rounded(Storage s, float x)
{
        return s == STORAGE_F16    ? f16_to_f32(f32_to_f16(x))
               : s == STORAGE_BF16 ? bf16_to_f32(f32_to_bf16(x))
                                   : x;
}

/* Index of the first of block[n], from `from` on, that is finite, but infinite when rounded; n: none. */
static int64_t first_beyond(Storage s, const float *block, int64_t from, int64_t n)
{
        bool is_narrow = s == STORAGE_F16 || s == STORAGE_BF16;
        while (is_narrow && from < n && (isinf(block[from]) || !isinf(storage_rounded(s, block[from]))))
                from++;
        return is_narrow ? from : n;
}

static void round_block(const Weight *w, float *block, int64_t n)
{
        for (int64_t i = 0; (w->storage == STORAGE_F16 || w->storage == STORAGE_BF16) && i < n; i++)
                block[i] = storage_rounded(w->storage, block[i]);
}

/* Reports a finite number x that becomes infinite in the weight's storage, or as a float. */
static bool refuse_beyond(Weights *weights, const Weight *w, const char *tensor, const char *place, double x)
{
        Arena *a = weights->graph->arena;
        const char *what = arena_printf(a, "%s%s is %.9g, beyond the largest", tensor, place, x);
        if (beyond_f32(x))
                weights->why =
                        arena_printf(a, "%s float of 32 bits, 3.40282347e+38: scale the weights", what);
        else if (w->storage == STORAGE_F16)
                weights->why =
                        arena_printf(a, "%s f16, 65504: --quant %s=bf16 or =f32 keeps it", what, w->path);
        else
                weights->why =
                        arena_printf(a, "%s bf16, 3.38953139e+38: --quant %s=f32 keeps it", what, w->path);
        return false;
}

/* ---- opening ---- */

Weights *weights_hashed(Arena *arena, const Graph *g)
{
        find_contracted(g);
        for (int i = 0; i < g->nweight; i++)
                g->weight[i]->storage = g->weight[i]->asked = STORAGE_F32;
        Weights *weights = NEW(arena, Weights);
        weights->graph = g;
        weights->block = NEW_ARRAY(arena, float, CK_BLOCK);
        return weights;
}

Weights *weights_loaded(Arena *arena, const Graph *g, Checkpoint *checkpoint, Diag *diag)
{
        Weights *weights = NEW(arena, Weights);
        weights->graph = g;
        weights->block = NEW_ARRAY(arena, float, CK_BLOCK);
        weights->map = weight_map(arena, g, diag);
        if (!weights->map)
                return NULL;
        weights->tensor = NEW_ARRAY(arena, const CkTensor *, weights->map->npublished);
        if (!weight_check(weights->map, checkpoint, weights->tensor, diag))
                return NULL;
        find_contracted(g);
        for (int i = 0; i < g->nweight; i++) {
                Weight *w = g->weight[i];
                w->storage = weight_exact(weights, w, 0);
                for (int64_t slot = 1; slot < w->slots; slot++)
                        if (weight_exact(weights, w, slot) != w->storage)
                                w->storage = STORAGE_F32;
                w->asked = w->storage;
        }
        return weights;
}

/* ---- hashed ---- */

static bool take_hashed(Weights *weights, const Weight *w, int64_t slot, WeightRun *take, void *to)
{
        bool good = true;
        float *block = weights->block;
        Arena scratch = {0};
        int64_t shape[MAX_RANK], count = weight_shape(w, shape);
        uint64_t name = hash_name(weight_slot_name(&scratch, w, slot));
        double scale = hash_scale(w->type.rank, shape);
        for (int64_t first = 0, n; good && first < count; first += n) {
                n = count - first < CK_BLOCK ? count - first : CK_BLOCK;
                for (int64_t i = 0; i < n; i++)
                        block[i] = hash_weight(name, (uint64_t)(first + i), scale,
                                               w->centre_values ? w->centre_values[first + i] : w->centre);
                int64_t beyond = first_beyond(w->storage, block, 0, n);
                if (beyond < n)
                        good = refuse_beyond(
                                weights, w, weight_slot_name(&scratch, w, slot),
                                element_index_text(&scratch, w->type.rank, shape, first + beyond),
                                block[beyond]);
                round_block(w, block, n);
                if (good)
                        take(to, first, 1, n, block, 1);
        }
        arena_free(&scratch);
        return good;
}

/* ---- loaded ---- */

/* A piece being read: digits after `digit` are a block of `span` elements of the file, as are `chunk`
 * values of it. */
typedef struct {
        const Piece *piece;
        const CkTensor *tensor;
        float *block;
        Weights *weights;
        bool rounds; /* else the numbers are exact */
        int digit;
        int64_t span, chunk;
        WeightRun *take;
        void *to;
        int64_t kept; /* first element of the file whose page may be in memory because of this reader */
} PieceReader;

/* A block may have gaps, elements of other pieces, if these are short or few. */
static void plan_blocks(PieceReader *r)
{
        const PieceDigit *digit = r->piece->digit;
        r->span = 1;
        for (r->digit = r->piece->ndigit - 1; r->digit > 0; r->digit--) {
                const PieceDigit *d = &digit[r->digit];
                int64_t grown = r->span + (d->size - 1) * d->published;
                if (grown > CK_BLOCK || d->published > 8 * r->span ||
                    (d->published > r->span && r->span > 256))
                        break;
                r->span = grown;
        }
        const PieceDigit *d = &digit[r->digit];
        bool gaps = d->published > 8 * r->span || (d->published > r->span && r->span > 256);
        r->chunk = gaps || r->span > CK_BLOCK - d->published ? 1 : 1 + (CK_BLOCK - r->span) / d->published;
}

/* Copies the values of d, digit k or a part of it, with all inner digits, from a block to the slot.  Of
 * the two innermost, the one with the shorter step in the slot is the inner loop, so that a transposed
 * matrix is written in runs. */
static void reader_give(const PieceReader *r, int k, PieceDigit d, const float *from, int64_t to)
{
        const Piece *p = r->piece;
        if (k == p->ndigit - 1) {
                r->take(r->to, to, d.slot, d.size, from, d.published);
                return;
        }
        PieceDigit inner = p->digit[k + 1];
        if (k == p->ndigit - 2 && d.slot < inner.slot) {
                for (int64_t i = 0; i < inner.size; i++)
                        r->take(r->to, to + i * inner.slot, d.slot, d.size, from + i * inner.published,
                                d.published);
                return;
        }
        for (int64_t i = 0; i < d.size; i++)
                reader_give(r, k + 1, inner, from + i * d.published, to + i * d.slot);
}

/* Whether an element of the published tensor belongs to the piece: its block may have gaps. */
static bool piece_has(const Piece *p, int64_t element)
{
        int64_t rest = element - p->from;
        for (int k = 0; k < p->ndigit; k++) {
                const PieceDigit d = p->digit[k];
                int64_t i = d.published ? rest / d.published : 0;
                rest -= d.published * (i < d.size ? i : d.size - 1);
        }
        return rest == 0;
}

static bool refuse_element(const PieceReader *r, int64_t element, double x)
{
        const CkTensor *t = r->tensor;
        Arena *a = r->weights->graph->arena;
        const char *name = arena_printf(a, "%s: \"%s\"", t->file->path, ck_quote(t->name).text);
        return refuse_beyond(r->weights, r->piece->weight, name,
                             element_index_text(a, t->rank, t->shape, element), x);
}

/* Converts elements to the model's floats: 64-bit or computed numbers may be too large. */
static bool compute_block(PieceReader *r, int64_t from, int64_t n)
{
        const Piece *p = r->piece;
        bool computed = p->mul != 1 || p->add != 0;
        const bool wide = r->tensor->dtype == CK_F64 || r->tensor->adapted;
        for (int64_t i = 0; i < n && (computed || wide); i++) {
                double x = r->block[i];
                if (isinf(x) && wide && !checkpoint_read_f64(r->tensor, from + i, 1, &x))
                        return false;
                if (computed && !beyond_f32(x))
                        x = (x - p->add) / p->mul;
                if (beyond_f32(x) && piece_has(p, from + i))
                        return refuse_element(r, from + i, x);
                r->block[i] = (float)x;
        }
        return true;
}

static bool read_block(PieceReader *r, int64_t from, int64_t n)
{
        const Piece *p = r->piece;
        if (!checkpoint_read_f32(r->tensor, from, n, r->block) || !compute_block(r, from, n))
                return false;
        if (r->rounds) {
                const Storage s = p->weight->storage;
                for (int64_t i = 0; (i = first_beyond(s, r->block, i, n)) < n; i++)
                        if (piece_has(p, from + i))
                                return refuse_element(r, from + i, r->block[i]);
                round_block(p->weight, r->block, n);
        }
        if (from - r->kept >= LET_GO) {
                checkpoint_let_go(r->tensor, r->kept, from - r->kept);
                r->kept = from;
        }
        return true;
}

static bool weights_read_digits(PieceReader *r, int k, int64_t from, int64_t to)
{
        const PieceDigit d = r->piece->digit[k];
        if (k < r->digit) {
                for (int64_t i = 0; i < d.size; i++)
                        if (!weights_read_digits(r, k + 1, from + i * d.published, to + i * d.slot))
                                return false;
                return true;
        }
        for (int64_t i = 0; i < d.size; i += r->chunk) {
                int64_t n = d.size - i < r->chunk ? d.size - i : r->chunk;
                if (!read_block(r, from + i * d.published, r->span + (n - 1) * d.published))
                        return false;
                reader_give(r, k, (PieceDigit){n, d.published, d.slot}, r->block, to + i * d.slot);
        }
        return true;
}

static bool weights_read_piece(Weights *weights, const Piece *p, WeightRun *take, void *to)
{
        PieceReader r = {.piece = p, .tensor = weights->tensor[p->published], .block = weights->block};
        r.weights = weights;
        r.rounds = (r.tensor->adapted || storage_of_piece(weights, p, false) != p->weight->storage) &&
                   !is_in_blocks(p->weight->storage);
        r.take = take;
        r.to = to;
        r.kept = p->from;
        plan_blocks(&r);
        bool good = weights_read_digits(&r, 0, p->from, p->to);
        int64_t end = p->from + 1;
        for (int k = 0; k < p->ndigit; k++)
                end += (p->digit[k].size - 1) * p->digit[k].published;
        checkpoint_let_go(r.tensor, r.kept, end - r.kept);
        return good;
}

/* ---- both ---- */

const char *weights_why(const void *weights)
{
        return ((const Weights *)weights)->why;
}

/* Reads the numbers before rounding to blocks. */
static bool take_pieces(Weights *weights, const Weight *w, int64_t slot, WeightRun *take, void *to)
{
        if (!weights->map)
                return take_hashed(weights, w, slot, take, to);
        Piece *const *piece;
        int64_t n = slot_pieces(weights->map, w, slot, &piece);
        for (int64_t i = 0; i < n; i++)
                if (!weights_read_piece(weights, piece[i], take, to))
                        return false;
        return true;
}

bool weights_take(Weights *weights, const Weight *w, int64_t slot, WeightRun *take, void *to)
{
        const Graph *g = weights->graph;
        if (w->id >= g->nweight || g->weight[w->id] != w || slot < 0 || slot >= w->slots)
                return false;
        if (!is_in_blocks(w->storage))
                return take_pieces(weights, w, slot, take, to);
        int64_t n = type_count(&w->type, NULL);
        float *value = calloc((size_t)n, sizeof *value);
        bool good = value && blocks_widened(weights, w, slot, value);
        if (good)
                take(to, 0, 1, n, value, 1);
        free(value);
        return good;
}

static void put_floats(void *to, int64_t first, int64_t step, int64_t n, const float *from, int64_t from_step)
{
        float *value = (float *)to + first;
        for (int64_t i = 0; i < n; i++)
                value[i * step] = from[i * from_step];
}

bool weights_before_blocks(Weights *weights, const Weight *w, int64_t slot, float *value)
{
        return take_pieces(weights, w, slot, put_floats, value);
}

bool weights_read_f32(Weights *weights, const Weight *w, int64_t slot, float *value)
{
        return weights_take(weights, w, slot, put_floats, value);
}

static void put_doubles(void *to, int64_t first, int64_t step, int64_t n, const float *from,
                        int64_t from_step)
{
        double *value = (double *)to + first;
        for (int64_t i = 0; i < n; i++)
                value[i * step] = from[i * from_step];
}

bool weights_read(void *from, const Weight *w, int64_t slot, double *value)
{
        return weights_take(from, w, slot, put_doubles, value);
}
