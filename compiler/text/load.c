/* Where a tokenizer comes from: a file, or a directory that has one of them. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "reader_private.h"

enum { MAX_FILE = 64 << 20 };

/* A file's bytes, in the arena, with a 0 behind them; NULL with *why. */
char *file_text(Arena *a, const char *path, int64_t *size, const char **why, bool *lacking)
{
        FILE *file = fopen(path, "rb");
        struct stat about;
        char *text = NULL;
        if (file)
                input_read(path);
        *why = NULL;
        *lacking = false;
        if (!file || fstat(fileno(file), &about)) {
                *why = arena_printf(a, "%s: cannot open: %s", path, strerror(errno));
                *lacking = true;
        } else if (about.st_size > MAX_FILE) {
                *why = arena_printf(a, "%s: %lld bytes; a tokenizer is read up to %d", path,
                                    (long long)about.st_size, MAX_FILE);
        } else {
                text = arena_alloc(a, MAX_FILE < about.st_size ? 0 : about.st_size + 1);
                *size = (int64_t)fread(text, 1, (size_t)about.st_size, file);
                if (ferror(file)) {
                        *why = arena_printf(a, "%s: cannot read: %s", path, strerror(errno));
                        *lacking = true;
                        text = NULL;
                }
        }
        if (file)
                fclose(file);
        return text;
}

static bool is_there(const char *path)
{
        struct stat about;
        return !stat(path, &about);
}

static json_t *parse(Arena *a, const char *path, const char *text, int64_t size, const char **why)
{
        json_error_t error;
        const Format *format = format_of((const unsigned char *)text, size);
        if (format && format->advice) {
                *why = arena_printf(a, "%s: this is %s: %s", path, format->name, format->advice);
                return NULL;
        }
        json_begin();
        json_t *root = json_parse(text, (size_t)size, JSON_ALLOW_NUL, &error);
        if (json_starved())
                *why = no_memory;
        else if (!root)
                *why = arena_printf(a, "%s:%d: byte %d: no JSON: %s", path, error.line, error.position,
                                    error.text);
        return root;
}

const char *block_of_json(Arena *a, const char *path, const json_t *root, TokenBlock *out)
{
        Form *f = form_new(a, path);
        const char *wrong = is_tekken(root) ? form_of_tekken(f, root) : form_of_json(f, root);
        return wrong ? wrong : form_tables(f, out);
}

static const char *parse_tokenizer(Arena *a, const char *path, const char *text, int64_t size,
                                   TokenBlock *out)
{
        const char *wrong = NULL;
        json_t *root = parse(a, path, text, size, &wrong);
        if (root)
                wrong = block_of_json(a, path, root, out);
        json_decref(root);
        return wrong;
}

static const char *load_json_file(Arena *a, const char *path, TokenBlock *out, bool *lacking)
{
        int64_t size;
        const char *wrong;
        char *text = file_text(a, path, &size, &wrong, lacking);
        return text ? parse_tokenizer(a, path, text, size, out) : wrong;
}

json_t *config_beside(Arena *a, const char *path, const char **why)
{
        int64_t size;
        bool lacking;
        const char *config = arena_printf(a, "%stokenizer_config.json", folder_of(a, path));
        char *text = is_there(config) ? file_text(a, config, &size, why, &lacking) : NULL;
        return text ? parse(a, config, text, size, why) : NULL;
}

/* --- vocab.json and merges.txt: bytes, and merges of them ------------------------------------------------------------------ */

/* Lines of merges as a list of JSON; the first may say which version they are of. */
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

static json_t *byte_level_pipeline(json_t *vocab, json_t *merges)
{
        static const char end[] = "<|endoftext|>";
        json_t *added = json_array(), *number = json_object_get(vocab, end);
        if (number)
                json_array_append_new(added,
                                      json_pack("{s:O,s:s,s:b}", "id", number, "content", end, "special", 1));
        return json_pack("{s:o,s:{s:s,s:b},s:{s:s,s:O,s:O},s:{s:s}}", "added_tokens", added, "pre_tokenizer",
                         "type", "ByteLevel", "add_prefix_space", 0, "model", "type", "BPE", "vocab", vocab,
                         "merges", merges, "decoder", "type", "ByteLevel");
}

/* Beside these two files tokenizer_config.json may name another pipeline. */
static const char *why_not_byte_level(Arena *a, const char *vocab_path)
{
        const char *why = NULL;
        json_t *root = config_beside(a, vocab_path, &why);
        const char *name = json_string_value(json_object_get(root, "tokenizer_class"));
        if (name && strncmp(name, "GPT2Tokenizer", 13) != 0)
                why = arena_printf(
                        a,
                        "%stokenizer_config.json: tokenizer_class: %s: of vocab.json and merges.txt lathe "
                        "knows "
                        "GPT2Tokenizer; save_pretrained() of the fast tokenizer writes a tokenizer.json",
                        folder_of(a, vocab_path), name);
        json_decref(root);
        return why;
}

static const char *load_gpt2(Arena *a, const char *folder, const char *vocab_path, TokenBlock *out,
                             bool *lacking)
{
        int64_t size, merges_size;
        const char *wrong = why_not_byte_level(a, vocab_path),
                   *merges_path = arena_printf(a, "%s/merges.txt", folder);
        char *text = wrong ? NULL : file_text(a, vocab_path, &size, &wrong, lacking);
        char *lines = text ? file_text(a, merges_path, &merges_size, &wrong, lacking) : NULL;
        json_t *vocab = lines ? parse(a, vocab_path, text, size, &wrong) : NULL;
        if (!vocab)
                return wrong;
        json_t *merges = merges_of(lines),
               *root = merges && json_is_object(vocab) ? byte_level_pipeline(vocab, merges) : NULL;
        wrong = json_starved() ? no_memory
                : root         ? block_of_json(a, folder, root, out)
                       : arena_printf(a, "%s: an object from tokens to their numbers is wanted", vocab_path);
        json_decref(root);
        json_decref(merges);
        json_decref(vocab);
        return wrong;
}

/* --- which ----------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end)
{
        size_t n = strlen(path), length = strlen(end);
        return n >= length && !strcmp(path + n - length, end);
}

static const char *load_file(Arena *a, const char *path, TokenBlock *out, bool *lacking)
{
        const Format *format = format_of_file(path);
        if (format && format->kind == FORMAT_SENTENCEPIECE)
                return load_sentencepiece(a, path, out, lacking);
        if (ends_with(path, ".tiktoken"))
                return load_tiktoken(a, path, out, lacking);
        if (ends_with(path, ".txt"))
                return load_wordpiece(a, path, out, lacking);
        if (format ? format->kind == FORMAT_LLAMA2C_TOKENIZER : ends_with(path, ".bin"))
                return load_llama2c(a, path, out, lacking);
        if (!format || format->kind != FORMAT_OTHER || format->advice)
                return load_json_file(a, path, out, lacking);
        return arena_printf(a,
                            "%s: this is %s; a tokenizer is a tokenizer.json, a tokenizer.model of "
                            "SentencePiece, a NAME.tiktoken, a vocab.txt, llama2.c's tokenizer.bin, a GGUF, "
                            "or a directory with one of them",
                            path, format->name);
}

/* Of several the first goes before the others. */
static const char *const file_table[] = {"tokenizer.json",          "tokenizer.model", "spiece.model",
                                         "sentencepiece.bpe.model", "vocab.txt",       "tekken.json"};
enum { FILES = sizeof file_table / sizeof file_table[0] };

static const char *in_directory(Arena *a, const char *folder, TokenBlock *out, bool *lacking)
{
        const char *vocab = arena_printf(a, "%s/vocab.json", folder),
                   *merges = arena_printf(a, "%s/merges.txt", folder);
        for (int i = 0; i < FILES; i++) {
                const char *path = arena_printf(a, "%s/%s", folder, file_table[i]);
                if (is_there(path))
                        return load_file(a, path, out, lacking);
                if (i == 0 && is_there(vocab) && is_there(merges))
                        return load_gpt2(a, folder, vocab, out, lacking);
        }
        return arena_printf(a,
                            "%s: a directory without tokenizer.json, vocab.json and merges.txt, "
                            "tokenizer.model, spiece.model, "
                            "vocab.txt and tekken.json",
                            folder);
}

bool tokenizer_is_in(Arena *a, const char *folder)
{
        bool found = is_there(arena_printf(a, "%s/vocab.json", folder));
        for (int i = 0; i < FILES; i++)
                found |= is_there(arena_printf(a, "%s/%s", folder, file_table[i]));
        return found;
}

const char *tokenizer_load(Arena *a, const char *path, TokenBlock *out, bool *lacking)
{
        struct stat about;
        *lacking = false;
        if (stat(path, &about)) {
                *lacking = true;
                return arena_printf(a, "%s: cannot open: %s", path, strerror(errno));
        }
        return S_ISDIR(about.st_mode) ? in_directory(a, path, out, lacking)
                                      : load_file(a, path, out, lacking);
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
