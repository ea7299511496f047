/* Set by the REPL's signal handler, and by nothing else. */
#include "interrupt.h"

atomic_bool interrupted;
