/* The content of a file: bytes [n]. */
#ifndef MEDIA_PRIVATE_H
#define MEDIA_PRIVATE_H
#include "media.h"

typedef struct {
        const char *path; /* in messages */
        uint8_t *at;      /* malloc'd */
        int64_t n;
} MediaBytes;

/* whole_file.c: a file, or standard input for -, of at most 1 GB.  NULL, or a message in the arena; *env_error: it could not be read
 * at all.  In either case media_free(). */
const char *media_read(Arena *a, const char *path, MediaBytes *out, bool *env_error);
void media_free(MediaBytes *bytes);

/* Each reads a file that begins as its format does, with 1 or 3 channels as it has them. */
const char *read_png(Arena *a, const MediaBytes *bytes, Image *out);
const char *read_pnm(Arena *a, const MediaBytes *bytes, Image *out);
#endif
