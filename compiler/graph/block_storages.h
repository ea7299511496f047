/*
 * Storage types of weights in blocks, one row each: ROW(of, NAME, name, steps, codes, bytes, floats, halves).  `of` is passed on to each
 * row.
 *
 *   NAME    its name: STORAGE_NAME here and in runtime/tile.h, CK_NAME of weights/types.def, HAS_NAME of the facts
 *   name    in text, and in --quant if weights/types.def has a quantiser; put_name() in weights/panel_blocks.c makes its blocks
 *   steps   of k in a block of 16 outputs
 *   codes   activations that are multiplied by it are quantised in groups of this size; 0: they stay floats
 *   bytes   of this block, as BLOCK_NAME in runtime/tile.h
 *   floats  bytes at its beginning that are 32-bit numbers
 *   halves  bytes after these that are 16-bit numbers
 *
 * The order is that of the numbers in runtime/tile.h.
 */
#ifndef BLOCK_STORAGES_H
#define BLOCK_STORAGES_H

#define CODE_STORAGES(ROW, of)                                                                               \
        ROW(of, Q8_0, q8_0, 32, 32, 544, 0, 32)                                                              \
        ROW(of, Q4_0, q4_0, 32, 32, 288, 0, 32)                                                              \
        ROW(of, Q4_1, q4_1, 32, 32, 320, 0, 64)                                                              \
        ROW(of, Q5_0, q5_0, 32, 32, 352, 0, 32)                                                              \
        ROW(of, Q5_1, q5_1, 32, 32, 384, 0, 64)                                                              \
        ROW(of, MXFP4, mxfp4, 32, 32, 288, 0, 32)                                                            \
        ROW(of, IQ4_NL, iq4_nl, 32, 32, 288, 0, 32)                                                          \
        ROW(of, NVFP4, nvfp4, 32, 32, 288, 0, 0)                                                             \
        ROW(of, Q2_K, q2_k, 256, 256, 1344, 0, 64)                                                           \
        ROW(of, Q3_K, q3_k, 256, 256, 1760, 0, 32)                                                           \
        ROW(of, Q4_K, q4_k, 256, 256, 2368, 0, 64)                                                           \
        ROW(of, Q5_K, q5_k, 256, 256, 2880, 0, 64)                                                           \
        ROW(of, Q6_K, q6_k, 256, 256, 3360, 0, 32)                                                           \
        ROW(of, IQ4_XS, iq4_xs, 256, 256, 2208, 0, 32)                                                       \
        ROW(of, TQ1_0, tq1_0, 256, 256, 864, 0, 32)                                                          \
        ROW(of, TQ2_0, tq2_0, 256, 256, 1056, 0, 32)                                                         \
        ROW(of, IQ3_XXS, iq3_xxs, 256, 256, 1568, 0, 32)                                                     \
        ROW(of, IQ3_S, iq3_s, 256, 256, 1760, 0, 32)                                                         \
        ROW(of, IQ2_XXS, iq2_xxs, 256, 256, 1056, 0, 32)                                                     \
        ROW(of, IQ2_XS, iq2_xs, 256, 256, 1184, 0, 32)                                                       \
        ROW(of, IQ2_S, iq2_s, 256, 256, 1312, 0, 32)                                                         \
        ROW(of, IQ1_S, iq1_s, 256, 256, 800, 0, 32)                                                          \
        ROW(of, IQ1_M, iq1_m, 256, 256, 896, 0, 32)                                                          \
        ROW(of, INT4_32, int4_32, 32, 32, 304, 0, 32)                                                        \
        ROW(of, INT4_64, int4_64, 64, 32, 560, 0, 32)                                                        \
        ROW(of, INT4_128, int4_128, 128, 32, 1072, 0, 32)

/* Those whose products are of floats. */
#define SCALED_STORAGES(ROW, of)                                                                             \
        ROW(of, E4M3, e4m3, 128, 0, 2112, 64, 0)                                                             \
        ROW(of, E5M2, e5m2, 128, 0, 2112, 64, 0)

#define BLOCK_STORAGES(ROW, of) CODE_STORAGES(ROW, of) SCALED_STORAGES(ROW, of)

#endif
