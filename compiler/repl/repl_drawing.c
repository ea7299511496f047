/* The words of commands that draw: EXPR [--bins N] [[-o] FILE.png]. */
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

/* Without blanks behind it. */
static size_t trimmed(const char *line, size_t n)
{
        while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
                n--;
        return n;
}

/* Where the last word of a line begins, with its quote. */
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

/* The words that are read, from the end of the line on. */
typedef struct {
        const Words *w;
        int words; /* that are left */
        const char *line;
        size_t n; /* bytes that are left */
} Rest;

static const char *word_before(const Rest *r, int k)
{
        return r->words > k ? r->w->word[r->words - 1 - k] : "";
}

static void drop_words(Rest *r, int k)
{
        for (; k; k--, r->words--)
                r->n = trimmed(r->line, last_word(r->line, r->n));
}

static bool refuse(const char *what, const char *word)
{
        fprintf(stderr, "lathe: error: %s, not %s\n", what, word);
        return false;
}

static bool read_bins(const char *text, int64_t *bins)
{
        char *end;
        *bins = strtoll(text, &end, 10);
        return (!*end && end != text && *bins >= 1 && *bins <= MOST_BINS) ||
               refuse("--bins wants a number from 1 to 1000", *text ? text : "nothing");
}

/* One option from the end of the line; false: there is none, or, with *good false, it is wrong. */
static bool take_option(Rest *r, Drawing *d, bool *good)
{
        const char *last = word_before(r, 0), *before = word_before(r, 1);
        if (!strcmp(last, "-o") || (!strcmp(before, "-o") && !is_picture_name(last)))
                return *good = refuse("-o wants a file whose name ends in .png",
                                      strcmp(last, "-o") ? last : "nothing");
        if (!d->path && is_picture_name(last)) {
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
        Rest r = {w, w->n, from, trimmed(from, strlen(from))};
        bool good = true;
        *d = (Drawing){0};
        while (take_option(&r, d, &good))
                ;
        if (!good)
                return false;
        if (!r.n)
                return fprintf(stderr, "lathe: error: what is to be drawn? :%s EXPR -o FILE.png\n",
                               w->word[0]),
                       false;
        d->text = strndup(from, r.n);
        return d->text || (fprintf(stderr, "lathe: error: %s\n", no_memory), false);
}
