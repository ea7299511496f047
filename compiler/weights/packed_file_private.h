/* The head of a packed file, which packed_file.c writes and packed_read.c reads. */
#ifndef PACKED_FILE_PRIVATE_H
#define PACKED_FILE_PRIVATE_H
#include "weights.h"

enum { PAGE_STORAGES = 512 }; /* the byte of the head where they stand */
_Static_assert(PAGE_STORAGES + STORAGES_IN_FILE <= PACKED_HEAD, "they stand in the head");
#endif
