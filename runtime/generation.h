/*
 * Generation: a text is continued token by token, as its loop prescribes.
 *
 * Model and output are callbacks: lathe's engines and emitted programs share this code.
 */

#if !defined(EMITTED)
#include "facts.h"
#endif

#include <stdint.h>
#if HAS_COMMAND
#include <stdlib.h>
#endif
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

/* Finds the tokens whose text is this [n], into tokens, or NULL: how many. */
typedef int64_t LoopTextTokens(const void *of, const char *text, int64_t n, int32_t *tokens);

/* What a list names, with commas between: numbers below vocab, and texts in double quotes, each of which stands for all tokens with this
 * text.  Into tokens, with -1 behind them, or NULL: how many; -1: it is no such list. */
static inline int64_t loop_read_tokens(const char *list, int64_t vocab, LoopTextTokens *find, const void *of, int32_t *tokens)
{
        int64_t n = 0;
        for (const char *end;; list = end + 1) {
                const char *text = list + strspn(list, " ");
                int64_t found = 1;
                if (*text == '"') {
                        text++;
                        end = text + strcspn(text, "\"");
                        found = *end && end > text ? find(of, text, end - text, tokens ? tokens + n : NULL) : 0;
                        end += *end != 0;
                } else {
                        char *after;
                        const long long token = strtoll(text, &after, 10);
                        end = after;
                        if (end == text || token < 0 || token >= vocab)
                                return -1;
                        if (tokens)
                                tokens[n] = (int32_t)token;
                }
                n += found;
                if (!found || (*end && *end != ','))
                        return -1;
                if (!*end)
                        break;
        }
        if (tokens)
                tokens[n] = -1;
        return n;
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

/* How a token is chosen among what may be (sampler.h). */
typedef struct {
        float temperature; /* 0: the likeliest token, always */
        int top_k;         /* 0: no limit */
        float top_p;       /* 1: no limit; 0: the likeliest token alone */
        float min_p;       /* 0: no limit */
        float typical_p;   /* 1: no limit */
        uint64_t state;    /* of the generator; the seed at first, any value */
        int32_t *order;    /* scratch [vocabulary] */
        float *weight;     /* the same */
} Sampler;

/* What makes tokens that are in the text less likely, before anything is chosen.  0 in all: nothing does. */
typedef struct {
        float repetition; /* a logit above 0 is divided by it, one below multiplied (Keskar et al., 2019); 0 or 1: neither */
        float presence;   /* taken off the logit of a token that was made */
        float frequency;  /* the same, times how often it was made */
} Penalties;

static inline int penalties_apply(const Penalties *p)
{
        return (p->repetition > 0 && p->repetition != 1) || p->presence != 0 || p->frequency != 0;
}

/* times [vocab]: how often a token was made; -1: it is in the prompt alone.  Products in double are exact, so that no compiler's fused
 * operation changes a bit. */
static inline void penalties_take(const Penalties *p, const int32_t *times, float *logits, int64_t vocab)
{
        for (int64_t i = 0; i < vocab; i++) {
                if (times[i] == 0)
                        continue;
                if (p->repetition > 0 && p->repetition != 1)
                        logits[i] = logits[i] > 0 ? logits[i] / p->repetition : logits[i] * p->repetition;
                if (times[i] > 0)
                        logits[i] = (float)((double)logits[i] - ((double)p->presence + (double)p->frequency * times[i]));
        }
}

/* GENERATION_NONE: no token may be chosen, for every logit is -inf or NaN. */
enum { GENERATION_MEMORY = -1, GENERATION_CONTEXT = -2, GENERATION_NONE = -3 };

/* Errors of the functions are above 0.  The member before a function is its first argument. */
typedef struct {
        void *model;
        int (*take)(void *model, const int32_t *tokens, int64_t n, float *logits); /* logits [n, vocab], or NULL: not wanted */
        int (*rewind)(void *model, int64_t n); /* back to the first n positions */
        Sampler *sampler;
        int (*sample)(Sampler *s, float *logits, int n);
        void *of;
        int (*show)(void *of, int32_t token); /* 0, or the text ends here; or NULL */
        void *ruler;
        /* What may not come behind text [n] becomes -inf; 0, an error, or below 0: the text ends here.  Or NULL: all may come. */
        int (*rule)(void *ruler, const int32_t *text, int64_t n, float *logits);
        void *proposer;
        /* Writes up to `most` drafts of the tokens after text [n], and returns their number.  NULL: generation_draft() makes them. */
        int64_t (*propose)(void *proposer, const int32_t *text, int64_t n, int32_t *drafts, int64_t most);
        LoopTokens tokens;
#if HAS_COMMAND
        double (*seconds)(void);
        const int32_t *suppress; /* more that are never chosen, -1 behind them; or NULL */
        int hashes;              /* all logits, those of the prompt's positions too */
#endif
        int64_t vocab, context;
        int64_t steps;    /* at most so many new tokens */
        int64_t chunk;    /* the prompt in pieces of so many */
        int drafts;       /* at most so many tokens are drafted at a time */
        Penalties penalties;
        float *logits;    /* generation_lay() sets these: room for [1 + drafts, vocab], */
        int32_t *times;   /* [vocab], for the penalties, */
        int32_t *text;    /* and [context + 1] */
} Generator;

typedef struct {
        int64_t prompt, made;               /* tokens that were not taken yet; new ones */
        int64_t drafted, stood;             /* tokens that were drafted; that were what came */
        int ended;                          /* by a stop token, or by what shows it */
#if HAS_COMMAND
        double first_seconds, rest_seconds; /* prompt and first new token; the other made - 1 */
        uint64_t hash;
#endif
} Generated;

/* Bytes that generation_lay() lays out. */
static inline size_t generation_room(int64_t vocab, int64_t context, int drafts)
{
        return sizeof(float) * (size_t)((4 + (int64_t)drafts) * vocab + context + 1);
}

/* The scratch of generator and sampler in `room`, aligned to 4. */
static inline void generation_lay(Generator *g, void *room)
{
        g->logits = (float *)room;
        g->sampler->weight = g->logits + (1 + (int64_t)g->drafts) * g->vocab;
        g->sampler->order = (int32_t *)(void *)(g->sampler->weight + g->vocab);
        g->times = g->sampler->order + g->vocab;
        g->text = g->times + g->vocab;
}

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

#if HAS_COMMAND
/* Tokens of the prompt whose logits are worked out to be hashed. */
static inline int generation_hash(const Generator *g, const int32_t *tokens, int64_t n, Generated *made)
{
        float *logits = n < INT64_MAX / g->vocab / 4 ? (float *)malloc((size_t)(n * g->vocab) * sizeof *logits) : NULL;
        const int error = logits ? g->take(g->model, tokens, n, logits) : GENERATION_MEMORY;
        if (!error)
                made->hash = hash_floats(made->hash, logits, n * g->vocab);
        free(logits);
        return error;
}
#endif

/* All but the prompt's last token. */
static inline int generation_prompt(const Generator *g, const int32_t *tokens, int64_t n, Generated *made)
{
        int error = 0;
        for (int64_t i = 0, chunk; i < n && !error; i += chunk) {
                chunk = n - i < g->chunk ? n - i : g->chunk;
#if HAS_COMMAND
                if (g->hashes) {
                        error = generation_hash(g, tokens + i, chunk, made);
                        continue;
                }
#else
                (void)made;
#endif
                error = g->take(g->model, tokens + i, chunk, NULL);
        }
        return error;
}

/* Of the penalties: the prompt's tokens. */
static inline void generation_count(const Generator *g, const int32_t *tokens, int64_t n)
{
        for (int64_t i = 0; i < g->vocab; i++)
                g->times[i] = 0;
        for (int64_t i = 0; i < n; i++)
                if (tokens[i] >= 0 && tokens[i] < g->vocab)
                        g->times[tokens[i]] = -1;
}

/* What may come after text [n], put behind it: as it went on where its last tokens stood before, the last four or at least two (Saxena,
 * 2023, "Prompt lookup decoding").  How many, at most `most`. */
static inline int64_t generation_draft(int32_t *text, int64_t n, int64_t most)
{
        for (int64_t size = 4; most > 0 && size >= 2; size--)
                for (int64_t at = n - 1; at >= size; at--) {
                        if (memcmp(text + at - size, text + n - size, (size_t)size * sizeof *text))
                                continue;
                        for (int64_t i = 0; i < most; i++)
                                text[n + i] = text[at + i];
                        return most;
                }
        return 0;
}

/* The same by whoever proposes tokens, up to the first that is none; more than `most` of them are none. */
static inline int64_t generation_propose(const Generator *g, int64_t n, int64_t most)
{
        if (!g->propose)
                return generation_draft(g->text, n, most);
        const int32_t *drafts = g->text + n;
        const int64_t proposed = most > 0 ? g->propose(g->proposer, g->text, n, g->text + n, most) : 0;
        int64_t right = 0;
        while (right < proposed && proposed <= most && drafts[right] >= 0 && drafts[right] < g->vocab)
                right++;
        return right;
}

enum { TEXT_ENDS = -1, NO_CHOICE = INT32_MIN }; /* no tokens */

/* Whether one of logits [n] at least is above -inf. */
static inline int generation_has_choice(const float *logits, int64_t n)
{
        int64_t i = 0;
        while (i < n && !(logits[i] > -1.0f / 0.0f))
                i++;
        return i < n;
}

/* The next token of a text at its place, after made->made new ones; NO_CHOICE; TEXT_ENDS, or below it, by so much, the rule's error. */
static inline int32_t generation_choose(const Generator *g, const Generated *made, int64_t place, float *logits)
{
        int32_t *times = penalties_apply(&g->penalties) ? g->times : NULL;
#if HAS_PRESCRIBED
        int32_t next = loop_prescribes(&g->tokens, place, made->made, logits, g->vocab);
#else
        int32_t next = -1;
        (void)made;
#endif
#if HAS_COMMAND
        if (next < 0 && g->suppress)
                loop_rule_out(g->suppress, logits, g->vocab);
#endif
        const int ruled = next < 0 && g->rule ? g->rule(g->ruler, g->text, place, logits) : 0;
        if (ruled)
                return ruled < 0 ? TEXT_ENDS : TEXT_ENDS - ruled;
        if (next < 0 && times)
                penalties_take(&g->penalties, times, logits, g->vocab);
        if (next < 0)
                next = generation_has_choice(logits, g->vocab) ? g->sample(g->sampler, logits, (int)g->vocab) : NO_CHOICE;
        if (times && next >= 0 && next < g->vocab)
                times[next] = times[next] < 0 ? 1 : times[next] + 1;
        return next;
}

/* Runs the model on g->text[at] and the drafts after it, and replaces the drafts by the chosen tokens, up to the first that differs: the text is
 * the same as without drafts.  Returns how many of the tokens that it ran stay in the model's state: 1, and one for each accepted draft; 0 after
 * an error of the model. */
static inline int64_t generation_check(const Generator *g, int64_t at, int64_t drafts, Generated *made, int *error)
{
        float *logits = g->logits;
        *error = g->take(g->model, g->text + at, 1 + drafts, logits);
        for (int64_t i = 0; !*error; i++, logits += g->vocab) {
                int32_t *next = g->text + at + 1 + i, drafted = i < drafts ? *next : -1;
#if HAS_COMMAND
                if (g->hashes)
                        made->hash = hash_floats(made->hash, logits, g->vocab);
#endif
                *next = generation_choose(g, made, at + 1 + i, logits);
#if HAS_COMMAND
                if (made->made == 0)
                        made->first_seconds = g->seconds();
#endif
                if (*next == NO_CHOICE) {
                        *error = GENERATION_NONE;
                        return i + 1;
                }
                *error = *next < 0 ? TEXT_ENDS - *next : 0;
                made->ended = *next == TEXT_ENDS || (*next >= 0 && loop_stops(&g->tokens, *next)) ||
                              (*next >= 0 && g->show && g->show(g->of, *next));
                made->made += !made->ended && *next >= 0;
                if (made->ended || *next != drafted)
                        return i + 1;
        }
        return 0;
}

/* A state that sums over blocks of positions goes back to where one begins at most (scan_state.h): drafts end with a block of 64. */
static inline int64_t generation_drafts(const Generator *g, const Generated *made, int64_t at, int64_t most)
{
        const int64_t room = g->context - at - 1, steps = g->steps - made->made - 1, block = 63 - at % 64;
        most = most < room ? most : room;
        most = most < steps ? most : steps;
        return most < block ? most : block;
}

/* Goes on after tokens [n] until a stop token, the number of steps or the end of the context; the model has `taken` the first of them, but not
 * the last. */
static inline int generation_run(const Generator *g, const int32_t *tokens, int64_t n, int64_t taken, Generated *made)
{
        int64_t at = n - 1, most = g->drafts;
        *made = (Generated){.prompt = n - taken};
#if HAS_COMMAND
        const double begin = g->seconds();
        made->first_seconds = begin;
        made->hash = UINT64_C(0xcbf29ce484222325);
#endif
        if (n > g->context)
                return GENERATION_CONTEXT;
        memcpy(g->text, tokens, (size_t)n * sizeof *tokens);
        if (penalties_apply(&g->penalties))
                generation_count(g, tokens, n);
        int error = generation_prompt(g, tokens + taken, n - 1 - taken, made);
        while (!error && !made->ended && made->made < g->steps && at < g->context) {
                const int64_t drafts = generation_propose(g, at + 1, generation_drafts(g, made, at, most));
                const int64_t right = generation_check(g, at, drafts, made, &error);
                at += right;
                if (!error && right < 1 + drafts)
                        error = g->rewind(g->model, at);
                made->drafted += drafts;
                made->stood += right > 0 ? right - 1 : 0;
                if (drafts) /* where they are wrong, fewer */
                        most = right > drafts ? 2 * most : right;
                most = most < g->drafts ? most : g->drafts;
        }
#if HAS_COMMAND
        made->rest_seconds = g->seconds() - made->first_seconds;
        made->first_seconds -= begin;
#endif
        return error;
}
