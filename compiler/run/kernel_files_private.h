/*
 * The runtime's files for the kernels of one instruction set.
 *
 * Whoever includes this defines STORAGES, whose tiles matmul.h makes.
 *
 * To be compiled with KERNELS_ISA, a name of kernels/targets.def, KERNELS_VECTOR, KERNELS_INTEGERS and KERNELS_DOT, its headers, and
 * the flags that stand there.
 */
#ifndef KERNEL_FILES_PRIVATE_H
#define KERNEL_FILES_PRIVATE_H
#if defined(__clang__)
#pragma clang diagnostic ignored                                                                             \
        "-Wpass-failed" /* sizes that are literals in emitted C are arguments here: some loops are not unrolled */
#endif
#include <stddef.h>
#include <string.h>

#include "guard.h"

#include KERNELS_VECTOR

#define TARGET(name, machine, vectors, dot, flags, guard, rows, panels, few_panels, one_panels, code_rows,   \
               ...)                                                                                          \
        enum {                                                                                               \
                ROWS_##name = rows,                                                                          \
                PANELS_##name = panels,                                                                      \
                FEW_PANELS_##name = few_panels,                                                              \
                ONE_PANELS_##name = one_panels,                                                              \
                CODE_ROWS_##name = code_rows                                                                 \
        };
#include "../kernels/targets.def"
#include "../kernels/tiles.def"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TILE_ROWS JOIN(ROWS_, KERNELS_ISA)
#define TILE_PANELS JOIN(PANELS_, KERNELS_ISA)
#define FEW_PANELS JOIN(FEW_PANELS_, KERNELS_ISA)
#define ONE_PANELS JOIN(ONE_PANELS_, KERNELS_ISA)
#define CODE_ROWS JOIN(CODE_ROWS_, KERNELS_ISA)
#define TILES(T, of) JOIN(TILES_, KERNELS_ISA)(T, of) JOIN(FEW_TILES_, KERNELS_ISA)(T, of)
#define CODE_TILES(T, of) JOIN(CODE_TILES_, KERNELS_ISA)(T, of)
#define TILE_NAME(of, rows, panels) tile_##of##_##rows##x##panels
#define STATES(S) S(STORAGE_F32) S(STORAGE_F16) S(STORAGE_KEPT(32, 16)) S(STORAGE_KEPT(32, 1)) S(storage)

#include "math.h"
#include "rows.h"
#include "wide.h"
#include "narrow.h"
#include "kept.h"
#include "tile.h"
#include "book_tables.h"
#include "book_values.h"
#include "block_values.h"
#include KERNELS_INTEGERS
#include KERNELS_DOT
#include "books.h"
#include "blocks.h"
#if HAS_AMX
#include "amx.h"
#endif
#include "matmul.h"

#include "kernel_table_private.h"

#define ROW(name, result, function, parameters)                                                              \
        {#name, #result " " #name parameters ";", (KernelFunction *)function},

#endif
