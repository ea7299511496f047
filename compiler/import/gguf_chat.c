/* Conversations of a GGUF: its chat template, the tokens that the template may name, and those that begin and
 * end a text. */
#include <jansson.h>
#include <stdlib.h>

#include "chat/chat.h"
#include "import_private.h"

enum { CONTROL_TOKEN = 3 }; /* of token_type */

typedef struct {
        Arena *arena;
        const Checkpoint *file;
        CkText *token; /* [ntoken] */
        int64_t *kind; /* [ntoken], or NULL */
        int64_t ntoken;
} Vocabulary;

static const CkPair *vocabulary_pair(const Vocabulary *v, const char *name)
{
        return checkpoint_pair(v->file, arena_printf(v->arena, "tokenizer.%s", name));
}

static Vocabulary vocabulary_of(Arena *a, const Checkpoint *file)
{
        Vocabulary v = {.arena = a, .file = file};
        const CkPair *tokens = vocabulary_pair(&v, "ggml.tokens"),
                     *kinds = vocabulary_pair(&v, "ggml.token_type");
        if (!tokens || !tokens->list)
                return v;
        v.token = NEW_ARRAY(a, CkText, tokens->count + 1);
        v.ntoken = pair_texts(tokens, v.token) ? tokens->count : 0;
        v.kind = NEW_ARRAY(a, int64_t, v.ntoken + 1);
        if (!kinds || !kinds->list || kinds->count != v.ntoken || !pair_integers(kinds, v.kind))
                v.kind = NULL;
        return v;
}

/* The number in ggml.NAME_token_id, or -1. */
static int64_t vocabulary_token(const Vocabulary *v, const char *name)
{
        const CkPair *pair = vocabulary_pair(v, arena_printf(v->arena, "ggml.%s_token_id", name));
        int64_t id = -1;
        return pair && !pair->list && pair_integers(pair, &id) && id >= 0 && id <= INT32_MAX ? id : -1;
}

/* In the form of tokenizer_config.json. */
static json_t *config_of(const Vocabulary *v)
{
        static const char *const name[][2] = {{"bos", "bos_token"},       {"eos", "eos_token"},
                                              {"unknown", "unk_token"},   {"padding", "pad_token"},
                                              {"seperator", "sep_token"}, /* the format's spelling */
                                              {"cls", "cls_token"},       {"mask", "mask_token"}};
        json_t *config = json_object(), *added = json_object();
        for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
                int64_t id = vocabulary_token(v, name[i][0]);
                if (id >= 0 && id < v->ntoken)
                        json_object_set_new(config, name[i][1],
                                            json_stringn(v->token[id].bytes, (size_t)v->token[id].n));
        }
        for (int64_t i = 0; v->kind && i < v->ntoken; i++)
                if (v->kind[i] == CONTROL_TOKEN)
                        json_object_set_new(
                                added, arena_printf(v->arena, "%lld", (long long)i),
                                json_pack("{s:o}", "content",
                                          json_stringn(v->token[i].bytes, (size_t)v->token[i].n)));
        json_object_set_new(config, "added_tokens_decoder", added);
        return config;
}

/* Names of the other templates: those in tokenizer.chat_templates, and `default` if it is not the taken one. */
static const char *names_left_out(const Vocabulary *v, const char *taken)
{
        const CkPair *pair = vocabulary_pair(v, "chat_templates");
        CkText *name = pair && pair->list ? NEW_ARRAY(v->arena, CkText, pair->count) : NULL;
        const char *names = strcmp(taken, "default") ? "default" : NULL;
        for (int64_t i = 0; name && pair_texts(pair, name) && i < pair->count; i++) {
                const char *one = arena_strndup(v->arena, name[i].bytes, name[i].n);
                if (strcmp(one, taken) != 0)
                        names = arena_printf(v->arena, "%s%s%s", names ? names : "", names ? ", " : "", one);
        }
        return names;
}

ChatSource gguf_chat_source(Arena *a, const Checkpoint *file, bool tools)
{
        Vocabulary v = vocabulary_of(a, file);
        const char *key = "chat_template.tool_use";
        const CkPair *template = tools ? vocabulary_pair(&v, key) : NULL;
        const char *taken = template ? "tool_use" : "default";
        CkText text;
        if (!template)
                template = vocabulary_pair(&v, key = "chat_template");
        const char *path = arena_printf(a, "%s (tokenizer.%s)", checkpoint_path(file), key);
        if (!template)
                return chat_source_of(a, checkpoint_path(file), NULL, 0, config_of(&v));
        if (template->list || template->kind != CK_TEXT || !pair_texts(template, &text))
                return (ChatSource){.wrong = arena_printf(a, "%s: error: expected a string", path)};
        ChatSource s = chat_source_of(a, path, text.bytes, text.n, config_of(&v));
        s.taken = taken;
        s.left_out = names_left_out(&v, taken);
        return s;
}

/* The value of a key under general.sampling; of other kinds than numbers and texts: true; NULL: none. */
static json_t *sampling_value_of(const Vocabulary *v, const char *name)
{
        const CkPair *pair = checkpoint_pair(v->file, arena_printf(v->arena, "general.sampling.%s", name));
        int64_t whole;
        double x;
        CkText text;
        json_t *value = NULL; /* also of a text that is not UTF-8 */
        if (!pair)
                return NULL;
        if (!pair->list && pair->kind == CK_INTEGER && pair_integers(pair, &whole))
                return json_integer(whole);
        if (!pair->list && pair->kind == CK_REAL && pair_reals(pair, &x))
                return json_real(strtod(float_shortest(v->arena, (float)x), NULL));
        if (!pair->list && pair->kind == CK_TEXT && pair_texts(pair, &text))
                value = json_stringn(text.bytes, (size_t)text.n);
        return value ? value : json_true();
}

/* Adds settings of sampling under the keys of transformers.  Missing ones leave the choice as it is. */
static void add_sampling(const Vocabulary *v, json_t *j)
{
        static const char *const key[][2] = {{"temp", "temperature"},
                                             {"top_k", "top_k"},
                                             {"top_p", "top_p"},
                                             {"min_p", "min_p"},
                                             {"penalty_repeat", "repetition_penalty"}};
        for (int i = 0; i < 5; i++) {
                json_t *value = sampling_value_of(v, key[i][0]);
                if (value)
                        json_object_set_new(j, key[i][1], value);
                if (value && i < 4)
                        json_object_set_new(j, "do_sample", json_true());
        }
        if (!json_object_get(j, "top_k"))
                json_object_set_new(j, "top_k", json_integer(0));
}

ConfigValue gguf_generation(Import *m)
{
        static const char *const end[] = {"eos", "eot", "eom"};
        Vocabulary v = {.arena = m->arena, .file = m->tensors};
        json_t *j = json_object(), *ends = json_array();
        int64_t begin = vocabulary_token(&v, "bos");
        if (begin >= 0)
                json_object_set_new(j, "bos_token_id", json_integer(begin));
        for (int i = 0; i < 3; i++)
                if (vocabulary_token(&v, end[i]) >= 0)
                        json_array_append_new(ends, json_integer(vocabulary_token(&v, end[i])));
        json_object_set_new(j, "eos_token_id", ends);
        add_sampling(&v, j);
        ConfigValue said = {.kind = CONFIG_OBJECT, .object = NEW(m->arena, ConfigObject)};
        const char *key;
        json_t *value;
        said.object->field = NEW_ARRAY(m->arena, ConfigField, (int64_t)json_object_size(j));
        json_object_foreach (j, key, value)
                said.object->field[said.object->n++] = (ConfigField){
                        .key = intern(m->program->names, key, -1),
                        .value = config_of_json(m->arena, m->program->names, m->diag, value, (Span){0})};
        json_decref(j);
        return said;
}

ChatSource published_chat_source(Arena *a, const char *path, bool tools)
{
        const Format *format = format_of_file(path);
        CkError error = {.environment = false};
        if (!format || format->kind != FORMAT_GGUF)
                return chat_source(a, path, tools);
        Checkpoint *gguf = checkpoint_open(path, &error);
        ChatSource s = {.wrong = arena_printf(a, "%s", error.message), .env_error = error.environment};
        if (gguf)
                s = gguf_chat_source(a, gguf, tools);
        checkpoint_close(gguf);
        return s;
}
