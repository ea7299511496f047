/*
 * Denoising as a function of the model's.  $model and $MODEL stand for its name.
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

typedef struct {
        const LoopGiven *wanted, *without, *fed; /* fed: what was fed at the last call; NULL: none was */
        double guidance;                         /* 1: none */
        float *told;                             /* [TOLD_VALUES]; behind it what comes of both, [LATENT_VALUES], and room for a call */
} DenoiseAsker;

/* A call of the model, which tells of x. */
static int denoise_tell($model *m, const Denoiser *d, DenoiseAsker *a, const LoopGiven *given, const float *x)
{
        int32_t *room = (int32_t *)(void *)(a->told + TOLD_VALUES + LATENT_VALUES);
        const int error = denoise_call(m, x, 0, (float)denoise_step(d), given, a->fed, a->told, room);
        a->fed = given;
        return error;
}

/* What the model tells of x; with guidance it is asked without what is wanted too. */
static int denoise_ask($model *m, const Denoiser *d, DenoiseAsker *a, const float *x)
{
        float *unguided = a->told + TOLD_VALUES;
        int error = 0;
        if (a->guidance != 1) {
                error = denoise_tell(m, d, a, a->without, x);
                memcpy(unguided, a->told, LATENT_VALUES * sizeof *unguided);
        }
        error = error ? error : denoise_tell(m, d, a, a->wanted, x);
        if (a->guidance != 1 && !error)
                denoise_guide(a->told, unguided, LATENT_VALUES, GUIDED_VALUES, a->guidance);
        return error;
}

/* A denoising under way; it stays where it begins. */
typedef struct {
        Denoiser d;
        DenoiseAsker asker;
        LoopGiven without;
} Denoising;

static int denoising_begin(Denoising *s, const LoopGiven *given, const $model_denoising *how, float *x, void *scratch)
{
        DenoiseOptions o = denoise_form;
        const double guidance = how && how->guidance != 0 ? how->guidance : loop_guidance;
        o.steps = denoise_steps(how);
        if (!x || !scratch || o.steps < 1 || o.steps > denoise_most_steps(&o) || guidance - guidance != 0)
                return $MODEL_ERROR_RANGE;
        if (!denoise_without(how, given, &s->without) && guidance != 1)
                return $MODEL_ERROR_RANGE;
        float *told = (float *)(void *)((uint8_t *)scratch + denoise_room(o.steps, LATENT_VALUES));
        s->asker = (DenoiseAsker){given, &s->without, NULL, guidance, told};
        denoise_start(&s->d, &o, LATENT_VALUES, how ? how->seed : 0, scratch);
        if (!how || !how->goes_on)
                denoise_noise(&s->d, x);
        return $MODEL_OK;
}

/* The next call of the model, if there is one left. */
static int denoising_step(Denoising *s, $model *m, float *x)
{
        if (s->d.call >= s->d.calls)
                return $MODEL_OK;
        const float *told = s->asker.told;
        const int error = denoise_ask(m, &s->d, &s->asker, x);
        if (!error)
                denoise_take(&s->d, s->asker.guidance != 1 ? told + TOLD_VALUES : told, s->d.o.learned ? told + LATENT_VALUES : NULL, x);
        return error;
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
