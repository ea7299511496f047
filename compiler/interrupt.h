/* Ctrl-C in a REPL: long work looks here now and then, and ends with the error "interrupted". */
#ifndef INTERRUPT_H
#define INTERRUPT_H
#include <signal.h>

extern volatile sig_atomic_t interrupted;
#endif
