/* The content of a file, and its format. */
#ifndef MEDIA_PRIVATE_H
#define MEDIA_PRIVATE_H
#include "media.h"

typedef struct {
        const char *path; /* in messages */
        uint8_t *at;      /* malloc'd */
        int64_t n;
} MediaBytes;

/* whole_file.c: reads a file, or standard input for -, of at most 1 GB.  Returns NULL, or a message in the
 * arena; *env_error: the file could not be read.  The caller calls media_free() in either case. */
const char *media_read(Arena *a, const char *path, MediaBytes *out, bool *env_error);
void media_free(MediaBytes *bytes);

/* media_formats.c */
typedef struct {
        MediaKind kind;
        const char *name; /* "a WebP picture" */
        /* of a supported picture, with 1 or 3 channels as in the file; else NULL */
        const char *(*read)(Arena *a, const MediaBytes *bytes, Image *out);
        const char *convert; /* a command that converts it; NULL: ffmpeg */
} MediaFormat;
/* By the first bytes; NULL: unknown. */
const MediaFormat *media_format(const uint8_t *bytes, int64_t n);
/* The message about a file that is no supported picture or sound. */
const char *media_refusal(Arena *a, const MediaBytes *bytes, MediaKind wanted);

const char *read_png(Arena *a, const MediaBytes *bytes, Image *out);
const char *read_jpeg(Arena *a, const MediaBytes *bytes, Image *out);
const char *read_pnm(Arena *a, const MediaBytes *bytes, Image *out);

/* exif.c: the orientation in EXIF data [n], from 1 (upright) to 8; 1 also for invalid data. */
int exif_orientation(const uint8_t *bytes, int64_t n);
/* Turns or mirrors an image of this orientation, so that it is upright. */
const char *image_turn(Arena *a, Image *image, int orientation);
#endif
