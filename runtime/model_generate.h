/*
 * Generation as a function of the model.  $model and $MODEL are its name.
 *
 * Needs generation.h, sampler.h, the model's functions, VOCAB, CONTEXT, DRAFTS and tokens_of_loop.
 */

static int generator_take(void *model, const int32_t *tokens, int64_t n, float *logits)
{
        $model *m = ($model *)model;
        return $model_forward(m, tokens, n, logits$taps);
}

static int generator_rewind(void *model, int64_t n)
{
        return $model_rewind(model, n);
}

#if HAS_COMMAND
static double no_seconds(void)
{
        return 0;
}
#endif

/* What generation_run() returns as an error of the model's. */
static int generation_error(int error)
{
        return error == GENERATION_MEMORY    ? $MODEL_ERROR_MEMORY
               : error == GENERATION_CONTEXT ? $MODEL_ERROR_CONTEXT
               : error == GENERATION_NONE    ? $MODEL_ERROR_RULE
                                             : error;
}

static int is_probability(float p)
{
        return p >= 0 && p <= 1;
}

static int is_finite_number(float x)
{
        return x - x == 0;
}

static int generation_is_valid($model_generation h)
{
        return h.temperature >= 0 && is_finite_number(h.temperature) && h.top_k >= 0 && is_probability(h.top_p) &&
               is_probability(h.min_p) && is_probability(h.typical_p) && h.repetition_penalty >= 0 &&
               is_finite_number(h.repetition_penalty) && is_finite_number(h.presence_penalty) &&
               is_finite_number(h.frequency_penalty) && h.steps >= 0 && h.drafts >= 0 && h.drafts <= DRAFTS;
}

#if HAS_SAMPLING
$model_generation $model_generation_default(void)
{
        const Sampling *s = &sampling_of_loop;
        return ($model_generation){.temperature = s->temperature,
                                   .top_k = s->top_k,
                                   .top_p = s->top_p,
                                   .min_p = s->min_p,
                                   .seed = 1,
                                   .repetition_penalty = s->repetition};
}

#endif
size_t $model_generate_scratch(const $model_generation *how)
{
        return generation_room(VOCAB, CONTEXT, how ? how->drafts : 0);
}

int $model_generate($model *m, const int32_t *tokens, int64_t n, const $model_generation *how, $model_on_token *on_token, void *of,
                    void *scratch, int64_t *made)
{
#if HAS_SAMPLING
        const $model_generation h = how ? *how : $model_generation_default();
#else
        const $model_generation h = how ? *how : ($model_generation){0};
#endif
        Sampler sampler = {.temperature = h.temperature,
                           .top_k = h.top_k,
                           .top_p = h.top_p > 0 ? h.top_p : 1,
                           .min_p = h.min_p,
                           .typical_p = h.typical_p > 0 ? h.typical_p : 1,
                           .state = h.seed};
        Generated all = {0};
        if (made)
                *made = 0;
        if (!tokens || !scratch || n <= $model_position(m) || !generation_is_valid(h))
                return $MODEL_ERROR_RANGE;
        Generator g = {.model = m,
                       .take = generator_take,
                       .rewind = generator_rewind,
                       .sampler = &sampler,
                       .sample = sample,
                       .of = of,
                       .show = on_token,
                       .ruler = h.ruler,
                       .rule = h.rule,
                       .proposer = h.proposer,
                       .propose = h.propose,
#if HAS_COMMAND
                       .seconds = no_seconds,
#endif
                       .tokens = tokens_of_loop,
                       .vocab = VOCAB,
                       .context = CONTEXT,
                       .steps = h.steps ? h.steps : INT64_MAX,
                       .chunk = CONTEXT,
                       .drafts = h.drafts,
                       .penalties = {h.repetition_penalty, h.presence_penalty, h.frequency_penalty}};
        generation_lay(&g, scratch);
#if HAS_STORED_ROWS
        if (h.rows)
                m->stored = *h.rows;
#endif
        int error = generation_run(&g, tokens, n, $model_position(m), &all);
#if HAS_STORED_ROWS
        m->stored = ($model_rows){0};
#endif
        if (made)
                *made = all.made;
        return generation_error(error);
}
