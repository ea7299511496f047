/* A variant: a model compiled in one way (target, passes, chunk), loaded into this process, and called. */
#ifndef VARIANT_H
#define VARIANT_H
#include "driver/driver.h"

/* How a model is compiled. */
typedef struct {
        const char *name; /* as messages call it */
        const char *target;
        const char *compiler; /* command and flags */
        const char *off;      /* a pass left out, or NULL */
        int64_t chunk;        /* most positions in one go */
} Way;

typedef struct {
        const Way *way;
        Graph *graph; /* as the passes left it; lives in the model's arena until it is elaborated anew */
        Plan *plan;
        bool causal; /* takes its sequence in pieces */
        void *library;
        const char *weights; /* path */
        void *(*create)(const char *weights, int threads, int *error);
        void (*destroy)(void *model);
        int (*call)(void *model, const int64_t *size, void *const *input, int64_t n, float *const *output);
        const char *(*error)(int code);
} Variant;

/* Elaborates the model, runs the passes, emits, compiles and loads; false after a message. */
bool variant_open(Variant *v, Model *m, const CommandOptions *options, const Way *way, const char *folder);
void variant_close(Variant *v);

/* What a call reads and writes: float or int32_t, dense, the outermost axis first, each ending where memory ends. */
typedef struct {
        void **input;   /* [ninput] */
        float **output; /* [noutput] */
        const Graph *graph;
        int64_t size[MAX_NAMED];
        int unwanted; /* an output that is not asked for, or -1 */
} Tensors;
/* input: values; rows of the growing dimension from `spoilt` on get others (`poison`, if it is not a number, or numbers
 * made of it).  Outputs start as NaN. */
Tensors tensors_new(const Graph *g, const int64_t *size, const Tensor *input, int64_t spoilt, double poison);
void tensors_free(Tensors *t);

/* Runs the whole in pieces of `piece` positions; NULL or what went wrong. */
const char *variant_run(const Variant *v, int threads, int64_t piece, Tensors *t);
int64_t rows_of(const Tensors *t,
                const Type *type); /* positions, or 1 where the tensor does not run over them */
int64_t elements_of(const Tensors *t, const Type *type);
#endif
