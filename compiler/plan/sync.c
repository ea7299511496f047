/* Sync: the barriers that the data flow needs, and those around steps of one thread.
 *
 * Every thread runs all kernels in order, its share of each.  A barrier comes before a kernel that accesses memory which a kernel since the last
 * barrier stores, or stores memory which one since then accesses.  Memory, not buffers: the arena is reused.  The kernels before the first one of
 * an iteration are those before the repeat, or those at the end of any iteration.
 *
 * In a call of one row kernels may be replicated (replicate.c), so some barriers are for calls of several rows only.  Where threads divide the heads of
 * keys, each accesses its own heads (heads.c), and further barriers are left out. */
#include "plan_private.h"

typedef struct {
        const Kernel **kernel;
        int n;
} PendingKernels;

typedef struct {
        Plan *plan;
        int kernels; /* most that can be pending */
        int wait;    /* WAIT_ bit of the calls */
} Sync;

/* In a call of one row: whether each thread has a separate row in both, at the same offset. */
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

/* Whether each thread accesses only elements of its own heads in both. */
static bool same_heads(const Sync *s, const Kernel *k, const Buffer *a, const Kernel *other, const Buffer *b)
{
        if (s->wait != WAIT_HEADS || a->storage != b->storage || (a != b && a->offset != b->offset))
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

/* The first buffer that a stores and b accesses; NULL: none. */
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
        PendingKernels copy = {NEW_ARRAY(s->plan->graph->arena, const Kernel *, s->kernels), from->n};
        memcpy(copy.kernel, from->kernel, (size_t)from->n * sizeof *from->kernel);
        return copy;
}

static void pending_add(PendingKernels *to, const Kernel *k)
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

/* Inserts a barrier before step i, or extends the one that is there, for calls of this kind and earlier ones; returns the step's new place. */
static int sync_wait(const Sync *s, StepList *list, int i, int wait)
{
        const Kernel *k = list->step[i]->kernel;
        if (i == 0 || list->step[i - 1]->op != STEP_BARRIER)
                step_insert(s->plan, list, i++, (Step){.op = STEP_BARRIER, .kernel = k});
        list->step[i - 1]->when |= 2 * (unsigned)wait - 1;
        return i;
}

static void sync_steps(const Sync *s, StepList *list, PendingKernels *pending);

/* The kernels at the ends of the bodies are pending after a repeat; if an iteration may be skipped, also those before it. */
static void sync_repeat(const Sync *s, const Step *repeat, const Step *rest, PendingKernels *pending)
{
        const Kernel *active = repeat->kernel->repeat.active_rows;
        const StepList *bodies = bodies_of(repeat);
        PendingKernels before = copy_of(s, pending), after = *pending;
        for (int known = -1; known < before.n;) {
                known = before.n;
                after.n = 0;
                for (int b = 0; b < repeat->kernel->repeat.region->nbody; b++) {
                        PendingKernels inner = copy_of(s, &before);
                        if (active)
                                pending_add(&inner, active);
                        sync_steps(s, &bodies->step[b]->inside, &inner);
                        if (rest)
                                sync_steps(s, &bodies_of(rest)->step[b]->inside, &inner);
                        pending_join(&after, &inner);
                }
                pending_join(&before, &after);
        }
        if (active)
                pending_join(&after, &before);
        pending->n = after.n;
}

/* Whether the kernel accesses memory that a kernel since the last barrier stored, or stores memory that
 * one accessed. */
static bool sync_conflicts(const Sync *s, const Kernel *k, const PendingKernels *pending)
{
        bool waits = false;
        for (int j = 0; j < pending->n && !waits; j++)
                waits = s->plan->off[PASS_sync] || stores_what_touches(s, pending->kernel[j], k) ||
                        stores_what_touches(s, k, pending->kernel[j]);
        return waits;
}

static const KernelList *body_of_along(const Sync *s, const Kernel *along)
{
        return &s->plan->list[body_number(s->plan, along->repeat.region->body[0])];
}

/* The same of all kernels of an `along` whose parts run without barriers. */
static bool parts_conflict(const Sync *s, const Kernel *along, const PendingKernels *pending)
{
        const KernelList *l = body_of_along(s, along);
        for (int i = 0; i < l->n; i++)
                if (sync_conflicts(s, l->kernel[i], pending))
                        return true;
        return false;
}

static void parts_pending(const Sync *s, const Kernel *along, PendingKernels *pending)
{
        const KernelList *l = body_of_along(s, along);
        for (int i = 0; i < l->n; i++)
                pending_add(pending, l->kernel[i]);
}

/* A repeat waits before the kernel that finds an iteration's rows, which reads a value of all rows. */
static void sync_steps(const Sync *s, StepList *list, PendingKernels *pending)
{
        for (int i = 0; i < list->n; i++) {
                const Step *step = list->step[i];
                const Kernel *k = step->kernel;
                if (step->op == STEP_IF && !k)
                        sync_steps(s, &list->step[i]->inside, pending);
                if (step->op == STEP_BARRIER) /* of a later kind of call, and so of this one */
                        pending->n = 0;
                if (step->op == STEP_IF || step->op == STEP_BARRIER || step->half == 2)
                        continue;
                const bool parts = step->op == STEP_REPEAT && k->repeat.parts;
                if (parts                     ? parts_conflict(s, k, pending)
                    : step->op == STEP_REPEAT ? k->repeat.active_rows != NULL
                                              : sync_conflicts(s, k, pending)) {
                        i = sync_wait(s, list, i, s->wait);
                        pending->n = 0;
                }
                if (parts)
                        parts_pending(s, k, pending);
                else if (step->op == STEP_REPEAT)
                        sync_repeat(s, step, second_half_of(list, i), pending);
                else
                        pending_add(pending, k);
        }
}

/* --- steps of one thread --------------------------------------------------------------------------------------------- */

/* Whether threads wait before the next kernel.  Steps between ranks precede it. */
static bool sync_waits_next(const StepList *list, int i, unsigned wait)
{
        while (i < list->n && list->step[i]->op == STEP_IF)
                i++;
        return i < list->n && list->step[i]->op == STEP_BARRIER && list->step[i]->when & wait;
}

/* The other threads wait before the steps of one, and after them unless all wait for the next kernel anyway. */
static void sync_transfers(const Sync *s, StepList *list)
{
        for (int i = 0; i < list->n; i++) {
                Step *step = list->step[i];
                if (step->op != STEP_IF || !step->kernel) {
                        sync_transfers(s, &step->inside);
                        continue;
                }
                sync_wait(s, &step->inside, 0, WAIT_HEADS);
                if (step->when & WHEN_STAGES ||
                    !sync_waits_next(list, i + 1, step->when & WHEN_BY_ROWS ? WAIT_ROWS : WAIT_STEP))
                        step_add(s->plan, &step->inside,
                                 (Step){.op = STEP_BARRIER, .kernel = step->kernel, .when = WAIT_ALWAYS});
        }
}

bool pass_sync(Plan *p, Diag *diag)
{
        (void)diag;
        Sync s = {.plan = p, .kernels = p->all.n + 1};
        PendingKernels pending = {NEW_ARRAY(p->graph->arena, const Kernel *, s.kernels), 0};
        const bool parts = p->graph->npart > 0; /* each is another run of the threads */
        for (s.wait = WAIT_HEADS; s.wait >= WAIT_ROWS; s.wait /= 2)
                for (int i = 0; i < (parts ? p->program->n : 1); i++) {
                        pending.n = 0;
                        sync_steps(&s, parts ? &p->program->step[i]->inside : p->program, &pending);
                }
        sync_transfers(&s, p->program);
        check_program(p);
        return true;
}
