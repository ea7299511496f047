/* The head of a packed file, which packed_file.c writes and packed_read.c reads. */
#ifndef PACKED_FILE_PRIVATE_H
#define PACKED_FILE_PRIVATE_H
#include "weights.h"

enum { PACKED_STORAGES = 512 }; /* the byte of the head from which on the storages stand */
_Static_assert(PACKED_STORAGES + STORAGES_IN_FILE <= PACKED_HEAD, "they stand in the head");
#endif
