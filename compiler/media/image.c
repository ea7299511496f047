/* Images, and reading a file of any supported format. */
#include <stdlib.h>

#include "media_private.h"

/* --- images ------------------------------------------------------------------------------------------------------- */

const char *image_new(Arena *a, int64_t width, int64_t height, int channels, Image *out)
{
        *out = (Image){0};
        if (width < 1 || height < 1 || width > PICTURE_PIXELS / height)
                return arena_printf(a, "%lld by %lld pixels were requested; from 1 to %d in all are possible",
                                    (long long)width, (long long)height, PICTURE_PIXELS);
        *out = (Image){(int)width, (int)height, channels, malloc((size_t)(width * height * channels))};
        return out->pixel ? NULL : no_memory;
}

void image_free(Image *image)
{
        free(image->pixel);
        *image = (Image){0};
}

static const char *with_channels(Arena *a, Image *image, int channels)
{
        Image other;
        if (image->channels == channels)
                return NULL;
        const char *why = image_new(a, image->width, image->height, channels, &other);
        size_t n = (size_t)image->width * (size_t)image->height;
        for (size_t i = 0; i < n && !why; i++)
                if (channels == 1)
                        other.pixel[i] = picture_luma(image->pixel + 3 * i);
                else
                        memset(other.pixel + 3 * i, image->pixel[i], 3);
        image_free(image);
        *image = other;
        return why;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static const struct {
        const char *begins;
        int64_t n;
        const char *(*read)(Arena *a, const MediaBytes *bytes, Image *out);
        const char *name; /* of an unsupported format */
} format[] = {
        {"\x89PNG\r\n\x1a\n", 8, read_png, NULL},
        {"P5", 2, read_pnm, NULL},
        {"P6", 2, read_pnm, NULL},
        {"\xff\xd8\xff", 3, NULL, "a JPEG"},
        {"GIF8", 4, NULL, "a GIF"},
        {"RIFF", 4, NULL, "a WebP, or another file of chunks"},
        {"BM", 2, NULL, "a BMP"},
        {"II*", 3, NULL, "a TIFF"},
        {"MM", 2, NULL, "a TIFF"},
        {"P1", 2, NULL, "a PBM as text"},
        {"P2", 2, NULL, "a PGM as text"},
        {"P3", 2, NULL, "a PPM as text"},
        {"P4", 2, NULL, "a PBM"},
        {"P7", 2, NULL, "a PAM"},
};

static const char *read_bytes(Arena *a, const MediaBytes *bytes, Image *out)
{
        for (size_t i = 0; i < sizeof format / sizeof *format; i++) {
                if (bytes->n < format[i].n || memcmp(bytes->at, format[i].begins, (size_t)format[i].n) != 0)
                        continue;
                if (format[i].read)
                        return format[i].read(a, bytes, out);
                return arena_printf(
                        a, "%s: it is %s; expected PNG, PPM (P6) or PGM (P5): convert it to one of them",
                        bytes->path, format[i].name);
        }
        return arena_printf(a, "%s: it is not a picture; expected PNG, PPM (P6) or PGM (P5)", bytes->path);
}

const char *image_read(Arena *a, const char *path, int channels, Image *out, bool *env_error)
{
        MediaBytes bytes;
        *out = (Image){0};
        const char *why = media_read(a, path, &bytes, env_error);
        if (!why)
                why = read_bytes(a, &bytes, out);
        if (!why)
                why = with_channels(a, out, channels);
        media_free(&bytes);
        return why;
}

const char *image_values(Arena *a, const Image *image, const PictureForm *form, float *values)
{
        int64_t width, height;
        if (!picture_fits(form, image->width, image->height, image->channels)) {
                picture_stretch(form, image->width, image->height, &width, &height);
                return arena_printf(a,
                                    "resized it would be %lld by %lld; from 1 to %d pixels are possible, "
                                    "also for intermediate results",
                                    (long long)width, (long long)height, PICTURE_PIXELS);
        }
        void *room = malloc(picture_room(form, image->width, image->height));
        if (!room)
                return no_memory;
        picture_take(form, image->pixel, image->width, image->height, image->channels, values, room);
        free(room);
        return NULL;
}
