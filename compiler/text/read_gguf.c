/* What a GGUF says of its tokenizer into the form: byte-level BPE with merges, SentencePiece's models, WordPiece. */
#include <stdlib.h>

#include "reader_private.h"

/* tokenizer.ggml.token_type */
enum { ORDINARY = 1, UNKNOWN = 2, CONTROL = 3, USERS_OWN = 4, UNUSED = 5, SINGLE_BYTE = 6 };

static int64_t kind_of(const GgufTokenizer *g, int64_t token)
{
        return g->kind ? g->kind[token] : ORDINARY;
}

static Bytes token_text(Reader *r, const GgufTokenizer *g, int64_t token)
{
        Bytes text = g->token[token];
        if (text.n > MAX_TOKEN_BYTES)
                reader_refuse(r, "tokenizer.ggml.tokens[%lld]: %lld bytes; lathe takes %d", (long long)token,
                              (long long)text.n, MAX_TOKEN_BYTES);
        return (Bytes){arena_strndup(r->arena, text.at, text.n), text.n};
}

/* Those that stand in no piece: control tokens, and texts that are one token wherever they stand. */
static void add_apart(Reader *r, const GgufTokenizer *g, int32_t token)
{
        Form *f = r->form;
        Bytes text = token_text(r, g, token);
        int64_t kind = kind_of(g, token);
        f->shown[token] = text;
        if (kind == CONTROL || kind == UNKNOWN)
                f->mark[token] |= TOKEN_CONTROL;
        if (!text.n || kind == UNUSED || kind == UNKNOWN)
                return;
        f->added[f->nadded++] = (FormAdded){text, token, kind == CONTROL ? ADDED_CONTROL : 0, false};
}

static void check_sizes(Reader *r, const GgufTokenizer *g)
{
        if (g->ntoken < 1 || g->ntoken > MAX_TOKENS)
                reader_refuse(r, "tokenizer.ggml.tokens: %lld tokens; lathe takes 1 to %d",
                              (long long)g->ntoken, MAX_TOKENS);
        if (g->nmerge > MAX_MERGES)
                reader_refuse(r, "tokenizer.ggml.merges: %lld merges; lathe takes %d", (long long)g->nmerge,
                              MAX_MERGES);
        for (int64_t i = 0; i < g->ntoken; i++)
                if (kind_of(g, i) < ORDINARY || kind_of(g, i) > SINGLE_BYTE)
                        reader_refuse(r, "tokenizer.ggml.token_type[%lld]: %lld is no type, which is 1 to 6",
                                      (long long)i, (long long)kind_of(g, i));
}

static void read_tokens(Reader *r, const GgufTokenizer *g)
{
        Form *f = r->form;
        f->added = NEW_ARRAY(r->arena, FormAdded, g->ntoken);
        reader_room(r, (int32_t)g->ntoken);
        f->vocab = (int32_t)g->ntoken;
        for (int32_t i = 0; i < f->vocab; i++) {
                int64_t kind = kind_of(g, i);
                if (kind == ORDINARY || kind == SINGLE_BYTE)
                        set_token(r, i, token_text(r, g, i));
                else
                        add_apart(r, g, i);
        }
}

/* A token that the file names by its number; -1: it names none. */
static int32_t named_token(Reader *r, const GgufTokenizer *g, int64_t token, const char *key)
{
        if (token >= g->ntoken)
                reader_refuse(r, "tokenizer.ggml.%s: %lld, while tokens are 0 to %lld", key, (long long)token,
                              (long long)g->ntoken - 1);
        return token < 0 ? -1 : (int32_t)token;
}

/* What stands before and behind a text; where nothing is said, what the format means by that. */
static void read_around(Reader *r, const GgufTokenizer *g, bool begins)
{
        int32_t begin = named_token(r, g, g->begin, "bos_token_id"),
                end = named_token(r, g, g->end, "eos_token_id"),
                apart = named_token(r, g, g->separator, "seperator_token_id");
        struct {
                int add;
                int32_t token;
                const char *what;
                bool before;
        } row[] = {{g->add_begin < 0 ? begins && begin >= 0 : g->add_begin, begin, "bos", true},
                   {g->add_end > 0, end, "eos", false},
                   {g->add_separator > 0, apart, "sep", false}};
        for (int i = 0; i < 3; i++) {
                if (row[i].add && row[i].token < 0)
                        reader_refuse(
                                r,
                                "tokenizer.ggml.add_%s_token is true, and nothing says which token that is",
                                row[i].what);
                if (row[i].add)
                        add_around(r, row[i].before, row[i].token, "tokenizer.ggml");
        }
}

/* --- byte-level BPE: the pre-tokeniser goes by a name, and models/lib/pretokenizers.json knows what the name means ----------- */

static bool is_among(const json_t *names, const char *name)
{
        for (size_t i = 0; i < json_array_size(names); i++)
                if (!strcmp(json_string_value(json_array_get(names, i)), name))
                        return true;
        return false;
}

static _Noreturn void refuse_pre(Reader *r, const json_t *table, const char *name)
{
        Text *known = text_new(r->arena);
        const char *key;
        json_t *row;
        json_object_foreach ((json_t *)table, key, row)
                for (size_t i = 0; i < json_array_size(json_object_get(row, "gguf")); i++)
                        text_printf(known, " %s",
                                    json_string_value(json_array_get(json_object_get(row, "gguf"), i)));
        if (!name)
                reader_refuse(r, "it has no tokenizer.ggml.pre, so nothing says how text is split; "
                                 "--tokenizer takes the "
                                 "model's tokenizer.json");
        reader_refuse(r,
                      "tokenizer.ggml.pre: lathe knows no pre-tokeniser %s; it knows%s; --tokenizer takes "
                      "the model's "
                      "tokenizer.json",
                      name, known->data);
}

static const json_t *row_of(Reader *r, const json_t *table, const char *name)
{
        const char *key;
        json_t *row;
        if (name)
                json_object_foreach ((json_t *)table, key, row)
                        if (is_among(json_object_get(row, "gguf"), name))
                                return row;
        refuse_pre(r, table, name);
}

static void read_merges_of(Reader *r, const GgufTokenizer *g)
{
        Form *f = r->form;
        f->merge = NEW_ARRAY(r->arena, FormMerge, g->nmerge + 1);
        f->nmerge = g->nmerge;
        for (int64_t i = 0; i < g->nmerge; i++)
                set_merge_line(r, i, g->merge[i], "tokenizer.ggml.merges");
}

static void read_byte_level_bpe(Reader *r, const GgufTokenizer *g, const json_t *table)
{
        Form *f = r->form;
        const json_t *row = row_of(r, table, g->pre);
        const char *where = arena_printf(r->arena, "tokenizer.ggml.pre %s", g->pre);
        read_normaliser(r, json_object_get(row, "normalizer"), where, 0);
        read_pre_tokeniser(r, json_object_get(row, "pre_tokenizer"), where, 0);
        if (!g->nmerge)
                reader_refuse(r, "tokenizer.ggml.merges: they are missing");
        read_tokens(r, g);
        read_merges_of(r, g);
        f->ignores_merges = json_is_true(json_object_get(row, "ignore_merges"));
        f->flags |= TOKENS_WHOLE_FIRST;
        f->kind = "byte-level BPE";
        find_bytes(r);
        read_around(r, g, json_is_true(json_object_get(row, "begins")));
}

/* --- SentencePiece's -------------------------------------------------------------------------------------------------- */

/* Numbers that fill the vocabulary up are written as unknown pieces too; they stand in no text. */
static uint8_t piece_type(const GgufTokenizer *g, int64_t i, int64_t unknown)
{
        if (i == unknown)
                return PIECE_UNKNOWN;
        return kind_of(g, i) == UNKNOWN ? PIECE_UNUSED : (uint8_t)kind_of(g, i);
}

static int64_t unknown_of(Reader *r, const GgufTokenizer *g)
{
        int64_t unknown = named_token(r, g, g->unknown, "unknown_token_id");
        for (int64_t i = 0; unknown < 0 && i < g->ntoken; i++)
                if (kind_of(g, i) == UNKNOWN)
                        unknown = i;
        return unknown;
}

static Bytes charsmap_of(Reader *r, const GgufTokenizer *g)
{
        char *bytes = arena_alloc(r->arena, g->ncharsmap + 1);
        for (int64_t i = 0; i < g->ncharsmap; i++)
                bytes[i] = (char)(unsigned char)(g->charsmap[i] & 0xff);
        return (Bytes){bytes, g->ncharsmap};
}

static SentencePieceModel pieces_of(Reader *r, const GgufTokenizer *g, bool unigram)
{
        int64_t n = g->ntoken, unknown = unknown_of(r, g);
        bool prefix = g->add_space_prefix != 0, few = g->remove_spaces > 0;
        SentencePieceModel p = {.n = (int32_t)n,
                                .unigram = unigram,
                                .unknown_shown = {" \xe2\x81\x87 ", 5},
                                .charsmap = charsmap_of(r, g)};
        p.flags = SENTENCEPIECE_MARKED | (prefix ? SENTENCEPIECE_PREFIX : 0) |
                  (few ? SENTENCEPIECE_FEW_SPACES : 0);
        if (!g->score)
                reader_refuse(r, "tokenizer.ggml.scores: they are missing");
        p.text = NEW_ARRAY(r->arena, Bytes, n);
        p.score = NEW_ARRAY(r->arena, float, n);
        p.type = NEW_ARRAY(r->arena, uint8_t, n);
        for (int64_t i = 0; i < n; i++) {
                p.text[i] = token_text(r, g, i);
                p.score[i] = (float)g->score[i];
                p.type[i] = piece_type(g, i, unknown);
                p.has_bytes |= p.type[i] == PIECE_BYTE;
        }
        return p;
}

static void read_sentencepiece_bpe(Reader *r, const GgufTokenizer *g, const json_t *table)
{
        (void)table;
        SentencePieceModel p = pieces_of(r, g, false);
        read_sentencepiece(r, &p);
        read_around(r, g, true);
        show_sentencepiece(r, &p);
}

static void read_gguf_unigram(Reader *r, const GgufTokenizer *g, const json_t *table)
{
        (void)table;
        SentencePieceModel p = pieces_of(r, g, true);
        read_sentencepiece(r, &p);
        add_around(r, false, named_token(r, g, g->end < 0 ? 1 : g->end, "eos_token_id"),
                   "tokenizer.ggml.eos_token_id");
        show_sentencepiece(r, &p);
}

/* --- WordPiece: a token that begins a word has a mark in front, and others lack ## ----------------------------------------------- */

static void set_words(Reader *r, const GgufTokenizer *g)
{
        static const char mark[] = "\xe2\x96\x81";
        Form *f = r->form;
        f->added = NEW_ARRAY(r->arena, FormAdded, g->ntoken);
        reader_room(r, (int32_t)g->ntoken);
        f->vocab = (int32_t)g->ntoken;
        for (int32_t i = 0; i < f->vocab; i++) {
                Bytes text = token_text(r, g, i);
                bool begins = text.n >= 3 && !memcmp(text.at, mark, 3);
                if (kind_of(g, i) != ORDINARY)
                        add_apart(r, g, i);
                else if (begins)
                        set_token(r, i, (Bytes){text.at + 3, text.n - 3});
                else
                        set_token(r, i, (Bytes){arena_printf(r->arena, "##%s", text.at), text.n + 2});
        }
}

static void read_gguf_wordpiece(Reader *r, const GgufTokenizer *g, const json_t *table)
{
        (void)table;
        Form *f = r->form;
        int32_t unknown = named_token(r, g, g->unknown, "unknown_token_id"),
                begin = named_token(r, g, g->class < 0 ? g->begin : g->class, "cls_token_id"),
                end = named_token(r, g, g->separator < 0 ? g->end : g->separator, "seperator_token_id");
        add_bert_normaliser(r, NULL, "tokenizer.ggml");
        add_bert_split(r, "tokenizer.ggml");
        set_words(r, g);
        set_word_piece(f, (Bytes){"##", 2}, 100);
        f->unknown = unknown < 0 ? 0 : unknown;
        f->flags |= unknown < 0 ? 0 : TOKENS_HAVE_UNKNOWN;
        if (begin >= 0)
                add_around(r, true, begin, "tokenizer.ggml.cls_token_id");
        if (end >= 0)
                add_around(r, false, end, "tokenizer.ggml.seperator_token_id");
        show_words(r, NULL, "tokenizer.ggml");
}

/* --- the whole --------------------------------------------------------------------------------------------------------------- */

/* tokenizer.ggml.model: the row `models` of the table says which of these a name means. */
static const struct {
        const char *name;
        void (*read)(Reader *r, const GgufTokenizer *g, const json_t *table);
} model_table[] = {{"byte-level BPE", read_byte_level_bpe},
                   {"SentencePiece BPE", read_sentencepiece_bpe},
                   {"Unigram", read_gguf_unigram},
                   {"WordPiece", read_gguf_wordpiece}};

static _Noreturn void refuse_model(Reader *r, const json_t *models, const char *name)
{
        Text *known = text_new(r->arena);
        const char *key;
        json_t *model;
        json_object_foreach ((json_t *)models, key, model)
                text_printf(known, " %s", key);
        reader_refuse(r,
                      "tokenizer.ggml.model: lathe has no %s; it has%s; --tokenizer takes the model's "
                      "tokenizer.json",
                      name, known->data);
}

static void read_model_of(Reader *r, const GgufTokenizer *g, const json_t *table)
{
        if (!g->model)
                reader_refuse(r, "it has no tokenizer.ggml.model, so no tokenizer");
        check_sizes(r, g);
        const json_t *models = json_object_get(table, "models");
        const char *model = json_string_value(json_object_get(models, g->model));
        for (size_t i = 0; model && i < sizeof model_table / sizeof *model_table; i++)
                if (!strcmp(model, model_table[i].name)) {
                        model_table[i].read(r, g, table);
                        return;
                }
        refuse_model(r, models, g->model);
}

const char *tokenizer_of_gguf(Arena *a, const GgufTokenizer *g, TokenBlock *out)
{
        Form *f = form_new(a, g->path);
        Reader *r = reader_new(f);
        const char *text = embedded_text("pretokenizers.json");
        json_error_t error;
        json_begin();
        json_t *table = json_parse(text, strlen(text), 0, &error);
        if (!table)
                return no_memory;
        if (setjmp(r->wrong)) {
                json_decref(table);
                return r->why;
        }
        read_model_of(r, g, table);
        json_decref(table);
        return form_tables(f, out);
}
