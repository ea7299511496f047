/* Words of a command line that name files, with lists of them: @FILE is replaced by the lines of FILE. */
#include <stdio.h>
#include <string.h>

#include "commands_private.h"

static void list_add(Arena *a, WordList *list, const char *text, const char *where)
{
        if ((list->n & (list->n - 1)) == 0) /* the room is a power of two */
                list->at = arena_grow(a, list->at, list->n * (int64_t)sizeof *list->at,
                                      (list->n ? 2 * list->n : 1) * (int64_t)sizeof *list->at);
        list->at[list->n++] = (ListedWord){text, where};
}

static int list_error(const char *path, const char *why)
{
        fprintf(stderr, "lathe run: @%s: %s\n", path, why);
        return WRONG_INPUT;
}

/* A line [n], numbered from 1: without white space of Windows' line end; blank lines are no paths. */
static int list_line(Arena *a, WordList *list, const char *path, const char *line, int64_t n, int64_t number)
{
        const char *name = strcmp(path, "-") != 0 ? path : "standard input";
        n -= n > 0 && line[n - 1] == '\r';
        if (memchr(line, 0, (size_t)n))
                return list_error(path,
                                  arena_printf(a, "line %lld has a byte 0; a list has a path on each line",
                                               (long long)number));
        const char *text = arena_printf(a, "%.*s", (int)n, line);
        if (!strcmp(text, "-"))
                return list_error(path, arena_printf(a,
                                                     "line %lld is -, standard input, which a list can't "
                                                     "contain; ./- is a file of that name",
                                                     (long long)number));
        if (text[strspn(text, " \t")])
                list_add(a, list, text, arena_printf(a, "%s, line %lld", name, (long long)number));
        return DONE;
}

static int list_file(Arena *a, WordList *list, const char *path)
{
        const char *why = NULL;
        const Source *s = read_source(a, path, &why);
        const int64_t before = list->n;
        int code = DONE;
        if (!s)
                return list_error(path, why), WRONG_ENVIRONMENT;
        for (int64_t at = 0, number = 1; at < s->length && code == DONE; number++) {
                const char *line = s->text + at, *end = memchr(line, '\n', (size_t)(s->length - at));
                const int64_t n = end ? end - line : s->length - at;
                code = list_line(a, list, path, line, n, number);
                at += n + 1;
        }
        return code == DONE && list->n == before ? list_error(path, "it has no paths, one on each line")
                                                 : code;
}

bool is_list_word(const char *word)
{
        return !strcmp(word, "-") || *word == '@';
}

int words_listed(Arena *a, const char *const *word, int n, WordList *list)
{
        int code = DONE;
        *list = (WordList){0};
        for (int i = 0; i < n && code == DONE; i++)
                if (word[i][0] == '@')
                        code = list_file(a, list, word[i] + 1);
                else
                        list_add(a, list, word[i], NULL);
        return code;
}
