/*
 * Where an instance of the model gets its weights from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#if !defined(__wasm__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* Where weights are: as a whole file in memory, or, where image is NULL, in a file. */
typedef struct {
        const char *path;
        const void *image;
        size_t bytes;
} WeightImage;
