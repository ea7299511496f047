/* Sounds as compiler/media reads them: a line `FILE RATE` of standard input becomes one of standard output, the rate and the samples, or
 * what is wrong.  RATE: it is resampled; 0: it is not. */
#include <stdio.h>

#include "media/media.h"

static const char *one(Arena *a, const char *path, int rate)
{
        Sound sound;
        bool env_error;
        const char *why = sound_read(a, path, &sound, &env_error);
        if (!why && rate && (why = sound_resample(a, path, &sound, rate)))
                sound_free(&sound);
        if (why)
                return why;
        printf("%d", sound.rate);
        for (int64_t i = 0; i < sound.n; i++)
                printf(" %.9g", (double)sound.sample[i]);
        printf("%s%s\n", sound.note ? " note: " : "", sound.note ? sound.note : "");
        sound_free(&sound);
        return NULL;
}

int main(void)
{
        char path[512];
        int rate;
        while (scanf("%511s %d", path, &rate) == 2) {
                Arena arena = {0};
                const char *why = one(&arena, path, rate);
                if (why)
                        printf("%s\n", why);
                arena_free(&arena);
        }
        return 0;
}
