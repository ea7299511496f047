/*
 * WAV: "RIFF", a size, "WAVE", then chunks, each of a name, a size in 4 bytes and that many bytes, to an even offset.  "fmt " has the format
 * of the samples, "data" the samples, interleaved by channel; other chunks are skipped.  (IBM and Microsoft 1991, "Multimedia
 * programming interface and data specifications 1.0"; WAVE_FORMAT_EXTENSIBLE as in Windows' mmreg.h.)  Numbers begin with their lowest byte.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
        int kind, channels, bits; /* kind: WAV_INTEGERS, WAV_FLOATS */
        int block;                /* bytes of a sample of all channels */
        int64_t rate;             /* samples per second */
        int64_t data, size;       /* offset of the samples, and their bytes in the file */
        int64_t missing;          /* bytes of samples that the file should have and lacks; -1: the file does not state its length */
        int64_t place, wanted;    /* of a fault: its offset, and the number of bytes that the file states there */
} WavHead;

enum { WAV_INTEGERS = 1, WAV_FLOATS = 3 };

/* Third value: the kind is stored later in the chunk. */
enum { WAV_EXTENDED = 0xfffe };

/* Faults of a file; WAV_GOOD: none. */
enum {
        WAV_GOOD,
        WAV_OTHER,      /* it is not a WAV file */
        WAV_NO_FORMAT,  /* it has no "fmt " before its samples */
        WAV_NO_DATA,    /* it has no samples */
        WAV_ENDS,       /* at `place`, `wanted` bytes are stated */
        WAV_SHORT,      /* "fmt " has `wanted` bytes, fewer than its first 16 */
        WAV_KIND,       /* unsupported kind of samples */
        WAV_BLOCK,      /* channels, bits and block do not fit together */
        WAV_RATE
};

static inline uint64_t wav_number(const uint8_t *bytes, int64_t at, int n)
{
        uint64_t x = 0;
        for (int i = 0; i < n; i++)
                x |= (uint64_t)bytes[at + i] << 8 * i;
        return x;
}

static inline int wav_format(const uint8_t *bytes, int64_t at, int64_t size, WavHead *h)
{
        h->place = at;
        h->wanted = size;
        if (size < 16)
                return WAV_SHORT;
        h->kind = (int)wav_number(bytes, at, 2);
        h->channels = (int)wav_number(bytes, at + 2, 2);
        h->rate = (int64_t)wav_number(bytes, at + 4, 4);
        h->block = (int)wav_number(bytes, at + 12, 2);
        h->bits = (int)wav_number(bytes, at + 14, 2);
        if (h->kind == WAV_EXTENDED && size >= 40)
                h->kind = (int)wav_number(bytes, at + 24, 2);
        if (!(h->kind == WAV_INTEGERS && h->bits >= 8 && h->bits <= 32 && h->bits % 8 == 0) &&
            !(h->kind == WAV_FLOATS && (h->bits == 32 || h->bits == 64)))
                return WAV_KIND;
        if (h->channels < 1 || h->block != h->channels * (h->bits / 8))
                return WAV_BLOCK;
        return h->rate < 1 || h->rate > INT32_MAX ? WAV_RATE : WAV_GOOD;
}

/* Length of the samples at offset `at` of a file of n bytes whose chunk states `size`.  A program that writes to a pipe does not know it in
 * advance: ffmpeg writes 2^32 - 1, sox 2^31 - 4096 or more, others 0 or 2^31.  A size of 0 counts only if the file ("RIFF" and its size) has
 * bytes after the chunk's header.  Samples up to the end of the file are read in all these cases, and when the file was cut short. */
static inline void wav_data(const uint8_t *bytes, int64_t n, int64_t at, int64_t size, WavHead *h)
{
        const int64_t stated = (int64_t)wav_number(bytes, 4, 4) + 8, rest = n - at;
        const int unknown = size == 0 ? rest > 0 && stated <= at : size > rest && size >= 0x7ffff000;
        h->data = at;
        h->size = unknown || size > rest ? rest : size;
        h->missing = unknown ? -1 : size - h->size;
}

/* Parses the header of bytes [n]. */
static inline int wav_head(const uint8_t *bytes, int64_t n, WavHead *h)
{
        *h = (WavHead){0};
        if (n < 12 || memcmp(bytes, "RIFF", 4) || memcmp(bytes + 8, "WAVE", 4))
                return WAV_OTHER;
        for (int64_t at = 12, size; n - at >= 8; at += 8 + size + size % 2) {
                size = (int64_t)wav_number(bytes, at + 4, 4);
                h->place = at + 8;
                h->wanted = size;
                if (!memcmp(bytes + at, "data", 4)) {
                        wav_data(bytes, n, at + 8, size, h);
                        break;
                }
                if (size > n - at - 8)
                        return WAV_ENDS;
                const int fault = memcmp(bytes + at, "fmt ", 4) ? WAV_GOOD : wav_format(bytes, at + 8, size, h);
                if (fault)
                        return fault;
        }
        return !h->data ? WAV_NO_DATA : !h->channels ? WAV_NO_FORMAT : h->size < h->block ? WAV_NO_DATA : WAV_GOOD;
}

enum { WAV_NOTE = 160 };

/* Writes a note about the samples of a valid file to text [WAV_NOTE]; "": none. */
static inline void wav_note(const WavHead *h, char *text)
{
        const long long n = (long long)(h->size / h->block);
        text[0] = 0;
        if (h->missing < 0)
                snprintf(text, WAV_NOTE, "its header does not state its length; all %lld samples up to its end are read", n);
        else if (h->missing > 0)
                snprintf(text, WAV_NOTE, "it was cut short: the last %lld bytes of its samples are missing; the first %lld samples are read",
                         (long long)h->missing, n);
}

/* An integer sample of n bytes as -1 to 1, unsigned if it has 8 bits; or a float sample. */
static inline double wav_value(const WavHead *h, const uint8_t *bytes, int64_t at)
{
        const int n = h->bits / 8;
        const uint64_t x = wav_number(bytes, at, n);
        if (h->kind == WAV_FLOATS && n == 4) {
                const uint32_t low = (uint32_t)x;
                float value;
                memcpy(&value, &low, sizeof value);
                return (double)value;
        }
        if (h->kind == WAV_FLOATS) {
                double value;
                memcpy(&value, &x, sizeof value);
                return value;
        }
        const double half = (double)(UINT64_C(1) << (h->bits - 1)), value = (double)x;
        return (n == 1 ? value - half : value >= half ? value - 2 * half : value) / half;
}

/* Samples of a valid file: the mean over the channels, to sample [size / block].  Returns the first one that is not finite, or -1. */
static inline int64_t wav_samples(const WavHead *h, const uint8_t *bytes, float *sample)
{
        for (int64_t i = 0; i < h->size / h->block; i++) {
                double total = 0;
                for (int c = 0; c < h->channels; c++)
                        total += wav_value(h, bytes, h->data + i * h->block + c * (h->bits / 8));
                sample[i] = (float)(total / h->channels);
                if (sample[i] - sample[i] != 0)
                        return i;
        }
        return -1;
}

/* The message of a fault. */
static inline const char *wav_fault(int fault)
{
        switch (fault) {
        case WAV_OTHER:
                return "it is not a WAV file; `ffmpeg -i FILE -ac 1 NEW.wav` converts a sound";
        case WAV_NO_FORMAT:
                return "no description precedes its samples (fmt)";
        case WAV_NO_DATA:
                return "it has no samples";
        case WAV_ENDS:
                return "it is truncated";
        case WAV_KIND:
                return "unsupported type of samples; expected whole numbers of 8, 16, 24 or 32 bits, or floats of 32 or 64";
        default:
                return "its header (fmt) is invalid";
        }
}
