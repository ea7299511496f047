/* Sorts classes or tokens by the probabilities of their logits. */
#include <stdlib.h>

#include "driver.h"

/* The larger probability first; of equal ones, the smaller index. */
static int compare_likely(const void *a, const void *b)
{
        const Likely *x = a, *y = b;
        if (x->probability != y->probability)
                return x->probability > y->probability ? -1 : 1;
        return x->number < y->number ? -1 : x->number > y->number;
}

const Likely *likeliest_first(Arena *a, const float *logits, int64_t n, int activation)
{
        Likely *all = NEW_ARRAY(a, Likely, n);
        double *probability = NEW_ARRAY(a, double, n);
        if (!likely_classes(logits, n, activation, probability))
                return NULL;
        for (int64_t i = 0; i < n; i++)
                all[i] = (Likely){i, probability[i]};
        qsort(all, (size_t)n, sizeof *all, compare_likely);
        return all;
}
