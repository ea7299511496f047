/* Targets: the instruction sets that lathe writes C for, one row each. */
#ifndef TARGET_H
#define TARGET_H
#include <stdbool.h>

typedef struct {
        const char *name;   /* --target NAME */
        const char *vector; /* the header in runtime/ that defines v16 */
        const char *flags;  /* what the C compiler must be told */
        const char *guard;  /* macros that it then defines; the emitted C asks for them */
        int rows, panels;   /* matmul tile: rows of x by panels of 16 outputs, held in registers .. */
        int few_panels;     /* .. and with four rows or fewer */
        const char *about;
} Target;

extern const Target target_table[];
extern const int target_count;

/* NULL: no such target.  "native": the best that this processor runs. */
const Target *target_find(const char *name);
bool target_runs_here(const Target *t);
#endif
