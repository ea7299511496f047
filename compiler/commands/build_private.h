/* Shared by the files of lathe build. */
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

/* build_python.c: adds the files of a package, PYTHON_FILES, in the C's folder; false where one has an error. */
enum { PYTHON_FILES = 3 };
typedef struct {
        const char *base, *name; /* the files' name; the model's in C, which is the package's */
        const Text *module;
        const char *weights;   /* the file's name; NULL: they are in the C */
        const char *c_weights; /* that of a file which the assembler takes; NULL: there is none */
        const Target *target;
} PythonParts;
bool build_python(Arena *a, const PythonParts *parts, const char *folder, WrittenFile *file, int *n);
/* There is a folder for it, and no file of others stands there; Python can call it so.  false after a message. */
bool python_fits(const CommandOptions *o);
bool python_name_fits(const char *name);

/* --depfile: the files that the others depend on, all that were read, as make reads it. */
bool build_depfile(Arena *a, WrittenFile *to, const char *path, const WrittenFile *made, int n);
#endif
