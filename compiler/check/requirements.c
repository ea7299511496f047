/* Whether the requirements of a test hold.
 *
 * Two values are equal if they are within the bound of each other, absolutely, at every index; NaN equals NaN, and an
 * infinity itself. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
        int64_t compared, apart; /* number of elements, and of those that differ by more than the bound */
        int64_t first;           /* index of the first of those */
        double left, right;      /* its values */
        double most;             /* the largest difference */
} TensorDifference;

/* --- comparing ------------------------------------------------------------------------------------------- */

static double distance(double a, double b)
{
        if ((isnan(a) && isnan(b)) || a == b)
                return 0;
        double d = fabs(a - b);
        return isnan(d) ? INFINITY : d;
}

/* Element i of the common shape, in a tensor with axes of size 1, or a scalar. */
static double broadcast_at(const Tensor *t, const Tensor *wide, int64_t i)
{
        int64_t at = 0, stride = 1;
        for (int a = wide->rank - 1, own = t->rank - 1; own >= 0; a--, own--) {
                if (t->dim[own] > 1)
                        at += i % wide->dim[a] * stride;
                stride *= t->dim[own];
                i /= wide->dim[a];
        }
        return t->data[at];
}

static Tensor common_shape(const Tensor *a, const Tensor *b)
{
        Tensor wide = a->rank > b->rank ? *a : *b;
        for (int i = 0; a->rank == b->rank && i < wide.rank; i++)
                wide.dim[i] = a->dim[i] == 1 ? b->dim[i] : a->dim[i];
        return wide;
}

static TensorDifference tensors_difference(const Tensor *left, const Tensor *right, double within)
{
        Tensor wide = common_shape(left, right);
        TensorDifference d = {.compared = 1};
        for (int i = 0; i < wide.rank; i++)
                d.compared *= wide.dim[i];
        for (int64_t i = 0; i < d.compared; i++) {
                double a = broadcast_at(left, &wide, i), b = broadcast_at(right, &wide, i),
                       far = distance(a, b);
                d.most = far > d.most ? far : d.most;
                if (far <= (within > 0 ? within : 0))
                        continue;
                if (!d.apart++) {
                        d.first = i;
                        d.left = a;
                        d.right = b;
                }
        }
        return d;
}

/* --- messages ----------------------------------------------------------------------------------------------- */

static const char *tensor_text(Arena *a, const Tensor *t)
{
        return t->rank ? shape_text(a, t->rank, t->dim) : "a number";
}

static const char *at_index(Arena *a, const Tensor *t, int64_t i)
{
        return t->rank ? arena_printf(a, " at %s", element_index_text(a, t->rank, t->dim, i)) : "";
}

/* The shortest text that reads back as the same number. */
static const char *requirement_number(Arena *a, double x)
{
        const char *text = "";
        for (int digits = 6; digits <= 17; digits++) {
                text = arena_printf(a, "%.*g", digits, x);
                if (isnan(x))
                        return "nan";
                if (strtod(text, NULL) == x)
                        break;
        }
        return text;
}

static void requirement_report(Diag *diag, const Requirement *r, const char *what)
{
        diag_error(diag, r->span, "%s", r->message ? r->message : what);
        if (r->message)
                diag_hint(diag, "%s", what);
}

static bool check_equal(Diag *diag, const Requirement *r, const Tensor *left, const Tensor *right)
{
        Arena *a = diag->arena;
        TensorDifference d = tensors_difference(left, right, r->within);
        if (r->want_equal ? !d.apart : d.apart > 0)
                return true;
        Tensor wide = common_shape(left, right);
        const char *allowed = r->within > 0 ? arena_printf(a, "%.6g", r->within) : NULL;
        if (!r->want_equal) {
                requirement_report(
                        diag, r,
                        allowed ? arena_printf(a, "the two sides are nowhere more than %s apart", allowed)
                                : "the two sides are equal");
        } else {
                requirement_report(diag, r,
                                   arena_printf(a, "the two sides differ%s: %s and %s, %.3g apart%s",
                                                at_index(a, &wide, d.first), requirement_number(a, d.left),
                                                requirement_number(a, d.right), distance(d.left, d.right),
                                                allowed ? arena_printf(a, ", more than %s", allowed) : ""));
        }
        diag_hint(diag, "shapes %s and %s; %lld of %lld elements differ, by %.3g at most",
                  tensor_text(a, left), tensor_text(a, right), (long long)d.apart, (long long)d.compared,
                  d.most);
        return false;
}

static bool check_true(Diag *diag, const Requirement *r, const Tensor *condition)
{
        int64_t count = 1, wrong = 0, first = -1;
        for (int i = 0; i < condition->rank; i++)
                count *= condition->dim[i];
        for (int64_t i = 0; i < count; i++) {
                if (condition->data[i] != 0)
                        continue;
                wrong++;
                first = first < 0 ? i : first;
        }
        if (!wrong)
                return true;
        Arena *a = diag->arena;
        requirement_report(diag, r, arena_printf(a, "this is false%s", at_index(a, condition, first)));
        if (condition->rank)
                diag_hint(diag, "shape %s; false in %lld of %lld elements", tensor_text(a, condition),
                          (long long)wrong, (long long)count);
        return false;
}

/* --- all of them ------------------------------------------------------------------------------------- */

void check_requirements(Diag *diag, const Graph *g, const Tensor *value)
{
        for (int i = 0; i < g->nrequire; i++) {
                const Requirement *r = &g->require[i];
                if (r->left)
                        check_equal(diag, r, &value[2L * i], &value[2L * i + 1]);
                else
                        check_true(diag, r, &value[2L * i + 1]);
        }
}
