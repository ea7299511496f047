/* :attn --token K: the attention of a picture's token, drawn over the picture.
 *
 * Tokens are patches of the picture in any order, also within a window, and tokens without a patch (a
 * class, registers). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_attention_private.h"

enum {
        MARGIN = 16,
        GAP = 20,
        CAPTION = 28,
        TITLE = 64,
        PANEL = 300,
        BAR_WIDE = 22,
        BAR_ROOM = 130,
        PALE = 4,    /* factor of brightening */
        DARKEST = 64 /* of the picture: red shows on it */
};

/* Layout of the patches, and all sizes in pixels. */
typedef struct {
        int64_t down, across; /* patches */
        float *seen;          /* [down][across]: weight of a patch in the current panel; below 0: not a key */
        int64_t maps, columns, rows; /* panels */
        int zoom;                    /* panel pixels per picture pixel */
        int wide, high;
        float most;           /* the largest weight of a patch */
        float darkest, range; /* range of the picture's values */
} Overlay;

static const float *heat_weights(const Heat *h, int64_t map)
{
        return heat_row(h, heat_map(h, map), h->token);
}

static const HeatPlace *keys_of(const Heat *h, int64_t map)
{
        const HeatMap m = heat_map(h, map);
        return h->key + (m.head * h->windows + m.window) * h->columns;
}

/* Position of the token, possibly without a patch. */
static HeatPlace heat_place(const Heat *h, int64_t map)
{
        const HeatMap m = heat_map(h, map);
        return h->query[(m.head * h->windows + m.window) * h->rows + h->token];
}

static void overlay_measure(const Heat *h, Overlay *o)
{
        o->maps = heat_maps(h);
        o->columns = 1;
        while (o->columns * o->columns < o->maps)
                o->columns++;
        o->rows = (o->maps + o->columns - 1) / o->columns;
        const int64_t most = h->height > h->width ? h->height : h->width;
        o->zoom = most >= PANEL ? 1 : (int)(PANEL / most);
        o->wide = (int)h->width * o->zoom;
        o->high = (int)h->height * o->zoom;
        for (int64_t k = 0; k < o->maps; k++)
                for (int64_t i = 0; i < h->columns; i++)
                        if (keys_of(h, k)[i].known)
                                o->most = heat_weights(h, k)[i] > o->most ? heat_weights(h, k)[i] : o->most;
        float darkest = INFINITY, brightest = -INFINITY;
        for (int64_t i = 0; i < h->channels * h->height * h->width; i++)
                if (isfinite(h->picture[i])) {
                        darkest = fminf(h->picture[i], darkest);
                        brightest = fmaxf(h->picture[i], brightest);
                }
        o->darkest = darkest;
        o->range = brightest > darkest ? brightest - darkest : 1;
}

/* Adds red, by the share of the largest weight. */
static void lay_red(float share, uint8_t *rgb)
{
        static const float red[3] = {214, 20, 30};
        const float part = 0.85F * (!(share > 0) ? 0 : share > 1 ? 1 : share);
        for (int i = 0; i < 3; i++)
                rgb[i] = (uint8_t)((float)rgb[i] * (1 - part) + red[i] * part + 0.5F);
}

static void red_over_white(float share, uint8_t *rgb)
{
        memset(rgb, 255, 3);
        lay_red(share, rgb);
}

/* Pixels outside the token's windows are pale. */
static void paint_pixel(const Heat *h, const Overlay *o, Picture *p, int left, int top, int64_t y, int64_t x)
{
        const float seen = o->seen[y / h->patch * o->across + x / h->patch];
        uint8_t rgb[3];
        for (int64_t c = 0; c < 3; c++) {
                const float value = h->picture[((h->channels == 3 ? c : 0) * h->height + y) * h->width + x];
                const float share = isfinite(value) ? (value - o->darkest) / o->range : 0;
                rgb[c] = (uint8_t)(DARKEST + (255 - DARKEST) * share + 0.5F);
        }
        for (int i = 0; i < 3 && seen < 0; i++)
                rgb[i] = (uint8_t)(255 - (255 - rgb[i]) / PALE);
        if (o->most > 0 && seen > 0)
                lay_red(seen / o->most, rgb);
        picture_fill(p, left + (int)x * o->zoom, top + (int)y * o->zoom, o->zoom, o->zoom, rgb);
}

/* Draws a frame around the token's patch. */
static void mark_patch(const Heat *h, const Overlay *o, HeatPlace at, Picture *p, int left, int top)
{
        if (!at.known)
                return;
        const int side = (int)h->patch * o->zoom, x = left + (int)at.across * side,
                  y = top + (int)at.down * side;
        picture_fill(p, x, y, side, 3, frame_blue);
        picture_fill(p, x, y + side - 3, side, 3, frame_blue);
        picture_fill(p, x, y, 3, side, frame_blue);
        picture_fill(p, x + side - 3, y, 3, side, frame_blue);
}

/* Fills o->seen.  Returns the weight of tokens without a patch; below 0: there are none. */
static float overlay_weight(const Heat *h, const Overlay *o, int64_t k)
{
        float elsewhere = -1;
        for (int64_t i = 0; i < o->down * o->across; i++)
                o->seen[i] = -1;
        for (int64_t i = 0; i < h->columns; i++) {
                const HeatPlace at = keys_of(h, k)[i];
                const float weight = heat_weights(h, k)[i];
                if (at.known)
                        o->seen[at.down * o->across + at.across] = weight;
                else
                        elsewhere = (elsewhere < 0 ? 0 : elsewhere) + weight;
        }
        return elsewhere;
}

static void paint_panel(const Heat *h, const Overlay *o, Picture *p, int64_t k, int left, int top)
{
        const float elsewhere = overlay_weight(h, o, k);
        char title[96];
        for (int64_t y = 0; y < h->height; y++)
                for (int64_t x = 0; x < h->width; x++)
                        paint_pixel(h, o, p, left, top, y, x);
        mark_patch(h, o, heat_place(h, k), p, left, top);
        frame_box(p, left - 1, top - 1, o->wide + 1, o->high + 1);
        heat_title(h, heat_map(h, k), title, sizeof title);
        const size_t n = strlen(title);
        if (elsewhere >= 0)
                snprintf(title + n, sizeof title - n, " (%.2f elsewhere)", (double)elsewhere);
        heat_text(p, left + o->wide / 2, top + o->high + 6, title,
                  FRAME_LETTERS * LETTER_WIDTH * (int)strlen(title) > o->wide + GAP ? 1 : FRAME_LETTERS);
}

static void paint_about(const Heat *h, const Overlay *o, Picture *p)
{
        char about[120];
        const HeatPlace at = heat_place(h, 0);
        if (o->maps > 1 && h->windows > 1 && h->window < 0)
                snprintf(about, sizeof about, "token %" PRId64 " of each window", h->token);
        else if (!at.known)
                snprintf(about, sizeof about, "token %" PRId64 ", of no patch", h->token);
        else
                snprintf(about, sizeof about, "token %" PRId64 ", patch at row %" PRId64 ", column %" PRId64,
                         h->token, at.down, at.across);
        heat_text(p, p->width / 2, MARGIN + TITLE / 2 - 6, about, FRAME_LETTERS);
}

static bool lay_over(const Heat *h, Overlay *o, const char *path)
{
        Picture p;
        overlay_measure(h, o);
        char title[200];
        const int64_t wide = o->columns * (o->wide + GAP) - GAP, all = MARGIN + wide + BAR_ROOM,
                      named = heat_name(h, title, sizeof title) + (int64_t)2 * MARGIN;
        if (!picture_new(&p, all > named ? all : named,
                         MARGIN + TITLE + o->rows * (o->high + CAPTION) + MARGIN, path))
                return repl_error("%s: the picture is too large", path);
        for (int64_t k = 0; k < o->maps; k++)
                paint_panel(h, o, &p, k, MARGIN + (int)(k % o->columns * (o->wide + GAP)),
                            MARGIN + TITLE + (int)(k / o->columns * (o->high + CAPTION)));
        heat_text(&p, p.width / 2, MARGIN, title, FRAME_LETTERS);
        paint_about(h, o, &p);
        heat_bar(&p, (PlotBox){(int)(MARGIN + wide + GAP), MARGIN + TITLE, BAR_WIDE, o->high},
                 o->most > 0 ? (double)o->most : 1, red_over_white);
        const bool good = picture_write(&p, path);
        picture_free(&p);
        return good;
}

bool heat_lay_over(const Heat *h, const char *path)
{
        Overlay o = {0};
        if (!h->placed)
                return repl_error("--token is for a model of a picture whose tokens are square patches "
                                  "of it, and %" PRId64 " tokens of %s are not",
                                  h->columns, *h->name ? h->name : "the model");
        o.down = h->height / h->patch;
        o.across = h->width / h->patch;
        o.seen = calloc((size_t)(o.down * o.across), sizeof *o.seen);
        if (!o.seen)
                return repl_error("%s", no_memory);
        const bool good = lay_over(h, &o, path);
        free(o.seen);
        return good;
}
