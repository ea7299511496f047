/* An engine: a planned model as code in this process, with memory and threads of its own.
 *
 * Plan and weights stay the caller's and must outlive it.  One thread at a time may use an engine; several engines are
 * independent.  Functions return NULL, or what is wrong, in words. */
#ifndef ENGINE_H
#define ENGINE_H
#include "plan.h"

/* JIT_AUTO: libtcc at once; the system compiler's optimised build takes over between two calls, when it is ready. */
typedef enum { JIT_AUTO, JIT_TCC, JIT_CC } JitMode;

typedef struct Engine Engine;

/* weights: packed for this plan, [weights_size] floats, aligned to 64 bytes.  NULL with *why, which a later call of the same
 * function may overwrite. */
Engine *engine_new(Plan *p, const float *weights, int threads, JitMode mode, const char **why);
void engine_free(Engine *e);
/* Goes on with another number of threads, at most those that it was made with. */
const char *engine_set_threads(Engine *e, int threads);
/* Noise in what calls have left behind, as far as that is quick: nothing of a sequence that is begun anew may depend on it. */
void engine_forget(Engine *e);

/* What one call takes and gives, by the graph's numbers of inputs, outputs and named dimensions.  Tensors are row-major. */
typedef struct {
        const void *const *input; /* [ninput]: int32_t for ids and whole numbers, else float */
        float *const *output;     /* [noutput]: each NULL (not wanted), or where it goes */
        const int64_t *size;      /* [nnamed]: those of time and past are not read */
} EngineCall;

/* Causal models.  Takes n positions more, the inputs being of these; inputs that are fed apart (an encoder's) are taken by the
 * call that begins at position 0 and hold for those that follow.  Outputs are those of positions `first` to n alone. */
const char *engine_advance(Engine *e, const EngineCall *call, int64_t n, int64_t first);
int64_t engine_position(const Engine *e);        /* positions taken so far */
const char *engine_rewind(Engine *e, int64_t n); /* back to the first n */

/* Of a plan for several slots: the functions above are about the slot that was selected last, 0 at first. */
const char *engine_select(Engine *e, int slot);
/* One sequence of a batch: it takes n positions more; outputs are those of its positions `first` to n. */
typedef struct {
        int slot;
        int64_t n, first;
} EngineSequence;
/* Takes positions of several sequences at once, at most plan->chunk together.  Inputs lie one sequence after another, as do the
 * outputs that are wanted.  What is fed apart is taken by engine_advance, which begins a sequence. */
const char *engine_batch(Engine *e, const EngineSequence *s, int sequences, const EngineCall *call);

/* Other models: the whole at once. */
const char *engine_forward(Engine *e, const EngineCall *call);

/* From token ids [n] to logits [n - first, vocab] of positions first to n (NULL: not wanted), for models of that kind: see
 * why_not_generating() in generate.h. */
const char *engine_tokens(Engine *e, const int32_t *tokens, int64_t n, int64_t first, float *logits);

/* Asked from another thread or a signal handler: the call at hand, and later ones, end with "interrupted"; false takes it back. */
void engine_interrupt(Engine *e, bool stop);

const char *engine_tier(const Engine *e);       /* "tcc" or "cc" */
double engine_compile_seconds(const Engine *e); /* of libtcc */
#endif
