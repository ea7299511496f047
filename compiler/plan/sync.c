/* Sync: the barriers that the data flow needs.
 *
 * Every thread runs all kernels in order, its share of each.  A barrier comes before a kernel that accesses memory which a kernel since the last
 * barrier stores, or stores memory which one since then accesses.  Memory, not buffers: the arena is reused.  The kernels before the first one of
 * an iteration are those before the repeat, or those at the end of any iteration.
 *
 * In a call of one row kernels may be replicated (own.c), so some barriers are for calls of several rows only.  Where threads divide the heads of
 * keys, each accesses its own heads (heads.c), and further barriers are left out. */
#include "plan_private.h"

typedef struct {
        Kernel **kernel;
        int n;
} PendingKernels;

typedef struct {
        Plan *plan;
        int kernels; /* most that can be pending */
        int wait;    /* which calls this is about */
} Sync;

/* In a call of one row: has each thread a row of its own in both, and that at the same place? */
static bool buffers_share_rows(const Sync *s, const Buffer *a, const Buffer *b)
{
        return s->wait != WAIT_ROWS && a->replicated && b->replicated && a->offset == b->offset &&
               storage_size(a->storage, own_row(s->plan, a)) == storage_size(b->storage, own_row(s->plan, b));
}

bool share_memory(const Buffer *a, const Buffer *b)
{
        if (a == b)
                return true;
        return a->home == IN_ARENA && b->home == IN_ARENA && a->offset < b->offset + b->size &&
               b->offset < a->offset + a->size;
}

/* Does each thread touch elements of its own heads there, in both? */
static bool same_heads(const Sync *s, const Kernel *k, const Buffer *a, const Kernel *other, const Buffer *b)
{
        if (s->wait != WAIT_HEADS || a->storage != b->storage ||
            (a != b && (a->home != IN_ARENA || b->home != IN_ARENA || a->offset != b->offset)))
                return false;
        int64_t modulus = heads_modulus(s->plan, k, a);
        return modulus > 0 && modulus == heads_modulus(s->plan, other, b);
}

static bool any_same(const Sync *s, const Kernel *k, const Buffer *b, const Kernel *other,
                     Buffer *const *touched, int n)
{
        for (int i = 0; i < n; i++)
                if (!buffers_share_rows(s, b, touched[i]) && share_memory(b, touched[i]) &&
                    !same_heads(s, k, b, other, touched[i]))
                        return true;
        return false;
}

/* The first buffer that a stores and b accesses; NULL: there is none. */
static const Buffer *stores_what_touches(const Sync *s, const Kernel *a, const Kernel *b)
{
        for (int i = 0; i < a->code->nwritten; i++)
                if (any_same(s, a, a->code->written[i], b, b->code->read, b->code->nread) ||
                    any_same(s, a, a->code->written[i], b, b->code->written, b->code->nwritten))
                        return a->code->written[i];
        return NULL;
}

const Buffer *kernels_conflict(const Plan *p, const Kernel *a, const Kernel *b, int wait)
{
        const Sync s = {.plan = (Plan *)p, .wait = wait};
        const Buffer *where = stores_what_touches(&s, a, b);
        return where ? where : stores_what_touches(&s, b, a);
}

static PendingKernels copy_of(const Sync *s, const PendingKernels *from)
{
        PendingKernels copy = {NEW_ARRAY(s->plan->graph->arena, Kernel *, s->kernels), from->n};
        memcpy(copy.kernel, from->kernel, (size_t)from->n * sizeof *from->kernel);
        return copy;
}

static void pending_add(PendingKernels *to, Kernel *k)
{
        for (int i = 0; i < to->n; i++)
                if (to->kernel[i] == k)
                        return;
        to->kernel[to->n++] = k;
}

static void pending_join(PendingKernels *to, const PendingKernels *from)
{
        for (int i = 0; i < from->n; i++)
                pending_add(to, from->kernel[i]);
}

static void sync_body(const Sync *s, int body, PendingKernels *pending);

/* What is pending behind it are the ends of its bodies; where an iteration may be passed over, also what was before. */
static void sync_repeat(const Sync *s, Kernel *k, PendingKernels *pending)
{
        PendingKernels before = copy_of(s, pending), after = *pending;
        for (int known = -1; known < before.n;) {
                known = before.n;
                after.n = 0;
                for (int b = 0; b < k->repeat.region->nbody; b++) {
                        PendingKernels inner = copy_of(s, &before);
                        sync_body(s, body_number(s->plan, k->repeat.region->body[b]), &inner);
                        pending_join(&after, &inner);
                }
                pending_join(&before, &after);
        }
        if (k->repeat.active_rows)
                pending_join(&after, &before);
        pending->n = after.n;
}

static void sync_body(const Sync *s, int body, PendingKernels *pending)
{
        const KernelList *l = &s->plan->list[body];
        for (int i = 0; i < l->n; i++) {
                Kernel *k = l->kernel[i];
                if (body == 0 && i > 0 && k->part != l->kernel[i - 1]->part)
                        pending->n = 0;                                  /* another run of the threads */
                bool waits = k->op == K_REPEAT && k->repeat.active_rows; /* which reads a value of all rows */
                for (int j = 0; j < pending->n && k->op != K_REPEAT && k->op != K_ACTIVE && !waits; j++)
                        waits = s->plan->off[PASS_sync] || stores_what_touches(s, pending->kernel[j], k) ||
                                stores_what_touches(s, k, pending->kernel[j]);
                k->barrier |= waits ? s->wait : 0;
                if (k->barrier & s->wait)
                        pending->n = 0;
                if (k->op == K_REPEAT)
                        sync_repeat(s, k, pending);
                else
                        pending_add(pending, k);
        }
}

bool pass_sync(Plan *p, Diag *diag)
{
        (void)diag;
        Sync s = {.plan = p, .kernels = p->all.n + 1};
        PendingKernels pending = {NEW_ARRAY(p->graph->arena, Kernel *, s.kernels), 0};
        for (s.wait = WAIT_HEADS; s.wait >= WAIT_ROWS; s.wait /= 2) {
                pending.n = 0;
                sync_body(&s, 0, &pending);
                for (int i = 0; i < p->all.n; i++) /* earlier calls wait for the same */
                        p->all.kernel[i]->barrier |= p->all.kernel[i]->barrier / 2;
        }
        return true;
}
