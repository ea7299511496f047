/* Schedule: the program of a plan for one process, without barriers: each kernel in order, with its
 * iterations, views and conditions.  Later passes insert steps: shard.c exchanges and stages, rows.c
 * gathers, sync.c barriers. */
#include "plan_private.h"

#include <string.h>

/* --- lists of steps ------------------------------------------------------------------------------------------------------ */

Step *step_insert(const Plan *p, StepList *to, int at, Step step)
{
        Step *added = NEW(p->graph->arena, Step);
        *added = step;
        GROW(p->graph->arena, to->step, to->n, to->cap);
        memmove(to->step + at + 1, to->step + at, (size_t)(to->n++ - at) * sizeof *to->step);
        return to->step[at] = added;
}

Step *step_add(const Plan *p, StepList *to, Step step)
{
        return step_insert(p, to, to->n, step);
}

const Step *find_step(const StepList *list, StepOp op, const Kernel *k)
{
        const Step *found = NULL;
        for (int i = 0; i < list->n && !found; i++)
                found = list->step[i]->op == op && list->step[i]->kernel == k
                                ? list->step[i]
                                : find_step(&list->step[i]->inside, op, k);
        return found;
}

const StepList *bodies_of(const Step *repeat)
{
        const Step *first = repeat->inside.step[0];
        return first->op == STEP_ACTIVE ? &first->inside : &repeat->inside;
}

const Step *second_half_of(const StepList *list, int i)
{
        for (int j = i + 1; j < list->n && list->step[i]->half == 1; j++)
                if (list->step[j]->op == STEP_REPEAT)
                        return list->step[j];
        return NULL;
}

/* --- steps around kernels ------------------------------------------------------------------------------------------------ */

StepList *add_wanted(const Plan *p, StepList *to, const Kernel *k)
{
        const Output *output = own_output(p, k);
        if (!output && !may_be_unwanted(p, k))
                return to;
        return &step_add(p, to,
                         (Step){.op = STEP_IF_WANTED, .kernel = k, .outputs = k->wanted, .output = output})
                        ->inside;
}

StepList *add_views(const Plan *p, StepList *to, const Kernel *k, bool sequences)
{
        if (p->slots == 1 || (!sequences && k->rows != ROWS_REQUESTED))
                return to;
        return &step_add(p, to, (Step){.op = sequences ? STEP_FOR_SEQUENCES : STEP_FOR_RANGES, .kernel = k})
                        ->inside;
}

/* Whether the step is a condition around steps between ranks: only those have a kernel. */
static bool is_transfer(const Step *s)
{
        return s->op == STEP_IF && s->kernel;
}

StepPosition find_kernel_step(StepList *list, const Kernel *k)
{
        StepPosition place = {.list = NULL};
        for (int i = 0; i < list->n && !place.list; i++) {
                Step *s = list->step[i];
                if (s->kernel == k && !is_transfer(s))
                        place = (StepPosition){list, i};
                else if (!is_transfer(s))
                        place = find_kernel_step(&s->inside, k);
        }
        return place;
}

StepList *add_transfer(const Plan *p, StepList *to, int at, Step condition)
{
        Step *s = step_insert(p, to, at, condition);
        return &step_add(p, &s->inside, (Step){.op = STEP_ONE_THREAD, .kernel = s->kernel})->inside;
}

static bool belongs_to(const Step *s, const Kernel *k)
{
        return s->kernel == k || s->repeat == k;
}

StepList *insert_transfer(const Plan *p, const Kernel *k, bool after, Step condition)
{
        const StepPosition place = find_kernel_step(p->program, k);
        const StepList *l = place.list;
        int at = place.at;
        while (after ? at < l->n && belongs_to(l->step[at], k) : at > 0 && belongs_to(l->step[at - 1], k))
                at += after ? 1 : -1;
        return add_transfer(p, place.list, at, condition);
}

/* --- bodies ---------------------------------------------------------------------------------------------------------------- */

static void schedule_kernels(const Plan *p, StepList *to, int body, uint64_t part);

static void schedule_repeat(const Plan *p, StepList *to, const Kernel *k)
{
        const Region *r = k->repeat.region;
        to = &step_add(p, to, (Step){.op = STEP_REPEAT, .kernel = k})->inside;
        if (k->repeat.active_rows)
                to = &step_add(p, to, (Step){.op = STEP_ACTIVE, .kernel = k->repeat.active_rows})->inside;
        for (int b = 0; b < r->nbody; b++)
                schedule_kernels(p, &step_add(p, to, (Step){.op = STEP_BODY, .kernel = k, .body = b})->inside,
                                 body_number(p, r->body[b]), 0);
}

static void schedule_call(const Plan *p, StepList *to, const Kernel *k)
{
        if (!along_around(k->body)) /* which runs for each sequence as a whole */
                to = add_views(p, to, k, k->batching == BATCH_SEQUENCES);
        step_add(p, add_wanted(p, to, k), (Step){.op = STEP_CALL, .kernel = k});
}

static void schedule_kernels(const Plan *p, StepList *to, int body, uint64_t part)
{
        const KernelList *l = &p->list[body];
        for (int i = 0; i < l->n; i++) {
                const Kernel *k = l->kernel[i];
                if (k->part != part || k->op == K_ACTIVE)
                        continue;
                (k->op == K_REPEAT ? schedule_repeat : schedule_call)(p, to, k);
        }
}

bool pass_schedule(Plan *p, Diag *diag)
{
        (void)diag;
        const Graph *g = p->graph;
        StepList *calls = p->program = NEW(g->arena, StepList);
        for (int i = 0; i < g->npart; i++)
                schedule_kernels(p,
                                 &step_add(p, calls, (Step){.op = STEP_PART, .groups = g->part[i]})->inside,
                                 0, g->part[i]);
        if (g->npart)
                calls = &step_add(p, calls, (Step){.op = STEP_PART})->inside;
        schedule_kernels(p, calls, 0, 0);
        return true;
}
