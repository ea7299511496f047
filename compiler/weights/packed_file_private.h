/* The head of a packed file, which packed_file.c writes and packed_read.c reads. */
#ifndef PACKED_FILE_PRIVATE_H
#define PACKED_FILE_PRIVATE_H
#include "weights.h"

/* The bytes of the head from which on the storages and the mixture stand. */
enum { PACKED_STORAGES = 512, PACKED_MIXTURE = PACKED_STORAGES + STORAGES_IN_FILE };
void stop_touching(PackedFile *file);
_Static_assert(PACKED_MIXTURE + 4 * RUNS_IN_FILE <= PACKED_HEAD, "they stand in the head");
#endif
