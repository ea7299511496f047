/* The packed file: a page with a head, then the weights in the order in which the kernels read them, then
 * other data that the program maps.
 *
 * The head: eight letters; a hash of the layout, the number of floats, the bytes of the trailing data, its
 * hash, and the key (0: none); at byte 128 the hashes of the file's blocks (packed_check.c); at byte 512 the
 * storage of each weight, as numbers of storage.def; after them, for a mixture, runs of slots in the order of
 * the weights as elaborated, four bytes each: the length, and the storage in the last byte. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "packed_file_private.h"

static int64_t file_size(int64_t n, const WeightTail *tail)
{
        return PACKED_HEAD + n * (int64_t)sizeof(float) + tail->size;
}

/* More runs than there is room for are not written: mixture_fits(). */
static void write_mixture(const Graph *g, unsigned char *page)
{
        uint32_t run[RUNS_IN_FILE] = {0};
        int n = 0;
        for (int64_t i = 0, end; i < g->nmixture && n < RUNS_IN_FILE; i = end) {
                for (end = i; end < g->nmixture && g->mixture[end] == g->mixture[i]; end++)
                        ;
                run[n++] = (uint32_t)(end - i) | (uint32_t)g->mixture[i] << 24;
        }
        memcpy(page + PACKED_MIXTURE, run, sizeof run);
}

static bool mixture_fits(const Graph *g)
{
        int64_t runs = g->nmixture > 0;
        for (int64_t i = 1; i < g->nmixture; i++)
                runs += g->mixture[i] != g->mixture[i - 1];
        return runs <= RUNS_IN_FILE && g->nmixture < 1 << 24;
}

/* Maps a page with the file's header, n floats and the tail; NULL with errno. */
static float *map_aside(FILE *f, const Plan *p, int64_t n, const WeightTail *tail, uint64_t key)
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
        uint64_t head[5] = {layout_hash(p), (uint64_t)n, (uint64_t)tail->size, tail->hash, key};
        memcpy(page, "lathe 1\n", 8);
        memcpy(page + 8, head, sizeof head);
        for (int i = 0; i < p->graph->nweight && i < STORAGES_IN_FILE; i++)
                page[PACKED_STORAGES + i] = (unsigned char)p->graph->weight[i]->storage;
        write_mixture(p->graph, page);
        if (tail->size)
                memcpy(page + size - tail->size, tail->bytes, (size_t)tail->size);
        return (float *)(void *)(page + PACKED_HEAD);
}

/* Synchronised to disk before it is renamed: a lost page would be read as zeros without an error. */
bool output_weights(WrittenFile *o, const char *path, Plan *p, Weights *from, const WeightTail *tail,
                    uint64_t key)
{
        if (!output_begin(o, path))
                return false;
        int64_t n = FLOATS(p->bytes.weights), size = file_size(n, tail);
        if (!mixture_fits(p->graph)) {
                o->error = "a packed file can store the types of 256 runs of slots; use a --quant with fewer "
                           "changes from layer to layer";
                return false;
        }
        float *all = map_aside(o->file, p, n, tail, key);
        if (!all) {
                o->error = strerror(errno);
                return false;
        }
        char *mapped = (char *)(void *)all - PACKED_HEAD;
        int entry = ending_mapping(mapped, (size_t)size, o->aside);
        o->error = pack_buffers(p, from, NULL, all, IN_FILE);
        ending_forget(entry);
        munmap(mapped, (size_t)size);
        uint64_t hash[PACKED_BLOCKS];
        if (!o->error && (!packed_hash_blocks(fileno(o->file), size, hash) ||
                          pwrite(fileno(o->file), hash, sizeof hash, PACKED_HASHES) != (ssize_t)sizeof hash))
                o->error = strerror(errno ? errno : EIO);
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
