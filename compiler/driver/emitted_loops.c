/* The loops of a model in its C: those that become functions, and the one of the command line. */
#include <string.h>

#include "driver.h"

/* Makes the loop a function of the C, or notes in out->notes why it can't be one.  Returns an exit code. */
static int take_loop(Model *m, const Loop *l, const char *command, bool has_tokenizer, EmittedLoops *out)
{
        const Graph *g = m->graph;
        EmitLoop *new = &out->loop[out->nloop];
        const char *const *label = NULL;
        *new = (EmitLoop){.loop = l};
        const char *why = loop_fault(g, l, &new->parts);
        if (why)
                why = arena_printf(&m->arena, "it requires %s", why);
        if (!why && !strcmp(l->name, "transcribe") && !generates_when_fed(g))
                why = "the model can't generate";
        if (!why && !strcmp(l->name, "draft"))
                why = g->past < 0 ? "the model is not causal" : why_no_logits(g, g->time);
        if (!why && (!strcmp(l->name, "answer") || !strcmp(l->name, "rank")) && !has_tokenizer)
                why = "it requires a tokenizer: --tokenizer FILE";
        if (!why)
                why = why_no_loop_function(g, new);
        if (why) {
                text_printf(out->notes, "lathe %s: note: loop %s has no function in C: %s\n", command,
                            l->name, why);
                return DONE;
        }
        if (!strcmp(l->name, "classify")) {
                const Type *t = &g->output[new->parts.output].node->type;
                const int code = loop_labels(m, l, dim_value(t->dim[t->rank - 1], NULL), command, &label);
                if (code != DONE)
                        return code;
        }
        new->labelled = label != NULL;
        new->form = loop_form_text(g, l, &new->parts, label);
        out->nloop++;
        return DONE;
}

/* NULL, or why no command line can generate. */
static const char *why_no_generation(const Graph *g, const EmitLoop *transcribes, const Input **feeds)
{
        const char *why = why_not_generating(g);
        if (generates_when_fed(g)) {
                const Input *text = text_input(g);
                *feeds = transcribes                                 ? transcribes->parts.input
                         : text && is_fed_separately(g, text->group) ? text
                                                                     : NULL;
                return why_no_generate_command(g, *feeds);
        }
        return why ? why : untapped_outputs(g) > 1 ? "has more than one output" : NULL;
}

bool has_loops(const Graph *g)
{
        return g->nloop > 0 || generates_when_fed(g);
}

int emitted_loops(Model *m, const char *command, bool has_tokenizer, EmittedLoops *out)
{
        const Graph *g = m->graph;
        const Loop *last = g->nloop ? &g->loop[g->nloop - 1] : NULL;
        *out = (EmittedLoops){.generates = generates_when_fed(g),
                              .loop = NEW_ARRAY(&m->arena, EmitLoop, g->nloop + 1),
                              .notes = text_new(&m->arena)};
        for (int i = 0; i < g->nloop; i++) {
                const int code = strcmp(g->loop[i].name, "generate")
                                         ? take_loop(m, &g->loop[i], command, has_tokenizer, out)
                                         : DONE;
                if (code != DONE)
                        return code;
        }
        if (out->nloop && out->loop[out->nloop - 1].loop == last)
                out->main = &out->loop[out->nloop - 1];
        if (out->main && !strcmp(last->name, "draft"))
                out->why_no_main = "drafts for another model, and has no text of its own";
        else if (out->main && strcmp(last->name, "transcribe") != 0)
                out->why_no_main = why_no_loop_command(g, out->main);
        else if (last && !out->main && strcmp(last->name, "generate") != 0)
                out->why_no_main = arena_printf(&m->arena, "has a loop %s that can't be one", last->name);
        else
                out->why_no_main = why_no_generation(g, out->main, &out->feeds_prompt);
        return DONE;
}
