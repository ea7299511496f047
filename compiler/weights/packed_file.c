/* The packed file: a page with a head, then the weights in the order in which the kernels read them, then what else the program maps.
 *
 * The head: eight letters; a hash of the layout, how many floats, bytes of the tail, its hash, and the key (0: there is none). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weights.h"

enum { PAGE = 4096 };

static int64_t file_size(int64_t n, const WeightTail *tail)
{
        return PAGE + n * (int64_t)sizeof(float) + tail->size;
}

/* Room for n floats behind a page with the file's head, and the tail behind them, mapped; NULL with errno. */
static float *map_aside(FILE *f, uint64_t layout, int64_t n, const WeightTail *tail, uint64_t key)
{
        int64_t size = file_size(n, tail);
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
        uint64_t head[5] = {layout, (uint64_t)n, (uint64_t)tail->size, tail->hash, key};
        memcpy(page, "lathe 1\n", 8);
        memcpy(page + 8, head, sizeof head);
        if (tail->size)
                memcpy(page + size - tail->size, tail->bytes, (size_t)tail->size);
        return (float *)(void *)(page + PAGE);
}

/* On the disk before it takes its place: a page that was lost would be read as zeros, and nobody would know. */
bool output_weights(WrittenFile *o, const char *path, Plan *p, Weights *from, const WeightTail *tail,
                    uint64_t key)
{
        if (!output_begin(o, path))
                return false;
        int64_t n = FLOATS(p->weights_size), size = file_size(n, tail);
        float *all = map_aside(o->file, layout_hash(p), n, tail, key);
        if (!all) {
                o->error = strerror(errno);
                return false;
        }
        char *mapped = (char *)(void *)all - PAGE;
        int entry = ending_mapping(mapped, (size_t)size, o->aside);
        o->error = pack_buffers(p, from, NULL, all, IN_FILE);
        ending_forget(entry);
        munmap(mapped, (size_t)size);
        if (!o->error && fsync(fileno(o->file)))
                o->error = strerror(errno);
        return !o->error;
}

bool write_weights(const char *path, Plan *p, Weights *from)
{
        WrittenFile o;
        output_weights(&o, path, p, from, &(WeightTail){.size = 0}, 0);
        return output_finish(&o, 1);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* All of n bytes from the place, whatever is read at once; false with errno, 0 if the file ends before. */
static bool read_at(int file, void *to, size_t n, off_t at)
{
        for (size_t done = 0; done < n;) {
                ssize_t got = pread(file, (char *)to + done, n - done, at + (off_t)done);
                if (got == 0)
                        errno = 0;
                if (got == 0 || (got < 0 && errno != EINTR))
                        return false;
                done += got > 0 ? (size_t)got : 0;
        }
        return true;
}

bool is_packed_file(const char *path, const char **why)
{
        char head[8];
        int file = open(path, O_RDONLY | O_CLOEXEC);
        bool good = file >= 0 && read_at(file, head, sizeof head, 0);
        *why = good || (file >= 0 && (errno == 0 || errno == EISDIR)) ? NULL : strerror(errno);
        if (file >= 0)
                close(file);
        return good && !memcmp(head, "lathe 1\n", 8);
}

const char *packed_file_open(const char *path, const Plan *p, uint64_t key, PackedFile *file)
{
        Arena *a = p->graph->arena;
        struct stat about;
        uint64_t head[6]; /* head[3]: bytes of the tail */
        *file = (PackedFile){.lacking = true};
        int f = open(path, O_RDONLY | O_CLOEXEC);
        if (f < 0)
                return arena_printf(a, "%s: %s", path, strerror(errno));
        bool read = !fstat(f, &about) && (read_at(f, head, sizeof head, 0) || errno == 0);
        bool ours = read && about.st_size > PAGE && !memcmp(head, "lathe 1\n", 8) &&
                    head[1] == layout_hash(p) && head[2] == (uint64_t)FLOATS(p->weights_size) &&
                    (!key || head[5] == key) && head[3] < (uint64_t)about.st_size &&
                    (uint64_t)about.st_size == PAGE + (uint64_t)p->weights_size + head[3];
        void *at = ours ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, f, 0) : MAP_FAILED;
        int error = errno;
        close(f);
        if (!read)
                return arena_printf(a, "%s can't be read: %s", path, strerror(error));
        file->lacking = ours;
        if (!ours)
                return arena_printf(
                        a,
                        "%s was not packed for this model and target; `lathe build` with the same "
                        "options packs one",
                        path);
        if (at == MAP_FAILED)
                return arena_printf(a, "%s can't be mapped: %s", path, strerror(error));
        *file = (PackedFile){.weights = (const float *)(const void *)((const char *)at + PAGE),
                             .mapped = at,
                             .size = (size_t)about.st_size,
                             .entry = ending_mapping(at, (size_t)about.st_size, path)};
        return NULL;
}

void packed_file_close(PackedFile *file)
{
        if (file->mapped) {
                ending_forget(file->entry);
                munmap(file->mapped, file->size);
        }
        *file = (PackedFile){0};
}
