/*
 * Where an instance of the model gets its weights from.
 */
#if HAS_SYSTEM
#include <stdlib.h>
#endif
#include <string.h>
#if !HAS_WEIGHTS_INSIDE && !defined(__wasm__)
#if HAS_WINDOWS && defined(_WIN32)
#include <malloc.h>
#include <stdio.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#endif

/* Where weights are: as a whole file in memory, or, where image is NULL, in a file. */
typedef struct {
        const char *path;
        const void *image;
        size_t bytes;
} WeightImage;
