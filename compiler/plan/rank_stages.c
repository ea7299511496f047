/* Stages: repeats of the top body whose iterations ranks share in turn (runtime/ranks.h).
 *
 * The ranks of a stage run some iterations, one after another, and hand on what the repeat carries; at the end all get it from the last stage.
 * No sum is touched.  All else of what the iterations store must be for themselves: weights, caches and values of theirs. */
#include "plan_private.h"

const Buffer *carried_buffer(const Plan *p, const Region *r, int carry)
{
        const Body *b = r->body[0];
        for (int i = 0; i < b->nnode; i++)
                if (b->node[i]->op == OP_CARRY && b->node[i]->attr.index == carry)
                        return p->value[b->node[i]->id];
        return NULL;
}

/* Floats by rows, one behind another. */
static bool can_be_handed_on(const Buffer *b)
{
        int64_t stride = 1;
        if (!b || b->home != IN_ARENA || b->part_of || b->alias || b->own || b->storage != STORAGE_F32 ||
            b->layout.tiled >= 0 || b->layout.offset)
                return false;
        for (int a = b->type.rank - 1; a >= 0; stride *= b->type.dim[a--].fixed) {
                if (b->layout.stride[a] != stride || (a > 0 && !dim_is_fixed(b->type.dim[a])))
                        return false;
        }
        return true;
}

static bool is_carried_on(const Plan *p, const Region *r, const Buffer *b)
{
        for (int i = 0; i < r->ncarry; i++)
                if (carried_buffer(p, r, i) == b)
                        return true;
        return false;
}

static bool is_inside(const Body *b, const Region *r)
{
        for (; b->region; b = b->region->repeat->body)
                if (b->region == r)
                        return true;
        return false;
}

/* Does a kernel outside of the repeat read b? */
static bool is_read_outside(const Plan *p, const Region *r, const Buffer *b)
{
        for (int i = 0; i < p->nbody; i++)
                for (int j = 0; j < p->list[i].n && !is_inside(p->body[i], r); j++) {
                        const Kernel *k = p->list[i].kernel[j];
                        for (int n = 0; k->code && n < k->code->nread; n++)
                                if (whole_buffer(k->code->read[n]) == b)
                                        return true;
                }
        return false;
}

static bool keeps_to_itself(const Plan *p, const Region *r)
{
        for (int i = 0; i < p->nbody; i++)
                for (int j = 0; j < p->list[i].n && is_inside(p->body[i], r); j++) {
                        const Kernel *k = p->list[i].kernel[j];
                        for (int n = 0; k->code && n < k->code->nwritten; n++) {
                                const Buffer *b = whole_buffer(k->code->written[n]);
                                if (b->home == IN_OUTPUT ||
                                    (!is_carried_on(p, r, b) && is_read_outside(p, r, b)))
                                        return false;
                        }
                }
        return true;
}

static bool is_staged(const Plan *p, const Kernel *k)
{
        const Region *r = k->region;
        bool good = k->op == K_REPEAT && r->iterations > 1 && r->nstack == 0 && !k->active_rows &&
                    !has_whole_sequences(p);
        for (int i = 0; good && i < r->ncarry; i++)
                good = can_be_handed_on(carried_buffer(p, r, i));
        return good && keeps_to_itself(p, r);
}

void find_stages(Plan *p)
{
        const KernelList *top = &p->list[0];
        for (int i = 0; i < top->n; i++) {
                Kernel *k = top->kernel[i];
                k->staged = is_staged(p, k);
                k->staged_for_wanted = k->staged;
                for (int j = i + 1; j < top->n; j++)
                        k->staged_for_wanted &= top->kernel[j]->part != k->part || top->kernel[j]->tail;
        }
}
