/* Finds and loads a tokenizer: a file, or a directory with one. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "reader_private.h"

enum { MAX_FILE = 64 << 20 };

/* A file's bytes, in the arena, terminated by 0; NULL with *why. */
char *file_text(Arena *a, const char *path, int64_t *size, const char **why, bool *env_error)
{
        const char *not_opened;
        FILE *file = input_open(path, &not_opened);
        struct stat about;
        char *text = NULL;
        if (file)
                input_read(path);
        *why = NULL;
        *env_error = false;
        if (!file || fstat(fileno(file), &about)) {
                *why = arena_printf(a, "%s: cannot open: %s", path, file ? strerror(errno) : not_opened);
                *env_error = true;
        } else if (about.st_size > MAX_FILE) {
                *why = arena_printf(a, "%s: %lld bytes; lathe reads tokenizers of up to %d", path,
                                    (long long)about.st_size, MAX_FILE);
        } else {
                text = arena_alloc(a, MAX_FILE < about.st_size ? 0 : about.st_size + 1);
                *size = (int64_t)fread(text, 1, (size_t)about.st_size, file);
                if (ferror(file)) {
                        *why = arena_printf(a, "%s: cannot read: %s", path, strerror(errno));
                        *env_error = true;
                        text = NULL;
                }
        }
        if (file)
                fclose(file);
        int64_t mark = text ? text_mark(text, *size) : 0;
        *size -= mark;
        return text ? text + mark : NULL;
}

bool file_is_there(const char *path)
{
        struct stat about;
        return !stat(path, &about);
}

static json_t *parse_tokenizer_json(Arena *a, const char *path, const char *text, int64_t size,
                                    const char **why)
{
        json_error_t error;
        const Format *format = format_of((const unsigned char *)text, size);
        if (format && format->advice) {
                *why = arena_printf(a, "%s: this is %s: %s", path, format->name, format->advice);
                return NULL;
        }
        json_begin();
        json_t *root = json_parse(text, (size_t)size, JSON_ALLOW_NUL, &error);
        if (json_out_of_memory())
                *why = no_memory;
        else if (!root)
                *why = arena_printf(a, "%s:%d: byte %d: not valid JSON: %s", path, error.line, error.position,
                                    error.text);
        return root;
}

const char *block_of_json(Arena *a, const char *path, const json_t *root, TokenBlock *out)
{
        TokenizerForm *f = form_new(a, path);
        const char *wrong = is_tekken(root) ? form_of_tekken(f, root) : form_of_json(f, root);
        return wrong ? wrong : form_tables(f, out);
}

/* Whether the neighbouring file of sentence-transformers (sentence_bert_config.json, or another family's)
 * requests lower case. */
static bool asks_for_lower_case(Arena *a, const char *path)
{
        const char *folder = folder_of(a, path),
                   *name = name_in_folder(a, folder, "sentence_", "_config.json");
        if (!name)
                return false;
        const char *config = arena_printf(a, "%s%s", folder, name);
        json_error_t error;
        input_read(config);
        json_t *root = json_load_file(config, 0, &error);
        const bool asks = json_is_true(json_object_get(root, "do_lower_case"));
        json_decref(root);
        return asks;
}

static bool is_lowercase(const json_t *normaliser)
{
        const char *type = json_string_value(json_object_get(normaliser, "type"));
        return type && !strcmp(type, "Lowercase");
}

/* As sentence-transformers: puts a normaliser Lowercase before the others, unless there is one. */
static void add_lower_case(json_t *root)
{
        json_t *old = json_object_get(root, "normalizer"), *list = json_object_get(old, "normalizers"), *part;
        bool there = is_lowercase(old);
        size_t i;
        json_array_foreach (list, i, part)
                there |= is_lowercase(part);
        json_t *all = there ? NULL : json_pack("[{s:s}]", "type", "Lowercase");
        if (!all)
                return;
        if (json_is_array(list))
                json_array_extend(all, list);
        else if (!is_none(old))
                json_array_append(all, old);
        json_object_set_new(root, "normalizer",
                            json_pack("{s:s,s:o}", "type", "Sequence", "normalizers", all));
}

static const char *parse_tokenizer(Arena *a, const char *path, const char *text, int64_t size,
                                   TokenBlock *out)
{
        const char *wrong = NULL;
        json_t *root = parse_tokenizer_json(a, path, text, size, &wrong);
        if (json_is_object(root) && asks_for_lower_case(a, path))
                add_lower_case(root);
        if (root)
                wrong = block_of_json(a, path, root, out);
        json_decref(root);
        return wrong;
}

static const char *load_json_file(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        int64_t size;
        const char *wrong;
        char *text = file_text(a, path, &size, &wrong, env_error);
        return text ? parse_tokenizer(a, path, text, size, out) : wrong;
}

json_t *config_beside(Arena *a, const char *path, const char **why)
{
        int64_t size;
        bool env_error;
        const char *config = arena_printf(a, "%stokenizer_config.json", folder_of(a, path));
        char *text = file_is_there(config) ? file_text(a, config, &size, why, &env_error) : NULL;
        return text ? parse_tokenizer_json(a, config, text, size, why) : NULL;
}

json_t *json_file(Arena *a, const char *path, const char **why, bool *env_error)
{
        int64_t size;
        char *text = file_text(a, path, &size, why, env_error);
        return text ? parse_tokenizer_json(a, path, text, size, why) : NULL;
}

/* --- choice of the format -------------------------------------------------------------------------------------------- */

static const char *load_tokenizer_file(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        const Format *format = format_of_file(path);
        if (format && format->kind == FORMAT_SENTENCEPIECE)
                return load_sentencepiece(a, path, out, env_error);
        if (text_ends_with(path, ".tiktoken"))
                return load_tiktoken(a, path, out, env_error);
        if (text_ends_with(path, ".txt"))
                return load_wordpiece(a, path, out, env_error);
        if (format ? format->kind == FORMAT_LLAMA2C_TOKENIZER : text_ends_with(path, ".bin"))
                return load_llama2c(a, path, out, env_error);
        if (!format || format->kind != FORMAT_OTHER || format->advice)
                return load_json_file(a, path, out, env_error);
        return arena_printf(a,
                            "%s: this is %s; expected a tokenizer.json, a tokenizer.model of "
                            "SentencePiece, a NAME.tiktoken, a vocab.txt, llama2.c's tokenizer.bin, a GGUF, "
                            "or a directory with one of them",
                            path, format->name);
}

/* In order of precedence. */
static const char *const file_table[] = {"tokenizer.json",          "tokenizer.model", "spiece.model",
                                         "sentencepiece.bpe.model", "vocab.txt",       "tekken.json"};
enum { FILES = sizeof file_table / sizeof file_table[0] };

static const char *in_directory(Arena *a, const char *folder, TokenBlock *out, bool *env_error)
{
        const char *vocab = arena_printf(a, "%s/vocab.json", folder),
                   *merges = arena_printf(a, "%s/merges.txt", folder);
        for (int i = 0; i < FILES; i++) {
                const char *path = arena_printf(a, "%s/%s", folder, file_table[i]);
                if (file_is_there(path))
                        return load_tokenizer_file(a, path, out, env_error);
                if (i == 0 && file_is_there(vocab) && file_is_there(merges))
                        return load_merges(a, folder, out, env_error);
        }
        return arena_printf(a,
                            "%s: a directory without tokenizer.json, vocab.json and merges.txt, "
                            "tokenizer.model, spiece.model, "
                            "vocab.txt and tekken.json",
                            folder);
}

bool tokenizer_is_in(Arena *a, const char *folder)
{
        bool found = file_is_there(arena_printf(a, "%s/vocab.json", folder));
        for (int i = 0; i < FILES; i++)
                found |= file_is_there(arena_printf(a, "%s/%s", folder, file_table[i]));
        return found;
}

const char *tokenizer_load(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        struct stat about;
        *env_error = false;
        if (stat(path, &about)) {
                *env_error = true;
                return arena_printf(a, "%s: cannot open: %s", path, strerror(errno));
        }
        return S_ISDIR(about.st_mode) ? in_directory(a, path, out, env_error)
                                      : load_tokenizer_file(a, path, out, env_error);
}

bool regex_load(Arena *a, const char *regex, RegexProbe *out, const char **why)
{
        RegexTree *tree = regex_parse(a, (Bytes){regex, (int64_t)strlen(regex)}, why);
        RegexTable *table = tree ? regex_table(a, tree, why) : NULL;
        *out = (RegexProbe){.regex = table ? &table->head : NULL};
        if (!table)
                return false;
        out->tables.section[TOKENS_ROWS] = (const unsigned char *)table->row;
        out->tables.section[TOKENS_STAGE] = (const unsigned char *)table->stage;
        out->tables.section[TOKENS_CLASS] = table->page;
        return true;
}

int64_t regex_pieces(const RegexProbe *probe, const char *text, int64_t n, int64_t *end, int64_t most)
{
        const unsigned char *begin = (const unsigned char *)text, *p = begin, *stop = p + n, *done = p;
        int64_t pieces = 0;
        while (p < stop && pieces + 2 <= most) {
                uint32_t code;
                const unsigned char *after = token_match(&probe->tables, probe->regex, 0, p, stop);
                if (!after) {
                        p += token_character(p, stop, &code);
                        continue;
                }
                if (done < p)
                        end[pieces++] = p - begin;
                end[pieces++] = after - begin;
                done = p = after;
        }
        if (done < stop && pieces < most)
                end[pieces++] = n;
        return pieces;
}
