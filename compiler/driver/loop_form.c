/* The inputs, outputs and settings of a loop in the form of runtime/. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* The setting's number for a channel, or the default `without`. */
static float of_channel(const Loop *l, const char *name, int channel, double without)
{
        const Setting *s = loop_setting(l, name);
        return (float)(!s ? without : s->kind == SETTING_LIST ? s->list[channel] : s->number);
}

static int64_t whole_setting(const Loop *l, const char *name, int64_t without)
{
        const Setting *s = loop_setting(l, name);
        return s ? (int64_t)s->number : without;
}

static bool setting_is(const Loop *l, const char *name, const char *word)
{
        const char *text = loop_text_setting(l, name);
        return text && !strcmp(text, word);
}

int loop_activation(const Loop *l)
{
        return setting_is(l, "activation", "sigmoid") ? CLASSES_SIGMOID
               : setting_is(l, "activation", "none")  ? CLASSES_NONE
                                                      : CLASSES_SOFTMAX;
}

static bool truth_setting(const Loop *l, const char *name, bool without)
{
        const Setting *s = loop_setting(l, name);
        return s ? s->number != 0 : without;
}

bool loop_is_sparse(const Loop *l)
{
        return loop_number(l->name) == LOOP_embed && truth_setting(l, "sparse", false);
}

bool loop_joins(const Loop *l)
{
        return truth_setting(l, "spans", false);
}

AnswerForm answer_form(const Graph *g, const Loop *l, const LoopParts *parts)
{
        enum { WINDOW = 384, OVERLAP = 128, LONGEST = 15 };
        const int64_t most = longest_text(g, parts->input);
        const int64_t window = whole_setting(l, "window", WINDOW);
        AnswerForm f = {.window = most && most < window ? most : window,
                        .longest = whole_setting(l, "max_answer", LONGEST),
                        .may_be_absent = truth_setting(l, "may_be_absent", false),
                        .text_first = truth_setting(l, "text_first", false),
                        .skips_first = !truth_setting(l, "first_token", true)};
        f.overlap = whole_setting(l, "overlap", f.window / 2 < OVERLAP ? f.window / 2 : OVERLAP);
        return f;
}

static int32_t token_setting(const Loop *l, const char *name)
{
        return (int32_t)whole_setting(l, name, -1);
}

static const char *text_or_empty(const Loop *l, const char *name)
{
        const char *text = loop_text_setting(l, name);
        return text ? text : "";
}

RankForm rank_form(Arena *a, const Loop *l)
{
        const Setting *skip = loop_setting(l, "skip");
        RankForm f = {.query_prompt = text_or_empty(l, "query_prompt"),
                      .passage_prompt = text_or_empty(l, "passage_prompt"),
                      .query_token = token_setting(l, "query_token"),
                      .passage_token = token_setting(l, "passage_token"),
                      .query_tokens = whole_setting(l, "query_tokens", 0),
                      .max_tokens = whole_setting(l, "max_tokens", 0),
                      .expand = token_setting(l, "expand"),
                      .averages = truth_setting(l, "average", false)};
        f.expand_to = f.expand < 0 ? 0 : whole_setting(l, "expand_to", f.query_tokens);
        if (!skip)
                return f;
        f.skips = skip->kind == SETTING_LIST ? skip->nlist : 1;
        int32_t *token = NEW_ARRAY(a, int32_t, f.skips);
        for (int64_t i = 0; i < f.skips; i++)
                token[i] = (int32_t)(skip->kind == SETTING_LIST ? skip->list[i] : skip->number);
        f.skip = token;
        return f;
}

bool loop_fill(const Loop *l, const Input *in, Recorded *r)
{
        const int id = loop_number(l->name);
        const bool is_types =
                (id == LOOP_classify || id == LOOP_answer) && setting_is(l, "types", input_name(in));
        const Setting *s = is_types ? NULL : loop_setting(l, input_name(in));
        double *value = s || is_types ? malloc(sizeof *value) : NULL;
        if (value)
                *value = s ? s->number : 0;
        return (!s && !is_types) || (value && recorded_add(r, input_name(in), 0, NULL, value));
}

PictureForm picture_form(Arena *a, const Loop *l, const int64_t *dim)
{
        float *mean = NEW_ARRAY(a, float, dim[0]), *std = NEW_ARRAY(a, float, dim[0]);
        for (int c = 0; c < dim[0]; c++) {
                mean[c] = of_channel(l, "mean", c, 0);
                std[c] = of_channel(l, "std", c, 1);
        }
        return (PictureForm){.channels = (int)dim[0],
                             .rows = (int)dim[1],
                             .columns = (int)dim[2],
                             .cubic = setting_is(l, "resize", "bicubic"),
                             .shorter_side = whole_setting(l, "shortest_edge", 0),
                             .both_sides = whole_setting(l, "stretched", 0),
                             .channel_mean = mean,
                             .channel_std = std};
}

/* --- as C ----------------------------------------------------------------------------------------------------------- */

static void print_reals(Text *t, const char *name, const float *x, int n)
{
        text_printf(t, ".%s = (const float[]){", name);
        for (int i = 0; i < n; i++)
                text_printf(t, "%s%s", i ? ", " : "", float_literal(t->arena, x[i]));
        text_printf(t, "}");
}

static void print_labels(Text *t, const char *const *label, int64_t classes)
{
        text_printf(t, "static const char *const class_label[CLASSES] = {\n");
        for (int64_t i = 0; i < classes; i++)
                text_printf(t, "        %s,\n", c_string(t->arena, label[i]));
        text_printf(t, "};\n");
}

static void print_picture_form(Text *t, const Loop *l, const LoopParts *parts)
{
        int64_t dim[3];
        for (int i = 0; i < 3; i++)
                dim[i] = dim_value(parts->input->type.dim[i], NULL);
        const PictureForm f = picture_form(t->arena, l, dim);
        text_printf(t,
                    "static const PictureForm picture_form = {.channels = %d, .rows = %d, .columns = %d, "
                    ".cubic = %d, .shorter_side = %lld, .both_sides = %lld,\n        ",
                    f.channels, f.rows, f.columns, f.cubic, (long long)f.shorter_side,
                    (long long)f.both_sides);
        print_reals(t, "channel_mean", f.channel_mean, f.channels);
        text_printf(t, ", ");
        print_reals(t, "channel_std", f.channel_std, f.channels);
        text_printf(t, "};\n");
}

static void print_classify(Text *t, const Graph *g, const Loop *l, const LoopParts *parts,
                           const char *const *label)
{
        static const char *const activation[] = {[CLASSES_SOFTMAX] = "CLASSES_SOFTMAX",
                                                 [CLASSES_SIGMOID] = "CLASSES_SIGMOID",
                                                 [CLASSES_NONE] = "CLASSES_NONE"};
        const Type *scores = &g->output[parts->output].node->type;
        const int64_t classes = dim_value(scores->dim[scores->rank - 1], NULL);
        text_printf(t, "enum { CLASSES = %lld, ACTIVATION = %s };\n", (long long)classes,
                    activation[loop_activation(l)]);
        if (loop_input(LOOP_classify, parts) == LOOP_IN_TOKENS)
                text_printf(t, "enum { CLASSIFIES_TOKENS = %d, JOINS_TOKENS = %d };\n", scores->rank == 2,
                            loop_joins(l));
        else
                print_picture_form(t, l, parts);
        if (label)
                print_labels(t, label, classes);
}

int64_t guided_values(const Loop *l, const Type *latent)
{
        const int64_t all = type_count(latent, NULL), channels = dim_value(latent->dim[0], NULL),
                      guided = whole_setting(l, "guided", channels);
        return guided < channels ? all / channels * guided : all;
}

bool is_without(const CommandOptions *o, const Input *in)
{
        const size_t n = strlen(input_name(in));
        for (int i = 0; i < o->without.n; i++)
                if (!strncmp(o->without.at[i], input_name(in), n) && o->without.at[i][n] == '=')
                        return true;
        return false;
}

static void print_denoise(Text *t, const Loop *l, const LoopParts *parts, const Type *out)
{
        const Setting *guidance = loop_setting(l, "guidance"), *none = loop_setting(l, "no_class");
        const DenoiseOptions o = denoise_options(l);
        text_printf(t, "static const DenoiseOptions denoise_form = {%s};\n",
                    denoise_options_text(t->arena, &o));
        text_printf(
                t,
                "enum { LATENT_VALUES = %lld, GUIDED_VALUES = %lld, TOLD_VALUES = %lld, NO_CLASS = %lld };\n",
                (long long)type_count(&parts->input->type, NULL),
                (long long)guided_values(l, &parts->input->type), (long long)type_count(out, NULL),
                none && parts->class ? (long long)none->number : -1LL);
        text_printf(t, "static const double loop_guidance = %.17g;\n", guidance ? guidance->number : 1);
}

static void print_answer_form(Text *t, const Graph *g, const Loop *l, const LoopParts *parts)
{
        const AnswerForm f = answer_form(g, l, parts);
        text_printf(t,
                    "static const AnswerForm answer_form = {.window = %lld, .overlap = %lld, .longest = "
                    "%lld, .may_be_absent = %d, .text_first = %d, .skips_first = %d};\n",
                    (long long)f.window, (long long)f.overlap, (long long)f.longest, f.may_be_absent,
                    f.text_first, f.skips_first);
}

static void print_rank_form(Text *t, const Graph *g, const Loop *l, const LoopParts *parts)
{
        const RankForm f = rank_form(g->arena, l);
        const int64_t longest = longest_text(g, parts->input);
        text_printf(t, "enum { RANK_WIDTH = %lld, RANK_LONGEST = %lld };\n",
                    (long long)dim_value(g->output[parts->output].node->type.dim[1], NULL),
                    (long long)(longest ? longest : INT32_MAX));
        text_printf(t, "static const int32_t ranking_skip[] = {");
        for (int64_t i = 0; i < f.skips; i++)
                text_printf(t, "%d, ", f.skip[i]);
        text_printf(t,
                    "-1};\nstatic const RankForm ranking_form = {.query_prompt = %s, .passage_prompt = %s, "
                    ".query_token = %d, .passage_token = %d,\n        .query_tokens = %lld, .max_tokens = "
                    "%lld, .expand = %d, .expand_to = %lld, .skip = ranking_skip, .skips = %lld, .averages = "
                    "%d};\n",
                    c_string(t->arena, f.query_prompt), c_string(t->arena, f.passage_prompt), f.query_token,
                    f.passage_token, (long long)f.query_tokens, (long long)f.max_tokens, f.expand,
                    (long long)f.expand_to, (long long)f.skips, f.averages);
}

static void print_unmask_form(Text *t, const Loop *l)
{
        const UnmaskForm f = unmask_form(l);
        const bool probable = f.surest == SUREST_probability || f.surest == SUREST_margin;
        text_printf(t, "static const UnmaskForm unmask_loop = {%s};\n", unmask_form_text(t->arena, &f));
        text_printf(t, "#define UNMASK_LENGTH \"%lld\"\nenum { UNMASK_THRESHOLDS = %d };\n",
                    (long long)f.length, probable && f.pace != PACE_chance);
}

const char *loop_form_text(const Graph *g, const Loop *l, const LoopParts *parts, const char *const *label)
{
        Text *t = text_new(g->arena);
        const Type *out = &g->output[parts->output < 0 ? 0 : parts->output].node->type;
        const Setting *normalise = loop_setting(l, "normalise");
        switch ((LoopId)loop_number(l->name)) {
        case LOOP_classify: print_classify(t, g, l, parts, label); break;
        case LOOP_answer: print_answer_form(t, g, l, parts); break;
        case LOOP_rank: print_rank_form(t, g, l, parts); break;
        case LOOP_embed:
                text_printf(t, "enum { WIDTH = %lld, POOLS = %d, AVERAGES = %d, HAS_LENGTH_1 = %d };\n",
                            (long long)dim_value(out->dim[out->rank - 1], NULL), out->rank == 2,
                            setting_is(l, "pool", "mean"), normalise && normalise->number != 0);
                break;
        case LOOP_fill:
                text_printf(t, "enum { MASK_TOKEN = %lld, FILL_COLUMNS = %lld };\n",
                            (long long)whole_setting(l, "mask", -1), (long long)parts->input->bound);
                break;
        case LOOP_denoise: print_denoise(t, l, parts, out); break;
        case LOOP_unmask: print_unmask_form(t, l); break;
        case LOOP_transcribe:
                text_printf(t, "enum { SAMPLE_RATE = %lld, SAMPLES = %lld, SPEECH_START = %d };\n",
                            (long long)whole_setting(l, "rate", 0),
                            (long long)type_count(&parts->input->type, NULL), start_token(g));
                break;
        default: break;
        }
        return t->data;
}
