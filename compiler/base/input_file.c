/* Input files.  A pipe, a socket or a device may block or never end, so only regular files are opened. */
#define _XOPEN_SOURCE 700 /* S_ISSOCK */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *input_kind(mode_t mode)
{
        return S_ISDIR(mode)                    ? "it is a directory, not a file"
               : S_ISFIFO(mode)                 ? "it is a pipe (FIFO), not a regular file"
               : S_ISSOCK(mode)                 ? "it is a socket, not a regular file"
               : S_ISCHR(mode) || S_ISBLK(mode) ? "it is a device, not a regular file; - is standard input"
                                                : "it is not a regular file";
}

FILE *input_open(const char *path, const char **why)
{
        struct stat about;
        FILE *file = NULL;
        *why = NULL;
        if (!stat(path, &about) && !S_ISREG(about.st_mode)) {
                *why = input_kind(about.st_mode);
                errno = EINVAL;
                return NULL;
        }
        int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor >= 0 && !fstat(descriptor, &about) && !S_ISREG(about.st_mode)) {
                *why = input_kind(about.st_mode);
                errno = EINVAL;
        } else if (descriptor >= 0) {
                file = fdopen(descriptor, "rb");
        }
        if (file)
                return file;
        int error = errno;
        if (descriptor >= 0)
                close(descriptor);
        errno = error;
        if (!*why)
                *why = strerror(error);
        return NULL;
}

int64_t text_mark(const char *text, int64_t n)
{
        static const char mark[] = "\xef\xbb\xbf";
        enum { MARK_BYTES = 3 };
        return n >= MARK_BYTES && !memcmp(text, mark, MARK_BYTES) ? MARK_BYTES : 0;
}
