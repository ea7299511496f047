/* Packed weights in memory, by name and layout: what a change of the model leaves as it was is not packed again. */
#ifndef WEIGHT_POOL_H
#define WEIGHT_POOL_H
#include "plan.h"

typedef struct WeightPool WeightPool;

WeightPool *pool_new(void); /* NULL: no address space */
void pool_free(WeightPool *pool);

/* Lays the plan's weights and tables out in the pool: sets the offsets of its buffers, packs what is not there yet or has
 * another origin (a number for where values come from: each checkpoint that is opened another), and works tables out anew.
 * *base is then the plan's weights.  NULL, or what is wrong. */
const char *pool_fit(WeightPool *pool, Plan *p, const WeightSource *from, uint64_t origin,
                     const float **base);

/* A file of packed weights (`lathe build` writes it) mapped for the plan it was written for.  NULL with *why. */
typedef struct {
        const float *weights;
        void *mapped;
        size_t size;
        int entry;    /* of ending.h */
        bool lacking; /* what is wrong is the environment */
} PackedFile;
bool is_packed_file(const char *path, const char **why); /* *why: if that can't be told */
const char *packed_file_open(const char *path, const Plan *p, PackedFile *file);
void packed_file_close(PackedFile *file);
#endif
