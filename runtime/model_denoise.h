/*
 * Denoising as a function of the model.  $model and $MODEL are its name.
 *
 * Needs guard.h, denoise.h, the model's functions, denoise_call(), LoopGiven, denoise_without(), denoise_form, loop_guidance, LATENT_VALUES,
 * GUIDED_VALUES and TOLD_VALUES.
 */

static int denoise_steps(const $model_denoising *how)
{
        return how && how->steps ? how->steps : denoise_form.steps;
}

size_t $model_denoise_scratch(const $model_denoising *how)
{
        const int steps = denoise_steps(how);
        if (steps < 1 || steps > denoise_most_steps(&denoise_form))
                return 8;
        return denoise_room(steps, LATENT_VALUES) + sizeof(float) * (size_t)(TOLD_VALUES + LATENT_VALUES + denoise_call_room(0));
}

/* A denoising in progress.  It must not be moved in memory. */
typedef struct {
        $model *m;
        Denoiser d;
        DenoiserCalls calls;
        const LoopGiven *wanted, *fed; /* fed: condition of the last call; NULL: none */
        LoopGiven without;
        float *told; /* [TOLD_VALUES]; after it [LATENT_VALUES] for guidance, and room for a call */
} Denoising;

/* A call of the model: its prediction for x. */
static int denoise_tell(void *model, const Denoiser *d, const float *x, int without, const float **told)
{
        Denoising *s = model;
        const LoopGiven *given = without ? &s->without : s->wanted;
        int32_t *room = (int32_t *)(void *)(s->told + TOLD_VALUES + LATENT_VALUES);
        const int error = denoise_call(s->m, x, 0, (float)denoise_step(d), given, s->fed, s->told, room);
        s->fed = given;
        *told = s->told;
        return error;
}

static int denoising_begin(Denoising *s, const LoopGiven *given, const $model_denoising *how, float *x, void *scratch)
{
        DenoiseOptions o = denoise_form;
        const double guidance = how && how->guidance != 0 ? how->guidance : loop_guidance;
        o.steps = denoise_steps(how);
        if (!x || !scratch || o.steps < 1 || o.steps > denoise_most_steps(&o) || guidance - guidance != 0)
                return $MODEL_ERROR_RANGE;
        if (!denoise_without(how, given, &s->without) && guidance != 1)
                return $MODEL_ERROR_RANGE;
        s->wanted = given;
        s->fed = NULL;
        s->told = (float *)(void *)((uint8_t *)scratch + denoise_room(o.steps, LATENT_VALUES));
        s->calls = (DenoiserCalls){s, denoise_tell, guidance, GUIDED_VALUES, s->told + TOLD_VALUES};
        denoise_start(&s->d, &o, LATENT_VALUES, how ? how->seed : 0, scratch);
        if (!how || !how->goes_on)
                denoise_noise(&s->d, x);
        return $MODEL_OK;
}

/* Makes the next call of the model, if one remains. */
static int denoising_step(Denoising *s, $model *m, float *x)
{
        s->m = m;
        return s->d.call < s->d.calls ? denoise_call_next(&s->d, &s->calls, x) : $MODEL_OK;
}

static int denoise_loop($model *m, const LoopGiven *given, const $model_denoising *how, float *x, $model_on_step *on_step, void *of,
                        void *scratch)
{
        Denoising s;
        int ends = 0;
        const FloatState outside = float_enter();
        int error = denoising_begin(&s, given, how, x, scratch);
        while (!error && !ends && s.d.call < s.d.calls) {
                error = denoising_step(&s, m, x);
                ends = !error && on_step && on_step(of, s.d.call, s.d.calls, x);
        }
        float_leave(outside);
        return error;
}
