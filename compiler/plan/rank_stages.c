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
                        return p->of_node.value[b->node[i]->id];
        return NULL;
}

const Kernel *repeat_around(const Plan *p, const Body *b)
{
        const Region *top = NULL;
        for (; b->region; b = b->region->repeat->body)
                top = b->region;
        for (int i = 0; top && i < p->list[0].n; i++)
                if (p->list[0].kernel[i]->repeat.region == top)
                        return p->list[0].kernel[i];
        return NULL;
}

/* Floats by rows, contiguous. */
static bool can_be_handed_on(const Buffer *b)
{
        int64_t stride = 1;
        if (!b || b->home != IN_ARENA || b->part_of || b->alias || b->replicated ||
            b->storage != STORAGE_F32 || b->layout.tiled >= 0 || b->layout.offset)
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

static bool body_is_inside(const Body *b, const Region *r)
{
        for (; b->region; b = b->region->repeat->body)
                if (b->region == r)
                        return true;
        return false;
}

/* Does a kernel outside of the repeat read b? */
static bool is_read_outside(const Plan *p, const Region *r, const Buffer *b)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                if (k->code && code_reads(k->code, b) && !body_is_inside(k->body, r))
                        return true;
        }
        return false;
}

static bool keeps_to_itself(const Plan *p, const Region *r)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                for (int n = 0; k->code && n < k->code->nwritten && body_is_inside(k->body, r); n++) {
                        const Buffer *b = whole_buffer(k->code->written[n]);
                        if (b->home == IN_OUTPUT || (!is_carried_on(p, r, b) && is_read_outside(p, r, b)))
                                return false;
                }
        }
        return true;
}

static bool is_staged(const Plan *p, const Kernel *k)
{
        const Region *r = k->repeat.region;
        bool good = k->op == K_REPEAT && r->iterations > 1 && r->nstack == 0 && !k->repeat.active_rows &&
                    !has_whole_sequences(p);
        for (int i = 0; good && i < r->ncarry; i++)
                good = can_be_handed_on(carried_buffer(p, r, i));
        return good && keeps_to_itself(p, r);
}

/* --- batches under way ------------------------------------------------------------------------------------------------ */

static bool is_stored_by(const Plan *p, const Buffer *b, int from)
{
        const KernelList *top = &p->list[0];
        for (int i = from; i < top->n; i++)
                for (int n = 0; top->kernel[i]->code && n < top->kernel[i]->code->nwritten; n++)
                        if (whole_buffer(top->kernel[i]->code->written[n]) == b)
                                return true;
        return false;
}

/* Does what is behind the repeat, kernel `at` of the top body, read only what that carries, weights, and what it stored itself? */
static bool needs_carried_alone(const Plan *p, int at)
{
        const KernelList *top = &p->list[0];
        for (int i = at + 1; i < top->n; i++) {
                const Kernel *k = top->kernel[i];
                for (int n = 0; k->code && n < k->code->nread; n++) {
                        const Buffer *b = whole_buffer(k->code->read[n]);
                        if (b->home != IN_WEIGHTS && b->home != IN_LITERAL &&
                            !is_carried_on(p, top->kernel[at]->repeat.region, b) &&
                            !is_stored_by(p, b, at + 1))
                                return false;
                }
                for (int n = 0; k->code && n < k->code->nwritten; n++)
                        if (whole_buffer(k->code->written[n])->home == IN_STATE)
                                return false;
        }
        return true;
}

/* Is an output stored before the end of the repeat? */
static bool gives_output_before(const Plan *p, int at)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                for (int n = 0; k->code && n < k->code->nwritten && (i < at || k->body->region); n++)
                        if (whole_buffer(k->code->written[n])->home == IN_OUTPUT)
                                return true;
        }
        return false;
}

/* Of a batch the outputs can be taken later, when others have begun. */
static bool can_be_under_way(const Plan *p)
{
        const KernelList *top = &p->list[0];
        int at = -1, staged = 0;
        for (int i = 0; i < top->n; i++)
                if (top->kernel[i]->repeat.staged && !top->kernel[i]->part) {
                        at = i;
                        staged++;
                }
        return p->slots > 1 && p->graph->past >= 0 && staged == 1 &&
               top->kernel[at]->repeat.staged_for_requested && needs_carried_alone(p, at) &&
               !gives_output_before(p, at);
}

void find_stages(Plan *p)
{
        const KernelList *top = &p->list[0];
        for (int i = 0; i < top->n; i++) {
                Kernel *k = top->kernel[i];
                k->repeat.staged = is_staged(p, k);
                k->repeat.staged_for_requested = k->repeat.staged;
                for (int j = i + 1; j < top->n; j++)
                        k->repeat.staged_for_requested &=
                                top->kernel[j]->part != k->part || top->kernel[j]->rows == ROWS_REQUESTED;
        }
        p->sharing.under_way = can_be_under_way(p);
}
