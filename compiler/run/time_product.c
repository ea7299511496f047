/* The time of a product with weights, with the kernels compiled into lathe. */
#define _POSIX_C_SOURCE 200809L
#include "jit_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ProductTimer {
        const Target *target;
        ProductShape of;
        float *x, *y, *scratch; /* [rows][depth]; [rows][panels][LANES] */
        void *codes, *weights;
};

enum { FILLING = 0x3c }; /* of every byte: normal numbers in all storages */

static void *filled(int64_t bytes)
{
        void *at = aligned_alloc(64, (size_t)round_up(bytes + 4096, 64));
        return at ? memset(at, FILLING, (size_t)round_up(bytes + 4096, 64)) : NULL;
}

ProductTimer *product_timer_new(const Target *t, const ProductShape *of)
{
        ProductTimer *timer = calloc(1, sizeof *timer);
        const int group = storage_info[of->storage].codes;
        if (!timer)
                return NULL;
        timer->target = t;
        timer->of = *of;
        timer->x = filled(of->rows * of->depth * 4);
        timer->y = filled(of->rows * of->panels * LANES * 4);
        timer->scratch = filled((PRODUCT_SCRATCH(MAX_AT_ONCE) + PRODUCT_WIDE(of->depth)) * 4);
        timer->codes = filled(of->rows * CODES_BYTES(of->depth));
        timer->weights = filled(storage_size(of->storage, of->panels * LANES * of->depth));
        if (!timer->x || !timer->y || !timer->scratch || !timer->codes || !timer->weights) {
                product_timer_free(timer);
                return NULL;
        }
        if (group)
                ((CodesOfRows *)kernel_find(t, "codes_of_rows"))(timer->codes, timer->x, of->depth, NULL,
                                                                 of->rows, (int)of->depth, group);
        return timer;
}

void product_timer_free(ProductTimer *timer)
{
        free(timer->x);
        free(timer->y);
        free(timer->scratch);
        free(timer->codes);
        free(timer->weights);
        free(timer);
}

static void store(const void *context, int64_t row, int panel, const float *results)
{
        const ProductTimer *timer = context;
        memcpy(timer->y + (row * timer->of.panels + panel) * LANES, results, LANES * sizeof *results);
}

static double seconds_of_thread(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double product_seconds(const ProductTimer *timer, int64_t rows, const ProductTiling *tiling)
{
        const ProductShape *of = &timer->of;
        const double least = 0.002, begin = seconds_of_thread();
        const int depth = (int)of->depth, panels = (int)of->panels;
        KernelFunction *blocks = kernel_find(timer->target, "matmul_blocks"),
                       *matmul = kernel_find(timer->target, "matmul");
        double now;
        int calls = 0;
        do {
                if (storage_info[of->storage].codes)
                        ((MatmulBlocks *)blocks)(timer, store, timer->codes, NULL, rows, depth,
                                                 timer->weights, (int)of->storage, 1, tiling, 0, panels,
                                                 timer->scratch);
                else
                        ((MatmulFunction *)matmul)(timer, store, timer->x, of->depth, rows, depth,
                                                   timer->weights, (int)of->storage, 1, tiling, 0, panels,
                                                   timer->scratch);
                calls++;
                now = seconds_of_thread();
        } while (now - begin < least);
        return (now - begin) / calls;
}
