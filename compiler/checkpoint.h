/* Checkpoints: files of named tensors, mapped read-only.
 *
 * A path may be a .safetensors file, a *.safetensors.index.json with its shards, a directory that holds one
 * of these, or a llama2.c legacy .bin, whose reader supplies Meta's names. Formats are rows of one table in
 * checkpoint.c. A file is believed only after every number in it has been checked against the file's size;
 * whatever is wrong is refused with a message that names the file and the tensor or byte. Nothing is copied:
 * tensors point into the mapping and live until checkpoint_close. Hosts are little-endian, as the formats
 * are. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

enum { CK_MAX_RANK = 8 };

/* Element types: name as safetensors spells it, bits, and whether lathe reads it. A tensor of another type is
 * listed like any other, so that a model may drop it, but cannot be read. */
#define CK_TYPES(ROW)                                                                                        \
        ROW(F32, 32, true)                                                                                   \
        ROW(F16, 16, true)                                                                                   \
        ROW(BF16, 16, true)                                                                                  \
        ROW(F64, 64, false)                                                                                  \
        ROW(F8_E5M2, 8, false)                                                                               \
        ROW(F8_E4M3, 8, false)                                                                               \
        ROW(F8_E8M0, 8, false)                                                                               \
        ROW(F6_E2M3, 6, false)                                                                               \
        ROW(F6_E3M2, 6, false)                                                                               \
        ROW(F4, 4, false)                                                                                    \
        ROW(C64, 64, false)                                                                                  \
        ROW(BOOL, 8, false)                                                                                  \
        ROW(U8, 8, false)                                                                                    \
        ROW(I8, 8, false)                                                                                    \
        ROW(U16, 16, false)                                                                                  \
        ROW(I16, 16, false)                                                                                  \
        ROW(U32, 32, false)                                                                                  \
        ROW(I32, 32, false)                                                                                  \
        ROW(U64, 64, false)                                                                                  \
        ROW(I64, 64, false)

#define CK_ENUM(name, bits, readable) CK_##name,
typedef enum { CK_TYPES(CK_ENUM) CK_TYPE_COUNT } CkType;
#undef CK_ENUM

const char *ck_type_name(CkType type);
int ck_type_bits(CkType type);
bool ck_type_readable(CkType type);

/* What went wrong, in one line: the path, the tensor or byte, what was expected, what to do. */
typedef struct {
        char message[512];
        bool environment; /* memory, the disk, a file that can't be opened; not what is in it */
} CkError;

typedef struct CkFile CkFile;

typedef struct {
        const char *name;
        CkType dtype;
        int rank;
        int64_t shape[CK_MAX_RANK]; /* outermost first; a scalar has rank 0 */
        int64_t count;              /* elements: the product of shape */
        const void *data;           /* [shape], row-major, not necessarily aligned */
        int64_t bytes;
        const CkFile *file; /* the mapped file that holds it */
} CkTensor;

typedef struct Checkpoint Checkpoint;

/* NULL and a message, or a checkpoint that the caller closes. */
Checkpoint *checkpoint_open(const char *path, CkError *err);
void checkpoint_close(Checkpoint *checkpoint); /* NULL is allowed */

const char *checkpoint_path(const Checkpoint *checkpoint); /* as it was opened */
const char *
checkpoint_format(const Checkpoint *checkpoint); /* "safetensors", "sharded safetensors", "llama2.c" */

/* Its files in the order in which they were opened; NULL behind the last. */
const CkFile *checkpoint_file(const Checkpoint *checkpoint, int index);
/* Tensors in ascending order of their names' bytes. */
int checkpoint_count(const Checkpoint *checkpoint);
const CkTensor *checkpoint_at(const Checkpoint *checkpoint, int index);
const CkTensor *checkpoint_find(const Checkpoint *checkpoint, const char *name); /* NULL if there is none */

/* A number from the file's header. llama2.c has dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size,
 * seq_len and tied (0 or 1); safetensors has none. False if there is no such key. */
bool checkpoint_meta(const Checkpoint *checkpoint, const char *key, int64_t *value);

/* Elements first … first + count - 1 in row-major order, widened exactly. False, with nothing written, if the
 * type is not readable, the range is outside the tensor, or the file has shrunk since it was opened. */
bool checkpoint_read_f32(const CkTensor *tensor, int64_t first, int64_t count, float *out);
bool checkpoint_read_f64(const CkTensor *tensor, int64_t first, int64_t count, double *out);

/* Writing safetensors. */

typedef struct {
        const char *name; /* UTF-8 */
        CkType dtype;     /* CK_F32, CK_F16 or CK_BF16 */
        int rank;
        int64_t shape[CK_MAX_RANK];
} CkOutput;

enum { CK_BLOCK = 65536 }; /* the most elements asked for at once */

/* Gives elements first … first + count - 1 of tensors[tensor]. Rows (the last dimension) come whole where one
 * fits into CK_BLOCK. False stops the writing: the callback leaves its reason in err. */
typedef bool CkFill(void *context, int tensor, int64_t first, int64_t count, float *out, CkError *err);

/* Writes n tensors under path, rounded to nearest even where dtype is narrower. The bytes depend on the
 * arguments alone: tensors of wider types first, else in the order given; data from a multiple of 64 bytes.
 * The file is written aside and renamed when complete: on any error nothing is left and an older file stays.
 */
bool safetensors_write(const char *path, int n, const CkOutput *tensors, CkFill *fill, void *context,
                       CkError *err);

/* For the readers of formats. */

struct CkFile {
        char *path;
        int descriptor;
        const unsigned char *data; /* [size], mapped */
        int64_t size;
        int entry; /* of ending.h */
};

typedef struct {
        const char *name;
        bool (*probe)(const CkFile *file);
        bool (*read)(Checkpoint *checkpoint, const CkFile *file, CkError *err);
} CkFormat;

bool safetensors_probe(const CkFile *file);
bool safetensors_read(Checkpoint *checkpoint, const CkFile *file, CkError *err);
bool safetensors_index_probe(const CkFile *file);
bool safetensors_index_read(Checkpoint *checkpoint, const CkFile *file, CkError *err);
bool llama2c_probe(const CkFile *file);
bool llama2c_read(Checkpoint *checkpoint, const CkFile *file, CkError *err);

/* Maps a file that the checkpoint then owns; NULL and a message. */
const CkFile *checkpoint_map(Checkpoint *checkpoint, const char *path, CkError *err);
/* Computes count and bytes from shape and dtype; a message if they overflow or the rank is too large. */
bool checkpoint_measure(const CkFile *file, CkTensor *tensor, CkError *err);
/* Adds a measured tensor whose bytes lie inside its file; its name is copied. */
bool checkpoint_add(Checkpoint *checkpoint, const CkTensor *tensor, CkError *err);
bool checkpoint_set_meta(Checkpoint *checkpoint, const char *key, int64_t value, CkError *err);

/* Formats the message; always false. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
bool ck_fail(CkError *err, const char *format, ...);
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
bool ck_lack(CkError *err, const char *format, ...); /* the same for what the environment lacks */

/* A name from a file made fit for a message: shortened, control characters replaced. */
typedef struct {
        char text[128];
} CkQuoted;
CkQuoted ck_quote(const char *name);
bool ck_ends_with(const char *text, const char *end);

#endif
