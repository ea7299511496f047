/*
 * Products with weights in blocks, compiled into lathe once for each target.  See kernels.c.
 */
#include "../compiler/graph/block_storages.h"
#define TILES_OF_BLOCKS(S, NAME, ...) S(CODE_TILES, NAME)
#define STORAGES(S) CODE_STORAGES(TILES_OF_BLOCKS, S)
#include "../compiler/run/kernel_files_private.h"

#define HAS_SIZE(of, NAME, name, steps, codes, bytes, floats, halves)                                        \
        _Static_assert(BLOCK_##NAME == bytes && HAS_##NAME,                                                  \
                       "rows of block_storages.h agree with tile.h and facts.h");
BLOCK_STORAGES(HAS_SIZE, )

static void any_matmul_blocks(const void *ctx, Epilogue *epilogue, const void *codes, const int32_t *active,
                              int64_t rows, int k, const void *w, int storage, int group,
                              const Tiling *tiling, int panel0, int panel1, float *scratch)
{
        matmul_blocks(ctx, epilogue, codes, active, rows, k, w, storage, group, tiling, panel0, panel1,
                      scratch);
}

/* clang-format off */
const KernelSymbol JOIN(kernels_blocks_, KERNELS_ISA)[] = {
        ROW(matmul_blocks, void, any_matmul_blocks,
            "(const void *ctx, void (*epilogue)(const void *ctx, int64_t row, int panel, const v16 *acc), const void *codes, "
            "const int32_t *active, int64_t rows, int k, const void *w, int storage, int group, const void *tiling, int panel0, int panel1, "
            "float *scratch)")
        {NULL, NULL, NULL}};
/* clang-format on */
