/* Sync: the barriers that the data flow needs, and no more.
 *
 * Every thread runs all kernels in order, each its own share.  A kernel waits for the others if it touches memory that one
 * since the last barrier stored, or stores memory that one since then touched; memory, not buffers: the arena is reused.
 * An iteration of a repeat begins with a barrier. */
#include "plan.h"

typedef struct {
        Kernel **kernel;
        int n;
} Pending;

static bool same_memory(const Buffer *a, const Buffer *b)
{
        if (a == b)
                return true;
        return a->home == IN_ARENA && b->home == IN_ARENA && a->offset < b->offset + b->size &&
               b->offset < a->offset + a->size;
}

static bool any_same(const Buffer *b, Buffer *const *other, int n)
{
        for (int i = 0; i < n; i++)
                if (same_memory(b, other[i]))
                        return true;
        return false;
}

static bool stores_what_touches(const Kernel *a, const Kernel *b)
{
        for (int i = 0; i < a->code->nwritten; i++)
                if (any_same(a->code->written[i], b->code->read, b->code->nread) ||
                    any_same(a->code->written[i], b->code->written, b->code->nwritten))
                        return true;
        return false;
}

static void sync_body(Plan *p, int body, Pending *pending, int64_t iterations)
{
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                if (body == 0 && i > 0 && k->part != p->list[body].kernel[i - 1]->part)
                        pending->n = 0; /* another run of the threads */
                if (k->op == K_REPEAT) {
                        for (int b = 0; b < k->region->nbody; b++) {
                                int inner = body_number(p, k->region->body[b]);
                                int64_t inner_iterations = 0;
                                for (int64_t t = 0; t < k->region->iterations; t++)
                                        inner_iterations += k->region->body_of[t] == b;
                                pending->n = 0;
                                p->nbarrier += (int)(iterations * inner_iterations);
                                sync_body(p, inner, pending, iterations * inner_iterations);
                        }
                        k->barrier = k->active_rows != NULL; /* what the iterations' rows are found by */
                        p->nbarrier += k->barrier ? (int)iterations : 0;
                        pending->kernel[pending->n++] = NULL; /* the last iteration had either body */
                        continue;
                }
                for (int j = 0; j < pending->n && !k->barrier; j++)
                        k->barrier = p->off[PASS_sync] || !pending->kernel[j] ||
                                     stores_what_touches(pending->kernel[j], k) ||
                                     stores_what_touches(k, pending->kernel[j]);
                if (k->barrier) {
                        pending->n = 0;
                        p->nbarrier += (int)iterations;
                }
                pending->kernel[pending->n++] = k;
        }
}

bool pass_sync(Plan *p, Diag *diag)
{
        (void)diag;
        int n = 0;
        for (int i = 0; i < p->nbody; i++)
                n += p->list[i].n + 2;
        Pending pending = {NEW_ARRAY(p->graph->arena, Kernel *, n), 0};
        sync_body(p, 0, &pending, 1);
        return true;
}
