/* PPM and PGM, by runtime/pnm.h. */
#include "media_private.h"

#include "../../runtime/pnm.h"

const char *read_pnm(Arena *a, const MediaBytes *bytes, Image *out)
{
        PnmHead h = {0};
        const int fault = pnm_head(bytes->at, bytes->n, PICTURE_PIXELS, &h);
        if (fault == PNM_HEAD || fault == PNM_OTHER)
                return arena_printf(a,
                                    "%s: byte %lld: expected width, height and the largest value, 1 to "
                                    "65535, after P%d, then one white space",
                                    bytes->path, (long long)h.place, h.channels == 3 ? 6 : 5);
        if (fault == PNM_SIZE)
                return arena_printf(a, "%s: it is %lld by %lld; from 1 to %d pixels are read", bytes->path,
                                    (long long)h.width, (long long)h.height, PICTURE_PIXELS);
        if (fault == PNM_ENDS)
                return arena_printf(
                        a, "%s: it is truncated: %lld by %lld pixels take %lld bytes, but it has %lld",
                        bytes->path, (long long)h.width, (long long)h.height,
                        (long long)(h.width * h.height * h.channels * (h.largest > 255 ? 2 : 1)),
                        (long long)(bytes->n - h.place));
        const char *why = image_new(a, h.width, h.height, h.channels, out);
        if (!why)
                pnm_pixels(&h, bytes->at, out->pixel);
        return why;
}
