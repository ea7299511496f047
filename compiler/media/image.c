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

const char *image_read(Arena *a, const char *path, int channels, Image *out, bool *env_error)
{
        MediaBytes bytes;
        *out = (Image){0};
        const char *why = media_read(a, path, &bytes, env_error);
        if (!why) {
                const MediaFormat *f = media_format(bytes.at, bytes.n);
                why = f && f->read ? f->read(a, &bytes, out) : media_refusal(a, &bytes, MEDIA_PICTURE);
        }
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
