/* The drawings of :attn, in the terminal or as a picture. */
#ifndef REPL_ATTENTION_PRIVATE_H
#define REPL_ATTENTION_PRIVATE_H
#include "repl_plot_private.h"

enum { LABEL = 12, LABEL_BYTES = 4 * LABEL + 1 };

/* A token's patch, in patches; unknown: it has none. */
typedef struct {
        bool known;
        int64_t down, across;
} HeatPlace;

typedef struct {
        const char *name;           /* of the block: "layer[2].attn.dot_product" */
        const char *model, *prompt; /* prompt: NULL: none */
        int64_t attention;          /* its index */
        int64_t heads, windows, rows, columns;
        const float *weight;      /* [heads][windows][rows][columns] */
        int64_t head, window;     /* the selected ones, or -1: all */
        int64_t token;            /* the row that is drawn over the input picture; -1: none */
        char (*row)[LABEL_BYTES]; /* [rows] labels; NULL: numbers */
        char (*column)[LABEL_BYTES];
        const float *picture; /* [channels][height][width]; NULL: no input picture */
        int64_t channels, height, width;
        HeatPlace *query, *key; /* [heads][windows][rows], [heads][windows][columns]; NULL: not yet found */
        bool placed;            /* patches tile the picture */
        int64_t patch;          /* side of a patch in pixels */
} Heat;

/* Data for finding patches: the elaborated graph, an attention, and the input picture. */
typedef struct {
        const Graph *g;
        const Stage *stage;
        const int64_t *size;
        const AttentionSite *at;
        int input;
} HeatSource;

/* Number of maps in the order in which they are shown; the k-th map. */
typedef struct {
        int64_t head, window;
} HeatMap;
int64_t heat_maps(const Heat *h);
HeatMap heat_map(const Heat *h, int64_t k);
const float *heat_row(const Heat *h, HeatMap m, int64_t row);       /* [columns] */
void heat_title(const Heat *h, HeatMap m, char *text, size_t room); /* "head 2", "head 2, window 5" */

/* repl_attention_picture.c: prints a text centred at a column; draws the colour bar from 0 to `most`. */
typedef void ColourOfShare(float share, uint8_t *rgb); /* share: 0 to 1 */
/* "layer[2].attn.dot_product, attention 2"; returns its width in pixels */
int64_t heat_name(const Heat *h, char *text, size_t room);
void heat_text(Picture *p, int64_t middle, int y, const char *text, int scale);
void heat_bar(Picture *p, PlotBox box, double most, ColourOfShare *colour);

bool heat_find_places(Heat *h, const HeatSource *from); /* repl_attention_places.c; false: out of memory */
bool heat_paint(const Heat *h, const char *path);       /* repl_attention_picture.c; false after a message */
/* repl_attention_overlay.c: h->token, over h->picture; the same */
bool heat_lay_over(const Heat *h, const char *path);
#endif
