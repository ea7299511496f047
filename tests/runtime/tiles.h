/*
 * TILES(T) of the target that is tested, TARGET_NAME.
 */
#include "../../compiler/kernels/tiles.def"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TILES(T) JOIN(TILES_, TARGET_NAME)(T)
