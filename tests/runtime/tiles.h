/*
 * The tiles of the target that is tested, TARGET_NAME; products have weights in f32, f16 and bf16 where STORAGES says no other.
 */
#include "../../compiler/kernels/tiles.def"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define CHOICES(T, of) JOIN(TILES_, TARGET_NAME)(T, of)
#define TILES(T, of) CHOICES(T, of) JOIN(FEW_TILES_, TARGET_NAME)(T, of)
#define CODE_TILES(T, of) JOIN(CODE_TILES_, TARGET_NAME)(T, of)
#define TILE_NAME(of, rows, panels) tile_##of##_##rows##x##panels
#define STATES(S) S(STORAGE_F32) S(STORAGE_F16) S(storage)
#if !defined(STORAGES)
#define STORAGES(S) S(TILES, F32) S(TILES, F16) S(TILES, BF16)
#endif
