/*
 * Beam search: the likeliest texts, several side by side.
 *
 * A beam is a text with its score, the sum of log p of its tokens, p by the softmax of the logits as they are.  At each step every beam goes
 * on with every token, and of all that come of it the 2 b best are looked at, the best first; what is equal in the order of beams and
 * tokens.  One that ends with a stop token is done if it is among the b best, and is passed over if not; the b best of the others go on.
 * At the last step all among the b best are done.
 *
 *      a done text is worth score / length ^ penalty            its length counts new tokens, the stop token too
 *
 * The b most valuable done texts are kept.  The search ends when there are b and the best beam that goes on, divided by the same for its
 * present length, is worth no more than the least of them; or (`early_end`) as soon as there are b.  This is the beam search of transformers.
 *
 * Here is what a search holds; beam_search.h has the steps.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct {
        double score;
        int64_t at; /* beam * vocab + token */
} BeamChoice;

typedef struct {
        int beam_count;
        int64_t vocab, steps; /* at most so many new tokens */
        float penalty;        /* of length; 1: the mean log p */
        int early_end;
        const int32_t *stop;     /* -1 behind them */
        int64_t made;            /* tokens of each beam that goes on */
        int active;              /* beams that go on: 1 at first, then as a rule all */
        int done;                /* texts */
        double *score;           /* [beams]: of those that go on .. */
        int32_t *parent_beam;    /* [beams]: .. the beam that each came of, before the last step */
        int32_t *tokens;         /* [beams][steps]: .. and their texts */
        double *beam_worth;      /* [beams + 1]: of what is done, the most valuable first .. */
        int64_t *length;         /* [beams + 1]: .. its tokens, but for the stop token .. */
        int32_t *text;           /* [beams + 1][steps] */
        BeamChoice *beam_choice; /* [2 beams] */
        int32_t *before;         /* [beams][steps]: scratch */
} Beams;

/* Bytes that beams_lay() lays out. */
static inline size_t beams_room(int beam_count, int64_t steps)
{
        const size_t b = (size_t)beam_count;
        return (2 * b + 1) * sizeof(double) + (b + 1) * sizeof(int64_t) + 2 * b * sizeof(BeamChoice) +
               (b + (3 * b + 1) * (size_t)steps) * sizeof(int32_t);
}

/* One beam without a token; in `room`, aligned to 8. */
static inline void beams_lay(Beams *b, void *room)
{
        b->beam_choice = (BeamChoice *)room;
        b->score = (double *)(void *)(b->beam_choice + 2 * b->beam_count);
        b->beam_worth = b->score + b->beam_count;
        b->length = (int64_t *)(void *)(b->beam_worth + b->beam_count + 1);
        b->parent_beam = (int32_t *)(void *)(b->length + b->beam_count + 1);
        b->tokens = b->parent_beam + b->beam_count;
        b->before = b->tokens + b->beam_count * b->steps;
        b->text = b->before + b->beam_count * b->steps;
        b->made = 0;
        b->active = 1;
        b->done = 0;
        b->score[0] = 0;
}

/* Of a step: what may not be chosen becomes -inf; or the one token that comes is returned, else -1. */
typedef int32_t BeamRules(void *of, float *logits);
