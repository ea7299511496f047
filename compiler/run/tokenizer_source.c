/* A tokenizer from whatever holds one: the files that text.h reads, and a GGUF, whose pairs are weights.h's to read. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

typedef struct {
        Arena *arena;
        const Checkpoint *file;
        const char *wrong; /* the first that was */
} Pairs;

static const CkPair *pair_of(const Pairs *p, const char *name)
{
        return checkpoint_pair(p->file, arena_printf(p->arena, "tokenizer.ggml.%s", name));
}

static void refuse(Pairs *p, const CkPair *pair, const char *wanted)
{
        if (!p->wrong)
                p->wrong = arena_printf(p->arena, "%s: %s: %s wanted here", checkpoint_path(p->file),
                                        pair->key, wanted);
}

static const char *text_in(Pairs *p, const char *name)
{
        const CkPair *pair = pair_of(p, name);
        CkText text;
        if (!pair)
                return NULL;
        if (pair->list || pair->kind != CK_TEXT)
                return refuse(p, pair, "a text is"), NULL;
        pair_texts(pair, &text);
        return arena_strndup(p->arena, text.bytes, text.n);
}

/* -1: nothing is said */
static int64_t number_in(Pairs *p, const char *name, CkPairKind kind)
{
        const CkPair *pair = pair_of(p, name);
        int64_t value = -1;
        if (!pair)
                return -1;
        if (pair->list || pair->kind != kind || !pair_integers(pair, &value))
                refuse(p, pair, kind == CK_TRUTH ? "true or false is" : "a token's number is");
        return value;
}

static int truth_in(Pairs *p, const char *name)
{
        return (int)number_in(p, name, CK_TRUTH);
}

static Bytes *texts_in(Pairs *p, const char *name, int64_t *n)
{
        const CkPair *pair = pair_of(p, name);
        *n = 0;
        if (!pair)
                return NULL;
        CkText *text = NEW_ARRAY(p->arena, CkText, pair->count + 1);
        Bytes *bytes = NEW_ARRAY(p->arena, Bytes, pair->count + 1);
        if (!pair->list || !pair_texts(pair, text))
                return refuse(p, pair, "a list of texts is"), NULL;
        for (int64_t i = 0; i < pair->count; i++)
                bytes[i] = (Bytes){text[i].bytes, text[i].n};
        *n = pair->count;
        return bytes;
}

static int64_t *integers_in(Pairs *p, const char *name, int64_t *n)
{
        const CkPair *pair = pair_of(p, name);
        *n = 0;
        if (!pair)
                return NULL;
        int64_t *value = NEW_ARRAY(p->arena, int64_t, pair->count + 1);
        if (!pair->list || !pair_integers(pair, value))
                return refuse(p, pair, "a list of integers is"), NULL;
        *n = pair->count;
        return value;
}

static double *scores_in(Pairs *p)
{
        const CkPair *pair = pair_of(p, "scores");
        if (!pair)
                return NULL;
        double *score = NEW_ARRAY(p->arena, double, pair->count + 1);
        if (!pair->list || !pair_reals(pair, score))
                return refuse(p, pair, "a list of numbers is"), NULL;
        for (int64_t i = 0; i < pair->count; i++)
                if (score[i] != score[i])
                        refuse(p, pair, "numbers are");
        return score;
}

static GgufTokenizer pairs_of(Pairs *p)
{
        GgufTokenizer g = {.path = checkpoint_path(p->file)};
        int64_t nkind;
        g.model = text_in(p, "model");
        g.pre = text_in(p, "pre");
        g.token = texts_in(p, "tokens", &g.ntoken);
        g.merge = texts_in(p, "merges", &g.nmerge);
        g.score = scores_in(p); /* as many as tokens: the reader of GGUF has seen to that */
        g.kind = integers_in(p, "token_type", &nkind);
        g.begin = number_in(p, "bos_token_id", CK_INTEGER);
        g.end = number_in(p, "eos_token_id", CK_INTEGER);
        g.unknown = number_in(p, "unknown_token_id", CK_INTEGER);
        g.separator = number_in(p, "seperator_token_id", CK_INTEGER); /* the format's spelling */
        g.class = number_in(p, "cls_token_id", CK_INTEGER);
        g.charsmap = integers_in(p, "precompiled_charsmap", &g.ncharsmap);
        g.add_begin = truth_in(p, "add_bos_token");
        g.add_end = truth_in(p, "add_eos_token");
        g.add_separator = truth_in(p, "add_sep_token");
        g.add_space_prefix = truth_in(p, "add_space_prefix");
        g.remove_spaces = truth_in(p, "remove_extra_whitespaces");
        return g;
}

static const char *of_gguf(Arena *a, const char *path, TokenBlock *out, bool *lacking)
{
        CkError error = {.environment = false};
        Checkpoint *file = checkpoint_open(path, &error);
        *lacking = error.environment;
        if (!file)
                return arena_printf(a, "%s", error.message);
        Pairs p = {.arena = a, .file = file};
        GgufTokenizer g = pairs_of(&p);
        const char *wrong = p.wrong ? p.wrong : tokenizer_of_gguf(a, &g, out);
        checkpoint_close(file);
        return wrong;
}

const char *tokenizer_open(Arena *a, const char *path, TokenBlock *out, bool *lacking)
{
        const Format *format = format_of_file(path);
        return format && format->kind == FORMAT_GGUF ? of_gguf(a, path, out, lacking)
                                                     : tokenizer_load(a, path, out, lacking);
}
