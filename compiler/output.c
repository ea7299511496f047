/* Files are written aside and renamed when complete: an error leaves what was there, and nothing half-written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

static FILE *open_aside(const char *path, char **aside)
{
        size_t n = strlen(path) + 16;
        *aside = malloc(n);
        if (!*aside)
                return NULL;
        snprintf(*aside, n, "%s.%d.new", path, (int)getpid());
        return fopen(*aside, "wb");
}

static bool finish(const char *path, char *aside, FILE *f, bool good)
{
        int error = 0;
        if (f && (!good || fflush(f)))
                error = errno;
        if (f && fclose(f) && !error)
                error = errno;
        if (f && !error && rename(aside, path))
                error = errno;
        if (!f)
                error = errno;
        if (error) {
                fprintf(stderr, "lathe: %s: %s; nothing was written\n", path, strerror(error));
                if (f)
                        remove(aside);
        }
        free(aside);
        return !error;
}

bool write_file(const char *path, const char *bytes, int64_t n)
{
        if (!strcmp(path, "-"))
                return fwrite(bytes, 1, (size_t)n, stdout) == (size_t)n;
        char *aside;
        FILE *f = open_aside(path, &aside);
        return finish(path, aside, f, f && fwrite(bytes, 1, (size_t)n, f) == (size_t)n);
}

bool write_weights(const char *path, uint64_t layout, const float *weights, int64_t n)
{
        char *aside;
        FILE *f = open_aside(path, &aside);
        unsigned char head[4096] = "lathe 1\n";
        uint64_t count = (uint64_t)n;
        memcpy(head + 8, &layout, sizeof layout);
        memcpy(head + 16, &count, sizeof count);
        bool good = f && fwrite(head, sizeof head, 1, f) == 1 && fwrite(weights, sizeof *weights, (size_t)n, f) == (size_t)n;
        return finish(path, aside, f, good);
}
