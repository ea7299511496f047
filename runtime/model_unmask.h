/*
 * Texts whose masks are filled, as a function of the model.  $model and $MODEL are its name.
 *
 * Needs guard.h, unmask.h, sampler.h, the model's functions, unmask_call(), unmask_loop, VOCAB, CONTEXT, KEPT_BLOCK and tokens_of_loop.
 */

/* The model with scratch for a call. */
typedef struct {
        $model *m;
        int32_t *room;
} UnmaskModel;

static int unmask_model_predict(void *model, const int32_t *tokens, int64_t kept, int64_t n, int64_t first, float *logits)
{
        const UnmaskModel *u = model;
        return unmask_call(u->m, tokens, kept, n, first, logits, u->room);
}

/* Result of unmask_run() as an error of the model. */
static int unmask_error(int error)
{
        return error == GENERATION_CONTEXT ? $MODEL_ERROR_CONTEXT : error == GENERATION_NONE ? $MODEL_ERROR_RULE : error;
}

/* The loop's settings, and those of `how` in their place. */
static UnmaskForm unmask_form_with(const $model_unmasking *how)
{
        UnmaskForm f = unmask_loop;
        if (!how)
                return f;
        f.length = how->length > 0 ? how->length : how->length < 0 ? 0 : f.length;
        f.part = how->block_length > 0 ? 0 : f.part;
        f.block = how->block_length > 0 ? how->block_length : f.block;
        f.steps = how->steps > 0 ? how->steps : f.steps;
        f.threshold = how->threshold > 0 ? (double)how->threshold : how->threshold < 0 ? 0 : f.threshold;
        f.guidance = how->guidance != 0 ? (double)how->guidance : f.guidance;
        return f;
}

static int unmasking_is_valid(const $model_unmasking *h)
{
        return h->temperature >= 0 && h->temperature - h->temperature == 0 && h->top_k >= 0 && h->top_p >= 0 && h->top_p <= 1 && h->min_p >= 0 &&
               h->min_p <= 1 && h->threshold <= 1 && h->guidance - h->guidance == 0;
}

size_t $model_unmask_scratch(const $model_unmasking *how, int64_t n)
{
        const UnmaskForm f = unmask_form_with(how);
        return unmask_room(&f, VOCAB, unmask_places(&f, n, CONTEXT)) + sizeof(int32_t) * (size_t)unmask_call_room(CONTEXT);
}

#if HAS_SAMPLING
$model_unmasking $model_unmasking_default(void)
{
        const Sampling *s = &sampling_of_loop;
        return ($model_unmasking){.temperature = s->temperature, .top_k = s->top_k, .top_p = s->top_p, .min_p = s->min_p, .seed = 1};
}

#endif
int $model_unmask($model *m, const int32_t *tokens, int64_t n, const $model_unmasking *how, $model_on_token *on_token, void *of,
                  void *scratch, int64_t *made)
{
#if HAS_SAMPLING
        const $model_unmasking h = how ? *how : $model_unmasking_default();
#else
        const $model_unmasking h = how ? *how : ($model_unmasking){0};
#endif
        const UnmaskForm form = unmask_form_with(how);
        Sampler sampler = {.temperature = h.temperature,
                           .top_k = h.top_k,
                           .top_p = h.top_p > 0 ? h.top_p : 1,
                           .min_p = h.min_p,
                           .typical_p = 1,
                           .state = h.seed};
        Generated all = {0};
        if (made)
                *made = 0;
        if (!tokens || !scratch || n < 0 || !unmasking_is_valid(&h))
                return $MODEL_ERROR_RANGE;
        const int64_t places = unmask_places(&form, n, CONTEXT);
        UnmaskModel model = {m, (int32_t *)(void *)((uint8_t *)scratch + unmask_room(&form, VOCAB, places))};
        Unmasker u = {.form = &form,
                      .model = &model,
                      .predict_masks = unmask_model_predict,
                      .sampler = &sampler,
                      .sample = sample,
                      .of = of,
                      .show = on_token,
                      .on_step = h.on_step,
                      .tokens = tokens_of_loop,
                      .suppress = h.suppress,
                      .vocab = VOCAB,
                      .context = CONTEXT,
                      .kept_block = KEPT_BLOCK};
        const FloatState outside = float_enter();
        unmask_lay(&u, places, scratch);
        const int error = unmask_run(&u, tokens, n, &all);
        float_leave(outside);
        if (made)
                *made = all.made;
        return unmask_error(error);
}
