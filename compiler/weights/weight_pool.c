/* Packed weights in memory, cached by name and layout.
 *
 * The pool is a range of address space that never moves; buffers are appended as plans request them.  When
 * too much of it is unused, it is cleared. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
        uint64_t key;
        int64_t offset, stride; /* floats */
        int64_t room, slots;    /* capacity in slots, and number of packed slots */
        bool used;              /* by the current plan */
} Packed;

struct WeightPool {
        float *base;
        int64_t floats, end; /* size of the address space, and used part */
        Packed *packed;
        int n, cap;
};

WeightPool *pool_new(void)
{
        WeightPool *pool = calloc(1, sizeof *pool);
        if (!pool)
                return NULL;
        /* memory is allocated when written; a limit on address space (ulimit -v) leaves less */
        for (int64_t bytes = (int64_t)1 << 42; bytes >= 1 << 24; bytes /= 2) {
                void *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
                if (at == MAP_FAILED)
                        continue;
                pool->base = at;
                pool->floats = bytes / (int64_t)sizeof(float);
                return pool;
        }
        free(pool);
        return NULL;
}

void pool_free(WeightPool *pool)
{
        if (!pool)
                return;
        munmap(pool->base, (size_t)pool->floats * sizeof(float));
        free(pool->packed);
        free(pool);
}

static bool buffer_is_whole(const Buffer *b)
{
        return b->home == IN_WEIGHTS && !b->part_of;
}

/* Hashes the weight and its iterations, except the number of slots of a single repeat; and its rounding,
 * which the buffer may not show. */
static uint64_t mix_weight(uint64_t h, const Weight *w)
{
        h = hash_bytes(h, w->path, strlen(w->path) + 1);
        h = hash_bytes(h, &w->type.rank, sizeof w->type.rank);
        for (int a = 0; a < w->type.rank; a++)
                h = hash_bytes(h, &w->type.dim[a].fixed, sizeof w->type.dim[a].fixed);
        h = hash_bytes(h, &w->storage, sizeof w->storage);
        h = hash_bytes(h, &w->centre, sizeof w->centre);
        if (w->centre_values)
                h = hash_bytes(h, w->centre_values, (size_t)type_count(&w->type, NULL) * sizeof(double));
        int64_t iterations = 1;
        for (int i = 0; i < w->nregion; i++) {
                iterations *= w->region[i]->iterations;
                if (i > 0)
                        h = hash_bytes(h, &w->region[i]->iterations, sizeof w->region[i]->iterations);
        }
        if (w->slot_of && iterations != w->slots)
                h = hash_bytes(h, w->slot_of, (size_t)iterations * sizeof *w->slot_of);
        return h;
}

/* Key of a buffer and its packed content: names, shapes, layouts, origin. */
static uint64_t pool_key(const Plan *p, const Buffer *whole, uint64_t origin)
{
        uint64_t h = hash_bytes(HASH_START, &origin, sizeof origin);
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                if (b->home != IN_WEIGHTS || (b != whole && b->part_of != whole))
                        continue;
                h = hash_bytes(h, &b->layout.tiled, sizeof b->layout.tiled);
                h = hash_bytes(h, &b->layout.tile, sizeof b->layout.tile);
                h = hash_bytes(h, b->layout.stride, sizeof b->layout.stride);
                h = hash_bytes(h, &b->layout.offset, sizeof b->layout.offset);
                h = hash_bytes(h, &b->slot_stride, sizeof b->slot_stride);
                h = hash_bytes(h, &b->storage, sizeof b->storage);
                if (b->weight)
                        h = mix_weight(h, b->weight);
        }
        return h;
}

static Packed *pool_find(WeightPool *pool, uint64_t key, int64_t slots)
{
        for (int i = 0; i < pool->n; i++) {
                Packed *at = &pool->packed[i];
                if (at->key == key && at->room >= slots && !at->used)
                        return at;
        }
        return NULL;
}

/* Address space is free: a buffer with slots gets room for some more. */
static Packed *pool_add(WeightPool *pool, uint64_t key, const Buffer *b)
{
        int64_t room = b->slots > 1 ? 4 * b->slots : 1, left = pool->floats - pool->end - INT64_C(2) * LANES;
        int64_t stride = FLOATS(b->slot_stride);
        while (room > b->slots && room > left / stride)
                room /= 2;
        room = room < b->slots ? b->slots : room;
        if (room > left / stride)
                return NULL;
        if (pool->n == pool->cap) {
                int cap = pool->cap ? 2 * pool->cap : 64;
                Packed *more = realloc(pool->packed, (size_t)cap * sizeof *more);
                if (!more)
                        return NULL;
                pool->packed = more;
                pool->cap = cap;
        }
        Packed *at = &pool->packed[pool->n++];
        *at = (Packed){.key = key, .offset = pool->end, .stride = stride, .room = room};
        pool->end += round_up(room * stride, LANES) + 512; /* kernels prefetch slightly beyond the end */
        return at;
}

/* Clears the pool if the plan uses less than half of the packed bytes. */
static void drop_if_stale(WeightPool *pool, const Plan *p, uint64_t origin)
{
        int64_t all = 0, useful = 0;
        for (int i = 0; i < pool->n; i++)
                all += pool->packed[i].slots * pool->packed[i].stride;
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                const Packed *at =
                        buffer_is_whole(b) ? pool_find(pool, pool_key(p, b, origin), b->slots) : NULL;
                useful += at ? at->slots * at->stride : 0;
        }
        if (all - useful <= 2 * FLOATS(p->bytes.weights))
                return;
        madvise(pool->base, (size_t)pool->end * sizeof(float), MADV_DONTNEED);
        pool->n = 0;
        pool->end = 0;
}

/* Places every whole buffer; begin[id]: its first slot that is not yet packed. */
static const char *place_buffers(WeightPool *pool, Plan *p, uint64_t origin, int64_t *begin)
{
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                if (!buffer_is_whole(b))
                        continue;
                uint64_t key = pool_key(p, b, origin);
                Packed *at = pool_find(pool, key, b->slots);
                if (!at)
                        at = pool_add(pool, key, b);
                if (!at)
                        return arena_printf(p->graph->arena, "out of memory: the weights of %s take %.1f GB",
                                            p->graph->name, 1e-9 * (double)p->bytes.weights);
                begin[b->id] = at->slots;
                at->slots = at->slots > b->slots ? at->slots : b->slots;
                at->used = true;
                b->offset = at->offset * (int64_t)sizeof(float);
        }
        return NULL;
}

const char *pool_fit(WeightPool *pool, Plan *p, Weights *from, uint64_t origin, const float **base)
{
        int64_t *begin = calloc((size_t)p->nbuffer + 1, sizeof *begin);
        for (int i = 0; i < pool->n; i++)
                pool->packed[i].used = false;
        drop_if_stale(pool, p, origin);
        const char *error = begin ? place_buffers(pool, p, origin, begin) : no_memory;
        if (!error)
                error = pack_buffers(p, from, begin, pool->base, IN_MEMORY);
        if (error) { /* so that a partly packed entry is not reused */
                pool->n = 0;
                pool->end = 0;
        }
        free(begin);
        *base = pool->base;
        return error;
}
