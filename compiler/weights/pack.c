/* Packing: writes weights and tables in the plan's layout.  Weights are streamed, block by block of their
 * file. */
#define _DEFAULT_SOURCE /* madvise */
#include "weight_map_private.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
        STRIP = 64, /* columns that are transposed at once: with LANES rows, the panel stays in the L1 cache */
        LET_GO = 1 << 22 /* packed floats, after which pages of a file are released */
};

/* Destination of a weight's elements in a layout. */
typedef struct {
        const Layout *layout;
        int rank;
        int64_t dim[MAX_RANK], step[MAX_RANK]; /* step: of each axis in a row-major weight */
        Storage storage;
        void *to;
} Placed;

static void placed_begin(Placed *p, const Buffer *b, int rank, const int64_t *dim, void *slot)
{
        int64_t step = 1;
        const Layout *layout = &b->layout;
        *p = (Placed){.layout = layout,
                      .rank = rank,
                      .storage = b->storage,
                      .to = (char *)slot + storage_size(b->storage, layout->offset)};
        for (int a = rank - 1; a >= 0; a--) {
                p->dim[a] = dim[a];
                p->step[a] = step;
                step *= dim[a];
        }
}

/* Offset and index of an element. */
static int64_t packed_offset(const Placed *p, int64_t element, int64_t *index)
{
        const Layout *l = p->layout;
        int64_t at = 0;
        for (int a = 0; a < p->rank; a++) {
                index[a] = element / p->step[a];
                element -= index[a] * p->step[a];
                at += a == l->tiled ? index[a] / LANES * l->tile + index[a] % LANES : index[a] * l->stride[a];
        }
        return at;
}

/* The axis with the largest step from the index, and the number of elements, of n, along it. */
static int axis_of_step(const Placed *p, int64_t step, const int64_t *index, int64_t n, int64_t *count)
{
        int best = -1;
        *count = 1;
        for (int a = 0; a < p->rank; a++) {
                if (step < p->step[a] || step % p->step[a])
                        continue;
                int64_t along = step / p->step[a], left = (p->dim[a] - index[a] + along - 1) / along;
                left = left < n ? left : n;
                if (best < 0 || left > *count) {
                        best = a;
                        *count = left;
                }
        }
        return best;
}

static void put_f16(const Placed *p, int64_t at, float value)
{
        ((uint16_t *)p->to)[at] = f32_to_f16(value);
}

/* Stores a number, which is already rounded if stored in 16 bits. */
static inline void pack_put(const Placed *p, int64_t at, float value)
{
        if (p->storage == STORAGE_F32)
                ((float *)p->to)[at] = value;
        else if (p->storage == STORAGE_BF16)
                ((uint16_t *)p->to)[at] = f32_to_bf16(value);
        else
                put_f16(p, at, value);
}

/* Converts LANES rows of the innermost axis, tiled over the previous axis, to a panel. */
static void put_panel(const Placed *p, int64_t columns, int64_t stride, const float *from, int64_t at)
{
        for (int64_t begin = 0, end; begin < columns; begin = end) {
                end = columns - begin < STRIP ? columns : begin + STRIP;
                for (int row = 0; row < LANES; row++)
                        for (int64_t c = begin; c < end; c++)
                                pack_put(p, at + c * stride + row, from[row * columns + c]);
        }
}

static bool is_panel(const Placed *p, const int64_t *index, int64_t step, int64_t n, int64_t from_step)
{
        int last = p->rank - 1;
        return last > 0 && p->layout->tiled == last - 1 && step == 1 && from_step == 1 && index[last] == 0 &&
               index[last - 1] % LANES == 0 && index[last - 1] + LANES <= p->dim[last - 1] &&
               n >= LANES * p->dim[last];
}

/* Stores elements that are `along` indices of an axis apart. */
static void put_axis(const Placed *p, int axis, int64_t at, int64_t index, int64_t along, int64_t n,
                     const float *from, int64_t from_step)
{
        const Layout *l = p->layout;
        if (axis != l->tiled) {
                for (int64_t i = 0; i < n; i++)
                        pack_put(p, at + i * along * l->stride[axis], from[i * from_step]);
                return;
        }
        at -= index / LANES * l->tile + index % LANES;
        for (int64_t i = 0; i < n; i++, index += along)
                pack_put(p, at + index / LANES * l->tile + index % LANES, from[i * from_step]);
}

/* The callback WeightRun. */
static void put_run(void *placed, int64_t first, int64_t step, int64_t n, const float *from,
                    int64_t from_step)
{
        const Placed *p = placed;
        int64_t index[MAX_RANK], done;
        for (; n > 0; first += done * step, from += done * from_step, n -= done) {
                int64_t at = packed_offset(p, first, index);
                if (is_panel(p, index, step, n, from_step)) {
                        done = LANES * p->dim[p->rank - 1];
                        put_panel(p, p->dim[p->rank - 1], p->layout->stride[p->rank - 1], from, at);
                        continue;
                }
                int axis = axis_of_step(p, step, index, n, &done);
                if (axis < 0)
                        pack_put(p, at, *from);
                else
                        put_axis(p, axis, at, index[axis], step / p->step[axis], done, from, from_step);
        }
}

static const Buffer *packed_whole(const Buffer *b)
{
        return b->part_of ? b->part_of : b;
}

/* Progress in bytes of weights. */
typedef struct {
        Plan *plan;
        float *all;
        PackedWhere where;
        int64_t done, total;
} Packing;

void pages_let_go(const void *from, const void *to)
{
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        char *begin = (char *)from - (uintptr_t)from % page, *end = (char *)to - (uintptr_t)to % page;
        if (end > begin)
                madvise(begin, (size_t)(end - begin), MADV_DONTNEED);
}

/* Releases pages of a file after they are written, since a model may exceed the memory. */
static void let_go(const Packing *k, const float *from, int64_t floats)
{
        if (k->where == IN_FILE)
                pages_let_go(from, from + floats);
}

/* A slot, and its progress. */
typedef struct {
        Placed placed;
        Packing *packing;
        const float *slot; /* [floats], with padding */
        int64_t floats, held;
} PackedSlot;

static void put_counted(void *slot, int64_t first, int64_t step, int64_t n, const float *from,
                        int64_t from_step)
{
        PackedSlot *s = slot;
        Packing *k = s->packing;
        put_run(&s->placed, first, step, n, from, from_step);
        k->done += storage_size(s->placed.storage, n);
        s->held += n;
        if (s->held < LET_GO)
                return;
        let_go(k, s->slot, s->floats);
        s->held = 0;
        progress("packing", PROGRESS_BYTES, k->done, k->total);
}

/* Packs a slot in blocks: by panels, then by blocks of their 16 rows. */
static bool pack_blocks(const Buffer *b, Weights *from, int64_t slot, char *to)
{
        const Weight *w = b->weight;
        const int64_t rows = w->type.dim[1 - w->contracted].fixed,
                      values = ck_type_values(storage_type(b->storage)),
                      depth = w->type.dim[w->contracted].fixed / values;
        const int64_t bytes = weight_blocks_size(w) / rows;
        uint8_t *block = malloc((size_t)(rows * bytes));
        const bool good = block && weights_blocks(from, w, slot, block);
        for (int64_t row = 0; good && row < rows; row += LANES)
                for (int64_t d = 0; d < depth; d++) {
                        const uint8_t *lane[LANES];
                        for (int i = 0; i < LANES; i++)
                                lane[i] = row + i < rows ? block + (row + i) * bytes + d * (bytes / depth)
                                                         : NULL;
                        int64_t at = b->layout.offset + row / LANES * b->layout.tile + d * values * LANES;
                        panel_block(b->storage, lane, (uint8_t *)to + storage_size(b->storage, at));
                }
        free(block);
        return good;
}

static bool pack_slot(Packing *k, const Buffer *b, Weights *from, int64_t slot, float *to)
{
        const Weight *w = b->weight;
        int64_t dim[MAX_RANK];
        const Type *t = &b->type; /* that of the weight, or with an axis split in two */
        for (int a = 0; a < t->rank; a++)
                dim[a] = t->dim[a].fixed;
        PackedSlot s = {.packing = k, .slot = to, .floats = FLOATS(b->slot_stride)};
        placed_begin(&s.placed, b, t->rank, dim, to);
        bool good = true;
        if (is_in_blocks(b->storage)) {
                good = pack_blocks(b, from, slot, (char *)to);
                k->done += storage_size(b->storage, type_count(&w->type, NULL));
                progress("packing", PROGRESS_BYTES, k->done, k->total);
        } else {
                good = weights_take(from, w, slot, put_counted, &s);
        }
        let_go(k, s.slot, s.floats);
        return good;
}

static const char *pack_weight(Packing *k, const Buffer *b, Weights *from, int64_t begin)
{
        const Weight *w = b->weight;
        Arena *a = k->plan->graph->arena;
        for (int64_t slot = begin; slot < w->slots; slot++) {
                float *to = k->all + FLOATS(packed_whole(b)->offset + slot * b->slot_stride);
                if (pack_slot(k, b, from, slot, to))
                        continue;
                const char *why = weights_why(from);
                return why ? why
                           : arena_printf(a, "%s, or the file has become shorter: %s can't be read",
                                          no_memory, weight_slot_name(a, w, slot));
        }
        return NULL;
}

/* A table has the values of the interpreter, from position 0 to the bound. */
static const char *pack_table(const Plan *p, const Buffer *b, Weights *weights, float *all)
{
        const Graph *g = p->graph;
        WeightSource from = {weights, weights_read, weights_why};
        int64_t size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = i == g->past ? 0 : g->named[i].bound;
        Tensor *input = calloc((size_t)g->ninput + 1, sizeof *input), output = {0};
        Node *want = b->table;
        const char *error =
                input ? interpret_nodes(g, size, input, &from, NULL, &want, 1, &output) : no_memory;
        if (!error) {
                Placed placed;
                placed_begin(&placed, b, output.rank, output.dim, all + FLOATS(b->offset));
                int64_t index[MAX_RANK], count = 1;
                for (int a = 0; a < output.rank; a++)
                        count *= output.dim[a];
                for (int64_t i = 0; i < count; i++)
                        pack_put(&placed, packed_offset(&placed, i, index), (float)output.data[i]);
        }
        tensor_free(&output);
        free(input);
        return error;
}

/* The first slot of a buffer's weight that is not yet packed; their number if there is none. */
static int64_t first_slot(const Buffer *b, const int64_t *begin)
{
        int64_t first = begin ? begin[packed_whole(b)->id] : 0;
        return !b->weight ? 0 : first < b->weight->slots ? first : b->weight->slots;
}

const char *pack_buffers(Plan *p, Weights *from, const int64_t *begin, float *all, PackedWhere where)
{
        const char *error = NULL;
        Packing k = {.plan = p, .all = all, .where = where};
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                if (b->home == IN_WEIGHTS && b->weight)
                        k.total += (b->weight->slots - first_slot(b, begin)) *
                                   storage_size(b->storage, type_count(&b->weight->type, NULL));
        }
        progress("packing", PROGRESS_BYTES, 0, k.total);
        for (int i = 0; i < p->nbuffer && !error; i++) {
                const Buffer *b = p->buffer[i];
                if (b->home != IN_WEIGHTS)
                        continue;
                if (b->weight)
                        error = pack_weight(&k, b, from, first_slot(b, begin));
                else if (b->table)
                        error = pack_table(p, b, from, all);
        }
        progress("packing", PROGRESS_BYTES, k.total, k.total);
        return error;
}

const char *pack_weights(Plan *p, Weights *from, float *all)
{
        return pack_buffers(p, from, NULL, all, IN_MEMORY);
}
