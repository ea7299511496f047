/* Converts a SentencePiece model to the form: pieces with scores and types.  Text is processed as in
 * SentencePiece, not as in a tokenizer.json converted from it. */
#include "reader_private.h"

#include <ctype.h>
#include <float.h>
#include <stdlib.h>

static const Bytes mark = {"\xe2\x96\x81", 3}, space = {" ", 1};

/* --- the vocabulary -------------------------------------------------------------------------------------------------- */

static void sp_add_added(FormReader *r, int32_t token, Bytes text, uint32_t flags, bool normalised)
{
        TokenizerForm *f = r->form;
        if (text.n)
                f->added[f->nadded++] = (FormAdded){text, token, flags, normalised};
}

/* The score of a text that is always one token: better than that of any pieces of the same length. */
static double user_score(const SentencePieceModel *p, Bytes text)
{
        float most = 0.1F; /* minimum */
        for (int32_t i = 0; i < p->n; i++)
                if (p->type[i] == PIECE_NORMAL && p->score[i] > most)
                        most = p->score[i];
        return (double)(float)((double)((float)text.n * most) - 0.1);
}

/* A text that is always one token. */
static void set_user_piece(FormReader *r, const SentencePieceModel *p, int32_t i)
{
        TokenizerForm *f = r->form;
        Bytes text = p->text[i];
        f->score[i] = user_score(p, text);
        if (p->unigram) {
                f->shown[i] = (Bytes){NULL, 0};
                set_token(r, i, text);
        }
        if (p->cuts_users)
                sp_add_added(r, i, replaced_text(r, text, mark, space), 0, false);
        else
                sp_add_added(r, i, text, p->unigram ? ADDED_IS_KEPT : 0, true);
}

static void set_piece(FormReader *r, const SentencePieceModel *p, int32_t i)
{
        TokenizerForm *f = r->form;
        Bytes text = p->text[i];
        f->score[i] = (double)p->score[i];
        f->shown[i] = text;
        switch (p->type[i]) {
        case PIECE_NORMAL:
                f->shown[i] = (Bytes){NULL, 0};
                set_token(r, i, text);
                break;
        case PIECE_UNKNOWN:
                if (f->flags & TOKENS_HAVE_UNKNOWN)
                        reader_refuse(r, "piece %d, \"%s\": a second unknown piece", i, text.at);
                f->unknown = i;
                f->flags |= TOKENS_HAVE_UNKNOWN;
                f->shown[i] = p->unknown_shown;
                if (p->cuts_users)
                        sp_add_added(r, i, text, ADDED_CONTROL, false);
                break;
        case PIECE_CONTROL:
                f->mark[i] |= TOKEN_CONTROL;
                sp_add_added(r, i, text, ADDED_CONTROL, false);
                break;
        case PIECE_USER: set_user_piece(r, p, i); break;
        case PIECE_UNUSED:
        case PIECE_BYTE: break;
        }
}

static void set_pieces(FormReader *r, const SentencePieceModel *p)
{
        TokenizerForm *f = r->form;
        if (p->n < 1)
                reader_refuse(r, "it has no pieces");
        reader_room(r, p->n - 1);
        f->vocab = p->n;
        f->score = NEW_ARRAY(r->arena, double, p->n);
        f->scored = p->n;
        f->added = NEW_ARRAY(r->arena, FormAdded, (int64_t)p->n + p->nlater + 1);
        for (int32_t i = 0; i < p->n; i++)
                set_piece(r, p, i);
}

int named_byte(Bytes text)
{
        char digits[3] = {0};
        if (text.n != 6 || memcmp(text.at, "<0x", 3) != 0 || text.at[5] != '>')
                return -1;
        memcpy(digits, text.at + 3, 2);
        return isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1])
                       ? (int)strtol(digits, NULL, 16)
                       : -1;
}

Bytes byte_text(FormReader *r, int byte)
{
        char *text = arena_alloc(r->arena, 1);
        *text = (char)byte;
        return (Bytes){text, 1};
}

/* The pieces of single bytes: <0x41>. */
static void set_bytes(FormReader *r, const SentencePieceModel *p)
{
        TokenizerForm *f = r->form;
        for (int b = 0; b < 256; b++)
                f->of_byte[b] = -1;
        for (int32_t i = 0; i < p->n; i++) {
                if (p->type[i] != PIECE_BYTE)
                        continue;
                int byte = named_byte(p->text[i]);
                if (byte >= 0) {
                        f->of_byte[byte] = i;
                        f->shown[i] = byte_text(r, byte);
                } else {
                        reader_refuse(r, "piece %d, \"%s\": a byte's piece is like <0x41>", i, p->text[i].at);
                }
        }
        bool all = true;
        for (int b = 0; b < 256; b++)
                all &= f->of_byte[b] >= 0;
        if (p->has_bytes && !all)
                reader_refuse(r, "byte_fallback is on, but not each of the 256 bytes has a piece");
        if (p->has_bytes)
                f->flags |= TOKENS_HAVE_BYTES;
        else if (f->flags & TOKENS_HAVE_UNKNOWN)
                f->flags |= TOKENS_FUSE_UNKNOWN;
}

/* --- merges: two neighbours that together are a piece, the highest score first -------------------------------------------- */

static int by_score(const void *a, const void *b)
{
        const ScoredToken *x = a, *y = b;
        if (x->score != y->score)
                return x->score > y->score ? -1 : 1;
        return (x->token > y->token) - (x->token < y->token);
}

static int compare_tokens(const void *a, const void *b)
{
        const Bytes *x = a, *y = b;
        return x->n != y->n ? (x->n > y->n) - (x->n < y->n) : memcmp(x->at, y->at, (size_t)x->n);
}

/* Characters that are users' texts, in order. */
typedef struct {
        Bytes *text; /* [n] */
        int32_t n;
} UserCharacters;

static UserCharacters user_characters(FormReader *r, const SentencePieceModel *p)
{
        UserCharacters all = {.text = NEW_ARRAY(r->arena, Bytes, (int64_t)p->n + 1)};
        for (int32_t i = 0; i < p->n; i++) {
                uint32_t code;
                const Bytes text = p->text[i];
                if (p->type[i] == PIECE_USER && text.n &&
                    decode_utf8(text.at, (int32_t)text.n, &code) == text.n)
                        all.text[all.n++] = text;
        }
        qsort(all.text, (size_t)all.n, sizeof *all.text, compare_tokens);
        return all;
}

/* Rejects pieces that would change results.  A user's character is never merged, so a piece with it is
 * harmless; one without a piece could not be merged, which no trained model has. */
static void check_characters(FormReader *r, const UserCharacters *users, int32_t piece, Bytes text)
{
        for (int64_t at = 0, length; at < text.n; at += length) {
                uint32_t code;
                length = decode_utf8(text.at + at, (int32_t)(text.n - at), &code);
                if (!length)
                        reader_refuse(r, "piece %d: byte %lld of it is not UTF-8", piece, (long long)at);
                const Bytes character = {text.at + at, length};
                if (length < text.n && find_token(r, character) < 0 &&
                    !bsearch(&character, users->text, (size_t)users->n, sizeof character, compare_tokens))
                        reader_refuse(r,
                                      "piece %d, \"%s\": its character at byte %lld is not a piece by itself",
                                      piece, text.at, (long long)at);
        }
}

static void sp_pairs(FormReader *r, int32_t token, uint32_t rank, int64_t *cap)
{
        TokenizerForm *f = r->form;
        const Bytes text = r->name[token];
        for (int64_t at = 1; at < text.n; at++) {
                int32_t left = find_token(r, (Bytes){text.at, at}),
                        right = left < 0 ? -1 : find_token(r, (Bytes){text.at + at, text.n - at});
                if (right < 0)
                        continue;
                if (f->nmerge == MAX_MERGES)
                        reader_refuse(r, "more than %d merges", MAX_MERGES);
                GROW(r->arena, f->merge, f->nmerge, *cap);
                f->merge[f->nmerge++] =
                        (FormMerge){.left = left, .right = right, .made = token, .rank = rank};
        }
}

void merge_by_scores(FormReader *r, ScoredToken *token, int64_t n)
{
        int64_t cap = 0;
        uint32_t rank = 0;
        qsort(token, (size_t)n, sizeof *token, by_score);
        for (int64_t i = 0; i < n; i++) {
                rank += i && token[i].score < token[i - 1].score;
                sp_pairs(r, token[i].token, rank, &cap);
        }
}

static void sp_merges(FormReader *r, const SentencePieceModel *p)
{
        ScoredToken *token = NEW_ARRAY(r->arena, ScoredToken, p->n);
        const UserCharacters users = user_characters(r, p);
        int64_t n = 0;
        for (int32_t i = 0; i < p->n; i++)
                if (p->type[i] == PIECE_NORMAL) {
                        check_characters(r, &users, i, p->text[i]);
                        token[n++] = (ScoredToken){p->score[i], i};
                }
        merge_by_scores(r, token, n);
}

/* Rejects unused pieces, which would be split again after their merges. */
static void refuse_unused(FormReader *r, const SentencePieceModel *p)
{
        for (int32_t i = 0; i < p->n; i++)
                for (int64_t at = 1; p->type[i] == PIECE_UNUSED && at < p->text[i].n; at++)
                        if (find_token(r, (Bytes){p->text[i].at, at}) >= 0 &&
                            find_token(r, (Bytes){p->text[i].at + at, p->text[i].n - at}) >= 0)
                                reader_refuse(r, "piece %d, \"%s\": an unused piece that merges can produce",
                                              i, p->text[i].at);
}

/* --- text of tokens -------------------------------------------------------------------------------------------------- */

/* Marks are spaces; a text begins without the first mark, or without any. */
void show_sentencepiece(FormReader *r, const SentencePieceModel *p)
{
        TokenizerForm *f = r->form;
        bool few = p->flags & SENTENCEPIECE_FEW_SPACES;
        if (few || (p->flags & (SENTENCEPIECE_PREFIX | SENTENCEPIECE_SUFFIX))) {
                f->first = NEW_ARRAY(r->arena, Bytes, f->vocab + 1);
                for (int32_t i = 0; i < f->vocab; i++) {
                        Bytes text = f->shown[i];
                        bool marked = i < p->n && p->type[i] != PIECE_UNKNOWN && text.n >= mark.n &&
                                      !memcmp(text.at, mark.at, (size_t)mark.n);
                        f->first[i] = marked ? (Bytes){text.at + mark.n, text.n - mark.n} : text;
                }
                f->strip = !few;
                show_replaced(r, f->first, mark, space);
        }
        show_replaced(r, f->shown, mark, space);
}

/* --- the whole ------------------------------------------------------------------------------------------------------- */

static void set_unigram(FormReader *r, const SentencePieceModel *p)
{
        TokenizerForm *f = r->form;
        float least = FLT_MAX;
        for (int32_t i = 0; i < p->n; i++)
                if (p->type[i] == PIECE_NORMAL && p->score[i] < least)
                        least = p->score[i];
        f->unknown_score = (double)(least - (float)UNKNOWN_PENALTY);
        f->model = MODEL_UNIGRAM;
        f->flags |= TOKENS_ARE_FLOATS;
        f->kind = "Unigram of SentencePiece";
}

void read_sentencepiece(FormReader *r, const SentencePieceModel *p)
{
        TokenizerForm *f = r->form;
        const char *why;
        set_pieces(r, p);
        set_bytes(r, p);
        if (p->unigram) {
                set_unigram(r, p);
        } else {
                f->kind = "BPE of SentencePiece";
                f->flags |= TOKENS_WHOLE_FIRST;
                sp_merges(r, p);
                refuse_unused(r, p);
        }
        FormChange *c = &f->change[f->nchange++];
        *c = (FormChange){.kind = CHANGE_SENTENCEPIECE, .flags = p->flags, .text = {"", 0}, .with = {"", 0}};
        c->growth = form_set_charsmap(f, p->charsmap, &why) * (p->flags & SENTENCEPIECE_MARKED ? 3 : 1);
        if (why)
                reader_refuse(r, "normalizer_spec.precompiled_charsmap: %s", why);
}
