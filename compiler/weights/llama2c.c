/* llama2.c's legacy checkpoint ("version 0", github.com/karpathy/llama2.c, export.py legacy_export).
 *
 * Seven int32: dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size (negative if the classifier is not
 * tied to the embedding), seq_len. Then f32 tensors without names, each stacked over the layers, in the order
 * of the table below. The names given here are Meta's. The precomputed rotation (freq_cis) is checked for its
 * size and otherwise skipped. Queries and keys are laid out for interleaved rotation. */
#include <stdio.h>
#include <string.h>

#include "checkpoint_private.h"

typedef enum { ONE, DIM, QUERY, KEY, HIDDEN, VOCAB, CONTEXT, HALF_HEAD, SIZE_COUNT } Size;
typedef enum { ONCE, EACH_LAYER, SKIPPED, IF_UNTIED } Presence;

typedef struct {
        const char *name; /* name within its layer, if stacked */
        Presence presence;
        int rank;
        Size shape[2];
} Llama2cPart;

static const Llama2cPart parts[] = {
        {"tok_embeddings.weight", ONCE, 2, {VOCAB, DIM}},
        {"attention_norm.weight", EACH_LAYER, 1, {DIM, ONE}},
        {"attention.wq.weight", EACH_LAYER, 2, {QUERY, DIM}},
        {"attention.wk.weight", EACH_LAYER, 2, {KEY, DIM}},
        {"attention.wv.weight", EACH_LAYER, 2, {KEY, DIM}},
        {"attention.wo.weight", EACH_LAYER, 2, {DIM, QUERY}},
        {"ffn_norm.weight", EACH_LAYER, 1, {DIM, ONE}},
        {"feed_forward.w1.weight", EACH_LAYER, 2, {HIDDEN, DIM}},
        {"feed_forward.w2.weight", EACH_LAYER, 2, {DIM, HIDDEN}},
        {"feed_forward.w3.weight", EACH_LAYER, 2, {HIDDEN, DIM}},
        {"norm.weight", ONCE, 1, {DIM, ONE}},
        {"freq_cis_real", SKIPPED, 2, {CONTEXT, HALF_HEAD}},
        {"freq_cis_imag", SKIPPED, 2, {CONTEXT, HALF_HEAD}},
        {"output.weight", IF_UNTIED, 2, {VOCAB, DIM}},
};

enum { PARTS = sizeof parts / sizeof *parts, HEADER = 7, HEADER_BYTES = 4 * HEADER };

static const char *const keys[HEADER] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                         "n_kv_heads", "vocab_size", "seq_len"};

typedef struct {
        int32_t number[HEADER]; /* as in the file, with positive vocab_size */
        int layers;
        bool tied;
        int64_t size[SIZE_COUNT];
} Llama2cHeader;

static int32_t header_number(const CkFile *file, int index)
{
        int32_t number;
        memcpy(&number, file->data + 4L * index, sizeof number);
        return number;
}

static bool read_header(const CkFile *file, Llama2cHeader *header, CkError *err)
{
        if (file->size < HEADER_BYTES)
                return ck_fail(err, "%s: %lld bytes, but a llama2.c checkpoint begins with a header of %d",
                               file->path, (long long)file->size, HEADER_BYTES);
        if (!memcmp(file->data, "24ka", 4))
                return ck_fail(err, "%s: llama2.c's newer format: export it with --version 0", file->path);
        for (int i = 0; i < HEADER; i++) {
                int32_t number = header_number(file, i);
                bool vocab = i == 5;
                if (vocab)
                        header->tied = number > 0;
                header->number[i] = vocab && number < 0 && number != INT32_MIN ? -number : number;
                if (header->number[i] <= 0)
                        return ck_fail(err, "%s: %s (byte %d) is %d, so this is not a llama2.c checkpoint",
                                       file->path, keys[i], 4 * i, number);
        }
        return true;
}

static bool derive_sizes(const CkFile *file, Llama2cHeader *header, CkError *err)
{
        const int32_t *number = header->number;
        int dim = number[0], heads = number[3], kv_heads = number[4];
        if (dim % heads || dim / heads % 2)
                return ck_fail(err, "%s: dim %d over n_heads %d is not an even head size", file->path, dim,
                               heads);
        if (heads % kv_heads)
                return ck_fail(err, "%s: n_heads %d is not a multiple of n_kv_heads %d", file->path, heads,
                               kv_heads);
        int head_size = dim / heads;
        header->layers = number[2];
        header->size[ONE] = 1;
        header->size[DIM] = dim;
        header->size[QUERY] = dim;
        header->size[KEY] = (int64_t)kv_heads * head_size;
        header->size[HIDDEN] = number[1];
        header->size[VOCAB] = number[5];
        header->size[CONTEXT] = number[6];
        header->size[HALF_HEAD] = head_size / 2;
        return true;
}

static CkTensor part_tensor(const CkFile *file, const Llama2cHeader *header, const Llama2cPart *part)
{
        CkTensor tensor = {.name = part->name, .dtype = CK_F32, .rank = part->rank, .file = file};
        for (int i = 0; i < part->rank; i++)
                tensor.shape[i] = header->size[part->shape[i]];
        return tensor;
}

static bool is_present(const Llama2cHeader *header, const Llama2cPart *part)
{
        return part->presence != IF_UNTIED || !header->tied;
}

/* Computes the offsets of the parts before anything is allocated: they must fill the file exactly. */
static bool llama2c_offsets(const CkFile *file, const Llama2cHeader *header, int64_t offset[PARTS],
                            CkError *err)
{
        int64_t at = HEADER_BYTES;
        for (int i = 0; i < PARTS; i++) {
                CkTensor tensor = part_tensor(file, header, &parts[i]);
                int64_t copies = parts[i].presence == EACH_LAYER ? header->layers : 1;
                if (!is_present(header, &parts[i]))
                        continue;
                if (!checkpoint_measure(file, &tensor, err))
                        return false;
                if (tensor.bytes > (file->size - at) / copies)
                        return ck_fail(err,
                                       "%s: truncated: %s at byte %lld needs %lld x %lld bytes, but the file "
                                       "ends at "
                                       "byte %lld",
                                       file->path, parts[i].name, (long long)at, (long long)copies,
                                       (long long)tensor.bytes, (long long)file->size);
                offset[i] = at;
                at += copies * tensor.bytes;
        }
        if (at != file->size)
                return ck_fail(err, "%s: %lld bytes follow the last tensor, which ends at byte %lld",
                               file->path, (long long)(file->size - at), (long long)at);
        return true;
}

static bool llama2c_part(Checkpoint *checkpoint, const CkFile *file, const Llama2cHeader *header,
                         const Llama2cPart *part, int64_t offset, CkError *err)
{
        CkTensor tensor = part_tensor(file, header, part);
        if (!checkpoint_measure(file, &tensor, err))
                return false;
        tensor.data = file->data + offset;
        if (part->presence != EACH_LAYER)
                return checkpoint_add(checkpoint, &tensor, err);
        for (int layer = 0; layer < header->layers; layer++) {
                char name[64];
                snprintf(name, sizeof name, "layers.%d.%s", layer, part->name);
                tensor.name = name;
                tensor.data = file->data + offset + layer * tensor.bytes;
                if (!checkpoint_add(checkpoint, &tensor, err))
                        return false;
        }
        return true;
}

/* By the name, or by a plausible header that matches the file's size. */
bool llama2c_probe(const CkFile *file)
{
        Llama2cHeader header;
        int64_t offset[PARTS];
        CkError ignored;
        return text_ends_with(file->path, ".bin") ||
               (read_header(file, &header, &ignored) && derive_sizes(file, &header, &ignored) &&
                llama2c_offsets(file, &header, offset, &ignored));
}

bool llama2c_read(Checkpoint *checkpoint, const CkFile *file, CkError *err)
{
        Llama2cHeader header;
        int64_t offset[PARTS];
        if (!read_header(file, &header, err) || !derive_sizes(file, &header, err) ||
            !llama2c_offsets(file, &header, offset, err))
                return false;
        for (int i = 0; i < PARTS; i++)
                if (parts[i].presence != SKIPPED && is_present(&header, &parts[i]) &&
                    !llama2c_part(checkpoint, file, &header, &parts[i], offset[i], err))
                        return false;
        for (int i = 0; i < HEADER; i++)
                if (!checkpoint_set_meta(checkpoint, keys[i], header.number[i], err))
                        return false;
        return checkpoint_set_meta(checkpoint, "tied", header.tied, err);
}
