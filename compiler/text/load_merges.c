/* vocab.json and merges.txt: byte-level BPE.  tokenizer_config.json, special_tokens_map.json and
 * added_tokens.json beside them give the class of the tokenizer and the added tokens.  Together they are
 * converted to an equivalent tokenizer.json.
 *
 * models/lib/merges.json has a pipeline for each group of classes: `classes`, and `models`, the model_type of
 * a config.json, used if no class is named; `normalizer` and `split` as in tokenizer.json; `begin` and `end`,
 * keys of the special tokens around a text; `ending`, its end_of_word_suffix; `special`, the default special
 * tokens. */
#include <stdlib.h>

#include "reader_private.h"

enum { SPECIAL = 7 };
static const char *const special_key[SPECIAL] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                 "pad_token", "cls_token", "mask_token"};

/* A file of the folder, as JSON; NULL: it does not exist. */
typedef struct {
        Arena *arena;
        const char *folder;
        json_t *vocab, *merges, *config, *map, *added, *model;
        json_t *pipelines;      /* of merges.json */
        const json_t *pipeline; /* one of them */
        json_t *rows;           /* added_tokens */
} Folder;

/* --- choice of the pipeline --------------------------------------------------------------------------------------------- */

static bool is_class(const char *name, const char *class)
{
        const size_t n = strlen(class);
        return !strncmp(name, class, n) && (!name[n] || !strcmp(name + n, "Fast"));
}

static bool lists_class(const json_t *pipeline, const char *class, const char *model)
{
        const json_t *names = json_object_get(pipeline, class ? "classes" : "models");
        for (size_t i = 0; i < json_array_size(names); i++) {
                const char *name = json_string_value(json_array_get(names, i));
                if (class ? is_class(class, name) : !strcmp(model, name))
                        return true;
        }
        return false;
}

/* NULL: unknown class.  Without a class: the first pipeline. */
static const json_t *merges_pipeline(const json_t *pipelines, const char *class, const char *model)
{
        for (size_t i = 0; (class || model) && i < json_array_size(pipelines); i++)
                if (lists_class(json_array_get(pipelines, i), class, model))
                        return json_array_get(pipelines, i);
        return class ? NULL : json_array_get(pipelines, 0);
}

static const char *refuse_class(const Folder *f, const char *name)
{
        Text *known = text_new(f->arena);
        for (size_t i = 0; i < json_array_size(f->pipelines); i++) {
                const json_t *classes = json_object_get(json_array_get(f->pipelines, i), "classes");
                for (size_t k = 0; k < json_array_size(classes); k++)
                        text_printf(known, "%s%s", known->n ? ", " : "",
                                    json_string_value(json_array_get(classes, k)));
        }
        return arena_printf(
                f->arena,
                "%s/tokenizer_config.json: tokenizer_class: %s: with vocab.json and merges.txt lathe "
                "supports only %s; save_pretrained() of the fast tokenizer writes a tokenizer.json",
                f->folder, name, known->data);
}

/* --- added tokens ------------------------------------------------------------------------------------------------------- */

/* A special token is a text, or an object with its text as content. */
static const json_t *special_of(const Folder *f, int i)
{
        const json_t *named = json_object_get(f->map, special_key[i]);
        return named ? named : json_object_get(f->config, special_key[i]);
}

static const char *text_of_special(const json_t *token)
{
        return json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
}

/* Its text; NULL: none. */
static const char *special_text(const Folder *f, const char *key)
{
        for (int i = 0; i < SPECIAL; i++)
                if (!strcmp(key, special_key[i])) {
                        const json_t *token = special_of(f, i);
                        return token ? text_of_special(token)
                                     : json_string_value(
                                               json_object_get(json_object_get(f->pipeline, "special"), key));
                }
        return NULL;
}

static bool merges_is_row(const Folder *f, const char *text)
{
        for (size_t i = 0; i < json_array_size(f->rows); i++) {
                const char *have = json_string_value(json_object_get(json_array_get(f->rows, i), "content"));
                if (have && !strcmp(have, text))
                        return true;
        }
        return false;
}

/* A token with a number in a file; how: an object with further properties, or NULL. */
static void merges_added_token(const Folder *f, const char *text, const json_t *how, bool special)
{
        json_t *id = json_object_get(f->vocab, text);
        id = id ? id : json_object_get(f->added, text);
        if (!id || merges_is_row(f, text))
                return;
        json_t *row = json_is_object(how) ? json_copy((json_t *)how) : json_object();
        json_object_set(row, "id", id);
        json_object_set_new(row, "content", json_string(text));
        json_object_set_new(row, "special", json_boolean(special));
        json_object_set_new(row, "normalized", json_boolean(!special));
        json_array_append_new(f->rows, row);
}

static void merges_added_tokens(Folder *f)
{
        static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};
        const char *number, *text;
        json_t *row;
        json_object_foreach (json_object_get(f->config, "added_tokens_decoder"), number, row) {
                json_t *copy = json_copy(row);
                json_object_set_new(copy, "id", json_integer(strtol(number, NULL, 10)));
                json_array_append_new(f->rows, copy);
        }
        for (int i = 0; i < SPECIAL; i++) {
                text = special_text(f, special_key[i]);
                if (text)
                        merges_added_token(f, text, special_of(f, i), true);
        }
        for (int i = 0; i < 2; i++) {
                const json_t *list = json_object_get(f->map, lists[i]);
                list = list ? list : json_object_get(f->config, lists[i]);
                for (size_t k = 0; k < json_array_size(list); k++) {
                        text = text_of_special(json_array_get(list, k));
                        if (text)
                                merges_added_token(f, text, json_array_get(list, k), true);
                }
        }
        json_object_foreach (f->added, text, row)
                merges_added_token(f, text, NULL, false);
}

/* --- the pipeline ------------------------------------------------------------------------------------------------------- */

/* A special token before or after a text, in a template. */
static void put_special(const Folder *f, const char *key, bool put, json_t *single, json_t *ids)
{
        const char *text = put && key ? special_text(f, key) : NULL;
        json_t *id = text ? json_object_get(f->vocab, text) : NULL;
        for (size_t i = 0; text && !id && i < json_array_size(f->rows); i++) {
                const json_t *row = json_array_get(f->rows, i);
                if (!strcmp(text, json_string_value(json_object_get(row, "content"))))
                        id = json_object_get(row, "id");
        }
        if (!id)
                return;
        json_array_append_new(single, json_pack("{s:{s:s}}", "SpecialToken", "id", text));
        json_object_set_new(ids, text, json_pack("{s:[O]}", "ids", id));
}

static json_t *merges_pipeline_of(const Folder *f)
{
        const char *begin = json_string_value(json_object_get(f->pipeline, "begin")),
                   *end = json_string_value(json_object_get(f->pipeline, "end"));
        json_t *single = json_array(), *ids = json_object();
        put_special(f, begin ? begin : "bos_token",
                    begin || json_is_true(json_object_get(f->config, "add_bos_token")), single, ids);
        json_array_append_new(single, json_pack("{s:{s:s}}", "Sequence", "id", "A"));
        put_special(f, end ? end : "eos_token",
                    end || json_is_true(json_object_get(f->config, "add_eos_token")), single, ids);
        return json_pack("{s:s,s:o,s:o}", "type", "TemplateProcessing", "single", single, "special_tokens",
                         ids);
}

static json_t *root_of(Folder *f)
{
        const char *ending = json_string_value(json_object_get(f->pipeline, "ending"));
        const bool spaced = json_is_true(json_object_get(f->config, "add_prefix_space"));
        json_t *split = json_object_get(f->pipeline, "split"), *bytes, *before = json_array();
        const bool regex = !split || ending; /* ByteLevel's regex */
        if (split)
                json_array_append(before, split);
        bytes = json_pack("{s:s,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", spaced, "use_regex",
                          regex);
        json_array_append_new(before, bytes);
        json_t *model = json_pack("{s:s,s:O,s:O}", "type", "BPE", "vocab", f->vocab, "merges", f->merges);
        if (ending) {
                json_object_set_new(model, "end_of_word_suffix", json_string(ending));
                const char *unknown = special_text(f, "unk_token");
                if (unknown && json_object_get(f->vocab, unknown))
                        json_object_set_new(model, "unk_token", json_string(unknown));
        }
        json_t *normalizer = json_object_get(f->pipeline, "normalizer");
        return json_pack("{s:O,s:o,s:{s:s,s:o},s:o,s:o,s:{s:s}}", "added_tokens", f->rows, "normalizer",
                         normalizer ? json_incref(normalizer) : json_null(), "pre_tokenizer", "type",
                         "Sequence", "pretokenizers", before, "model", model, "post_processor",
                         merges_pipeline_of(f), "decoder", "type", "ByteLevel");
}

/* --- the files ---------------------------------------------------------------------------------------------------------- */

/* Lines of merges as a JSON list; the first line may be a version. */
static json_t *merges_of(const char *text)
{
        json_t *merges = json_array();
        for (const char *line = text; *line;) {
                size_t n = strcspn(line, "\n"), used = n && line[n - 1] == '\r' ? n - 1 : n;
                bool comment = line == text && !strncmp(line, "#version", 8);
                if (used && !comment)
                        json_array_append_new(merges, json_stringn(line, used));
                line += n + (line[n] != 0);
        }
        return merges;
}

/* Reads all files of the folder; returns a message, or NULL. */
static const char *read_folder(Folder *f, bool *env_error)
{
        const char *wrong = NULL;
        struct {
                const char *name;
                json_t **to;
        } file[] = {{"tokenizer_config.json", &f->config},
                    {"special_tokens_map.json", &f->map},
                    {"added_tokens.json", &f->added},
                    {"config.json", &f->model}};
        const char *merges = arena_printf(f->arena, "%s/merges.txt", f->folder);
        int64_t size;
        char *lines = file_text(f->arena, merges, &size, &wrong, env_error);
        f->vocab = wrong ? NULL
                         : json_file(f->arena, arena_printf(f->arena, "%s/vocab.json", f->folder), &wrong,
                                     env_error);
        for (int i = 0; i < 4 && !wrong; i++) {
                const char *path = arena_printf(f->arena, "%s/%s", f->folder, file[i].name);
                if (file_is_there(path))
                        *file[i].to = json_file(f->arena, path, &wrong, env_error);
        }
        if (!wrong && !json_is_object(f->vocab))
                wrong = arena_printf(f->arena,
                                     "%s/vocab.json: expected an object that maps tokens to their ids",
                                     f->folder);
        f->merges = wrong ? NULL : merges_of(lines);
        return wrong;
}

const char *load_merges(Arena *a, const char *folder, TokenBlock *out, bool *env_error)
{
        Folder f = {.arena = a, .folder = folder};
        const char *wrong = read_folder(&f, env_error);
        const char *class = json_string_value(json_object_get(f.config, "tokenizer_class"));
        const char *text = embedded_text("merges.json");
        json_error_t error;
        f.pipelines = json_parse(text, strlen(text), 0, &error);
        f.pipeline = merges_pipeline(f.pipelines, class,
                                     json_string_value(json_object_get(f.model, "model_type")));
        if (!wrong && !f.pipelines)
                wrong = no_memory;
        else if (!wrong && !f.pipeline)
                wrong = refuse_class(&f, class);
        f.rows = json_array();
        json_t *root = NULL;
        if (!wrong) {
                merges_added_tokens(&f);
                root = root_of(&f);
                wrong = root && !json_out_of_memory() ? block_of_json(a, folder, root, out) : no_memory;
        }
        json_t *all[] = {root, f.rows, f.vocab, f.merges, f.config, f.map, f.added, f.model, f.pipelines};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
                json_decref(all[i]);
        return wrong;
}
