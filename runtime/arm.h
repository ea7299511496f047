/*
 * What a 64-bit ARM processor has beside what all of them have.
 */
#if HAS_SYSTEM && defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* SDOT, the dot products of bytes?  Linux tells; Apple's have it; of others nothing is known. */
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

/* SMMLA too, products of matrices of bytes?  Only Linux is asked. */
KERNEL int arm_has_i8mm(void)
{
#if HAS_SYSTEM && defined(__aarch64__) && defined(__linux__)
        return arm_has_dot() && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#else
        return 0;
#endif
}
