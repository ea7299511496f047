/* Stages: ranks divide the iterations of repeats of the top body (runtime/ranks.h).
 *
 * The ranks of a stage run consecutive iterations and send the repeat's carried values on; at the end all
 * ranks get them from the last stage.  No sum is split.  All other data that iterations store must be
 * private to them: their weights, caches and values. */
#include "plan_private.h"

const Buffer *carried_buffer(const Plan *p, const Region *r, int carry)
{
        const Body *b = r->body[0];
        for (int i = 0; i < b->nnode; i++)
                if (b->node[i]->op == OP_CARRY && b->node[i]->attr.index == carry)
                        return p->of_node.value[b->node[i]->id];
        return NULL;
}

Dim carried_count(const Buffer *b)
{
        Dim n = b->type.rank ? b->type.dim[0] : dim_fixed(1);
        for (int a = 1; a < b->type.rank; a++)
                n = dim_scale(n, b->type.dim[a].fixed);
        return n;
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

/* Whether a buffer can be sent as it is: floats by rows, contiguous. */
static bool can_be_sent(const Buffer *b)
{
        int64_t stride = 1;
        if (!b || b->home != IN_ARENA || b->alias || b->replicated || b->storage != STORAGE_F32)
                return false;
        for (int a = b->type.rank - 1; a >= 0; stride *= b->type.dim[a--].fixed) {
                if (b->layout.stride[a] != stride || (a > 0 && !dim_is_fixed(b->type.dim[a])))
                        return false;
        }
        return true;
}

bool is_carried_value(const Plan *p, const Region *r, const Buffer *b)
{
        for (int i = 0; i < r->ncarry; i++)
                if (carried_buffer(p, r, i) == b)
                        return true;
        return false;
}

bool body_is_inside(const Body *b, const Region *r)
{
        for (; b->region; b = b->region->repeat->body)
                if (b->region == r)
                        return true;
        return false;
}

/* Whether a kernel outside of the repeat reads b. */
static bool is_read_outside(const Plan *p, const Region *r, const Buffer *b)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                if (code_reads(k->code, b) && !body_is_inside(k->body, r))
                        return true;
        }
        return false;
}

static bool keeps_to_itself(const Plan *p, const Region *r)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                for (int n = 0; n < k->code->nwritten && body_is_inside(k->body, r); n++) {
                        const Buffer *b = whole_buffer(k->code->written[n]);
                        if (!is_carried_value(p, r, b) && is_read_outside(p, r, b))
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
                good = can_be_sent(carried_buffer(p, r, i));
        return good && keeps_to_itself(p, r);
}

/* --- batches under way ------------------------------------------------------------------------------------------------ */

static bool is_stored_by(const Plan *p, const Buffer *b, int from)
{
        const KernelList *top = &p->list[0];
        for (int i = from; i < top->n; i++)
                if (code_writes(top->kernel[i]->code, b))
                        return true;
        return false;
}

/* Whether the kernels after the repeat, kernel `at` of the top body, read only its carried values,
 * weights, and values that they store themselves. */
static bool needs_only_carried(const Plan *p, int at)
{
        const KernelList *top = &p->list[0];
        for (int i = at + 1; i < top->n; i++) {
                const Kernel *k = top->kernel[i];
                for (int n = 0; n < k->code->nread; n++) {
                        const Buffer *b = whole_buffer(k->code->read[n]);
                        if (b->home != IN_WEIGHTS &&
                            !is_carried_value(p, top->kernel[at]->repeat.region, b) &&
                            !is_stored_by(p, b, at + 1))
                                return false;
                }
        }
        return true;
}

/* Whether an output is stored before the end of the repeat. */
static bool stores_output_before(const Plan *p, int at)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                for (int n = 0; n < k->code->nwritten && (i < at || k->body->region); n++)
                        if (whole_buffer(k->code->written[n])->home == IN_OUTPUT)
                                return true;
        }
        return false;
}

bool rest_is_requested(const Plan *p, const Kernel *k)
{
        bool after = false, requested = true;
        for (int i = 0; i < p->list[0].n; i++) {
                const Kernel *other = p->list[0].kernel[i];
                requested &= !after || other->part != k->part || other->rows == ROWS_REQUESTED;
                after |= other == k;
        }
        return requested;
}

/* Whether the outputs of a batch can be taken after other batches have begun. */
static bool can_be_under_way(const Plan *p)
{
        const KernelList *top = &p->list[0];
        int at = -1, staged = 0;
        for (int i = 0; i < top->n; i++)
                if (!top->kernel[i]->part && is_staged(p, top->kernel[i])) {
                        at = i;
                        staged++;
                }
        return p->slots > 1 && p->graph->past >= 0 && staged == 1 && rest_is_requested(p, top->kernel[at]) &&
               needs_only_carried(p, at) && !stores_output_before(p, at);
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

/* Adds a step for each value that a repeat carries. */
static void stage_add_values(const Plan *p, StepList *to, const Kernel *repeat, StepOp op, bool last)
{
        for (int i = 0; i < repeat->repeat.region->ncarry; i++)
                step_add(p, to,
                         (Step){.op = op,
                                .kernel = repeat,
                                .value = carried_buffer(p, repeat->repeat.region, i),
                                .last = last});
}

/* After each iteration, ranks compare their values if the caller asks for it. */
static void stage_add_compare(const Plan *p, Step *step)
{
        const Kernel *repeat = step->kernel;
        const Step condition = {.op = STEP_IF, .kernel = repeat, .when = WHEN_COMPARED};
        stage_add_values(p, add_transfer(p, &step->inside, step->inside.n, condition), repeat, STEP_COMPARE,
                         false);
}

/* The last stage sends the values to all others.  For batches under way (NAME_begin, NAME_end) it sends
 * them in NAME_begin, and the others receive them in NAME_end; in all other calls both happen. */
static void stage_add_last(const Plan *p, StepList *to, const Kernel *repeat, StepOp op, unsigned when)
{
        if (when)
                to = &step_add(p, to, (Step){.op = STEP_IF, .kernel = repeat, .when = when})->inside;
        stage_add_values(p, to, repeat, op, true);
}

static void insert_stage_end(const Plan *p, StepPosition at, const Kernel *repeat, bool under_way)
{
        const bool requested = rest_is_requested(p, repeat);
        const unsigned begins = under_way ? WHEN_NOT_ENDING : 0, ends = under_way ? WHEN_NOT_BEGINNING : 0;
        StepList *leave =
                add_transfer(p, at.list, at.at, (Step){.op = STEP_IF, .kernel = repeat, .when = WHEN_STAGES});
        Step *s = at.list->step[at.at];
        s->inside.step[0]->when = begins;
        stage_add_values(p, leave, repeat, STEP_SEND, false);
        s = step_add(p, &s->inside,
                     (Step){.op = STEP_ONE_THREAD, .kernel = repeat, .when = requested ? WHEN_REQUESTED : 0});
        stage_add_last(p, &s->inside, repeat, STEP_SEND, begins);
        stage_add_last(p, &s->inside, repeat, STEP_RECEIVE, ends);
}

/* Splits a list after `at` into two conditions, for NAME_begin and NAME_end.  Returns the position between
 * them. */
static StepPosition insert_phases(const Plan *p, StepPosition at)
{
        const StepList all = *at.list;
        StepList before = {.n = 0}, after = {.n = 0};
        for (int i = 0; i < all.n; i++)
                step_add(p, i <= at.at ? &before : &after, *all.step[i]);
        *at.list = (StepList){.n = 0};
        step_add(p, at.list, (Step){.op = STEP_IF, .when = WHEN_NOT_ENDING, .inside = before});
        step_add(p, at.list, (Step){.op = STEP_IF, .when = WHEN_NOT_BEGINNING, .inside = after});
        return (StepPosition){at.list, 1};
}

static void insert_stage(Plan *p, const Kernel *repeat)
{
        const bool under_way = p->sharing.under_way && !repeat->part;
        const Step begin = {.op = STEP_IF, .kernel = repeat, .when = WHEN_STAGES};
        StepPosition end;
        stage_add_values(p, insert_transfer(p, repeat, false, begin), repeat, STEP_RECEIVE, false);
        end = find_kernel_step(p->program, repeat);
        end.list->step[end.at]->by_stages = true;
        stage_add_compare(p, end.list->step[end.at]);
        end = under_way ? insert_phases(p, end) : (StepPosition){end.list, end.at + 1};
        insert_stage_end(p, end, repeat, under_way);
}

bool is_by_stages(const Plan *p, const Kernel *repeat)
{
        return find_step(p->program, STEP_REPEAT, repeat)->by_stages;
}

void insert_stages(Plan *p)
{
        p->sharing.under_way = can_be_under_way(p);
        for (int i = 0; i < p->list[0].n; i++)
                if (is_staged(p, p->list[0].kernel[i]))
                        insert_stage(p, p->list[0].kernel[i]);
}
