/* Time by kernel of code that was emitted to be timed (Plan.timed). */
#ifndef PROFILE_H
#define PROFILE_H
#include <stdint.h>

typedef struct {
        double seconds;
        int64_t calls;
} ProfileRow;

/* Rows [n], by Kernel.step, that marks add to from now on; NULL: they are forgotten. */
void profile_into(ProfileRow *row, int n);
/* Called by the code, on one thread: the kernel is done; -1: a call begins. */
void profile_mark(int kernel);
#endif
