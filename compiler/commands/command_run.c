/* lathe run: a model and its loop: `loop generate { … }` and the others of language/loops.def. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands_private.h"
#include "import/import.h"

/* Functions for loops other than generate and unmask, by number. */
static int (*const loop_function[LOOPS])(LoopRun *r) = {
        [LOOP_classify] = run_classify,     [LOOP_answer] = run_answer,   [LOOP_embed] = run_embed,
        [LOOP_rank] = run_ranking,          [LOOP_denoise] = run_denoise, [LOOP_fill] = run_fill,
        [LOOP_transcribe] = run_transcribe,
};

/* The loop of --loop, or the last one of the model; NULL: none.  False after a message. */
static bool choose_loop(const Model *m, const CommandOptions *o, const Loop **loop)
{
        const Graph *g = m->graph;
        const char **names = NEW_ARRAY(g->arena, const char *, g->nloop + 1);
        *loop = g->nloop && !o->loop ? &g->loop[g->nloop - 1] : NULL;
        for (int i = 0; i < g->nloop; i++) {
                names[i] = g->loop[i].name;
                if (o->loop && !strcmp(names[i], o->loop))
                        *loop = &g->loop[i];
        }
        if (!o->loop || *loop)
                return true;
        const char *near = nearest_name(o->loop, names, g->nloop);
        fprintf(stderr, "lathe run: %s has no loop %s%s%s%s\n", g->name, o->loop,
                near ? "; did you mean " : "", near ? near : "; `lathe show MODEL loops` lists them",
                near ? "?" : "");
        return false;
}

static int run_model_loop(Model *m, const CommandOptions *o, const PackedWeights *begun, DraftModel *draft,
                          const Loop *loop, LoopId id)
{
        LoopRun r = {.e = {.o = o, .command = "run", .m = m, .packed = *begun}, .loop = loop, .draft = draft};
        const char *why = loop_fault(m->graph, loop, &r.parts);
        int code = !why ? DONE : loop_wrong(arena_printf(&m->arena, "loop %s requires %s", loop->name, why));
        r.e.wanted = &r.parts.output;
        r.e.nwanted = 1;
        if (code == DONE)
                code = loop_function[id](&r);
        evaluation_free(&r.e);
        return code;
}

static int run_drafting(const Model *m)
{
        fprintf(stderr,
                "lathe run: %s drafts for another model, and has no text of its own: `lathe run MODEL "
                "--draft FILE`\n",
                m->graph->name);
        return WRONG_INPUT;
}

/* only_chat: for `lathe chat` */
static int run_chosen(Model *m, const CommandOptions *o, const PackedWeights *begun, DraftModel *draft,
                      bool only_chat)
{
        const Loop *loop;
        if (!choose_loop(m, o, &loop))
                return WRONG_USAGE;
        LoopId id = loop ? (LoopId)loop_number(loop->name) : LOOP_generate;
        if (id == LOOP_draft)
                return run_drafting(m);
        const char *command = arena_printf(&m->arena, "run %s", loop_info[id].name);
        if (!options_fit(o, command))
                return WRONG_USAGE;
        if (id == LOOP_generate || id == LOOP_unmask)
                return run_generate(m, o, begun, draft, only_chat ? RUN_CHAT : RUN_TEXT, NULL,
                                    id == LOOP_unmask ? loop : NULL);
        if (!only_chat)
                return run_model_loop(m, o, begun, draft, loop, id);
        fprintf(stderr, "lathe chat: %s holds no conversations: its loop is %s; `lathe run` runs it\n",
                m->graph->name, loop->name);
        return WRONG_INPUT;
}

/* Whether --draft names a head of the published model, instead of a file. */
static bool is_head(const CommandOptions *o)
{
        const char *name = o->draft.model;
        return o->source.path && !strpbrk(name, "/.") && access(name, F_OK) != 0;
}

int draft_given(DraftModel *d, Model *m, const CommandOptions *o)
{
        int code = WRONG_INPUT;
        if (!o->draft.model)
                return DONE;
        d->o = draft_options(&m->arena, o);
        if (is_head(o)) {
                options_set_model(&m->arena, &d->o, o->source.path);
                d->o.source.head = o->draft.model;
                d->o.weights = o->draft.weights ? o->draft.weights : o->weights;
                d->o.given[OPT_RANDOM] = o->given[OPT_RANDOM];
        }
        return source_open(&m->arena, &d->o, (SourceParts){true, o->tokenizer != NULL, true, true}, &code)
                       ? draft_model_load(d, m)
                       : code;
}

static int run_or_chat(const CommandOptions *o, bool only_chat)
{
        Model m;
        PackedWeights begun;
        DraftModel draft = {.nread = 0};
        int code;
        if (!cache_has_effect(o, "run"))
                return WRONG_USAGE;
        packed_weights_begin(o, &begun);
        const bool loaded = model_load(&m, o, &code);
        const Graph *g = loaded ? m.graph : NULL;
        const Loop *loop = !g         ? NULL
                           : o->loop  ? graph_loop(g, o->loop)
                           : g->nloop ? &g->loop[g->nloop - 1]
                                      : NULL;
        m.block = unmask_block_kept(&m, o, loop);
        if (!loaded || (code = draft_given(&draft, &m, o)) != DONE || !model_passes(&m, o)) {
                code = code ? code : WRONG_INPUT;
                packed_weights_close(&begun);
        } else {
                code = run_chosen(&m, o, &begun, &draft, only_chat);
        }
        draft_model_close(&draft);
        model_free(&m);
        return code;
}

int run_command(const CommandOptions *o)
{
        return run_or_chat(o, false);
}

int chat_command(const CommandOptions *o)
{
        const OptionId text[] = {OPT_RAW, OPT_BEAMS};
        for (int i = 0; i < 2; i++)
                if (o->given[text[i]]) {
                        fprintf(stderr,
                                "lathe chat: %s is for a text, not a conversation: use it with `lathe run`\n",
                                option_info(text[i])->name);
                        return WRONG_USAGE;
                }
        return run_or_chat(o, true);
}
