/* A sound as an input of a model, as `loop transcribe` prescribes: resampled, padded with silence. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* A sound is never truncated: the result would be for a part of it. */
static const char *sound_too_long(Arena *a, const char *path, const Sound *s, int64_t most, int rate)
{
        double seconds = (double)most / rate;
        return arena_printf(a,
                            "%s: it is %.6g s long (%lld samples), but the model takes %.6g s (%lld samples "
                            "at %d per second): `ffmpeg -i FILE -ss 0 -t %.6g NEW.wav` takes the first part",
                            path, (double)s->n / s->rate, (long long)s->n, seconds, (long long)most, rate,
                            seconds);
}

const char *sound_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                         bool *env_error)
{
        const Setting *setting = loop_setting(l, "rate");
        Sound s;
        *value = NULL;
        const char *why = sound_read(a, path, &s, env_error);
        const int rate = setting ? (int)setting->number : s.rate;
        if (!why && resampled_length(s.n, s.rate, rate) > *dim)
                why = sound_too_long(a, path, &s, *dim, rate);
        if (!why)
                why = sound_resample(a, path, &s, rate);
        if (!why && s.note)
                fprintf(stderr, "lathe: note: %s\n", s.note);
        if (!why && !(*value = calloc((size_t)*dim, sizeof **value)))
                why = no_memory;
        for (int64_t i = 0; i < s.n && !why; i++)
                (*value)[i] = (double)s.sample[i];
        sound_free(&s);
        return why;
}
