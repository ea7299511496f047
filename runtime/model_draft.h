/*
 * Drafts for another emitted model, by a model of `loop draft`.  $model and $MODEL are its name.
 *
 * Needs guard.h, draft.h, sampler.h, the model's functions, draft_call(), draft_rows(), draft_values and DRAFT_* sizes.
 */

static int drafter_rewind(void *model, int64_t n)
{
        return $model_rewind(model, n);
}

static const LoopTokens draft_rules = {.stop = (const int32_t[]){-1}, .first = (const int32_t[]){-1}, .forbid = (const int32_t[]){-1},
                                       .forbid_first = (const int32_t[]){-1}, .last = (const int32_t[]){-1}};

/* The drafter and its sampler, with their memory in the scratch. */
static Drafter draft_laid(const $model_drafter *d, DraftValue *value, Sampler *sampler)
{
        float *at = (float *)d->scratch;
        for (int i = 0; i < DRAFT_VALUES; i++) {
                value[i] = draft_values[i];
                value[i].own = at;
                value[i].next = at + value[i].width;
                at += 2 * value[i].width;
        }
        draft_rows(d, value, at);
        at += DRAFT_ZEROS;
        *sampler = (Sampler){.temperature = d->temperature, .top_k = d->top_k, .top_p = d->top_p > 0 ? d->top_p : 1, .min_p = d->min_p,
                             .typical_p = d->typical_p > 0 ? d->typical_p : 1, .weight = at, .order = (int32_t *)(void *)(at + DRAFT_VOCAB)};
        int32_t *tokens = sampler->order + DRAFT_VOCAB;
        float *logits = (float *)(void *)(tokens + DRAFT_CONTEXT + 1 + DRAFT_LOGITS);
        return (Drafter){.model = d->m, .run_rows = draft_call, .rewind = drafter_rewind, .context = DRAFT_CONTEXT, .vocab = DRAFT_VOCAB,
                         .nlogit = DRAFT_LOGITS, .received = INT64_MAX, .valid = d->kept, .ahead = 1, .nvalue = DRAFT_VALUES, .value = value,
                         .taken = tokens, .token = DRAFT_MAPS ? tokens + DRAFT_CONTEXT + 1 : NULL, .logits = logits,
                         .by_token = logits + DRAFT_LOGITS};
}

size_t $model_draft_scratch(void)
{
        return sizeof(float) * (size_t)(2 * DRAFT_WIDTHS + DRAFT_ZEROS + 3 * DRAFT_VOCAB + DRAFT_CONTEXT + 1 + 2 * DRAFT_LOGITS);
}

int $model_draft_begin($model_drafter *d)
{
        DraftValue value[DRAFT_VALUES];
        Sampler sampler;
        if (!d->m || !d->scratch)
                return $MODEL_ERROR_RANGE;
        memset(d->scratch, 0, $model_draft_scratch());
        d->kept = 0;
        Drafter all = draft_laid(d, value, &sampler);
        return DRAFT_MAPS && draft_read_tokens(&all) != -1 ? $MODEL_ERROR_RANGE : $MODEL_OK;
}

int64_t $model_propose(void *drafter, const int32_t *tokens, int64_t n, int32_t *drafts, int64_t room)
{
        $model_drafter *d = ($model_drafter *)drafter;
        DraftValue value[DRAFT_VALUES];
        Sampler sampler;
        int error = 0;
        Drafter all = draft_laid(d, value, &sampler);
        sampler.state = d->seed + (uint64_t)(n - d->prompt) * UINT64_C(0x9e3779b97f4a7c15);
        const Generator g = {.sampler = &sampler, .sample = sample, .tokens = draft_rules, .vocab = DRAFT_VOCAB, .context = DRAFT_CONTEXT,
                             .steps = INT64_MAX, .text = drafts - n};
        if (drafts != tokens + n)
                return 0;
        const int64_t made = draft_tokens(&all, g, (Generated){.made = n - d->prompt}, drafts - n, n, room, &error);
        d->kept = error ? 0 : all.valid;
        return made;
}
