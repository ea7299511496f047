/* The target table and the detection of this processor's features. */
#include "target.h"

#include <stddef.h>
#include <string.h>

const Target target_table[] = {
        {"scalar", "v16_scalar.h", "", "", 4, 1, 1,
         "plain C, any processor; fused multiply-add in software where there is none"},
        {"avx2", "v16_avx2.h", "-mavx2 -mfma -mf16c", "__AVX2__ __FMA__ __F16C__", 6, 1, 1,
         "x86-64 with AVX2, FMA and F16C (Haswell, Zen and later)"},
        {"avx512", "v16_avx512.h", "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512",
         "__AVX512F__ __AVX512BW__ __AVX512DQ__ __AVX512VL__", 12, 2, 4,
         "x86-64 with AVX-512 F, BW, DQ and VL (Skylake-X, Zen 4 and later)"},
        {"neon", "v16_neon.h", "", "__ARM_NEON __aarch64__", 5, 1, 1, "64-bit ARM"},
        {"portable", "", "", "", 0, 0, 0,
         "one file that holds scalar, avx2, avx512 and neon and picks when it runs"},
};
const int target_count = sizeof target_table / sizeof target_table[0];

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
