/* lathe run: a model and its loop: `loop generate { … }` and the others of language/loops.def. */
#include <stdio.h>
#include <string.h>

#include "commands_private.h"

/* Functions for loops other than generate, by number. */
static int (*const loop_function[LOOPS])(LoopRun *r) = {
        [LOOP_classify] = run_classify, [LOOP_embed] = run_embed,           [LOOP_denoise] = run_denoise,
        [LOOP_fill] = run_fill,         [LOOP_transcribe] = run_transcribe,
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

static int run_model_loop(Model *m, const CommandOptions *o, const PackedWeights *begun, const Loop *loop,
                          LoopId id)
{
        LoopRun r = {.e = {.o = o, .command = "run", .m = m, .packed = *begun}, .loop = loop};
        const char *why = loop_fault(m->graph, loop, &r.parts);
        int code = !why ? DONE : loop_wrong(arena_printf(&m->arena, "loop %s requires %s", loop->name, why));
        r.e.wanted = &r.parts.output;
        r.e.nwanted = 1;
        if (code == DONE)
                code = loop_function[id](&r);
        evaluation_free(&r.e);
        return code;
}

static int run_chosen(Model *m, const CommandOptions *o, const PackedWeights *begun)
{
        const Loop *loop;
        if (!choose_loop(m, o, &loop))
                return WRONG_USAGE;
        LoopId id = loop ? (LoopId)loop_number(loop->name) : LOOP_generate;
        const char *command = arena_printf(&m->arena, "run %s", loop_info[id].name);
        if (!options_fit(o, command))
                return WRONG_USAGE;
        return id == LOOP_generate ? run_generate(m, o, begun, NULL) : run_model_loop(m, o, begun, loop, id);
}

int run_command(const CommandOptions *o)
{
        Model m;
        PackedWeights begun;
        int code;
        if (!cache_has_effect(o, "run"))
                return WRONG_USAGE;
        packed_weights_begin(o, &begun);
        if (!model_load(&m, o, &code) || !model_passes(&m, o)) {
                code = code ? code : WRONG_INPUT;
                packed_weights_close(&begun);
        } else {
                code = run_chosen(&m, o, &begun);
        }
        model_free(&m);
        return code;
}
