/* SentencePiece's .model, with the added tokens, and those around a text, of tokenizer_config.json beside it. */
#include <errno.h>
#include <stdlib.h>

#include "reader_private.h"

/* Tokens that a class of transformers adds to a text: defaults of add_bos_token and add_eos_token. */
static const struct {
        const char *name;
        bool begins, ends;
} class_table[] = {{"LlamaTokenizer", true, false},
                   {"CodeLlamaTokenizer", true, false},
                   {"GemmaTokenizer", true, false},
                   {"T5Tokenizer", false, true},
                   {"SiglipTokenizer", false, true}};

static int sp_class_of(FormReader *r, const json_t *config)
{
        const char *name = json_string_value(json_object_get(config, "tokenizer_class"));
        for (int i = 0; name && i < (int)(sizeof class_table / sizeof class_table[0]); i++) {
                size_t n = strlen(class_table[i].name);
                if (!strncmp(name, class_table[i].name, n) && (!name[n] || !strcmp(name + n, "Fast")))
                        return i;
        }
        reader_refuse(
                r,
                "tokenizer_class in tokenizer_config.json: %s: for SentencePiece models lathe supports only "
                "LlamaTokenizer, "
                "CodeLlamaTokenizer, GemmaTokenizer, T5Tokenizer and SiglipTokenizer; "
                "save_pretrained() of the fast "
                "tokenizer writes a tokenizer.json",
                name ? name : "there is none");
}

static void put_around(FormReader *r, const SentencePieceModel *p, const json_t *config)
{
        int class = sp_class_of(r, config);
        if (truth_of(r, config, "add_bos_token", class_table[class].begins, "tokenizer_config.json"))
                add_around(r, true, p->begin, "trainer_spec.bos_id");
        if (truth_of(r, config, "add_eos_token", class_table[class].ends, "tokenizer_config.json"))
                add_around(r, false, p->end, "trainer_spec.eos_id");
}

/* Adds a token of added_tokens_decoder, which may be a piece. */
static void add_further(FormReader *r, const SentencePieceModel *p, const char *number, json_t *row)
{
        const char *where = arena_printf(r->arena, "tokenizer_config.json: added_tokens_decoder.%s", number);
        const TokenizerForm *f = r->form;
        char *end;
        errno = 0;
        long id = strtol(number, &end, 10);
        if (errno || end == number || *end || id < 0 || id >= MAX_TOKENS)
                reader_refuse(r, "%s: the key is not a token id", where);
        Bytes text = text_of(r, json_object_get(row, "content"), where);
        if (id < p->n && (p->text[id].n != text.n || memcmp(p->text[id].at, text.at, (size_t)text.n) != 0))
                reader_refuse(r, "%s: \"%s\", but that piece is \"%s\"", where, text.at, p->text[id].at);
        bool is_apart = id < p->n && p->type[id] != PIECE_NORMAL;
        if (is_apart || (id < p->n && !f->token[id].at))
                return;
        if (json_object_set_new(row, "id", json_integer(id)) ||
            json_object_set_new(row, "normalized", json_false()))
                reader_refuse(r, "%s", no_memory);
        add_token(r, row, where);
}

static void use_config(FormReader *r, const SentencePieceModel *p, const json_t *config)
{
        const char *number;
        json_t *row, *nlater = json_object_get(config, "added_tokens_decoder");
        put_around(r, p, config);
        json_object_foreach (nlater, number, row)
                add_further(r, p, number, row);
}

static const char *form_of_pieces(TokenizerForm *f, Bytes file, const json_t *config)
{
        FormReader *r = reader_new(f);
        SentencePieceModel pieces;
        if (setjmp(r->wrong))
                return r->why;
        read_protobuf(r, file, &pieces);
        pieces.nlater = (int32_t)json_object_size(json_object_get(config, "added_tokens_decoder"));
        read_sentencepiece(r, &pieces);
        if (config)
                use_config(r, &pieces, config);
        show_sentencepiece(r, &pieces);
        reader_room(r, f->vocab); /* one more than present */
        return NULL;
}

const char *load_sentencepiece(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        int64_t size;
        const char *wrong;
        char *bytes = file_text(a, path, &size, &wrong, env_error);
        json_t *config = bytes ? config_beside(a, path, &wrong) : NULL;
        if (wrong)
                return wrong;
        TokenizerForm *f = form_new(a, path);
        wrong = form_of_pieces(f, (Bytes){bytes, size}, config);
        json_decref(config);
        return wrong ? wrong : form_tables(f, out);
}
