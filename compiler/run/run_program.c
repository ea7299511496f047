/* A program's steps, run by a thread of a rank: the emitted C, executed by the interpreter of Code. */
#include "interpret_private.h"

#include <stdlib.h>
#include <string.h>

#include "../../runtime/guard.h"
#include "../../runtime/team.h"

/* --- a kernel ---------------------------------------------------------------------------------------------------------------- */

CodeFrame kernel_frame(const ThreadRun *r, const EngineInstance *m, const Kernel *k)
{
        CodeFrame f = {.own = r->own,
                       .m = m,
                       .kernel = k,
                       .f = own_function(k),
                       .thread = r->thread,
                       .sees = k->batching == BATCH_SEQUENCES,
                       .x = r->x,
                       .t = r->t,
                       .active = k->rows == ROWS_ACTIVE ? r->active : NULL,
                       .count = r->count};
        memcpy(f.iteration, r->iteration, sizeof f.iteration);
        frame_share(&f);
        return f;
}

int64_t run_kernel(const ThreadRun *r, const EngineInstance *m, const Kernel *k, int32_t *finds)
{
        if (k->rows == ROWS_AT_START && m->size[r->own->plan->graph->past] > 0)
                return 0;
        CodeFrame f = kernel_frame(r, m, k);
        f.finds = finds;
        f.count = finds ? 0 : f.count;
        run_function(&f);
        return f.count;
}

/* --- conditions -------------------------------------------------------------------------------------------------------------- */

static bool any_output(const EngineInstance *m, const Graph *g, bool tap, uint64_t outputs)
{
        for (int i = 0; i < g->noutput; i++)
                if ((g->output[i].tap != NULL) == tap && (tap || (outputs & output_bit(g, i))) &&
                    m->pointer[g->ninput + i])
                        return true;
        return false;
}

static bool is_wanted(const Plan *p, const EngineInstance *m, const Step *s)
{
        const Graph *g = p->graph;
        if (s->output)
                return m->pointer[g->ninput + (s->output - g->output)] != NULL;
        return any_output(m, g, false, s->outputs) ||
               ((s->outputs & WANTED_BY_TAPS) && any_output(m, g, true, 0));
}

/* Calls here neither begin nor end a batch. */
static bool is_met(const ThreadRun *r, const EngineInstance *m, const Step *s)
{
        const Plan *p = r->own->plan;
        const CodeFrame f = {.own = r->own, .m = m};
        const Ranks *ranks = m->ranks;
        const bool by_rows = ranks_share_rows(ranks, frame_size(&f, s->rows)),
                   requested = p->slots > 1 ? m->ranges > 0
                                            : p->graph->time < 0 || m->first < m->size[p->graph->time];
        return (!(s->when & WHEN_RANKS) || ranks) && (!(s->when & WHEN_BY_OUTPUTS) || (ranks && !by_rows)) &&
               (!(s->when & WHEN_BY_ROWS) || by_rows) && (!(s->when & WHEN_NOT_BY_ROWS) || !by_rows) &&
               (!(s->when & WHEN_STAGES) || (ranks && ranks->stages > 1)) &&
               (!(s->when & WHEN_COMPARED) || (ranks && ranks->check)) &&
               (!(s->when & WHEN_REQUESTED) || requested);
}

static bool waits(const Plan *p, const EngineInstance *m, unsigned when)
{
        if (p->graph->time < 0 || m->size[p->graph->time] != 1)
                return when & WAIT_ROWS;
        return when & (p->heads > 1 && p->heads % m->threads == 0 && !m->ranks ? WAIT_HEADS : WAIT_STEP);
}

/* --- steps ------------------------------------------------------------------------------------------------------------------- */

static void run_program_steps(ThreadRun *r, const EngineInstance *m, const StepList *list);

/* Runs the body of this iteration, and the steps after each body. */
static void run_iteration(ThreadRun *r, const EngineInstance *m, const StepList *list, int body)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i];
                if (s->op != STEP_BODY)
                        run_program_steps(r, m, &(StepList){.step = list->step + i, .n = 1});
                else if (s->body == body)
                        run_program_steps(r, m, &s->inside);
        }
}

static void run_active(ThreadRun *r, const EngineInstance *m, const Step *s, int body)
{
        ThreadRun inside = *r;
        int32_t *active = malloc((size_t)s->kernel->max_active * sizeof *active);
        /* other threads wait at the barrier */
        if (!active)
                abort();
        inside.active = active;
        inside.count = run_kernel(r, m, s->kernel, active);
        if (inside.count)
                run_iteration(&inside, m, &s->inside, body);
        free(active);
}

/* r: within the `along`.  A thread runs all positions of its parts, each like a thread among as many as there are parts. */
static void run_positions(ThreadRun *r, const EngineInstance *m, const Step *s, int64_t positions)
{
        const int64_t parts = s->kernel->repeat.parts;
        const size_t bytes = instance_bytes(r->own->plan->graph);
        ThreadRun inside = *r;
        EngineInstance *one = parts ? malloc(bytes) : NULL;
        if (parts && !one)
                abort();
        if (one) {
                memcpy(one, m, bytes);
                one->threads = (int)parts;
        }
        const int64_t end = parts ? share_start(parts, r->thread + 1, m->threads) : 1;
        for (int64_t part = parts ? share_start(parts, r->thread, m->threads) : 0; part < end; part++) {
                inside.thread = parts ? (int)part : r->thread;
                if (one)
                        one->scratch = m->scratch + (r->thread - part) * scratch_size(r->own->plan);
                for (int64_t t = 0; t < positions; t++) {
                        inside.iteration[r->depth - 1] = t;
                        run_iteration(&inside, one ? one : m, &s->inside, 0);
                }
        }
        free(one);
}

/* All positions of an `along`, of one sequence after another. */
static void run_along(ThreadRun *r, const EngineInstance *m, const Step *s)
{
        const Plan *p = r->own->plan;
        const Dim count = positions_of(p->graph, s->kernel->repeat.region);
        ThreadRun inside = *r;
        inside.depth = r->depth + 1;
        for (int i = 0; i < (p->slots > 1 ? m->sequences : 1); i++) {
                const EngineInstance *one = p->slots > 1 ? view_at(p->graph, m->sequence, i) : m;
                const CodeFrame f = {.own = r->own, .m = one, .kernel = s->kernel};
                run_positions(&inside, one, s, frame_size(&f, count));
        }
}

static void run_repeat(ThreadRun *r, const EngineInstance *m, const Step *s)
{
        const Region *region = s->kernel->repeat.region;
        if (region->along) {
                run_along(r, m, s);
                return;
        }
        const Ranks *stages = s->by_stages ? m->ranks : NULL;
        const int64_t end = stage_begin(stages, region->iterations, true);
        ThreadRun inside = *r;
        inside.depth = r->depth + 1;
        for (int64_t i = stage_begin(stages, region->iterations, false); i < end; i++) {
                inside.iteration[r->depth] = i;
                if (s->inside.step[0]->op == STEP_ACTIVE)
                        run_active(&inside, m, s->inside.step[0], region->body_of[i]);
                else
                        run_iteration(&inside, m, &s->inside, region->body_of[i]);
        }
}

static void run_views(ThreadRun *r, const EngineInstance *m, const Step *s)
{
        const bool sequences = s->op == STEP_FOR_SEQUENCES;
        for (int i = 0; i < (sequences ? m->sequences : m->ranges); i++)
                run_program_steps(r, view_at(r->own->plan->graph, sequences ? m->sequence : m->range, i),
                                  &s->inside);
}

/* fed_part: 0 all, 1 and so on one of the parts, -1 the calls. */
static void run_program_part(ThreadRun *r, const EngineInstance *m, const Step *s, int number)
{
        if (!s->groups && m->fed_part <= 0)
                run_program_steps(r, m, &s->inside);
        if (!s->groups || (m->fed_part != 0 && m->fed_part != number))
                return;
        run_program_steps(r, m, &s->inside);
        team_barrier(m->team);
}

static void run_program_steps(ThreadRun *r, const EngineInstance *m, const StepList *list)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i];
                switch (s->op) {
                case STEP_CALL: run_kernel(r, m, s->kernel, NULL); break;
                case STEP_BARRIER:
                        if (waits(r->own->plan, m, s->when))
                                team_barrier(m->team);
                        break;
                case STEP_REPEAT: run_repeat(r, m, s); break;
                case STEP_FOR_SEQUENCES:
                case STEP_FOR_RANGES: run_views(r, m, s); break;
                case STEP_IF_WANTED:
                        if (is_wanted(r->own->plan, m, s))
                                run_program_steps(r, m, &s->inside);
                        break;
                case STEP_ONE_THREAD:
                case STEP_IF:
                        if ((s->op == STEP_IF || r->thread == 0) && is_met(r, m, s))
                                run_program_steps(r, m, &s->inside);
                        break;
                case STEP_PART: run_program_part(r, m, s, i + 1); break;
                /* within repeats */
                case STEP_BODY:
                case STEP_ACTIVE:
                case STEP_COUNT: break;
                default: run_transfer(r, m, s); break;
                }
        }
}

void run_program(void *instance, int thread)
{
        const EngineInstance *m = instance;
        const Interpreter *own = m->interpreter;
        ThreadRun r = {.own = own, .thread = thread};
        r.t = aligned_alloc(64, 2 * (size_t)own->vectors * sizeof *r.t);
        r.x = calloc(2 * (size_t)own->vectors, sizeof *r.x);
        if (!r.t || !r.x)
                abort();
        run_program_steps(&r, m, own->plan->program);
        free(r.t);
        free(r.x);
}
