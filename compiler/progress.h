/* Progress on standard error: a bar on a terminal, nothing elsewhere. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include <stdint.h>

/* `what`: done of total.  Shown once the work has gone on for half a second; at done == total the line is cleared. */
void progress(const char *what, int64_t done, int64_t total);
#endif
