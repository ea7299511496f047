/* The packed file, read: mapped for the plan that it was written for. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "packed_file_private.h"

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

bool packed_file_storage(const char *path, const Graph *g)
{
        unsigned char storage[STORAGES_IN_FILE];
        size_t n = (size_t)(g->nweight < STORAGES_IN_FILE ? g->nweight : STORAGES_IN_FILE);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        bool good = file >= 0 && read_at(file, storage, n, PACKED_STORAGES);
        if (file >= 0)
                close(file);
        for (size_t i = 0; i < n && good; i++)
                good = storage[i] < WEIGHT_STORAGES;
        find_contracted(g);
        for (size_t i = 0; i < n && good; i++)
                good = weight_may_be(g->weight[i], (Storage)storage[i]);
        for (int i = 0; i < g->nweight && good; i++)
                g->weight[i]->storage = i < STORAGES_IN_FILE ? (Storage)storage[i] : STORAGE_F32;
        return good;
}

uint8_t *packed_file_mixture(Arena *arena, const char *path, int64_t slots)
{
        uint32_t run[RUNS_IN_FILE];
        int64_t n = 0;
        int file = open(path, O_RDONLY | O_CLOEXEC);
        bool good = file >= 0 && read_at(file, run, sizeof run, PACKED_MIXTURE);
        if (file >= 0)
                close(file);
        uint8_t *mixture = NEW_ARRAY(arena, uint8_t, slots);
        for (int i = 0; i < RUNS_IN_FILE && good; i++) {
                int64_t count = run[i] & 0xffffff;
                good = count <= slots - n && run[i] >> 24 < WEIGHT_STORAGES;
                if (good && count)
                        memset(mixture + n, (int)(run[i] >> 24), (size_t)count);
                n += count;
        }
        return good && n == slots ? mixture : NULL;
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
        bool ours = read && about.st_size > PACKED_HEAD && !memcmp(head, "lathe 1\n", 8) &&
                    head[1] == layout_hash(p) && head[2] == (uint64_t)FLOATS(p->weights_size) &&
                    (!key || head[5] == key) && head[3] < (uint64_t)about.st_size &&
                    (uint64_t)about.st_size == PACKED_HEAD + (uint64_t)p->weights_size + head[3];
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
        *file = (PackedFile){.weights = (const float *)(const void *)((const char *)at + PACKED_HEAD),
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
