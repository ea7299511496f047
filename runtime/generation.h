/*
 * Generation: continues a text token by token, by the rules of the model's loop.
 *
 * Model and output are callbacks, so that lathe's engines and emitted programs share this code.
 */

#if !defined(EMITTED)
#include "facts.h"
#endif

#include <stdint.h>
#if HAS_COMMAND
#include <stdlib.h>
#endif
#include <string.h>

/* Rules of a loop for tokens: stop tokens, prescribed first tokens, tokens that are never chosen, or not first; the prescribed token at the
 * limit of a text.  Each list ends with -1. */
typedef struct {
        const int32_t *stop, *first, *forbid, *forbid_first, *last;
        int64_t least,
                most; /* number of new tokens: no stop token before `least`; `most` without a limit of the caller's; 0: none */
        int64_t ngram; /* no sequence of this number of tokens occurs twice in a text; 0: any may */
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

/* Finds all tokens with text [n].  Writes them to tokens, unless NULL, and returns their number. */
typedef int64_t LoopTextTokens(const void *of, const char *text, int64_t n, int32_t *tokens);

/* Parses a list with commas: numbers below vocab, and texts in double quotes, which stand for all tokens with this text.  Writes
 * the tokens and a final -1 to tokens, unless NULL.  Returns their number, or -1 if the list is invalid. */
static inline int64_t loop_read_tokens(const char *list, int64_t vocab, LoopTextTokens *find, const void *of,
                                       int32_t *tokens)
{
        int64_t n = 0;
        for (const char *end;; list = end + 1) {
                const char *text = list + strspn(list, " ");
                int64_t found = 1;
                if (*text == '"') {
                        text++;
                        end = text + strcspn(text, "\"");
                        found = *end && end > text ? find(of, text, end - text, tokens ? tokens + n : NULL)
                                                   : 0;
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

/* Rules out tokens that would complete a sequence of n tokens that is in text [length] already (Paulus et al., 2017). */
static inline void loop_rule_out_ngrams(int64_t n, const int32_t *text, int64_t length, float *logits,
                                        int64_t vocab)
{
        for (int64_t end = n; end <= length; end++)
                if (!memcmp(text + end - n, text + length - n + 1, (size_t)(n - 1) * sizeof *text) &&
                    text[end - 1] < vocab)
                        logits[text[end - 1]] = -1.0f / 0.0f;
}

/* The prescribed token after text [length], or -1: then the logits [vocab] of forbidden tokens become -inf.  made: number of its new
 * tokens; steps: their maximum. */
static inline int32_t loop_prescribes(const LoopTokens *l, const int32_t *text, int64_t length, int64_t made,
                                      int64_t steps, float *logits, int64_t vocab)
{
        int64_t n = 0;
        while (l->first[n] >= 0)
                if (++n == length)
                        return l->first[n - 1];
        if (made + 1 == steps && *l->last >= 0)
                return *l->last;
        loop_rule_out(l->forbid, logits, vocab);
        if (made == 0 || length == n + 1)
                loop_rule_out(l->forbid_first, logits, vocab);
        if (made < l->least)
                loop_rule_out(l->stop, logits, vocab);
#if HAS_NO_REPEATS
        if (l->ngram > 0)
                loop_rule_out_ngrams(l->ngram, text, length, logits, vocab);
#else
        (void)text;
#endif
        return -1;
}

/* Maximum number of new tokens: the caller's, or that of the loop. */
static inline int64_t loop_steps(const LoopTokens *l, int64_t steps)
{
        return steps == INT64_MAX && l->most > 0 ? l->most : steps;
}

#if HAS_UNMASK
/* The weights of the tokens that the limits leave: sum, that of the chosen token, the two largest; and the sum of weight times its logarithm. */
typedef struct {
        double sum, chosen, first, second, moment;
} SampledFrom;
#endif

/* Parameters and scratch of sampling; see sampler.h. */
typedef struct {
        float temperature; /* 0: always the most likely token */
        int top_k;         /* 0: no limit */
        float top_p;       /* 1: no limit; 0: only the most likely token */
        float min_p;       /* 0: no limit */
        float typical_p;   /* 1: no limit */
        uint64_t state;    /* of the random number generator; initially the seed, any value */
        int32_t *order;    /* scratch [vocab] */
        float *weight;     /* scratch [vocab] */
#if HAS_UNMASK
        SampledFrom *from; /* filled at temperatures above 0, without a limit by typical_p; NULL: not wanted */
#endif
} Sampler;

/* Penalties on tokens that occur in the text, applied to logits before sampling.  All 0: none. */
typedef struct {
        float repetition; /* divides positive logits, multiplies negative ones (Keskar et al., 2019); 0 or 1: no effect */
        float presence;  /* subtracted from the logit of each generated token */
        float frequency; /* subtracted for each time that it was generated */
} Penalties;

static inline int penalties_apply(const Penalties *p)
{
        return (p->repetition > 0 && p->repetition != 1) || p->presence != 0 || p->frequency != 0;
}

/* times [vocab]: how often each token was generated; -1: it is only in the prompt.  Products in double are exact, so that
 * contraction to fma changes no bit. */
static inline void penalties_take(const Penalties *p, const int32_t *times, float *logits, int64_t vocab)
{
        for (int64_t i = 0; i < vocab; i++) {
                if (times[i] == 0)
                        continue;
                if (p->repetition > 0 && p->repetition != 1)
                        logits[i] = logits[i] > 0 ? logits[i] / p->repetition : logits[i] * p->repetition;
                if (times[i] > 0)
                        logits[i] = (float)((double)logits[i] -
                                            ((double)p->presence + (double)p->frequency * times[i]));
        }
}

/* GENERATION_NONE: no token can be chosen, because all logits are -inf or NaN. */
enum { GENERATION_MEMORY = -1, GENERATION_CONTEXT = -2, GENERATION_NONE = -3 };

/* Functions return errors above 0.  The member before a function is its first argument. */
typedef struct {
        void *model;
        int (*take)(void *model, const int32_t *tokens, int64_t n,
                    float *logits);            /* logits [n, vocab] or NULL */
        int (*rewind)(void *model, int64_t n); /* keeps only the first n positions */
        Sampler *sampler;
        int (*sample)(Sampler *s, float *logits, int n);
        void *of;
        int (*show)(void *of, int32_t token); /* returns 0, or another value to end the text; may be NULL */
        void *ruler;
        /* Sets logits of forbidden tokens after text [n] to -inf.  Returns 0, an error, or < 0 to end the text.  May be NULL. */
        int (*rule)(void *ruler, const int32_t *text, int64_t n, float *logits);
        void *proposer;
        /* Writes up to `most` draft tokens to follow text [n], and returns their number.  NULL: generation_draft() is used. */
        int64_t (*propose)(void *proposer, const int32_t *text, int64_t n, int32_t *drafts, int64_t most);
        LoopTokens tokens;
#if HAS_COMMAND
        double (*seconds)(void);
        const int32_t *suppress; /* further tokens that are never chosen, ends with -1; or NULL */
        int hashes;              /* hash all logits, including those of the prompt's positions */
#endif
        int64_t vocab, context;
        int64_t steps; /* maximum number of new tokens */
        int64_t chunk; /* maximum number of the prompt's tokens in a call */
        int drafts;    /* maximum number of draft tokens in a call */
        Penalties penalties;
        float *logits;  /* [1 + drafts, vocab]; this, times and text are set by generation_lay() */
        int32_t *times; /* [vocab], for penalties */
        int32_t *text;  /* [context + 1] */
} Generator;

typedef struct {
        int64_t prompt, made;      /* the prompt's tokens that the model had not processed; new tokens */
        int64_t drafted, accepted; /* draft tokens; those of them that the model chose */
#if HAS_UNMASK
        int64_t calls;             /* of the model, for unmasking */
#endif
        int ended;                 /* by a stop token, show() or rule() */
#if HAS_COMMAND
        double first_seconds, rest_seconds; /* time for the prompt and the first token; for the others */
        uint64_t hash;
#endif
} Generated;

/* Bytes that generation_lay() needs. */
static inline size_t generation_room(int64_t vocab, int64_t context, int drafts)
{
        return sizeof(float) * (size_t)((4 + (int64_t)drafts) * vocab + context + 1);
}

/* Places the scratch of generator and sampler in `room` [generation_room()], aligned to 4. */
static inline void generation_lay(Generator *g, void *room)
{
        g->logits = (float *)room;
        g->sampler->weight = g->logits + (1 + (int64_t)g->drafts) * g->vocab;
        g->sampler->order = (int32_t *)(void *)(g->sampler->weight + g->vocab);
        g->times = g->sampler->order + g->vocab;
        g->text = g->times + g->vocab;
}

/* FNV-1a over the bits of x [n]; all NaNs hash the same. */
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
/* Processes tokens of the prompt and hashes their logits. */
static inline int generation_hash(const Generator *g, const int32_t *tokens, int64_t n, Generated *made)
{
        float *logits = n < INT64_MAX / g->vocab / 4
                                ? (float *)malloc((size_t)(n * g->vocab) * sizeof *logits)
                                : NULL;
        const int error = logits ? g->take(g->model, tokens, n, logits) : GENERATION_MEMORY;
        if (!error)
                made->hash = hash_floats(made->hash, logits, n * g->vocab);
        free(logits);
        return error;
}
#endif

/* Processes the prompt, except its last token, in chunks. */
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

/* Initialises the counts for penalties from the prompt. */
static inline void generation_count(const Generator *g, const int32_t *tokens, int64_t n)
{
        for (int64_t i = 0; i < g->vocab; i++)
                g->times[i] = 0;
        for (int64_t i = 0; i < n; i++)
                if (tokens[i] >= 0 && tokens[i] < g->vocab)
                        g->times[tokens[i]] = -1;
}

/* Drafts tokens after text [n]: finds an earlier occurrence of its last four to two tokens, and copies the tokens that followed
 * (Saxena, 2023, "Prompt lookup decoding").  Returns their number, 0 or `most`. */
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

/* Drafts tokens by propose(), if there is one.  Drops them from the first invalid token on, or all if they are more than `most`. */
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

enum { TEXT_ENDS = -1, NO_CHOICE = INT32_MIN }; /* results in place of a token */

/* Whether any of logits [n] is above -inf. */
static inline int generation_has_choice(const float *logits, int64_t n)
{
        int64_t i = 0;
        while (i < n && !(logits[i] > -1.0f / 0.0f))
                i++;
        return i < n;
}

/* Chooses the token at a position of the text.  Returns it, NO_CHOICE, TEXT_ENDS, or TEXT_ENDS - e for an error e of the rule. */
static inline int32_t generation_choose(const Generator *g, const Generated *made, int64_t place,
                                        float *logits)
{
        int32_t *times = penalties_apply(&g->penalties) ? g->times : NULL;
#if HAS_PRESCRIBED
        int32_t next = loop_prescribes(&g->tokens, g->text, place, made->made,
                                       loop_steps(&g->tokens, g->steps), logits, g->vocab);
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
                next = generation_has_choice(logits, g->vocab) ? g->sample(g->sampler, logits, (int)g->vocab)
                                                               : NO_CHOICE;
        if (times && next >= 0 && next < g->vocab)
                times[next] = times[next] < 0 ? 1 : times[next] + 1;
        return next;
}

/* Runs the model on g->text[at] and the drafts, and replaces the drafts by the chosen tokens, up to the first that differs: the
 * text is the same as without drafts.  Returns the number of processed tokens that remain in the model's state: 1 + accepted
 * drafts, or 0 after an error of the model. */
static inline int64_t generation_check(const Generator *g, int64_t at, int64_t drafts, Generated *made,
                                       int *error)
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

/* Maximum number of drafts.  They end with a block of 64, as states of sums can be rewound only within one (scan_state.h). */
static inline int64_t generation_drafts(const Generator *g, const Generated *made, int64_t at, int64_t most)
{
        const int64_t room = g->context - at - 1, steps = loop_steps(&g->tokens, g->steps) - made->made - 1,
                      block = 63 - at % 64;
        most = most < room ? most : room;
        most = most < steps ? most : steps;
        return most < block ? most : block;
}

/* Continues tokens [n] up to a stop token, the number of steps or the end of the context.  The model has processed the first
 * `taken` < n of them. */
static inline int generation_run(const Generator *g, const int32_t *tokens, int64_t n, int64_t taken,
                                 Generated *made)
{
        const int64_t steps = loop_steps(&g->tokens, g->steps);
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
        while (!error && !made->ended && made->made < steps && at < g->context) {
                const int64_t drafts = generation_propose(g, at + 1, generation_drafts(g, made, at, most));
                const int64_t right = generation_check(g, at, drafts, made, &error);
                at += right;
                if (!error && right < 1 + drafts)
                        error = g->rewind(g->model, at);
                made->drafted += drafts;
                made->accepted += right > 0 ? right - 1 : 0;
                if (drafts) /* fewer after a rejected draft, more if all were accepted */
                        most = right > drafts ? 2 * most : right;
                most = most < g->drafts ? most : g->drafts;
        }
#if HAS_COMMAND
        made->rest_seconds = g->seconds() - made->first_seconds;
        made->first_seconds -= begin;
#endif
        return error;
}
