/*
 * Beam search: finds the most probable texts by extending several at a time.
 *
 * A beam is a text with its score, the sum of log p of its tokens, where p is the softmax of the unchanged logits.  Each step
 * extends every beam by every token, and examines the 2 b best results in descending order; ties are in the order of beams and
 * tokens.  A result that ends with a stop token is done if it is among the b best, and otherwise dropped.  The b best of the others
 * are the next beams.  In the last step all of the b best are done.
 *
 *      worth of a done text = score / length ^ penalty          its length counts new tokens, including the stop token
 *
 * The b done texts of highest worth are kept.  The search ends when there are b and the worth of the best beam, at its present
 * length, is not above the lowest of them; or (`early_end`) as soon as there are b.  This is the beam search of transformers.
 *
 * This file has the state of a search, beam_search.h its steps.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct {
        double score;
        int64_t at; /* beam * vocab + token */
} BeamChoice;

typedef struct {
        int beam_count;
        int64_t vocab, steps; /* maximum number of new tokens */
        float penalty;        /* exponent of the length; 1: worth is the mean log p */
        int early_end;
        const int32_t *stop;  /* ends with -1 */
        int64_t made;         /* number of tokens of each beam */
        int active;           /* number of beams: 1 at first, then usually beam_count */
        int done;             /* number of done texts */
        double *score;        /* [beams]: scores of the beams */
        int32_t *parent_beam; /* [beams]: the beam that each one extends, by its index before the last step */
        int32_t *tokens;      /* [beams][steps]: texts of the beams */
        double *beam_worth;   /* [beams + 1]: worths of the done texts, in descending order */
        int64_t *length;      /* [beams + 1]: tokens of the done texts, without the stop token */
        int32_t *text;        /* [beams + 1][steps]: the done texts */
        BeamChoice *beam_choice; /* [2 beams] */
        int32_t *before;         /* [beams][steps]: scratch */
} Beams;

/* Bytes that beams_lay() needs. */
static inline size_t beams_room(int beam_count, int64_t steps)
{
        const size_t b = (size_t)beam_count;
        return (2 * b + 1) * sizeof(double) + (b + 1) * sizeof(int64_t) + 2 * b * sizeof(BeamChoice) +
               (b + (3 * b + 1) * (size_t)steps) * sizeof(int32_t);
}

/* Begins a search with one empty beam, in `room` [beams_room()], aligned to 8. */
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

/* Sets the logits of tokens that are forbidden after the text of a beam to -inf and returns -1, or returns the prescribed token. */
typedef int32_t BeamRules(void *of, int beam, float *logits);
