/* The state of compiled code, which the interpreter follows where keys and values are rounded.
 *
 * A number near the middle between two of 16 bits is rounded to one by floats and to the other by doubles.
 * Both are right, and one such number moves an output by more than floats do.  So the interpreter takes the
 * compiled code's number if its own is within the error of floats of being rounded to it (interpret_state.c).
 * Larger differences are errors. */
#include <math.h>
#include <string.h>

#include "check.h"

static const Buffer *buffer_of(const Plan *p, const StateVar *s)
{
        for (int i = 0; i < p->nbuffer; i++)
                if (p->buffer[i]->home == IN_STATE && !p->buffer[i]->part_of && p->buffer[i]->index == s->id)
                        return p->buffer[i];
        return NULL;
}

/* Element `at` of codes with scales, as in runtime/kept.h. */
static double kept_code(const Buffer *b, const float *begin, int64_t at, double *scale)
{
        int64_t lanes = b->layout.tiled >= 0 ? LANES : 1, block = b->group * lanes;
        const char *p = (const char *)begin + at / block * lanes * (b->group + 2);
        uint16_t half;
        memcpy(&half, p + at % lanes * 2, 2);
        *scale = f16_to_f32(half);
        return *scale * ((const signed char *)p)[2 * lanes + at % block];
}

double kept_value(void *from, const StateVar *s, int64_t slot, const int64_t *index, double *scale)
{
        const KeptState *kept = from;
        const Buffer *b = buffer_of(kept->plan, s);
        *scale = NAN;
        if (!b || !is_kept_narrow(b) || b->cache >= 0)
                return NAN;
        int64_t at = b->layout.offset;
        for (int a = 0; a < b->layout.rank; a++)
                at += a == b->layout.tiled ? index[a] / LANES * b->layout.tile + index[a] % LANES
                                           : index[a] * b->layout.stride[a];
        int64_t before = b->paged ? kept->plan->bytes.state - pool_offset(kept->plan) : 0;
        const float *begin = kept->state + FLOATS(before + b->offset + slot * b->slot_stride);
        if (b->storage == STORAGE_Q8)
                return kept_code(b, begin, at, scale);
        return f16_to_f32(((const uint16_t *)(const void *)begin)[at]);
}
