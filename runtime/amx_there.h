/*
 * Detects AMX.
 */
#if HAS_SYSTEM && defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__TINYC__)
#include <cpuid.h>
#endif

/* Whether the processor multiplies tiles of bytes and Linux saves its tile registers and lets this process use them, for which this
 * asks: arch_prctl(ARCH_REQ_XCOMP_PERM, 18), that is XTILEDATA. */
#if HAS_SYSTEM && defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__TINYC__)
KERNEL int amx_is_there(void)
{
        unsigned a = 0, b = 0, c = 0, d = 0;
        const unsigned in_7d = 1u << 24 | 1u << 25, kept = 1u << 17 | 1u << 18;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 27) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
            (d & in_7d) != in_7d)
                return 0;
        __asm__ __volatile__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
        if ((a & kept) != kept)
                return 0;
        long result = 158;
        __asm__ __volatile__("syscall" : "+a"(result) : "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
        return result == 0;
}
#else
KERNEL int amx_is_there(void)
{
        return 0;
}
#endif
