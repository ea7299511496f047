/*
 * The table of kernels that kernels.c makes for an instruction set.
 */
#ifndef KERNELS_H
#define KERNELS_H
#include <stdint.h>

#include "target.h"

typedef void KernelFunction(void); /* to be called as the declaration says */

typedef struct {
        const char *name, *declaration; /* NULL: not for code that libtcc makes */
        KernelFunction *function;
} KernelSymbol;

/* "sample": runtime/sampler.h */
typedef int SampleFunction(float temperature, int top_k, float top_p, float min_p, uint64_t *state,
                           int32_t *order, float *logits, int n);

/* each ends with a NULL name; those of this processor's architecture are linked */
extern const KernelSymbol kernels_scalar[], kernels_avx2[], kernels_avx512[], kernels_neon[];

const KernelSymbol *kernels_of(const Target *t); /* NULL: not linked */
KernelFunction *kernel_find(const Target *t, const char *name);
#endif
