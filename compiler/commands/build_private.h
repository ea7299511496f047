/* What the files of lathe build share. */
#ifndef BUILD_PRIVATE_H
#define BUILD_PRIVATE_H
#include "commands_private.h"

enum { LIBRARY_FILES = 3 };

typedef struct {
        const char *base, *model; /* the files' name; the model's */
        const Text *c, *h;
        const char *weights; /* a file that the assembler puts into the program; NULL: none */
        bool weights_beside; /* there is a weight file, which is mapped */
        const Target *target;
} LibraryParts;
/* Adds libNAME.a, libNAME.so and NAME.pc of the folder, "" or with a slash at its end, to file [*n], for output_finish().  An exit code. */
int build_library(Arena *a, const LibraryParts *parts, const char *folder, WrittenFile *file, int *n);

/* --depfile: the files that the others depend on, all that were read, as make reads it. */
bool build_depfile(Arena *a, WrittenFile *to, const char *path, const WrittenFile *made, int n);
#endif
