/*
 * The tables of kernels that kernels.c and kernels_blocks.c make for an instruction set.
 */
#ifndef KERNEL_TABLE_PRIVATE_H
#define KERNEL_TABLE_PRIVATE_H
#include <stdint.h>

typedef void KernelFunction(void); /* to be cast to `declaration` */

typedef struct KernelSymbol {
        const char *name, *declaration; /* NULL: not for libtcc's code */
        KernelFunction *function;
} KernelSymbol;

/* each ends with a NULL name; those of this processor's architecture are linked */
#define TARGET(name, ...) extern const KernelSymbol kernels_##name[], kernels_blocks_##name[];
#include "../kernels/targets.def"

#endif
