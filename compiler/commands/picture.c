/* A picture as an input of a model, as its `loop classify` says: resized, cut, each channel centred and scaled. */
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"
#include "media/media.h"

bool is_picture_file(const char *path)
{
        static const char *const end[] = {".png", ".ppm", ".pgm", ".PNG", ".PPM", ".PGM"};
        size_t n = strlen(path);
        for (size_t i = 0; i < sizeof end / sizeof *end; i++)
                if (n > 4 && !strcmp(path + n - 4, end[i]))
                        return true;
        return false;
}

/* Of a channel: the setting's number, or what it is without one. */
static float of_channel(const Loop *l, const char *name, int channel, double without)
{
        const Setting *s = loop_setting(l, name);
        return (float)(!s ? without : s->kind == SETTING_LIST ? s->list[channel] : s->number);
}

/* Stretched to the input's size; or the middle of it, where it was stretched to another or its shorter side was resized to one. */
static const char *fit_picture(Arena *a, const Loop *l, Image *image, int width, int height)
{
        const Setting *edge = loop_setting(l, "shortest_edge"), *both = loop_setting(l, "stretched");
        const char *how = loop_text(l, "resize");
        Resampling by = how && !strcmp(how, "bicubic") ? RESIZE_BICUBIC : RESIZE_BILINEAR;
        int64_t w = image->width, h = image->height, wide = width, high = height;
        if (edge) {
                int64_t e = (int64_t)edge->number;
                wide = w <= h ? e : (int64_t)((double)(e * w) / (double)h);
                high = w <= h ? (int64_t)((double)(e * h) / (double)w) : e;
        } else if (both) {
                wide = high = (int64_t)both->number;
        }
        const char *why = image_resize(a, image, wide, high, by);
        if (!why)
                image_crop(image, (int)(wide - width) / 2, (int)(high - height) / 2, width, height);
        return why;
}

const char *picture_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                           bool *lacking)
{
        int channels = (int)dim[0], height = (int)dim[1], width = (int)dim[2];
        Image image;
        *value = NULL;
        const char *why = image_read(a, path, channels, &image, lacking);
        if (!why && (why = fit_picture(a, l, &image, width, height)) && !lacks_memory(why))
                why = arena_printf(a, "%s: resized: %s", path, why);
        size_t pixels = (size_t)height * (size_t)width;
        if (!why && !(*value = malloc(pixels * (size_t)channels * sizeof **value)))
                why = no_memory;
        for (int c = 0; c < channels && !why; c++) {
                const float mean = of_channel(l, "mean", c, 0), std = of_channel(l, "std", c, 1);
                for (size_t i = 0; i < pixels; i++) {
                        const float x = (float)(image.pixel[i * (size_t)channels + (size_t)c] * (1.0 / 255));
                        (*value)[(size_t)c * pixels + i] = (x - mean) / std;
                }
        }
        image_free(&image);
        return why;
}
