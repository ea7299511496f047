/* :attn: a model's attention weights as heat maps, in the terminal and as a picture; the attention of a
 * picture's token is drawn over the picture. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "repl_attention_private.h"

enum { MAX_MAP_COLUMNS = 96, TWO_WIDE = 40, MAX_MAPS = 64 };

/* --- maps ------------------------------------------------------------------------------------------------------------- */

int64_t heat_maps(const Heat *h)
{
        return (h->head < 0 ? h->heads : 1) * (h->window < 0 ? h->windows : 1);
}

HeatMap heat_map(const Heat *h, int64_t k)
{
        const int64_t windows = h->window < 0 ? h->windows : 1;
        return (HeatMap){h->head < 0 ? k / windows : h->head, h->window < 0 ? k % windows : h->window};
}

const float *heat_row(const Heat *h, HeatMap m, int64_t row)
{
        return h->weight + ((m.head * h->windows + m.window) * h->rows + row) * h->columns;
}

void heat_title(const Heat *h, HeatMap m, char *text, size_t room)
{
        if (h->windows > 1)
                snprintf(text, room, "head %" PRId64 ", window %" PRId64, m.head, m.window);
        else
                snprintf(text, room, "head %" PRId64, m.head);
}

/* --- labels ---------------------------------------------------------------------------------------------------------- */

/* A single line of at most LABEL characters. */
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

/* The tokens of an input, as labels; NULL: out of memory. */
static char (*labels_of(const ReplSession *s, const int32_t *token, int64_t n))[LABEL_BYTES]
{
        char(*label)[LABEL_BYTES] = calloc((size_t)n + 1, sizeof *label);
        for (int64_t i = 0; label && i < n; i++) {
                char text[64];
                label_of(s, token[i], text, sizeof text);
                make_label(label[i], text);
        }
        return label;
}

/* The input of token ids along an axis, if it is a text or was given; NULL: none. */
static const int32_t *tokens_along(const ReplSession *s, const Trace *t, Dim axis)
{
        const Graph *g = s->runner->model.graph;
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                bool given = t->token != NULL;
                for (int k = 0; k < s->input.n; k++)
                        given |= !strcmp(s->input.at[k].name, input_name(in));
                if (given && in->bound && in->type.rank == 1 && !dim_is_fixed(axis) &&
                    dim_equal(in->type.dim[0], axis))
                        return t->input[i];
        }
        return NULL;
}

static bool heat_labels(Heat *h, const ReplSession *s, const Trace *t, const Type *type)
{
        if (type->rank < 2)
                return true;
        const int32_t *rows = tokens_along(s, t, type->dim[type->rank - 2]),
                      *columns = tokens_along(s, t, type->dim[type->rank - 1]);
        h->row = rows ? labels_of(s, rows, h->rows) : NULL;
        h->column = columns ? labels_of(s, columns, h->columns) : NULL;
        return (h->row || !rows) && (h->column || !columns);
}

static int character_count(const char *text)
{
        int n = 0;
        for (; *text; text++)
                n += ((unsigned char)*text & 0xc0) != 0x80;
        return n;
}

/* --- in the terminal ----------------------------------------------------------------------------------------------------- */

static void heat_print_row(const Heat *h, HeatMap m, int64_t i, int64_t columns)
{
        static const char *const shade[] = {" ", "░", "▒", "▓", "█"};
        const float *weight = heat_row(h, m, i);
        if (h->row)
                printf("%*s%s |", LABEL - character_count(h->row[i]), "", h->row[i]);
        else
                printf("%*" PRId64 " |", LABEL, i);
        for (int64_t j = 0; j < columns; j++) {
                const float w = weight[j];
                const char *cell = shade[w < 0.05F ? 0 : w < 0.25F ? 1 : w < 0.5F ? 2 : w < 0.75F ? 3 : 4];
                printf("%s%s", cell, columns <= TWO_WIDE ? cell : "");
        }
        printf("|\n");
}

/* Prints the tokens of keys, if they differ from those of queries. */
static void print_columns(const Heat *h, int64_t columns)
{
        bool same = h->row && h->rows == h->columns;
        for (int64_t j = 0; same && h->column && j < h->columns; j++)
                same = !strcmp(h->row[j], h->column[j]);
        if (!h->column || same)
                return;
        printf("%*s: ", LABEL, "columns");
        for (int64_t j = 0; j < columns; j++)
                printf("%s%s", j ? " | " : "", h->column[j]);
        printf("\n");
}

static void print_map(const Heat *h, HeatMap m)
{
        const int64_t rows = h->rows < MAX_MAP_COLUMNS ? h->rows : MAX_MAP_COLUMNS,
                      columns = h->columns < MAX_MAP_COLUMNS ? h->columns : MAX_MAP_COLUMNS;
        char title[64];
        heat_title(h, m, title, sizeof title);
        printf("attention %" PRId64 "%s%s, %s\n", h->attention, *h->name ? ", " : "", h->name, title);
        for (int64_t i = 0; i < rows; i++)
                heat_print_row(h, m, i, columns);
        print_columns(h, columns);
        if (rows < h->rows || columns < h->columns)
                printf("the first %" PRId64 " of %" PRId64 " rows, %" PRId64 " of %" PRId64
                       " columns; a picture shows all\n",
                       rows, h->rows, columns, h->columns);
}

/* --- the command ----------------------------------------------------------------------------------------------------------- */

static bool heat_read_number(const char *text, int64_t *n)
{
        char *end;
        *n = strtoll(text, &end, 10);
        return !*end && end != text && *n >= 0 && *n < 1 << 20;
}

/* Reads --window W or --token K at word i. */
static bool read_option(Heat *h, const Words *w, int i)
{
        int64_t *to = !strcmp(w->word[i], "--window") ? &h->window : &h->token;
        if (i + 1 < w->n && heat_read_number(w->word[i + 1], to))
                return true;
        return repl_error("%s must be a number, counted from 0, not %s", w->word[i],
                          i + 1 < w->n ? w->word[i + 1] : "nothing");
}

/* LAYER [HEAD] [--window W] [--token K] [[-o] FILE.png] */
static bool read_words_of_attention(Heat *h, const Words *w, const char **path)
{
        if (!heat_read_number(w->word[1], &h->attention))
                return repl_error("%s is not the number of an attention, counted from 0", w->word[1]);
        for (int i = 2; i < w->n; i++) {
                const char *word = w->word[i];
                const bool is_out = !strcmp(word, "-o");
                if (is_out && (i + 1 == w->n || !is_drawing_name(w->word[i + 1])))
                        return repl_error("-o must name a file that ends in .png, .svg or .pdf, not %s",
                                          i + 1 < w->n ? w->word[i + 1] : "nothing");
                if (!strcmp(word, "--window") || !strcmp(word, "--token")) {
                        if (!read_option(h, w, i))
                                return false;
                        i++;
                } else if (is_out || is_drawing_name(word))
                        *path = w->word[i += is_out];
                else if (h->head >= 0 || !heat_read_number(word, &h->head))
                        return repl_error(
                                "%s is neither a head's number nor a file that ends in .png, .svg or .pdf",
                                word);
        }
        return h->token < 0 || *path ||
               repl_error("--token lays the weights over a picture and requires -o FILE.png");
}

static bool is_below(const char *what, int64_t index, int64_t n)
{
        if (index < n)
                return true;
        return repl_error("there are %" PRId64 " %s, counted from 0", n, what);
}

static bool heat_fits(const Heat *h)
{
        if (!is_below("heads", h->head, h->heads) || !is_below("tokens", h->token, h->rows))
                return false;
        if (h->window >= 0 && h->windows == 1)
                return repl_error("%s has no windows", *h->name ? h->name : "the attention");
        if (!is_below("windows", h->window, h->windows))
                return false;
        if (heat_maps(h) <= MAX_MAPS)
                return true;
        return repl_error("there are %" PRId64 " heads in %" PRId64
                          " windows, more than are shown at once: give a head or --window W, or both",
                          h->heads, h->windows);
}

/* [heads, rows, columns], or [heads, windows, rows, columns]: windows of a picture, frames, texts of a batch */
static void take_shape_of_attention(Heat *h, const Type *type, const Trace *t, int output)
{
        const int rank = type->rank;
        h->rows = rank > 1 ? dim_value(type->dim[rank - 2], t->size) : 1;
        h->columns = dim_value(type->dim[rank - 1], t->size);
        h->windows = rank == 4 ? dim_value(type->dim[1], t->size) : 1;
        const int64_t each = h->windows * h->rows * h->columns;
        h->heads = t->count[output] / (each > 0 ? each : 1);
        h->weight = t->output[output];
}

/* The input picture; not for an attention of texts, whose size does not match.  Returns its input, or -1. */
static int take_picture(Heat *h, const ReplSession *s, const Trace *t, const Type *weights)
{
        const Graph *g = s->runner->model.graph;
        for (int i = 0; i < g->ninput && type_is_fixed(weights); i++) {
                const Type *type = &g->input[i].type;
                if (picture_fault(g, &g->input[i]))
                        continue;
                h->picture = t->input[i];
                h->channels = dim_value(type->dim[0], t->size);
                h->height = dim_value(type->dim[1], t->size);
                h->width = dim_value(type->dim[2], t->size);
                return i;
        }
        return -1;
}

static bool show_heat(Heat *h, const char *path)
{
        if (!heat_fits(h))
                return false;
        if (path)
                return h->token < 0 ? heat_paint(h, path) : heat_lay_over(h, path);
        for (int64_t k = 0; k < heat_maps(h); k++)
                print_map(h, heat_map(h, k));
        return true;
}

bool show_attention(ReplSession *s, const Words *w)
{
        Heat h = {.head = -1,
                  .window = -1,
                  .token = -1,
                  .name = "",
                  .model = s->model ? s->model : "",
                  .prompt = s->prompt};
        const char *path = NULL;
        if (!read_words_of_attention(&h, w, &path))
                return false;
        Trace t;
        int output, n;
        Arena arena = {0};
        AttentionSite at;
        bool good = trace_tapped(s, (RunnerKind){.attention = (int)h.attention}, &t, &output);
        if (good) {
                Graph *g = session_graph(s, &arena);
                const bool found = g && attention_find(g, &arena, (int)h.attention, &at, &n);
                if (found)
                        h.name = at.name;
                const Type *type = &s->runner->model.graph->output[output].node->type;
                take_shape_of_attention(&h, type, &t, output);
                const int input = take_picture(&h, s, &t, type);
                good = heat_labels(&h, s, &t, type);
                if (good && found && input >= 0 && h.token >= 0)
                        good = heat_find_places(&h,
                                                &(HeatSource){g, stage_of(&arena, g), t.size, &at, input});
                good = good ? show_heat(&h, path) : repl_error("%s", no_memory);
        }
        free(h.row);
        free(h.column);
        free(h.query);
        free(h.key);
        arena_free(&arena);
        trace_free(s, &t);
        return good;
}
