/* The model of --draft as a Drafter (runtime/draft.h), by an engine; and its allocations. */
#include <inttypes.h>
#include <stdlib.h>

#include "run.h"

struct Draft {
        Drafter of;
        Engine *engine;
        const DraftRead *read;           /* [of.nvalue] */
        float **rows;                    /* [of.nvalue] */
        int64_t capacity;                /* of rows */
        int noutput, ninput, vocabulary; /* vocabulary: the output with the tokens of logits; -1: none */
        const void **input;              /* [ninput] */
        float **output;                  /* [noutput] */
        const char *wrong;               /* the last error */
};

/* Of Drafter. */
static int draft_run_rows(void *model, const DraftValue *value, const int32_t *tokens, int64_t n,
                          float *logits, float *vocabulary)
{
        static const int64_t none[MAX_NAMED];
        Draft *d = model;
        for (int i = 0; i < d->ninput; i++)
                d->input[i] = tokens;
        d->output[0] = logits;
        if (d->vocabulary >= 0)
                d->output[d->vocabulary] = vocabulary;
        for (int i = 0; i < d->of.nvalue; i++) {
                d->input[d->read[i].input] = value[i].from;
                if (value[i].goes_on)
                        d->output[d->read[i].next] = value[i].next;
        }
        const EngineCall call = {d->input, d->output, none};
        d->wrong = engine_advance(d->engine, &call, n, n - 1);
        return d->wrong != NULL;
}

static int draft_rewind(void *model, int64_t n)
{
        Draft *d = model;
        return engine_rewind(d->engine, n) != NULL;
}

static bool draft_values_new(Draft *d, const Plan *p)
{
        for (int i = 0; i < d->of.nvalue && d->of.value; i++) {
                const int64_t width = row_elements(p, &p->graph->input[d->read[i].input].type);
                d->of.value[i] = (DraftValue){.width = width,
                                              .goes_on = d->read[i].next >= 0,
                                              .own = calloc((size_t)width, sizeof(float)),
                                              .next = calloc((size_t)width, sizeof(float))};
                if (!d->of.value[i].own || !d->of.value[i].next)
                        return false;
        }
        return d->of.value != NULL;
}

Draft *draft_new(Engine *e, const Plan *p, const DraftRead *read, int nread)
{
        const Graph *g = p->graph;
        Draft *d = calloc(1, sizeof *d);
        if (!d)
                return NULL;
        *d = (Draft){.engine = e, .read = read, .noutput = g->noutput, .ninput = g->ninput, .vocabulary = -1};
        const int64_t vocab = row_elements(p, &g->output[0].node->type), ahead = nread > 0,
                      context = g->named[g->time].bound;
        d->of = (Drafter){.model = d,
                          .run_rows = draft_run_rows,
                          .rewind = draft_rewind,
                          .context = context,
                          .vocab = vocab,
                          .nlogit = vocab,
                          .ahead = (int)ahead,
                          .nvalue = nread,
                          .value = calloc((size_t)nread + 1, sizeof *d->of.value),
                          .taken = calloc((size_t)(context + ahead), sizeof *d->of.taken),
                          .times = calloc((size_t)vocab, sizeof *d->of.times),
                          .logits = calloc((size_t)vocab, sizeof *d->of.logits)};
        d->rows = calloc((size_t)nread + 1, sizeof *d->rows);
        d->input = calloc((size_t)d->ninput, sizeof *d->input);
        d->output = calloc((size_t)d->noutput, sizeof *d->output);
        if (draft_values_new(d, p) && d->rows && d->of.taken && d->input && d->output && d->of.logits &&
            d->of.times)
                return d;
        draft_free(d);
        return NULL;
}

void draft_free(Draft *d)
{
        if (!d)
                return;
        for (int i = 0; i < d->of.nvalue && d->of.value; i++) {
                free(d->rows ? d->rows[i] : NULL);
                free(d->of.value[i].own);
                free(d->of.value[i].next);
        }
        free(d->of.value);
        free(d->rows);
        free(d->of.taken);
        free(d->input);
        free(d->output);
        free(d->of.logits);
        free(d->of.token);
        free(d->of.by_token);
        free(d->of.times);
        free(d);
}

const char *draft_read_vocabulary(Draft *d, Arena *a, int output, int64_t vocab)
{
        int32_t *times = realloc(d->of.times, (size_t)vocab * sizeof *times);
        d->of.times = times ? times : d->of.times;
        d->of.token = calloc((size_t)d->of.nlogit, sizeof *d->of.token);
        d->of.by_token = calloc((size_t)(vocab > d->of.nlogit ? vocab : d->of.nlogit), sizeof(float));
        if (!times || !d->of.token || !d->of.by_token)
                return no_memory;
        d->of.vocab = vocab;
        d->vocabulary = output;
        const int64_t wrong = draft_read_tokens(&d->of);
        return wrong == -1 ? NULL
               : wrong < -1
                       ? d->wrong
                       : arena_printf(a, "its logit %" PRId64 " is that of token %g, expected 0 to %" PRId64,
                                      wrong, (double)d->of.logits[wrong], vocab - 1);
}

/* Room for this number of rows. */
static bool draft_grow(Draft *d, int64_t rows)
{
        const int64_t more = rows > 2 * d->capacity ? rows : 2 * d->capacity;
        for (int i = 0; i < d->of.nvalue && rows > d->capacity; i++) {
                const int64_t width = d->of.value[i].width;
                float *all = realloc(d->rows[i], (size_t)(more * width) * sizeof *all);
                if (!all)
                        return false;
                d->of.value[i].rows = d->rows[i] = all;
                memset(all + d->capacity * width, 0, (size_t)((more - d->capacity) * width) * sizeof *all);
        }
        d->capacity = rows > d->capacity ? more : d->capacity;
        return true;
}

bool draft_receive(Draft *d, int64_t position, int64_t n, float **output, const char **wrong)
{
        if (!d || !d->of.nvalue)
                return false;
        if (!draft_grow(d, position + n)) {
                *wrong = no_memory;
                return false;
        }
        for (int i = 0; i < d->of.nvalue; i++)
                if (d->read[i].from >= 0)
                        output[d->read[i].from] = d->rows[i] + position * d->of.value[i].width;
        /* rows after a gap can't be used: the positions before them ran without the draft */
        d->of.received = position <= d->of.received ? position + n : d->of.received;
        return true;
}

int64_t draft_propose(Draft *d, Generator g, Generated made, int32_t *text, int64_t n, int64_t most,
                      const char **wrong)
{
        int error = 0;
        const int64_t drafts = draft_tokens(&d->of, g, made, text, n, most, &error);
        if (error)
                *wrong = d->wrong;
        return drafts;
}
