/*
 * What the numerics contract asks of the C compiler and of the machine's floating-point state.
 *
 * Every operation rounds once, to nearest even, in its own type; nothing is fused, flushed or reassociated behind
 * our back.  The compiler is told so below; float_enter() sets the machine's state and float_leave() gives the
 * caller's back; float_check() asks known questions of both, for no macro tells of -ffp-contract=fast or of a
 * debugger's, a library's or an emulator's meddling.  Comes before every other runtime file.
 */
#include <float.h>
#include <stdint.h>
#if defined(__x86_64__) && !defined(__TINYC__)
#include <xmmintrin.h>
#endif

#if defined(__FAST_MATH__)
#error "-ffast-math breaks the bits that this file promises: compile it without"
#endif

#if FLT_EVAL_METHOD != 0
#error "float arithmetic must be done in float (on 32-bit x86: -msse2 -mfpmath=sse)"
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
