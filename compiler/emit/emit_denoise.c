/* Loop denoise as C: the model's other inputs, which its caller passes, and the neutral inputs of
 * guidance.  The steps are runtime/model_denoise.h, the command line runtime/main_denoise.h. */
#include <inttypes.h>

#include "emit_private.h"

bool denoise_has_inputs(const Graph *g, const EmitLoop *l)
{
        for (int i = 0; i < g->ninput; i++)
                if (is_callers(g, l, &g->input[i]))
                        return true;
        return false;
}

/* --- inputs of the caller --------------------------------------------------------------------------------------------- */

/* ", int32_t class_input, int64_t words, const float *text" */
static const char *parameters(const Emit *e, const EmitLoop *l)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->nnamed; i++)
                if (is_callers_size(e->g, l, i))
                        text_printf(t, ", int64_t %s", e->g->named[i].name);
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (in == l->parts.class)
                        text_printf(t, ", int32_t %s", in->name);
                else if (is_callers(e->g, l, in))
                        text_printf(t, ", const %s *%s", c_type(in), in->name);
        }
        return t->data;
}

/* NAME_inputs, declared by the header if there are such inputs. */
static const char *given_struct(const Emit *e, const EmitLoop *l)
{
        Text *t = text_new(e->arena);
        text_printf(t, "/* Values of inputs that replace those of a call; NULL, or a size 0: not replaced. "
                       "*/\ntypedef struct {\n");
        for (int i = 0; i < e->g->nnamed; i++)
                if (is_callers_size(e->g, l, i))
                        text_printf(t, "        int64_t %s;\n", e->g->named[i].name);
        for (int i = 0; i < e->g->ninput; i++)
                if (is_callers(e->g, l, &e->g->input[i]))
                        text_printf(t, "        const %s *%s; /* %s */\n", c_type(&e->g->input[i]),
                                    e->g->input[i].name,
                                    e->g->input[i].type.rank ? type_text(e->arena, e->g, &e->g->input[i].type)
                                                             : "one");
        text_printf(t, "} $model_inputs;\n");
        return t->data;
}

/* Statements that replace inputs and sizes by those of `others`, if set. */
static void emit_replaced(const Emit *e, const EmitLoop *l, Text *c)
{
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (is_callers(e->g, l, in))
                        text_printf(c, "        out->%s = others->%s ? others->%s : out->%s;\n", in->name,
                                    in->name, in->name, in->name);
        }
        for (int k = 0; k < e->g->nnamed; k++) {
                const char *size = e->g->named[k].name;
                if (!is_callers_size(e->g, l, k))
                        continue;
                text_printf(c, "        out->%s = others->%s ? others->%s : out->%s;\n", size, size, size,
                            size);
                for (int i = 0; i < e->g->ninput; i++) {
                        const Input *in = &e->g->input[i];
                        bool sized = false;
                        for (int a = 0; a < in->type.rank && is_callers(e->g, l, in); a++)
                                sized |= in->type.dim[a].per[k] != 0;
                        if (sized)
                                text_printf(c,
                                            "        if (out->%s != wanted->%s && !others->%s)\n             "
                                            "   return 0;\n",
                                            size, size, in->name);
                }
        }
}

void emit_denoise_given(const Emit *e, const EmitLoop *l, Text *c)
{
        const bool inputs = denoise_has_inputs(e->g, l);
        if (inputs)
                text_printf(c, "typedef %s_inputs LoopGiven;\n\n", e->name);
        else
                text_printf(c, "/* The model has no other inputs. */\ntypedef struct {\n        int "
                               "none;\n} LoopGiven;\n\n");
        text_printf(
                c,
                "/* Sets *out to the neutral inputs for guidance: no class, and the inputs of `without`.  "
                "Returns 0 if there are none, or a size differs. */\n"
                "static int denoise_without(const %s_denoising *how, const LoopGiven *wanted, LoopGiven "
                "*out)\n{\n"
                "        *out = *wanted;\n",
                e->name);
        if (l->parts.class)
                text_printf(c,
                            "        static const int32_t no_class = NO_CLASS;\n        if (NO_CLASS >= 0)\n "
                            "               out->%s = &no_class;\n",
                            l->parts.class->name);
        if (inputs) {
                text_printf(c, "        const LoopGiven *others = how ? how->without : NULL;\n        if "
                               "(!others)\n                return NO_CLASS >= 0;\n");
                emit_replaced(e, l, c);
        }
        text_printf(c, "%s        return %s;\n}\n\n", inputs ? "" : "        (void)how;\n",
                    inputs ? "1" : "0");
}

/* ".class_input = &class_input, .words = words, .text = text"; 0: there are none */
static const char *given(const Emit *e, const EmitLoop *l)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->nnamed; i++)
                if (is_callers_size(e->g, l, i))
                        text_printf(t, "%s.%s = %s", t->n ? ", " : "", e->g->named[i].name,
                                    e->g->named[i].name);
        for (int i = 0; i < e->g->ninput; i++)
                if (is_callers(e->g, l, &e->g->input[i]))
                        text_printf(t, "%s.%s = %s%s", t->n ? ", " : "", e->g->input[i].name,
                                    &e->g->input[i] == l->parts.class ? "&" : "", e->g->input[i].name);
        return t->n ? t->data : "0";
}

void emit_denoise(const Emit *e, const EmitLoop *l, Text *c)
{
        const char *latent = l->parts.input->name;
        text_printf(
                c,
                "int %s_denoise(%s *m%s, const %s_denoising *how, float *%s, %s_on_step *on_step,\n        "
                "void *of, void *scratch)\n{\n        const LoopGiven all = {%s};\n"
                "        return denoise_loop(m, &all, how, %s, on_step, of, scratch);\n}\n\n",
                e->name, e->name, parameters(e, l), e->name, latent, e->name, given(e, l), latent);
}

/* --- the header ------------------------------------------------------------------------------------------------------- */

static const char *without_member(const Emit *e, const EmitLoop *l)
{
        return !denoise_has_inputs(e->g, l) ? ""
               : l->parts.class && loop_setting(l->loop, "no_class")
                       ? "        const $model_inputs *without; /* neutral inputs for guidance, of no class "
                         "unless one is set; NULL: no class */\n"
                       : "        const $model_inputs *without; /* neutral inputs for guidance, such as an "
                         "empty text; guidance requires it */\n";
}

const char *denoise_header(const Emit *e, const EmitLoop *l)
{
        const Setting *trained = loop_setting(l->loop, "trained");
        const char *way = loop_text_setting(l->loop, "scheduler");
        const double steps = trained ? trained->number : 1000;
        const char *latent = l->parts.input->name;
        const int64_t values = type_count(&l->parts.input->type, NULL);
        return arena_printf(
                e->arena,
                "%s/* Settings of denoising; all 0: those of the model's `loop denoise`. */\n"
                "typedef struct {\n"
                "        int steps;       /* at most %.0f; 0: the model's default */\n"
                "        double guidance; /* factor of the difference between predictions with and without "
                "the inputs; 1: no guidance; 0: the model's default */\n"
                "%s        uint64_t seed;   /* of the noise: the same seed gives the same picture on every "
                "machine */\n        int goes_on;     /* not 0: starts from the given values instead of "
                "noise */\n"
                "} $model_denoising;\n"
                "/* Called after each call of the model, with the number of calls so far, their total "
                "number, "
                "and the current values [%" PRId64 "].\n * Returns 0, or another number to end. */\n"
                "typedef int $model_on_step(void *of, int done, int calls, const float *picture);\n"
                "/* Denoises %s [%" PRId64
                "], from the model's other inputs%s.  how and on_step may be NULL.\n"
                " * scratch [$model_denoise_scratch(how)], aligned to 8. */\n"
                "int $model_denoise($model *m%s, const $model_denoising *how, float *%s, $model_on_step "
                "*on_step,\n        void *of, void *scratch);\n"
                "size_t $model_denoise_scratch(const $model_denoising *how);\n\n",
                denoise_has_inputs(e->g, l) ? given_struct(e, l) : "",
                steps - (way && !strcmp(way, "dpm_solver") && steps > 1), without_member(e, l), values,
                latent, values, e->g->fed_separately ? ", which it feeds" : "", parameters(e, l), latent);
}

/* --- the command line ------------------------------------------------------------------------------------------------- */

/* Index of a size among those that the caller passes. */
static int index_of_size(const Graph *g, const EmitLoop *l, int size)
{
        int place = 0;
        for (int i = 0; i < size; i++)
                place += is_callers_size(g, l, i);
        return place;
}

/* An InputForm: {"text", "[words, 8]", 0, 0, 2, {-1, 8}} */
static void emit_input_form(const Emit *e, const EmitLoop *l, const Input *in, Text *c)
{
        text_printf(c, "        {\"%s\", \"%s\", %d, %" PRId64 ", %d, {", input_name(in),
                    in->type.rank ? type_text(e->arena, e->g, &in->type) : "", in == l->parts.class,
                    in->bound, in->type.rank);
        for (int a = 0; a < in->type.rank; a++) {
                const Dim d = in->type.dim[a];
                int named = 0;
                while (!dim_is_fixed(d) && !dim_equal(d, dim_named(named)))
                        named++;
                text_printf(c, "%s%" PRId64, a ? ", " : "",
                            dim_is_fixed(d) ? dim_value(d, NULL)
                                            : -1 - (int64_t)index_of_size(e->g, l, named));
        }
        text_printf(c, "%s}},\n", in->type.rank ? "" : "0");
}

/* denoise_of(m, wanted, without, ..): NAME_denoise() with inputs as tables. */
static void emit_denoise_of(const Emit *e, const EmitLoop *l, Text *c)
{
        Text *others = text_new(e->arena), *call = text_new(e->arena);
        for (int i = 0, k = 0; i < e->g->nnamed; i++) {
                if (!is_callers_size(e->g, l, i))
                        continue;
                text_printf(others, "%s.%s = without->size[%d]", k ? ", " : "", e->g->named[i].name, k);
                text_printf(call, ", wanted->size[%d]", k++);
        }
        for (int i = 0, k = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (!is_callers(e->g, l, in))
                        continue;
                text_printf(others, "%s.%s = without->value[%d]", others->n ? ", " : "", in->name, k);
                text_printf(call,
                            in == l->parts.class ? ", *(const int32_t *)wanted->value[%d]"
                                                 : ", wanted->value[%d]",
                            k++);
        }
        text_printf(
                c,
                "/* Calls the model's denoising loop. */\nstatic int denoise_of(%s *m, const InputValues "
                "*wanted, const "
                "InputValues *without, "
                "%s_denoising how, float *x,\n                      %s_on_step *on_step, void *scratch)\n{\n",
                e->name, e->name, e->name);
        if (others->n)
                text_printf(c,
                            "        const %s_inputs others = {%s};\n        if (without->given)\n           "
                            "     how.without = &others;\n",
                            e->name, others->data);
        else
                text_printf(c, "        (void)wanted;\n        (void)without;\n");
        text_printf(c, "        return %s_denoise(m%s, &how, x, on_step, NULL, scratch);\n}\n\n", e->name,
                    call->data);
}

static void emit_input_forms(const Emit *e, const EmitLoop *l, Text *c)
{
        int n = 0;
        Text *rows = text_new(e->arena);
        for (int i = 0; i < e->g->ninput; i++) {
                if (!is_callers(e->g, l, &e->g->input[i]))
                        continue;
                emit_input_form(e, l, &e->g->input[i], rows);
                n++;
        }
        text_printf(c, "enum { INPUTS = %d };\n", n);
        if (n)
                text_printf(c, "static const InputForm input_form[INPUTS] = {\n%s};\n\n", rows->data);
}

const char *caller_gives(const Emit *e, const EmitLoop *l)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->ninput; i++)
                if (is_callers(e->g, l, &e->g->input[i]))
                        text_printf(t, ", %s", e->g->input[i].name);
        return t->data;
}

bool takes_class_alone(const Graph *g, const EmitLoop *l)
{
        for (int i = 0; i < g->ninput; i++)
                if (is_callers(g, l, &g->input[i]) && &g->input[i] != l->parts.class)
                        return false;
        return true;
}

void emit_page_class(const EmitLoop *l, Text *c)
{
        if (l->parts.class)
                text_printf(c,
                            "/* Sets the class of a picture. */\nstatic void give_class(LoopGiven *given, "
                            "const int32_t *of_class)\n{\n        given->%s = of_class;\n}\n\n",
                            l->parts.class->name);
}

void emit_latent_constants(const Emit *e, const EmitLoop *l, Text *c)
{
        const Type *t = &l->parts.input->type;
        int64_t dim[3] = {0, 0, 0};
        Text *shape = text_new(e->arena);
        for (int i = 0; i < t->rank; i++)
                text_printf(shape, "%s%" PRId64 "%s", i ? ", " : "", dim_value(t->dim[i], NULL),
                            t->rank == 1 ? "," : "");
        for (int i = 0; i < 3 && t->rank == 3; i++)
                dim[i] = dim_value(t->dim[i], NULL);
        text_printf(c,
                    "enum { PICTURE_CHANNELS = %" PRId64 ", PICTURE_ROWS = %" PRId64
                    ", PICTURE_COLUMNS = %" PRId64 ", CLASS_NUMBERS = %" PRId64
                    " };\nstatic const char latent_shape[] = \"%s\";\n",
                    dim[0] == 1 || dim[0] == 3 ? dim[0] : 0, dim[1], dim[2],
                    l->parts.class ? l->parts.class->bound : 0, shape->data);
}

void emit_denoise_constants(const Emit *e, const EmitLoop *l, Text *c)
{
        emit_latent_constants(e, l, c);
        emit_input_forms(e, l, c);
        emit_denoise_of(e, l, c);
}
