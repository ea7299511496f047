/* One run of a whole model: inputs, and outputs in the order of computation. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_private.h"

enum {
        POSITIONS = 40,
        FEWER = 7
}; /* of each named dimension after the first, FEWER fewer: as `lathe verify` has it */

static void *trace_random_input(const Input *in, const int64_t *size)
{
        int64_t n = type_count(&in->type, size);
        void *data = malloc((size_t)n * sizeof(float) + 1);
        int32_t *whole = data;
        float *real = data;
        for (int64_t i = 0; data && i < n; i++)
                if (in->type.dtype == REAL)
                        real[i] = (float)hashed_input(in, (uint64_t)i);
                else
                        whole[i] = (int32_t)hashed_input(in, (uint64_t)i);
        return data;
}

/* Whether the model's last loop fills the input. */
bool loop_fills(const Graph *g, const Input *in)
{
        return g->nloop && loop_setting(&g->loop[g->nloop - 1], input_name(in));
}

const Input *input_of_text(const Graph *g)
{
        const Input *text = NULL;
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                if (loop_fills(g, in))
                        continue;
                if (text || !in->bound || in->type.rank != 1)
                        return NULL;
                text = in;
        }
        return text;
}

int time_of(const Graph *g)
{
        return g->past >= 0 ? g->time : growing_dimension(g);
}

/* Chooses the sizes that given inputs do not determine. */
static void choose_sizes(const Graph *g, Trace *t, const Recorded *given)
{
        for (int i = 0, k = 0; i < g->nnamed; i++) {
                if (i == g->past)
                        continue;
                int64_t want = POSITIONS - FEWER * k++, bound = g->named[i].bound;
                t->size[i] = given->size[i]                ? given->size[i]
                             : t->token && i == time_of(g) ? t->ntoken
                             : want < bound                ? want
                                                           : bound;
        }
}

static bool fits_context(const Graph *g, const Trace *t)
{
        for (int i = 0; i < g->nnamed; i++)
                if (i != g->past && t->size[i] > g->named[i].bound)
                        return repl_error("%s is %" PRId64 " by the inputs, and at most %" PRId64 "",
                                          g->named[i].name, t->size[i], g->named[i].bound);
        return true;
}

/* Input i in the form of the engine; NULL: out of memory. */
static void *trace_take_input(const Graph *g, const Trace *t, Recorded *given, int i)
{
        if (given->record[i].given) {
                memcpy(given->size, t->size, sizeof given->size);
                return recorded_fill(given, i) ? recorded_input(given, i, 0) : NULL;
        }
        if (!t->token || &g->input[i] != input_of_text(g))
                return trace_random_input(&g->input[i], t->size);
        void *copy = malloc((size_t)t->ntoken * 4 + 4);
        return copy ? memcpy(copy, t->token, (size_t)t->ntoken * 4) : NULL;
}

static bool trace_take_inputs(ReplSession *s, Trace *t, Recorded *given)
{
        const Graph *g = s->runner->model.graph;
        if (!given_inputs(s, given))
                return false;
        bool has_text = s->prompt && (*s->prompt || !why_not_generating(g));
        if (has_text && !s->input.n && input_of_text(g) && time_of(g) >= 0) {
                t->token = prompt_of(s, &t->ntoken);
                if (!t->token)
                        return false;
                if (t->ntoken > g->named[time_of(g)].bound)
                        return repl_error("the text has %" PRId64 " tokens, and the context holds %" PRId64
                                          "",
                                          t->ntoken, g->named[time_of(g)].bound);
        }
        choose_sizes(g, t, given);
        if (!fits_context(g, t))
                return false;
        t->input = calloc((size_t)g->ninput + 1, sizeof *t->input);
        t->output = calloc((size_t)g->noutput + 1, sizeof *t->output);
        t->count = calloc((size_t)g->noutput + 1, sizeof *t->count);
        bool good = t->input && t->output && t->count;
        for (int i = 0; good && i < g->ninput; i++) {
                t->input[i] = trace_take_input(g, t, given, i);
                good = t->input[i] != NULL;
        }
        for (int i = 0; good && i < g->noutput; i++) {
                t->count[i] = type_count(&g->output[i].node->type, t->size);
                t->output[i] = malloc((size_t)t->count[i] * sizeof(float) + 64);
                good = t->output[i] != NULL;
        }
        return good || repl_error("%s", no_memory);
}

/* Given inputs; the text of a run; else made from hashes. */
bool trace_inputs(ReplSession *s, Trace *t)
{
        Recorded given = {0};
        *t = (Trace){0};
        bool good = trace_take_inputs(s, t, &given);
        recorded_free(&given);
        return good;
}

bool trace_run(ReplSession *s, Trace *t)
{
        const Runner *r = s->runner;
        const Graph *g = r->model.graph;
        EngineCall call = {(const void *const *)t->input, t->output, t->size};
        const char *error = g->past >= 0 ? engine_advance(r->engine, &call, t->size[g->time], 0)
                                         : engine_forward(r->engine, &call);
        return !error || repl_error("%s", error);
}

void trace_free(const ReplSession *s, Trace *t)
{
        const Graph *g = s->runner->model.graph; /* not used if nothing was read */
        for (int i = 0; t->input && i < g->ninput; i++)
                free(t->input[i]);
        for (int i = 0; t->output && i < g->noutput; i++)
                free(t->output[i]);
        free(t->input);
        free(t->output);
        free(t->count);
        free(t->token);
        *t = (Trace){0};
}

double *trace_output(const ReplSession *s, const Trace *t, int i, int64_t *dim)
{
        const Type *type = &s->runner->model.graph->output[i].node->type;
        double *value = malloc((size_t)t->count[i] * sizeof *value + 1);
        for (int a = 0; a < type->rank; a++)
                dim[a] = dim_value(type->dim[a], t->size);
        for (int64_t k = 0; value && k < t->count[i]; k++)
                value[k] = (double)t->output[i][k];
        return value;
}

/* --- :golden ------------------------------------------------------------------------------------------------------------ */

static void print_inputs(const ReplSession *s, const Trace *t)
{
        const Graph *g = s->runner->model.graph;
        if (t->token)
                printf("input: the text, %" PRId64 " tokens\n", t->ntoken);
        else
                printf(s->input.n ? "input: given" : "input: generated from a hash");
        for (int i = 0; !t->token && i < g->nnamed; i++)
                if (i != g->past)
                        printf(", %s %" PRId64, g->named[i].name, t->size[i]);
        if (!t->token)
                printf("\n");
}

static void print_golden(const ReplSession *s, const Trace *t, int i)
{
        const Output *o = &s->runner->model.graph->output[i];
        const float *x = t->output[i];
        int64_t n = t->count[i];
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
                sum += (double)x[k] * (double)x[k];
        printf("%s [", output_name(o));
        for (int a = 0; a < o->node->type.rank; a++)
                printf("%s%" PRId64, a ? ", " : "", dim_value(o->node->type.dim[a], t->size));
        printf("]  hash %016" PRIx64 "  norm %.7g\n", hash_floats(HASH_START, x, n), sqrt(sum));
        printf("  first");
        for (int64_t k = 0; k < n && k < 4; k++)
                printf(" %.7g", (double)x[k]);
        printf("  last");
        for (int64_t k = n > 4 ? n - 4 : 0; k < n; k++)
                printf(" %.7g", (double)x[k]);
        printf("\n");
}

bool print_goldens(ReplSession *s, const Words *w)
{
        (void)w;
        Trace t;
        if (!runner_fit(s, AS_IT_IS))
                return false;
        bool good = trace_inputs(s, &t) && trace_run(s, &t);
        if (good)
                print_inputs(s, &t);
        for (int i = 0; good && i < s->runner->model.graph->noutput; i++)
                print_golden(s, &t, i);
        good = good && keep_snapshot(s);
        trace_free(s, &t);
        return good;
}

/* --- :tap ---------------------------------------------------------------------------------------------------------------- */

/* First without the tap, for the sizes; the tap makes another program. */
bool trace_tapped(ReplSession *s, RunnerKind kind, Trace *t, int *output)
{
        *t = (Trace){0};
        if (!runner_fit(s, AS_IT_IS))
                return false;
        bool good = trace_inputs(s, t);
        int64_t size[MAX_NAMED];
        memcpy(size, t->size, sizeof size);
        trace_free(s, t);
        kind.size = size;
        if (!good || !runner_fit(s, kind))
                return false;
        *output = s->runner->tap_output;
        return trace_inputs(s, t) && trace_run(s, t);
}

bool print_tap(ReplSession *s, const Words *w)
{
        Trace t;
        int i;
        int64_t dim[MAX_RANK];
        bool good = trace_tapped(s, (RunnerKind){.tap = w->word[1], .attention = -1}, &t, &i);
        double *value = good ? trace_output(s, &t, i, dim) : NULL;
        if (value)
                print_tensor(stdout,
                             &(Shown){REAL, s->runner->model.graph->output[i].node->type.rank, dim, value},
                             0);
        else if (good)
                good = repl_error("%s", no_memory);
        free(value);
        trace_free(s, &t);
        return good;
}
