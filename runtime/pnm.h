/*
 * PPM (P6) and PGM (P5) of Netpbm: a header in ASCII, then the pixels, with one byte per value or two, big-endian.
 */
#include <stdint.h>

typedef struct {
        int64_t width, height, largest; /* -1: a number is missing */
        int64_t place;                  /* offset of the pixels, or of the fault in the header */
        int channels;
} PnmHead;

/* The byte at an offset, -1 after the end. */
static inline int pnm_byte(const uint8_t *bytes, int64_t n, int64_t at)
{
        return at < n ? bytes[at] : -1;
}

static inline int pnm_is_space(int c)
{
        return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips white space and comments, from # to the end of the line, and reads a number of at most 2^31 - 1; or -1. */
static inline int64_t pnm_number(const uint8_t *bytes, int64_t n, int64_t *at)
{
        int64_t number = -1;
        while (pnm_is_space(pnm_byte(bytes, n, *at)) || pnm_byte(bytes, n, *at) == '#') {
                const int comment = bytes[(*at)++] == '#';
                while (comment && *at < n && bytes[*at] != '\n')
                        ++*at;
        }
        for (int c; (c = pnm_byte(bytes, n, *at)) >= '0' && c <= '9' && number <= INT32_MAX; ++*at)
                number = 10 * (number < 0 ? 0 : number) + c - '0';
        return number <= INT32_MAX ? number : -1;
}

enum { PNM_GOOD, PNM_OTHER, PNM_HEAD, PNM_SIZE, PNM_ENDS };

/* Parses the header of bytes [n]: PNM_GOOD, or a fault: another format, a wrong header, no pixels or more than `most`, or fewer bytes than
 * the pixels need. */
static inline int pnm_head(const uint8_t *bytes, int64_t n, int64_t most, PnmHead *h)
{
        int64_t at = 2;
        if (n < 2 || bytes[0] != 'P' || (bytes[1] != '5' && bytes[1] != '6'))
                return PNM_OTHER;
        h->channels = bytes[1] == '6' ? 3 : 1;
        h->width = pnm_number(bytes, n, &at);
        h->height = pnm_number(bytes, n, &at);
        h->largest = pnm_number(bytes, n, &at);
        h->place = at;
        if (h->width < 0 || h->height < 0 || h->largest < 1 || h->largest > 65535 || !pnm_is_space(pnm_byte(bytes, n, at)))
                return PNM_HEAD;
        if (h->width < 1 || h->height < 1 || h->width > most / h->height)
                return PNM_SIZE;
        h->place++;
        return n - h->place < h->width * h->height * h->channels * (h->largest > 255 ? 2 : 1) ? PNM_ENDS : PNM_GOOD;
}

/* Scales a value of at most `largest` to 8 bits, rounded to the nearest, ties to even. */
static inline uint8_t pnm_in_8_bits(int64_t value, int64_t largest)
{
        const double x = (double)(value < largest ? value : largest) / (double)largest * 255;
        return (uint8_t)(x + 0x1.8p52 - 0x1.8p52);
}

/* Pixels [height][width][channels] of 8 bits, of a file whose header is valid. */
static inline void pnm_pixels(const PnmHead *h, const uint8_t *bytes, uint8_t *pixel)
{
        const uint8_t *from = bytes + h->place;
        for (int64_t i = 0; i < h->width * h->height * h->channels; i++)
                pixel[i] = h->largest == 255   ? from[i]
                           : h->largest < 255 ? pnm_in_8_bits(from[i], h->largest)
                                              : pnm_in_8_bits(from[2 * i] << 8 | from[2 * i + 1], h->largest);
}

/* The message of a fault. */
static inline const char *pnm_fault(int fault)
{
        switch (fault) {
        case PNM_OTHER:
                return "it is not a PPM (P6) or PGM (P5); `ffmpeg -i FILE NEW.ppm` converts a picture";
        case PNM_HEAD:
                return "its header is wrong: expected width, height and the largest value, 1 to 65535, then one white space";
        case PNM_SIZE:
                return "it has no pixels, or too many";
        default:
                return "it is truncated";
        }
}
