/*
 * Unmasking: completes a text in which masks mark the open places.  In each step the model predicts a token for every mask at once, and the
 * surest predictions are kept (Chang et al., 2022, "MaskGIT"; Nie et al., 2025, "Large language diffusion models").
 *
 *      parts     The text is completed part by part.  With `whole`, the text has all of its masks from the beginning, and parts are counted
 *                from the end of the prompt.  Otherwise the text ends with the current block, blocks are counted from its beginning, and a
 *                part is a piece of a block: block diffusion (Arriola et al., 2025).
 *      number    even: the masks of a part, divided by its steps; the first steps take one more.  times: of m masks m (1 - s / t), rounded
 *                down, where times t and s are evenly spaced from 1 to last_time (Ye et al., 2025, "Dream 7B").  chance: each mask with
 *                probability 1 - s / t, by itself.  With a threshold, all masks that are surer are taken, and at least one.
 *      surety    of a prediction: its probability; that less the second largest one; the negative entropy of the distribution; random; or
 *                the first masks are the surest.  What is equally sure comes in the order of the text.
 *      guidance  logits become u + (guidance + 1) (logits - u), where u are those of a text with masks in place of the prompt.
 *
 * The mask itself is never predicted.  All values but the logits are computed in double, so that they are the same everywhere.
 *
 * Needs real_tables.h, reals.h, likely.h and generation.h.
 */
#include <stdint.h>
#include <string.h>

typedef enum { SUREST_probability, SUREST_margin, SUREST_entropy, SUREST_random, SUREST_first } UnmaskSurest;

typedef enum { PACE_even, PACE_times, PACE_chance } UnmaskPace;

typedef struct {
        int32_t mask;
        UnmaskSurest surest;
        UnmaskPace pace;
        int64_t length;    /* maximum number of new tokens */
        int64_t block;     /* number of tokens of a block; 0: all new ones */
        int64_t part;      /* number of tokens of a part of a block; 0: the block is one */
        int64_t steps;     /* of a part; 0: as many as it has masks */
        double last_time;
        double threshold;  /* 0: none */
        double guidance;   /* 0: none */
        int whole;
        int tempered;      /* surety is that of the distribution after temperature and limits; 0: of the model's own */
        int first_at_once; /* the first token of a block is taken before the others */
} UnmaskForm;

/* Functions return errors above 0.  The member before a function is its first argument. */
typedef struct {
        const UnmaskForm *form;
        void *model;
        /* Computes logits [n, vocab] for a text of n tokens, from row `first` on.  The model has computed the first `kept` of its tokens before. */
        int (*predict_masks)(void *model, const int32_t *tokens, int64_t kept, int64_t n, int64_t first, float *logits);
        Sampler *sampler;
        int (*sample)(Sampler *s, float *logits, int n);
        void *of;
        int (*show)(void *of, int32_t token);               /* returns 0, or another value to end the text; may be NULL */
        int (*on_step)(void *of, int64_t done, int64_t masks); /* after each step, likewise */
        LoopTokens tokens;
        const int32_t *suppress; /* further tokens that are never chosen, ends with -1; or NULL */
        int64_t vocab, context;
        int64_t kept_block;      /* the model keeps completed blocks of this length between calls; 0: none */
        int hashes;              /* hash these logits */
        double *surety;          /* [places]; this and what follows are set by unmask_lay() */
        double *probability;     /* [vocab] */
        float *logits;           /* [places, vocab], and as many for guidance */
        float *row;              /* [vocab] */
        int32_t *text;           /* [places] */
        int32_t *choice;         /* [places] */
        int32_t *unprompted;     /* [places] */
        int32_t *computed;       /* [places]: the tokens that the model has computed */
        const int32_t *prompt;   /* [nprompt]; this and what follows are set by unmask_run() */
        int64_t nprompt, places, shown, masks, done, ncomputed;
        int64_t fault;           /* after GENERATION_NONE: the place without a possible token */
} Unmasker;

/* --- sizes --------------------------------------------------------------------------------------------------------------------- */

static inline int64_t unmask_block(const UnmaskForm *f)
{
        return f->block > 0 ? f->block : f->length > 0 ? f->length : 1;
}

static inline int64_t unmask_part(const UnmaskForm *f)
{
        return f->part > 0 ? f->part : unmask_block(f);
}

/* Number of tokens of the completed text: to the end of a block, but not more than the context. */
static inline int64_t unmask_places(const UnmaskForm *f, int64_t n, int64_t context)
{
        const int64_t block = unmask_block(f), all = f->length < context - n ? n + f->length : context;
        const int64_t rounded = f->whole ? all : (all + block - 1) / block * block;
        return rounded < context ? rounded : context;
}

/* Bytes that unmask_lay() needs. */
static inline size_t unmask_room(const UnmaskForm *f, int64_t vocab, int64_t places)
{
        const int64_t calls = f->guidance != 0 ? 2 : 1;
        return sizeof(double) * (size_t)(places + vocab) + sizeof(float) * (size_t)(calls * places * vocab + 3 * vocab + 4 * places);
}

/* Places the scratch of unmasker and sampler in `room` [unmask_room()], aligned to 8. */
static inline void unmask_lay(Unmasker *u, int64_t places, void *room)
{
        const int64_t calls = u->form->guidance != 0 ? 2 : 1;
        u->places = places;
        u->surety = (double *)room;
        u->probability = u->surety + places;
        u->logits = (float *)(void *)(u->probability + u->vocab);
        u->row = u->logits + calls * places * u->vocab;
        u->sampler->weight = u->row + u->vocab;
        u->sampler->order = (int32_t *)(void *)(u->sampler->weight + u->vocab);
        u->text = u->sampler->order + u->vocab;
        u->choice = u->text + places;
        u->unprompted = u->choice + places;
        u->computed = u->unprompted + places;
}

/* --- the number of masks of a step ---------------------------------------------------------------------------------------------- */

/* Time i of 0 to `steps`: in float, as in the published implementations, and from both ends, as torch does. */
static inline float unmask_time(const UnmaskForm *f, int64_t steps, int64_t i)
{
        const float last = (float)f->last_time, between = (last - 1.0f) / (float)steps;
        return i < (steps + 1) / 2 ? 1.0f + between * (float)i : last - between * (float)(steps - i);
}

/* The part of the masks that a step takes, or the chance of each. */
static inline float unmask_share(const UnmaskForm *f, int64_t steps, int64_t step)
{
        return step >= steps - 1 ? 1.0f : 1.0f - unmask_time(f, steps, step + 1) / unmask_time(f, steps, step);
}

/* A number in (0, 1): the upper bits of splitmix64 (Steele, Lea and Flood, 2014). */
static inline double unmask_draw(uint64_t *state)
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        return ((double)(int64_t)(z >> 11) + 0.5) * 0x1p-53;
}

static inline int64_t unmask_count(const Unmasker *u, int64_t from, int64_t to)
{
        int64_t n = 0;
        for (int64_t i = from; i < to; i++)
                n += u->text[i] == u->form->mask;
        return n;
}

/* Draws the masks that are taken: their surety becomes 1, that of the others 0.  Returns their number. */
static inline int64_t unmask_drawn(Unmasker *u, int64_t from, int64_t to, double chance)
{
        int64_t n = 0;
        for (int64_t i = from; i < to; i++) {
                if (u->text[i] != u->form->mask)
                        continue;
                u->surety[i] = unmask_draw(&u->sampler->state) < chance;
                n += u->surety[i] > 0;
        }
        return n;
}

/* The number of masks to take; tokens: of the part, that are divided evenly. */
static inline int64_t unmask_number(Unmasker *u, int64_t from, int64_t to, int64_t tokens, int64_t steps, int64_t step)
{
        const UnmaskForm *f = u->form;
        const int64_t masks = unmask_count(u, from, to);
        int64_t n = masks;
        if (f->pace == PACE_chance)
                return unmask_drawn(u, from, to, (double)unmask_share(f, steps, step));
        if (f->pace == PACE_times)
                n = step < steps - 1 ? (int64_t)((float)masks * unmask_share(f, steps, step)) : masks;
        else if (step < steps)
                n = tokens / steps + (step < tokens % steps);
        n = n < 1 && f->threshold > 0 ? 1 : n;
        return n < masks ? n : masks;
}

/* --- a prediction ------------------------------------------------------------------------------------------------------------- */

/* The first row of a text of n tokens whose logits count. */
static inline int64_t unmask_first(const UnmaskForm *f, int64_t n)
{
        return f->whole ? 0 : (n - 1) / unmask_block(f) * unmask_block(f);
}

/* Calls the model on a text of n tokens.  Completed blocks that are those of the last call are not computed again. */
static inline int unmask_call_model(Unmasker *u, const int32_t *tokens, int64_t n, float *logits)
{
        const int64_t first = unmask_first(u->form, n);
        int64_t same = 0;
        while (u->kept_block && same < u->ncomputed && same < first && u->computed[same] == tokens[same])
                same++;
        same -= u->kept_block ? same % u->kept_block : 0;
        const int error = u->predict_masks(u->model, tokens, same, n, first, logits);
        memcpy(u->computed, tokens, (size_t)n * sizeof *tokens);
        u->ncomputed = error ? 0 : n;
        return error;
}

/* Predicts the masks of the first n tokens. */
static inline int unmask_predict(Unmasker *u, int64_t n, Generated *made)
{
        const UnmaskForm *f = u->form;
        float *other = u->logits + u->places * u->vocab;
        int error = unmask_call_model(u, u->text, n, u->logits);
        made->calls++;
#if HAS_COMMAND
        const int64_t from = unmask_first(f, n);
        if (!error && u->hashes)
                made->hash = hash_floats(made->hash, u->logits + from * u->vocab, (n - from) * u->vocab);
#endif
        if (error || f->guidance == 0)
                return error;
        for (int64_t i = 0; i < n; i++)
                u->unprompted[i] = i < u->nprompt && u->prompt[i] != f->mask ? f->mask : u->text[i];
        error = unmask_call_model(u, u->unprompted, n, other);
        made->calls++;
        for (int64_t i = 0; i < n && !error; i++)
                for (int64_t k = u->text[i] == f->mask ? 0 : u->vocab; k < u->vocab; k++) {
                        const double without = (double)other[i * u->vocab + k];
                        float *x = &u->logits[i * u->vocab + k];
                        *x = (float)(without + (f->guidance + 1) * ((double)*x - without));
                }
        return error;
}

/* The surety of a token by the probabilities [vocab]. */
static inline double unmask_surety(const Unmasker *u, int32_t token)
{
        const double *p = u->probability;
        double sum = 0, first = 0, second = 0;
        switch (u->form->surest) {
        case SUREST_margin:
                for (int64_t i = 0; i < u->vocab; i++) {
                        const double least = p[i] < first ? p[i] : first;
                        second = least > second ? least : second;
                        first = p[i] > first ? p[i] : first;
                }
                return first - second;
        case SUREST_entropy:
                for (int64_t i = 0; i < u->vocab; i++)
                        if (p[i] > 0)
                                sum += p[i] * reals_log(p[i] + 1e-10);
                return sum;
        default: return p[token];
        }
}

/* The same by the weights that the sampler chose among. */
static inline double unmask_surety_drawn(const Unmasker *u, const SampledFrom *from)
{
        switch (u->form->surest) {
        case SUREST_margin: return (from->first - from->second) / from->sum;
        case SUREST_entropy: return from->moment / from->sum - reals_log(from->sum);
        default: return from->chosen / from->sum;
        }
}

/* The likeliest token other than the mask; the first of equal ones. */
static inline int32_t unmask_likeliest(const Unmasker *u, const float *logits)
{
        int32_t token = -1;
        for (int32_t i = 0; i < (int32_t)u->vocab; i++)
                if (i != u->form->mask && (token < 0 || logits[i] > logits[token]))
                        token = i;
        return token;
}

/* Predicts the token at place i, and its surety. */
static inline int unmask_choose(Unmasker *u, int64_t i)
{
        const UnmaskForm *f = u->form;
        const int draws = u->sampler->temperature > 0, own = !draws || !f->tempered;
        float *logits = u->logits + i * u->vocab;
        SampledFrom from = {0, 0, 0, 0, 0};
        loop_rule_out(u->tokens.forbid, logits, u->vocab);
        if (u->suppress)
                loop_rule_out(u->suppress, logits, u->vocab);
        memcpy(u->row, logits, (size_t)u->vocab * sizeof *logits);
        if (f->mask < u->vocab)
                u->row[f->mask] = -1.0f / 0.0f;
        if (!generation_has_choice(u->row, u->vocab) || !likely_probabilities(logits, u->vocab, u->probability)) {
                u->fault = i;
                return GENERATION_NONE;
        }
        u->sampler->from = &from;
        u->choice[i] = draws ? u->sample(u->sampler, u->row, (int)u->vocab) : unmask_likeliest(u, u->row);
        u->sampler->from = NULL;
        if (f->pace == PACE_chance)
                return 0;
        u->surety[i] = f->surest == SUREST_random  ? unmask_draw(&u->sampler->state)
                       : f->surest == SUREST_first ? -(double)i
                       : own || !(from.sum > 0)    ? unmask_surety(u, u->choice[i])
                                                   : unmask_surety_drawn(u, &from);
        return 0;
}

/* --- a part ---------------------------------------------------------------------------------------------------------------------- */

/* Takes the surest `number` predictions, and all above the threshold. */
static inline void unmask_take(Unmasker *u, int64_t from, int64_t to, int64_t number)
{
        const UnmaskForm *f = u->form;
        for (int64_t i = from; i < to && f->threshold > 0; i++)
                if (u->text[i] == f->mask && u->surety[i] > f->threshold) {
                        u->text[i] = u->choice[i];
                        number--;
                }
        for (; number > 0; number--) {
                int64_t best = -1;
                for (int64_t i = from; i < to; i++)
                        if (u->text[i] == f->mask && (best < 0 || u->surety[i] > u->surety[best]))
                                best = i;
                if (best < 0)
                        return;
                u->text[best] = u->choice[best];
        }
}

/* A step: the model's predictions for the first n tokens, of which those from `from` to `to` count. */
static inline int unmask_step(Unmasker *u, int64_t from, int64_t to, int64_t n, int64_t number, Generated *made)
{
        const int64_t before = unmask_count(u, from, to);
        int error = unmask_predict(u, n, made);
        for (int64_t i = from; i < to && !error; i++)
                if (u->text[i] == u->form->mask)
                        error = unmask_choose(u, i);
        if (error)
                return error;
        unmask_take(u, from, to, number);
        u->done += before - unmask_count(u, from, to);
        made->ended |= u->on_step && u->on_step(u->of, u->done, u->masks);
        return 0;
}

/* Completes the part from `from` to `to`. */
static inline int unmask_complete(Unmasker *u, int64_t from, int64_t to, Generated *made)
{
        const UnmaskForm *f = u->form;
        const int64_t block = unmask_block(f), end = (to + block - 1) / block * block, n = f->whole || end > u->places ? u->places : end;
        const int64_t tokens = f->whole ? unmask_count(u, from, to) : to - from, steps = f->steps > 0 ? f->steps : tokens;
        int error = 0;
        if (f->first_at_once && !f->whole && from > 0 && from % block == 0 && u->text[from] == f->mask)
                error = unmask_step(u, from, from + 1, n, 1, made);
        for (int64_t step = 0; !error && !made->ended && unmask_count(u, from, to) > 0; step++) {
                const int64_t number = unmask_number(u, from, to, tokens, steps, step);
                if (number > 0)
                        error = unmask_step(u, from, to, n, number, made);
        }
        return error;
}

/* Shows the tokens before `to`. */
static inline void unmask_show(Unmasker *u, int64_t to, Generated *made)
{
        for (; u->shown < to && !made->ended; u->shown++) {
                const int32_t token = u->text[u->shown];
                const int is_new = u->shown >= u->nprompt;
                if (is_new && made->made == u->form->length)
                        return;
                made->ended = (is_new && loop_stops(&u->tokens, token)) || (u->show && u->show(u->of, token));
                made->made += is_new && !made->ended;
        }
}

/* Completes tokens [n] and the masks after it, up to a part with a stop token.  The answer is the tokens after n; of a prompt with masks, the
 * whole text is shown. */
static inline int unmask_run(Unmasker *u, const int32_t *tokens, int64_t n, Generated *made)
{
        const UnmaskForm *f = u->form;
        const int64_t part = unmask_part(f);
        int error = 0;
        *made = (Generated){.prompt = n};
#if HAS_COMMAND
        made->hash = UINT64_C(0xcbf29ce484222325);
#endif
        if (n > u->context)
                return GENERATION_CONTEXT;
        for (int64_t i = 0; i < u->places; i++)
                u->text[i] = i < n ? tokens[i] : f->mask;
        u->prompt = tokens;
        u->nprompt = n;
        u->masks = unmask_count(u, 0, u->places);
        u->done = u->ncomputed = 0;
        u->shown = unmask_count(u, 0, n) > 0 ? 0 : n;
        for (int64_t at = 0, to; at < u->places && !error && !made->ended; at = to) {
                to = f->whole && at == 0 ? n + part : at + part;
                to = to < u->places ? to : u->places;
                error = unmask_complete(u, at, to, made);
                if (!error && !made->ended)
                        unmask_show(u, to, made);
        }
        return error;
}
