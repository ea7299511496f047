/* repl: definitions, expressions and models, entered line by line on a terminal or in a script. */
#ifndef REPL_H
#define REPL_H
#include "driver/driver.h"

int repl_command(const CommandOptions *o); /* repl_read.c: an exit code */
#endif
