/* Tensors of codes with scales (scaled.def), which a checkpoint lists as one tensor of numbers.
 *
 * scaled_config.c reads quantization_config, scaled_find.c replaces the tensors of each matrix by one,
 * scaled_read.c computes its numbers when they are read, and scaled_blocks.c makes blocks of it. */
#ifndef SCALED_PRIVATE_H
#define SCALED_PRIVATE_H
#include "checkpoint_private.h"

/* Numbers of codes. */
typedef enum {
        VALUE_E4M3,    /* float of 8 bits: sign, 4 of exponent, 3; neither infinite */
        VALUE_E5M2,    /* float of 8 bits: the upper half of an f16 */
        VALUE_E2M1,    /* float of 4 bits */
        VALUE_PLAIN,   /* unsigned integer */
        VALUE_SIGNED,  /* integer in two's complement */
        VALUE_CENTRED, /* unsigned, minus half the number of codes */
        VALUE_NEXT,    /* unsigned, plus one, without a carry */
        VALUE_TERNARY, /* unsigned, minus one */
        VALUE_UNUSED
} CodeValue;

/* Order of the codes of a matrix [rows, columns], whose products sum over columns.  A word has 32 bits, and holds its first
 * code in the lowest bits. */
typedef enum {
        SCALED_BYTES,     /* a byte for each, [rows, columns] */
        SCALED_WORDS,     /* words along columns, [rows, words] */
        SCALED_HALVES,    /* bytes along columns, [rows, bytes] */
        SCALED_BLOCKS_32, /* bytes along columns, [rows, blocks, 16]; the tensor of numbers is [columns, rows] */
        SCALED_ACROSS,    /* words along rows, in the order 0 2 4 6 1 3 5 7, [columns, words] */
        SCALED_DOWN,      /* words along columns, [words, rows] */
        SCALED_QUARTERS /* bytes of rows i, i + rows / 4, i + rows / 2 and i + rows * 3/4, [rows / 4, columns] */
} ScaledLayout;

/* Codes of a tensor.  Code (row, column) is in word
 *
 *   row / row_lanes * row_step + column / column_lanes * column_step
 *
 * Its bits are those of lane row % row_lanes, by `order`, or column % column_lanes.  With `split`, the row is
 * row % split, and the lane row / split. */
typedef struct {
        const unsigned char *data; /* NULL: none */
        int width;                 /* bytes of a word: 1 or 4 */
        int bits;
        CodeValue value;
        int row_lanes, column_lanes; /* one of them is 1 */
        const uint8_t *order;
        int64_t split; /* 0: none */
        int64_t row_step, column_step, batch_step;
} CodeField;

/* Scale (row, group) is element row / row_block * row_step + group * group_step. */
typedef struct {
        const unsigned char *data;
        CkType type;
        int64_t row_block, column_block; /* rows and columns of a group */
        int64_t row_step, group_step, batch_step;
        float divisor, factor; /* of all scales; 0: none */
        bool inverse;          /* numbers are divided by it */
} ScaleField;

typedef struct CkScaled {
        int64_t rows, columns, groups; /* groups: along columns */
        bool turned;                   /* the tensor is [columns, rows] */
        CodeField code, zero;          /* zero: at (row, group) */
        ScaleField scale;
        const unsigned char *group; /* i32 [columns], the group of each column; NULL: consecutive ones */
        CkType computed, result;    /* types to which numbers are rounded */
        CkType blocks;              /* of blocks that have the codes and scales; CK_TYPE_COUNT: none */
        const CkTensor *part;       /* [nparts] the tensors of the file */
        int nparts;
} CkScaled;

/* How the weights of some matrices are stored, by quantization_config. */
typedef struct {
        bool floats; /* else integers */
        int bits;
        int64_t row_block, column_block; /* rows and columns that share a scale; 0: all */
        enum { ZEROS_OPTIONAL, ZEROS_NEEDED } zeros;
} ScaledScheme;

enum { MAX_SCHEMES = 64 };
struct json_t;
typedef struct {
        const char *path;   /* of config.json */
        const char *method; /* quant_method; NULL: none that is read here */
        unsigned formats;   /* rows of scaled.def, as bits */
        CkType dtype;       /* of the model, if has_dtype */
        bool has_dtype;
        enum {
                ROUNDED_AS_SCALES, /* numbers have the type of their scales */
                ROUNDED_TO_MODEL,  /* and are then rounded to dtype */
                ROUNDED_ONCE       /* products in f32 are rounded to dtype */
        } rounding;
        bool inverse; /* numbers are divided by scales */
        int nscheme;
        ScaledScheme scheme[MAX_SCHEMES];
        const struct json_t *json;
        CkError *err;
} ScaledConfig;

typedef enum {
#define SCALED(name, codes, type, tensor, scales, global, zeros, layout, bits, floats, value, zero)          \
        FORMAT_##name,
#include "scaled.def"
#undef SCALED
        SCALED_FORMATS
} ScaledFormat;

/* scaled_config.c: reads quantization_config of a config.json; path remains in use.  False after a message. */
bool scaled_config_read(ScaledConfig *c, const struct json_t *config, const char *path, CkError *err);

/* scaled_find.c: replaces the parts of each matrix among n tensors by one tensor, and sorts them by name. */
bool scaled_find(CkTensor *tensor, int *n, ScaledConfig *config, CkError *err);
/* False after a message: 8-bit floats among n tensors have scales, and `path`, of config.json, does not say how they are used. */
bool scaled_have_config(const CkTensor *tensor, int n, const char *path, CkError *err);
void scaled_free(const CkScaled *scaled); /* NULL is allowed */

/* scaled_read.c: elements first … first + count - 1 of a tensor whose files are whole. */
bool scaled_is_whole(const CkTensor *tensor); /* false: a file was truncated after it was opened */
void scaled_read(const CkTensor *tensor, int64_t first, int64_t count, float *out);
void scaled_let_go(const CkTensor *tensor, int64_t first, int64_t count);
/* Number of a code. */
float code_value(CodeValue value, int bits, unsigned code);

typedef struct {
        const unsigned char *word; /* of column 0 */
        int shift;
} CodeRow;
CodeRow code_row(const CodeField *f, int64_t batch, int64_t row);
unsigned scaled_code(const CodeField *f, CodeRow row, int64_t column);
void scaled_codes(const CodeField *f, CodeRow row, int64_t column, int64_t n,
                  uint8_t *out); /* n codes of a row */
/* A group's scale: where it is, and its number before it is rounded. */
const unsigned char *scale_at_group(const ScaleField *f, int64_t batch, int64_t row, int64_t group);
float scale_of_group(const ScaleField *f, int64_t batch, int64_t row, int64_t group);

/* scaled_blocks.c: the type of blocks that hold the matrix exactly; CK_TYPE_COUNT: none. */
CkType scaled_block_type(const CkScaled *s);
#endif
