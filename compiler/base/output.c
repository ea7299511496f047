/* Files are written to temporary names and renamed when complete: after an error the old file is
 * unchanged. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* false with o->error: a broken link */
static bool follow_link(WrittenFile *o)
{
        struct stat status;
        if (lstat(o->path, &status) || !S_ISLNK(status.st_mode))
                return true;
        o->linked = realpath(o->path, NULL);
        if (!o->linked)
                o->error =
                        errno == ENOMEM ? no_memory : "it is a symbolic link to a file that does not exist";
        return o->linked != NULL;
}

/* The temporary file has a name of ours; a killed process may have left it. */
bool output_begin(WrittenFile *o, const char *path)
{
        struct stat status;
        *o = (WrittenFile){.path = path, .entry = -1};
        if (!stat(path, &status) && !S_ISREG(status.st_mode)) {
                o->error = "it exists and is not a regular file";
                return false;
        }
        if (is_input_read(path)) {
                o->error = "it is an input of this command: choose another name for the output";
                return false;
        }
        if (!follow_link(o))
                return false;
        const char *place = o->linked ? o->linked : path;
        size_t n = strlen(place) + 32;
        o->aside = malloc(n);
        if (o->aside) {
                snprintf(o->aside, n, "%s.%d.new", place, (int)getpid());
                o->entry = ending_file(o->aside);
                unlink(o->aside);
                int file = open(o->aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                o->file = file < 0 ? NULL : fdopen(file, "w+b");
                if (file >= 0 && !o->file)
                        close(file);
        }
        if (!o->file)
                o->error = strerror(errno);
        return o->file;
}

bool output_bytes(WrittenFile *o, const char *path, const char *bytes, int64_t n)
{
        if (output_begin(o, path) && (fwrite(bytes, 1, (size_t)n, o->file) != (size_t)n || fflush(o->file)))
                o->error = strerror(errno);
        return !o->error;
}

bool output_copy(WrittenFile *to, const char *path, const char *from)
{
        char part[1 << 16];
        FILE *f = fopen(from, "rb");
        if (!output_begin(to, path) || !f) {
                to->error = to->error ? to->error : strerror(errno);
        } else {
                size_t n;
                while (!to->error && (n = fread(part, 1, sizeof part, f)) > 0)
                        if (fwrite(part, 1, n, to->file) != n)
                                to->error = strerror(errno);
                if (!to->error && (ferror(f) || fflush(to->file)))
                        to->error = strerror(errno);
        }
        if (f)
                fclose(f);
        return !to->error;
}

static void forget(WrittenFile *o)
{
        if (o->aside)
                unlink(o->aside);
        ending_forget(o->entry);
        free(o->aside);
        free(o->linked);
}

void output_drop(WrittenFile *o)
{
        if (o->file)
                fclose(o->file);
        forget(o);
}

bool output_finish(WrittenFile *o, int n)
{
        const WrittenFile *wrong = NULL;
        for (int i = 0; i < n; i++) {
                if (o[i].file && fclose(o[i].file) && !o[i].error)
                        o[i].error = strerror(errno);
                if (!wrong && o[i].error)
                        wrong = &o[i];
        }
        for (int i = 0; i < n && !wrong; i++)
                if (rename(o[i].aside, o[i].linked ? o[i].linked : o[i].path)) {
                        o[i].error = strerror(errno);
                        wrong = &o[i];
                }
        if (wrong)
                fprintf(stderr, "lathe: %s: %s; nothing was written\n", wrong->path, wrong->error);
        for (int i = 0; i < n; i++)
                forget(&o[i]);
        return !wrong;
}

bool write_file(const char *path, const char *bytes, int64_t n)
{
        if (!strcmp(path, "-"))
                return fwrite(bytes, 1, (size_t)n, stdout) == (size_t)n;
        WrittenFile o;
        output_bytes(&o, path, bytes, n);
        return output_finish(&o, 1);
}
