/* Sync: the barriers that the data flow needs, and no more.
 *
 * Every thread runs all kernels in order, each its own share.  A kernel waits for the others if it touches memory that one
 * since the last barrier stored, or stores memory that one since then touched; memory, not buffers: the arena is reused.  What
 * went before the first kernel of an iteration is what went before the repeat, or any iteration's end.
 *
 * In a call of one row threads have rows of their own (own.c), which nobody waits for: some barriers are for several rows alone.
 * Where threads divide the heads of keys, each has heads of its own (heads.c), and others are left out. */
#include "plan.h"

#include <inttypes.h>

typedef struct {
        Kernel **kernel;
        int n;
} Pending;

typedef struct {
        Plan *plan;
        int kernels; /* most that can be pending */
        int wait;    /* which calls this is about */
} Sync;

/* In a call of one row: has each thread a row of its own in both, and that at the same place? */
static bool same_rows(const Sync *s, const Buffer *a, const Buffer *b)
{
        return s->wait != WAIT_ROWS && a->own && b->own && a->offset == b->offset &&
               storage_size(a->storage, own_row(s->plan, a)) == storage_size(b->storage, own_row(s->plan, b));
}

static bool same_memory(const Sync *s, const Buffer *a, const Buffer *b)
{
        if (same_rows(s, a, b))
                return false;
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
                if (same_memory(s, b, touched[i]) && !same_heads(s, k, b, other, touched[i]))
                        return true;
        return false;
}

static bool stores_what_touches(const Sync *s, const Kernel *a, const Kernel *b)
{
        for (int i = 0; i < a->code->nwritten; i++)
                if (any_same(s, a, a->code->written[i], b, b->code->read, b->code->nread) ||
                    any_same(s, a, a->code->written[i], b, b->code->written, b->code->nwritten))
                        return true;
        return false;
}

static Pending copy_of(const Sync *s, const Pending *from)
{
        Pending copy = {NEW_ARRAY(s->plan->graph->arena, Kernel *, s->kernels), from->n};
        memcpy(copy.kernel, from->kernel, (size_t)from->n * sizeof *from->kernel);
        return copy;
}

static void add(Pending *to, Kernel *k)
{
        for (int i = 0; i < to->n; i++)
                if (to->kernel[i] == k)
                        return;
        to->kernel[to->n++] = k;
}

static void join(Pending *to, const Pending *from)
{
        for (int i = 0; i < from->n; i++)
                add(to, from->kernel[i]);
}

static void sync_body(const Sync *s, int body, Pending *pending);

/* What is pending behind it are the ends of its bodies; where an iteration may be passed over, also what was before. */
static void sync_repeat(const Sync *s, Kernel *k, Pending *pending)
{
        Pending before = copy_of(s, pending), after = *pending;
        for (int known = -1; known < before.n;) {
                known = before.n;
                after.n = 0;
                for (int b = 0; b < k->region->nbody; b++) {
                        Pending inner = copy_of(s, &before);
                        sync_body(s, body_number(s->plan, k->region->body[b]), &inner);
                        join(&after, &inner);
                }
                join(&before, &after);
        }
        if (k->active_rows)
                join(&after, &before);
        pending->n = after.n;
}

static void sync_body(const Sync *s, int body, Pending *pending)
{
        const KernelList *l = &s->plan->list[body];
        for (int i = 0; i < l->n; i++) {
                Kernel *k = l->kernel[i];
                if (body == 0 && i > 0 && k->part != l->kernel[i - 1]->part)
                        pending->n = 0;                           /* another run of the threads */
                bool waits = k->op == K_REPEAT && k->active_rows; /* what the iterations' rows are found by */
                for (int j = 0; j < pending->n && k->op != K_REPEAT && k->op != K_ACTIVE && !waits; j++)
                        waits = s->plan->off[PASS_sync] || stores_what_touches(s, pending->kernel[j], k) ||
                                stores_what_touches(s, k, pending->kernel[j]);
                k->barrier |= waits ? s->wait : 0;
                if (k->barrier & s->wait)
                        pending->n = 0;
                if (k->op == K_REPEAT)
                        sync_repeat(s, k, pending);
                else
                        add(pending, k);
        }
}

int barriers_of(const Plan *p, int body, int wait)
{
        int64_t n = 0;
        for (int i = 0; i < p->list[body].n; i++) {
                const Kernel *k = p->list[body].kernel[i];
                n += (k->barrier & wait) != 0;
                for (int64_t t = 0; k->op == K_REPEAT && t < k->region->iterations; t++)
                        n += barriers_of(p, body_number(p, k->region->body[k->region->body_of[t]]), wait);
        }
        return (int)n;
}

const char *barriers_text(Arena *a, const Plan *p, int body, const char *in)
{
        int rows = barriers_of(p, body, WAIT_ROWS), one = barriers_of(p, body, WAIT_STEP),
            heads = barriers_of(p, body, WAIT_HEADS);
        const char *text = arena_printf(a, "%d barrier%s%s", rows, rows == 1 ? "" : "s", in);
        if (one != rows)
                text = arena_printf(a, "%s, %d with one row", text, one);
        if (heads != one)
                text = arena_printf(a, "%s, %d where threads divide %" PRId64 " heads", text, heads,
                                    p->heads);
        return text;
}

bool pass_sync(Plan *p, Diag *diag)
{
        (void)diag;
        Sync s = {.plan = p, .kernels = 1};
        for (int i = 0; i < p->nbody; i++)
                s.kernels += p->list[i].n;
        Pending pending = {NEW_ARRAY(p->graph->arena, Kernel *, s.kernels), 0};
        for (s.wait = WAIT_HEADS; s.wait >= WAIT_ROWS; s.wait /= 2) {
                pending.n = 0;
                sync_body(&s, 0, &pending);
                for (int i = 0; i < p->nbody; i++)
                        for (int j = 0; j < p->list[i].n;
                             j++) /* what these calls wait for, those before do too */
                                p->list[i].kernel[j]->barrier |= p->list[i].kernel[j]->barrier / 2;
        }
        return true;
}
