/* Files are written aside and renamed when complete: an error leaves what was there, and nothing half-written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"
#include "emit.h"
#include "ending.h"
#include "pack.h"

/* The file is our own by its name, which a process that was killed may have left. */
static bool begin(WrittenFile *o, const char *path)
{
        struct stat status;
        size_t n = strlen(path) + 32;
        *o = (WrittenFile){.path = path, .entry = -1};
        if (!stat(path, &status) && !S_ISREG(status.st_mode)) {
                o->error = "it exists and is not a regular file";
                return false;
        }
        o->aside = malloc(n);
        if (o->aside) {
                snprintf(o->aside, n, "%s.%d.new", path, (int)getpid());
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
        if (begin(o, path) && (fwrite(bytes, 1, (size_t)n, o->file) != (size_t)n || fflush(o->file)))
                o->error = strerror(errno);
        return !o->error;
}

enum { PAGE = 4096 };

/* Room for n floats behind a page with the file's head, mapped; NULL with errno. */
static float *map_aside(FILE *f, uint64_t layout, int64_t n)
{
        int64_t size = PAGE + n * (int64_t)sizeof(float);
        int error;
        do
                error = posix_fallocate(fileno(f), 0, size);
        while (error == EINTR);
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

/* On the disk before it takes its place: a page that was lost would be read as zeros, and nobody would know. */
bool output_weights(WrittenFile *o, const char *path, Plan *p, const WeightSource *from)
{
        if (!begin(o, path))
                return false;
        int64_t n = p->weights_size, size = PAGE + n * (int64_t)sizeof(float);
        float *all = map_aside(o->file, layout_hash(p), n);
        if (!all) {
                o->error = strerror(errno);
                return false;
        }
        char *mapped = (char *)(void *)all - PAGE;
        int entry = ending_mapping(mapped, (size_t)size, o->aside);
        o->error = pack_weights(p, from, all);
        ending_forget(entry);
        munmap(mapped, (size_t)size);
        if (!o->error && fsync(fileno(o->file)))
                o->error = strerror(errno);
        return !o->error;
}

static void drop(WrittenFile *o)
{
        if (o->aside)
                unlink(o->aside);
        ending_forget(o->entry);
        free(o->aside);
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
                if (rename(o[i].aside, o[i].path)) {
                        o[i].error = strerror(errno);
                        wrong = &o[i];
                }
        if (wrong)
                fprintf(stderr, "lathe: %s: %s; nothing was written\n", wrong->path, wrong->error);
        for (int i = 0; i < n; i++)
                drop(&o[i]);
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

bool write_weights(const char *path, Plan *p, const WeightSource *from)
{
        WrittenFile o;
        output_weights(&o, path, p, from);
        return output_finish(&o, 1);
}
