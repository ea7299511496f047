/* llama2.c's tokenizer.bin (github.com/karpathy/llama2.c, tokenizer.py): int32, the length of the longest
 * token; then for each token float, its score; int32, its length; its bytes.  The file does not contain the
 * number of tokens.
 *
 * Tokens 0 to 2 are unknown, begin and end.  A text is preceded by the begin token and a space.  A character
 * without a token becomes its bytes, byte b as token 3 + b.  Then adjacent tokens that together are a token
 * are merged, the highest score first. */
#include "reader_private.h"

enum { UNKNOWN, BEGIN, END, FIRST_BYTE, HEADER = 4, ROW = 8 };

static const float never = -1e10F; /* a score that is not above it is as bad as no token */

/* Reads token `token` at byte `at`; returns the offset of the next one. */
static int64_t read_row(FormReader *r, Bytes file, int64_t at, int32_t token, int32_t longest, float *score)
{
        int32_t length = 0;
        if (token == MAX_TOKENS)
                reader_refuse(r, "byte %lld: more than %d tokens", (long long)at, MAX_TOKENS);
        if (file.n - at >= ROW) {
                memcpy(score, file.at + at, sizeof *score);
                memcpy(&length, file.at + at + 4, sizeof length);
                if (length < 1 || length > longest)
                        reader_refuse(r, "byte %lld: token %d has length %d, but the header allows 1 to %d",
                                      (long long)at, token, length, longest);
        }
        if (file.n - at < ROW + length)
                reader_refuse(r, "ends within token %d, which begins at byte %lld", token, (long long)at);
        Bytes text = {file.at + at + ROW, length};
        if (*score != *score)
                reader_refuse(r, "byte %lld: the score of token %d is not a number", (long long)at, token);
        if (memchr(text.at, 0, (size_t)length))
                reader_refuse(r, "byte %lld: token %d contains a 0 byte", (long long)at + ROW, token);
        set_token(r, token, text);
        return at + ROW + length;
}

/* Scores of all tokens. */
static float *read_rows(FormReader *r, Bytes file)
{
        int32_t longest = 0;
        if (file.n >= HEADER)
                memcpy(&longest, file.at, sizeof longest);
        if (longest < 1 || longest > MAX_TOKEN_BYTES)
                reader_refuse(r,
                              "not a tokenizer of llama2.c: it begins with the length of the longest token, "
                              "1 to %d",
                              MAX_TOKEN_BYTES);
        float *score = NEW_ARRAY(r->arena, float, file.n / (ROW + 1) + 1);
        int32_t n = 0;
        for (int64_t at = HEADER; at < file.n; n++)
                at = read_row(r, file, at, n, longest, &score[n]);
        if (n <= END)
                reader_refuse(r,
                              "%d tokens are too few: tokens %d to %d are the unknown, the beginning and the "
                              "end",
                              n, UNKNOWN, END);
        return score;
}

/* Of tokens with the same bytes the first is used. */
static void llama2c_merges(FormReader *r, const float *score)
{
        const int32_t vocab = r->form->vocab;
        ScoredToken *token = NEW_ARRAY(r->arena, ScoredToken, vocab);
        int64_t n = 0;
        for (int32_t i = 0; i < vocab; i++)
                if (score[i] > never && find_token(r, r->name[i]) == i)
                        token[n++] = (ScoredToken){score[i], i};
        merge_by_scores(r, token, n);
}

/* "\n<s>\n" in the file is <s>. */
static void set_control(FormReader *r, int32_t token)
{
        TokenizerForm *f = r->form;
        Bytes text = r->name[token];
        for (; text.n && *text.at == '\n'; text.n--)
                text.at++;
        while (text.n && text.at[text.n - 1] == '\n')
                text.n--;
        f->mark[token] |= TOKEN_CONTROL;
        f->shown[token] = text;
        if (text.n)
                f->added[f->nadded++] = (FormAdded){text, token, ADDED_CONTROL, false};
}

/* A text does not begin with its first token's space. */
static void show_tokens(FormReader *r)
{
        TokenizerForm *f = r->form;
        f->first = NEW_ARRAY(r->arena, Bytes, f->vocab + 1);
        f->strip = 1;
        for (int32_t i = 0; i < f->vocab; i++) {
                Bytes text = f->shown[i];
                int byte = named_byte(text);
                bool spaced = text.n && *text.at == ' ';
                f->first[i] = spaced ? (Bytes){text.at + 1, text.n - 1} : text;
                if (byte >= 0)
                        f->shown[i] = f->first[i] = byte_text(r, byte);
                /* it would end a C string */
                if (byte == 0)
                        f->shown[i].n = f->first[i].n = 0;
        }
}

static const char *form_of_rows(TokenizerForm *f, Bytes file)
{
        FormReader *r = reader_new(f);
        if (setjmp(r->wrong))
                return r->why;
        llama2c_merges(r, read_rows(r, file));
        f->kind = "BPE of llama2.c";
        f->model = MODEL_BPE;
        f->flags = TOKENS_HAVE_BYTES;
        f->unknown = UNKNOWN;
        for (int b = 0; b < 256; b++)
                f->of_byte[b] = FIRST_BYTE + b < f->vocab ? FIRST_BYTE + b : UNKNOWN;
        f->added = NEW_ARRAY(r->arena, FormAdded, 2);
        set_control(r, BEGIN);
        set_control(r, END);
        show_tokens(r);
        add_around(r, true, BEGIN, "token 1");
        static const Bytes space = {" ", 1};
        if (find_token(r, space) >= 0)
                f->change[f->nchange++] =
                        (FormChange){.kind = CHANGE_PREPEND, .text = space, .with = {"", 0}};
        reader_room(r, f->vocab); /* one more than present */
        return NULL;
}

const char *load_llama2c(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        int64_t size;
        const char *wrong;
        char *bytes = file_text(a, path, &size, &wrong, env_error);
        if (!bytes)
                return wrong;
        TokenizerForm *f = form_new(a, path);
        f->is_open_ended = true;
        wrong = form_of_rows(f, (Bytes){bytes, size});
        return wrong ? wrong : form_tables(f, out);
}
