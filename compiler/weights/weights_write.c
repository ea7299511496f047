/* Writing weights under their published names.
 *
 * Of a loaded model the file's own tensors are copied.  Hashed weights take the map from left to right: a
 * published tensor is put together from its pieces, one slot at a time, then handed out in blocks. */
#include "weight_map_private.h"
#include "checkpoint_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
        Weights *weights;
        const WeightMap *map;
        int tensor;   /* the one that is put together; -1: none yet */
        float *value; /* [its count] */
} WeightsWriter;

/* ---- one tensor from its pieces ---- */

static void piece_gather(const Piece *p, int k, const float *slot, float *published)
{
        const PieceDigit d = p->digit[k];
        if (k < p->ndigit - 1) {
                for (int64_t i = 0; i < d.size; i++)
                        piece_gather(p, k + 1, slot + i * d.slot, published + i * d.published);
                return;
        }
        for (int64_t i = 0; i < d.size; i++) {
                double product =
                        slot[i * d.slot] * p->mul; /* rounded by itself: never one fma with the sum */
                published[i * d.published] = (float)(product + p->add);
        }
}

static bool place_piece(WeightsWriter *w, const Piece *p, const Piece *before, float **slot)
{
        if (!before || before->weight != p->weight || before->slot != p->slot) {
                int64_t shape[MAX_RANK], count = weight_shape(p->weight, shape);
                free(*slot);
                *slot = malloc((size_t)count * sizeof **slot);
                if (!*slot || !weights_read_f32(w->weights, p->weight, p->slot, *slot))
                        return false;
        }
        piece_gather(p, 0, *slot + p->to, w->value + p->from);
        return true;
}

static bool assemble(WeightsWriter *w, int tensor, CkError *err)
{
        const Published *p = &w->map->published[tensor];
        float *slot = NULL;
        bool good = true;
        free(w->value);
        w->tensor = tensor;
        w->value = malloc((size_t)(p->count ? p->count : 1) * sizeof *w->value);
        for (int64_t i = 0; w->value && good && i < p->npiece; i++) {
                Piece *const *piece = &w->map->piece[p->first + i];
                good = place_piece(w, piece[0], i ? piece[-1] : NULL, &slot);
        }
        free(slot);
        if (w->value && !good && weights_why(w->weights))
                return ck_fail(err, "%s", weights_why(w->weights));
        return (w->value && good) || ck_lack(err, "%s: out of memory", p->name);
}

static bool fill_hashed(void *context, int tensor, int64_t first, int64_t count, float *out, CkError *err)
{
        WeightsWriter *w = context;
        if (tensor != w->tensor && !assemble(w, tensor, err))
                return false;
        for (int64_t i = 0; i < count; i++)
                out[i] = w->value[first + i];
        return true;
}

/* ---- the file ---- */

static bool fill_loaded(void *context, int tensor, int64_t first, int64_t count, float *out, CkError *err)
{
        const WeightsWriter *w = context;
        const CkTensor *t = w->weights->tensor[tensor];
        bool good = checkpoint_read_f32(t, first, count, out);
        for (int64_t i = 0; good && i < count && (t->dtype == CK_F64 || t->adapted); i++) {
                double x = 0;
                good = !isinf(out[i]) || checkpoint_read_f64(t, first + i, 1, &x);
                if (beyond_f32(x))
                        return ck_fail(err,
                                       "%s: \"%s\": element %" PRId64
                                       " is %.9g, beyond the largest float of 32 bits, 3.40282347e+38: scale "
                                       "the weights",
                                       t->file->path, ck_quote(t->name).text, first + i, x);
        }
        return good || ck_lack(err, "%s: can't be read any more: the file has become shorter", t->file->path);
}

static bool write_tensors(WeightsWriter *w, const char *path, CkType storage, CkError *err)
{
        int n = w->map->npublished;
        CkOutput *output = calloc((size_t)n + 1, sizeof *output);
        if (!output)
                return ck_lack(err, "%s: out of memory", path);
        for (int i = 0; i < n; i++) {
                const Published *p = &w->map->published[i];
                output[i] = (CkOutput){.name = p->name, .dtype = storage, .rank = p->rank};
                for (int a = 0; a < p->rank; a++)
                        output[i].shape[a] = p->shape[a];
        }
        bool good = tensors_write(path, n, output, w->weights->map ? fill_loaded : fill_hashed, w, err);
        free(output);
        return good;
}

bool weights_write(const Graph *g, Weights *weights, const char *path, CkType storage, CkError *err)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Diag diag = {.arena = &scratch};
        WeightsWriter w = {weights, weights->map ? weights->map : weight_map(&scratch, g, &diag), -1, NULL};
        bool good =
                w.map ? write_tensors(&w, path, storage, err)
                      : ck_fail(err, "%s: not written: the checkpoint of %s does not give every weight once",
                                path, g->name);
        free(w.value);
        arena_free(&scratch);
        return good;
}
