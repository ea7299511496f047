/* Schedule: the program of a plan, from the marks that the passes before it left on kernels.
 *
 *      gathers of rows that a kernel reads, a barrier, the kernel, exchanges of what it stores, gathers of rows of outputs */
#include "plan_private.h"

#include <string.h>

typedef struct {
        const Plan *plan;
        Arena *arena;
} Scheduler;

static Step *schedule_add(const Scheduler *s, StepList *to, Step step)
{
        Step *added = NEW(s->arena, Step);
        *added = step;
        GROW(s->arena, to->step, to->n, to->cap);
        return to->step[to->n++] = added;
}

static void schedule_barrier(const Scheduler *s, StepList *to, const Kernel *k, unsigned when)
{
        if (when)
                schedule_add(s, to, (Step){.op = STEP_BARRIER, .kernel = k, .when = when});
}

/* A barrier in all kinds of calls. */
static void schedule_wait(const Scheduler *s, StepList *to, const Kernel *k)
{
        schedule_barrier(s, to, k, WAIT_ROWS | WAIT_STEP | WAIT_HEADS);
}

/* --- a kernel ---------------------------------------------------------------------------------------------------------- */

/* Steps for some outputs only are put into a condition. */
static StepList *schedule_wanted(const Scheduler *s, StepList *to, const Kernel *k)
{
        const Output *output = own_output(s->plan, k);
        if (!output && !may_be_unwanted(s->plan, k))
                return to;
        return &schedule_add(
                        s, to,
                        (Step){.op = STEP_IF_WANTED, .kernel = k, .outputs = k->wanted, .output = output})
                        ->inside;
}

static StepList *schedule_views(const Scheduler *s, StepList *to, const Kernel *k, bool sequences)
{
        if (s->plan->slots == 1 || (!sequences && k->rows != ROWS_REQUESTED))
                return to;
        const StepOp op = sequences ? STEP_FOR_SEQUENCES : STEP_FOR_RANGES;
        return &schedule_add(s, to, (Step){.op = op, .kernel = k})->inside;
}

static void schedule_call(const Scheduler *s, StepList *to, const Kernel *k)
{
        to = schedule_views(s, to, k, k->batching == BATCH_SEQUENCES);
        schedule_add(s, schedule_wanted(s, to, k), (Step){.op = STEP_CALL, .kernel = k});
}

/* --- exchanges and gathers ----------------------------------------------------------------------------------------------- */

/* Do the threads of a rank wait before the kernel after this one, in calls of any size? */
static bool schedule_waits_next(const KernelList *l, int i)
{
        const Kernel *next = i + 1 < l->n ? l->kernel[i + 1] : NULL;
        return next && next->part == l->kernel[i]->part && next->barrier & WAIT_STEP;
}

/* Steps of one thread, which others wait for, also after it unless they wait anyway; the caller adds steps to the list. */
static StepList *schedule_if(const Scheduler *s, StepList *to, Step condition, bool waits)
{
        const Kernel *k = condition.kernel;
        StepList *inside = &schedule_add(s, to, condition)->inside;
        schedule_wait(s, inside, k);
        Step *one = schedule_add(s, inside, (Step){.op = STEP_ONE_THREAD, .kernel = k});
        if (!waits)
                schedule_wait(s, inside, k);
        return &one->inside;
}

/* Are the results of a kernel exchanged sequence by sequence?  Where the rows of a batch are one after another, all are exchanged at once. */
static bool schedule_by_sequence(const Plan *p, const Kernel *k)
{
        const Function *f = own_function(k);
        const Stmt *call = only_statement(f, k->op == K_MATMUL ? STMT_MATMUL : STMT_ATTENTION);
        return k->batching == BATCH_SEQUENCES &&
               (has_whole_sequences(p) || !results_are_rows_of_all(p, k, f, call));
}

/* repeat: for all its iterations at once; or NULL */
static void schedule_exchange(const Scheduler *s, StepList *to, const Kernel *k, const Kernel *repeat,
                              bool waits)
{
        to = schedule_if(s, to,
                         (Step){.op = STEP_IF,
                                .kernel = k,
                                .when = k->ranks.by_rows ? WHEN_BY_OUTPUTS : WHEN_RANKS,
                                .rows = k->ranks.rows},
                         waits);
        if (!repeat)
                to = schedule_views(s, to, k, schedule_by_sequence(s->plan, k));
        schedule_add(s, schedule_wanted(s, to, k),
                     (Step){.op = STEP_EXCHANGE, .kernel = k, .repeat = repeat});
}

/* After a repeat, or between its two halves: results that iterations computed jointly. */
static void schedule_exchanges_once(const Scheduler *s, StepList *to, const Kernel *repeat, bool between,
                                    bool waits)
{
        const KernelList *l = &s->plan->list[body_number(s->plan, repeat->repeat.region->body[0])];
        for (int i = 0; i < l->n; i++)
                if ((between ? l->kernel[i]->ranks.exchange_between : l->kernel[i]->ranks.exchange_after) ==
                    repeat)
                        schedule_exchange(s, to, l->kernel[i], repeat, waits);
}

/* Does the kernel, like all after it, compute requested rows only? */
static bool schedule_is_last_tail(const Plan *p, const Kernel *k)
{
        const KernelList *top = &p->list[0];
        bool after = false, tail = k->rows == ROWS_REQUESTED;
        for (int i = 0; i < top->n; i++) {
                after |= top->kernel[i] == k;
                if (after && top->kernel[i]->part == k->part)
                        tail &= top->kernel[i]->rows == ROWS_REQUESTED;
        }
        return after && tail;
}

static void schedule_gathers(const Scheduler *s, StepList *to, const Kernel *k, const RowList *rows,
                             bool waits)
{
        const unsigned requested = schedule_is_last_tail(s->plan, k) ? WHEN_REQUESTED : 0;
        if (rows->n == 0)
                return;
        to = schedule_if(
                s, to,
                (Step){.op = STEP_IF, .kernel = k, .when = WHEN_BY_ROWS | requested, .rows = k->ranks.rows},
                waits);
        for (int i = 0; i < rows->n; i++) {
                const Buffer *b = whole_buffer(rows->of[i].buffer);
                const Output *output = b->home == IN_OUTPUT ? &s->plan->graph->output[b->index] : NULL;
                StepList *at = to;
                if (output)
                        at = &schedule_add(s, to, (Step){.op = STEP_IF_WANTED, .kernel = k, .output = output})
                                      ->inside;
                schedule_add(s, at, (Step){.op = STEP_GATHER, .kernel = k, .shared = &rows->of[i]});
        }
}

/* --- stages ---------------------------------------------------------------------------------------------------------------- */

Dim carried_count(const Buffer *b)
{
        Dim n = b->type.rank ? b->type.dim[0] : dim_fixed(1);
        for (int a = 1; a < b->type.rank; a++)
                n = dim_scale(n, b->type.dim[a].fixed);
        return n;
}

/* A step for each value that a repeat carries. */
static void schedule_carried(const Scheduler *s, StepList *to, const Kernel *repeat, StepOp op, bool last)
{
        for (int i = 0; i < repeat->repeat.region->ncarry; i++)
                schedule_add(s, to,
                             (Step){.op = op,
                                    .kernel = repeat,
                                    .value = carried_buffer(s->plan, repeat->repeat.region, i),
                                    .last = last});
}

static void schedule_stage_begin(const Scheduler *s, StepList *to, const Kernel *repeat)
{
        if (!repeat->repeat.staged)
                return;
        to = schedule_if(s, to, (Step){.op = STEP_IF, .kernel = repeat, .when = WHEN_STAGES}, false);
        schedule_carried(s, to, repeat, STEP_RECEIVE, false);
}

/* Where outputs may be computed later than the steps up to the end of this repeat. */
static bool schedule_is_under_way(const Plan *p, const Kernel *k)
{
        return p->sharing.ranks && p->sharing.under_way && k->repeat.staged && !k->part;
}

/* The last stage sends the values to all others.  Of batches under way (NAME_begin, NAME_end) it sends them in NAME_begin, and the others receive
 * them in NAME_end; in all other calls both happen. */
static void schedule_last_values(const Scheduler *s, StepList *to, const Kernel *repeat, StepOp op,
                                 unsigned when)
{
        if (schedule_is_under_way(s->plan, repeat))
                to = &schedule_add(s, to, (Step){.op = STEP_IF, .kernel = repeat, .when = when})->inside;
        schedule_carried(s, to, repeat, op, true);
}

static void schedule_stage_end(const Scheduler *s, StepList *to, const Kernel *repeat)
{
        const bool under_way = schedule_is_under_way(s->plan, repeat);
        if (!repeat->repeat.staged)
                return;
        to = &schedule_add(s, to, (Step){.op = STEP_IF, .kernel = repeat, .when = WHEN_STAGES})->inside;
        schedule_wait(s, to, repeat);
        Step *leave = schedule_add(
                s, to,
                (Step){.op = STEP_ONE_THREAD, .kernel = repeat, .when = under_way ? WHEN_NOT_ENDING : 0});
        schedule_carried(s, &leave->inside, repeat, STEP_SEND, false);
        Step *give = schedule_add(s, to,
                                  (Step){.op = STEP_ONE_THREAD,
                                         .kernel = repeat,
                                         .when = repeat->repeat.staged_for_requested ? WHEN_REQUESTED : 0});
        schedule_last_values(s, &give->inside, repeat, STEP_SEND, WHEN_NOT_ENDING);
        schedule_last_values(s, &give->inside, repeat, STEP_RECEIVE, WHEN_NOT_BEGINNING);
        schedule_wait(s, to, repeat);
}

/* After an iteration, if the caller asks for that: do ranks have the same values? */
static void schedule_compare(const Scheduler *s, StepList *to, const Kernel *repeat)
{
        if (!repeat->repeat.staged)
                return;
        to = schedule_if(s, to,
                         (Step){.op = STEP_IF,
                                .kernel = repeat,
                                .when = WHEN_COMPARED | (repeat->ranks.by_rows ? WHEN_NOT_BY_ROWS : 0),
                                .rows = repeat->ranks.rows},
                         false);
        schedule_carried(s, to, repeat, STEP_COMPARE, false);
}

/* --- bodies ---------------------------------------------------------------------------------------------------------------- */

static void schedule_kernels(const Scheduler *s, StepList *to, int body, int begin, int end, uint64_t part);

/* Kernels of each body from `begin` on; end -1: to the last. */
static void schedule_iterations(const Scheduler *s, StepList *to, const Kernel *k, int begin, int end)
{
        const Region *r = k->repeat.region;
        StepList *inside = &schedule_add(s, to,
                                         (Step){.op = STEP_REPEAT,
                                                .kernel = k,
                                                .second_half = begin > 0,
                                                .by_stages = k->repeat.staged})
                                    ->inside;
        StepList *bodies = inside;
        if (k->repeat.active_rows)
                bodies = &schedule_add(s, inside, (Step){.op = STEP_ACTIVE, .kernel = k->repeat.active_rows})
                                  ->inside;
        for (int b = 0; b < r->nbody; b++) {
                const int body = body_number(s->plan, r->body[b]);
                StepList *at =
                        &schedule_add(s, bodies, (Step){.op = STEP_BODY, .kernel = k, .body = b})->inside;
                schedule_kernels(s, at, body, begin, end < 0 ? s->plan->list[body].n : end, 0);
        }
        schedule_compare(s, inside, k);
}

static void schedule_repeat(const Scheduler *s, StepList *to, const Kernel *k)
{
        schedule_stage_begin(s, to, k);
        schedule_iterations(s, to, k, 0, k->repeat.split ? k->repeat.split : -1);
        if (k->repeat.split) {
                schedule_exchanges_once(s, to, k, true, false);
                schedule_iterations(s, to, k, k->repeat.split, -1);
        }
}

/* Moves all steps so far into a condition; the caller continues in the returned list. */
static StepList *schedule_phases(const Scheduler *s, StepList *all, const Kernel *repeat)
{
        const StepList before = *all;
        *all = (StepList){.n = 0};
        schedule_add(s, all, (Step){.op = STEP_IF, .when = WHEN_NOT_ENDING, .inside = before});
        schedule_stage_end(s, all, repeat);
        return &schedule_add(s, all, (Step){.op = STEP_IF, .when = WHEN_NOT_BEGINNING})->inside;
}

static void schedule_kernels(const Scheduler *s, StepList *to, int body, int begin, int end, uint64_t part)
{
        const KernelList *l = &s->plan->list[body];
        for (int i = begin; i < end; i++) {
                const Kernel *k = l->kernel[i];
                if (k->part != part)
                        continue;
                const bool waits = schedule_waits_next(l, i);
                schedule_gathers(s, to, k, &k->ranks.gather_before, k->barrier);
                schedule_barrier(s, to, k, (unsigned)k->barrier);
                if (k->op == K_REPEAT)
                        schedule_repeat(s, to, k);
                else if (k->op != K_ACTIVE)
                        schedule_call(s, to, k);
                if (schedule_is_under_way(s->plan, k))
                        to = schedule_phases(s, to, k);
                else
                        schedule_stage_end(s, to, k);
                if (is_exchanged(k) && !k->ranks.exchange_after && !k->ranks.exchange_between)
                        schedule_exchange(s, to, k, NULL, waits);
                if (k->op == K_REPEAT)
                        schedule_exchanges_once(s, to, k, false, waits);
                schedule_gathers(s, to, k, &k->ranks.gather_after, waits);
        }
}

const StepList *bodies_of(const Step *repeat)
{
        const Step *first = repeat->inside.step[0];
        return first->op == STEP_ACTIVE ? &first->inside : &repeat->inside;
}

bool pass_schedule(Plan *p, Diag *diag)
{
        (void)diag;
        const Graph *g = p->graph;
        const Scheduler s = {.plan = p, .arena = g->arena};
        StepList *calls = p->program = NEW(s.arena, StepList);
        for (int i = 0; i < g->npart; i++)
                schedule_kernels(
                        &s, &schedule_add(&s, calls, (Step){.op = STEP_PART, .groups = g->part[i]})->inside,
                        0, 0, p->list[0].n, g->part[i]);
        if (g->npart)
                calls = &schedule_add(&s, calls, (Step){.op = STEP_PART})->inside;
        schedule_kernels(&s, calls, 0, 0, p->list[0].n, 0);
        check_program(p);
        return true;
}
