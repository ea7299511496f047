/* The inputs and outputs of a model that loops use, by loops.def; and their reports. */
#include <jansson.h>
#include <stdio.h>

#include "driver.h"

/* --- inputs ------------------------------------------------------------------------------------------------------- */

const Input *text_input(const Graph *g)
{
        for (int i = 0; i < g->nnamed && g->past >= 0; i++)
                if (i != g->time && i != g->past && ids_of(g, i))
                        return ids_of(g, i);
        if (g->past >= 0 || growing_dimension(g) >= 0)
                return ids_of(g, g->past >= 0 ? g->time : growing_dimension(g));
        for (int i = 0; i < g->nnamed; i++) /* no output has it: only classes of the text */
                if (ids_of(g, i))
                        return ids_of(g, i);
        return NULL;
}

int64_t longest_text(const Graph *g, const Input *in)
{
        for (int i = 0; i < g->nnamed; i++)
                if (dim_equal(in->type.dim[0], dim_named(i)))
                        return g->named[i].bound;
        return dim_is_fixed(in->type.dim[0]) ? dim_value(in->type.dim[0], NULL) : 0;
}

static const Input *picture_input(const Graph *g)
{
        for (int i = 0; i < g->ninput; i++)
                if (g->input[i].type.dtype == REAL && g->input[i].type.rank == 3)
                        return &g->input[i];
        return NULL;
}

const char *picture_fault(const Graph *g, const Input *in)
{
        if (!in)
                return arena_printf(g->arena,
                                    "an input of a picture, reals [channels, height, width], and %s has none",
                                    g->name);
        const char *type = type_text(g->arena, g, &in->type);
        if (in->type.dtype != REAL || in->type.rank != 3)
                return arena_printf(g->arena, "an input of reals [channels, height, width], and %s is %s%s",
                                    input_name(in), in->type.dtype == REAL ? "" : "of integers ", type);
        if (!type_is_fixed(&in->type))
                return arena_printf(g->arena, "a picture of a fixed size, and %s is %s", input_name(in),
                                    type);
        if (!dim_is(in->type.dim[0], 1) && !dim_is(in->type.dim[0], 3))
                return arena_printf(g->arena,
                                    "a picture of 1 or 3 channels, grey or red, green, blue, and %s is %s",
                                    input_name(in), type);
        for (int axis = 1; axis < 3; axis++)
                if (dim_value(in->type.dim[axis], NULL) > MAX_SIDE)
                        return arena_printf(g->arena, "a picture of at most %d by %d, and %s is %s", MAX_SIDE,
                                            MAX_SIDE, input_name(in), type);
        return NULL;
}

const Input *sound_input(const Graph *g)
{
        for (int i = 0; i < g->ninput; i++)
                if (g->input[i].type.dtype == REAL && g->input[i].type.rank == 1)
                        return &g->input[i];
        return NULL;
}

const char *sound_fault(const Graph *g, const Input *in)
{
        if (!in)
                return arena_printf(g->arena, "an input of a sound, reals [samples], and %s has none",
                                    g->name);
        const char *type = type_text(g->arena, g, &in->type);
        if (in->type.dtype != REAL || in->type.rank != 1)
                return arena_printf(g->arena, "an input of reals [samples], and %s is %s%s", input_name(in),
                                    in->type.dtype == REAL ? "" : "of integers ", type);
        return type_is_fixed(&in->type) ? NULL
                                        : arena_printf(g->arena, "a sound of a fixed length, and %s is %s",
                                                       input_name(in), type);
}

/* The input that a setting names, or that has the setting's name. */
static const Input *input_of_setting(const Graph *g, const Loop *l, const char *setting, const char **name)
{
        *name = loop_text_setting(l, setting) ? loop_text_setting(l, setting) : setting;
        for (int i = 0; i < g->ninput; i++)
                if (!strcmp(input_name(&g->input[i]), *name) ||
                    (g->input[i].name && !strcmp(g->input[i].name, *name)))
                        return &g->input[i];
        return NULL;
}

static const char *latent_fault(const Graph *g, const Loop *l, LoopParts *parts)
{
        const char *latent, *step, *class;
        parts->input = input_of_setting(g, l, "latent", &latent);
        parts->step = input_of_setting(g, l, "step", &step);
        parts->class = input_of_setting(g, l, "class", &class);
        const Type *t = parts->input ? &parts->input->type : NULL;
        if (!t || t->dtype != REAL || t->rank < 1 || !type_is_fixed(t))
                return arena_printf(g->arena, "an input %s of reals, of a fixed size", latent);
        if (!parts->step || parts->step->type.dtype != REAL || parts->step->type.rank != 0)
                return arena_printf(g->arena, "an input %s, a real", step);
        if ((loop_text_setting(l, "class") && !parts->class) ||
            (parts->class && (parts->class->type.dtype != INT || parts->class->type.rank != 0)))
                return arena_printf(g->arena, "an input %s, the number of a class", class);
        return NULL;
}

/* The input of token types, if a setting names it. */
static const char *types_fault(const Graph *g, const Loop *l, LoopParts *parts)
{
        const char *name = loop_text_setting(l, "types");
        if (!name)
                return NULL;
        parts->types = input_named(g, name);
        const Type *t = parts->types ? &parts->types->type : NULL;
        return t && t->dtype == INT && t->rank == 1 && dim_equal(t->dim[0], parts->input->type.dim[0]) &&
                               parts->types != parts->input
                       ? NULL
                       : arena_printf(g->arena, "an input %s of token types, integers like the token ids",
                                      name);
}

/* The input that hides tokens, if a setting names it. */
static const char *padding_fault(const Graph *g, const Loop *l, LoopParts *parts)
{
        const char *name = loop_text_setting(l, "padding");
        if (!name)
                return NULL;
        parts->padding = input_named(g, name);
        const Type *t = parts->padding ? &parts->padding->type : NULL;
        return t && t->dtype == INT && t->rank == 1 && dim_equal(t->dim[0], parts->input->type.dim[0]) &&
                               parts->padding != parts->input
                       ? NULL
                       : arena_printf(g->arena, "an input %s with an integer for each token", name);
}

/* Input of a loop of tokens or a picture: tokens if the model has no picture. */
static const char *classified_fault(const Graph *g, const Loop *l, LoopParts *parts)
{
        parts->input = picture_input(g) ? NULL : text_input(g);
        if (parts->input)
                return types_fault(g, l, parts);
        if (!picture_input(g))
                return arena_printf(g->arena,
                                    "an input of token ids [time], or of a picture, reals [channels, height, "
                                    "width], and %s has none",
                                    g->name);
        return loop_text_setting(l, "types")
                       ? "no types: they are for texts, and the model's input is a picture"
                       : picture_fault(g, parts->input = picture_input(g));
}

static const char *input_fault(const Graph *g, const Loop *l, LoopId id, LoopParts *parts)
{
        switch (loop_info[id].in) {
        case LOOP_IN_TOKENS_OR_PICTURE: return classified_fault(g, l, parts);
        case LOOP_IN_PICTURE: return picture_fault(g, parts->input = picture_input(g));
        case LOOP_IN_SOUND: return sound_fault(g, parts->input = sound_input(g));
        case LOOP_IN_LATENT: return latent_fault(g, l, parts);
        case LOOP_IN_TOKENS: break;
        }
        parts->input = text_input(g);
        if (!parts->input)
                return arena_printf(g->arena, "an input of token ids [time], and %s has none", g->name);
        return id == LOOP_answer ? types_fault(g, l, parts)
               : id == LOOP_rank ? padding_fault(g, l, parts)
                                 : NULL;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

/* Requirements on an output of a loop: its rank, and the columns of its last axis (0: any). */
typedef struct {
        int rank;
        int64_t columns;
        const char *kind; /* for messages: "an output of .." */
} WantedOutput;

static WantedOutput wanted_output(const Graph *g, const Loop *l, LoopId id, const LoopParts *parts)
{
        const char *pool = loop_text_setting(l, "pool");
        switch (loop_info[id].out) {
        case LOOP_OUT_LOGITS:
                if (id == LOOP_draft && draft_vocabulary(g) >= 0)
                        return (WantedOutput){2, 0, "logits, reals [time, tokens]"};
                return (WantedOutput){
                        2, parts->input->bound,
                        arena_printf(g->arena, "logits, reals [time, %lld]", (long long)parts->input->bound)};
        case LOOP_OUT_SCORES:
                if (loop_input(id, parts) == LOOP_IN_TOKENS && parts->output >= 0)
                        return (WantedOutput){g->output[parts->output].node->type.rank == 2 ? 2 : 1, 0,
                                              "scores, reals [classes], or [time, classes]"};
                return (WantedOutput){1, 0, "scores, reals [classes]"};
        case LOOP_OUT_SPANS: return (WantedOutput){2, 2, "logits of starts and ends, reals [time, 2]"};
        case LOOP_OUT_TOKEN_VECTORS: return (WantedOutput){2, 0, "vectors of tokens, reals [time, width]"};
        case LOOP_OUT_LATENT:
        case LOOP_OUT_VECTORS:
        case LOOP_OUT_TEXT: break;
        }
        return pool && strcmp(pool, "none") != 0 ? (WantedOutput){2, 0, "vectors, reals [time, width]"}
                                                 : (WantedOutput){1, 0, "a vector, reals [width]"};
}

static const char *output_of_loop(const Graph *g, const char *name, LoopParts *parts)
{
        const char **names = NEW_ARRAY(g->arena, const char *, g->noutput);
        for (int i = 0; i < g->noutput; i++) {
                names[i] = output_name(&g->output[i]);
                if (!strcmp(names[i], name))
                        parts->output = i;
        }
        const char *near = parts->output < 0 ? nearest_name(name, names, g->noutput) : NULL;
        return parts->output >= 0
                       ? NULL
                       : arena_printf(g->arena, "the output %s, and %s has none of that name%s%s%s", name,
                                      g->name, near ? "; did you mean " : "", near ? near : "",
                                      near ? "?" : "");
}

/* Checks the output of denoise: as large as the latent, or twice as large, with a variance. */
static const char *latent_output_fault(const Graph *g, const Loop *l, LoopParts *parts)
{
        const char *name = loop_text_setting(l, "from"), *variance = loop_text_setting(l, "variance");
        const bool learned = variance && !strcmp(variance, "learned");
        const int64_t wanted = (learned ? 2 : 1) * type_count(&parts->input->type, NULL);
        const char *why = name ? output_of_loop(g, name, parts) : NULL;
        if (why)
                return why;
        for (int i = name ? parts->output : 0; i < g->noutput; i++) {
                const Type *t = &g->output[i].node->type;
                if (t->dtype == REAL && type_is_fixed(t) && type_count(t, NULL) == wanted)
                        return parts->output = i, NULL;
                if (name)
                        return arena_printf(g->arena, "an output %s %s, and %s is %s",
                                            learned ? "twice as large as" : "as large as",
                                            input_name(parts->input), name, type_text(g->arena, g, t));
        }
        return arena_printf(g->arena, "an output %s %s, and %s has none",
                            learned ? "twice as large as" : "as large as", input_name(parts->input), g->name);
}

static bool output_fits(const Output *o, const WantedOutput *w, const LoopParts *parts)
{
        const Type *t = &o->node->type;
        if (t->dtype != REAL || t->rank != w->rank || !dim_is_fixed(t->dim[t->rank - 1]) ||
            (w->columns && !dim_is(t->dim[t->rank - 1], w->columns)))
                return false;
        return w->rank == 1 || dim_equal(t->dim[0], parts->input->type.dim[0]);
}

static const char *output_fault(const Graph *g, const Loop *l, LoopId id, LoopParts *parts)
{
        const char *name = loop_text_setting(l, "from");
        if (loop_info[id].out == LOOP_OUT_LATENT)
                return latent_output_fault(g, l, parts);
        /* run_generate() reports what is missing */
        if (loop_info[id].out == LOOP_OUT_TEXT)
                return NULL;
        const char *why = name ? output_of_loop(g, name, parts) : NULL;
        if (why)
                return why;
        WantedOutput w = wanted_output(g, l, id, parts);
        if (name && !output_fits(&g->output[parts->output], &w, parts))
                return arena_printf(g->arena, "an output of %s, and %s is %s", w.kind, name,
                                    type_text(g->arena, g, &g->output[parts->output].node->type));
        for (int i = 0; i < g->noutput && parts->output < 0; i++)
                if (output_fits(&g->output[i], &w, parts))
                        parts->output = i;
        return parts->output >= 0
                       ? NULL
                       : arena_printf(g->arena, "an output of %s, and %s has none", w.kind, g->name);
}

/* --- knobs that belong together ------------------------------------------------------------------------------------- */

static const char *list_fault(const Graph *g, const Loop *l, const char *name, const LoopParts *parts)
{
        const Setting *s = loop_setting(l, name);
        int64_t channels = dim_value(parts->input->type.dim[0], NULL);
        if (!s || s->kind != SETTING_LIST || s->nlist == channels)
                return NULL;
        return arena_printf(g->arena, "%s with a number for each channel, %lld of them, not %d", name,
                            (long long)channels, s->nlist);
}

static const char *size_fault(const Graph *g, const Loop *l, const LoopParts *parts)
{
        static const char *const size[] = {"shortest_edge", "stretched"};
        if (loop_setting(l, size[0]) && loop_setting(l, size[1]))
                return "shortest_edge or stretched, but not both";
        for (int i = 0; i < 4; i++) {
                const Setting *s = loop_setting(l, size[i / 2]);
                int64_t side = dim_value(parts->input->type.dim[1 + i % 2], NULL);
                if (s && (int64_t)s->number < side)
                        return arena_printf(g->arena,
                                            "%s of at least %lld, as long as the input's sides, not %.0f",
                                            s->name, (long long)side, s->number);
        }
        return NULL;
}

static const char *picture_knobs_fault(const Graph *g, const Loop *l)
{
        static const char *const knob[] = {"mean", "std", "resize", "shortest_edge", "stretched"};
        for (size_t i = 0; i < sizeof knob / sizeof *knob; i++)
                if (loop_setting(l, knob[i]))
                        return arena_printf(g->arena,
                                            "no %s: it is for pictures, and the model's input is a text",
                                            knob[i]);
        return NULL;
}

/* Joining tokens to spans needs labels of tokens. */
static const char *spans_fault(const Graph *g, const Loop *l, const LoopParts *parts)
{
        if (!loop_joins(l))
                return NULL;
        if (g->output[parts->output].node->type.rank != 2)
                return arena_printf(g->arena, "no spans: they are for classes of tokens, and %s is %s",
                                    output_name(&g->output[parts->output]),
                                    type_text(g->arena, g, &g->output[parts->output].node->type));
        return loop_setting(l, "labels") ? NULL : "labels for its spans, such as B-PER, I-PER and O";
}

/* A template is for pairs that are classified as a whole. */
static const char *template_fault(const Graph *g, const Loop *l, const LoopParts *parts)
{
        static const char *const of_template[] = {"prompts", "prompt"};
        const char *template = loop_text_setting(l, "template");
        if (template && g->output[parts->output].node->type.rank != 1)
                return arena_printf(g->arena, "no template: it is for classes of pairs, and %s is %s",
                                    output_name(&g->output[parts->output]),
                                    type_text(g->arena, g, &g->output[parts->output].node->type));
        for (int i = 0; i < 2 && !(template && strstr(template, "{prompt}")); i++)
                if (loop_setting(l, of_template[i]))
                        return arena_printf(g->arena, "a template with {prompt} for its %s", of_template[i]);
        return NULL;
}

static const char *windows_fault(const Graph *g, const Loop *l, const LoopParts *parts)
{
        const AnswerForm f = answer_form(g, l, parts);
        return f.overlap < f.window
                       ? NULL
                       : arena_printf(g->arena, "an overlap below the window of %lld tokens, not %lld",
                                      (long long)f.window, (long long)f.overlap);
}

/* A sparse vector has no more numbers than there are tokens. */
static const char *sparse_fault(const Graph *g, const Loop *l, const LoopParts *parts)
{
        const Type *t = &g->output[parts->output].node->type;
        const int64_t width = dim_value(t->dim[t->rank - 1], NULL);
        return !loop_is_sparse(l) || width == parts->input->bound
                       ? NULL
                       : arena_printf(
                                 g->arena,
                                 "a vector with a number for each of the %lld tokens, since it is sparse, "
                                 "and %s is %s",
                                 (long long)parts->input->bound, output_name(&g->output[parts->output]),
                                 type_text(g->arena, g, t));
}

static const char *expansion_fault(const Graph *g, const Loop *l, const LoopParts *parts)
{
        static const char *const length[] = {"query_tokens", "max_tokens", "expand_to"};
        const int64_t most = longest_text(g, parts->input);
        const RankForm f = rank_form(g->arena, l);
        for (int i = 0; i < 3; i++)
                if (most && loop_setting(l, length[i]) && loop_setting(l, length[i])->number > (double)most)
                        return arena_printf(g->arena, "%s of at most %lld, the model's maximum, not %.0f",
                                            length[i], (long long)most, loop_setting(l, length[i])->number);
        if (!loop_setting(l, "expand"))
                return loop_setting(l, "expand_to") || loop_setting(l, "padding")
                               ? "an expand, the token that fills queries"
                               : NULL;
        if (!f.expand_to)
                return "a length of the queries that expand fills: expand_to, or query_tokens";
        return f.query_tokens && f.expand_to > f.query_tokens ? "an expand_to of at most query_tokens" : NULL;
}

/* Inputs other than the tokens need a value; the mask must be one of the tokens. */
static const char *unmask_knobs_fault(const Graph *g, const Loop *l, const LoopParts *parts)
{
        const Setting *mask = loop_setting(l, "mask");
        const UnmaskForm form = unmask_form(l);
        if (g->past >= 0 && !g->block)
                return "a model that is not causal: each mask is filled by the tokens before and after it";
        if (!mask)
                return "a mask: the id of the token that marks the places to fill";
        if (mask->number >= (double)parts->input->bound)
                return arena_printf(g->arena, "a mask of 0 to %lld, not %.0f",
                                    (long long)parts->input->bound - 1, mask->number);
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                if (in == parts->input)
                        continue;
                if (is_fed_separately(g, in->group) || !loop_setting(l, input_name(in)))
                        return arena_printf(g->arena, "a value for the input %s: a setting of its name",
                                            input_name(in));
                for (int a = 0; a < in->type.rank; a++)
                        if (!dim_is_fixed(in->type.dim[a]) &&
                            !dim_equal(in->type.dim[a], parts->input->type.dim[0]))
                                return arena_printf(g->arena, "an input %s as long as the tokens",
                                                    input_name(in));
        }
        return unmask_fault(&form);
}

static const char *knobs_fault(const Graph *g, const Loop *l, LoopId id, const LoopParts *parts)
{
        const Setting *mask = id == LOOP_fill ? loop_setting(l, "mask") : NULL;
        const char *why = NULL, *name = input_name(parts->input);
        if (loop_setting(l, name))
                return arena_printf(g->arena, "no value of %s, which is the input of its data", name);
        if (id == LOOP_fill && !mask)
                return "a mask: the id of the token that marks the places to fill";
        if (id == LOOP_draft)
                return draft_fault(g, parts);
        if (id == LOOP_transcribe && !loop_setting(l, "rate"))
                return "a rate: the number of samples per second";
        if (id == LOOP_answer)
                return windows_fault(g, l, parts);
        if (id == LOOP_rank)
                return expansion_fault(g, l, parts);
        if (id == LOOP_embed)
                return sparse_fault(g, l, parts);
        if (id == LOOP_unmask)
                return unmask_knobs_fault(g, l, parts);
        if (id == LOOP_classify && loop_input(id, parts) == LOOP_IN_TOKENS)
                return (why = picture_knobs_fault(g, l)) || (why = template_fault(g, l, parts))
                               ? why
                               : spans_fault(g, l, parts);
        if (id == LOOP_classify && loop_joins(l))
                return "no spans: they are for texts, and the model's input is a picture";
        if (id == LOOP_classify && loop_setting(l, "max_tokens"))
                return "no max_tokens: it is for texts, and the model's input is a picture";
        if (id == LOOP_classify && loop_setting(l, "template"))
                return "no template: it is for texts, and the model's input is a picture";
        if (id == LOOP_classify && !(why = list_fault(g, l, "mean", parts)) &&
            !(why = list_fault(g, l, "std", parts)))
                why = size_fault(g, l, parts);
        return why;
}

const char *loop_fault(const Graph *g, const Loop *l, LoopParts *parts)
{
        LoopId id = (LoopId)loop_number(l->name);
        const char *why;
        *parts = (LoopParts){.output = -1};
        if ((why = input_fault(g, l, id, parts)) || (why = output_fault(g, l, id, parts)))
                return why;
        return knobs_fault(g, l, id, parts);
}

const char *loop_prompt(const Loop *l, const char *name, Arena *a, const char **wrong)
{
        const char *all = loop_text_setting(l, "prompts"), *list = "", *prompt = NULL, *key;
        json_error_t error;
        json_t *object = json_loads(all ? all : "{}", 0, &error), *value;
        name = name ? name : loop_text_setting(l, "prompt");
        json_object_foreach (object, key, value)
                list = arena_printf(a, "%s%s%s", list, *list ? ", " : "", key);
        value = name ? json_object_get(object, name) : NULL;
        if (value)
                prompt = arena_strdup(a, json_string_value(value));
        const bool good = value || !name || !strcmp(name, "none");
        json_decref(object);
        *wrong = good ? NULL
                      : arena_printf(a, "unknown prompt %s%s%s; none means no prompt", name,
                                     *list ? "; there are " : ", and no other", list);
        return prompt;
}

/* --- reports -------------------------------------------------------------------------------------------------------- */

enum { LONGEST_SETTING = 60 /* columns; longer ones are truncated */ };

static const char *setting_about(LoopId id, const char *name)
{
        const Knob *k = knob_find(id, name);
        return k ? k->about : "the value of the input of that name";
}

static const char *setting_shown(const Graph *g, const Setting *s)
{
        const char *text = arena_printf(g->arena, "%s %s", s->name, setting_text(g->arena, s));
        int n = LONGEST_SETTING;
        if (strlen(text) <= LONGEST_SETTING)
                return text;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) /* whole characters */
                n--;
        return arena_printf(g->arena, "%.*s…", n, text);
}

int show_loops(const Model *m)
{
        const Graph *g = m->graph;
        if (!g->nloop)
                printf("%s has no loop: `lathe eval` gives its outputs for given inputs\n", g->name);
        for (int i = 0; i < g->nloop; i++) {
                const Loop *l = &g->loop[i];
                LoopId id = (LoopId)loop_number(l->name);
                int width = 0;
                printf("loop %s  # %s\n", l->name, loop_info[id].about);
                for (int k = 0; k < l->nsetting; k++) {
                        int n = (int)strlen(setting_shown(g, &l->setting[k]));
                        width = n > width && n <= LONGEST_SETTING ? n : width;
                }
                for (int k = 0; k < l->nsetting; k++)
                        printf("    %-*s  # %s\n", width, setting_shown(g, &l->setting[k]),
                               setting_about(id, l->setting[k].name));
        }
        return DONE;
}
