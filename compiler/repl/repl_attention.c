/* :attn: a model's attention weights as heat maps, in the terminal and as a picture. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "repl_private.h"

enum { MOST_SHOWN = 96, TWO_WIDE = 40, LABEL = 12, LABEL_BYTES = 4 * LABEL + 1 };

typedef struct {
        int64_t heads, rows, columns;
        const float *weight;        /* [heads][rows][columns] */
        int64_t head;               /* the only one, or -1: all */
        char (*label)[LABEL_BYTES]; /* [rows], where rows and columns are the text's tokens; or NULL */
        int64_t layer;
} Heat;

static bool wrong(const char *format, const char *what)
{
        fprintf(stderr, "lathe: error: ");
        fprintf(stderr, format, what);
        fprintf(stderr, "\n");
        return false;
}

/* --- labels ---------------------------------------------------------------------------------------------------------- */

/* One line, at most LABEL characters. */
static void make_label(char *out, const char *text)
{
        int characters = 0;
        char *to = out;
        for (; *text; text++) {
                bool starts = ((unsigned char)*text & 0xc0) != 0x80;
                if ((starts && characters++ == LABEL) || to - out == LABEL_BYTES - 1)
                        break;
                *to++ = (unsigned char)*text < ' ' || *text == 0x7f ? '.' : *text;
        }
        *to = 0;
}

static bool make_labels(Heat *h, const Session *s, const Trace *t)
{
        h->label = NULL;
        if (!t->token || h->rows != t->ntoken)
                return true;
        h->label = calloc((size_t)h->rows, sizeof *h->label);
        for (int64_t i = 0; h->label && i < h->rows; i++) {
                char text[64];
                label_of(s, t->token[i], text, sizeof text);
                make_label(h->label[i], text);
        }
        return h->label != NULL;
}

static int characters(const char *text)
{
        int n = 0;
        for (; *text; text++)
                n += ((unsigned char)*text & 0xc0) != 0x80;
        return n;
}

/* --- in the terminal ----------------------------------------------------------------------------------------------------- */

static void print_head(const Heat *h, int64_t head)
{
        static const char *const shade[] = {" ", "░", "▒", "▓", "█"};
        int64_t rows = h->rows < MOST_SHOWN ? h->rows : MOST_SHOWN,
                columns = h->columns < MOST_SHOWN ? h->columns : MOST_SHOWN;
        printf("attention %" PRId64 ", head %" PRId64 "\n", h->layer, head);
        for (int64_t i = 0; i < rows; i++) {
                if (h->label)
                        printf("%*s%s |", LABEL - characters(h->label[i]), "", h->label[i]);
                else
                        printf("%*" PRId64 " |", LABEL, i);
                for (int64_t j = 0; j < columns; j++) {
                        float w = h->weight[(head * h->rows + i) * h->columns + j];
                        const char *cell = shade[w < 0.05F   ? 0
                                                 : w < 0.25F ? 1
                                                 : w < 0.5F  ? 2
                                                 : w < 0.75F ? 3
                                                             : 4];
                        printf("%s%s", cell, columns <= TWO_WIDE ? cell : "");
                }
                printf("|\n");
        }
        if (rows < h->rows || columns < h->columns)
                printf("the first %" PRId64 " of %" PRId64 " rows, %" PRId64 " of %" PRId64
                       " columns; a picture shows all\n",
                       rows, h->rows, columns, h->columns);
}

/* --- as a picture ---------------------------------------------------------------------------------------------------------- */

enum { MARGIN = 8, LABELLED_CELL = 10, LEAST_WIDTH = 30 * LETTER_WIDTH };

static void paint_head(const Heat *h, int64_t head, Picture *p, int x, int y, int cell, int margin)
{
        char title[64];
        snprintf(title, sizeof title, "attention %" PRId64 ", head %" PRId64, h->layer, head);
        picture_text(p, x, y, title, false);
        int left = x + margin, top = y + LETTER_HEIGHT + margin;
        for (int64_t i = 0; i < h->rows; i++)
                for (int64_t j = 0; j < h->columns; j++) {
                        float w = h->weight[(head * h->rows + i) * h->columns + j];
                        w = w < 0 ? 0 : w > 1 ? 1 : w;
                        uint8_t colour[3] = {(uint8_t)(245 - 237 * w), (uint8_t)(248 - 200 * w),
                                             (uint8_t)(255 - 148 * w)};
                        picture_fill(p, left + (int)j * cell, top + (int)i * cell, cell, cell, colour);
                }
        for (int64_t i = 0; h->label && cell >= LABELLED_CELL && i < h->rows; i++) {
                int inset = (cell - LETTER_HEIGHT) / 2 + 1;
                picture_text(p, left - 4 - LETTER_WIDTH * characters(h->label[i]),
                             top + (int)i * cell + inset, h->label[i], false);
                if (i < h->columns)
                        picture_text(p, left + (int)i * cell + inset, top - 4, h->label[i], true);
        }
}

/* Heads side by side, as many in a row as rows. */
static bool paint(const Heat *h, const char *path)
{
        int64_t n = h->head < 0 ? h->heads : 1, across = 1;
        int64_t longest = h->rows > h->columns ? h->rows : h->columns;
        int cell = longest <= 60 ? 14 : longest <= 120 ? LABELLED_CELL : longest <= 400 ? 3 : 1;
        int margin = h->label && cell >= LABELLED_CELL ? LABEL * LETTER_WIDTH + 6 : 4;
        while (across * across < n)
                across++;
        int64_t width = margin + h->columns * cell + MARGIN + MARGIN,
                height = LETTER_HEIGHT + margin + h->rows * cell + MARGIN + MARGIN;
        width = width < LEAST_WIDTH ? LEAST_WIDTH : width;
        Picture p;
        if (!picture_new(&p, across * width, (n + across - 1) / across * height))
                return wrong("%s: the picture is too large", path);
        for (int64_t i = 0; i < n; i++)
                paint_head(h, h->head < 0 ? i : h->head, &p, (int)(i % across * width) + MARGIN,
                           (int)(i / across * height) + MARGIN, cell, margin);
        bool good = picture_write(&p, path);
        picture_free(&p);
        return good;
}

/* --- the command ----------------------------------------------------------------------------------------------------------- */

static bool read_number(const char *text, int64_t *n)
{
        char *end;
        *n = strtoll(text, &end, 10);
        return !*end && end != text && *n >= 0 && *n < 1 << 20;
}

static bool show_heat(Session *s, Heat *h, const Trace *t, const char *path)
{
        if (h->head >= h->heads) {
                fprintf(stderr, "lathe: error: there are %" PRId64 " heads, counted from 0\n", h->heads);
                return false;
        }
        if (!make_labels(h, s, t))
                return wrong("%s", no_memory);
        for (int64_t i = 0; !path && i < h->heads; i++)
                if (h->head < 0 || h->head == i)
                        print_head(h, i);
        bool good = !path || paint(h, path);
        free(h->label);
        return good;
}

/* LAYER [HEAD] [FILE.png] */
bool show_attention(Session *s, const Words *w)
{
        Heat h = {.head = -1};
        const char *path = NULL;
        if (!read_number(w->word[1], &h.layer))
                return wrong("%s is no number of an attention, from 0", w->word[1]);
        for (int i = 2; i < w->n; i++) {
                if (is_picture_name(w->word[i]))
                        path = w->word[i];
                else if (!read_number(w->word[i], &h.head))
                        return wrong("%s is neither a head's number nor a file that ends in .png",
                                     w->word[i]);
        }
        Trace t;
        int output;
        int64_t dim[MAX_RANK];
        bool good = trace_tapped(s, (RunnerKind){.attention = (int)h.layer}, &t, &output);
        if (good) {
                const Type *type = &s->runner->model.graph->output[output].node->type;
                for (int a = 0; a < type->rank; a++)
                        dim[a] = dim_value(type->dim[a], t.size);
                h.rows = type->rank > 1 ? dim[type->rank - 2] : 1;
                h.columns = dim[type->rank - 1];
                h.heads = t.count[output] / (h.rows * h.columns > 0 ? h.rows * h.columns : 1);
                h.weight = t.output[output];
                good = show_heat(s, &h, &t, path);
        }
        trace_free(s, &t);
        return good;
}
