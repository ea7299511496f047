/* Runs a model for each set of inputs, and returns its outputs.  Texts of a batch share calls, as many as fit
 * into one, with the bits of separate calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

enum { MAX_TOGETHER = 64 /* sequences of a call */ };

const Type *evaluation_type(const Evaluation *e, int output)
{
        return &e->m->graph->output[output].node->type;
}

int64_t evaluation_count(const Evaluation *e, int output)
{
        return type_count(evaluation_type(e, output), e->given.values.size);
}

static int evaluation_room(Evaluation *e)
{
        const Graph *g = e->m->graph;
        double bytes = 0;
        e->output = NEW_ARRAY(&e->m->arena, float *, g->noutput);
        for (int i = 0; i < e->nwanted; i++)
                bytes += 4.0 * (double)evaluation_count(e, e->wanted[i]) * (double)e->times;
        if (bytes > (double)memory_available()) {
                fprintf(stderr,
                        "lathe %s: out of memory: the outputs take %.1f GB; --output selects outputs\n",
                        e->command, 1e-9 * bytes);
                return WRONG_ENVIRONMENT;
        }
        for (int i = 0; i < e->nwanted; i++) {
                float **to = &e->output[e->wanted[i]];
                if (!*to &&
                    !(*to = malloc((size_t)(evaluation_count(e, e->wanted[i]) * e->times) * sizeof **to +
                                   64)))
                        return command_error(e->command, no_memory);
        }
        return DONE;
}

/* --- running ------------------------------------------------------------------------------------------------------------ */

int evaluation_engine(Evaluation *e)
{
        const CommandOptions *o = e->o;
        const Target *target = chosen_target(o);
        const int64_t batch = e->given.values.batch;
        const int slots = batch < MAX_TOGETHER ? (int)batch : MAX_TOGETHER;
        const char *why;
        CommandOptions several = *o;
        several.slots = batch > 1 && model_takes_several(e->m, o, target, slots) ? slots : 1;
        e->plan = model_plan(e->m, &several, target);
        if (!e->plan)
                return failure_code(e->m);
        note_hashed(e->m, o, e->command);
        why = packed_weights(e->m, o, e->plan, &e->packed);
        if (why || e->packed.code) {
                if (why)
                        command_error(e->command, why);
                return e->packed.code ? e->packed.code : WRONG_ENVIRONMENT;
        }
        e->engine = engine_new(e->plan, e->packed.weights, o->threads, o->jit == JIT_AUTO ? JIT_TCC : o->jit,
                               &why);
        return e->engine ? DONE : command_error(e->command, why);
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

/* Number of items of the batch per call. */
static int64_t max_together(const Evaluation *e)
{
        const Plan *p = e->plan;
        if (p->slots == 1)
                return 1;
        const int64_t n = p->rows / e->given.values.size[varying_size(e->m->graph)];
        return n < p->slots ? n : p->slots;
}

/* Values of an input for n items of the batch, concatenated; NULL: out of memory. */
static void *joined_input(Evaluation *e, int input, int64_t first, int64_t n)
{
        const size_t bytes = 4 * (size_t)type_count(&e->m->graph->input[input].type, e->given.values.size);
        char *all = malloc((size_t)n * bytes + 1);
        if (!all)
                return NULL;
        for (int64_t i = 0; i < n; i++) {
                void *one = recorded_input(&e->given.values, input, first + i);
                if (!one) {
                        free(all);
                        return NULL;
                }
                memcpy(all + (size_t)i * bytes, one, bytes);
                free(one);
        }
        return all;
}

static const char *run_together(Evaluation *e, int64_t first, int64_t n)
{
        const Graph *g = e->m->graph;
        void **input = NEW_ARRAY(&e->m->arena, void *, g->ninput);
        float **output = NEW_ARRAY(&e->m->arena, float *, g->noutput);
        EngineSequence s[MAX_TOGETHER] = {{0}};
        const char *why = NULL;
        for (int i = 0; i < g->ninput; i++)
                if (!(input[i] = joined_input(e, i, first, n)))
                        why = no_memory;
        for (int i = 0; i < g->noutput; i++)
                output[i] = e->output[i] ? e->output[i] + first * evaluation_count(e, i) : NULL;
        for (int64_t i = 0; i < n; i++)
                s[i].n = e->given.values.size[varying_size(g)];
        EngineCall call = {(const void *const *)input, output, e->given.values.size};
        if (!why)
                why = engine_batch(e->engine, s, (int)n, &call);
        for (int i = 0; i < g->ninput; i++)
                free(input[i]);
        return why;
}

static int evaluation_run_all(Evaluation *e)
{
        int64_t most = max_together(e), n;
        for (int64_t i = 0; i < e->times; i += n) {
                n = e->times - i < most ? e->times - i : most;
                const char *why = n > 1 ? run_together(e, i, n) : run_once(e, i);
                if (why && n > 1) { /* again, one by one, to find the item with the error */
                        most = 1;
                        n = 0;
                        continue;
                }
                if (why && e->given.values.batch)
                        why = arena_printf(&e->m->arena, "number %" PRId64 " of the batch: %s", i, why);
                if (why)
                        return command_error(e->command, why);
                progress("evaluating", PROGRESS_STEPS, i + n, e->times);
        }
        return DONE;
}

int evaluation_run(Evaluation *e)
{
        e->times = e->given.values.batch ? e->given.values.batch : 1;
        int code = evaluation_room(e);
        return code ? code : evaluation_run_all(e);
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
