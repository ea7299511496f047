/* Reads a whole file of a picture or sound. */
#include <errno.h>
#include <stdlib.h>

#include "media_private.h"

enum { MAX_BYTES = 1 << 30, FIRST_READ = 1 << 16 };

static const char *read_whole(Arena *a, FILE *file, MediaBytes *out)
{
        for (int64_t cap = 0;;) {
                if (out->n == cap) {
                        cap = cap ? 2 * cap : FIRST_READ;
                        if (cap > MAX_BYTES)
                                return arena_printf(a, "%s: it is larger than 1 GB", out->path);
                        uint8_t *more = realloc(out->at, (size_t)cap);
                        if (!more)
                                return no_memory;
                        out->at = more;
                }
                size_t got = fread(out->at + out->n, 1, (size_t)(cap - out->n), file);
                out->n += (int64_t)got;
                if (!got)
                        return ferror(file) ? arena_printf(a, "%s: %s", out->path, strerror(errno)) : NULL;
        }
}

const char *media_read(Arena *a, const char *path, MediaBytes *out, bool *env_error)
{
        bool is_stdin = !strcmp(path, "-");
        const char *not_opened = NULL;
        FILE *file = is_stdin ? stdin : input_open(path, &not_opened);
        *out = (MediaBytes){.path = is_stdin ? "standard input" : path};
        *env_error = !file;
        if (!file)
                return arena_printf(a, "%s: %s", out->path, not_opened);
        const char *why = read_whole(a, file, out);
        *env_error = ferror(file);
        if (!is_stdin)
                fclose(file);
        input_read(path);
        return why;
}

void media_free(MediaBytes *bytes)
{
        free(bytes->at);
        *bytes = (MediaBytes){0};
}
