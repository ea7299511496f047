/* Reading weights, slot by slot.
 *
 * A slot's pieces are read in blocks of the published tensor, in the order of the file, and scattered into
 * the slot.  A piece that is one run is read in place. */
#include "weight_map_private.h"

#include <stdlib.h>

bool weights_check(const Graph *g, Diag *diag)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        bool good = weight_map(&scratch, g, diag) != NULL;
        arena_free(&scratch);
        return good;
}

Weights *weights_hashed(Arena *arena, const Graph *g)
{
        Weights *weights = NEW(arena, Weights);
        weights->graph = g;
        return weights;
}

Weights *weights_loaded(Arena *arena, const Graph *g, Checkpoint *checkpoint, Diag *diag)
{
        Weights *weights = NEW(arena, Weights);
        weights->graph = g;
        weights->map = weight_map(arena, g, diag);
        if (!weights->map)
                return NULL;
        weights->tensor = NEW_ARRAY(arena, const CkTensor *, weights->map->npublished);
        weights->block = NEW_ARRAY(arena, float, CK_BLOCK);
        return weight_check(weights->map, checkpoint, weights->tensor, diag) ? weights : NULL;
}

/* ---- hashed ---- */

static void read_hashed(const Weight *w, int64_t slot, float *value)
{
        Arena scratch = {0};
        int64_t shape[MAX_RANK], count = weight_shape(w, shape);
        uint64_t name = hash_name(weight_slot_name(&scratch, w, slot));
        double scale = hash_scale(w->type.rank, shape);
        for (int64_t i = 0; i < count; i++)
                value[i] = hash_weight(name, (uint64_t)i, scale,
                                       w->centre_values ? w->centre_values[i] : w->centre);
        arena_free(&scratch);
}

/* ---- loaded ---- */

/* A piece being read: digits beyond `digit` make up a block of `span` elements of the file, as do `chunk`
 * values of it. */
typedef struct {
        const Piece *piece;
        const CkTensor *tensor;
        float *block;
        int digit;
        int64_t span, chunk;
} Reader;

/* A block may have gaps, elements of other pieces, if they are short or few. */
static void plan_blocks(Reader *r)
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

static void scatter_run(const Piece *p, PieceDigit d, const float *from, float *to)
{
        if (p->mul == 1 && p->add == 0) {
                for (int64_t i = 0; i < d.size; i++)
                        to[i * d.slot] = from[i * d.published];
                return;
        }
        for (int64_t i = 0; i < d.size; i++)
                to[i * d.slot] = (float)((from[i * d.published] - p->add) / p->mul);
}

/* The values of d, digit k or a part of it, and all of the digits inside, from a block to their places in the
 * slot.  Of the two innermost the one with the shorter step in the slot runs last: a transposed matrix is
 * written in runs. */
static void scatter(const Piece *p, int k, PieceDigit d, const float *from, float *to)
{
        if (k == p->ndigit - 1) {
                scatter_run(p, d, from, to);
                return;
        }
        PieceDigit inner = p->digit[k + 1];
        if (k == p->ndigit - 2 && llabs(d.slot) < llabs(inner.slot)) {
                for (int64_t i = 0; i < inner.size; i++)
                        scatter_run(p, d, from + i * inner.published, to + i * inner.slot);
                return;
        }
        for (int64_t i = 0; i < d.size; i++)
                scatter(p, k + 1, inner, from + i * d.published, to + i * d.slot);
}

static bool read_digits(const Reader *r, int k, int64_t from, float *to)
{
        const PieceDigit d = r->piece->digit[k];
        if (k < r->digit) {
                for (int64_t i = 0; i < d.size; i++)
                        if (!read_digits(r, k + 1, from + i * d.published, to + i * d.slot))
                                return false;
                return true;
        }
        for (int64_t i = 0; i < d.size; i += r->chunk) {
                int64_t n = d.size - i < r->chunk ? d.size - i : r->chunk;
                if (!checkpoint_read_f32(r->tensor, from + i * d.published, r->span + (n - 1) * d.published,
                                         r->block))
                        return false;
                scatter(r->piece, k, (PieceDigit){n, d.published, d.slot}, r->block, to + i * d.slot);
        }
        return true;
}

static bool is_plain_run(const Piece *p)
{
        return p->ndigit == 1 && p->digit[0].published == 1 && p->digit[0].slot == 1 && p->mul == 1 &&
               p->add == 0;
}

static bool read_piece(const Weights *weights, const Piece *p, float *value)
{
        const CkTensor *tensor = weights->tensor[p->published];
        if (is_plain_run(p))
                return checkpoint_read_f32(tensor, p->from, p->digit[0].size, value + p->to);
        Reader r = {.piece = p, .tensor = tensor, .block = weights->block};
        plan_blocks(&r);
        return read_digits(&r, 0, p->from, value + p->to);
}

/* ---- both ---- */

bool weights_read_f32(Weights *weights, const Weight *w, int64_t slot, float *value)
{
        const Graph *g = weights->graph;
        if (w->id >= g->nweight || g->weight[w->id] != w || slot < 0 || slot >= w->slots)
                return false;
        if (!weights->map) {
                read_hashed(w, slot, value);
                return true;
        }
        Piece *const *piece;
        int64_t n = slot_pieces(weights->map, w, slot, &piece);
        for (int64_t i = 0; i < n; i++)
                if (!read_piece(weights, piece[i], value))
                        return false;
        return true;
}

bool weights_read(void *from, const Weight *w, int64_t slot, double *value)
{
        int64_t shape[MAX_RANK], count = weight_shape(w, shape);
        float *narrow = malloc((size_t)(count ? count : 1) * sizeof *narrow);
        bool good = narrow && weights_read_f32(from, w, slot, narrow);
        for (int64_t i = 0; good && i < count; i++)
                value[i] = narrow[i];
        free(narrow);
        return good;
}
