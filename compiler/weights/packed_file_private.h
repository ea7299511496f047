/* The head of a packed file: packed_file.c writes it, packed_read.c reads it. */
#ifndef PACKED_FILE_PRIVATE_H
#define PACKED_FILE_PRIVATE_H
#include "weights.h"

/* Offsets in the head: the hashes of the blocks, 8 bytes each (words of rank_file.h precede them), the storages and the mixture. */
enum {
        PACKED_BLOCKS = 48,
        PACKED_HASHES = 128,
        PACKED_STORAGES = PACKED_HASHES + 8 * PACKED_BLOCKS,
        PACKED_MIXTURE = PACKED_STORAGES + STORAGES_IN_FILE
};
/* packed_read.c: n bytes at an offset; false with errno, 0 if the file ends before them */
bool packed_read_at(int file, void *to, size_t n, off_t at);
/* packed_check.c */
bool packed_hash_blocks(int file, int64_t file_bytes, uint64_t *hash); /* [PACKED_BLOCKS]; false with errno */
void packed_check_stop(PackedFile *file);
_Static_assert(PACKED_MIXTURE + 4 * RUNS_IN_FILE <= PACKED_HEAD, "they stand in the head");
#endif
