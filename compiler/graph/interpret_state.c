/* State of the interpreter: rows that appends keep between runs. */
#include "interpret_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

InterpState *interp_state_new(const Graph *g)
{
        InterpState *s = calloc(1, sizeof *s);
        if (!s)
                return NULL;
        s->nstate = g->nstate;
        s->slots = calloc((size_t)g->nstate + 1, sizeof *s->slots);
        s->kept = calloc((size_t)g->nstate + 1, sizeof *s->kept);
        bool complete = s->slots && s->kept;
        for (int i = 0; complete && i < g->nstate; i++) {
                s->slots[i] = g->state[i]->slots;
                s->kept[i] = calloc((size_t)s->slots[i] + 1, sizeof **s->kept);
                complete = s->kept[i] != NULL;
        }
        if (complete)
                return s;
        interp_state_free(s);
        return NULL;
}

void interp_state_free(InterpState *s)
{
        if (!s)
                return;
        for (int i = 0; s->kept && i < s->nstate; i++) {
                for (int64_t slot = 0; s->kept[i] && slot < s->slots[i]; slot++)
                        free(s->kept[i][slot].data);
                free(s->kept[i]);
        }
        free(s->kept);
        free(s->slots);
        free(s);
}

void interp_state_follow(InterpState *s, const KeptSource *kept)
{
        s->follows = kept;
}

/* region: of the node that reads or keeps the state */
static int64_t state_var_slot(const Interp *it, const StateVar *var, const Region *region)
{
        int64_t iteration = region ? interpreted_iteration(it->frame, region) : 0;
        return var->slot_of ? var->slot_of[iteration] : iteration;
}

static StateSlot *kept_slot(Interp *it, const StateVar *var, const Region *region)
{
        if (!it->state) {
                interpret_fail(it, arena_printf(it->g->arena, "state %s: none was given", var->name));
                return NULL;
        }
        return &it->state->kept[var->id][state_var_slot(it, var, region)];
}

void interpret_read_state(Interp *it, const Node *n, double *out)
{
        const StateVar *var = n->attr.state;
        const StateSlot *kept = kept_slot(it, var, n->body->region);
        int axis = n->attr.axis;
        int64_t past = dim_value(n->type.dim[axis], it->size), outer = 1, inner = 1;
        if (!kept)
                return;
        if (kept->rows != past) {
                interpret_fail(it, arena_printf(it->g->arena,
                                                "state %s holds %lld positions where the past has %lld",
                                                var->name, (long long)kept->rows, (long long)past));
                return;
        }
        for (int i = 0; i < axis; i++)
                outer *= dim_value(n->type.dim[i], it->size);
        for (int i = axis + 1; i < n->type.rank; i++)
                inner *= dim_value(n->type.dim[i], it->size);
        for (int64_t i = 0; i < outer && past > 0; i++)
                memcpy(out + i * past * inner, kept->data + i * kept->stride * inner,
                       (size_t)(past * inner) * sizeof *out);
}

/* The value that a keep of this run will store, or that an earlier run stored. */
void interpret_read_kept(Interp *it, const Node *n, InterpValue *out)
{
        const StateSlot *kept = kept_slot(it, n->attr.state, n->body->region);
        const double *data = kept ? kept->data : NULL;
        int64_t count = kept ? kept->count : 0;
        for (const PendingAppend *p = it->pending; p; p = p->next)
                if (kept && p->kept == kept) {
                        data = p->value->data;
                        count = p->value->count;
                }
        if (!data || count != out->count)
                interpret_fail(it,
                               arena_printf(it->g->arena, "state %s has not been kept", n->attr.state->name));
        else if (count)
                memcpy(out->data, data, (size_t)count * sizeof *data);
}

/* --- rounding --- */

static const double float_error = 1e-5; /* relative to the largest value, as in `lathe verify` */

static double round_f16(double x)
{
        return f16_to_f32(f32_to_f16((float)x));
}

static double largest(const InterpValue *value)
{
        double most = 0;
        for (int64_t i = 0; i < value->count; i++)
                if (isfinite(value->data[i]) && fabs(value->data[i]) > most)
                        most = fabs(value->data[i]);
        return most;
}

/* Element i of n's value in the state that is followed; NAN: unknown. */
static double kept_elsewhere(const Interp *it, const Node *n, int64_t i, double *scale)
{
        int64_t index[MAX_RANK];
        const KeptSource *source = it->state->follows;
        if (!source)
                return NAN;
        for (int a = n->type.rank - 1; a >= 0; a--) {
                int64_t size = dim_value(n->type.dim[a], it->size);
                index[a] = i % size;
                i /= size;
        }
        return source->value(source->from, n->attr.state, state_var_slot(it, n->attr.state, n->body->region),
                             index, scale);
}

/* own: x rounded.  Returns the other number if a value within `error` of x may be rounded to it. */
static double followed(double x, double own, double other, double error)
{
        return fabs(other - x) - fabs(own - x) <= 2 * error ? other : own;
}

static void round_f16_value(const Interp *it, const Node *n, InterpValue *value, double error)
{
        for (int64_t i = 0; i < value->count; i++) {
                double x = value->data[i], scale;
                value->data[i] = followed(x, round_f16(x), kept_elsewhere(it, n, i, &scale), error);
        }
}

/* The smallest f16 of at least most / 127; NAN: none. */
static double state_scale(double most)
{
        float least = (float)most / 127.0f;
        uint16_t half = f32_to_f16(least);
        half += f16_to_f32(half) < least;
        return half < 0x7c00 ? f16_to_f32(half) : NAN;
}

/* Rounds elements i to i + group - 1, which share a scale (runtime/kept.h). */
static void state_round_group(const Interp *it, const Node *n, double *x, int64_t i, double error)
{
        double most = 0, other = NAN;
        for (int64_t k = 0; k < n->attr.state->group; k++)
                most = isfinite(x[k]) ? fmax(most, fabs(x[k])) : INFINITY;
        double scale = state_scale(most);
        kept_elsewhere(it, n, i, &other);
        if (other >= state_scale(fmax(0, most - error)) && other <= state_scale(most + error))
                scale = other;
        for (int64_t k = 0; k < n->attr.state->group; k++) {
                double own = scale == 0 ? 0 : scale * fmin(127, fmax(-127, nearbyint(x[k] / scale)));
                x[k] = isnan(scale) ? NAN : followed(x[k], own, kept_elsewhere(it, n, i + k, &other), error);
        }
}

/* Rounds only the new rows of an append: rounding codes again could change their scale. */
static void round_q8_value(const Interp *it, const Node *n, InterpValue *value, double error)
{
        int64_t inner = 1, rows = 1, old = 0;
        if (n->op == OP_APPEND) {
                rows = dim_value(n->type.dim[n->attr.axis], it->size);
                old = rows - dim_value(n->in[1]->type.dim[n->attr.axis], it->size);
                for (int a = n->attr.axis + 1; a < n->type.rank; a++)
                        inner *= dim_value(n->type.dim[a], it->size);
        }
        for (int64_t i = 0; i < value->count; i += n->attr.state->group)
                if (i / inner % rows >= old)
                        state_round_group(it, n, value->data + i, i, error);
}

/* Rows that are already rounded remain unchanged. */
static void round_kept(const Interp *it, const Node *n, InterpValue *value)
{
        double error = float_error * largest(value);
        if (n->attr.state->storage == STORAGE_F16)
                round_f16_value(it, n, value, error);
        if (n->attr.state->storage == STORAGE_Q8)
                round_q8_value(it, n, value, error);
}

/* The value joins past and new rows, and is rounded as the state is.  It becomes the state at the end of a
 * successful run.  If the axis is longer than time by n, its last n positions are new again in the next
 * call. */
void interpret_append(Interp *it, const Node *n, InterpValue *value)
{
        StateSlot *kept = kept_slot(it, n->attr.state, n->body->region);
        PendingAppend *pending = kept ? malloc(sizeof *pending) : NULL;
        if (!pending) {
                interpret_fail(it, no_memory);
                return;
        }
        bool appends = n->op == OP_APPEND;
        round_kept(it, n, value);
        int64_t stride = appends ? dim_value(n->type.dim[n->attr.axis], it->size) : 0,
                rows = appends ? it->size[it->g->past] + it->size[it->g->time] : 0;
        *pending = (PendingAppend){it->pending, kept, interpreted_share(value), rows < stride ? rows : stride,
                                   stride};
        it->pending = pending;
}

void interpret_scan(Interp *it, const Node *n, const double *const *in, double *y)
{
        StateSlot *kept = kept_slot(it, n->attr.state, n->body->region);
        InterpValue *sums = kept ? interpreted_new(it, scan_sum_count(n)) : NULL;
        PendingAppend *pending = sums ? malloc(sizeof *pending) : NULL;
        int64_t past = it->size[it->g->past];
        if (!pending) {
                interpret_fail(it, no_memory);
                return;
        }
        *pending = (PendingAppend){it->pending, kept, sums, past + it->size[it->g->time], 0};
        it->pending = pending;
        scan_start(n, sums->data);
        if (past > 0 && (kept->rows != past || kept->count != sums->count))
                interpret_fail(it,
                               arena_printf(it->g->arena, "state %s does not hold what the past of %lld left",
                                            n->attr.state->name, (long long)past));
        else if (past > 0)
                memcpy(sums->data, kept->data, (size_t)sums->count * sizeof *sums->data);
        evaluate_scan(n, it->size, in, sums->data, y);
}

void interpret_continue(Interp *it, const Node *along, int index, InterpValue **first)
{
        const StateVar *s = along->attr.region->kept[index];
        StateSlot *kept = it->size[it->g->past] > 0 ? kept_slot(it, s, along->body->region) : NULL;
        if (!kept)
                return;
        if (kept->rows != it->size[it->g->past] || kept->count != (*first)->count) {
                interpret_fail(it,
                               arena_printf(it->g->arena, "state %s does not hold what the past of %lld left",
                                            s->name, (long long)it->size[it->g->past]));
                return;
        }
        InterpValue *from = interpreted_new(it, kept->count);
        if (!from)
                return;
        if (kept->count)
                memcpy(from->data, kept->data, (size_t)kept->count * sizeof *kept->data);
        interpreted_drop(*first);
        *first = from;
}

void interpret_hand_on(Interp *it, const Node *along, int index, InterpValue *last)
{
        StateSlot *kept = kept_slot(it, along->attr.region->kept[index], along->body->region);
        PendingAppend *pending = kept ? malloc(sizeof *pending) : NULL;
        if (!pending) {
                interpret_fail(it, no_memory);
                return;
        }
        *pending = (PendingAppend){it->pending, kept, interpreted_share(last),
                                   it->size[it->g->past] + it->size[it->g->time], 0};
        it->pending = pending;
}

static bool keep_pending(const PendingAppend *p)
{
        double *data = malloc((size_t)p->value->count * sizeof *data + 1);
        if (!data)
                return false;
        memcpy(data, p->value->data, (size_t)p->value->count * sizeof *data);
        free(p->kept->data);
        *p->kept = (StateSlot){p->rows, p->stride, p->value->count, data};
        return true;
}

/* Stores the pending rows, or drops them after an error. */
void interpret_settle(Interp *it)
{
        for (PendingAppend *p = it->pending, *next; p; p = next) {
                next = p->next;
                if (!it->error && !keep_pending(p))
                        interpret_fail(it, no_memory);
                interpreted_drop(p->value);
                free(p);
        }
        it->pending = NULL;
}
