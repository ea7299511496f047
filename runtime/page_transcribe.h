/*
 * A page's sound as text.  $model and $MODEL are the model's name.
 *
 * Needs page_tale.h, wav.h, transcribe_feed(), SAMPLE_RATE, SAMPLES and START_TOKEN.
 */

/* The whole sound; the model's input is SAMPLES of it at a time. */
typedef struct {
        float *sample; /* [n], -1 to 1; NULL: none */
        int64_t n;
} PageSound;

static PageSound sound_of_page;

/* Allocates a sound of n samples, -1 to 1, and frees the previous one; NULL: out of memory. */
float *PAGE(sound)(int64_t n)
{
        PageSound *s = &sound_of_page;
        free(s->sample);
        s->sample = n <= INT32_MAX / (int64_t)sizeof *s->sample ? malloc((size_t)n * sizeof *s->sample) : NULL;
        s->n = s->sample ? n : 0;
        return s->sample;
}

/* Reads a WAV file.  Returns the number of samples; 0: not a WAV file of the model's rate with finite numbers; -1: out of memory. */
int PAGE(wav)(const uint8_t *file, size_t bytes)
{
        WavHead head;
        if (wav_head(file, (int64_t)bytes, &head) || head.rate != SAMPLE_RATE)
                return 0;
        float *sample = page_sound(head.size / head.block);
        return !sample ? -1 : wav_samples(&head, file, sample) >= 0 ? 0 : (int)sound_of_page.n;
}

/* Begins the text of the sound from sample `from` on, padded with silence.  Returns 0 or an error. */
int PAGE(begin)(int from, int steps, float temperature, float top_p, int64_t seed)
{
        static const int32_t start[] = {START_TOKEN};
        static float heard[SAMPLES];
        const PageSound *s = &sound_of_page;
        const int64_t left = s->n - from, n = left < SAMPLES ? left : SAMPLES;
        if (from < 0 || left < 1)
                return $MODEL_ERROR_RANGE;
        memset(heard, 0, sizeof heard);
        for (int64_t i = 0; i < n; i++) {
                heard[i] = s->sample[from + i];
                if (heard[i] - heard[i] != 0)
                        return $MODEL_ERROR_RANGE;
        }
        const int error = transcribe_feed(page_model, heard);
        return error ? error
                     : tale_begin(start, 1, 0, steps,
                                  (Sampler){.temperature = temperature, .top_p = top_p, .typical_p = 1, .state = (uint64_t)seed}, (Penalties){0});
}
