/* Loop draft as functions of the model (runtime/model_draft.h); and rows of values that generation stores, which a
 * draft reads. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

/* --- the first model --------------------------------------------------------------------------------------------- */

/* Whether the output is a tap with a row for each position. */
static bool is_row_tap(const Emit *e, const Output *o)
{
        const Type *t = &o->node->type;
        bool fixed = o->tap && e->causal && t->rank > 0 && dim_equal(t->dim[0], dim_named(e->g->time));
        for (int a = 1; a < t->rank; a++)
                fixed = fixed && dim_is_fixed(t->dim[a]);
        return fixed;
}

bool stores_rows(const Emit *e)
{
        bool any = false;
        for (int i = 0; i < e->g->noutput && e->o && e->o->generates; i++)
                any |= is_row_tap(e, &e->g->output[i]);
        return any;
}

const char *generation_taps(const Emit *e)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++) {
                const Output *o = &e->g->output[i];
                if (is_row_tap(e, o))
                        text_printf(t, ", m->stored.%s ? m->stored.%s + m->%s * %" PRId64 " : NULL", o->name,
                                    o->name, e->g->named[e->g->past].name,
                                    row_elements(e->plan, &o->node->type));
                else if (o->tap)
                        text_put(t, ", NULL");
        }
        return t->data;
}

void declare_rows(const Emit *e, Text *h)
{
        if (!stores_rows(e))
                return;
        text_printf(h, "/* Memory for rows of taps, of the caller.  Generation stores the row of each "
                       "position that it "
                       "processes; NULL: it does not. */\ntypedef struct {\n");
        for (int i = 0; i < e->g->noutput; i++)
                if (is_row_tap(e, &e->g->output[i]))
                        text_printf(h, "        float *%s; /* [%" PRId64 ", %" PRId64 "]: %s */\n",
                                    e->g->output[i].name, e->g->named[e->g->time].bound,
                                    row_elements(e->plan, &e->g->output[i].node->type), e->g->output[i].tap);
        text_printf(h, "} %s_rows;\n", e->name);
}

/* --- the model that drafts ----------------------------------------------------------------------------------------- */

/* The output that takes the place of an input; -1: none. */
static int output_for(const Emit *e, const char *name)
{
        for (int i = 0; i < e->g->noutput; i++)
                if (!strcmp(output_name(&e->g->output[i]), name))
                        return i;
        return -1;
}

static int next_for(const Emit *e, const Input *in)
{
        return output_for(e, arena_printf(e->arena, "next_%s", input_name(in)));
}

/* The C expression for output i of a call. */
static const char *draft_output_text(const Emit *e, int i)
{
        int value = 0;
        for (int k = 0; k < e->g->ninput; k++) {
                const Input *in = &e->g->input[k];
                if (in->type.dtype != REAL)
                        continue;
                if (next_for(e, in) == i)
                        return arena_printf(e->arena, "value[%d].next", value);
                value++;
        }
        return i == 0 ? "logits" : i == output_for(e, "vocabulary") ? "vocabulary" : "NULL";
}

static void emit_draft_call(const Emit *e, Text *c)
{
        Text *inputs = text_new(e->arena), *outputs = text_new(e->arena);
        for (int i = 0, value = 0; i < e->g->ninput; i++)
                if (e->g->input[i].type.dtype == REAL)
                        text_printf(inputs, ", value[%d].from", value++);
                else
                        text_put(inputs, ", tokens");
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(outputs, ", %s", draft_output_text(e, i));
        text_printf(c,
                    "static int draft_call(void *model, const DraftValue *value, const int32_t *tokens, "
                    "int64_t n, float "
                    "*logits, float *vocabulary UNUSED)\n{\n        return advance((%s *)model%s, n, n - "
                    "1%s);\n}\n\n",
                    e->name, inputs->data, outputs->data);
}

void emit_draft(const Emit *e, const EmitLoop *l, Text *c)
{
        static const char *const files[] = {"sampler.h", NULL};
        const char *function = host_text(e, "model_draft.h");
        const int64_t context = e->g->named[e->g->time].bound,
                      logits = row_elements(e->plan, &e->g->output[0].node->type);
        Text *values = text_new(e->arena), *rows = text_new(e->arena);
        int64_t n = 0, widths = 0, zeros = 0;
        const bool maps = output_for(e, "vocabulary") >= 0;
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                const int64_t width = row_elements(e->plan, &in->type);
                if (in->type.dtype != REAL)
                        continue;
                const bool reads = loop_text_setting(l->loop, input_name(in));
                text_printf(values, "{.width = %" PRId64 ", .goes_on = %d}, ", width, next_for(e, in) >= 0);
                text_printf(rows, "        value[%" PRId64 "].rows = %s%s;\n", n, reads ? "d->" : "zeros",
                            reads ? in->name : "");
                widths += width;
                zeros = !reads && width * context > zeros ? width * context : zeros;
                n++;
        }
        text_printf(c,
                    "enum { DRAFT_VOCAB = %" PRId64 ", DRAFT_LOGITS = %" PRId64 ", DRAFT_CONTEXT = %" PRId64
                    ", DRAFT_VALUES = %" PRId64 ", DRAFT_WIDTHS = %" PRId64 ", DRAFT_ZEROS = %" PRId64
                    ", DRAFT_MAPS = %d };\n"
                    "static const DraftValue draft_values[] = {%s};\n\n",
                    maps ? l->parts.input->bound : logits, logits, context, n, widths, zeros, maps,
                    values->data);
        text_printf(c,
                    "/* Points to rows of the first model's values. */\nstatic void draft_rows(const "
                    "%s_drafter *d, "
                    "DraftValue *value, const float *zeros UNUSED)\n{\n%s}\n\n",
                    e->name, rows->data);
        emit_draft_call(e, c);
        paste_runtime(c, files, e->facts, NULL, function);
        text_printf(c, "%s\n", function);
}

const char *draft_header(const Emit *e, const EmitLoop *l)
{
        Text *rows = text_new(e->arena);
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                const char *value = loop_text_setting(l->loop, input_name(in));
                if (in->type.dtype == REAL && value)
                        text_printf(rows,
                                    "        const float *%s; /* [positions, %" PRId64
                                    "]: rows of %s of the first model, which its generation stores */\n",
                                    in->name, row_elements(e->plan, &in->type), value);
        }
        return arena_printf(
                e->arena,
                "/* Drafts for the generation of another model, which reads tokens as this one does. */\n"
                "typedef struct {\n"
                "        $model *m; /* processes only drafts */\n%s"
                "        float temperature; /* this and the next six: those of the generation; else fewer "
                "drafts "
                "are right */\n"
                "        int top_k;\n        float top_p, min_p, typical_p;\n        uint64_t seed;\n"
                "        int64_t prompt; /* number of tokens of its prompt */\n"
                "        void *scratch; /* [$model_draft_scratch()], aligned to 8 */\n"
                "        int64_t kept; /* set by the functions */\n} $model_drafter;\n"
                "size_t $model_draft_scratch(void);\n"
                "/* Begins to draft.  $MODEL_ERROR_RANGE: m or scratch is NULL, or a token of the output "
                "vocabulary is "
                "not one. */\n"
                "int $model_draft_begin($model_drafter *d);\n"
                "/* `propose` of the generation, with the drafter as its `proposer`.  drafts: tokens + n. "
                "*/\n"
                "int64_t $model_propose(void *drafter, const int32_t *tokens, int64_t n, int32_t *drafts, "
                "int64_t "
                "room);\n\n",
                rows->data);
}

/* --- the command line of the first model --------------------------------------------------------------------------- */

void emit_session_drafter(const Emit *e, Text *c)
{
        const EmitDraft *d = e->o->draft;
        const char *name = d->name;
        const bool inside = e->o->home != WEIGHTS_MAPPED;
        text_printf(c,
                    "#define DRAFT_WEIGHTS_FILE \"%s.weights\"\n\n/* A model that drafts, and rows of values "
                    "that it "
                    "reads. */\ntypedef struct {\n        %s_drafter d;\n        %s_rows rows;\n} "
                    "SessionDrafter;\n\n",
                    d->files, name, e->name);
        text_printf(c,
                    "/* Opens it; exits with a message if that fails. */\nstatic void "
                    "drafter_open(SessionDrafter *s, const "
                    "char *program, const char *weights, int threads)\n{\n        int error;\n"
                    "        s->d.m = %s_new(weights, threads, &error);\n"
                    "        s->d.scratch = malloc(%s_draft_scratch());\n        int complete = s->d.scratch "
                    "!= NULL;\n",
                    name, name);
        for (int i = 0; i < d->nread; i++) {
                const Output *o = &e->g->output[d->tap[i]];
                text_printf(c,
                            "        if (!s->rows.%s)\n                s->rows.%s = calloc(%" PRId64
                            ", sizeof(float));\n        s->d.%s = s->rows.%s;\n        complete &= s->d.%s "
                            "!= NULL;\n",
                            o->name, o->name,
                            e->g->named[e->g->time].bound * row_elements(e->plan, &o->node->type),
                            d->input[i], o->name, d->input[i]);
        }
        text_printf(c,
                    "        if (!error && complete)\n                error = %s_draft_begin(&s->d);\n"
                    "        if (error || !complete) {\n                terminal_print(stderr, \"%%s: %%s: "
                    "%%s\\n\", "
                    "program, %s, error ? %s_error(error) : \"out of memory\");\n                exit(3);\n  "
                    "      }\n}\n\n",
                    name, inside ? "\"the model that drafts\"" : "weights", name);
        text_printf(c,
                    "/* Drafts after a prompt of n tokens. */\nstatic void drafter_begin(SessionDrafter *s, "
                    "Generator *g, "
                    "int64_t n)\n{\n        const Sampler *own = g->sampler;\n        s->d.temperature = "
                    "own->temperature;\n        s->d.top_k = own->top_k;\n        s->d.top_p = own->top_p;\n "
                    "       "
                    "s->d.min_p = own->min_p;\n        s->d.typical_p = own->typical_p;\n        s->d.seed = "
                    "own->state;\n"
                    "        s->d.prompt = n;\n        g->propose = %s_propose;\n        g->proposer = "
                    "&s->d;\n}\n\n",
                    name);
        text_printf(c,
                    "static void drafter_close(SessionDrafter *s)\n{\n        %s_free(s->d.m);\n        "
                    "free(s->d.scratch);\n",
                    name);
        for (int i = 0; i < d->nread; i++) {
                const char *of = e->g->output[d->tap[i]].name;
                text_printf(c, "        free(s->rows.%s);\n        s->rows.%s = NULL;\n", of, of);
        }
        text_printf(c, "}\n\n");
}
