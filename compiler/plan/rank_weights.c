/* The packed weights that a rank reads (runtime/ranks.h): its panels of products that ranks share, the
 * slots of its stage's layers, and all other weights. */
#include <stdlib.h>
#include <string.h>

#include "lower/code.h"
#include "plan_private.h"

typedef struct {
        const Plan *plan;
        RankPlace place;
        ByteRange *range;
        int n, cap;
} RankReads;

static bool is_multiplied(const Kernel *k, const Buffer *whole)
{
        for (int i = 0; i < k->product.nsegment; i++)
                for (int j = 0; j < k->product.segment[i].nproduct; j++)
                        if (whole_buffer(k->product.segment[i].w[j]) == whole)
                                return true;
        return false;
}

/* Whether a rank reads only its own panels of a weight: not if it may compute rows instead (rows.c), or if
 * an epilogue reads the weight too. */
static bool is_read_by_panels(const Kernel *k, const Buffer *whole)
{
        bool alone = k->op == K_MATMUL && k->ranks.sharded && !k->ranks.by_rows && is_multiplied(k, whole);
        for (int i = 0; i < k->code->n - 1 && alone; i++)
                alone = !function_accesses(k->code->function[i], whole);
        return alone;
}

static const MatmulCall *product_of(const Kernel *k)
{
        return only_statement(own_function(k), STMT_MATMUL)->call.matmul;
}

static void add_in_slot(RankReads *r, const Buffer *b, int64_t slot, int64_t begin, int64_t end)
{
        const int64_t at = whole_buffer((Buffer *)b)->offset + slot * b->slot_stride;
        if (begin == end)
                return;
        GROW(r->plan->graph->arena, r->range, r->n, r->cap);
        r->range[r->n++] = (ByteRange){at + begin, at + end};
}

/* Adds bytes `begin` to `end` of each slot that the stage's iterations read. */
static void reads_add_slots(RankReads *r, const Buffer *b, int64_t begin, int64_t end)
{
        const Region *nest[MAX_NEST];
        const Body within = {.region = b->region};
        const int n = b->slots == 1 ? 0 : iterations_around(&within, nest);
        int64_t iterations = 1;
        for (int i = 0; i < n; i++)
                iterations *= nest[i]->iterations;
        const Kernel *repeat = n ? repeat_around(r->plan, &within) : NULL;
        if (!repeat || !is_by_stages(r->plan, repeat)) {
                for (int64_t slot = 0; slot < b->slots; slot++)
                        add_in_slot(r, b, slot, begin, end);
                return;
        }
        const int64_t first = share_start(nest[0]->iterations, r->place.stage, r->place.stages),
                      behind = share_start(nest[0]->iterations, r->place.stage + 1, r->place.stages);
        const int64_t inner = iterations / nest[0]->iterations;
        for (int64_t t = first * inner; t < behind * inner; t++) {
                const int64_t slot = b->slots != iterations ? b->slot_of[t] : t;
                if (slot >= 0)
                        add_in_slot(r, b, slot, begin, end);
        }
}

/* Adds the rank's panels of one part.  Ranks divide all panels of the product, concatenated, or those of
 * each head. */
static void reads_add_part(RankReads *r, const Kernel *k, const MatmulCall *c, const MatmulPart *part)
{
        const int64_t pieces = k->ranks.heads ? k->ranks.heads : c->panels;
        const int64_t own = share_start(pieces, r->place.rank, r->place.ranks),
                      behind = share_start(pieces, r->place.rank + 1, r->place.ranks);
        int64_t begin = own - part->first, end = behind - part->first;
        if (k->ranks.heads) {
                begin = part->panels / pieces * own;
                end = part->panels / pieces * behind;
        }
        begin = begin < 0 ? 0 : begin;
        end = end > part->panels ? part->panels : end;
        for (int j = 0; j < part->segment->nproduct && begin < end; j++) {
                const Buffer *w = part->segment->w[j];
                const int64_t tile = w->layout.tile,
                              panel = tile / part->segment->nproduct; /* panels of the products alternate */
                reads_add_slots(r, w, storage_size(w->storage, w->layout.offset + begin * tile),
                                storage_size(w->storage, w->layout.offset + (end - 1) * tile + panel));
        }
}

static void add_kernel(RankReads *r, const Kernel *k)
{
        bool panels = false;
        for (int i = 0; i < k->code->nread; i++) {
                const Buffer *b = k->code->read[i];
                if (b->home != IN_WEIGHTS)
                        continue;
                if (is_read_by_panels(k, b))
                        panels = true;
                else
                        reads_add_slots(r, b, 0, b->slot_stride);
        }
        for (int i = 0; panels && i < product_of(k)->npart; i++)
                reads_add_part(r, k, product_of(k), &product_of(k)->part[i]);
}

static int compare_reads(const void *a, const void *b)
{
        const ByteRange *x = a, *y = b;
        return (x->begin > y->begin) - (x->begin < y->begin);
}

static int merged(ByteRange *range, int n)
{
        int kept = 0;
        qsort(range, (size_t)n, sizeof *range, compare_reads);
        for (int i = 0; i < n; i++) {
                if (kept && range[i].begin <= range[kept - 1].end)
                        range[kept - 1].end =
                                range[i].end > range[kept - 1].end ? range[i].end : range[kept - 1].end;
                else
                        range[kept++] = range[i];
        }
        return kept;
}

int rank_ranges(const Plan *p, RankPlace place, ByteRange **range)
{
        RankReads r = {.plan = p, .place = place};
        for (int i = 0; i < p->all.n; i++)
                add_kernel(&r, p->all.kernel[i]);
        *range = r.range;
        return merged(r.range, r.n);
}

/* --- compatible programs ------------------------------------------------------------------------------------------- */

static uint64_t hash_numbers(uint64_t h, int64_t a, int64_t b)
{
        return hash_bytes(h, (const int64_t[]){a, b}, 2 * sizeof a);
}

static uint64_t hash_kernel(uint64_t h, const Kernel *k)
{
        bool panels = false;
        for (int i = 0; i < k->code->nread; i++) {
                const Buffer *b = k->code->read[i];
                if (b->home != IN_WEIGHTS)
                        continue;
                panels |= is_read_by_panels(k, b);
                h = hash_numbers(h, b->offset, is_read_by_panels(k, b));
        }
        for (int i = 0; panels && i < product_of(k)->npart; i++)
                h = hash_numbers(h, product_of(k)->part[i].first, product_of(k)->part[i].panels);
        return panels ? hash_numbers(h, k->ranks.heads, product_of(k)->panels) : h;
}

uint64_t sharding_hash(const Plan *p)
{
        uint64_t h = HASH_START;
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                h = k->op == K_REPEAT && is_by_stages(p, k)
                            ? hash_bytes(h, k->repeat.region->name, strlen(k->repeat.region->name))
                            : h;
                h = hash_kernel(h, k);
        }
        return h;
}
