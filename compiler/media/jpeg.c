/* JPEG, by libjpeg-turbo: the only file that includes it. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jerror.h>
#include <jpeglib.h>

#include "media_private.h"

/* A progressive file of a few bytes may have any number of scans, each of which visits all pixels. */
enum { MAX_SCANS = 500 };

enum { APP1 = JPEG_APP0 + 1, EXIF_MARK = 6 /* bytes: Exif\0\0 */ };

typedef struct {
        struct jpeg_decompress_struct jpeg;
        struct jpeg_error_mgr errors;
        struct jpeg_progress_mgr progress;
        jmp_buf back;
        const MediaBytes *bytes;
        Arena *arena;
        Image *out;
        int64_t at;      /* offset of an error */
        const char *why; /* the error, in the arena or static */
} JpegInput;

static void jpeg_fail(JpegInput *in, const char *why)
{
        in->why = why;
        longjmp(in->back, 1);
}

static void jpeg_on_error(j_common_ptr jpeg)
{
        JpegInput *in = jpeg->client_data;
        const struct jpeg_source_mgr *source = in->jpeg.src;
        const bool ends = jpeg->err->msg_code == JWRN_JPEG_EOF;
        char said[JMSG_LENGTH_MAX];
        jpeg->err->format_message(jpeg, said);
        in->at = in->bytes->n - (ends || !source ? 0 : (int64_t)source->bytes_in_buffer);
        jpeg_fail(in, jpeg->err->msg_code == JERR_OUT_OF_MEMORY ? no_memory
                      : ends                                    ? "it is truncated"
                                                                : arena_strdup(in->arena, said));
}

/* Warnings that do not concern the pixels; all others mean that some can't be read. */
static bool is_harmless(int warning)
{
        return warning == JWRN_ADOBE_XFORM || warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_JFIF_MAJOR ||
               warning == JWRN_NOT_SEQUENTIAL;
}

static void jpeg_on_message(j_common_ptr jpeg, int level)
{
        if (level < 0 && !is_harmless(jpeg->err->msg_code))
                jpeg_on_error(jpeg);
}

static void jpeg_on_progress(j_common_ptr jpeg)
{
        JpegInput *in = jpeg->client_data;
        if (in->jpeg.input_scan_number <= MAX_SCANS)
                return;
        in->at = in->bytes->n - (int64_t)in->jpeg.src->bytes_in_buffer;
        jpeg_fail(in, arena_printf(in->arena, "it has more than %d scans", MAX_SCANS));
}

static int jpeg_orientation(const struct jpeg_decompress_struct *jpeg)
{
        for (const struct jpeg_marker_struct *m = jpeg->marker_list; m; m = m->next)
                if (m->data_length >= EXIF_MARK && !memcmp(m->data, "Exif\0", EXIF_MARK))
                        return exif_orientation(m->data + EXIF_MARK, (int64_t)m->data_length - EXIF_MARK);
        return 1;
}

/* Inks to colours as in Pillow's convert("RGB").  Inks are stored inverted, as Photoshop does. */
static void inks_to_colours(const uint8_t *ink, int64_t width, uint8_t *rgb)
{
        for (int64_t i = 0; i < width; i++, ink += 4)
                for (int c = 0; c < 3; c++) {
                        const unsigned black = ink[3], product = (255u - ink[c]) * black + 128u;
                        *rgb++ = (uint8_t)(black - ((product >> 8) + product) / 256);
                }
}

static void jpeg_rows(JpegInput *in)
{
        struct jpeg_decompress_struct *jpeg = &in->jpeg;
        const bool has_inks = jpeg->out_color_space == JCS_CMYK;
        const size_t row = (size_t)in->out->width * (size_t)in->out->channels;
        JSAMPARRAY inks = has_inks ? jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE,
                                                             4 * (JDIMENSION)in->out->width, 1)
                                   : NULL;
        for (int y = 0; y < in->out->height; y++) {
                JSAMPROW to = in->out->pixel + (size_t)y * row;
                jpeg_read_scanlines(jpeg, has_inks ? inks : &to, 1);
                if (has_inks)
                        inks_to_colours(inks[0], in->out->width, to);
        }
}

static void jpeg_pixels(JpegInput *in)
{
        struct jpeg_decompress_struct *jpeg = &in->jpeg;
        jpeg_create_decompress(jpeg);
        jpeg->progress = &in->progress;
        jpeg_mem_src(jpeg, in->bytes->at, (unsigned long)in->bytes->n);
        jpeg_save_markers(jpeg, APP1, UINT16_MAX);
        jpeg_read_header(jpeg, TRUE);
        const int64_t width = jpeg->image_width, height = jpeg->image_height;
        if (width > PICTURE_PIXELS / height)
                jpeg_fail(in, arena_printf(in->arena, "it is %lld by %lld; at most %d pixels are read",
                                           (long long)width, (long long)height, PICTURE_PIXELS));
        if (jpeg->jpeg_color_space == JCS_UNKNOWN)
                jpeg_fail(in, arena_printf(in->arena, "its %d components are of an unknown kind",
                                           jpeg->num_components));
        const bool is_grey = jpeg->jpeg_color_space == JCS_GRAYSCALE;
        jpeg->out_color_space = is_grey ? JCS_GRAYSCALE
                                : jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK
                                        ? JCS_CMYK
                                        : JCS_RGB;
        const char *why = image_new(in->arena, width, height, is_grey ? 1 : 3, in->out);
        if (why)
                jpeg_fail(in, why);
        jpeg_start_decompress(jpeg);
        jpeg_rows(in);
        const int orientation = jpeg_orientation(jpeg); /* jpeg_finish_decompress() frees the markers */
        jpeg_finish_decompress(jpeg);
        if ((why = image_turn(in->arena, in->out, orientation)))
                jpeg_fail(in, why);
}

/* Runs libjpeg in a function without changed variables, since it jumps after an error. */
static void jpeg_try(JpegInput *in)
{
        if (!setjmp(in->back))
                jpeg_pixels(in);
}

const char *read_jpeg(Arena *a, const MediaBytes *bytes, Image *out)
{
        JpegInput in = {
                .bytes = bytes, .arena = a, .out = out, .progress = {.progress_monitor = jpeg_on_progress}};
        in.jpeg.err = jpeg_std_error(&in.errors);
        in.jpeg.client_data = &in;
        in.errors.error_exit = jpeg_on_error;
        in.errors.emit_message = jpeg_on_message;
        jpeg_try(&in);
        jpeg_destroy_decompress(&in.jpeg);
        if (!in.why)
                return NULL;
        image_free(out);
        return lacks_memory(in.why)
                       ? in.why
                       : arena_printf(a, "%s: a JPEG that can't be read: %s (byte %lld of %lld)", bytes->path,
                                      in.why, (long long)in.at, (long long)bytes->n);
}
