/*
 * Detects optional extensions of 64-bit ARM processors.
 */
#if HAS_SYSTEM && defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* Whether the processor has SDOT, dot products of bytes: by AT_HWCAP on Linux; always on Apple's; otherwise assumed missing. */
KERNEL int arm_has_dot(void)
{
#if HAS_SYSTEM && defined(__aarch64__) && defined(__linux__)
        return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
        return 1;
#else
        return 0;
#endif
}

/* Whether it also has SMMLA, matrix products of bytes.  Detected only on Linux. */
KERNEL int arm_has_i8mm(void)
{
#if HAS_SYSTEM && defined(__aarch64__) && defined(__linux__)
        return arm_has_dot() && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#else
        return 0;
#endif
}
