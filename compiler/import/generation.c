/* The begin and end of a text according to the published files: the model's `loop generate`.
 *
 * Ids in generation_config.json have precedence over those of the configuration.  All tokens of eos_token_id,
 * a number or a list, end a text.  A text begins with bos_token_id or, if there is an encoder, with
 * decoder_start_token_id.  Missing ids are the family's.  Suppressed and forced tokens are those of the first
 * file that has the key.  Settings of sampling apply where do_sample is true.  Numbers of tokens, beams and n-grams are those of
 * generation_config.json, or without it of the configuration; a key that no row here names is reported. */
#include <math.h>

#include "import_private.h"

enum { MAX_IDS = 1024 };

typedef struct {
        int n;
        int64_t id[MAX_IDS];
        Span first; /* where the first one is given */
} TokenIds;

static ConfigObject *generation_config(const Import *m)
{
        const ConfigField *f = object_find(m->beside, intern(m->program->names, "generation_config", -1));
        return f ? f->value.object : NULL;
}

static const ConfigField *generation_tokens(const Import *m, const char *key, int place)
{
        const ConfigObject *const object[] = {generation_config(m), m->inner, m->root};
        return object[place] ? object_find(object[place], intern(m->program->names, key, -1)) : NULL;
}

/* The field of the first file that has the key with a value; NULL: none. */
static const ConfigField *config_first(const Import *m, const char *key)
{
        const ConfigField *f = NULL;
        for (int place = 0; place < 3 && (!f || f->value.kind == CONFIG_NONE); place++)
                f = generation_tokens(m, key, place);
        return f && f->value.kind != CONFIG_NONE ? f : NULL;
}

static bool has_id(const TokenIds *ids, int64_t id)
{
        for (int i = 0; i < ids->n; i++)
                if (ids->id[i] == id)
                        return true;
        return false;
}

/* In some files a negative id means none. */
static void add_id(Import *m, TokenIds *ids, const ConfigField *f, ConfigValue v)
{
        if (v.kind != CONFIG_NUMBER || v.number != floor(v.number) || v.number > INT32_MAX) {
                config_error(m, f->span, "%s is %s; expected token ids", f->key,
                             config_shown(m->arena, f->value));
                return;
        }
        if (v.number < 0 || has_id(ids, (int64_t)v.number))
                return;
        if (ids->n == MAX_IDS)
                config_error(m, f->span, "%s has more than %d tokens", f->key, MAX_IDS);
        else
                ids->id[ids->n++] = (int64_t)v.number;
        if (ids->n == 1)
                ids->first = f->span;
}

static void add_ids(Import *m, TokenIds *ids, const ConfigField *f)
{
        if (!f || f->value.kind == CONFIG_NONE)
                return;
        if (f->value.kind != CONFIG_LIST)
                add_id(m, ids, f, f->value);
        for (int i = 0; f->value.kind == CONFIG_LIST && i < f->value.list->n && !m->failed; i++)
                add_id(m, ids, f, f->value.list->item[i]);
}

static TokenIds first_token(Import *m)
{
        static const char *const key[] = {"decoder_start_token_id", "bos_token_id"};
        TokenIds ids = {0};
        for (int k = 0; k < 2; k++)
                for (int place = 0; place < 3 && !ids.n && !m->failed; place++)
                        add_ids(m, &ids, generation_tokens(m, key[k], place));
        if (!ids.n && m->begin >= 0)
                ids.id[ids.n++] = m->begin;
        return ids;
}

static TokenIds last_tokens(Import *m)
{
        TokenIds ids = {0};
        for (int place = 0; place < 3 && !m->failed; place++)
                add_ids(m, &ids, generation_tokens(m, "eos_token_id", place));
        for (int i = 0; i < 2; i++)
                if (m->ends[i] >= 0 && !has_id(&ids, m->ends[i]) && ids.n < MAX_IDS)
                        ids.id[ids.n++] = m->ends[i];
        return ids;
}

/* A hyperparameter of the model, as "vocab", if it is known; else INFINITY. */
static double known_size(const Import *m, const char *name)
{
        for (int i = 0; i < m->nsetting; i++)
                if (!strcmp(m->setting[i].name, name) && !m->setting[i].given &&
                    m->setting[i].value.kind == CONFIG_NUMBER)
                        return m->setting[i].value.number;
        return INFINITY;
}

static void check_start(Import *m, const TokenIds *start)
{
        double n = known_size(m, "vocab");
        if (start->n && (double)start->id[0] >= n)
                config_error(m,
                             start->first.source ? start->first
                             : m->root->n        ? m->root->field[0].span
                                                 : (Span){0},
                             "texts begin with token %lld, but the vocabulary has %.0f",
                             (long long)start->id[0], n);
}

/* Element i of a list, if it is a list itself. */
static const ConfigList *list_at(const ConfigField *f, int i)
{
        const ConfigValue *v = &f->value.list->item[i];
        return v->kind == CONFIG_LIST ? v->list : NULL;
}

/* Words of several tokens are ignored: only their first token could be suppressed. */
static bool is_one_word(const ConfigField *f, int i)
{
        const ConfigList *word = list_at(f, i);
        return word && word->n == 1;
}

static TokenIds forbidden(Import *m)
{
        TokenIds ids = {0};
        const ConfigField *words = config_first(m, "bad_words_ids");
        add_ids(m, &ids, config_first(m, "suppress_tokens"));
        for (int i = 0; words && words->value.kind == CONFIG_LIST && i < words->value.list->n; i++)
                if (is_one_word(words, i))
                        add_id(m, &ids, words, list_at(words, i)->item[0]);
        return ids;
}

/* [[1, id], [2, id], …]: tokens after the first one, by position.  False: some are unknown. */
static bool forced_places(const ConfigField *f, TokenIds *ids)
{
        if (f->value.kind != CONFIG_LIST)
                return false;
        for (int i = 0; i < f->value.list->n; i++) {
                const ConfigList *pair = list_at(f, i);
                if (!pair || pair->n != 2 || pair->item[0].kind != CONFIG_NUMBER ||
                    pair->item[0].number != i + 1 || pair->item[1].kind != CONFIG_NUMBER ||
                    pair->item[1].number != floor(pair->item[1].number) || ids->n == MAX_IDS)
                        return false;
                ids->id[ids->n++] = (int64_t)pair->item[1].number;
        }
        return true;
}

static TokenIds forced(Import *m)
{
        TokenIds ids = {0};
        const ConfigField *places = config_first(m, "forced_decoder_ids");
        if (places && !forced_places(places, &ids))
                ids.n = 0;
        if (!places)
                add_ids(m, &ids, config_first(m, "forced_bos_token_id"));
        return ids;
}

static void print_ids(Text *t, const char *before, const char *knob, const TokenIds *ids)
{
        if (!ids->n)
                return;
        text_printf(t, "%s%s %s", before, knob, ids->n > 1 ? "[" : "");
        for (int i = 0; i < ids->n; i++)
                text_printf(t, "%s%lld", !i ? "" : i % 20 ? ", " : ",\n            ", (long long)ids->id[i]);
        text_printf(t, "%s", ids->n > 1 ? "]" : "");
}

/* --- sampling --- */

/* Settings, their keys, and the values that transformers gives to missing keys (GenerationConfig, in versions 4
 * and 5); those that leave the choice as it is are not printed. */
static const struct {
        const char *setting;
        double missing, neutral;
} sampling_key[] = {{"temperature", 1, NAN},
                    {"top_k", 50, 0},
                    {"top_p", 1, 1},
                    {"min_p", 0, 0},
                    {"repetition_penalty", 1, 1}};
enum { SAMPLING_KEYS = sizeof sampling_key / sizeof *sampling_key };

/* Of generation_config.json, or without one of the configuration. */
static const ConfigField *sampling_field(const Import *m, const char *key)
{
        const ConfigField *f = generation_tokens(m, key, 0);
        for (int place = 1; place < 3 && !generation_config(m) && !f; place++)
                f = generation_tokens(m, key, place);
        return f && f->value.kind != CONFIG_NONE ? f : NULL;
}

static bool config_is_true(const ConfigField *f)
{
        return f && f->value.kind == CONFIG_BOOL && f->value.number != 0;
}

/* Whether an encoder reads the text or the sound: translations and transcriptions take the most likely token. */
static bool has_encoder(const Import *m)
{
        return config_is_true(config_first(m, "is_encoder_decoder")) ||
               config_first(m, "decoder_start_token_id");
}

static bool is_sampled(const Import *m)
{
        return !has_encoder(m) && config_is_true(sampling_field(m, "do_sample"));
}

/* A whole number of at least 0; 0: there is none. */
static int64_t whole_field(Import *m, const char *key)
{
        const ConfigField *f = sampling_field(m, key);
        const double x = f && f->value.kind == CONFIG_NUMBER ? f->value.number : f ? -1 : 0;
        if (x >= 0 && x < INT32_MAX && x == floor(x))
                return (int64_t)x;
        config_error(m, f->span, "%s is %s; expected a whole number of at least 0", key,
                     config_shown(m->arena, f->value));
        return 0;
}

/* 0: no beam search.  Beams that are drawn are left out. */
static int64_t beams_wanted(Import *m)
{
        const int64_t beams = is_sampled(m) ? 0 : whole_field(m, "num_beams");
        return beams > 1 && knob_takes(knob_find(LOOP_generate, "beams"), (double)beams) ? beams : 0;
}

/* Whether the files ask for setting i.  The penalty, which is the last, does not depend on sampling. */
static bool applies_setting(Import *m, int i)
{
        return is_sampled(m) || (i == SAMPLING_KEYS - 1 && !beams_wanted(m));
}

/* The value for setting i, within the range of the setting. */
static double sampling_value(Import *m, int i)
{
        const char *name = sampling_key[i].setting;
        const ConfigField *f = sampling_field(m, name);
        const Knob *k = knob_find(LOOP_generate, name);
        const double x = !f ? sampling_key[i].missing : f->value.number;
        const bool none = i == 1 && x == -1; /* of top_k */
        if (f && (f->value.kind != CONFIG_NUMBER || (!none && !knob_takes(k, x))))
                config_error(m, f->span, "%s%s is %s; expected %s", m->gguf ? "general.sampling: " : "", name,
                             config_shown(m->arena, f->value), knob_expects(m->arena, k));
        return none ? 0 : x;
}

/* "temperature 0.6  top_k 50"; NULL: none. */
static const char *sampling_printed(Import *m)
{
        const char *all = NULL;
        for (int i = 0; i < SAMPLING_KEYS && !m->failed; i++) {
                const double x = applies_setting(m, i) ? sampling_value(m, i) : sampling_key[i].neutral;
                if (applies_setting(m, i) && x != sampling_key[i].neutral)
                        all = arena_printf(m->arena, "%s%s%s %s", all ? all : "", all ? "  " : "",
                                           sampling_key[i].setting, shortest_number(m->arena, x));
        }
        if (all)
                m->sampling = m->gguf                ? "general.sampling of the GGUF"
                              : generation_config(m) ? "generation_config.json"
                                                     : "config.json";
        return all;
}

/* --- lengths, n-grams and beams --- */

/* Adds "NAME VALUE" to a line of settings. */
static void add_whole(Text *t, const char *setting, int64_t value)
{
        if (value > 0)
                text_printf(t, "%s%s %lld", t->n ? "  " : "", setting, (long long)value);
}

/* The number of new tokens by KEY_new_tokens, or for a text of an encoder by KEY_length, which counts the start token. */
static int64_t new_tokens(Import *m, const char *key)
{
        const int64_t made = whole_field(m, arena_printf(m->arena, "%s_new_tokens", key)),
                      length = has_encoder(m) ? whole_field(m, arena_printf(m->arena, "%s_length", key)) : 0;
        return made ? made : length > 1 ? length - 1 : 0;
}

/* Rules about the whole text, in a line; "": none. */
static const char *lengths_printed(Import *m)
{
        Text *t = text_new(m->arena);
        TokenIds last = {0};
        add_whole(t, "no_repeat_ngram_size", whole_field(m, "no_repeat_ngram_size"));
        add_whole(t, "min_new_tokens", new_tokens(m, "min"));
        add_whole(t, "max_new_tokens", new_tokens(m, "max"));
        add_ids(m, &last, sampling_field(m, "forced_eos_token_id"));
        if (last.n)
                text_printf(t, "%slast %lld", t->n ? "  " : "", (long long)last.id[0]);
        return t->n ? t->data : "";
}

/* "beams 4  length_penalty 2  early_stopping true"; "": none. */
static const char *beams_printed(Import *m)
{
        Text *t = text_new(m->arena);
        const int64_t beams = beams_wanted(m);
        const ConfigField *power = sampling_field(m, "length_penalty");
        const Knob *k = knob_find(LOOP_generate, "length_penalty");
        if (!beams)
                return "";
        add_whole(t, "beams", beams);
        if (power && (power->value.kind != CONFIG_NUMBER || !knob_takes(k, power->value.number)))
                config_error(m, power->span, "length_penalty is %s; expected %s",
                             config_shown(m->arena, power->value), knob_expects(m->arena, k));
        else if (power && power->value.number != 1)
                text_printf(t, "  length_penalty %s", shortest_number(m->arena, power->value.number));
        if (config_is_true(sampling_field(m, "early_stopping")))
                text_printf(t, "  early_stopping true");
        m->sampling = generation_config(m) ? "generation_config.json" : "config.json";
        return t->data;
}

void generation_print(Import *m, Definition *family, Text *t)
{
        const StatedLoop *own = item_loop_named(m, "generate");
        if (!family_generates(m, family) || (own && own->nsetting))
                return;
        if (m->sentence.is_there) {
                text_printf(t, "    loop generate none\n");
                return;
        }
        TokenIds start = first_token(m), stop = last_tokens(m), first = forced(m), forbid = forbidden(m),
                 forbid_first = {0};
        add_ids(m, &forbid_first, config_first(m, "begin_suppress_tokens"));
        check_start(m, &start);
        const char *const line[] = {sampling_printed(m), lengths_printed(m), beams_printed(m)};
        bool wide = m->nknob || first.n || forbid.n || forbid_first.n || line[0] || *line[1] || *line[2];
        if (!start.n && !stop.n && !wide && !own)
                return;
        text_printf(t, wide ? "    loop generate {\n       " : "    loop generate {");
        print_ids(t, " ", "start", &start);
        print_ids(t, start.n ? "  " : " ", "stop", &stop);
        print_ids(t, "\n        ", "first", &first);
        print_ids(t, "\n        ", "forbid", &forbid);
        print_ids(t, "\n        ", "forbid_first", &forbid_first);
        for (int i = 0; i < 3; i++)
                if (line[i] && *line[i])
                        text_printf(t, "\n        %s", line[i]);
        text_printf(t, wide ? "\n" : " }\n");
        for (int i = 0; i < m->nknob; i++)
                text_printf(t, "        %s\n", spec_tree_text(m->arena, m->knob[i]));
        if (wide)
                text_printf(t, "    }\n");
}

/* Whether a key has an effect: it is not none, empty or neutral. */
static bool asks(const ConfigField *f)
{
        if (!f || f->value.kind == CONFIG_NONE)
                return false;
        if (f->value.kind == CONFIG_LIST)
                return f->value.list->n > 0;
        if (f->value.kind == CONFIG_BOOL)
                return f->value.number != 0;
        return f->value.kind != CONFIG_NUMBER || (f->value.number != 0 && f->value.number != 1);
}

/* Keys of generation_config.json that are read, or have no effect on the text. */
static const char *const generation_keys[] = {
        "bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id", "suppress_tokens",
        "begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id", "do_sample", "temperature",
        "top_k", "top_p", "min_p", "repetition_penalty", "max_new_tokens", "min_new_tokens",
        "no_repeat_ngram_size",
        /* read in some cases, which generation_not_done() examines */
        "bad_words_ids", "forced_decoder_ids", "max_length", "min_length", "num_beams", "length_penalty",
        "early_stopping", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h",
        /* of time, memory, returned values and drafts: they do not change the text */
        "use_cache", "cache_implementation", "cache_config", "max_cache_len", "return_legacy_cache",
        "low_memory", "prefill_chunk_size", "compile_config", "disable_compile", "continuous_batching_config",
        "return_dict_in_generate", "output_attentions", "output_hidden_states", "output_scores",
        "output_logits", "num_return_sequences", "is_assistant", "num_assistant_tokens",
        "num_assistant_tokens_schedule", "assistant_confidence_threshold", "assistant_early_exit",
        "assistant_lookbehind", "target_lookbehind", "assistant_ensemble_weight", "prompt_lookup_num_tokens",
        "max_matching_ngram_size", "speculation_type", "use_mtp", "remove_invalid_values",
        "transformers_version", "_from_model_config", "_name_or_path"};

static bool is_generation_key(const char *key)
{
        for (size_t i = 0; i < sizeof generation_keys / sizeof *generation_keys; i++)
                if (!strcmp(generation_keys[i], key))
                        return true;
        return false;
}

/* Adds keys that are supported, but not with their value here or beside these other keys. */
static void add_not_done_in_part(Import *m, Paths *found)
{
        static const char *const drawn[] = {"typical_p", "epsilon_cutoff", "eta_cutoff", "top_h"};
        const ConfigField *words = config_first(m, "bad_words_ids"),
                          *places = config_first(m, "forced_decoder_ids"),
                          *early = sampling_field(m, "early_stopping");
        const bool sampled = config_is_true(sampling_field(m, "do_sample"));
        TokenIds ids = {0};
        if (places && !forced_places(places, &ids))
                paths_add(m->arena, found, "forced_decoder_ids");
        for (int i = 0; words && words->value.kind == CONFIG_LIST && i < words->value.list->n; i++)
                if (!is_one_word(words, i) && !paths_have(found, "bad_words_ids"))
                        paths_add(m->arena, found, "bad_words_ids");
        if (asks(sampling_field(m, "num_beams")) && !beams_wanted(m))
                paths_add(m->arena, found, "num_beams");
        if (beams_wanted(m) && early && early->value.kind != CONFIG_BOOL)
                paths_add(m->arena, found, "early_stopping");
        for (int i = 0; i < SAMPLING_KEYS; i++) /* without do_sample only the penalty has an effect */
                if (!applies_setting(m, i) && (sampled || i == SAMPLING_KEYS - 1) &&
                    asks(sampling_field(m, sampling_key[i].setting)))
                        paths_add(m->arena, found, sampling_key[i].setting);
        for (size_t i = 0; i < sizeof drawn / sizeof *drawn && sampled; i++)
                if (asks(sampling_field(m, drawn[i])))
                        paths_add(m->arena, found, drawn[i]);
        if (!has_encoder(m) && asks(sampling_field(m, "min_length")))
                paths_add(m->arena, found, "min_length");
        if (!has_encoder(m) && (double)whole_field(m, "max_length") < known_size(m, "context") &&
            asks(sampling_field(m, "max_length")))
                paths_add(m->arena, found, "max_length");
}

Paths generation_not_done(Import *m, Definition *family)
{
        const ConfigObject *all = generation_config(m);
        Paths found = {0};
        if (!family_generates(m, family))
                return found;
        add_not_done_in_part(m, &found);
        for (int i = 0; all && i < all->n; i++)
                if (!is_generation_key(all->field[i].key) && asks(&all->field[i]))
                        paths_add(m->arena, &found, all->field[i].key);
        return found;
}
