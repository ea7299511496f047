/* Paths relative to the folder of another file; names in a folder. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base.h"

const char *folder_of(Arena *a, const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? arena_strndup(a, path, slash + 1 - path) : "";
}

bool path_is_folder(const char *path)
{
        struct stat about;
        return !stat(path, &about) && S_ISDIR(about.st_mode);
}

/* NULL: does not exist. */
static const char *path_absolute(Arena *a, const char *path)
{
        char *real = realpath(path, NULL);
        const char *copy = real ? arena_strdup(a, real) : NULL;
        free(real);
        return copy;
}

const char *path_from(Arena *a, const char *file, const char *path)
{
        const char *folder = folder_of(a, file), *from = path_absolute(a, *folder ? folder : "."),
                   *to = path_absolute(a, path);
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
        return t->n ? t->data : "."; /* the folder of weights may be the current one */
}

const char *name_in_folder(Arena *a, const char *folder, const char *begin, const char *end)
{
        DIR *all = opendir(*folder ? folder : ".");
        const char *first = NULL;
        for (const struct dirent *d; all && (d = readdir(all));) {
                size_t n = strlen(d->d_name), front = strlen(begin), back = strlen(end);
                if (n >= front + back && !strncmp(d->d_name, begin, front) &&
                    !strcmp(d->d_name + n - back, end) && (!first || strcmp(d->d_name, first) < 0))
                        first = arena_strdup(a, d->d_name);
        }
        if (all)
                closedir(all);
        return first;
}
