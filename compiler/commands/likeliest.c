/* The likeliest of several, by their logits. */
#include <math.h>
#include <stdlib.h>

#include "commands_private.h"

/* The larger probability first; of equals the smaller number. */
static int compare(const void *a, const void *b)
{
        const Likely *x = a, *y = b;
        if (x->probability != y->probability)
                return x->probability > y->probability ? -1 : 1;
        return x->number < y->number ? -1 : x->number > y->number;
}

const Likely *likeliest_first(Arena *a, const float *logits, int64_t n)
{
        Likely *all = NEW_ARRAY(a, Likely, n);
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < n; i++)
                largest = logits[i] > largest ? logits[i] : largest;
        for (int64_t i = 0; i < n; i++) {
                all[i] = (Likely){i, real_exp(logits[i] - largest)};
                sum += all[i].probability;
        }
        if (!(sum > 0 && isfinite(sum)))
                return NULL;
        for (int64_t i = 0; i < n; i++)
                all[i].probability /= sum;
        qsort(all, (size_t)n, sizeof *all, compare);
        return all;
}
