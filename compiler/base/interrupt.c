/* Set by the signal handlers of command_run.c and the REPL. */
#include "base.h"

atomic_bool interrupted;
