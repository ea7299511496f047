/* A sound as an input of a model, as `loop transcribe` prescribes: resampled, padded with silence. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

bool is_sound_file(const char *path)
{
        size_t n = strlen(path);
        return n > 4 && (!strcmp(path + n - 4, ".wav") || !strcmp(path + n - 4, ".WAV"));
}

/* A sound is never truncated: the result would be for a part of it. */
static const char *sound_too_long(Arena *a, const char *path, const Sound *s, int64_t most)
{
        double seconds = (double)most / s->rate;
        return arena_printf(
                a,
                "%s: it is %.6g s long (%lld samples), but the model takes %.6g s (%lld): `ffmpeg "
                "-i FILE -ss 0 -t %.6g NEW.wav` takes the first part",
                path, (double)s->n / s->rate, (long long)s->n, seconds, (long long)most, seconds);
}

const char *sound_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                         bool *env_error)
{
        const Setting *rate = loop_setting(l, "rate");
        Sound s;
        *value = NULL;
        const char *why = sound_read(a, path, rate ? (int)rate->number : 0, &s, env_error);
        if (!why && s.note)
                fprintf(stderr, "lathe: note: %s\n", s.note);
        if (!why && s.n > *dim)
                why = sound_too_long(a, path, &s, *dim);
        if (!why && !(*value = calloc((size_t)*dim, sizeof **value)))
                why = no_memory;
        for (int64_t i = 0; i < s.n && !why; i++)
                (*value)[i] = (double)s.sample[i];
        sound_free(&s);
        return why;
}
