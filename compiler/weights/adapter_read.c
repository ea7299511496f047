/* Numbers of tensors that adapters change, computed when they are read.
 *
 * Products and sums are double: those of one element are added in the order of the rank, multiplied by the scale, and added
 * to the number of the tensor, adapter by adapter.  Only the result is rounded to a float. */
#include "adapter_private.h"
#include "scaled_private.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_AT_ONCE = 1024 };

/* Columns whose sums are in registers: a number that compilers unroll and vectorise. */
enum { SUMS_AT_ONCE = 8 };

/* Sums of products of n columns, n <= SUMS_AT_ONCE, in the order of the rank. */
static void delta_sums(const AdapterDelta *d, const float *left, const float *right, int64_t step, int64_t n,
                       double *sum)
{
        float some[SUMS_AT_ONCE] = {0};
        for (int i = 0; i < SUMS_AT_ONCE; i++)
                sum[i] = 0;
        for (int64_t k = 0; k < d->rank; k++, right += step) {
                const double l = left[k];
                const float *from = right;
                if (n < SUMS_AT_ONCE)
                        from = memcpy(some, right, (size_t)n * sizeof *some);
                for (int i = 0; i < SUMS_AT_ONCE; i++)
                        sum[i] += l * from[i];
        }
}

/* Adds s B A to n numbers of a row. */
static void delta_add(const CkAdapted *a, const AdapterDelta *d, int64_t row, int64_t column, int64_t n,
                      double *x)
{
        double sum[SUMS_AT_ONCE];
        const float *left = d->left + row * d->rank, *right = d->right + column;
        for (int64_t at = 0, some; at < n; at += some) {
                some = n - at < SUMS_AT_ONCE ? n - at : SUMS_AT_ONCE;
                delta_sums(d, left, right + at, a->columns, some, sum);
                for (int64_t i = 0; i < some; i++)
                        x[at + i] += d->scale * sum[i];
        }
}

static int64_t delta_outputs(const CkAdapted *a, const AdapterDelta *d)
{
        return d->by_column ? a->columns : a->rows;
}

/* Adds the squares of V + s B A to those of each output of the product. */
static bool delta_squares(const CkAdapted *a, const AdapterDelta *d, double *square)
{
        double x[COLUMNS_AT_ONCE];
        for (int64_t row = 0; row < a->rows; row++)
                for (int64_t column = 0, n; column < a->columns; column += n) {
                        n = a->columns - column < COLUMNS_AT_ONCE ? a->columns - column : COLUMNS_AT_ONCE;
                        if (!checkpoint_read_f64(&a->base, row * a->columns + column, n, x))
                                return false;
                        delta_add(a, d, row, column, n, x);
                        for (int64_t i = 0; i < n; i++)
                                square[d->by_column ? column + i : row] += x[i] * x[i];
                }
        checkpoint_let_go(&a->base, 0, a->base.count);
        return true;
}

/* Factors of DoRA.  An output whose weights are all 0 keeps them: its factor is 0, not 0 / 0. */
static bool delta_factors(const CkAdapted *a, AdapterDelta *d)
{
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        const int64_t n = delta_outputs(a, d);
        pthread_mutex_lock(&lock);
        double *factor = d->factor ? NULL : calloc((size_t)n + 1, sizeof *factor);
        if (factor && delta_squares(a, d, factor)) {
                for (int64_t i = 0; i < n; i++)
                        factor[i] = factor[i] > 0 ? d->magnitude[i] / sqrt(factor[i]) : 0;
                d->factor = factor;
                factor = NULL;
        }
        free(factor);
        const bool good = d->factor != NULL;
        pthread_mutex_unlock(&lock);
        return good;
}

/* Changes n numbers of a row. */
static void delta_apply(const CkAdapted *a, const AdapterDelta *d, int64_t row, int64_t column, int64_t n,
                        double *x)
{
        delta_add(a, d, row, column, n, x);
        for (int64_t i = 0; d->magnitude && i < n; i++)
                x[i] *= d->factor[d->by_column ? column + i : row];
}

bool adapted_read(const CkTensor *tensor, int64_t first, int64_t count, double *out)
{
        const CkAdapted *a = tensor->adapted;
        for (AdapterDelta *d = a->first; d; d = d->next)
                if (d->magnitude && !delta_factors(a, d))
                        return false;
        if (!checkpoint_read_f64(&a->base, first, count, out))
                return false;
        for (int64_t at = first, n; at < first + count; at += n) {
                const int64_t row = at / a->columns, column = at % a->columns;
                n = a->columns - column < COLUMNS_AT_ONCE ? a->columns - column : COLUMNS_AT_ONCE;
                n = n < first + count - at ? n : first + count - at;
                for (const AdapterDelta *d = a->first; d; d = d->next)
                        delta_apply(a, d, row, column, n, out + (at - first));
        }
        return true;
}

bool adapted_read_f32(const CkTensor *tensor, int64_t first, int64_t count, float *out)
{
        double x[COLUMNS_AT_ONCE];
        for (int64_t done = 0, n; done < count; done += n) {
                n = count - done < COLUMNS_AT_ONCE ? count - done : COLUMNS_AT_ONCE;
                if (!adapted_read(tensor, first + done, n, x))
                        return false;
                for (int64_t i = 0; i < n; i++)
                        out[done + i] = (float)x[i];
        }
        return true;
}

void adapter_delta_free(AdapterDelta *delta)
{
        if (!delta)
                return;
        free(delta->left);
        free(delta->right);
        free(delta->magnitude);
        free(delta->factor);
        free(delta);
}

void adapted_free(CkAdapted *adapted)
{
        if (!adapted)
                return;
        for (AdapterDelta *d = adapted->first, *next; d; d = next) {
                next = d->next;
                adapter_delta_free(d);
        }
        scaled_free(adapted->base.scaled);
        free(adapted);
}
