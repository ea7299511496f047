/* How much memory there is, and a limit on what a REPL takes of it. */
#ifndef MEMORY_H
#define MEMORY_H
#include <stdint.h>

int64_t memory_available(void); /* bytes that may still be taken; INT64_MAX where nobody says */
/* From now on what is more than that is refused when it is asked for, instead of the process being killed when it is used. */
void memory_limit(void);
#endif
