/* Paths that a file names: as seen from its own folder. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <stdlib.h>
#include <string.h>

#include "base.h"

const char *folder_of(Arena *a, const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? arena_strndup(a, path, slash + 1 - path) : "";
}

/* NULL: there is nothing. */
static const char *absolute(Arena *a, const char *path)
{
        char *real = realpath(path, NULL);
        const char *copy = real ? arena_strdup(a, real) : NULL;
        free(real);
        return copy;
}

const char *path_from(Arena *a, const char *file, const char *path)
{
        const char *folder = folder_of(a, file), *from = absolute(a, *folder ? folder : "."),
                   *to = absolute(a, path);
        if (!from || !to)
                return path;
        int64_t common = 0;
        for (int64_t i = 0;; i++) {
                bool from_ends = !from[i] || from[i] == '/', to_ends = !to[i] || to[i] == '/';
                if (from_ends && to_ends)
                        common = i;
                if (!from[i] || !to[i] || from[i] != to[i])
                        break;
        }
        Text *t = text_new(a);
        for (const char *up = from + common; *up; up++)
                if (*up == '/')
                        text_printf(t, "../");
        text_printf(t, "%s", to + common + (to[common] == '/'));
        return t->n ? t->data : "."; /* a folder of weights may be this one */
}
