/* Checks statically that a program meets the needs of its kernels:
 *
 *      each kernel is called once, in the order for which buffers were placed, and each value is stored
 *      before it is read;
 *      a barrier separates steps that access the same memory if one of them stores, in every kind of call;
 *      where a kernel runs, all kernels of its operands have run, and each output is computed if it is
 *      requested;
 *      of values that ranks share, a kernel reads only its rank's part, or data received from exchanges
 *      and gathers (check_ranks.c).
 *
 * The steps are walked once for each kind of call: rows, threads, ranks, and how ranks share the call.  A
 * fault is a bug in lathe: it is printed with its step and buffer, and the process aborts, as check_code()
 * does. */
#include "check_program_private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void program_fault(const Checker *c, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        fprintf(stderr, "lathe: program of %s, step `%s`: ", c->plan->graph->name,
                step_line(c->plan, c->step));
        vfprintf(stderr, format, list);
        fprintf(stderr, "\n");
        va_end(list);
        abort();
}

const char *kind_of_call_text(const Checker *c)
{
        const KindOfCall *call = &c->call;
        const char *rows = call->wait == WAIT_ROWS   ? "in calls of several rows"
                           : call->wait == WAIT_STEP ? "in calls of one row"
                                                     : "in calls of one row, where threads divide the heads";
        return arena_printf(c->arena, "(%s%s%s%s)", rows,
                            call->by_rows ? ", of which ranks share rows"
                            : call->ranks ? ", of which ranks share outputs"
                                          : "",
                            call->stages ? ", by stages" : "", call->unrequested ? ", without outputs" : "");
}

/* --- barriers -------------------------------------------------------------------------------------------------------------- */

/* A buffer of the kernel that conflicts with the buffer of a ONE_THREAD step.  NULL: no conflict. */
static const Buffer *touches_memory(const Kernel *k, const Touch *t)
{
        for (int i = 0; i < k->code->nwritten; i++)
                if (share_memory(k->code->written[i], t->buffer))
                        return k->code->written[i];
        for (int i = 0; i < k->code->nread && t->stores; i++)
                if (share_memory(k->code->read[i], t->buffer))
                        return k->code->read[i];
        return NULL;
}

static const Buffer *conflict(const Checker *c, const Touch *a, const Touch *b)
{
        if (a->step == b->step || (a->buffer && b->buffer)) /* both run in the same thread */
                return NULL;
        if (a->buffer)
                return touches_memory(b->step->kernel, a);
        if (b->buffer)
                return touches_memory(a->step->kernel, b);
        if (a->step->kernel->body == b->step->kernel->body && runs_by_parts(c->plan, a->step->kernel))
                return NULL; /* of each part by one thread */
        return kernels_conflict(c->plan, a->step->kernel, b->step->kernel, c->call.wait);
}

static bool same_touch(const Touch *a, const Touch *b)
{
        return a->step == b->step && a->buffer == b->buffer;
}

static void add_touch(const Checker *c, TouchList *to, Touch t)
{
        for (int i = 0; i < to->n; i++)
                if (same_touch(&to->of[i], &t))
                        return;
        GROW(c->arena, to->of, to->n, to->cap);
        to->of[to->n++] = t;
}

static void check_touch(Checker *c, Touch t)
{
        TouchList *pending = &c->state.pending;
        const Buffer *where;
        for (int i = 0; i < pending->n; i++)
                if ((where = conflict(c, &pending->of[i], &t)))
                        program_fault(c, "no barrier stands between it and `%s`, which touches %s too %s",
                                      step_line(c->plan, pending->of[i].step), where->name,
                                      kind_of_call_text(c));
        add_touch(c, pending, t);
}

/* --- wanted outputs ---------------------------------------------------------------------------------------------------------- */

/* Whether condition `a` holds wherever `b` does.  a NULL: always.  Outputs with all bits: needed by a
 * state, in every call. */
static bool is_implied(const Graph *g, const Step *a, const Step *b)
{
        if (!a)
                return true;
        if (a->output)
                return a->output == b->output;
        return b->output ? (a->outputs & output_bit(g, (int)(b->output - g->output))) != 0
                         : b->outputs != ~UINT64_C(0) && (b->outputs & ~a->outputs) == 0;
}

/* The outputs for which a kernel reads b.  For a product of several parts: those of the parts whose
 * epilogues read b. */
static uint64_t outputs_reading(const Plan *p, const Kernel *k, const Buffer *b)
{
        const Stmt *s = k->op == K_MATMUL ? only_statement(own_function(k), STMT_MATMUL) : NULL;
        uint64_t outputs = 0;
        for (int i = 0; s && i < s->call.matmul->npart; i++)
                if (function_accesses(s->call.matmul->part[i].epilogue, b))
                        outputs |= p->graph->wanted[s->call.matmul->part[i].segment->store.node->id];
        return !s || function_accesses(own_function(k), b) ? k->wanted : outputs;
}

/* Checks that for each output one of the steps that store b has run.  Others may run later, or store parts
 * that the kernel does not read. */
static void check_operand(Checker *c, const Kernel *k, const Buffer *b)
{
        const WriterList *w = &c->writer[b->id];
        const Step part = {.outputs = outputs_reading(c->plan, k, b)},
                   *reader = c->wanted && c->wanted->output ? c->wanted : &part;
        bool good = w->n == 0 || part.outputs == WANTED_BY_NOTHING;
        for (int i = 0; i < w->n; i++)
                good |= is_implied(c->plan->graph, w->of[i].wanted, reader);
        if (!good)
                program_fault(c, "it reads %s, which `%s` does not store where only other outputs are wanted",
                              b->name, step_line(c->plan, w->of[0].step));
}

static void check_wanted(Checker *c, const Kernel *k)
{
        const Graph *g = c->plan->graph;
        for (int i = 0; i < k->code->nread; i++)
                check_operand(c, k, k->code->read[i]);
        for (int i = 0; i < k->code->nwritten; i++) {
                const Buffer *b = k->code->written[i];
                const Output *output = b->home == IN_OUTPUT ? &g->output[b->index] : NULL;
                if (output && !is_implied(g, c->wanted, &(Step){.output = output}))
                        program_fault(c, "it stores the output %s, but is not run where that is wanted",
                                      b->name);
                if (b->home == IN_STATE && c->wanted)
                        program_fault(c, "it stores the state %s, but is not run in all calls", b->name);
        }
}

/* --- order ------------------------------------------------------------------------------------------------------------------- */

static void check_order(Checker *c, const Kernel *k)
{
        if (k->order.step < c->last && k->op != K_ACTIVE) /* both halves of a repeat call it */
                program_fault(c,
                              "it comes after kernel number %d, and is number %d of the order for which "
                              "buffers were placed",
                              c->last, k->order.step);
        c->last = k->op == K_ACTIVE ? c->last : k->order.step;
        for (int i = 0; i < k->code->nread; i++) {
                const Buffer *b = k->code->read[i];
                if (b->home == IN_ARENA && !c->written[b->id])
                        program_fault(c, "it reads %s, which no step before it stores", b->name);
        }
}

/* --- the walk ---------------------------------------------------------------------------------------------------------------- */

static void check_kernel(Checker *c, const Kernel *k)
{
        if (c->call.unrequested && k->rows == ROWS_REQUESTED)
                return;
        check_order(c, k);
        if (k->op != K_ACTIVE)
                check_wanted(c, k);
        check_reads_of_rank(c, k);
        check_touch(c, (Touch){.step = c->step});
        for (int i = 0; i < k->code->nwritten; i++)
                c->written[k->code->written[i]->id] = true;
        note_stores_of_rank(c, k);
}

/* Checks a step that runs in one thread and reads or stores a buffer. */
static void check_one_thread(Checker *c, const Step *s)
{
        if (!c->one_thread)
                program_fault(c, "all threads would do it");
        if (s->op == STEP_EXCHANGE && c->call.unrequested && s->kernel->rows == ROWS_REQUESTED)
                return;
        if (s->op == STEP_EXCHANGE)
                for (int i = 0; i < s->kernel->code->nwritten; i++)
                        check_touch(c, (Touch){s, s->kernel->code->written[i], true});
        else
                check_touch(c, (Touch){s, s->value ? s->value : whole_buffer(s->shared->buffer),
                                       s->op == STEP_GATHER || s->op == STEP_RECEIVE});
        if (s->op == STEP_RECEIVE)
                c->written[s->value->id] = true;
        check_transfer(c, s);
}

static CheckState state_copy(const Checker *c, const CheckState *from)
{
        CheckState to = {.pending.n = 0};
        for (int i = 0; i < from->pending.n; i++)
                add_touch(c, &to.pending, from->pending.of[i]);
        for (int i = 0; i < from->shared.n; i++)
                add_shared(c, &to.shared, from->shared.of[i]);
        return to;
}

/* Returns whether `to` grew. */
static bool state_join(const Checker *c, CheckState *to, const CheckState *from)
{
        const int before = to->pending.n + to->shared.n;
        for (int i = 0; i < from->pending.n; i++)
                add_touch(c, &to->pending, from->pending.of[i]);
        for (int i = 0; i < from->shared.n; i++)
                add_shared(c, &to->shared, from->shared.of[i]);
        return to->pending.n + to->shared.n > before;
}

static void check_steps(Checker *c, const StepList *list);

/* A split loop runs the same iterations in both halves.  If kernels of the first half ran, at least one
 * iteration of the second half follows, so the state before that half never reaches the step after the
 * loop. */
static void forget_first_half(const Checker *c, CheckState *state)
{
        const Step *first = find_step(c->plan->program, STEP_REPEAT, c->step->kernel);
        for (int i = state->pending.n - 1; i >= 0; i--) {
                const Kernel *k = state->pending.of[i].step->kernel;
                if (find_step(&first->inside, STEP_CALL, k) || find_step(&first->inside, STEP_ACTIVE, k))
                        state->pending.of[i] = state->pending.of[--state->pending.n];
        }
}

/* An iteration starts from the state after any body, or from that before the repeat. */
static void check_repeat(Checker *c, const Step *repeat)
{
        const StepList *bodies = &repeat->inside;
        const bool active = bodies->step[0]->op == STEP_ACTIVE;
        CheckState begin = state_copy(c, &c->state), end;
        const int last = c->last;
        do {
                end = (CheckState){.pending.n = 0};
                c->state = state_copy(c, &begin);
                c->last = last;
                if (active) {
                        c->step = bodies->step[0];
                        check_kernel(c, c->step->kernel);
                        begin = state_copy(c, &c->state);
                }
                const CheckState found = state_copy(c, &c->state);
                const StepList *of = active ? &bodies->step[0]->inside : bodies;
                for (int i = 0; i < of->n; i++)
                        if (of->step[i]->op == STEP_BODY) {
                                c->state = state_copy(c, &found);
                                check_steps(c, &of->step[i]->inside);
                                state_join(c, &end, &c->state);
                        }
                c->state = state_copy(c, &end);
                for (int i = 0; i < bodies->n; i++)
                        if (bodies->step[i]->op != STEP_BODY && bodies->step[i]->op != STEP_ACTIVE)
                                check_steps(c, &(StepList){.step = bodies->step + i, .n = 1});
                end = state_copy(c, &c->state);
        } while (state_join(c, &begin, &end));
        c->state = end;
        c->step = repeat;
        if (active && repeat->half == 2)
                forget_first_half(c, &begin);
        if (active || (repeat->by_stages && c->call.stages))
                state_join(c, &c->state, &begin);
        note_iterations_of_stage(c, repeat);
}

static bool runs(const Checker *c, const Step *s)
{
        const KindOfCall *call = &c->call;
        return (!(s->when & (WHEN_RANKS | WHEN_COMPARED)) || call->ranks) &&
               (!(s->when & WHEN_BY_OUTPUTS) || (call->ranks && !call->by_rows)) &&
               (!(s->when & WHEN_BY_ROWS) || call->by_rows) &&
               (!(s->when & WHEN_NOT_BY_ROWS) || !call->by_rows) &&
               (!(s->when & WHEN_STAGES) || call->stages) &&
               (!(s->when & WHEN_REQUESTED) || !call->unrequested);
}

static void check_barrier(Checker *c, const Step *s)
{
        if (c->wanted || c->one_thread || c->view)
                program_fault(c, "not all threads come to this barrier equally often");
        if (s->when & (unsigned)c->call.wait)
                c->state.pending.n = 0;
}

/* Walks a step that contains others, with *mark set to it. */
static void check_steps_inside(Checker *c, const Step *s, const Step **mark)
{
        const Step *outer = *mark;
        *mark = s;
        check_steps(c, &s->inside);
        *mark = outer;
}

static void check_part(Checker *c, const Step *s)
{
        check_steps(c, &s->inside);
        c->step = s;
        if (s->groups)
                c->state.pending.n = 0;
}

static void check_steps(Checker *c, const StepList *list)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = c->step = list->step[i];
                switch (s->op) {
                case STEP_CALL: check_kernel(c, s->kernel); break;
                case STEP_BARRIER: check_barrier(c, s); break;
                case STEP_REPEAT: check_repeat(c, s); break;
                case STEP_FOR_SEQUENCES:
                case STEP_FOR_RANGES: check_steps_inside(c, s, &c->view); break;
                case STEP_IF_WANTED: check_steps_inside(c, s, &c->wanted); break;
                case STEP_IF:
                        if (runs(c, s))
                                check_steps(c, &s->inside);
                        break;
                case STEP_ONE_THREAD:
                        if (runs(c, s))
                                check_steps_inside(c, s, &c->one_thread);
                        break;
                case STEP_EXCHANGE:
                case STEP_GATHER:
                case STEP_SEND:
                case STEP_RECEIVE:
                case STEP_COMPARE: check_one_thread(c, s); break;
                case STEP_PART: check_part(c, s); break;
                default: program_fault(c, "it stands where none of its kind can");
                }
        }
}

/* --- stores of each kernel ----------------------------------------------------------------------------------------------------- */

static void find_writers(Checker *c, const StepList *list, const Step *wanted)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = c->step = list->step[i];
                if ((s->op == STEP_CALL || s->op == STEP_ACTIVE) && c->called[s->kernel->order.step]++ &&
                    s->op == STEP_CALL)
                        program_fault(c, "the kernel is called more than once");
                for (int w = 0; s->op == STEP_CALL && w < s->kernel->code->nwritten; w++) {
                        WriterList *to = &c->writer[s->kernel->code->written[w]->id];
                        GROW(c->arena, to->of, to->n, to->cap);
                        to->of[to->n++] = (Writer){s, wanted};
                }
                find_writers(c, &s->inside, s->op == STEP_IF_WANTED ? s : wanted);
        }
}

static void check_all_called(Checker *c)
{
        for (int i = 0; i < c->plan->all.n; i++) {
                const Kernel *k = c->plan->all.kernel[i];
                if (k->op != K_REPEAT && !c->called[k->order.step]) {
                        fprintf(stderr, "lathe: program of %s: the kernel %s is never called\n",
                                c->plan->graph->name, k->name);
                        abort();
                }
        }
}

static void check_kind_of_call(Checker *c, KindOfCall call)
{
        c->call = call;
        c->state = (CheckState){.pending.n = 0};
        c->last = 0;
        memset(c->written, 0, (size_t)c->plan->nbuffer * sizeof *c->written);
        begin_ranks(c);
        check_steps(c, c->plan->program);
        end_ranks(c);
}

void check_program(const Plan *p)
{
        Arena scratch = {.out_of_memory = p->graph->arena->out_of_memory}, *a = &scratch;
        Checker c = {.plan = p, .arena = a};
        c.written = NEW_ARRAY(a, bool, p->nbuffer + 1);
        c.called = NEW_ARRAY(a, int, p->steps + 1);
        c.writer = NEW_ARRAY(a, WriterList, p->nbuffer + 1);
        find_writers(&c, p->program, NULL);
        check_all_called(&c);
        for (int wait = WAIT_ROWS; wait <= WAIT_HEADS; wait *= 2)
                check_kind_of_call(&c, (KindOfCall){.wait = wait});
        for (int kind = 0; p->sharing.ranks && kind < 12; kind++) {
                const KindOfCall call = {.wait = kind % 3 == 1 ? WAIT_STEP : WAIT_ROWS,
                                         .ranks = true,
                                         .by_rows = kind % 3 == 2, /* one row is too few to share */
                                         .stages = kind / 3 & 1,
                                         .unrequested = kind / 6};
                if ((!call.by_rows || p->sharing.by_rows) && (!call.unrequested || p->graph->past >= 0))
                        check_kind_of_call(&c, call);
        }
        arena_free(&scratch);
}
