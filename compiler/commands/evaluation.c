/* A model that is run once for each set of inputs: those that are given become what its outputs are. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands_private.h"

static int wrong(const Evaluation *e, const char *message)
{
        fprintf(stderr, "lathe %s: %s\n", e->command, message);
        return lacks_memory(message) ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

const Type *evaluation_type(const Evaluation *e, int output)
{
        return &e->m->graph->output[output].node->type;
}

int64_t evaluation_count(const Evaluation *e, int output)
{
        return type_count(evaluation_type(e, output), e->given.values.size);
}

static int make_room(Evaluation *e)
{
        const Graph *g = e->m->graph;
        double bytes = 0;
        e->output = NEW_ARRAY(&e->m->arena, float *, g->noutput);
        for (int i = 0; i < e->nwanted; i++)
                bytes += 4.0 * (double)evaluation_count(e, e->wanted[i]) * (double)e->times;
        if (bytes > (double)memory_available()) {
                fprintf(stderr,
                        "lathe %s: out of memory: the outputs take %.1f GB; --output names those that are "
                        "wanted\n",
                        e->command, 1e-9 * bytes);
                return WRONG_ENVIRONMENT;
        }
        for (int i = 0; i < e->nwanted; i++) {
                float **to = &e->output[e->wanted[i]];
                if (!*to &&
                    !(*to = malloc((size_t)(evaluation_count(e, e->wanted[i]) * e->times) * sizeof **to +
                                   64)))
                        return wrong(e, no_memory);
        }
        return DONE;
}

/* --- running ------------------------------------------------------------------------------------------------------------ */

int evaluation_engine(Evaluation *e)
{
        const Options *o = e->o;
        const char *why;
        e->plan = model_plan(e->m, o, target_find(o->ntarget ? o->target[0] : "native"));
        if (!e->plan)
                return failure_code(e->m);
        note_hashed(e->m, o, e->command);
        why = packed_weights(e->m, o, e->plan, &e->packed);
        if (why || e->packed.code) {
                if (why)
                        wrong(e, why);
                return e->packed.code ? e->packed.code : WRONG_ENVIRONMENT;
        }
        e->engine = engine_new(e->plan, e->packed.weights, o->threads, o->jit == JIT_AUTO ? JIT_TCC : o->jit,
                               &why);
        return e->engine ? DONE : wrong(e, why);
}

static const char *run_once(Evaluation *e, int64_t in_batch)
{
        const Graph *g = e->m->graph;
        void **input = NEW_ARRAY(&e->m->arena, void *, g->ninput);
        float **output = NEW_ARRAY(&e->m->arena, float *, g->noutput);
        const char *why = NULL;
        for (int i = 0; i < g->ninput; i++)
                if (!(input[i] = recorded_input(&e->given.values, i, in_batch)))
                        why = no_memory;
        for (int i = 0; i < g->noutput; i++)
                output[i] = e->output[i] ? e->output[i] + in_batch * evaluation_count(e, i) : NULL;
        EngineCall call = {(const void *const *)input, output, e->given.values.size};
        if (!why && g->past >= 0)
                why = engine_rewind(e->engine, 0);
        if (!why)
                why = g->past >= 0 ? engine_advance(e->engine, &call, e->given.values.size[g->time], 0)
                                   : engine_forward(e->engine, &call);
        for (int i = 0; i < g->ninput; i++)
                free(input[i]);
        return why;
}

static int run_all(Evaluation *e)
{
        for (int64_t i = 0; i < e->times; i++) {
                const char *why = run_once(e, i);
                if (why && e->given.values.batch)
                        why = arena_printf(&e->m->arena, "number %" PRId64 " of the batch: %s", i, why);
                if (why)
                        return wrong(e, why);
                progress("evaluating", PROGRESS_STEPS, i + 1, e->times);
        }
        return DONE;
}

int evaluation_run(Evaluation *e)
{
        e->times = e->given.values.batch ? e->given.values.batch : 1;
        int code = make_room(e);
        return code ? code : run_all(e);
}

void evaluation_forget(Evaluation *e)
{
        for (int i = 0; e->output && i < e->m->graph->noutput; i++)
                free(e->output[i]);
        e->output = NULL;
        recorded_free(&e->given.values);
        e->given.values = (Recorded){0};
}

void evaluation_free(Evaluation *e)
{
        evaluation_forget(e);
        engine_free(e->engine);
        packed_weights_close(&e->packed);
        tokenizer_free(&e->tokenizer);
}
