/* Converts the tokenizer of a GGUF to the form: byte-level BPE with merges, SentencePiece's models, WordPiece. */
#include <stdlib.h>
#include <strings.h>

#include "reader_private.h"

/* tokenizer.ggml.token_type */
enum { ORDINARY = 1, UNKNOWN = 2, CONTROL = 3, USERS_OWN = 4, UNUSED = 5, SINGLE_BYTE = 6 };

static int64_t gguf_kind(const GgufTokenizer *g, int64_t token)
{
        return g->kind ? g->kind[token] : ORDINARY;
}

static Bytes gguf_token_text(FormReader *r, const GgufTokenizer *g, int64_t token)
{
        Bytes text = g->token[token];
        if (text.n > MAX_TOKEN_BYTES)
                reader_refuse(r, "tokenizer.ggml.tokens[%lld]: %lld bytes; lathe reads up to %d",
                              (long long)token, (long long)text.n, MAX_TOKEN_BYTES);
        return (Bytes){arena_strndup(r->arena, text.at, text.n), text.n};
}

/* Tokens that are in no piece: control tokens, and texts that are always one token. */
static void add_apart(FormReader *r, const GgufTokenizer *g, int32_t token)
{
        TokenizerForm *f = r->form;
        Bytes text = gguf_token_text(r, g, token);
        int64_t kind = gguf_kind(g, token);
        f->shown[token] = text;
        if (kind == CONTROL || kind == UNKNOWN)
                f->mark[token] |= TOKEN_CONTROL;
        if (!text.n || kind == UNUSED)
                return;
        f->added[f->nadded++] = (FormAdded){text, token, kind == USERS_OWN ? 0 : ADDED_CONTROL, false};
}

static void gguf_check_sizes(FormReader *r, const GgufTokenizer *g)
{
        if (g->ntoken < 1 || g->ntoken > MAX_TOKENS)
                reader_refuse(r, "tokenizer.ggml.tokens: %lld tokens; lathe reads 1 to %d",
                              (long long)g->ntoken, MAX_TOKENS);
        if (g->nmerge > MAX_MERGES)
                reader_refuse(r, "tokenizer.ggml.merges: %lld merges; lathe reads up to %d",
                              (long long)g->nmerge, MAX_MERGES);
        for (int64_t i = 0; i < g->ntoken; i++)
                if (gguf_kind(g, i) < ORDINARY || gguf_kind(g, i) > SINGLE_BYTE)
                        reader_refuse(r,
                                      "tokenizer.ggml.token_type[%lld]: unknown type %lld; types are 1 to 6",
                                      (long long)i, (long long)gguf_kind(g, i));
}

static void gguf_read_tokens(FormReader *r, const GgufTokenizer *g)
{
        TokenizerForm *f = r->form;
        f->added = NEW_ARRAY(r->arena, FormAdded, g->ntoken);
        reader_room(r, (int32_t)g->ntoken);
        f->vocab = (int32_t)g->ntoken;
        for (int32_t i = 0; i < f->vocab; i++) {
                int64_t kind = gguf_kind(g, i);
                if (kind == ORDINARY || kind == SINGLE_BYTE)
                        set_token(r, i, gguf_token_text(r, g, i));
                else
                        add_apart(r, g, i);
        }
}

/* A token that the file names by number; -1: none. */
static int32_t named_token(FormReader *r, const GgufTokenizer *g, int64_t token, const char *key)
{
        if (token >= g->ntoken)
                reader_refuse(r, "tokenizer.ggml.%s: %lld, but token ids are 0 to %lld", key,
                              (long long)token, (long long)g->ntoken - 1);
        return token < 0 ? -1 : (int32_t)token;
}

/* Defaults of each tokenizer model: tokens that begin and end a text, and whether they are added.  -1:
 * none. */
typedef struct {
        int32_t begin, end;
        bool begins, ends;
} TextMarks;

static int32_t token_or(FormReader *r, const GgufTokenizer *g, int64_t token, int32_t otherwise,
                        const char *key)
{
        int32_t named = named_token(r, g, token, key);
        return named < 0 && otherwise < g->ntoken ? otherwise : named;
}

/* Tokens before and after a text.  add_sep_token is for pairs of texts, which are separated by it. */
static void read_around(FormReader *r, const GgufTokenizer *g, TextMarks silent)
{
        int32_t begin = token_or(r, g, g->begin, silent.begin, "bos_token_id"),
                end = token_or(r, g, g->end, silent.end, "eos_token_id");
        struct {
                int add;
                int32_t token;
                const char *name;
                bool before;
        } row[] = {{g->add_begin < 0 ? silent.begins && begin >= 0 : g->add_begin, begin, "bos", true},
                   {g->add_end < 0 ? silent.ends && end >= 0 : g->add_end, end, "eos", false}};
        for (int i = 0; i < 2; i++) {
                if (row[i].add && row[i].token < 0)
                        reader_refuse(
                                r,
                                "tokenizer.ggml.add_%s_token is true, but no key gives the id of that token",
                                row[i].name);
                if (row[i].add)
                        add_around(r, row[i].before, row[i].token, "tokenizer.ggml");
        }
}

/* --- byte-level BPE: the pre-tokeniser goes by a name, and models/lib/pretokenizers.json knows what the name means ----------- */

static bool names_contain(const json_t *names, const char *name)
{
        for (size_t i = 0; i < json_array_size(names); i++)
                if (!strcmp(json_string_value(json_array_get(names, i)), name))
                        return true;
        return false;
}

static _Noreturn void refuse_pre(FormReader *r, const json_t *table, const char *name)
{
        Text *known = text_new(r->arena);
        const char *key;
        json_t *row;
        json_object_foreach ((json_t *)table, key, row)
                for (size_t i = 0; i < json_array_size(json_object_get(row, "gguf")); i++)
                        text_printf(known, " %s",
                                    json_string_value(json_array_get(json_object_get(row, "gguf"), i)));
        if (!name)
                reader_refuse(r, "no tokenizer.ggml.pre, so it is unknown how text is split; "
                                 "--tokenizer takes the "
                                 "model's tokenizer.json");
        reader_refuse(r,
                      "tokenizer.ggml.pre: unknown pre-tokeniser %s; lathe has%s; --tokenizer takes "
                      "the model's "
                      "tokenizer.json",
                      name, known->data);
}

static const json_t *gguf_table_row(FormReader *r, const json_t *table, const char *name)
{
        const char *key;
        json_t *row;
        if (name)
                json_object_foreach ((json_t *)table, key, row)
                        if (names_contain(json_object_get(row, "gguf"), name))
                                return row;
        refuse_pre(r, table, name);
}

static void read_merges_of(FormReader *r, const GgufTokenizer *g)
{
        TokenizerForm *f = r->form;
        f->merge = NEW_ARRAY(r->arena, FormMerge, g->nmerge + 1);
        f->nmerge = g->nmerge;
        for (int64_t i = 0; i < g->nmerge; i++)
                set_merge_line(r, i, g->merge[i], "tokenizer.ggml.merges");
}

static void read_byte_level_bpe(FormReader *r, const GgufTokenizer *g, const json_t *table)
{
        TokenizerForm *f = r->form;
        const json_t *row = gguf_table_row(r, table, g->pre);
        const char *where = arena_printf(r->arena, "tokenizer.ggml.pre %s", g->pre);
        read_normaliser(r, json_object_get(row, "normalizer"), where, 0);
        read_pre_tokeniser(r, json_object_get(row, "pre_tokenizer"), where, 0);
        if (!g->nmerge)
                reader_refuse(r, "tokenizer.ggml.merges are missing");
        gguf_read_tokens(r, g);
        read_merges_of(r, g);
        f->ignores_merges = json_is_true(json_object_get(row, "ignore_merges"));
        f->flags |= TOKENS_WHOLE_FIRST;
        f->kind = "byte-level BPE";
        find_bytes(r);
        read_around(r, g, (TextMarks){-1, -1, names_contain(json_object_get(row, "begins"), g->pre), false});
}

/* --- SentencePiece's -------------------------------------------------------------------------------------------------- */

/* Unused numbers are stored as unknown pieces too; they are in no text. */
static uint8_t piece_type(const GgufTokenizer *g, int64_t i, int64_t unknown)
{
        if (i == unknown)
                return PIECE_UNKNOWN;
        return gguf_kind(g, i) == UNKNOWN ? PIECE_UNUSED : (uint8_t)gguf_kind(g, i);
}

static int64_t unknown_of(FormReader *r, const GgufTokenizer *g)
{
        int64_t unknown = named_token(r, g, g->unknown, "unknown_token_id");
        for (int64_t i = 0; unknown < 0 && i < g->ntoken; i++)
                if (gguf_kind(g, i) == UNKNOWN)
                        unknown = i;
        return unknown;
}

static Bytes charsmap_of(FormReader *r, const GgufTokenizer *g)
{
        char *bytes = arena_alloc(r->arena, g->ncharsmap + 1);
        for (int64_t i = 0; i < g->ncharsmap; i++)
                bytes[i] = (char)(unsigned char)(g->charsmap[i] & 0xff);
        return (Bytes){bytes, g->ncharsmap};
}

static SentencePieceModel gguf_pieces(FormReader *r, const GgufTokenizer *g, bool unigram)
{
        int64_t n = g->ntoken, unknown = unknown_of(r, g);
        bool prefix = g->add_space_prefix != 0, few = g->remove_spaces > 0;
        SentencePieceModel p = {.n = (int32_t)n,
                                .unigram = unigram,
                                .cuts_users = true,
                                .unknown_shown = {" \xe2\x81\x87 ", 5},
                                .charsmap = charsmap_of(r, g)};
        p.flags = SENTENCEPIECE_MARKED | (prefix ? SENTENCEPIECE_PREFIX : 0) |
                  (few ? SENTENCEPIECE_FEW_SPACES : 0);
        if (!g->score)
                reader_refuse(r, "tokenizer.ggml.scores are missing");
        p.text = NEW_ARRAY(r->arena, Bytes, n);
        p.score = NEW_ARRAY(r->arena, float, n);
        p.type = NEW_ARRAY(r->arena, uint8_t, n);
        for (int64_t i = 0; i < n; i++) {
                p.text[i] = gguf_token_text(r, g, i);
                p.score[i] = (float)g->score[i];
                p.type[i] = piece_type(g, i, unknown);
                p.has_bytes |= p.type[i] == PIECE_BYTE;
        }
        return p;
}

static void read_sentencepiece_bpe(FormReader *r, const GgufTokenizer *g, const json_t *table)
{
        (void)table;
        SentencePieceModel p = gguf_pieces(r, g, false);
        read_sentencepiece(r, &p);
        read_around(r, g, (TextMarks){1, 2, true, false});
        show_sentencepiece(r, &p);
}

static void read_gguf_unigram(FormReader *r, const GgufTokenizer *g, const json_t *table)
{
        (void)table;
        SentencePieceModel p = gguf_pieces(r, g, true);
        read_sentencepiece(r, &p);
        read_around(r, g, (TextMarks){-1, 1, false, true});
        show_sentencepiece(r, &p);
}

/* --- WordPiece: a token that begins a word has a mark in front, and others lack ## ----------------------------------------------- */

static void set_words(FormReader *r, const GgufTokenizer *g)
{
        static const char mark[] = "\xe2\x96\x81";
        TokenizerForm *f = r->form;
        f->added = NEW_ARRAY(r->arena, FormAdded, g->ntoken);
        reader_room(r, (int32_t)g->ntoken);
        f->vocab = (int32_t)g->ntoken;
        for (int32_t i = 0; i < f->vocab; i++) {
                Bytes text = gguf_token_text(r, g, i);
                bool begins = text.n >= 3 && !memcmp(text.at, mark, 3);
                if (gguf_kind(g, i) != ORDINARY)
                        add_apart(r, g, i);
                else if (begins)
                        set_token(r, i, (Bytes){text.at + 3, text.n - 3});
                else
                        set_token(r, i, (Bytes){arena_printf(r->arena, "##%s", text.at), text.n + 2});
        }
}

static void read_gguf_wordpiece(FormReader *r, const GgufTokenizer *g, const json_t *table)
{
        (void)table;
        TokenizerForm *f = r->form;
        enum { UNKNOWN_OF_BERT = 100, BEGIN_OF_BERT = 101, END_OF_BERT = 102 }; /* defaults */
        int32_t unknown = token_or(r, g, g->unknown, UNKNOWN_OF_BERT, "unknown_token_id"),
                begin = token_or(r, g, g->class < 0 ? g->begin : g->class, BEGIN_OF_BERT, "cls_token_id"),
                end = token_or(r, g, g->separator < 0 ? g->end : g->separator, END_OF_BERT,
                               "seperator_token_id");
        bool lowercase = g->lowercase != 0, strips = g->strip_accents < 0 ? lowercase : g->strip_accents;
        json_t *how = json_pack("{s:b,s:b}", "lowercase", lowercase, "strip_accents", strips);
        if (!how)
                reader_refuse(r, "%s", no_memory);
        add_bert_normaliser(r, how, "tokenizer.ggml");
        json_decref(how);
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

/* tokenizer.ggml.model: the row `models` of the table maps names to these. */
static const struct {
        const char *name;
        void (*read)(FormReader *r, const GgufTokenizer *g, const json_t *table);
} model_table[] = {{"byte-level BPE", read_byte_level_bpe},
                   {"SentencePiece BPE", read_sentencepiece_bpe},
                   {"Unigram", read_gguf_unigram},
                   {"WordPiece", read_gguf_wordpiece}};

static _Noreturn void refuse_model(FormReader *r, const json_t *models, const char *name)
{
        Text *known = text_new(r->arena);
        const char *key;
        json_t *model;
        json_object_foreach ((json_t *)models, key, model)
                text_printf(known, " %s", key);
        reader_refuse(
                r,
                "tokenizer.ggml.model: unsupported model %s; lathe has%s; --tokenizer takes the model's "
                "tokenizer.json",
                name, known->data);
}

/* Whether a text of the file contains one of these names, in any case. */
static bool names_one(const json_t *names, const char *text)
{
        for (size_t i = 0; text && i < json_array_size(names); i++) {
                const char *name = json_string_value(json_array_get(names, i));
                const size_t n = strlen(name);
                for (const char *at = text; *at; at++)
                        if (!strncasecmp(at, name, n))
                                return true;
        }
        return false;
}

/* Added tokens that remove neighbouring white space.  The format lacks this, so published models are
 * recognised by name: the rows `strips` of the table. */
static void strip_beside(FormReader *r, const GgufTokenizer *g, const json_t *rows)
{
        TokenizerForm *f = r->form;
        for (size_t i = 0; i < json_array_size(rows); i++) {
                const json_t *row = json_array_get(rows, i), *only = json_object_get(row, "tokens"),
                             *except = json_object_get(row, "except");
                bool left = json_is_true(json_object_get(row, "left"));
                if (!names_one(json_object_get(row, "pre"), g->pre) &&
                    !names_one(json_object_get(row, "architecture"), g->architecture) &&
                    !names_one(json_object_get(row, "name"), g->name))
                        continue;
                for (int k = 0; k < f->nadded; k++) {
                        FormAdded *added = &f->added[k];
                        const char *text = arena_strndup(r->arena, added->text.at, added->text.n);
                        if ((!only || names_contain(only, text)) && !names_contain(except, text))
                                added->flags |= left ? ADDED_STRIPS_LEFT : ADDED_STRIPS_RIGHT;
                }
                return;
        }
}

static void read_model_of(FormReader *r, const GgufTokenizer *g, const json_t *table)
{
        if (!g->model)
                reader_refuse(r, "no tokenizer.ggml.model, so it contains no tokenizer");
        gguf_check_sizes(r, g);
        const json_t *models = json_object_get(table, "models");
        const char *model = json_string_value(json_object_get(models, g->model));
        for (size_t i = 0; model && i < sizeof model_table / sizeof *model_table; i++)
                if (!strcmp(model, model_table[i].name)) {
                        model_table[i].read(r, g, table);
                        strip_beside(r, g, json_object_get(table, "strips"));
                        return;
                }
        refuse_model(r, models, g->model);
}

const char *tokenizer_of_gguf(Arena *a, const GgufTokenizer *g, TokenBlock *out)
{
        TokenizerForm *f = form_new(a, g->path);
        FormReader *r = reader_new(f);
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
