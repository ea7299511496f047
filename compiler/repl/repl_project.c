/* :project: the rows of a matrix in two dimensions: along the two axes of the largest variance (principal
 * component analysis).  Labels are the tokens of a text or a vocabulary if rows are those, else numbers. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

enum { MAX_SIDE_OF_AXES = 2048 /* maximum of the smaller of rows and columns: the time is cubic */ };

/* --- labels ----------------------------------------------------------------------------------------------------------- */

enum { LABEL_CHARACTERS = 12 };

/* At most LABEL_CHARACTERS of a token's text, without surrounding blanks; invalid bytes are printed like
 * \x01. */
static void shorten(char *out, const char *text)
{
        char *to = out;
        text += strspn(text, " ");
        for (int n = 0, bytes; *text && n < LABEL_CHARACTERS; n++, text += bytes) {
                uint32_t code;
                bytes = decode_utf8(text, (int32_t)strnlen(text, 4), &code);
                const bool is_shown = bytes && code >= ' ' && code != 0x7f;
                if (to + 5 > out + POINT_LABEL)
                        break;
                to += is_shown ? snprintf(to, 5, "%.*s", bytes, text)
                               : snprintf(to, 5, "\\x%02x", (unsigned)(unsigned char)*text);
                bytes = bytes ? bytes : 1;
        }
        while (to > out && to[-1] == ' ')
                to--;
        *to = 0;
}

static void label_token(const ReplSession *s, int32_t token, char *out)
{
        char text[64];
        label_of(s, token, text, sizeof text);
        shorten(out, text);
        if (!*out)
                snprintf(out, POINT_LABEL, "_");
}

/* The tokens of the last run's text, if the matrix has a row for each; else NULL. */
static int32_t *tokens_of_rows(ReplSession *s, int64_t rows)
{
        int64_t n = 0;
        const Runner *r = s->runner;
        int32_t *token = s->prompt && *s->prompt && !s->input.n && input_of_text(r->model.graph)
                                 ? prompt_of(s, &n)
                                 : NULL;
        if (n == rows)
                return token;
        free(token);
        return NULL;
}

/* False after a message. */
static bool point_labels(ReplSession *s, Points *p)
{
        const int64_t n = p->plot.rows;
        p->label = calloc((size_t)n, sizeof *p->label);
        if (!p->label)
                return repl_error("%s", no_memory);
        for (int64_t i = 0; i < n; i++)
                snprintf(p->label[i], POINT_LABEL, "%" PRId64, i);
        if (!s->model || !(s->prompt || s->options.tokenizer))
                return true;
        if (!runner_fit(s, AS_IT_IS))
                return false;
        int32_t *token = tokens_of_rows(s, n);
        const bool is_vocabulary = s->runner->has_tokenizer && s->runner->tokenizer.vocab == n;
        for (int64_t i = 0; (token || is_vocabulary) && i < n; i++)
                label_token(s, token ? token[i] : (int32_t)i, p->label[i]);
        free(token);
        return true;
}

/* --- the projection ------------------------------------------------------------------------------------------------------ */

typedef struct {
        int64_t rows, columns;
        double *value;   /* [rows][columns] */
        double *axis;    /* [2][columns] */
        double share[2]; /* of the variance */
} Projection;

/* Leading axes of one element are ignored. */
static bool take_matrix(Projection *q, const KeptValue *k)
{
        if (!k->data || k->rank < 2)
                return repl_error("only matrices are projected, row by row, and this is not one");
        q->rows = k->dim[k->rank - 2];
        q->columns = k->dim[k->rank - 1];
        for (int a = 0; a < k->rank - 2; a++)
                if (k->dim[a] != 1)
                        return repl_error("only matrices are projected, and this has %d axes: x[0] takes a "
                                          "part",
                                          k->rank);
        if (q->rows < 2 || q->columns < 2)
                return repl_error("at least two rows and two columns are required");
        if (q->rows > MAX_SIDE_OF_AXES && q->columns > MAX_SIDE_OF_AXES)
                return repl_error(
                        "at most 2048 rows or 2048 columns are possible: x[0 .. 2048] takes a part");
        const size_t n = (size_t)(q->rows * q->columns);
        for (size_t i = 0; i < n; i++)
                if (!isfinite(k->data[i]))
                        return repl_error("not all values are finite");
        q->value = malloc(n * sizeof *q->value);
        q->axis = malloc((size_t)(2 * q->columns) * sizeof *q->axis);
        if (!q->value || !q->axis)
                return repl_error("%s", no_memory);
        memcpy(q->value, k->data, n * sizeof *q->value);
        return true;
}

/* Coordinates of the points; the most distant point along an axis is on its positive side. */
static bool place_points(const Projection *q, Plot *p)
{
        p->rows = q->rows;
        p->columns = 2;
        p->value = malloc((size_t)(2 * q->rows) * sizeof *p->value);
        if (!p->value)
                return repl_error("%s", no_memory);
        for (int a = 0; a < 2; a++) {
                double furthest = 0;
                for (int64_t i = 0; i < q->rows; i++) {
                        double sum = 0;
                        for (int64_t j = 0; j < q->columns; j++)
                                sum += q->value[i * q->columns + j] * q->axis[a * q->columns + j];
                        p->value[2 * i + a] = sum;
                        furthest = fabs(sum) > fabs(furthest) ? sum : furthest;
                }
                for (int64_t i = 0; furthest < 0 && i < q->rows; i++)
                        p->value[2 * i + a] = -p->value[2 * i + a];
        }
        return true;
}

static bool project(ReplSession *s, const KeptValue *k, const Drawing *d, Projection *q, Points *p)
{
        char across[64], up[64];
        if (!take_matrix(q, k))
                return false;
        if (!principal_axes(q->value, q->rows, q->columns, 2, q->axis, q->share))
                return repl_error("%s", no_memory);
        if (!(q->share[0] > 0))
                return repl_error("all rows are the same");
        if (!place_points(q, &p->plot) || !point_labels(s, p))
                return false;
        printf("%" PRId64 " rows of %" PRId64
               " values; the two axes have %.1f %% and %.1f %% of the variance\n",
               q->rows, q->columns, 100 * q->share[0], 100 * q->share[1]);
        snprintf(across, sizeof across, "axis 1: %.1f %% of the variance", 100 * q->share[0]);
        snprintf(up, sizeof up, "axis 2: %.1f %%", 100 * q->share[1]);
        p->across = across;
        p->up = up;
        return d->path ? points_paint(p, d->path) : points_print(p) || repl_error("%s", no_memory);
}

/* EXPR [-o FILE.png] */
bool show_projection(ReplSession *s, const Words *w)
{
        Drawing d;
        if (!drawing_read(&d, w, w->rest))
                return false;
        Projection q = {0};
        Points p = {.plot = {.kind = PLOT_POINTS, .title = d.text}};
        KeptValue *k = d.bins ? NULL : evaluate_text(s, d.text);
        const bool good = d.bins ? repl_error("--bins is for :hist") : k && project(s, k, &d, &q, &p);
        kept_drop(k);
        free(q.value);
        free(q.axis);
        free(p.plot.value);
        free(p.label);
        free(d.text);
        return good;
}
