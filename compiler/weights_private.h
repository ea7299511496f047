/* What weights.c and weights_write.c share. */
#ifndef WEIGHTS_PRIVATE_H
#define WEIGHTS_PRIVATE_H
#include "weight_map.h"
#include "weights.h"

struct Weights {
        const Graph *graph;
        WeightMap *map;          /* NULL: hashed */
        const CkTensor **tensor; /* [map->npublished] */
        float *block;            /* [CK_BLOCK] on its way from the file */
};
#endif
