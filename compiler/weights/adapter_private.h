/* Adapters: changes of low rank to tensors of a checkpoint, in directories of peft.
 *
 * adapter_config.c reads adapter_config.json, adapter_find.c assigns the adapter's tensors to those of the checkpoint, and
 * adapter_read.c computes numbers when they are read:
 *
 *   LoRA   W + s B A
 *   DoRA   (W + s B A) * m / |V + s B A|, where V is the published tensor and m a number for each output of the product
 *
 * with s = scale * alpha / r, or scale * alpha / sqrt(r).  W is the published tensor, or the result of the adapter before. */
#ifndef ADAPTER_PRIVATE_H
#define ADAPTER_PRIVATE_H
#include "checkpoint_private.h"

#define ADAPTER_CONFIG "adapter_config.json"
#define ADAPTER_FILE "adapter_model.safetensors"

/* One adapter's change to a tensor, as a matrix [rows, columns]: its first dimension, and all others. */
typedef struct AdapterDelta {
        int64_t rank;
        double scale;     /* s */
        float *left;      /* [rows, rank] */
        float *right;     /* [rank, columns] */
        float *magnitude; /* m, of DoRA: [rows], or [columns] if `by_column`; NULL: LoRA */
        bool by_column;   /* the tensor is [in, out] */
        double *factor;   /* m / |V + s B A|, computed when it is first needed; NULL: not yet */
        struct AdapterDelta *next;
} AdapterDelta;

typedef struct CkAdapted {
        CkTensor base;
        int64_t rows, columns;
        AdapterDelta *first;
} CkAdapted;

/* What adapter_config.json states. */
typedef struct {
        char *path;          /* of adapter_config.json */
        struct json_t *json; /* its object */
        int64_t rank;
        double alpha;
        bool root_scale; /* use_rslora: alpha / sqrt(r) */
        bool magnitudes; /* use_dora */
        bool biases;     /* lora_bias */
        bool turned;     /* fan_in_fan_out: matrices are [in, out] */
} AdapterConfig;

/* adapter_config.c.  False after a message; adapter_config_free() is required in any case. */
bool adapter_config_read(AdapterConfig *c, const char *folder, CkError *err);
void adapter_config_free(AdapterConfig *c);
/* Rank and s of a module, such as "model.layers.0.self_attn.q_proj", for a factor of 1.  False after a message. */
bool adapter_scale(const AdapterConfig *c, const char *module, int64_t *rank, double *scale, CkError *err);
/* False after a message: a module of modules_to_save has none of these n tensors. */
bool adapter_has_saved(const AdapterConfig *c, const CkTensor *tensor, int n, CkError *err);

/* adapter_pattern.c: whether a regular expression has only known forms; whether such a one fits a module, or the end of its path
 * after a dot, as peft takes it. */
bool pattern_is_known(const char *pattern);
bool pattern_fits(const char *pattern, const char *module);

/* adapter_read.c */
static inline const CkTensor *adapted_base(const CkTensor *tensor)
{
        return &tensor->adapted->base;
}
/* Elements first … first + count - 1 of a tensor whose files are whole; false: out of memory. */
bool adapted_read(const CkTensor *tensor, int64_t first, int64_t count, double *out);
bool adapted_read_f32(const CkTensor *tensor, int64_t first, int64_t count, float *out);
void adapted_free(CkAdapted *adapted); /* NULL is allowed */
void adapter_delta_free(AdapterDelta *delta);
#endif
