/* PPM (P6) and PGM (P5) of Netpbm: a head in ASCII, then the pixels, of one byte a value or of two, the higher first. */
#include <math.h>

#include "media_private.h"

typedef struct {
        Arena *arena;
        const MediaBytes *bytes;
        int64_t at;
} PnmHead;

static bool is_space(int c)
{
        return c == ' ' || (c >= '\t' && c <= '\r');
}

static int here(const PnmHead *h)
{
        return h->at < h->bytes->n ? h->bytes->at[h->at] : -1;
}

/* White space and comments, from # to the end of the line, passed over. */
static void pass_over(PnmHead *h)
{
        while (is_space(here(h)) || here(h) == '#') {
                bool comment = here(h) == '#';
                h->at++;
                while (comment && here(h) >= 0 && here(h) != '\n')
                        h->at++;
        }
}

/* -1: there is none, or it is too large */
static int64_t next_number(PnmHead *h)
{
        int64_t n = -1;
        pass_over(h);
        for (int c; (c = here(h)) >= '0' && c <= '9' && n <= INT32_MAX; h->at++)
                n = 10 * (n < 0 ? 0 : n) + c - '0';
        return n <= INT32_MAX ? n : -1;
}

/* Rounded to the nearest, of two the even one. */
static uint8_t in_8_bits(int value, int most)
{
        return (uint8_t)lrint((double)(value < most ? value : most) / most * 255);
}

const char *read_pnm(Arena *a, const MediaBytes *bytes, Image *out)
{
        PnmHead h = {a, bytes, 2};
        int channels = bytes->at[1] == '6' ? 3 : 1;
        int64_t width = next_number(&h), height = next_number(&h), most = next_number(&h);
        if (width < 0 || height < 0 || most < 1 || most > 65535 || !is_space(here(&h)))
                return arena_printf(
                        a,
                        "%s: byte %lld: width, height and the largest value, 1 to 65535, are wanted "
                        "behind P%d, then one white space",
                        bytes->path, (long long)h.at, channels == 3 ? 6 : 5);
        if (width < 1 || height < 1 || width > IMAGE_PIXELS / height)
                return arena_printf(a, "%s: it is %lld by %lld; from 1 to %d pixels are read", bytes->path,
                                    (long long)width, (long long)height, IMAGE_PIXELS);
        int64_t size = most > 255 ? 2 : 1, values = width * height * channels, begin = h.at + 1;
        if (bytes->n - begin < values * size)
                return arena_printf(
                        a, "%s: it ends too soon: %lld by %lld pixels take %lld bytes, and %lld are there",
                        bytes->path, (long long)width, (long long)height, (long long)(values * size),
                        (long long)(bytes->n - begin));
        const char *why = image_new(a, width, height, channels, out);
        uint8_t scaled[256]; /* of values in one byte */
        for (int i = 0; i < 256; i++)
                scaled[i] = in_8_bits(i, (int)most);
        const uint8_t *from = bytes->at + begin;
        for (int64_t i = 0; i < values && !why; i++)
                out->pixel[i] = size == 1 ? scaled[from[i]]
                                          : in_8_bits(from[2 * i] << 8 | from[2 * i + 1], (int)most);
        return why;
}
