/* media: pictures and sounds, independent of models.
 *
 * From files: PNG by libpng (png.c), PPM and PGM (pnm.c), whichever it is (image.c); to PNG (png.c).  Sounds
 * from WAV files (wav.c). What emitted programs do too is in runtime/: picture_input.h, pnm.h, wav.h. */
#ifndef MEDIA_H
#define MEDIA_H
#include "../../runtime/picture_input.h"
#include "base/base.h"

typedef struct {
        int width, height, channels; /* channels: 1, grey; 3, red, green and blue */
        uint8_t *pixel;              /* [height][width][channels], malloc'd */
} Image;

/* image.c: functions that return a text return NULL, or a message in the arena; then there is no image to be freed. */

/* A file, or standard input for -, as an image of so many channels (1 or 3): what is not of 8 bits becomes it, transparency is dropped,
 * and colours become grey, as by Pillow's convert("RGB") and convert("L").  *env_error: it could not be read at all. */
const char *image_read(Arena *a, const char *path, int channels, Image *out, bool *env_error);
const char *image_new(Arena *a, int64_t width, int64_t height, int channels, Image *out);
void image_free(Image *image);
/* Reals [channels][rows][columns], as a form says; of that many channels. */
const char *image_values(Arena *a, const Image *image, const PictureForm *form, float *values);

/* png.c */
bool write_png(const char *path, int width, int height,
               const uint8_t *pixel); /* [height][width][3]; false after a message */

/* wav.c */
typedef struct {
        int64_t n;        /* samples, at least one */
        int rate;         /* samples in a second */
        float *sample;    /* [n], malloc'd: the mean over the channels; integers become -1 to 1 */
        const char *note; /* for the user, in the arena, as that the file was cut short; NULL: none */
} Sound;

/* A WAV file, or standard input for -: whole numbers of 8, 16, 24 and 32 bits, floats of 32 and 64.  rate: the required one, 0: any.
 * NULL, or what is wrong, in the arena, and then there is no sound to be freed.  *env_error: it could not be read at all. */
const char *sound_read(Arena *a, const char *path, int rate, Sound *out, bool *env_error);
void sound_free(Sound *sound);
#endif
