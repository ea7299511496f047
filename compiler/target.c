/* The target table and the detection of this processor's features. */
#include "target.h"

#include "plan.h"

#include <stddef.h>
#include <string.h>

#define TARGET(name, vector, flags, guard, rows, panels, few_panels, about)                                  \
        {#name, vector, flags, guard, rows, panels, few_panels, about},
const Target target_table[] = {
#include "targets.def"
};
const int target_count = sizeof target_table / sizeof target_table[0];
#undef TARGET

/* What the runtime takes for granted of a tile (portable has none of its own): few rows are taken four at a time, so that fewer
 * would overrun attention's scratch; its arrays have TILE_MOST rows; two results of one product lie in neighbouring panels,
 * which no group of three holds; the scratch of products has two panels for each row, four where rows are few. */
#define TARGET(name, vector, flags, guard, rows, panels, few_panels, about)                                  \
        _Static_assert((rows) == 0 || ((rows) >= 4 && (rows) <= TILE_MOST),                                  \
                       "a tile has 4 to 12 rows: " #name);                                                   \
        _Static_assert((rows) == 0 || (panels) == 1 || (panels) == 2, "a tile has 1 or 2 panels: " #name);   \
        _Static_assert((rows) == 0 || (few_panels) == 1 || (few_panels) == 2 || (few_panels) == 4,           \
                       "a tile of few rows has 1, 2 or 4 panels: " #name);
#include "targets.def"

bool target_runs_here(const Target *t)
{
        if (!strcmp(t->name, "scalar") || !strcmp(t->name, "portable"))
                return true;
#if defined(__x86_64__)
        __builtin_cpu_init();
        if (!strcmp(t->name, "avx2"))
                return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        if (!strcmp(t->name, "avx512"))
                return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
        return false;
#elif defined(__aarch64__)
        return !strcmp(t->name, "neon");
#else
        return false;
#endif
}

const Target *target_find(const char *name)
{
        const char *best[] = {"avx512", "neon", "avx2", "scalar"};
        if (!strcmp(name, "native"))
                for (size_t i = 0; i < sizeof best / sizeof best[0]; i++)
                        if (target_runs_here(target_find(best[i])))
                                return target_find(best[i]);
        for (int i = 0; i < target_count; i++)
                if (!strcmp(target_table[i].name, name))
                        return &target_table[i];
        return NULL;
}
