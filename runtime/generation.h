/*
 * Generation: a text goes on token by token, as a loop lets it.
 *
 * Model and output are behind functions: lathe's engines and emitted programs generate by the same lines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of a loop: those that end a text, that it begins with, that are never chosen, and not as the first one.  Each ends with -1. */
typedef struct {
        const int32_t *stop, *first, *forbid, *forbid_first;
} LoopTokens;

static inline int loop_stops(const LoopTokens *l, int32_t token)
{
        for (int i = 0; l->stop[i] >= 0; i++)
                if (l->stop[i] == token)
                        return 1;
        return 0;
}

static inline void loop_rule_out(const int32_t *tokens, float *logits, int64_t vocab)
{
        for (; *tokens >= 0; tokens++)
                if (*tokens < vocab)
                        logits[*tokens] = -1.0f / 0.0f;
}

/* The token at a place of the text, where it is prescribed; else -1, and logits [vocab] leave what may be chosen.  made: the tokens
 * between it and the prompt. */
static inline int32_t loop_prescribes(const LoopTokens *l, int64_t place, int64_t made, float *logits, int64_t vocab)
{
        int64_t n = 0;
        while (l->first[n] >= 0)
                if (++n == place)
                        return l->first[n - 1];
        loop_rule_out(l->forbid, logits, vocab);
        if (made == 0 || place == n + 1)
                loop_rule_out(l->forbid_first, logits, vocab);
        return -1;
}

enum { GENERATION_MEMORY = -1, GENERATION_CONTEXT = -2 };

/* Errors of the functions are above 0. */
typedef struct {
        void *of; /* their first argument */
        int64_t (*position)(void *of);
        int (*take)(void *of, const int32_t *tokens, int64_t n, float *logits); /* logits [n, vocab], or NULL: not wanted */
        int32_t (*sample)(void *of, float *logits);
        int (*show)(void *of, int32_t token); /* 0, an error, or below 0: the text ends here */
        double (*seconds)(void);
        LoopTokens tokens;
        int64_t vocab, context;
        int64_t steps;    /* at most so many new tokens */
        int64_t chunk;    /* the prompt in pieces of so many */
        int hashes;       /* all logits, those of the prompt's positions too */
        float *logits;    /* room for [vocab] */
} Generator;

typedef struct {
        int64_t prompt, made;               /* tokens that were not taken yet; new ones */
        int ended;                          /* by a stop token, or by what shows it */
        double first_seconds, rest_seconds; /* prompt and first new token; the other made - 1 */
        uint64_t hash;
} Generated;

/* FNV-1a over the bits of x [n], every NaN the same. */
static inline uint64_t hash_floats(uint64_t h, const float *x, int64_t n)
{
        for (int64_t i = 0; i < n; i++) {
                uint32_t bits = 0x7fc00000;
                if (x[i] == x[i])
                        memcpy(&bits, &x[i], sizeof bits);
                for (int byte = 0; byte < 4; byte++)
                        h = (h ^ (bits >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
        }
        return h;
}

/* All but the prompt's last token; their logits are worked out only to be hashed. */
static inline int generation_prompt(const Generator *g, const int32_t *tokens, int64_t n, uint64_t *hash)
{
        int error = 0;
        for (int64_t i = 0, chunk; i < n && !error; i += chunk) {
                chunk = n - i < g->chunk ? n - i : g->chunk;
                if (!g->hashes) {
                        error = g->take(g->of, tokens + i, chunk, NULL);
                        continue;
                }
                float *logits = chunk < INT64_MAX / g->vocab / 4 ? (float *)malloc((size_t)(chunk * g->vocab) * sizeof *logits) : NULL;
                error = logits ? g->take(g->of, tokens + i, chunk, logits) : GENERATION_MEMORY;
                if (!error)
                        *hash = hash_floats(*hash, logits, chunk * g->vocab);
                free(logits);
        }
        return error;
}

/* Goes on after tokens [n] until a stop token, the number of steps or the end of the context; the model may have taken some of them, but
 * not the last. */
static inline int generation_run(const Generator *g, const int32_t *tokens, int64_t n, Generated *made)
{
        int64_t taken = g->position(g->of);
        double begin = g->seconds(), first = begin;
        *made = (Generated){.prompt = n - taken, .hash = UINT64_C(0xcbf29ce484222325)};
        if (n > g->context)
                return GENERATION_CONTEXT;
        int error = generation_prompt(g, tokens + taken, n - 1 - taken, &made->hash);
        int32_t token = tokens[n - 1], next;
        for (; !error && made->made < g->steps && g->position(g->of) < g->context; made->made++, token = next) {
                error = g->take(g->of, &token, 1, g->logits);
                if (error)
                        break;
                if (g->hashes)
                        made->hash = hash_floats(made->hash, g->logits, g->vocab);
                next = loop_prescribes(&g->tokens, g->position(g->of), made->made, g->logits, g->vocab);
                if (next < 0)
                        next = g->sample(g->of, g->logits);
                if (made->made == 0)
                        first = g->seconds();
                int shown = loop_stops(&g->tokens, next) ? -1 : g->show(g->of, next);
                made->ended = shown < 0;
                if (made->ended)
                        break;
                error = shown;
        }
        made->first_seconds = first - begin;
        made->rest_seconds = g->seconds() - first;
        return error;
}
