/* Set by the REPL's signal handler, and by nothing else. */
#include "interrupt.h"

volatile sig_atomic_t interrupted;
