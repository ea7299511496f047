/* A second, usually smaller model that drafts the continuation of another's text (Leviathan et al., 2023,
 * "Fast inference from transformers via speculative decoding").
 *
 * Its cache is kept between calls.  Only new tokens of a text are computed.  Positions that differ, because
 * drafts were wrong or the text is another one, are taken back first. */
#include <stdlib.h>

#include "run.h"

struct Draft {
        Engine *engine;
        int64_t context, vocab;
        int32_t *taken; /* [context]: the tokens at its positions */
        float *logits;  /* [vocab] */
        int32_t *times; /* [vocab], for the penalties */
};

Draft *draft_new(Engine *e, const Plan *p)
{
        const Graph *g = p->graph;
        Draft *d = calloc(1, sizeof *d);
        if (!d)
                return NULL;
        *d = (Draft){e, g->named[g->time].bound, row_elements(p, &g->output[0].node->type), NULL, NULL, NULL};
        d->taken = calloc((size_t)d->context, sizeof *d->taken);
        d->logits = calloc((size_t)d->vocab, sizeof *d->logits);
        d->times = calloc((size_t)d->vocab, sizeof *d->times);
        if (d->taken && d->logits && d->times)
                return d;
        draft_free(d);
        return NULL;
}

void draft_free(Draft *d)
{
        if (!d)
                return;
        free(d->taken);
        free(d->logits);
        free(d->times);
        free(d);
}

/* Rewinds to the common prefix of the text [n] and the taken tokens; leaves at least one token to take. */
static int64_t agreed_length(const Draft *d, const int32_t *text, int64_t n)
{
        int64_t position = engine_position(d->engine), same = 0;
        while (same < position && same < n - 1 && d->taken[same] == text[same])
                same++;
        if (same == position || !engine_rewind(d->engine, same))
                return same;
        engine_rewind(d->engine, 0); /* windows or sums can't be rewound: takes all tokens again */
        return 0;
}

/* The logits of the token after text [n], in d->logits. */
static const char *draft_take(Draft *d, const int32_t *text, int64_t n)
{
        const int64_t same = agreed_length(d, text, n);
        const char *wrong = engine_tokens(d->engine, text + same, n - same, n - same - 1, d->logits);
        if (!wrong)
                memcpy(d->taken + same, text + same, (size_t)(n - same) * sizeof *text);
        return wrong;
}

int64_t draft_propose(Draft *d, Generator g, Generated made, const int32_t *text, int64_t n, int32_t *drafts,
                      int64_t most, const char **wrong)
{
        if (penalties_apply(&g.penalties))
                g.times = memcpy(d->times, g.times, (size_t)d->vocab * sizeof *d->times);
        for (int64_t i = 0; i < most; i++) {
                if (n + i > d->context)
                        return i;
                if ((*wrong = draft_take(d, text, n + i)))
                        return 0;
                drafts[i] = generation_choose(&g, &made, n + i, d->logits);
                made.made++;
                if (drafts[i] < 0)
                        return i;
                if (loop_stops(&g.tokens, drafts[i]))
                        return i + 1;
        }
        return most;
}
