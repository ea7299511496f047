/* Plan: where every buffer lies.
 *
 * Kernels are numbered in the order in which they run; a buffer lives from the first that touches it to the last.  One that
 * is touched both inside a repeat and outside of it lives through all of its trips.  Buffers of the arena are placed largest
 * first, each at the best fit among those whose lives overlap (as in XNNPACK's planner); the lower bound is the most that
 * lives at once. */
#include "plan.h"

#include <stdlib.h>

typedef struct {
        Plan *plan;
        int step;
        int *first, *last; /* by buffer id; first -1: never touched */
} Lives;

static void touch(Lives *l, const Buffer *b, int first, int last)
{
        if (l->first[b->id] < 0 || first < l->first[b->id])
                l->first[b->id] = first;
        if (last > l->last[b->id])
                l->last[b->id] = last;
}

/* Numbers the kernels of a body; then stretches lives over the repeats in it. */
static void number(Lives *l, int body)
{
        Plan *p = l->plan;
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                k->step = l->step++;
                for (int b = 0; b < k->ntouch; b++)
                        touch(l, k->touch[b], k->step, k->step);
                if (k->op != K_REPEAT)
                        continue;
                for (int b = 0; b < k->region->nbody; b++)
                        number(l, body_number(p, k->region->body[b]));
                k->last_step = l->step++;
        }
}

static void stretch(Lives *l, int body)
{
        Plan *p = l->plan;
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                if (k->op != K_REPEAT)
                        continue;
                for (int b = 0; b < k->region->nbody; b++)
                        stretch(l, body_number(p, k->region->body[b]));
                for (int b = 0; b < p->nbuffer; b++) {
                        bool begun = l->first[b] >= 0 && l->first[b] < k->step && l->last[b] >= k->step;
                        bool goes_on =
                                l->first[b] >= 0 && l->first[b] <= k->last_step && l->last[b] > k->last_step;
                        if (begun && l->last[b] < k->last_step)
                                l->last[b] = k->last_step;
                        if (goes_on && l->first[b] > k->step)
                                l->first[b] = k->step;
                }
        }
}

static int by_size(const void *a, const void *b)
{
        const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
        return x->size != y->size ? (x->size < y->size ? 1 : -1) : x->id - y->id;
}

static bool overlap(const Buffer *a, const Buffer *b)
{
        return a->first <= b->last && b->first <= a->last;
}

/* The lowest place where b fits between those already placed and alive with it; of the gaps, the tightest. */
static int64_t best_fit(Buffer **placed, int n, const Buffer *b)
{
        int64_t best = -1, best_room = 0;
        for (int i = -1; i < n; i++) {
                if (i >= 0 && !overlap(placed[i], b))
                        continue;
                int64_t at = i < 0 ? 0 : placed[i]->offset + placed[i]->size, next = INT64_MAX;
                bool free = true;
                for (int k = 0; k < n && free; k++) {
                        if (!overlap(placed[k], b))
                                continue;
                        free = placed[k]->offset + placed[k]->size <= at || placed[k]->offset >= at + b->size;
                        if (placed[k]->offset >= at && placed[k]->offset < next)
                                next = placed[k]->offset;
                }
                if (free && (best < 0 || next - at < best_room || (next - at == best_room && at < best))) {
                        best = at;
                        best_room = next - at;
                }
        }
        return best;
}

static void place_arena(Plan *p, const Lives *l)
{
        Arena *a = p->graph->arena;
        Buffer **live = NEW_ARRAY(a, Buffer *, p->nbuffer);
        int n = 0;
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                b->first = l->first[i];
                b->last = l->last[i];
                if (b->home == IN_ARENA && !b->part_of && b->first >= 0)
                        live[n++] = b;
        }
        qsort(live, (size_t)n, sizeof *live, by_size);
        Buffer **placed = NEW_ARRAY(a, Buffer *, n);
        for (int i = 0; i < n; i++) {
                live[i]->offset = p->passes.plan ? best_fit(placed, i, live[i]) : p->arena_size;
                placed[i] = live[i];
                if (live[i]->offset + live[i]->size > p->arena_size)
                        p->arena_size = live[i]->offset + live[i]->size;
        }
        for (int step = 0; step < l->step; step++) {
                int64_t sum = 0;
                for (int i = 0; i < n; i++)
                        if (live[i]->first <= step && live[i]->last >= step)
                                sum += live[i]->size;
                if (sum > p->arena_bound)
                        p->arena_bound = sum;
        }
}

/* Weights of one kernel lie one after another within a slot where they can be read so; here simply in order. */
static void place_sections(Plan *p)
{
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                if (b->part_of)
                        continue;
                if (b->home == IN_WEIGHTS) {
                        b->offset = p->weights_size;
                        p->weights_size += b->slot_stride * b->slots;
                } else if (b->home == IN_STATE) {
                        b->offset = p->state_size;
                        p->state_size += b->slot_stride * b->slots;
                }
        }
        p->weights_size += 512; /* kernels ask for cache lines a little beyond */
}

void plan_memory(Plan *p)
{
        Arena *a = p->graph->arena;
        Lives l = {.plan = p, .first = NEW_ARRAY(a, int, p->nbuffer), .last = NEW_ARRAY(a, int, p->nbuffer)};
        for (int i = 0; i < p->nbuffer; i++)
                l.first[i] = l.last[i] = -1;
        number(&l, 0);
        stretch(&l, 0);
        place_arena(p, &l);
        place_sections(p);
}
