/* lathe eval: a model's outputs and taps for inputs that are given, from files, as expressions of the language or as a text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

enum { MOST_PRINTED = 1 << 20 /* numbers that are shown as JSON */ };

/* All of it, released in one place. */
typedef struct {
        const Options *o;
        Model m;
        Given given;
        Tokenizer tokenizer;
        PackedWeights packed;
        Plan *plan;
        Engine *engine;
        int *wanted, nwanted; /* outputs of the graph that are written, in this order */
        int64_t times;        /* how often the model is run: once, or for each in a batch */
        float **output;       /* [noutput]: of all of a batch, one after another; NULL: not wanted */
} Eval;

static int wrong(const char *message)
{
        fprintf(stderr, "lathe eval: %s\n", message);
        return lacks_memory(message) ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

static int wrong_file(const CkError *error)
{
        wrong(error->message);
        return error->environment ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

/* --- inputs ----------------------------------------------------------------------------------------------------------- */

static int gather_inputs(Eval *e)
{
        const Options *o = e->o;
        const char *why = NULL;
        const Source *all = o->prompt_file ? read_source(&e->m.arena, o->prompt_file, &why) : NULL;
        if (o->prompt_file && !all) {
                fprintf(stderr, "lathe eval: %s: %s\n", o->prompt_file, why);
                return WRONG_ENVIRONMENT;
        }
        e->given = (Given){.o = o,
                           .command = "eval",
                           .m = &e->m,
                           .tokenizer = &e->tokenizer,
                           .text = all ? all->text : o->prompt,
                           .ntext = all         ? all->length
                                    : o->prompt ? (int64_t)strlen(o->prompt)
                                                : 0};
        int code = given_gather(&e->given, IN_BATCHES);
        e->times = e->given.values.batch ? e->given.values.batch : 1;
        return code;
}

/* --- outputs ------------------------------------------------------------------------------------------------------------ */

static int choose_outputs(Eval *e)
{
        const Options *o = e->o;
        const Graph *g = e->m.graph;
        const char **names = NEW_ARRAY(&e->m.arena, const char *, g->noutput);
        for (int i = 0; i < g->noutput; i++)
                names[i] = output_name(&g->output[i]);
        e->wanted = NEW_ARRAY(&e->m.arena, int, g->noutput + o->noutput);
        for (int i = 0; i < g->noutput && !o->noutput; i++)
                e->wanted[e->nwanted++] = i;
        for (int i = 0; i < o->noutput; i++) {
                int k = 0;
                while (k < g->noutput && strcmp(names[k], o->output[i]) != 0)
                        k++;
                if (k == g->noutput) {
                        const char *near = nearest_name(o->output[i], names, g->noutput);
                        fprintf(stderr, "lathe eval: %s has no output %s%s%s%s\n", g->name, o->output[i],
                                near ? "; did you mean " : "; --tap names other values", near ? near : "",
                                near ? "?" : "");
                        return WRONG_INPUT;
                }
                e->wanted[e->nwanted++] = k;
        }
        return DONE;
}

static const Type *output_type(const Eval *e, int output)
{
        return &e->m.graph->output[output].node->type;
}

static int64_t count_of(const Eval *e, int output)
{
        return type_count(output_type(e, output), e->given.values.size);
}

static int make_room(Eval *e)
{
        const Graph *g = e->m.graph;
        double bytes = 0;
        e->output = NEW_ARRAY(&e->m.arena, float *, g->noutput);
        for (int i = 0; i < e->nwanted; i++)
                bytes += 4.0 * (double)count_of(e, e->wanted[i]) * (double)e->times;
        if (bytes > (double)memory_available()) {
                fprintf(stderr,
                        "lathe eval: out of memory: the outputs take %.1f GB; --output names those that are "
                        "wanted\n",
                        1e-9 * bytes);
                return WRONG_ENVIRONMENT;
        }
        for (int i = 0; i < e->nwanted; i++) {
                float **to = &e->output[e->wanted[i]];
                if (!*to &&
                    !(*to = malloc((size_t)(count_of(e, e->wanted[i]) * e->times) * sizeof **to + 64)))
                        return wrong(no_memory);
        }
        return DONE;
}

/* --- running ------------------------------------------------------------------------------------------------------------ */

static int make_engine(Eval *e)
{
        const Options *o = e->o;
        const char *why;
        e->plan = model_plan(&e->m, o, target_find(o->ntarget ? o->target[0] : "native"));
        if (!e->plan)
                return failure_code(&e->m);
        note_hashed(&e->m, o, "eval");
        why = packed_weights(&e->m, o, e->plan, &e->packed);
        if (why || e->packed.code) {
                if (why)
                        wrong(why);
                return e->packed.code ? e->packed.code : WRONG_ENVIRONMENT;
        }
        e->engine = engine_new(e->plan, e->packed.weights, o->threads, o->jit == JIT_AUTO ? JIT_TCC : o->jit,
                               &why);
        return e->engine ? DONE : wrong(why);
}

static const char *run_once(Eval *e, int64_t in_batch)
{
        const Graph *g = e->m.graph;
        void **input = NEW_ARRAY(&e->m.arena, void *, g->ninput);
        float **output = NEW_ARRAY(&e->m.arena, float *, g->noutput);
        const char *why = NULL;
        for (int i = 0; i < g->ninput; i++)
                if (!(input[i] = recorded_input(&e->given.values, i, in_batch)))
                        why = no_memory;
        for (int i = 0; i < g->noutput; i++)
                output[i] = e->output[i] ? e->output[i] + in_batch * count_of(e, i) : NULL;
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

static int run_all(Eval *e)
{
        for (int64_t i = 0; i < e->times; i++) {
                const char *why = run_once(e, i);
                if (why && e->given.values.batch)
                        why = arena_printf(&e->m.arena, "number %" PRId64 " of the batch: %s", i, why);
                if (why)
                        return wrong(why);
                progress("evaluating", PROGRESS_STEPS, i + 1, e->times);
        }
        return DONE;
}

/* --- what came out ------------------------------------------------------------------------------------------------------ */

/* The shape, with the batch's axis before; its rank. */
static int shape_of(const Eval *e, int output, int64_t *dim)
{
        const Type *t = output_type(e, output);
        int n = 0;
        if (e->given.values.batch)
                dim[n++] = e->given.values.batch;
        for (int a = 0; a < t->rank; a++)
                dim[n++] = dim_value(t->dim[a], e->given.values.size);
        return n;
}

static bool fill(void *context, int tensor, int64_t first, int64_t count, float *out, CkError *err)
{
        (void)err;
        const Eval *e = context;
        memcpy(out, e->output[e->wanted[tensor]] + first, (size_t)count * sizeof *out);
        return true;
}

static int write_outputs(Eval *e)
{
        static const CkType as[] = {[REAL] = CK_F32, [INT] = CK_I32, [BOOL] = CK_BOOL};
        CkOutput *tensor = NEW_ARRAY(&e->m.arena, CkOutput, e->nwanted);
        CkError error;
        for (int i = 0; i < e->nwanted; i++) {
                const Output *o = &e->m.graph->output[e->wanted[i]];
                tensor[i] = (CkOutput){.name = output_name(o), .dtype = as[o->node->type.dtype]};
                tensor[i].rank = shape_of(e, e->wanted[i], tensor[i].shape);
        }
        if (tensors_write(e->o->out, e->nwanted, tensor, fill, e, &error))
                return DONE;
        return wrong_file(&error);
}

/* Nine digits give the float back; what JSON has no number for is null. */
static void print_number(DType dtype, float x)
{
        if (dtype == BOOL)
                printf("%s", x != 0 ? "true" : "false");
        else if (!isfinite(x))
                printf("null");
        else
                printf("%.9g", (double)x);
}

static const float *print_nested(DType dtype, int rank, const int64_t *dim, const float *x)
{
        if (rank == 0) {
                print_number(dtype, *x);
                return x + 1;
        }
        putchar('[');
        for (int64_t i = 0; i < dim[0]; i++) {
                printf("%s", i ? ", " : "");
                x = print_nested(dtype, rank - 1, dim + 1, x);
        }
        putchar(']');
        return x;
}

static int print_json(const Eval *e)
{
        int64_t dim[MAX_RANK + 1], all = 0;
        for (int i = 0; i < e->nwanted; i++)
                all += count_of(e, e->wanted[i]) * e->times;
        if (all > MOST_PRINTED) {
                fprintf(stderr,
                        "lathe eval: --json: the outputs are %" PRId64
                        " numbers, more than %d: write them by -o FILE.safetensors, "
                        "or name some by --output\n",
                        all, MOST_PRINTED);
                return WRONG_USAGE;
        }
        printf("{");
        for (int i = 0; i < e->nwanted; i++) {
                const Output *o = &e->m.graph->output[e->wanted[i]];
                printf("%s\"%s\": ", i ? ",\n " : "", output_name(o));
                int rank = shape_of(e, e->wanted[i], dim);
                print_nested(o->node->type.dtype, rank, dim, e->output[e->wanted[i]]);
        }
        printf("}\n");
        return DONE;
}

static int print_outputs(const Eval *e)
{
        int64_t dim[MAX_RANK + 1];
        for (int i = 0; i < e->nwanted; i++) {
                const Output *o = &e->m.graph->output[e->wanted[i]];
                int64_t n = count_of(e, e->wanted[i]) * e->times;
                double *value = malloc((size_t)n * sizeof *value + 1);
                if (!value)
                        return wrong(no_memory);
                for (int64_t k = 0; k < n; k++)
                        value[k] = (double)e->output[e->wanted[i]][k];
                int width = printf("%s = ", output_name(o)), rank = shape_of(e, e->wanted[i], dim);
                print_tensor(stdout, &(Shown){o->node->type.dtype, rank, dim, value}, width);
                free(value);
        }
        return DONE;
}

static void print_hashes(const Eval *e)
{
        for (int i = 0; i < e->nwanted; i++)
                fprintf(stderr, "hash %016" PRIx64 " %s\n",
                        hash_floats(HASH_START, e->output[e->wanted[i]],
                                    count_of(e, e->wanted[i]) * e->times),
                        output_name(&e->m.graph->output[e->wanted[i]]));
}

/* --- the command ------------------------------------------------------------------------------------------------------- */

static int evaluate_model(Eval *e)
{
        int code = DONE;
        if (!model_load(&e->m, e->o, &code))
                return code;
        if (!model_passes(&e->m, e->o))
                return failure_code(&e->m);
        if ((code = gather_inputs(e)) != DONE || (code = choose_outputs(e)) != DONE ||
            (code = make_engine(e)) != DONE || (code = make_room(e)) != DONE || (code = run_all(e)) != DONE)
                return code;
        if (e->o->hash)
                print_hashes(e);
        return e->o->out ? write_outputs(e) : e->o->json ? print_json(e) : print_outputs(e);
}

int eval_command(const Options *o)
{
        Eval e = {.o = o};
        if (!cache_has_effect(o, "eval"))
                return WRONG_USAGE;
        if (o->out && !strcmp(o->out, "-")) {
                fprintf(stderr, "lathe eval: tensors are written to a file, not to standard output; --json "
                                "is for that\n");
                return WRONG_USAGE;
        }
        int code = evaluate_model(&e);
        for (int i = 0; e.output && i < e.m.graph->noutput; i++)
                free(e.output[i]);
        engine_free(e.engine);
        packed_weights_close(&e.packed);
        tokenizer_free(&e.tokenizer);
        recorded_free(&e.given.values);
        model_free(&e.m);
        return code;
}
