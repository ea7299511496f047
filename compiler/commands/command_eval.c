/* lathe eval: a model's outputs and taps for inputs from files, expressions of the language or a text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

enum { MAX_PRINTED = 1 << 20 /* maximum of numbers printed as JSON */ };

/* --- inputs ----------------------------------------------------------------------------------------------------------- */

static int gather_inputs(Evaluation *e)
{
        const CommandOptions *o = e->o;
        const char *why = NULL;
        const Source *all = o->prompt_file ? read_source(&e->m->arena, o->prompt_file, &why) : NULL;
        if (o->prompt_file && !all) {
                fprintf(stderr, "lathe eval: %s: %s\n", o->prompt_file, why);
                return WRONG_ENVIRONMENT;
        }
        e->given = (Given){.o = o,
                           .command = "eval",
                           .m = e->m,
                           .tokenizer = &e->tokenizer,
                           .text = all ? all->text : o->prompt,
                           .ntext = all         ? all->length
                                    : o->prompt ? (int64_t)strlen(o->prompt)
                                                : 0};
        int code = given_gather(&e->given, IN_BATCHES);
        return code;
}

/* --- outputs ------------------------------------------------------------------------------------------------------------ */

static int choose_outputs(Evaluation *e)
{
        const CommandOptions *o = e->o;
        const Graph *g = e->m->graph;
        const char **names = NEW_ARRAY(&e->m->arena, const char *, g->noutput);
        for (int i = 0; i < g->noutput; i++)
                names[i] = output_name(&g->output[i]);
        e->wanted = NEW_ARRAY(&e->m->arena, int, g->noutput + o->output.n);
        for (int i = 0; i < g->noutput && !o->output.n; i++)
                e->wanted[e->nwanted++] = i;
        for (int i = 0; i < o->output.n; i++) {
                int k = 0;
                while (k < g->noutput && strcmp(names[k], o->output.at[i]) != 0)
                        k++;
                if (k == g->noutput) {
                        const char *near = nearest_name(o->output.at[i], names, g->noutput);
                        fprintf(stderr, "lathe eval: %s has no output %s%s%s%s\n", g->name, o->output.at[i],
                                near ? "; did you mean " : "; --tap names other values", near ? near : "",
                                near ? "?" : "");
                        return WRONG_INPUT;
                }
                e->wanted[e->nwanted++] = k;
        }
        return DONE;
}

/* --- outputs ------------------------------------------------------------------------------------------------------------ */

/* The shape, with a leading axis for the batch; returns its rank. */
static int eval_shape(const Evaluation *e, int output, int64_t *dim)
{
        const Type *t = evaluation_type(e, output);
        int n = 0;
        if (e->given.values.batch)
                dim[n++] = e->given.values.batch;
        for (int a = 0; a < t->rank; a++)
                dim[n++] = dim_value(t->dim[a], e->given.values.size);
        return n;
}

static bool eval_fill(void *context, int tensor, int64_t first, int64_t count, float *out, CkError *err)
{
        (void)err;
        const Evaluation *e = context;
        memcpy(out, e->output[e->wanted[tensor]] + first, (size_t)count * sizeof *out);
        return true;
}

static int eval_write_outputs(Evaluation *e)
{
        static const CkType as[] = {[REAL] = CK_F32, [INT] = CK_I32, [BOOL] = CK_BOOL};
        CkOutput *tensor = NEW_ARRAY(&e->m->arena, CkOutput, e->nwanted);
        CkError error;
        for (int i = 0; i < e->nwanted; i++) {
                const Output *o = &e->m->graph->output[e->wanted[i]];
                tensor[i] = (CkOutput){.name = output_name(o), .dtype = as[o->node->type.dtype]};
                tensor[i].rank = eval_shape(e, e->wanted[i], tensor[i].shape);
        }
        if (tensors_write(e->o->out, e->nwanted, tensor, eval_fill, e, &error))
                return DONE;
        return command_file_error("eval", &error);
}

/* Nine digits restore the float; numbers that JSON lacks are null. */
static void eval_print_number(DType dtype, float x)
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
                eval_print_number(dtype, *x);
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

static int eval_print_json(const Evaluation *e)
{
        int64_t dim[MAX_RANK + 1], all = 0;
        for (int i = 0; i < e->nwanted; i++)
                all += evaluation_count(e, e->wanted[i]) * e->times;
        if (all > MAX_PRINTED) {
                fprintf(stderr,
                        "lathe eval: --json: the outputs are %" PRId64
                        " numbers, more than %d: write them by -o FILE.safetensors, "
                        "or name some by --output\n",
                        all, MAX_PRINTED);
                return WRONG_USAGE;
        }
        printf("{");
        for (int i = 0; i < e->nwanted; i++) {
                const Output *o = &e->m->graph->output[e->wanted[i]];
                printf("%s\"%s\": ", i ? ",\n " : "", output_name(o));
                int rank = eval_shape(e, e->wanted[i], dim);
                print_nested(o->node->type.dtype, rank, dim, e->output[e->wanted[i]]);
        }
        printf("}\n");
        return DONE;
}

static int eval_print_outputs(const Evaluation *e)
{
        int64_t dim[MAX_RANK + 1];
        for (int i = 0; i < e->nwanted; i++) {
                const Output *o = &e->m->graph->output[e->wanted[i]];
                int64_t n = evaluation_count(e, e->wanted[i]) * e->times;
                double *value = malloc((size_t)n * sizeof *value + 1);
                if (!value)
                        return command_error("eval", no_memory);
                for (int64_t k = 0; k < n; k++)
                        value[k] = (double)e->output[e->wanted[i]][k];
                int width = printf("%s = ", output_name(o)), rank = eval_shape(e, e->wanted[i], dim);
                print_tensor(stdout, &(Shown){o->node->type.dtype, rank, dim, value}, width);
                free(value);
        }
        return DONE;
}

static void print_hashes(const Evaluation *e)
{
        for (int i = 0; i < e->nwanted; i++)
                fprintf(stderr, "hash %016" PRIx64 " %s\n",
                        hash_floats(HASH_START, e->output[e->wanted[i]],
                                    evaluation_count(e, e->wanted[i]) * e->times),
                        output_name(&e->m->graph->output[e->wanted[i]]));
}

/* --- the command ------------------------------------------------------------------------------------------------------- */

static int evaluate_model(Evaluation *e)
{
        int code = DONE;
        if (!model_load(e->m, e->o, &code))
                return code;
        if (!model_passes(e->m, e->o))
                return failure_code(e->m);
        if ((code = gather_inputs(e)) != DONE || (code = choose_outputs(e)) != DONE ||
            (code = evaluation_engine(e)) != DONE || (code = evaluation_run(e)) != DONE)
                return code;
        if (e->o->given[OPT_HASH])
                print_hashes(e);
        return e->o->out               ? eval_write_outputs(e)
               : e->o->given[OPT_JSON] ? eval_print_json(e)
                                       : eval_print_outputs(e);
}

int eval_command(const CommandOptions *o)
{
        Model m = {.arena = {0}};
        Evaluation e = {.o = o, .command = "eval", .m = &m};
        if (!cache_has_effect(o, "eval"))
                return WRONG_USAGE;
        if (o->out && !strcmp(o->out, "-")) {
                fprintf(stderr, "lathe eval: tensors are written to a file, not to standard output; --json "
                                "is for that\n");
                return WRONG_USAGE;
        }
        int code = evaluate_model(&e);
        evaluation_free(&e);
        model_free(&m);
        return code;
}
