/* Models of a tokenizer.json without merges. */
#include "reader_private.h"

#include <math.h>

static void refuse_bytes(FormReader *r, const char *kind)
{
        if (r->form->flags & TOKENS_ARE_BYTES)
                reader_refuse(r, "model: %s after ByteLevel is not supported", kind);
}

void set_word_piece(TokenizerForm *f, Bytes prefix, uint32_t longest)
{
        f->kind = "WordPiece";
        f->model = MODEL_WORDPIECE;
        f->prefix = prefix;
        f->longest = longest;
}

void read_word_piece(FormReader *r, const json_t *model)
{
        const json_t *prefix = json_object_get(model, "continuing_subword_prefix"),
                     *most = json_object_get(model, "max_input_chars_per_word");
        refuse_bytes(r, "WordPiece");
        read_vocabulary(r, json_object_get(model, "vocab"));
        read_unknown(r, model, "[UNK]");
        if (!is_none(most) && (!json_is_integer(most) || json_integer_value(most) < 0))
                reader_refuse(r, "model.max_input_chars_per_word: expected a whole number");
        int64_t longest = is_none(most) ? 100 : json_integer_value(most);
        set_word_piece(r->form,
                       is_none(prefix) ? (Bytes){"##", 2}
                                       : text_of(r, prefix, "model.continuing_subword_prefix"),
                       longest < TOKENS_MAX_BYTES ? (uint32_t)longest : TOKENS_MAX_BYTES);
}

void read_word_level(FormReader *r, const json_t *model)
{
        refuse_bytes(r, "WordLevel");
        read_vocabulary(r, json_object_get(model, "vocab"));
        read_unknown(r, model, "<unk>");
        r->form->kind = "WordLevel";
        r->form->model = MODEL_WORDLEVEL;
}

/* --- Unigram --------------------------------------------------------------------------------------------------------- */

static void read_scored(FormReader *r, const json_t *row, size_t i)
{
        const char *where = reader_element(r, "model.vocab", i);
        const json_t *score = json_array_get(row, 1);
        if (json_array_size(row) != 2 || !json_is_number(score) || !isfinite(json_number_value(score)))
                reader_refuse(r, "%s: expected a text and a number", where);
        Bytes text = text_of(r, json_array_get(row, 0), where);
        set_token(r, (int32_t)i, text);
        r->form->score[i] = json_number_value(score);
}

void read_unigram(FormReader *r, const json_t *model)
{
        TokenizerForm *f = r->form;
        const json_t *vocab = json_object_get(model, "vocab"), *unknown = json_object_get(model, "unk_id");
        size_t n = json_array_size(vocab);
        refuse_bytes(r, "Unigram");
        if (!json_is_array(vocab) || n == 0 || n > MAX_TOKENS)
                reader_refuse(r, "model.vocab: expected a list of at most %d texts with their scores",
                              MAX_TOKENS);
        f->score = NEW_ARRAY(r->arena, double, (int64_t)n);
        double least = INFINITY;
        for (size_t i = 0; i < n; i++) {
                read_scored(r, json_array_get(vocab, i), i);
                least = f->score[i] < least ? f->score[i] : least;
        }
        f->scored = (int32_t)n;
        f->unknown_score = least - UNKNOWN_PENALTY;
        f->kind = "Unigram";
        f->model = MODEL_UNIGRAM;
        f->flags |= TOKENS_FUSE_UNKNOWN;
        if (!is_none(unknown)) {
                if (!json_is_integer(unknown) || json_integer_value(unknown) < 0 ||
                    json_integer_value(unknown) >= (json_int_t)n)
                        reader_refuse(r, "model.unk_id: expected a token id from 0 to %zu", n - 1);
                f->unknown = (int32_t)json_integer_value(unknown);
                f->flags |= TOKENS_HAVE_UNKNOWN;
        }
        find_bytes(r);
        bool all = true;
        for (int b = 0; b < 256; b++)
                all &= f->of_byte[b] >= 0;
        if (all && truth_of(r, model, "byte_fallback", false, "model"))
                f->flags |= TOKENS_HAVE_BYTES;
}
