/* Singular values of a product, and the principal axes of a matrix.
 *
 * Of a product, without forming it: a = Q r and b = P t by Householder's reflections, so those of a b' are those
 * of the small r t'; these by one-sided Jacobi rotations (Hestenes 1958), which are accurate for small ones too.
 *
 * Principal axes (Pearson 1901): rows of x, or of the covariance x' x where that is smaller, are turned until they are at right angles;
 * they then point along the axes, and their lengths, or the roots of these, are the singular values. */
#include "repl_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reduces the first min(d, n) rows of x [d][n] to upper triangular form. */
static void triangulate(double *x, int64_t d, int64_t n)
{
        for (int64_t k = 0; k < n && k + 1 < d; k++) {
                double norm = 0;
                for (int64_t i = k; i < d; i++)
                        norm += x[i * n + k] * x[i * n + k];
                norm = sqrt(norm);
                if (norm == 0)
                        continue;
                double head = x[k * n + k] + (x[k * n + k] < 0 ? -norm : norm), square = head * head;
                for (int64_t i = k + 1; i < d; i++)
                        square += x[i * n + k] * x[i * n + k];
                for (int64_t j = k + 1; j < n; j++) {
                        double along = head * x[k * n + j];
                        for (int64_t i = k + 1; i < d; i++)
                                along += x[i * n + k] * x[i * n + j];
                        along *= 2 / square;
                        x[k * n + j] -= along * head;
                        for (int64_t i = k + 1; i < d; i++)
                                x[i * n + j] -= along * x[i * n + k];
                }
                x[k * n + k] = x[k * n + k] < 0 ? norm : -norm;
                for (int64_t i = k + 1; i < d; i++)
                        x[i * n + k] = 0;
        }
}

/* Rotates rows p and q of length n until they are orthogonal; returns whether they were not. */
static bool rotate(double *p, double *q, int64_t n)
{
        double pp = 0, qq = 0, pq = 0;
        for (int64_t i = 0; i < n; i++) {
                pp += p[i] * p[i];
                qq += q[i] * q[i];
                pq += p[i] * q[i];
        }
        if (fabs(pq) <= 1e-15 * sqrt(pp * qq))
                return false;
        double zeta = (qq - pp) / (2 * pq);
        double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta)), c = 1 / sqrt(1 + t * t),
               s = c * t;
        for (int64_t i = 0; i < n; i++) {
                double at = p[i];
                p[i] = c * at - s * q[i];
                q[i] = s * at + c * q[i];
        }
        return true;
}

/* Rotates the rows of g [rows][columns] until all are orthogonal. */
static void orthogonalise(double *g, int64_t rows, int64_t columns)
{
        enum { MAX_SWEEPS = 60 };
        bool moved = true;
        for (int sweep = 0; moved && sweep < MAX_SWEEPS; sweep++) {
                moved = false;
                for (int64_t p = 0; p < rows; p++)
                        for (int64_t q = p + 1; q < rows; q++)
                                moved |= rotate(g + p * columns, g + q * columns, columns);
        }
}

static int descending(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x < y) - (x > y);
}

bool singular_values_of_product(double *a, int64_t n, double *b, int64_t m, int64_t d, double *value)
{
        int64_t rows = min_int64(d, n), columns = min_int64(d, m), wanted = min_int64(rows, m);
        double *g = calloc((size_t)(rows * columns) + 1, sizeof *g); /* [rows][columns] = r t' */
        double *norm = calloc((size_t)rows + 1, sizeof *norm);
        if (!g || !norm)
                return free(g), free(norm), false;
        triangulate(a, d, n);
        triangulate(b, d, m);
        /* r [rows][n] and t [columns][m] have the same inner length: that of a head */
        for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++)
                        for (int64_t k = 0; k < min_int64(n, m); k++)
                                g[i * columns + j] += a[i * n + k] * b[j * m + k];
        orthogonalise(g, rows, columns);
        for (int64_t i = 0; i < rows; i++) {
                for (int64_t j = 0; j < columns; j++)
                        norm[i] += g[i * columns + j] * g[i * columns + j];
                norm[i] = sqrt(norm[i]);
        }
        qsort(norm, (size_t)rows, sizeof *norm, descending);
        memcpy(value, norm, (size_t)wanted * sizeof *value);
        free(norm);
        free(g);
        return true;
}

/* Subtracts the mean from x [n][d]; returns the sum of squares. */
static double take_mean_off(double *x, int64_t n, int64_t d)
{
        double squares = 0;
        for (int64_t j = 0; j < d; j++) {
                double sum = 0;
                for (int64_t i = 0; i < n; i++)
                        sum += x[i * d + j];
                for (int64_t i = 0; i < n; i++) {
                        x[i * d + j] -= sum / (double)n;
                        squares += x[i * d + j] * x[i * d + j];
                }
        }
        return squares;
}

/* g [d][d] = x' x */
static void covariance(const double *x, int64_t n, int64_t d, double *g)
{
        for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < d; j++)
                        for (int64_t k = 0; k < d; k++)
                                g[j * d + k] += x[i * d + j] * x[i * d + k];
}

/* Moves the longest row of g [rows][d] to axis, normalised, and sets it to 0; returns its squared length. */
static double take_longest(double *g, int64_t rows, int64_t d, double *axis)
{
        int64_t best = 0;
        double most = 0;
        for (int64_t i = 0; i < rows; i++) {
                double square = 0;
                for (int64_t j = 0; j < d; j++)
                        square += g[i * d + j] * g[i * d + j];
                if (square > most) {
                        most = square;
                        best = i;
                }
        }
        for (int64_t j = 0; j < d; j++) {
                axis[j] = most > 0 ? g[best * d + j] / sqrt(most) : 0;
                g[best * d + j] = 0;
        }
        return most;
}

bool principal_axes(double *x, int64_t n, int64_t d, int k, double *axis, double *share)
{
        const double all = take_mean_off(x, n, d);
        const bool is_small = n <= d; /* else rows of the covariance, whose lengths are the squares */
        const int64_t rows = min_int64(n, d);
        double *g = calloc((size_t)(rows * d) + 1, sizeof *g);
        if (!g)
                return false;
        if (is_small)
                memcpy(g, x, (size_t)(n * d) * sizeof *g);
        else
                covariance(x, n, d, g);
        orthogonalise(g, rows, d);
        for (int i = 0; i < k; i++) {
                const double square = take_longest(g, rows, d, axis + i * d),
                             along = is_small ? square : sqrt(square);
                share[i] = all > 0 ? along / all : 0;
        }
        free(g);
        return true;
}
