/* Tidy: an emitted file as one hand would have written it.  Texts from several places meet in it: of #include lines only the first is kept,
 * of empty lines one at a time, and none between definitions of one line. */
#include "emit_private.h"

enum { MAX_INCLUDES = 64 };

typedef struct {
        const char *at;
        int64_t n; /* with the end of line */
} TidyLine;

typedef struct {
        Text *out;
        TidyLine include[MAX_INCLUDES]; /* those outside of conditions */
        int includes, conditions;
        TidyLine before, empty; /* the last line that is not empty; n 0: none stands between */
} Tidy;

static bool line_begins(TidyLine l, const char *word)
{
        return l.n >= (int64_t)strlen(word) && !strncmp(l.at, word, strlen(word));
}

static bool is_included(const Tidy *t, TidyLine l)
{
        for (int i = 0; i < t->includes; i++)
                if (t->include[i].n == l.n && !memcmp(t->include[i].at, l.at, (size_t)l.n))
                        return true;
        return false;
}

/* "#define NAME .." on a line of its own. */
static bool defines_in_line(TidyLine l)
{
        return line_begins(l, "#define ") && l.n > 1 && l.at[l.n - 2] != '\\';
}

static void tidy_line(Tidy *t, TidyLine l)
{
        if (l.n == 1) {
                t->empty = l;
                return;
        }
        if (line_begins(l, "#include ")) {
                if (is_included(t, l))
                        return;
                if (t->conditions == 0 && t->includes < MAX_INCLUDES)
                        t->include[t->includes++] = l;
        }
        t->conditions += line_begins(l, "#if");
        t->conditions -= line_begins(l, "#endif");
        if (t->empty.n && !(defines_in_line(t->before) && defines_in_line(l)))
                text_add(t->out, "\n", 1);
        text_add(t->out, l.at, l.n);
        t->before = l;
        t->empty.n = 0;
}

void tidy_text(Text *out, const Text *c)
{
        Tidy t = {.out = out};
        for (const char *at = c->data, *end = at + c->n; at < end;) {
                const char *next = memchr(at, '\n', (size_t)(end - at));
                next = next ? next + 1 : end;
                tidy_line(&t, (TidyLine){at, next - at});
                at = next;
        }
}
