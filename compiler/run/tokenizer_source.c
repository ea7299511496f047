/* Loads a tokenizer from a file for text.h, or from a GGUF, whose pairs weights.h reads; and converts a
 * model's texts. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

typedef struct {
        Arena *arena;
        const Checkpoint *file;
        const char *wrong; /* the first error */
} TokenizerPairs;

/* A pair of the tokenizer, or one of the whole file by its full name: general.… */
static const CkPair *tokenizer_pair(const TokenizerPairs *p, const char *name)
{
        bool general = !strncmp(name, "general.", 8);
        return checkpoint_pair(p->file, general ? name : arena_printf(p->arena, "tokenizer.ggml.%s", name));
}

static void pair_refuse(TokenizerPairs *p, const CkPair *pair, const char *wanted)
{
        if (!p->wrong)
                p->wrong = arena_printf(p->arena, "%s: %s: expected %s", checkpoint_path(p->file), pair->key,
                                        wanted);
}

static const char *text_in(TokenizerPairs *p, const char *name)
{
        const CkPair *pair = tokenizer_pair(p, name);
        CkText text;
        if (!pair)
                return NULL;
        if (pair->list || pair->kind != CK_TEXT)
                return pair_refuse(p, pair, "a text is"), NULL;
        pair_texts(pair, &text);
        return arena_strndup(p->arena, text.bytes, text.n);
}

/* -1: not given */
static int64_t number_in(TokenizerPairs *p, const char *name, CkPairKind kind)
{
        const CkPair *pair = tokenizer_pair(p, name);
        int64_t value = -1;
        if (!pair)
                return -1;
        if (pair->list || pair->kind != kind || !pair_integers(pair, &value))
                pair_refuse(p, pair, kind == CK_TRUTH ? "true or false" : "a token id");
        return value;
}

static int truth_in(TokenizerPairs *p, const char *name)
{
        return (int)number_in(p, name, CK_TRUTH);
}

static Bytes *texts_in(TokenizerPairs *p, const char *name, int64_t *n)
{
        const CkPair *pair = tokenizer_pair(p, name);
        *n = 0;
        if (!pair)
                return NULL;
        CkText *text = NEW_ARRAY(p->arena, CkText, pair->count + 1);
        Bytes *bytes = NEW_ARRAY(p->arena, Bytes, pair->count + 1);
        if (!pair->list || !pair_texts(pair, text))
                return pair_refuse(p, pair, "a list of strings"), NULL;
        for (int64_t i = 0; i < pair->count; i++)
                bytes[i] = (Bytes){text[i].bytes, text[i].n};
        *n = pair->count;
        return bytes;
}

static int64_t *integers_in(TokenizerPairs *p, const char *name, int64_t *n)
{
        const CkPair *pair = tokenizer_pair(p, name);
        *n = 0;
        if (!pair)
                return NULL;
        int64_t *value = NEW_ARRAY(p->arena, int64_t, pair->count + 1);
        if (!pair->list || !pair_integers(pair, value))
                return pair_refuse(p, pair, "a list of integers"), NULL;
        *n = pair->count;
        return value;
}

static double *scores_in(TokenizerPairs *p)
{
        const CkPair *pair = tokenizer_pair(p, "scores");
        if (!pair)
                return NULL;
        double *score = NEW_ARRAY(p->arena, double, pair->count + 1);
        if (!pair->list || !pair_reals(pair, score))
                return pair_refuse(p, pair, "a list of numbers"), NULL;
        for (int64_t i = 0; i < pair->count; i++)
                if (score[i] != score[i])
                        pair_refuse(p, pair, "numbers");
        return score;
}

static GgufTokenizer pairs_of(TokenizerPairs *p)
{
        GgufTokenizer g = {.path = checkpoint_path(p->file)};
        int64_t nkind;
        g.model = text_in(p, "model");
        g.pre = text_in(p, "pre");
        g.name = text_in(p, "general.name");
        g.architecture = text_in(p, "general.architecture");
        g.token = texts_in(p, "tokens", &g.ntoken);
        g.merge = texts_in(p, "merges", &g.nmerge);
        g.score = scores_in(p); /* one per token, as the GGUF reader has checked */
        g.kind = integers_in(p, "token_type", &nkind);
        g.begin = number_in(p, "bos_token_id", CK_INTEGER);
        g.end = number_in(p, "eos_token_id", CK_INTEGER);
        g.unknown = number_in(p, "unknown_token_id", CK_INTEGER);
        g.separator = number_in(p, "seperator_token_id", CK_INTEGER); /* the format's spelling */
        g.class = number_in(p, "cls_token_id", CK_INTEGER);
        g.charsmap = integers_in(p, "precompiled_charsmap", &g.ncharsmap);
        g.add_begin = truth_in(p, "add_bos_token");
        g.add_end = truth_in(p, "add_eos_token");
        g.add_space_prefix = truth_in(p, "add_space_prefix");
        g.remove_spaces = truth_in(p, "remove_extra_whitespaces");
        g.lowercase = truth_in(p, "normalizer.lowercase");
        g.strip_accents = truth_in(p, "normalizer.strip_accents");
        return g;
}

static const char *of_gguf(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        CkError error = {.environment = false};
        Checkpoint *file = checkpoint_open(path, &error);
        *env_error = error.environment;
        if (!file)
                return arena_printf(a, "%s", error.message);
        TokenizerPairs p = {.arena = a, .file = file};
        GgufTokenizer g = pairs_of(&p);
        const char *wrong = p.wrong ? p.wrong : tokenizer_of_gguf(a, &g, out);
        checkpoint_close(file);
        return wrong;
}

const char *tokenizer_open(Arena *a, const char *path, TokenBlock *out, bool *env_error)
{
        const Format *format = format_of_file(path);
        return format && format->kind == FORMAT_GGUF ? of_gguf(a, path, out, env_error)
                                                     : tokenizer_load(a, path, out, env_error);
}

/* --- for a model ----------------------------------------------------------------------------------------------------- */

static bool tokenizer_fits(const char *path, const Tokenizer *t, CkError *err)
{
        if (t->block.is_open_ended && t->block.vocab != t->vocab)
                return ck_fail(err, "%s: it has %d tokens, but the model's vocabulary has %d", path,
                               t->block.vocab, t->vocab);
        return t->block.vocab <= t->vocab ||
               ck_fail(err, "%s: its ids go up to %d, and the model's vocabulary to %d", path,
                       t->block.vocab - 1, t->vocab - 1);
}

bool tokenizer_read(const char *path, const TokenBlock *given, int vocab, Tokenizer *t, CkError *err)
{
        bool env_error = false;
        *t = (Tokenizer){.vocab = vocab, .start = -1};
        const char *wrong = given ? NULL : tokenizer_open(&t->arena, path, &t->block, &env_error);
        if (given)
                t->block = *given;
        bool good = wrong ? env_error || lacks_memory(wrong) ? ck_lack(err, "%s", wrong)
                                                             : ck_fail(err, "%s", wrong)
                          : tokenizer_fits(path, t, err);
        if (!good) {
                tokenizer_free(t);
                return false;
        }
        if (t->block.vocab < vocab / 2)
                fprintf(stderr,
                        "lathe: note: %s has %d tokens, and the model's vocabulary %d: it may be of another "
                        "model\n",
                        path, t->block.vocab, vocab);
        tokens_open(&t->tables, t->block.block, (uint64_t)t->block.size);
        t->longest = (int)tokens_decode_room(&t->tables);
        return true;
}

void tokenizer_free(Tokenizer *t)
{
        arena_free(&t->arena);
        *t = (Tokenizer){0};
}

int32_t *text_to_tokens(const Tokenizer *t, const char *text, int64_t n, int64_t *count)
{
        *count = 0;
        if (n > tokens_most(&t->tables))
                return NULL;
        int64_t room = tokens_room(&t->tables, n) + 1;
        int32_t *tokens = malloc((size_t)room * sizeof *tokens);
        void *scratch = malloc((size_t)tokens_scratch(&t->tables, n));
        if (tokens && scratch)
                *count = tokens_encode(&t->tables, text, n, t->flags, tokens, room, scratch);
        free(scratch);
        if (tokens && !*count && t->start >= 0)
                tokens[(*count)++] = t->start;
        if (scratch)
                return tokens;
        free(tokens);
        return NULL;
}

int32_t *pair_to_tokens(const Tokenizer *t, TextPart first, TextPart second, int64_t most, int32_t **types,
                        int64_t *count, int64_t *all)
{
        *types = NULL;
        if (tokens_pair_bytes(&t->tables, first.n, second.n) > tokens_most(&t->tables))
                return NULL;
        const int64_t room = tokens_pair_room(&t->tables, first.n, second.n);
        int32_t *tokens = malloc((size_t)room * sizeof *tokens);
        void *scratch = malloc((size_t)tokens_pair_scratch(&t->tables, first.n, second.n));
        *types = malloc((size_t)room * sizeof **types);
        *count = tokens && scratch && *types
                         ? tokens_encode_pair(&t->tables, first.text, first.n, second.text, second.n, most,
                                              tokens, *types, all, scratch)
                         : -1;
        free(scratch);
        if (*count >= 0)
                return tokens;
        free(tokens);
        free(*types);
        return *types = NULL;
}

int token_to_text(const Tokenizer *t, int32_t previous, int32_t token, char *out)
{
        bool begins = previous < 0 || previous >= t->block.vocab ||
                      (t->tables.section[TOKENS_MARKS][previous] & TOKEN_CONTROL);
        TokenDecoder decoder = {.begun = !begins};
        int64_t n = tokens_decode(&t->tables, &decoder, token, 0, out);
        return (int)(n + tokens_decode_end(&decoder, out + n));
}

int token_label(const Tokenizer *t, int32_t token, char *out)
{
        TokenDecoder decoder = {.begun = true};
        int64_t n = tokens_decode(&t->tables, &decoder, token, TOKENS_CONTROL, out);
        return (int)(n + tokens_decode_end(&decoder, out + n));
}
