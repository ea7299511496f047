/* The packed file: a page with a head, then the weights in the order in which the kernels read them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "weights.h"

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
        if (!output_begin(o, path))
                return false;
        int64_t n = FLOATS(p->weights_size), size = PAGE + n * (int64_t)sizeof(float);
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

bool write_weights(const char *path, Plan *p, const WeightSource *from)
{
        WrittenFile o;
        output_weights(&o, path, p, from);
        return output_finish(&o, 1);
}
