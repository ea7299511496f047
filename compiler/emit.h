/* The emitted files. */
#ifndef EMIT_H
#define EMIT_H
#include "plan.h"
#include "text.h"
#include "tokenizer.h"

typedef struct {
        const char *name; /* base name of the files: "tale" for tale.c, tale.h, tale.weights */
        bool with_main, embed;
        const Tokenizer *tokenizer;      /* NULL: none */
        const float *weights;            /* embed: the packed weights */
        int64_t parameters, flops_token; /* for the header comment */
} EmitOptions;

/* The model's C and its header.  Expects a planned and synchronised program. */
void emit(Plan *p, const EmitOptions *o, Text *c, Text *h);
uint64_t layout_hash(const Plan *p); /* what the packed weights must have been laid out for */
#endif
