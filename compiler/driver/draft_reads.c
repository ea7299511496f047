/* loop draft: the values of the first model that a model of --draft reads, and its own values that take their place
 * for the second drafted token and later ones. */
#include <string.h>

#include "driver.h"

/* -1: none */
static int draft_output(const Graph *g, const char *name)
{
        for (int i = 0; i < g->noutput; i++)
                if (!strcmp(output_name(&g->output[i]), name))
                        return i;
        return -1;
}

/* The output next_NAME for an input NAME; -1: none. */
static int next_output(const Graph *g, const Input *in)
{
        return draft_output(g, arena_printf(g->arena, "next_%s", input_name(in)));
}

int draft_vocabulary(const Graph *g)
{
        return draft_output(g, "vocabulary");
}

/* The reals that the model reads, in the graph's arena; returns their number. */
static int draft_reads(const Graph *g, DraftRead **read)
{
        const Loop *l = graph_loop(g, "draft");
        int n = 0;
        *read = NEW_ARRAY(g->arena, DraftRead, g->ninput);
        for (int i = 0; l && i < g->ninput; i++)
                if (g->input[i].type.dtype == REAL)
                        (*read)[n++] = (DraftRead){.value = loop_text_setting(l, input_name(&g->input[i])),
                                                   .input = i,
                                                   .from = -1,
                                                   .next = next_output(g, &g->input[i])};
        return n;
}

/* A row for each position, of a fixed width. */
static bool has_draft_rows(const Type *t, Dim time)
{
        bool fixed = t->dtype == REAL && t->rank > 0 && dim_equal(t->dim[0], time);
        for (int a = 1; a < t->rank; a++)
                fixed = fixed && dim_is_fixed(t->dim[a]);
        return fixed;
}

/* The tokens of its logits, if it has an output of them: one for each. */
static const char *vocabulary_fault(const Graph *g)
{
        const int i = draft_vocabulary(g);
        const Type *t = i >= 0 ? &g->output[i].node->type : NULL, *logits = &g->output[0].node->type;
        return !t || (t->rank == 1 && logits->rank == 2 && dim_equal(t->dim[0], logits->dim[1]))
                       ? NULL
                       : arena_printf(
                                 g->arena,
                                 "an output vocabulary with the token of each logit, and it is %s for %s %s",
                                 type_text(g->arena, g, t), output_name(&g->output[0]),
                                 type_text(g->arena, g, logits));
}

const char *draft_fault(const Graph *g, const LoopParts *parts)
{
        DraftRead *read;
        const int n = draft_reads(g, &read);
        bool reads = false;
        const char *why = vocabulary_fault(g);
        if (why)
                return why;
        for (int i = 0; i < g->ninput; i++)
                if (&g->input[i] != parts->input &&
                    !has_draft_rows(&g->input[i].type, parts->input->type.dim[0]))
                        return arena_printf(
                                g->arena,
                                "inputs of reals [time, width] in addition to its token ids, and %s is %s%s",
                                input_name(&g->input[i]),
                                g->input[i].type.dtype == REAL ? "" : "of integers ",
                                type_text(g->arena, g, &g->input[i].type));
        for (int i = 0; i < n; i++) {
                const Input *in = &g->input[read[i].input];
                const Type *next = read[i].next >= 0 ? &g->output[read[i].next].node->type : NULL;
                if (next && !type_equal(next, &in->type))
                        return arena_printf(g->arena, "next_%s like %s, %s, and it is %s", input_name(in),
                                            input_name(in), type_text(g->arena, g, &in->type),
                                            type_text(g->arena, g, next));
                if (!next && !read[i].value)
                        return arena_printf(g->arena,
                                            "a setting %s, the name of the value that the input reads, or an "
                                            "output next_%s",
                                            input_name(in), input_name(in));
                reads |= read[i].value != NULL;
        }
        return reads ? NULL
                     : arena_printf(
                               g->arena,
                               "an input of reals [time, width] with a setting that names a value of the "
                               "other model, and %s has none",
                               g->name);
}

/* Compares the rows of a value with those of the input that reads it; returns an error message, or NULL. */
static const char *other_rows(const DraftModel *d, const Graph *of, const DraftRead *r)
{
        const Graph *g = d->m.graph;
        const Input *in = &g->input[r->input];
        const Type *t = &of->output[r->from].node->type;
        const int time = growing_dimension(of);
        bool same = time >= 0 && has_draft_rows(t, dim_named(time)) && t->rank == in->type.rank;
        for (int a = 1; same && a < t->rank; a++)
                same = dim_equal(t->dim[a], in->type.dim[a]);
        return same ? NULL
                    : arena_printf(d->m.graph->arena, "its input %s is %s, but %s of %s is %s",
                                   input_name(in), type_text(g->arena, g, &in->type), r->value, of->name,
                                   type_text(of->arena, of, t));
}

static const Setting *hyper_number(const Graph *g, const char *name)
{
        for (int i = 0; i < g->nhyper; i++)
                if (g->hyper[i].kind == SETTING_NUMBER && !strcmp(g->hyper[i].name, name))
                        return &g->hyper[i];
        return NULL;
}

bool draft_sizes(DraftModel *d, const Graph *of, const char **why)
{
        static const char prefix[] = "first_";
        const Graph *g = d->m.graph;
        bool changed = false;
        for (int i = 0; i < g->nhyper; i++) {
                const Setting *own = &g->hyper[i];
                if (own->kind != SETTING_NUMBER || strncmp(own->name, prefix, strlen(prefix)) != 0)
                        continue;
                const Setting *first = hyper_number(of, own->name + strlen(prefix));
                if (!first)
                        *why = arena_printf(g->arena,
                                            "its hyperparameter %s is %s of this model, which has none",
                                            own->name, own->name + strlen(prefix));
                if (!first || d->o.noverride == MAX_OVERRIDES)
                        return false;
                changed |= first->number != own->number;
                d->o.override[d->o.noverride++] =
                        (Override){own->name, arena_printf(of->arena, "%.17g", first->number), of->name};
        }
        return changed;
}

bool draft_borrows(const Graph *g)
{
        for (int i = 0; i < g->nentry; i++)
                if (!strncmp(g->entry[i].name, CK_FIRST, strlen(CK_FIRST)))
                        return true;
        return false;
}

const char *draft_taps(DraftModel *d, Graph *of)
{
        const char *why = NULL;
        d->nread = draft_reads(d->m.graph, &d->read);
        for (int i = 0; i < d->nread && !why; i++) {
                if (!d->read[i].value)
                        continue;
                d->read[i].from = tap_add(of, d->read[i].value, &why);
                if (d->read[i].from >= 0)
                        why = other_rows(d, of, &d->read[i]);
        }
        return why;
}
