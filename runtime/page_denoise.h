/*
 * A page's drawings.  $model and $MODEL are the model's name.
 *
 * Needs page.h, model_denoise.h, main_shell.h and the needs of main_denoise.h.
 */

/* The picture in progress. */
typedef struct {
        Denoising by;
        LoopGiven given;
        int32_t of_class;
        float x[LATENT_VALUES];
} PageDrawing;

static PageDrawing drawing_of_page;

/* Begins a picture; steps, guidance: 0: the model's default.  Returns 0 or an error. */
int PAGE(begin)(int of_class, int steps, double guidance, int64_t seed)
{
        static void *scratch;
        PageDrawing *d = &drawing_of_page;
        const $model_denoising how = {.steps = steps, .guidance = guidance, .seed = (uint64_t)seed};
        free(scratch);
        scratch = malloc($model_denoise_scratch(&how));
        (void)of_class;
#if HAS_CLASS
        if (of_class < 0 || of_class >= CLASS_NUMBERS)
                return $MODEL_ERROR_RANGE;
        d->of_class = of_class;
        give_class(&d->given, &d->of_class);
#endif
        return scratch ? denoising_begin(&d->by, &d->given, &how, d->x, scratch) : $MODEL_ERROR_MEMORY;
}

/* Makes a call of the model.  Returns the number of remaining calls, or -1 - an error. */
int PAGE(next)(void)
{
        PageDrawing *d = &drawing_of_page;
        const int error = denoising_step(&d->by, page_model, d->x);
        return error ? -1 - error : d->by.d.calls - d->by.d.call;
}

/* The current picture [channels][rows][columns], -1 to 1. */
const float *PAGE(picture)(void)
{
        return drawing_of_page.x;
}

int PAGE(calls)(void)
{
        return drawing_of_page.by.d.calls;
}

int64_t PAGE(hash)(void)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (int64_t i = 0; i < LATENT_VALUES; i++) {
                const double value = (double)drawing_of_page.x[i];
                hash = hash_doubles(hash, &value, 1);
        }
        return (int64_t)hash;
}
