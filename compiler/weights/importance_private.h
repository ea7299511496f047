/* Entries of an importance matrix, for importance_file.c, which reads them, and importance_map.c, which assigns them to weights. */
#ifndef IMPORTANCE_PRIVATE_H
#define IMPORTANCE_PRIVATE_H
#include "weights.h"

typedef struct {
        const char *name;  /* of a tensor */
        int64_t n;         /* columns of all its matrices, matrix by matrix: each expert has one */
        const float *mean; /* [n]: mean squares; 0 in all columns of a matrix that no activation met */
        bool used;         /* a tensor of the model has the name */
} ImportanceEntry;

typedef struct {
        ImportanceEntry *entry; /* [n] in ascending order of the names' bytes, which differ */
        int n;
} ImportanceEntries;

bool importance_entries(Arena *arena, const char *path, ImportanceEntries *all, CkError *err);
#endif
