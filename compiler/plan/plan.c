/* Plan: assigns the offset of every buffer.
 *
 * Kernels are numbered in the order in which they run; a buffer lives from the first kernel that accesses it
 * to the last.  A buffer that is accessed both inside and outside of a repeat lives through all of its
 * iterations.  Buffers of the arena are placed one after another, each at the best fit among those whose
 * lives overlap: largest first (as in XNNPACK's planner), longest-lived first, then with the buffers that
 * exceeded the bound placed first; the best of these attempts is used.  The lower bound is the maximum number
 * of bytes live at once. */
#include "plan_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
        Plan *plan;
        int step;
        int *first, *last; /* by buffer id; first -1: never accessed */
} Lives;

static void touch(Lives *l, const Buffer *b, int first, int last)
{
        if (l->first[b->id] < 0)
                l->first[b->id] = first;
        if (last > l->last[b->id])
                l->last[b->id] = last;
}

/* last: the last kernel that another thread may have reached while one is still at k. */
static void touch_all(Lives *l, const Kernel *k, int last)
{
        for (int i = 0; i < k->code->nread; i++)
                touch(l, k->code->read[i], k->order.step, last);
        for (int i = 0; i < k->code->nwritten; i++)
                touch(l, k->code->written[i], k->order.step, k->order.step);
}

static bool is_unwaited(const KernelList *l, int i)
{
        return i < l->n && l->kernel[i]->one_row != ONE_ROW_SHARED;
}

/* The number of kernels after kernel i that a thread may have reached while another is still at i: replicated
 * ones or ones by heads, and the next one after replicated ones. */
static int unwaited_run(const KernelList *l, int i)
{
        int n = 0;
        while (is_unwaited(l, i + n) &&
               (l->kernel[i + n]->one_row == ONE_ROW_REPLICATED || is_unwaited(l, i + n + 1)))
                n++;
        return i + n < l->n ? n : 0;
}

/* Numbers the kernels of a body; then extends lives over the repeats in it. */
static void lives_number(Lives *l, int body)
{
        Plan *p = l->plan;
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                k->order.step = l->step++;
                if (k->op != K_REPEAT) {
                        touch_all(l, k, k->order.step + unwaited_run(&p->list[body], i));
                        continue;
                }
                for (int b = 0; b < k->repeat.region->nbody; b++)
                        lives_number(l, body_number(p, k->repeat.region->body[b]));
                k->order.last = l->step++;
        }
}

static void stretch(Lives *l, int body)
{
        Plan *p = l->plan;
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                if (k->op != K_REPEAT)
                        continue;
                for (int b = 0; b < k->repeat.region->nbody; b++)
                        stretch(l, body_number(p, k->repeat.region->body[b]));
                for (int b = 0; b < p->nbuffer; b++) {
                        bool begun = l->first[b] >= 0 && l->first[b] < k->order.step &&
                                     l->last[b] >= k->order.step;
                        bool goes_on = l->first[b] >= 0 && l->first[b] <= k->order.last &&
                                       l->last[b] > k->order.last;
                        if (begun && l->last[b] < k->order.last)
                                l->last[b] = k->order.last;
                        if (goes_on && l->first[b] > k->order.step)
                                l->first[b] = k->order.step;
                }
        }
}

static int by_size(const void *a, const void *b)
{
        const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
        return x->size != y->size ? (x->size < y->size ? 1 : -1) : x->id - y->id;
}

static bool lives_overlap(const Buffer *a, const Buffer *b)
{
        return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset for b between buffers that are already placed and live at the same time; the tightest
 * gap. */
static int64_t best_fit(Buffer **placed, int n, const Buffer *b)
{
        int64_t best = -1, best_room = 0;
        for (int i = -1; i < n; i++) {
                if (i >= 0 && !lives_overlap(placed[i], b))
                        continue;
                int64_t at = i < 0 ? 0 : placed[i]->offset + placed[i]->size, next = INT64_MAX;
                bool free = true;
                for (int k = 0; k < n && free; k++) {
                        if (!lives_overlap(placed[k], b))
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

/* Places all buffers in this order; returns the total bytes. */
static int64_t place_in_order(Buffer **live, int n)
{
        int64_t size = 0;
        for (int i = 0; i < n; i++) {
                live[i]->offset = best_fit(live, i, live[i]);
                if (live[i]->offset + live[i]->size > size)
                        size = live[i]->offset + live[i]->size;
        }
        return size;
}

static int by_life(const void *a, const void *b)
{
        const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
        int longer = (y->last - y->first) - (x->last - x->first);
        return longer ? longer : by_size(a, b);
}

/* Moves the buffer with the highest end to the front. */
static void put_highest_first(Buffer **live, int n)
{
        int highest = 0;
        for (int i = 1; i < n; i++)
                if (live[i]->offset + live[i]->size > live[highest]->offset + live[highest]->size)
                        highest = i;
        Buffer *b = live[highest];
        memmove(live + 1, live, (size_t)highest * sizeof *live);
        live[0] = b;
}

/* Tries several orders; stops when one reaches the lower bound. */
static int64_t place_best(Arena *a, Buffer **live, int n, int64_t bound)
{
        enum { TRIES = 12 };
        static int (*const order[])(const void *, const void *) = {by_size, by_life};
        int64_t best = INT64_MAX, *offset = NEW_ARRAY(a, int64_t, n);
        Buffer **at = NEW_ARRAY(a, Buffer *, n);
        memcpy(at, live, (size_t)n * sizeof *at);
        for (int i = 0; i < 2 && best > bound; i++) {
                qsort(at, (size_t)n, sizeof *at, order[i]);
                for (int try = 0; try < TRIES && best > bound; try++) {
                        int64_t size = place_in_order(at, n);
                        for (int k = 0; k < n && size < best; k++)
                                offset[k] = live[k]->offset;
                        best = size < best ? size : best;
                        put_highest_first(at, n);
                }
        }
        for (int k = 0; k < n; k++)
                live[k]->offset = offset[k];
        return best;
}

static void place_arena(Plan *p)
{
        Arena *a = p->graph->arena;
        Buffer **live = NEW_ARRAY(a, Buffer *, p->nbuffer);
        int n = 0;
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                if (b->home == IN_ARENA && !b->part_of && !b->alias)
                        live[n++] = b;
        }
        for (int step = 0; step < p->steps; step++) {
                int64_t sum = 0;
                for (int i = 0; i < n; i++)
                        if (live[i]->first <= step && live[i]->last >= step)
                                sum += live[i]->size;
                if (sum > p->bytes.arena_bound)
                        p->bytes.arena_bound = sum;
        }
        if (!p->off[PASS_plan] && n) {
                p->bytes.arena = place_best(a, live, n, p->bytes.arena_bound);
                return;
        }
        for (int i = 0; i < n; i++) { /* separate memory for each */
                live[i]->offset = p->bytes.arena;
                p->bytes.arena += live[i]->size;
        }
}

/* Places the weights in order.  Weights of one kernel are consecutive within a slot. */
static void place_sections(Plan *p)
{
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                if (b->part_of)
                        continue;
                if (b->home == IN_WEIGHTS) {
                        b->offset = p->bytes.weights;
                        p->bytes.weights += b->slot_stride * b->slots;
                } else if (b->paged) {
                        b->offset = pool_offset(p) + p->bytes.pool;
                        p->bytes.pool += b->slot_stride * b->slots;
                } else if (b->home == IN_STATE) {
                        b->offset = p->bytes.state;
                        p->bytes.state += b->slot_stride * b->slots;
                }
        }
        p->bytes.weights += 2048; /* kernels prefetch a few cache lines beyond the end */
}

/* Threads that run an `along` by parts are at different kernels of its body at one time, so the values that it
 * stores live as long as the body runs. */
static void lengthen_within(const Plan *p, const Kernel *along)
{
        const KernelList *l = &p->list[body_number(p, along->repeat.region->body[0])];
        const int begin = l->kernel[0]->order.step, end = l->kernel[l->n - 1]->order.step;
        for (int i = 0; i < l->n; i++)
                for (int w = 0; w < l->kernel[i]->code->nwritten; w++) {
                        Buffer *b = l->kernel[i]->code->written[w];
                        b->first = b->first > begin ? begin : b->first;
                        b->last = b->last < end ? end : b->last;
                }
}

void find_lives(Plan *p)
{
        Arena *a = p->graph->arena;
        Lives l = {.plan = p, .first = NEW_ARRAY(a, int, p->nbuffer), .last = NEW_ARRAY(a, int, p->nbuffer)};
        for (int i = 0; i < p->nbuffer; i++)
                l.first[i] = l.last[i] = -1;
        lives_number(&l, 0);
        stretch(&l, 0);
        p->steps = l.step;
        for (int i = 0; i < p->nbuffer; i++) {
                p->buffer[i]->first = l.first[i];
                p->buffer[i]->last = l.last[i];
        }
        for (int i = 0; i < p->all.n; i++) {
                Kernel *k = p->all.kernel[i];
                if (k->op != K_REPEAT || !k->repeat.region->along)
                        continue;
                k->repeat.parts = parts_of_along(p, k);
                if (k->repeat.parts)
                        lengthen_within(p, k);
        }
}

/* An alias has the offset of its buffer, and is listed with the life of all. */
static void follow_places(Plan *p)
{
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *place = p->buffer[i];
                while (place->alias)
                        place = place->alias;
                p->buffer[i]->offset = place->offset;
        }
}

bool pass_plan(Plan *p, Diag *diag)
{
        (void)diag;
        place_arena(p);
        place_sections(p);
        follow_places(p);
        return true;
}
