/* Functions on kernels, buffers and sizes. */
#include "kernels.h"

int body_number(const Plan *p, const Body *b)
{
        for (int i = 0; i < p->nbody; i++)
                if (p->body[i] == b)
                        return i;
        return -1;
}

int64_t round_up(int64_t n, int64_t to)
{
        return (n + to - 1) / to * to;
}

int64_t own_row(const Plan *p, const Buffer *b)
{
        for (int a = 0; a < b->type.rank; a++)
                if (dim_equal(b->type.dim[a], dim_named(p->graph->time)))
                        return b->layout.stride[a];
        return 0;
}

/* The maximum of a dimension within one call; past and new rows together never exceed the bound of time. */
int64_t bound_of(const Plan *p, Dim d)
{
        const Graph *g = p->graph;
        int64_t n = d.fixed;
        if (g->past >= 0 && d.per[g->past] == 1 && d.per[g->time] == 1) {
                n += g->named[g->time].bound;
                d.per[g->past] = d.per[g->time] = 0;
        }
        for (int i = 0; i < MAX_NAMED; i++)
                n += d.per[i] * p->bound[i];
        return n;
}

bool has_whole_sequences(const Plan *p)
{
        return p->slots > 1 && p->graph->past < 0;
}

int varying_size(const Graph *g)
{
        return g->past >= 0 ? g->time : g->nnamed - 1;
}

/* -1: a single element. */
static int outermost_axis(const Buffer *b)
{
        int axis = b->layout.tiled;
        for (int a = 0; a < b->type.rank && b->layout.tiled < 0; a++)
                if (!dim_is(b->type.dim[a], 1) && (axis < 0 || b->layout.stride[a] > b->layout.stride[axis]))
                        axis = a;
        return axis;
}

/* Rows that do not depend on the new positions, such as past ones, have room for their maximum. */
Dim sequence_rows(const Plan *p, const Buffer *b)
{
        int axis = outermost_axis(b), size = varying_size(p->graph);
        Dim rows = axis < 0 ? dim_fixed(1) : b->type.dim[axis], rest = rows;
        if (size >= 0)
                rest.per[size] = 0;
        return dim_is_fixed(rest) ? rows : dim_fixed(bound_of(p, rows));
}

int64_t sequence_row(const Buffer *b)
{
        int axis = outermost_axis(b);
        return axis < 0 ? 1 : axis == b->layout.tiled ? b->layout.tile : b->layout.stride[axis];
}

int64_t all_rows(const Plan *p, Dim one)
{
        int size = varying_size(p->graph);
        return (one.fixed > 0 ? one.fixed * p->slots : 0) + (size < 0 ? 0 : one.per[size] * p->rows);
}

bool is_kept_narrow(const Buffer *b)
{
        return b->storage == STORAGE_F16 || b->storage == STORAGE_Q8;
}

int64_t buffer_size(const Buffer *b, int64_t elements)
{
        return b->storage == STORAGE_Q8 ? (elements + b->group - 1) / b->group * (b->group + 2)
                                        : storage_size(b->storage, elements);
}

int64_t buffer_elements(const Buffer *b, int64_t bytes)
{
        return b->storage == STORAGE_Q8 ? bytes / (b->group + 2) * b->group
                                        : storage_elements(b->storage, bytes);
}

int storage_number(const Buffer *b)
{
        int lanes = b->layout.tiled >= 0 ? LANES : 1;
        _Static_assert(STORAGE_COUNT <= 64, "numbers from 64 on are those of runtime/kept.h");
        return b->storage == STORAGE_Q8 ? (int)(64 * b->group) + lanes - 1 : (int)b->storage;
}

int cache_of(const Buffer *b)
{
        while (b->part_of)
                b = b->part_of;
        return b->cache;
}

CachedState cached_state(const Buffer *b)
{
        int64_t tile = b->layout.tiled >= 0 ? b->layout.tile : LANES * b->layout.stride[b->shift_axis];
        const int64_t heads = b->per_head ? b->type.dim[0].fixed : 1; /* heads are shifted separately */
        return (CachedState){.cache = b->cache,
                             .offset = FLOATS(b->offset),
                             .slots = b->slots * heads,
                             .slot = FLOATS(b->slot_stride) / heads,
                             .tile = FLOATS(buffer_size(b, tile))};
}

KeptSums kept_sums(const Plan *p)
{
        KeptSums sums = {.older = (int)SCAN_OLDER(p->rewind)};
        for (int i = 0; i < p->all.n && !sums.buffer; i++) {
                const Kernel *k = p->all.kernel[i];
                if (!k->kept)
                        continue;
                ScanInputs s = scan_of(k->stores.of[0].node);
                sums.buffer = k->kept;
                sums.floats = SCAN_FLOATS(s.depth, s.width);
        }
        return sums;
}

const char *carried_state(const Plan *p)
{
        for (int i = 0; i < p->all.n; i++) {
                const Region *r = p->all.kernel[i]->op == K_REPEAT ? p->all.kernel[i]->repeat.region : NULL;
                if (r && r->kept)
                        return r->kept[0]->name;
        }
        return NULL;
}

bool keeps_ring(const Plan *p)
{
        return p->rewind && carried_state(p);
}

int cached_states(const Plan *p)
{
        int n = 0;
        for (int i = 0; i < p->nbuffer; i++)
                n += p->buffer[i]->cache >= 0;
        return n;
}

int paged_states(const Plan *p)
{
        int n = 0;
        for (int i = 0; i < p->nbuffer; i++)
                n += p->buffer[i]->paged && !p->buffer[i]->part_of;
        return n;
}

int64_t page_blocks(const Plan *p)
{
        return pages_for(p->graph->named[p->graph->time].bound);
}

int64_t pool_offset(const Plan *p)
{
        return p->bytes.arena + LANES * (int64_t)sizeof(float);
}

const int code_group[CODE_GROUPS] = {32, 256};

bool wants_codes(const Kernel *k, int group)
{
        bool wanted = false;
        for (int i = 0; i < k->product.nsegment; i++)
                wanted |= storage_info[k->product.segment[i].w[0]->storage].codes == group;
        return wanted;
}
