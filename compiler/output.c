/* Files are written aside and renamed when complete: an error leaves what was there, and nothing half-written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "pack.h"

static FILE *open_aside(const char *path, char **aside)
{
        size_t n = strlen(path) + 16;
        *aside = malloc(n);
        if (!*aside)
                return NULL;
        snprintf(*aside, n, "%s.%d.new", path, (int)getpid());
        return fopen(*aside, "w+b");
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

enum { PAGE = 4096 };

/* Room for n floats behind a page with the file's head, mapped; NULL with errno. */
static float *map_aside(FILE *f, uint64_t layout, int64_t n)
{
        int64_t size = PAGE + n * (int64_t)sizeof(float);
        int error = posix_fallocate(fileno(f), 0, size);
        if (error) {
                errno = error;
                return NULL;
        }
        unsigned char *page = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
        if (page == MAP_FAILED)
                return NULL;
        uint64_t count = (uint64_t)n;
        memcpy(page, "lathe 1\n", 8);
        memcpy(page + 8, &layout, sizeof layout);
        memcpy(page + 16, &count, sizeof count);
        return (float *)(void *)(page + PAGE);
}

const char *write_weights(const char *path, uint64_t layout, Plan *p, const WeightSource *from)
{
        char *aside;
        FILE *f = open_aside(path, &aside);
        int64_t n = p->weights_size;
        float *all = f ? map_aside(f, layout, n) : NULL;
        const char *error = all ? pack_weights(p, from, all) : NULL;
        bool good = all && !error;
        int why = errno;
        if (all)
                munmap((char *)(void *)all - PAGE, (size_t)(PAGE + n * (int64_t)sizeof(float)));
        errno = error ? EIO : why;
        return finish(path, aside, f, good) ? NULL : error ? error : "";
}
