/* Conversion of a sound to another rate, by libsamplerate: the only file that includes it.
 *
 * It computes each sample as a sum of products with a windowed sinc, in doubles and in a fixed order.  soxr,
 * the alternative, selects vector code and FFTs by the processor, so that its bits depend on the machine. */
#include <samplerate.h>
#include <stdlib.h>

#include "media_private.h"

int64_t resampled_length(int64_t n, int rate, int to_rate)
{
        return (n * to_rate + rate - 1) / rate;
}

const char *sound_resample(Arena *a, const char *path, Sound *sound, int to_rate)
{
        const int rate = sound->rate;
        const double ratio = (double)to_rate / rate;
        const int64_t n = resampled_length(sound->n, rate, to_rate);
        if (rate == to_rate)
                return NULL;
        if (!src_is_valid_ratio(ratio))
                return arena_printf(
                        a,
                        "%s: its %d samples per second can't be converted to %d: one rate is more "
                        "than 256 times the other",
                        path, rate, to_rate);
        float *sample = calloc((size_t)n, sizeof *sample); /* the last ones may remain 0 */
        if (!sample)
                return no_memory;
        SRC_DATA work = {.data_in = sound->sample,
                         .data_out = sample,
                         .input_frames = (long)sound->n,
                         .output_frames = (long)n,
                         .src_ratio = ratio};
        const int error = src_simple(&work, SRC_SINC_BEST_QUALITY, 1);
        if (error) {
                free(sample);
                return arena_printf(a, "%s: libsamplerate: %s", path, src_strerror(error));
        }
        free(sound->sample);
        sound->note = arena_printf(a, "%s%s it is resampled from %d to %d samples per second",
                                   sound->note ? sound->note : path, sound->note ? ";" : ":", rate, to_rate);
        sound->sample = sample;
        sound->n = n;
        sound->rate = to_rate;
        return NULL;
}
