/* WAV: "RIFF", a size, "WAVE", then chunks, each of a name, a size in 4 bytes and that many bytes, to an even place.  "fmt " says what the
 * samples are, "data" is them, of all channels one after another; all else is passed over.  (IBM and Microsoft 1991, "Multimedia
 * programming interface and data specifications 1.0"; WAVE_FORMAT_EXTENSIBLE as in Windows' mmreg.h.)  Numbers begin with their lowest byte. */
#include <math.h>
#include <stdlib.h>

#include "media_private.h"

enum {
        HEAD = 12,
        CHUNK_HEAD = 8,
        FORMAT = 16,          /* bytes of the oldest "fmt " */
        FORMAT_EXTENDED = 40, /* with a kind of 16 bytes, of which the first 2 are that of the others */
        OF_INTEGERS = 1,
        OF_FLOATS = 3,
        EXTENDED = 0xfffe
};
/* Of a size that was not known when the file was begun: ffmpeg writes 2^32 - 1 to a pipe, sox from 2^31 - 4096 on. */
static const int64_t UNKNOWN_SIZE = 0x7ffff000;

typedef struct {
        Arena *arena;
        const MediaBytes *bytes;
        int rate_wanted; /* 0: any */
        int kind, channels, bits;
        int64_t rate;
        int64_t data, size; /* where the samples are, and how many bytes they are */
} Wav;

static int64_t unsigned_at(const Wav *w, int64_t at, int bytes)
{
        uint64_t x = 0;
        for (int i = 0; i < bytes; i++)
                x |= (uint64_t)w->bytes->at[at + i] << 8 * i;
        return (int64_t)x;
}

static bool begins(const Wav *w, int64_t at, const char *name)
{
        int64_t n = (int64_t)strlen(name);
        return w->bytes->n - at >= n && !memcmp(w->bytes->at + at, name, (size_t)n);
}

/* How to make of it a file that is read. */
static const char *conversion(const Wav *w)
{
        const char *rate = w->rate_wanted ? arena_printf(w->arena, " -ar %d", w->rate_wanted) : "";
        return arena_printf(w->arena, "convert it: `ffmpeg -i FILE -ac 1%s NEW.wav`", rate);
}

/* --- chunks --------------------------------------------------------------------------------------------------------- */

static const char *no_wav(const Wav *w)
{
        static const struct {
                int at;
                const char *name, *what;
        } other[] = {{0, "fLaC", "a FLAC"},
                     {0, "OggS", "an Ogg"},
                     {0, "ID3", "an MP3"},
                     {0, "\xff\xfb", "an MP3"},
                     {0, "\xff\xf3", "an MP3"},
                     {0, "FORM", "an AIFF"},
                     {4, "ftyp", "an MP4"},
                     {0, "RIFX", "a WAV whose numbers begin with their highest byte"},
                     {0, "RF64", "a WAV of more than 4 GB"}};
        for (size_t i = 0; i < sizeof other / sizeof *other; i++)
                if (begins(w, other[i].at, other[i].name))
                        return arena_printf(w->arena, "%s: it is %s; WAV is read: %s", w->bytes->path,
                                            other[i].what, conversion(w));
        return arena_printf(w->arena, "%s: it is no sound; WAV is read", w->bytes->path);
}

static const char *read_format(Wav *w, int64_t at, int64_t size)
{
        if (size < FORMAT)
                return arena_printf(w->arena, "%s: byte %lld: fmt has %lld bytes; %d at least are wanted",
                                    w->bytes->path, (long long)at, (long long)size, FORMAT);
        w->kind = (int)unsigned_at(w, at, 2);
        w->channels = (int)unsigned_at(w, at + 2, 2);
        w->rate = unsigned_at(w, at + 4, 4);
        w->bits = (int)unsigned_at(w, at + 14, 2);
        if (w->kind == EXTENDED && size >= FORMAT_EXTENDED)
                w->kind = (int)unsigned_at(w, at + 24, 2);
        bool integers = w->kind == OF_INTEGERS && w->bits >= 8 && w->bits <= 32 && w->bits % 8 == 0;
        bool floats = w->kind == OF_FLOATS && (w->bits == 32 || w->bits == 64);
        if (!integers && !floats)
                return arena_printf(w->arena,
                                    "%s: its samples are of kind %d with %d bits; whole numbers (1) of 8, "
                                    "16, 24 and 32 bits and floats (3) of 32 and 64 are read: %s",
                                    w->bytes->path, w->kind, w->bits, conversion(w));
        int64_t block = unsigned_at(w, at + 12, 2);
        if (w->channels < 1 || block != (int64_t)w->channels * (w->bits / 8))
                return arena_printf(w->arena, "%s: byte %lld: %d channels of %d bits can't be %lld bytes",
                                    w->bytes->path, (long long)at + 12, w->channels, w->bits,
                                    (long long)block);
        if (w->rate < 1 || w->rate > INT32_MAX)
                return arena_printf(w->arena, "%s: byte %lld: its rate can't be %lld samples a second",
                                    w->bytes->path, (long long)at + 4, (long long)w->rate);
        return NULL;
}

/* A chunk at its head; *at goes behind it. */
static const char *read_chunk(Wav *w, int64_t *at)
{
        int64_t size = unsigned_at(w, *at + 4, 4), begin = *at + CHUNK_HEAD, there = w->bytes->n - begin;
        bool is_data = begins(w, *at, "data");
        if (is_data && size >= UNKNOWN_SIZE)
                size = there;
        if (size > there)
                return arena_printf(
                        w->arena,
                        "%s: it ends too soon: at byte %lld a part of %lld bytes begins, and %lld "
                        "are there",
                        w->bytes->path, (long long)begin, (long long)size, (long long)there);
        *at = begin + size + size % 2;
        if (is_data) {
                w->data = begin;
                w->size = size;
        }
        return begins(w, begin - CHUNK_HEAD, "fmt ") ? read_format(w, begin, size) : NULL;
}

static const char *read_chunks(Wav *w)
{
        const char *why = NULL;
        if (!begins(w, 0, "RIFF") || !begins(w, CHUNK_HEAD, "WAVE"))
                return no_wav(w);
        for (int64_t at = HEAD; !why && !w->data && w->bytes->n - at >= CHUNK_HEAD;)
                why = read_chunk(w, &at);
        if (why)
                return why;
        if (!w->data || !w->channels)
                return arena_printf(w->arena, "%s: it ends without %s", w->bytes->path,
                                    w->data ? "saying before its samples what they are (fmt)"
                                            : "samples (data)");
        return w->size >= (int64_t)w->channels * (w->bits / 8)
                       ? NULL
                       : arena_printf(w->arena, "%s: it has no samples", w->bytes->path);
}

/* --- samples -------------------------------------------------------------------------------------------------------- */

static double sample_at(const Wav *w, int64_t at)
{
        int bytes = w->bits / 8;
        uint64_t x = (uint64_t)unsigned_at(w, at, bytes);
        if (w->kind == OF_FLOATS && bytes == 4) {
                uint32_t low = (uint32_t)x;
                float value;
                memcpy(&value, &low, sizeof value);
                return (double)value;
        }
        if (w->kind == OF_FLOATS) {
                double value;
                memcpy(&value, &x, sizeof value);
                return value;
        }
        double half = ldexp(1, w->bits - 1), value = (double)x; /* those of 8 bits have no sign */
        return (bytes == 1 ? value - half : value >= half ? value - 2 * half : value) / half;
}

static const char *read_samples(const Wav *w, Sound *out)
{
        int bytes = w->bits / 8;
        int64_t n = w->size / ((int64_t)w->channels * bytes), at = w->data;
        *out = (Sound){n, (int)w->rate, malloc((size_t)n * sizeof *out->sample)};
        if (!out->sample)
                return no_memory;
        for (int64_t i = 0; i < n; i++) {
                double sum = 0;
                for (int c = 0; c < w->channels; c++, at += bytes)
                        sum += sample_at(w, at);
                out->sample[i] = (float)(sum / w->channels);
                if (!isfinite(out->sample[i])) {
                        sound_free(out);
                        return arena_printf(w->arena, "%s: sample %lld is no finite number", w->bytes->path,
                                            (long long)i);
                }
        }
        return NULL;
}

void sound_free(Sound *sound)
{
        free(sound->sample);
        *sound = (Sound){0};
}

const char *sound_read(Arena *a, const char *path, int rate, Sound *out, bool *lacking)
{
        MediaBytes bytes;
        Wav w = {.arena = a, .bytes = &bytes, .rate_wanted = rate};
        *out = (Sound){0};
        const char *why = media_read(a, path, &bytes, lacking);
        if (!why)
                why = read_chunks(&w);
        if (!why && rate && w.rate != rate)
                why = arena_printf(a, "%s: it has %lld samples a second, and %d are wanted: %s", bytes.path,
                                   (long long)w.rate, rate, conversion(&w));
        if (!why)
                why = read_samples(&w, out);
        media_free(&bytes);
        return why;
}
