/* The head of a packed file has a hash of each of 48 blocks.  Threads check them when the file is opened,
 * while the caller continues with its plan or its compiler.  So a damaged file is never used.  The check
 * reads every page, so that they are mapped at the first call.
 *
 * The hash detects every change of one word, but does not protect against forgery: eight lanes, each h = (h ^
 * word) * odd. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packed_file_private.h"

enum {
        LANES_OF_HASH = 8,
        LINE = LANES_OF_HASH * 8,
        CHUNK = 1 << 16,
        BLOCK_UNIT = 1 << 16,
        MAX_CHECK_THREADS = 4
};

typedef struct {
        uint64_t lane[LANES_OF_HASH];
} BlockHash;

static void block_hash_begin(BlockHash *h)
{
        for (int i = 0; i < LANES_OF_HASH; i++)
                h->lane[i] = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i + 1);
}

/* n: a multiple of LINE, except for the last bytes of a file, which are padded with zeros. */
static void block_hash_add(BlockHash *h, const unsigned char *bytes, int64_t n)
{
        for (int64_t at = 0; at < n; at += LINE) {
                uint64_t word[LANES_OF_HASH] = {0};
                memcpy(word, bytes + at, n - at < LINE ? (size_t)(n - at) : LINE);
                for (int i = 0; i < LANES_OF_HASH; i++)
                        h->lane[i] = (h->lane[i] ^ word[i]) * UINT64_C(0xff51afd7ed558ccd);
        }
}

static uint64_t block_hash_end(const BlockHash *h)
{
        uint64_t all = 0;
        for (int i = 0; i < LANES_OF_HASH; i++)
                all = (all ^ h->lane[i] ^ h->lane[i] >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
        return all;
}

/* Blocks follow the table of their hashes; all but the last have a multiple of BLOCK_UNIT bytes. */
static int64_t block_bytes(int64_t file_bytes)
{
        int64_t units = (file_bytes - PACKED_STORAGES + BLOCK_UNIT - 1) / BLOCK_UNIT;
        return (units + PACKED_BLOCKS - 1) / PACKED_BLOCKS * BLOCK_UNIT;
}

static ByteRange block_range(int64_t file_bytes, int block)
{
        int64_t bytes = block_bytes(file_bytes), begin = PACKED_STORAGES + block * bytes;
        begin = begin < file_bytes ? begin : file_bytes;
        return (ByteRange){begin, begin + bytes < file_bytes ? begin + bytes : file_bytes};
}

/* --- writing ------------------------------------------------------------------------------------------------------- */

/* Reads the file instead of the map, so that pages released by packing stay released. */
bool packed_hash_blocks(int file, int64_t file_bytes, uint64_t *hash)
{
        unsigned char *chunk = malloc(CHUNK);
        bool good = chunk != NULL;
        for (int b = 0; b < PACKED_BLOCKS && good; b++) {
                ByteRange r = block_range(file_bytes, b);
                BlockHash h;
                block_hash_begin(&h);
                for (int64_t at = r.begin; at < r.end && good; at += CHUNK) {
                        int64_t n = r.end - at < CHUNK ? r.end - at : CHUNK;
                        good = packed_read_at(file, chunk, (size_t)n, (off_t)at);
                        block_hash_add(&h, chunk, good ? n : 0);
                }
                hash[b] = block_hash_end(&h);
        }
        free(chunk);
        return good;
}

/* --- checking ------------------------------------------------------------------------------------------------------ */

struct PackedCheck {
        const unsigned char *bytes;
        int64_t size;
        atomic_int next;    /* block */
        atomic_int damaged; /* index of a damaged block, or -1 */
        atomic_bool stop;
        int nthread;
        pthread_t thread[MAX_CHECK_THREADS];
};

static void check_block(PackedCheck *c, int block)
{
        uint64_t wanted;
        ByteRange r = block_range(c->size, block);
        BlockHash h;
        block_hash_begin(&h);
        for (int64_t at = r.begin; at < r.end && !atomic_load(&c->stop); at += CHUNK)
                block_hash_add(&h, c->bytes + at, r.end - at < CHUNK ? r.end - at : CHUNK);
        memcpy(&wanted, c->bytes + PACKED_HASHES + (int64_t)sizeof wanted * block, sizeof wanted);
        if (!atomic_load(&c->stop) && wanted != block_hash_end(&h))
                atomic_store(&c->damaged, block);
}

static void *check_blocks(void *of)
{
        PackedCheck *c = of;
        for (int block; (block = atomic_fetch_add(&c->next, 1)) < PACKED_BLOCKS;)
                check_block(c, block);
        return NULL;
}

void packed_check_begin(PackedFile *file)
{
        if (!file->mapped || file->check || file->size <= PACKED_HEAD)
                return;
        PackedCheck *c = file->check = calloc(1, sizeof *c);
        if (!c)
                return;
        c->bytes = file->mapped;
        c->size = (int64_t)file->size;
        atomic_init(&c->damaged, -1);
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        for (int i = 0; i < MAX_CHECK_THREADS && i < processors; i++)
                if (!pthread_create(&c->thread[c->nthread], NULL, check_blocks, c))
                        c->nthread++;
}

static void join_threads(PackedCheck *c)
{
        while (c->nthread > 0)
                pthread_join(c->thread[--c->nthread], NULL);
}

void packed_check_stop(PackedFile *file)
{
        if (!file->check)
                return;
        atomic_store(&file->check->stop, true);
        join_threads(file->check);
        free(file->check);
        file->check = NULL;
}

const char *packed_file_check(const char *path, Arena *a, PackedFile *file)
{
        packed_check_begin(file);
        PackedCheck *c = file->check;
        if (!c)
                return file->mapped ? no_memory : NULL;
        join_threads(c);
        check_blocks(c); /* checks all blocks if no thread could be started */
        int block = atomic_load(&c->damaged);
        if (block < 0)
                return NULL;
        ByteRange r = block_range(c->size, block);
        return arena_printf(a,
                            "%s is damaged: bytes %" PRId64 " to %" PRId64
                            " do not have the hash that its header states",
                            path, r.begin, r.end - 1);
}
