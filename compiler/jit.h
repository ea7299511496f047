/* Just in time: the program of a plan as code in this process.
 *
 * Two ways to the same bits: libtcc, at once, with the kernels that are compiled into lathe; and the system's C compiler, in the
 * background, which optimises the very text that `lathe build` would write. */
#ifndef JIT_H
#define JIT_H
#include "plan.h"

typedef struct {
        void (*program)(void *instance, int thread);
        const int64_t *instance; /* see emit_program_alone() */
        void *from;              /* TCCState, or dlopen's handle */
} JitCode;

/* NULL, or what is wrong, in the plan's arena. */
const char *jit_tcc(Plan *p, JitCode *code);
void jit_tcc_free(JitCode *code);

typedef struct CcBuild CcBuild;
CcBuild *cc_start(Plan *p); /* NULL with errno: no compiler can be started */
typedef enum { CC_RUNNING, CC_DONE, CC_FAILED } CcState;
CcState cc_poll(CcBuild *b, bool wait, JitCode *code); /* CC_DONE once: code is the caller's then */
const char *cc_message(const CcBuild *b); /* after CC_FAILED: what the compiler said, or why there is none */
void cc_free(CcBuild *b);                 /* a compiler that still runs is ended */
void jit_cc_free(JitCode *code);
#endif
