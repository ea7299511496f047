/* The pipeline: from a file to a graph, and through the passes (pass_run.c) to a plan. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

static void model_new(Model *m)
{
        *m = (Model){0};
        m->names.arena = m->diag.arena = &m->arena;
}

static bool model_parse(Model *m, const Source *source)
{
        m->program = program_load(&m->arena, &m->names, &m->diag, source->path, source);
        diag_print(&m->diag, stderr);
        return m->program && !m->diag.count;
}

bool model_open(Model *m, const char *path, int *code)
{
        const char *why = NULL;
        model_new(m);
        *code = WRONG_ENVIRONMENT;
        const Source *given = read_source(&m->arena, path, &why);
        if (!given) {
                fprintf(stderr, "lathe: can't read %s: %s\n", path, why);
                return false;
        }
        *code = WRONG_INPUT;
        if (memchr(given->text, 0, (size_t)given->length)) {
                const Format *format = format_of((const unsigned char *)given->text, given->length);
                fprintf(stderr,
                        "lathe: %s: this is %s; expected a model file, which is text (docs/first-model.md)\n",
                        path, format ? format->name : "binary data");
                return false;
        }
        return model_parse(m, given);
}

bool model_open_text(Model *m, const char *path, const char *text)
{
        model_new(m);
        return model_parse(m,
                           source_new(&m->arena, path, arena_strdup(&m->arena, text), (int32_t)strlen(text)));
}

bool model_elaborate(Model *m, const CommandOptions *o, const char *which)
{
        checkpoint_close(m->checkpoint);
        m->checkpoint = NULL;
        m->not_causal = NULL;
        m->rests = NULL;
        m->recurrences = NULL;
        m->properties = 1u << PROPERTY_ELABORATED | 1u << PROPERTY_MERGEABLE | 1u << PROPERTY_WHOLE |
                        1u << PROPERTY_TOGETHER;
        m->graph = m->oracle = elaborate_model(m->program, which, o->override, o->noverride, &m->diag);
        diag_print(&m->diag, stderr);
        if (!m->graph || m->diag.count)
                return false;
        m->graph->first_iterations = o->first_iterations && o->noverride > 0;
        const char *why;
        for (int i = 0; i < o->tap.n; i++)
                if (!taps_add(m->graph, o->tap.at[i], &why)) {
                        fprintf(stderr, "lathe: %s\n", why);
                        return false;
                }
        verify(m->graph, "elaborate");
        return true;
}

bool model_load(Model *m, const CommandOptions *o, int *code)
{
        *m = (Model){0};
        *code = WRONG_USAGE;
        if (o->nadapter && !o->weights) {
                fprintf(stderr, "lathe: --lora changes weights, and %s has none; --weights FILE takes them\n",
                        o->file[0]);
                return false;
        }
        *code = WRONG_INPUT;
        bool open = o->source.text ? model_open_text(m, o->file[0], o->source.text)
                                   : model_open(m, o->file[0], code);
        return open && model_elaborate(m, o, o->model);
}

void model_free(Model *m)
{
        checkpoint_close(m->checkpoint);
        arena_free(&m->arena);
}

static bool refuse_tap(Model *m, const Output *o, const char *why)
{
        if (m->taps_may_fail)
                return false;
        diag_error(&m->diag, o->span, "%s of a causal model can't be given position by position: %s", o->tap,
                   why);
        note_instances(&m->diag, o->node->where);
        diag_print(&m->diag, stderr);
        return false;
}

static bool refuse_loop(Model *m, const Loop *l, const char *why)
{
        const Output *first = &m->oracle->output[0];
        diag_error(&m->diag, l->span, "loop generate chooses tokens by the first output, and %s %s",
                   m->graph->name, why);
        diag_note(&m->diag, first->span, "%s %s", first->name,
                  type_text(&m->arena, m->oracle, &first->node->type));
        diag_print(&m->diag, stderr);
        return false;
}

/* Why there is no state form although each output is causal: its operands are not available call by call. */
static const char *no_state_of(Model *m, const Stuck *stuck)
{
        const char *op = op_info[stuck->node->op].text, *name = stuck->node->name;
        return arena_printf(&m->arena, "%s%s%s%s is causal, but can't be made from call to call: %s",
                            name ? name : op, name ? " (" : "", name ? op : "", name ? ")" : "", stuck->why);
}

/* Whether the model has a state form without its taps, which are its last outputs. */
static bool has_steps_without_taps(Model *m, GraphFacts *facts)
{
        Graph *g = m->graph;
        const int all = g->noutput;
        Stuck ignored;
        while (g->noutput && g->output[g->noutput - 1].tap)
                g->noutput--;
        const bool has = incremental(g, facts, &ignored) != NULL;
        g->noutput = all;
        return has;
}

bool make_causal(Model *m, Graph **steps)
{
        int time = growing_dimension(m->graph);
        if (time < 0)
                return true;
        GraphFacts *facts = graph_facts(&m->arena, m->graph, time);
        CausalResult proof = causal_prove(&m->arena, facts);
        const int64_t block = proof.causal ? 0 : m->block;
        if (block) {
                facts = graph_facts_in_blocks(&m->arena, m->graph, time, block);
                proof = causal_prove(&m->arena, facts);
        }
        Stuck stuck = {proof.culprit, proof.why};
        if (proof.causal && proof.tap_why)
                return refuse_tap(m, &m->graph->output[proof.output], proof.tap_why);
        *steps = proof.causal ? incremental(m->graph, facts, &stuck) : NULL;
        if (*steps)
                (*steps)->block = block;
        m->not_causal = *steps ? NULL : stuck.node;
        m->why_not = *steps ? NULL : proof.causal ? no_state_of(m, &stuck) : proof.why;
        m->delay = proof.delay;
        const Output *last = m->graph->noutput ? &m->graph->output[m->graph->noutput - 1] : NULL;
        if (proof.causal && !*steps && last && last->tap && has_steps_without_taps(m, facts))
                return refuse_tap(m, last, m->why_not);
        if (*steps) {
                m->rests = proof.rests;
                m->why_rests = proof.why_rests;
        }
        return true;
}

/* Hints that outputs which read a bounded future are causal if they are delayed. */
static void hint_delay(Model *m)
{
        const Graph *g = m->graph;
        const Type *t = &g->output[0].node->type;
        const char *before = "", *behind = "";
        int axis = 0;
        while (axis < t->rank - 1 && t->dim[axis].per[growing_dimension(g)] == 0)
                axis++;
        for (int i = axis + 1; axis > 0 && i < t->rank; i++)
                behind = arena_printf(&m->arena, "%s, ..", behind);
        if (axis > 0)
                before = ".., ";
        diag_hint(&m->diag,
                  "to make it causal, delay its outputs by %" PRId64
                  " position%s: output %s = pad(.., axis: %d, before: %" PRId64 ")[%s..-%" PRId64 "%s]",
                  m->delay, m->delay == 1 ? "" : "s", g->output[0].name, axis, m->delay, before, m->delay,
                  behind);
}

/* Notes where and why the model is not causal. */
static void add_why_not_causal(Model *m)
{
        const Output *first = &m->graph->output[0];
        if (m->not_causal) {
                diag_note(&m->diag, m->not_causal->span, "%s", m->why_not);
                note_instances(&m->diag, m->not_causal->where);
                if (m->delay > 0)
                        hint_delay(m);
        } else if (growing_dimension(m->graph) >= 0) {
                diag_hint(&m->diag, "the causal pass is off");
        } else if (m->graph->noutput) {
                diag_note(&m->diag, first->span, "no named dimension is of both an input and an output");
        }
}

void note_not_causal(Model *m)
{
        if (m->graph->past >= 0)
                return;
        diag_clear(&m->diag);
        add_why_not_causal(m);
        diag_print(&m->diag, stderr);
}

/* Whether tokens can be selected as `loop generate` states; else reports it. */
static bool generation_stands(Model *m, const CommandOptions *o, const Loop *l)
{
        const char *why = why_no_logits(m->oracle, growing_dimension(m->oracle));
        if (o->off[PASS_causal] || graph_loop(m->graph, "unmask")) /* then loop generate has only settings */
                return true;
        if (m->graph->past >= 0)
                return !why || refuse_loop(m, l, why);
        diag_error(&m->diag, l->span, "loop generate requires a causal model, but %s is not causal",
                   m->graph->name);
        if (l->inherited)
                diag_hint(&m->diag, "%s inherits the loop; `loop generate none` in it removes it",
                          m->graph->name);
        add_why_not_causal(m);
        diag_print(&m->diag, stderr);
        return false;
}

/* Whether the model meets the requirements of its own loops, and of generate; else reports it.  Those of
 * inherited loops are checked when they run: a descendant may lack an output. */
static bool loops_stand(Model *m, const CommandOptions *o)
{
        for (int i = 0; i < m->graph->nloop; i++) {
                const Loop *l = &m->graph->loop[i];
                LoopParts parts;
                if (loop_number(l->name) == LOOP_generate) {
                        if (!generation_stands(m, o, l))
                                return false;
                        continue;
                }
                const char *why = l->inherited ? NULL : loop_fault(m->oracle, l, &parts);
                if (!why && !l->inherited && loop_number(l->name) == LOOP_unmask)
                        why = loop_fault(m->graph, l, &parts); /* it must not be causal */
                if (!why)
                        continue;
                diag_error(&m->diag, l->span, "loop %s requires %s", l->name, why);
                diag_print(&m->diag, stderr);
                return false;
        }
        return true;
}

int ranks_of(const CommandOptions *o)
{
        return o->ranks.n ? o->ranks.count[0] : o->given[OPT_RANKED];
}

/* Explains states that --kv does not change. */
static void explain_states(const Graph *g, Storage storage)
{
        for (int i = 0; i < g->nstate && storage != STORAGE_F32; i++)
                if (g->state[i]->storage != storage)
                        fprintf(stderr,
                                "%s: stored in f32: not only attention reads it, as keys or as values\n",
                                g->state[i]->name);
}

/* Whether --kv changes a state; false after a message.  With disabled passes there may be no keys and
 * values. */
static bool kv_has_effect(Model *m, const CommandOptions *o)
{
        const Graph *g = m->graph;
        bool has = !o->kv || !o->given[OPT_KV];
        for (int i = 0; i < PASS_COUNT; i++)
                has |= o->off[i];
        for (int i = 0; i < g->nstate; i++)
                has |= g->state[i]->storage == o->kv;
        if (has)
                return true;
        fprintf(stderr, "lathe: --kv has no effect: %s keeps no keys and values between calls\n", g->name);
        if (g->past < 0)
                note_not_causal(m);
        explain_states(g, o->kv);
        return false;
}

bool model_passes(Model *m, const CommandOptions *o)
{
        PassRun r = {.m = m, .o = o, .properties = m->properties};
        if (!passes_run(&r, 0, (PassId)(GRAPH_PASSES - 1)))
                return false;
        m->properties = r.properties;
        return loops_stand(m, o) && kv_has_effect(m, o);
}

bool model_check(Model *m, const CommandOptions *o, const char *which)
{
        diag_clear(&m->diag);
        if (!model_elaborate(m, o, which))
                return false;
        bool mapped = weights_check(m->graph, &m->diag);
        diag_print(&m->diag, stderr);
        diag_clear(&m->diag);
        bool passed = model_passes(m, o);
        if (passed && m->rests) {
                diag_note(&m->diag, m->rests->span, "%s is causal if its values are finite: %s",
                          m->graph->name, m->why_rests);
                note_instances(&m->diag, m->rests->where);
                diag_print(&m->diag, stderr);
        }
        return passed && mapped;
}

/* --- plans ----------------------------------------------------------------------------------------------------------- */

static const char *carried_name(const Body *b, int index)
{
        const char *name = b->next[index]->name;
        for (int i = 0; i < b->nnode; i++)
                if (b->node[i]->op == OP_CARRY && b->node[i]->attr.index == index && b->node[i]->name)
                        name = b->node[i]->name;
        return name;
}

/* Adds a line for each along, and the report of the passes about recurrences, to the explanations of fusion. */
static void explain_alongs(Model *m, Text *said, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                const Region *r = n->op == OP_REPEAT ? n->attr.region : NULL;
                if (r && r->along) {
                        text_printf(said,
                                    "along %s at line %d: by steps, one position after another; it carries",
                                    m->graph->along[r->along - 1].name, span_line(n->span));
                        for (int c = 0; c < r->ncarry; c++) {
                                const char *name = carried_name(r->body[0], c);
                                text_printf(said, "%s %s%s%s", c ? "," : "", name ? name : "",
                                            name ? " " : "", type_text(&m->arena, m->graph, &n->in[c]->type));
                        }
                        text_printf(said, "%s\n", r->ncarry ? "" : " nothing");
                }
                for (int k = 0; r && k < r->nbody; k++)
                        explain_alongs(m, said, r->body[k]);
        }
}

static void explain_recurrences(Model *m, Plan *p)
{
        Text *said = text_new(&m->arena);
        explain_alongs(m, said, m->graph->top);
        if (m->recurrences)
                text_put(said, m->recurrences->data);
        if (!said->n)
                return;
        char *end, *line = said->data;
        for (; (end = strchr(line, '\n')); line = end + 1) {
                *end = 0;
                GROW(&m->arena, p->explained.line, p->explained.n, p->explained.cap);
                p->explained.line[p->explained.n++] = line;
        }
}

static Plan *plan_begin(Model *m, const CommandOptions *o, const Target *t)
{
        const char *c_name = o->prefix ? o->prefix : c_model_name(&m->arena, m->graph->name);
        const int64_t rewind = o->given[OPT_REWIND] ? o->rewind : drafts_of(&o->draft);
        Plan *p = plan_new(&m->arena, m->graph, c_name, t, o->chunk, o->slots, rewind, o->pages, o->off);
        p->sharing.ranks = ranks_of(o);
        p->sharing.prompt_rows = o->given[OPT_PROMPT_ROWS];
        p->sharing.stages = o->ranks.stages > 1 ? o->ranks.stages : 1;
        explain_recurrences(m, p);
        return p;
}

/* Runs all passes; false: no code is possible, which is reported. */
static bool plan_passes(Model *m, const CommandOptions *o, Plan *p)
{
        PassRun r = {.m = m, .o = o, .p = p, .properties = m->properties};
        if (!passes_run(&r, GRAPH_PASSES, (PassId)(PASS_COUNT - 1))) {
                if (p->alone) {
                        fprintf(stderr, "lathe: --slots: %s\n", p->alone);
                        note_not_causal(m);
                } else {
                        diag_print(&m->diag, stderr);
                }
                return false;
        }
        bool shown = false;
        for (PassId pass = GRAPH_PASSES; pass < PASS_COUNT; pass++)
                shown |= o->dump[pass] && pass != PASS_storage && pass != PASS_lower;
        if (shown)
                plan_dump(stdout, p);
        return true;
}

/* NULL, or why an option has no effect on the plan. */
static const char *plan_fault(Model *m, const CommandOptions *o, const Plan *p)
{
        if (p->pages && !paged_states(p))
                return arena_printf(&m->arena,
                                    "--pages: %s has no state that only attention reads, as keys or as "
                                    "values; build it without",
                                    m->graph->name);
        if (o->given[OPT_REWIND] && m->graph->past < 0)
                return arena_printf(&m->arena,
                                    "--rewind has no effect: %s is not causal, it keeps no positions",
                                    m->graph->name);
        if (!o->given[OPT_PROMPT_ROWS] || !p->sharing.ranks || (m->graph->past >= 0 && calls_share_rows(p)))
                return NULL;
        return arena_printf(&m->arena, "--prompt-rows has no effect: %s %s", m->graph->name,
                            m->graph->past < 0
                                    ? "is not causal, ranks share the rows of its calls as they are"
                                    : "computes less than nine tenths by rows or heads that ranks could "
                                      "share");
}

static void plan_explained(Model *m, const CommandOptions *o, const Plan *p)
{
        if (m->graph->past < 0 && m->not_causal)
                note_not_causal(m);
        show_mixture(stderr, &m->arena, m->graph);
        const char *note = m->checkpoint && !o->quant && (!o->source.path || o->given[OPT_WEIGHTS])
                                   ? scaled_note(&m->arena, m->checkpoint)
                                   : NULL; /* of a source without other weights the import has printed it */
        if (note)
                fprintf(stderr, "%s\n", note);
        explain_states(m->graph, o->kv);
        for (int i = 0; i < m->absorbed.n; i++)
                fprintf(stderr, "%s\n", m->absorbed.line[i]);
        for (int i = 0; i < p->explained.n; i++)
                fprintf(stderr, "%s\n", p->explained.line[i]);
}

Plan *model_plan(Model *m, const CommandOptions *o, const Target *t)
{
        if (o->given[OPT_CHUNK] && m->graph->past < 0 && !o->off[PASS_causal] &&
            (o->slots == 1 || !m->graph->nnamed)) {
                fprintf(stderr, "lathe: --chunk has no effect: %s is not causal, a call takes all of it\n",
                        m->graph->name);
                note_not_causal(m);
                return NULL;
        }
        Plan *p = plan_begin(m, o, t);
        if (!plan_passes(m, o, p))
                return NULL;
        const char *fault = plan_fault(m, o, p);
        if (fault)
                fprintf(stderr, "lathe: %s\n", fault);
        else if (o->given[OPT_EXPLAIN])
                plan_explained(m, o, p);
        return fault ? NULL : p;
}

bool model_takes_several(Model *m, const CommandOptions *o, const Target *t, int slots)
{
        const Graph *g = m->graph;
        if (g->past >= 0 || g->nnamed != 1 || o->given[OPT_CHUNK])
                return false;
        CommandOptions several = *o;
        several.slots = slots;
        several.tune = NULL;
        PassRun r = {.m = m, .o = &several, .p = plan_begin(m, &several, t), .properties = m->properties};
        bool good = passes_run(&r, GRAPH_PASSES, PASS_batch);
        diag_clear(&m->diag);
        return good;
}

int64_t parameter_count(const Graph *g)
{
        int64_t n = 0;
        for (int i = 0; i < g->nweight; i++)
                n += g->weight[i]->slots * type_count(&g->weight[i]->type, NULL);
        return n;
}
