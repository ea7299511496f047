/* A program as C: a function for each kernel and for each body of a repeat, and statements for the other steps. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

/* --- conditions ------------------------------------------------------------------------------------------------------------ */

static const char *ranks_by(const Emit *e, const Step *s, const char *what)
{
        return arena_printf(e->arena, "ranks_by(m, %s, %s)", dim_expression(e->arena, e->g, s->rows), what);
}

/* "m->ranks && m->ranks->check"; NULL: no condition */
static const char *condition_of(const Emit *e, const Step *s)
{
        const struct {
                unsigned when;
                const char *text;
        } term[] = {{WHEN_RANKS, "m->ranks"},
                    {WHEN_BY_OUTPUTS, ranks_by(e, s, "BY_OUTPUTS")},
                    {WHEN_BY_ROWS, ranks_by(e, s, "BY_ROWS")},
                    {WHEN_STAGES, "m->ranks && m->ranks->stages > 1"},
                    {WHEN_COMPARED, "m->ranks && m->ranks->check"},
                    {WHEN_NOT_BY_ROWS, arena_printf(e->arena, "!%s", ranks_by(e, s, "BY_ROWS"))},
                    {WHEN_REQUESTED, is_batched(e) ? "m->ranges > 0" : "m->first < m->time"},
                    {WHEN_NOT_ENDING, "m->way != WAY_END"},
                    {WHEN_NOT_BEGINNING, "m->way != WAY_BEGIN"}};
        const char *text = NULL;
        for (size_t i = 0; i < sizeof term / sizeof *term; i++)
                if (s->when & term[i].when)
                        text = text ? arena_printf(e->arena, "%s && %s", text, term[i].text) : term[i].text;
        return text;
}

static void emit_barrier(const Emit *e, const Step *s, Text *t)
{
        if (!(s->when & WAIT_STEP))
                text_printf(t, "if (%s != 1)\n        ", call_rows(e->plan));
        else if (!(s->when & WAIT_HEADS))
                text_printf(t, "if (%s != 1 || %" PRId64 " %% m->threads != 0%s)\n        ",
                            call_rows(e->plan), e->plan->heads, e->plan->sharing.ranks ? " || m->ranks" : "");
        text_printf(t, "team_barrier(m->team);\n");
}

/* --- kernels and repeats ----------------------------------------------------------------------------------------------------- */

/* instance: "m", or its view of a sequence or range */
static void emit_call(const Emit *e, const Step *s, const char *instance, Text *t)
{
        const Kernel *k = s->kernel;
        const SharedFunction *shared = e->shared[k->order.step];
        if (shared)
                print_shared_call(e->plan, k, shared, t);
        else
                text_printf(t, "%s(%s%s%s, thread);\n", k->name, instance,
                            iteration_parameters(e->arena, k->body, false), row_parameters(k, false));
}

static void emit_exchange(const Emit *e, const Step *s, const char *instance, Text *t)
{
        const Kernel *k = s->kernel;
        text_printf(t, "%s_exchange(%s%s%s);\n", k->name, instance,
                    iteration_parameters(e->arena, s->repeat ? s->repeat->body : k->body, false),
                    s->repeat ? "" : row_parameters(k, false));
}

static const char *body_name(const Emit *e, const Step *repeat, const Step *body)
{
        const Region *r = repeat->kernel->repeat.region;
        const char *number = r->nbody > 1 ? arena_printf(e->arena, "_%d", body->body) : "";
        return arena_printf(e->arena, "%s_body%s%s", r->name, number, repeat->half == 2 ? "_rest" : "");
}

/* Parameters for the active rows, in iterations whose kernels compute only these. */
static const char *body_rows(const Step *body, bool types)
{
        return body->inside.n ? row_parameters(body->inside.step[0]->kernel, types) : "";
}

static void emit_body_call(const Emit *e, const Step *repeat, const Step *body, Text *t)
{
        const Region *r = repeat->kernel->repeat.region;
        if (r->nbody > 1)
                text_printf(t, "if (%s_body_of[%s] == %d)\n        ", r->name, r->name, body->body);
        text_printf(t, "%s(m%s, %s%s, thread);\n", body_name(e, repeat, body),
                    iteration_parameters(e->arena, repeat->kernel->body, false), r->name,
                    body_rows(body, false));
}

static void emit_active(const Emit *e, const Step *repeat, const Step *s, Text *t)
{
        text_printf(t,
                    "int32_t active[%" PRId64 "];\nconst int64_t count = %s(m%s, %s, active);\n"
                    "if (count == 0)\n        continue;\n",
                    s->kernel->max_active, s->kernel->name,
                    iteration_parameters(e->arena, repeat->kernel->body, false),
                    repeat->kernel->repeat.region->name);
        for (int i = 0; i < s->inside.n; i++)
                emit_body_call(e, repeat, s->inside.step[i], t);
}

static void emit_step(const Emit *e, const Step *s, const char *instance, Text *t);

/* The loop over all positions of an `along`. */
static void emit_positions(const Emit *e, const Step *s, Text *t)
{
        const Region *r = s->kernel->repeat.region;
        const int64_t parts = s->kernel->repeat.parts;
        Text *call = text_new(e->arena), *all = text_new(e->arena);
        if (parts)
                text_printf(call, "%s(&one%s, %s, (int)part);\n", body_name(e, s, s->inside.step[0]),
                            iteration_parameters(e->arena, s->kernel->body, false), r->name);
        else
                emit_body_call(e, s, s->inside.step[0], call);
        text_printf(all, "for (int64_t %s = 0; %s < %s; %s++)\n", r->name, r->name,
                    dim_expression(e->arena, e->g, positions_of(e->g, r)), r->name);
        text_indent(all, call, 1);
        if (!parts) {
                text_printf(t, "%s", all->data);
                return;
        }
        text_printf(t,
                    "/* A thread runs all positions of its parts, each as if it were one of %" PRId64
                    " threads. */\n"
                    "for (int64_t part = share(%" PRId64 ", thread, m->threads); part < share(%" PRId64
                    ", thread + 1, m->threads); part++) {\n"
                    "        %s one%s;\n",
                    parts, parts, parts, e->name, e->alone ? " = *m" : "");
        if (!e->alone) /* without the team, whose other threads may be within a barrier */
                text_printf(t, "        memcpy(&one, m, offsetof(%s, members));\n", e->name);
        text_printf(t, "        one.threads = %" PRId64 ";\n", parts);
        if (scratch_size(e->plan))
                text_printf(t, "        one.scratch = m->scratch + (thread - part) * SCRATCH;\n");
        text_indent(t, all, 1);
        text_printf(t, "}\n");
}

/* In a batch one sequence after another, by a function of its own. */
static void emit_along(const Emit *e, const Step *s, Text *t)
{
        if (!is_batched(e))
                emit_positions(e, s, t);
        else
                text_printf(t,
                            "for (int i = 0; i < m->sequences; i++)\n        %s_all(&m->sequence[i]%s, "
                            "thread);\n",
                            s->kernel->repeat.region->name,
                            iteration_parameters(e->arena, s->kernel->body, false));
}

static void emit_repeat(const Emit *e, const Step *s, Text *t)
{
        const Region *r = s->kernel->repeat.region;
        if (r->along) {
                emit_along(e, s, t);
                return;
        }
        const char *begin = "0", *end = arena_printf(e->arena, "%" PRId64, r->iterations);
        Text *inside = text_new(e->arena);
        if (s->by_stages) {
                begin = arena_printf(e->arena, "stage_share(m->ranks, %s, 0)", end);
                end = arena_printf(e->arena, "stage_share(m->ranks, %s, 1)", end);
        }
        for (int i = 0; i < s->inside.n; i++) {
                const Step *in = s->inside.step[i];
                if (in->op == STEP_BODY)
                        emit_body_call(e, s, in, inside);
                else if (in->op == STEP_ACTIVE)
                        emit_active(e, s, in, inside);
                else
                        emit_step(e, in, "m", inside);
        }
        text_printf(t, "for (int64_t %s = %s; %s < %s; %s++) {\n", r->name, begin, r->name, end, r->name);
        text_indent(t, inside, 1);
        text_printf(t, "}\n");
}

/* Table of each iteration's body, before the first step of a repeat. */
static void emit_body_numbers(const Kernel *repeat, Text *t)
{
        const Region *r = repeat->repeat.region;
        if (r->nbody < 2)
                return;
        text_printf(t, "static const uint8_t %s_body_of[%" PRId64 "] = {", r->name, r->iterations);
        for (int64_t i = 0; i < r->iterations; i++)
                text_printf(t, "%s%d", i ? ", " : "", r->body_of[i]);
        text_printf(t, "};\n");
}

/* --- steps of one thread ----------------------------------------------------------------------------------------------------- */

static void emit_gather(const Emit *e, const Step *s, Text *t)
{
        const SharedRows *r = s->shared;
        const Buffer *b = whole_buffer(r->buffer);
        const char *from = b->home == IN_OUTPUT
                                   ? arena_printf(e->arena, "m->output_%s", e->g->output[b->index].name)
                                   : "m->arena";
        const char *offset = b->home == IN_OUTPUT ? "0" : offset_text(e->plan, b);
        text_printf(t, "rank_gather_rows(m->ranks, %s + %s + %" PRId64 ", %s, %" PRId64 ", %d);\n", from,
                    offset, r->base, dim_expression(e->arena, e->g, r->rows), r->tile, r->whole_tiles);
}

/* Calls a function of the runtime for a value that a repeat carries. */
static void emit_carried(const Emit *e, const Step *s, Text *t)
{
        const Region *r = s->kernel->repeat.region;
        const bool under_way = has_under_way(e) && !s->kernel->part;
        const char *name = s->op == STEP_COMPARE ? "rank_check"
                           : s->op == STEP_SEND  ? (s->last ? "stage_give" : "stage_leave")
                                                 : (s->last ? "stage_take" : "stage_enter");
        const char *more = "";
        if (s->op == STEP_COMPARE)
                more = arena_printf(e->arena, ", \"%s\", %s", r->name, r->name);
        else if (s->last)
                more = !under_way           ? ", 0"
                       : s->op == STEP_SEND ? ", m->way == WAY_BEGIN"
                                            : ", m->way == WAY_END";
        text_printf(t, "%s(m->ranks, m->arena + %s, %s%s);\n", name, offset_text(e->plan, s->value),
                    dim_expression(e->arena, e->g, carried_count(s->value)), more);
}

/* --- lists ------------------------------------------------------------------------------------------------------------------- */

static bool is_timed(const Plan *p)
{
        return p->timed && p->by_address;
}

/* Ends the time measurement of a kernel. */
static void emit_mark(const Kernel *k, Text *t)
{
        text_printf(t, "if (thread == 0)\n        profile_mark(%d);\n", k->order.step);
}

/* Whether it is the first step of a repeat: the repeat, or the condition in which its stage receives
 * values. */
static bool begins_repeat(const StepList *list, int i)
{
        const Step *s = list->step[i], *next = i + 1 < list->n ? list->step[i + 1] : NULL;
        if (s->op == STEP_REPEAT)
                return s->half != 2 &&
                       (i == 0 || list->step[i - 1]->op != STEP_IF || !begins_repeat(list, i - 1));
        return s->op == STEP_IF && s->when == WHEN_STAGES && next && next->op == STEP_REPEAT &&
               next->kernel == s->kernel;
}

static void emit_steps(const Emit *e, const StepList *list, const char *instance, Text *t)
{
        for (int i = 0; i < list->n; i++) {
                if (begins_repeat(list, i))
                        emit_body_numbers(list->step[i]->kernel, t);
                emit_step(e, list->step[i], instance, t);
        }
}

/* The steps of a function, with time marks of kernels if requested. */
static void emit_function_steps(const Emit *e, const StepList *list, Text *t)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i], *next = i + 1 < list->n ? list->step[i + 1] : NULL;
                if (begins_repeat(list, i))
                        emit_body_numbers(s->kernel, t);
                if (s->op == STEP_IF && s->when == WHEN_NOT_BEGINNING) {
                        text_printf(t, "if (m->way == WAY_BEGIN)\n        return;\n");
                        emit_function_steps(e, &s->inside, t);
                        return;
                }
                emit_step(e, s, "m", t);
                if (is_timed(e->plan) && s->kernel && s->kernel->op != K_REPEAT &&
                    (!next || next->kernel != s->kernel))
                        emit_mark(s->kernel, t);
        }
}

static void emit_views(const Emit *e, const Step *s, const char *views, Text *t)
{
        Text *inside = text_new(e->arena);
        emit_steps(e, &s->inside, arena_printf(e->arena, "&m->%s[i]", views), inside);
        text_printf(t, "for (int i = 0; i < m->%ss; i++)\n", views);
        text_indent(t, inside, 1);
}

/* "m->output_y || wants_taps(m)": whether one of the step's outputs is requested of an instance, m or "&m->sequence[i]" */
static const char *any_requested(const Emit *e, const Step *s, const char *instance)
{
        const char *member = *instance == '&' ? arena_printf(e->arena, "%s.", instance + 1)
                                              : arena_printf(e->arena, "%s->", instance);
        Text *t = text_new(e->arena);
        int terms = 0;
        for (int i = 0; i < e->g->noutput; i++) {
                const Output *o = &e->g->output[i];
                if (s->output ? s->output == o : !o->tap && (s->outputs & output_bit(e->g, i)))
                        text_printf(t, "%s%soutput_%s", terms++ ? " || " : "", member, o->name);
        }
        if (!s->output && (s->outputs & WANTED_BY_TAPS))
                text_printf(t, "%swants_taps(%s)", terms++ ? " || " : "", instance);
        return t->data;
}

/* Steps that only some outputs need.  Those that all outputs need are unconditional: a call runs only if
 * an output is requested, or for the positions that it takes. */
static void emit_wanted(const Emit *e, const Step *s, const char *instance, Text *t)
{
        Text *inside = text_new(e->arena);
        emit_steps(e, &s->inside, instance, inside);
        const bool braces = strchr(inside->data, '\n') != inside->data + inside->n - 1;
        text_printf(t, "if (%s)%s\n", any_requested(e, s, instance), braces ? " {" : "");
        text_indent(t, inside, 1);
        text_printf(t, braces ? "}\n" : "");
}

/* Whether it contains a single statement. */
static bool is_exchange(const Step *s)
{
        return s->op == STEP_EXCHANGE || (s->inside.n == 1 && is_exchange(s->inside.step[0]));
}

/* thread: "", or a condition before that of the step */
static void emit_if(const Emit *e, const Step *s, const char *thread, Text *t)
{
        const bool braces = !is_exchange(s);
        const char *condition = condition_of(e, s);
        Text *inside = text_new(e->arena);
        emit_steps(e, &s->inside, "m", inside);
        text_printf(t, "if (%s%s%s)%s\n", thread, *thread && condition ? " && " : "",
                    condition ? condition : "", braces ? " {" : "");
        text_indent(t, inside, 1);
        text_printf(t, braces ? "}\n" : "");
}

static void emit_step(const Emit *e, const Step *s, const char *instance, Text *t)
{
        switch (s->op) {
        case STEP_CALL: emit_call(e, s, instance, t); break;
        case STEP_BARRIER: emit_barrier(e, s, t); break;
        case STEP_REPEAT: emit_repeat(e, s, t); break;
        case STEP_FOR_SEQUENCES: emit_views(e, s, "sequence", t); break;
        case STEP_FOR_RANGES: emit_views(e, s, "range", t); break;
        case STEP_IF_WANTED: emit_wanted(e, s, instance, t); break;
        case STEP_IF:
                if (!(s->when & WHEN_COMPARED) || !e->alone)
                        emit_if(e, s, "", t);
                break;
        case STEP_ONE_THREAD: emit_if(e, s, "thread == 0", t); break;
        case STEP_EXCHANGE: emit_exchange(e, s, instance, t); break;
        case STEP_GATHER: emit_gather(e, s, t); break;
        case STEP_SEND:
        case STEP_RECEIVE:
        case STEP_COMPARE: emit_carried(e, s, t); break;
        /* only their number */
        case STEP_BODY:
        case STEP_ACTIVE:
        case STEP_PART:
        case STEP_COUNT: break;
        }
}

/* --- functions --------------------------------------------------------------------------------------------------------------- */

static void emit_functions(const Emit *e, const StepList *list, Text *c);

/* Whether C text contains this identifier. */
static bool text_mentions(const Text *t, const char *name)
{
        CScan s = {.at = t->data, .end = t->data + t->n};
        const char *found;
        int64_t n;
        while ((found = next_name(&s, &n)))
                if (strlen(name) == (size_t)n && !memcmp(found, name, (size_t)n))
                        return true;
        return false;
}

/* ", int64_t layer" for each repeat around a body that the steps use.  Shared functions can make steps
 * independent of the iteration. */
static const char *body_parameters(const Emit *e, const Body *b, const Text *steps)
{
        const Region *nest[MAX_NEST];
        const int n = iterations_around(b, nest);
        Text *t = text_new(e->arena);
        for (int i = 0; i < n; i++)
                text_printf(t, ", int64_t %s%s", nest[i]->name,
                            e->plan->by_address || text_mentions(steps, nest[i]->name) ? "" : " UNUSED");
        return t->data;
}

static void emit_body_function(const Emit *e, const Step *repeat, const Step *body, Text *c)
{
        Text *steps = text_new(e->arena);
        if (is_timed(e->plan) && repeat->kernel->repeat.active_rows)
                emit_mark(repeat->kernel->repeat.active_rows, steps);
        emit_function_steps(e, &body->inside, steps);
        text_printf(c, "static void %s(const %s *m%s%s, int thread)\n{\n", body_name(e, repeat, body),
                    e->name, body_parameters(e, repeat->kernel->repeat.region->body[body->body], steps),
                    body_rows(body, true));
        text_indent(c, steps, 1);
        text_printf(c, "}\n\n");
}

static void emit_positions_function(const Emit *e, const Step *along, Text *c)
{
        Text *steps = text_new(e->arena);
        emit_positions(e, along, steps);
        text_printf(c, "static void %s_all(const %s *m%s, int thread)\n{\n",
                    along->kernel->repeat.region->name, e->name,
                    body_parameters(e, along->kernel->body, steps));
        text_indent(c, steps, 1);
        text_printf(c, "}\n\n");
}

/* Functions of the bodies of a repeat and of its second half (or NULL), after their kernels. */
static void emit_repeat_functions(const Emit *e, const Step *repeat, const Step *rest, Text *c)
{
        const StepList *bodies = bodies_of(repeat), *others = rest ? bodies_of(rest) : NULL;
        if (bodies != &repeat->inside)
                print_kernel(e->plan, repeat->kernel->repeat.active_rows, c);
        for (int i = 0; i < bodies->n && bodies->step[i]->op == STEP_BODY; i++) {
                emit_functions(e, &bodies->step[i]->inside, c);
                if (rest)
                        emit_functions(e, &others->step[i]->inside, c);
                emit_body_function(e, repeat, bodies->step[i], c);
                if (rest)
                        emit_body_function(e, rest, others->step[i], c);
        }
        if (repeat->kernel->repeat.region->along && is_batched(e))
                emit_positions_function(e, repeat, c);
}

static void emit_functions(const Emit *e, const StepList *list, Text *c)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i];
                const SharedFunction *shared = s->op == STEP_CALL ? e->shared[s->kernel->order.step] : NULL;
                if (shared && shared->kernel == s->kernel)
                        print_shared(e->plan, shared, c);
                else if (s->op == STEP_CALL && !shared)
                        print_kernel(e->plan, s->kernel, c);
                else if (s->op != STEP_REPEAT)
                        emit_functions(e, &s->inside, c);
                else if (s->half != 2)
                        emit_repeat_functions(e, s, second_half_of(list, i), c);
        }
}

static void emit_wants_taps(const Emit *e, Text *c)
{
        Text *any = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                if (e->g->output[i].tap)
                        text_printf(any, "%sm->output_%s != NULL", any->n ? " || " : "",
                                    e->g->output[i].name);
        text_printf(c, "static int wants_taps(const %s *m)\n{\n        return %s;\n}\n\n", e->name,
                    any->data);
}

static bool asks_for_taps(const StepList *list)
{
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i];
                if ((s->op == STEP_IF_WANTED && !s->output && (s->outputs & WANTED_BY_TAPS)) ||
                    asks_for_taps(&s->inside))
                        return true;
        }
        return false;
}

/* The number of ranks that share a call, for each way of sharing. */
static void emit_ranks_by(const Emit *e, Text *c)
{
        text_printf(c,
                    "/* The ranks, if they share this number of rows by rows (at least 16 for each rank), "
                    "or by outputs and heads, as `what` asks; "
                    "otherwise NULL. */\n"
                    "enum { BY_OUTPUTS, BY_ROWS };\n"
                    "static Ranks *ranks_by(const %s *m, int64_t rows, int what)\n{\n"
                    "        return m->ranks && (rank_tiles(rows) >= m->ranks->ranks) == what ? "
                    "m->ranks : NULL;\n}\n\n",
                    e->name);
}

/* "source and picture" */
static const char *names_of_groups(const Emit *e, uint64_t groups)
{
        const char *names = "";
        for (int i = 0; i < e->g->ngroup; i++)
                if (groups >> i & 1)
                        names = arena_printf(e->arena, "%s%s%s", names, *names ? " and " : "",
                                             group_name(e, i));
        return names;
}

/* Part `number` of the program, in its own function unless it is the calls'. */
static void emit_part(const Emit *e, const Step *part, int number, Text *calls, Text *c)
{
        Text *steps = text_new(e->arena);
        if (!part->groups) {
                text_printf(calls, "if (m->fed_part > 0)\n        return;\n");
                emit_function_steps(e, &part->inside, calls);
                return;
        }
        emit_function_steps(e, &part->inside, steps);
        text_printf(c,
                    "/* Computes all values that depend only on %s. */\nstatic void part_%d(const %s *m, int "
                    "thread)\n{\n",
                    names_of_groups(e, part->groups), number, e->name);
        text_indent(c, steps, 1);
        text_printf(c, "}\n\n");
        text_printf(calls,
                    "if (m->fed_part == 0 || m->fed_part == %d) {\n        part_%d(m, thread);\n        "
                    "team_barrier(m->team);\n}\n",
                    number, number);
}

/* Whether an epilogue looks up the sequence of its row. */
static bool any_looks_up(const Plan *p)
{
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i]->batching == BATCH_ROWS_LOOKED_UP)
                        return true;
        return false;
}

/* Whether a thread runs all positions of its parts, for which the instance is copied. */
static bool any_parts(const Plan *p)
{
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i]->op == K_REPEAT && p->all.kernel[i]->repeat.parts)
                        return true;
        return false;
}

void emit_program(const Emit *whole, Text *c)
{
        Emit own = *whole, *e = &own;
        own.shared = whole->plan->by_address ? NEW_ARRAY(e->arena, SharedFunction *, e->plan->steps + 1)
                                             : find_shared(e->plan);
        const StepList *program = e->plan->program;
        const bool parts = program->n && program->step[0]->op == STEP_PART;
        Text *calls = text_new(e->arena);
        if (!e->alone && any_parts(e->plan))
                text_printf(c, "#include <stddef.h>\n#include <string.h>\n\n");
        if (e->plan->sharing.by_rows)
                emit_ranks_by(e, c);
        emit_ways(e, c);
        if (asks_for_taps(program))
                emit_wants_taps(e, c);
        if (any_looks_up(e->plan))
                emit_sequence_of(e, c);
        emit_functions(e, program, c);
        if (is_timed(e->plan))
                text_printf(calls, "if (thread == 0)\n        profile_mark(-1);\n");
        for (int i = 0; parts && i < program->n; i++)
                emit_part(e, program->step[i], i + 1, calls, c);
        if (!parts)
                emit_function_steps(e, program, calls);
        text_printf(c,
                    "/* One call of the model, run by every thread: each computes its share of each kernel. "
                    "*/\n");
        text_printf(c, "static void program(void *arg, int thread)\n{\n        const %s *m = arg;\n",
                    e->name);
        text_indent(c, calls, 1);
        text_printf(c, "}\n\n");
}
