/* The emitted files. */
#ifndef EMIT_H
#define EMIT_H
#include "plan.h"
#include "text.h"
#include "tokenizer.h"

typedef struct {
        const char *name; /* base name of the files: "tale" for tale.c, tale.h, tale.weights */
        bool with_main, embed;
        bool alone;                      /* the C holds its header */
        const Tokenizer *tokenizer;      /* NULL: none */
        const float *weights;            /* embed: the packed weights */
        int64_t parameters, flops_token; /* for the header comment */
} EmitOptions;

/* The model's C and its header.  Expects a planned and synchronised program. */
void emit(Plan *p, const EmitOptions *o, Text *c, Text *h);

/* The same program without an interface, for an engine: `lathe_program(instance, thread)`, and `lathe_instance[]`: the
 * instance's size, then the offsets of its `first`, `whole`, `done`, `part`, `slot`, `sequences`, `ranges`, `sequence`,
 * `range`, `of` and `base` (-1: none), of the size of each named dimension, each
 * input and each output.  given: for libtcc, the declarations of what lathe hands over (runtime/jit.h and the kernels), vectors
 * being passed by address; NULL: for the system's compiler, with all that the program needs. */
void emit_program_alone(Plan *p, const char *given, Text *c);
int64_t scratch_size(const Plan *p); /* floats that each thread needs */
/* of an input or output: elements of one position, or all where it has no positions */
int64_t row_elements(const Plan *p, const Type *t);
/* its pointer moves on with the positions taken; what has another named axis stays, and counts them in `done` */
bool advances(const Plan *p, const Type *t);
uint64_t layout_hash(const Plan *p); /* what the packed weights must have been laid out for */
#endif
