/* The arguments of commands that draw: EXPR [--bins N] [[-o] FILE.png]. */
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

/* Length without trailing blanks. */
static size_t line_trimmed(const char *line, size_t n)
{
        while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
                n--;
        return n;
}

/* Start of the last word of a line, including its quote. */
static size_t last_word(const char *line, size_t n)
{
        if (n && line[n - 1] == '"') {
                for (n--; n && line[n - 1] != '"'; n--)
                        ;
                return n ? n - 1 : 0;
        }
        while (n && line[n - 1] != ' ' && line[n - 1] != '\t')
                n--;
        return n;
}

/* Words are read from the end of the line. */
typedef struct {
        const Words *w;
        int words; /* remaining words */
        const char *line;
        size_t n; /* remaining bytes */
} DrawingRest;

static const char *word_before(const DrawingRest *r, int k)
{
        return r->words > k ? r->w->word[r->words - 1 - k] : "";
}

static void drop_words(DrawingRest *r, int k)
{
        for (; k; k--, r->words--)
                r->n = line_trimmed(r->line, last_word(r->line, r->n));
}

static bool drawing_refuse(const char *what, const char *word)
{
        return repl_error("%s, not %s", what, word);
}

static bool read_bins(const char *text, int64_t *bins)
{
        char *end;
        *bins = strtoll(text, &end, 10);
        return (!*end && end != text && *bins >= 1 && *bins <= MAX_BINS) ||
               drawing_refuse("--bins must be a number from 1 to 1000", *text ? text : "nothing");
}

/* Reads an option from the end of the line; false: none, or, with *good false, an invalid one. */
static bool take_option(DrawingRest *r, Drawing *d, bool *good)
{
        const char *last = word_before(r, 0), *before = word_before(r, 1);
        if (!strcmp(last, "-o") || (!strcmp(before, "-o") && !is_drawing_name(last)))
                return *good = drawing_refuse("-o must name a file that ends in .png, .svg or .pdf",
                                              strcmp(last, "-o") ? last : "nothing");
        if (!d->path && is_drawing_name(last)) {
                d->path = last;
                drop_words(r, !strcmp(before, "-o") ? 2 : 1);
                return true;
        }
        if (!strcmp(last, "--bins"))
                return *good = read_bins("", &d->bins);
        if (!d->bins && !strcmp(before, "--bins")) {
                *good = read_bins(last, &d->bins);
                drop_words(r, 2);
                return *good;
        }
        return false;
}

bool drawing_read(Drawing *d, const Words *w, const char *from)
{
        DrawingRest r = {w, w->n, from, line_trimmed(from, strlen(from))};
        bool good = true;
        *d = (Drawing){0};
        while (take_option(&r, d, &good))
                ;
        if (!good)
                return false;
        if (!r.n)
                return repl_error("an expression is missing: :%s EXPR -o FILE.png", w->word[0]);
        d->text = strndup(from, r.n);
        return d->text || repl_error("%s", no_memory);
}
