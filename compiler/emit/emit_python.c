/* The model as a Python module: tables for packaging/module.py, and that file. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

/* [[1, {}], [0, {"time": 1}]]: for each axis the fixed part, and the coefficient of each size. */
static void add_shape(const Emit *e, const Type *t, Text *py)
{
        text_put(py, "[");
        for (int a = 0; a < t->rank; a++) {
                text_printf(py, "%s[%" PRId64 ", {", a ? ", " : "", t->dim[a].fixed);
                int n = 0;
                for (int i = 0; i < e->g->nnamed; i++)
                        if (t->dim[a].per[i])
                                text_printf(py, "%s\"%s\": %" PRId64, n++ ? ", " : "", e->g->named[i].name,
                                            t->dim[a].per[i]);
                text_put(py, "}]");
        }
        text_put(py, "]");
}

/* ", int64_t words" or ", const float *x" as a list of names: ["words"] */
static void add_names(const char *list, Text *py)
{
        text_put(py, "[");
        for (int n = 0; *list; n++) {
                list += strspn(list, ", ");
                const int length = (int)strcspn(list, ",");
                text_printf(py, "%s\"%.*s\"", n ? ", " : "", length, list);
                list += length;
        }
        text_put(py, "]");
}

static void add_call(const Emit *e, const char *kind, int group, Text *py)
{
        text_printf(py, "        \"%s%s\": {\"sizes\": ", kind, group == CALLS ? "" : group_name(e, group));
        add_names(size_list(e, group, false), py);
        text_put(py, ", \"inputs\": ");
        add_names(input_list(e, group, false, false), py);
        text_put(py, "},\n");
}

/* Whether the loop fills an input of the call with a number, which is *value. */
static bool loop_gives_input(const Emit *e, const EmitLoop *l, const Input *in, double *value)
{
        const Setting *s = loop_setting(l->loop, input_name(in));
        if (!strcmp(l->loop->name, "denoise") || !strcmp(l->loop->name, "transcribe") ||
            is_fed_separately(e->g, in->group) || in == l->parts.input)
                return false;
        const bool filled = s && s->kind == SETTING_NUMBER;
        *value = filled ? s->number : 0;
        return filled || in == l->parts.types;
}

/* The same, of all loops; false if they differ. */
static bool loops_fill(const Emit *e, const Input *in, double *value)
{
        int n = 0;
        for (int i = 0; i < e->o->nloop; i++) {
                double other = 0;
                if (!loop_gives_input(e, &e->o->loop[i], in, &other))
                        continue;
                if (n++ && other != *value)
                        return false;
                *value = other;
        }
        return n > 0;
}

static void add_tensors(const Emit *e, Text *py)
{
        text_put(py, "    \"sizes\": {");
        for (int i = 0, n = 0; i < e->g->nnamed; i++)
                if (e->causal || i != e->g->past)
                        text_printf(py, "%s\"%s\": %" PRId64, n++ ? ", " : "", e->g->named[i].name,
                                    e->g->named[i].bound);
        text_put(py, "},\n    \"inputs\": {\n");
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                text_printf(py, "        \"%s\": {\"dtype\": \"%s\", \"shape\": ", in->name,
                            in->type.dtype == REAL ? "float32" : "int32");
                add_shape(e, &in->type, py);
                if (in->type.dtype != REAL)
                        text_printf(py, ", \"bound\": %" PRId64, in->bound);
                double value = 0;
                if (loops_fill(e, in, &value))
                        text_printf(py, ", \"fill\": %.17g", value);
                text_put(py, "},\n");
        }
        text_put(py, "    },\n    \"outputs\": {\n");
        for (int i = 0; i < e->g->noutput; i++) {
                text_printf(py, "        \"%s\": {\"shape\": ", e->g->output[i].name);
                add_shape(e, &e->g->output[i].node->type, py);
                text_put(py, "},\n");
        }
        text_put(py, "    },\n");
}

static void add_calls(const Emit *e, Text *py)
{
        text_put(py, "    \"calls\": {\n");
        add_call(e, "forward", CALLS, py);
        for (int i = 0; i < e->g->ngroup; i++)
                if (is_fed_separately(e->g, i))
                        add_call(e, "feed_", i, py);
        text_put(py, "    },\n    \"groups\": [");
        for (int i = 0, n = 0; i < e->g->ngroup; i++)
                if (is_fed_separately(e->g, i))
                        text_printf(py, "%s\"%s\"", n++ ? ", " : "", group_name(e, i));
        text_put(py, "],\n");
}

/* Inputs of denoise that the caller passes, and their sizes. */
static void add_denoise(const Emit *e, const EmitLoop *l, Text *py)
{
        text_put(py, "{\"given\": ");
        add_names(caller_gives(e, l), py);
        text_put(py, ", \"sizes\": [");
        for (int i = 0, n = 0; i < e->g->nnamed; i++)
                if (is_callers_size(e->g, l, i))
                        text_printf(py, "%s\"%s\"", n++ ? ", " : "", e->g->named[i].name);
        text_printf(py, "], \"class\": %s, \"latent\": \"%s\"}",
                    l->parts.class ? arena_printf(e->arena, "\"%s\"", l->parts.class->name) : "None",
                    l->parts.input->name);
}

/* Number of values of each loop's output; None: tokens. */
static void python_loops(const Emit *e, Text *py)
{
        text_put(py, "    \"loops\": {");
        for (int i = 0; i < e->o->nloop; i++) {
                const EmitLoop *l = &e->o->loop[i];
                text_printf(py, "%s\"%s\": ", i ? ", " : "", l->loop->name);
                const Type *out = l->parts.output < 0 ? NULL : &e->g->output[l->parts.output].node->type;
                if (!strcmp(l->loop->name, "classify") && l->parts.input->type.dtype == INT)
                        text_printf(py, "{\"classes\": %" PRId64 ", \"of_tokens\": %s}", loop_columns(e, l),
                                    out->rank == 2 ? "True" : "False");
                else if (!strcmp(l->loop->name, "denoise"))
                        add_denoise(e, l, py);
                else if (l->parts.output < 0)
                        text_put(py, "None");
                else
                        text_printf(py, "%" PRId64, loop_columns(e, l));
        }
        text_put(py, "},\n");
}

/* Inputs that a function of each loop takes: the loop's own, and the types of tokens. */
static void add_loop_inputs(const Emit *e, Text *py)
{
        text_put(py, "    \"loop_inputs\": {");
        for (int i = 0; i < e->o->nloop; i++) {
                const EmitLoop *l = &e->o->loop[i];
                text_printf(py, "%s\"%s\": [\"%s\"", i ? ", " : "", l->loop->name, l->parts.input->name);
                if (l->parts.types)
                        text_printf(py, ", \"%s\"", l->parts.types->name);
                text_put(py, "]");
        }
        text_put(py, "},\n");
}

/* The first token of a text without a prompt, the tokens that end a text, and the maximum of drafts. */
static void add_generation(const Emit *e, Text *py)
{
        if (!e->o->generates) {
                text_put(py, "    \"start\": None,\n    \"stop\": [],\n    \"drafts\": 0,\n");
                return;
        }
        text_printf(py, "    \"start\": %d,\n    \"stop\": [", start_token(e->g));
        const int32_t *stop = loop_tokens(e->g, "stop");
        for (int i = 0; stop[i] >= 0; i++)
                text_printf(py, "%s%d", i ? ", " : "", stop[i]);
        text_printf(py, "],\n    \"drafts\": %" PRId64 ",\n", max_drafts(e));
}

/* The settings of the loop that choose tokens, as arguments of generate(). */
static void python_sampling(const Emit *e, Text *py)
{
        const Sampling *s = &e->o->sampling.own;
        text_put(py, "    \"sampling\": {");
        if (sampling_has_effect(s))
                text_printf(py,
                            "\"temperature\": %s, \"top_k\": %d, \"top_p\": %s, \"min_p\": %s, "
                            "\"repetition_penalty\": %s, \"seed\": 1",
                            float_shortest(e->arena, s->temperature), s->top_k,
                            float_shortest(e->arena, s->top_p), float_shortest(e->arena, s->min_p),
                            float_shortest(e->arena, s->repetition));
        text_put(py, "},\n");
}

void emit_python(Plan *p, const EmitOptions *o, Text *py)
{
        const Emit e = emit_new(p, o);
        text_printf(py,
                    "\"\"\"%s: a model, written by lathe %s: arrays of numpy in and out.  %s.h says what "
                    "each input "
                    "and output is.\"\"\"\n\nMODEL = {\n",
                    e.name, LATHE_VERSION, o->name);
        text_printf(py,
                    "    \"name\": \"%s\",\n    \"files\": \"%s\",\n    \"package\": \"%s\",\n    "
                    "\"version\": \"%s\",\n",
                    e.name, o->name, LATHE_VERSION, version_text(&e));
        text_printf(py, "    \"weights\": %s,\n",
                    o->home == WEIGHTS_MAPPED ? arena_printf(e.arena, "\"%s.weights\"", o->name) : "None");
        text_printf(py, "    \"time\": %s,\n    \"past\": %s,\n",
                    e.causal ? arena_printf(e.arena, "\"%s\"", e.g->named[e.g->time].name) : "None",
                    e.causal ? arena_printf(e.arena, "\"%s\"", e.g->named[e.g->past].name) : "None");
        text_printf(py, "    \"tokenizer\": %s,\n    \"generates\": %s,\n    \"grammar\": %s,\n",
                    o->tables ? "True" : "False", o->generates ? "True" : "False",
                    o->grammar ? "True" : "False");
        text_printf(py, "    \"slots\": %d,\n    \"pages\": %s,\n", p->slots,
                    has_pages(&e) ? "True" : "False");
        add_tensors(&e, py);
        add_calls(&e, py);
        python_loops(&e, py);
        add_loop_inputs(&e, py);
        add_generation(&e, py);
        python_sampling(&e, py);
        text_printf(py, "}\n\n%s", embedded_text("module.py"));
}
