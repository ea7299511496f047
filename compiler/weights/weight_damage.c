/* The damage of storage types: squared errors of a slot's numbers, weighted as --calibrate measured them.
 *
 * A large slot is measured at some of its rows.  Each row is summed by one thread, and rows are added in their order:
 * so results depend neither on the machine nor on its number of processors. */
#include "weight_map_private.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        MEASURED_NUMBERS = 1 << 16, /* of a slot, at least */
        MEASURED_ROWS = 16          /* at least */
};

/* Rows along the axis that products sum over; of other weights, along the last axis. */
typedef struct {
        int64_t rows, length, row_step, step;
        int64_t stride;    /* row i that is measured is i * stride */
        int64_t nmeasured; /* number of measured rows */
} DamageRows;

typedef struct {
        const DamageRows *rows;
        const float *value, *weight; /* weight [length], or NULL: 1 */
        const Storage *type;         /* [ntype] */
        int ntype;
        Storage exact;
        double *loss;       /* [rows][ntype + 1]; the last one is the weighted square of the numbers */
        int64_t begin, end; /* among the measured rows */
} DamageShare;

bool storage_is_made(Storage s)
{
        return s < WEIGHT_STORAGES && (!is_in_blocks(s) || can_quantise(storage_type(s)));
}

static DamageRows damage_rows(const Weight *w)
{
        const int last = w->type.rank - 1;
        const int64_t width = w->type.dim[last].fixed, count = type_count(&w->type, NULL);
        DamageRows r = {.rows = count / width, .length = width, .row_step = width, .step = 1};
        if (w->contracted == 0 && w->type.rank == 2)
                r = (DamageRows){.rows = width, .length = count / width, .row_step = 1, .step = width};
        int64_t wanted = MEASURED_NUMBERS / r.length;
        wanted = wanted < MEASURED_ROWS ? MEASURED_ROWS : wanted;
        r.stride = r.rows > wanted ? r.rows / wanted : 1;
        r.nmeasured = (r.rows + r.stride - 1) / r.stride;
        return r;
}

/* Numbers [n] as they are after rounding to the type; false: it can't hold them. */
static bool damage_rounded(Storage s, const float *x, const float *weight, int64_t n, float *to)
{
        const int steps = storage_steps(s);
        const CkType type = storage_type(s);
        uint8_t block[512];
        for (int64_t i = 0; !is_in_blocks(s) && i < n; i++) {
                to[i] = storage_rounded(s, x[i]);
                if (!isfinite(to[i]))
                        return false;
        }
        for (int64_t at = 0; is_in_blocks(s) && at < n; at += steps) {
                if (quantise_beyond(type, x + at) != 0 ||
                    !quantise_block(type, x + at, weight ? weight + at : NULL, block))
                        return false;
                ck_type_widen(type, block, 1, to + at);
        }
        return true;
}

static double damage_of_row(const float *x, const float *is, const float *weight, int64_t n)
{
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
                const double error = (double)x[i] - (double)is[i];
                sum += (weight ? (double)weight[i] : 1) * (error * error);
        }
        return sum;
}

static void *damage_share(void *given)
{
        const DamageShare *s = given;
        const DamageRows *r = s->rows;
        float *x = calloc((size_t)r->length * 3, sizeof *x), *is = x + r->length, *none = is + r->length;
        for (int64_t row = s->begin; x && row < s->end; row++) {
                const float *from = s->value + row * r->stride * r->row_step;
                double *loss = s->loss + row * (s->ntype + 1);
                for (int64_t i = 0; i < r->length; i++)
                        x[i] = from[i * r->step];
                loss[s->ntype] = damage_of_row(x, none, s->weight, r->length);
                for (int t = 0; t < s->ntype; t++)
                        loss[t] = s->type[t] == s->exact ? 0
                                  : damage_rounded(s->type[t], x, s->weight, r->length, is)
                                          ? damage_of_row(x, is, s->weight, r->length)
                                          : INFINITY;
        }
        free(x);
        return x ? given : NULL;
}

/* False: out of memory. */
static bool damage_in_shares(const DamageShare *all)
{
        enum { MOST = 64 };
        const int64_t rows = all->rows->nmeasured;
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        int n = processors < 1 ? 1 : processors > MOST ? MOST : (int)processors;
        pthread_t thread[MOST];
        DamageShare share[MOST];
        bool started[MOST] = {false}, good = true;
        for (int i = 0; i < n; i++) {
                share[i] = *all;
                share[i].begin = rows * i / n;
                share[i].end = rows * (i + 1) / n;
        }
        for (int i = 1; i < n; i++)
                started[i] = !pthread_create(&thread[i], NULL, damage_share, &share[i]);
        good = damage_share(&share[0]);
        for (int i = 1; i < n; i++) {
                void *done = NULL;
                if (started[i])
                        pthread_join(thread[i], &done);
                else
                        done = damage_share(&share[i]);
                good = good && done;
        }
        return good;
}

static void damage_sums(const DamageShare *s, double *damage)
{
        const int64_t each = s->ntype + 1;
        double sum[WEIGHT_STORAGES + 1] = {0};
        for (int64_t row = 0; row < s->rows->nmeasured; row++)
                for (int t = 0; t <= s->ntype; t++)
                        sum[t] += s->loss[row * each + t];
        for (int t = 0; t < s->ntype; t++)
                damage[t] = sum[t] > 0 ? sum[t] / sum[s->ntype] : sum[t];
}

static bool damage_is_defined(Weights *weights, const Weight *w, int64_t slot, const float *value)
{
        const int64_t n = type_count(&w->type, NULL);
        int64_t shape[MAX_RANK], at = 0;
        while (at < n && isfinite(value[at]))
                at++;
        weight_shape(w, shape);
        Arena *a = weights->graph->arena;
        if (at < n)
                weights->why = arena_printf(
                        a, "%s%s is %s, whose error in a type can't be measured: give types by name",
                        weight_slot_name(a, w, slot), element_index_text(a, w->type.rank, shape, at),
                        isnan(value[at]) ? "NaN" : "infinite");
        return at == n;
}

bool weight_damage(Weights *weights, const Weight *w, int64_t slot, const Storage *type, int n,
                   double *damage)
{
        const DamageRows rows = damage_rows(w);
        DamageShare all = {.rows = &rows, .type = type, .ntype = n, .exact = weight_exact(weights, w, slot)};
        float *value = malloc((size_t)type_count(&w->type, NULL) * sizeof *value);
        all.loss = calloc((size_t)rows.nmeasured * (size_t)(n + 1), sizeof *all.loss);
        all.value = value;
        all.weight = w->contracted >= 0 ? slot_importance(weights, w, slot) : NULL;
        bool good = value && all.loss && weights_before_blocks(weights, w, slot, value) &&
                    damage_is_defined(weights, w, slot, value) && damage_in_shares(&all);
        if (good)
                damage_sums(&all, damage);
        free(value);
        free(all.loss);
        return good;
}
