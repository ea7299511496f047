/* media: pictures and sounds, independent of models.
 *
 * Files of pictures: PNG by libpng (png.c), JPEG by libjpeg-turbo (jpeg.c) with its orientation (exif.c),
 * PPM and PGM (pnm.c); writing PNG (png.c).  Sounds: WAV files (wav.c), resampling by libsamplerate
 * (resample.c).  The content of a file determines its format (media_formats.c).  Functions that emitted
 * programs need too are in runtime/: picture_input.h, pnm.h, wav.h. */
#ifndef MEDIA_H
#define MEDIA_H
#include "../../runtime/picture_input.h"
#include "base/base.h"

/* media_formats.c: by the content of the file; if it is unknown, or there is no such file, by its suffix. */
typedef enum { MEDIA_UNKNOWN, MEDIA_PICTURE, MEDIA_SOUND } MediaKind;
MediaKind media_kind(const char *path);

typedef struct {
        int width, height, channels; /* channels: 1, grey; 3, red, green and blue */
        uint8_t *pixel;              /* [height][width][channels], malloc'd */
} Image;

/* image.c: functions that return a text return NULL, or a message in the arena, and then no image that
 * must be freed. */

/* Reads a file, or standard input for -, as an image with this number of channels (1 or 3): other depths
 * become 8 bits, transparency is dropped, and inks and colours become colours and grey, as in Pillow's
 * convert("RGB") and convert("L"); the picture is turned upright by the camera's orientation.  *env_error: the file could not be read. */
const char *image_read(Arena *a, const char *path, int channels, Image *out, bool *env_error);
const char *image_new(Arena *a, int64_t width, int64_t height, int channels, Image *out);
void image_free(Image *image);
/* Reals [channels][rows][columns], as the form prescribes. */
const char *image_values(Arena *a, const Image *image, const PictureForm *form, float *values);

/* png.c */
/* [height][width][3]; false after a message */
bool write_png(const char *path, int width, int height, const uint8_t *pixel);

/* wav.c */
typedef struct {
        int64_t n;     /* number of samples, at least one */
        int rate;      /* samples per second */
        float *sample; /* [n], malloc'd: the mean over the channels; integers are scaled to -1 .. 1 */
        /* a note for the user, in the arena, such as that the file is truncated; NULL: none */
        const char *note;
} Sound;

/* Reads a WAV file, or standard input for -: integers of 8, 16, 24 and 32 bits, floats of 32 and 64.
 * Returns NULL, or a message in the arena, and then no sound that must be freed.  *env_error: the file could
 * not be read. */
const char *sound_read(Arena *a, const char *path, Sound *out, bool *env_error);
void sound_free(Sound *sound);

/* resample.c: the number of samples after a conversion from this rate. */
int64_t resampled_length(int64_t n, int rate, int to_rate);
/* Converts a sound of a file to another rate, and adds a note.  Returns NULL, or a message in the arena. */
const char *sound_resample(Arena *a, const char *path, Sound *sound, int to_rate);
#endif
