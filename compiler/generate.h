/* Generation: tokens through an engine, one at a time, as text. */
#ifndef GENERATE_H
#define GENERATE_H
#include <stdatomic.h>

#include "checkpoint.h"
#include "engine.h"
#include "tokenizer.h"

/* An input of token ids, one for each position; NULL: there is none. */
const Input *ids_of(const Graph *g, int time);
/* NULL, or why tokens can't be chosen by this model's first output: it must be of logits [time, vocab], for an input of token ids
 * [time] below vocab. */
const char *why_no_logits(const Graph *g, int time);
/* NULL, or why this model can't generate: it must be causal, with such logits and no other input. */
const char *why_not_generating(const Graph *g);

/* tokens of text [n bytes], malloc'd, with the start token in front; NULL: out of memory */
int32_t *text_to_tokens(const Tokenizer *t, const char *text, int64_t n, int64_t *count);
/* for a model whose one input is token ids: those of text as it has them in numbers, malloc'd, or the start token; NULL with *why */
int32_t *numbers_to_tokens(const Graph *g, const char *text, int64_t *count, const char **why);
/* the bytes of a token after another, into out [t->longest + 1]; returns how many */
int token_to_text(const Tokenizer *t, int32_t previous, int32_t token, char *out);

enum { MAX_STOPS = 16 };

typedef struct {
        int64_t steps; /* at most so many new tokens */
        int64_t chunk; /* the prompt in pieces of so many */
        float temperature, top_p, min_p;
        int top_k;
        uint64_t seed;
        const char *stop[MAX_STOPS]; /* texts that end it; they are not shown */
        int nstop;
        bool hash; /* of all logits, those of the prompt's positions too */
        bool (*show)(void *to, const char *text, int64_t n); /* false: it can't be written */
        void *to;
        atomic_bool *
                interrupted; /* or NULL: set from elsewhere, it ends the generation after the token at hand */
} Generation;

typedef struct {
        int64_t made;
        double first_seconds, rest_seconds; /* prompt and first new token; the other made - 1 */
        uint64_t hash;
} Generated;

/* Goes on after tokens [n], at least one, which the engine has not taken yet.  tokenizer NULL: tokens are shown as numbers.
 * NULL, or what is wrong: output_failed if `show` was false. */
extern const char output_failed[];
const char *generate(Engine *e, const Plan *p, const Tokenizer *tokenizer, const int32_t *tokens, int64_t n,
                     const Generation *how, Generated *result);

/* FNV-1a over the bits of x [n], every NaN the same; a hash begins as HASH_START */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_floats(uint64_t h, const float *x, int64_t n);
uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n);
/* of the bytes of a checkpoint's files, one after another */
uint64_t checkpoint_bytes_hash(const Checkpoint *c);
#endif
