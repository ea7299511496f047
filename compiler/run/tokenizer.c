/* The llama2.c tokenizer file (github.com/karpathy/llama2.c, tokenizer.py): int32 max_token_length; then for
 * each token float score, int32 length, and its bytes. How many there are only the model knows.
 *
 * Read whole and checked, sorted for lookup by bisection, and written as C tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run.h"

enum { MAX_FILE = 256 << 20, TOKEN_HEADER = 8 };

typedef struct {
        const char *path;
        unsigned char *data; /* [size] */
        int64_t size, at;
} ReadFile;

/* Room for twice as much. */
static bool grow(ReadFile *input, int64_t *capacity, CkError *err)
{
        *capacity = *capacity ? 2 * *capacity : 1 << 16;
        if (*capacity > MAX_FILE)
                return ck_fail(err, "%s: too large for a tokenizer", input->path);
        unsigned char *grown = realloc(input->data, (size_t)*capacity);
        if (!grown)
                return ck_lack(err, "%s: out of memory", input->path);
        input->data = grown;
        return true;
}

static bool load(ReadFile *input, CkError *err)
{
        FILE *file = fopen(input->path, "rb");
        if (!file)
                return ck_lack(err, "%s: cannot open: %s", input->path, strerror(errno));
        bool good = true;
        for (int64_t capacity = 0; good && !feof(file);) {
                if (input->size == capacity)
                        good = grow(input, &capacity, err);
                if (good)
                        input->size += (int64_t)fread(input->data + input->size, 1,
                                                      (size_t)(capacity - input->size), file);
                if (good && ferror(file))
                        good = ck_lack(err, "%s: cannot read: %s", input->path, strerror(errno));
        }
        fclose(file);
        return good;
}

/* Bytes from the place reached, or NULL if the file ends before. */
static const unsigned char *take(ReadFile *input, int64_t size)
{
        if (size > input->size - input->at)
                return NULL;
        input->at += size;
        return input->data + input->at - size;
}

static bool read_token(ReadFile *input, int token, int32_t longest, Tokenizer *tokenizer, CkError *err)
{
        int64_t start = input->at;
        int32_t length = 0;
        const unsigned char *header = take(input, TOKEN_HEADER), *bytes = NULL;
        if (header) {
                memcpy(&tokenizer->score[token], header, sizeof(float));
                memcpy(&length, header + 4, sizeof length);
                if (length < 1 || length > longest)
                        return ck_fail(err,
                                       "%s: byte %lld: token %d has length %d, but 1 .. %d was announced",
                                       input->path, (long long)start, token, length, longest);
                bytes = take(input, length);
        }
        if (!bytes)
                return ck_fail(err, "%s: ends within token %d, but the model's vocabulary has %d",
                               input->path, token, tokenizer->vocab);
        if (tokenizer->score[token] != tokenizer->score[token])
                return ck_fail(err, "%s: byte %lld: the score of token %d is not a number", input->path,
                               (long long)start, token);
        if (memchr(bytes, 0, (size_t)length))
                return ck_fail(err, "%s: byte %lld: token %d contains a 0 byte", input->path,
                               (long long)start + TOKEN_HEADER, token);
        uint32_t offset = tokenizer->offset[token];
        memcpy(tokenizer->bytes + offset, bytes, (size_t)length);
        tokenizer->offset[token + 1] = offset + (uint32_t)length;
        if (length > tokenizer->longest)
                tokenizer->longest = length;
        return true;
}

typedef struct {
        const unsigned char *bytes;
        uint32_t length, token;
} Entry;

static int by_bytes(const void *a, const void *b)
{
        const Entry *x = a, *y = b;
        int order = memcmp(x->bytes, y->bytes, x->length < y->length ? x->length : y->length);
        if (order)
                return order;
        if (x->length != y->length)
                return x->length < y->length ? -1 : 1;
        return (x->token > y->token) - (x->token < y->token);
}

static bool sort_tokens(Tokenizer *tokenizer)
{
        Entry *entry = malloc((size_t)tokenizer->vocab * sizeof *entry);
        if (!entry)
                return false;
        for (uint32_t i = 0; i < (uint32_t)tokenizer->vocab; i++) {
                uint32_t begin = tokenizer->offset[i];
                entry[i] = (Entry){tokenizer->bytes + begin, tokenizer->offset[i + 1] - begin, i};
        }
        qsort(entry, (size_t)tokenizer->vocab, sizeof *entry, by_bytes);
        for (int i = 0; i < tokenizer->vocab; i++)
                tokenizer->sorted[i] = entry[i].token;
        free(entry);
        return true;
}

static bool parse(ReadFile *input, Tokenizer *tokenizer, CkError *err)
{
        const Format *format = format_of(input->data, input->size);
        if (format && format->kind != FORMAT_LLAMA2C_TOKENIZER)
                return ck_fail(err,
                               "%s: this is %s; a tokenizer is a tokenizer.json, or as llama2.c has it, "
                               "tokenizer.bin, which its "
                               "tokenizer.py makes of a SentencePiece model",
                               input->path, format->name);
        const unsigned char *header = take(input, 4);
        int32_t longest = 0;
        if (header)
                memcpy(&longest, header, sizeof longest);
        if (longest < 1)
                return ck_fail(err,
                               "%s: no llama2.c tokenizer: it begins with the length of the longest token",
                               input->path);
        if (tokenizer->vocab > (input->size - 4) / (TOKEN_HEADER + 1))
                return ck_fail(err, "%s: %lld bytes are too few for the model's vocabulary of %d",
                               input->path, (long long)input->size, tokenizer->vocab);
        size_t vocab = (size_t)tokenizer->vocab;
        tokenizer->bytes = malloc((size_t)input->size);
        tokenizer->offset = calloc(vocab + 1, sizeof *tokenizer->offset);
        tokenizer->score = calloc(vocab, sizeof *tokenizer->score);
        tokenizer->sorted = calloc(vocab, sizeof *tokenizer->sorted);
        if (!tokenizer->bytes || !tokenizer->offset || !tokenizer->score || !tokenizer->sorted)
                return ck_lack(err, "%s: out of memory", input->path);
        for (int token = 0; token < tokenizer->vocab; token++)
                if (!read_token(input, token, longest, tokenizer, err))
                        return false;
        if (input->at != input->size)
                return ck_fail(err, "%s: %lld bytes follow token %d, the last of the model's vocabulary",
                               input->path, (long long)(input->size - input->at), tokenizer->vocab - 1);
        return sort_tokens(tokenizer) || ck_lack(err, "%s: out of memory", input->path);
}

static bool is_large_enough(int vocab, const char *path, CkError *err)
{
        enum { UNKNOWN, BEGIN, END, LEAST };
        return vocab >= LEAST ||
               ck_fail(err,
                       "%s: the model's vocabulary of %d is too small: tokens %d to %d are the "
                       "unknown, the beginning and the end",
                       path, vocab, UNKNOWN, END);
}

bool tokenizer_is_published(const char *path)
{
        struct stat about;
        if (stat(path, &about) || S_ISDIR(about.st_mode))
                return !stat(path, &about);
        const Format *format = format_of_file(path);
        return (format && format->kind == FORMAT_GGUF) || tokenizer_is_file(path);
}

static bool read_published(const char *path, const TokenBlock *given, Tokenizer *t, CkError *err)
{
        bool lacking = false;
        const char *wrong = given ? NULL : tokenizer_open(&t->arena, path, &t->block, &lacking);
        if (given)
                t->block = *given;
        if (wrong)
                return lacking || lacks_memory(wrong) ? ck_lack(err, "%s", wrong) : ck_fail(err, "%s", wrong);
        if (t->block.vocab > t->vocab)
                return ck_fail(err, "%s: its ids go up to %d, and the model's vocabulary to %d", path,
                               t->block.vocab - 1, t->vocab - 1);
        tokens_open(&t->tables, t->block.block, (uint64_t)t->block.size);
        t->longest = (int)tokens_decode_room(&t->tables);
        return true;
}

bool tokenizer_read(const char *path, const TokenBlock *given, int vocab, Tokenizer *tokenizer, CkError *err)
{
        ReadFile input = {.path = path};
        *tokenizer = (Tokenizer){.vocab = vocab, .start = -1};
        if (given || tokenizer_is_published(path)) {
                bool fits = read_published(path, given, tokenizer, err);
                if (!fits)
                        tokenizer_free(tokenizer);
                return fits;
        }
        bool good = is_large_enough(vocab, path, err);
        good = good && load(&input, err) && parse(&input, tokenizer, err);
        free(input.data);
        if (!good)
                tokenizer_free(tokenizer);
        return good;
}

void tokenizer_free(Tokenizer *tokenizer)
{
        free(tokenizer->bytes);
        free(tokenizer->offset);
        free(tokenizer->score);
        free(tokenizer->sorted);
        arena_free(&tokenizer->arena);
        *tokenizer = (Tokenizer){0};
}

static void emit_integers(Text *out, const char *declaration, const uint32_t *value, int n)
{
        text_printf(out, "%s = {", declaration);
        for (int i = 0; i < n; i++)
                text_printf(out, "%s%u,", i % 16 ? " " : "\n        ", value[i]);
        text_printf(out, "\n};\n\n");
}

static void emit_bytes(const Tokenizer *tokenizer, Text *out)
{
        text_printf(out,
                    "/* The tokens' bytes, end to end. */\nstatic const unsigned char token_bytes[] = {");
        for (uint32_t i = 0; i < tokenizer->offset[tokenizer->vocab]; i++)
                text_printf(out, "%s%u,", i % 24 ? "" : "\n        ", tokenizer->bytes[i]);
        text_printf(out, "\n};\n\n");
}

static void emit_scores(const Tokenizer *tokenizer, Text *out)
{
        text_printf(out, "/* Which merge comes first: the highest. */\n"
                         "static const float token_score[TOKENIZER_VOCAB] = {");
        for (int i = 0; i < tokenizer->vocab; i++) {
                float score = tokenizer->score[i];
                bool whole = score >= -0x1p24f && score <= 0x1p24f && score == (float)(int32_t)score;
                text_printf(out, i % 16 ? " " : "\n        ");
                text_printf(out, whole ? "%.0f," : "%af,", (double)score);
        }
        text_printf(out, "\n};\n\n");
}

const char *tokenizer_text(Arena *a, const Tokenizer *tokenizer)
{
        Text *out = text_new(a);
        text_printf(out, "enum { TOKENIZER_VOCAB = %d, TOKENIZER_LONGEST = %d };\n\n", tokenizer->vocab,
                    tokenizer->longest);
        emit_bytes(tokenizer, out);
        emit_integers(out,
                      "/* Token i is token_bytes[token_offset[i]] and on, up to token_offset[i + 1]. */\n"
                      "static const uint32_t token_offset[TOKENIZER_VOCAB + 1]",
                      tokenizer->offset, tokenizer->vocab + 1);
        emit_scores(tokenizer, out);
        emit_integers(out,
                      tokenizer->vocab <= 65536 ? "/* Tokens in order of their bytes. */\n"
                                                  "static const uint16_t token_sorted[TOKENIZER_VOCAB]"
                                                : "/* Tokens in order of their bytes. */\n"
                                                  "static const uint32_t token_sorted[TOKENIZER_VOCAB]",
                      tokenizer->sorted, tokenizer->vocab);
        return out->data;
}
