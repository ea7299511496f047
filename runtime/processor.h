/* Checks that this processor has all instructions that the compiler was allowed to use.  The compiler may use them anywhere, so the
 * check runs first, in functions that are never inlined and use only integers. */
#if defined(__GNUC__) && !defined(__TINYC__) && (defined(__x86_64__) || defined(__i386__))
#include <cpuid.h>
#endif
#if HAS_SYSTEM && defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(__GNUC__) && !defined(__TINYC__)
#define APART static __attribute__((noinline))
#else
#define APART static
#endif

/* The bit, if the compiler defines the macro `word` as 1, so that it may use that extension; otherwise 0. */
#define TEXT_OF(word) #word
#define IF_DEFINED(word, bit) (TEXT_OF(word)[0] == '1' ? 1u << (bit) : 0u)

/* Returns 1 if the processor has the extensions that the compiler may use: on x86 by cpuid, and by xgetbv whether the system saves
 * their registers; on 64-bit ARM by Linux's AT_HWCAP.  On others 1, unchecked. */
#if defined(__GNUC__) && !defined(__TINYC__) && (defined(__x86_64__) || defined(__i386__))
APART int processor_suits(void)
{
        const unsigned in_1 = IF_DEFINED(__SSE3__, 0) | IF_DEFINED(__SSSE3__, 9) | IF_DEFINED(__FMA__, 12) |
                              IF_DEFINED(__SSE4_1__, 19) | IF_DEFINED(__SSE4_2__, 20) | IF_DEFINED(__MOVBE__, 22) |
                              IF_DEFINED(__POPCNT__, 23) | IF_DEFINED(__AVX__, 27) | IF_DEFINED(__AVX__, 28) |
                              IF_DEFINED(__F16C__, 29);
        const unsigned in_7b = IF_DEFINED(__BMI__, 3) | IF_DEFINED(__AVX2__, 5) | IF_DEFINED(__BMI2__, 8) |
                               IF_DEFINED(__AVX512F__, 16) | IF_DEFINED(__AVX512DQ__, 17) | IF_DEFINED(__AVX512IFMA__, 21) |
                               IF_DEFINED(__AVX512CD__, 28) | IF_DEFINED(__AVX512BW__, 30) | IF_DEFINED(__AVX512VL__, 31);
        const unsigned in_7c = IF_DEFINED(__AVX512VBMI__, 1) | IF_DEFINED(__AVX512VBMI2__, 6) | IF_DEFINED(__GFNI__, 8) |
                               IF_DEFINED(__AVX512VNNI__, 11) | IF_DEFINED(__AVX512BITALG__, 12) |
                               IF_DEFINED(__AVX512VPOPCNTDQ__, 14);
        const unsigned in_7d = IF_DEFINED(__AVX512FP16__, 23), in_extended = IF_DEFINED(__LZCNT__, 5);
        const unsigned kept = IF_DEFINED(__AVX__, 1) | IF_DEFINED(__AVX__, 2) | IF_DEFINED(__AVX512F__, 5) |
                              IF_DEFINED(__AVX512F__, 6) | IF_DEFINED(__AVX512F__, 7);
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (in_1 != 0 && (!__get_cpuid(1, &a, &b, &c, &d) || (c & in_1) != in_1))
                return 0;
        if (in_extended != 0 && (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || (c & in_extended) != in_extended))
                return 0;
        if ((in_7b | in_7c | in_7d) != 0 &&
            (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & in_7b) != in_7b || (c & in_7c) != in_7c || (d & in_7d) != in_7d))
                return 0;
        if (kept != 0)
                __asm__ __volatile__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
#if HAS_AMX
        if (!amx_is_there())
                return 0;
#endif
        return (a & kept) == kept;
}
#elif HAS_SYSTEM && defined(__GNUC__) && !defined(__TINYC__) && defined(__aarch64__) && defined(__linux__)
/* Bits of AT_HWCAP and AT_HWCAP2 as numbers, because older headers lack some names. */
APART int processor_suits(void)
{
        const unsigned long in_1 = IF_DEFINED(__ARM_FEATURE_CRC32, 7) | IF_DEFINED(__ARM_FEATURE_ATOMICS, 8) |
                                   IF_DEFINED(__ARM_FEATURE_FP16_SCALAR_ARITHMETIC, 9) |
                                   IF_DEFINED(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC, 10) | IF_DEFINED(__ARM_FEATURE_QRDMX, 12) |
                                   IF_DEFINED(__ARM_FEATURE_JCVT, 13) | IF_DEFINED(__ARM_FEATURE_COMPLEX, 14) |
                                   IF_DEFINED(__ARM_FEATURE_RCPC, 15) | IF_DEFINED(__ARM_FEATURE_DOTPROD, 20) |
                                   IF_DEFINED(__ARM_FEATURE_SVE, 22) | IF_DEFINED(__ARM_FEATURE_FP16_FML, 23);
        const unsigned long in_2 = IF_DEFINED(__ARM_FEATURE_SVE2, 1) | IF_DEFINED(__ARM_FEATURE_FRINT, 8) |
                                   IF_DEFINED(__ARM_FEATURE_MATMUL_INT8, 13) | IF_DEFINED(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC, 14);
        return (getauxval(AT_HWCAP) & in_1) == in_1 && (getauxval(AT_HWCAP2) & in_2) == in_2;
}
#else
APART int processor_suits(void)
{
        return 1;
}
#endif
