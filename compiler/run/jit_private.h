/* Just-in-time compilation: the program of a plan as code in this process.
 *
 * There are two compilers with the same bits: libtcc, immediately, with the kernels compiled into lathe;
 * and the system's C compiler, in the background, which optimises the text that `lathe build` would write. */
#ifndef JIT_PRIVATE_H
#define JIT_PRIVATE_H
#include "kernel_table_private.h"
#include "run.h"

#include "../../runtime/rank_link.h"

typedef struct Interpreter Interpreter;
typedef struct {
        void (*program)(void *instance, int thread);
        void *from;                     /* TCCState, or dlopen's handle */
        const Interpreter *interpreter; /* of Code; NULL: the program is compiled */
} JitCode;

typedef struct Team Team;
/* The instance of a program that emit_program_alone() has written. */
typedef struct EngineInstance EngineInstance;
struct EngineInstance {
        const float *weights;
        float *arena, *state, *scratch;
        Team *team;
        int threads;
        int64_t size[MAX_NAMED];
        const Interpreter *interpreter;
#define INSTANCE EngineInstance
#define MEMBER(name, type, array, ...) type name array;
#include "emit/instance.def"
#undef MEMBER
#undef INSTANCE
        void *pointer[]; /* [ninput + noutput] */
};

static inline size_t instance_bytes(const Graph *g)
{
        return sizeof(EngineInstance) + (size_t)(g->ninput + g->noutput) * sizeof(void *);
}

/* View i of consecutive ones. */
static inline EngineInstance *view_at(const Graph *g, const EngineInstance *views, int i)
{
        return (EngineInstance *)(void *)((char *)views + i * (ptrdiff_t)instance_bytes(g));
}

/* NULL, or a message in the plan's arena. */
const char *jit_tcc(Plan *p, JitCode *code);
void jit_tcc_free(JitCode *code);

/* The interpreter of Code: NULL, or a message.  Needs no freeing. */
const char *jit_code(Plan *p, JitCode *code);

typedef struct CcBuild CcBuild;
CcBuild *cc_start(Plan *p); /* NULL with errno: no compiler could be started */
typedef enum { CC_RUNNING, CC_DONE, CC_FAILED } CcState;
CcState cc_poll(CcBuild *b, bool wait, JitCode *code); /* CC_DONE once: code then belongs to the caller */
/* after CC_FAILED: the compiler's output, or why it did not start */
const char *cc_message(const CcBuild *b);
void cc_free(CcBuild *b); /* ends a running compiler */
void jit_cc_free(JitCode *code);

/* Products with weights, as in runtime/kernels.c. */
typedef void EpilogueFunction(const void *ctx, int64_t row, int panel, const float *acc);
typedef void MatmulFunction(const void *ctx, EpilogueFunction *e, const float *x, int64_t ldx, int64_t rows,
                            int k, const void *w, int storage, int group, const ProductTiling *tiling,
                            int panel0, int panel1, float *scratch);
typedef void MatmulActive(const void *ctx, EpilogueFunction *e, const float *x, int64_t ldx,
                          const int32_t *active, int64_t rows, int k, const void *w, int storage, int group,
                          const ProductTiling *tiling, int panel0, int panel1, float *scratch);

typedef void MatmulBlocks(const void *ctx, EpilogueFunction *e, const void *codes, const int32_t *active,
                          int64_t rows, int k, const void *w, int storage, int group,
                          const ProductTiling *tiling, int panel0, int panel1, float *scratch);
typedef void CodesOfRows(void *to, const float *x, int64_t ldx, const int32_t *active, int64_t rows, int k,
                         int group);

/* jit_tcc.c */
/* "sample": runtime/sampler.h */
typedef int SampleFunction(Sampler *s, float *logits, int n);
KernelFunction *kernel_find(const Target *t, const char *name);
#endif
