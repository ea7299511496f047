/* Weights in blocks of codes: copied from the file, or quantised from floats, on all processors. */
#include "checkpoint_private.h"
#include "weight_map_private.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A slot's matrix: rows along the axis that is not contracted, each a row of blocks. */
typedef struct {
        int64_t rows, depth;    /* depth: blocks per row */
        int64_t row_step, step; /* in the row-major slot: from row to row, and along the contracted axis */
        int steps;              /* values of a block in a file */
        CkType type;
        int64_t bytes;
} Blocks;

static Blocks blocks_of(const Weight *w)
{
        const int64_t last = w->type.dim[1].fixed;
        const bool along = w->contracted == 1;
        Blocks b = {.type = storage_type(w->storage)};
        b.steps = ck_type_values(b.type);
        b.rows = w->type.dim[1 - w->contracted].fixed;
        b.depth = w->type.dim[w->contracted].fixed / b.steps;
        b.row_step = along ? last : 1;
        b.step = along ? 1 : last;
        b.bytes = ck_type_bits(b.type) / 8;
        return b;
}

int64_t weight_blocks_size(const Weight *w)
{
        const Blocks b = blocks_of(w);
        return b.rows * b.depth * b.bytes;
}

/* --- moved --- */

static int64_t blocks_along(const Weight *w)
{
        return w->contracted == 1 ? 1 : w->type.dim[1].fixed;
}

bool piece_keeps_blocks(const Piece *p, int steps, int64_t along)
{
        const Weight *w = p->weight;
        if (w->type.rank != 2 || w->contracted < 0)
                return false;
        const int64_t step = blocks_along(w), length = w->type.dim[w->contracted].fixed;
        /* pieces of whole blocks cover a row without gaps, so each begins at a block of the slot */
        bool inner = false, whole = p->from / along % steps == 0;
        for (int k = 0; k < p->ndigit; k++) {
                const PieceDigit *d = &p->digit[k];
                if (d->published == along) {
                        inner = true;
                        whole = whole && d->slot == step && d->size % steps == 0;
                } else if (d->size > 1) {
                        whole = whole && (d->published < along || d->published / along % steps == 0) &&
                                d->slot / step % length % steps == 0;
                }
        }
        return inner && whole;
}

typedef struct {
        const Piece *piece;
        const Blocks *blocks;
        const CkTensor *from;
        int64_t along; /* step in the tensor from number to number of a block */
        uint8_t *to;
        int64_t failed; /* first element of a block with an infinite number; -1: none */
} Move;

static void move_digits(Move *m, int k, int64_t from, int64_t to)
{
        const Blocks *b = m->blocks;
        if (k == m->piece->ndigit) {
                int64_t row = to / b->row_step % b->rows, place = to / b->step % (b->depth * b->steps);
                if (!checkpoint_block(m->from, from, m->to + (row * b->depth + place / b->steps) * b->bytes))
                        m->failed = from;
                return;
        }
        const PieceDigit d = m->piece->digit[k];
        const int64_t by = d.published == m->along ? b->steps : 1;
        for (int64_t i = 0; i < d.size && m->failed < 0; i += by)
                move_digits(m, k + 1, from + i * d.published, to + i * d.slot);
}

static bool move_blocks(Weights *weights, const Weight *w, int64_t slot, const Blocks *b, uint8_t *block)
{
        Piece *const *piece;
        int64_t n = slot_pieces(weights->map, w, slot, &piece);
        for (int64_t i = 0; i < n; i++) {
                const CkTensor *t = weights->tensor[piece[i]->published];
                Move m = {piece[i], b, t, checkpoint_block_step(t), block, -1};
                move_digits(&m, 0, piece[i]->from, piece[i]->to);
                checkpoint_let_go(t, 0, t->count);
                if (m.failed >= 0) {
                        Arena *a = weights->graph->arena;
                        weights->why =
                                arena_printf(a,
                                             "%s: \"%s\"%s is in a block whose scale is infinite, NaN or "
                                             "above 2^119: --quant %s=bf16 keeps it",
                                             t->file->path, ck_quote(t->name).text,
                                             element_index_text(a, t->rank, t->shape, m.failed), w->path);
                        return false;
                }
        }
        return true;
}

/* --- made --- */

typedef struct {
        const Blocks *blocks;
        const float *value, *weight; /* weight: along the contracted axis, or NULL */
        uint8_t *block;
        int64_t begin, end; /* rows */
        int64_t failed;     /* index among all rows' blocks of the first that can't be made; -1: none */
} Share;

/* Gathers the floats of block d of a row. */
static void gather_block(const Blocks *b, const float *slot, int64_t row, int64_t d, float *value)
{
        const float *from = slot + row * b->row_step + d * b->steps * b->step;
        for (int i = 0; i < b->steps; i++)
                value[i] = from[i * b->step];
}

static void *make_share(void *given)
{
        Share *s = given;
        const Blocks *b = s->blocks;
        float value[256];
        for (int64_t at = s->begin * b->depth; at < s->end * b->depth && s->failed < 0; at++) {
                const int64_t d = at % b->depth;
                gather_block(b, s->value, at / b->depth, d, value);
                if (quantise_beyond(b->type, value) != 0 ||
                    !quantise_block(b->type, value, s->weight ? s->weight + d * b->steps : NULL,
                                    s->block + at * b->bytes))
                        s->failed = at;
        }
        return NULL;
}

/* Index of the first block that can't be made; -1: all were made. */
static int64_t make_blocks(const Blocks *b, const float *value, const float *weight, uint8_t *block)
{
        enum { MOST = 64 };
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        int n = processors < 1 ? 1 : processors > MOST ? MOST : (int)processors;
        pthread_t thread[MOST];
        Share share[MOST];
        bool started[MOST] = {false};
        for (int i = 0; i < n; i++)
                share[i] = (Share){b, value, weight, block, b->rows * i / n, b->rows * (i + 1) / n, -1};
        for (int i = 1; i < n; i++)
                started[i] = !pthread_create(&thread[i], NULL, make_share, &share[i]);
        make_share(&share[0]);
        for (int i = 1; i < n; i++)
                if (started[i])
                        pthread_join(thread[i], NULL);
                else
                        make_share(&share[i]);
        int64_t failed = -1;
        for (int i = 0; i < n && failed < 0; i++)
                failed = share[i].failed;
        return failed;
}

static int compare_names(const void *name, const void *slot)
{
        return strcmp(name, ((const SlotImportance *)slot)->slot);
}

/* NULL: no entry for the slot. */
const float *slot_importance(const Weights *weights, const Weight *w, int64_t slot)
{
        const Importance *all = weights->importance;
        Arena scratch = {.out_of_memory = weights->graph->arena->out_of_memory};
        const SlotImportance *found = all && all->n
                                              ? bsearch(weight_slot_name(&scratch, w, slot), all->slot,
                                                        (size_t)all->n, sizeof *all->slot, compare_names)
                                              : NULL;
        arena_free(&scratch);
        return found && found->n == w->type.dim[w->contracted].fixed ? found->weight : NULL;
}

void weights_weigh(Weights *weights, const Importance *by)
{
        weights->importance = by;
}

static bool all_finite(Weights *weights, const Weight *w, int64_t slot, const float *value)
{
        const int64_t n = type_count(&w->type, NULL), last = w->type.dim[1].fixed;
        int64_t at = 0;
        while (at < n && isfinite(value[at]))
                at++;
        if (at < n)
                weights->why = arena_printf(
                        weights->graph->arena,
                        "%s[%" PRId64 ", %" PRId64 "] is %s, which %s can't hold: --quant %s=f32 keeps it",
                        weight_slot_name(weights->graph->arena, w, slot), at / last, at % last,
                        isnan(value[at]) ? "NaN" : "infinite", storage_info[w->storage].text, w->path);
        return at == n;
}

/* Reports that block `failed` of a slot has values beyond its f16 factor, or infinite weights of errors. */
static bool refuse_block(Weights *weights, const Weight *w, int64_t slot, const float *value, int64_t failed)
{
        const Blocks b = blocks_of(w);
        Arena *a = weights->graph->arena;
        const int64_t row = failed / b.depth, first = failed % b.depth * b.steps;
        float block[256], largest = 0;
        gather_block(&b, value, row, failed % b.depth, block);
        for (int i = 0; i < b.steps; i++)
                largest = fabsf(block[i]) > fabsf(largest) ? block[i] : largest;
        const char *name = weight_slot_name(a, w, slot), *type = storage_info[w->storage].text,
                   *along = arena_printf(a, "%" PRId64 "..%" PRId64, first, first + b.steps);
        const char *place = w->contracted == 1 ? arena_printf(a, "%s[%" PRId64 ", %s]", name, row, along)
                                               : arena_printf(a, "%s[%s, %" PRId64 "]", name, along, row);
        const double factor = quantise_beyond(b.type, block);
        weights->why =
                factor != 0
                        ? arena_printf(a,
                                       "%s has %.9g: the block's factor in %s would be %.6g, beyond the "
                                       "largest f16, "
                                       "65504: --quant %s=bf16 or =f32 keeps it",
                                       place, (double)largest, type, factor, w->path)
                        : arena_printf(
                                  a,
                                  "%s: the weights that --calibrate gives its errors are not finite: --quant "
                                  "%s=bf16 or =f32 needs none",
                                  place, w->path);
        return false;
}

bool weights_blocks(Weights *weights, const Weight *w, int64_t slot, uint8_t *block)
{
        const Blocks b = blocks_of(w);
        if (weight_exact(weights, w, slot) == w->storage)
                return move_blocks(weights, w, slot, &b, block);
        float *value = malloc((size_t)type_count(&w->type, NULL) * sizeof *value);
        bool good = value && weights_before_blocks(weights, w, slot, value) &&
                    all_finite(weights, w, slot, value);
        int64_t failed = good ? make_blocks(&b, value, slot_importance(weights, w, slot), block) : -1;
        if (failed >= 0)
                good = refuse_block(weights, w, slot, value, failed);
        free(value);
        return good;
}

bool blocks_widened(Weights *weights, const Weight *w, int64_t slot, float *value)
{
        const Blocks b = blocks_of(w);
        uint8_t *block = malloc((size_t)weight_blocks_size(w));
        bool good = block && weights_blocks(weights, w, slot, block);
        float own[256];
        for (int64_t i = 0; good && i < b.rows * b.depth; i++) {
                ck_type_widen(b.type, block + i * b.bytes, 1, own);
                float *to = value + i / b.depth * b.row_step + i % b.depth * b.steps * b.step;
                for (int k = 0; k < b.steps; k++)
                        to[k * b.step] = own[k];
        }
        free(block);
        return good;
}
