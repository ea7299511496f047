/* Inputs made from hashes. */
#include "weights.h"

#include <math.h>
#include <stdlib.h>

enum { FEWER = 7 };

void hashed_sizes(const Graph *g, int64_t positions, int64_t *size)
{
        for (int i = 0; i < g->nnamed; i++) {
                int64_t want = positions - (int64_t)FEWER * i, bound = g->named[i].bound;
                size[i] = i == g->past ? 0 : want < 1 ? 1 : want < bound ? want : bound;
        }
}

double hashed_input(const Input *in, uint64_t i)
{
        double u = (hash_weight(hash_name(input_name(in)), i, 1, 0) + 1) / 2; /* 0 to 1 */
        if (!in->bound)
                return in->type.dtype == REAL ? (float)(2 * u - 1) : floor(2 * u);
        double id = floor(u * (double)in->bound);
        return id < (double)in->bound ? id : (double)in->bound - 1;
}

bool hashed_inputs(const Graph *g, const int64_t *size, Tensor *input)
{
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                Tensor *t = &input[i];
                int64_t n = type_count(&in->type, size);
                t->rank = in->type.rank;
                for (int a = 0; a < t->rank; a++)
                        t->dim[a] = dim_value(in->type.dim[a], size);
                t->data = malloc((size_t)n * sizeof *t->data + 1);
                for (int64_t k = 0; t->data && k < n; k++)
                        t->data[k] = hashed_input(in, (uint64_t)k);
                if (!t->data)
                        return false;
        }
        return true;
}
