/* Attention's heat maps as a picture: one for each head, with tokens along the axes and a colour bar. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "repl_attention_private.h"

enum {
        MARGIN = 16,  /* around the picture */
        GAP = 20,     /* between maps */
        CAPTION = 28, /* of the axes, and of a map's title */
        TITLE = 36,
        BAR_WIDE = 22,
        BAR_ROOM = 110,
        MIN_BAR = 160,
        MASKED = 0xd8,   /* grey of a masked weight */
        NUMBER_ROOM = 30 /* for a number along an axis */
};

/* Positions and sizes in pixels. */
typedef struct {
        int64_t maps, across, down;
        int cell, scale;       /* size of a weight; of labels */
        int left, top;         /* room for labels */
        int64_t wide, high;    /* size of a map */
        int64_t width, height; /* size of the picture */
        float most;            /* the largest weight */
} HeatLayout;

/* Label of row or column i: its token; without tokens its number, if there is room; else "". */
static const char *label_at(const HeatLayout *l, char (*label)[LABEL_BYTES], int64_t i, char *number)
{
        static const int step[] = {1, 2, 5, 10, 20, 50, 100, 200};
        int k = 0;
        while (k < 7 && step[k] * l->cell < NUMBER_ROOM)
                k++;
        *number = 0;
        if (i % step[k] == 0)
                snprintf(number, LABEL_BYTES, "%" PRId64, i);
        return label ? label[i] : number;
}

static int characters_in(const char *text)
{
        int n = 0;
        for (; *text; text++)
                n += ((unsigned char)*text & 0xc0) != 0x80;
        return n;
}

/* Numbers are few and large. */
static int label_scale(const HeatLayout *l, char (*label)[LABEL_BYTES])
{
        return label ? l->scale : FRAME_LETTERS;
}

static int longest(const HeatLayout *l, char (*label)[LABEL_BYTES], int64_t n)
{
        char number[LABEL_BYTES];
        int most = 0;
        for (int64_t i = 0; i < n; i++) {
                const int characters = characters_in(label_at(l, label, i, number));
                most = characters > most ? characters : most;
        }
        return most;
}

/* The largest weight in the maps that are shown; 1 if none is above 0. */
static float largest_weight(const Heat *h)
{
        float most = 0;
        for (int64_t k = 0; k < heat_maps(h); k++)
                for (int64_t i = 0; i < h->rows; i++)
                        for (int64_t j = 0; j < h->columns; j++) {
                                const float w = heat_row(h, heat_map(h, k), i)[j];
                                most = w > most ? w : most;
                        }
        return most > 0 ? most : 1;
}

static HeatLayout place_maps(const Heat *h)
{
        const int64_t most = h->rows > h->columns ? h->rows : h->columns;
        HeatLayout l = {.maps = heat_maps(h), .across = 1, .most = largest_weight(h)};
        l.cell = most <= 12 ? 32 : most <= 32 ? 18 : most <= 60 ? 14 : most <= 120 ? 10 : most <= 400 ? 3 : 1;
        l.scale = l.cell >= 18 ? 2 : 1;
        while (l.across * l.across < l.maps)
                l.across++;
        l.down = (l.maps + l.across - 1) / l.across;
        l.left = MARGIN + CAPTION + label_scale(&l, h->row) * LETTER_WIDTH * longest(&l, h->row, h->rows) + 6;
        l.top = MARGIN + TITLE +
                label_scale(&l, h->column) * LETTER_WIDTH * longest(&l, h->column, h->columns) + 6;
        l.wide = h->columns * l.cell;
        l.high = h->rows * l.cell;
        l.width = l.left + l.across * (l.wide + GAP) + BAR_ROOM;
        l.height = l.top + l.down * (l.high + CAPTION) + MARGIN + CAPTION;
        if (l.height < l.top + CAPTION + MIN_BAR + MARGIN)
                l.height = l.top + CAPTION + MIN_BAR + MARGIN;
        return l;
}

static void colour_of_share(float w, uint8_t *colour)
{
        w = !(w > 0) ? 0 : w > 1 ? 1 : w;
        colour[0] = (uint8_t)(245 - 237 * w);
        colour[1] = (uint8_t)(248 - 200 * w);
        colour[2] = (uint8_t)(255 - 148 * w);
}

int64_t heat_name(const Heat *h, char *text, size_t room)
{
        char run[100] = "";
        const char *more = h->prompt && strlen(h->prompt) > 30 ? ".." : "";
        if (h->token < 0 && h->prompt) /* over a picture, the picture shows the input */
                snprintf(run, sizeof run, "%.40s, \"%.30s%s\", ", h->model, h->prompt, more);
        else if (h->token < 0)
                snprintf(run, sizeof run, "%.40s, ", h->model);
        for (char *c = run; *c; c++)
                if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
                        *c = '?';
        return (int64_t)FRAME_LETTERS * LETTER_WIDTH *
               snprintf(text, room, "%s%.100s%sattention %" PRId64, run, h->name, *h->name ? ", " : "",
                        h->attention);
}

void heat_text(Picture *p, int64_t middle, int y, const char *text, int scale)
{
        p->scale = scale;
        const int64_t x = middle - (int64_t)scale * LETTER_WIDTH * (int64_t)strlen(text) / 2;
        picture_text(p, (int)(x < MARGIN ? MARGIN : x), y, text, false);
}

static void paint_map(const Heat *h, const HeatLayout *l, HeatMap m, Picture *p, int left, int top)
{
        char title[64];
        heat_title(h, m, title, sizeof title);
        const int scale =
                FRAME_LETTERS * LETTER_WIDTH * (int)strlen(title) > (int)l->wide + GAP ? 1 : FRAME_LETTERS;
        heat_text(p, left + l->wide / 2, top + (int)l->high + 6, title, scale);
        for (int64_t i = 0; i < h->rows; i++)
                for (int64_t j = 0; j < h->columns; j++) {
                        uint8_t colour[3];
                        const float weight = heat_row(h, m, i)[j];
                        colour_of_share(weight / l->most, colour);
                        if (!(weight > 0)) /* exactly 0, as masked ones are */
                                memset(colour, MASKED, sizeof colour);
                        picture_fill(p, left + (int)j * l->cell, top + (int)i * l->cell, l->cell, l->cell,
                                     colour);
                }
        frame_box(p, left - 1, top - 1, (int)l->wide + 1, (int)l->high + 1);
}

/* Labels to the left of the first map of each row of maps. */
static void paint_rows(const Heat *h, const HeatLayout *l, Picture *p, int left, int top)
{
        char number[LABEL_BYTES];
        p->scale = label_scale(l, h->row);
        for (int64_t i = 0; i < h->rows; i++) {
                const char *label = label_at(l, h->row, i, number);
                picture_text(p, left - 6 - p->scale * LETTER_WIDTH * characters_in(label),
                             top + (int)i * l->cell + (l->cell - p->scale * (LETTER_HEIGHT - 1)) / 2, label,
                             false);
        }
}

/* Upright labels above the maps of the first row. */
static void paint_columns(const Heat *h, const HeatLayout *l, Picture *p, int left, int top)
{
        char number[LABEL_BYTES];
        p->scale = label_scale(l, h->column);
        for (int64_t j = 0; j < h->columns; j++)
                picture_text(p, left + (int)j * l->cell + (l->cell - p->scale * (LETTER_HEIGHT - 1)) / 2,
                             top - 6 - p->scale * LETTER_WIDTH + p->scale, label_at(l, h->column, j, number),
                             true);
}

void heat_bar(Picture *p, PlotBox box, double most, ColourOfShare *colour)
{
        PlotFrame bar = {.p = *p,
                         .x = box.x,
                         .y = box.y,
                         .width = box.width,
                         .height = box.height,
                         .bottom = 0,
                         .top = most};
        for (int i = 0; i < bar.height; i++) {
                uint8_t rgb[3];
                colour(1 - (float)i / (float)(bar.height - 1), rgb);
                picture_fill(p, bar.x, bar.y + i, bar.width, 1, rgb);
        }
        frame_box(p, bar.x, bar.y, bar.width, bar.height);
        bar.p.scale = FRAME_LETTERS;
        frame_y_axis(&bar, bar.x + bar.width, 1, false, false);
}

static void paint_captions(const HeatLayout *l, Picture *p, const char *title)
{
        const int64_t maps = l->across * (l->wide + GAP) - GAP;
        heat_text(p, l->width / 2, MARGIN, title, FRAME_LETTERS);
        heat_text(p, l->left + maps / 2, (int)l->height - MARGIN - FRAME_LETTERS * LETTER_HEIGHT, "key",
                  FRAME_LETTERS);
        const int64_t high = l->down * (l->high + CAPTION) - CAPTION;
        picture_text(p, MARGIN,
                     (int)(l->top + high / 2 + (int64_t)strlen("query") * FRAME_LETTERS * LETTER_WIDTH / 2),
                     "query", true);
        const int64_t bar = l->high > MIN_BAR ? l->high : high > MIN_BAR ? high : MIN_BAR;
        heat_bar(p, (PlotBox){(int)(l->left + maps + GAP), l->top, BAR_WIDE, (int)bar}, (double)l->most,
                 colour_of_share);
}

bool heat_paint(const Heat *h, const char *path)
{
        HeatLayout l = place_maps(h);
        Picture p;
        char title[200];
        const int64_t named = heat_name(h, title, sizeof title) + (int64_t)2 * MARGIN;
        l.width = l.width > named ? l.width : named;
        if (!picture_new(&p, l.width, l.height, path))
                return repl_error("%s: the picture is too large", path);
        for (int64_t k = 0; k < l.maps; k++) {
                const int left = l.left + (int)(k % l.across * (l.wide + GAP)),
                          top = l.top + (int)(k / l.across * (l.high + CAPTION));
                paint_map(h, &l, heat_map(h, k), &p, left, top);
                if (k % l.across == 0)
                        paint_rows(h, &l, &p, left, top);
                if (k < l.across)
                        paint_columns(h, &l, &p, left, top);
        }
        paint_captions(&l, &p, title);
        const bool good = picture_write(&p, path);
        picture_free(&p);
        return good;
}
