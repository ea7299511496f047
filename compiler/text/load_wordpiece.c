/* A vocab.txt of WordPiece: a token per line.  With tokenizer_config.json beside it, it is converted to an
 * equivalent tokenizer.json. */
#include "reader_private.h"

/* Tokens of lines to their numbers; NULL: one is not UTF-8, in *line. */
static json_t *numbers_of_lines(const char *text, int64_t size, int64_t *line)
{
        json_t *vocab = json_object();
        *line = 0;
        for (const char *at = text, *end = text + size; at < end; ++*line) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                stop = stop ? stop : end;
                size_t n = (size_t)(stop - at) - (stop > at && stop[-1] == '\r');
                json_t *key = json_stringn(at, n), *number = json_integer(*line);
                bool good = key && strlen(json_string_value(key)) == n &&
                            !json_object_set(vocab, json_string_value(key), number);
                json_decref(key);
                json_decref(number);
                if (!good) {
                        json_decref(vocab);
                        return NULL;
                }
                at = stop + 1;
        }
        return vocab;
}

/* A special token of the configuration, which may be an object with its content. */
static const char *special_name(const json_t *config, const char *key, const char *otherwise)
{
        const json_t *value = json_object_get(config, key);
        const char *name =
                json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
        return name ? name : otherwise;
}

static json_t *added_of(const json_t *config, const json_t *vocab)
{
        static const char *const special[][2] = {{"unk_token", "[UNK]"},
                                                 {"sep_token", "[SEP]"},
                                                 {"pad_token", "[PAD]"},
                                                 {"cls_token", "[CLS]"},
                                                 {"mask_token", "[MASK]"}};
        json_t *added = json_array(), *row;
        const char *number;
        for (int i = 0; i < 5; i++) {
                const char *name = special_name(config, special[i][0], special[i][1]);
                json_t *id = json_object_get(vocab, name);
                if (id)
                        json_array_append_new(
                                added, json_pack("{s:O,s:s,s:b}", "id", id, "content", name, "special", 1));
        }
        json_object_foreach (json_object_get(config, "added_tokens_decoder"), number, row) {
                json_t *copy = json_copy(row);
                json_object_set_new(copy, "id", json_integer(strtol(number, NULL, 10)));
                json_array_append_new(added, copy);
        }
        return added;
}

static json_t *wordpiece_pipeline(const json_t *config, const json_t *vocab)
{
        const char *begin = special_name(config, "cls_token", "[CLS]"),
                   *end = special_name(config, "sep_token", "[SEP]");
        json_t *first = json_object_get(vocab, begin), *last = json_object_get(vocab, end);
        if (!first || !last)
                return json_null();
        return json_pack("{s:s,s:[s,O],s:[s,O]}", "type", "BertProcessing", "cls", begin, first, "sep", end,
                         last);
}

static json_t *wordpiece_flag(const json_t *config, const char *key, json_t *otherwise)
{
        json_t *value = json_object_get(config, key);
        return value ? json_incref(value) : otherwise;
}

static json_t *wordpiece_normaliser(const json_t *config, json_t *vocab)
{
        json_t *normalizer = json_pack("{s:s,s:b,s:o,s:o,s:o}", "type", "BertNormalizer", "clean_text", 1,
                                       "handle_chinese_chars",
                                       wordpiece_flag(config, "tokenize_chinese_chars", json_true()),
                                       "strip_accents", wordpiece_flag(config, "strip_accents", json_null()),
                                       "lowercase", wordpiece_flag(config, "do_lower_case", json_true()));
        json_t *model =
                json_pack("{s:s,s:O,s:s,s:s}", "type", "WordPiece", "vocab", vocab, "unk_token",
                          special_name(config, "unk_token", "[UNK]"), "continuing_subword_prefix", "##");
        return json_pack("{s:o,s:o,s:{s:s},s:o,s:o,s:{s:s}}", "added_tokens", added_of(config, vocab),
                         "normalizer", normalizer, "pre_tokenizer", "type", "BertPreTokenizer", "model",
                         model, "post_processor", wordpiece_pipeline(config, vocab), "decoder", "type",
                         "WordPiece");
}

static const char *why_not_words(Arena *a, const char *path, const json_t *config)
{
        static const char *const known[] = {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer",
                                            "MobileBertTokenizer"};
        const char *name = json_string_value(json_object_get(config, "tokenizer_class"));
        for (int i = 0; name && i < 4; i++) {
                size_t n = strlen(known[i]);
                if (!strncmp(name, known[i], n) && (!name[n] || !strcmp(name + n, "Fast")))
                        return NULL;
        }
        return !name ? NULL
                     : arena_printf(a,
                                    "%s: tokenizer_class in tokenizer_config.json: %s: with vocab.txt lathe "
                                    "supports only BertTokenizer, "
                                    "DistilBertTokenizer, ElectraTokenizer and MobileBertTokenizer; "
                                    "save_pretrained() of the fast "
                                    "tokenizer writes a tokenizer.json",
                                    path, name);
}

const char *load_wordpiece(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        int64_t size, line = 0;
        const char *wrong;
        char *text = file_text(a, path, &size, &wrong, env_error);
        json_t *config = text ? config_beside(a, path, &wrong) : NULL;
        wrong = wrong ? wrong : why_not_words(a, path, config);
        json_begin();
        json_t *vocab = wrong ? NULL : numbers_of_lines(text, size, &line);
        if (!wrong && !vocab)
                wrong = json_out_of_memory() ? no_memory
                                             : arena_printf(a, "%s:%lld: this token is not UTF-8", path,
                                                            (long long)line + 1);
        json_t *root = vocab ? wordpiece_normaliser(config, vocab) : NULL;
        if (!wrong)
                wrong = root && !json_out_of_memory() ? block_of_json(a, path, root, out) : no_memory;
        json_decref(root);
        json_decref(vocab);
        json_decref(config);
        return wrong;
}
