/* The orientation that a camera stores with a picture: tag 274 of the first directory of EXIF, which has the
 * form of a TIFF file (CIPA DC-008). */
#include <stdlib.h>

#include "media_private.h"

enum { EXIF_HEAD = 8, EXIF_ENTRY = 12, EXIF_ORIENTATION = 274, EXIF_SHORT = 3, EXIF_LONG = 4 };

typedef struct {
        const uint8_t *at;
        int64_t n;
        bool big_endian;
} Exif;

/* The caller checked that count bytes are there. */
static uint32_t exif_number(const Exif *e, int64_t at, int count)
{
        uint32_t x = 0;
        for (int i = 0; i < count; i++)
                x = x << 8 | e->at[at + (e->big_endian ? i : count - 1 - i)];
        return x;
}

int exif_orientation(const uint8_t *bytes, int64_t n)
{
        const Exif e = {bytes, n, n >= EXIF_HEAD && bytes[0] == 'M'};
        if (n < EXIF_HEAD || (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0))
                return 1;
        const int64_t directory = exif_number(&e, 4, 4);
        if (directory > n - 2)
                return 1;
        const int64_t entries = exif_number(&e, directory, 2);
        for (int64_t i = 0, at = directory + 2; i < entries && at <= n - EXIF_ENTRY; i++, at += EXIF_ENTRY) {
                const uint32_t type = exif_number(&e, at + 2, 2);
                if (exif_number(&e, at, 2) != EXIF_ORIENTATION || (type != EXIF_SHORT && type != EXIF_LONG))
                        continue;
                const uint32_t value = exif_number(&e, at + 8, type == EXIF_SHORT ? 2 : 4);
                return value >= 1 && value <= 8 ? (int)value : 1;
        }
        return 1;
}

const char *image_turn(Arena *a, Image *image, int orientation)
{
        const bool swaps = orientation >= 5;
        const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
        const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
        const int width = swaps ? image->height : image->width, height = swaps ? image->width : image->height;
        const size_t pixel = (size_t)image->channels;
        Image turned;
        if (orientation == 1)
                return NULL;
        const char *why = image_new(a, width, height, image->channels, &turned);
        uint8_t *to = turned.pixel;
        for (int y = 0; y < height && !why; y++)
                for (int x = 0; x < width; x++, to += pixel) {
                        const int row = swaps ? x : y, column = swaps ? y : x;
                        const size_t from_y = (size_t)(from_below ? image->height - 1 - row : row);
                        const size_t from_x = (size_t)(from_right ? image->width - 1 - column : column);
                        memcpy(to, image->pixel + (from_y * (size_t)image->width + from_x) * pixel, pixel);
                }
        if (why)
                return why;
        image_free(image);
        *image = turned;
        return NULL;
}
