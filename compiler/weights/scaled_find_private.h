/* Shared by scaled_find.c and scaled_fields.c: a quantised matrix while its tensors are gathered. */
#ifndef SCALED_FIND_PRIVATE_H
#define SCALED_FIND_PRIVATE_H
#include "scaled_private.h"

/* A row of scaled.def. */
typedef struct {
        const char *codes;
        CkType type;
        const char *tensor, *scales, *global, *zeros;
        ScaledLayout layout;
        int bits;
        bool floats;
        CodeValue value, zero;
} ScaledRow;
extern const ScaledRow scaled_rows[SCALED_FORMATS];

typedef enum { PART_CODES, PART_SCALES, PART_ZEROS, PART_GROUPS, PART_SHAPE, PART_GLOBAL, PARTS } PartKind;

typedef struct {
        ScaledConfig *config;
        CkTensor *tensor; /* [n], by name */
        int n;
        bool *used;      /* [n] */
        CkTensor **made; /* [n] tensor of numbers, by index of its codes; NULL: none */
        CkError *err;
} Finder;

/* A matrix, while its tensors are gathered. */
typedef struct {
        ScaledFormat format;
        char *stem; /* name of the tensor of numbers without its end */
        size_t stem_length;
        const CkTensor *part[PARTS]; /* NULL: not present */
        const ScaledScheme *scheme;
        int64_t batches, rows, columns;
        int batch_axes;
        int64_t grid_rows, groups;
        char why[256]; /* why no scheme fits */
} Matrix;

/* scaled_fields.c: codes, zero points and scales of a matrix whose tensors are there and fit a scheme; NULL after a message. */
CkScaled *scaled_new(const Finder *f, const Matrix *m);
/* Rows of the tensor of zero points, several of which share a word. */
int64_t rows_of_zeros(const Matrix *m, int bits);
bool is_by_columns(const Matrix *m);
int64_t ceil_div(int64_t a, int64_t b);
bool is_float_type(CkType type);
#endif
