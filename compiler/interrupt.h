/* Ctrl-C in a run or a REPL: long work looks here now and then, and ends with the error "interrupted". */
#ifndef INTERRUPT_H
#define INTERRUPT_H
#include <stdatomic.h>

extern atomic_bool interrupted;
#endif
