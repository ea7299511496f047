/* The model of --draft, which proposes tokens for another one: compiled in addition to it, with its own
 * weights, memory and threads.
 *
 * Both must have the same vocabulary: the same number of tokens and, if both have a tokenizer, the same
 * texts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* The first type of --quant, if it is for all weights; else NULL. */
static const char *type_of_all(Arena *a, const char *quant)
{
        const size_t n = quant ? strcspn(quant, ",") : 0;
        return n && !memchr(quant, '=', n) ? arena_strndup(a, quant, (int64_t)n) : NULL;
}

CommandOptions draft_options(Arena *a, const CommandOptions *o)
{
        const char *why;
        CommandOptions d = {.weights = o->draft.weights,
                            .first_weights =
                                    o->weights && is_packed_file(o->weights, &why) ? NULL : o->weights,
                            .chunk = o->chunk,
                            .slots = 1,
                            .draft.tokens = drafts_of(&o->draft),
                            .threads = o->threads,
                            .jit = o->jit,
                            .cache = o->cache,
                            .quant = type_of_all(a, o->quant),
                            .kv = o->kv,
                            .tune = o->tune,
                            .target = o->target};
        options_set_model(a, &d, o->draft.model);
        return d;
}

static const char *name_of(const DraftModel *d)
{
        return d->o.source.path ? d->o.source.path : d->o.file[0];
}

/* Prints a message that ends with `more`; returns an exit code. */
static int draft_refuse(const DraftModel *d, const char *why, const char *more)
{
        fprintf(stderr, "lathe: --draft %s %s%s%s\n", name_of(d), why, more ? ": " : "", more ? more : "");
        return lacks_memory(more) ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

/* Compares the texts of tokens; returns the end of a message, or NULL. */
static const char *other_text(DraftModel *d, const Tokenizer *t)
{
        const Tokenizer *own = &d->tokenizer;
        Arena *a = &d->m.arena;
        char *of_draft = arena_alloc(a, own->longest + 1), *of_model = arena_alloc(a, t->longest + 1);
        for (int32_t i = 0; i < t->vocab; i++) {
                const int n = token_label(own, i, of_draft), k = token_label(t, i, of_model);
                if (n == k && !memcmp(of_draft, of_model, (size_t)n))
                        continue;
                of_draft[n] = of_model[k] = 0;
                return arena_printf(a, "token %d is %s in it, but %s in this model", i,
                                    quoted_text(a, of_draft), quoted_text(a, of_model));
        }
        return NULL;
}

/* Number of logits of a position. */
static int64_t logits_of(const Graph *g)
{
        return dim_value(g->output[0].node->type.dim[1], NULL);
}

/* Checks that the draft's tokens are the model's; returns an exit code. */
static int check_vocabulary(DraftModel *d, const Model *m, const Tokenizer *t)
{
        const Graph *g = d->m.graph, *of = m->graph;
        const bool maps = d->nread && draft_vocabulary(g) >= 0; /* then by the tokens that it reads */
        const int64_t n = maps ? ids_of(g, g->time)->bound : logits_of(g),
                      k = maps ? ids_of(of, of->time)->bound : logits_of(of);
        Arena *a = &d->m.arena;
        if (n != k)
                return draft_refuse(d, "has another vocabulary",
                                    arena_printf(a,
                                                 "it has %" PRId64 " tokens, and %s has %" PRId64
                                                 "; both models need the same one",
                                                 n, m->graph->name, k));
        if (!t || !d->o.tokenizer)
                return DONE;
        if (!load_tokenizer(&d->m, &d->o, &d->tokenizer))
                return failure_code(&d->m);
        const char *other = other_text(d, t);
        return other ? draft_refuse(d, "has another vocabulary", other) : DONE;
}

static void note_hashed_draft(const DraftModel *d)
{
        if (!d->o.weights && d->m.graph->nweight)
                fprintf(stderr,
                        "lathe: note: the weights of --draft %s are generated from a hash of their names; "
                        "--draft-weights loads trained ones\n",
                        name_of(d));
}

/* Whether the file has weights in blocks, or packed ones, whose types are kept. */
static bool has_chosen_types(const char *path)
{
        const char *why;
        CkError error;
        bool chosen = path && is_packed_file(path, &why);
        Checkpoint *c = path && !chosen ? checkpoint_open(path, &error) : NULL;
        for (int i = 0; c && !chosen && i < checkpoint_count(c); i++)
                chosen = ck_type_values(checkpoint_at(c, i)->dtype) > 1;
        checkpoint_close(c);
        return chosen;
}

/* Sets sizes and tensors that are those of the first model; returns an exit code. */
static int take_from_first(DraftModel *d, const Model *m)
{
        const char *why = NULL;
        if (draft_sizes(d, m->graph, &why) && !model_elaborate(&d->m, &d->o, d->o.model))
                return WRONG_INPUT;
        if (why)
                return draft_refuse(d, arena_printf(&d->m.arena, "can't draft for %s", m->graph->name), why);
        if (draft_borrows(d->m.graph) && d->o.weights && d->o.first_weights &&
            !checkpoint_pair_comma(d->o.weights))
                d->o.weights = arena_printf(&d->m.arena, "%s,%s", d->o.weights, d->o.first_weights);
        return DONE;
}

int draft_model_load(DraftModel *d, Model *m)
{
        int code;
        if (d->o.quant && has_chosen_types(d->o.weights))
                d->o.quant = NULL;
        if (!model_load(&d->m, &d->o, &code))
                return code;
        const Loop *l = graph_loop(d->m.graph, "draft");
        LoopParts parts;
        if (l && m && (code = take_from_first(d, m)) != DONE)
                return code;
        l = graph_loop(d->m.graph, "draft");
        const char *why = l ? loop_fault(d->m.graph, l, &parts) : NULL;
        if (why)
                return draft_refuse(d, arena_printf(&d->m.arena, "can't draft: loop draft requires %s", why),
                                    NULL);
        if (l && !m)
                return draft_refuse(
                        d,
                        "reads values of the first model, which only `lathe run` and `lathe chat` pass to it",
                        NULL);
        why = l ? draft_taps(d, m->graph) : NULL;
        if (why)
                return draft_refuse(d, arena_printf(&d->m.arena, "can't draft for %s", m->graph->name), why);
        if (l)
                verify(m->graph, "draft");
        return DONE;
}

/* Whether its tokens can be chosen: by its tokens and the values that it reads. */
static const char *why_not_drafting(const DraftModel *d)
{
        const Graph *g = d->m.graph;
        if (!d->nread)
                return why_not_generating(g);
        return g->past < 0 ? "is not causal" : why_no_logits(g, g->time);
}

int draft_model_pass(DraftModel *d, const Model *m, const Tokenizer *t)
{
        if (!model_passes(&d->m, &d->o))
                return failure_code(&d->m);
        const char *why = why_not_drafting(d);
        if (!why)
                return check_vocabulary(d, m, t);
        draft_refuse(d, "can't draft", arena_printf(&d->m.arena, "it %s", why));
        note_not_causal(&d->m);
        return WRONG_INPUT;
}

int draft_model_open(DraftModel *d, const Model *m, const Plan *p, const Tokenizer *t)
{
        const int code = draft_model_pass(d, m, t);
        if (code != DONE)
                return code;
        d->plan = model_plan(&d->m, &d->o, p->target);
        if (!d->plan)
                return failure_code(&d->m);
        note_hashed_draft(d);
        const char *why = packed_weights(&d->m, &d->o, d->plan, &d->packed);
        if (why)
                draft_refuse(d, "has no weights", why);
        if (d->packed.code)
                return d->packed.code;
        d->engine = engine_new(d->plan, d->packed.weights, d->o.threads, d->o.jit, &why);
        if (!d->engine)
                return draft_refuse(d, "can't be run", why), WRONG_ENVIRONMENT;
        d->draft = draft_new(d->engine, d->plan, d->read, d->nread);
        if (!d->draft)
                return draft_refuse(d, "can't be run", no_memory);
        const int vocabulary = d->nread ? draft_vocabulary(d->m.graph) : -1;
        why = vocabulary < 0 ? NULL
                             : draft_read_vocabulary(d->draft, &d->m.arena, vocabulary,
                                                     row_elements(p, &m->graph->output[0].node->type));
        return why ? draft_refuse(d, "has another vocabulary", why) : DONE;
}

void draft_model_close(DraftModel *d)
{
        draft_free(d->draft);
        engine_free(d->engine);
        packed_weights_close(&d->packed);
        tokenizer_free(&d->tokenizer);
        model_free(&d->m);
}
