/* Tokens in order of their ranks, from tiktoken's files (NAME.tiktoken: a token in base 64 and its rank per
 * line) and tekken.json. Adjacent tokens that together are a token are merged, the lowest rank first. */
#include <stdlib.h>

#include "reader_private.h"

static void begin_bytes(FormReader *r, Bytes regex, const char *where)
{
        TokenizerForm *f = r->form;
        const char *why;
        f->flags |= TOKENS_ARE_BYTES | TOKENS_WHOLE_FIRST;
        f->ignores_merges = true;
        f->kind = "byte-level BPE";
        RegexTree *tree = regex_parse(r->arena, regex, &why);
        RegexTable *table = tree ? regex_table(r->arena, tree, &why) : NULL;
        if (!table)
                reader_refuse(r, "%s: %s", where, why);
        f->step[f->nstep++] =
                (FormStep){.kind = STEP_SPLIT, .behavior = SPLIT_ISOLATED, .regex = table, .text = {"", 0}};
}

/* A token's name is its bytes, without a byte-level alphabet. */
static void set_ranked(FormReader *r, int32_t token, Bytes bytes)
{
        r->form->flags &= ~(uint32_t)TOKENS_ARE_BYTES;
        set_token(r, token, bytes);
        r->form->flags |= TOKENS_ARE_BYTES;
}

static void tiktoken_pair(FormReader *r, FormMerge merge, int64_t *room)
{
        TokenizerForm *f = r->form;
        if (f->nmerge == MAX_MERGES)
                reader_refuse(r, "more than %d merges", MAX_MERGES);
        if (f->nmerge == *room) {
                int64_t had = *room * (int64_t)sizeof merge;
                *room = *room ? 2 * *room : 1 << 18;
                f->merge = arena_grow(r->arena, f->merge, had, *room * (int64_t)sizeof merge);
        }
        f->merge[f->nmerge++] = merge;
}

/* Adds all pairs that make a token, after all tokens are known. */
static void make_pairs(FormReader *r)
{
        TokenizerForm *f = r->form;
        int64_t room = 0;
        for (int32_t i = 0; i < f->vocab; i++)
                for (int64_t at = 1; at < r->name[i].n; at++) {
                        Bytes text = r->name[i];
                        int32_t left = find_token(r, (Bytes){text.at, at}),
                                right = left < 0 ? -1 : find_token(r, (Bytes){text.at + at, text.n - at});
                        if (right >= 0)
                                tiktoken_pair(r, (FormMerge){left, right, i, (uint32_t)i}, &room);
                }
        for (int b = 0; b < 256; b++) {
                char byte = (char)b;
                f->of_byte[b] = find_token(r, (Bytes){&byte, 1});
                if (f->of_byte[b] < 0)
                        reader_refuse(r, "no token stands for the single byte %d", b);
        }
}

static void tiktoken_special(FormReader *r, const char *text, int64_t token)
{
        json_t *row = json_pack("{s:I,s:s,s:b}", "id", (json_int_t)token, "content", text, "special", 1);
        add_token(r, row, text);
        json_decref(row);
}

/* --- tiktoken -------------------------------------------------------------------------------------------------------- */

static _Noreturn void tiktoken_refuse_name(FormReader *r, const json_t *table, const char *name)
{
        Text *known = text_new(r->arena);
        const char *key;
        json_t *row;
        json_object_foreach ((json_t *)table, key, row)
                text_printf(known, " %s", key);
        reader_refuse(
                r,
                "a file of ranks does not specify how text is split, and lathe knows no vocabulary named %s, "
                "only%s; save_pretrained() of the model's fast tokenizer writes a tokenizer.json",
                name, known->data);
}

static const char *tiktoken_stem(FormReader *r, const char *path)
{
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        return arena_strndup(r->arena, name, (int64_t)strcspn(name, "."));
}

static void tiktoken_read_lines(FormReader *r, const char *text, int64_t size)
{
        int64_t number = 0;
        for (const char *at = text, *end = text + size; at < end;) {
                const char *stop = memchr(at, '\n', (size_t)(end - at)),
                           *space = memchr(at, ' ', (size_t)(end - at));
                stop = stop ? stop : end;
                char *behind = NULL;
                long rank = space && space < stop ? strtol(space + 1, &behind, 10) : -1;
                number++;
                if (rank < 0 || rank >= MAX_TOKENS || !behind || (behind != stop && *behind != '\r'))
                        reader_refuse(r, "line %lld: expected a token in base 64, a space and its rank",
                                      (long long)number);
                const char *why;
                Bytes token = base64(r, at, space - at, &why);
                if (!token.at)
                        reader_refuse(r, "line %lld: %s", (long long)number, why);
                set_ranked(r, (int32_t)rank, token);
                at = stop + 1;
        }
}

static void read_tiktoken(FormReader *r, const char *text, int64_t size, const json_t *table)
{
        const char *name = tiktoken_stem(r, r->form->path), *key;
        const json_t *row = json_object_get(table, name);
        json_t *value;
        if (!row)
                tiktoken_refuse_name(r, table, name);
        begin_bytes(r, text_of(r, json_object_get(row, "pattern"), "tiktoken.json"), "tiktoken.json");
        tiktoken_read_lines(r, text, size);
        make_pairs(r);
        json_t *special = json_object_get(row, "special");
        r->form->added = NEW_ARRAY(r->arena, FormAdded, (int64_t)json_object_size(special) + 1);
        json_object_foreach (special, key, value)
                tiktoken_special(r, key, json_integer_value(value));
        reader_room(r, r->form->vocab);
}

const char *load_tiktoken(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        int64_t size;
        const char *why, *known = embedded_text("tiktoken.json");
        char *text = file_text(a, path, &size, &why, env_error);
        if (!text)
                return why;
        TokenizerForm *f = form_new(a, path);
        FormReader *r = reader_new(f);
        json_error_t error;
        json_begin();
        json_t *table = json_parse(known, strlen(known), 0, &error);
        if (!table)
                return no_memory;
        if (setjmp(r->wrong)) {
                json_decref(table);
                return r->why;
        }
        read_tiktoken(r, text, size, table);
        json_decref(table);
        return form_tables(f, out);
}

/* --- tekken.json: special tokens have the first numbers -------------------------------------------------------------- */

static int64_t tiktoken_whole(FormReader *r, const json_t *object, const char *key, const char *where)
{
        const json_t *value = json_object_get(object, key);
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) >= MAX_TOKENS)
                reader_refuse(r, "%s.%s: expected a whole number from 0 to %d", where, key, MAX_TOKENS - 1);
        return json_integer_value(value);
}

/* Special tokens of files that name none. */
static const char *const tekken_special[] = {"<unk>",
                                             "<s>",
                                             "</s>",
                                             "[INST]",
                                             "[/INST]",
                                             "[AVAILABLE_TOOLS]",
                                             "[/AVAILABLE_TOOLS]",
                                             "[TOOL_RESULTS]",
                                             "[/TOOL_RESULTS]",
                                             "[TOOL_CALLS]",
                                             "[IMG]",
                                             "<pad>",
                                             "[IMG_BREAK]",
                                             "[IMG_END]",
                                             "[PREFIX]",
                                             "[MIDDLE]",
                                             "[SUFFIX]",
                                             "[SYSTEM_PROMPT]",
                                             "[/SYSTEM_PROMPT]",
                                             "[TOOL_CONTENT]"};
enum { TEKKEN_SPECIAL = sizeof tekken_special / sizeof tekken_special[0] };

static void read_tekken_special(FormReader *r, const json_t *list, int64_t n)
{
        const char **name = NEW_ARRAY(r->arena, const char *, n + 1);
        for (int64_t i = 0; i < n; i++)
                name[i] = !list && i < TEKKEN_SPECIAL
                                  ? tekken_special[i]
                                  : arena_printf(r->arena, "<SPECIAL_%lld>", (long long)i);
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *row = json_array_get(list, i);
                const char *where = reader_element(r, "special_tokens", i);
                int64_t rank = tiktoken_whole(r, row, "rank", where);
                if (rank >= n)
                        reader_refuse(r, "%s: rank %lld, but there are %lld special tokens", where,
                                      (long long)rank, (long long)n);
                name[rank] = text_of(r, json_object_get(row, "token_str"), where).at;
        }
        r->form->added = NEW_ARRAY(r->arena, FormAdded, n + 1);
        for (int64_t i = 0; i < n; i++)
                tiktoken_special(r, name[i], i);
        for (int64_t i = 0; i < n; i++)
                if (!strcmp(name[i], "<s>"))
                        add_around(r, true, (int32_t)i, "special_tokens");
}

static void read_tekken(FormReader *r, const json_t *root)
{
        const json_t *config = json_object_get(root, "config"), *vocab = json_object_get(root, "vocab"),
                     *special = json_object_get(root, "special_tokens");
        int64_t first = tiktoken_whole(r, config, "default_num_special_tokens", "config"),
                n = tiktoken_whole(r, config, "default_vocab_size", "config") - first;
        if (n < 1 || n > (int64_t)json_array_size(vocab))
                reader_refuse(r, "vocab: %zu tokens, but config specifies %lld", json_array_size(vocab),
                              (long long)n);
        begin_bytes(r, text_of(r, json_object_get(config, "pattern"), "config.pattern"), "config.pattern");
        for (int64_t i = 0; i < n; i++) {
                const json_t *row = json_array_get(vocab, (size_t)i), *rank = json_object_get(row, "rank"),
                             *bytes = json_object_get(row, "token_bytes");
                if (!json_is_integer(rank) || json_integer_value(rank) != i || !json_is_string(bytes))
                        reader_refuse(r, "vocab[%lld]: expected rank %lld and token_bytes", (long long)i,
                                      (long long)i);
                const char *why;
                Bytes token = base64(r, json_string_value(bytes), (int64_t)json_string_length(bytes), &why);
                if (!token.at)
                        reader_refuse(r, "vocab[%lld].token_bytes: %s", (long long)i, why);
                set_ranked(r, (int32_t)(first + i), token);
        }
        make_pairs(r);
        read_tekken_special(r, is_none(special) ? NULL : special, first);
        reader_room(r, r->form->vocab);
}

bool is_tekken(const json_t *root)
{
        return json_object_get(json_object_get(root, "config"), "default_num_special_tokens") != NULL;
}

const char *form_of_tekken(TokenizerForm *f, const json_t *root)
{
        FormReader *r = reader_new(f);
        if (setjmp(r->wrong))
                return r->why;
        read_tekken(r, root);
        return NULL;
}
