/* The target table and the detection of this processor's features. */
#include "kernels.h"

#include <stddef.h>
#include <string.h>

#include "../../runtime/guard.h"

#include "../../runtime/arm.h"

#include "../../runtime/amx_there.h"

#define MACHINE(name, ...) static const Machine machine_##name = {__VA_ARGS__};
#include "targets.def"

/* Whether this processor supports a target. */
#define TARGET(name, machine, vectors, dot, flags, guard, rows, panels, few_panels, one_panels, code_rows,   \
               features, test, about)                                                                        \
        static bool runs_##name(void)                                                                        \
        {                                                                                                    \
                return ON_##machine(test, (rows) == 0);                                                      \
        }
#include "targets.def"

#include "tiles.def"
#define TILE(of, rows, panels) {rows, panels},
#define TARGET(name, ...)                                                                                    \
        static const Tile tiles_##name[] = {TILES_##name(TILE, ){0, 0}},                                     \
                          few_tiles_##name[] = {FEW_TILES_##name(TILE, ){0, 0}},                             \
                          code_tiles_##name[] = {CODE_TILES_##name(TILE, ){0, 0}};
#include "targets.def"

#define TARGET(name, machine, vectors, dot, flags, guard, rows, panels, few_panels, one_panels, code_rows,   \
               features, test, about)                                                                        \
        {#name,                                                                                              \
         (rows) == 0 ? NULL : "v16_" #vectors ".h",                                                          \
         (rows) == 0 ? NULL : "n16_" #vectors ".h",                                                          \
         (rows) == 0 ? NULL : "dot_" #dot ".h",                                                              \
         flags,                                                                                              \
         guard,                                                                                              \
         tiles_##name,                                                                                       \
         few_tiles_##name,                                                                                   \
         code_tiles_##name,                                                                                  \
         VECTORS_##name,                                                                                     \
         rows,                                                                                               \
         panels,                                                                                             \
         few_panels,                                                                                         \
         one_panels,                                                                                         \
         code_rows,                                                                                          \
         &machine_##machine,                                                                                 \
         features,                                                                                           \
         #test,                                                                                              \
         runs_##name,                                                                                        \
         about},
const Target target_table[] = {
#include "targets.def"
};
const int target_count = sizeof target_table / sizeof target_table[0];

/* Assumptions of the runtime about tiles (portable has none): few rows are taken four at a time, since
 * fewer would overrun attention's scratch; its arrays have MAX_TILE_ROWS rows; the scratch of products has six
 * panels for each row. */
#define TILE_FITS(of, rows, panels)                                                                          \
        _Static_assert((rows) >= 2 && (rows) <= MAX_TILE_ROWS && (panels) >= 1 && (panels) <= 3,             \
                       "a tile of products has 2 to 12 rows and 1 to 3 panels: " #rows " by " #panels);
#define TARGET(name, machine, vectors, dot, flags, guard, rows, panels, few_panels, one_panels, code_rows,   \
               features, test, about)                                                                        \
        _Static_assert((rows) == 0 || ((rows) >= 4 && (rows) <= MAX_TILE_ROWS),                              \
                       "a tile has 4 to 12 rows: " #name);                                                   \
        _Static_assert((rows) == 0 || ((code_rows) >= 4 && (code_rows) <= LANES),                            \
                       "a tile of codes has 4 to 16 rows: " #name);                                          \
        _Static_assert((rows) == 0 || (panels) == 1 || (panels) == 2, "a tile has 1 or 2 panels: " #name);   \
        _Static_assert((rows) == 0 || (one_panels) == 1 || (one_panels) == 2 || (one_panels) == 4,           \
                       "a tile of one row has 1, 2 or 4 panels: " #name);                                    \
        _Static_assert((rows) == 0 || (few_panels) == 1 || (few_panels) == 2 || (few_panels) == 4,           \
                       "a tile of few rows has 1, 2 or 4 panels: " #name);                                   \
        TILES_##name(TILE_FITS, )
#include "targets.def"

bool target_is_portable(const Target *t)
{
        return !t->vector;
}

bool target_has_own_vectors(const Target *t)
{
        for (const Target *other = target_table; other < t; other++)
                if (other->vector && t->vector && !strcmp(other->vector, t->vector))
                        return false;
        return true;
}

bool target_is_wasm(const Target *t)
{
        return t->machine == &machine_wasm32;
}

bool target_has_amx(const Target *t)
{
        return !strcmp(t->name, "amx");
}

bool target_runs_here(const Target *t)
{
#if defined(__x86_64__)
        __builtin_cpu_init();
#endif
        return t->runs();
}

bool target_is_cross(const Target *t)
{
        return *t->machine->compiler && !target_runs_here(t);
}

const Target *target_find(const char *name)
{
        bool native = !strcmp(name, "native");
        for (int i = target_count - 1; i >= 0; i--) {
                const Target *t = &target_table[i];
                if (native ? !target_is_portable(t) && target_runs_here(t) : !strcmp(t->name, name))
                        return t;
        }
        return NULL;
}
