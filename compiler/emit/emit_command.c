/* The command line: its files of runtime/, for each loop. */
#include <inttypes.h>

#include "emit_private.h"

/* Further files of the command line of a loop: for each text, if it takes texts, and its own one.  NULL:
 * generation. */
static const char *const command_file[LOOPS] = {
        [LOOP_classify] = "main_classify.h", [LOOP_answer] = "main_answer.h",
        [LOOP_embed] = "main_embed.h",       [LOOP_rank] = "main_rank.h",
        [LOOP_fill] = "main_fill.h",         [LOOP_denoise] = "main_denoise.h"};

static bool loop_of_texts(LoopId id, const EmitLoop *l)
{
        return (l ? loop_input(id, &l->parts) : loop_info[id].in) == LOOP_IN_TOKENS;
}

static void emit_constants_of_texts(const Emit *e, LoopId id, Text *c)
{
        const bool generates = id == LOOP_generate || id == LOOP_transcribe || id == LOOP_unmask;
        text_printf(c, "enum { START_TOKEN = %d };\n", generates ? start_token(e->g) : -1);
        if (e->o->tables)
                text_printf(c, "enum { TEXT_ROOM = %d, PROMPT_FLAGS = %s };\n", e->o->text_room,
                            id == LOOP_fill || id == LOOP_unmask ? model_text(e, "$MODEL_CONTROL") : "0");
}

/* MAX_TOKENS, LONGEST_TEXT, and the prompts of loop embed. */
static void emit_limits_of_texts(const Emit *e, const EmitLoop *l, bool named, Text *c)
{
        const Setting *cut = loop_setting(l->loop, "max_tokens");
        const char *all = loop_text_setting(l->loop, "prompts"),
                   *chosen = loop_text_setting(l->loop, "prompt"), *name;
        const Dim d = l->parts.input->type.dim[0];
        int64_t longest = dim_is_fixed(d) ? dim_value(d, NULL) : INT32_MAX;
        for (int i = 0; i < e->g->nnamed; i++)
                if (dim_equal(d, dim_named(i)))
                        longest = e->g->named[i].bound;
        const int64_t most = cut ? (int64_t)cut->number : 0;
        json_error_t error;
        json_t *prompts = json_loads(all ? all : "{}", 0, &error), *value;
        text_printf(c, "enum { LONGEST_TEXT = %" PRId64 ", MAX_TOKENS = %" PRId64 " };\n", longest,
                    most < longest ? most : longest);
        if (named)
                text_printf(c,
                            "static const struct {\n        const char *name, *text;\n} text_prompt[] = {");
        json_object_foreach (prompts, name, value)
                if (named)
                        text_printf(c, "{%s, %s}, ", c_string(e->arena, name),
                                    c_string(e->arena, json_string_value(value)));
        value = named && chosen ? json_object_get(prompts, chosen) : NULL;
        text_printf(c, "%s#define DEFAULT_PROMPT %s\n", named ? "{NULL, NULL}};\n" : "",
                    value ? c_string(e->arena, json_string_value(value)) : "\"\"");
        json_decref(prompts);
}

static void emit_constants_of_loop(const Emit *e, LoopId id, Text *c)
{
        const bool text = e->o->tables;
        text_printf(c, "#define LOOP_SCRATCH(n) %s_%s_scratch(n)\n", e->name, loop_info[id].name);
        text_printf(c, "static const char text_help[] = \"%s\";\n",
                    id == LOOP_fill ? text ? "a text with a mask, as the model's tokenizer writes it"
                                           : "token numbers, a mask among them"
                    : text          ? "a text"
                                    : "token numbers");
        text_printf(c, "static const char text_example[] = \"%s\";\n\n",
                    text ? "\\\"The quick brown fox\\\"" : "\\\"1 2 3\\\"");
}

/* feed_prompt(m, tokens, n) */
static void emit_feed_prompt(const Emit *e, Text *c)
{
        text_printf(
                c,
                "/* Feeds the prompt as %s. */\nstatic int feed_prompt(%s *m, const int32_t *from, int64_t "
                "n)\n{\n        return %s_feed_%s(m%s, from);\n}\n\n",
                e->o->feeds_prompt->name, e->name, e->name, group_name(e, e->o->feeds_prompt->group),
                *size_list(e, e->o->feeds_prompt->group, false) ? ", n" : "");
}

/* The end of the program, after the functions that ranks need. */
static void emit_main(const Emit *e, Text *c)
{
        text_printf(c, "%s\n%s", e->plan->sharing.ranks ? host_text(e, "main_ranks.h") : "",
                    host_text(e, "main_program.h"));
}

static void emit_loop_command(const Emit *e, const EmitLoop *l, LoopId id, Text *c)
{
        const bool is_asked = id == LOOP_answer || id == LOOP_rank,
                   of_texts = loop_of_texts(id, l) && !is_asked;
        if (of_texts) {
                emit_constants_of_texts(e, id, c);
                emit_limits_of_texts(e, l, id == LOOP_embed, c);
                emit_constants_of_loop(e, id, c);
                text_printf(c, "%s\n",
                            host_text(e, e->o->tables ? "main_prompt_text.h" : "main_prompt_tokens.h"));
        } else if (id == LOOP_denoise) {
                emit_denoise_constants(e, l, c);
        }
        emit_main(e, c);
        if (of_texts || is_asked)
                text_printf(c, "\n%s", host_text(e, of_texts ? "main_texts.h" : "main_asked.h"));
        text_printf(
                c, "\n%s",
                host_text(e, of_texts && id == LOOP_classify ? "main_classify_text.h" : command_file[id]));
}

/* sampling_of_talk, and the default of --temp for the help. */
static void emit_defaults(const Emit *e, Text *c)
{
        const Sampling *text = &e->o->sampling.own, *talk = &e->o->talk_sampling.own;
        if (e->o->talk)
                emit_sampling(e, "sampling_of_talk", &e->o->talk_sampling, true, c);
        if (e->o->talk && talk->temperature != text->temperature)
                text_printf(c, "#define DEFAULT_TEMPERATURE \"%s; with --raw %s\"\n",
                            float_shortest(e->arena, talk->temperature),
                            float_shortest(e->arena, text->temperature));
        else if (e->o->talk || sampling_has_effect(text))
                text_printf(c, "#define DEFAULT_TEMPERATURE \"%s\"\n",
                            float_shortest(e->arena, text->temperature));
}

static void emit_generate_command(const Emit *e, LoopId id, Text *c)
{
        const bool text = e->o->tables, transcribes = id == LOOP_transcribe;
        emit_constants_of_texts(e, id, c);
        text_printf(c, "\n%s", e->o->talk ? e->o->talk : "");
        emit_defaults(e, c);
        if (e->o->feeds_prompt && !transcribes)
                emit_feed_prompt(e, c);
        text_printf(c, "%s\n%s\n", host_text(e, text ? "main_prompt_text.h" : "main_prompt_tokens.h"),
                    host_text(e, text ? "main_text.h" : "main_tokens.h"));
        emit_main(e, c);
        text_printf(c, "\n");
        if (transcribes)
                text_printf(c, "%s\n", host_text(e, "main_sound.h"));
        if (has_languages(e))
                text_printf(c, "%s\n%s\n", host_text(e, "languages.h"),
                            text && !transcribes ? host_text(e, "language_mark.h") : "");
        if (e->o->draft)
                emit_session_drafter(e, c);
        text_printf(c, "%s", host_text(e, "main_generate.h"));
        if (id == LOOP_unmask)
                text_printf(c, "\n%s", host_text(e, "main_unmask.h"));
        if (e->o->talk)
                text_printf(c, "\n%s", host_text(e, "main_talk.h"));
}

/* Functions that a page calls, for each loop. */
static const char *const page_file[LOOPS] = {
        [LOOP_generate] = "page_generate.h", [LOOP_classify] = "page_classify.h",
        [LOOP_embed] = "page_embed.h",       [LOOP_fill] = "page_fill.h",
        [LOOP_denoise] = "page_denoise.h",   [LOOP_transcribe] = "page_transcribe.h"};

int64_t attention_maps(const Graph *g, int64_t *layers)
{
        const Output *o = &g->output[g->noutput - 1];
        const Type *t = &o->node->type;
        int64_t maps = 1;
        if (!o->tap || t->rank < 3 || t->rank > 4)
                return 0;
        for (int i = 0; i < t->rank - 2; i++)
                maps *= dim_is_fixed(t->dim[i]) ? dim_value(t->dim[i], NULL) : 0;
        *layers = t->rank == 4 ? dim_value(t->dim[0], NULL) : 1;
        return maps;
}

static void emit_page_attention(const Emit *e, Text *c)
{
        int64_t layers;
        const int64_t maps = attention_maps(e->g, &layers);
        if (maps == 0)
                return;
        text_printf(c, "\nenum { ATTENTION_MAPS = %" PRId64 ", ATTENTION_ROWS = %" PRId64 " };\n\n%s", maps,
                    e->plan->chunk, host_text(e, "page_attention.h"));
}

void emit_page(const Emit *e, Text *c)
{
        const EmitLoop *l = e->o->main_loop;
        const LoopId id = l ? (LoopId)loop_number(l->loop->name) : LOOP_generate;
        const bool tells = id == LOOP_generate || id == LOOP_transcribe;
        text_printf(c, "%s\n", host_text(e, "page.h"));
        if (tells || loop_of_texts(id, l)) {
                emit_constants_of_texts(e, id, c);
                if (id == LOOP_embed)
                        emit_limits_of_texts(e, l, false, c);
                if (id != LOOP_transcribe)
                        text_printf(c, "\n%s\n",
                                    e->o->talk ? e->o->talk : host_text(e, "main_prompt_text.h"));
        } else if (id == LOOP_denoise) {
                emit_latent_constants(e, l, c);
                emit_page_class(l, c);
        }
        if (tells)
                text_printf(c, "%s\n", host_text(e, "page_tale.h"));
        text_printf(c, "%s", host_text(e, e->o->talk ? "page_talk.h" : page_file[id]));
        if (id == LOOP_generate)
                emit_page_attention(e, c);
}

void emit_command(const Emit *e, Text *c)
{
        const EmitLoop *l = e->o->main_loop;
        const LoopId id = l ? (LoopId)loop_number(l->loop->name) : LOOP_generate;
        text_printf(c, "#define WEIGHTS_FILE \"%s.weights\"\n", e->o->name);
        if (command_file[id])
                emit_loop_command(e, l, id, c);
        else
                emit_generate_command(e, id, c);
}
