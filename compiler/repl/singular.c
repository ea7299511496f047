/* Singular values of a product, without forming it: a = Q r and b = P t by Householder's reflections, so those of a b' are those
 * of the small r t'; these by one-sided Jacobi rotations (Hestenes 1958), which are accurate for small ones too. */
#include "repl_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x [d][n] becomes upper triangular in its first min(d, n) rows. */
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

/* Turns rows p and q of g [..][n] until they are at right angles; whether they were not. */
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

static int descending(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x < y) - (x > y);
}

static int64_t least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

bool singular_values_of_product(double *a, int64_t n, double *b, int64_t m, int64_t d, double *value)
{
        enum { MOST_SWEEPS = 60 };
        int64_t rows = least(d, n), columns = least(d, m), wanted = least(rows, m);
        double *g = calloc((size_t)(rows * columns) + 1, sizeof *g); /* [rows][columns] = r t' */
        double *norm = calloc((size_t)rows + 1, sizeof *norm);
        if (!g || !norm)
                return free(g), free(norm), false;
        triangulate(a, d, n);
        triangulate(b, d, m);
        /* r [rows][n] and t [columns][m] have one inner length: that of a head */
        for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++)
                        for (int64_t k = 0; k < least(n, m); k++)
                                g[i * columns + j] += a[i * n + k] * b[j * m + k];
        bool moved = true;
        for (int sweep = 0; moved && sweep < MOST_SWEEPS; sweep++) {
                moved = false;
                for (int64_t p = 0; p < rows; p++)
                        for (int64_t q = p + 1; q < rows; q++)
                                moved |= rotate(g + p * columns, g + q * columns, columns);
        }
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
