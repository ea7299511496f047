/* Faults of one kind: one error with their number, then a note for each of the first ones.  A model has
 * hundreds of tensors, and often all have the same fault. */
#include "weight_map_private.h"

#include <stdarg.h>

void fault_add(Faults *faults, Span span, const char *format, ...)
{
        if (faults->n == 0)
                faults->span = span;
        if (faults->n++ >= FAULTS_LISTED)
                return;
        va_list args;
        va_start(args, format);
        faults->line[faults->n - 1] = arena_vprintf(faults->arena, format, args);
        va_end(args);
}

const char *fault_count(const Faults *faults, const char *noun)
{
        return arena_printf(faults->arena, "%lld %s%s", (long long)faults->n, noun,
                            faults->n == 1 ? "" : "s");
}

void fault_list(const Faults *faults, Diag *diag)
{
        for (int64_t i = 0; i < faults->n && i < FAULTS_LISTED; i++)
                diag_hint(diag, "%s", faults->line[i]);
        if (faults->n > FAULTS_LISTED)
                diag_hint(diag, "and %lld more", (long long)(faults->n - FAULTS_LISTED));
}

int64_t weight_shape(const Weight *w, int64_t shape[MAX_RANK])
{
        int64_t count = 1;
        for (int i = 0; i < w->type.rank; i++) {
                shape[i] = w->type.dim[i].fixed;
                count *= shape[i];
        }
        return count;
}
