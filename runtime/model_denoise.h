/*
 * Denoising as a function of the model's.  $model and $MODEL stand for its name.
 *
 * Needs guard.h, denoise.h, the model's functions, denoise_call(), LoopGiven, denoise_form, loop_guidance, LATENT_VALUES, GUIDED_VALUES,
 * TOLD_VALUES and * NO_CLASS.
 */

static int denoise_steps(const $model_denoising *how)
{
        return how && how->steps ? how->steps : denoise_form.steps;
}

size_t $model_denoise_scratch(const $model_denoising *how)
{
        const int steps = denoise_steps(how);
        if (steps < 1 || steps > denoise_form.trained)
                return 8;
        return denoise_room(steps, LATENT_VALUES) + sizeof(float) * (size_t)(TOLD_VALUES + LATENT_VALUES + denoise_call_room(0));
}

/* What the model tells of x, into told; with guidance it is asked without the class too, and what comes of both is behind that. */
static int denoise_ask($model *m, const Denoiser *d, const LoopGiven *given, double guidance, const float *x, float *told)
{
        float *unguided = told + TOLD_VALUES;
        int32_t *room = (int32_t *)(void *)(unguided + LATENT_VALUES);
        const float at = (float)denoise_step(d);
        int error = 0;
        if (guidance != 1) {
                error = denoise_call(m, x, 0, at, NO_CLASS, given, told, room);
                memcpy(unguided, told, LATENT_VALUES * sizeof *unguided);
        }
        error = error ? error : denoise_call(m, x, 0, at, given->of_class, given, told, room);
        if (guidance != 1 && !error)
                denoise_guide(told, unguided, LATENT_VALUES, GUIDED_VALUES, guidance);
        return error;
}

/* A denoising under way. */
typedef struct {
        Denoiser d;
        const LoopGiven *given;
        double guidance;
        float *told; /* in the caller's scratch */
} Denoising;

static int denoising_begin(Denoising *s, const LoopGiven *given, const $model_denoising *how, float *x, void *scratch)
{
        DenoiseOptions o = denoise_form;
        const double guidance = how && how->guidance != 0 ? how->guidance : loop_guidance;
        o.steps = denoise_steps(how);
        if (!x || !scratch || o.steps < 1 || o.steps > o.trained || guidance - guidance != 0 || (guidance != 1 && NO_CLASS < 0))
                return $MODEL_ERROR_RANGE;
        *s = (Denoising){.given = given,
                         .guidance = guidance,
                         .told = (float *)(void *)((uint8_t *)scratch + denoise_room(o.steps, LATENT_VALUES))};
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
        const int error = denoise_ask(m, &s->d, s->given, s->guidance, x, s->told);
        if (!error)
                denoise_take(&s->d, s->guidance != 1 ? s->told + TOLD_VALUES : s->told, s->d.o.learned ? s->told + LATENT_VALUES : NULL, x);
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
