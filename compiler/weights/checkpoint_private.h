/* For the readers of checkpoints' formats. */
#ifndef CHECKPOINT_PRIVATE_H
#define CHECKPOINT_PRIVATE_H
#include "weights.h"

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

/* A name from a file made fit for a message: shortened, control characters replaced. */
typedef struct {
        char text[128];
} CkQuoted;
CkQuoted ck_quote(const char *name);
bool ck_ends_with(const char *text, const char *end);
#endif
