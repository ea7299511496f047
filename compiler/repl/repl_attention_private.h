/* What :attn draws, in the terminal or into a picture. */
#ifndef REPL_ATTENTION_PRIVATE_H
#define REPL_ATTENTION_PRIVATE_H
#include "repl_plot_private.h"

enum { LABEL = 12, LABEL_BYTES = 4 * LABEL + 1 };

/* A token's patch of the picture, by patches; unknown: it is of none. */
typedef struct {
        bool known;
        int64_t down, across;
} HeatPlace;

typedef struct {
        const char *name;  /* of the block: "layer[2].attn.dot_product" */
        int64_t attention; /* its number */
        int64_t heads, windows, rows, columns;
        const float *weight;      /* [heads][windows][rows][columns] */
        int64_t head, window;     /* the only ones, or -1: all */
        int64_t token;            /* the row that is laid over the input picture; -1: none */
        char (*row)[LABEL_BYTES]; /* [rows] labels; NULL: numbers */
        char (*column)[LABEL_BYTES];
        const float *picture; /* [channels][height][width]; NULL: there is no input picture */
        int64_t channels, height, width;
        HeatPlace *query, *key; /* [heads][windows][rows], .. [columns]; NULL: nobody has asked */
        bool placed;            /* patches tile the picture .. */
        int64_t patch;          /* .. whose sides are so many pixels */
} Heat;

/* What places are found by: the graph as elaborated, an attention of it, and the input that is the picture. */
typedef struct {
        const Graph *g;
        const Stage *stage;
        const int64_t *size;
        const AttentionSite *at;
        int input;
} HeatSource;

/* Maps in the order in which they are shown: how many, and which one is the k-th. */
typedef struct {
        int64_t head, window;
} HeatMap;
int64_t heat_maps(const Heat *h);
HeatMap heat_map(const Heat *h, int64_t k);
const float *heat_row(const Heat *h, HeatMap m, int64_t row);       /* [columns] */
void heat_title(const Heat *h, HeatMap m, char *text, size_t room); /* "head 2", "head 2, window 5" */

/* repl_attention_picture.c: a text about a column of pixels; the bar of what colours mean, from 0 to `most`. */
typedef void ColourOfShare(float share, uint8_t *rgb); /* of 0 to 1 */
int64_t heat_name(const Heat *h, char *text,
                  size_t room); /* "layer[2].attn.dot_product, attention 2"; its pixels */
void heat_text(Picture *p, int64_t middle, int y, const char *text, int scale);
void heat_bar(Picture *p, PlotBox box, double most, ColourOfShare *colour);

bool heat_find_places(Heat *h, const HeatSource *from); /* repl_attention_places.c; false: out of memory */
bool heat_paint(const Heat *h, const char *path);       /* repl_attention_picture.c; false after a message */
bool heat_lay_over(const Heat *h,
                   const char *path); /* repl_attention_overlay.c: h->token, over h->picture; the same */
#endif
