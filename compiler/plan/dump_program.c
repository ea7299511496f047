/* A program as text and as JSON.  One function lists the facts about a step, which each format prints. */
#include "plan.h"

#include <inttypes.h>
#include <string.h>

static const char *const step_text[STEP_COUNT] = {
#define STEP(name, text, ...) [STEP_##name] = text,
#include "program.def"
#undef STEP
};

/* --- barriers of one process ------------------------------------------------------------------------------------------------ */

static int barriers_in(const StepList *list, int wait, const Kernel *repeat)
{
        int64_t n = 0;
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i];
                const bool skipped = s->op == STEP_IF && s->when & WHEN_SHARED;
                int64_t times = !skipped;
                if (s->op == STEP_BODY)
                        for (int64_t t = times = 0; t < repeat->repeat.region->iterations; t++)
                                times += repeat->repeat.region->body_of[t] == s->body;
                n += s->op == STEP_BARRIER && s->when & (unsigned)wait;
                n += times * barriers_in(&s->inside, wait, s->op == STEP_REPEAT ? s->kernel : repeat);
        }
        return (int)n;
}

static int barriers_of(const StepList *list, int wait)
{
        return barriers_in(list, wait, NULL);
}

const char *barriers_text(const Plan *p)
{
        const int rows = barriers_of(p->program, WAIT_ROWS), one = barriers_of(p->program, WAIT_STEP),
                  heads = barriers_of(p->program, WAIT_HEADS);
        Arena *a = p->graph->arena;
        const char *text = arena_printf(a, "%d barrier%s a call", rows, rows == 1 ? "" : "s");
        if (one != rows)
                text = arena_printf(a, "%s, %d with one row", text, one);
        if (heads != one)
                text = arena_printf(a, "%s, %d where threads divide %" PRId64 " heads", text, heads,
                                    p->heads);
        return text;
}

/* --- facts about a step -------------------------------------------------------------------------------------------------- */

/* A member: its text, or if that is NULL its number. */
typedef struct {
        const char *key, *text;
        int64_t number;
} StepFact;

enum { MAX_FACTS = 8 };
typedef struct {
        const Plan *plan;
        StepFact of[MAX_FACTS];
        int n;
} StepFacts;

static void fact_text(StepFacts *f, const char *key, const char *text)
{
        f->of[f->n++] = (StepFact){.key = key, .text = text};
}

static void fact_number(StepFacts *f, const char *key, int64_t number)
{
        f->of[f->n++] = (StepFact){.key = key, .number = number};
}

/* "48x48 48x96 twice": depth and width of each product of a kernel */
static const char *products_text(Arena *a, const Kernel *k)
{
        const char *text = "";
        for (int i = 0; i < k->product.nsegment; i++)
                text = arena_printf(a, "%s%s%" PRId64 "x%" PRId64 "%s", text, i ? " " : "", k->product.k,
                                    k->product.segment[i].n,
                                    k->product.segment[i].nproduct == 2 ? " twice" : "");
        return text;
}

static void facts_of_call(StepFacts *f, const Kernel *k)
{
        fact_text(f, "kernel", k->name);
        fact_text(f, "kind", kernel_word[k->op]);
        if (k->product.nsegment)
                fact_text(f, "products", products_text(f->plan->graph->arena, k));
        if (k->rows != ROWS_ALL || k->batching == BATCH_ROWS_LOOKED_UP)
                fact_text(f, "rows",
                          k->rows == ROWS_ACTIVE      ? "active"
                          : k->rows == ROWS_REQUESTED ? "requested"
                                                      : "of all sequences");
        if (k->one_row == ONE_ROW_REPLICATED)
                fact_text(f, "one row", "computed by each thread");
        if (k->ranks.sharded)
                fact_text(f, "ranks share", k->ranks.heads ? "heads" : "outputs");
        if (k->ranks.row_loop)
                fact_text(f, k->ranks.sharded ? "or share" : "ranks share", "rows");
}

static const char *waits_text(unsigned when)
{
        return when & WAIT_HEADS  ? "always"
               : when & WAIT_STEP ? "unless threads divide the heads"
                                  : "with several rows";
}

static const char *condition_text(const Plan *p, const Step *s)
{
        static const struct {
                unsigned when;
                const char *text;
        } word[] = {{WHEN_RANKS, "there are ranks"},
                    {WHEN_BY_OUTPUTS, "ranks share outputs of"},
                    {WHEN_BY_ROWS, "ranks share"},
                    {WHEN_STAGES, "there are stages"},
                    {WHEN_COMPARED, "ranks compare values"},
                    {WHEN_NOT_BY_ROWS, "ranks do not share"},
                    {WHEN_REQUESTED, "rows are requested"},
                    {WHEN_NOT_ENDING, "the call does not end a batch"},
                    {WHEN_NOT_BEGINNING, "the call does not begin a batch"}};
        Arena *a = p->graph->arena;
        const char *text = "";
        for (size_t i = 0; i < sizeof word / sizeof *word; i++)
                if (s->when & word[i].when) {
                        const bool rows = word[i].when & (WHEN_BY_OUTPUTS | WHEN_BY_ROWS | WHEN_NOT_BY_ROWS);
                        text = arena_printf(a, "%s%s%s", text, *text ? " and " : "", word[i].text);
                        text = rows ? arena_printf(a, "%s %s rows", text, dim_text(a, p->graph, s->rows))
                                    : text;
                }
        return text;
}

static const char *outputs_text(const Plan *p, const Step *s)
{
        const Graph *g = p->graph;
        const char *text = "";
        if (s->output)
                return output_name(s->output);
        for (int i = 0; i < g->noutput; i++)
                if (!g->output[i].tap && (s->outputs & output_bit(g, i)))
                        text = arena_printf(g->arena, "%s%s%s", text, *text ? " or " : "",
                                            output_name(&g->output[i]));
        if (s->outputs & WANTED_BY_TAPS)
                text = arena_printf(g->arena, "%s%sa tap", text, *text ? " or " : "");
        return text;
}

/* The inputs that are fed with these groups. */
static const char *groups_text(const Graph *g, uint64_t groups)
{
        const char *text = "";
        for (int i = 0; i < g->ninput; i++)
                if (groups >> g->input[i].group & 1)
                        text = arena_printf(g->arena, "%s%s%s", text, *text ? " and " : "",
                                            input_name(&g->input[i]));
        return *text ? text : "calls";
}

static void facts_of_barriers(StepFacts *f, const StepList *list)
{
        fact_number(f, "barriers", barriers_of(list, WAIT_ROWS));
        fact_number(f, "with one row", barriers_of(list, WAIT_STEP));
        fact_number(f, "where threads divide heads", barriers_of(list, WAIT_HEADS));
}

static StepFacts step_facts(const Plan *p, const Step *s)
{
        StepFacts f = {.plan = p};
        switch (s->op) {
        case STEP_CALL: facts_of_call(&f, s->kernel); break;
        case STEP_BARRIER: fact_text(&f, "when", waits_text(s->when)); break;
        case STEP_REPEAT:
                fact_text(&f, "region", s->kernel->name);
                if (s->kernel->repeat.region->along)
                        fact_text(&f, "positions",
                                  dim_text(p->graph->arena, p->graph,
                                           positions_of(p->graph, s->kernel->repeat.region)));
                else
                        fact_number(&f, "iterations", s->kernel->repeat.region->iterations);
                if (s->kernel->repeat.parts)
                        fact_number(&f, "parts", s->kernel->repeat.parts);
                if (s->by_stages)
                        fact_text(&f, "shared by", "stages");
                if (s->half)
                        fact_number(&f, "half", s->half);
                break;
        case STEP_BODY:
                fact_number(&f, "number", s->body);
                facts_of_barriers(&f, &s->inside);
                break;
        case STEP_ACTIVE:
        case STEP_EXCHANGE: fact_text(&f, "kernel", s->kernel->name); break;
        case STEP_IF_WANTED: fact_text(&f, "outputs", outputs_text(p, s)); break;
        case STEP_IF:
        case STEP_ONE_THREAD:
                if (s->when)
                        fact_text(&f, "when", condition_text(p, s));
                break;
        case STEP_GATHER:
                fact_text(&f, "buffer", s->shared->buffer->name);
                fact_text(&f, "rows", dim_text(p->graph->arena, p->graph, s->shared->rows));
                break;
        case STEP_SEND:
                fact_text(&f, "buffer", s->value->name);
                fact_text(&f, "to", s->last ? "all stages, from the last one" : "the next stage");
                break;
        case STEP_RECEIVE:
                fact_text(&f, "buffer", s->value->name);
                fact_text(&f, "from", s->last ? "the last stage" : "the stage before");
                break;
        case STEP_COMPARE: fact_text(&f, "buffer", s->value->name); break;
        case STEP_PART: fact_text(&f, "inputs", groups_text(p->graph, s->groups)); break;
        default: break;
        }
        return f;
}

/* --- formats ------------------------------------------------------------------------------------------------------------- */

/* "call layer_q, kind matmul, products 48x48" */
const char *step_line(const Plan *p, const Step *s)
{
        Arena *a = p->graph->arena;
        const StepFacts f = step_facts(p, s);
        const char *text = step_text[s->op];
        for (int n = 0; n < f.n; n++) {
                const StepFact *of = &f.of[n];
                text = arena_printf(a, n ? "%s, %s " : "%s ", text, of->key);
                text = of->text ? arena_printf(a, "%s%s", text, of->text)
                                : arena_printf(a, "%s%" PRId64, text, of->number);
        }
        return text;
}

static void dump_steps(FILE *file, const Plan *p, const StepList *list, int depth)
{
        for (int i = 0; i < list->n; i++) {
                fprintf(file, "%*s%s\n", depth * 2, "", step_line(p, list->step[i]));
                dump_steps(file, p, &list->step[i]->inside, depth + 1);
        }
}

/* {"step": "call", "kernel": "layer_q", "kind": "matmul", "products": "48x48"} */
static json_t *steps_json(const Plan *p, const StepList *list)
{
        json_t *all = json_array();
        for (int i = 0; i < list->n; i++) {
                const Step *s = list->step[i];
                const StepFacts f = step_facts(p, s);
                json_t *one = json_pack("{s:s}", "step", step_text[s->op]);
                for (int n = 0; n < f.n; n++)
                        json_object_set_new(one, f.of[n].key,
                                            f.of[n].text ? json_string(f.of[n].text)
                                                         : json_integer(f.of[n].number));
                if (s->inside.n)
                        json_object_set_new(one, "steps", steps_json(p, &s->inside));
                json_array_append_new(all, one);
        }
        return all;
}

/* --- main function --------------------------------------------------------------------------------------------------------------- */

void program_dump(FILE *f, const Plan *p)
{
        dump_steps(f, p, p->program, 0);
        fprintf(f, "%s\n", barriers_text(p));
}

void program_json(const Plan *p, json_t *to)
{
        json_object_set_new(to, "steps", steps_json(p, p->program));
        json_object_set_new(to, "barriers",
                            json_pack("{s:i, s:i, s:i}", "rows", barriers_of(p->program, WAIT_ROWS),
                                      "one_row", barriers_of(p->program, WAIT_STEP), "heads_divided",
                                      barriers_of(p->program, WAIT_HEADS)));
}
