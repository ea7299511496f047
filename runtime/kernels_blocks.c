/*
 * Products with weights in blocks, compiled into lathe once for each target: see kernels.c.
 */
#include "../compiler/run/kernel_files_private.h"

#define BLOCKS_OF(storage)                                                                                   \
        case storage:                                                                                        \
                matmul_blocks(ctx, epilogue, codes, active, rows, k, w, storage, group, tiling, panel0,      \
                              panel1, scratch);                                                              \
                break;
static void any_matmul_blocks(const void *ctx, Epilogue *epilogue, const void *codes, const int32_t *active,
                              int64_t rows, int k, const void *w, int storage, int group,
                              const Tiling *tiling, int panel0, int panel1, float *scratch)
{
        switch (storage) {
                BLOCKS_OF(STORAGE_Q8_0)
                BLOCKS_OF(STORAGE_Q4_0)
                BLOCKS_OF(STORAGE_Q4_1)
                BLOCKS_OF(STORAGE_MXFP4)
                BLOCKS_OF(STORAGE_Q4_K)
                BLOCKS_OF(STORAGE_Q5_K)
                BLOCKS_OF(STORAGE_Q6_K)
        }
}

/* clang-format off */
const KernelSymbol JOIN(kernels_blocks_, KERNELS_ISA)[] = {
        ROW(matmul_blocks, void, any_matmul_blocks,
            "(const void *ctx, void (*epilogue)(const void *ctx, int64_t row, int panel, const v16 *acc), const void *codes, "
            "const int32_t *active, int64_t rows, int k, const void *w, int storage, int group, const void *tiling, int panel0, int panel1, "
            "float *scratch)")
        {NULL, NULL, NULL}};
/* clang-format on */
