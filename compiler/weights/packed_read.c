/* Reads a packed file: maps it for the plan for which it was written. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "packed_file_private.h"
#include "../../runtime/rank_file.h"

/* Reads n bytes at an offset, in several calls if necessary; false with errno, 0 if the file ends before. */
bool packed_read_at(int file, void *to, size_t n, off_t at)
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

/* Rejects pipes and devices, which have no readable head; -1 with errno.  O_NONBLOCK: don't wait for a
 * writer. */
static int packed_open(const char *path)
{
        struct stat about;
        int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file < 0)
                return -1;
        int error = fstat(file, &about)                                ? errno
                    : S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) ? 0
                                                                       : EINVAL;
        if (!error)
                return file;
        close(file);
        errno = error;
        return -1;
}

static const char *packed_open_error(void)
{
        return errno == EINVAL || errno == ENXIO ? "it is not a regular file" : strerror(errno);
}

static bool is_share(const void *head)
{
        return !memcmp(head, RANK_FILE_MARK, 8);
}

static bool has_mark(const void *head)
{
        return !memcmp(head, "lathe 1\n", 8) || is_share(head);
}

bool is_packed_file(const char *path, const char **why)
{
        char head[8];
        if (checkpoint_pair_comma(path))
                return *why = NULL, false;
        int file = packed_open(path);
        bool good = file >= 0 && packed_read_at(file, head, sizeof head, 0);
        *why = good || (file >= 0 && (errno == 0 || errno == EISDIR)) ? NULL : packed_open_error();
        if (file >= 0)
                close(file);
        return good && has_mark(head);
}

bool packed_file_storage(const char *path, const Graph *g)
{
        unsigned char storage[STORAGES_IN_FILE];
        size_t n = (size_t)(g->nweight < STORAGES_IN_FILE ? g->nweight : STORAGES_IN_FILE);
        int file = packed_open(path);
        bool good = file >= 0 && packed_read_at(file, storage, n, PACKED_STORAGES);
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
        int file = packed_open(path);
        bool good = file >= 0 && packed_read_at(file, run, sizeof run, PACKED_MIXTURE);
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

/* false with errno: it can't be mapped. */
static bool packed_map(int f, size_t size, const char *path, PackedFile *file)
{
        void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, f, 0);
        if (at != MAP_FAILED)
                *file = (PackedFile){.mapped = at, .size = size, .entry = ending_mapping(at, size, path)};
        return at != MAP_FAILED;
}

void packed_file_begin(const char *path, PackedFile *file)
{
        struct stat about;
        char head[8];
        int f = packed_open(path);
        *file = (PackedFile){0};
        if (f < 0)
                return;
        if (!fstat(f, &about) && about.st_size > PACKED_HEAD && packed_read_at(f, head, sizeof head, 0) &&
            has_mark(head))
                packed_map(f, (size_t)about.st_size, path, file);
        close(f);
}

enum { HEAD_WORDS = RANK_FILE_WORDS }; /* [3]: bytes of the tail */

static bool is_of_plan(const uint64_t *head, uint64_t size, const Plan *p, uint64_t key)
{
        return size > PACKED_HEAD && has_mark(head) && !is_share(head) && head[1] == layout_hash(p) &&
               head[2] == (uint64_t)FLOATS(p->bytes.weights) && (!key || head[5] == key) && head[3] < size &&
               size == PACKED_HEAD + (uint64_t)p->bytes.weights + head[3];
}

static const char *not_of_plan(Arena *a, const char *path, const uint64_t *head)
{
        if (is_share(head))
                return arena_printf(a,
                                    "%s has only the parts that rank %u of %u reads: use it with that rank's "
                                    "program of `lathe build --ranked`",
                                    path, (unsigned)(head[RANK_FILE_PLACE] & UINT32_MAX),
                                    (unsigned)(head[RANK_FILE_PLACE] >> 32));
        return arena_printf(
                a,
                "%s was not packed for this model and target; `lathe build` with the same options packs one",
                path);
}

/* For a file whose check has not begun.  *file: whether it is missing, or mapped. */
static const char *map_for_plan(const char *path, const Plan *p, uint64_t key, PackedFile *file)
{
        Arena *a = p->graph->arena;
        struct stat about;
        uint64_t head[HEAD_WORDS];
        *file = (PackedFile){.env_error = true};
        int f = packed_open(path);
        if (f < 0)
                return arena_printf(a, "%s: %s", path, packed_open_error());
        bool read = !fstat(f, &about) && (packed_read_at(f, head, sizeof head, 0) || errno == 0);
        bool ours = read && is_of_plan(head, (uint64_t)about.st_size, p, key);
        bool mapped = ours && packed_map(f, (size_t)about.st_size, path, file);
        int error = errno;
        close(f);
        if (!read)
                return arena_printf(a, "%s can't be read: %s", path, strerror(error));
        file->env_error = ours;
        return mapped ? NULL
               : ours ? arena_printf(a, "%s can't be mapped: %s", path, strerror(error))
                      : not_of_plan(a, path, head);
}

const char *packed_file_open(const char *path, const Plan *p, uint64_t key, PackedFile *file)
{
        const char *error = NULL;
        if (!file->mapped)
                error = map_for_plan(path, p, key, file);
        else if (!is_of_plan(file->mapped, file->size, p, key))
                error = not_of_plan(p->graph->arena, path, file->mapped);
        if (error)
                return error;
        file->env_error = false;
        file->weights = (const float *)(const void *)((const char *)file->mapped + PACKED_HEAD);
        return NULL;
}

void packed_file_close(PackedFile *file)
{
        packed_check_stop(file);
        if (file->mapped) {
                ending_forget(file->entry);
                munmap(file->mapped, file->size);
        }
        *file = (PackedFile){0};
}
