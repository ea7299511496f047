/* Replicate: in a call of one row every thread computes small kernels, which is faster than a barrier.
 *
 *      ln1 = norm(x)            every thread computes it, in a row of its own
 *      q, k, v = ln1 @ w        and reads its row: no barrier between the two
 *
 * With one row a norm is one thread's work, and the other threads would wait for it.  A buffer has rows for many positions; in a call
 * with one position, row `thread` of it belongs to that thread.
 *
 * Expects: Code of all kernels.  Leaves: Kernel.one_row, Buffer.replicated.  Every kernel that stores a replicated buffer is replicated.
 * Functions that are called back do not access such a buffer, since they are not passed the thread's number. */
#include "plan_private.h"

/* Whether the axis of positions is outermost, so that each thread can have a row. */
static bool has_rows(const Plan *p, const Buffer *b)
{
        if (b->home != IN_ARENA || b->part_of || b->layout.tiled >= 0)
                return false;
        int found = 0, outermost = 0;
        for (int a = 0; a < b->type.rank; a++) {
                if (b->layout.stride[a] > b->layout.stride[outermost])
                        outermost = a;
                found += !dim_is_fixed(b->type.dim[a]);
        }
        return found == 1 && dim_equal(b->type.dim[outermost], dim_named(p->graph->time));
}

/* Whether all of its work for one position is done by one thread. */
static bool is_one_row(const Plan *p, const Kernel *k)
{
        if (k->op != K_LOOP || k->part || k->rows == ROWS_ACTIVE || along_around(k->body))
                return false;
        const Function *f = k->code->function[0];
        for (int i = 0; i < f->body.n; i++) {
                const Stmt *s = &f->body.stmt[i];
                for (int d = s->begin; d < s->end; d++)
                        if (!dim_is(f->loop[d].size, 1) &&
                            !dim_equal(f->loop[d].size, dim_named(p->graph->time)))
                                return false;
        }
        return true;
}

bool function_accesses(const Function *f, const Buffer *b)
{
        for (int i = 0; i < f->npointer; i++)
                if (whole_buffer(f->pointer[i]) == b)
                        return true;
        return false;
}

/* Unless k is replicated, the buffers that it stores can't be; nor can those that it reads in callbacks. */
static bool disown(Kernel *k)
{
        bool changed = false;
        for (int i = 0; i < k->code->nwritten && k->one_row == ONE_ROW_REPLICATED; i++)
                if (!k->code->written[i]->replicated) {
                        k->one_row = ONE_ROW_SHARED;
                        changed = true;
                }
        for (int i = 0; i < k->code->nwritten && k->one_row != ONE_ROW_REPLICATED; i++) {
                changed |= k->code->written[i]->replicated;
                k->code->written[i]->replicated = false;
        }
        for (int i = 0; i < k->code->nread; i++)
                for (int f = 0; f < k->code->n; f++)
                        if (k->code->read[i]->replicated && k->code->function[f]->role != WHOLE_KERNEL &&
                            function_accesses(k->code->function[f], k->code->read[i])) {
                                k->code->read[i]->replicated = false;
                                changed = true;
                        }
        return changed;
}

bool pass_replicate(Plan *p, Diag *diag)
{
        (void)diag;
        if (p->off[PASS_replicate] || p->slots > 1 || p->graph->past < 0)
                return true;
        for (int i = 0; i < p->nbuffer; i++)
                p->buffer[i]->replicated = has_rows(p, p->buffer[i]);
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i]->op != K_REPEAT && is_one_row(p, p->all.kernel[i]))
                        p->all.kernel[i]->one_row = ONE_ROW_REPLICATED;
        for (int i = 0; i < p->all.n;
             i++) { /* the body of an along may be called with numbers of parts for threads */
                const Kernel *k = p->all.kernel[i];
                for (int r = 0; k->op != K_REPEAT && along_around(k->body) && r < k->code->nread; r++)
                        k->code->read[r]->replicated = false;
        }
        for (bool changed = true; changed;) {
                changed = false;
                for (int i = 0; i < p->all.n; i++)
                        if (p->all.kernel[i]->op != K_REPEAT)
                                changed |= disown(p->all.kernel[i]);
        }
        find_heads(p);
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                int64_t least = b->replicated ? storage_size(b->storage, MAX_THREADS * own_row(p, b)) : 0;
                b->size = b->size < least ? round_up(least, 64) : b->size;
        }
        return true;
}
