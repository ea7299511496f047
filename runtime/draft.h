/*
 * A second, usually smaller model drafts the continuation of another's text (Leviathan et al., 2023, "Fast inference from transformers via
 * speculative decoding").
 *
 * Its cache is kept between calls.  Only new tokens of a text are computed.  Positions that differ, because drafts were wrong or the text is
 * another one, are taken back first.
 *
 * A model of `loop draft` also reads values of the first one (Gloeckle et al., 2024, "Better & faster large language models via multi-token
 * prediction"; Li et al., 2024, "EAGLE").  Its row i is the value of the first model at position i and the token of position i + 1.  After
 * the last such row, its own outputs take the place of the values; these rows are taken back before the next drafts.
 *
 * Needs generation.h.
 */
#include <stdint.h>
#include <string.h>

/* A value of the first model, and the row that takes its place. */
typedef struct {
        const float *rows; /* [positions, width]: of the first model */
        float *own, *next; /* [width]: of the last row; of the row that is computed, which may read the other */
        const float *from; /* what a call reads: of `rows`, or `own` */
        int64_t width;
        int goes_on;       /* an output makes `next`; else it is 0 */
} DraftValue;

/* Functions return errors above 0. */
typedef struct {
        void *model;
        /* Computes n further rows: logits [nlogit] of the last, and `next` of each value.  vocabulary [nlogit]: the token of each logit; or NULL. */
        int (*run_rows)(void *model, const DraftValue *value, const int32_t *tokens, int64_t n, float *logits, float *vocabulary);
        int (*rewind)(void *model, int64_t n);
        int64_t context, vocab; /* vocab: of the first model */
        int64_t nlogit, received; /* received: the first model's values of this number of positions are there */
        int64_t valid;  /* rows of the model that may be kept */
        int ahead;      /* the position of a row's token minus the row: 1 with values, else 0 */
        int nvalue;
        DraftValue *value; /* [nvalue] */
        int32_t *taken; /* [ahead + context]: the tokens of its rows; before them, the text's first one */
        int32_t *token; /* [nlogit]: the token of each logit; NULL: logit i is that of token i */
        int32_t *times; /* [vocab], for the penalties */
        float *logits, *by_token; /* [nlogit]; [vocab], if `token` is set */
} Drafter;

/* Reads the token of each logit, by one row of zeros.  Returns the first logit without a token, which is d->logits[i]; -1: none; -2: an error. */
static inline int64_t draft_read_tokens(Drafter *d)
{
        static const int32_t first = 0;
        for (int i = 0; i < d->nvalue; i++)
                d->value[i].from = d->value[i].own;
        const int error = d->run_rows(d->model, d->value, &first, 1, d->by_token, d->logits);
        if (error || d->rewind(d->model, 0))
                return -2;
        for (int64_t i = 0; i < d->nlogit; i++) {
                if (!(d->logits[i] > -0.5f && d->logits[i] < (float)d->vocab - 0.5f))
                        return i;
                d->token[i] = (int32_t)((double)d->logits[i] + 0.5);
        }
        return -1;
}

/* Takes back the rows after the common prefix of the text's tokens and the taken ones.  Leaves at least one of n rows to take. */
static inline int64_t draft_agreed(Drafter *d, const int32_t *text, int64_t n)
{
        int64_t same = 0;
        while (same < d->valid && same < n - 1 && d->taken[0] == text[0] && d->taken[same + d->ahead] == text[same + d->ahead])
                same++;
        if (!d->rewind(d->model, same))
                return same;
        d->rewind(d->model, 0); /* windows or sums can't be taken back so far: all tokens are taken again */
        return 0;
}

/* Computes the logits of the token after text [n].  own: the last row has values of the draft. */
static inline int draft_take(Drafter *d, const int32_t *text, int64_t n, int own)
{
        const int64_t rows = n - d->ahead, row = draft_agreed(d, text, rows);
        for (int i = 0; i < d->nvalue; i++)
                d->value[i].from = own ? d->value[i].own : d->value[i].rows + row * d->value[i].width;
        const int error = d->run_rows(d->model, d->value, text + row + d->ahead, rows - row, d->logits, NULL);
        d->valid = error ? 0 : rows;
        if (error)
                return error;
        for (int i = 0; i < d->nvalue; i++)
                memcpy(d->value[i].own, d->value[i].next, (size_t)d->value[i].width * sizeof(float));
        memcpy(d->taken + row + d->ahead, text + row + d->ahead, (size_t)(rows - row) * sizeof *text);
        d->taken[0] = text[0];
        return 0;
}

/* The logits by token: -inf for those that the draft does not have. */
static inline float *draft_logits(Drafter *d)
{
        if (!d->token)
                return d->logits;
        for (int64_t i = 0; i < d->vocab; i++)
                d->by_token[i] = -1.0f / 0.0f;
        for (int64_t i = 0; i < d->nlogit; i++)
                d->by_token[d->token[i]] = d->logits[i];
        return d->by_token;
}

/* Whether its rows can draft after n tokens and further ones. */
static inline int draft_reaches(const Drafter *d, int64_t n, int64_t further)
{
        int goes_on = further == 0 || !d->nvalue;
        for (int i = 0; i < d->nvalue; i++)
                goes_on |= d->value[i].goes_on;
        return goes_on && n + further - d->ahead <= d->context && n > d->ahead && (!d->nvalue || d->received >= n - 1);
}

/* Writes at most `most` drafts after text [n], sampled like a generator with this model's logits; `made` counts the new tokens in the text.
 * Returns their number; *error is set if the model fails. */
static inline int64_t draft_tokens(Drafter *d, Generator g, Generated made, int32_t *text, int64_t n, int64_t most, int *error)
{
        int64_t i = 0, kept = d->valid;
        int32_t token = 0;
        if (penalties_apply(&g.penalties))
                g.times = (int32_t *)memcpy(d->times, g.times, (size_t)d->vocab * sizeof *d->times);
        while (i < most && token >= 0 && draft_reaches(d, n, i)) {
                *error = draft_take(d, text, n + i, d->nvalue && i);
                if (*error)
                        return 0;
                kept = !d->nvalue || !i ? d->valid : kept;
                token = generation_choose(&g, &made, n + i, draft_logits(d));
                made.made++;
                if (token >= 0)
                        text[n + i++] = token;
                if (token >= 0 && loop_stops(&g.tokens, token))
                        break;
        }
        d->valid = kept;
        return i;
}
