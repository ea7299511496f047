/* A second, usually smaller model that drafts the continuation of another's text (Leviathan et al., 2023,
 * "Fast inference from transformers via speculative decoding").
 *
 * Its cache is kept between calls.  Only new tokens of a text are computed.  Positions that differ, because
 * drafts were wrong or the text is another one, are taken back first.
 *
 * A model of `loop draft` also reads values of the first one (Gloeckle et al., 2024, "Better & faster large language models
 * via multi-token prediction"; Li et al., 2024, "EAGLE").  Its row i is the value of the first model at position i
 * and the token of position i + 1.  After the last such row, its own outputs take the place of the values; these rows
 * are taken back before the next drafts. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "run.h"

/* Rows of a value of the first model, and the row that takes their place. */
typedef struct {
        DraftRead of;
        int64_t width;
        float *rows; /* [capacity, width] */
        float *own,
                *next; /* [width]: of the last row, and of the row that is computed, which reads the other */
} DraftValue;

struct Draft {
        Engine *engine;
        int64_t context, vocab; /* vocab: of the first model */
        int ahead;              /* the position of a row's token minus the row: 1 with values, else 0 */
        int32_t *taken; /* [ahead + context]: the tokens of its rows; before them, the text's first one */
        int64_t valid;  /* rows of the engine that may be kept */
        int64_t from_first, received,
                capacity;  /* rows with values of the first model: in the engine, given, possible */
        DraftValue *value; /* [nvalue] */
        int nvalue, noutput, ninput;
        const void **input; /* [ninput] */
        float **output;     /* [noutput] */
        int64_t nlogit;
        float *logits;  /* [nlogit], of the engine */
        int32_t *token; /* [nlogit]: the token of each; NULL: logit i is that of token i */
        float *all;     /* [vocab]: logits by token, if `token` is set */
        int32_t *times; /* [vocab], for the penalties */
};

static bool draft_values_new(Draft *d, const Plan *p, const DraftRead *read)
{
        const Graph *g = p->graph;
        for (int i = 0; i < d->nvalue && d->value; i++) {
                const int64_t width = row_elements(p, &g->input[read[i].input].type);
                d->value[i] = (DraftValue){.of = read[i],
                                           .width = width,
                                           .own = calloc((size_t)width, sizeof(float)),
                                           .next = calloc((size_t)width, sizeof(float))};
                if (!d->value[i].own || !d->value[i].next)
                        return false;
        }
        return d->value != NULL;
}

Draft *draft_new(Engine *e, const Plan *p, const DraftRead *read, int nread)
{
        const Graph *g = p->graph;
        Draft *d = calloc(1, sizeof *d);
        if (!d)
                return NULL;
        *d = (Draft){.engine = e,
                     .context = g->named[g->time].bound,
                     .vocab = row_elements(p, &g->output[0].node->type),
                     .nlogit = row_elements(p, &g->output[0].node->type),
                     .ahead = nread > 0,
                     .nvalue = nread,
                     .noutput = g->noutput,
                     .ninput = g->ninput};
        d->taken = calloc((size_t)(d->context + d->ahead), sizeof *d->taken);
        d->value = calloc((size_t)nread + 1, sizeof *d->value);
        d->input = calloc((size_t)d->ninput, sizeof *d->input);
        d->output = calloc((size_t)d->noutput, sizeof *d->output);
        d->logits = calloc((size_t)d->vocab, sizeof *d->logits);
        d->times = calloc((size_t)d->vocab, sizeof *d->times);
        if (draft_values_new(d, p, read) && d->taken && d->input && d->output && d->logits && d->times)
                return d;
        draft_free(d);
        return NULL;
}

void draft_free(Draft *d)
{
        if (!d)
                return;
        for (int i = 0; i < d->nvalue && d->value; i++) {
                free(d->value[i].rows);
                free(d->value[i].own);
                free(d->value[i].next);
        }
        free(d->value);
        free(d->taken);
        free(d->input);
        free(d->output);
        free(d->logits);
        free(d->token);
        free(d->all);
        free(d->times);
        free(d);
}

/* Runs one row of zeros for an output that is the same in all calls. */
static const char *constant_output(Draft *d, int output, float *value)
{
        static const int64_t none[MAX_NAMED];
        static const int32_t first[1];
        for (int i = 0; i < d->ninput; i++)
                d->input[i] = first;
        for (int i = 0; i < d->nvalue; i++)
                d->input[d->value[i].of.input] = d->value[i].own;
        memset(d->output, 0, (size_t)d->noutput * sizeof *d->output);
        d->output[output] = value;
        const EngineCall call = {d->input, d->output, none};
        const char *wrong = engine_advance(d->engine, &call, 1, 0);
        d->output[output] = NULL;
        engine_rewind(d->engine, 0);
        return wrong;
}

const char *draft_read_vocabulary(Draft *d, Arena *a, int output, int64_t vocab)
{
        float *value = calloc((size_t)d->nlogit, sizeof *value);
        int32_t *times = realloc(d->times, (size_t)vocab * sizeof *times);
        d->times = times ? times : d->times;
        d->token = calloc((size_t)d->nlogit, sizeof *d->token);
        d->all = calloc((size_t)vocab, sizeof *d->all);
        const char *wrong =
                value && times && d->token && d->all ? constant_output(d, output, value) : no_memory;
        for (int64_t i = 0; i < d->nlogit && !wrong; i++) {
                const float token = roundf(value[i]);
                if (!(token >= 0 && token < (float)vocab))
                        wrong = arena_printf(
                                a, "its logit %" PRId64 " is that of token %g, expected 0 to %" PRId64, i,
                                (double)token, vocab - 1);
                else
                        d->token[i] = (int32_t)token;
        }
        d->vocab = vocab;
        free(value);
        return wrong;
}

/* --- values of the first model -------------------------------------------------------------------------------------- */

/* Room for this number of rows. */
static bool draft_grow(Draft *d, int64_t rows)
{
        const int64_t more = rows > 2 * d->capacity ? rows : 2 * d->capacity;
        for (int i = 0; i < d->nvalue && rows > d->capacity; i++) {
                DraftValue *v = &d->value[i];
                float *all = realloc(v->rows, (size_t)(more * v->width) * sizeof *all);
                if (!all)
                        return false;
                v->rows = all;
                memset(all + d->capacity * v->width, 0,
                       (size_t)((more - d->capacity) * v->width) * sizeof *all);
        }
        d->capacity = rows > d->capacity ? more : d->capacity;
        return true;
}

bool draft_receive(Draft *d, int64_t position, int64_t n, float **output, const char **wrong)
{
        if (!d || !d->nvalue)
                return false;
        if (!draft_grow(d, position + n)) {
                *wrong = no_memory;
                return false;
        }
        for (int i = 0; i < d->nvalue; i++)
                if (d->value[i].of.from >= 0)
                        output[d->value[i].of.from] = d->value[i].rows + position * d->value[i].width;
        /* rows after a gap can't be used: the positions before them ran without the draft */
        d->received = position <= d->received ? position + n : d->received;
        return true;
}

/* Sets inputs and outputs of a call from row `row` on; first: of the first model's values. */
static void draft_point(Draft *d, const int32_t *tokens, int64_t row, bool first)
{
        for (int i = 0; i < d->ninput; i++)
                d->input[i] = tokens;
        d->output[0] = d->logits;
        for (int i = 0; i < d->nvalue; i++) {
                DraftValue *v = &d->value[i];
                d->input[v->of.input] = first ? v->rows + row * v->width : v->own;
                if (v->of.next >= 0)
                        d->output[v->of.next] = v->next;
        }
}

/* --- drafting --------------------------------------------------------------------------------------------------------- */

/* Rewinds to the common prefix of the text's tokens and the taken ones; leaves at least one of n rows to take. */
static int64_t agreed_length(Draft *d, const int32_t *text, int64_t n)
{
        int64_t position = engine_position(d->engine), same = 0;
        while (same < position && same < d->valid && same < n - 1 && d->taken[0] == text[0] &&
               d->taken[same + d->ahead] == text[same + d->ahead])
                same++;
        if (same == position || !engine_rewind(d->engine, same))
                return same;
        engine_rewind(d->engine, 0); /* windows or sums can't be rewound: takes all tokens again */
        return 0;
}

/* Rows `row` to n; logits of the last. */
static const char *draft_rows(Draft *d, const int32_t *text, int64_t row, int64_t n, bool first)
{
        static const int64_t none[MAX_NAMED];
        draft_point(d, text + row + d->ahead, row, first);
        const EngineCall call = {d->input, d->output, none};
        const char *wrong = engine_advance(d->engine, &call, n - row, n - row - 1);
        for (int i = 0; i < d->nvalue; i++)
                memcpy(d->value[i].own, d->value[i].next, (size_t)d->value[i].width * sizeof(float));
        if (!wrong) {
                memcpy(d->taken + row + d->ahead, text + row + d->ahead, (size_t)(n - row) * sizeof *text);
                d->taken[0] = text[0];
                d->valid = n;
        }
        return wrong;
}

/* The logits of the token after text [n], in d->logits.  own: the last row has values of the draft. */
static const char *draft_take(Draft *d, const int32_t *text, int64_t n, bool own)
{
        const int64_t rows = n - d->ahead, same = agreed_length(d, text, rows);
        const char *wrong = draft_rows(d, text, same, rows, !own);
        d->from_first = wrong ? 0 : own ? d->from_first : rows;
        return wrong;
}

/* The logits by token: -inf for those that the draft does not have. */
static float *logits_by_token(Draft *d)
{
        if (!d->token)
                return d->logits;
        for (int64_t i = 0; i < d->vocab; i++)
                d->all[i] = -INFINITY;
        for (int64_t i = 0; i < d->nlogit; i++)
                d->all[d->token[i]] = d->logits[i];
        return d->all;
}

/* Whether its rows can draft after n tokens and further ones. */
static bool may_draft(const Draft *d, int64_t n, int64_t further)
{
        bool goes_on = further == 0 || !d->nvalue;
        for (int i = 0; i < d->nvalue; i++)
                goes_on |= d->value[i].of.next >= 0;
        return goes_on && n + further - d->ahead <= d->context && n > d->ahead &&
               (!d->nvalue || d->received >= n - 1);
}

int64_t draft_propose(Draft *d, Generator g, Generated made, const int32_t *text, int64_t n, int32_t *drafts,
                      int64_t most, const char **wrong)
{
        d->valid = d->nvalue ? d->from_first : d->valid;
        if (penalties_apply(&g.penalties))
                g.times = memcpy(d->times, g.times, (size_t)d->vocab * sizeof *d->times);
        for (int64_t i = 0; i < most; i++) {
                if (!may_draft(d, n, i))
                        return i;
                if ((*wrong = draft_take(d, text, n + i, d->nvalue && i)))
                        return 0;
                drafts[i] = generation_choose(&g, &made, n + i, logits_by_token(d));
                made.made++;
                if (drafts[i] < 0)
                        return i;
                if (loop_stops(&g.tokens, drafts[i]))
                        return i + 1;
        }
        return most;
}
