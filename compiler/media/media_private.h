/* What a file holds, whole: bytes [n]. */
#ifndef MEDIA_PRIVATE_H
#define MEDIA_PRIVATE_H
#include "media.h"

typedef struct {
        const char *path; /* in messages */
        const uint8_t *at;
        int64_t n;
} MediaBytes;

/* Each reads a file that begins as its format does, with 1 or 3 channels as it has them. */
const char *read_png(Arena *a, const MediaBytes *bytes, Image *out);
const char *read_pnm(Arena *a, const MediaBytes *bytes, Image *out);
#endif
