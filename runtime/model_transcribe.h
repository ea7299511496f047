/*
 * Sound to text as a function of the model.  $model and $MODEL are its name.
 *
 * Needs the model's functions, its generation, transcribe_feed(), SAMPLES and SPEECH_START.
 */

size_t $model_transcribe_scratch(const $model_generation *how)
{
        const size_t generation = $model_generate_scratch(how), samples = SAMPLES * sizeof(float);
        return generation > samples ? generation : samples;
}

int $model_transcribe($model *m, const float *samples, int64_t n, const int32_t *begin, int64_t nbegin, const $model_generation *how,
                      $model_on_token *on_token, void *of, void *scratch, int64_t *made)
{
        static const int32_t start[] = {SPEECH_START};
        float *heard = (float *)scratch;
        if (made)
                *made = 0;
        if (!samples || !scratch || n < 1 || n > SAMPLES)
                return $MODEL_ERROR_RANGE;
        memcpy(heard, samples, (size_t)n * sizeof *heard);
        memset(heard + n, 0, (size_t)(SAMPLES - n) * sizeof *heard);
        const int error = transcribe_feed(m, heard);
        return error ? error : $model_generate(m, begin ? begin : start, begin ? nbegin : 1, how, on_token, of, scratch, made);
}
