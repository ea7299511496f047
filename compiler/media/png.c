/* PNG, by libpng: the only file that includes it. */
#include <png.h>
#include <stdlib.h>

#include "media_private.h"

/* The input of libpng, and its last message. */
typedef struct {
        const MediaBytes *bytes;
        int64_t at;
        char said[120];
} PngInput;

static void on_error(png_structp png, const char *message)
{
        PngInput *in = png_get_error_ptr(png);
        snprintf(in->said, sizeof in->said, "%s", message);
        png_longjmp(png, 1);
}

static void on_warning(png_structp png, const char *message)
{
        (void)png;
        (void)message;
}

static void take_bytes(png_structp png, png_bytep to, size_t n)
{
        PngInput *in = png_get_io_ptr(png);
        if ((int64_t)n > in->bytes->n - in->at)
                png_error(png, "it is truncated");
        memcpy(to, in->bytes->at + in->at, n);
        in->at += (int64_t)n;
}

/* Requests 8-bit grey or RGB: the upper 8 of 16 bits, palettes expanded, transparency dropped, no gamma. */
static void ask_for_bytes(png_structp png, png_infop info)
{
        png_set_strip_16(png);
        png_set_packing(png);
        if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE)
                png_set_palette_to_rgb(png);
        else
                png_set_expand_gray_1_2_4_to_8(png);
        png_set_strip_alpha(png);
}

static void read_pixels(png_structp png, png_infop info, Image *out, const char **why, Arena *a)
{
        png_set_user_limits(png, INT32_MAX, INT32_MAX);
        png_read_info(png, info);
        int64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
        if (width > PICTURE_PIXELS / height) {
                *why = arena_printf(a, "it is %lld by %lld; at most %d pixels are read", (long long)width,
                                    (long long)height, PICTURE_PIXELS);
                return;
        }
        ask_for_bytes(png, info);
        int passes = png_set_interlace_handling(png);
        png_read_update_info(png, info);
        int channels = png_get_channels(png, info);
        size_t row = (size_t)width * (size_t)channels;
        if ((channels != 1 && channels != 3) || png_get_rowbytes(png, info) != row)
                png_error(png, "its pixels are of an unknown kind");
        if ((*why = image_new(a, width, height, channels, out)))
                return;
        for (int pass = 0; pass < passes; pass++)
                for (int64_t y = 0; y < height; y++)
                        png_read_row(png, out->pixel + (size_t)y * row, NULL);
        png_read_end(png, info);
#ifdef PNG_eXIf_SUPPORTED
        png_bytep exif = NULL;
        png_uint_32 n = 0;
        if (png_get_eXIf_1(png, info, &n, &exif))
                *why = image_turn(a, out, exif_orientation(exif, n));
#endif
}

/* Runs libpng in a function without changed variables, since it jumps after an error.  False: an error. */
static bool png_try(png_structp png, png_infop info, Image *out, const char **why, Arena *a)
{
        if (setjmp(png_jmpbuf(png)))
                return false;
        read_pixels(png, info, out, why, a);
        return true;
}

const char *read_png(Arena *a, const MediaBytes *bytes, Image *out)
{
        PngInput in = {.bytes = bytes};
        const char *why = NULL;
        png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, on_error, on_warning);
        png_infop info = png ? png_create_info_struct(png) : NULL;
        if (!info) {
                png_destroy_read_struct(&png, NULL, NULL);
                return no_memory;
        }
        png_set_read_fn(png, &in, take_bytes);
        if (!png_try(png, info, out, &why, a))
                why = in.said;
        png_destroy_read_struct(&png, &info, NULL);
        if (!why)
                return NULL;
        image_free(out);
        return lacks_memory(why) ? why
                                 : arena_printf(a, "%s: a PNG that can't be read: %s (byte %lld of %lld)",
                                                bytes->path, why, (long long)in.at, (long long)bytes->n);
}

bool write_png(const char *path, int width, int height, const uint8_t *pixel)
{
        png_image image = {.version = PNG_IMAGE_VERSION,
                           .width = (png_uint_32)width,
                           .height = (png_uint_32)height,
                           .format = PNG_FORMAT_RGB};
        png_alloc_size_t n = PNG_IMAGE_PNG_SIZE_MAX(image);
        void *bytes = malloc(n);
        bool good = bytes && png_image_write_to_memory(&image, bytes, &n, 0, pixel, 0, NULL);
        if (good)
                good = write_file(path, bytes, (int64_t)n);
        else
                fprintf(stderr, "lathe: error: %s: %s\n", path, bytes ? image.message : "out of memory");
        free(bytes);
        return good;
}
