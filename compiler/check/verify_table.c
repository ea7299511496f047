/* The errors of compiled code by layer and op: every value that has a name, against the interpreter's.
 *
 *   $ lathe verify tale.model
 *   ..
 *   largest error by layer and op, avx2, just in time
 *             gather  add      div      matmul   softmax
 *   x         0
 *   layer[0]          1.2e-07  9.8e-08  2.1e-07  1.5e-07
 *   ..
 *   the largest of 182: layer[3].ffn.gate (matmul)
 *
 * The values are taps, so the code is what it is without them; a row is an iteration of an outermost repeat, or a value or block
 * outside all repeats; a column is what computed the value last, views aside.  Values are taken in the order in which they are computed, and the
 * first whose error is over the bound is where to look: those behind it are computed from it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* A value: an output of the graph, or one iteration of it. */
typedef struct {
        const char *name, *row; /* "layer[2].attn", "layer[2]" */
        int output;
        int64_t iteration, from, n; /* elements `from` to `from` + n - 1 */
        int rank;
        int64_t dim[MAX_RANK];
        const Node *node; /* its node */
        double error;
        int64_t at;
} NamedValue;

typedef struct {
        Model *m;
        const CommandOptions *o;
        const int64_t *size;
        Tap *tap; /* in the order of computation */
        int ntap, refused;
        NamedValue *value;
        int n, cap;
} VerifyTable;

/* --- choice of values --------------------------------------------------------------------------------------------- */

static int compare_tap_rows(const void *a, const void *b)
{
        const Tap *x = a, *y = b;
        return (x->at > y->at) - (x->at < y->at);
}

/* "layer[2].attn" of "layer[i].attn" */
static const char *of_iteration(const VerifyTable *t, const char *name, int64_t iteration)
{
        const char *all = strstr(name, "[i]");
        return all ? arena_printf(&t->m->arena, "%.*s[%" PRId64 "]%s", (int)(all - name), name, iteration,
                                  all + 3)
                   : name;
}

static int64_t tap_iterations(const Tap *tap)
{
        return strstr(tap->name, "[i]") ? tap->type.dim[0].fixed : 1;
}

/* Makes all values outputs, by iteration if not all iterations have them. */
static void add_taps(VerifyTable *t)
{
        const char *why;
        for (int i = 0; i < t->ntap; i++) {
                const Tap *tap = &t->tap[i];
                for (int64_t iteration = 0; iteration < (tap->in_all_iterations ? 1 : tap_iterations(tap));
                     iteration++)
                        tap_add(t->m->graph,
                                tap->in_all_iterations ? tap->name : of_iteration(t, tap->name, iteration),
                                &why);
        }
}

static void drop_tap(VerifyTable *t, const char *name)
{
        int n = 0;
        for (int i = 0; i < t->ntap; i++) {
                bool same = false;
                for (int64_t iteration = 0; iteration < tap_iterations(&t->tap[i]); iteration++)
                        same |= !strcmp(of_iteration(t, t->tap[i].name, iteration), name);
                if (!same && strcmp(t->tap[i].name, name) != 0)
                        t->tap[n++] = t->tap[i];
        }
        t->ntap = n;
        t->refused++;
}

/* Drops values of a causal model that are not available by position.  The graph is that which the causal pass is given: some models
 * are proved causal only by their recurrences. */
static bool drop_acausal(VerifyTable *t)
{
        Model *m = t->m;
        CommandOptions quiet = *t->o;
        memset(quiet.dump, 0, sizeof quiet.dump);
        add_taps(t);
        PassRun before = {.m = m, .o = &quiet, .properties = m->properties};
        if (!passes_run(&before, 0, (PassId)(PASS_causal - 1)))
                return false;
        m->recurrences = NULL; /* said again */
        Graph *g = m->graph;
        int time = growing_dimension(g);
        while (time >= 0) {
                CausalResult proof = causal_prove(&m->arena, graph_facts(&m->arena, g, time));
                if (!proof.causal || !proof.tap_why)
                        break;
                drop_tap(t, g->output[proof.output].tap);
                memmove(g->output + proof.output, g->output + proof.output + 1,
                        (size_t)(--g->noutput - proof.output) * sizeof *g->output);
        }
        return model_elaborate(m, t->o, t->o->model);
}

static bool choose_taps(VerifyTable *t)
{
        Model *m = t->m;
        int n = 0;
        if (!model_elaborate(m, t->o, t->o->model))
                return false;
        t->tap = taps_of(&m->arena, m->graph, &n);
        for (int i = 0; i < n; i++)
                if (t->tap[i].type.dtype == REAL)
                        t->tap[t->ntap++] = t->tap[i];
        if (t->ntap)
                qsort(t->tap, (size_t)t->ntap, sizeof *t->tap, compare_tap_rows);
        if (!t->o->off[PASS_causal] && !drop_acausal(t))
                return false;
        add_taps(t);
        return true;
}

/* --- the list ------------------------------------------------------------------------------------------------------- */

/* The node of a value, in an iteration of an outermost repeat. */
static const Node *origin(const Node *n, int64_t iteration)
{
        for (int steps = 0; steps < 256; steps++) {
                if (n->op == OP_VIEW) {
                        n = n->in[0];
                } else if (n->op == OP_RESULT) {
                        const Region *r = n->in[0]->attr.region;
                        int i = n->attr.index;
                        int64_t at =
                                i < r->ncarry || iteration >= r->iterations ? r->iterations - 1 : iteration;
                        const Body *b = r->body[r->body_of[at]];
                        n = i < r->ncarry ? b->next[i] : b->stack[i - r->ncarry];
                } else if (n->op == OP_CARRY) {
                        const Region *r = n->body->region;
                        int64_t before = iteration < r->iterations ? iteration - 1 : r->iterations - 1;
                        n = before < 0 ? r->repeat->in[n->attr.index]
                                       : r->body[r->body_of[before]]->next[n->attr.index];
                        iteration = before < 0 ? 0 : before;
                } else {
                        break;
                }
        }
        return n;
}

static int verified_output(const Graph *g, const char *name)
{
        for (int i = 0; i < g->noutput; i++)
                if (!strcmp(output_name(&g->output[i]), name))
                        return i;
        return -1;
}

/* The name up to the iteration of an outermost repeat, else its first part. */
static const char *table_row_of(Arena *a, const char *name)
{
        const char *bracket = strchr(name, ']');
        return arena_strndup(a, name, bracket ? bracket + 1 - name : (int64_t)strcspn(name, "."));
}

static void table_value(VerifyTable *t, const char *name, int output, int64_t iteration, int64_t iterations)
{
        GROW(&t->m->arena, t->value, t->n, t->cap);
        const Node *node = t->m->graph->output[output].node;
        NamedValue *v = &t->value[t->n++];
        *v = (NamedValue){
                .name = name, .output = output, .iteration = iteration, .node = origin(node, iteration)};
        v->row = table_row_of(&t->m->arena, name);
        v->n = type_count(&node->type, t->size) / iterations;
        v->from = iterations > 1 ? iteration * v->n : 0;
        v->rank = node->type.rank - (iterations > 1);
        for (int a = 0; a < v->rank; a++)
                v->dim[a] = dim_value(node->type.dim[a + (iterations > 1)], t->size);
}

static void list_iteration(VerifyTable *t, const Tap *tap, int64_t iteration)
{
        const Graph *g = t->m->graph;
        const char *name = of_iteration(t, tap->name, iteration);
        int output = verified_output(g, tap->in_all_iterations ? tap->name : name);
        if (output >= 0 && iteration < tap_iterations(tap))
                table_value(t, name, output, iteration, tap->in_all_iterations ? tap_iterations(tap) : 1);
}

/* Values of one repeat by iteration. */
static void table_values(VerifyTable *t)
{
        const Graph *g = t->m->graph;
        for (int i = 0, end; i < t->ntap; i = end) {
                const char *all = strstr(t->tap[i].name, "[i]");
                size_t prefix = all ? (size_t)(all + 3 - t->tap[i].name) : 0;
                for (end = i + 1; end < t->ntap && prefix; end++)
                        if (strncmp(t->tap[end].name, t->tap[i].name, prefix) != 0)
                                break;
                for (int64_t iteration = 0; iteration < tap_iterations(&t->tap[i]); iteration++)
                        for (int k = i; k < end; k++)
                                list_iteration(t, &t->tap[k], iteration);
        }
        for (int i = 0; i < g->noutput; i++)
                if (!g->output[i].tap)
                        table_value(t, output_name(&g->output[i]), i, 0, 1);
}

/* --- errors ------------------------------------------------------------------------------------------------------------ */

static void find_errors(VerifyTable *t, const Tensor *expected, float *const *found)
{
        const Graph *g = t->m->graph;
        for (int i = 0; i < t->n; i++) {
                NamedValue *v = &t->value[i];
                const Output *o = &g->output[v->output];
                OutputShape shape = output_shape(g, &o->node->type, t->size);
                Values values = {NULL, found[v->output] + v->from};
                v->error = largest_error(values, expected[v->output].data + v->from, v->n,
                                         isnan(o->later) ? &shape : NULL, &v->at);
        }
}

static bool is_new(const VerifyTable *t, int i, bool row)
{
        for (int k = 0; k < i; k++)
                if (row ? !strcmp(t->value[k].row, t->value[i].row)
                        : t->value[k].node->op == t->value[i].node->op)
                        return false;
        return true;
}

/* The largest error of a row and an op; -1: none. */
static double cell(const VerifyTable *t, const char *row, Op op)
{
        double most = -1;
        for (int i = 0; i < t->n; i++)
                if (t->value[i].node->op == op && !strcmp(t->value[i].row, row))
                        most = fmax(most, t->value[i].error);
        return most;
}

enum { CELL = 8 };

/* Without trailing spaces. */
static void table_print_line(const char *line)
{
        size_t n = strlen(line);
        while (n && line[n - 1] == ' ')
                n--;
        printf("%.*s\n", (int)n, line);
}

static void table_print_row(const VerifyTable *t, const char *row, int width)
{
        Arena *a = &t->m->arena;
        const char *line = arena_printf(a, "%-*s", width, row);
        for (int i = 0; i < t->n; i++) {
                if (!is_new(t, i, false))
                        continue;
                double error = cell(t, row, t->value[i].node->op);
                const char *text = error < 0 ? "" : error == 0 ? "0" : arena_printf(a, "%.1e", error);
                line = arena_printf(a, "%s %-*s", line, CELL, text);
        }
        table_print_line(line);
}

static void print_errors(const VerifyTable *t)
{
        int width = 0;
        for (int i = 0; i < t->n; i++)
                width = (int)strlen(t->value[i].row) > width ? (int)strlen(t->value[i].row) : width;
        const char *head = arena_printf(&t->m->arena, "%-*s", width, "");
        for (int i = 0; i < t->n; i++)
                if (is_new(t, i, false))
                        head = arena_printf(&t->m->arena, "%s %-*s", head, CELL,
                                            op_info[t->value[i].node->op].text);
        table_print_line(head);
        for (int i = 0; i < t->n; i++)
                if (is_new(t, i, true))
                        table_print_row(t, t->value[i].row, width);
}

/* Index of the largest error in v. */
static int64_t *index_of_error(Arena *a, const NamedValue *v)
{
        int64_t *index = NEW_ARRAY(a, int64_t, v->rank + 1), rest = v->at;
        for (int k = v->rank - 1; k >= 0; k--) {
                index[k] = rest % v->dim[k];
                rest /= v->dim[k];
        }
        return index;
}

static void print_first_over(const VerifyTable *t, const NamedValue *v, const Tensor *expected,
                             float *const *found, double bound)
{
        Arena *a = &t->m->arena;
        printf("first over %g: %s (%s", bound, v->name, op_info[v->node->op].text);
        if (v->node->span.source)
                printf(", %s:%d", v->node->span.source->path, span_line(v->node->span));
        printf("): at %s %.9g where the interpreter has %.9g, error %.1e\n",
               shape_text(a, v->rank, index_of_error(a, v)), (double)found[v->output][v->from + v->at],
               expected[v->output].data[v->from + v->at], v->error);
}

static const NamedValue *first_over(const VerifyTable *t, double bound)
{
        for (int i = 0; i < t->n; i++)
                if (!(t->value[i].error <= bound))
                        return &t->value[i];
        return NULL;
}

static void table_report(const VerifyTable *t, const char *how, const Tensor *expected, float *const *found,
                         double bound)
{
        const NamedValue *most = NULL, *first = first_over(t, bound);
        for (int i = 0; i < t->n; i++)
                most = !most || t->value[i].error > most->error ? &t->value[i] : most;
        printf("\nlargest error by layer and op, %s\n", how);
        print_errors(t);
        if (t->refused)
                printf("left out, as they can't be given position by position: %d\n", t->refused);
        if (most)
                printf("the largest of %d: %s (%s)\n", t->n, most->name, op_info[most->node->op].text);
        if (first)
                print_first_over(t, first, expected, found, bound);
        fflush(stdout);
}

/* A value: its name, its error, and the index of that. */
static json_t *value_json(const VerifyTable *t, const NamedValue *v, const Tensor *expected,
                          float *const *found)
{
        Arena *a = &t->m->arena;
        const Span span = v->node->span;
        const int64_t *index = index_of_error(a, v);
        json_t *at = json_array();
        for (int k = 0; k < v->rank; k++)
                json_array_append_new(at, json_integer(index[k]));
        const char *file =
                span.source ? comment_text(a, span.source->path, (int64_t)strlen(span.source->path)) : NULL;
        json_t *line = span.source ? json_integer(span_line(span)) : json_null();
        return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:o}", "name", v->name, "layer", v->row,
                         "op", op_info[v->node->op].text, "file", file, "line", line, "error",
                         json_finite(v->error), "at", at, "found",
                         json_finite(v->n ? (double)found[v->output][v->from + v->at] : 0), "expected",
                         json_finite(v->n ? expected[v->output].data[v->from + v->at] : 0));
}

static void report_json(const VerifyTable *t, const char *how, const Tensor *expected, float *const *found,
                        double bound, json_t *report)
{
        const NamedValue *first = first_over(t, bound);
        json_t *list = json_array();
        for (int i = 0; i < t->n; i++)
                json_array_append_new(list, value_json(t, &t->value[i], expected, found));
        json_object_set_new(report, "values_of", json_string(how));
        json_object_set_new(report, "values", list);
        json_object_set_new(report, "values_left_out", json_integer(t->refused));
        json_object_set_new(report, "first_over", first ? json_string(first->name) : json_null());
}

/* --- the whole ----------------------------------------------------------------------------------------------------------- */

/* Before passes; or after them, with state rounded as in compiled code. */
static const char *interpret_values(VerifyTable *t, KeptState *kept, const Tensor *input, Tensor *expected)
{
        const Graph *g = t->m->graph;
        int64_t size[MAX_NAMED];
        Checkpoint *checkpoint;
        WeightSource source = {open_weights(t->m, t->o, &checkpoint), weights_read, weights_why};
        KeptSource follows = {kept, kept_value};
        InterpState *state = interp_state_new(g);
        if (state && kept->state)
                interp_state_follow(state, &follows);
        memcpy(size, t->size, sizeof size);
        if (g->past >= 0)
                size[g->past] = 0;
        const char *why = !source.from ? "there are no weights"
                          : !state     ? no_memory
                                       : interpret(g, size, input, &source, state, expected);
        interp_state_free(state);
        checkpoint_close(checkpoint);
        return why;
}

bool verify_table(Model *m, const CommandOptions *o, const Target *target, When when, const int64_t *size,
                  const Tensor *input, double bound, json_t *to)
{
        VerifyTable t = {.m = m, .o = o, .size = size};
        KeptState kept = {0};
        TestRun test_run = {.size = size, .input = input, .kept = o->kv ? &kept : NULL};
        CommandOptions alone = *o;
        alone.slots = 1;                                /* values are not rows of a batch */
        alone.off[PASS_window] |= o->kv != STORAGE_F32; /* the complete state is needed */
        if (!choose_taps(&t))
                return false;
        table_values(&t);
        int n = m->graph->noutput;
        Tensor *expected = NEW_ARRAY(&m->arena, Tensor, n);
        bool first = o->kv != STORAGE_F32; /* only then there is state to follow */
        bool good = !first || (model_passes(m, o) && test_run_of_model(m, &alone, target, when, &test_run));
        const char *why = good ? interpret_values(&t, &kept, input, expected) : NULL;
        if (why)
                fprintf(stderr, "lathe verify: the interpreter: %s\n", why);
        good = good && !why &&
               (first || (model_passes(m, o) && test_run_of_model(m, &alone, target, when, &test_run)));
        if (good) {
                const char *how = test_run_text(&m->arena, target, when);
                find_errors(&t, expected, test_run.output);
                if (to)
                        report_json(&t, how, expected, test_run.output, bound, to);
                else
                        table_report(&t, how, expected, test_run.output, bound);
        }
        for (int i = 0; i < n; i++) {
                tensor_free(&expected[i]);
                if (test_run.output)
                        free(test_run.output[i]);
        }
        free(kept.state);
        return good;
}
