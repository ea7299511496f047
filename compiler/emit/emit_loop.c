/* Loops other than generate as functions of the model: their declarations and their calls of the model.
 * The functions are in runtime/model_*.h. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

enum { MAX_FILE_INPUTS = 64 }; /* of runtime/input_values.h */

static LoopId id_of(const EmitLoop *l)
{
        return (LoopId)loop_number(l->loop->name);
}

static bool is_of_texts(const EmitLoop *l)
{
        return loop_input(id_of(l), &l->parts) == LOOP_IN_TOKENS;
}

bool finds_spans(const Emit *e, const EmitLoop *l)
{
        return e->o->tables && (id_of(l) == LOOP_answer || (id_of(l) == LOOP_classify && is_of_texts(l) &&
                                                            loop_setting(l->loop, "spans") &&
                                                            loop_setting(l->loop, "spans")->number != 0));
}

/* --- inputs ------------------------------------------------------------------------------------------------------ */

/* Source of an input's values. */
typedef enum { FROM_LOOP, FROM_SETTING, FROM_CALLER, FED_BEFORE } From;

/* Whether the caller feeds the group before: it has no input of the loop. */
static bool is_fed_before(const Graph *g, const EmitLoop *l, int group)
{
        if (!is_fed_separately(g, group))
                return false;
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                if (in->group == group &&
                    (in == l->parts.input || in == l->parts.step || in == l->parts.types ||
                     in == l->parts.padding || in == l->parts.class || loop_setting(l->loop, input_name(in))))
                        return false;
        }
        return true;
}

static From comes_from(const Graph *g, const EmitLoop *l, const Input *in)
{
        if (in == l->parts.input || in == l->parts.step || in == l->parts.types || in == l->parts.padding)
                return FROM_LOOP;
        if (id_of(l) != LOOP_denoise && is_fed_before(g, l, in->group))
                return FED_BEFORE;
        return in != l->parts.class && loop_setting(l->loop, input_name(in)) ? FROM_SETTING : FROM_CALLER;
}

bool is_callers(const Graph *g, const EmitLoop *l, const Input *in)
{
        return comes_from(g, l, in) == FROM_CALLER;
}

bool is_callers_size(const Graph *g, const EmitLoop *l, int size)
{
        for (int i = 0; i < g->ninput; i++)
                for (int a = 0; a < g->input[i].type.rank && is_callers(g, l, &g->input[i]); a++)
                        if (g->input[i].type.dim[a].per[size])
                                return true;
        return false;
}

/* The size that grows with a text; -1: none. */
static int size_of_text(const Graph *g, const EmitLoop *l)
{
        for (int i = 0; i < g->nnamed && is_of_texts(l); i++)
                if (dim_equal(l->parts.input->type.dim[0], dim_named(i)))
                        return i;
        return -1;
}

/* "4 * n": number of elements of an input that a setting fills.  NULL: it has a size that is not the
 * text's. */
static const char *filled_count(const Graph *g, const EmitLoop *l, const Input *in)
{
        const int text = size_of_text(g, l);
        Text *count = text_new(g->arena);
        for (int a = 0; a < in->type.rank; a++) {
                const Dim d = in->type.dim[a];
                if (dim_is_fixed(d))
                        text_printf(count, "%s%" PRId64, a ? " * " : "", dim_value(d, NULL));
                else if (text >= 0 && dim_equal(d, dim_named(text)))
                        text_printf(count, "%sn", a ? " * " : "");
                else
                        return NULL;
        }
        return in->type.rank ? count->data : "1";
}

const char *why_no_loop_function(const Graph *g, const EmitLoop *l)
{
        const LoopId id = id_of(l);
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                const From from = comes_from(g, l, in);
                const bool beside = in != l->parts.input && is_fed_separately(g, in->group);
                if (id == LOOP_denoise && g->past >= 0)
                        return "its model is causal, and denoises all at once";
                if (id == LOOP_transcribe && beside)
                        return arena_printf(g->arena, "its input %s is fed beside the sound", input_name(in));
                if (id == LOOP_transcribe || id == LOOP_draft || (id == LOOP_denoise && from != FROM_SETTING))
                        continue;
                if (from == FED_BEFORE)
                        return arena_printf(g->arena, "its input %s is fed separately", input_name(in));
                if (from == FROM_CALLER)
                        return arena_printf(g->arena, "the value of its input %s is unknown", input_name(in));
                if (from == FROM_SETTING && !filled_count(g, l, in))
                        return arena_printf(g->arena, "its input %s has its own size", input_name(in));
        }
        return NULL;
}

/* Whether a file can give all sizes of the input: each is a number or a name. */
static bool is_said_by_file(const Graph *g, const Input *in)
{
        for (int a = 0; a < in->type.rank; a++) {
                int named = 0;
                while (named < g->nnamed && !dim_equal(in->type.dim[a], dim_named(named)))
                        named++;
                if (!dim_is_fixed(in->type.dim[a]) && named == g->nnamed)
                        return false;
        }
        return true;
}

const char *why_no_loop_command(const Graph *g, const EmitLoop *l)
{
        int n = 0;
        for (int i = 0; i < g->ninput && id_of(l) == LOOP_denoise; i++) {
                const Input *in = &g->input[i];
                if (!is_callers(g, l, in))
                        continue;
                if (++n > MAX_FILE_INPUTS)
                        return arena_printf(g->arena, "has more than %d inputs", MAX_FILE_INPUTS);
                if (!is_said_by_file(g, in))
                        return arena_printf(g->arena, "has an input %s whose sizes are not names",
                                            input_name(in));
        }
        return NULL;
}

const char *why_no_generate_command(const Graph *g, const Input *fed)
{
        for (int i = 0; i < g->ninput; i++)
                if (&g->input[i] != fed && is_fed_separately(g, g->input[i].group))
                        return arena_printf(g->arena, "has an input that a command line can't pass: %s",
                                            input_name(&g->input[i]));
        return NULL;
}

/* --- a call of the model ------------------------------------------------------------------------------------------- */

/* Input x0, x1, ..: cast to its type. */
static const char *loop_filled_input(const Emit *e, const Input *in, int i)
{
        return arena_printf(e->arena, in->type.dtype == REAL ? "(const float *)(const void *)x%d" : "x%d", i);
}

/* Argument of a call for an input. */
static const char *loop_argument(const Emit *e, const EmitLoop *l, int i)
{
        const Input *in = &e->g->input[i];
        if (in == l->parts.input)
                return "from";
        if (in == l->parts.step)
                return "&at_step";
        if (in == l->parts.types)
                return "types";
        if (in == l->parts.padding)
                return "seen";
        return comes_from(e->g, l, in) == FROM_SETTING ? loop_filled_input(e, in, i)
                                                       : arena_printf(e->arena, "given->%s", in->name);
}

/* ", from, x1": inputs of a group. */
static const char *loop_inputs(const Emit *e, const EmitLoop *l, int group)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->ninput; i++)
                if (is_given_in(e, &e->g->input[i], group))
                        text_printf(t, ", %s", loop_argument(e, l, i));
        return t->data;
}

/* ", n, from, x1": the same after sizes. */
static const char *loop_arguments(const Emit *e, const EmitLoop *l, int group)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->nnamed; i++)
                if (states_size(e, group, i))
                        text_printf(t, id_of(l) == LOOP_denoise ? ", given->%s" : ", n", e->g->named[i].name);
        text_put(t, loop_inputs(e, l, group));
        return t->data;
}

static void emit_filled(const Emit *e, const EmitLoop *l, Text *c)
{
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                const Setting *s = loop_setting(l->loop, input_name(in));
                if (comes_from(e->g, l, in) != FROM_SETTING)
                        continue;
                const char *type = c_type(in), *count = filled_count(e->g, l, in);
                text_printf(c, "        %s *x%d = (%s *)(void *)scratch; /* %s */\n", type, i, type,
                            in->name);
                text_printf(c, "        scratch += %s;\n", count);
                text_printf(c,
                            "        for (int64_t i = 0; i < %s; i++)\n                x%d[i] = (%s)%.17g;\n",
                            count, i, type, s->number);
        }
}

/* Number of elements of scratch for a call. */
static void emit_call_room(const Emit *e, const EmitLoop *l, Text *c)
{
        Text *total = text_new(e->arena);
        for (int i = 0; i < e->g->ninput; i++)
                if (comes_from(e->g, l, &e->g->input[i]) == FROM_SETTING)
                        text_printf(total, "%s%s", total->n ? " + " : "",
                                    filled_count(e->g, l, &e->g->input[i]));
        text_printf(c, "static int64_t %s_call_room(int64_t n UNUSED)\n{\n        return %s;\n}\n\n",
                    l->loop->name, total->n ? total->data : "0");
}

static const char *loop_outputs(const Emit *e, const EmitLoop *l)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(t, ", %s", i == l->parts.output ? "to" : "NULL");
        return t->data;
}

/* "        if (!fed || fed->text != given->text)\n        ": a fed group is kept, so it is fed again only
 * if it changed. */
static const char *when_fed(const Emit *e, const EmitLoop *l, int group)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->nnamed; i++)
                if (states_size(e, group, i))
                        text_printf(t, " || fed->%s != given->%s", e->g->named[i].name, e->g->named[i].name);
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (is_given_in(e, in, group) && (in == l->parts.input || in == l->parts.step))
                        return "";
                if (is_given_in(e, in, group) && is_callers(e->g, l, in))
                        text_printf(t, " || fed->%s != given->%s", in->name, in->name);
        }
        return arena_printf(e->arena, "        if (!fed%s)\n        ", t->data);
}

/* Appends the tokens after the kept ones to the state. */
static void emit_kept_call(const Emit *e, const EmitLoop *l, Text *c)
{
        text_printf(c,
                    "        if (%s_rewind(m, kept)) { /* the state can't be taken back so far */\n"
                    "                kept = 0;\n                %s_reset(m);\n        }\n"
                    "        from += kept;\n        to += first * %" PRId64 ";\n"
                    "        return error ? error : advance(m%s, n - kept, first - kept%s);\n}\n\n",
                    e->name, e->name, loop_columns(e, l), loop_inputs(e, l, CALLS), loop_outputs(e, l));
}

/* CLASSIFY_call(m, from, n, to, scratch) and the like: computes the loop's output from its input. */
static void emit_loop_call(const Emit *e, const EmitLoop *l, Text *c)
{
        const char *name = l->loop->name;
        const bool denoises = id_of(l) == LOOP_denoise;
        if (denoises)
                emit_denoise_given(e, l, c);
        emit_call_room(e, l, c);
        text_printf(c, "/* Calls the model, from %s to %s. */\n", input_name(l->parts.input),
                    e->g->output[l->parts.output].name);
        text_printf(c,
                    "static int %s_call(%s *m, const %s *from, %sint64_t n UNUSED, %sfloat *to, int32_t "
                    "*scratch UNUSED)\n{\n",
                    name, e->name, c_type(l->parts.input),
                    (id_of(l) == LOOP_classify && is_of_texts(l)) || id_of(l) == LOOP_answer
                            ? "const int32_t *types UNUSED, "
                    : id_of(l) == LOOP_rank   ? "const int32_t *seen UNUSED, "
                    : id_of(l) == LOOP_unmask ? "int64_t kept UNUSED, "
                                              : "",
                    denoises ? "float at_step, const LoopGiven *given UNUSED, const LoopGiven *fed UNUSED, "
                    : id_of(l) == LOOP_unmask ? "int64_t first UNUSED, "
                                              : "");
        text_printf(c, "        int error = %s_OK;\n", e->upper);
        emit_filled(e, l, c);
        for (int i = 0; i < e->g->ngroup; i++)
                if (is_fed_separately(e->g, i))
                        text_printf(c, "%s        error = error ? error : %s_feed_%s(m%s);\n",
                                    denoises ? when_fed(e, l, i) : "", e->name, group_name(e, i),
                                    loop_arguments(e, l, i));
        if (id_of(l) == LOOP_unmask && e->g->block) {
                emit_kept_call(e, l, c);
                return;
        }
        if (e->causal)
                text_printf(c, "        %s_reset(m);\n", e->name);
        text_printf(c, "        return error ? error : %s_forward(m%s%s%s);\n}\n\n", e->name,
                    loop_arguments(e, l, CALLS), e->causal ? ", n" : "", loop_outputs(e, l));
}

/* transcribe_feed(m, samples) */
static void emit_sound_feed(const Emit *e, const EmitLoop *l, Text *c)
{
        text_printf(c,
                    "static int transcribe_feed(%s *m, const float *samples)\n{\n        return "
                    "%s_feed_%s(m, samples);\n}\n\n",
                    e->name, e->name, group_name(e, l->parts.input->group));
}

/* --- the functions --------------------------------------------------------------------------------------------------- */

static const char *const function_file[LOOPS] = {[LOOP_classify] = "model_classify.h",
                                                 [LOOP_answer] = "model_answer.h",
                                                 [LOOP_rank] = "model_rank.h",
                                                 [LOOP_embed] = "model_embed.h",
                                                 [LOOP_fill] = "model_fill.h",
                                                 [LOOP_denoise] = "model_denoise.h",
                                                 [LOOP_transcribe] = "model_transcribe.h",
                                                 [LOOP_unmask] = "model_unmask.h"};

/* Sizes, tokens and the sampler, which a model that generates has otherwise, and the function. */
static void emit_unmask(const Emit *e, const EmitLoop *l, Text *c)
{
        static const char *const files[] = {"sampler.h", NULL};
        const char *function = host_text(e, function_file[LOOP_unmask]);
        text_printf(c, "enum { VOCAB = %" PRId64 ", CONTEXT = %" PRId64 ", KEPT_BLOCK = %" PRId64 " };\n%s\n",
                    loop_columns(e, l), dim_bound(e->g, l->parts.input->type.dim[0]), e->g->block,
                    loop_tokens_text(e->arena, e->g, true));
        if (sampling_has_effect(&e->o->sampling.own))
                emit_sampling(e, "sampling_of_loop", &e->o->sampling, e->o->with_main, c);
        paste_runtime(c, files, e->facts, NULL, function);
        text_printf(c, "%s\n", function);
}

void emit_loop(const Emit *e, const EmitLoop *l, Text *c)
{
        text_printf(c, "%s\n", l->form);
        if (id_of(l) == LOOP_draft) {
                emit_draft(e, l, c);
                return;
        }
        if (id_of(l) == LOOP_transcribe)
                emit_sound_feed(e, l, c);
        else
                emit_loop_call(e, l, c);
        if (id_of(l) == LOOP_unmask) {
                emit_unmask(e, l, c);
                return;
        }
        const bool of_text = id_of(l) == LOOP_classify && is_of_texts(l);
        text_printf(c, "%s\n", host_text(e, of_text ? "model_classify_text.h" : function_file[id_of(l)]));
        if (of_text && e->o->tables)
                text_printf(c, "%s\n", host_text(e, "model_pairs.h"));
        if (id_of(l) == LOOP_denoise)
                emit_denoise(e, l, c);
        if (id_of(l) == LOOP_classify)
                text_printf(c, "const char *%s_label(int64_t number)\n{\n        %s;\n}\n\n", e->name,
                            l->labelled
                                    ? "return number >= 0 && number < CLASSES ? class_label[number] : NULL"
                                    : "(void)number;\n        return NULL");
        if (of_text && finds_spans(e, l))
                text_printf(c, "%s\n", host_text(e, "model_tags.h"));
}

/* --- the header ------------------------------------------------------------------------------------------------------ */

int64_t loop_columns(const Emit *e, const EmitLoop *l)
{
        const Type *t = &e->g->output[l->parts.output].node->type;
        return dim_value(t->dim[t->rank - 1], NULL);
}

/* The sum of probabilities, or their range. */
static const char *values_text(const EmitLoop *l)
{
        const char *activation = loop_text_setting(l->loop, "activation");
        return !activation || !strcmp(activation, "softmax") ? "whose sum is 1"
               : !strcmp(activation, "sigmoid")              ? "each from 0 to 1"
                                                             : "which are the scores themselves";
}

static const char *classify_text_header(const Emit *e, const EmitLoop *l)
{
        const bool of_tokens = e->g->output[l->parts.output].node->type.rank == 2;
        const char *classes = arena_printf(
                e->arena,
                "/* Classifies %s tokens [n]: probabilities [%s%" PRId64
                "], %s.  types [n]: the types of tokens, which a pair of texts\n * has; NULL: all are 0.%s  "
                "scratch [$model_classify_scratch(n)], aligned to 8.  $MODEL_ERROR_RANGE: scores that are "
                "NaN "
                "or infinite. */\n"
                "int $model_classify($model *m, const int32_t *tokens, const int32_t *types, int64_t n, "
                "double "
                "*probabilities, void *scratch);\n"
                "size_t $model_classify_scratch(int64_t n);\n"
                "/* The label of a class, counted from 0; NULL: it has none. */\n"
                "const char *$model_label(int64_t number);\n\n",
                of_tokens ? "each of the" : "a text, or a pair of texts, of", of_tokens ? "n][" : "",
                loop_columns(e, l), values_text(l),
                l->parts.types ? "" : "  The model has none, and ignores them.");
        return !e->o->tables
                       ? classes
                       : arena_printf(
                                 e->arena,
                                 "%s/* Converts a pair of texts [nfirst] and [nsecond] to ids and their "
                                 "types, "
                                 "each [$model_encode_pair_room(m, nfirst,\n * nsecond)].  More than `most` "
                                 "tokens (0: no limit) are cut, of the longer text first.  Returns their "
                                 "number; *all: their\n * number without cutting.  -1: a text is too long, "
                                 "or "
                                 "the tokenizer has no template for pairs.  scratch\n * "
                                 "[$model_encode_pair_scratch(m, nfirst, nsecond)], aligned to 4. */\n"
                                 "int64_t $model_encode_pair(const $model *m, const char *first, int64_t "
                                 "nfirst, const char *second, int64_t nsecond,\n        int64_t most, "
                                 "int32_t "
                                 "*ids, int32_t *types, int64_t *all, void *scratch);\n"
                                 "int64_t $model_encode_pair_room(const $model *m, int64_t nfirst, int64_t "
                                 "nsecond);\n"
                                 "int64_t $model_encode_pair_scratch(const $model *m, int64_t nfirst, "
                                 "int64_t "
                                 "nsecond);\n\n",
                                 classes);
}

static const char *tags_header(const Emit *e)
{
        return arena_printf(
                e->arena,
                "/* Joins tokens with the same label, probabilities [n][CLASSES] of $model_classify() for "
                "the tokens "
                "[n] of $model_encode(text),\n * to spans of text [ntext], span [n], with the mean "
                "probability.  "
                "Labels begin with B- or I-, and O is no span.  Returns\n * their number.  scratch "
                "[$model_tags_scratch(m, ntext, n)], aligned to 8. */\n"
                "int64_t $model_tags(const $model *m, const char *text, int64_t ntext, const double "
                "*probabilities, int64_t n,\n        $model_span *span, void *scratch);\n"
                "size_t $model_tags_scratch(const $model *m, int64_t ntext, int64_t n);\n\n");
}

static const char *answer_header(const Emit *e, const EmitLoop *l)
{
        (void)l;
        return arena_printf(
                e->arena,
                "/* Finds the `top` (1 to 100) most probable answers to a question [nquestion] in text "
                "[ntext], "
                "found [top]; their number is *nfound.\n * may_be_absent: no answer is one of them, with "
                "begin "
                "and end 0.  A long text is read in windows.  "
                "$MODEL_ERROR_RANGE, with\n * *nfound: -2: the tokenizer has no template for pairs; -3: a "
                "text "
                "has too many bytes; -4: the question has no tokens; -5: the\n * text has none; -6: the "
                "question "
                "has too many; -7: logits are NaN or infinite.  scratch\n * [$model_answer_scratch(m, "
                "nquestion, ntext)], aligned to 8. */\n"
                "int $model_answer($model *m, const char *question, int64_t nquestion, const char *text, "
                "int64_t "
                "ntext, int64_t top,\n        int may_be_absent, $model_span *found, int64_t *nfound, void "
                "*scratch);\n"
                "size_t $model_answer_scratch(const $model *m, int64_t nquestion, int64_t ntext);\n\n");
}

void declare_spans(const Emit *e, Text *h)
{
        bool any = false;
        for (int i = 0; i < e->o->nloop; i++)
                any |= finds_spans(e, &e->o->loop[i]);
        if (any)
                text_printf(
                        h, "%s",
                        model_text(e,
                                   "/* A part of a text: bytes begin to end.  number: its class, or -1. */\n"
                                   "typedef struct {\n        double probability;\n        int64_t begin, "
                                   "end, number;\n} $model_span;\n"));
}

static const char *classify_header(const Emit *e, const EmitLoop *l)
{
        if (is_of_texts(l))
                return arena_printf(e->arena, "%s%s", classify_text_header(e, l),
                                    finds_spans(e, l) ? tags_header(e) : "");
        return arena_printf(
                e->arena,
                "/* Classifies a picture: pixels of 8 bits [height][width][channels], grey (1 channel) or "
                "red, green "
                "and blue (3), of any size;\n"
                " * they are resized, centred and scaled as specified by the model's `loop classify`.  "
                "probabilities "
                "[%" PRId64 "], %s.\n"
                " * scratch [$model_classify_scratch(width, height)], aligned to 8.  $MODEL_ERROR_RANGE: a "
                "size that is invalid or too large, or\n * scores that are NaN or infinite. */\n"
                "int $model_classify($model *m, const uint8_t *pixels, int64_t width, int64_t height, int "
                "channels,\n"
                "        double *probabilities, void *scratch);\n"
                "size_t $model_classify_scratch(int64_t width, int64_t height);\n"
                "/* The label of a class, counted from 0; NULL: it has none. */\n"
                "const char *$model_label(int64_t number);\n\n",
                loop_columns(e, l), values_text(l));
}

static const char *rank_header(const Emit *e, const EmitLoop *l)
{
        return arena_printf(
                e->arena,
                "/* Computes the vectors of the tokens of a query [n]: their number is *rows, at most "
                "$model_rank_rows(m, n), and each\n * has %" PRId64
                " numbers.  A longer query than `loop rank` of the model states is cut; with truncate, to "
                "the "
                "model's maximum, too.\n * *tokens: their number without cutting.  $MODEL_ERROR_RANGE, with "
                "*tokens: 0: the query has none; above the maximum: it is\n * too long; -1: it has too many "
                "bytes.  scratch [$model_rank_scratch(m, n)], aligned to 8. */\n"
                "int $model_rank_query($model *m, const char *query, int64_t n, int truncate, float "
                "*vectors, "
                "int64_t *rows, int64_t *tokens,\n        void *scratch);\n"
                "int64_t $model_rank_rows(const $model *m, int64_t n);\n"
                "/* Scores a passage [n] for a query, by vectors [rows] of $model_rank_query().  Of *tokens "
                "also -2: the setting skip leaves out all\n * tokens; -3: the score is NaN or infinite. */\n"
                "int $model_rank($model *m, const float *vectors, int64_t rows, const char *passage, int64_t "
                "n, "
                "int truncate, double *score,\n        int64_t *tokens, void *scratch);\n"
                "size_t $model_rank_scratch(const $model *m, int64_t n);\n\n",
                loop_columns(e, l));
}

static const char *embed_header(const Emit *e, const EmitLoop *l)
{
        return arena_printf(e->arena,
                            "/* Embeds a text: computes vector [%" PRId64
                            "] of tokens [n], as specified by the model's `loop embed`.\n * scratch "
                            "[$model_embed_scratch(n)], aligned to 4. */\n"
                            "int $model_embed($model *m, const int32_t *tokens, int64_t n, float *vector, "
                            "void *scratch);\n"
                            "size_t $model_embed_scratch(int64_t n);\n\n",
                            loop_columns(e, l));
}

static const char *fill_header(const Emit *e, const EmitLoop *l)
{
        return arena_printf(
                e->arena,
                "/* Called for each mask, with its index among the tokens and the probability of each token, "
                "probabilities [%" PRId64 "].\n * Returns 0, or another number to end. */\n"
                "typedef int $model_on_mask(void *of, int64_t place, const double *probabilities);\n"
                "/* Fills the masks, token %.0f, in tokens [n]: on_mask is called for each in turn.  scratch "
                "[$model_fill_scratch(n)], aligned\n"
                " * to 8.  Returns $MODEL_ERROR_RANGE also if logits are NaN or infinite. */\n"
                "int $model_fill($model *m, const int32_t *tokens, int64_t n, $model_on_mask *on_mask, void "
                "*of, void "
                "*scratch);\n"
                "size_t $model_fill_scratch(int64_t n);\n\n",
                loop_columns(e, l), loop_setting(l->loop, "mask")->number);
}

/* The settings of the loop, if they have an effect. */
static const char *unmask_sampling_header(const Emit *e)
{
        return !sampling_has_effect(&e->o->sampling.own)
                       ? ""
                       : "/* The settings of the model's loop, which are used if how is NULL. */\n"
                         "$model_unmasking $model_unmasking_default(void);\n";
}

static const char *unmask_header(const Emit *e, const EmitLoop *l)
{
        const Setting *length = loop_setting(l->loop, "length");
        return arena_printf(
                e->arena,
                "/* Called for each token; returns 0, or another number to end the text before the token. "
                "*/\n"
                "typedef int $model_on_token(void *of, int32_t token);\n"
                "/* Settings of unmasking; all 0: those of the model's `loop unmask`, and the likeliest "
                "tokens. "
                "*/\n"
                "typedef struct {\n"
                "        int64_t length;       /* maximum number of new tokens; 0: %.0f; below 0: none, only "
                "the masks in the "
                "tokens are filled */\n"
                "        int64_t block_length; /* number of tokens of a block; 0: the loop's */\n"
                "        int64_t steps;        /* of a block or part; 0: the loop's */\n"
                "        float threshold;      /* take all surer predictions; 0: the loop's; below 0: none "
                "*/\n"
                "        float guidance;       /* factor of the difference that the prompt makes; 0: the "
                "loop's */\n"
                "        float temperature;    /* 0: the likeliest token, always */\n"
                "        int top_k;            /* choose among the top_k likeliest tokens; 0: among all */\n"
                "        float top_p, min_p;   /* from 0 to 1; 0: all tokens */\n"
                "        uint64_t seed;        /* of the random numbers: the same seed gives the same tokens "
                "*/\n"
                "        const int32_t *suppress; /* tokens that are never chosen, ends with -1; or NULL */\n"
                "        int (*on_step)(void *of, int64_t done, int64_t masks); /* called after each step "
                "with "
                "the number of filled masks, and of all; returns 0, or another number to end; or NULL */\n"
                "} $model_unmasking;\n%s"
                "/* Completes tokens [n]: fills the masks, token %.0f, among them and those that follow, in "
                "blocks.  on_token gets the tokens of\n * each completed block after the n; if there are "
                "masks "
                "among the n, all tokens from the first on.  The text ends before a token\n * that ends a "
                "text.  "
                "how, on_token, and made (the number of new tokens) may be NULL.  of: the first argument of "
                "on_token and on_step.\n * scratch [$model_unmask_scratch(how, n)], aligned to 8.  "
                "$MODEL_ERROR_RULE: logits are NaN or infinite. */\n"
                "int $model_unmask($model *m, const int32_t *tokens, int64_t n, const $model_unmasking "
                "*how,\n"
                "        $model_on_token *on_token, void *of, void *scratch, int64_t *made);\n"
                "size_t $model_unmask_scratch(const $model_unmasking *how, int64_t n);\n\n",
                length ? length->number : UNMASK_USUAL_LENGTH, unmask_sampling_header(e),
                loop_setting(l->loop, "mask")->number);
}

static const char *transcribe_header(const Emit *e, const EmitLoop *l)
{
        return arena_printf(
                e->arena,
                "/* Transcribes samples [n], -1 to 1, at %.0f Hz, at most %" PRId64
                "; the rest is filled with silence.\n * on_token, how, of and made are those of "
                "$model_generate().  "
                "begin [nbegin]: the beginning of the text, with its start\n * token first; NULL: only the "
                "start token.  scratch "
                "[$model_transcribe_scratch(how)], aligned to 4. */\n"
                "int $model_transcribe($model *m, const float *samples, int64_t n, const int32_t *begin, "
                "int64_t "
                "nbegin,\n"
                "        const $model_generation *how, $model_on_token *on_token, void *of, void *scratch, "
                "int64_t "
                "*made);\n"
                "size_t $model_transcribe_scratch(const $model_generation *how);\n\n",
                loop_setting(l->loop, "rate")->number, type_count(&l->parts.input->type, NULL));
}

void declare_loop(const Emit *e, const EmitLoop *l, Text *h)
{
        static const char *(*const header[LOOPS])(const Emit *e,
                                                  const EmitLoop *l) = {[LOOP_classify] = classify_header,
                                                                        [LOOP_answer] = answer_header,
                                                                        [LOOP_rank] = rank_header,
                                                                        [LOOP_embed] = embed_header,
                                                                        [LOOP_fill] = fill_header,
                                                                        [LOOP_denoise] = denoise_header,
                                                                        [LOOP_transcribe] = transcribe_header,
                                                                        [LOOP_unmask] = unmask_header,
                                                                        [LOOP_draft] = draft_header};
        text_printf(h, "%s", model_text(e, header[id_of(l)](e, l)));
}
