/*
 * The vector of a text, out of those of its tokens.
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
