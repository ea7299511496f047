/* Clauses as bounds on one index. */
#include "affine_private.h"

/* ceil(d / by) for every coefficient: at least d / by, sizes being positive */
static Dim divide_up(Dim d, int64_t by)
{
        d.fixed = d.fixed / by + (d.fixed % by > 0);
        for (int i = 0; i < MAX_NAMED; i++)
                d.per[i] = d.per[i] / by + (d.per[i] % by > 0);
        return d;
}

static Dim divide_down(Dim d, int64_t by)
{
        return dim_scale(divide_up(dim_scale(d, -1), by), -1);
}

/* One term, c + sum coef x - s j >= 0, as j <= index of *axis + *offset; axis -1: j <= *offset. */
static bool term_above(const Affine *a, const Dim *dim, int time, int j, int *axis, Dim *offset)
{
        int64_t s = -a->coef[j];
        Dim c = a->constant;
        *axis = -1;
        for (int i = 0; i < AXES; i++) {
                if (i == j || a->coef[i] <= 0) /* indices are at least 0 */
                        continue;
                if (dim_is_fixed(dim[i])) {
                        c.fixed += a->coef[i] * (dim[i].fixed - 1);
                } else if (*axis < 0 && a->coef[i] <= s && dim[i].per[time] == 1) {
                        *axis = i;
                } else {
                        return false;
                }
        }
        *offset = dim_is_fixed(c) ? divide_down(c, s) : divide_up(c, s);
        return true;
}

/* Whether a <= b for all sizes. */
static bool dim_at_most(const Graph *g, Dim a, Dim b)
{
        return dim_bound(g, dim_sub(a, b)) <= 0;
}

Above clause_above(const Graph *g, const Clause *c, const Dim *dim, int time, int j)
{
        Above above = {.axis = -1};
        for (int i = 0; i < c->n; i++) {
                int axis;
                Dim at;
                if (c->term[i].coef[j] >= 0 || !term_above(&c->term[i], dim, time, j, &axis, &at))
                        continue;
                if (axis < 0 && (!above.by_number || dim_at_most(g, at, above.number))) {
                        above.by_number = true;
                        above.number = at;
                } else if (axis >= 0 && (above.axis < 0 || dim_at_most(g, at, above.offset))) {
                        above.axis = axis;
                        above.offset = at;
                }
        }
        return above;
}

/* One term, c + sum coef x + s j >= 0, as j >= index of `axis` + *offset. */
static bool term_below(const Affine *a, const Dim *dim, int j, int axis, Dim *offset)
{
        int64_t s = a->coef[j];
        Dim c = a->constant;
        if (a->coef[axis] != -s)
                return false;
        for (int i = 0; i < AXES; i++) {
                if (i == j || a->coef[i] <= 0)
                        continue;
                if (!dim_is_fixed(dim[i]))
                        return false;
                c.fixed += a->coef[i] * (dim[i].fixed - 1);
        }
        *offset = divide_down(dim_scale(c, -1), s);
        return true;
}

bool clause_below(const Graph *g, const Clause *c, const Dim *dim, int j, int axis, Dim *offset)
{
        bool found = false;
        for (int i = 0; i < c->n; i++) {
                Dim at;
                if (c->term[i].coef[j] <= 0 || axis < 0 || !term_below(&c->term[i], dim, j, axis, &at) ||
                    (found && !dim_at_most(g, *offset, at)))
                        continue;
                found = true;
                *offset = at;
        }
        return found;
}
