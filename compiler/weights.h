/* Where a model's weights come from: a checkpoint, or the documented hash of their names.
 *
 * A weight is a float, whoever asks: f16 and bf16 are widened exactly, and where an entry of the checkpoint
 * adds or multiplies, the weight is computed in double and rounded once. */
#ifndef WEIGHTS_H
#define WEIGHTS_H
#include "checkpoint.h"
#include "graph.h"

typedef struct Weights Weights;

/* Whether the graph's checkpoint entries give every element of every weight exactly once; no checkpoint is
 * needed to tell. */
bool weights_check(const Graph *g, Diag *diag);

/* Every slot by the hash of its full name ("layer.3.attn.q.w"), see docs/hash-weights.md. */
Weights *weights_hashed(Arena *arena, const Graph *g);

/* From a checkpoint, which must stay open, by the graph's entries; where it has none, tensors go by the
 * slots' own names. NULL: tensors that are missing, of other shape or type or not used, and whatever
 * weights_check reports, all at once. */
Weights *weights_loaded(Arena *arena, const Graph *g, Checkpoint *checkpoint, Diag *diag);

/* One slot, row-major; value has as many elements as the weight's type.  False: no such slot, out of memory,
 * or the file has shrunk since it was opened.  weights_read fits WeightSource.weight: its first argument is
 * the Weights.  Not for two threads at once on one Weights. */
bool weights_read(void *weights, const Weight *w, int64_t slot, double *value);
bool weights_read_f32(Weights *weights, const Weight *w, int64_t slot, float *value);

/* weights_write.c: the published tensors as a safetensors file; storage is CK_F32, CK_F16 or CK_BF16.  Of
 * loaded weights the tensors are copied, so that in f32 nothing is lost; tensors that the model drops are not
 * written. */
bool weights_write(const Graph *g, Weights *weights, const char *path, CkType storage, CkError *err);
#endif
