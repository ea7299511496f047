/* The content of a file: bytes [n]. */
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

/* Each reads a file of its format, with 1 or 3 channels as in the file. */
const char *read_png(Arena *a, const MediaBytes *bytes, Image *out);
const char *read_pnm(Arena *a, const MediaBytes *bytes, Image *out);
#endif
