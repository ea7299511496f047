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
        Recorded given;
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

static int open_values(Eval *e, const char *path)
{
        CkError error;
        Recorded *r = &e->given;
        if (r->nfile == MAX_GIVEN)
                return wrong("too many files of inputs");
        r->file[r->nfile] = values_open(path, &error);
        if (r->file[r->nfile]) {
                r->nfile++;
                return DONE;
        }
        return wrong_file(&error);
}

/* Takes value, which is malloc'd. */
static int add_made(Eval *e, const char *name, int rank, const int64_t *dim, double *value)
{
        return recorded_add(&e->given, name, rank, dim, value) ? DONE : wrong("too many inputs");
}

static int add_file(Eval *e, const char *name, const char *path)
{
        CkError error;
        NamedValues v;
        return values_load(path, name, &v, &error) ? add_made(e, name, v.rank, v.dim, v.value)
                                                   : wrong_file(&error);
}

/* An expression is the output of a model that has no inputs. */
static int add_expression(Eval *e, const char *name, const char *text)
{
        Model m = {.arena = {0}};
        Tensor value = {0};
        const char *why = NULL;
        bool good =
                model_open_text(&m, arena_printf(&e->m.arena, "-I %s", name),
                                arena_printf(&e->m.arena, "model given {\noutput value =\n%s\n}\n", text)) &&
                model_elaborate(&m, &(Options){.chunk = 1}, "given");
        if (good) {
                WeightSource none = {weights_hashed(&m.arena, m.graph), weights_read};
                why = interpret(m.graph, (int64_t[MAX_NAMED]){0}, NULL, &none, NULL, &value);
        }
        int code = !good ? failure_code(&m) : why ? wrong(why) : DONE;
        if (code == DONE)
                code = add_made(e, name, value.rank, value.dim, value.data);
        model_free(&m);
        return code;
}

/* -I NAME=VALUE */
static int add_named(Eval *e, const char *text)
{
        const Graph *g = e->m.oracle;
        const char *equals = strchr(text, '='), *list = "";
        if (!equals || equals == text) {
                fprintf(stderr, "lathe eval: -I wants NAME=VALUE, not %s\n", text);
                return WRONG_USAGE;
        }
        const char *name = arena_printf(&e->m.arena, "%.*s", (int)(equals - text), text);
        if (!is_input_named(g, name)) {
                for (int i = 0; i < g->ninput; i++)
                        list = arena_printf(&e->m.arena, "%s%s%s", list, i ? ", " : "",
                                            input_name(&g->input[i]));
                fprintf(stderr, "lathe eval: %s has no input %s; its inputs: %s\n", g->name, name,
                        g->ninput ? list : "none");
                return WRONG_INPUT;
        }
        return is_values_file(equals + 1) ? add_file(e, name, equals + 1)
                                          : add_expression(e, name, equals + 1);
}

/* The input that a text is for: that of token ids, of an encoder and a decoder the encoder's; NULL: there is none. */
static const Input *text_input(const Graph *g)
{
        for (int i = 0; i < g->nnamed && g->past >= 0; i++)
                if (i != g->time && i != g->past && ids_of(g, i))
                        return ids_of(g, i);
        return ids_of(g, g->past >= 0 ? g->time : growing_dimension(g));
}

/* -p or -f, for the input of token ids. */
static int add_text(Eval *e)
{
        const Options *o = e->o;
        const Graph *g = e->m.graph;
        const Input *ids = text_input(g);
        const char *why = NULL;
        if (!ids)
                return wrong("a text is for a model with an input of token ids [time]; this one has none");
        const Source *all = o->prompt_file ? read_source(&e->m.arena, o->prompt_file, &why) : NULL;
        if (o->prompt_file && !all) {
                fprintf(stderr, "lathe eval: %s: %s\n", o->prompt_file, why);
                return WRONG_ENVIRONMENT;
        }
        if (o->tokenizer && !load_tokenizer(&e->m, o, &e->tokenizer))
                return failure_code(&e->m);
        const char *text = all ? all->text : o->prompt;
        int64_t n = all ? all->length : (int64_t)strlen(text), count = 0;
        int32_t *tokens = o->tokenizer ? text_to_tokens(&e->tokenizer, text, n, &count)
                                       : numbers_to_tokens(g, text, &count, &why);
        if (!tokens)
                return wrong(why ? why : no_memory);
        double *value = malloc((size_t)count * sizeof *value + 1);
        for (int64_t i = 0; value && i < count; i++)
                value[i] = tokens[i];
        free(tokens);
        return value ? add_made(e, input_name(ids), 1, &count, value) : wrong(no_memory);
}

static int check_bounds(const Eval *e)
{
        const Graph *g = e->m.graph;
        for (int i = 0; i < g->nnamed; i++)
                if (i != g->past && e->given.size[i] > g->named[i].bound) {
                        fprintf(stderr,
                                "lathe eval: %s is %" PRId64 " by the inputs, and at most %" PRId64 "\n",
                                g->named[i].name, e->given.size[i], g->named[i].bound);
                        return WRONG_INPUT;
                }
        return DONE;
}

static int gather_inputs(Eval *e)
{
        const Options *o = e->o;
        int code = DONE;
        for (int i = 0; i < o->ninput_file && code == DONE; i++)
                code = open_values(e, o->input_file[i]);
        for (int i = 0; i < o->ninput && code == DONE; i++)
                code = add_named(e, o->input[i]);
        if (code == DONE && (o->prompt || o->prompt_file))
                code = add_text(e);
        if (code != DONE)
                return code;
        const char *from = e->given.nfile == 1 && !e->given.nmade ? checkpoint_path(e->given.file[0])
                                                                  : e->m.oracle->name;
        const char *why = recorded_gather(&e->given, e->m.oracle, from, IN_BATCHES);
        e->times = e->given.batch ? e->given.batch : 1;
        if (why && !lacks_memory(why))
                why = arena_printf(&e->m.arena, "%s; --inputs FILE, -I NAME=VALUE and -p TEXT give inputs",
                                   why);
        return why ? wrong(why) : check_bounds(e);
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
        return type_count(output_type(e, output), e->given.size);
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
                if (!(input[i] = recorded_input(&e->given, i, in_batch)))
                        why = no_memory;
        for (int i = 0; i < g->noutput; i++)
                output[i] = e->output[i] ? e->output[i] + in_batch * count_of(e, i) : NULL;
        EngineCall call = {(const void *const *)input, output, e->given.size};
        if (!why && g->past >= 0)
                why = engine_rewind(e->engine, 0);
        if (!why)
                why = g->past >= 0 ? engine_advance(e->engine, &call, e->given.size[g->time], 0)
                                   : engine_forward(e->engine, &call);
        for (int i = 0; i < g->ninput; i++)
                free(input[i]);
        return why;
}

static int run_all(Eval *e)
{
        for (int64_t i = 0; i < e->times; i++) {
                const char *why = run_once(e, i);
                if (why && e->given.batch)
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
        if (e->given.batch)
                dim[n++] = e->given.batch;
        for (int a = 0; a < t->rank; a++)
                dim[n++] = dim_value(t->dim[a], e->given.size);
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
        recorded_free(&e.given);
        model_free(&e.m);
        return code;
}
