/*
 * Requirements of the numerics contract on the C compiler and the machine's floating-point state.
 *
 * Every operation rounds once, to nearest even, in its own type; nothing is fused, flushed or reassociated.  The pragmas below
 * tell the compiler; float_enter() sets the machine's state and float_leave() restores the caller's; float_check() in math.h
 * tests both, since no macro shows -ffp-contract=fast. Precedes every other runtime file.
 */

#if !defined(EMITTED)
#include "facts.h"
#endif

#include <float.h>
#include <stdint.h>

#if defined(__FAST_MATH__)
#error "-ffast-math breaks the bits that this file promises: compile it without, with -std=c11"
#endif

/* 16: arithmetic of _Float16 alone is done in _Float16 (GCC's gnu mode where the processor has it) */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#if defined(__i386__) || defined(_M_IX86)
#error "float arithmetic must be done in float: compile with -std=c11 -msse2 -mfpmath=sse"
#elif defined(__s390__)
#error "float arithmetic must be done in float: compile with -std=gnu11, or with -std=c11 -fexcess-precision=fast"
#else
#error "float arithmetic must be done in float, and this compiler or machine does it in more bits (FLT_EVAL_METHOD is not 0)"
#endif
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__TINYC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* A kernel is made for its call site: literal sizes, epilogues and tiles are specialised by inlining. */
#if defined(__GNUC__) && !defined(__TINYC__)
#define KERNEL static inline __attribute__((always_inline))
#else
#define KERNEL static inline
#endif

/* A parameter that others of its type use, or the same function in other programs. */
#define UNUSED __attribute__((unused))

/* STEP: attribute of every step function.  `noipa`: GCC 12 wrongly inferred that a step has no side effects and dropped the call.  Compilers
 * of WebAssembly find registers for small functions, not for one that all of them have become.
 * SHARED: attribute of a function that kernels share.  It is compiled once, which saves most of the compile time: constants of a call
 * site are not propagated into it. */
#if defined(__wasm__)
#define STEP __attribute__((noinline)) static
#define SHARED __attribute__((noinline, unused)) static
#elif defined(__clang__)
#define STEP static
#define SHARED __attribute__((noinline, unused)) static
#elif defined(__GNUC__) && !defined(__TINYC__)
#define STEP __attribute__((noipa)) static
#define SHARED __attribute__((noipa, unused)) static
#else
#define STEP static
#define SHARED static inline
#endif

/* The machine's floating-point state, of each thread its own: rounding, flushing of denormals, traps.  float_enter() returns the state found
 * and sets round to nearest, no flushing, no traps; float_leave() restores.  Every entry point and every thread calls both, since a library
 * linked with -Ofast, or the caller, may have turned flushing on.  The asm also keeps the compiler from moving loads across. */
#if defined(__x86_64__) || defined(__SSE__)
typedef struct {
        uint32_t mxcsr;
} FloatState;
KERNEL void float_leave(FloatState state)
{
#if defined(__TINYC__) /* whose assembler lacks the mnemonics: ldmxcsr [rax], and stmxcsr [rax] below */
        __asm__ __volatile__(".byte 0x0f, 0xae, 0x10" : : "a"(&state.mxcsr) : "memory");
#else
        __asm__ __volatile__("ldmxcsr %0" : : "m"(state.mxcsr) : "memory");
#endif
}
KERNEL FloatState float_enter(void)
{
        FloatState found = {0}, ours = {0x1f80};
#if defined(__TINYC__)
        __asm__ __volatile__(".byte 0x0f, 0xae, 0x18" : : "a"(&found.mxcsr) : "memory");
#else
        __asm__ __volatile__("stmxcsr %0" : "=m"(found.mxcsr) : : "memory");
#endif
        float_leave(ours);
        return found;
}
#elif defined(__aarch64__) && !defined(__TINYC__)
typedef struct {
        uint64_t fpcr;
} FloatState;
KERNEL void float_leave(FloatState state)
{
        __asm__ __volatile__("msr fpcr, %0" : : "r"(state.fpcr) : "memory");
}
KERNEL FloatState float_enter(void)
{
        FloatState found, ours = {0};
        __asm__ __volatile__("mrs %0, fpcr" : "=r"(found.fpcr) : : "memory");
        float_leave(ours);
        return found;
}
#else
typedef struct {
        int unknown;
} FloatState;
KERNEL void float_leave(FloatState state)
{
        (void)state;
}
KERNEL FloatState float_enter(void)
{
        FloatState found = {0};
        return found;
}
#endif
