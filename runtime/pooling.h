/*
 * The vector of a text, out of those of its tokens; and the order of a sparse one.
 *
 * Needs real_tables.h and reals.h.
 */
#include <stdint.h>

/* Column i of row [n][width]: of the first row, or the mean over all, in double. */
static inline double pooled_column(const float *row, int64_t n, int64_t width, int averages, int64_t i)
{
        double total = 0;
        for (int64_t k = 0; k < (averages ? n : 1); k++)
                total += row[k * width + i];
        return averages ? total / (double)n : total;
}

/* A vector [width] of row [n][width], of length 1 if it is to be. */
static inline void pooled_vector(const float *row, int64_t n, int64_t width, int averages, int has_length_1, float *vector)
{
        double square = 0, length = 1;
        for (int64_t i = 0; i < width && has_length_1; i++) {
                const double x = pooled_column(row, n, width, averages, i);
                square += x * x;
        }
        if (has_length_1)
                length = reals_sqrt(square) > 1e-12 ? reals_sqrt(square) : 1e-12;
        for (int64_t i = 0; i < width; i++)
                vector[i] = (float)(pooled_column(row, n, width, averages, i) / length);
}

/* Whether i is before k: the larger value first, then the smaller number. */
static inline int sparse_before(const float *x, int32_t i, int32_t k)
{
        return x[i] != x[k] ? x[i] > x[k] : i < k;
}

/* Moves entry `at` of a heap of numbers [n], whose root is the last one in the order, to its level. */
static inline void sparse_sift(const float *x, int32_t *heap, int64_t n, int64_t at)
{
        for (int64_t child; (child = 2 * at + 1) < n; at = child) {
                const int32_t number = heap[at];
                child += child + 1 < n && sparse_before(x, heap[child], heap[child + 1]);
                if (!sparse_before(x, number, heap[child]))
                        return;
                heap[at] = heap[child];
                heap[child] = number;
        }
}

/* Sorts the numbers of the values of x [n] that are not 0 into order [n]: the largest value first.  Returns how many there are; -1: a value
 * is NaN or infinite. */
static inline int64_t sparse_order(const float *x, int64_t n, int32_t *order)
{
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) {
                if (x[i] - x[i] != 0)
                        return -1;
                if (x[i] != 0)
                        order[count++] = (int32_t)i;
        }
        for (int64_t i = count / 2 - 1; i >= 0; i--)
                sparse_sift(x, order, count, i);
        for (int64_t last = count - 1; last > 0; last--) {
                const int32_t number = order[0];
                order[0] = order[last];
                order[last] = number;
                sparse_sift(x, order, last, 0);
        }
        return count;
}

/* Number of printed entries of a sparse vector, unless another one is given. */
enum { SPARSE_TOP = 10 };
