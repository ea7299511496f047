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
        const CommandOptions *o;
        Recorded file;
        bool failed;
        json_t *report, *checks; /* --json: results, instead of text, and the checks in it; else NULL */
} Against;

/* --- reports ------------------------------------------------------------------------------------------------------------- */

typedef struct {
        int name, shape; /* columns of the table */
        double bound;
} AgainstTable;

/* The largest error of a tensor, at element `at`. */
typedef struct {
        const Record *of;
        double error, found;
        int64_t at;
        bool good;
} Compared;

static void print_compared(Against *v, const AgainstTable *table, const Compared *c)
{
        Arena *a = &v->m.arena;
        const CkTensor *t = c->of->given;
        printf("%-*s  %-*s  ", table->name, t->name, table->shape, shape_text(a, t->rank, t->shape));
        if (c->error == 0)
                printf("0\n");
        else
                printf("%.1e  %s%s", c->error, element_index_text(a, t->rank, t->shape, c->at),
                       c->good ? "\n" : "");
        if (!c->good)
                printf("  FAIL: more than %g: %.9g where the file has %.9g\n", table->bound, c->found,
                       c->of->value[c->at]);
        fflush(stdout);
}

static json_t *indices_as_json(const CkTensor *t, int64_t at)
{
        int64_t index[CK_MAX_RANK];
        json_t *list = json_array();
        for (int k = t->rank - 1; k >= 0; at /= t->shape[k--])
                index[k] = at % t->shape[k];
        for (int k = 0; k < t->rank; k++)
                json_array_append_new(list, json_integer((json_int_t)index[k]));
        return list;
}

/* Without a difference there is no position. */
static void add_compared(json_t *values, const Compared *c)
{
        const CkTensor *t = c->of->given;
        const bool differs = c->error != 0;
        json_t *shape = json_array();
        for (int k = 0; k < t->rank; k++)
                json_array_append_new(shape, json_integer((json_int_t)t->shape[k]));
        json_array_append_new(values, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b}", "name", t->name,
                                                "shape", shape, "error", json_finite(c->error), "at",
                                                differs ? indices_as_json(t, c->at) : json_null(), "found",
                                                differs ? json_finite(c->found) : json_null(), "expected",
                                                differs ? json_finite(c->of->value[c->at]) : json_null(),
                                                "passed", c->good));
}

static AgainstTable against_table(const Against *v, double bound)
{
        const Graph *g = v->m.graph;
        AgainstTable table = {.bound = bound};
        for (int i = g->ninput; i < v->file.n; i++) {
                const CkTensor *t = v->file.record[i].given;
                int name = (int)strlen(t->name), shape = (int)strlen(shape_text(g->arena, t->rank, t->shape));
                table.name = name > table.name ? name : table.name;
                table.shape = shape > table.shape ? shape : table.shape;
        }
        return table;
}

/* Starts a check: "interpreted". */
static void say_check(Against *v, const char *what, double bound)
{
        if (v->report)
                json_array_append_new(v->checks, json_pack("{s:s, s:f, s:[], s:n}", "what", what, "most",
                                                           bound, "values", "otherwise"));
        else
                printf("%s\n", what);
}

static json_t *last_check(const Against *v)
{
        return json_array_get(v->checks, json_array_size(v->checks) - 1);
}

/* Reports that another way of calling the model gave other bits. */
static void say_otherwise(Against *v, const TestRun *t)
{
        const char *name = output_name(&v->m.graph->output[t->at_output]);
        v->failed = true;
        if (v->report)
                json_object_set_new(last_check(v), "otherwise",
                                    json_pack("{s:s, s:I, s:o, s:o}", "name", name, "element",
                                              (json_int_t)t->at, "one", json_finite((double)t->one), "other",
                                              json_finite((double)t->other)));
        else
                printf("FAIL: %s[%" PRId64 "] is %a, and %a if the model is called another way\n", name,
                       t->at, (double)t->one, (double)t->other);
}

/* --- comparing -------------------------------------------------------------------------------------------------------- */

/* Compares outputs of v->m.graph, as doubles or as floats. */
static void compare_values(Against *v, const char *what, const Tensor *wide, float *const *narrow,
                           double bound)
{
        const Graph *g = v->m.graph;
        const AgainstTable table = against_table(v, bound);
        say_check(v, what, bound);
        for (int i = g->ninput; i < v->file.n; i++) {
                const Record *r = &v->file.record[i];
                const Output *o = &g->output[r->output];
                OutputShape shape = output_shape(g, &o->node->type, v->file.size);
                Values found = {wide ? wide[r->output].data : NULL, narrow ? narrow[r->output] : NULL};
                Compared c = {.of = r};
                c.error = largest_error(found, r->value, r->given->count, isnan(o->later) ? &shape : NULL,
                                        &c.at);
                c.found = c.error == 0 ? 0 : values_at(found, c.at);
                c.good = c.error <= bound;
                v->failed |= !c.good;
                if (v->report)
                        add_compared(json_object_get(last_check(v), "values"), &c);
                else
                        print_compared(v, &table, &c);
        }
}

/* --- the command ------------------------------------------------------------------------------------------------------- */

static bool interpret_against(Against *v)
{
        Graph *g = v->m.graph;
        Checkpoint *checkpoint;
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read, weights_why};
        Tensor *output = NEW_ARRAY(&v->m.arena, Tensor, g->noutput);
        const char *why =
                source.from ? interpret(g, v->file.size, recorded_inputs(&v->file), &source, NULL, output)
                            : NULL;
        v->m.env_error |= lacks_memory(why);
        if (why)
                fprintf(stderr, "lathe verify: the interpreter: %s\n", why);
        else if (source.from)
                compare_values(v, "interpreted", output, NULL,
                               v->o->bound > 0 ? v->o->bound : interpreted_bound);
        for (int i = 0; i < g->noutput; i++)
                tensor_free(&output[i]);
        checkpoint_close(checkpoint);
        return source.from && !why;
}

/* Builds the graph again, through its passes, with the same outputs. */
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

static void compare_target(Against *v, const Target *target, When when, const TestRun *t)
{
        double bound = v->o->bound > compiled_bound ? v->o->bound : compiled_bound;
        const char *how = arena_printf(&v->m.arena, "compiled, %s", test_run_text(&v->m.arena, target, when));
        compare_values(v, how, NULL, t->output, bound);
        if (t->run >= 0)
                say_otherwise(v, t);
}

static bool compile_against(Against *v, const Target *target, When when)
{
        TestRun t = {.size = v->file.size, .input = recorded_inputs(&v->file)};
        if (!is_tried(v->o, target, when))
                return true;
        bool good = graph_for_code(v) && test_run_of_model(&v->m, v->o, target, when, &t);
        if (good)
                compare_target(v, target, when, &t);
        for (int i = 0; t.output && i < v->m.graph->noutput; i++)
                free(t.output[i]);
        return good;
}

static void begin_report(Against *v)
{
        json_begin();
        v->report = json_pack("{s:s, s:o, s:[]}", "model", v->m.graph->name, "sizes",
                              json_named_sizes(v->m.graph, v->file.size), "checks");
        v->checks = json_object_get(v->report, "checks");
}

/* False after a message: out of memory. */
static bool end_report(Against *v)
{
        json_t *all = v->report;
        v->report = NULL;
        json_object_set_new(all, "passed", json_boolean(!v->failed));
        if (!v->o->given[OPT_JSON] || json_write(all))
                return true;
        fprintf(stderr, "lathe verify: out of memory\n");
        return false;
}

static int compare_with(Against *v)
{
        const Target *target[MAX_TARGETS];
        int n = choose_targets(&v->m.arena, v->o, target);
        if (n < 0)
                return WRONG_ENVIRONMENT;
        if (v->o->given[OPT_JSON])
                begin_report(v);
        else
                print_named_sizes(v->m.graph, v->file.size);
        fflush(stdout);
        if (!interpret_against(v))
                return failure_code(&v->m);
        for (int i = 0; i < n; i++)
                if (!compile_against(v, target[i], AHEAD_OF_TIME) ||
                    !compile_against(v, target[i], JUST_IN_TIME))
                        return WRONG_ENVIRONMENT;
        return !end_report(v) ? WRONG_ENVIRONMENT : v->failed ? WRONG_INPUT : DONE;
}

int verify_against(const CommandOptions *o)
{
        Against v = {.o = o};
        int code;
        if (model_load(&v.m, o, &code)) {
                const char *why = recorded_read(&v.file, v.m.graph, o->against, INPUTS_AND_VALUES);
                if (why)
                        fprintf(stderr, "lathe verify: %s\n", why);
                v.m.env_error |= lacks_memory(why);
                code = why ? failure_code(&v.m) : compare_with(&v);
        }
        json_decref(v.report);
        recorded_free(&v.file);
        model_free(&v.m);
        return code;
}
