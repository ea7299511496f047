/* For the readers of checkpoint formats. */
#ifndef CHECKPOINT_PRIVATE_H
#define CHECKPOINT_PRIVATE_H
#include "weights.h"

/* values: only for inputs and outputs, not for weights: values_open() */
typedef struct {
        const char *name;
        bool values;
        bool (*probe)(const CkFile *file);
        bool (*read)(Checkpoint *checkpoint, const CkFile *file, CkError *err);
} CkFormat;

enum { MAX_META = 16 };

struct Checkpoint {
        char *path;
        const CkFormat *format;
        CkFile **file;
        int nfile;
        CkTensor *tensor; /* [count], ascending by name once opened */
        int count, capacity;
        struct {
                const char *key;
                int64_t value;
        } meta[MAX_META];
        int nmeta;
        CkPair *pair; /* [npair], ascending by key */
        int npair;
        const char *prefix; /* prefix for the names of added tensors; NULL: none */
};

bool safetensors_probe(const CkFile *file);
bool safetensors_read(Checkpoint *checkpoint, const CkFile *file, CkError *err);
bool safetensors_index_probe(const CkFile *file);
bool safetensors_index_read(Checkpoint *checkpoint, const CkFile *file, CkError *err);
enum {
        SAFETENSORS_PREFIX = 8,        /* the header's length */
        SAFETENSORS_HEADER = 16 << 20, /* maximum of bytes: room for 100,000 tensors */
        NPY_PREFIX = 10                /* of version 1, with the header's length */
};
#define METADATA "__metadata__" /* a key in safetensors headers that is not a tensor */
#define NPY_MAGIC "\x93NUMPY"

bool npy_probe(const CkFile *file);
bool npy_read(Checkpoint *checkpoint, const CkFile *file, CkError *err);
const char *npy_type_name(CkType type); /* "<f4"; NULL: numpy has none */
bool llama2c_probe(const CkFile *file);
bool llama2c_read(Checkpoint *checkpoint, const CkFile *file, CkError *err);
bool gguf_probe(const CkFile *file);
bool gguf_read(Checkpoint *checkpoint, const CkFile *file, CkError *err);

/* types.c: a type by its name in files; false: unknown. */
bool ck_type_of_safetensors(const char *name, CkType *type);
bool ck_type_of_gguf(uint32_t number, CkType *type);

/* Maps a file, which the checkpoint then owns; NULL after a message. */
const CkFile *checkpoint_map(Checkpoint *checkpoint, const char *path, CkError *err);
/* Computes count and bytes from shape and dtype; a message if they overflow or the rank is too large. */
bool checkpoint_measure(const CkFile *file, CkTensor *tensor, CkError *err);
/* Adds a measured tensor, whose bytes are within its file; its name is copied. */
bool checkpoint_add(Checkpoint *checkpoint, const CkTensor *tensor, CkError *err);
bool checkpoint_sort(Checkpoint *checkpoint,
                     CkError *err); /* by name; false after a message: one occurs twice */
bool checkpoint_set_meta(Checkpoint *checkpoint, const char *key, int64_t value, CkError *err);

/* Takes ownership of pairs, in ascending order of their keys, without duplicates. */
void checkpoint_take_pairs(Checkpoint *checkpoint, CkPair *pairs, int n);
const CkPair *pair_find(const CkPair *pairs, int n, const char *key); /* NULL: none */
void pairs_free(CkPair *pairs, int n);                                /* with their keys */

/* The value of the file folder/inside/name, as import reads it; NULL: missing.  False after a message if it is unreadable. */
struct json_t;
bool json_in(const char *folder, const char *inside, const char *name, struct json_t **json, CkError *err);

/* A name from a file for a message: shortened, control characters replaced. */
typedef struct {
        char text[128];
} CkQuoted;
CkQuoted ck_quote(const char *name);
#endif
