/* :input: inputs of the current model, by name. */
#include "repl_private.h"

#include <stdlib.h>
#include <string.h>

static bool out_of_memory(void)
{
        return repl_error("%s", no_memory);
}

static const char *interned_name(ReplSession *s, const char *name, size_t n)
{
        return intern(&s->names, name, (int32_t)n);
}

/* --- giving one ---------------------------------------------------------------------------------------------------- */

/* Takes ownership of value, which is malloc'd. */
static KeptValue *keep_values(int rank, const int64_t *dim, double *value)
{
        KeptValue *k = calloc(1, sizeof *k);
        if (!k) {
                free(value);
                return out_of_memory(), NULL;
        }
        *k = (KeptValue){.refs = 1, .kind = V_TENSOR, .dtype = REAL, .rank = rank, .data = value};
        memcpy(k->dim, dim, (size_t)rank * sizeof *dim);
        return k;
}

static KeptValue *read_input(const char *path, const char *name)
{
        CkError error;
        NamedValues v;
        if (!values_load(path, name, &v, &error))
                return repl_error("%s", error.message), NULL;
        return keep_values(v.rank, v.dim, v.value);
}

/* Reads a picture or a sound in the form that the current model needs. */
static KeptValue *read_medium(ReplSession *s, const char *path, const char *name)
{
        MediumValues v;
        if (!runner_fit(s, AS_IT_IS))
                return NULL;
        const Graph *g = s->runner->model.oracle;
        const Input *in = input_named(g, name);
        if (!in)
                return repl_error("%s has no input %s", s->model, name), NULL;
        const char *why = medium_values(g, in, path, false, &v);
        if (why)
                return fprintf(stderr,
                               v.wrong_shape ? "lathe: error: %s: expected %s\n" : "lathe: error: %.0s%s\n",
                               path, why),
                       NULL;
        return keep_values(v.rank, v.dim, v.value);
}

static void drop_input(Variables *v, const char *name)
{
        for (int i = 0; i < v->n; i++)
                if (v->at[i].name == name) {
                        kept_drop(v->at[i].value);
                        v->at[i] = v->at[--v->n];
                        return;
                }
}

static bool kept_is_number(const KeptValue *k)
{
        return k->kind == V_INT || k->kind == V_REAL || k->kind == V_BOOL;
}

static bool take_value(ReplSession *s, const char *name, const char *text)
{
        KeptValue *k = is_values_file(text)   ? read_input(text, name)
                       : is_medium_file(text) ? read_medium(s, text, name)
                                              : evaluate_text(s, text);
        if (!k)
                return false;
        if (k->kind == V_NONE) {
                kept_drop(k);
                drop_input(&s->input, name);
                return true;
        }
        if (!kept_is_number(k) && !k->data) {
                kept_drop(k);
                return repl_error("an input is a number or a tensor");
        }
        return variables_set(&s->input, name, k) || out_of_memory();
}

static void repl_print_input(const Variable *v)
{
        const KeptValue *k = v->value;
        int width = printf("%s = ", v->name);
        if (kept_is_number(k)) {
                print_shortest(stdout, k->number);
                putchar('\n');
        } else {
                print_tensor(stdout, &(Shown){k->dtype, k->rank, k->dim, k->data}, width);
        }
}

static bool repl_print_given(const ReplSession *s, const char *name)
{
        bool found = false;
        for (int i = 0; i < s->input.n; i++)
                if (!name || s->input.at[i].name == name) {
                        repl_print_input(&s->input.at[i]);
                        found = true;
                }
        if (!found && name)
                repl_error("input %s is not set", name);
        else if (!found)
                printf("no input is set: inputs are generated from a hash\n");
        return found || !name;
}

bool give_input(ReplSession *s, const Words *w)
{
        size_t n = strcspn(w->rest, " \t=");
        const char *equals = w->rest + n + strspn(w->rest + n, " \t");
        if (!*w->rest)
                return repl_print_given(s, NULL);
        const char *name = interned_name(s, w->rest, n);
        if (!*equals)
                return repl_print_given(s, name);
        if (n == 0 || *equals != '=')
                return repl_error("usage: :input NAME = VALUE");
        const char *value = equals + 1 + strspn(equals + 1, " \t");
        return *value ? take_value(s, name, value)
                      : (repl_error("which value? :input %s = none resets it", name), false);
}

/* --- some in place of others ------------------------------------------------------------------------------------------- */

/* Sets NAME=VALUE in s->input. */
static bool replace_input(ReplSession *s, const char *text)
{
        const size_t n = strcspn(text, "=");
        const char *name = interned_name(s, text, n);
        if (n == 0 || !text[n] || !text[n + 1])
                return repl_error("--without must be NAME=VALUE, not %s", text);
        if (!input_named(s->runner->model.oracle, name))
                return repl_error("%s has no input %s", s->model, name);
        return take_value(s, name, text + n + 1) &&
               (variables_find(&s->input, name) || repl_error("--without %s: none is not a value", text));
}

bool trace_inputs_without(ReplSession *s, const char *const *text, int n, Trace *t)
{
        const Variables given = s->input;
        bool good = true;
        *t = (Trace){0};
        s->input = (Variables){0};
        for (int i = 0; i < given.n && good; i++) {
                given.at[i].value->refs++;
                good = variables_set(&s->input, given.at[i].name, given.at[i].value) || out_of_memory();
        }
        for (int i = 0; i < n && good; i++)
                good = replace_input(s, text[i]);
        good = good && trace_inputs(s, t);
        variables_free(&s->input);
        s->input = given;
        return good;
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

static bool add_given(Recorded *r, const Variable *v)
{
        const KeptValue *k = v->value;
        int64_t n = 1;
        for (int a = 0; !kept_is_number(k) && a < k->rank; a++)
                n *= k->dim[a];
        double *value = malloc((size_t)n * sizeof *value + 1);
        if (!value)
                return out_of_memory();
        memcpy(value, kept_is_number(k) ? &k->number : k->data, (size_t)n * sizeof *value);
        return recorded_add(r, v->name, kept_is_number(k) ? 0 : k->rank, k->dim, value) ||
               repl_error("too many inputs");
}

bool is_input_given(const ReplSession *s, const Input *in)
{
        for (int i = 0; i < s->input.n; i++)
                if (!strcmp(s->input.at[i].name, input_name(in)))
                        return true;
        return false;
}

/* Adds the inputs that the model's last loop fills and that are not given. */
static bool add_filled(const ReplSession *s, const Graph *g, Recorded *r)
{
        for (int i = 0; i < g->ninput; i++)
                if (loop_fills(g, &g->input[i]) && !is_input_given(s, &g->input[i]) &&
                    !loop_fill(&g->loop[g->nloop - 1], &g->input[i], r))
                        return out_of_memory();
        return true;
}

bool given_inputs(ReplSession *s, Recorded *r)
{
        Graph *g = s->runner->model.oracle;
        for (int i = 0; i < s->input.n; i++) {
                const char *name = s->input.at[i].name;
                if (!input_named(g, name)) {
                        return repl_error("%s has no input %s; :input %s = none removes it", s->model, name,
                                          name);
                }
                if (!add_given(r, &s->input.at[i]))
                        return false;
        }
        if (!add_filled(s, g, r))
                return false;
        const char *why = recorded_gather(r, g, s->model, SOME_INPUTS);
        if (why)
                repl_error("%s", why);
        return !why;
}
