/* Writes an SVG picture to a file: as it is, or converted to PDF or PNG by rsvg-convert of librsvg, if that is installed. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 1000 };

static const char *drawing_format(const char *path)
{
        static const char *const format[] = {"svg", "pdf", "png"};
        const char *end = strrchr(path, '.');
        for (int i = 0; end && end > path && i < 3; i++)
                if (!strcmp(end + 1, format[i]))
                        return format[i];
        return NULL;
}

bool is_drawing_name(const char *path)
{
        return drawing_format(path);
}

/* Converts picture.svg in the folder to picture.out; false after a message. */
static bool drawing_convert(Arena *a, const char *folder, const char *format, const char *path)
{
        char message[MESSAGE_BYTES];
        char *argument[] = {"rsvg-convert",
                            "-f",
                            arena_strdup(a, format),
                            "-o",
                            arena_printf(a, "%s/picture.out", folder),
                            arena_printf(a, "%s/picture.svg", folder),
                            NULL};
        const int error =
                tool_run(argument, folder, arena_printf(a, "%s/log", folder), message, sizeof message);
        if (error)
                fprintf(stderr,
                        "lathe: %s: .%s files require rsvg-convert, which can't be started: %s; install "
                        "Debian's "
                        "librsvg2-bin, or write an .svg\n",
                        path, format, strerror(error));
        else if (*message)
                fprintf(stderr, "lathe: %s: rsvg-convert failed: %s\n", path, message);
        return !error && !*message;
}

bool drawing_write(const char *path, const char *svg, int64_t n)
{
        static const char *const inside[] = {"picture.svg", "picture.out", "log", NULL};
        const char *format = drawing_format(path), *parent = getenv("TMPDIR");
        if (!format || !strcmp(format, "svg"))
                return write_file(path, svg, n);
        Arena a = {0};
        char *folder =
                arena_strdup(&a, arena_printf(&a, "%s/lathe-XXXXXX", parent && *parent ? parent : "/tmp"));
        bool good = mkdtemp(folder);
        if (good) {
                const int entry = ending_folder(folder, inside);
                good = write_file(arena_printf(&a, "%s/picture.svg", folder), svg, n) &&
                       drawing_convert(&a, folder, format, path);
                if (good) {
                        WrittenFile written;
                        output_copy(&written, path, arena_printf(&a, "%s/picture.out", folder));
                        good = output_finish(&written, 1);
                }
                remove_folder(folder, inside);
                ending_forget(entry);
        } else {
                fprintf(stderr, "lathe: %s: %s; TMPDIR names another folder\n", folder, strerror(errno));
        }
        arena_free(&a);
        return good;
}
