/* lathe verify --against FILE.safetensors: a model against values that something else computed.
 *
 * The file holds inputs, outputs and values of the model by their names (taps.c); sizes of named dimensions follow from its
 * shapes.  The interpreter's answer, and then that of compiled code, is compared tensor by tensor: the largest difference,
 * relative to the largest finite value that the file has of the tensor. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const double interpreted_bound = 1e-9, compiled_bound = 1e-5;

typedef struct {
        Model m;
        const Options *o;
        Recorded file;
        bool failed;
} Against;

/* --- comparing -------------------------------------------------------------------------------------------------------- */

static const char *place_text(Arena *a, const CkTensor *t, int64_t at)
{
        int64_t index[CK_MAX_RANK];
        for (int k = t->rank - 1; k >= 0; k--) {
                index[k] = at % t->shape[k];
                at /= t->shape[k];
        }
        return shape_text(a, t->rank, index);
}

typedef struct {
        int name, shape; /* columns of the table */
        double bound;
} Table;

static void print_line(Against *v, const Table *table, const Record *r, Values found,
                       const OutputShape *hides)
{
        Arena *a = &v->m.arena;
        const CkTensor *t = r->given;
        int64_t at;
        double error = largest_error(found, r->value, t->count, hides, &at);
        bool good = error <= table->bound;
        v->failed |= !good;
        printf("%-*s  %-*s  ", table->name, t->name, table->shape, shape_text(a, t->rank, t->shape));
        if (error == 0)
                printf("0\n");
        else
                printf("%.1e  %s%s", error, place_text(a, t, at), good ? "\n" : "");
        if (!good)
                printf("  FAIL: more than %g: %.9g where the file has %.9g\n", table->bound,
                       values_at(found, at), r->value[at]);
        fflush(stdout);
}

/* Outputs of v->m.graph, as doubles or as floats. */
static void print_table(Against *v, const char *what, const Tensor *wide, float *const *narrow, double bound)
{
        const Graph *g = v->m.graph;
        Table table = {.bound = bound};
        for (int i = g->ninput; i < v->file.n; i++) {
                const CkTensor *t = v->file.record[i].given;
                int name = (int)strlen(t->name), shape = (int)strlen(shape_text(g->arena, t->rank, t->shape));
                table.name = name > table.name ? name : table.name;
                table.shape = shape > table.shape ? shape : table.shape;
        }
        printf("%s\n", what);
        for (int i = g->ninput; i < v->file.n; i++) {
                const Record *r = &v->file.record[i];
                const Output *o = &g->output[r->output];
                OutputShape shape = output_shape(g, &o->node->type, v->file.size);
                Values found = {wide ? wide[r->output].data : NULL, narrow ? narrow[r->output] : NULL};
                print_line(v, &table, r, found, isnan(o->later) ? &shape : NULL);
        }
}

/* --- the command ------------------------------------------------------------------------------------------------------- */

static bool interpret_against(Against *v)
{
        Graph *g = v->m.graph;
        Checkpoint *checkpoint;
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read};
        Tensor *output = NEW_ARRAY(&v->m.arena, Tensor, g->noutput);
        const char *why =
                source.from ? interpret(g, v->file.size, recorded_inputs(&v->file), &source, NULL, output)
                            : NULL;
        v->m.lacking |= lacks_memory(why);
        if (why)
                fprintf(stderr, "lathe verify: the interpreter: %s\n", why);
        else if (source.from)
                print_table(v, "interpreted", output, NULL,
                            v->o->bound > 0 ? v->o->bound : interpreted_bound);
        for (int i = 0; i < g->noutput; i++)
                tensor_free(&output[i]);
        checkpoint_close(checkpoint);
        return source.from && !why;
}

/* The graph once more, through its passes, with the same outputs. */
static bool graph_for_code(Against *v)
{
        const char *why;
        if (!model_elaborate(&v->m, v->o, v->o->model))
                return false;
        for (int i = 0; i < v->file.n; i++)
                if (v->file.record[i].output >= 0)
                        tap_add(v->m.graph, v->file.record[i].given->name, &why);
        return model_passes(&v->m, v->o);
}

static void print_target(Against *v, const Target *target, When when, const TestRun *t)
{
        double bound = v->o->bound > compiled_bound ? v->o->bound : compiled_bound;
        const char *how = arena_printf(&v->m.arena, "compiled, %s", test_run_text(&v->m.arena, target, when));
        print_table(v, how, NULL, t->output, bound);
        if (t->run < 0)
                return;
        v->failed = true;
        printf("FAIL: %s[%" PRId64 "] is %a, and %a if the model is called another way\n",
               output_name(&v->m.graph->output[t->at_output]), t->at, (double)t->one, (double)t->other);
}

static bool compile_against(Against *v, const Target *target, When when)
{
        TestRun t = {.size = v->file.size, .input = recorded_inputs(&v->file)};
        if (!is_tried(v->o, target, when))
                return true;
        bool good = graph_for_code(v) && test_run_of_model(&v->m, v->o, target, when, &t);
        if (good)
                print_target(v, target, when, &t);
        for (int i = 0; t.output && i < v->m.graph->noutput; i++)
                free(t.output[i]);
        return good;
}

static int compare_with(Against *v)
{
        const Target *target[MAX_TARGETS];
        int n = choose_targets(&v->m.arena, v->o, target);
        if (n < 0)
                return WRONG_ENVIRONMENT;
        print_named_sizes(v->m.graph, v->file.size);
        fflush(stdout);
        if (!interpret_against(v))
                return failure_code(&v->m);
        for (int i = 0; i < n; i++)
                if (!compile_against(v, target[i], AHEAD_OF_TIME) ||
                    !compile_against(v, target[i], JUST_IN_TIME))
                        return WRONG_ENVIRONMENT;
        return v->failed ? WRONG_INPUT : DONE;
}

int verify_against(const Options *o)
{
        Against v = {.o = o};
        int code;
        if (model_load(&v.m, o, &code)) {
                const char *why = recorded_read(&v.file, v.m.graph, o->against, INPUTS_AND_VALUES);
                if (why)
                        fprintf(stderr, "lathe verify: %s\n", why);
                v.m.lacking |= lacks_memory(why);
                code = why ? failure_code(&v.m) : compare_with(&v);
        }
        recorded_free(&v.file);
        model_free(&v.m);
        return code;
}
