/* Tidy: gives an emitted file a uniform layout.  Its texts come from several places.  Repeated #include lines
 * are removed, as are repeated empty lines and those between definitions of one line.  A function of one
 * short statement, or of none, is printed on one line. */
#include "emit_private.h"

enum { MAX_INCLUDES = 64 };

typedef struct {
        const char *at;
        int64_t n; /* length, with the line break */
} TidyLine;

typedef struct {
        Text *out;
        TidyLine include[MAX_INCLUDES]; /* includes outside of conditions */
        int includes, conditions;
        TidyLine before, empty; /* the last line that is not empty; the empty one after it, n 0: none */
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

/* "#define NAME ..", or a function, on a line of its own. */
static bool defines_in_line(TidyLine l)
{
        const bool function = l.n > 4 && !strncmp(l.at + l.n - 4, "; }\n", 4),
                   empty = l.n > 4 && !strncmp(l.at + l.n - 4, " {}\n", 4);
        return function || empty || (line_begins(l, "#define ") && l.n > 1 && l.at[l.n - 2] != '\\');
}

static TidyLine line_at(const char *at, const char *end)
{
        const char *next = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        return (TidyLine){at, (next ? next + 1 : end) - at};
}

/* Prints a function of one statement or none as one line, and sets *end to its end. n is 0 if no such function begins at l or its line is too
 * long. */
static TidyLine short_function(Arena *a, TidyLine l, const char **end)
{
        enum { MOST = 132, INDENT = 8 };
        const TidyLine open = line_at(l.at + l.n, *end), does = line_at(open.at + open.n, *end),
                       close = line_at(does.at + does.n, *end);
        const bool function = l.n > 2 && l.at[l.n - 2] == ')' && l.at[0] != ' ' && l.at[0] != '#' &&
                              line_begins(open, "{\n"),
                   empty = function && line_begins(does, "}\n"),
                   one = function && !empty && line_begins(does, "        ") && does.at[INDENT] != ' ' &&
                         does.at[INDENT] != '#' && does.at[does.n - 2] == ';' && line_begins(close, "}\n");
        if (!empty && (!one || l.n - 1 + does.n - 1 - INDENT + 5 > MOST))
                return (TidyLine){NULL, 0};
        const char *line = empty ? arena_printf(a, "%.*s {}\n", (int)l.n - 1, l.at)
                                 : arena_printf(a, "%.*s { %.*s }\n", (int)l.n - 1, l.at,
                                                (int)does.n - 1 - INDENT, does.at + INDENT);
        *end = empty ? does.at + does.n : close.at + close.n;
        return (TidyLine){line, (int64_t)strlen(line)};
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
                const char *next = end;
                TidyLine line = line_at(at, end), function = short_function(out->arena, line, &next);
                tidy_line(&t, function.n ? function : line);
                at = function.n ? next : at + line.n;
        }
}
