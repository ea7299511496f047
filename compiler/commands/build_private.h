/* Shared by the files of lathe build. */
#ifndef BUILD_PRIVATE_H
#define BUILD_PRIVATE_H
#include "commands_private.h"

enum { LIBRARY_FILES = 3 };

typedef struct {
        const char *base, *model; /* base name of the files; name of the model */
        const Text *c, *h;
        const char *weights; /* file of weights for the assembler; NULL: none */
        bool weights_beside; /* there is a weight file that is mapped */
        const Target *target;
} LibraryParts;
/* Adds libNAME.a, libNAME.so and NAME.pc in the folder, "" or with a slash at its end, to file[*n], for
 * output_finish(). Returns an exit code. */
int build_library(Arena *a, const LibraryParts *parts, const char *folder, WrittenFile *file, int *n);

/* build_python.c: adds the files of a package, PYTHON_FILES, in the C's folder; false if one has an error. */
enum { PYTHON_FILES = 3 };
typedef struct {
        const char *base, *name; /* base name of the files; the model's C name, which is the package's */
        const Text *module;
        const char *weights;   /* name of the file; NULL: weights are in the C */
        const char *c_weights; /* name of the file for the assembler; NULL: none */
        const Target *target;
} PythonParts;
bool build_python(Arena *a, const PythonParts *parts, const char *folder, WrittenFile *file, int *n);
/* Whether the package has a folder without files of others, and Python can use its name.  False after a
 * message. */
bool python_fits(const CommandOptions *o);
bool python_name_fits(const char *name);

/* --depfile: prints the files on which the outputs depend, all that were read, in make's syntax. */
bool build_depfile(Arena *a, WrittenFile *to, const char *path, const WrittenFile *made, int n);
#endif
