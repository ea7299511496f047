/* Set by the signal handlers of command_run.c and the REPL. */
#include "interrupt.h"

atomic_bool interrupted;
