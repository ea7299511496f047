/* WAV, by runtime/wav.h: messages about invalid files. */
#include <stdlib.h>

#include "media_private.h"

#include "../../runtime/wav.h"

typedef struct {
        Arena *arena;
        const MediaBytes *bytes;
        WavHead head;
} Wav;

/* NULL, or the message of a fault of runtime/wav.h. */
static const char *fault_text(const Wav *w, int fault)
{
        const WavHead *h = &w->head;
        const char *path = w->bytes->path;
        const long long place = (long long)h->place, wanted = (long long)h->wanted;
        switch (fault) {
        case WAV_GOOD: return NULL;
        case WAV_OTHER: return media_refusal(w->arena, w->bytes, MEDIA_SOUND);
        case WAV_NO_FORMAT:
                return arena_printf(w->arena, "%s: it ends without a description of its samples (fmt)", path);
        case WAV_NO_DATA:
                return arena_printf(w->arena,
                                    h->data ? "%s: it has no samples" : "%s: it ends without samples (data)",
                                    path);
        case WAV_ENDS:
                return arena_printf(
                        w->arena,
                        "%s: it is truncated: at byte %lld a chunk of %lld bytes begins, but %lld follow",
                        path, place, wanted, (long long)w->bytes->n - place);
        case WAV_SHORT:
                return arena_printf(w->arena, "%s: byte %lld: fmt has %lld bytes; expected at least 16", path,
                                    place, wanted);
        case WAV_KIND:
                return arena_printf(w->arena,
                                    "%s: its samples are of kind %d with %d bits; expected whole numbers (1) "
                                    "of 8, 16, 24 or 32 bits, or floats (3) of 32 or 64; "
                                    "`ffmpeg -i FILE -ac 1 NEW.wav` converts it",
                                    path, h->kind, h->bits);
        case WAV_BLOCK:
                return arena_printf(w->arena, "%s: byte %lld: %d channels of %d bits can't be %d bytes", path,
                                    place + 12, h->channels, h->bits, h->block);
        default:
                return arena_printf(w->arena, "%s: byte %lld: its rate can't be %lld samples per second",
                                    path, place + 4, (long long)h->rate);
        }
}

static const char *read_samples(const Wav *w, Sound *out)
{
        const int64_t n = w->head.size / w->head.block;
        char note[WAV_NOTE];
        wav_note(&w->head, note);
        *out = (Sound){n, (int)w->head.rate, malloc((size_t)n * sizeof *out->sample),
                       *note ? arena_printf(w->arena, "%s: %s", w->bytes->path, note) : NULL};
        if (!out->sample)
                return no_memory;
        const int64_t bad_sample = wav_samples(&w->head, w->bytes->at, out->sample);
        if (bad_sample < 0)
                return NULL;
        sound_free(out);
        return arena_printf(w->arena, "%s: sample %lld is not a finite number", w->bytes->path,
                            (long long)bad_sample);
}

void sound_free(Sound *sound)
{
        free(sound->sample);
        *sound = (Sound){0};
}

const char *sound_read(Arena *a, const char *path, Sound *out, bool *env_error)
{
        MediaBytes bytes;
        Wav w = {.arena = a, .bytes = &bytes};
        *out = (Sound){0};
        const char *why = media_read(a, path, &bytes, env_error);
        if (!why)
                why = fault_text(&w, wav_head(bytes.at, bytes.n, &w.head));
        if (!why)
                why = read_samples(&w, out);
        media_free(&bytes);
        return why;
}
